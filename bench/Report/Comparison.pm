# The ratios of two runs side by side.
package Report::Comparison;
use strict;
use warnings;
use utf8;
use Exporter qw(import);
use Encode qw(encode);
use List::Util qw(any first max sum0);
use Report::Files qw(fail read_csv check_number);
use Report::Results qw(read_run read_scenario);
use Report::Statistics qw(INF STARVED LATENCY);
use Report::Tables qw(COLUMNS text_table column_width);
use Report::Words qw(format_ratio clip);

use constant {
    TOLERANCE => 0.15,    # two runs agree when their ratios differ by no more than this
};

our @EXPORT_OK = qw(compare_runs);

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

1;
