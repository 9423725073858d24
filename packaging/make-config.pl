#!/usr/bin/perl
# Writes the configuration file of the packages from doc/variables.md: every
# variable of its overview, with the first sentence of its section, its default
# and its range. So a variable that is documented is in the file.
#
#   make-config.pl doc/variables.md PLACE > 60-millrace.cnf
#
# PLACE is where a reader of the installed file finds doc/variables.md.
use strict;
use warnings;

my ($file, $place) = @ARGV;
die "usage: make-config.pl VARIABLES.MD PLACE\n" unless defined $place;
open my $in, '<', $file or die "$file: $!\n";
my @lines = <$in>;
close $in;
chomp @lines;

# Of the text of a section: its first sentence, without markup, on one line.
sub first_sentence
{
  my ($name) = @_;
  my ($on, $text) = (0, '');
  for (@lines)
  {
    if (/^### (\S.*)$/) { last if $on; $on = $1 =~ /\b\Q$name\E\b/; next }
    next unless $on;
    last if $_ eq '' && $text ne '';
    $text .= " $_";
  }
  $text =~ s/^\s+//;
  $text =~ s/\[([^]]*)\]\([^)]*\)/$1/g;
  $text =~ s/[`*]//g;
  $text = $1 if $text =~ /^(.*?\.)(?:\s|$)/;
  # A list that follows is not shown.
  $text =~ s/:$/./;
  return $text;
}

sub comment
{
  my ($text) = @_;
  my $line = '#';
  for my $word (split ' ', $text)
  {
    if (length("$line $word") > 78) { print "$line\n"; $line = '#' }
    $line .= " $word";
  }
  print "$line\n" if $line ne '#';
}

print <<"HEAD";
# Millrace: the thread pool is on. Every other line is a comment that shows a
# setting with its default. Each is explained in doc/variables.md, which is
# installed as
#   $place
#
# What only Millrace has is written with "loose_", so that the distribution's
# own server starts with this file as well: it warns, and goes on.

[mariadbd]
thread_handling = pool-of-threads
HEAD

my $count = 0;
for (@lines)
{
  # | `name` (ours) | scope | dynamic | default | range | unit |
  # Other marks: "(no effect)" is a variable too, "(Windows)" is none here.
  next unless /^\| `(\w+)`( \(ours\))?(?: \(no effect\))? \| (?:global|global, session) \|/;
  my ($name, $ours) = ($1, $2);
  my (undef, undef, undef, $dynamic, $default, $range, $unit) = split /\s*\|\s*/;
  next if $name eq 'thread_handling';
  for ($default, $range) { s/ \(\d+\)//; s/`//g }
  print "\n";
  comment(first_sentence($name));
  comment("Default: $default. Values: $range" . ($unit ? "; unit: $unit" : '') .
          ($dynamic eq 'yes' ? '' : '; only at startup') . '.');
  # "0 (off)" is the value 0; "number of CPUs" and "empty" are no value at all.
  (my $value = $default) =~ s/ \(.*\)$//;
  $value = '' if $value =~ / / || $value eq 'empty';
  print '#', ($ours ? 'loose_' : ''), "$name =", ($value eq '' ? '' : " $value"), "\n";
  $count++;
}
die "$file: no table of variables found\n" unless $count;
