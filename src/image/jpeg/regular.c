/* regular.c - see regular.h. */
#include "image/jpeg/regular.h"
#include "image/jpeg/scans.h"

int regular_read(int *done, const struct jpeg_decompress_struct *header, const struct window *w,
                 jpeg_rows_fn *rows, void *ctx, struct arena *a)
{
    struct frame *f = arena_alloc(a, sizeof *f);
    *done = 0;
    if (frame_init(f, header)) return 1;
    struct canvas c;
    canvas_init(&c, f, w, rows, ctx, a);
    int rc = f->progressive ? progressive_read(&c, f, a) : baseline_read(&c, f, a);
    *done = c.next - w->y0;
    return rc;
}
