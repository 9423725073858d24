#include "speech.h"

#include <string.h>

#define TEXT(literal) {literal, sizeof(literal) - 1}

/* CLIENT_LONG_PASSWORD, CLIENT_PROTOCOL_41, CLIENT_SECURE_CONNECTION, CLIENT_PLUGIN_AUTH */
#define FLAGS (0x1 | 0x200 | 0x8000 | 0x80000)
#define TLS_FLAG 0x800
#define RESERVED 23

/* The first bytes of a ClientHello */
#define HALF_HELLO "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
#define PROXY1 "PROXY TCP4 192.0.2.7 192.0.2.8 4711 3306\r\n"
/* The same in version 2: signature and command; length; addresses and ports */
#define PROXY2_HEAD "\r\n\r\n\0\r\nQUIT\n\x21\x11"
#define PROXY2 PROXY2_HEAD "\x00\x0c" "\xc0\x00\x02\x07" "\xc0\x00\x02\x08" "\x12\x67" "\x0c\xea"
#define MANY_LINES(line) line line line line line line line line line line

/* The first three are what a login by a client without TLS consists of. */
const struct speech kinds[]=
{
  {"silent", BLIND, .cut= NOTHING},
  {"greeted", .cut= NOTHING},
  {"header", .cut= 2},
  {"half", .cut= 30},
  {"all_but_one", .cut= -1},
  {"known", .user= "known", .cut= 30},
  {"tls", .saying= A_TLS_REQUEST},
  {"hello", .saying= A_TLS_REQUEST, .after= TEXT(HALF_HELLO)},
  {"half_tls", .saying= A_TLS_REQUEST, .cut= 20},
  {"proxy1", .before= TEXT(PROXY1), .user= "proxied", .cut= 10},
  {"proxy2", .before= TEXT(PROXY2), .user= "proxied", .cut= 14},
  {"proxied", .before= TEXT(PROXY1), .user= "proxied", .cut= sizeof(PROXY1) - 1},
  /* A whole answer: the server asks for another plugin, and waits. */
  {"switch", ASKED, .plugin= "none", .answer_number= 3},
  {"switch_slow", ASKED, .user= "secret", .plugin= "none", .answer_number= 3, .answer= 20},
  /* The same, but it waits inside of the login. Those who wait for a place aren't asked yet. */
  {"inside", ASKED, .user= "waiter", .answer_number= 3},
  {"waiter", ASKED_LATER, .user= "waiter", .answer_number= 3},
  /* A whole answer of a user whose login takes long */
  {"slow", .user= "slow"},
  /* Whole answers, which may have to wait for their turn */
  {"check", .user= "checker"},
  {.name= "whole"},
  {.name= NULL}
};

