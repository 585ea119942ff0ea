// Exported programs: their files compile without warnings under gcc and clang, clang-format leaves
// them alone, and they print what the interpreter computes, greedy and drawn, with any threads.
#include "codegen_help.h"
#include "core_help.h"
#include "interp/interp.h"
#include "opt/greedy.h"
#include "runtime/pack_write.h"
#include "runtime/threefry.h"

enum { CONTEXT = 48, VOCAB = 96, WINDOW = 6 };

typedef struct {
    Test *t;
    Session *s;
    Core *c;
    const CoreFn *entry, *greedy;
    char dir[64];
    bool window;
    VEC(RtPackSource) sources; // of weights.bin
    VEC(float *) weights;      // their values
} Run;

// ---- Weights -----------------------------------------------------------------------------------

static void add_weight(void *ctx, const char *path, const CoreType *type) {
    Run *r = ctx;
    uint64_t n = 1;
    RtPackSource s = {.name = arena_printf(r->s->arena, "%s", path), .rank = (uint32_t)type->rank};
    for (int i = 0; i < type->rank; i++) {
        int64_t d = 0;
        dim_is_const(type->dims[i], &d);
        s.dims[i] = (uint64_t)d;
        n *= s.dims[i];
    }
    s.bytes = n * sizeof(float);
    s.unit = n * sizeof(float);
    float *data = NEW_N(r->s->arena, float, n);
    uint32_t state = 12345u + (uint32_t)r->weights.len;
    for (uint64_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        data[i] = ((float)(state >> 8) * 0x1p-24f - 0.5f) * (type->rank == 2 ? 0.6f : 2.0f);
    }
    vec_push(r->s->arena, &r->sources, s);
    vec_push(r->s->arena, &r->weights, data);
}

static bool fill_weight(void *user, size_t tensor, uint64_t unit, size_t size, void *out,
                        RtError *err) {
    (void)unit;
    (void)err;
    memcpy(out, ((Run *)user)->weights.data[tensor], size);
    return true;
}

static bool find_weight(void *ctx, const char *path, const CoreType *type, Tensor *out) {
    Run *r = ctx;
    for (int i = 0; i < r->sources.len; i++) {
        if (strcmp(r->sources.data[i].name, path) != 0)
            continue;
        *out = (Tensor){.dtype = type->dtype, .rank = type->rank, .format = RT_F32};
        for (int d = 0; d < type->rank; d++)
            out->dims[d] = (int64_t)r->sources.data[i].dims[d];
        out->data = r->weights.data[i];
        return true;
    }
    return false;
}

// ---- The interpreter's answer ------------------------------------------------------------------

typedef struct {
    Interp *it;
    InterpBlock *model;
} Reference;

static int32_t reference_next(Run *r, Reference *ref, const int32_t *ids, int count, int step,
                              float temperature) {
    RtKey child = rt_child(rt_key(7), (uint32_t)step);
    int64_t key[2] = {child.word[0], child.word[1]};
    float t = temperature == 0 ? 1.0f : temperature;
    int from = r->window ? count - WINDOW : 0;
    Tensor args[3] = {
        {.dtype = DT_I64, .rank = 1, .dims = {2}, .data = key},
        {.dtype = DT_I32, .rank = 2, .dims = {1, count - from}, .data = ids + from},
        {.dtype = DT_F32, .rank = 0, .data = &t},
    };
    Tensor result;
    char error[300] = "";
    interp_bind(ref->it, r->c->symbols.data[0], 1);
    if (!r->window)
        interp_bind(ref->it, r->c->symbols.data[1], count);
    if (!interp_call(ref->it, temperature == 0 ? r->greedy : r->entry, ref->model, 3, args, &result,
                     error, sizeof error)) {
        printf("interpreter: %s\n", error);
        return -1;
    }
    return *(const int32_t *)result.data;
}

static const char *reference_line(Run *r, const int32_t *prompt, int n, int tokens, float heat) {
    char error[300] = "";
    Reference ref = {.it = interp_new(r->c, NULL)};
    ref.model = interp_block(ref.it, r->entry->self, find_weight, r, error, sizeof error);
    if (!ref.model)
        printf("interpreter: %s\n", error);
    int32_t ids[200];
    memcpy(ids, prompt, (size_t)n * sizeof *ids);
    StrBuf b = strbuf_new(r->s->arena);
    for (int i = 1; i <= tokens && ref.model; i++) {
        ids[n + i - 1] = reference_next(r, &ref, ids, n + i - 1, i, heat);
        strbuf_printf(&b, "%s%d", i > 1 ? " " : "", (int)ids[n + i - 1]);
    }
    strbuf_char(&b, '\n');
    interp_free(ref.it);
    return b.data;
}

// ---- The export --------------------------------------------------------------------------------

