#!/bin/bash
# The simulator: does it do what its options say, always the same, and does it agree with
# what is known? Called by "./build.sh test" with
#   TPSIM  the program
# Prints TAP.
set -uo pipefail

# shellcheck source=bench/test/tap.sh
. "$(dirname "${BASH_SOURCE[0]}")/tap.sh"
trap 'rm -rf "$DIR"' EXIT

between() # between LOW GOT HIGH NAME
{
  local status=0
  awk -v low="$1" -v got="$2" -v high="$3" \
    'BEGIN { exit !(got != "" && low <= got + 0 && got + 0 <= high) }' || status=1
  ok $status "$4" "got '$2', wanted $1 to $3"
}

# sim STATUS NAME [OPTION]...: runs it and asserts the exit status.
sim()
{
  local wanted=$1 name=$2 status=0
  shift 2
  "$TPSIM" --csv "$@" > "$DIR/out" 2>&1 || status=$?
  is $status "$wanted" "$name"
}

# value COLUMN [LINE]: of the last run.
value()
{
  awk -F, -v column="$1" -v line="${2:-1}" '
    NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    NR == line + 1 { print $at[column] }' "$DIR/out"
}

# --- what can be computed without it ------------------------------------------

free=(--switch=0 --wake=0 --poll=0 --from-idle=0 --lock=0 --cold=0 --open=0 --spread=0)

sim 0 "one client, and threads cost nothing" "${free[@]}" --clients=1 --service=100 --pause=400 \
  --think=400 --statements=5 --seconds=2 --warmup=1
between 396 "$(value transactions_per_s)" 404 "a transaction each 2.5 ms"
between 2000 "$(value p50_us)" 2200 "which the client sees without its think time"

sim 0 "as many as four processors can do" "${free[@]}" --processors=4 --clients=400 \
  --service=100 --pause=200 --think=200
between 7840 "$(value transactions_per_s)" 8040 "eight thousand of half a millisecond"
between 0.98 "$(value in_use)" 1 "they are in use all the time"
is "$(value groups)" 4 "there are as many groups as processors"

sim 0 "one hot row" "${free[@]}" --processors=8 --clients=100 --rows=1 --service=100 --pause=200 \
  --think=0 --statements=3
between 1900 "$(value transactions_per_s)" 2900 "no more than one after the other"

# --- the pool's policy is in it ----------------------------------------------

sim 0 "no limit" --groups=64 --clients=2000 --client=26 --limit=0
none=$(value transactions_per_s)
between 1000 "$(value most_open)" 2000 "nearly all are open"
sim 0 "a fixed limit" --groups=64 --clients=2000 --client=26 --limit=50 --fixed
between 50 "$(value mean_limit)" 50 "it is what was set"
between 50 "$(value most_open)" 120 "not many more are open"
between "$none" "$(value transactions_per_s)" 100000 "more is done than without"

# --- curves and mistakes -----------------------------------------------------

sim 0 "a curve" --curve=clients:1,20,300 --seconds=0.3 --warmup=0.1
is "$(value clients 1) $(value clients 2) $(value clients 3)" "1 20 300" "a line for each"
cp "$DIR/out" "$DIR/before"
sim 0 "once more" --curve=clients:1,20,300 --seconds=0.3 --warmup=0.1
is "$(cmp "$DIR/out" "$DIR/before" 2>&1)" "" "the same numbers"
sim 0 "with other random numbers" --curve=clients:1,20,300 --seconds=0.3 --warmup=0.1 --seed=7
status=0
cmp -s "$DIR/out" "$DIR/before" && status=1
ok $status "not quite the same"
sim 0 "processors" --curve=processors:1,3 --seconds=0.2 --warmup=0.1
is "$(value groups 2)" 3 "groups follow them"

for wrong in --clients=0 --clients=1.5 --service=x --curve=colour:1 --curve=service --warmup=9 more; do
  sim 2 "refused: $wrong" "$wrong"
done

echo "1..$COUNT"
[ $FAILED -eq 0 ]
