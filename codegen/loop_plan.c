// Where values live: which share memory, how long, and which piece of the arena holds which.
//
// Positions number the values in order of execution. What is used in a loop but made outside lives
// to the loop's end. A piece of the arena (a slot) is given to the next storage when its last one
// is dead; a slot is as large as its largest storage, which is decided by symbolic sizes.
#include "codegen/loop_build.h"
#include <stdio.h>

typedef VEC(Val) Loops; // around a point, outermost first

// Is every element the argument's element at the same point?
static bool is_identity(const FnBuild *b, const Value *v) {
    const Comp *c = v->comp;
    const Node *root = &c->nodes.data[c->root];
    if (c->reduction != RED_NONE || root->op != N_READ || root->read_count != v->type->rank)
        return false;
    const CoreType *t = core_value(b->fn, v->args.data[root->index])->type;
    for (int i = 0; i < root->read_count; i++) {
        const Node *at = &c->nodes.data[root->reads[i]];
        if (at->op != N_INDEX || at->index != i || t->dims[i] != v->type->dims[i])
            return false;
    }
    return t->dtype == v->type->dtype;
}

// Is it a state, after some of its contents, or all, were replaced?
static bool changes(const Value *value) {
    return value->op == OP_WRITE || value->op == OP_ASSIGN || value->op == OP_PLACE;
}

bool is_state(const FnBuild *b, Val v) {
    const Value *value = core_value(b->fn, v);
    while (value->type->kind == CORE_TENSOR && (value->op == OP_PICK || changes(value))) {
        v = value->args.data[0];
        value = core_value(b->fn, v);
    }
    if (core_is_block_state(b->fn, v))
        return true;
    for (int i = 0; i < b->fn->states.len; i++) {
        if (b->fn->states.data[i] == v)
            return true;
    }
    return false;
}

bool shows_state(const FnBuild *b, Val v) {
    while (!is_state(b, v) && viewed(b, v))
        v = viewed(b, v);
    return is_state(b, v);
}

Val viewed(const FnBuild *b, Val v) {
    const Value *value = core_value(b->fn, v);
    if (value->type->kind != CORE_TENSOR || value->type->rank == 0)
        return 0;
    if (value->op == OP_PICK || changes(value))
        return value->args.data[0];
    if (value->op != OP_COMP)
        return 0;
    const Comp *c = value->comp;
    if (is_identity(b, value)) { // of a state, it is a copy of what it holds now
        Val x = value->args.data[c->nodes.data[c->root].index];
        return shows_state(b, x) ? 0 : x;
    }
    Val x = c->reshape ? value->args.data[0] : 0;
    return x && core_value(b->fn, x)->type->rank > 0 ? x : 0;
}

// The arguments whose elements the body reads.
static void mark_read(FnBuild *b, const Value *value) {
    const Comp *c = value->comp;
    bool *used = NEW_N(b->arena, bool, c->nodes.len + 1);
    used[c->root] = true;
    for (int i = c->nodes.len - 1; i >= 0; i--) {
        const Node *n = &c->nodes.data[i];
        if (!used[i])
            continue;
        if (n->op == N_READ) {
            b->places[value->args.data[n->index]].used = true;
            b->places[value->args.data[n->index]].needed = true;
        }
        for (int k = 0; k < n->read_count && n->op == N_READ; k++)
            used[n->reads[k]] = true;
        for (int k = 0; k < node_args(n->op) && n->op != N_READ; k++)
            used[n->args[k]] = true;
    }
}

static bool has_writes(const FnBuild *b, Val v);

static bool region_writes(const FnBuild *b, const Region *r) {
    for (int i = 0; i < r->body.len; i++) {
        if (has_writes(b, r->body.data[i]))
            return true;
    }
    return false;
}

static bool has_writes(const FnBuild *b, Val v) {
    const Value *value = core_value(b->fn, v);
    if (!value->loop)
        return changes(value) || (value->op == OP_CALL && value->callee->effects);
    return region_writes(b, &value->loop->test) || region_writes(b, &value->loop->region);
}

bool is_plain_place(const FnBuild *b, Val v, Val *scalar) {
    const Value *value = core_value(b->fn, v);
    const Comp *c = value->comp;
    if (value->op != OP_COMP || c->out != 1 || c->reduction != RED_NONE)
        return false;
    const Node *root = &c->nodes.data[c->root];
    *scalar = 0;
    if (root->op == N_CAST)
        return c->nodes.data[root->args[0]].op == N_INDEX;
    if (root->op != N_READ || root->read_count > 0)
        return false;
    *scalar = value->args.data[root->index];
    return true;
}

