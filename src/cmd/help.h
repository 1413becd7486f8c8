/* help.h - texts made from the verb and option tables. */
#ifndef CMD_HELP_H
#define CMD_HELP_H

#include "base/str.h"
#include "stage/verb.h"

void help_overview(struct str *out, const struct verb *const *verbs);
void help_verb(struct str *out, const struct verb *v);
void help_man(struct str *out, const struct verb *const *verbs,
              const struct verb *v);                              /* v NULL: darkroom(1) */
void help_bash(struct str *out, const struct verb *const *verbs); /* shell completion */
void help_zsh(struct str *out, const struct verb *const *verbs);
void help_fish(struct str *out, const struct verb *const *verbs);

#endif
