# Steps deb, rpm, tarball and install: what an administrator installs. The
# results are in build/packages, each with its sha256 beside it.
# shellcheck shell=bash

# shellcheck source=ci/chroot.sh
. "$ROOT/ci/chroot.sh"

PACKAGING=$ROOT/packaging
PACKAGES_DIR=$BUILD/packages
PACKAGE_VERSION=$DEBIAN_VERSION+$MILLRACE_REVISION
MAINTAINER="Millrace developers <millrace@packages.invalid>"

# The time that everything in a package carries: SOURCE_DATE_EPOCH if given, else
# the newest Last-Update of the stack, so that the same stack gives the same bytes.
package_time()
{
  if [ -n "${SOURCE_DATE_EPOCH-}" ]; then
    [[ $SOURCE_DATE_EPOCH =~ ^[0-9]+$ ]] ||
      die "SOURCE_DATE_EPOCH is no number of seconds: $SOURCE_DATE_EPOCH"
    echo "$SOURCE_DATE_EPOCH"
    return
  fi
  local name newest
  newest=$(for name in $(stack_names); do
             sed -n '/^--- /q; s/^Last-Update: *//p' "$(patch_file "$name")"
           done | sort | tail -n 1)
  date -u -d "${newest:?no Last-Update in the stack}" +%s
}

# publish FILE...: moves them to $PUBLISH_TO, with a checksum each. The names in a
# checksum file are bare, so that sha256sum -c works wherever they lie.
PUBLISH_TO=$PACKAGES_DIR
publish()
{
  local file name
  mkdir -p "$PUBLISH_TO"
  for file in "$@"; do
    name=$(basename "$file")
    mv -f "$file" "$PUBLISH_TO/$name"
    ( cd "$PUBLISH_TO" && sha256sum "$name" > "$name.sha256" )
    note "$(in_root "$PUBLISH_TO")/$name, $(du -h "$PUBLISH_TO/$name" | cut -f1)"
  done
}

# withdraw PATTERN: what an earlier build published under such names, perhaps of
# another revision.
withdraw()
{
  [ ! -d "$PUBLISH_TO" ] ||
    find "$PUBLISH_TO" -maxdepth 1 \( -name "$1" -o -name "$1.sha256" \) -delete
}

