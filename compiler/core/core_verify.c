// The verifier: types, blocks, order of functions and values, arguments of every op. What it says
// is a fault of the compiler, so it trusts nothing: a wrong number is a line of its report, never a
// crash.
#include "core/verify.h"
#include <string.h>

enum { DEEPEST_REGION = 64, DEEPEST_TUPLE = 64 };

void verify_fault(Verifier *v, const char *format, ...) {
    if (++v->count > MOST_FAULTS)
        return;
    if (v->fn)
        strbuf_printf(v->faults, "fn @%s: ", v->fn->label);
    if (v->fn && v->value) {
        Name name = v->value <= (Val)v->fn->values.len ? core_value(v->fn, v->value)->name : NULL;
        strbuf_printf(v->faults, "value %u%s%s: ", v->value, name ? " %" : "", name ? name : "");
    }
    va_list args;
    va_start(args, format);
    strbuf_vprintf(v->faults, format, args);
    va_end(args);
    strbuf_char(v->faults, '\n');
}

// ---- Types -------------------------------------------------------------------------------------

typedef struct {
    const Verifier *v;
    const Dim *stranger; // a symbol that is not the module's
} SymbolCheck;

static void check_symbol(void *ctx, const Dim *symbol) {
    SymbolCheck *c = ctx;
    if (!map_has(&c->v->symbols, symbol))
        c->stranger = symbol;
}

void verify_dim(Verifier *v, const Dim *d, const char *what) {
    if (!d || !dim_valid(d)) {
        verify_fault(v, "%s is not valid", what);
        return;
    }
    SymbolCheck c = {v, NULL};
    dim_symbols(d, check_symbol, &c);
    if (c.stranger)
        verify_fault(v, "%s uses `%s`, which is not among the module's symbols", what,
                     dim_name(c.stranger));
}

static bool verify_type(Verifier *v, const CoreType *t, const char *what, int depth) {
    if (!t || depth > DEEPEST_TUPLE) {
        verify_fault(v, "%s has no type", what);
        return false;
    }
    int before = v->count;
    switch (t->kind) {
    case CORE_TENSOR:
        if ((unsigned)t->dtype >= DT_COUNT || t->rank < 0 || t->rank > CORE_MAX_RANK) {
            verify_fault(v, "%s is a tensor of no dtype or rank", what);
            return false;
        }
        for (int i = 0; i < t->rank; i++)
            verify_dim(v, t->dims[i], what);
        break;
    case CORE_ARRAY:
    case CORE_BLOCK:
        if (!map_has(&v->blocks, t->block))
            verify_fault(v, "%s is of a block that is not the module's", what);
        if (t->kind == CORE_ARRAY)
            verify_dim(v, t->count, what);
        break;
    case CORE_TUPLE:
        for (int i = 0; i < t->item_count; i++)
            verify_type(v, t->items[i], what, depth + 1);
        break;
    default:
        verify_fault(v, "%s is of no kind", what);
    }
    return v->count == before;
}

static bool verify_scalar_i64(const CoreType *t) {
    return t->kind == CORE_TENSOR && t->dtype == DT_I64 && t->rank == 0;
}

// ---- Blocks ------------------------------------------------------------------------------------

static void verify_members(Verifier *v, const CoreBlock *b) {
    Map names = {0};
    for (int i = 0; i < b->members.len; i++) {
        const CoreMember *m = &b->members.data[i];
        const char *what = arena_printf(v->arena, "@%s.%s", b->label, m->name ? m->name : "?");
        if (!m->name || map_has(&names, m->name))
            verify_fault(v, "%s has no name, or another member's", what);
        if (m->name)
            map_put(v->arena, &names, m->name, (void *)m);
        if (!verify_type(v, m->type, what, 0))
            continue;
        CoreKind kind = m->kind == MEMBER_SUB     ? CORE_BLOCK
                        : m->kind == MEMBER_ARRAY ? CORE_ARRAY
                                                  : CORE_TENSOR;
        if (m->type->kind != kind)
            verify_fault(v, "%s is not of the type of its kind of member", what);
    }
}

