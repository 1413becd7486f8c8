/* clock.h - time. Durations come from the monotonic clock; nothing hashed depends on either. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

double clock_now(void);                  /* seconds, monotonic */
double clock_cpu(void);                  /* CPU seconds of this thread */
void clock_utc(char out[32]);            /* "2026-11-15T08:00:00Z" */
void clock_span(char out[32], double s); /* "1h02m", "3m20s", "12 s" */

#endif
