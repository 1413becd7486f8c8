/* test_page.c - escaping, charts, thumbnails. With PAGE_SAMPLE=FILE a page of everything is
 * written there, to be looked at. */
#include "test.h"
#include "page/chart.h"
#include "page/html.h"
#include "page/page.h"
#include "page/thumb.h"
#include "base/err.h"
#include "base/rng.h"
#include "format/json.h"
#include "image/image.h"
#include "text/utf8.h"

static const char *text_of(struct str *s, const char *p, size_t n)
{
    str_clear(s);
    html_text(s, p, n);
    return s->p ? s->p : "";
}

TEST(text_is_escaped)
{
    struct str s = {0};
    CHECK_STR(text_of(&s, "a<b>&\"'", 7), "a&lt;b&gt;&amp;&quot;&#39;");
    CHECK_STR(text_of(&s, "</script><img onerror=x>", 24), "&lt;/script&gt;&lt;img onerror=x&gt;");
    CHECK_STR(text_of(&s, "a\0b", 3), "a\xe2\x90\x80"
                                      "b"); /* the picture of NUL */
    CHECK_STR(text_of(&s, "a\tb\nc\r", 6), "a b c ");
    CHECK_STR(text_of(&s, "\x1b[31m\x7f", 6), "\xe2\x90\x9b[31m\xe2\x90\xa1");
    CHECK_STR(text_of(&s, "\xff\xc3", 2), "\xef\xbf\xbd\xef\xbf\xbd");
    CHECK_STR(text_of(&s, "\xe2\x80\xaegpj", 6), "\xef\xbf\xbdgpj"); /* U+202E */
    CHECK_STR(text_of(&s, "\xc2\x80\xef\xbf\xbe", 5), "\xef\xbf\xbd\xef\xbf\xbd");
    CHECK_STR(text_of(&s, "caf\xc3\xa9 \xf0\x9f\x90\xb1", 10), "caf\xc3\xa9 \xf0\x9f\x90\xb1");
    str_release(&s);
}

TEST(all_bidi_controls_are_gone)
{
    static const uint32_t controls[] = {0x61c,  0x200e, 0x200f, 0x202a, 0x202b, 0x202c,
                                        0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069};
    struct str s = {0}, j = {0};
    for (size_t i = 0; i < sizeof controls / sizeof *controls; i++) {
        char utf8[4], want[16];
        size_t n = (size_t)utf8_put(utf8, controls[i]);
        CHECK_STR(text_of(&s, utf8, n), "\xef\xbf\xbd");
        str_clear(&j);
        html_json(&j, utf8, n);
        snprintf(want, sizeof want, "\"\\u%04x\"", (unsigned)controls[i]);
        CHECK_STR(j.p, want);
    }
    str_release(&s);
    str_release(&j);
}

TEST(put_escapes_values_not_markup)
{
    struct str s = {0};
    html_put(&s, "<b class=\"%s\">%d %lld %zu %.2f %g%% %.*s%c</b>", "\"><i>", -3, 1LL << 40,
             (size_t)7, 2.5, 0.1, 2, "<>!", '<');
    CHECK_STR(s.p,
              "<b class=\"&quot;&gt;&lt;i&gt;\">-3 1099511627776 7 2.50 0.1% &lt;&gt;&lt;</b>");
    str_release(&s);
}

TEST(clip_counts_characters)
{
    struct str s = {0};
    html_clip(&s, "\xc3\xa9\xc3\xa9\xc3\xa9", 6, 2);
    CHECK_STR(s.p, "\xc3\xa9\xc3\xa9\xe2\x80\xa6");
    str_clear(&s);
    html_clip(&s, "\xc3\xa9\xc3\xa9", 4, 2);
    CHECK_STR(s.p, "\xc3\xa9\xc3\xa9");
    str_release(&s);
}

/* Random bytes: nothing that could end an element, an attribute or a script survives, and the
 * JSON reads back as what a strict decoder makes of the bytes. */
