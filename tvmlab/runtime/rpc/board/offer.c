/* How the server is lent by a tracker: it offers itself to one client at a time, and again when that one is done. */
#include "board.h"
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { AGAIN = 2000, AWAITED = 15000, TRACKER_LIMIT = 4096 }; /* milliseconds; bytes of a frame */
static struct wire tracker = {-1, 0, NULL, NULL, 0, 0};
static const char *host = "", *port = ""; /* the tracker's */
static char ticket[2 * 16 + 1];
static int came, busy;              /* who it was given to has come; a session is open */
static int64_t again, awaited = INT64_MAX; /* when the tracker is tried again; until when the client has to come */

int offer_fd(void) { return tracker.fd; }
int64_t offer_due(void) { return busy ? INT64_MAX : tracker.fd < 0 ? again : awaited; }
const char *offer_ticket(void) { return ticket; }

void offer_close(void) {
  if (tracker.fd >= 0) close(tracker.fd);
  free(tracker.in);
  free(tracker.out);
  tracker = (struct wire){-1, 0, NULL, NULL, 0, 0};
}

/* Why the tracker could not be used, "" where it can: once, and again when it is another reason. */
static void tell(const char *why) {
  static const char *said = "";
  if (!strcmp(why, said)) return;
  said = why;
  if (why[0]) fprintf(stderr, "tvmlab rpc: clients get it from nobody: the tracker %s:%s %s\n", host, port, why);
  else fprintf(stderr, "tvmlab rpc: the tracker %s:%s gives it out now\n", host, port);
}

static void drop(const char *why) {
  offer_close();
  again = now_ms() + AGAIN;
  tell(why);
}

void offer_hear(void) {
  struct body b;
  int kind;
  if (wire_receive(&tracker, &kind, &b, 1000)) {
    drop("is gone");
  } else if (kind != TAKEN && kind != OK) {
    drop("refused the offer: it is no tracker, or of another version");
  } else {
    tell("");
    if (kind == TAKEN) awaited = now_ms() + AWAITED; /* the client may have come before this is heard */
  }
}

/* NULL, or why it could not be reached. */
static const char *reach(const struct settings *settings) {
  struct addrinfo hints = {0}, *found = NULL;
  struct timeval limit = {5, 0};
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(settings->tracker_host, settings->tracker_port, &hints, &found))
    return "has an address that is not known here";
  int fd = -1;
  for (struct addrinfo *a = found; a && fd < 0; a = a->ai_next) {
    fd = socket(a->ai_family, a->ai_socktype, a->ai_protocol);
    if (fd < 0) continue;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit); /* of connect, too */
    if (!connect(fd, a->ai_addr, a->ai_addrlen)) break;
    close(fd);
    fd = -1;
  }
  freeaddrinfo(found);
  if (fd < 0 || wire_open(&tracker, fd, TRACKER_LIMIT)) return "does not answer";
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  switch (wire_greet(&tracker, settings->secret)) {
    case 0: return NULL;
    case GONE: return "closed the connection, or is no tracker of ours";
    case MALFORMED: return "speaks another protocol, or another version of it";
    default: return "has another secret";
  }
}

static void offer(const struct settings *settings) {
  uint8_t raw[16];
  char machine[TEXT];
  came = 0;
  awaited = INT64_MAX;
  host = settings->tracker_host;
  port = settings->tracker_port;
  const char *why = random_bytes(raw, sizeof raw) ? "needs /dev/urandom here" : tracker.fd < 0 ? reach(settings) : NULL;
  if (why) {
    drop(why);
    return;
  }
  for (int i = 0; i < 16; ++i) snprintf(ticket + 2 * i, 3, "%02x", raw[i]);
  machine_text(machine, sizeof machine);
  put_text(&tracker, settings->key);
  put(&tracker, (uint64_t)settings->port, 2);
  put_text(&tracker, settings->address);
  put_text(&tracker, ticket);
  put_text(&tracker, machine);
  if (wire_send(&tracker, PUT)) drop("is gone");
}

void offer_came(void) { came = 1; }

void offer_keep(const struct settings *settings, int open) {
  busy = open;
  if (busy) return;
  int free_again = awaited < INT64_MAX && (came || now_ms() >= awaited);
  if (tracker.fd < 0 ? now_ms() >= again : free_again) offer(settings);
}

void machine_text(char *out, size_t room) {
  struct utsname u;
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  if (uname(&u)) snprintf(out, room, "%s", architecture());
  else snprintf(out, room, "%s, %ld threads, %s %s", u.nodename, processors, u.sysname, architecture());
}
