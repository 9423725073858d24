#!/usr/bin/env perl
# Regression test of report.pl: synthetic runs in a temporary directory, all but one without plots.
use strict;
use warnings;
use File::Basename qw(dirname);
use File::Spec;
use File::Temp qw(tempdir);
use Test::More;

my $REPORT = File::Spec->rel2abs(File::Spec->catfile(dirname(__FILE__), File::Spec->updir, 'report.pl'));
my $TOP    = tempdir(CLEANUP => 1);
my @HEADER = qw(scenario point config round class passes statements passes_per_s statements_per_s
    pass_p50_us pass_p99_us pass_max_us unfinished oldest_unfinished_us errors loop_busy_percent errors_by_code);

my $CURVE = <<'END';
# a comment
title = Reads
shows = first line
shows = second line
axis = clients
points = 1 8 64
quick_points = 8 32 64
seconds = 10
figure = reads per second | reader | passes_per_s | 1 | higher
figure = p99, ms | reader | pass_p99_us | 1000 | lower
[reader]
sql = SELECT 1
END

my $STARVED = <<'END';
title = Short beside long
points = 4
figure = short per second | short | passes_per_s | 1 | higher
figure = p99 of short, ms | short | pass_p99_us | 1000 | lower
[short]
[long]
background = yes
END

sub spew {
    my ($path, $text) = @_;
    open(my $out, '>', "$TOP/$path") or die "$path: $!";
    print {$out} $text;
    close $out or die "$path: $!";
    return;
}

sub slurp {
    my ($path) = @_;
    open(my $in, '<', "$TOP/$path") or die "$path: $!";
    local $/;
    return scalar <$in>;
}

