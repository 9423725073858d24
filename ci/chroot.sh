# A bare Debian in a folder, with its own processes, network and mounts: what is
# started in it ends with it, and no port or file of this machine is touched.
# Used by ci/test-packages, and to build packages for another release of Debian.
# shellcheck shell=bash

# shellcheck disable=SC2034  # for who uses this
CHROOT='' CHROOT_PID='' CHROOT_GUARD='' CHROOT_CGROUP=''
# What CHROOT is called inside: itself, or / if it was booted.
CHROOT_INSIDE=''

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
# files. Others may need transports and keys that a bare system does not have. If
# the machine has another release, copies of its files, made for this one.
debian_sources()
{
  local file here derived
  here=$(this_suite)
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
    [ -f "$file" ] || continue
    if [ -n "$here" ] && [ "$here" != "$SUITE_NAME" ]; then
      mkdir -p "$STATE/apt-$SUITE_NAME"
      derived=$STATE/apt-$SUITE_NAME/$(basename "$file")
      entries_for_suite "$SUITE_NAME" "${file##*.}" < "$file" > "$derived"
      file=$derived
    fi
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
  local dir=$1
  debootstrap --variant=minbase --include=ca-certificates,debian-archive-keyring \
    "$SUITE_NAME" "$dir" "$(debian_mirror)" || return
  connect_chroot "$dir"
  echo "127.0.0.1 localhost" > "$dir/etc/hosts"
  # Without an init, invoke-rc.d starts nothing unless it is told to.
  printf '#!/bin/sh\nexit 0\n' > "$dir/usr/sbin/policy-rc.d"
  chmod +x "$dir/usr/sbin/policy-rc.d"
}

# connect_chroot DIR: this machine's package sources, proxy and name servers. Again for one that was kept: they
# may have changed.
connect_chroot()
{
  local dir=$1 file
  rm -f "$dir/etc/apt/sources.list" "$dir"/etc/apt/sources.list.d/*
  for file in $(debian_sources); do
    cp "$file" "$dir/etc/apt/sources.list.d/"
  done
  # Under that name, apt would not read it there.
  if [ -e "$dir/etc/apt/sources.list.d/sources.list" ]; then
    mv "$dir/etc/apt/sources.list.d/sources.list" "$dir/etc/apt/sources.list"
  fi
  apt-config dump | grep -iE '^Acquire::[a-z:]*proxy' > "$dir/etc/apt/apt.conf.d/80proxy" || true
  rm -f "$dir/etc/resolv.conf"
  cp -L /etc/resolv.conf "$dir/etc/resolv.conf" || true
}

# start_chroot DIR: from now on in_chroot works there.
start_chroot()
{
  CHROOT=$1 CHROOT_INSIDE=$1
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
  wait_for_chroot "$1/tmp/chroot-ready" ||
    die "the namespaces for $(in_root "$1") could not be made"
}

# wait_for_chroot FILE: until FILE is there; then CHROOT_PID is the first process.
wait_for_chroot()
{
  local waited=$SECONDS
  until [ -e "$1" ]; do
    if ! kill -0 "$CHROOT_GUARD" 2>/dev/null || [ $((SECONDS - waited)) -ge 20 ]; then return 1; fi
    sleep 0.1
  done
  rm "$1"
  CHROOT_PID=$(cat "/proc/$CHROOT_GUARD/task/$CHROOT_GUARD/children")
  CHROOT_PID=${CHROOT_PID%% *}
}

# boot_chroot DIR: the same with systemd, which is installed there, as the first
# process, in a control group of its own. Not everywhere possible: status 1 then.
boot_chroot()
{
  CHROOT=$1 CHROOT_INSIDE=/
  CHROOT_CGROUP=$(findmnt -n -o TARGET -t cgroup2 | head -n 1)$(sed -n 's/^0:://p' /proc/self/cgroup)
  CHROOT_CGROUP=${CHROOT_CGROUP%/}/millrace-$$
  mkdir "$CHROOT_CGROUP" 2>/dev/null || { CHROOT_CGROUP=''; return 1; }
  # The root has to be a mount, not only a chroot: services have mounts of their own.
  # shellcheck disable=SC2016  # for the inner shell
  ( echo "$BASHPID" > "$CHROOT_CGROUP/cgroup.procs" &&
    exec setpriv --pdeathsig KILL unshare --mount --pid --net --ipc --uts --cgroup --fork --kill-child \
      bash -c 'set -e
        cd "$1"
        mount --bind "$1" "$1"
        cd "$1"
        mount -t proc proc proc
        mount -t tmpfs tmpfs run
        mount -t tmpfs -o mode=755 tmpfs dev
        for name in null zero full random urandom tty; do
          touch dev/$name
          mount --bind /dev/$name dev/$name
        done
        mkdir dev/pts dev/shm
        mount -t devpts devpts dev/pts
        mount -t tmpfs tmpfs dev/shm
        ln -s /proc/self/fd dev/fd
        mount -t sysfs -o ro sysfs sys
        mount -t cgroup2 cgroup2 sys/fs/cgroup
        ip link set lo up
        hostname localhost
        touch chroot-ready
        mkdir -p mnt/old
        pivot_root . mnt/old
        cd /
        umount -l mnt/old
        exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin \
          /lib/systemd/systemd --system --unit=multi-user.target' chroot "$1" ) \
    < /dev/null > "$1.log" 2>&1 9>&- &
  CHROOT_GUARD=$!
  wait_for_chroot "$1/chroot-ready" || { stop_chroot; return 1; }
  local waited=$SECONDS state=''
  until [[ $state =~ ^(running|degraded)$ ]]; do
    state=$(in_chroot systemctl is-system-running 2>/dev/null || true)
    if [ $((SECONDS - waited)) -ge 60 ]; then stop_chroot; return 1; fi
    sleep 0.5
  done
}

# Ends everything in it, at once; the mounts go with the namespace.
stop_chroot()
{
  [ -n "$CHROOT_GUARD" ] || return 0
  kill -KILL "$CHROOT_GUARD" 2>/dev/null || true
  wait "$CHROOT_GUARD" 2>/dev/null || true
  CHROOT_GUARD='' CHROOT_PID=''
  if [ -n "$CHROOT_CGROUP" ]; then
    find "$CHROOT_CGROUP" -depth -type d -exec rmdir {} + 2>/dev/null || true
    CHROOT_CGROUP=''
  fi
}

# enter OPTION-OF-NSENTER... -- COMMAND...
enter()
{
  local spaces=()
  while [ "$1" != -- ]; do spaces+=("$1"); shift; done
  shift
  nsenter --target "$CHROOT_PID" "${spaces[@]}" -- chroot "$CHROOT_INSIDE" \
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C TERM=dumb \
      DEBIAN_FRONTEND=noninteractive "$@" 9>&-
}

in_chroot()        { enter --mount --pid --net --ipc --uts -- "$@"; }
# With this machine's network, for apt only.
in_chroot_online() { enter --mount --pid --ipc --uts -- "$@"; }
