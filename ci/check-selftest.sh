# Shows that each check can fail: a defect is planted in a copy of the stack,
# and the check has to report it, in the words that belong to it.
# shellcheck shell=bash

# self_test NAME: needs plant_NAME, which spoils the copy that it is run in and
# prints patterns, one in each line, that the check's report must match.
self_test()
{
  local name=${1//-/_} copy expected report pattern
  copy=$(mktemp -d)
  ( cd "$ROOT" && cp -a patches bases series VERSION build.sh ci .ci mysql-test bench packaging doc ./*.md COPYING "$copy/" )
  expected=$(cd "$copy" && "plant_$name") ||
    { rm -rf "$copy"; echo "the defect could not be planted"; return 1; }
  local status=0
  report=$(STACK=$copy; "spoiled_$name" 2>&1) || status=$?
  rm -rf "$copy"
  case $status in
    0) echo "the planted defect was not found"
       return 1 ;;
    "$NOT_CHECKED") echo "$report"
       return "$status" ;;
  esac
  while IFS= read -r pattern; do
    grep -qE -- "$pattern" <<< "$report" ||
      { printf 'another defect than "%s" was found:\n%s\n' "$pattern" "$report"; return 1; }
  done <<< "$expected"
}

first_patch() { echo "patches/$(series_patches series | head -n 1)"; }
last_patch()  { series_patches series | tail -n 1; }

plant_series()
{
  echo "planted/missing.patch" >> series
  echo "planted/missing.patch"
}

plant_headers()
{
  sed -i '/^Last-Update:/d' "$(first_patch)"
  echo "no Last-Update:"
}

plant_status()
{
  sed -i "s|^\($(series_patches series | head -n 1)\) .*|\1 # sent|" series
  echo "series says 'sent'"
}

plant_tests_exist()
{
  sed -i 's/^Tests:.*/Tests: thread_pool.planted/' "$(first_patch)"
  echo "no test thread_pool.planted"
}

# A test that is named too early, one that nobody names, and an include that reads a later table.
plant_tests_of_prefixes()
{
  local suite=mysql-test/suite/thread_pool
  sed -i 's/^Tests:.*/Tests: thread_pool.linger/' "$(first_patch)"
  touch "$suite/t/planted.test"
  echo 'SELECT COUNT(*) FROM INFORMATION_SCHEMA.THREAD_POOL_GATE;' >> "$suite/include/show_queue.inc"
  echo "names thread_pool.linger, which needs thread_pool_linger .* of linger/linger.patch"
  echo "no patch names thread_pool.planted"
  echo "prio/tickets.patch names .* needs THREAD_POOL_GATE \(in show_queue.inc\) of groups/gate-table.patch"
}

# As a line that was forgotten; later patches have it as context.
plant_unit_tests()
{
  sed -i 's/^\([+ ]\)MY_ADD_TESTS(threadpool_owner .*/\1# planted/' patches/*/*.patch
  echo "no MY_ADD_TESTS for threadpool_owner"
}

# Moves the first hunk by a line: patch finds it, at an offset.
plant_applies_exactly()
{
  perl -pi -e '!$done && s/^@@ -(\d+)(\S*) \+(\d+)/"@@ -".($1+1)."$2 +".($3+1)/e && ($done= 1)' \
    "$(first_patch)"
  echo "offset"
}

plant_refresh_is_noop()
{
  sed -i '0,/^@@ .* @@/s/^@@ \(.*\) @@.*/@@ \1 @@ planted/' "$(first_patch)"
  echo "changes when refreshed"
}

# No patch can do that, only quilt going wrong: see spoiled_pops_to_pristine.
plant_pops_to_pristine() { echo "Only in .: planted"; }

plant_no_binary_or_mode()
{
  sed -i '0,/^--- /s/^--- /old mode 100644\nnew mode 100755\n--- /' "$(first_patch)"
  echo "new mode 100755"
}

# The first added line that is not in a result file.
plant_no_trailing_blanks()
{
  local where
  where=$(cd patches && series_patches ../series |
            xargs perl ../ci/patch-lines.pl --added |
            awk -F'\t' '$2 !~ /\.(result|rdiff)$/ { print $1; exit }')
  sed -i "${where##*:}s/\$/ /" "patches/${where%:*}"
  echo "end in blanks"
}

# A last patch that removes the first line which the one before it added.
plant_no_late_fixes()
{
  local last file line
  last=$(last_patch)
  read -r file line < <(perl ci/patch-lines.pl --new-lines "patches/$last" | head -n 1)
  [ -n "$line" ] || return 1
  mkdir patches/planted
  printf '%s\n' "Subject: planted" "" "--- a/$file" "+++ b/$file" \
    "@@ -$line +$((line - 1)),0 @@" "-planted" > patches/planted/late.patch
  echo "planted/late.patch" >> series
  echo "planted/late.patch removes from $file what $last added"
}

# The same line, altered under a header that allows it.
plant_altered_lines()
{
  plant_no_late_fixes > /dev/null
  echo "ALTERED_LINES in ci/check.sh is"
}

plant_version()
{
  sed -i 's/^MILLRACE_REVISION=.*/MILLRACE_REVISION=planted9/' VERSION
  echo "VERSION says planted9"
}

plant_no_local_names()
{
  echo "see $ROOT/notes" > planted.txt
  echo "planted.txt:1:"
}

plant_links()
{
  printf '\n[planted](doc/design.md#planted)\n' >> README.md
  echo '^README.md:[0-9]+: doc/design.md#planted: there is no such heading'
}

plant_shellcheck()
{
  # shellcheck disable=SC2016  # meant as it stands
  echo 'rm -r $planted' >> build.sh
  echo 'SC2086'
}

# As if whatever was skipped once were done.
plant_suite_results()
{
  sed -i 's/ && !(name in listed)) skipped/) skipped/' ci/test.sh
  echo "should be 's.t', is ''"
}

# One of each kind: all of them have to be found.
plant_variable_values()
{
  sed -i -e '/^| .thread_pool_stall_limit. /s/ 500 / 600 /' \
    -e 's/^- \*\*Values:\*\* default 10; 0 to 3600000 ms/- **Values:** default 10; 0 to 7200000 ms/' doc/variables.md
  echo "default of thread_pool_stall_limit: '600', but the server says '500'"
  echo "range of thread_pool_long_statement_limit: '0 to 7200000 ms', but the server says '0 to 3600000'"
}

plant_variable_list()
{
  sed -i -e '/^| .thread_pool_busy_limit. (ours)/d' -e '/^| .Threadpool_processors. /d' \
    -e 's/^[0-9]* variables are ours/99 variables are ours/' doc/variables.md
  echo "the overview does not have thread_pool_busy_limit"
  echo "the status variable Threadpool_processors is not described"
  echo "'99 variables are ours', but there are [0-9]"
}

plant_variable_links()
{
  sed -i 's/^## Processors$/## Planted/; s/^### Processors$/### Planted/' doc/variables.md
  sed -i '/^| .extra_port./s/ (off)/ (1)/' doc/variables.md
  echo "no heading for the link #processors"
  echo "footnotes in the table"
}

plant_kill_claims()
{
  sed -i '0,/^| row lock | 1927 closed | [0-9]* |/s//| row lock | 1927 closed | 987 |/' doc/kill.md
  echo "KILL CONNECTION, row lock: 987 ms, but 'In short' says 200 ms"
}

plant_packaged_settings()
{
  sed -i "/^| .thread_pool_high_prio_mode. (ours)/d" doc/variables.md
  echo 'adds thread_pool_high_prio_mode; doc/variables.md does not list it'
}

plant_monitoring()
{
  sed -i 's/threadpool_oldest_waiter_us/threadpool_planted/' packaging/grafana/millrace.json
  echo 'doc/variables.md does not describe Threadpool_planted'
}

plant_alerts()
{
  sed -i 's|/ 1e6 > 5$|/ 1e6 > 5000|' packaging/prometheus/millrace.rules.yml
  echo 'alertname="MillraceBlocked"'
}

plant_dockerfile()
{
  sed -i 's/^COPY /COPPY /' packaging/Dockerfile
  echo 'no instruction of a Dockerfile: COPPY'
}

# On the first base whose tarball is here; without any, on the first.
planted_base()
{
  local version
  for version in $(other_bases); do
    [ ! -e "$ROOT/build/$version/fetch/$(fact_of "$version" UPSTREAM_TARBALL)" ] || break
  done
  echo "$version"
}

planted_overlay() { find "bases/$(planted_base)/patches" -name '*.patch' | sort | head -n 1; }

plant_base_facts()
{
  sed -i '/^UPSTREAM_SHA256=/d' "bases/$(planted_base)/VERSION"
  echo "VERSION has no UPSTREAM_SHA256"
}

plant_base_skips()
{
  last_patch >> "bases/$(planted_base)/skip"
  echo "is skipped without a reason"
}

# A hunk that was lost, so that the rest is what it was before.
plant_base_overlays_differ()
{
  local overlay
  overlay=$(planted_overlay)
  { sed '/^--- /,$d' "$overlay"; sed -n '/^--- /,$p' "patches/${overlay#*/patches/}"; } > planted
  mv planted "$overlay"
  echo "equals its original"
}

plant_base_overlays_are_current()
{
  local overlay
  overlay=$(planted_overlay)
  sed -i '0,/^+[^+]/s/^+[^+].*/& planted/' "patches/${overlay#*/patches/}"
  echo "was made of another original"
}

# Other words in the first line of context: that would be fuzz.
plant_base_applies()
{
  perl -pi -e '$in= 1 if /^@@/; $done= s/^ .+/ planted/ if $in && !$done' "$(planted_overlay)"
  echo "does not apply"
}

plant_base_overlays_are_needed()
{
  local first
  first=$(first_patch)
  mkdir -p "bases/$(planted_base)/$(dirname "$first")"
  cp "$first" "bases/$(planted_base)/$first"
  echo "needs no overlay"
}

plant_base_starts()
{
  sed -i 's/^MILLRACE_REVISION=.*/MILLRACE_REVISION=planted9/' VERSION
  echo "not .*-MariaDB-planted9"
}

plant_abi() { echo 'millrace_planted'; }

# How a spoiled stack is checked: mostly by the check itself.
for name in series headers status tests_exist tests_of_prefixes unit_tests applies_exactly refresh_is_noop \
            no_binary_or_mode no_trailing_blanks no_late_fixes altered_lines version \
             no_local_names links shellcheck suite_results variable_values variable_list variable_links \
             kill_claims packaged_settings monitoring alerts dockerfile; do
  eval "spoiled_$name() { check_$name; }"
done

for name in $BASE_CHECKS; do
  name=${name//-/_}
  eval "spoiled_base_$name() { check_base_$name \"\$(planted_base)\"; }"
done

# The first server that is built here, be it the primary's.
spoiled_base_starts()
{
  local version
  for version in "$PRIMARY" $(other_bases); do
    ! is_built "$version" || break
  done
  check_base_starts "$version"
}

spoiled_pops_to_pristine()
{
  quilt() { command quilt "$@" && { [ "$1" != pop ] || touch planted; }; }
  check_pops_to_pristine
}

# One more member in THD, in a header that comes before the others.
spoiled_abi()
{
  local work status=0
  work=$(mktemp -d)
  sed 's/^class THD *:.*/&/; /^class THD *:/,/^{/s/^{/{ int millrace_planted;/' \
    "$STOCK_SRC/sql/sql_class.h" > "$work/sql_class.h"
  layouts_with "$STOCK_SRC" > "$work/stock" &&
    layouts_with "$STOCK_SRC" "$work" > "$work/spoiled" || status=1
  [ $status -ne 0 ] || compare_layouts "$work/stock" "$work/spoiled" || status=1
  rm -rf "$work"
  return $status
}
