/* unicode.h - what the tokenizer asks about a code point, answered as open_clip's libraries would:
 * Python 3.11's str and re (Unicode 14) and the regex module. Composition and simple case pairs
 * come from utf8proc, whose Unicode may be newer: code points that Unicode 14 did not know are
 * kept away from it. */
#ifndef TEXT_UNICODE_H
#define TEXT_UNICODE_H

#include "text/utf8.h"

/* The four ways the tokenizer's expression treats a character; skip is \s and U+0345, which
 * regex matches with none of its classes. */
enum rune_class { RUNE_OTHER, RUNE_LETTER, RUNE_NUMBER, RUNE_SKIP };
enum {
    RUNE_CLASS = 3,     /* mask of the above */
    RUNE_ASSIGNED = 4,  /* in Unicode 14 */
    RUNE_WORD = 8,      /* Python re's \w */
    RUNE_DIGIT = 16,    /* Python re's \d */
    RUNE_CASED = 32,    /* ends the search for the end of a word behind a capital sigma */
    RUNE_IGNORABLE = 64 /* is passed over in that search */
};

unsigned unicode_bits(uint32_t c); /* RUNE_ bits */
int unicode_is_space(uint32_t c);  /* str.isspace(): what split() and strip() remove */

void unicode_lower(struct runes *out, const uint32_t *p, size_t n); /* appends str.lower() */
void unicode_upper(struct runes *out, uint32_t c);                  /* appends a simple capital */

/* Append NFC of the text. Linear in n even for floods of combining marks. */
void unicode_nfc(struct runes *out, const uint32_t *p, size_t n);

/* Full- and half-width forms to their ordinary ones, U+3000 to a space: appends the result. */
void unicode_width(struct runes *out, uint32_t c);

/* unidata.c */
extern const uint32_t unicode_ranges[];
extern const size_t unicode_range_count;
extern const uint16_t unicode_widths[240];

#endif
