/*
  Commands that are sent before the answers to those before them have come: does
  the server answer each of them, and rightly? A server that reads more than the
  command which it runs next has to remember what it has read. The thread pool
  waits for a socket to become readable, so that a command in a buffer of the
  server (of TLS, of a compressed packet) which it forgets is not answered until
  the client says something else; here it says nothing.

  Prints TAP. Each line stands for all the ways (batch.c) in which commands can
  be put into writes, TLS records and compressed packets.
*/
#include "program.h"

#include <stdio.h>
#include <string.h>

#define COM_QUIT 1
#define COM_INIT_DB 2
#define COM_CHANGE_USER 17
#define COM_SET_OPTION 27
#define COM_RESET_CONNECTION 31

#define TEST_USER "tpwire"

static const struct transport TRANSPORTS[]=
{
  {"TCP", false, false, false},
  {"Unix socket", true, false, false},
  {"compression", false, false, true},
  {"TLS", false, true, false},
  {"TLS, compression", false, true, true},
  {NULL, false, false, false}
};

static const struct transport CONTROL= {"control", true, false, false};

/* Which shapes a group is about: those that share compressed packets, or others. */
static bool sharing;

const char program_name[]= "tpwire";

static struct server admin= {.user= "root", .password= "", .database= "", .seconds= 20};
static struct server server;
static struct connection control;
static const char *only_line;           /* part of the name of those to run */

static bool is_left_out(const char *name)
{
  return only_line && !strstr(name, only_line);
}

static void report(bool good, const struct transport *t, const char *name,
                   struct bytes *complaint)
{
  tap(good, "%s: %s", t->name, name);
  if (!good)
    fputs(bytes_text(complaint), stdout);
  fflush(stdout);
  bytes_clear(complaint);
}

/* A statement of the control connection, and what it has to answer. */
static bool try_control(const char *query, const char *wanted, struct bytes *complaint)
{
  struct batch b= {0};
  batch_query(&b, query, wanted);
  bool done= batch_run(&b, &control, &PLAIN_SHAPE, complaint);
  batch_free(&b);
  return done;
}

/* Asks again and again until that is the answer. */
static bool wait_control(const char *query, const char *wanted, struct bytes *complaint)
{
  if (wait_answer(&control, query, wanted, server.seconds))
    return true;
  bytes_printf(complaint, "#   within %g s not %s: %s %s\n", server.seconds, wanted, query,
               control.error);
  return false;
}

static bool open_or_complain(struct connection *c, const struct transport *t,
                             struct bytes *complaint)
{
  if (connection_open(c, &server, t))
    return true;
  bytes_printf(complaint, "#   no connection: %s\n", c->error);
  return false;
}

static bool is_chosen(const struct shape *s, const struct transport *t)
{
  return shape_fits(s, t) && shape_shares(s, t) == sharing;
}

/* --- batches, each sent in all shapes ---------------------------------------- */

static void queries(struct batch *b)
{
  batch_query(b, "DELETE FROM t", "ok *");
  batch_query(b, "INSERT INTO t VALUES (1,10,NULL),(2,20,'two')", "ok 2");
  batch_query(b, "SELECT * FROM t ORDER BY id", "1,10,NULL|2,20,two");
  batch_query(b, "UPDATE t SET v=v+1 WHERE id=1", "ok 1");
  batch_query(b, "SELECT v FROM t WHERE id=1", "11");
  batch_query(b, "SELECT id FROM t WHERE id=3", "no rows");
  batch_query(b, "DO 0", "ok 0");
}

static void pings(struct batch *b)
{
  batch_ping(b);
  batch_query(b, "SELECT 1", "1");
  batch_ping(b);
  batch_ping(b);
}

static void errors(struct batch *b)
{
  batch_query(b, "SELECT 1", "1");
  batch_query(b, "SELECT * FROM no_such_table", "error 1146");
  batch_query(b, "SELECT 2", "2");
  batch_query(b, "no statement at all", "error 1064");
  batch_query(b, "", "error 1065");
  batch_query(b, "SELECT 3", "3");
}

static void multi_statements(struct batch *b)
{
  batch_query(b, "DELETE FROM t", "ok *");
  batch_query(b, "INSERT INTO t VALUES (1,1,NULL); SELECT v FROM t; SELECT 'x', 'y'",
              "ok 1; 1; x,y");
  batch_query(b, "SELECT 1; SELECT 2", "1; 2");
  batch_query(b, "SELECT 1; SELECT * FROM no_such_table; SELECT 3", "1; error 1146");
  batch_query(b, "DO 0; UPDATE t SET v=2; SELECT v FROM t;", "ok 0; ok 1; 2");
  batch_query(b, "SELECT 'behind'", "behind");
}

static void prepared(struct batch *b)
{
  int one[]= {1}, two[]= {2, 22};
  batch_query(b, "DELETE FROM t", "ok *");
  batch_prepare(b, "INSERT INTO t VALUES (?,?,NULL)", "prepared 2/0");
  batch_execute(b, 2, two, false, "ok 1");
  batch_execute(b, 2, two, false, "error 1062");
  batch_reset_statement(b);
  batch_prepare(b, "SELECT ?+1, v, b FROM t", "prepared 1/3");
  batch_execute(b, 1, one, false, "2,22,NULL");
  batch_close_statement(b);
  batch_query(b, "SELECT 'behind'", "behind");
}

