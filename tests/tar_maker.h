/* tar_maker.h - tars made by hand, byte by byte, for tests: right ones and wrong ones. Nothing
 * here uses the code under test. */
#ifndef TAR_MAKER_H
#define TAR_MAKER_H

#include "base/str.h"

#include <stdio.h>
#include <string.h>

enum maker_magic { MAKER_USTAR, MAKER_GNU, MAKER_V7 };

static inline void maker_sum(char *b)
{
    unsigned sum = 0;
    memset(b + 148, ' ', 8);
    for (int i = 0; i < 512; i++) sum += (unsigned char)b[i];
    snprintf(b + 148, 7, "%06o", sum & 0777777);
    b[154] = 0;
    b[155] = ' ';
}

/* A header block; the caller may spoil it and call maker_sum again. */
static inline void maker_block(char b[512], char type, const char *name, unsigned long long size,
                               enum maker_magic magic)
{
    memset(b, 0, 512);
    memcpy(b, name, strnlen(name, 100));
    memcpy(b + 100, "0000644", 8);
    memcpy(b + 108, "0001750", 8);
    memcpy(b + 116, "0001750", 8);
    snprintf(b + 124, 12, "%011llo", size & 077777777777);
    memcpy(b + 136, "14000000000", 12);
    b[156] = type;
    if (magic == MAKER_USTAR) memcpy(b + 257, "ustar\00000", 8);
    if (magic == MAKER_GNU) memcpy(b + 257, "ustar  ", 8);
    maker_sum(b);
}

static inline void maker_zeros(struct str *s, size_t n)
{
    for (; n; n--) str_putc(s, 0);
}

static inline void maker_body(struct str *s, const void *data, size_t n)
{
    str_add(s, data, n);
    maker_zeros(s, -n & 511);
}

static inline void maker_member(struct str *s, char type, const char *name, const char *body,
                                enum maker_magic magic)
{
    char b[512];
    maker_block(b, type, name, strlen(body), magic);
    str_add(s, b, 512);
    maker_body(s, body, strlen(body));
}

static inline void maker_file(struct str *s, const char *name, const char *body)
{
    maker_member(s, '0', name, body, MAKER_USTAR);
}

static inline void maker_end(struct str *s)
{
    maker_zeros(s, 1024);
    while (s->len % 10240) str_putc(s, 0);
}

#endif
