#include "workload.h"

#include "units.h"
#include "../tptop/trim.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More than anybody can open; keeps the sums within their types. */
#define MAX_CONNECTIONS 1000000
#define MAX_VALUE 16384

/* What a head may say. The runner and the reporter use most of it. */
static const char *const head_keys[]=
{
  "title", "shows", "axis", "points", "quick_points", "figure", "distribution",
  "warmup", "seconds", "drain", "rounds", "quick_warmup", "quick_seconds",
  "quick_drain", "quick_rounds", "server_option", "restart", "quick_restart",
  NULL
};

static bool fail(struct workload *w, const char *file, unsigned line,
                 const char *format, ...)
  __attribute__((format(printf, 4, 5)));

static bool fail(struct workload *w, const char *file, unsigned line,
                 const char *format, ...)
{
  size_t used= 0;
  va_list args;
  if (file && line)
    used= (size_t) snprintf(w->error, sizeof(w->error), "%s:%u: ", file, line);
  else if (file)
    used= (size_t) snprintf(w->error, sizeof(w->error), "%s: ", file);
  if (used >= sizeof(w->error))
    used= sizeof(w->error) - 1;
  va_start(args, format);
  vsnprintf(w->error + used, sizeof(w->error) - used, format, args);
  va_end(args);
  return false;
}

/* Running out of memory while reading a small file is not worth surviving. */
static void *checked(void *allocated)
{
  if (!allocated)
  {
    fputs("tpbench: out of memory\n", stderr);
    exit(1);
  }
  return allocated;
}

static char *copy_of(const char *text) { return checked(strdup(text)); }

/* Grows an array by one zeroed element and returns that. */
static void *append(void **array, unsigned *count, size_t size)
{
  *array= checked(realloc(*array, (*count + 1) * size));
  void *element= (char *) *array + *count * size;
  memset(element, 0, size);
  (*count)++;
  return element;
}

#define APPEND(array, count) \
  append((void **) &(array), &(count), sizeof(*(array)))

/* --- settings: $name ------------------------------------------------------ */

static struct setting *find_setting(struct workload *w, const char *name,
                                    size_t length)
{
  for (unsigned i= 0; i < w->setting_count; i++)
    if (strlen(w->settings[i].name) == length &&
        !memcmp(w->settings[i].name, name, length))
      return &w->settings[i];
  return NULL;
}

static void set_setting(struct workload *w, const char *name, const char *value,
                        bool fixed)
{
  struct setting *s= find_setting(w, name, strlen(name));
  if (s && s->fixed && !fixed)
    return;
  if (!s)
  {
    s= APPEND(w->settings, w->setting_count);
    s->name= copy_of(name);
  }
  free(s->value);
  s->value= copy_of(value);
  s->fixed= fixed;
}

static bool is_setting_name(const char *name)
{
  if (!isalpha((unsigned char) *name))
    return false;
  for (; *name; name++)
    if (!isalnum((unsigned char) *name) && *name != '_')
      return false;
  return true;
}

bool workload_set(struct workload *w, const char *assignment)
{
  char *copy= copy_of(assignment), *equals= strchr(copy, '=');
  bool ok= equals != NULL;
  if (ok)
  {
    *equals= 0;
    ok= is_setting_name(copy);
  }
  if (ok)
    set_setting(w, copy, equals + 1, true);
  else
    fail(w, NULL, 0, "not NAME=VALUE: %s", assignment);
  free(copy);
  return ok;
}

/* Replaces $name; "$$" is a dollar. */
static bool substitute(struct workload *w, const char *file, unsigned line,
                       const char *from, char *to)
{
  size_t used= 0;
  while (*from)
  {
    const char *piece= from;
    size_t length= 1;
    if (*from != '$')
      from++;
    else if (from[1] == '$')
      from+= 2;
    else
    {
      size_t name= 0;
      from++;
      while (isalnum((unsigned char) from[name]) || from[name] == '_')
        name++;
      struct setting *s= find_setting(w, from, name);
      if (!s)
        return fail(w, file, line, "$%.*s has no value; give one with "
                    "--set %.*s=VALUE, or write $$ for a dollar",
                    (int) name, from, (int) name, from);
      piece= s->value;
      length= strlen(piece);
      from+= name;
    }
    if (used + length >= MAX_VALUE)
      return fail(w, file, line, "the value is too long");
    memcpy(to + used, piece, length);
    used+= length;
  }
  to[used]= 0;
  return true;
}

