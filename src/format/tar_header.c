/* tar_header.c - every field of a header means one thing or the archive is refused.
 * Attacks on tar readers live where two readers see different sizes or names (pax size against
 * ustar size, NUL inside a name, blanks in a number). We take only what GNU tar, libarchive and
 * Python take alike. */
#include "format/tar_header.h"
#include "base/err.h"

#include <string.h>

/* Where the fields of a header stand. */
enum {
    NAME = 0,
    MODE = 100,
    UID = 108,
    GID = 116,
    SIZE = 124,
    MTIME = 136,
    CHECKSUM = 148,
    TYPE = 156,
    MAGIC = 257,
    DEVMAJOR = 329,
    DEVMINOR = 337,
    PREFIX = 345,
    PREFIX_END = 500
};

static int damaged(const char *what)
{
    return err_bad(BAD_TAR_DAMAGED, "%s", what);
}

static int all_zero(const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i]) return 0;
    return 1;
}

/* Leading spaces, octal digits, then only spaces and NULs. 0, 1 when blank, -1 malformed. */
static int parse_octal(uint64_t *out, const unsigned char *p, size_t n)
{
    uint64_t v = 0;
    size_t i = 0, digits = 0;
    while (i < n && p[i] == ' ') i++;
    for (; i < n && p[i] >= '0' && p[i] <= '7'; i++, digits++) v = v << 3 | (uint64_t)(p[i] - '0');
    for (; i < n; i++)
        if (p[i] != ' ' && p[i] != 0) return -1;
    *out = v;
    return digits ? 0 : 1;
}

/* GNU's binary form: the top bit set, the rest a big-endian number. -1 beyond 63 bits. */
static int parse_base256(uint64_t *out, const unsigned char *p, size_t n)
{
    uint64_t v = p[0] & 0x7f;
    for (size_t i = 1; i < n; i++) {
        if (v >> 55) return -1;
        v = v << 8 | p[i];
    }
    *out = v;
    return 0;
}

static int parse_size(uint64_t *out, const unsigned char *p)
{
    return p[0] & 0x80 ? parse_base256(out, p, 12) : parse_octal(out, p, 12);
}

/* Fields we do not use must still be numbers, since others refuse the archive where they are not:
 * blank, octal, or binary of at most 32 bits. */
static int is_number(const unsigned char *p)
{
    uint64_t v;
    if (p[0] & 0x80) return !parse_base256(&v, p, 8) && v >> 32 == 0;
    return parse_octal(&v, p, 8) >= 0;
}

/* A time may also be long ago: binary, negative, 64 bits. */
static int is_time(const unsigned char *p)
{
    uint64_t v;
    if (p[0] == 0xff) return p[1] == 0xff && p[2] == 0xff && p[3] == 0xff && p[4] & 0x80;
    return (p[0] & 0x80 ? parse_base256(&v, p, 12) : parse_octal(&v, p, 12)) >= 0;
}

/* The sum of all bytes, the checksum field taken as spaces. Eight bytes at a time: sixteen-bit
 * lanes hold 128 of them without overflow. */
static uint32_t sum_unsigned(const unsigned char *b)
{
    const uint64_t mask = 0x00ff00ff00ff00ffu;
    uint64_t even = 0, odd = 0;
    for (size_t i = 0; i < TAR_BLOCK; i += 8) {
        uint64_t w;
        memcpy(&w, b + i, 8);
        even += w & mask;
        odd += w >> 8 & mask;
    }
    even = (even & 0x0000ffff0000ffffu) + (even >> 16 & 0x0000ffff0000ffffu) +
           (odd & 0x0000ffff0000ffffu) + (odd >> 16 & 0x0000ffff0000ffffu);
    uint32_t sum = (uint32_t)even + (uint32_t)(even >> 32);
    for (int i = CHECKSUM; i < CHECKSUM + 8; i++) sum -= b[i];
    return sum + 8 * ' ';
}

/* Old Sun tars summed signed chars. */
static int32_t sum_signed(const unsigned char *b)
{
    int32_t sum = 8 * ' ';
    for (int i = 0; i < TAR_BLOCK; i++)
        if (i < CHECKSUM || i >= CHECKSUM + 8) sum += (signed char)b[i];
    return sum;
}

/* Padding and terminators of the checksum: the only bits that its sum does not cover. */
static int checksum_style(const unsigned char *field)
{
    int last = field[7] == ' ' ? 1 : field[7] ? 2 : 0;
    int before = field[6] == ' ' ? 1 : field[6] ? 2 : 0;
    return 1 + last + 3 * before + 9 * (field[0] == ' ');
}

static int checksum_holds(const unsigned char *b)
{
    uint64_t want;
    if (parse_octal(&want, b + CHECKSUM, 8)) return 0;
    return want == sum_unsigned(b) || (int64_t)want == sum_signed(b);
}

