/* bpe.c - cut a cleaned caption into words and merge each word's bytes into tokens.
 * Words are what open_clip's expression finds: special strings, English contractions, runs of
 * letters, single digits, runs of everything else. A word's pairs wait in a heap by rank, so that
 * a word of a million bytes takes n log n steps. All occurrences of a pair merge before a pair
 * of lower rank that they create gets its turn: this is what the reference does, and it differs
 * from merging one at a time when one string can be made in two ways. */
#include "text/bpe.h"
#include "base/hash.h"
#include "base/mem.h"
#include "text/clean.h"
#include "text/unicode.h"
#include "text/vocab.h"

#include <stdlib.h>
#include <string.h>

enum {
    CACHE_SLOTS = 1 << 14,
    CACHE_KEY = 30,     /* longer words are not kept */
    CACHE_IDS = 8,      /* nor those of more tokens */
    KEEP_BYTES = 65536, /* scratch memory is given back after captions longer than this */
    TEXT_MAX = 1 << 30  /* bytes looked at: positions stay below 2^31 */
};

struct cached {
    uint8_t len, count; /* len 0: empty */
    char key[CACHE_KEY];
    int32_t ids[CACHE_IDS];
};

struct piece {
    uint32_t symbol, prev, next; /* positions; NONE at the ends */
};
#define NONE UINT32_MAX

struct bpe_state {
    const struct bpe *bpe;
    unsigned specials;
    struct clean clean;
    struct cached *cache;
    struct piece *pieces;
    uint64_t *heap, *batch; /* rank << 32 | position */
    size_t cap, waiting;    /* pieces allocated; entries in the heap */
};

struct bpe_state *bpe_state_new(const struct bpe *b, unsigned specials)
{
    struct bpe_state *s = mem_alloc(sizeof *s);
    s->bpe = b;
    s->specials = specials;
    s->cache = mem_alloc(mem_mul(CACHE_SLOTS, sizeof *s->cache));
    return s;
}

static void release_scratch(struct bpe_state *s)
{
    clean_release(&s->clean);
    free(s->pieces);
    free(s->heap);
    free(s->batch);
    s->pieces = NULL, s->heap = s->batch = NULL;
    s->cap = 0;
}

void bpe_state_free(struct bpe_state *s)
{
    if (!s) return;
    release_scratch(s);
    free(s->cache);
    free(s);
}

/* Each piece enters the heap at most once at first and twice per merge. */
static void reserve_pieces(struct bpe_state *s, size_t n)
{
    if (n <= s->cap) return;
    s->cap = n < 256 ? 256 : n;
    s->pieces = mem_resize(s->pieces, mem_mul(s->cap, sizeof *s->pieces));
    s->heap = mem_resize(s->heap, mem_mul(s->cap, 3 * sizeof *s->heap));
    s->batch = mem_resize(s->batch, mem_mul(s->cap, 3 * sizeof *s->batch));
}

static void heap_push(struct bpe_state *s, uint64_t key)
{
    size_t i = s->waiting++;
    for (; i && s->heap[(i - 1) / 2] > key; i = (i - 1) / 2) s->heap[i] = s->heap[(i - 1) / 2];
    s->heap[i] = key;
}

static uint64_t heap_pop(struct bpe_state *s)
{
    uint64_t top = s->heap[0], key = s->heap[--s->waiting];
    size_t i = 0, n = s->waiting;
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && s->heap[child + 1] < s->heap[child]) child++;
        if (s->heap[child] >= key) break;
        s->heap[i] = s->heap[child];
    }
    s->heap[i] = key;
    return top;
}

static const struct merge *merge_at(const struct bpe_state *s, uint32_t i)
{
    if (i == NONE) return NULL;
    const struct piece *p = &s->pieces[i];
    if (p->symbol == NONE || p->next == NONE) return NULL;
    return vocab_merge(s->bpe, p->symbol, s->pieces[p->next].symbol);
}

static void offer(struct bpe_state *s, uint32_t i)
{
    const struct merge *m = merge_at(s, i);
    if (m) heap_push(s, (uint64_t)m->rank << 32 | i);
}

static void merge_pieces(struct bpe_state *s, uint32_t i, uint32_t symbol)
{
    struct piece *left = &s->pieces[i], *right = &s->pieces[left->next];
    left->symbol = symbol;
    left->next = right->next;
    right->symbol = NONE;
    if (left->next != NONE) s->pieces[left->next].prev = i;
    offer(s, left->prev);
    offer(s, i);
}

/* Merge until no pair is known. Entries may be out of date: the rank found now decides. */
static void merge_word(struct bpe_state *s)
{
    while (s->waiting) {
        uint32_t rank = (uint32_t)(s->heap[0] >> 32);
        size_t n = 0;
        while (s->waiting && s->heap[0] >> 32 == rank) s->batch[n++] = heap_pop(s);
        for (size_t k = 0; k < n; k++) {
            uint32_t i = (uint32_t)s->batch[k];
            const struct merge *m = merge_at(s, i);
            if (m && m->rank == rank) merge_pieces(s, i, m->result);
        }
    }
}

