/* Frames, what they are made of, and the greeting before the first one. */
#include "board.h"
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int64_t now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int random_bytes(void *out, size_t size) {
  int fd = open("/dev/urandom", O_RDONLY);
  ssize_t got = fd < 0 ? -1 : read(fd, out, size);
  if (fd >= 0) close(fd);
  return got == (ssize_t)size ? 0 : -1;
}

int wire_open(struct wire *w, int fd, uint32_t limit) {
  int on = 1;
  struct timeval stalled = {STALLED, 0};
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &stalled, sizeof stalled);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &stalled, sizeof stalled);
  w->fd = fd;
  w->limit = limit;
  w->size = w->number = 0;
  w->in = malloc(limit);
  w->out = malloc(limit);
  return w->in && w->out ? 0 : -1;
}

enum { AFTER = 5 }; /* bytes of a frame's head that its length counts: kind and number */

static int read_all(int fd, void *data, size_t size) {
  for (uint8_t *p = data; size > 0;) {
    ssize_t got = recv(fd, p, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return -1;
    p += got;
    size -= (size_t)got;
  }
  return 0;
}

static int write_all(int fd, const void *data, size_t size) {
  for (const uint8_t *p = data; size > 0;) {
    ssize_t sent = send(fd, p, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return -1;
    p += sent;
    size -= (size_t)sent;
  }
  return 0;
}

/* ---------------------------------------------------------------- frames */

int wire_receive(struct wire *w, int *kind, struct body *b, int wait_ms) {
  struct pollfd ready = {w->fd, POLLIN, 0};
  int found;
  while ((found = poll(&ready, 1, wait_ms)) < 0 && errno == EINTR) {}
  uint8_t head[4];
  if (found <= 0 || read_all(w->fd, head, sizeof head)) return GONE;
  struct body size_of = {head, head + 4, 0};
  uint32_t size = (uint32_t)take(&size_of, 4);
  if (size > w->limit) return TOO_LONG;
  if (size < AFTER) return MALFORMED;
  if (read_all(w->fd, w->in, size)) return GONE;
  *kind = w->in[0];
  *b = (struct body){w->in + 1, w->in + size, 0};
  w->number = (uint32_t)take(b, 4);
  w->size = 0;
  return 0;
}

int wire_send(struct wire *w, int kind) {
  uint32_t size = (uint32_t)w->size + AFTER;
  uint8_t head[4 + AFTER];
  for (int i = 0; i < 4; ++i) head[i] = (uint8_t)(size >> 8 * i);
  head[4] = (uint8_t)kind;
  for (int i = 0; i < 4; ++i) head[5 + i] = (uint8_t)(w->number >> 8 * i);
  int broken = write_all(w->fd, head, sizeof head) || write_all(w->fd, w->out, w->size);
  w->size = 0;
  return broken;
}

int wire_say(struct wire *w, int kind, const char *rule, const char *message) {
  w->size = 0;
  put_text(w, rule);
  put_text(w, message);
  return wire_send(w, kind);
}

void put(struct wire *w, uint64_t value, int bytes) {
  if (w->size + (size_t)bytes > w->limit - AFTER) return; /* answers of our own are short */
  for (int i = 0; i < bytes; ++i) w->out[w->size++] = (uint8_t)(value >> 8 * i);
}

void put_text(struct wire *w, const char *text) {
  size_t size = strlen(text);
  if (w->size + size + 2 > w->limit - AFTER) return;
  put(w, size, 2);
  memcpy(w->out + w->size, text, size);
  w->size += size;
}

uint64_t take(struct body *b, int bytes) {
  uint64_t value = 0;
  if (b->end - b->at < bytes) {
    b->bad = 1;
    b->at = b->end;
    return 0;
  }
  for (int i = 0; i < bytes; ++i) value |= (uint64_t)*b->at++ << 8 * i;
  return value;
}

/* Is that UTF-8, without a zero? (Of sequences that are too long for what they say, or of surrogates, nothing here
 * depends.) */
static int is_text(const uint8_t *p, size_t size) {
  for (size_t i = 0; i < size;) {
    int more = p[i] < 0x80 ? 0 : p[i] >= 0xf0 && p[i] < 0xf8 ? 3 : p[i] >= 0xe0 ? 2 : p[i] >= 0xc2 ? 1 : -1;
    if (p[i] >= 0xf8 || more < 0 || i + (size_t)more >= size) return 0;
    for (++i; more > 0; --more, ++i)
      if ((p[i] & 0xc0) != 0x80) return 0;
  }
  return 1;
}

/* Text that does not fit, or has a zero in it, becomes "", which names nothing. */
void take_text(struct body *b, char *out, size_t room) {
  size_t size = take(b, 2);
  out[0] = 0;
  if ((size_t)(b->end - b->at) < size || !is_text(b->at, size)) {
    b->bad = 1;
    b->at = b->end;
    return;
  }
  if (size < room && !memchr(b->at, 0, size)) {
    memcpy(out, b->at, size);
    out[size] = 0;
  }
  b->at += size;
}

/* ---------------------------------------------------------------- the greeting */

struct greeting {
  uint8_t bytes[8 + NONCE]; /* "TVMLAB", the version, and a number that was never used before */
};

static int greeting_send(int fd, struct greeting *mine) {
  memcpy(mine->bytes, "TVMLAB", 6);
  mine->bytes[6] = VERSION;
  mine->bytes[7] = 0;
  return random_bytes(mine->bytes + 8, NONCE) || write_all(fd, mine->bytes, sizeof mine->bytes);
}

static int greeting_receive(int fd, struct greeting *theirs) {
  static const uint8_t first[8] = {'T', 'V', 'M', 'L', 'A', 'B', VERSION, 0};
  if (read_all(fd, theirs->bytes, sizeof theirs->bytes)) return GONE;
  return memcmp(theirs->bytes, first, sizeof first) ? MALFORMED : 0;
}

static void prove(const char *secret, const char *side, const struct greeting *client, const struct greeting *server,
                  uint8_t out[PROOF]) {
  uint8_t text[6 + 2 * NONCE];
  memcpy(text, side, 6);
  memcpy(text + 6, client->bytes + 8, NONCE);
  memcpy(text + 6 + NONCE, server->bytes + 8, NONCE);
  hmac_sha256(secret, text, sizeof text, out);
}

static int differ(const uint8_t *a, const uint8_t *b) { /* in the same time, whatever they are */
  volatile uint8_t found = 0;
  for (int i = 0; i < PROOF; ++i) found |= a[i] ^ b[i];
  return found != 0;
}

int wire_welcome(struct wire *w, const char *secret) {
  struct greeting mine, theirs;
  uint8_t proof[PROOF], answer[1 + PROOF] = {0};
  if (greeting_send(w->fd, &mine) || greeting_receive(w->fd, &theirs)) return -1;
  if (read_all(w->fd, answer + 1, PROOF)) return -1;
  prove(secret, "client", &theirs, &mine, proof);
  if (differ(proof, answer + 1)) {
    write_all(w->fd, answer, 1);
    return -1;
  }
  answer[0] = 1;
  prove(secret, "server", &theirs, &mine, answer + 1);
  return write_all(w->fd, answer, sizeof answer);
}

int wire_greet(struct wire *w, const char *secret) {
  struct greeting mine, theirs;
  uint8_t proof[PROOF], answer[1 + PROOF];
  int wrong = greeting_send(w->fd, &mine) ? GONE : greeting_receive(w->fd, &theirs);
  if (wrong) return wrong;
  prove(secret, "client", &mine, &theirs, proof);
  if (write_all(w->fd, proof, PROOF) || read_all(w->fd, answer, 1)) return GONE;
  if (answer[0] != 1) return REFUSED;
  prove(secret, "server", &mine, &theirs, proof);
  if (read_all(w->fd, answer + 1, PROOF)) return GONE;
  return differ(proof, answer + 1) ? REFUSED : 0;
}