// `color`: 0 not seen, 1 being seen, 2 done. False once a block is found inside of itself.
static bool no_cycle(Verifier *v, const CoreBlock *b, unsigned char *color) {
    uintptr_t i = (uintptr_t)map_get(&v->blocks, b);
    if (!i || color[i - 1] == 2)
        return true;
    if (color[i - 1] == 1) {
        verify_fault(v, "the block @%s holds itself", b->label);
        return false;
    }
    color[i - 1] = 1;
    for (int m = 0; m < b->members.len; m++) {
        const CoreType *t = b->members.data[m].type;
        bool block = t && (t->kind == CORE_BLOCK || t->kind == CORE_ARRAY);
        if (block && !no_cycle(v, t->block, color))
            return false;
    }
    color[i - 1] = 2;
    return true;
}

static void verify_blocks(Verifier *v) {
    const Core *c = v->core;
    Map labels = {0};
    unsigned char *color = arena_alloc(v->arena, (size_t)c->blocks.len);
    for (int i = 0; i < c->blocks.len; i++) {
        const CoreBlock *b = c->blocks.data[i];
        if (!b->label || !b->name || map_has(&labels, b->label))
            verify_fault(v, "block %d has no name, or another's label", i);
        if (b->label)
            map_put(v->arena, &labels, b->label, (void *)b);
        verify_members(v, b);
        no_cycle(v, b, color);
    }
}

// ---- Values by op ------------------------------------------------------------------------------

static const CoreType *type_of(const Verifier *v, Val n) {
    return core_value(v->fn, n)->type;
}

// Is t the type of these results: the one, or a tuple?
static bool is_result_of(const CoreFn *f, const CoreType *t, const Val *results, int n) {
    if (n == 1)
        return core_type_equal(t, core_value(f, results[0])->type);
    if (t->kind != CORE_TUPLE || t->item_count != n)
        return false;
    for (int i = 0; i < n; i++) {
        if (!core_type_equal(t->items[i], core_value(f, results[i])->type))
            return false;
    }
    return true;
}

static bool all_known(const CoreFn *f, const Val *vals, int n) {
    for (int i = 0; i < n; i++) {
        if (vals[i] < 1 || (int)vals[i] > f->values.len)
            return false;
    }
    return true;
}

static void verify_call(Verifier *v, const Value *value) {
    const CoreFn *g = value->callee;
    uintptr_t index = (uintptr_t)map_get(&v->fns, g);
    if (!index || (int)index > v->fn_index) {
        verify_fault(v, "the callee does not come before its caller in the module");
        return;
    }
    if (!all_known(g, g->params.data, g->params.len) ||
        !all_known(g, g->region.yields.data, g->region.yields.len))
        return; // reported with the callee
    if (g->states.len)
        verify_fault(v, "@%s has states: it is not called by others", g->label);
    if (value->args.len != g->params.len) {
        verify_fault(v, "@%s takes %d arguments, not %d", g->label, g->params.len, value->args.len);
        return;
    }
    for (int i = 0; i < value->args.len; i++) {
        const CoreType *wants = core_value(g, g->params.data[i])->type;
        if (!core_type_equal(type_of(v, value->args.data[i]), wants))
            verify_fault(v, "argument %d of @%s is of another type than its parameter", i,
                         g->label);
    }
    if (!is_result_of(g, value->type, g->region.yields.data, g->region.yields.len))
        verify_fault(v, "the type is not that of the results of @%s", g->label);
}

static void verify_result(Verifier *v, const Value *value) {
    const CoreType *t = type_of(v, value->args.data[0]);
    if (t->kind != CORE_TUPLE)
        verify_fault(v, "`result` of something that has no several results");
    else if (value->index < 0 || value->index >= t->item_count)
        verify_fault(v, "result %d of %d", value->index, t->item_count);
    else if (!core_type_equal(value->type, t->items[value->index]))
        verify_fault(v, "the type is not that of result %d", value->index);
}

static void verify_member(Verifier *v, const Value *value) {
    const CoreType *t = type_of(v, value->args.data[0]);
    if (t->kind != CORE_BLOCK || !map_has(&v->blocks, t->block)) {
        verify_fault(v, "`member` of something that is no block");
        return;
    }
    const CoreMember *m = core_find_member(t->block, value->member);
    const char *name = value->member ? value->member : "?";
    if (!m)
        verify_fault(v, "@%s has no member `%s`", t->block->label, name);
    else if (!core_type_equal(value->type, m->type))
        verify_fault(v, "the type is not that of @%s.%s", t->block->label, name);
}

