# From the rows of a run to values: medians, ratios to the baseline, quartiles.
package Report::Statistics;
use strict;
use warnings;
use utf8;
use Exporter qw(import);
use List::Util qw(max min);

use constant {
    INF        => 9**9**9,
    FEW_ROUNDS => 5,                                # with fewer, quartiles say nothing
    STARVED    => 100,                              # a ratio beyond this is starvation: its exact size is chance
    OLD_US     => 1_000_000,                        # an unfinished request older than this was starved
    LATENCY    => qr/^(pass|statement)_\w+_us$/,    # such columns
};

our @EXPORT_OK = qw(
    INF STARVED OLD_US LATENCY figure_cell figure_ratio ratio_quartiles last_point probe_cells
);

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

# Both get next to nothing of what a third one gets: by how much they differ is chance.
sub both_starved {
    my ($run, $scenario, $figure, $point, $value, $base) = @_;
    return 0 if $figure->{better} ne 'higher' || !defined $value || !defined $base;
    my $best = max grep { defined } map { figure_cell($run, $scenario, $figure, $point, $_)->{median} } @{ $run->{configs} };
    return max($value, $base) * STARVED < $best;
}

sub last_point { return $_[0]{measured}[-1] }

sub probe_cells {
    my ($run, $scenario, $point, $config) = @_;
    return map { cell($run, $scenario, $point, $config, 'probe', $_, 1000) } qw(pass_p50_us pass_max_us);
}

1;
