/* mojibake.h - repair text that was UTF-8, was read as something else, and was written again
 * ("cafÃ©" -> "café"), exactly as ftfy 6.3's fix_encoding decides it. */
#ifndef TEXT_MOJIBAKE_H
#define TEXT_MOJIBAKE_H

#include "text/utf8.h"

/* Does the text hold a sequence of characters that real text hardly ever has? */
int mojibake_likely(const uint32_t *p, size_t n);

/* Memory of the repair; zeroed is ready. One per thread. A piece of broken text inside the text
 * is repaired by itself, and may again hold one; each is at most half as long as what it came
 * from, so the levels cannot run out below 2^MOJIBAKE_DEPTH characters. */
enum { MOJIBAKE_DEPTH = 20 };
struct mojibake {
    struct str bytes, altered;
    struct runes fixed[MOJIBAKE_DEPTH], piece[MOJIBAKE_DEPTH];
    int depth;
};
void mojibake_release(struct mojibake *m);

/* Repair in place until nothing changes. 1 when something did. */
int mojibake_fix(struct mojibake *m, struct runes *text);

#endif
