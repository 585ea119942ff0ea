// A hand-written cache: the model's own `prefill` and `decode`, run as written.
#include "cli/cli.h"
#include "cli/generate.h"
#include "cli/model.h"
#include "lower/lower.h"
#include "opt/inplace.h"

// Batch 1, whether it is a generic of the block or of the entry; S stays a symbol.
static GenericArg *entry_args(Model *m, const Item *entry, const Dim **length) {
    GenericArg *args = NEW_N(m->a, GenericArg, entry->generics.len + 1);
    const Type *tokens = entry->params.data[0]->type;
    for (int i = 0; i < entry->generics.len; i++) {
        const Generic *g = entry->generics.data[i].generic;
        args[i] = entry->generics.data[i].value;
        if (g->dim && g->dim == tokens->axes[0].dim)
            args[i] = (GenericArg){.dim = dim_const(m->program->dims, 1), .bound = true};
        if (g->dim && g->dim == tokens->axes[1].dim) {
            args[i].bound = false;
            *length = g->dim;
        }
    }
    return args;
}

static void bound_context(Model *m) {
    int64_t capacity;
    for (int i = 0; i < m->serve.model->generics.len; i++) {
        if (m->serve.model->generics.data[i].generic == m->serve.capacity &&
            dim_is_const(m->block_args[i].dim, &capacity) &&
            (m->context < 0 || capacity < m->context))
            m->context = capacity;
    }
}

int model_written(Model *m) {
    Item *entries[2] = {m->serve.decode, m->serve.prefill};
    const Dim *none = NULL;
    const GenericArg *args[2] = {entry_args(m, entries[0], &none), NULL};
    CoreFn *fns[2] = {NULL, NULL};
    int n = entries[1] ? 2 : 1;
    if (entries[1])
        args[1] = entry_args(m, entries[1], &m->prefill_length);
    m->step_core = core_new(m->s, m->program->dims);
    LowerOptions o = {.program = m->program,
                      .core = m->step_core,
                      .block_args = m->block_args,
                      .present = model_present,
                      .ctx = m,
                      .serving = true};
    if (!lower_entries(&o, m->serve.model, n, entries, args, fns))
        return EXIT_WRONG;
    m->decode = fns[0];
    m->prefill = fns[1];
    const CoreType *tokens = core_value(m->decode, m->decode->params.data[1])->type;
    int64_t batch;
    if (!dim_is_const(tokens->dims[0], &batch) || batch != 1) {
        report(m->s, m->serve.decode->name_span, E2010,
               "`%s` runs a batch of `%s`; a hand-written cache is served one prompt at a time",
               m->serve.decode->name, dim_text(m->a, tokens->dims[0]));
        return EXIT_WRONG;
    }
    bound_context(m);
    int code = model_verify(m, m->step_core, "lowering");
    if (code != EXIT_FINE || !opt_inplace(m->step_core))
        return code;
    return model_verify(m, m->step_core, "writing in place");
}

// ---- Running -----------------------------------------------------------------------------------

typedef struct {
    Model *m;
    Interp *it;
    InterpBlock *self;
    float *logits;
    int32_t *order;
} Written;

// Feeds tokens [1, n] at pos and widens the logits of the last one.
static bool feed(Written *w, const CoreFn *fn, const int32_t *tokens, int64_t n, int64_t pos) {
    char error[512];
    int32_t at = (int32_t)pos;
    Tensor args[2] = {{.dtype = DT_I32, .rank = 2, .dims = {1, n}, .data = tokens},
                      {.dtype = DT_I32, .data = &at}},
           result;
    if (!interp_call(w->it, fn, w->self, 2, args, &result, error, sizeof error)) {
        report(w->m->s, (Span){0}, E7004, "%s", error);
        return false;
    }
    RtFormat format = dtype_to_rt(result.dtype);
    rt_format_row(format, result.data, 0, (uint64_t)w->m->vocab, w->logits);
    return true;
}

// What the model has not seen yet: the prompt by `prefill` if there is one, else by `decode`.
static bool feed_rest(Written *w, Sequence *s) {
    Model *m = w->m;
    bool good = true;
    if (m->prefill && s->fed == 0) {
        interp_bind(w->it, m->prefill_length, s->length);
        good = feed(w, m->prefill, s->tokens, s->length, 0);
        s->fed = s->length;
    }
    for (; good && s->fed < s->length; s->fed++)
        good = feed(w, m->decode, s->tokens + s->fed, 1, s->fed);
    return good;
}

static bool generate_row(Written *w, Sequence *s, int64_t row, OnToken *on_token, void *ctx) {
    interp_reset_state(w->self);
    while (!s->done) {
        if (!feed_rest(w, s))
            return false;
        int32_t id = pick_token(s, w->logits, w->m->vocab, w->order);
        s->tokens[s->length++] = id;
        s->done = s->length == s->most || (on_token && !on_token(ctx, row, id));
    }
    return true;
}

bool generate_written(Model *m, Sequence *rows, int64_t count, const GenerateOptions *o,
                      OnToken *on_token, void *ctx) {
    char error[512];
    RtPool *pool = rt_pool_new(o->threads);
    Written w = {.m = m, .it = interp_new(m->step_core, pool)};
    w.logits = NEW_N(m->a, float, m->vocab);
    w.order = NEW_N(m->a, int32_t, m->vocab);
    w.self = interp_block(w.it, m->decode->self, model_weight, m, error, sizeof error);
    bool good = w.self != NULL;
    if (!good)
        report(m->s, (Span){0}, E7004, "%s", error);
    for (int64_t b = 0; good && b < count; b++)
        good = generate_row(&w, &rows[b], b, on_token, ctx);
    interp_free(w.it);
    rt_pool_free(pool);
    return good;
}
