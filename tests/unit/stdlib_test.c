// Tests of the standard library's layers and losses against straight C in double precision; and
// that every one of its modules checks without a word.
#include "base/embedded.h"
#include "stdlib_help.h"

static const char program[] =
    "module t\n"
    "use std.nn.activations::{gelu, gelu_erf, relu, sigmoid, silu}\n"
    "use std.nn.decoding::{argmax}\n"
    "use std.nn.embedding::{embedding}\n"
    "use std.linalg::{batched_matmul, dot, matmul, outer, transpose}\n"
    "use std.nn.linear::{linear}\n"
    "use std.nn.loss::{cross_entropy, entropy, log_softmax, split_cross_entropy, token_log_probs}\n"
    "use std.nn.mlp::{swiglu}\n"
    "use std.nn.norm::{layer_norm, rms_norm}\n"
    "use std.nn.rope::{rope, rope_rows, rotate_half}\n"
    "use std.nn.softmax::{softmax}\n"
    "pub entry relu_of(x: Tensor[99; f32]) -> Tensor[99; f32] { return relu(x) }\n"
    "pub entry sigmoid_of(x: Tensor[99; f32]) -> Tensor[99; f32] { return sigmoid(x) }\n"
    "pub entry silu_of(x: Tensor[99; f32]) -> Tensor[99; f32] { return silu(x) }\n"
    "pub entry gelu_of(x: Tensor[99; f32]) -> Tensor[99; f32] { return gelu(x) }\n"
    "pub entry gelu_erf_of(x: Tensor[99; f32]) -> Tensor[99; f32] { return gelu_erf(x) }\n"
    "pub entry softmax_of(x: Tensor[9, 11; f32]) -> Tensor[9, 11; f32] { return softmax(x) }\n"
    "pub entry log_softmax_of(x: Tensor[9, 11; f32]) -> Tensor[9, 11; f32] {\n"
    "    return log_softmax(x)\n"
    "}\n"
    "pub entry entropy_of(x: Tensor[9, 11; f32]) -> Tensor[9; f32] { return entropy(x) }\n"
    "pub entry probs(x: Tensor[9, 11; f32], at: Tensor[9; i64]) -> Tensor[9; f32] {\n"
    "    return token_log_probs(x, at)\n"
    "}\n"
    "pub entry loss(x: Tensor[9, 11; f32], at: Tensor[9; i64], w: Tensor[9; f32]) -> f32 {\n"
    "    return cross_entropy(x, at, w)\n"
    "}\n"
    "pub entry split_loss(\n"
    "    x: Tensor[9, 4; f32], m: Tensor[11, 4; f32], at: Tensor[9; i64], w: Tensor[9; f32]\n"
    ") -> f32 {\n"
    "    return split_cross_entropy<9, 4, 11, 1, f32>(x, m, at, w)\n"
    "}\n"
    "pub entry most(x: Tensor[9, 11; f32]) -> Tensor[9; i32] { return argmax(x) }\n"
    "pub entry rms(x: Tensor[9, 11; f32], w: Tensor[11; f32], eps: f32) -> Tensor[9, 11; f32] {\n"
    "    return rms_norm(x, w, eps)\n"
    "}\n"
    "pub entry rms_16(x: Tensor[9, 11; f32], w: Tensor[11; f32]) -> Tensor[9, 11; f32] {\n"
    "    return cast<f32>(rms_norm(cast<bf16>(x), cast<bf16>(w)))\n"
    "}\n"
    "pub entry ln(x: Tensor[9, 11; f32], w: Tensor[11; f32], b: Tensor[11; f32])\n"
    "    -> Tensor[9, 11; f32] {\n"
    "    return layer_norm(x, w, some(b))\n"
    "}\n"
    "pub entry affine(x: Tensor[9, 11; f32], w: Tensor[4, 11; f32], b: Tensor[4; f32])\n"
    "    -> Tensor[9, 4; f32] {\n"
    "    return linear(x, w, some(b))\n"
    "}\n"
    "pub entry gated(x: Tensor[9, 11; f32], a: Tensor[4, 11; f32], b: Tensor[4, 11; f32],\n"
    "    c: Tensor[11, 4; f32]) -> Tensor[9, 11; f32] {\n"
    "    return swiglu(x, a, b, c)\n"
    "}\n"
    "pub entry rows(ids: Tensor[2, 3; i32], x: Tensor[9, 11; f32]) -> Tensor[2, 3, 11; f32] {\n"
    "    return embedding(ids, x)\n"
    "}\n"
    "pub entry turned(x: Tensor[2, 3, 4, 6; f32], c: Tensor[4, 6; f32], s: Tensor[4, 6; f32])\n"
    "    -> Tensor[2, 3, 4, 6; f32] {\n"
    "    return rope(x, c, s)\n"
    "}\n"
    "pub entry turned_rows(\n"
    "    x: Tensor[2, 3, 4, 6; f32], c: Tensor[2, 4, 6; f32], s: Tensor[2, 4, 6; f32]\n"
    ") -> Tensor[2, 3, 4, 6; f32] {\n"
    "    return rope_rows(x, c, s)\n"
    "}\n"
    "pub entry halves(x: Tensor[2, 6; f32]) -> Tensor[2, 6; f32] { return rotate_half(x) }\n"
    "pub entry inner(a: Tensor[11; f32], b: Tensor[11; f32]) -> f32 { return dot(a, b) }\n"
    "pub entry dyad(a: Tensor[3; f32], b: Tensor[4; f32]) -> Tensor[3, 4; f32] {\n"
    "    return outer(a, b)\n"
    "}\n"
    "pub entry product(a: Tensor[2, 3; f32], b: Tensor[3, 4; f32]) -> Tensor[4, 2; f32] {\n"
    "    return transpose(matmul(a, b))\n"
    "}\n"
    "pub entry products(a: Tensor[5, 2, 3; f32], b: Tensor[5, 3, 4; f32])\n"
    "    -> Tensor[5, 2, 4; f32] {\n"
    "    return batched_matmul(a, b)\n"
    "}\n";

