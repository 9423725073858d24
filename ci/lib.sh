# Shared by all steps: places, messages, steps with their time, the lock, what
# is said on failure and interrupt. Sourced by build.sh.
# shellcheck shell=bash

BUILD=$ROOT/build
STATE=$BUILD/state
LOGS=$BUILD/log
STOCK_SRC=$BUILD/stock-src
SRC=$BUILD/src
SUITE=mysql-test/suite/thread_pool
FLAVOURS="release debug asan tsan stock"

# Tools' messages are parsed, so they have to be in one language; a user's own
# quilt settings must not change what we do.
export LC_ALL=C
export QUILTRC=$ROOT/ci/quiltrc
unset QUILT_PATCHES QUILT_SERIES QUILT_PC CDPATH

# VERSION is data, not a script: take only KEY=value.
while IFS='=' read -r key value; do
  case $key in
    UPSTREAM_*|DEBIAN_*|MILLRACE_*) declare -r "$key=$value" ;;
  esac
done < "$ROOT/VERSION"

say()  { printf '%s\n' "$*"; }
note() { printf '    %s\n' "$*"; }

# A failure, explained: die "what happened" $'\n'"what to do". The status says
# so also from within a subshell; build.sh itself ends with 1 then.
DIED=101
die()
{
  local text="$*"
  printf 'build.sh: %s\n' "${text// $'\n'/$'\n'}" >&2
  exit $DIED
}

is_flavour() { [[ " $FLAVOURS " == *" $1 "* ]]; }
is_root()    { [ "$(id -u)" -eq 0 ]; }
have()       { command -v -- "$1" >/dev/null 2>&1; }
sha256_of()  { sha256sum -- "$1" | cut -d' ' -f1; }
in_root()    { printf '%s' "${1#"$ROOT"/}"; }

# "3 min 12 s" from seconds.
duration()
{
  if [ "$1" -ge 60 ]; then echo "$(($1 / 60)) min $(($1 % 60)) s"
  else echo "$1 s"; fi
}

# --- steps -----------------------------------------------------------------

STEP='' STEP_LOG='' ON_INTERRUPT=''
trap 'ended $?' EXIT

# steps A B C: does step_A, step_B, step_C with a counter and their times.
steps()
{
  local n=0
  trap 'interrupted INT 130' INT
  trap 'interrupted TERM 143' TERM
  mkdir -p "$STATE" "$LOGS" || die "cannot write below $BUILD"
  lock
  for STEP in "$@"; do
    n=$((n + 1))
    local started=$SECONDS counter="[$n/$#] $STEP:"
    say "$counter $(describe_step "$STEP")"
    "step_$STEP"
    say "$counter done in $(duration $((SECONDS - started)))"
  done
  STEP=''
}

describe_step()
{
  case $1 in
    deps)   echo "the packages needed to build" ;;
    fetch)  echo "upstream's source $UPSTREAM_VERSION" ;;
    unpack) echo "the pristine tree" ;;
    source) echo "the pristine and the patched tree" ;;
    build)  echo "flavour $FLAVOUR" ;;
    run)    echo "start a server, flavour $FLAVOUR" ;;
    test)   echo "flavour $FLAVOUR" ;;
    build_all) echo "the servers to compare" ;;
    bench)  echo "measure" ;;
    against_sysbench) echo "tpbench beside sysbench" ;;
    check)  echo "the patch stack" ;;
    deb)    if [ "$FULL" = yes ]; then echo "Debian's whole package set"
            else echo "mariadb-server-core and millrace-config"; fi ;;
    rpm)    echo "source RPM$([ "$SOURCE_ONLY" = yes ] || echo ", the server and what belongs to it")" ;;
    tarball) echo "pack the release flavour" ;;
    install) echo "to $PREFIX" ;;
    clean)  echo "what was built" ;;
  esac
}

interrupted()
{
  trap '' INT TERM
  echo "build.sh: interrupted by SIG$1 in step '$STEP';" \
       "the next run takes up from there" >&2
  if [ -n "$ON_INTERRUPT" ]; then "$ON_INTERRUPT"; fi
  exit "$2"
}

# Whatever ends a step early is named here, unless it was explained already.
ended()
{
  local status=$1
  if [ -n "$STEP" ] && [ "$status" -ne 0 ]; then
    if [ "$status" -lt 128 ] && [ "$status" -ne $DIED ]; then
      echo "build.sh: step '$STEP' failed with status $status" >&2
    fi
    if disk_is_full; then
      echo "build.sh: the disk that holds $BUILD is full;" \
           "make room and run the same command again" >&2
    fi
  fi
  [ "$status" -ne $DIED ] || exit 1
}

disk_is_full()
{
  [ "$(free_mb "$BUILD")" -lt 20 ] ||
    { [ -e "$STEP_LOG" ] &&
      tail -n 200 "$STEP_LOG" | grep -q 'No space left on device'; }
}

# --- one build.sh at a time in a checkout ----------------------------------

# Descriptor 9 is inherited by compilers and tests, so that the lock is held as
# long as any of them works; the server that "run" leaves behind closes it.
lock()
{
  exec 9>>"$STATE/lock"
  if ! flock -n 9; then
    local holder
    holder=$(cat "$STATE/lock" 2>/dev/null || true)
    die "another build.sh works in this checkout (process ${holder:-unknown});" \
        "wait for it to end"
  fi
  echo $$ > "$STATE/lock"
}

# --- disk ------------------------------------------------------------------

# Free megabytes on the disk of directory $1, or of the nearest parent there is.
free_mb()
{
  local dir=$1
  while [ ! -d "$dir" ]; do dir=$(dirname -- "$dir"); done
  df -Pm -- "$dir" | awk 'NR == 2 { print $4 }'
}

need_space()
{
  local free
  free=$(free_mb "$BUILD")
  [ "$free" -ge "$1" ] ||
    die "not enough disk space for $2: $free MB free at $BUILD, $1 MB needed"
}

# --- the series ------------------------------------------------------------

# Names of the patches in a series file, in order.
series_patches()
{
  sed -e 's/#.*//' -e 's/[[:space:]]*$//' -e '/^$/d' "$1"
}

# One number for the whole stack: packages carry it, and tests ask for it.
stack_sha256()
{
  local names
  mapfile -t names < <(series_patches "$ROOT/series")
  ( cd "$ROOT/patches" && sha256sum -- "${names[@]}" ) | sha256sum | cut -d' ' -f1
}

cores() { nproc 2>/dev/null || echo 1; }
