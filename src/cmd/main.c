/* main.c - the verb table: parse, call, print the error, exit. Only cmd/ does the last two. */
#include "cmd/help.h"
#include "cmd/verbs.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/version.h"
#include "base/yaml.h"
#include "stage/stage.h"
#include "stage/verb.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct verb *const verbs[] = {
    &embed_verb,  &score_verb,   &filter_verb,  &dedup_verb,    &export_verb, &curate_verb,
    &report_verb, &explain_verb, &inspect_verb, &model_verb,    &status_verb, &verify_verb,
    &gc_verb,     &device_verb,  &version_verb, &help_verb_row, NULL};

/* The sentence, and below it what it points at: lines that begin with four spaces. */
static int fail(int rc)
{
    const char *text = err_text(), *next;
    fflush(stdout);
    log_progress_end();
    for (; (next = strstr(text, "\n    ")); text = next + 1)
        log_warn("%.*s", (int)(next - text), text);
    log_warn("%s", text);
    return err_exit_code(rc);
}

/* A file we have mapped was cut short by someone else. */
static void on_bus_error(int sig)
{
    static const char text[] = "darkroom: a file became shorter while it was being read\n";
    (void)sig;
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0) _exit(4);
    _exit(4);
}

/* Started with 0, 1 or 2 closed, the first files opened would get these numbers, and what we say
 * would be written into them. Held for reading only, a result that goes nowhere stays an error. */
static void hold_standard_files(void)
{
    int fd;
    do fd = open("/dev/null", O_RDONLY);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO) close(fd);
}

static const struct verb *find_verb(const char *name)
{
    for (size_t i = 0; verbs[i]; i++)
        if (str_same(verbs[i]->name, name)) return verbs[i];
    return NULL;
}

static int unknown_verb(const char *name)
{
    const char *names[sizeof verbs / sizeof *verbs];
    size_t i = 0;
    for (; verbs[i]; i++) names[i] = verbs[i]->name;
    names[i] = NULL;
    const char *near = str_same(name, "inference") ? "embed" : str_nearest(name, names);
    if (near)
        return err_set(ERR_USAGE, "no verb '%s'; did you mean '%s'? See darkroom --help", name,
                       near);
    return err_set(ERR_USAGE, "no verb '%s'; see darkroom --help", name);
}

/* Commands run when they are typed. Those in a file need --allow-pipe, and that must be typed:
 * a file that allows its own commands would make the question pointless. */
static int assign(const struct opt_set *set, void *options, const char *name, const char *value,
                  int allow_pipe)
{
    const struct opt *o = opt_find(set, name, strlen(name));
    if (o && !strcmp(o->name, "allow-pipe"))
        return err_set(ERR_USAGE, "--allow-pipe counts only on the command line");
    if (strstr(value, "pipe:") && !allow_pipe)
        return err_set(ERR_USAGE, "'%s': a command from a file runs only with --allow-pipe", value);
    return opt_assign(set, options, name, value);
}

/* Every key of the file is an option of the verb, by any of its names. */
static int load_config(const struct opt_set *set, void *options, const char *path, int allow_pipe,
                       struct arena *a)
{
    struct yaml *root;
    int rc = yaml_load(&root, path, a);
    if (rc) return rc;
    if (root->type != YAML_MAP)
        return err_set(ERR_INPUT, "%s: options are expected as 'name: value' lines", path);
    for (const struct yaml *y = root->child; y && !rc; y = y->next) {
        if (y->type == YAML_SCALAR)
            rc = assign(set, options, y->key, y->text, allow_pipe);
        else if (y->type == YAML_MAP)
            rc = err_set(ERR_USAGE, "'%s' holds options inside an option", y->key);
        else
            for (const struct yaml *c = y->child; c && !rc; c = c->next)
                rc = c->type == YAML_SCALAR
                         ? assign(set, options, y->key, c->text, allow_pipe)
                         : err_set(ERR_USAGE, "'%s' holds more than words", y->key);
        if (rc) rc = err_wrap(rc, "%s:%d", path, y->line);
    }
    return rc;
}