/* --- keys of a class ------------------------------------------------------ */

struct place { struct workload *w; const char *file; unsigned line; };

static bool bad_value(const struct place *p, const char *key, const char *value,
                      const char *expected)
{
  return fail(p->w, p->file, p->line, "%s: '%s' is not %s", key, value,
              expected);
}

static bool set_pause(const struct place *p, const char *key, const char *value,
                      struct pause *to)
{
  const char *rest= value;
  to->exponential= !strncmp(value, "exponential ", 12);
  if (to->exponential)
    rest+= 12;
  return parse_duration(rest, &to->ns) ||
         bad_value(p, key, value, "a time (300us, 20ms, 1.5s; or "
                                  "'exponential 20ms')");
}

static bool set_group(const struct place *p, const char *value,
                      struct class *c)
{
  char rest;
  if (sscanf(value, "%u of %u%c", &c->group, &c->group_count, &rest) != 2 ||
      c->group_count == 0 || c->group >= c->group_count ||
      c->group_count > 100000)
    return bad_value(p, "group", value, "'N of COUNT' with N below COUNT");
  return true;
}

static bool add_statement(const struct place *p, const char *key,
                          const char *value, struct class *c,
                          struct template ***list, unsigned *count)
{
  char error[200];
  struct template *t= template_parse(value, &c->names, error, sizeof(error));
  if (!t)
    return fail(p->w, p->file, p->line, "%s: %s", key, error);
  *(struct template **) APPEND(*list, *count)= t;
  return true;
}

static bool set_text(char **to, const char *value)
{
  free(*to);
  *to= copy_of(value);
  return true;
}

/* Where the value of a yes-or-no key goes, or NULL. */
static bool *yes_no_key(struct class *c, const char *key)
{
  struct { const char *key; bool *to; } known[]=
  {
    {"may_be_empty", &c->may_be_empty}, {"background", &c->background},
    {"aside", &c->aside}, {"apart", &c->apart},
    {"tls", &c->tls}, {"compress", &c->compress}, {"reconnect", &c->reconnect},
    {"silent", &c->silent}, {"idle", &c->idle}, {"binlog_dump", &c->binlog_dump}
  };
  for (unsigned i= 0; i < sizeof(known) / sizeof(*known); i++)
    if (!strcmp(key, known[i].key))
      return known[i].to;
  return NULL;
}

static bool set_key(const struct place *p, struct class *c, const char *key,
                    const char *value)
{
  bool *yes_no= yes_no_key(c, key);
  if (yes_no)
    return parse_yes_no(value, yes_no) || bad_value(p, key, value, "yes or no");
  if (!strcmp(key, "connections"))
    return parse_count(value, MAX_CONNECTIONS, &c->connections) ||
           bad_value(p, key, value, "a number of connections");
  if (!strcmp(key, "statement"))
    return add_statement(p, key, value, c, &c->statements, &c->statement_count);
  if (!strcmp(key, "init"))
    return add_statement(p, key, value, c, &c->init, &c->init_count);
  if (!strcmp(key, "think"))
    return set_pause(p, key, value, &c->think);
  if (!strcmp(key, "pause"))
    return set_pause(p, key, value, &c->pause);
  if (!strcmp(key, "rate"))
    return parse_rate(value, &c->rate) || bad_value(p, key, value, "like 200/s");
  if (!strcmp(key, "arrivals"))
  {
    c->even_arrivals= !strcmp(value, "even");
    return c->even_arrivals || !strcmp(value, "random") ||
           bad_value(p, key, value, "random or even");
  }
  if (!strcmp(key, "protocol"))
  {
    c->prepared= !strcmp(value, "prepared");
    return c->prepared || !strcmp(value, "text") ||
           bad_value(p, key, value, "text or prepared");
  }
  if (!strcmp(key, "read_rate"))
    return parse_byte_rate(value, &c->read_rate) ||
           bad_value(p, key, value, "like 10KB/s");
  if (!strcmp(key, "group"))
    return set_group(p, value, c);
  if (!strcmp(key, "user"))
    return set_text(&c->user, value);
  if (!strcmp(key, "password"))
    return set_text(&c->password, value);
  if (!strcmp(key, "database"))
    return set_text(&c->database, value);
  if (!strcmp(key, "socket"))
    return set_text(&c->socket, value);
  if (!strcmp(key, "port"))
    return (parse_count(value, 65535, &c->port) && c->port > 0) ||
           bad_value(p, key, value, "a port number");
  return fail(p->w, p->file, p->line, "unknown key '%s' in class [%s]", key,
              c->name);
}

