/* A server for boards: C99 and POSIX, no library beside the system's. ../protocol.py says what goes over the wire.
 *
 *   cc -std=c99 -O2 -o rpc_server *.c -ldl -lpthread
 *
 * main.c   connections, and the process that each gets        session.c  what a session can ask
 * offer.c  how it is lent by a tracker                         files.c    its files
 * wire.c   frames and the greeting                             library.c  its programs
 * sha256.c proofs of the secret */
#ifndef TVMLAB_BOARD_H
#define TVMLAB_BOARD_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* POLLRDHUP, MAP_ANONYMOUS */
#endif
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { VERSION = 2, NONCE = 32, PROOF = 32, NAME = 128, TEXT = 512 };
enum { GREETING_LIMIT = 10, STALLED = 30 }; /* seconds */
enum {
  OK = 0, ERROR = 1, ENDED = 2,
  OPEN = 16, PUT_FILE = 17, GET_FILE = 18, REMOVE = 19, LIST = 20, LOAD = 21, HAS = 22, ALLOC = 23, FREE = 24,
  WRITE = 25, READ = 26, CALL = 27, FLUSH = 28, THREADS = 29, FUNCTION = 30, CLOSE = 31,
  PUT = 64, REQUEST = 65, SUMMARY = 66, TAKEN = 67
};

/* ---- sha256.c */
void hmac_sha256(const char *secret, const void *data, size_t size, uint8_t out[PROOF]);

/* ---- wire.c */
struct wire {
  int fd;
  uint32_t limit;    /* bytes of a frame */
  uint8_t *in, *out; /* that many of each */
  size_t size;       /* of what is in `out` */
  uint32_t number;   /* of the last frame that came; what is sent carries it too */
};
struct body { /* what is left of a frame; `bad`: something was not there */
  const uint8_t *at, *end;
  int bad;
};
int wire_open(struct wire *w, int fd, uint32_t limit);
int wire_welcome(struct wire *w, const char *secret); /* as the server; 0 where all is well, in all of these */
int wire_greet(struct wire *w, const char *secret);   /* as the client; else what is wrong */
int wire_receive(struct wire *w, int *kind, struct body *b, int wait_ms); /* -1: gone; else the rule that was broken */
int wire_send(struct wire *w, int kind);              /* what was put together in `out` */
int wire_say(struct wire *w, int kind, const char *rule, const char *message);
void put(struct wire *w, uint64_t value, int bytes);
void put_text(struct wire *w, const char *text);
uint64_t take(struct body *b, int bytes);
void take_text(struct body *b, char *out, size_t room);
int64_t now_ms(void);
enum { GONE = -1, TOO_LONG = 1, MALFORMED = 2, REFUSED = 3 }; /* REFUSED: another secret */

/* ---- what everything knows */
struct settings {
  const char *secret, *key, *address, *tracker_host, *tracker_port;
  uint32_t limit;
  uint64_t memory; /* bytes of a session's arrays, and of its files */
  int port;
};
struct shared { /* between a session's process and the server's */
  volatile int open, sending, left; /* left: in order, not by a program that ended the process */
  volatile int64_t deadline; /* 0: none */
};

/* ---- session.c, files.c, library.c */
struct session {
  struct wire wire;
  const struct settings *settings;
  struct shared *shared;
  const char *folder;
  pid_t pid;
  char rule[32], message[TEXT]; /* of a question that failed: rule[0] is not 0 */
};
void session_run(struct session *s);
void fail(struct session *s, const char *rule, const char *format, ...);
void *array_at(struct session *s, uint64_t number); /* fails where there is none */
const char *architecture(void);

void files_put(struct session *s, struct body *b);
void files_get(struct session *s, struct body *b);
void files_remove(struct session *s, struct body *b);
void files_list(struct session *s);
int files_path(struct session *s, const char *name, char *path, size_t room); /* 0 where there is such a file */
int files_new(char *folder, size_t room, int *lock); /* a folder, locked while somebody has it; 0 where it is there */
void files_clear(const char *folder, int lock);
void files_clear_left(void); /* folders that nobody has: of sessions whose server was killed */

void library_load(struct session *s, struct body *b);
void library_has(struct session *s, struct body *b);
void library_call(struct session *s, struct body *b);
void library_threads(struct session *s, struct body *b);

/* ---- offer.c */
int offer_fd(void);
int64_t offer_due(void);
const char *offer_ticket(void);
void offer_hear(void);
void offer_came(void); /* who it was given to has been here, if only for a moment */
void offer_keep(const struct settings *settings, int open); /* open: a session is */
void offer_close(void);
void machine_text(char *out, size_t room);
int random_bytes(void *out, size_t size);
#endif
