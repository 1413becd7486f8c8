/* err.c - the thread-local sentence behind err.h. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = 1024 };
static _Thread_local char text[TEXT_MAX];
static _Thread_local enum bad reason;

static const char *const bad_names[BAD_COUNT] = {"",
                                                 "corrupt",
                                                 "truncated",
                                                 "too_large",
                                                 "unsupported",
                                                 "empty",
                                                 "missing_image",
                                                 "missing_caption",
                                                 "bad_json",
                                                 "duplicate_member",
                                                 "non_adjacent",
                                                 "tar_damaged",
                                                 "shard_missing"};

const char *bad_name(enum bad why)
{
    return bad_names[why];
}

int err_set(int class, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    reason = BAD_NONE;
    return class;
}

int err_bad(enum bad why, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    reason = why;
    return ERR_DATA;
}

int err_wrap(int rc, const char *fmt, ...)
{
    char front[TEXT_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(front, sizeof front - 2, fmt, ap);
    va_end(ap);
    size_t n = strlen(front), keep = strlen(text);
    front[n++] = ':';
    front[n++] = ' ';
    if (keep > TEXT_MAX - 1 - n) keep = TEXT_MAX - 1 - n;
    memmove(text + n, text, keep);
    memcpy(text, front, n);
    text[n + keep] = 0;
    return rc;
}

const char *err_text(void)
{
    return text;
}

enum bad err_why(void)
{
    return reason;
}

int err_exit_code(int rc)
{
    switch (rc) {
    case 0: return 0;
    case ERR_USAGE: return 2;
    case ERR_INPUT: return 4;
    case ERR_OUTPUT: return 5;
    case ERR_DEVICE: return 6;
    case ERR_STALE: return 7;
    case ERR_NET: return 69;
    case ERR_STOPPED: return 75;
    default: return 1;
    }
}
