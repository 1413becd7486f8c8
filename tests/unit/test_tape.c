/* The tape: gradients of every layer against finite differences (in double steps of the f32
 * forward), through a whole transformer block as well, and a two-layer net that learns. */
#include "test.h"

#include "base/err.h"
#include "base/rng.h"
#include "nn/layers.h"

enum { MAX_PARAMS = 24 };

/* A little model under test: how to run it forward from its parameters to one value. */
struct net {
    struct device *dev;
    struct params set;
    struct param *list[MAX_PARAMS];
    int count;
    struct tape tape;
    struct var (*run)(struct net *n);
    struct dense a, b, qkv, out, fc1, fc2;
    struct norm ln1, ln2;
    struct param table, pos, cls, input;
    int32_t ids[16], at[16], bounds[4], picks[4], one[4];
    int rows;
    enum act act;
    float probe[1024]; /* loss = sum(probe * output): a linear loss sees every entry */
};

static void add(struct net *n, struct param *p, int64_t rows, int64_t cols)
{
    params_add(&n->set, p, rows, cols, 0);
    n->list[n->count++] = p;
}

static void add_dense(struct net *n, struct dense *d, int64_t out, int64_t in)
{
    add(n, &d->w, out, in);
    add(n, &d->b, out, 0);
}

static void add_norm(struct net *n, struct norm *m, int64_t width)
{
    add(n, &m->gain, width, 0);
    add(n, &m->bias, width, 0);
    m->eps = 1e-5f;
}

/* Random values for every parameter, memory, and the dry pass. */
static void start(struct net *n, uint64_t seed)
{
    struct rng r = {seed};
    CHECK_INT(device_open(&n->dev, "cpu", 1), 0);
    CHECK_INT(params_alloc(&n->set, n->dev), 0);
    CHECK_INT(params_train(&n->set), 0);
    for (int i = 0; i < n->count; i++) {
        float *w = n->list[i]->w.data;
        for (int64_t j = 0; j < tensor_count(&n->list[i]->w); j++)
            w[j] = (float)(0.5 * rng_normal(&r));
    }
    for (int i = 0; i < 1024; i++) n->probe[i] = (float)rng_normal(&r);
    tape_init(&n->tape, n->dev, 1);
    n->run(n);
    CHECK_INT(tape_ready(&n->tape), 0);
}

static void stop(struct net *n)
{
    tape_release(&n->tape);
    params_release(&n->set);
    device_close(n->dev);
}

static double loss(struct net *n, struct var *y)
{
    tape_reset(&n->tape);
    *y = n->run(n);
    CHECK_INT(tape_error(&n->tape), 0);
    const float *x = y->x.data;
    double sum = 0;
    for (int64_t i = 0; i < tensor_count(&y->x); i++) sum += (double)n->probe[i % 1024] * x[i];
    return sum;
}

/* Every entry of every gradient against (loss(w+h) - loss(w-h)) / 2h. The forward is f32, so
 * the quotient carries noise of about 1e-6 * |loss| / h: h = 1e-2 and 2 % of the gradient's
 * largest entry. A wrong term is off by far more. */
static void check_gradients(struct net *n, const char *name)
{
    struct var y;
    CHECK_INT(params_zero_grad(&n->set), 0);
    loss(n, &y);
    float *g = y.g.data;
    for (int64_t i = 0; i < tensor_count(&y.x); i++) g[i] = n->probe[i % 1024];
    CHECK_INT(tape_backward(&n->tape), 0);
    for (int p = 0; p < n->count; p++) {
        float *w = n->list[p]->w.data, *dw = n->list[p]->g.data;
        int64_t count = tensor_count(&n->list[p]->w);
        double top = 1e-3, worst = 0;
        for (int64_t i = 0; i < count; i++) top = fmax(top, fabs(dw[i]));
        for (int64_t i = 0; i < count; i++) {
            float keep = w[i];
            const float h = 1e-2f;
            w[i] = keep + h;
            double up = loss(n, &y);
            w[i] = keep - h;
            double down = loss(n, &y);
            w[i] = keep;
            worst = fmax(worst, fabs((up - down) / (2 * (double)h) - dw[i]) / top);
        }
        if (!(worst < 0.02)) TEST_FAIL("%s: parameter %d is off by %g", name, p, worst);
    }
}

static struct var input_var(struct net *n)
{
    return (struct var){n->input.w, n->input.g};
}

static struct var run_linear(struct net *n)
{
    struct var x = input_var(n);
    struct var h = linear_fwd(&n->tape, &x, &n->a, n->act);
    linear_add(&n->tape, &x, &h, &n->b);
    return x;
}

