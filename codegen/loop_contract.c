// Sums of products whose operands lie in rows: calls of the runtime's kernels.
//
// An operand's element number is taken apart as a linear form over the indices, with dimensions as
// coefficients. If the reduction is the unit-stride axis of both operands the product is "nt";
// if it is of one and the last output axis is of the other, "nn". The kernels sum in the order that
// the loops would, so this changes no bits.
#include "codegen/loop_build.h"

enum { WORK_LIMIT = 20000 }; // visits of nodes; beyond it a sum is a plain loop

// The coefficient of index `i` in a position; NULL if the position is not linear in it.
static const Dim *coefficient(Body *k, int node, int i) {
    DimTable *dims = k->b->core->dims;
    const Node *n = &k->comp->nodes.data[node];
    const Dim *zero = dim_const(dims, 0);
    if (++k->work > WORK_LIMIT)
        return NULL;
    if (n->op == N_INDEX)
        return dim_const(dims, n->index == i && !dim_is_one(k->extents[i]));
    if (n->op == N_CONST || n->op == N_DIM)
        return zero;
    if (n->op == N_READ) {
        for (int r = 0; r < n->read_count; r++) {
            if (coefficient(k, n->reads[r], i) != zero)
                return NULL;
        }
        return zero;
    }
    const Dim *c[3] = {zero, zero, zero};
    for (int a = 0; a < node_args(n->op); a++) {
        c[a] = coefficient(k, n->args[a], i);
        if (!c[a])
            return NULL;
    }
    if (n->op == N_ADD)
        return dim_add(dims, c[0], c[1]);
    if (n->op == N_SUB)
        return dim_sub(dims, c[0], c[1]);
    if (c[0] == zero && c[1] == zero && c[2] == zero)
        return zero;
    for (int a = 0; a < 2 && n->op == N_MUL; a++) {
        const Node *factor = &k->comp->nodes.data[n->args[1 - a]];
        if (factor->op == N_DIM)
            return dim_mul(dims, c[a], loop_dim(k->b->module, factor->dim));
        if (factor->op == N_CONST)
            return dim_mul(dims, c[a], dim_const(dims, factor->i));
    }
    return NULL;
}

// The coefficient of index `i` in the element number that a read node reads.
static const Dim *stride(Body *k, int read, int i) {
    DimTable *dims = k->b->core->dims;
    const Node *n = &k->comp->nodes.data[read];
    const CoreType *t = core_value(k->b->fn, k->value->args.data[n->index])->type;
    const Dim *sum = dim_const(dims, 0), *size = dim_const(dims, 1);
    for (int axis = t->rank - 1; axis >= 0; axis--) {
        const Dim *extent = loop_dim(k->b->module, t->dims[axis]);
        const Dim *c = dim_is_one(extent) ? dim_const(dims, 0) : coefficient(k, n->reads[axis], i);
        if (!c)
            return NULL;
        sum = dim_add(dims, sum, dim_mul(dims, c, size));
        size = dim_mul(dims, size, extent);
    }
    return dim_valid(sum) ? sum : NULL;
}

// Several reduction indices are one if each steps over the next one's whole range. The stride of
// that one; NULL if they are not.
static const Dim *reduction_stride(Body *k, int read) {
    DimTable *dims = k->b->core->dims;
    const Comp *c = k->comp;
    const Dim *last = NULL, *next = NULL;
    for (int i = c->out + c->red - 1; i >= c->out; i--) {
        if (dim_is_one(k->extents[i]))
            continue;
        const Dim *s = stride(k, read, i);
        if (!s || (next && s != next))
            return NULL;
        last = last ? last : s;
        next = dim_mul(dims, s, k->extents[i]);
    }
    return last ? last : dim_const(dims, 1);
}

static const Dim *reduction_size(const Body *k) {
    DimTable *dims = k->b->core->dims;
    const Dim *n = dim_const(dims, 1);
    for (int i = k->comp->out; i < k->comp->out + k->comp->red; i++)
        n = dim_mul(dims, n, k->extents[i]);
    return n;
}

