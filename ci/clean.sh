# Step clean: remove what was built. Never edits that are in no patch.
# shellcheck shell=bash

step_clean()
{
  local item
  if [ -d "$SRC" ] && [ -e "$STATE/src/manifest" ] && [ "$DISCARD" = no ]; then
    refuse_if_edited "$SRC"
  fi
  if server_pid > /dev/null; then stop_server; fi
  for item in $FLAVOURS each src src.new stock-src stock-src.new each-src \
              each-src.new deb deb-root rpm tarball install install.root test-packages wire stress kill-table starts log; do
    remove "$BUILD/$item"
  done
  remove "$(test_directory)"
  # The results of benchmarks stay.
  for item in "$BENCH"/bin-* "$BENCH"/work "$BENCH"/test-* "$BENCH"/base-data*; do
    remove "$item"
  done
  # The lock is in there, so file by file.
  for item in "$STATE"/*; do
    case ${item##*/} in
      lock|signature-checked) ;;
      *) rm -rf "$item" ;;
    esac
  done
  if [ "$ALL" = yes ]; then
    remove "$BUILD/fetch"
    remove "$RUN"
    remove "$(dirname "$(socket_path "$RUN")")"   # elsewhere, if our path is long
    rm -rf "$BUILD"
  else
    note "kept: build/fetch (downloads), build/run (the server's data)," \
         "build/bench (results), build/packages"
  fi
}

remove()
{
  [ -e "$1" ] || return 0
  note "removing $(in_root "$1")"
  rm -rf "$1"
}
