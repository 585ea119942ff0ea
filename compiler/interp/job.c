// A comprehension is evaluated in three ways: as a view of its argument, by matrix kernels, or by a
// sweep. This file prepares what all need: numbers for dimensions, affine forms, dependences.
#include "interp/job.h"
#include "interp/load.h"
#include <string.h>

#define WORK_LIMIT ((uint64_t)1 << 56) // points of one comprehension

// ---- Forms -------------------------------------------------------------------------------------

static bool form_scale(Form *f, const Form *a, int64_t by) {
    bool bad = __builtin_mul_overflow(a->base, by, &f->base);
    for (int k = 0; k < JOB_INDICES; k++)
        bad |= __builtin_mul_overflow(a->step[k], by, &f->step[k]);
    return !bad;
}

static bool form_add(Form *f, const Form *a, const Form *b) {
    bool bad = __builtin_add_overflow(a->base, b->base, &f->base);
    for (int k = 0; k < JOB_INDICES; k++)
        bad |= __builtin_add_overflow(a->step[k], b->step[k], &f->step[k]);
    return !bad;
}

static bool form_is_const(const Form *f) {
    for (int k = 0; k < JOB_INDICES; k++) {
        if (f->step[k])
            return false;
    }
    return true;
}

static bool form_binary(NodeOp op, Form *f, const Form *a, const Form *b) {
    Form negated;
    switch (op) {
    case N_ADD:
        return form_add(f, a, b);
    case N_SUB:
        return form_scale(&negated, b, -1) && form_add(f, a, &negated);
    case N_MUL:
        if (form_is_const(a))
            return form_scale(f, b, a->base);
        return form_is_const(b) && form_scale(f, a, b->base);
    default:
        return false;
    }
}

static bool form_of(Job *j, const Node *n, Form *f) {
    const Form *a = NULL, *b = NULL;
    switch (n->op) {
    case N_INDEX:
        f->step[n->index] = j->extent[n->index] > 1;
        return true;
    case N_CONST:
        f->base = n->i;
        return true;
    case N_DIM:
        return run_dim(j->it, n->dim, &f->base);
    case N_NEG:
        a = j->forms[n->args[0]];
        return a && form_scale(f, a, -1);
    case N_ADD:
    case N_SUB:
    case N_MUL:
        a = j->forms[n->args[0]];
        b = j->forms[n->args[1]];
        return a && b && form_binary(n->op, f, a, b);
    default:
        return false;
    }
}

bool job_in_range(const Job *j, const Form *f, int64_t extent) {
    int64_t low = f->base, high = f->base;
    for (int k = 0; k < j->count; k++) {
        int64_t reach;
        if (__builtin_mul_overflow(f->step[k], j->extent[k] ? j->extent[k] - 1 : 0, &reach) ||
            __builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high))
            return false;
    }
    return low >= 0 && high < extent;
}

void job_strides(const Tensor *t, int64_t *strides) {
    int64_t stride = 1;
    for (int i = t->rank; i-- > 0;) {
        strides[i] = stride;
        stride *= t->dims[i] ? t->dims[i] : 1;
    }
}

bool job_linear(const Job *j, const Node *read, Form *offset) {
    const Tensor *t = j->args[read->index];
    int64_t strides[CORE_MAX_RANK];
    job_strides(t, strides);
    memset(offset, 0, sizeof *offset);
    for (int i = 0; i < read->read_count; i++) {
        const Form *f = j->forms[read->reads[i]];
        if (t->rows || !f || !job_in_range(j, f, t->dims[i]))
            return false;
        // In range as a whole, so wrapping in between does not matter.
        uint64_t s = (uint64_t)strides[i];
        offset->base = (int64_t)((uint64_t)offset->base + (uint64_t)f->base * s);
        for (int k = 0; k < j->count; k++)
            offset->step[k] = (int64_t)((uint64_t)offset->step[k] + (uint64_t)f->step[k] * s);
    }
    return true;
}

// ---- Preparing ---------------------------------------------------------------------------------

static uint32_t node_mask(const Job *j, const Node *n) {
    uint32_t mask = 0;
    if (n->op == N_INDEX)
        return j->extent[n->index] > 1 ? (uint32_t)1 << n->index : 0;
    if (n->op == N_READ) {
        for (int i = 0; i < n->read_count; i++)
            mask |= j->masks[n->reads[i]];
        return mask;
    }
    for (int i = 0; i < node_args(n->op); i++)
        mask |= j->masks[n->args[i]];
    return mask;
}

static bool job_forms(Job *j) {
    int count = j->comp->nodes.len;
    j->forms = NEW_N(j->arena, Form *, count);
    j->masks = NEW_N(j->arena, uint32_t, count);
    j->it->error[0] = 0;
    for (int i = 0; i < count; i++) {
        const Node *n = job_node(j, i);
        j->masks[i] = node_mask(j, n);
        if (n->dtype != DT_I64)
            continue;
        Form f = {0};
        if (form_of(j, n, &f)) {
            j->forms[i] = NEW(j->arena, Form);
            *j->forms[i] = f;
        } else if (n->op == N_DIM) {
            return false;
        }
    }
    return true;
}

static bool job_extents(Job *j, const CoreType *type) {
    const Comp *c = j->comp;
    int64_t dims[CORE_MAX_RANK];
    uint64_t work = 1;
    if (c->out + c->red > JOB_INDICES)
        return run_fail(j->it, "a comprehension over more than %d indices", JOB_INDICES);
    if (!run_dims(j->it, type, dims))
        return false;
    j->out = c->out;
    j->red = c->red;
    j->count = c->out + c->red;
    for (int i = 0; i < j->count; i++) {
        int64_t *e = &j->extent[i];
        if (i < c->out)
            *e = dims[i];
        else if (!run_dim(j->it, c->red_dims[i - c->out], e))
            return false;
        if (*e < 0)
            return run_fail(j->it, "a reduction over the negative extent %lld", (long long)*e);
        if (*e && work > WORK_LIMIT / (uint64_t)*e)
            return run_fail(j->it, "a comprehension over too many points");
        work *= *e ? (uint64_t)*e : 1;
    }
    j->extent[JOB_INDICES] = 1;
    return run_spend(j->it, work);
}