static int parse(const struct verb *v, void *options, const char **args, int *nargs, int argc,
                 char **argv, struct arena *a)
{
    struct opt_set set = {
        {v->options ? v->options : common_options, v->options ? common_options : NULL, NULL}};
    struct common *c = options;
    opt_defaults(&set, options);
    int rc = opt_parse(&set, options, args, nargs, argc, argv);
    if (rc || !c->config || c->help) return rc;
    const char *config = c->config;
    const struct opt *pipe = opt_find(&set, "allow-pipe", strlen("allow-pipe"));
    int allow_pipe = pipe ? *(int *)((char *)options + pipe->at) : 0;
    opt_release(&set, options);
    memset(options, 0, v->size);
    opt_defaults(&set, options);
    rc = load_config(&set, options, config, allow_pipe, a);
    return rc ? rc : opt_parse(&set, options, args, nargs, argc, argv);
}

static void print_help(const struct verb *v)
{
    struct str s = {0};
    if (v)
        help_verb(&s, v);
    else
        help_overview(&s, verbs);
    fputs(s.p, stdout);
    str_release(&s);
}

static int run_verb(const struct verb *v, int argc, char **argv)
{
    struct arena a = {0};
    void *options = mem_alloc(v->size);
    const char **args = mem_alloc(((size_t)argc + 1) * sizeof *args);
    struct common *c = options;
    int nargs, code = 0, rc = parse(v, options, args, &nargs, argc, argv, &a);
    if (!rc && c->help) {
        print_help(v);
    } else if (rc) {
        code = fail(err_wrap(rc, "%s", v->name));
    } else {
        log_setup(c->quiet ? LOG_QUIET : c->verbose ? LOG_VERBOSE : LOG_NORMAL, c->json);
        rc = v->run(options, args, nargs);
        code = rc < 0 ? fail(rc) : rc; /* a positive result is an exit code of its own: 3 */
    }
    struct opt_set set = {{v->options ? v->options : common_options, NULL}};
    opt_release(&set, options);
    free(args);
    free(options);
    arena_release(&a);
    return code;
}

static int run_help(void *options, const char **args, int nargs)
{
    struct help_options *o = options;
    const struct verb *v = nargs ? find_verb(args[0]) : NULL;
    struct str s = {0};
    if (nargs && !v) return unknown_verb(args[0]);
    if (o->man)
        help_man(&s, verbs, v);
    else if (o->completion && !strcmp(o->completion, "bash"))
        help_bash(&s, verbs);
    else if (o->completion && !strcmp(o->completion, "zsh"))
        help_zsh(&s, verbs);
    else if (o->completion && !strcmp(o->completion, "fish"))
        help_fish(&s, verbs);
    else if (o->completion)
        return err_set(ERR_USAGE, "--completion takes bash, zsh or fish");
    else if (v)
        help_verb(&s, v);
    else
        help_overview(&s, verbs);
    fputs(s.p, stdout);
    str_release(&s);
    return 0;
}

static const struct opt help_options[] = {
    {"man", NULL, 0, OPT_FLAG, offsetof(struct help_options, man), NULL, NULL, "as a man page", 0},
    {"completion", NULL, 0, OPT_STR, offsetof(struct help_options, completion), NULL, "SHELL",
     "completion script for bash, zsh or fish", 0},
    OPT_END};

const struct verb help_verb_row = {"help",
                                   "[VERB]",
                                   "explain a verb; man pages and shell completion",
                                   NULL,
                                   NULL,
                                   help_options,
                                   sizeof(struct help_options),
                                   run_help};

int main(int argc, char **argv)
{
    hold_standard_files();
    signal(SIGBUS, on_bus_error);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file-size limit is an error of the write */
    if (argc < 2 || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
        print_help(NULL);
        return argc < 2 ? 2 : 0;
    }
    if (!strcmp(argv[1], "--version")) {
        puts("darkroom " DARKROOM_VERSION);
        return 0;
    }
    const struct verb *v = find_verb(argv[1]);
    if (!v) return fail(unknown_verb(argv[1]));
    int code = run_verb(v, argc - 2, argv + 2);
    if (!fflush(stdout) && !ferror(stdout)) return code;
    log_warn("standard output: cannot be written");
    return code ? code : err_exit_code(ERR_OUTPUT);
}
