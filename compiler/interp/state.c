// Views of items of a tensor, and states: memory of the caller that `write` changes in place.
#include "interp/run.h"
#include <string.h>

bool tensor_pick(Interp *it, const Slot *from, int64_t i, Slot *out) {
    const Tensor *t = &from->t;
    if (t->rank < 1 || i < 0 || i >= t->dims[0])
        return run_fail(it, "item %lld of a tensor of %lld", (long long)i,
                        (long long)(t->rank ? t->dims[0] : 0));
    if (!slot_copy(it, out, from))
        return false;
    int64_t size = tensor_count(t) / t->dims[0], block = 1, bytes = dtype_size(t->dtype);
    if (t->dtype == DT_F32) {
        block = rt_format_block(t->format);
        bytes = rt_format_block_bytes(t->format);
    }
    if (size % block) { // an item begins within a block
        if (!job_plain(it, out))
            return false;
        block = 1;
        bytes = sizeof(float);
    } else if (t->rows) {
        i = t->rows[i];
    }
    Tensor *view = &out->t;
    view->rows = NULL;
    view->rank = t->rank - 1;
    memmove(view->dims, view->dims + 1, sizeof view->dims - sizeof view->dims[0]);
    if (view->data)
        view->data = (const char *)view->data + size / block * i * bytes;
    return true;
}

// Do two tensors share memory?
static bool overlap(const Tensor *a, const Tensor *b) {
    uintptr_t x = (uintptr_t)a->data, y = (uintptr_t)b->data;
    uintptr_t nx = (uintptr_t)tensor_count(a) * (uintptr_t)dtype_size(a->dtype);
    uintptr_t ny = (uintptr_t)tensor_count(b) * (uintptr_t)dtype_size(b->dtype);
    return x < y + ny && y < x + nx;
}

static void write_rows(const Tensor *state, const Tensor *rows, const int32_t *pos) {
    int64_t batch = state->dims[0], room = state->dims[1], count = rows->dims[1];
    size_t bytes = (size_t)dtype_size(state->dtype);
    for (int k = 2; k < state->rank; k++)
        bytes *= (size_t)state->dims[k];
    for (int64_t b = 0; b < batch; b++) {
        for (int64_t c = 0; c < count; c++) {
            int64_t at = pos[b] + c;
            if (at < 0 || at >= room)
                continue;
            // The one place that writes to what a Tensor points to: memory that the caller gave for
            // it.
            char *to = (char *)(uintptr_t)state->data + (size_t)(b * room + at) * bytes;
            memcpy(to, (const char *)rows->data + (size_t)(b * count + c) * bytes, bytes);
        }
    }
}

// ---- States of blocks --------------------------------------------------------------------------

static bool give_state(const Member *m, Slot *out) {
    *out = (Slot){.t = m->tensor, .buffer = m->buffer};
    out->buffer->uses++;
    return true;
}

// A plain value with memory of its own.
static bool own_copy(Interp *it, const Slot *from, Slot *out) {
    if (!tensor_new(it, from->t.dtype, from->t.rank, from->t.dims, out))
        return false;
    size_t bytes = (size_t)(tensor_count(&from->t) * dtype_size(from->t.dtype));
    if (bytes && !it->dry)
        memcpy(out->buffer->data, from->t.data, bytes);
    return true;
}

// The value is copied to the state's memory, which stays where it is from call to call. Nothing
// that is used later shows what was there: core_copy_states has made copies of that.
bool state_assign(Interp *it, Member *m, const Slot *value, Slot *out) {
    Slot x = {0};
    bool ok = slot_copy(it, &x, value) && job_plain(it, &x);
    for (int i = 0; ok && i < x.t.rank; i++) {
        if (x.t.dims[i] != m->tensor.dims[i])
            ok = run_fail(it, "a state is given a value of another shape");
    }
    size_t bytes = ok ? (size_t)(tensor_count(&x.t) * dtype_size(x.t.dtype)) : 0;
    if (bytes && !it->dry && x.t.data != m->buffer->data)
        memcpy(m->buffer->data, x.t.data, bytes);
    slot_drop(it, &x);
    return ok && give_state(m, out);
}

static void place_rows(const Tensor *state, void *to, const Tensor *x, const int32_t *rows,
                       const int32_t *pos) {
    int64_t heads = state->dims[1], room = state->dims[2], count = x->dims[2];
    size_t bytes = (size_t)dtype_size(state->dtype);
    for (int k = 3; k < state->rank; k++)
        bytes *= (size_t)state->dims[k];
    for (int64_t m = 0; m < x->dims[0]; m++) {
        int64_t first = pos[m] < 0 ? -(int64_t)pos[m] : 0, last = room - pos[m];
        if (rows[m] < 0 || rows[m] >= state->dims[0])
            continue;
        last = last < count ? last : count;
        for (int64_t h = 0; h < heads && first < last; h++) {
            char *at = (char *)to + (size_t)((rows[m] * heads + h) * room + pos[m] + first) * bytes;
            const char *from =
                (const char *)x->data + (size_t)((m * heads + h) * count + first) * bytes;
            memcpy(at, from, (size_t)(last - first) * bytes);
        }
    }
}

bool state_place(Interp *it, Member *m, const Slot *const *args, Slot *out) {
    Slot x = {0}, own;
    if (!slot_copy(it, &x, args[1]) || !job_plain(it, &x)) {
        slot_drop(it, &x);
        return false;
    }
    if (m->buffer->uses > 1) { // somebody else holds the contents, perhaps x
        Slot now = {.t = m->tensor, .buffer = m->buffer};
        if (!own_copy(it, &now, &own)) {
            slot_drop(it, &x);
            return false;
        }
        buffer_drop(it, m->buffer);
        m->tensor = own.t;
        m->buffer = own.buffer;
        m->buffer->state = true;
    }
    if (tensor_count(&x.t) && tensor_count(&m->tensor) && !it->dry)
        place_rows(&m->tensor, m->buffer->data, &x.t, args[2]->t.data, args[3]->t.data);
    slot_drop(it, &x);
    return give_state(m, out);
}

// ---- States of functions -----------------------------------------------------------------------

bool state_write(Interp *it, const Slot *state, const Slot *rows, const Slot *pos, Slot *out) {
    Slot copy = {0};
    if (!state->writable)
        return run_fail(it, "a write to a tensor that is no state");
    bool ok = slot_copy(it, &copy, rows) && job_plain(it, &copy);
    if (ok && overlap(&state->t, &copy.t)) {
        Slot apart;
        ok = tensor_new(it, copy.t.dtype, copy.t.rank, copy.t.dims, &apart);
        if (ok) {
            size_t bytes = (size_t)tensor_count(&copy.t) * (size_t)dtype_size(copy.t.dtype);
            if (!it->dry)
                memcpy(apart.buffer->data, copy.t.data, bytes);
            slot_drop(it, &copy);
            copy = apart;
        }
    }
    if (ok && tensor_count(&copy.t) && tensor_count(&state->t) && !it->dry)
        write_rows(&state->t, &copy.t, pos->t.data);
    slot_drop(it, &copy);
    return ok && slot_copy(it, out, state);
}
