/* embed.c - from shards to CLIP embeddings, in clip-retrieval's layout.
 * Plan (which partitions are not done yet), open the model, run the boxes, tell what happened.
 * The same command again finds everything done. */
#include "stage/image/embed.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stop.h"
#include "io/source.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define AT(f) offsetof(struct embed_options, f)

static const struct opt options[] = {
    {"model", "clip-model,model-name", 0, OPT_STR, AT(model), "ViT-B/32", "NAME",
     "folder, weights file, or name of a model; tiny is built in", 0},
    {"model-dir", "clip-cache-path", 0, OPT_STR, AT(model_dir), NULL, "DIR",
     "folder in which models are looked up first", 0},
    {"activation", NULL, 0, OPT_CHOICE, AT(activation), "auto", "auto|gelu|quick_gelu",
     "for weights without a configuration", 0},
    {"image-size", NULL, 0, OPT_INT, AT(image_size), "0", "S",
     "another input size; position embeddings are resized", 0},
    {"vocab", NULL, 0, OPT_STR, AT(vocab), NULL, "FILE",
     "bpe_simple_vocab_16e6.txt.gz, or a folder with vocab.json and merges.txt", 0},
    {"metadata", NULL, 0, OPT_FLAG, AT(metadata), NULL, NULL, "keep the fields of the .json files",
     0},
    {"dtype", NULL, 0, OPT_CHOICE, AT(dtype), "f16", "f16|f32", "of the embeddings written",
     OPT_PRINTED},
    {"normalize", "normalize-embeddings", 0, OPT_BOOL, AT(normalize), "true", "BOOL",
     "scale every embedding to length 1", OPT_PRINTED},
    {"exif-orient", NULL, 0, OPT_FLAG, AT(exif_orient), NULL, NULL,
     "turn pictures as EXIF says (Pillow does not, DALI does)", OPT_PRINTED},
    {"keep-damaged", NULL, 0, OPT_FLAG, AT(keep_damaged), NULL, NULL,
     "use damaged pictures as far as they decode", OPT_PRINTED},
    {"allow-unterminated", NULL, 0, OPT_FLAG, AT(allow_unterminated), NULL, NULL,
     "tars without end-of-archive blocks are whole", OPT_PRINTED},
    {"max-bad", NULL, 0, OPT_STR, AT(max_bad), "1%", "N|P%", "more bad samples than this: exit 3",
     0},
    {"allow-pipe", NULL, 0, OPT_FLAG, AT(allow_pipe), NULL, NULL,
     "run pipe: commands that come from a list file", 0},
    {"force-new-run", NULL, 0, OPT_FLAG, AT(force_new_run), NULL, NULL,
     "replace another run that is in the place", 0},
    {"batch-size", NULL, 0, OPT_INT, AT(batch_size), "256", "N", "most samples in one device call",
     0},
    {"input-format", NULL, 0, OPT_CHOICE, AT(input_format), "auto", "auto|webdataset|files",
     "what the inputs are", OPT_PEER},
    {"wds-image-key", NULL, 0, OPT_STR, AT(image_key), NULL, "EXT",
     "extension of pictures; else the first of jpg jpeg png webp gif bmp", OPT_PEER | OPT_PRINTED},
    {"wds-caption-key", NULL, 0, OPT_STR, AT(caption_key), "txt", "EXT", "extension of captions",
     OPT_PEER | OPT_PRINTED},
    {"enable-image", NULL, 0, OPT_BOOL, AT(enable_image), "true", "BOOL", "embed pictures",
     OPT_PEER | OPT_PRINTED},
    {"enable-text", NULL, 0, OPT_BOOL, AT(enable_text), "auto", "BOOL",
     "embed captions; off by itself when the model cannot", OPT_PEER},
    {"enable-metadata", NULL, 0, OPT_BOOL, AT(enable_metadata), "false", "BOOL",
     "the same as --metadata", OPT_PEER},
    {"num-prepro-workers", NULL, 0, OPT_INT, AT(decoders), "0", "N",
     "decoding threads; as many as --threads when not said", OPT_PEER},
    {"write-batch-size", NULL, 0, OPT_INT, AT(write_batch_size), "0", "N",
     "samples per output partition; else one partition per shard", OPT_PEER},
    {"output-partition-count", NULL, 0, OPT_INT, AT(partition_count), "0", "N",
     "number of output partitions", OPT_PEER},
    {"wds-number-file-per-input-file", NULL, 0, OPT_INT, AT(samples_per_shard), "10000", "N",
     "samples per shard assumed by --write-batch-size", OPT_PEER},
    {"distribution-strategy", NULL, 0, OPT_STR, AT(strategy), "sequential", "S",
     "sequential; for clusters use --task", OPT_PEER},
    {"cache-path", NULL, 0, OPT_STR, AT(cache_path), NULL, "DIR", "ignored: shards are streamed",
     OPT_PEER},
    {"use-jit", NULL, 0, OPT_BOOL, AT(use_jit), "false", "BOOL",
     "ignored: there is no Python to compile", OPT_PEER},
    {"use-mclip", NULL, 0, OPT_BOOL, AT(use_mclip), "false", "BOOL",
     "true is refused: multilingual text towers are not read", OPT_PEER},
    {"mclip-model", NULL, 0, OPT_STR, AT(mclip_model), NULL, "NAME", "ignored without --use-mclip",
     OPT_PEER},
    {"enable-wandb", NULL, 0, OPT_BOOL, AT(enable_wandb), "false", "BOOL",
     "true is refused: see --json", OPT_PEER},
    {"input-dataset", NULL, 0, OPT_STR, AT(input), NULL, "INPUT", "the same as the argument INPUT",
     OPT_PEER},
    {"output-folder", NULL, 0, OPT_STR, AT(output), NULL, "PLACE", "the same as the argument PLACE",
     OPT_PEER},
    {"wandb-project", NULL, 0, OPT_STR, AT(wandb_project), NULL, "NAME",
     "ignored without --enable-wandb", OPT_PEER},
    OPT_END};

