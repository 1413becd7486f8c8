/* embed.h - what the files of `darkroom embed` share: options, the stage, and the chunk that
 * flows through its boxes. A chunk holds some samples of one partition, in file order. */
#ifndef STAGE_IMAGE_EMBED_H
#define STAGE_IMAGE_EMBED_H

#include "base/arena.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/pool.h"
#include "data/folder.h"
#include "data/inputs.h"
#include "data/metadata.h"
#include "data/receipt.h"
#include "data/sample.h"
#include "dist/task.h"
#include "format/npy.h"
#include "format/parquet/parquet.h"
#include "image/prep.h"
#include "model/clip.h"
#include "stage/live.h"
#include "stage/stage.h"
#include "stage/verb.h"
#include "text/bpe.h"

#include <pthread.h>
#include <stdatomic.h>

struct embed_options {
    struct common common;
    const char *input, *output; /* clip-retrieval's names for INPUT and PLACE */
    const char *model, *model_dir, *vocab, *image_key, *caption_key, *max_bad;
    int activation, input_format, dtype;
    int64_t image_size, batch_size, write_batch_size, partition_count, samples_per_shard, decoders;
    int metadata, enable_metadata, enable_image, enable_text, normalize;
    int exif_orient, keep_damaged, allow_unterminated, allow_pipe, force_new_run;
    /* peers' options that have one meaning here or none */
    const char *cache_path, *strategy, *wandb_project, *mclip_model;
    int use_jit, use_mclip, enable_wandb;
};
enum { DTYPE_F16, DTYPE_F32 };
enum { KEEP_ARENA = 16 << 20 }; /* a huge sample must not leave its memory behind for ever */

/* One partition under way: the reader notes what went in, the sink what came out. */
struct partition {
    int64_t index;
    struct receipt receipt;
    struct sha256 read; /* pictures: over all bytes read, in order */
    uint64_t read_bytes;
    int keep_undone; /* a shard was missing: write what there is, leave no receipt */
    int abandon;     /* an input failed half-way: what was read is not all, write nothing */
    /* of the sink */
    int opened;
    struct sink *image_sink, *text_sink, *errors_sink;
    struct npy_writer image, text;
    struct parquet_writer *errors;
    struct metadata *metadata;
    struct partition *next; /* all partitions under way, for the end of a stopped run */
};

struct slot {
    struct sample sample; /* members point into chunk.bytes until decoded */
    const char *shard;    /* its name; lives as long as the inputs */
    const char *image_path, *caption, *json, *message;
    size_t caption_len, json_len;
    int width, height;
    enum bad bad;    /* BAD_NONE: it has a row */
    const char *box; /* which box found it bad */
};

struct chunk {
    struct partition *part;
    int end; /* the partition ends behind this chunk */
    int count, rows;
    struct slot *slot;     /* [cap] */
    struct arena bytes;    /* members as read; given back once decoded */
    struct arena text;     /* keys, captions, JSON, messages: until the sink is done */
    size_t held;           /* bytes charged to the budget */
    uint8_t *pixels;       /* [cap,S,S,3], row r = r-th good sample */
    int32_t *tokens;       /* [cap*context] ragged */
    int32_t *token_at;     /* [cap+1] */
    void *image, *caption; /* [cap,e] in the output dtype */
};

struct embedder {
    struct embed_options *o;
    struct place *place;
    struct inputs inputs;
    char **labels;          /* of the inputs in rows and receipts */
    char *inputs_at;        /* their common folder, absolute; NULL when there is none */
    struct folders folders; /* when the inputs are folders of pictures */
    size_t count;           /* shards, or pictures */
    struct device *device;
    struct clip *clip;
    struct bpe *bpe;
    unsigned specials; /* special strings that captions may hold */
    struct run run;
    struct task task;
    struct prep prep;
    const char *image_keys, *caption_keys; /* "jpg;png": first present */
    struct str wanted;                     /* extensions whose bytes are read at all */
    int image, text, metadata, digits, chunk_cap;
    int64_t partitions;
    size_t embed_dim;
    int64_t *todo; /* partitions to do, ascending */
    size_t ntodo;
    atomic_size_t next_todo;

    pthread_mutex_t lock; /* parts, held */
    pthread_cond_t room;
    struct partition *parts;
    size_t held, budget;   /* bytes of undecoded members under way */
    struct gate *decoding; /* memory of pictures being decoded */

    struct stage stage;
    struct chunk *chunks;

    /* for the progress line and the summary */
    struct live live;
    int64_t done_before; /* partitions */
    long long total;     /* bytes or pictures to do; 0 when unknown */
    atomic_llong samples, rows, bytes_read, partitions_done;
    atomic_llong errors[BAD_COUNT];
    atomic_int undone; /* partitions that could not be finished */
    char last_error[256];
};

/* embed_inputs.c: shards or pictures by number. */
int embed_open_inputs(struct embedder *e, const char **words, int n);
void embed_close_inputs(struct embedder *e);
void embed_hash_inputs(const struct embedder *e, char hex[65]); /* names; of pictures also sizes */
long long embed_total(const struct embedder *e);
int embed_of_pictures(const struct embedder *e);
const char *embed_input_name(const struct embedder *e, size_t i); /* as rows name it */
int64_t embed_expected(const char *tar); /* samples its parquet sidecar counts; 0 = none */
int embed_load_picture(struct embedder *e, struct sample *s, struct arena *a, size_t i);
int embed_has_captions(const struct embedder *e); /* pictures: is there any .txt? */

/* The boxes, each in a file of its name: samples into chunks; pictures to pixels, captions to
 * tokens, JSON checked; pixels and tokens to embeddings; rows to sidecars, receipts last. */
extern const struct box embed_read_box, embed_decode_box, embed_device_box, embed_sink_box;
void partition_drop(struct embedder *e, struct partition *p); /* abort its files, free it */

void embed_announce(struct embedder *e); /* the first --json event */
void embed_tick(void *stage);
void embed_live(struct embedder *e, const char *state);
void embed_summary(struct embedder *e, int stopped);
void embed_note_error(struct embedder *e, const char *text);

#endif
