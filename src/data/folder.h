/* folder.h - a folder of pictures, with captions (.txt) and metadata (.json) beside them, read
 * as samples. Recursive; hidden names are passed over; links to folders are followed, every
 * folder is entered once. */
#ifndef DATA_FOLDER_H
#define DATA_FOLDER_H

#include "base/arena.h"
#include "base/hash.h"
#include "data/sample.h"

struct folder;

/* List everything below path. Samples are the pictures (jpg jpeg png webp gif bmp, any case), each
 * with the .txt and .json of the same path without extension, and .txt files without a picture.
 * They stand in byte order of their keys. ERR_INPUT when a folder cannot be read. */
int folder_open(struct folder **out, const char *path, uint32_t index);
void folder_close(struct folder *f); /* NULL is fine */
size_t folder_count(const struct folder *f);
size_t folder_captions(const struct folder *f); /* .txt files */
size_t folder_ignored(const struct folder *f);  /* files that are none of these */

/* Sample i, its files loaded into the arena: 0, or ERR_DATA for a bad one (too_large: a file over
 * the limit, 0 = 2 GiB; duplicate_member: two captions or metadata files that differ only in
 * case), or ERR_INPUT. The key is the path below the folder without extension; with it when
 * pictures differ in nothing else. */
int folder_load(const struct folder *f, struct sample *s, struct arena *a, size_t i,
                uint64_t limit);

/* Every path below the folder with its size, in order: what it holds, as a hash. */
struct sha256;
void folder_hash(const struct folder *f, struct sha256 *h);

/* The pictures of several folders as one list. Zeroed is empty. */
struct folders {
    struct folder **list;
    size_t *first; /* number of a folder's first picture */
    size_t count, pictures;
};
struct names;
int folders_open(struct folders *f, const struct names *paths);
void folders_close(struct folders *f);
size_t folders_find(const struct folders *f, size_t i); /* which folder picture i is in */
int folders_load(const struct folders *f, struct sample *s, struct arena *a, size_t i,
                 uint64_t limit); /* as folder_load */

/* Call visit(arg, path below root) for every file, in no order, until it returns non-zero. */
int folder_walk(const char *root, int (*visit)(void *arg, const char *path), void *arg);

int folder_is_picture(const char *name); /* by its extension */

#endif
