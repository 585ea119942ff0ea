// Random programs against the interpreter: what the analysis accepts has rows that no later token
// and no length changes, to the bit, and a step of the same bits in chunks and in batches; how much
// of what it refuses is caught changing is counted.
//
// usage: causal_random_test [N [FIRST]]    200 programs, from number 1, and some that once failed
#include "causal_pieces.h"
#include "step_help.h"

enum { LONG = 41, VOCAB = 11 };

typedef enum {
    ACCEPTED,  // equal bits
    STATED,    // accepted; bits differ where there are NaNs that a stated condition excludes
    CAUGHT,    // refused, and a change is found
    QUIET,     // refused, and none is found
    QUIET_NAN, // the same, with NaNs that may hide it
    NO_STEP,   // proved, but no step is derived from it; no change is found
    OUTCOMES
} Outcome;

// Causes of refusals in which no change is found, and how often.
typedef struct {
    char text[80];
    int count;
} Cause;

typedef struct {
    int outcomes[OUTCOMES];
    Cause causes[32];
} Tally;

typedef struct {
    Test *t;
    Model m;
    Interp *it;        // of the entry
    InterpBlock *self; // likewise
    bool all;          // rows for all positions, else of the last
    bool nan;          // there were NaNs
    int32_t tokens[3][STEP_MOST];
    float *want[3]; // [LONG, VOCAB] of each row alone
} Trial;

static bool same_floats(Trial *x, const float *a, const float *b, int n) {
    bool same = true;
    for (int i = 0; i < n; i++) {
        bool nan = a[i] != a[i], other = b[i] != b[i];
        x->nan = x->nan || nan || other;
        same = same && ((nan && other) || memcmp(&a[i], &b[i], sizeof *a) == 0);
    }
    return same;
}

// The entry on `batch` rows of n tokens: [batch, n, VOCAB] or [batch, VOCAB], in the arena.
static float *run_rows(Trial *x, int32_t tokens[][STEP_MOST], int batch, int n) {
    char error[256];
    int32_t packed[3 * STEP_MOST];
    Tensor out, in = I32(packed, batch, n);
    for (int b = 0; b < batch; b++)
        memcpy(packed + b * n, tokens[b], sizeof(int32_t) * (size_t)n);
    interp_bind(x->it, x->m.B, batch);
    interp_bind(x->it, x->m.S, n);
    if (!interp_call(x->it, x->m.entry, x->self, 1, &in, &out, error, sizeof error)) {
        printf("%s\n", error);
        return NULL;
    }
    size_t count = (size_t)batch * (size_t)(x->all ? n : 1) * VOCAB;
    return arena_copy(x->m.s->arena, out.data, count * sizeof(float));
}

// Row b alone: the logits after each of its tokens.
static float *each_prefix(Trial *x, int b) {
    float *want = NEW_N(x->m.s->arena, float, LONG *VOCAB);
    for (int n = x->all ? LONG : 1; n <= LONG; n++) {
        const float *got = run_rows(x, &x->tokens[b], 1, n);
        if (!got)
            return NULL;
        size_t rows = x->all ? LONG : 1;
        memcpy(want + (x->all ? 0 : (n - 1) * VOCAB), got, rows * VOCAB * sizeof(float));
    }
    for (int i = 0; i < LONG * VOCAB; i++)
        x->nan = x->nan || want[i] != want[i];
    return want;
}

// Do earlier rows change with the length, with a later token, or with other rows of the batch?
static int changes(Trial *x) {
    int found = 0, width = x->all ? LONG : 1;
    const float *batch = run_rows(x, x->tokens, 3, LONG);
    for (int b = 0; b < 3; b++) {
        const float *own = x->all ? x->want[b] : x->want[b] + (LONG - 1) * VOCAB;
        found += !same_floats(x, batch + b * width * VOCAB, own, width * VOCAB);
    }
    for (int i = 0; i < 8 && x->all; i++) {
        int b = i % 3, j = i < 2 ? LONG - 1 - i : 1 + random_below(x->t, LONG - 1);
        const float *prefix = run_rows(x, &x->tokens[b], 1, j);
        found += !same_floats(x, prefix, x->want[b], j * VOCAB);
        int32_t old = x->tokens[b][j];
        x->tokens[b][j] = (old + 1 + random_below(x->t, VOCAB - 1)) % VOCAB;
        const float *other = run_rows(x, &x->tokens[b], 1, LONG);
        found += !same_floats(x, other, x->want[b], j * VOCAB);
        x->tokens[b][j] = old;
    }
    return found;
}

// ---- The step ----------------------------------------------------------------------------------

static int in_chunks(Trial *x, int c) {
    int wrong = 0;
    model_clear(&x->m, c);
    for (int at = 0; at < LONG; at += c) {
        int32_t chunk[3 * STEP_MOST] = {0}, pos[3], count[3];
        for (int b = 0; b < 3; b++) { // rows 1 and 2 are shorter, and then stand still
            int length = b == 0 ? LONG : b == 1 ? LONG / 2 : 3;
            pos[b] = at < length ? at : length - 1;
            int rest = length - pos[b];
            count[b] = rest < c ? rest : c;
            memcpy(chunk + b * c, x->tokens[b] + pos[b], sizeof(int32_t) * (size_t)count[b]);
        }
        int length = at + c < STEP_CAP ? at + c : STEP_CAP;
        const float *got = model_step(&x->m, chunk, c, pos, count, length);
        for (int b = 0; b < 3; b++)
            wrong += !got || !same_floats(x, got + b * VOCAB,
                                          x->want[b] + (pos[b] + count[b] - 1) * VOCAB, VOCAB);
    }
    return wrong;
}

