# The .deb files, before anything is installed: version, contents, hardening. For the stories core and full of
# ci/test-packages.
# shellcheck shell=bash

# check_checksums DIR
check_checksums() { ( cd "$1" && sha256sum --quiet -c -- *.sha256 ); }

# check_is_present_stack DEB: it is of this checkout, by its changelog: the names of
# the patches, and their contents.
check_is_present_stack()
{
  local package entry
  package=$(dpkg-deb -f "$1" Package)
  entry=$(dpkg-deb --fsys-tarfile "$1" |
    tar -xOf - "./usr/share/doc/$package/changelog.Debian.gz" | zcat | sed -e '/^ -- /q')
  diff <(stack_names) <(sed -n 's/^    - \(.*\.patch\)$/\1/p' <<< "$entry") &&
    equal "    $(stack_sha256)" "$(sed -n '/^  \* The sha256 of the stack:$/{ n; p; }' <<< "$entry")"
}

file_list() { dpkg-deb -c "$1" | awk '{ print $1, $2, $6, $7, $8 }' | sort -k 3; }

# --- compared with Debian's mariadb-server-core ------------------------------

# An upgrade of Debian's package, and Debian's next one is an upgrade of it.
check_version()
{
  equal "$OURS" "$(dpkg-deb -f "$CORE_DEB" Version)" &&
    dpkg --compare-versions "$OURS" gt "$DEBIAN_VERSION" &&
    dpkg --compare-versions "$OURS" lt "${DEBIAN_VERSION%u*}u$((${DEBIAN_VERSION##*u} + 1))"
}

check_file_list() { diff <(file_list "$STOCK_DEB") <(file_list "$CORE_DEB"); }

# All fields but those that have to differ. A library's minimal version is that
# of the symbols used, which may move with our code.
fields_of()
{
  dpkg-deb -f "$1" | sed -E -e '/^(Version|Maintainer|Installed-Size):/d' \
    -e '/^Description:/,$d'
}

check_fields() { diff <(fields_of "$STOCK_DEB") <(fields_of "$CORE_DEB"); }

# What the compiler and the linker were told: position independence, read-only
# relocations, immediate binding, stack protector, checked functions of libc.
hardening_of()
{
  local elf=$1 symbols
  readelf -hW "$elf" | grep -o 'Type:.*'
  readelf -lW "$elf" | grep -oE 'GNU_(RELRO|STACK) .*' | awk '{ print $1, $(NF - 1) }'
  readelf -dW "$elf" | grep -oE 'BIND_NOW|NOW|PIE|RPATH.*|RUNPATH.*' | sort -u
  symbols=$(readelf --dyn-syms -W "$elf")
  grep -oE '__stack_chk_fail' <<< "$symbols" | sort -u
  grep -oE '__[a-z]+_chk\b' <<< "$symbols" | sort -u
}

check_hardening()
{
  local file=usr/sbin/mariadbd
  dpkg-deb -x "$STOCK_DEB" "$WORK/stock"
  dpkg-deb -x "$CORE_DEB" "$WORK/ours"
  diff <(hardening_of "$WORK/stock/$file") <(hardening_of "$WORK/ours/$file")
}

check_debug_symbols()
{
  local id dbgsym
  dbgsym=$(deb_of mariadb-server-core-dbgsym "$(dpkg --print-architecture)")
  id=$(readelf -nW "$WORK/ours/usr/sbin/mariadbd" | sed -n 's/.*Build ID: //p')
  [ ${#id} -ge 16 ] || { echo "no build ID"; return 1; }
  dpkg-deb -c "$dbgsym" | grep "/${id:0:2}/${id:2}.debug$" > /dev/null
}

# --- lintian -----------------------------------------------------------------

# lint DEB...: by the rules of the release that they are for, which its own lintian knows. For another release than
# this machine's it is started in a copy of the bare system, see start_lintian.
lint()
{
  local deb inside=()
  if [ "$SUITE_NAME" = "$(this_suite)" ]; then
    lintian --allow-root --display-info --pedantic "$@"
    return
  fi
  for deb in "$@"; do
    cp "$deb" "$CHROOT/mnt/new/" || return
    inside+=("/mnt/new/$(basename "$deb")")
  done
  in_chroot lintian --allow-root --display-info --pedantic "${inside[@]}"
}

start_lintian()
{
  [ "$SUITE_NAME" != "$(this_suite)" ] || return 0
  cp -a "$WORK/bare" "$WORK/lint" || return
  start_chroot "$WORK/lint"
  apt_online install --no-install-recommends lintian ||
    { echo "lintian of $SUITE_NAME cannot be installed"; return 1; }
}

stop_lintian()
{
  [ "$SUITE_NAME" != "$(this_suite)" ] || return 0
  stop_chroot
  rm -rf "$WORK/lint"
}

# findings DEB...: lintian's, without the version in them. 2 is its status if there
# are errors among them.
findings()
{
  local status=0
  lint "$@" > "$WORK/lintian" 2> "$WORK/lintian.err" || status=$?
  if [ "$status" -ne 0 ] && [ "$status" -ne 2 ]; then
    echo "lintian: status $status"
    cat "$WORK/lintian.err"
  fi
  { grep '^[EWIP]:' "$WORK/lintian" || true; } | sort -u
}

# In a subshell, so that the other bare system stays in use outside.
check_lintian()
{
  local new arch
  arch=$(dpkg --print-architecture)
  start_lintian || { stop_lintian; return 1; }
  findings "$STOCK_DEB" > "$WORK/lintian-stock"
  [ -s "$WORK/lintian-stock" ] || { echo "lintian finds nothing at all in Debian's package"; return 1; }
  findings "$CORE_DEB" "$(deb_of mariadb-server-core-dbgsym "$arch")" "$CONFIG_DEB" \
    "$TOOLS_DEB" "$(deb_of millrace-tools-dbgsym "$arch")" > "$WORK/lintian-ours"
  stop_lintian
  new=$(comm -13 "$WORK/lintian-stock" "$WORK/lintian-ours")
  [ -z "$new" ] || { echo "$new"; return 1; }
}

test_files()
{
  check "checksums beside the artifacts" check_checksums "$PACKAGES_DIR"
  check "version between Debian's and Debian's next" check_version
  check "the package is of the present stack" check_is_present_stack "$CORE_DEB"
  check "file list as Debian's" check_file_list
  check "control fields as Debian's" check_fields
  check "hardening as Debian's" check_hardening
  check "debug symbols belong to the binary" check_debug_symbols
  check "lintian finds nothing new" check_lintian
}
