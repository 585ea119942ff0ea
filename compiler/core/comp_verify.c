// Verifies comprehensions: indices, nodes by class, the result's dtype, the step of a sum, views.
#include "core/verify.h"
#include <string.h>

typedef struct {
    Verifier *v;
    const Value *value;
    const Comp *k;
} Body;

static const CoreType *arg_type(const Body *b, int i) {
    return core_value(b->v->fn, b->value->args.data[i])->type;
}

static const Node *node(const Body *b, int i) {
    return &b->k->nodes.data[i];
}

// ---- Nodes -------------------------------------------------------------------------------------

static void check_read(Body *b, int i) {
    const Node *n = node(b, i);
    if (n->index < 0 || n->index >= b->value->args.len) {
        verify_fault(b->v, "node %d reads argument %d of %d", i, n->index, b->value->args.len);
        return;
    }
    const CoreType *t = arg_type(b, n->index);
    if (t->kind != CORE_TENSOR)
        return; // reported with the arguments
    if (n->read_count != t->rank)
        verify_fault(b->v, "node %d reads at %d positions, argument %d has rank %d", i,
                     n->read_count, n->index, t->rank);
    if (n->dtype != t->dtype)
        verify_fault(b->v, "node %d is of %s, it reads %s", i, dtype_name(n->dtype),
                     dtype_name(t->dtype));
    for (int k = 0; k < n->read_count; k++) {
        if (node(b, n->reads[k])->dtype != DT_I64)
            verify_fault(b->v, "position %d of node %d is not i64", k, i);
    }
}

static void check_const(Body *b, int i) {
    const Node *n = node(b, i);
    double rounded = core_round(n->dtype, n->f);
    bool is = dtype_is_float(n->dtype) ? rounded == n->f || n->f != n->f
                                       : core_wrap(n->dtype, n->i) == n->i;
    if (!is)
        verify_fault(b->v, "the constant of node %d is no value of %s", i, dtype_name(n->dtype));
}

static void check_leaf(Body *b, int i) {
    const Node *n = node(b, i);
    if (n->op == N_CONST) {
        check_const(b, i);
        return;
    }
    if (n->op == N_READ) {
        check_read(b, i);
        return;
    }
    if (n->dtype != DT_I64)
        verify_fault(b->v, "node %d, `%s`, is not i64", i, node_text(n->op));
    if (n->op == N_DIM)
        verify_dim(b->v, n->dim, "the dimension of a node");
    else if (n->index < 0 || n->index >= b->k->out + b->k->red)
        verify_fault(b->v, "node %d is index %d of %d", i, n->index, b->k->out + b->k->red);
}

static bool class_takes(NodeOp op, Dtype t) {
    bool logic = op == N_AND || op == N_OR || op == N_XOR;
    switch (node_class(op)) {
    case 'A':
        return t != DT_BOOL;
    case 'F':
        return dtype_is_float(t);
    case 'I':
        if (op == N_NOT)
            return t == DT_BOOL;
        return dtype_is_integer(t) || (logic && t == DT_BOOL);
    case 'C':
        return t != DT_BOOL || op == N_EQ || op == N_NE;
    default:
        return true;
    }
}

static void check_inner(Body *b, int i) {
    const Node *n = node(b, i);
    if (n->op == N_CAST)
        return;
    int first = n->op == N_SELECT;
    Dtype t = node(b, n->args[first])->dtype;
    if (n->op == N_SELECT && node(b, n->args[0])->dtype != DT_BOOL)
        verify_fault(b->v, "the condition of node %d is not bool", i);
    for (int a = first; a < node_args(n->op); a++) {
        if (node(b, n->args[a])->dtype != t)
            verify_fault(b->v, "the operands of node %d, `%s`, are of %s and %s", i,
                         node_text(n->op), dtype_name(t), dtype_name(node(b, n->args[a])->dtype));
    }
    if (!class_takes(n->op, t))
        verify_fault(b->v, "node %d: `%s` does not take %s", i, node_text(n->op), dtype_name(t));
    Dtype gives = node_class(n->op) == 'C' ? DT_BOOL : t;
    if (n->dtype != gives)
        verify_fault(b->v, "node %d, `%s`, is of %s and should be of %s", i, node_text(n->op),
                     dtype_name(n->dtype), dtype_name(gives));
}

