// Calls, loops and frames: the part of the interpreter that walks functions. A frame has a slot for
// every value; a slot is emptied after the last use of its value.
#include "interp/run.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_LIMIT 400 // calls and loops within each other
#define DRY_ROUNDS 3    // of a loop that ends on a condition

Interp *interp_new(const Core *c, RtPool *pool) {
    Arena *a = arena_new();
    Interp *it = NEW(a, Interp);
    it->arena = a;
    it->core = c;
    it->pool = pool;
    interp_limit(it, TENSOR_LIMIT, UINT64_MAX);
    return it;
}

void interp_limit(Interp *it, uint64_t bytes, uint64_t points) {
    it->limit = bytes < TENSOR_LIMIT ? bytes : TENSOR_LIMIT;
    it->points = points;
}

void interp_release(Interp *it) {
    for (int i = 0; i < it->result_count; i++)
        slot_drop(it, &it->results[i]);
    free(it->results);
    it->results = NULL;
    it->result_count = 0;
    run_trim(it);
}

void interp_free(Interp *it) {
    if (!it)
        return;
    for (StateMember *s = it->states; s; s = s->next)
        buffer_drop(it, s->member->buffer);
    interp_release(it);
    free(it->tensors.data);
    arena_free(it->arena);
}

void interp_bind(Interp *it, const Dim *symbol, int64_t value) {
    int64_t *bound = map_get(&it->symbols, symbol);
    if (!bound) {
        bound = NEW(it->arena, int64_t);
        map_put(it->arena, &it->symbols, symbol, bound);
    }
    *bound = value;
}

uint64_t interp_peak(const Interp *it) {
    return it->peak;
}

void interp_mode(Interp *it, InterpMode mode) {
    it->mode = mode;
}

// ---- Last uses ---------------------------------------------------------------------------------

// The regions around the value being looked at.
typedef struct Scope Scope;
struct Scope {
    Scope *outer;
    int depth; // 1 for the function's region
    Val at;    // the value of this region that is being executed
};

typedef struct {
    const CoreFn *fn;
    int *home; // depth of the region that defines each value, 0: not seen
    Val *last; // the value of that region after which it is used no more
} Uses;

static void use(Uses *u, const Scope *s, Val v) {
    while (s && s->depth > u->home[v - 1])
        s = s->outer;
    if (s)
        u->last[v - 1] = s->at;
}

static void scan_region(Uses *u, Scope *outer, const Region *r, const Loop *loop) {
    Scope s = {outer, outer ? outer->depth + 1 : 1, 0};
    if (loop && loop->index)
        u->home[loop->index - 1] = s.depth;
    for (int i = 0; loop && i < loop->carried.len; i++)
        u->home[loop->carried.data[i] - 1] = s.depth;
    if (s.depth > DEPTH_LIMIT) // refused when it runs
        return;
    for (int i = 0; i < r->body.len; i++) {
        s.at = r->body.data[i];
        const Value *v = core_value(u->fn, s.at);
        u->home[s.at - 1] = s.depth;
        u->last[s.at - 1] = s.at;
        for (int k = 0; k < v->args.len; k++)
            use(u, &s, v->args.data[k]);
        if (v->loop && v->op == OP_WHILE)
            scan_region(u, &s, &v->loop->test, v->loop);
        if (v->loop)
            scan_region(u, &s, &v->loop->region, v->loop);
    }
    s.at = 0; // what is yielded lives on
    for (int i = 0; i < r->yields.len; i++)
        use(u, &s, r->yields.data[i]);
}

static Plan *make_plan(Interp *it, const CoreFn *fn) {
    int count = fn->values.len;
    Plan *p = NEW(it->arena, Plan);
    Uses u = {fn, NEW_N(it->arena, int, count), NEW_N(it->arena, Val, count)};
    for (int i = 0; i < fn->params.len; i++)
        u.home[fn->params.data[i] - 1] = 1;
    scan_region(&u, NULL, &fn->region, NULL);
    p->first = NEW_N(it->arena, int, count + 1);
    p->kills = NEW_N(it->arena, Val, count);
    for (int i = 0; i < count; i++) {
        if (u.last[i])
            p->first[u.last[i]]++;
    }
    for (int i = 0; i < count; i++)
        p->first[i + 1] += p->first[i];
    int *at = NEW_N(it->arena, int, count + 1);
    memcpy(at, p->first, sizeof(int) * ((size_t)count + 1));
    for (int i = 0; i < count; i++) {
        if (u.last[i])
            p->kills[at[u.last[i] - 1]++] = (Val)i + 1;
    }
    map_put(it->arena, &it->plans, fn, p);
    return p;
}

