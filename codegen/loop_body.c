// Bodies of comprehensions: which nodes get a name, and what is known of the integers among them.
//
// A node used more than once is computed once, before its users, under a name of its own. If it
// stands only in a branch of a select it is then computed where the branch is not taken too; reads
// below it are therefore kept inside their array.
#include "codegen/loop_build.h"

enum {
    NAME_DEPTH = 20, // an expression deeper than this gets a name
    MAX_DEPTH = 400, // in branches, where it can't get one
};

Body *body_new(FnBuild *b, const Value *v) {
    const Comp *c = v->comp;
    int indices = c->out + c->red, nodes = c->nodes.len;
    Body *k = NEW(b->arena, Body);
    k->b = b;
    k->comp = c;
    k->value = v;
    k->extents = NEW_N(b->arena, const Dim *, indices + 1);
    k->index = NEW_N(b->arena, const Expr *, indices + 1);
    for (int i = 0; i < indices; i++) {
        const Dim *d = i < c->out ? v->type->dims[i] : c->red_dims[i - c->out];
        k->extents[i] = loop_dim(b->module, d);
        k->index[i] = x_int(b->arena, DT_I64, 0);
    }
    k->nodes = NEW_N(b->arena, const Expr *, nodes);
    k->uses = NEW_N(b->arena, int, nodes);
    k->always = NEW_N(b->arena, bool, nodes);
    k->hoisted = NEW_N(b->arena, bool, nodes);
    k->gathered = NEW_N(b->arena, bool, nodes);
    k->lo = NEW_N(b->arena, int64_t, nodes);
    k->hi = NEW_N(b->arena, int64_t, nodes);
    k->depth = NEW_N(b->arena, int, nodes);
    return k;
}

const char *node_noun(NodeOp op) {
    static const char *const nouns[NODE_COUNT] = {
        [N_INDEX] = "position", [N_CONST] = "constant",  [N_DIM] = "extent",
        [N_READ] = "value",     [N_CAST] = "converted",  [N_SELECT] = "chosen",
        [N_NEG] = "negative",   [N_ABS] = "magnitude",   [N_NOT] = "inverse",
        [N_EXP] = "power",      [N_LOG] = "logarithm",   [N_SQRT] = "root",
        [N_RSQRT] = "scale",    [N_SIN] = "sine",        [N_COS] = "cosine",
        [N_TANH] = "tangent",   [N_ADD] = "sum",         [N_SUB] = "difference",
        [N_MUL] = "product",    [N_DIV] = "quotient",    [N_MOD] = "remainder",
        [N_FLOORDIV] = "group", [N_FLOORMOD] = "member", [N_MIN] = "least",
        [N_MAX] = "most",       [N_AND] = "both",        [N_OR] = "either",
        [N_XOR] = "mixed",      [N_SHL] = "shifted",     [N_SHR] = "shifted",
    };
    return nouns[op] ? nouns[op] : "test";
}

// ---- Ranges ------------------------------------------------------------------------------------

static void dtype_range(Dtype t, int64_t *lo, int64_t *hi) {
    int bits = t == DT_BOOL ? 1 : 8 * dtype_size(t);
    bool is_signed = dtype_is_signed(t);
    *lo = is_signed ? (int64_t)(-1 - ((UINT64_C(1) << (bits - 1)) - 1)) : 0;
    *hi = bits == 64 ? INT64_MAX : ((int64_t)1 << (is_signed ? bits - 1 : bits)) - 1;
    if (t == DT_U64)
        *lo = INT64_MIN; // not tracked
}

// The range of the exact result of +, -, *, of the operands' ranges; false if it leaves int64.
static bool exact_range(NodeOp op, int64_t a, int64_t z, int64_t a2, int64_t z2, int64_t *lo,
                        int64_t *hi) {
    if (op == N_ADD)
        return !__builtin_add_overflow(a, a2, lo) && !__builtin_add_overflow(z, z2, hi);
    if (op == N_SUB)
        return !__builtin_sub_overflow(a, z2, lo) && !__builtin_sub_overflow(z, a2, hi);
    int64_t p[4];
    if (__builtin_mul_overflow(a, a2, &p[0]) || __builtin_mul_overflow(a, z2, &p[1]) ||
        __builtin_mul_overflow(z, a2, &p[2]) || __builtin_mul_overflow(z, z2, &p[3]))
        return false;
    *lo = *hi = p[0];
    for (int i = 1; i < 4; i++) {
        *lo = p[i] < *lo ? p[i] : *lo;
        *hi = p[i] > *hi ? p[i] : *hi;
    }
    return true;
}

