# The story of ci/test-packages without an option: our mariadb-server-core and millrace-config over Debian's server, as
# an administrator meets them, and the way back. Sourced by ci/test-packages.
# shellcheck shell=bash

deb_of() { echo "$PACKAGES_DIR/$1_${OURS#*:}_$2.deb"; }

need_core()
{
  local arch
  arch=$(dpkg --print-architecture)
  CORE_DEB=$(deb_of mariadb-server-core "$arch")
  CONFIG_DEB=$(deb_of millrace-config all)
  TOOLS_DEB=$(deb_of millrace-tools "$arch")
  if [ ! -e "$CORE_DEB" ] || [ ! -e "$CONFIG_DEB" ] || [ ! -e "$TOOLS_DEB" ]; then
    say "no packages yet: ./build.sh deb"
    "$ROOT/build.sh" deb
  fi
  TARBALL_FILE=$(find "$PACKAGES_DIR" -name 'mariadb-*-linux-*.tar.gz' | head -n 1)
}

tell_core()
{
  test_by_hand
  prepare_debian
  for STEP in files replacement tools config newer_debian way_back fresh_machine systemd; do "test_$STEP"; done
}

# --- ours over Debian's ------------------------------------------------------

install_ours() { cp "$CORE_DEB" "$CHROOT/mnt/new/core.deb"; apt_in install --no-remove /mnt/new/core.deb; }

start_time()
{
  sql "select cast(unix_timestamp() - variable_value as signed) from information_schema.global_status
       where variable_name = 'UPTIME'"
}

# client_during COMMAND...: how a client that is connected while it runs ends.
client_during()
{
  local waited=$SECONDS client
  in_chroot mariadb -N -e 'select sleep(900)' > "$WORK/client" 2>&1 &
  client=$!
  until [ "$(sql "select count(*) from information_schema.processlist
                  where info = 'select sleep(900)'")" = 1 ]; do
    [ $((SECONDS - waited)) -lt 20 ] || break
    sleep 0.2
  done
  "$@"
  local status=0
  wait "$client" || status=$?
  echo "status $status, $(grep -oE '^ERROR [0-9]+|Lost connection|shutdown' "$WORK/client" | paste -s -d ' ')"
}

check_upgrade_with_clients()
{
  local theirs ours
  theirs=$(client_during apt_in install --reinstall "mariadb-server=$DEBIAN_VERSION" \
             "mariadb-server-core=$DEBIAN_VERSION")
  wait_for_server || return
  in_chroot apt-mark auto mariadb-server-core > /dev/null || return
  versions_of_packages > "$WORK/versions"
  marked_packages > "$WORK/marked"
  ours=$(client_during install_ours)
  equal "$theirs" "$ours" && [[ $ours == *ERROR* ]]
}

# What the package says to its administrator.
check_message()
{
  grep -q "^This is Millrace $MILLRACE_REVISION on Debian's mariadb-server-core $DEBIAN_VERSION" "$WORK/apt.log" &&
    grep -qx "  apt-mark hold mariadb-server-core" "$WORK/apt.log" &&
    grep -qE "gets? no security updates" "$WORK/apt.log"
}

# The command in it that goes back changes this package only.
check_named_way_back()
{
  local command plan
  read -r -a command <<< "$(grep -o 'apt-get install --allow-downgrades .*' "$WORK/apt.log" | tail -n 1)"
  plan=$(in_chroot "${command[@]}" -s) || return
  equal "mariadb-server-core" "$(sed -nE 's/^(Inst|Remv) ([^ ]+) .*/\2/p' <<< "$plan")"
}

# Only mariadb-server-core changed since versions were written to $WORK/versions.
check_only_core_changed()
{
  diff <(grep -v '^mariadb-server-core ' "$WORK/versions") \
       <(versions_of_packages | grep -v '^mariadb-server-core ')
}

check_files_as_packaged() { equal '' "$(in_chroot dpkg -V mariadb-server-core 2>&1)"; }

