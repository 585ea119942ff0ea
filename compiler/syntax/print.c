// Source text of expressions and types, in the one style, on one line.
//
// Parentheses are put where the tree needs them and nowhere else; parsing the text gives the tree
// back. A reduction reaches as far right as it can, so one that something follows is wrapped.
#include "syntax/print.h"
#include <inttypes.h>
#include <string.h>

enum { LOOSEST = 0, ADDITIVE = 8, OPERAND = 11 }; // precedences, beside those of binary operators

static void put(StrBuf *b, const char *text) {
    strbuf_add(b, str_of(text));
}

static void put_expr(const Expr *e, int least, StrBuf *b);
static void put_stmt(const Stmt *s, StrBuf *b);

// ---- Types -------------------------------------------------------------------------------------

static void put_path(const NameVec *path, StrBuf *b) {
    for (int i = 0; i < path->len; i++) {
        put(b, i ? "." : "");
        put(b, path->data[i]);
    }
}

static void put_shape(const ShapeVec *shape, StrBuf *b) {
    for (int i = 0; i < shape->len; i++) {
        const ShapeItem *item = &shape->data[i];
        put(b, i ? ", " : "");
        if (item->pack)
            strbuf_printf(b, "*%s", item->pack);
        else
            put_expr(item->expr, ADDITIVE, b);
    }
}

// Made of names, numbers, + - * / % and calls only, as a list of generics wants it?
static bool is_plain(const Expr *e) {
    switch (e->kind) {
    case EXPR_INT:
    case EXPR_FLOAT:
    case EXPR_NAME:
        return true;
    case EXPR_MEMBER:
    case EXPR_CALL:
    case EXPR_INDEX:
        return is_plain(e->a);
    case EXPR_UNARY:
        return e->unary != UNARY_NOT && is_plain(e->a);
    case EXPR_BINARY:
        return e->binary >= BINARY_ADD && is_plain(e->a) && is_plain(e->b);
    default:
        return false;
    }
}

void print_generic(const AstGenericArg *arg, StrBuf *b) {
    if (arg->type) {
        ast_type_text(arg->type, b);
    } else if (arg->is_shape) {
        put(b, "[");
        put_shape(&arg->shape, b);
        put(b, "]");
    } else {
        // A bare name would be read as a type.
        bool bare =
            is_plain(arg->expr) && arg->expr->kind != EXPR_NAME && arg->expr->kind != EXPR_MEMBER;
        put(b, bare ? "" : "(");
        put_expr(arg->expr, LOOSEST, b);
        put(b, bare ? "" : ")");
    }
}

void print_generics(const AstGenericArgVec *args, StrBuf *b) {
    put(b, "<");
    for (int i = 0; i < args->len; i++) {
        put(b, i ? ", " : "");
        print_generic(&args->data[i], b);
    }
    put(b, ">");
}

static void put_tuple_type(const AstType *t, StrBuf *b) {
    put(b, "(");
    for (int i = 0; i < t->items.len; i++) {
        put(b, i ? ", " : "");
        ast_type_text(t->items.data[i], b);
    }
    put(b, t->items.len == 1 ? ",)" : ")");
}

void ast_type_text(const AstType *t, StrBuf *b) {
    switch (t->kind) {
    case AST_TYPE_NAMED:
        put_path(&t->path, b);
        if (t->args.len)
            print_generics(&t->args, b);
        break;
    case AST_TYPE_TENSOR:
        put(b, "Tensor[");
        put_shape(&t->shape, b);
        put(b, "; ");
        ast_type_text(t->elem, b);
        put(b, "]");
        break;
    case AST_TYPE_TUPLE:
        put_tuple_type(t, b);
        break;
    case AST_TYPE_ARRAY:
        put(b, "[");
        ast_type_text(t->elem, b);
        put(b, "; ");
        put_expr(t->count, ADDITIVE, b);
        put(b, "]");
        break;
    }
    put(b, t->optional ? "?" : "");
}

