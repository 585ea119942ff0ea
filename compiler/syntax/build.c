// Builders of modules, items, types, patterns and statements; see build.h.
#include "syntax/build.h"
#include "grammar.h"
#include <string.h>

Span token_span(const Parser *p, Token t) {
    return (Span){p->file, t.start, t.end};
}

Span between(const Parser *p, Token a, Token b) {
    return (Span){p->file, a.start, b.end};
}

Name token_as_name(const Parser *p, Token t) {
    return intern(p->s->names, (Str){p->text + t.start, t.end - t.start});
}

// ---- Module and imports ------------------------------------------------------------------------

void build_module(Parser *p, Path path) {
    p->module->path = path.names;
    p->module->path_span = path.span;
}

void add_item(Parser *p, Item *item) {
    vec_push(p->s->arena, &p->module->items, item);
}

Path path_of(Parser *p, Token first) {
    Path path = {.span = token_span(p, first)};
    vec_push(p->s->arena, &path.names, token_as_name(p, first));
    return path;
}

Path path_add(Parser *p, Path path, Token name) {
    vec_push(p->s->arena, &path.names, token_as_name(p, name));
    path.span.end = name.end;
    return path;
}

Import *build_import(Parser *p, Token name, Token *alias) {
    Import *i = NEW(p->s->arena, Import);
    i->name = token_as_name(p, name);
    i->alias = alias ? token_as_name(p, *alias) : i->name;
    i->span = between(p, name, alias ? *alias : name);
    return i;
}

// Imports come before the items; later ones are read all the same.
static void add_import(Parser *p, Import *import) {
    vec_push(p->s->arena, &p->module->imports, import);
}

static void check_place(Parser *p, Span span) {
    if (p->module->items.len == 0)
        return;
    Diag *d = report(p->s, span, E1101, "`use` after an item");
    diag_help(p->s, d, "all `use` come first, right after `module`");
}

void add_imports(Parser *p, Token use, Path path, ImportVec imports) {
    check_place(p, token_span(p, use));
    for (int i = 0; i < imports.len; i++) {
        imports.data[i]->path = path.names;
        add_import(p, imports.data[i]);
    }
}

void add_module_import(Parser *p, Path path, Token *alias) {
    check_place(p, path.span);
    Import *i = NEW(p->s->arena, Import);
    i->path = path.names;
    i->alias = alias ? token_as_name(p, *alias) : vec_last(&path.names);
    i->span = path.span;
    add_import(p, i);
}

// ---- Items -------------------------------------------------------------------------------------

Item *build_item(Parser *p, ItemKind kind, Token first, Token name, Span end) {
    Item *item = item_new(p->s, kind, span_join(token_span(p, first), end));
    item->name = token_as_name(p, name);
    item->name_span = token_span(p, name);
    item->module = p->module;
    return item;
}

Item *item_pub(Parser *p, Item *item, Token pub) {
    item->pub = true;
    item->span = span_join(token_span(p, pub), item->span);
    return item;
}

Item *build_fn(Parser *p, Head head, AstType *result, Bind bind, WhereVec where, StmtVec body,
               Span end) {
    int word = head.keyword.kind;
    ItemKind kind = word == TK_OP ? ITEM_OP : word == TK_ENTRY ? ITEM_ENTRY : ITEM_FN;
    Item *item = build_item(p, kind, head.keyword, head.name, end);
    item->generics = head.generics;
    item->params = head.params;
    item->result_ast = result;
    item->where = where;
    item->body = body;
    if (kind == ITEM_OP && !result) {
        Diag *d = report(p->s, item->name_span, E1101, "an op needs a result type");
        diag_help(p->s, d, "write `-> type` after its parameters, or make it a `fn`");
    }
    if (!bind.present)
        return item;
    item->kernel = token_as_name(p, bind.name);
    item->kernel_args = bind.args;
    if (kind != ITEM_OP)
        report(p->s, token_span(p, bind.name), E1101, "only an op is bound to a kernel");
    return item;
}

Item *build_kernel(Parser *p, Head head, ParamVec results, ExprVec grid, WhereVec where,
                   StmtVec body, Token end) {
    Item *item = build_item(p, ITEM_KERNEL, head.keyword, head.name, token_span(p, end));
    item->generics = head.generics;
    item->params = head.params;
    item->results = results;
    item->grid = grid;
    item->where = where;
    item->body = body;
    return item;
}

