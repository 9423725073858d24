/*
  Clients that stop in the middle of a login, and go on when they are told to.

    tplogin DIRECTORY serve PORT EXTRA_PORT SOCKET CLIENT...
      keeps them, until it is told to stop. CLIENT is the command line of a client,
      without where to connect to: that one speaks TLS.
    tplogin DIRECTORY COMMAND [WORD ...]
      tells it something, and prints its answer. tplogin --help has the commands.
*/
#include "login.h"
#include "program.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* s; for all that a server that works does at once */
#define PATIENCE 30
/* Relative: the path of a socket is short. */
#define CONTROL "tplogin.socket"
/* s; if the test died, there is nothing to do any more */
#define LIFE 900
/* s; connect_timeout is 2 in the tests */
#define TOO_EARLY 1.5
#define TOO_LATE 15
/* s */
#define LOOK_EVERY 10
#define RELAYS_MAX 50
#define WORDS_MAX 100

const char program_name[]= "tplogin";

static const char USAGE[]=
  "usage: tplogin DIRECTORY serve PORT EXTRA_PORT SOCKET CLIENT...\n"
  "       tplogin DIRECTORY COMMAND [WORD]...\n"
  "open NAME COUNT WHERE KIND   opens so many connections and stops. WHERE is pool (TCP),\n"
  "                 socket or extra; or other_pool, other_extra: from another address\n"
  "finish NAME      goes on to the end of the login, and does a SELECT 1\n"
  "bytes NAME       the same, byte by byte\n"
  "query_ok NAME    the same for those who have sent all\n"
  "told NAME        what the server says before it ends them\n"
  "query NAME       a SELECT 1\n"
  "close NAME       hangs up\n"
  "hang_up NAME     says that nothing more will come, and waits for the end\n"
  "ended NAME       what the server sends until it hangs up, and whether that was too early\n"
  "                 or late for connect_timeout=2\n"
  "trickle NAME     the same, while a byte is sent now and then\n"
  "relay NAME WHERE RECORDS [OPTION]...   the real client does a login with TLS; of what it\n"
  "                 sends come its request and so many records\n"
  "finish, bytes and close are also for a relay\n"
  "relay_ended NAME waits until the server hangs up\n"
  "talk WHERE CASE  a whole conversation\n"
  "compare CASE...  the same one with the pool and with the extra port\n"
  "compare_other CASE...   the same from another address\n"
  "stop\n";

/* --- where to -------------------------------------------------------------------------- */

/* Where to; the other host is this one, by another address. */
struct place
{
  const char *name;
  struct server server;
  struct transport transport;
};

#define PLACE {.password= "", .seconds= PATIENCE, .patient= true}
#define OTHER {.password= "", .seconds= PATIENCE, .patient= true, .from= "127.0.0.2"}
static struct place places[]=
{
  {"pool", PLACE, {.name= "TCP"}},
  {"extra", PLACE, {.name= "TCP"}},
  {"socket", PLACE, {.name= "Unix socket", .unix_socket= true}},
  {"other_pool", OTHER, {.name= "TCP"}},
  {"other_extra", OTHER, {.name= "TCP"}},
  {.name= NULL}
};

static bool __attribute__((format(printf, 2, 3)))
fails(struct bytes *answer, const char *format, ...)
{
  char text[400];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  bytes_clear(answer);
  bytes_printf(answer, "failed: %s\n", text);
  return false;
}

static const struct place *find_place(const char *name)
{
  for (const struct place *p= places; p->name; p++)
    if (!strcmp(p->name, name))
      return p;
  return NULL;
}

/* --- what many of them say --------------------------------------------------------------- */

/* What each has to say, and how many say it. */
struct summary
{
  struct line
  {
    char *text;
    unsigned count;
  } *lines;
  unsigned count;
};

static void summary_add(struct summary *s, struct bytes *text)
{
  unsigned i= 0;
  while (i < s->count && strcmp(s->lines[i].text, bytes_text(text)))
    i++;
  if (i == s->count)
  {
    s->lines= realloc(s->lines, ++s->count * sizeof(*s->lines));
    if (!s->lines)
      abort();
    s->lines[i]= (struct line) {strdup(bytes_text(text)), 0};
  }
  s->lines[i].count++;
  bytes_clear(text);
}

