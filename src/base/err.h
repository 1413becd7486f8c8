/* err.h - how functions fail.
 * A fallible function returns 0 or one of these classes; the class tells the caller what to
 * do, the sentence lives in a thread-local buffer. Context is put in front on the way up:
 *     return err_set(ERR_INPUT, "truncated at byte %zu", n);
 *     return err_wrap(rc, "shard %s", name);
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "base/platform.h"

enum {
    ERR_FAIL = -1,    /* it just failed */
    ERR_USAGE = -2,   /* the user asked for something impossible */
    ERR_INPUT = -4,   /* an input is missing or unreadable */
    ERR_OUTPUT = -5,  /* disk, quota, permission */
    ERR_DEVICE = -6,  /* accelerator */
    ERR_STALE = -7,   /* a receipt or hash disagrees, or a source changed */
    ERR_DATA = -8,    /* this sample is bad: count it, go on; see err_bad() */
    ERR_AGAIN = -9,   /* retry */
    ERR_NET = -69,    /* a service does not answer, or credentials expired */
    ERR_STOPPED = -75 /* a signal asked us to stop; resumable */
};

/* Why a sample or shard is bad: the `status` column of errors/. */
enum bad {
    BAD_NONE,
    BAD_CORRUPT,
    BAD_TRUNCATED,
    BAD_TOO_LARGE,
    BAD_UNSUPPORTED,
    BAD_EMPTY,
    BAD_MISSING_IMAGE,
    BAD_MISSING_CAPTION,
    BAD_JSON,
    BAD_DUPLICATE_MEMBER,
    BAD_NON_ADJACENT,
    BAD_TAR_DAMAGED,
    BAD_SHARD_MISSING,
    BAD_COUNT
};
const char *bad_name(enum bad why); /* "corrupt", "truncated", ... */

int err_set(int class, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* ERR_DATA with its reason. The message holds no path, errno text or library version. */
int err_bad(enum bad why, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Put "context: " in front of the sentence and return rc unchanged. */
int err_wrap(int rc, const char *fmt, ...) PRINTF_LIKE(2, 3);

const char *err_text(void); /* this thread's last sentence */
enum bad err_why(void);     /* reason of this thread's last ERR_DATA */

/* Process exit code of a class, as printed in the manual. */
int err_exit_code(int rc);

#endif
