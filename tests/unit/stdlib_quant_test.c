// Tests of the standard library's quantised weights and mixtures of experts: what is decoded, bit
// for bit, against ldexp and integer arithmetic in C; products against C in double precision.
#include "stdlib_help.h"

static const char program[] =
    "module t\n"
    "use std.nn.moe::{combine_experts, linear_experts, linear_experts_shared}\n"
    "use std.quant::{Fp8Linear, Int4GroupLinear, Int4Linear, Int8Linear, decode_fp8,\n"
    "    dequantize_fp8, dequantize_int4, dequantize_int4_groups, dequantize_int8,\n"
    "    dequantize_mxfp4, linear_fp8, linear_int4_groups, mxfp4_combine_experts, mxfp4_experts,\n"
    "    mxfp4_experts_shared, mxfp4_linear_experts_shared, unpack_int4, unpack_uint4}\n"
    "pub entry signed(x: Tensor[2, 128; i8]) -> Tensor[2, 256; i8] { return unpack_int4(x) }\n"
    "pub entry unsigned(x: Tensor[2, 128; u8]) -> Tensor[2, 256; u8] { return unpack_uint4(x) }\n"
    "pub entry bytes(q: Tensor[2, 2, 64; i8], s: Tensor[2, 2; f32]) -> Tensor[2, 2, 64; f32] {\n"
    "    return dequantize_int8<[2, 2], 64, f32>(q, s)\n"
    "}\n"
    "pub entry bytes_16(q: Tensor[4, 64; i8], s: Tensor[4; f32]) -> Tensor[4, 64; bf16] {\n"
    "    return dequantize_int8<[4], 64, bf16>(q, s)\n"
    "}\n"
    "pub entry halves(q: Tensor[2, 128; i8], s: Tensor[2; f32]) -> Tensor[2, 256; f32] {\n"
    "    return dequantize_int4<2, 128, f32>(q, s)\n"
    "}\n"
    "pub entry groups(q: Tensor[4, 3, 8; u8], s: Tensor[4, 3; f32], z: Tensor[4, 3; u8])\n"
    "    -> Tensor[4, 48; f32] {\n"
    "    return dequantize_int4_groups(q, s, z)\n"
    "}\n"
    "pub entry grouped(x: Tensor[5, 48; f32], q: Tensor[4, 3, 8; u8], s: Tensor[4, 3; f32],\n"
    "    z: Tensor[4, 3; u8], b: Tensor[4; f32]) -> Tensor[5, 4; f32] {\n"
    "    return linear_int4_groups(x, q, s, z, some(b))\n"
    "}\n"
    "pub entry fp8(x: Tensor[256; u8]) -> Tensor[256; f32] { return decode_fp8(x) }\n"
    "pub entry fp8_rows(x: Tensor[4, 64; u8], s: Tensor[4, 1; f32]) -> Tensor[4, 64; f32] {\n"
    "    return dequantize_fp8<[4], 64, f32>(x, s)\n"
    "}\n"
    "pub entry fp8_linear(x: Tensor[3, 2, 48; f32], w: Tensor[4, 48; u8], s: Tensor[4, 1; f32])\n"
    "    -> Tensor[3, 2, 4; f32] {\n"
    "    return linear_fp8(x, w, s)\n"
    "}\n"
    "pub entry fp4(q: Tensor[1, 256, 1, 16; u8], s: Tensor[1, 256, 1; u8])\n"
    "    -> Tensor[1, 256, 32; f32] {\n"
    "    return dequantize_mxfp4<1, 256, 1, f32>(q, s)\n"
    "}\n"
    "pub entry each(x: Tensor[3, 2, 64; f32], w: Tensor[4, 5, 64; f32], e: Tensor[3, 2; i64])\n"
    "    -> Tensor[3, 2, 5; f32] {\n"
    "    return linear_experts(x, w, e)\n"
    "}\n"
    "pub entry each_16(x: Tensor[3, 2, 64; f32], w: Tensor[4, 5, 64; f32], e: Tensor[3, 2; i64])\n"
    "    -> Tensor[3, 2, 5; f32] {\n"
    "    return cast<f32>(linear_experts(cast<bf16>(x), cast<bf16>(w), e))\n"
    "}\n"
    "pub entry shared(x: Tensor[3, 64; f32], w: Tensor[4, 5, 64; f32], e: Tensor[3, 2; i64])\n"
    "    -> Tensor[3, 2, 5; f32] {\n"
    "    return linear_experts_shared(x, w, e)\n"
    "}\n"
    "pub entry mixed(x: Tensor[3, 2, 64; f32], w: Tensor[4, 5, 64; f32], e: Tensor[3, 2; i64],\n"
    "    g: Tensor[3, 2; f32]) -> Tensor[3, 5; f32] {\n"
    "    return combine_experts(x, w, e, g)\n"
    "}\n"
    "pub entry mx_each(x: Tensor[3, 2, 64; f32], q: Tensor[4, 5, 2, 16; u8],\n"
    "    s: Tensor[4, 5, 2; u8], e: Tensor[3, 2; i64]) -> Tensor[3, 2, 5; f32] {\n"
    "    return mxfp4_experts<3, 2, 4, 5, 2, f32>(x, q, s, e)\n"
    "}\n"
    "pub entry mx_one(x: Tensor[3, 1, 64; f32], q: Tensor[4, 5, 2, 16; u8],\n"
    "    s: Tensor[4, 5, 2; u8], e: Tensor[3, 2; i64]) -> Tensor[3, 2, 5; f32] {\n"
    "    return mxfp4_experts_shared<3, 2, 4, 5, 2, f32>(x, q, s, e)\n"
    "}\n"
    "pub entry mx_shared(x: Tensor[3, 64; f32], q: Tensor[4, 5, 2, 16; u8],\n"
    "    s: Tensor[4, 5, 2; u8], e: Tensor[3, 2; i64]) -> Tensor[3, 2, 5; f32] {\n"
    "    return mxfp4_linear_experts_shared<3, 2, 4, 5, 2, f32>(x, q, s, e)\n"
    "}\n"
    "pub entry mx_mixed(x: Tensor[3, 2, 64; f32], q: Tensor[4, 5, 2, 16; u8],\n"
    "    s: Tensor[4, 5, 2; u8], e: Tensor[3, 2; i64], g: Tensor[3, 2; f32])\n"
    "    -> Tensor[3, 5; f32] {\n"
    "    return mxfp4_combine_experts<3, 2, 4, 5, 2, f32>(x, q, s, e, g)\n"
    "}\n"
    "pub block Net {\n"
    "    sub a: Int8Linear<48, 32, f32>\n"
    "    sub b: Int4Linear<32, 48, f32>\n"
    "    sub c: Int4GroupLinear<48, 4, 16, f32>\n"
    "    sub d: Fp8Linear<4, 3, f32>\n"
    "    pub entry forward(x: Tensor[2, 48; f32]) -> Tensor[2, 3; f32] {\n"
    "        return d.forward(c.forward(b.forward(a.forward(x))))\n"
    "    }\n"
    "}\n";

