/* clean.c - see clean.h. Most captions are plain ASCII, which every step but the last two leaves
 * alone, so these go through one table. All others become code points; ftfy's steps are repeated
 * on each line until nothing changes. */
#include "text/clean.h"
#include "text/html.h"
#include "text/unicode.h"

#include <string.h>

enum {
    ROUNDS = 64,         /* text that still changes then was built to do so */
    LINE_RUNES = 1000000 /* code points that ftfy looks at together */
};

/* Ligatures and digraphs of Latin letters, and what they are made of. */
static const struct {
    uint16_t code, parts[3];
} ligatures[] = {
    {0x132, {'I', 'J'}},       {0x133, {'i', 'j'}},       {0x149, {0x2BC, 'n'}},
    {0x1C4, {'D', 0x17D}},     {0x1C5, {'D', 0x17E}},     {0x1C6, {'d', 0x17E}},
    {0x1C7, {'L', 'J'}},       {0x1C8, {'L', 'j'}},       {0x1C9, {'l', 'j'}},
    {0x1CA, {'N', 'J'}},       {0x1CB, {'N', 'j'}},       {0x1CC, {'n', 'j'}},
    {0x1F1, {'D', 'Z'}},       {0x1F2, {'D', 'z'}},       {0x1F3, {'d', 'z'}},
    {0xFB00, {'f', 'f'}},      {0xFB01, {'f', 'i'}},      {0xFB02, {'f', 'l'}},
    {0xFB03, {'f', 'f', 'i'}}, {0xFB04, {'f', 'f', 'l'}}, {0xFB05, {0x17F, 't'}},
    {0xFB06, {'s', 't'}},
};

static int ligature_find(uint32_t c)
{
    if (c < 0x132 || (c > 0x1F3 && c < 0xFB00) || c > 0xFB06) return -1;
    for (int i = 0; i < (int)(sizeof ligatures / sizeof *ligatures); i++)
        if (ligatures[i].code == c) return i;
    return -1;
}

static uint32_t plain_mark(uint32_t c) /* curly quotes and line separators made plain */
{
    if (c == 0x2BC || (c >= 0x2018 && c <= 0x201B)) return '\'';
    if (c >= 0x201C && c <= 0x201F) return '"';
    return c == 0x2028 || c == 0x2029 || c == '\r' ? '\n' : c;
}

static int is_control(uint32_t c)
{
    return c < 9 || c == 0xB || (c >= 0xE && c < 0x20) || c == 0x7F ||
           (c >= 0x206A && c <= 0x206F) || c == 0xFEFF || (c >= 0xFFF9 && c <= 0xFFFC);
}

/* The fixes that look at one character: C1 controls, ligatures, width, quotes, line ends.
 * Returns 1 when there are control characters to remove. */
static int translate(struct runes *out, const struct runes *in)
{
    int controls = 0;
    runes_clear(out);
    for (size_t i = 0; i < in->n; i++) {
        uint32_t c = in->p[i];
        if (c == '\r' && i + 1 < in->n && in->p[i + 1] == '\n') continue;
        if (c >= 0x80 && c <= 0x9F) c = html_windows_1252(c);
        controls |= is_control(c);
        int row = ligature_find(c);
        if (row >= 0) {
            for (int k = 0; k < 3 && ligatures[row].parts[k]; k++)
                runes_put(out, plain_mark(ligatures[row].parts[k]));
        } else if (c >= 0x3000) {
            unicode_width(out, c);
        } else {
            runes_put(out, plain_mark(c));
        }
    }
    return controls;
}

/* Length of the terminal escape sequence at p, or 0: ESC [ digits and semicolons, a letter. */
static size_t escape_length(const uint32_t *p, size_t n)
{
    size_t i = 2;
    if (n < 3 || p[0] != 0x1B || p[1] != '[') return 0;
    while (i < n && (p[i] == ';' || unicode_bits(p[i]) & RUNE_DIGIT)) i++;
    if (i == n) return 0;
    return (p[i] >= 'a' && p[i] <= 'z') || (p[i] >= 'A' && p[i] <= 'Z') ? i + 1 : 0;
}

static void remove_controls(struct runes *text)
{
    size_t n = 0;
    for (size_t i = 0; i < text->n;) {
        size_t len = escape_length(text->p + i, text->n - i);
        if (!len && !is_control(text->p[i])) text->p[n++] = text->p[i];
        i += len ? len : 1;
    }
    text->n = n;
}

