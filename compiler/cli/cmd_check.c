// serin check PATH...: shapes, dtypes, where clauses, the serve block, the weights' headers.
#include "cli/check_package.h"
#include "cli/cli.h"
#include <string.h>

static const Flag flags[] = {
    MODEL_FLAGS,
    {"--summary", FLAG_BOOL, NULL, "what the serve block resolves to"},
    {"--prove", FLAG_BOOL, NULL, "the proof that it can be served, step by step"},
    {"--engine", FLAG_TEXT, "E", "can it run in vllm or gguf (llama.cpp), be exported to hf"},
    {"--strict", FLAG_BOOL, NULL, "warnings are errors"},
    {"--json", FLAG_BOOL, NULL, "diagnostics as one JSON object"},
};

typedef struct {
    int64_t tensors;
    int64_t elements; // -1: beyond 63 bits
} Count;

static void count_one(void *ctx, const char *path, const CoreType *type) {
    Count *n = ctx;
    int64_t size = 1, d;
    bool good = n->elements >= 0;
    (void)path;
    for (int i = 0; i < type->rank; i++)
        good = good && dim_is_const(type->dims[i], &d) && !__builtin_mul_overflow(size, d, &size);
    n->tensors++;
    n->elements = good && !__builtin_add_overflow(n->elements, size, &size) ? size : -1;
}

static void print_params(const Item *entry) {
    for (int i = 0; i < entry->params.len; i++)
        printf("%s%s", i ? ", " : "", entry->params.data[i]->name);
}

// Are there several of a state? The loops around it are leading axes before the batch.
static bool in_layers(const StepPlan *p, const StepState *state) {
    bool several = false;
    int64_t n;
    for (int k = 0; k < state->type->rank && state->type->dims[k] != p->B; k++)
        several |= dim_is_const(state->type->dims[k], &n) && n > 1;
    return several;
}

// "23040 bytes a token".
static const char *token_text(const Model *m, int64_t bytes) {
    if (bytes >= 0)
        return arena_printf(m->a, "%lld bytes a token", (long long)bytes);
    return m->open ? "its size is open" : "not the same for every token";
}

// The cache that was derived: each kept value with its shape and bytes a position.
static void print_cache(const Model *m) {
    const StepPlan *p = m->step;
    if (m->decode) {
        printf("    cache   : hand-written, by %s%s`%s`\n",
               m->prefill ? arena_printf(m->a, "`%s`", m->serve.prefill->name) : "",
               m->prefill ? " and " : "", m->serve.decode->name);
        return;
    }
    if (!p) {
        printf("    cache   : none: the whole context is computed for every token%s\n",
               m->window ? ", since a window slides" : "");
        return;
    }
    int64_t total = opt_step_bytes(p);
    printf("    cache   : kv_cache(%s), %s", dim_name(m->length), token_text(m, total));
    if (p->origin)
        printf(", a window of %lld tokens and a chunk at a time", (long long)p->window + 1);
    else if (m->context >= 0 && total >= 0)
        printf(", %s for %lld tokens", size_text(m->a, (double)total * (double)m->context),
               (long long)m->context);
    putchar('\n');
    for (int i = 0; i < p->state_count; i++) {
        StrBuf shape = strbuf_new(m->a);
        const StepState *state = &p->states[i];
        for (int k = 0; k < state->type->rank; k++) {
            strbuf_add(&shape, k ? STR(", ") : STR("["));
            dim_print(&shape, state->type->dims[k]);
        }
        printf("              %s: %s%s], %s%s\n", state->name ? state->name : "?",
               dtype_name(state->type->dtype), shape.data, token_text(m, state->bytes),
               in_layers(p, state) ? " in all layers" : "");
    }
}

static void print_proof(const Model *m) {
    StrBuf out = strbuf_new(m->a);
    if (m->causal)
        causal_print_proof(m->causal, &out);
    else
        strbuf_printf(&out, "there is no proof: %s\n",
                      m->window   ? "the context is a window of learned positions"
                      : m->decode ? "the cache is hand-written"
                                  : m->step_why.text);
    fputs(out.data, stdout);
}