// Operands come before users; what is checked after this may follow them.
static bool operands_in_order(Body *b, int i) {
    const Node *n = node(b, i);
    if ((unsigned)n->op >= NODE_COUNT || (unsigned)n->dtype >= DT_COUNT) {
        verify_fault(b->v, "node %d is no node", i);
        return false;
    }
    int count = n->op == N_READ ? n->read_count : node_args(n->op);
    const int *args = n->op == N_READ ? n->reads : n->args;
    if (count < 0 || (count && !args)) {
        verify_fault(b->v, "node %d has no operands", i);
        return false;
    }
    for (int a = 0; a < count; a++) {
        if (args[a] < 0 || args[a] >= i) {
            verify_fault(b->v, "operand %d of node %d is node %d: not before it", a, i, args[a]);
            return false;
        }
    }
    return true;
}

static bool check_nodes(Body *b) {
    for (int i = 0; i < b->k->nodes.len; i++) {
        if (!operands_in_order(b, i))
            return false;
    }
    for (int i = 0; i < b->k->nodes.len; i++) {
        if (node_class(node(b, i)->op) == 'L')
            check_leaf(b, i);
        else
            check_inner(b, i);
    }
    if (b->k->root >= 0 && b->k->root < b->k->nodes.len)
        return true;
    verify_fault(b->v, "the root is node %d of %d", b->k->root, b->k->nodes.len);
    return false;
}

// ---- Reductions --------------------------------------------------------------------------------

static bool is_16_bit_float(Dtype t) {
    return t == DT_BF16 || t == DT_F16;
}

static bool widened_bf16(const Body *b, int i) {
    const Node *n = node(b, i);
    return n->op == N_CAST && n->dtype == DT_F32 && node(b, n->args[0])->dtype == DT_BF16;
}

// mul(cast.f32(a bf16), cast.f32(a bf16))
static bool is_pair(const Body *b) {
    const Node *root = node(b, b->k->root);
    return root->op == N_MUL && root->dtype == DT_F32 && widened_bf16(b, root->args[0]) &&
           widened_bf16(b, root->args[1]);
}

static void check_step(Body *b) {
    const Comp *k = b->k;
    const Node *root = node(b, k->root);
    Dtype gives = b->value->type->dtype;
    bool product = root->op == N_MUL;
    if (k->reduction != RED_SUM || !dtype_is_float(root->dtype)) {
        if (k->step != STEP_PLAIN)
            verify_fault(b->v, "the step `%s` is of float sums only", step_text(k->step));
    } else if (k->step == STEP_PLAIN) {
        verify_fault(b->v, "a float sum steps by add, fma or pairs");
    } else if (k->step == STEP_ADD && product) {
        verify_fault(b->v, "the sum of a product steps by fma or pairs, not by add");
    } else if (k->step == STEP_FMA && !product) {
        verify_fault(b->v, "a sum that steps by fma has a `mul` as its root");
    } else if (k->step == STEP_PAIRS && !is_pair(b)) {
        verify_fault(b->v, "a sum in pairs is of mul(cast.f32(bf16), cast.f32(bf16))");
    } else if (k->step == STEP_FMA && root->dtype == DT_BF16) {
        verify_fault(b->v, "the sum of a product of bf16 steps in pairs");
    } else if (k->step == STEP_FMA && is_pair(b) && gives == DT_BF16) {
        verify_fault(b->v, "a product of bf16 whose sum is bf16 steps in pairs");
    }
}

