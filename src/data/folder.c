/* folder.c - walk, sort, group.
 * Real folders are walked first and links to folders after them, each folder (by device and
 * inode) once: loops end, and what two ways lead to is found under its own name. */
#include "data/folder.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "io/file.h"
#include "io/place.h"
#include "io/source.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct walk {
    const char *root;
    struct names todo, links; /* folders below root still to be entered */
    struct map entered;       /* device and inode */
    struct str path;          /* of the entry at hand, below root */
    int (*visit)(void *arg, const char *path);
    void *arg;
    int stop;
};

/* Has this folder been entered before? */
static int entered(struct walk *w, DIR *d)
{
    struct stat st;
    if (fstat(dirfd(d), &st)) return 1;
    uint64_t id[2] = {(uint64_t)st.st_dev, (uint64_t)st.st_ino};
    uint64_t *mark = map_at(&w->entered, (const char *)id, sizeof id, 1);
    return (*mark)++ != 0;
}

static void visit_entry(struct walk *w, DIR *d, const char *folder, const struct dirent *e)
{
    struct stat st;
    int link = e->d_type == DT_LNK, is_folder = e->d_type == DT_DIR;
    if (e->d_name[0] == '.') return;
    str_clear(&w->path);
    if (*folder) str_printf(&w->path, "%s/", folder);
    str_puts(&w->path, e->d_name);
    if (link || e->d_type == DT_UNKNOWN) {
        if (fstatat(dirfd(d), e->d_name, &st, 0)) return;
        is_folder = S_ISDIR(st.st_mode);
        if (!is_folder && !S_ISREG(st.st_mode)) return;
    } else if (!is_folder && e->d_type != DT_REG) {
        return;
    }
    if (is_folder)
        names_add(link ? &w->links : &w->todo, w->path.p);
    else
        w->stop = w->visit(w->arg, w->path.p);
}

static int walk_folder(struct walk *w, const char *folder)
{
    struct str full = {0};
    str_printf(&full, "%s%s%s", w->root, *folder ? "/" : "", folder);
    DIR *d = opendir(full.p);
    int rc = d ? 0 : err_set(ERR_INPUT, "%s: %s", full.p, strerror(errno));
    if (d && !entered(w, d))
        for (struct dirent *e; !w->stop && (e = readdir(d));) visit_entry(w, d, folder, e);
    if (d) closedir(d);
    str_release(&full);
    return rc;
}

static char *names_pop(struct names *n)
{
    return n->list[--n->count];
}

int folder_walk(const char *root, int (*visit)(void *arg, const char *path), void *arg)
{
    struct walk w = {.root = root, .visit = visit, .arg = arg};
    int rc = walk_folder(&w, "");
    while (!rc && !w.stop && (w.todo.count || w.links.count)) {
        if (!w.todo.count) {
            names_sort(&w.links); /* so that the same link wins every time */
            for (size_t n = w.links.count; n; n--) names_add(&w.todo, w.links.list[n - 1]);
            names_release(&w.links);
        }
        char *folder = names_pop(&w.todo);
        rc = walk_folder(&w, folder);
        free(folder);
    }
    names_release(&w.todo);
    names_release(&w.links);
    map_release(&w.entered);
    str_release(&w.path);
    return rc;
}

enum kind { PICTURE, TEXT, JSON, OTHER };

struct entry {
    uint64_t at; /* of its path in the pool */
    uint32_t stem;
    uint32_t kind;
};

/* A sample: entries [first, first + count) share a stem; picture is the one that is its own. */
struct group {
    size_t first;
    uint32_t count, pictures;
    uint32_t picture; /* below first; unused when pictures is 0 */
};

struct folder {
    char *root;
    uint32_t index;
    struct str pool; /* paths below root, NUL-terminated */
    struct entry *entries;
    size_t count, cap;
    struct group *groups;
    size_t ngroups, capgroups;
    size_t ignored;
};

