#include "options.h"

#include "optionfile.h"
#include "text.h"

#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <mysql.h>

#define CONNECT_TIMEOUT 3
#define MOST_READINGS 1000000000

enum kind
{
  TEXT, FLAG, PORT_NUMBER, NUMBER, SECONDS, PASSWORD, FILE_NAME, COMMAND
};

/* What an option file may hold, too, has the place where its value goes. */
struct known_option
{
  const char *name;
  int letter;
  enum kind kind;
  size_t place;
};

#define IN(field) offsetof(struct options, field)
#define NOWHERE SIZE_MAX

static const struct known_option known[]=
{
  {"host", 'h', TEXT, IN(host)},
  {"port", 'P', PORT_NUMBER, IN(port)},
  {"socket", 'S', TEXT, IN(socket)},
  {"user", 'u', TEXT, IN(user)},
  {"password", 'p', PASSWORD, IN(password)},
  {"protocol", 0, TEXT, IN(protocol)},
  {"extra-port", 0, PORT_NUMBER, IN(extra_port)},
  {"extra-socket", 0, TEXT, IN(extra_socket)},
  {"connect-timeout", 0, NUMBER, IN(connect_timeout)},
  {"compress", 'C', FLAG, IN(compress)},
  {"ssl", 0, FLAG, IN(ssl)},
  {"skip-ssl", 0, FLAG, IN(no_ssl)},
  {"ssl-verify-server-cert", 0, FLAG, IN(ssl_verify)},
  {"ssl-ca", 0, TEXT, IN(ssl_ca)},
  {"ssl-capath", 0, TEXT, IN(ssl_capath)},
  {"ssl-cert", 0, TEXT, IN(ssl_cert)},
  {"ssl-key", 0, TEXT, IN(ssl_key)},
  {"ssl-cipher", 0, TEXT, IN(ssl_cipher)},
  {"ssl-crl", 0, TEXT, IN(ssl_crl)},
  {"ssl-crlpath", 0, TEXT, IN(ssl_crlpath)},
  {"tls-version", 0, TEXT, IN(tls_version)},
  {"plugin-dir", 0, TEXT, IN(plugin_dir)},
  {"default-auth", 0, TEXT, IN(default_auth)},
  {"interval", 'i', SECONDS, IN(interval)},
  {"count", 'c', NUMBER, IN(count)},
  {"batch", 'b', FLAG, IN(batch)},
  {"ascii", 0, FLAG, IN(ascii)},
  {"no-color", 0, FLAG, IN(no_color)},
  {"defaults-file", 0, FILE_NAME, NOWHERE},
  {"defaults-extra-file", 0, FILE_NAME, NOWHERE},
  {"no-defaults", 0, COMMAND, NOWHERE},
  {"help", '?', COMMAND, NOWHERE},
  {"version", 'V', COMMAND, NOWHERE},
};
#define KNOWN (sizeof(known) / sizeof(*known))
#define FIRST_CODE 1000

static const char help[]=
"usage: tptop [OPTION]...\n"
"\n"
"Shows the thread pool of a MariaDB server, live. Press h in it for its keys.\n"
"\n"
"what\n"
"  -i, --interval=N       seconds from one reading to the next; default 2\n"
"  -b, --batch            plain text instead of a screen: once, or\n"
"  -c, --count=N          so many times, one interval apart; with --interval and\n"
"                         no --count, until it is ended\n"
"      --ascii            no characters besides ASCII\n"
"      --no-color         no colours (also if NO_COLOR is set)\n"
"where\n"
"  -h, --host=H           -P, --port=N            -S, --socket=F\n"
"  -u, --user=U           -p, --password[=P]      without P it asks\n"
"      --protocol=P       tcp or socket\n"
"      --extra-port=N     where to go if the server is full: its extra_port,\n"
"      --extra-socket=F   or its extra_socket\n"
"      --connect-timeout=N   seconds; default 3\n"
"  -C, --compress\n"
"      --ssl, --skip-ssl, --ssl-verify-server-cert, --ssl-ca=F, --ssl-capath=D,\n"
"      --ssl-cert=F, --ssl-key=F, --ssl-cipher=C, --ssl-crl=F, --ssl-crlpath=D,\n"
"      --tls-version=V, --plugin-dir=D, --default-auth=P\n"
"option files\n"
"      --defaults-file=F  read only this one\n"
"      --defaults-extra-file=F   read this one, too\n"
"      --no-defaults      read none\n"
"                         The groups are client, client-server, client-mariadb\n"
"                         and tptop.\n"
"\n"
"Exit status: 0 well, 1 no connection or no answer, 2 wrong usage.\n";

static void die(const char *format, ...)
  __attribute__((noreturn, format(printf, 1, 2)));

