// The factors of a contraction: found where they lie, or copied into rows.
#include "interp/contract.h"
#include <string.h>

bool operand_is_plain(const Contract *c, const Operand *op) {
    return !op->mapped && op->format == (c->pairs ? RT_BF16 : RT_F32);
}

bool operand_stride(const Contract *c, const Operand *op, int64_t *stride) {
    const Job *j = c->job;
    int64_t points = 1;
    *stride = 1;
    for (int k = j->count; k-- > j->out;) {
        if (j->extent[k] <= 1)
            continue;
        if (points == 1)
            *stride = op->off.step[k];
        int64_t expected;
        if (__builtin_mul_overflow(*stride, points, &expected) || op->off.step[k] != expected ||
            (op->mapped && op->row.step[k]))
            return false;
        points *= j->extent[k];
    }
    return *stride >= 0;
}

// The values of a position that depends on batch indices only.
static bool table_make(Contract *c, int node, int64_t extent, int64_t stride, Table *t) {
    Job *j = c->job;
    Sweep s = {.root = node, .reduction = RED_NONE, .step = STEP_PLAIN, .dtype = DT_I64};
    int64_t count = 1;
    memset(t, 0, sizeof *t);
    for (int k = j->out; k-- > 0;) {
        if (j->masks[node] >> k & 1) {
            t->at.step[k] = count;
            count *= j->extent[k];
        }
    }
    for (int k = 0; k < j->out; k++) {
        if (j->masks[node] >> k & 1) {
            s.out_step[s.out_count] = t->at.step[k];
            s.outs[s.out_count++] = k;
        }
    }
    int64_t *values = NEW_N(j->arena, int64_t, count);
    s.data = values;
    t->values = values;
    if (!sweep_run(j, &s))
        return false;
    for (int64_t i = 0; i < count; i++) {
        int64_t p = values[i] < 0 ? 0 : values[i] >= extent ? extent - 1 : values[i];
        values[i] = p * stride;
    }
    return true;
}

static void form_add_scaled(const Job *j, Form *f, const Form *by, int64_t scale) {
    f->base = (int64_t)((uint64_t)f->base + (uint64_t)by->base * (uint64_t)scale);
    for (int k = 0; k < j->count; k++)
        f->step[k] = (int64_t)((uint64_t)f->step[k] + (uint64_t)by->step[k] * (uint64_t)scale);
}

// One axis of a direct operand; *usable becomes false if it can't be one.
static bool operand_axis(Contract *c, Operand *op, int axis, int node, int64_t stride,
                         bool *usable) {
    const Job *j = c->job;
    const Form *f = j->forms[node];
    int64_t extent = op->tensor->dims[axis];
    if (f && job_in_range(j, f, extent)) {
        if (op->tensor->rows && axis == 0) {
            op->mapped = true;
            op->row = *f;
            op->row_step = stride;
        } else {
            form_add_scaled(j, &op->off, f, stride);
        }
        return true;
    }
    *usable = (j->masks[node] & ~c->both) == 0 && op->table_count < CONTRACT_TABLES &&
              !(op->tensor->rows && axis == 0) && c->batches < 1 << 20;
    if (!*usable)
        return true;
    return table_make(c, node, extent, stride, &op->tables[op->table_count++]);
}

// Kernels step forwards only.
static bool steps_forward(const Contract *c, const Operand *op) {
    for (int k = 0; k < c->job->count; k++) {
        bool batch = c->both >> k & 1;
        if (!batch && (op->off.step[k] < 0 || op->row.step[k] < 0))
            return false;
    }
    return true;
}

bool operand_find(Contract *c, int which) {
    const Job *j = c->job;
    const Node *n = job_node(j, c->factors[which]);
    Operand *op = &c->ops[which];
    int64_t strides[CORE_MAX_RANK], stride;
    bool usable = n->op == N_READ;
    memset(op, 0, sizeof *op);
    if (!usable)
        return true;
    op->tensor = j->args[n->index];
    op->format = n->dtype == DT_F16 ? RT_F16 : n->dtype == DT_BF16 ? RT_BF16 : op->tensor->format;
    if (tensor_count(op->tensor) == 0)
        return true;
    job_strides(op->tensor, strides);
    for (int i = 0; i < n->read_count && usable; i++) {
        if (!operand_axis(c, op, i, n->reads[i], strides[i], &usable))
            return false;
    }
    c->direct[which] = usable && steps_forward(c, op) && operand_stride(c, op, &stride);
    return true;
}

bool operand_copy(Contract *c, int which) {
    Job *j = c->job;
    Operand *op = &c->ops[which];
    uint32_t mask = c->only[which] | c->both;
    Sweep s = {.root = c->factors[which], .reduction = RED_NONE, .step = STEP_PLAIN};
    int64_t count = 1;
    s.dtype = c->pairs ? DT_BF16 : DT_F32;
    memset(op, 0, sizeof *op);
    for (int k = j->count; k-- > 0;) {
        if (j->extent[k] > 1 && (k >= j->out || mask >> k & 1)) {
            op->off.step[k] = count;
            count *= j->extent[k];
        }
    }
    for (int k = 0; k < j->count; k++) {
        if (op->off.step[k]) {
            s.out_step[s.out_count] = op->off.step[k];
            s.outs[s.out_count++] = k;
        }
    }
    if (!tensor_new(j->it, s.dtype, 1, &count, &c->copies[which]))
        return false;
    s.data = c->copies[which].buffer->data;
    op->tensor = &c->copies[which].t;
    op->format = c->pairs ? RT_BF16 : RT_F32;
    c->direct[which] = true;
    return sweep_run(j, &s);
}
