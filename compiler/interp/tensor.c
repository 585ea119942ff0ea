// Tensors of a run: shapes, checks, the slots that hold them.
#include "interp/run.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool run_fail(Interp *it, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(it->error, sizeof it->error, format, args);
    va_end(args);
    return false;
}

bool run_spend(Interp *it, uint64_t points) {
    if (points > it->left)
        return run_fail(it, "the call takes more than the %llu steps it may",
                        (unsigned long long)it->points);
    it->left -= points;
    return true;
}

static bool symbol_value(void *ctx, const Dim *symbol, int64_t *value) {
    const int64_t *bound = map_get(&((Interp *)ctx)->symbols, symbol);
    if (!bound)
        return run_fail(ctx, "dimension %s has no value in this run", dim_name(symbol));
    if (*bound < 0)
        return run_fail(ctx, "dimension %s is %lld: it can't be negative", dim_name(symbol),
                        (long long)*bound);
    *value = *bound;
    return true;
}

bool run_dim(Interp *it, const Dim *d, int64_t *value) {
    it->error[0] = 0;
    if (dim_eval(d, symbol_value, it, value))
        return true;
    if (it->error[0])
        return false;
    Arena *a = arena_new();
    run_fail(it, "dimension %.300s has no value here: it overflows or divides by zero",
             dim_text(a, d));
    arena_free(a);
    return false;
}

bool run_dims(Interp *it, const CoreType *type, int64_t *dims) {
    for (int i = 0; i < type->rank; i++) {
        if (!run_dim(it, type->dims[i], &dims[i]))
            return false;
        if (dims[i] < 0)
            return run_fail(it, "axis %d of a tensor has the negative extent %lld", i + 1,
                            (long long)dims[i]);
    }
    return true;
}

int64_t tensor_count(const Tensor *t) {
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++)
        n *= t->dims[i];
    return n;
}

bool tensor_is_plain(const Tensor *t) {
    return !t->rows && (t->dtype != DT_F32 || t->format == RT_F32);
}

// Bytes of a dense tensor, 0 extents included: the product of the others is bounded too, so that
// strides fit.
static bool tensor_bytes(Interp *it, Dtype dtype, int rank, const int64_t *dims, uint64_t *bytes) {
    uint64_t n = (uint64_t)dtype_size(dtype);
    bool empty = false;
    for (int i = 0; i < rank; i++) {
        uint64_t d = (uint64_t)dims[i];
        empty |= d == 0;
        if (d && n > it->limit / d)
            return run_fail(it, "a tensor of %s would take more than %llu MiB", dtype_name(dtype),
                            (unsigned long long)(it->limit >> 20));
        n *= d ? d : 1;
    }
    *bytes = empty ? 0 : n;
    return true;
}

bool tensor_new(Interp *it, Dtype dtype, int rank, const int64_t *dims, Slot *out) {
    uint64_t bytes;
    if (!tensor_bytes(it, dtype, rank, dims, &bytes))
        return false;
    memset(out, 0, sizeof *out);
    out->buffer = buffer_new(it, bytes);
    if (!out->buffer)
        return false;
    out->t.dtype = dtype;
    out->t.rank = rank;
    for (int i = 0; i < rank; i++)
        out->t.dims[i] = dims[i];
    out->t.data = out->buffer->data;
    return true;
}

static const char *shape_text(Arena *a, Dtype dtype, int rank, const int64_t *dims) {
    StrBuf b = strbuf_new(a);
    strbuf_printf(&b, "%s[", dtype_name(dtype));
    for (int i = 0; i < rank; i++)
        strbuf_printf(&b, i ? ", %lld" : "%lld", (long long)dims[i]);
    strbuf_char(&b, ']');
    return b.data;
}

// Can these dims be read safely? A negative extent or an overflow is the caller's mistake.
static bool dims_sound(Interp *it, const char *what, const Tensor *t) {
    uint64_t bytes;
    if (t->rank < 0 || t->rank > CORE_MAX_RANK || (unsigned)t->dtype >= DT_COUNT)
        return run_fail(it, "%s is no tensor", what);
    for (int i = 0; i < t->rank; i++) {
        if (t->dims[i] < 0)
            return run_fail(it, "%s has a negative extent", what);
    }
    if (!tensor_bytes(it, t->dtype, t->rank, t->dims, &bytes))
        return false;
    return t->data || bytes == 0 || it->dry || run_fail(it, "%s has no data", what);
}

static bool storage_sound(Interp *it, const char *what, const Tensor *t) {
    if (t->dtype != DT_F32)
        return !t->rows || t->rank > 0 || run_fail(it, "%s has rows but no axis", what);
    if ((unsigned)t->format >= RT_FORMAT_COUNT || !rt_format_exact(t->format))
        return run_fail(it, "%s is stored in a format that f32 does not hold exactly", what);
    int64_t block = rt_format_block(t->format);
    if (block > 1 && (t->rank == 0 || t->dims[t->rank - 1] % block))
        return run_fail(it, "%s: rows of format %s must be multiples of %lld", what,
                        rt_format_name(t->format), (long long)block);
    for (int64_t i = 0; t->rows && i < (t->rank ? t->dims[0] : 0); i++) {
        if (t->rows[i] < 0 || t->rows[i] >= t->dims[0])
            return run_fail(it, "%s: row %lld is mapped out of the matrix", what, (long long)i);
    }
    return !t->rows || t->rank > 0 || run_fail(it, "%s has rows but no axis", what);
}

bool tensor_check(Interp *it, const char *what, const CoreType *type, const Tensor *t) {
    int64_t dims[CORE_MAX_RANK];
    if (!dims_sound(it, what, t) || !run_dims(it, type, dims))
        return false;
    bool same = t->dtype == type->dtype && t->rank == type->rank;
    for (int i = 0; same && i < t->rank; i++)
        same = t->dims[i] == dims[i];
    if (same)
        return storage_sound(it, what, t);
    Arena *a = arena_new();
    run_fail(it, "%.200s must be %.150s but is %.150s", what,
             shape_text(a, type->dtype, type->rank, dims),
             shape_text(a, t->dtype, t->rank, t->dims));
    arena_free(a);
    return false;
}

bool slot_copy(Interp *it, Slot *out, const Slot *from) {
    *out = *from;
    if (out->buffer)
        out->buffer->uses++;
    if (!from->items)
        return true;
    out->items = calloc((size_t)from->count + 1, sizeof *out->items);
    if (!out->items) {
        out->count = 0;
        return run_fail(it, "no memory for %lld results", (long long)from->count);
    }
    for (int64_t i = 0; i < from->count; i++) {
        if (!slot_copy(it, &out->items[i], &from->items[i]))
            return false;
    }
    return true;
}

void slot_drop(Interp *it, Slot *s) {
    for (int64_t i = 0; s->items && i < s->count; i++)
        slot_drop(it, &s->items[i]);
    free(s->items);
    buffer_drop(it, s->buffer);
    memset(s, 0, sizeof *s);
}
