#include "bytes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint8_t *bytes_room(struct bytes *b, size_t size)
{
  if (b->room - b->length < size)
  {
    size_t room= 2 * b->room + size;
    uint8_t *data= realloc(b->data, room);
    if (!data)
    {
      fprintf(stderr, "wire: out of memory\n");
      exit(2);
    }
    b->data= data;
    b->room= room;
  }
  return b->data + b->length;
}

void bytes_add(struct bytes *b, const void *data, size_t size)
{
  uint8_t *to= bytes_room(b, size);
  if (size)
    memcpy(to, data, size);
  b->length+= size;
}

void bytes_add_int(struct bytes *b, uint64_t value, unsigned size)
{
  uint8_t *to= bytes_room(b, size);
  for (unsigned i= 0; i < size; i++)
    to[i]= (uint8_t) (value >> (8 * i));
  b->length+= size;
}

void bytes_add_text(struct bytes *b, const char *text)
{
  bytes_add(b, text, strlen(text));
}

void bytes_printf(struct bytes *b, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  int length= vsnprintf(NULL, 0, format, args);
  va_end(args);
  uint8_t *to= bytes_room(b, (size_t) length + 1);
  va_start(args, format);
  vsnprintf((char *) to, (size_t) length + 1, format, args);
  va_end(args);
  b->length+= (size_t) length;
}

void bytes_drop(struct bytes *b, size_t size)
{
  b->length-= size;
  memmove(b->data, b->data + size, b->length);
}

void bytes_clear(struct bytes *b) { b->length= 0; }

void bytes_free(struct bytes *b)
{
  free(b->data);
  *b= (struct bytes) {0};
}

const char *bytes_text(struct bytes *b)
{
  *bytes_room(b, 1)= 0;
  return (const char *) b->data;
}

uint64_t read_int(const uint8_t *data, unsigned size)
{
  uint64_t value= 0;
  for (unsigned i= 0; i < size; i++)
    value|= (uint64_t) data[i] << (8 * i);
  return value;
}
