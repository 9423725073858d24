#include "engine.h"

#include "units.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <mysql.h>
#include <errmsg.h>

#define EVENTS_AT_ONCE 512
/* A thread looks at the clock and at `stop` at least that often. */
#define LONGEST_WAIT (100 * NS_PER_MS)
#define RETRY_AFTER (100 * NS_PER_MS)
/* Slow readers: sleep no shorter than that between two reads. */
#define PACING_STEP (5 * NS_PER_MS)
#define SLOW_READER_BUFFER 16384
#define FIRST_DUMP_SERVER_ID 1000000
#define READS_AT_ONCE 16
#define NO_TIMER UINT32_MAX

/* The call into libmariadb that a connection is in, or begins next. */
enum op
{
  OP_NONE, OP_CONNECT, OP_QUERY, OP_STORE, OP_FETCH, OP_NEXT, OP_PREPARE,
  OP_EXECUTE, OP_STORE_PREPARED
};

/* What the connection is doing with it. */
enum stage
{
  STAGE_CLOSED,         /* no connection; with a timer: to be tried again */
  STAGE_LOGIN,          /* connecting, then init, then preparing */
  STAGE_READY,          /* logged in, between passes */
  STAGE_PASS,           /* in a pass: in a statement, or pausing (timer) */
  STAGE_ROLLBACK,       /* cleaning up after a failed pass */
  STAGE_RAW_CONNECT,    /* silent: TCP connection under way */
  STAGE_MUTE            /* silent, idle or a binlog dump: only listens */
};

struct conn
{
  struct event_thread *thread;
  struct class *class;
  struct class_stats *stats;
  MYSQL *mysql;
  MYSQL_RES *result;
  MYSQL_STMT **prepared;        /* one for each statement */
  int64_t *numbers;             /* of all of them, one after the other */
  char *text;                   /* the statement being sent */
  int fd;                       /* watched by epoll; -1: none */
  bool watching_write;
  bool counted;                 /* in engine->connected */
  bool in_pass;
  enum op op;
  enum stage stage;
  int want;                     /* MYSQL_WAIT_*; 0: not inside a call */
  unsigned init_done, prepared_done, step;
  int64_t pass_start, statement_start;
  int64_t timer;                /* when, if timer_place is not NO_TIMER */
  uint32_t timer_place;
  int64_t paced_from;           /* paced reading: since when, and how much */
  double paced_bytes;
  struct values values;
  /* What the calls return into. */
  MYSQL *ret_mysql;
  MYSQL_RES *ret_result;
  MYSQL_ROW ret_row;
  int ret_int;
  struct conn *next_idle;       /* open loop: waiting for a request */
  /* Binlog dump: where we are in its stream of packets. */
  uint32_t packet_left, packet_at;
  unsigned char packet_head[7];
};

/* Open loop: when requests of one class are due on one thread. */
struct arrivals
{
  double rate;                  /* of this thread's share */
  int64_t next;
  struct conn *idle;
  int64_t *backlog;             /* due, but no connection was free: a ring */
  size_t first, length, size;
};

struct event_thread
{
  struct engine *engine;
  pthread_t thread;
  unsigned number;
  int epoll, wake;
  uint64_t random_state;
  struct conn *conns;
  unsigned conn_count;
  unsigned to_connect;          /* the next one, before the start */
  unsigned connecting;          /* how many are at it, before the start */
  bool running;                 /* has seen engine->start */
  uint64_t open_passes;         /* that the drain waits for */
  struct conn **timers;         /* a heap */
  unsigned timer_count;
  struct class_stats *stats;    /* one for each class */
  struct arrivals *arrivals;    /* one for each class */
  int64_t cpu;                  /* read by the main thread */
  int64_t marked_cpu;           /* the main thread's */
};

int64_t now_ns(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * NS_PER_S + t.tv_nsec;
}

#define LOAD(x) __atomic_load_n(&(x), __ATOMIC_ACQUIRE)
#define STORE(x, v) __atomic_store_n(&(x), (v), __ATOMIC_RELEASE)
/* For counters with one writer. */
#define BUMP(x) __atomic_store_n(&(x), (x) + 1, __ATOMIC_RELAXED)

static void *zeroed(size_t count, size_t size)
{
  void *memory= calloc(count ? count : 1, size);
  if (!memory)
  {
    fputs("tpbench: out of memory\n", stderr);
    exit(1);
  }
  return memory;
}

static void wake_all(struct engine *e)
{
  uint64_t one= 1;
  for (unsigned i= 0; i < e->thread_count; i++)
    if (write(e->threads[i].wake, &one, sizeof(one)) < 0)
      continue;                 /* its counter is full: it will wake up */
}

/* Ends the run. The first message wins. */
static void fatal(struct engine *e, bool server_gone, const char *message)
{
  pthread_mutex_lock(&e->lock);
  if (!e->message[0])
  {
    snprintf(e->message, sizeof(e->message), "%s", message);
    e->server_gone= server_gone;
    STORE(e->stopped, now_ns());
  }
  pthread_mutex_unlock(&e->lock);
  STORE(e->stop, 1);
  wake_all(e);
}

/* --- timers: a heap, one timer for each connection at most ----------------- */

static void timer_place(struct event_thread *t, unsigned place, struct conn *c)
{
  t->timers[place]= c;
  c->timer_place= place;
}

static void timer_up(struct event_thread *t, unsigned place)
{
  struct conn *c= t->timers[place];
  while (place > 0)
  {
    unsigned parent= (place - 1) / 2;
    if (t->timers[parent]->timer <= c->timer)
      break;
    timer_place(t, place, t->timers[parent]);
    place= parent;
  }
  timer_place(t, place, c);
}

static void timer_down(struct event_thread *t, unsigned place)
{
  struct conn *c= t->timers[place];
  for (;;)
  {
    unsigned child= 2 * place + 1;
    if (child >= t->timer_count)
      break;
    if (child + 1 < t->timer_count &&
        t->timers[child + 1]->timer < t->timers[child]->timer)
      child++;
    if (t->timers[child]->timer >= c->timer)
      break;
    timer_place(t, place, t->timers[child]);
    place= child;
  }
  timer_place(t, place, c);
}

static void timer_set(struct conn *c, int64_t when)
{
  struct event_thread *t= c->thread;
  c->timer= when;
  if (c->timer_place == NO_TIMER)
    timer_place(t, t->timer_count++, c);
  timer_up(t, c->timer_place);
  timer_down(t, c->timer_place);
}

static void timer_cancel(struct conn *c)
{
  struct event_thread *t= c->thread;
  unsigned place= c->timer_place;
  if (place == NO_TIMER)
    return;
  c->timer_place= NO_TIMER;
  struct conn *last= t->timers[--t->timer_count];
  if (last == c)
    return;
  timer_place(t, place, last);
  timer_up(t, place);
  timer_down(t, last->timer_place);
}

static int64_t pause_length(struct conn *c, const struct pause *p)
{
  if (!p->exponential)
    return p->ns;
  return (int64_t) (-log(random_fraction(c->values.random_state)) *
                    (double) p->ns);
}

