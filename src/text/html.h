/* html.h - character references such as &eacute; &#233; &#xE9;, in two dialects:
 * html_unescape is Python's html.unescape (the HTML5 rules: names without ';' too, the
 * Windows-1252 reading of &#128;..&#159;), html_fix is ftfy's (only what ends in ';', but also
 * names in capitals such as &EACUTE;). */
#ifndef TEXT_HTML_H
#define TEXT_HTML_H

#include "text/utf8.h"

void html_unescape(struct runes *out, const uint32_t *p, size_t n); /* appends */
void html_fix(struct runes *out, const uint32_t *p, size_t n);      /* appends */

/* What byte b (0x80..0x9F) means in Windows-1252; the five bytes it leaves open stay themselves. */
uint32_t html_windows_1252(uint32_t b);

/* entities.c */
enum { ENTITY_BARE = 1 /* may stand without ';' */, ENTITY_CAPS = 2 /* may be in capitals */ };
extern const char entity_names[];
extern const uint16_t entity_starts[], entity_seconds[][2], entity_capitals[][4];
extern const uint32_t entity_values[];
extern const size_t entity_count, entity_second_count, entity_capital_count;

#endif