static void failed_one(struct bytes *text, const char *error)
{
  bytes_clear(text);
  bytes_printf(text, "failed: %s", error);
}

static int compare_lines(const void *a, const void *b)
{
  return strcmp(((const struct line *) a)->text, ((const struct line *) b)->text);
}

static void summary_end(struct summary *s, struct bytes *answer)
{
  if (s->count)
    qsort(s->lines, s->count, sizeof(*s->lines), compare_lines);
  for (unsigned i= 0; i < s->count; i++)
  {
    bytes_printf(answer, "%u: %s\n", s->lines[i].count, s->lines[i].text);
    free(s->lines[i].text);
  }
  free(s->lines);
}

/* --- groups of clients, and relays, by their names --------------------------------------- */

struct group
{
  char name[64];
  struct client *first, **last;
  struct relay *relay;          /* then there are no others */
  struct group *next;
};
static struct group *groups;

static struct group *find_group(const char *name)
{
  struct group *g= groups;
  while (g && strcmp(g->name, name))
    g= g->next;
  return g;
}

static struct group *make_group(const char *name)
{
  struct group *g= find_group(name);
  if (g)
    return g;
  g= calloc(1, sizeof(*g));
  if (!g)
    abort();
  snprintf(g->name, sizeof(g->name), "%s", name);
  g->last= &g->first;
  g->next= groups;
  groups= g;
  return g;
}

static void remove_group(struct group *g)
{
  struct group **at= &groups;
  if (!g)
    return;
  while (*at != g)
    at= &(*at)->next;
  *at= g->next;
  while (g->first)
  {
    struct client *k= g->first;
    g->first= k->next;
    client_free(k);
    free(k);
  }
  free(g->relay);
  free(g);
}

static struct client *clients_of(struct group *g) { return g ? g->first : NULL; }

/* --- commands ------------------------------------------------------------------------------ */

/* Of the client that speaks TLS. */
static char **client_words;

/* False: it went wrong, and the answer says so. */
typedef bool command(char **words, struct bytes *answer);

static bool command_open(char **words, struct bytes *answer)
{
  const struct place *where= find_place(words[2]);
  const struct speech *kind= find_speech(kinds, words[3]);
  struct group *g= make_group(words[0]);
  if (!where || !kind)
    return fails(answer, "no such place or kind: %s %s", words[2], words[3]);
  for (unsigned left= (unsigned) strtoul(words[1], NULL, 10); left; left--)
  {
    struct client *k= malloc(sizeof(*k));
    if (!k)
      abort();
    bool good= client_open(k, &where->server, &where->transport, kind);
    *g->last= k;
    g->last= &k->next;
    if (!good || !client_begins(k))
      return fails(answer, "%s", k->c.error);
  }
  return true;
}

static bool finish_relay(struct group *g, writer *write, struct bytes *answer)
{
  bool done= relay_finish(g->relay, write, PATIENCE);
  if (done)
  {
    relay_output(g->relay, answer);
    bytes_add_text(answer, "\n");
  }
  remove_group(g);
  return done || fails(answer, "the client does not come to an end");
}

static bool finish(char **words, writer *write, struct bytes *answer)
{
  struct group *g= find_group(words[0]);
  struct summary all= {0};
  struct bytes text= {0};
  if (g && g->relay)
    return finish_relay(g, write, answer);
  for (struct client *k= clients_of(g); k; k= k->next)
  {
    if (!client_goes_on(k, write, &text))
      failed_one(&text, k->c.error);
    summary_add(&all, &text);
  }
  bytes_free(&text);
  summary_end(&all, answer);
  return true;
}

static bool command_finish(char **words, struct bytes *answer)
{
  return finish(words, write_all, answer);
}

static bool command_bytes(char **words, struct bytes *answer)
{
  return finish(words, write_bytes, answer);
}

static bool command_query(char **words, struct bytes *answer)
{
  struct summary all= {0};
  struct bytes text= {0};
  for (struct client *k= clients_of(find_group(words[0])); k; k= k->next)
  {
    if (!client_selects(k, &text))
      return fails(answer, "%s", k->c.error);
    summary_add(&all, &text);
  }
  bytes_free(&text);
  summary_end(&all, answer);
  return true;
}

