// The serving loop over the derived step; see engine.h.
#include "cli/engine.h"
#include "cli/cli.h"
#include "runtime/filter.h"
#include "runtime/sampler.h"
#include <stdlib.h>
#include <string.h>

int32_t pick_token(const Sequence *s, float *logits, int64_t vocab, int32_t *order) {
    if (s->temperature == 0)
        return rt_argmax(logits, vocab);
    if (s->top_k > 0 || (s->top_p > 0 && s->top_p < 1))
        rt_filter(logits, (int32_t)vocab, s->temperature, s->top_k, s->top_p > 0 ? s->top_p : 1,
                  order);
    int64_t step = s->length - s->prompt + 1;
    int32_t id = rt_sample(logits, vocab, s->temperature, rt_child(s->key, (uint32_t)step));
    return id < vocab ? id : (int32_t)vocab - 1;
}

// ---- States ------------------------------------------------------------------------------------

static bool size_of(void *ctx, const Dim *symbol, int64_t *value) {
    const Engine *e = ctx;
    const StepPlan *p = e->m->step;
    *value = symbol == p->B ? e->rows : e->capacity;
    return symbol == p->B || symbol == p->Cap;
}

static bool allocate_state(Engine *e, int i) {
    const CoreType *type = e->m->step->states[i].type;
    Tensor *t = &e->states[i];
    uint64_t bytes = (uint64_t)dtype_size(type->dtype);
    *t = (Tensor){.dtype = type->dtype, .rank = type->rank};
    for (int k = 0; k < type->rank; k++) {
        if (!dim_eval(type->dims[k], size_of, e, &t->dims[k]) ||
            __builtin_mul_overflow(bytes, (uint64_t)t->dims[k], &bytes))
            return false;
    }
    t->data = calloc(bytes ? bytes : 1, 1);
    return t->data != NULL;
}

static bool allocate(Engine *e) {
    int n = e->m->step->state_count;
    e->args = NEW_N(e->m->a, Tensor, n + 4);
    e->states = e->args + 3 + (e->m->step->origin != 0);
    e->origin = NEW_N(e->m->a, int32_t, e->rows);
    e->batch = NEW_N(e->m->a, int32_t, e->rows * e->chunk);
    e->pos = NEW_N(e->m->a, int32_t, e->rows);
    e->count = NEW_N(e->m->a, int32_t, e->rows);
    e->logits = NEW_N(e->m->a, float, e->m->vocab);
    e->order = NEW_N(e->m->a, int32_t, e->m->vocab);
    for (int i = 0; i < n; i++) {
        if (!allocate_state(e, i)) {
            report(e->m->s, (Span){0}, E7004,
                   "no memory for the cache of %lld positions, %lld rows", (long long)e->capacity,
                   (long long)e->rows);
            return false;
        }
    }
    return true;
}

bool engine_start(Engine *e, Model *m, int64_t rows, int64_t capacity, int64_t chunk, int threads) {
    char error[512];
    *e = (Engine){.m = m, .rows = rows, .capacity = capacity, .chunk = chunk};
    if (m->step->origin) { // room for the window, a chunk, and as much again before it slides
        int64_t room = (2 * m->step->window + chunk + 31) / 32 * 32;
        e->capacity = room < capacity ? room : capacity;
    }
    if (!allocate(e))
        return false;
    e->pool = rt_pool_new(threads);
    e->it = interp_new(m->step_core, e->pool);
    e->self = interp_block(e->it, m->step->fn->self, model_weight, m, error, sizeof error);
    if (!e->self)
        report(m->s, (Span){0}, E7004, "%s", error);
    return e->self != NULL;
}

void engine_end(Engine *e) {
    for (int i = 0; e->states && i < e->m->step->state_count; i++)
        free((void *)e->states[i].data);
    interp_free(e->it);
    rt_pool_free(e->pool);
    *e = (Engine){0};
}

// ---- A step ------------------------------------------------------------------------------------

// Where a row goes on. One that is done is fed its last token again, at its place.
static int64_t position(const Sequence *s) {
    return s->done ? s->length - 1 : s->fed;
}

// Tokens of each row in the next step: as many as the row with the most to say has, at most a
// chunk, and no more than any row has room for.
static int64_t step_width(const Engine *e, const Sequence *s) {
    int64_t width = 1, most = e->chunk;
    for (int64_t b = 0; b < e->rows; b++) {
        int64_t left = s[b].length - position(&s[b]), room = e->capacity - position(&s[b]);
        width = left > width ? left : width;
        if (!e->m->step->origin)
            most = room < most ? room : most;
    }
    return width < most ? width : most;
}

