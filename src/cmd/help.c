/* help.c - --help, man pages and shell completion, all from the same rows. */
#include "cmd/help.h"
#include "base/version.h"

#include <string.h>

static const char exits[] =
    "0 done; 1 failed; 2 wrong usage; 3 finished, but more bad samples than --max-bad or a shard "
    "missing or damaged; 4 input missing or unreadable; 5 output disk, quota or permission; "
    "6 device; 7 a receipt, a hash or a source shard disagrees; 69 a service does not answer; "
    "75 stopped by a signal, run the same command again.";

static const char *const variables[][2] = {
    {"DARKROOM_HOME", "models are looked up in $DARKROOM_HOME/models; ~/.darkroom when unset"},
    {"HF_HUB_CACHE, HF_HOME", "where Hugging Face's cache is, which is searched too"},
    {"DARKROOM_ISA", "plain, avx2 or avx512: use less than the CPU has; bytes do not change"},
    {"DARKROOM_PROFILE", "1: a table of the time spent per operation at the end"}};

void help_overview(struct str *out, const struct verb *const *verbs)
{
    str_puts(
        out,
        "usage: darkroom VERB [options] ARGS\n\nThe whole road of image-text data in one program.\n\n");
    for (; *verbs; verbs++) str_printf(out, "  %-10s %s\n", (*verbs)->name, (*verbs)->summary);
    str_puts(out, "\nenvironment:\n");
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        str_printf(out, "  %-22s %s\n", variables[i][0], variables[i][1]);
    str_puts(out,
             "\n`darkroom VERB --help` says more. Try: darkroom embed demo place --model tiny\n");
}

static void option_left(struct str *out, const struct opt *o)
{
    if (o->letter) str_printf(out, "-%c, ", o->letter);
    str_printf(out, "--%s", o->name);
    if (o->type != OPT_FLAG)
        str_printf(out, " %s", o->arg ? o->arg : o->type == OPT_BOOL ? "BOOL" : "V");
}

static void option_right(struct str *out, const struct opt *o)
{
    str_puts(out, o->help);
    if (o->value && *o->value && strcmp(o->value, "0") && o->type != OPT_FLAG)
        str_printf(out, " (default %s)", o->value);
    if (o->also) {
        str_puts(out, " [also");
        for (const char *w = o->also; *w; w += strcspn(w, ",") + (w[strcspn(w, ",")] == ','))
            str_printf(out, " --%.*s", (int)strcspn(w, ","), w);
        str_putc(out, ']');
    }
}

/* Two columns, the right one wrapped. */
static void put_wrapped(struct str *out, const char *text, int indent, int width)
{
    int column = indent;
    while (*text) {
        size_t n = strcspn(text, " ");
        if (column > indent && column + (int)n + 1 > width) {
            str_printf(out, "\n%*s", indent, "");
            column = indent;
        }
        if (column > indent) str_putc(out, ' '), column++;
        str_add(out, text, n);
        column += (int)n;
        text += n + (text[n] == ' ');
    }
    str_putc(out, '\n');
}

/* A verb may have an option of its own in place of a shared one. */
static int is_replaced(const struct opt *o, const struct opt *own)
{
    for (; own && own->name; own++)
        if (own != o && !strcmp(own->name, o->name)) return 1;
    return 0;
}

static void put_options(struct str *out, const struct opt *table, unsigned peer,
                        const struct opt *own)
{
    for (const struct opt *o = table; o && o->name; o++) {
        struct str left = {0}, right = {0};
        if ((o->flags & OPT_PEER) != peer || is_replaced(o, own)) continue;
        option_left(&left, o);
        option_right(&right, o);
        str_printf(out, "  %-28s ", left.p);
        if (left.len > 28) str_printf(out, "\n%*s", 31, "");
        put_wrapped(out, right.p, 31, 100);
        str_release(&left);
        str_release(&right);
    }
}

static int has_peer_options(const struct opt *o)
{
    for (; o && o->name; o++)
        if (o->flags & OPT_PEER) return 1;
    return 0;
}

void help_verb(struct str *out, const struct verb *v)
{
    str_printf(out, "usage: darkroom %s [options] %s\n\n%s\n", v->name, v->args, v->summary);
    if (v->examples) str_printf(out, "\nexamples:\n%s", v->examples);
    if (v->details) str_printf(out, "\n%s", v->details);
    if (v->options) str_puts(out, "\noptions:\n");
    put_options(out, v->options, 0, NULL);
    if (has_peer_options(v->options)) {
        str_puts(out, "\nclip-retrieval's names, for its users:\n");
        put_options(out, v->options, OPT_PEER, NULL);
    }
    str_puts(out, "\noptions of every verb:\n");
    put_options(out, common_options, 0, v->options);
    str_puts(out, "\nexit codes:\n  ");
    put_wrapped(out, exits, 2, 100);
}

