# The story of ci/test-packages --rpm: our RPM packages with their scripts, in a
# bare Debian that is booted with systemd, since no distribution with RPM can be
# had by apt. Dependencies are not looked at (their names mean nothing there), and
# what RHEL's other packages bring is put there by hand. Sourced by ci/test-packages.
# shellcheck shell=bash

# rpm_of NAME: the file of our package.
rpm_of() { find "$PACKAGES_DIR" -name "$1-$UPSTREAM_VERSION-1.$MILLRACE_REVISION*.rpm" ! -name '*.src.rpm'; }

need_rpm()
{
  if [ -z "$(rpm_of mariadb-server)" ] || [ -z "$(rpm_of millrace-config)" ] ||
     [ -z "$(rpm_of millrace-tools)" ]; then
    say "no packages yet: ./build.sh rpm"
    "$ROOT/build.sh" rpm
  fi
}

# Debian refuses to let rpm install anything, unless it is told to.
rpm_in()
{
  in_chroot rpm --force-debian --nodeps --nosignature "$@" >> "$WORK/rpm.log" 2>&1 ||
    { tail -n 20 "$WORK/rpm.log"; return 1; }
}

# The libraries that the server, its plugins and tptop need, the client, systemd and rpm, and
# from RHEL's mariadb-common and mariadb-connector-c-config what the server reads.
prepare_for_rpm()
{
  # shellcheck disable=SC2086  # a list of words
  apt_online install --no-install-recommends mariadb-server-core mariadb-client-core \
    liblz4-1 liblzma5 liblzo2-2 libncursesw6 libsnappy1v5 logrotate rpm $SYSTEMD_PACKAGES || return
  mkdir -p "$CHROOT/usr/share/mariadb" "$CHROOT/etc/my.cnf.d"
  cp -a "$CHROOT/usr/share/mysql/charsets" "$CHROOT/usr/share/mariadb/"
  printf '[client-server]\n!includedir /etc/my.cnf.d\n' > "$CHROOT/etc/my.cnf"
  # For Debian's client.
  printf '[client]\nsocket=/var/lib/mysql/mysql.sock\n' > "$CHROOT/root/.my.cnf"
  in_chroot dpkg --remove --force-depends mariadb-server-core >> "$WORK/apt.log" 2>&1
}

install_rpms()
{
  local name files=()
  for name in "$@"; do
    cp "$(rpm_of "$name")" "$CHROOT/mnt/new/" || return
    files+=("/mnt/new/$(basename "$(rpm_of "$name")")")
  done
  rpm_in --upgrade "${files[@]}"
}

# rpm's own word, with what of the files differs. /run and the like are mounts of
# systemd's here; the time of a directory is that of its last change.
check_rpm_verify()
{
  equal '' "$(in_chroot rpm --force-debian --verify --nodeps "$@" 2>&1)"
}

# A first start, by systemd: the data directory is made.
check_rpm_first_start()
{
  # Where rpm is the system's own, systemd's triggers do this.
  in_chroot systemd-tmpfiles --create /usr/lib/tmpfiles.d/mariadb.conf || return
  in_chroot systemctl daemon-reload || return
  if ! in_chroot systemctl start mariadb; then
    in_chroot journalctl -q -u mariadb --no-pager | tail -n 20
    return 1
  fi
  is_server "^$UPSTREAM_VERSION-MariaDB-$MILLRACE_REVISION\$" &&
    equal one-thread-per-connection "$(sql 'select @@thread_handling')" &&
    equal mysql "$(in_chroot stat -c %U /var/lib/mysql/mysql)"
}

check_rpm_config()
{
  restarts_service install_rpms millrace-config && limits_are 262144 20 &&
    equal pool-of-threads "$(sql 'select @@thread_handling')"
}

# The same version once more is, for the scripts, an upgrade.
check_rpm_upgrade()
{
  sql "create database shop; use shop; create table t engine=innodb as select seq from seq_1_to_1000" || return
  restarts_service rpm_in --upgrade --replacepkgs "/mnt/new/$(basename "$(rpm_of mariadb-server)")" &&
    is_server "$UPSTREAM_VERSION-MariaDB-$MILLRACE_REVISION" &&
    equal 500500 "$(sql 'select sum(seq) from shop.t')"
}

# While the pool is on.
check_rpm_tools()
{
  install_rpms millrace-tools && check_rpm_verify millrace-tools || return
  [ -n "$(find "$CHROOT/usr/share/man/man1" -name 'tptop.1*')" ] || { echo "no manual page"; return 1; }
  tptop_shows_pool || return
  rpm_in --erase millrace-tools || return
  [ ! -e "$CHROOT/usr/bin/tptop" ] || { echo "tptop is still there"; return 1; }
}

check_rpm_remove_config()
{
  restarts_service rpm_in --erase millrace-config && limits_are 32768 0 &&
    equal one-thread-per-connection "$(sql 'select @@thread_handling')"
}

# The server is stopped, its programs are gone, the data stay.
check_rpm_remove()
{
  rpm_in --erase mariadb-server mariadb-errmsg || return
  if in_chroot systemctl is-active --quiet mariadb; then echo "it still runs"; return 1; fi
  no_process_of_server || return
  [ -e "$CHROOT/var/lib/mysql/shop/t.frm" ] || { echo "the data are gone"; return 1; }
}

# What was not there before, but for the data, the log, rpm's own files, and a
# directory that belongs to RHEL's package filesystem.
check_rpm_leftovers()
{
  equal '' "$(files_in_chroot | comm -13 "$WORK/before-rpm.list" - |
    grep -vE '^\./(var/lib/(mysql|rpm|systemd|private)|var/log|root/\.rpmdb|run|usr/share/licenses)(/|$)')"
}

test_rpm()
{
  stop_chroot
  if ! boot_chroot "$WORK/machine"; then
    skip "the RPM packages" "systemd cannot be booted in a folder here"
    return
  fi
  files_in_chroot > "$WORK/before-rpm.list"
  check "rpm: server and messages are installed" install_rpms mariadb-errmsg mariadb-server
  check "rpm: the first start makes the data" check_rpm_first_start
  check "rpm: the files are as packaged" check_rpm_verify mariadb-server mariadb-errmsg
  check "rpm: millrace-config restarts the server, with the pool and its limits" check_rpm_config
  check "rpm: an upgrade restarts the server" check_rpm_upgrade
  check "rpm: millrace-tools: tptop shows the pool, and is removed" check_rpm_tools
  check "rpm: without millrace-config the pool is off" check_rpm_remove_config
  check "rpm: the server is removed, the data stay" check_rpm_remove
  check "rpm: nothing else is left" check_rpm_leftovers
}

tell_rpm()
{
  use_copy
  STEP="fetching what the packages need" STEP_LOG=$WORK/apt.log
  say "$STEP"
  apt_online update
  prepare_for_rpm
  STEP=rpm
  test_rpm
}
