/*
  An application server dies: thousands of its clients, each of which runs a statement, are
  killed by SIGKILL at once, beside a load of short statements.

    dead-clients PORT EXTRA_PORT CLIENTS

  It tells the largest gap of the pool's timer (Threadpool_timer_max_gap_us, _work_us) and what the
  load saw, for ten seconds before and ten after; and when the last session had gone. ci/dead-clients starts
  a server for it.
*/
#include <mysql.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOAD_CLIENTS 16
#define PROCESSES 4
#define WINDOW_SECONDS 10
#define MAX_LATENCIES 4000000

static unsigned port, extra_port;
static atomic_bool load_ends;
static atomic_uint window;      /* 0: not measured, 1 before, 2 after */
static atomic_uint count[3];
static uint32_t *latency[3];

static int64_t now_us(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

static void fail(const char *what, MYSQL *m)
{
  fprintf(stderr, "dead-clients: %s: %s\n", what, m ? mysql_error(m) : "");
  exit(1);
}

static MYSQL *connect_to(unsigned to)
{
  MYSQL *m= mysql_init(NULL);
  if (!m || !mysql_real_connect(m, "127.0.0.1", "root", "", NULL, to, NULL, 0))
    fail("connect", m);
  return m;
}

static void run(MYSQL *m, const char *statement)
{
  if (mysql_query(m, statement))
    fail(statement, m);
  MYSQL_RES *result= mysql_store_result(m);
  if (result)
    mysql_free_result(result);
}

/* The last column of the first row */
static long long ask(MYSQL *m, const char *statement)
{
  if (mysql_query(m, statement))
    fail(statement, m);
  MYSQL_RES *result= mysql_store_result(m);
  MYSQL_ROW row= result ? mysql_fetch_row(result) : NULL;
  if (!row)
    fail(statement, m);
  long long value= strtoll(row[mysql_num_fields(result) - 1], NULL, 10);
  mysql_free_result(result);
  return value;
}

static void *load(void *arg)
{
  MYSQL *m= connect_to(port);
  char statement[100];
  unsigned n= (unsigned) (uintptr_t) arg;
  while (!load_ends)
  {
    snprintf(statement, sizeof statement, "SELECT v FROM dead.t WHERE id=%u", n++ % 1000);
    int64_t begin= now_us();
    run(m, statement);
    unsigned w= window;
    unsigned i= atomic_fetch_add(&count[w], 1);
    if (w && i < MAX_LATENCIES)
      latency[w][i]= (uint32_t) (now_us() - begin);
    usleep(2000);
  }
  mysql_close(m);
  return NULL;
}

static int compare(const void *a, const void *b)
{
  uint32_t x= *(const uint32_t*) a, y= *(const uint32_t*) b;
  return x < y ? -1 : x > y;
}

static void report(MYSQL *control, unsigned w, const char *name)
{
  window= 0;
  usleep(100000);
  unsigned n= count[w] < MAX_LATENCIES ? count[w] : MAX_LATENCIES;
  qsort(latency[w], n, sizeof *latency[w], compare);
  long long gap= ask(control, "SHOW GLOBAL STATUS LIKE 'Threadpool_timer_max_gap_us'");
  long long work= ask(control, "SHOW GLOBAL STATUS LIKE 'Threadpool_timer_max_work_us'");
  printf("%s: gap of the timer %.1f ms, its longest round %.1f ms; load: %.0f/s, p50 %.2f ms, p99 %.2f ms, max %.1f ms\n", name,
         gap / 1000.0, work / 1000.0, (double) n / WINDOW_SECONDS, n ? latency[w][n / 2] / 1000.0 : 0,
         n ? latency[w][n / 100 * 99] / 1000.0 : 0, n ? latency[w][n - 1] / 1000.0 : 0);
  fflush(stdout);
}

/* Connects its clients, begins their statements, and waits to be killed */
static void die_later(unsigned clients, int ready)
{
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  static const char statement[]= "SELECT SLEEP(1000) FROM dead.t LIMIT 1";
  for (unsigned i= 0; i < clients; i++)
  {
    MYSQL *m= connect_to(port);
    if (mysql_send_query(m, statement, sizeof statement - 1))
      fail("send", m);
  }
  if (write(ready, "", 1) != 1)
    exit(1);
  for (;;)
    pause();
}

int main(int argc, char **argv)
{
  if (argc != 4)
  {
    fprintf(stderr, "usage: dead-clients PORT EXTRA_PORT CLIENTS\n");
    return 2;
  }
  port= (unsigned) atoi(argv[1]);
  extra_port= (unsigned) atoi(argv[2]);
  unsigned clients= (unsigned) atoi(argv[3]) / PROCESSES;

  mysql_library_init(0, NULL, NULL);
  MYSQL *control= connect_to(extra_port);
  run(control, "CREATE DATABASE IF NOT EXISTS dead");
  run(control, "CREATE OR REPLACE TABLE dead.t (id INT PRIMARY KEY, v INT) ENGINE=InnoDB");
  run(control, "INSERT INTO dead.t SELECT seq, seq FROM mysql.seq_0_to_999");

  int ready[2];
  pid_t children[PROCESSES];
  if (pipe(ready))
    fail("pipe", NULL);
  for (int i= 0; i < PROCESSES; i++)
    if (!(children[i]= fork()))
      die_later(clients, ready[1]);
  close(ready[1]);
  char byte;
  for (int i= 0; i < PROCESSES; i++)
    if (read(ready[0], &byte, 1) != 1)
      fail("a child has ended", NULL);
  while (ask(control, "SELECT COUNT(*) FROM INFORMATION_SCHEMA.PROCESSLIST WHERE STATE='User sleep'") < clients * PROCESSES)
    usleep(100000);
  printf("%u clients sleep\n", clients * PROCESSES);
  fflush(stdout);

  for (int w= 1; w <= 2; w++)
    if (!(latency[w]= calloc(MAX_LATENCIES, sizeof *latency[w])))
      fail("memory", NULL);
  pthread_t threads[LOAD_CLIENTS];
  for (uintptr_t i= 0; i < LOAD_CLIENTS; i++)
    pthread_create(&threads[i], NULL, load, (void*) (i * 61));
  sleep(2);
  run(control, "FLUSH STATUS");
  window= 1;
  sleep(WINDOW_SECONDS);
  report(control, 1, "before");

  run(control, "FLUSH STATUS");
  window= 2;
  int64_t begin= now_us();
  for (int i= 0; i < PROCESSES; i++)
    kill(children[i], SIGKILL);
  double gone= 0;
  while (now_us() < begin + WINDOW_SECONDS * 1000000LL)
  {
    usleep(200000);
    if (!gone && ask(control, "SHOW GLOBAL STATUS LIKE 'Threads_connected'") < LOAD_CLIENTS + 20)
      gone= (double) (now_us() - begin) / 1e6;
  }
  report(control, 2, "after");
  if (gone)
    printf("all had gone after %.1f s\n", gone);
  else
    printf("still there after %d s: %lld\n", WINDOW_SECONDS,
           ask(control, "SHOW GLOBAL STATUS LIKE 'Threads_connected'") - LOAD_CLIENTS - 1);
  load_ends= true;
  for (int i= 0; i < LOAD_CLIENTS; i++)
    pthread_join(threads[i], NULL);
  for (int i= 0; i < PROCESSES; i++)
    waitpid(children[i], NULL, 0);
  mysql_close(control);
  return 0;
}
