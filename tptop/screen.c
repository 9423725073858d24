#include "screen.h"

#include "draw.h"
#include "text.h"

#include <curses.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define KEY_ESCAPE 27
#define KEY_CTRL_C 3
/* How long a message stays. */
#define MESSAGE_SECONDS 8
/* So often the screen is drawn without a reason, for what counts seconds. */
#define DRAW_MS 500

static const double intervals[]= {0.2, 0.5, 1, 2, 3, 5, 10, 30, 60, 300};
static const int orders[PANELS]= {GROUP_ORDERS, WAITER_ORDERS, HOLDER_ORDERS};

struct screen
{
  struct view view;
  struct watcher *watcher;
  time_t message_until;
  int64_t kill_id;
  unsigned kill_by;             /* the connection whose reading was there when k was pressed */
  bool quit;
};

static volatile sig_atomic_t ended;

static void on_end(int number)
{
  (void) number;
  ended= 1;
}

static time_t seconds_now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec;
}

static void say(struct screen *s, const char *text)
{
  snprintf(s->view.message, sizeof(s->view.message), "%s", text);
  s->message_until= seconds_now() + MESSAGE_SECONDS;
}

static void say_extra_way(struct screen *s)
{
  char text[512];
  snprintf(text, sizeof(text), "connected by the extra way, %s, because of: %s",
           s->view.news.place, s->view.news.why_extra);
  say(s, text);
}

/* --- rows ----------------------------------------------------------------------------- */

static int64_t id_of_row(const struct view *v, enum panel_name name, unsigned row)
{
  const struct sample *now= v->model.now;
  switch (name) {
  case GROUPS_PANEL: return now->groups[row].id;
  case WAITERS_PANEL: return now->waiters[row].id;
  default: return now->holders[row].id;
  }
}

/* After the rows changed, or their order: the selected one stays the same. */
static void arrange(struct view *v)
{
  struct sample *now= v->model.now;
  struct panel *p= v->panels;
  if (!now)
    return;
  p[GROUPS_PANEL].count= now->group_count;
  p[WAITERS_PANEL].count= now->waiter_count;
  p[HOLDERS_PANEL].count= now->holder_count;
  sort_groups(now->groups, now->group_count, p[GROUPS_PANEL].order,
              p[GROUPS_PANEL].reverse);
  sort_waiters(now->waiters, now->waiter_count, p[WAITERS_PANEL].order,
               p[WAITERS_PANEL].reverse);
  sort_holders(now->holders, now->holder_count, p[HOLDERS_PANEL].order,
               p[HOLDERS_PANEL].reverse);
  for (unsigned name= 0; name < PANELS; name++)
  {
    struct panel *panel= &p[name];
    if (panel->selected >= panel->count)
      panel->selected= panel->count ? panel->count - 1 : 0;
    /* The first row is where one looks for the first, whoever it is. */
    for (unsigned i= 0; i < panel->count && panel->selected; i++)
      if (id_of_row(v, name, i) == panel->selected_id)
        panel->selected= i;
  }
}

static void select_row(struct view *v, int64_t row)
{
  struct panel *p= &v->panels[v->focus];
  if (!p->count)
    return;
  if (row < 0)
    row= 0;
  if (row >= (int64_t) p->count)
    row= (int64_t) p->count - 1;
  p->selected= (unsigned) row;
  p->selected_id= id_of_row(v, v->focus, p->selected);
}

static void next_order(struct view *v)
{
  struct panel *p= &v->panels[v->focus];
  p->order= (p->order + 1) % orders[v->focus];
  p->selected= p->top= 0;
  arrange(v);
}

/* --- keys ---------------------------------------------------------------------------------- */

