/*
  Clients that do one thing, and then stop, go away or die, when a test wants it. The test
  tells by files, and is told by files.
*/
#include "half.h"
#include "program.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define COM_QUIT 1
#define COM_STMT_EXECUTE 23
#define TYPE_STRING 253
/* s; an answer may take long, if the test holds the pool */
#define PATIENCE 600
/* s; for a file of the test */
#define FILE_PATIENCE 60

const char program_name[]= "tpclient";

static const char USAGE[]=
  "usage: tpclient stop WHERE WAY [WORD]...      sleeps until it is ended by a signal\n"
  "  auth            its login is asked for another plugin, and it says nothing\n"
  "  read            sends a half of a statement\n"
  "  write           doesn't read a large result\n"
  "       tpclient late WHERE MS [USER]          answers the greeting MS milliseconds later, and\n"
  "                  ends. Who is not root has to be refused\n"
  "       tpclient execute WHERE FILE            prepares a statement when FILE.prepare is there,\n"
  "                  executes it when FILE.execute is, prints what it returns, and ends\n"
  "       tpclient leave FILE WHERE HOW STATEMENT...   as LEAVER_USER, or root, runs all but the\n"
  "                  last statement, and writes its connection id to FILE.id. When FILE.send is\n"
  "                  there it sends the last one, when FILE.go is it goes, and writes FILE.gone:\n"
  "    close         as a client that ends, or is killed\n"
  "    reset         the same, as seen from far away\n"
  "    quit          it says goodbye instead of the last statement, and closes\n"
  "    bye           it says goodbye after the last statement, and closes\n"
  "    more          it sends the last two statements at once, and closes\n"
  "    half          ends its writing, reads the answer, and writes that to FILE.answer\n"
  "       tpclient die FILE WHERE NUMBER STATEMENT    so many clients of one program. When all\n"
  "                  have sent their statement, FILE.ready is there. When FILE.go is, it is\n"
  "                  killed by SIGKILL\n"
  "WHERE is a port of 127.0.0.1, or a Unix socket.\n";

static const struct transport TCP= {"TCP", false, false, false};
static const struct transport SOCKET= {"Unix socket", true, false, false};

static struct server server= {.user= "root", .password= "", .database= "", .seconds= PATIENCE, .patient= true};
static const struct transport *transport;

static void set_where(const char *where)
{
  server.socket= where;
  server.port= (unsigned) strtoul(where, NULL, 10);
  transport= isdigit((unsigned char) *where) ? &TCP : &SOCKET;
}

static void must_open(struct connection *c)
{
  if (!connection_open(c, &server, transport))
    die("no login", c->error);
}

/* Sends it, and reads nothing. */
static void send_command(struct connection *c, uint8_t command, const char *text)
{
  struct batch b= {0};
  struct bytes complaint= {0};
  batch_command(&b, command, text, strlen(text), ANSWER_TEXT, NULL);
  if (!batch_send(&b, c, &PLAIN_SHAPE, &complaint))
    die(text, c->error);
  batch_free(&b);
  bytes_free(&complaint);
}

static void send_query(struct connection *c, const char *query) { send_command(c, 3, query); }

static void __attribute__((noreturn)) sleep_here(void)
{
  for (;;)
    pause();
}

/* --- files --------------------------------------------------------------------------- */

/* Whole, or not there. */
static void note(const char *file, const char *what, const char *text)
{
  char path[500], new_path[510];
  snprintf(path, sizeof(path), "%s.%s", file, what);
  snprintf(new_path, sizeof(new_path), "%s.new", path);
  FILE *f= fopen(new_path, "w");
  if (!f || fputs(text, f) < 0 || fclose(f) || rename(new_path, path))
    die(path, strerror(errno));
}

static void wait_for_file(const char *file, const char *what, double seconds)
{
  char path[500];
  snprintf(path, sizeof(path), "%s.%s", file, what);
  for (double until= now() + seconds; access(path, F_OK); usleep(20000))
    if (now() > until)
      die(path, "did not come");
}

/* --- those who stop -------------------------------------------------------------------- */

static void stop(char **words)
{
  struct connection c;
  set_where(words[0]);
  if (!strcmp(words[1], "auth"))
  {
    server.user= "asked";
    server.plugin= "none";
    if (!connection_meet(&c, &server, transport) || !send_login(&c))
      die("no login", c.error);
    sleep_here();
  }
  must_open(&c);
  if (!strcmp(words[1], "read"))
  {
    /* Its header says 100 bytes. */
    static const char part[]= "\x64\0\0\0\3SELECT 1";
    struct bytes out= {0};
    bytes_add(&out, part, sizeof(part) - 1);
    if (!connection_write(&c, &out))
      die("half a statement", c.error);
  }
  else if (!strcmp(words[1], "write"))
    /* More than the kernel holds for the two of them. */
    send_query(&c, "SELECT REPEAT('x', 15000000), REPEAT('y', 15000000) FROM test.t");
  else
    die(words[1], "is no way to stop");
  sleep_here();
}