# What the server says when each plugin file of Debian's packages is loaded: what
# is in it, and whether its tables can be read. Some refuse without settings.
plugin_answers()
{
  local file name table
  for file in "$CHROOT"/usr/lib/mysql/plugin/*.so; do
    name=$(basename "$file" .so)
    echo "$name: $(sql "install soname '$name'" 2>&1)"
    sql "select plugin_name, plugin_type, plugin_status, load_option from information_schema.plugins
         where plugin_library = '$name.so' order by 1" 2>&1
    for table in $(sql "select plugin_name from information_schema.plugins where plugin_library = '$name.so'
                        and plugin_type = 'INFORMATION SCHEMA' and plugin_status = 'ACTIVE' order by 1"); do
      echo "$table: $(sql "select * from information_schema.$table" 2>&1 > /dev/null)"
    done
    # Engines that were there before stay.
    case $name in
      ha_connect|ha_spider|ha_mroonga|ha_rocksdb) ;;
      *) sql "uninstall soname '$name'" > /dev/null 2>&1 || true ;;
    esac
  done
}

check_all_plugins()
{
  diff "$WORK/plugins" <(plugin_answers) &&
    { [ "$(grep -c ACTIVE "$WORK/plugins")" -ge 20 ] || { cat "$WORK/plugins"; return 1; }; }
}

check_fulltext()
{
  equal 1 "$(sql "select count(*) from shop.t_mroonga where match(v) against('+999' in boolean mode)")"
}

test_replacement()
{
  check "Debian's server with plugins is installed" install_debian
  check "Debian's server runs" is_server "$STOCK_VERSION"
  configure_server
  check "tables are filled" fill_tables
  state_of_tables > "$WORK/state"
  plugin_answers > "$WORK/plugins"
  check "upgrade with clients connected ends as Debian's" check_upgrade_with_clients
  check "ours runs" is_server "$OUR_VERSION"
  check "it says how to stay and what that means" check_message
  check "the way back that it names" check_named_way_back
  check "no other package changed" check_only_core_changed
  check "dpkg finds the files as packaged" check_files_as_packaged
  check "without millrace-config the pool is off" \
    equal one-thread-per-connection "$(sql 'select @@thread_handling')"
  check "Debian's plugins are active" check_plugins "$DEBIAN_VERSION"
  check "every plugin file of Debian answers as before" check_all_plugins
  check_tables 1 "ours"
  case $AVAILABLE in *mroonga*) check "mroonga's fulltext search" check_fulltext ;; esac
}

# --- millrace-config ---------------------------------------------------------

# Every variable of the pool is in the file, and every name in it is one.
check_names_in_config()
{
  local file=$CHROOT/etc/mysql/mariadb.conf.d/60-millrace.cnf
  diff <(sql "select lower(variable_name) from information_schema.system_variables
              where variable_name like 'thread_pool%'" | sort) \
       <(sed -nE 's/^#(loose_)?(thread_pool[a-z_]*) =.*/\2/p' "$file" | sort)
}

# The defaults in it are the server's, where the line does not say that it is an example.
check_defaults_in_config()
{
  local file=$CHROOT/etc/mysql/mariadb.conf.d/60-millrace.cnf
  sed -nE -e '/  # an example$/d' -e 's/^#(loose_)?((thread_pool|extra)_[a-z_]+) = (.+)/\2 \4/p' "$file" |
    sort > "$WORK/defaults"
  [ "$(wc -l < "$WORK/defaults")" -ge 20 ] || { cat "$WORK/defaults"; return 1; }
  diff "$WORK/defaults" \
    <(sql "select lower(variable_name), default_value from information_schema.system_variables" |
        awk -v OFS=' ' 'NR == FNR { named[$1]; next } $1 in named { print $1, $2 }' "$WORK/defaults" - | sort)
}

# It sets extra_socket, which lets an administrator in.
check_extra_socket()
{
  equal /run/mysqld/extra.sock \
    "$(in_chroot mariadb --socket=/run/mysqld/extra.sock -N -B -e 'select @@extra_socket')"
}