static void verify_pick(Verifier *v, const Value *value) {
    const CoreType *t = type_of(v, value->args.data[0]);
    if (t->kind == CORE_TENSOR)
        verify_pick_tensor(v, value);
    else if (t->kind != CORE_ARRAY)
        verify_fault(v, "`pick` from something that is no array");
    else if (value->type->kind != CORE_BLOCK || value->type->block != t->block)
        verify_fault(v, "the type is not that of the array's blocks");
    if (!verify_scalar_i64(type_of(v, value->args.data[1])))
        verify_fault(v, "the index of `pick` is not an i64 scalar");
}

// ---- Regions -----------------------------------------------------------------------------------

static void verify_region(Verifier *v, const Region *r, int depth);

static bool in_scope(Verifier *v, Val n, const char *what) {
    if (n < 1 || (int)n > v->fn->values.len) {
        verify_fault(v, "%s is value %u of %d", what, n, v->fn->values.len);
        return false;
    }
    if (v->state[n - 1] == VALUE_HERE)
        return true;
    verify_fault(v, "%s, value %u, is %s", what, n,
                 v->state[n - 1] == VALUE_GONE      ? "of a region that has ended"
                 : v->state[n - 1] == VALUE_WRITTEN ? "overwritten before this"
                                                    : "not defined before this");
    return false;
}

// A parameter of a function or a region comes into scope.
static bool enter_param(Verifier *v, Val n, const char *what) {
    if (n < 1 || (int)n > v->fn->values.len || core_value(v->fn, n)->op != OP_PARAM) {
        verify_fault(v, "%s, value %u, is no `param`", what, n);
        return false;
    }
    if (v->state[n - 1] != VALUE_NEW) {
        verify_fault(v, "%s, value %u, is a parameter twice", what, n);
        return false;
    }
    v->state[n - 1] = VALUE_HERE;
    return verify_type(v, core_value(v->fn, n)->type, what, 0);
}

static bool enter_index(Verifier *v, const Value *value) {
    const Loop *l = value->loop;
    if (value->op == OP_WHILE)
        return true;
    verify_dim(v, l->count, "the loop's count");
    if (!enter_param(v, l->index, "the loop's index"))
        return false;
    if (!verify_scalar_i64(type_of(v, l->index)))
        verify_fault(v, "the loop's index is not an i64 scalar");
    return true;
}

static bool enter_loop(Verifier *v, const Value *value) {
    const Loop *l = value->loop;
    if (!enter_index(v, value))
        return false;
    int n = l->carried.len, yields = l->region.yields.len;
    bool stacks = value->op == OP_LOOP && yields > n;
    if (value->args.len != n || (yields != n && !stacks)) {
        verify_fault(v, "a loop carries %d values, is given %d and yields %d", n, value->args.len,
                     yields);
        return false;
    }
    bool fine = true;
    for (int i = 0; i < n; i++) {
        if (!enter_param(v, l->carried.data[i], "a carried value")) {
            fine = false;
            continue;
        }
        if (core_type_equal(type_of(v, l->carried.data[i]), type_of(v, value->args.data[i])))
            continue;
        verify_fault(v, "carried value %d is of another type than its first value", i);
    }
    return fine;
}

static void leave_region(Verifier *v, const Region *r) {
    for (int i = 0; i < r->body.len; i++) {
        Val n = r->body.data[i];
        if (n >= 1 && (int)n <= v->fn->values.len && v->state[n - 1] == VALUE_HERE)
            v->state[n - 1] = VALUE_GONE;
    }
}

// What the regions defined, and their parameters, are out of scope after them.
static void leave_loop(Verifier *v, const Loop *l) {
    if (l->index)
        v->state[l->index - 1] = VALUE_GONE;
    for (int i = 0; i < l->carried.len; i++)
        v->state[l->carried.data[i] - 1] = VALUE_GONE;
    leave_region(v, &l->region);
}

// One result: what is carried, or a stack of what each round yields.
static bool is_loop_result(const Verifier *v, const Loop *l, int i, const CoreType *t) {
    if (i < l->carried.len)
        return core_type_equal(t, type_of(v, l->carried.data[i]));
    const CoreType *item = type_of(v, l->region.yields.data[i]);
    bool fits = t->kind == CORE_TENSOR && item->kind == CORE_TENSOR && t->dtype == item->dtype &&
                t->rank == item->rank + 1 && t->dims[0] == l->count;
    for (int k = 0; fits && k < item->rank; k++)
        fits = t->dims[k + 1] == item->dims[k];
    return fits;
}

