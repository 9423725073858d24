/* A buffer that grows, and the integers of the protocol. */
#ifndef TPWIRE_BYTES_H
#define TPWIRE_BYTES_H

#include <stddef.h>
#include <stdint.h>

struct bytes
{
  uint8_t *data;
  size_t length, room;
};

/* Makes room for that much behind the content, and returns where it is. */
uint8_t *bytes_room(struct bytes *b, size_t size);
void bytes_add(struct bytes *b, const void *data, size_t size);
void bytes_add_int(struct bytes *b, uint64_t value, unsigned size);
void bytes_add_text(struct bytes *b, const char *text);
void bytes_printf(struct bytes *b, const char *format, ...)
  __attribute__((format(printf, 2, 3)));
/* Removes from the beginning. */
void bytes_drop(struct bytes *b, size_t size);
void bytes_clear(struct bytes *b);
void bytes_free(struct bytes *b);
/* The content as a string; it stays the buffer's. */
const char *bytes_text(struct bytes *b);

uint64_t read_int(const uint8_t *data, unsigned size);

#endif
