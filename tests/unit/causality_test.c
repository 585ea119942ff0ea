// Causality of the programs in tests/causal: the verdict that their first line states, the same for
// the flattened entry; and the interpreter's word on it: in an accepted program no token changes an
// earlier row, and rows of a prefix are rows of the whole, to the bit; a refused one is caught.
#include "causal_help.h"
#include "interp/interp.h"
#include <dirent.h>

enum { LENGTH = 43, VOCAB = 11, TRIES = 6 };

// ---- Running -----------------------------------------------------------------------------------

typedef struct {
    uint64_t state;
    Arena *arena;
} Weights;

static uint32_t next(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

static bool random_weight(void *ctx, const char *path, const CoreType *type, Tensor *out) {
    Weights *w = ctx;
    int64_t n = 1;
    (void)path;
    *out = (Tensor){.dtype = type->dtype, .rank = type->rank};
    for (int i = 0; i < type->rank; i++) {
        if (!dim_is_const(type->dims[i], &out->dims[i]))
            return false;
        n *= out->dims[i];
    }
    bool half = type->dtype == DT_BF16; // the upper half of a float
    float *data = NEW_N(w->arena, float, n);
    uint16_t *halves = (uint16_t *)(void *)data;
    for (int64_t i = 0; i < n; i++) {
        float x = (float)((double)next(&w->state) / 2147483648.0 - 0.5) * 2;
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        if (half)
            halves[i] = (uint16_t)(bits >> 16);
        else
            data[i] = x;
    }
    out->data = data;
    return true;
}

typedef struct {
    Test *test;
    Lowered *l;
    Interp *interp;
    InterpBlock *self;
    int64_t width; // elements of a row of the result
} Machine;

// The result for n tokens, in the arena; NULL if the call fails.
static float *rows(Machine *m, const CoreFn *fn, const int32_t *tokens, int64_t n) {
    char error[300] = "";
    Tensor result, in = {.dtype = DT_I32, .rank = 2, .dims = {1, n}, .data = tokens};
    interp_bind(m->interp, m->l->S, n);
    if (!interp_call(m->interp, fn, m->self, 1, &in, &result, error, sizeof error)) {
        printf("%s\n", error);
        return NULL;
    }
    int64_t size = 1;
    for (int i = 0; i < result.rank; i++)
        size *= result.dims[i];
    m->width = result.rank == 3 ? result.dims[2] : 0;
    return arena_copy(m->l->s->arena, result.data, (size_t)size * sizeof(float));
}

static bool machine_start(Machine *m, Lowered *l) {
    char error[300] = "";
    Weights *w = NEW(l->s->arena, Weights);
    *w = (Weights){7, l->s->arena};
    m->l = l;
    m->interp = interp_new(l->core, NULL);
    m->self = interp_block(m->interp, l->fn->self, random_weight, w, error, sizeof error);
    if (!m->self)
        printf("%s\n", error);
    return m->self != NULL;
}

static bool same(const Machine *m, const float *a, const float *b, int64_t n) {
    return memcmp(a, b, (size_t)(n * m->width) * sizeof(float)) == 0;
}

// How often an earlier row changes with a later token, or a prefix has rows of its own.
static int faults_in(Machine *m, uint64_t seed) {
    int32_t tokens[LENGTH];
    int found = 0;
    for (int i = 0; i < LENGTH; i++)
        tokens[i] = (int32_t)(next(&seed) % VOCAB);
    float *whole = rows(m, m->l->fn, tokens, LENGTH);
    if (!whole || !m->width)
        return -1;
    for (int t = 0; t < TRIES; t++) {
        int j = t == 0 ? LENGTH - 1 : 1 + (int)(next(&seed) % (LENGTH - 1));
        float *prefix = rows(m, m->l->fn, tokens, j);
        found += !prefix || !same(m, whole, prefix, j);
        int32_t old = tokens[j];
        tokens[j] = (old + 1 + (int32_t)(next(&seed) % (VOCAB - 1))) % VOCAB;
        float *changed = rows(m, m->l->fn, tokens, LENGTH);
        found += !changed || !same(m, whole, changed, j);
        tokens[j] = old;
    }
    return found;
}

// ---- Verdicts ----------------------------------------------------------------------------------

typedef struct {
    bool accepted;
    bool causal;    // truly
    char words[80]; // of the refusal
} Verdict;

static bool read_verdict(const char *path, Verdict *v) {
    char line[200] = "";
    FILE *f = fopen(path, "r");
    bool fine = f && fgets(line, sizeof line, f);
    if (f)
        fclose(f);
    line[strcspn(line, "\n")] = 0;
    char *colon = strchr(line, ':');
    *v = (Verdict){.accepted = strcmp(line, "// accepted") == 0};
    v->causal = v->accepted || strstr(line, "though causal") != NULL;
    if (colon && strlen(colon) > 2)
        snprintf(v->words, sizeof v->words, "%s", colon + 2);
    return fine && (v->accepted || colon);
}

static void check_verdict(Test *t, Arena *a, const char *path, Causal *k, const Verdict *v) {
    StrBuf out = strbuf_new(a);
    causal_print_proof(k, &out);
    bool fine = causal_ok(k) == v->accepted && (v->accepted || strstr(out.data, v->words));
    if (!fine)
        printf("%s: wanted %s%s, got\n%s\n", path, v->accepted ? "accepted" : "refused: ", v->words,
               out.data);
    check_at(t, fine, "the verdict", path, 1);
}

// What came of the programs.
typedef struct {
    int accepted, shown, causal,
        batch; // the last three refused: a change is shown, causal, batch_*
} Counts;

// The flat entry gives the same bits, and the interpreter agrees with the verdict. Does it show a
// change?
static bool check_bits(Test *t, const char *path, Lowered *l, CoreFn *flat, const Verdict *v) {
    Machine m = {.test = t};
    if (machine_start(&m, l)) {
        int32_t tokens[5] = {3, 1, 4, 1, 5};
        float *a = rows(&m, l->fn, tokens, 5), *b = rows(&m, flat, tokens, 5);
        int64_t n = m.width ? 5 * m.width : VOCAB;
        check_at(t, a && b && memcmp(a, b, (size_t)n * sizeof(float)) == 0, "flat", path, 1);
    }
    int found = m.width ? faults_in(&m, 1) + faults_in(&m, 2) : -1;
    if (found >= 0 && v->causal != (found == 0))
        printf("%s: %d rows differ\n", path, found);
    check_at(t, found < 0 || v->causal == (found == 0), "the interpreter agrees", path, 1);
    interp_free(m.interp);
    return found > 0;
}

static void check_program_at(Test *t, const char *path, Counts *n) {
    Verdict v;
    Lowered l;
    bool batch = strstr(path, "batch_") != NULL; // about rows of a batch: it stays a symbol
    bool fine = read_verdict(path, &v) && causal_load(&l, path, batch ? 0 : 1, NULL);
    check_at(t, fine, "the program", path, 1);
    if (!fine)
        return;
    CoreFn *flat = opt_flatten(l.core, l.fn, l.S);
    check_at(t, flat && !faults_of(l.core)[0], "the flat entry verifies", path, 1);
    check_verdict(t, l.s->arena, path, causal_analyse(l.core, l.fn, l.S, l.tokens), &v);
    if (flat) {
        Val tokens = flat->params.data[1];
        check_verdict(t, l.s->arena, path, causal_analyse(l.core, flat, l.S, tokens), &v);
        if (!batch)
            n->shown += check_bits(t, path, &l, flat, &v) && !v.accepted;
    }
    n->accepted += v.accepted;
    n->causal += v.causal && !v.accepted;
    n->batch += batch && !v.accepted;
    session_free(l.s);
}

// ---- Windows -----------------------------------------------------------------------------------

static void check_window(Test *t, const char *path, int64_t window) {
    Lowered l;
    if (!causal_load(&l, path, 1, NULL))
        exit(1);
    Causal *k = causal_analyse(l.core, l.fn, l.S, l.tokens);
    int bounded = 0;
    for (Val v = 1; v <= (Val)l.fn->values.len; v++) {
        const CausalValue *x = causal_value(k, v);
        for (int j = 0; x && x->kind == CAUSAL_COMP && j < x->red; j++) {
            bounded += x->bounds[j].bounded;
            if (x->bounds[j].bounded)
                CHECK(t, x->bounds[j].window == window);
        }
    }
    CHECK(t, bounded == 3);
    session_free(l.s);
}

static void check_model(Test *t, const char *path, const char *const *given, int64_t batch) {
    Lowered l;
    if (!causal_load(&l, path, batch, given))
        exit(1);
    Causal *k = causal_analyse(l.core, l.fn, l.S, l.tokens);
    CHECK(t, causal_ok(k) && causal_limit(k) > 1e20 && !causal_warns(k));
    CoreFn *flat = opt_flatten(l.core, l.fn, l.S);
    CHECK(t, flat && !faults_of(l.core)[0]);
    CHECK(t, causal_ok(causal_analyse(l.core, flat, l.S, flat->params.data[2])));
    session_free(l.s);
}

int main(void) {
    Test t = {0};
    DIR *d = opendir("tests/causal");
    struct dirent *e;
    int programs = 0;
    Counts n = {0};
    while (d && (e = readdir(d))) {
        char path[400];
        size_t size = strlen(e->d_name);
        if (size < 7 || strcmp(e->d_name + size - 6, ".serin") != 0)
            continue;
        snprintf(path, sizeof path, "tests/causal/%s", e->d_name);
        check_program_at(&t, path, &n);
        programs++;
    }
    if (d)
        closedir(d);
    printf(
        "%d programs: %d accepted; refused: %d with a change shown, %d about a batch, %d causal\n",
        programs, n.accepted, n.shown, n.batch, n.causal);
    CHECK(&t, programs >= 99);
    CHECK(&t, n.accepted + n.shown + n.batch + n.causal == programs); // each is one of them
    check_window(&t, "tests/causal/window.serin", 4);
    check_window(&t, "tests/causal/blocks.serin", 7);
    check_window(&t, "tests/causal/window_sink.serin", AFFINE_INF);
    static const char *const llama[] = {"Vocab",   "7", "H",     "6", "Heads",  "2", "KvHeads", "1",
                                        "HeadDim", "6", "Inner", "5", "Layers", "2", NULL};
    check_model(&t, "stdlib/models/llama.serin", llama, 1);
    check_model(&t, "stdlib/models/llama.serin", llama, 0);
    check_model(&t, "examples/minigpt/minigpt.serin", NULL, 1);
    return finish(&t);
}