static const char *extension(const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    return dot && dot > base ? dot + 1 : "";
}

static enum kind kind_of(const char *ext)
{
    if (sample_is_one_of(SAMPLE_PICTURES, ext)) return PICTURE;
    return sample_is_one_of("txt", ext) ? TEXT : sample_is_one_of("json", ext) ? JSON : OTHER;
}

int folder_is_picture(const char *name)
{
    return kind_of(extension(name)) == PICTURE;
}

static int add_file(void *arg, const char *path)
{
    struct folder *f = arg;
    const char *ext = extension(path);
    enum kind kind = kind_of(ext);
    if (kind == OTHER || strlen(path) > UINT32_MAX / 2) {
        f->ignored++;
        return 0;
    }
    vec_push(f->entries, f->count, f->cap);
    f->entries[f->count++] = (struct entry){f->pool.len, (uint32_t)(ext - 1 - path), kind};
    str_add(&f->pool, path, strlen(path) + 1);
    return 0;
}

static int by_stem(const struct folder *f, const struct entry *a, const struct entry *b)
{
    uint32_t n = a->stem < b->stem ? a->stem : b->stem;
    int order = memcmp(f->pool.p + a->at, f->pool.p + b->at, n);
    return order ? order : (a->stem > b->stem) - (a->stem < b->stem);
}

static int by_path(const void *x, const void *y, void *arg)
{
    const struct entry *a = x, *b = y;
    const struct folder *f = arg;
    int order = by_stem(f, a, b);
    return order ? order : strcmp(f->pool.p + a->at, f->pool.p + b->at);
}

/* Entries [first, end) share a stem: one sample a picture, or one of text alone. */
static void add_groups(struct folder *f, size_t first, size_t end)
{
    struct group g = {first, (uint32_t)(end - first), 0, 0};
    int texts = 0;
    for (size_t i = first; i < end; i++) {
        g.pictures += f->entries[i].kind == PICTURE;
        texts += f->entries[i].kind == TEXT;
    }
    if (!g.pictures && !texts) f->ignored += g.count;
    for (size_t i = first; i < end; i++) {
        if (g.pictures ? f->entries[i].kind != PICTURE : i > first || !texts) continue;
        g.picture = (uint32_t)(i - first);
        vec_push(f->groups, f->ngroups, f->capgroups);
        f->groups[f->ngroups++] = g;
    }
}

int folder_open(struct folder **out, const char *path, uint32_t index)
{
    struct folder *f = mem_alloc(sizeof *f);
    f->root = mem_strdup(path);
    f->index = index;
    for (size_t n = strlen(f->root); n > 1 && f->root[n - 1] == '/'; n--) f->root[n - 1] = 0;
    int rc = folder_walk(f->root, add_file, f);
    if (rc) {
        folder_close(f);
        return rc;
    }
    if (f->count) qsort_r(f->entries, f->count, sizeof *f->entries, by_path, f);
    for (size_t i = 0, end; i < f->count; i = end) {
        for (end = i + 1; end < f->count && !by_stem(f, &f->entries[i], &f->entries[end]);) end++;
        add_groups(f, i, end);
    }
    *out = f;
    return 0;
}

void folder_close(struct folder *f)
{
    if (!f) return;
    str_release(&f->pool);
    free(f->entries);
    free(f->groups);
    free(f->root);
    free(f);
}

size_t folder_count(const struct folder *f)
{
    return f->ngroups;
}

void folder_hash(const struct folder *f, struct sha256 *h)
{
    struct str path = {0};
    for (size_t i = 0; i < f->count; i++) {
        const char *name = f->pool.p + f->entries[i].at;
        struct stat st;
        str_clear(&path);
        str_printf(&path, "%s/%s", f->root, name);
        int64_t size = stat(path.p, &st) ? -1 : (int64_t)st.st_size;
        sha256_add(h, name, strlen(name) + 1);
        sha256_add(h, &size, sizeof size);
    }
    str_release(&path);
}

