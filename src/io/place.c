/* place.c - the local folder. Temp files stand beside their target (same file system, so
 * rename is atomic) and are named NAME.<host>.<pid>.tmp, so that gc can tell a leftover from a
 * file that someone is writing. */
#include "io/place.h"
#include "base/err.h"
#include "base/fault.h"
#include "base/hash.h"
#include "base/mem.h"
#include "io/outflow.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER = 256 << 10 };

struct place {
    char *root;
};

struct sink {
    int fd;
    char *path, *temp;
    unsigned char *buf;
    size_t used;
    uint64_t size;
    struct outflow *flow; /* NULL: we write and hash ourselves */
    int settled;          /* on the disk and closed, but not visible */
    char sha256[65];      /* "" until it is known */
};

static int fail_output(const char *path)
{
    return err_set(ERR_OUTPUT, "%s: %s", path, strerror(errno));
}

static char *path_of(const struct place *p, const char *name)
{
    struct str s = {0};
    str_printf(&s, "%s/%s", p->root, name);
    return str_steal(&s);
}

/* mkdir -p of everything before the last '/'. */
static int make_folders(const char *path)
{
    char *copy = mem_strdup(path);
    int rc = 0;
    for (char *slash = strchr(copy + 1, '/'); slash && !rc; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        if (mkdir(copy, 0777) && errno != EEXIST) rc = fail_output(copy);
        *slash = '/';
    }
    free(copy);
    return rc;
}

int place_open(struct place **out, const char *url, int create)
{
    if (str_starts(url, "file://")) url += strlen("file://");
    if (strstr(url, "://"))
        return err_set(ERR_USAGE, "%s: this version writes to local folders only", url);
    struct place *p = mem_alloc(sizeof *p);
    p->root = mem_strdup(url);
    for (size_t n = strlen(p->root); n > 1 && p->root[n - 1] == '/'; n--) p->root[n - 1] = 0;
    int kind = file_exists(p->root), rc = 0;
    if (kind == 1)
        rc = err_set(ERR_USAGE, "%s: is a file, not a folder", p->root);
    else if (!kind && !create)
        rc = err_set(ERR_INPUT, "%s: no such folder", p->root);
    else if (create) {
        char *inside = path_of(p, "x");
        rc = make_folders(inside);
        free(inside);
        if (!rc && access(p->root, W_OK | X_OK)) rc = fail_output(p->root);
    }
    if (rc) {
        place_close(p);
        return rc;
    }
    *out = p;
    return 0;
}

void place_close(struct place *p)
{
    if (!p) return;
    free(p->root);
    free(p);
}

const char *place_url(const struct place *p)
{
    return p->root;
}

int place_name_ok(const char *name)
{
    for (;;) {
        size_t n = strcspn(name, "/");
        if (!n || (n <= 2 && !strncmp(name, "..", n))) return 0;
        if (!name[n]) return 1;
        name += n + 1;
    }
}

int place_exists(struct place *p, const char *name, uint64_t *size)
{
    struct stat st;
    char *path = path_of(p, name);
    int there = !stat(path, &st) && S_ISREG(st.st_mode);
    if (there && size) *size = (uint64_t)st.st_size;
    free(path);
    return there;
}

int place_read(struct place *p, const char *name, struct str *out, size_t limit)
{
    char *path = path_of(p, name);
    int rc = file_read(out, path, limit);
    free(path);
    return rc;
}