static void change_interval(struct screen *s, bool longer)
{
  struct view *v= &s->view;
  unsigned count= sizeof(intervals) / sizeof(*intervals);
  double chosen= v->interval;
  for (unsigned i= 0; i < count; i++)
  {
    if (longer && intervals[i] > v->interval)
    {
      chosen= intervals[i];
      break;
    }
    if (!longer && intervals[i] < v->interval)
      chosen= intervals[i];
  }
  v->interval= chosen;
  watcher_set_interval(s->watcher, chosen);
}

static void pause_or_go_on(struct screen *s)
{
  s->view.paused= !s->view.paused;
  watcher_pause(s->watcher, s->view.paused);
}

/* The selected connection is offered; another can be typed. */
static void ask_whom_to_kill(struct screen *s)
{
  struct view *v= &s->view;
  const struct panel *p= &v->panels[v->focus];
  v->input[0]= 0;
  s->kill_by= v->news.sample_of;
  if (v->focus != GROUPS_PANEL && p->count && v->model.now)
  {
    int64_t id= id_of_row(v, v->focus, p->selected);
    if (id > 0)
      snprintf(v->input, sizeof(v->input), "%lld", (long long) id);
  }
  v->mode= ASKING;
}

/* What is known of a connection, to show before it is killed. */
static void describe_victim(const struct view *v, int64_t id, char *to, size_t size)
{
  const struct sample *now= v->model.now;
  char time[24];
  snprintf(to, size, "not on this screen");
  if (!now)
    return;
  for (unsigned i= 0; i < now->waiter_count; i++)
    if (now->waiters[i].id == id)
      snprintf(to, size, "%s, waits for %s: %s", now->waiters[i].user,
               format_time(now->waiters[i].time_us, time, sizeof(time)),
               now->waiters[i].statement);
  for (unsigned i= 0; i < now->holder_count; i++)
    if (now->holders[i].id == id)
      snprintf(to, size, "%s, %lld wait for it: %s", now->holders[i].user,
               (long long) now->holders[i].waiters, now->holders[i].statement);
}

static void confirm(struct screen *s)
{
  struct view *v= &s->view;
  char victim[600];
  v->mode= SHOWING;
  if (!parse_number(v->input, &s->kill_id) || s->kill_id <= 0)
    return say(s, "that is no number of a connection: nothing was killed");
  describe_victim(v, s->kill_id, victim, sizeof(victim));
  snprintf(v->question, sizeof(v->question), "KILL %lld? y: yes, else no  (%s)",
           (long long) s->kill_id, victim);
  v->mode= CONFIRMING;
}

static void on_key_while_asking(struct screen *s, int key)
{
  struct view *v= &s->view;
  size_t length= strlen(v->input);
  if (key == KEY_ESCAPE)
  {
    v->mode= SHOWING;
    say(s, "nothing was killed");
  }
  else if (key == '\n' || key == '\r' || key == KEY_ENTER)
    confirm(s);
  else if ((key == KEY_BACKSPACE || key == 127 || key == '\b') && length)
    v->input[length - 1]= 0;
  else if (key >= '0' && key <= '9' && length + 1 < sizeof(v->input))
  {
    v->input[length]= (char) key;
    v->input[length + 1]= 0;
  }
}

static void on_answer(struct screen *s, int key)
{
  char text[64];
  s->view.mode= SHOWING;
  if (key != 'y' && key != 'Y')
    return say(s, "nothing was killed");
  snprintf(text, sizeof(text), "KILL %lld: sent", (long long) s->kill_id);
  say(s, text);
  watcher_kill(s->watcher, s->kill_id, s->kill_by);
}

