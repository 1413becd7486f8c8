/* head.h - small networks that make a score of an embedding: aesthetics, NSFW, any other that a
 * JSON describes (docs/heads.md), and the probability of one prompt among several.
 * A head is opened once, folded to as few layers as possible and shared by all threads; each
 * thread runs a set of heads through its own runner. A score depends on its own row alone: not on
 * the batch it came in, nor on threads. */
#ifndef MODEL_HEAD_HEAD_H
#define MODEL_HEAD_HEAD_H

#include "tensor/device.h"

struct head;
struct head_runner;

/* From what stands behind --head NAME= to a file: a file, a folder, or a name ("aesthetic", "nsfw",
 * HF's org/name) that is looked up as NAME.json, .safetensors, .pth, ... or a folder NAME in
 * model_dir (may be NULL), $DARKROOM_HOME/models and where NeMo Curator and clip-retrieval keep
 * theirs; under the name it was published for embeddings of that width; and, with tiny, beside the
 * built-in model. *out is the caller's. ERR_INPUT: not on this machine, with the folders searched.
 */
int head_find(char **out, const char *word, const char *model_dir, int width, int tiny);

/* path: weights or a description, as head_find gives it. ERR_INPUT names the file and what is
 * wrong: damaged, not finite, not a network that can be recognised, or badly described. */
int head_open(struct head **out, struct device *dev, const char *path);

/* softmax(scale * rows x)[0], where rows [count,width] are embeddings of texts, of length 1. */
int head_open_prompts(struct head **out, struct device *dev, const float *rows, int count,
                      int width, double scale);
void head_close(struct head *h); /* NULL is fine */

int head_width(const struct head *h);        /* of the embeddings it takes */
const char *head_what(const struct head *h); /* "NSFW detector, 768 -> 64 -> 512 -> 256 -> 1" */

/* sha256 of what decides the score, whatever file it came from: layers as computed, in f32. */
const char *head_fingerprint(const struct head *h);

/* All heads must take the same width. rows: most rows at a time, 0 = what suits the device.
 * The heads must outlive the runner. */
int head_runner_open(struct head_runner **out, const struct head *const *heads, int count,
                     struct device *lane, int rows);
void head_runner_close(struct head_runner *r); /* NULL is fine */

/* scores[h][i] of row i by head h. data: [n,width] in host memory, F16 or F32, perhaps unaligned;
 * each row is scaled to length 1 first, also when it was already, so that a row's length never
 * matters (unless a description asks for rows as they are). NaN: the row has no direction (zero,
 * infinite or NaN). */
int head_run(struct head_runner *r, float *const *scores, const void *data, enum dtype type,
             int64_t n);

#endif