/* How many of so many samples may be bad: "1%" of them, or a plain number; -1 when it is neither.
 */
static double max_bad(const struct embed_options *o, double samples)
{
    char *end;
    double limit = strtod(o->max_bad, &end);
    int percent = *end == '%';
    if (end == o->max_bad || end[percent] || !(limit >= 0)) return -1;
    return percent ? limit / 100 * samples : limit;
}

static int check_options(const struct embed_options *o)
{
    if (o->use_mclip)
        return err_set(
            ERR_USAGE,
            "--use-mclip true: multilingual text towers are not supported; use --enable-text false");
    if (o->enable_wandb)
        return err_set(
            ERR_USAGE,
            "--enable-wandb true is not supported; --json writes events that a tracker can take");
    if (strcmp(o->strategy, "sequential"))
        return err_set(
            ERR_USAGE,
            "--distribution-strategy %s: start one process per share with --task I/N instead",
            o->strategy);
    if (o->batch_size < 1 || o->batch_size > 65536)
        return err_set(ERR_USAGE, "--batch-size must be 1 to 65536");
    if (o->image_size < 0 || o->image_size > 32768)
        return err_set(ERR_USAGE, "--image-size must be 1 to 32768");
    if (o->common.threads < 0 || o->common.threads > 4096 || o->decoders < 0 || o->decoders > 4096)
        return err_set(ERR_USAGE, "--threads and --num-prepro-workers must be 0 to 4096");
    if (max_bad(o, 1) < 0)
        return err_set(ERR_USAGE, "--max-bad takes a count or a share such as 2%%, not '%s'",
                       o->max_bad);
    if (o->write_batch_size < 0 || o->partition_count < 0 || o->samples_per_shard < 1)
        return err_set(ERR_USAGE, "partition sizes and counts must be positive");
    if (strcmp(o->common.precision, "f32") && strcmp(o->common.precision, "fp32"))
        return err_set(ERR_USAGE, "--precision %s: this device computes in f32",
                       o->common.precision);
    if (!o->enable_image && !o->enable_text)
        return err_set(ERR_USAGE, "neither pictures nor captions are to be embedded");
    return 0;
}

