# Tables in every engine, Debian's plugins, and copies of the data: what has to outlive an exchange of the server.
# For the stories of ci/test-packages that begin with Debian's server.
# shellcheck shell=bash

# --- tables ------------------------------------------------------------------

# The part of CREATE TABLE that differs: columns, then the engine with options.
table_definition()
{
  local columns="id int not null primary key, v varchar(100) not null"
  case $1 in
    connect) echo "(id int not null, v varchar(100) not null) engine=connect
                   table_type=csv file_name='t_connect.csv'" ;;
    spider)  echo "($columns) engine=spider
                   comment='wrapper \"mysql\", srv \"backend\", table \"spider_data\"'" ;;
    mroonga) echo "($columns, fulltext key (v)) engine=mroonga" ;;
    *)       echo "($columns, key (v)) engine=$1" ;;
  esac
}

fill_tables()
{
  local name
  sql "create database shop; use shop;
    create user spider@'127.0.0.1' identified by 'spider';
    grant all on *.* to spider@'127.0.0.1';
    create table spider_data (id int not null primary key, v varchar(100) not null);
    create server backend foreign data wrapper mysql options
      (host '127.0.0.1', port 3306, user 'spider', password 'spider', database 'shop')" || return
  for name in $TABLES; do
    sql "use shop; create table t_$name $(table_definition "$name");
      insert into t_$name select seq, concat('row ', seq) from seq_1_to_1000" || return
  done
}

state_of_tables()
{
  local name
  for name in $TABLES; do
    echo "$name $(sql "select count(*), sum(id), sum(crc32(v)) from shop.t_$name" 2>/dev/null)"
  done
}

# Reads as it was left, then writes, in every engine; remembers the new state.
check_table()
{
  local name=$1 step=$2 left
  left=$(sed -n "s/^$name //p" "$WORK/state")
  equal "$left" "$(sql "select count(*), sum(id), sum(crc32(v)) from shop.t_$name")" || return
  sql "use shop; insert into t_$name values (10000 + $step, 'new $step');
    update t_$name set v = concat(v, ' changed') where id = 10000 + $step;
    delete from t_$name where id = $step" || return
  equal "new $step changed" "$(sql "select v from shop.t_$name where id = 10000 + $step")" || return
  equal "1000" "$(sql "select count(*) from shop.t_$name")"
}

# check_tables STEP TITLE
check_tables()
{
  local name
  for name in $TABLES; do check "$2: table in $name reads and writes" check_table "$name" "$1"; done
  state_of_tables > "$WORK/state"
}

# --- plugins -----------------------------------------------------------------

# check_plugins VERSION: engines of the plugin packages are active, and the packages
# of that version.
check_plugins()
{
  local version=$1 package engine
  for package in $AVAILABLE; do
    engine=${package##*-}
    equal ACTIVE "$(sql "select plugin_status from information_schema.plugins
                         where plugin_name = '$engine'")" || return
    versions_of_packages | grep -xF "$package $version installed" > /dev/null || return
  done
}

# --- copies, by programs of the packages -------------------------------------

check_dump()
{
  # Spider's table would be copied as a second table on the same data.
  # shellcheck disable=SC2016  # for the inner shell
  in_chroot sh -c 'set -e
    mariadb-dump --single-transaction --routines --ignore-table=shop.t_spider \
      --ignore-table=shop.t_connect shop > /mnt/new/shop.sql
    mariadb -e "create database copied"
    mariadb copied < /mnt/new/shop.sql
    for t in $(mariadb -N -e "show tables from copied"); do
      a=$(mariadb -N -e "select count(*), sum(id), sum(crc32(v)) from shop.$t")
      b=$(mariadb -N -e "select count(*), sum(id), sum(crc32(v)) from copied.$t")
      [ "$a" = "$b" ] || { echo "$t: $a, copied: $b"; exit 1; }
    done
    mariadb -e "drop database copied"'
}

# Backup, prepare, and a server of ours on what comes out of it.
check_backup()
{
  in_chroot sh -c 'mariadb-backup --backup --target-dir=/srv/backup &&
      mariadb-backup --prepare --target-dir=/srv/backup &&
      chown -R mysql /srv/backup' > "$WORK/backup.log" 2>&1 ||
    { tail -n 5 "$WORK/backup.log"; return 1; }
  start_extra /usr/sbin/mariadbd backup 3310 10 || return
  equal "$(sed -n 's/^innodb //p' "$WORK/state")" \
    "$(sql_extra backup 'select count(*), sum(id), sum(crc32(v)) from shop.t_innodb')" &&
    stop_extra backup
}
