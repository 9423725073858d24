/*
  tpbench: one process that is thousands of clients of a MariaDB server, and
  says how the server treated them. Scenario files say what the clients do;
  doc/benchmarks.md describes them, "tpbench --help" the options.

  This file has the command line, the phases of a run (connect, warm-up,
  window, drain) and the main thread, which only watches. engine.c does the
  work.
*/
#include "engine.h"
#include "results.h"
#include "server.h"
#include "units.h"
#include "workload.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <netdb.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <mysql.h>

enum exit_status
{
  EXIT_WELL= 0, EXIT_FAILED= 1, EXIT_USAGE= 2, EXIT_SERVER_GONE= 3,
  EXIT_INTERRUPTED= 130
};

/* Descriptors that we need besides those of connections and threads. */
#define SPARE_FILES 24
#define FILES_OF_A_THREAD 2
#define SAMPLE_INTERVAL (250 * NS_PER_MS)
#define PROGRESS_INTERVAL NS_PER_S
#define MAX_LABELS 16

struct settings
{
  struct options options;
  int64_t warmup, window, drain, connect_timeout, quiet_timeout;
  pid_t server_pid;
  const char *csv, *histogram, *series;
  char *labels[MAX_LABELS];
  unsigned label_count;
  char **classes;
  unsigned class_count;
  const char *head;
  bool check_only, silent_progress, stop_server;
};

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
  (void) number;
  interrupted= 1;
  /* The second one ends us at once. */
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
}

static void die(int status, const char *format, ...)
  __attribute__((noreturn, format(printf, 2, 3)));

static void die(int status, const char *format, ...)
{
  va_list args;
  fputs("tpbench: ", stderr);
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
  fputc('\n', stderr);
  exit(status);
}

static const char help[]=
"usage: tpbench [OPTION]... SCENARIO_FILE...\n"
"\n"
"Runs the classes of clients of all files given, together, against one server.\n"
"\n"
"where\n"
"  --host=H           default 127.0.0.1        --port=N      default 3306\n"
"  --socket=F         a Unix socket instead of host and port\n"
"  --user=U           default bench            --password=P  default none\n"
"  --database=D       default bench\n"
"  --server-pid=N     process to take the server's CPU time from; with --socket\n"
"                     it is found without this\n"
"what\n"
"  --set=NAME=VALUE   the value of $NAME in the files (repeatable)\n"
"  --class=NAME       only this class (repeatable)\n"
"  --check            only read the files and say what is wrong with them\n"
"  --head=KEY         only print the values of KEY in the files' heads\n"
"how long (300ms, 10s, 2min)\n"
"  --warmup=T         runs, but does not count; default: the file's, or 1s\n"
"  --seconds=T        the window that counts; default: the file's, or 10s\n"
"  --drain=T          how long requests that are open at its end are waited\n"
"                     for; default: the file's, or 2s\n"
"  --connect-timeout=T  for all connections together; default 120s\n"
"  --wait-quiet=T     first wait until no other client is connected\n"
"  --stop-server      stop the server's process (SIGSTOP) when the measurement is\n"
"                     over: thousands of busy threads would keep us from ending\n"
"how\n"
"  --threads=N        event threads; default 1\n"
"  --connect-parallel=N  connections being made at a time; default 64\n"
"  --seed=N           of the random numbers; default 1\n"
"output\n"
"  --csv=F            append a row for each class    --label=NAME=VALUE  a first\n"
"  --histogram=F      append the latencies           column of it (repeatable)\n"
"  --series=F         append what was done in each second\n"
"  --no-progress      no progress line\n"
"\n"
"Exit status: 0 well, 1 failed, 2 wrong usage or scenario, 3 the server was gone\n"
"in the middle, 130 interrupted (what was measured so far is printed).\n";