/* As clip-retrieval counts: shard i goes to partition i mod C. */
static int plan_partitions(struct embedder *e)
{
    const struct embed_options *o = e->o;
    double samples = (double)e->count * (embed_of_pictures(e) ? 1 : (double)o->samples_per_shard);
    double count = (double)e->count;
    if (o->partition_count)
        count = (double)o->partition_count;
    else if (o->write_batch_size)
        count = ceil(samples / (double)o->write_batch_size);
    else if (embed_of_pictures(e))
        count = ceil(samples / 10000);
    if (count > PARTITIONS_MAX) return err_set(ERR_USAGE, "%.0f partitions are too many", count);
    e->partitions = count < 1 ? 1 : (int64_t)count;
    e->digits = partition_digits(e->partitions);
    return 0;
}

static int open_vocabulary(struct embedder *e)
{
    const char *path = e->o->vocab ? e->o->vocab : clip_vocab(e->clip);
    int asked = e->o->enable_text == 1;
    e->text = 0;
    if (!e->o->enable_text) return 0;
    if (embed_of_pictures(e) && !asked && !embed_has_captions(e)) {
        log_info("no .txt beside the pictures: text is off");
        return 0;
    }
    if (!clip_config(e->clip)->text.layers) {
        if (asked)
            return err_set(ERR_USAGE, "--enable-text true: the model %s has no text tower",
                           e->o->model);
        log_warn("the model has no text tower, so captions are not embedded: text is off");
        return 0;
    }
    if (!path) {
        if (asked)
            return err_set(
                ERR_INPUT,
                "no vocabulary found beside the model; give --vocab bpe_simple_vocab_16e6.txt.gz");
        log_warn("no vocabulary found beside the model, so captions are not embedded; --vocab "
                 "bpe_simple_vocab_16e6.txt.gz (it comes with open_clip) turns them on");
        return 0;
    }
    int rc = bpe_open(&e->bpe, path);
    if (rc) return rc;
    if (bpe_size(e->bpe) != clip_config(e->clip)->vocab)
        return err_set(
            ERR_USAGE,
            "the vocabulary %s has %d tokens, the model %d; it is cut short or belongs to "
            "another model",
            path, bpe_size(e->bpe), clip_config(e->clip)->vocab);
    e->specials = clip_config(e->clip)->openai ? BPE_OPENAI : BPE_OPEN_CLIP;
    e->text = 1;
    return 0;
}

static int open_model(struct embedder *e)
{
    struct embed_options *o = e->o;
    static const char *const activations[] = {NULL, "gelu", "quick_gelu"};
    struct clip_ask ask = {.model = o->model,
                           .model_dir = o->model_dir,
                           .activation = activations[o->activation],
                           .image_size = (int)o->image_size,
                           .no_image = !o->enable_image,
                           .no_text = !o->enable_text};
    int rc = device_open(&e->device, o->common.device, (int)o->common.threads);
    if (!rc) rc = clip_open(&e->clip, e->device, &ask);
    if (!rc) rc = open_vocabulary(e);
    if (rc) return rc;
    e->image = o->enable_image;
    if (!e->image && !e->text)
        return err_set(ERR_USAGE,
                       "nothing to embed: pictures are off and captions cannot be embedded");
    e->prep = clip_config(e->clip)->prep;
    e->prep.exif_orient = o->exif_orient;
    e->prep.keep_damaged = o->keep_damaged;
    e->embed_dim = (size_t)clip_config(e->clip)->embed;
    return 0;
}

/* Everything that decides bytes, by name: what resume compares. */
static int describe_run(struct embedder *e)
{
    struct str v = {0};
    char hex[65];
    for (const struct opt *o = options; o->name; o++) {
        if (!(o->flags & OPT_PRINTED)) continue;
        str_clear(&v);
        opt_print(&v, o, e->o);
        run_add(&e->run, o->name, v.p ? v.p : "");
    }
    str_clear(&v);
    str_printf(&v, "%zu", e->count);
    run_add(&e->run, embed_of_pictures(e) ? "pictures" : "shards", v.p);
    embed_hash_inputs(e, hex);
    run_add(&e->run, "input-format", embed_of_pictures(e) ? "files" : "webdataset");
    run_add(&e->run, "inputs", hex);
    str_clear(&v);
    str_printf(&v, "%lld", (long long)e->partitions);
    run_add(&e->run, "partitions", v.p);
    run_add(&e->run, "text", e->text ? "true" : "false");
    run_add(&e->run, "metadata", e->metadata ? "true" : "false");
    run_add(&e->run, "device", e->device->kind);
    run_add(&e->run, "precision", "f32");
    int rc = clip_fingerprint(e->clip, hex);
    if (!rc) run_add(&e->run, "model", hex);
    if (!rc && e->text) {
        bpe_fingerprint(e->bpe, hex);
        run_add(&e->run, "vocab", hex);
    }
    str_release(&v);
    return rc ? rc
              : run_claim(&e->run, e->place, "embed", e->o->force_new_run ? RUN_FORCE : RUN_KEEP);
}

