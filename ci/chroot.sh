# A bare Debian in a folder, with its own processes, network and mounts: what is
# started in it ends with it, and no port or file of this machine is touched.
# Used by ci/test-packages.
# shellcheck shell=bash

CHROOT='' CHROOT_PID='' CHROOT_GUARD=''

# Why there can be no such thing here; nothing if there can.
chroot_impossible()
{
  if ! is_root; then echo "only root can"
  elif ! have debootstrap; then echo "debootstrap is not installed"
  elif ! unshare --mount --pid --net --fork true 2>/dev/null; then
    echo "no namespaces (unshare) are allowed here"
  elif [ -z "$(debian_mirror)" ]; then
    echo "this machine's apt has no source for Debian $SUITE_NAME"
  fi
}

# The machine's own apt sources that are for Debian's release $SUITE_NAME, as
# files. Others may need transports and keys that a bare system does not have.
debian_sources()
{
  local file
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
    [ -f "$file" ] || continue
    ! grep -qE "^[^#]*[[:space:]]$SUITE_NAME(-[a-z]+)?([[:space:]/]|\$)" "$file" || echo "$file"
  done
}

# The address of one of them that has the release itself.
debian_mirror()
{
  local files
  mapfile -t files < <(debian_sources)
  [ ${#files[@]} -gt 0 ] || return 0
  awk -v suite="$SUITE_NAME" '
    /^[ \t]*deb[ \t]/ {
      sub(/\[[^]]*\]/, "")
      if ($3 == suite) { print $2; exit }
    }
    /^$/ { uri = "" }
    /^URIs:/ { uri = $2 }
    /^Suites:/ { for (i = 2; i <= NF; i++) if ($i == suite && uri) { print uri; exit } }
  ' "${files[@]}"
}

# make_chroot DIR: debootstrap, and this machine's way to Debian's packages.
make_chroot()
{
  local dir=$1 file
  debootstrap --variant=minbase --include=ca-certificates,debian-archive-keyring \
    "$SUITE_NAME" "$dir" "$(debian_mirror)"
  rm -f "$dir/etc/apt/sources.list"
  for file in $(debian_sources); do
    cp "$file" "$dir/etc/apt/sources.list.d/"
  done
  # Under that name, apt would not read it there.
  if [ -e "$dir/etc/apt/sources.list.d/sources.list" ]; then
    mv "$dir/etc/apt/sources.list.d/sources.list" "$dir/etc/apt/sources.list"
  fi
  apt-config dump | grep -iE '^Acquire::[a-z:]*proxy' > "$dir/etc/apt/apt.conf.d/80proxy" || true
  cp -L /etc/resolv.conf "$dir/etc/resolv.conf"
  echo "127.0.0.1 localhost" > "$dir/etc/hosts"
  # Without an init, invoke-rc.d starts nothing unless it is told to.
  printf '#!/bin/sh\nexit 0\n' > "$dir/usr/sbin/policy-rc.d"
  chmod +x "$dir/usr/sbin/policy-rc.d"
}

# start_chroot DIR: from now on in_chroot works there.
start_chroot()
{
  CHROOT=$1
  # It ends with this script, however that ends.
  # shellcheck disable=SC2016  # for the inner shell
  setpriv --pdeathsig KILL unshare --mount --pid --net --ipc --uts --fork --kill-child \
    bash -c 'set -e
      mount -t proc proc "$1/proc"
      mount -t devpts devpts "$1/dev/pts"
      mount -t tmpfs tmpfs "$1/dev/shm"
      ip link set lo up
      hostname localhost
      touch "$1/tmp/chroot-ready"
      # Not sleep itself: somebody has to collect the dead.
      while :; do sleep 3600 & wait $!; done' chroot "$1" < /dev/null 9>&- &
  CHROOT_GUARD=$!
  local waited=$SECONDS
  until [ -e "$1/tmp/chroot-ready" ]; do
    if ! kill -0 "$CHROOT_GUARD" 2>/dev/null || [ $((SECONDS - waited)) -ge 20 ]; then
      die "the namespaces for $(in_root "$1") could not be made"
    fi
    sleep 0.1
  done
  rm "$1/tmp/chroot-ready"
  CHROOT_PID=$(cat "/proc/$CHROOT_GUARD/task/$CHROOT_GUARD/children")
  CHROOT_PID=${CHROOT_PID%% *}
}

# Ends everything in it, at once; the mounts go with the namespace.
stop_chroot()
{
  [ -n "$CHROOT_GUARD" ] || return 0
  kill -KILL "$CHROOT_GUARD" 2>/dev/null || true
  wait "$CHROOT_GUARD" 2>/dev/null || true
  CHROOT_GUARD='' CHROOT_PID=''
}

# enter OPTION-OF-NSENTER... -- COMMAND...
enter()
{
  local spaces=()
  while [ "$1" != -- ]; do spaces+=("$1"); shift; done
  shift
  nsenter --target "$CHROOT_PID" "${spaces[@]}" -- chroot "$CHROOT" \
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C TERM=dumb \
      DEBIAN_FRONTEND=noninteractive "$@" 9>&-
}

in_chroot()        { enter --mount --pid --net --ipc --uts -- "$@"; }
# With this machine's network, for apt only.
in_chroot_online() { enter --mount --pid --ipc --uts -- "$@"; }