sub row { my %field = @_; return join(',', map { $field{$_} // '' } @HEADER) . "\n" }

# A measurement of 'curve': throughput and p99 as given, and the probe.
sub curve_rows {
    my ($point, $config, $round, $rate, $p99_us, %more) = @_;
    my @key = (scenario => 'curve', point => $point, config => $config, round => $round);
    return row(@key, class => 'reader', passes => 100, passes_per_s => $rate, pass_p99_us => $p99_us, %more)
        . row(@key, class => 'probe', passes => 100, pass_p50_us => 300 + 100 * $round, pass_max_us => 5000);
}

sub starved_rows {
    my ($config, $rate, $p99_us) = @_;
    my @key = (scenario => 'starved', point => 4, config => $config, round => 1);
    my @nothing = $rate ? () : (unfinished => 64, oldest_unfinished_us => 9_500_000);
    return row(@key, class => 'short', passes => $rate * 10, passes_per_s => $rate, pass_p99_us => $p99_us, @nothing);
}

sub make_run {
    my ($name, $rows, %fact) = @_;
    mkdir "$TOP/$name" or die "$name: $!";
    %fact = (configs => 'new base third', baseline => 'base', mode => 'quick', cores => 2,
        'config.new.title' => 'New pool', 'config.new.version' => '1.2.3', 'config.new.options' => '--pool_size=2', %fact);
    spew("$name/run.txt", join '', map { "$_=$fact{$_}\n" } sort keys %fact);
    spew("$name/results.csv", join(',', @HEADER) . "\n" . $rows);
    return;
}

# Runs report.pl; (status, standard output, standard error).
sub report {
    my @arguments = map { $_ =~ /^-/ ? $_ : "$TOP/$_" } @_;
    open(my $saved_out, '>&', \*STDOUT) or die $!;
    open(my $saved_err, '>&', \*STDERR) or die $!;
    open(STDOUT, '>', "$TOP/stdout") or die $!;
    open(STDERR, '>', "$TOP/stderr") or die $!;
    system $^X, '-w', $REPORT, @arguments;
    my $status = $? >> 8;
    open(STDOUT, '>&', $saved_out) or die $!;
    open(STDERR, '>&', $saved_err) or die $!;
    return ($status, slurp('stdout'), slurp('stderr'));
}

sub summary_line {
    my ($run, $start) = @_;
    my ($line) = grep { index($_, $start) == 0 } split /\n/, slurp("$run/summary.csv");
    return $line // "no line '$start'";
}

sub table_row {
    my ($out, $caption, $point) = @_;
    my ($table) = $out =~ /^\Q$caption\E.*?\n(.*?)(?:\n\n|\z)/ms;
    my ($row) = ($table // '') =~ /^\s+(\Q$point\E\s.*)$/m;
    return join ' ', split ' ', $row // "no row '$point'";
}

mkdir "$TOP/scenarios";
spew('scenarios/curve.scenario', $CURVE);
spew('scenarios/starved.scenario', $STARVED);

# Values whose mean differs from the median, out of order, in an odd and an even number of rounds.
my $good = join '',
    curve_rows(8,  'new',  1, 900, 4000), curve_rows(8, 'new', 2, 300, 2000), curve_rows(8, 'new', 3, 310, 9000),
    curve_rows(8,  'base', 1, 100, 8000), curve_rows(8, 'base', 2, 155, 8000), curve_rows(8, 'base', 3, 990, 8000),
    curve_rows(64, 'new',  1, 10,  100),  curve_rows(64, 'new', 2, 30, 300),
    curve_rows(64, 'base', 1, 40,  400, errors => 7, errors_by_code => '1213:4 2013:1', loop_busy_percent => 96),
    curve_rows(64, 'base', 2, 40,  400, errors => 2, errors_by_code => '1213:2'),
    row(scenario => 'curve', point => 64, config => 'third', round => 1, class => '!failed',
        errors_by_code => '"no ""answer"", gave' . "\n" . 'up"'),
    starved_rows('new', 500, 2500), starved_rows('base', 0, 0), starved_rows('third', 0, '');
make_run('good', $good);

{
    my ($status, $out, $err) = report('--no-plots', 'good', 'scenarios');
    is($status, 0,  'a good run: status');
    is($err,    '', 'nothing on standard error');
    is(summary_line('good', 'curve,8,reads per second,new,'), 'curve,8,reads per second,new,310,300,900,3,2',
        'median, range, rounds and ratio of an odd number of rounds');
    is(summary_line('good', 'curve,64,reads per second,new,'), 'curve,64,reads per second,new,20,10,30,2,0.5',
        'median of an even number of rounds');
    is(summary_line('good', 'curve,8,reads per second,base,'), 'curve,8,reads per second,base,155,100,990,3,1', 'the baseline is 1');
    is(summary_line('good', 'curve,8,"p99, ms",new,'), 'curve,8,"p99, ms",new,4,2,9,3,0.5', 'the scale divides');
    is(summary_line('good', 'curve,8,reads per second,third,'), 'curve,8,reads per second,third,,,,0,', 'a missing configuration');
    is(table_row($out, 'reads per second', 8),  '8 310 155 - 2.00 -',          'row of the table');
    is(table_row($out, 'reads per second', 64), '64 20.0 40.0 failed 0.50 -', 'a failed measurement is shown as such');
    like($out, qr/^\s+clients\s+new\s+base\s+third\s/m, 'the columns in the order of run.txt');
    like($out, qr/first line second line/, 'repeated keys are joined');
    like($out, qr/FAILED: third at 64 clients, round 1: no "answer", gave up/, 'the message of a failure');
    like($out, qr/Errors: class reader, base at 64 clients: 1213 x6, 2013 x1, unknown code x2/, 'errors by code over the rounds');
    unlike($out, qr/Errors: class reader, new/, 'no line without errors');
    like($out, qr/Load generator saturated: base at 64 clients: busy up to 96 %/, 'a busy generator');
    like($out, qr/^\s+curve at 8 clients\s+0\.500 \/ 5\.00\s+0\.500 \/ 5\.00\s+-$/m, 'the probe, median p50 and max in ms');
    cmp_ok((sort { $b <=> $a } map { length } split /\n/, $out)[0], '<=', 100, 'at most 100 columns');

    is(summary_line('good', 'starved,4,short per second,new,'), 'starved,4,short per second,new,500,500,500,1,inf',
        'against a starved baseline the ratio is infinite');
    is(summary_line('good', 'starved,4,"p99 of short, ms",base,'), 'starved,4,"p99 of short, ms",base,inf,inf,inf,1,1',
        'no latency where nothing finished, even if the field is 0');
    is(summary_line('good', 'starved,4,"p99 of short, ms",new,'), 'starved,4,"p99 of short, ms",new,2.5,2.5,2.5,1,0',
        'a latency against a starved baseline');
    is(summary_line('good', 'starved,4,short per second,third,'), 'starved,4,short per second,third,0,0,0,1,', '0 against 0 has no ratio');
    like($out, qr/Unfinished: class short, base: up to 64 requests still waiting at the end, the oldest for 9\.50\s+seconds/, 'starved requests');

    my $markdown = slurp('good/tables.md');
    like($markdown, qr/^\| `new` \| New pool \| `1\.2\.3` \| `--pool_size=2` \|$/m, 'version and options in tables.md');
    like($markdown, qr/^\| 8 \| 310 \| 155 \| - \| 2\.00 \| - \|$/m, 'a row in tables.md');
    ok(!-e "$TOP/good/plots", '--no-plots');
}

# One configuration only, and not the baseline.
make_run('single', curve_rows(8, 'new', 1, 900, 4000), configs => 'new');
{
    my ($status, $out, $err) = report('--no-plots', 'single', 'scenarios');
    is($status . $err, '0', 'a single configuration');
    is(table_row($out, 'reads per second', 8), '8 900', 'has no ratios');
}

# A quick run may have points that the full one has not.
make_run('quick', join '', map { curve_rows($_, 'new', 1, $_, 4000) } 64, 32, 8);
{
    my ($status, $out, $err) = report('--no-plots', 'quick', 'scenarios');
    my ($table) = $out =~ /^reads per second.*?\n(.*?)\n\n/ms;
    is(join(' ', $table =~ /^  (\d+)/mg), '8 32 64', 'points in the order of quick_points');
}

# Without gnuplot the tables are still there.
{
    local $ENV{PATH} = "$TOP/nowhere";
    my ($status, $out, $err) = report('good', 'scenarios');
    is($status, 0, 'no gnuplot: status');
    like($err, qr/gnuplot was not found/, 'no gnuplot: said so');
    like($out, qr/reads per second/, 'no gnuplot: tables');
}

# With it there are plots, which librsvg draws, too: it takes a mark of size 0 for an error.
SKIP: {
    skip 'no gnuplot here', 3 if !grep { -x "$_/gnuplot" } File::Spec->path;
    make_run('drawn', join '', map { my $p = $_; map { curve_rows($p, 'new', $_, $p * $_, 4000) } 1 .. 3 } 8, 32, 64);
    my ($status, $out, $err) = report('drawn', 'scenarios');
    is($status . $err, '0', 'plots: status');
    my $svg = slurp('drawn/plots/curve-reads-per-second.svg');
    like($svg, qr/<path [^>]*d='M[\d.,]+ L/, 'plots: lines');
    unlike($svg, qr/scale\(0(?:\.0*)?\)/, 'plots: no mark of size 0');
}

# Comparison: 'ratio' is new / base at 8 clients.
sub compare_run {
    my ($name, $rate, $p99_us, $short, $starved) = @_;
    make_run($name, curve_rows(8, 'new', 1, $rate, $p99_us) . curve_rows(8, 'base', 1, 100, 10_000)
        . starved_rows('new', $short, 1000) . starved_rows('base', $starved, $starved ? 4000 : ''), configs => 'new base');
    is((report('--no-plots', $name, 'scenarios'))[0], 0, "run '$name'");
    return;
}
compare_run('first',    200, 5000, 500, 0);
compare_run('close',    229, 5700, 300, 1);      # +14.5 %; starved is 0 in one and 1/300 in the other
compare_run('far',      231, 5000, 500, 0);      # +15.5 %
compare_run('slow',     200, 9000, 500, 0);      # only the second figure is off
compare_run('unstarved', 200, 5000, 500, 250);
{
    my ($status, $out) = report('--compare', 'first', 'close', 'scenarios');
    is($status, 0, 'within 15 %: agreement');
    like($out, qr/^  curve\s+8\s+\* reads per second\s+new\s+2\.00\s+2\.29\s+\+14\.5 %$/m, 'ratios and difference');
    like($out, qr/^  starved\s+4\s+\* short per second\s+new\s+inf\s+300\s+starved in both$/m, 'starved in both');
    like($out, qr/^2 of 2 main figures agree/m, 'count of the main figures');
    like($out, qr/^1 of 2 other figures agree within 15 %$/m, 'and of the others');

    ($status, $out) = report('--compare', 'first', 'far', 'scenarios');
    is($status, 1, 'beyond 15 %: disagreement');
    like($out, qr/^1 of 2 main figures agree within 15 %\n  apart: curve, point 8, reads per second, new: 2\.00 and 2\.31/m, 'which one');

    ($status, $out) = report('--compare', 'first', 'slow', 'scenarios');
    is($status, 0, 'other figures do not count for the status');
    like($out, qr/^1 of 2 other figures agree within 15 %\n  apart: curve, point 8, p99, ms, new: 0\.50 and 0\.90 \(\+80\.0 %\)/m, 'but are listed');

    ($status, $out) = report('--compare', 'first', 'unstarved', 'scenarios');
    is($status, 1, 'starved in one run only: disagreement');
    like($out, qr/short per second\s+new\s+inf\s+2\.00\s+0 or inf in one/, 'and said so');

    # A cost that differs a hundredfold is no starvation: 0.002 and 0.004 do not agree.
    mkdir "$TOP/costs";
    spew('costs/curve.scenario', $CURVE =~ s/^figure.*\n//mgr =~ s/(?=\[reader\])/figure = cost | reader | statements | 1 | lower\n/r);
    for my $cost (20, 40) {
        make_run("cost$cost", curve_rows(8, 'new', 1, 1, 1, statements => $cost) . curve_rows(8, 'base', 1, 1, 1, statements => 10_000),
            configs => 'new base');
        report('--no-plots', "cost$cost", 'costs');
    }
    ($status, $out) = report('--compare', 'cost20', 'cost40', 'costs');
    is($status, 1, 'costs are never starved');
    like($out, qr/cost\s+new\s+0\.002\s+0\.004\s+\+100\.0 %/, 'their difference');

    ($status, undef, my $err) = report('--compare', 'first', 'scenarios', 'scenarios');
    is($status, 2, 'no summary.csv: status');
    like($err, qr/summary\.csv is missing: run report\.pl/, 'no summary.csv: message');
}

# Errors: (what, rows or nothing, scenario text or nothing, message).
my $one = curve_rows(8, 'new', 1, 900, 4000);
my @broken = (
    ['too few fields',       "${one}curve,8,new\n",            undef, qr{results\.csv:4: malformed CSV: 3 fields where the header has 17}],
    ['an open quote',        "${one}\"curve,8\n",              undef, qr{results\.csv:4: malformed CSV: a quote is not closed}],
    ['a stray quote',        "${one}cur\"\"ve,8\n",            undef, qr{results\.csv:4: malformed CSV: misplaced quote in field 1}],
    ['not a number',         curve_rows(8, 'new', 1, 'fast', 1), undef, qr{results\.csv:2: 'fast' in column 'passes_per_s' is not a number}],
    ['a row twice',          $one . $one,                      undef, qr{results\.csv:4: the same measurement as in line 2}],
    ['unknown configuration', curve_rows(8, 'odd', 1, 1, 1),   undef, qr{results\.csv:2: configuration 'odd' is not in the 'configs='}],
    ['no rows',              '',                               undef, qr{results\.csv: has no measurement}],
    ['unknown column',       $one, $CURVE =~ s/passes_per_s/passes_per_h/r, qr{curve\.scenario:9: figure 'reads per second': results\.csv has no column of numbers 'passes_per_h'}],
    ['unknown class',        $one, $CURVE =~ s/\| reader/| writer/r, qr{curve\.scenario:9: unknown class 'writer' \(there are: probe, reader\)}],
    ['unknown class of a distribution', $one, "distribution = nobody\n$CURVE", qr{curve\.scenario:1: unknown class 'nobody'}],
    ['a bad figure',         $one, "figure = a | b\n$CURVE",   qr{curve\.scenario:1: expected 'figure = LABEL}],
    ['a bad direction',      $one, $CURVE =~ s/higher/up/r,    qr{curve\.scenario:9: 'up' is neither}],
    ['no scenario file',     $one =~ s/curve/lost/gr,          undef, qr{cannot read .*lost\.scenario}],
);
for my $i (0 .. $#broken) {
    my ($what, $rows, $scenario, $message) = @{ $broken[$i] };
    make_run("broken$i", $rows);
    mkdir "$TOP/scenarios$i";
    spew("scenarios$i/curve.scenario", $scenario // $CURVE);
    my ($status, undef, $err) = report('--no-plots', "broken$i", "scenarios$i");
    is($status, 2, "$what: status");
    like($err, $message, "$what: message");
}
is((report('good'))[0], 2, 'wrong usage');

# Two that get next to nothing of what the third one gets, and a class that is meant to be unfinished.
{
    my @old = (unfinished => 4, oldest_unfinished_us => 9_000_000);
    make_run('both', starved_rows('new', 500, 1000) . starved_rows('base', 2, 4000) . starved_rows('third', 1, 4000)
        . row(scenario => 'starved', point => 4, config => 'new', round => 1, class => 'long', passes => 0, @old));
    my ($status, $out) = report('--no-plots', 'both', 'scenarios');
    is($status, 0, 'two starved ones: status');
    is(summary_line('both', 'starved,4,short per second,third,'), 'starved,4,short per second,third,1,1,1,1,',
        'two starved ones have no ratio');
    is(summary_line('both', 'starved,4,short per second,new,'), 'starved,4,short per second,new,500,500,500,1,250',
        'but the third has one');
    unlike($out, qr/Unfinished: class long/, 'a class in the background is meant to be unfinished');
}

# Fresh processes: the ratios of the rounds are 0.8, 0.9, 1.0, 1.1 and 2.0; round 6 has no partner.
{
    my @rate = (80, 90, 100, 110, 200);
    my $rows = join '', curve_rows(8, 'new', 6, 900, 1),
        map { (curve_rows(8, 'new', $_, $rate[$_ - 1], 1), curve_rows(8, 'base', $_, 100, 1)) } 1 .. 5;
    make_run('fresh', $rows, fresh => 'yes', configs => 'new base');
    my ($status, $out, $err) = report('--no-plots', 'fresh', 'scenarios');
    is($status, 0, 'fresh processes: status');
    is(table_row($out, 'reads per second', 8), '8 105 100 1.05 [0.90 1.10]', 'the ratio has its quartiles');
    make_run('not-fresh', $rows, configs => 'new base');
    ($status, $out, $err) = report('--no-plots', 'not-fresh', 'scenarios');
    is(table_row($out, 'reads per second', 8), '8 105 100 1.05', 'rounds of one process have none');
}

done_testing();