/* A source that is another file now than when it was embedded: say so, do not mix. */
static int check_sources(const struct embedder *e, const struct receipt *r)
{
    size_t k = 0;
    for (size_t i = (size_t)r->partition; i < e->count && k < r->inputs.count;
         i += (size_t)e->partitions, k++) {
        struct stat st;
        const char *path = e->inputs.names.list[i];
        if (source_is_pipe(path) || stat(path, &st) || !S_ISREG(st.st_mode)) continue;
        if ((uint64_t)st.st_size != r->inputs.file[k].size)
            return err_set(
                ERR_STALE,
                "%s has %lld bytes, but %llu when it was embedded; embed it into another place, or use --force-new-run",
                path, (long long)st.st_size, (unsigned long long)r->inputs.file[k].size);
    }
    return 0;
}

/* Is partition p done? 1, 0, or ERR_STALE for a changed source. */
static int is_done(struct embedder *e, int64_t p)
{
    struct receipt r;
    int rc = receipt_load(&r, e->place, "embed", p, e->digits);
    if (!rc && strcmp(r.fingerprint, e->run.fingerprint))
        rc = err_set(ERR_STALE, "its receipt is of another run");
    else if (!rc)
        rc = receipt_check(&r, e->place, 0);
    int done = !rc;
    if (rc == ERR_STALE && r.fingerprint[0])
        log_info("partition %lld will be redone: %s", (long long)p, err_text());
    if (done && !embed_of_pictures(e) && (rc = check_sources(e, &r))) done = rc;
    receipt_release(&r);
    return done;
}

static int plan_todo(struct embedder *e)
{
    size_t cap = 0;
    for (int64_t p = 0; p < e->partitions; p++) {
        if (!task_has(&e->task, p)) continue;
        int done = e->o->force_new_run ? 0 : is_done(e, p); /* a new run is new */
        if (done < 0) return done;
        if (done) {
            e->done_before++;
            continue;
        }
        vec_push(e->todo, e->ntodo, cap);
        e->todo[e->ntodo++] = p;
    }
    return 0;
}

/* Work of one device call: enough rows to keep the kernels busy, few enough to stay in cache
 * and to give the first rows early. A device with one lane wants the user's whole batch. */
static int chunk_size(const struct embedder *e)
{
    int64_t best = e->o->batch_size;
    if (e->device->lanes > 1 || !strcmp(e->device->name, "cpu")) {
        const struct clip_config *c = clip_config(e->clip);
        int grid = e->image ? c->image_size / c->patch : 0, rows = grid * grid + 1;
        int64_t fit = e->image ? (800 + rows - 1) / rows : 32;
        if (fit < 4) fit = 4;
        if (best > fit) best = fit;
    }
    return (int)best;
}

static void chunk_init(struct embedder *e, struct chunk *c)
{
    size_t cap = (size_t)e->chunk_cap, item = e->o->dtype == DTYPE_F32 ? 4 : 2;
    size_t s = (size_t)e->prep.size;
    c->slot = mem_alloc(cap * sizeof *c->slot);
    c->token_at = mem_alloc((cap + 1) * sizeof *c->token_at);
    if (e->image) {
        c->pixels = mem_aligned(mem_mul(cap, s * s * 3));
        c->image = mem_aligned(cap * e->embed_dim * item);
    }
    if (e->text) {
        c->tokens = mem_aligned(cap * (size_t)clip_config(e->clip)->context * sizeof *c->tokens);
        c->caption = mem_aligned(cap * e->embed_dim * item);
    }
}

static void chunk_release(struct chunk *c)
{
    free(c->slot);
    free(c->token_at);
    free(c->pixels);
    free(c->image);
    free(c->tokens);
    free(c->caption);
    arena_release(&c->bytes);
    arena_release(&c->text);
}