/* As libmariadb's mariadb_stmt_execute_direct() sends them. */
static void prepare_and_execute(struct batch *b)
{
  batch_prepare(b, "SELECT 1, 'direct'", "prepared 0/2");
  batch_execute(b, 0, NULL, false, "1,direct");
}

static void closed_first(struct batch *b)
{
  batch_close_statement(b);
  batch_close_statement(b);
  batch_query(b, "SELECT 'behind'", "behind");
}

static void prepare_fails(struct batch *b)
{
  batch_prepare(b, "SELECT * FROM no_such_table", "error 1146");
  batch_execute(b, 0, NULL, false, "error 1243");
  batch_prepare(b, "SELECT 'works'", "prepared 0/1");
  batch_execute(b, 0, NULL, false, "works");
}

static void procedure(struct batch *b)
{
  batch_prepare(b, "CALL p()", "prepared 0/0");
  batch_execute(b, 0, NULL, false, "1|2; three; ok 0");
  batch_query(b, "CALL p()", "1|2; three; ok 0");
  batch_query(b, "SELECT 'behind'", "behind");
}

static void long_data(struct batch *b)
{
  batch_prepare(b, "SELECT CONCAT(?, '!'), 1", "prepared 1/2");
  batch_long_data(b, "no answer ", 10);
  batch_long_data(b, "to this", 7);
  batch_execute_long(b, "no answer to this!,1");
  batch_long_data(b, "again", 5);
  batch_execute_long(b, "again!,1");
  batch_close_statement(b);
  batch_ping(b);
}

static void bulk(struct batch *b)
{
  static const int rows[3][2]= {{1, 10}, {2, 20}, {3, 30}};
  batch_query(b, "DELETE FROM t", "ok *");
  batch_prepare(b, "INSERT INTO t VALUES (?,?,NULL)", "prepared 2/0");
  batch_bulk_execute(b, rows, "ok 3");
  batch_query(b, "SELECT id, v FROM t ORDER BY id", "1,10|2,20|3,30");
}

static void cursor(struct batch *b)
{
  batch_query(b, "REPLACE INTO t VALUES (1,1,NULL),(2,2,NULL),(3,3,NULL)", "ok *");
  batch_prepare(b, "SELECT id FROM t WHERE id<4 ORDER BY id", "prepared 0/1");
  batch_execute(b, 0, NULL, true, "cursor");
  batch_fetch(b, 2, "1|2");
  batch_fetch(b, 2, "3");
  batch_close_statement(b);
  batch_query(b, "SELECT 'behind'", "behind");
}

static void transaction(struct batch *b)
{
  batch_query(b, "DELETE FROM t", "ok *");
  batch_query(b, "BEGIN", "ok 0");
  batch_query(b, "INSERT INTO t VALUES (1,1,NULL)", "ok 1");
  batch_query(b, "COMMIT", "ok 0");
  batch_query(b, "BEGIN", "ok 0");
  batch_query(b, "INSERT INTO t VALUES (2,2,NULL)", "ok 1");
  batch_query(b, "ROLLBACK", "ok 0");
  batch_query(b, "SELECT id FROM t", "1");
}

static void session(struct batch *b)
{
  batch_query(b, "SET @a= 1", "ok 0");
  batch_command(b, COM_INIT_DB, "information_schema", 18, ANSWER_TEXT, "ok 0");
  batch_query(b, "SELECT DATABASE(), @a", "information_schema,1");
  batch_command(b, COM_RESET_CONNECTION, NULL, 0, ANSWER_TEXT, "ok 0");
  batch_query(b, "SELECT @a", "NULL");
  batch_command(b, COM_INIT_DB, TEST_USER, strlen(TEST_USER), ANSWER_TEXT, "ok 0");
  batch_command(b, COM_SET_OPTION, "\1", 2, ANSWER_TEXT, "eof");
  batch_query(b, "SELECT 1; SELECT 2", "error 1064");
  batch_command(b, COM_SET_OPTION, "\0", 2, ANSWER_TEXT, "eof");
  batch_query(b, "SELECT 1; SELECT 2", "1; 2");
  /* No command: the server says so, and goes on. */
  batch_command(b, 99, NULL, 0, ANSWER_TEXT, "error 1047");
  batch_ping(b);
}

static void many(struct batch *b)
{
  char query[32], wanted[32];
  for (int i= 0; i < 1000; i++)
  {
    snprintf(query, sizeof(query), "SELECT %d", i);
    snprintf(wanted, sizeof(wanted), "%d", i);
    batch_query(b, query, wanted);
  }
}

/* All that the server asks for is there before it asks. */
static void local_file(struct batch *b)
{
  batch_query(b, "DELETE FROM t", "ok *");
  batch_query(b, "LOAD DATA LOCAL INFILE 'rows' INTO TABLE t", "file rows");
  batch_data(b, "1\t10\t\\N\n2\t2", 11, NULL);
  batch_data(b, "0\tx\n", 4, NULL);
  batch_data(b, NULL, 0, "ok 2");
  batch_query(b, "SELECT * FROM t ORDER BY id", "1,10,NULL|2,20,x");
  batch_ping(b);
}

static void fill(struct bytes *b, char with, size_t length)
{
  memset(bytes_room(b, length), with, length);
  b->length+= length;
}

