/* bpe.h - CLIP's tokenizer: captions to token ids, as open_clip's SimpleTokenizer gives them.
 * A vocabulary (struct bpe) is read-only and shared by all threads; each thread has its own
 * struct bpe_state with scratch memory and a cache of words, so that common words cost one lookup
 * and a steady state allocates nothing. */
#ifndef TEXT_BPE_H
#define TEXT_BPE_H

#include "base/platform.h"

struct bpe;
struct bpe_state;

/* Special strings that become their token where they stand in a caption, OR'ed. */
enum {
    BPE_OPEN_CLIP = 1, /* <start_of_text> <end_of_text> */
    BPE_OPENAI = 2     /* <|startoftext|> <|endoftext|> */
};

/* Open a vocabulary: a list of merges such as bpe_simple_vocab_16e6.txt.gz (gzip or plain), a
 * vocab.json or merges.txt with its sister beside it, or a folder that holds one of these.
 * ERR_INPUT names what was looked for and what is wrong. */
int bpe_open(struct bpe **out, const char *path);
void bpe_close(struct bpe *b);

/* The same from memory, plain text. Merges: the first line is a heading; line i gives id 511 + i;
 * of the large standard list only the first 48,894 count, of a smaller one all, where, as in
 * open_clip, an empty line behind the last newline takes an id too. Start and end of text are
 * the last two ids. */
int bpe_load_merges(struct bpe **out, const char *text, size_t n);
int bpe_load_vocab(struct bpe **out, const char *json, size_t json_n, const char *merges, size_t n);

int bpe_size(const struct bpe *b); /* ids are below this */
int bpe_sot(const struct bpe *b);
int bpe_eot(const struct bpe *b);

/* sha256 of what decides the tokens: byte ids, merges in order, start and end. The same for the
 * same vocabulary in either layout, packed or not. */
void bpe_fingerprint(const struct bpe *b, char hex[65]);

struct bpe_state *bpe_state_new(const struct bpe *b, unsigned specials);
void bpe_state_free(struct bpe_state *s);

/* Clean n bytes of any kind and write start, the tokens and end: the number written, 1..context.
 * What is too long is cut; the last id is always the end. context >= 1. */
int bpe_encode(int32_t *ids, struct bpe_state *s, const char *text, size_t n, int context);

#endif
