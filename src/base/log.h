/* log.h - talk goes to stderr; results go to stdout by whoever has them.
 * One progress line is redrawn on a terminal; elsewhere it is printed once a minute.
 * With --json, events are single-line objects on stdout. Thread-safe. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/platform.h"

enum log_level { LOG_QUIET, LOG_NORMAL, LOG_VERBOSE };
void log_setup(enum log_level level, int json);
int log_json(void); /* was --json given */

void log_warn(const char *fmt, ...) PRINTF_LIKE(1, 2); /* "darkroom: ...", also when quiet */
void log_info(const char *fmt, ...) PRINTF_LIKE(1, 2);
void log_debug(const char *fmt, ...) PRINTF_LIKE(1, 2); /* only with -v */

/* Replace the progress line. Rate-limited: call as often as you like. */
void log_progress(const char *fmt, ...) PRINTF_LIKE(1, 2);
void log_progress_end(void); /* take the line away */
int log_is_terminal(void);

/* A line of results on standard output; not with --json, whose events tell the same. */
void log_result(const char *fmt, ...) PRINTF_LIKE(1, 2);

/* One --json event, already serialised; ignored without --json. */
void log_event(const char *json_object);

#endif
