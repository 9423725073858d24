# Steps deb, rpm, tarball and install: what an administrator installs. The
# results are in build/packages, each with its sha256 beside it.
# shellcheck shell=bash

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
  newest=$(for name in $(series_patches "$ROOT/series"); do
             sed -n '/^--- /q; s/^Last-Update: *//p' "$ROOT/patches/$name"
           done | sort | tail -n 1)
  date -u -d "${newest:?no Last-Update in the stack}" +%s
}

# publish FILE...: moves them to build/packages, with a checksum each. The names
# in a checksum file are bare, so that sha256sum -c works wherever they lie.
publish()
{
  local file name
  mkdir -p "$PACKAGES_DIR"
  for file in "$@"; do
    name=$(basename "$file")
    mv -f "$file" "$PACKAGES_DIR/$name"
    ( cd "$PACKAGES_DIR" && sha256sum "$name" > "$name.sha256" )
    note "$(in_root "$PACKAGES_DIR")/$name, $(du -h "$PACKAGES_DIR/$name" | cut -f1)"
  done
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

DEB_TREE=$BUILD/deb/tree

step_deb()
{
  need_tool dpkg-buildpackage dpkg-dev
  need_tool dh debhelper
  need_debian_packaging
  if [ "$FULL" = yes ]; then need_space 25000 "Debian's whole package set"
  else need_space 4000 "the package"; fi
  prepare_debian_tree
  STEP_LOG=$LOGS/deb.log
  logged build_debs
  publish_debs
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
  rm -rf "$BUILD/deb"
  mkdir -p "$BUILD/deb"
  cp -a "$STOCK_SRC" "$DEB_TREE"
  rm "$DEB_TREE/$SUITE"
  tar -xJf "$DEBIAN_TARBALL" --no-same-owner -C "$DEB_TREE"
  ( cd "$DEB_TREE/debian" || exit
    append_stack
    add_changelog_entry
    add_config_package
    if [ "$FULL" = yes ]; then shorten_version_suffix; else narrow_to_core; fi )
}

append_stack()
{
  mkdir patches/millrace
  cp -r "$ROOT"/patches/* patches/millrace/
  series_patches "$ROOT/series" | sed 's|^|millrace/|' >> patches/series
}

add_changelog_entry()
{
  { printf '%s (%s) bookworm; urgency=medium\n\n' "$DEBIAN_SOURCE" "$PACKAGE_VERSION"
    printf '  * Millrace %s: the thread pool, by these patches:\n' "$MILLRACE_REVISION"
    series_patches "$ROOT/series" | sed 's|^|    - |'
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
    /usr/share/doc/millrace-config/variables.md.gz > millrace/60-millrace.cnf
  cp "$PACKAGING/millrace.conf" "$ROOT/doc/variables.md" millrace/
  echo debian/millrace/variables.md > millrace-config.docs
  cp "$PACKAGING/debian/millrace-config.install" .
  for file in postinst postrm; do add_script "millrace-config.$file"; done
  cat "$PACKAGING/debian/millrace-config.control" >> control
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

# Debian's control file, less the packages that stay Debian's. What depends on
# "this version" means Debian's, since the others have that.
narrow_to_core()
{
  local file
  mv rules rules.debian
  cp "$PACKAGING/debian/rules" rules
  for file in postinst postrm; do add_script "mariadb-server-core.$file"; done
  awk -v base="$DEBIAN_VERSION" -v ours="$MAINTAINER" '
    BEGIN { RS = ""; ORS = "\n\n" }
    /^Source:/ {
      match($0, /\nMaintainer: [^\n]*/)
      theirs = substr($0, RSTART + 13, RLENGTH - 13)
      sub(/\nMaintainer: [^\n]*/, "\nMaintainer: " ours "\nXSBC-Original-Maintainer: " theirs)
      sub(/\nUploaders: [^\n]*/, "")
    }
    /^Package: mariadb-server-core\n/ {
      gsub(/\$\{source:Version\}/, base)
      $0 = $0 "\n .\n This build has the thread pool of Millrace. It behaves as the original until\n" \
              " the pool is switched on, which the package millrace-config does."
    }
    /^Source:/ || /^Package: (mariadb-server-core|millrace-config)\n/' control > control.new
  mv control.new control
}

# The whole set is built by Debian's rules; see packaging/debian/rules for this.
shorten_version_suffix()
{
  # shellcheck disable=SC2016  # for make
  printf '\n%s\n' 'DEB_VERSION_REVISION := $(firstword $(subst +millrace, ,$(DEB_VERSION_REVISION)))' \
    >> rules
}

build_debs()
{
  cd "$DEB_TREE" || return
  set_ccache "$DEB_TREE"
  export DEB_BUILD_OPTIONS="nocheck parallel=$(cores)" DEB_BUILD_PROFILES=nocheck
  # Only for a user's own setting; else dpkg takes the time of the changelog.
  unset SOURCE_DATE_EPOCH
  dpkg-buildpackage --build=binary --no-sign
}

publish_debs()
{
  local file
  # Debug symbols are packages too; dpkg calls them .deb here.
  for file in "$BUILD"/deb/*.deb; do publish "$file"; done
  rm -rf "$BUILD/deb"
}

# --- installed by hand, and the tarball ---------------------------------------

# What a server and its administrator need; not headers, tests and the like.
INSTALL_COMPONENTS="Server Server_Scripts ManPagesServer Client ManPagesClient
  ClientPlugins SharedLibraries Common Backup"

step_install()
{
  case $PREFIX in
    /|/usr|/usr/local|/bin|/sbin|/lib|/etc)
      die "$PREFIX belongs to the whole system; give a directory of its own," \
          "or build a package: ./build.sh deb" ;;
  esac
  mkdir -p "$PREFIX" 2>/dev/null && [ -w "$PREFIX" ] ||
    die "cannot write to $PREFIX"
  stage_release "$BUILD/install"
  cp -a "$BUILD/install/." "$PREFIX/"
  rm -rf "$BUILD/install"
  note "start a server with: $PREFIX/bin/millrace-server DATA-DIRECTORY"
}

# stage_release DIR: the release flavour, below DIR as it would be below /usr.
stage_release()
{
  local stage=$1 component
  STEP_LOG=$LOGS/install.log
  rm -rf "$stage" "$stage.root"
  for component in $INSTALL_COMPONENTS; do
    DESTDIR=$stage.root cmake --install "$BUILD/release" --component "$component" --strip
  done > "$STEP_LOG" 2>&1 || { tail -n 5 "$STEP_LOG" >&2; die "cmake --install failed"; }
  # What would go to /etc and the like stays behind: nothing outside of DIR.
  mv "$stage.root/usr" "$stage"
  rm -rf "$stage.root"
  install -m 755 "$PACKAGING/millrace-server" "$stage/bin/millrace-server"
  perl "$PACKAGING/make-config.pl" "$ROOT/doc/variables.md" share/doc/millrace/variables.md \
    > "$stage/share/mysql/millrace.cnf"
  install -D -m 644 "$ROOT/doc/variables.md" "$stage/share/doc/millrace/variables.md"
  install -m 644 "$ROOT/COPYING" "$ROOT/series" "$ROOT/VERSION" "$stage/share/doc/millrace/"
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
  find "$1" -type f \( -perm -u+x -o -name '*.so*' \) -print0 | sort -z |
    xargs -0 -n 1 sh -c 'case $(head -c 4 "$0" | tr -d "\0\177") in
                           ELF) printf "%s\n" "$0" ;;
                         esac'
}
