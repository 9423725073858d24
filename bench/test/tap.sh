# Just enough of the Test Anything Protocol for the scripts here and in tptop/test, as tap.h has it for C. A command
# under test writes to $DIR/out.
# shellcheck shell=bash

DIR=$(mktemp -d)
COUNT=0 FAILED=0

ok()      # ok STATUS NAME [DETAIL]: STATUS 0 is well
{
  COUNT=$((COUNT + 1))
  if [ "$1" -eq 0 ]; then
    echo "ok $COUNT - $2"
  else
    FAILED=$((FAILED + 1))
    echo "not ok $COUNT - $2"
    { echo "${3-}"; cat "$DIR/out"; } | sed 's/^/#   /'
  fi
}

is()      # is GOT WANTED NAME
{
  local status=0
  [ "$1" = "$2" ] || status=1
  ok $status "$3" "got '$1', wanted '$2'"
}

says()    # says TEXT NAME: the last output holds the text
{
  local status=0
  grep -qF -- "$1" "$DIR/out" || status=1
  ok $status "$2" "missing: $1"
}

