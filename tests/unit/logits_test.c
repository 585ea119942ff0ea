// Logits of whole models against float64 implementations that share nothing with this one
// (tests/data/README.md): within 1e-5 of their scale, and the same most likely token.
#include "cli/model.h"
#include "lower/lower.h"
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    int passed, failed, skipped;
    Arena *arena;
    Model m;
    RtPool *pool;
    Interp *it;
    InterpBlock *self;
    CoreFn *fn;
    const Dim *length;
} Test;

static void check(Test *t, bool ok, const char *what, int number) {
    if (ok)
        t->passed++;
    else
        t->failed++, printf("failed: %s: %s, number %d\n", t->m.path, what, number);
}

// Opens a checkpoint and lowers its `forward`: tokens [1, S] -> logits [1, S, V].
static bool open_model(Test *t, const char *path) {
    Args none = {0};
    char error[512] = "";
    if (model_open(t->arena, path, &none, &t->m) != 0)
        return false;
    Model *m = &t->m;
    Item *entry = NULL;
    for (int i = 0; i < m->serve.model->items.len; i++) {
        if (strcmp(m->serve.model->items.data[i]->name, "forward") == 0)
            entry = m->serve.model->items.data[i];
    }
    GenericArg *args = NEW_N(t->arena, GenericArg, entry->generics.len);
    args[0] = (GenericArg){.dim = dim_const(m->program->dims, 1), .bound = true};
    t->length = entry->generics.data[1].generic->dim;
    m->core = core_new(m->s, m->program->dims);
    LowerOptions o = {.program = m->program, .core = m->core, .block_args = m->block_args,
                      .ctx = m->checkpoint, .present = checkpoint_present, .serving = true};
    t->fn = lower_entry(&o, m->serve.model, entry, args);
    if (!t->fn)
        return false;
    t->it = interp_new(m->core, t->pool);
    t->self = interp_block(t->it, t->fn->self, model_weight, m, error, sizeof error);
    printf("%s", error);
    return t->self != NULL;
}

static void close_model(Test *t) {
    if (t->m.s && t->m.s->errors)
        diags_print(t->m.s, stdout, false);
    interp_free(t->it);
    model_close(&t->m);
    t->it = NULL;
}

// Logits [S, V] of a prompt, owned by the interpreter. NULL after a failure.
static const float *run(Test *t, const cJSON *ids, int *count, int64_t *vocab) {
    char error[512];
    Tensor tokens = {.dtype = DT_I32, .rank = 2, .dims = {1, cJSON_GetArraySize(ids)}}, logits;
    int32_t *data = NEW_N(t->arena, int32_t, tokens.dims[1]);
    *count = 0;
    for (const cJSON *id = ids->child; id; id = id->next)
        data[(*count)++] = id->valueint;
    tokens.data = data;
    interp_bind(t->it, t->length, *count);
    if (!interp_call(t->it, t->fn, t->self, 1, &tokens, &logits, error, sizeof error)) {
        printf("%s\n", error);
        return NULL;
    }
    *vocab = logits.dims[2];
    return logits.data;
}

static int most_likely(const float *row, int64_t vocab) {
    int best = 0;
    for (int i = 1; i < vocab; i++)
        best = row[i] > row[best] ? i : best;
    return best;
}

static void check_top(Test *t, const cJSON *top, const float *logits, int64_t vocab) {
    int row = 0;
    for (const cJSON *id = top->child; id; id = id->next, row++)
        check(t, most_likely(logits + row * vocab, vocab) == id->valueint, "most likely", row);
}

// One case of a tiny model: rows of logits by their number, and the top token of every row.
static void check_tiny(Test *t, const cJSON *c) {
    int count;
    int64_t vocab = 0;
    const float *logits = run(t, cJSON_GetObjectItem(c, "prompt"), &count, &vocab);
    check(t, logits != NULL, "runs", 0);
    if (!logits)
        return;
    for (const cJSON *row = cJSON_GetObjectItem(c, "logits")->child; row; row = row->next) {
        const float *ours = logits + atoi(row->string) * vocab;
        double scale = 0, worst = 0;
        int i = 0;
        for (const cJSON *x = row->child; x; x = x->next, i++) {
            scale = fmax(scale, fabs(x->valuedouble));
            worst = fmax(worst, fabs(x->valuedouble - (double)ours[i]));
        }
        check(t, i == vocab && worst <= 1e-5 * scale, "logits of a row", atoi(row->string));
    }
    check_top(t, cJSON_GetObjectItem(c, "top1"), logits, vocab);
}

// One prompt of SmolLM2: the last row's greatest logits, and the top token of every row.
static void check_smol(Test *t, const cJSON *c) {
    int count;
    int64_t vocab = 0;
    const float *logits = run(t, cJSON_GetObjectItem(c, "ids"), &count, &vocab);
    check(t, logits != NULL, "runs", 0);
    if (!logits)
        return;
    double scale = cJSON_GetObjectItem(c, "scale")->valuedouble, worst = 0;
    for (const cJSON *pair = cJSON_GetObjectItem(c, "last_top20")->child; pair; pair = pair->next) {
        double ours = (double)logits[(count - 1) * vocab + pair->child->valueint];
        worst = fmax(worst, fabs(pair->child->next->valuedouble - ours));
    }
    printf("%s: %d tokens, worst error %.2e of the scale\n",
           cJSON_GetObjectItem(c, "name")->valuestring, count, worst / scale);
    check(t, worst <= 1e-5 * scale, "the last row's greatest logits", count);
    check_top(t, cJSON_GetObjectItem(c, "top1"), logits, vocab);
}

static cJSON *read_json(Test *t, const char *path) {
    const char *why = NULL;
    Source *s = source_load(t->arena, path, &why);
    return s ? cJSON_Parse(s->text.ptr) : NULL;
}

static void test_model(Test *t, const char *path, const char *golden, const char *list,
                       void (*one)(Test *, const cJSON *), int longest) {
    cJSON *g = read_json(t, golden);
    const cJSON *cases = list ? cJSON_GetObjectItem(g, list) : g;
    bool good = g && open_model(t, path);
    check(t, good, "opens", 0);
    for (const cJSON *c = good ? cases->child : NULL; c; c = c->next) {
        const cJSON *ids = cJSON_GetObjectItem(c, list ? "prompt" : "ids");
        if (cJSON_GetArraySize(ids) <= longest)
            one(t, c);
    }
    close_model(t);
    cJSON_Delete(g);
}

int main(int argc, char **argv) {
    static const char *const tiny[] = {"gqa", "llama3", "llama31", "tied", "single"};
    const char *smol = "build/models/SmolLM2-135M-Instruct.Q4_1.gguf";
    Test t = {.arena = arena_new(), .pool = rt_pool_new(0)};
    for (size_t i = 0; i < sizeof tiny / sizeof *tiny; i++) {
        const char *folder = arena_printf(t.arena, "tests/data/tiny/%s", tiny[i]);
        const char *golden = arena_printf(t.arena, "%s/golden.json", folder);
        test_model(&t, folder, golden, "cases", check_tiny, 1 << 20);
    }
    if (argc > 1)
        smol = argv[1];
    if (access(smol, R_OK) == 0)
        test_model(&t, smol, "tests/data/smollm2/golden.json", NULL, check_smol,
                   argc > 1 ? 1 << 20 : 40);
    else
        t.skipped++, printf("skipped: %s is not here (tools/demo fetches it)\n", smol);
    rt_pool_free(t.pool);
    arena_free(t.arena);
    printf("%d passed, %d failed, %d skipped\n", t.passed, t.failed, t.skipped);
    return t.failed != 0;
}