static void mark_arguments(FnBuild *b, const Value *value) {
    for (int a = 0; a < value->args.len; a++) {
        Val v = value->args.data[a], scalar;
        if (value->op == OP_PLACE && a > 1 && is_plain_place(b, v, &scalar))
            v = scalar;
        if (!v)
            continue;
        b->places[v].used = true;
        b->places[v].needed = true;
    }
}

static void mark_region(FnBuild *b, const Region *r) {
    for (int i = 0; i < r->yields.len; i++) {
        b->places[r->yields.data[i]].used = true;
        b->places[r->yields.data[i]].needed |= r != &b->fn->region;
    }
    for (int i = r->body.len - 1; i >= 0; i--) {
        const Value *value = core_value(b->fn, r->body.data[i]);
        b->places[r->body.data[i]].used |= has_writes(b, r->body.data[i]);
        if (!b->places[r->body.data[i]].used)
            continue;
        if (value->loop) {
            mark_region(b, &value->loop->region);
            mark_region(b, &value->loop->test);
        }
        if (value->op == OP_COMP)
            mark_read(b, value);
        else
            mark_arguments(b, value);
    }
}

static int new_storage(FnBuild *b, const CoreType *type, Name hint, int depth, bool external) {
    Storage s = {.type = type, .hint = hint, .depth = depth, .slot = -1, .external = external};
    vec_push(b->arena, &b->storages, s);
    return b->storages.len - 1;
}

static void give_storages(FnBuild *b, Val v, int depth, bool external) {
    const Value *value = core_value(b->fn, v);
    const CoreType *t = value->type;
    int n = t->kind == CORE_TUPLE ? t->item_count : t->kind == CORE_TENSOR ? 1 : 0;
    b->places[v].storages = NEW_N(b->arena, int, n ? n : 1);
    for (int i = 0; i < n; i++) {
        const CoreType *item = t->kind == CORE_TUPLE ? t->items[i] : t;
        int s = new_storage(b, item, value->name, depth, external);
        b->places[v].storages[i] = s;
        b->storages.data[s].last = b->places[v].position;
    }
}

// ---- In place ----------------------------------------------------------------------------------

// Does the comprehension read that storage only at the point that it writes?
static bool reads_in_place(const FnBuild *b, const Value *v, int storage) {
    const Comp *c = v->comp;
    for (int i = 0; i < c->nodes.len; i++) {
        const Node *n = &c->nodes.data[i];
        const Place *p = n->op == N_READ ? &b->places[v->args.data[n->index]] : NULL;
        if (!p || !p->storages || *p->storages != storage)
            continue;
        const CoreType *t = core_value(b->fn, v->args.data[n->index])->type;
        if (t->rank != v->type->rank || t->dtype != v->type->dtype)
            return false;
        for (int r = 0; r < n->read_count; r++) {
            const Node *at = &c->nodes.data[n->reads[r]];
            if (at->op != N_INDEX || at->index != r || t->dims[r] != v->type->dims[r])
                return false;
        }
    }
    return true;
}

// Is any of the values [from, ...) of the region using the storage, or a loop among them?
static bool used_after(const FnBuild *b, const Region *r, int from, int storage) {
    for (int i = from; i < r->body.len; i++) {
        const Value *v = core_value(b->fn, r->body.data[i]);
        if (v->loop)
            return true;
        for (int a = 0; a < v->args.len; a++) {
            const int *s = b->places[v->args.data[a]].storages;
            if (s && *s == storage && core_value(b->fn, v->args.data[a])->type->kind == CORE_TENSOR)
                return true;
        }
    }
    return false;
}

// The next value of a carried tensor is written over the last one, where that is elementwise.
static void write_in_place(FnBuild *b, const Loop *loop, int carried) {
    Val y = loop->region.yields.data[carried];
    const Value *v = core_value(b->fn, y);
    int storage = b->places[loop->carried.data[carried]].storages[0], at = 0;
    if (v->op != OP_COMP || v->comp->reduction != RED_NONE || v->type->rank == 0 || viewed(b, y))
        return;
    for (int i = 0; i < loop->region.yields.len; i++) {
        const int *s = b->places[loop->region.yields.data[i]].storages;
        if (i != carried && (loop->region.yields.data[i] == y || (s && *s == storage)))
            return;
    }
    while (at < loop->region.body.len && loop->region.body.data[at] != y)
        at++;
    if (at == loop->region.body.len || !reads_in_place(b, v, storage) ||
        used_after(b, &loop->region, at + 1, storage))
        return;
    for (int i = at + 1; i < loop->region.body.len; i++) { // views of it follow
        int *s = b->places[loop->region.body.data[i]].storages;
        if (s && s == b->places[y].storages)
            return;
    }
    b->places[y].storages = b->places[loop->carried.data[carried]].storages;
}