// The two reads whose product is summed: f32, or bf16 in pairs. False if it is something else.
static bool factors(const Body *k, int reads[2]) {
    const Comp *c = k->comp;
    const Node *root = &c->nodes.data[c->root];
    if (c->reduction != RED_SUM || (c->step != STEP_FMA && c->step != STEP_PAIRS))
        return false;
    bool pairs = c->step == STEP_PAIRS;
    for (int a = 0; a < 2; a++) {
        const Node *n = &c->nodes.data[root->args[a]];
        reads[a] = root->args[a];
        if (pairs && n->op == N_CAST) {
            reads[a] = n->args[0];
            n = &c->nodes.data[reads[a]];
        }
        if (n->op != N_READ || n->read_count == 0 || n->dtype != (pairs ? DT_BF16 : DT_F32))
            return false;
    }
    return true;
}

static bool is_zero(const Dim *d) {
    int64_t v;
    return d && dim_is_const(d, &v) && v == 0;
}

// Steps forwards: what a kernel takes between rows.
static bool is_step(const Body *k, const Dim *d) {
    int64_t lo, hi;
    return !is_zero(d) && dim_range(k->b->module, d, &lo, &hi) && lo >= 0;
}

// ---- Kernels' arguments ------------------------------------------------------------------------

// Builds the positions of the reads with the indices as they are now.
static void build_positions(Body *k, int count, const int *reads) {
    for (int r = 0; r < count; r++) {
        const Node *n = &k->comp->nodes.data[reads[r]];
        k->always[reads[r]] = true;
        body_build(k, n->read_count, n->reads);
    }
}

static const Expr *read_pointer(Body *k, int read) {
    const Node *n = &k->comp->nodes.data[read];
    const Expr *base = argument(k->b, k->value->args.data[n->index]);
    const Expr *at = read_offset(k, read);
    if (x_is_int(at, NULL) && at->i == 0)
        return base;
    return x_binary(k->b->arena, X_ADD, base->type, base, at);
}

// A sum over one row, or of products of two rows: one call, at the point of the output indices.
const Expr *build_dot(Body *k) {
    LoopModule *m = k->b->module;
    const Comp *c = k->comp;
    const Node *root = &c->nodes.data[c->root];
    int reads[2], count = 2;
    if (c->reduction == RED_SUM && c->step == STEP_ADD && root->op == N_READ && root->read_count &&
        root->dtype == DT_F32) {
        reads[0] = c->root;
        count = 1;
    } else if (!factors(k, reads)) {
        return NULL;
    }
    for (int r = 0; r < count; r++) {
        const Dim *s = reduction_stride(k, reads[r]);
        if (!s || !dim_is_one(s))
            return NULL;
    }
    build_positions(k, count, reads);
    const Expr *args[3];
    for (int r = 0; r < count; r++)
        args[r] = read_pointer(k, reads[r]);
    args[count] = dim_expr(k->b, reduction_size(k));
    const char *name = count == 1 ? "rt_sum" : c->step == STEP_PAIRS ? "rt_dot_bf16" : "rt_dot";
    return x_call(m, name, loop_scalar(DT_F32), count + 1, args);
}

// What a kernel is called with.
typedef struct {
    int x, w;        // reads: rows of the output's m, of its n
    int n;           // output index of the result's columns
    int first, m;    // those of its rows: `first` to m, adjacent in memory; m is -1 if there is one
    const Dim *rows; // how many rows: the product of their extents
    const Dim *ldx;  // elements from row to row
    const Dim *ldw;  // likewise
    bool nn;         // w is read along n, not along the reduction
} Product;

// The stride of x along an output index that only x has; NULL if w has it too.
static const Dim *row_stride(Body *k, const Product *p, int i) {
    const Dim *x = stride(k, p->x, i), *w = stride(k, p->w, i);
    return x && w && is_zero(w) && is_step(k, x) ? x : NULL;
}

// Picks the output index that only x has, as near to n as can be, and those before it that go on
// where it ends: batch and position are the rows of one product.
static void pick_rows(Body *k, Product *p) {
    DimTable *dims = k->b->core->dims;
    p->rows = dim_const(dims, 1);
    p->ldx = reduction_size(k);
    for (p->m = p->n - 1; p->m >= 0; p->m--) {
        if (!dim_is_one(k->extents[p->m]) && row_stride(k, p, p->m))
            break;
    }
    p->first = p->m;
    if (p->m < 0)
        return;
    p->rows = k->extents[p->m];
    p->ldx = row_stride(k, p, p->m);
    for (int i = p->m - 1; i >= 0; i--) {
        if (dim_is_one(k->extents[i]))
            continue;
        if (row_stride(k, p, i) != dim_mul(dims, p->ldx, p->rows))
            break;
        p->first = i;
        p->rows = dim_mul(dims, p->rows, k->extents[i]);
    }
}

