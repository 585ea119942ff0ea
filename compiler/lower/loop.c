// Loops. What a body assigns of the variables around it is carried, part by part; a loop with a
// value stacks what its rounds yield.
#include "lower/internal.h"

typedef VEC(const Local *) LocalVec;

// A loop being lowered.
typedef struct {
    Val val;       // the loop
    Loop *loop;    // its regions
    LocalVec vars; // the variables carried
    Low *before;   // what each held; its parts say what is carried of it
    Region *outer; // where the loop stands
    Span span;     // its text
    Low yield;     // what a round yields
} Rounds;

static bool listed(const LocalVec *v, const Local *l) {
    for (int i = 0; i < v->len; i++) {
        if (v->data[i] == l)
            return true;
    }
    return false;
}

// The variables from outside that a loop's body assigns.
static void assigned(Fx *x, const StmtVec *body, LocalVec *out) {
    for (int i = 0; i < body->len; i++) {
        const Stmt *st = body->data[i];
        bool outer =
            st->kind == STMT_ASSIGN && st->local && x->locals[st->local->number].kind != LOW_ERROR;
        if (outer && !listed(out, st->local))
            vec_push(x->l->a, out, st->local);
        assigned(x, &st->body, out);
        if (st->value && st->value->kind == EXPR_FOR)
            assigned(x, &st->value->body, out);
    }
}

static void carry_var(Fx *x, Rounds *r, int i) {
    Core *c = x->l->core;
    const Local *var = r->vars.data[i];
    ValVec parts = {0};
    r->before[i] = x->locals[var->number];
    parts_of(x, r->before[i], &parts);
    for (int k = 0; k < parts.len; k++) {
        core_arg(c, x->fn, r->val, parts.data[k]);
        const CoreType *t = core_value(x->fn, parts.data[k])->type;
        parts.data[k] = core_add(c, x->fn, OP_PARAM, t, var->name, r->span);
        vec_push(x->l->a, &r->loop->carried, parts.data[k]);
    }
    int next = 0;
    x->locals[var->number] = with_parts(x, r->before[i], parts.data, &next);
}

// `count` NULL: a `while`, whose test is lowered first. The region is the loop's now.
static Rounds begin(Fx *x, Span span, const StmtVec *body, const Dim *count) {
    Lower *l = x->l;
    Rounds r = {.loop = NEW(l->a, Loop), .outer = x->region, .span = span};
    assigned(x, body, &r.vars);
    r.before = NEW_N(l->a, Low, r.vars.len + 1);
    r.loop->count = count;
    r.val = core_add(l->core, x->fn, count ? OP_LOOP : OP_WHILE, NULL, NULL, span);
    core_value(x->fn, r.val)->loop = r.loop;
    core_value(x->fn, r.val)->type = core_tuple(l->core, 0, NULL);
    if (count)
        r.loop->index = core_add(l->core, x->fn, OP_PARAM, core_tensor(l->core, DT_I64, 0, NULL),
                                 session_name(l->s, "i"), span);
    for (int i = 0; i < r.vars.len; i++)
        carry_var(x, &r, i);
    x->region = &r.loop->region;
    return r;
}

static const CoreType *stacked_type(Fx *x, const CoreType *item, const Dim *count) {
    const Dim *dims[CORE_MAX_RANK + 1] = {count};
    for (int i = 0; i < item->rank; i++)
        dims[i + 1] = item->dims[i];
    return core_tensor(x->l->core, item->dtype, item->rank + 1, dims);
}

static void set_type(Fx *x, const Rounds *r) {
    int n = r->loop->region.yields.len;
    const CoreType **types = NEW_N(x->l->a, const CoreType *, n + 1);
    for (int i = 0; i < n; i++) {
        const CoreType *t = core_value(x->fn, r->loop->region.yields.data[i])->type;
        types[i] = i < r->loop->carried.len ? t : stacked_type(x, t, r->loop->count);
    }
    core_value(x->fn, r->val)->type = n == 1 ? types[0] : core_tuple(x->l->core, n, types);
}