/* --- lines ---------------------------------------------------------------- */

static struct class *find_class(struct workload *w, const char *name)
{
  for (unsigned i= 0; i < w->class_count; i++)
    if (!strcmp(w->classes[i].name, name))
      return &w->classes[i];
  return NULL;
}

static bool is_class_name(const char *name)
{
  if (!*name || strlen(name) > 31)
    return false;
  for (; *name; name++)
    if (!isalnum((unsigned char) *name) && *name != '_' && *name != '-')
      return false;
  return true;
}

static bool begin_class(const struct place *p, char *line)
{
  char *end= strchr(line, ']');
  if (!end || end[1])
    return fail(p->w, p->file, p->line, "not [name]: %s", line);
  *end= 0;
  char *name= trim(line + 1);
  if (!is_class_name(name))
    return fail(p->w, p->file, p->line, "'%s' is no name for a class: letters, "
                "digits, - and _ only, at most 31", name);
  struct class *other= find_class(p->w, name);
  if (other)
    return fail(p->w, p->file, p->line, "class [%s] exists already (%s:%u)",
                name, other->file, other->line);
  struct class *c= APPEND(p->w->classes, p->w->class_count);
  c->name= copy_of(name);
  c->file= copy_of(p->file);
  c->line= p->line;
  return true;
}

static bool head_line(const struct place *p, const char *key, const char *value)
{
  if (!strncmp(key, "let ", 4))
  {
    const char *name= key + 4;
    while (*name == ' ')
      name++;
    if (!is_setting_name(name))
      return fail(p->w, p->file, p->line, "'%s' is no name for a setting", name);
    set_setting(p->w, name, value, false);
    return true;
  }
  for (const char *const *known= head_keys; *known; known++)
    if (!strcmp(key, *known))
    {
      struct head_line *h= APPEND(p->w->head, p->w->head_count);
      h->key= copy_of(key);
      h->value= copy_of(value);
      return true;
    }
  return fail(p->w, p->file, p->line, "unknown key '%s' before the first "
              "[class]", key);
}

static bool parse_line(const struct place *p, char *line, bool *in_class)
{
  char value[MAX_VALUE];
  line= trim(line);
  if (!*line || *line == '#')
    return true;
  if (*line == '[')
  {
    *in_class= true;
    return p->w->head_only || begin_class(p, line);
  }
  char *equals= strchr(line, '=');
  if (!equals)
    return fail(p->w, p->file, p->line, "not 'key = value': %s", line);
  *equals= 0;
  char *key= trim(line), *given= trim(equals + 1);
  if (!*given)
    return fail(p->w, p->file, p->line, "%s has no value", key);
  /* The head's text may speak of dollars; only "let" may use other settings. */
  if (!*in_class && strncmp(key, "let ", 4))
    return head_line(p, key, given);
  if (!substitute(p->w, p->file, p->line, given, value))
    return false;
  if (!*in_class)
    return head_line(p, key, value);
  return set_key(p, &p->w->classes[p->w->class_count - 1], key, value);
}

bool workload_parse(struct workload *w, const char *name, const char *text)
{
  struct place p= {w, name, 0};
  char *copy= copy_of(text), *line= copy;
  bool ok= true, in_class= false;
  while (ok && line && !(in_class && w->head_only))
  {
    char *next= strchr(line, '\n');
    if (next)
      *next++= 0;
    p.line++;
    ok= parse_line(&p, line, &in_class);
    line= next;
  }
  free(copy);
  return ok;
}

bool workload_read(struct workload *w, const char *path)
{
  FILE *file= fopen(path, "r");
  char *text= NULL;
  size_t size= 0;
  if (!file)
    return fail(w, path, 0, "%s", strerror(errno));
  errno= 0;
  /* Up to the first zero byte, that is, all of a text file. */
  ssize_t got= getdelim(&text, &size, 0, file);
  int error= errno;
  bool at_end= feof(file);
  fclose(file);
  if (got < 0 && error)
  {
    free(text);
    return fail(w, path, 0, "%s", strerror(error));
  }
  bool ok= at_end ? workload_parse(w, path, got < 0 ? "" : text)
                  : fail(w, path, 0, "not a text file");
  free(text);
  return ok;
}

