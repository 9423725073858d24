# What a run has measured, and what its scenarios want to be shown of it.
package Report::Results;
use strict;
use warnings;
use utf8;
use Exporter qw(import);
use Encode qw(encode);
use List::Util qw(any sum0);
use Report::Files qw(fail complain read_text read_csv is_number check_number);

our @EXPORT_OK = qw(read_run config_title read_results read_scenario merged_histogram);

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

1;