/* How many threads and chunks: lanes and decoders busy, one chunk waiting before each. */
static void plan_stage(struct embedder *e)
{
    struct stage *s = &e->stage;
    int threads = e->o->common.threads > 0 ? (int)e->o->common.threads : cpu_count();
    int decoders = e->o->decoders > 0 ? (int)e->o->decoders : threads;
    int readers = e->ntodo > 1 && source_is_pipe(e->inputs.names.list[0]) ? 4 : 1;
    if ((size_t)readers > e->ntodo) readers = (int)e->ntodo;
    uint64_t memory = e->o->common.memory ? e->o->common.memory : 512ull << 20;
    e->chunk_cap = chunk_size(e);
    e->budget = (size_t)(memory / 16);
    e->decoding = gate_new(memory / 2);
    s->nitems = 2 * e->device->lanes + decoders + readers + 1;
    s->arg = e;
    s->boxes = 4;
    s->tick = embed_tick;
    s->box[0] = embed_read_box;
    s->box[0].threads = readers;
    s->box[1] = embed_decode_box;
    s->box[1].threads = decoders;
    s->box[2] = embed_device_box;
    s->box[2].threads = e->device->lanes;
    s->box[3] = embed_sink_box;
}

static int run_stage(struct embedder *e)
{
    plan_stage(e);
    e->chunks = mem_alloc((size_t)e->stage.nitems * sizeof *e->chunks);
    e->stage.items = mem_alloc((size_t)e->stage.nitems * sizeof *e->stage.items);
    for (int i = 0; i < e->stage.nitems; i++) {
        chunk_init(e, &e->chunks[i]);
        e->stage.items[i] = &e->chunks[i];
    }
    live_start(&e->live, e->place, "embed", e->task);
    embed_live(e, "running");
    int rc = stage_run(&e->stage);
    char *why = mem_strdup(err_text()); /* the live file may have troubles of its own */
    while (e->parts) partition_drop(e, e->parts);
    embed_live(e, rc == ERR_STOPPED ? "stopped" : rc ? "failed" : "done");
    if (rc) err_set(rc, "%s", why);
    free(why);
    return rc;
}

/* Embeddings that another program left here are not ours to overwrite. */
static int check_foreign(const struct embedder *e)
{
    static const char *const folders[] = {"img_emb", "text_emb", "metadata"};
    int rc = 0;
    if (e->o->force_new_run || place_exists(e->place, "_darkroom/embed/run.json", NULL)) return 0;
    for (size_t i = 0; i < sizeof folders / sizeof *folders && !rc; i++) {
        struct names n = {0};
        rc = place_list(e->place, folders[i], &n);
        if (!rc && n.count)
            rc = err_set(ERR_STALE,
                         "%s/%s/%s was not made by darkroom; use another place, or --force-new-run "
                         "to write over it",
                         place_url(e->place), folders[i], n.list[0]);
        names_release(&n);
    }
    return rc;
}

/* INPUT... PLACE as arguments, or either by clip-retrieval's option. */
static int open_ends(struct embedder *e, const char **args, int nargs)
{
    const char *place = e->o->output ? e->o->output : nargs ? args[--nargs] : NULL;
    const char **words = e->o->input ? &e->o->input : args;
    if (e->o->input && nargs)
        return err_set(ERR_USAGE, "inputs are given twice: %s and --input-dataset", args[0]);
    if (e->o->input) nargs = 1;
    if (!place || !nargs)
        return err_set(ERR_USAGE, "embed takes INPUT... PLACE; see darkroom embed --help");
    int rc = embed_open_inputs(e, words, nargs);
    if (!rc) rc = plan_partitions(e);
    if (!rc) rc = open_model(e); /* before the place: a failure leaves no folder behind */
    if (!rc) rc = place_open(&e->place, place, 1);
    return rc ? rc : check_foreign(e);
}