static bool find_product(Body *k, Product *p) {
    const Comp *c = k->comp;
    int reads[2];
    if (!factors(k, reads) || (k->value->type->dtype != DT_F32))
        return false;
    for (p->n = c->out - 1; p->n >= 0 && dim_is_one(k->extents[p->n]);)
        p->n--;
    if (p->n < 0)
        return false;
    for (int side = 0; side < 2; side++) {
        p->x = reads[side];
        p->w = reads[1 - side];
        const Dim *xn = stride(k, p->x, p->n), *wn = stride(k, p->w, p->n);
        const Dim *xk = reduction_stride(k, p->x), *wk = reduction_stride(k, p->w);
        if (!xn || !wn || !xk || !wk || !is_zero(xn) || !is_step(k, wn) || !dim_is_one(xk))
            continue;
        p->nn = !dim_is_one(wk);
        if (p->nn && (!dim_is_one(wn) || c->step == STEP_PAIRS || !is_step(k, wk)))
            continue;
        p->ldw = p->nn ? wk : wn;
        pick_rows(k, p);
        return true;
    }
    return false;
}

// Elements from row to row of the result.
static const Dim *result_stride(const Body *k, int m) {
    const Dim *n = dim_const(k->b->core->dims, 1);
    for (int i = (m < 0 ? 0 : m) + 1; i < k->comp->out; i++)
        n = dim_mul(k->b->core->dims, n, k->extents[i]);
    return n;
}

static void emit_product(Body *k, const Product *p, const Expr *target) {
    FnBuild *b = k->b;
    LoopModule *m = b->module;
    bool pairs = k->comp->step == STEP_PAIRS;
    int reads[] = {p->x, p->w};
    build_positions(k, 2, reads);
    const Expr *y = flat_index(b, k->value->type, k->index);
    const Expr *pool = x_field(
        b->arena,
        x_unary(b->arena, X_ADDRESS, (LoopType){0}, x_name(b->arena, "work", (LoopType){0})),
        "pool", (LoopType){0});
    const Expr *rows[] = {read_pointer(k, p->w), dim_expr(b, p->ldw)};
    bool wrap = !p->nn && !pairs; // f32 rows may come from a loader
    const Expr *args[10] = {pool,
                            dim_expr(b, p->rows),
                            dim_expr(b, k->extents[p->n]),
                            dim_expr(b, reduction_size(k)),
                            read_pointer(k, p->x),
                            dim_expr(b, p->ldx)};
    int n = 6;
    if (wrap) {
        args[n++] = x_call(m, "rows", (LoopType){0}, 2, rows);
    } else {
        args[n++] = rows[0];
        args[n++] = rows[1];
    }
    args[n++] = x_is_int(y, NULL) && y->i == 0 ? target
                                               : x_binary(b->arena, X_ADD, target->type, target, y);
    args[n++] = dim_expr(b, p->m < 0 ? k->extents[p->n] : result_stride(k, p->m));
    const char *name = p->nn ? "rt_matmul_nn" : pairs ? "rt_matmul_nt_bf16" : "rt_matmul_nt";
    emit(b, S_DO)->value = x_call(m, name, (LoopType){0}, n, args);
    b->out->uses_work = true;
}

bool build_contraction(FnBuild *b, const Value *v, const Expr *target) {
    Body *k = body_new(b, v);
    Product p;
    if (v->type->rank == 0 || !find_product(k, &p))
        return false;
    int mark = names_mark(b->names), out = v->comp->out;
    k->list = b->list;
    Stmts *bodies = NEW_N(b->arena, Stmts, out), **outer = NEW_N(b->arena, Stmts *, out);
    for (int i = 0; i < out; i++) {
        if ((i >= p.first && i <= p.m) || i == p.n || dim_is_one(k->extents[i]))
            continue;
        k->index[i] = open_index(b, v->comp, i);
        outer[i] = b->list;
        b->list = &bodies[i];
    }
    bool loops = k->list != b->list;
    k->list = b->list;
    emit_product(k, &p, target);
    for (int i = out - 1; i >= 0; i--) {
        if (outer[i])
            close_loop(b, outer[i], k->index[i], k->extents[i]);
    }
    if (loops)
        names_release(b->names, mark);
    return true;
}
