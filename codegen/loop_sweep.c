// Takes away what folding left without a use: variables, parameters, symbols.
#include "codegen/loop_build.h"

typedef struct {
    Arena *arena;
    Map counts; // a variable's name, by identity -> mentions
} Sweep;

static void count_names(Sweep *s, const Expr *x, intptr_t by) {
    if (x->op == X_NAME) {
        intptr_t n = (intptr_t)map_get(&s->counts, x->name) + by;
        map_put(s->arena, &s->counts, x->name, (void *)n);
    }
    for (int i = 0; i < x->count; i++)
        count_names(s, x->args[i], by);
}

static void count_stmt(Sweep *s, const Stmt *stmt, intptr_t by) {
    if (stmt->value)
        count_names(s, stmt->value, by);
    if (stmt->target)
        count_names(s, stmt->target, by);
    for (int i = 0; i < stmt->body.len; i++)
        count_stmt(s, stmt->body.data[i], by);
}

static bool is_unused(const Sweep *s, const Stmt *stmt) {
    bool declares = stmt->op == S_LET || stmt->op == S_ARRAY || stmt->op == S_BUFFER;
    return declares && !map_get(&s->counts, stmt->name);
}

// Comments and blank lines that stand before nothing any more.
static void tidy(Stmts *list) {
    int kept = 0;
    for (int i = 0; i < list->len; i++) {
        const Stmt *next = i + 1 < list->len ? list->data[i + 1] : NULL;
        bool first = kept == 0 || list->data[kept - 1]->op == S_BLANK;
        bool nothing = !next || next->op == S_BLANK || next->op == S_COMMENT;
        if (list->data[i]->op == S_COMMENT && nothing)
            continue;
        if (list->data[i]->op == S_BLANK && (first || !next))
            continue;
        list->data[kept++] = list->data[i];
    }
    list->len = kept;
    if (kept && list->data[kept - 1]->op == S_BLANK)
        list->len--;
}

// From the last statement to the first: uses follow definitions.
static void sweep_list(Sweep *s, Stmts *list) {
    int from = list->len;
    for (int i = list->len - 1; i >= 0; i--) {
        Stmt *stmt = list->data[i];
        sweep_list(s, &stmt->body);
        if (is_unused(s, stmt) && stmt->effects)
            stmt->op = S_DO;
        if (is_unused(s, stmt))
            count_stmt(s, stmt, -1);
        else
            list->data[--from] = stmt;
    }
    for (int i = from; i < list->len; i++)
        list->data[i - from] = list->data[i];
    list->len -= from;
    tidy(list);
}

static void drop_params(const Sweep *s, LoopFn *f, int results) {
    int kept = results, p = results;
    for (int i = 0; i < f->source->params.len; i++) {
        if (!f->param_used[i])
            continue;
        f->param_used[i] = map_get(&s->counts, f->params.data[p].name) != NULL;
        if (f->param_used[i])
            f->params.data[kept++] = f->params.data[p];
        p++;
    }
    f->params.len = kept;
}

void loop_sweep(LoopModule *m, LoopFn *f, int results) {
    Sweep s = {.arena = m->core->session->arena};
    for (int i = 0; i < f->body.len; i++)
        count_stmt(&s, f->body.data[i], 1);
    sweep_list(&s, &f->body);
    drop_params(&s, f, results);
    int kept = 0;
    for (int i = 0; i < f->symbols.len; i++) {
        if (map_get(&s.counts, loop_symbol(m, f->symbols.data[i])))
            f->symbols.data[kept++] = f->symbols.data[i];
    }
    f->symbols.len = kept;
}
