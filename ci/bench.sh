# Step bench: servers of several configurations under the load of bench/tpbench,
# in turn, several rounds, with tables and plots at the end. doc/benchmarks.md
# says what the scenarios show.
# shellcheck shell=bash

BENCH=$BUILD/bench
SCENARIOS=$ROOT/bench/scenarios
BENCH_PORT=3407
DEFAULT_CONFIGS="millrace stock-pool stock-threads"
BENCH_BASELINE=stock-pool
# The order is that of the tables: the two curves first.
ALL_SCENARIOS="curve-read curve-write groups-write after-burst hot-row groups-hot-row long-beside-short
  long-writer skew wan-transactions idle-in-transaction max-threads login-storm login-burst
  silent-clients tls-stall idle-10k slow-readers binlog-dumps mass-wakeup io-bound probe"
DEFAULT_ROUNDS=5 FRESH_ROUNDS=9
# On a shared host: a measurement that wanted all of the CPU, but of whose time
# other guests took more than this (in %), is repeated, so often at most. With
# --quick only so many seconds are spent on that.
STOLEN_LIMIT=8 STOLEN_REPEATS=2 QUICK_REPEAT_SECONDS=30

# --- what is asked for: called before anything is built ----------------------

# Option files of the configurations, from BENCH_CONFIGS or the default.
bench_choose_configs()
{
  local name
  [ ${#BENCH_CONFIGS[@]} -gt 0 ] || read -r -a BENCH_CONFIGS <<< "$DEFAULT_CONFIGS"
  CONFIG_NAMES=()
  declare -gA CONFIG_FILE=()
  for name in "${BENCH_CONFIGS[@]}"; do
    local file=$ROOT/bench/configs/$name.cnf
    if [ ! -e "$file" ]; then
      file=$(realpath -e -- "$name" 2>/dev/null) ||
        usage_error "no such configuration: $name (a file, or one of" \
          "$(cd "$ROOT/bench/configs" && echo *.cnf | sed 's/\.cnf//g'))"
      name=$(basename "${name%.cnf}")
    fi
    [[ $name =~ ^[A-Za-z0-9_-]+$ ]] ||
      usage_error "a configuration's file needs a plain name: $name"
    [ -z "${CONFIG_FILE[$name]-}" ] || usage_error "two configurations called $name"
    is_flavour "$(config_says "$file" flavour)" ||
      usage_error "$file: the line '# flavour: F' is missing or wrong; F is one of $FLAVOURS"
    local other
    other=$(config_says "$file" build)
    if [ -n "$other" ] && [ ! -x "$other/sql/mariadbd" ]; then
      usage_error "$file: '# build: $other': there is no server (sql/mariadbd) in that directory"
    fi
    CONFIG_NAMES+=("$name")
    CONFIG_FILE[$name]=$file
  done
  [ -n "${CONFIG_FILE[$BENCH_BASELINE]-}" ] || BENCH_BASELINE=${CONFIG_NAMES[0]}
}

all_scenarios() { tr -s '\n ' ' ' <<< "$ALL_SCENARIOS"; }

bench_choose_scenarios()
{
  local name
  if [ ${#BENCH_SCENARIOS[@]} -eq 0 ]; then
    read -r -a BENCH_SCENARIOS <<< "$(all_scenarios)"
  fi
  for name in "${BENCH_SCENARIOS[@]}"; do
    [ -e "$SCENARIOS/$name.scenario" ] ||
      usage_error "unknown scenario: $name (there are: $(all_scenarios))"
  done
}

# config_says FILE KEY: the value of a line "# KEY: value".
config_says() { sed -n "s/^# *$2: *//p" "$1" | head -n 1; }
config_flavour() { config_says "${CONFIG_FILE[$1]}" flavour; }

# config_build CONFIG: where its server is. "# build: DIRECTORY" names a build of another
# checkout, so that two revisions can be compared in one run.
config_build()
{
  local other
  other=$(config_says "${CONFIG_FILE[$1]}" build)
  echo "${other:-$BUILD/$(config_flavour "$1")}"
}
config_title()
{
  local title
  title=$(config_says "${CONFIG_FILE[$1]}" title)
  echo "${title:-$1}"
}

# The options of a configuration, on one line.
config_options()
{
  sed -e '/^[[:space:]]*[#;[]/d' -e '/^[[:space:]]*$/d' "${CONFIG_FILE[$1]}" |
    paste -s -d ' '
}

bench_flavours()
{
  local name
  for name in "${CONFIG_NAMES[@]}"; do
    [ -n "$(config_says "${CONFIG_FILE[$name]}" build)" ] || config_flavour "$name"
  done | sort -u | grep . || echo release
}

# The builds that the configurations need, instead of step build.
step_build_all()
{
  local flavour
  for flavour in $(bench_flavours); do
    FLAVOUR=$flavour
    note "flavour $flavour"
    step_build
  done
}

# --- the step ----------------------------------------------------------------

step_bench()
{
  local flavour
  flavour=$(bench_flavours | tail -n 1)
  build_tpbench "$(bench_flavours | head -n 1)"
  bench_check_scenarios
  need_space 4000 "the benchmark's data"
  bench_work "$BENCH/work"
  RUN_DIR=$BENCH/$(date -u +%Y%m%d-%H%M%S)
  mkdir -p "$RUN_DIR"/{hist,series,log}
  ON_INTERRUPT=bench_interrupted
  bench_data "$flavour"
  raise_open_files
  describe_run > "$RUN_DIR/run.txt"
  BENCH_FAILURES=0 BENCH_DONE=0 BENCH_BEGAN=$SECONDS REPEAT_SECONDS=0
  BENCH_TOTAL=$(count_measurements)
  note "$BENCH_TOTAL measurements; results go to $(in_root "$RUN_DIR")"
  local scenario
  for scenario in "${BENCH_SCENARIOS[@]}"; do bench_scenario "$scenario"; done
  rm -rf "$WORK"
  ON_INTERRUPT=''
}

# bench_work DIRECTORY: for servers that are thrown away.
bench_work()
{
  WORK=$1
  rm -rf "$WORK"
  mkdir -p "$WORK"
  chmod 700 "$WORK"
  trap 'bench_ended $?' EXIT
}

bench_ended()
{
  bench_clean
  ended "$1"
}

bench_clean()
{
  stop_bench_servers
  rm -rf "$WORK"
}

# build_tpbench FLAVOUR [TARGET]...: with the libmariadb of that flavour.
build_tpbench()
{
  TPBENCH=$BENCH/bin-$1/tpbench
  STEP_LOG=$LOGS/tpbench.log
  if ! make -C "$ROOT/bench" SOURCE="$BUILD/$(source_of_flavour "$1")" \
         BUILD="$BUILD/$1" OUT="$BENCH/bin-$1" "${@:2}" > "$STEP_LOG" 2>&1; then
    tail -n 20 "$STEP_LOG" >&2
    die "the load generator does not compile; the whole log is $(in_root "$STEP_LOG")"
  fi
}

scenario_file() { echo "$SCENARIOS/$1.scenario"; }

# head_of SCENARIO KEY: the values of a key, with --quick those of quick_KEY.
head_of()
{
  local value=''
  if [ "$QUICK" = yes ]; then
    value=$("$TPBENCH" --head="quick_$2" "$(scenario_file "$1")")
  fi
  [ -n "$value" ] || value=$("$TPBENCH" --head="$2" "$(scenario_file "$1")")
  printf '%s\n' "$value"
}

# rounds_of SCENARIO PLACE
rounds_of()
{
  local rounds=$ROUNDS
  if [ -z "$rounds" ] && [ $FRESH = yes ]; then rounds=$FRESH_ROUNDS; fi
  [ -n "$rounds" ] || rounds=$(at_place "$1" rounds "$2")
  echo "${rounds:-$DEFAULT_ROUNDS}"
}

# The scenario's classes, and the probe that runs beside each.
classes_of()
{
  scenario_file "$1"
  [ "$1" = probe ] || scenario_file probe
}

# All mistakes in the files come before the first measurement.
bench_check_scenarios()
{
  local scenario point
  for scenario in "${BENCH_SCENARIOS[@]}"; do
    [ -n "$(head_of "$scenario" points)" ] || die "scenario $scenario has no points"
    for point in $(head_of "$scenario" points); do
      # shellcheck disable=SC2046  # one word a file
      "$TPBENCH" --check --set=point="$point" --set=socket=none $(classes_of "$scenario") ||
        die "scenario $scenario cannot be run"
    done
  done
}

count_measurements()
{
  local scenario points place total=0
  for scenario in "${BENCH_SCENARIOS[@]}"; do
    read -r -a points <<< "$(head_of "$scenario" points)"
    for place in "${!points[@]}"; do
      total=$((total + $(rounds_of "$scenario" "$place") * ${#CONFIG_NAMES[@]}))
    done
  done
  echo $total
}

# Thousands of connections on both ends; the hard limit is as far as we can go.
raise_open_files()
{
  ulimit -S -n "$(ulimit -H -n)" 2>/dev/null || true
}

# --- servers -----------------------------------------------------------------

# Of each server that was started, by name: process, port, socket.
declare -A SERVER_PID=() SERVER_PORT=() SERVER_SOCKET=()

# The data that every server starts with a copy of, made once.
bench_data()
{
  local dir=$BUILD/$1 stamp
  stamp=$( { cat "$ROOT/bench/data.sql"; echo "$UPSTREAM_VERSION"; } | cksum)
  BASE_DATA=$BENCH/base-data
  [ "$(cat "$BASE_DATA.stamp" 2>/dev/null)" != "$stamp" ] || return 0
  rm -rf "$BASE_DATA" "$BASE_DATA.stamp" "$BASE_DATA.new"
  make_data_directory "$BASE_DATA"
  note "loading the benchmark's tables"
  mkdir -p "$WORK/load"
  printf '[mariadbd]\nskip_networking\n' > "$WORK/load/my.cnf"
  start_bench_server load "$1" "$BASE_DATA" "$LOGS/bench-load.log"
  "$dir/client/mariadb" --no-defaults --socket="${SERVER_SOCKET[load]}" < "$ROOT/bench/data.sql" ||
    die "the benchmark's tables could not be loaded"
  # Cleanly, so that no server that gets a copy begins with a recovery.
  stop_bench_server load TERM
  echo "$stamp" > "$BASE_DATA.stamp"
}

copy_data()
{
  cp -a --reflink=auto --sparse=always "$BASE_DATA" "$1" ||
    die "the benchmark's data could not be copied to $(in_root "$1")"
}

# start_bench_server NAME FLAVOUR DATA LOG [BUILD], with the options in WORK/NAME/my.cnf
start_bench_server()
{
  local dir=${5-$BUILD/$2} work=$WORK/$1 log=$4 waited=$SECONDS port socket
  socket=$(socket_path "$work")
  choose_port "$BENCH_PORT" > /dev/null
  rm -f "$socket"
  [ -d "$WORK/plugins-$2" ] || link_plugins "$WORK/plugins-$2"
  "$dir/sql/mariadbd" --defaults-file="$work/my.cnf" --user="$(id -un)" \
    --basedir="$dir" --datadir="$3" --plugin-dir="$WORK/plugins-$2" \
    --lc-messages-dir="$dir/sql/share" \
    --character-sets-dir="$dir/source/sql/share/charsets" \
    --port="$port" --socket="$socket" --pid-file="$work/mariadbd.pid" \
    < /dev/null >> "$log" 2>&1 9>&- &
  SERVER_PID[$1]=$! SERVER_PORT[$1]=$port SERVER_SOCKET[$1]=$socket
  # Or bash would say that it was killed.
  disown "${SERVER_PID[$1]}"
  until "$dir/client/mariadb" --no-defaults --socket="$socket" -N -B \
          -e 'select version()' > "$work/version" 2> /dev/null; do
    if ! kill -0 "${SERVER_PID[$1]}" 2>/dev/null; then
      tail -n 25 "$log" >&2
      unset "SERVER_PID[$1]"
      die "the server did not start; its log is $(in_root "$log")"
    fi
    [ $((SECONDS - waited)) -lt 120 ] || die "the server does not answer; its log" \
      "is $(in_root "$log")"
    sleep 0.05
  done
}

# stop_bench_server NAME [SIGNAL]: its data are thrown away, so that nothing has
# to be saved: KILL by default.
stop_bench_server()
{
  local pid=${SERVER_PID[$1]-}
  [ -n "$pid" ] || return 0
  kill -"${2:-KILL}" "$pid" 2>/dev/null || true
  while kill -0 "$pid" 2>/dev/null; do sleep 0.02; done
  unset "SERVER_PID[$1]"
}

stop_bench_servers()
{
  local name
  for name in "${!SERVER_PID[@]}"; do stop_bench_server "$name"; done
}

# A server of configuration $1 for scenario $2 on a fresh copy of the data. It
# is left stopped: only the one that is measured may run.
start_configuration()
{
  stop_bench_server "$1"
  rm -rf "${WORK:?}/$1"
  mkdir "$WORK/$1"
  copy_data "$WORK/$1/data"
  { cat "$ROOT/bench/common.cnf"
    # For classes with TLS: upstream's keys for tests
    printf 'ssl_%s\n' "ca=$BUILD/src/mysql-test/std_data/cacert.pem" \
      "cert=$BUILD/src/mysql-test/std_data/server-cert.pem" \
      "key=$BUILD/src/mysql-test/std_data/server-key.pem"
    "$TPBENCH" --head=server_option "$(scenario_file "$2")"
    cat "${CONFIG_FILE[$1]}"; } > "$WORK/$1/my.cnf"
  start_bench_server "$1" "$(config_flavour "$1")" "$WORK/$1/data" \
    "$RUN_DIR/log/$2,$1.log" "$(config_build "$1")"
  grep -q "^config.$1.version=" "$RUN_DIR/run.txt" ||
    echo "config.$1.version=$(cat "$WORK/$1/version")" >> "$RUN_DIR/run.txt"
  kill -STOP "${SERVER_PID[$1]}"
}

# --- measuring ---------------------------------------------------------------

# All configurations' servers are there at once, but only one at a time runs, so
# that a round is short and its measurements are close together in time.
bench_scenario()
{
  local scenario=$1 config points place
  read -r -a points <<< "$(head_of "$scenario" points)"
  say "$scenario: $("$TPBENCH" --head=title "$(scenario_file "$scenario")")"
  for config in "${CONFIG_NAMES[@]}"; do start_configuration "$config" "$scenario"; done
  for place in "${!points[@]}"; do bench_point "$scenario" "${points[place]}" "$place"; done
  stop_bench_servers
}

# bench_point SCENARIO POINT PLACE
bench_point()
{
  local rounds round config times=() key value restart
  for key in warmup seconds drain; do
    value=$(at_place "$1" "$key" "$3")
    [ -z "$value" ] || times+=("--$key=$value")
  done
  rounds=$(rounds_of "$1" "$3")
  restart=$(at_place "$1" restart "$3")
  # "never": the point goes on with what the one before has left behind.
  if [ $FRESH = yes ] && [ "$restart" != never ]; then restart=always; fi
  for ((round= 1; round <= rounds; round++)); do
    for config in $(round_order "$round"); do measure "$1" "$2" "$config" "$round"; done
  done
}

# round_order ROUND: the configurations. Each round begins with another one: none is always
# the first. With --fresh, by chance.
round_order()
{
  local i n=${#CONFIG_NAMES[@]}
  if [ $FRESH = yes ]; then shuf -e -- "${CONFIG_NAMES[@]}"; return; fi
  for ((i= 0; i < n; i++)); do echo "${CONFIG_NAMES[$(((i + $1 - 1) % n))]}"; done
}

# at_place SCENARIO KEY PLACE: a value for all points, or one for each of them,
# of which PLACE (from 0) is meant.
at_place()
{
  local values
  read -r -a values <<< "$(head_of "$1" "$2")"
  echo "${values[$3]-${values[0]-}}"
}

# measure SCENARIO POINT CONFIG ROUND: of several attempts, the one that others
# disturbed least is kept.
measure()
{
  local name="$1,$2,$3,$4" kept=$WORK/kept attempt stolen least='' began
  for ((attempt= 0; attempt <= STOLEN_REPEATS; attempt++)); do
    began=$SECONDS
    if [ $attempt -gt 0 ]; then time_to_repeat || break; fi
    rm -rf "$WORK/attempt"
    mkdir "$WORK/attempt"
    if ! measure_once "$WORK/attempt" "$@"; then
      # One that worked before is kept.
      [ -n "$least" ] || record_failure "$@"
      # What a server has left over after a failure is not measured further.
      start_configuration "$3" "$1"
      break
    fi
    if [ $attempt -gt 0 ]; then REPEAT_SECONDS=$((REPEAT_SECONDS + SECONDS - began)); fi
    stolen=$(disturbed "$WORK/attempt/csv")
    if [ -z "$least" ] || [ "$stolen" -lt "$least" ]; then
      least=$stolen
      rm -rf "$kept"
      mv "$WORK/attempt" "$kept"
    fi
    [ "$stolen" -gt "$STOLEN_LIMIT" ] || break
  done
  BENCH_DONE=$((BENCH_DONE + 1))
  [ -n "$least" ] || return 0
  append_csv "$kept/csv" "$RUN_DIR/results.csv"
  bench_progress "$@"
  mv "$kept/histogram" "$RUN_DIR/hist/$name.csv"
  mv "$kept/series" "$RUN_DIR/series/$name.csv"
  mv "$kept/log" "$RUN_DIR/log/$name.txt"
}

# measure_once DIRECTORY SCENARIO POINT CONFIG ROUND
measure_once()
{
  local status=0
  STEP_LOG=$1/log
  # Where one measurement leaves something behind for the next.
  if [ "$restart" = always ] && [ -e "$WORK/$4/used" ]; then
    start_configuration "$4" "$2"
  fi
  kill -CONT "${SERVER_PID[$4]}"
  # shellcheck disable=SC2046  # one word a file
  "$TPBENCH" --port="${SERVER_PORT[$4]}" --user=bench --password=bench \
    --server-pid="${SERVER_PID[$4]}" --wait-quiet=30s --stop-server --no-progress \
    --set=point="$3" --set=socket="${SERVER_SOCKET[$4]}" "${times[@]}" \
    --label=scenario="$2" --label=point="$3" --label=config="$4" --label=round="$5" \
    --csv="$1/csv" --histogram="$1/histogram" --series="$1/series" \
    $(classes_of "$2") > "$STEP_LOG" 2>&1 || status=$?
  touch "$WORK/$4/used"
  kill -STOP "${SERVER_PID[$4]}" 2>/dev/null || true
  return $status
}

# Whether there is time to repeat; the time of --quick is spent evenly over the
# run, with a little in advance.
time_to_repeat()
{
  [ "$QUICK" = yes ] || return 0
  [ $((REPEAT_SECONDS * BENCH_TOTAL)) -lt \
    $((QUICK_REPEAT_SECONDS * (BENCH_DONE + BENCH_TOTAL / 8))) ]
}

# CPU time that others took, in whole percent. An idle machine gives its time
# away, and waiting for it to come back counts as stolen too: that is no
# disturbance. 0 if the kernel does not say.
disturbed()
{
  awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
           NR == 2 { idle = $at["machine_idle_percent"]
                     printf "%.0f\n", (idle > 25 ? 0 : $at["stolen_percent"]) }' "$1"
}

# What other guests of the host took, over the measurements that were kept.
stolen_summary()
{
  awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
           !seen[$1, $2, $3, $4]++ { print $at["stolen_percent"] }' "$RUN_DIR/results.csv" |
    sort -n | awk '{ v[NR] = $1 }
      END { if (NR) printf "median %.0f %%, in one of ten measurements more than %.0f %%, at most %.0f %%\n",
              v[int((NR + 1) / 2)], v[int(NR * 0.9) + (NR < 10)], v[NR] }'
}

# append_csv FROM TO: the names of the columns only once.
append_csv()
{
  if [ -e "$2" ]; then tail -n +2 "$1" >> "$2"; else cp "$1" "$2"; fi
}

record_failure()
{
  local message
  message=$(grep -a '^tpbench: ' "$STEP_LOG" | tail -n 1 | tr -d '"' || true)
  message=${message#tpbench: }
  cp "$STEP_LOG" "$RUN_DIR/log/$1,$2,$3,$4.txt"
  note "FAILED: $1, $2, $3, round $4: ${message:-see $(in_root "$RUN_DIR")/log}"
  BENCH_FAILURES=$((BENCH_FAILURES + 1))
  # Without any result there are no columns either, and nothing to report.
  [ -e "$RUN_DIR/results.csv" ] || return 0
  awk -F, -v first="$1,$2,$3,$4,!failed" -v message="$message" '
    NR == 1 { line = first; for (i = 6; i < NF; i++) line = line ","
              print line ",\"" message "\""; exit }' \
    "$RUN_DIR/results.csv" > "$WORK/failed"
  cat "$WORK/failed" >> "$RUN_DIR/results.csv"
}

# One line: how far we are, and the scenario's first figure.
bench_progress()
{
  local spent=$((SECONDS - BENCH_BEGAN)) left figure
  left=$((spent * (BENCH_TOTAL - BENCH_DONE) / BENCH_DONE))
  figure=$("$TPBENCH" --head=figure "$(scenario_file "$1")" | head -n 1)
  note "[$BENCH_DONE/$BENCH_TOTAL, about $(duration $left) left] $1, $2, $3, round $4:" \
    "$(awk -F' *[|] *' -v csv="$kept/csv" -v at="$1,$2,$3,$4," '{
      label = $1; class = $2; column = $3; scale = $4
      FS = ","
      while ((getline < csv) > 0) {
        if (++n == 1) for (i = 1; i <= NF; i++) place[$i] = i
        if (index($0, at class ",") == 1 && $place[column] != "")
          value = sprintf("%.2f", $place[column] / scale)
      }
      print value " " label }' <<< "$figure")"
}

# --- what it was measured on -------------------------------------------------

describe_run()
{
  local name
  echo "mode=$([ "$QUICK" = yes ] && echo quick || echo full)"
  echo "started=$(date -u '+%Y-%m-%d %H:%M UTC')"
  echo "commit=$(git -C "$ROOT" describe --always --dirty 2>/dev/null || echo unknown)"
  echo "cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)"
  echo "cores=$(cores)"
  echo "memory=$(awk '/^MemTotal/ { printf "%.0f GiB", $2 / 1048576 }' /proc/meminfo)"
  echo "kernel=$(uname -r)"
  if [ $FRESH = yes ]; then
    echo "rounds=${ROUNDS:-$FRESH_ROUNDS}"
    echo "fresh=yes"
  else
    echo "rounds=${ROUNDS:-$DEFAULT_ROUNDS, or what the scenario says}"
  fi
  echo "baseline=$BENCH_BASELINE"
  echo "configs=${CONFIG_NAMES[*]}"
  echo "common_options=$(sed -e '/^[[:space:]]*[#;[]/d' "$ROOT/bench/common.cnf" | paste -s -d ' ')"
  for name in "${CONFIG_NAMES[@]}"; do
    echo "config.$name.title=$(config_title "$name")"
    echo "config.$name.options=$(config_options "$name")"
  done
}

# --- the outcome -------------------------------------------------------------

bench_report()
{
  [ -e "$RUN_DIR/results.csv" ] || die "nothing was measured"
  { echo "took=$(duration $((SECONDS - BENCH_BEGAN)))"
    echo "stolen_cpu_time=$(stolen_summary)"; } >> "$RUN_DIR/run.txt"
  perl "$ROOT/bench/report.pl" "$RUN_DIR" "$SCENARIOS" ||
    die "the report failed; what was measured is in $(in_root "$RUN_DIR")/results.csv"
  ln -sfn "${RUN_DIR##*/}" "$BENCH/latest"
  say "tables, CSV and plots: $(in_root "$RUN_DIR") (also as build/bench/latest)"
}

bench_interrupted()
{
  bench_clean
  if [ -e "$RUN_DIR/results.csv" ]; then
    say "not everything was measured; so far:"
    # Apart, so that its failure does not change how we end.
    ( bench_report ) || true
  fi
}

report_bench()
{
  bench_report
  [ "$BENCH_FAILURES" -eq 0 ] || die "$BENCH_FAILURES measurements failed"
}

# --- is the generator right? -------------------------------------------------

SYSBENCH_CLIENTS=64 SYSBENCH_ROUNDS=9 SYSBENCH_SECONDS=4

# Step against_sysbench: the same point select from both, in turn, each on its
# own core and the server on the other, so that both are limited by the server.
step_against_sysbench()
{
  local round results=$BENCH/against-sysbench.csv cores=() server port
  have sysbench || die "sysbench is missing: apt-get install sysbench"
  build_tpbench release
  STEP_LOG=$LOGS/sysbench.log
  bench_work "$BENCH/work"
  bench_data release
  bench_choose_configs
  RUN_DIR=$WORK
  mkdir -p "$WORK/log"
  : > "$WORK/run.txt"
  start_configuration "${CONFIG_NAMES[0]}" probe
  server=${SERVER_PID[${CONFIG_NAMES[0]}]} port=${SERVER_PORT[${CONFIG_NAMES[0]}]}
  kill -CONT "$server"
  if [ "$(cores)" -ge 2 ]; then
    taskset -a -c -p 0 "$server" > /dev/null
    cores=(taskset -c 1)
  fi
  sysbench_run prepare > "$STEP_LOG" 2>&1 || die "sysbench prepare failed: $(tail -n 3 "$STEP_LOG")"
  printf 'title = sysbench\n[select]\nconnections = %s\nstatement = %s\n' "$SYSBENCH_CLIENTS" \
    'SELECT c FROM sbtest1 WHERE id={1..100000}' > "$WORK/sysbench.scenario"
  rm -f "$results"
  for ((round= 1; round <= SYSBENCH_ROUNDS; round++)); do
    one_round_of sysbench
    one_round_of tpbench --threads=1
    one_round_of tpbench --threads="$SYSBENCH_CLIENTS"
  done
  awk -F, '
    !n[$1] { name[++names] = $1 }
    { rate[$1, ++n[$1]] = $2; cpu[$1, n[$1]] = $3 }
    function median(what, who,    i, j, k, v) {
      k = n[who]
      for (i = 1; i <= k; i++) v[i] = what[who, i]
      for (i = 1; i <= k; i++) for (j = i + 1; j <= k; j++)
        if (v[j] < v[i]) { t = v[i]; v[i] = v[j]; v[j] = t }
      return k % 2 ? v[(k + 1) / 2] : (v[k / 2] + v[k / 2 + 1]) / 2
    }
    END {
      for (w = 1; w <= 3; w++) {
        who = name[w]
        printf "%-20s %8.0f selects/s, %5.1f us of server CPU for each", who,
          median(rate, who), median(cpu, who)
        # Ratios of each round, since its parts had the same neighbours.
        for (i = 1; i <= n[who]; i++) {
          rate["ratio", i] = rate[who, i] / rate["sysbench", i]
          cpu["ratio", i] = cpu[who, i] / cpu["sysbench", i]
        }
        n["ratio"] = n[who]
        printf "; to sysbench: %.3f, %.3f\n", median(rate, "ratio"), median(cpu, "ratio")
      }
      print "medians of " n["sysbench"] " rounds"
    }' "$results"
  bench_clean
}

sysbench_run()
{
  "${cores[@]}" sysbench oltp_point_select --mysql-host=127.0.0.1 \
    --mysql-port="$port" --mysql-user=bench --mysql-password=bench \
    --mysql-db=bench --tables=1 --table-size=100000 --rand-type=uniform \
    --db-ps-mode=disable --threads="$SYSBENCH_CLIENTS" --time="$SYSBENCH_SECONDS" \
    --report-interval=0 "$@"
}

# CPU time of the server so far, in microseconds.
server_cpu_us()
{
  sed 's/.*) //' "/proc/$server/stat" |
    awk -v ticks="$(getconf CLK_TCK)" '{ printf "%.0f\n", ($12 + $13) * 1e6 / ticks }'
}

# one_round_of sysbench|tpbench [OPTION]: appends "who,selects/s,server CPU us".
one_round_of()
{
  local before after count
  before=$(server_cpu_us)
  if [ "$1" = sysbench ]; then
    sysbench_run run > "$STEP_LOG" 2>&1 || die "sysbench failed: $(tail -n 3 "$STEP_LOG")"
    count=$(sed -n 's/^ *transactions: *\([0-9]*\).*/\1/p' "$STEP_LOG")
  else
    rm -f "$WORK/csv"
    "${cores[@]}" "$TPBENCH" --port="$port" --password=bench --warmup=0 \
      --seconds="${SYSBENCH_SECONDS}s" --no-progress --csv="$WORK/csv" "${@:2}" \
      "$WORK/sysbench.scenario" > "$STEP_LOG" 2>&1 || die "tpbench failed: $(tail -n 3 "$STEP_LOG")"
    count=$(awk -F, 'NR == 2 { print $4 }' "$WORK/csv")
  fi
  after=$(server_cpu_us)
  awk -v who="$*" -v n="$count" -v cpu=$((after - before)) -v s="$SYSBENCH_SECONDS" \
    'BEGIN { printf "%s,%.0f,%.2f\n", who, n / s, cpu / n }' | tee -a "$results" | sed 's/^/    /'
}

# --- what to do with runs ----------------------------------------------------

# bench_runs NAME...: their directories, in dirs. A name below build/bench, or a
# directory.
bench_runs()
{
  local run
  dirs=()
  for run in "$@"; do
    if [ -d "$BENCH/$run" ]; then dirs+=("$BENCH/$run")
    elif [ -d "$run" ]; then dirs+=("$run")
    else usage_error "no such run: $run"; fi
  done
}

# Plots that the document shows; the others stay with the run.
PUBLISHED_PLOTS="overview curve-read-selects-s curve-read-p99-latency-ms
  curve-read-distribution curve-write-transactions-s curve-write-p99-latency-ms
  curve-write-distribution hot-row-transactions-s
  long-beside-short-short-statements-s long-beside-short-distribution
  skew-selects-s probe"
RESULTS_BEGIN='<!-- results: written by ./build.sh bench --publish -->'
RESULTS_END='<!-- end of results -->'

# bench_publish RUN: its tables and plots go into doc/benchmarks.md and doc/plots; those of another base into
# doc/benchmarks-VERSION.md and doc/plots/VERSION.
bench_publish()
{
  local dirs document=$ROOT/doc/benchmarks${BASE:+-$BASE}.md plots=plots${BASE:+/$BASE} plot line scenario tables
  [ $# -eq 1 ] || usage_error "--publish needs one run (a directory below build/bench)"
  bench_runs "$@"
  [ -e "${dirs[0]}/tables.md" ] || die "$1 has no tables.md"
  for line in "$RESULTS_BEGIN" "$RESULTS_END"; do
    grep -sqxF -- "$line" "$document" ||
      die "$(in_root "$document") has no place for results: the line '$line' is missing"
  done
  # Other pictures are there too.
  mkdir -p "$ROOT/doc/$plots"
  for plot in $PUBLISHED_PLOTS; do rm -f "$ROOT/doc/$plots/$plot.svg"; done
  tables=$(mktemp)
  while IFS= read -r line; do
    printf '%s\n' "$line"
    # Behind the heading of a scenario, its plots.
    case $line in
      '### '*:*) scenario=${line#\#\#\# } scenario=${scenario%%:*} ;;
      '## '*)    scenario=overview ;;
      *)         continue ;;
    esac
    for plot in $PUBLISHED_PLOTS; do
      if [[ $plot == "$scenario" || $plot == "$scenario"-* ]] &&
         [ -e "${dirs[0]}/plots/$plot.svg" ]; then
        cp "${dirs[0]}/plots/$plot.svg" "$ROOT/doc/$plots/"
        printf '\n![%s](%s/%s.svg)\n' "${plot//-/ }" "$plots" "$plot"
      fi
    done
  done < "${dirs[0]}/tables.md" > "$tables"
  awk -v begin="$RESULTS_BEGIN" -v end="$RESULTS_END" -v tables="$tables" '
    $0 == end { inside = 0 }
    !inside { print }
    $0 == begin { inside = 1; while ((getline line < tables) > 0) print line }
    ' "$document" > "$document.new"
  rm -f "$tables"
  mv "$document.new" "$document"
  note "$(in_root "$document") and doc/$plots hold the results of ${dirs[0]##*/} now"
}

# bench_compare RUN RUN: do their ratios agree?
bench_compare()
{
  local dirs
  [ $# -eq 2 ] || usage_error "--compare needs two runs (directories below build/bench)"
  bench_runs "$@"
  perl "$ROOT/bench/report.pl" --compare "${dirs[@]}" "$SCENARIOS"
}
