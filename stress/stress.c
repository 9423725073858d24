/* Reads the command line, starts the threads, and in the end the checks. */
#include "stress.h"

#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OTHERS 6

struct options options= {.seconds= 60, .clients= 48, .seed= 1, .hang= 60,
                         .backtrace= "backtrace.txt"};
atomic_bool stopping;
int null_fd;
struct worker *clients;
static _Atomic unsigned running;

static void __attribute__((noreturn)) usage(void)
{
  fputs("usage: stress --socket=F --port=N --extra-port=N --pid=N [--seconds=N] [--clients=N]\n"
        "              [--enders=N] [--seed=N] [--hang=N] [--backtrace=F]\n"
        "ci/stress starts a server for it.\n", stderr);
  exit(2);
}

static unsigned long number(const char *text, unsigned long max)
{
  char *end;
  unsigned long value= strtoul(text, &end, 10);
  if (*text < '0' || *text > '9' || *end || value > max)
    usage();
  return value;
}

static void read_options(int argc, char **argv)
{
  static const struct option known[]=
  {
    {"socket", required_argument, NULL, 's'}, {"port", required_argument, NULL, 'p'},
    {"extra-port", required_argument, NULL, 'e'}, {"pid", required_argument, NULL, 'i'},
    {"seconds", required_argument, NULL, 't'}, {"clients", required_argument, NULL, 'c'},
    {"seed", required_argument, NULL, 'r'}, {"hang", required_argument, NULL, 'h'},
    {"enders", required_argument, NULL, 'n'},
    {"backtrace", required_argument, NULL, 'b'}, {NULL, 0, NULL, 0}
  };
  int c;
  while ((c= getopt_long(argc, argv, "", known, NULL)) != -1)
    switch (c) {
    case 's': options.socket= optarg; break;
    case 'p': options.port= (unsigned) number(optarg, 65535); break;
    case 'e': options.extra_port= (unsigned) number(optarg, 65535); break;
    case 'i': options.pid= (int) number(optarg, 1 << 30); break;
    case 't': options.seconds= (unsigned) number(optarg, 1000000); break;
    case 'c': options.clients= (unsigned) number(optarg, 1000); break;
    case 'r': options.seed= number(optarg, ~0UL); break;
    case 'h': options.hang= (unsigned) number(optarg, 10000); break;
    case 'n': options.enders= (unsigned) number(optarg, 100000000); break;
    case 'b': options.backtrace= optarg; break;
    default: usage();
    }
  if (optind != argc || !options.socket || !options.port || !options.extra_port ||
      !options.pid || !options.clients || !options.hang)
    usage();
}

struct start
{
  void *(*main)(void *);
  struct worker *worker;
};

static void *begin(void *argument)
{
  struct start start= *(struct start *) argument;
  free(argument);
  mysql_thread_init();
  start.main(start.worker);
  mysql_thread_end();
  atomic_fetch_sub(&running, 1);
  return NULL;
}

static pthread_t start_thread(void *(*main)(void *), struct worker *w, unsigned number)
{
  pthread_t thread;
  struct start *start= malloc(sizeof(*start));
  if (!start)
    abort();
  start->main= main;
  start->worker= w;
  w->number= number;
  atomic_store(&w->doing, "nothing yet");
  seed_random(w, number);
  atomic_fetch_add(&running, 1);
  if (pthread_create(&thread, NULL, begin, start))
  {
    fputs("stress: cannot start a thread\n", stderr);
    exit(2);
  }
  return thread;
}

static void *(*const others_main[OTHERS])(void *)=
{
  admin_main, killer_main, dump_main, dump_main, dump_main, dump_main
};
static void *(*const beside_enders_main[OTHERS])(void *)=
{
  admin_main, census_main, hunter_main, hunter_main, hunter_main, hunter_main
};

int main(int argc, char **argv)
{
  static struct worker others[OTHERS], control;
  pthread_t threads[1000 + LOAD + OTHERS];
  unsigned n= 0;

  read_options(argc, argv);
  signal(SIGPIPE, SIG_IGN);
  /*
    The server's certificate is not verified. The library would read all of the
    system's for each connection, under a mutex, and do little else.
  */
  setenv("SSL_CERT_FILE", "/dev/null", 1);
  setenv("SSL_CERT_DIR", "/dev/null", 1);
  null_fd= open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null_fd < 0 || mysql_library_init(0, NULL, NULL))
    abort();
  atomic_store(&control.doing, "setup");
  options.accounts= ACCOUNTS + (options.enders ? 2 * options.clients : 0);
  create_tables(&control);
  if (options.enders)
  {
    unsigned victims= options.clients;
    options.clients+= LOAD;
    enders_prepare(&control, victims);
  }
  clients= calloc(options.clients, sizeof(*clients));
  if (!clients)
    abort();

  for (unsigned i= 0; i < options.clients; i++, n++)
    threads[n]= start_thread(!options.enders ? client_main : i < LOAD ? load_main : victim_main,
                             &clients[i], n + 1);
  for (unsigned i= 0; i < OTHERS; i++, n++)
    threads[n]= start_thread(!options.enders ? others_main[i] : beside_enders_main[i],
                             &others[i], n + 1);
  watch(options.seconds, &running);
  while (n)
    pthread_join(threads[--n], NULL);
  if (options.enders)
    enders_release();

  check_all(&control);
  free(clients);
  mysql_library_end();
  return all_is_well() ? 0 : 1;
}
