// Bodies of comprehensions: nodes with sharing and the few foldings of index arithmetic.
#include "core/core.h"
#include <string.h>

static const struct {
    const char *text;
    int args;
    char class;
} table[] = {
#define NODE(id, text, args, class, doc) {text, args, class},
#include "core/nodes.def"
#undef NODE
};

const char *node_text(NodeOp op) {
    return table[op].text;
}

int node_args(NodeOp op) {
    return table[op].args;
}

char node_class(NodeOp op) {
    return table[op].class;
}

const char *reduction_text(Reduction r) {
    static const char *const texts[] = {"none", "sum", "prod", "max", "min", "any", "all"};
    return texts[r];
}

const char *step_text(Step s) {
    static const char *const texts[] = {"plain", "add", "fma", "pairs"};
    return texts[s];
}

// ---- Constants ---------------------------------------------------------------------------------

static double power_of_two(int exponent) { // -1022..1023
    uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

// To nearest, ties to even, with `mantissa` bits after the point and exponents from `lowest` to
// `highest`. Adding and subtracting 1.5 * 2^52 quanta rounds to a multiple of the quantum.
static double round_to(double v, int mantissa, int lowest, int highest) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    int exponent = (int)(bits >> 52 & 0x7FF) - 1023;
    if (v == 0 || exponent == 1024)
        return v;
    int quantum = (exponent < lowest ? lowest : exponent) - mantissa;
    if (exponent > highest)
        quantum = highest - mantissa + 1;
    double magic = 1.5 * power_of_two(52 + quantum);
    double sum = (bits >> 63 ? -v : v) + magic;
    double r = exponent > highest ? 2 * power_of_two(highest) : sum - magic;
    if (r >= 2 * power_of_two(highest))
        r = (double)__builtin_inff();
    return bits >> 63 ? -r : r;
}

double core_round(Dtype t, double v) {
    if (v != v)
        return (double)__builtin_nanf("");
    if (t == DT_F16)
        return round_to(v, 10, -14, 15);
    if (t == DT_BF16)
        return round_to(v, 7, -126, 127);
    if (t == DT_F32)
        return round_to(v, 23, -126, 127);
    return v;
}

int64_t core_wrap(Dtype t, int64_t v) {
    switch (t) {
    case DT_BOOL:
        return v != 0;
    case DT_I8:
    case DT_I16:
    case DT_I32: {
        uint64_t half = (uint64_t)1 << (8 * dtype_size(t) - 1);
        uint64_t low = ((uint64_t)v & (2 * half - 1)) ^ half;
        return (int64_t)low - (int64_t)half;
    }
    case DT_U8:
    case DT_U16:
    case DT_U32:
        return v & (((int64_t)1 << 8 * dtype_size(t)) - 1);
    default:
        return v;
    }
}

// ---- Nodes -------------------------------------------------------------------------------------

static bool same_node(const Node *a, const Node *b) {
    if (a->op != b->op || a->dtype != b->dtype || a->index != b->index || a->dim != b->dim)
        return false;
    if (a->i != b->i || memcmp(&a->f, &b->f, sizeof a->f) != 0 || a->read_count != b->read_count)
        return false;
    if (memcmp(a->args, b->args, sizeof a->args) != 0)
        return false;
    return !a->read_count || memcmp(a->reads, b->reads, sizeof(int) * (size_t)a->read_count) == 0;
}

int comp_append(Core *c, Comp *k, Node n) {
    vec_push(c->session->arena, &k->nodes, n);
    return k->nodes.len - 1;
}

// An index or a constant is shared by what has nothing else in common. So may a dimension be: its
// span goes from its first use to its last.
void comp_mark(Comp *k, int n, Span span) {
    Node *node = &k->nodes.data[n];
    if (node->op == N_INDEX || node->op == N_CONST)
        return;
    if (node->op == N_DIM && node->span.file && node->span.file == span.file)
        node->span = span_join(node->span, span);
    else if (!node->span.file)
        node->span = span;
}

// The number of an equal node, or of this one, appended.
static int share(Core *c, Comp *k, Node n) {
    for (int i = 0; i < k->nodes.len; i++) {
        if (same_node(&k->nodes.data[i], &n))
            return i;
    }
    return comp_append(c, k, n);
}

int comp_index(Core *c, Comp *k, int index) {
    return share(c, k, (Node){.op = N_INDEX, .dtype = DT_I64, .index = index});
}

