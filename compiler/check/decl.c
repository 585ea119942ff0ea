// Declarations: generics, where clauses, signatures, members, constants, bodies.
//
// A signature is checked when it is first needed, in the scope of its own module; a body once,
// after all signatures, with its generics symbolic and its where clauses as facts.
#include "check/internal.h"
#include "syntax/parse.h"
#include <string.h>

Item *block_item(Item *block, Name name) {
    for (int i = 0; i < block->items.len; i++) {
        if (block->items.data[i]->name == name)
            return block->items.data[i];
    }
    return NULL;
}

Member *block_member(Item *block, Name name) {
    for (int i = 0; i < block->members.len; i++) {
        if (block->members.data[i]->name == name)
            return block->members.data[i];
    }
    return NULL;
}

Checker checker_for(Program *p, Item *item) {
    Checker c = {.p = p, .s = p->session, .a = p->session->arena, .dims = p->dims};
    c.module = item->module;
    c.block = item->kind == ITEM_BLOCK ? item : item->block;
    c.fn = item->kind == ITEM_BLOCK ? NULL : item;
    c.facts = item->facts;
    return c;
}

// ---- Generics and where ------------------------------------------------------------------------

static void declare_generics(Checker *c, Item *item) {
    for (int i = 0; i < item->generics.len; i++) {
        GenericDecl *g = &item->generics.data[i];
        for (int k = 0; k < i; k++) {
            if (item->generics.data[k].name == g->name)
                report(c->s, g->span, E1205, "the generic `%s` is declared twice", g->name);
        }
        if (is_prelude_name(g->name))
            report(c->s, g->span, E1207, "`%s` is a built-in name", g->name);
        if (g->pack != (g->kind == GENERIC_SHAPE))
            report(c->s, g->span, E3106, "a pack is written `*%s: Shape`", g->name);
        g->generic = NEW(c->a, Generic);
        *g->generic = (Generic){g->name, g->kind, g->span, NULL};
        if (g->kind == GENERIC_DIM)
            g->generic->dim = dim_symbol(c->dims, g->name);
    }
}

static void resolve_defaults(Checker *c, Item *item) {
    for (int i = 0; i < item->generics.len; i++) {
        GenericDecl *g = &item->generics.data[i];
        if (!g->fallback)
            continue;
        AstGenericArgVec one = {g->fallback, 1, 1};
        Item only = {.name = item->name, .name_span = item->name_span};
        only.generics.data = g;
        only.generics.len = 1;
        if (!resolve_generic_args(c, &only, &one, g->span, &g->value))
            g->value.bound = false;
        else
            check_bounds(c, &only, &g->value, g->span);
    }
}

static void resolve_where(Checker *c, Item *item) {
    static const Relation relations[] = {
        [BINARY_EQ] = REL_EQ, [BINARY_NE] = REL_NE, [BINARY_LT] = REL_LT,
        [BINARY_LE] = REL_LE, [BINARY_GT] = REL_GT, [BINARY_GE] = REL_GE,
    };
    item->facts = facts_new(c->dims, item->block ? item->block->facts : NULL);
    c->in_where = true;
    c->facts = item->facts;
    for (int i = 0; i < item->where.len; i++) {
        Where *w = &item->where.data[i];
        w->left = resolve_dim(c, w->a);
        w->right = resolve_dim(c, w->b);
        if (w->left && w->right)
            facts_add(item->facts, w->left, relations[w->rel], w->right);
    }
    c->in_where = false;
}

// ---- Constants ---------------------------------------------------------------------------------

static const Expr *setting_value(Program *p, Item *item) {
    for (int i = 0; p->settings && i < p->settings->len; i++) {
        Setting *set = &p->settings->data[i];
        if (set->name != item->name || item->module != p->root || !item->result_ast)
            continue;
        set->used = true;
        Session *s = p->session;
        const char *where = arena_printf(s->arena, "<%s %s>", set->origin, set->name);
        int errors = s->errors;
        Expr *e =
            parse_expr_text(s, session_add(s, source_new(s->arena, where, str_of(set->value))));
        if (!e || s->errors != errors)
            return NULL;
        return e;
    }
    return NULL;
}

