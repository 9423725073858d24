# Step run: one server with the pool on, for trying things out; and its stop.
# shellcheck shell=bash

RUN=$BUILD/run
PID_FILE=$RUN/mariadbd.pid
FIRST_PORT=3307

step_run()
{
  local dir=$BUILD/$FLAVOUR socket port
  local server=$dir/sql/mariadbd
  STEP_LOG=$RUN/error.log
  mkdir -p "$RUN"
  chmod 700 "$RUN"
  socket=$(socket_path "$RUN")

  local pid
  if pid=$(server_pid); then
    if same_binary "$pid" "$server" &&
       { [ -z "$PORT" ] || [ "$(ask 'select @@port')" = "$PORT" ]; }; then
      note "already running, process $pid"
      return
    fi
    note "another binary or port than that of the running server: restarting"
    stop_server
  fi
  make_data_directory "$RUN/data"
  link_plugins "$RUN/plugins"
  choose_port "${PORT:-$FIRST_PORT}"
  start_server
}

# socket_path DIRECTORY: a server's socket in there, or elsewhere if that is too
# long, since a socket's path may have 107 characters.
socket_path()
{
  if [ ${#1} -le 85 ]; then
    echo "$1/mariadb.sock"
    return
  fi
  local private
  private=${XDG_RUNTIME_DIR:-/tmp}/millrace-$(id -u)-$(cksum <<< "$1" | cut -d' ' -f1)
  mkdir -p "$private"
  [ -O "$private" ] || die "$private belongs to somebody else"
  chmod 700 "$private"
  echo "$private/mariadb.sock"
}

# Process id of our server, if it runs. The pid file alone is not believed: the
# process must be a server that was built here.
server_pid()
{
  local pid exe
  pid=$(cat "$PID_FILE" 2>/dev/null) || return 1
  [[ $pid =~ ^[0-9]+$ ]] || return 1
  exe=$(readlink "/proc/$pid/exe" 2>/dev/null) || return 1
  # A server whose binary was rebuilt since.
  exe=${exe% (deleted)}
  [[ $exe == "$BUILD"/*/sql/mariadbd ]] || return 1
  echo "$pid"
}

same_binary()
{
  [ "$(stat -L -c %d:%i "/proc/$1/exe" 2>/dev/null)" = "$(stat -c %d:%i "$2")" ]
}

# make_data_directory DIRECTORY [OPTION...], with the build in $dir, unless it is
# there. The options are for the server that makes it.
make_data_directory()
{
  local data=$1
  shift
  [ -e "$data/mysql" ] && return
  note "making the data directory $(in_root "$data")"
  need_space 500 "the server's data"
  rm -rf "$data.new" "$data"
  if ! "$dir/scripts/mariadb-install-db" --no-defaults \
         --srcdir="$dir/source" --builddir="$dir" --datadir="$data.new" \
         --user="$(id -un)" --auth-root-authentication-method=socket \
         --auth-root-socket-user="$(id -un)" --skip-test-db "$@" \
         > "$LOGS/install-db.log" 2>&1 < /dev/null; then
    tail -n 20 "$LOGS/install-db.log" >&2
    die "mariadb-install-db failed; the whole log is $(in_root "$LOGS")/install-db.log"
  fi
  mv "$data.new" "$data"
}

# In a build tree each plugin lies in a directory of its own; a server wants
# them in one, $1.
link_plugins()
{
  rm -rf "$1"
  mkdir "$1"
  find "$dir/plugin" "$dir/storage" "$dir/libmariadb" -name '*.so' \
    -exec ln -sf -t "$1" {} +
}

port_in_use() { (: < "/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# choose_port WANTED: sets port to it, or to the next one that is free.
choose_port()
{
  local wanted=$1
  port=$wanted
  while port_in_use "$port"; do
    port=$((port + 1))
    [ "$port" -le 65535 ] || die "no free port above $wanted"
  done
  [ "$port" = "$wanted" ] || note "port $wanted is in use, taking $port"
}

# start_server [OPTION...]
start_server()
{
  local log=$RUN/error.log
  : >> "$log"
  local logged
  logged=$(stat -c %s "$log")
  rm -f "$PID_FILE"
  # Its own session: a Ctrl-C here is not for it. No lock (9): build.sh ends.
  setsid "$server" --no-defaults --user="$(id -un)" \
    --basedir="$dir" --datadir="$RUN/data" --plugin-dir="$RUN/plugins" \
    --lc-messages-dir="$dir/sql/share" \
    --character-sets-dir="$dir/source/sql/share/charsets" \
    --bind-address=127.0.0.1 --port="$port" --socket="$socket" \
    --pid-file="$PID_FILE" --log-error="$log" \
    --thread-handling=pool-of-threads "$@" \
    < /dev/null >> "$log" 2>&1 9>&- &
  local child=$! waited=$SECONDS
  until ask 'select 1' > /dev/null 2>&1; do
    if ! kill -0 "$child" 2>/dev/null; then
      tail -c +$((logged + 1)) "$log" | tail -n 25 >&2
      die "the server did not start; its log is $(in_root "$log")"
    fi
    if [ $((SECONDS - waited)) -ge 300 ]; then
      die "the server does not answer after 300 s; its log is $(in_root "$log")"
    fi
    sleep 0.2
  done
}

client() { "$dir/client/mariadb" --no-defaults --socket="$socket" "$@"; }
ask()    { client -N -B -e "$1"; }

describe_server()
{
  local dir=$BUILD/$FLAVOUR socket line
  socket=$(socket_path "$RUN")
  say "version: $(ask 'select version()') (flavour $FLAVOUR)"
  ask "show global variables where variable_name like 'thread_pool%'
       or variable_name = 'thread_handling'" |
    while IFS=$'\t' read -r -a line; do
      printf '    %-32s %s\n' "${line[0]}" "${line[1]-}"
    done
  say "data: $(in_root "$RUN")/data, port: $(ask 'select @@port') on 127.0.0.1"
  say "connect with:  $dir/client/mariadb --no-defaults --socket=$socket"
  say "stop with:     $ROOT/build.sh stop${BASE:+ --base $BASE}"
}

# Needs no lock: it only sends a signal, and must work during a build.
stop_server()
{
  local pid waited=$SECONDS
  if ! pid=$(server_pid); then
    note "no server of this checkout is running"
    return
  fi
  note "stopping the server, process $pid"
  kill -TERM "$pid"
  while [ -e "/proc/$pid" ] && [ "$(server_pid || true)" = "$pid" ]; do
    if [ $((SECONDS - waited)) -ge 300 ]; then
      die "process $pid has not ended after 300 s; see $(in_root "$RUN")/error.log"
    fi
    sleep 0.2
  done
}