static void die(const char *format, ...)
{
  va_list args;
  fputs("tptop: ", stderr);
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
  fputs("\nSee tptop --help\n", stderr);
  exit(EXIT_USAGE);
}

static char *copy(const char *text)
{
  char *made= strdup(text);
  if (!made)
    die("out of memory");
  return made;
}

/* --- values -------------------------------------------------------------------- */

struct state
{
  struct options *options;
  bool ask_password, interval_given, count_given;
};

static bool parse_flag(const char *value, bool *to)
{
  static const char *const on[]= {"1", "on", "yes", "true"};
  static const char *const off[]= {"0", "off", "no", "false"};
  for (unsigned i= 0; i < 4; i++)
  {
    if (!value || !strcasecmp(value, on[i]))
    {
      *to= true;
      return true;
    }
    if (!strcasecmp(value, off[i]))
    {
      *to= false;
      return true;
    }
  }
  return false;
}

/* "where" is "--" or the place in a file, for messages. */
static void set_number(const struct known_option *option, const char *where,
                       const char *value, int64_t least, int64_t most, int64_t *to)
{
  int64_t number;
  if (!parse_number(value, &number) || number < least || number > most)
    die("%s%s: '%s' is not a number from %lld to %lld", where, option->name,
        value ? value : "", (long long) least, (long long) most);
  *to= number;
}

static void set_option(struct state *state, const struct known_option *option,
                       const char *where, const char *value)
{
  char *place= (char *) state->options + option->place;
  switch (option->kind) {
  case TEXT:
    if (!value)
      die("%s%s needs a value", where, option->name);
    free(*(char **) place);
    *(char **) place= *value ? copy(value) : NULL;
    break;
  case PASSWORD:
    free(*(char **) place);
    *(char **) place= value ? copy(value) : NULL;
    state->ask_password= !value;
    break;
  case FLAG:
    if (!parse_flag(value, (bool *) place))
      die("%s%s: '%s' is neither on nor off", where, option->name, value);
    break;
  case PORT_NUMBER:
    /* 0 is what the server says for "none", too. */
    set_number(option, where, value, 0, 65535, (int64_t *) place);
    break;
  case NUMBER:
    set_number(option, where, value, 1, MOST_READINGS, (int64_t *) place);
    state->count_given|= option->place == IN(count);
    break;
  case SECONDS:
    if (!parse_seconds(value, LEAST_INTERVAL, MOST_INTERVAL, (double *) place))
      die("%s%s: '%s' is not a number of seconds from %g to %g", where,
          option->name, value ? value : "", LEAST_INTERVAL, MOST_INTERVAL);
    state->interval_given= !strcmp(where, "--");
    break;
  case FILE_NAME: case COMMAND:
    break;
  }
}

/* --- option files ----------------------------------------------------------------- */

static const char *const groups[]=
{"client", "client-server", "client-mariadb", "tptop", NULL};

/* Other programs read [client], too: what we don't know there is for them. */
static bool found_in_file(void *context, const char *group, const char *name,
                          const char *value, const char *where)
{
  char prefix[PATH_MAX + 32];
  bool ours= !strcmp(group, "tptop"), loose= !strncmp(name, "loose-", 6);
  if (loose)
    name+= 6;
  snprintf(prefix, sizeof(prefix), "%s: ", where);
  for (unsigned i= 0; i < KNOWN; i++)
    if (known[i].place != NOWHERE && known[i].place != IN(count) &&
        known[i].place != IN(batch) && !strcmp(known[i].name, name))
    {
      /* How we show it is nothing for all clients. */
      if (ours || known[i].place < IN(interval))
        set_option(context, &known[i], prefix, value);
      return true;
    }
  if (ours && !loose)
    die("%sunknown option: %s", prefix, name);
  return true;
}

static void read_option_files(struct state *state, const char *only,
                              const char *more)
{
  struct optionfile o= {groups, found_in_file, state, ""};
  char path[PATH_MAX];
  const char *home= getenv("MARIADB_HOME");
  bool good;
  if (only)
    good= optionfile_read(&o, only, true);
  else
  {
    good= optionfile_read(&o, "/etc/my.cnf", false) &&
          optionfile_read(&o, "/etc/mysql/my.cnf", false);
    if (!home)
      home= getenv("MYSQL_HOME");
    if (home && good)
    {
      snprintf(path, sizeof(path), "%s/my.cnf", home);
      good= optionfile_read(&o, path, false);
    }
    if (more && good)
      good= optionfile_read(&o, more, true);
    if ((home= getenv("HOME")) && good)
    {
      snprintf(path, sizeof(path), "%s/.my.cnf", home);
      good= optionfile_read(&o, path, false);
    }
  }
  if (!good)
    die("%s", o.error);
}