static void check_result(Body *b) {
    const Comp *k = b->k;
    Dtype root = node(b, k->root)->dtype, gives = b->value->type->dtype;
    bool logic = k->reduction == RED_ANY || k->reduction == RED_ALL;
    if (logic != (root == DT_BOOL) && k->reduction != RED_NONE)
        verify_fault(b->v, "the reduction `%s` does not take %s", reduction_text(k->reduction),
                     dtype_name(root));
    bool sum = k->reduction == RED_SUM;
    bool rounds = sum && is_16_bit_float(root) && gives == DT_F32;
    bool pairs = sum && k->step == STEP_PAIRS && gives == DT_BF16;
    if (root != gives && !rounds && !pairs)
        verify_fault(b->v, "the body gives %s, the value is of %s", dtype_name(root),
                     dtype_name(gives));
}

static bool check_indices(Body *b) {
    const Comp *k = b->k;
    if (k->out != b->value->type->rank) {
        verify_fault(b->v, "%d output indices, the value has rank %d", k->out,
                     b->value->type->rank);
        return false;
    }
    if (k->red < 0 || k->red > CORE_MAX_RANK || (k->red && !k->red_dims)) {
        verify_fault(b->v, "%d reduction indices", k->red);
        return false;
    }
    if ((unsigned)k->reduction > RED_ALL || (unsigned)k->step > STEP_PAIRS) {
        verify_fault(b->v, "no such reduction or step");
        return false;
    }
    if ((k->red == 0) != (k->reduction == RED_NONE))
        verify_fault(b->v, "%d reduction indices with the reduction `%s`", k->red,
                     reduction_text(k->reduction));
    for (int i = 0; i < k->red; i++)
        verify_dim(b->v, k->red_dims[i], "the extent of a reduction index");
    return true;
}

// ---- Views -------------------------------------------------------------------------------------

static const Dim *elements(const Body *b, const CoreType *t) {
    const Dim *n = dim_const(b->v->core->dims, 1);
    for (int i = 0; i < t->rank; i++)
        n = dim_mul(b->v->core->dims, n, t->dims[i]);
    return n;
}

static bool has_atom(const Dim *d) {
    for (int i = 0; i < dim_terms(d); i++) {
        for (int f = 0; f < dim_factors(d, i); f++) {
            const Dim *a, *c;
            if (dim_atom(dim_factor(d, i, f), &a, &c) != ATOM_NONE)
                return true;
        }
    }
    return false;
}

// Counts with quotients and the like may be equal by facts that are not known here.
static void check_view(Body *b) {
    const Node *root = node(b, b->k->root);
    if (b->value->args.len != 1 || root->op != N_READ || root->index != 0 || b->k->red) {
        verify_fault(b->v, "a view is a read of its only argument");
        return;
    }
    const CoreType *from = arg_type(b, 0);
    if (from->kind != CORE_TENSOR || b->v->count)
        return; // after a fault dimensions may be missing
    const Dim *n = elements(b, from), *m = elements(b, b->value->type);
    if (n == m || !dim_valid(n) || !dim_valid(m) || has_atom(n) || has_atom(m))
        return;
    verify_fault(b->v, "a view of %s elements as %s", dim_text(b->v->arena, n),
                 dim_text(b->v->arena, m));
}

void verify_comp(Verifier *v, const Value *value) {
    Body b = {v, value, value->comp};
    if (!value->comp || value->type->kind != CORE_TENSOR) {
        verify_fault(v, value->comp ? "a comprehension gives a tensor" : "there is no body");
        return;
    }
    for (int i = 0; i < value->args.len; i++) {
        if (arg_type(&b, i)->kind != CORE_TENSOR)
            verify_fault(v, "argument %d is no tensor", i);
    }
    if (!check_indices(&b) || !check_nodes(&b))
        return;
    check_result(&b);
    check_step(&b);
    if (value->comp->reshape)
        check_view(&b);
}