/* Tokens of one word, at most `room` of them (the rest is cut). Returns how many there are. */
static size_t encode_word(int32_t *ids, size_t room, struct bpe_state *s, const char *word,
                          size_t n)
{
    const struct bpe *b = s->bpe;
    size_t count = 0;
    reserve_pieces(s, n);
    for (size_t i = 0; i < n; i++) {
        unsigned char byte = (unsigned char)word[i];
        s->pieces[i].symbol = i + 1 == n ? b->last[byte] : b->inner[byte];
        s->pieces[i].prev = i ? (uint32_t)i - 1 : NONE;
        s->pieces[i].next = i + 1 < n ? (uint32_t)i + 1 : NONE;
    }
    s->waiting = 0;
    for (size_t i = 0; i + 1 < n; i++) offer(s, (uint32_t)i);
    merge_word(s);
    for (uint32_t i = 0; i != NONE; i = s->pieces[i].next, count++)
        if (count < room) ids[count] = b->ids[s->pieces[i].symbol];
    return count;
}

/* The same, through the cache. A word that is in the cache never was cut. */
static size_t word_tokens(int32_t *ids, size_t room, struct bpe_state *s, const char *word,
                          size_t n)
{
    int32_t found[CACHE_IDS];
    if (n > CACHE_KEY) return encode_word(ids, room, s, word, n);
    struct cached *c = &s->cache[hash64(word, n) & (CACHE_SLOTS - 1)];
    if (c->len != n || memcmp(c->key, word, n)) {
        size_t count = encode_word(found, CACHE_IDS, s, word, n);
        if (count > CACHE_IDS) return encode_word(ids, room, s, word, n);
        c->len = (uint8_t)n;
        c->count = (uint8_t)count;
        memcpy(c->key, word, n);
        memcpy(c->ids, found, count * sizeof *found);
    }
    size_t fits = c->count < room ? c->count : room;
    memcpy(ids, c->ids, fits * sizeof *ids);
    return c->count;
}

static enum rune_class class_at(size_t *len, const char *p, size_t n)
{
    uint32_t c;
    *len = (size_t)utf8_next(&c, NULL, (const unsigned char *)p, n);
    if (c >= 0x80) return (enum rune_class)(unicode_bits(c) & RUNE_CLASS);
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return RUNE_LETTER;
    if (c >= '0' && c <= '9') return RUNE_NUMBER;
    return c == ' ' || (c >= 9 && c <= 13) ? RUNE_SKIP : RUNE_OTHER;
}

/* Bytes of p that spell `name`, or 0. Case was folded before, except that the expression's
 * case-blindness also takes the long s (U+017F) for an s. */
static size_t spells(const char *p, size_t n, const char *name)
{
    size_t i = 0;
    for (; *name; name++) {
        if (i < n && p[i] == *name)
            i++;
        else if (*name == 's' && n - i >= 2 && !memcmp(p + i, "\xC5\xBF", 2))
            i += 2;
        else
            return 0;
    }
    return i;
}

/* Length of the special string at p and its token in *id (-1: a long s, so an ordinary word). */
static size_t special_length(int32_t *id, const struct bpe_state *s, const char *p, size_t n)
{
    static const char *const names[2][2] = {{"<start_of_text>", "<end_of_text>"},
                                            {"<|startoftext|>", "<|endoftext|>"}};
    for (int family = 0; family < 2; family++) {
        for (int end = 0; end < 2 && s->specials & (1u << family); end++) {
            size_t len = spells(p, n, names[family][end]);
            if (!len) continue;
            *id = len != strlen(names[family][end]) ? -1 : end ? s->bpe->eot : s->bpe->sot;
            return len;
        }
    }
    return 0;
}

static size_t contraction_length(const char *p, size_t n)
{
    static const char *const endings[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
    for (size_t k = 0; k < sizeof endings / sizeof *endings; k++) {
        size_t len = spells(p, n, endings[k]);
        if (len) return len;
    }
    return 0;
}

/* Length of the word at p, 0 for a character between words (*skip bytes). *id is the token of a
 * special string, else -1. */
static size_t word_length(int32_t *id, size_t *skip, const struct bpe_state *s, const char *p,
                          size_t n)
{
    size_t len, more;
    *id = -1;
    if (*p == '<' && (len = special_length(id, s, p, n))) return len;
    if (*p == '\'' && (len = contraction_length(p, n))) return len;
    enum rune_class class = class_at(&len, p, n);
    *skip = len;
    if (class == RUNE_SKIP) return 0;
    if (class == RUNE_NUMBER) return len;
    while (len < n && class_at(&more, p + len, n - len) == class) len += more;
    return len;
}

int bpe_encode(int32_t *ids, struct bpe_state *s, const char *text, size_t n, int context)
{
    const char *p;
    size_t room = context > 2 ? (size_t)context - 2 : 0, count = 0;
    if (n > TEXT_MAX) n = TEXT_MAX;
    size_t len = clean_text(&s->clean, &p, text, n);
    if (context > 1) *ids++ = s->bpe->sot;
    for (size_t i = 0, skip; i < len && count < room;) {
        int32_t id;
        size_t word = word_length(&id, &skip, s, p + i, len - i);
        if (id >= 0)
            ids[count++] = id;
        else if (word)
            count += word_tokens(ids + count, room - count, s, p + i, word);
        i += word ? word : skip;
    }
    if (count > room) count = room;
    ids[count] = s->bpe->eot;
    if (n > KEEP_BYTES) release_scratch(s);
    return (int)count + 1 + (context > 1);
}