enum { N = 9, V = 11, M = 4, ALL = N * V };

// Every module of the library by itself.
static void test_modules(Test *t) {
    int modules = 0;
    for (const EmbeddedFile *f = embedded_files(); f->path; f++) {
        size_t n = strlen(f->path);
        if (strncmp(f->path, "stdlib/", 7) != 0 || strcmp(f->path + n - 6, ".serin") != 0)
            continue;
        Session *s = session_new();
        Source *source = source_new(s->arena, f->path, (Str){f->text, f->size});
        Program *p = check_program(s, session_add(s, source), NULL);
        Serve serve;
        bool served = !s->errors && check_serve(p, NULL, &serve);
        diags_print(s, stdout, false);
        CHECK(t, s->errors == 0 && s->warnings == 0 && served);
        if (served && strncmp(f->path, "stdlib/models/", 14) == 0)
            CHECK(t, serve.model && serve.entry && serve.ids && serve.length && !serve.window);
        modules++;
        session_free(s);
    }
    CHECK(t, modules >= 15);
}

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

static void test_activations(Test *t) {
    float x[ALL];
    double want[5][ALL];
    static const char *const names[] = {"relu_of", "sigmoid_of", "silu_of", "gelu_of",
                                        "gelu_erf_of"};
    random_fill(t, x, ALL, 6);
    for (int i = 0; i < ALL; i++) {
        double v = (double)x[i];
        want[0][i] = fmax(v, 0);
        want[1][i] = sigmoid(v);
        want[2][i] = v * sigmoid(v);
        want[3][i] = v / 2 * (1 + tanh(0.7978845608028654 * (v + 0.044715 * v * v * v)));
        want[4][i] = v / 2 * (1 + erf(v / sqrt(2)));
    }
    Tensor arg = F32(x, ALL), out;
    for (int i = 0; i < 5; i++) {
        if (run(t, names[i], 1, &arg, &out))
            near(t, names[i], &out, want[i], ALL, 3e-7);
    }
}

// ln of the sum of exponentials of a row.
static double log_total(const float *row) {
    double total = 0;
    for (int v = 0; v < V; v++)
        total += exp((double)row[v]);
    return log(total);
}

static void test_softmax(Test *t) {
    float x[ALL];
    double share[ALL], logs[ALL], nats[N] = {0};
    int32_t most[N] = {0};
    random_fill(t, x, ALL, 5);
    x[2 * V + 3] = x[2 * V + 7] = 9; // a tie: the first is taken
    for (int i = 0; i < ALL; i++) {
        logs[i] = (double)x[i] - log_total(x + i / V * V);
        share[i] = exp(logs[i]);
        nats[i / V] -= share[i] * logs[i];
        most[i / V] = x[i] > x[i / V * V + most[i / V]] ? i % V : most[i / V];
    }
    Tensor arg = F32(x, N, V), out;
    if (run(t, "softmax_of", 1, &arg, &out))
        near(t, "softmax", &out, share, ALL, 1e-6);
    if (run(t, "log_softmax_of", 1, &arg, &out))
        near(t, "log_softmax", &out, logs, ALL, 1e-6);
    if (run(t, "entropy_of", 1, &arg, &out))
        near(t, "entropy", &out, nats, N, 1e-6);
    if (run(t, "most", 1, &arg, &out))
        CHECK(t, memcmp(out.data, most, sizeof most) == 0 && most[2] == 3);
    x[5 * V + 2] = NAN;
    if (run(t, "most", 1, &arg, &out))
        CHECK(t, ((const int32_t *)out.data)[5] == V);
}

