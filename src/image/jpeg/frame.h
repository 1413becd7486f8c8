/* frame.h - what the headers of a regular JPEG say, in the shape our own decoder wants.
 * Regular means: eight bits, Huffman codes, one grey or three YCbCr components, chroma in full or
 * halved along either side. libjpeg has read and judged the headers; the rest is not taken. */
#ifndef IMAGE_JPEG_FRAME_H
#define IMAGE_JPEG_FRAME_H

#include "base/platform.h"

enum { FRAME_PARTS = 3, FRAME_TABLES = 4, BLOCK = 64 };

/* A Huffman code as a DHT segment gives it. */
struct code {
    int known;
    uint8_t bits[17];     /* bits[l]: how many codes of l bits */
    uint8_t symbols[256]; /* in the order of their codes */
};

struct part {
    int id;
    int h, v;                     /* blocks of an MCU, across and down */
    int blocks_wide, blocks_high; /* those that hold picture */
    int wide, high;               /* samples that hold picture */
    int16_t quant[BLOCK];         /* in natural order */
};

/* A scan's own header. */
struct scan {
    int count;
    int part[FRAME_PARTS], dc[FRAME_PARTS], ac[FRAME_PARTS]; /* of each component in it */
    int first, last;                                         /* band of coefficients */
    int high, low;                                           /* bit above, bit sent */
};

struct frame {
    int width, height;
    int count, progressive, restart; /* restart: MCUs between markers, or 0 */
    int h, v;                        /* blocks of an MCU of the first component */
    int mcus_wide, mcus_high;
    struct part part[FRAME_PARTS];
    struct code dc[FRAME_TABLES], ac[FRAME_TABLES];
    struct scan scan;          /* the first one */
    const uint8_t *data, *end; /* from the first scan's data to the end of the file */
};

struct jpeg_decompress_struct;

/* After jpeg_read_header. 0, or 1 when the picture is not a regular one. */
int frame_init(struct frame *f, const struct jpeg_decompress_struct *c);

/* The headers between two scans: *p stands behind `marker`, and then behind the header of f->scan.
 * Codes are changed in f. 0, or 1 when they hold anything but codes and one scan. */
int frame_next_scan(struct frame *f, const uint8_t **p, int marker);

/* Zigzag to natural order. */
extern const uint8_t frame_order[BLOCK];

#endif