// ---- Executing ---------------------------------------------------------------------------------

typedef struct {
    const CoreFn *fn;
    const Plan *plan;
    Slot *slots; // by value
} Run;

static bool run_region(Interp *it, Run *run, const Region *r);
static bool run_fn(Interp *it, const CoreFn *fn, int nargs, const Slot *const *args, Slot *out);

static Slot *slot_of(const Run *run, Val v) {
    return &run->slots[v - 1];
}

static bool set_slot(Interp *it, Slot *to, const Slot *from) {
    slot_drop(it, to);
    return slot_copy(it, to, from);
}

// Slots of values, in an array to be freed.
static const Slot **arg_slots(Interp *it, const Run *run, const Val *args, int n) {
    const Slot **slots = malloc(sizeof *slots * ((size_t)n + 1));
    if (!slots)
        run_fail(it, "no memory for %d arguments", n);
    for (int i = 0; slots && i < n; i++)
        slots[i] = slot_of(run, args[i]);
    return slots;
}

static bool run_comp(Interp *it, Run *run, Val v, Slot *out) {
    const Value *value = core_value(run->fn, v);
    const Slot **args = arg_slots(it, run, value->args.data, value->args.len);
    bool ok = args && job_run(it, run->fn, value, value->args.len, args, out);
    free(args);
    return ok;
}

static bool run_call(Interp *it, Run *run, const Value *value, Slot *out) {
    const Slot **args = arg_slots(it, run, value->args.data, value->args.len);
    bool ok = args && run_spend(it, 1) && run_fn(it, value->callee, value->args.len, args, out);
    free(args);
    return ok;
}

static bool set_index(Interp *it, Slot *to, int64_t i) {
    slot_drop(it, to);
    buffer_step(it);
    if (!tensor_new(it, DT_I64, 0, NULL, to))
        return false;
    memcpy(to->buffer->data, &i, sizeof i);
    return true;
}

// Collects the values that a region yields: one as it is, several as a tuple.
static bool gather_yields(Interp *it, const Run *run, const Val *yields, int n, bool tuple,
                          Slot *out) {
    if (!tuple)
        return set_slot(it, out, slot_of(run, yields[0]));
    slot_drop(it, out);
    out->items = calloc((size_t)n + 1, sizeof *out->items);
    if (!out->items)
        return run_fail(it, "no memory for %d results", n);
    out->count = n;
    for (int i = 0; i < n; i++) {
        if (!slot_copy(it, &out->items[i], slot_of(run, yields[i])))
            return false;
    }
    return true;
}

// The next values of a loop take their places together: one may be yielded for another.
static bool carry(Interp *it, Run *run, const Loop *l) {
    Slot next = {0};
    bool ok = gather_yields(it, run, l->region.yields.data, l->carried.len, true, &next);
    for (int k = 0; ok && k < l->carried.len; k++)
        ok = set_slot(it, slot_of(run, l->carried.data[k]), &next.items[k]);
    slot_drop(it, &next);
    return ok;
}

// ---- Loops -------------------------------------------------------------------------------------

// What the rounds of a loop share.
typedef struct {
    const Loop *loop;
    int stacked;   // values that each round adds to a stack
    int64_t count; // rounds
    Slot *stacks;  // [count, ..] each
} Rounds;

static bool new_stacks(Interp *it, const Value *value, Rounds *r) {
    int n = r->loop->region.yields.len;
    r->stacked = value->op == OP_LOOP ? n - r->loop->carried.len : 0;
    r->stacks = calloc((size_t)r->stacked + 1, sizeof *r->stacks);
    if (!r->stacks)
        return run_fail(it, "no memory for %d results", r->stacked);
    for (int i = 0; i < r->stacked; i++) {
        const CoreType *t = n == 1 ? value->type : value->type->items[r->loop->carried.len + i];
        int64_t dims[CORE_MAX_RANK];
        if (!run_dims(it, t, dims) || !tensor_new(it, t->dtype, t->rank, dims, &r->stacks[i]))
            return false;
    }
    return true;
}

