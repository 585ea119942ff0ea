// The tree as an indented dump: one node a line, nesting by parentheses and by two spaces.
//
// Types, patterns and index lists stand as text on their node's line; expressions are spread out,
// since their structure is what one wants to see. After checking, `: type` and `= dim value`
// follow.
#include "syntax/ast.h"
#include <inttypes.h>
#include <string.h>

typedef struct {
    StrBuf *out;
    Arena *arena;
    int depth;
    bool typed;
} Dump;

// Starts a node: everything up to `close` is inside of it.
static void open(Dump *d, const char *head) {
    if (d->out->len)
        strbuf_char(d->out, '\n');
    for (int i = 0; i < d->depth; i++)
        strbuf_add(d->out, STR("  "));
    strbuf_printf(d->out, "(%s", head);
    d->depth++;
}

static void close(Dump *d) {
    strbuf_char(d->out, ')');
    d->depth--;
}

static void word(Dump *d, const char *text) {
    strbuf_printf(d->out, " %s", text);
}

static void dump_expr(Dump *d, const Expr *e);
static void dump_body(Dump *d, const char *head, const StmtVec *body);

static void type_word(Dump *d, const AstType *t) {
    if (t) {
        strbuf_char(d->out, ' ');
        ast_type_text(t, d->out);
    }
}

static void type_node(Dump *d, const char *head, const AstType *t) {
    if (!t)
        return;
    open(d, head);
    type_word(d, t);
    close(d);
}

static void path_word(Dump *d, const NameVec *path) {
    for (int i = 0; i < path->len; i++)
        strbuf_printf(d->out, "%s%s", i ? "." : " ", path->data[i]);
}

// What the checker found of an expression.
static void checked(Dump *d, const Expr *e) {
    if (!d->typed)
        return;
    if (e->type) {
        strbuf_add(d->out, STR(" : "));
        type_print(d->out, e->type);
    }
    if (e->dim) {
        strbuf_add(d->out, STR(" = dim "));
        dim_print(d->out, e->dim);
    }
}

// ---- Pieces of expressions ---------------------------------------------------------------------

static void pattern_word(Dump *d, const Pattern *p) {
    bool tuple = p->kind == PATTERN_TUPLE;
    switch (p->kind) {
    case PATTERN_NAME:
        word(d, p->name);
        return;
    case PATTERN_WILD:
        word(d, "_");
        return;
    case PATTERN_NONE:
        word(d, "none");
        return;
    case PATTERN_SOME:
    case PATTERN_TUPLE:
        word(d, tuple ? "(tuple" : "(some");
        for (int i = 0; i < p->items.len; i++)
            pattern_word(d, p->items.data[i]);
        strbuf_char(d->out, ')');
        return;
    }
}

static void index_words(Dump *d, const IndexVarVec *list) {
    strbuf_add(d->out, STR(" ["));
    for (int i = 0; i < list->len; i++)
        strbuf_printf(d->out, "%s%s%s", i ? " " : "", list->data[i]->pack ? "*" : "",
                      list->data[i]->name);
    strbuf_char(d->out, ']');
}

static void dump_shape(Dump *d, const ShapeVec *shape) {
    for (int i = 0; i < shape->len; i++) {
        if (shape->data[i].expr) {
            dump_expr(d, shape->data[i].expr);
            continue;
        }
        open(d, "pack");
        word(d, shape->data[i].pack);
        close(d);
    }
}

static void dump_generics(Dump *d, const AstGenericArgVec *args) {
    open(d, "generics");
    for (int i = 0; i < args->len; i++) {
        const AstGenericArg *arg = &args->data[i];
        type_node(d, "type", arg->type);
        if (arg->expr)
            dump_expr(d, arg->expr);
        if (arg->is_shape) {
            open(d, "shape");
            dump_shape(d, &arg->shape);
            close(d);
        }
    }
    close(d);
}

static void dump_args(Dump *d, const ArgVec *args) {
    for (int i = 0; i < args->len; i++) {
        const Arg *arg = &args->data[i];
        if (arg->keyword) {
            open(d, "named");
            word(d, arg->keyword);
        }
        dump_expr(d, arg->value);
        if (arg->keyword)
            close(d);
    }
}

static void dump_bound(Dump *d, const char *head, const Expr *e) {
    if (!e)
        return;
    open(d, head);
    dump_expr(d, e);
    close(d);
}

static void dump_part(Dump *d, const IndexPart *part) {
    if (part->kind == INDEX_EXPR) {
        dump_expr(d, part->expr);
        return;
    }
    static const char *const heads[] = {"", "ellipsis", "pack", "slice"};
    open(d, heads[part->kind]);
    if (part->pack)
        word(d, part->pack);
    dump_bound(d, "start", part->start);
    dump_bound(d, "stop", part->stop);
    dump_bound(d, "step", part->step);
    close(d);
}