# With every line in force, our server knows all names; Debian's starts as well.
check_config_in_full()
{
  sed -E -e 's/^#((loose_)?(thread_pool|extra_)[a-z_]+ = .+)/\1/' \
    "$CHROOT/etc/mysql/mariadb.conf.d/60-millrace.cnf" > "$CHROOT/mnt/new/full.cnf"
  in_chroot mariadbd --defaults-file=/mnt/new/full.cnf --help --verbose > /dev/null 2> "$WORK/full" || return
  ! grep -E 'unknown (variable|option)' "$WORK/full" || return
  in_chroot /opt/stock/usr/sbin/mariadbd --defaults-file=/mnt/new/full.cnf --help --verbose \
    --lc-messages-dir="/opt/stock/usr/share/$SERVER_SHARE" > /dev/null
}

# A later revision of ours: the same package with another number.
check_upgrade_of_ours()
{
  local later=${OURS}0 started
  rm -rf "$WORK/later"
  dpkg-deb -R "$CORE_DEB" "$WORK/later"
  sed -i "s/^Version: .*/Version: $later/" "$WORK/later/DEBIAN/control"
  dpkg-deb --root-owner-group -Zgzip -z1 -b "$WORK/later" "$CHROOT/mnt/new/later.deb" > /dev/null
  rm -rf "$WORK/later"
  started=$(start_time)
  # Times are whole seconds.
  sleep 2
  apt_in install /mnt/new/later.deb && is_server "$OUR_VERSION" || return
  equal "mariadb-server-core $later installed" "$(versions_of_packages | grep '^mariadb-server-core ')" || return
  [ "$(start_time)" -gt $((started + 1)) ] || { echo "not restarted"; return 1; }
  apt_in install --allow-downgrades /mnt/new/core.deb && is_server "$OUR_VERSION"
}

test_config()
{
  check "millrace-config switches the pool on" check_pool_is_on
  check "millrace-config names every variable" check_names_in_config
  check "millrace-config has the defaults" check_defaults_in_config
  check "millrace-config opens the extra socket" check_extra_socket
  check "millrace-config with every line in force" check_config_in_full
  check_tables 2 "with the pool"
  check "upgrade to a later revision of ours" check_upgrade_of_ours
  check "mariadb-dump of Debian, with the pool" check_dump
}

# --- a later release of Debian's ---------------------------------------------

# A later release of Debian's: apt would replace ours by it, unless it is held.
check_newer_debian_replaces()
{
  local plan
  plan=$(in_chroot apt-get -s upgrade)
  grep -q "^Inst mariadb-server-core .*($1 " <<< "$plan" || { echo "$plan" | grep mariadb; return 1; }
}

# A hold keeps ours, and with it what the documents say: the server, its plugins and
# the client programs.
check_hold()
{
  local plan
  in_chroot apt-mark hold mariadb-server-core > /dev/null
  plan=$(in_chroot apt-get -s upgrade)
  in_chroot apt-mark unhold mariadb-server-core > /dev/null
  if grep -E '^(Inst|Remv) mariadb-(server|client|plugin)' <<< "$plan"; then return 1; fi
  sed -n '/kept back:/,/^[^ ]/p' <<< "$plan" | grep -w mariadb-server-core > /dev/null ||
    { echo "$plan"; return 1; }
}

test_newer_debian()
{
  local newest
  rm "$CHROOT/etc/apt/preferences.d/pin"
  newest=$(newest_debian)
  if [ "$newest" = "$DEBIAN_VERSION" ]; then
    skip "a later release of Debian's" "there is none yet"
  else
    check "Debian's $newest replaces ours at an upgrade" check_newer_debian_replaces "$newest"
    check "a hold keeps ours" check_hold
  fi
  pin
}

# --- the way back ------------------------------------------------------------

# The one command of doc/packaging.md, and the mark that it speaks of.
go_back()
{
  apt_in install --allow-downgrades --purge \
    "mariadb-server-core=$DEBIAN_VERSION" millrace-config- &&
    in_chroot apt-mark auto mariadb-server-core > /dev/null
}

