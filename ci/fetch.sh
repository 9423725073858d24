# Step fetch: upstream's tarball at build/fetch, its checksum always checked,
# its signature when gpg and the key are there.
# shellcheck shell=bash

FETCH=$BUILD/fetch
TARBALL_FILE=$FETCH/$UPSTREAM_TARBALL
NEW_FILE=$TARBALL_FILE.part
DEBIAN_TARBALL=$FETCH/debian.tar.xz
ARCHIVE_URL=https://archive.mariadb.org/mariadb-$UPSTREAM_VERSION/source/$UPSTREAM_TARBALL

step_fetch()
{
  STEP_LOG=$LOGS/fetch.log
  : > "$STEP_LOG"
  mkdir -p "$FETCH"
  rm -f "$NEW_FILE" "$NEW_FILE.asc"
  if [ -n "$TARBALL" ]; then
    fetch_given
  elif [ -e "$TARBALL_FILE" ]; then
    note "already here: $(in_root "$TARBALL_FILE")"
    verify_checksum "$TARBALL_FILE"
  else
    need_space 300 "the download"
    fetch_by_apt || fetch_by_https ||
      die "upstream's source could not be fetched (see above and" \
          "$(in_root "$STEP_LOG"))." \
          $'\n'"Without a network, bring $UPSTREAM_TARBALL yourself and give" \
          "--tarball FILE"
  fi
  if [ -e "$NEW_FILE" ]; then
    verify_checksum "$NEW_FILE"
    rm -f "$TARBALL_FILE.asc"
    if [ -e "$NEW_FILE.asc" ]; then mv -- "$NEW_FILE.asc" "$TARBALL_FILE.asc"; fi
    mv -- "$NEW_FILE" "$TARBALL_FILE"
  fi
  verify_signature
}

# Each way brings the file as $NEW_FILE, its signature as $NEW_FILE.asc. They
# get their names once the checksum was found right, so that an interrupted
# download is never taken for a whole one.

fetch_given()
{
  [ -r "$TARBALL" ] || die "cannot read $TARBALL"
  note "using $TARBALL"
  cp -- "$TARBALL" "$NEW_FILE"
  if [ -e "$TARBALL.asc" ]; then cp -- "$TARBALL.asc" "$NEW_FILE.asc"; fi
}

# Debian's source package, through the machine's own package sources. All apt
# state is private; the machine's apt files are only read.
fetch_by_apt()
{
  have apt-get || { note "no apt-get here"; return 1; }
  local apt=$STATE/apt
  rm -rf "$apt"
  mkdir -p "$apt/sources.d" "$apt/lists/partial" "$apt/cache/archives/partial" \
           "$apt/download"
  derive_source_entries "$apt/sources.d"
  local options=(
    -q -o Dir::Etc::sourcelist=/dev/null
    -o Dir::Etc::sourceparts="$apt/sources.d"
    -o Dir::State::lists="$apt/lists" -o Dir::Cache="$apt/cache")
  # As root, apt would fetch as a user who may not write here.
  if is_root; then options+=(-o APT::Sandbox::User=root); fi

  note "Debian's source package $DEBIAN_SOURCE $DEBIAN_VERSION"
  if ! ( cd "$apt/download" &&
         apt-get "${options[@]}" update &&
         apt-get "${options[@]}" source --download-only \
                 "$DEBIAN_SOURCE=$DEBIAN_VERSION" ) >> "$STEP_LOG" 2>&1
  then
    # The first trouble: what apt says last is often only what follows from it.
    note "apt could not fetch it: $(grep -m 1 -E \
      'Failed to fetch|Could not|Temporary failure|^E:' "$STEP_LOG")"
    return 1
  fi
  local orig=$apt/download/${DEBIAN_SOURCE}_$UPSTREAM_VERSION.orig.tar.gz
  if [ ! -e "$orig" ]; then
    note "the package does not hold $(basename "$orig")"
    return 1
  fi
  if [ -e "$orig.asc" ]; then mv "$orig.asc" "$NEW_FILE.asc"; fi
  mv "$apt/download/"*.debian.tar.xz "$DEBIAN_TARBALL"
  mv "$orig" "$NEW_FILE"
  rm -rf "$apt"
}

# The machine's apt entries with their type turned into deb-src, into dir $1. If the
# base is of another release of Debian than this machine, those of the machine's release,
# turned into that one's.
derive_source_entries()
{
  local Apt_list='' Apt_parts='' file
  eval "$(apt-config shell Apt_list Dir::Etc::sourcelist/f \
                           Apt_parts Dir::Etc::sourceparts/d)"
  for file in "$Apt_list" "$Apt_parts"/*.list "$Apt_parts"/*.sources; do
    [ -f "$file" ] || continue
    case $file in
      *.sources) sed 's/^Types:.*/Types: deb-src/' "$file" ;;
      *.list)    sed -n 's/^[[:space:]]*deb\(-src\)\{0,1\}[[:space:]]/deb-src /p' \
                   "$file" | sort -u ;;
    esac | entries_for_suite "$DEBIAN_SUITE" "${file##*.}" > "$1/$(basename "$file")"
  done
}

