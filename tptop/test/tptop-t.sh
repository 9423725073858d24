#!/bin/bash
# tptop in a real terminal (tmux) against a real server. Called by "./build.sh test" with
#   TPTOP   the program                 CLIENT      a mariadb client, as root, at the socket
#   SOCKET  the server's socket         EXTRA_PORT  its extra_port
#   PID     its process
# The server has the pool on, with 4 groups, and extra_max_connections=5. If it has an extra_socket
# too, that is tested as well. It is killed by the
# last test, so that one has to be the last. Nothing waits for a fixed time: what has to
# come is polled for, with a deadline. Prints TAP.
set -uo pipefail

# shellcheck source=bench/test/tap.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../bench/test/tap.sh"
DEADLINE=${DEADLINE:-60}
export TMUX_TMPDIR=$DIR
unset TMUX NO_COLOR
trap end EXIT

end()
{
  in_tmux kill-server 2> /dev/null
  rm -rf "$DIR"
}

silent()  # silent TEXT NAME: it does not
{
  local status=0
  ! grep -qF -- "$1" "$DIR/out" || status=1
  ok $status "$2" "there: $1"
}

# until_true COMMAND...: tries until it succeeds, or the deadline is over.
until_true()
{
  local started=$SECONDS
  until "$@"; do
    [ $((SECONDS - started)) -lt "$DEADLINE" ] || return 1
    sleep 0.1
  done
}

sql() { $CLIENT -N -B -e "$1" < /dev/null; }
sql_is() { [ "$(sql "$1")" = "$2" ]; }
# By the extra port, for when the server is full.
sql_extra()
{
  ${CLIENT%% *} --no-defaults --host=127.0.0.1 --port="$EXTRA_PORT" --user=watch --password=secret \
    -N -B -e "$1" < /dev/null
}
extra_is() { [ "$(sql_extra "$1" 2> /dev/null)" = "$2" ]; }

# --- the terminal ----------------------------------------------------------------

in_tmux() { LC_ALL=C.UTF-8 tmux -u -L tptop -f /dev/null "$@"; }

# start COLUMNS LINES [VARIABLE=VALUE]... [OPTION]...: tptop in a window of that size.
start()
{
  local size=(-x "$1" -y "$2") set=(LC_ALL=C.UTF-8)
  shift 2
  while [[ ${1-} == [A-Z]* ]]; do set+=("$1"); shift; done
  in_tmux kill-session -t tptop 2> /dev/null
  # shellcheck disable=SC2016  # for the inner shell
  in_tmux new-session -d -s tptop "${size[@]}" bash -c '"$@"; echo "ended with $?"; exec sleep 1000' \
    bash env "${set[@]}" "$TPTOP" --defaults-file="$DIR/my.cnf" "$@" ||
    echo "# tmux does not start"
}

key() { in_tmux send-keys -t tptop "$@"; }
look() { in_tmux capture-pane -t tptop -p > "$DIR/out" 2>&1; }
shown() { look; grep -qE -- "$1" "$DIR/out"; }
hidden() { look; ! grep -qE -- "$1" "$DIR/out"; }

# sees PATTERN NAME: the screen shows it, sooner or later.
sees()
{
  local status=0
  until_true shown "$1" || status=1
  ok $status "$2" "not on the screen: $1"
}

# gone PATTERN NAME: it is there no longer, sooner or later.
gone()
{
  local status=0
  until_true hidden "$1" || status=1
  ok $status "$2" "still on the screen: $1"
}

# batch STATUS NAME OPTION...: runs it and asserts the exit status.
batch()
{
  local wanted=$1 name=$2 status=0
  shift 2
  "$TPTOP" "$@" > "$DIR/out" 2>&1 < /dev/null || status=$?
  is $status "$wanted" "$name"
}

: > "$DIR/out"
# So that tmux stays when the session of a test ends.
in_tmux new-session -d -s keep sleep 100000 || exit 1
cat > "$DIR/my.cnf" <<CNF
[client]
socket = "$SOCKET"
user = watch
password = 'secret'
[tptop]
extra_port = $EXTRA_PORT   # for a server that is full
interval = 0.5
CNF

sql "CREATE DATABASE IF NOT EXISTS tptop;
  CREATE OR REPLACE TABLE tptop.t (a INT PRIMARY KEY, b VARCHAR(100)) ENGINE=InnoDB;
  INSERT INTO tptop.t VALUES (1, ''), (2, '');
  CREATE OR REPLACE USER watch@localhost IDENTIFIED BY 'secret';
  CREATE OR REPLACE USER watch@'127.0.0.1' IDENTIFIED BY 'secret';
  CREATE OR REPLACE USER low@localhost IDENTIFIED BY 'secret';
  CREATE OR REPLACE USER app@localhost IDENTIFIED BY 'secret';
  GRANT ALL ON *.* TO watch@localhost;
  GRANT ALL ON *.* TO watch@'127.0.0.1';
  GRANT ALL ON tptop.* TO app@localhost" || exit 1