Item *build_serve(Parser *p, Token inference, Token serve, ServeFieldVec fields, Token end) {
    Item *item = build_item(p, ITEM_SERVE, inference, serve, token_span(p, end));
    item->serve = fields;
    if (!token_is(p->text, serve, "serve")) {
        Diag *d = report(p->s, item->name_span, E1101, "expected `serve`, found `%s`", item->name);
        diag_help(p->s, d, "the block is written `inference serve { field = value ... }`");
    }
    return item;
}

GenericDecl build_generic(Parser *p, Token *star, Token name, Token bound,
                          AstGenericArg *fallback) {
    static const char *const words[] = {"Dim", "Shape", "DType", "Numeric", "Integer", "Float"};
    GenericDecl g = {.name = token_as_name(p, name), .pack = star != NULL};
    g.span = between(p, star ? *star : name, bound);
    int kind = 0;
    while (kind < 6 && !token_is(p->text, bound, words[kind]))
        kind++;
    if (kind == 6) {
        Diag *d = report(p->s, token_span(p, bound), E1101, "`%s` is no kind of generic",
                         token_as_name(p, bound));
        diag_help(p->s, d, "the kinds are Dim, Shape, DType, Numeric, Integer and Float");
        kind = g.pack ? GENERIC_SHAPE : GENERIC_DIM;
    } else if ((kind == GENERIC_SHAPE) != g.pack) {
        Diag *d =
            report(p->s, g.span, E1101, g.pack ? "only a Shape is a pack" : "a Shape is a pack");
        diag_help(p->s, d, g.pack ? "write `%s: %s` or `*%s: Shape`" : "write `*%s: %s`", g.name,
                  words[kind], g.name);
        kind = g.pack ? GENERIC_SHAPE : kind;
        g.pack = kind == GENERIC_SHAPE;
    }
    g.kind = (GenericKind)kind;
    if (fallback) {
        g.fallback = NEW(p->s->arena, AstGenericArg);
        *g.fallback = *fallback;
        g.span = span_join(g.span, fallback->span);
    }
    return g;
}

Param *build_param(Parser *p, Token name, AstType *type, Expr *fallback) {
    Param *param = NEW(p->s->arena, Param);
    param->name = token_as_name(p, name);
    param->span = token_span(p, name);
    param->type_ast = type;
    param->fallback = fallback;
    return param;
}

static bool is_relation(const Expr *e) {
    return e->kind == EXPR_BINARY && !e->parens && e->binary >= BINARY_EQ && e->binary <= BINARY_GE;
}

Where build_where(Parser *p, Expr *e) {
    Where w = {.a = e, .b = e, .rel = BINARY_EQ, .span = e->span};
    if (is_relation(e)) {
        w = (Where){.a = e->a, .b = e->b, .rel = e->binary, .span = e->span};
        if (!is_relation(w.a) && !is_relation(w.b))
            return w;
    } else if (e->kind == EXPR_ERROR) {
        return w;
    }
    Diag *d = report(p->s, e->span, E1101, "a constraint is one comparison");
    if (e->kind == EXPR_BINARY && e->binary == BINARY_ANDAND)
        diag_help(p->s, d, "separate constraints by `,`");
    else
        diag_help(p->s, d, "compare two dimensions by one of == != < <= > >=");
    return w;
}

Member *build_member(Parser *p, MemberRole role, Token first, Token name, AstType *type,
                     Expr *fallback) {
    Member *m = NEW(p->s->arena, Member);
    m->role = role;
    m->name = token_as_name(p, name);
    m->span = span_join(token_span(p, first), fallback ? fallback->span : type->span);
    m->type_ast = type;
    m->fallback = fallback;
    return m;
}

Expr *build_tune(Parser *p, Token word, ExprVec args, Token end) {
    ArgVec list = {0};
    for (int i = 0; i < args.len; i++)
        vec_push(p->s->arena, &list, build_arg(p, NULL, args.data[i]));
    return build_call(p, build_leaf(p, EXPR_NAME, word), NULL, list, end);
}

// ---- Types -------------------------------------------------------------------------------------