// ---- Patterns and index lists ------------------------------------------------------------------

static void put_pattern(const Pattern *p, StrBuf *b) {
    bool tuple = p->kind == PATTERN_TUPLE;
    switch (p->kind) {
    case PATTERN_NAME:
        put(b, p->name);
        return;
    case PATTERN_WILD:
        put(b, "_");
        return;
    case PATTERN_NONE:
        put(b, "none");
        return;
    case PATTERN_SOME:
    case PATTERN_TUPLE:
        put(b, tuple ? "(" : "some(");
        for (int i = 0; i < p->items.len; i++) {
            put(b, i ? ", " : "");
            put_pattern(p->items.data[i], b);
        }
        put(b, tuple && p->items.len == 1 ? ",)" : ")");
        return;
    }
}

static void put_indices(const IndexVarVec *list, StrBuf *b) {
    put(b, "[");
    for (int i = 0; i < list->len; i++)
        strbuf_printf(b, "%s%s%s", i ? ", " : "", list->data[i]->pack ? "*" : "",
                      list->data[i]->name);
    put(b, "]");
}

// ---- Expressions -------------------------------------------------------------------------------

static void put_string(Str text, StrBuf *b) {
    static const char from[] = "\n\r\t\"\\", to[] = "nrt\"\\";
    strbuf_char(b, '"');
    for (int i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        const char *at = c ? strchr(from, c) : NULL;
        if (at)
            strbuf_printf(b, "\\%c", to[at - from]);
        else if (c == 0)
            put(b, "\\0");
        else
            strbuf_char(b, c);
    }
    strbuf_char(b, '"');
}

static void put_leaf(const Expr *e, StrBuf *b) {
    if (e->kind == EXPR_BOOL)
        put(b, e->int_value ? "true" : "false");
    else if (e->kind == EXPR_STRING)
        put_string(e->text, b);
    else if (e->kind == EXPR_NAME)
        put(b, e->name);
    else if (e->kind == EXPR_NONE)
        put(b, "none");
    else if (e->kind == EXPR_ERROR)
        put(b, "<error>");
    else if (e->text.len)
        strbuf_add(b, e->text);
    else if (e->kind == EXPR_INT)
        strbuf_printf(b, "%" PRId64, e->int_value);
    else
        strbuf_printf(b, "%.17g", e->float_value);
}

static int precedence(const Expr *e) {
    if (e->kind == EXPR_BINARY)
        return binary_precedence(e->binary);
    return e->kind == EXPR_UNARY || e->kind == EXPR_REDUCE ? OPERAND - 1 : OPERAND;
}

bool print_is_open(const Expr *e) {
    while (e->kind == EXPR_BINARY || e->kind == EXPR_UNARY) {
        const Expr *last = e->kind == EXPR_BINARY ? e->b : e->a;
        if (e->kind == EXPR_BINARY && precedence(last) <= precedence(e))
            return false; // it is wrapped
        e = last;
    }
    return e->kind == EXPR_REDUCE;
}

static void put_wrapped(const Expr *e, StrBuf *b) {
    put(b, "(");
    put_expr(e, LOOSEST, b);
    put(b, ")");
}

// What a postfix or a unary operator applies to.
static void put_base(const Expr *e, StrBuf *b) {
    if (precedence(e) < OPERAND)
        put_wrapped(e, b);
    else
        put_expr(e, OPERAND, b);
}

static void put_binary(const Expr *e, StrBuf *b) {
    int level = precedence(e);
    if (print_is_open(e->a))
        put_wrapped(e->a, b);
    else
        put_expr(e->a, level, b);
    strbuf_printf(b, " %s ", binary_text(e->binary));
    put_expr(e->b, level + 1, b);
}

// `a < b > (c)` would be a call: a `>` before a parenthesis is wrapped, and so is what stands left
// of it.
static void put_greater(const Expr *e, StrBuf *b) {
    StrBuf right = strbuf_new(b->arena);
    put_expr(e->b, precedence(e) + 1, &right);
    if (right.data[0] != '(') {
        put_binary(e, b);
        return;
    }
    put(b, "(");
    put_base(e->a, b);
    strbuf_printf(b, " > %s)", right.data);
}

