# What the stack is on other bases than the primary: bases/VERSION/ holds
#   VERSION    the release, its tarball, Debian's package of it
#   patches/   overlays: patches that replace those of the same name in patches/
#   skip       patches that it does not get: a line each, name and reason
#   stock-failures/   as ci/stock-failures, for this release
# An overlay is a whole patch. Its header is that of its original, and
#   Original: digest of what the original changed when the overlay was made
#   Overlay: reason, if the original would apply here, but does the wrong thing
# shellcheck shell=bash

# changes_of PATCH: a digest of what a patch adds and removes, wherever; line numbers and
# context may change without it.
changes_of()
{
  perl "$ROOT/ci/patch-lines.pl" --changes "$1" | sha256sum | cut -c 1-16
}

# overlay_field OVERLAY FIELD: its value, continuation lines joined
overlay_field()
{
  sed '/^\(--- \|diff \|Index: \)/,$d' "$1" | awk -v field="$2:" '
    index($0, field) == 1 { on = 1; print substr($0, length(field) + 2); next }
    on && /^[ \t]+[^ \t]/ { print; next }
    { on = 0 }' | tr -s ' \t\n' ' ' | sed -e 's/^ //' -e 's/ $//'
}

# overlay_is_current OVERLAY ORIGINAL: whether it was made of the original as it is now
overlay_is_current() { [ "$(overlay_field "$1" Original)" = "$(changes_of "$2")" ]; }

# files_of_stack DIR...: the files that the patches in DIR/patches touch, each once
files_of_stack()
{
  local dir
  for dir in "$@"; do
    [ ! -d "$dir/patches" ] || find "$dir/patches" -name '*.patch'
  done | sort | xargs -r perl "$ROOT/ci/patch-lines.pl" --files | sort -u
}

# fact_of VERSION KEY: from the VERSION file of a base, the primary's too
fact_of()
{
  local file=$ROOT/bases/$1/VERSION
  [ -e "$file" ] || file=$ROOT/VERSION
  sed -n "s/^$2=//p" "$file"
}

# pristine_files VERSION FILE-WITH-NAMES: a directory that has those of the named files of a
# release which it has. That is the unpacked tree, else they are taken from the tarball, which
# is fetched. Fails if there is no way to get it, with status 2 if what is there is no good.
pristine_files()
{
  local version=$1 wanted=$2 build=$ROOT/build stamp sum tarball dir out
  [ "$version" = "$PRIMARY" ] || build+=/$version
  sum=$(fact_of "$version" UPSTREAM_SHA256)
  if [ -d "$build/stock-src" ] && [ "$(cat "$build/state/stock-src" 2>/dev/null)" = "$sum" ]; then
    echo "$build/stock-src"
    return
  fi
  dir=$build/state/pristine
  stamp="$sum $(sha256_of "$wanted")"
  if [ "$(cat "$dir/.stamp" 2>/dev/null)" != "$stamp" ]; then
    tarball=$build/fetch/$(fact_of "$version" UPSTREAM_TARBALL)
    if [ ! -e "$tarball" ]; then
      fetch_once "$version" || return
    fi
    [ "$(sha256_of "$tarball")" = "$sum" ] ||
      { echo "$(in_root "$tarball") is not the file whose sha256 is in VERSION: remove it" >&2; return 2; }
    rm -rf "$dir"
    mkdir -p "$dir"
    # Not all of them are upstream's: tar complains about the others, and goes on. Whatever else it says is a failure.
    out=$(sed 's|^|*/|' "$wanted" |
      tar -xzf "$tarball" --strip-components=1 --no-same-owner -C "$dir" --wildcards \
          --no-wildcards-match-slash -T - 2>&1 || true)
    out=$(grep -v ': Not found in archive$\|: Exiting with failure status due to previous errors$' <<< "$out" || true)
    if [ -n "$out" ]; then
      echo "unpacking $(in_root "$tarball") failed: ${out%%$'\n'*}" >&2
      return 2
    fi
    echo "$stamp" > "$dir/.stamp"
  fi
  echo "$dir"
}

# What the last fetch_once VERSION said
fetch_once_log()
{
  if [ "$1" = "$PRIMARY" ]; then echo "$ROOT/build/log/fetch-once.log"
  else echo "$ROOT/build/$1/log/fetch-once.log"; fi
}

# fetch_once VERSION: what could not be fetched is not tried again in the same run.
fetch_once()
{
  local failed=$STATE/not-fetched-$1
  [ "$(cat "$failed" 2>/dev/null)" != $$ ] || return 1
  mkdir -p "$(dirname "$(fetch_once_log "$1")")"
  if ! "$ROOT/build.sh" fetch --base "$1" > "$(fetch_once_log "$1")" 2>&1 < /dev/null; then
    mkdir -p "$STATE"
    echo $$ > "$failed"
    return 1
  fi
}
