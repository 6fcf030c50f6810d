/* What the process of one session does: it answers questions until the client is gone. */
#include "board.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ARRAYS = 65536, LINE = 64 }; /* arrays at once; bytes to which each is aligned */
static struct { void *data; uint64_t size; } arrays[ARRAYS]; /* number n lies in arrays[n - 1] */
static uint64_t used;

void fail(struct session *s, const char *rule, const char *format, ...) {
  va_list more;
  va_start(more, format);
  snprintf(s->rule, sizeof s->rule, "%s", rule);
  vsnprintf(s->message, sizeof s->message, format, more);
  va_end(more);
}

/* ---------------------------------------------------------------- arrays */

static void array_new(struct session *s, struct body *b) {
  uint64_t size = take(b, 8), n = 0;
  while (n < ARRAYS && arrays[n].data) ++n;
  void *data = NULL;
  if (b->bad) return;
  if (n == ARRAYS || size > s->settings->memory - used || posix_memalign(&data, LINE, size ? (size_t)size : 1)) {
    fail(s, "memory", "there is not that much memory for this session");
    return;
  }
  arrays[n].data = data;
  arrays[n].size = size;
  used += size;
  put(&s->wire, n + 1, 8);
}

static void array_free(struct body *b) {
  while (b->at != b->end && !b->bad) {
    uint64_t n = take(b, 8) - 1;
    if (b->bad || n >= ARRAYS || !arrays[n].data) continue;
    free(arrays[n].data);
    used -= arrays[n].size;
    arrays[n].data = NULL;
  }
}

void *array_at(struct session *s, uint64_t number) {
  if (number - 1 < ARRAYS && arrays[number - 1].data) return arrays[number - 1].data;
  fail(s, "no-array", "there is no array %llu in this session", (unsigned long long)number);
  return NULL;
}

/* The place of so many bytes in an array. */
static void *part(struct session *s, uint64_t number, uint64_t offset, uint64_t size) {
  char *data = array_at(s, number);
  if (!data) return NULL;
  uint64_t whole = arrays[number - 1].size;
  if (offset <= whole && size <= whole - offset) return data + offset;
  fail(s, "array-range", "%llu bytes from byte %llu of an array of %llu", (unsigned long long)size,
       (unsigned long long)offset, (unsigned long long)whole);
  return NULL;
}

static void array_write(struct session *s, struct body *b) {
  uint64_t number = take(b, 8), offset = take(b, 8), size = (uint64_t)(b->end - b->at);
  void *there = b->bad ? NULL : part(s, number, offset, size);
  if (there) memcpy(there, b->at, (size_t)size);
}

static void array_read(struct session *s, struct body *b) {
  uint64_t number = take(b, 8), offset = take(b, 8), size = take(b, 4);
  if (b->bad) return;
  if (size > s->wire.limit - 64) {
    fail(s, "array-range", "%llu bytes do not fit into a frame", (unsigned long long)size);
    return;
  }
  void *there = part(s, number, offset, size);
  if (!there) return;
  memcpy(s->wire.out, there, (size_t)size);
  s->wire.size = (size_t)size;
}

static void flush(struct session *s, struct body *b) {
  uint64_t size = take(b, 8);
  volatile uint8_t *data = b->bad || size > s->settings->memory ? NULL : malloc((size_t)size + 1);
  if (b->bad) return;
  if (!data) fail(s, "memory", "there is not that much memory for this session");
  for (uint64_t i = 0; data && i < size; i += LINE) data[i] = 1;
  free((void *)data);
}

/* ---------------------------------------------------------------- questions */

/* 0 where the kind is known. A frame that does not hold what it should is `bad` afterwards. */
static int answer(struct session *s, int kind, struct body *b) {
  switch (kind) {
    case PUT_FILE: files_put(s, b); return 0;
    case GET_FILE: files_get(s, b); return 0;
    case REMOVE: files_remove(s, b); return 0;
    case LIST: files_list(s); return 0;
    case LOAD: library_load(s, b); return 0;
    case HAS: library_has(s, b); return 0;
    case ALLOC: array_new(s, b); return 0;
    case FREE: array_free(b); return 0;
    case WRITE: array_write(s, b); return 0;
    case READ: array_read(s, b); return 0;
    case CALL: library_call(s, b); return 0;
    case FLUSH: flush(s, b); return 0;
    case THREADS: library_threads(s, b); return 0;
    case FUNCTION: fail(s, "no-function", "a board's server has no functions of Python"); return 0;
    default: return -1;
  }
}

void session_run(struct session *s) {
  struct body b;
  int kind, wrong;
  while (!(wrong = wire_receive(&s->wire, &kind, &b, -1)) && kind != CLOSE) {
    s->rule[0] = 0;
    if (answer(s, kind, &b) || b.bad) {
      wrong = MALFORMED;
      break;
    }
    if (getpid() != s->pid) _exit(0); /* a program has made a copy of this process, and returned in that too */
    s->shared->sending = 1;
    int lost = s->rule[0] ? wire_say(&s->wire, ERROR, s->rule, s->message) : wire_send(&s->wire, OK);
    s->shared->sending = 0;
    if (lost) return;
  }
  if (wrong == TOO_LONG) wire_say(&s->wire, ENDED, "too-long", "the server refused a frame beyond its limit");
  if (wrong == MALFORMED) wire_say(&s->wire, ENDED, "malformed", "the server refused a frame that makes no sense");
}