#define U8(data, ...) tensor(DT_U8, data, DIMS(__VA_ARGS__))
#define I8(data, ...) tensor(DT_I8, data, DIMS(__VA_ARGS__))

// Are the n floats the same, bit for bit, NaN being as good as NaN?
static void same(Test *t, const char *name, const Tensor *got, const float *want, int n) {
    int off = 0;
    for (int i = 0; i < n; i++) {
        float x = ((const float *)got->data)[i];
        bool equal = isnan(want[i]) ? isnan(x) : memcmp(&x, &want[i], sizeof x) == 0;
        if (!equal && !off++)
            printf("%s: element %d is %a, not %a\n", name, i, (double)x, (double)want[i]);
    }
    CHECK(t, off == 0);
}

static void random_bytes(Test *t, uint8_t *x, int n) {
    for (int i = 0; i < n; i++)
        x[i] = (uint8_t)random_below(t, 256);
}

// Half number i of packed bytes, the low one first.
static int half(const uint8_t *x, int i) {
    return x[i / 2] >> (i % 2 ? 4 : 0) & 15;
}
static int signed_half(const uint8_t *x, int i) {
    return (half(x, i) ^ 8) - 8;
}

static void test_integers(Test *t) {
    uint8_t q[256], halves[512];
    int8_t small[512];
    float s[12], want[512];
    Tensor out;
    for (int i = 0; i < 256; i++)
        q[i] = (uint8_t)(i * 7); // every byte once
    for (int i = 0; i < 512; i++) {
        halves[i] = (uint8_t)half(q, i);
        small[i] = (int8_t)signed_half(q, i);
    }
    Tensor args[] = {I8(q, 2, 128), F32(s, 2)};
    if (run(t, "signed", 1, args, &out))
        CHECK(t, memcmp(out.data, small, 512) == 0);
    random_fill(t, s, 12, 0.1f);
    for (int i = 0; i < 512; i++)
        want[i] = (float)small[i] * s[i / 256];
    if (run(t, "halves", 2, args, &out))
        same(t, "dequantize_int4", &out, want, 512);
    args[0] = U8(q, 2, 128);
    if (run(t, "unsigned", 1, args, &out))
        CHECK(t, memcmp(out.data, halves, 512) == 0);
    for (int i = 0; i < 256; i++)
        want[i] = (float)(int8_t)q[i] * s[i / 64];
    args[0] = I8(q, 2, 2, 64), args[1] = F32(s, 2, 2);
    if (run(t, "bytes", 2, args, &out))
        same(t, "dequantize_int8", &out, want, 256);
    args[0] = I8(q, 4, 64), args[1] = F32(s, 4);
    if (run(t, "bytes_16", 2, args, &out)) {
        int off = 0;
        for (int i = 0; i < 256; i++) {
            uint32_t bits;
            memcpy(&bits, &want[i], 4);
            off += ((const uint16_t *)out.data)[i] != (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
        }
        CHECK(t, off == 0);
    }
}

static void test_groups(Test *t) {
    uint8_t q[96], z[12];
    float s[12], x[240], b[4], want[192];
    double product[20];
    random_bytes(t, q, 96);
    random_fill(t, s, 12, 0.1f);
    random_fill(t, x, 240, 1);
    random_fill(t, b, 4, 1);
    for (int i = 0; i < 12; i++)
        z[i] = (uint8_t)random_below(t, 16);
    for (int i = 0; i < 192; i++)
        want[i] = (float)(half(q, i) - z[i / 16]) * s[i / 16];
    for (int i = 0; i < 20; i++) {
        product[i] = (double)b[i % 4];
        for (int k = 0; k < 48; k++)
            product[i] += (double)x[i / 4 * 48 + k] * (double)want[i % 4 * 48 + k];
    }
    Tensor out, args[] = {U8(q, 4, 3, 8), F32(s, 4, 3), U8(z, 4, 3)};
    if (run(t, "groups", 3, args, &out))
        same(t, "dequantize_int4_groups", &out, want, 192);
    Tensor all[] = {F32(x, 5, 48), args[0], args[1], args[2], F32(b, 4)};
    if (run(t, "grouped", 5, all, &out))
        near(t, "linear_int4_groups", &out, product, 20, 1e-6);
}

// A small float of `exponent` and `mantissa` bits, without infinities.
static float small_float(int code, int exponent, int mantissa) {
    int e = code >> mantissa & ((1 << exponent) - 1), m = code & ((1 << mantissa) - 1);
    int bias = (1 << (exponent - 1)) - 1;
    double size = e ? ldexp(1 + ldexp(m, -mantissa), e - bias) : ldexp(m, 1 - bias - mantissa);
    return (float)(code >> (exponent + mantissa) & 1 ? -size : size);
}

static float fp8(int code) {
    return (code & 127) == 127 ? NAN : small_float(code, 4, 3);
}

static void test_fp8(Test *t) {
    uint8_t q[256];
    float s[4], want[256], scaled[256], x[288];
    double product[24];
    for (int i = 0; i < 256; i++) {
        q[i] = (uint8_t)i;
        want[i] = fp8(i);
    }
    CHECK(t, want[0x7E] == 448 && want[1] == 0x1p-9f && signbit(want[0x80]));
    random_fill(t, s, 4, 0.1f);
    for (int i = 0; i < 256; i++)
        scaled[i] = want[i] * s[i / 64];
    Tensor out, args[] = {U8(q, 256)};
    if (run(t, "fp8", 1, args, &out))
        same(t, "decode_fp8", &out, want, 256);
    Tensor rows[] = {U8(q, 4, 64), F32(s, 4, 1)};
    if (run(t, "fp8_rows", 2, rows, &out))
        same(t, "dequantize_fp8", &out, scaled, 256);
    random_fill(t, x, 288, 1);
    for (int i = 0; i < 192; i++)
        q[i] = (uint8_t)(q[i] == 127 ? 0 : q[i]);
    for (int i = 0; i < 24; i++) {
        product[i] = 0;
        for (int k = 0; k < 48; k++)
            product[i] += (double)x[i / 4 * 48 + k] * (double)(fp8(q[i % 4 * 48 + k]) * s[i % 4]);
    }
    Tensor all[] = {F32(x, 3, 2, 48), U8(q, 4, 48), F32(s, 4, 1)};
    if (run(t, "fp8_linear", 3, all, &out))
        near(t, "linear_fp8", &out, product, 24, 1e-6);
}

// Element i of MXFP4: 32 to a scale.
static float mxfp4(const uint8_t *q, const uint8_t *s, int i) {
    double digit = (double)small_float(half(q, i), 2, 1);
    return s[i / 32] == 255 ? NAN : (float)ldexp(digit, s[i / 32] - 127);
}

// Every scale with every digit: from 2^-128, below the normal numbers, to overflow.
static void test_fp4(Test *t) {
    static uint8_t q[4096], s[256];
    static float want[8192];
    for (int i = 0; i < 256; i++)
        s[i] = (uint8_t)i;
    random_bytes(t, q, 4096);
    for (int i = 0; i < 256; i++) {
        for (int k = 0; k < 8; k++)
            q[i * 16 + k] = (uint8_t)(k * 2 + (k * 2 + 1) * 16);
    }
    for (int i = 0; i < 8192; i++)
        want[i] = mxfp4(q, s, i);
    CHECK(t, want[1] == 0x1p-128f && want[127 * 32 + 7] == 6 && isinf(want[254 * 32 + 7]));
    Tensor out, args[] = {U8(q, 1, 256, 1, 16), U8(s, 1, 256, 1)};
    if (run(t, "fp4", 2, args, &out))
        same(t, "dequantize_mxfp4", &out, want, 8192);
}

// y [3, 2, 5] = the experts' products of x, whose slots are `slots` to a row; mixed [3, 5]
// weighted.
static void route(const float *x, int slots, const float *w, const int64_t *e, const float *g,
                  double *y, double *mixed) {
    for (int i = 0; i < 15; i++)
        mixed[i] = 0;
    for (int i = 0; i < 30; i++) {
        int r = i / 10, k = i / 5 % 2, o = i % 5;
        const float *in = x + (slots == 2 ? r * 2 + k : r) * 64;
        const float *row = w + (e[r * 2 + k] * 5 + o) * 64;
        y[i] = 0;
        for (int n = 0; n < 64; n++)
            y[i] += (double)in[n] * (double)row[n];
        mixed[r * 5 + o] += (double)g[r * 2 + k] * y[i];
    }
}

static void test_experts(Test *t) {
    static const int64_t e[] = {3, 0, 1, 1, 2, 3}; // one twice in a row
    float x[384], w[1280], g[6];
    uint8_t q[640], s[40];
    double y[30], mixed[15], one[30], unused[15];
    random_fill(t, x, 384, 1);
    random_fill(t, w, 1280, 1);
    random_fill(t, g, 6, 1);
    random_bytes(t, q, 640);
    for (int i = 0; i < 40; i++)
        s[i] = (uint8_t)(120 + random_below(t, 12));
    route(x, 2, w, e, g, y, mixed);
    route(x, 1, w, e, g, one, unused);
    Tensor out, in = F32(x, 3, 2, 64), rows = F32(x, 3, 64), slots = F32(x, 3, 1, 64);
    Tensor experts = I64(e, 3, 2), gates = F32(g, 3, 2), matrices = F32(w, 4, 5, 64);
    if (run(t, "each", 3, (Tensor[]){in, matrices, experts}, &out))
        near(t, "linear_experts", &out, y, 30, 1e-6);
    if (run(t, "each_16", 3, (Tensor[]){in, matrices, experts}, &out))
        near(t, "linear_experts in bf16", &out, y, 30, 0.02);
    if (run(t, "shared", 3, (Tensor[]){rows, matrices, experts}, &out))
        near(t, "linear_experts_shared", &out, one, 30, 1e-6);
    if (run(t, "mixed", 4, (Tensor[]){in, matrices, experts, gates}, &out))
        near(t, "combine_experts", &out, mixed, 15, 1e-6);
    for (int i = 0; i < 1280; i++)
        w[i] = mxfp4(q, s, i);
    route(x, 2, w, e, g, y, mixed);
    route(x, 1, w, e, g, one, unused);
    Tensor blocks = U8(q, 4, 5, 2, 16), scales = U8(s, 4, 5, 2);
    if (run(t, "mx_each", 4, (Tensor[]){in, blocks, scales, experts}, &out))
        near(t, "mxfp4_experts", &out, y, 30, 1e-6);
    if (run(t, "mx_one", 4, (Tensor[]){slots, blocks, scales, experts}, &out))
        near(t, "mxfp4_experts_shared", &out, one, 30, 1e-6);
    if (run(t, "mx_shared", 4, (Tensor[]){rows, blocks, scales, experts}, &out))
        near(t, "mxfp4_linear_experts_shared", &out, one, 30, 1e-6);
    if (run(t, "mx_mixed", 5, (Tensor[]){in, blocks, scales, experts, gates}, &out))
        near(t, "mxfp4_combine_experts", &out, mixed, 15, 1e-6);
}

// ---- The blocks --------------------------------------------------------------------------------

typedef struct {
    uint8_t a[1536], b[768], c[96], zero[12], d[12];
    float as[32], bs[48], cs[12], ds[3], shift[3];
    int32_t order[48];
} Weights;

static bool weight(void *ctx, const char *path, const CoreType *type, Tensor *out) {
    Weights *w = ctx;
    const struct {
        const char *path;
        const void *data;
    } all[] = {{"a.weight", w->a}, {"a.scale", w->as}, {"b.weight", w->b},  {"b.scale", w->bs},
               {"c.weight", w->c}, {"c.scale", w->cs}, {"c.zero", w->zero}, {"c.order", w->order},
               {"d.weight", w->d}, {"d.scale", w->ds}, {"d.bias", w->shift}};
    *out = (Tensor){.dtype = type->dtype, .rank = type->rank};
    for (int i = 0; i < type->rank; i++) {
        if (!dim_is_const(type->dims[i], &out->dims[i]))
            return false;
    }
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (strcmp(path, all[i].path) == 0)
            out->data = all[i].data;
    }
    return out->data != NULL;
}

