// Signatures of items, on one line, as written.
#include "syntax/print.h"

static void put(StrBuf *b, const char *text) {
    strbuf_add(b, str_of(text));
}

static void put_generic_decls(const GenericDeclVec *list, StrBuf *b) {
    static const char *const kinds[] = {"Dim", "Shape", "DType", "Numeric", "Integer", "Float"};
    for (int i = 0; i < list->len; i++) {
        const GenericDecl *g = &list->data[i];
        strbuf_printf(b, "%s%s%s: %s", i ? ", " : "<", g->pack ? "*" : "", g->name, kinds[g->kind]);
        if (g->fallback) {
            put(b, " = ");
            print_generic(g->fallback, b);
        }
    }
    put(b, list->len ? ">" : "");
}

static void put_params(const ParamVec *list, StrBuf *b) {
    for (int i = 0; i < list->len; i++) {
        const Param *p = list->data[i];
        strbuf_printf(b, "%s%s: ", i ? ", " : "", p->name);
        ast_type_text(p->type_ast, b);
        if (p->fallback) {
            put(b, " = ");
            ast_expr_text(p->fallback, b);
        }
    }
}

// A side of a constraint: looser operators than its comparison's need parentheses.
static void put_side(const Expr *e, StrBuf *b) {
    bool loose = (e->kind == EXPR_BINARY && e->binary <= BINARY_GE) || print_is_open(e);
    put(b, loose ? "(" : "");
    ast_expr_text(e, b);
    put(b, loose ? ")" : "");
}

static void put_where(const WhereVec *list, StrBuf *b) {
    for (int i = 0; i < list->len; i++) {
        const Where *w = &list->data[i];
        put(b, i ? ", " : " where ");
        put_side(w->a, b);
        strbuf_printf(b, " %s ", binary_text(w->rel));
        put_side(w->b, b);
    }
}

static void put_callable(const Item *item, StrBuf *b) {
    put(b, "(");
    put_params(&item->params, b);
    put(b, ")");
    if (item->result_ast || item->kind == ITEM_KERNEL)
        put(b, " -> ");
    if (item->result_ast)
        ast_type_text(item->result_ast, b);
    put_params(&item->results, b);
    for (int i = 0; i < item->grid.len; i++) {
        put(b, " ");
        ast_expr_text(item->grid.data[i], b);
    }
    if (item->kernel) {
        strbuf_printf(b, " kernel %s", item->kernel);
        if (item->kernel_args.len)
            print_generics(&item->kernel_args, b);
    }
}

void ast_signature(const Item *item, StrBuf *b) {
    strbuf_printf(b, "%s %s", item_kind_text(item->kind), item->name);
    put_generic_decls(&item->generics, b);
    switch (item->kind) {
    case ITEM_FN:
    case ITEM_OP:
    case ITEM_KERNEL:
    case ITEM_ENTRY:
        put_callable(item, b);
        break;
    case ITEM_CONST:
        put(b, item->result_ast ? ": " : "");
        if (item->result_ast)
            ast_type_text(item->result_ast, b);
        put(b, " = ");
        ast_expr_text(item->value, b);
        break;
    case ITEM_TYPE:
        put(b, " = ");
        ast_type_text(item->result_ast, b);
        break;
    default:
        break;
    }
    put_where(&item->where, b);
}