enum option_code
{
  O_HOST= 1000, O_PORT, O_SOCKET, O_USER, O_PASSWORD, O_DATABASE, O_SERVER_PID,
  O_SET, O_CLASS, O_CHECK, O_HEAD, O_WARMUP, O_SECONDS, O_DRAIN,
  O_CONNECT_TIMEOUT, O_WAIT_QUIET, O_STOP_SERVER, O_THREADS, O_CONNECT_PARALLEL, O_SEED, O_CSV,
  O_LABEL, O_HISTOGRAM, O_SERIES, O_NO_PROGRESS, O_HELP
};

static const struct option long_options[]=
{
  {"host", required_argument, NULL, O_HOST},
  {"port", required_argument, NULL, O_PORT},
  {"socket", required_argument, NULL, O_SOCKET},
  {"user", required_argument, NULL, O_USER},
  {"password", required_argument, NULL, O_PASSWORD},
  {"database", required_argument, NULL, O_DATABASE},
  {"server-pid", required_argument, NULL, O_SERVER_PID},
  {"set", required_argument, NULL, O_SET},
  {"class", required_argument, NULL, O_CLASS},
  {"check", no_argument, NULL, O_CHECK},
  {"head", required_argument, NULL, O_HEAD},
  {"warmup", required_argument, NULL, O_WARMUP},
  {"seconds", required_argument, NULL, O_SECONDS},
  {"drain", required_argument, NULL, O_DRAIN},
  {"connect-timeout", required_argument, NULL, O_CONNECT_TIMEOUT},
  {"wait-quiet", required_argument, NULL, O_WAIT_QUIET},
  {"stop-server", no_argument, NULL, O_STOP_SERVER},
  {"threads", required_argument, NULL, O_THREADS},
  {"connect-parallel", required_argument, NULL, O_CONNECT_PARALLEL},
  {"seed", required_argument, NULL, O_SEED},
  {"csv", required_argument, NULL, O_CSV},
  {"label", required_argument, NULL, O_LABEL},
  {"histogram", required_argument, NULL, O_HISTOGRAM},
  {"series", required_argument, NULL, O_SERIES},
  {"no-progress", no_argument, NULL, O_NO_PROGRESS},
  {"help", no_argument, NULL, O_HELP},
  {NULL, 0, NULL, 0}
};

static uint64_t count_option(const char *name, uint64_t least, uint64_t most)
{
  uint64_t value;
  if (!parse_count(optarg, most, &value) || value < least)
    die(EXIT_USAGE, "--%s: '%s' is not a number from %" PRIu64 " to %" PRIu64,
        name, optarg, least, most);
  return value;
}

static int64_t duration_option(const char *name)
{
  int64_t ns;
  if (!parse_duration(optarg, &ns))
    die(EXIT_USAGE, "--%s: '%s' is not a time such as 300ms or 10s", name,
        optarg);
  return ns;
}