/* A query with a value of that length, which is put into a table and read. */
static void long_query(struct batch *b, size_t length)
{
  struct bytes query= {0}, value= {0}, wanted= {0};
  fill(&value, 'a' + (char) (length % 26), length);
  bytes_add_text(&query, "REPLACE INTO t VALUES (1,0,'");
  bytes_add(&query, value.data, value.length);
  bytes_add_text(&query, "')");
  batch_query_bytes(b, &query, "ok *");
  answer_show(&wanted, value.data, value.length);
  batch_query(b, "SELECT b FROM t WHERE id=1", bytes_text(&wanted));
  bytes_free(&query);
  bytes_free(&value);
  bytes_free(&wanted);
}

/* Around the size of the server's buffer, and of a TLS record. */
static void long_queries(struct batch *b)
{
  static const size_t lengths[]= {16300, 16384 - 31, 16384, 16384 + 4, 40000, 100000};
  batch_ping(b);
  for (unsigned i= 0; i < sizeof(lengths) / sizeof(*lengths); i++)
    long_query(b, lengths[i]);
  batch_ping(b);
}

/* A query of so many bytes with all that belongs to it, which says how long its value is. */
static void query_of_size(struct batch *b, size_t size)
{
  static const char before[]= "SELECT LENGTH('", after[]= "')";
  struct bytes query= {0}, wanted= {0};
  size_t length= size - 1 - (sizeof(before) - 1) - (sizeof(after) - 1);
  bytes_add_text(&query, before);
  fill(&query, 'q', length);
  bytes_add_text(&query, after);
  bytes_printf(&wanted, "%zu", length);
  batch_query_bytes(b, &query, bytes_text(&wanted));
  bytes_free(&query);
  bytes_free(&wanted);
}

/* Commands that take several packets: with a full one at the end, and without. */
static void huge_queries(struct batch *b)
{
  batch_ping(b);
  query_of_size(b, PACKET_MAX + 100000);
  batch_query(b, "SELECT 'behind'", "behind");
  query_of_size(b, PACKET_MAX);
  batch_query(b, "SELECT 'behind'", "behind");
  query_of_size(b, PACKET_MAX - 1);
  batch_query(b, "SELECT 'behind'", "behind");
}

static void long_answers(struct batch *b)
{
  static const size_t lengths[]= {300, 16000, 16384, 70000, 1000000};
  char query[64];
  struct bytes value= {0}, wanted= {0};
  for (unsigned i= 0; i < sizeof(lengths) / sizeof(*lengths); i++)
  {
    bytes_clear(&value);
    bytes_clear(&wanted);
    fill(&value, 'z', lengths[i]);
    answer_show(&wanted, value.data, value.length);
    snprintf(query, sizeof(query), "SELECT REPEAT('z', %zu)", lengths[i]);
    batch_query(b, query, bytes_text(&wanted));
    batch_query(b, "SELECT 'behind'", "behind");
  }
  bytes_free(&value);
  bytes_free(&wanted);
}

static void huge_answers(struct batch *b)
{
  struct bytes value= {0}, wanted= {0};
  fill(&value, 'z', PACKET_MAX + 100);
  answer_show(&wanted, value.data, value.length);
  batch_ping(b);
  batch_query(b, "SELECT REPEAT('z', 0xffffff + 100)", bytes_text(&wanted));
  batch_query(b, "SELECT 'behind'", "behind");
  bytes_free(&value);
  bytes_free(&wanted);
}

/*
  The answers are shorter than the first command, so that they fit into the
  room which it leaves in the server's buffer. Always in one compressed packet.
*/
static void behind_long_one(struct batch *b)
{
  static char first[2000];
  memset(first, ' ', sizeof(first) - 1);
  memcpy(first, "DO 0", 4);
  batch_query(b, first, "ok 0");
  batch_prepare(b, "SELECT 1, 'direct'", "prepared 0/2");
  batch_execute(b, 0, NULL, false, "1,direct");
  batch_close_statement(b);
  batch_query(b, "SELECT * FROM no_such_table", "error 1146");
  batch_query(b, "SELECT 1; SELECT 2", "1; 2");
  batch_ping(b);
}

static const struct
{
  const char *name;
  void (*fill)(struct batch *b);
  bool large;
} CASES[]=
{
  {"queries", queries, false},
  {"pings", pings, false},
  {"errors among them", errors, false},
  {"multi-statements", multi_statements, false},
  {"prepared statements", prepared, false},
  {"prepare and execute", prepare_and_execute, false},
  {"closed statements, which have no answer", closed_first, false},
  {"a prepare that fails", prepare_fails, false},
  {"a procedure with several results", procedure, false},
  {"long data, which has no answer", long_data, false},
  {"bulk execution", bulk, false},
  {"a cursor", cursor, false},
  {"transactions", transaction, false},
  {"the state of the session", session, false},
  {"LOAD DATA LOCAL", local_file, false},
  {"1000 queries", many, false},
  {"long queries", long_queries, false},
  {"queries of 16 MB", huge_queries, true},
  {"long answers", long_answers, false},
  {"an answer of 16 MB", huge_answers, true},
  {NULL, NULL, false}
};

/* All of it in one shape; a connection that it failed with is not used again. */
static bool run_batch(void (*fill)(struct batch *b), struct connection *c,
                      const struct transport *t, const struct shape *s,
                      struct bytes *complaint)
{
  struct batch b= {0};
  if (c->fd < 0 && !open_or_complain(c, t, complaint))
  {
    connection_close(c);
    return false;
  }
  fill(&b);
  bool good= batch_run(&b, c, s, complaint);
  if (!good)
    connection_close(c);
  batch_free(&b);
  return good;
}