static CodegenOptions options_of(Run *r) {
    CodegenOptions o = {.entry = r->entry,
                        .greedy = r->greedy,
                        .key = 0,
                        .tokens = 1,
                        .temperature = 2,
                        .batch = r->c->symbols.data[0],
                        .length = r->window ? NULL : r->c->symbols.data[1],
                        .context = r->window ? WINDOW : CONTEXT,
                        .window = r->window,
                        .vocab = VOCAB,
                        .default_temperature = 0.8,
                        .model_name = "Model",
                        .weights_name = "a \"b\"\\c?\?/\xc3\xa9.safetensors"};
    o.runtime = runtime_texts(r->s->arena, &o.runtime_count);
    return o;
}

static bool export_program(Run *r) {
    CodegenOptions o = options_of(r);
    GenFile *files = NULL, *again = NULL;
    int count = 0, count2 = 0;
    char error[500] = "";
    RtError err;
    if (!codegen_c(r->c, &o, &files, &count, error, sizeof error)) {
        printf("export: %s\n", error);
        return false;
    }
    for (int i = 0; i < count; i++)
        write_bytes(r->dir, files[i].name, files[i].text.ptr, (size_t)files[i].text.len);
    bool same = codegen_c(r->c, &o, &again, &count2, error, sizeof error) && count == count2;
    for (int i = 0; i < count && same; i++)
        same = str_eq(files[i].text, again[i].text);
    CHECK(r->t, same); // the same input gives the same bytes
    core_weights(r->c, r->entry->self, add_weight, r);
    const char *path = arena_printf(r->s->arena, "%s/weights.bin", r->dir);
    return rt_pack_write(path, r->sources.data, (size_t)r->sources.len, fill_weight, r, &err);
}

static void check_format(Run *r) {
    if (!have("clang-format"))
        return;
    CHECK(r->t, shell("cd %s && for f in *.c *.h; do clang-format $f | cmp - $f || exit 1; done",
                      r->dir) == 0);
}

static bool build(Run *r, const char *cc, const char *opt) {
    return shell("cd %s && make -s clean && make -s CC=%s OPT=%s "
                 "WARN='-Wall -Wextra -Wpedantic -Wshadow -Werror'",
                 r->dir, cc, opt) == 0;
}

static const char *generated(Run *r, const char *flags) {
    int code = shell("%s/generate %s >%s/out 2>%s/err", r->dir, flags, r->dir, r->dir);
    const char *text = read_text(r->s->arena, r->dir, "out");
    return code == 0 && text ? text : arena_printf(r->s->arena, "exit code %d", code);
}

static void check_output(Run *r, const char *flags, const char *want) {
    const char *got = generated(r, flags);
    if (strcmp(got, want) != 0)
        printf("%s\n  want %s  got  %s\n", flags, want, got);
    CHECK(r->t, strcmp(got, want) == 0);
}

// The exit code and the words on stderr.
static void check_refused(Run *r, const char *flags, int code, const char *words) {
    int got = shell("%s/generate %s >%s/out 2>%s/err", r->dir, flags, r->dir, r->dir);
    const char *err = read_text(r->s->arena, r->dir, "err");
    if (got != code || !err || !strstr(err, words))
        printf("%s: code %d: %s\n", flags, got, err ? err : "");
    CHECK(r->t, got == code && err && strstr(err, words));
}

// ---- Tests -------------------------------------------------------------------------------------

static const int32_t prompt[] = {1, 50, 3, 95, 0, 17, 4, 1};

static void check_tokens(Run *r) {
    const char *greedy = reference_line(r, prompt, 8, 20, 0);
    const char *drawn = reference_line(r, prompt, 8, 20, 0.8f);
    const char *hot = reference_line(r, prompt, 8, 5, 2.5f);
    check_output(r, "--prompt '1 50 3 95 0 17 4 1' --tokens 20 --temperature 0 --seed 7", greedy);
    check_output(r, "--prompt '1 50 3 95 0 17 4 1' --tokens 20 --seed 7 --threads 1", drawn);
    check_output(r, "--prompt '1 50 3 95 0 17 4 1' --tokens 20 --seed 7 --threads 3", drawn);
    check_output(r, "--tokens 5 --prompt ' 1 50 3 95 0 17 4 1 ' --temperature 2.5 --seed 7", hot);
    CHECK(r->t, strcmp(greedy, drawn) != 0); // or the test would show little
}

static void check_program(Run *r) {
    check_refused(r, "--prompt '1 2 3 99 1 1 1'", 1,
                  "E7003: token 99 is outside the vocabulary of 96");
    check_refused(r, "--prompt '1 2x'", 2, "2x");
    check_refused(r, "--prompt ''", 2, "--prompt");
    check_refused(r, "--tokens 4", 2, "--prompt");
    check_refused(r, "--prompt 1 --tokens 1.5", 2, "--tokens");
    check_refused(r, "--prompt 1 --temperature nan", 2, "--temperature");
    check_refused(r, "--prompt 1 --seed -1", 2, "--seed");
    check_refused(r, "--prompt 1 --ctx 9", 2, "--ctx");
    check_refused(r, "--prompt 1 --backend c", 2, "--backend");
    check_refused(r, "--prompt 1 --weights /nowhere", 2, "/nowhere");
    check_refused(r, "--prompt 1 --weights /etc/passwd", 1, "error");
    check_refused(r, "--help --prompt", 0, "");
}

