#!/bin/bash
# The one entry to Millrace: from a clone to a running, patched server, and to
# its tests. This file only reads the command line and calls the steps, which
# live in ci/. "./build.sh help" explains every command.
set -euo pipefail

ROOT=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)

# --base, wherever it stands: all that follows depends on it. Only it and MILLRACE_BASE choose a base, not
# a variable BASE that happens to be in the environment.
unset BASE
ARGUMENTS=()
while [ $# -gt 0 ]; do
  case $1 in
    --base=*) BASE=${1#*=} ;;
    --base)   [ $# -gt 1 ] || { echo "build.sh: --base needs a value" >&2; exit 2; }
              BASE=$2
              shift ;;
    --)       ARGUMENTS+=("$@"); break ;;
    *)        ARGUMENTS+=("$1") ;;
  esac
  shift
done
set -- "${ARGUMENTS[@]}"
# shellcheck source=ci/lib.sh
. "$ROOT/ci/lib.sh"
# shellcheck source=ci/deps.sh
. "$ROOT/ci/deps.sh"
# shellcheck source=ci/fetch.sh
. "$ROOT/ci/fetch.sh"
# shellcheck source=ci/source.sh
. "$ROOT/ci/source.sh"
# shellcheck source=ci/build.sh
. "$ROOT/ci/build.sh"
# shellcheck source=ci/run.sh
. "$ROOT/ci/run.sh"
# shellcheck source=ci/test.sh
. "$ROOT/ci/test.sh"
# shellcheck source=ci/bench.sh
. "$ROOT/ci/bench.sh"
# shellcheck source=ci/tptop.sh
. "$ROOT/ci/tptop.sh"
# shellcheck source=ci/package.sh
. "$ROOT/ci/package.sh"
# shellcheck source=ci/check.sh
. "$ROOT/ci/check.sh"
# shellcheck source=ci/clean.sh
. "$ROOT/ci/clean.sh"

usage()
{
  cat <<'USAGE'
usage: ./build.sh [--base VERSION] COMMAND [OPTION]...

  run    [--flavour X] [--full] [--port N]     build, then start a server
  stop                                         stop that server
  test   [--flavour X] [--full] [--all] [ARG]...
                                               build, then run the tests
  test   --suites NAME... [--pool on|off] [--again] [--flavour X]
                                               upstream's suites, with the pool
  bench  [SCENARIO]... [--quick] [--fresh] [--rounds N] [--config X]...
                                               build, then compare servers
  bench  --compare RUN RUN | --publish RUN | --against-sysbench
  deb    [--full]                              Debian packages
  rpm    [--source]                            RPM packages
  tarball                                      a tarball that runs where it is
                                               unpacked
  install --prefix DIR                         put the release flavour there
  build  [--flavour X] [--full]                compile
  source                                       unpack and apply the patches
  fetch                                        get and verify upstream's source
  deps   [--full]                              install the packages needed
  check  [--compile] [--each [--from PATCH]]   check the patch stack itself
  clean  [--all]                               remove what was built
  help                                         explain each of these

flavours: release (default), debug, asan, tsan, stock
USAGE
  echo "bases: $PRIMARY (default)$(other_bases | sed 's/^/, /' | tr -d '\n')"
}

