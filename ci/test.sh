# Step test: our suite, upstream's tests of what the stack touches, the unit
# test; or upstream's whole main suite with the pool on.
# shellcheck shell=bash

UNIT_TESTS="threadpool_policy threadpool_priority threadpool_credits threadpool_long threadpool_timeouts threadpool_waits threadpool_exempt threadpool_reception threadpool_reserve threadpool_blocked threadpool_gone vio_cancel"
BENCH_UNIT_TESTS="histogram template workload"
POOL_ON=--mysqld=--thread-handling=pool-of-threads
STOCK_FAILURES=$ROOT/ci/stock-failures.txt

# Upstream's tests of what the stack touches; a pattern is expanded in the tree.
UPSTREAM_TESTS="main.thread_pool_info main.pool_of_threads main.mysqld--help
  sys_vars.thread_pool* sys_vars.sysvars_server_notembedded
  plugins.thread_pool_server_audit"

step_test()
{
  local dir=$BUILD/$FLAVOUR
  # Some minimal containers come without /etc/hosts.
  getent hosts localhost > /dev/null ||
    die "this machine does not know the name localhost, which mtr needs;" \
        "it belongs into /etc/hosts, with 127.0.0.1"
  RESULTS=$LOGS/test-$FLAVOUR.results
  : > "$RESULTS"
  rm -rf "$LOGS/mtr-$FLAVOUR"
  ON_INTERRUPT=report_tests_so_far

  if [ "$ALL" = yes ]; then
    test_all
  elif names_tests "${MTR_ARGS[@]}"; then
    run_mtr chosen "${MTR_ARGS[@]}"
  else
    local tests
    mapfile -t tests < <(default_tests)
    run_mtr tests "${MTR_ARGS[@]}" "${tests[@]}"
    # stock does not have them
    local name
    if [ "$FLAVOUR" != stock ]; then
      for name in $UNIT_TESTS; do
        run_program "unit:$name" "$dir/unittest/sql/${name%-t}-t"
      done
    fi
    test_bench
  fi
  remove_vardirs
  ON_INTERRUPT=''
}

# Whether the user's own arguments say which tests to run.
names_tests()
{
  local arg
  for arg in "$@"; do
    case $arg in
      --suite=*|--suites=*|--do-test=*|[!-]*) return 0 ;;
    esac
  done
  return 1
}

default_tests()
{
  local name
  tests_in "$ROOT/$SUITE" thread_pool '*'
  for name in $UPSTREAM_TESTS; do
    case $name in
      main.*) tests_in "$dir/source/mysql-test/main" main "${name#*.}" ;;
      *)      tests_in "$dir/source/mysql-test/suite/${name%%.*}" \
                "${name%%.*}" "${name#*.}" ;;
    esac
  done
}

# tests_in DIRECTORY SUITE PATTERN: names of the tests there.
tests_in()
{
  { find "$1/" "$1/t/" -maxdepth 1 -name "$3.test" 2>/dev/null || true; } |
    sed -e 's|.*/||' -e 's|\.test$||' -e "s|^|$2.|" | sort -u
}

# --- mtr -------------------------------------------------------------------

# In memory if there is room: the tests sync a lot.
test_directory()
{
  local name
  name=millrace-$(id -u)-$(cksum <<< "$ROOT" | cut -d' ' -f1)
  if [ -w /dev/shm ] && [ "$(free_mb /dev/shm)" -ge 3000 ]; then
    echo "/dev/shm/$name"
  else
    echo "$BUILD/mtr"
  fi
}

# run_mtr WHAT ARG...: one run of mtr; what it reports goes to $RESULTS.
# MTR_PREFIX, if set, is a command to run it with.
MTR_PREFIX=()
run_mtr()
{
  local what=$1 log status=0 jobs
  log=$LOGS/mtr-$FLAVOUR-$what.log
  shift
  STEP_LOG=$log
  jobs=$(cores)
  [ "$jobs" -ge 2 ] || jobs=2
  local vardir
  vardir=$(test_directory)/$FLAVOUR-$what
  mkdir -p "$(dirname "$vardir")"
  need_space 1000 "the tests"
  build_tpwire
  STEP_LOG=$log
  MTR_LOG=$log
  ( cd "$dir/mysql-test" &&
    "${MTR_PREFIX[@]}" perl ./mtr --force --max-test-fail=0 --retry=1 \
      --parallel="$jobs" --testcase-timeout=10 --vardir="$vardir" "$@" \
      < /dev/null 2>&1 ) | tee "$log" || status=$?
  keep_results "$log"
  if [ $status -ne 0 ] && ! results_of "$log" | grep -q '^fail '; then
    echo "fail mtr ended with status $status" >> "$RESULTS"
  fi
  if [ $status -ne 0 ]; then keep_logs "$vardir" "$LOGS/mtr-$FLAVOUR/$what"; fi
  MTR_LOG=''
}