/* One connection for all, so that it also is idle in between. */
static void run_cases(const struct transport *t)
{
  struct connection c= {.fd= -1};
  struct bytes complaint= {0};
  for (unsigned i= 0; CASES[i].name; i++)
  {
    bool good= true;
    if (is_left_out(CASES[i].name))
      continue;
    for (const struct shape *s= SHAPES; s->name; s++)
      if (is_chosen(s, t) && (!CASES[i].large || s->for_large))
        good= run_batch(CASES[i].fill, &c, t, s, &complaint) && good;
    report(good, t, CASES[i].name, &complaint);
  }
  static const char last[]= "several behind a long one";
  if (!sharing && !is_left_out(last))
    report(run_batch(behind_long_one, &c, t, &PLAIN_SHAPE, &complaint), t, last,
           &complaint);
  connection_close(&c);
  bytes_free(&complaint);
}

/* --- more than a batch -------------------------------------------------------- */

/* The file is sent when the server asks, with the next commands behind its end. */
static bool file_when_asked(struct connection *c, const struct shape *s,
                            struct bytes *complaint)
{
  struct batch b= {0};
  batch_query(&b, "DELETE FROM t", "ok *");
  batch_query(&b, "LOAD DATA LOCAL INFILE 'rows' INTO TABLE t", "file rows");
  bool good= batch_send(&b, c, s, complaint) && batch_read(&b, c, s, complaint);
  batch_data(&b, "1\t10\t\\N\n", 8, NULL);
  batch_data(&b, NULL, 0, "ok 1");
  batch_query(&b, "SELECT * FROM t", "1,10,NULL");
  batch_ping(&b);
  good= good && batch_send(&b, c, s, complaint) && batch_read(&b, c, s, complaint);
  batch_free(&b);
  return good;
}

/* The server asks for the password; commands come right behind it. */
static bool change_user(struct connection *c, const struct shape *s,
                        struct bytes *complaint)
{
  struct batch b= {0};
  struct bytes data= {0};
  uint8_t answer[SCRAMBLE_SIZE];
  bytes_add(&data, server.user, strlen(server.user) + 1);
  bytes_add_int(&data, 0, 1);
  bytes_add(&data, server.database, strlen(server.database) + 1);
  bytes_add_int(&data, 8, 2);
  bytes_add(&data, "mysql_native_password", sizeof("mysql_native_password"));
  batch_query(&b, "SET @a= 1", "ok 0");
  batch_command(&b, COM_CHANGE_USER, data.data, data.length, ANSWER_TEXT, "auth");
  bool good= batch_send(&b, c, s, complaint) && batch_read(&b, c, s, complaint);
  /* 254, the name of the way, the scramble; with a 0 behind each. */
  const uint8_t *end= good ? memchr(c->packet.data, 0, c->packet.length) : NULL;
  if (end && c->packet.data + c->packet.length - end > SCRAMBLE_SIZE)
  {
    connection_scramble(c, end + 1, answer);
    batch_data(&b, answer, sizeof(answer), "ok 0");
    batch_query(&b, "SELECT @a, DATABASE()", "NULL," TEST_USER);
    batch_ping(&b);
    good= batch_send(&b, c, s, complaint) && batch_read(&b, c, s, complaint);
  }
  else
    good= false;
  batch_free(&b);
  bytes_free(&data);
  return good;
}

/* One command in a buffer, another one in the socket, while the first is run. */
static bool arrives_meanwhile(struct connection *c, const struct shape *s,
                              struct bytes *complaint)
{
  struct batch b= {0};
  batch_query(&b, "SELECT SLEEP(0.2)", "0");
  batch_query(&b, "SELECT 'buffer'", "buffer");
  bool good= batch_send(&b, c, s, complaint);
  batch_query(&b, "SELECT 'socket'", "socket");
  batch_ping(&b);
  good= good && batch_send(&b, c, s, complaint) && batch_read(&b, c, s, complaint);
  batch_free(&b);
  return good;
}

static bool hangs_up(struct connection *c, const struct shape *s, struct bytes *complaint)
{
  connection_set_deadline(c);
  if (connection_read_end(c))
    return true;
  bytes_printf(complaint, "#   %s, the end: %s\n", s->name, c->error);
  return false;
}

static bool quits(struct connection *c, const struct shape *s, struct bytes *complaint)
{
  struct batch b= {0};
  batch_query(&b, "DELETE FROM t", "ok *");
  batch_query(&b, "INSERT INTO t VALUES (1,1,NULL)", "ok 1");
  batch_command(&b, COM_QUIT, NULL, 0, ANSWER_TEXT, NULL);
  bool good= batch_run(&b, c, s, complaint) && hangs_up(c, s, complaint) &&
    try_control("SELECT id FROM " TEST_USER ".t", "1", complaint);
  batch_free(&b);
  return good;
}

/* The client says that it won't say more; what it has said counts. */
static bool half_closed(struct connection *c, const struct shape *s,
                        struct bytes *complaint)
{
  struct batch b= {0};
  batch_query(&b, "SELECT 1", "1");
  batch_query(&b, "SELECT * FROM no_such_table", "error 1146");
  batch_query(&b, "SELECT 2", "2");
  bool good= batch_send(&b, c, s, complaint) && connection_end_writing(c) &&
    batch_read(&b, c, s, complaint) && hangs_up(c, s, complaint);
  batch_free(&b);
  return good;
}

