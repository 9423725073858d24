# tptop: its build, for the tests and for what is installed by hand, and its tests.
# shellcheck shell=bash

TPTOP_SOURCE=$ROOT/tptop

# build_tptop FLAVOUR [TARGET]...: with the libmariadb of that flavour. Sets TPTOP_BIN.
build_tptop()
{
  TPTOP_BIN=$BUILD/tptop/bin-$1
  STEP_LOG=$LOGS/tptop.log
  if ! make -C "$TPTOP_SOURCE" SOURCE="$BUILD/$(source_of_flavour "$1")" \
         BUILD="$BUILD/$1" OUT="$TPTOP_BIN" REVISION="$MILLRACE_REVISION" "${@:2}" > "$STEP_LOG" 2>&1; then
    tail -n 20 "$STEP_LOG" >&2
    die "tptop does not compile; the whole log is $(in_root "$STEP_LOG")"
  fi
}

# copy_tptop_source DIRECTORY: what a package is built from, without the tests. Its
# revision is written down, since VERSION isn't there.
copy_tptop_source()
{
  mkdir -p "$1"
  cp "$TPTOP_SOURCE"/*.[ch] "$TPTOP_SOURCE/tptop.1" "$1/"
  sed "s/^REVISION ?=.*/REVISION ?= $MILLRACE_REVISION/" "$TPTOP_SOURCE/Makefile" > "$1/Makefile"
}

# install_tptop PREFIX: the release flavour's, as it would be below /usr.
install_tptop()
{
  build_tptop release all
  install -D -s -m 755 "$TPTOP_BIN/tptop" "$1/bin/tptop"
  install -D -m 644 "$TPTOP_SOURCE/tptop.1" "$1/share/man/man1/tptop.1"
}

test_tptop()
{
  case $FLAVOUR in
    # Their libmariadb needs the sanitizer's run-time library.
    asan|tsan) note "the tests of tptop need another flavour"; return ;;
  esac
  build_tptop "$FLAVOUR" all tests
  run_program tptop:parts "$TPTOP_BIN/tptop-t"
  if have tmux; then
    test_tptop_in_terminal
  else
    note "no tmux here: tptop is not tested in a terminal"
    echo "skip tptop:terminal" >> "$RESULTS"
  fi
}

# Against a server with four groups, an extra port and, if it is ours, an extra socket.
test_tptop_in_terminal()
{
  local port extra
  bench_work "$BENCH/test-tptop-$FLAVOUR"
  bench_data "$FLAVOUR"
  mkdir "$WORK/test"
  extra=$(socket_path "$WORK/test").extra
  rm -f "$extra"
  copy_data "$WORK/test/data"
  choose_port $((BENCH_PORT + 100)) > /dev/null
  { cat "$ROOT/bench/common.cnf" "$ROOT/bench/configs/millrace.cnf"
    echo "thread_pool_size=4"
    echo "extra_port=$port"
    echo "loose_extra_socket=$extra"
    echo "extra_max_connections=5"; } > "$WORK/test/my.cnf"
  start_bench_server test "$FLAVOUR" "$WORK/test/data" "$WORK/test/server.log"
  TPTOP=$TPTOP_BIN/tptop SOCKET=${SERVER_SOCKET[test]} EXTRA_PORT=$port PID=${SERVER_PID[test]} \
    CLIENT="$dir/client/mariadb --no-defaults --socket=${SERVER_SOCKET[test]}" \
    run_program tptop:terminal bash "$TPTOP_SOURCE/test/tptop-t.sh"
  stop_bench_server test
  rm -rf "$extra" "$WORK"
}
