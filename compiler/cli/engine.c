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

// The shape of state i, and its bytes. False if they leave 63 bits.
static bool shape_state(Engine *e, int i) {
    const CoreType *type = e->m->step->states[i].type;
    Tensor *t = &e->states[i];
    int64_t bytes = dtype_size(type->dtype);
    *t = (Tensor){.dtype = type->dtype, .rank = type->rank};
    for (int k = 0; k < type->rank; k++) {
        if (!dim_eval(type->dims[k], size_of, e, &t->dims[k]) ||
            __builtin_mul_overflow(bytes, t->dims[k], &bytes))
            return false;
    }
    e->state_bytes[i] = bytes;
    return !__builtin_add_overflow(e->memory.cache, bytes, &e->memory.cache);
}

static bool shape(Engine *e) {
    int n = e->m->step->state_count;
    e->args = NEW_N(e->m->a, Tensor, n + 4);
    e->states = e->args + 3 + (e->m->step->origin != 0);
    e->state_bytes = NEW_N(e->m->a, int64_t, n + 1);
    e->origin = NEW_N(e->m->a, int32_t, e->rows);
    e->pos = NEW_N(e->m->a, int32_t, e->rows);
    e->count = NEW_N(e->m->a, int32_t, e->rows);
    e->used = NEW_N(e->m->a, bool, e->rows);
    for (int i = 0; i < n; i++) {
        if (!shape_state(e, i)) {
            report(e->m->s, (Span){0}, E7004, "the memory of the cache is beyond 63 bits");
            return false;
        }
    }
    return true;
}

static bool allocate(Engine *e) {
    e->batch = NEW_N(e->m->a, int32_t, e->rows * e->chunk);
    e->logits = NEW_N(e->m->a, float, e->m->vocab);
    e->order = NEW_N(e->m->a, int32_t, e->m->vocab);
    for (int i = 0; i < e->m->step->state_count; i++) {
        int64_t bytes = e->state_bytes[i];
        e->states[i].data = calloc((size_t)(bytes ? bytes : 1), 1);
        if (!e->states[i].data) {
            report(e->m->s, (Span){0}, E7004,
                   "no memory for the cache of %lld positions, %lld rows", (long long)e->capacity,
                   (long long)e->rows);
            return false;
        }
    }
    return true;
}

// ---- Planning and starting ---------------------------------------------------------------------

static bool call_step(Engine *e, int64_t width, Tensor *logits);

// Memory is reserved first: states that the model's blocks have lie in it, too.
static bool new_interp(Engine *e, bool dry) {
    char error[512];
    e->it = interp_new(e->m->step_core, e->pool);
    if (dry)
        interp_dry(e->it);
    else if (!interp_reserve(e->it, (uint64_t)e->memory.arena, (uint64_t)e->memory.scratch)) {
        report(e->m->s, (Span){0}, E7004,
               "no memory for the temporaries of %lld rows, %lld tokens each", (long long)e->rows,
               (long long)e->chunk);
        return false;
    }
    e->self = interp_block(e->it, e->m->step->fn->self, dry ? model_weight_type : model_weight,
                           e->m, error, sizeof error);
    if (!e->self)
        report(e->m->s, (Span){0}, E7004, "%s", error);
    return e->self != NULL;
}

// A step of `width` tokens that fills the states to the last position.
static bool plan_step(Engine *e, int64_t width) {
    Tensor logits;
    for (int64_t b = 0; b < e->rows; b++) {
        e->pos[b] = (int32_t)(e->capacity - width);
        e->count[b] = (int32_t)width;
    }
    return call_step(e, width, &logits);
}

bool engine_plan(Engine *e, Model *m, int64_t rows, int64_t length, int64_t chunk, int threads) {
    *e = (Engine){.m = m, .rows = rows, .chunk = chunk < length ? chunk : length};
    e->capacity = opt_step_capacity(m->step, length, chunk);
    if (!shape(e))
        return false;
    e->pool = rt_pool_new(threads);
    if (!new_interp(e, true))
        return false;
    for (int i = 0; i < 2; i++) {
        if (!plan_step(e, i ? 1 : e->chunk))
            return false;
        e->layouts[i] = interp_layout(e->it);
    }
    InterpMemory need = interp_memory(e->it);
    e->memory.arena = (int64_t)need.arena;
    e->memory.scratch = (int64_t)need.scratch;
    e->memory.threads = rt_pool_threads(e->pool);
    interp_release(e->it);
    e->planned = e->it;
    e->it = NULL;
    return true;
}

bool engine_start(Engine *e, Model *m, int64_t rows, int64_t length, int64_t chunk, int threads) {
    return engine_plan(e, m, rows, length, chunk, threads) && allocate(e) && new_interp(e, false);
}

void engine_end(Engine *e) {
    for (int i = 0; e->states && i < e->m->step->state_count; i++)
        free((void *)e->states[i].data);
    interp_free(e->it);
    interp_free(e->planned);
    rt_pool_free(e->pool);
    *e = (Engine){0};
}

