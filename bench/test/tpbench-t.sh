#!/bin/bash
# The load generator against a real server: does it do what its scenarios say,
# and count what it did? Called by "./build.sh test" with
#   TPBENCH  the program                  CLIENT  a mariadb client, as root
#   PORT     the server's port            PID     its process
# The server has the benchmark's data, a binary log and TLS. It is killed by the
# last test, so that one has to be the last. Prints TAP.
set -uo pipefail

# shellcheck source=bench/test/tap.sh
. "$(dirname "${BASH_SOURCE[0]}")/tap.sh"
trap 'rm -rf "$DIR"' EXIT

between() # between LOW GOT HIGH NAME, for whole numbers
{
  local status=1
  if [ "$1" -le "${2%.*}" ] && [ "${2%.*}" -le "$3" ]; then status=0; fi
  ok $status "$4" "got $2, wanted $1 to $3"
}

sql() { $CLIENT -N -B -e "$1"; }

# bench STATUS NAME [OPTION]... < scenario: runs it and asserts the exit status.
# OPEN_FILES, if set, is how many it may have.
OPEN_FILES=''
bench()
{
  local wanted=$1 name=$2 status=0
  shift 2
  cat > "$DIR/scenario"
  rm -f "$DIR/csv" "$DIR/hist"
  ( [ -z "$OPEN_FILES" ] || ulimit -n "$OPEN_FILES"
    exec "$TPBENCH" --port="$PORT" --password=bench --warmup=0 --no-progress \
      --csv="$DIR/csv" --histogram="$DIR/hist" "$@" "$DIR/scenario" \
      > "$DIR/out" 2>&1 ) || status=$?
  is $status "$wanted" "$name"
}

# value CLASS COLUMN: from the CSV of the last run.
value()
{
  awk -F, -v class="$1" -v column="$2" '
    NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    $1 == class { print $at[column] }' "$DIR/csv"
}

# wait_for TEXT: until the generator, in the background, has printed it.
wait_for()
{
  local tries=600
  until grep -qF -- "$1" "$DIR/out"; do
    tries=$((tries - 1))
    [ $tries -gt 0 ] || return 1
    sleep 0.05
  done
}

sql "CREATE TABLE bench.done (a BIGINT, b VARCHAR(100)) ENGINE=InnoDB" || exit 1
begin_again() { sql "TRUNCATE bench.done"; }
rows() { sql "SELECT COUNT(*) FROM bench.done"; }

# --- what it counts is what the server did -----------------------------------

bench 0 "inserts, text protocol" --seconds=400ms <<'S'
[writer]
connections = 16
statement = INSERT INTO done VALUES ({1..5}, 'x')
S
passes=$(value writer passes)
between "$passes" "$(rows)" $((passes + 16)) "as many rows as passes, but for those that ended after the window"
is "$(sql "SELECT MIN(a), MAX(a) FROM bench.done")" "1	5" "random integers fill their range"
is "$(value writer errors)" 0 "no errors"

begin_again
bench 0 "a transaction, prepared, two event threads" --seconds=400ms --threads=2 <<'S'
[writer]
connections = 8
protocol = prepared
statement = BEGIN
statement = INSERT INTO done VALUES ({row=1..1000000}, 'first')
statement = INSERT INTO done VALUES ({row}, 'second')
statement = COMMIT
S
passes=$(value writer passes)
between $((2 * passes)) "$(rows)" $((2 * (passes + 8))) "two rows for each transaction"
is "$(sql "SELECT SUM(IF(b = 'first', a, -a)) FROM bench.done")" 0 "a named value is the same in both"
between $((4 * passes)) "$(value writer statements)" $((4 * (passes + 8))) "four statements for each pass"

begin_again
bench 1 "a statement that fails in a transaction" --seconds=200ms <<'S'
[writer]
connections = 4
statement = BEGIN
statement = INSERT INTO done VALUES (1, 'x')
statement = SELECT * FROM no_such_table
statement = COMMIT
S
is "$(rows)" 0 "the transaction was rolled back"
says "class writer had only errors" "a class with nothing but errors is a failure"
says "error 1146" "the error is shown with its code"
is "$(value writer errors_by_code | cut -d: -f1)" 1146 "and counted by its code"

# --- latencies ----------------------------------------------------------------

bench 0 "open loop" --seconds=1s <<'S'
[open]
connections = 20
rate = 200/s
arrivals = even
statement = SELECT 1
S
between 198 "$(awk -F, '$1 == "open" && $2 ~ /pass$/ { n += $4 } END { print n }' "$DIR/hist")" \
  200 "as many requests as were due"