static void put_args(const ArgVec *args, StrBuf *b) {
    put(b, "(");
    for (int i = 0; i < args->len; i++) {
        put(b, i ? ", " : "");
        if (args->data[i].keyword)
            strbuf_printf(b, "%s = ", args->data[i].keyword);
        put_expr(args->data[i].value, LOOSEST, b);
    }
    put(b, ")");
}

static void put_bound(const Expr *e, StrBuf *b) {
    if (e)
        put_expr(e, LOOSEST, b);
}

static void put_part(const IndexPart *part, StrBuf *b) {
    switch (part->kind) {
    case INDEX_EXPR:
        put_expr(part->expr, LOOSEST, b);
        return;
    case INDEX_ELLIPSIS:
        put(b, "...");
        return;
    case INDEX_PACK:
        strbuf_printf(b, "*%s", part->pack);
        return;
    case INDEX_SLICE:
        put_bound(part->start, b);
        put(b, ":");
        put_bound(part->stop, b);
        put(b, part->step ? ":" : "");
        put_bound(part->step, b);
        return;
    }
}

static bool is_reduction_word(const Expr *e) {
    if (e->kind != EXPR_NAME)
        return false;
    for (int k = REDUCE_SUM; k <= REDUCE_ALL; k++) {
        if (strcmp(e->name, reduce_text((ReduceKind)k)) == 0)
            return true;
    }
    return false;
}

static void put_index(const Expr *e, StrBuf *b) {
    if (is_reduction_word(e->a)) // else it would be a reduction
        put_wrapped(e->a, b);
    else
        put_base(e->a, b);
    put(b, "[");
    for (int i = 0; i < e->parts.len; i++) {
        put(b, i ? ", " : "");
        put_part(&e->parts.data[i], b);
    }
    put(b, "]");
}

static void put_unary(const Expr *e, StrBuf *b) {
    put(b, unary_text(e->unary));
    if (e->a->kind == EXPR_REDUCE)
        put_expr(e->a, LOOSEST, b);
    else
        put_base(e->a, b);
}

static void put_match(const Expr *e, StrBuf *b) {
    put(b, "match ");
    put_expr(e->a, LOOSEST, b);
    put(b, " {");
    for (int i = 0; i < e->arms.len; i++) {
        put(b, " ");
        put_pattern(e->arms.data[i].pattern, b);
        put(b, " => ");
        put_expr(e->arms.data[i].value, LOOSEST, b);
    }
    put(b, " }");
}

static void put_body(const StmtVec *body, StrBuf *b) {
    put(b, "{");
    for (int i = 0; i < body->len; i++) {
        put(b, " ");
        put_stmt(body->data[i], b);
    }
    put(b, " }");
}

static void put_range(const char *word, const Pattern *p, const Expr *from, const Expr *to,
                      StrBuf *b) {
    put(b, word);
    put_pattern(p, b);
    put(b, " in ");
    put_expr(from, LOOSEST, b);
    put(b, "..");
    put_expr(to, LOOSEST, b);
    put(b, " ");
}

static void put_reduce(const Expr *e, StrBuf *b) {
    put(b, reduce_text(e->reduce));
    if (e->elem) {
        put(b, "<");
        ast_type_text(e->elem, b);
        put(b, ">");
    }
    put_indices(&e->indices, b);
    put(b, " ");
    put_expr(e->a, LOOSEST, b);
}

static void put_list(const ExprVec *list, StrBuf *b) {
    for (int i = 0; i < list->len; i++) {
        put(b, i ? ", " : "");
        put_expr(list->data[i], LOOSEST, b);
    }
}

