// The step's function, value by value in the order of the flat one: calls of functions made for the
// chunk, loops, and after each kept value the write of its rows.
#include "opt/step_build.h"
#include <string.h>

bool step_refuse(StepBuild *b, Val v, const char *why) {
    return opt_step_refuse(b->core, &b->why, b->from, v, true, why);
}

static Value *value_in(const StepBuild *b, Val v) {
    return core_value(b->to, v);
}

// ---- States ------------------------------------------------------------------------------------

// [loops.., B, Cap, rest..] of a kept value, and its bytes a position.
static const CoreType *state_type(const StepBuild *b, Val v, int64_t *bytes) {
    const CoreType *t = core_value(b->from, v)->type;
    const Role *o = role_of(b->roles, v);
    const Dim *dims[CORE_MAX_RANK];
    int n = 0, loops = 0;
    for (const RoleNest *nest = o->nest; nest; nest = nest->outer)
        loops++;
    if (loops + t->rank > CORE_MAX_RANK)
        return NULL;
    n = loops;
    for (const RoleNest *nest = o->nest; nest; nest = nest->outer)
        dims[--n] = core_value(b->from, nest->loop)->loop->count;
    n = loops;
    dims[n++] = b->plan->B;
    dims[n++] = b->plan->Cap;
    for (int i = 0; i < t->rank; i++) {
        if (i != o->batch && i != o->row)
            dims[n++] = t->dims[i] == b->roles->S ? b->plan->L : t->dims[i];
    }
    *bytes = dtype_size(t->dtype);
    for (int i = 0; i < n; i++) {
        int64_t size;
        if (i == loops || i == loops + 1)
            continue;
        if (*bytes >= 0 &&
            (!dim_is_const(dims[i], &size) || __builtin_mul_overflow(*bytes, size, bytes)))
            *bytes = -1;
    }
    return core_tensor(b->core, t->dtype, n, dims);
}

static void add_state(StepBuild *b, Val v) {
    Arena *a = b->core->session->arena;
    Name name = core_value(b->from, v)->name;
    const Role *o = role_of(b->roles, v);
    if (v == b->roles->tokens)
        name = "seen";
    else if (!name)
        name = "kept";
    StepState s = {.name = session_name(b->core->session, name)};
    s.type = state_type(b, v, &s.bytes);
    for (int i = 0; i < core_value(b->from, v)->type->rank; i++) {
        if (i != o->row && core_value(b->from, v)->type->dims[i] == b->roles->S) {
            step_refuse(b, v, "is kept with two axes of positions: a quadratic cache");
            return;
        }
    }
    if (!s.type) {
        step_refuse(b, v, "has too many axes to be kept");
        return;
    }
    s.param = core_state(b->core, b->to, s.type, s.name, core_value(b->from, v)->span);
    vec_push(a, &b->states, s);
    vec_push(a, &b->state_of, v);
}

static void add_states(StepBuild *b) {
    for (int i = 0; i < b->from->values.len && !b->why.text; i++) {
        const Role *o = &b->roles->of[i];
        if (o->live && o->kept)
            add_state(b, (Val)i + 1);
    }
}

// The state itself, or in loops its item for this round.
static Val pick_state(StepBuild *b, Region *r, Val v, Val state) {
    const RoleNest *nests[CORE_MAX_RANK];
    int n = 0;
    for (const RoleNest *nest = role_of(b->roles, v)->nest; nest; nest = nest->outer)
        nests[n++] = nest;
    while (n-- > 0) {
        Val index = made_of(b, core_value(b->from, nests[n]->loop)->loop->index)->here;
        state = core_pick(b->core, b->to, r, state, index, core_value(b->from, v)->span);
    }
    return state;
}

static void write_state(StepBuild *b, Region *r, Val v) {
    for (int i = 0; i < b->states.len; i++) {
        if (b->state_of.data[i] != v)
            continue;
        Val rows = step_state_rows(b, r, v);
        Val state = pick_state(b, r, v, b->states.data[i].param);
        Val w = core_write(b->core, b->to, r, state, rows, b->slots, core_value(b->from, v)->span);
        value_in(b, w)->name = b->states.data[i].name;
        made_of(b, v)->state = w;
    }
}

// What others take of a value that is there: its state, its rows, its last rows.
static void made(StepBuild *b, Region *r, Val v) {
    Role *o = role_of(b->roles, v);
    if (!o->tensor || b->why.text)
        return;
    if (o->kept)
        write_state(b, r, v);
    if (o->want_rows && o->mode == ROLE_ALL)
        made_of(b, v)->rows = step_take_rows(b, r, v);
    if (o->want_last && (o->mode == ROLE_ALL || o->mode == ROLE_ROWS))
        made_of(b, v)->last = step_take_last(b, r, v);
}

