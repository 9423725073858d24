# For perl blocks of the tests reach_*: clients that connect and go no further,
# by themselves, and clients that just ask something.
use strict;
use warnings;
use IO::Socket::INET;
use IO::Socket::UNIX;
use IO::Select;

# A number is a TCP port of 127.0.0.1, anything else a Unix socket.
sub reach_connect
{
  my ($where) = @_;
  my $socket = $where =~ /^\d+$/ ?
    IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $where, Proto => 'tcp') :
    IO::Socket::UNIX->new(Peer => $where);
  return $socket || die "connect: $!";
}

# One packet, or undef if the server has closed the connection.
sub reach_packet
{
  my ($socket) = @_;
  my $got = '';
  my $need = 4;
  while (length $got < $need)
  {
    sysread($socket, $got, $need - length $got, length $got) or return undef;
    if (length $got == 4 && $need == 4)
    {
      my ($low, $high) = unpack('vC', $got);
      $need += $low + 65536 * $high;
    }
  }
  return substr $got, 4;
}

# Connects, reads the greeting of the server, and says nothing.
sub reach_silent
{
  my ($where) = @_;
  my $socket = reach_connect($where);
  my $greeting = reach_packet($socket) // die 'no greeting';
  die 'refused' if ord $greeting == 255;
  return $socket;
}

# Says who it is, for a plugin that the account doesn't have, so the server asks
# once more; that remains without an answer.
sub reach_half
{
  my ($where, $user) = @_;
  my $socket = reach_silent($where);
  # CLIENT_LONG_PASSWORD, CLIENT_PROTOCOL_41, CLIENT_SECURE_CONNECTION, CLIENT_PLUGIN_AUTH
  my $content = pack('VVCx23', 0x1 | 0x200 | 0x8000 | 0x80000, 0xffffff, 8) . "$user\0\0" . "other\0";
  syswrite($socket, pack('VX', length $content) . chr(1) . $content) or die "send: $!";
  return $socket;
}

# Whether the server has closed the connection. Waits for up to a minute if it
# is to be closed.
sub reach_closed
{
  my ($socket, $wait) = @_;
  while (IO::Select->new($socket)->can_read($wait ? 60 : 0))
  {
    sysread($socket, my $rest, 1000) or return 1;
  }
  return 0;
}

# What a client program prints, with its errors. It may take a minute.
sub reach_ask
{
  my ($where, $user, $statement) = @_;
  my $how = $where =~ /^\d+$/ ? "--protocol=tcp --host=127.0.0.1 --port=$where" : "--protocol=socket --socket=$where";
  my $got = `$ENV{MYSQL} $how --user=$user --connect-timeout=60 -N -B -e "$statement" 2>&1`;
  chomp $got;
  return $got;
}

1;