# add_monitoring DIR: what watches the server, see doc/monitoring.md.
add_monitoring()
{
  mkdir -p "$1"/{sql,prometheus,grafana}
  install -m 644 "$PACKAGING"/sql/*.sql "$1/sql/"
  install -m 644 "$PACKAGING"/prometheus/*.yml "$1/prometheus/"
  install -m 755 "$PACKAGING/prometheus/check-metrics" "$1/prometheus/"
  install -m 644 "$PACKAGING/grafana/millrace.json" "$1/grafana/"
}

# need_tool TOOL PACKAGE: for those who install packages themselves.
need_tool()
{
  have "$1" || die "$1 is missing; it is in the package $2"
}

# logged COMMAND...: into $STEP_LOG, with a line of progress now and then.
logged()
{
  note "log: $(in_root "$STEP_LOG")"
  if ! "$@" < /dev/null 2>&1 | tee "$STEP_LOG" | thin_out; then
    tail -n 25 "$STEP_LOG" >&2
    die "it failed; the whole log is $(in_root "$STEP_LOG")"
  fi
}

# --- DEB ---------------------------------------------------------------------

# Packages of another base are for another release of Debian: they are built in a bare one
# of that release, in a folder, where they get its libraries and its compiler.
DEB_ROOT=$BUILD/deb-root
DEB_DIR=$BUILD/deb
[ -z "$BASE" ] || [ "$DEBIAN_SUITE" = "$(this_suite)" ] || DEB_DIR=$DEB_ROOT/build
DEB_TREE=$DEB_DIR/tree
SUITE_NAME=$DEBIAN_SUITE

in_other_release() { [ "$DEB_DIR" != "$BUILD/deb" ]; }

step_deb()
{
  need_debian_packaging
  if [ "$FULL" = yes ]; then need_space 17000 "Debian's whole package set"
  elif in_other_release; then need_space 6500 "the package, and a Debian $SUITE_NAME to build it in"
  else need_space 4000 "the package"; fi
  if in_other_release; then
    prepare_other_release
  else
    need_tool dpkg-buildpackage dpkg-dev
    need_tool dh debhelper
  fi
  prepare_debian_tree
  STEP_LOG=$LOGS/deb.log
  if in_other_release; then logged build_debs_there; else logged build_debs; fi
  publish_debs
  mark_packages
}

# The next time, ccache has the objects: CI wants to know how long it will take.
mark_packages()
{
  if in_other_release || [ "$FULL" = yes ]; then return; fi
  mark_ccache millrace-packages
}

# It is kept for the next time.
prepare_other_release()
{
  local why
  why=$(chroot_impossible)
  [ -z "$why" ] || die "packages for Debian $SUITE_NAME are built in a folder that has it," \
    "but $why"
  if [ -e "$DEB_ROOT/etc/debian_version" ]; then connect_chroot "$DEB_ROOT"; return; fi
  note "a bare Debian $SUITE_NAME in $(in_root "$DEB_ROOT")"
  rm -rf "$DEB_ROOT" "$DEB_ROOT.new"
  STEP_LOG=$LOGS/deb-root.log
  make_chroot "$DEB_ROOT.new" > "$STEP_LOG" 2>&1 < /dev/null ||
    { tail -n 5 "$STEP_LOG" >&2; die "debootstrap failed; the whole log is $(in_root "$STEP_LOG")"; }
  mv "$DEB_ROOT.new" "$DEB_ROOT"
}

# The network is for apt only. ccache's directory is the user's, as elsewhere.
build_debs_there()
{
  local cache jobs inside=/${DEB_TREE#"$DEB_ROOT/"} apt=(apt-get -q -y -o Dpkg::Use-Pty=0)
  jobs=$(cores)
  start_chroot "$DEB_ROOT"
  in_chroot_online "${apt[@]}" update || return
  in_chroot_online "${apt[@]}" install --no-install-recommends build-essential ccache || return
  in_chroot_online env DEB_BUILD_PROFILES=nocheck \
    "${apt[@]}" build-dep --no-install-recommends "$inside" || return
  mkdir -p "$DEB_ROOT/ccache"
  if have ccache && cache=$(ccache -k cache_dir 2>/dev/null) && mkdir -p "$cache"; then
    nsenter --target "$CHROOT_PID" --mount -- mount --bind "$cache" "$DEB_ROOT/ccache" || return
  fi
  # shellcheck disable=SC2016  # for the inner shell
  in_chroot env CCACHE_DIR=/ccache CCACHE_BASEDIR="$inside" CCACHE_SLOPPINESS=pch_defines,time_macros \
    CCACHE_MAXSIZE="${CCACHE_MAXSIZE:-10G}" DEB_BUILD_PROFILES=nocheck \
    DEB_BUILD_OPTIONS="nocheck parallel=$jobs" \
    sh -c 'cd "$1" && dpkg-buildpackage --build=binary --no-sign' sh "$inside" || return
  stop_chroot
}

# Debian's part of the source package. It is there if the source came by apt.
need_debian_packaging()
{
  local found
  if [ ! -e "$DEBIAN_TARBALL" ]; then
    note "Debian's packaging is not here yet"
    fetch_by_apt || die "Debian's packaging of $DEBIAN_VERSION could not be fetched." \
      $'\n'"It is the file *.debian.tar.xz of the source package $DEBIAN_SOURCE;" \
      $'\n'"put it at $(in_root "$DEBIAN_TARBALL")"
    rm -f "$NEW_FILE" "$NEW_FILE.asc"
  fi
  found=$(tar -xJOf "$DEBIAN_TARBALL" debian/changelog |
            sed -n '1s/.*(\(.*\)).*/\1/p')
  [ "$found" = "$DEBIAN_VERSION" ] ||
    die "$(in_root "$DEBIAN_TARBALL") is of $found, VERSION names $DEBIAN_VERSION;" \
        "remove it"
}

