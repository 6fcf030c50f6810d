/* The files of a session: in one folder, without folders in it. Names that begin with a dot are the server's own. */
#include "board.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The path of a file of that name, which may not be there yet; nothing else can be reached. */
static int path_of(struct session *s, const char *name, char *path, size_t room) {
  if (!name[0] || name[0] == '.' || strlen(name) > NAME || strpbrk(name, "/\\")) {
    fail(s, "file-name", "'%s' cannot be a file here: a name, without folders and no dot first", name);
    return -1;
  }
  snprintf(path, room, "%s/%s", s->folder, name);
  return 0;
}

static int64_t size_of(const char *path) {
  struct stat found;
  return lstat(path, &found) || !S_ISREG(found.st_mode) ? -1 : (int64_t)found.st_size;
}

int files_path(struct session *s, const char *name, char *path, size_t room) {
  if (path_of(s, name, path, room)) return -1;
  if (size_of(path) >= 0) return 0;
  fail(s, "no-file", "there is no file %s in this session", name);
  return -1;
}

/* Bytes of all files; with `list`, each is written down. `count`: how many. */
static uint64_t survey(struct session *s, int list, uint32_t *count) {
  uint64_t total = 0;
  DIR *d = opendir(s->folder);
  for (struct dirent *e; d && (e = readdir(d));) {
    char path[TEXT + NAME];
    int64_t size;
    snprintf(path, sizeof path, "%s/%s", s->folder, e->d_name);
    if (e->d_name[0] == '.' || (size = size_of(path)) < 0) continue;
    total += (uint64_t)size;
    ++*count;
    if (!list) continue;
    put_text(&s->wire, e->d_name);
    put(&s->wire, (uint64_t)size, 8);
  }
  if (d) closedir(d);
  return total;
}

void files_put(struct session *s, struct body *b) {
  char name[TEXT], path[2 * TEXT];
  uint32_t count = 0;
  take_text(b, name, sizeof name);
  uint64_t offset = take(b, 8);
  if (b->bad || path_of(s, name, path, sizeof path)) return;
  size_t size = (size_t)(b->end - b->at);
  if (offset == 0) {
    unlink(path); /* a library that is loaded keeps its file */
  } else if (size_of(path) != (int64_t)offset) {
    fail(s, "file-offset", "%s does not end at byte %llu", name, (unsigned long long)offset);
    return;
  }
  if (survey(s, 0, &count) + size > s->settings->memory || count > 1000) {
    fail(s, "disk", "%s is more than this session may store", name);
    return;
  }
  int fd = open(path, O_WRONLY | O_NOFOLLOW | (offset ? O_APPEND : O_CREAT | O_EXCL), 0600);
  if (fd < 0 || write(fd, b->at, size) != (ssize_t)size) fail(s, "file", "%s: %s", name, strerror(errno));
  if (fd >= 0) close(fd);
}

void files_get(struct session *s, struct body *b) {
  char name[TEXT], path[2 * TEXT];
  take_text(b, name, sizeof name);
  uint64_t offset = take(b, 8), most = take(b, 4), room = s->wire.limit - 64;
  if (b->bad || files_path(s, name, path, sizeof path)) return;
  int fd = open(path, O_RDONLY | O_NOFOLLOW);
  put(&s->wire, (uint64_t)size_of(path), 8);
  ssize_t got = fd < 0 || offset >> 62 ? -1 : pread(fd, s->wire.out + 8, most < room ? most : room, (off_t)offset);
  if (got < 0) fail(s, "file", "%s cannot be read", name);
  else s->wire.size += (size_t)got;
  if (fd >= 0) close(fd);
}

void files_remove(struct session *s, struct body *b) {
  char name[TEXT], path[2 * TEXT];
  take_text(b, name, sizeof name);
  if (b->bad || files_path(s, name, path, sizeof path)) return;
  if (unlink(path)) fail(s, "file", "%s: %s", name, strerror(errno));
}

void files_list(struct session *s) {
  uint32_t count = 0;
  put(&s->wire, 0, 4);
  survey(s, 1, &count);
  for (int i = 0; i < 4; ++i) s->wire.out[i] = (uint8_t)(count >> 8 * i);
}

/* ---------------------------------------------------------------- the folder */

enum { NEW = 60 }; /* seconds: a folder of another server that is not locked yet */
static const char prefix[] = "tvmlab-rpc-";

static const char *temporary(void) {
  const char *where = getenv("TMPDIR");
  return where ? where : "/tmp";
}

/* A descriptor with the lock; -1 where another process has it. */
static int locked(const char *folder) {
  int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 || !flock(fd, LOCK_EX | LOCK_NB)) return fd;
  close(fd);
  return -1;
}

int files_new(char *folder, size_t room, int *lock) {
  snprintf(folder, room, "%s/%sXXXXXX", temporary(), prefix);
  if (!mkdtemp(folder)) return -1;
  *lock = locked(folder);
  return 0;
}

void files_clear(const char *folder, int lock) {
  DIR *d = opendir(folder);
  for (struct dirent *e; d && (e = readdir(d));) {
    char path[TEXT + NAME];
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    unlink(path);
  }
  if (d) closedir(d);
  rmdir(folder);
  if (lock >= 0) close(lock);
}

void files_clear_left(void) {
  DIR *d = opendir(temporary());
  for (struct dirent *e; d && (e = readdir(d));) {
    char path[TEXT + NAME];
    struct stat found;
    if (strncmp(e->d_name, prefix, sizeof prefix - 1)) continue;
    snprintf(path, sizeof path, "%s/%s", temporary(), e->d_name);
    if (lstat(path, &found) || found.st_uid != getuid() || time(NULL) - found.st_mtime <= NEW) continue;
    int lock = locked(path);
    if (lock >= 0) files_clear(path, lock);
  }
  if (d) closedir(d);
}