static void check_json(Run *r, const char *window) {
    const char *line = reference_line(r, prompt, 8, 2, 0);
    int a = 0, b = 0;
    CHECK(r->t, sscanf(line, "%d %d", &a, &b) == 2);
    check_output(
        r, "--prompt '1 50 3 95 0 17 4 1' --tokens 2 --temperature 0 --json",
        arena_printf(r->s->arena,
                     "{\"model\": \"Model\", \"weights\": "
                     "\"a \\\"b\\\"\\\\c?\?/\xc3\xa9.safetensors\", \"prompt\": [1, 50, 3, "
                     "95, 0, 17, 4, 1], \"generated\": [%d, %d], \"window\": %s, "
                     "\"greedy\": true, \"vocab\": 96}\n",
                     a, b, window));
}

static bool open_run(Run *r, const char *text) {
    StrBuf faults = strbuf_new(r->s->arena);
    r->c = read_core(r->s, text);
    if (!r->c || !core_verify(r->c, &faults)) {
        diags_print(r->s, stdout, false);
        printf("%s\n", faults.data ? faults.data : "");
        return false;
    }
    for (int i = 0; i < r->c->fns.len; i++) {
        if (r->c->fns.data[i]->entry)
            r->entry = r->c->fns.data[i];
    }
    r->greedy = opt_greedy(r->c, (CoreFn *)r->entry, NULL);
    test_folder(r->dir);
    return r->greedy && export_program(r);
}

static void test_model(Test *t, const char *text, bool window) {
    static const char *const compilers[][2] = {{"gcc", "-O3"}, {"gcc", "-O0"}, {"clang", "-O3"}};
    Run r = {.t = t, .s = session_new(), .window = window};
    bool ready = open_run(&r, text);
    CHECK(t, ready);
    if (ready)
        check_format(&r);
    for (int i = 0; i < 3 && ready; i++) {
        if (!have(compilers[i][0]))
            continue;
        bool built = build(&r, compilers[i][0], compilers[i][1]);
        CHECK(t, built);
        if (!built)
            continue;
        check_tokens(&r);
        check_json(&r, window ? "6" : "null");
    }
    if (ready && !window) {
        check_program(&r);
        check_refused(&r, "--prompt '1 2 3' --tokens 46", 1,
                      "E7002: the prompt has 3 tokens, 46 more");
    }
    if (ready && window)
        check_refused(&r, "--prompt '1 2 3' --tokens 2", 1, "E7001");
    if (t->failed)
        printf("kept %s\n", r.dir);
    else
        shell("rm -rf %s", r.dir);
    session_free(r.s);
}

// The text with every S replaced by the window's size.
static const char *windowed(Arena *a, const char *text) {
    StrBuf b = strbuf_new(a);
    for (const char *p = text; *p; p++) {
        bool alone = p == text || strchr(" [(,", p[-1]);
        if (strncmp(p, ", S <= 64", 9) == 0)
            p += 8;
        else if (*p == 'S' && alone && strchr("],) ", p[1]))
            strbuf_printf(&b, "%d", WINDOW);
        else
            strbuf_char(&b, *p);
    }
    return b.data;
}

static void test_dumps(Test *t, const char *folder, const char *name) {
    Session *s = session_new();
    const char *text = read_text(s->arena, folder, name);
    Core *c = text ? read_core(s, text) : NULL;
    StrBuf loop = strbuf_new(s->arena), out = strbuf_new(s->arena);
    char error[500] = "", dir[64];
    CHECK(t, c != NULL);
    bool dumped = c && codegen_dump_loop(c, &loop, error, sizeof error) &&
                  codegen_dump_c(c, &out, error, sizeof error);
    if (!dumped) // the one thing that has no definition yet
        CHECK(t, strstr(error, "of an f64 has no exact definition yet") != NULL);
    if (dumped) {
        test_folder(dir);
        write_bytes(dir, "x.c", out.data, (size_t)out.len);
        CHECK(t, shell("cc %s -Wno-unused-function -I. -Iruntime -fsyntax-only %s/x.c", c_warnings,
                       dir) == 0);
        if (have("clang-format"))
            CHECK(t, shell("cd %s && clang-format x.c | cmp - x.c", dir) == 0);
        shell("rm -rf %s", dir);
    }
    session_free(s);
}

int main(void) {
    Test t = {0};
    Session *s = session_new();
    const char *text = read_text(s->arena, "tests/data/codegen", "lm.core");
    CHECK(&t, text != NULL);
    if (text) {
        test_model(&t, text, false);
        test_model(&t, windowed(s->arena, text), true);
    }
    test_dumps(&t, "tests/core", "decoder.core");
    test_dumps(&t, "tests/core", "numbers.core");
    test_dumps(&t, "tests/core", "sample.core");
    test_dumps(&t, "tests/data/codegen", "lm.core");
    session_free(s);
    return finish(&t);
}
