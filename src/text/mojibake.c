/* mojibake.c - see mojibake.h. The idea of ftfy: if the text can be written in a single-byte
 * encoding, and the bytes then are UTF-8, someone confused the two; real text in those encodings
 * hardly ever is valid UTF-8. Where no encoding fits the whole text, the sequences that look like
 * UTF-8 are taken one by one. */
#include "text/mojibake.h"
#include "text/glyphs.h"
#include "text/html.h"

#include <string.h>

enum { ROUNDS = 64 }; /* layers of mojibake that are taken off; real text has three at most */

/* Byte classes of the two pattern tables below, one letter each. */
static int byte_is(char class, unsigned char b)
{
    int next = b >= 0x80 && b <= 0xBF;
    switch (class) {
    case ' ': return b == ' ';
    case '?': return b == '?';
    case 'z': return b == 0x1A; /* stands for a byte that was lost */
    case 'q': return b == 0x1A || b == '?';
    case 'n': return next;
    case 'm': return next && b != 0x85 && b != 0xA0;
    case 'k': return next || b == 0x1A;
    case 'x': return next || b == 0x1A || b == '?';
    case 'h': return b >= 0xA0 && b <= 0xAF;
    case 'l': return b >= 0xB0 && b <= 0xBF;
    case 'a': return b && strchr("\xC2\xC3\xC5\xCE\xD0\xD9", b) != NULL;
    case 'b': return b == 0xE2 || b == 0xE3;
    case 'c': return b >= 0xE0 && b <= 0xE3;
    case 'd': return b == 0xED;
    case 'f': return b == 0xF0;
    case '1': return b == 0xC2 || b == 0xC3;
    case '2': return b >= 0xC2 && b <= 0xDF;
    case '3': return b >= 0xE0 && b <= 0xEF;
    default: return b >= 0xF0 && b <= 0xF4;
    }
}

/* Length of the first pattern that the bytes begin with, or 0. */
static size_t match(const char *const *patterns, const char *p, size_t n)
{
    for (; *patterns; patterns++) {
        size_t i = 0, len = strlen(*patterns);
        while (i < len && i < n && byte_is((*patterns)[i], (unsigned char)p[i])) i++;
        if (i == len) return len;
    }
    return 0;
}

/* "Ã " mostly was "à ", whose no-break space became one with the space behind it: both are put
 * back, save before the Portuguese contractions of à. */
static int is_a_grave(const char *p, size_t n)
{
    static const char *const joined[] = {" ", "quele", "quela", "quilo", "s "};
    if (n < 2 || (unsigned char)p[0] != 0xC3 || p[1] != ' ') return 0;
    for (int i = 0; i < 5; i++) {
        size_t len = strlen(joined[i]);
        if (n - 2 >= len && !memcmp(p + 2, joined[i], len)) return 0;
    }
    return 1;
}

/* Put back bytes A0 that a program took for spaces, where that completes a UTF-8 sequence. */
static void restore_spaces(struct str *bytes, struct str *spare)
{
    static const char *const altered[] = {"a ", "b m", "cm ", "f nn", "fn n", "fnn ", NULL};
    size_t len;
    str_clear(spare);
    for (size_t i = 0; i < bytes->len; i++) {
        str_putc(spare, bytes->p[i]);
        if (is_a_grave(bytes->p + i, bytes->len - i)) str_putc(spare, (char)0xA0);
    }
    for (size_t i = 0; i < spare->len; i += len ? len : 1) {
        len = match(altered, spare->p + i, spare->len - i);
        for (size_t k = 0; k < len; k++)
            if (spare->p[i + k] == ' ') spare->p[i + k] = (char)0xA0;
    }
    struct str t = *bytes;
    *bytes = *spare, *spare = t;
}

/* Sequences in which a byte was lost become U+FFFD. */
static void replace_lost(struct str *bytes, struct str *spare)
{
    static const char *const lost[] = {"2z",   "1?",   "dhqdlx", "dhxdlq", "3qk", "3kq",
                                       "4qkk", "4kqk", "4kkq",   "z",      NULL};
    str_clear(spare);
    for (size_t i = 0; i < bytes->len;) {
        size_t len = match(lost, bytes->p + i, bytes->len - i);
        if (len)
            str_puts(spare, "\xEF\xBF\xBD");
        else
            str_putc(spare, bytes->p[i]);
        i += len ? len : 1;
    }
    struct str t = *bytes;
    *bytes = *spare, *spare = t;
}

/* UTF-8, or its relatives: Java's C0 80 for NUL, and surrogate pairs of three bytes each. ftfy
 * takes a newline at the very end for the last byte of either. 0 when the bytes are neither. */
static int decode_variants(struct runes *out, const struct str *bytes)
{
    const unsigned char *p = (const unsigned char *)bytes->p;
    size_t n = bytes->len;
    runes_clear(out);
    for (size_t i = 0; i < n;) {
        uint32_t c;
        int valid;
        if (p[i] == 0xC0 && i + 1 < n && (p[i + 1] == 0x80 || (p[i + 1] == '\n' && i + 2 == n))) {
            runes_put(out, 0);
            i += 2;
        } else if (n - i >= 6 && match((const char *const[]){"dhndl", NULL}, bytes->p + i, 5) &&
                   (byte_is('n', p[i + 5]) || (p[i + 5] == '\n' && i + 6 == n))) {
            runes_put(out, 0x10000 + ((p[i + 1] & 0x0Fu) << 16) + ((p[i + 2] & 0x3Fu) << 10) +
                               ((p[i + 4] & 0x0Fu) << 6) + (p[i + 5] & 0x3Fu));
            i += 6;
        } else {
            i += (size_t)utf8_next(&c, &valid, p + i, n - i);
            if (!valid) return 0;
            runes_put(out, c);
        }
    }
    return 1;
}

