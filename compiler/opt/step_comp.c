// Comprehensions of the step. A row's position as a value is pos[b] + c; a read at the position of
// the row becomes one at its number in the chunk, any other keeps its position and reads what holds
// all of them.
#include "opt/step_build.h"
#include <string.h>

// How an axis of a read is found.
typedef enum {
    AT_NODE,  // as written
    AT_PLACE, // as written, less the origin
    AT_INDEX, // an index of all positions from the origin on, that is one here too
    AT_ROW,   // the row's number in the chunk
    AT_COUNT, // count[b] - 1
    AT_ZERO,
} Place;

typedef struct {
    bool dead;                  // never evaluated
    Val arg;                    // of the step
    int n;                      // axes of arg
    int axis[CORE_MAX_RANK];    // of the value read, or -1: the batch it gained
    Place place[CORE_MAX_RANK]; // where
} ReadPlan;

typedef struct {
    StepBuild *b;
    Val old;            // the value; its role's mode is made
    const Value *value; // of the flat function
    const Comp *from;
    Comp *to;
    VEC(Val) args;   // of the step's value
    RoleMode mode;   // of the value
    int row;         // its row axis, or -1
    int gained;      // 1: a batch axis comes first
    int batch;       // the index of the batch, or -1
    ReadPlan *reads; // by node
    bool *live;      // nodes to be made
    int *node;       // their numbers in `to`
} CompBuild;

// ---- Types -------------------------------------------------------------------------------------

static bool step_gains_batch(const StepBuild *b, Val v, RoleMode mode) {
    const Role *o = role_of(b->roles, v);
    bool own = mode == ROLE_ROWS || mode == ROLE_LAST || (mode == ROLE_ALL && b->slides);
    return own && o->batch < 0 && !o->tokens;
}

const CoreType *step_type(const StepBuild *b, Val v, RoleMode mode) {
    const CoreType *t = core_value(b->from, v)->type;
    const Role *o = role_of(b->roles, v);
    const Dim *dims[CORE_MAX_RANK + 1];
    int n = 0;
    if (t->kind != CORE_TENSOR)
        return t;
    if (step_gains_batch(b, v, mode))
        dims[n++] = b->plan->B;
    for (int i = 0; i < t->rank; i++) {
        const Dim *d = t->dims[i];
        if (d == b->roles->S)
            d = i != o->row         ? b->plan->L
                : mode == ROLE_ROWS ? b->plan->C
                : mode == ROLE_LAST ? b->one
                                    : b->plan->L;
        dims[n++] = d;
    }
    return core_tensor(b->core, t->dtype, n, dims);
}

// ---- Small bodies ------------------------------------------------------------------------------

static int argument(CompBuild *m, Val arg) {
    for (int i = 0; i < m->args.len; i++) {
        if (m->args.data[i] == arg)
            return i;
    }
    vec_push(m->b->core->session->arena, &m->args, arg);
    return m->args.len - 1;
}

// pos[b] or count[b], as an i64.
static int read_of_row(CompBuild *m, Val arg) {
    Core *c = m->b->core;
    if (m->batch < 0) {
        step_refuse(m->b, m->old, "has no axis of the batch");
        return comp_const_int(c, m->to, DT_I64, 0);
    }
    int at = comp_index(c, m->to, m->batch);
    int n = argument(m, arg);
    return comp_cast(c, m->to, DT_I64, comp_read(c, m->to, n, DT_I32, 1, &at));
}

static int count_less_one(CompBuild *m) {
    Core *c = m->b->core;
    return comp_binary(c, m->to, N_SUB, read_of_row(m, m->b->plan->count),
                       comp_const_int(c, m->to, DT_I64, 1));
}

static int origin_of_row(CompBuild *m) {
    return read_of_row(m, m->b->plan->origin);
}

// Positions in use by row b of the batch: what S is for its last token.
static int end_of_row(CompBuild *m) {
    return comp_binary(m->b->core, m->to, N_ADD, read_of_row(m, m->b->plan->pos),
                       read_of_row(m, m->b->plan->count));
}

