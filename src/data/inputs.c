/* inputs.c - words to names. Each rule of expansion is one function; the result is sorted, and
 * checked for doubles, once at the end. */
#include "data/inputs.h"
#include "data/braces.h"
#include "data/folder.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "io/file.h"
#include "io/source.h"

#include <ctype.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

struct loading {
    struct inputs *in;
    enum input_format asked;
    int from_file, allow_pipe;
};

static int is_tar(const char *name)
{
    return str_ends(name, ".tar") || str_ends(name, ".tgz") || str_ends(name, ".tar.gz") ||
           str_ends(name, ".tar.zst");
}

/* "s3://", "https://", "pipe:": not a local path. */
static int is_remote(const char *name)
{
    return source_is_pipe(name) || (strstr(name, "://") && !str_starts(name, "file://"));
}

static int add(struct loading *l, const char *name, enum input_format format)
{
    struct inputs *in = l->in;
    if (in->format == INPUT_AUTO) in->format = format;
    if (in->format != format)
        return err_set(ERR_USAGE, "%s: shards and folders of pictures in one run; make it two",
                       name);
    if (in->names.count >= INPUTS_MAX) return err_set(ERR_USAGE, "more than %d inputs", INPUTS_MAX);
    names_add(&in->names, name);
    return 0;
}

struct content {
    struct names tars; /* at the top */
    int picture;       /* somewhere */
};

static int look(void *arg, const char *path)
{
    struct content *c = arg;
    if (is_tar(path) && !strchr(path, '/')) names_add(&c->tars, path);
    if (folder_is_picture(path)) c->picture = 1;
    return c->picture && strchr(path, '/'); /* the top is walked first: all is known */
}

static int add_shards_of(struct loading *l, const char *folder, struct names *tars)
{
    struct str path = {0};
    size_t n = strlen(folder);
    int rc = 0;
    while (n > 1 && folder[n - 1] == '/') n--;
    for (size_t i = 0; i < tars->count && !rc; i++) {
        str_clear(&path);
        str_add(&path, folder, n);
        if (folder[n - 1] != '/') str_putc(&path, '/');
        str_puts(&path, tars->list[i]);
        rc = add(l, path.p, INPUT_WEBDATASET);
    }
    str_release(&path);
    return rc;
}

/* "a" and "a/" are one folder, so they get one name. */
static int add_pictures(struct loading *l, const char *folder)
{
    size_t n = strlen(folder);
    while (n > 1 && folder[n - 1] == '/') n--;
    char *name = mem_strndup(folder, n);
    int rc = add(l, name, INPUT_FILES);
    free(name);
    return rc;
}

static int add_folder(struct loading *l, const char *folder)
{
    struct content c = {0};
    if (l->asked == INPUT_FILES) return add_pictures(l, folder);
    int rc = folder_walk(folder, look, &c);
    if (rc) return rc;
    if (c.tars.count && c.picture && l->asked == INPUT_AUTO)
        rc = err_set(ERR_USAGE,
                     "%s: holds both tar shards and pictures; say which with "
                     "--input-format webdataset or --input-format files",
                     folder);
    else if (c.tars.count)
        rc = add_shards_of(l, folder, &c.tars);
    else if (l->asked == INPUT_WEBDATASET)
        rc = err_set(ERR_INPUT, "%s: the folder holds no *.tar", folder);
    else
        rc = add_pictures(l, folder);
    names_release(&c.tars);
    return rc;
}

/* A name without patterns. What looks like a shard is not looked up: a range may name a million
 * files on a slow disk, and a missing one is reported by whoever opens it. */
static int add_path(struct loading *l, const char *name)
{
    const char *path = str_starts(name, "file://") ? name + strlen("file://") : name;
    if (source_is_pipe(name) && l->from_file && !l->allow_pipe)
        return err_set(ERR_USAGE, "%s: a command from a file runs only with --allow-pipe", name);
    if (is_remote(name) || (is_tar(path) && l->asked != INPUT_FILES))
        return add(l, path, INPUT_WEBDATASET);
    int there = file_exists(path);
    if (there == 2) return add_folder(l, path);
    if (l->asked == INPUT_FILES)
        return err_set(ERR_INPUT, "%s: %s", name,
                       there ? "is a file, not a folder of pictures" : "no such folder");
    if (there && folder_is_picture(path))
        return err_set(ERR_USAGE, "%s: is a picture; give the folder it stands in", name);
    return add(l, path, INPUT_WEBDATASET);
}

static int add_glob(struct loading *l, const char *pattern)
{
    glob_t g;
    int rc = 0, found = glob(pattern, GLOB_NOSORT | GLOB_ERR, NULL, &g);
    if (found == GLOB_NOMATCH)
        rc = err_set(ERR_INPUT, "%s: matches nothing", pattern);
    else if (found)
        rc = err_set(ERR_INPUT, "%s: cannot be listed", pattern);
    for (size_t i = 0; !rc && i < g.gl_pathc; i++) rc = add_path(l, g.gl_pathv[i]);
    globfree(&g);
    return rc;
}

static int add_name(struct loading *l, const char *name)
{
    if (!*name) return err_set(ERR_USAGE, "an input with an empty name");
    if (is_remote(name) || !strpbrk(name, "*?[") || file_exists(name)) return add_path(l, name);
    return add_glob(l, name);
}

/* ${NAME} is the environment's WDS_NAME, as webdataset has it; what that holds is looked at
 * again, ten times at most. */
