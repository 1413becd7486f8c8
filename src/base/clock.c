/* clock.c - see clock.h. */
#include "base/clock.h"

#include <stdio.h>
#include <time.h>

static double seconds(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double clock_now(void)
{
    return seconds(CLOCK_MONOTONIC);
}

double clock_cpu(void)
{
    return seconds(CLOCK_THREAD_CPUTIME_ID);
}

void clock_utc(char out[32])
{
    time_t t = time(NULL);
    struct tm tm;
    gmtime_r(&t, &tm);
    strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

void clock_span(char out[32], double s)
{
    long n = s < 0 ? 0 : s > 9e8 ? 900000000 : (long)(s + 0.5);
    if (n >= 86400)
        snprintf(out, 32, "%ldd%02ldh", n / 86400, n / 3600 % 24);
    else if (n >= 3600)
        snprintf(out, 32, "%ldh%02ldm", n / 3600, n / 60 % 60);
    else if (n >= 60)
        snprintf(out, 32, "%ldm%02lds", n / 60, n % 60);
    else
        snprintf(out, 32, "%ld s", n);
}