// v as a call or a loop of this mode takes it.
static Val taken(StepBuild *b, Val v, RoleMode mode) {
    const Role *o = role_of(b->roles, v);
    const Made *m = made_of(b, v);
    Val n = m->here;
    if (o->tensor && o->mode != ROLE_NONE && o->mode != mode)
        n = mode == ROLE_ROWS ? m->rows : mode == ROLE_LAST ? m->last : 0;
    if (!n)
        step_refuse(b, v, "is passed on in a way that it is not computed for");
    return n;
}

// ---- Values ------------------------------------------------------------------------------------

static void build_region(StepBuild *b, const Region *from, Region *to);

// A value of another op than comp and loop, as it is, with its arguments in the mode.
static Val copy_value(StepBuild *b, Region *r, Val v, const CoreType *type, RoleMode mode) {
    const Value *old = core_value(b->from, v);
    Val n = core_add(b->core, b->to, old->op, type, old->name, old->span);
    for (int i = 0; i < old->args.len; i++) {
        Val arg = taken(b, old->args.data[i], mode);
        if (b->why.text)
            return 0;
        core_arg(b->core, b->to, n, arg);
    }
    Value *value = value_in(b, n);
    value->comment = old->comment;
    value->member = old->member;
    value->index = old->index;
    core_emit(b->core, r, n);
    return n;
}

static Val build_call(StepBuild *b, Region *r, Val v) {
    const Value *old = core_value(b->from, v);
    RoleMode mode = role_of(b->roles, v)->mode;
    Resize *resize = mode == ROLE_ROWS ? &b->rows : &b->last;
    if (mode == ROLE_ALL) {
        step_refuse(b, v, "is a call that would be computed again");
        return 0;
    }
    CoreFn *callee = opt_resized(resize, old->callee);
    Val n = copy_value(b, r, v, core_result_type(b->core, callee), mode);
    if (n)
        value_in(b, n)->callee = callee;
    return n;
}

static RoleMode carried_mode(const StepBuild *b, const Loop *l, int i) {
    return role_of(b->roles, l->carried.data[i])->mode;
}

static const CoreType *loop_type(StepBuild *b, const Loop *l) {
    int n = l->carried.len;
    const CoreType **items = NEW_N(b->core->session->arena, const CoreType *, n);
    for (int i = 0; i < n; i++)
        items[i] = step_type(b, l->carried.data[i], carried_mode(b, l, i));
    return n == 1 ? items[0] : core_tuple(b->core, n, items);
}

static Val new_param(StepBuild *b, Val old, const CoreType *type) {
    const Value *v = core_value(b->from, old);
    Val n = core_add(b->core, b->to, OP_PARAM, type, v->name, v->span);
    made_of(b, old)->here = n;
    return n;
}

static Val build_loop(StepBuild *b, Region *r, Val v) {
    Arena *a = b->core->session->arena;
    const Value *old = core_value(b->from, v);
    const Loop *from = old->loop;
    Loop *l = NEW(a, Loop);
    if (dim_mentions(from->count, b->roles->S)) {
        step_refuse(b, v, "is a loop over positions");
        return 0;
    }
    Val n = core_add(b->core, b->to, OP_LOOP, loop_type(b, from), old->name, old->span);
    value_in(b, n)->comment = old->comment;
    value_in(b, n)->loop = l;
    l->count = from->count;
    for (int i = 0; i < from->carried.len && !b->why.text; i++)
        core_arg(b->core, b->to, n, taken(b, old->args.data[i], carried_mode(b, from, i)));
    l->index = new_param(b, from->index, core_value(b->from, from->index)->type);
    for (int i = 0; i < from->carried.len && !b->why.text; i++) {
        Val old_param = from->carried.data[i];
        Val p = new_param(b, old_param, step_type(b, old_param, carried_mode(b, from, i)));
        vec_push(a, &l->carried, p);
    }
    for (int i = 0; i < from->carried.len && !b->why.text; i++)
        made(b, &l->region, from->carried.data[i]);
    build_region(b, &from->region, &l->region);
    for (int i = 0; i < from->carried.len && !b->why.text; i++) {
        Val y = taken(b, from->region.yields.data[i], carried_mode(b, from, i));
        vec_push(a, &l->region.yields, y);
    }
    core_emit(b->core, r, n);
    return n;
}

static Val build_result(StepBuild *b, Region *r, Val v) {
    const Value *old = core_value(b->from, v);
    Val from = made_of(b, old->args.data[0])->here;
    const CoreType *t = value_in(b, from)->type;
    return copy_value(b, r, v, t->items[old->index], ROLE_NONE);
}

