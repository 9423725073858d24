/* Draws what the screen shows. It decides nothing: screen.c does. */
#ifndef TPTOP_DRAW_H
#define TPTOP_DRAW_H

#include "model.h"
#include "watcher.h"

enum panel_name { GROUPS_PANEL, WAITERS_PANEL, HOLDERS_PANEL, PANELS };

struct panel
{
  unsigned count;               /* rows that there are */
  unsigned selected, top;       /* row numbers; the first one that is visible */
  int64_t selected_id;          /* stays the same when rows move */
  int order;
  bool reverse;
};

enum mode { SHOWING, HELPING, ASKING, CONFIRMING };

struct view
{
  struct model model;
  struct watcher_news news;
  struct panel panels[PANELS];
  enum panel_name focus;
  enum mode mode;
  bool paused, colors;
  double interval;
  char input[20];               /* the id that is being typed */
  char question[700];           /* with CONFIRMING */
  char message[512];            /* empty: the keys are shown instead */
};

/* Once, after curses was started. */
void draw_init(struct view *view);
void draw(struct view *view);

#endif