int comp_const_int(Core *c, Comp *k, Dtype t, int64_t value) {
    if (dtype_is_float(t))
        return comp_const_float(c, k, t, (double)value);
    return share(c, k, (Node){.op = N_CONST, .dtype = t, .i = core_wrap(t, value)});
}

int comp_const_float(Core *c, Comp *k, Dtype t, double value) {
    return share(c, k, (Node){.op = N_CONST, .dtype = t, .f = core_round(t, value)});
}

int comp_dim(Core *c, Comp *k, const Dim *d) {
    int64_t value;
    if (dim_is_const(d, &value))
        return comp_const_int(c, k, DT_I64, value);
    return share(c, k, (Node){.op = N_DIM, .dtype = DT_I64, .dim = d});
}

int comp_read(Core *c, Comp *k, int arg, Dtype t, int n, const int *positions) {
    Node read = {.op = N_READ, .dtype = t, .index = arg, .read_count = n};
    if (n)
        read.reads = arena_copy(c->session->arena, positions, sizeof(int) * (size_t)n);
    return share(c, k, read);
}

int comp_unary(Core *c, Comp *k, NodeOp op, int a) {
    return share(c, k, (Node){.op = op, .dtype = k->nodes.data[a].dtype, .args = {a}});
}

static bool const_i64(const Comp *k, int n, int64_t *value) {
    const Node *node = &k->nodes.data[n];
    *value = node->i;
    return node->op == N_CONST && node->dtype == DT_I64;
}

// x * 1, x + 0, x - 0, x floordiv 1 are x; x floormod 1 is 0. Gives the node, or -1.
static int fold_identity(Core *c, Comp *k, NodeOp op, int a, int64_t b) {
    if (b == 1 && (op == N_MUL || op == N_FLOORDIV || op == N_DIV))
        return a;
    if (b == 0 && (op == N_ADD || op == N_SUB))
        return a;
    if ((b == 0 && op == N_MUL) || (b == 1 && op == N_FLOORMOD))
        return comp_const_int(c, k, DT_I64, 0);
    return -1;
}

static int fold_i64(Core *c, Comp *k, NodeOp op, int a, int b) {
    int64_t x, y, r;
    bool ca = const_i64(k, a, &x), cb = const_i64(k, b, &y);
    if (cb && fold_identity(c, k, op, a, y) >= 0)
        return fold_identity(c, k, op, a, y);
    if (ca && (op == N_ADD || op == N_MUL) && fold_identity(c, k, op, b, x) >= 0)
        return fold_identity(c, k, op, b, x);
    if (!ca || !cb)
        return -1;
    if (op == N_ADD && !__builtin_add_overflow(x, y, &r))
        return comp_const_int(c, k, DT_I64, r);
    if (op == N_SUB && !__builtin_sub_overflow(x, y, &r))
        return comp_const_int(c, k, DT_I64, r);
    if (op == N_MUL && !__builtin_mul_overflow(x, y, &r))
        return comp_const_int(c, k, DT_I64, r);
    if (y <= 0 || (op != N_FLOORDIV && op != N_FLOORMOD))
        return -1;
    int64_t rest = x % y < 0 ? x % y + y : x % y;
    int64_t quotient = x / y - (x % y < 0);
    return comp_const_int(c, k, DT_I64, op == N_FLOORDIV ? quotient : rest);
}

int comp_binary(Core *c, Comp *k, NodeOp op, int a, int b) {
    Dtype t = k->nodes.data[a].dtype;
    if (t == DT_I64 && k->nodes.data[b].dtype == DT_I64) {
        int folded = fold_i64(c, k, op, a, b);
        if (folded >= 0)
            return folded;
    }
    if (node_class(op) == 'C')
        t = DT_BOOL;
    return share(c, k, (Node){.op = op, .dtype = t, .args = {a, b}});
}

int comp_select(Core *c, Comp *k, int cond, int a, int b) {
    Dtype t = k->nodes.data[a].dtype;
    return share(c, k, (Node){.op = N_SELECT, .dtype = t, .args = {cond, a, b}});
}

int comp_cast(Core *c, Comp *k, Dtype t, int a) {
    if (k->nodes.data[a].dtype == t)
        return a;
    return share(c, k, (Node){.op = N_CAST, .dtype = t, .args = {a}});
}
