/* html.h - text into a page, always escaped.
 * Captions and keys are hostile: markup, NUL, broken UTF-8, bidi controls. The only way to put
 * markup is a literal format of html_put; everything handed to it as a value is escaped. */
#ifndef PAGE_HTML_H
#define PAGE_HTML_H

#include "base/platform.h"
#include "base/str.h"

/* Append fmt as it is (a literal: it is the markup), its values escaped. Knows %s, %.*s, %c, %%,
 * whole numbers (%d, %u, also long) and reals (%f, %g, with a precision of one digit or '*'). */
void html_put(struct str *out, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Append text, fit for an element and for a quoted attribute: & < > " ' become entities, line
 * breaks and tabs spaces, control characters their pictures, ill-formed UTF-8, bidi controls and
 * non-characters U+FFFD. */
void html_text(struct str *out, const char *p, size_t n);

/* The same, cut behind `most` characters with an ellipsis. */
void html_clip(struct str *out, const char *p, size_t n, size_t most);

/* The same without entities: for a terminal, which control characters would command. */
void html_plain(struct str *out, const char *p, size_t n, size_t most);

/* Append a JSON string, quotes included, that is also safe inside <script>: no markup character
 * and no bidi control stands in it unescaped; ill-formed UTF-8 becomes U+FFFD. */
void html_json(struct str *out, const char *p, size_t n);

/* Append 1,234,567. */
void html_count(struct str *out, int64_t n);

/* Append 950, 1.2k, 34M: for the few pixels of an axis. */
void html_short(struct str *out, double n);

/* Append a share of a whole: 12 %, 0.4 %, under 0.1 %; nothing when the whole is 0. */
void html_percent(struct str *out, int64_t part, int64_t whole);

void html_base64(struct str *out, const void *p, size_t n);

#endif
