/* badness.c - does this look like mojibake? After ftfy's heuristic: certain categories of
 * characters hardly ever stand side by side in real text, in any language. One table row per
 * unlikely neighbourhood; rules that name single characters are written out. */
#include "text/glyphs.h"
#include "text/mojibake.h"
#include "text/unicode.h"

#include <wchar.h>

#define ACCENTED    (GLYPH_LOWER | GLYPH_UPPER)
#define PUNCTUATION (GLYPH_START | GLYPH_END)
#define SYMBOLS     (GLYPH_BOX | PUNCTUATION | GLYPH_CURRENCY | GLYPH_NUMERIC | GLYPH_LAW)

const struct glyph *glyph_find(uint32_t code)
{
    static const struct glyph blank;
    size_t low = 0, high = glyph_count;
    if (code < 0x80) return &blank;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (glyphs[mid].code == code) return &glyphs[mid];
        if (glyphs[mid].code < code)
            low = mid + 1;
        else
            high = mid;
    }
    return &blank;
}

/* The text around a position, as the rules see it; behind the end is nothing. */
struct view {
    const uint32_t *p;
    size_t n, i;
    unsigned category[3]; /* of p[i], p[i+1], p[i+2] */
};

static uint32_t at(const struct view *v, size_t k)
{
    return v->i + k < v->n ? v->p[v->i + k] : 0xFFFFFFFF;
}

static int among(uint32_t c, const wchar_t *set)
{
    return c && wcschr(set, (wchar_t)c) != NULL;
}

static int is_small(uint32_t c)
{
    return c >= 'a' && c <= 'z';
}

static int is_latin(uint32_t c)
{
    return is_small(c) || (c >= 'A' && c <= 'Z');
}

static int pair_is_bad(unsigned a, unsigned b)
{
    static const struct {
        unsigned first, second;
    } unlikely[] = {
        {GLYPH_BAD | ACCENTED | SYMBOLS, GLYPH_BAD},
        {GLYPH_BAD, ACCENTED | SYMBOLS},
        {GLYPH_LOWER | GLYPH_LOWER_COMMON | GLYPH_BOX | GLYPH_END | GLYPH_CURRENCY | GLYPH_NUMERIC,
         GLYPH_UPPER},
        {GLYPH_BOX | GLYPH_END | GLYPH_CURRENCY | GLYPH_NUMERIC, GLYPH_LOWER},
        {GLYPH_LOWER | GLYPH_BOX | GLYPH_END, GLYPH_CURRENCY},
        {GLYPH_UPPER | GLYPH_BOX, GLYPH_NUMERIC | GLYPH_LAW},
        {GLYPH_CURRENCY | GLYPH_NUMERIC | GLYPH_BOX, GLYPH_START},
        {GLYPH_BOX, GLYPH_KAOMOJI | GLYPH_END},
        {ACCENTED | GLYPH_CURRENCY | GLYPH_NUMERIC | PUNCTUATION | GLYPH_LAW, GLYPH_BOX},
    };
    for (size_t i = 0; i < sizeof unlikely / sizeof *unlikely; i++)
        if (a & unlikely[i].first && b & unlikely[i].second) return 1;
    return 0;
}

static int triple_is_bad(const struct view *v)
{
    unsigned a = v->category[0], b = v->category[1], c = v->category[2];
    uint32_t first = at(v, 0), third = at(v, 2);
    if (is_latin(first) && b & (GLYPH_LOWER_COMMON | GLYPH_UPPER_COMMON) && c & GLYPH_BAD) return 1;
    if (b & GLYPH_UPPER && c & GLYPH_CURRENCY && (unicode_is_space(first) || is_small(first)))
        return 1;
    if (is_small(first) && b & GLYPH_UPPER && c & GLYPH_START) return 1;
    if (a & (ACCENTED | GLYPH_BOX | GLYPH_CURRENCY | GLYPH_END) && b & GLYPH_START &&
        c & GLYPH_NUMERIC)
        return 1;
    if (a & (ACCENTED | GLYPH_CURRENCY | GLYPH_NUMERIC | GLYPH_BOX | GLYPH_LAW) && b & GLYPH_END &&
        c & GLYPH_START)
        return 1;
    return a & ACCENTED && b & PUNCTUATION && third <= RUNE_MAX && unicode_bits(third) & RUNE_WORD;
}