// Along an axis that is no position.
static Val build_cumsum(StepBuild *b, Region *r, Val v) {
    RoleMode mode = role_of(b->roles, v)->mode;
    if (mode == ROLE_ALL) {
        step_refuse(b, v, "is a running sum that would be computed again");
        return 0;
    }
    return copy_value(b, r, v, step_type(b, v, mode), mode);
}

static Val build_value(StepBuild *b, Region *r, Val v) {
    const Value *old = core_value(b->from, v);
    switch (old->op) {
    case OP_COMP:
        return step_comp(b, r, v);
    case OP_CALL:
        return build_call(b, r, v);
    case OP_LOOP:
        return build_loop(b, r, v);
    case OP_CUMSUM:
        return build_cumsum(b, r, v);
    case OP_RESULT:
        return build_result(b, r, v);
    case OP_MEMBER:
    case OP_PICK:
        return copy_value(b, r, v, old->type, ROLE_NONE);
    default:
        step_refuse(b, v, "is of an operation that a step can't have");
        return 0;
    }
}

static void build_region(StepBuild *b, const Region *from, Region *to) {
    for (int i = 0; i < from->body.len && !b->why.text; i++) {
        Val v = from->body.data[i];
        if (!role_of(b->roles, v)->live)
            continue;
        made_of(b, v)->here = build_value(b, to, v);
        made(b, to, v);
    }
}

// ---- The whole ---------------------------------------------------------------------------------

static void build_params(StepBuild *b) {
    StepPlan *p = b->plan;
    Core *c = b->core;
    Session *s = c->session;
    const Dim *chunk[] = {p->B, p->C};
    for (int i = 0; i < b->from->params.len; i++) {
        Val v = b->from->params.data[i];
        const Value *old = core_value(b->from, v);
        if (v == b->roles->tokens) {
            const CoreType *t = core_tensor(c, old->type->dtype, 2, chunk);
            p->tokens = core_param(c, b->to, t, old->name, old->span);
            made_of(b, v)->here = p->tokens;
        } else if (old->type->kind == CORE_BLOCK) {
            made_of(b, v)->here = core_param(c, b->to, old->type, old->name, old->span);
        }
    }
    const CoreType *each = core_tensor(c, DT_I32, 1, chunk);
    p->pos = core_param(c, b->to, each, session_name(s, "pos"), b->from->span);
    p->count = core_param(c, b->to, each, session_name(s, "count"), b->from->span);
    if (b->slides)
        p->origin = core_param(c, b->to, each, session_name(s, "origin"), b->from->span);
    add_states(b);
}

// [B, 1, V] or [B, C, V], perhaps of 16-bit floats, as f32 [B, V].
static Val last_logits(StepBuild *b, Region *r, Val y) {
    const Role *o = role_of(b->roles, y);
    Val n = made_of(b, y)->here;
    if (o->mode == ROLE_ROWS)
        n = step_take_last(b, r, y);
    const CoreType *t = value_in(b, n)->type;
    const Dim *dims[] = {t->dims[0], t->dims[t->rank - 1]};
    Name name = session_name(b->core->session, "logits");
    Span span = core_value(b->from, y)->span;
    if (t->rank == 3)
        n = core_reshape(b->core, b->to, r, n, core_tensor(b->core, t->dtype, 2, dims), NULL, name,
                         span);
    if (t->dtype == DT_F32)
        return n;
    Comp *k = NEW(b->core->session->arena, Comp);
    int at[] = {comp_index(b->core, k, 0), comp_index(b->core, k, 1)};
    k->out = 2;
    k->root = comp_cast(b->core, k, DT_F32, comp_read(b->core, k, 0, t->dtype, 2, at));
    Val wide = core_add(b->core, b->to, OP_COMP, core_tensor(b->core, DT_F32, 2, dims), name, span);
    value_in(b, wide)->comp = k;
    core_arg(b->core, b->to, wide, n);
    core_emit(b->core, r, wide);
    return wide;
}

bool step_build(StepBuild *b) {
    Val y = b->from->region.yields.data[0];
    b->made = NEW_N(b->arena, Made, b->from->values.len);
    build_params(b);
    b->slots = b->slides ? step_slots(b, &b->to->region) : b->plan->pos;
    if (!b->why.text)
        made(b, &b->to->region, b->roles->tokens);
    build_region(b, &b->from->region, &b->to->region);
    if (b->why.text)
        return false;
    Val logits = last_logits(b, &b->to->region, y);
    vec_push(b->core->session->arena, &b->to->region.yields, logits);
    b->plan->state_count = b->states.len;
    b->plan->states = b->states.data;
    return true;
}
