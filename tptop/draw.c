#include "draw.h"

#include "facts.h"
#include "text.h"

#include <curses.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LEAST_LINES 5
#define LEAST_COLUMNS 20
/* With fewer lines the sparklines give way to one line of figures. */
#define LINES_FOR_SPARKLINES 20
/* With fewer columns groups have no bars. */
#define COLUMNS_FOR_BARS 62

enum color { PLAIN, RUNNING, WAITING, LONG, IDLE, QUEUE, ALARM, COLORS_USED };

static bool use_colors;

static attr_t color(enum color which)
{
  static const attr_t without[]=
  {A_NORMAL, A_NORMAL, A_NORMAL, A_NORMAL, A_NORMAL, A_NORMAL, A_BOLD};
  return use_colors ? (attr_t) COLOR_PAIR((int) which) : without[which];
}

void draw_init(struct view *view)
{
  static const short foreground[]=
  {COLOR_WHITE, COLOR_GREEN, COLOR_YELLOW, COLOR_MAGENTA, COLOR_BLUE, COLOR_CYAN,
   COLOR_RED};
  use_colors= view->colors && has_colors();
  if (!use_colors)
    return;
  start_color();
  use_default_colors();
  for (short i= 1; i < COLORS_USED; i++)
    init_pair(i, foreground[i], -1);
}

/* --- one line ------------------------------------------------------------------------ */

/* Where the next text goes, and how many columns are left of that line. */
static int line;
static unsigned left;

static void begin_line(int number)
{
  line= number;
  left= (unsigned) COLS;
  move(line, 0);
}

static void put(attr_t attributes, const char *text)
{
  size_t bytes= text_fits(text, left);
  if (!bytes || line >= LINES)
    return;
  char part[1024];
  if (bytes >= sizeof(part))
    bytes= text_fits(text, sizeof(part) / 4 - 1);
  memcpy(part, text, bytes);
  part[bytes]= 0;
  attrset(attributes);
  addstr(part);
  attrset(A_NORMAL);
  left-= text_width(part);
}

static void putf(attr_t attributes, const char *format, ...)
  __attribute__((format(printf, 2, 3)));

static void putf(attr_t attributes, const char *format, ...)
{
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  put(attributes, text);
}

/* A text in so many columns, cut or filled up. */
static void put_column(attr_t attributes, const char *text, unsigned columns)
{
  char part[1024];
  size_t bytes= text_fits(text, columns);
  snprintf(part, sizeof(part), "%.*s", (int) bytes, text);
  unsigned width= text_width(part);
  put(attributes, part);
  putf(attributes, "%*s", (int) (columns > width ? columns - width : 0), "");
}

static void fill_line(attr_t attributes)
{
  putf(attributes, "%*s", (int) left, "");
}

/* --- the top -------------------------------------------------------------------------- */

static void draw_title(const struct view *v)
{
  const struct sample *s= v->model.now;
  char up[32];
  begin_line(0);
  put(A_REVERSE, "tptop");
  if (v->news.why_extra[0] && v->news.connected)
    putf(A_REVERSE | A_BOLD, "  EXTRA WAY: %s", v->news.place);
  if (v->paused)
    put(A_REVERSE | A_BOLD, "  PAUSED");
  putf(A_REVERSE, "  every %g s", v->interval);
  if (s)
    putf(A_REVERSE, "  %s  %s  up %s", s->server, s->version,
         format_uptime(s->uptime, up, sizeof(up)));
  fill_line(A_REVERSE);
}

/* As many on each line as fit; returns the next line. */
static int draw_facts(const struct view *v, int from, int most)
{
  struct fact facts[MOST_FACTS];
  unsigned count= facts_of(&v->model, facts);
  begin_line(from);
  /* The first three are in the title. */
  for (unsigned i= 3; i < count; i++)
  {
    unsigned width= text_width(facts[i].name) + 1 + text_width(facts[i].value);
    if (left != (unsigned) COLS && width + 2 > left)
    {
      if (++from >= most)
        return from;
      begin_line(from);
    }
    if (left != (unsigned) COLS)
      put(A_NORMAL, "  ");
    putf(A_NORMAL, "%s ", facts[i].name);
    put(A_BOLD | (facts[i].alarm ? color(ALARM) : 0), facts[i].value);
  }
  return from + 1;
}

static void draw_sparkline(const char *name, const char *now, const int64_t *values,
                           unsigned count)
{
  char text[4 * HISTORY + 1];
  putf(A_NORMAL, "%-10s ", name);
  putf(A_BOLD, "%9s ", now);
  sparkline(text, sizeof(text), values, count, left);
  put(color(QUEUE), text);
}