static void parse_command_line(int argc, char **argv, struct settings *s,
                               struct workload *w)
{
  int code;
  while ((code= getopt_long(argc, argv, "", long_options, NULL)) != -1)
  {
    switch (code) {
    case O_HOST: s->options.host= optarg; break;
    case O_PORT:
      s->options.port= (unsigned) count_option("port", 1, 65535);
      break;
    case O_SOCKET: s->options.socket= optarg; break;
    case O_USER: s->options.user= optarg; break;
    case O_PASSWORD: s->options.password= optarg; break;
    case O_DATABASE: s->options.database= optarg; break;
    case O_SERVER_PID:
      s->server_pid= (pid_t) count_option("server-pid", 1, INT32_MAX);
      break;
    case O_SET:
      if (!workload_set(w, optarg))
        die(EXIT_USAGE, "--set: %s", w->error);
      break;
    case O_CLASS:
      s->classes= realloc(s->classes, (s->class_count + 1) * sizeof(char *));
      if (!s->classes)
        die(EXIT_FAILED, "out of memory");
      s->classes[s->class_count++]= optarg;
      break;
    case O_CHECK: s->check_only= true; break;
    case O_HEAD:
      s->head= optarg;
      w->head_only= true;
      break;
    case O_WARMUP: s->warmup= duration_option("warmup"); break;
    case O_SECONDS: s->window= duration_option("seconds"); break;
    case O_DRAIN: s->drain= duration_option("drain"); break;
    case O_CONNECT_TIMEOUT:
      s->connect_timeout= duration_option("connect-timeout");
      break;
    case O_WAIT_QUIET: s->quiet_timeout= duration_option("wait-quiet"); break;
    case O_STOP_SERVER: s->stop_server= true; break;
    case O_THREADS:
      s->options.threads= (unsigned) count_option("threads", 1, 64);
      break;
    case O_CONNECT_PARALLEL:
      s->options.connect_parallel=
        (unsigned) count_option("connect-parallel", 1, 10000);
      break;
    case O_SEED: s->options.seed= count_option("seed", 0, INT64_MAX); break;
    case O_CSV: s->csv= optarg; break;
    case O_LABEL:
      if (!strchr(optarg, '='))
        die(EXIT_USAGE, "--label: not NAME=VALUE: %s", optarg);
      if (s->label_count == MAX_LABELS)
        die(EXIT_USAGE, "--label: at most %d of them", MAX_LABELS);
      s->labels[s->label_count++]= optarg;
      break;
    case O_HISTOGRAM: s->histogram= optarg; break;
    case O_SERIES: s->series= optarg; break;
    case O_NO_PROGRESS: s->silent_progress= true; break;
    case O_HELP:
      fputs(help, stdout);
      exit(EXIT_WELL);
    default:
      fputs("tpbench: see tpbench --help\n", stderr);
      exit(EXIT_USAGE);
    }
  }
  if (optind == argc)
    die(EXIT_USAGE, "no scenario file given; see tpbench --help");
}

/* A time from the file's head, unless the command line gave one. */
static void default_time(const struct workload *w, const char *key,
                         const char *otherwise, int64_t *ns)
{
  const char *text= workload_head(w, key);
  if (*ns >= 0)
    return;
  if (!text)
    text= otherwise;
  if (!parse_duration(text, ns))
    die(EXIT_USAGE, "%s = %s: not a time such as 300ms or 10s", key, text);
}

static void print_head(const struct workload *w, const char *key)
{
  for (unsigned i= 0; i < w->head_count; i++)
    if (!strcmp(w->head[i].key, key))
      puts(w->head[i].value);
}

/* --- before the run -------------------------------------------------------- */

static uint64_t all_connections(const struct workload *w)
{
  uint64_t sum= 0;
  for (unsigned i= 0; i < w->class_count; i++)
    sum+= w->classes[i].connections;
  return sum;
}

/* Those that stay open, among which the server's memory is divided. */
static uint64_t lasting_connections(const struct workload *w)
{
  uint64_t sum= 0;
  for (unsigned i= 0; i < w->class_count; i++)
    if (!w->classes[i].reconnect)
      sum+= w->classes[i].connections;
  return sum;
}

static void allow_open_files(uint64_t connections, unsigned threads)
{
  struct rlimit limit;
  uint64_t needed= connections + SPARE_FILES + threads * FILES_OF_A_THREAD;
  if (getrlimit(RLIMIT_NOFILE, &limit))
    die(EXIT_FAILED, "getrlimit: %s", strerror(errno));
  if (limit.rlim_cur < needed && limit.rlim_max > limit.rlim_cur)
  {
    limit.rlim_cur= limit.rlim_max < needed ? limit.rlim_max : needed;
    if (setrlimit(RLIMIT_NOFILE, &limit))
      die(EXIT_FAILED, "setrlimit: %s", strerror(errno));
  }
  if (limit.rlim_cur < needed)
    die(EXIT_USAGE, "%" PRIu64 " connections need %" PRIu64 " open files, but "
        "this process may have only %" PRIu64 " (ulimit -Hn)", connections,
        needed, (uint64_t) limit.rlim_cur);
}