TEST(linear_gradients)
{
    for (enum act act = ACT_NONE; act <= ACT_SIGMOID; act++) {
        struct net n = {.run = run_linear, .act = act};
        add(&n, &n.input, 5, 6);
        add_dense(&n, &n.a, 9, 6);
        add_dense(&n, &n.b, 6, 9);
        start(&n, 1);
        if (act == ACT_RELU) { /* keep away from the kink */
            float *b = n.a.b.w.data;
            for (int i = 0; i < 9; i++) b[i] += i % 2 ? 4 : -4;
        }
        check_gradients(&n, act_name(act));
        stop(&n);
    }
}

static struct var run_norm(struct net *n)
{
    struct var x = input_var(n);
    return norm_fwd(&n->tape, &x, &n->ln1);
}

TEST(norm_gradients)
{
    struct net n = {.run = run_norm};
    add(&n, &n.input, 4, 7);
    add_norm(&n, &n.ln1, 7);
    start(&n, 2);
    check_gradients(&n, "norm");
    stop(&n);
}

/* As an image tower begins: a class row in front of computed rows, then both by number. */
static struct var run_embed(struct net *n)
{
    struct tape *t = &n->tape;
    struct var e = embed_fwd(t, &n->table, &n->pos, n->ids, n->at, 6);
    struct var x = tape_var(t, 7, 5), rest = var_rows(&x, 1, 6);
    row_put(t, &x, 0, &n->cls);
    linear_into(t, &rest, &e, &n->a, ACT_NONE);
    return rows_fwd(t, &x, &n->pos, n->picks, n->one, 4);
}

TEST(embed_gradients)
{
    struct net n = {.run = run_embed,
                    .ids = {3, 1, 0, 3, 2, 3}, /* repeated ids add up */
                    .at = {0, 1, 0, 1, 2, 0},
                    .picks = {0, 5, 5, 2},
                    .one = {2, 0, 1, 1}};
    add(&n, &n.table, 4, 5);
    add(&n, &n.pos, 3, 5);
    add(&n, &n.cls, 5, 0);
    add_dense(&n, &n.a, 5, 5);
    start(&n, 3);
    check_gradients(&n, "embed");
    stop(&n);
}

static struct var run_attention(struct net *n)
{
    struct tape *t = &n->tape;
    struct var x = input_var(n), qkv = linear_fwd(t, &x, &n->qkv, ACT_NONE);
    int64_t w = x.x.dim[1];
    struct var q = var_cols(&qkv, 0, w), k = var_cols(&qkv, w, w), v = var_cols(&qkv, 2 * w, w);
    struct ragged r = {n->bounds, n->bounds, 3, 2, n->rows};
    return attention_fwd(t, &q, &k, &v, &r);
}

TEST(attention_gradients)
{
    for (int causal = 0; causal < 2; causal++) {
        struct net n = {.run = run_attention, .bounds = {0, 1, 4, 9}, .rows = causal};
        add(&n, &n.input, 9, 6);
        add_dense(&n, &n.qkv, 18, 6);
        start(&n, 4);
        check_gradients(&n, causal ? "causal attention" : "attention");
        stop(&n);
    }
}

/* A transformer block over ragged sequences, then one query row a sequence as in a last block. */
static struct var run_block(struct net *n)
{
    struct tape *t = &n->tape;
    struct var x = input_var(n);
    int64_t w = x.x.dim[1];
    struct var h = norm_fwd(t, &x, &n->ln1), qkv = linear_fwd(t, &h, &n->qkv, ACT_NONE);
    struct var q = var_cols(&qkv, 0, w), k = var_cols(&qkv, w, w), v = var_cols(&qkv, 2 * w, w);
    struct ragged all = {n->bounds, n->bounds, 2, 2, 1};
    struct var a = attention_fwd(t, &q, &k, &v, &all);
    linear_add(t, &x, &a, &n->out);
    h = norm_fwd(t, &x, &n->ln2);
    struct var m = linear_fwd(t, &h, &n->fc1, ACT_GELU);
    linear_add(t, &x, &m, &n->fc2);
    q = rows_fwd(t, &x, NULL, n->picks, NULL, 2);
    struct ragged last = {n->one, n->bounds, 2, 2, 1};
    return attention_fwd(t, &q, &x, &x, &last);
}

TEST(block_gradients)
{
    struct net n = {.run = run_block, .bounds = {0, 3, 7}, .picks = {2, 6}, .one = {0, 1, 2}};
    add(&n, &n.input, 7, 8);
    add_norm(&n, &n.ln1, 8);
    add_norm(&n, &n.ln2, 8);
    add_dense(&n, &n.qkv, 24, 8);
    add_dense(&n, &n.out, 8, 8);
    add_dense(&n, &n.fc1, 12, 8);
    add_dense(&n, &n.fc2, 8, 12);
    start(&n, 5);
    check_gradients(&n, "block");
    stop(&n);
}

