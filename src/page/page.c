/* page.c - the frame around every page. The stylesheet is a file of its own, made a C string at
 * build time; the policy names its hash, so that not even a style attribute can come from data. */
#include "page/page.h"
#include "page/html.h"
#include "base/hash.h"
#include "base/version.h"

#include <stdio.h>

enum { KEY_CHARS = 60, CAPTION_CHARS = 140 };

static const char style[] =
#include "page/style.css.h"
    ;

static void put_policy(struct str *out)
{
    char hex[65];
    unsigned char bytes[32];
    sha256_of(hex, style, sizeof style - 1);
    for (int i = 0; i < 32; i++) sscanf(hex + 2 * i, "%2hhx", &bytes[i]);
    html_put(out, "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                  "img-src data:; style-src 'sha256-");
    html_base64(out, bytes, sizeof bytes);
    html_put(out, "'; base-uri 'none'; form-action 'none'\">\n");
}

void page_begin(struct str *out, const char *title, const char *kind)
{
    html_put(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    put_policy(out);
    html_put(out,
             "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
             "<meta name=\"referrer\" content=\"no-referrer\">\n"
             "<link rel=\"icon\" href=\"data:,\">\n<title>%s - %s</title>\n<style>",
             title, kind);
    str_add(out, style, sizeof style - 1);
    html_put(out,
             "</style>\n</head>\n<body>\n"
             "<input type=\"checkbox\" id=\"flip\" aria-label=\"switch between light and dark\">\n"
             "<header class=\"top\"><span class=\"brand\">darkroom %s</span>"
             "<label class=\"flip\" for=\"flip\">light / dark</label>\n"
             "<h1><bdi>%s</bdi></h1>\n<ul class=\"facts\">",
             kind, title);
}

void page_fact(struct str *out, const char *text)
{
    html_put(out, "<li>%s</li>", text);
}

void page_nav(struct str *out)
{
    html_put(out, "</ul>\n</header>\n<nav aria-label=\"sections\"><ul>");
}

void page_link(struct str *out, const char *id, const char *text)
{
    html_put(out, "<li><a href=\"#%s\">%s</a></li>", id, text);
}

void page_main(struct str *out)
{
    html_put(out, "</ul></nav>\n<main>\n");
}

void page_section(struct str *out, const char *id, const char *title, const char *intro)
{
    html_put(out, "<section id=\"%s\">\n<h2>%s</h2>\n", id, title);
    if (intro) html_put(out, "<p class=\"soft\">%s</p>\n", intro);
}

void page_section_end(struct str *out)
{
    html_put(out, "</section>\n");
}

void page_missing(struct str *out, const char *what, const char *command)
{
    html_put(out, "<p class=\"missing\">%s", what);
    if (command) html_put(out, " <code>%s</code>", command);
    html_put(out, "</p>\n");
}

void page_tiles(struct str *out)
{
    html_put(out, "<div class=\"tiles\">");
}

void page_tile(struct str *out, int64_t n, const char *name, int main)
{
    html_put(out, "<div class=\"tile%s\"><b>", main ? " main" : "");
    html_count(out, n);
    html_put(out, "</b><span>%s</span></div>\n", name);
}

void page_tiles_end(struct str *out)
{
    html_put(out, "</div>\n");
}

void page_strip(struct str *out)
{
    html_put(out, "<div class=\"strip\">\n");
}

static void put_image(struct str *out, const struct page_picture *p)
{
    if (!p->jpeg || !p->jpeg->len) {
        html_put(out, "<span class=\"none\">%s</span>", p->none ? p->none : "no picture");
        return;
    }
    html_put(out, "<img width=\"%d\" height=\"%d\" alt=\"", p->width, p->height);
    html_clip(out, p->caption, p->caption_len, CAPTION_CHARS);
    html_put(out, "\" src=\"data:image/jpeg;base64,");
    html_base64(out, p->jpeg->p, p->jpeg->len);
    html_put(out, "\">");
}

void page_picture(struct str *out, const struct page_picture *p)
{
    html_put(out, "<figure class=\"%s\"><div class=\"pic\"", p->badge ? "kept" : "one");
    if (p->origin) html_put(out, " title=\"%s\"", p->origin);
    html_put(out, ">");
    put_image(out, p);
    if (p->badge) html_put(out, "<span class=\"badge\">%s</span>", p->badge);
    html_put(out, "</div><figcaption>");
    if (p->value) html_put(out, "<b>%s</b> ", p->value);
    html_put(out, "<bdi class=\"key\">");
    html_clip(out, p->key, p->key_len, KEY_CHARS);
    html_put(out, "</bdi>");
    if (p->caption_len) {
        html_put(out, "<bdi class=\"says\">");
        html_clip(out, p->caption, p->caption_len, CAPTION_CHARS);
        html_put(out, "</bdi>");
    }
    html_put(out, "</figcaption></figure>\n");
}

void page_strip_end(struct str *out)
{
    html_put(out, "</div>\n");
}

void page_data(struct str *out, const char *id, const struct str *json)
{
    html_put(out, "<script type=\"application/json\" id=\"%s\">", id);
    str_add(out, json->p, json->len);
    html_put(out, "</script>\n");
}

void page_end(struct str *out, const char *foot)
{
    html_put(out,
             "</main>\n<footer>%s Made by darkroom " DARKROOM_VERSION
             "; this file holds everything it shows and asks nothing of the network.</footer>\n"
             "</body>\n</html>\n",
             foot);
}
