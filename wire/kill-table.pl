#!/usr/bin/perl
# The tables of doc/kill.md, from what tpmatrix --table wrote.
#
#   kill-table.pl OURS STOCK_POOL STOCK_THREADS
#
# Each is the concatenation of all runs against one server. Cells of all transports are one
# cell here; where a transport differs, it is named. Times are the longest, in ms.
use strict;
use warnings;

my @names = ('ours', "stock's pool", 'stock, one thread per connection');
die "usage: kill-table.pl OURS STOCK_POOL STOCK_THREADS\n" unless @ARGV == @names;

# $cells[$server]{$ender}{$state}: a list of [transport, wanted, got, ms]
my (@cells, @enders, @states, %seen);
for my $server (0 .. $#ARGV)
{
  open my $file, '<', $ARGV[$server] or die "$ARGV[$server]: $!\n";
  while (<$file>)
  {
    chomp;
    my ($state, $ender, $transport, $wanted, $got, $client, $gone) = split /\t/;
    push @enders, $ender unless $seen{"ender $ender"}++;
    push @states, $state unless $seen{"state $state"}++;
    my $ms = $client > $gone ? $client : $gone;
    push @{$cells[$server]{$ender}{$state}}, [$transport, $wanted, $got, $ms];
  }
}

# In the order of a connection's life, whatever was run first
my @order = ('greeted', 'half a login', 'auth switch', 'TLS requested', 'half a TLS hello', 'TLS hello answered',
  'idle', 'idle in a transaction', 'queued', 'half a header', 'half a packet', 'pipelined', 'pipelined, half',
  'row lock', 'metadata lock', 'user lock', 'SLEEP', 'on CPU', 'LOAD DATA LOCAL', 'blocked in write', 'the server');
my %place = map { $order[$_] => $_ } 0 .. $#order;
@states = sort { $place{$a} <=> $place{$b} } @states;

# What happened, the same for all transports, or each
sub outcome
{
  my ($cells) = @_;
  return '' unless $cells;
  my (%by, @order);
  for my $cell (@$cells)
  {
    my ($transport, $wanted, $got) = @$cell;
    # To the client's program these are the same.
    $got =~ s/\breset\b/closed/;
    push @order, $got unless $by{$got};
    push @{$by{$got}}, $transport unless grep { $_ eq $transport } @{$by{$got} || []};
  }
  @order = sort { @{$by{$b}} <=> @{$by{$a}} } @order;
  my $first = shift @order;
  return join '; ', $first, map { join(', ', @{$by{$_}}) . ": $_" } @order;
}

sub longest
{
  my ($cells) = @_;
  my $longest = -1;
  for (@{$cells || []}) { $longest = $_->[3] if $_->[3] > $longest }
  return $longest < 0 ? '' : $longest;
}

# An error at a shutdown may be either.
sub is_wanted
{
  my ($got, $wanted) = @_;
  $got =~ s/^1927 closed$/1053 closed/ if $wanted eq '1053 closed';
  return $got eq $wanted || ($wanted eq 'closed' && $got =~ /^\d+ closed$/);
}

for my $ender (@enders)
{
  print "### $ender\n\n";
  print "| state | Millrace | ms | stock's pool | ms | stock, a thread each | ms |\n";
  print "|---|---|---|---|---|---|---|\n";
  for my $state (@states)
  {
    my $ours = $cells[0]{$ender}{$state} or next;
    my $wanted = $ours->[0][1];
    my @columns = ($state);
    for my $server (0 .. $#names)
    {
      my $text = outcome($cells[$server]{$ender}{$state});
      if (!$server) { $text .= " (should be: $wanted)" unless is_wanted($text, $wanted) }
      # Only what differs is shown of stock.
      elsif ($text eq outcome($ours)) { $text = 'same' }
      push @columns, $text, longest($cells[$server]{$ender}{$state});
    }
    print '| ', join(' | ', @columns), " |\n";
  }
  print "\n";
}