static void put_if(const Expr *e, StrBuf *b) {
    put(b, "if ");
    put_expr(e->c, LOOSEST, b);
    put(b, " { ");
    put_expr(e->a, LOOSEST, b);
    put(b, " } else { ");
    put_expr(e->b, LOOSEST, b);
    put(b, " }");
}

static void put_bare(const Expr *e, StrBuf *b) {
    switch (e->kind) {
    case EXPR_SOME:
        put(b, "some");
        put_wrapped(e->a, b);
        return;
    case EXPR_MEMBER:
        put_base(e->a, b);
        strbuf_printf(b, ".%s", e->name);
        return;
    case EXPR_CALL:
        put_base(e->a, b);
        if (e->has_generics)
            print_generics(&e->generics, b);
        put_args(&e->args, b);
        return;
    case EXPR_INDEX:
        put_index(e, b);
        return;
    case EXPR_UNARY:
        put_unary(e, b);
        return;
    case EXPR_BINARY:
        if (e->binary == BINARY_GT)
            put_greater(e, b);
        else
            put_binary(e, b);
        return;
    case EXPR_IF:
        put_if(e, b);
        return;
    case EXPR_MATCH:
        put_match(e, b);
        return;
    case EXPR_FOR:
        put_range("for ", e->pattern, e->a, e->b, b);
        put_body(&e->body, b);
        return;
    case EXPR_REDUCE:
        put_reduce(e, b);
        return;
    case EXPR_TUPLE:
        put(b, "(");
        put_list(&e->items, b);
        put(b, e->items.len == 1 ? ",)" : ")");
        return;
    case EXPR_SHAPE:
        put(b, "[");
        put_shape(&e->shape, b);
        put(b, "]");
        return;
    default:
        put_leaf(e, b);
        return;
    }
}

static void put_expr(const Expr *e, int least, StrBuf *b) {
    if (e->kind == EXPR_BINARY && precedence(e) < least)
        put_wrapped(e, b);
    else
        put_bare(e, b);
}

void ast_expr_text(const Expr *e, StrBuf *b) {
    put_expr(e, LOOSEST, b);
}

// ---- Statements inside of a `for` that is an expression ----------------------------------------

static void put_named_stmt(const Stmt *s, StrBuf *b) {
    put(b, s->kind == STMT_VAR ? "var " : s->kind == STMT_ASSIGN ? "" : "let ");
    if (s->kind == STMT_LET)
        put_pattern(s->pattern, b);
    else
        put(b, s->name);
    if (s->kind == STMT_LET_INDEX)
        put_indices(&s->indices, b);
    if (s->type) {
        put(b, ": ");
        ast_type_text(s->type, b);
    }
    put(b, " = ");
    put_expr(s->value, LOOSEST, b);
}

static void put_loop(const Stmt *s, StrBuf *b) {
    const char *word = s->kind == STMT_FOR ? "for " : "static for ";
    if (s->from) {
        put_range(word, s->pattern, s->from, s->to, b);
    } else {
        put(b, s->kind == STMT_WHILE ? "while " : word);
        if (s->pattern) {
            put_pattern(s->pattern, b);
            put(b, " in ");
        }
        put_expr(s->value, LOOSEST, b);
        put(b, " ");
    }
    put_body(&s->body, b);
}

static void put_stmt(const Stmt *s, StrBuf *b) {
    switch (s->kind) {
    case STMT_LET:
    case STMT_LET_INDEX:
    case STMT_VAR:
    case STMT_ASSIGN:
        put_named_stmt(s, b);
        return;
    case STMT_RETURN:
    case STMT_YIELD:
        put(b, s->kind == STMT_YIELD ? "yield" : "return");
        put(b, s->value ? " " : "");
        put_bound(s->value, b);
        return;
    case STMT_STATIC_FOR:
    case STMT_WHILE:
    case STMT_FOR:
        put_loop(s, b);
        return;
    case STMT_STORE:
        strbuf_printf(b, "%s(", s->name);
        put_list(&s->args, b);
        put(b, ")");
        return;
    case STMT_ERROR:
        put(b, "<error>");
        return;
    }
}