static void free_class(struct class *c)
{
  for (unsigned i= 0; i < c->statement_count; i++)
    template_free(c->statements[i]);
  for (unsigned i= 0; i < c->init_count; i++)
    template_free(c->init[i]);
  free(c->statements);
  free(c->init);
  free(c->name);
  free(c->file);
  free(c->user);
  free(c->password);
  free(c->database);
  free(c->socket);
}

bool workload_select(struct workload *w, char **names, unsigned count)
{
  for (unsigned i= 0; i < count; i++)
    if (!find_class(w, names[i]))
    {
      char known[300]= "";
      for (unsigned k= 0; k < w->class_count; k++)
        snprintf(known + strlen(known), sizeof(known) - strlen(known), " %s",
                 w->classes[k].name);
      return fail(w, NULL, 0, "unknown class '%s'; there are:%s", names[i],
                  known);
    }
  unsigned kept= 0;
  for (unsigned k= 0; k < w->class_count; k++)
  {
    bool wanted= false;
    for (unsigned i= 0; i < count; i++)
      wanted|= !strcmp(names[i], w->classes[k].name);
    if (wanted)
      w->classes[kept++]= w->classes[k];
    else
      free_class(&w->classes[k]);
  }
  w->class_count= kept;
  return true;
}

const char *workload_head(const struct workload *w, const char *key)
{
  for (unsigned i= 0; i < w->head_count; i++)
    if (!strcmp(w->head[i].key, key))
      return w->head[i].value;
  return NULL;
}

/* NULL, or what is contradictory in a class. */
static const char *contradiction(const struct class *c)
{
  unsigned mute= c->silent + c->idle + c->binlog_dump;
  if (c->connections == 0 && !c->may_be_empty)
    return "has no connections; say 'connections = N' with N above 0";
  if (mute > 1)
    return "can be only one of silent, idle and binlog_dump";
  if (mute && (c->statement_count || c->rate > 0 || c->reconnect || c->prepared))
    return "is silent, idle or a binlog dump, so it cannot have statements, "
           "rate, reconnect or protocol";
  if (!mute && !c->statement_count)
    return "has no statement";
  if (c->silent && (c->init_count || c->compress || c->port || c->socket))
    return "is silent, so it cannot have init, compress, port or socket";
  if (c->port && c->socket)
    return "has both port and socket";
  if (c->tls && c->reconnect)
    return "has both tls and reconnect: libmariadb waits for each handshake, "
           "so that their latency would not be that of concurrent clients";
  if (c->binlog_dump && (c->tls || c->compress))
    return "is a binlog dump, which is read without tls and compress here";
  if (c->read_rate > 0 && c->prepared)
    return "has read_rate, for which only the text protocol is supported";
  if (c->rate > 0 && c->think.ns)
    return "has both rate (open loop) and think (closed loop)";
  return NULL;
}

bool workload_check(struct workload *w)
{
  uint64_t connections= 0;
  if (w->class_count == 0)
    return fail(w, NULL, 0, "no class of clients is defined");
  for (unsigned i= 0; i < w->class_count; i++)
  {
    const struct class *c= &w->classes[i];
    const char *problem= contradiction(c);
    if (problem)
      return fail(w, c->file, c->line, "class [%s] %s", c->name, problem);
    connections+= c->connections;
  }
  if (connections == 0)
    return fail(w, NULL, 0, "all classes are empty: no connection at all");
  return true;
}

void workload_free(struct workload *w)
{
  for (unsigned i= 0; i < w->class_count; i++)
    free_class(&w->classes[i]);
  for (unsigned i= 0; i < w->head_count; i++)
  {
    free(w->head[i].key);
    free(w->head[i].value);
  }
  for (unsigned i= 0; i < w->setting_count; i++)
  {
    free(w->settings[i].name);
    free(w->settings[i].value);
  }
  free(w->classes);
  free(w->head);
  free(w->settings);
  memset(w, 0, sizeof(*w));
}