size_t folder_captions(const struct folder *f)
{
    size_t n = 0;
    for (size_t i = 0; i < f->count; i++) n += f->entries[i].kind == TEXT;
    return n;
}

size_t folder_ignored(const struct folder *f)
{
    return f->ignored;
}

static int load_file(struct sample_member *m, struct arena *a, uint64_t limit)
{
    struct source *s;
    int rc = source_open(&s, m->path);
    if (rc) return rc;
    unsigned char *data = NULL;
    int64_t got = s->size, after = 0;
    if (s->size < 0)
        rc = err_set(ERR_INPUT, "%s: not a plain file", m->path);
    else if ((uint64_t)s->size > limit)
        rc = err_bad(BAD_TOO_LARGE, "%lld bytes, over the limit", (long long)s->size);
    if (!rc) {
        m->size = (size_t)s->size;
        data = arena_alloc(a, m->size + 1);
        got = source_read(s, data, m->size + 1);
        if (got < 0)
            rc = (int)got;
        else if (got != s->size)
            rc = err_set(ERR_INPUT, "%s: changed while read", m->path);
    }
    m->data = data;
    after = source_close(s);
    return rc ? rc : (int)after;
}

int folder_load(const struct folder *f, struct sample *s, struct arena *a, size_t i, uint64_t limit)
{
    const struct group *g = &f->groups[i];
    const struct entry *own = &f->entries[g->first + g->picture];
    const char *path = f->pool.p + own->at;
    struct sample_member *m = arena_zalloc(a, g->count * sizeof *m);
    int of_kind[OTHER] = {0}, rc = 0;
    *s = (struct sample){.members = m, .shard = f->index, .offset = i};
    s->key = arena_strndup(a, path, g->pictures > 1 ? strlen(path) : own->stem);
    if (!limit) limit = (uint64_t)2 << 30;
    for (size_t k = 0; k < g->count && !rc; k++) {
        const struct entry *e = own - g->picture + k;
        if (e->kind == PICTURE && e != own) continue;
        if (of_kind[e->kind]++)
            rc = err_bad(BAD_DUPLICATE_MEMBER, "two .%s files that differ only in case",
                         e->kind == TEXT ? "txt" : "json");
        m->path = arena_printf(a, "%s/%s", f->root, f->pool.p + e->at);
        char *ext = arena_strndup(a, extension(m->path), strlen(extension(m->path)));
        for (char *c = ext; *c; c++)
            if (*c >= 'A' && *c <= 'Z') *c = (char)(*c + 32);
        m->ext = ext;
        if (!rc) rc = load_file(m, a, limit);
        if (!rc) m++;
    }
    s->count = rc ? 0 : (int)(m - s->members);
    return rc;
}

int folders_open(struct folders *f, const struct names *paths)
{
    memset(f, 0, sizeof *f);
    f->list = mem_alloc(paths->count * sizeof *f->list);
    f->first = mem_alloc(paths->count * sizeof *f->first);
    for (; f->count < paths->count; f->count++) {
        size_t i = f->count;
        int rc = folder_open(&f->list[i], paths->list[i], (uint32_t)i);
        if (rc) {
            folders_close(f);
            return rc;
        }
        f->first[i] = f->pictures;
        f->pictures += folder_count(f->list[i]);
    }
    return 0;
}

void folders_close(struct folders *f)
{
    for (size_t i = 0; i < f->count; i++) folder_close(f->list[i]);
    free(f->list);
    free(f->first);
    memset(f, 0, sizeof *f);
}

size_t folders_find(const struct folders *f, size_t i)
{
    size_t k = f->count - 1;
    while (i < f->first[k]) k--;
    return k;
}

int folders_load(const struct folders *f, struct sample *s, struct arena *a, size_t i,
                 uint64_t limit)
{
    size_t k = folders_find(f, i);
    return folder_load(f->list[k], s, a, i - f->first[k], limit);
}
