# Clients that come back, for the test drain_many.
#   drain_clients.pl FILE WHERE HOW
# HOW:
#   idle NUMBER   so many log in and wait. FILE.ready is there when all are in. Ends when all were closed.
#   work          eight that log in and commit transactions, again and again, until FILE.stop is there. Half of them send a
#                 whole transaction at once. Writes to FILE.broken how many transactions were broken off after they had
#                 begun, and how many commits were answered.
# WHERE is a port or a socket.
use strict;
use warnings;
use File::Basename;
require(dirname(__FILE__) . '/reach.pl');

my ($file, $where, $how, $number) = @ARGV;
$SIG{PIPE} = 'IGNORE';

sub login
{
  my $socket = reach_silent($where);
  # CLIENT_LONG_PASSWORD, CLIENT_CONNECT_WITH_DB, CLIENT_PROTOCOL_41, CLIENT_SECURE_CONNECTION
  my $content = pack('VVCx23', 0x1 | 0x8 | 0x200 | 0x8000, 0xffffff, 8) . "app\0\0test\0";
  syswrite($socket, pack('VX', length $content) . chr(1) . $content) or die "send: $!";
  my $answer = reach_packet($socket) // die 'no answer to a login';
  return $socket if ord $answer == 0;
  # Refused: by the drain
  my ($error) = unpack('x v', $answer);
  die "error $error" unless $error == 1053;
  return undef;
}

sub command { return pack('VX', 1 + length $_[0]) . "\0\3$_[0]" }

# @return whether it was answered with OK; undef: the connection was closed
sub answer
{
  my ($socket) = @_;
  my $answer = reach_packet($socket) // return undef;
  return ord $answer == 0;
}

if ($how eq 'idle')
{
  my @clients = map { login() // die 'refused' } 1 .. $number;
  open(my $f, '>', "$file.ready") or die;
  close $f;
  reach_closed($_, 1) or die 'not closed' for @clients;
  exit 0;
}

my @statements = ('BEGIN', 'INSERT INTO t VALUES (NULL)', 'COMMIT');
my @pipes;
for my $child (1 .. 8)
{
  pipe(my $read, my $write) or die;
  if (!fork)
  {
    my ($broken, $commits) = (0, 0);
    my $socket;
    while (!-e "$file.stop")
    {
      if (!defined $socket && !defined($socket = login()))
      {
        select undef, undef, undef, 0.002;
        next;
      }
      my $answers = 0;
      if ($child % 2)
      {
        syswrite($socket, join '', map { command($_) } @statements);
        $answers++ while $answers < 3 && answer($socket);
      }
      else
      {
        $answers++ while $answers < 3 && syswrite($socket, command($statements[$answers])) && answer($socket);
      }
      $commits++ if $answers == 3;
      $broken++ if $answers == 1 || $answers == 2;
      undef $socket if $answers < 3;
    }
    syswrite($write, "$broken $commits\n");
    exit 0;
  }
  close $write;
  push @pipes, $read;
}
my ($broken, $commits) = (0, 0);
for my $pipe (@pipes)
{
  my ($b, $c) = split ' ', (<$pipe> // die 'a client has failed');
  $broken += $b;
  $commits += $c;
}
1 while wait != -1;
open(my $f, '>', "$file.new") or die;
print $f "let \$broken= $broken;\nlet \$commits= $commits;\n";
close $f;
rename "$file.new", "$file.broken" or die;