static void on_key_while_showing(struct screen *s, int key)
{
  struct view *v= &s->view;
  struct panel *p= &v->panels[v->focus];
  switch (key) {
  case 'q': case 'Q': s->quit= true; break;
  case 'h': case 'H': case '?': v->mode= HELPING; break;
  case 'p': case 'P': pause_or_go_on(s); break;
  case ' ': watcher_read_now(s->watcher); break;
  case '+': case '=': change_interval(s, true); break;
  case '-': case '_': change_interval(s, false); break;
  case '\t':
    v->focus= (v->focus + 1) % PANELS;
    break;
  case KEY_BTAB: v->focus= (v->focus + PANELS - 1) % PANELS; break;
  case 's': case 'S': next_order(v); break;
  case 'r': case 'R':
    p->reverse= !p->reverse;
    arrange(v);
    break;
  case 'k': case 'K': ask_whom_to_kill(s); break;
  case KEY_UP: select_row(v, (int64_t) p->selected - 1); break;
  case KEY_DOWN: select_row(v, (int64_t) p->selected + 1); break;
  case KEY_PPAGE: select_row(v, (int64_t) p->selected - 10); break;
  case KEY_NPAGE: select_row(v, (int64_t) p->selected + 10); break;
  case KEY_HOME: select_row(v, 0); break;
  case KEY_END: select_row(v, p->count); break;
  default: break;
  }
}

static void on_key(struct screen *s, int key)
{
  if (key == KEY_RESIZE)
    return;
  if (key == KEY_CTRL_C)
  {
    s->quit= true;
    return;
  }
  switch (s->view.mode) {
  case HELPING: s->view.mode= SHOWING; break;
  case ASKING: on_key_while_asking(s, key); break;
  case CONFIRMING: on_answer(s, key); break;
  case SHOWING: on_key_while_showing(s, key); break;
  }
}

/* --- the loop ---------------------------------------------------------------------------------- */

static void take_news(struct screen *s)
{
  struct view *v= &s->view;
  watcher_take(s->watcher, &v->news);
  if (v->news.message[0])
    say(s, v->news.message);
  if (v->news.reconnected && v->news.why_extra[0])
    say_extra_way(s);
  if (!v->news.sample)
    return;
  model_add(&v->model, v->news.sample);
  arrange(v);
}

static void run(struct screen *s)
{
  struct pollfd fds[]= {{STDIN_FILENO, POLLIN, 0}, {watcher_fd(s->watcher), POLLIN, 0}};
  while (!s->quit && !ended)
  {
    int key;
    draw(&s->view);
    if (poll(fds, 2, DRAW_MS) < 0 && errno != EINTR)
      break;
    /* The terminal is gone. */
    if (fds[0].revents & (POLLHUP | POLLERR | POLLNVAL))
      break;
    while (!s->quit && (key= getch()) != ERR)
      on_key(s, key);
    take_news(s);
    if (seconds_now() >= s->message_until)
      s->view.message[0]= 0;
  }
}

int screen_run(const struct options *options, struct connection *connection)
{
  struct screen *s= calloc(1, sizeof(*s));
  struct sigaction action= {.sa_handler= on_end};
  SCREEN *terminal= newterm(NULL, stdout, stdin);
  if (!terminal)
  {
    const char *name= getenv("TERM");
    fprintf(stderr, "tptop: a terminal of type '%s' is not known here; use --batch\n",
            name ? name : "");
    connection_close(connection);
    free(s);
    return EXIT_FAILED;
  }
  if (!s || !(s->watcher= watcher_start(options, connection)))
  {
    endwin();
    fputs("tptop: out of memory\n", stderr);
    return EXIT_FAILED;
  }
  model_init(&s->view.model);
  s->view.interval= options->interval;
  s->view.colors= !options->no_color;
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGHUP, &action, NULL);
  sigaction(SIGINT, &action, NULL);
  cbreak();
  noecho();
  nonl();
  keypad(stdscr, TRUE);
  nodelay(stdscr, TRUE);
  set_escdelay(50);
  curs_set(0);
  draw_init(&s->view);
  take_news(s);
  if (s->view.news.why_extra[0])
    say_extra_way(s);
  run(s);
  endwin();
  delscreen(terminal);
  if (!watcher_stop(s->watcher))
    _exit(EXIT_WELL);
  model_clear(&s->view.model);
  free(s);
  return EXIT_WELL;
}
