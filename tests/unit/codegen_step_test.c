// Exported programs that run on the derived step, of the programs of tests/causal: prompts of
// different lengths as one batch, in chunks, give the logits that the entry gives over the whole
// context, bit for bit.
#include "step_help.h"

#include "codegen_help.h"
#include "runtime/pack_write.h"
#include "runtime/sampler.h"

enum { TOKENS = 4, PROMPTS = 3 };

static const char *const prompts[PROMPTS] = {"1 2 3 4 5 6 7 8 9 10 3 1 0", "5", "9 8 7 6 5"};

typedef struct {
    Model m;
    const char *name;
    char dir[64];
    VEC(RtPackSource) sources; // of weights.bin
    VEC(Tensor) weights;       // their values
} Exported;

static void add_weight(void *ctx, const char *path, const CoreType *type) {
    Exported *p = ctx;
    Tensor t;
    RtPackSource s = {.name = arena_printf(p->m.s->arena, "%s", path),
                      .rank = (uint32_t)type->rank};
    if (!random_weight(&p->m, path, type, &t))
        return;
    s.bytes = (uint64_t)dtype_size(type->dtype);
    s.format = type->dtype == DT_BF16 ? RT_BF16 : RT_F32;
    for (int i = 0; i < t.rank; i++) {
        s.dims[i] = (uint64_t)t.dims[i];
        s.bytes *= s.dims[i];
    }
    s.unit = (size_t)s.bytes;
    vec_push(p->m.s->arena, &p->sources, s);
    vec_push(p->m.s->arena, &p->weights, t);
}

static bool fill_weight(void *user, size_t tensor, uint64_t unit, size_t size, void *out,
                        RtError *err) {
    (void)unit;
    (void)err;
    memcpy(out, ((Exported *)user)->weights.data[tensor].data, size);
    return true;
}

static CodegenOptions options_of(Exported *p, CodegenStep *step) {
    const StepPlan *plan = p->m.plan;
    *step = (CodegenStep){.fn = plan->fn,
                          .rows = plan->B,
                          .width = plan->C,
                          .capacity = plan->Cap,
                          .length = plan->L,
                          .max_rows = 2,
                          .chunk = 128};
    CodegenOptions o = {.step = step,
                        .key = -1,
                        .context = STEP_CAP,
                        .vocab = p->m.vocab,
                        .model_name = "M",
                        .weights_name = ""};
    o.runtime = runtime_texts(p->m.s->arena, &o.runtime_count);
    return o;
}

static bool export_step(Exported *p) {
    CodegenStep step;
    CodegenOptions o = options_of(p, &step);
    GenFile *files = NULL;
    int count = 0;
    char error[500] = "";
    RtError err;
    if (!codegen_c(p->m.core, &o, &files, &count, error, sizeof error)) {
        printf("export: %s\n", error);
        return false;
    }
    for (int i = 0; i < count; i++)
        write_bytes(p->dir, files[i].name, files[i].text.ptr, (size_t)files[i].text.len);
    core_weights(p->m.core, p->m.plan->fn->self, add_weight, p);
    const char *path = arena_printf(p->m.s->arena, "%s/weights.bin", p->dir);
    return rt_pack_write(path, p->sources.data, (size_t)p->sources.len, fill_weight, p, &err);
}

// The logits of the last token of each prompt's continuation, by the whole context.
static bool want_logits(Exported *p, float *want) {
    const CoreType *type = core_value(p->m.entry, p->m.entry->region.yields.data[0])->type;
    for (int i = 0; i < PROMPTS; i++) {
        int32_t ids[STEP_MOST];
        int n = 0;
        char *end = NULL;
        for (const char *at = prompts[i]; *at; at = *end ? end + 1 : end)
            ids[n++] = (int32_t)strtol(at, &end, 10);
        for (int k = 0; k < TOKENS; k++) {
            const void *rows = model_whole(&p->m, p->m.entry, ids, n);
            if (!rows)
                return false;
            int64_t from = type->rank == 3 ? (n - 1) * p->m.vocab : 0;
            float *last = want + i * p->m.vocab;
            rt_format_row(type->dtype == DT_BF16 ? RT_BF16 : RT_F32, rows, (uint64_t)from,
                          (uint64_t)p->m.vocab, last);
            ids[n++] = rt_argmax(last, p->m.vocab);
        }
    }
    return true;
}

