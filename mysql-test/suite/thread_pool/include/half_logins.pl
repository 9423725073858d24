# Clients that stop in the middle of a login, and go on when they are told to.
#
#   half_logins.pl DIRECTORY serve PORT EXTRA_PORT SOCKET CLIENT
#     keeps them, until it is told to stop. CLIENT is the command line of a
#     client, without where to connect to: that one speaks TLS.
#   half_logins.pl DIRECTORY COMMAND [WORD ...]
#     tells it something, and prints its answer:
#
#   open NAME COUNT WHERE KIND   opens so many connections and stops. WHERE is
#                    pool (TCP), socket or extra; or other_pool, other_extra:
#                    from another address. KIND is one of %kinds below.
#   finish NAME      goes on to the end of the login, and does a SELECT 1
#   bytes NAME       the same, byte by byte
#   query_ok NAME    the same for those who have sent all
#   told NAME        what the server says before it ends them
#   query NAME       a SELECT 1
#   close NAME       hangs up
#   hang_up NAME     says that nothing more will come, and waits for the end
#   ended NAME       what the server sends until it hangs up, and whether that
#                    was too early or late for connect_timeout=2
#   trickle NAME     the same, while a byte is sent now and then
#   relay NAME WHERE RECORDS [OPTION ...]   the real client does a login with TLS; of
#                    what it sends come its request and so many records
#   finish, bytes and close are also for a relay
#   relay_ended NAME waits until the server hangs up
#   talk WHERE CASE  a whole conversation, see %cases below
#   compare CASE ... the same one with the pool and with the extra port
#   compare_other CASE ...   the same from another address
#   stop
use strict;
use warnings;
use IO::Socket::INET;
use IO::Socket::UNIX;
use IO::Select;
use Socket;
use Time::HiRes qw(time);

# For all that a server that works does at once
use constant PATIENCE => 30;

my ($directory, $command, @words) = @ARGV;
chdir $directory or die "$directory: $!";
# Relative: the path of a socket is short.
my $control = 'half_logins.socket';
$SIG{PIPE} = 'IGNORE';

if ($command ne 'serve')
{
  # It may not have begun yet.
  my $until = time + PATIENCE;
  my $socket;
  until ($socket = IO::Socket::UNIX->new(Peer => $control))
  {
    die "nobody listens: $!" if time > $until;
    select undef, undef, undef, 0.05;
  }
  print $socket join(' ', $command, @words), "\n";
  $socket->flush;
  local $/;
  my $answer = <$socket>;
  print $answer;
  exit($answer =~ /^failed/m ? 1 : 0);
}

my ($port, $extra_port, $path, @client) = @words;
my %ports = (pool => $port, extra => $extra_port);

# --- a connection -----------------------------------------------------------------

sub connect_to
{
  my ($where) = @_;
  return IO::Socket::UNIX->new(Peer => $path) if $where eq 'socket';
  # The other host is this one, by another address.
  my @from = $where =~ s/^other_// ? (LocalAddr => '127.0.0.2') : ();
  return IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $ports{$where}, Proto => 'tcp', @from);
}

sub new_connection
{
  my ($where) = @_;
  my $socket = connect_to($where) or die "connect: $!\n";
  $socket->blocking(1);
  return { socket => $socket, where => $where, in => '', seen => '', since => time, stuff => '' };
}

# Takes what comes. Returns 0 at the end.
sub receive
{
  my ($c, $until) = @_;
  my $left = $until - time;
  IO::Select->new($c->{socket})->can_read($left > 0 ? $left : 0) or die "nothing came\n";
  my $n = sysread($c->{socket}, my $got, 65536);
  # Hung up with something unread
  return 0 unless $n;
  $c->{in} .= $got;
  $c->{seen} .= $got;
  return $n;
}