TEST(random_bytes_stay_text)
{
    static const char *const bits[] = {"<",    ">",   "&",  "\"",           "'",    "</script>",
                                       "<!--", "-->", "\0", "\xe2\x80\xae", "\xff", "\xed\xa0\x80",
                                       "]]>",  "\\",  "\n"};
    struct rng r = {7};
    struct str raw = {0}, s = {0}, j = {0}, want = {0};
    struct runes runes = {0};
    for (int round = 0; round < 3000; round++) {
        str_clear(&raw), str_clear(&s), str_clear(&j), str_clear(&want);
        runes_clear(&runes);
        for (uint64_t k = 1 + rng_u64(&r) % 12; k; k--) {
            if (rng_u64(&r) % 2)
                str_putc(&raw, (char)rng_u64(&r));
            else
                str_puts(&raw, bits[rng_u64(&r) % (sizeof bits / sizeof *bits)]);
        }
        str_puts(&raw, "x");
        html_text(&s, raw.p, raw.len);
        CHECK(!strpbrk(s.p, "<>\"'") && strlen(s.p) == s.len && utf8_valid(s.p, s.len));
        html_json(&j, raw.p, raw.len);
        CHECK(!strpbrk(j.p, "<>&'") && strlen(j.p) == j.len && utf8_valid(j.p, j.len));
        struct arena a = {0};
        struct json *tree;
        utf8_decode(&runes, raw.p, raw.len);
        utf8_encode(&want, runes.p, runes.n);
        int rc = json_parse(&tree, j.p, j.len, &a);
        CHECK_INT(rc, 0);
        if (!rc) CHECK(tree->len == want.len && !memcmp(tree->text, want.p, want.len));
        arena_release(&a);
    }
    str_release(&raw), str_release(&s), str_release(&j), str_release(&want);
    runes_release(&runes);
}

static const char *count_of(struct str *s, int64_t n)
{
    str_clear(s);
    html_count(s, n);
    return s->p;
}

static const char *short_of(struct str *s, double n)
{
    str_clear(s);
    html_short(s, n);
    return s->p;
}

static const char *percent_of(struct str *s, int64_t a, int64_t b)
{
    str_clear(s);
    html_percent(s, a, b);
    return s->p;
}

TEST(numbers)
{
    struct str s = {0};
    CHECK_STR(count_of(&s, 0), "0");
    CHECK_STR(count_of(&s, 999), "999");
    CHECK_STR(count_of(&s, 1000), "1,000");
    CHECK_STR(count_of(&s, 1234567), "1,234,567");
    CHECK_STR(count_of(&s, -1234), "\xe2\x88\x92"
                                   "1,234");
    CHECK_STR(count_of(&s, INT64_MIN), "\xe2\x88\x92"
                                       "9,223,372,036,854,775,808");
    CHECK_STR(short_of(&s, 950), "950");
    CHECK_STR(short_of(&s, 999.7), "1k");
    CHECK_STR(short_of(&s, 1234), "1.2k");
    CHECK_STR(short_of(&s, 34e6), "34M");
    CHECK_STR(percent_of(&s, 1, 4), "25 %");
    CHECK_STR(percent_of(&s, 1, 3), "33.3 %");
    CHECK_STR(percent_of(&s, 1, 1000000), "under 0.1 %");
    CHECK_STR(percent_of(&s, 999999, 1000000), "over 99.9 %");
    CHECK_STR(percent_of(&s, 0, 10), "0 %");
    str_release(&s);
}

TEST(base64)
{
    struct str s = {0};
    html_base64(&s, "Man", 3);
    html_base64(&s, "Ma", 2);
    html_base64(&s, "M", 1);
    html_base64(&s, "\xff\xfe\xfd", 3);
    CHECK_STR(s.p, "TWFuTWE=TQ==//79");
    str_release(&s);
}

