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
            memcpy(apart.buffer->data, copy.t.data, bytes);
            slot_drop(it, &copy);
            copy = apart;
        }
    }
    if (ok && tensor_count(&copy.t) && tensor_count(&state->t))
        write_rows(&state->t, &copy.t, pos->t.data);
    slot_drop(it, &copy);
    return ok && slot_copy(it, out, state);
}