static void verify_loop_results(Verifier *v, const Value *value) {
    const Loop *l = value->loop;
    const CoreType *t = value->type;
    int n = l->region.yields.len;
    if (!all_known(v->fn, l->region.yields.data, n))
        return;
    bool fits = n == 1 || (t->kind == CORE_TUPLE && t->item_count == n);
    for (int i = 0; fits && i < n; i++)
        fits = is_loop_result(v, l, i, n == 1 ? t : t->items[i]);
    if (!fits)
        verify_fault(v, "the type is not that of the values carried and stacked");
}

static void verify_test(Verifier *v, const Region *test, int depth) {
    verify_region(v, test, depth + 1);
    const CoreType *t = test->yields.len == 1 && all_known(v->fn, test->yields.data, 1)
                            ? type_of(v, test->yields.data[0])
                            : NULL;
    if (!t || t->kind != CORE_TENSOR || t->dtype != DT_BOOL || t->rank)
        verify_fault(v, "the test of `while` is no bool scalar");
    leave_region(v, test);
}

static void verify_loop(Verifier *v, const Value *value, int depth) {
    const Loop *l = value->loop;
    Val number = v->value;
    if (!l || depth >= DEEPEST_REGION) {
        verify_fault(v, "a loop without a region, or nested too deep");
        return;
    }
    verify_loop_memory(v, value);
    if (!enter_loop(v, value))
        return;
    if (value->op == OP_WHILE)
        verify_test(v, &l->test, depth);
    verify_region(v, &l->region, depth + 1);
    v->value = number;
    verify_yields_memory(v, &l->region);
    for (int i = 0; i < l->carried.len; i++) {
        if (all_known(v->fn, &l->region.yields.data[i], 1) &&
            !core_type_equal(type_of(v, l->region.yields.data[i]), type_of(v, l->carried.data[i])))
            verify_fault(v, "the yield %d is of another type than the value carried", i);
    }
    verify_loop_results(v, value);
    leave_loop(v, l);
}

static void verify_cumsum(Verifier *v, const Value *value) {
    const CoreType *t = type_of(v, value->args.data[0]);
    if (t->kind != CORE_TENSOR || t->dtype == DT_BOOL || !core_type_equal(value->type, t))
        verify_fault(v, "`cumsum` of something that is no tensor of numbers, or as another type");
    else if (value->index < 0 || value->index >= t->rank)
        verify_fault(v, "axis %d of a tensor of rank %d", value->index, t->rank);
}

static int op_args(Op op) {
    static const int counts[] = {
#define OP(id, text, args, doc) args,
#include "core/ops.def"
#undef OP
    };
    return counts[op];
}

static void verify_op(Verifier *v, const Value *value, int depth) {
    switch (value->op) {
    case OP_COMP:
        verify_comp(v, value);
        break;
    case OP_CALL:
        verify_call(v, value);
        break;
    case OP_RESULT:
        verify_result(v, value);
        break;
    case OP_LOOP:
    case OP_WHILE:
        verify_loop(v, value, depth);
        break;
    case OP_CUMSUM:
        verify_cumsum(v, value);
        break;
    case OP_ASSIGN:
    case OP_PLACE:
        verify_assign(v, value);
        break;
    case OP_MEMBER:
        verify_member(v, value);
        break;
    case OP_PICK:
        verify_pick(v, value);
        break;
    case OP_WRITE:
        verify_write(v, value);
        break;
    default:
        verify_fault(v, "`param` in the body of a region");
    }
}

