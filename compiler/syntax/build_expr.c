// Builders of expressions; see build.h.
//
// Each node knows the height of the tree below it. Higher than MAX_DEPTH is refused here, so that
// every later walk may recurse.
#include "syntax/build.h"
#include "grammar.h"

typedef struct {
    int most; // greatest height seen
} Height;

static void over(Height *h, const Expr *e) {
    if (e && e->depth > h->most)
        h->most = e->depth;
}

static void over_type(Height *h, const AstType *t) {
    if (t && t->depth > h->most)
        h->most = t->depth;
}

static void over_shape(Height *h, const ShapeVec *shape) {
    for (int i = 0; i < shape->len; i++)
        over(h, shape->data[i].expr);
}

static void over_generics(Height *h, const AstGenericArgVec *list) {
    for (int i = 0; i < list->len; i++) {
        over_type(h, list->data[i].type);
        over(h, list->data[i].expr);
        over_shape(h, &list->data[i].shape);
    }
}

static void over_lists(Height *h, const Expr *e) {
    for (int i = 0; i < e->args.len; i++)
        over(h, e->args.data[i].value);
    for (int i = 0; i < e->parts.len; i++) {
        const IndexPart *part = &e->parts.data[i];
        over(h, part->expr);
        over(h, part->start);
        over(h, part->stop);
        over(h, part->step);
    }
    for (int i = 0; i < e->arms.len; i++)
        over(h, e->arms.data[i].value);
    for (int i = 0; i < e->items.len; i++)
        over(h, e->items.data[i]);
    for (int i = 0; i < e->body.len; i++) {
        if (e->body.data[i]->depth > h->most)
            h->most = e->body.data[i]->depth;
    }
}

// Sets the height of a complete node, or refuses it.
static Expr *finish(Parser *p, Expr *e) {
    Height h = {0};
    over(&h, e->a);
    over(&h, e->b);
    over(&h, e->c);
    over_type(&h, e->elem);
    over_shape(&h, &e->shape);
    over_generics(&h, &e->generics);
    over_lists(&h, e);
    e->depth = h.most + 1;
    if (e->depth <= MAX_DEPTH)
        return e;
    if (!p->too_deep) {
        Diag *d = report(p->s, (Span){p->file, e->span.end, e->span.end}, E1101,
                         "this expression is nested or chained more than %d deep", MAX_DEPTH);
        diag_help(p->s, d, "name a part of it with `let`");
    }
    p->too_deep = true;
    Expr *error = expr_new(p->s, EXPR_ERROR, e->span);
    error->depth = 1;
    return error;
}

Expr *build_leaf(Parser *p, ExprKind kind, Token t) {
    Expr *e = expr_new(p->s, kind, token_span(p, t));
    e->text = (Str){p->text + t.start, t.end - t.start};
    if (kind == EXPR_INT)
        e->int_value = int_value(p->text, t);
    else if (kind == EXPR_FLOAT)
        e->float_value = float_value(p->s->arena, p->text, t);
    else if (kind == EXPR_STRING)
        e->text = string_value(p->s->arena, p->text, t);
    else if (kind == EXPR_NAME)
        e->name = token_as_name(p, t);
    return finish(p, e);
}

Expr *build_unary(Parser *p, UnaryOp op, Token t, Expr *a) {
    Expr *e = expr_new(p->s, EXPR_UNARY, span_join(token_span(p, t), a->span));
    e->unary = op;
    e->op_span = token_span(p, t);
    e->a = a;
    return finish(p, e);
}

Expr *build_binary(Parser *p, BinaryOp op, Token t, Expr *a, Expr *b) {
    Expr *e = expr_new(p->s, EXPR_BINARY, span_join(a->span, b->span));
    e->binary = op;
    e->op_span = token_span(p, t);
    e->a = a;
    e->b = b;
    return finish(p, e);
}

Expr *build_member_expr(Parser *p, Expr *a, Token name) {
    Expr *e = expr_new(p->s, EXPR_MEMBER, span_join(a->span, token_span(p, name)));
    e->a = a;
    e->name = token_as_name(p, name);
    e->name_span = token_span(p, name);
    return finish(p, e);
}

