// Rows that come and go: a row is given a new text while another is far along, with caches that
// hold the whole context and with ones that slide. Every text gets the tokens that it gets alone.
#include "cli/generate.h"
#include <stdlib.h>
#include <string.h>

enum { LONG = 60, SHORT = 20, ROOM = 64, CHUNK = 16 };

typedef struct {
    int passed, failed;
    Arena *a;
} Test;

static void check(Test *t, bool ok, const char *what) {
    if (ok)
        t->passed++;
    else
        t->failed++, printf("failed: %s\n", what);
}

// A text of n tokens that begins at `first`; `more` are to come.
static Sequence text(Test *t, int n, int more, int first) {
    int32_t ids[ROOM];
    for (int i = 0; i < n; i++)
        ids[i] = (first + 7 * i) % 96;
    return sequence_new(t->a, ids, n, more, 3, 0.9f);
}

static bool alone(Model *m, Sequence s, int32_t *out) {
    GenerateOptions o = {.chunk = CHUNK, .threads = 1};
    bool good = generate(m, &s, 1, &o, NULL, NULL);
    memcpy(out, s.tokens, (size_t)s.length * sizeof *out);
    return good;
}

static bool equal(const Sequence *s, const int32_t *want) {
    return memcmp(s->tokens, want, (size_t)s->length * sizeof *want) == 0;
}

// Row 1 serves one text, waits, and is then given another while row 0 nears the end of its room.
static void test_rows(Test *t, Model *m) {
    int32_t want[3][ROOM];
    Engine e;
    Sequence rows[2] = {text(t, LONG, ROOM - LONG, 1), text(t, SHORT, 4, 50)};
    Sequence *const pick[2] = {&rows[0], &rows[1]};
    bool good = alone(m, text(t, LONG, ROOM - LONG, 1), want[0]) &&
                alone(m, text(t, SHORT, 4, 50), want[1]) &&
                alone(m, text(t, SHORT + 3, 9, 80), want[2]) &&
                engine_start(&e, m, 2, ROOM, CHUNK, 1);
    check(t, good, "starts");
    while (good && (rows[0].fed < LONG || !rows[1].done))
        good = engine_step(&e, pick);
    check(t, good && rows[1].done && equal(&rows[1], want[1]), "the first text of row 1");
    rows[1] = text(t, SHORT + 3, 9, 80);
    while (good && (!rows[0].done || !rows[1].done))
        good = engine_step(&e, pick);
    check(t, good && equal(&rows[0], want[0]), "row 0, undisturbed");
    check(t, good && equal(&rows[1], want[2]), "the second text of row 1");
    engine_end(&e);
}

enum { TEXTS = 7 };

// Seven texts of several lengths in two rows: each waits for a row, and leaves it to another.
static void test_queue(Test *t, Model *m) {
    GenerateOptions o = {.chunk = CHUNK, .threads = 1, .rows = 2};
    static const int lengths[TEXTS] = {40, 1, 17, 3, 33, 16, 5},
                     more[TEXTS] = {3, 20, 1, 0, 9, 31, 4};
    int32_t want[TEXTS][ROOM];
    Sequence all[TEXTS];
    bool good = true;
    for (int i = 0; i < TEXTS; i++) {
        all[i] = text(t, lengths[i], more[i], 11 * i);
        good &= alone(m, text(t, lengths[i], more[i], 11 * i), want[i]);
    }
    check(t, good && generate(m, all, TEXTS, &o, NULL, NULL), "seven texts in two rows");
    for (int i = 0; i < TEXTS; i++)
        check(t, all[i].done && all[i].length == lengths[i] + more[i] && equal(&all[i], want[i]),
              "a text that waited");
}

static void test_model(Test *t, const char *path, bool slides) {
    Args none = {0};
    Model m;
    bool good = model_open(t->a, path, &none, &m) == 0 && model_lower(&m, &none, 0) == 0 &&
                model_match_weights(&m) == 0 && model_derive(&m) == 0 && model_slide(&m) == 0;
    check(t, good && m.step && (m.step->origin != 0) == slides, path);
    if (good)
        test_rows(t, &m), test_queue(t, &m);
    diags_print(m.s, stdout, false);
    model_close(&m);
}

int main(void) {
    static const int windows[] = {3, 40};
    char dir[] = "/tmp/serin-engine-XXXXXX";
    Test t = {.a = arena_new()};
    check(&t, mkdtemp(dir) != NULL, "a folder");
    test_model(&t, "tests/data/tiny/gqa", false);
    for (int i = 0; i < 2; i++) {
        const char *make = arena_printf(
            t.a,
            "cp tests/data/tiny/gqa/model.safetensors %s && sed 's/LlamaFor/MistralFor/; "
            "s/\"model_type\": *\"llama\"/\"model_type\": \"mistral\", \"sliding_window\": %d/' "
            "tests/data/tiny/gqa/config.json >%s/config.json",
            dir, windows[i], dir);
        check(&t, system(make) == 0, "a model with a window");
        test_model(&t, dir, true);
    }
    check(&t, system(arena_printf(t.a, "rm -r %s", dir)) == 0, "tidies up");
    arena_free(t.a);
    printf("%d passed, %d failed\n", t.passed, t.failed);
    return t.failed != 0;
}
