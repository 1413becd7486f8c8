/* verb.c - the shared options. None of them changes bytes, but device and precision do, and
 * those enter the fingerprint as resolved, not as typed. */
#include "stage/verb.h"
#include "base/mem.h"

#include <stdlib.h>

#define AT(f) offsetof(struct common, f)

const struct opt common_options[] = {
    {"device", NULL, 0, OPT_STR, AT(device), "auto", "D",
     "auto, cpu, cuda, cuda:N or cuda:all (gpu = cuda)", 0},
    {"precision", NULL, 0, OPT_STR, AT(precision), "f32", "P",
     "f32; other precisions come with devices that have them", 0},
    {"threads", NULL, 0, OPT_INT, AT(threads), "0", "N",
     "worker threads; one per usable core when not said", 0},
    {"memory", NULL, 0, OPT_SIZE, AT(memory), "0", "SIZE",
     "bound on memory beside the weights; 512M when not said", 0},
    {"task", NULL, 0, OPT_STR, AT(task), "0/1", "I/N", "do only partitions p with p mod N = I", 0},
    {"seed", "random-state", 0, OPT_INT, AT(seed), "0", "N", "seed of everything random", 0},
    {"config", NULL, 0, OPT_STR, AT(config), NULL, "FILE",
     "read options from a YAML or JSON file; the command line wins", 0},
    {"json", NULL, 0, OPT_FLAG, AT(json), NULL, NULL, "events as JSON lines on standard output", 0},
    {"quiet", NULL, 'q', OPT_FLAG, AT(quiet), NULL, NULL, "only warnings and errors", 0},
    {"verbose", NULL, 'v', OPT_FLAG, AT(verbose), NULL, NULL, "say more", 0},
    {"help", NULL, 'h', OPT_FLAG, AT(help), NULL, NULL, "show this text", 0},
    OPT_END};

int verb_call(const struct verb *v, const char *const *words, int count)
{
    struct opt_set set = {
        {v->options ? v->options : common_options, v->options ? common_options : NULL, NULL}};
    void *options = mem_alloc(v->size);
    const char **args = mem_alloc(((size_t)count + 1) * sizeof *args);
    char **argv = mem_alloc(((size_t)count + 1) * sizeof *argv);
    int nargs;
    for (int i = 0; i < count; i++) argv[i] = mem_strdup(words[i]);
    opt_defaults(&set, options);
    int rc = opt_parse(&set, options, args, &nargs, count, argv);
    if (!rc) rc = v->run(options, args, nargs);
    opt_release(&set, options);
    for (int i = 0; i < count; i++) free(argv[i]);
    free(argv);
    free(args);
    free(options);
    return rc;
}