static void late(char **words)
{
  struct connection c;
  set_where(words[0]);
  if (words[2])
    server.user= words[2];
  if (!connection_meet(&c, &server, transport))
    die("no greeting", c.error);
  usleep((useconds_t) (1000 * strtoul(words[1], NULL, 10)));
  bool in= send_login(&c) && connection_logged_in(&c);
  if (!words[2] && !in)
    die("no login", c.error);
  if (words[2] && (in || strncmp(c.error, "error ", 6)))
    die(words[2], "is not refused");
  connection_drop(&c);
}

static void execute(char **words)
{
  struct connection c;
  struct batch b= {0};
  struct bytes data= {0}, answer= {0}, complaint= {0};
  static const char value[]= "the value";
  set_where(words[0]);
  must_open(&c);
  wait_for_file(words[1], "prepare", PATIENCE);
  batch_prepare(&b, "SELECT CONCAT(?, ' has come') AS prepared", "prepared 1/1");
  if (!batch_run(&b, &c, &PLAIN_SHAPE, &complaint))
    die("prepare", bytes_text(&complaint));
  batch_free(&b);
  wait_for_file(words[1], "execute", PATIENCE);
  bytes_add_int(&data, LAST_STATEMENT, 4);
  bytes_add_int(&data, 0, 1);           /* no cursor */
  bytes_add_int(&data, 1, 4);           /* once */
  bytes_add_int(&data, 0, 1);           /* not NULL */
  bytes_add_int(&data, 1, 1);           /* a type follows */
  bytes_add_int(&data, TYPE_STRING, 2);
  bytes_add_int(&data, sizeof(value) - 1, 1);
  bytes_add_text(&data, value);
  batch_command(&b, COM_STMT_EXECUTE, data.data, data.length, ANSWER_BINARY, NULL);
  if (!batch_send(&b, &c, &PLAIN_SHAPE, &complaint) || !answer_read(&c, ANSWER_BINARY, &answer))
    die("execute", c.error);
  /* Before the connection is closed. */
  puts(bytes_text(&answer));
  fflush(stdout);
  connection_drop(&c);
}

/* --- those who leave ---------------------------------------------------------------------- */

static void read_to_end(struct connection *c, const char *file)
{
  struct bytes answer= {0};
  shutdown(c->fd, SHUT_WR);
  connection_set_deadline(c);
  if (!answer_read(c, ANSWER_TEXT, &answer))
    die("no answer", c->error);
  note(file, "answer", bytes_text(&answer));
  bytes_free(&answer);
}

static void leave(char **words)
{
  const char *file= words[0], *how= words[2], *user= getenv("LEAVER_USER");
  char **statement= words + 3, id[20];
  struct linger at_once= {1, 0};
  struct connection c;
  unsigned at_the_end= strcmp(how, "more") ? 1 : 2, count= 0;
  while (statement[count])
    count++;
  set_where(words[1]);
  server.database= "test";
  if (user && *user)
    server.user= user;
  must_open(&c);
  for (; count > at_the_end; count--)
    must(&c, *statement++);
  snprintf(id, sizeof(id), "%u", c.id);
  note(file, "id", id);
  wait_for_file(file, "send", FILE_PATIENCE);
  if (!strcmp(how, "quit"))
    send_command(&c, COM_QUIT, "");
  else
    while (*statement)
      send_query(&c, *statement++);
  wait_for_file(file, "go", FILE_PATIENCE);
  if (!strcmp(how, "bye"))
    send_command(&c, COM_QUIT, "");
  if (!strcmp(how, "half"))
    read_to_end(&c, file);
  if (!strcmp(how, "reset"))
    setsockopt(c.fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  connection_drop(&c);
  note(file, "gone", "");
}

static void die_together(char **words)
{
  set_where(words[1]);
  server.database= "test";
  for (unsigned long left= strtoul(words[2], NULL, 10); left; left--)
  {
    /* Its socket is closed by the system. */
    struct connection c;
    must_open(&c);
    send_query(&c, words[3]);
  }
  note(words[0], "ready", "");
  wait_for_file(words[0], "go", FILE_PATIENCE);
  kill(getpid(), SIGKILL);
}

static const struct
{
  const char *name;
  void (*run)(char **words);
  int words;                    /* at least */
} COMMANDS[]=
{
  {"stop", stop, 2},
  {"late", late, 2},
  {"execute", execute, 2},
  {"leave", leave, 4},
  {"die", die_together, 4}
};

int main(int argc, char **argv)
{
  signal(SIGPIPE, SIG_IGN);
  for (unsigned i= 0; argc > 1 && i < COUNT(COMMANDS); i++)
    if (!strcmp(COMMANDS[i].name, argv[1]) && argc - 2 >= COMMANDS[i].words)
    {
      COMMANDS[i].run(argv + 2);
      return 0;
    }
  bool asked= argc == 2 && !strcmp(argv[1], "--help");
  fputs(USAGE, asked ? stdout : stderr);
  return asked ? 0 : 2;
}