static Val finish(CompBuild *m, Region *r, const CoreType *type, const char *name) {
    StepBuild *b = m->b;
    Val v = core_add(b->core, b->to, OP_COMP, type, m->value->name, m->value->span);
    Value *value = core_value(b->to, v);
    value->comp = m->to;
    value->comment = m->value->comment;
    if (name) {
        value->name = session_name(b->core->session, name);
        value->comment = NULL;
    }
    for (int i = 0; i < m->args.len; i++)
        core_arg(b->core, b->to, v, m->args.data[i]);
    core_emit(b->core, r, v);
    return v;
}

// ---- Reads -------------------------------------------------------------------------------------

// Is it an index over all positions (from the origin on, where states slide)?
static bool far_index(const CompBuild *m, int index) {
    const Comp *k = m->from;
    if (index >= k->out)
        return k->red_dims[index - k->out] == m->b->roles->S;
    return m->value->type->dims[index] == m->b->roles->S &&
           (index != m->row || m->mode == ROLE_ALL);
}

// How a position on an axis of all positions is found.
static Place far_place(const CompBuild *m, int node, int axis) {
    const Node *at = &m->from->nodes.data[m->from->nodes.data[node].reads[axis]];
    if (!m->b->slides)
        return AT_NODE;
    return at->op == N_INDEX && far_index(m, at->index) ? AT_INDEX : AT_PLACE;
}

static void add_axis(ReadPlan *p, int axis, Place place) {
    p->axis[p->n] = axis;
    p->place[p->n++] = place;
}

// [B, Cap, rest..] at the positions as written.
static void plan_state(const CompBuild *m, int node, Val u, ReadPlan *p) {
    const Role *o = role_of(m->b->roles, u);
    p->arg = made_of(m->b, u)->state;
    add_axis(p, o->batch, AT_NODE);
    add_axis(p, o->row, far_place(m, node, o->row));
    for (int i = 0; i < core_value(m->b->from, u)->type->rank; i++) {
        if (i != o->batch && i != o->row)
            add_axis(p, i, AT_NODE);
    }
}

static bool plan_read(CompBuild *m, int node, ReadPlan *p) {
    StepBuild *b = m->b;
    const Node *n = &m->from->nodes.data[node];
    Val u = m->value->args.data[n->index];
    const Role *o = role_of(b->roles, u);
    bool same[CORE_MAX_RANK];
    p->dead = !roles_read(b->roles, m->old, node, same);
    if (p->dead)
        return true;
    bool own = o->row >= 0 && same[o->row] && m->mode != ROLE_ALL;
    if (o->kept && !own) {
        plan_state(m, node, u, p);
        return true;
    }
    Place row = AT_NODE;
    if (o->mode == ROLE_ROWS)
        row = m->mode == ROLE_ROWS ? AT_ROW : AT_COUNT;
    if (o->mode == ROLE_LAST)
        row = AT_ZERO;
    if ((row != AT_NODE && !own) || (row == AT_ZERO && m->mode == ROLE_ROWS))
        return step_refuse(b, u, "is read at other positions than it is computed for");
    p->arg = made_of(b, u)->here;
    if (step_gains_batch(b, u, o->mode))
        add_axis(p, -1, AT_NODE);
    for (int i = 0; i < n->read_count; i++) {
        bool far = core_value(b->from, u)->type->dims[i] == b->roles->S;
        Place place = i == o->row ? row : AT_NODE;
        add_axis(p, i, far && place == AT_NODE ? far_place(m, node, i) : place);
    }
    return true;
}

// Which nodes are made: those that the root needs, without positions that are replaced.
static bool plan_nodes(CompBuild *m) {
    const Comp *k = m->from;
    m->live[k->root] = true;
    for (int i = k->root; i >= 0; i--) {
        const Node *n = &k->nodes.data[i];
        if (!m->live[i])
            continue;
        if (n->op != N_READ) {
            for (int j = 0; j < node_args(n->op); j++)
                m->live[n->args[j]] = true;
            continue;
        }
        ReadPlan *p = &m->reads[i];
        if (!plan_read(m, i, p))
            return false;
        for (int j = 0; !p->dead && j < p->n; j++) {
            if (p->axis[j] >= 0 && (p->place[j] == AT_NODE || p->place[j] == AT_PLACE))
                m->live[n->reads[p->axis[j]]] = true;
        }
    }
    return true;
}

