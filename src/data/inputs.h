/* inputs.h - what the INPUT words of a command line stand for: an ordered list of shards, or of
 * folders of pictures. The order is by bytes, whatever the order and spelling of the words, so
 * that partition i is the same shard on every machine of a run. */
#ifndef DATA_INPUTS_H
#define DATA_INPUTS_H

#include "io/place.h"

enum input_format { INPUT_AUTO, INPUT_WEBDATASET, INPUT_FILES };

struct inputs {
    enum input_format format; /* found out: INPUT_WEBDATASET or INPUT_FILES */
    struct names names;       /* as source_open (or folder_open) takes them */
    size_t root;              /* leading bytes of every name that are their common folder */
};

enum { INPUTS_MAX = 10 * 1000 * 1000 };

/* Words may hold `::` between alternatives, ${NAME} for $WDS_NAME, brace patterns (also inside
 * `pipe:`), globs of local files; `@FILE` is a list of words, one a line (empty lines and those
 * beginning with # are passed over). A folder holding *.tar (or .tgz, .tar.gz, .tar.zst) is its
 * shards, any other its pictures; both is an error unless format says which. A shard that does
 * not exist stays in the list: whoever opens it reports it. `pipe:` from a list file needs
 * allow_pipe. ERR_USAGE also for the same name twice, no word at all, shards and pictures mixed,
 * more than INPUTS_MAX names; ERR_INPUT for a list, folder or glob that cannot be read or is
 * empty. On error *in is empty. */
int inputs_load(struct inputs *in, const char *const *words, int n, enum input_format format,
                int allow_pipe);
void inputs_release(struct inputs *in);

/* What input i is called in rows and receipts: its path below the common folder; of a command the
 * last part of its data's name. The caller frees it. */
char *inputs_label(const struct inputs *in, size_t i);

/* The word of a `pipe:` command that names its data (".../00042.tar"), without what may be secret:
 * a query behind '?', or "user:password@". Its length goes to *n; NULL when there is none. */
const char *inputs_pipe_word(const char *name, size_t *n);

#endif