# Upstream's tree with Debian's packaging, our stack at the end of its series.
# Made anew each time: ccache makes that cheap, and nothing old can stay in it.
prepare_debian_tree()
{
  note "the source tree, with Debian's packaging"
  rm -rf "$DEB_DIR"
  mkdir -p "$DEB_DIR"
  cp -a "$STOCK_SRC" "$DEB_TREE"
  rm "$DEB_TREE/$SUITE"
  # As dpkg-source does: nothing of upstream's own packaging stays beside Debian's.
  rm -rf "$DEB_TREE/debian"
  tar -xJf "$DEBIAN_TARBALL" --no-same-owner -C "$DEB_TREE"
  ( cd "$DEB_TREE/debian" || exit
    append_stack
    add_changelog_entry
    add_config_package
    add_tools_package
    claim_maintenance
    if [ "$FULL" = yes ]; then complete_full_set; else narrow_to_core; fi )
}

append_stack()
{
  local name
  for name in $(stack_names); do
    mkdir -p "patches/millrace/$(dirname "$name")"
    cp "$(patch_file "$name")" "patches/millrace/$name"
    echo "millrace/$name" >> patches/series
  done
}

add_changelog_entry()
{
  { printf '%s (%s) %s; urgency=medium\n\n' "$DEBIAN_SOURCE" "$PACKAGE_VERSION" "$DEBIAN_SUITE"
    printf '  * Millrace %s: the thread pool, by these patches:\n' "$MILLRACE_REVISION"
    stack_names | sed 's|^|    - |'
    printf '  * The sha256 of the stack:\n    %s\n' "$(stack_sha256)"
    printf '\n -- %s  %s\n\n' "$MAINTAINER" "$(date -uR -d "@$(package_time)")"
    cat changelog
  } > changelog.new
  mv changelog.new changelog
}

add_config_package()
{
  local file
  mkdir millrace
  perl "$PACKAGING/make-config.pl" "$ROOT/doc/variables.md" \
    /usr/share/doc/millrace-config/variables.md.gz /run/mysqld/extra.sock > millrace/60-millrace.cnf
  cp "$PACKAGING/millrace.conf" "$ROOT/doc/variables.md" millrace/
  add_monitoring millrace/share
  echo debian/millrace/variables.md > millrace-config.docs
  cp "$PACKAGING"/debian/millrace-config.{install,lintian-overrides} .
  # From Debian 13 on, packages name no directory that is only a link.
  [ "$DEBIAN_SUITE" = bookworm ] ||
    sed -i 's|\([[ ]\)lib/systemd/|\1usr/lib/systemd/|' millrace-config.{install,lintian-overrides}
  for file in postinst postrm; do add_script "millrace-config.$file"; done
  cat "$PACKAGING/debian/millrace-config.control" >> control
}

# tptop. Debian's own package of the library is enough to build it.
add_tools_package()
{
  copy_tptop_source millrace/tptop
  cp "$PACKAGING/debian/tptop.mk" millrace/
  cp "$PACKAGING"/debian/millrace-tools.{install,manpages} .
  cat "$PACKAGING/debian/millrace-tools.control" >> control
  sed -i 's/^Build-Depends: */&libmariadb-dev, /' control
  printf '\ninclude debian/millrace/tptop.mk\n' >> rules
}

# add_script NAME: one of our maintainer scripts, complete.
add_script()
{
  sed -e "/^#RESTART#/{
            r $PACKAGING/debian/restart.sh
            d
          }" "$PACKAGING/debian/$1" |
    sed -e "s/@REVISION@/$MILLRACE_REVISION/g" -e "s/@BASE@/$DEBIAN_VERSION/g" > "$1"
}

# Questions about these packages are ours to answer.
claim_maintenance()
{
  sed -i -e "s/^Maintainer: .*/Maintainer: $MAINTAINER/" -e '/^Uploaders:/d' control
}

