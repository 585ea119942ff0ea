// Generation; see generate.h.
#include "cli/generate.h"
#include "cli/cli.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

int32_t *parse_ids(Arena *a, const char *text, int64_t *count) {
    static const char blanks[] = " \t\r\n";
    VEC(int32_t) ids = {0};
    const char *p = text;
    for (;;) {
        p += strspn(p, blanks);
        if (!*p)
            break;
        size_t digits = strspn(p, "0123456789"), size = strcspn(p, blanks);
        errno = 0;
        long v = strtol(p, NULL, 10);
        if (digits != size || errno || v > INT32_MAX) {
            usage_error("token ids are integers from 0 to %d separated by spaces, not \"%.*s\"",
                        INT32_MAX, (int)(size < 80 ? size : 80), p);
            return NULL;
        }
        vec_push(a, &ids, (int32_t)v);
        p += size;
    }
    *count = ids.len;
    if (!ids.len)
        usage_error("the prompt is empty: at least one token id is needed");
    return ids.data;
}

Sequence sequence_new(Arena *a, const int32_t *prompt, int64_t count, int64_t tokens, uint64_t seed,
                      float temperature) {
    Sequence s = {.prompt = count, .length = count, .most = count + tokens};
    s.tokens = NEW_N(a, int32_t, s.most + 1);
    memcpy(s.tokens, prompt, (size_t)count * sizeof *prompt);
    s.key = rt_key(seed);
    s.temperature = temperature;
    s.done = !tokens;
    return s;
}

// NULL, or the fault that was reported.
static Diag *prompt_fault(Model *m, const Sequence *s) {
    long long count = (long long)s->prompt, tokens = (long long)(s->most - s->prompt);
    for (int64_t i = 0; i < s->prompt; i++) {
        if (s->tokens[i] >= m->vocab)
            return report(m->s, (Span){0}, E7003, "token %d is outside the vocabulary of %lld",
                          s->tokens[i], (long long)m->vocab);
    }
    if (m->window && count < m->window)
        return report(m->s, (Span){0}, E7001, "the prompt has %lld token%s, the window %lld", count,
                      plural(count), (long long)m->window);
    if (!m->window && m->context >= 0 && s->most > m->context)
        return report(m->s, (Span){0}, E7002,
                      "the prompt has %lld token%s, %lld more %s asked for, the context holds %lld",
                      count, plural(count), tokens, tokens == 1 ? "is" : "are",
                      (long long)m->context);
    return NULL;
}

static bool check_prompt(Model *m, const Sequence *s) {
    Diag *d = prompt_fault(m, s);
    if (d && s->from)
        diag_note(m->s, d, (Span){0}, "in %s", s->from);
    return !d;
}

// The greatest resident size of this program, bytes. getrusage counts what its parent was, too.
static int64_t resident(void) {
    struct rusage usage;
    char line[256];
    long long kib = -1;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && kib < 0 && fgets(line, sizeof line, f)) {
        if (sscanf(line, "VmHWM: %lld", &kib) != 1)
            kib = -1;
    }
    if (f)
        fclose(f);
    if (kib < 0)
        kib = getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_maxrss : 0;
    return kib * 1024;
}

void tell_memory(const EngineMemory *planned, const Interp *it, int64_t states) {
    InterpMemory used = interp_memory(it);
    fprintf(stderr,
            "cache %lld bytes, arena %lld bytes (%llu used), scratch %lld bytes (%llu used), "
            "outside %llu bytes, resident %lld bytes\n",
            (long long)planned->cache, (long long)planned->arena,
            (unsigned long long)used.arena - (unsigned long long)states,
            (long long)planned->scratch, (unsigned long long)used.scratch,
            (unsigned long long)used.outside, (long long)resident());
}

int64_t longest(const Sequence *rows, int64_t count) {
    int64_t most = 1;
    for (int64_t b = 0; b < count; b++)
        most = rows[b].most > most ? rows[b].most : most;
    return most;
}

// ---- The whole context at each token -----------------------------------------------------------

typedef struct {
    Model *m;
    RtPool *pool;
    Interp *it, *planned;           // the second ran dry: `layouts` are its
    const InterpLayout *layouts[2]; // of the entry or `flat`, of the greedy entry
    InterpBlock *self;
    const CoreFn *flat; // what gives logits instead of tokens; or NULL
    float *logits;      // [vocab], for entries that return logits
    int32_t *order;     // [vocab], scratch
    EngineMemory memory;
} Whole;