MILLRACE=$(sql "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_NAME = 'THREAD_POOL_HISTOGRAM'")

# --- options and batch mode ---------------------------------------------------------

batch 0 "--help" --help
says "usage: tptop" "it explains itself"
batch 0 "--version" --version
says "tptop millrace" "the version"
batch 2 "an unknown option" --nonsense
says "unknown option: --nonsense" "it is named"
batch 2 "a port that is none" --no-defaults --port=70000 --batch
says "'70000' is not a number" "the reason"
batch 2 "no terminal" --defaults-file="$DIR/my.cnf"
says "use --batch" "what to do instead"
batch 2 "an option file that is not there" --defaults-file="$DIR/nowhere" --batch
says "No such file" "the reason"
printf '[tptop]\nnonsense=1\n' > "$DIR/bad.cnf"
batch 2 "nonsense in an option file" --defaults-file="$DIR/bad.cnf" --batch
says "line 2: unknown option: nonsense" "the place"
batch 1 "no server there" --no-defaults --socket="$DIR/nobody" --batch
says "cannot connect to socket $DIR/nobody" "the place"
batch 1 "a wrong password" --no-defaults --socket="$SOCKET" --user=watch --password=wrong --batch
says "Access denied" "the server's reason"

batch 0 "--batch" --defaults-file="$DIR/my.cnf" --batch
is "$(grep -c '^time: ' "$DIR/out")" 1 "once"
is "$(sed -n 's/^version: //p' "$DIR/out")" "$(sql 'SELECT VERSION()')" "the server's version"
is "$(sed -n 's/^groups: //p' "$DIR/out")" 4 "all groups"
is "$(grep -cE '^ +[0-3]( +[0-9-]+){7}$' "$DIR/out")" 4 "a line for each"
silent "PROCESS privilege" "an administrator sees all"
batch 0 "--batch, three times" --defaults-file="$DIR/my.cnf" --batch --count=3 --interval=0.2
is "$(grep -c '^time: ' "$DIR/out")" 3 "three times"
if [ "$MILLRACE" = 1 ]; then
  is "$(grep -c "^queue time: .*since the server's start" "$DIR/out")" 1 "first since the start"
  is "$(grep -cE '^queue time: .*statements in [0-9.]+ s' "$DIR/out")" 2 "then since the last reading"
  is "$(grep -c '^gate: [0-9]*, hot [0-9]*, waiting [0-9]*, [A-Z]' "$DIR/out")" 3 "the gate, with its reason"
fi
batch 0 "a user without privileges" --defaults-file="$DIR/my.cnf" --user=low --batch
says "PROCESS privilege" "is told what is missing"

# --- the screen -----------------------------------------------------------------------

start 100 30
sees 'GROUPS 4' "the groups"
sees 'nobody waits for a lock' "no holders"
sees 'connections [0-9]+/' "the header"
sees '^ +all +[0-9]+ .*█' "a bar: our own statement runs"
sees 'queue +[0-9]+ [▁█]{3}' "the course of the queue"
key s; sees 'GROUPS 4  by queue' "s: the next column"
key r; sees 'by queue, reversed' "r: the other way round"
key h; sees 'Press a key to go back' "h: help"
key x; sees 'GROUPS 4' "and back"
key +; sees 'every 1 s' "+: a longer interval"
key -; sees 'every 0.5 s' "-: a shorter one"

# While it is paused the server isn't asked: its connection becomes idle for longer than the interval.
watched() { sql "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'watch' AND $1"; }
idle() { [ "$(watched "COMMAND = 'Sleep' AND TIME_MS > 2500")" = 1 ]; }
asked() { [ "$(watched "TIME_MS < 1500")" = 1 ]; }
key p; sees 'PAUSED' "p: paused"
until_true idle; ok $? "the server is asked no longer"
key p; gone 'PAUSED' "p: goes on"
until_true asked; ok $? "the server is asked again"

for size in 80x24 60x15 40x10 24x6 15x3 1x1 200x60 100x30; do
  in_tmux resize-window -t tptop -x "${size%x*}" -y "${size#*x}"
  case $size in
    1x1)  until_true shown . ;;
    15x3) sees '^too small' "$size: too small" ;;
    24x6) sees '^tptop' "$size: at least the title" ;;
    *)    sees 'GROUPS' "$size: the groups" ;;
  esac
done

sql "KILL $(sql "SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'watch'")"
sees 'connected again' "a connection that was killed: it connects again, and says so"
key q; sees 'ended with 0' "q: the end"