// ---- Expressions -------------------------------------------------------------------------------

static const char *const expr_heads[] = {
    [EXPR_INT] = "int",       [EXPR_FLOAT] = "float",   [EXPR_BOOL] = "bool",
    [EXPR_STRING] = "string", [EXPR_NONE] = "none",     [EXPR_SOME] = "some",
    [EXPR_NAME] = "name",     [EXPR_MEMBER] = "member", [EXPR_CALL] = "call",
    [EXPR_INDEX] = "index",   [EXPR_UNARY] = "unary",   [EXPR_BINARY] = "binary",
    [EXPR_IF] = "if",         [EXPR_MATCH] = "match",   [EXPR_FOR] = "for",
    [EXPR_REDUCE] = "reduce", [EXPR_TUPLE] = "tuple",   [EXPR_SHAPE] = "shape",
    [EXPR_ERROR] = "error",
};

// What stands on the node's own line.
static void expr_words(Dump *d, const Expr *e) {
    switch (e->kind) {
    case EXPR_INT:
    case EXPR_FLOAT:
    case EXPR_BOOL:
    case EXPR_STRING:
        strbuf_char(d->out, ' ');
        ast_expr_text(e, d->out);
        return;
    case EXPR_NAME:
    case EXPR_MEMBER:
        word(d, e->name);
        return;
    case EXPR_UNARY:
        word(d, unary_text(e->unary));
        return;
    case EXPR_BINARY:
        word(d, binary_text(e->binary));
        return;
    case EXPR_FOR:
        pattern_word(d, e->pattern);
        return;
    case EXPR_REDUCE:
        word(d, reduce_text(e->reduce));
        if (e->elem) {
            strbuf_char(d->out, '<');
            ast_type_text(e->elem, d->out);
            strbuf_char(d->out, '>');
        }
        index_words(d, &e->indices);
        return;
    default:
        return;
    }
}

static void dump_arms(Dump *d, const ArmVec *arms) {
    for (int i = 0; i < arms->len; i++) {
        open(d, d->typed && arms->data[i].dead ? "arm dead" : "arm");
        pattern_word(d, arms->data[i].pattern);
        dump_expr(d, arms->data[i].value);
        close(d);
    }
}

static void dump_expr(Dump *d, const Expr *e) {
    open(d, expr_heads[e->kind]);
    expr_words(d, e);
    checked(d, e);
    const Expr *operands[] = {e->c, e->a, e->b};
    for (int i = 0; i < 3; i++) {
        if (operands[i])
            dump_expr(d, operands[i]);
    }
    if (e->has_generics)
        dump_generics(d, &e->generics);
    dump_args(d, &e->args);
    for (int i = 0; i < e->parts.len; i++)
        dump_part(d, &e->parts.data[i]);
    dump_arms(d, &e->arms);
    if (e->kind == EXPR_FOR)
        dump_body(d, "body", &e->body);
    for (int i = 0; i < e->items.len; i++)
        dump_expr(d, e->items.data[i]);
    dump_shape(d, &e->shape);
    close(d);
}

// ---- Statements --------------------------------------------------------------------------------

static const char *const stmt_heads[] = {
    [STMT_LET] = "let",       [STMT_LET_INDEX] = "let", [STMT_VAR] = "var",
    [STMT_ASSIGN] = "assign", [STMT_RETURN] = "return", [STMT_STATIC_FOR] = "static-for",
    [STMT_WHILE] = "while",   [STMT_FOR] = "for",       [STMT_YIELD] = "yield",
    [STMT_STORE] = "store",   [STMT_ERROR] = "error",
};

static void dump_stmt(Dump *d, const Stmt *s) {
    open(d, stmt_heads[s->kind]);
    if (s->pattern)
        pattern_word(d, s->pattern);
    if (s->name)
        word(d, s->name);
    if (s->kind == STMT_LET_INDEX)
        index_words(d, &s->indices);
    type_node(d, "type", s->type);
    const Expr *operands[] = {s->value, s->from, s->to};
    for (int i = 0; i < 3; i++) {
        if (operands[i])
            dump_expr(d, operands[i]);
    }
    for (int i = 0; i < s->args.len; i++)
        dump_expr(d, s->args.data[i]);
    if (s->kind == STMT_STATIC_FOR || s->kind == STMT_WHILE || s->kind == STMT_FOR)
        dump_body(d, "body", &s->body);
    close(d);
}

static void dump_body(Dump *d, const char *head, const StmtVec *body) {
    open(d, head);
    for (int i = 0; i < body->len; i++)
        dump_stmt(d, body->data[i]);
    close(d);
}

// ---- Items -------------------------------------------------------------------------------------

