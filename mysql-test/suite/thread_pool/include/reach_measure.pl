# How long do logins take beside clients that don't finish theirs?
#   perl reach_measure.pl SOCKET PORT COUNT [USER [PLUGIN [WAY ...]]]
# COUNT clients, by TCP from 127.0.0.1, say that they are USER (root), with a plugin that nobody has (none), and then
# nothing. Beside them, 50 logins with a SELECT 1 by each WAY: socket, tcp, or other (from 127.0.0.2), with :USER at its
# end or as root. The accounts have no password. Prints the times and the number of threads.
use strict;
use warnings;
use IO::Socket::INET;
use IO::Socket::UNIX;
use Time::HiRes qw(time sleep);

my ($path, $port, $count, $user, $plugin, @ways) = @ARGV;
$user //= 'root';
$plugin //= 'none';
@ways = qw(socket tcp) unless @ways;

sub connect_by
{
  my ($way) = @_;
  my @from = $way eq 'other' ? (LocalAddr => '127.0.0.2') : ();
  my $socket = $way eq 'socket' ? IO::Socket::UNIX->new(Peer => $path) :
    IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port, Proto => 'tcp', @from);
  return $socket || die "connect: $!\n";
}

sub packet
{
  my ($socket) = @_;
  my $got = '';
  my $need = 4;
  while (length $got < $need)
  {
    sysread($socket, $got, $need - length $got, length $got) or die "the server hung up\n";
    $need += unpack('V', substr($got, 0, 3) . "\0") if length $got == 4 && $need == 4;
  }
  return substr $got, 4;
}

sub put { my ($socket, $number, $content) = @_; syswrite($socket, pack('VX', length $content) . chr($number) . $content) }

# CLIENT_LONG_PASSWORD, CLIENT_PROTOCOL_41, CLIENT_SECURE_CONNECTION, CLIENT_PLUGIN_AUTH
sub answer { my ($who, $how) = @_; return pack('VVCx23', 0x1 | 0x200 | 0x8000 | 0x80000, 0xffffff, 8) . "$who\0\0$how\0" }

sub login
{
  my ($way, $who) = @_;
  my $since = time;
  my $socket = connect_by($way);
  packet($socket);
  put($socket, 1, answer($who, 'mysql_native_password'));
  my $result = packet($socket);
  if (ord $result == 0xfe)
  {
    put($socket, 3, '');
    $result = packet($socket);
  }
  die 'refused: ' . substr($result, 3) . "\n" if ord $result;
  put($socket, 0, "\3SELECT 1");
  packet($socket) for 1 .. 5;
  return (time - $since, $socket);
}

# A row of two columns
sub value
{
  my ($socket, $statement) = @_;
  put($socket, 0, "\3$statement");
  packet($socket) for 1 .. 4;
  my $row = packet($socket);
  packet($socket);
  return substr($row, 2 + ord $row);
}

my (undef, $control) = login('socket', 'root');
my $threads = "SHOW STATUS LIKE 'Threadpool_threads'";
print "threads before: ", value($control, $threads), "\n";
my @silent;
for (1 .. $count)
{
  my $socket = connect_by('tcp');
  push @silent, $socket;
  packet($socket);
  put($socket, 1, answer($user, $plugin));
}
sleep 0.5;
for (@ways)
{
  my ($way, $who) = split /:/;
  my @times;
  my $until = time + 60;
  for (1 .. 50)
  {
    my ($took) = eval { login($way, $who // 'root') };
    print "failed: $@" unless defined $took;
    push @times, $took // ();
    last if time > $until;
  }
  @times = sort { $a <=> $b } @times;
  printf "%s: %d logins, median %.1f ms, max %.1f ms\n", $_, scalar @times,
    1000 * ($times[@times / 2] // 0), 1000 * ($times[-1] // 0);
}
print "threads beside $count: ", value($control, $threads), "\n";
