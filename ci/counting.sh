# What ci/stress and the stories of ci/test-packages count with. Who can skip something sets SKIPPED=0.
# shellcheck shell=bash

PASSED=0 FAILED=0

# check NAME COMMAND...: what the command prints is shown if it fails.
check()
{
  local name=$1 out
  shift
  if out=$("$@" 2>&1); then
    say "ok $name"
    PASSED=$((PASSED + 1))
  else
    say "FAILED $name:"
    printf '    %s\n' "${out//$'\n'/$'\n'    }"
    FAILED=$((FAILED + 1))
  fi
}

skip()
{
  say "skipped $1: $2"
  SKIPPED=$((SKIPPED + 1))
}

report()
{
  say "time: $(duration $SECONDS)"
  say "$PASSED passed, $FAILED failed${SKIPPED:+, $SKIPPED skipped}"
}

# equal EXPECTED FOUND: says so if they are not.
equal() { [ "$1" = "$2" ] || { printf 'expected: %s\nfound:    %s\n' "$1" "$2"; return 1; }; }
