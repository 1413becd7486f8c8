/* frame.c - from libjpeg's view of the headers to ours. */
#include "image/jpeg/frame.h"

#include <stdio.h>
#include <string.h>

#include <jpeglib.h>

const uint8_t frame_order[BLOCK] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
    41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
    30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
};

static int div_up(int a, int b)
{
    return (a + b - 1) / b;
}

static int take_part(struct part *p, const struct frame *f, const jpeg_component_info *info,
                     const struct jpeg_decompress_struct *c)
{
    if (info->quant_tbl_no < 0 || info->quant_tbl_no >= NUM_QUANT_TBLS) return 1;
    const JQUANT_TBL *q = c->quant_tbl_ptrs[info->quant_tbl_no];
    if (!q) return 1;
    p->id = info->component_id;
    p->wide = div_up(f->width * p->h, f->h);
    p->high = div_up(f->height * p->v, f->v);
    p->blocks_wide = div_up(p->wide, 8);
    p->blocks_high = div_up(p->high, 8);
    for (int i = 0; i < BLOCK; i++) p->quant[i] = (int16_t)q->quantval[i];
    return 0;
}

/* A lone component is coded block by block, whatever its sampling says. */
static int take_sampling(struct frame *f, const struct jpeg_decompress_struct *c)
{
    const jpeg_component_info *p = c->comp_info;
    f->h = f->v = 1;
    for (int i = 0; i < f->count; i++) f->part[i].h = f->part[i].v = 1;
    if (f->count == 1) return 0;
    f->h = f->part[0].h = p[0].h_samp_factor;
    f->v = f->part[0].v = p[0].v_samp_factor;
    if (f->h > 2 || f->v > 2) return 1;
    for (int i = 1; i < f->count; i++)
        if (p[i].h_samp_factor != 1 || p[i].v_samp_factor != 1) return 1;
    /* libjpeg repeats samples instead of blending when a row of chroma has only two. */
    return f->h == 2 && f->width <= 4;
}

static void take_codes(struct code *codes, JHUFF_TBL *const *tables)
{
    for (int i = 0; i < FRAME_TABLES; i++) {
        codes[i].known = tables[i] != NULL;
        if (!tables[i]) continue;
        memcpy(codes[i].bits, tables[i]->bits, sizeof codes[i].bits);
        memcpy(codes[i].symbols, tables[i]->huffval, sizeof codes[i].symbols);
    }
}

/* Components stand in the order of the frame, their tables exist. */
static int check_scan(const struct scan *s)
{
    for (int i = 0; i < s->count; i++)
        if ((i && s->part[i] <= s->part[i - 1]) || s->dc[i] >= FRAME_TABLES ||
            s->ac[i] >= FRAME_TABLES)
            return 1;
    return 0;
}

static int take_scan(struct scan *s, const struct jpeg_decompress_struct *c)
{
    s->count = c->comps_in_scan;
    if (s->count > c->num_components) return 1;
    for (int i = 0; i < s->count; i++) {
        const jpeg_component_info *info = c->cur_comp_info[i];
        s->part[i] = info->component_index;
        s->dc[i] = info->dc_tbl_no;
        s->ac[i] = info->ac_tbl_no;
    }
    s->first = c->Ss;
    s->last = c->Se;
    s->high = c->Ah;
    s->low = c->Al;
    return check_scan(s);
}

/* Two components of one name. */
static int has_twins(const struct frame *f)
{
    const struct part *p = f->part;
    return f->count == 3 && (p[0].id == p[1].id || p[0].id == p[2].id || p[1].id == p[2].id);
}

int frame_init(struct frame *f, const struct jpeg_decompress_struct *c)
{
    f->width = (int)c->image_width;
    f->height = (int)c->image_height;
    f->count = c->num_components;
    f->progressive = c->progressive_mode;
    f->restart = (int)c->restart_interval;
    if (c->arith_code || c->data_precision != 8 || (f->count != 1 && f->count != 3)) return 1;
    if (f->count == 3 && c->jpeg_color_space != JCS_YCbCr) return 1;
    if (take_sampling(f, c) || take_scan(&f->scan, c)) return 1;
    for (int i = 0; i < f->count; i++)
        if (take_part(&f->part[i], f, &c->comp_info[i], c)) return 1;
    f->mcus_wide = div_up(f->width, 8 * f->h);
    f->mcus_high = div_up(f->height, 8 * f->v);
    take_codes(f->dc, c->dc_huff_tbl_ptrs);
    take_codes(f->ac, c->ac_huff_tbl_ptrs);
    f->data = c->src->next_input_byte;
    f->end = f->data + c->src->bytes_in_buffer;
    return has_twins(f);
}

/* One code of a DHT segment; returns its bytes, or 0. */
static size_t read_code(struct frame *f, const uint8_t *p, size_t n)
{
    size_t count = 0;
    if (n < 17 || (p[0] & 0xef) >= FRAME_TABLES) return 0;
    for (int i = 1; i <= 16; i++) count += p[i];
    if (count > 256 || n < 17 + count) return 0;
    struct code *code = (p[0] & 16 ? f->ac : f->dc) + (p[0] & 15);
    *code = (struct code){.known = 1};
    memcpy(code->bits + 1, p + 1, 16);
    memcpy(code->symbols, p + 17, count);
    return 17 + count;
}

static int read_codes(struct frame *f, const uint8_t *p, size_t n)
{
    for (size_t used; n; p += used, n -= used)
        if (!(used = read_code(f, p, n))) return 1;
    return 0;
}

static int part_of(const struct frame *f, int id)
{
    int i = 0;
    while (i < f->count && f->part[i].id != id) i++;
    return i;
}

static int read_scan(struct frame *f, const uint8_t *p, size_t n)
{
    struct scan *s = &f->scan;
    s->count = n ? p[0] : 0;
    if (s->count < 1 || s->count > f->count || n != 4 + 2 * (size_t)s->count) return 1;
    for (int i = 0; i < s->count; i++) {
        s->part[i] = part_of(f, *++p);
        if (s->part[i] == f->count) return 1;
        s->dc[i] = *++p >> 4;
        s->ac[i] = *p & 15;
    }
    s->first = p[1];
    s->last = p[2];
    s->high = p[3] >> 4;
    s->low = p[3] & 15;
    return check_scan(s);
}

int frame_next_scan(struct frame *f, const uint8_t **at, int marker)
{
    for (const uint8_t *p = *at;;) {
        if (f->end - p < 4) return 1;
        size_t n = (size_t)(p[0] << 8 | p[1]);
        if (n < 2 || n + 2 > (size_t)(f->end - p)) return 1;
        if (marker == 0xda) {
            *at = p + n;
            return read_scan(f, p + 2, n - 2);
        }
        if (marker != 0xc4 || read_codes(f, p + 2, n - 2) || p[n] != 0xff) return 1;
        marker = p[n + 1];
        p += n + 2;
    }
}