int place_stamp(struct place *p, const char *name, char out[65])
{
    struct stat st;
    char *path = path_of(p, name);
    int rc = stat(path, &st) ? err_set(ERR_INPUT, "%s: %s", path, strerror(errno)) : 0;
    if (!rc)
        snprintf(out, 65, "stamp:%llx-%llx.%lx", (unsigned long long)st.st_size,
                 (unsigned long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
    free(path);
    return rc;
}

int place_map(struct place *p, const char *name, struct file_map *out)
{
    char *path = path_of(p, name);
    int rc = file_map(out, path);
    free(path);
    return rc;
}

int place_fd(struct place *p, const char *name, int *fd)
{
    char *path = path_of(p, name);
    *fd = open(path, O_RDONLY | O_CLOEXEC);
    int rc = *fd < 0 ? err_set(ERR_INPUT, "%s: %s", path, strerror(errno)) : 0;
    free(path);
    return rc;
}

int place_remove(struct place *p, const char *name)
{
    char *path = path_of(p, name);
    int rc = unlink(path) && errno != ENOENT ? fail_output(path) : 0;
    free(path);
    return rc;
}

int place_remove_folder(struct place *p, const char *name)
{
    char *path = path_of(p, name);
    int left = rmdir(path) && errno != ENOENT && errno != ENOTEMPTY && errno != EEXIST;
    int rc = left ? fail_output(path) : 0;
    free(path);
    return rc;
}

int place_list(struct place *p, const char *folder, struct names *out)
{
    char *path = path_of(p, folder);
    DIR *d = opendir(path);
    int rc = 0;
    if (!d && errno != ENOENT) rc = err_set(ERR_INPUT, "%s: %s", path, strerror(errno));
    for (struct dirent *e; d && (e = readdir(d));) {
        struct stat st;
        if (e->d_type == DT_DIR) continue;
        if (e->d_type != DT_REG && (fstatat(dirfd(d), e->d_name, &st, 0) || !S_ISREG(st.st_mode)))
            continue;
        names_add(out, e->d_name);
    }
    if (d) closedir(d);
    names_sort(out);
    free(path);
    return rc;
}

/* NAME.<host>.<pid>.tmp of a process that is gone, or of another host and a day old. */
static int is_leftover(int folder, const char *name)
{
    char host[64] = "";
    struct stat st;
    gethostname(host, sizeof host - 1);
    size_t n = strlen(name), h = strlen(host);
    const char *pid = n > 4 ? name + n - 4 : name;
    while (pid > name && pid[-1] != '.') pid--;
    if (!strspn(pid, "0123456789") || strcmp(pid + strspn(pid, "0123456789"), ".tmp"))
        return 0; /* not a name of ours */
    if (pid <= name + h || strncmp(pid - 1 - h, host, h))
        return !fstatat(folder, name, &st, 0) && time(NULL) - st.st_mtime > 86400;
    long id = strtol(pid, NULL, 10);
    return id > 0 && kill((pid_t)id, 0) && errno == ESRCH;
}

static int sweep_folder(const char *path, int depth, int *removed)
{
    DIR *d = opendir(path);
    int rc = 0;
    if (!d) return errno == ENOENT ? 0 : fail_output(path);
    for (struct dirent *e; !rc && (e = readdir(d));) {
        struct stat st;
        if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) || e->d_name[0] == '.') continue;
        if (S_ISDIR(st.st_mode) && depth < 8) {
            struct str inner = {0};
            str_printf(&inner, "%s/%s", path, e->d_name);
            rc = sweep_folder(inner.p, depth + 1, removed);
            str_release(&inner);
        } else if (S_ISREG(st.st_mode) && str_ends(e->d_name, ".tmp") &&
                   is_leftover(dirfd(d), e->d_name)) {
            if (unlinkat(dirfd(d), e->d_name, 0))
                rc = fail_output(e->d_name);
            else
                ++*removed;
        }
    }
    closedir(d);
    return rc;
}

int place_sweep(struct place *p, int *removed)
{
    *removed = 0;
    return sweep_folder(p->root, 0, removed);
}

