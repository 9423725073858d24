package My::Suite::Thread_pool;

# The tests galera_* need a wsrep provider (libgalera_smm.so) and what a state transfer by
# mariabackup needs. Where one of these is missing they are skipped; all others run.

use strict;
use warnings;
use lib 'suite';
use wsrep::common;

our @ISA = qw(My::Suite);

push @::global_suppressions,
  (
    qr(WSREP: Could not open (saved )?state file for reading: ),
    qr|WSREP: access file\(.*gvwstate.dat\) failed ?\(No such file or directory\)|,
    qr(WSREP: Gap in state sequence\. Need state transfer\.),
    qr(WSREP: Failed to prepare for incremental state transfer:),
    qr(WSREP: wsrep_sst_receive_address is set to '127\.0\.0\.1),
    qr(WSREP: last inactive check more than .+ skipping check),
    qr(WSREP: .*down context.*),
    qr(WSREP: discarding established ),
    qr(WSREP: evs::proto.*),
    qr(WSREP: Could not find peer:),
    qr(WSREP: Failed to report last committed),
    qr(WSREP: Initial position was provided by configuration or SST, avoiding override),
  );

sub has { return `sh -c "command -v $_[0]"` }

# What is missing; undef: nothing.
sub missing_for_galera
{
  my $reason = wsrep_not_ok();
  return $reason if $reason;
  return 'Needs socat' unless has('socat');
  return 'Needs mariabackup' unless $ENV{XTRABACKUP};
  return 'Needs ss, lsof or sockstat' unless has('ss') || has('lsof') || has('sockstat');
  return undef;
}

sub skip_combinations
{
  my $reason = missing_for_galera();
  # As written in a test, and as found by mysqltest
  return $reason ? map { $_ => $reason } qw(include/have_galera.inc t/../include/have_galera.inc) : ();
}

bless { };