static int make_read(CompBuild *m, int node) {
    Core *c = m->b->core;
    const Node *n = &m->from->nodes.data[node];
    const ReadPlan *p = &m->reads[node];
    int at[CORE_MAX_RANK];
    if (p->dead && dtype_is_float(n->dtype))
        return comp_const_float(c, m->to, n->dtype, 0);
    if (p->dead)
        return comp_const_int(c, m->to, n->dtype, 0);
    for (int i = 0; i < p->n; i++) {
        if (p->axis[i] < 0)
            at[i] = comp_index(c, m->to, m->batch);
        else if (p->place[i] == AT_ROW)
            at[i] = comp_index(c, m->to, m->row + m->gained);
        else if (p->place[i] == AT_COUNT)
            at[i] = count_less_one(m);
        else if (p->place[i] == AT_ZERO)
            at[i] = comp_const_int(c, m->to, DT_I64, 0);
        else if (p->place[i] == AT_INDEX)
            at[i] =
                comp_index(c, m->to, m->from->nodes.data[n->reads[p->axis[i]]].index + m->gained);
        else if (p->place[i] == AT_PLACE)
            at[i] = comp_binary(c, m->to, N_SUB, m->node[n->reads[p->axis[i]]], origin_of_row(m));
        else
            at[i] = m->node[n->reads[p->axis[i]]];
    }
    return comp_read(c, m->to, argument(m, p->arg), n->dtype, p->n, at);
}

// ---- Other nodes -------------------------------------------------------------------------------

static int make_index(CompBuild *m, int index) {
    Core *c = m->b->core;
    int at = comp_index(c, m->to, index + m->gained);
    if (m->b->slides && far_index(m, index))
        return comp_binary(c, m->to, N_ADD, origin_of_row(m), at);
    if (index != m->row || index >= m->from->out || m->mode == ROLE_ALL)
        return at;
    if (m->mode == ROLE_LAST)
        return comp_binary(c, m->to, N_SUB, end_of_row(m), comp_const_int(c, m->to, DT_I64, 1));
    return comp_binary(c, m->to, N_ADD, read_of_row(m, m->b->plan->pos), at);
}

// A dimension with the length in it: only the last row may use it, and for it S is known.
static int make_length(CompBuild *m, const Dim *d, int depth) {
    Core *c = m->b->core;
    const Dim *S = m->b->roles->S, *x, *y;
    if (!dim_mentions(d, S))
        return comp_dim(c, m->to, d);
    if (d == S)
        return end_of_row(m);
    AtomKind kind = dim_atom(d, &x, &y);
    if (kind != ATOM_NONE && depth < 8) {
        static const NodeOp ops[] = {[ATOM_DIV] = N_FLOORDIV,
                                     [ATOM_MOD] = N_FLOORMOD,
                                     [ATOM_MIN] = N_MIN,
                                     [ATOM_MAX] = N_MAX};
        int a = make_length(m, x, depth + 1);
        return comp_binary(c, m->to, ops[kind], a, make_length(m, y, depth + 1));
    }
    int sum = comp_const_int(c, m->to, DT_I64, 0);
    for (int i = 0; i < dim_terms(d); i++) {
        int product = comp_const_int(c, m->to, DT_I64, dim_coefficient(d, i));
        for (int f = 0; f < dim_factors(d, i); f++) {
            const Dim *factor = dim_factor(d, i, f);
            if (factor == d || depth >= 8) {
                step_refuse(m->b, m->old, "uses the length in a way that is not understood");
                return sum;
            }
            product = comp_binary(c, m->to, N_MUL, product, make_length(m, factor, depth + 1));
        }
        sum = comp_binary(c, m->to, N_ADD, sum, product);
    }
    return sum;
}

