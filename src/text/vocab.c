/* vocab.c - read a BPE vocabulary. Two layouts: a list of merges whose order gives both ranks and
 * ids (OpenAI, open_clip), or HF's vocab.json for the ids beside merges.txt for the ranks.
 * Where a string or a pair is listed twice the later one counts, as in Python's dictionaries. */
#include "text/vocab.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "io/file.h"
#include "text/utf8.h"

#include <dirent.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
    MERGES_USED = 49152 - 256 - 2, /* of the standard list, which has five times as many */
    ID_LIMIT = 1 << 24,
    FILE_LIMIT = 64 << 20
};

/* What loading needs and the finished vocabulary does not. */
struct loader {
    struct bpe *bpe;
    struct map symbols; /* string -> 1 + symbol */
    size_t cap;         /* of bpe->ids */
    struct str joined;
};

static uint32_t symbol_of(struct loader *l, const char *s, size_t n)
{
    uint64_t *at = map_at(&l->symbols, s, n, 1);
    if (*at) return (uint32_t)*at - 1;
    uint32_t symbol = (uint32_t)l->symbols.count - 1;
    vec_push(l->bpe->ids, symbol, l->cap);
    l->bpe->ids[symbol] = -1;
    *at = symbol + 1;
    return symbol;
}

/* The printable character that stands for a byte: itself, or the next one from U+0100 on. */
static int byte_is_printable(int byte)
{
    return (byte >= 33 && byte <= 126) || (byte >= 161 && byte != 173);
}

/* Make the 512 byte symbols; in vocabulary order they have the ids 0..511. */
static void add_bytes(struct loader *l, int give_ids)
{
    int place = 0, moved = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int byte = 0; byte < 256; byte++) {
            char name[16];
            if (byte_is_printable(byte) == pass) continue;
            size_t n = (size_t)utf8_put(name, pass ? 256 + (uint32_t)moved++ : (uint32_t)byte);
            l->bpe->inner[byte] = symbol_of(l, name, n);
            memcpy(name + n, "</w>", 4);
            l->bpe->last[byte] = symbol_of(l, name, n + 4);
            if (give_ids) {
                l->bpe->ids[l->bpe->inner[byte]] = place;
                l->bpe->ids[l->bpe->last[byte]] = 256 + place;
            }
            place++;
        }
    }
}

static size_t merge_slot(const struct bpe *b, uint64_t pair)
{
    size_t i = (size_t)((pair * 0x9e3779b97f4a7c15u) >> 32) & (b->nslots - 1);
    while (b->slots[i].pair != pair && b->slots[i].pair != VOCAB_FREE)
        i = (i + 1) & (b->nslots - 1);
    return i;
}

const struct merge *vocab_merge(const struct bpe *b, uint32_t left, uint32_t right)
{
    const struct merge *m = &b->slots[merge_slot(b, (uint64_t)left << 32 | right)];
    return m->pair == VOCAB_FREE ? NULL : m;
}

static void make_slots(struct bpe *b, size_t merges)
{
    for (b->nslots = 64; b->nslots < 2 * merges;) b->nslots *= 2;
    b->slots = mem_alloc(mem_mul(b->nslots, sizeof *b->slots));
    for (size_t i = 0; i < b->nslots; i++) b->slots[i].pair = VOCAB_FREE;
}

static int is_blank(char c)
{
    return c == ' ' || (c >= 9 && c <= 13);
}

/* Next run of non-blanks in [*p, end): its length, and *p at its start. */
static size_t next_word(const char **p, const char *end)
{
    const char *q;
    while (*p < end && is_blank(**p)) ++*p;
    for (q = *p; q < end && !is_blank(*q);) q++;
    return (size_t)(q - *p);
}

