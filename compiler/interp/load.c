// Loads and stores: one loop for each pair of stored type and register type.
#include "interp/load.h"
#include <string.h>

#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__)
#pragma GCC optimize("tree-vectorize,vect-cost-model=dynamic")
#endif

// The storage of floats that are held as f32, RT_FORMAT_COUNT for other dtypes.
static RtFormat f32_storage(const Tensor *t) {
    switch (t->dtype) {
    case DT_F32:
        return t->format;
    case DT_F16:
        return RT_F16;
    case DT_BF16:
        return RT_BF16;
    default:
        return RT_FORMAT_COUNT;
    }
}

#define RUN(S, D)                                                                                  \
    do {                                                                                           \
        const S *restrict from = (const S *)t->data + off;                                         \
        D *restrict to = dst;                                                                      \
        if (stride == 1) {                                                                         \
            for (int i = 0; i < n; i++)                                                            \
                to[i] = (D)from[i];                                                                \
        } else {                                                                                   \
            for (int i = 0; i < n; i++)                                                            \
                to[i] = (D)from[i * stride];                                                       \
        }                                                                                          \
    } while (0)

#define GATHER(S, D)                                                                               \
    do {                                                                                           \
        const S *restrict from = t->data;                                                          \
        D *restrict to = dst;                                                                      \
        for (int i = 0; i < n; i++)                                                                \
            to[i] = (D)from[offs[i]];                                                              \
    } while (0)

#define EACH_TYPE(DO)                                                                              \
    case DT_F32:                                                                                   \
        DO(float, float);                                                                          \
        break;                                                                                     \
    case DT_F64:                                                                                   \
        DO(double, double);                                                                        \
        break;                                                                                     \
    case DT_I8:                                                                                    \
        DO(int8_t, int32_t);                                                                       \
        break;                                                                                     \
    case DT_U8:                                                                                    \
        DO(uint8_t, int32_t);                                                                      \
        break;                                                                                     \
    case DT_I16:                                                                                   \
        DO(int16_t, int32_t);                                                                      \
        break;                                                                                     \
    case DT_U16:                                                                                   \
        DO(uint16_t, int32_t);                                                                     \
        break;                                                                                     \
    case DT_I32:                                                                                   \
        DO(int32_t, int32_t);                                                                      \
        break;                                                                                     \
    case DT_U32:                                                                                   \
        DO(uint32_t, uint32_t);                                                                    \
        break;                                                                                     \
    case DT_I64:                                                                                   \
        DO(int64_t, int64_t);                                                                      \
        break;                                                                                     \
    case DT_U64:                                                                                   \
        DO(uint64_t, uint64_t);                                                                    \
        break;

void load_run(const Tensor *t, int64_t off, int64_t stride, int n, void *dst) {
    RtFormat format = f32_storage(t);
    if (format != RT_FORMAT_COUNT && format != RT_F32) {
        float *to = dst;
        if (stride == 1) {
            rt_format_row(format, t->data, (uint64_t)off, (uint64_t)n, to);
        } else {
            for (int i = 0; i < n; i++)
                to[i] = rt_format_at(format, t->data, (uint64_t)(off + i * stride));
        }
        return;
    }
    switch (t->dtype) {
        EACH_TYPE(RUN)
    default: {
        const uint8_t *from = t->data;
        for (int i = 0; i < n; i++)
            ((uint8_t *)dst)[i] = from[off + i * stride] != 0;
    }
    }
}

void load_gather(const Tensor *t, const int64_t *offs, int n, void *dst) {
    RtFormat format = f32_storage(t);
    if (format != RT_FORMAT_COUNT && format != RT_F32) {
        for (int i = 0; i < n; i++)
            ((float *)dst)[i] = rt_format_at(format, t->data, (uint64_t)offs[i]);
        return;
    }
    switch (t->dtype) {
        EACH_TYPE(GATHER)
    default: {
        const uint8_t *from = t->data;
        for (int i = 0; i < n; i++)
            ((uint8_t *)dst)[i] = from[offs[i]] != 0;
    }
    }
}
