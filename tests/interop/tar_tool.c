/* tar_tool.c - the tar, shard and input code for the Python tests.
 *   tar_tool list FILE [fast]   a line a member: type name size sha256; then END or ERROR; fast:
 *                               the file itself is not hashed
 *   tar_tool samples FILE [unterminated] [expect=N] [limit=N]
 *   tar_tool cuts FILE          reads every prefix of FILE; prints those that were not refused
 *   tar_tool flips FILE         flips every bit of every header; prints those not refused
 *   tar_tool write FILE         members from stdin: "name\tsize\n" lines followed by the bytes
 *   tar_tool braces PATTERN...  the names of each, a line =NAME each, then a line "."
 *   tar_tool inputs WORD...     the list of inputs
 *   tar_tool folder PATH        the samples of a folder */
#include "base/arena.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "data/braces.h"
#include "data/folder.h"
#include "data/inputs.h"
#include "data/shard.h"
#include "format/tar.h"
#include "format/tar_header.h"
#include "format/tar_writer.h"
#include "io/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_name(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c > 32 && c < 127 && c != '%')
            putchar(c);
        else
            printf("%%%02x", c);
    }
}

static int print_error(int rc)
{
    printf("ERROR %d %s %s\n", rc, bad_name(err_why()), err_text());
    return 0;
}

static int list(const char *path, int hash)
{
    struct source *s;
    struct tar_member m;
    struct arena a = {0};
    char hex[65];
    int rc = source_open(&s, path);
    if (rc) return print_error(rc);
    struct tar *t =
        tar_open(s, &(struct tar_options){.member_limit = (uint64_t)1 << 40, .hash = hash});
    while (!(rc = tar_next(t, &m))) {
        printf("%s ", m.regular ? "file" : "other");
        print_name(m.name, m.name_len);
        printf(" %llu", (unsigned long long)m.size);
        if (m.size <= 64 << 20) {
            arena_reset(&a);
            unsigned char *p = arena_alloc(&a, m.size);
            if ((rc = tar_read(t, p, m.size))) {
                printf("\n");
                break;
            }
            sha256_of(hex, p, m.size);
            printf(" %s", hex);
        }
        printf("\n");
    }
    if (rc == 1)
        printf("END %llu %s\n", (unsigned long long)tar_stored(t), tar_sha256(t));
    else
        print_error(rc);
    tar_close(t);
    arena_release(&a);
    return 0;
}

static void print_sample(const struct sample *s)
{
    char hex[65];
    printf("sample ");
    print_name(s->key, strlen(s->key));
    for (int i = 0; i < s->count; i++) {
        sha256_of(hex, s->members[i].data, s->members[i].size);
        printf(" ");
        print_name(s->members[i].ext, strlen(s->members[i].ext));
        printf("=%.12s", hex);
    }
    printf("\n");
}

static int samples(const char *path, int argc, char **argv)
{
    struct shard_options o = {.hash = 1};
    struct shard *r;
    struct sample s;
    struct arena a = {0};
    for (int i = 0; i < argc; i++) {
        if (!strcmp(argv[i], "unterminated")) o.allow_unterminated = 1;
        if (!strncmp(argv[i], "expect=", 7)) o.expected = atoll(argv[i] + 7);
        if (!strncmp(argv[i], "limit=", 6)) o.member_limit = strtoull(argv[i] + 6, NULL, 10);
    }
    int rc = shard_open(&r, path, 0, &o);
    if (rc) return print_error(rc);
    while ((rc = shard_next(r, &s, &a)) == 0 || rc == ERR_DATA) {
        if (!rc)
            print_sample(&s);
        else {
            printf("bad ");
            print_name(s.key, strlen(s.key));
            printf(" %s %llu %s\n", bad_name(err_why()), (unsigned long long)s.offset, err_text());
        }
        arena_reset(&a);
    }
    const struct shard_counts *c = shard_counts(r);
    if (rc == 1)
        printf("END %llu %llu %llu %s\n", (unsigned long long)c->samples,
               (unsigned long long)c->bad, (unsigned long long)c->damaged, shard_sha256(r));
    else
        print_error(rc);
    shard_close(r);
    arena_release(&a);
    return 0;
}

/* Members read from these bytes; *rc is 1 or an error. Bodies are summed up in *sum. */
static int members(const unsigned char *p, size_t n, int *rc, uint64_t *sum)
{
    struct tar *t = tar_open(source_of_bytes(p, n), NULL);
    struct tar_member m;
    int count = 0;
    *sum = 0;
    while (!(*rc = tar_next(t, &m))) {
        unsigned char *body = mem_alloc(m.size);
        if ((*rc = tar_read(t, body, m.size))) {
            free(body);
            break;
        }
        *sum += hash64(body, m.size) ^ hash64(m.name, m.name_len);
        free(body);
        count++;
    }
    tar_close(t);
    return count;
}