static AstType *type_new(Parser *p, AstTypeKind kind, Span span) {
    AstType *t = NEW(p->s->arena, AstType);
    t->kind = kind;
    t->span = span;
    t->depth = 1;
    return t;
}

static void under(AstType *t, int depth) {
    if (depth >= t->depth)
        t->depth = depth + 1;
}

static int shape_depth(const ShapeVec *shape) {
    int most = 0;
    for (int i = 0; i < shape->len; i++) {
        const Expr *e = shape->data[i].expr;
        most = e && e->depth > most ? e->depth : most;
    }
    return most;
}

AstType *build_tensor(Parser *p, Token first, ShapeVec shape, AstType *elem, Token end) {
    AstType *t = type_new(p, AST_TYPE_TENSOR, between(p, first, end));
    t->shape = shape;
    t->elem = elem;
    under(t, elem->depth);
    under(t, shape_depth(&shape));
    if (shape.len == 0) {
        Diag *d = report(p->s, t->span, E1103, "`Tensor` without axes is reserved");
        StrBuf text = strbuf_new(p->s->arena);
        ast_type_text(elem, &text);
        diag_help(p->s, d, "a scalar is written `%s`", text.data);
    }
    return t;
}

AstType *build_named(Parser *p, Path path, AstGenericArgVec args, Span end) {
    AstType *t = type_new(p, AST_TYPE_NAMED, span_join(path.span, end));
    t->path = path.names;
    t->args = args;
    for (int i = 0; i < args.len; i++) {
        const AstGenericArg *g = &args.data[i];
        under(t, g->type ? g->type->depth : g->expr ? g->expr->depth : shape_depth(&g->shape));
    }
    return t;
}

AstType *build_tuple_type(Parser *p, Token first, AstTypeVec items, bool comma, Token end) {
    AstType *t = type_new(p, AST_TYPE_TUPLE, between(p, first, end));
    t->items = items;
    for (int i = 0; i < items.len; i++)
        under(t, items.data[i]->depth);
    if (items.len > 1 || comma)
        return t;
    Diag *d = report(p->s, t->span, E1101, "a tuple type needs a comma");
    diag_help(p->s, d, "remove the parentheses");
    return items.data[0];
}

AstType *build_array_type(Parser *p, Token first, AstType *elem, Expr *count, Token end) {
    AstType *t = type_new(p, AST_TYPE_ARRAY, between(p, first, end));
    t->elem = elem;
    t->count = shape_expr(p, count).expr;
    under(t, elem->depth);
    under(t, count->depth);
    return t;
}

AstType *type_optional_ast(Parser *p, AstType *type, Token mark) {
    type->optional = true;
    type->span = span_join(type->span, token_span(p, mark));
    return type;
}

// A dimension is additive: a comparison or a logical operator needs parentheses.
static Expr *check_additive(Parser *p, Expr *e) {
    if (e->kind == EXPR_BINARY && !e->parens && e->binary < BINARY_ADD) {
        Diag *d = report(p->s, e->op_span, E1101, "expected a dimension, found `%s`",
                         binary_text(e->binary));
        diag_help(p->s, d,
                  "dimensions are made of names, integers, + - * / %% and calls of min, max");
    }
    return e;
}

ShapeItem shape_expr(Parser *p, Expr *e) {
    return (ShapeItem){.expr = check_additive(p, e), .span = e->span};
}

ShapeItem shape_pack(Parser *p, Token star, Token name) {
    return (ShapeItem){.pack = token_as_name(p, name), .span = between(p, star, name)};
}

static bool is_path(const Expr *e) {
    while (e->kind == EXPR_MEMBER && !e->parens)
        e = e->a;
    return e->kind == EXPR_NAME && !e->parens;
}

// Pushes the names of a path, outermost first.
static void push_path(Parser *p, const Expr *e, NameVec *names) {
    if (e->kind == EXPR_MEMBER)
        push_path(p, e->a, names);
    vec_push(p->s->arena, names, e->name);
}

AstGenericArg generic_named(Parser *p, Expr *path, AstGenericArgVec args, Token end) {
    Path names = {.span = path->span};
    if (is_path(path)) {
        push_path(p, path, &names.names);
    } else {
        report(p->s, path->span, E1101, "expected the name of a type");
        vec_push(p->s->arena, &names.names, session_name(p->s, "_"));
    }
    return generic_type(build_named(p, names, args, token_span(p, end)));
}

