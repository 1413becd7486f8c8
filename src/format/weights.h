/* weights.h - a model file, whatever made it: tensors by name.
 * safetensors (one file or a sharded index), torch zip, torch legacy, TorchScript, npz, npy.
 * The content decides, never the extension. Nothing in a file is executed. Numbers stay where
 * they are in the mapped file; reading them converts to f32. */
#ifndef FORMAT_WEIGHTS_H
#define FORMAT_WEIGHTS_H

#include "format/weight.h"

struct weights;

/* One line on failure names the file, what is wrong and what to do. ERR_INPUT. */
int weights_open(struct weights **out, const char *path);
void weights_close(struct weights *w);

const char *weights_path(const struct weights *w);
const char *weights_format(const struct weights *w); /* "safetensors", "torch zip", ... */

/* The tensors, in file order; a weight lives as long as w. A dictionary inside a pickle gives
 * dotted names ("state_dict.module.visual.proj"); one lone array is named "tensor". */
size_t weights_count(const struct weights *w);
const struct weight *weights_at(const struct weights *w, size_t i);
const struct weight *weights_find(const struct weights *w, const char *name); /* NULL: none */
int64_t weights_parameters(const struct weights *w); /* numbers in all tensors */

/* All count numbers in C order as f32. Exact wherever f32 can be: f16, bf16 and f8 always
 * (subnormals and infinities too; NaN stays NaN); wider types round to nearest. ERR_INPUT for
 * complex numbers. Any number of threads may read at once. */
int weights_read_f32(float *dst, const struct weight *w);

/* Plain text beside the tensors: safetensors' __metadata__, and scalars and strings of a pickle
 * by dotted name ("epoch" -> "12"). */
size_t weights_meta_count(const struct weights *w);
const struct weight_note *weights_meta_at(const struct weights *w, size_t i);
const char *weights_meta(const struct weights *w, const char *key); /* NULL: none */

/* What was not understood and left alone: key = where, text = what ("numpy.core.multiarray.scalar",
 * "sparse tensor"). Empty for a plain state dict. */
size_t weights_stub_count(const struct weights *w);
const struct weight_note *weights_stub_at(const struct weights *w, size_t i);

#endif