static bool has_conditions(Trial *x) {
    StrBuf out = strbuf_new(x->m.s->arena);
    causal_print_proof(x->m.plan->causal, &out);
    return out.data && (strstr(out.data, "is finite") || strstr(out.data, "is not 0") ||
                        strstr(out.data, "overflow"));
}

// ---- A program ---------------------------------------------------------------------------------

static Outcome judge(Trial *x, uint64_t seed, const char *text) {
    int found = changes(x), wrong = 0;
    bool proved = x->m.causal && causal_ok(x->m.causal);
    if (!x->m.plan)
        return found ? CAUGHT : proved ? NO_STEP : x->nan ? QUIET_NAN : QUIET;
    bool started = model_start(&x->m, 3);
    CHECK(x->t, started);
    for (int c = 1; started && c <= 32; c = c == 1 ? 3 : c == 3 ? 32 : 99)
        wrong += in_chunks(x, c);
    if (!found && !wrong)
        return ACCEPTED;
    if (x->nan && has_conditions(x))
        return STATED;
    printf("program %llu is accepted, but %d rows change and %d rows of the step differ:\n%s",
           (unsigned long long)seed, found, wrong, text);
    CHECK(x->t, found == 0 && wrong == 0);
    return ACCEPTED;
}

// Without names and numbers: "isn't neutral for k > q".
static void count_cause(Tally *tally, const char *why) {
    const char *end = strstr(why, "` "), *start = end ? end + 2 : why;
    int n = (int)strcspn(start, ":");
    for (int i = 0; i < 32; i++) {
        Cause *c = &tally->causes[i];
        if (!c->count)
            snprintf(c->text, sizeof c->text, "%.*s", n, start);
        if (strncmp(c->text, start, (size_t)n < sizeof c->text - 1 ? (size_t)n : 79) != 0)
            continue;
        c->count++;
        return;
    }
}

static void test_program(Test *t, uint64_t seed, Tally *tally) {
    char error[256] = "";
    Trial x = {.t = t, .m = {.slides = seed % 2 == 1}};
    Arena *a = arena_new();
    const char *text = random_program(a, seed);
    bool fine = model_read(&x.m, t, text, "forward");
    if (!fine) {
        printf("program %llu does not check:\n%s", (unsigned long long)seed, text);
        diags_print(x.m.s, stdout, false);
    } else {
        x.it = interp_new(x.m.core, NULL);
        x.self = interp_block(x.it, x.m.entry->self, random_weight, &x.m, error, sizeof error);
        x.all = core_value(x.m.entry, x.m.entry->region.yields.data[0])->type->rank == 3;
        for (int b = 0; b < 3 && x.self; b++) {
            random_tokens(t, x.tokens[b], LONG, VOCAB);
            x.want[b] = each_prefix(&x, b);
            fine = fine && x.want[b];
        }
        fine = fine && x.self;
    }
    CHECK(t, fine);
    Outcome outcome = fine ? judge(&x, seed, text) : OUTCOMES;
    if (fine)
        tally->outcomes[outcome]++;
    if (outcome == QUIET || outcome == NO_STEP)
        count_cause(tally, x.m.why.text);
    interp_free(x.it);
    interp_free(x.m.it);
    session_free(x.m.s);
    arena_free(a);
}

int main(int argc, char **argv) {
    static const char *const names[] = {
        "accepted, equal bits",
        "accepted, NaNs that a stated condition excludes",
        "refused, a change is found",
        "refused, none is found",
        "refused, none is found beside NaNs",
        "proved, but without a step",
    };
    static const uint64_t once[] = {289, 3326, 10959, 22530};
    Test t = {.state = 5};
    int programs = argc > 1 ? atoi(argv[1]) : 200;
    int first = argc > 2 ? atoi(argv[2]) : 1;
    Tally tally = {.outcomes = {0}}, failed = {.outcomes = {0}};
    for (size_t i = 0; i < sizeof once / sizeof once[0]; i++)
        test_program(&t, once[i], &failed);
    for (int i = 0; i < programs; i++)
        test_program(&t, (uint64_t)(first + i), &tally);
    for (int i = 0; i < OUTCOMES; i++)
        printf("%5d %s\n", tally.outcomes[i], names[i]);
    for (int i = 0; i < 32 && tally.causes[i].count; i++)
        printf("%5d   none is found: %s\n", tally.causes[i].count, tally.causes[i].text);
    const int *n = tally.outcomes;
    CHECK(&t, programs < 100 || (n[ACCEPTED] > programs / 4 && n[CAUGHT] > programs / 8));
    CHECK(&t, programs < 100 || n[STATED] <= programs / 50);
    t.s = session_new();
    return finish(&t);
}