/* --- what is measured ------------------------------------------------------ */

static bool in_window(const struct engine *e, int64_t now)
{
  return now >= LOAD(e->window_begin) && now < LOAD(e->window_end);
}

static bool is_over(const struct engine *e, int64_t now)
{
  return now >= LOAD(e->window_end) || LOAD(e->stop);
}

/*
  A request that ends before the window is not seen at all. One that ends
  within it counts. One that was open when the window ended only lends its
  latency: leaving it out would make a starved class look fast.
*/
static void record(struct conn *c, struct histogram *h, uint64_t *count,
                   uint64_t *series, int64_t from, int64_t now)
{
  struct engine *e= c->thread->engine;
  int64_t begin= LOAD(e->window_begin), end= LOAD(e->window_end);
  /* What begins after the window is only there to end a pass. */
  if (now < begin || from >= end)
    return;
  histogram_add(h, now > from ? (uint64_t) (now - from) : 0);
  if (now >= end)
    return;
  (*count)++;
  uint64_t second= (uint64_t) ((now - begin) / NS_PER_S);
  if (second < e->series_length)
    series[second]++;
}

static void count_error(struct conn *c, unsigned code, const char *message)
{
  struct class_stats *s= c->stats;
  struct engine *e= c->thread->engine;
  struct error_count *slot= s->errors;
  BUMP(s->live_errors);
  /* The last slot is for all codes that have no slot of their own. */
  while (slot < &s->errors[MAX_ERROR_CODES - 1] && slot->code &&
         slot->code != code)
    slot++;
  bool first= slot->count == 0;
  slot->code= slot == &s->errors[MAX_ERROR_CODES - 1] ? 0 : code;
  slot->count++;
  if (first && code)
  {
    pthread_mutex_lock(&e->lock);
    fprintf(stderr, "tpbench: class %s: error %u: %s (more of these are only "
            "counted)\n", c->class->name, code, message);
    pthread_mutex_unlock(&e->lock);
  }
}

/* --- watching sockets ------------------------------------------------------ */

/*
  Edge-triggered: every reader reads until the socket is empty before it
  waits, so that no event is lost, and a statement costs no epoll_ctl. Writing
  is watched only while something waits for it.
*/
static void watch(struct conn *c, int fd, bool write)
{
  struct epoll_event event;
  if (fd == c->fd && write == c->watching_write)
    return;
  event.events= EPOLLIN | EPOLLRDHUP | EPOLLET | (write ? EPOLLOUT : 0);
  event.data.ptr= c;
  if (fd != c->fd || epoll_ctl(c->thread->epoll, EPOLL_CTL_MOD, fd, &event))
  {
    if (epoll_ctl(c->thread->epoll, EPOLL_CTL_ADD, fd, &event) &&
        (errno != EEXIST ||
         epoll_ctl(c->thread->epoll, EPOLL_CTL_MOD, fd, &event)))
    {
      char message[100];
      snprintf(message, sizeof(message), "epoll: %s", strerror(errno));
      fatal(c->thread->engine, false, message);
    }
  }
  c->fd= fd;
  c->watching_write= write;
}

/* --- opening and closing --------------------------------------------------- */

static void free_connection(struct conn *c)
{
  struct class *class= c->class;
  /*
    In the middle of a call nothing polite can be said any more, and rows that
    were not read would be read now, for as long as that takes.
  */
  if (c->fd >= 0 && (c->want || c->result))
    shutdown(c->fd, SHUT_RDWR);
  if (c->result)
  {
    mysql_free_result(c->result);
    c->result= NULL;
  }
  if (c->mysql)
  {
    mysql_close(c->mysql);
    c->mysql= NULL;
  }
  else if (c->fd >= 0)
    close(c->fd);
  if (c->prepared)
    for (unsigned i= 0; i < class->statement_count; i++)
      if (c->prepared[i])
      {
        mysql_stmt_close(c->prepared[i]);       /* after the close: no message */
        c->prepared[i]= NULL;
      }
  c->fd= -1;
  c->watching_write= false;
  c->want= 0;
  c->op= OP_NONE;
  c->stage= STAGE_CLOSED;
}

/* The Unix socket to connect to, or NULL. */
static const char *socket_of(const struct conn *c)
{
  if (c->class->socket)
    return c->class->socket;
  return c->class->port ? NULL : c->thread->engine->options->socket;
}

