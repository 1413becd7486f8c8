/* npy_tool.c - npy.h for tests in Python.
 *     npy_tool write FOLDER NAME DESCR COLS < raw     rows in odd pieces; COLS -1: one dimension
 *     npy_tool read FILE                              dtype and shape, then the raw bytes
 *     npy_tool header DESCR DIM...                    the header alone */
#include "base/err.h"
#include "format/npy.h"
#include "io/file.h"
#include "io/place.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int write_rows(const char *folder, const char *name, const char *descr, int64_t cols)
{
    struct place *place = NULL;
    struct sink *sink = NULL;
    struct npy_writer w = {0};
    struct str raw = {0};
    int rc = place_open(&place, folder, 1);
    if (!rc) rc = place_create(place, name, &sink);
    if (!rc) rc = npy_writer_init(&w, sink, descr, cols);
    for (size_t got = 1; !rc && got;) {
        str_reserve(&raw, 1 << 16);
        got = fread(raw.p + raw.len, 1, 1 << 16, stdin);
        raw.len += got;
    }
    int64_t rows = !rc && w.row ? (int64_t)(raw.len / w.row) : 0, piece = 1;
    for (int64_t at = 0; !rc && at < rows; at += piece++) {
        if (piece > rows - at) piece = rows - at;
        rc = npy_writer_add(&w, raw.p + (size_t)at * w.row, piece);
    }
    if (!rc) rc = npy_writer_finish(&w);
    if (!rc) {
        rc = sink_commit(sink, NULL, NULL);
        sink = NULL;
    }
    sink_abort(sink);
    place_close(place);
    str_release(&raw);
    return rc;
}

static int read_array(const char *path)
{
    struct file_map f;
    struct npy a;
    int rc = file_map(&f, path);
    if (!rc) rc = npy_decode(&a, f.p, f.n);
    if (!rc) {
        printf("%s", a.descr);
        for (int i = 0; i < a.rank; i++) printf(" %" PRId64, a.dim[i]);
        printf("\n");
        fwrite(a.data, a.item, (size_t)a.count, stdout);
    }
    file_unmap(&f);
    return rc;
}

static int header(const char *descr, char **dims, int rank)
{
    struct str out = {0};
    int64_t dim[64];
    for (int i = 0; i < rank; i++) dim[i] = atoll(dims[i]);
    int rc = npy_encode_header(&out, descr, dim, rank);
    if (!rc) fwrite(out.p, 1, out.len, stdout);
    str_release(&out);
    return rc;
}

int main(int argc, char **argv)
{
    int rc = ERR_USAGE;
    if (argc == 6 && !strcmp(argv[1], "write"))
        rc = write_rows(argv[2], argv[3], argv[4], atoll(argv[5]));
    else if (argc == 3 && !strcmp(argv[1], "read"))
        rc = read_array(argv[2]);
    else if (argc >= 3 && argc < 60 && !strcmp(argv[1], "header"))
        rc = header(argv[2], argv + 3, argc - 3);
    if (rc) fprintf(stderr, "%s\n", err_text());
    return err_exit_code(rc);
}