start 100 30 --ascii --no-color
sees '^ +all +[0-9]+ .*#' "--ascii: bars"
is "$(LC_ALL=C grep -c '[^ -~]' "$DIR/out")" 0 "nothing but ASCII"
colors() { in_tmux capture-pane -t tptop -e -p | grep -cE $'\033\\[[0-9;]*3[0-7]m'; }
is "$(colors)" 0 "--no-color: none"
key q; sees 'ended with 0' "q: the end"
start 100 30 NO_COLOR=1
sees '^ +all +[0-9]+ .*█' "NO_COLOR: bars"
is "$(colors)" 0 "NO_COLOR: no colours"
start 100 30
sees '^ +all +[0-9]+ .*█' "bars"
more_than_none() { [ "$(colors)" -gt 0 ]; }
until_true more_than_none; ok $? "in colours"
key q; sees 'ended with 0' "q: the end"
start 100 30 TERM=nonsense
sees "type 'nonsense' is not known" "an unknown terminal"
sees 'ended with 1' "is a failure"

# --- those who wait, and whom they wait for ---------------------------------------------

# One holds a row and is idle. The others have said enough to be no newcomers, and wait for a sign.
WAITING=16
app() { ${CLIENT%% *} --no-defaults --socket="$SOCKET" --user=app --password=secret -f -n -N tptop > /dev/null 2>&1; }
until_file() { until [ -e "$1" ] || [ ! -d "$DIR" ]; do sleep 0.2; done; }
{ echo "BEGIN; UPDATE t SET b = 'held' WHERE a = 1;"; until_file "$DIR/end"; } | app &
until_true sql_is "SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE trx_rows_modified = 1" 1
ok $? "somebody holds a row"
HOLDER=$(sql "SELECT trx_mysql_thread_id FROM information_schema.INNODB_TRX WHERE trx_rows_modified = 1")
for i in $(seq $WAITING); do
  { for _ in 1 2 3 4 5 6 7 8; do echo "SELECT 1;"; done
    until_file "$DIR/go"
    printf "UPDATE t SET b = '\033[31mred%s' WHERE a = 1;\n" "$i"; } | app &
done
until_true sql_is "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'app' AND COMMAND = 'Sleep'" \
  $((WAITING + 1))
ok $? "the others are there"
sql "SET GLOBAL thread_pool_max_threads = 8"
touch "$DIR/go"

start 120 40
sees 'HOLDERS OF LOCKS [1-9]' "who holds"
sees "^ +$HOLDER +[1-9][0-9]* wait .* Sleep +app" "the holder, and that it is idle"
if [ "$MILLRACE" = 1 ]; then
  sees 'OLDEST WAITERS [1-9]' "who waits"
  sees 'thread +UPDATE t SET b = .\?\[31mred[0-9]+' "with what, and without commands for the terminal"
  sees 'threads wait for row lock [1-9]' "what threads wait for"
  key Tab; key s; sees 'OLDEST WAITERS ([4-9]|10)  by id' "waiters by id"
  ids() { sed -n '/OLDEST WAITERS/,/HOLDERS/s/^ *[0-9.]* [um]*s  *\([0-9]*\) app .*/\1/p' "$DIR/out"; }
  is "$(ids)" "$(ids | sort -n)" "in this order"
  is "$([ "$(ids | wc -l)" -ge 4 ] && echo some)" some "and more than a few"
  batch 0 "--batch" --defaults-file="$DIR/my.cnf" --batch
  says "?[31mred" "batch: the statement"
  is "$(grep -c $'\033' "$DIR/out")" 0 "without commands for the terminal"
  is "$(grep -cE "^ +$HOLDER +[1-9][0-9]* .* Sleep +app" "$DIR/out")" 1 "batch: the holder"
  key Tab
else
  key Tab; key Tab
  # Stock's pool is full now, and would not even end whom we kill.
  sql_extra "SET GLOBAL thread_pool_max_threads = 65536"
fi

# A session's time zone is not that of InnoDB: the age of the holder's transaction is the same.
for zone in -12:59 +13:00; do
  sql_extra "SET GLOBAL time_zone = '$zone'"; ok $? "the server's time zone is $zone"
  batch 0 "--batch" --defaults-file="$DIR/my.cnf" --batch
  is "$(grep -cE "^ +$HOLDER +[1-9][0-9]* +[0-9]{1,3} s +Sleep" "$DIR/out")" 1 "the age of the holder"
done
sql_extra "SET GLOBAL time_zone = 'SYSTEM'"

key k; sees "Kill which connection\? $HOLDER" "k: whom"
key Enter; sees "KILL $HOLDER\? y: yes" "what will be sent"
key n; sees "nothing was killed" "n: not sent"
is "$(sql_extra "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = $HOLDER")" 1 "it is still there"
key k; sees "Kill which connection" "k: once more"
key BSpace; key Escape; sees "nothing was killed" "Escape: not sent"

