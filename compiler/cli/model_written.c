// A hand-written cache: the model's own `prefill` and `decode`, run as written.
#include "cli/cli.h"
#include "cli/generate.h"
#include "cli/model.h"
#include "lower/lower.h"
#include "opt/inplace.h"
#include "opt/prune.h"
#include <string.h>

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

int64_t model_written_positions(const Model *m) {
    int64_t capacity;
    for (int i = 0; i < m->serve.model->generics.len; i++) {
        if (m->serve.model->generics.data[i].generic == m->serve.capacity &&
            dim_is_const(m->block_args[i].dim, &capacity))
            return capacity;
    }
    return 0;
}

// The logits as f32, in a function around one that gives them in another format.
static CoreFn *widened(Model *m, CoreFn *fn) {
    Core *c = m->step_core;
    const CoreType *t = core_value(fn, fn->region.yields.data[0])->type;
    Val args[3];
    if (t->dtype == DT_F32)
        return fn;
    CoreFn *out = core_fn(c, fn->name, fn->label);
    out->self = fn->self;
    out->effects = fn->effects;
    out->entry = true;
    for (int i = 0; i < 3; i++) {
        const Value *p = core_value(fn, fn->params.data[i]);
        args[i] = core_param(c, out, p->type, p->name, p->span);
    }
    Val logits = core_call(c, out, &out->region, fn, 3, args, fn->span);
    Comp *k = NEW(c->session->arena, Comp);
    int at[] = {comp_index(c, k, 0), comp_index(c, k, 1)};
    k->out = 2;
    k->names = NEW_N(c->session->arena, Name, 2);
    k->root = comp_cast(c, k, DT_F32, comp_read(c, k, 0, t->dtype, 2, at));
    Val wide = core_add(c, out, OP_COMP, core_tensor(c, DT_F32, 2, t->dims), NULL, fn->span);
    core_value(out, wide)->comp = k;
    core_arg(c, out, wide, logits);
    core_emit(c, &out->region, wide);
    vec_push(c->session->arena, &out->region.yields, wide);
    return out;
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
    m->decode = widened(m, fns[0]);
    m->prefill = fns[1] ? widened(m, fns[1]) : NULL;
    const CoreType *tokens = core_value(m->decode, m->decode->params.data[1])->type;
    int64_t batch;
    if (!dim_is_const(tokens->dims[0], &batch) || batch != 1) {
        report(m->s, m->serve.decode->name_span, E2010,
               "`%s` runs a batch of `%s`; a hand-written cache is served one prompt at a time",
               m->serve.decode->name, dim_text(m->a, tokens->dims[0]));
        return EXIT_WRONG;
    }
    int64_t positions = model_written_positions(m);
    model_bound(m, positions > 0 ? positions : -1);
    int code = model_verify(m, m->step_core, "lowering");
    if (code != EXIT_FINE)
        return code;
    if (opt_inplace(m->step_core))
        opt_prune(m->step_core, 2, (CoreFn *[]){m->decode, m->prefill}); // what wrote a whole cache
    return model_verify(m, m->step_core, "writing in place");
}

// ---- Running -----------------------------------------------------------------------------------

typedef struct {
    Model *m;
    RtPool *pool;
    Interp *it, *planned;           // the second ran dry: `layouts` are its
    const InterpLayout *layouts[2]; // of `prefill` and `decode`
    EngineMemory memory;
    InterpBlock *self;
    float *logits; // [vocab]; NULL in a dry run
    int32_t *order;
    int64_t chunk; // tokens of a prompt that `prefill` reads at a time
} Written;

// Feeds tokens [1, n] at pos; the logits of the last one go to w->logits.
static bool feed(Written *w, const CoreFn *fn, const int32_t *tokens, int64_t n, int64_t pos) {
    char error[512];
    int32_t at = (int32_t)pos;
    Tensor args[2] = {{.dtype = DT_I32, .rank = 2, .dims = {1, n}, .data = tokens},
                      {.dtype = DT_I32, .data = &at}},
           result;
    interp_lay_out(w->it, w->layouts[fn == w->m->decode]);
    if (!interp_call(w->it, fn, w->self, 2, args, &result, error, sizeof error)) {
        report(w->m->s, (Span){0}, E7004, "%s", error);
        return false;
    }
    if (w->logits)
        memcpy(w->logits, result.data, (size_t)w->m->vocab * sizeof *w->logits);
    return true;
}

