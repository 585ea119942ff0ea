// Exported programs with a hand-written cache: tokens and logits have the bits of `serin serve`,
// and of the derived cache; as many bytes are kept as are planned.
#include "written_help.h"

#include "cli/cli.h"
#include "cli/model_codegen.h"
#include "codegen_help.h"

enum { TOKENS = 7, PROMPTS = 3, MOST = 32 };

static const char *const prompts[PROMPTS] = {"3 1 4 1 5", "2", "6 5 3 0"};

typedef struct {
    Test *t;
    const char *program, *weights, *out; // out: the folder of the exported program
    const char *const *sizes;
} Case;

// `serin export`, as the command line calls it.
static bool export_program(const Case *p) {
    VEC(char *) argv = {0};
    Args args;
    char *fixed[] = {
        (char *)p->program, "--target", "c", "--serve", "--weights", (char *)p->weights, "-o",
        (char *)p->out,     "--ctx",    "24"};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        vec_push(p->t->a, &argv, fixed[i]);
    for (int i = 0; p->sizes[i]; i++) {
        vec_push(p->t->a, &argv, "--set");
        vec_push(p->t->a, &argv, (char *)p->sizes[i]);
    }
    return args_parse(p->t->a, command_export.flags, command_export.flag_count, argv.len, argv.data,
                      &args) &&
           command_export.run(p->t->a, &args) == EXIT_FINE;
}

// ---- What `serin serve` gives ------------------------------------------------------------------

typedef struct {
    int32_t tokens[PROMPTS][TOKENS];
    float logits[PROMPTS][MOST]; // of the last tokens
    int64_t vocab;
    int64_t cache; // bytes planned for a session of 40 positions
    bool written;  // by hand
} Run;

static bool planned(const Model *m, int64_t *cache) {
    CodegenMemory memory;
    CodegenCache kept;
    CodegenOptions o;
    char error[500];
    Core *core = model_codegen(m, &o, &kept);
    bool good = codegen_memory(core, &o, 1, 40, 24, &memory, error, sizeof error);
    *cache = good ? memory.cache : -1;
    return good;
}

static bool interpret(const Case *p, float temperature, int64_t chunk, Run *run) {
    Model m;
    Args args = args_for(p->t, p->weights, p->sizes);
    Sequence rows[PROMPTS];
    GenerateOptions o = {.chunk = chunk, .threads = 1};
    bool good = model_open(p->t->a, p->program, &args, &m) == 0 && model_lower(&m, &args, 0) == 0 &&
                model_match_weights(&m) == 0 && model_derive(&m) == 0 && m.vocab <= MOST;
    if (good && m.context < 0)
        m.context = 24;
    for (int b = 0; good && b < PROMPTS; b++) {
        int64_t n;
        int32_t *ids = parse_ids(p->t->a, prompts[b], &n);
        rows[b] = sequence_new(p->t->a, ids, n, TOKENS, 5, temperature);
        rows[b].logits = run->logits[b];
    }
    good = good && generate(&m, rows, PROMPTS, &o, NULL, NULL);
    for (int b = 0; good && b < PROMPTS; b++)
        memcpy(run->tokens[b], rows[b].tokens + rows[b].prompt, sizeof run->tokens[b]);
    run->vocab = m.vocab;
    run->written = m.decode != NULL;
    good = good && planned(&m, &run->cache);
    diags_print(m.s, stdout, false);
    model_close(&m);
    return good;
}

// ---- What the exported program gives -----------------------------------------------------------

static bool same_tokens(const Case *p, const Run *run) {
    const char *text = read_text(p->t->a, p->out, "out");
    char *end = NULL;
    for (int b = 0; text && b < PROMPTS; b++) {
        for (int i = 0; i < TOKENS; i++, text = end) {
            if (strtol(text, &end, 10) != run->tokens[b][i] || end == text)
                return false;
        }
    }
    return text != NULL;
}

static bool same_logits(const Case *p, const Run *run) {
    const char *why;
    Source *got = source_load(p->t->a, arena_printf(p->t->a, "%s/logits", p->out), &why);
    size_t row = (size_t)run->vocab * sizeof(float);
    bool same = got && (size_t)got->text.len == PROMPTS * row;
    for (int b = 0; same && b < PROMPTS; b++)
        same = memcmp(got->text.ptr + (size_t)b * row, run->logits[b], row) == 0;
    return same;
}