static int decode_name(struct tar_header *h, const unsigned char *b)
{
    static const char gnu[] = "ustar  ";
    const char *name = (const char *)b + NAME, *prefix = (const char *)b + PREFIX;
    size_t prefix_len = 0, len = strnlen(name, MODE - NAME);
    if (!len) return damaged("a member has no name");
    if (!memcmp(b + MAGIC, "ustar", 6))
        prefix_len = strnlen(prefix, PREFIX_END - PREFIX);
    else if (!memcmp(b + MAGIC, gnu, 8)) {
        /* GNU keeps times of incremental backups where others read a prefix. */
        if (!all_zero(b + PREFIX, PREFIX_END - PREFIX))
            return damaged("an incremental or multi-volume GNU archive");
    } else if (!all_zero(b + MAGIC, 8) || !all_zero(b + PREFIX, TAR_BLOCK - PREFIX)) {
        return damaged("neither ustar, GNU nor old tar header");
    }
    char *at = h->name;
    if (prefix_len) {
        memcpy(at, prefix, prefix_len);
        at += prefix_len;
        *at++ = '/';
    }
    memcpy(at, name, len);
    at[len] = 0;
    h->name_len = (size_t)(at - h->name) + len;
    return 0;
}

static int decode_type(struct tar_header *h, char type)
{
    h->type = type;
    switch (type) {
    case 0:
    case '0':
    case '7': h->type = '0'; return 0;
    case 'x':
    case 'g':
    case 'L':
    case 'K': return 0;
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6': return h->size ? damaged("a link, folder or device with a body") : 0;
    case 'S': return damaged("a sparse file, which is not read here");
    }
    return damaged("a member of unknown type");
}

int tar_header_decode(struct tar_header *h, const unsigned char b[TAR_BLOCK])
{
    if (!b[0] && all_zero(b, TAR_BLOCK)) return 1;
    if (!checksum_holds(b)) return damaged("the header checksum is wrong");
    if (parse_size(&h->size, b + SIZE)) return damaged("the size field is malformed");
    if (!is_number(b + MODE) || !is_number(b + UID) || !is_number(b + GID) || !is_time(b + MTIME) ||
        !is_number(b + DEVMAJOR) || !is_number(b + DEVMINOR))
        return damaged("a number in the header is malformed");
    h->style = checksum_style(b + CHECKSUM);
    int rc = decode_name(h, b);
    return rc ? rc : decode_type(h, (char)b[TYPE]);
}

/* Decimal digits that fill n bytes, no leading zero: one spelling for one number. */
static int parse_decimal(uint64_t *out, const char *p, size_t n)
{
    uint64_t v = 0;
    if (!n || n > 18 || (n > 1 && p[0] == '0')) return -1;
    for (size_t i = 0; i < n; i++) {
        if (p[i] < '0' || p[i] > '9') return -1;
        v = 10 * v + (uint64_t)(p[i] - '0');
    }
    *out = v;
    return 0;
}

static int key_is(const char *key, size_t n, const char *want)
{
    return n == strlen(want) && !memcmp(key, want, n);
}

static int apply_record(struct tar_pax *out, const char *key, size_t key_len, const char *value,
                        size_t n, int global)
{
    int path = key_is(key, key_len, "path"), size = key_is(key, key_len, "size");
    if ((key_len > 11 && !memcmp(key, "GNU.sparse.", 11)) ||
        key_is(key, key_len, "SCHILY.realsize"))
        return damaged("a sparse file, which is not read here");
    if (global && (path || size)) return damaged("a global pax header names a file or size");
    if (path) {
        if (!n || memchr(value, 0, n)) return damaged("an empty pax path, or one with a NUL");
        if (out->path) return damaged("two pax paths for one member");
        out->path = value;
        out->path_len = n;
    }
    if (size) {
        if (out->has_size) return damaged("two pax sizes for one member");
        if (parse_decimal(&out->size, value, n)) return damaged("the pax size is malformed");
        out->has_size = 1;
    }
    return 0;
}

int tar_pax_decode(struct tar_pax *out, const char *p, size_t n, int global)
{
    memset(out, 0, sizeof *out);
    while (n) {
        uint64_t len;
        const char *space = memchr(p, ' ', n < 20 ? n : 20);
        if (!space || parse_decimal(&len, p, (size_t)(space - p)) || len > n ||
            len < (uint64_t)(space - p) + 2 || p[len - 1] != '\n')
            return damaged("a pax record is malformed");
        const char *key = space + 1, *end = p + len - 1;
        const char *equals = memchr(key, '=', (size_t)(end - key));
        if (!equals || equals == key || memchr(key, 0, (size_t)(equals - key)))
            return damaged("a pax record is malformed");
        int rc = apply_record(out, key, (size_t)(equals - key), equals + 1,
                              (size_t)(end - equals - 1), global);
        if (rc) return rc;
        p += len;
        n -= len;
    }
    return 0;
}
