# Many clients of one program, that is killed: each begins a statement.
#   dying_clients.pl FILE WHERE NUMBER STATEMENT
# WHERE is a port or a socket. When all have sent their statement, FILE.ready is there. When FILE.go is, it is
# killed by SIGKILL.
use strict;
use warnings;
use File::Basename;
require(dirname(__FILE__) . '/reach.pl');

my ($file, $where, $number, $statement) = @ARGV;
my @clients;
for (1 .. $number)
{
  my $socket = reach_silent($where);
  # CLIENT_LONG_PASSWORD, CLIENT_CONNECT_WITH_DB, CLIENT_PROTOCOL_41, CLIENT_SECURE_CONNECTION
  my $content = pack('VVCx23', 0x1 | 0x8 | 0x200 | 0x8000, 0xffffff, 8) . "root\0\0test\0";
  syswrite($socket, pack('VX', length $content) . chr(1) . $content) or die "send: $!";
  my $answer = reach_packet($socket) // die 'no answer';
  ord $answer == 0 or die 'not logged in';
  syswrite($socket, pack('VX', 1 + length $statement) . "\0\3$statement") or die "send: $!";
  push @clients, $socket;
}
open(my $f, '>', "$file.ready") or die;
close $f;
for (1 .. 3000)
{
  kill 'KILL', $$ if -e "$file.go";
  select undef, undef, undef, 0.02;
}
die "nobody let them die\n";