static bool wait_for_sleep(const struct connection *c, struct bytes *complaint)
{
  char query[160];
  snprintf(query, sizeof(query), "SELECT COUNT(*) FROM information_schema.processlist "
           "WHERE id=%u AND state='User sleep'", c->id);
  return wait_control(query, "1", complaint);
}

static bool kill_query(struct connection *c, const struct shape *s, struct bytes *complaint)
{
  struct batch b= {0};
  char query[64];
  /* A SLEEP() that is killed just when it looks at the clock returns 1. */
  batch_query(&b, "SELECT SLEEP(1000)", "error 1317 or 1");
  batch_query(&b, "SELECT 'behind'", "behind");
  batch_ping(&b);
  snprintf(query, sizeof(query), "KILL QUERY %u", c->id);
  bool good= batch_send(&b, c, s, complaint) && wait_for_sleep(c, complaint) &&
    try_control(query, "ok 0", complaint) && batch_read(&b, c, s, complaint);
  batch_free(&b);
  return good;
}

/* Nothing behind it may run; and it has to end. */
static bool kill_connection(struct connection *c, const struct shape *s,
                            struct bytes *complaint)
{
  struct batch b= {0};
  struct bytes text= {0};
  char query[64];
  bool good= try_control("DELETE FROM " TEST_USER ".t", "ok *", complaint);
  batch_query(&b, "SELECT SLEEP(1000)", NULL);
  batch_query(&b, "INSERT INTO t VALUES (1,1,NULL)", NULL);
  snprintf(query, sizeof(query), "KILL %u", c->id);
  good= good && batch_send(&b, c, s, complaint) && wait_for_sleep(c, complaint) &&
    try_control(query, "ok 0", complaint);
  if (good)
  {
    connection_set_deadline(c);
    /* Whether it says why is its own affair. */
    if (answer_read(c, ANSWER_TEXT, &text) && strncmp(bytes_text(&text), "error ", 6))
    {
      bytes_printf(complaint, "#   %s: the killed one: %s\n", s->name, bytes_text(&text));
      good= false;
    }
    else if (c->closed)
      *c->error= 0;
    good= good && hangs_up(c, s, complaint) &&
      try_control("SELECT COUNT(*) FROM " TEST_USER ".t", "0", complaint);
  }
  bytes_free(&text);
  batch_free(&b);
  return good;
}

struct scene
{
  const char *name;
  bool (*run)(struct connection *c, const struct shape *s, struct bytes *complaint);
};

static const struct scene SCENES[]=
{
  {"LOAD DATA LOCAL, commands behind the end of the file", file_when_asked},
  {"another user, commands behind the password", change_user},
  {"a command comes while another one waits in a buffer", arrives_meanwhile},
  {"quit behind commands", quits},
  {"half closed behind commands", half_closed},
  {NULL, NULL}
};

static const struct scene KILLS[]=
{
  {"KILL QUERY, commands behind", kill_query},
  {"KILL, commands behind", kill_connection},
  {NULL, NULL}
};

/* Each of them, in each shape, with a connection of its own. */
static void run_list(const struct scene *scenes, const struct transport *t)
{
  struct bytes complaint= {0};
  for (; scenes->name; scenes++)
  {
    bool good= true;
    if (is_left_out(scenes->name))
      continue;
    for (const struct shape *s= SHAPES; s->name; s++)
    {
      struct connection c;
      if (!is_chosen(s, t) || s->hold != HOLD_NOTHING)
        continue;
      size_t before= complaint.length;
      if (!open_or_complain(&c, t, &complaint) || !scenes->run(&c, s, &complaint))
      {
        good= false;
        if (complaint.length == before)
          bytes_printf(&complaint, "#   %s: %s\n", s->name, c.error);
      }
      connection_close(&c);
    }
    report(good, t, scenes->name, &complaint);
  }
  bytes_free(&complaint);
}

static void run_scenes(const struct transport *t) { run_list(SCENES, t); }
static void run_kills(const struct transport *t) { run_list(KILLS, t); }

/*
  Many connections commit at the same time. All but two of them don't wait for
  the log: the command is put aside, its worker goes on with others, and another
  worker takes it up when the log is written. What is in a buffer has to be
  there then. (Not so where InnoDB maps its log into memory, as below /dev/shm.)
*/
#define COMMITTERS 16
#define COMMITS 25

static void fill_commits(struct batch *b, unsigned who)
{
  char query[80], wanted[32];
  batch_query(b, "SET SESSION sql_log_bin= 0", "ok 0");
  for (unsigned i= 0; i < COMMITS; i++)
  {
    snprintf(query, sizeof(query), "INSERT INTO t VALUES (%u,%u,NULL)", who * COMMITS + i, who);
    batch_query(b, query, "ok 1");
    switch (i % 5)
    {
    case 2:
      batch_query(b, query, "error 1062");
      break;
    case 3:
      snprintf(query, sizeof(query), "BEGIN; UPDATE t SET b='x' WHERE id=%u; COMMIT",
               who * COMMITS + i);
      batch_query(b, query, "ok 0; ok 1; ok 0");
      break;
    case 4:
      snprintf(query, sizeof(query), "SELECT COUNT(*) FROM t WHERE v=%u", who);
      snprintf(wanted, sizeof(wanted), "%u", i + 1);
      batch_query(b, query, wanted);
      break;
    }
  }
}

