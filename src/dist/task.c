/* task.c - see task.h. */
#include "dist/task.h"
#include "base/err.h"

#include <stdio.h>

int task_parse(struct task *t, const char *text)
{
    long long i, n;
    char rest;
    if (sscanf(text, "%lld/%lld%c", &i, &n, &rest) != 2 || n < 1 || i < 0 || i >= n)
        return err_set(ERR_USAGE, "--task takes I/N with 0 <= I < N, not '%s'", text);
    *t = (struct task){i, n};
    return 0;
}
