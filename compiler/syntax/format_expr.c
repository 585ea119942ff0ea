// Formatting of expressions.
//
// Operators of one precedence that don't fit on a line get a line for each operand; what binds
// tighter stays together as long as it can. The text of an operand and its parentheses are kept as
// written.
#include "grammar.h"
#include "syntax/format_parts.h"

static const ListStyle soft = {0}, stiff = {.stiff = true}, fixed = {.fixed = true},
                       tuple = {.tuple = true};

// 0 for what is no binary operator; greater binds tighter.
static int level_of(int kind) {
    switch (kind) {
    case TK_OROR:
        return 1;
    case TK_ANDAND:
        return 2;
    case TK_EQEQ:
    case TK_NE:
        return 3;
    case TK_LT:
    case TK_LE:
    case TK_GT:
    case TK_GE:
        return 4;
    case TK_OR:
        return 5;
    case TK_XOR:
        return 6;
    case TK_AND:
        return 7;
    case TK_PLUS:
    case TK_MINUS:
        return 8;
    case TK_STAR:
    case TK_SLASH:
    case TK_PERCENT:
        return 9;
    default:
        return 0;
    }
}

// ---- Postfix forms -----------------------------------------------------------------------------

static Doc *put_arg(Formatter *f) {
    Doc *d = seq(f);
    if (ahead(f, 0) == TK_NAME && ahead(f, 1) == TK_EQ) {
        doc_add(d, take(f));
        space(f, d);
        word(f, d);
    }
    doc_add(d, put_operand(f));
    return d;
}

static Doc *put_part(Formatter *f) {
    Doc *d = seq(f);
    if (ahead(f, 0) == TK_STAR)
        return put_shape_item(f);
    while (ahead(f, 0) != TK_COMMA && ahead(f, 0) != TK_RBRACKET && ahead(f, 0)) {
        bool sign = ahead(f, 0) == TK_COLON || ahead(f, 0) == TK_ELLIPSIS;
        doc_add(d, sign ? take(f) : put_operand(f));
    }
    return d;
}

static void put_postfixes(Formatter *f, Doc *d) {
    for (;;) {
        switch (ahead(f, 0)) {
        case TK_DOT:
            doc_add(d, take(f));
            doc_add(d, take(f));
            break;
        case TK_GENERIC:
            doc_add(d, list(f, soft, TK_GENERIC_END, put_garg));
            break;
        case TK_LPAREN:
            doc_add(d, list(f, soft, TK_RPAREN, put_arg));
            break;
        case TK_LBRACKET:
            doc_add(d, list(f, stiff, TK_RBRACKET, put_part));
            break;
        default:
            return;
        }
    }
}

// ---- Primary forms -----------------------------------------------------------------------------

// { expression }, as a branch.
static void put_branch(Formatter *f, Doc *d) {
    Doc *inner = doc_new(f->a, DOC_INDENT);
    doc_add(d, take(f));
    doc_put(f->a, inner, DOC_SPACE);
    doc_add(inner, put_operand(f));
    if (forced_before(f, f->at))
        closing_comments(f, inner);
    doc_add(d, inner);
    doc_put(f->a, d, DOC_SPACE);
    doc_add(d, take(f));
}

static Doc *put_if(Formatter *f) {
    int first = f->at;
    Doc *d = doc_new(f->a, DOC_GROUP);
    word(f, d);
    doc_add(d, put_operand(f));
    space(f, d);
    put_branch(f, d);
    space(f, d);
    word(f, d);
    put_branch(f, d);
    close_group(f, d, first);
    return d;
}

static Doc *put_arm(Formatter *f) {
    Doc *d = seq(f);
    doc_add(d, put_pattern(f));
    space(f, d);
    word(f, d);
    doc_add(d, put_operand(f));
    return d;
}

static Doc *put_match(Formatter *f) {
    Doc *d = seq(f);
    word(f, d);
    doc_add(d, put_operand(f));
    space(f, d);
    doc_add(d, put_braces(f, put_arm, NULL));
    return d;
}

static Doc *put_primary(Formatter *f) {
    Doc *d = seq(f);
    switch (ahead(f, 0)) {
    case TK_LPAREN:
        doc_add(d, list(f, tuple, TK_RPAREN, put_operand));
        break;
    case TK_LBRACKET:
        doc_add(d, list(f, stiff, TK_RBRACKET, put_shape_item));
        break;
    case TK_SOME:
        doc_add(d, take(f));
        doc_add(d, list(f, fixed, TK_RPAREN, put_operand));
        break;
    case TK_IF:
        doc_add(d, put_if(f));
        break;
    case TK_MATCH:
        doc_add(d, put_match(f));
        break;
    case TK_FOR:
        doc_add(d, put_loop(f));
        break;
    default:
        doc_add(d, take(f));
        break;
    }
    put_postfixes(f, d);
    return d;
}

