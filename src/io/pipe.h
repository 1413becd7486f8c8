/* pipe.h - `pipe:COMMAND`: the output of a shell command, as webdataset users write it. */
#ifndef IO_PIPE_H
#define IO_PIPE_H

#include "io/source.h"

/* Starts the command. Closing reports ERR_INPUT when it failed; 141 and SIGPIPE count as
 * success only if we stopped reading before its end. */
int pipe_open(struct source **out, const char *name);

#endif
