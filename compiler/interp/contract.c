// Contractions by the matrix kernels, whose sums have the same order as any other. The indices of
// the result are sorted into m (in one factor), n (in the other) and batch (in both); runs of m and
// of n that lie evenly become the sides of one product, everything else is a loop around it.
// Strides of the reduction decide between rows by rows (nt) and rows by columns (nn).
#include "interp/contract.h"
#include "runtime/kernels.h"
#include <stdatomic.h>
#include <string.h>

// Indices that lie evenly in all that they address: one side of a product, or a loop around it.
typedef struct {
    int64_t extent;
    int64_t out;                       // elements from one to the next in the result
    int64_t off[2];                    // in the operands
    int64_t row[2];                    // in mapped rows of the operands
    int64_t table[2][CONTRACT_TABLES]; // in the tables of the operands
} Group;

typedef struct {
    const Contract *c;
    int x, w;                 // which operand gives the rows of the result, and which the columns
    bool nn;                  // the columns of w are contiguous, not its rows
    bool staged;              // results go to `stage` first
    Group m, n;               // sides of the product
    Group loops[JOB_INDICES]; // around it
    int loop_count;
    int64_t points; // of the loops
    int64_t stride; // of w along the reduction (nn)
    RtPool *pool;   // for the kernel
    float *y;       // the result, or the stage: points * m * n
    Dtype dtype;    // of the result
    void *out;      // the result
} Product;

// ---- Groups ------------------------------------------------------------------------------------

static Group group_of(const Contract *c, int k, const int64_t *out_step) {
    Group g = {.extent = c->job->extent[k], .out = out_step[k]};
    for (int o = 0; o < 2; o++) {
        g.off[o] = c->ops[o].off.step[k];
        g.row[o] = c->ops[o].row.step[k];
        for (int t = 0; t < c->ops[o].table_count; t++)
            g.table[o][t] = c->ops[o].tables[t].at.step[k];
    }
    return g;
}

// Two groups of one side as one, if the outer continues the inner one everywhere.
static bool group_merge(Group *outer, const Group *inner) {
    bool even = outer->out == inner->out * inner->extent;
    for (int o = 0; o < 2; o++) {
        even &= outer->off[o] == inner->off[o] * inner->extent;
        even &= outer->row[o] == inner->row[o] * inner->extent;
    }
    if (!even)
        return false;
    int64_t extent = outer->extent * inner->extent;
    *outer = *inner;
    outer->extent = extent;
    return true;
}

// The groups of a mask of indices; the one to be a side of the product comes last: the one
// contiguous in the result if there is one, else the longest.
static int side_groups(const Contract *c, uint32_t mask, const int64_t *out_step, Group *groups) {
    int count = 0, best = 0;
    for (int k = 0; k < c->job->out; k++) {
        if (!(mask >> k & 1))
            continue;
        Group g = group_of(c, k, out_step);
        if (count == 0 || !group_merge(&groups[count - 1], &g))
            groups[count++] = g;
    }
    if (count == 0)
        groups[count++] = (Group){.extent = 1, .out = 1};
    for (int i = 1; i < count; i++) {
        bool unit = groups[i].out == 1, best_unit = groups[best].out == 1;
        if (unit > best_unit || (unit == best_unit && groups[i].extent > groups[best].extent))
            best = i;
    }
    Group last = groups[best];
    groups[best] = groups[count - 1];
    groups[count - 1] = last;
    return count;
}

// ---- Choosing the product ----------------------------------------------------------------------

// Sorts the indices with operand x as the rows. False if the kernels can't do it this way round.
static bool product_shape(Product *p, const Contract *c, int x, const int64_t *out_step) {
    Group groups[JOB_INDICES + 1];
    int64_t sx = 1, sw = 1;
    int w = 1 - x;
    bool strides = operand_stride(c, &c->ops[x], &sx) && operand_stride(c, &c->ops[w], &sw);
    memset(p, 0, sizeof *p);
    p->c = c;
    p->x = x;
    p->w = w;
    p->stride = sw;
    p->points = 1;
    if (!strides || sx != 1 || !operand_is_plain(c, &c->ops[x]))
        return false;
    int count = side_groups(c, c->only[x], out_step, groups);
    p->m = groups[--count];
    for (int i = 0; i < count; i++)
        p->loops[p->loop_count++] = groups[i];
    count = side_groups(c, c->only[w], out_step, groups);
    p->n = groups[--count];
    for (int i = 0; i < count; i++)
        p->loops[p->loop_count++] = groups[i];
    for (int k = 0; k < c->job->out; k++) {
        if (c->both >> k & 1)
            p->loops[p->loop_count++] = group_of(c, k, out_step);
    }
    for (int i = 0; i < p->loop_count; i++)
        p->points *= p->loops[i].extent;
    bool plain = operand_is_plain(c, &c->ops[w]);
    if (sw != 1)
        p->nn = plain && !c->pairs && (p->n.off[w] == 1 || p->n.extent == 1);
    // bf16 pairs have no loader.
    return sw == 1 ? plain || !c->pairs : p->nn;
}