// Ranges of the other integer operations; false where nothing is known.
static bool other_range(const Node *n, int64_t a, int64_t z, int64_t a2, int64_t z2, int64_t *lo,
                        int64_t *hi) {
    switch (n->op) {
    case N_DIV:
    case N_FLOORDIV:
        *lo = a2 > 0 && z2 > 0 ? a / z2 : 0;
        *hi = a2 > 0 ? z / a2 : 0;
        return a >= 0 && a2 > 0;
    case N_MOD:
    case N_FLOORMOD:
        *lo = 0;
        *hi = z < z2 - 1 ? z : z2 - 1;
        return a2 > 0 && (a >= 0 || n->op == N_FLOORMOD);
    case N_MIN:
        *lo = a < a2 ? a : a2;
        *hi = z < z2 ? z : z2;
        return true;
    case N_MAX:
        *lo = a > a2 ? a : a2;
        *hi = z > z2 ? z : z2;
        return true;
    case N_AND:
        *lo = 0;
        *hi = a >= 0 && (a2 < 0 || z < z2) ? z : z2;
        return a >= 0 || a2 >= 0;
    case N_OR:
    case N_XOR: {
        int64_t top = z > z2 ? z : z2;
        for (*lo = 0, *hi = 0; *hi < top;)
            *hi = 2 * *hi + 1;
        return a >= 0 && a2 >= 0 && top < INT64_MAX / 2;
    }
    case N_SHL:
        *lo = 0;
        return a >= 0 && a2 >= 0 && z2 < 32 && !__builtin_mul_overflow(z, INT64_C(1) << z2, hi);
    case N_SHR:
        *lo = 0;
        *hi = a2 >= 0 && a2 < 63 ? z >> a2 : z;
        return a >= 0;
    default:
        return false;
    }
}

static bool leaf_range(const Body *k, const Node *n, int64_t *lo, int64_t *hi) {
    const LoopModule *m = k->b->module;
    switch (n->op) {
    case N_INDEX:
        *lo = 0;
        if (!dim_range(m, k->extents[n->index], lo, hi) || *hi < 1)
            return false;
        *lo = 0;
        *hi -= 1;
        return true;
    case N_CONST:
        *lo = *hi = n->i;
        return true;
    case N_DIM:
        return dim_range(m, loop_dim(k->b->module, n->dim), lo, hi);
    case N_CAST:
        *lo = k->lo[n->args[0]];
        *hi = k->hi[n->args[0]];
        return !dtype_is_float(k->comp->nodes.data[n->args[0]].dtype);
    case N_SELECT: {
        int x = n->args[1], y = n->args[2];
        *lo = k->lo[x] < k->lo[y] ? k->lo[x] : k->lo[y];
        *hi = k->hi[x] > k->hi[y] ? k->hi[x] : k->hi[y];
        return true;
    }
    default:
        return false;
    }
}

static void find_range(Body *k, int i) {
    const Node *n = &k->comp->nodes.data[i];
    int64_t lo, hi, least, most;
    k->lo[i] = INT64_MIN;
    k->hi[i] = INT64_MAX;
    if (dtype_is_float(n->dtype) || n->dtype == DT_U64)
        return;
    dtype_range(n->dtype, &least, &most);
    bool known = leaf_range(k, n, &lo, &hi);
    if (!known && node_args(n->op) == 2 && !dtype_is_float(k->comp->nodes.data[n->args[0]].dtype)) {
        int x = n->args[0], y = n->args[1];
        bool ring = n->op == N_ADD || n->op == N_SUB || n->op == N_MUL;
        known = ring ? exact_range(n->op, k->lo[x], k->hi[x], k->lo[y], k->hi[y], &lo, &hi)
                     : other_range(n, k->lo[x], k->hi[x], k->lo[y], k->hi[y], &lo, &hi);
    }
    known = known && lo >= least && hi <= most;
    k->lo[i] = known ? lo : least;
    k->hi[i] = known ? hi : most;
}

