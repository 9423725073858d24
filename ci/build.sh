# Step build: configure and compile one flavour into build/FLAVOUR.
# shellcheck shell=bash

step_build()
{
  local dir=$BUILD/$FLAVOUR
  configure "$FLAVOUR" "$(source_of_flavour "$FLAVOUR")"
  # release takes 3.4 GB, debug 6.6.
  [ -x "$dir/sql/mariadbd" ] || need_space 7500 "a build of flavour $FLAVOUR"
  compile "$FLAVOUR"
  stack_sha256 > "$dir/.stack"
  if [ -n "$BASE" ]; then mark_ccache "millrace-$BASE-$FLAVOUR"; fi
  note "$(in_root "$dir")/sql/mariadbd and $(in_root "$dir")/client/mariadb are ready"
}

# Name, below build/, of the tree that a flavour is built from.
source_of_flavour()
{
  case $1 in
    stock) echo stock-src ;;
    *)     echo src ;;
  esac
}

# stock shares its compiled objects with release: both are compiled as
# "source/sql/x.cc" relative to their own build directory (the link "source",
# ccache's base directory), and no object holds the directory's name (the prefix
# map). ccache's own directory is the user's, so that a new clone starts warm.
set_ccache()
{
  have ccache || return 0
  export CCACHE_BASEDIR=$1 CCACHE_NOHASHDIR=1
  export CCACHE_SLOPPINESS=pch_defines,time_macros
  # Two flavours do not fit into the default of 5 GB.
  if [ -z "${CCACHE_MAXSIZE-}" ] && ccache -p 2>/dev/null |
       grep -q '^(default) max_size'; then
    export CCACHE_MAXSIZE=10G
  fi
}

# mark_ccache NAME: ccache has the objects of NAME now, so the next time takes minutes only. For CI, which has to
# know whether it fits into the time that is left. The mark says how often ccache had thrown something away by then;
# once it has done so again, the mark holds no longer (.ci/run, warm).
mark_ccache()
{
  local cache
  if have ccache && cache=$(ccache -k cache_dir 2>/dev/null) && [ -d "$cache" ]; then
    ccache --print-stats 2>/dev/null | sed -n 's/^cleanups_performed[[:space:]]*//p' > "$cache/$1" || true
  fi
}

# The features are those of the distribution's server package (its rules file),
# less the engines that it ships as packages of their own. FEATURE_SET is empty
# because what it sets holds only from cmake's second run in a directory on:
# archive, blackhole and federated would then be built in, and not be plugins
# as in the distribution's server. CONC_WITH_DYNCOL likewise: libmariadb.so is as
# the distribution's, also after a second run.
cmake_options()
{
  local flavour=$1 dir=$2 triplet map
  triplet=$(gcc -print-multiarch)
  map=-ffile-prefix-map=$dir=/usr/src/millrace

  case $flavour in
    debug) echo "-DCMAKE_BUILD_TYPE=Debug" ;;
    asan)  echo "-DCMAKE_BUILD_TYPE=Debug"; echo "-DWITH_ASAN=ON" ;;
    tsan)  echo "-DCMAKE_BUILD_TYPE=RelWithDebInfo"; echo "-DWITH_TSAN=ON" ;;
    *)     echo "-DCMAKE_BUILD_TYPE=RelWithDebInfo" ;;
  esac
  cat <<OPTIONS
-DBUILD_CONFIG=mysql_release
-DDEB=Debian
-DFEATURE_SET=
-DCMAKE_C_FLAGS=$map
-DCMAKE_CXX_FLAGS=$map
-DCONC_DEFAULT_CHARSET=utf8mb4
-DCONC_WITH_DYNCOL=OFF
-DWITH_NUMA=AUTO
-DIGNORE_AIO_CHECK=ON
-DWITH_URING=ON
-DWITH_LIBAIO=ON
-DWITH_INNODB_SNAPPY=ON
-DWITH_EMBEDDED_SERVER=OFF
-DPLUGIN_AWS_KEY_MANAGEMENT=NO
-DPLUGIN_COLUMNSTORE=NO
OPTIONS
  if has_pmem; then echo "-DWITH_PMEM=ON"; fi

  # ColumnStore (above) stays out even of --full: upstream's tarball of it needs
  # more than the distribution's packages give.
  local engine
  if [ "$FULL" = no ]; then
    for engine in ROCKSDB MROONGA SPIDER CONNECT OQGRAPH SPHINX S3; do
      echo "-DPLUGIN_$engine=NO"
    done
  fi

  # Debian's directories by name, on top of layout RPM: with layout DEB,
  # libmariadb's static library has the name of a link that is made too, and
  # ninja refuses ("multiple rules generate libmariadb.a").
  cat <<OPTIONS
