/* jpeg.c - JPEG through libjpeg-turbo, with the settings Pillow uses, for the files that our own
 * faster decoder (image/jpeg/regular.h) does not take; the headers are always libjpeg's to judge.
 * A window is decoded by cropping columns (IDCT, upsampling and colour only where needed) and
 * skipping rows; the entropy data is read to its end all the same, since damage counts wherever
 * it is. Every call that may fail runs under guarded(), the only setjmp. A warning ends the
 * decode at once unless damage is kept. */
#include "image/jpeg.h"
#include "image/jpeg/regular.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>

enum { MARGIN = 4, ROW_PAD = 64 };

struct jpeg {
    struct jpeg_decompress_struct c;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf env;
    int keep, only_libjpeg;
    enum bad why; /* first damage found */
    const char *text;
    const uint8_t *bytes;
    size_t n;
    struct arena *arena;
    /* jpeg_read */
    const struct window *window;
    jpeg_rows_fn *rows;
    void *ctx;
    uint8_t *row[JPEG_BATCH], *at_x0[JPEG_BATCH];
    size_t row_bytes;
    int rows_done;
};

static void note(struct jpeg *j, enum bad why, const char *text)
{
    if (j->why != BAD_NONE) return;
    j->why = why;
    j->text = text;
}

static NORETURN void fail(struct jpeg *j, enum bad why, const char *text)
{
    j->why = why;
    j->text = text;
    longjmp(j->env, 1);
}

static void note_code(struct jpeg *j, int code)
{
    switch (code) {
    case JWRN_JPEG_EOF:
    case JWRN_HIT_MARKER:
    case JERR_INPUT_EMPTY:
    case JERR_INPUT_EOF: note(j, BAD_TRUNCATED, "the JPEG data ends too early"); break;
    case JERR_NO_IMAGE:
    case JERR_NO_HUFF_TABLE:
    case JERR_NO_QUANT_TABLE:
    case JERR_SOF_NO_SOS: note(j, BAD_TRUNCATED, "the JPEG has no image data"); break;
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE: note(j, BAD_CORRUPT, "bad entropy code in the JPEG data"); break;
    case JWRN_MUST_RESYNC: note(j, BAD_CORRUPT, "a restart marker is missing or wrong"); break;
    case JWRN_EXTRANEOUS_DATA: note(j, BAD_CORRUPT, "stray bytes before a JPEG marker"); break;
    case JWRN_BOGUS_PROGRESSION: note(j, BAD_CORRUPT, "scans out of order"); break;
    case JERR_SOF_UNSUPPORTED:
    case JERR_BAD_PRECISION:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_CCIR601_NOTIMPL:
    case JERR_FRACT_SAMPLE_NOTIMPL:
    case JERR_ARITH_NOTIMPL: note(j, BAD_UNSUPPORTED, "a kind of JPEG that is not read"); break;
    case JERR_EMPTY_IMAGE: note(j, BAD_CORRUPT, "the header gives a side of 0 pixels"); break;
    case JERR_IMAGE_TOO_BIG: note(j, BAD_TOO_LARGE, "a side is over the limit"); break;
    default: note(j, BAD_CORRUPT, "damaged JPEG data"); break;
    }
}

static void on_error(j_common_ptr c)
{
    struct jpeg *j = c->client_data;
    note_code(j, c->err->msg_code);
    longjmp(j->env, 1);
}

static void on_message(j_common_ptr c, int level)
{
    struct jpeg *j = c->client_data;
    if (level >= 0) return;
    note_code(j, c->err->msg_code);
    if (!j->keep) longjmp(j->env, 1);
}

static void on_progress(j_common_ptr c)
{
    struct jpeg *j = c->client_data;
    uint64_t scans = (uint64_t)j->c.input_scan_number;
    if (scans > IMAGE_MAX_SCANS) fail(j, BAD_TOO_LARGE, "the JPEG has too many scans");
    if (scans * j->c.image_width * j->c.image_height > JPEG_WORK_LIMIT && scans > 1)
        fail(j, BAD_TOO_LARGE, "the JPEG has too many scans for its size");
}

/* Run a body of libjpeg calls: 0, or the damage noted by the one that failed. */
static int guarded(struct jpeg *j, void (*body)(struct jpeg *))
{
    if (setjmp(j->env)) return err_bad(j->why, "%s", j->text);
    body(j);
    return 0;
}