/* One line through ftfy's fix_and_explain: c->text is repaired in place. Surrogates need no fix:
 * decoding let none in, and nothing makes one. */
static void fix_line(struct clean *c, int unescape)
{
    for (int round = 0; round < ROUNDS; round++) {
        runes_clear(&c->before);
        runes_add(&c->before, c->text.p, c->text.n);
        if (unescape) {
            runes_clear(&c->next);
            html_fix(&c->next, c->text.p, c->text.n);
            runes_swap(&c->next, &c->text);
        }
        mojibake_fix(&c->mojibake, &c->text);
        if (translate(&c->next, &c->text)) remove_controls(&c->next);
        runes_clear(&c->text);
        unicode_nfc(&c->text, c->next.p, c->next.n);
        if (runes_equal(&c->text, &c->before)) return;
    }
}

/* All lines; entities stay from the first line on that holds a '<', which may be real HTML. */
static void fix_lines(struct clean *c, const struct runes *in)
{
    int unescape = 1;
    runes_clear(&c->result);
    for (size_t from = 0, end; from < in->n; from = end) {
        for (end = from; end < in->n && end - from < LINE_RUNES;) {
            if (in->p[end] == '<') unescape = 0;
            if (in->p[end++] == '\n') break;
        }
        runes_clear(&c->text);
        runes_add(&c->text, in->p + from, end - from);
        fix_line(c, unescape);
        runes_add(&c->result, c->text.p, c->text.n);
    }
}

static void unescape_again(struct clean *c)
{
    size_t i = 0;
    while (i < c->result.n && c->result.p[i] != '&') i++;
    if (i == c->result.n) return;
    runes_clear(&c->next);
    html_unescape(&c->next, c->result.p, c->result.n);
    runes_swap(&c->next, &c->result);
}

static void collapse_spaces(struct runes *text)
{
    size_t n = 0;
    int space = 0;
    for (size_t i = 0; i < text->n; i++) {
        if (unicode_is_space(text->p[i])) {
            space = n > 0;
        } else {
            uint32_t c = text->p[i];
            if (space) text->p[n++] = ' ';
            text->p[n++] = c;
            space = 0;
        }
    }
    text->n = n;
}

/* Plain ASCII without '&' needs two steps only. 0 when the text is something else. */
static int clean_ascii(struct clean *c, const char *text, size_t n)
{
    int space = 0;
    str_clear(&c->out);
    str_reserve(&c->out, n);
    char *to = c->out.p;
    for (size_t i = 0; i < n; i++) {
        unsigned char b = (unsigned char)text[i];
        if (b == ' ' || b == '\t' || b == '\n' || b == '\r' || b == '\f') {
            space = to > c->out.p;
            continue;
        }
        if (b <= ' ' || b >= 0x7F || b == '&') return 0;
        if (space) *to++ = ' ';
        *to++ = (char)(b >= 'A' && b <= 'Z' ? b + 32 : b);
        space = 0;
    }
    *to = 0;
    c->out.len = (size_t)(to - c->out.p);
    return 1;
}

static void fix_bytes(struct clean *c, const char *text, size_t n)
{
    runes_clear(&c->in);
    utf8_decode(&c->in, text, n);
    fix_lines(c, &c->in);
}

size_t clean_fix(struct clean *c, const char **out, const char *text, size_t n)
{
    fix_bytes(c, text, n);
    str_clear(&c->out);
    utf8_encode(&c->out, c->result.p, c->result.n);
    *out = c->out.p;
    return c->out.len;
}

size_t clean_text(struct clean *c, const char **out, const char *text, size_t n)
{
    if (!clean_ascii(c, text, n)) {
        fix_bytes(c, text, n);
        unescape_again(c);
        unescape_again(c);
        collapse_spaces(&c->result);
        runes_clear(&c->next);
        unicode_lower(&c->next, c->result.p, c->result.n);
        str_clear(&c->out);
        utf8_encode(&c->out, c->next.p, c->next.n);
    }
    *out = c->out.p;
    return c->out.len;
}

void clean_release(struct clean *c)
{
    runes_release(&c->in);
    runes_release(&c->text);
    runes_release(&c->next);
    runes_release(&c->before);
    runes_release(&c->result);
    mojibake_release(&c->mojibake);
    str_release(&c->out);
    *c = (struct clean){0};
}