// What the model has not seen yet: the prompt by `prefill` if there is one, else by `decode`. What
// is left of a prompt behind its last chunk may be one token, which is `decode`'s.
static bool feed_rest(Written *w, Sequence *s) {
    Model *m = w->m;
    bool good = true;
    while (good && s->fed < s->length) {
        int64_t left = s->length - s->fed, n = left < w->chunk ? left : w->chunk;
        bool whole = m->prefill && (s->fed == 0 || n > 1);
        n = whole ? n : 1;
        if (whole)
            interp_bind(w->it, m->prefill_length, n);
        good = feed(w, whole ? m->prefill : m->decode, s->tokens + s->fed, n, s->fed);
        s->fed += n;
    }
    return good;
}

static bool generate_row(Written *w, Sequence *s, int64_t row, OnToken *on_token, void *ctx) {
    interp_reset_state(w->self);
    while (!s->done) {
        if (!feed_rest(w, s))
            return false;
        if (s->logits)
            memcpy(s->logits, w->logits, (size_t)w->m->vocab * sizeof *w->logits);
        int32_t id = pick_token(s, w->logits, w->m->vocab, w->order);
        s->tokens[s->length++] = id;
        s->done = s->length == s->most || (on_token && !on_token(ctx, row, id));
    }
    return true;
}

// ---- Memory ------------------------------------------------------------------------------------

static bool fill_block(Written *w, bool dry) {
    char error[512];
    w->self = interp_block(w->it, w->m->decode->self, dry ? model_weight_type : model_weight, w->m,
                           error, sizeof error);
    if (!w->self)
        report(w->m->s, (Span){0}, E7004, "%s", error);
    return w->self != NULL;
}

// The states lie in the arena too, but are counted apart.
static bool run_dry(Written *w, int64_t length) {
    Model *m = w->m;
    int64_t n = w->chunk < length ? w->chunk : length;
    w->it = w->planned = interp_new(m->step_core, w->pool);
    interp_dry(w->it);
    bool good = fill_block(w, true);
    int64_t states = (int64_t)interp_memory(w->it).arena;
    if (good && m->prefill) {
        interp_bind(w->it, m->prefill_length, n);
        good = feed(w, m->prefill, NULL, n, 0);
        w->layouts[0] = interp_layout(w->it);
    }
    good = good && feed(w, m->decode, NULL, 1, 0);
    w->layouts[1] = interp_layout(w->it);
    InterpMemory need = interp_memory(w->it);
    w->memory = (EngineMemory){.cache = states,
                               .arena = (int64_t)need.arena - states,
                               .scratch = (int64_t)need.scratch,
                               .threads = rt_pool_threads(w->pool)};
    interp_release(w->it);
    w->it = NULL;
    return good;
}

bool written_plan(Model *m, int64_t context, int64_t chunk, int threads, EngineMemory *memory) {
    Written w = {.m = m, .pool = rt_pool_new(threads), .chunk = chunk};
    bool good = run_dry(&w, context);
    *memory = w.memory;
    interp_free(w.planned);
    rt_pool_free(w.pool);
    return good;
}

static bool start(Written *w, int64_t length) {
    Model *m = w->m;
    if (!run_dry(w, length))
        return false;
    w->logits = NEW_N(m->a, float, m->vocab);
    w->order = NEW_N(m->a, int32_t, m->vocab);
    w->it = interp_new(m->step_core, w->pool);
    if (interp_reserve(w->it, (uint64_t)(w->memory.cache + w->memory.arena),
                       (uint64_t)w->memory.scratch))
        return fill_block(w, false);
    report(m->s, (Span){0}, E7004, "no memory for the cache and the temporaries");
    return false;
}

bool generate_written(Model *m, Sequence *rows, int64_t count, const GenerateOptions *o,
                      OnToken *on_token, void *ctx) {
    Written w = {.m = m, .pool = rt_pool_new(o->threads), .chunk = o->chunk ? o->chunk : INT64_MAX};
    bool good = start(&w, longest(rows, count));
    for (int64_t b = 0; good && b < count; b++)
        good = generate_row(&w, &rows[b], b, on_token, ctx);
    if (good && o->memory)
        tell_memory(&w.memory, w.it, w.memory.cache);
    interp_free(w.it);
    interp_free(w.planned);
    rt_pool_free(w.pool);
    return good;
}
