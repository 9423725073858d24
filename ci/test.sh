# Step test: our suite, upstream's tests of what the stack touches, the unit
# tests; or whole suites of upstream's, with the pool on or off.
# shellcheck shell=bash

BENCH_UNIT_TESTS="histogram template workload"
POOL_OPTION=(--mysqld=--thread-handling=pool-of-threads)
STOCK_FAILURES=${BASE_DIR:-$ROOT/ci}/stock-failures
GALERA_TESTS=$ROOT/ci/galera-tests.txt

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
  ON_INTERRUPT=report_tests_so_far
  if [ "$POOL" = off ]; then POOL_OPTION=(); fi
  # A suite's are kept until it begins anew.
  if [ ${#SUITES[@]} -eq 0 ]; then rm -rf "$LOGS/mtr-$FLAVOUR"; fi

  if [ "$ALL" = yes ] && names_tests "${MTR_ARGS[@]}"; then
    run_mtr all "${POOL_OPTION[@]}" "${MTR_ARGS[@]}"
  elif [ ${#SUITES[@]} -gt 0 ]; then
    test_suites
  elif names_tests "${MTR_ARGS[@]}"; then
    run_mtr chosen "${MTR_ARGS[@]}"
  else
    local tests
    mapfile -t tests < <(default_tests)
    run_mtr tests "${MTR_ARGS[@]}" "${tests[@]}"
    local name
    for name in $(our_unit_tests "$STOCK_SRC" "$dir/source"); do run_unit_test "$name"; done
    test_bench
    test_tptop
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
  name=millrace-$(id -u)-$(cksum <<< "$ROOT${BASE:+/$BASE}" | cut -d' ' -f1)
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
  build_wire
  STEP_LOG=$log
  MTR_LOG=$log
  ( cd "$dir/mysql-test" &&
    "${MTR_PREFIX[@]}" perl ./mtr --force --max-test-fail=0 --retry=2 \
      --parallel="$jobs" --testcase-timeout=10 --vardir="$vardir" "$@" \
      < /dev/null 2>&1 ) | tee "$log" | show_progress || status=$?
  keep_results "$log"
  if [ $status -ne 0 ]; then why_mtr_failed "$log" $status >> "$RESULTS"; fi
  if [ $status -ne 0 ]; then keep_logs "$vardir" "$LOGS/mtr-$FLAVOUR/$what"; fi
  MTR_LOG=''
}

# In a run over a suite, each result with its number. (mawk would keep the lines.)
show_progress()
{
  if [ -z "${MTR_TOTAL-}" ]; then cat; return; fi
  total=$MTR_TOTAL n=$MTR_DONE skip=$state/skip perl -ne '
    BEGIN { $|= 1; if (open(my $in, "<", $ENV{skip})) { $skip{(split)[0]}= 1 while <$in>; } }
    if (/^([\w-]+\.\S+) .*\[ (pass|fail|skipped|disabled) \]/)
    {
      next if $skip{$1};
      printf "[%d/%d] ", ++$ENV{n}, $ENV{total};
    }
    print;'
}

# The clients of tests (buffered_*, kill_matrix_*, logins, cancel_gone* and others), which find them in the
# environment.
build_wire()
{
  export TPWIRE=$BUILD/wire/tpwire TPMATRIX=$BUILD/wire/tpmatrix
  export TPLOGIN=$BUILD/wire/tplogin TPCLIENT=$BUILD/wire/tpclient
  STEP_LOG=$LOGS/wire.log
  if ! make -C "$ROOT/wire" OUT="$BUILD/wire" > "$STEP_LOG" 2>&1; then
    tail -n 20 "$STEP_LOG" >&2
    die "wire/ does not compile; the whole log is $(in_root "$STEP_LOG")"
  fi
}

# "pass|retried|fail|skip TEST" from mtr's output. A test that fails in one of
# several repetitions has failed; one that passes when retried has passed.
results_of()
{
  awk '
    $1 ~ /^[A-Za-z0-9_-]+\./ && !/\[ disabled \] +not in this run/ &&
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

keep_results() { results_of "$1" >> "$RESULTS"; }

# why_mtr_failed LOG STATUS: "fail REASON" where the result of no test says why mtr ended with an error.
# To mtr, a test that passes when retried has failed all the same, so its status says little: that it came to
# its end ("Completed"), and what servers wrote when they were shut down, has to be read in its output.
why_mtr_failed()
{
  local warned tests
  warned=$(sed -n 's/^\*\*\*Warnings generated in error logs during shutdown after running tests: //p' "$1" |
           sort -u)
  if [ -n "$warned" ]; then
    while read -r tests; do
      echo "fail warnings of a server at its shutdown, after $tests"
    done <<< "$warned"
  elif ! results_of "$1" | grep '^fail ' > /dev/null &&
       ! { grep '^Completed: Failed ' "$1" && results_of "$1" | grep '^retried '; } > /dev/null; then
    echo "fail mtr ended with status $2"
  fi
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

# our_unit_tests STOCK TREE: those that TREE has more than upstream's.
our_unit_tests()
{
  comm -13 <(unit_tests_of "$1") <(unit_tests_of "$2")
}

unit_tests_of()
{
  sed -nE 's/^ *MY_ADD_TESTS?\(([^)]*).*/\1/p' "$1/unittest/sql/CMakeLists.txt" |
    sed -E 's/ (LINK_LIBRARIES|EXT) .*//' | tr -s ' ' '\n' | sort
}

run_unit_test() { run_program "unit:$1" "$dir/unittest/sql/${1%-t}-t"; }

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
  # Stock has no policy to simulate.
  if [ "$FLAVOUR" != stock ]; then
    build_tpbench "$FLAVOUR" sim
    TPSIM=$BENCH/bin-$FLAVOUR/tpsim \
      run_program bench:tpsim bash "$ROOT/bench/test/tpsim-t.sh"
  fi
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

# --- upstream's suites -------------------------------------------------------

# Without the tree nobody knows.
suite_may_exist()
{
  local tree dir
  tree=$BUILD/$(source_of_flavour "$FLAVOUR")
  if [ "$1" = main ] || [ ! -d "$tree/mysql-test/suite" ]; then return 0; fi
  for dir in "$tree"/{mysql-test/suite,{storage,plugin}/*/mysql-test}/"$1"; do
    [ ! -d "$dir" ] || return 0
  done
  return 1
}

# The suites that were asked for, each once, in their order.
asked_suites() { printf '%s\n' "${SUITES[@]%%.*}" | awk '!seen[$0]++'; }

# recorded SUITE...: stock-failures/SUITE.txt of this base without comments; the README in
# ci/stock-failures says what is in it.
recorded()
{
  local suite
  for suite in "$@"; do
    [ ! -e "$STOCK_FAILURES/$suite.txt" ] ||
      sed -E -e 's/(^|[[:space:]])#.*//' -e '/^[[:space:]]*$/d' "$STOCK_FAILURES/$suite.txt"
  done
}

# What fails on stock too: TEST or, with a combination, TEST 'COMBINATION'.
known()
{
  # shellcheck disable=SC2046  # a list of words
  recorded $(asked_suites) | awk -v pool="pool-$POOL:" '
    $1 == "rerun:" { next }
    $1 ~ /^pool-(on|off):$/ { if ($1 != pool) next; $1 = ""; $0 = $0 }
    { print $1 ($2 ~ /^\047.*\047$/ ? " " $2 : "") }'
}

# reruns SUITE: "TEST HOW" of those to run apart.
reruns()
{
  recorded "$1" | awk -v pool="$POOL" '
    $1 == "rerun:" && !(pool == "off" && $3 == "without-pool") { print $2, $3 }'
}

test_suites()
{
  local suite dir=$BUILD/$FLAVOUR
  for suite in $(asked_suites); do
    suite_may_exist "$suite" || die "upstream has no suite $suite"
    test_suite "$suite"
  done
  # This run came to its end: the next one begins anew.
  for suite in $(asked_suites); do rm -rf "$(suite_state "$suite")"; done
}

# What the run over a suite is called; a few tests of it don't end an interrupted
# run over all.
suite_run()
{
  if by_name "$1"; then echo "$1-pool-$POOL-chosen"; else echo "$1-pool-$POOL"; fi
}

# Whether only tests of that suite were asked for, by their names.
by_name() { [[ " ${SUITES[*]} " == *" $1".* && " ${SUITES[*]} " != *" $1 "* ]]; }

suite_state() { echo "$STATE/suites/$FLAVOUR-$(suite_run "$1")"; }

test_suite()
{
  local suite=$1 what state started=$SECONDS names before left
  local options=(--suite="$1" --retry=2)
  what=$(suite_run "$suite")
  state=$(suite_state "$suite")
  mapfile -t names < <(chosen_tests "$suite")
  if needs_provider "$suite"; then
    local -x WSREP_PROVIDER=${WSREP_PROVIDER:-/usr/lib/galera/libgalera_smm.so}
    if [ ! -r "$WSREP_PROVIDER" ] || ! have socat; then
      skip_suite "${names[@]}"
      return
    fi
    options+=(--mysqld=--wsrep-sst-method=mariabackup --mysqld=--wsrep-sst-auth=root:
              --parallel=1)
  fi
  options+=("${MTR_ARGS[@]}")
  take_up_suite
  before=$(wc -l < "$RESULTS")
  cat "$state/results" >> "$RESULTS"
  MTR_TOTAL=$(wc -l < "$state/tests") MTR_DONE=$(wc -l < "$state/results")
  say "suite $suite, pool $POOL: $MTR_TOTAL tests, $MTR_DONE of them have a result already"

  run_left "$state/results" ''
  settle_results
  left=$(tests_left "$state/found")
  if [ -n "$left" ]; then
    note "no result so far, run once more: ${left//$'\n'/ }"
    run_left "$state/found" -again
    settle_results
  fi
  MTR_TOTAL=''
  { cat "$state/found"; tests_left "$state/found" | sed 's/.*/fail & has no result/'; } > "$RESULTS"
  mark_known "$RESULTS"
  say "suite $suite, pool $POOL: $(counts_from "$before"), in $(duration $((SECONDS - started)))"
}

# run_left RESULTS SUFFIX: runs what lacks a result there, each in its way. The suffix is for the
# names of the logs.
run_left()
{
  local how tests
  for how in '' $(reruns "$suite" | awk '{ print $2 }' | sort -u); do
    mapfile -t tests < <(tests_to_run "$how" "$1")
    if [ ${#tests[@]} -eq 0 ]; then continue; fi
    rm -f "$state/skip"
    case $how in
      '')           # By name, mtr runs the big ones, too: name the others instead.
                    if [ ${#names[@]} -eq 0 ]; then
                      not_in_this_run "${tests[@]}" > "$state/skip"
                      tests=(--skip-test-list="$state/skip")
                    fi
                    run_mtr "$what$2" "${POOL_OPTION[@]}" "${options[@]}" "${tests[@]}" ;;
      without-pool) run_mtr "$what-$how$2" "${options[@]}" "${tests[@]}" ;;
      as-user)      run_as_user "$what-$how$2" "${options[@]}" "${tests[@]}" ;;
      *)            die "$(in_root "$STOCK_FAILURES/$suite.txt"): unknown way '$how'" ;;
    esac
    MTR_DONE=$(($(wc -l < "$RESULTS") - before))
  done
}

# Each result once: what upstream disabled shows up each time that it goes on, and a test that is run once
# more, because a combination of it lacks a result, has some already. A failure stays one.
settle_results()
{
  awk -v before="$before" '
    { name = $2 " " $3 }
    NR > before && (name in at) { if ($1 == "fail") line[at[name]] = $0; next }
    { line[++n] = $0 }
    NR > before { at[name] = n }
    END { for (i = 1; i <= n; i++) print line[i] }' "$RESULTS" > "$state/found"
}

# The tests of a suite to run, if not all: those that were asked for by name, or
# those that ci/galera-tests.txt has.
chosen_tests()
{
  if by_name "$1"; then printf '%s\n' "${SUITES[@]}"; else cat "$GALERA_TESTS"; fi |
    sed -n "s/^\($1\.[^ ]*\).*/\1/p"
}

needs_provider() { [[ $1 == galera* ]] || [ "$1" = wsrep ]; }

skip_suite()
{
  note "suite $suite needs a provider of wsrep ($WSREP_PROVIDER) and socat;" \
       "skipped. On Debian: apt-get install galera-4 socat"
  if [ $# -gt 0 ]; then printf 'skip %s\n' "$@" >> "$RESULTS"; fi
}

# Goes on with a run that was interrupted, if it was made with the same server,
# stack, tests and options; else begins anew. What failed then may have failed
# because it was interrupted, so it's tried again, unless stock fails, too.
take_up_suite()
{
  local key log
  key=$(sha256_of "$dir/sql/mariadbd"; stack_sha256
        printf '%s\n' "${options[@]}" "${names[@]}")
  if [ "$AGAIN" = no ] && [ "$key" = "$(cat "$state/key" 2>/dev/null)" ]; then
    for log in $(suite_logs); do
      [ -e "$log" ] || continue
      results_of "$log" > "$state/found"
      mark_known "$state/found"
      { grep -v '^fail ' "$state/found" || true; } >> "$state/results"
      mv "$log" "${log%.log}.old.log"
    done
    awk 'phase == 1 { again[$1]; next } !($2 in again)' phase=1 <(tests_left "$state/results") \
      phase=2 "$state/results" > "$state/found"
    mv "$state/found" "$state/results"
    return
  fi
  if [ -e "$state/key" ]; then note "server, patches or options are not as before: begins anew"; fi
  # shellcheck disable=SC2046  # a list of words
  rm -rf "$state" $(suite_logs) "$LOGS/mtr-$FLAVOUR/$what"*
  mkdir -p "$state"
  list_tests "${names[@]}"
  : > "$state/results"
  echo "$key" > "$state/key"
}

suite_logs() { echo "$LOGS/mtr-$FLAVOUR-$what"{,-without-pool,-as-user}{,-again}.log; }

# mtr's own list, with combinations: what it will have results for. With the pool's option, since
# mtr leaves out a combination that contradicts it.
list_tests()
{
  local log=$LOGS/mtr-$FLAVOUR-list.log
  STEP_LOG=$log
  mkdir -p "$(test_directory)"
  ( cd "$dir/mysql-test" &&
    perl ./mtr --dry-run --vardir="$(test_directory)/$FLAVOUR-list" \
      "${POOL_OPTION[@]}" "${options[@]}" "$@" < /dev/null > "$log" 2>&1 ) ||
    { tail -n 5 "$log" >&2; die "mtr can't list the tests of suite $suite"; }
  grep -E "^$suite\.[^ ]+( '[^']*')?\$" "$log" | sort -u > "$state/tests" ||
    die "mtr finds no test in suite $suite; the whole log is $(in_root "$log")"
}

# tests_left RESULTS: those that lack a result. A test is run with all its combinations
# or not at all: mtr does not take each of its own by name.
# One that mtr skips without starting it (a debug build is wanted) it skips in all combinations, but names
# only those that it came across before it knew, and it sorts what a test includes by addresses in memory: the
# list may have "t 'a'" and "t 'b'" and the run "t", or the other way round. So a skipped combination that is not
# in the list stands for all of that test; those that the test itself skips are in it.
tests_left()
{
  awk '
    phase == 1 { list[++n] = $0; listed[$0]; next }
    {
      name = substr($0, index($0, " ") + 1)
      done[name]
      any[$2]
      if ($1 == "skip" && !(name in listed)) skipped[$2]
    }
    END {
      for (i = 1; i <= n; i++) {
        blank = index(list[i], " ")
        test = blank ? substr(list[i], 1, blank - 1) : list[i]
        if (test in skipped || (blank ? (list[i] in done) || (test in done) : (test in any))) continue
        if (!seen[test]++) print test
      }
    }' phase=1 "$state/tests" phase=2 "$1"
}

# not_in_this_run TEST...: all but those, as mtr wants it.
not_in_this_run()
{
  awk 'phase == 1 { run[$1]; next } !($1 in run) && !seen[$1]++ { print $1 " : not in this run" }' \
    phase=1 <(printf '%s\n' "$@") phase=2 "$state/tests"
}

# tests_to_run HOW RESULTS: those that have no result there and are to be run in that way.
tests_to_run()
{
  awk -v how="$1" '
    phase == 1 { apart[$1] = $2; next }
    apart[$1] == how' phase=1 <(reruns "$suite") phase=2 <(tests_left "$2")
}

# As root, in a user namespace that shows us as an ordinary user; files stay
# accessible whatever the checkout's directory allows to others.
run_as_user()
{
  local as_user=(unshare --user --map-user=1000 --map-group=1000 --)
  if is_root; then
    if ! "${as_user[@]}" true 2>/dev/null; then
      note "no user namespaces here: skipping ${tests[*]}"
      printf 'skip %s\n' "${tests[@]}" >> "$RESULTS"
      return
    fi
    MTR_PREFIX=("${as_user[@]}")
  fi
  run_mtr "$1" "${POOL_OPTION[@]}" "${@:2}"
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
  if [ ${#SUITES[@]} -gt 0 ]; then mark_known "$RESULTS"; fi
  failed=$(count fail)
  show known "known failures of stock ($(in_root "$STOCK_FAILURES")):"
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

# counts_from LINE: "N passed, N failed, N skipped" of the results behind it.
counts_from()
{
  awk -v before="$1" '
    NR > before { n[$1]++ }
    END { printf "%d passed, %d failed, %d skipped", n["pass"] + n["retried"] + n["fixed"],
                 n["fail"], n["skip"] + n["known"] }' "$RESULTS"
}

# mark_known RESULTS: what fails on stock too is not held against the stack.
mark_known()
{
  awk '
    phase == 1 { known[$0]; next }
    ($2 in known) || (($2 " " $3) in known) {
      if ($1 == "fail") $1 = "known"
      if ($1 == "pass" || $1 == "retried") $1 = "fixed"
    }
    { print }' phase=1 <(known) phase=2 "$1" > "$1.marked"
  mv "$1.marked" "$1"
}