static bool command_close(char **words, struct bytes *answer)
{
  struct group *g= find_group(words[0]);
  struct bytes output= {0};
  (void) answer;
  if (g && g->relay)
  {
    relay_hang_up(g->relay);
    relay_output(g->relay, &output);
    bytes_free(&output);
  }
  remove_group(g);
  return true;
}

/* Of all of a group, which is gone then. With times: it has to be neither too early nor late. */
static bool end_group(char **words, bool with_times, struct bytes *answer)
{
  struct group *g= find_group(words[0]);
  struct summary all= {0};
  struct bytes text= {0};
  for (struct client *k= clients_of(g); k; k= k->next)
  {
    if (!client_hears_end(k, &text))
      failed_one(&text, "nothing came");
    else if (with_times && now() - k->since < TOO_EARLY)
      bytes_add_text(&text, ", too early");
    else if (with_times && now() - k->since > TOO_LATE)
      bytes_add_text(&text, ", too late");
    summary_add(&all, &text);
  }
  bytes_free(&text);
  summary_end(&all, answer);
  remove_group(g);
  return true;
}

static bool command_ended(char **words, struct bytes *answer) { return end_group(words, true, answer); }

/* The server ends it at once, whatever it says. */
static bool command_told(char **words, struct bytes *answer) { return end_group(words, false, answer); }

static bool command_hang_up(char **words, struct bytes *answer)
{
  for (struct client *k= clients_of(find_group(words[0])); k; k= k->next)
    shutdown(k->c.fd, SHUT_WR);
  return end_group(words, false, answer);
}

static bool is_readable(int fd)
{
  struct pollfd p= {.fd= fd, .events= POLLIN};
  return poll(&p, 1, 0) > 0;
}

/* One byte now and then, until the server has had enough. */
static bool command_trickle(char **words, struct bytes *answer)
{
  double until= now() + PATIENCE;
  for (bool open= true; open; usleep(100000))
  {
    open= false;
    if (now() > until)
      return fails(answer, "it goes on for ever");
    for (struct client *k= clients_of(find_group(words[0])); k; k= k->next)
      if (!is_readable(k->c.fd))
      {
        open= true;
        /* Not the last one: that would be an answer. */
        if (k->rest.length > 1)
        {
          write_all(k->c.fd, k->rest.data, 1);
          bytes_drop(&k->rest, 1);
        }
      }
  }
  return command_ended(words, answer);
}

static bool command_relay(char **words, struct bytes *answer)
{
  const struct place *where= find_place(words[1]);
  struct connection c;
  if (!where || !connection_connect(&c, &where->server, &where->transport))
    return fails(answer, "%s: no connection", words[1]);
  struct group *g= make_group(words[0]);
  g->relay= malloc(sizeof(*g->relay));
  if (!g->relay)
    abort();
  const char *wrong= relay_start(g->relay, c.fd, (unsigned) strtoul(words[2], NULL, 10), client_words,
                                 words + 3, PATIENCE);
  return !wrong || fails(answer, "%s", wrong);
}

/* The server hangs up; what the client thinks of it depends on its version. */
static bool command_relay_ended(char **words, struct bytes *answer)
{
  struct group *g= find_group(words[0]);
  struct bytes output= {0};
  if (!g || !g->relay || !relay_wait(g->relay, PATIENCE))
    return fails(answer, "nothing came");
  relay_output(g->relay, &output);
  remove_group(g);
  bool told= !strncmp(bytes_text(&output), "ERROR", 5);
  bytes_free(&output);
  if (told)
    bytes_add_text(answer, "the client is told\n");
  return told || fails(answer, "no error");
}

/* --- conversations ----------------------------------------------------------------------- */

/* What was said, and every byte of it. */
static bool converse(const char *where, const char *name, struct bytes *said, struct bytes *heard)
{
  const struct place *place= find_place(where);
  const struct speech *talk= find_speech(talks, name);
  struct client k;
  bytes_clear(said);
  bytes_clear(heard);
  if (!place || !talk)
    return fails(said, "no such place or case: %s %s", where, name);
  if (!client_open(&k, &place->server, &place->transport, talk))
  {
    fails(said, "%s", k.c.error);
    client_free(&k);
    return false;
  }
  client_talks(&k, said);
  bytes_add(heard, k.heard.data, k.heard.length);
  client_free(&k);
  return true;
}

