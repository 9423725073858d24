/*
  Scenario files: a head of "key = value" lines about the scenario, then a
  [section] for each class of clients. doc/benchmarks.md describes them.
*/
#ifndef TPBENCH_WORKLOAD_H
#define TPBENCH_WORKLOAD_H

#include "template.h"

#include <stdbool.h>
#include <stdint.h>

/* A time to wait: always the same, or exponentially distributed around it. */
struct pause
{
  int64_t ns;
  bool exponential;
};

struct class
{
  char *name;
  char *file;                   /* where it is from, for messages */
  unsigned line;

  uint64_t connections;
  bool may_be_empty;            /* 0 connections are no mistake */
  bool background;              /* is not waited for at the end */
  bool aside;                   /* not counted in the CPU time per statement */
  bool apart;                   /* driven by a thread of its own, with others that are */

  /* What a connection does: passes through its statements. */
  struct template **statements;
  unsigned statement_count;
  struct template **init;       /* once, after connecting */
  unsigned init_count;
  struct names names;
  struct pause think;           /* between passes */
  struct pause pause;           /* between the statements of a pass */
  double rate;                  /* open loop: passes per second; 0: closed */
  bool even_arrivals;           /* open loop: evenly spaced, not Poisson */

  /* How it speaks. */
  bool prepared, tls, compress;
  bool reconnect;               /* a new connection for each pass */
  bool silent;                  /* connects, and never says a word; with tls, that one */
  bool idle;                    /* logs in, and then never says a word */
  bool binlog_dump;             /* asks for the binary log, from its beginning */
  double read_rate;             /* bytes per second; 0: as fast as it can */
  unsigned group, group_count;  /* only connections with id % count == group */
  char *user, *password, *database;     /* NULL: those of the command line */
  char *socket;                         /* a Unix socket; NULL: the same */
  uint64_t port;                        /* 0: that of the command line */
};

/* "key = value" of the heads, in the order in which they were read. */
struct head_line
{
  char *key, *value;
};

struct workload
{
  struct class *classes;
  unsigned class_count;
  struct head_line *head;
  unsigned head_count;
  struct setting { char *name, *value; bool fixed; } *settings;
  unsigned setting_count;
  bool head_only;               /* do not read beyond the heads */
  char error[512];              /* what is wrong, if a function returns false */
};

/* $name in a value stands for this; wins over the file's "let name = value". */
bool workload_set(struct workload *w, const char *assignment);
/* Adds the classes and the head of a file. */
bool workload_read(struct workload *w, const char *path);
/* The same from memory; name is for messages. */
bool workload_parse(struct workload *w, const char *name, const char *text);
/* Keeps only the named classes. */
bool workload_select(struct workload *w, char **names, unsigned count);
/* The first value of a key of the heads, or NULL. */
const char *workload_head(const struct workload *w, const char *key);
/* Whether the whole makes sense: to be called when everything was read. */
bool workload_check(struct workload *w);
void workload_free(struct workload *w);

#endif
