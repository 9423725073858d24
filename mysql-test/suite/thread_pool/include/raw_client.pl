# A client that stops in the middle, for tests of waits for the network. Speaks
# the protocol by itself, and then sleeps until it is ended by a signal.
#   raw_client.pl PORT auth     is asked by the second plugin of its account in its login, and says nothing
#   raw_client.pl PORT read     logs in as root, and sends a half of a statement
#   raw_client.pl PORT write    logs in as root, and doesn't read a large result
#   raw_client.pl PORT late MS [USER]   answers the greeting MS milliseconds later, logs in as root, and ends. Somebody
#                               else has to be refused
#   raw_client.pl PORT execute FILE  logs in as root, prepares a statement (COM_STMT_PREPARE) when FILE.prepare is
#                               there, executes it (COM_STMT_EXECUTE) when FILE.execute is there, prints the string
#                               that it returns, and ends
use strict;
use warnings;
use IO::Socket::INET;

my ($port, $what, $delay, $user) = @ARGV;
$user //= 'root';
my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port, Proto => 'tcp') or die "connect: $!";

sub get
{
  my ($length) = @_;
  my $got = '';
  while (length $got < $length)
  {
    sysread($socket, $got, $length - length $got, length $got) or die 'no answer';
  }
  return $got;
}

sub get_packet { my ($l, $h) = unpack('vC', get(4)); return get($l + 65536 * $h) }

sub put_packet
{
  my ($number, $content, $length) = @_;
  $length //= length $content;
  syswrite($socket, pack('VX', $length) . chr($number) . $content) or die "send: $!";
}

sub stop_here { sleep 1000 while 1 }

# CLIENT_LONG_PASSWORD, CLIENT_PROTOCOL_41, CLIENT_SECURE_CONNECTION
my $flags = 0x1 | 0x200 | 0x8000;
my $head = pack('VCx23', 0xffffff, 8);

get_packet;
if ($what eq 'auth')
{
  # CLIENT_PLUGIN_AUTH
  put_packet(1, pack('V', $flags | 0x80000) . $head . "asked\0\0none\0");
  stop_here;
}
select(undef, undef, undef, $delay / 1000) if $what eq 'late';
put_packet(1, pack('V', $flags) . $head . "$user\0\0");
my $answer = get_packet;
if ($user ne 'root')
{
  die 'not refused' if ord $answer == 0;
  exit 0;
}
die 'no login' unless ord $answer == 0;
exit 0 if $what eq 'late';
if ($what eq 'execute')
{
  my $file= $delay;
  # If the test has failed, nothing comes
  my $come= sub { for (1 .. 30000) { return if -e $_[0]; select(undef, undef, undef, 0.02) } die "no $_[0]" };
  $come->("$file.prepare");
  put_packet(0, "\x16SELECT CONCAT(?, ' has come') AS prepared");
  my ($ok, $statement, $columns, $parameters)= unpack('CVvv', get_packet);
  die 'not prepared' if $ok || $columns != 1 || $parameters != 1;
  # The parameter, its end, the column, its end
  get_packet for 1 .. 4;
  $come->("$file.execute");
  # No cursor, once; no NULLs; a type is told, and a value
  my $value= 'the value';
  put_packet(0, pack('CVCVCCvC/a', 0x17, $statement, 0, 1, 0, 1, 253, $value));
  # How many columns, the column, its end, the row, the end
  my @packets= map get_packet, 1 .. 5;
  # A binary row: 0, a byte of NULLs, a string. It is written before the connection is closed.
  $|= 1;
  print unpack('x2 C/a', $packets[3]), "\n";
  exit 0;
}
if ($what eq 'read')
{
  put_packet(0, "\3SELECT 1", 100);
}
else
{
  # More than the kernel holds for the two of them.
  put_packet(0, "\3SELECT REPEAT('x', 15000000), REPEAT('y', 15000000) FROM test.t");
}
stop_here;