// Copies the round's values to their places on the stacks.
static bool push_stacks(Interp *it, Run *run, const Rounds *r, int64_t round) {
    for (int i = 0; i < r->stacked; i++) {
        Slot *item = slot_of(run, r->loop->region.yields.data[r->loop->carried.len + i]);
        Slot copy = {0};
        bool ok = slot_copy(it, &copy, item) && job_plain(it, &copy);
        size_t size = ok ? (size_t)(tensor_count(&copy.t) * dtype_size(copy.t.dtype)) : 0;
        if (ok && size && !it->dry)
            memcpy((char *)r->stacks[i].buffer->data + (size_t)round * size, copy.t.data, size);
        slot_drop(it, &copy);
        if (!ok)
            return false;
    }
    return true;
}

static bool run_rounds(Interp *it, Run *run, const Rounds *r) {
    bool ok = true;
    for (int64_t i = 0; ok && i < r->count; i++) {
        ok = run_spend(it, 1) && set_index(it, slot_of(run, r->loop->index), i) &&
             run_region(it, run, &r->loop->region) && push_stacks(it, run, r, i) &&
             carry(it, run, r->loop);
    }
    return ok;
}

static bool run_while(Interp *it, Run *run, const Loop *l) {
    for (int round = 0;; round++) {
        if (!run_spend(it, 1) || !run_region(it, run, &l->test))
            return false;
        if (it->dry ? round == DRY_ROUNDS
                    : !*(const uint8_t *)slot_of(run, l->test.yields.data[0])->t.data)
            return true;
        if (!run_region(it, run, &l->region) || !carry(it, run, l))
            return false;
    }
}

static void drop_region(Interp *it, Run *run, const Region *r) {
    for (int i = 0; i < r->body.len; i++)
        slot_drop(it, slot_of(run, r->body.data[i]));
}

// The values carried, then the stacks.
static bool loop_results(Interp *it, Run *run, const Value *value, const Rounds *r, Slot *out) {
    const Loop *l = value->loop;
    if (r->stacked && value->type->kind != CORE_TUPLE)
        return slot_copy(it, out, &r->stacks[0]);
    int n = l->carried.len;
    bool tuple = value->type->kind == CORE_TUPLE;
    if (!r->stacked)
        return gather_yields(it, run, l->carried.data, n, tuple, out);
    out->items = calloc((size_t)(n + r->stacked), sizeof *out->items);
    if (!out->items)
        return run_fail(it, "no memory for %d results", n + r->stacked);
    out->count = n + r->stacked;
    for (int i = 0; i < n + r->stacked; i++) {
        const Slot *from = i < n ? slot_of(run, l->carried.data[i]) : &r->stacks[i - n];
        if (!slot_copy(it, &out->items[i], from))
            return false;
    }
    return true;
}

static bool run_loop(Interp *it, Run *run, const Value *value, Slot *out) {
    const Loop *l = value->loop;
    Rounds r = {.loop = l};
    bool test = value->op == OP_WHILE, ok = test || run_dim(it, l->count, &r.count);
    if (!ok)
        return false;
    if (r.count < 0)
        return run_fail(it, "a loop of %lld rounds", (long long)r.count);
    for (int k = 0; ok && k < l->carried.len; k++)
        ok = set_slot(it, slot_of(run, l->carried.data[k]), slot_of(run, value->args.data[k]));
    ok = ok && new_stacks(it, value, &r) &&
         (test ? run_while(it, run, l) : run_rounds(it, run, &r)) &&
         loop_results(it, run, value, &r, out);
    for (int i = 0; r.stacks && i < r.stacked; i++)
        slot_drop(it, &r.stacks[i]);
    free(r.stacks);
    drop_region(it, run, &l->test);
    drop_region(it, run, &l->region);
    for (int k = 0; k < l->carried.len; k++)
        slot_drop(it, slot_of(run, l->carried.data[k]));
    if (l->index)
        slot_drop(it, slot_of(run, l->index));
    return ok;
}

// ---- Members -----------------------------------------------------------------------------------

static Member *find_member(const InterpBlock *b, const Value *value) {
    for (int i = 0; b && i < b->type->members.len; i++) {
        const CoreMember *m = &b->type->members.data[i];
        if (m->name == value->member || strcmp(m->name, value->member) == 0)
            return &b->members[i];
    }
    return NULL;
}

