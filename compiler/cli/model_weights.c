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

// ---- Dtypes ------------------------------------------------------------------------------------

static const struct {
    RtFormat format;
    Dtype dtype;
} dtypes[] = {
    {RT_F32, DT_F32}, {RT_F16, DT_F16}, {RT_BF16, DT_BF16}, {RT_F64, DT_F64}, {RT_I8, DT_I8},
    {RT_U8, DT_U8},   {RT_I16, DT_I16}, {RT_U16, DT_U16},   {RT_I32, DT_I32}, {RT_U32, DT_U32},
    {RT_I64, DT_I64}, {RT_U64, DT_U64}, {RT_BOOL, DT_BOOL},
};

bool rt_to_dtype(RtFormat f, Dtype *t) {
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        if (dtypes[i].format == f) {
            *t = dtypes[i].dtype;
            return true;
        }
    }
    return false;
}

RtFormat dtype_to_rt(Dtype t) {
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        if (dtypes[i].dtype == t)
            return dtypes[i].format;
    }
    return RT_FORMAT_COUNT;
}

// ---- Comparing ---------------------------------------------------------------------------------

typedef struct {
    Model *m;
    StrBuf text; // one line for each fault
    int faults;
    Map used; // RtTensor -> itself
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

bool model_dtype_fits(RtFormat format, Dtype dtype) {
    Dtype own;
    if (dtype == DT_F32)
        return rt_format_exact(format) && rt_format_is_float(format);
    return rt_to_dtype(format, &own) && own == dtype;
}

bool model_shape_fits(const RtTensor *x, const CoreType *type) {
    bool fits = x->rank == type->rank;
    for (int i = 0; fits && i < x->rank; i++) {
        int64_t n;
        fits = dim_is_const(type->dims[i], &n) && n == x->dims[i];
    }
    return fits;
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
    if (!model_shape_fits(t, type))
        fault(w, "shape: %s is %s in the file, %s in the program", path,
              rt_tensor_shape(t, shape, sizeof shape), type_shape(w, type));
    else if (!model_dtype_fits(t->format, type->dtype))
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

bool model_weight_type(void *model, const char *path, const CoreType *type, Tensor *out) {
    const RtTensor *t = model_tensor(model, path);
    if (t && model_shape_fits(t, type) && model_dtype_fits(t->format, type->dtype))
        return model_weight(model, path, type, out);
    *out = (Tensor){.dtype = type->dtype, .rank = type->rank, .format = RT_F32};
    for (int i = 0; i < type->rank; i++) {
        if (!dim_is_const(type->dims[i], &out->dims[i]))
            return false;
    }
    return true;
}
