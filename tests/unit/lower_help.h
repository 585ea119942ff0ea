// What the tests of the lowering share: small entries over a fixed set of tensors, checked,
// lowered, verified and run; their results are compared with the values listed beside them.
#pragma once
#include "runtime/numerics.h"
#include "stdlib_help.h"

// One entry. `params` names the inputs by their letters, in order:
//   v f32[7] 1 -2 3 -4 5 -6 7      m f32[2,3] 1..6        q f32[3,3] 1..9
//   c f32[2,2,3] 1..12             i i32[6] 7 -7 6 -6 1 0 j i32[6] 2 2 -4 4 3 5
//   p i32[3] 2 0 1                 t bool[3] 1 0 1        s f32 2.5
//   k i64 2                        l bool true            z f32[0,3]
//   b bf16[4] 256 1 1 1            h f16[4] 2048 1 1 1    u u8[4] 250 3 128 255
//   n f32[4] nan inf -inf -2.75
typedef struct {
    const char *params;
    const char *result; // its type
    const char *body;   // the statements
    int count;          // elements of the result (or of the results together)
    double want[12];    // the first of them; NAN matches a NaN
} Case;

static const float in_v[] = {1, -2, 3, -4, 5, -6, 7}, in_m[] = {1, 2, 3, 4, 5, 6};
static const float in_q[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
static const float in_c[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
static const int32_t in_i[] = {7, -7, 6, -6, 1, 0}, in_j[] = {2, 2, -4, 4, 3, 5},
                     in_p[] = {2, 0, 1};
static const uint8_t in_t[] = {1, 0, 1}, in_l = 1, in_u[] = {250, 3, 128, 255};
static const float in_s = 2.5f, in_n[] = {NAN, INFINITY, -INFINITY, -2.75f};
static const int64_t in_k = 2;
static const uint16_t in_b[] = {0x4380, 0x3f80, 0x3f80, 0x3f80};
static const uint16_t in_h[] = {0x6800, 0x3c00, 0x3c00, 0x3c00};

static const struct {
    char letter;
    const char *type;
    Dtype dtype;
    int rank;
    int64_t dims[3];
    const void *data;
} inputs[] = {
    {'v', "Tensor[7; f32]", DT_F32, 1, {7}, in_v},
    {'m', "Tensor[2, 3; f32]", DT_F32, 2, {2, 3}, in_m},
    {'q', "Tensor[3, 3; f32]", DT_F32, 2, {3, 3}, in_q},
    {'c', "Tensor[2, 2, 3; f32]", DT_F32, 3, {2, 2, 3}, in_c},
    {'i', "Tensor[6; i32]", DT_I32, 1, {6}, in_i},
    {'j', "Tensor[6; i32]", DT_I32, 1, {6}, in_j},
    {'p', "Tensor[3; i32]", DT_I32, 1, {3}, in_p},
    {'t', "Tensor[3; bool]", DT_BOOL, 1, {3}, in_t},
    {'s', "f32", DT_F32, 0, {0}, &in_s},
    {'k', "i64", DT_I64, 0, {0}, &in_k},
    {'l', "bool", DT_BOOL, 0, {0}, &in_l},
    {'z', "Tensor[0, 3; f32]", DT_F32, 2, {0, 3}, in_m},
    {'b', "Tensor[4; bf16]", DT_BF16, 1, {4}, in_b},
    {'h', "Tensor[4; f16]", DT_F16, 1, {4}, in_h},
    {'u', "Tensor[4; u8]", DT_U8, 1, {4}, in_u},
    {'n', "Tensor[4; f32]", DT_F32, 1, {4}, in_n},
};

static inline Tensor input_of(char letter, StrBuf *text) {
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        if (inputs[i].letter != letter)
            continue;
        strbuf_printf(text, "%c: %s, ", letter, inputs[i].type);
        return tensor(inputs[i].dtype, inputs[i].data, inputs[i].rank, inputs[i].dims);
    }
    abort();
}

static inline double element(const Tensor *x, int64_t i) {
    switch (x->dtype) {
    case DT_F64:
        return ((const double *)x->data)[i];
    case DT_F32:
        return ((const float *)x->data)[i];
    case DT_F16:
        return rt_f16_to_f32(((const uint16_t *)x->data)[i]);
    case DT_BF16:
        return rt_bf16_to_f32(((const uint16_t *)x->data)[i]);
    case DT_I64:
        return (double)((const int64_t *)x->data)[i];
    case DT_I32:
        return ((const int32_t *)x->data)[i];
    case DT_I16:
        return ((const int16_t *)x->data)[i];
    case DT_I8:
        return ((const int8_t *)x->data)[i];
    case DT_U64:
        return (double)((const uint64_t *)x->data)[i];
    case DT_U32:
        return ((const uint32_t *)x->data)[i];
    case DT_U16:
        return ((const uint16_t *)x->data)[i];
    default:
        return ((const uint8_t *)x->data)[i];
    }
}

static inline bool same_number(double got, double want) {
    if (isnan(want))
        return isnan(got);
    return got == want || fabs(got - want) <= 1e-6 * fabs(want);
}

// Runs a case after `prefix`, the items it may use. `results` is how many tensors it returns.
static inline void run_case(Test *t, const char *prefix, const Case *c, int results) {
    Test one = {0};
    Tensor args[8], got[8];
    StrBuf params, text;
    Session *scratch = session_new();
    params = strbuf_new(scratch->arena);
    text = strbuf_new(scratch->arena);
    int n = 0;
    for (const char *p = c->params; *p; p++)
        args[n++] = input_of(*p, &params);
    strbuf_printf(&text, "module t\n%s\npub entry e(%s) -> %s {\n%s\n}\n", prefix, params.data,
                  c->result, c->body);
    open_program(&one, text.data);
    bool good = one.failed == 0 && run(&one, "e", n, args, got);
    int at = 0;
    for (int r = 0; good && r < results; r++) {
        int64_t count = 1;
        for (int d = 0; d < got[r].rank; d++)
            count *= got[r].dims[d];
        for (int64_t i = 0; i < count; i++, at++) {
            bool same = at < c->count && same_number(element(&got[r], i), c->want[at % 12]);
            if (!same && good)
                printf("element %d is %.9g instead of %.9g\n", at, element(&got[r], i),
                       c->want[at % 12]);
            good &= same;
        }
    }
    good &= at == c->count;
    if (!good)
        printf("%d elements; in the entry\n%s", at, text.data);
    CHECK(t, good);
    interp_free(one.interp);
    session_free(one.s);
    session_free(scratch);
}

static inline void run_cases(Test *t, const char *prefix, const Case *cases, int n, int results) {
    for (int i = 0; i < n; i++)
        run_case(t, prefix, &cases[i], results);
}

static inline int finish_cases(const Test *t) {
    printf("%d passed, %d failed\n", t->passed, t->failed);
    return t->failed != 0;
}

#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))
