/* place.h - a folder of files that become visible only when whole: a local folder now, an S3
 * prefix by the same calls. Names are relative, with '/' between parts. */
#ifndef IO_PLACE_H
#define IO_PLACE_H

#include "base/str.h"
#include "io/file.h"
#include "io/sink.h"

struct place;

/* create: make the folder when it is missing, and prove that it can be written to. */
int place_open(struct place **out, const char *url, int create);
void place_close(struct place *p);
const char *place_url(const struct place *p);

int place_create(struct place *p, const char *name, struct sink **out); /* folders are made */
int place_exists(struct place *p, const char *name,
                 uint64_t *size); /* 1 when there; size may be NULL */
/* A short text that changes when the file does: size and time; an ETag in a bucket. ERR_INPUT. */
int place_stamp(struct place *p, const char *name, char out[65]);
int place_read(struct place *p, const char *name, struct str *out, size_t limit);
int place_map(struct place *p, const char *name, struct file_map *out);
/* A descriptor for reading here and there; the caller closes it. ERR_INPUT. */
int place_fd(struct place *p, const char *name, int *fd);
int place_remove(struct place *p, const char *name); /* 0 also when it was not there */

/* An empty folder goes; one that is not empty, or not there, is left as it is. */
int place_remove_folder(struct place *p, const char *name);

/* Is it a name inside a place: relative, no empty or ".." part? For names read from files. */
int place_name_ok(const char *name);

/* Remove temp files whose writer is gone. Files being written are left alone. */
int place_sweep(struct place *p, int *removed);

/* Names in a folder, sorted by bytes, without the folder's own name; files only.
 * A missing folder is empty. */
struct names {
    char **list;
    size_t count, cap;
};
int place_list(struct place *p, const char *folder, struct names *out);
void names_add(struct names *n, const char *name);
void names_sort(struct names *n);
void names_release(struct names *n);

/* A nameless file for spilling what does not fit in memory; gone when the fd is closed. */
int place_scratch(struct place *p, int *fd);

/* Small whole files, committed in one call. */
int place_write(struct place *p, const char *name, const void *data, size_t n);

#endif