static Doc *put_expr(Formatter *f, bool indent, bool *wide);

// sum<T>[i, j] body
static Doc *put_reduce(Formatter *f) {
    int first = f->at;
    Doc *d = doc_new(f->a, DOC_GROUP), *inner = doc_new(f->a, DOC_INDENT);
    bool wide;
    doc_add(d, take(f));
    if (ahead(f, 0) == TK_GENERIC) {
        doc_add(d, take(f));
        doc_add(d, put_type(f));
        doc_add(d, take(f));
    }
    doc_add(d, list(f, stiff, TK_RBRACKET, put_index_var));
    doc_put(f->a, inner, DOC_SPACE);
    doc_add(inner, put_expr(f, false, &wide));
    doc_add(d, inner);
    close_group(f, d, first);
    return d;
}

// ---- Chains of operators -----------------------------------------------------------------------

// An operand, and the operator after it.
typedef struct {
    Doc *doc, *operator;
    int level;       // of the operator; 0 after the last
    int first, last; // tokens of the operand
} Link;
typedef VEC(Link) Chain;

static Doc *put_unary(Formatter *f, bool *wide) {
    Doc *d = seq(f);
    int kind = ahead(f, 0);
    if (kind == TK_MINUS || kind == TK_PLUS || kind == TK_BANG)
        doc_add(d, take(f));
    *wide = ahead(f, 0) == TK_REDUCE;
    doc_add(d, *wide ? put_reduce(f) : put_primary(f));
    return d;
}

// Links from..to as nested groups, the loosest operators outside.
static Doc *put_links(const Formatter *f, const Link *links, int from, int to) {
    if (from == to)
        return links[from].doc;
    int loosest = links[from].level;
    for (int i = from; i < to; i++)
        loosest = links[i].level < loosest ? links[i].level : loosest;
    Doc *group = doc_new(f->a, DOC_GROUP);
    for (int i = from, start = from; i <= to; i++) {
        if (i < to && links[i].level != loosest)
            continue;
        Doc *inner = doc_new(f->a, i > start ? DOC_INDENT : DOC_SEQ);
        doc_add(inner, put_links(f, links, start, i));
        doc_add(group, inner);
        if (i < to) {
            doc_str(f->a, group, " ");
            doc_add(group, links[i].operator);
            doc_put(f->a, group, DOC_SPACE);
        }
        start = i + 1;
    }
    group->broken |= f->g.forced[links[to].last] > f->g.forced[links[from].first];
    return group;
}

// An expression; continued lines are indented if `indent`. *wide: it has a loose end that is better
// moved to a line of its own than broken.
static Doc *put_expr(Formatter *f, bool indent, bool *wide) {
    Chain chain = {0};
    bool last_wide;
    do {
        Link link = {.first = f->at};
        link.doc = put_unary(f, &last_wide);
        link.last = f->at - 1;
        link.level = level_of(ahead(f, 0));
        if (link.level)
            link.operator= take(f);
        vec_push(f->a, &chain, link);
    } while (vec_last(&chain).level);
    Doc *d = put_links(f, chain.data, 0, chain.len - 1);
    *wide = chain.len > 1 || last_wide;
    if (!indent || chain.len == 1)
        return d;
    Doc *inner = doc_new(f->a, DOC_INDENT);
    doc_add(inner, d);
    return inner;
}

Doc *put_operand(Formatter *f) {
    bool wide;
    return put_expr(f, true, &wide);
}

Doc *put_value(Formatter *f) {
    Doc *d = seq(f), *group = doc_new(f->a, DOC_GROUP), *inner = doc_new(f->a, DOC_INDENT);
    space(f, d);
    int first = f->at;
    Doc *equals = take(f);
    bool wide, moved = forced_before(f, f->at);
    Doc *value = put_expr(f, false, &wide);
    if (!wide && !moved) {
        doc_add(d, equals);
        space(f, d);
        doc_add(d, value);
        return d;
    }
    doc_add(group, equals);
    doc_put(f->a, inner, DOC_SPACE);
    doc_add(inner, value);
    doc_add(group, inner);
    close_group(f, group, first);
    doc_add(d, group);
    return d;
}
