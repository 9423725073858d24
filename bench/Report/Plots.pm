# The plots of a run: curves, bars, distributions, the probe and the overview.
package Report::Plots;
use strict;
use warnings;
use utf8;
use Exporter qw(import);
use Encode qw(encode);
use File::Path qw(make_path);
use List::Util qw(any max min sum0 uniq);
use Report::Canvas qw(
    PLOT_WIDTH CEILING find_program draw frame config_keys config_index style marker_style line_style value_axis
    tick_text log10 wants_log tics left_margin value_label note_label data_block point_axis spaced_ticks rectangle
    arrow only_objects row_frame clip_name
);
use Report::Files qw(complain is_number);
use Report::Results qw(config_title merged_histogram);
use Report::Statistics qw(INF STARVED OLD_US figure_cell figure_ratio last_point probe_cells);
use Report::Words qw(group_digits format_value format_cell format_ratio point_text at_point);

our @EXPORT_OK = qw(write_plots);

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
        # No mark on a bar. One of size 0 is an error to librsvg, which then draws nothing at all.
        push @plots, "\$bars$i using 1:2:3:4 with yerrorbars lc rgb '$colour' lw 1 dt 1 pt -1 notitle" if @$bars;
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
        . value_label('y', "latency, $unit", 1) . value_label('x', 'share of requests that were at least this fast', 0);
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

1;
