/* The server: it accepts connections and gives each to a process of its own, which may crash or hang. */
#include "board.h"
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#ifndef POLLRDHUP
#define POLLRDHUP 0
#endif

enum { MOST = 32, WAITING = 32, PLACES = 128 }; /* sessions; connections that are none yet; of both, and ending */
struct visit { /* a connection and the process that has it */
  pid_t pid;
  int fd;
  struct shared *shared;
  int64_t began;
  const char *rule, *why; /* it was ended */
  char folder[TEXT];
  int lock; /* of the folder: gone with the last process that has it */
};
static struct visit visits[PLACES];
static volatile int *sessions; /* how many there are, as the process of each connection sees it */
static int count, listener = -1, wake[2];
static volatile sig_atomic_t over;
static struct settings settings = {"", "", "", "", "", 4u << 20, 0, 9090};

static void on_signal(int number) {
  if (number != SIGCHLD) over = 1;
  if (write(wake[1], "!", 1) < 0) return; /* full: it will wake up anyway */
}

/* ---------------------------------------------------------------- the process of a session */

static void visit_open(struct session *s) {
  char key[TEXT], ticket[TEXT], machine[TEXT];
  struct body b;
  int kind, wrong = wire_receive(&s->wire, &kind, &b, GREETING_LIMIT * 1000);
  if (wrong == GONE) return;
  uint64_t span = wrong ? 0 : take(&b, 4);
  if (!wrong) take_text(&b, key, sizeof key);
  if (!wrong) take_text(&b, ticket, sizeof ticket);
  if (!wrong && (kind == PUT || kind == REQUEST || kind == SUMMARY)) {
    wire_say(&s->wire, ENDED, "role", "this is a server, not a tracker");
  } else if (wrong || kind != OPEN || b.bad) {
    wire_say(&s->wire, ENDED, wrong == TOO_LONG ? "too-long" : "malformed", "the first question is OPEN");
  } else if (key[0] && strcmp(key, settings.key)) {
    wire_say(&s->wire, ENDED, "key", "this server is of another key");
  } else if (settings.tracker_host[0] && (!offer_ticket()[0] || strcmp(ticket, offer_ticket()))) {
    wire_say(&s->wire, ENDED, "ticket", "this server is given out by its tracker, to one at a time");
  } else if (*sessions >= MOST) {
    wire_say(&s->wire, ENDED, "busy", "this server has 32 sessions, and takes no more at once");
  } else {
    s->shared->deadline = span ? now_ms() + (int64_t)span : 0;
    s->shared->open = 1;
    on_signal(SIGCHLD); /* the server has a deadline to keep now */
    machine_text(machine, sizeof machine);
    put(&s->wire, settings.limit, 4);
    put_text(&s->wire, settings.key);
    put_text(&s->wire, architecture());
    put_text(&s->wire, machine);
    if (!wire_send(&s->wire, OK)) session_run(s);
    s->shared->left = 1;
  }
  shutdown(s->wire.fd, SHUT_WR);
}

static void child(struct visit *v, pid_t parent) {
  struct session s = {{-1, 0, NULL, NULL, 0, 0}, &settings, v->shared, v->folder, getpid(), "", ""};
  struct rlimit none = {0, 0};
#ifdef __linux__
  prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
  if (getppid() != parent) _exit(1);
  setsid(); /* what it starts is ended with it */
  setrlimit(RLIMIT_CORE, &none);
  signal(SIGTERM, SIG_DFL);
  signal(SIGINT, SIG_DFL);
  signal(SIGCHLD, SIG_DFL);
  close(listener);
  for (int i = 0; i < count; ++i) {
    close(visits[i].fd);
    close(visits[i].lock);
  }
  offer_close();
  if (!wire_open(&s.wire, v->fd, settings.limit) && !wire_welcome(&s.wire, settings.secret)) visit_open(&s);
  _exit(0);
}

/* ---------------------------------------------------------------- connections */

static void visit_end(struct visit *v, const char *rule, const char *why) {
  if (!v->rule) v->rule = rule, v->why = why;
  kill(-v->pid, SIGKILL); /* it and what it has started */
  kill(v->pid, SIGKILL);
}

/* Connections that are no sessions cannot keep others out: the oldest makes room. */
static void make_room(void) {
  struct visit *oldest = NULL;
  int waiting = 0;
  for (struct visit *v = visits; v < visits + count; ++v) {
    if (v->shared->open || v->rule) continue;
    ++waiting;
    if (!oldest || v->began < oldest->began) oldest = v;
  }
  if (waiting >= WAITING) visit_end(oldest, "busy", "");
}

