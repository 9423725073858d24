#!/usr/bin/perl
# Writes the configuration file of the packages from doc/variables.md: every
# variable of its overview, with the first sentence of its section, its default
# and its range. So a variable that is documented is in the file.
#
#   make-config.pl doc/variables.md PLACE [SOCKET] > 60-millrace.cnf
#
# PLACE is where a reader of the installed file finds doc/variables.md. SOCKET is
# the path that extra_socket is set to; without it, that is a comment too.
use strict;
use warnings;

my ($file, $place, $socket) = @ARGV;
die "usage: make-config.pl VARIABLES.MD PLACE [SOCKET]\n" unless defined $place;
open my $in, '<', $file or die "$file: $!\n";
my @lines = <$in>;
close $in;
chomp @lines;

# A line must do no harm if somebody uncomments it as it stands. Where the default
# is computed, this value has the server compute it.
my %value = (thread_pool_max_transactions_limit => -1);

# Where the default is "nothing", or no value asks for it, the line is an example.
my %example = (
  thread_pool_size            => 4,
  thread_pool_exempt_programs => 'mariadb-dump',
  thread_pool_classes         => 'default: weight=1',
  extra_port                  => 3307,
  extra_bind_address          => '127.0.0.1',
  extra_socket                => '/run/mysqld/extra.sock',
);

# What to do with a variable, where the first sentence of its section does not say it.
my %advice = (
  thread_pool_size => 'Leave it out: the server counts the processors that it may use. Set it in a ' .
    'container if the status variable Threadpool_processors shows a wrong number. 1 is one group, which ' .
    'runs one statement at a time as long as none waits.',
  thread_pool_max_threads => 'A safety limit. Lower it only if the machine can not have so many threads.',
  thread_pool_oversubscribe => 'Leave it.',
  thread_pool_stall_limit => 'Leave it. Do not bring a low value from another pool.',
  thread_pool_priority => 'Leave it here; sessions set "high" (administrators) or "low" (batch jobs).',
  thread_pool_busy_limit => 'Try 8 if many clients wait for the same rows or for the disk, and compare.',
  thread_pool_max_transactions_limit => '-1: the server computes it. Raise it if processors are idle while ' .
    'statements wait for it; 0 is no limit.',
  thread_pool_transaction_window => 'Leave it.',
  thread_pool_long_statement_limit => 'Raise it if most of your statements take a little more than 10 ms.',
  thread_pool_long_statement_nice => 'Set 0 if other programs on this machine use all of its processors.',
  thread_pool_exempt_programs => 'Only if you trust your clients: each can claim any name.',
  thread_pool_classes => 'Begin with two classes and max_time_action=log.',
  thread_pool_max_connecting => 'Raise it if logins wait for PAM, LDAP or a name server.',
  thread_pool_slow_log_queue_time => 'Set ON to find statements in the slow log that have waited for long.',
  thread_pool_report_interval => 'Set 60 for a line each minute.',
  thread_pool_slow_login => 'Set 1000 to find logins that take longer than a second.',
  thread_pool_exact_stats => 'Remove it from your files.',
  extra_port => 'Set it to a free port if administrators, monitoring or load balancers come by the network. ' .
    'Let nobody else reach it.',
  extra_bind_address => 'Set it together with extra_port.',
  extra_socket => 'The way in when the pool is full: mariadb --socket=PATH. Any account may log in there; ' .
    'one place is kept for administrators. A second server on this machine needs another path.',
  extra_max_connections => 'One for each program that stays connected there, such as an exporter. One more ' .
    'is kept for administrators.',
);

# Of the text of a section: its first sentence, without markup, on one line.
sub first_sentence
{
  my ($name) = @_;
  my ($on, $text) = (0, '');
  for (@lines)
  {
    if (/^### (\S.*)$/) { last if $on; $on = $1 =~ /\b\Q$name\E\b/; next }
    next unless $on;
    last if $_ eq '' && $text ne '';
    $text .= " $_";
  }
  $text =~ s/^\s+//;
  $text =~ s/\[([^]]*)\]\([^)]*\)/$1/g;
  $text =~ s/[`*]//g;
  $text = $1 if $text =~ /^(.*?\.)(?:\s|$)/;
  # A list that follows is not shown.
  $text =~ s/:$/./;
  return $text;
}

sub comment
{
  my ($text) = @_;
  my $line = '#';
  for my $word (split ' ', $text)
  {
    if (length("$line $word") > 78) { print "$line\n"; $line = '#' }
    $line .= " $word";
  }
  print "$line\n" if $line ne '#';
}

print <<"HEAD";
# Millrace: the thread pool is on. Usually you need to change nothing here.
#
# All other settings of the pool are comments. You can uncomment each line as it
# stands: it shows the default, or says that it is an example. Put your own
# settings into a file that is read after this one, so that an upgrade has no
# questions. Each setting is explained in doc/variables.md, which is installed as
#   $place
#
# What only Millrace has is written with "loose_", so that the distribution's
# own server starts with this file as well: it warns, and goes on.

[mariadbd]
thread_handling = pool-of-threads
HEAD

if (defined $socket)
{
  print "\n";
  comment($advice{extra_socket});
  print "loose_extra_socket = $socket\n";
}

my $count = 0;
for (@lines)
{
  # | `name` (ours) | scope | dynamic | default | range | unit |
  # Other marks: "(no effect)" is a variable too, "(Windows)" is none here.
  next unless /^\| `(\w+)`( \(ours\))?(?: \(no effect\))? \| (?:global|global, session) \|/;
  my ($name, $ours) = ($1, $2);
  my (undef, undef, undef, $dynamic, $default, $range, $unit) = split /\s*\|\s*/;
  next if $name eq 'thread_handling' || $name eq 'extra_socket' && defined $socket;
  for ($default, $range) { s/ \(\d+\)//; s/`//g }
  print "\n";
  comment(first_sentence($name));
  comment($advice{$name}) if $advice{$name};
  comment("Default: $default. Values: $range" . ($unit ? "; unit: $unit" : '') .
          ($dynamic eq 'yes' ? '' : '; only at startup') . '.');
  # "0 (off)" is the value 0; "number of CPUs" and "empty" are no value at all.
  (my $value = $default) =~ s/ \(.*\)$//;
  $value = $value{$name} if defined $value{$name};
  $value = "$example{$name}  # an example" if defined $example{$name};
  die "$file: no value for $name that could be uncommented\n" if $value =~ /^(?:|empty|[^#]* [^#]*)$/;
  print '#', ($ours ? 'loose_' : ''), "$name = $value\n";
  $count++;
}
die "$file: no table of variables found\n" unless $count;