static void dump_generic_decls(Dump *d, const GenericDeclVec *list) {
    static const char *const kinds[] = {"Dim", "Shape", "DType", "Numeric", "Integer", "Float"};
    for (int i = 0; i < list->len; i++) {
        const GenericDecl *g = &list->data[i];
        open(d, "generic");
        strbuf_printf(d->out, " %s%s %s", g->pack ? "*" : "", g->name, kinds[g->kind]);
        if (g->fallback) {
            AstGenericArgVec one = {g->fallback, 1, 1};
            dump_generics(d, &one);
        }
        close(d);
    }
}

static void dump_params(Dump *d, const char *head, const ParamVec *list) {
    for (int i = 0; i < list->len; i++) {
        open(d, head);
        word(d, list->data[i]->name);
        type_word(d, list->data[i]->type_ast);
        if (list->data[i]->fallback)
            dump_expr(d, list->data[i]->fallback);
        close(d);
    }
}

static void dump_where(Dump *d, const WhereVec *list) {
    for (int i = 0; i < list->len; i++) {
        open(d, "where");
        word(d, binary_text(list->data[i].rel));
        dump_expr(d, list->data[i].a);
        dump_expr(d, list->data[i].b);
        close(d);
    }
}

static void dump_names(Dump *d, const Item *item) {
    for (int i = 0; i < item->fields.len; i++) {
        open(d, "field");
        word(d, item->fields.data[i].name);
        type_word(d, item->fields.data[i].type_ast);
        close(d);
    }
    for (int i = 0; i < item->variants.len; i++) {
        open(d, "variant");
        word(d, item->variants.data[i].name);
        close(d);
    }
    for (int i = 0; i < item->serve.len; i++) {
        open(d, "set");
        word(d, item->serve.data[i].name);
        dump_expr(d, item->serve.data[i].value);
        close(d);
    }
}

static void dump_members(Dump *d, const MemberVec *list) {
    static const char *const roles[] = {"param", "buffer", "state", "sub"};
    for (int i = 0; i < list->len; i++) {
        const Member *m = list->data[i];
        open(d, roles[m->role]);
        word(d, m->name);
        type_word(d, m->type_ast);
        if (m->fallback)
            dump_expr(d, m->fallback);
        close(d);
    }
}

static void dump_kernel(Dump *d, const Item *item) {
    if (item->kernel) {
        open(d, "kernel");
        word(d, item->kernel);
        if (item->kernel_args.len)
            dump_generics(d, &item->kernel_args);
        close(d);
    }
    dump_params(d, "yields", &item->results);
    for (int i = 0; i < item->grid.len; i++)
        dump_expr(d, item->grid.data[i]);
}

static bool has_body(ItemKind k) {
    return k == ITEM_FN || k == ITEM_OP || k == ITEM_ENTRY || k == ITEM_KERNEL;
}

static void dump_item(Dump *d, const Item *item) {
    open(d, item_kind_text(item->kind));
    word(d, item->name);
    if (item->pub)
        word(d, "pub");
    if (d->typed && item->type && !has_body(item->kind)) {
        strbuf_add(d->out, STR(" : "));
        type_print(d->out, item->type);
    }
    dump_generic_decls(d, &item->generics);
    dump_params(d, "param", &item->params);
    type_node(d, has_body(item->kind) ? "result" : "type", item->result_ast);
    dump_kernel(d, item);
    dump_where(d, &item->where);
    if (item->value)
        dump_expr(d, item->value);
    dump_names(d, item);
    dump_members(d, &item->members);
    for (int i = 0; i < item->items.len; i++)
        dump_item(d, item->items.data[i]);
    if (has_body(item->kind))
        dump_body(d, "body", &item->body);
    if (item->grad_params.len) {
        open(d, "grad");
        for (int i = 0; i < item->grad_params.len; i++)
            word(d, item->grad_params.data[i]);
        dump_body(d, "body", &item->grad_body);
        close(d);
    }
    close(d);
}

void ast_dump(Session *s, const Module *m, bool typed, StrBuf *out) {
    Dump d = {.out = out, .arena = s->arena, .typed = typed};
    open(&d, "module");
    path_word(&d, &m->path);
    for (int i = 0; i < m->imports.len; i++) {
        const Import *import = m->imports.data[i];
        open(&d, "use");
        path_word(&d, &import->path);
        if (import->name)
            strbuf_printf(out, "::%s", import->name);
        bool renamed = import->alias != import->name;
        if (renamed && (import->name || import->alias != vec_last(&import->path)))
            strbuf_printf(out, " as %s", import->alias);
        close(&d);
    }
    for (int i = 0; i < m->items.len; i++)
        dump_item(&d, m->items.data[i]);
    close(&d);
    strbuf_char(out, '\n');
}