# The clients of the tests thread_pool.buffered_* and kill_matrix_*, which find them in
# the environment.
build_tpwire()
{
  export TPWIRE=$BUILD/wire/tpwire TPMATRIX=$BUILD/wire/tpmatrix
  STEP_LOG=$LOGS/tpwire.log
  if ! make -C "$ROOT/wire" OUT="$BUILD/wire" > "$STEP_LOG" 2>&1; then
    tail -n 20 "$STEP_LOG" >&2
    die "tpwire does not compile; the whole log is $(in_root "$STEP_LOG")"
  fi
}

# "pass|retried|fail|skip TEST" from mtr's output. A test that fails in one of
# several repetitions has failed; one that passes when retried has passed.
results_of()
{
  awk '
    $1 ~ /^[A-Za-z0-9_-]+\./ &&
    match($0, /\[ ([0-9]+ )?(retry-)?(pass|fail|exp-fail|skipped|disabled) \]/) {
      result = substr($0, RSTART + 2, RLENGTH - 4)
      sub(/^[0-9]+ /, "", result)
      name = $1
      if ($2 ~ /^\047/) name = name " " $2
      if (!(name in state)) order[++n] = name
      if (result == "retry-pass") state[name] = "retried"
      else if (result ~ /fail/) state[name] = "fail"
      else if (state[name] == "fail" || state[name] == "retried") ;
      else if (result == "pass") state[name] = "pass"
      else if (state[name] == "") state[name] = "skip"
    }
    END { for (i = 1; i <= n; i++) print state[order[i]], order[i] }' "$1"
}

keep_results()
{
  case $1 in
    # Those that are run apart show up as disabled in the main run.
    *-all.log) results_of "$1" |
                 grep -vxF -f <(reruns | awk '{ print "skip", $1 }') || true ;;
    *)         results_of "$1" ;;
  esac >> "$RESULTS"
}

# Logs of failed tests, without data directories and cores.
keep_logs()
{
  [ -d "$1/log" ] || return 0
  mkdir -p "$2"
  ( cd "$1/log" &&
    find . -type f -size -4M \( -name '*.log' -o -name '*.err' -o -name '*.reject' \
      -o -name '*.result' -o -name 'current_test' \) -exec cp --parents -t "$2" {} + )
  note "logs of the failed tests: $(in_root "$2")"
}

remove_vardirs() { rm -rf "$(test_directory)"; }

# run_program NAME COMMAND...: a test that prints TAP.
run_program()
{
  local name=$1 log=$LOGS/${1/:/-}-$FLAVOUR.log
  shift
  STEP_LOG=$log
  if ! have "$1"; then
    echo "was not built: $1" > "$log"
  elif "$@" > "$log" 2>&1 < /dev/null && ! grep -q '^not ok' "$log"; then
    say "$name [ pass ] $(grep -c '^ok' "$log") assertions"
    echo "pass $name" >> "$RESULTS"
    return
  fi
  cat "$log"
  say "$name [ fail ]"
  echo "fail $name" >> "$RESULTS"
}

# --- the benchmark's own parts ---------------------------------------------

test_bench()
{
  local name
  case $FLAVOUR in
    # Their libmariadb needs the sanitizer's run-time library.
    asan|tsan) note "the benchmark's own tests need another flavour"; return ;;
  esac
  build_tpbench "$FLAVOUR" all tests
  for name in $BENCH_UNIT_TESTS; do
    run_program "bench:$name" "$BENCH/bin-$FLAVOUR/$name-t"
  done
  run_program bench:report perl "$ROOT/bench/test/report-t.pl"
  test_tpbench
}

