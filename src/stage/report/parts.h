/* parts.h - what a report is made of: samples that are shown, columns with their histograms, groups
 * and pairs of duplicates, errors, times. Plain data. */
#ifndef STAGE_REPORT_PARTS_H
#define STAGE_REPORT_PARTS_H

#include "data/batch.h"
#include "data/sidecar.h"
#include "page/chart.h"
#include "page/thumb.h"

enum {
    SHOTS_MAX = 400,   /* pictures on a page */
    MEASURES_MAX = 16, /* histograms */
    CUTS = 4,          /* thresholds in one histogram */
    NEAR = 8,          /* samples on each side of a threshold */
    GROUPS = 12,       /* of duplicates */
    MEMBERS = 8,       /* shown of a group, with the kept one */
    PAIRS = 12,        /* at the threshold of similarity */
    EXAMPLES = 5       /* of each kind of error */
};

/* Text of others: may hold NUL. p is NUL-terminated all the same; NULL: there is none. */
struct text {
    char *p;
    size_t n;
};
struct text text_copy(const char *p, size_t n, size_t most); /* walk.c */

/* A sample that is shown. */
struct shot {
    int64_t part, row;
    struct text key, caption, shard, path;
    struct thumb thumb;
    const char *none; /* why there is no picture */
};

/* A sample by a number of its own; lists are sorted, the first is the nearest. */
struct near {
    double value, distance;
    int64_t part, row;
    int shot; /* -1: not shown */
};
struct near_list {
    struct near item[NEAR];
    int count;
};

/* Keep it if it is among the nearest; of equal ones the first comer stays. (measure.c) */
void near_add(struct near_list *list, double value, double distance, int64_t part, int64_t row);

/* A column of numbers with its histogram; some are worked out, as the filter does. */
enum derived { STORED, ASPECT, RESOLUTION, CLIP_SIMILARITY };
struct measure {
    const char *name;
    enum derived derived;
    const struct column_info *column; /* NULL when derived */
    int at;                           /* its column in the walk */
    int similarity;                   /* dedup's own: drawn with the duplicates */
    struct chart_cut cut[CUTS];
    char cut_name[CUTS][32];
    int strict[CUTS]; /* > and <, not >= and <= */
    int cuts;
    int64_t values, nulls, passing;
    double min, max, sum;
    double lo, hi; /* the part that is drawn */
    struct chart_bins bins;
    int64_t count[CHART_BINS], under, over;
    int64_t *octave; /* [OCTAVES] while the part is chosen */
    /* With a threshold: the nearest that fail and pass it. Without: the lowest and the highest. */
    struct near_list left, right;
};

/* One group of duplicates. */
struct group {
    uint64_t root; /* hash of the kept one's id and cluster */
    int64_t size;  /* with the kept one */
    struct near kept;
    int has_kept;
    struct near_list most, least; /* removed ones by similarity to their nearest */
    int64_t cluster;
};

/* A row and the one it was found most similar to, near the threshold of eps. */
struct pair {
    struct near one, other; /* other.part < 0: not found */
    char *name;             /* id of the other, in the same cluster */
    int64_t cluster;
    int removed;
};

/* Errors of one status. */
struct fault {
    char *status;
    int64_t count;
    struct fault_example {
        struct text key, shard, message;
    } example[EXAMPLES];
    int examples;
};

/* The tasks of one product, added up. */
struct timing {
    const char *product;
    int64_t tasks, running, samples;
    double seconds, longest; /* of all tasks, of the slowest one */
    char bottleneck[32], state[32];
};
enum { TIMINGS = 8 };

struct eps_row {
    double eps;
    int64_t kept, removed;
};

#endif