static int make_dim(CompBuild *m, int node) {
    const Node *n = &m->from->nodes.data[node];
    Roles *r = m->b->roles;
    if (!dim_mentions(n->dim, r->S))
        return comp_dim(m->b->core, m->to, n->dim);
    bool last = m->mode == ROLE_LAST || m->mode == ROLE_NONE;
    if (last && m->batch >= 0)
        return make_length(m, n->dim, 0);
    step_refuse(m->b, m->old, "uses the length as a value");
    return comp_const_int(m->b->core, m->to, DT_I64, 0);
}

static void make_nodes(CompBuild *m) {
    Core *c = m->b->core;
    for (int i = 0; i < m->from->nodes.len && !m->b->why.text; i++) {
        Node n = m->from->nodes.data[i];
        if (!m->live[i])
            continue;
        if (n.op == N_INDEX) {
            m->node[i] = make_index(m, n.index);
        } else if (n.op == N_READ) {
            m->node[i] = make_read(m, i);
        } else if (n.op == N_DIM) {
            m->node[i] = make_dim(m, i);
        } else {
            for (int j = 0; j < node_args(n.op); j++)
                n.args[j] = m->node[n.args[j]];
            m->node[i] = comp_append(c, m->to, n);
        }
    }
}

// ---- Reductions over positions -----------------------------------------------------------------

static int neutral(CompBuild *m, Dtype t) {
    Core *c = m->b->core;
    Reduction r = m->from->reduction;
    if (r == RED_ANY || r == RED_ALL)
        return comp_const_int(c, m->to, DT_BOOL, r == RED_ALL);
    if (r == RED_SUM || r == RED_PROD)
        return comp_const_int(c, m->to, t, r == RED_PROD);
    if (dtype_is_float(t))
        return comp_const_float(
            c, m->to, t, r == RED_MAX ? -(double)__builtin_inff() : (double)__builtin_inff());
    bool sign = t == DT_I8 || t == DT_I16 || t == DT_I32 || t == DT_I64;
    int bits = 8 * dtype_size(t);
    int64_t most = t == DT_U64 ? -1 : (int64_t)(~(uint64_t)0 >> (64 - bits + sign));
    int64_t least = sign ? -most - 1 : 0;
    return comp_const_int(c, m->to, t, r == RED_MAX ? least : most);
}

static int zero_unless(CompBuild *m, int inside, int n) {
    Dtype t = m->to->nodes.data[n].dtype;
    return comp_select(m->b->core, m->to, inside, n, comp_const_float(m->b->core, m->to, t, 0));
}

// A reduction over all positions of the last row, or one whose summand is wild: positions after the
// row's end must not count. The root of a sum of products stays a product, of zeros.
static int guarded(CompBuild *m, int root, int inside) {
    Core *c = m->b->core;
    Node n = m->to->nodes.data[root];
    if (m->from->step != STEP_FMA && m->from->step != STEP_PAIRS)
        return comp_select(c, m->to, inside, root, neutral(m, n.dtype));
    for (int i = 0; i < 2; i++) {
        Node cast = m->to->nodes.data[n.args[i]]; // in pairs: of a bf16, and stays one
        if (m->from->step == STEP_PAIRS)
            cast.args[0] = zero_unless(m, inside, cast.args[0]);
        n.args[i] = m->from->step == STEP_PAIRS ? comp_append(c, m->to, cast)
                                                : zero_unless(m, inside, n.args[i]);
    }
    return comp_append(c, m->to, n);
}

// Neutral on a condition on an exponential, which positions that were never written may break:
// their scores are 0, and exp(0 - peak) is infinite where the row's greatest score lies below -88.
static bool may_overflow(const CausalBound *b) {
    for (int i = 0; i < b->conditions; i++) {
        if (strstr(b->texts[i], "exp("))
            return true;
    }
    return false;
}