/* Two interleaved spirals: no line separates them, so both layers must learn. */
enum { POINTS = 400, HIDDEN = 48 };

static void spirals(float *x, int32_t *y)
{
    struct rng r = {7};
    for (int i = 0; i < POINTS; i++) {
        double u = 0.25 + rng_unit(&r) * 1.5, a = u * 3.14159265 + (i % 2) * 3.14159265;
        x[2 * i] = (float)(u * cos(a) + 0.03 * rng_normal(&r));
        x[2 * i + 1] = (float)(u * sin(a) + 0.03 * rng_normal(&r));
        y[i] = i % 2;
    }
}

static struct var run_net(struct net *n)
{
    struct var x = input_var(n);
    x.g.data = NULL; /* data learns nothing */
    struct var h = linear_fwd(&n->tape, &x, &n->a, ACT_SILU);
    return linear_fwd(&n->tape, &h, &n->b, ACT_NONE);
}

static double accuracy(const struct var *logits, const int32_t *target)
{
    const float *z = logits->x.data;
    int right = 0;
    for (int i = 0; i < POINTS; i++, z += logits->x.ld) right += (z[1] > z[0]) == target[i];
    return right / (double)POINTS;
}

TEST(two_layer_net_learns)
{
    static int32_t target[POINTS];
    struct net n = {.run = run_net};
    struct adamw_options o = {0.02f, 0.9f, 0.999f, 1e-8f, 1e-4f};
    double first = 0, now = 0, right = 0;
    add_dense(&n, &n.a, HIDDEN, 2);
    add_dense(&n, &n.b, 2, HIDDEN);
    add(&n, &n.input, POINTS, 2);
    start(&n, 6);
    spirals(n.input.w.data, target);
    n.input.g.data = NULL; /* so that AdamW leaves the data alone */
    size_t bytes = n.tape.size;
    for (int step = 1; step <= 800; step++) {
        params_zero_grad(&n.set);
        tape_reset(&n.tape);
        struct var y = run_net(&n);
        loss_xent(&n.tape, &y, target, &now);
        if (step == 1) first = now;
        CHECK_INT(tape_backward(&n.tape), 0);
        CHECK_INT(adamw_step(&n.set, &o, step), 0);
        right = accuracy(&y, target);
    }
    printf("  loss %.3f -> %.4f, %.1f %% right\n", first, now, 100 * right);
    CHECK(now < 0.1 * first);
    CHECK(right > 0.95);
    CHECK(n.tape.size == bytes); /* nothing allocated on the way */
    stop(&n);
}

/* Inference gives memory back and the same numbers as a recording pass. */
TEST(inference_equals_recording)
{
    struct net n = {.run = run_block, .bounds = {0, 3, 7}, .picks = {2, 6}, .one = {0, 1, 2}};
    add(&n, &n.input, 7, 8);
    add_norm(&n, &n.ln1, 8);
    add_norm(&n, &n.ln2, 8);
    add_dense(&n, &n.qkv, 24, 8);
    add_dense(&n, &n.out, 8, 8);
    add_dense(&n, &n.fc1, 12, 8);
    add_dense(&n, &n.fc2, 8, 12);
    start(&n, 8);
    struct var y;
    float want[2][8];
    loss(&n, &y);
    for (int i = 0; i < 2; i++) memcpy(want[i], (float *)y.x.data + i * y.x.ld, sizeof want[i]);
    size_t recording = n.tape.size;
    tape_release(&n.tape);
    tape_init(&n.tape, n.dev, 0);
    n.run(&n);
    CHECK_INT(tape_ready(&n.tape), 0);
    CHECK(n.tape.size < recording);
    y = n.run(&n);
    CHECK_INT(tape_error(&n.tape), 0);
    for (int i = 0; i < 2; i++)
        CHECK_BYTES((float *)y.x.data + i * y.x.ld, want[i], sizeof want[i]);
    stop(&n);
}

TEST(activation_names)
{
    enum act a;
    CHECK_INT(act_parse(&a, "QuickGELU"), 0);
    CHECK_INT(a, ACT_QUICK_GELU);
    CHECK_INT(act_parse(&a, "gelu"), 0);
    CHECK_INT(a, ACT_GELU);
    CHECK_INT(act_parse(&a, "gelo"), ERR_USAGE);
    CHECK_STR(act_name(ACT_QUICK_GELU), "quick_gelu");
}

TEST_MAIN