// Takes the value of a constant's right side. False if it is none.
static bool constant_value(Item *item, const Expr *value) {
    if (value->ref == REF_CONST && !value->dim && !value->has_real) { // another, typed constant
        const Item *other = value->item;
        item->dim = other->dim;
        item->has_real = other->has_real;
        item->real = other->real;
        item->variant_or_bool = other->variant_or_bool;
        return true;
    }
    item->dim = value->dim;
    item->has_real = value->has_real;
    item->real = value->real;
    if (value->kind == EXPR_BOOL)
        item->variant_or_bool = (int)value->int_value;
    else if (value->ref == REF_VARIANT)
        item->variant_or_bool = value->field;
    return value->dim || value->has_real || value->kind == EXPR_BOOL || value->ref == REF_VARIANT;
}

// Is there room to resolve one more declaration on the way? Else E2190, once.
static bool enter(Program *p, const Item *item) {
    enum { DEEPEST = 300 };
    if (p->depth < DEEPEST) {
        p->depth++;
        return true;
    }
    if (!p->too_deep)
        report(p->session, item->name_span, E2190,
               "more than %d declarations that need each other in a row", DEEPEST);
    p->too_deep = true;
    return false;
}

// Evaluates a constant when it is first used.
void check_const(Program *p, Item *item, Span use) {
    if (item->signature == CHECK_DONE)
        return;
    Checker c = checker_for(p, item);
    c.fn = NULL;
    if (item->signature == CHECK_RUNNING) {
        report(c.s, use, E2122, "the constant `%s` is defined by itself", item->name);
        item->type = type_error();
        return;
    }
    if (!enter(p, item)) {
        item->type = type_error();
        return;
    }
    item->signature = CHECK_RUNNING;
    item->facts = c.facts = facts_new(p->dims, item->block ? item->block->facts : NULL);
    Expr *value = (Expr *)setting_value(p, item);
    if (value)
        item->setting = value;
    else
        value = item->value;
    const Type *want = item->result_ast ? resolve_type(&c, item->result_ast) : NULL;
    check_expr(&c, value, want);
    if (want && !is_error(value))
        expect_type(&c, value, want, value->span, "the constant");
    item->type = want && want->kind != TYPE_ERROR ? want : value->type;
    if (!constant_value(item, value) && !is_error(value)) {
        report(c.s, value->span, E2123, "`%s` must be a constant", item->name);
        item->type = type_error();
    }
    p->depth--;
    item->signature = CHECK_DONE;
}

// ---- Signatures --------------------------------------------------------------------------------

static void check_params(Checker *c, Item *item) {
    for (int i = 0; i < item->params.len; i++) {
        Param *p = item->params.data[i];
        for (int k = 0; k < i; k++) {
            if (item->params.data[k]->name == p->name)
                report(c->s, p->span, E1205, "the parameter `%s` is declared twice", p->name);
        }
        if (is_prelude_name(p->name))
            report(c->s, p->span, E1207, "`%s` is a built-in name", p->name);
        p->type = resolve_type(c, p->type_ast);
        if (p->type->kind == TYPE_BLOCK || p->type->kind == TYPE_ARRAY) {
            report(c->s, p->span, E2101, "a block is not a value and can't be a parameter");
            p->type = type_error();
        }
    }
}

// What an item calls, for the recursion check.
static ItemVec *callees_of(Checker *c, Item *item) {
    ItemVec *callees = map_get(&c->p->calls, item);
    if (!callees) {
        callees = NEW(c->a, ItemVec);
        map_put(c->a, &c->p->calls, item, callees);
    }
    return callees;
}

static void check_defaults(Checker *c, Item *item) {
    c->callees = callees_of(c, item);
    for (int i = 0; i < item->params.len; i++) {
        Param *p = item->params.data[i];
        if (!p->fallback)
            continue;
        check_expr(c, p->fallback, p->type);
        if (!is_error(p->fallback))
            expect_type(c, p->fallback, p->type, p->fallback->span, "the default");
    }
}

static void wrong_member(Checker *c, Member *m) {
    static const char *const what[] = {
        [AST_PARAM] = "a param is a tensor or an optional tensor",
        [AST_BUFFER] = "a buffer is a tensor",
        [AST_STATE] = "a state is a tensor",
        [AST_SUB] = "a sub is a block, an optional block, or an array of blocks: [Layer<...>; N]",
    };
    Diag *d = report(c->s, m->span, E4101, "`%s` can't have the type %s", m->name,
                     type_text(c->a, m->type));
    diag_help(c->s, d, "%s", what[m->role]);
    m->type = type_error();
}