AstGenericArg generic_expr(Parser *p, Expr *e, Token *optional) {
    if (!is_path(e) && !optional)
        return (AstGenericArg){.expr = check_additive(p, e), .span = e->span};
    Token end = {.start = e->span.end, .end = e->span.end};
    AstGenericArg arg = generic_named(p, e, (AstGenericArgVec){0}, end);
    if (optional)
        arg = generic_type(type_optional_ast(p, arg.type, *optional));
    return arg;
}

AstGenericArg generic_type(AstType *type) {
    return (AstGenericArg){.type = type, .span = type->span};
}

AstGenericArg generic_shape(Expr *shape) {
    return (AstGenericArg){.is_shape = true, .shape = shape->shape, .span = shape->span};
}

// ---- Patterns and statements -------------------------------------------------------------------

Pattern *build_pattern(Parser *p, PatternKind kind, Token first, Token last, PatternVec items) {
    Pattern *pattern = NEW(p->s->arena, Pattern);
    pattern->kind = kind;
    pattern->span = between(p, first, last);
    pattern->items = items;
    pattern->variant = -1;
    return pattern;
}

Pattern *pattern_name(Parser *p, Token name) {
    bool wild = token_is(p->text, name, "_");
    PatternKind kind = wild ? PATTERN_WILD : PATTERN_NAME;
    Pattern *pattern = build_pattern(p, kind, name, name, (PatternVec){0});
    pattern->name = wild ? NULL : token_as_name(p, name);
    return pattern;
}

// (p) is p in parentheses; (p,) and (p, q) are tuples.
Pattern *pattern_group(Parser *p, Token first, PatternVec items, bool comma, Token last) {
    if (items.len == 1 && !comma)
        return items.data[0];
    return build_pattern(p, PATTERN_TUPLE, first, last, items);
}

static void beneath(Stmt *s, int depth) {
    if (depth >= s->depth)
        s->depth = depth + 1;
}

Stmt *build_stmt(Parser *p, StmtKind kind, Token first, Expr *value) {
    Span span = token_span(p, first);
    Stmt *s = stmt_new(p->s, kind, value ? span_join(span, value->span) : span);
    s->value = value;
    beneath(s, value ? value->depth : 0);
    return s;
}

Stmt *build_named_stmt(Parser *p, StmtKind kind, Token first, Token name, AstType *type,
                       Expr *value) {
    Stmt *s = build_stmt(p, kind, first, value);
    s->name = token_as_name(p, name);
    s->name_span = token_span(p, name);
    s->type = type;
    beneath(s, type ? type->depth : 0);
    return s;
}

Stmt *build_store(Parser *p, Token name, ExprVec args, Token end) {
    Stmt *s = build_named_stmt(p, STMT_STORE, name, name, NULL, NULL);
    s->args = args;
    s->span = between(p, name, end);
    for (int i = 0; i < args.len; i++)
        beneath(s, args.data[i]->depth);
    return s;
}

Stmt *build_let(Parser *p, Token first, Pattern *pattern, AstType *type, Expr *value) {
    Stmt *s = build_stmt(p, STMT_LET, first, value);
    s->pattern = pattern;
    s->type = type;
    beneath(s, type ? type->depth : 0);
    return s;
}

Stmt *build_loop(Parser *p, StmtKind kind, Span span, Loop loop) {
    Stmt *s = stmt_new(p->s, kind, span);
    s->pattern = loop.pattern;
    s->value = loop.over;
    s->from = loop.from;
    s->to = loop.to;
    s->body = loop.body;
    beneath(s, loop.over ? loop.over->depth : 0);
    beneath(s, loop.from ? loop.from->depth : 0);
    beneath(s, loop.to ? loop.to->depth : 0);
    for (int i = 0; i < loop.body.len; i++)
        beneath(s, loop.body.data[i]->depth);
    return s;
}

IndexVar *build_index_var(Parser *p, Token *star, Token name) {
    IndexVar *v = NEW(p->s->arena, IndexVar);
    v->name = token_as_name(p, name);
    v->span = between(p, star ? *star : name, name);
    v->pack = star != NULL;
    return v;
}