static bool run_member(Interp *it, const Run *run, const Value *value, Slot *out) {
    const InterpBlock *b = slot_of(run, value->args.data[0])->block;
    Member *m = find_member(b, value);
    if (!m)
        return run_fail(it, "block %s has no member %s", b ? b->type->name : "(none)",
                        value->member);
    if (value->type->kind == CORE_BLOCK)
        out->block = m->blocks[0];
    out->blocks = m->blocks;
    out->count = m->count;
    out->t = m->tensor;
    out->buffer = m->buffer; // a state's contents stay as they are while somebody holds them
    out->member = m->buffer ? m : NULL;
    if (out->buffer)
        out->buffer->uses++;
    return true;
}

// `assign` and `place` change the state that their first argument names.
static bool run_state(Interp *it, const Run *run, const Value *value, Slot *out) {
    const Slot *args[4] = {0};
    for (int i = 0; i < value->args.len && i < 4; i++)
        args[i] = slot_of(run, value->args.data[i]);
    Member *m = args[0]->member;
    if (!m)
        return run_fail(it, "there is no state to change");
    slot_drop(it, slot_of(run, value->args.data[0])); // it may not be used after this
    return value->op == OP_ASSIGN ? state_assign(it, m, args[1], out)
                                  : state_place(it, m, args, out);
}

static bool run_pick(Interp *it, const Run *run, const Value *value, Slot *out) {
    const Slot *array = slot_of(run, value->args.data[0]);
    const Slot *at = slot_of(run, value->args.data[1]);
    int64_t i = it->dry && !slot_is_known(at) ? 0 : *(const int64_t *)at->t.data;
    int64_t count = value->type->kind == CORE_TENSOR ? array->t.dims[0] : array->count;
    if (it->dry && (i < 0 || i >= count))
        i = 0; // any will do
    if (value->type->kind == CORE_TENSOR)
        return tensor_pick(it, array, i, out);
    if (i < 0 || i >= array->count)
        return run_fail(it, "block %lld of an array of %lld", (long long)i,
                        (long long)array->count);
    out->block = array->blocks[i];
    return true;
}

static bool run_value(Interp *it, Run *run, Val v) {
    const Value *value = core_value(run->fn, v);
    Slot *out = slot_of(run, v);
    slot_drop(it, out);
    buffer_step(it);
    switch (value->op) {
    case OP_COMP:
        return run_comp(it, run, v, out);
    case OP_CALL:
        return run_call(it, run, value, out);
    case OP_LOOP:
    case OP_WHILE:
        return run_loop(it, run, value, out);
    case OP_MEMBER:
        return run_member(it, run, value, out);
    case OP_PICK:
        return run_pick(it, run, value, out);
    case OP_WRITE:
        return state_write(it, slot_of(run, value->args.data[0]), slot_of(run, value->args.data[1]),
                           slot_of(run, value->args.data[2]), out);
    case OP_ASSIGN:
    case OP_PLACE:
        return run_state(it, run, value, out);
    case OP_CUMSUM:
        return cumsum_run(it, slot_of(run, value->args.data[0]), value->index, out);
    case OP_RESULT: {
        const Slot *tuple = slot_of(run, value->args.data[0]);
        if (!tuple->items || value->index < 0 || value->index >= tuple->count)
            return run_fail(it, "there is no result %d", value->index);
        return slot_copy(it, out, &tuple->items[value->index]);
    }
    default:
        return run_fail(it, "%s can't be executed", op_text(value->op));
    }
}

static bool run_region(Interp *it, Run *run, const Region *r) {
    bool ok = it->depth < DEPTH_LIMIT || run_fail(it, "calls and loops are nested too deeply");
    it->depth++;
    for (int i = 0; ok && i < r->body.len; i++) {
        Val v = r->body.data[i];
        ok = run_value(it, run, v);
        for (int k = run->plan->first[v - 1]; k < run->plan->first[v]; k++)
            slot_drop(it, slot_of(run, run->plan->kills[k]));
    }
    it->depth--;
    return ok;
}

// Do the arguments fit the parameters? Core was verified, so only extents can differ: those of
// views and weights are known in numbers alone.
static bool run_fn(Interp *it, const CoreFn *fn, int nargs, const Slot *const *args, Slot *out) {
    Run run = {.fn = fn, .plan = map_get(&it->plans, fn)};
    if (nargs != fn->params.len)
        return run_fail(it, "%s takes %d arguments, not %d", fn->name, fn->params.len, nargs);
    if (!run.plan)
        run.plan = make_plan(it, fn);
    run.slots = calloc((size_t)fn->values.len + 1, sizeof *run.slots);
    bool ok = run.slots || run_fail(it, "no memory for a call");
    for (int i = 0; ok && i < nargs; i++)
        ok = slot_copy(it, slot_of(&run, fn->params.data[i]), args[i]);
    ok = ok && run_region(it, &run, &fn->region);
    const Val *yields = fn->region.yields.data;
    int n = fn->region.yields.len;
    ok = ok && gather_yields(it, &run, yields, n, n != 1, out);
    for (int i = 0; run.slots && i < fn->values.len; i++)
        slot_drop(it, &run.slots[i]);
    free(run.slots);
    return ok;
}