static bool has(void *ctx, const char *path) {
    (void)ctx;
    return strcmp(path, "c.order") == 0 || strcmp(path, "d.bias") == 0;
}

static void random_weights(Test *t, Weights *w) {
    random_bytes(t, w->a, sizeof w->a);
    random_bytes(t, w->b, sizeof w->b);
    random_bytes(t, w->c, sizeof w->c);
    random_fill(t, w->as, 32, 0.01f);
    random_fill(t, w->bs, 48, 0.1f);
    random_fill(t, w->cs, 12, 0.1f);
    random_fill(t, w->ds, 3, 0.1f);
    random_fill(t, w->shift, 3, 1);
    for (int i = 0; i < 12; i++) {
        w->zero[i] = (uint8_t)random_below(t, 16);
        w->d[i] = (uint8_t)random_below(t, 120);
    }
    for (int i = 0; i < 48; i++)
        w->order[i] = i * 11 % 48;
}

// The four layers on a row x [48]: y [3].
static void layers(const Weights *w, const float *x, double *y) {
    double a[32], b[48], c[4];
    for (int o = 0; o < 32; o++) {
        a[o] = 0;
        for (int i = 0; i < 48; i++)
            a[o] += (double)x[i] * (int8_t)w->a[o * 48 + i] * (double)w->as[o];
    }
    for (int o = 0; o < 48; o++) {
        b[o] = 0;
        for (int i = 0; i < 32; i++)
            b[o] += a[i] * signed_half(w->b, o * 32 + i) * (double)w->bs[o];
    }
    for (int o = 0; o < 4; o++) {
        c[o] = 0;
        for (int i = 0; i < 48; i++)
            c[o] += b[w->order[i]] * (half(w->c, o * 48 + i) - w->zero[o * 3 + i / 16]) *
                    (double)w->cs[o * 3 + i / 16];
    }
    for (int o = 0; o < 3; o++) {
        y[o] = (double)w->shift[o];
        for (int i = 0; i < 4; i++)
            y[o] += c[i] * (double)fp8(w->d[o * 4 + i]) * (double)w->ds[o];
    }
}