static void check_run(Exported *p, const char *flags, const float *want) {
    size_t bytes = sizeof(float) * PROMPTS * (size_t)p->m.vocab;
    int code = shell("cd %s && rm -f logits && ./generate --prompt '%s' --prompt '%s' --prompt "
                     "'%s' --tokens %d --temperature 0 --logits logits %s >out 2>err",
                     p->dir, prompts[0], prompts[1], prompts[2], TOKENS, flags);
    const char *why;
    Source *got =
        source_load(p->m.s->arena, arena_printf(p->m.s->arena, "%s/logits", p->dir), &why);
    bool same = code == 0 && got && (size_t)got->text.len == bytes &&
                memcmp(got->text.ptr, want, bytes) == 0;
    if (!same)
        printf("%s %s: exit code %d, other logits\n", p->name, flags, code);
    CHECK(p->m.t, same);
}

// Two sessions of one file, interleaved, one of them with rows that start anew, token by token and
// by a prefill that leaves the other row alone; what is no chunk is refused.
static const char user_text[] =
    "#include \"model.h\"\n"
    "#include <stdlib.h>\n"
    "#include <string.h>\n"
    "static bool step(Session *s, int32_t a, int32_t b, int32_t at, float *out) {\n"
    "    int32_t tokens[2] = {a, b}, pos[2] = {at, at}, count[2] = {1, 1};\n"
    "    return session_step(s, 1, tokens, pos, count, out);\n"
    "}\n"
    "int main(void) {\n"
    "    char error[400];\n"
    "    size_t row = MODEL_VOCAB * sizeof(float);\n"
    "    float *x = malloc(2 * row), *y = malloc(2 * row);\n"
    "    ModelFile *file = model_open(\"weights.bin\", error, sizeof error);\n"
    "    Session *s = file ? session_new(file, 2, 8, 4, 1) : NULL;\n"
    "    Session *t = file ? session_new(file, 2, 16, 1, 2) : NULL;\n"
    "    if (!x || !y || !s || !t || session_new(file, MODEL_ROWS + 1, 8, 4, 1))\n"
    "        return 2;\n"
    "    for (int i = 0; i < 5; i++) {\n"
    "        if (!step(s, i, 2 * i, i, x) || !step(t, 9 - i, i, i, y))\n"
    "            return 3;\n"
    "    }\n"
    "    session_clear(t, 0);\n"
    "    session_clear(t, 1);\n"
    "    for (int i = 0; i < 5; i++) {\n"
    "        if (!step(t, 2 * i, i, i, y))\n"
    "            return 4;\n"
    "    }\n"
    "    if (memcmp(x, y + MODEL_VOCAB, row) != 0 || memcmp(x + MODEL_VOCAB, y, row) != 0)\n"
    "        return 5;\n"
    "    int32_t text[5] = {0, 1, 2, 3, 4}, bad[2] = {1, MODEL_VOCAB};\n"
    "    for (int32_t i = 0; i < 5; i++)\n"
    "        text[i] = 9 - i;\n"
    "    if (!session_prefill(s, 0, text, 5, x) || !step(s, 1, 3, 5, x) || !step(t, 3, 1, 5, y) "
    "||\n"
    "        memcmp(x + MODEL_VOCAB, y, row) != 0)\n"
    "        return 7;\n"
    "    session_clear(t, 1);\n"
    "    for (int i = 0; i < 6; i++) {\n"
    "        if (!step(t, 3, i < 5 ? 9 - i : 1, i < 5 ? i : 5, y))\n"
    "            return 8;\n"
    "    }\n"
    "    if (memcmp(x, y + MODEL_VOCAB, row) != 0)\n"
    "        return 9;\n"
    "    int32_t pair[2] = {2, 2}, at[2] = {6, 0}, one[2] = {1, 0}, none[2] = {0, 0};\n"
    "    if (!session_prefill(s, 1, text, 5, y) || !session_step(s, 1, pair, at, one, x) ||\n"
    "        !step(t, 3, 2, 6, y) || memcmp(x, y + MODEL_VOCAB, row) != 0)\n"
    "        return 11;\n"
    "    one[0] = 0, one[1] = 1, at[1] = 5;\n"
    "    pair[1] = 1;\n"
    "    session_clear(t, 1);\n"
    "    session_clear(t, 2);\n"
    "    for (int i = 0; i < 6; i++) {\n"
    "        if (!step(t, 3, i < 5 ? 9 - i : 1, i < 5 ? i : 5, y))\n"
    "            return 12;\n"
    "    }\n"
    "    if (!session_step(s, 1, pair, at, one, x) || session_step(s, 1, pair, at, none, x) ||\n"
    "        memcmp(x + MODEL_VOCAB, y + MODEL_VOCAB, row) != 0)\n"
    "        return 13;\n"
    "    if (session_prefill(s, 2, text, 5, x) || session_prefill(s, -1, text, 5, x) ||\n"
    "        session_prefill(s, 0, text, 0, x) || session_prefill(s, 0, text, 9, x) ||\n"
    "        session_prefill(s, 0, bad, 2, x))\n"
    "        return 10;\n"
    "    if (step(s, 1, 1, 8, x) || step(s, MODEL_VOCAB, 1, 5, x) || step(s, 1, 1, -1, x))\n"
    "        return 6;\n"
    "    session_free(s);\n"
    "    session_free(t);\n"
    "    model_close(file);\n"
    "    free(x);\n"
    "    free(y);\n"
    "    return 0;\n"
    "}\n";