static void define_region(FnBuild *b, const Region *r, int depth, int *position);

static void define_loop(FnBuild *b, Val v, int depth, int *position) {
    Loop *loop = core_value(b->fn, v)->loop;
    give_storages(b, v, depth, false);
    for (int i = 0; i < loop->carried.len; i++) {
        Val p = loop->carried.data[i];
        b->places[p].storages = &b->places[v].storages[i];
        b->storages.data[b->places[v].storages[i]].hint = core_value(b->fn, p)->name;
    }
    if (loop->index)
        give_storages(b, loop->index, depth + 1, true);
    define_region(b, &loop->test, depth + 1, position);
    define_region(b, &loop->region, depth + 1, position);
    b->places[v].end = (*position)++;
    for (int i = 0; i < loop->carried.len; i++)
        write_in_place(b, loop, i);
    for (int i = 0; i < loop->region.yields.len; i++)
        b->storages.data[b->places[v].storages[i]].last = b->places[v].end;
}

static void define_region(FnBuild *b, const Region *r, int depth, int *position) {
    for (int i = 0; i < r->body.len; i++) {
        Val v = r->body.data[i];
        const Value *value = core_value(b->fn, v);
        Place *p = &b->places[v];
        if (!p->used)
            continue;
        p->position = (*position)++;
        if (viewed(b, v)) {
            p->storages = b->places[viewed(b, v)].storages;
        } else if (value->op == OP_RESULT) {
            p->storages = b->places[value->args.data[0]].storages + value->index;
            b->storages.data[*p->storages].hint = value->name;
        } else if (value->loop) {
            define_loop(b, v, depth, position);
        } else {
            give_storages(b, v, depth, value->op == OP_MEMBER);
        }
    }
    plan_assigns(b, r);
}

// The storages of v are in use at a position inside the loops.
static void use(FnBuild *b, Val v, int position, const Loops *loops) {
    const CoreType *t = core_value(b->fn, v)->type;
    int n = t->kind == CORE_TUPLE ? t->item_count : t->kind == CORE_TENSOR ? 1 : 0;
    for (int i = 0; i < n && b->places[v].storages; i++) {
        Storage *s = &b->storages.data[b->places[v].storages[i]];
        int at = s->depth < loops->len ? b->places[loops->data[s->depth]].end : position;
        s->last = at > s->last ? at : s->last;
    }
}

static void use_region(FnBuild *b, const Region *r, int end, Loops *loops) {
    for (int i = 0; i < r->body.len; i++) {
        Val v = r->body.data[i];
        const Value *value = core_value(b->fn, v);
        if (!b->places[v].used || value->op == OP_RESULT)
            continue;
        for (int a = 0; a < value->args.len; a++)
            use(b, value->args.data[a], b->places[v].position, loops);
        if (value->loop) {
            vec_push(b->arena, loops, v);
            use_region(b, &value->loop->test, b->places[v].end, loops);
            use_region(b, &value->loop->region, b->places[v].end, loops);
            loops->len--;
        }
    }
    for (int i = 0; i < r->yields.len; i++)
        use(b, r->yields.data[i], end, loops);
}

// A result that this function makes is made in the caller's memory.
static void place_results(FnBuild *b) {
    const Region *r = &b->fn->region;
    for (int i = 0; i < r->yields.len; i++) {
        const CoreType *t = core_value(b->fn, r->yields.data[i])->type;
        if (t->kind != CORE_TENSOR) {
            loop_fail(b->module, "%s: a result that is not a tensor", b->fn->label);
            continue;
        }
        Storage *s = &b->storages.data[b->places[r->yields.data[i]].storages[0]];
        s->out = t->rank > 0 && s->type->rank > 0 && !s->external;
    }
}

void plan_fn(FnBuild *b) {
    int position = 1;
    Loops loops = {0};
    mark_region(b, &b->fn->region);
    for (int i = 0; i < b->fn->params.len; i++)
        give_storages(b, b->fn->params.data[i], 0, true);
    define_region(b, &b->fn->region, 0, &position);
    use_region(b, &b->fn->region, position, &loops);
    place_results(b);
}