static void verify_value(Verifier *v, Val n, int depth) {
    v->value = n;
    if (n < 1 || (int)n > v->fn->values.len) {
        verify_fault(v, "a region holds value %u of %d", n, v->fn->values.len);
        return;
    }
    const Value *value = core_value(v->fn, n);
    if (v->state[n - 1] != VALUE_NEW || (unsigned)value->op >= OP_COUNT) {
        verify_fault(v, "the value is of no op, or placed twice");
        return;
    }
    bool fine = verify_type(v, value->type, "the value", 0);
    for (int i = 0; i < value->args.len; i++)
        fine = in_scope(v, value->args.data[i], "an argument") && fine;
    if (op_args(value->op) >= 0 && value->args.len != op_args(value->op)) {
        verify_fault(v, "`%s` with %d arguments", op_text(value->op), value->args.len);
        fine = false;
    }
    if (fine) {
        verify_op(v, value, depth);
        v->value = n;
        verify_memory(v, value);
    }
    v->state[n - 1] = VALUE_HERE;
    v->home[n - 1] = v->region;
}

static void verify_region(Verifier *v, const Region *r, int depth) {
    int outer = v->region;
    v->region = ++v->regions;
    for (int i = 0; i < r->body.len; i++)
        verify_value(v, r->body.data[i], depth);
    v->value = 0;
    for (int i = 0; i < r->yields.len; i++)
        in_scope(v, r->yields.data[i], "a result");
    v->region = outer;
}

// ---- Functions and modules ---------------------------------------------------------------------

// Values whose types are missing would be followed without a look by those that use them.
static bool all_typed(Verifier *v, const CoreFn *f) {
    for (int i = 0; i < f->values.len; i++) {
        if (f->values.data[i].type)
            continue;
        v->value = (Val)i + 1;
        verify_fault(v, "the value has no type");
        return false;
    }
    return true;
}

static void verify_fn(Verifier *v, const CoreFn *f, int index) {
    v->fn = f;
    v->fn_index = index;
    v->value = 0;
    v->state = arena_alloc(v->arena, (size_t)f->values.len);
    if (!f->name)
        verify_fault(v, "the function has no name");
    if (!all_typed(v, f))
        return;
    bool fine = true;
    for (int i = 0; i < f->params.len; i++)
        fine = enter_param(v, f->params.data[i], "a parameter") && fine;
    const CoreType *self = f->params.len && fine ? type_of(v, f->params.data[0]) : NULL;
    if (f->self && fine && (!self || self->kind != CORE_BLOCK || self->block != f->self))
        verify_fault(v, "the first parameter of a method is its block");
    v->region = v->regions = 0;
    v->root = NEW_N(v->arena, Val, f->values.len);
    v->states = NEW_N(v->arena, bool, f->values.len);
    v->home = NEW_N(v->arena, int, f->values.len);
    if (fine && verify_states(v)) {
        verify_region(v, &f->region, 0);
        verify_effects(v, index);
    }
}

static Verifier verifier_new(const Core *c, StrBuf *faults) {
    Verifier v = {.core = c, .arena = arena_new(), .faults = faults};
    v.gives = NEW_N(v.arena, bool, c->fns.len);
    for (int i = 0; i < c->symbols.len; i++)
        map_put(v.arena, &v.symbols, c->symbols.data[i], (void *)c->symbols.data[i]);
    for (int i = 0; i < c->blocks.len; i++)
        map_put(v.arena, &v.blocks, c->blocks.data[i], (void *)((uintptr_t)i + 1));
    for (int i = 0; i < c->fns.len; i++)
        map_put(v.arena, &v.fns, c->fns.data[i], (void *)((uintptr_t)i + 1));
    return v;
}

bool core_verify(const Core *c, StrBuf *faults) {
    Verifier v = verifier_new(c, faults);
    Map labels = {0};
    for (int i = 0; i < c->symbols.len; i++) {
        if (!dim_is_symbol(c->symbols.data[i]))
            verify_fault(&v, "symbol %d of the module is none", i);
    }
    for (int i = 0; i < c->bounds.len; i++) {
        if (c->bounds.data[i])
            verify_dim(&v, c->bounds.data[i], "the bound of a symbol");
    }
    verify_blocks(&v);
    for (int i = 0; i < c->fns.len; i++) {
        const CoreFn *f = c->fns.data[i];
        v.fn = NULL;
        if (!f->label || map_has(&labels, f->label)) {
            verify_fault(&v, "function %d has no label, or another's", i);
            continue;
        }
        map_put(v.arena, &labels, f->label, (void *)f);
        verify_fn(&v, f, i);
    }
    if (v.count > MOST_FAULTS)
        strbuf_printf(faults, "and %d more\n", v.count - MOST_FAULTS);
    arena_free(v.arena);
    return v.count == 0;
}
