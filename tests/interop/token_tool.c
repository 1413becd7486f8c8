/* token_tool.c - drives src/text for the Python tests and the benchmark.
 *   token_tool bad|fix|clean|lower|nfc|html        < frames > frames
 *   token_tool encode VOCAB [context [specials]]   < frames > frames of int32 ids
 *   token_tool fingerprint VOCAB                   > its sha256
 *   token_tool bench VOCAB ROUNDS                  < frames > seconds of CPU per round
 * A frame is a little-endian u32 length and that many bytes. */
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "text/bpe.h"
#include "text/clean.h"
#include "text/html.h"
#include "text/unicode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_frame(const void *p, size_t n)
{
    uint32_t len = (uint32_t)n;
    fwrite(&len, 4, 1, stdout);
    fwrite(p, 1, n, stdout);
}

static int get_frame(struct str *s)
{
    uint32_t len;
    if (fread(&len, 4, 1, stdin) != 1) return 0;
    str_clear(s);
    str_reserve(s, len);
    s->len = fread(s->p, 1, len, stdin);
    return s->len == len;
}

static void put_runes(const struct runes *r)
{
    struct str s = {0};
    utf8_encode(&s, r->p, r->n);
    put_frame(s.p, s.len);
    str_release(&s);
}

static int convert(const char *verb)
{
    struct clean c = {0};
    struct str in = {0};
    struct runes a = {0}, b = {0};
    const char *out;
    while (get_frame(&in)) {
        runes_clear(&a);
        runes_clear(&b);
        utf8_decode(&a, in.p, in.len);
        size_t n = 0;
        if (!strcmp(verb, "clean"))
            n = clean_text(&c, &out, in.p, in.len), put_frame(out, n);
        else if (!strcmp(verb, "fix"))
            n = clean_fix(&c, &out, in.p, in.len), put_frame(out, n);
        else if (!strcmp(verb, "bad"))
            put_frame(mojibake_likely(a.p, a.n) ? "1" : "0", 1);
        else if (!strcmp(verb, "lower"))
            unicode_lower(&b, a.p, a.n), put_runes(&b);
        else if (!strcmp(verb, "nfc"))
            unicode_nfc(&b, a.p, a.n), put_runes(&b);
        else if (!strcmp(verb, "html"))
            html_unescape(&b, a.p, a.n), put_runes(&b);
        else
            return fprintf(stderr, "unknown verb %s\n", verb), 2;
    }
    clean_release(&c);
    str_release(&in);
    runes_release(&a);
    runes_release(&b);
    return 0;
}

static int encode(const char *vocab, int context, unsigned specials)
{
    struct bpe *bpe;
    struct str in = {0};
    if (bpe_open(&bpe, vocab)) return fprintf(stderr, "%s\n", err_text()), 1;
    struct bpe_state *s = bpe_state_new(bpe, specials);
    int32_t *ids = mem_alloc(mem_mul((size_t)context, sizeof *ids));
    while (get_frame(&in)) {
        int n = bpe_encode(ids, s, in.p, in.len, context);
        put_frame(ids, (size_t)n * sizeof *ids);
    }
    free(ids);
    str_release(&in);
    bpe_state_free(s);
    bpe_close(bpe);
    return 0;
}

static int bench(const char *vocab, int rounds)
{
    struct bpe *bpe;
    struct str in = {0}, all = {0};
    int32_t ids[77];
    double opened = clock_cpu();
    if (bpe_open(&bpe, vocab)) return fprintf(stderr, "%s\n", err_text()), 1;
    printf("open %.6f\n", clock_cpu() - opened);
    struct bpe_state *s = bpe_state_new(bpe, BPE_OPEN_CLIP);
    while (get_frame(&in)) {
        str_add(&all, &in.len, sizeof in.len);
        str_add(&all, in.p, in.len);
    }
    for (int r = 0; r < rounds; r++) {
        double start = clock_cpu();
        for (size_t at = 0, n; at < all.len; at += sizeof n + n) {
            memcpy(&n, all.p + at, sizeof n);
            bpe_encode(ids, s, all.p + at + sizeof n, n, 77);
        }
        printf("round %.6f\n", clock_cpu() - start);
    }
    str_release(&in);
    str_release(&all);
    bpe_state_free(s);
    bpe_close(bpe);
    return 0;
}

static int fingerprint(const char *vocab)
{
    struct bpe *bpe;
    char hex[65];
    if (bpe_open(&bpe, vocab)) return fprintf(stderr, "%s\n", err_text()), 1;
    bpe_fingerprint(bpe, hex);
    puts(hex);
    bpe_close(bpe);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "fingerprint")) return fingerprint(argv[2]);
    if (argc >= 3 && !strcmp(argv[1], "encode"))
        return encode(argv[2], argc > 3 ? atoi(argv[3]) : 77,
                      argc > 4 ? (unsigned)atoi(argv[4]) : BPE_OPEN_CLIP);
    if (argc == 4 && !strcmp(argv[1], "bench")) return bench(argv[2], atoi(argv[3]));
    if (argc == 2) return convert(argv[1]);
    return fprintf(stderr, "usage: see the head of token_tool.c\n"), 2;
}
