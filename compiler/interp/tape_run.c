// Running a tape: operations over the current block, and the reads that no address may escape.
#include "interp/load.h"
#include "interp/tape.h"
#include <string.h>

// The form at the frame's indices; wraps like the arithmetic it stands for.
static int64_t form_at(const Frame *f, const Form *form) {
    uint64_t v = (uint64_t)form->base;
    for (int k = 0; k < f->job->count; k++)
        v += (uint64_t)form->step[k] * (uint64_t)f->index[k];
    return (int64_t)v;
}

static int64_t clamp(int64_t p, int64_t extent) {
    return p < 0 ? 0 : p >= extent ? extent - 1 : p;
}

static int64_t row_of(const Tensor *t, int axis, int64_t p) {
    return t->rows && axis == 0 ? t->rows[p] : p;
}

// Adds the offsets of positions p, p + step, ..., each clamped.
static void add_positions(const Frame *f, const Load *l, int axis, int64_t p, int64_t step, int n) {
    const Axis *x = &l->axes[axis];
    for (int i = 0; i < n; i++) {
        int64_t at = (int64_t)((uint64_t)p + (uint64_t)step * (uint64_t)i);
        f->offsets[i] += row_of(l->tensor, axis, clamp(at, x->extent)) * x->stride;
    }
}

static void add_gathered(const Frame *f, const Load *l, int axis, const int64_t *at, int n) {
    const Axis *x = &l->axes[axis];
    for (int i = 0; i < n; i++)
        f->offsets[i] += row_of(l->tensor, axis, clamp(at[i], x->extent)) * x->stride;
}

// Are p, p + step, ... all on the axis, one row after the other?
static bool all_inside(const Load *l, int axis, int64_t p, int64_t step, int n) {
    int64_t reach, end, extent = l->axes[axis].extent;
    if (l->tensor->rows && axis == 0 && step)
        return false;
    if (__builtin_mul_overflow(step, (int64_t)n - 1, &reach) ||
        __builtin_add_overflow(p, reach, &end))
        return false;
    return p >= 0 && p < extent && end >= 0 && end < extent;
}

// Reads with positions that are looked at here: those of a block lie on a line where they are
// affine and inside, else each is clamped.
static void load_checked(const Frame *f, const Load *l, int vector, int n, void *dst) {
    int64_t offset = 0, stride = 0, start[CORE_MAX_RANK], step[CORE_MAX_RANK];
    bool each[CORE_MAX_RANK], gather = false;
    for (int k = 0; k < l->rank; k++) {
        const Axis *x = &l->axes[k];
        const int64_t *reg = x->affine ? NULL : frame_value(f, x->reg);
        start[k] = x->affine ? form_at(f, &x->form) : reg[0];
        step[k] = x->affine && n > 1 ? x->form.step[vector] : 0;
        each[k] = reg && x->vector && n > 1;
        if (!each[k] && step[k] == 0)
            start[k] = clamp(start[k], x->extent);
        each[k] |= !all_inside(l, k, start[k], step[k], n);
        gather |= each[k];
        if (!each[k]) {
            offset += row_of(l->tensor, k, start[k]) * x->stride;
            stride += step[k] * x->stride;
        }
    }
    if (!gather) {
        load_run(l->tensor, offset, stride, n, dst);
        return;
    }
    for (int i = 0; i < n; i++)
        f->offsets[i] = offset + i * stride;
    for (int k = 0; k < l->rank; k++) {
        if (each[k] && l->axes[k].affine)
            add_positions(f, l, k, start[k], step[k], n);
        else if (each[k])
            add_gathered(f, l, k, frame_value(f, l->axes[k].reg), n);
    }
    load_gather(l->tensor, f->offsets, n, dst);
}

static void run_load(const Frame *f, const Instr *in, int n, void *dst) {
    const Load *l = in->load;
    int vector = f->nest->order[f->nest->vector];
    if (l->empty)
        memset(dst, 0, (size_t)n * (size_t)in->size);
    else if (l->linear)
        load_run(l->tensor, form_at(f, &l->offset), l->offset.step[vector], n, dst);
    else
        load_checked(f, l, vector, n, dst);
}

static void run_index(const Frame *f, const Instr *in, int n, void *dst) {
    int64_t *to = dst, from = f->index[in->imm[0]];
    for (int i = 0; i < n; i++)
        to[i] = from + i;
}

static void spread(void *dst, int size, int width) {
    if (size == 1) {
        memset(dst, *(uint8_t *)dst, (size_t)width);
    } else if (size == 4) {
        uint32_t *to = dst, v = to[0];
        for (int i = 1; i < width; i++)
            to[i] = v;
    } else {
        uint64_t *to = dst, v = to[0];
        for (int i = 1; i < width; i++)
            to[i] = v;
    }
}

// Where an argument's block lies.
static const void *alias_of(const Frame *f, const Load *l) {
    return (const char *)l->tensor->data +
           form_at(f, &l->offset) * (int64_t)dtype_size(l->tensor->dtype);
}

void tape_run(Frame *f, int from, int to) {
    const Tape *t = f->tape;
    for (int i = t->starts[from]; i < t->starts[to + 1]; i++) {
        const Instr *in = &t->code[i];
        char *dst = f->registers + (size_t)in->dst * t->register_size;
        int n = in->vector ? f->n : 1;
        f->values[in->dst] = dst;
        switch (in->kind) {
        case INSTR_OP:
            in->fn(dst, frame_value(f, in->args[0]), frame_value(f, in->args[1]),
                   frame_value(f, in->args[2]), n, in->imm);
            break;
        case INSTR_LOAD:
            if (in->load->alias)
                f->values[in->dst] = alias_of(f, in->load);
            else
                run_load(f, in, n, dst);
            break;
        case INSTR_INDEX:
            run_index(f, in, n, dst);
            break;
        case INSTR_CONST:
            memcpy(dst, in->imm, (size_t)in->size);
            break;
        }
        if (in->spread)
            spread(dst, in->size, t->width);
    }
}
