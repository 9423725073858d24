# The server in the bare system: its version, its service, and further servers beside it. For all stories of
# ci/test-packages.
# shellcheck shell=bash

sql() { in_chroot mariadb -N -B -e "$1"; }

# comes_up SECONDS LOG COMMAND...: waits until the command works; else says what the log ends with.
comes_up()
{
  local seconds=$1 log=$2 waited=$SECONDS
  shift 2
  until "$@" > /dev/null 2>&1; do
    if [ $((SECONDS - waited)) -ge "$seconds" ]; then
      echo "no server after $seconds s"
      tail -n 20 "$log"
      return 1
    fi
    sleep 0.5
  done
}

wait_for_server() { comes_up 60 "$CHROOT/var/log/mysql/error.log" sql 'select 1'; }

# is_server VERSION-PATTERN: it runs, and says so.
is_server()
{
  local version
  wait_for_server || return
  version=$(sql 'select version()')
  [[ $version =~ $1 ]] || { echo "version() is $version"; return 1; }
}

STOCK_VERSION="^$UPSTREAM_VERSION-MariaDB-[0-9]"
OUR_VERSION="^$UPSTREAM_VERSION-MariaDB-$MILLRACE_REVISION-"

configure_server()
{
  cat > "$CHROOT/etc/mysql/mariadb.conf.d/99-test.cnf" <<CNF
[mariadbd]
log_error = /var/log/mysql/error.log
log_bin = /var/lib/mysql/binlog
server_id = 1
loose_spider_same_server_link = ON
CNF
  in_chroot invoke-rc.d mariadb restart > /dev/null 2>&1
  wait_for_server
}

no_process_of_server() { ! in_chroot sh -c 'cat /proc/[0-9]*/comm 2>/dev/null' | grep -x 'mariadbd\|mysqld'; }

# --- under systemd -----------------------------------------------------------

# limits_are OPEN-FILES NICE: that systemd asks for. NICE is 20 less the lowest nice
# value that the service may have. The process gets them if systemd may raise them,
# which not every container allows.
limits_are()
{
  local pid found
  wait_for_server || return
  equal "$1 $2" "$(in_chroot systemctl show -P LimitNOFILE mariadb) $(in_chroot systemctl show -P LimitNICE mariadb)" ||
    return
  if prlimit --nofile=300000:300000 true 2>/dev/null; then
    pid=$(in_chroot systemctl show -P MainPID mariadb)
    found=$(in_chroot cat "/proc/$pid/limits" |
      awk '/^Max open files/ { files = $4 } /^Max nice priority/ { print files, $4 }')
    equal "$1 $2" "$found"
  fi
}

start_time_of_service() { in_chroot systemctl show -P ExecMainStartTimestampMonotonic mariadb; }

# restarts_service COMMAND...
restarts_service()
{
  local before
  before=$(start_time_of_service)
  "$@" || return
  in_chroot systemctl is-active --quiet mariadb || { echo "the service does not run"; return 1; }
  [ "$before" != "$(start_time_of_service)" ] || { echo "not restarted"; return 1; }
}

# --- millrace-config ---------------------------------------------------------

install_config() { cp "$CONFIG_DEB" "$CHROOT/mnt/new/config.deb"; apt_in install /mnt/new/config.deb; }

check_pool_is_on()
{
  install_config && wait_for_server &&
    equal pool-of-threads "$(sql 'select @@thread_handling')"
}

# --- another server beside it ------------------------------------------------

# start_extra BINARY NAME PORT ID: another server in the same bare system, its
# data in /srv/NAME, made if there are none.
start_extra()
{
  local binary=$1 name=$2 port=$3 id=$4 share=/usr/share/$SERVER_SHARE
  if [ "$binary" != /usr/sbin/mariadbd ]; then share=/opt/stock/usr/share/$SERVER_SHARE; fi
  if [ ! -e "$CHROOT/srv/$name" ]; then make_data "/srv/$name" || return; fi
  in_chroot setsid "$binary" --no-defaults --user=mysql --datadir="/srv/$name" \
    --socket="/srv/$name/sock" --port="$port" --bind-address=127.0.0.1 --server-id="$id" \
    --log-bin=binlog --lc-messages-dir="$share" --character-sets-dir="$share/charsets" \
    --pid-file="/srv/$name/pid" --log-error="/srv/$name/error.log" < /dev/null > /dev/null 2>&1 &
  comes_up 40 "$CHROOT/srv/$name/error.log" sql_extra "$name" 'select 1'
}

# make_data DIR
make_data()
{
  in_chroot mariadb-install-db --no-defaults --user=mysql --datadir="$1" \
    --auth-root-authentication-method=normal --skip-test-db > "$WORK/install-db.log" 2>&1 ||
    { tail -n 20 "$WORK/install-db.log"; return 1; }
}

sql_extra() { in_chroot mariadb --no-defaults --socket="/srv/$1/sock" -N -B -e "$2"; }

stop_extra() { in_chroot mariadb-admin --no-defaults --socket="/srv/$1/sock" shutdown; }

# --- tptop ---------------------------------------------------------------------

# It is of this revision, and shows the pool.
tptop_shows_pool()
{
  local out
  out=$(in_chroot tptop --version) || { echo "$out"; return 1; }
  [[ $out == "tptop $MILLRACE_REVISION,"* ]] || { echo "it is another one: $out"; return 1; }
  out=$(in_chroot tptop --batch --count=2 --interval=0.2 2>&1) || { echo "$out"; return 1; }
  equal "2 2" "$(grep -c '^groups: [1-9]' <<< "$out") $(grep -cE '^gate: [0-9]+, hot [0-9]+, ' <<< "$out")" ||
    { echo "$out"; return 1; }
}