# Debian's control file, less the packages that stay Debian's. What depends on
# "this version" means Debian's, since the others have that.
narrow_to_core()
{
  local file
  mv rules rules.debian
  cp "$PACKAGING/debian/rules" rules
  # Later ones install a service by the name of a package that is none of ours.
  if grep -q '^override_dh_installsystemd:' rules.debian; then
    printf '\noverride_dh_installsystemd: ;\n' >> rules
  fi
  for file in postinst postrm; do add_script "mariadb-server-core.$file"; done
  awk -v base="$DEBIAN_VERSION" '
    BEGIN { RS = ""; ORS = "\n\n" }
    /^Package: mariadb-server-core\n/ {
      gsub(/\$\{source:Version\}/, base)
      $0 = $0 "\n .\n This build has the thread pool of Millrace. It behaves as the original until\n" \
              " the pool is switched on, which the package millrace-config does."
    }
    /^Source:/ || /^Package: (mariadb-server-core|millrace-(config|tools))\n/' control > control.new
  mv control.new control
}

# The whole set is built by Debian's rules; see packaging/debian/rules for the
# suffix. Its mariadb-server stops and starts the server, as Debian's does, so there
# is only something to say.
complete_full_set()
{
  # shellcheck disable=SC2016  # for make
  printf '\n%s\n' 'DEB_VERSION_REVISION := $(firstword $(subst +millrace, ,$(DEB_VERSION_REVISION)))' \
    >> rules
  add_script full-set.postinst
  mv full-set.postinst mariadb-server-core.postinst
}

build_debs()
{
  cd "$DEB_TREE" || return
  set_ccache "$DEB_TREE"
  # make, unlike ninja, compiles in many directories, which debug symbols name. One
  # file is compiled in two of them: it must not get the object of the other.
  unset CCACHE_NOHASHDIR
  local jobs
  jobs=$(cores)
  export DEB_BUILD_OPTIONS="nocheck parallel=$jobs" DEB_BUILD_PROFILES=nocheck
  # Only for a user's own setting; else dpkg takes the time of the changelog.
  unset SOURCE_DATE_EPOCH
  dpkg-buildpackage --build=binary --no-sign
}

# The whole set has a directory of its own: its mariadb-server-core has the name
# of the one that comes alone, but belongs to the others of the set.
publish_debs()
{
  local file
  if [ "$FULL" = yes ]; then PUBLISH_TO=$PACKAGES_DIR/full; fi
  withdraw '*.deb'
  # Debug symbols are packages too; dpkg calls them .deb here.
  for file in "$DEB_DIR"/*.deb; do publish "$file"; done
  rm -rf "$DEB_DIR"
}

# --- RPM ---------------------------------------------------------------------

RPM_TOP=$BUILD/rpm

step_rpm()
{
  if have apt-get; then need_tool rpmbuild rpm; else need_tool rpmbuild rpm-build; fi
  rm -rf "$RPM_TOP"
  mkdir -p "$RPM_TOP/SOURCES" "$RPM_TOP/SPECS"
  collect_rpm_sources
  write_spec > "$RPM_TOP/SPECS/mariadb.spec"
  find "$RPM_TOP/SOURCES" -type f -exec touch -d "@$(package_time)" {} +
  STEP_LOG=$LOGS/rpm-source.log
  logged rpmbuild_with . -bs --define '_smp_mflags %{nil}'
  if [ "$SOURCE_ONLY" = no ]; then
    need_space 9000 "the packages"
    STEP_LOG=$LOGS/rpm.log
    logged build_rpms
  fi
  check_rpms
  if [ "$SOURCE_ONLY" = yes ]; then withdraw '*.src.rpm'; else withdraw '*.rpm'; fi
  find "$RPM_TOP" -name '*.rpm' -print0 | sort -z |
    while IFS= read -r -d '' file; do publish "$file"; done
  rm -rf "$RPM_TOP"
}

collect_rpm_sources()
{
  local name
  cp --reflink=auto "$TARBALL_FILE" "$RPM_TOP/SOURCES/"
  cp "$PACKAGING"/rpm/{mariadb-prepare-db-dir,prepare-db-dir.conf} "$PACKAGING/millrace.conf" \
     "$ROOT/doc/variables.md" "$RPM_TOP/SOURCES/"
  add_monitoring "$RPM_TOP/share"
  tar -C "$RPM_TOP/share" --sort=name --mtime="@$(package_time)" --owner=0 --group=0 --numeric-owner \
    --mode=go=rX,u+rw --format=gnu -cf "$RPM_TOP/SOURCES/monitoring.tar" .
  rm -r "$RPM_TOP/share"
  perl "$PACKAGING/make-config.pl" "$ROOT/doc/variables.md" \
    /usr/share/doc/millrace-config/variables.md /var/lib/mysql/extra.sock > "$RPM_TOP/SOURCES/millrace.cnf"
  copy_tptop_source "$RPM_TOP/tptop"
  tar -C "$RPM_TOP" --sort=name --mtime="@$(package_time)" --owner=0 --group=0 --numeric-owner \
      --mode=go=rX,u+rw --format=gnu -cf "$RPM_TOP/SOURCES/tptop.tar" tptop
  # An RPM's sources lie in one directory: base names of patches are unique.
  for name in $(stack_names); do
    cp "$(patch_file "$name")" "$RPM_TOP/SOURCES/"
  done
}

# The spec with what VERSION and series say.
write_spec()
{
  local patches
  patches=$(stack_names | awk '{
    sub(".*/", ""); printf "%-15s %s\n", "Patch" NR ":", $0 }')
  sed -e "s/@VERSION@/$UPSTREAM_VERSION/g" -e "s/@REVISION@/$MILLRACE_REVISION/g" \
      -e "s/@TARBALL@/$UPSTREAM_TARBALL/g" -e "s/@MAINTAINER@/$MAINTAINER/g" \
      -e "s/@STACK@/$(stack_sha256)/g" \
      -e "s/@DATE@/$(date -u -d "@$(package_time)" '+%a %b %d %Y')/g" \
      "$PACKAGING/rpm/mariadb.spec.in" |
    awk -v patches="$patches" '$0 == "@PATCHES@" { print patches; next } { print }'
}

