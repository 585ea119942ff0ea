// Formatting of types, patterns and indices.
#include "grammar.h"
#include "syntax/format_parts.h"

static const ListStyle soft = {0}, shapes = {.stiff = true}, fixed = {.fixed = true},
                       tuple = {.tuple = true};

Doc *put_path(Formatter *f) {
    Doc *d = seq(f);
    doc_add(d, take(f));
    while (ahead(f, 0) == TK_DOT) {
        doc_add(d, take(f));
        doc_add(d, take(f));
    }
    return d;
}

Doc *put_shape_item(Formatter *f) {
    Doc *d = seq(f);
    if (ahead(f, 0) != TK_STAR)
        return put_operand(f);
    doc_add(d, take(f));
    doc_add(d, take(f));
    return d;
}

// Tensor[shape; elem]
static Doc *put_tensor(Formatter *f) {
    Doc *d = seq(f), *group = doc_new(f->a, DOC_GROUP), *inner = doc_new(f->a, DOC_INDENT);
    group->stiff = true;
    doc_add(d, take(f));
    int first = f->at;
    doc_add(group, take(f));
    doc_put(f->a, inner, DOC_SOFT);
    while (ahead(f, 0) != TK_SEMI && ahead(f, 0)) {
        doc_add(inner, put_shape_item(f));
        bool last = ahead(f, 0) == TK_COMMA && ahead(f, 1) == TK_SEMI;
        if (last && bare(f, f->at))
            drop(f);
        else if (ahead(f, 0) == TK_COMMA)
            doc_add(inner, take(f));
        if (ahead(f, 0) != TK_SEMI)
            doc_put(f->a, inner, DOC_SPACE);
    }
    doc_add(inner, take(f));
    doc_put(f->a, inner, DOC_SPACE);
    doc_add(inner, put_type(f));
    if (forced_before(f, f->at))
        closing_comments(f, inner);
    doc_add(group, inner);
    doc_put(f->a, group, DOC_SOFT);
    doc_add(group, take(f));
    close_group(f, group, first);
    doc_add(d, group);
    return d;
}

// [Block; N]
static Doc *put_array(Formatter *f) {
    Doc *d = seq(f);
    doc_add(d, take(f));
    doc_add(d, put_type(f));
    word(f, d);
    doc_add(d, put_operand(f));
    doc_add(d, take(f));
    return d;
}

Doc *put_type(Formatter *f) {
    Doc *d = seq(f);
    if (ahead(f, 0) == TK_TENSOR)
        doc_add(d, put_tensor(f));
    else if (ahead(f, 0) == TK_LPAREN)
        doc_add(d, list(f, tuple, TK_RPAREN, put_type));
    else if (ahead(f, 0) == TK_LBRACKET)
        doc_add(d, put_array(f));
    else
        doc_add(d, put_path(f));
    if (ahead(f, 0) == TK_GENERIC)
        doc_add(d, list(f, soft, TK_GENERIC_END, put_garg));
    if (ahead(f, 0) == TK_QUESTION)
        doc_add(d, take(f));
    return d;
}

Doc *put_garg(Formatter *f) {
    Doc *d = seq(f);
    if (ahead(f, 0) == TK_TENSOR)
        return put_type(f);
    if (ahead(f, 0) == TK_LBRACKET)
        return list(f, shapes, TK_RBRACKET, put_shape_item);
    doc_add(d, put_operand(f));
    if (ahead(f, 0) == TK_QUESTION)
        doc_add(d, take(f));
    return d;
}

Doc *put_pattern(Formatter *f) {
    Doc *d = seq(f);
    if (ahead(f, 0) == TK_LPAREN)
        return list(f, tuple, TK_RPAREN, put_pattern);
    bool some = ahead(f, 0) == TK_SOME;
    doc_add(d, take(f));
    if (some)
        doc_add(d, list(f, fixed, TK_RPAREN, put_pattern));
    return d;
}

Doc *put_index_var(Formatter *f) {
    Doc *d = seq(f);
    if (ahead(f, 0) == TK_STAR)
        doc_add(d, take(f));
    doc_add(d, take(f));
    return d;
}