// Of the two ways round, the one that writes the result in place.
static bool product_choose(Product *p, const Contract *c, const int64_t *out_step) {
    Product other;
    bool one = product_shape(p, c, 0, out_step), two = product_shape(&other, c, 1, out_step);
    bool one_direct = one && (p->n.out == 1 || p->n.extent == 1);
    bool two_direct = two && (other.n.out == 1 || other.n.extent == 1);
    // Of two that do, the one with the longer side that is vectorised.
    if (two && (!one || (two_direct && !one_direct) ||
                (two_direct == one_direct && other.n.extent > p->n.extent)))
        *p = other;
    return one || two;
}

// ---- Running -----------------------------------------------------------------------------------

// Rows of an operand in any storage.
typedef struct {
    const Operand *op;
    int64_t first;     // element where row 0 begins
    int64_t first_row; // mapped row of row 0
    const Group *side;
    int which;
    uint64_t k; // elements of a row
} Loader;

static void load_row(const void *ctx, size_t row, float *out) {
    const Loader *l = ctx;
    int64_t at = l->first + (int64_t)row * l->side->off[l->which];
    if (l->op->mapped) {
        int64_t logical = l->first_row + (int64_t)row * l->side->row[l->which];
        at += l->op->tensor->rows[logical] * l->op->row_step;
    }
    rt_format_row(l->op->format, l->op->tensor->data, (uint64_t)at, l->k, out);
}

// Offsets of one point of the loops.
typedef struct {
    int64_t out, off[2], row[2];
} Place;

static Place place_of(const Product *p, int64_t point) {
    Place at = {0};
    int64_t index[2][CONTRACT_TABLES] = {{0}};
    for (int o = 0; o < 2; o++) {
        at.off[o] = p->c->ops[o].off.base;
        at.row[o] = p->c->ops[o].row.base;
    }
    for (int i = p->loop_count; i-- > 0;) {
        const Group *g = &p->loops[i];
        int64_t v = point % g->extent;
        point /= g->extent;
        at.out += v * g->out;
        for (int o = 0; o < 2; o++) {
            at.off[o] += v * g->off[o];
            at.row[o] += v * g->row[o];
            for (int t = 0; t < p->c->ops[o].table_count; t++)
                index[o][t] += v * g->table[o][t];
        }
    }
    for (int o = 0; o < 2; o++) {
        for (int t = 0; t < p->c->ops[o].table_count; t++)
            at.off[o] += p->c->ops[o].tables[t].values[index[o][t]];
    }
    return at;
}

static bool multiply(const Product *p, RtPool *pool, const Place *at, float *y, size_t ldy) {
    const Operand *x = &p->c->ops[p->x], *w = &p->c->ops[p->w];
    size_t m = (size_t)p->m.extent, n = (size_t)p->n.extent, k = (size_t)p->c->k;
    size_t ldx = (size_t)p->m.off[p->x], ldw = (size_t)p->n.off[p->w];
    if (p->c->pairs) {
        const uint16_t *a = (const uint16_t *)x->tensor->data + at->off[p->x];
        const uint16_t *b = (const uint16_t *)w->tensor->data + at->off[p->w];
        rt_matmul_nt_bf16(pool, m, n, k, a, ldx, b, ldw, y, ldy);
        return true;
    }
    const float *a = (const float *)x->tensor->data + at->off[p->x];
    if (!operand_is_plain(p->c, w)) {
        Loader l = {w, at->off[p->w], at->row[p->w], &p->n, p->w, k};
        RtRows rows = {.load = load_row, .ctx = &l};
        return rt_matmul_nt(pool, m, n, k, a, ldx, rows, y, ldy);
    }
    const float *b = (const float *)w->tensor->data + at->off[p->w];
    if (p->nn) {
        rt_matmul_nn(pool, m, n, k, a, ldx, b, (size_t)p->stride, y, ldy);
        return true;
    }
    RtRows rows = {.data = b, .stride = ldw};
    return rt_matmul_nt(pool, m, n, k, a, ldx, rows, y, ldy);
}

static bool run_point(const Product *p, RtPool *pool, int64_t point) {
    Place at = place_of(p, point);
    if (!p->staged)
        return multiply(p, pool, &at, p->y + at.out, (size_t)p->m.out);
    int64_t m = p->m.extent, n = p->n.extent;
    float *y = p->y + point * m * n;
    if (!multiply(p, pool, &at, y, (size_t)n))
        return false;
    for (int64_t i = 0; i < m; i++) {
        for (int64_t k = 0; k < n; k += 1 << 30)
            vec_store(p->dtype, p->out, at.out + i * p->m.out + k * p->n.out, p->n.out,
                      (int)(n - k < 1 << 30 ? n - k : 1 << 30), y + i * n + k);
    }
    return true;
}

typedef struct {
    const Product *product;
    atomic_bool failed; // a kernel had no memory
} Points;

