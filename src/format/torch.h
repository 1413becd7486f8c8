/* torch.h - checkpoints of PyTorch: the zip of torch.save (>= 1.6), the legacy stream before it,
 * and TorchScript archives. The pickle is read as a tree and nothing in it runs; a tensor is
 * believed only when torch's own rebuild functions name a storage that holds all its elements. */
#ifndef FORMAT_TORCH_H
#define FORMAT_TORCH_H

#include "format/weight.h"
#include "format/zip.h"

/* Is it the legacy stream? (A zip is told apart by torch_root.) */
int torch_is_legacy(const void *p, size_t n);

/* Folder of data.pkl inside the archive ("archive"), or NULL when there is none; *script is set
 * for TorchScript. Lives in the arena. */
const char *torch_root(const struct zip *z, int *script, struct arena *a);

/* Tensors by dotted path into l, which borrows the file; scalars and strings become metadata, and
 * whatever is neither is listed as a stub. ERR_INPUT. */
int torch_decode_zip(struct weight_list *l, const struct zip *z, const char *root, int script);
int torch_decode_legacy(struct weight_list *l, const void *p, size_t n);

#endif