static int guard(CompBuild *m, int root) {
    Core *c = m->b->core;
    const CausalValue *cv = causal_value(m->b->roles->causal, m->old);
    for (int i = 0; i < m->from->red; i++) {
        bool neutral_beyond = cv && cv->bounds[i].bounded && !may_overflow(&cv->bounds[i]) &&
                              !role_of(m->b->roles, m->old)->wild;
        if (m->from->red_dims[i] != m->b->roles->S || neutral_beyond)
            continue;
        if (!role_of(m->b->roles, m->old)->tokens || m->batch < 0) {
            step_refuse(m->b, m->old, "is reduced over every position");
            return root;
        }
        int k = make_index(m, m->from->out + i);
        root = guarded(m, root, comp_binary(c, m->to, N_LT, k, end_of_row(m)));
    }
    return root;
}

static bool set_indices(CompBuild *m) {
    Arena *a = m->b->core->session->arena;
    const Comp *k = m->from;
    Comp *to = m->to;
    to->out = k->out + m->gained;
    to->red = k->red;
    to->reduction = k->reduction;
    to->step = k->step;
    to->red_dims = NEW_N(a, const Dim *, k->red);
    for (int i = 0; i < k->red; i++) {
        to->red_dims[i] = k->red_dims[i];
        if (k->red_dims[i] == m->b->roles->S)
            to->red_dims[i] = m->b->plan->L;
        else if (dim_mentions(k->red_dims[i], m->b->roles->S))
            return step_refuse(m->b, m->old, "is reduced over positions and something else");
    }
    to->names = NEW_N(a, Name, to->out + to->red);
    if (m->gained)
        to->names[0] = session_name(m->b->core->session, "b");
    for (int i = 0; k->names && i < k->out + k->red; i++)
        to->names[i + m->gained] = k->names[i];
    return true;
}

// ---- The whole ---------------------------------------------------------------------------------

static CompBuild comp_build(StepBuild *b, Val v) {
    const Role *o = role_of(b->roles, v);
    CompBuild m = {.b = b, .old = v, .value = core_value(b->from, v), .mode = o->mode};
    m.row = o->row;
    m.gained = step_gains_batch(b, v, o->mode);
    m.batch = m.gained ? 0 : o->batch;
    m.from = m.value->comp;
    m.to = NEW(b->core->session->arena, Comp);
    return m;
}

// A view stays one where its argument has the same mode; the positions follow from the types.
static bool stays_view(const CompBuild *m) {
    if (!m->from->reshape || m->value->args.len != 1)
        return false;
    Val u = m->value->args.data[0];
    const Role *o = role_of(m->b->roles, u);
    const ReadPlan *p = &m->reads[m->from->root];
    if (m->from->nodes.data[m->from->root].op != N_READ || p->dead)
        return false;
    return o->mode == m->mode && p->arg == made_of(m->b, u)->here &&
           step_gains_batch(m->b, u, o->mode) == m->gained;
}

Val step_comp(StepBuild *b, Region *r, Val v) {
    CompBuild m = comp_build(b, v);
    int n = m.from->nodes.len;
    m.reads = NEW_N(b->arena, ReadPlan, n);
    m.live = NEW_N(b->arena, bool, n);
    m.node = NEW_N(b->arena, int, n);
    const CoreType *type = step_type(b, v, m.mode);
    if (!set_indices(&m) || !plan_nodes(&m))
        return 0;
    if (stays_view(&m)) {
        Val u = made_of(b, m.value->args.data[0])->here;
        m.to = comp_reshape(b->core, core_value(b->to, u)->type, type, NULL);
        vec_push(b->core->session->arena, &m.args, u);
        return finish(&m, r, type, NULL);
    }
    make_nodes(&m);
    if (b->why.text)
        return 0;
    m.to->root = guard(&m, m.node[m.from->root]);
    return finish(&m, r, type, NULL);
}

// ---- Copies of rows ----------------------------------------------------------------------------

