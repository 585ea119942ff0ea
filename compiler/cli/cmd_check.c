// serin check PATH...: shapes, dtypes, where clauses, the serve block, the weights' headers.
#include "cli/cli.h"
#include "cli/model.h"
#include <string.h>

static const Flag flags[] = {
    MODEL_FLAGS,
    {"--summary", FLAG_BOOL, NULL, "what the serve block resolves to"},
    {"--strict", FLAG_BOOL, NULL, "warnings are errors"},
    {"--json", FLAG_BOOL, NULL, "diagnostics as one JSON object"},
};

typedef struct {
    int64_t tensors, elements;
} Count;

static void count_one(void *ctx, const char *path, const CoreType *type) {
    Count *n = ctx;
    int64_t size = 1, d;
    (void)path;
    for (int i = 0; i < type->rank; i++)
        size *= dim_is_const(type->dims[i], &d) ? d : 1;
    n->tensors++;
    n->elements += size;
}

static void print_params(const Item *entry) {
    for (int i = 0; i < entry->params.len; i++)
        printf("%s%s", i ? ", " : "", entry->params.data[i]->name);
}

// What is known of a model that checks.
static void print_model(Model *m) {
    Count n = {0};
    core_weights(m->core, m->entry->self, count_one, &n);
    printf("inference serve: model %s\n", m->serve.model->name);
    printf("    weights : %lld in %lld tensors, from %s%s\n", (long long)n.elements,
           (long long)n.tensors, m->weights_path ? m->weights_path : "nowhere",
           m->weights_missing ? " (not found)" : "");
    printf("    generate: %s(", m->serve.entry->name);
    print_params(m->serve.entry);
    printf("), vocabulary %lld\n", (long long)m->vocab);
    if (m->window)
        printf("    context : a window of %lld tokens, learned positions\n", (long long)m->window);
    else if (m->context >= 0)
        printf("    context : whole, at most %lld tokens\n", (long long)m->context);
    else
        printf("    context : whole, no bound\n");
    printf("    cache   : none: this version computes the whole context for every token\n");
}

// Without weights a program's dimensions may still be open; its types hold for all of them.
static bool is_open(const Model *m) {
    const Item *block = m->serve.model;
    for (int i = 0; !m->checkpoint && !model_weights(m) && i < block->generics.len; i++) {
        if (!m->block_args[i].bound)
            return true;
    }
    return false;
}

static int check_model(Model *m, const Args *args, bool quiet) {
    if (!m->serve.entry || is_open(m))
        return m->s->errors ? EXIT_WRONG : EXIT_FINE;
    int code = model_lower(m, args, 0);
    if (code == EXIT_FINE && (model_weights(m) || args_has(args, "--weights")))
        code = model_match_weights(m);
    if (code == EXIT_FINE && m->s->errors)
        code = EXIT_WRONG;
    bool print = code == EXIT_FINE && !quiet;
    if (print && m->checkpoint)
        checkpoint_print(m->checkpoint, stdout);
    if (print && (m->checkpoint || args_has(args, "--summary")))
        print_model(m);
    return code;
}

static int check_one(Arena *a, const char *path, const Args *args, bool quiet) {
    Model m;
    int code = model_open(a, path, args, &m);
    if (code == EXIT_FINE && m.serve.block)
        code = check_model(&m, args, quiet);
    if (code == EXIT_FINE && args_has(args, "--strict") && m.s->warnings)
        code = EXIT_WRONG;
    int shown = code == EXIT_INTERNAL ? code : finish(m.s, args);
    code = code > shown ? code : shown;
    if (code == EXIT_FINE && !quiet)
        fprintf(stderr, "%s: fine\n", path);
    model_close(&m);
    return code;
}

static int run(Arena *a, const Args *args) {
    int worst = EXIT_FINE;
    if (!args->paths.len)
        return usage_error("check takes at least one PATH");
    if (args_has(args, "--json") && args->paths.len > 1)
        return usage_error("check --json takes one PATH");
    for (int i = 0; i < args->paths.len; i++) {
        int code = check_one(a, args->paths.data[i], args, args_has(args, "--json"));
        worst = code > worst ? code : worst;
    }
    return worst;
}

const Command command_check = {"check",
                               "PATH...",
                               "Checks programs and checkpoints without running anything.",
                               "serin check examples/verses",
                               COMMAND_FLAGS(flags),
                               run};
