/* stop.c - see stop.h. */
#include "base/stop.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static atomic_int asked; /* lock-free, so a handler may touch it */
static atomic_int ending;

static void on_signal(int sig)
{
    if (atomic_exchange(&asked, 1)) _exit(128 + sig);
}

void stop_catch_signals(void)
{
    static const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
    struct sigaction a;
    memset(&a, 0, sizeof a);
    a.sa_handler = on_signal;
    for (size_t i = 0; i < sizeof caught / sizeof *caught; i++) sigaction(caught[i], &a, NULL);
}

int stop_asked(void)
{
    return atomic_load(&asked);
}

void stop_waits(int end)
{
    atomic_store(&ending, end);
}

int stop_wait_over(void)
{
    return atomic_load(&asked) || atomic_load(&ending);
}
