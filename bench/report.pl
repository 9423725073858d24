#!/usr/bin/env perl
# Tables, a summary and plots from the raw results of one benchmark run, and the comparison of two runs. The parts are in
# Report/.
use strict;
use warnings;
use utf8;
use Encode qw(decode);
use FindBin qw($RealBin);
use Getopt::Long qw(GetOptions);
use lib $RealBin;
use Report::Comparison qw(compare_runs);
use Report::Files qw(write_file);
use Report::Plots qw(write_plots);
use Report::Results qw(read_run config_title read_results);
use Report::Tables qw(document render_text render_markdown summary_csv);

my $USAGE = <<'END';
usage: report.pl [--no-plots] RUN_DIRECTORY SCENARIO_DIRECTORY
           tables on standard output; tables.md, summary.csv and plots/ in RUN_DIRECTORY
       report.pl --compare RUN_A RUN_B SCENARIO_DIRECTORY
           compares the ratios to the baseline in the summary.csv of two runs;
           status 0 if all main figures (the first of each scenario) agree within 15 %, else 1
Status 2: wrong usage, or a file is missing or malformed.
END

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
