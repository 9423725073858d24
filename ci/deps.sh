# Step deps: the Debian packages that building and testing needs.
# shellcheck shell=bash

# Tools of ours, then the libraries of the distribution's own Build-Depends.
PACKAGES="build-essential cmake ninja-build ccache mold bison quilt patch perl
  xz-utils gpg ca-certificates curl util-linux dwarves shellcheck tmux
  libaio-dev libboost-dev libbz2-dev libcrack2-dev libcurl4-openssl-dev
  libedit-dev libfmt-dev libjemalloc-dev libkrb5-dev liblz4-dev liblzma-dev
  liblzo2-dev libncurses-dev libnuma-dev libpam0g-dev libpcre2-dev
  libsnappy-dev libssl-dev libsystemd-dev liburing-dev libxml2-dev libzstd-dev
  uuid-dev zlib1g-dev"
PACKAGES_FULL="libjudy-dev unixodbc-dev"
PACKAGES_DEB="debhelper dh-exec fakeroot lsb-release po-debconf psmisc
  libjudy-dev libmariadb-dev unixodbc-dev"
# What Debian's packaging of 11.8 asks for besides
PACKAGES_DEB_11="default-jdk dh-package-notes"
PACKAGES_OTHER_RELEASE="debootstrap hostname iproute2 util-linux"
PACKAGES_RPM="rpm"
PACKAGES_TARBALL="patchelf"
PACKAGES_TEST_PACKAGES="binutils debootstrap hostname iproute2 lintian util-linux"
PACKAGES_BENCH="gnuplot-nox fonts-dejavu-core"

# Without these nothing works, on any system.
ESSENTIAL_TOOLS="gcc g++ cmake ninja bison quilt patch perl tar gzip flock"
# For packages in RPM; rpmbuild itself says what else they need.
ESSENTIAL_TOOLS_RPM="rpmbuild patch perl tar gzip flock"

has_pmem()
{
  case $(dpkg --print-architecture 2>/dev/null || uname -m) in
    amd64|arm64|ppc64el|riscv64) return 0 ;;
  esac
  return 1
}

packages_needed()
{
  local list=$PACKAGES
  if [ "$COMMAND" = test-packages ]; then list=$PACKAGES_TEST_PACKAGES; fi
  if has_pmem; then list+=" libpmem-dev"; fi
  if [ "$FULL" = yes ]; then list+=" $PACKAGES_FULL"; fi
  case $COMMAND in
    bench)   list+=" $PACKAGES_BENCH" ;;
    deb)     list+=" $PACKAGES_DEB"
             if in_other_release; then list+=" $PACKAGES_OTHER_RELEASE"
             elif [[ $UPSTREAM_VERSION != 10.* ]]; then list+=" $PACKAGES_DEB_11"; fi ;;
    rpm)     list+=" $PACKAGES_RPM" ;;
    tarball) list+=" $PACKAGES_TARBALL" ;;
  esac
  # One line.
  read -r -d '' -a list <<< "$list" || true
  echo "${list[*]}"
}

packages_missing()
{
  local package
  for package in $(packages_needed); do
    # A word for each architecture; "not-installed" for one that dpkg only knows.
    case " $(dpkg-query -W -f='${db:Status-Status} ' "$package" 2>/dev/null)" in
      *" installed "*) ;;
      *) echo "$package" ;;
    esac
  done
}

step_deps()
{
  if ! have apt-get || ! have dpkg-query; then
    deps_without_apt
    return
  fi
  local missing
  missing=$(packages_missing | paste -s -d ' ')
  if [ -z "$missing" ]; then
    note "all there"
    return
  fi
  note "missing: $missing"

  local as_root=()
  if ! is_root; then
    if have sudo && sudo -n true 2>/dev/null; then
      as_root=(sudo -n)
    else
      die "neither root nor sudo without a password; install them yourself with" \
        $'\n\n'"  sudo apt-get update && sudo apt-get install --no-install-recommends $missing" \
        $'\n\n'"and run ./build.sh $COMMAND again"
    fi
  fi
  STEP_LOG=$LOGS/deps.log
  : > "$STEP_LOG"
  note "apt-get update"
  apt_get update || apt_failed "apt-get update"
  note "apt-get install (log: $(in_root "$STEP_LOG"))"
  # shellcheck disable=SC2086  # a list of words
  apt_get install -y --no-install-recommends $missing ||
    apt_failed "apt-get install"
}

apt_get()
{
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q \
    -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "$@" \
    < /dev/null >> "$STEP_LOG" 2>&1
}

apt_failed()
{
  tail -n 15 "$STEP_LOG" >&2
  die "$1 failed; the whole log is $(in_root "$STEP_LOG")"
}

deps_without_apt()
{
  local tool missing='' tools=$ESSENTIAL_TOOLS
  if [ "$COMMAND" = rpm ]; then
    tools=$ESSENTIAL_TOOLS_RPM
    note "this system has no apt-get: nothing is installed for you. rpmbuild is in the" \
         "package rpm-build; what the packages need, dnf builddep finds in the source RPM."
  else
    note "this system has no apt-get: nothing is installed for you. Needed is" \
         "what these Debian packages hold:"
    packages_needed | fold -s -w 70 | sed 's/^/      /'
  fi
  for tool in $tools; do have "$tool" || missing+=" $tool"; done
  [ -z "$missing" ] || die "these tools are missing:$missing"
}
