// Weights of a model: found, and compared with the program name by name.
#include "cli/bindings.h"
#include "cli/cli.h"
#include "cli/model.h"
#include <string.h>
#include <unistd.h>

// A program's own weights are opened when they are first asked for; a missing file is noted only.
static void open_weights(Model *m) {
    RtError err;
    if (m->weights || m->weights_missing)
        return;
    m->weights_missing = !m->weights_path || access(m->weights_path, F_OK) != 0;
    for (int i = 0; i < m->weights_files; i++)
        m->weights_missing |= access(m->card->files.data[i], F_OK) != 0;
    if (m->weights_missing)
        return;
    if (m->weights_files > 1)
        m->weights = rt_weights_open_files(m->card->files.data, (size_t)m->weights_files,
                                           m->weights_name, &err);
    else
        m->weights = rt_weights_open(m->weights_path, &err);
    if (!m->weights) {
        m->weights_missing = true;
        report(m->s, (Span){0}, E5004, "%s", err.text);
    }
}

const RtWeights *model_weights(const Model *m) {
    if (m->checkpoint)
        return checkpoint_weights(m->checkpoint);
    open_weights((Model *)m);
    return m->weights;
}

const RtTensor *model_tensor(const Model *m, const char *path) {
    if (m->checkpoint)
        return checkpoint_tensor(m->checkpoint, path);
    if (!model_weights(m))
        return NULL;
    const char *bound = NULL;
    if (m->card && m->card->bindings.len)
        bound = map_get(&m->card->tensors, session_name(m->s, path));
    return rt_weights_find(m->weights, bound ? bound : path);
}

// ---- Comparing ---------------------------------------------------------------------------------

typedef struct {
    Model *m;
    StrBuf text; // one line for each fault
    int faults;
    Map used; // RtTensor -> itself
    int64_t elements;
} Match;

static void fault(Match *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void fault(Match *w, const char *format, ...) {
    enum { MOST = 40 };
    va_list args;
    if (w->faults++ >= MOST)
        return;
    strbuf_add(&w->text, STR("\n      "));
    va_start(args, format);
    strbuf_vprintf(&w->text, format, args);
    va_end(args);
}

static Dtype dtype_of(RtFormat f) {
    switch (f) {
    case RT_F16:
        return DT_F16;
    case RT_BF16:
        return DT_BF16;
    case RT_F64:
        return DT_F64;
    case RT_I8:
        return DT_I8;
    case RT_I16:
        return DT_I16;
    case RT_I32:
        return DT_I32;
    case RT_I64:
        return DT_I64;
    case RT_U8:
        return DT_U8;
    case RT_BOOL:
        return DT_BOOL;
    default:
        return DT_F32;
    }
}

// An f32 parameter takes every format that means f32 values exactly; others only their own.
static bool format_fits(RtFormat f, Dtype t) {
    if (t == DT_F32)
        return f == RT_F32 || f == RT_F16 || f == RT_BF16 || f == RT_Q8_0 || f == RT_Q4_0 ||
               f == RT_Q4_1;
    return dtype_of(f) == t && (f == RT_F32) == (t == DT_F32);
}

static bool shape_fits(const RtTensor *t, const CoreType *type) {
    for (int i = 0; t->rank == type->rank && i < t->rank; i++) {
        int64_t n;
        if (!dim_is_const(type->dims[i], &n) || n != t->dims[i])
            return false;
    }
    return t->rank == type->rank;
}

static const char *type_shape(Match *w, const CoreType *type) {
    StrBuf b = strbuf_new(w->m->a);
    strbuf_char(&b, '[');
    for (int i = 0; i < type->rank; i++) {
        if (i)
            strbuf_add(&b, STR(", "));
        dim_print(&b, type->dims[i]);
    }
    strbuf_char(&b, ']');
    return b.data;
}

static void match_one(void *ctx, const char *path, const CoreType *type) {
    Match *w = ctx;
    char shape[160];
    const RtTensor *t = model_tensor(w->m, path);
    if (!t) {
        const Card *card = w->m->card;
        const char *bound = card ? map_get(&card->tensors, session_name(w->m->s, path)) : NULL;
        fault(w, "missing: %s%s%s, %s %s", path, bound ? ", bound to " : "", bound ? bound : "",
              dtype_name(type->dtype), type_shape(w, type));
        return;
    }
    map_put(w->m->a, &w->used, t, (void *)t);
    w->elements += (int64_t)rt_tensor_elements(t);
    if (!shape_fits(t, type))
        fault(w, "shape: %s is %s in the file, %s in the program", path,
              rt_tensor_shape(t, shape, sizeof shape), type_shape(w, type));
    else if (!format_fits(t->format, type->dtype))
        fault(w, "dtype: %s is %s in the file, %s in the program (narrowing is not done)", path,
              rt_format_name(t->format), dtype_name(type->dtype));
}

static void extra(void *ctx, const char *name) {
    fault(ctx, "extra: %s, which no parameter reads", name);
}

static void find_extra(Match *w) {
    if (w->m->checkpoint) {
        checkpoint_unused(w->m->checkpoint, extra, w);
        return;
    }
    const RtWeights *weights = model_weights(w->m);
    const Card *card = w->m->card;
    for (int i = 0; card && i < card->bindings.len; i++) { // of layers that are left out, or used
        const RtTensor *t = rt_weights_find(weights, card->bindings.data[i].tensor);
        if (t)
            map_put(w->m->a, &w->used, t, (void *)t);
    }
    for (size_t i = 0; i < rt_weights_count(weights); i++) {
        if (!map_get(&w->used, rt_weights_at(weights, i)))
            extra(w, rt_weights_at(weights, i)->name);
    }
}

static void walk_entry(void *ctx, MatchOne *one, void *match) {
    Model *m = ctx;
    core_weights(m->core, m->entry->self, one, match);
}

int model_match_weights(Model *m) {
    int outside;
    if (m->card && !bindings_check(m, m->serve.model, m->block_args, &outside))
        return EXIT_WRONG;
    return model_match(m, walk_entry, m);
}

int model_match(Model *m, MatchWalk *walk, void *ctx) {
    int errors = m->s->errors;
    if (!model_weights(m)) {
        if (m->s->errors != errors)
            return EXIT_WRONG;
        if (m->weights_path)
            report(m->s, (Span){0}, E5004, "the weights file %s does not exist", m->weights_path);
        else
            report(m->s, (Span){0}, E5004, "the program names no weights: give --weights FILE");
        return EXIT_USAGE;
    }
    Match w = {.m = m, .text = strbuf_new(m->a)};
    walk(ctx, match_one, &w);
    find_extra(&w);
    if (!w.faults)
        return EXIT_FINE;
    report(m->s, (Span){0}, E5003, "%d tensor%s of %s do%s not fit the program:%s%s", w.faults,
           w.faults == 1 ? "" : "s", m->weights_name, w.faults == 1 ? "es" : "", w.text.data,
           w.faults > 40 ? "\n      ..." : "");
    return EXIT_WRONG;
}

bool model_weight(void *model, const char *path, const CoreType *type, Tensor *out) {
    Model *m = model;
    const RtTensor *t = model_tensor(m, path);
    if (!t)
        return false;
    *out = (Tensor){.dtype = type->dtype, .rank = t->rank, .data = t->data, .format = t->format};
    for (int i = 0; i < t->rank; i++)
        out->dims[i] = t->dims[i];
    if (m->checkpoint && t->rank)
        out->rows = checkpoint_rows(m->checkpoint, path, t->dims[0]);
    return true;
}