bench 0 "open loop, and the only connection is slow" --seconds=1s --drain=0 <<'S'
[open]
connections = 1
rate = 20/s
arrivals = even
statement = SELECT SLEEP(0.4)
S
between 15 "$(value open unfinished)" 20 "those that were due and had no connection count"
between 400000 "$(value open pass_p50_us)" 1100000 "their latency counts from when they were due"

bench 0 "open loop, twice as much as one connection can do" --seconds=500ms --drain=60s <<'S'
[open]
connections = 1
rate = 20/s
arrivals = even
statement = SELECT SLEEP(0.1)
S
is "$(value open unfinished)" 0 "all are done in the end"
# The tenth was due after half a second, and is done after one.
between 400000 "$(value open pass_max_us)" 60000000 "and the last had to wait for the others"

bench 0 "a class that gets nothing done" --seconds=500ms --drain=0 <<'S'
[starved]
connections = 3
statement = SELECT SLEEP(30)
S
is "$(value starved passes) $(value starved unfinished)" "0 3" "nothing done, three unfinished"
between 490000 "$(value starved pass_p50_us)" 30000000 "its latency is at least the time that it waited"
sql "SELECT CONCAT('KILL ', id) FROM information_schema.processlist WHERE user = 'bench'" |
  while read -r kill; do sql "$kill"; done 2> /dev/null

bench 0 "think time and pauses" --seconds=1s <<'S'
[thinking]
connections = 2
think = 100ms
statement = SELECT 1
[pausing]
connections = 2
pause = 100ms
statement = SELECT 1
statement = SELECT 2
S
between 5 "$(value thinking passes)" 20 "a pass of each at most each 100 ms"
between 5 "$(value pausing passes)" 20 "a pass lasts as long as its pause"
between 100000 "$(value pausing pass_p50_us)" 1000000 "and counts it"

rm -f "$DIR/series"
bench 0 "each second" --seconds=2s --series="$DIR/series" --label=run=7 <<'S'
[a]
connections = 2
statement = SELECT 1
S
is "$(awk -F, 'NR > 1 { n += $3 } END { print n }' "$DIR/series")" \
   "$(awk -F, 'NR == 2 { print $5 }' "$DIR/csv")" "the seconds add up to the whole"
is "$(awk -F, 'NR == 2 { print $1 }' "$DIR/csv")" 7 "a label is the first column"

# --- how clients speak ---------------------------------------------------------

begin_again
bench 0 "compression" --seconds=200ms <<'S'
[packed]
connections = 2
compress = yes
statement = INSERT INTO done SELECT 1, variable_value FROM information_schema.session_status WHERE variable_name = 'Compression'
S
is "$(sql "SELECT DISTINCT b FROM bench.done")" ON "the connections were compressed"

sql "CREATE USER secret@'127.0.0.1' IDENTIFIED BY 'bench' REQUIRE SSL;
     GRANT ALL ON bench.* TO secret@'127.0.0.1'"
bench 0 "TLS" --seconds=300ms --user=secret <<'S'
[tls]
connections = 4
tls = yes
statement = SELECT name FROM item WHERE id = {1..1000}
[tls-prepared]
connections = 4
tls = yes
protocol = prepared
statement = SELECT name FROM item WHERE id = {1..1000}
S
bench 0 "TLS, statements that wait" --seconds=1s --user=secret <<'S'
[tls]
connections = 8
tls = yes
statement = SELECT SLEEP(0.2)
S
between 12 "$(value tls passes)" 40 "they wait at the same time, not one after the other"
bench 0 "TLS and compression, large results" --seconds=3s --user=secret <<'S'
[large]
connections = 2
tls = yes
compress = yes
statement = SELECT content FROM large
S
between 1 "$(value large passes)" 1000000 "they arrive"
bench 1 "no TLS, where it is required" --seconds=300ms --user=secret <<'S'
[plain]
connections = 1
statement = SELECT 1
S

begin_again
bench 0 "connections in one group" --seconds=200ms <<'S'
[odd]
connections = 5
group = 1 of 2
statement = INSERT INTO done VALUES (CONNECTION_ID(), '')
S
is "$(sql "SELECT DISTINCT a % 2 FROM bench.done")" 1 "only odd numbers"

begin_again
bench 0 "a new connection for each pass" --seconds=300ms <<'S'
[again]
connections = 2
reconnect = yes
statement = INSERT INTO done VALUES (CONNECTION_ID(), '')
S
is "$(sql "SELECT COUNT(DISTINCT a) = COUNT(*) FROM bench.done")" 1 "no connection was used twice"

bench 0 "slow readers" --seconds=1s --drain=0 <<'S'
[slow]
connections = 4
background = yes
read_rate = 100KB/s
statement = SELECT content FROM large
S
between 40000 "$(value slow bytes_per_s)" $((4 * (100000 + 16384))) "read, but no faster than told"