static bool yield_all(Fx *x, const Rounds *r) {
    for (int i = 0; i < r->vars.len; i++) {
        Low after = x->locals[r->vars.data[i]->number];
        if (!same_parts(&after, &r->before[i])) {
            refuse(x, r->span, "a variable that is there in some rounds only");
            return false;
        }
        yield_parts(x, after, &r->loop->region);
    }
    ValVec stacked = {0};
    parts_of(x, r->yield, &stacked);
    for (int i = 0; i < stacked.len; i++) {
        if (core_value(x->fn, stacked.data[i])->type->rank == CORE_MAX_RANK) {
            refuse(x, r->span, "a stack of tensors of so many axes");
            return false;
        }
        vec_push(x->l->a, &r->loop->region.yields, stacked.data[i]);
    }
    return true;
}

// The variables take their values after the loop; the stack of what was yielded.
static Low end(Fx *x, Rounds *r) {
    Core *c = x->l->core;
    x->region = r->outer;
    if (x->l->failed || !yield_all(x, r))
        return (Low){.kind = LOW_ERROR};
    set_type(x, r);
    core_emit(c, x->region, r->val);
    int n = r->loop->region.yields.len, next = 0;
    Val *results = NEW_N(x->l->a, Val, n + 1);
    for (int i = 0; i < n; i++) {
        results[i] = n == 1 ? r->val : core_result(c, x->fn, x->region, r->val, i, r->span);
        if (i < r->loop->carried.len)
            core_value(x->fn, results[i])->name = core_value(x->fn, r->loop->carried.data[i])->name;
    }
    for (int i = 0; i < r->vars.len; i++)
        x->locals[r->vars.data[i]->number] = with_parts(x, r->before[i], results, &next);
    return with_parts(x, r->yield, results, &next);
}

// The loop variable of a range: index + first, as i64.
static Low range_index(Fx *x, const Dim *first, const Rounds *r) {
    int64_t zero = 1;
    first = subst_dim(x->l->dims, first, x->subst);
    if (dim_is_const(first, &zero) && zero == 0)
        return (Low){.kind = LOW_TENSOR, .val = r->loop->index};
    Body b = {.comp = NEW(x->l->a, Comp)};
    int i = body_read(x, &b, r->loop->index, NULL, 0);
    int root = comp_binary(x->l->core, b.comp, N_ADD, i, comp_dim(x->l->core, b.comp, first));
    Val v = finish_comp(x, &b, core_tensor(x->l->core, DT_I64, 0, NULL), root, r->span);
    return (Low){.kind = LOW_TENSOR, .val = v};
}

static const Dim *range_count(Fx *x, const Dim *first, const Dim *last) {
    return subst_dim(x->l->dims, dim_sub(x->l->dims, last, first), x->subst);
}

void lower_for(Fx *x, const Stmt *st) {
    Rounds r = begin(x, st->span, &st->body, range_count(x, st->first, st->last));
    bind_value(x, st->pattern, range_index(x, st->first, &r), st->pattern->span);
    lower_stmts(x, &st->body);
    end(x, &r);
}

void lower_for_each(Fx *x, const Stmt *st) {
    Low array = lower_value(x, st->value);
    if (array.kind != LOW_ARRAY)
        return;
    Rounds r = begin(x, st->span, &st->body, core_value(x->fn, array.val)->type->count);
    Val block = core_pick(x->l->core, x->fn, x->region, array.val, r.loop->index, st->span);
    if (st->pattern->kind == PATTERN_NAME)
        core_value(x->fn, block)->name = st->pattern->name;
    Low item = {.kind = LOW_BLOCK, .val = block, .inst = array.inst};
    bind_value(x, st->pattern, item, st->pattern->span);
    lower_stmts(x, &st->body);
    core_value(x->fn, r.val)->comment = "for each item";
    end(x, &r);
}

void lower_while(Fx *x, const Stmt *st) {
    Rounds r = begin(x, st->span, &st->body, NULL);
    x->region = &r.loop->test;
    Val test = lower_tensor(x, st->value);
    if (test)
        vec_push(x->l->a, &r.loop->test.yields, test);
    x->region = &r.loop->region;
    lower_stmts(x, &st->body);
    end(x, &r);
}

Low lower_scan(Fx *x, const Expr *e) {
    Low outer = x->yield;
    Rounds r = begin(x, e->span, &e->body, range_count(x, e->from, e->to));
    bind_value(x, e->pattern, range_index(x, e->from, &r), e->pattern->span);
    lower_stmts(x, &e->body);
    r.yield = x->yield;
    x->yield = outer;
    if (!x->l->failed && !plain_parts(r.yield))
        refuse(x, e->span, "what this `for` yields");
    return end(x, &r);
}