/* Every value between the bounds falls into a bin whose borders hold it. */
TEST(bins_hold_their_values)
{
    static const double spans[][2] = {{0, 1},       {0, 10},       {-3.2, 8.9}, {0.2, 0.2000001},
                                      {256, 30000}, {-1e-9, 1e-9}, {5, 5},      {0, 0},
                                      {1e30, 2e30}, {-7, -7},      {1, 64},     {0.999, 1}};
    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++) {
        double lo = spans[i][0], hi = spans[i][1];
        struct chart_bins b = chart_bins(lo, hi);
        CHECK(b.count >= 1 && b.count <= CHART_BINS && b.width > 0);
        for (int k = 0; k <= 1000; k++) {
            double v = lo + (hi - lo) * k / 1000;
            int at = chart_bin(&b, v);
            CHECK(at >= 0 && at < b.count);
            CHECK(v >= b.lo + at * b.width - 1e-6 * b.width);
            CHECK(v <= b.lo + (at + 1) * b.width + 1e-6 * b.width);
        }
        CHECK_INT(chart_bin(&b, b.lo - b.width), -1);
        CHECK_INT(chart_bin(&b, b.lo + (b.count + 1) * b.width), b.count);
    }
}

static int count(const char *text, const char *what)
{
    int n = 0;
    for (const char *p = text; (p = strstr(p, what)); p += strlen(what)) n++;
    return n;
}

TEST(histogram_shows_counts_and_cut)
{
    struct str s = {0};
    struct chart_bins b = {0, 1, 4};
    const int64_t counts[] = {10, 0, 12345, 1};
    struct chart_cut cut = {2.5, CHART_ABOVE, ">= 2.5"};
    chart_histogram(&s, "scores of <x>", &b, counts, &cut, 1);
    CHECK(strstr(s.p, "aria-label=\"scores of &lt;x&gt;\""));
    CHECK(strstr(s.p, "<title>2 to 3: 12,345</title>"));
    CHECK(!strstr(s.p, "<title>1 to 2")); /* nothing there, nothing drawn */
    CHECK(strstr(s.p, "x1=\"62.500%\" x2=\"62.500%\""));
    CHECK(strstr(s.p, "&gt;= 2.5</text>"));
    CHECK_INT(count(s.p, "class=\"on\""), 2); /* the right half of its bin, and the last bin */
    CHECK_INT(count(s.p, "class=\"off\""), 2);
    str_release(&s);
}

TEST(rows_draw_and_escape)
{
    struct str s = {0};
    const struct chart_row rows[] = {{.name = "seen", .value = 200, .accent = 1},
                                     {.name = "a < b", .value = 50, .lost = 150, .note = "&"}};
    chart_rows(&s, rows, 2);
    CHECK(strstr(s.p, "a &lt; b"));
    CHECK(strstr(s.p, "width=\"25.000%\""));
    CHECK(strstr(s.p, "<div class=\"note\">&amp;</div>"));
    str_release(&s);
}

TEST(sizes_on_log_axes)
{
    struct str s = {0};
    int64_t n[CHART_POWERS] = {0};
    n[0] = 5, n[3] = 1000, n[62] = 1;
    chart_sizes(&s, "sizes", n);
    CHECK(strstr(s.p, "<title>1,000 of size 8 to 15</title>"));
    CHECK(strstr(s.p, "<title>5 of size 1</title>"));
    CHECK(strstr(s.p, "to 9,223,372,036,854,775,807</title>"));
    str_clear(&s);
    memset(n, 0, sizeof n);
    chart_sizes(&s, "none", n); /* nothing is fine, too */
    CHECK(strstr(s.p, "</svg>"));
    str_release(&s);
}

static void paint(uint8_t *rgb, int w, int h, int seed)
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            uint8_t *p = rgb + 3 * ((size_t)y * (size_t)w + (size_t)x);
            p[0] = (uint8_t)(128 + 100 * sin(x * 0.02 + seed));
            p[1] = (uint8_t)(128 + 100 * sin(y * 0.03 + 2 * seed));
            p[2] = (uint8_t)(128 + 100 * sin((x + y) * 0.01 * seed));
        }
}

static void make_png(struct str *out, int w, int h, int seed)
{
    uint8_t *rgb = malloc(3 * (size_t)w * (size_t)h);
    paint(rgb, w, h, seed);
    str_clear(out);
    png_encode(out, rgb, w, h);
    free(rgb);
}

