// What stands under the cursor: a walk over the checked tree of the root module, to the smallest
// node around the place that is known by name or has a type.
#include "cli/lsp.h"

typedef struct {
    const Document *d;
    Arena *a;
    int at;      // the offset looked for
    Item *block; // around it
    Item *fn;
    Found found;
} Walk;

static void in_expr(Walk *w, const Expr *e);
static void in_type(Walk *w, const AstType *t);
static void in_body(Walk *w, const StmtVec *body);

static bool around(const Walk *w, Span s) {
    return s.file == w->d->file && s.start <= w->at && w->at <= s.end;
}

static void take(Walk *w, Span span, const char *text, Span target) {
    w->found = (Found){span, text, target};
}

static const char *typed(Walk *w, const char *name, const Type *t) {
    return t ? arena_printf(w->a, "%s: %s", name, type_text(w->a, t)) : name;
}

static const char *signature(Walk *w, const Item *item) {
    StrBuf b = strbuf_new(w->a);
    ast_signature(item, &b);
    return b.data;
}

// ---- Names -------------------------------------------------------------------------------------

static const char *const kind_names[] = {"Dim", "Shape", "DType", "Numeric", "Integer", "Float"};

static bool take_generic(Walk *w, const Item *item, Name name, Span span) {
    for (int i = 0; item && i < item->generics.len; i++) {
        const GenericDecl *g = &item->generics.data[i];
        if (g->name != name)
            continue;
        take(w, span, arena_printf(w->a, "%s%s: %s", g->pack ? "*" : "", name, kind_names[g->kind]),
             g->span);
        return true;
    }
    return false;
}

static void take_item(Walk *w, const Item *item, Span span) {
    take(w, span, signature(w, item), item->name_span);
}

// A type's name: a generic, an item or an import.
static void take_named(Walk *w, Name name, Span span) {
    const Module *m = w->d->program->root;
    if (take_generic(w, w->fn, name, span) || take_generic(w, w->block, name, span))
        return;
    const Item *item = map_get(&m->scope, name);
    for (int i = 0; !item && i < m->imports.len; i++) {
        if (m->imports.data[i]->alias == name)
            item = m->imports.data[i]->item;
    }
    if (item)
        take_item(w, item, span);
}

static void take_ref(Walk *w, const Expr *e, Span span) {
    switch (e->ref) {
    case REF_LOCAL:
        take(w, span, typed(w, e->name, e->type ? e->type : e->local->type), e->local->span);
        return;
    case REF_PARAM:
        take(w, span, typed(w, e->name, e->type ? e->type : e->param->type), e->param->span);
        return;
    case REF_GENERIC:
        if (take_generic(w, w->fn, e->name, span) || take_generic(w, w->block, e->name, span))
            return;
        break;
    case REF_MEMBER:
        take(w, span, typed(w, e->name, e->member ? e->member->type : e->type),
             e->member ? e->member->span : (Span){0});
        return;
    case REF_CONST:
    case REF_FN:
    case REF_ENUM:
    case REF_VARIANT:
        if (e->item) {
            take_item(w, e->item, span);
            return;
        }
        break;
    default:
        break;
    }
    take(w, span, e->type ? typed(w, e->name, e->type) : NULL, (Span){0});
}

// ---- Expressions -------------------------------------------------------------------------------

static void in_shape(Walk *w, const ShapeVec *shape) {
    for (int i = 0; i < shape->len; i++) {
        if (shape->data[i].expr)
            in_expr(w, shape->data[i].expr);
        else if (around(w, shape->data[i].span))
            take_named(w, shape->data[i].pack, shape->data[i].span);
    }
}

static void in_generics(Walk *w, const AstGenericArgVec *args) {
    for (int i = 0; i < args->len; i++) {
        in_type(w, args->data[i].type);
        in_expr(w, args->data[i].expr);
        in_shape(w, &args->data[i].shape);
    }
}

static void in_type(Walk *w, const AstType *t) {
    if (!t || !around(w, t->span))
        return;
    if (t->kind == AST_TYPE_NAMED && t->path.len == 1)
        take_named(w, t->path.data[0], t->span);
    in_generics(w, &t->args);
    in_shape(w, &t->shape);
    in_type(w, t->elem);
    for (int i = 0; i < t->items.len; i++)
        in_type(w, t->items.data[i]);
    in_expr(w, t->count);
}

static void in_pattern(Walk *w, const Pattern *p) {
    if (!p || !around(w, p->span))
        return;
    if (p->kind == PATTERN_NAME && p->local)
        take(w, p->span, typed(w, p->name, p->local->type), p->local->span);
    for (int i = 0; i < p->items.len; i++)
        in_pattern(w, p->items.data[i]);
}

static void take_index(Walk *w, const IndexVar *v, Span span) {
    const char *text = v->name;
    if (v->extent)
        text = arena_printf(w->a, "%s in 0..%s", v->name, dim_text(w->a, v->extent));
    take(w, span, text, v->span);
}

static void in_indices(Walk *w, const IndexVarVec *list) {
    for (int i = 0; i < list->len; i++) {
        if (around(w, list->data[i]->span))
            take_index(w, list->data[i], list->data[i]->span);
    }
}