check_back()
{
  go_back && is_server "$STOCK_VERSION" || return
  equal one-thread-per-connection "$(sql 'select @@thread_handling')" || return
  diff "$WORK/versions" <(versions_of_packages) && diff "$WORK/marked" <(marked_packages)
}

test_way_back()
{
  check "back to Debian's version in one command" check_back
  check_tables 3 "back"
  rm "$CHROOT/etc/mysql/mariadb.conf.d/99-test.cnf"
  check "purge" purge_all
  check "purge leaves no more than Debian's own" check_leftovers
}

# --- a machine without MariaDB -----------------------------------------------

# Everything in one command, as the Dockerfile has it in two.
install_all_at_once()
{
  cp "$CORE_DEB" "$CHROOT/mnt/new/core.deb"
  cp "$CONFIG_DEB" "$CHROOT/mnt/new/config.deb"
  apt_in install --no-install-recommends mariadb-server="$DEBIAN_VERSION" \
    /mnt/new/core.deb /mnt/new/config.deb
}

check_fresh_install()
{
  install_all_at_once && is_server "$OUR_VERSION" &&
    equal pool-of-threads "$(sql 'select @@thread_handling')"
}

# millrace-tools beside a server with the pool on: it runs, has its page, and goes without a trace.
check_tools()
{
  cp "$TOOLS_DEB" "$CHROOT/mnt/new/tools.deb"
  apt_in install --no-install-recommends /mnt/new/tools.deb || return
  equal '' "$(in_chroot dpkg -V millrace-tools 2>&1)" || return
  [ -e "$CHROOT/usr/share/man/man1/tptop.1.gz" ] || { echo "no manual page"; return 1; }
  tptop_shows_pool || return
  apt_in purge millrace-tools || return
  equal '' "$(cd "$CHROOT/usr" && find bin/tptop share/doc/millrace-tools share/man/man1/tptop.1.gz 2> /dev/null)"
}

# millrace-config removed, not purged: its file stays, and the server runs.
check_remove_config()
{
  apt_in remove millrace-config && is_server "$OUR_VERSION" || return
  [ -e "$CHROOT/etc/mysql/mariadb.conf.d/60-millrace.cnf" ] &&
    [ ! -e "$CHROOT/lib/systemd/system/mariadb.service.d" ]
}

# A real upgrade to Debian's later release $1: its server, with the file of
# millrace-config, starts with stock's pool.
check_upgrade_to_newer()
{
  rm -f "$CHROOT/etc/apt/preferences.d/pin"
  apt_online upgrade --download-only && apt_in upgrade || return
  equal "mariadb-server-core $1 installed" "$(versions_of_packages | grep '^mariadb-server-core ')" || return
  is_server "^$(sed -E 's/^[0-9]+:([0-9.]+)-.*/\1/' <<< "$1")-MariaDB-[0-9]" || return
  equal pool-of-threads "$(sql 'select @@thread_handling')"
}

# On a machine that has the later release $1: apt would take mariadb-server away for
# ours, and says so; with --no-remove, as in the documents, it refuses.
check_newer_debian_refuses()
{
  local out
  equal "mariadb-server $1 installed" "$(versions_of_packages | grep '^mariadb-server ')" || return
  out=$(in_chroot apt-get -s install /mnt/new/core.deb 2>&1) || { echo "$out"; return 1; }
  grep -q '^Remv mariadb-server ' <<< "$out" || { echo "$out"; return 1; }
  if out=$(in_chroot apt-get -s install --no-remove /mnt/new/core.deb 2>&1); then echo "$out"; return 1; fi
  grep -q 'remove is disabled' <<< "$out" || { echo "$out"; return 1; }
}

# The lines of doc/packaging.md that bring the base back, then ours over it. It
# stays at the next upgrade.
check_way_from_newer()
{
  local preferences=$CHROOT/etc/apt/preferences.d/mariadb-base plan
  printf 'Package: src:mariadb\nPin: version %s\nPin-Priority: 1001\n' "$DEBIAN_VERSION" > "$preferences"
  apt_online dist-upgrade --allow-downgrades --download-only &&
    apt_in dist-upgrade --allow-downgrades && is_server "$STOCK_VERSION" || return
  sed -i s/1001/990/ "$preferences"
  apt_in install /mnt/new/core.deb && is_server "$OUR_VERSION" || return
  plan=$(in_chroot apt-get -s upgrade) && ! grep -E '^(Inst|Remv) mariadb' <<< "$plan"
}

