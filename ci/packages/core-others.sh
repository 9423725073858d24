# Of the story core of ci/test-packages: our server beside others. Replication with Debian's server and with the
# primary base, and data of a later version.
# shellcheck shell=bash

# --- replication -------------------------------------------------------------

# follow HOW-TO-ASK-REPLICA HOW-TO-ASK-PRIMARY PORT: the replica follows from now on.
# Without TLS: 11.8 asks for it unless told otherwise, and not every primary here has a certificate.
follow()
{
  local replica=$1 primary=$2 port=$3 position
  $primary "create user if not exists repl@'127.0.0.1' identified by 'repl';
    grant replication slave on *.* to repl@'127.0.0.1'" || return
  position=$($primary 'select @@gtid_binlog_pos') || return
  $replica "set global gtid_slave_pos='$position';
    change master to master_host='127.0.0.1', master_port=$port, master_user='repl',
      master_password='repl', master_ssl=0, master_use_gtid=slave_pos;
    start slave"
}

# The same rows on both, after statements of several kinds.
replicates()
{
  local replica=$1 primary=$2 position
  $primary "create database if not exists r; use r; drop table if exists t;
    create table t (id int primary key auto_increment, v varchar(100)) engine=innodb;
    insert into t (v) select uuid() from seq_1_to_500;
    begin; update t set v = concat(v, rand()) where id < 100; delete from t where id > 400; commit;
    alter table t add column w int default 7;
    create or replace sequence s" || return
  position=$($primary 'select @@gtid_binlog_pos') || return
  [ "$($replica "select master_gtid_wait('$position', 60)")" = 0 ] ||
    { $replica 'show slave status' | tr '\t' '\n' | grep -iE 'error' ; return 1; }
  equal "$($primary 'checksum table r.t')" "$($replica 'checksum table r.t')"
}

# --- replication with Debian's server ----------------------------------------

stock_sql() { sql_extra stock "$1"; }

check_stock_replica()
{
  start_extra /opt/stock/usr/sbin/mariadbd stock 3311 11 || return
  follow stock_sql sql 3306 && replicates stock_sql sql && stock_sql 'stop slave; reset slave all'
}

check_stock_primary()
{
  follow sql stock_sql 3311 && replicates sql stock_sql && sql 'stop slave; reset slave all'
  local status=$?
  stop_extra stock
  return $status
}

# --- replication between the bases -------------------------------------------

primary_sql() { "$WORK/primary/bin/mariadb" --no-defaults --socket="$WORK/primary-data/mariadb.sock" -N -B -e "$1"; }

# Why there is no server of the primary base; nothing if there is: its release flavour, as it is, since a check is no
# place to build it.
primary_base_missing()
{
  if ! is_built "$PRIMARY"; then echo "its release flavour is not built, or of another stack (./build.sh build)"
  elif ! flock -n "$ROOT/build/state/lock" true; then echo "another build.sh works on it"
  fi
}

# It runs on this machine's files and libraries, in the bare system's network.
start_primary_base()
{
  "$ROOT/build.sh" --base "$PRIMARY" install --prefix "$WORK/primary" > "$WORK/install.log" 2>&1 ||
    { tail -n 10 "$WORK/install.log"; return 1; }
  setpriv --pdeathsig KILL nsenter --target "$CHROOT_PID" --net -- "$WORK/primary/bin/millrace-server" \
    "$WORK/primary-data" --port=3314 --server-id=14 --log-bin=binlog \
    < /dev/null > "$WORK/primary.log" 2>&1 9>&- &
  comes_up 120 "$WORK/primary.log" primary_sql 'select 1'
}

stop_primary_base()
{
  local pid
  pid=$(cat "$WORK/primary-data/mariadbd.pid" 2>/dev/null) || return 0
  kill -TERM "$pid" && wait_for_end "$pid"
}

# wait_for_end PID
wait_for_end()
{
  local waited=$SECONDS
  while kill -0 "$1" 2>/dev/null; do
    if [ $((SECONDS - waited)) -ge 60 ]; then echo "process $1 does not end"; return 1; fi
    sleep 0.2
  done
}

# Ours follows a server of the primary base: what an upgrade by replication does.
check_primary_base_as_primary()
{
  local status=0
  { start_primary_base && follow sql primary_sql 3314 && replicates sql primary_sql &&
      sql 'stop slave; reset slave all'; } || status=1
  stop_primary_base || status=1
  rm -rf "$WORK"/primary*
  return $status
}

# --- data of a later version -------------------------------------------------

# What a server says to data of a later major version: here, to a redo log of a
# format that does not exist yet.
refusal_of()
{
  local binary=$1 share=$2
  rm -rf "$CHROOT/srv/future"
  make_data /srv/future || return
  printf 'Phyt' | dd of="$CHROOT/srv/future/ib_logfile0" bs=1 conv=notrunc status=none
  in_chroot timeout 60 "$binary" --no-defaults --user=mysql --datadir=/srv/future --skip-networking \
    --socket=/srv/future/sock --lc-messages-dir="$share" 2>&1 |
    grep -E '\[ERROR\]' | sed 's/^[-0-9]* *[0-9:]* [0-9]* //'
}

check_future_data()
{
  local stock ours
  stock=$(refusal_of /opt/stock/usr/sbin/mariadbd "/opt/stock/usr/share/$SERVER_SHARE")
  ours=$(refusal_of /usr/sbin/mariadbd "/usr/share/$SERVER_SHARE")
  rm -rf "$CHROOT/srv/future"
  [[ $stock == *ERROR* ]] || { echo "stock: $stock"; return 1; }
  equal "$stock" "$ours"
}

test_tools()
{
  local missing
  check "mariadb-dump of Debian" check_dump
  check "mariadb-backup of Debian" check_backup
  cp -a "$WORK/stock" "$CHROOT/opt/stock"
  check "replication to a stock replica" check_stock_replica
  check "replication from a stock primary" check_stock_primary
  if [ -n "$BASE" ]; then
    missing=$(primary_base_missing)
    if [ -z "$missing" ]; then check "replication from ours on $PRIMARY" check_primary_base_as_primary
    else skip "replication from ours on $PRIMARY" "$missing"; fi
  fi
  check "data of a later version are refused as by stock" check_future_data
}
