/* weights_tool.c - what weights.h sees in a file, for tests in Python.
 *     weights_tool list FILE       tab-separated lines: format, tensor, meta, stub
 *     weights_tool dump FILE OUT   all tensors as f32, one after another
 * Exit status 4 and one line on stderr when the file is refused. */
#include "base/err.h"
#include "base/mem.h"
#include "format/weights.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_dims(const int64_t *v, int n)
{
    putchar('\t');
    for (int i = 0; i < n; i++) printf(i ? ",%" PRId64 : "%" PRId64, v[i]);
}

static void list(const struct weights *w)
{
    printf("format\t%s\t%" PRId64 "\n", weights_format(w), weights_parameters(w));
    for (size_t i = 0; i < weights_count(w); i++) {
        const struct weight *t = weights_at(w, i);
        printf("tensor\t%s\t%s", t->name, weight_type(t->dtype));
        print_dims(t->dim, t->rank);
        print_dims(t->stride, t->rank);
        printf("\n");
    }
    for (size_t i = 0; i < weights_meta_count(w); i++)
        printf("meta\t%s\t%s\n", weights_meta_at(w, i)->key, weights_meta_at(w, i)->text);
    for (size_t i = 0; i < weights_stub_count(w); i++)
        printf("stub\t%s\t%s\n", weights_stub_at(w, i)->key, weights_stub_at(w, i)->text);
}

static int dump(const struct weights *w, const char *path)
{
    FILE *f = fopen(path, "wb");
    int rc = f ? 0 : err_set(ERR_OUTPUT, "%s: cannot write", path);
    for (size_t i = 0; !rc && i < weights_count(w); i++) {
        const struct weight *t = weights_at(w, i);
        float *v = mem_alloc(mem_mul((size_t)t->count + 1, sizeof *v));
        rc = weights_read_f32(v, t);
        if (!rc) fwrite(v, sizeof *v, (size_t)t->count, f);
        free(v);
    }
    if (f) fclose(f);
    return rc;
}

int main(int argc, char **argv)
{
    struct weights *w = NULL;
    if (argc < 3) return 2;
    int rc = weights_open(&w, argv[2]);
    if (!rc && !strcmp(argv[1], "list")) list(w);
    if (!rc && !strcmp(argv[1], "dump") && argc == 4) rc = dump(w, argv[3]);
    if (rc) fprintf(stderr, "%s\n", err_text());
    weights_close(w);
    return err_exit_code(rc);
}
