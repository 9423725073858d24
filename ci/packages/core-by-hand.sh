# Of the story core of ci/test-packages: what needs no package, the tarball and ./build.sh install.
# shellcheck shell=bash

# In a system that has none of the libraries.
check_tarball()
{
  local name ask answer
  name=$(basename "$TARBALL_FILE" .tar.gz)
  ask=(in_chroot "/opt/$name/bin/mariadb" --no-defaults --socket=/srv/tarball/mariadb.sock -N -B -e)
  tar -xzf "$TARBALL_FILE" -C "$CHROOT/opt" || return
  in_chroot setsid "/opt/$name/bin/millrace-server" /srv/tarball --port=3312 \
    < /dev/null > "$WORK/tarball.log" 2>&1 &
  comes_up 60 "$WORK/tarball.log" "${ask[@]}" 'select 1' || return
  answer=$("${ask[@]}" 'select version(), @@thread_handling')
  in_chroot "/opt/$name/bin/mariadb-admin" --no-defaults --socket=/srv/tarball/mariadb.sock shutdown
  equal "$(stack_sha256)" "$(cat "$CHROOT/opt/$name/share/doc/millrace/stack.sha256")" &&
    equal "$UPSTREAM_VERSION-MariaDB-$MILLRACE_REVISION"$'\t'pool-of-threads "${answer%-log*}" &&
    names_no_place "$CHROOT/opt/$name"
}

# Nothing below $1 names the directory that it was built in.
names_no_place() { ! grep -rlF -e "$BUILD" -- "$1"; }

install_to()
{
  "$ROOT/build.sh" install --prefix "$1" > "$WORK/install.log" 2>&1 ||
    { tail -n 10 "$WORK/install.log"; return 1; }
}

# ./build.sh install into an empty directory, and a server from there, by hand, in
# a network of its own. It has the libraries of this machine. Once more while it
# runs: it goes on, with the files that it had.
check_install()
{
  local prefix=$WORK/prefix data=$WORK/prefix-data waited=$SECONDS ask answer pid
  ask=("$prefix/bin/mariadb" --no-defaults --socket="$data/mariadb.sock" -N -B -e)
  mkdir -m 700 "$prefix"
  install_to "$prefix" || return
  names_no_place "$prefix" || return
  # shellcheck disable=SC2016  # for the inner shell
  setpriv --pdeathsig KILL unshare --net --fork --kill-child \
    sh -c 'ip link set lo up; exec "$0" "$1" --port=3313' "$prefix/bin/millrace-server" "$data" \
    < /dev/null > "$WORK/prefix.log" 2>&1 &
  comes_up 120 "$WORK/prefix.log" "${ask[@]}" 'select 1' || return
  answer=$("${ask[@]}" 'select version(), @@thread_handling, @@bind_address')
  pid=$(cat "$data/mariadbd.pid")
  install_to "$prefix" || return
  equal 700 "$(stat -c %a "$prefix")" || return
  [[ $(readlink "/proc/$pid/exe") == *' (deleted)' ]] || { echo "overwritten while it runs"; return 1; }
  equal 1 "$("${ask[@]}" 'select 1')" || return
  kill -TERM "$pid"
  while kill -0 "$pid" 2>/dev/null; do
    if [ $((SECONDS - waited)) -ge 180 ]; then echo "it does not stop"; return 1; fi
    sleep 0.2
  done
  equal "$UPSTREAM_VERSION-MariaDB-$MILLRACE_REVISION"$'\t'pool-of-threads$'\t'127.0.0.1 "${answer/-log/}"
}

# What needs no Debian package: the tarball, and what install puts into a directory.
test_by_hand()
{
  if [ -n "$TARBALL_FILE" ]; then
    start_chroot "$WORK/bare"
    check "the tarball runs in a bare system" check_tarball
    rm -rf "$CHROOT"/opt/* "$CHROOT"/srv/*
    stop_chroot
  else
    skip "the tarball" "not built (./build.sh tarball)"
  fi
  if [ -x "$BUILD/release/sql/mariadbd" ]; then
    check "./build.sh install --prefix, and a server from there" check_install
    rm -rf "$WORK"/prefix*
  else
    skip "./build.sh install" "flavour release is not built"
  fi
}