static void read_header(struct jpeg *j)
{
    jpeg_create_decompress(&j->c);
    j->c.progress = &j->progress;
    jpeg_mem_src(&j->c, j->bytes, (unsigned long)j->n);
    jpeg_save_markers(&j->c, JPEG_APP0 + 1, 0xffff);
    jpeg_read_header(&j->c, TRUE);
}

/* Scans that come apart are gathered as coefficients of the whole picture. */
static int check_size(struct jpeg *j)
{
    const struct jpeg_decompress_struct *c = &j->c;
    int rc = image_check_size(c->image_width, c->image_height, 4);
    if (rc || !jpeg_has_multiple_scans(&j->c)) return rc;
    uint64_t blocks = 0;
    for (int i = 0; i < c->num_components; i++)
        blocks += (uint64_t)c->comp_info[i].width_in_blocks * c->comp_info[i].height_in_blocks;
    if (blocks * sizeof(JBLOCK) > IMAGE_BUDGET)
        return err_bad(BAD_TOO_LARGE, "a progressive JPEG of %u x %u needs too much memory",
                       c->image_width, c->image_height);
    return 0;
}

static int marker_orientation(const struct jpeg_decompress_struct *c)
{
    for (jpeg_saved_marker_ptr m = c->marker_list; m; m = m->next)
        if (m->data_length > 6 && !memcmp(m->data, "Exif\0", 6))
            return exif_orientation(m->data + 6, m->data_length - 6);
    return 1;
}

static int describe(struct jpeg *j, struct image *head)
{
    head->width = (int)j->c.image_width;
    head->height = (int)j->c.image_height;
    head->orientation = marker_orientation(&j->c);
    switch (j->c.num_components) {
    case 1: head->mode = IMAGE_L; break;
    case 3: head->mode = IMAGE_RGB; break;
    case 4: head->mode = IMAGE_CMYK; break;
    default:
        return err_bad(BAD_UNSUPPORTED, "a JPEG of %d components is not read", j->c.num_components);
    }
    j->c.out_color_space = head->mode == IMAGE_CMYK ? JCS_CMYK : JCS_EXT_RGBX;
    return 0;
}

int jpeg_open(struct jpeg **out, struct image *head, const uint8_t *p, size_t n, int keep,
              struct arena *a)
{
    struct jpeg *j = *out = arena_zalloc(a, sizeof *j);
    j->keep = keep;
    j->arena = a;
    j->c.err = jpeg_std_error(&j->errors);
    j->errors.error_exit = on_error;
    j->errors.emit_message = on_message;
    j->c.client_data = j;
    j->progress.progress_monitor = on_progress;
    j->bytes = p;
    j->n = n;
    int rc = guarded(j, read_header);
    if (!rc) rc = check_size(j);
    if (!rc) rc = describe(j, head);
    if (rc) jpeg_close(j);
    return rc;
}

void jpeg_close(struct jpeg *j)
{
    if (j) jpeg_destroy_decompress(&j->c);
}

void jpeg_only_libjpeg(struct jpeg *j)
{
    j->only_libjpeg = 1;
}

/* Smoothing estimates missing AC coefficients from neighbouring blocks; a crop would hide some. */
static int smoothing_possible(const struct jpeg_decompress_struct *c)
{
    if (!c->progressive_mode || !c->do_block_smoothing || !c->coef_bits) return 0;
    for (int i = 0; i < c->num_components; i++)
        for (int k = 0; k < DCTSIZE2; k++)
            if (c->coef_bits[i][k]) return 1;
    return 0;
}

/* Crop to the window and a margin, since fancy upsampling looks at the neighbouring chroma
 * sample; libjpeg widens it to whole blocks. Returns the first column that will come. */
static int crop_columns(struct jpeg *j)
{
    struct jpeg_decompress_struct *c = &j->c;
    JDIMENSION from = j->window->x0 > MARGIN ? (JDIMENSION)(j->window->x0 - MARGIN) : 0;
    JDIMENSION to = (JDIMENSION)j->window->x1 + MARGIN;
    if (to > c->output_width) to = c->output_width;
    if ((from == 0 && to == c->output_width) || smoothing_possible(c)) return 0;
    JDIMENSION width = to - from;
    jpeg_crop_scanline(c, &from, &width);
    return (int)from;
}