// ---- Slots -------------------------------------------------------------------------------------

static int64_t greatest(FnBuild *b, const Dim *bytes) {
    int64_t lo, hi;
    return dim_range(b->module, bytes, &lo, &hi) ? hi : INT64_MAX;
}

// The free slot that fits best: of the same size, else the smallest that is large enough, else the
// largest that is to grow; -1 if there is none.
static int find_slot(FnBuild *b, const Dim *bytes) {
    int enough = -1, grow = -1;
    for (int i = 0; i < b->slots.len; i++) {
        const Slot *s = &b->slots.data[i];
        if (s->busy)
            continue;
        if (s->bytes == bytes)
            return i;
        int64_t size = greatest(b, s->bytes);
        if (dim_at_least(b->module, s->bytes, bytes)) {
            if (enough < 0 || size < greatest(b, b->slots.data[enough].bytes))
                enough = i;
        } else if (dim_at_least(b->module, bytes, s->bytes)) {
            if (grow < 0 || size > greatest(b, b->slots.data[grow].bytes))
                grow = i;
        }
    }
    return enough >= 0 ? enough : grow;
}

static const Dim *storage_bytes(FnBuild *b, const CoreType *t) {
    DimTable *dims = b->core->dims;
    const Dim *n = dim_mul(dims, elements(b->module, t), dim_const(dims, dtype_size(t->dtype)));
    if (!dim_valid(n))
        loop_fail(b->module, "%s: the size of a value leaves 64 bits", b->fn->label);
    return n;
}

static void new_slot(FnBuild *b, Storage *s, const Dim *bytes, const char *note) {
    LoopType type = loop_pointer(s->type->dtype, false);
    Stmt *stmt = loop_stmt(b->arena, b->top, S_BUFFER);
    stmt->type = type;
    stmt->name = s->expr->name;
    stmt->comment = note;
    Slot slot = {bytes, s->expr, s->expr->name, stmt, true};
    s->slot = b->slots.len;
    vec_push(b->arena, &b->slots, slot);
}

static void reuse_slot(FnBuild *b, Storage *s, int number, const Dim *bytes, const char *note) {
    Slot *slot = &b->slots.data[number];
    LoopType type = loop_pointer(s->type->dtype, false);
    Stmt *stmt = loop_stmt(b->arena, b->list, S_LET);
    stmt->type = type;
    stmt->name = s->expr->name;
    stmt->value = slot->expr;
    if (slot->expr->type.dtype != type.dtype)
        stmt->value = x_unary(b->arena, X_CAST, type, slot->expr);
    stmt->comment = arena_printf(b->arena, "%s, reuses %s", note, slot->owner);
    if (!dim_at_least(b->module, slot->bytes, bytes))
        slot->bytes = bytes;
    slot->busy = true;
    s->slot = number;
}

const Expr *plan_take(FnBuild *b, int storage, const char *name, const char *note) {
    Storage *s = &b->storages.data[storage];
    if (s->expr)
        return s->expr;
    const Dim *bytes = storage_bytes(b, s->type);
    int number = find_slot(b, bytes);
    bool above = number < 0 && b->list != b->top; // declared above the loops around
    name = above ? names_pick_fresh(b->names, name) : names_pick(b->names, name);
    s->expr = x_name(b->arena, name, loop_pointer(s->type->dtype, false));
    if (number < 0)
        new_slot(b, s, bytes, note);
    else
        reuse_slot(b, s, number, bytes, note);
    vec_push(b->arena, &b->live, storage);
    return s->expr;
}

void plan_release(FnBuild *b, int position) {
    int kept = 0;
    for (int i = 0; i < b->live.len; i++) {
        Storage *s = &b->storages.data[b->live.data[i]];
        if (s->slot >= 0 && s->last > position)
            b->live.data[kept++] = b->live.data[i];
        else if (s->slot >= 0)
            b->slots.data[s->slot].busy = false;
    }
    b->live.len = kept;
}

// `to` takes over the slot of `from`, which dies now. False if it can't.
bool plan_steal(FnBuild *b, int from, int to) {
    Storage *f = &b->storages.data[from], *t = &b->storages.data[to];
    if (f->slot < 0 || f->out || t->expr || f->depth != t->depth)
        return false;
    if (f->type->dtype != t->type->dtype ||
        elements(b->module, f->type) != elements(b->module, t->type))
        return false;
    t->slot = f->slot;
    t->expr = f->expr;
    f->slot = -1;
    vec_push(b->arena, &b->live, to);
    return true;
}