# A connection that is lost while the question is there: the next one may be to a server that was
# restarted, where the number is somebody else's.
watch_id() { sql_extra "SELECT MAX(ID) FROM information_schema.PROCESSLIST WHERE USER = 'watch' AND ID <> CONNECTION_ID()"; }
another_watch() { local id; id=$(watch_id); [ "$id" != NULL ] && [ "$id" != "$WATCH" ]; }
# Those that a full pool kept waiting have gone.
until_true extra_is "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'watch' AND ID <> CONNECTION_ID()" 1
ok $? "tptop has one connection"
key k; sees "Kill which connection\? $HOLDER" "k: once more"
WATCH=$(watch_id)
sql_extra "KILL $WATCH"
until_true another_watch; ok $? "tptop has connected again"
key Enter; sees "KILL $HOLDER\? y: yes" "what would be sent"
key y; sees "KILL $HOLDER: not sent. tptop has connected again: choose again" "y: not sent by another connection"
is "$(sql_extra "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = $HOLDER")" 1 "it is still there"

# Full: by the extra port, or by the extra socket.
EXTRA_SOCKET=$(sql_extra "SELECT @@GLOBAL.extra_socket" 2> /dev/null)
sql_extra "SET GLOBAL max_connections = 10"
batch 0 "a full server" --defaults-file="$DIR/my.cnf" --batch
says "connected by the extra way: 127.0.0.1 port $EXTRA_PORT" "by the extra port"
batch 1 "a full server, and no extra port" --no-defaults --socket="$SOCKET" --user=watch --password=secret --batch
says "Too many connections" "the server's reason"
if [ -n "$EXTRA_SOCKET" ]; then
  full() { batch "$1" "$2" --no-defaults --socket="$SOCKET" --user=watch --password=secret --batch "${@:3}"; }
  full 0 "a full server, and an extra socket" --extra-socket="$EXTRA_SOCKET"
  says "connected by the extra way: socket $EXTRA_SOCKET" "by the extra socket"
  is "$(sed -n 's/^groups: //p' "$DIR/out")" 4 "all groups"
  full 0 "extra socket and extra port" --extra-socket="$EXTRA_SOCKET" --extra-port="$EXTRA_PORT"
  says "connected by the extra way: socket $EXTRA_SOCKET" "the socket goes first"
  full 0 "an extra socket that is not there, and an extra port" --extra-socket="$DIR/nobody" --extra-port="$EXTRA_PORT"
  says "connected by the extra way: 127.0.0.1 port $EXTRA_PORT" "the port comes next"
  full 1 "an extra socket that is not there" --extra-socket="$DIR/nobody"
  says "the extra way, socket $DIR/nobody" "it is named"
else
  echo "# the server has no extra_socket: that way is not tested"
fi
sql_extra "KILL $(sql_extra "SELECT MIN(ID) FROM information_schema.PROCESSLIST WHERE USER = 'watch'")"
sees "EXTRA WAY: 127.0.0.1 port $EXTRA_PORT" "the screen goes there, too"
# Its first reading there may be still to come. k means what is on the screen.
uptime() { look; sed -n '1s/.* up \([0-9:]*\).*/\1/p' "$DIR/out"; }
later() { [ "$(uptime)" != "$SHOWN" ]; }
SHOWN=$(uptime)
until_true later; ok $? "it is read there"

# The order may have changed: type the number.
key k; sees "Kill which connection" "k: whom"
for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do key BSpace; done
key "$HOLDER"; sees "Kill which connection\? $HOLDER" "the holder"
key Enter; sees "KILL $HOLDER\? y: yes" "what will be sent"
key y; sees "KILL $HOLDER: (sent|done)" "y: sent"
until_true extra_is "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = $HOLDER" 0
ok $? "it is gone"
sees 'nobody waits for a lock' "and nobody waits any more"
sees 'nobody waits in a queue|this server' "in no queue, too"
touch "$DIR/end"
sql_extra "SET GLOBAL max_connections = 1000; SET GLOBAL thread_pool_max_threads = 65536"

# --- a server that goes ---------------------------------------------------------------------

# It stands still: the screen does not.
kill -STOP "$PID"
sees 'no answer for [0-9]+ s' "a server that stands still: it says so"
key h; sees 'Press a key to go back' "keys work all the same"
key x; key q; sees 'ended with 0' "q, too"
kill -CONT "$PID"
start 120 40
sees 'GROUPS 4' "it goes on"

kill -KILL "$PID"
sees 'NOT CONNECTED, trying again: ' "the server is gone: it says so"
sees 'GROUPS 4' "and shows the last reading"
key q; sees 'ended with 0' "q works all the same"
wait

echo "1..$COUNT"
[ "$FAILED" -eq 0 ]
