#!/usr/bin/perl
# Reads unified diffs, for the scripts next to it.
#
#   patch-lines.pl --files PATCH...   the files they touch, one a line
#   patch-lines.pl --added PATCH...   PATCH:LINE<TAB>FILE<TAB>text, each added line
#   patch-lines.pl --new-lines PATCH...
#                                     FILE NUMBER, each added line in its new file
#   patch-lines.pl --changes PATCH... FILE<TAB>+text or FILE<TAB>-text, each line
#                                     added or removed: what they do, wherever
#   patch-lines.pl --alters DIR PATCH...
#       PATCHes in the order of the series, on the pristine tree DIR: lines that
#       one removes though an earlier one added them, as
#       PATCH<TAB>earlier PATCH<TAB>FILE<TAB>text
#
# Hunks are counted, so that "--- x" as content is not taken for a file name.
use strict;
use warnings;

my $mode= shift // '';
my $pristine= $mode eq '--alters' ? shift : undef;
die "usage: patch-lines.pl --files|--added|--new-lines|--changes|--alters DIR PATCH...\n"
  unless $mode =~ /^--(files|added|new-lines|changes|alters)$/;

my %seen;      # files printed already
my %author;    # file => for each line, the patch that added it ('' upstream)

for my $patch (@ARGV)
{
  my ($old_name, $file, $old_left, $new_left, $lines, $at)= ('', '', 0, 0);
  open(my $in, '<', $patch) or die "$patch: $!\n";
  while (my $line= <$in>)
  {
    chomp $line;
    if ($old_left > 0 || $new_left > 0)
    {
      my $op= substr($line, 0, 1);
      $old_left-- if $op ne '+' && $op ne '\\';
      $new_left-- if $op ne '-' && $op ne '\\';
      print "$file\t$line\n" if $mode eq '--changes' && $op =~ /[-+]/;
      if ($op eq '+')
      {
        print "$patch:$.\t$file\t", substr($line, 1), "\n" if $mode eq '--added';
        splice(@$lines, $at, 0, $patch) if $lines;
        $at++;
        print "$file $at\n" if $mode eq '--new-lines';
      }
      elsif ($op eq '-')
      {
        next unless $lines;
        my $by= splice(@$lines, $at, 1);
        print "$patch\t$by\t$file\t", substr($line, 1), "\n" if $by;
      }
      elsif ($op ne '\\')
      {
        $at++;
      }
    }
    elsif ($line =~ /^--- (\S+)/)
    {
      $old_name= $1;
    }
    elsif ($line =~ /^\+\+\+ (\S+)/)
    {
      $file= $1 eq '/dev/null' ? $old_name : $1;
      $file =~ s{^[^/]*/}{};
      print "$file\n" if $mode eq '--files' && !$seen{$file}++;
      $lines= $author{$file} //= upstream_lines($file) if $mode eq '--alters';
    }
    elsif ($line =~ /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/)
    {
      ($old_left, $new_left)= ($2 // 1, $4 // 1);
      # A hunk without new lines names the line before it.
      $at= $new_left ? $3 - 1 : $3;
    }
  }
}

sub upstream_lines
{
  my ($file)= @_;
  open(my $in, '<', "$pristine/$file") or return [];
  my @lines= map { '' } <$in>;
  return \@lines;
}