static void point_task(void *ctx, size_t point) {
    Points *p = ctx;
    if (!run_point(p->product, NULL, (int64_t)point))
        atomic_store(&p->failed, true);
}

static bool product_run(Product *p, const Slot *out, Slot *stage) {
    Interp *it = p->c->job->it;
    Points points = {.product = p};
    int64_t count = tensor_count(&out->t);
    p->dtype = out->t.dtype;
    p->out = out->buffer->data;
    p->y = p->out;
    p->staged = p->dtype != DT_F32 || (p->n.out != 1 && p->n.extent > 1);
    if (p->staged) {
        if (!tensor_new(it, DT_F32, 1, &count, stage))
            return false;
        p->y = stage->buffer->data;
    }
    if (p->c->job->dry)
        return true;
    double work = (double)p->m.extent * (double)p->n.extent * (double)p->c->k;
    int threads = rt_pool_threads(it->pool);
    if (threads > 1 && p->points >= 2 * threads && work < 4e6 && work * (double)p->points > 1e5) {
        rt_pool_run(it->pool, point_task, &points, (size_t)p->points);
    } else {
        for (int64_t i = 0; i < p->points && !atomic_load(&points.failed); i++)
            atomic_store(&points.failed, !run_point(p, it->pool, i));
    }
    return !atomic_load(&points.failed) || run_fail(it, "no memory for the rows of a matrix");
}

// ---- Recognising -------------------------------------------------------------------------------

// Takes off conversions of f16 and bf16 to f32, which change no value.
static int strip(const Job *j, int node, bool pairs) {
    const Node *n = job_node(j, node);
    if (n->op != N_CAST || n->dtype != DT_F32)
        return node;
    Dtype from = job_node(j, n->args[0])->dtype;
    return from == DT_BF16 || (from == DT_F16 && !pairs) ? n->args[0] : node;
}

static bool contract_sort(Contract *c) {
    const Job *j = c->job;
    c->size[0] = c->size[1] = c->batches = c->k = 1;
    for (int k = 0; k < j->out; k++) {
        bool in[2] = {j->masks[c->factors[0]] >> k & 1, j->masks[c->factors[1]] >> k & 1};
        if (j->extent[k] <= 1)
            continue;
        if (!in[0] && !in[1])
            return false;
        if (in[0] && in[1]) {
            c->both |= (uint32_t)1 << k;
            c->batches *= j->extent[k];
        } else {
            c->only[in[1]] |= (uint32_t)1 << k;
            c->size[in[1]] *= j->extent[k];
        }
    }
    for (int k = j->out; k < j->count; k++)
        c->k *= j->extent[k];
    return c->k > 0;
}

static bool operand_is_good(const Contract *c, const Operand *op) {
    int64_t stride;
    return operand_is_plain(c, op) && operand_stride(c, op, &stride) && stride == 1;
}

// Copies pay where each element is used several times. What can't be used as it lies is copied.
static bool contract_operands(Contract *c, const int64_t *out_step, Product *p, bool *ok) {
    *ok = false;
    if (!operand_find(c, 0) || !operand_find(c, 1))
        return false;
    for (int i = 0; i < 2; i++) {
        if (!c->direct[i] && c->size[1 - i] < 8)
            return true;
        if (!c->direct[i] && !operand_copy(c, i))
            return false;
    }
    *ok = product_choose(p, c, out_step);
    // Neither way round fits: copy what does not lie as it must, the shorter one first.
    int first = c->size[0] > c->size[1];
    for (int i = 0; i < 2 && !*ok; i++) {
        int o = i ? 1 - first : first;
        if (c->size[1 - o] < 8 || c->copies[o].buffer || operand_is_good(c, &c->ops[o]))
            continue;
        if (!operand_copy(c, o))
            return false;
        *ok = product_choose(p, c, out_step);
    }
    return true;
}

bool contract_run(Job *j, const Slot *out, bool *done) {
    const Comp *comp = j->comp;
    const Node *root = job_node(j, comp->root);
    Contract c = {.job = j, .pairs = comp->step == STEP_PAIRS};
    Product p;
    Slot stage = {0};
    int64_t out_step[CORE_MAX_RANK];
    *done = false;
    if (comp->reduction != RED_SUM || (comp->step != STEP_FMA && !c.pairs) || root->op != N_MUL ||
        root->dtype == DT_F64)
        return true;
    c.factors[0] = strip(j, root->args[0], c.pairs);
    c.factors[1] = strip(j, root->args[1], c.pairs);
    // Small products are not worth the setting up.
    if (!contract_sort(&c) || c.size[0] * c.size[1] < 4 || c.k < 4 ||
        (double)c.size[0] * (double)c.size[1] * (double)c.k < 256)
        return true;
    job_strides(&out->t, out_step);
    bool ok = contract_operands(&c, out_step, &p, done);
    if (ok && *done)
        ok = product_run(&p, out, &stage);
    slot_drop(j->it, &stage);
    slot_drop(j->it, &c.copies[0]);
    slot_drop(j->it, &c.copies[1]);
    return ok;
}