help()
{
  usage
  cat <<'HELP'

Every command first does the steps it needs, and skips what is done already:
deps, fetch, source, build, then its own. All work happens below build/.

--base VERSION, before or after the command, is another release of upstream's than the
        one in VERSION: one that has a directory in bases/, by its version or the
        beginning of it (--base 11.8). Everything of it is below build/VERSION.
        MILLRACE_BASE=VERSION in the environment does the same, also for ci/stress,
        ci/kill-table and ci/test-packages.

run     Starts a server of the flavour with the thread pool on. It listens on
        127.0.0.1 and on a socket below build/run only. Port 3307, or the next
        free one; --port N asks for another. Its data stay in build/run/data
        from one run to the next, also when the flavour changes. Running it
        again restarts the server only if the binary or the port changed.
        Ends with a line to connect with and a line to stop.
stop    Stops that server, and nothing else.
test    Runs suite thread_pool, upstream's tests of what the patches touch and
        the unit test; ends with "N passed, N failed, N skipped".
        --suites NAME...  instead, upstream's suites of that name (rpl, innodb,
                ...), one after the other, with the pool on. What fails and is
                not in ci/stock-failures/NAME.txt, the list of what fails on
                stock too, is a failure. NAME may be a test, too (rpl.rpl_x).
                Interrupted, the same command goes on with the tests that have
                no result yet and with those that failed; it begins anew when
                it came to its end, or when server, patches or options changed.
                Of wsrep, galera and galera_sr, those in ci/galera-tests.txt are
                run, if the packages galera-4 and socat are there.
        --all   the same as --suites main
        --pool off  the same without the pool
        --again     do not go on, begin anew
        Other arguments go to mtr (write its options as --name=value); test
        names replace the list: ./build.sh test thread_pool.x --repeat=5
        The logs of failed tests are kept in build/log/mtr-FLAVOUR; to keep all
        of mtr's files (cores, data) give it a --vardir=DIR of your own.
bench   Runs the scenarios named, or all, against the release pool, the stock
        pool and stock's one thread per connection in turn, several rounds, and
        writes tables, CSV and plots to build/bench/RUN. doc/benchmarks.md says
        what they show. Scenarios are the files of bench/scenarios.
        --quick     every scenario in ten minutes (without building)
        --rounds N  instead of what mode and scenario say
        --fresh     a new server process for each measurement, in random order, nine
                    rounds; ratios with their quartiles. For ratios near 1: a
                    process has its own luck with memory, which its rounds repeat
        --config X  compare these instead: a name in bench/configs, or an option
                    file with a line "# flavour: F" (repeatable)
        --compare RUN RUN   whether they gave the same ratios within 15 %
        --publish RUN       put its tables and plots into doc/benchmarks.md, those of
                            another base into doc/benchmarks-VERSION.md
        --against-sysbench  whether sysbench measures the same (it has to be
                            installed)
deb     Builds mariadb-server-core, which replaces Debian's package of that name,
        its debug symbols, millrace-config, which switches the pool on, and
        millrace-tools, with tptop. They are in build/packages. doc/packaging.md says how to install them and how
        to go back; ci/test-packages tests that.
        --full  Debian's whole package set instead, with our stack, in
                build/packages/full (about an hour)
rpm     Builds a source RPM and from it mariadb-server with what belongs to its
        version, millrace-config and millrace-tools, in the layout of RHEL 10,
        and checks them.
        --source  only the source RPM
tarball Packs the release flavour with the libraries that it needs, except libc.
install Puts the release flavour below DIR.
        For these four, SOURCE_DATE_EPOCH sets the time that files carry.
build   Compiles build/FLAVOUR: sql/mariadbd, client/mariadb and the rest.
        release  optimised, as deployed      debug  assertions, debug_sync
        asan     address sanitizer           tsan   thread sanitizer
        stock    unpatched upstream, same options as release
        --full   also the engines that distributions package separately:
                 RocksDB, Mroonga, Spider, Connect, OQGraph, Sphinx, S3
                 (not ColumnStore: it needs more than the distribution has)
source  Makes build/stock-src (pristine) and build/src (patched), and follows
        changes of the patches. Refuses to overwrite edits in build/src that
        are in no patch; --discard-edits throws them away.
fetch   Gets upstream's source: Debian's source package by this machine's apt
        configuration, else upstream's archive by https. Checks sha256 and, if
        gpg and the key are there, the signature. Any command that fetches
        takes --tarball F to use the file F instead. MILLRACE_KEYRING=F names
        a file that holds upstream's key.
deps    Installs missing Debian packages (root or sudo), or prints the command.
check   Checks the stack: names, headers, exact application, ABI and so on, what it is
        on the other bases, and then the checks themselves; ends with "N passed, N
        failed, N skipped". With --base, only what that base adds, and its ABI.
        --compile  also compiles every file that the stack touches, without the rest
        --each  also builds every prefix of the stack and runs the tests that
                its last patch names (slow); --from PATCH begins with that one