sub packet
{
  my ($c) = @_;
  my $until = time + PATIENCE;
  for (;;)
  {
    if (length $c->{in} >= 4)
    {
      my $length = unpack('V', substr($c->{in}, 0, 3) . "\0");
      if (length $c->{in} >= 4 + $length)
      {
        $c->{number} = ord(substr($c->{in}, 3, 1)) + 1;
        my $packet = substr($c->{in}, 4, $length);
        $c->{in} = substr($c->{in}, 4 + $length);
        return $packet;
      }
    }
    receive($c, $until) or die "the server hung up\n";
  }
}

sub put
{
  my ($c, $bytes) = @_;
  while (length $bytes)
  {
    my $n = syswrite($c->{socket}, $bytes) or return;
    $bytes = substr($bytes, $n);
  }
}

# Each byte is one that a worker comes for: it is not sent before the last one was taken,
# as far as this can be seen.
sub put_bytes
{
  my ($c, $bytes) = @_;
  setsockopt($c->{socket}, 6, 1, 1) if $c->{where} ne 'socket';
  for my $byte (split //, $bytes)
  {
    syswrite($c->{socket}, $byte) or return;
    select undef, undef, undef, 0.0005;
  }
}

sub framed { my ($number, $content) = @_; return pack('VX', length $content) . chr($number) . $content }

sub greeting
{
  my ($c) = @_;
  return '' if $c->{greeted}++;
  my $packet = packet($c);
  if (ord $packet == 10)
  {
    my $at = index($packet, "\0") + 1;
    $c->{scramble} = substr($packet, $at + 4, 8) . substr($packet, $at + 31, 12);
  }
  return $packet;
}

# --- what a client sends ------------------------------------------------------------

# CLIENT_LONG_PASSWORD, CLIENT_PROTOCOL_41, CLIENT_SECURE_CONNECTION, CLIENT_PLUGIN_AUTH
use constant FLAGS => 0x1 | 0x200 | 0x8000 | 0x80000;
use constant TLS_FLAG => 0x800;

sub login_head { my ($flags) = @_; return pack('VVCx23', $flags, 0xffffff, 8) }

# With length: so long, with something behind it that nobody reads
sub login
{
  my (%with) = @_;
  my $user = $with{user} // 'root';
  my $password = $with{password} // '';
  my $plugin = $with{plugin} // 'mysql_native_password';
  my $content = login_head(FLAGS) . "$user\0" . chr(length $password) . $password . "$plugin\0";
  $content .= 'x' x ($with{length} - length $content) if $with{length};
  return framed($with{number} // 1, $content);
}

my $tls_request = framed(1, login_head(FLAGS | TLS_FLAG));
# The first bytes of a ClientHello
my $half_hello = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03";
my $proxy1 = "PROXY TCP4 192.0.2.7 192.0.2.8 4711 3306\r\n";
my $proxy2 = "\r\n\r\n\0\r\nQUIT\n\x21\x11" . pack('n', 12) .
  pack('C4C4nn', 192, 0, 2, 7, 192, 0, 2, 8, 4711, 3306);

# What has been sent when it stops, and what is missing then (undef: raw bytes can't).
# The first three are what a login by a client without TLS consists of.
my %kinds = (
  silent     => ['', login()],
  greeted    => ['', login()],
  header     => [substr(login(), 0, 2), substr(login(), 2)],
  half       => [substr(login(), 0, 30), substr(login(), 30)],
  all_but_one=> [substr(login(), 0, -1), substr(login(), -1)],
  known      => [substr(login(user => 'known'), 0, 30), substr(login(user => 'known'), 30)],
  tls        => [$tls_request, undef],
  hello      => [$tls_request . $half_hello, undef],
  half_tls   => [substr($tls_request, 0, 20), undef],
  proxy1     => [substr($proxy1, 0, 10), substr($proxy1, 10) . login(user => 'proxied')],
  proxy2     => [substr($proxy2, 0, 14), substr($proxy2, 14) . login(user => 'proxied')],
  proxied    => [$proxy1, login(user => 'proxied')],
  # A whole answer: the server asks for another plugin, and waits.
  switch     => [login(plugin => 'none'), framed(3, '')],
  switch_slow=> [login(user => 'secret', plugin => 'none'), framed(3, 'x' x 20)],
  # The same, but it waits inside of the login. Those who wait for a place aren't asked yet.
  inside     => [login(user => 'waiter'), framed(3, '')],
  waiter     => [login(user => 'waiter'), framed(3, '')],
  # A whole answer of a user whose login takes long
  slow       => [login(user => 'slow'), ''],
  # Whole answers, which may have to wait for their turn
  check      => [login(user => 'checker'), ''],
  whole      => [login(), ''],
);

my %groups;

sub command_open
{
  my ($name, $count, $where, $kind) = @_;
  my $bytes = $kinds{$kind} or die "no kind $kind\n";
  for (1 .. $count)
  {
    my $c = new_connection($where);
    $c->{rest} = $bytes->[1];
    push @{$groups{$name}}, $c;
    next if $kind eq 'silent';
    greeting($c);
    put($c, $bytes->[0]);
    $c->{to_be_asked} = $kind =~ /^(switch|inside|waiter)/;
    be_asked($c) if $c->{to_be_asked} && $kind ne 'waiter';
  }
  return '';
}

# The server wants another plugin
sub be_asked
{
  my ($c) = @_;
  die "not asked for another plugin\n" if ord packet($c) != 0xfe;
  $c->{to_be_asked} = 0;
}

sub select_1
{
  my ($c) = @_;
  put($c, framed(0, "\3SELECT 1"));
  my @packets = map packet($c), 1 .. 5;
  return $packets[3] eq "\1" . "1" ? 'SELECT 1' : 'wrong';
}

sub describe
{
  my ($packet) = @_;
  my $first = ord $packet;
  return 'greeting' if $first == 10;
  return 'ok' if $first == 0;
  return 'another plugin' if $first == 0xfe;
  return sprintf 'error %d: %s', unpack('v', substr($packet, 1)),
    substr($packet, 3) =~ s/^#.{5}//r if $first == 0xff;
  return 'something else';
}

# What there is to say of each, with how many said it
sub summary
{
  my %count;
  $count{$_}++ for @_;
  return join '', map "$count{$_}: $_\n", sort keys %count;
}

sub go_on
{
  my ($c, $sender) = @_;
  my $what = eval
  {
    greeting($c);
    be_asked($c) if $c->{to_be_asked};
    $sender->($c, $c->{rest});
    my $answer = describe(packet($c));
    $answer eq 'ok' ? "logged in, " . select_1($c) : $answer;
  };
  return $what // "failed: $@" =~ s/\n//r;
}

# --- the real client, through a relay ---------------------------------------------------

my %relays;

sub command_relay
{
  my ($name, $where, $records, @options) = @_;
  my $listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 1) or die "listen: $!\n";
  my $pid = open(my $from, '-|') // die "fork: $!\n";
  if (!$pid)
  {
    open STDERR, '>&', STDOUT;
    exec @client, '--protocol=tcp', '--host=127.0.0.1', '--port=' . $listener->sockport, '--ssl', @options,
      '-N', '-e', q(SELECT 1; SHOW STATUS LIKE 'Ssl_version');
  }
  IO::Select->new($listener)->can_read(PATIENCE) or die "the client does not connect\n";
  my $relay = { name => $name, client => scalar $listener->accept, server => scalar connect_to($where), pid => $pid,
                output => $from, records => $records, from_client => '', requested => 0, open => 1, passed => 0 };
  setsockopt($relay->{server}, 6, 1, 1) if $where ne 'socket';
  $relays{$name} = $relay;
  # Until it holds something back
  my $until = time + PATIENCE;
  until (defined $relay->{held} || !$relay->{open})
  {
    die "the client sends nothing\n" if time > $until;
    pump($relay, 0.1);
  }
  return '';
}

sub take_records
{
  my ($relay) = @_;
  my $out = '';
  if (!$relay->{requested} && length $relay->{from_client} >= 36)
  {
    $out = substr($relay->{from_client}, 0, 36, '');
    $relay->{requested} = 1;
  }
  while ($relay->{requested} && $relay->{passed} < $relay->{records} &&
         length $relay->{from_client} >= 5)
  {
    my $length = 5 + unpack('n', substr($relay->{from_client}, 3, 2));
    last if length $relay->{from_client} < $length;
    $out .= substr($relay->{from_client}, 0, $length, '');
    $relay->{passed}++;
  }
  # The client has to say something that it may not say yet
  $relay->{held} = 1
    if $relay->{requested} && $relay->{passed} == $relay->{records} && length $relay->{from_client};
  return $out;
}

sub pump
{
  my ($relay, $wait, $everything) = @_;
  for my $socket (IO::Select->new($relay->{client}, $relay->{server})->can_read($wait))
  {
    my $n = sysread($socket, my $got, 65536);
    if (!$n)
    {
      $relay->{open} = 0;
      close $relay->{client};
      close $relay->{server};
      return;
    }
    if ($socket == $relay->{server})
    {
      put({ socket => $relay->{client} }, $got);
      next;
    }
    $relay->{from_client} .= $got;
  }
  my $out = $everything ? $relay->{from_client} : take_records($relay);
  $relay->{from_client} = '' if $everything;
  ($everything || \&put)->({ socket => $relay->{server}, where => 'relay' }, $out) if length $out;
}

sub finish_relay
{
  my ($relay, $sender) = @_;
  my $until = time + PATIENCE;
  while ($relay->{open})
  {
    die "the client does not come to an end\n" if time > $until;
    pump($relay, 0.1, $sender);
  }
  return end_client($relay);
}

sub end_client
{
  my ($relay) = @_;
  my $output = $relay->{output};
  local $/;
  my $text = <$output>;
  waitpid $relay->{pid}, 0;
  return $text =~ s/\s+/ /gr =~ s/ $//r;
}

# --- commands for those who have been opened ----------------------------------------------

sub command_finish
{
  my ($name, $sender) = @_;
  $sender ||= \&put;
  return finish_relay(delete $relays{$name}, $sender) . "\n" if $relays{$name};
  return summary(map go_on($_, $sender), @{$groups{$name}});
}

# The server hangs up; what the client thinks of it depends on its version.
sub command_relay_ended
{
  my ($name) = @_;
  my $relay = delete $relays{$name};
  my $until = time + PATIENCE;
  while ($relay->{open})
  {
    return "failed: nothing came\n" if time > $until;
    pump($relay, 0.1);
  }
  return end_client($relay) =~ /^ERROR/ ? "the client is told\n" : "failed: no error\n";
}

sub command_bytes { my ($name) = @_; return command_finish($name, \&put_bytes) }

sub command_query { my ($name) = @_; return summary(map select_1($_), @{$groups{$name}}) }

sub command_close
{
  my ($name) = @_;
  if (my $relay = delete $relays{$name})
  {
    close $relay->{client};
    close $relay->{server};
    end_client($relay);
    return '';
  }
  close $_->{socket} for @{$groups{$name}};
  delete $groups{$name};
  return '';
}

# Waits until the server has hung up
sub end_of
{
  my ($c) = @_;
  my $until = time + PATIENCE;
  while (receive($c, $until)) {}
  my $after = time - $c->{since};
  my @packets;
  while (length $c->{in} >= 4 && length $c->{in} >= 4 + unpack('V', substr($c->{in}, 0, 3) . "\0"))
  {
    push @packets, describe(packet($c));
  }
  push @packets, sprintf '%d bytes', length $c->{in} if length $c->{in};
  close $c->{socket};
  return (join(', ', @packets, 'end'), $after);
}

sub command_ended
{
  my ($name) = @_;
  my @what = map
  {
    my ($what, $after) = eval { end_of($_) };
    defined $what ? $what . ($after < 1.5 ? ', too early' : $after > 15 ? ', too late' : '') : "failed: $@" =~ s/\n//r;
  } @{delete $groups{$name}};
  return summary(@what);
}

# The server ends it at once, whatever it says
sub command_told { my ($name) = @_; return summary(map +(end_of($_))[0], @{delete $groups{$name}}) }

# One byte now and then, until the server has had enough
sub command_trickle
{
  my ($name) = @_;
  my $until = time + PATIENCE;
  my @open = @{$groups{$name}};
  while (@open)
  {
    die "it goes on for ever\n" if time > $until;
    my @still;
    for my $c (@open)
    {
      if (IO::Select->new($c->{socket})->can_read(0)) { next }
      # Not the last one: that would be an answer
      syswrite($c->{socket}, substr($c->{rest}, 0, 1, '')) if length $c->{rest} > 1;
      push @still, $c;
    }
    @open = @still;
    select undef, undef, undef, 0.1;
  }
  return command_ended($name);
}

sub command_hang_up
{
  my ($name) = @_;
  shutdown $_->{socket}, 1 for @{$groups{$name}};
  return summary(map { my ($what) = eval { end_of($_) }; $what // "failed: $@" =~ s/\n//r } @{delete $groups{$name}});
}

# --- conversations -----------------------------------------------------------------------

sub ask { my ($c, $bytes) = @_; greeting($c); put($c, $bytes) }

sub switched { my ($c, $login, $bytes) = @_; ask($c, $login); be_asked($c); put($c, $bytes) }
my $other = login(plugin => 'none');
my $secret = login(user => 'secret', plugin => 'none');

# Each is told, and then the server's answers are read until it hangs up, or says ok.
my %cases = (
  ok            => sub { ask($_[0], login()) },
  ok_bytes      => sub { greeting($_[0]); put_bytes($_[0], login()) },
  known         => sub { ask($_[0], login(user => 'known')) },
  known_blind   => sub { put($_[0], login(user => 'known')) },
  no_password   => sub { ask($_[0], login(user => 'secret')) },
  wrong_password=> sub { ask($_[0], login(user => 'secret', password => 'x' x 20)) },
  odd_password  => sub { ask($_[0], login(user => 'secret', password => 'x' x 7)) },
  unknown_user  => sub { ask($_[0], login(user => 'nobody')) },
  limited_user  => sub { ask($_[0], login(user => 'limited')) },
  long_user     => sub { ask($_[0], login(user => 'u' x 1000)) },
  number_0      => sub { ask($_[0], login(number => 0)) },
  number_2      => sub { ask($_[0], login(number => 2)) },
  number_255    => sub { ask($_[0], login(number => 255)) },
  number_2_head => sub { ask($_[0], substr(login(number => 2), 0, 4)) },
  empty         => sub { ask($_[0], framed(1, '')) },
  one_byte      => sub { ask($_[0], framed(1, "\5")) },
  five_bytes    => sub { ask($_[0], framed(1, "\5\2\0\0\0")) },
  no_end        => sub { ask($_[0], framed(1, login_head(FLAGS) . 'root')) },
  http          => sub { ask($_[0], "GET / HTTP/1.0\r\n\r\n") },
  ssh           => sub { ask($_[0], "SSH-2.0-OpenSSH_9.2\r\n") },
  tls_at_once   => sub { ask($_[0], $half_hello) },
  tls_short     => sub { ask($_[0], framed(1, pack('V', FLAGS | TLS_FLAG) . 'x' x 10)) },
  tls_nonsense  => sub { ask($_[0], $tls_request . "no TLS at all\n" x 10) },
  tls_in_answer => sub { ask($_[0], framed(1, login_head(FLAGS | TLS_FLAG) . "root\0\0")); shutdown $_[0]{socket}, 1 },
  long_64k      => sub { ask($_[0], login(length => 65536)) },
  longer_64k    => sub { ask($_[0], login(length => 65537)) },
  long_1m       => sub { ask($_[0], login(length => 1000000)) },
  long_17m      => sub { ask($_[0], "\xff\xff\xff\1" . 'x' x 0xffffff . login(number => 2)); shutdown $_[0]{socket}, 1 },
  long_max      => sub { ask($_[0], "\xff\xff\xff\1") ; shutdown $_[0]{socket}, 1 },
  eof_before    => sub { shutdown $_[0]{socket}, 1 },
  eof_greeted   => sub { greeting($_[0]); shutdown $_[0]{socket}, 1 },
  eof_header    => sub { ask($_[0], substr(login(), 0, 3)); shutdown $_[0]{socket}, 1 },
  eof_half      => sub { ask($_[0], substr(login(), 0, 30)); shutdown $_[0]{socket}, 1 },
  eof_tls       => sub { ask($_[0], $tls_request); shutdown $_[0]{socket}, 1 },
  eof_hello     => sub { ask($_[0], $tls_request . $half_hello); shutdown $_[0]{socket}, 1 },
  eof_switch    => sub { ask($_[0], login(plugin => 'none')); packet($_[0]); shutdown $_[0]{socket}, 1 },
  switch_ok     => sub { switched($_[0], $other, framed(3, '')) },
  switch_blind  => sub { ask($_[0], $other . framed(3, '')) },
  switch_bytes  => sub { greeting($_[0]); put_bytes($_[0], $other); be_asked($_[0]); put_bytes($_[0], framed(3, '')) },
  switch_no_name=> sub { switched($_[0], login(plugin => ''), framed(3, '')) },
  switch_case   => sub { ask($_[0], login(plugin => 'MySQL_Native_Password')) },
  switch_old    => sub { ask($_[0], login(plugin => 'mysql_old_password')) },
  switch_wrong  => sub { switched($_[0], $secret, framed(3, 'x' x 20)) },
  switch_none   => sub { switched($_[0], $secret, framed(3, '')) },
  switch_odd    => sub { switched($_[0], $secret, framed(3, 'x' x 7)) },
  switch_long   => sub { switched($_[0], $secret, framed(3, 'x' x 70000)) },
  switch_number => sub { switched($_[0], $other, framed(2, '')) },
  switch_eof    => sub { switched($_[0], $other, "\x14\0\0\3xx"); shutdown $_[0]{socket}, 1 },
  switch_nobody => sub { ask($_[0], login(user => 'nobody', plugin => 'none')); shutdown $_[0]{socket}, 1 },
  switch_twice  => sub { switched($_[0], login(user => 'waiter', plugin => 'none'), framed(3, '')) },
  eof_whole     => sub { ask($_[0], login()); shutdown $_[0]{socket}, 1 },
  # All at once, before the greeting was read
  blind         => sub { put($_[0], login()) },
  proxy1        => sub { ask($_[0], $proxy1 . login(user => 'proxied')) },
  proxy1_bytes  => sub { greeting($_[0]); put_bytes($_[0], $proxy1 . login(user => 'proxied')) },
  proxy1_local  => sub { ask($_[0], "PROXY UNKNOWN\r\n" . login()) },
  proxy1_long   => sub { ask($_[0], 'PROXY ' . 'x' x 300) },
  proxy1_bad    => sub { ask($_[0], "PROXY TCP4 nonsense\r\n" . login()) },
  proxy1_unwanted=>sub { ask($_[0], "PROXY TCP4 192.0.2.9 192.0.2.8 4711 3306\r\n" . login(user => 'proxied')) },
  proxy1_twice  => sub { ask($_[0], $proxy1 . $proxy1 . login(user => 'proxied')) },
  proxy1_number => sub { ask($_[0], $proxy1 . login(user => 'proxied', number => 3)) },
  proxy1_eof    => sub { ask($_[0], $proxy1); shutdown $_[0]{socket}, 1 },
  proxy2        => sub { ask($_[0], $proxy2 . login(user => 'proxied')) },
  proxy2_bytes  => sub { greeting($_[0]); put_bytes($_[0], $proxy2 . login(user => 'proxied')) },
  proxy2_long   => sub { ask($_[0], substr($proxy2, 0, 14) . pack('n', 300) . 'x' x 300) },
  proxy2_bad    => sub { ask($_[0], substr($proxy2, 0, 4) . 'nonsense, all of it') },
  proxy2_eof    => sub { ask($_[0], $proxy2); shutdown $_[0]{socket}, 1 },
  proxy_header  => sub { ask($_[0], substr($proxy1, 0, 4)); shutdown $_[0]{socket}, 1 },
);

# Tells what is different each time the same
sub normalised
{
  my ($c) = @_;
  my $seen = $c->{seen};
  if (defined $c->{scramble})
  {
    my $at = index($seen, "\0", 5) + 1;
    substr($seen, $at, 4) = 'ID..';
    my ($first, $second) = (substr($c->{scramble}, 0, 8), substr($c->{scramble}, 8));
    $seen =~ s/\Q$first\E/8 bytes./g;
    $seen =~ s/\Q$second\E/12 bytes..../g;
  }
  return $seen;
}

sub conversation
{
  my ($where, $case) = @_;
  my $do = $cases{$case} or die "no case $case\n";
  my $c = new_connection($where);
  my @said;
  my $ended = eval
  {
    $do->($c);
    # Instead of a greeting, it may be an error
    my $first = greeting($c);
    push @said, describe($first) if length $first;
    for (;;)
    {
      my $packet = packet($c);
      push @said, describe($packet);
      # A scramble of its own
      $c->{seen} =~ s/\Q$packet\E/another plugin/ if $said[-1] eq 'another plugin';
      if ($said[-1] eq 'ok') { push @said, select_1($c); last }
    }
    1;
  };
  push @said, $@ =~ s/\n//r unless $ended;
  push @said, 'and ' . length($c->{in}) . ' bytes' if length $c->{in};
  close $c->{socket};
  return (join(', ', @said), normalised($c));
}

sub command_talk
{
  my ($where, $case) = @_;
  my ($said) = conversation($where, $case);
  return "$case: $said\n";
}

sub command_compare { return compare('', @_) }
sub command_compare_other { return compare('other_', @_) }

sub compare
{
  my ($from, @cases) = @_;
  my $text = '';
  for my $case (@cases)
  {
    my ($said, $bytes) = conversation("${from}pool", $case);
    my ($said_extra, $bytes_extra) = conversation("${from}extra", $case);
    $text .= "$case: $said\n";
    if ($said ne $said_extra)
    {
      $text .= "failed: extra port: $said_extra\n";
    }
    elsif ($bytes ne $bytes_extra)
    {
      s/([^ -~])/sprintf '\\x%02x', ord $1/ge for $bytes, $bytes_extra;
      $text .= "failed: other bytes\n$bytes\n$bytes_extra\n";
    }
  }
  return $text;
}

# --- commands ------------------------------------------------------------------------------

my %commands = (open => \&command_open, finish => \&command_finish, bytes => \&command_bytes,
                query => \&command_query, query_ok => \&command_finish, close => \&command_close, hang_up => \&command_hang_up,
                ended => \&command_ended, told => \&command_told, trickle => \&command_trickle, relay => \&command_relay,
                relay_ended => \&command_relay_ended,
                talk => \&command_talk, compare => \&command_compare,
                compare_other => \&command_compare_other);

unlink $control;
my $listener = IO::Socket::UNIX->new(Local => $control, Listen => 5) or die "listen: $!";
# If the test died, there is nothing to do any more.
alarm 900;
for (;;)
{
  my @sockets = map { ($_->{client}, $_->{server}) } grep $_->{open}, values %relays;
  my %ready = map { ($_ => 1) } IO::Select->new($listener, @sockets)->can_read(10);
  exit unless -e $control;
  for my $relay (values %relays)
  {
    pump($relay, 0) if $relay->{open};
  }
  next unless $ready{$listener};
  my $teller = $listener->accept or next;
  my $line = <$teller> // next;
  my ($what, @with) = split ' ', $line;
  if ($what eq 'stop')
  {
    unlink $control;
    print $teller '';
    exit;
  }
  my $answer = eval { ($commands{$what} or die "what is $what?\n")->(@with) };
  print $teller $answer // "failed: $@";
  close $teller;
}