const struct speech talks[]=
{
  {.name= "ok"},
  {"ok_bytes", .how= BYTES},
  {"known", .user= "known"},
  {"known_blind", BLIND, .user= "known"},
  {"no_password", .user= "secret"},
  {"wrong_password", .user= "secret", .password= 20},
  {"odd_password", .user= "secret", .password= 7},
  {"unknown_user", .user= "nobody"},
  {"limited_user", .user= "limited"},
  {"long_user", .long_user= 1000},
  {"number_0", .later= -1},
  {"number_2", .later= 1},
  {"number_255", .later= 254},
  {"number_2_head", .later= 1, .cut= 4},
  {"empty", .saying= NO_PACKET, .before= TEXT("\0\0\0\1")},
  {"one_byte", .saying= NO_PACKET, .before= TEXT("\1\0\0\1\5")},
  {"five_bytes", .saying= NO_PACKET, .before= TEXT("\5\0\0\1\5\2\0\0\0")},
  {"no_end", .content= TEXT("root")},
  {"http", .saying= NO_PACKET, .before= TEXT("GET / HTTP/1.0\r\n\r\n")},
  {"ssh", .saying= NO_PACKET, .before= TEXT("SSH-2.0-OpenSSH_9.2\r\n")},
  {"tls_at_once", .saying= NO_PACKET, .before= TEXT(HALF_HELLO)},
  /* The flags, with that of TLS, and too little behind them */
  {"tls_short", .saying= NO_PACKET, .before= TEXT("\x0e\0\0\1" "\x01\x8a\x08\0" "xxxxxxxxxx")},
  {"tls_nonsense", .saying= A_TLS_REQUEST, .after= TEXT(MANY_LINES("no TLS at all\n"))},
  {"tls_in_answer", ENDS, .content= TEXT("root\0\0"), .flags= TLS_FLAG},
  {"long_64k", .length= 65536},
  {"longer_64k", .length= 65537},
  {"long_1m", .length= 1000000},
  {"long_17m", ENDS, .before= TEXT("\xff\xff\xff\1"), .filler= 0xffffff, .later= 1},
  {"long_max", ENDS, .saying= NO_PACKET, .before= TEXT("\xff\xff\xff\1")},
  {"eof_before", BLIND | ENDS, .cut= NOTHING},
  {"eof_greeted", ENDS, .cut= NOTHING},
  {"eof_header", ENDS, .cut= 3},
  {"eof_half", ENDS, .cut= 30},
  {"eof_tls", ENDS, .saying= A_TLS_REQUEST},
  {"eof_hello", ENDS, .saying= A_TLS_REQUEST, .after= TEXT(HALF_HELLO)},
  {"eof_switch", READ | ENDS, .plugin= "none"},
  {"switch_ok", ASKED, .plugin= "none", .answer_number= 3},
  {"switch_blind", AT_ONCE, .plugin= "none", .answer_number= 3},
  {"switch_bytes", ASKED | BYTES, .plugin= "none", .answer_number= 3},
  {"switch_no_name", ASKED, .plugin= "", .answer_number= 3},
  {"switch_case", .plugin= "MySQL_Native_Password"},
  {"switch_old", .plugin= "mysql_old_password"},
  {"switch_wrong", ASKED, .user= "secret", .plugin= "none", .answer_number= 3, .answer= 20},
  {"switch_none", ASKED, .user= "secret", .plugin= "none", .answer_number= 3},
  {"switch_odd", ASKED, .user= "secret", .plugin= "none", .answer_number= 3, .answer= 7},
  {"switch_long", ASKED, .user= "secret", .plugin= "none", .answer_number= 3, .answer= 70000},
  {"switch_number", ASKED, .plugin= "none", .answer_number= 2},
  {"switch_eof", ASKED | ENDS, .plugin= "none", .odd_answer= TEXT("\x14\0\0\3xx")},
  {"switch_nobody", ENDS, .user= "nobody", .plugin= "none"},
  {"switch_twice", ASKED, .user= "waiter", .plugin= "none", .answer_number= 3},
  {"eof_whole", .how= ENDS},
  /* All at once, before the greeting was read */
  {"blind", .how= BLIND},
  {"proxy1", .before= TEXT(PROXY1), .user= "proxied"},
  {"proxy1_bytes", BYTES, .before= TEXT(PROXY1), .user= "proxied"},
  {"proxy1_local", .before= TEXT("PROXY UNKNOWN\r\n")},
  {"proxy1_long", .saying= NO_PACKET, .before= TEXT("PROXY "), .filler= 300},
  {"proxy1_bad", .before= TEXT("PROXY TCP4 nonsense\r\n")},
  {"proxy1_unwanted", .before= TEXT("PROXY TCP4 192.0.2.9 192.0.2.8 4711 3306\r\n"), .user= "proxied"},
  {"proxy1_twice", .before= TEXT(PROXY1 PROXY1), .user= "proxied"},
  {"proxy1_number", .before= TEXT(PROXY1), .user= "proxied", .later= 2},
  {"proxy1_eof", ENDS, .saying= NO_PACKET, .before= TEXT(PROXY1)},
  {"proxy2", .before= TEXT(PROXY2), .user= "proxied"},
  {"proxy2_bytes", BYTES, .before= TEXT(PROXY2), .user= "proxied"},
  {"proxy2_long", .saying= NO_PACKET, .before= TEXT(PROXY2_HEAD "\x01\x2c"), .filler= 300},
  {"proxy2_bad", .saying= NO_PACKET, .before= TEXT("\r\n\r\n" "nonsense, all of it")},
  {"proxy2_eof", ENDS, .saying= NO_PACKET, .before= TEXT(PROXY2)},
  {"proxy_header", ENDS, .saying= NO_PACKET, .before= TEXT("PROX")},
  {.name= NULL}
};

