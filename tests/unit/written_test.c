// A hand-written cache (`prefill =`, `decode =`) against the derived one and against the whole
// context: the same tokens, greedy and drawn, and as many bytes a token.
#include "written_help.h"

enum { TOKENS = 20 };

// ---- Running -----------------------------------------------------------------------------------

// Bytes of the states of a block and of what is in it.
static int64_t state_bytes(const CoreBlock *block) {
    int64_t sum = 0, n;
    for (int i = 0; i < block->members.len; i++) {
        const CoreMember *m = &block->members.data[i];
        int64_t count = m->kind == MEMBER_ARRAY && dim_is_const(m->type->count, &n) ? n : 1;
        if (m->kind == MEMBER_SUB || m->kind == MEMBER_ARRAY)
            sum += count * state_bytes(m->type->block);
        if (m->kind != MEMBER_STATE)
            continue;
        int64_t size = dtype_size(m->type->dtype);
        for (int k = 0; k < m->type->rank; k++)
            size *= dim_is_const(m->type->dims[k], &n) ? n : 0;
        sum += size;
    }
    return sum;
}

static bool run(Test *t, const char *program, const char *weights, bool whole, float temperature,
                int32_t *out, int64_t *bytes) {
    static const int32_t prompts[2][5] = {{3, 1, 4, 1, 5}, {9, 2, 0, 0, 0}};
    Model m;
    Args args = args_for(t, weights, decoder_sizes);
    Sequence rows[2];
    GenerateOptions o = {.chunk = 3, .threads = 1, .whole = whole};
    bool good = model_open(t->a, program, &args, &m) == 0 && model_lower(&m, &args, 0) == 0 &&
                model_match_weights(&m) == 0 && (whole || model_derive(&m) == 0);
    for (int b = 0; b < 2; b++)
        rows[b] = sequence_new(t->a, prompts[b], b ? 2 : 5, TOKENS, 11, temperature);
    good = good && generate(&m, rows, 2, &o, NULL, NULL);
    for (int b = 0; good && b < 2; b++)
        memcpy(out + b * TOKENS, rows[b].tokens + rows[b].prompt, TOKENS * sizeof *out);
    *bytes = 0;
    for (int i = 0; m.step && i < m.step->state_count; i++)
        *bytes += m.step->states[i].bytes;
    if (m.decode)
        *bytes = state_bytes(m.decode->self) / 40; // MaxSeq positions
    check(t, whole || (m.decode != NULL) != (m.step != NULL), "one kind of cache");
    diags_print(m.s, stdout, false);
    model_close(&m);
    return good;
}

static void compare(Test *t, const char *weights, const char *written, const char *derived,
                    float temperature) {
    int32_t a[2 * TOKENS] = {0}, b[2 * TOKENS] = {1}, c[2 * TOKENS] = {2};
    int64_t own, bytes, none;
    check(t, run(t, written, weights, false, temperature, a, &own), "the hand-written cache runs");
    check(t, run(t, derived, weights, false, temperature, b, &bytes), "the derived cache runs");
    check(t, run(t, derived, weights, true, temperature, c, &none), "the whole context runs");
    check(t, memcmp(a, b, sizeof a) == 0, "hand-written and derived: the same tokens");
    check(t, memcmp(b, c, sizeof b) == 0, "derived and whole: the same tokens");
    check(t, bytes == 2 * 2 * 2 * 4 * 4, "keys and values of two layers, two heads of width 4");
    check(t, own == bytes, "the hand-written cache and the derived one take the same bytes");
}

int main(void) {
    char dir[] = "/tmp/serin-written-XXXXXX";
    Test t = {.a = arena_new(), .dir = mkdtemp(dir)};
    const char *weights = arena_printf(t.a, "%s/w.safetensors", dir);
    const char *written = package(&t, "written",
                                  "    prefill = prefill\n    decode = decode\n"
                                  "    cache = kv_cache(MaxSeq)\n");
    const char *stepwise = package(&t, "stepwise", "    decode = decode\n");
    const char *derived = package(&t, "derived", "    cache = kv_cache(S)\n");
    write_weights(&t, weights, derived, decoder_sizes);
    compare(&t, weights, written, derived, 0);
    compare(&t, weights, written, derived, 0.9f);
    compare(&t, weights, stepwise, derived, 0.9f);
    check(&t, system(arena_printf(t.a, "rm -r %s", dir)) == 0, "tidies up");
    arena_free(t.a);
    printf("%d passed, %d failed\n", t.passed, t.failed);
    return t.failed != 0;
}