/* Silent clients connect without libmariadb, so the address is needed. */
static void find_address(const struct options *o, struct engine *e)
{
  if (o->socket)
  {
    struct sockaddr_un *unix_address= (struct sockaddr_un *) &e->address;
    if (strlen(o->socket) >= sizeof(unix_address->sun_path))
      die(EXIT_USAGE, "--socket: the path is too long: %s", o->socket);
    unix_address->sun_family= AF_UNIX;
    strcpy(unix_address->sun_path, o->socket);
    e->address_length= sizeof(*unix_address);
    return;
  }
  struct addrinfo hints= {.ai_socktype= SOCK_STREAM}, *found;
  char port[8];
  snprintf(port, sizeof(port), "%u", o->port);
  int error= getaddrinfo(o->host, port, &hints, &found);
  if (error)
    die(EXIT_USAGE, "--host=%s: %s", o->host, gai_strerror(error));
  memcpy(&e->address, found->ai_addr, found->ai_addrlen);
  e->address_length= found->ai_addrlen;
  freeaddrinfo(found);
}

/* Seconds of sleep without a busy loop; ends early when interrupted. */
static void sleep_until(int64_t when)
{
  struct timespec t= {when / NS_PER_S, when % NS_PER_S};
  while (!interrupted &&
         clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
    ;
}

/* How many clients the server has, besides the one that asks; -1: unknown. */
static long other_clients(MYSQL *mysql)
{
  MYSQL_RES *result;
  MYSQL_ROW row;
  long count= -1;
  if (mysql_query(mysql, "SHOW GLOBAL STATUS LIKE 'Threads_connected'") ||
      !(result= mysql_store_result(mysql)))
    return -1;
  if ((row= mysql_fetch_row(result)) && row[1])
    count= atol(row[1]) - 1;
  mysql_free_result(result);
  return count;
}

/* Leftovers of the run before this one would be measured with it. */
static void wait_until_quiet(const struct settings *s)
{
  const struct options *o= &s->options;
  int64_t deadline= now_ns() + s->quiet_timeout;
  unsigned seconds= (unsigned) (s->quiet_timeout / NS_PER_S) + 1;
  MYSQL *mysql= mysql_init(NULL);
  if (!mysql)
    die(EXIT_FAILED, "out of memory");
  mysql_options(mysql, MYSQL_OPT_CONNECT_TIMEOUT, &seconds);
  mysql_options(mysql, MYSQL_OPT_READ_TIMEOUT, &seconds);
  if (!mysql_real_connect(mysql, o->socket ? NULL : o->host, o->user,
                          o->password, NULL, o->port, o->socket, 0))
    die(EXIT_FAILED, "--wait-quiet: cannot connect: %s", mysql_error(mysql));
  for (;;)
  {
    long count= other_clients(mysql);
    if (count < 0)
      die(EXIT_FAILED, "--wait-quiet: %s", mysql_error(mysql));
    if (count == 0)
      break;
    if (interrupted)
      die(EXIT_INTERRUPTED, "interrupted; nothing was measured");
    if (now_ns() >= deadline)
      die(EXIT_FAILED, "--wait-quiet: %ld other clients are still connected",
          count);
    sleep_until(now_ns() + 20 * NS_PER_MS);
  }
  mysql_close(mysql);
}

/* --- the run --------------------------------------------------------------- */

/* The progress line: overwritten on a terminal, now and then otherwise. */
static void progress(const struct settings *s, const char *text, bool last)
{
  static size_t before;
  if (s->silent_progress || !isatty(STDERR_FILENO))
  {
    if (!s->silent_progress && *text)
      fprintf(stderr, "%s\n", text);
    return;
  }
  fprintf(stderr, "\r%-*s%s", (int) before, text, last ? "\r" : "");
  before= strlen(text);
  fflush(stderr);
}

static void show_progress(const struct settings *s, struct engine *e,
                          int64_t now, uint64_t *before, int64_t since)
{
  char line[512], amount[32];
  int64_t begin= e->window_begin, end= e->window_end;
  size_t used= (size_t) snprintf(line, sizeof(line), "[%s %.0f/%.0f s]",
                                 now < begin ? "warm-up" : "measuring",
                                 (double) (now - e->start) / 1e9,
                                 (double) (end - e->start) / 1e9);
  for (unsigned i= 0; i < e->workload->class_count; i++)
  {
    uint64_t passes, errors;
    const struct class *c= &e->workload->classes[i];
    engine_progress(e, i, &passes, &errors);
    double rate= (double) (passes - before[i]) * 1e9 / (double) (now - since);
    before[i]= passes;
    if (used < sizeof(line) && !c->silent && !c->idle)
      used+= (size_t) snprintf(line + used, sizeof(line) - used, " %s %s/s",
                               c->name,
                               format_amount(rate, amount, sizeof(amount)));
    if (used < sizeof(line) && errors)
      used+= (size_t) snprintf(line + used, sizeof(line) - used,
                               " (%" PRIu64 " errors)", errors);
  }
  progress(s, line, false);
}

static bool wait_until_connected(const struct settings *s, struct engine *e)
{
  uint64_t all= all_connections(e->workload);
  int64_t begun= now_ns(), shown= begun;
  char line[100];
  for (;;)
  {
    uint64_t connected= __atomic_load_n(&e->connected, __ATOMIC_ACQUIRE);
    int64_t now= now_ns();
    if (__atomic_load_n(&e->stop, __ATOMIC_ACQUIRE) || interrupted)
      return false;
    if (connected == all)
      return true;
    if (now - begun > s->connect_timeout)
    {
      pthread_mutex_lock(&e->lock);
      snprintf(e->message, sizeof(e->message), "only %" PRIu64 " of %" PRIu64
               " connections could be opened within %.0f s", connected, all,
               (double) s->connect_timeout / 1e9);
      pthread_mutex_unlock(&e->lock);
      return false;
    }
    if (now - shown >= PROGRESS_INTERVAL)
    {
      snprintf(line, sizeof(line), "[connecting] %" PRIu64 " of %" PRIu64,
               connected, all);
      progress(s, line, false);
      shown= now;
    }
    sleep_until(now + 2 * NS_PER_MS);
  }
}

struct sample
{
  int64_t when;
  int64_t client_cpu, busiest_thread_cpu;
  bool server_known;
  struct server_use server;
  bool machine_known;
  struct machine_use machine;
};

static void take_sample(const struct settings *s, struct engine *e,
                        struct sample *to)
{
  struct rusage use;
  getrusage(RUSAGE_SELF, &use);
  to->client_cpu= (use.ru_utime.tv_sec + use.ru_stime.tv_sec) * NS_PER_S +
                  (use.ru_utime.tv_usec + use.ru_stime.tv_usec) * NS_PER_US;
  to->busiest_thread_cpu= engine_busiest_cpu(e);
  to->server_known= s->server_pid && server_use_read(s->server_pid, &to->server);
  to->machine_known= machine_use_read(&to->machine);
  to->when= now_ns();
}

/* Watches the window. Returns the samples at its two ends. */
static void watch_window(const struct settings *s, struct engine *e,
                         struct sample *first, struct sample *last,
                         unsigned *most_threads)
{
  uint64_t *before= calloc(e->workload->class_count, sizeof(*before));
  int64_t shown= e->start;
  bool in_window= false;
  if (!before)
    die(EXIT_FAILED, "out of memory");
  for (;;)
  {
    int64_t now= now_ns(), next= now + SAMPLE_INTERVAL;
    if (!in_window && now >= e->window_begin)
    {
      engine_mark_cpu(e);
      take_sample(s, e, first);
      *last= *first;
      in_window= true;
    }
    else if (in_window)
    {
      take_sample(s, e, last);
      if (last->server_known && last->server.threads > *most_threads)
        *most_threads= last->server.threads;
      if (first->server_known && !last->server_known)
        engine_server_gone(e, "the server is gone: its process has ended");
    }
    if (now >= e->window_end || interrupted ||
        __atomic_load_n(&e->stop, __ATOMIC_ACQUIRE))
      break;
    if (now - shown >= PROGRESS_INTERVAL)
    {
      show_progress(s, e, now, before, shown);
      shown= now;
    }
    if (now < e->window_begin && next > e->window_begin)
      next= e->window_begin;
    if (next > e->window_end)
      next= e->window_end;
    sleep_until(next);
  }
  free(before);
}

/* What is still open is waited for by the event threads; Ctrl-C ends that. */
static void wait_for_drain(const struct settings *s, struct engine *e)
{
  int64_t shown= 0;
  while (!engine_done(e))
  {
    int64_t now= now_ns();
    if (interrupted)
    {
      engine_stop(e);
      return;
    }
    if (now - shown >= PROGRESS_INTERVAL)
    {
      progress(s, shown ? "[draining] waiting for what is still open" : "", false);
      shown= now;
    }
    sleep_until(now + 5 * NS_PER_MS);
  }
}

/*
  Clients that only listen notice that their connection ends, not why. Nobody
  listening is an answer.
*/
static bool server_is_gone(const struct engine *e, const struct measured *m,
                           const struct workload *w)
{
  uint64_t closed= 0;
  for (unsigned i= 0; i < w->class_count; i++)
    closed+= m->stats[i].closed_by_server;
  if (!closed)
    return false;
  int fd= socket(e->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0)
    return false;
  bool gone= connect(fd, (const struct sockaddr *) &e->address,
                     e->address_length) &&
             (errno == ECONNREFUSED || errno == ENOENT);
  close(fd);
  return gone;
}

static bool write_files(const struct settings *s, const struct measured *m)
{
  const char *failed= NULL;
  if (s->csv && !results_csv(s->csv, (char **) s->labels, s->label_count, m))
    failed= s->csv;
  else if (s->histogram && !results_histograms(s->histogram, m))
    failed= s->histogram;
  else if (s->series && !results_series(s->series, m))
    failed= s->series;
  if (failed)
    fprintf(stderr, "tpbench: %s: %s\n", failed, strerror(errno));
  return !failed;
}

/* A class that got nothing done but errors is a failure. */
static bool some_class_only_failed(const struct measured *m)
{
  bool found= false;
  for (unsigned i= 0; i < m->workload->class_count; i++)
  {
    const struct class_stats *s= &m->stats[i];
    if (s->errors[0].count && !s->passes && !s->late)
    {
      fprintf(stderr, "tpbench: class %s had only errors\n",
              m->workload->classes[i].name);
      found= true;
    }
  }
  return found;
}

static int run(struct settings *s, struct workload *w)
{
  static struct engine engine;
  struct server_use before= {0}, connected= {0};
  struct sample first= {0}, last= {0};
  struct measured m= {0};
  unsigned most_threads= 0;
  int status= EXIT_WELL;

  find_address(&s->options, &engine);
  if (!s->server_pid && s->options.socket)
    s->server_pid= server_pid_of_socket(s->options.socket);
  if (s->server_pid && !server_use_read(s->server_pid, &before))
    die(EXIT_USAGE, "--server-pid=%ld: no such process", (long) s->server_pid);
  if (s->quiet_timeout)
    wait_until_quiet(s);
  if (s->server_pid)
    server_use_read(s->server_pid, &before);

  if (s->stop_server)
    s->options.stop_at_end= s->server_pid;
  if (!engine_start(&engine, &s->options, w))
    die(EXIT_FAILED, "%s", engine.message);
  if (!wait_until_connected(s, &engine))
  {
    engine_stop(&engine);
    engine_finish(&engine);
    progress(s, "", true);
    if (interrupted)
      die(EXIT_INTERRUPTED, "interrupted while connecting; nothing was measured");
    die(EXIT_FAILED, "%s", engine.message);
  }
  if (s->server_pid)
    server_use_read(s->server_pid, &connected);
  engine_run(&engine, s->warmup, s->window, s->drain);
  watch_window(s, &engine, &first, &last, &most_threads);
  int64_t ended= now_ns();
  wait_for_drain(s, &engine);
  m.stats= engine_finish(&engine);
  progress(s, "", true);
  if (!engine.message[0] && !interrupted && server_is_gone(&engine, &m, w))
  {
    strcpy(engine.message, "the server is gone: it closed connections, and "
           "nobody listens there any more");
    engine.server_gone= true;
  }

  if (ended > engine.window_end)
    ended= engine.window_end;
  if (ended > engine.stopped)
    ended= engine.stopped;
  m.workload= w;
  m.seconds= ended > engine.window_begin
    ? (double) (ended - engine.window_begin) / 1e9 : 0;
  /* Whole seconds: a part of one would look like a dip. */
  m.series_length= (unsigned) (m.seconds + 0.001);
  if (m.series_length > engine.series_length)
    m.series_length= engine.series_length;
  m.connections= lasting_connections(w);
  m.cpu_seconds= (double) (last.when - first.when) / 1e9;
  m.client_cpu= (double) (last.client_cpu - first.client_cpu);
  m.busiest_thread_cpu= (double) last.busiest_thread_cpu;
  m.server_known= first.server_known && last.server_known;
  m.server_cpu= (double) (last.server.cpu - first.server.cpu);
  m.server_threads= most_threads;
  m.server_resident= last.server.resident;
  m.server_resident_before= before.resident;
  m.server_resident_connected= connected.resident;
  m.machine_known= first.machine_known && last.machine_known &&
                   last.machine.all > first.machine.all;
  if (m.machine_known)
  {
    double all= (double) (last.machine.all - first.machine.all);
    m.idle_percent= 100.0 * (double) (last.machine.idle - first.machine.idle) /
                    all;
    m.stolen_percent= 100.0 * (double) (last.machine.stolen -
                                        first.machine.stolen) / all;
  }

  if (engine.message[0])
  {
    fprintf(stderr, "tpbench: %s\n", engine.message);
    status= engine.server_gone ? EXIT_SERVER_GONE : EXIT_FAILED;
  }
  if (interrupted)
  {
    fprintf(stderr, "tpbench: interrupted after %.1f of %.1f s\n", m.seconds,
            (double) s->window / 1e9);
    status= EXIT_INTERRUPTED;
  }
  results_text(stdout, &m);
  if (status == EXIT_WELL && some_class_only_failed(&m))
    status= EXIT_FAILED;
  if (!write_files(s, &m))
    status= EXIT_FAILED;
  for (unsigned i= 0; i < w->class_count; i++)
  {
    free(m.stats[i].series_passes);
    free(m.stats[i].series_statements);
  }
  free((void *) m.stats);
  return status;
}

int main(int argc, char **argv)
{
  static struct workload workload;
  struct settings s=
  {
    .options= {.host= "127.0.0.1", .port= 3306, .user= "bench",
               .database= "bench", .threads= 1, .connect_parallel= 64,
               .seed= 1},
    .warmup= -1, .window= -1, .drain= -1, .connect_timeout= 120 * NS_PER_S
  };
  parse_command_line(argc, argv, &s, &workload);
  for (int i= optind; i < argc; i++)
    if (!workload_read(&workload, argv[i]))
      die(EXIT_USAGE, "%s", workload.error);
  if (s.head)
  {
    print_head(&workload, s.head);
    return EXIT_WELL;
  }
  if (s.class_count && !workload_select(&workload, s.classes, s.class_count))
    die(EXIT_USAGE, "--class: %s", workload.error);
  if (!workload_check(&workload))
    die(EXIT_USAGE, "%s", workload.error);
  default_time(&workload, "warmup", "1s", &s.warmup);
  default_time(&workload, "seconds", "10s", &s.window);
  default_time(&workload, "drain", "2s", &s.drain);
  if (s.window == 0)
    die(EXIT_USAGE, "--seconds: the window has no length");
  allow_open_files(all_connections(&workload), s.options.threads);
  if (s.check_only)
    return EXIT_WELL;

  struct sigaction action= {.sa_handler= on_signal};
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  signal(SIGPIPE, SIG_IGN);
  if (mysql_library_init(0, NULL, NULL))
    die(EXIT_FAILED, "libmariadb cannot be initialised");
  int status= run(&s, &workload);
  mysql_library_end();
  workload_free(&workload);
  free(s.classes);
  return status;
}