# rpmbuild_with TOPDIR OPTION...: the same sources give the same bytes, with no
# time of now and no name of this machine. A source RPM holds the spec with all
# macros expanded, so for that one TOPDIR is no absolute path, and the number of
# processors is left out.
rpmbuild_with()
{
  local time top=$1
  shift
  time=$(package_time)
  cd "$RPM_TOP" || return
  SOURCE_DATE_EPOCH=$time rpmbuild --define "_topdir $top" \
    --define "use_source_date_epoch_as_buildtime 1" \
    --define "clamp_mtime_to_source_date_epoch 1" \
    --define "_buildhost millrace" "$@" "$RPM_TOP/SPECS/mariadb.spec"
}

# On a distribution with RPM: as it is. On Debian the names of BuildRequires mean
# nothing, and the directories that RHEL's macros give have to be named. There,
# where the result is only for checking, the flags are those of the release
# flavour, so that ccache has most of the objects. Not in optflags: rpm writes those
# into each package, and this directory would be in it.
build_rpms()
{
  local options=() objects=$RPM_TOP/BUILD/mariadb-objects
  set_ccache "$objects"
  if [ -e /etc/debian_version ]; then
    options=(--nodeps --define "_lib lib64" --define "_libdir /usr/lib64"
             --define "_libexecdir /usr/libexec" --define "_localstatedir /var"
             --define "_sysconfdir /etc" --define "_docdir /usr/share/doc"
             --define "_unitdir /usr/lib/systemd/system"
             --define "_tmpfilesdir /usr/lib/tmpfiles.d"
             --define "_sysusersdir /usr/lib/sysusers.d"
             --define "optflags %{nil}"
             --define "millrace_flags -ffile-prefix-map=$objects=/usr/src/millrace"
             --define "build_ldflags -Wl,-z,relro -Wl,-z,now$(gcc_links_with_mold && echo " -fuse-ld=mold")")
  fi
  # rpmbuild sets LANG, which ccache counts as a difference.
  local launcher="env;-u;LANG;ccache"
  if [ -n "${LANG-}" ]; then launcher="env;LANG=$LANG;ccache"; fi
  if have ccache; then
    options+=(--define "millrace_cmake_options -DCMAKE_C_COMPILER_LAUNCHER='$launcher' -DCMAKE_CXX_COMPILER_LAUNCHER='$launcher'")
  fi
  rpmbuild_with "$RPM_TOP" -bb "${options[@]}"
}

