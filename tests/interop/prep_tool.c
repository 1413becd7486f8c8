/* prep_tool.c - lets the Python tests drive src/image. Requests on stdin, answers on stdout:
 *   prep S fit filter floor rgb_first white exif keep N\n + N bytes -> ok W H format damaged\n +
 * pixels decode keep N\n + N bytes -> ok W H mode orientation damaged bytes\n + pixels (+ palette:
 * P) encode W H\n + W*H*3 bytes -> ok N\n + PNG lut m0 m1 m2 s0 s1 s2\n -> ok\n + 3*256 floats and
 * for a bad picture: bad status: sentence\n */
#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "image/image.h"
#include "image/prep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *read_bytes(size_t n)
{
    uint8_t *p = mem_alloc(n ? n : 1);
    if (fread(p, 1, n, stdin) != n) exit(2);
    return p;
}

static void say_bad(int rc)
{
    printf("bad %s: %s\n", rc == ERR_DATA ? bad_name(err_why()) : "error", err_text());
}

static void do_prep(const char *line, struct arena *a)
{
    struct prep p = {0};
    size_t n = 0;
    int fit = 0, filter = 0;
    sscanf(line, "prep %d %d %d %d %d %d %d %d %zu", &p.size, &fit, &filter, &p.floor_crop,
           &p.rgb_first, &p.over_white, &p.exif_orient, &p.keep_damaged, &n);
    p.fit = (enum prep_fit)fit;
    p.filter = (enum prep_filter)filter;
    void *bytes = read_bytes(n);
    struct picture_info info;
    uint8_t *rgb = mem_alloc((size_t)p.size * (size_t)p.size * 3);
    int rc = prep_run(rgb, &info, bytes, n, &p, a);
    if (rc)
        say_bad(rc);
    else {
        printf("ok %d %d %s %d\n", info.width, info.height, info.format, info.damaged);
        fwrite(rgb, 3, (size_t)p.size * (size_t)p.size, stdout);
    }
    free(rgb);
    free(bytes);
}

static void do_decode(const char *line, struct arena *a)
{
    int keep = 0;
    size_t n = 0;
    sscanf(line, "decode %d %zu", &keep, &n);
    void *bytes = read_bytes(n);
    struct image im;
    int rc = image_decode(&im, bytes, n, keep, a);
    if (rc)
        say_bad(rc);
    else {
        size_t row = (size_t)im.width * (size_t)image_pixel_size(im.mode);
        printf("ok %d %d %s %d %d %zu\n", im.width, im.height, image_mode_name(im.mode),
               im.orientation, im.damaged, row * (size_t)im.height);
        for (int y = 0; y < im.height; y++)
            fwrite(im.pixels + (size_t)y * im.stride, 1, row, stdout);
        if (im.mode == IMAGE_P) fwrite(im.palette, 1, sizeof im.palette, stdout);
    }
    free(bytes);
}

static void do_encode(const char *line)
{
    int w = 0, h = 0;
    sscanf(line, "encode %d %d", &w, &h);
    uint8_t *rgb = read_bytes((size_t)w * (size_t)h * 3);
    struct str s = {0};
    png_encode(&s, rgb, w, h);
    printf("ok %zu\n", s.len);
    fwrite(s.p, 1, s.len, stdout);
    str_release(&s);
    free(rgb);
}

static void do_lut(const char *line)
{
    struct prep p = {0};
    float lut[3][256];
    sscanf(line, "lut %f %f %f %f %f %f", &p.mean[0], &p.mean[1], &p.mean[2], &p.std[0], &p.std[1],
           &p.std[2]);
    prep_lut(lut, &p);
    printf("ok\n");
    fwrite(lut, 1, sizeof lut, stdout);
}

int main(void)
{
    char line[256];
    struct arena a = {0};
    while (fgets(line, sizeof line, stdin)) {
        if (!strncmp(line, "prep ", 5))
            do_prep(line, &a);
        else if (!strncmp(line, "decode ", 7))
            do_decode(line, &a);
        else if (!strncmp(line, "encode ", 7))
            do_encode(line);
        else if (!strncmp(line, "lut ", 4))
            do_lut(line);
        else
            return 2;
        fflush(stdout);
        arena_reset(&a);
    }
    arena_release(&a);
    return 0;
}