# Without what was logged before, which they would be sent too.
sql "RESET MASTER"
bench 0 "binlog dumps" --seconds=500ms <<'S'
[writer]
connections = 2
statement = INSERT INTO done VALUES (1, '')
[dump]
connections = 2
binlog_dump = yes
init = SET @master_binlog_checksum = @@global.binlog_checksum
init = SET @mariadb_slave_capability = 4
S
# A row has three events at least: the begin, the row or the statement, the end.
between $((4 * $(value writer passes))) "$(value dump passes)" 100000000 "both dumps get the events of the rows written"
is "$(value dump errors)" 0 "without errors"

sql "SET GLOBAL connect_timeout = 2"
bench 0 "silent clients, and a server that has enough of them" --seconds=3s <<'S'
[silent]
connections = 5
silent = yes
[idle]
connections = 5
idle = yes
S
is "$(value silent closed_by_server) $(value idle closed_by_server)" "5 0" "silent ones were thrown out, idle ones not"
sql "SET GLOBAL connect_timeout = DEFAULT"

# --- what goes wrong -----------------------------------------------------------

one='[a]
connections = 1
statement = SELECT 1'
bench 2 "an unknown class" --class=b <<< "$one"
says "unknown class 'b'; there are: a" "it is named, with those that there are"
bench 2 "zero connections" <<< "${one/= 1/= 0}"
says "has no connections" "the message says so"
OPEN_FILES=60
bench 2 "more connections than open files" <<< "${one/= 1/= 100}"
OPEN_FILES=''
says "100 connections need" "the limit is named"
bench 2 "an unknown option" --nonsense <<< "$one"
bench 2 "a port that is none" --port=70000 <<< "$one"
bench 1 "a wrong password" --password=wrong <<< "$one"
says "Access denied" "the server's message is shown"
bench 1 "a CSV file that cannot be written" --seconds=50ms --csv="$DIR/no/where" <<< "$one"
says "No such file or directory" "the reason is shown"
printf '%s\n' "$one" > "$DIR/scenario"
"$TPBENCH" "$DIR/no-such-file" > "$DIR/out" 2>&1; is $? 2 "no such scenario file"

# in_background OPTION...: runs $DIR/scenario until something happens to it.
in_background()
{
  "$TPBENCH" --port="$PORT" --password=bench --warmup=0 --seconds=60s "$@" \
    --csv="$DIR/csv" "$DIR/scenario" > "$DIR/out" 2>&1 &
  BACKGROUND=$!
  wait_for measuring || echo "# it does not begin to measure"
}

in_background
kill -INT $BACKGROUND; wait $BACKGROUND; is $? 130 "interrupted: exit status"
says "interrupted after" "interrupted: it says so"
says "measured for" "interrupted: what was measured is printed"

printf '[a]\nconnections = 1\nstatement = SELECT SLEEP(3600)\n' > "$DIR/scenario"
"$TPBENCH" --port="$PORT" --password=bench --warmup=0 --seconds=100ms --drain=1000s \
  "$DIR/scenario" > "$DIR/out" 2>&1 &
BACKGROUND=$!
wait_for draining
kill -INT $BACKGROUND; wait $BACKGROUND; is $? 130 "interrupted while it drains"
says "1 unfinished" "what was open is counted"
sql "KILL $(sql "SELECT MAX(id) FROM information_schema.processlist WHERE user = 'bench'")" 2> /dev/null

printf '[a]\nconnections = 3\nthink = 1ms\nstatement = SELECT 1\n' > "$DIR/scenario"
rm -f "$DIR/csv"
in_background
sql "KILL $(sql "SELECT MAX(id) FROM information_schema.processlist WHERE user = 'bench'")"
wait_for "error "
kill -INT $BACKGROUND; wait $BACKGROUND
is "$(value a closed_by_server)" 1 "a connection that was killed is counted"
says "interrupted after" "and the run goes on until it is told to end"

printf '[i]\nconnections = 2\nidle = yes\n' > "$DIR/idle"
"$TPBENCH" --port="$PORT" --password=bench --warmup=0 --seconds=3s "$DIR/idle" \
  > "$DIR/out" 2>&1 &
idle=$!
wait_for measuring
mv "$DIR/out" "$DIR/out-idle"
in_background --server-pid="$PID"
kill -KILL "$PID"
wait $idle; is $? 3 "the server is gone: clients that only listen notice it"
wait $BACKGROUND; is $? 3 "the server is gone: exit status"
says "the server is gone" "the server is gone: it says so"
says "measured for" "the server is gone: what was measured is printed"

echo "1..$COUNT"
[ "$FAILED" -eq 0 ]
