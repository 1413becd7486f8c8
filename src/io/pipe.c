/* pipe.c - a child shell whose standard output we read. The child gets its own process
 * group, so that stopping us stops all it started. */
#include "io/pipe.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/stop.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
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
    struct pollfd ready = {p->fd, POLLIN, 0};
    ssize_t got;
    while (poll(&ready, 1, 200) <= 0)
        if (stop_wait_over()) return err_set(ERR_STOPPED, "stopped by a signal");
    do got = read(p->fd, buf, n);
    while (got < 0 && errno == EINTR);
    if (got < 0) return err_set(ERR_INPUT, "%s: %s", s->name, strerror(errno));
    if (!got) p->ended = 1;
    return got;
}

static int pipe_close(struct source *s)
{
    struct pipe_source *p = (struct pipe_source *)s;
    int status = 0;
    close(p->fd);
    if (!p->ended) kill(-p->pid, SIGTERM);
    while (waitpid(p->pid, &status, 0) < 0)
        if (errno != EINTR) return err_set(ERR_INPUT, "%s: lost its command", s->name);
    if (!p->ended) return 0;
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
    sigset_t none;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, out, 1);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attr, &none);
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