const struct speech *find_speech(const struct speech *list, const char *name)
{
  for (; list->name; list++)
    if (!strcmp(list->name, name))
      return list;
  return NULL;
}

static void add_many(struct bytes *to, char what, size_t count)
{
  uint8_t *room= bytes_room(to, count);
  if (count)
    memset(room, what, count);
  to->length+= count;
}

static void add_packet(struct bytes *to, unsigned number, const struct bytes *content)
{
  bytes_add_int(to, content->length, 3);
  bytes_add_int(to, number, 1);
  bytes_add(to, content->data, content->length);
}

/* What the request for TLS consists of, and what a login begins with. */
static void add_head(struct bytes *to, uint32_t flags)
{
  bytes_add_int(to, FLAGS | flags, 4);
  bytes_add_int(to, 0xffffff, 4);       /* the largest packet */
  bytes_add_int(to, 8, 1);              /* latin1 */
  add_many(to, 0, RESERVED);
}

static void add_user(const struct speech *s, struct bytes *to)
{
  if (s->long_user)
    add_many(to, 'u', s->long_user);
  else
    bytes_add_text(to, s->user ? s->user : "root");
  bytes_add_int(to, 0, 1);
  bytes_add_int(to, s->password, 1);
  add_many(to, 'x', s->password);
  bytes_add_text(to, s->plugin ? s->plugin : "mysql_native_password");
  bytes_add_int(to, 0, 1);
}

static void add_login(const struct speech *s, struct bytes *to)
{
  struct bytes content= {0};
  add_head(&content, s->flags);
  if (s->content.data)
    bytes_add(&content, s->content.data, s->content.size);
  else
    add_user(s, &content);
  if (s->length)
    add_many(&content, 'x', s->length - content.length);
  add_packet(to, (unsigned) (1 + s->later), &content);
  bytes_free(&content);
}

static void add_tls_request(struct bytes *to)
{
  struct bytes content= {0};
  add_head(&content, TLS_FLAG);
  add_packet(to, 1, &content);
  bytes_free(&content);
}

/* Before it is cut. */
static void add_whole(const struct speech *s, struct bytes *to)
{
  bytes_add(to, s->before.data, s->before.size);
  add_many(to, 'x', s->filler);
  if (s->saying == A_LOGIN)
    add_login(s, to);
  else if (s->saying == A_TLS_REQUEST)
    add_tls_request(to);
  bytes_add(to, s->after.data, s->after.size);
}

static size_t cut_at(const struct speech *s, size_t whole)
{
  if (s->cut == NOTHING)
    return 0;
  return s->cut > 0 ? (size_t) s->cut : whole - (size_t) -s->cut;
}

void speech_first(const struct speech *s, struct bytes *to)
{
  struct bytes whole= {0};
  add_whole(s, &whole);
  bytes_add(to, whole.data, cut_at(s, whole.length));
  bytes_free(&whole);
}

void speech_rest(const struct speech *s, struct bytes *to)
{
  struct bytes whole= {0};
  add_whole(s, &whole);
  bytes_drop(&whole, cut_at(s, whole.length));
  bytes_add(to, whole.data, whole.length);
  bytes_free(&whole);
  speech_answer(s, to);
}

void speech_answer(const struct speech *s, struct bytes *to)
{
  struct bytes content= {0};
  bytes_add(to, s->odd_answer.data, s->odd_answer.size);
  if (!s->answer_number)
    return;
  add_many(&content, 'x', s->answer);
  add_packet(to, s->answer_number, &content);
  bytes_free(&content);
}