/* One line "left right": the symbol made, or an error. *symbol is UINT32_MAX for an empty line. */
static int add_merge(uint32_t *symbol, struct loader *l, const char *line, size_t n, uint32_t rank)
{
    const char *end = line + n, *left = line, *right, *rest;
    size_t left_n = next_word(&left, end), right_n, rest_n;
    *symbol = UINT32_MAX;
    if (!left_n) return 0;
    right = left + left_n;
    right_n = next_word(&right, end);
    rest = right + right_n;
    rest_n = next_word(&rest, end);
    if (!right_n || rest_n || !utf8_valid(line, n))
        return err_set(ERR_INPUT, "line %u is not a pair of symbols", rank + 2);
    str_clear(&l->joined);
    str_add(&l->joined, left, left_n);
    str_add(&l->joined, right, right_n);
    uint64_t a = symbol_of(l, left, left_n), b = symbol_of(l, right, right_n);
    *symbol = symbol_of(l, l->joined.p, l->joined.len);
    l->bpe->slots[merge_slot(l->bpe, a << 32 | b)] = (struct merge){a << 32 | b, rank, *symbol};
    return 0;
}

static const char *line_end(const char *p, const char *end)
{
    const char *q = memchr(p, '\n', (size_t)(end - p));
    return q ? q : end;
}

/* All merges in [p, end), at most `most`, ids from 512 on when give_ids. */
static int add_merges(uint32_t *count, struct loader *l, const char *p, const char *end,
                      uint32_t most, int give_ids)
{
    for (*count = 0; *count < most; ++*count) {
        const char *stop = line_end(p, end);
        uint32_t symbol;
        int rc = add_merge(&symbol, l, p, (size_t)(stop - p), *count);
        if (rc) return rc;
        if (symbol == UINT32_MAX && stop < end)
            return err_set(ERR_INPUT, "line %u is empty", *count + 2);
        if (symbol != UINT32_MAX && give_ids) l->bpe->ids[symbol] = 512 + (int32_t)*count;
        if (stop == end) return ++*count, 0;
        p = stop + 1;
    }
    return 0;
}

static size_t count_lines(const char *p, size_t n)
{
    size_t lines = 1;
    for (size_t i = 0; i < n; i++) lines += p[i] == '\n';
    return lines;
}

static void loader_init(struct loader *l, size_t merges, int give_ids)
{
    *l = (struct loader){.bpe = mem_alloc(sizeof *l->bpe)};
    make_slots(l->bpe, merges);
    add_bytes(l, give_ids);
}

static int loader_end(struct bpe **out, struct loader *l, int rc)
{
    map_release(&l->symbols);
    str_release(&l->joined);
    if (rc) bpe_close(l->bpe);
    *out = rc ? NULL : l->bpe;
    return rc;
}

int bpe_load_merges(struct bpe **out, const char *text, size_t n)
{
    struct loader l;
    uint32_t count = 0;
    size_t lines = count_lines(text, n) - 1;
    const char *end = text + n, *first = line_end(text, end);
    *out = NULL;
    if (n > FILE_LIMIT) return err_set(ERR_INPUT, "larger than %d bytes", FILE_LIMIT);
    if (first == end || first + 1 == end) return err_set(ERR_INPUT, "holds no merges");
    loader_init(&l, lines < MERGES_USED ? lines : MERGES_USED, 1);
    int rc = add_merges(&count, &l, first + 1, end, MERGES_USED, 1);
    l.bpe->sot = 512 + (int32_t)count;
    l.bpe->eot = l.bpe->sot + 1;
    l.bpe->size = l.bpe->eot + 1;
    return loader_end(out, &l, rc);
}