// Memory is reserved first: states that the model's blocks have lie in it, too.
static bool whole_interp(Whole *w, bool dry) {
    Model *m = w->m;
    char error[512];
    w->it = interp_new(w->flat ? m->step_core : m->core, w->pool);
    if (dry)
        interp_dry(w->it);
    else if (!interp_reserve(w->it, (uint64_t)w->memory.arena, (uint64_t)w->memory.scratch)) {
        report(m->s, (Span){0}, E7004, "no memory for the temporaries of a text");
        return false;
    }
    if (w->flat)
        interp_bind(w->it, m->step->B, 1);
    const CoreFn *fn = w->flat ? w->flat : m->entry;
    w->self = interp_block(w->it, fn->self, dry ? model_weight_type : model_weight, m, error,
                           sizeof error);
    if (!w->self)
        report(m->s, (Span){0}, E7004, "%s", error);
    return w->self != NULL;
}

// Calls the entry for `n` tokens; key [2] i64.
static bool whole_call(Whole *w, const CoreFn *fn, int64_t n, const int32_t *tokens,
                       const int64_t *key, const float *temperature, Tensor *result) {
    Model *m = w->m;
    char error[512];
    Tensor args[3] = {0};
    if (m->key >= 0)
        args[m->key] = (Tensor){.dtype = DT_I64, .rank = 1, .dims = {2}, .data = key};
    if (m->temperature >= 0)
        args[m->temperature] = (Tensor){.dtype = DT_F32, .data = temperature};
    args[m->tokens] = (Tensor){.dtype = DT_I32, .rank = 2, .dims = {1, n}, .data = tokens};
    if (m->length)
        interp_bind(w->it, m->length, n);
    interp_lay_out(w->it, w->layouts[fn == m->greedy]);
    int count = 1 + (m->key >= 0) + (m->temperature >= 0);
    if (interp_call(w->it, fn, w->self, count, args, result, error, sizeof error))
        return true;
    report(m->s, (Span){0}, E7004, "%s", error);
    return false;
}

// The memory of calls for at most `length` tokens.
static bool whole_plan(Whole *w, int64_t length) {
    Model *m = w->m;
    Tensor result;
    int64_t n = m->window ? m->window : length;
    bool good = whole_interp(w, true);
    for (int i = 0; good && i < (w->flat ? 1 : 2); i++) {
        const CoreFn *fn = w->flat ? w->flat : i ? m->greedy : m->entry;
        good = whole_call(w, fn, n, NULL, NULL, NULL, &result);
        w->layouts[i] = interp_layout(w->it);
    }
    InterpMemory need = interp_memory(w->it);
    w->memory = (EngineMemory){.arena = (int64_t)need.arena,
                               .scratch = (int64_t)need.scratch,
                               .threads = rt_pool_threads(w->pool)};
    interp_release(w->it);
    w->planned = w->it;
    w->it = NULL;
    return good;
}

static bool whole_start(Whole *w, Model *m, int64_t length, const GenerateOptions *o) {
    *w = (Whole){.m = m, .pool = rt_pool_new(o->threads), .flat = o->logits ? m->step->flat : NULL};
    w->logits = NEW_N(m->a, float, m->vocab);
    w->order = NEW_N(m->a, int32_t, m->vocab);
    return whole_plan(w, length) && whole_interp(w, false);
}

// The token of an entry's result: itself, or by the logits of the last position.
static int32_t result_token(Whole *w, const Tensor *t, const Sequence *s) {
    if (t->dtype == DT_I32)
        return ((const int32_t *)t->data)[0];
    uint64_t vocab = (uint64_t)w->m->vocab, n = 1;
    for (int i = 0; i < t->rank; i++)
        n *= (uint64_t)t->dims[i];
    RtFormat format = dtype_to_rt(t->dtype);
    rt_format_row(format, t->data, n - vocab, vocab, w->logits);
    if (s->logits)
        memcpy(s->logits, w->logits, vocab * sizeof *w->logits);
    return pick_token(s, w->logits, w->m->vocab, w->order);
}

static bool whole_next(Whole *w, Sequence *s) {
    Model *m = w->m;
    bool greedy = s->temperature == 0;
    int64_t n = m->window ? m->window : s->length, step = s->length - s->prompt + 1;
    RtKey child = rt_child(s->key, (uint32_t)step);
    int64_t key[2] = {child.word[0], child.word[1]};
    float temperature = greedy || !m->serve.ids ? 1.0f : s->temperature; // logits: at the draw
    Tensor result = {0};
    const CoreFn *fn = w->flat ? w->flat : greedy ? m->greedy : m->entry;
    if (!whole_call(w, fn, n, s->tokens + s->length - n, key, &temperature, &result))
        return false;
    s->tokens[s->length] = result_token(w, &result, s);
    s->done = ++s->length == s->most;
    return true;
}

