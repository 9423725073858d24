/* Says each few seconds how it goes, and what is to be seen when nothing does. */
#include "stress.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECOND 1000000000LL
#define PROGRESS (5 * SECOND)

struct totals
{
  unsigned long long statements, connects, commits, unknown;
};

static struct totals totals(void)
{
  struct totals t= {0};
  for (unsigned i= 0; i < options.clients; i++)
  {
    t.statements+= atomic_load(&clients[i].statements);
    t.connects+= atomic_load(&clients[i].connects);
    t.commits+= atomic_load(&clients[i].commits);
    t.unknown+= atomic_load(&clients[i].unknown);
  }
  return t;
}

static void progress(int64_t began)
{
  static unsigned long long last;
  static int64_t last_time;
  int64_t now= now_ns();
  if (!last_time)
    last_time= began;
  struct totals t= totals();
  printf("%4lld s: %llu statements (%.0f/s), %llu connections, %llu transfers + %llu in doubt, "
         "%llu errors, %llu kills, %llu settings, %llu binlog events\n",
         (long long) ((now - began) / SECOND), t.statements,
         (double) (t.statements - last) * SECOND / (double) (now - last_time + 1),
         t.connects, t.commits, t.unknown, (unsigned long long) errors_counted(),
         (unsigned long long) atomic_load(&kills), (unsigned long long) atomic_load(&settings),
         (unsigned long long) atomic_load(&dump_events));
  if (options.enders)
    printf("        %u of %u enders\n", enders_so_far(), options.enders);
  fflush(stdout);
  last= t.statements;
  last_time= now;
}

/* --- a hang --------------------------------------------------------------------- */

static void print_table(MYSQL *mysql, const char *query)
{
  printf("%s\n", query);
  if (mysql_query(mysql, query))
  {
    printf("    %s\n", mysql_error(mysql));
    return;
  }
  MYSQL_RES *result= mysql_store_result(mysql);
  MYSQL_ROW row;
  if (!result)
    return;
  for (unsigned i= 0; i < mysql_num_fields(result); i++)
    printf("%s%s", i ? "\t" : "    ", mysql_fetch_field_direct(result, i)->name);
  putchar('\n');
  while ((row= mysql_fetch_row(result)))
  {
    for (unsigned i= 0; i < mysql_num_fields(result); i++)
      printf("%s%.200s", i ? "\t" : "    ", row[i] ? row[i] : "NULL");
    putchar('\n');
  }
  mysql_free_result(result);
}

/* The server may answer nobody: then this gives up after a while. */
static void print_server(void)
{
  unsigned timeout= 20;
  MYSQL *mysql= mysql_init(NULL);
  mysql_options(mysql, MYSQL_OPT_CONNECT_TIMEOUT, &timeout);
  mysql_options(mysql, MYSQL_OPT_READ_TIMEOUT, &timeout);
  if (!mysql_real_connect(mysql, "127.0.0.1", ADMIN_USER, PASSWORD, NULL, options.extra_port,
                          NULL, 0))
    printf("extra_port: %s\n", mysql_error(mysql));
  else
  {
    print_table(mysql, "SHOW FULL PROCESSLIST");
    print_table(mysql, "SHOW GLOBAL VARIABLES LIKE 'thread_pool%'");
    print_table(mysql, "SELECT * FROM information_schema.thread_pool_groups");
    print_table(mysql, "SELECT * FROM information_schema.thread_pool_queues");
    print_table(mysql, "SELECT * FROM information_schema.thread_pool_waits");
    print_table(mysql, "SELECT * FROM information_schema.innodb_lock_waits");
  }
  mysql_close(mysql);
}

static void print_backtrace(void)
{
  char pid[20];
  snprintf(pid, sizeof(pid), "%d", options.pid);
  pid_t child= fork();
  if (child < 0)
    return;
  if (!child)
  {
    int fd= open(options.backtrace, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(fd, 1);
    dup2(fd, 2);
    dup2(null_fd, 0);
    execlp("timeout", "timeout", "120", "gdb", "-batch", "-nx", "-p", pid,
           "-ex", "thread apply all bt", (char *) NULL);
    _exit(127);
  }
  int status;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
    printf("what all threads of the server do: %s\n", options.backtrace);
  else
    printf("no backtrace: gdb is missing, or may not look at the server\n");
}

static void __attribute__((noreturn)) hang(const char *name, const char *what)
{
  check(false, name, "%s", what);
  int64_t now= now_ns();
  for (unsigned i= 0; i < options.clients; i++)
  {
    int64_t since= atomic_load(&clients[i].since);
    if (since)
      printf("    client %u, connection %lu, %s: for %.1f s\n", clients[i].number,
             atomic_load(&clients[i].id), atomic_load(&clients[i].doing),
             (double) (now - since) / SECOND);
  }
  fflush(stdout);
  print_server();
  fflush(stdout);
  print_backtrace();
  fflush(stdout);
  _exit(3);
}

/* One that waits for ever is a hang also while the others go on. */
static void look_at_each(void)
{
  int64_t now= now_ns();
  char what[300];
  for (unsigned i= 0; i < options.clients; i++)
  {
    int64_t since= atomic_load(&clients[i].since);
    if (since && now - since > options.hang * SECOND)
    {
      snprintf(what, sizeof(what), "client %u, connection %lu (%s) has waited for %u s",
               clients[i].number, atomic_load(&clients[i].id), atomic_load(&clients[i].doing),
               options.hang);
      hang("no statement hangs", what);
    }
  }
}

void look_at_server(void)
{
  if (kill(options.pid, 0) == 0 || errno != ESRCH)
    return;
  check(false, "the server runs", "it has ended; see its log");
  _exit(4);
}

static void step(void)
{
  usleep(200000);
  look_at_server();
  look_at_each();
}

void watch(unsigned seconds, _Atomic unsigned *running)
{
  int64_t began= now_ns(), next= began + PROGRESS, moved= began;
  unsigned long long statements= 0;
  char what[100];
  while (now_ns() < began + seconds * SECOND && !(options.enders && enders_are_done()))
  {
    step();
    if (totals().statements != statements)
    {
      statements= totals().statements;
      moved= now_ns();
    }
    if (now_ns() - moved > options.hang * SECOND)
    {
      snprintf(what, sizeof(what), "no client got anything done for %u s", options.hang);
      hang("the clients get on", what);
    }
    if (now_ns() >= next)
    {
      progress(began);
      next+= PROGRESS;
    }
  }
  if (options.enders && !enders_are_done())
  {
    snprintf(what, sizeof(what), "%u of %u after %u s", enders_so_far(), options.enders, seconds);
    hang("all enders are done in time", what);
  }
  check(true, "no statement hangs", "%s", "");
  atomic_store(&stopping, true);
  moved= now_ns();
  while (atomic_load(running))
  {
    step();
    if (now_ns() - moved > 2 * options.hang * SECOND)
    {
      snprintf(what, sizeof(what), "%u threads have not ended", atomic_load(running));
      hang("the clients end", what);
    }
  }
  progress(began);
}