/* Ids of vocab.json to the symbols; every other symbol gets the end token, HF's "unknown". */
static int take_ids(struct loader *l, const json_t *ids)
{
    static const char *const names[2][2] = {{"<|startoftext|>", "<start_of_text>"},
                                            {"<|endoftext|>", "<end_of_text>"}};
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)ids, key, value)
    {
        json_int_t id = json_is_integer(value) ? json_integer_value(value) : -1;
        if (id < 0 || id >= ID_LIMIT)
            return err_set(ERR_INPUT, "\"%.40s\" has no id between 0 and %d", key, ID_LIMIT - 1);
        l->bpe->ids[symbol_of(l, key, strlen(key))] = (int32_t)id;
        if (id >= l->bpe->size) l->bpe->size = (int32_t)id + 1;
    }
    for (int end = 0; end < 2; end++) {
        const json_t *id = json_object_get(ids, names[end][0]);
        if (!id) id = json_object_get(ids, names[end][1]);
        if (!id) return err_set(ERR_INPUT, "has no \"%s\"", names[end][0]);
        *(end ? &l->bpe->eot : &l->bpe->sot) = (int32_t)json_integer_value(id);
    }
    for (size_t i = 0; i < l->symbols.count; i++)
        if (l->bpe->ids[i] < 0) l->bpe->ids[i] = l->bpe->eot;
    return 0;
}

int bpe_load_vocab(struct bpe **out, const char *json, size_t json_n, const char *merges, size_t n)
{
    struct loader l;
    json_error_t why;
    uint32_t count;
    const char *end = merges + n, *p = merges;
    *out = NULL;
    if (json_n > FILE_LIMIT || n > FILE_LIMIT)
        return err_set(ERR_INPUT, "larger than %d bytes", FILE_LIMIT);
    json_t *ids = json_loadb(json, json_n, 0, &why);
    if (!ids) return err_set(ERR_INPUT, "vocab.json: %s in line %d", why.text, why.line);
    if (n >= 8 && !memcmp(p, "#version", 8)) {
        p = line_end(p, end);
        p += p < end;
    }
    loader_init(&l, count_lines(merges, n), 0);
    int rc = p == end ? err_set(ERR_INPUT, "holds no merges")
                      : add_merges(&count, &l, p, end, UINT32_MAX, 0);
    if (rc) {
        rc = err_wrap(rc, "merges.txt");
    } else {
        rc = json_is_object(ids) ? take_ids(&l, ids) : err_set(ERR_INPUT, "is no JSON object");
        if (rc) err_wrap(rc, "vocab.json");
    }
    json_decref(ids);
    return loader_end(out, &l, rc);
}

void bpe_close(struct bpe *b)
{
    if (!b) return;
    free(b->slots);
    free(b->ids);
    free(b);
}

int bpe_size(const struct bpe *b)
{
    return b->size;
}

int bpe_sot(const struct bpe *b)
{
    return b->sot;
}

int bpe_eot(const struct bpe *b)
{
    return b->eot;
}

void bpe_fingerprint(const struct bpe *b, char hex[65])
{
    struct sha256 h;
    size_t ranks = 0;
    int32_t ends[3] = {b->sot, b->eot, b->size};
    for (size_t i = 0; i < b->nslots; i++)
        if (b->slots[i].pair != VOCAB_FREE && b->slots[i].rank >= ranks)
            ranks = b->slots[i].rank + (size_t)1;
    const struct merge **sorted = mem_alloc(mem_mul(ranks, sizeof *sorted));
    for (size_t i = 0; i < b->nslots; i++)
        if (b->slots[i].pair != VOCAB_FREE) sorted[b->slots[i].rank] = &b->slots[i];
    sha256_init(&h);
    sha256_add(&h, ends, sizeof ends);
    for (int i = 0; i < 256; i++) {
        int32_t ids[2] = {b->ids[b->inner[i]], b->ids[b->last[i]]};
        sha256_add(&h, ids, sizeof ids);
    }
    for (size_t i = 0; i < ranks; i++) {
        if (!sorted[i]) continue; /* listed again later */
        int32_t ids[3] = {b->ids[sorted[i]->pair >> 32], b->ids[(uint32_t)sorted[i]->pair],
                          b->ids[sorted[i]->result]};
        sha256_add(&h, ids, sizeof ids);
    }
    sha256_end(&h, hex);
    free(sorted);
}