fetch_by_https()
{
  have curl || { note "no curl here"; return 1; }
  note "upstream's archive: $ARCHIVE_URL"
  local progress=(--silent --show-error)
  if [ -t 2 ]; then progress=(--progress-bar); fi
  local get=(curl --fail --location --proto '=https' --connect-timeout 20
             --retry 2 --speed-time 60 --speed-limit 1000)
  if ! "${get[@]}" "${progress[@]}" -o "$NEW_FILE" "$ARCHIVE_URL" \
         2> >(tee -a "$STEP_LOG" >&2); then
    rm -f "$NEW_FILE"
    note "upstream's archive could not be fetched"
    return 1
  fi
  "${get[@]}" --silent -o "$NEW_FILE.asc" "$ARCHIVE_URL.asc" ||
    rm -f "$NEW_FILE.asc"
}

verify_checksum()
{
  local sum
  sum=$(sha256_of "$1")
  if [ "$sum" != "$UPSTREAM_SHA256" ]; then
    set_aside "$1"
    die "the checksum of $UPSTREAM_TARBALL differs:" \
      $'\n'"  expected $UPSTREAM_SHA256 (VERSION)" \
      $'\n'"  found    $sum" \
      $'\n'"The file is now in $(in_root "$FETCH")/rejected; nothing was unpacked."
  fi
  note "sha256 as pinned"
}

# Never used, and never met again by the next run.
set_aside()
{
  mkdir -p "$FETCH/rejected"
  mv -f -- "$1" "$FETCH/rejected/$UPSTREAM_TARBALL"
  if [ -e "$1.asc" ]; then
    mv -f -- "$1.asc" "$FETCH/rejected/$UPSTREAM_TARBALL.asc"
  fi
}

# The checksum is pinned by us; the signature tells that upstream made the file
# that we pinned. So a missing key is only reported, a bad signature is fatal.
verify_signature()
{
  local stamp=$STATE/signature-checked
  local what="$UPSTREAM_SHA256 $UPSTREAM_KEY_FINGERPRINT"
  if [ "$(cat "$stamp" 2>/dev/null)" = "$what" ]; then
    note "signature checked before"
    return
  fi
  if ! have gpg; then note "signature not checked: no gpg here"; return; fi
  if [ ! -e "$TARBALL_FILE.asc" ]; then
    note "signature not checked: no signature came with the file"
    return
  fi

  local home status
  home=$(mktemp -d)
  if ! export_key > "$home/key.asc" || [ ! -s "$home/key.asc" ]; then
    rm -rf "$home"
    note "signature not checked: upstream's key is not at hand" \
         "(MILLRACE_KEYRING=FILE names it)"
    return
  fi
  gpg --homedir "$home" --batch --quiet --import "$home/key.asc" \
    >> "$STEP_LOG" 2>&1 9>&- || true
  status=$(gpg --homedir "$home" --batch --status-fd 1 \
    --verify "$TARBALL_FILE.asc" "$TARBALL_FILE" 2>> "$STEP_LOG" 9>&- || true)
  rm -rf "$home"

  # VALIDSIG ends in the fingerprint of the primary key.
  local signer
  signer=$(awk '$2 == "VALIDSIG" { print $NF }' <<< "$status")
  if [ "$signer" = "$UPSTREAM_KEY_FINGERPRINT" ]; then
    note "signature good, by key $signer"
    echo "$what" > "$stamp"
  elif [ -z "$signer" ] && grep -q ' NO_PUBKEY ' <<< "$status"; then
    note "signature not checked: the key at hand is not the one that signed"
  else
    set_aside "$TARBALL_FILE"
    die "the signature of $UPSTREAM_TARBALL is not good:" \
      $'\n'"  expected one by $UPSTREAM_KEY_FINGERPRINT (VERSION)" \
      $'\n'"  found    ${signer:-a bad signature}" \
      $'\n'"The file is now in $(in_root "$FETCH")/rejected; nothing was unpacked."
  fi
}

# Upstream's public key on stdout: given by the user, from Debian's packaging,
# or from the user's own keyring.
export_key()
{
  if [ -n "${MILLRACE_KEYRING-}" ]; then
    cat -- "$MILLRACE_KEYRING"
  elif [ -e "$DEBIAN_TARBALL" ]; then
    tar -xJOf "$DEBIAN_TARBALL" debian/upstream/signing-key.asc 2>> "$STEP_LOG"
  else
    gpg --batch --armor --export "$UPSTREAM_KEY_FINGERPRINT" 2>/dev/null 9>&-
  fi
}