void names_add(struct names *n, const char *name)
{
    vec_push(n->list, n->count, n->cap);
    n->list[n->count++] = mem_strdup(name);
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void names_sort(struct names *n)
{
    if (n->count) qsort(n->list, n->count, sizeof *n->list, by_bytes);
}

void names_release(struct names *n)
{
    for (size_t i = 0; i < n->count; i++) free(n->list[i]);
    free(n->list);
    memset(n, 0, sizeof *n);
}

int place_create(struct place *p, const char *name, struct sink **out)
{
    struct sink *s = mem_alloc(sizeof *s);
    struct str temp = {0};
    s->path = path_of(p, name);
    char host[64] = "";
    gethostname(host, sizeof host - 1);
    str_printf(&temp, "%s.%s.%ld.tmp", s->path, host, (long)getpid());
    s->temp = str_steal(&temp);
    int rc = make_folders(s->path);
    if (!rc) {
        unlink(
            s->temp); /* of a process of our number before us; or someone's link, never followed */
        s->fd = open(s->temp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (s->fd < 0) rc = fail_output(s->temp);
    }
    if (rc) {
        free(s->path);
        free(s->temp);
        free(s);
        return rc;
    }
    s->buf = mem_aligned(BUFFER);
    *out = s;
    return 0;
}

static int write_all(struct sink *s, const void *p, size_t n)
{
    while (n) {
        ssize_t done = write(s->fd, p, n);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return fail_output(s->path);
        p = (const char *)p + done;
        n -= (size_t)done;
    }
    return 0;
}

static int sink_flush(struct sink *s)
{
    size_t n = s->used;
    s->used = 0;
    return write_all(s, s->buf, n);
}

int sink_flow(struct sink *s)
{
    assert(!s->size && !s->flow);
    return outflow_open(&s->flow, s->fd, s->path);
}

int sink_write(struct sink *s, const void *p, size_t n)
{
    s->size += n;
    if (s->flow) return outflow_write(s->flow, p, n);
    if (n < BUFFER - s->used) {
        if (n) memcpy(s->buf + s->used, p, n);
        s->used += n;
        return 0;
    }
    int rc = sink_flush(s);
    return rc ? rc : write_all(s, p, n);
}

int sink_patch(struct sink *s, uint64_t offset, const void *p, size_t n)
{
    assert(!s->flow);
    int rc = sink_flush(s);
    while (!rc && n) {
        ssize_t done = pwrite(s->fd, p, n, (off_t)offset);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return fail_output(s->path);
        p = (const char *)p + done;
        n -= (size_t)done;
        offset += (uint64_t)done;
    }
    return rc;
}

uint64_t sink_size(const struct sink *s)
{
    return s->size;
}

static void sink_free(struct sink *s)
{
    if (s->fd >= 0) close(s->fd);
    free(s->buf);
    free(s->path);
    free(s->temp);
    free(s);
}

void sink_abort(struct sink *s)
{
    if (!s) return;
    if (s->flow) outflow_close(s->flow, NULL);
    unlink(s->temp);
    sink_free(s);
}

/* The hash is of what the disk will give back, so it is read again, not kept along the way:
 * patched headers make a running hash impossible. */
static int sink_hash(struct sink *s, char sha256[65])
{
    struct sha256 h;
    sha256_init(&h);
    for (uint64_t at = 0; at < s->size;) {
        ssize_t got = pread(s->fd, s->buf, BUFFER, (off_t)at);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) {
            sha256_release(&h);
            return got < 0 ? fail_output(s->temp) : err_set(ERR_OUTPUT, "%s: shrank", s->temp);
        }
        sha256_add(&h, s->buf, (size_t)got);
        at += (uint64_t)got;
    }
    sha256_end(&h, sha256);
    return 0;
}

static int sync_folder(const char *path)
{
    char *folder = mem_strdup(path), *slash = strrchr(folder, '/');
    int rc = 0;
    if (slash) slash[slash == folder] = 0;
    int fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fsync(fd)) rc = errno == EINVAL ? 0 : fail_output(folder);
    if (fd >= 0) close(fd);
    free(folder);
    return rc;
}

static int settle(struct sink *s, int hash)
{
    struct outflow *flow = s->flow;
    s->flow = NULL;
    int rc = flow ? outflow_close(flow, s->sha256) : sink_flush(s);
    fault_point("written");
    if (!rc && hash && !flow) rc = sink_hash(s, s->sha256);
    if (!rc && fsync(s->fd)) rc = fail_output(s->path);
    fault_point("synced");
    int failed = close(s->fd);
    s->fd = -1;
    if (!rc && failed) rc = fail_output(s->path);
    free(s->buf);
    s->buf = NULL;
    s->settled = !rc;
    return rc;
}

int sink_settle(struct sink *s)
{
    return s->settled ? 0 : settle(s, 1);
}

int sink_commit(struct sink *s, char sha256[65], uint64_t *size)
{
    int rc = s->settled ? 0 : settle(s, sha256 != NULL);
    if (!rc && rename(s->temp, s->path)) rc = fail_output(s->path);
    fault_point("renamed");
    if (!rc) rc = sync_folder(s->path);
    fault_point("committed");
    if (rc) unlink(s->temp);
    if (!rc && sha256) memcpy(sha256, s->sha256, sizeof s->sha256);
    if (size) *size = s->size;
    sink_free(s);
    return rc;
}

int place_scratch(struct place *p, int *fd)
{
    char *path = path_of(p, "scratch.XXXXXX.tmp");
    *fd = mkostemps(path, 4, O_CLOEXEC);
    int rc = *fd < 0 ? fail_output(path) : 0;
    if (!rc) unlink(path);
    free(path);
    return rc;
}

int place_write(struct place *p, const char *name, const void *data, size_t n)
{
    struct sink *s;
    int rc = place_create(p, name, &s);
    if (rc) return rc;
    rc = sink_write(s, data, n);
    if (rc) {
        sink_abort(s);
        return rc;
    }
    return sink_commit(s, NULL, NULL);
}