/* A PNG and a JPEG of the same pixels, wide, tall, tiny: size, shape, and the mean colour. */
TEST(thumb_keeps_shape_and_colour)
{
    static const int sizes[][4] = {{640, 480, 160, 120}, {300, 1000, 48, 160},
                                   {20, 10, 20, 10},     {161, 1, 160, 1},
                                   {1, 5000, 1, 160},    {333, 333, 160, 160}};
    struct arena a = {0};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int w = sizes[i][0], h = sizes[i][1];
        size_t n = (size_t)w * (size_t)h;
        uint8_t *rgb = malloc(3 * n);
        struct str file[2] = {{0}, {0}};
        double mean = 0;
        paint(rgb, w, h, 3);
        for (size_t k = 0; k < n; k++) mean += rgb[3 * k] / (double)n;
        png_encode(&file[0], rgb, w, h);
        CHECK_INT(thumb_encode(&file[1], rgb, w, h, 95), 0);
        for (int f = 0; f < 2; f++) {
            struct thumb t = {0};
            struct image im;
            CHECK_INT(thumb_make(&t, file[f].p, file[f].len, THUMB_SIDE, 0, &a), 0);
            CHECK_INT(t.width, sizes[i][2]);
            CHECK_INT(t.height, sizes[i][3]);
            CHECK_INT(image_decode(&im, t.jpeg.p, t.jpeg.len, 0, &a), 0);
            CHECK_INT(im.width, t.width);
            CHECK_INT(im.height, t.height);
            double got = 0;
            for (int y = 0; y < im.height; y++)
                for (int x = 0; x < im.width; x++)
                    got += im.pixels[(size_t)y * im.stride + 4 * (size_t)x];
            CHECK_NEAR(got / (im.width * im.height), mean, 2);
            thumb_release(&t);
            arena_reset(&a);
        }
        str_release(&file[0]), str_release(&file[1]);
        free(rgb);
    }
    arena_release(&a);
}

TEST(thumb_refuses_what_is_no_picture)
{
    struct arena a = {0};
    struct thumb t = {0};
    struct str png = {0};
    CHECK_INT(thumb_make(&t, "hello", 5, THUMB_SIDE, 0, &a), ERR_DATA);
    make_png(&png, 100, 100, 1);
    png.p[16] = 0x7f; /* says it is two thousand million pixels wide */
    CHECK_INT(thumb_make(&t, png.p, png.len, THUMB_SIDE, 0, &a), ERR_DATA);
    CHECK_INT(t.jpeg.len, 0);
    str_release(&png);
    thumb_release(&t);
    arena_release(&a);
}

static void sample_pictures(struct str *s, int kept)
{
    static const char *const says[] = {
        "a red circle on a blue ground",
        "<script>alert(1)</script>",
        "\xd8\xa7\xd9\x84\xd8\xb3\xd9\x84\xd8\xa7\xd9\x85",
        "a caption that goes on and on, and then some more, as captions of shops do",
        "",
        "\xe5\xb1\xb1\xe3\x81\xa8\xe6\xb9\x96"};
    page_strip(s);
    for (int i = 0; i < 8; i++) {
        struct arena a = {0};
        struct thumb t = {0};
        struct str png = {0};
        char key[32], value[32];
        make_png(&png, 200 + 60 * i, 420 - 40 * i, i + 1);
        CHECK_INT(thumb_make(&t, png.p, png.len, THUMB_SIDE, 0, &a), 0);
        snprintf(key, sizeof key, "%09d", 420031 + i);
        snprintf(value, sizeof value, "%.4f", 6.0 - 0.0013 * i);
        struct page_picture p = {.jpeg = i == 5 ? NULL : &t.jpeg,
                                 .width = t.width,
                                 .height = t.height,
                                 .value = value,
                                 .badge = kept && !i ? "kept" : NULL,
                                 .key = key,
                                 .key_len = strlen(key),
                                 .caption = says[i % 6],
                                 .caption_len = strlen(says[i % 6]),
                                 .none = "not at hand"};
        page_picture(s, &p);
        str_release(&png);
        thumb_release(&t);
        arena_release(&a);
    }
    page_strip_end(s);
}