static void check_sessions(Exported *p) {
    write_bytes(p->dir, "user.c", user_text, sizeof user_text - 1);
    int code = shell("cd %s && cc -std=c11 -g -fsanitize=address,undefined user.c libmodel.a "
                     "-lpthread -lm -o user && ./user",
                     p->dir);
    if (code)
        printf("%s: a program with two sessions ends with %d\n", p->name, code);
    CHECK(p->m.t, code == 0);
}

static void test_program(Test *t, const char *name, const char *cc, const char *opt) {
    Exported p = {.name = name};
    char path[100];
    snprintf(path, sizeof path, "tests/causal/%s.serin", name);
    bool good = model_open(&p.m, t, path, NULL) && p.m.plan && model_start(&p.m, 1);
    float *want = good ? NEW_N(p.m.s->arena, float, PROMPTS *p.m.vocab) : NULL;
    test_folder(p.dir);
    good = good && export_step(&p) && want_logits(&p, want) &&
           shell("make -s -C %s CC=%s OPT=%s WARN='-Wall -Wextra -Wpedantic -Wshadow -Werror'",
                 p.dir, cc, opt) == 0;
    if (!good)
        printf("%s can't be exported\n", name);
    CHECK(t, good);
    if (have("clang-format"))
        CHECK(t, shell("cd %s && for f in *.c *.h; do clang-format $f | cmp - $f || exit 1; done",
                       p.dir) == 0);
    for (int i = 0; i < 3 && good; i++) {
        static const char *const flags[] = {"", "--chunk 1 --threads 1", "--chunk 3 --threads 2"};
        check_run(&p, flags[i], want);
    }
    if (good && strcmp(name, "layers_window") == 0)
        check_sessions(&p);
    shell("rm -rf %s", p.dir);
    model_end(&p.m);
}

int main(int argc, char **argv) {
    static const char *const names[] = {
        "convolution",     "cumulative_mean", "cumulative_sum", "layers_window", "linear_attention",
        "mask_mulexp_max", "layers_bf16",     "read_first",     "window",        "c_names"};
    Test t = {.state = 5};
    for (int i = 1; i < argc; i++)
        test_program(&t, argv[i], "gcc", "-O1");
    for (size_t i = 0; i < sizeof names / sizeof *names && argc == 1; i++)
        test_program(&t, names[i], i % 4 == 3 && have("clang") ? "clang" : "gcc", "-O1");
    t.s = session_new();
    return finish(&t);
}
