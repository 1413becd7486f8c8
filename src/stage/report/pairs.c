/* pairs.c - duplicates as they are shown: the members of the largest groups, and the pairs nearest
 * to the threshold, where one sees whether eps is right. */
#include "stage/report/report.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Cosine of two rows, from their embeddings; NaN when these cannot be had. */
static double cosine(struct report *r, const struct near *a, const struct near *b)
{
    struct embeddings ea = {0}, eb = {0};
    double dot = 0, na = 0, nb = 0;
    int rc = embeddings_open(&ea, r->sidecars, SIDE_IMAGE, a->part);
    if (!rc) rc = embeddings_open(&eb, r->sidecars, SIDE_IMAGE, b->part);
    if (!rc && ea.dim == eb.dim && ea.dim) {
        float *x = mem_alloc(2 * (size_t)ea.dim * sizeof *x), *y = x + ea.dim;
        embeddings_get(x, &ea, a->row, 1);
        embeddings_get(y, &eb, b->row, 1);
        for (int i = 0; i < ea.dim; i++) {
            dot += (double)x[i] * y[i];
            na += (double)x[i] * x[i];
            nb += (double)y[i] * y[i];
        }
        free(x);
    }
    embeddings_close(&ea);
    embeddings_close(&eb);
    return na > 0 && nb > 0 ? dot / sqrt(na * nb) : NAN;
}

static int is_among(const struct near_list *list, const struct near *n)
{
    for (int i = 0; i < list->count; i++)
        if (list->item[i].part == n->part && list->item[i].row == n->row) return 1;
    return 0;
}

/* Half of the members are the most similar ones, half the least: those are the doubtful ones. A
 * small group has each of its rows in both lists. */
static void pick_members(struct group *g)
{
    int shown = MEMBERS - 1, most = g->most.count, least = 0;
    if (g->size - 1 > shown) {
        least = (shown + 1) / 2;
        most = shown - least;
    }
    g->most.count = most < shown ? most : shown;
    int kept = 0;
    for (int i = 0; i < g->least.count && kept < least; i++)
        if (!is_among(&g->most, &g->least.item[i])) g->least.item[kept++] = g->least.item[i];
    g->least.count = kept;
}

static void show_members(struct report *r, struct group *g, struct near_list *list)
{
    for (int i = 0; i < list->count; i++) {
        struct near *one = &list->item[i];
        double c = g->has_kept && sidecars_layout(r->sidecars) != LAYOUT_NEMO
                       ? cosine(r, one, &g->kept)
                       : NAN;
        if (isfinite(c)) one->value = c; /* to the kept one, not to its neighbour in the chain */
        one->shot = report_add_shot(r, one->part, one->row);
    }
}

static void show_groups(struct report *r)
{
    for (int i = 0; i < r->groups; i++) {
        struct group *g = &r->group[i];
        pick_members(g);
        if (g->has_kept) g->kept.shot = report_add_shot(r, g->kept.part, g->kept.row);
        show_members(r, g, &g->most);
        show_members(r, g, &g->least);
    }
}

/* ---- pairs at the threshold ---- */

static struct pair *pair_at(struct report *r, int64_t part, int64_t row)
{
    for (int i = 0; i < r->pairs; i++)
        if (r->pair[i].one.part == part && r->pair[i].one.row == row) return &r->pair[i];
    return NULL;
}

/* Which id a row names, and in which cluster: columns max_id and nearest_cent. */
static void read_names(void *arg, const struct rows *rows)
{
    struct report *r = arg;
    const struct column *id = rows->col[0], *cluster = rows->col[1];
    if (!id || !cluster) return;
    for (int k = 0; k < r->pairs; k++) {
        struct pair *p = &r->pair[k];
        int64_t i = p->one.row - rows->row;
        if (p->one.part != rows->part || i < 0 || i >= (int64_t)rows->count) continue;
        p->name = mem_strndup(id->strings[i].p, id->strings[i].n);
        p->cluster = cluster->ints[i];
    }
}

/* The rows of those names, by the columns id and nearest_cent. */
static void find_names(void *arg, const struct rows *rows)
{
    struct report *r = arg;
    const struct column *id = rows->col[0], *cluster = rows->col[1];
    for (int k = 0; id && cluster && k < r->pairs; k++) {
        struct pair *p = &r->pair[k];
        size_t n = p->name ? strlen(p->name) : 0;
        if (!n || p->other.part >= 0) continue;
        for (size_t i = 0; i < rows->count; i++)
            if (cluster->ints[i] == p->cluster && row_named(rows, 0, i, p->name, n) &&
                (rows->part != p->one.part || rows->row + (int64_t)i != p->one.row)) {
                p->other = (struct near){0, 0, rows->part, rows->row + (int64_t)i, -1};
                break;
            }
    }
}

static void add_pairs(struct report *r, const struct near_list *list, int removed)
{
    for (int i = 0; i < list->count && i < PAIRS / 2; i++) {
        struct pair *p = &r->pair[r->pairs];
        if (list->item[i].value <= 0 || pair_at(r, list->item[i].part, list->item[i].row)) continue;
        *p = (struct pair){.one = list->item[i], .removed = removed};
        p->other.part = p->other.shot = -1;
        r->pairs++;
    }
}

static int show_pairs(struct report *r, const struct measure *m)
{
    const char *id = columns_id(&r->columns);
    const struct column_info *want[2] = {columns_find(&r->columns, "max_id"),
                                         columns_find(&r->columns, "nearest_cent")};
    if (!id || !want[0] || !want[1] || want[0]->type != COLUMN_STRING ||
        want[1]->type != COLUMN_INT)
        return 0;
    add_pairs(r, &m->left, 0);
    add_pairs(r, &m->right, 1);
    int rc = report_walk(r, want, 2, read_names, r);
    want[0] = columns_find(&r->columns, id);
    if (!rc) rc = report_walk(r, want, 2, find_names, r);
    for (int k = 0; k < r->pairs && !rc; k++) {
        struct pair *p = &r->pair[k];
        p->one.shot = report_add_shot(r, p->one.part, p->one.row);
        if (p->other.part >= 0) p->other.shot = report_add_shot(r, p->other.part, p->other.row);
    }
    return rc;
}

int report_pairs(struct report *r)
{
    show_groups(r);
    for (int k = 0; k < r->measures; k++)
        if (r->measure[k].similarity && r->measure[k].cuts) return show_pairs(r, &r->measure[k]);
    return 0;
}
