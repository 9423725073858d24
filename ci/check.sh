# Step check: rules for the stack. Each check is a function check_NAME that
# prints what is wrong and returns non-zero if anything is. They look at the
# stack in $STACK, so that ci/check-selftest.sh can run them on spoiled copies.
# shellcheck shell=bash
# shellcheck source=ci/bases.sh
. "$ROOT/ci/bases.sh"
# For each of the other bases, in the order in which they build on each other.
BASE_CHECKS="facts skips overlays-differ overlays-are-current applies overlays-are-needed starts"
# shellcheck source=ci/check-selftest.sh
. "$ROOT/ci/check-selftest.sh"

STACK=$ROOT
CHECKS="series headers status tests-exist tests-of-prefixes unit-tests applies-exactly refresh-is-noop
  pops-to-pristine no-binary-or-mode no-trailing-blanks no-late-fixes altered-lines version
  no-local-names links shellcheck suite-results variable-values variable-list variable-links
  kill-claims packaged-settings monitoring alerts dockerfile abi"
# So many lines of one patch are removed again by a later one. Fold, and lower it.
ALTERED_LINES=98
CHECKS_PASSED=0 CHECKS_FAILED=0 CHECKS_SKIPPED=0
# The status of a check that could not be made; what it prints says why.
NOT_CHECKED=77

step_check()
{
  local name
  if [ -n "$BASE" ]; then
    check_base "$BASE"
    run_check abi check_abi
  else
    for name in $CHECKS; do run_check "$name" "check_${name//-/_}"; done
    run_check starts check_base_starts "$PRIMARY"
    for name in $(other_bases); do check_base "$name"; done
    for name in $CHECKS; do run_check "selftest of $name" self_test "$name"; done
    for name in $BASE_CHECKS; do run_check "selftest of a base's $name" self_test "base-$name"; done
  fi
  if [ "$COMPILE" = yes ]; then run_check compiles check_compiles; fi
  if [ "$EACH" = yes ]; then check_each; fi
}

check_base()
{
  local name
  for name in $BASE_CHECKS; do run_check "$1: $name" "check_base_${name//-/_}" "$1"; done
}

# run_check NAME COMMAND...
run_check()
{
  local name=$1 out status=0
  shift
  out=$("$@" 2>&1) || status=$?
  if [ $status -eq 0 ]; then
    say "ok $name"
    CHECKS_PASSED=$((CHECKS_PASSED + 1))
  elif [ $status -eq $NOT_CHECKED ]; then
    say "skipped $name: $out"
    CHECKS_SKIPPED=$((CHECKS_SKIPPED + 1))
  else
    say "FAILED $name:"
    [ -z "$out" ] || printf '    %s\n' "${out//$'\n'/$'\n'    }"
    CHECKS_FAILED=$((CHECKS_FAILED + 1))
  fi
}

report_checks()
{
  say "$CHECKS_PASSED passed, $CHECKS_FAILED failed, $CHECKS_SKIPPED skipped"
  [ "$CHECKS_FAILED" -eq 0 ] || exit 1
}

# Patches of the stack in order, those that exist.
stack_patches()
{
  local name
  for name in $(series_patches "$STACK/series"); do
    [ ! -e "$STACK/patches/$name" ] || echo "$name"
  done
}

# for_each_patch COMMAND: runs it with each patch's name; fails if any does.
for_each_patch()
{
  local name status=0
  for name in $(stack_patches); do "$1" "$name" || status=1; done
  return $status
}

# nothing TITLE COMMAND...: the command must print nothing. What it prints is
# shown under the title; its own status (grep's, diff's) says nothing.
nothing()
{
  local title=$1 found
  shift
  found=$("$@" || true)
  [ -n "$found" ] || return 0
  printf '%s\n%s\n' "$title" "$found"
  return 1
}

# --- series and headers ----------------------------------------------------

check_series()
{
  local lists status=0
  lists=$(mktemp -d)
  series_patches "$STACK/series" | sort > "$lists/series"
  ( cd "$STACK/patches" && find . -type f -printf '%P\n' ) | sort > "$lists/disk"
  sed 's|.*/||' "$lists/disk" | sort > "$lists/names"

  [ -s "$lists/series" ] || { echo "series is empty"; status=1; }
  nothing "in series, but not in patches/:" \
    comm -23 "$lists/series" "$lists/disk" || status=1
  nothing "in patches/, but not in series:" \
    comm -13 "$lists/series" "$lists/disk" || status=1
  nothing "more than once in series:" uniq -d "$lists/series" || status=1
  nothing "base names that are not unique:" uniq -d "$lists/names" || status=1
  nothing "not of the form area/what.patch:" \
    grep -vxE '[a-z0-9-]+/[a-z0-9.-]+\.patch' "$lists/series" || status=1
  rm -rf "$lists"
  return $status
}