static void in_parts(Walk *w, const IndexPartVec *parts) {
    for (int i = 0; i < parts->len; i++) {
        const IndexPart *p = &parts->data[i];
        in_expr(w, p->expr);
        in_expr(w, p->start);
        in_expr(w, p->stop);
        in_expr(w, p->step);
        if (p->var && around(w, p->span))
            take_index(w, p->var, p->span);
    }
}

static void in_children(Walk *w, const Expr *e) {
    in_expr(w, e->a);
    in_expr(w, e->b);
    in_expr(w, e->c);
    in_generics(w, &e->generics);
    for (int i = 0; i < e->args.len; i++)
        in_expr(w, e->args.data[i].value);
    in_parts(w, &e->parts);
    for (int i = 0; i < e->arms.len; i++) {
        in_pattern(w, e->arms.data[i].pattern);
        in_expr(w, e->arms.data[i].value);
    }
    in_type(w, e->elem);
    in_indices(w, &e->indices);
    in_pattern(w, e->pattern);
    in_body(w, &e->body);
    for (int i = 0; i < e->items.len; i++)
        in_expr(w, e->items.data[i]);
    in_shape(w, &e->shape);
}

// The name that is called: its signature, and what this call gives.
static void take_callee(Walk *w, const Expr *call) {
    Span span = call->a->kind == EXPR_MEMBER ? call->a->name_span : call->a->span;
    if (!around(w, span) || (call->a->kind != EXPR_MEMBER && call->a->kind != EXPR_NAME))
        return;
    const char *text = call->item ? signature(w, call->item) : call->a->name;
    if (call->type)
        text = arena_printf(w->a, "%s\n// here: %s", text, type_text(w->a, call->type));
    take(w, span, text, call->item ? call->item->name_span : (Span){0});
}

static void in_expr(Walk *w, const Expr *e) {
    if (!e || !around(w, e->span))
        return;
    if (e->kind == EXPR_NAME)
        take_ref(w, e, e->span);
    else if (e->type)
        take(w, e->span, type_text(w->a, e->type), (Span){0});
    in_children(w, e);
    if (e->kind == EXPR_CALL)
        take_callee(w, e);
    if (e->kind == EXPR_MEMBER && around(w, e->name_span))
        take_ref(w, e, e->name_span);
}

// ---- Statements and items ----------------------------------------------------------------------

static void in_stmt(Walk *w, const Stmt *s) {
    in_pattern(w, s->pattern);
    if (around(w, s->name_span) && s->local)
        take(w, s->name_span, typed(w, s->name, s->local->type), s->local->span);
    else if (around(w, s->name_span) && s->member)
        take(w, s->name_span, typed(w, s->name, s->member->type), s->member->span);
    in_type(w, s->type);
    in_indices(w, &s->indices);
    in_expr(w, s->value);
    in_expr(w, s->from);
    in_expr(w, s->to);
    in_body(w, &s->body);
    for (int i = 0; i < s->args.len; i++)
        in_expr(w, s->args.data[i]);
}

static void in_body(Walk *w, const StmtVec *body) {
    for (int i = 0; i < body->len; i++) {
        if (around(w, body->data[i]->span))
            in_stmt(w, body->data[i]);
    }
}

static void in_params(Walk *w, const ParamVec *params) {
    for (int i = 0; i < params->len; i++) {
        const Param *p = params->data[i];
        if (around(w, p->span))
            take(w, p->span, typed(w, p->name, p->type), p->span);
        in_type(w, p->type_ast);
        in_expr(w, p->fallback);
    }
}

static void in_members(Walk *w, const Item *block) {
    for (int i = 0; i < block->members.len; i++) {
        const Member *m = block->members.data[i];
        if (around(w, m->span))
            take(w, m->span, typed(w, m->name, m->type), m->span);
        in_type(w, m->type_ast);
    }
}

static void in_declaration(Walk *w, const Item *item) {
    if (around(w, item->name_span))
        take_item(w, item, item->name_span);
    for (int i = 0; i < item->generics.len; i++) {
        if (around(w, item->generics.data[i].span))
            take_generic(w, item, item->generics.data[i].name, item->generics.data[i].span);
    }
    for (int i = 0; i < item->where.len; i++) {
        in_expr(w, item->where.data[i].a);
        in_expr(w, item->where.data[i].b);
    }
    in_params(w, &item->params);
    in_type(w, item->result_ast);
    in_expr(w, item->value);
    for (int i = 0; i < item->fields.len; i++)
        in_type(w, item->fields.data[i].type_ast);
    for (int i = 0; i < item->serve.len; i++)
        in_expr(w, item->serve.data[i].value);
    in_members(w, item);
    in_body(w, &item->body);
    in_body(w, &item->grad_body);
}

static void in_items(Walk *w, const ItemVec *items) {
    for (int i = 0; i < items->len; i++) {
        Item *item = items->data[i];
        if (!around(w, item->span))
            continue;
        if (item->kind == ITEM_BLOCK)
            w->block = item;
        else
            w->fn = item;
        in_declaration(w, item);
        in_items(w, &item->items);
    }
}

Found lsp_find(const Document *d, int offset) {
    Walk w = {.d = d, .a = d->s->arena, .at = offset};
    const Module *m = d->program->root;
    for (int i = 0; i < m->imports.len; i++) {
        const Import *im = m->imports.data[i];
        if (around(&w, im->span) && im->item)
            take_item(&w, im->item, im->span);
    }
    in_items(&w, &m->items);
    return w.found;
}
