# For perl blocks: starts another server, on an empty directory, which stands
# still when it opens a file, and gets SIGTERM there.
use strict;
use warnings;
use Fcntl;
use File::Path;
use POSIX ':sys_wait_h';
use Time::HiRes 'sleep';

# startup_sigterm(TITLE, OPTION, CONTENT, OPTION...): the file is that of the first
# option, a pipe that nobody has opened at the other end.
sub startup_sigterm
{
  my ($title, $stops_at, $content, @options) = @_;
  my $dir = "$ENV{MYSQL_TMP_DIR}/sigterm";
  my ($log, $pipe) = ("$dir/log", "$dir/pipe");
  rmtree($dir);
  mkpath("$dir/data");
  POSIX::mkfifo($pipe, 0600) or die "mkfifo: $!";
  local $SIG{PIPE} = 'IGNORE';
  my $pid = fork() // die "fork: $!";
  if (!$pid)
  {
    open(STDOUT, '>', '/dev/null');
    open(STDERR, '>', $log);
    # --user only matters for root, who must say so.
    exec($ENV{MYSQLD}, '--no-defaults', '--user=root', "--datadir=$dir/data", "--socket=$dir/socket",
         "--pid-file=$dir/pid", "--lc-messages-dir=$ENV{MYSQL_SHAREDIR}", '--skip-grant-tables',
         '--skip-innodb', '--default-storage-engine=myisam', '--skip-networking',
         '--loose-skip-performance-schema', "--$stops_at=$pipe", @options) or die;
  }
  my ($is_told, $has_ended);
  # For a minute at most: that is a server which stays.
  for (my $tries = 0; $tries < 6000 && !$has_ended; $tries++)
  {
    # Fails until the server has come to open it, which it may do more than once.
    if (sysopen(my $out, $pipe, O_WRONLY | O_NONBLOCK))
    {
      kill('TERM', $pid) unless $is_told++;
      syswrite($out, $content) if length $content;
      close $out;
    }
    sleep(0.01);
    $has_ended = waitpid($pid, WNOHANG) == $pid;
  }
  my $status = $?;
  if (!$has_ended)
  {
    kill('KILL', $pid);
    waitpid($pid, 0);
  }
  open(my $in, '<', $log) or die "$log: $!";
  my $said = join('', <$in>);
  close $in;
  my $how = !$has_ended ? 'it stays' :
            $status & 127 ? 'ended by signal ' . ($status & 127) : 'ended with ' . ($status >> 8);
  $how .= ', not told' unless $is_told;
  $how .= ', shutdown' if $said =~ /Normal shutdown/;
  $how .= ', complete' if $said =~ /Shutdown complete/;
  $how .= ', with a crash' if $said =~ /got signal|Assertion/;
  print "$title: $how\n";
  rmtree($dir);
}

1;