static int substitute(struct str *out, const char *text)
{
    int rc = 0;
    str_clear(out);
    str_puts(out, text);
    for (int round = 0; round < 10 && !rc; round++) {
        struct str next = {0}, name = {0};
        const char *p = out->p ? out->p : "";
        int changed = 0;
        while (*p && !rc) {
            size_t n = 0;
            if (p[0] == '$' && p[1] == '{')
                while (isalnum((unsigned char)p[2 + n]) || p[2 + n] == '_') n++;
            if (!n || p[2 + n] != '}') {
                str_putc(&next, *p++);
                continue;
            }
            str_clear(&name);
            str_printf(&name, "WDS_%.*s", (int)n, p + 2);
            const char *value = getenv(name.p);
            if (!value || next.len > 1 << 16)
                rc = err_set(ERR_USAGE, "%s: the environment has no %s that ${%.*s} stands for",
                             text, name.p, (int)n, p + 2);
            else
                str_puts(&next, value);
            changed = 1;
            p += n + 3;
        }
        str_release(out);
        str_release(&name);
        *out = next;
        if (!changed) break;
    }
    return rc;
}

/* One of the parts between `::`. */
static int add_pattern(struct loading *l, const char *pattern)
{
    struct str text = {0};
    struct names names = {0};
    int rc = substitute(&text, pattern);
    if (!rc) rc = braces_expand(&names, text.p ? text.p : "", INPUTS_MAX);
    for (size_t i = 0; !rc && i < names.count; i++) rc = add_name(l, names.list[i]);
    names_release(&names);
    str_release(&text);
    return rc;
}

static int add_word(struct loading *l, const char *word)
{
    int rc = 0;
    for (const char *next; word && !rc; word = next) {
        const char *end = strstr(word, "::");
        char *part = mem_strndup(word, end ? (size_t)(end - word) : strlen(word));
        rc = add_pattern(l, part);
        free(part);
        next = end ? end + 2 : NULL;
    }
    return rc;
}

static int add_list(struct loading *l, const char *file)
{
    struct str text = {0};
    int rc = file_read(&text, file, (size_t)1 << 30);
    if (!rc && text.len && memchr(text.p, 0, text.len))
        rc = err_set(ERR_INPUT, "%s: not a list of names: it holds NUL bytes (UTF-16?)", file);
    l->from_file = 1;
    for (char *line = rc ? NULL : text.p, *next; line && *line && !rc; line = next) {
        size_t n = strcspn(line, "\n");
        next = line[n] ? line + n + 1 : NULL;
        line[n] = 0;
        while (n && isspace((unsigned char)line[n - 1])) line[--n] = 0;
        if (n && *line != '#') rc = add_word(l, line);
        if (rc) err_wrap(rc, "%s", file);
    }
    l->from_file = 0;
    str_release(&text);
    return rc;
}

/* Sort, refuse doubles, find the folder that all have in common. */
static int settle(struct inputs *in)
{
    struct names *n = &in->names;
    if (!n->count) return err_set(ERR_USAGE, "no input");
    names_sort(n);
    for (size_t i = 1; i < n->count; i++)
        if (!strcmp(n->list[i - 1], n->list[i]))
            return err_set(ERR_USAGE, "%s: given twice", n->list[i]);
    const char *first = n->list[0], *last = n->list[n->count - 1];
    if (in->format == INPUT_FILES || is_remote(first) || is_remote(last)) return 0;
    for (size_t i = 0; first[i] && first[i] == last[i]; i++)
        if (first[i] == '/') in->root = i + 1;
    return 0;
}

int inputs_load(struct inputs *in, const char *const *words, int n, enum input_format format,
                int allow_pipe)
{
    struct loading l = {.in = in, .asked = format, .allow_pipe = allow_pipe};
    int rc = 0;
    memset(in, 0, sizeof *in);
    for (int i = 0; i < n && !rc; i++)
        rc = words[i][0] == '@' ? add_list(&l, words[i] + 1) : add_word(&l, words[i]);
    if (!rc) rc = settle(in);
    if (rc) inputs_release(in);
    return rc;
}

void inputs_release(struct inputs *in)
{
    names_release(&in->names);
    memset(in, 0, sizeof *in);
}

/* Commands carry tokens; rows and receipts must not, and a fresh token must not make another run.
 */
const char *inputs_pipe_word(const char *name, size_t *n)
{
    if (!source_is_pipe(name)) return NULL;
    for (const char *w = name + strlen("pipe:"); *w; w += strspn(w, " \t")) {
        size_t len = strcspn(w, " \t");
        const char *dot = memmem(w, len, ".t", 2);
        if (dot && (!strncmp(dot, ".tar", 4) || !strncmp(dot, ".tgz", 4))) {
            const char *scheme = memmem(w, len, "://", 3), *at = memchr(w, '@', len);
            const char *start = scheme && at && at > scheme ? at + 1 : w;
            start += strspn(start, "'\"");
            *n = strcspn(start, "?'\" \t");
            return start;
        }
        w += len;
    }
    return NULL;
}

char *inputs_label(const struct inputs *in, size_t i)
{
    const char *name = in->names.list[i], *word;
    struct str s = {0};
    size_t n;
    if (!source_is_pipe(name)) return mem_strdup(name + in->root);
    if (!(word = inputs_pipe_word(name, &n))) {
        str_printf(&s, "pipe-%zu", i);
    } else {
        const char *slash = memrchr(word, '/', n);
        n -= slash ? (size_t)(slash + 1 - word) : 0;
        str_add(&s, slash ? slash + 1 : word, n);
    }
    return str_steal(&s);
}
