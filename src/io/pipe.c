/* pipe.c - a child shell whose standard output we read. The child gets its own process
 * group, so that stopping us stops all it started. */
#include "io/pipe.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/stop.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct pipe_source {
    struct source base;
    int fd, ended; /* ended: we saw end of file */
    pid_t pid;
};

static int64_t pipe_read(struct source *s, void *buf, size_t n)
{
    struct pipe_source *p = (struct pipe_source *)s;
    ssize_t got;
    if (source_wait(p->fd)) return ERR_STOPPED;
    do got = read(p->fd, buf, n);
    while (got < 0 && errno == EINTR);
    if (got < 0) return err_set(ERR_INPUT, "%s: %s", s->name, strerror(errno));
    if (!got) p->ended = 1;
    return got;
}

/* Wait for the command's end. One that nobody wants any more, because we stopped reading or are
 * asked to stop, is told so, and killed when it does not listen within two seconds. */
static int pipe_wait(struct pipe_source *p, int *status, int *unwanted)
{
    int told = 0;
    *unwanted = !p->ended;
    for (;;) {
        pid_t got = waitpid(p->pid, status, WNOHANG);
        if (got == p->pid) return 0;
        if (got < 0 && errno != EINTR) return ERR_INPUT;
        if (stop_wait_over()) *unwanted = 1;
        if (*unwanted && told % 1000 == 0) kill(-p->pid, told ? SIGKILL : SIGTERM);
        told += *unwanted;
        usleep(2000);
    }
}

static int pipe_close(struct source *s)
{
    struct pipe_source *p = (struct pipe_source *)s;
    int status = 0, unwanted;
    close(p->fd);
    if (pipe_wait(p, &status, &unwanted))
        return err_set(ERR_INPUT, "%s: lost its command", s->name);
    if (unwanted) return p->ended ? err_set(ERR_STOPPED, "stopped by a signal") : 0;
    if (WIFEXITED(status) && WEXITSTATUS(status))
        return err_set(ERR_INPUT, "%s: the command ended with status %d", s->name,
                       WEXITSTATUS(status));
    if (WIFSIGNALED(status))
        return err_set(ERR_INPUT, "%s: the command was killed by signal %d", s->name,
                       WTERMSIG(status));
    return 0;
}

static const struct source_ops pipe_ops = {pipe_read, pipe_close};

static int pipe_spawn(pid_t *pid, int out, const char *command)
{
    char sh[] = "sh", c[] = "-c", *argv[] = {sh, c, (char *)(uintptr_t)command, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none, usual;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, out, 1);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                        POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attr, &none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE); /* we ignore it; a command that writes to nobody must not */
    posix_spawnattr_setsigdefault(&attr, &usual);
    int rc = posix_spawn(pid, "/bin/sh", &files, &attr, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attr);
    return rc;
}

int pipe_open(struct source **out, const char *name)
{
    int fd[2];
    pid_t pid;
    if (pipe2(fd, O_CLOEXEC)) return err_set(ERR_FAIL, "pipe: %s", strerror(errno));
    fcntl(fd[0], F_SETPIPE_SZ, 1 << 20);
    int rc = pipe_spawn(&pid, fd[1], name + strlen("pipe:"));
    close(fd[1]);
    if (rc) {
        close(fd[0]);
        return err_set(ERR_INPUT, "%s: %s", name, strerror(rc));
    }
    struct pipe_source *p = mem_alloc(sizeof *p);
    p->base.ops = &pipe_ops;
    p->base.size = -1;
    p->fd = fd[0];
    p->pid = pid;
    *out = &p->base;
    return 0;
}