# What can be checked without a distribution that has RPM.
check_rpms()
{
  local file packages=()
  mapfile -t packages < <(find "$RPM_TOP/RPMS" -name '*.rpm' 2>/dev/null | sort)
  for file in "$RPM_TOP"/SRPMS/*.rpm "${packages[@]}"; do
    rpm -qp --qf '    %{name} %{epoch}:%{version}-%{release} %{arch}\n' "$file" ||
      die "rpm cannot read $(in_root "$file")"
    rpm -K --nosignature "$file" > /dev/null || die "$(in_root "$file") is damaged"
    # Else another checkout would give other bytes.
    if rpm -qp --xml "$file" | grep -F -- "$BUILD"; then
      die "$(in_root "$file") names the directory that it was built in"
    fi
  done
  check_patches_in_srpm
  lint_rpms "${packages[@]}"
  [ ${#packages[@]} -eq 0 ] || install_into_empty_root "${packages[@]}"
}

# Every patch of the series is in the source RPM, and nothing else is a patch.
check_patches_in_srpm()
{
  diff <(stack_names | sed 's|.*/||' | sort) \
       <(rpm -qpl "$RPM_TOP"/SRPMS/*.rpm | grep '\.patch$' | sort) ||
    die "the patches in the source RPM are not those of series"
}