static bool commits(const struct transport *t, const struct shape *s,
                    struct bytes *complaint)
{
  struct connection c[COMMITTERS];
  struct batch b[COMMITTERS];
  char wanted[32];
  bool good= try_control("DELETE FROM " TEST_USER ".t", "ok *", complaint);
  memset(b, 0, sizeof(b));
  for (unsigned i= 0; i < COMMITTERS; i++)
  {
    c[i]= (struct connection) {.fd= -1};
    good= good && open_or_complain(&c[i], t, complaint);
    fill_commits(&b[i], i);
  }
  for (unsigned i= 0; good && i < COMMITTERS; i++)
    good= batch_send(&b[i], &c[i], s, complaint);
  for (unsigned i= 0; good && i < COMMITTERS; i++)
    good= batch_read(&b[i], &c[i], s, complaint);
  snprintf(wanted, sizeof(wanted), "%u", COMMITTERS * COMMITS);
  good= good && try_control("SELECT COUNT(*) FROM " TEST_USER ".t", wanted, complaint);
  for (unsigned i= 0; i < COMMITTERS; i++)
  {
    connection_close(&c[i]);
    batch_free(&b[i]);
  }
  return good;
}

static void run_commits(const struct transport *t)
{
  static const char name[]= "commits of 16 connections";
  struct bytes complaint= {0};
  bool good= true;
  if (is_left_out(name))
    return;
  for (const struct shape *s= SHAPES; s->name; s++)
    if (is_chosen(s, t) && s->hold == HOLD_NOTHING)
      good= commits(t, s, &complaint) && good;
  report(good, t, name, &complaint);
  bytes_free(&complaint);
}

/* Compressed packets that hold more than one command. */
static void run_shared(const struct transport *t)
{
  if (!t->compress)
    return;
  sharing= true;
  run_cases(t);
  run_scenes(t);
  run_commits(t);
  run_kills(t);
  sharing= false;
}

/* --- statements that the pool refuses -------------------------------------------- */

/*
  Nobody can take from the queue: the only worker sleeps. So statements that have waited for
  thread_pool_queue_timeout are refused, by a thread of the reserve. The server needs a pool
  of one group and two threads, see thread_pool.turn_pipelines.
*/
static struct server plain;             /* a user who is no administrator */
static struct connection sleeper;

static bool wake_up(struct bytes *complaint)
{
  struct bytes text= {0};
  char query[64];
  snprintf(query, sizeof(query), "KILL QUERY %u", sleeper.id);
  bool good= try_control(query, "ok 0", complaint) &&
    answer_read(&sleeper, ANSWER_TEXT, &text);
  bytes_free(&text);
  connection_close(&sleeper);
  return good;
}

static bool run_and_free(struct batch *b, struct connection *c, const struct shape *s,
                         struct bytes *complaint)
{
  bool good= batch_run(b, c, s, complaint);
  batch_free(b);
  memset(b, 0, sizeof(*b));
  return good;
}

/* A session that is no newcomer: it has no claim on the reserve. */
static bool open_plain(struct connection *c, const struct transport *t, struct bytes *complaint)
{
  struct batch b= {0};
  bool good= connection_open(c, &plain, t);
  if (!good)
    bytes_printf(complaint, "#   no connection: %s\n", c->error);
  /* One after the other: what a worker finds in a buffer is no other statement to the pool */
  for (int i= 0; i < 5; i++)
  {
    batch_query(&b, "DO 0", "ok 0");
    good= good && run_and_free(&b, c, &PLAIN_SHAPE, complaint);
  }
  batch_free(&b);
  return good;
}

static bool fall_asleep(const struct transport *t, struct bytes *complaint)
{
  struct batch b= {0};
  bool good= open_plain(&sleeper, t, complaint);
  batch_query(&b, "SELECT SLEEP(1000)", "error 1317 or 1");
  good= good && batch_send(&b, &sleeper, &PLAIN_SHAPE, complaint) &&
    wait_for_sleep(&sleeper, complaint);
  batch_free(&b);
  return good;
}