# Without root and without the tools, build.sh names the packages to install.
check_missing_tools()
{
  local place=$CHROOT/mnt/checkout command out
  mkdir -p "$place"
  cp -r "$ROOT"/{build.sh,ci,VERSION,series,patches,bases,packaging,doc} "$place/"
  chmod -R a+rwX "$place"
  for command in deb:debhelper rpm:rpm tarball:patchelf; do
    if out=$(in_chroot setpriv --reuid=65534 --regid=65534 --clear-groups \
               /mnt/checkout/build.sh "${command%:*}" 2>&1); then echo "$out"; return 1; fi
    grep -qE "apt-get install .* ${command#*:}( |\$)" <<< "$out" || { echo "$out"; return 1; }
  done
  rm -rf "$place"
}

test_fresh_machine()
{
  local newest
  stop_chroot
  rm -rf "$WORK/machine"
  cp -a "$WORK/bare" "$WORK/fresh"
  start_chroot "$WORK/fresh"
  check "without the tools, build.sh names the packages" check_missing_tools
  check "everything at once on a machine without MariaDB" check_fresh_install
  check "millrace-tools: tptop shows the pool, and is purged" check_tools
  check "millrace-config removed, not purged" check_remove_config
  check "purge of ours" purge_all
  check "no server is left running" no_process_of_server
  check "purge of ours leaves no more than Debian's own" check_leftovers
  newest=$(newest_debian)
  if [ "$newest" = "$DEBIAN_VERSION" ]; then
    skip "an upgrade to a later release of Debian's" "there is none yet"
  else
    check "everything at once, once more" check_fresh_install
    check "upgrade to Debian's $newest, with millrace-config" check_upgrade_to_newer "$newest"
    check "with Debian's $newest there, ours is refused" check_newer_debian_refuses "$newest"
    check "back from $newest to the base, and ours" check_way_from_newer
  fi
  stop_chroot
  rm -rf "$WORK/fresh"
}

# --- under systemd -----------------------------------------------------------

check_service_of_debian()
{
  apt_in install --no-install-recommends mariadb-server="$DEBIAN_VERSION" &&
    is_server "$STOCK_VERSION" && limits_are 32768 0
}

check_service_of_ours()
{
  restarts_service install_ours && is_server "$OUR_VERSION" && limits_are 32768 0
}

check_service_with_config()
{
  restarts_service install_config && limits_are 262144 20 &&
    equal pool-of-threads "$(sql 'select @@thread_handling')"
}

# A stopped server stays stopped.
check_stopped_service()
{
  # The socket would start it again.
  in_chroot systemctl stop mariadb.socket mariadb
  apt_in install --reinstall /mnt/new/core.deb || return
  if in_chroot systemctl is-active --quiet mariadb; then echo "it was started"; return 1; fi
  in_chroot systemctl start mariadb && is_server "$OUR_VERSION"
}

check_service_back()
{
  restarts_service go_back && is_server "$STOCK_VERSION" && limits_are 32768 0 &&
    equal one-thread-per-connection "$(sql 'select @@thread_handling')"
}

# In a copy of the bare system with systemd.
test_systemd()
{
  cp -a "$WORK/bare" "$WORK/booted"
  start_chroot "$WORK/booted"
  # shellcheck disable=SC2086
  apt_in install --no-install-recommends $SYSTEMD_PACKAGES
  stop_chroot
  if boot_chroot "$WORK/booted"; then
    check "service: Debian's" check_service_of_debian
    check "service: ours" check_service_of_ours
    check "service: the limits of millrace-config" check_service_with_config
    check "service: a stopped server stays stopped" check_stopped_service
    check "service: back" check_service_back
  else
    skip "the service" "systemd cannot be booted in a folder here"
  fi
  stop_chroot
  rm -rf "$WORK/booted"
}
