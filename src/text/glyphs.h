/* glyphs.h - the few hundred characters that UTF-8 text turns into when it is read in a
 * single-byte encoding. The sets are ftfy's (Robyn Speer, Apache-2.0), the bytes Python's. */
#ifndef TEXT_GLYPHS_H
#define TEXT_GLYPHS_H

#include "base/platform.h"

/* Categories, one bit each: a pair or triple of certain categories is unlikely in real text. */
enum {
    GLYPH_COMMON = 1 << 0,
    GLYPH_C1 = 1 << 1,
    GLYPH_BAD = 1 << 2,
    GLYPH_LAW = 1 << 3,
    GLYPH_CURRENCY = 1 << 4,
    GLYPH_START = 1 << 5,
    GLYPH_END = 1 << 6,
    GLYPH_NUMERIC = 1 << 7,
    GLYPH_KAOMOJI = 1 << 8,
    GLYPH_UPPER = 1 << 9,  /* accented capitals */
    GLYPH_LOWER = 1 << 10, /* accented small letters */
    GLYPH_UPPER_COMMON = 1 << 11,
    GLYPH_LOWER_COMMON = 1 << 12,
    GLYPH_BOX = 1 << 13
};

/* Clues, one bit each: which byte of a UTF-8 sequence it may have been. */
enum { CLUE_OF_2 = 1, CLUE_OF_3 = 2, CLUE_OF_4 = 4, CLUE_NEXT = 8, CLUE_NEXT_STRICT = 16 };

/* The encodings in the order they are tried. Up to SLOPPY_LAST, U+FFFD stands for a lost byte. */
enum encoding {
    ENCODING_LATIN_1,
    ENCODING_WINDOWS_1252,
    ENCODING_WINDOWS_1251,
    ENCODING_WINDOWS_1250,
    ENCODING_WINDOWS_1253,
    ENCODING_WINDOWS_1254,
    ENCODING_WINDOWS_1257,
    ENCODING_ISO_8859_2,
    ENCODING_MACROMAN,
    ENCODING_CP437,
    ENCODING_COUNT,
    ENCODING_SLOPPY_LAST = ENCODING_WINDOWS_1257
};

struct glyph {
    uint16_t code, category;
    uint8_t clue;
    uint8_t byte[ENCODING_COUNT - 1]; /* from Windows-1252 on; 0: not in that encoding */
};
extern const struct glyph glyphs[]; /* sorted by code */
extern const size_t glyph_count;

const struct glyph *glyph_find(uint32_t code); /* never NULL: a blank row for all others */

#endif
