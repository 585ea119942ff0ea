// Running sums: sequential along one axis, in the dtype; f16 and bf16 are carried in f32 and each
// element is rounded once.
#include "interp/load.h"
#include "interp/run.h"
#include "interp/vec.h"

// Sums of one block of elements in registers, carried on. A register's class wraps by itself only
// where it is as wide as the dtype: vec_fit does the rest for what is stored.
#define SUM(T)                                                                                     \
    do {                                                                                           \
        T *restrict x = values, *restrict at = carry;                                              \
        for (int i = 0; i < n; i++)                                                                \
            x[i] = *at = (T)(*at + x[i]);                                                          \
    } while (0)

static void sum_block(VecClass c, void *values, void *carry, int n) {
    switch (c) {
    case VEC_F32:
        SUM(float);
        break;
    case VEC_F64:
        SUM(double);
        break;
    case VEC_I32: // small integers too; sums wrap
    case VEC_U32:
        SUM(uint32_t);
        break;
    case VEC_I64:
    case VEC_U64:
        SUM(uint64_t);
        break;
    default:
        break;
    }
}

static void sum_line(const Slot *x, Slot *out, int64_t off, int64_t stride, int64_t count) {
    Dtype t = x->t.dtype;
    VecClass c = vec_class(t);
    VecFn *fit = t == DT_F16 || t == DT_BF16 ? NULL : vec_fit(t);
    uint64_t values[VEC_BLOCK], fitted[VEC_BLOCK], carry = 0; // room for any class
    for (int64_t i = 0; i < count; i += VEC_BLOCK) {
        int n = count - i < VEC_BLOCK ? (int)(count - i) : VEC_BLOCK;
        int64_t at = off + i * stride;
        load_run(&x->t, at, stride, n, values);
        sum_block(c, values, &carry, n);
        if (fit)
            fit(fitted, values, NULL, NULL, n, NULL);
        vec_store(t, out->buffer->data, at, stride, n, fit ? fitted : values);
    }
}

bool cumsum_run(Interp *it, const Slot *from, int axis, Slot *out) {
    Slot x = {0};
    if (axis < 0 || axis >= from->t.rank)
        return run_fail(it, "cumsum along axis %d of %d", axis, from->t.rank);
    bool ok = run_spend(it, (uint64_t)tensor_count(&from->t)) && slot_copy(it, &x, from) &&
              job_plain(it, &x) && tensor_new(it, x.t.dtype, x.t.rank, x.t.dims, out);
    if (ok && tensor_count(&x.t) && !it->dry) {
        int64_t inner = 1, count = x.t.dims[axis], all = tensor_count(&x.t);
        for (int i = axis + 1; i < x.t.rank; i++)
            inner *= x.t.dims[i];
        for (int64_t line = 0; line < all / count; line++)
            sum_line(&x, out, line / inner * inner * count + line % inner, inner, count);
    }
    slot_drop(it, &x);
    return ok;
}