# The generator against a server with a binary log and TLS.
test_tpbench()
{
  local keys=$dir/source/mysql-test/std_data
  bench_work "$BENCH/test-$FLAVOUR"
  bench_data "$FLAVOUR"
  mkdir "$WORK/test"
  copy_data "$WORK/test/data"
  { cat "$ROOT/bench/common.cnf" "$ROOT/bench/configs/millrace.cnf"
    echo "log_bin=binlog"
    echo "server_id=1"
    echo "ssl_ca=$keys/cacert.pem"
    echo "ssl_cert=$keys/server-cert.pem"
    echo "ssl_key=$keys/server-key.pem"; } > "$WORK/test/my.cnf"
  start_bench_server test "$FLAVOUR" "$WORK/test/data" "$WORK/test/server.log"
  # Here InnoDB's log is a file, not memory as mtr's may be: commits wait for it.
  run_program wire:commits "$TPWIRE" --socket="${SERVER_SOCKET[test]}" \
    --port="${SERVER_PORT[test]}" commits
  TPBENCH=$TPBENCH PORT=${SERVER_PORT[test]} PID=${SERVER_PID[test]} \
    CLIENT="$dir/client/mariadb --no-defaults --socket=${SERVER_SOCKET[test]}" \
    run_program bench:tpbench bash "$ROOT/bench/test/tpbench-t.sh"
  stop_bench_server test
  rm -rf "$WORK"
}

# --- upstream's main suite -------------------------------------------------

# ci/stock-failures.txt without comments: "TEST reason" for what fails on stock
# too, "rerun: TEST HOW reason" for what has to be run in another way.
recorded() { sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$STOCK_FAILURES"; }
known()    { recorded | awk '$1 != "rerun:" { print $1 }'; }

# "TEST HOW" of those to run apart; none unless the whole suite is run.
reruns()
{
  [ "$ALL" = yes ] || return 0
  recorded | awk '$1 == "rerun:" { print $2, $3 }'
}

test_all()
{
  local how tests skip=$STATE/run-apart.list
  local selection=(--suite=main)
  if names_tests "${MTR_ARGS[@]}"; then selection=(); fi
  reruns | awk '{ print $1 " : run apart, see ci/stock-failures.txt" }' > "$skip"
  run_mtr all "${selection[@]}" "$POOL_ON" --skip-test-list="$skip" \
    --retry=2 "${MTR_ARGS[@]}"
  if [ ${#selection[@]} -eq 0 ]; then return; fi

  for how in $(reruns | awk '{ print $2 }' | sort -u); do
    mapfile -t tests < <(reruns | awk -v how="$how" '$2 == how { print $1 }')
    case $how in
      without-pool) run_mtr "$how" "${tests[@]}" ;;
      as-user)      run_as_user "${tests[@]}" ;;
      *)            die "$(in_root "$STOCK_FAILURES"): unknown way '$how'" ;;
    esac
  done
}

# As root, in a user namespace that shows us as an ordinary user; files stay
# accessible whatever the checkout's directory allows to others.
run_as_user()
{
  local as_user=(unshare --user --map-user=1000 --map-group=1000 --) test
  if is_root; then
    if ! "${as_user[@]}" true 2>/dev/null; then
      note "no user namespaces here: skipping $*"
      for test in "$@"; do echo "skip $test" >> "$RESULTS"; done
      return
    fi
    MTR_PREFIX=("${as_user[@]}")
  fi
  run_mtr as-user "$POOL_ON" "$@"
  MTR_PREFIX=()
}

# --- the outcome, the last thing that is printed ----------------------------

count() { grep -c "^$1 " "$RESULTS" || true; }

# show KIND TITLE: the tests of that kind, if there are any.
show()
{
  [ "$(count "$1")" -gt 0 ] || return 0
  say "$2"
  sed -n "s/^$1 /    /p" "$RESULTS"
}

report_tests_so_far()
{
  if [ -n "${MTR_LOG-}" ]; then keep_results "$MTR_LOG"; fi
  remove_vardirs
  say "not all tests were run; so far:"
  report_tests || true
}

report_tests()
{
  local failed
  if [ "$ALL" = yes ]; then mark_known; fi
  failed=$(count fail)
  show known "known failures of stock (ci/stock-failures.txt):"
  show fixed "recorded as failures of stock, but passed; fixed?"
  show retried "passed only when retried:"
  show fail "failed:"
  local passed=$(($(count pass) + $(count retried) + $(count fixed)))
  say "$passed passed, $failed failed, $(($(count skip) + $(count known))) skipped"
  if [ $((passed + failed)) -eq 0 ]; then
    echo "build.sh: no test was run" >&2
    exit 1
  fi
  [ "$failed" -eq 0 ] || exit 1
}

# What fails on stock too is not held against the stack.
mark_known()
{
  local marked=$RESULTS.marked
  awk -v list="$(known | tr '\n' ' ')" '
    BEGIN { n = split(list, names); for (i = 1; i <= n; i++) known[names[i]] }
    $2 in known && $1 == "fail" { $1 = "known" }
    $2 in known && ($1 == "pass" || $1 == "retried") { $1 = "fixed" }
    { print }' "$RESULTS" > "$marked"
  mv "$marked" "$RESULTS"
}
