#!/usr/bin/env perl
# Tables, a summary and plots from the raw results of one benchmark run, and the comparison of two runs.
use strict;
use warnings;
use utf8;
use Encode qw(decode encode);
use File::Path qw(make_path);
use File::Spec;
use File::Temp qw(tempfile);
use Getopt::Long qw(GetOptions);
use IPC::Open3 qw(open3);
use List::Util qw(any first max min sum0 uniq);
use POSIX qw(ceil floor);
use Text::Wrap qw(wrap);

use constant {
    INF        => 9**9**9,
    COLUMNS    => 100,        # the widest line on the terminal
    TOLERANCE  => 0.15,       # two runs agree when their ratios differ by no more than this
    FEW_ROUNDS => 5,          # with fewer, quartiles say nothing
    STARVED    => 100,        # a ratio beyond this is starvation: its exact size is chance
    BUSY       => 90,         # percent; above this the load generator itself limits the figures
    OLD_US     => 1_000_000,  # an unfinished request older than this was starved
    LOG_SPAN   => 20,         # a larger span of values gets a logarithmic axis
    LATENCY    => qr/^(pass|statement)_\w+_us$/,    # such columns
    PLOT_WIDTH => 900,
    MARGIN     => 40,         # pixels right of a plot
    KEY_ROW    => 20,         # pixels
    CEILING    => 0.88,       # where infinite values are drawn, above all others and below their label
};

my $USAGE = <<'END';
usage: report.pl [--no-plots] RUN_DIRECTORY SCENARIO_DIRECTORY
           tables on standard output; tables.md, summary.csv and plots/ in RUN_DIRECTORY
       report.pl --compare RUN_A RUN_B SCENARIO_DIRECTORY
           compares the ratios to the baseline in the summary.csv of two runs;
           status 0 if all main figures (the first of each scenario) agree within 15 %, else 1
Status 2: wrong usage, or a file is missing or malformed.
END

# Okabe and Ito's palette, distinguishable by the colour-blind; marker and dash differ as well.
my @STYLE = map { { colour => $_->[0], marker => $_->[1], dash => $_->[2] } } (
    ['#0072B2', 7,  '1'],
    ['#D55E00', 5,  '(12,4)'],
    ['#009E73', 9,  '(4,3)'],
    ['#CC79A7', 13, '(12,4,2,4)'],
    ['#E69F00', 11, '(2,3)'],
    ['#56B4E9', 15, '(16,3,3,3,3,3)'],
    ['#000000', 3,  '1'],
);

exit main();

sub main {
    my ($compare, $no_plots, $help);
    binmode STDOUT, ':encoding(UTF-8)';
    binmode STDERR, ':encoding(UTF-8)';
    @ARGV = map { decode('UTF-8', $_) } @ARGV;
    GetOptions('compare' => \$compare, 'no-plots' => \$no_plots, 'help' => \$help) or usage_error();
    if ($help) { print $USAGE; return 0 }
    usage_error() if @ARGV != ($compare ? 3 : 2);
    return $compare ? compare_runs(@ARGV) : report_run(@ARGV, $no_plots);
}

sub usage_error { print STDERR $USAGE; exit 2 }
sub fail        { print STDERR "report.pl: $_[0]\n"; exit 2 }
sub complain    { print STDERR "report.pl: warning: $_[0]\n"; return }

sub report_run {
    my ($directory, $scenario_directory, $no_plots) = @_;
    my $run = read_run($directory);
    read_results($run, $scenario_directory);
    print render_text(document($run, sub { $_[0] }));
    write_file("$directory/tables.md", render_markdown(document($run, sub { config_title($run, $_[0]) })));
    write_file("$directory/summary.csv", summary_csv($run));
    return 0 if $no_plots;
    return write_plots($run) ? 0 : 1;
}

# ---------------------------------------------------------------- reading

sub read_text {
    my ($path) = @_;
    open(my $in, '<:raw', encode('UTF-8', $path)) or fail("cannot read $path: $!");
    local $/;
    my $text = <$in>;
    close $in;
    return decode('UTF-8', $text // '');
}

sub write_file {
    my ($path, $text) = @_;
    open(my $out, '>:raw', encode('UTF-8', $path)) or fail("cannot write $path: $!");
    print {$out} encode('UTF-8', $text);
    close $out or fail("cannot write $path: $!");
    return;
}

# The records of a CSV file, each as [line number, fields...].
sub csv_records {
    my ($path) = @_;
    my ($pending, $start, $line, @records) = ('', 0, 0);
    for my $text (split /(?<=\n)/, read_text($path)) {
        $line++;
        $start = $line if $pending eq '';
        $pending .= $text;
        # A quoted field may contain a line end: an odd number of quotes means that one is still open.
        next if ($pending =~ tr/"//) % 2;
        $pending =~ s/\r?\n\z//;
        push @records, [$start, csv_fields($path, $start, $pending)] if $pending ne '';
        $pending = '';
    }
    fail("$path:$start: malformed CSV: a quote is not closed") if $pending ne '';
    fail("$path: is empty, expected a header line") if !@records;
    return @records;
}

sub csv_fields {
    my ($path, $line, $text) = @_;
    my @fields;
    while (1) {
        $text =~ /\G(?:"((?:[^"]|"")*)"|([^",]*))(,|\z)/gc
            or fail("$path:$line: malformed CSV: misplaced quote in field " . (@fields + 1));
        my ($quoted, $plain, $end) = ($1, $2, $3);
        $quoted =~ s/""/"/g if defined $quoted;
        push @fields, $quoted // $plain;
        return @fields if $end eq '';
    }
}

# (header, rows): every row a hash by column name, with its line number as '.line'.
sub read_csv {
    my ($path, @required) = @_;
    my ($head, @records) = csv_records($path);
    my (undef, @header) = @$head;
    for my $column (@required) {
        fail("$path:1: no column '$column' in the header") if !any { $_ eq $column } @header;
    }
    my @rows;
    for my $record (@records) {
        my ($line, @fields) = @$record;
        fail("$path:$line: malformed CSV: " . @fields . ' fields where the header has ' . @header)
            if @fields != @header;
        my %row = ('.line' => $line);
        @row{@header} = @fields;
        push @rows, \%row;
    }
    return (\@header, \@rows);
}

sub is_number { return $_[0] =~ /\A-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\z/ }

sub check_number {
    my ($path, $row, $column) = @_;
    fail("$path:$row->{'.line'}: '$row->{$column}' in column '$column' is not a number")
        if $row->{$column} ne '' && !is_number($row->{$column});
    return;
}

