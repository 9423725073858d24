# The story of ci/test-packages --full: Debian's whole set of packages replaced by ours, and back. Sourced by
# ci/test-packages.
# shellcheck shell=bash

full_deb_of() { find "$FULL_DIR" -name "$1_*.deb"; }

need_full() { [ -d "$FULL_DIR" ] || die "no packages in $(in_root "$FULL_DIR") yet: ./build.sh deb --full"; }

tell_full()
{
  prepare_debian
  STEP=full
  test_full
}

# --- the files ---------------------------------------------------------------

# Names of Debian's packages that are made from its source package of the base.
names_in_debian()
{
  in_chroot apt-cache dumpavail |
    awk -v source="$DEBIAN_SOURCE" -v version="$DEBIAN_VERSION" '
      /^Package: / { name = $2; of = $2 }
      /^Source: /  { of = $2 }
      /^Version: / { has = $2 }
      /^$/         { if (of == source && has == version) print name }' | sort
}

check_full_is_complete()
{
  diff <(names_in_debian) \
       <(find "$FULL_DIR" -name '*.deb' ! -name '*-dbgsym_*' ! -name 'millrace-*' -printf '%f\n' |
           sed 's/_.*//' | sort)
}

# Nothing that is in a package of Debian's is missing in ours. More may be there:
# the tests that the stack brings.
check_full_files()
{
  local name status=0
  in_chroot_online sh -c "cd /mnt/new && apt-get -q download $(names_in_debian | sed "s/\$/=$DEBIAN_VERSION/" |
    paste -s -d ' ')" >> "$WORK/apt.log" 2>&1 || return
  for name in $(names_in_debian); do
    comm -23 <(file_list "$(find "$CHROOT/mnt/new" -name "${name}_*.deb")" | sort) \
             <(file_list "$(full_deb_of "$name")" | sort) > "$WORK/missing"
    if [ -s "$WORK/missing" ]; then
      echo "$name lacks:"
      cat "$WORK/missing"
      status=1
    fi
  done
  return $status
}

# --- the set, installed ------------------------------------------------------

# "Name version" of what is installed of that source package.
installed_of_set()
{
  # shellcheck disable=SC2016  # for dpkg-query
  in_chroot dpkg-query -W -f '${source:Package} ${db:Status-Status} ${Package} ${Version}\n' |
    awk -v source="$DEBIAN_SOURCE" '$1 == source && $2 == "installed" { print $3, $4 }'
}

# Every package of the set that is installed, in one command, as in doc/packaging.md.
install_full()
{
  local name files=()
  mkdir -p "$CHROOT/mnt/new/full"
  for name in $(installed_of_set | cut -d' ' -f1); do
    cp "$(full_deb_of "$name")" "$CHROOT/mnt/new/full/" || return
    files+=("/mnt/new/full/$(basename "$(full_deb_of "$name")")")
  done
  apt_in install "${files[@]}"
}

go_back_from_full()
{
  local names
  mapfile -t names < <(installed_of_set | cut -d' ' -f1)
  apt_in install --allow-downgrades "${names[@]/%/=$DEBIAN_VERSION}"
}

check_message_of_full()
{
  grep -q "^This is Millrace $MILLRACE_REVISION on Debian's mariadb $DEBIAN_VERSION" "$WORK/apt.log" &&
    grep -qE "gets? no security updates" "$WORK/apt.log"
}

# With the lines that the package shows, an upgrade leaves the set alone, whatever
# Debian has; without any pin a later release, if there is one, replaces it.
check_pin_of_full()
{
  local preferences=$CHROOT/etc/apt/preferences.d/pin plan newest status=0
  rm "$preferences"
  newest=$(newest_debian)
  plan=$(in_chroot apt-get -s upgrade) || return
  if [ "$newest" != "$DEBIAN_VERSION" ]; then
    grep -q "^Inst mariadb-server .*($newest " <<< "$plan" || { echo "$plan"; status=1; }
  fi
  grep -A 2 '^  Package: src:' "$WORK/apt.log" | head -n 3 | sed 's/^  //' > "$preferences"
  plan=$(in_chroot apt-get -s upgrade) || return
  if grep -E '^(Inst|Remv) (mariadb|libmariadb)' <<< "$plan"; then cat "$preferences"; status=1; fi
  pin
  return $status
}

# all_of_set_are VERSION
all_of_set_are()
{
  local found
  found=$(installed_of_set)
  equal '' "$(awk -v version="$1" '$2 != version' <<< "$found")" && [ "$(wc -l <<< "$found")" -ge 8 ]
}

# Debian's whole set instead of Debian's, and back.
test_full()
{
  check "checksums beside the artifacts" check_checksums "$FULL_DIR"
  check "the packages are of the present stack" check_is_present_stack "$(full_deb_of mariadb-server-core)"
  check "every package of Debian's is there" check_full_is_complete
  check "no file of Debian's packages is missing" check_full_files
  check "Debian's server with plugins is installed" install_debian
  check "Debian's server runs" is_server "$STOCK_VERSION"
  configure_server
  check "tables are filled" fill_tables
  state_of_tables > "$WORK/state"
  check "the whole set over Debian's" install_full
  check "ours runs" is_server "$OUR_VERSION"
  check "every package is ours" all_of_set_are "$OURS"
  check "it says how to stay and what that means" check_message_of_full
  check "the pin that it names keeps the set" check_pin_of_full
  check "our plugins are active" check_plugins "$OURS"
  check "the pool is off" equal one-thread-per-connection "$(sql 'select @@thread_handling')"
  check_tables 1 "the whole set"
  CONFIG_DEB=$(full_deb_of millrace-config)
  check "millrace-config switches the pool on" check_pool_is_on
  check "mariadb-dump, with the pool" check_dump
  check "mariadb-backup, with the pool" check_backup
  check_tables 2 "with the pool"
  check "millrace-config is purged" apt_in purge millrace-config
  check "back to Debian's packages in one command" go_back_from_full
  check "Debian's server runs again" is_server "$STOCK_VERSION"
  check "every package is Debian's" all_of_set_are "$DEBIAN_VERSION"
  check_tables 3 "back"
  rm "$CHROOT/etc/mysql/mariadb.conf.d/99-test.cnf"
  check "purge" purge_all
  check "purge leaves no more than Debian's own" check_leftovers
}