// ---- States that slide -------------------------------------------------------------------------

// Moves positions `shift` on of row b of a state [.., B, Cap, ..] to the front, `keep` of them.
static void slide_state(const Engine *e, const Tensor *t, const CoreType *type, int64_t b,
                        int64_t shift, int64_t keep) {
    int64_t outer = 1, inner = dtype_size(t->dtype);
    int axis = 0;
    while (type->dims[axis] != e->m->step->B)
        outer *= t->dims[axis++];
    for (int k = axis + 2; k < t->rank; k++)
        inner *= t->dims[k];
    for (int64_t o = 0; o < outer; o++) {
        char *row = (char *)t->data + (o * e->rows + b) * e->capacity * inner;
        memmove(row, row + shift * inner, (size_t)(keep * inner));
    }
}

// Makes room for `width` more positions of row b: what lies behind its window goes.
static void make_room(Engine *e, int64_t b, int64_t width) {
    const StepPlan *p = e->m->step;
    int64_t pos = e->pos[b];
    if (pos + width - e->origin[b] <= e->capacity)
        return;
    int64_t origin = (pos - p->window) / 2 * 2, shift = origin - e->origin[b];
    for (int i = 0; i < p->state_count; i++)
        slide_state(e, &e->states[i], p->states[i].type, b, shift, pos - origin);
    e->origin[b] = (int32_t)origin;
}

// Fills batch [rows, C], pos and count; returns C.
static int64_t fill_batch(Engine *e, const Sequence *s) {
    int64_t width = step_width(e, s);
    for (int64_t b = 0; b < e->rows; b++) {
        int64_t from = position(&s[b]);
        int64_t left = s[b].length - from;
        e->pos[b] = (int32_t)from;
        e->count[b] = (int32_t)(left < width ? left : width);
        for (int64_t c = 0; c < width; c++)
            e->batch[b * width + c] = s[b].tokens[from + (c < e->count[b] ? c : 0)];
    }
    return width;
}

static bool call_step(Engine *e, int64_t width, Tensor *logits) {
    const StepPlan *p = e->m->step;
    char error[512];
    int64_t last = 0;
    Tensor *args = e->args;
    args[0] = (Tensor){.dtype = DT_I32, .rank = 2, .dims = {e->rows, width}, .data = e->batch};
    args[1] = (Tensor){.dtype = DT_I32, .rank = 1, .dims = {e->rows}, .data = e->pos};
    args[2] = (Tensor){.dtype = DT_I32, .rank = 1, .dims = {e->rows}, .data = e->count};
    if (p->origin)
        args[3] = (Tensor){.dtype = DT_I32, .rank = 1, .dims = {e->rows}, .data = e->origin};
    for (int64_t b = 0; b < e->rows; b++) {
        int64_t end = e->pos[b] + e->count[b] - e->origin[b]; // at most the capacity
        last = end > last ? end : last;
    }
    interp_bind(e->it, p->B, e->rows);
    interp_bind(e->it, p->C, width);
    interp_bind(e->it, p->Cap, e->capacity);
    interp_bind(e->it, p->L, last);
    int count = (int)(e->states - e->args) + p->state_count;
    if (interp_call(e->it, p->fn, e->self, count, args, logits, error, sizeof error))
        return true;
    report(e->m->s, (Span){0}, E7004, "%s", error);
    return false;
}

bool engine_step(Engine *e, Sequence *s) {
    Tensor logits;
    int64_t width = fill_batch(e, s), vocab = e->m->vocab;
    for (int64_t b = 0; b < e->rows && e->m->step->origin; b++)
        make_room(e, b, width);
    if (!call_step(e, width, &logits))
        return false;
    RtFormat format = dtype_to_rt(logits.dtype);
    for (int64_t b = 0; b < e->rows; b++) {
        if (s[b].done)
            continue;
        s[b].fed += e->count[b];
        if (s[b].fed < s[b].length)
            continue;
        rt_format_row(format, logits.data, (uint64_t)(b * vocab), (uint64_t)vocab, e->logits);
        if (s[b].logits)
            memcpy(s[b].logits, e->logits, (size_t)vocab * sizeof *e->logits);
        int32_t id = pick_token(&s[b], e->logits, vocab, e->order);
        s[b].tokens[s[b].length++] = id;
        s[b].done = s[b].length == s[b].most;
    }
    return true;
}
