// The loop of generation; see generate.h.
#include "cli/generate.h"
#include "cli/cli.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int32_t *parse_ids(Arena *a, const char *text, int64_t *count) {
    VEC(int32_t) ids = {0};
    const char *p = text;
    for (;;) {
        p += strspn(p, " \t\n");
        if (!*p)
            break;
        char *end;
        errno = 0;
        long v = strtol(p, &end, 10);
        bool good =
            *p >= '0' && *p <= '9' && !errno && v <= INT32_MAX && (!*end || strchr(" \t\n", *end));
        if (!good) {
            usage_error("token ids are integers separated by spaces, not \"%s\"", p);
            return NULL;
        }
        vec_push(a, &ids, (int32_t)v);
        p = end;
    }
    *count = ids.len;
    if (!ids.len)
        usage_error("the prompt is empty: at least one token id is needed");
    return ids.data;
}

static bool check_prompt(Model *m, const int32_t *prompt, int64_t count, int64_t tokens) {
    for (int64_t i = 0; i < count; i++) {
        if (prompt[i] >= m->vocab) {
            report(m->s, (Span){0}, E7003, "token %d is outside the vocabulary of %lld", prompt[i],
                   (long long)m->vocab);
            return false;
        }
    }
    if (m->window && count < m->window) {
        report(m->s, (Span){0}, E7001, "the prompt has %lld tokens, the window %lld",
               (long long)count, (long long)m->window);
        return false;
    }
    if (!m->window && m->context >= 0 && count + tokens > m->context) {
        report(m->s, (Span){0}, E7002,
               "the prompt has %lld tokens, %lld more are asked for, the context holds %lld",
               (long long)count, (long long)tokens, (long long)m->context);
        return false;
    }
    return true;
}

bool generator_start(Generator *g, Model *m, const int32_t *prompt, int64_t count, int64_t tokens,
                     uint64_t seed, float temperature, int threads) {
    char error[512];
    *g = (Generator){.m = m, .temperature = temperature, .key = rt_key(seed)};
    if (!check_prompt(m, prompt, count, tokens))
        return false;
    g->context = NEW_N(m->a, int32_t, count + tokens + 1);
    memcpy(g->context, prompt, (size_t)count * sizeof *prompt);
    g->length = count;
    g->pool = rt_pool_new(threads);
    g->it = interp_new(m->core, g->pool);
    g->self = interp_block(g->it, m->entry->self, model_weight, m, error, sizeof error);
    if (!g->self)
        report(m->s, (Span){0}, E7004, "%s", error);
    return g->self != NULL;
}

bool generator_next(Generator *g, int32_t *id) {
    Model *m = g->m;
    char error[512];
    bool greedy = g->temperature == 0;
    int64_t n = m->window ? m->window : g->length;
    RtKey child = rt_child(g->key, (uint32_t)++g->step);
    int64_t key[2] = {child.word[0], child.word[1]};
    float temperature = greedy ? 1.0f : g->temperature;
    Tensor args[3] = {0}, result = {0};
    if (m->key >= 0)
        args[m->key] = (Tensor){.dtype = DT_I64, .rank = 1, .dims = {2}, .data = key};
    if (m->temperature >= 0)
        args[m->temperature] = (Tensor){.dtype = DT_F32, .data = &temperature};
    args[m->tokens] = (Tensor){.dtype = DT_I32, .rank = 2, .dims = {1, n}};
    args[m->tokens].data = g->context + g->length - n;
    if (m->length)
        interp_bind(g->it, m->length, n);
    int count = 1 + (m->key >= 0) + (m->temperature >= 0);
    if (!interp_call(g->it, greedy ? m->greedy : m->entry, g->self, count, args, &result, error,
                     sizeof error)) {
        report(m->s, (Span){0}, E7004, "%s", error);
        return false;
    }
    *id = ((const int32_t *)result.data)[0];
    g->context[g->length++] = *id;
    return true;
}

void generator_end(Generator *g) {
    interp_free(g->it);
    rt_pool_free(g->pool);
    *g = (Generator){0};
}