static int cuts(const char *path)
{
    struct str file = {0};
    uint64_t sum;
    int rc;
    if ((rc = file_read(&file, path, 1 << 26))) return print_error(rc);
    for (size_t n = 0; n < file.len; n++) {
        unsigned char *copy = mem_alloc(n);
        memcpy(copy, file.p, n);
        int count = members(copy, n, &rc, &sum);
        if (rc != ERR_DATA || err_why() != BAD_TAR_DAMAGED) printf("%zu %d %d\n", n, rc, count);
        free(copy);
    }
    str_release(&file);
    return 0;
}

/* Every bit of every header block; bodies are found by reading the whole archive first. */
static int flips(const char *path)
{
    struct str file = {0};
    uint64_t sum;
    int rc, tried = 0;
    if ((rc = file_read(&file, path, 1 << 26))) return print_error(rc);
    struct tar *t = tar_open(source_of_bytes(file.p, file.len), NULL);
    struct tar_member m;
    while (!(rc = tar_next(t, &m)))
        for (uint64_t at = m.offset; at < m.body; at += TAR_BLOCK) {
            struct tar_header h;
            if (tar_header_decode(&h, (unsigned char *)file.p + at)) continue;
            for (int bit = 0; bit < 8 * TAR_BLOCK; bit++, tried++) {
                file.p[at + (uint64_t)bit / 8] ^= (char)(1 << bit % 8);
                int count = members((unsigned char *)file.p, file.len, &rc, &sum);
                if (rc != ERR_DATA) printf("%llu %d %d\n", (unsigned long long)at, bit, count);
                file.p[at + (uint64_t)bit / 8] ^= (char)(1 << bit % 8);
            }
            at += (h.size + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
        }
    tar_close(t);
    printf("tried %d\n", tried);
    str_release(&file);
    return 0;
}

static int write_tar(const char *path)
{
    struct place *place;
    struct sink *sink;
    struct tar_writer w;
    char *line = NULL, hex[65];
    size_t cap = 0;
    char *folder = mem_strdup(path), *slash = strrchr(folder, '/');
    if (!slash) return 1;
    *slash = 0;
    int rc = place_open(&place, folder, 1);
    if (!rc) rc = place_create(place, slash + 1, &sink);
    if (rc) return print_error(rc);
    tar_writer_init(&w, sink);
    while (!rc && getline(&line, &cap, stdin) > 0) {
        char *tab = strchr(line, '\t');
        if (!tab) return 1;
        *tab = 0;
        size_t n = strtoull(tab + 1, NULL, 10);
        char *body = mem_alloc(n);
        if (fread(body, 1, n, stdin) != n) return 1;
        rc = tar_writer_add(&w, line, body, n);
        if (rc) print_error(rc);
        free(body);
    }
    free(line);
    if (!rc) rc = tar_writer_end(&w);
    if (!rc)
        rc = sink_commit(sink, hex, NULL);
    else
        sink_abort(sink);
    place_close(place);
    free(folder);
    return rc != 0;
}

static int print_names(int rc, const struct names *names)
{
    if (rc) return print_error(rc);
    for (size_t i = 0; i < names->count; i++) {
        printf("=");
        print_name(names->list[i], strlen(names->list[i]));
        printf("\n");
    }
    return 0;
}

static int braces(int argc, char **argv)
{
    for (int i = 0; i < argc; i++) {
        struct names names = {0};
        print_names(braces_expand(&names, argv[i], 100000), &names);
        printf(".\n");
        names_release(&names);
    }
    return 0;
}

static int folder(const char *path)
{
    struct folder *f;
    struct sample s;
    struct arena a = {0};
    int rc = folder_open(&f, path, 0);
    if (rc) return print_error(rc);
    for (size_t i = 0; i < folder_count(f); i++) {
        rc = folder_load(f, &s, &a, i, 0);
        if (rc)
            print_error(rc);
        else
            print_sample(&s);
        arena_reset(&a);
    }
    folder_close(f);
    arena_release(&a);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 3) return 2;
    if (!strcmp(argv[1], "list")) return list(argv[2], argc == 3);
    if (!strcmp(argv[1], "samples")) return samples(argv[2], argc - 3, argv + 3);
    if (!strcmp(argv[1], "cuts")) return cuts(argv[2]);
    if (!strcmp(argv[1], "flips")) return flips(argv[2]);
    if (!strcmp(argv[1], "write")) return write_tar(argv[2]);
    if (!strcmp(argv[1], "braces")) return braces(argc - 2, argv + 2);
    if (!strcmp(argv[1], "folder")) return folder(argv[2]);
    if (!strcmp(argv[1], "inputs")) {
        struct inputs in;
        int rc = inputs_load(&in, (const char *const *)(argv + 2), argc - 2, INPUT_AUTO, 0);
        print_names(rc, &in.names);
        inputs_release(&in);
        return 0;
    }
    return 2;
}