/* The text as bytes of that encoding; 0 when it has other characters. */
static int encode(struct str *out, const struct runes *text, enum encoding e)
{
    int sloppy = e != ENCODING_LATIN_1 && e <= ENCODING_SLOPPY_LAST;
    str_clear(out);
    str_reserve(out, text->n);
    for (size_t i = 0; i < text->n; i++) {
        uint32_t c = text->p[i], b = c;
        if (c >= 0x80 && e != ENCODING_LATIN_1) b = glyph_find(c)->byte[e - 1];
        if ((c >= 0x80 && !b) || b > 0xFF || (sloppy && c == 0x1A)) return 0;
        out->p[out->len++] = (char)b;
    }
    return 1;
}

/* Was the whole text UTF-8, read in encoding e? */
static int decode_as(struct mojibake *m, struct runes *fixed, const struct runes *text,
                     enum encoding e)
{
    if (!encode(&m->bytes, text, e)) return 0;
    if (e != ENCODING_MACROMAN) restore_spaces(&m->bytes, &m->altered);
    if (e != ENCODING_LATIN_1 && e <= ENCODING_SLOPPY_LAST) replace_lost(&m->bytes, &m->altered);
    return decode_variants(fixed, &m->bytes);
}

static int clue(const struct runes *text, size_t i)
{
    return i < text->n ? text->p[i] == ' ' ? CLUE_NEXT : glyph_find(text->p[i])->clue : 0;
}

/* Length of the run of UTF-8 look-alikes that starts at i, or 0. */
static size_t run_length(const struct runes *text, size_t i)
{
    size_t j = i;
    if (i && clue(text, i - 1) & CLUE_NEXT_STRICT) return 0;
    for (;;) {
        int first = clue(text, j), more = 0;
        while (more < 3 && clue(text, j + 1 + (size_t)more) & CLUE_NEXT) more++;
        if (first & CLUE_OF_2 && more >= 1)
            j += 2;
        else if (first & CLUE_OF_3 && more >= 2)
            j += 3;
        else if (first & CLUE_OF_4 && more >= 3)
            j += 4;
        else
            return j - i;
    }
}

/* Repair the look-alikes one run at a time, for text that is no mojibake as a whole. */
static void decode_pieces(struct mojibake *m, struct runes *fixed, const struct runes *text)
{
    struct runes *piece = &m->piece[m->depth];
    runes_clear(fixed);
    for (size_t i = 0; i < text->n;) {
        size_t len = run_length(text, i);
        if (!len) {
            runes_put(fixed, text->p[i++]);
            continue;
        }
        runes_clear(piece);
        runes_add(piece, text->p + i, len);
        if (len < text->n && m->depth + 1 < MOJIBAKE_DEPTH && mojibake_likely(piece->p, len)) {
            m->depth++;
            mojibake_fix(m, piece);
            m->depth--;
        }
        runes_add(fixed, piece->p, piece->n);
        i += len;
    }
}

/* Control characters U+0080..9F become what Windows-1252 has there. */
static void fix_controls(struct runes *fixed, const struct runes *text)
{
    runes_clear(fixed);
    for (size_t i = 0; i < text->n; i++) {
        uint32_t c = text->p[i];
        runes_put(fixed, c >= 0x80 && c <= 0x9F ? html_windows_1252(c) : c);
    }
}

static int is_ascii(const struct runes *text)
{
    for (size_t i = 0; i < text->n; i++)
        if (text->p[i] >= 0x80) return 0;
    return 1;
}

/* One layer off: 1 when the text changed. */
static int fix_step(struct mojibake *m, struct runes *text)
{
    struct runes *fixed = &m->fixed[m->depth];
    if (is_ascii(text) || !mojibake_likely(text->p, text->n)) return 0;
    int found = 0;
    for (int e = 0; e < ENCODING_COUNT && !found; e++)
        found = decode_as(m, fixed, text, (enum encoding)e);
    if (!found) {
        decode_pieces(m, fixed, text);
        found = !runes_equal(fixed, text);
    }
    if (!found) fix_controls(fixed, text);
    found = !runes_equal(fixed, text);
    runes_swap(fixed, text);
    return found;
}

int mojibake_fix(struct mojibake *m, struct runes *text)
{
    int rounds = 0;
    while (rounds < ROUNDS && fix_step(m, text)) rounds++;
    return rounds > 0;
}

void mojibake_release(struct mojibake *m)
{
    str_release(&m->bytes);
    str_release(&m->altered);
    for (int i = 0; i < MOJIBAKE_DEPTH; i++) {
        runes_release(&m->fixed[i]);
        runes_release(&m->piece[i]);
    }
    *m = (struct mojibake){0};
}