static void skip_to(struct jpeg *j, int y)
{
    int now = (int)j->c.output_scanline;
    if (y > now) jpeg_skip_scanlines(&j->c, (JDIMENSION)(y - now));
}

/* Pillow takes every four-component file for inverted ink, as Adobe writes it. */
static void invert(uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++) p[i] = (uint8_t)~p[i];
}

static void hand_over(struct jpeg *j, int n)
{
    if (j->c.out_color_space == JCS_CMYK)
        for (int i = 0; i < n; i++) invert(j->row[i], j->row_bytes);
    j->rows(j->ctx, j->at_x0, n);
    j->rows_done += n;
}

static void read_rows(struct jpeg *j)
{
    const struct window *w = j->window;
    jpeg_start_decompress(&j->c);
    int from = crop_columns(j);
    j->row_bytes = (size_t)j->c.output_width * (size_t)j->c.output_components;
    for (int i = 0; i < JPEG_BATCH; i++) {
        j->row[i] = arena_zalloc(j->arena, j->row_bytes + ROW_PAD);
        j->at_x0[i] = j->row[i] + (size_t)(w->x0 - from) * (size_t)j->c.output_components;
    }
    for (int y; (y = w->y0 + j->rows_done) < w->y1;) {
        int want = w->y1 - y < JPEG_BATCH ? w->y1 - y : JPEG_BATCH, got = 0;
        skip_to(j, y);
        while (got < want)
            got += (int)jpeg_read_scanlines(&j->c, j->row + got, (JDIMENSION)(want - got));
        hand_over(j, got);
    }
    /* Skipping the last row would end the decode without a look at what is left. */
    skip_to(j, (int)j->c.output_height - 1);
    while (j->c.output_scanline < j->c.output_height) jpeg_read_scanlines(&j->c, j->row, 1);
    jpeg_finish_decompress(&j->c);
}

/* The rows a damaged file did not give are black. */
static void fill_rest(struct jpeg *j)
{
    for (int i = 0; i < JPEG_BATCH; i++) memset(j->row[i], 0, j->row_bytes);
    int left = j->window->y1 - j->window->y0 - j->rows_done;
    for (; left > 0; left -= JPEG_BATCH)
        j->rows(j->ctx, j->at_x0, left < JPEG_BATCH ? left : JPEG_BATCH);
}

int jpeg_read(struct jpeg *j, int *damaged, const struct window *w, jpeg_rows_fn *rows, void *ctx)
{
    j->window = w;
    j->rows = rows;
    j->ctx = ctx;
    int rc = j->only_libjpeg || regular_read(&j->rows_done, &j->c, w, rows, ctx, j->arena);
    if (rc) rc = guarded(j, read_rows);
    if (rc) {
        if (!j->keep || j->why == BAD_TOO_LARGE || !j->rows_done) return rc;
        fill_rest(j);
    }
    *damaged = j->why != BAD_NONE;
    return 0;
}

int jpeg_probe(const uint8_t *p, size_t n)
{
    return n >= 3 && p[0] == 0xff && p[1] == 0xd8 && p[2] == 0xff;
}

struct filler {
    struct image *im;
    int y;
};

static void fill_image(void *ctx, uint8_t *const *rows, int n)
{
    struct filler *f = ctx;
    for (int i = 0; i < n; i++) {
        uint8_t *out = f->im->pixels + (size_t)f->y++ * f->im->stride;
        if (f->im->mode != IMAGE_L)
            memcpy(out, rows[i], f->im->stride);
        else
            for (int x = 0; x < f->im->width; x++) out[x] = rows[i][4 * (size_t)x];
    }
}

int jpeg_decode(struct image *out, const uint8_t *p, size_t n, int keep, struct arena *a)
{
    struct jpeg *j;
    int rc = jpeg_open(&j, out, p, n, keep, a);
    if (rc) return rc;
    struct window all = {0, out->width, 0, out->height};
    struct filler f = {out, 0};
    rc = image_reserve(out, (uint64_t)out->width, (uint64_t)out->height, out->mode, a);
    if (!rc) rc = jpeg_read(j, &out->damaged, &all, fill_image, &f);
    jpeg_close(j);
    return rc;
}