-DINSTALL_LAYOUT=RPM
-DINSTALL_LIBDIR=lib/$triplet
-DINSTALL_PLUGINDIR=lib/mysql/plugin
-DINSTALL_INCLUDEDIR=include/mariadb
-DINSTALL_SYSCONF2DIR=/etc/mysql/mariadb.conf.d
-DINSTALL_MYSQLTESTDIR=share/mysql/mysql-test
-DINSTALL_SQLBENCHDIR=.
-DINSTALL_RUNDATADIR=/run/mysqld
-DINSTALL_UNIX_ADDRDIR=/run/mysqld/mysqld.sock
-DINSTALL_SYSTEMD_UNITDIR=/lib/systemd/system
-DINSTALL_PAMDIR=/lib/$triplet/security
OPTIONS
  if have ccache; then
    echo "-DCMAKE_C_COMPILER_LAUNCHER=ccache"
    echo "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"
  fi
  if gcc_links_with_mold; then
    local kind
    for kind in EXE SHARED MODULE; do
      echo "-DCMAKE_${kind}_LINKER_FLAGS=-fuse-ld=mold"
    done
  fi
}

gcc_links_with_mold()
{
  have mold &&
    echo 'int main(void) { return 0; }' |
      gcc -fuse-ld=mold -x c - -o /dev/null 2>/dev/null
}

# configure FLAVOUR TREE [DIR]: cmake, unless it ran with the same options.
configure()
{
  local flavour=$1 tree=$2 dir=$BUILD/${3-$1} options
  mkdir -p "$dir"
  ln -sfn "../$tree" "$dir/source"
  options=$(cmake_options "$flavour" "$dir")
  set_ccache "$dir"
  if [ -e "$dir/build.ninja" ] &&
     [ "$options" = "$(cat "$dir/.cmake-options" 2>/dev/null)" ]; then
    return
  fi
  STEP_LOG=$LOGS/configure-${dir##*/}.log
  note "configuring (log: $(in_root "$STEP_LOG"))"
  rm -f "$dir/.cmake-options"
  # From nothing: cmake's cache would keep options that are no longer given, and
  # cmake refuses the cache of a checkout that was moved.
  rm -rf "$dir/CMakeCache.txt" "$dir/CMakeFiles"
  local list
  mapfile -t list <<< "$options"
  if ! cmake -G Ninja -S "$dir/source" -B "$dir" "${list[@]}" \
         > "$STEP_LOG" 2>&1 < /dev/null; then
    grep -A 12 'CMake Error' "$STEP_LOG" >&2 || tail -n 20 "$STEP_LOG" >&2
    die "cmake failed; the whole log is $(in_root "$STEP_LOG")"
  fi
  echo "$options" > "$dir/.cmake-options"
}

# compile DIR [NINJA-ARG]...: ninja in build/DIR, its counter visible.
compile()
{
  local dir=$BUILD/$1
  shift
  set_ccache "$dir"
  STEP_LOG=$LOGS/build-${dir##*/}.log
  rm -f "$STEP_LOG"
  export NINJA_STATUS='[%f/%t %p, %e s] '
  local ninja=(ninja -C "$dir" -j $(($(cores) + 1)) "$@")
  if [ -t 1 ]; then
    "${ninja[@]}" || die "the build failed; its messages are above"
  else
    "${ninja[@]}" < /dev/null 2>&1 | tee "$STEP_LOG" | thin_out ||
      die "the build failed; the whole log is $(in_root "$STEP_LOG")"
  fi
}

# Where there is no terminal: one line of progress in 15 seconds, and the whole
# of an error.
thin_out()
{
  local line shown=-15 failing=no last=''
  while IFS= read -r line; do
    case $line in
      '['*)     failing=no last=$line ;;
      FAILED:*) failing=yes ;;
    esac
    if [ $failing = yes ] || [[ $line == ninja:* ]]; then
      say "$line"
    elif [ $((SECONDS - shown)) -ge 15 ] && [ -n "$last" ]; then
      shown=$SECONDS
      note "$last"
    fi
  done
}