static bool command_talk(char **words, struct bytes *answer)
{
  struct bytes said= {0}, heard= {0};
  bool done= words[0] && words[1] && converse(words[0], words[1], &said, &heard);
  if (done)
    bytes_printf(answer, "%s: ", words[1]);
  bytes_add(answer, said.data, said.length);
  if (done)
    bytes_add_text(answer, "\n");
  bytes_free(&said);
  bytes_free(&heard);
  return done;
}

static void show_bytes(const struct bytes *b, struct bytes *to)
{
  for (size_t i= 0; i < b->length; i++)
    bytes_printf(to, b->data[i] >= ' ' && b->data[i] <= '~' ? "%c" : "\\x%02x", b->data[i]);
  bytes_add_text(to, "\n");
}

static bool same(const struct bytes *a, const struct bytes *b)
{
  return a->length == b->length && (!a->length || !memcmp(a->data, b->data, a->length));
}

static bool compare(const char *pool, const char *extra, char **words, struct bytes *answer)
{
  struct bytes said[2]= {{0}}, heard[2]= {{0}};
  bool done= true;
  for (; done && *words; words++)
  {
    done= converse(pool, *words, &said[0], &heard[0]) && converse(extra, *words, &said[1], &heard[1]);
    if (!done)
      fails(answer, "%s: %s", *words, bytes_text(&said[0]));
    else
    {
      bytes_printf(answer, "%s: %s\n", *words, bytes_text(&said[0]));
      if (!same(&said[0], &said[1]))
        bytes_printf(answer, "failed: extra port: %s\n", bytes_text(&said[1]));
      else if (!same(&heard[0], &heard[1]))
      {
        bytes_add_text(answer, "failed: other bytes\n");
        show_bytes(&heard[0], answer);
        show_bytes(&heard[1], answer);
      }
    }
  }
  for (unsigned i= 0; i < 2; i++)
  {
    bytes_free(&said[i]);
    bytes_free(&heard[i]);
  }
  return done;
}

static bool command_compare(char **words, struct bytes *answer)
{
  return compare("pool", "extra", words, answer);
}

static bool command_compare_other(char **words, struct bytes *answer)
{
  return compare("other_pool", "other_extra", words, answer);
}

/* --- who is told ----------------------------------------------------------------------------- */

static const struct
{
  const char *name;
  command *run;
  unsigned words;               /* at least */
} COMMANDS[]=
{
  {"open", command_open, 4},
  {"finish", command_finish, 1},
  {"bytes", command_bytes, 1},
  {"query", command_query, 1},
  {"query_ok", command_finish, 1},
  {"close", command_close, 1},
  {"hang_up", command_hang_up, 1},
  {"ended", command_ended, 1},
  {"told", command_told, 1},
  {"trickle", command_trickle, 1},
  {"relay", command_relay, 3},
  {"relay_ended", command_relay_ended, 1},
  {"talk", command_talk, 2},
  {"compare", command_compare, 1},
  {"compare_other", command_compare_other, 1},
  {NULL, NULL, 0}
};

static void obey(char **words, unsigned count, struct bytes *answer)
{
  for (unsigned i= 0; COMMANDS[i].name; i++)
    if (!strcmp(COMMANDS[i].name, words[0]))
    {
      if (count - 1 < COMMANDS[i].words)
        fails(answer, "%s wants %u words", words[0], COMMANDS[i].words);
      else
        COMMANDS[i].run(words + 1, answer);
      return;
    }
  fails(answer, "what is %s?", words[0]);
}

static const struct sockaddr_un ADDRESS= {.sun_family= AF_UNIX, .sun_path= CONTROL};