// ---- Rows --------------------------------------------------------------------------------------

// A row of a state [.., B, Cap, ..]: the bytes of a position, and the parts that loops around make.
typedef struct {
    char *first;             // of the first part
    int64_t parts, distance; // how many, bytes from one to the next
    int64_t bytes;           // of a position
} StateRow;

static StateRow state_row(const Engine *e, int i, int64_t b) {
    const Tensor *t = &e->states[i];
    const CoreType *type = e->m->step->states[i].type;
    StateRow r = {.parts = 1, .bytes = dtype_size(t->dtype)};
    int axis = 0;
    while (type->dims[axis] != e->m->step->B)
        r.parts *= t->dims[axis++];
    for (int k = axis + 2; k < t->rank; k++)
        r.bytes *= t->dims[k];
    r.distance = e->rows * e->capacity * r.bytes;
    r.first = (char *)t->data + b * e->capacity * r.bytes;
    return r;
}

// Forgets what row b was.
static void clear_row(Engine *e, int64_t b) {
    for (int i = 0; i < e->m->step->state_count; i++) {
        StateRow r = state_row(e, i, b);
        for (int64_t k = 0; k < r.parts; k++)
            memset(r.first + k * r.distance, 0, (size_t)(e->capacity * r.bytes));
    }
    e->origin[b] = 0;
    e->used[b] = false;
}

// Makes room for the tokens of row b where states slide: what lies behind its window goes, and the
// rest moves to the front.
static void make_room(Engine *e, int64_t b) {
    const StepPlan *p = e->m->step;
    int64_t pos = e->pos[b];
    if (pos + e->count[b] - e->origin[b] <= e->capacity)
        return;
    int64_t origin = pos - p->window, shift;
    origin -= origin % p->origin_step;
    shift = origin - e->origin[b];
    for (int i = 0; i < p->state_count; i++) {
        StateRow r = state_row(e, i, b);
        for (int64_t k = 0; k < r.parts; k++) {
            char *part = r.first + k * r.distance;
            memmove(part, part + shift * r.bytes, (size_t)((pos - origin) * r.bytes));
        }
    }
    e->origin[b] = (int32_t)origin;
}

// ---- A step ------------------------------------------------------------------------------------

// Tokens of each row in the next step: as many as the row with the most to say has, at most a
// chunk.
static int64_t step_width(const Engine *e, Sequence *const *rows) {
    int64_t width = 1;
    for (int64_t b = 0; b < e->rows; b++) {
        int64_t left = rows[b]->done ? 1 : rows[b]->length - rows[b]->fed;
        width = left > width ? left : width;
    }
    return width < e->chunk ? width : e->chunk;
}

// Fills batch [rows, C], pos and count; returns C. A row whose sequence is done idles: with its
// first token at position 0, where the states are zeroed before another sequence begins.
static int64_t fill_batch(Engine *e, Sequence *const *rows) {
    int64_t width = step_width(e, rows);
    for (int64_t b = 0; b < e->rows; b++) {
        const Sequence *s = rows[b];
        int64_t from = s->done ? 0 : s->fed, left = s->done ? 1 : s->length - from;
        if (s->done)
            e->origin[b] = 0;
        else if (from == 0 && e->used[b])
            clear_row(e, b);
        e->pos[b] = (int32_t)from;
        e->count[b] = (int32_t)(left < width ? left : width);
        for (int64_t c = 0; c < width; c++)
            e->batch[b * width + c] = s->tokens[from + (c < e->count[b] ? c : 0)];
        if (e->m->step->origin)
            make_room(e, b);
        e->used[b] = true;
    }
    return width;
}

// Of a dry run, pos and count alone are given.
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
    interp_lay_out(e->it, e->layouts[width == 1]);
    int count = (int)(e->states - e->args) + p->state_count;
    if (interp_call(e->it, p->fn, e->self, count, args, logits, error, sizeof error))
        return true;
    report(e->m->s, (Span){0}, E7004, "%s", error);
    return false;
}

bool engine_step(Engine *e, Sequence *const *rows) {
    Tensor logits;
    int64_t width = fill_batch(e, rows), vocab = e->m->vocab;
    if (!call_step(e, width, &logits))
        return false;
    RtFormat format = dtype_to_rt(logits.dtype);
    for (int64_t b = 0; b < e->rows; b++) {
        Sequence *s = rows[b];
        if (s->done)
            continue;
        s->fed += e->count[b];
        if (s->fed < s->length)
            continue;
        rt_format_row(format, logits.data, (uint64_t)(b * vocab), (uint64_t)vocab, e->logits);
        if (s->logits)
            memcpy(s->logits, e->logits, (size_t)vocab * sizeof *e->logits);
        int32_t id = pick_token(s, e->logits, vocab, e->order);
        s->tokens[s->length++] = id;
        s->done = s->length == s->most;
    }
    return true;
}
