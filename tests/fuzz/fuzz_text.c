/* fuzz_text.c - the first byte chooses: a caption through cleaning and BPE, or a vocabulary. */
#include "text/bpe.h"
#include "text/clean.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void encode(struct bpe_state *s, const char *text, size_t n, int context)
{
    int32_t ids[32];
    int count = bpe_encode(ids, s, text, n, context);
    if (count < 1 || count > context) abort();
}

static void use_vocabulary(struct bpe *b)
{
    char hex[65];
    struct bpe_state *s = bpe_state_new(b, BPE_OPEN_CLIP | BPE_OPENAI);
    encode(s, "a cat's <|endoftext|> caf\xC3\xA9 aaaa bbbb", 38, 32);
    bpe_fingerprint(b, hex);
    bpe_state_free(s);
}

static void caption(const char *text, size_t n)
{
    static const char merges[] = "#\na a\naa a\na b</w>\nb a\n\xC3\x83 \xC4\xA3</w>";
    static struct bpe *b;
    static struct bpe_state *s;
    struct clean c = {0};
    const char *out;
    if (!b && bpe_load_merges(&b, merges, sizeof merges - 1)) abort();
    if (!s) s = bpe_state_new(b, BPE_OPEN_CLIP);
    size_t len = clean_text(&c, &out, text, n);
    if (!utf8_valid(out, len)) abort();
    len = clean_fix(&c, &out, text, n);
    if (!utf8_valid(out, len)) abort();
    clean_release(&c);
    encode(s, text, n, 1 + (int)(n % 32));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct bpe *b = NULL;
    const char *text = (const char *)data + 1;
    if (!n) return 0;
    if (data[0] == 'm') {
        if (!bpe_load_merges(&b, text, n - 1)) use_vocabulary(b);
    } else if (data[0] == 'v') {
        const char *half = memchr(text, 0, n - 1);
        size_t first = half ? (size_t)(half - text) : n - 1, rest = half ? n - 2 - first : 0;
        if (!bpe_load_vocab(&b, text, first, text + (n - 1 - rest), rest)) use_vocabulary(b);
    } else {
        caption(text, n - 1);
    }
    bpe_close(b);
    return 0;
}