static int draw_course(const struct view *v, int from)
{
  const struct model *m= &v->model;
  char queue[24], p50[24], p99[24];
  format_count(m->now->sum.queue, queue, sizeof(queue));
  format_time(m->p50, p50, sizeof(p50));
  format_time(m->p99, p99, sizeof(p99));
  begin_line(from);
  if (LINES < LINES_FOR_SPARKLINES)
  {
    putf(A_NORMAL, "queue ");
    put(A_BOLD, queue);
    put(A_NORMAL, "  queue time p50 ");
    put(A_BOLD, p50);
    put(A_NORMAL, "  p99 ");
    put(A_BOLD, p99);
    return from + 1;
  }
  draw_sparkline("queue", queue, m->queue_history, m->count);
  begin_line(from + 1);
  draw_sparkline("waited p50", p50, m->p50_history, m->count);
  begin_line(from + 2);
  draw_sparkline("waited p99", p99, m->p99_history, m->count);
  return from + 3;
}

/* --- the panels ------------------------------------------------------------------------- */

static const char *const bar_ascii[]= {"#", "w", "L", ".", "="};
static const char *const bar_utf8[]= {"█", "▒", "▓", "░", "▪"};
static const char *glyph(unsigned part)
{
  return text_is_utf8() ? bar_utf8[part] : bar_ascii[part];
}

/* Whether this is the row that keys are for, and how it looks then. */
static attr_t row_look(const struct view *v, enum panel_name name, unsigned row)
{
  const struct panel *p= &v->panels[name];
  return v->focus == name && p->selected == row ? A_REVERSE : A_NORMAL;
}

static void heading(const struct view *v, enum panel_name name, const char *title,
                    const char *order)
{
  putf(v->focus == name ? A_BOLD | A_UNDERLINE : A_BOLD, "%s", title);
  putf(A_NORMAL, "  by %s%s", order, v->panels[name].reverse ? ", reversed" : "");
}

static void draw_group(const char *name, const struct group *g, attr_t look,
                       int64_t most_threads, int64_t most_queue)
{
  const int64_t numbers[]= {g->connections, g->threads, g->running, g->waiting,
                            g->long_ones, g->idle, g->queue};
  const int64_t parts[]= {g->running, g->waiting, g->long_ones, g->idle};
  unsigned columns[4], used, width;
  char text[24];
  putf(look, "%5s", name);
  for (unsigned i= 0; i < 7; i++)
    putf(look, i == 0 ? " %6s" : " %5s", format_count(numbers[i], text, sizeof(text)));
  if (g->stalled > 0)
    put(A_BOLD | color(ALARM), "!");
  else
    put(look, " ");
  if (COLS < COLUMNS_FOR_BARS || left < 6)
    return;
  width= (left - 1) * 3 / 5;
  used= bar_parts(parts, 4, most_threads, width, columns);
  for (unsigned i= 0; i < 4; i++)
    while (columns[i]--)
      put(color(RUNNING + i), glyph(i));
  putf(A_NORMAL, "%*s ", (int) (width - used), "");
  bar_parts(&g->queue, 1, most_queue, left, columns);
  while (columns[0]--)
    put(color(QUEUE), glyph(4));
}

static void draw_groups(const struct view *v, int from, unsigned rows)
{
  static const char *const legend[]= {" running ", " waiting ", " long ", " idle ", " queue"};
  const struct sample *s= v->model.now;
  const struct panel *p= &v->panels[GROUPS_PANEL];
  int64_t most_threads= 1, most_queue= 1;
  char title[48], name[24];
  unsigned shown= rows ? rows - 1 : 0;
  for (unsigned i= 0; i < s->group_count; i++)
  {
    const struct group *g= &s->groups[i];
    int64_t threads= add_known(add_known(g->running, g->waiting),
                               add_known(g->long_ones, g->idle));
    most_threads= threads > most_threads ? threads : most_threads;
    most_queue= g->queue > most_queue ? g->queue : most_queue;
  }
  if (p->count > shown && shown)
    snprintf(title, sizeof(title), "GROUPS %u-%u of %u", p->top + 1,
             p->top + shown > p->count ? p->count : p->top + shown, p->count);
  else
    snprintf(title, sizeof(title), "GROUPS %u", p->count);
  begin_line(from);
  heading(v, GROUPS_PANEL, title, group_order_names[p->order]);
  if (COLS >= COLUMNS_FOR_BARS)
  {
    put(A_NORMAL, "  ");
    for (unsigned i= 0; i < 5; i++)
    {
      put(color(RUNNING + i), glyph(i));
      put(A_NORMAL, legend[i]);
    }
  }
  if (!rows)
    return;
  begin_line(from + 1);
  putf(A_DIM, "%5s %6s %5s %5s %5s %5s %5s %5s", "", "conns", "thrds", "run", "wait",
       "long", "idle", "queue");
  for (unsigned i= 0; i < shown; i++)
  {
    unsigned row= p->top + i;
    begin_line(from + 2 + (int) i);
    if (row < p->count)
      draw_group(format_id(s->groups[row].id, name, sizeof(name)), &s->groups[row],
                 row_look(v, GROUPS_PANEL, row), most_threads, most_queue);
  }
}

