/* file.h - whole local files: mapped or read. */
#ifndef IO_FILE_H
#define IO_FILE_H

#include "base/platform.h"
#include "base/str.h"

struct file_map {
    const unsigned char *p;
    size_t n;
};

int file_map(struct file_map *m, const char *path); /* ERR_INPUT; an empty file maps to n = 0 */
void file_unmap(struct file_map *m);
int file_read(struct str *out, const char *path, size_t limit); /* ERR_INPUT when larger */
int file_exists(const char *path);                              /* 0 no, 1 file, 2 folder */

#endif
