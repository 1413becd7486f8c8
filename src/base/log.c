/* log.c - one lock, one line at a time. */
#include "base/log.h"
#include "base/clock.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static enum log_level level = LOG_NORMAL;
static int json, drawn;
static double last_drawn = -1e9;

void log_setup(enum log_level l, int as_json)
{
    level = l;
    json = as_json;
}

int log_json(void)
{
    return json;
}

int log_is_terminal(void)
{
    return isatty(STDERR_FILENO);
}

static void erase(void)
{
    if (drawn) fputs("\r\033[K", stderr);
    drawn = 0;
}

/* Names come from outside: control characters, also the second set that begins with C2 in UTF-8,
 * do not reach a terminal. */
static void make_plain(char *line)
{
    for (unsigned char *c = (unsigned char *)line; *c; c++) {
        if (*c < ' ' || *c == 127) *c = '?';
        if (*c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0) c[0] = c[1] = '?';
    }
}

static PRINTF_LIKE(1, 0) void say(const char *fmt, va_list ap)
{
    pthread_mutex_lock(&lock);
    erase();
    char line[4096];
    vsnprintf(line, sizeof line, fmt, ap);
    make_plain(line);
    fprintf(stderr, "darkroom: %s\n", line);
    pthread_mutex_unlock(&lock);
}

#define SAY_AT(min)                \
    do {                           \
        va_list ap;                \
        if (level < (min)) return; \
        va_start(ap, fmt);         \
        say(fmt, ap);              \
        va_end(ap);                \
    } while (0)

void log_warn(const char *fmt, ...)
{
    SAY_AT(LOG_QUIET);
}

void log_info(const char *fmt, ...)
{
    SAY_AT(LOG_NORMAL);
}

void log_debug(const char *fmt, ...)
{
    SAY_AT(LOG_VERBOSE);
}

void log_progress(const char *fmt, ...)
{
    double every = log_is_terminal() ? 0.2 : 60, now = clock_now();
    if (level < LOG_NORMAL) return;
    pthread_mutex_lock(&lock);
    if (last_drawn < 0)
        last_drawn = log_is_terminal() ? 0 : now; /* first plain line after a minute */
    if (now - last_drawn >= every) {
        va_list ap;
        char line[512];
        va_start(ap, fmt);
        vsnprintf(line, sizeof line, fmt, ap);
        va_end(ap);
        if (log_is_terminal()) {
            struct winsize w;
            if (!ioctl(STDERR_FILENO, TIOCGWINSZ, &w) && w.ws_col > 1 && w.ws_col < sizeof line)
                line[w.ws_col - 1] = 0; /* a wrapped line could not be taken back */
            fprintf(stderr, "\r\033[K%s", line);
            drawn = 1;
        } else {
            fprintf(stderr, "darkroom: %s\n", line);
        }
        fflush(stderr);
        last_drawn = now;
    }
    pthread_mutex_unlock(&lock);
}

void log_progress_end(void)
{
    pthread_mutex_lock(&lock);
    erase();
    fflush(stderr);
    pthread_mutex_unlock(&lock);
}

/* Names in results come from outside too: a line stays a line, a terminal unharmed. */
void log_result(const char *fmt, ...)
{
    va_list ap;
    char *line;
    if (json) return;
    va_start(ap, fmt);
    int n = vasprintf(&line, fmt, ap);
    va_end(ap);
    if (n < 0) return;
    make_plain(line);
    pthread_mutex_lock(&lock);
    erase();
    puts(line);
    pthread_mutex_unlock(&lock);
    free(line);
}

void log_event(const char *object)
{
    if (!json) return;
    pthread_mutex_lock(&lock);
    puts(object);
    fflush(stdout);
    pthread_mutex_unlock(&lock);
}