static void visit_new(void) {
  struct visit v = {0};
  v.fd = accept(listener, NULL, NULL);
  if (v.fd < 0) return;
  make_room();
  v.began = now_ms();
  v.shared = mmap(NULL, sizeof *v.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  int made = v.shared != MAP_FAILED && !files_new(v.folder, sizeof v.folder, &v.lock);
  pid_t parent = getpid();
  v.pid = made ? fork() : -1;
  if (v.pid == 0) child(&v, parent);
  if (v.pid > 0) {
    visits[count++] = v;
    return;
  }
  perror("a connection");
  if (v.shared != MAP_FAILED) munmap(v.shared, sizeof *v.shared);
  if (made) files_clear(v.folder, v.lock);
  close(v.fd);
}

static const char *cause(int status, char *out, size_t room) {
  int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  const char *name = number == SIGSEGV   ? "SIGSEGV: it touched memory that is not its own"
                     : number == SIGBUS  ? "SIGBUS: it touched memory that is not there"
                     : number == SIGABRT ? "SIGABRT: it gave up by itself (abort)"
                     : number == SIGILL  ? "SIGILL: it ran an instruction that this processor does not have"
                     : number == SIGFPE  ? "SIGFPE: an integer division failed"
                     : number == SIGKILL ? "SIGKILL: the system ended it, most often for lack of memory"
                                         : NULL;
  if (name) snprintf(out, room, "the session's process ended (%s)", name);
  else if (number) snprintf(out, room, "the session's process ended (signal %d)", number);
  else snprintf(out, room, "the session's process ended (code %d)", WEXITSTATUS(status));
  return out;
}

/* Tell the client how it ended, where that is not known there, and clear away. */
static void visit_farewell(struct visit *v, int status) {
  char text[TEXT];
  struct wire w;
  struct timeval limit = {1, 0};
  if (v->shared->open) offer_came();
  if (!v->rule && status) v->rule = "crash", v->why = cause(status, text, sizeof text);
  if (!v->rule && !v->shared->left)
    v->rule = "crash", v->why = "the program ended the session's process by itself (exit with code 0)";
  if (v->shared->open && v->rule && !v->shared->sending && !wire_open(&w, v->fd, 4096)) {
    setsockopt(v->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    wire_say(&w, ENDED, v->rule, v->why);
    free(w.in);
    free(w.out);
  }
  close(v->fd);
  munmap(v->shared, sizeof *v->shared);
  files_clear(v->folder, v->lock);
}

static void reap(int how) { /* WNOHANG, or 0: wait for all */
  for (int i = 0; i < count;) {
    int status;
    if (waitpid(visits[i].pid, &status, how) <= 0) {
      ++i;
      continue;
    }
    struct visit gone = visits[i];
    visits[i] = visits[--count];
    kill(-gone.pid, SIGKILL); /* what it has started and left behind */
    visit_farewell(&gone, status);
  }
}

static int64_t deadline(const struct visit *v) {
  if (!v->shared->open) return v->began + GREETING_LIMIT * 1000;
  return v->shared->deadline ? v->shared->deadline : INT64_MAX;
}

static int patience(void) {
  int64_t due = settings.tracker_host[0] ? offer_due() : INT64_MAX, left;
  for (int i = 0; i < count; ++i) due = deadline(visits + i) < due ? deadline(visits + i) : due;
  if (due == INT64_MAX) return -1;
  left = due - now_ms();
  return left < 0 ? 0 : left > 1000000 ? 1000000 : (int)left + 1;
}

static void turn(void) {
  struct pollfd fds[PLACES + 3];
  char told[64];
  int n = count; /* the visits come first, then these */
  for (int i = 0; i < n; ++i) fds[i] = (struct pollfd){visits[i].fd, POLLRDHUP, 0};
  fds[n] = (struct pollfd){wake[0], POLLIN, 0};
  fds[n + 1] = (struct pollfd){count < PLACES ? listener : -1, POLLIN, 0};
  fds[n + 2] = (struct pollfd){offer_fd(), POLLIN, 0};
  if (poll(fds, (nfds_t)n + 3, patience()) > 0) {
    for (int i = 0; i < n; ++i)
      if (fds[i].revents) visit_end(visits + i, "lost", "the client is gone");
    if (fds[n].revents)
      while (read(wake[0], told, sizeof told) > 0) {}
    if (fds[n + 1].revents) visit_new();
    if (fds[n + 2].revents) offer_hear();
  }
  int open = 0;
  for (int i = 0; i < count; ++i)
    if (now_ms() > deadline(visits + i))
      visit_end(visits + i, "timeout", "the session took longer than its session_timeout, and was ended");
  reap(WNOHANG);
  for (int i = 0; i < count; ++i) open += visits[i].shared->open;
  *sessions = open;
  if (settings.tracker_host[0]) offer_keep(&settings, open);
}

/* ---------------------------------------------------------------- the start */

static const char *unheard = ""; /* why the last one could not be listened on */

static int listen_on(const char *host, int port) {
  char text[16];
  struct addrinfo hints = {0}, *found = NULL;
  int on = 1, fd = -1;
  snprintf(text, sizeof text, "%d", port);
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  int unknown = getaddrinfo(host, text, &hints, &found);
  if (unknown) {
    unheard = gai_strerror(unknown);
    return -1;
  }
  fd = socket(found->ai_family, found->ai_socktype, found->ai_protocol);
  if (fd >= 0) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (fd >= 0 && (bind(fd, found->ai_addr, found->ai_addrlen) || listen(fd, 64))) {
    unheard = strerror(errno);
    close(fd);
    fd = -1;
  }
  freeaddrinfo(found);
  return fd;
}

static int port_of(int fd) {
  struct sockaddr_storage a;
  socklen_t size = sizeof a;
  uint8_t *raw = (uint8_t *)&a; /* the port lies at the same place in both families */
  return getsockname(fd, (struct sockaddr *)&a, &size) ? 0 : raw[2] << 8 | raw[3];
}

static int usage(void) {
  fputs("usage: rpc_server [--host A] [--port N] [--port-end N] [--key K] [--tracker HOST:PORT] [--custom-addr A]\n"
        "                  [--memory BYTES] [--limit BYTES] [--anyone]\n"
        "The secret is read from the environment's TVMLAB_RPC_SECRET; without one the server listens on 127.0.0.1,\n"
        "or, with --anyone, lets everybody run code here.\n", stderr);
  return 2;
}

/* The number that an option says; none of those ends the program. */
static uint64_t number(const char *name, const char *value, uint64_t least, uint64_t most) {
  char *end;
  errno = 0;
  uint64_t found = strtoull(value, &end, 10);
  if (value[0] >= '0' && value[0] <= '9' && !*end && !errno && found >= least && found <= most) return found;
  fprintf(stderr, "rpc_server: %s is a number from %llu to %llu, not %s\n", name, (unsigned long long)least,
          (unsigned long long)most, value);
  exit(2);
}

static int options(int argc, char **argv, const char **host, int *port_end, int *anyone) {
  for (int i = 1; i < argc; ++i) {
    const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (!strcmp(name, "--anyone")) {
      *anyone = 1;
      continue;
    }
    if (!value) return -1;
    ++i;
    if (!strcmp(name, "--host")) *host = value;
    else if (!strcmp(name, "--port")) settings.port = (int)number(name, value, 0, 65535);
    else if (!strcmp(name, "--port-end")) *port_end = (int)number(name, value, 0, 65536);
    else if (!strcmp(name, "--key")) settings.key = value;
    else if (!strcmp(name, "--custom-addr")) settings.address = value;
    else if (!strcmp(name, "--memory")) settings.memory = number(name, value, 0, INT64_MAX);
    else if (!strcmp(name, "--limit")) settings.limit = (uint32_t)number(name, value, 4096, 1u << 30);
    else if (!strcmp(name, "--tracker") && strrchr(argv[i], ':')) {
      char *colon = strrchr(argv[i], ':');
      *colon = 0;
      settings.tracker_host = argv[i];
      settings.tracker_port = colon + 1;
    } else return -1;
  }
  return strlen(settings.key) > NAME || strlen(settings.address) > NAME;
}

int main(int argc, char **argv) {
  const char *host = "0.0.0.0", *secret = getenv("TVMLAB_RPC_SECRET");
  int port_end = 9199, anyone = 0;
  if (options(argc, argv, &host, &port_end, &anyone)) return usage();
  settings.secret = secret ? secret : "";
  if (!settings.secret[0] && !anyone) host = "127.0.0.1";
  if (settings.tracker_host[0] && !settings.key[0]) return usage();
  if (!settings.memory) settings.memory = (uint64_t)sysconf(_SC_PHYS_PAGES) / 4 * 3 * (uint64_t)sysconf(_SC_PAGESIZE);
  int first = settings.port, last = first && port_end > first ? port_end : first + 1;
  for (int p = first; p < last && listener < 0; ++p) listener = listen_on(host, p);
  if (listener < 0) {
    fprintf(stderr, "cannot listen on %s, port %d", host, first);
    if (last > first + 1) fprintf(stderr, " to %d", last - 1);
    fprintf(stderr, ": %s\n", unheard);
    return 1;
  }
  sessions = mmap(NULL, sizeof *sessions, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (sessions == MAP_FAILED || pipe(wake)) {
    perror("cannot start");
    return 1;
  }
  settings.port = port_of(listener);
  fcntl(listener, F_SETFL, O_NONBLOCK);
  fcntl(wake[0], F_SETFL, O_NONBLOCK);
  fcntl(wake[1], F_SETFL, O_NONBLOCK);
  struct sigaction act = {0};
  act.sa_handler = on_signal;
  sigaction(SIGTERM, &act, NULL);
  sigaction(SIGINT, &act, NULL);
  sigaction(SIGCHLD, &act, NULL);
  signal(SIGPIPE, SIG_IGN);
  files_clear_left();
  printf("listening on %s:%d\n", host, settings.port);
  fflush(stdout);
  while (!over) turn();
  for (int i = 0; i < count; ++i) visit_end(visits + i, "closed", "the server was stopped");
  reap(0);
  return 0;
}
