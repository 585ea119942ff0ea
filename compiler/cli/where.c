// Where clauses in numbers; see where.h.
#include "cli/where.h"

typedef struct {
    Model *m;
    const Item *decl;
    const Subst *s;
    Diag *d;         // that gets the notes
    const Dim *told; // whose symbols have theirs, or NULL
} Values;

static bool holds(BinaryOp rel, int64_t a, int64_t b) {
    switch (rel) {
    case BINARY_EQ:
        return a == b;
    case BINARY_NE:
        return a != b;
    case BINARY_LT:
        return a < b;
    case BINARY_LE:
        return a <= b;
    case BINARY_GT:
        return a > b;
    default:
        return a >= b;
    }
}

static const GenericDecl *declared(const Item *decl, const Dim *symbol) {
    for (; decl; decl = decl->block) {
        for (int i = 0; i < decl->generics.len; i++) {
            if (decl->generics.data[i].generic->dim == symbol)
                return &decl->generics.data[i];
        }
    }
    return NULL;
}

// "`Heads` is 3, by --set".
static void note_value(void *ctx, const Dim *symbol) {
    Values *v = ctx;
    Session *s = v->m->s;
    const GenericDecl *g = declared(v->decl, symbol);
    const Dim *value = subst_dim(v->m->program->dims, symbol, v->s);
    const Setting *set = NULL;
    if (!g || (v->told && dim_mentions(v->told, symbol)))
        return;
    const char *text = dim_text(v->m->a, value);
    for (int i = 0; i < v->m->settings.len; i++) {
        if (v->m->settings.data[i].name == g->name)
            set = &v->m->settings.data[i];
    }
    if (set)
        diag_note(s, v->d, set->span, "`%s` is %s, by %s", g->name, text, set->origin);
    else if (g->value.bound && g->value.dim && dim_is_const(g->value.dim, NULL))
        diag_note(s, v->d, g->span, "`%s` is %s, its default", g->name, text);
    else
        diag_note(s, v->d, g->span, "`%s` is %s, by the shapes of tensors", g->name, text);
}

static void report_clause(Values *v, const Where *w, const Dim *l, const Dim *r) {
    Model *m = v->m;
    StrBuf text = strbuf_new(m->a);
    ast_expr_text(w->a, &text);
    strbuf_printf(&text, " %s ", binary_text(w->rel));
    ast_expr_text(w->b, &text);
    v->d = report(m->s, w->span, E2206, "`%s` needs `%s`", v->decl->name, text.data);
    diag_note(m->s, v->d, (Span){0}, "with the generics bound, it reads `%s %s %s`",
              dim_text(m->a, l), binary_text(w->rel), dim_text(m->a, r));
    v->told = NULL;
    dim_symbols(w->left, note_value, v);
    v->told = w->left;
    dim_symbols(w->right, note_value, v);
}

bool where_holds(Model *m, const Item *decl, const Subst *s, bool all) {
    bool good = true;
    Values v = {.m = m, .decl = decl, .s = s};
    for (int i = 0; i < decl->where.len; i++) {
        const Where *w = &decl->where.data[i];
        int64_t a, b;
        if (!w->left || !w->right)
            continue;
        const Dim *l = subst_dim(m->program->dims, w->left, s);
        const Dim *r = subst_dim(m->program->dims, w->right, s);
        bool decided = dim_is_const(l, &a) && dim_is_const(r, &b);
        if (decided ? holds(w->rel, a, b) : !all || !good)
            continue;
        report_clause(&v, w, l, r);
        good = false;
    }
    return good;
}