static int prepare(struct embedder *e, const char **args, int nargs)
{
    int rc = check_options(e->o);
    if (!rc) rc = task_parse(&e->task, e->o->common.task);
    if (!rc) rc = open_ends(e, args, nargs);
    e->metadata = e->o->metadata || e->o->enable_metadata;
    e->image_keys = e->o->image_key ? e->o->image_key : SAMPLE_PICTURES;
    e->caption_keys = e->o->caption_key;
    str_printf(&e->wanted, "%s;%s;json", e->image_keys, e->caption_keys);
    if (!rc) rc = describe_run(e);
    if (!rc) rc = plan_todo(e);
    e->total = embed_total(e);
    return rc;
}

static int too_many_bad(const struct embedder *e)
{
    double samples = (double)atomic_load(&e->samples);
    return samples - (double)atomic_load(&e->rows) > max_bad(e->o, samples);
}

/* What a finished run exits with, and why; the reason is said also when quiet. */
static int judge(struct embedder *e)
{
    const char *place = place_url(e->place);
    long long bad = atomic_load(&e->samples) - atomic_load(&e->rows);
    int undone = atomic_load(&e->undone);
    if (undone)
        log_warn(
            "%d partition%s could not be finished: an input is missing or failed; the same command "
            "tries again",
            undone, undone == 1 ? "" : "s");
    else if (atomic_load(&e->errors[BAD_TAR_DAMAGED]))
        log_warn("%lld shards are damaged: %s/errors says where",
                 (long long)atomic_load(&e->errors[BAD_TAR_DAMAGED]), place);
    else if (too_many_bad(e))
        log_warn(
            "%lld of %lld samples are bad, more than --max-bad %s: %s/errors says which and why",
            bad, (long long)atomic_load(&e->samples), e->o->max_bad, place);
    else
        return 0;
    return 3;
}

static void release(struct embedder *e)
{
    for (int i = 0; e->chunks && i < e->stage.nitems; i++) chunk_release(&e->chunks[i]);
    gate_free(e->decoding);
    free(e->chunks);
    free(e->stage.items);
    free(e->todo);
    str_release(&e->wanted);
    run_release(&e->run);
    bpe_close(e->bpe);
    clip_close(e->clip);
    device_close(e->device);
    place_close(e->place);
    embed_close_inputs(e);
    pthread_mutex_destroy(&e->lock);
    pthread_cond_destroy(&e->room);
}

static int embed_run(void *opts, const char **args, int nargs)
{
    struct embedder *e = mem_alloc(sizeof *e);
    e->o = opts;
    pthread_mutex_init(&e->lock, NULL);
    pthread_cond_init(&e->room, NULL);
    stop_catch_signals();
    int rc = prepare(e, args, nargs);
    if (!rc) embed_announce(e);
    if (!rc && stop_asked()) {
        rc = err_set(ERR_STOPPED, "stopped by a signal");
    } else if (!rc && !e->ntodo) {
        log_info("nothing to do: all %lld partitions of this task are done",
                 (long long)e->done_before);
    } else if (!rc) {
        rc = run_stage(e);
        if (!rc || rc == ERR_STOPPED) embed_summary(e, rc == ERR_STOPPED);
        if (rc == ERR_STOPPED)
            rc = err_set(rc, "stopped by a signal; the same command goes on from here");
        if (!rc) rc = judge(e);
    }
    release(e);
    free(e);
    return rc;
}

const struct verb embed_verb = {
    "embed",
    "INPUT... PLACE",
    "shards or a folder of pictures to CLIP embeddings",
    "  darkroom embed 'shards/{00000..00127}.tar' place --model ViT-L-14.safetensors --activation quick_gelu\n"
    "  darkroom embed 'pipe:aws s3 cp --quiet s3://bucket/{000000..000099}.tar -' place --model ViT-B/32 --metadata\n"
    "  darkroom embed pictures/ place --model tiny\n"
    "  darkroom embed shards/ place --task 3/16      # the fourth sixteenth\n",
    "INPUT is a shard, a brace pattern, a glob, pipe:COMMAND, @LIST, or a folder of shards or pictures.\n"
    "PLACE receives img_emb/, text_emb/, metadata/ and errors/, one file per partition, as\n"
    "clip-retrieval lays them out. The same command again does what is still missing; tasks may run\n"
    "in any order on any machines and together equal one run. What decides bytes is recorded, and a\n"
    "different value is refused.\n",
    options,
    sizeof(struct embed_options),
    embed_run};
