// Formatting of statements and of what stands in braces.
#include "grammar.h"
#include "syntax/format_parts.h"

static const ListStyle soft = {0}, fixed = {.fixed = true};

Doc *put_braces(Formatter *f, Part part, bool (*blank)(const Formatter *f, int from)) {
    Doc *d = seq(f), *inner = doc_new(f->a, DOC_INDENT);
    doc_add(d, take(f));
    int last = -1;
    while (ahead(f, 0) != TK_RBRACE && ahead(f, 0)) {
        bool apart = last >= 0 && (f->g.gaps.data[f->at].blank || (blank && blank(f, last)));
        doc_put(f->a, inner, apart ? DOC_BLANK : DOC_HARD);
        last = f->at;
        doc_add(inner, part(f));
    }
    closing_comments(f, inner);
    doc_add(d, inner);
    if (inner->first || forced_before(f, f->at))
        doc_put(f->a, d, DOC_HARD);
    doc_add(d, take(f));
    return d;
}

static Doc *put_loop_head(Formatter *f) {
    Doc *d = seq(f);
    word(f, d);
    doc_add(d, put_pattern(f));
    space(f, d);
    word(f, d);
    doc_add(d, put_operand(f));
    if (ahead(f, 0) == TK_DOTDOT) {
        doc_add(d, take(f));
        doc_add(d, put_operand(f));
    }
    space(f, d);
    return d;
}

Doc *put_loop(Formatter *f) {
    Doc *d = put_loop_head(f);
    doc_add(d, put_body(f));
    return d;
}

// let pattern [: type] = value, let name[i, j] = value, var, name = value
static Doc *put_definition(Formatter *f) {
    Doc *d = seq(f);
    if (ahead(f, 0) == TK_LET || ahead(f, 0) == TK_VAR)
        word(f, d);
    doc_add(d, put_pattern(f));
    if (ahead(f, 0) == TK_LBRACKET)
        doc_add(d, list(f, soft, TK_RBRACKET, put_index_var));
    if (ahead(f, 0) == TK_COLON) {
        word(f, d);
        doc_add(d, put_type(f));
    }
    doc_add(d, put_value(f));
    return d;
}

static Doc *put_stmt(Formatter *f) {
    Doc *d = seq(f);
    switch (ahead(f, 0)) {
    case TK_RETURN:
    case TK_YIELD:
        word(f, d);
        doc_add(d, put_operand(f));
        return d;
    case TK_RETURN_VOID:
        return take(f);
    case TK_WHILE:
        word(f, d);
        doc_add(d, put_operand(f));
        space(f, d);
        doc_add(d, put_body(f));
        return d;
    case TK_STATIC:
        word(f, d);
        doc_add(d, put_loop(f));
        return d;
    case TK_FOR:
        return put_loop(f);
    case TK_STORE:
        doc_add(d, take(f));
        doc_add(d, list(f, fixed, TK_RPAREN, put_operand));
        return d;
    default:
        return put_definition(f);
    }
}

Doc *put_body(Formatter *f) {
    return put_braces(f, put_stmt, NULL);
}