sub read_run {
    my ($directory) = @_;
    my $path = "$directory/run.txt";
    my (%fact, $line);
    for my $text (split /\r?\n/, read_text($path)) {
        $line++;
        next if $text =~ /^\s*(?:#|$)/;
        $text =~ /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/ or fail("$path:$line: not a KEY=value line");
        $fact{$1} = $2;
    }
    my @configs = split ' ', $fact{configs} // '';
    fail("$path: no 'configs=' line") if !@configs;
    fail("$path: no 'baseline=' line") if !length($fact{baseline} // '');
    return {
        directory => $directory,
        fact      => \%fact,
        configs   => \@configs,
        baseline  => $fact{baseline},
        # A run of a single configuration can lack the baseline: then there are no ratios.
        others => (any { $_ eq $fact{baseline} } @configs) ? [grep { $_ ne $fact{baseline} } @configs] : [],
    };
}

sub config_title { my ($run, $config) = @_; return $run->{fact}{"config.$config.title"} || $config }

# Fills in $run: header, scenarios (in the order of the results) and rows by scenario, point, configuration, class.
sub read_results {
    my ($run, $scenario_directory) = @_;
    my $path = "$run->{directory}/results.csv";
    my ($header, $rows) = read_csv($path, qw(scenario point config round class));
    my %words = map { $_ => 1 } qw(scenario point config class errors_by_code);
    my %known = map { $_ => 1 } @{ $run->{configs} };
    my (%points, %classes, %seen);
    for my $row (@$rows) {
        my ($name, $point, $config, $round, $class) = @$row{qw(scenario point config round class)};
        my $place = "$path:$row->{'.line'}";
        fail("$place: configuration '$config' is not in the 'configs=' line of run.txt") if !$known{$config};
        check_number($path, $row, $_) for grep { !$words{$_} } @$header;
        push @{ $run->{order} }, $name if !$points{$name};
        $points{$name}{$point} = 1;
        if ($class eq '!failed') {
            push @{ $run->{failed}{$name}{$point}{$config} }, $row;
            next;
        }
        # A measurement counted twice would silently shift the median.
        my $key = join "\0", $name, $point, $config, $round, $class;
        fail("$place: the same measurement as in line $seen{$key}") if $seen{$key};
        $seen{$key} = $row->{'.line'};
        $classes{$name}{$class} = 1;
        parse_errors($place, $row);
        push @{ $run->{rows}{$name}{$point}{$config}{$class} }, $row;
    }
    fail("$path: has no measurement") if !$run->{order};
    for my $name (@{ $run->{order} }) {
        my $scenario = read_scenario($scenario_directory, $name);
        check_columns($scenario, $header);
        check_classes($scenario, $classes{$name} // {});
        $scenario->{measured} = [order_points($scenario, $points{$name})];
        push @{ $run->{scenarios} }, $scenario;
    }
    return;
}

# 'errors_by_code' as a hash; errors without a code are not lost.
sub parse_errors {
    my ($place, $row) = @_;
    my %count;
    for my $word (split ' ', $row->{errors_by_code} // '') {
        $word =~ /^(.+):(\d+)$/ or fail("$place: '$word' in errors_by_code is not CODE:COUNT");
        $count{$1} += $2;
    }
    my $rest = ($row->{errors} || 0) - sum0(values %count);
    $count{'unknown code'} = $rest if $rest > 0;
    $row->{'.errors'} = \%count;
    return;
}

sub read_scenario {
    my ($directory, $name) = @_;
    my $path = "$directory/$name.scenario";
    my %scenario = (name => $name, path => $path, title => $name, shows => '', figures => [], classes => {});
    my ($line, $in_class) = (0, '');
    for my $text (split /\r?\n/, read_text($path)) {
        $line++;
        next if $text =~ /^#/ || $text =~ /^\s*$/;
        if ($text =~ /^\s*\[\s*(.+?)\s*\]/) { $in_class = $1; $scenario{classes}{$1} = 1; next }
        if ($in_class) { $scenario{background}{$in_class} = 1 if $text =~ /^\s*background\s*=\s*yes\s*$/; next }
        $text =~ /^\s*(\w+)\s*=\s*(.*?)\s*$/ or fail("$path:$line: expected 'key = value' or '[class]'");
        scenario_key(\%scenario, "$path:$line", $1, $2);
    }
    return \%scenario;
}

# Keys that only the runner uses are skipped.
sub scenario_key {
    my ($scenario, $place, $key, $value) = @_;
    if    ($key eq 'title' || $key eq 'axis') { $scenario->{$key} = $value }
    elsif ($key eq 'shows')  { $scenario->{shows} .= ($scenario->{shows} eq '' ? '' : ' ') . $value }
    elsif ($key eq 'points' || $key eq 'quick_points') { $scenario->{$key} = [split ' ', $value] }
    elsif ($key eq 'figure') { push @{ $scenario->{figures} }, parse_figure($scenario, $place, $value) }
    elsif ($key eq 'distribution') {
        $value =~ /^(\S+)(?:\s+(pass|statement))?$/ or fail("$place: expected 'distribution = CLASS [pass|statement]'");
        $scenario->{distribution} = { class => $1, kind => $2 // 'pass', place => $place };
    }
    return;
}

sub parse_figure {
    my ($scenario, $place, $value) = @_;
    my @part = map { s/^\s+|\s+$//gr } split /\|/, $value, -1;
    fail("$place: expected 'figure = LABEL | CLASS | COLUMN | SCALE | higher or lower'") if @part != 5;
    my ($label, $class, $column, $scale, $better) = @part;
    fail("$place: the figure has no label") if $label eq '';
    fail("$place: scale '$scale' is not a number above 0") if !is_number($scale) || $scale <= 0;
    fail("$place: '$better' is neither 'higher' nor 'lower'") if $better !~ /^(?:higher|lower)$/;
    # Labels identify a figure in summary.csv.
    fail("$place: a second figure '$label'") if any { $_->{label} eq $label } @{ $scenario->{figures} };
    return {
        label => $label, class  => $class,  column => $column,
        scale => $scale, better => $better, place  => $place,
    };
}

sub check_columns {
    my ($scenario, $header) = @_;
    my %words = map { $_ => 1 } qw(scenario point config round class errors_by_code);
    my %known = map { $_ => 1 } grep { !$words{$_} } @$header;
    for my $figure (@{ $scenario->{figures} }) {
        fail("$figure->{place}: figure '$figure->{label}': results.csv has no column of numbers '$figure->{column}'")
            if !$known{ $figure->{column} };
    }
    return;
}

sub check_classes {
    my ($scenario, $measured) = @_;
    my %known = (probe => 1, %$measured, %{ $scenario->{classes} });
    for my $user (@{ $scenario->{figures} }, grep { defined } $scenario->{distribution}) {
        fail("$user->{place}: unknown class '$user->{class}' (there are: " . join(', ', sort keys %known) . ')')
            if !$known{ $user->{class} };
    }
    return;
}

# The order of whichever list has all of them (a quick run may have points of its own), else by size.
sub order_points {
    my ($scenario, $measured) = @_;
    for my $list (grep { defined } @$scenario{qw(points quick_points)}) {
        my @listed = grep { $measured->{$_} } @$list;
        return @listed if @listed == keys %$measured;
    }
    my $words = grep { !is_number($_) } keys %$measured;
    return $words ? sort(keys %$measured) : sort { $a <=> $b } keys %$measured;
}

# ---------------------------------------------------------------- values

sub median {
    my @sorted = sort { $a <=> $b } @_;
    my $middle = int(@sorted / 2);
    return @sorted % 2 ? $sorted[$middle] : ($sorted[$middle - 1] + $sorted[$middle]) / 2;
}

# The number in a row, undef if unknown. A class of which nothing finished has no latency, and an empty or zero
# field must not pass for the best one: it is infinite if requests were waiting.
sub row_value {
    my ($row, $column) = @_;
    my $text = $row->{$column} // '';
    return $text + 0 if $text ne '' && $text != 0;
    my ($latency) = $column =~ LATENCY;
    my ($cost)    = $column =~ /_us_per_(pass|statement)$/;
    if (my $kind = $latency // $cost) {
        my $finished = $row->{ $kind eq 'pass' ? 'passes' : 'statements' } // '';
        if ($finished ne '' && $finished == 0) {
            return $latency && ($row->{unfinished} || 0) > 0 ? INF : undef;
        }
    }
    return $text eq '' ? undef : 0;
}

# The rounds of one class, column, point and configuration as {median, min, max, rounds, failed}.
sub cell {
    my ($run, $scenario, $point, $config, $class, $column, $scale) = @_;
    my $name   = $scenario->{name};
    my $rows   = $run->{rows}{$name}{$point}{$config}{$class} // [];
    my @values = grep { defined } map { row_value($_, $column) } @$rows;
    @values = map { $_ / $scale } @values;
    my %cell = (rounds => scalar @values, failed => scalar @{ $run->{failed}{$name}{$point}{$config} // [] });
    @cell{qw(median min max)} = (median(@values), min(@values), max(@values)) if @values;
    return \%cell;
}

sub figure_cell {
    my ($run, $scenario, $figure, $point, $config) = @_;
    return cell($run, $scenario, $point, $config, @$figure{qw(class column scale)});
}

# Undef where there is nothing to compare: no value, or both 0, or both infinite.
sub ratio {
    my ($value, $base) = @_;
    return undef if !defined $value || !defined $base;
    return $value == 0 || $value == INF ? undef : 1 if $value == $base;
    return INF if $base == 0 || $value == INF;
    return 0   if $base == INF;
    return $value / $base;
}

sub figure_ratio {
    my ($run, $scenario, $figure, $point, $config) = @_;
    my ($value, $base) = map { figure_cell($run, $scenario, $figure, $point, $_)->{median} } $config, $run->{baseline};
    # The baseline is 1 even where it is 0.
    return defined $value ? 1 : undef if $config eq $run->{baseline};
    return undef if both_starved($run, $scenario, $figure, $point, $value, $base);
    return ratio($value, $base);
}

# The value below which the part $part of the sorted numbers lies, between two of them if need be.
sub quantile {
    my ($part, @sorted) = @_;
    my $at  = $part * $#sorted;
    my $low = int $at;
    return $sorted[$low] if $low == $#sorted;
    return $sorted[$low] + ($at - $low) * ($sorted[$low + 1] - $sorted[$low]);
}

# With --fresh: the lower and the upper quartile of the ratios of the single rounds. Empty with too few of them.
sub ratio_quartiles {
    my ($run, $scenario, $figure, $point, $config) = @_;
    return if ($run->{fact}{fresh} // '') ne 'yes';
    my %by_round;
    for my $side ($config, $run->{baseline}) {
        my $rows = $run->{rows}{ $scenario->{name} }{$point}{$side}{ $figure->{class} } // [];
        $by_round{$side}{ $_->{round} } = row_value($_, $figure->{column}) for @$rows;
    }
    my @ratios = grep { defined && $_ != INF }
        map { ratio($by_round{$config}{$_}, $by_round{ $run->{baseline} }{$_}) } keys %{ $by_round{$config} };
    return if @ratios < FEW_ROUNDS;
    @ratios = sort { $a <=> $b } @ratios;
    return map { quantile($_, @ratios) } 0.25, 0.75;
}

sub format_figure_ratio {
    my (@place) = @_;
    my $text = format_ratio(figure_ratio(@place));
    my @quartiles = $text eq '-' ? () : ratio_quartiles(@place);
    return @quartiles ? "$text [" . join(' ', map { format_ratio($_) } @quartiles) . ']' : $text;
}

# Both get next to nothing of what a third one gets: by how much they differ is chance.
sub both_starved {
    my ($run, $scenario, $figure, $point, $value, $base) = @_;
    return 0 if $figure->{better} ne 'higher' || !defined $value || !defined $base;
    my $best = max grep { defined } map { figure_cell($run, $scenario, $figure, $point, $_)->{median} } @{ $run->{configs} };
    return max($value, $base) * STARVED < $best;
}

sub last_point { return $_[0]{measured}[-1] }

# ---------------------------------------------------------------- text of values

sub group_digits {
    my ($text) = @_;
    1 while $text =~ s/^(-?\d+)(\d{3})/$1,$2/;
    return $text;
}

sub format_value {
    my ($value) = @_;
    return 'none finished' if $value == INF;
    return '0' if $value == 0;
    my $size = abs $value;
    return group_digits(sprintf '%.0f', $value) if $size >= 99.95;
    return sprintf '%.1f', $value if $size >= 9.995;
    return sprintf '%.2f', $value if $size >= 0.9995;
    return sprintf '%.3f', $value if $size >= 0.01;
    return sprintf '%.2g', $value;
}

sub format_cell {
    my ($cell) = @_;
    return format_value($cell->{median}) if defined $cell->{median};
    return $cell->{failed} ? 'failed' : '-';
}

sub format_ratio {
    my ($ratio) = @_;
    return '-'   if !defined $ratio;
    return 'inf' if $ratio == INF;
    return group_digits(sprintf '%.0f', $ratio) if $ratio >= 100;
    return sprintf '%.1f', $ratio if $ratio >= 10;
    return sprintf '%.2f', $ratio if $ratio >= 0.1 || $ratio == 0;
    return $ratio >= 0.0005 ? sprintf('%.3f', $ratio) : sprintf '%.1e', $ratio;
}

sub plain_number { my ($value) = @_; return !defined $value ? '' : $value == INF ? 'inf' : sprintf '%.6g', $value }
sub plural { my ($count, $word) = @_; return group_digits($count) . " $word" . ($count == 1 ? '' : 's') }

# "8192 clients", "mixed", or nothing where the only point has no meaning.
sub point_text {
    my ($scenario, $point) = @_;
    my $axis = $scenario->{axis} // '';
    return '' if @{ $scenario->{measured} } == 1 && $axis eq '';
    return $axis ne '' && is_number($point) ? "$point $axis" : $point;
}

sub at_point {
    my ($scenario, @points) = @_;
    my @text = grep { $_ ne '' } map { point_text($scenario, $_) } @points;
    my $axis = $scenario->{axis} // '';
    s/ \Q$axis\E$// for @text[0 .. $#text - 1];
    return @text ? ' at ' . join(', ', @text) : '';
}

# ---------------------------------------------------------------- the document, the same for terminal and Markdown

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

sub probe_cells {
    my ($run, $scenario, $point, $config) = @_;
    return map { cell($run, $scenario, $point, $config, 'probe', $_, 1000) } qw(pass_p50_us pass_max_us);
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

# ---------------------------------------------------------------- rendering

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

sub clip {
    my ($text, $width) = @_;
    return length($text) <= $width ? $text : substr($text, 0, $width - 1) . '~';
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

sub csv_line {
    return join(',', map { /[",\r\n]/ ? '"' . s/"/""/gr . '"' : $_ } @_) . "\n";
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

# ---------------------------------------------------------------- comparing two runs

sub compare_runs {
    my ($directory_a, $directory_b, $scenario_directory) = @_;
    my ($a, $b) = map { read_summary($_) } $directory_a, $directory_b;
    fail("the baselines differ: $a->{run}{baseline} in $directory_a, $b->{run}{baseline} in $directory_b")
        if $a->{run}{baseline} ne $b->{run}{baseline};
    my (@compared, @without);
    my %scenario;
    for my $key (@{ $a->{order} }) {
        my ($name, $point, $label, $config) = split /\0/, $key;
        next if $config eq $a->{run}{baseline} || !exists $b->{ratio}{$key};
        my $scenario = $scenario{$name} //= read_scenario($scenario_directory, $name);
        my $figure   = first { $_->{label} eq $label } @{ $scenario->{figures} } or next;
        my $entry = {
            name => $name, point => $point, label => $label, config => $config, figure => $figure,
            main => $figure == $scenario->{figures}[0], a => $a->{ratio}{$key}, b => $b->{ratio}{$key},
        };
        if ($entry->{a} eq '' || $entry->{b} eq '') {
            push @without, $entry if $entry->{a} ne $entry->{b};
            next;
        }
        judge($entry);
        push @compared, $entry;
    }
    return print_comparison($a->{run}, $directory_a, $directory_b, \@compared, \@without);
}

sub read_summary {
    my ($directory) = @_;
    my $path = "$directory/summary.csv";
    fail("$path is missing: run report.pl on $directory first") if !-e encode('UTF-8', $path);
    my (undef, $rows) = read_csv($path, qw(scenario point figure config ratio_to_baseline));
    my (%ratio, @order);
    for my $row (@$rows) {
        check_number($path, $row, 'ratio_to_baseline') if $row->{ratio_to_baseline} ne 'inf';
        push @order, join "\0", @$row{qw(scenario point figure config)};
        $ratio{ $order[-1] } = $row->{ratio_to_baseline};
    }
    return { run => read_run($directory), ratio => \%ratio, order => \@order };
}

# Sets 'agree' and 'verdict'. Where the same side is starved in both runs, that is the result; by how much is chance.
sub judge {
    my ($entry) = @_;
    my ($a, $b) = map { $_ eq 'inf' ? INF : $_ + 0 } @$entry{qw(a b)};
    @$entry{qw(a b)} = ($a, $b);
    my ($side_a, $side_b) = map { starved_side($_, $entry->{figure}) } $a, $b;
    if ($side_a ne '' && $side_a eq $side_b) {
        $entry->{agree} = 1;
        $entry->{verdict} = 'starved in both' . ($side_a eq 'baseline' ? '' : ' (not the baseline)');
        return;
    }
    my $change = $a == $b ? 0 : $a == 0 || $a == INF || $b == INF ? INF : $b / $a - 1;
    # 1.15 / 1 - 1 is a little more than 0.15 in floating point.
    $entry->{agree} = abs($change) <= TOLERANCE + 1e-9;
    $entry->{verdict} = $change == INF ? '0 or inf in one' : sprintf '%+.1f %%', 100 * $change;
    return;
}

# Which side of a ratio is starved: below 1 % of the other, or for a latency more than 100 times the other. Costs
# (threads, memory, CPU) can differ as much without anybody being starved.
sub starved_side {
    my ($ratio, $figure) = @_;
    return '' if $figure->{better} eq 'lower' && $figure->{column} !~ LATENCY;
    my $better_by = $figure->{better} eq 'higher' ? $ratio : $ratio == 0 ? INF : 1 / $ratio;
    return 'baseline' if $better_by > STARVED;
    return 'other'    if $better_by < 1 / STARVED;
    return '';
}

sub print_comparison {
    my ($run, $directory_a, $directory_b, $compared, $without) = @_;
    print "Ratios to $run->{baseline} in two runs (* = the scenario's main figure)\n",
        "  A: $directory_a\n  B: $directory_b\n\n";
    my @rows = map { [
        $_->{name}, $_->{point}, ($_->{main} ? '* ' : '  ') . $_->{label}, $_->{config},
        format_ratio($_->{a}), format_ratio($_->{b}), $_->{verdict}, $_->{agree} ? '' : '<-',
    ] } @$compared;
    my @headers = ('scenario', 'point', '  figure', 'config', 'A', 'B', 'difference', '');
    clip_columns(\@headers, \@rows);
    print text_table(\@headers, \@rows, 'llllrrrl'), "\n" if @rows;
    my @main = grep { $_->{main} } @$compared;
    print_agreement('main figures', @main);
    print_agreement('other figures', grep { !$_->{main} } @$compared);
    print 'Not compared, as only one of the runs has a ratio: ', scalar(@$without), "\n" if @$without;
    print "  $_->{name}, point $_->{point}, $_->{label}, $_->{config}\n" for grep { $_->{main} } @$without;
    if (!@main) { print "There is no main figure to compare.\n"; return 1 }
    return (any { !$_->{agree} } @main) ? 1 : 0;
}

# Shortens the longest texts (figure, then scenario) so that a row of the comparison fits the terminal.
sub clip_columns {
    my ($headers, $rows) = @_;
    my @width = map { column_width($_, $headers, $rows) } 0 .. $#$headers;
    my $over  = sum0(map { $_ + 2 } @width) - COLUMNS;
    for my $column (2, 0) {
        last if $over <= 0;
        my $new = max(14, $width[$column] - $over);
        $over -= $width[$column] - $new;
        $_->[$column] = clip($_->[$column], $new) for @$rows;
    }
    return;
}

sub print_agreement {
    my ($what, @entries) = @_;
    my @apart = grep { !$_->{agree} } @entries;
    printf "%d of %d %s agree within %.0f %%\n", @entries - @apart, scalar @entries, $what, 100 * TOLERANCE;
    printf "  apart: %s, point %s, %s, %s: %s and %s (%s)\n", @$_{qw(name point label config)},
        format_ratio($_->{a}), format_ratio($_->{b}), $_->{verdict} for @apart;
    return;
}

# ---------------------------------------------------------------- plots
#
# Every plot is drawn in a unit square: positions on logarithmic axes, of zeros and of infinite values are computed
# here, where each special case is one line, and gnuplot only draws.

sub write_plots {
    my ($run) = @_;
    my $gnuplot = find_program('gnuplot');
    if (!$gnuplot) {
        complain('gnuplot was not found: the tables are written, the plots are not');
        return 1;
    }
    my $directory = "$run->{directory}/plots";
    make_path(encode('UTF-8', $directory));
    my ($all_drawn, %used) = (1);
    for my $plot (all_plots($run)) {
        my ($name, $script) = @$plot;
        $name .= '-2' while $used{$name}++;
        $all_drawn &= draw($gnuplot, "$directory/$name", $script);
    }
    return $all_drawn;
}

sub find_program {
    my ($name) = @_;
    return first { -x && !-d } map { File::Spec->catfile($_, $name) } File::Spec->path;
}

sub all_plots {
    my ($run) = @_;
    my @plots;
    for my $scenario (@{ $run->{scenarios} }) {
        my @points = @{ $scenario->{measured} };
        my $curve  = @points >= 3 && !grep { !is_number($_) } @points;
        for my $figure (@{ $scenario->{figures} }) {
            my $script = $curve ? curve_plot($run, $scenario, $figure) : bar_plot($run, $scenario, $figure);
            push @plots, [slug("$scenario->{name}-$figure->{label}"), $script];
        }
        push @plots, [slug("$scenario->{name}-distribution"), distribution_plot($run, $scenario)]
            if $scenario->{distribution};
    }
    push @plots, ['probe', probe_plot($run)], ['overview', overview_plot($run)];
    # A plot without any value is left out.
    return grep { defined $_->[1] } @plots;
}

sub slug { return lc($_[0]) =~ s/[µμ]/u/gr =~ s/[^a-z0-9]+/-/gr =~ s/^-|-$//gr }

# Runs the same text for both formats.
sub draw {
    my ($gnuplot, $base, $plot) = @_;
    my $script = "set encoding utf8\n";
    # SVG fonts are measured in pixels, PNG ones in points of 4/3 pixel.
    for my $format (['svg', 'Arial', 1, 'fixed'], ['pngcairo', 'Sans', 0.75, '']) {
        my ($terminal, $face, $scale, $options) = @$format;
        my %size = (small_font => 11, text_font => 12, head_font => 16);
        for my $font (sort keys %size) {
            my $weight = $font eq 'head_font' ? ':Bold' : '';
            $script .= sprintf "%s = '%s%s,%g'\n", $font, $face, $weight, $size{$font} * $scale;
        }
        $script .= sprintf "set terminal %s size %d,%d %s noenhanced font '%s,%g' background rgb 'white'\n",
            $terminal, PLOT_WIDTH, $plot->{height}, $options, $face, 13 * $scale;
        my $suffix = $terminal eq 'svg' ? 'svg' : 'png';
        $script .= 'set output ' . quote("$base.$suffix") . "\n$plot->{script}\nunset output\nreset\n";
    }
    my ($handle, $path) = tempfile(SUFFIX => '.gp', UNLINK => 1);
    print {$handle} encode('UTF-8', $script);
    close $handle;
    open(my $nothing, '<', File::Spec->devnull) or fail("cannot read the null device: $!");
    local $ENV{LC_ALL} = 'C.UTF-8';    # or gnuplot warns about characters that it cannot convert
    my $pid = open3('<&' . fileno($nothing), my $from, undef, $gnuplot, $path);
    my $said = do { local $/; <$from> } // '';
    waitpid $pid, 0;
    my $failed = $?;
    complain("gnuplot on $base: " . decode('UTF-8', $said)) if $failed || $said =~ /\S/;
    return 0 if $failed;
    tidy_svg("$base.svg");
    return 1;
}

# gnuplot 5.4 writes 'Arial:Bold' as the family, which no viewer knows; and Arial is not everywhere.
sub tidy_svg {
    my ($path) = @_;
    my $text = read_text($path);
    $text =~ s/font-family="Arial:Bold"/font-family="Arial" font-weight="bold"/g;
    $text =~ s/font-family="Arial"/font-family="Arial, Helvetica, sans-serif"/g;
    write_file($path, $text);
    return;
}

sub quote { return "'" . ($_[0] =~ s/\s+/ /gr =~ s/'/''/gr) . "'" }

# Title, explanation, origin and key above a unit square that fills the rest; all sizes in pixels.
# Options: run, title, about, keys ([title, kind, index of the style]...), left, bottom, height (of the square).
sub frame {
    my (%o) = @_;
    my @lines = (
        (map { [16, 'head_font', '#000000', $_] } wrapped(88, $o{title})),
        (map { [12, 'text_font', '#000000', $_] } wrapped(136, $o{about})),
        (map { [11, 'small_font', '#606060', $_] } wrapped(136, origin($o{run}))),
    );
    my $key_top = 14 + sum0(map { $_->[0] * 1.5 } @lines);
    my ($rows, @entries) = key_places(@{ $o{keys} });
    my $top    = $key_top + KEY_ROW * $rows + 14;
    my $height = ceil($o{height} ? $top + $o{height} + $o{bottom} : 560);
    my %margin = (
        l => $o{left} / PLOT_WIDTH,  r => 1 - MARGIN / PLOT_WIDTH,
        t => 1 - $top / $height,     b => $o{bottom} / $height,
    );
    my $script = join '', map { sprintf "set %smargin at screen %.4f\n", $_, $margin{$_} } sort keys %margin;
    $script .= "set xrange [0:1]\nset yrange [0:1]\nset border 3 lc rgb '#808080'\nunset key\n"
        . "set tics nomirror out scale 0.6 tc rgb '#000000'\nset errorbars small\n";
    my $y = 10;
    for my $line (@lines) {
        my ($size, $font, $colour, $text) = @$line;
        $script .= screen_text($text, 14, $y + $size * 0.75, $height, "$font tc rgb '$colour'");
        $y += $size * 1.5;
    }
    for my $entry (@entries) {
        my ($x, $row, $title, $kind, $index) = @$entry;
        $script .= key_entry($x, $key_top + KEY_ROW * ($row + 0.5), $height, $title, $kind, $index);
    }
    return { script => $script, height => $height, width_px => PLOT_WIDTH - MARGIN - $o{left} };
}

sub wrapped {
    my ($columns, $text) = @_;
    local $Text::Wrap::columns = $columns;
    return split /\n/, wrap('', '', $text);
}

sub screen_text {
    my ($text, $x, $y, $height, $options) = @_;
    return sprintf "set label %s at screen %.4f, screen %.4f left font %s\n",
        quote($text), $x / PLOT_WIDTH, 1 - $y / $height, $options;
}

# gnuplot's own key has columns as wide as the longest title, and then does not fit in one row: this one flows.
# Returns the number of rows and [x, row, title, kind, index] for each entry.
sub key_places {
    my ($x, $row, @places) = (14, 0);
    for my $key (@_) {
        my $width = 48 + 6.9 * length $key->[0];
        ($x, $row) = (14, $row + 1) if $x > 14 && $x + $width > PLOT_WIDTH;
        push @places, [$x, $row, @$key];
        $x += $width + 16;
    }
    return ($row + 1, @places);
}

sub key_entry {
    my ($x, $y, $height, $title, $kind, $index) = @_;
    my $at = sub { sprintf 'screen %.4f, screen %.4f', $_[0] / PLOT_WIDTH, 1 - $_[1] / $height };
    my $script = screen_text($title, $x + 40, $y, $height, 'text_font');
    $script .= "set object rectangle from " . $at->($x, $y + 5) . ' to ' . $at->($x + 32, $y - 5)
        . " fc rgb '" . style($index)->{colour} . "' fs solid noborder\n" if $kind eq 'box';
    $script .= 'set arrow from ' . $at->($x, $y) . ' to ' . $at->($x + 32, $y) . ' nohead ' . line_style($index) . "\n"
        if $kind =~ /line/;
    $script .= "set label '' at " . $at->($x + 16, $y) . ' point ' . marker_style($index) . "\n" if $kind =~ /marker/;
    return $script;
}

# The key's entries for these configurations.
sub config_keys {
    my ($run, $kind, @configs) = @_;
    return [map { [config_title($run, $_), $kind, config_index($run, $_)] } @configs];
}

sub config_index {
    my ($run, $config) = @_;
    return first { $run->{configs}[$_] eq $config } 0 .. $#{ $run->{configs} };
}

# "full run, 2025-01-01, 2 cores, ..." for those who see the plot alone.
sub origin {
    my ($run) = @_;
    my $fact  = $run->{fact};
    my @parts;
    push @parts, "$fact->{mode} run" if length($fact->{mode} // '');
    push @parts, $fact->{started}    if length($fact->{started} // '');
    if (length(my $cores = $fact->{cores} // '')) {
        push @parts, $cores =~ /^\d+$/ ? plural($cores, 'core') : $cores;
    }
    push @parts, grep { length } map { $fact->{$_} // '' } qw(cpu memory);
    push @parts, 'commit ' . substr($fact->{commit}, 0, 12) if length($fact->{commit} // '');
    return join ', ', @parts;
}

sub style { my ($index) = @_; return $STYLE[$index % @STYLE] }

sub marker_style { my ($index) = @_; return line_style($index) . ' pt ' . style($index)->{marker} . ' ps 1.1' }

sub line_style {
    my ($index) = @_;
    my $style = style($index);
    return "lc rgb '$style->{colour}' lw 2 dt $style->{dash}";
}

# An axis for values: {at => value to position, ticks => [[position, text]...], log}. Zero on a logarithmic axis is at
# its lower end, where $room keeps a place for it; infinite values are above everything that was measured.
sub value_axis {
    my ($values, $log, $top, $room) = @_;
    my @finite   = grep { defined && $_ < INF } @$values;
    my @positive = grep { $_ > 0 } @finite;
    $top = min($top, 0.8) if any { defined && $_ == INF } @$values;
    $room = 1 if @finite != @positive;
    my ($place, @ticks) = $log && @positive
        ? log_places(min(@positive), max(@positive), $room)
        : linear_places(max(0, @finite));
    return {
        log   => $log && @positive ? 1 : 0,
        at    => sub { $_[0] == INF ? CEILING : $top * max(0, min(1, $place->($_[0]))) },
        ticks => [map { [$top * $place->($_), tick_text($_)] } @ticks],
    };
}

sub tick_text { my ($value) = @_; return group_digits(sprintf '%.10g', $value) }

sub linear_places {
    my ($max) = @_;
    $max = 1 if $max <= 0;
    my $unit = 10**floor(log10($max / 4));
    my $step = first { $max / $_ <= 6 } map { $_ * $unit } 1, 2, 2.5, 5, 10, 20;
    return (sub { $_[0] / $max }, map { $_ * $step } 0 .. floor($max / $step + 1e-9));
}

sub log_places {
    my ($min, $max, $room) = @_;
    my @ladder = map { my $e = $_; map { $_ * 10**$e } 1, 2, 5 } floor(log10($min)) - 1 .. ceil(log10($max)) + 1;
    my @below  = grep { $_ <= $min * 1.0001 } @ladder;
    my $low    = $below[$room ? -2 : -1];
    my $high   = first { $_ >= $max * 0.9999 && $_ > $low } @ladder;
    my @ticks  = grep { $_ >= $low && $_ <= $high } @ladder;
    @ticks = grep { abs(log10($_) - sprintf('%.0f', log10($_))) < 1e-6 } @ticks if $high / $low > 3000;
    my $span = log10($high / $low);
    return (sub { $_[0] <= 0 ? 0 : log10($_[0] / $low) / $span }, @ticks);
}

sub log10 { return log($_[0]) / log(10) }

sub wants_log {
    my ($figure, @values) = @_;
    return 0 if $figure->{better} eq 'higher';
    my @positive = grep { defined && $_ > 0 && $_ < INF } @values;
    return @positive && max(@positive) / min(@positive) > LOG_SPAN;
}

sub tics {
    my ($axis, @ticks) = @_;
    return "unset ${axis}tics\n" if !@ticks;
    # gnuplot reads these texts as formats.
    my @texts = map { sprintf '%s %.5f', quote($_->[1] =~ s/%/%%/gr), $_->[0] } @ticks;
    return "set ${axis}tics (" . join(', ', @texts) . ")\n";
}

sub left_margin { my ($ticks) = @_; return 48 + 8 * max(2, map { length $_->[1] } @$ticks) }

sub value_label {
    my ($axis, $text, $log) = @_;
    return "set ${axis}label " . quote($text . ($log ? ' (log scale)' : '')) . "\n";
}

sub note_label {
    my ($text, $x, $y, $options) = @_;
    return sprintf "set label %s at first %.5f, first %.5f %s font small_font front\n", quote($text), $x, $y, $options;
}

# A named block of data, or nothing if it is empty: gnuplot complains about empty ones.
sub data_block {
    my ($name, @lines) = @_;
    return (any { $_ ne '' } @lines) ? "\$$name << EOD\n" . join("\n", @lines) . "\nEOD\n" : '';
}

sub figure_about {
    my ($run, $scenario, $figure, $detail) = @_;
    my @rounds;
    for my $point (@{ $scenario->{measured} }) {
        push @rounds, grep { $_ } map { figure_cell($run, $scenario, $figure, $point, $_)->{rounds} } @{ $run->{configs} };
    }
    my ($least, $most) = (min(@rounds) // 1, max(@rounds) // 1);
    my $count  = $least == $most ? $most : "$least to $most";
    my $median = $most == 1 ? 'a single round' : "median of $count rounds, thin bars: lowest to highest";
    return "$figure->{label}, class \"$figure->{class}\"$detail: $figure->{better} is better ($median)";
}

# One line a configuration over numeric points.
sub curve_plot {
    my ($run, $scenario, $figure) = @_;
    my @points = sort { $a <=> $b } @{ $scenario->{measured} };
    my @cells;
    for my $config (@{ $run->{configs} }) {
        push @cells, [map { figure_cell($run, $scenario, $figure, $_, $config) } @points];
    }
    my @values = grep { defined } map { @$_{qw(median min max)} } map { @$_ } @cells;
    return undef if !@values;
    my $y     = value_axis(\@values, wants_log($figure, map { $_->{median} } map { @$_ } @cells), 0.97, 0);
    my $frame = frame(
        run => $run, title => $scenario->{title}, about => figure_about($run, $scenario, $figure, ''),
        keys => config_keys($run, 'line and marker', @{ $run->{configs} }), left => left_margin($y->{ticks}), bottom => 60,
    );
    my ($x, $x_log) = point_axis(@points);
    my @ticks  = spaced_ticks($frame->{width_px}, map { [$x->($_), $_] } @points);
    my $script = $frame->{script} . tics('y', @{ $y->{ticks} }) . tics('x', @ticks) . "set grid y lc rgb '#dddddd' lt 1\n"
        . value_label('y', $figure->{label}, $y->{log}) . value_label('x', $scenario->{axis} // 'point', $x_log);
    my @plots;
    for my $i (0 .. $#cells) {
        my ($lines, $bars, $marks) = curve_data(\@points, $cells[$i], $x, $y, $i);
        $script .= data_block("line$i", @$lines) . data_block("bars$i", @$bars) . $marks;
        my $colour = style($i)->{colour};
        push @plots, "\$bars$i using 1:2:3:4 with yerrorbars lc rgb '$colour' lw 1 dt 1 pt 7 ps 0 notitle" if @$bars;
        push @plots, "\$line$i using 1:2 with linespoints " . marker_style($i) . ' notitle' if any { $_ ne '' } @$lines;
    }
    return { script => $script . 'plot ' . join(", \\\n  ", @plots), height => $frame->{height} };
}

# Line points, error bars, and labels at points where nothing finished. A missing point breaks the line.
sub curve_data {
    my ($points, $cells, $x, $y, $index) = @_;
    my (@lines, @bars);
    my $marks = '';
    for my $i (0 .. $#$points) {
        my $cell = $cells->[$i];
        my $at   = $x->($points->[$i]);
        if (!defined $cell->{median}) { push @lines, ''; next }
        my ($median, $low, $high) = map { $y->{at}->($_) } @$cell{qw(median min max)};
        push @lines, sprintf '%.5f %.5f', $at, $median;
        push @bars, sprintf '%.5f %.5f %.5f %.5f', $at, $median, $low, $high if $low != $high;
        # One line a configuration, so that two at the same point stay readable.
        $marks .= note_label('none finished', $at, CEILING,
            sprintf "center offset 0,%g tc rgb '%s'", 0.8 + 0.85 * $index, style($index)->{colour})
            if $cell->{median} == INF;
    }
    return (\@lines, \@bars, $marks);
}

# Positions of numeric points; a zero beside a logarithmic range stands one step below the smallest.
sub point_axis {
    my @points   = @_;
    my @positive = grep { $_ > 0 } @points;
    my $log      = @positive && !(grep { $_ < 0 } @points) && max(@positive) / min(@positive) > LOG_SPAN;
    my $raw = $log
        ? sub { log($_[0] > 0 ? $_[0] : min(@positive) / 2) }
        : sub { $_[0] };
    my ($low, $high) = (min(map { $raw->($_) } @points), max(map { $raw->($_) } @points));
    my $span = ($high - $low) || 1;
    return (sub { 0.04 + 0.92 * ($raw->($_[0]) - $low) / $span }, $log);
}

# Blanks the texts that would run into their neighbour; the last one always stays.
sub spaced_ticks {
    my ($width_px, @ticks) = @_;
    my $right = INF;
    for my $tick (reverse @ticks) {
        my $half = (length($tick->[1]) * 8 + 6) / 2;
        if ($tick->[0] * $width_px + $half > $right) { $tick->[1] = ''; next }
        $right = $tick->[0] * $width_px - $half;
    }
    return @ticks;
}

# A group of bars a point, for few points or words.
sub bar_plot {
    my ($run, $scenario, $figure) = @_;
    my @points = @{ $scenario->{measured} };
    my @groups;
    for my $point (@points) {
        push @groups, [map { figure_cell($run, $scenario, $figure, $point, $_) } @{ $run->{configs} }];
    }
    my @cells  = map { @$_ } @groups;
    my @values = grep { defined } map { @$_{qw(median min max)} } @cells;
    return undef if !@values;
    # Values that are wider than their bar stand upright, and need more room above.
    my $bar     = min(0.8 / @cells, 100 / PLOT_WIDTH);
    my $longest = max map { length } grep { $_ ne 'none finished' } 'no data', map { format_cell($_) } @cells;
    my $rotated = $longest * 6.5 > $bar * 0.85 * PLOT_WIDTH;
    my $log     = wants_log($figure, map { $_->{median} } @cells);
    my $y       = value_axis(\@values, $log, $rotated ? 0.8 : 0.92, 1);
    my $where = @points == 1 ? at_point($scenario, @points) : '';
    my $frame = frame(
        run => $run, title => $scenario->{title}, about => figure_about($run, $scenario, $figure, $where),
        keys => config_keys($run, 'box', @{ $run->{configs} }), left => left_margin($y->{ticks}), bottom => 60,
    );
    # Short names of the axis stand with the numbers, others below.
    my $axis  = $scenario->{axis} // '';
    my $below = $axis ne '' && @points > 1 && (length $axis > 20 || any { !is_number($_) } @points);
    my @texts = map { $below ? $_ : point_text($scenario, $_) } @points;
    my @group_ticks = map { [($_ + 0.5) / @points, $texts[$_]] } 0 .. $#points;
    my $script = $frame->{script} . tics('y', @{ $y->{ticks} }) . tics('x', spaced_ticks($frame->{width_px}, @group_ticks))
        . "set xtics scale 0\nset grid y lc rgb '#dddddd' lt 1\n" . value_label('y', $figure->{label}, $y->{log});
    $script .= value_label('x', $axis, 0) if $below;
    for my $group (0 .. $#groups) {
        for my $i (0 .. $#{ $groups[$group] }) {
            my $at = ($group + 0.5) / @points + ($i - $#{ $groups[$group] } / 2) * $bar;
            $script .= bar($groups[$group][$i], $at, $bar * 0.43, $y, $rotated, style($i)->{colour});
        }
    }
    return { script => $script . only_objects(), height => $frame->{height} };
}

# A bar from 0 with its range over the rounds and its value above.
sub bar {
    my ($cell, $x, $half, $y, $rotated, $colour) = @_;
    my $turn = $rotated ? 'left rotate by 90 offset 0,0.5' : 'center offset 0,0.6';
    return note_label($cell->{failed} ? 'failed' : 'no data', $x, 0, "$turn tc rgb '#606060'") if !defined $cell->{median};
    my ($top, $low, $high) = map { $y->{at}->($_) } @$cell{qw(median min max)};
    return rectangle($x - $half, 0, $x + $half, $top, $colour, 'pattern 4')
        . ($rotated
            ? note_label('none', $x, $top, 'center offset 0,0.6')
            : note_label('none', $x, $top, 'center offset 0,1.4') . note_label('finished', $x, $top, 'center offset 0,0.6'))
        if $cell->{median} == INF;
    return rectangle($x - $half, 0, $x + $half, $top, $colour, 'solid')
        . ($low != $high ? arrow($x, $low, $x, $high, 'heads size screen 0.004,90') : '')
        . note_label(format_value($cell->{median}), $x, $high, $turn);
}

sub rectangle {
    my ($x1, $y1, $x2, $y2, $colour, $fill) = @_;
    return sprintf("set object rectangle from first %.5f, first %.5f to first %.5f, first %.5f front", $x1, $y1, $x2, $y2)
        . " fc rgb '$colour' fs $fill border lc rgb '$colour'\n";
}

sub arrow {
    my ($x1, $y1, $x2, $y2, $options) = @_;
    return sprintf "set arrow from first %.5f, first %.5f to first %.5f, first %.5f %s lc rgb '#303030' lw 1 front\n",
        $x1, $y1, $x2, $y2, $options;
}

# Bars are objects: gnuplot draws them only with some plot, which here lies outside.
sub only_objects { return "plot -1 notitle\n" }

# Latency over percentile at the last point, all rounds together, with as much room for each further nine.
sub distribution_plot {
    my ($run, $scenario) = @_;
    my ($class, $kind) = @{ $scenario->{distribution} }{qw(class kind)};
    my $point  = last_point($scenario);
    my @merged = map { merged_histogram($run, $scenario, $point, $_, $class, $kind) } @{ $run->{configs} };
    my @open   = map { merged_histogram($run, $scenario, $point, $_, $class, "open_$kind") } @{ $run->{configs} };
    my @uppers = map { keys %$_ } @merged;
    return undef if !@uppers;
    my ($unit, $scale) = max(@uppers) < 1000 ? ('µs', 1) : min(@uppers) > 1e6 ? ('s', 1e6) : ('ms', 1000);
    my $y     = value_axis([map { $_ / $scale } @uppers], 1, 0.97, 0);
    my $nines = min(4, max(1, map { log10(sum0(values %$_) || 1) } @merged));
    my @keys  = map { distribution_key($run, $scenario, $point, $_, $merged[$_]) } 0 .. $#merged;
    my $frame = frame(
        run => $run, title => $scenario->{title},
        about => "Latency of a $kind of class \"$class\"" . at_point($scenario, $point)
            . ' by percentile, all rounds together: lower is better',
        keys => [map { [$keys[$_], 'line', $_] } 0 .. $#keys], left => left_margin($y->{ticks}), bottom => 60,
    );
    my $x = sub { my ($share) = @_; return $share <= 0 ? 0 : log10($share) / $nines };
    my @ticks = grep { $_->[0] <= 1.0001 } map { [$x->(100 / (100 - $_)), "$_ %"] } 0, 50, 90, 99, 99.9, 99.99;
    my $script = $frame->{script} . tics('y', @{ $y->{ticks} }) . tics('x', @ticks) . "set grid x y lc rgb '#dddddd' lt 1\n"
        . value_label('y', "latency, $unit", 1) . "set xlabel 'share of requests that were at least this fast'\n";
    my @plots;
    for my $i (0 .. $#merged) {
        my @lines = distribution_lines($merged[$i], $open[$i], $x, $y, $scale) or next;
        $script .= data_block("line$i", @lines);
        push @plots, "\$line$i using 1:2 with lines " . line_style($i) . ' notitle';
    }
    return { script => $script . 'plot ' . join(", \\\n  ", @plots), height => $frame->{height} };
}

# How many the line stands for; where too many are unfinished, it ends early.
sub distribution_key {
    my ($run, $scenario, $point, $index, $histogram) = @_;
    my $config = $run->{configs}[$index];
    my $rows   = $run->{rows}{ $scenario->{name} }{$point}{$config}{ $scenario->{distribution}{class} } // [];
    my $old    = sum0(map { $_->{unfinished} || 0 } grep { ($_->{oldest_unfinished_us} || 0) > OLD_US } @$rows);
    my $key    = config_title($run, $config) . ' (' . group_digits(sum0(values %$histogram)) . ' finished';
    return $key . ($old ? ', ' . group_digits($old) . ' unfinished)' : ')');
}

# {upper bound in us => count} over all rounds.
sub merged_histogram {
    my ($run, $scenario, $point, $config, $class, $kind) = @_;
    my (%count, @missing);
    my $rows = $run->{rows}{ $scenario->{name} }{$point}{$config}{$class} // [];
    for my $round (map { $_->{round} } @$rows) {
        my $path = "$run->{directory}/hist/$scenario->{name},$point,$config,$round.csv";
        if (!-e encode('UTF-8', $path)) { push @missing, $path; next }
        my (undef, $buckets) = read_csv($path, qw(class kind upper_us count));
        for my $bucket (@$buckets) {
            next if $bucket->{class} ne $class || $bucket->{kind} ne $kind;
            for my $column (qw(upper_us count)) {
                fail("$path:$bucket->{'.line'}: column '$column' is empty") if $bucket->{$column} eq '';
                check_number($path, $bucket, $column);
            }
            $count{ $bucket->{upper_us} } += $bucket->{count};
        }
    }
    complain("left out of the distribution, as missing: @missing") if @missing;
    return \%count;
}

# Steps: all of a bucket's requests have the bucket's upper bound. Of unfinished ones it is only known that they take
# longer than the age in their histogram (Kaplan-Meier, as the generator does it). The slowest request, beyond any
# percentile, ends the line where one request is left.
sub distribution_lines {
    my ($finished, $open, $x, $y, $scale) = @_;
    return if !%$finished;
    my $total = sum0(values %$finished) + sum0(values %$open);
    my ($left, $slower) = ($total, 1);
    my @lines;
    for my $upper (sort { $a <=> $b } uniq(keys %$finished, keys %$open)) {
        if (my $ended = $finished->{$upper}) {
            my $height = $y->{at}->($upper / $scale);
            push @lines, sprintf '%.5f %.5f', $x->(1 / max($slower, 1 / $total)), $height;
            $slower *= 1 - $ended / $left;
            push @lines, sprintf '%.5f %.5f', $x->(1 / max($slower, 1 / $total)), $height;
        }
        $left -= ($finished->{$upper} // 0) + ($open->{$upper} // 0);
    }
    return @lines;
}

# A frame for one row a scenario, with $slots bars or marks in each row, and the rows' names at the left.
sub row_frame {
    my ($names, $slots, %o) = @_;
    my $row_px = max(34, 17 * $slots + 14);
    my $longest = max map { map { length } split /\n/, $_ } @$names;
    my $frame = frame(%o, left => min(330, 26 + 7.2 * $longest), bottom => 60, height => $row_px * @$names);
    my $script = $frame->{script} . "unset ytics\nset border 1\n";
    for my $i (0 .. $#$names) {
        my $middle = 1 - ($i + 0.5) / @$names;
        my @lines  = split /\n/, $names->[$i];
        for my $line (0 .. $#lines) {
            $script .= note_label($lines[$line], 0, $middle,
                sprintf("right offset -1,%g tc rgb '%s'", ($#lines / 2 - $line) * 0.95, $line ? '#606060' : '#000000'));
        }
        $script .= sprintf "set arrow from graph 0, first %.5f to graph 1, first %.5f nohead lc rgb '#e8e8e8' back\n",
            ($i / @$names) x 2 if $i;
    }
    $frame->{script} = $script;
    $frame->{slot}   = 17 / ($row_px * @$names);
    $frame->{middle} = sub {
        my ($row, $slot) = @_;
        return 1 - ($row + 0.5) / @$names - ($slot - ($slots - 1) / 2) * $frame->{slot};
    };
    return $frame;
}

sub clip_name { my ($text) = @_; return clip($text, 42) =~ s/~$/…/r }

# Median and slowest connection a scenario and configuration, at the last point.
sub probe_plot {
    my ($run) = @_;
    my @configs   = @{ $run->{configs} };
    my @scenarios = @{ $run->{scenarios} };
    my (@rows, @names);
    for my $scenario (@scenarios) {
        my $point = last_point($scenario);
        push @rows, [map { [probe_cells($run, $scenario, $point, $_)] } @configs];
        push @names, clip_name($scenario->{name}) . "\n" . clip_name(at_point($scenario, $point) =~ s/^ //r);
    }
    my @cells  = map { @$_ } map { @$_ } @rows;
    my @values = grep { defined } map { $_->{median} } @cells or return undef;
    my $rounds = max map { $_->{rounds} } @cells;
    my $x      = value_axis(\@values, 1, 0.96, 0);
    my $frame  = row_frame(\@names, scalar @configs,
        run   => $run, title => 'How long a new client waits while each scenario is running',
        about => 'Time to connect and SELECT 1, tried every 100 ms: full marker = p50, hollow marker = slowest'
            . ($rounds > 1 ? " (medians of up to $rounds rounds)" : '') . '; lower is better',
        keys => config_keys($run, 'marker', @configs),
    );
    my $script = $frame->{script} . tics('x', @{ $x->{ticks} }) . "set grid x lc rgb '#dddddd' lt 1\n"
        . value_label('x', 'connect + SELECT 1, ms', $x->{log});
    my @plots;
    for my $i (0 .. $#configs) {
        my (@full, @hollow);
        for my $row (0 .. $#rows) {
            $script .= probe_row($rows[$row][$i], $x, $frame->{middle}->($row, $i), style($i)->{colour}, \@full, \@hollow);
        }
        $script .= data_block("full$i", @full) . data_block("hollow$i", @hollow);
        push @plots, probe_markers($i, scalar @full, scalar @hollow);
    }
    return { script => $script . 'plot ' . join(", \\\n  ", @plots), height => $frame->{height} };
}

# Adds to the two lists of markers; returns the line between them, or why there is none.
sub probe_row {
    my ($cells, $x, $y, $colour, $full, $hollow) = @_;
    my ($p50, $max) = map { $_->{median} } @$cells;
    if (!defined $p50 && !defined $max) {
        my $why = $cells->[0]{failed} ? 'failed' : 'no data';
        return note_label($why, 0, $y, "left offset 0.5,0 tc rgb '#909090'");
    }
    my ($from, $to) = map { defined ? $x->{at}->($_) : undef } $p50, $max;
    push @$full,   sprintf '%.5f %.5f', $from, $y if defined $from;
    push @$hollow, sprintf '%.5f %.5f', $to,   $y if defined $to;
    my $script = '';
    $script .= note_label('none finished', CEILING, $y, "left offset 1,0 tc rgb '$colour'") if ($p50 // 0) == INF;
    $script .= sprintf "set arrow from first %.5f, first %.5f to first %.5f, first %.5f nohead lc rgb '%s' lw 1.5 back\n",
        $from, $y, $to, $y, $colour if defined $from && defined $to;
    return $script;
}

# gnuplot's hollow markers come right before the full ones; a white one below hides the line.
sub probe_markers {
    my ($index, $full, $hollow) = @_;
    my ($colour, $marker) = @{ style($index) }{qw(colour marker)};
    my @layers;
    push @layers, "\$full$index using 1:2 with points lc rgb '$colour' ps 1.2 pt $marker" if $full;
    push @layers, "\$hollow$index using 1:2 with points lc rgb 'white' ps 1.2 pt $marker",
        "\$hollow$index using 1:2 with points lc rgb '$colour' lw 1.5 ps 1.2 pt " . ($marker - 1) if $hollow;
    return @layers;
}

# How many times better than the baseline each scenario's first figure is at its last point.
sub overview_plot {
    my ($run) = @_;
    my @others = @{ $run->{others} } or return undef;
    my @scenarios = grep { @{ $_->{figures} } } @{ $run->{scenarios} };
    my @rows = map { my $s = $_; [map { better_by($run, $s, $_) } @others] } @scenarios;
    my @known = map { max(1 / STARVED, min(STARVED, $_)) } grep { is_ratio($_) } map { @$_ } @rows;
    return undef if !@known;
    # Room beyond the longest bar for its text, on either side.
    my ($low, $high) = (min(0.5, @known), max(2, @known));
    my $room = ($high / $low)**0.12;
    ($low, $high) = ($low / $room, $high * $room);
    my $x = sub { log10($_[0] / $low) / log10($high / $low) };
    my $base  = config_title($run, $run->{baseline});
    my @names;
    for my $scenario (@scenarios) {
        push @names, clip_name($scenario->{name} . at_point($scenario, last_point($scenario)))
            . "\n" . clip_name($scenario->{figures}[0]{label});
    }
    my $frame = row_frame(\@names, scalar @others,
        run => $run, title => "All scenarios: how many times better than $base",
        about => "Ratio of each scenario's main figure to that of $base: to the right of 1 is better, to the left is worse"
            . ' (throughputs as they are, latencies and costs inverted)',
        keys => config_keys($run, 'box', @others),
    );
    my @ticks = grep { $_ >= $low && $_ <= min($high, STARVED) } map { my $e = $_; map { $_ * 10**$e } 1, 2, 5 } -3 .. 3;
    @ticks = grep { /^[01.]+$/ } @ticks if $high / $low > 2000;
    my $script = $frame->{script} . tics('x', map { [$x->($_), tick_text($_) . '×'] } @ticks)
        . "set grid x lc rgb '#dddddd' lt 1\n" . value_label('x', "times better than $base", 1)
        . arrow($x->(1), 0, $x->(1), 1, 'nohead');
    for my $row (0 .. $#rows) {
        for my $i (0 .. $#others) {
            my $colour = style(config_index($run, $others[$i]))->{colour};
            $script .= ratio_bar($rows[$row][$i], $x, $frame->{middle}->($row, $i), $frame->{slot} * 0.43, $colour);
        }
    }
    return { script => $script . only_objects(), height => $frame->{height} };
}

sub is_ratio { return $_[0] =~ /^[\d.]|^inf/i }

# The ratio turned so that more is better, or the reason why there is none.
sub better_by {
    my ($run, $scenario, $config) = @_;
    my $figure = $scenario->{figures}[0];
    my $point  = last_point($scenario);
    my $ratio  = figure_ratio($run, $scenario, $figure, $point, $config);
    if (defined $ratio) {
        return $ratio if $figure->{better} eq 'higher';
        return $ratio == 0 ? INF : 1 / $ratio;
    }
    my ($cell, $base) = map { figure_cell($run, $scenario, $figure, $point, $_) } $config, $run->{baseline};
    return 'both starved or 0' if defined $cell->{median} && defined $base->{median};
    return defined $cell->{median} ? 'baseline without data' : $cell->{failed} ? 'failed' : 'no data';
}

sub ratio_bar {
    my ($ratio, $x, $y, $half, $colour) = @_;
    return note_label($ratio, $x->(1), $y, "left offset 1,0 tc rgb '#606060'") if !is_ratio($ratio);
    my $text = $ratio > STARVED ? '>' . STARVED : $ratio < 1 / STARVED ? '<' . 1 / STARVED : format_ratio($ratio);
    my $end  = $x->(max(1 / STARVED, min(STARVED, $ratio)));
    my ($from, $to) = sort { $a <=> $b } $x->(1), $end;
    return rectangle($from, $y - $half, $to, $y + $half, $colour, 'solid')
        . note_label("${text}×", $end, $y, $ratio < 1 ? 'right offset -0.7,0' : 'left offset 0.7,0');
}
