/* tar_writer.c - deterministic ustar, as webdataset would read it: mode 0444, owner 0, time 0. */
#include "format/tar_writer.h"
#include "format/tar_header.h"
#include "base/err.h"
#include "base/str.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { NAME_MAX_USTAR = 100, PREFIX_MAX_USTAR = 155, RECORD = 10240, LONGEST = (1 << 20) - 64 };

static const unsigned char zeros[RECORD];

void tar_writer_init(struct tar_writer *w, struct sink *sink)
{
    *w = (struct tar_writer){.sink = sink};
}

static int put(struct tar_writer *w, const void *p, size_t n)
{
    w->offset += n;
    return sink_write(w->sink, p, n);
}

static int pad(struct tar_writer *w, size_t unit)
{
    size_t over = (size_t)(w->offset % unit);
    return over ? put(w, zeros, unit - over) : 0;
}

/* Where to cut a long name: the bytes before a '/' go to the prefix. 0 = fits as it is, -1 =
 * ustar cannot hold it. */
static int split(const char *name, size_t len)
{
    if (len <= NAME_MAX_USTAR) return 0;
    size_t from = len - NAME_MAX_USTAR - 1;
    if (from > PREFIX_MAX_USTAR) return -1;
    const char *slash = strchr(name + (from ? from : 1), '/');
    if (!slash || slash - name > PREFIX_MAX_USTAR || !slash[1]) return -1;
    return (int)(slash - name);
}

static int put_header(struct tar_writer *w, char type, const char *name, size_t prefix,
                      uint64_t size)
{
    union {
        char text[TAR_BLOCK];
        unsigned char bytes[TAR_BLOCK];
    } b = {{0}};
    const char *tail = prefix ? name + prefix + 1 : name;
    size_t len = strnlen(tail, NAME_MAX_USTAR);
    memcpy(b.text, tail, len);
    memcpy(b.text + 345, name, prefix);
    memcpy(b.text + 100, "0000444", 8);
    memcpy(b.text + 108, "0000000", 8);
    memcpy(b.text + 116, "0000000", 8);
    snprintf(b.text + 124, 12, "%011llo", (unsigned long long)size & 077777777777);
    memcpy(b.text + 136, "00000000000", 12);
    memcpy(b.text + 148, "        ", 8);
    b.text[156] = type;
    memcpy(b.text + 257, "ustar\00000", 8);
    memcpy(b.text + 329, "0000000", 8);
    memcpy(b.text + 337, "0000000", 8);
    unsigned sum = 0;
    for (int i = 0; i < TAR_BLOCK; i++) sum += b.bytes[i];
    snprintf(b.text + 148, 8, "%06o", sum & 0777777);
    b.text[155] = ' ';
    return put(w, b.bytes, TAR_BLOCK);
}

/* "LENGTH KEY=VALUE\n", where LENGTH counts its own digits. */
static void add_record(struct str *s, const char *key, const char *value)
{
    size_t rest = strlen(key) + strlen(value) + 3, len = rest + 1;
    while ((size_t)snprintf(NULL, 0, "%zu", len) + rest != len) len++;
    str_printf(s, "%zu %s=%s\n", len, key, value);
}

/* Pax text is UTF-8 unless said otherwise. */
static int is_utf8(const unsigned char *p)
{
    while (*p) {
        int more = *p < 0x80                 ? 0
                   : *p >= 0xc2 && *p < 0xe0 ? 1
                   : *p >= 0xe0 && *p < 0xf0 ? 2
                   : *p >= 0xf0 && *p < 0xf5 ? 3
                                             : -1;
        if (more < 0) return 0;
        if ((*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] > 0x9f) ||
            (*p == 0xf0 && p[1] < 0x90) || (*p == 0xf4 && p[1] > 0x8f))
            return 0;
        for (p++; more; more--, p++)
            if ((*p & 0xc0) != 0x80) return 0;
    }
    return 1;
}

static int put_pax(struct tar_writer *w, const char *path, uint64_t size, int big)
{
    struct str s = {0};
    char number[24];
    if (path && !is_utf8((const unsigned char *)path)) add_record(&s, "hdrcharset", "BINARY");
    if (path) add_record(&s, "path", path);
    snprintf(number, sizeof number, "%llu", (unsigned long long)size);
    if (big) add_record(&s, "size", number);
    int rc = put_header(w, 'x', "pax", 0, s.len);
    if (!rc) rc = put(w, s.p, s.len);
    if (!rc) rc = pad(w, TAR_BLOCK);
    str_release(&s);
    return rc;
}

int tar_writer_begin(struct tar_writer *w, const char *name, uint64_t size)
{
    size_t len = strlen(name);
    assert(!w->left);
    if (!len || name[len - 1] == '/' || len > LONGEST)
        return err_set(ERR_USAGE, "\"%.80s\" cannot be the name of a file in a tar", name);
    int prefix = split(name, len), rc = 0, big = size >> 33 != 0;
    if (prefix < 0 || big) rc = put_pax(w, prefix < 0 ? name : NULL, size, big);
    if (!rc) rc = put_header(w, '0', name, prefix > 0 ? (size_t)prefix : 0, big ? 0 : size);
    w->left = size;
    return rc;
}

int tar_writer_put(struct tar_writer *w, const void *data, size_t n)
{
    assert(n <= w->left);
    w->left -= n;
    int rc = n ? put(w, data, n) : 0;
    return rc || w->left ? rc : pad(w, TAR_BLOCK);
}

int tar_writer_add(struct tar_writer *w, const char *name, const void *data, size_t n)
{
    int rc = tar_writer_begin(w, name, n);
    return rc ? rc : tar_writer_put(w, data, n);
}

int tar_writer_end(struct tar_writer *w)
{
    assert(!w->left);
    int rc = put(w, zeros, 2 * (size_t)TAR_BLOCK);
    return rc ? rc : pad(w, RECORD);
}