/* The sum has a line of its own, so that many groups can be seen at a glance. */
static void draw_sum(const struct view *v, int at)
{
  const struct group *sum= &v->model.now->sum;
  int64_t threads= add_known(add_known(sum->running, sum->waiting),
                             add_known(sum->long_ones, sum->idle));
  begin_line(at);
  draw_group("all", sum, A_NORMAL, threads > 0 ? threads : 1,
             sum->queue > 0 ? sum->queue : 1);
}

static void draw_waiters(const struct view *v, int from, unsigned rows)
{
  const struct sample *s= v->model.now;
  const struct panel *p= &v->panels[WAITERS_PANEL];
  char title[64], time[24], id[24];
  snprintf(title, sizeof(title), "OLDEST WAITERS %u", p->count);
  begin_line(from);
  heading(v, WAITERS_PANEL, title, waiter_order_names[p->order]);
  if (!p->count && rows)
  {
    begin_line(from + 1);
    putf(A_NORMAL, "  %s", s->no_waiters[0] ? s->no_waiters : "nobody waits in a queue");
  }
  for (unsigned i= 0; i < rows && p->top + i < p->count; i++)
  {
    const struct waiter *w= &s->waiters[p->top + i];
    attr_t look= row_look(v, WAITERS_PANEL, p->top + i);
    begin_line(from + 1 + (int) i);
    putf(look, "%9s %9s ", format_time(w->time_us, time, sizeof(time)),
         format_id(w->id, id, sizeof(id)));
    put_column(look, w->user, 10);
    put(look, " ");
    put_column(look, w->state, 17);
    putf(look, " %s", w->statement);
    fill_line(look);
  }
}

static void draw_holders(const struct view *v, int from, unsigned rows)
{
  const struct sample *s= v->model.now;
  const struct panel *p= &v->panels[HOLDERS_PANEL];
  char title[64], id[24], waiters[24], age[24];
  snprintf(title, sizeof(title), "HOLDERS OF LOCKS %u", p->count);
  begin_line(from);
  heading(v, HOLDERS_PANEL, title, holder_order_names[p->order]);
  if (s->holders_are_old)
    put(A_NORMAL, "  (some seconds old: to ask costs the server much)");
  if (!p->count && rows)
  {
    begin_line(from + 1);
    putf(A_NORMAL, "  %s", s->no_holders[0] ? s->no_holders : "nobody waits for a lock");
  }
  for (unsigned i= 0; i < rows && p->top + i < p->count; i++)
  {
    const struct holder *h= &s->holders[p->top + i];
    attr_t look= row_look(v, HOLDERS_PANEL, p->top + i);
    begin_line(from + 1 + (int) i);
    putf(look, "%9s %6s wait %8s ", format_id(h->id, id, sizeof(id)),
         format_count(h->waiters, waiters, sizeof(waiters)),
         format_age(h->age_us, age, sizeof(age)));
    put_column(look, holder_does(h), 9);
    put(look, " ");
    put_column(look, h->user, 10);
    putf(look, " %s", h->statement);
    fill_line(look);
  }
}

/* Moves the window over the rows so that the selected one is in it. */
static void scroll_to_selected(struct panel *p, unsigned rows)
{
  if (p->selected < p->top)
    p->top= p->selected;
  if (rows && p->selected >= p->top + rows)
    p->top= p->selected - rows + 1;
  if (p->top + rows > p->count)
    p->top= p->count > rows ? p->count - rows : 0;
}