static void test_losses(Test *t) {
    float hidden[N * M], matrix[V * M], x[ALL], weight[N];
    double own[N], loss = 0;
    int64_t at[N];
    random_fill(t, hidden, N * M, 2);
    random_fill(t, matrix, V * M, 2);
    random_fill(t, weight, N, 1);
    for (int i = 0; i < ALL; i++) {
        x[i] = 0;
        for (int m = 0; m < M; m++)
            x[i] = fmaf(hidden[i / V * M + m], matrix[i % V * M + m], x[i]);
    }
    for (int n = 0; n < N; n++) {
        at[n] = random_below(t, V);
        own[n] = (double)x[n * V + at[n]] - log_total(x + n * V);
        loss -= (double)weight[n] * own[n];
    }
    Tensor args[] = {F32(x, N, V), I64(at, N), F32(weight, N)}, out;
    if (run(t, "probs", 2, args, &out))
        near(t, "token_log_probs", &out, own, N, 1e-6);
    if (run(t, "loss", 3, args, &out))
        near(t, "cross_entropy", &out, &loss, 1, 1e-5);
    Tensor split[] = {F32(hidden, N, M), F32(matrix, V, M), I64(at, N), F32(weight, N)};
    if (run(t, "split_loss", 4, split, &out))
        near(t, "split_cross_entropy", &out, &loss, 1, 1e-5);
}

static float to_bf16(float x) {
    uint32_t u;
    memcpy(&u, &x, 4);
    u = (u + 0x7fff + (u >> 16 & 1)) & 0xffff0000u;
    memcpy(&x, &u, 4);
    return x;
}

static void test_norms(Test *t) {
    float x[ALL], w[V], b[V], eps = 0.01f;
    double rms[ALL], rms_16[ALL], layer[ALL];
    random_fill(t, x, ALL, 2);
    random_fill(t, w, V, 1);
    random_fill(t, b, V, 1);
    for (int n = 0; n < N; n++) {
        double square = 0, square_16 = 0, mean = 0, variance = 0;
        for (int v = 0; v < V; v++) {
            double at = (double)x[n * V + v], rounded = (double)to_bf16(x[n * V + v]);
            square += at * at / V;
            square_16 += rounded * rounded / V;
            mean += at / V;
        }
        for (int v = 0; v < V; v++)
            variance += pow((double)x[n * V + v] - mean, 2) / V;
        for (int v = 0; v < V; v++) {
            double at = (double)x[n * V + v], rounded = (double)to_bf16(x[n * V + v]);
            rms[n * V + v] = at / sqrt(square + (double)eps) * (double)w[v];
            float unit = to_bf16((float)(rounded / sqrt(square_16 + 1e-5)));
            rms_16[n * V + v] = (double)to_bf16(unit * to_bf16(w[v]));
            layer[n * V + v] = (at - mean) / sqrt(variance + 1e-5) * (double)w[v] + (double)b[v];
        }
    }
    Tensor args[] = {F32(x, N, V), F32(w, V), scalar(DT_F32, &eps)}, out;
    if (run(t, "rms", 3, args, &out))
        near(t, "rms_norm", &out, rms, ALL, 1e-6);
    if (run(t, "rms_16", 2, args, &out))
        near(t, "rms_norm in bf16", &out, rms_16, ALL, 0);
    args[2] = F32(b, V);
    if (run(t, "ln", 3, args, &out))
        near(t, "layer_norm", &out, layer, ALL, 1e-6);
}

// y [rows, out] = x [rows, in] w [out, in]^T + b.
static void affine(int rows, int in, int out, const double *x, const float *w, const float *b,
                   double *y) {
    for (int i = 0; i < rows * out; i++) {
        y[i] = b ? (double)b[i % out] : 0;
        for (int k = 0; k < in; k++)
            y[i] += x[i / out * in + k] * (double)w[i % out * in + k];
    }
}