/* A whole file, unpacked when it is gzip; zlib checks its sum. */
static int read_text(struct str *out, const char *path)
{
    int got, rc = 0, state = Z_OK;
    gzFile f = gzopen(path, "rbe");
    if (!f) return err_set(ERR_INPUT, "%s: cannot be opened", path);
    gzbuffer(f, 1 << 17);
    do {
        str_reserve(out, 1 << 20);
        got = gzread(f, out->p + out->len, 1 << 20);
        if (got > 0) out->len += (size_t)got;
        if (out->len > FILE_LIMIT) {
            rc = err_set(ERR_INPUT, "%s: larger than %d bytes", path, FILE_LIMIT);
            break;
        }
    } while (got > 0);
    if (!rc && (got < 0 || (gzerror(f, &state), state != Z_OK)))
        rc = err_set(ERR_INPUT, "%s: truncated or damaged", path);
    gzclose(f);
    out->p[out->len] = 0;
    return rc;
}

static int open_merges(struct bpe **out, const char *path)
{
    struct str text = {0};
    int rc = read_text(&text, path);
    if (!rc) {
        rc = bpe_load_merges(out, text.p, text.len);
        if (rc) err_wrap(rc, "%s is no BPE vocabulary", path);
    }
    str_release(&text);
    return rc;
}

static int open_pair(struct bpe **out, const char *folder)
{
    struct str path = {0}, json = {0}, merges = {0};
    str_printf(&path, "%s/vocab.json", folder);
    int rc = file_read(&json, path.p, FILE_LIMIT);
    if (!rc) {
        str_clear(&path);
        str_printf(&path, "%s/merges.txt", folder);
        rc = file_read(&merges, path.p, FILE_LIMIT);
    }
    if (!rc) {
        rc = bpe_load_vocab(out, json.p, json.len, merges.p, merges.len);
        if (rc) err_wrap(rc, "%s", folder);
    }
    str_release(&path);
    str_release(&json);
    str_release(&merges);
    return rc;
}

/* Which file of a folder is its vocabulary: path of a list of merges, or "" for the HF pair. */
static int find_in_folder(struct str *path, const char *folder)
{
    static const char *const standard[] = {"bpe_simple_vocab_16e6.txt.gz",
                                           "bpe_simple_vocab_16e6.txt"};
    for (int i = 0; i < 2; i++) {
        str_clear(path);
        str_printf(path, "%s/%s", folder, standard[i]);
        if (file_exists(path->p) == 1) return 0;
    }
    str_clear(path);
    str_printf(path, "%s/vocab.json", folder);
    int pair = file_exists(path->p) == 1;
    str_clear(path);
    if (pair) return 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (!str_ends(e->d_name, ".txt.gz")) continue;
        if (path->len) {
            closedir(d);
            return err_set(ERR_INPUT, "%s holds several *.txt.gz: name the vocabulary", folder);
        }
        str_printf(path, "%s/%s", folder, e->d_name);
    }
    if (d) closedir(d);
    if (path->len) return 0;
    return err_set(ERR_INPUT,
                   "%s holds no vocabulary (%s, or vocab.json with merges.txt); "
                   "--vocab names one elsewhere",
                   folder, standard[0]);
}

/* A file that belongs to an HF pair stands for its folder. */
static int is_of_pair(struct str *folder, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (!str_ends(name, ".json") && strcmp(name, "merges.txt")) return 0;
    if (slash)
        str_add(folder, path, (size_t)(slash - path) + (slash == path));
    else
        str_puts(folder, ".");
    return 1;
}

int bpe_open(struct bpe **out, const char *path)
{
    struct str found = {0};
    int rc = 0, kind = file_exists(path);
    *out = NULL;
    if (!kind) return err_set(ERR_INPUT, "%s: no such vocabulary", path);
    if (kind == 2) {
        rc = find_in_folder(&found, path);
        if (!rc) rc = found.len ? open_merges(out, found.p) : open_pair(out, path);
    } else {
        rc = is_of_pair(&found, path) ? open_pair(out, found.p) : open_merges(out, path);
    }
    str_release(&found);
    return rc;
}
