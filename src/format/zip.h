/* zip.h - the members of a zip archive in memory, as torch and numpy write it.
 * The central directory is believed only where each local header says the same, no name comes
 * twice and no two members share a byte: an archive that two readers could see differently is
 * refused. zip64 is read; encryption and split archives are not. */
#ifndef FORMAT_ZIP_H
#define FORMAT_ZIP_H

#include "base/arena.h"
#include "base/map.h"

enum { ZIP_STORED = 0, ZIP_DEFLATED = 8, ZIP_ENTRIES_MAX = 1 << 20 };

struct zip_entry {
    const char *name;          /* NUL-terminated */
    const unsigned char *data; /* `packed` bytes inside the archive */
    uint64_t packed, size;     /* equal when stored */
    uint64_t start;            /* of the local header */
    uint32_t crc;
    int method; /* ZIP_STORED or ZIP_DEFLATED */
};

struct zip {
    struct zip_entry *list; /* in order of the central directory */
    size_t count;
    struct map index;
    struct arena arena;
};

int zip_init(struct zip *z, const void *p, size_t n); /* borrows p; ERR_INPUT */
void zip_release(struct zip *z);
const struct zip_entry *zip_find(const struct zip *z, const char *name); /* NULL when absent */

/* Does it look like an archive at all? */
int zip_is(const void *p, size_t n);

/* A deflated member into dst, e->size bytes of it, crc checked. Sizes beyond what deflate can
 * reach were refused by zip_init; the caller bounds e->size before it allocates. */
int zip_inflate(void *dst, const struct zip_entry *e);
int zip_check(const struct zip_entry *e, const void *bytes); /* ERR_INPUT: the crc disagrees */

#endif