/* Takes a line from whoever has come. False: it is to stop. */
static bool hear(int fd)
{
  char line[4096], *words[WORDS_MAX], *rest= line;
  size_t length= 0;
  unsigned count= 0;
  struct bytes answer= {0};
  ssize_t n;
  while (length < sizeof(line) - 1 && (n= read(fd, line + length, sizeof(line) - 1 - length)) > 0)
    if (memchr(line, '\n', length+= (size_t) n))
      break;
  line[length]= 0;
  for (char *word; (word= strsep(&rest, " \n")) && count < WORDS_MAX - 1; )
    if (*word)
      words[count++]= word;
  words[count]= NULL;
  if (count && !strcmp(words[0], "stop"))
  {
    unlink(CONTROL);
    close(fd);
    return false;
  }
  if (count)
    obey(words, count, &answer);
  write_all(fd, answer.data, answer.length);
  bytes_free(&answer);
  close(fd);
  return true;
}

static void pump_relays(void)
{
  for (struct group *g= groups; g; g= g->next)
    if (g->relay && g->relay->open)
      relay_pump(g->relay, 0, NULL);
}

/* Until somebody has come to tell something, or there is something to be passed on. True: the former. */
static bool wait_for_any(int listener)
{
  struct pollfd fds[1 + 2 * RELAYS_MAX]= {{.fd= listener, .events= POLLIN}};
  unsigned count= 1;
  for (struct group *g= groups; g; g= g->next)
    if (g->relay && g->relay->open && count < 2 * RELAYS_MAX)
    {
      fds[count++]= (struct pollfd) {.fd= g->relay->client, .events= POLLIN};
      fds[count++]= (struct pollfd) {.fd= g->relay->server, .events= POLLIN};
    }
  return poll(fds, count, 1000 * LOOK_EVERY) > 0 && fds[0].revents;
}

static void serve(void)
{
  unlink(CONTROL);
  int listener= socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0 || bind(listener, (const struct sockaddr *) &ADDRESS, sizeof(ADDRESS)) ||
      listen(listener, 5))
    die("listen", strerror(errno));
  alarm(LIFE);
  for (;;)
  {
    bool somebody= wait_for_any(listener);
    /* The directory is gone, and the test with it. */
    if (access(CONTROL, F_OK))
      return;
    pump_relays();
    if (!somebody)
      continue;
    int teller= accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (teller >= 0 && !hear(teller))
      return;
  }
}

static void set_places(char **words)
{
  for (struct place *p= places; p->name; p++)
  {
    p->server.socket= words[2];
    p->server.port= (unsigned) strtoul(strstr(p->name, "extra") ? words[1] : words[0], NULL, 10);
  }
}

/* --- who tells ------------------------------------------------------------------------------- */

/* Returns the status for the program. */
static int tell(char **words)
{
  struct bytes out= {0}, answer= {0};
  int fd= socket(AF_UNIX, SOCK_STREAM, 0);
  /* It may not have begun yet. */
  for (double until= now() + PATIENCE; connect(fd, (const struct sockaddr *) &ADDRESS, sizeof(ADDRESS)); )
  {
    if (now() > until)
      die("nobody listens", strerror(errno));
    usleep(50000);
  }
  for (; *words; words++)
    bytes_printf(&out, "%s%s", *words, words[1] ? " " : "\n");
  write_all(fd, out.data, out.length);
  ssize_t n;
  while ((n= read(fd, bytes_room(&answer, 4096), 4096)) > 0)
    answer.length+= (size_t) n;
  close(fd);
  const char *text= bytes_text(&answer);
  fwrite(text, 1, answer.length, stdout);
  int status= !strncmp(text, "failed", 6) || strstr(text, "\nfailed");
  bytes_free(&out);
  bytes_free(&answer);
  return status;
}

int main(int argc, char **argv)
{
  if (argc > 1 && !strcmp(argv[1], "--help"))
  {
    fputs(USAGE, stdout);
    return 0;
  }
  if (argc < 3 || (!strcmp(argv[2], "serve") && argc < 7))
  {
    fputs(USAGE, stderr);
    return 2;
  }
  if (chdir(argv[1]))
    die(argv[1], strerror(errno));
  signal(SIGPIPE, SIG_IGN);
  if (strcmp(argv[2], "serve"))
    return tell(argv + 2);
  set_places(argv + 3);
  client_words= argv + 6;
  serve();
  return 0;
}