Expr *build_call(Parser *p, Expr *a, AstGenericArgVec *generics, ArgVec args, Token end) {
    Expr *e = expr_new(p->s, EXPR_CALL, span_join(a->span, token_span(p, end)));
    e->a = a;
    e->args = args;
    e->has_generics = generics != NULL;
    if (generics)
        e->generics = *generics;
    for (int i = 1; i < args.len; i++) {
        if (args.data[i].keyword || !args.data[i - 1].keyword)
            continue;
        report(p->s, args.data[i].span, E1101, "a positional argument after a named one");
        break;
    }
    return finish(p, e);
}

Expr *build_index(Parser *p, Expr *a, IndexPartVec parts, Token end) {
    Expr *e = expr_new(p->s, EXPR_INDEX, span_join(a->span, token_span(p, end)));
    e->a = a;
    e->parts = parts;
    int ellipses = 0;
    for (int i = 0; i < parts.len; i++) {
        if (parts.data[i].kind == INDEX_ELLIPSIS && ++ellipses == 2)
            report(p->s, parts.data[i].span, E1101, "a second `...` in one index");
    }
    return finish(p, e);
}

Expr *build_parens(Parser *p, Token first, Expr *a, Token end) {
    a->parens = true;
    a->span = between(p, first, end);
    return a;
}

Expr *build_some(Parser *p, Token first, Expr *a, Token end) {
    Expr *e = expr_new(p->s, EXPR_SOME, between(p, first, end));
    e->a = a;
    return finish(p, e);
}

Expr *build_tuple(Parser *p, Token first, ExprVec items, Token end) {
    Expr *e = expr_new(p->s, EXPR_TUPLE, between(p, first, end));
    e->items = items;
    return finish(p, e);
}

Expr *build_if(Parser *p, Token first, Expr *c, Expr *a, Expr *b, Token end) {
    Expr *e = expr_new(p->s, EXPR_IF, between(p, first, end));
    e->c = c;
    e->a = a;
    e->b = b;
    return finish(p, e);
}

Expr *build_match(Parser *p, Token first, Expr *a, ArmVec arms, Token end) {
    Expr *e = expr_new(p->s, EXPR_MATCH, between(p, first, end));
    e->a = a;
    e->arms = arms;
    return finish(p, e);
}

Expr *build_for(Parser *p, Loop loop) {
    Expr *e = expr_new(p->s, EXPR_FOR, loop.span);
    e->pattern = loop.pattern;
    e->a = loop.from;
    e->b = loop.to;
    e->body = loop.body;
    return finish(p, e);
}

ReduceHead reduce_head(Parser *p, Token name, AstType *elem, IndexVarVec indices) {
    ReduceKind kind = REDUCE_SUM;
    while (kind < REDUCE_ALL && !token_is(p->text, name, reduce_text(kind)))
        kind++;
    return (ReduceHead){kind, elem, indices, token_span(p, name)};
}

Expr *build_reduce(Parser *p, ReduceHead head, Expr *a) {
    Expr *e = expr_new(p->s, EXPR_REDUCE, span_join(head.span, a->span));
    e->reduce = head.kind;
    e->elem = head.elem;
    e->indices = head.indices;
    e->a = a;
    return finish(p, e);
}

Expr *build_shape(Parser *p, Token first, ShapeVec shape, Token end) {
    Expr *e = expr_new(p->s, EXPR_SHAPE, between(p, first, end));
    e->shape = shape;
    return finish(p, e);
}

Arg build_arg(Parser *p, Token *keyword, Expr *value) {
    Arg arg = {.value = value, .span = value->span};
    if (keyword) {
        arg.keyword = token_as_name(p, *keyword);
        arg.span = span_join(token_span(p, *keyword), value->span);
    }
    return arg;
}

IndexPart index_part(Parser *p, IndexKind kind, Token first, Token last, Expr *e) {
    IndexPart part = {.kind = kind, .expr = e};
    part.span = e ? e->span : between(p, first, last);
    part.pack = kind == INDEX_PACK ? token_as_name(p, last) : NULL;
    return part;
}

IndexPart index_slice(Parser *p, Token colon, Expr *start, Expr *stop, Token *second, Expr *step) {
    IndexPart part = {.kind = INDEX_SLICE, .start = start, .stop = stop, .step = step};
    part.span = between(p, colon, second ? *second : colon);
    part.span = start ? span_join(start->span, part.span) : part.span;
    part.span = stop ? span_join(part.span, stop->span) : part.span;
    part.span = step ? span_join(part.span, step->span) : part.span;
    return part;
}