/*
  A row for each panel in turn, two for the one that has the focus, until all
  have what they want or none is left.
*/
static void share_lines(const struct view *v, unsigned lines, unsigned *rows)
{
  unsigned want[PANELS];
  bool given= true;
  for (unsigned i= 0; i < PANELS; i++)
  {
    want[i]= v->panels[i].count ? v->panels[i].count : 1;
    rows[i]= 0;
  }
  want[GROUPS_PANEL]+= 1;       /* the names of the columns */
  while (lines && given)
  {
    given= false;
    for (unsigned turn= 0; turn <= PANELS && lines; turn++)
    {
      unsigned i= turn < PANELS ? turn : v->focus;
      if (rows[i] < want[i])
      {
        rows[i]++;
        lines--;
        given= true;
      }
    }
  }
}

static void draw_panels(struct view *v, int from)
{
  static void (*const drawers[PANELS])(const struct view *, int, unsigned)=
  {draw_groups, draw_waiters, draw_holders};
  unsigned rows[PANELS], lines= (unsigned) (LINES - 1 - from);
  if (from >= LINES - 1)
    return;
  bool all= lines >= 2 * PANELS;
  bool with_sum= v->model.now->group_count > 1 && lines >= 2 * PANELS + 4;
  if (with_sum)
    lines--;
  if (all)
    share_lines(v, lines - PANELS, rows);
  for (unsigned i= 0; i < PANELS; i++)
  {
    struct panel *p= &v->panels[i];
    if (!all && i != v->focus)
      continue;
    unsigned room= all ? rows[i] : lines - 1;
    scroll_to_selected(p, i == GROUPS_PANEL ? (room ? room - 1 : 0) : room);
    drawers[i](v, from, room);
    from+= 1 + (int) room;
    if (i == GROUPS_PANEL && with_sum)
      draw_sum(v, from++);
  }
}

/* --- the bottom, and all of it --------------------------------------------------------------- */

static void draw_bottom(const struct view *v)
{
  begin_line(LINES - 1);
  if (v->mode == ASKING)
  {
    putf(A_BOLD, "Kill which connection? %s", v->input);
    put(A_REVERSE, " ");
    put(A_NORMAL, "  Enter: go on, Esc: leave it");
  }
  else if (v->mode == CONFIRMING)
    putf(A_BOLD | color(ALARM), "%s", v->question);
  else if (!v->news.connected)
    putf(A_BOLD | color(ALARM), "NOT CONNECTED, trying again: %s", v->news.error);
  else if (v->news.silent_for > 2)
    putf(A_BOLD | color(ALARM), "no answer for %.0f s: the question itself may wait in the pool",
         v->news.silent_for);
  else if (v->message[0])
    put(A_BOLD, v->message);
  else if (v->model.now && v->model.now->missing[0])
    putf(A_NORMAL, "%s.  h help  q quit", v->model.now->missing);
  else
    put(A_NORMAL, "q quit  h help  p pause  s sort  r reverse  Tab panel  k kill  +/- interval");
}

static void draw_help(void)
{
  static const char *const lines[]=
  {
    "tptop: the thread pool of a MariaDB server",
    "",
    "q, Ctrl-C    quit",
    "h, ?         this help",
    "p            pause: the screen stands still, the server isn't asked",
    "Space        a new reading now",
    "+ -          longer, shorter interval",
    "Tab          next panel: groups, waiters, holders of locks",
    "Up Down      row; PageUp, PageDown, Home, End",
    "s            sort the panel by its next column",
    "r            the other way round",
    "k            kill: asks for the connection, then shows what is sent",
    "",
    "groups       threads that run, wait (locks, disk, network), run a long",
    "             statement, are idle; \"!\": its queue stands still",
    "waited       how long statements stood in the queue before they began: half",
    "             of them less than p50, 99 of 100 less than p99, since the last reading",
    "gate         how many transactions may be hot, are, wait for that; and why",
    "",
    "Press a key to go back.",
  };
  for (unsigned i= 0; i < sizeof(lines) / sizeof(*lines) && (int) i < LINES; i++)
  {
    begin_line((int) i);
    put(i ? A_NORMAL : A_BOLD, lines[i]);
  }
}

void draw(struct view *v)
{
  erase();
  if (LINES < LEAST_LINES || COLS < LEAST_COLUMNS)
  {
    begin_line(0);
    put(A_NORMAL, "too small");
  }
  else if (v->mode == HELPING)
    draw_help();
  else
  {
    draw_title(v);
    if (v->model.now)
    {
      int next= draw_facts(v, 1, LINES - 2);
      if (next < LINES - 2)
        next= draw_course(v, next);
      draw_panels(v, next);
    }
    else
    {
      begin_line(2);
      put(A_NORMAL, "reading ...");
    }
    draw_bottom(v);
  }
  refresh();
}
