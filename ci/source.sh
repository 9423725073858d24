# Step source: build/stock-src, the pristine tree, and build/src, the same tree
# with the stack applied.
#
# The stack is applied in a "stage" first, a small tree that holds only the
# files which the stack touches. Then only those files of build/src are written
# whose content has to change, so that ninja rebuilds only what they touch, and
# nothing is written at all while a patch does not apply or while build/src
# holds edits that are in no patch.
#
# Per tree, build/state/TREE/ holds
#   stage/     the stage with its quilt state
#   staged     the files that were considered for the stage
#   applied    sha256 and name of each patch, as applied in the stage
#   in-tree    the patches that are applied in the tree, as we left it
#   manifest   sha256 and path of each file that we ever wrote into the tree
#              ("-" for: removed), as we wrote it last
# shellcheck shell=bash

step_unpack()
{
  local stamp=$STATE/stock-src
  if [ -d "$STOCK_SRC" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$UPSTREAM_SHA256" ]; then
    note "pristine tree: already unpacked"
    return
  fi
  need_space 1700 "the source trees"
  note "pristine tree: unpacking"
  rm -rf "$STOCK_SRC.new" "$stamp"
  mkdir "$STOCK_SRC.new"
  STEP_LOG=$LOGS/unpack.log
  if ! tar -xzf "$TARBALL_FILE" --strip-components=1 --no-same-owner \
         -C "$STOCK_SRC.new" 2> "$STEP_LOG"; then
    head -n 3 "$STEP_LOG" >&2
    die "unpacking $(in_root "$TARBALL_FILE") failed"
  fi
  [ ! -e "$STOCK_SRC.new/$SUITE" ] ||
    die "upstream has a $SUITE of its own now; rename ours"
  rm -rf "$STOCK_SRC"
  mv "$STOCK_SRC.new" "$STOCK_SRC"
  link_suite "$STOCK_SRC"
  echo "$UPSTREAM_SHA256" > "$stamp"
}

step_source()
{
  step_unpack
  sync_tree "$SRC" "$(series_file)"
}

# The series of this base; another one's is the primary's without what it skips.
series_file()
{
  [ -n "$BASE" ] || { echo "$ROOT/series"; return; }
  mkdir -p "$STATE"
  stack_names > "$STATE/series.new"
  mv "$STATE/series.new" "$STATE/series"
  echo "$STATE/series"
}

# patches_for DIR: the link "patches" in DIR, for quilt. For another base than the primary
# it is a directory with links to its own patches, and copies of the primary's: quilt refresh would
# follow a link, and put this base's offsets into the patch of all.
patches_for()
{
  local name link
  if [ -z "$BASE" ]; then
    ln -sfn "$(realpath --relative-to="$1" "$ROOT/patches")" "$1/patches"
    return
  fi
  rm -rf "$BUILD/patches.new"
  for name in $(stack_names); do
    link=$BUILD/patches.new/$name
    mkdir -p "$(dirname "$link")"
    if [ -e "$BASE_DIR/patches/$name" ]; then
      ln -s "$(realpath -m --relative-to="$BUILD/patches/$(dirname "$name")" "$BASE_DIR/patches/$name")" "$link"
    else
      cp "$ROOT/patches/$name" "$link"
    fi
  done
  rm -rf "$BUILD/patches"
  mv "$BUILD/patches.new" "$BUILD/patches"
  ln -sfn "$(realpath --relative-to="$1" "$BUILD/patches")" "$1/patches"
}

# Our tests, in a tree, so that mtr finds them. The same for stock, where they
# show what the patches change.
link_suite()
{
  ln -sfn "$(realpath -m --relative-to="$1/$(dirname "$SUITE")" "$ROOT/$SUITE")" "$1/$SUITE"
}

# --- the stage -------------------------------------------------------------

# The files that patch $1 touches.
files_of_patch() { perl "$ROOT/ci/patch-lines.pl" --files "$1"; }

checksums_of_series()
{
  local name
  for name in $(series_patches "$1"); do
    [ -e "$(patch_file "$name")" ] ||
      die "series names patches/$name, which does not exist" \
          "(made by quilt new? then quilt refresh writes it)"
    echo "$(sha256_of "$(patch_file "$name")") $name"
  done
}

stage_quilt() { ( cd "$state/stage" && quilt "$@" ); }

# Brings the stage of a tree (its directory $state) to the series file $1.
update_stage()
{
  local series=$1 wanted applied keep=0 name
  wanted=$(checksums_of_series "$series")
  applied=$(cat "$state/applied" 2>/dev/null || true)
  if [ -e "$state/applied" ] && [ "$wanted" = "$applied" ]; then return; fi

  if [ -e "$state/applied" ] && [ "$(cat "$state/base")" = "$UPSTREAM_SHA256" ]; then
    # Keep what comes before the first patch that changed.
    while IFS= read -r -u 3 old && IFS= read -r -u 4 new && [ "$old" = "$new" ]
    do
      [ -z "$old" ] || keep=$((keep + 1))
    done 3<<< "$applied" 4<<< "$wanted"
    rm "$state/applied"
    local there
    there=$(wc -l < "$state/stage/.pc/applied-patches" 2>/dev/null || echo 0)
    if [ "$there" -gt "$keep" ]; then
      stage_quilt pop -q -f $((there - keep)) > "$STEP_LOG"
    fi
  else
    rm -rf "$state/stage" "$state/staged" "$state/applied"
    mkdir -p "$state/stage"
    : > "$state/staged"
    echo "$UPSTREAM_SHA256" > "$state/base"
  fi
  patches_for "$state/stage"
  ln -sfn "$(realpath "$series")" "$state/stage/series"

  local count
  count=$(grep -c . <<< "$wanted" || true)
  note "stack: $keep of $count patches still applied, applying $((count - keep))"
  while read -r _ name; do
    [ -n "$name" ] || continue
    stage_pristine_files "$name"
    stage_push "$name"
  done < <(tail -n +$((keep + 1)) <<< "$wanted")
  printf '%s' "${wanted:+$wanted$'\n'}" > "$state/applied"
}

stage_pristine_files()
{
  local file
  while IFS= read -r file; do
    # Once only: later patches see what earlier ones left.
    grep -qxF -- "$file" "$state/staged" && continue
    echo "$file" >> "$state/staged"
    if [ -e "$STOCK_SRC/$file" ]; then
      mkdir -p "$state/stage/$(dirname "$file")"
      cp -p "$STOCK_SRC/$file" "$state/stage/$file"
    fi
  done < <(files_of_patch "$(patch_file "$1")")
}

stage_push()
{
  local out
  if out=$(stage_quilt push --leave-rejects 2>&1); then return; fi
  rm -rf "$state/rejects"
  local reject report=''
  while IFS= read -r reject; do
    mkdir -p "$state/rejects/$(dirname "$reject")"
    mv "$state/stage/$reject" "$state/rejects/$reject"
    report+=$'\n'"  reject: $(in_root "$state/rejects/$reject")"
  done < <(cd "$state/stage" && find . -name '*.rej' -printf '%P\n')
  die "patch $1 does not apply:" \
    $'\n'"$(grep -E '^(patching file|Hunk .*FAILED|can.t find|Reversed|.*malformed)|does not exist|already exists' \
            <<< "$out" | grep -B1 -vE '^patching file' | sed -e '/^--$/d' -e 's/^/  /')$report" \
    $'\n'"$(in_root "$tree") stays as it was."
}

# --- the tree --------------------------------------------------------------

# sha256 of a file, "-" if there is none.
content_of() { if [ -e "$1" ]; then sha256_of "$1"; else echo -; fi; }

# sync_tree TREE SERIES: makes TREE the pristine tree plus the series.
sync_tree()
{
  local tree=$1 series=$2
  local state=$STATE/${tree##*/}
  mkdir -p "$state"
  STEP_LOG=$LOGS/source.log
  update_stage "$series"

  # What to do with each file that a patch touches or ever touched.
  local replace=() edits=() file
  declare -A wanted_content=() written=()
  load_manifest
  for file in $(touched_files); do
    wanted_content[$file]=$(content_of "$(result_file "$file")")
  done

  if [ ! -d "$tree" ]; then
    create_tree
  else
    check_quilt_position
    compare_touched_files
    compare_other_files
    if [ ${#edits[@]} -gt 0 ]; then
      if [ "$DISCARD" = yes ]; then discard_edits; else refuse_edits; fi
    fi
    write_tree "$tree"
  fi
  write_manifest
  note "$(in_root "$tree"): ${#replace[@]} files written," \
       "$(series_patches "$series" | wc -l) patches applied"
}

load_manifest()
{
  local sum path
  [ -e "$state/manifest" ] || return 0
  while read -r sum path; do written[$path]=$sum; done < "$state/manifest"
}

write_manifest()
{
  local path
  for path in "${!wanted_content[@]}"; do
    echo "${wanted_content[$path]} $path"
  done | sort -k 2 > "$state/manifest.new"
  mv "$state/manifest.new" "$state/manifest"
  series_patches "$series" > "$state/in-tree"
}

touched_files()
{
  { cat "$state/staged"; printf '%s\n' "${!written[@]}"; } | sed '/^$/d' | sort -u
}

# Where the wanted content of a file is: in the stage, or still upstream's.
result_file()
{
  if grep -qxF -- "$1" "$state/staged"; then echo "$state/stage/$1"
  else echo "$STOCK_SRC/$1"; fi
}

# A new tree is complete before it gets its name.
create_tree()
{
  need_space 900 "$(in_root "$tree")"
  note "$(in_root "$tree"): copying the pristine tree"
  rm -rf "$tree.new" "$state/in-tree"
  cp -a "$STOCK_SRC" "$tree.new"
  # All of them, also those that are upstream's again: a build made from an
  # earlier tree must see that they are newer than its objects.
  replace=("${!wanted_content[@]}")
  write_tree "$tree.new"
  mv "$tree.new" "$tree"
}

write_tree()
{
  local tree=$1
  for file in "${replace[@]}"; do put_file "$file"; done
  link_into_tree
}

# In one rename, with the time of now: ninja goes by it.
put_file()
{
  local from to=$tree/$1
  from=$(result_file "$1")
  if [ -e "$from" ]; then
    mkdir -p "$(dirname "$to")"
    cp --preserve=mode "$from" "$to.millrace-new"
    mv "$to.millrace-new" "$to"
  else
    rm -f "$to"
  fi
}

# patches, series and quilt's own state, so that quilt works by hand in it.
link_into_tree()
{
  patches_for "$tree"
  if [ "$series" = "$ROOT/series" ]; then ln -sfn ../../series "$tree/series"
  else cp "$series" "$tree/series"; fi
  link_suite "$tree"
  if ! diff -rq "$state/stage/.pc" "$tree/.pc" > /dev/null 2>&1; then
    rm -rf "$tree/.pc" "$tree/.pc.millrace-new"
    if [ -d "$state/stage/.pc" ]; then
      cp -a "$state/stage/.pc" "$tree/.pc.millrace-new"
      mv "$tree/.pc.millrace-new" "$tree/.pc"
    fi
  fi
}

# Stops if the tree holds edits. For "clean", which must work also while a patch
# does not apply; then what we wrote last is all there is to compare with.
refuse_if_edited()
{
  local tree=$1 series file
  series=$(series_file)
  local state=$STATE/${tree##*/} replace=() edits=()
  declare -A wanted_content=() written=()
  load_manifest
  for file in "${!written[@]}"; do wanted_content[$file]=${written[$file]}; done
  if (update_stage "$series") > /dev/null 2>&1; then
    for file in $(touched_files); do
      wanted_content[$file]=$(content_of "$(result_file "$file")")
    done
  fi
  check_quilt_position
  compare_touched_files
  [ ! -d "$STOCK_SRC" ] || compare_other_files
  [ ${#edits[@]} -eq 0 ] || refuse_edits
}

# --- local edits -----------------------------------------------------------

# With the stack half popped by hand, files are neither as we wrote them nor as
# they are to be. That is no edit, but only its owner knows what he is at.
check_quilt_position()
{
  local here
  # Not made by us, or we were interrupted when we put quilt's state in.
  [ -e "$state/in-tree" ] && [ -d "$tree/.pc" ] || return 0
  here=$(cat "$tree/.pc/applied-patches" 2>/dev/null || true)
  [ "$here" != "$(cat "$state/in-tree")" ] || return 0
  # Pushed by hand, say after adding a patch.
  [ "$here" != "$(series_patches "$series")" ] || return 0
  [ "$DISCARD" = no ] || return 0
  here=$(tail -n 1 <<< "$here")
  die "the stack in $(in_root "$tree") is applied only up to ${here:-nothing}." \
    $'\n'"Finish there first:  cd $(in_root "$tree") && QUILTRC=$QUILTRC quilt push -a" \
    $'\n'"or throw its state away:  ./build.sh source${BASE:+ --base $BASE} --discard-edits"
}

compare_touched_files()
{
  local content was
  for file in "${!wanted_content[@]}"; do
    content=$(content_of "$tree/$file")
    [ "$content" != "${wanted_content[$file]}" ] || continue
    was=${written[$file]-}
    [ -n "$was" ] || was=$(content_of "$STOCK_SRC/$file")
    if [ "$content" = "$was" ]; then replace+=("$file")
    else edits+=("$file"); fi
  done
}

# All other files must be upstream's. Path, type, size and time tell it, since
# both trees were unpacked with upstream's times. What editors (*~, .*.sw?),
# patch (*.rej) and mtr (*.reject) leave behind does not count.
compare_other_files()
{
  while IFS= read -r file; do
    [ -n "${wanted_content[$file]-}" ] || edits+=("$file")
  done < <(comm -3 <(list_tree "$STOCK_SRC") <(list_tree "$tree") |
           sed -e 's/^\t//' -e 's/^[^ ]* [^ ]* [^ ]* //' | sort -u)
}

list_tree()
{
  ( cd "$1" &&
    find . \( -path ./.pc -o -path ./patches -o -path ./series \
              -o -path "./$SUITE" -o -name '*~' -o -name '.*.sw?' \
              -o -name '*.rej' -o -name '*.reject' -o -name '*.millrace-new' \
           \) -prune \
           -o ! -type d -printf '%y %s %T@ %P\n' ) | sort
}

# All edits as one diff, to apply with patch -p1.
save_edits()
{
  EDITS_DIFF=$LOGS/edits.diff
  mkdir -p "$LOGS"
  for file in "${edits[@]}"; do
    diff -uN --label "a/$file" --label "b/$file" \
      "$(result_file "$file")" "$tree/$file" || true
  done > "$EDITS_DIFF"
}

refuse_edits()
{
  local list shared=''
  # See patches_for.
  if [ -n "$BASE" ]; then
    shared=$'\n'"A patch that is not in bases/$BASE/patches is the primary base's; here is only a copy, and what"
    shared+=$'\n'"quilt refresh writes into it is lost. Change it in build/src, or copy it to bases/$BASE/patches"
    shared+=$'\n'"first, as an overlay, and say so in its header (Overlay: reason)."
  fi
  list=$(printf '  %s\n' "${edits[@]}" | sort | head -n 20)
  [ ${#edits[@]} -le 20 ] || list+=$'\n'"  ... and $((${#edits[@]} - 20)) more"
  save_edits
  die "$(in_root "$tree") holds edits that are in no patch; they are not overwritten:" \
    $'\n'"$list" \
    $'\n'"They are also in $(in_root "$EDITS_DIFF") now, as a diff." \
    $'\n'"To keep them in the topmost patch, if the files belong to it:" \
    $'\n'"  cd $(in_root "$tree"); export QUILTRC=$QUILTRC; quilt refresh" \
    $'\n'"To keep them in another patch P:" \
    $'\n'"  ./build.sh source${BASE:+ --base $BASE} --discard-edits" \
    $'\n'"  cd $(in_root "$tree"); export QUILTRC=$QUILTRC; quilt pop P; quilt add FILE..." \
    $'\n'"  patch -p1 < ../log/edits.diff; quilt refresh; quilt push -a$shared" \
    $'\n'"To throw them away:" \
    $'\n'"  ./build.sh source${BASE:+ --base $BASE} --discard-edits"
}

# Upstream's content again, but with the time of now, and remembered as written
# by us: see put_file.
discard_edits()
{
  save_edits
  note "throwing away ${#edits[@]} edits; a diff of them is $(in_root "$EDITS_DIFF")"
  for file in "${edits[@]}"; do
    if [ -z "${wanted_content[$file]-}" ] &&
       { [ -L "$tree/$file" ] || [ -L "$STOCK_SRC/$file" ]; }; then
      rm -f "$tree/$file"
      if [ -L "$STOCK_SRC/$file" ]; then cp -a "$STOCK_SRC/$file" "$tree/$file"; fi
      continue
    fi
    wanted_content[$file]=${wanted_content[$file]-$(content_of "$STOCK_SRC/$file")}
    replace+=("$file")
  done
}