static void sample_page(struct str *s)
{
    static const struct chart_row funnel[] = {
        {.name = "samples seen", .value = 1000000, .accent = 1},
        {.name = "corrupt", .value = 3120, .rule = 1},
        {.name = "missing_caption", .value = 880, .rule = 1},
        {.name = "embedded", .value = 996000, .lost = 4000, .accent = 1, .note = "99.6 %"},
        {.name = "aesthetic_score >= 6", .value = 310000, .rule = 1},
        {.name = "min(width,height) >= 256", .value = 86000, .rule = 1},
        {.name = "passed the filter", .value = 600000, .lost = 396000, .accent = 1, .note = "60 %"},
        {.name = "after deduplication",
         .value = 512345,
         .lost = 87655,
         .accent = 1,
         .note = "51 %"}};
    struct chart_cut cut[] = {{6, CHART_ABOVE, "aesthetic_score >= 6"}};
    struct chart_bins b = chart_bins(1.31, 8.94);
    int64_t n[CHART_BINS] = {0}, sizes[CHART_POWERS] = {0};
    for (int i = 0; i < b.count; i++) {
        double x = b.lo + (i + 0.5) * b.width;
        n[i] = (int64_t)(30000 * exp(-(x - 5.4) * (x - 5.4) / 1.7) + (i == 3));
    }
    for (int i = 0; i < 14; i++) sizes[i] = (int64_t)(20000 * exp(-(i - 5) * (i - 5) / 6.0));
    page_begin(s, "laion/place <b>", "report");
    page_fact(s, "1,000,000 samples");
    page_fact(s, "ViT-L/14, 768 numbers each");
    page_nav(s);
    page_link(s, "funnel", "Funnel");
    page_link(s, "scores", "Scores");
    page_link(s, "dedup", "Duplicates");
    page_main(s);
    page_tiles(s);
    page_tile(s, 1000000, "samples seen", 0);
    page_tile(s, 996000, "embedded", 0);
    page_tile(s, 600000, "passed the filter", 0);
    page_tile(s, 512345, "left", 1);
    page_tiles_end(s);
    page_section(s, "funnel", "From input to export", "What was lost where, and why.");
    html_put(s, "<div class=\"card\">");
    chart_rows(s, funnel, sizeof funnel / sizeof *funnel);
    html_put(s, "</div>");
    page_section_end(s);
    page_section(s, "scores", "Scores", NULL);
    html_put(s, "<div class=\"card\"><h3>aesthetic_score</h3>");
    chart_histogram(s, "aesthetic_score", &b, n, cut, 1);
    html_put(s, "<p class=\"side\">just below</p>");
    sample_pictures(s, 0);
    html_put(s, "</div>");
    page_missing(s, "No nsfw scores here yet:", "darkroom score place --head nsfw=FILE");
    page_section_end(s);
    page_section(s, "dedup", "Duplicates", "The largest groups.");
    html_put(s, "<div class=\"card\"><div class=\"group\"><div class=\"head\"><h3>8 pictures</h3>"
                "<small>similarity 0.97 to 1</small></div>");
    sample_pictures(s, 1);
    html_put(s, "</div></div><div class=\"card\"><h3>Sizes of clusters</h3>");
    chart_sizes(s, "sizes of clusters", sizes);
    html_put(s, "</div>");
    page_section_end(s);
    struct str data = {0};
    html_put(&data, "{\"x\": ");
    html_json(&data, "</script><script>alert(1)</script>", 34);
    html_put(&data, "}");
    page_data(s, "numbers", &data);
    page_end(s, "");
    str_release(&data);
}

TEST(page_holds_no_script_and_fetches_nothing)
{
    struct str s = {0};
    sample_page(&s);
    CHECK_INT(count(s.p, "<script"), 1); /* the numbers: data, not code */
    CHECK_INT(count(s.p, "</script>"), 1);
    CHECK(strstr(s.p, "default-src 'none'; img-src data:; style-src 'sha256-"));
    CHECK_INT(count(s.p, "http://") + count(s.p, "https://") + count(s.p, "url("), 0);
    CHECK_INT(count(s.p, " style="), 0);
    CHECK(utf8_valid(s.p, s.len) && strlen(s.p) == s.len);
    const char *path = getenv("PAGE_SAMPLE");
    FILE *f = path ? fopen(path, "wb") : NULL;
    if (f) {
        fwrite(s.p, 1, s.len, f);
        fclose(f);
    }
    str_release(&s);
}

TEST_MAIN
