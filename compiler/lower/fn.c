// Functions: types, statements, loops.
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

const CoreType *low_tensor(Fx *x, Elem elem, const Axis *axes, int n) {
    Lower *l = x->l;
    int rank = 0;
    const Axis *out = subst_axes(l->a, l->dims, axes, n, x->subst, &rank);
    const Dim **dims = NEW_N(l->a, const Dim *, rank + 1);
    for (int i = 0; i < rank; i++)
        dims[i] = out[i].pack ? dim_const(l->dims, 1) : out[i].dim;
    return core_tensor(l->core, low_dtype(x, elem), rank, dims);
}

const CoreType *low_type(Fx *x, const Type *t) {
    return low_tensor(x, t->elem, t->axes, t->rank);
}

// ---- Names and comments ------------------------------------------------------------------------

// The statement's text on one line, cut to what a comment can hold.
static const char *comment_of(Fx *x, Span span) {
    enum { LONGEST = 88 };
    const Source *src = session_source(x->l->s, span);
    StrBuf b = strbuf_new(x->l->a);
    bool space = false;
    for (int i = span.start; src && i < span.end && b.len < LONGEST; i++) {
        char c = src->text.ptr[i];
        bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
        if (!blank && space && b.len)
            strbuf_char(&b, ' ');
        if (!blank)
            strbuf_char(&b, c);
        space = blank;
    }
    if (b.len >= LONGEST)
        strbuf_add(&b, STR(" ..."));
    return b.data;
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

static void bind(Fx *x, const Pattern *p, Low low, Span span) {
    if (p->kind == PATTERN_NAME) {
        x->locals[p->local->number] = low;
        annotate(x, low, p->name, span);
    } else if (p->kind == PATTERN_TUPLE) {
        for (int i = 0; i < p->items.len && i < low.count; i++)
            bind(x, p->items.data[i], low.items[i], span);
    }
}

// ---- Loops -------------------------------------------------------------------------------------

typedef VEC(const Local *) LocalVec;

static bool listed(const LocalVec *v, const Local *l) {
    for (int i = 0; i < v->len; i++) {
        if (v->data[i] == l)
            return true;
    }
    return false;
}

// The variables from outside that a loop's body assigns; they hold tensors now.
static void assigned(Fx *x, const StmtVec *body, LocalVec *out) {
    for (int i = 0; i < body->len; i++) {
        const Stmt *st = body->data[i];
        bool outer =
            st->kind == STMT_ASSIGN && st->local && x->locals[st->local->number].kind == LOW_TENSOR;
        if (outer && !listed(out, st->local))
            vec_push(x->l->a, out, st->local);
        assigned(x, &st->body, out);
    }
}

static Loop *begin_loop(Fx *x, const Stmt *st, const Dim *count, const LocalVec *vars, Val *val) {
    Lower *l = x->l;
    Loop *loop = NEW(l->a, Loop);
    loop->count = count;
    const CoreType **types = NEW_N(l->a, const CoreType *, vars->len + 1);
    for (int i = 0; i < vars->len; i++)
        types[i] = core_value(x->fn, x->locals[vars->data[i]->number].val)->type;
    const CoreType *type = vars->len == 1 ? types[0] : core_tuple(l->core, vars->len, types);
    *val = core_add(l->core, x->fn, OP_LOOP, type, NULL, st->span);
    for (int i = 0; i < vars->len; i++)
        core_arg(l->core, x->fn, *val, x->locals[vars->data[i]->number].val);
    core_value(x->fn, *val)->loop = loop;
    loop->index = core_add(l->core, x->fn, OP_PARAM, core_tensor(l->core, DT_I64, 0, NULL),
                           session_name(l->s, "i"), st->span);
    for (int i = 0; i < vars->len; i++) {
        Val p = core_add(l->core, x->fn, OP_PARAM, types[i], vars->data[i]->name, st->span);
        vec_push(l->a, &loop->carried, p);
        x->locals[vars->data[i]->number].val = p;
    }
    return loop;
}

static void end_loop(Fx *x, const Stmt *st, Loop *loop, Val val, const LocalVec *vars) {
    Lower *l = x->l;
    for (int i = 0; i < vars->len; i++)
        vec_push(l->a, &loop->region.yields, x->locals[vars->data[i]->number].val);
    core_emit(l->core, x->region, val);
    for (int i = 0; i < vars->len; i++) {
        Val v = vars->len == 1 ? val : core_result(l->core, x->fn, x->region, val, i, st->span);
        Value *value = core_value(x->fn, v);
        value->name = vars->data[i]->name;
        x->locals[vars->data[i]->number].val = v;
    }
}

// The loop variable of a range: index + first, as i64.
static Low range_index(Fx *x, const Stmt *st, const Loop *loop) {
    const Dim *first = subst_dim(x->l->dims, st->first, x->subst);
    int64_t zero = 1;
    if (dim_is_const(first, &zero) && zero == 0)
        return (Low){.kind = LOW_TENSOR, .val = loop->index};
    Body b = {.comp = NEW(x->l->a, Comp)};
    int i = body_read(x, &b, loop->index, NULL, 0);
    int root = comp_binary(x->l->core, b.comp, N_ADD, i, comp_dim(x->l->core, b.comp, first));
    Val v = finish_comp(x, &b, core_tensor(x->l->core, DT_I64, 0, NULL), root, st->span);
    return (Low){.kind = LOW_TENSOR, .val = v};
}

static void lower_static_for(Fx *x, const Stmt *st) {
    Lower *l = x->l;
    Low array = {0};
    const Dim *count;
    if (st->from) {
        count = subst_dim(l->dims, dim_sub(l->dims, st->last, st->first), x->subst);
    } else {
        array = lower_value(x, st->value);
        if (array.kind != LOW_ARRAY)
            return;
        count = core_value(x->fn, array.val)->type->count;
    }
    LocalVec vars = {0};
    assigned(x, &st->body, &vars);
    Val val;
    Loop *loop = begin_loop(x, st, count, &vars, &val);
    Region *outer = x->region;
    x->region = &loop->region;
    Low item;
    if (st->from) {
        item = range_index(x, st, loop);
    } else {
        Val block = core_pick(l->core, x->fn, x->region, array.val, loop->index, st->span);
        item = (Low){.kind = LOW_BLOCK, .val = block, .inst = array.inst};
        if (st->pattern->kind == PATTERN_NAME)
            core_value(x->fn, block)->name = st->pattern->name;
    }
    bind(x, st->pattern, item, st->pattern->span);
    lower_stmts(x, &st->body);
    x->region = outer;
    core_value(x->fn, val)->comment = st->from ? NULL : "for each item";
    end_loop(x, st, loop, val, &vars);
}

// ---- Statements --------------------------------------------------------------------------------

static void add_results(Fx *x, Low low, Span span) {
    if (low.kind == LOW_TENSOR) {
        vec_push(x->l->a, &x->fn->region.yields, low.val);
    } else if (low.kind == LOW_TUPLE) {
        for (int i = 0; i < low.count; i++)
            add_results(x, low.items[i], span);
    } else if (low.kind != LOW_ERROR) {
        refuse(x, span, "a result that is no tensor");
    }
}

static void lower_stmt(Fx *x, const Stmt *st) {
    switch (st->kind) {
    case STMT_LET: {
        bool symbolic = st->value->type->kind == TYPE_INT;
        if (!symbolic)
            bind(x, st->pattern, lower_value(x, st->value), st->span);
        break;
    }
    case STMT_LET_INDEX:
        x->locals[st->local->number] = lower_notation(x, st);
        annotate(x, x->locals[st->local->number], st->name, st->span);
        break;
    case STMT_VAR:
    case STMT_ASSIGN:
        if (!st->local) {
            refuse(x, st->span, "assigning a state");
            break;
        }
        x->locals[st->local->number] = lower_value(x, st->value);
        annotate(x, x->locals[st->local->number], st->name, st->span);
        break;
    case STMT_RETURN:
        if (st->value) {
            Low low = lower_value(x, st->value);
            annotate(x, low, NULL, st->span);
            add_results(x, low, st->span);
        }
        break;
    case STMT_STATIC_FOR:
        lower_static_for(x, st);
        break;
    case STMT_WHILE:
        refuse(x, st->span, "`while`");
        break;
    case STMT_FOR:
        refuse(x, st->span, "`for`");
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
