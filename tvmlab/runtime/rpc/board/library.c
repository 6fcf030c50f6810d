/* The programs of a session: shared libraries that were uploaded, and calls of their C functions. */
#include "board.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Where a call puts whole numbers and addresses, and where numbers with a point: each in registers of its own, the
 * first eight (six) of them, then on the stack in slots of eight bytes. So one call with all slots filled serves every
 * prototype, in whatever order its arguments are. True of the 64-bit machines below, on systems with ELF files. */
#if defined(__x86_64__)
enum { MACHINE = 62 };
const char *architecture(void) { return "x86_64"; }
#elif defined(__aarch64__) && !defined(__APPLE__)
enum { MACHINE = 183 };
const char *architecture(void) { return "aarch64"; }
#elif defined(__riscv) && __riscv_xlen == 64 && defined(__riscv_float_abi_double)
enum { MACHINE = 243 };
const char *architecture(void) { return "riscv64"; }
#else
#error "it is not known how this machine's functions are called; tvmlab's server in Python uses Python's ctypes"
#endif

enum { WHOLE = 24, POINT = 8, MODULES = 4096, NO_MEMORY = -2, SHARED_LIBRARY = 3, RELOCATABLE = 1 };
#define EIGHT(t) t, t, t, t, t, t, t, t
typedef int32_t (*function)(EIGHT(int64_t), EIGHT(int64_t), EIGHT(int64_t), EIGHT(double));

static void *modules[MODULES];
static uint32_t loaded;

static const char *name_of(int machine) {
  static const struct { int number; const char *name; } known[] = {
      {3, "i686"}, {40, "arm"}, {62, "x86_64"}, {183, "aarch64"}, {243, "riscv64"}};
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i)
    if (known[i].number == machine) return known[i].name;
  return "another machine";
}

/* Why that file cannot be loaded; "" where nothing speaks against it. */
static void refusal(const char *path, char *out, size_t room) {
  uint8_t head[20] = {0};
  int fd = open(path, O_RDONLY);
  ssize_t got = fd < 0 ? 0 : read(fd, head, sizeof head);
  if (fd >= 0) close(fd);
  int kind = head[16] | head[17] << 8, machine = head[18] | head[19] << 8;
  out[0] = 0;
  if (got < (ssize_t)sizeof head || memcmp(head, "\177ELF", 4)) snprintf(out, room, "it is no shared library");
  else if (kind == RELOCATABLE) snprintf(out, room, "it is an object file, which has to be linked first");
  else if (kind != SHARED_LIBRARY) snprintf(out, room, "it is no shared library");
  else if (machine != MACHINE || head[4] != 2 || head[5] != 1)
    snprintf(out, room, "it is for %s, this machine is %s", name_of(machine), architecture());
}

void library_load(struct session *s, struct body *b) {
  char name[TEXT], path[2 * TEXT], own[2 * TEXT], why[TEXT];
  take_text(b, name, sizeof name);
  if (b->bad || files_path(s, name, path, sizeof path)) return;
  refusal(path, why, sizeof why);
  if (why[0] || loaded == MODULES) {
    fail(s, "not-loadable", "cannot load %s: %s", name, why[0] ? why : "this session has loaded too many");
    return;
  }
  snprintf(own, sizeof own, "%s/.%u-%s", s->folder, loaded, name); /* a new one of that name is another library */
  unlink(own);
  modules[loaded] = link(path, own) ? NULL : dlopen(own, RTLD_NOW | RTLD_LOCAL);
  if (modules[loaded]) {
    put(&s->wire, loaded++, 4);
    return;
  }
  const char *error = dlerror();
  fail(s, "not-loadable", "cannot load %s: %s", name, error ? error : "the file system has no links");
}

struct place {
  uint32_t module;
  char name[TEXT];
};

static void take_place(struct body *b, struct place *p) {
  p->module = (uint32_t)take(b, 4);
  take_text(b, p->name, sizeof p->name);
}

static void *symbol(struct session *s, const struct place *p) {
  if (p->module >= loaded) {
    fail(s, "no-module", "there is no module %u in this session", p->module);
    return NULL;
  }
  void *found = dlsym(modules[p->module], p->name);
  if (!found) fail(s, "no-symbol", "the library has no function `%s`", p->name);
  return found;
}

void library_has(struct session *s, struct body *b) {
  struct place p;
  take_place(b, &p);
  int there = symbol(s, &p) != NULL;
  if (!strcmp(s->rule, "no-symbol")) s->rule[0] = 0;
  put(&s->wire, (uint64_t)there, 1);
}

void library_threads(struct session *s, struct body *b) {
  struct place p;
  take_place(b, &p);
  int32_t value = (int32_t)take(b, 4), *variable = symbol(s, &p);
  if (variable && !b->bad) *variable = value;
}

/* ---------------------------------------------------------------- calls */

struct arguments {
  int64_t whole[WHOLE];
  double point[POINT];
};

static double as_double(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* A float as a register holds it: in the low half; RISC-V wants ones in the other. */
static double as_register(float value) {
  uint32_t low;
  memcpy(&low, &value, sizeof low);
  return as_double(0xffffffff00000000u | low);
}

static int gather(struct session *s, struct body *b, struct arguments *a) {
  int whole = 0, point = 0;
  for (uint64_t count = take(b, 2); count > 0 && !b->bad; --count) {
    int type = (int)take(b, 1), real = type == 'f' || type == 'd';
    uint64_t value = take(b, 8);
    if (!type || !strchr("Abhiqfd", type)) b->bad = 1;
    if (b->bad) return -1;
    if (real ? point == POINT : whole == WHOLE) {
      fail(s, "argument-count", "a board's functions take %d arrays and whole numbers, and %d others", WHOLE, POINT);
      return -1;
    }
    if (type == 'A') a->whole[whole++] = (int64_t)(intptr_t)array_at(s, value);
    else if (!real) a->whole[whole++] = (int64_t)value;
    else a->point[point++] = type == 'd' ? as_double(value) : as_register((float)as_double(value));
  }
  b->bad |= b->at != b->end;
  return b->bad || s->rule[0];
}

#define AT(x, i) x[i], x[i + 1], x[i + 2], x[i + 3], x[i + 4], x[i + 5], x[i + 6], x[i + 7]

static int32_t run(function f, const struct arguments *a) {
  const int64_t *w = a->whole;
  const double *p = a->point;
  return f(AT(w, 0), AT(w, 8), AT(w, 16), AT(p, 0));
}

void library_call(struct session *s, struct body *b) {
  struct place p;
  struct arguments a = {{0}, {0}};
  take_place(b, &p);
  int checked = (int)take(b, 1);
  uint32_t runs = (uint32_t)take(b, 4);
  if (gather(s, b, &a)) return;
  union { void *address; function call; } f = {symbol(s, &p)};
  if (!f.address) return;
  struct timespec start, end;
  int32_t code = 0;
  clock_gettime(CLOCK_MONOTONIC, &start);
  for (uint32_t i = 0; i < runs && !(checked && code); ++i) code = run(f.call, &a);
  clock_gettime(CLOCK_MONOTONIC, &end);
  if (checked && code == NO_MEMORY) fail(s, "memory", "`%s`: the system gave no memory for a temporary", p.name);
  else if (checked && code) fail(s, "run-failed", "%s failed with status %d", p.name, (int)code);
  double took = (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
  uint64_t bits;
  memcpy(&bits, &took, sizeof bits);
  put(&s->wire, bits, 8);
}
