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

static int take_codes(struct code *codes, JHUFF_TBL *const *tables)
{
    for (int i = 0; i < FRAME_TABLES; i++) {
        codes[i].known = tables[i] != NULL;
        if (!tables[i]) continue;
        memcpy(codes[i].bits, tables[i]->bits, sizeof codes[i].bits);
        memcpy(codes[i].symbols, tables[i]->huffval, sizeof codes[i].symbols);
    }
    return 0;
}

static int take_scan(struct scan *s, const struct jpeg_decompress_struct *c)
{
    s->count = c->comps_in_scan;
    if (s->count > FRAME_PARTS) return 1;
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
    return 0;
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
    return 0;
}