# Everything before the diff.
header_of() { sed '/^\(--- \|diff \|Index: \)/,$d' "$STACK/patches/$1"; }

# field_of PATCH FIELD: its value, continuation lines joined.
field_of()
{
  header_of "$1" | awk -v field="$2:" '
    index($0, field) == 1 { on = 1; print substr($0, length(field) + 2); next }
    on && /^[ \t]+[^ \t]/ { print; next }
    { on = 0 }' | tr -s ' \t\n' ' ' | sed -e 's/^ //' -e 's/ $//'
}

check_headers() { for_each_patch check_header; }

check_header()
{
  local field value wrong=''
  for field in From Subject Forwarded Last-Update Surface Tests; do
    [ -n "$(field_of "$1" $field)" ] || wrong+="  no $field:"$'\n'
  done
  value=$(field_of "$1" Subject)
  [ ${#value} -le 72 ] || wrong+="  Subject: has ${#value} characters, more than 72"$'\n'
  value=$(field_of "$1" Forwarded)
  [[ -z $value || $value =~ ^(no|not-needed|https://[^ ]+)$ ]] ||
    wrong+="  Forwarded: is neither no, nor not-needed, nor a URL"$'\n'
  value=$(field_of "$1" Last-Update)
  [ -z "$value" ] || { [[ $value =~ ^[0-9]{4}-[0-9]{2}-[0-9]{2}$ ]] &&
                       date -d "$value" > /dev/null 2>&1; } ||
    wrong+="  Last-Update: is no date like 2026-01-31"$'\n'
  header_of "$1" | sed '/^[A-Z][A-Za-z-]*: /d' | grep '[a-z]' > /dev/null ||
    wrong+="  no text that explains it"$'\n'
  [ -z "$wrong" ] || { printf '%s:\n%s' "$1" "$wrong"; return 1; }
}

# What series says behind each patch of fix/ is what its header says.
check_status()
{
  local name said status=0
  for name in $(stack_patches | grep '^fix/'); do
    said=$(sed -n "s|^$name *# *||p" "$STACK/series")
    [ "$said" = "$(status_of "$name")" ] ||
      { echo "series says '$said' about $name, its header '$(status_of "$name")'"; status=1; }
  done
  return $status
}

status_of()
{
  case $(field_of "$1" Forwarded),$(field_of "$1" Tests) in
    no,none*) echo "ready, no test" ;;
    no,*)     echo ready ;;
    http*)    echo sent ;;
    *)        echo "not to be sent" ;;
  esac
}

check_tests_exist() { for_each_patch check_tests_of_patch; }

# Tests: thread_pool.x, main.y, unit:z   or   none (and why)
check_tests_of_patch()
{
  local value test status=0
  value=$(field_of "$1" Tests)
  if [[ $value == none* ]]; then
    [[ $value =~ ^none[[:punct:][:space:]]+[a-z] ]] && return 0
    echo "$1: Tests: none, without a reason"
    return 1
  fi
  for test in ${value//,/ }; do
    test_exists "$test" || { echo "$1: there is no test $test"; status=1; }
  done
  return $status
}

# In our suite, upstream, or made by a patch.
test_exists()
{
  local suite=${1%%.*} name=${1#*.} file
  case $1 in
    unit:*)  name=${1#unit:}
             stack_or_upstream_has "unittest/sql/${name%-t}-t.cc"
             return ;;
    main.*)  stack_or_upstream_has "mysql-test/main/$name.test"
             return ;;
    *.*)     ;;
    *)       return 1 ;;
  esac
  for file in "$STACK/mysql-test/suite/$suite/t/$name.test" \
              "$STOCK_SRC"/{storage,plugin}/*/mysql-test/"$suite/t/$name.test"; do
    [ ! -e "$file" ] || return 0
  done
  stack_or_upstream_has "mysql-test/suite/$suite/t/$name.test"
}

stack_or_upstream_has()
{
  [ -e "$STOCK_SRC/$1" ] ||
    patch_lines --files | grep -xF -- "$1" > /dev/null
}

# A test of ours is named by some patch, and by none that comes before the one that adds a name which the test uses:
# --each runs it when that patch is the last one.
check_tests_of_prefixes()
{
  local patches
  mapfile -t patches < <(stack_patches)
  perl "$ROOT/ci/check-prefixes.pl" "$STOCK_SRC" "$STACK" "${patches[@]}"
}

check_unit_tests() { in_scratch unit_tests_are_run; }

# Each unit test that the stack adds is one that "./build.sh test" runs, and one that
# a patch names, so that --each runs it.
unit_tests_are_run()
{
  local name run named status=0
  quilt push -a > /dev/null 2>&1 || { echo "quilt push -a fails"; return 1; }
  run=$(our_unit_tests ../pristine .)
  named=$(for_each_patch tests_of)
  for name in $(patch_lines --files | sed -nE 's|^unittest/sql/(.*)-t\.cc?$|\1|p'); do
    [ ! -e "../pristine/unittest/sql/$name-t.cc" ] || continue
    grep -qxF -- "$name" <<< "$run" ||
      { echo "unittest/sql/CMakeLists.txt has no MY_ADD_TESTS for $name: it is never run"; status=1; }
    grep -qwF -- "unit:$name" <<< "$named" ||
      { echo "no patch names unit:$name in Tests:"; status=1; }
  done
  [ -n "$run" ] || { echo "there is no unit test"; status=1; }
  return $status
}

tests_of() { field_of "$1" Tests; echo; }

# --- application -----------------------------------------------------------

# in_scratch COMMAND: runs it in a throw-away tree with the pristine files that
# the stack touches and a copy of the patches, so that even a refresh is safe.
in_scratch()
{
  local scratch file status=0
  scratch=$(mktemp -d)
  while IFS= read -r file; do
    [ -e "$STOCK_SRC/$file" ] || continue
    mkdir -p "$scratch/pristine/$(dirname "$file")"
    cp -p "$STOCK_SRC/$file" "$scratch/pristine/$file"
  done < <(patch_lines --files)
  mkdir -p "$scratch/pristine"
  cp -a "$scratch/pristine" "$scratch/tree"
  cp -a "$STACK/patches" "$STACK/series" "$scratch/tree/"
  ( cd "$scratch/tree" && "$@" ) || status=1
  rm -rf "$scratch"
  return $status
}

check_applies_exactly() { in_scratch push_exactly; }

push_exactly()
{
  local name out status=0
  for name in $(stack_patches); do
    if ! out=$(quilt push 2>&1); then
      printf '%s does not apply:\n%s\n' "$name" "$(grep -E 'Hunk|patching' <<< "$out")"
      return 1
    fi
    nothing "$name applies, but not exactly:" grep -E 'offset|fuzz' <<< "$out" ||
      status=1
  done
  return $status
}

check_refresh_is_noop() { in_scratch refresh_each; }

refresh_each()
{
  local name status=0
  for name in $(stack_patches); do
    quilt push > /dev/null 2>&1 || { echo "$name does not apply"; return 1; }
    quilt refresh > /dev/null 2>&1 || { echo "$name: refresh failed"; status=1; }
    nothing "$name changes when refreshed:" \
      diff -u "$STACK/patches/$name" "patches/$name" || status=1
  done
  return $status
}

check_pops_to_pristine() { in_scratch push_and_pop; }

push_and_pop()
{
  quilt push -a > /dev/null 2>&1 || { echo "quilt push -a fails"; return 1; }
  quilt pop -a > /dev/null 2>&1 || { echo "quilt pop -a fails"; return 1; }
  nothing "differs from the pristine tree after push and pop:" \
    diff -r --exclude=.pc --exclude=patches --exclude=series ../pristine .
}

# --- content of the patches ------------------------------------------------

BINARY_OR_MODE='^(GIT binary patch|Binary files |old mode |new mode |(new|deleted) file mode (120|1007))'

check_no_binary_or_mode()
{
  nothing "binary or mode changes:" grep -rnE "$BINARY_OR_MODE" "$STACK/patches"
}

# patch_lines OPTION...: ci/patch-lines.pl for the whole stack.
patch_lines()
{
  ( cd "$STACK/patches" &&
    stack_patches | xargs -r perl "$ROOT/ci/patch-lines.pl" "$@" )
}

check_no_trailing_blanks() { nothing "added lines that end in blanks:" trailing_blanks; }

# Upstream's result files end lines in blanks, so those may.
trailing_blanks()
{
  patch_lines --added |
    awk -F'\t' '$2 !~ /\.(result|rdiff)$/ && $3 ~ /[ \t]$/ { print $1 ": " $2 }'
}

check_no_late_fixes() { nothing "fold these into the earlier patch:" late_fixes; }

# A line that an earlier patch added is changed there, not later. Where it has
# to be, the header says so: "Alters: area/what.patch reason".
late_fixes()
{
  local patch earlier file text
  patch_lines --alters "$STOCK_SRC" |
    while IFS=$'\t' read -r patch earlier file text; do
      header_of "$patch" | grep "^Alters: $earlier [a-zA-Z]" > /dev/null ||
        echo "$patch removes from $file what $earlier added: $text"
    done
}

# The number of those lines is held: a change of the stack should not add to it, and one
# that makes them fewer says so.
check_altered_lines()
{
  local count
  count=$(patch_lines --alters "$STOCK_SRC" | wc -l)
  [ "$count" -ne $ALTERED_LINES ] || return 0
  echo "$count lines that a patch adds are removed by a later one; ALTERED_LINES in ci/check.sh is $ALTERED_LINES"
  [ "$count" -gt $ALTERED_LINES ] || echo "they have become fewer: write down the new number"
  return 1
}

# --- the project -----------------------------------------------------------

check_version()
{
  local revision patch=$STACK/patches/dist/version-suffix.patch
  revision=$(sed -n 's/^MILLRACE_REVISION=//p' "$STACK/VERSION")
  [ -n "$revision" ] || { echo "no MILLRACE_REVISION in VERSION"; return 1; }
  grep -q "^+.*$revision\b" "$patch" ||
    { echo "VERSION says $revision, $patch does not"; return 1; }
}

# Every file of the project, known to git or not, but none of build/.
project_files()
{
  ( cd "$STACK" &&
    if [ -e .git ] && have git; then git ls-files -co --exclude-standard
    else find . -path ./build -prune -o -type f -printf '%P\n'; fi ) |
    while IFS= read -r file; do [ ! -f "$STACK/$file" ] || echo "$file"; done
}

check_no_local_names() { nothing "names of a machine:" local_names_used; }

# Nothing that is true on one machine only: its directories, and the hosts that
# its apt is set to use.
local_names_used()
{
  ( cd "$STACK" && project_files | grep -vx COPYING |
      xargs -d '\n' grep -nE -e "$(local_names)" -- /dev/null )
}

local_names()
{
  local before='(^|[^[:alnum:]_.$}/-])'
  printf '%s\n' "$before/(home|roo[t])/[[:alnum:]_.]" "$before${ROOT//./[.]}(/|\$)"
  if have apt-config; then
    # Commented out as well: it was in use once. Upstream's hosts are ours too.
    { apt-config dump | grep -iE 'proxy|mirror'
      cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null
    } | grep -oE '[a-z]+://[^/ "]+' |
      sed -e 's|.*://||' -e 's|.*@||' -e '/mariadb/d' -e 's/[.]/[.]/g' | sort -u
  fi
}

check_links() { nothing "links that lead nowhere:" dead_links; }

# Links of the documents to files of the project, and to headings in them.
dead_links()
{
  project_files | grep '\.md$' | xargs -d '\n' perl "$ROOT/ci/check-links.pl" "$STACK" 2>&1
}

check_shellcheck()
{
  have shellcheck || { echo "no shellcheck here"; return 1; }
  ( cd "$STACK" && shellcheck -x -a build.sh .ci/run bench/test/*.sh tptop/test/*.sh &&
    shellcheck -x ci/test-packages ci/stress ci/kill-table ci/rebase ci/upstream packaging/millrace-server packaging/debian/*.post* \
      packaging/rpm/mariadb-prepare-db-dir packaging/prometheus/check-metrics &&
    shellcheck -s sh packaging/debian/restart.sh )
}

# --- doc/variables.md --------------------------------------------------------

# Defaults and ranges are those of the server, as the results of its tests have them; what
# there is, is described, and is counted right in all documents; links lead somewhere.
check_variable_values() { in_scratch compare_variables values; }
check_variable_list()   { in_scratch compare_variables list; }
check_variable_links()  { in_scratch compare_variables links; }

compare_variables()
{
  local tree=$PWD
  quilt push -a > /dev/null 2>&1 || { echo "quilt push -a fails"; return 1; }
  cd "$STACK" || return 1
  project_files | grep '\.md$' | grep -vx doc/variables.md |
    xargs -d '\n' perl "$ROOT/ci/check-variables.pl" "$1" "$tree" "$tree/../pristine" doc/variables.md
}

# --- doc/kill.md ----------------------------------------------------------------

check_kill_claims() { perl "$ROOT/ci/check-kill.pl" "$STACK/doc/kill.md"; }

# --- packaging -------------------------------------------------------------

# The configuration file of the packages is made from doc/variables.md; so each
# variable that a patch says it adds has to be there. extra_socket is set, and each
# comment with a setting has a value, so that it can be uncommented as it stands.
check_packaged_settings()
{
  local config name status=0
  config=$(perl "$STACK/packaging/make-config.pl" "$STACK/doc/variables.md" here /run/here.sock) || return 1
  for name in $(for_each_patch surface_of | grep -oE '\b(thread_pool|extra)_[a-z_]+' | sort -u); do
    grep -q "^#\?loose_$name =" <<< "$config" ||
      { echo "a patch adds $name; doc/variables.md does not list it as ours"; status=1; }
  done
  grep -qx 'loose_extra_socket = /run/here.sock' <<< "$config" || { echo "extra_socket is not set"; status=1; }
  nothing "settings without a value:" grep -E '^#?[a-z_]+ =[[:blank:]]*(#|$)' <<< "$config" || status=1
  return $status
}

# The variables in a patch's "Surface: sysvar a, b; status c".
surface_of() { field_of "$1" Surface | tr ';' '\n' | grep -i 'sysvar' || true; }

# The alert rules and the dashboard: what they use is described, and the dashboard is what Grafana reads.
check_monitoring()
{
  local dir=$STACK/packaging name status=0
  for name in $(watched_variables); do
    grep -q "\`$name\`" "$STACK/doc/variables.md" ||
      { echo "doc/variables.md does not describe $name"; status=1; }
  done
  perl "$dir/grafana/check-dashboard" || status=1
  return $status
}

# The alert rules are what Prometheus reads, and come when they should. It needs 100 MB, so deps does not install it.
check_alerts()
{
  have promtool || { echo "promtool is not here (Debian's package prometheus)"; return $NOT_CHECKED; }
  cd "$STACK/packaging/prometheus" && promtool check rules millrace.rules.yml &&
    promtool test rules millrace.rules.test.yml
}

# Status variables behind the names that mysqld_exporter gives them.
watched_variables()
{
  grep -ohE 'mysql_global_status_threadpool_[a-z_]*[a-z]' "$STACK/packaging/prometheus/millrace.rules.yml" \
    "$STACK/packaging/grafana/millrace.json" | sed -e 's/mysql_global_status_t/T/' -e '/held_by$/d' | sort -u
}

DOCKER_INSTRUCTIONS="FROM ARG COPY RUN VOLUME EXPOSE USER STOPSIGNAL HEALTHCHECK CMD ENV ENTRYPOINT WORKDIR LABEL"

# As far as it goes without an engine: instructions, JSON arrays, the shell
# commands, and the version that it is for.
check_dockerfile()
{
  local file=$STACK/packaging/Dockerfile word rest status=0 first=''
  while read -r word rest; do
    [ -n "$first" ] || first=$word
    [[ " $DOCKER_INSTRUCTIONS " == *" $word "* ]] ||
      { echo "no instruction of a Dockerfile: $word"; status=1; }
    case $word in
      RUN) bash -n <<< "$rest" || status=1 ;;
      CMD|HEALTHCHECK|ENTRYPOINT)
        [[ $rest != *'['* ]] || perl -MJSON::PP -e 'decode_json($ARGV[0])' "${rest#CMD }" ||
          { echo "not a JSON array: $rest"; status=1; } ;;
    esac
  done < <(sed -e '/^#/d' -e '/^$/d' "$file" | sed -e ':a' -e '/\\$/{N;s/\\\n//;ba' -e '}')
  [ "$first" = FROM ] || { echo "it does not begin with FROM"; status=1; }
  grep -qx "ARG BASE=$(sed -n 's/^DEBIAN_VERSION=//p' "$STACK/VERSION")" "$file" ||
    { echo "ARG BASE is not DEBIAN_VERSION of VERSION"; status=1; }
  return $status
}

# --- ABI -------------------------------------------------------------------

ABI_TYPES="THD system_variables handler TABLE st_net"

check_abi()
{
  have pahole || { echo "no pahole here"; return 1; }
  prepare_headers || return 1
  local work status=0
  work=$(mktemp -d)
  layouts_with "$STOCK_SRC" > "$work/stock" &&
    layouts_with "$SRC" > "$work/patched" &&
    compare_layouts "$work/stock" "$work/patched" || status=1
  rm -rf "$work"
  return $status
}

compare_layouts()
{
  nothing "the layout differs between stock (-) and patched headers (+):" \
    diff -U 2 "$1" "$2"
}

# The patched tree, and the headers that the build generates.
prepare_headers()
{
  FLAVOUR=release
  ( step_source && configure release src &&
    compile release cmake_object_order_depends_target_sql ) > "$LOGS/abi.log" 2>&1 ||
    { tail -n 20 "$LOGS/abi.log"; return 1; }
}

# layouts_with TREE [DIR]: the layouts with TREE's headers, those in DIR first.
# The flags are those that the server itself is compiled with; without the last
# one, gcc describes a class only where its virtual functions are compiled.
layouts_with()
{
  local release=$BUILD/release object words flags=() word skip=no status=0
  object=$(mktemp)
  read -r -a words < <(ninja -C "$release" -t commands \
                         sql/CMakeFiles/sql.dir/sql_class.cc.o | tail -n 1)
  for word in "${words[@]}"; do
    if [ $skip = yes ]; then skip=no; continue; fi
    case $word in
      -o|-c|-MT|-MF) skip=yes ;;
      -I*|-D*|-f*|-std=*|-m*) flags+=("${word/"$release/source"/$1}") ;;
    esac
  done
  g++ ${2:+"-I$2"} "${flags[@]}" -w -g -femit-class-debug-always \
    -c "$ROOT/ci/abi.cc" -o "$object" &&
    print_layouts "$object" || status=1
  rm -f "$object"
  return $status
}

# Data members with their offsets, and the virtual functions; other member
# functions are no part of the layout, nor are the access labels between them.
print_layouts()
{
  local type layout
  for type in $ABI_TYPES; do
    layout=$(pahole -M -C "$type" "$1" 2> /dev/null)
    [ -n "$layout" ] || { echo "pahole finds no $type" >&2; return 1; }
    sed -e '/^[a-z]*:$/d' -e '/^[[:space:]]*$/d' <<< "$layout"
    pahole -C "$type" "$1" 2> /dev/null | sed -n '/vtable has/,/} \*\//p'
  done
}

# --- what the stack touches compiles -------------------------------------------

# touched_objects: the object files of the release flavour that are compiled from files
# which the stack touches.
touched_objects()
{
  local objects
  objects=$(mktemp)
  # Each target twice: as ninja calls it, and as its source is called.
  ninja -C "$BUILD/release" -t targets all | sed -n 's/\.o: .*//p' |
    sed -E 'h; s|CMakeFiles/[^/]+\.dir/||; :up; s|[^/]+/__/||; t up; G; s|\n| |' | sort > "$objects"
  files_of_this_stack | grep -E '\.(c|cc|cpp)$' | sort |
    join -o 1.2 "$objects" - | sed 's/$/.o/'
  rm -f "$objects"
}

