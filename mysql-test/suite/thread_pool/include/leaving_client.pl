# A client that goes away while its statement is queued or runs. Speaks the protocol by itself.
#   leaving_client.pl FILE WHERE HOW STATEMENT...
# WHERE is a port or a socket. Logs in as LEAVER_USER, or root, runs all statements but the last one, and writes its
# connection id to FILE.id. When FILE.send is there, it sends the last one; when FILE.go is, it goes.
# HOW:
#   close   as a client that ends, or is killed
#   reset   the same, as seen from far away
#   quit    it says goodbye instead of the last statement, and closes
#   bye     it says goodbye after the last statement, and closes
#   more    it sends the last two statements at once, and closes
#   half    shuts down its writing, reads the answer, and writes that to FILE.answer
use strict;
use warnings;
use IO::Socket::INET;
use IO::Socket::UNIX;
use Socket;

my ($file, $where, $how, @statements) = @ARGV;
my $user = $ENV{LEAVER_USER} || 'root';
my $socket = $where =~ /^\d+$/ ?
  IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $where, Proto => 'tcp') :
  IO::Socket::UNIX->new(Peer => $where) or die "connect: $!";

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
  my ($number, $content) = @_;
  syswrite($socket, pack('VX', length $content) . chr($number) . $content) or die "send: $!";
}

sub note { my ($what, $text) = @_; open(my $f, '>', "$file.new") or die; print $f $text; close $f; rename "$file.new", "$file.$what" }

sub wait_for
{
  my ($what) = @_;
  for (1 .. 3000)
  {
    return if -e "$file.$what";
    select undef, undef, undef, 0.02;
  }
  die "$what did not come\n";
}

my $greeting = get_packet;
$greeting =~ /^\x0a[^\0]*\0(....)/s or die;
my $id = unpack('V', $1);
# CLIENT_LONG_PASSWORD, CLIENT_CONNECT_WITH_DB, CLIENT_PROTOCOL_41, CLIENT_SECURE_CONNECTION,
# CLIENT_MULTI_STATEMENTS
put_packet(1, pack('VVCx23', 0x1 | 0x8 | 0x200 | 0x8000 | 0x10000, 0xffffff, 8) . "$user\0\0test\0");
ord get_packet == 0 or die 'not logged in';
my $last = pop @statements;
my $behind = $last;
$last = pop @statements if $how eq 'more';
for my $statement (@statements)
{
  put_packet(0, "\3$statement");
  my $status;
  do
  {
    # OK, rows, id (less than 251 of each), status: 8 means that another one follows
    (my $ok, undef, undef, $status) = unpack('CCCv', get_packet);
    $ok == 0 or die "failed: $statement";
  }
  while ($status & 8);
}
note('id', $id);
wait_for('send');
put_packet(0, $how eq 'quit' ? "\1" : "\3$last");
put_packet(0, "\3$behind") if $how eq 'more';
wait_for('go');
put_packet(0, "\1") if $how eq 'bye';
if ($how eq 'half')
{
  shutdown $socket, 1;
  my @packets = map get_packet, 1 .. 5;
  note('answer', substr($packets[3], 1));
}
setsockopt($socket, SOL_SOCKET, SO_LINGER, pack('ii', 1, 0)) if $how eq 'reset';
close $socket;
note('gone', '');