/* Windows-1252 readings of UTF-8 that the categories miss. */
static int western_is_bad(const struct view *v)
{
    unsigned b = v->category[1];
    uint32_t first = at(v, 0), second = at(v, 1);
    if (second > RUNE_MAX) return 0;
    switch (first) {
    case L'Œ':
    case L'œ': return !is_latin(second);
    case L'Ã':
    case L'Â':
    case L'Î':
    case L'Ð':
        if (b & PUNCTUATION || among(second, L"€œŠš¢£Ÿž\u00A0\u00AD®©°·»–—´")) return 1;
        return v->i == 0 && second == ' ' && (first == L'Ã' || first == L'Â');
    case L'×': return second == L'²' || second == L'³';
    case L'à': return among(second, L"²µ¹¼½¾");
    case L'ā': return second == L'€';
    default: return v->category[0] & GLYPH_UPPER && second == L'°';
    }
}

/* Â or Ã standing for a lost no-break space behind a word. */
static int lost_space_is_bad(const struct view *v)
{
    uint32_t first = at(v, 0), second = at(v, 1), third = at(v, 2);
    if (is_small(first)) {
        size_t k = second <= RUNE_MAX && unicode_is_space(second) ? 2 : 1;
        if ((at(v, k) == L'Ã' || at(v, k) == L'Â') && at(v, k + 1) == ' ') return 1;
    }
    return second == L'Â' &&
           (is_small(first) || among(first, L".,?!") || v->category[0] & GLYPH_END) &&
           (third == ' ' || v->category[2] & PUNCTUATION);
}

static int arabic_tail(uint32_t c, unsigned category)
{
    return category & (GLYPH_COMMON | GLYPH_CURRENCY | GLYPH_BAD | GLYPH_NUMERIC | GLYPH_START) ||
           among(c, L"ŸŠ®°µ»");
}

static int arabic_is_bad(const struct view *v)
{
    uint32_t first = at(v, 0), third = at(v, 2), fourth = at(v, 3);
    return (first == L'Ø' || first == L'Ù') && (third == L'Ø' || third == L'Ù') &&
           arabic_tail(at(v, 1), v->category[1]) &&
           arabic_tail(fourth, glyph_find(fourth)->category);
}

static int macroman_is_bad(const struct view *v)
{
    uint32_t second = at(v, 1), third = at(v, 2);
    switch (at(v, 0)) {
    case L'√': return among(second, L"±∂†≠®™´≤≥¥µø");
    case L'≈': return second == L'°' || second == L'¢';
    case L'‚':
        return (second == L'Ä' && among(third, L"ìîïòôúùû†°¢π")) ||
               ((second == L'â' || second == L'ó') && among(third, L"àä°ê"));
    default: return 0;
    }
}

/* Windows-1251 and -1253 readings: common letters, so three in a row are asked for. */
static int eastern_is_bad(const struct view *v)
{
    static const wchar_t cyrillic[] = L"ВГРС", greek[] = L"ΒΓΞΟ";
    const unsigned between = GLYPH_C1 | GLYPH_BAD | PUNCTUATION | GLYPH_CURRENCY;
    uint32_t first = at(v, 0), second = at(v, 1), third = at(v, 2);
    int odd = v->category[1] & between || second == L'°';
    if (among(first, cyrillic) && (odd || second == L'µ') && among(third, cyrillic)) return 1;
    if (among(first, greek) && odd && among(third, greek)) return 1;
    if (first == L'в' && second == L'Ђ') return 1;
    if (first == L'β' && second == L'€' && among(third, L"™\u00A0Ά\u00AD®°")) return 1;
    if (first != L'Г' || second != L'ў' || third != L'В' || at(v, 3) != L'Ђ' || at(v, 4) != L'В')
        return 0;
    return at(v, 5) <= RUNE_MAX && at(v, 5) != '\n' && (is_latin(at(v, 6)) || at(v, 6) == ' ');
}

int mojibake_likely(const uint32_t *p, size_t n)
{
    struct view v = {p, n, 0, {0}};
    v.category[1] = n > 0 ? glyph_find(p[0])->category : 0;
    v.category[2] = n > 1 ? glyph_find(p[1])->category : 0;
    for (; v.i < n; v.i++) {
        v.category[0] = v.category[1];
        v.category[1] = v.category[2];
        v.category[2] = v.i + 2 < n ? glyph_find(p[v.i + 2])->category : 0;
        if (v.category[0] & GLYPH_C1) return 1;
        if (!(v.category[0] | v.category[1] | v.category[2])) continue; /* no rule can hold */
        if (pair_is_bad(v.category[0], v.category[1]) || triple_is_bad(&v) || western_is_bad(&v) ||
            lost_space_is_bad(&v) || arabic_is_bad(&v) || macroman_is_bad(&v) || eastern_is_bad(&v))
            return 1;
    }
    return 0;
}