/* roff: backslashes and leading dots or quotes would be taken as requests. */
static void put_roff(struct str *out, const char *text)
{
    int start = 1;
    for (; *text; text++) {
        if (start && (*text == '.' || *text == '\'')) str_puts(out, "\\&");
        if (*text == '\\')
            str_puts(out, "\\e");
        else if (*text == '-')
            str_puts(out, "\\-");
        else
            str_putc(out, *text);
        start = *text == '\n';
    }
}

static void man_options(struct str *out, const struct opt *table, const struct opt *own)
{
    for (const struct opt *o = table; o && o->name; o++) {
        struct str s = {0};
        if (is_replaced(o, own)) continue;
        option_left(&s, o);
        str_puts(out, ".TP\n.B ");
        put_roff(out, s.p);
        str_clear(&s);
        option_right(&s, o);
        str_putc(out, '\n');
        put_roff(out, s.p);
        str_putc(out, '\n');
        str_release(&s);
    }
}

static void man_verbs(struct str *out, const struct verb *const *verbs)
{
    str_puts(out, ".SH VERBS\n");
    for (; *verbs; verbs++) {
        str_printf(out, ".TP\n.B %s\n", (*verbs)->name);
        put_roff(out, (*verbs)->summary);
        str_puts(out, "\n");
    }
}

void help_man(struct str *out, const struct verb *const *verbs, const struct verb *v)
{
    str_printf(
        out,
        ".TH \"DARKROOM%s%s\" 1 \"\" \"darkroom %s\" \"darkroom\"\n.SH NAME\ndarkroom%s%s \\- ",
        v ? "\\-" : "", v ? v->name : "", DARKROOM_VERSION, v ? "\\-" : "", v ? v->name : "");
    put_roff(out, v ? v->summary : "the road of image-text data in one program");
    str_puts(out, "\n.SH SYNOPSIS\n.B darkroom ");
    put_roff(out, v ? v->name : "VERB");
    str_puts(out, " [options] ");
    put_roff(out, v ? v->args : "ARGS");
    if (v && v->details) {
        str_puts(out, "\n.SH DESCRIPTION\n");
        put_roff(out, v->details);
    }
    str_putc(out, '\n');
    if (!v) man_verbs(out, verbs);
    str_puts(out, ".SH OPTIONS\n");
    man_options(out, v ? v->options : NULL, NULL);
    man_options(out, common_options, v ? v->options : NULL);
    if (v && v->examples) {
        str_puts(out, ".SH EXAMPLES\n.nf\n");
        put_roff(out, v->examples);
        str_puts(out, ".fi\n");
    }
    str_puts(out, ".SH EXIT STATUS\n");
    put_roff(out, exits);
    str_puts(out, "\n.SH ENVIRONMENT\n");
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        str_printf(out, ".TP\n.B %s\n", variables[i][0]);
        put_roff(out, variables[i][1]);
        str_putc(out, '\n');
    }
}

static void put_names(struct str *out, const struct opt *table, const struct opt *own)
{
    for (const struct opt *o = table; o && o->name; o++)
        if (!is_replaced(o, own)) str_printf(out, " --%s", o->name);
}

void help_bash(struct str *out, const struct verb *const *verbs)
{
    str_puts(
        out,
        "_darkroom() {\n  local cur=${COMP_WORDS[COMP_CWORD]} words\n  case ${COMP_WORDS[1]} in\n");
    for (const struct verb *const *v = verbs; *v; v++) {
        str_printf(out, "  %s) words='", (*v)->name);
        put_names(out, (*v)->options, NULL);
        put_names(out, common_options, (*v)->options);
        str_puts(out, "' ;;\n");
    }
    str_puts(out, "  *) words='' ;;\n  esac\n  if [ \"$COMP_CWORD\" -eq 1 ]; then words='");
    for (const struct verb *const *v = verbs; *v; v++) str_printf(out, " %s", (*v)->name);
    str_puts(
        out,
        "'\n  elif [ \"${cur#-}\" = \"$cur\" ]; then COMPREPLY=(); return; fi\n"
        "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\ncomplete -o default -F _darkroom darkroom\n");
}

void help_zsh(struct str *out, const struct verb *const *verbs)
{
    str_puts(out, "#compdef darkroom\nautoload -U bashcompinit && bashcompinit\n");
    help_bash(out, verbs);
}

void help_fish(struct str *out, const struct verb *const *verbs)
{
    for (const struct verb *const *v = verbs; *v; v++) {
        str_printf(out, "complete -c darkroom -n __fish_use_subcommand -a %s\n", (*v)->name);
        for (const struct opt *o = (*v)->options; o && o->name; o++)
            str_printf(out, "complete -c darkroom -n '__fish_seen_subcommand_from %s' -l %s\n",
                       (*v)->name, o->name);
    }
    for (const struct opt *o = common_options; o->name; o++)
        str_printf(out, "complete -c darkroom -l %s\n", o->name);
}
