/* page.h - the frame of a self-contained page: one file, no script, nothing fetched.
 * Its Content-Security-Policy allows our own stylesheet (by hash) and data: pictures, no more,
 * so even a flaw in escaping could neither run nor load anything. */
#ifndef PAGE_PAGE_H
#define PAGE_PAGE_H

#include "base/str.h"

/* Doctype to the open <main>. facts and links are put between by the caller in this order:
 * page_begin, page_fact..., page_nav, page_link..., page_main, sections, page_end. */
void page_begin(struct str *out, const char *title, const char *kind);
void page_fact(struct str *out, const char *text);
void page_nav(struct str *out);
void page_link(struct str *out, const char *id, const char *text);
void page_main(struct str *out);

/* A section with its heading; intro may be NULL. */
void page_section(struct str *out, const char *id, const char *title, const char *intro);
void page_section_end(struct str *out);

/* "There is nothing here yet": what is missing, and the command that makes it. */
void page_missing(struct str *out, const char *what, const char *command);

/* A large number with its name; main: the one that matters. */
void page_tiles(struct str *out);
void page_tile(struct str *out, int64_t n, const char *name, int main);
void page_tiles_end(struct str *out);

/* A picture with what is known about it. Text is hostile and clipped here. */
struct page_picture {
    const struct str *jpeg; /* NULL or empty: none at hand */
    int width, height;
    const char *value; /* bold: a score, a similarity; may be NULL */
    const char *badge; /* "kept"; may be NULL */
    const char *key, *caption;
    size_t key_len, caption_len;
    const char *origin; /* for the tooltip; may be NULL */
    const char *none;   /* in place of the picture when there is none */
};
void page_strip(struct str *out);
void page_picture(struct str *out, const struct page_picture *p);
void page_strip_end(struct str *out);

/* Numbers for programs: a <script type="application/json"> block, which no browser runs. json is
 * an object whose strings were written by html_json. */
void page_data(struct str *out, const char *id, const struct str *json);

void page_end(struct str *out, const char *foot);

#endif