static void test_blocks(Test *t) {
    Weights w;
    float x[96];
    double want[6];
    random_weights(t, &w);
    random_fill(t, x, 96, 1);
    layers(&w, x, want);
    layers(&w, x + 48, want + 3);
    Item *block = find_entry(t->program, "Net");
    Core *core = core_new(t->s, t->program->dims);
    LowerOptions o = {.program = t->program, .core = core, .present = has};
    CoreFn *fn = lower_entry(&o, block, block->items.data[0], NULL);
    StrBuf faults = strbuf_new(t->s->arena);
    CHECK(t, fn && core_verify(core, &faults));
    char error[256] = "";
    Interp *it = interp_new(core, NULL);
    InterpBlock *self = fn ? interp_block(it, fn->self, weight, &w, error, sizeof error) : NULL;
    Tensor in = F32(x, 2, 48), out;
    bool good = self && interp_call(it, fn, self, 1, &in, &out, error, sizeof error);
    if (!good)
        printf("%s%s\n", faults.data ? faults.data : "", error);
    CHECK(t, good);
    if (good)
        near(t, "the layers", &out, want, 6, 1e-5);
    interp_free(it);
}

int main(void) {
    Test t = {0};
    open_program(&t, program);
    test_integers(&t);
    test_groups(&t);
    test_fp8(&t);
    test_fp4(&t);
    test_experts(&t);
    test_blocks(&t);
    return finish(&t);
}