static bool refused(const struct transport *t, const struct shape *s, struct bytes *complaint)
{
  struct connection c= {.fd= -1};
  struct batch b= {0};
  batch_query(&b, "SET SESSION thread_pool_queue_timeout= 50", "ok 0");
  batch_prepare(&b, "SELECT CONCAT(?, '!')", "prepared 1/1");
  bool good= open_plain(&c, t, complaint) && run_and_free(&b, &c, &PLAIN_SHAPE, complaint) &&
    fall_asleep(t, complaint);

  /* Each command has its own answer. What ends something, and a ping, run. */
  batch_query(&b, "BEGIN", "error 1213");
  batch_query(&b, "INSERT INTO t VALUES (1,1,NULL)", "error 1213");
  batch_query(&b, "COMMIT", "ok 0");
  batch_ping(&b);
  batch_query(&b, "SELECT 1; SELECT 2", "error 1213");
  batch_ping(&b);
  batch_query(&b, "INSERT INTO t VALUES (2,2,NULL)", "error 1213");
  good= good && run_and_free(&b, &c, s, complaint);
  good= good && try_control("SELECT COUNT(*) FROM " TEST_USER ".t", "0", complaint);

  /* Long data of a statement that was refused is forgotten, as after another error. */
  batch_free(&b);
  memset(&b, 0, sizeof(b));
  batch_long_data(&b, "lost", 4);
  batch_execute_long(&b, "error 1213");
  good= good && run_and_free(&b, &c, s, complaint);
  good= wake_up(complaint) && good;
  batch_long_data(&b, "new", 3);
  batch_execute_long(&b, "new!");
  batch_query(&b, "BEGIN", "ok 0");
  batch_query(&b, "INSERT INTO t VALUES (1,1,NULL)", "ok 1");
  batch_query(&b, "ROLLBACK", "ok 0");
  good= good && run_and_free(&b, &c, s, complaint);
  batch_free(&b);

  /* The statement that was prepared last is not the one before it. */
  good= good && fall_asleep(t, complaint);
  memset(&b, 0, sizeof(b));
  batch_prepare(&b, "SELECT 'another', ?", "error 1213");
  good= good && run_and_free(&b, &c, s, complaint);
  good= wake_up(complaint) && good;
  batch_execute_long(&b, "error 1243");
  batch_query(&b, "SELECT 'behind'", "behind");
  good= good && run_and_free(&b, &c, s, complaint);
  batch_free(&b);
  connection_close(&c);
  return good;
}

static void run_refused(const struct transport *t)
{
  static const char name[]= "statements that the pool refuses";
  struct bytes complaint= {0};
  bool good= true;
  if (is_left_out(name))
    return;
  plain= server;
  plain.user= TEST_USER "_plain";
  must(&control, "CREATE OR REPLACE USER " TEST_USER "_plain@localhost IDENTIFIED BY '" TEST_USER "', "
               TEST_USER "_plain@127.0.0.1 IDENTIFIED BY '" TEST_USER "'");
  must(&control, "GRANT ALL ON " TEST_USER ".* TO " TEST_USER "_plain@localhost, " TEST_USER
               "_plain@127.0.0.1");
  for (const struct shape *s= SHAPES; good && s->name; s++)
  {
    if (!is_chosen(s, t) || s->hold != HOLD_NOTHING)
      continue;
    size_t before= complaint.length;
    good= refused(t, s, &complaint);
    if (!good && complaint.length == before)
      bytes_printf(&complaint, "#   %s: something went wrong\n", s->name);
  }
  report(good, t, name, &complaint);
  must(&control, "DROP USER " TEST_USER "_plain@localhost, " TEST_USER "_plain@127.0.0.1");
  bytes_free(&complaint);
}

/* --- commands behind the login -------------------------------------------------- */

/* In the same write, and the same TLS record, as the packet that logs in. */
static bool behind_login(const struct transport *t, const struct shape *s,
                         struct bytes *complaint)
{
  struct connection c;
  struct bytes login= {0}, out= {0};
  struct batch b= {0};
  batch_query(&b, "SELECT 1", "1");
  batch_query(&b, "SELECT 2", "2");
  bool good= connection_greet(&c, &server, t);
  if (good)
  {
    struct connection without_tls= c;
    without_tls.ssl= NULL;
    connection_login_packet(&c, &login);
    good= batch_wrap(&b, &without_tls, s, b.stream.length, &login) &&
      connection_encrypt_into(&c, &out, login.data, login.length) &&
      connection_write(&c, &out) && connection_logged_in(&c);
  }
  if (!good)
    bytes_printf(complaint, "#   %s, login: %s\n", s->name, c.error);
  good= good && batch_read(&b, &c, s, complaint);
  connection_close(&c);
  batch_free(&b);
  bytes_free(&login);
  bytes_free(&out);
  return good;
}

static void run_login(const struct transport *t)
{
  static const char name[]= "commands behind the login";
  struct bytes complaint= {0};
  bool good= true;
  if (is_left_out(name))
    return;
  for (const struct shape *s= SHAPES; s->name; s++)
    if (is_chosen(s, t) && s->hold == HOLD_NOTHING && !s->needs_tls)
      good= behind_login(t, s, &complaint) && good;
  report(good, t, name, &complaint);
  bytes_free(&complaint);
}

/* --- clients that crash ------------------------------------------------------------ */

/*
  Other clients are gone, without the end that TLS prescribes. What OpenSSL says
  to that must not be held against the next connection of the same worker, which
  has sent one command and a half, so that the server has to wait for the rest.
*/
#define CRASHES 4

static bool after_crashes(const struct transport *t, const struct shape *s,
                          struct bytes *complaint)
{
  struct connection gone[CRASHES], c= {.fd= -1};
  char query[160];
  bool good= true;
  for (unsigned i= 0; i < CRASHES; i++)
  {
    gone[i]= (struct connection) {.fd= -1};
    good= good && open_or_complain(&gone[i], t, complaint);
  }
  for (unsigned i= 0; i < CRASHES; i++)
    connection_drop(&gone[i]);
  for (unsigned i= 0; good && i < CRASHES; i++)
  {
    snprintf(query, sizeof(query), "SELECT COUNT(*) FROM information_schema.processlist "
             "WHERE id=%u", gone[i].id);
    good= wait_control(query, "0", complaint);
  }
  good= good && run_batch(queries, &c, t, s, complaint);
  connection_close(&c);
  return good;
}