clean   Removes trees and builds, keeps downloads, the server's data and results
        of benchmarks; --all removes everything below build/. Stops the server first. Refuses, like
        source, to throw away edits in build/src without --discard-edits.

Exit status: 0 well, 1 something failed, 2 wrong usage.
HELP
}

usage_error()
{
  echo "build.sh: $*" >&2
  usage >&2
  exit 2
}

# Options, and which command takes which.
FLAVOUR=release FULL=no ALL=no EACH=no COMPILE=no EACH_FROM='' DISCARD=no TARBALL='' PORT=''
PREFIX='' SOURCE_ONLY=no
POOL=on AGAIN=no BY_SUITE=no SUITES=()
QUICK=no FRESH=no ROUNDS='' BENCH_MODE=measure
MTR_ARGS=() BENCH_CONFIGS=() BENCH_SCENARIOS=()

takes() { [[ " $1 " == *" $COMMAND "* ]]; }

parse_options()
{
  while [ $# -gt 0 ]; do
    local arg=$1 value=''
    shift
    # "--name value" and "--name=value" mean the same.
    case $arg in
      --flavour=*|--port=*|--tarball=*|--rounds=*|--config=*|--prefix=*|--pool=*|--from=*)
        value=${arg#*=} arg=${arg%%=*} ;;
      --flavour|--port|--tarball|--rounds|--config|--prefix|--pool|--from)
        [ $# -gt 0 ] || usage_error "$arg needs a value"
        value=$1
        shift ;;
    esac
    if [ "$arg" = --flavour ] && takes "build run test"; then
      is_flavour "$value" || usage_error "unknown flavour: $value"
      FLAVOUR=$value
    elif [ "$arg" = --port ] && takes run; then
      if [[ ! $value =~ ^[1-9][0-9]{0,4}$ ]] || [ "$value" -gt 65535 ]; then
        usage_error "not a port number: $value"
      fi
      PORT=$value
    elif [ "$arg" = --tarball ] && takes "fetch source build run test bench check deb rpm tarball install"; then
      TARBALL=$(realpath -e -- "$value" 2>/dev/null) ||
        usage_error "no such file: $value"
    elif [ "$arg" = --full ] && takes "deps build run test deb"; then
      FULL=yes
    elif [ "$arg" = --source ] && takes rpm; then
      SOURCE_ONLY=yes
    elif [ "$arg" = --prefix ] && takes install; then
      [ -n "$value" ] || usage_error "--prefix needs a directory"
      PREFIX=$(realpath -m -- "$value")
    elif [ "$arg" = --all ] && takes "test clean"; then
      ALL=yes
    elif [[ $arg =~ ^--suites(=(.*))?$ ]] && takes test; then
      BY_SUITE=yes
      add_suites "${BASH_REMATCH[2]}"
    elif [ "$arg" = --pool ] && takes test; then
      [[ $value =~ ^(on|off)$ ]] || usage_error "--pool is on or off, not: $value"
      POOL=$value
    elif [ "$arg" = --again ] && takes test; then
      AGAIN=yes
    elif [ "$arg" = --each ] && takes check; then
      EACH=yes
    elif [ "$arg" = --compile ] && takes check; then
      COMPILE=yes
    elif [ "$arg" = --from ] && takes check; then
      EACH_FROM=${value%.patch}.patch
    elif [ "$arg" = --discard-edits ] && takes "source clean"; then
      DISCARD=yes
    elif [ "$arg" = --quick ] && takes bench; then
      QUICK=yes
    elif [ "$arg" = --fresh ] && takes bench; then
      FRESH=yes
    elif [[ $arg =~ ^--(compare|against-sysbench|publish)$ ]] && takes bench; then
      BENCH_MODE=${arg#--}
    elif [ "$arg" = --rounds ] && takes bench; then
      [[ $value =~ ^[1-9][0-9]{0,2}$ ]] || usage_error "not a number of rounds: $value"
      ROUNDS=$value
    elif [ "$arg" = --config ] && takes bench; then
      BENCH_CONFIGS+=("$value")
    elif takes bench && [[ $arg != -* ]]; then
      BENCH_SCENARIOS+=("$arg")
    elif [ "$arg" = -- ] && takes test; then
      MTR_ARGS+=("$@")
      break
    elif [ $BY_SUITE = yes ] && [[ $arg != -* ]]; then
      add_suites "$arg"
    elif takes test; then
      MTR_ARGS+=("$arg")
    else
      usage_error "$COMMAND does not take: $arg"
    fi
  done
}

# add_suites NAME[,NAME]...: suites or tests
add_suites()
{
  local names
  IFS=, read -r -a names <<< "$1"
  SUITES+=("${names[@]}")
}

check_test_options()
{
  local name
  if [ $BY_SUITE = yes ]; then
    [ "$ALL" = no ] || usage_error "--all is --suites main: give one of them"
    [ ${#SUITES[@]} -gt 0 ] || usage_error "--suites needs the name of a suite"
    ! names_tests "${MTR_ARGS[@]}" || usage_error "names of tests belong behind --suites"
  elif [ "$ALL" = yes ]; then
    SUITES=(main)
  elif [ "$POOL" = off ] || [ $AGAIN = yes ]; then
    usage_error "--pool and --again belong to --suites and --all"
  fi
  for name in "${SUITES[@]}"; do
    [[ $name =~ ^[A-Za-z0-9_-]+(\.[A-Za-z0-9_#-]+)?$ ]] ||
      usage_error "neither a suite nor a test: $name"
    suite_may_exist "${name%%.*}" || usage_error "upstream has no suite: ${name%%.*}"
  done
}

# A function, called on the line that ends the script: so bash has read all of this
# file before it begins, and does not mind if it changes (an editor, git pull)
# while it works. (eval, because shellcheck takes an exit in the last line for one
# before everything else.)
main()
{
  [ $# -gt 0 ] || usage_error "no command given"
  COMMAND=$1
  shift
  case $COMMAND in
    help|--help|-h) help; exit 0 ;;
    deps|fetch|source|build|run|stop|test|bench|check|clean) ;;
    deb|rpm|tarball|install) ;;
    *) usage_error "unknown command: $COMMAND" ;;
  esac
  parse_options "$@"
  [ "$COMMAND" != install ] || [ -n "$PREFIX" ] ||
    usage_error "install needs --prefix DIR"
  [ "$COMMAND" != test ] || check_test_options
  if [ -n "$EACH_FROM" ]; then
    [ $EACH = yes ] || usage_error "--from belongs to --each"
    grep -qxF -- "$EACH_FROM" "$ROOT/series" || usage_error "no such patch in series: $EACH_FROM"
  fi
  if [ -n "$BASE" ]; then
    [ "$COMMAND" != rpm ] || usage_error "RPM packages are made of the primary base only, $PRIMARY"
    [ "$(fact_of "$BASE" BASE_STATE)" != never-built ] ||
      say "base $BASE was never built by its authors: see bases/$BASE/VERSION"
  fi
  [[ $ROOT != *[[:space:]]* ]] ||
    die "the path of this checkout has blanks in it ($ROOT)," \
        "which upstream's build and test tools do not support: move it"

  case $COMMAND in
    deps)   steps deps ;;
    fetch)  steps deps fetch ;;
    source) steps deps fetch source ;;
    build)  steps deps fetch source build ;;
    deb)    steps deps fetch unpack deb ;;
    rpm)    steps deps fetch rpm ;;
    tarball) steps deps fetch source build tarball ;;
    install) steps deps fetch source build install ;;
    run)    steps deps fetch source build run; describe_server ;;
    test)   steps deps fetch source build test; report_tests ;;
    bench)
      case $BENCH_MODE in
        compare) bench_compare "${BENCH_SCENARIOS[@]}" ;;
        publish) bench_publish "${BENCH_SCENARIOS[@]}" ;;
        against-sysbench) steps deps fetch source build against_sysbench ;;
        measure)
          bench_choose_scenarios
          bench_choose_configs
          steps deps fetch source build_all bench
          report_bench ;;
      esac ;;
    check)  steps deps fetch unpack check; report_checks ;;
    clean)  steps clean ;;
    stop)   stop_server ;;
  esac
}

eval 'main "$@"; exit'
