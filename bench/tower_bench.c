/* The image and text towers at full size: img/s over some seconds on as many lanes as asked,
 * and the FMA rate one core reaches with everything in registers, measured in the same process.
 *   tower_bench MODEL_FOLDER LANES SECONDS [ROWS]
 * Driven by bench/tower.py, which interleaves it with the peers. Reads lines from stdin: each
 * line is one round ("image 16" = batches of 16 for SECONDS), answered by its rate by the clock
 * and by CPU time; "peak 1" is answered by the FMA rate of all lanes in GFLOP/s. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/rng.h"
#include "model/clip.h"
#include "../bench/peak.h"

struct lane {
    struct clip_runner *runner;
    struct device *dev;
    const struct clip_config *config;
    double seconds;
    long done;
    double took, cpu, peak;
    int batch, text;
    pthread_t thread;
};

static void *run(void *arg)
{
    struct lane *l = arg;
    const struct clip_config *c = l->config;
    size_t picture = (size_t)c->image_size * (size_t)c->image_size * 3;
    uint8_t *pixels = mem_alloc((size_t)l->batch * picture);
    float *out = mem_alloc((size_t)l->batch * (size_t)c->embed * sizeof *out);
    int32_t *tokens = mem_alloc((size_t)l->batch * 77 * sizeof *tokens);
    int32_t *at = mem_alloc((size_t)(l->batch + 1) * sizeof *at);
    struct rng r = {3};
    for (size_t i = 0; i < (size_t)l->batch * picture; i++) pixels[i] = (uint8_t)rng_u64(&r);
    for (int i = 0; i < l->batch; i++) at[i + 1] = at[i] + 8 + (int)rng_below(&r, 12);
    for (int i = 0; i < at[l->batch]; i++) tokens[i] = (int32_t)rng_below(&r, 1000);
    double start = clock_now(), cpu = clock_cpu();
    l->done = 0;
    while ((l->took = clock_now() - start) < l->seconds || !l->done) {
        int rc = l->text ? clip_text(l->runner, out, tokens, at, l->batch)
                         : clip_image(l->runner, out, pixels, l->batch);
        if (rc) fprintf(stderr, "%s\n", err_text()), exit(1);
        l->done += l->batch;
    }
    l->took = clock_now() - start;
    l->cpu = clock_cpu() - cpu;
    free(pixels);
    free(out);
    free(tokens);
    free(at);
    return NULL;
}

static void *run_peak(void *arg)
{
    struct lane *l = arg;
    l->peak = peak_fma(isa_best());
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc < 4) return 2;
    int lanes = atoi(argv[2]);
    struct lane *l = mem_alloc((size_t)lanes * sizeof *l);
    struct device *dev;
    struct clip *c;
    double start = clock_now();
    if (device_open(&dev, "cpu", 1) ||
        clip_open(&c, dev, &(struct clip_ask){.model = argv[1], .no_text = argc > 5})) {
        fprintf(stderr, "%s\n", err_text());
        return 1;
    }
    struct clip_runner_ask ask = {.out = F16, .normalize = 1, .rows = argc > 4 ? atoi(argv[4]) : 0};
    for (int i = 0; i < lanes; i++) {
        l[i].config = clip_config(c);
        l[i].seconds = atof(argv[3]);
        if (device_lane(&l[i].dev, dev) || clip_runner_open(&l[i].runner, c, l[i].dev, &ask))
            return 1;
    }
    printf("loaded %.3f s, weights %.1f MB, runner %.1f MB, kind %s\n", clock_now() - start,
           (double)clip_bytes(c) / 1e6, (double)clip_runner_bytes(l[0].runner) / 1e6, dev->kind);
    fflush(stdout);
    char line[256], hex[65];
    clip_fingerprint(c, hex); /* a thread that hashes the weights: let it end */
    while (fgets(line, sizeof line, stdin)) {
        char what[32] = "";
        int batch = 0;
        double rate = 0, by_cpu = 0, peak = 0;
        int is_peak;
        if (sscanf(line, "%31s %d", what, &batch) != 2 || batch < 1) break;
        is_peak = !strcmp(what, "peak");
        for (int i = 0; i < lanes; i++) {
            l[i].batch = batch;
            l[i].text = !strcmp(what, "text");
            pthread_create(&l[i].thread, NULL, is_peak ? run_peak : run, &l[i]);
        }
        for (int i = 0; i < lanes; i++) {
            pthread_join(l[i].thread, NULL);
            peak += l[i].peak;
            if (is_peak) continue;
            rate += (double)l[i].done / l[i].took;
            by_cpu += (double)l[i].done / l[i].cpu;
        }
        /* by CPU time as well: what an idle machine would give */
        printf("%.4f %.4f\n", is_peak ? peak : rate, is_peak ? peak : by_cpu);
        fflush(stdout);
    }
    for (int i = 0; i < lanes; i++) {
        clip_runner_close(l[i].runner);
        device_close(l[i].dev);
    }
    clip_close(c);
    device_close(dev);
    free(l);
    return 0;
}