bool body_exact(const Body *k, int i, int64_t *lo, int64_t *hi) {
    const Node *n = &k->comp->nodes.data[i];
    int x = n->args[0], y = n->args[1];
    int64_t least, most;
    if (n->dtype == DT_U64)
        return false;
    dtype_range(n->dtype, &least, &most);
    return exact_range(n->op, k->lo[x], k->hi[x], k->lo[y], k->hi[y], lo, hi) && *lo >= least &&
           *hi <= most;
}

// ---- Uses --------------------------------------------------------------------------------------

static void use_node(Body *k, int user, int n, bool taken) {
    k->uses[n]++;
    k->always[n] |= taken && (user < 0 || k->always[user]);
    if (user >= 0)
        k->hoisted[n] |= k->hoisted[user] || k->uses[user] > 1;
}

static void use_operands(Body *k, int i) {
    const Node *n = &k->comp->nodes.data[i];
    for (int r = 0; r < n->read_count && n->op == N_READ; r++)
        use_node(k, i, n->reads[r], true);
    for (int a = 0; a < node_args(n->op) && n->op != N_READ; a++)
        use_node(k, i, n->args[a], n->op != N_SELECT || a == 0);
}

static bool is_trivial(const Body *k, int i) {
    const Node *n = &k->comp->nodes.data[i];
    return n->op == N_INDEX || n->op == N_CONST || k->nodes[i]->op == X_NAME ||
           k->nodes[i]->op == X_INT || k->nodes[i]->op == X_REAL;
}

// Depth of the expression, and whether it depends on an element.
static void find_depth(Body *k, int i) {
    const Node *n = &k->comp->nodes.data[i];
    int deepest = 0;
    for (int r = 0; r < n->read_count && n->op == N_READ; r++)
        deepest = k->depth[n->reads[r]] > deepest ? k->depth[n->reads[r]] : deepest;
    for (int a = 0; a < node_args(n->op) && n->op != N_READ; a++)
        deepest = k->depth[n->args[a]] > deepest ? k->depth[n->args[a]] : deepest;
    k->depth[i] = deepest + 1;
    k->gathered[i] = n->op == N_READ;
    for (int a = 0; a < node_args(n->op) && n->op != N_READ; a++)
        k->gathered[i] |= k->gathered[n->args[a]];
    if (k->depth[i] > MAX_DEPTH)
        loop_fail(k->b->module, "%s: an expression is too deep", k->b->fn->label);
}

static void give_name(Body *k, int i) {
    FnBuild *b = k->b;
    const Node *n = &k->comp->nodes.data[i];
    Stmt *s = loop_stmt(b->arena, k->list, S_LET);
    s->type = loop_scalar(n->dtype);
    s->name = names_pick(b->names, node_noun(n->op));
    s->value = k->nodes[i];
    k->nodes[i] = x_name(b->arena, s->name, s->type);
    k->depth[i] = 1;
}

bool body_build(Body *k, int count, const int *roots) {
    const Comp *c = k->comp;
    for (int i = 0; i < count; i++)
        use_node(k, -1, roots[i], true);
    for (int i = c->nodes.len - 1; i >= 0; i--) {
        if (k->uses[i] && !k->nodes[i])
            use_operands(k, i);
    }
    for (int i = 0; i < c->nodes.len && !k->b->module->error; i++) {
        if (!k->uses[i] || k->nodes[i])
            continue;
        find_range(k, i);
        k->nodes[i] = node_expr(k, i);
        find_depth(k, i);
        if (!is_trivial(k, i) && (k->uses[i] > 1 || (k->depth[i] > NAME_DEPTH && k->always[i])))
            give_name(k, i);
    }
    return !k->b->module->error;
}