static void check_run(const Case *p, const Run *run, float temperature, const char *flags) {
    int code =
        shell("cd %s && rm -f out logits && ./generate --prompt '%s' --prompt '%s' --prompt "
              "'%s' --tokens %d --temperature %g --seed 5 --memory --logits logits %s >out "
              "2>err",
              p->out, prompts[0], prompts[1], prompts[2], TOKENS, (double)temperature, flags);
    const char *err = read_text(p->t->a, p->out, "err");
    const char *bytes = arena_printf(p->t->a, "cache %lld bytes", (long long)run->cache);
    check(p->t, code == 0, arena_printf(p->t->a, "%s runs: %s", p->out, err ? err : ""));
    check(p->t, same_tokens(p, run),
          arena_printf(p->t->a, "%s %s: the same tokens", p->out, flags));
    check(p->t, same_logits(p, run),
          arena_printf(p->t->a, "%s %s: the same logits", p->out, flags));
    check(p->t, err && (strstr(err, bytes) || !run->written),
          arena_printf(p->t->a, "%s: %s", p->out, bytes));
}

static void check_compiler(const Case *p, const char *cc, const char *opt, const Run *greedy,
                           const Run *drawn) {
    int code = shell("make -s -C %s clean && make -s -C %s CC=%s OPT='%s' WARN='-Wall -Wextra "
                     "-Wpedantic -Wshadow -Werror'",
                     p->out, p->out, cc, opt);
    check(p->t, code == 0, arena_printf(p->t->a, "%s is built by %s %s", p->out, cc, opt));
    for (int i = 0; i < 3 && code == 0; i++) {
        static const char *const flags[] = {"", "--threads 1 --chunk 1", "--threads 2 --chunk 3"};
        check_run(p, greedy, 0, flags[i]);
        check_run(p, drawn, 0.8f, flags[i]);
    }
}

// Two sessions of one file side by side, which begin their texts anew, token by token and by a
// prefill.
static const char user_text[] =
    "#include \"model.h\"\n"
    "#include <stdlib.h>\n"
    "#include <string.h>\n"
    "static bool step(Session *s, int32_t token, int32_t at, float *out) {\n"
    "    int32_t count = 1;\n"
    "    return session_step(s, 1, &token, &at, &count, out);\n"
    "}\n"
    "int main(void) {\n"
    "    char error[400];\n"
    "    size_t row = MODEL_VOCAB * sizeof(float);\n"
    "    float *x = malloc(row), *y = malloc(row);\n"
    "    ModelFile *file = model_open(\"weights.bin\", error, sizeof error);\n"
    "    Session *s = file ? session_new(file, 1, 8, 4, 1) : NULL;\n"
    "    Session *t = file ? session_new(file, 1, 16, 1, 2) : NULL;\n"
    "    if (!x || !y || !s || !t || session_new(file, 2, 8, 4, 1) || !session_model(s))\n"
    "        return 2;\n"
    "    for (int i = 0; i < 5; i++) {\n"
    "        if (!step(s, i, i, x) || !step(t, 6 - i, i, y))\n"
    "            return 3;\n"
    "    }\n"
    "    session_clear(t, 0);\n"
    "    for (int i = 0; i < 5; i++) {\n"
    "        if (!step(t, i, i, y))\n"
    "            return 4;\n"
    "    }\n"
    "    if (memcmp(x, y, row) != 0)\n"
    "        return 5;\n"
    "    int32_t text[9] = {0, 1, 2, 3, 4}, bad[2] = {1, MODEL_VOCAB};\n"
    "    if (!session_prefill(s, 0, text, 5, x) || memcmp(x, y, row) != 0)\n"
    "        return 7;\n"
    "    if (session_prefill(s, 1, text, 5, x) || session_prefill(s, 0, text, 0, x) ||\n"
    "        session_prefill(s, 0, text, 9, x) || session_prefill(s, 0, bad, 2, x))\n"
    "        return 8;\n"
    "    if (step(s, 1, 8, x) || step(s, MODEL_VOCAB, 5, x) || step(s, 1, -1, x))\n"
    "        return 6;\n"
    "    session_free(s);\n"
    "    session_free(t);\n"
    "    model_close(file);\n"
    "    free(x);\n"
    "    free(y);\n"
    "    return 0;\n"
    "}\n";

static void check_sessions(const Case *p) {
    write_bytes(p->out, "user.c", user_text, sizeof user_text - 1);
    int code = shell("cd %s && cc -std=c11 -g -fsanitize=address,undefined user.c libmodel.a "
                     "-lpthread -lm -o user && ./user",
                     p->out);
    check(p->t, code == 0,
          arena_printf(p->t->a, "%s: a program with two sessions ends with %d", p->out, code));
}