static void test_linear(Test *t) {
    float x[ALL], a[M * V], b[M * V], c[V * M];
    double wide[ALL], up[N * M], gate[N * M], down[ALL], shifted[N * M];
    random_fill(t, x, ALL, 1);
    random_fill(t, a, M * V, 1);
    random_fill(t, b, M * V, 1);
    random_fill(t, c, V * M, 1);
    for (int i = 0; i < ALL; i++)
        wide[i] = (double)x[i];
    affine(N, V, M, wide, a, b, shifted);
    affine(N, V, M, wide, a, NULL, gate);
    affine(N, V, M, wide, b, NULL, up);
    for (int i = 0; i < N * M; i++)
        up[i] *= gate[i] * sigmoid(gate[i]);
    affine(N, M, V, up, c, NULL, down);
    Tensor args[] = {F32(x, N, V), F32(a, M, V), F32(b, M)}, out;
    if (run(t, "affine", 3, args, &out))
        near(t, "linear", &out, shifted, N * M, 1e-6);
    Tensor mlp[] = {F32(x, N, V), F32(a, M, V), F32(b, M, V), F32(c, V, M)};
    if (run(t, "gated", 4, mlp, &out))
        near(t, "swiglu", &out, down, ALL, 1e-6);
    static const int32_t ids[] = {8, 0, 3, 3, 1, 7};
    Tensor look[] = {I32(ids, 2, 3), F32(x, N, V)};
    if (run(t, "rows", 2, look, &out)) {
        for (int i = 0; i < 6; i++)
            CHECK(t, memcmp((const float *)out.data + i * V, x + ids[i] * V, V * sizeof *x) == 0);
    }
}

static void test_linalg(Test *t) {
    float x[30], y[60];
    double want[60] = {0};
    random_fill(t, x, 30, 1);
    random_fill(t, y, 60, 1);
    for (int i = 0; i < V; i++)
        want[0] += (double)x[i] * (double)y[i];
    Tensor args[] = {F32(x, V), F32(y, V)}, out;
    if (run(t, "inner", 2, args, &out))
        near(t, "dot", &out, want, 1, 1e-6);
    for (int i = 0; i < 12; i++)
        want[i] = (double)x[i / 4] * (double)y[i % 4];
    args[0] = F32(x, 3), args[1] = F32(y, 4);
    if (run(t, "dyad", 2, args, &out))
        near(t, "outer", &out, want, 12, 1e-6);
    for (int i = 0; i < 40; i++) {
        int p = i / 8, m = i / 4 % 2, n = i % 4;
        want[i] = 0;
        for (int k = 0; k < 3; k++)
            want[i] += (double)x[p * 6 + m * 3 + k] * (double)y[p * 12 + k * 4 + n];
    }
    args[0] = F32(x, 5, 2, 3), args[1] = F32(y, 5, 3, 4);
    if (run(t, "products", 2, args, &out))
        near(t, "batched_matmul", &out, want, 40, 1e-6);
    double turned[8];
    for (int i = 0; i < 8; i++)
        turned[i % 4 * 2 + i / 4] = want[i];
    args[0] = F32(x, 2, 3), args[1] = F32(y, 3, 4);
    if (run(t, "product", 2, args, &out))
        near(t, "transpose of matmul", &out, turned, 8, 1e-6);
}

static void test_rope(Test *t) {
    float x[144], angle[48], cosine[48], sine[48];
    double want[2][144], halves[12];
    random_fill(t, x, 144, 1);
    random_fill(t, angle, 48, 3);
    for (int i = 0; i < 48; i++) {
        float a = angle[i / 6 * 6 + i % 3]; // the second half repeats the first
        cosine[i] = cosf(a);
        sine[i] = sinf(a);
    }
    for (int i = 0; i < 144; i++) {
        int d = i % 6, s = i / 6 % 4, b = i / 72;
        double other = d < 3 ? -(double)x[i + 3] : (double)x[i - 3];
        for (int row = 0; row < 2; row++) {
            int at = (row ? b * 24 : 0) + s * 6 + d;
            want[row][i] = (double)x[i] * (double)cosine[at] + other * (double)sine[at];
        }
        if (i < 12)
            halves[i] = other;
    }
    Tensor args[] = {F32(x, 2, 3, 4, 6), F32(cosine, 4, 6), F32(sine, 4, 6)}, out;
    if (run(t, "turned", 3, args, &out))
        near(t, "rope", &out, want[0], 144, 1e-6);
    args[1] = F32(cosine, 2, 4, 6), args[2] = F32(sine, 2, 4, 6);
    if (run(t, "turned_rows", 3, args, &out))
        near(t, "rope_rows", &out, want[1], 144, 1e-6);
    args[0] = F32(x, 2, 6);
    if (run(t, "halves", 1, args, &out))
        near(t, "rotate_half", &out, halves, 12, 0);
}

int main(void) {
    Test t = {0};
    test_modules(&t);
    open_program(&t, program);
    test_activations(&t);
    test_softmax(&t);
    test_losses(&t);
    test_norms(&t);
    test_linear(&t);
    test_linalg(&t);
    test_rope(&t);
    return finish(&t);
}