static void begin_login(struct conn *c)
{
  const struct class *class= c->class;
  char yes= 1;
  size_t default_stack= 0;
  unsigned tcp= MYSQL_PROTOCOL_TCP;
  c->mysql= mysql_init(NULL);
  if (!c->mysql)
  {
    fatal(c->thread->engine, false, "out of memory");
    return;
  }
  mysql_options(c->mysql, MYSQL_OPT_NONBLOCK, &default_stack);
  mysql_options(c->mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
  mysql_options4(c->mysql, MYSQL_OPT_CONNECT_ATTR_ADD, "program_name",
                 "tpbench");
  /* Or it would take "localhost" for a Unix socket. */
  if (!socket_of(c))
    mysql_options(c->mysql, MYSQL_OPT_PROTOCOL, &tcp);
  if (class->tls)
    mysql_options(c->mysql, MYSQL_OPT_SSL_ENFORCE, &yes);
  if (class->compress)
    mysql_options(c->mysql, MYSQL_OPT_COMPRESS, &yes);
  c->stage= STAGE_LOGIN;
  c->init_done= c->prepared_done= 0;
  c->op= OP_CONNECT;
}

static void drive(struct conn *c, int events);

/* Silent clients need no library: a socket is all that they have. */
static void begin_raw_connect(struct conn *c)
{
  struct engine *e= c->thread->engine;
  char message[200];
  int fd= socket(e->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
                 0);
  if (fd < 0 ||
      (connect(fd, (struct sockaddr *) &e->address, e->address_length) &&
       errno != EINPROGRESS))
  {
    snprintf(message, sizeof(message), "class %s: cannot connect: %s",
             c->class->name, strerror(errno));
    if (fd >= 0)
      close(fd);
    fatal(e, false, message);
    return;
  }
  c->stage= STAGE_RAW_CONNECT;
  watch(c, fd, true);
}

static void connect_more(struct event_thread *t)
{
  struct engine *e= t->engine;
  unsigned at_a_time= e->options->connect_parallel / e->options->threads;
  if (at_a_time == 0)
    at_a_time= 1;
  while (t->to_connect < t->conn_count && t->connecting < at_a_time &&
         !LOAD(e->stop))
  {
    struct conn *c= &t->conns[t->to_connect++];
    if (c->class->reconnect)
    {
      /* Connects when its first pass begins. */
      c->counted= true;
      __atomic_add_fetch(&e->connected, 1, __ATOMIC_RELEASE);
      continue;
    }
    t->connecting++;
    if (c->class->silent)
      begin_raw_connect(c);
    else
    {
      begin_login(c);
      drive(c, 0);
    }
  }
}

/* Once for each connection, when it is ready for the start. */
static void count_connected(struct conn *c)
{
  if (c->counted)
    return;
  c->counted= true;
  c->thread->connecting--;
  __atomic_add_fetch(&c->thread->engine->connected, 1, __ATOMIC_RELEASE);
}

/* --- passes ---------------------------------------------------------------- */

static bool begin_statement(struct conn *c, int64_t now);

/* Both return true if c->op is to be started. */
static bool begin_pass(struct conn *c, int64_t due, int64_t now)
{
  c->in_pass= true;
  c->values.pass++;
  c->pass_start= due;
  c->step= 0;
  if (!c->class->background)
    c->thread->open_passes++;
  if (c->class->reconnect)
  {
    begin_login(c);
    return true;
  }
  return begin_statement(c, now);
}

static bool begin_statement(struct conn *c, int64_t now)
{
  const struct class *class= c->class;
  const struct template *t= class->statements[c->step];
  c->stage= STAGE_PASS;
  /* The first one has been due since the pass was, unless it had to connect. */
  c->statement_start= c->step == 0 && !class->reconnect ? c->pass_start : now;
  if (class->prepared)
  {
    int64_t *numbers= c->numbers;
    for (unsigned i= 0; i < c->step; i++)
      numbers+= class->statements[i]->number_count;
    template_numbers(t, &c->values, numbers);
    c->op= OP_EXECUTE;
  }
  else
    c->op= OP_QUERY;
  return true;
}

static bool take_from_backlog(struct arrivals *a, int64_t *due)
{
  if (a->length == 0)
    return false;
  *due= a->backlog[a->first];
  a->first= (a->first + 1) % a->size;
  a->length--;
  return true;
}

static void add_to_backlog(struct arrivals *a, int64_t due)
{
  if (a->length == a->size)
  {
    size_t size= a->size ? 2 * a->size : 64;
    int64_t *grown= zeroed(size, sizeof(*grown));
    for (size_t i= 0; i < a->length; i++)
      grown[i]= a->backlog[(a->first + i) % a->size];
    free(a->backlog);
    a->backlog= grown;
    a->first= 0;
    a->size= size;
  }
  a->backlog[(a->first + a->length++) % a->size]= due;
}

static struct arrivals *arrivals_of(struct conn *c)
{
  return &c->thread->arrivals[c->class - c->thread->engine->workload->classes];
}

/* The connection is free. Returns true if c->op is to be started. */
static bool next_pass(struct conn *c, int64_t now)
{
  int64_t due;
  if (c->stage != STAGE_CLOSED)
    c->stage= STAGE_READY;
  c->op= OP_NONE;
  if (!c->thread->running)
    return false;
  if (c->class->rate > 0)
  {
    struct arrivals *a= arrivals_of(c);
    if (take_from_backlog(a, &due))
    {
      /* begin_pass counts it again */
      if (!c->class->background)
        c->thread->open_passes--;
      return begin_pass(c, due, now);
    }
    c->next_idle= a->idle;
    a->idle= c;
    return false;
  }
  if (is_over(c->thread->engine, now))
    return false;
  if (c->class->think.ns)
  {
    timer_set(c, now + pause_length(c, &c->class->think));
    return false;
  }
  return begin_pass(c, now, now);
}

static void end_pass(struct conn *c)
{
  c->in_pass= false;
  if (!c->class->background)
    c->thread->open_passes--;
}

static bool pass_done(struct conn *c, int64_t now)
{
  struct class_stats *s= c->stats;
  record(c, &s->pass, &s->passes, s->series_passes, c->pass_start, now);
  if (now >= LOAD(c->thread->engine->window_end))
    s->late++;
  BUMP(s->live_passes);
  end_pass(c);
  if (c->class->reconnect)
    free_connection(c);
  return next_pass(c, now);
}

static bool statement_done(struct conn *c)
{
  struct class_stats *s= c->stats;
  int64_t now= now_ns();
  c->op= OP_NONE;
  if (c->stage == STAGE_ROLLBACK)
    return next_pass(c, now);
  record(c, &s->statement, &s->statements, s->series_statements,
         c->statement_start, now);
  if (++c->step == c->class->statement_count)
    return pass_done(c, now);
  if (c->class->pause.ns)
  {
    timer_set(c, now + pause_length(c, &c->class->pause));
    return false;
  }
  return begin_statement(c, now);
}

/* --- logging in ------------------------------------------------------------ */

static void send_raw(struct conn *c, const unsigned char *bytes, size_t length)
{
  if (send(c->fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t) length)
    fatal(c->thread->engine, false, "cannot send the request for a binlog dump");
}

/*
  COM_BINLOG_DUMP from the beginning of the first binary log. From here on the
  server only sends, and libmariadb is not asked any more.
*/
static void begin_dump(struct conn *c)
{
  uint32_t server_id= FIRST_DUMP_SERVER_ID + (uint32_t) c->values.conn;
  unsigned char packet[]=
  {
    11, 0, 0, 0,                /* length, number */
    0x12,                       /* COM_BINLOG_DUMP */
    4, 0, 0, 0,                 /* position */
    0, 0,                       /* flags: wait at the end */
    (unsigned char) server_id, (unsigned char) (server_id >> 8),
    (unsigned char) (server_id >> 16), (unsigned char) (server_id >> 24)
  };
  c->packet_left= c->packet_at= 0;
  c->paced_from= now_ns();
  c->paced_bytes= 0;
  send_raw(c, packet, sizeof(packet));
}

static bool logged_in(struct conn *c)
{
  int64_t now= now_ns();
  c->op= OP_NONE;
  if (c->class->idle || c->class->binlog_dump)
  {
    c->stage= STAGE_MUTE;
    if (c->class->binlog_dump)
      begin_dump(c);
    count_connected(c);
    return false;
  }
  if (c->in_pass)
    return begin_statement(c, now);
  count_connected(c);
  return next_pass(c, now);
}

/* After the connection, and after each step of the login. */
static bool next_login_step(struct conn *c)
{
  const struct class *class= c->class;
  if (c->init_done < class->init_count)
  {
    c->op= OP_QUERY;
    return true;
  }
  if (class->prepared && c->prepared_done < class->statement_count)
  {
    MYSQL_STMT *stmt= mysql_stmt_init(c->mysql);
    if (!stmt)
    {
      fatal(c->thread->engine, false, "out of memory");
      return false;
    }
    c->prepared[c->prepared_done]= stmt;
    c->op= OP_PREPARE;
    return true;
  }
  return logged_in(c);
}

static bool connected(struct conn *c)
{
  const struct class *class= c->class;
  int fd= (int) mysql_get_socket(c->mysql);
  watch(c, fd, false);
  /*
    libmariadb's handshake leaves the socket blocking, and its TLS functions,
    unlike the others, rely on the socket not to be.
  */
  if (class->tls)
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  if (class->read_rate > 0)
  {
    /* Or the kernel would read on for it: megabytes, without any delay. */
    int size= SLOW_READER_BUFFER;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
  }
  if (class->group_count &&
      mysql_thread_id(c->mysql) % class->group_count != class->group)
  {
    /* Not the group that was asked for: the next number may be. */
    free_connection(c);
    begin_login(c);
    return true;
  }
  return next_login_step(c);
}

static bool bind_numbers(struct conn *c, unsigned statement)
{
  const struct class *class= c->class;
  unsigned count= class->statements[statement]->number_count;
  MYSQL_BIND *bind;
  int64_t *numbers= c->numbers;
  if (mysql_stmt_param_count(c->prepared[statement]) != count)
  {
    fatal(c->thread->engine, false, "a prepared statement has another number of "
          "parameters than it has random integers: is there a '?' in it?");
    return false;
  }
  if (count == 0)
    return true;
  for (unsigned i= 0; i < statement; i++)
    numbers+= class->statements[i]->number_count;
  bind= zeroed(count, sizeof(*bind));
  for (unsigned i= 0; i < count; i++)
  {
    bind[i].buffer_type= MYSQL_TYPE_LONGLONG;
    bind[i].buffer= &numbers[i];
  }
  bool ok= !mysql_stmt_bind_param(c->prepared[statement], bind);
  free(bind);
  if (!ok)
    fatal(c->thread->engine, false, mysql_stmt_error(c->prepared[statement]));
  return ok;
}

/* --- errors ---------------------------------------------------------------- */

static bool is_lost(unsigned code)
{
  /* 1927 is ER_CONNECTION_KILLED, after which the server hangs up. */
  return code == CR_SERVER_LOST || code == CR_SERVER_GONE_ERROR ||
         code == CR_SERVER_LOST_EXTENDED || code == 1927;
}

/* The errno that libmariadb puts into its message: "... (111)". */
static int errno_in(const char *message)
{
  const char *open= strrchr(message, '(');
  return open ? atoi(open + 1) : 0;
}

/* Nothing listens there any more, as opposed to being too busy for us. */
static bool nobody_listens(unsigned code, const char *message)
{
  int error= errno_in(message);
  return (code == CR_CONNECTION_ERROR || code == CR_CONN_HOST_ERROR) &&
         (error == ECONNREFUSED || error == ENOENT);
}

static bool connect_failed(struct conn *c, unsigned code, const char *reason)
{
  struct engine *e= c->thread->engine;
  char message[400];
  if (!c->thread->running && !c->counted)
  {
    snprintf(message, sizeof(message), "class %s: %s (error %u), when %llu "
             "connections were open", c->class->name, reason, code,
             (unsigned long long) LOAD(e->connected));
    fatal(e, false, message);
    return false;
  }
  count_error(c, code, reason);
  if (nobody_listens(code, reason))
  {
    snprintf(message, sizeof(message), "the server is gone: %s", reason);
    fatal(e, true, message);
    return false;
  }
  /* A pass that could not connect goes on trying: its latency counts. */
  free_connection(c);
  timer_set(c, now_ns() + RETRY_AFTER);
  return false;
}

/* Open loop: no request must be given to a connection that is gone. */
static void leave_idle_list(struct conn *c)
{
  struct conn **link= &arrivals_of(c)->idle;
  while (*link && *link != c)
    link= &(*link)->next_idle;
  if (*link)
    *link= c->next_idle;
}

/* The connection broke, or was ended by the server. */
static bool connection_lost(struct conn *c)
{
  int64_t now= now_ns();
  timer_cancel(c);
  leave_idle_list(c);
  c->stats->closed_by_server++;
  if (c->in_pass)
  {
    c->stats->failed_passes++;
    end_pass(c);
  }
  free_connection(c);
  if (LOAD(c->thread->engine->stop) || is_over(c->thread->engine, now))
    return false;
  if (c->class->reconnect)
    return next_pass(c, now);
  /* At once: whether anybody still listens is worth knowing soon. */
  begin_login(c);
  return true;
}

static bool failed(struct conn *c, unsigned code, const char *reason)
{
  char message[400];
  if (c->result)
  {
    mysql_free_result(c->result);
    c->result= NULL;
  }
  if (c->stage == STAGE_LOGIN)
    return connect_failed(c, code, reason);
  count_error(c, code, reason);
  if (is_lost(code))
    return connection_lost(c);
  if (c->stage == STAGE_ROLLBACK)
  {
    snprintf(message, sizeof(message), "class %s: ROLLBACK failed: %s",
             c->class->name, reason);
    fatal(c->thread->engine, false, message);
    return false;
  }
  c->stats->failed_passes++;
  end_pass(c);
  if (c->class->reconnect)
  {
    free_connection(c);
    return next_pass(c, now_ns());
  }
  /* A transaction may be open; the next pass must not be part of it. */
  c->stage= STAGE_ROLLBACK;
  c->op= OP_QUERY;
  return true;
}

static bool mysql_failed(struct conn *c)
{
  return failed(c, mysql_errno(c->mysql), mysql_error(c->mysql));
}

static bool stmt_failed(struct conn *c, MYSQL_STMT *stmt)
{
  return failed(c, mysql_stmt_errno(stmt), mysql_stmt_error(stmt));
}

/* --- calls into libmariadb ------------------------------------------------- */

static size_t text_to_send(struct conn *c)
{
  switch (c->stage) {
  case STAGE_LOGIN:
    return template_expand(c->class->init[c->init_done], &c->values, c->text);
  case STAGE_ROLLBACK:
    strcpy(c->text, "ROLLBACK");
    return strlen(c->text);
  default:
    return template_expand(c->class->statements[c->step], &c->values, c->text);
  }
}

static int start_connect(struct conn *c)
{
  const struct options *o= c->thread->engine->options;
  const struct class *class= c->class;
  return mysql_real_connect_start(&c->ret_mysql, c->mysql,
                                  socket_of(c) ? NULL : o->host,
                                  class->user ? class->user : o->user,
                                  class->password ? class->password
                                                  : o->password,
                                  class->database ? class->database
                                                  : o->database,
                                  class->port ? (unsigned) class->port : o->port,
                                  socket_of(c), 0);
}

/* Both return what to wait for, 0 if the call has ended. */
static int start_op(struct conn *c)
{
  size_t length;
  switch (c->op) {
  case OP_CONNECT:
    return start_connect(c);
  case OP_QUERY:
    length= text_to_send(c);
    return mysql_real_query_start(&c->ret_int, c->mysql, c->text, length);
  case OP_STORE:
    return mysql_store_result_start(&c->ret_result, c->mysql);
  case OP_FETCH:
    return mysql_fetch_row_start(&c->ret_row, c->result);
  case OP_NEXT:
    return mysql_next_result_start(&c->ret_int, c->mysql);
  case OP_PREPARE:
    length= template_placeholders(c->class->statements[c->prepared_done],
                                  c->text);
    return mysql_stmt_prepare_start(&c->ret_int, c->prepared[c->prepared_done],
                                    c->text, length);
  case OP_EXECUTE:
    return mysql_stmt_execute_start(&c->ret_int, c->prepared[c->step]);
  case OP_STORE_PREPARED:
    return mysql_stmt_store_result_start(&c->ret_int, c->prepared[c->step]);
  case OP_NONE:
    break;
  }
  return 0;
}

static int continue_op(struct conn *c, int events)
{
  switch (c->op) {
  case OP_CONNECT:
    return mysql_real_connect_cont(&c->ret_mysql, c->mysql, events);
  case OP_QUERY:
    return mysql_real_query_cont(&c->ret_int, c->mysql, events);
  case OP_STORE:
    return mysql_store_result_cont(&c->ret_result, c->mysql, events);
  case OP_FETCH:
    return mysql_fetch_row_cont(&c->ret_row, c->result, events);
  case OP_NEXT:
    return mysql_next_result_cont(&c->ret_int, c->mysql, events);
  case OP_PREPARE:
    return mysql_stmt_prepare_cont(&c->ret_int, c->prepared[c->prepared_done],
                                   events);
  case OP_EXECUTE:
    return mysql_stmt_execute_cont(&c->ret_int, c->prepared[c->step], events);
  case OP_STORE_PREPARED:
    return mysql_stmt_store_result_cont(&c->ret_int, c->prepared[c->step],
                                        events);
  case OP_NONE:
    break;
  }
  return 0;
}

/* A statement was answered to its end: one of the login, or of a pass. */
static bool answered(struct conn *c)
{
  if (c->stage == STAGE_LOGIN)
  {
    c->init_done++;
    return next_login_step(c);
  }
  return statement_done(c);
}

static bool next_result_or_end(struct conn *c)
{
  if (!mysql_more_results(c->mysql))
    return answered(c);
  c->op= OP_NEXT;
  return true;
}

static bool take_result(struct conn *c)
{
  if (mysql_field_count(c->mysql) == 0)
    return next_result_or_end(c);
  if (c->class->read_rate == 0 || c->stage != STAGE_PASS)
  {
    c->op= OP_STORE;
    return true;
  }
  c->result= mysql_use_result(c->mysql);
  if (!c->result)
    return mysql_failed(c);
  c->paced_from= now_ns();
  c->paced_bytes= 0;
  c->op= OP_FETCH;
  return true;
}

/* Counts bytes read; returns true if it is too early to read on (timer set). */
static bool pace(struct conn *c, size_t bytes)
{
  int64_t now= now_ns();
  if (in_window(c->thread->engine, now))
    c->stats->bytes+= bytes;
  if (c->class->read_rate == 0)
    return false;
  c->paced_bytes+= (double) bytes;
  int64_t due= c->paced_from +
    (int64_t) (c->paced_bytes / c->class->read_rate * (double) NS_PER_S);
  if (due <= now + PACING_STEP)
    return false;
  timer_set(c, due);
  return true;
}

static bool row_fetched(struct conn *c)
{
  if (!c->ret_row)
  {
    if (mysql_errno(c->mysql))
      return mysql_failed(c);
    mysql_free_result(c->result);
    c->result= NULL;
    return next_result_or_end(c);
  }
  unsigned fields= mysql_num_fields(c->result);
  const unsigned long *lengths= mysql_fetch_lengths(c->result);
  size_t bytes= 4 + fields;             /* packet and length bytes, about */
  for (unsigned i= 0; i < fields; i++)
    bytes+= lengths[i];
  return !pace(c, bytes);
}

/* A call has ended. Returns true if c->op is to be started. */
static bool op_done(struct conn *c)
{
  MYSQL_STMT *stmt;
  switch (c->op) {
  case OP_CONNECT:
    return c->ret_mysql ? connected(c) : mysql_failed(c);
  case OP_QUERY:
    return c->ret_int ? mysql_failed(c) : take_result(c);
  case OP_STORE:
    if (!c->ret_result)
      return mysql_errno(c->mysql) ? mysql_failed(c) : next_result_or_end(c);
    mysql_free_result(c->ret_result);
    return next_result_or_end(c);
  case OP_FETCH:
    return row_fetched(c);
  case OP_NEXT:
    if (c->ret_int > 0)
      return mysql_failed(c);
    return c->ret_int < 0 ? answered(c) : take_result(c);
  case OP_PREPARE:
    stmt= c->prepared[c->prepared_done];
    if (c->ret_int)
      return stmt_failed(c, stmt);
    if (!bind_numbers(c, c->prepared_done))
      return false;
    c->prepared_done++;
    return next_login_step(c);
  case OP_EXECUTE:
    stmt= c->prepared[c->step];
    if (c->ret_int)
      return stmt_failed(c, stmt);
    if (mysql_stmt_field_count(stmt) == 0)
      return statement_done(c);
    c->op= OP_STORE_PREPARED;
    return true;
  case OP_STORE_PREPARED:
    stmt= c->prepared[c->step];
    if (c->ret_int)
      return stmt_failed(c, stmt);
    mysql_stmt_free_result(stmt);       /* all was read: sends nothing */
    return statement_done(c);
  case OP_NONE:
    break;
  }
  return false;
}

/* Starts c->op (events == 0) or goes on with it, and with what follows. */
static void drive(struct conn *c, int events)
{
  do
  {
    int wait= events ? continue_op(c, events) : start_op(c);
    c->want= wait;
    if (wait)
    {
      /* A host with several addresses: the socket may be another one now. */
      if (c->op == OP_CONNECT)
        c->fd= -1;
      watch(c, (int) mysql_get_socket(c->mysql), wait & MYSQL_WAIT_WRITE);
      return;
    }
    events= 0;
  } while (op_done(c) && !LOAD(c->thread->engine->stop));
}

/* --- those who only listen ------------------------------------------------- */

static void hung_up(struct conn *c)
{
  c->stats->closed_by_server++;
  timer_cancel(c);
  free_connection(c);
}

/*
  Follows the packets of a binlog dump: three bytes of length, a number, then
  the event. An event whose first byte is 255 is an error message.
*/
static void follow_dump(struct conn *c, const unsigned char *bytes, size_t length)
{
  bool counts= in_window(c->thread->engine, now_ns());
  while (length)
  {
    /* The header, and behind it the first bytes of the event. */
    if (c->packet_at < 4 ||
        (c->packet_left && c->packet_at < sizeof(c->packet_head)))
    {
      c->packet_head[c->packet_at++]= *bytes++;
      length--;
      if (c->packet_at == 4)
        c->packet_left= (uint32_t) (c->packet_head[0] | c->packet_head[1] << 8 |
                                    c->packet_head[2] << 16);
      else if (c->packet_at > 4)
        c->packet_left--;
      if (c->packet_at == 7 && c->packet_head[4] == 255)
        count_error(c, c->packet_head[5] | (unsigned) c->packet_head[6] << 8,
                    "the server ended the binlog dump");
    }
    else
    {
      size_t part= length < c->packet_left ? length : c->packet_left;
      bytes+= part;
      length-= part;
      c->packet_left-= (uint32_t) part;
    }
    if (c->packet_at >= 4 && c->packet_left == 0)
    {
      c->packet_at= 0;
      if (counts)
        c->stats->passes++;
      BUMP(c->stats->live_passes);
    }
  }
}

static void listen_only(struct conn *c)
{
  static __thread unsigned char buffer[65536];
  for (unsigned reads= 0;; reads++)
  {
    /* One that is sent a lot must not keep the others waiting. */
    if (reads == READS_AT_ONCE)
    {
      timer_set(c, now_ns());
      return;
    }
    size_t most= c->class->read_rate > 0 ? SLOW_READER_BUFFER : sizeof(buffer);
    ssize_t got= recv(c->fd, buffer, most, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      return;
    if (got <= 0)
    {
      hung_up(c);
      return;
    }
    if (c->class->binlog_dump)
      follow_dump(c, buffer, (size_t) got);
    if (pace(c, (size_t) got))
      return;
  }
}

/*
  The packet that asks for TLS: what it can do (protocol 4.1, TLS), the longest packet,
  the character set. The handshake would follow.
*/
static void ask_for_tls(struct conn *c)
{
  static const unsigned char request[36]=
  {
    32, 0, 0, 1, 0x85, 0xae, 0x0a, 0, 0, 0, 0, 1, 33
  };
  char message[200];
  /* A new socket has room for that. */
  if (send(c->fd, request, sizeof(request), MSG_NOSIGNAL) == sizeof(request))
    return;
  snprintf(message, sizeof(message), "class %s: cannot ask for TLS: %s",
           c->class->name, strerror(errno));
  fatal(c->thread->engine, false, message);
}

static void raw_connected(struct conn *c)
{
  struct engine *e= c->thread->engine;
  char message[200];
  int error= 0;
  socklen_t size= sizeof(error);
  getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error)
  {
    snprintf(message, sizeof(message), "class %s: cannot connect: %s",
             c->class->name, strerror(error));
    fatal(e, false, message);
    return;
  }
  if (c->class->tls)
    ask_for_tls(c);
  c->stage= STAGE_MUTE;
  watch(c, c->fd, false);
  count_connected(c);
  /* The greeting may be there already, and its event gone by. */
  listen_only(c);
}

/* --- events ---------------------------------------------------------------- */

static void socket_event(struct conn *c, uint32_t events)
{
  bool broken= events & (EPOLLERR | EPOLLHUP);
  if (c->fd < 0)
    return;
  if (c->stage == STAGE_RAW_CONNECT)
  {
    if (broken || events & EPOLLOUT)
      raw_connected(c);
    return;
  }
  if (c->stage == STAGE_MUTE)
  {
    /* A paced reader whose time has not come reads when it has. */
    if (c->timer_place == NO_TIMER)
      listen_only(c);
    return;
  }
  if (!c->want)
  {
    /* Thinking or pausing, and the server hangs up. */
    if ((broken || events & EPOLLRDHUP) && c->op == OP_NONE)
    {
      count_error(c, CR_SERVER_GONE_ERROR, "the server closed a connection that "
                  "was waiting for its client");
      if (connection_lost(c))
        drive(c, 0);
    }
    return;
  }
  int ready= 0;
  if (broken || events & (EPOLLIN | EPOLLRDHUP))
    ready|= c->want & MYSQL_WAIT_READ;
  if (broken || events & EPOLLOUT)
    ready|= c->want & MYSQL_WAIT_WRITE;
  if (ready)
    drive(c, ready);
}

static void timer_event(struct conn *c, int64_t due, int64_t now)
{
  switch (c->stage) {
  case STAGE_CLOSED:            /* the connection failed: again; or, if there */
                                /* is one for each pass, thought enough */
    if (!c->class->reconnect || c->in_pass)
    {
      begin_login(c);
      drive(c, 0);
      return;
    }
    /* fall through */
  case STAGE_READY:             /* thought enough */
    if (is_over(c->thread->engine, due))
      return;
    if (begin_pass(c, due, now))
      drive(c, 0);
    return;
  case STAGE_PASS:
    if (c->op == OP_NONE)       /* paused enough; else reads on */
      begin_statement(c, due);
    drive(c, 0);
    return;
  case STAGE_MUTE:
    listen_only(c);
    return;
  case STAGE_LOGIN:
  case STAGE_ROLLBACK:
  case STAGE_RAW_CONNECT:
    return;
  }
}

static void run_timers(struct event_thread *t, int64_t now)
{
  while (t->timer_count && t->timers[0]->timer <= now)
  {
    struct conn *c= t->timers[0];
    timer_cancel(c);
    timer_event(c, c->timer, now);
  }
}

static int64_t interval(struct event_thread *t, const struct class *class,
                        double rate)
{
  double mean= (double) NS_PER_S / rate;
  if (class->even_arrivals)
    return (int64_t) mean;
  return (int64_t) (-log(random_fraction(&t->random_state)) * mean);
}

/* Requests of open-loop classes that have become due. */
static void run_arrivals(struct event_thread *t, int64_t now)
{
  struct workload *w= t->engine->workload;
  for (unsigned i= 0; i < w->class_count; i++)
  {
    struct arrivals *a= &t->arrivals[i];
    if (a->rate == 0)
      continue;
    while (a->next <= now && a->next < LOAD(t->engine->window_end))
    {
      int64_t due= a->next;
      struct conn *c= a->idle;
      a->next+= interval(t, &w->classes[i], a->rate);
      if (!c)
      {
        add_to_backlog(a, due);
        if (!w->classes[i].background)
          t->open_passes++;
        continue;
      }
      a->idle= c->next_idle;
      if (begin_pass(c, due, now))
        drive(c, 0);
    }
  }
}

/* The start has come: everybody begins. */
static void begin_running(struct event_thread *t)
{
  struct workload *w= t->engine->workload;
  int64_t start= LOAD(t->engine->start);
  t->running= true;
  for (unsigned i= 0; i < w->class_count; i++)
  {
    t->stats[i].series_passes= zeroed(t->engine->series_length, sizeof(uint64_t));
    t->stats[i].series_statements=
      zeroed(t->engine->series_length, sizeof(uint64_t));
    if (t->arrivals[i].rate > 0)
    {
      int64_t first= interval(t, &w->classes[i], t->arrivals[i].rate);
      /* Evenly spaced over all threads, not all threads at once. */
      if (w->classes[i].even_arrivals)
        first= w->classes[i].apart ? first :
               first * (t->number + 1) / t->engine->options->threads;
      t->arrivals[i].next= start + first;
    }
  }
  for (unsigned i= 0; i < t->conn_count; i++)
  {
    struct conn *c= &t->conns[i];
    if (c->class->silent || c->class->idle || c->class->binlog_dump ||
        c->stage != (c->class->reconnect ? STAGE_CLOSED : STAGE_READY))
      continue;
    if (c->class->rate == 0 && c->class->think.ns)
    {
      /* Not all in step: anywhere within the first think time. */
      timer_set(c, start + random_between(&t->random_state, 0,
                                          c->class->think.ns));
      continue;
    }
    if (next_pass(c, now_ns()))
      drive(c, 0);
  }
}

static int64_t thread_cpu(void)
{
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * NS_PER_S + t.tv_nsec;
}

/* Waits for events until the next thing is due. */
static int wait_for_events(struct event_thread *t, struct epoll_event *events)
{
  static bool has_pwait2= true;         /* all threads find the same */
  int64_t now= now_ns(), until= now + LONGEST_WAIT;
  if (t->timer_count && t->timers[0]->timer < until)
    until= t->timers[0]->timer;
  if (t->running)
  {
    int64_t end= LOAD(t->engine->window_end);
    for (unsigned i= 0; i < t->engine->workload->class_count; i++)
      if (t->arrivals[i].rate > 0 && t->arrivals[i].next < until &&
          t->arrivals[i].next < end)
        until= t->arrivals[i].next;
    if (end > now && end < until)
      until= end;
    end= LOAD(t->engine->drain_end);
    if (end > now && end < until)
      until= end;
  }
  int64_t wait= until > now ? until - now : 0;
  if (__atomic_load_n(&has_pwait2, __ATOMIC_RELAXED))
  {
    struct timespec timeout= {wait / NS_PER_S, wait % NS_PER_S};
    int got= epoll_pwait2(t->epoll, events, EVENTS_AT_ONCE, &timeout, NULL);
    if (got >= 0 || errno == EINTR)
      return got;
    __atomic_store_n(&has_pwait2, false, __ATOMIC_RELAXED);
  }
  /* An older kernel: whole milliseconds, rounded up. */
  return epoll_wait(t->epoll, events, EVENTS_AT_ONCE,
                    (int) ((wait + NS_PER_MS - 1) / NS_PER_MS));
}

static bool thread_is_done(struct event_thread *t, int64_t now)
{
  struct engine *e= t->engine;
  if (LOAD(e->stop))
    return true;
  return t->running && now >= LOAD(e->window_end) &&
         (t->open_passes == 0 || now >= LOAD(e->drain_end));
}

/*
  Those still open leave the age that they have reached: their latency is more
  than that.
*/
static void add_open(struct class_stats *s, uint64_t age)
{
  histogram_add(&s->open_pass, age);
  s->unfinished++;
  if (age > s->oldest_unfinished)
    s->oldest_unfinished= age;
}

static uint64_t age_of(int64_t from, int64_t now)
{
  return now > from ? (uint64_t) (now - from) : 0;
}

static void count_unfinished(struct event_thread *t, int64_t now)
{
  struct engine *e= t->engine;
  int64_t end= LOAD(e->window_end);
  if (!t->running || now < LOAD(e->window_begin))
    return;
  for (unsigned i= 0; i < t->conn_count; i++)
  {
    struct conn *c= &t->conns[i];
    if (!c->in_pass || c->pass_start >= end)
      continue;
    add_open(c->stats, age_of(c->pass_start, now));
    if (c->op != OP_NONE && c->stage == STAGE_PASS && c->statement_start < end)
      histogram_add(&c->stats->open_statement, age_of(c->statement_start, now));
  }
  for (unsigned i= 0; i < e->workload->class_count; i++)
  {
    int64_t due;
    while (take_from_backlog(&t->arrivals[i], &due))
    {
      add_open(&t->stats[i], age_of(due, now));
      if (!e->workload->classes[i].reconnect)
        histogram_add(&t->stats[i].open_statement, age_of(due, now));
    }
  }
}

static void *run_thread(void *argument)
{
  struct event_thread *t= argument;
  struct engine *e= t->engine;
  struct epoll_event events[EVENTS_AT_ONCE];
  int64_t now= now_ns();
  mysql_thread_init();
  while (!thread_is_done(t, now))
  {
    if (!t->running)
    {
      connect_more(t);
      if (LOAD(e->start) <= now_ns())
        begin_running(t);
    }
    int got= wait_for_events(t, events);
    for (int i= 0; i < got; i++)
    {
      if (events[i].data.ptr)
        socket_event(events[i].data.ptr, events[i].events);
      else
      {
        uint64_t count;
        if (read(t->wake, &count, sizeof(count)) < 0)
          continue;             /* somebody else's wake-up: nothing to do */
      }
    }
    now= now_ns();
    run_timers(t, now);
    if (t->running)
      run_arrivals(t, now);
    __atomic_store_n(&t->cpu, thread_cpu(), __ATOMIC_RELAXED);
  }
  count_unfinished(t, now);
  /* The last one does it: the others may still have something open. */
  if (__atomic_add_fetch(&e->threads_measured, 1, __ATOMIC_ACQ_REL) ==
        e->thread_count && e->options->stop_at_end)
    kill(e->options->stop_at_end, SIGSTOP);
  for (unsigned i= 0; i < t->conn_count; i++)
    free_connection(&t->conns[i]);
  mysql_thread_end();
  __atomic_add_fetch(&e->threads_done, 1, __ATOMIC_RELEASE);
  return NULL;
}

/* --- for the main thread --------------------------------------------------- */

static size_t longest_text(const struct class *c)
{
  size_t longest= sizeof("ROLLBACK");
  for (unsigned i= 0; i < c->statement_count; i++)
    if (c->statements[i]->max_length > longest)
      longest= c->statements[i]->max_length;
  for (unsigned i= 0; i < c->init_count; i++)
    if (c->init[i]->max_length > longest)
      longest= c->init[i]->max_length;
  return longest;
}

static void make_conn(struct event_thread *t, unsigned class, uint64_t number)
{
  struct conn *c= &t->conns[t->conn_count++];
  c->thread= t;
  c->class= &t->engine->workload->classes[class];
  c->stats= &t->stats[class];
  c->fd= -1;
  c->timer_place= NO_TIMER;
  c->values.conn= (int64_t) number;
  c->values.pass= -1;
  c->values.random_state= &t->random_state;
  if (c->class->silent)
    return;
  c->text= zeroed(1, longest_text(c->class));
  if (c->class->prepared)
  {
    unsigned numbers= 0;
    for (unsigned i= 0; i < c->class->statement_count; i++)
      numbers+= c->class->statements[i]->number_count;
    c->prepared= zeroed(c->class->statement_count, sizeof(*c->prepared));
    c->numbers= zeroed(numbers, sizeof(*c->numbers));
  }
}

static bool init_thread(struct engine *e, struct event_thread *t, unsigned number)
{
  struct workload *w= e->workload;
  struct epoll_event event= {.events= EPOLLIN, .data.ptr= NULL};
  uint64_t mine= 0;
  t->engine= e;
  t->number= number;
  t->random_state= e->options->seed * 1000003 + number;
  t->epoll= epoll_create1(EPOLL_CLOEXEC);
  t->wake= eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (t->epoll < 0 || t->wake < 0 ||
      epoll_ctl(t->epoll, EPOLL_CTL_ADD, t->wake, &event))
  {
    snprintf(e->message, sizeof(e->message), "epoll: %s", strerror(errno));
    return false;
  }
  t->stats= zeroed(w->class_count, sizeof(*t->stats));
  t->arrivals= zeroed(w->class_count, sizeof(*t->arrivals));
  for (unsigned i= 0; i < w->class_count; i++)
    mine+= w->classes[i].apart ? w->classes[i].connections :
           w->classes[i].connections / e->options->threads + 1;
  t->conns= zeroed(mine, sizeof(*t->conns));
  t->timers= zeroed(mine, sizeof(*t->timers));
  for (unsigned i= 0; i < w->class_count; i++)
  {
    struct class *c= &w->classes[i];
    uint64_t share= 0;
    /* Those apart have the last thread to themselves. */
    bool is_apart= number == e->options->threads;
    for (uint64_t k= is_apart ? 0 : number;
         k < c->connections && c->apart == is_apart;
         k+= c->apart ? 1 : e->options->threads)
    {
      make_conn(t, i, k);
      share++;
    }
    if (c->connections)
      t->arrivals[i].rate= c->rate * (double) share / (double) c->connections;
  }
  return true;
}

bool engine_start(struct engine *e, const struct options *options,
                  struct workload *workload)
{
  e->options= options;
  e->workload= workload;
  e->start= e->window_begin= e->window_end= e->drain_end= INT64_MAX;
  e->stopped= INT64_MAX;
  pthread_mutex_init(&e->lock, NULL);
  e->thread_count= options->threads;
  for (unsigned i= 0; i < workload->class_count; i++)
    if (workload->classes[i].apart)
      e->thread_count= options->threads + 1;
  e->threads= zeroed(e->thread_count, sizeof(*e->threads));
  for (unsigned i= 0; i < e->thread_count; i++)
    if (!init_thread(e, &e->threads[i], i))
      return false;
  for (unsigned i= 0; i < e->thread_count; i++)
  {
    struct event_thread *t= &e->threads[i];
    int error= pthread_create(&t->thread, NULL, run_thread, t);
    if (error)
    {
      snprintf(e->message, sizeof(e->message), "cannot create a thread: %s",
               strerror(error));
      return false;
    }
  }
  return true;
}

void engine_run(struct engine *e, int64_t warmup, int64_t window, int64_t drain)
{
  int64_t start= now_ns();
  e->series_length= (unsigned) ((window + NS_PER_S - 1) / NS_PER_S);
  STORE(e->window_begin, start + warmup);
  STORE(e->window_end, start + warmup + window);
  STORE(e->drain_end, start + warmup + window + drain);
  STORE(e->start, start);
  wake_all(e);
}

void engine_stop(struct engine *e)
{
  int64_t now= now_ns();
  if (now < LOAD(e->window_end))
    STORE(e->window_end, now);
  STORE(e->drain_end, now);
  if (LOAD(e->start) == INT64_MAX)
    STORE(e->stop, 1);
  wake_all(e);
}

static void merge_errors(struct class_stats *to, const struct class_stats *from)
{
  for (unsigned i= 0; i < MAX_ERROR_CODES; i++)
  {
    const struct error_count *f= &from->errors[i];
    struct error_count *slot= to->errors;
    if (!f->count)
      continue;
    if (f->code == 0)
      slot= &to->errors[MAX_ERROR_CODES - 1];
    else
      while (slot < &to->errors[MAX_ERROR_CODES - 1] && slot->code &&
             slot->code != f->code)
        slot++;
    slot->code= slot == &to->errors[MAX_ERROR_CODES - 1] ? 0 : f->code;
    slot->count+= f->count;
  }
}

static void merge(struct engine *e, struct class_stats *to,
                  const struct class_stats *from)
{
  histogram_merge(&to->pass, &from->pass);
  histogram_merge(&to->statement, &from->statement);
  histogram_merge(&to->open_pass, &from->open_pass);
  histogram_merge(&to->open_statement, &from->open_statement);
  to->passes+= from->passes;
  to->statements+= from->statements;
  to->late+= from->late;
  to->unfinished+= from->unfinished;
  if (from->oldest_unfinished > to->oldest_unfinished)
    to->oldest_unfinished= from->oldest_unfinished;
  to->bytes+= from->bytes;
  to->closed_by_server+= from->closed_by_server;
  to->failed_passes+= from->failed_passes;
  merge_errors(to, from);
  if (!from->series_passes)
    return;
  for (unsigned i= 0; i < e->series_length; i++)
  {
    to->series_passes[i]+= from->series_passes[i];
    to->series_statements[i]+= from->series_statements[i];
  }
}

static void free_thread(struct event_thread *t)
{
  for (unsigned i= 0; i < t->conn_count; i++)
  {
    free(t->conns[i].text);
    free(t->conns[i].prepared);
    free(t->conns[i].numbers);
  }
  for (unsigned i= 0; i < t->engine->workload->class_count; i++)
  {
    free(t->stats[i].series_passes);
    free(t->stats[i].series_statements);
    free(t->arrivals[i].backlog);
  }
  free(t->conns);
  free(t->timers);
  free(t->stats);
  free(t->arrivals);
  close(t->epoll);
  close(t->wake);
}

struct class_stats *engine_finish(struct engine *e)
{
  unsigned classes= e->workload->class_count;
  struct class_stats *merged= zeroed(classes, sizeof(*merged));
  for (unsigned i= 0; i < classes; i++)
  {
    merged[i].series_passes= zeroed(e->series_length, sizeof(uint64_t));
    merged[i].series_statements= zeroed(e->series_length, sizeof(uint64_t));
  }
  for (unsigned k= 0; k < e->thread_count; k++)
  {
    struct event_thread *t= &e->threads[k];
    pthread_join(t->thread, NULL);
    for (unsigned i= 0; i < classes; i++)
      merge(e, &merged[i], &t->stats[i]);
    free_thread(t);
  }
  free(e->threads);
  e->threads= NULL;
  return merged;
}

bool engine_done(struct engine *e)
{
  return LOAD(e->threads_done) == e->thread_count;
}

void engine_server_gone(struct engine *e, const char *message)
{
  fatal(e, true, message);
}

void engine_mark_cpu(struct engine *e)
{
  for (unsigned i= 0; i < e->thread_count; i++)
    e->threads[i].marked_cpu=
      __atomic_load_n(&e->threads[i].cpu, __ATOMIC_RELAXED);
}

int64_t engine_busiest_cpu(struct engine *e)
{
  int64_t most= 0;
  for (unsigned i= 0; i < e->thread_count; i++)
  {
    struct event_thread *t= &e->threads[i];
    int64_t cpu= __atomic_load_n(&t->cpu, __ATOMIC_RELAXED) - t->marked_cpu;
    if (cpu > most)
      most= cpu;
  }
  return most;
}

void engine_progress(struct engine *e, unsigned class, uint64_t *passes,
                     uint64_t *errors)
{
  *passes= *errors= 0;
  for (unsigned i= 0; i < e->thread_count; i++)
  {
    struct class_stats *s= &e->threads[i].stats[class];
    *passes+= __atomic_load_n(&s->live_passes, __ATOMIC_RELAXED);
    *errors+= __atomic_load_n(&s->live_errors, __ATOMIC_RELAXED);
  }
}
