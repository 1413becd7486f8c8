/* kmeans_bench.c - k-means on a raw file of rows, from given start rows; driven by kmeans.py.
 *     kmeans_bench ROWS f32|f16 N DIM START K ITERS TOL THREADS OUT [no-bounds]
 * Prints one line per round and the seconds of the whole fit; writes the centroids to OUT. */
#include "algo/kmeans.h"
#include "base/clock.h"
#include "base/err.h"
#include "tensor/ops.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

static void *map_file(const char *path, size_t bytes)
{
    int fd = open(path, O_RDONLY);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) || (size_t)st.st_size < bytes) {
        fprintf(stderr, "%s: %zu bytes wanted\n", path, bytes);
        exit(1);
    }
    return mmap(NULL, bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
}

struct times {
    double wall, cpu;
};

static struct times times_now(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    double cpu = (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
                 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
    return (struct times){clock_now(), cpu};
}

static int show(void *state, const struct kmeans_step *s)
{
    struct times *last = state, now = times_now();
    printf("%s %d wall %.4f cpu %.4f inertia %.2f moved %.3g changed %lld work %.3f\n", s->phase,
           s->round, now.wall - last->wall, now.cpu - last->cpu, s->inertia, s->moved,
           (long long)s->changed, s->work);
    *last = now;
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 11) return 2;
    int half = !strcmp(argv[2], "f16");
    int64_t n = atoll(argv[3]), dim = atoll(argv[4]), k = atoll(argv[6]);
    struct tensor x =
        tensor_2d(map_file(argv[1], (size_t)(n * dim) * (half ? 2 : 4)), half ? F16 : F32, n, dim);
    struct rows rows = rows_of(&x);
    struct device *d;
    struct kmeans m;
    struct times begin = times_now(), last = begin;
    struct kmeans_options o = {.clusters = k,
                               .max_iter = atoi(argv[7]),
                               .tol = atof(argv[8]),
                               .normalize = 1,
                               .seed = 1,
                               .no_bounds = argc > 11,
                               .progress = show,
                               .state = &last};
    if (strcmp(argv[5], "-")) {
        o.start = KMEANS_GIVEN;
        o.centroids = map_file(argv[5], (size_t)(k * dim) * 4);
    }
    if (device_open(&d, "cpu", atoi(argv[9])) || kmeans_fit(&m, d, &rows, &o)) {
        fprintf(stderr, "%s\n", err_text());
        return 1;
    }
    struct times end = times_now();
    printf("whole wall %.4f cpu %.4f iterations %d\n", end.wall - begin.wall, end.cpu - begin.cpu,
           m.iterations);
    FILE *out = fopen(argv[10], "wb");
    fwrite(m.centroids, sizeof(float), (size_t)(k * dim), out);
    fclose(out);
    kmeans_release(&m);
    device_close(d);
    return 0;
}