lint_rpms()
{
  if ! have rpmlint; then note "rpmlint is not installed: not run"; return; fi
  local found
  found=$(rpmlint -c "$PACKAGING/rpm/rpmlint.toml" "$RPM_TOP"/SRPMS/*.rpm "$@" 2>&1 |
            tee "$LOGS/rpmlint.log" | grep -E ': E: ' || true)
  [ -z "$found" ] || die "rpmlint finds errors:"$'\n'"$found"
  note "rpmlint: $(tail -n 1 "$LOGS/rpmlint.log")"
}

# Scripts are left out, since an empty root has no shell; users of the packages
# don't exist either.
install_into_empty_root()
{
  local root=$RPM_TOP/root out server
  mkdir -p "$root"
  rpm --root "$root" --initdb
  rpm --root "$root" --install --nodeps --noscripts --nosignature --ignorearch --ignoreos \
    "$@" > "$LOGS/rpm-root.log" 2>&1 ||
    { tail -n 10 "$LOGS/rpm-root.log" >&2; die "the packages cannot be installed"; }
  out=$(rpm --root "$root" --verify --all --nodeps --noscripts --nouser --nogroup --nomtime 2>&1 |
          grep -v '^warning:' || true)
  [ -z "$out" ] || die "not as packaged:"$'\n'"$out"
  server=$("$root/usr/libexec/mariadbd" --no-defaults --version) ||
    die "the server in the package does not run"
  [[ $server == *"$UPSTREAM_VERSION-MariaDB-$MILLRACE_REVISION"* ]] || die "it is another server: $server"
  out=$(grep -rlF -e "$BUILD" -- "$root/usr" "$root/etc" || true)
  [ -z "$out" ] || die "these name the directory that they were built in:"$'\n'"$out"
  note "installed into an empty root: ${server#*Ver }"
}

# --- installed by hand, and the tarball ---------------------------------------

# What a server and its administrator need; not headers, tests and the like.
INSTALL_COMPONENTS="Server Server_Scripts ManPagesServer Client ManPagesClient
  ClientPlugins SharedLibraries Common backup cracklib-password-check
  gssapi-server hashicorp-key-management provider-bzip2 provider-lz4
  provider-lzma provider-lzo provider-snappy"

step_install()
{
  case $PREFIX in
    /|/usr|/usr/local|/bin|/sbin|/lib|/etc)
      die "$PREFIX belongs to the whole system; give a directory of its own," \
          "or build a package: ./build.sh deb" ;;
  esac
  mkdir -p "$PREFIX" 2>/dev/null || true
  [ -w "$PREFIX" ] || die "cannot write to $PREFIX"
  stage_release "$BUILD/install"
  # Files of a server that runs from there stay what they are for it, and the
  # directory itself keeps its mode.
  cp -a --remove-destination "$BUILD"/install/* "$PREFIX/"
  rm -rf "$BUILD/install"
  note "start a server with: $PREFIX/bin/millrace-server DATA-DIRECTORY"
}

# stage_release DIR: the release flavour, below DIR as it would be below /usr.
stage_release()
{
  local stage=$1 component
  STEP_LOG=$LOGS/install.log
  rm -rf "$stage" "$stage.root"
  : > "$STEP_LOG"
  for component in $INSTALL_COMPONENTS; do
    DESTDIR=$stage.root cmake --install "$BUILD/release" --component "$component" --strip \
      >> "$STEP_LOG" 2>&1 ||
      { tail -n 5 "$STEP_LOG" >&2; die "cmake --install of $component failed"; }
  done
  # What would go to /etc and the like stays behind: nothing outside of DIR.
  mv "$stage.root/usr" "$stage"
  rm -rf "$stage.root" "$stage"/lib/{sysusers.d,tmpfiles.d}
  install -m 755 "$PACKAGING/millrace-server" "$stage/bin/millrace-server"
  install_tptop "$stage"
  perl "$PACKAGING/make-config.pl" "$ROOT/doc/variables.md" share/doc/millrace/variables.md \
    > "$stage/share/$SERVER_SHARE/millrace.cnf"
  add_monitoring "$stage/share/millrace"
  install -D -m 644 "$ROOT/doc/variables.md" "$stage/share/doc/millrace/variables.md"
  install -m 644 "$ROOT/COPYING" "$ROOT/series" "${BASE_DIR:-$ROOT}/VERSION" "$stage/share/doc/millrace/"
  stack_sha256 > "$stage/share/doc/millrace/stack.sha256"
}

step_tarball()
{
  need_tool patchelf patchelf
  local name stage
  name=mariadb-$UPSTREAM_VERSION-$MILLRACE_REVISION-linux-$(uname -m)
  stage=$BUILD/tarball/$name
  rm -rf "$BUILD/tarball"
  mkdir -p "$BUILD/tarball"
  stage_release "$stage"
  bundle_libraries "$stage"
  note "packing"
  tar -C "$BUILD/tarball" --sort=name --mtime="@$(package_time)" --owner=0 --group=0 \
      --numeric-owner --mode=go=rX,u+rw --format=gnu -cf - "$name" |
    gzip -n -9 > "$BUILD/tarball/$name.tar.gz"
  withdraw 'mariadb-*-linux-*.tar.gz'
  publish "$BUILD/tarball/$name.tar.gz"
  rm -rf "$BUILD/tarball"
}

# Libraries of other packages come along, in lib/private, and everything looks
# there first. Not libc with its parts; nor PAM, which belongs to the system's
# own configuration.
bundle_libraries()
{
  local stage=$1 private=$1/lib/private file
  mkdir -p "$private"
  elf_files "$stage" | xargs -d '\n' ldd 2>/dev/null |
    awk '$2 == "=>" && $3 ~ "^/" { print $3 }' | sort -u |
    grep -vE '/(libc|libm|libdl|libpthread|librt|libresolv|libutil|libpam)\.so\.' |
    while IFS= read -r file; do
      [[ $file == "$stage"/* ]] || install -m 644 "$file" "$private/"
    done
  elf_files "$stage" | while IFS= read -r file; do
    patchelf --set-rpath "\$ORIGIN/$(realpath --relative-to="$(dirname "$file")" "$private")" "$file"
  done
  note "$(find "$private" -type f | wc -l) libraries bundled"
}

# Programs and shared libraries below $1.
elf_files()
{
  # shellcheck disable=SC2016  # for the inner shell
  find "$1" -type f \( -perm -u+x -o -name '*.so*' \) -print0 | sort -z |
    xargs -0 -n 1 sh -c 'case $(head -c 4 "$0" | tr -d "\0\177") in
                           ELF) printf "%s\n" "$0" ;;
                         esac'
}
