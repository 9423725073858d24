#!/usr/bin/perl
# Finds links in Markdown files that lead nowhere.
#
#   check-links.pl DIRECTORY FILE.md...
#
# The files are named relative to DIRECTORY. A relative link must lead to a file or
# directory below it that exists; its #anchor, if it has one, to a heading of that
# file, by the rules of GitHub. Each link that does not is printed.
use strict;
use warnings;

my ($root, @files) = @ARGV;
die "usage: check-links.pl DIRECTORY FILE.md...\n" unless @files;
chdir $root or die "$root: $!\n";

# The file in lines, those of code blocks empty. Indented ones begin after an empty
# line; in a list, where text is indented too, they are four columns deeper than that.
sub prose
{
  my ($file) = @_;
  open my $in, '<:encoding(UTF-8)', $file or die "$file: $!\n";
  my ($fence, $empty, $code, $list) = ('', 1, 0, 0);
  my @lines;
  while (my $line = <$in>)
  {
    chomp $line;
    if ($fence ne '')
    {
      $fence = '' if $line =~ /^\s*\Q$fence\E/;
      $line = '';
    }
    elsif ($line =~ /^\s*(```|~~~)/)
    {
      $fence = $1;
      $line = '';
    }
    elsif ($line !~ /\S/)
    {
      $empty = 1;
      push @lines, '';
      next;
    }
    else
    {
      my $indent = length(($line =~ /^(\s*)/)[0]);
      $code = $indent >= $list + 4 if $empty || $indent < $list + 4;
      if ($code) { $line = '' }
      elsif ($line =~ /^(\s*(?:[-*+]|\d+[.)])\s+)/) { $list = length $1 }
      elsif ($indent == 0 && $empty) { $list = 0 }
    }
    $empty = 0;
    push @lines, $line;
  }
  return @lines;
}

# The anchor that GitHub gives to a heading: its text without markup, in lower case,
# only letters, digits, "_", "-" and blanks, which become "-".
sub slug
{
  my ($text) = @_;
  $text =~ s/\s+#+\s*$//;
  $text =~ s/!?\[([^]]*)\]\([^)]*\)/$1/g;
  $text =~ s/[`*]//g;
  $text = lc $text;
  $text =~ s/[^\w\- ]//g;
  $text =~ s/^\s+|\s+$//g;
  $text =~ s/ /-/g;
  return $text;
}

my %anchors;
sub anchors_of
{
  my ($file) = @_;
  return $anchors{$file} if $anchors{$file};
  my (%found, %count);
  for (prose($file))
  {
    $found{$1} = 1 while /<a\s+(?:name|id)="([^"]+)"/g;
    next unless /^ {0,3}#{1,6}\s+(.*)$/;
    my $slug = slug($1);
    my $again = $count{$slug}++;
    $found{$again ? "$slug-$again" : $slug} = 1;
  }
  return $anchors{$file} = \%found;
}

# place FILE TARGET: what the target is, seen from that file; undef above the root.
sub place
{
  my ($file, $target) = @_;
  my @parts = split m{/}, $file;
  pop @parts;
  for (split m{/}, $target)
  {
    next if $_ eq '' || $_ eq '.';
    if ($_ ne '..') { push @parts, $_ }
    elsif (@parts) { pop @parts }
    else { return undef }
  }
  return join('/', @parts) || '.';
}

my $bad = 0;
sub bad { print "@_\n"; $bad++ }

for my $file (@files)
{
  # A link may go on in the next line, so its line is found by counting.
  my $text = join "\n", prose($file);
  $text =~ s/`[^`\n]*`/`x`/g;
  while ($text =~ /\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)|^ {0,3}\[[^]]+\]:\s+(\S+)/mg)
  {
    my $link = defined $1 ? $1 : $2;
    my $line = 1 + (substr($text, 0, $-[0]) =~ tr/\n//);
    next if $link =~ m{^(?:[a-z][a-z0-9+.-]*:|//)}i;
    my ($target, $anchor) = $link =~ /^([^#]*)(?:#(.*))?$/;
    my $place = $target eq '' ? $file : place($file, $target);
    if ($target =~ m{^/} || !defined $place || !-e $place)
    {
      bad("$file:$line: $link: there is no such file");
    }
    elsif (defined $anchor && $anchor ne '' && $place =~ /\.md$/ && !anchors_of($place)->{$anchor})
    {
      bad("$file:$line: $link: there is no such heading");
    }
  }
}
exit($bad ? 1 : 0);