static void run_crashes(const struct transport *t)
{
  static const char name[]= "half a command, after crashes of other clients";
  struct bytes complaint= {0};
  bool good= true;
  if (is_left_out(name))
    return;
  for (unsigned i= 0; i < 10; i++)
    for (const struct shape *s= SHAPES; good && s->name; s++)
      if (is_chosen(s, t) && s->hold != HOLD_NOTHING)
        good= after_crashes(t, s, &complaint);
  report(good, t, name, &complaint);
  bytes_free(&complaint);
}

/* --- main ------------------------------------------------------------------------ */

static const struct
{
  const char *name;
  void (*run)(const struct transport *t);
  bool only_by_name;            /* it needs a server that is started for it */
} GROUPS[]=
{
  {"batches", run_cases, false},
  {"scenes", run_scenes, false},
  {"commits", run_commits, false},
  {"kills", run_kills, false},
  {"shared", run_shared, false},
  {"login", run_login, false},
  {"crashes", run_crashes, false},
  {"refused", run_refused, true},
  {NULL, NULL, false}
};

static void clean_up(void)
{
  must(&control, "DROP DATABASE " TEST_USER);
  must(&control, "DROP USER " TEST_USER "@localhost, " TEST_USER "@127.0.0.1");
  must(&control, "SET GLOBAL max_allowed_packet= @max_packet");
  must(&control, "SET GLOBAL innodb_flush_log_at_trx_commit= @flush");
  connection_close(&control);
  SSL_CTX_free(server.tls);
}

static void prepare(void)
{
  server_for(&server, &admin, TEST_USER);
  if (!connection_open(&control, &admin, &CONTROL))
    die("no connection", control.error);
  must(&control, "SET @max_packet= @@GLOBAL.max_allowed_packet");
  must(&control, "SET GLOBAL max_allowed_packet= 64*1024*1024");
  /* Each commit waits for the log. */
  must(&control, "SET @flush= @@GLOBAL.innodb_flush_log_at_trx_commit");
  must(&control, "SET GLOBAL innodb_flush_log_at_trx_commit= 1");
  must(&control, "CREATE DATABASE " TEST_USER);
  must(&control, "CREATE TABLE " TEST_USER ".t "
               "(id INT PRIMARY KEY, v INT, b LONGBLOB) ENGINE=InnoDB");
  must(&control, "CREATE PROCEDURE " TEST_USER ".p() "
               "BEGIN SELECT 1 UNION ALL SELECT 2; SELECT 'three'; END");
  must(&control, "CREATE USER " TEST_USER "@localhost IDENTIFIED BY '" TEST_USER "', "
               TEST_USER "@127.0.0.1 IDENTIFIED BY '" TEST_USER "'");
  must(&control, "GRANT ALL ON *.* TO " TEST_USER "@localhost, " TEST_USER "@127.0.0.1");
  /* Without it all that follows would fail in the same way. */
  for (const struct transport *t= TRANSPORTS; t->name; t++)
  {
    struct connection c;
    if (!connection_open(&c, &server, t))
    {
      clean_up();
      die(t->name, c.error);
    }
    connection_close(&c);
  }
}

static void __attribute__((noreturn)) usage(void)
{
  fprintf(stderr,
    "usage: tpwire --socket=FILE --port=N [OPTION]... [GROUP]...\n"
    "Sends commands to the server before it has answered those before, and prints\n"
    "TAP. The user has to be allowed everything; a database and a user \"" TEST_USER "\" are\n"
    "made and removed.\n"
    "  --user=U --password=P   for the Unix socket (root, none)\n"
    "  --seconds=N             after which an answer counts as missing (20)\n"
    "  --transport=NAME        only this one\n"
    "  --only=TEXT             only lines with this in their name\n"
    "groups:");
  for (unsigned i= 0; GROUPS[i].name; i++)
    fprintf(stderr, " %s", GROUPS[i].name);
  fprintf(stderr, "; all but the last one unless named\ntransports:");
  for (unsigned i= 0; TRANSPORTS[i].name; i++)
    fprintf(stderr, "%s \"%s\"", i ? "," : "", TRANSPORTS[i].name);
  fputc('\n', stderr);
  exit(2);
}

int main(int argc, char **argv)
{
  static const struct option options[]=
  {
    SERVER_OPTIONS,
    {"transport", required_argument, NULL, 'o'},
    {"only", required_argument, NULL, 'l'},
    {NULL, 0, NULL, 0}
  };
  const char *only= NULL;
  unsigned chosen= 0;
  int option;
  while ((option= getopt_long(argc, argv, "", options, NULL)) != -1)
    switch (option)
    {
    case 'o': only= optarg; break;
    case 'l': only_line= optarg; break;
    default:
      if (!server_option(&admin, option))
        usage();
    }
  if (!server_is_known(&admin))
    usage();
  for (int i= optind; i < argc; i++)
  {
    unsigned j= 0;
    while (GROUPS[j].name && strcmp(GROUPS[j].name, argv[i]))
      j++;
    if (!GROUPS[j].name)
      usage();
    chosen|= 1u << j;
  }

  prepare();
  for (unsigned i= 0; GROUPS[i].name; i++)
    for (const struct transport *t= TRANSPORTS; t->name; t++)
      if ((chosen ? chosen & (1u << i) : !GROUPS[i].only_by_name) && (!only || !strcmp(only, t->name)))
        GROUPS[i].run(t);
  clean_up();
  int status= tap_end();
  if (!tap_lines())
    die("nothing to do", "no such transport or line");
  return status;
}