// What is known of a model that checks.
static void print_model(Model *m) {
    Count n = {0};
    core_weights(m->core, m->entry->self, count_one, &n);
    printf("-- inference --\ninference serve: model %s\n", m->serve.model->name);
    const char *elements = m->open          ? "open sizes"
                           : n.elements < 0 ? "2^63 and more"
                                            : arena_printf(m->a, "%lld", (long long)n.elements);
    printf("    weights : %s in %lld tensor%s, from %s%s\n", elements, (long long)n.tensors,
           n.tensors == 1 ? "" : "s", m->weights_path ? m->weights_path : "nowhere",
           m->weights_missing ? " (not found)" : "");
    printf("    generate: %s(", m->serve.entry->name);
    print_params(m->serve.entry);
    if (m->vocab < 0)
        printf("), vocabulary open\n");
    else
        printf("), vocabulary %lld\n", (long long)m->vocab);
    if (m->window)
        printf("    context : a window of %lld tokens, learned positions\n", (long long)m->window);
    else if (m->context >= 0)
        printf("    context : whole, at most %lld tokens\n", (long long)m->context);
    else
        printf("    context : whole, no bound\n");
    print_cache(m);
    if (m->serve.max_batch)
        printf("    batching: at most %lld texts at once, others wait\n",
               (long long)m->serve.max_batch);
    printf("    ignored : nothing\n");
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

// Says what was not looked at, and what it takes.
static void print_open(const Model *m) {
    const Item *block = m->serve.model;
    fprintf(stderr, "%s: with open dimensions it is not known what can be kept; give", m->path);
    for (int i = 0; i < block->generics.len; i++) {
        if (!m->block_args[i].bound)
            fprintf(stderr, " --%s %s=%s",
                    block->generics.data[i].kind == GENERIC_DIM ? "dim" : "set",
                    block->generics.data[i].name,
                    block->generics.data[i].kind == GENERIC_DIM ? "N" : "VALUE");
    }
    fputc('\n', stderr);
}

// Lowers with open dimensions as symbols. False where that takes numbers.
static bool lower_open(Model *m, const Args *args) {
    const Item *block = m->serve.model;
    int diags = m->s->diags.len, errors = m->s->errors, warnings = m->s->warnings;
    for (int i = 0; i < block->generics.len; i++) {
        const GenericDecl *g = &block->generics.data[i];
        if (!m->block_args[i].bound && (g->kind != GENERIC_DIM || g->generic == m->serve.length))
            return false;
    }
    if (model_lower(m, args, 0) == EXIT_FINE)
        return true;
    m->s->diags.len = diags;
    m->s->errors = errors;
    m->s->warnings = warnings;
    return false;
}

static void print_answers(Model *m, const Args *args) {
    bool summary = m->checkpoint || args_has(args, "--summary"), prove = args_has(args, "--prove");
    if (m->checkpoint)
        checkpoint_print(m->checkpoint, stdout);
    if (m->open && !m->step && (summary || prove))
        print_open(m);
    else if (summary)
        print_model(m);
}

static int check_model(Model *m, const Args *args, bool quiet) {
    m->open = m->serve.entry && is_open(m);
    if (m->engine && (!m->serve.entry || m->open))
        return model_engine_early(m) ? EXIT_FINE : EXIT_WRONG;
    if (!m->serve.entry)
        return m->s->errors ? EXIT_WRONG : EXIT_FINE;
    bool lowered = !m->open || lower_open(m, args);
    int code = m->open ? EXIT_FINE : model_lower(m, args, 0);
    if (code == EXIT_FINE && !m->open && (model_weights(m) || args_has(args, "--weights")))
        code = model_match_weights(m);
    if (code == EXIT_FINE && lowered)
        code = model_derive(m);
    if (code == EXIT_FINE && m->engine && !model_engine(m))
        code = EXIT_WRONG;
    if (code == EXIT_FINE && m->s->errors)
        code = EXIT_WRONG;
    if (code == EXIT_FINE && !quiet) {
        code = model_slide(m);
        print_answers(m, args);
    }
    if (m->core && (m->step || !m->open) && args_has(args, "--prove") && !quiet)
        print_proof(m);
    return code;
}

static int check_one(Arena *a, const char *path, const Args *args, bool quiet) {
    Target t = {0};
    Model *m = &t.m;
    int code = model_open(a, path, args, m);
    m->engine = args_text(args, "--engine");
    if (code == EXIT_FINE && m->serve.block)
        code = check_model(m, args, quiet);
    else if (code == EXIT_FINE && m->engine && !model_engine_early(m))
        code = EXIT_WRONG;
    if (code == EXIT_FINE && !m->checkpoint)
        code = check_package(&t, quiet);
    if (code == EXIT_FINE && args_has(args, "--strict") && m->s->warnings)
        code = EXIT_WRONG;
    int shown = code == EXIT_INTERNAL ? code : finish(m->s, args);
    code = code > shown ? code : shown;
    if (code == EXIT_FINE && !quiet)
        fprintf(stderr, "%s: fine\n", path);
    target_close(&t);
    return code;
}

static int run(Arena *a, const Args *args) {
    int worst = EXIT_FINE;
    const char *engine = args_text(args, "--engine");
    if (!args->paths.len)
        return usage_error("check takes at least one PATH");
    if (engine && strcmp(engine, "vllm") && strcmp(engine, "gguf") && strcmp(engine, "hf"))
        return usage_error("--engine is vllm, gguf or hf, not \"%s\"", engine);
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