files_of_this_stack()
{
  local name
  for name in $(stack_names); do patch_file "$name"; done |
    xargs perl "$ROOT/ci/patch-lines.pl" --files | sort -u
}

# Not the whole server, which takes much longer, and is not linked.
check_compiles()
{
  local objects
  prepare_headers || return 1
  mapfile -t objects < <(touched_objects)
  [ ${#objects[@]} -gt 0 ] || { echo "no object is compiled from what the stack touches"; return 1; }
  compile release -k 0 "${objects[@]}" > "$LOGS/compiles.log" 2>&1 ||
    { grep -E 'error:|FAILED|build.sh:' "$LOGS/compiles.log" | head -n 40; return 1; }
}

# --- the results of a suite --------------------------------------------------

# What ci/test.sh takes for a test without a result, given mtr's list and its output.
check_suite_results()
{
  local state status=0
  state=$(mktemp -d)
  # shellcheck source=/dev/null
  ( . "$STACK/ci/test.sh" && suite_result_cases ) || status=1
  rm -rf "$state"
  return $status
}

# Listed, printed, left
suite_result_cases()
{
  local status=0
  expect_left "s.t"             "s.t         [ pass ]  1"                      ""    || status=1
  expect_left "s.t"             "s.u         [ pass ]  1"                      "s.t" || status=1
  expect_left "s.t 'a'|s.t 'b'" "s.t 'a' w1  [ pass ]  1"                      "s.t" || status=1
  expect_left "s.t 'a'|s.t 'b'" "s.t 'a' w1  [ pass ]  1|s.t 'b' w2  [ fail ]" ""    || status=1
  # The test itself skips one; the other was not run.
  expect_left "s.t 'a'|s.t 'b'" "s.t 'a' w1  [ skipped ]  Not here"            "s.t" || status=1
  # mtr skips the whole test, and names as many combinations as it has seen by then.
  expect_left "s.t 'a'|s.t 'b'"     "s.t      [ skipped ]  Requires debug build" ""  || status=1
  expect_left "s.t"                 "s.t 'a'  [ skipped ]  Requires debug build" ""  || status=1
  expect_left "s.t 'a,c'|s.t 'b,c'" "s.t 'c'  [ skipped ]  Requires debug build" ""  || status=1
  expect_left "s.t 'a'|s.t 'b'|s.u" "s.t 'c'  [ skipped ]  Requires debug build" "s.u" || status=1
  # Two that print at the same time
  expect_left "s.t|s.u"         "s.t         s.u  w1 [ pass ]  1"              "s.u" || status=1
  # mtr ended with an error: does the result of a test say why?
  expect_why "s.t [ fail ]|Completed: Failed 1/1 tests"                       ""     || status=1
  expect_why "s.t [ fail ]|s.t [ retry-pass ] 1|Completed: Failed 2/2 tests"  ""     || status=1
  expect_why "s.t [ pass ] 1|Completed: All 1 tests were successful."         "fail mtr ended with status 1" ||
    status=1
  expect_why "s.t [ fail ]|s.t [ retry-pass ] 1|Timeout: Failed 2/2 tests"    "fail mtr ended with status 1" ||
    status=1
  expect_why "s.t [ fail ]|s.t [ retry-pass ] 1|***Warnings generated in error logs during shutdown after running tests: s.t|Completed: Failed 2/2 tests" \
    "fail warnings of a server at its shutdown, after s.t" || status=1
  return $status
}

# expect_why PRINTED WHY: lines are divided by |.
expect_why()
{
  local why
  tr '|' '\n' <<< "$1" > "$state/log"
  why=$(why_mtr_failed "$state/log" 1)
  [ "$why" = "$2" ] || { echo "printed $1: mtr's failure should be '$2', is '$why'"; return 1; }
}

# expect_left LISTED PRINTED LEFT: lines are divided by |.
expect_left()
{
  local left
  tr '|' '\n' <<< "$1" > "$state/tests"
  tr '|' '\n' <<< "$2" > "$state/log"
  results_of "$state/log" > "$state/results"
  left=$(tests_left "$state/results")
  [ "$left" = "$3" ] || { echo "listed $1, printed $2: without a result should be '$3', is '$left'"; return 1; }
}

# --- other bases ---------------------------------------------------------------

# Each check_base_NAME VERSION looks at $STACK/bases/VERSION.

BASE_FACTS="UPSTREAM_VERSION UPSTREAM_TARBALL UPSTREAM_SHA256 UPSTREAM_KEY_FINGERPRINT
  DEBIAN_SOURCE DEBIAN_VERSION DEBIAN_SUITE"

check_base_facts()
{
  local file=$STACK/bases/$1/VERSION key status=0
  for key in $BASE_FACTS; do
    grep -q "^$key=." "$file" || { echo "VERSION has no $key"; status=1; }
  done
  grep -qxF "UPSTREAM_VERSION=$1" "$file" ||
    { echo "VERSION is of another release than $1"; status=1; }
  return $status
}

check_base_skips()
{
  local file=$STACK/bases/$1/skip name reason status=0
  [ -e "$file" ] || { echo "there is no file skip; it may be empty"; return 1; }
  while read -r name reason; do
    series_patches "$STACK/series" | grep -xF -- "$name" > /dev/null ||
      { echo "$name is not in series"; status=1; }
    [[ $reason == *[a-z]* ]] || { echo "$name is skipped without a reason"; status=1; }
  done < <(series_patches "$file")
  return $status
}

# overlays_of VERSION: names of its own patches
overlays_of()
{
  ( cd "$STACK/bases/$1" && { [ ! -d patches ] || find patches -type f -printf '%P\n'; } ) | sort
}

# Each is a patch of the stack, with a header like any other, and not a copy of its original.
check_base_overlays_differ()
{
  local name own status=0
  for name in $(overlays_of "$1"); do
    own=$STACK/bases/$1/patches/$name
    series_patches "$STACK/series" | grep -xF -- "$name" > /dev/null ||
      { echo "$name is not in series"; status=1; continue; }
    ! skipped_patches "$STACK/bases/$1/skip" | grep -xF -- "$name" > /dev/null ||
      { echo "$name is skipped, so it needs no overlay"; status=1; }
    check_header "../bases/$1/patches/$name" || status=1
    ! cmp -s <(diff_part "$own") <(diff_part "$STACK/patches/$name") ||
      { echo "$name equals its original"; status=1; }
  done
  nothing "binary or mode changes:" grep -rnE "$BINARY_OR_MODE" "$STACK/bases/$1" || status=1
  return $status
}

diff_part() { sed -n '/^\(--- \|diff \|Index: \)/,$p' "$1"; }

# What has changed in the original since has to come into the overlay as well.
check_base_overlays_are_current()
{
  local name status=0
  for name in $(overlays_of "$1"); do
    [ -e "$STACK/patches/$name" ] || continue
    overlay_is_current "$STACK/bases/$1/patches/$name" "$STACK/patches/$name" ||
      { echo "$name was made of another original than the present one: ci/rebase $1"; status=1; }
  done
  return $status
}

check_base_applies()          { in_base "$1" push_on_base "$1" applies; }
check_base_overlays_are_needed() { in_base "$1" push_on_base "$1" needed; }

# in_base VERSION COMMAND...: runs it in a throw-away tree with those files of that release
# that the stack touches.
in_base()
{
  local version=$1 work files file status=0
  shift
  work=$(mktemp -d)
  files_of_stack "$STACK" "$STACK/bases/$version" > "$work/files"
  files=$(pristine_files "$version" "$work/files") || status=$?
  if [ $status -ne 0 ]; then
    rm -rf "$work"
    [ $status -ne 2 ] || return 1
    echo "not checked: no tarball ($(in_root "$(fetch_once_log "$version")") says why)"
    return $NOT_CHECKED
  fi
  mkdir "$work/tree"
  while IFS= read -r file; do
    [ -e "$files/$file" ] || continue
    mkdir -p "$work/tree/$(dirname "$file")"
    cp -p "$files/$file" "$work/tree/$file"
  done < "$work/files"
  ( cd "$work/tree" && "$@" ) || status=1
  rm -rf "$work"
  return $status
}

# push_on_base VERSION applies|needed: each patch has to apply without fuzz; offsets are
# allowed. And an overlay is only there where its original would not apply, or says why.
push_on_base()
{
  local name own original out status=0
  for name in $(series_patches "$STACK/series" |
                  grep -vxFf <(skipped_patches "$STACK/bases/$1/skip")); do
    original=$STACK/patches/$name
    own=$STACK/bases/$1/patches/$name
    [ -e "$original" ] || continue
    if [ ! -e "$own" ]; then
      own=$original
    elif [ "$2" = needed ] && [ -z "$(overlay_field "$own" Overlay)" ] &&
         patch -p1 --fuzz=0 --dry-run -f < "$original" > /dev/null 2>&1; then
      echo "$name needs no overlay: the original would apply here"
      status=1
    fi
    if ! out=$(patch -p1 --fuzz=0 -f -E --no-backup-if-mismatch < "$own" 2>&1); then
      [ "$2" = applies ] || return $status
      printf '%s does not apply:\n%s\n' "$name" "$(grep -B 1 'FAILED\|find file' <<< "$out")"
      return 1
    fi
  done
  return $status
}

# Its server comes up with the pool and a way in beside it, and is the one that it should be:
# READ_ONLY variables of ours are in the right section, for instance.
check_base_starts()
{
  local found wanted
  is_built "$1" || { echo "its release flavour is not built, or of another stack"; return $NOT_CHECKED; }
  wanted=$1-MariaDB-$(sed -n 's/^MILLRACE_REVISION=//p' "$STACK/VERSION")
  found=$(version_of_started "$1") || { echo "${found:-it said nothing}"; return 1; }
  [[ ${found##*$'\n'} == "$wanted"* ]] || { echo "the server is $found, not $wanted"; return 1; }
}

# version_of_started VERSION: starts that base's server on new data, asks it by its extra_socket, and stops it.
# In a subshell, which stops it however it ends.
version_of_started()
{
  local BUILD=$ROOT/build/$1 port extra_port socket
  [ "$1" != "$PRIMARY" ] || BUILD=$ROOT/build
  local LOGS=$BUILD/log RUN=$BUILD/starts dir=$BUILD/release
  local PID_FILE=$RUN/mariadbd.pid server=$dir/sql/mariadbd
  rm -rf "$RUN"
  mkdir -p "$LOGS" "$RUN"
  chmod 700 "$RUN"
  trap 'stop_server > /dev/null' EXIT
  socket=$(socket_path "$RUN")
  make_data_directory "$RUN/data" > /dev/null
  link_plugins "$RUN/plugins"
  choose_port $((FIRST_PORT + 500)) > /dev/null
  extra_port=$port
  choose_port $((port + 1)) > /dev/null
  start_server --extra-port="$extra_port" --extra-bind-address=127.0.0.1 --extra-socket="$socket.extra"
  socket=$socket.extra
  ask 'select version()'
  stop_server > /dev/null
  rm -rf "$RUN"
}

# --- every prefix of the stack ---------------------------------------------

# Applying the first n patches must build, and pass the tests of the n-th. The
# output is shown, since it takes long.
check_each()
{
  local name n=0 begun=no
  if [ -z "$EACH_FROM" ]; then begun=yes; fi
  for name in $(stack_patches); do
    n=$((n + 1))
    if [ "$name" = "$EACH_FROM" ]; then begun=yes; fi
    if [ $begun = no ]; then continue; fi
    if ( check_prefix "$n" "$name" ); then
      say "ok first $n patches, to $name"
      CHECKS_PASSED=$((CHECKS_PASSED + 1))
    else
      say "FAILED first $n patches, to $name"
      CHECKS_FAILED=$((CHECKS_FAILED + 1))
    fi
  done
}

# targets_of_prefix PATCH: what its tests need, to give to ninja. That is the server, the clients and plugins, and its
# own unit tests. Left out are other engines, other unit tests and, but for Galera, mariabackup: each of these
# programs is linked with the server, and would be linked again for each prefix.
targets_of_prefix()
{
  local test
  printf '%s\n' {sql,client,scripts,mysql-test,libmariadb}/all \
    extra/{perror,replace,my_print_defaults,resolveip,innochecksum}
  ninja -C "$BUILD/each" -t targets all | sed -nE 's|^(plugin/[^/]+/all): phony$|\1|p'
  for test in $(field_of "$1" Tests | sed -e 's/^none.*//' -e 's/,/ /g'); do
    case $test in
      unit:*)   test=${test#unit:}; echo "unittest/sql/${test%-t}-t" ;;
      *galera*) echo extra/mariabackup/mariadb-backup ;;
    esac
  done | sort -u
}

check_prefix()
{
  local series=$STATE/each.series dir=$BUILD/each tests=() test targets
  say "--- first $1 patches, to $2"
  stack_names | head -n "$1" > "$series"
  DISCARD=yes FLAVOUR=each
  sync_tree "$BUILD/each-src" "$series"
  configure release each-src each
  mapfile -t targets < <(targets_of_prefix "$2")
  compile each "${targets[@]}"

  RESULTS=$LOGS/test-each.results
  : > "$RESULTS"
  for test in $(field_of "$2" Tests | sed -e 's/^none.*//' -e 's/,/ /g'); do
    case $test in
      unit:*) run_unit_test "${test#unit:}" ;;
      *)      tests+=("$test") ;;
    esac
  done
  [ ${#tests[@]} -eq 0 ] || run_mtr each "${tests[@]}"
  remove_vardirs
  [ "$(count fail)" -eq 0 ]
}