// ---- Views -------------------------------------------------------------------------------------

// Does the body read element (i, j, ...) of argument 0, of the same shape and dtype?
static bool is_identity(const Job *j, const CoreType *type) {
    const Node *root = job_node(j, j->comp->root);
    if (root->op != N_READ || root->dtype != type->dtype || root->read_count != j->out || j->red)
        return false;
    const Tensor *t = j->args[root->index];
    for (int i = 0; i < j->out; i++) {
        const Form *f = j->forms[root->reads[i]];
        if (!f || t->dims[i] != j->extent[i] || f->base)
            return false;
        for (int k = 0; k < j->count; k++) {
            if (f->step[k] != (k == i && j->extent[i] > 1))
                return false;
        }
    }
    return true;
}

// Is it of a state, which a write or an assignment changes?
static bool may_change(const Slot *s) {
    return s->writable || (s->buffer && s->buffer->state);
}

static bool job_view(Job *j, const CoreType *type, int arg, const Slot *from, Slot *out) {
    if (!slot_copy(j->it, out, from))
        return false;
    if (out->t.rank == type->rank && arg >= 0 && is_identity(j, type))
        return true;
    if (out->t.rows && !job_plain(j->it, out))
        return false;
    out->t.rank = type->rank;
    memcpy(out->t.dims, j->extent, sizeof(int64_t) * (size_t)type->rank);
    return true;
}

bool job_plain(Interp *it, Slot *s) {
    Tensor *t = &s->t;
    Slot plain;
    if (tensor_is_plain(t))
        return true;
    if (!tensor_new(it, t->dtype, t->rank, t->dims, &plain))
        return false;
    int64_t count = tensor_count(t), rows = t->rows ? t->dims[0] : 1;
    int64_t width = rows ? count / rows : 0;
    uint64_t block[VEC_BLOCK];
    for (int64_t r = 0; r < rows && !it->dry; r++) {
        for (int64_t i = 0; i < width; i += VEC_BLOCK) {
            int n = width - i < VEC_BLOCK ? (int)(width - i) : VEC_BLOCK;
            load_run(t, (t->rows ? t->rows[r] : r) * width + i, 1, n, block);
            vec_store(t->dtype, plain.buffer->data, r * width + i, 1, n, block);
        }
    }
    slot_drop(it, s);
    *s = plain;
    return true;
}

// ---- Running -----------------------------------------------------------------------------------

static Sweep job_sweep(const Job *j, const CoreType *type) {
    Sweep s = {.root = j->comp->root, .reduction = j->comp->reduction, .step = j->comp->step};
    s.dtype = type->dtype;
    s.out_count = j->out;
    for (int i = 0; i < j->out; i++)
        s.outs[i] = i;
    s.red_count = j->red;
    for (int i = 0; i < j->red; i++)
        s.reds[i] = j->out + i;
    return s;
}

static bool job_compute(Job *j, const CoreType *type, const Slot *const *args, Slot *out) {
    bool done = false;
    const Node *root = job_node(j, j->comp->root);
    Sweep sweep = job_sweep(j, type);
    if (j->comp->reshape)
        return job_view(j, type, -1, args[0], out);
    // With lesser extents it may be a sweep, whatever it is now.
    if (j->it->dry && !sweep_plan(j, &sweep))
        return false;
    // Of a state the value now is meant, whatever is written later.
    if (is_identity(j, type) && !may_change(args[root->index])) // else it is a copy
        return job_view(j, type, root->index, args[root->index], out);
    if (!tensor_new(j->it, type->dtype, type->rank, j->extent, out))
        return false;
    if (tensor_count(&out->t) == 0)
        return true;
    if (j->it->mode == INTERP_AUTO && !contract_run(j, out, &done))
        return false;
    sweep.data = out->buffer->data;
    job_strides(&out->t, sweep.out_step);
    return done || sweep_run(j, &sweep);
}

// Scalars of scalars are computed in a dry run too: they may be the number of an item.
static bool is_scalar(const Job *j, const CoreType *type, int nargs, const Slot *const *args) {
    bool scalar = type->rank == 0 && j->comp->red == 0;
    for (int i = 0; i < nargs; i++)
        scalar &= slot_is_known(args[i]);
    return scalar;
}

bool job_run(Interp *it, const CoreFn *fn, const Value *value, int nargs, const Slot *const *args,
             Slot *out) {
    Job j = {.it = it, .arena = arena_new(), .comp = value->comp};
    j.wide = rt_pool_simd(it->pool) >= RT_AVX2;
    j.dry = it->dry && !is_scalar(&j, value->type, nargs, args);
    j.args = NEW_N(j.arena, const Tensor *, nargs);
    for (int i = 0; i < nargs; i++)
        j.args[i] = &args[i]->t;
    bool ok =
        job_extents(&j, value->type) && job_forms(&j) && job_compute(&j, value->type, args, out);
    if (!ok && it->error[0] && strlen(it->error) < 400) {
        char why[400];
        strcpy(why, it->error);
        run_fail(it, "%.100s, value %s: %s", fn->label ? fn->label : fn->name,
                 value->name ? value->name : "(unnamed)", why);
    }
    arena_free(j.arena);
    return ok;
}
