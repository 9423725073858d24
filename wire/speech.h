/*
  What clients say in their logins, rightly and wrongly: for tplogin. A speech has a
  name; kinds[] are those that stop in the middle, talks[] those that are said at once.
*/
#ifndef TPWIRE_SPEECH_H
#define TPWIRE_SPEECH_H

#include "bytes.h"

#include <stdbool.h>

struct text
{
  const char *data;
  size_t size;
};

enum saying
{
  A_LOGIN,                      /* the packet that logs in */
  A_TLS_REQUEST,
  NO_PACKET                     /* nothing but what stands before */
};

/* How it is said. */
#define BLIND 1                 /* the greeting is not read before */
#define BYTES 2                 /* byte by byte */
#define ASKED 4                 /* then the server asks for another plugin */
#define ASKED_LATER 8           /* the same, but it has to wait for its place first */
#define AT_ONCE 16              /* the answer to that comes before the question */
#define READ 32                 /* reads a packet at the end */
#define ENDS 64                 /* says that nothing more will come */

struct speech
{
  const char *name;
  unsigned how;
  struct text before;
  enum saying saying;
  /* Of a login; what is 0 is as it should be. */
  const char *user;             /* root */
  const char *plugin;           /* mysql_native_password */
  size_t long_user;             /* so many letters instead */
  size_t password;              /* so many bytes */
  size_t length;                /* with something behind it that nobody reads */
  struct text content;          /* instead of all that, behind the head */
  uint32_t flags;               /* more of them */
  int later;                    /* the number of the packet is so much larger */
  /* Behind it. */
  size_t filler;                /* so many bytes */
  struct text after;
  /* So much of it is said; < 0: all but so much; 0: all. */
  int cut;
  /* The answer to the question for another plugin. */
  unsigned answer_number;       /* of the packet; 0: none is given */
  size_t answer;                /* so many bytes */
  struct text odd_answer;       /* instead */
};

#define NOTHING (-0x7fffffff)   /* as a cut */

extern const struct speech kinds[], talks[];

/* NULL: there is none of that name. */
const struct speech *find_speech(const struct speech *list, const char *name);

/* What it says first; what is missing of that; its answer. Each is appended. */
void speech_first(const struct speech *s, struct bytes *to);
void speech_rest(const struct speech *s, struct bytes *to);
void speech_answer(const struct speech *s, struct bytes *to);

#endif
