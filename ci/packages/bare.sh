# The bare system: Debian's packages in it, what is installed, and what a purge leaves. For all stories of
# ci/test-packages.
# shellcheck shell=bash

# --- packages ----------------------------------------------------------------

# Debian's packages in the version of the base. Not above 1000, which would also
# take ours away again.
pin()
{
  printf 'Package: src:%s\nPin: version %s\nPin-Priority: 990\n' \
    "$DEBIAN_SOURCE" "$DEBIAN_VERSION" > "$CHROOT/etc/apt/preferences.d/pin"
}

apt_in() { in_chroot apt-get -q -y -o Dpkg::Use-Pty=0 "$@" >> "$WORK/apt.log" 2>&1; }

apt_online() { in_chroot_online apt-get -q -y -o Dpkg::Use-Pty=0 "$@" >> "$WORK/apt.log" 2>&1; }

# Installs without the network, from what was fetched before.
install_debian()
{
  # shellcheck disable=SC2086  # lists of words
  apt_in install --no-install-recommends mariadb-server="$DEBIAN_VERSION" \
    mariadb-backup $AVAILABLE
}

# Sets AVAILABLE to the plugin packages that can be had, and fetches all.
fetch_debian()
{
  local package
  AVAILABLE=''
  apt_online update
  pin
  for package in $ENGINE_PACKAGES; do
    if in_chroot apt-cache show "$package=$DEBIAN_VERSION" > /dev/null 2>&1; then
      AVAILABLE+=" $package"
      TABLES+=" ${package##*-}"
    else
      skip "engine ${package##*-}" "$package $DEBIAN_VERSION cannot be had"
    fi
  done
  # shellcheck disable=SC2086
  apt_online install --no-install-recommends --download-only \
    mariadb-server="$DEBIAN_VERSION" mariadb-backup $AVAILABLE $SYSTEMD_PACKAGES $TOOLS_NEED
  STOCK_DEB=$(find "$CHROOT/var/cache/apt/archives" -name 'mariadb-server-core_*.deb')
}

# shellcheck disable=SC2016  # for dpkg-query
versions_of_packages() { in_chroot dpkg-query -W -f '${Package} ${Version} ${db:Status-Status}\n'; }

# With the mark of those that came only because others need them.
marked_packages() { in_chroot apt-mark showauto | sort; }

# The newest version of Debian's package that apt knows, without our pin.
newest_debian()
{
  in_chroot apt-cache madison mariadb-server-core | awk '{ print $3 }' |
    grep -v millrace | sort -V | tail -n 1
}

# --- what a purge leaves -----------------------------------------------------

# Everything outside of logs and the package managers' own state.
files_in_chroot()
{
  ( cd "$CHROOT" && find . -xdev \( -path ./proc -o -path ./dev -o -path ./tmp \
      -o -path ./var/lib/dpkg -o -path ./var/lib/apt -o -path ./var/cache \
      -o -path ./var/log/apt -o -path ./mnt -o -path ./opt -o -path ./srv \) -prune -o -print | sort )
}

purge_all()
{
  echo 'mariadb-server mariadb-server/postrm_remove_databases boolean true' |
    in_chroot debconf-set-selections
  local names
  mapfile -t names < <(versions_of_packages |
    awk '$3 != "not-installed" && $1 ~ /^(mariadb-|millrace-|libmariadb|mysql-common)/ { print $1 }')
  apt_in purge "${names[@]}" &&
    apt_in autoremove --purge
}

# What Debian's own packages leave behind after a purge, for comparison.
leftovers_of_debian()
{
  cp -a "$WORK/bare" "$WORK/debian-only"
  start_chroot "$WORK/debian-only"
  files_in_chroot > "$WORK/before.list"
  install_debian
  purge_all
  files_in_chroot | comm -13 "$WORK/before.list" - > "$WORK/leftovers-debian"
  stop_chroot
  rm -rf "$WORK/debian-only"
}

check_leftovers()
{
  files_in_chroot | comm -13 "$WORK/before.list" - | diff "$WORK/leftovers-debian" -
}

# --- a copy of it for a story ------------------------------------------------

# The bare system stays as it is; each story has a copy.
use_copy()
{
  cp -a "$WORK/bare" "$WORK/machine"
  start_chroot "$WORK/machine"
}

# What ci/test-packages does with Debian's packages at hand, before a story that
# replaces them.
prepare_debian()
{
  start_chroot "$WORK/bare"
  STEP="fetching Debian's packages" STEP_LOG=$WORK/apt.log
  say "$STEP"
  fetch_debian
  stop_chroot
  STEP="what Debian's own purge leaves"
  say "$STEP"
  leftovers_of_debian
  use_copy
}