static void check_member(Checker *c, Item *block, Member *m) {
    m->owner = block;
    m->type = resolve_type(c, m->type_ast);
    const Type *t = m->type;
    if (is_prelude_name(m->name))
        report(c->s, m->span, E1207, "`%s` is a built-in name", m->name);
    if (t->kind == TYPE_ERROR)
        return;
    const Type *inner = t->kind == TYPE_OPTIONAL ? t->items[0] : t;
    bool tensor = inner->kind == TYPE_TENSOR;
    bool sub = inner->kind == TYPE_BLOCK || t->kind == TYPE_ARRAY;
    bool fits = m->role == AST_SUB ? sub : m->role == AST_PARAM ? tensor : tensor && t == inner;
    if (!fits)
        wrong_member(c, m);
    if (!m->fallback)
        return;
    if (m->fallback->kind != EXPR_NONE)
        report(c->s, m->fallback->span, m->role == AST_PARAM ? E4102 : E4101,
               "`%s` can have no default but `none`", m->name);
    else if (t->kind != TYPE_OPTIONAL)
        report(c->s, m->fallback->span, E4101, "`%s` is not optional: write its type with `?`",
               m->name);
}

static bool is_generic_name(const Item *item, Name name) {
    for (int i = 0; i < item->generics.len; i++) {
        if (item->generics.data[i].name == name)
            return true;
    }
    return false;
}

// Members, methods and generics of a block share one scope.
static void check_members(Checker *c, Item *block) {
    for (int i = 0; i < block->members.len; i++) {
        Member *m = block->members.data[i];
        if (block_member(block, m->name) != m || is_generic_name(block, m->name))
            report(c->s, m->span, E1205, "the member `%s` is declared twice", m->name);
        check_member(c, block, m);
    }
    for (int i = 0; i < block->items.len; i++) {
        Item *item = block->items.data[i];
        item->module = block->module;
        item->block = block;
        if (is_prelude_name(item->name))
            report(c->s, item->name_span, E1207, "`%s` is a built-in name", item->name);
        if (block_item(block, item->name) != item || block_member(block, item->name) ||
            is_generic_name(block, item->name))
            report(c->s, item->name_span, E1205, "`%s` is declared twice in this block",
                   item->name);
    }
}

static void check_fields(Checker *c, Item *item) {
    for (int i = 0; i < item->fields.len; i++) {
        Field *f = &item->fields.data[i];
        for (int k = 0; k < i; k++) {
            if (item->fields.data[k].name == f->name)
                report(c->s, f->span, E1205, "the field `%s` is declared twice", f->name);
        }
        f->type = resolve_type(c, f->type_ast);
        if (too_large(c, f->type, f->span))
            f->type = type_error();
    }
    for (int i = 0; i < item->variants.len; i++) {
        for (int k = 0; k < i; k++) {
            if (item->variants.data[k].name == item->variants.data[i].name)
                report(c->s, item->variants.data[i].span, E1205, "the variant is declared twice");
        }
    }
}

void check_signature(Program *p, Item *item) {
    if (item->kind == ITEM_CONST) {
        check_const(p, item, item->name_span);
        return;
    }
    if (item->signature != CHECK_NOT || item->kind == ITEM_SERVE)
        return;
    if (item->block)
        check_signature(p, item->block);
    if (!enter(p, item))
        return;
    item->signature = CHECK_RUNNING;
    Checker c = checker_for(p, item);
    declare_generics(&c, item);
    resolve_where(&c, item);
    resolve_defaults(&c, item);
    check_params(&c, item);
    if (item->kind == ITEM_KERNEL)
        check_kernel_signature(&c, item);
    if (item->kind == ITEM_BLOCK)
        check_members(&c, item);
    check_fields(&c, item);
    item->type = item->result_ast ? resolve_type(&c, item->result_ast) : type_unit();
    item->signature = CHECK_DONE;
    if (item->kind != ITEM_BLOCK)
        check_defaults(&c, item);
    p->depth--;
}

// ---- Bodies ------------------------------------------------------------------------------------

void check_body(Program *p, Item *item) {
    check_signature(p, item);
    if (item->checked != CHECK_NOT)
        return;
    item->checked = CHECK_RUNNING;
    Checker c = checker_for(p, item);
    for (int i = 0; i < item->items.len; i++)
        check_body(p, item->items.data[i]);
    if (item->kind == ITEM_FN || item->kind == ITEM_OP || item->kind == ITEM_ENTRY) {
        c.callees = callees_of(&c, item);
        Scope scope;
        scope_push(&c, &scope);
        check_stmts(&c, &item->body, true);
        scope_pop(&c);
        check_grad(&c, item);
        check_binding(&c, item);
    }
    if (item->kind == ITEM_KERNEL) {
        c.callees = callees_of(&c, item);
        check_kernel_body(&c, item);
    }
    item->checked = CHECK_DONE;
}