// An address of an argument in a dry run, far from all others; nothing lies there.
static void *dry_argument(int i) {
    return (void *)(((uintptr_t)1 << 57) + ((uintptr_t)i << 48));
}

// ---- The call ----------------------------------------------------------------------------------

static bool is_state(const CoreFn *fn, Val v) {
    for (int i = 0; i < fn->states.len; i++) {
        if (fn->states.data[i] == v)
            return true;
    }
    return false;
}

static bool check_args(Interp *it, const CoreFn *fn, const InterpBlock *self, int nargs,
                       const Tensor *args) {
    int first = fn->self ? 1 : 0;
    if (first && (!self || self->type != fn->self))
        return run_fail(it, "%s must be called with the weights of block %s", fn->name,
                        fn->self->name);
    if (nargs != fn->params.len - first)
        return run_fail(it, "%s takes %d arguments, not %d", fn->name, fn->params.len - first,
                        nargs);
    for (int i = 0; i < nargs; i++) {
        const Value *param = core_value(fn, fn->params.data[first + i]);
        char what[200];
        snprintf(what, sizeof what, "argument %d (%.100s) of %.60s", i + 1,
                 param->name ? param->name : "unnamed", fn->label ? fn->label : fn->name);
        if (param->type->kind != CORE_TENSOR)
            return run_fail(it, "%s is no tensor", what);
        if (!tensor_check(it, what, param->type, &args[i]))
            return false;
        if (is_state(fn, fn->params.data[first + i]) && !tensor_is_plain(&args[i]))
            return run_fail(it, "%s is a state: it must be stored as it is typed", what);
    }
    return true;
}

// Results become plain tensors of their own storage, which stays as it is until the next call.
static bool take_results(Interp *it, int count, Slot *value, Tensor *results) {
    it->results = calloc((size_t)count + 1, sizeof *it->results);
    if (!it->results)
        return run_fail(it, "no memory for %d results", count);
    it->result_count = count;
    for (int i = 0; i < count; i++) {
        const Slot *from = value->items ? &value->items[i] : value;
        if (!slot_copy(it, &it->results[i], from) || !job_plain(it, &it->results[i]))
            return false;
        results[i] = it->results[i].t;
    }
    return true;
}

bool interp_call(Interp *it, const CoreFn *fn, const InterpBlock *self, int nargs,
                 const Tensor *args, Tensor *results, char *error, size_t size) {
    for (int i = 0; i < it->result_count; i++)
        slot_drop(it, &it->results[i]);
    free(it->results);
    it->results = NULL;
    it->result_count = 0;
    it->depth = 0;
    it->left = it->points;
    it->error[0] = 0;
    it->step = -1;
    if (it->dry)
        it->made = NEW(it->arena, InterpLayout);
    Slot out = {0}, *slots = NULL;
    const Slot **pointers = NULL;
    int count = fn->params.len, first = fn->self ? 1 : 0;
    bool ok = check_args(it, fn, self, nargs, args);
    if (ok) {
        slots = calloc((size_t)count + 1, sizeof *slots);
        pointers = calloc((size_t)count + 1, sizeof *pointers);
        ok = (slots && pointers) || run_fail(it, "no memory for %d arguments", count);
    }
    for (int i = 0; ok && i < count; i++) {
        if (i < first)
            slots[i].block = (InterpBlock *)self; // only its states change
        else
            slots[i].t = args[i - first];
        if (i >= first && it->dry)
            slots[i].t.data = dry_argument(i);
        slots[i].writable = is_state(fn, fn->params.data[i]);
        pointers[i] = &slots[i];
    }
    ok = ok && run_fn(it, fn, count, pointers, &out) &&
         take_results(it, fn->region.yields.len, &out, results);
    slot_drop(it, &out);
    free(slots);
    free(pointers);
    if (!ok)
        snprintf(error, size, "%s", it->error);
    return ok;
}
