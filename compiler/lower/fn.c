// Functions: types, statements.
#include "lower/internal.h"
#include <string.h>

void refuse(Fx *x, Span span, const char *what) {
    report(x->l->s, span, E2190, "%s is not lowered by this version yet", what);
    x->l->failed = true;
}

Dtype low_dtype(Fx *x, Elem elem) {
    elem = subst_elem(elem, x->subst);
    return elem.generic ? DT_F32 : elem.dtype; // generics are bound: see dtypes_bound
}

static const CoreType *low_tensor(Fx *x, Elem elem, const Axis *axes, int n) {
    Lower *l = x->l;
    int rank = 0;
    const Axis *out = subst_axes(l->a, l->dims, axes, n, x->subst, &rank);
    if (!within(l, rank, CORE_MAX_RANK, x->item ? x->item->name_span : (Span){0}, "axes"))
        rank = rank < CORE_MAX_RANK ? rank : CORE_MAX_RANK;
    const Dim **dims = NEW_N(l->a, const Dim *, rank + 1);
    for (int i = 0; i < rank; i++) {
        dims[i] = out[i].pack ? dim_const(l->dims, 1) : out[i].dim;
        sound_dim(l, dims[i], x->item ? x->item->name_span : (Span){0});
    }
    return core_tensor(l->core, low_dtype(x, elem), rank, dims);
}

const CoreType *low_type(Fx *x, const Type *t) {
    return low_tensor(x, t->elem, t->axes, t->rank);
}

// ---- Names and comments ------------------------------------------------------------------------

// The statement's text on one line, without its comments; NULL where that is longer than helps.
static const char *comment_of(Fx *x, Span span) {
    enum { LONGEST = 400 };
    const Source *src = session_source(x->l->s, span);
    StrBuf b = strbuf_new(x->l->a);
    bool space = false;
    for (int i = span.start; src && i < span.end && b.len <= LONGEST; i++) {
        const char *p = src->text.ptr + i;
        bool comment = p[0] == '/' && p[1] == '/';
        bool blank = comment || *p == ' ' || *p == '\t' || *p == '\n' || *p == '\r';
        if (comment)
            i += (int)strcspn(p, "\n") - 1;
        if (!blank && space && b.len)
            strbuf_char(&b, ' ');
        if (!blank)
            strbuf_char(&b, *p);
        space = blank;
    }
    return b.len && b.len <= LONGEST ? b.data : NULL;
}

static void annotate(Fx *x, Low low, Name name, Span span) {
    if (low.kind != LOW_TENSOR)
        return;
    Value *v = core_value(x->fn, low.val);
    if (!v->name && v->op != OP_PARAM)
        v->name = name;
    if (!v->comment && v->op != OP_PARAM)
        v->comment = comment_of(x, span);
}

void bind_value(Fx *x, const Pattern *p, Low low, Span span) {
    if (p->kind == PATTERN_NAME) {
        x->locals[p->local->number] = low;
        annotate(x, low, p->name, span);
    } else if (p->kind == PATTERN_TUPLE) {
        for (int i = 0; i < p->items.len && i < low.count; i++)
            bind_value(x, p->items.data[i], low.items[i], span);
    }
}

// ---- Statements --------------------------------------------------------------------------------

static void set_results(Fx *x, Low low, Span span) {
    if (low.kind == LOW_ERROR)
        return;
    if (!plain_parts(low)) {
        refuse(x, span, "this result");
        return;
    }
    x->result = low;
    yield_parts(x, low, &x->fn->region);
}

// A state takes a whole value.
static void assign_state(Fx *x, const Stmt *st) {
    Low value = lower_value(x, st->value);
    if (value.kind != LOW_TENSOR)
        return;
    annotate(x, value, NULL, st->span);
    Core *c = x->l->core;
    Val state = core_member(c, x->fn, x->region, x->self_val, st->member->name, st->span);
    Val whole = fit(x, value.val, core_value(x->fn, state)->type, st->span);
    Val now = core_assign(c, x->fn, x->region, state, whole, st->span);
    core_value(x->fn, state)->name = st->member->name;
    core_value(x->fn, now)->name = st->member->name;
}

static void lower_variable(Fx *x, const Stmt *st) {
    Low *local = &x->locals[st->local->number];
    Low low = lower_value(x, st->value);
    *local = st->kind == STMT_ASSIGN ? fit_parts(x, low, *local, st->span) : low;
    annotate(x, *local, st->name, st->span);
}

static void lower_stmt(Fx *x, const Stmt *st) {
    switch (st->kind) {
    case STMT_LET: {
        bool symbolic = st->value->type->kind == TYPE_INT;
        if (!symbolic)
            bind_value(x, st->pattern, lower_value(x, st->value), st->span);
        break;
    }
    case STMT_LET_INDEX:
        x->locals[st->local->number] = lower_notation(x, st);
        annotate(x, x->locals[st->local->number], st->name, st->span);
        break;
    case STMT_VAR:
    case STMT_ASSIGN:
        if (!st->local) {
            assign_state(x, st);
            break;
        }
        lower_variable(x, st);
        break;
    case STMT_RETURN:
        if (st->value) {
            Low low = lower_value(x, st->value);
            annotate(x, low, NULL, st->span);
            set_results(x, low, st->span);
        }
        break;
    case STMT_STATIC_FOR:
        if (st->from)
            lower_for(x, st);
        else
            lower_for_each(x, st);
        break;
    case STMT_WHILE:
        lower_while(x, st);
        break;
    case STMT_FOR:
        lower_for(x, st);
        break;
    case STMT_YIELD:
        x->yield = lower_value(x, st->value);
        break;
    default:
        refuse(x, st->span, "this statement");
    }
}

void lower_stmts(Fx *x, const StmtVec *body) {
    for (int i = 0; i < body->len && !x->l->failed; i++)
        lower_stmt(x, body->data[i]);
}

void lower_body(Fx *x) {
    for (int i = 0; i < x->item->params.len; i++) {
        const Param *p = x->item->params.data[i];
        bool fallback = x->params[i].kind == LOW_ABSENT && p->fallback &&
                        p->fallback->kind != EXPR_NONE && p->type->kind == TYPE_TENSOR;
        if (fallback)
            x->params[i] = lower_value(x, p->fallback);
    }
    lower_stmts(x, &x->item->body);
}
