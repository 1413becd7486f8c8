/* clean.h - captions made uniform before they are cut into tokens, exactly as open_clip does:
 * ftfy.fix_text, html.unescape twice, white space collapsed and stripped, lower case. What is
 * exact and what is not stands in docs/text.md. */
#ifndef TEXT_CLEAN_H
#define TEXT_CLEAN_H

#include "text/mojibake.h"
#include "text/utf8.h"

/* Memory of one thread's cleaning; zeroed is ready. */
struct clean {
    struct runes in, text, next, before, result;
    struct mojibake mojibake;
    struct str out;
};
void clean_release(struct clean *c);

/* Clean n bytes, of any kind. Returns the length of *out, UTF-8 that lives until the next call. */
size_t clean_text(struct clean *c, const char **out, const char *text, size_t n);

/* Its first step alone, ftfy.fix_text: for those who want a caption repaired but not folded. */
size_t clean_fix(struct clean *c, const char **out, const char *text, size_t n);

#endif
