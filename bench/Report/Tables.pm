# The tables of a run and the notes below them, for a terminal, as Markdown, and as summary.csv.
package Report::Tables;
use strict;
use warnings;
use utf8;
use Exporter qw(import);
use List::Util qw(max min sum0 uniq);
use Text::Wrap qw(wrap);
use Report::Files qw(csv_line);
use Report::Results qw(config_title);
use Report::Statistics qw(OLD_US figure_cell figure_ratio probe_cells);
use Report::Words qw(group_digits format_value format_cell format_figure_ratio plain_number plural at_point clip);

use constant {
    COLUMNS => 100,    # the widest line on the terminal
    BUSY    => 90,     # percent; above this the load generator itself limits the figures
};

our @EXPORT_OK = qw(COLUMNS document render_text text_table column_width render_markdown summary_csv);

# A list of blocks: [kind, text] or ['table', headers, rows]. $name gives a configuration's name in it.
sub document {
    my ($run, $name) = @_;
    return (
        run_blocks($run),
        (map { scenario_blocks($run, $_, $name) } @{ $run->{scenarios} }),
        probe_blocks($run, $name),
    );
}

sub run_blocks {
    my ($run) = @_;
    my $fact   = $run->{fact};
    my @blocks = (['title', 'Benchmark results']);
    push @blocks, ['item', s/_/ /gr . ": $fact->{$_}"]
        for grep { length($fact->{$_} // '') }
        qw(mode started took commit cpu cores memory kernel rounds stolen_cpu_time common_options);
    push @blocks, [
        'facts',
        ['configuration', 'title', 'version', 'options'],
        [map { [$_, config_title($run, $_), map { $_ // '' } @$fact{ "config.$_.version", "config.$_.options" }] }
            @{ $run->{configs} }],
    ];
    my $base = config_title($run, $run->{baseline});
    my $text = 'Every value is the median over the rounds.';
    $text .= @{ $run->{others} }
        ? " Ratios are to $base: 1.00 is the same value as $base; inf or 0.00 means that one of the two"
        . ' was 0 or finished nothing.'
        : " No ratios: the run has no other configuration beside the baseline ($base), or not the baseline itself.";
    $text .= ' In brackets: the quartiles of the ratios of the single rounds, each with fresh server processes.'
        if ($fact->{fresh} // '') eq 'yes';
    $text .= ' "none finished": requests were waiting, but none was answered during the measurement.';
    push @blocks, ['text', $text];
    return @blocks;
}

sub scenario_blocks {
    my ($run, $scenario, $name) = @_;
    my @blocks = (['section', "$scenario->{name}: $scenario->{title}"]);
    push @blocks, ['text', $scenario->{shows}] if $scenario->{shows} ne '';
    push @blocks, ['text', 'This scenario names no figure.'] if !@{ $scenario->{figures} };
    for my $figure (@{ $scenario->{figures} }) {
        push @blocks, ['caption', "$figure->{label} (class $figure->{class}; $figure->{better} is better)"],
            figure_table($run, $scenario, $figure, $name);
    }
    push @blocks, map { ['note', $_] } notes($run, $scenario, $name);
    return @blocks;
}

sub figure_table {
    my ($run, $scenario, $figure, $name) = @_;
    my $base    = $name->($run->{baseline});
    my @headers = (
        $scenario->{axis} // 'point',
        (map { $name->($_) } @{ $run->{configs} }),
        (map { $name->($_) . "\n/ $base" } @{ $run->{others} }),
    );
    my @rows;
    for my $point (@{ $scenario->{measured} }) {
        push @rows, [
            $point eq '' ? '-' : $point,
            (map { format_cell(figure_cell($run, $scenario, $figure, $point, $_)) } @{ $run->{configs} }),
            (map { format_figure_ratio($run, $scenario, $figure, $point, $_) } @{ $run->{others} }),
        ];
    }
    return ['table', \@headers, \@rows];
}

sub probe_blocks {
    my ($run, $name) = @_;
    my @rows;
    for my $scenario (@{ $run->{scenarios} }) {
        for my $point (@{ $scenario->{measured} }) {
            my @cells = map { probe_text(probe_cells($run, $scenario, $point, $_)) } @{ $run->{configs} };
            push @rows, [$scenario->{name} . at_point($scenario, $point), @cells];
        }
    }
    return (
        ['section', 'probe: a new connection and SELECT 1, every 100 ms beside each scenario'],
        ['caption', 'p50 / max in ms, each the median over the rounds (lower is better)'],
        ['table', ['scenario', map { $name->($_) } @{ $run->{configs} }], \@rows],
    );
}

sub probe_text {
    my ($p50, $max) = map { format_cell($_) } @_;
    return $p50 eq $max && $p50 !~ /\d/ ? $p50 : "$p50 / $max";
}

# What could make the figures of a scenario misleading.
sub notes {
    my ($run, $scenario, $name) = @_;
    return (
        failure_notes($run, $scenario, $name),
        error_notes($run, $scenario, $name),
        starved_notes($run, $scenario, $name),
        busy_notes($run, $scenario, $name),
    );
}

sub failure_notes {
    my ($run, $scenario, $name) = @_;
    my @notes;
    for my $config (@{ $run->{configs} }) {
        for my $point (@{ $scenario->{measured} }) {
            my $rows = $run->{failed}{ $scenario->{name} }{$point}{$config} or next;
            my $rounds   = join ', ', map { $_->{round} } @$rows;
            my $messages = join '; ', uniq map { ($_->{errors_by_code} // '') =~ s/\s+/ /gr } @$rows;
            push @notes, 'FAILED: ' . $name->($config) . at_point($scenario, $point) . ", round $rounds: $messages";
        }
    }
    return @notes;
}

# What $note says about the rows of each class and configuration, over all points and rounds.
sub by_class {
    my ($run, $scenario, $note) = @_;
    my $by_point = $run->{rows}{ $scenario->{name} } // {};
    my @classes  = uniq sort map { keys %$_ } map { values %$_ } values %$by_point;
    my @notes;
    for my $class (@classes) {
        for my $config (@{ $run->{configs} }) {
            my @rows = map { @{ $by_point->{$_}{$config}{$class} // [] } } @{ $scenario->{measured} };
            push @notes, $note->($class, $config, @rows);
        }
    }
    return @notes;
}

sub points_of { return uniq map { $_->{point} } @_ }

sub error_notes {
    my ($run, $scenario, $name) = @_;
    return by_class($run, $scenario, sub {
        my ($class, $config, @rows) = @_;
        my @bad = grep { %{ $_->{'.errors'} } } @rows or return;
        my %count;
        for my $row (@bad) {
            $count{$_} += $row->{'.errors'}{$_} for keys %{ $row->{'.errors'} };
        }
        return "Errors: class $class, " . $name->($config) . at_point($scenario, points_of(@bad)) . ': '
            . join ', ', map { "$_ x" . group_digits($count{$_}) } sort keys %count;
    });
}

sub starved_notes {
    my ($run, $scenario, $name) = @_;
    return by_class($run, $scenario, sub {
        my ($class, $config, @rows) = @_;
        return if $scenario->{background}{$class};    # meant to outlast the measurement
        my @bad = grep { ($_->{unfinished} || 0) > 0 && ($_->{oldest_unfinished_us} || 0) > OLD_US } @rows or return;
        my $most   = max map { $_->{unfinished} } @bad;
        my $oldest = max map { $_->{oldest_unfinished_us} } @bad;
        return "Unfinished: class $class, " . $name->($config) . at_point($scenario, points_of(@bad))
            . ': up to ' . plural($most, 'request') . ' still waiting at the end, the oldest for '
            . format_value($oldest / 1e6) . ' seconds';
    });
}

sub busy_notes {
    my ($run, $scenario, $name) = @_;
    my $by_point = $run->{rows}{ $scenario->{name} } // {};
    my @notes;
    for my $config (@{ $run->{configs} }) {
        my @rows = map { map { @$_ } values %{ $by_point->{$_}{$config} // {} } } @{ $scenario->{measured} };
        my @busy = grep { ($_->{loop_busy_percent} || 0) > BUSY } @rows or next;
        my $most = max map { $_->{loop_busy_percent} } @busy;
        push @notes, 'Load generator saturated: ' . $name->($config) . at_point($scenario, points_of(@busy))
            . sprintf(': busy up to %.0f %% of the time, so it limited the figures', $most);
    }
    return @notes;
}

sub render_text {
    local $Text::Wrap::columns = COLUMNS + 1;
    my $out = '';
    for my $block (@_) {
        my ($kind, $text, $rows) = @$block;
        if    ($kind eq 'title')   { $out .= "$text\n" . '=' x length($text) . "\n\n" }
        elsif ($kind eq 'section') { $out .= "\n" . wrap('', '  ', $text) . "\n" . '=' x COLUMNS . "\n" }
        elsif ($kind eq 'item')    { $out .= wrap('  ', '    ', $text) . "\n" }
        elsif ($kind eq 'facts')   { $out .= text_facts($rows) }
        elsif ($kind eq 'text')    { $out .= wrap('', '', $text) . "\n" }
        elsif ($kind eq 'caption') { $out .= "\n" . wrap('', '', $text) . "\n" }
        elsif ($kind eq 'note')    { $out .= wrap('  ! ', '    ', $text) . "\n" }
        else                       { $out .= text_table($text, $rows) }
    }
    return $out;
}

sub text_facts {
    my ($rows) = @_;
    my $out = "\n";
    for my $row (@$rows) {
        my ($config, $title, $version, $options) = @$row;
        $out .= wrap('  ', '    ', "$config: $title" . ($version ne '' ? ", version $version" : '')) . "\n";
        $out .= wrap('    options: ', '      ', $options) . "\n" if $options ne '';
    }
    return "$out\n";
}

# First column to the left, the rest to the right unless $align says otherwise ('l' or 'r' a column). A table wider
# than the terminal is continued below, with the first column repeated.
sub text_table {
    my ($headers, $rows, $align) = @_;
    $align //= 'l' . 'r' x $#$headers;
    my @width = map { column_width($_, $headers, $rows) } 0 .. $#$headers;
    my $out   = '';
    my @rest  = 1 .. $#$headers;
    while (@rest) {
        my @part = (0);
        my $used = $width[0] + 2;
        while (@rest && (@part == 1 || $used + 2 + $width[$rest[0]] <= COLUMNS)) {
            $used += 2 + $width[$rest[0]];
            push @part, shift @rest;
        }
        my $line = sub {
            my (@cells) = @_;
            my @padded = map { substr($align, $_, 1) eq 'l'
                ? sprintf('%-*s', $width[$_], clip($cells[$_], $width[$_]))
                : sprintf('%*s', $width[$_], $cells[$_]) } @part;
            return ('  ' . join '  ', @padded) =~ s/\s+$//r . "\n";
        };
        my @heads  = map { [split /\n/, $_] } @$headers;
        my $height = max map { scalar @$_ } @heads[@part];
        for my $row (1 .. $height) {
            # Headers of fewer lines stand at the bottom.
            $out .= $line->(map { my $i = $row - 1 - ($height - @$_); $i < 0 ? '' : $_->[$i] // '' } @heads);
        }
        $out .= '  ' . '-' x (sum0(map { $width[$_] + 2 } @part) - 2) . "\n";
        $out .= $line->(@$_) for @$rows;
        $out .= "\n" if @rest;
    }
    return $out;
}

sub column_width {
    my ($column, $headers, $rows) = @_;
    return min(48, max map { length } (split /\n/, $headers->[$column]), map { $_->[$column] } @$rows);
}

sub render_markdown {
    my ($out, $before) = ('', '');
    for my $block (@_) {
        my ($kind, $text, $rows) = @$block;
        my $list = $kind eq 'item' || $kind eq 'note';
        $out .= "\n" if $before ne '' && !($list && $before eq $kind);
        if    ($kind eq 'title')   { $out .= '## ' . escape_markdown($text) . "\n" }
        elsif ($kind eq 'section') { $out .= '### ' . escape_markdown($text) . "\n" }
        elsif ($list)              { $out .= '- ' . escape_markdown($text) . "\n" }
        elsif ($kind eq 'text')    { $out .= escape_markdown($text) . "\n" }
        elsif ($kind eq 'caption') { $out .= '**' . escape_markdown($text) . "**\n" }
        elsif ($kind eq 'facts')   { $out .= markdown_facts($text, $rows) }
        else                       { $out .= markdown_table($text, $rows) }
        $before = $kind;
    }
    return $out;
}

sub escape_markdown { return $_[0] =~ s/([\\`*_<>|\[\]])/\\$1/gr }

sub markdown_facts {
    my ($headers, $rows) = @_;
    my @rows = map { [map { $_ eq '' ? '' : '`' . s/\|/\\|/gr . '`' } @$_] } @$rows;
    $rows[$_][1] = escape_markdown($rows->[$_][1]) for 0 .. $#rows;
    return markdown_lines('l' x @$headers, $headers, @rows);
}

sub markdown_table {
    my ($headers, $rows) = @_;
    my @all = map { [map { escape_markdown(s/\n/ /gr) } @$_] } $headers, @$rows;
    return markdown_lines('l' . 'r' x $#$headers, @all);
}

sub markdown_lines {
    my ($align, $headers, @rows) = @_;
    my @rule = map { $_ eq 'l' ? '---' : '---:' } split //, $align;
    return join '', map { '| ' . join(' | ', @$_) . " |\n" } $headers, \@rule, @rows;
}

sub summary_csv {
    my ($run) = @_;
    my $out = csv_line(qw(scenario point figure config median min max rounds ratio_to_baseline));
    for my $scenario (@{ $run->{scenarios} }) {
        for my $point (@{ $scenario->{measured} }) {
            for my $figure (@{ $scenario->{figures} }) {
                for my $config (@{ $run->{configs} }) {
                    my $cell = figure_cell($run, $scenario, $figure, $point, $config);
                    $out .= csv_line($scenario->{name}, $point, $figure->{label}, $config,
                        (map { plain_number($_) } @$cell{qw(median min max)}), $cell->{rounds},
                        plain_number(figure_ratio($run, $scenario, $figure, $point, $config)));
                }
            }
        }
    }
    return $out;
}

1;