/* --- the command line ---------------------------------------------------------------- */

static struct option long_options[KNOWN + 1];
static char short_options[3 * KNOWN + 2];

static void prepare_getopt(void)
{
  char *letter= short_options;
  *letter++= ':';
  for (unsigned i= 0; i < KNOWN; i++)
  {
    int argument= known[i].kind == COMMAND ? no_argument :
                  known[i].kind == FLAG || known[i].kind == PASSWORD ?
                  optional_argument : required_argument;
    long_options[i]= (struct option) {known[i].name, argument, NULL,
                                      FIRST_CODE + (int) i};
    if (known[i].letter && known[i].letter != '?')
    {
      *letter++= (char) known[i].letter;
      if (known[i].kind != COMMAND && known[i].kind != FLAG)
        *letter++= ':';
      if (known[i].kind == PASSWORD)
        *letter++= ':';
    }
  }
  *letter= 0;
}

/* The option that getopt_long() found, or the end of the program. */
static const struct known_option *option_of(int code, char **argv)
{
  if (code >= FIRST_CODE)
    return &known[code - FIRST_CODE];
  if (code == ':')
    die("%s needs a value", argv[optind - 1]);
  for (unsigned i= 0; i < KNOWN; i++)
    if (known[i].letter == code && code != '?')
      return &known[i];
  if (!strcmp(argv[optind - 1], "-?"))
    return &known[KNOWN - 2];
  die("unknown option: %s", argv[optind - 1]);
}

static void do_command(const char *name)
{
  if (!strcmp(name, "help"))
    fputs(help, stdout);
  else if (!strcmp(name, "version"))
    printf("tptop %s, with MariaDB Connector/C %s\n", TPTOP_VERSION,
           mysql_get_client_info());
  else
    return;
  exit(fflush(stdout) ? EXIT_FAILED : EXIT_WELL);
}

/* First which files to read, since the command line goes before what they say. */
static void look_for_files(int argc, char **argv, bool *none, const char **only,
                           const char **more)
{
  int code;
  opterr= 0;
  while ((code= getopt_long(argc, argv, short_options, long_options, NULL)) != -1)
  {
    const char *name= option_of(code, argv)->name;
    do_command(name);
    if (!strcmp(name, "no-defaults"))
      *none= true;
    else if (!strcmp(name, "defaults-file"))
      *only= optarg;
    else if (!strcmp(name, "defaults-extra-file"))
      *more= optarg;
  }
  if (optind < argc)
    die("this is no option: %s", argv[optind]);
}

static void read_command_line(struct state *state, int argc, char **argv)
{
  int code;
  optind= 0;
  while ((code= getopt_long(argc, argv, short_options, long_options, NULL)) != -1)
  {
    const struct known_option *option= option_of(code, argv);
    if (option->place == NOWHERE)
      continue;
    set_option(state, option, "--", optarg);
    /* Others can see our command line. */
    if (option->kind == PASSWORD && optarg)
      memset(optarg, 'x', strlen(optarg));
  }
}

static void ask_for_password(struct options *options)
{
  int terminal= open("/dev/tty", O_RDWR | O_CLOEXEC);
  char *given= terminal < 0 ? NULL : getpass("Enter password: ");
  if (!given)
    die("--password: there is no terminal to ask for it");
  close(terminal);
  options->password= copy(given);
  memset(given, 0, strlen(given));
}

void options_free(struct options *options)
{
  for (unsigned i= 0; i < KNOWN; i++)
    if (known[i].kind == TEXT || known[i].kind == PASSWORD)
      free(*(char **) ((char *) options + known[i].place));
}

void options_read(struct options *options, int argc, char **argv)
{
  struct state state= {options, false, false, false};
  bool none= false;
  const char *only= NULL, *more= NULL;
  memset(options, 0, sizeof(*options));
  options->interval= 2;
  options->connect_timeout= CONNECT_TIMEOUT;
  prepare_getopt();
  look_for_files(argc, argv, &none, &only, &more);
  if (!none)
    read_option_files(&state, only, more);
  read_command_line(&state, argc, argv);
  if (options->protocol && strcasecmp(options->protocol, "tcp") &&
      strcasecmp(options->protocol, "socket"))
    die("--protocol: '%s' is neither tcp nor socket", options->protocol);
  if (state.count_given && !options->batch)
    die("--count is for --batch only");
  if (!state.count_given)
    options->count= state.interval_given ? 0 : 1;
  const char *color= getenv("NO_COLOR");
  if (color && *color)
    options->no_color= true;
  if (state.ask_password)
    ask_for_password(options);
}
