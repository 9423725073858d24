# Shared by all steps: places, messages, steps with their time, the lock, what
# is said on failure and interrupt. Sourced by build.sh.
# shellcheck shell=bash

# --- the base ----------------------------------------------------------------

# The stack is made on the primary base, the release that VERSION names. Others have a
# directory bases/VERSION each; all that is made from one is below build/VERSION. The
# option --base of build.sh, or MILLRACE_BASE for the other scripts, chooses.
BASE=${BASE-${MILLRACE_BASE-}}
PRIMARY=$(sed -n 's/^UPSTREAM_VERSION=//p' "$ROOT/VERSION")

# The others, a line each.
other_bases()
{
  local file
  for file in "$ROOT"/bases/*/VERSION; do
    [ ! -e "$file" ] || basename "$(dirname "$file")"
  done
}

# find_base NAME: the base of that version, or the only one whose version begins so.
find_base()
{
  local version found=()
  for version in "$PRIMARY" $(other_bases); do
    if [ "$version" = "$1" ]; then echo "$version"; return; fi
    [[ $version != "$1".* ]] || found+=("$version")
  done
  [ ${#found[@]} -eq 1 ] || return 1
  echo "${found[0]}"
}

if [ -n "$BASE" ]; then
  base_found=$(find_base "$BASE") ||
    { echo "build.sh: no base, or more than one, is called $BASE; there are: $PRIMARY" \
           "(primary), $(other_bases | paste -s -d ' ' | sed 's/ /, /g')" >&2
      exit 2; }
  BASE=$base_found
  [ "$BASE" != "$PRIMARY" ] || BASE=''
fi

# Empty for the primary base.
BASE_DIR=${BASE:+$ROOT/bases/$BASE}
BUILD=$ROOT/build${BASE:+/$BASE}
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

# VERSION is data, not a script: take only KEY=value. Our own revision is in the
# primary's.
while IFS='=' read -r key value; do
  case $key in
    UPSTREAM_*|DEBIAN_*|MILLRACE_*) declare -r "$key=$value" ;;
  esac
done < <(cat "${BASE_DIR:-$ROOT}/VERSION"; [ -z "$BASE" ] || grep '^MILLRACE_' "$ROOT/VERSION")

# Below share/, where the server's messages and character sets are.
case $UPSTREAM_VERSION in
  10.*) SERVER_SHARE=mysql ;;
  *)    SERVER_SHARE=mariadb ;;
esac

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
            else echo "mariadb-server-core, millrace-config and millrace-tools"; fi ;;
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

# Names of the patches of this base, in order: all of series, less those that it
# skips.
stack_names()
{
  if [ -n "$BASE" ] && [ -e "$BASE_DIR/skip" ]; then
    series_patches "$ROOT/series" | grep -vxFf <(skipped_patches "$BASE_DIR/skip")
  else
    series_patches "$ROOT/series"
  fi
}

# Names in a file "skip": a line a patch, NAME and the reason.
skipped_patches() { series_patches "$1" | awk '{ print $1 }'; }

# patch_file NAME: where the patch is; a base has some of its own.
patch_file()
{
  if [ -n "$BASE" ] && [ -e "$BASE_DIR/patches/$1" ]; then echo "$BASE_DIR/patches/$1"
  else echo "$ROOT/patches/$1"; fi
}

# One number for the whole stack: packages carry it, and tests ask for it.
stack_sha256()
{
  local name
  for name in $(stack_names); do
    echo "$(sha256_of "$(patch_file "$name")")  $name"
  done | sha256sum | cut -d' ' -f1
}

# is_built VERSION: whether the release flavour of that base was built, of the present stack. Step
# build leaves the number of the stack there.
is_built()
{
  local BASE=$1 BASE_DIR=$ROOT/bases/$1 release=$ROOT/build/$1/release
  if [ "$1" = "$PRIMARY" ]; then BASE='' BASE_DIR='' release=$ROOT/build/release; fi
  [ -x "$release/sql/mariadbd" ] &&
    [ "$(cat "$release/.stack" 2>/dev/null)" = "$(stack_sha256)" ]
}

# --- Debian's releases -------------------------------------------------------

# The release that this machine has.
this_suite() { sed -n 's/^VERSION_CODENAME=//p' /etc/os-release 2>/dev/null || true; }

# entries_for_suite RELEASE list|sources: from stdin, entries of apt in that format. All of them, if
# this machine has that release of Debian; else those for the machine's, made into ones for
# RELEASE: Debian's archives have all releases.
entries_for_suite()
{
  local here
  here=$(this_suite)
  if [ -z "$here" ] || [ "$here" = "$1" ]; then cat; return; fi
  here=$here there=$1 one_line=$([ "$2" != list ] || echo 1) perl -e '
    $/= "" unless $ENV{one_line};
    while (<STDIN>)
    {
      my $change= sub { my $s= shift; $s =~ s/(?<![\w-])\Q$ENV{here}\E(?=[-\s\/]|$)/$ENV{there}/g; $s };
      my $was= $_;
      if ($ENV{one_line}) { s/^(\S+\s+(?:\[.*?\]\s*)?\S+)(.*)/$1 . $change->($2)/e; }
      else { s/^(Suites:)(.*)/$1 . $change->($2)/gme; }
      print if $_ ne $was;
    }'
}

cores() { nproc 2>/dev/null || echo 1; }
