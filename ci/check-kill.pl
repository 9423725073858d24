#!/usr/bin/perl
# The claims of doc/kill.md and its tables, which ci/kill-table writes: no cell of Millrace takes
# longer than "In short" says, but for those that "Slower than that" names.
#
#   check-kill.pl doc/kill.md
use strict;
use warnings;

my ($file) = @ARGV;
open my $in, '<', $file or die "usage: check-kill.pl doc/kill.md\n";
my ($section, %limit, %slower, %tables, $wrong) = ('');

sub wrong { print "doc/kill.md: $_[0]\n"; $wrong = 1 }

while (<$in>)
{
  chomp;
  if (/^##+ (.*)/) { $section = $1; next }
  next if !/^\| (.*) \|$/ || /^\|---/;
  my @cells = split / *\| */, $1, -1;
  my @enders = map { s/`//gr } split /, /, $cells[0];
  if ($section eq 'In short')
  {
    $cells[-1] =~ /^(\d+) ms$/ or $cells[0] eq 'by' or wrong("no time in ms for $cells[0]");
    @limit{@enders} = ($1) x @enders if $cells[-1] =~ /^(\d+) ms$/;
  }
  elsif ($section eq 'Slower than that')
  {
    for my $ender (@enders) { $slower{"$ender, $_"} = 1 for split /, /, $cells[1] }
  }
  elsif (@cells == 7 && $cells[0] ne 'state')
  {
    my ($state, undef, $ms) = @cells;
    $tables{$section} = 1;
    next if $state eq 'the server';    # Not a connection.
    if (!$limit{$section}) { wrong("'In short' says no time for $section"); next }
    wrong("$section, $state: $ms ms, but 'In short' says $limit{$section} ms")
      if $ms ne '' && $ms > $limit{$section} && !$slower{"$section, $state"};
  }
}
wrong("there is no table for $_") for grep { !$tables{$_} } sort keys %limit;
exit($wrong ? 1 : 0);