static bool generate_whole(Model *m, Sequence *rows, int64_t count, const GenerateOptions *o,
                           OnToken *on_token, void *ctx) {
    Whole w;
    bool good = whole_start(&w, m, longest(rows, count), o);
    for (int64_t b = 0; good && b < count; b++) {
        while (good && !rows[b].done) {
            good = whole_next(&w, &rows[b]);
            if (good && on_token && !on_token(ctx, b, rows[b].tokens[rows[b].length - 1]))
                rows[b].done = true;
        }
    }
    if (good && o->memory)
        tell_memory(&w.memory, w.it, 0);
    interp_free(w.it);
    interp_free(w.planned);
    rt_pool_free(w.pool);
    return good;
}

// ---- The derived step --------------------------------------------------------------------------

// What runs in the rows of an engine: sequences wait, take a row that is free, and leave it.
typedef struct {
    Sequence *all;
    int64_t count, next; // how many; the first that waits
    Sequence **rows;     // of the engine
    int64_t *before;     // by row: its length before the step
    int64_t row_count;
} Queue;

// Gives rows that are free to sequences that wait. False if there is nothing left to do.
static bool fill_rows(Queue *q) {
    bool any = false;
    for (int64_t b = 0; b < q->row_count; b++) {
        while (q->rows[b]->done && q->next < q->count)
            q->rows[b] = &q->all[q->next++];
        any |= !q->rows[b]->done;
        q->before[b] = q->rows[b]->length;
    }
    return any;
}

static void tell(const Queue *q, OnToken *on_token, void *ctx) {
    for (int64_t b = 0; b < q->row_count; b++) {
        Sequence *s = q->rows[b];
        if (s->length > q->before[b] && !on_token(ctx, s - q->all, s->tokens[s->length - 1]))
            s->done = true;
    }
}

static bool generate_steps(Model *m, Sequence *all, int64_t count, const GenerateOptions *o,
                           OnToken *on_token, void *ctx) {
    Engine e;
    int64_t limit = o->rows ? o->rows : model_max_rows(m);
    Queue q = {.all = all, .count = count, .row_count = limit < count ? limit : count};
    q.rows = NEW_N(m->a, Sequence *, q.row_count);
    q.before = NEW_N(m->a, int64_t, q.row_count);
    while (q.next < q.row_count) {
        q.rows[q.next] = &all[q.next];
        q.next++;
    }
    bool good = engine_start(&e, m, q.row_count, longest(all, count),
                             o->chunk ? o->chunk : USUAL_CHUNK, o->threads);
    while (good && fill_rows(&q)) {
        good = engine_step(&e, q.rows);
        if (good && on_token)
            tell(&q, on_token, ctx);
    }
    if (good && o->memory)
        tell_memory(&e.memory, e.it, 0);
    engine_end(&e);
    return good;
}

bool generate_plan(Model *m, int64_t rows, int64_t context, int64_t chunk, int threads,
                   EngineMemory *memory) {
    bool good;
    if (m->decode)
        return written_plan(m, context, chunk, threads, memory);
    if (m->step) {
        Engine e;
        good = engine_plan(&e, m, rows, context, chunk, threads);
        *memory = e.memory;
        engine_end(&e);
        return good;
    }
    Whole w = {.m = m, .pool = rt_pool_new(threads)};
    good = whole_plan(&w, context);
    *memory = w.memory;
    interp_free(w.planned);
    rt_pool_free(w.pool);
    return good;
}

bool generate(Model *m, Sequence *rows, int64_t count, const GenerateOptions *o, OnToken *on_token,
              void *ctx) {
    bool step = (m->step || m->decode) && !o->whole;
    if (m->serve.max_batch && o->rows > m->serve.max_batch) {
        report(m->s, (Span){0}, E7004, "%lld rows are asked for, `batching` allows %lld",
               (long long)o->rows, (long long)m->serve.max_batch);
        return false;
    }
    for (int64_t b = 0; b < count; b++) {
        if (!check_prompt(m, &rows[b]))
            return false;
        bool filters = rows[b].top_k > 0 || (rows[b].top_p > 0 && rows[b].top_p < 1);
        if (filters && !step && m->serve.ids) {
            report(m->s, (Span){0}, E7004,
                   "top_k and top_p need the logits, and `%s` draws its tokens itself",
                   m->serve.entry->name);
            return false;
        }
    }
    if (step && m->decode)
        return generate_written(m, rows, count, o, on_token, ctx);
    if (step)
        return generate_steps(m, rows, count, o, on_token, ctx);
    return generate_whole(m, rows, count, o, on_token, ctx);
}