static void check_case(Test *t, const char *name, const char *program, const char *weights,
                       const char *const *sizes, Run *greedy, bool more) {
    Case p = {t, program, weights, arena_printf(t->a, "%s/c_%s", t->dir, name), sizes};
    Run drawn = {0}, chunks = {0};
    bool good = interpret(&p, 0, 0, greedy) && interpret(&p, 0.8f, 0, &drawn);
    check(t, good, arena_printf(t->a, "%s is interpreted", name));
    check(t, interpret(&p, 0, 3, &chunks) && memcmp(&chunks, greedy, sizeof chunks) == 0,
          arena_printf(t->a, "%s: chunks of 3 make no difference", name));
    bool made = good && export_program(&p);
    check(t, made, arena_printf(t->a, "%s is exported", name));
    if (!made)
        return;
    check_compiler(&p, "gcc", "-O1 -fsanitize=address,undefined", greedy, &drawn);
    if (more && have("clang"))
        check_compiler(&p, "clang", "-O2", greedy, &drawn);
    if (more)
        check_sessions(&p);
    if (have("clang-format"))
        check(t,
              shell("cd %s && for f in *.[ch]; do clang-format $f | cmp -s - $f || exit 1; done",
                    p.out) == 0,
              arena_printf(t->a, "%s: clang-format changes nothing", name));
}

// The package in some of three ways: with prefill and decode, with decode alone, and derived.
static void check_decoder(Test *t, const char *dtype, int kinds) {
    const char *sizes[sizeof decoder_sizes / sizeof *decoder_sizes];
    memcpy(sizes, decoder_sizes, sizeof sizes);
    sizes[8] = arena_printf(t->a, "T=%s", dtype);
    const char *weights = arena_printf(t->a, "%s/%s.safetensors", t->dir, dtype);
    static const struct {
        const char *name, *fields;
    } blocks[] = {
        {"written", "    prefill = prefill\n    decode = decode\n    cache = kv_cache(MaxSeq)\n"},
        {"stepwise", "    decode = decode\n    cache = kv_cache(MaxSeq)\n"},
        {"derived", "    cache = kv_cache(S)\n"},
    };
    Run runs[3] = {0};
    for (int i = 0; i < kinds; i++) {
        const char *name = arena_printf(t->a, "%s_%s", blocks[i].name, dtype);
        const char *program = package(t, name, blocks[i].fields);
        if (i == 0)
            write_weights(t, weights, program, sizes);
        check_case(t, name, program, weights, sizes, &runs[i], i == 0 && sizes[8][2] == 'f');
        check(t, memcmp(runs[i].tokens, runs[0].tokens, sizeof runs[0].tokens) == 0,
              arena_printf(t->a, "%s: the tokens of the others", name));
        check(t, memcmp(runs[i].logits, runs[0].logits, sizeof runs[0].logits) == 0,
              arena_printf(t->a, "%s: the logits of the others", name));
        check(t, runs[i].cache == runs[0].cache && runs[i].written == (i < 2),
              arena_printf(t->a, "%s: the bytes of the others", name));
    }
}

// The small Llama with the other functions of std.nn.cache.
static void change_writes(Test *t, const char *program) {
    static const char change[] =
        "s/^module .*/module other_writes/; "
        "s/write_at, write_span/write_rows, write_slot, write_slots, write_tokens/; "
        "/ prefill</,/^    }/ {"
        " s/write_span(keys, \\(.*\\), pos)/write_tokens(keys, \\1, fill<i32>([S], 0), at)/;"
        " s/write_span(values, \\(.*\\), pos)/write_slots(values, \\1, fill<i32>([1], 0), pos)/ };"
        "s/write_at(keys, \\(.*\\), pos)/write_rows(keys, \\1, at)/; "
        "s/write_at(values, \\(.*\\), pos)/write_slot(values, \\1, 0, pos)/";
    check(
        t,
        shell("sed '%s' tests/core/written_cache.serin >%s && ! grep -E '(write_at|write_span)' %s",
              change, program, program) == 0,
        "other writes");
}

static void check_file(Test *t, const char *name) {
    static const char *const sizes[] = {"MaxSeq=24", NULL};
    bool other = strcmp(name, "other_writes") == 0;
    const char *program = other ? arena_printf(t->a, "%s/other_writes.serin", t->dir)
                                : arena_printf(t->a, "tests/core/%s.serin", name);
    if (other)
        change_writes(t, program);
    const char *weights = arena_printf(t->a, "%s/%s.safetensors", t->dir, name);
    Run run = {0};
    write_weights(t, weights, program, sizes);
    check_case(t, name, program, weights, sizes, &run, !other);
}

int main(void) {
    char dir[100];
    Test t = {.a = arena_new(), .dir = test_folder(dir)};
    check_decoder(&t, "f32", 3);
    check_decoder(&t, "bf16", 1);
    check_file(&t, "written_cache");
    check_file(&t, "written_states");
    check_file(&t, "other_writes");
    check(&t, shell("rm -r %s", dir) == 0, "tidies up");
    arena_free(t.a);
    printf("%d passed, %d failed\n", t.passed, t.failed);
    return t.failed != 0;
}