// Reads `arg`, whose axes are v's (and the batch it gained first), at the indices of the result but
// for the row, which is at `row` (-1: at its index).
static Val copy(CompBuild *m, Region *r, Val arg, const CoreType *type, int row, const char *name) {
    Core *c = m->b->core;
    const Role *o = role_of(m->b->roles, m->old);
    bool gained = step_gains_batch(m->b, m->old, o->mode);
    int at[CORE_MAX_RANK];
    int rank = core_value(m->b->to, arg)->type->rank;
    m->to->out = type->rank;
    for (int i = 0; i < rank; i++) {
        bool is_row = i == o->row + gained;
        at[i] = is_row && row >= 0 ? row : comp_index(c, m->to, i + type->rank - rank);
    }
    int n = argument(m, arg);
    m->to->root = comp_read(c, m->to, n, type->dtype, rank, at);
    return finish(m, r, type, name);
}

static const char *named(const StepBuild *b, Val v, const char *what) {
    Name name = core_value(b->from, v)->name;
    return name ? arena_printf(b->core->session->arena, "%s_%s", name, what) : what;
}

Val step_slots(StepBuild *b, Region *r) {
    Core *c = b->core;
    Comp *k = NEW(c->session->arena, Comp);
    const CoreType *t = core_value(b->to, b->plan->pos)->type;
    int at = comp_index(c, k, 0);
    int pos = comp_read(c, k, 0, DT_I32, 1, &at), origin = comp_read(c, k, 1, DT_I32, 1, &at);
    k->out = 1;
    k->root = comp_binary(c, k, N_SUB, pos, origin);
    Val v = core_add(c, b->to, OP_COMP, t, session_name(c->session, "slot"), b->from->span);
    core_value(b->to, v)->comp = k;
    core_arg(c, b->to, v, b->plan->pos);
    core_arg(c, b->to, v, b->plan->origin);
    core_emit(c, r, v);
    return v;
}

Val step_take_rows(StepBuild *b, Region *r, Val v) {
    CompBuild m = comp_build(b, v);
    m.batch = role_of(b->roles, v)->batch < 0 ? 0 : role_of(b->roles, v)->batch;
    const CoreType *type = step_type(b, v, ROLE_ROWS);
    int c = comp_index(b->core, m.to, m.row + step_gains_batch(b, v, ROLE_ROWS));
    int row = comp_binary(b->core, m.to, N_ADD, read_of_row(&m, b->slots), c);
    return copy(&m, r, made_of(b, v)->here, type, row, named(b, v, "rows"));
}

Val step_take_last(StepBuild *b, Region *r, Val v) {
    CompBuild m = comp_build(b, v);
    const CoreType *type = step_type(b, v, ROLE_LAST);
    bool gained = step_gains_batch(b, v, ROLE_LAST);
    m.batch = gained ? 0 : role_of(b->roles, v)->batch;
    int row = count_less_one(&m);
    if (m.mode == ROLE_ALL)
        row = comp_binary(b->core, m.to, N_ADD, read_of_row(&m, b->slots), row);
    return copy(&m, r, made_of(b, v)->here, type, row, named(b, v, "last"));
}

Val step_state_rows(StepBuild *b, Region *r, Val v) {
    CompBuild m = comp_build(b, v);
    const CoreType *t = step_type(b, v, ROLE_ROWS);
    const Role *o = role_of(b->roles, v);
    if (o->batch == 0 && o->row == 1)
        return made_of(b, v)->here;
    const Dim *dims[CORE_MAX_RANK];
    int at[CORE_MAX_RANK], n = 0;
    dims[n] = t->dims[o->batch];
    at[o->batch] = comp_index(b->core, m.to, n++);
    dims[n] = t->dims[o->row];
    at[o->row] = comp_index(b->core, m.to, n++);
    for (int i = 0; i < t->rank; i++) {
        if (i == o->batch || i == o->row)
            continue;
        dims[n] = t->dims[i];
        at[i] = comp_index(b->core, m.to, n++);
    }
    m.to->out = n;
    int arg = argument(&m, made_of(b, v)->here);
    m.to->root = comp_read(b->core, m.to, arg, t->dtype, t->rank, at);
    return finish(&m, r, core_tensor(b->core, t->dtype, n, dims), named(b, v, "rows"));
}
