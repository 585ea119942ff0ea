// Slices, positions, shapes and index notation, from source through the interpreter.
#include "lower_help.h"

static const Case slices[] = {
    {"v", "f32", "return v[3]", 1, {-4}},
    {"q", "Tensor[3; f32]", "return q[1]", 3, {4, 5, 6}},
    {"q", "Tensor[3; f32]", "return q[:, 1]", 3, {2, 5, 8}},
    {"q", "Tensor[3; f32]", "return q[..., 2]", 3, {3, 6, 9}},
    {"c", "Tensor[2, 2; f32]", "return c[..., 0]", 4, {1, 4, 7, 10}},
    {"c", "Tensor[2, 3; f32]", "return c[:, 1]", 6, {4, 5, 6, 10, 11, 12}},
    {"c", "Tensor[3; f32]", "return c[1, ..., 0, :]", 3, {7, 8, 9}},
    {"v", "Tensor[3; f32]", "return v[1:4]", 3, {-2, 3, -4}},
    {"v", "Tensor[3; f32]", "return v[:3]", 3, {1, -2, 3}},
    {"v", "Tensor[3; f32]", "return v[4:]", 3, {5, -6, 7}},
    {"v", "Tensor[7; f32]", "return v[:]", 7, {1, -2, 3, -4, 5, -6, 7}},
    {"v", "Tensor[4; f32]", "return v[::2]", 4, {1, 3, 5, 7}},
    {"v", "Tensor[3; f32]", "return v[1::2]", 3, {-2, -4, -6}},
    {"v", "Tensor[3; f32]", "return v[0:7:3]", 3, {1, -4, 7}},
    {"v", "Tensor[2; f32]", "return v[1:6:3]", 2, {-2, 5}},
    {"v", "Tensor[2; f32]", "return v[5:100]", 2, {-6, 7}},
    {"v", "Tensor[0; f32]", "return v[3:3]", 0, {0}},
    {"v", "Tensor[0; f32]", "return v[5:2]", 0, {0}},
    {"v", "Tensor[2; f32]", "return v[1:7][1:5:2]", 2, {3, 5}},
    {"q", "Tensor[2, 2; f32]", "return q[1:, 0::2]", 4, {4, 6, 7, 9}},
    {"m", "Tensor[2, 2; f32]", "return m[..., 0::2]", 4, {1, 3, 4, 6}},
    {"q", "f32", "return q[2][0]", 1, {7}},
    // Positions known at run time.
    {"qk", "Tensor[3; f32]", "return q[k]", 3, {7, 8, 9}},
    {"qk", "Tensor[2; f32]", "return q[1:, k]", 2, {6, 9}},
    {"qp", "f32", "return q[p[0], p[2]]", 1, {8}},
    {"vk", "f32", "return v[k * 2 + 1]", 1, {-6}},
};

static const Case shapes[] = {
    {"m", "Tensor[3, 2; f32]", "return reshape(m, [3, 2])", 6, {1, 2, 3, 4, 5, 6}},
    {"m", "Tensor[6; f32]", "return reshape(m, [6])", 6, {1, 2, 3, 4, 5, 6}},
    {"c",
     "Tensor[4, 3; f32]",
     "return reshape(c, [4, 3]) * 2.0",
     12,
     {2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24}},
    {"s", "Tensor[1, 1; f32]", "return reshape(s, [1, 1])", 1, {2.5}},
    {"m", "Tensor[3, 2; f32]", "return permute(m, [1, 0])", 6, {1, 4, 2, 5, 3, 6}},
    {"c",
     "Tensor[3, 2, 2; f32]",
     "return permute(c, [2, 0, 1])",
     12,
     {1, 4, 7, 10, 2, 5, 8, 11, 3, 6, 9, 12}},
    {"c",
     "Tensor[2, 3, 2; f32]",
     "return permute(c, [1, 2, 0])",
     12,
     {1, 7, 2, 8, 3, 9, 4, 10, 5, 11, 6, 12}},
    {"m", "Tensor[2, 3; f32]", "return permute(permute(m, [1, 0]), [1, 0])", 6, {1, 2, 3, 4, 5, 6}},
    {"v",
     "Tensor[10; f32]",
     "return concat(v[0:2], v, v[6:], axis = 0)",
     10,
     {1, -2, 1, -2, 3, -4, 5, -6, 7, 7}},
    {"m",
     "Tensor[2, 5; f32]",
     "return concat(m[:, 2:3], m, m[:, 0:1], axis = -1)",
     10,
     {3, 1, 2, 3, 1, 6, 4, 5, 6, 4}},
    {"mq",
     "Tensor[4, 3; f32]",
     "return concat(m, q, axis = -2)[0:4]",
     12,
     {1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6}},
    {"mz", "Tensor[2, 3; f32]", "return concat(z, m, z, axis = 0)", 6, {1, 2, 3, 4, 5, 6}},
    {"m",
     "Tensor[3, 4; f32]",
     "return concat(permute(m, [1, 0]), permute(-m, [1, 0]), axis = 1)",
     12,
     {1, 4, -1, -4, 2, 5, -2, -5, 3, 6, -3, -6}},
    {"q", "Tensor[2, 3; f32]", "return broadcast_to(q[2], [2, 3])", 6, {7, 8, 9, 7, 8, 9}},
    {"q", "Tensor[3, 2; f32]", "return broadcast_to(q[:, 0:1], [3, 2])", 6, {1, 1, 4, 4, 7, 7}},
    {"s", "Tensor[2, 2; f32]", "return broadcast_to(s, [2, 2])", 4, {2.5, 2.5, 2.5, 2.5}},
    {"s", "Tensor[2, 2; f32]", "return fill([2, 2], s)", 4, {2.5, 2.5, 2.5, 2.5}},
    {"", "Tensor[3; f32]", "return fill<f32>([3], 1.5)", 3, {1.5, 1.5, 1.5}},
    {"", "Tensor[3; i32]", "return fill([3], 4)", 3, {4, 4, 4}},
    {"", "Tensor[2; bool]", "return fill([2], true)", 2, {1, 1}},
    {"", "Tensor[4; i64]", "return iota(4)", 4, {0, 1, 2, 3}},
    {"", "Tensor[4; i32]", "return iota<i32>(4)", 4, {0, 1, 2, 3}},
    {"", "Tensor[4; f32]", "return iota<f32>(4) * 0.5", 4, {0, .5, 1, 1.5}},
    {"", "Tensor[3; bf16]", "return iota<bf16>(259)[256:]", 3, {256, 256, 258}},
    {"", "Tensor[3; u8]", "return iota<u8>(259)[256:]", 3, {0, 1, 2}},
    {"", "Tensor[0; i64]", "return iota(0)", 0, {0}},
    {"", "Tensor[2, 2; i64]", "return reshape(iota(4), [2, 2]) + iota(2)", 4, {0, 2, 2, 4}},
};

static const Case notation[] = {
    {"m", "Tensor[3, 2; f32]", "let y[j, i] = m[i, j]\n return y", 6, {1, 4, 2, 5, 3, 6}},
    {"q", "Tensor[3; f32]", "let y[i] = q[i, i]\n return y", 3, {1, 5, 9}},
    {"q", "f32", "return sum[i] q[i, i]", 1, {15}},
    {"mq",
     "Tensor[2, 3; f32]",
     "let y[i, j] = sum[k] m[i, k] * q[k, j]\n return y",
     6,
     {30, 36, 42, 66, 81, 96}},
    {"m", "f32", "return sum[i, j] m[i, j]", 1, {21}},
    {"m", "Tensor[2; f32]", "let y[i] = prod[j] m[i, j]\n return y", 2, {6, 120}},
    {"m", "Tensor[3; f32]", "let y[j] = max[i] m[i, j]\n return y", 3, {4, 5, 6}},
    {"m", "Tensor[3; f32]", "let y[j] = min[i] -m[i, j]\n return y", 3, {-4, -5, -6}},
    {"t", "bool", "return any[i] t[i]", 1, {1}},
    {"t", "bool", "return all[i] t[i]", 1, {0}},
    {"v", "bool", "return all[i] (abs(v[i]) > 0.5)", 1, {1}},
    // A reduction reaches as far right as it can.
    {"m", "f32", "return sum[i, j] m[i, j] / 3.0 + 1.0", 1, {13}},
    {"m", "f32", "return (sum[i, j] m[i, j]) / 3.0 + 1.0", 1, {8}},
    {"v", "f32", "return 1.0 + sum[i] -v[i] * 2.0", 1, {-7}},
    // Empty axes give the identities.
    {"z", "f32", "return sum[i, j] z[i, j]", 1, {0}},
    {"z", "Tensor[3; f32]", "let y[j] = prod[i] z[i, j]\n return y", 3, {1, 1, 1}},
    {"z", "f32", "return max[i, j] z[i, j]", 1, {-INFINITY}},
    {"z", "f32", "return min[i, j] z[i, j]", 1, {INFINITY}},
    {"z", "bool", "return any[i, j] (z[i, j] > 0.0)", 1, {0}},
    {"z", "bool", "return all[i, j] (z[i, j] > 0.0)", 1, {1}},
    {"", "i32", "return max[i] iota<i32>(0)[i]", 1, {-2147483648.0}},
    {"", "u8", "return min[i] iota<u8>(0)[i]", 1, {255}},
    {"", "u8", "return max[i] iota<u8>(0)[i]", 1, {0}},
    // NaN wins in max and min.
    {"n", "f32", "return max[i] n[i]", 1, {NAN}},
    {"n", "f32", "return min[i] n[i]", 1, {NAN}},
    // Integer sums wrap.
    {"u", "u8", "return sum[i] u[i]", 1, {(250 + 3 + 128 + 255) % 256}},
    {"u", "u8", "return prod[i] u[i]", 1, {(double)(250u * 3 * 128 * 255 % 256)}},
    // Sums of small floats are taken in f32 and rounded once.
    {"b", "bf16", "return sum[i] b[i]", 1, {260}},
    {"b", "bf16", "return sum[i] b[i] * b[i]", 1, {65536}},
    {"h", "f16", "return sum[i] h[i]", 1, {2052}},
    {"b", "f32", "return sum<f32>[i] cast<f32>(b[i])", 1, {259}},
    {"b",
     "Tensor[2; bf16]",
     "let x[i, j] = reshape(b, [2, 2])[i, j]\n let y[i] = sum[j] x[i, j]\n return y",
     2,
     {256, 2}},
    // Gathers.
    {"qp",
     "Tensor[3, 3; f32]",
     "let y[i, j] = q[p[i], j]\n return y",
     9,
     {7, 8, 9, 1, 2, 3, 4, 5, 6}},
    {"qp", "Tensor[3; f32]", "let y[i] = q[i, p[i]]\n return y", 3, {3, 4, 8}},
    {"vp", "Tensor[3; f32]", "let y[i] = v[p[i] + 2]\n return y", 3, {5, 3, -4}},
    {"qpk", "Tensor[3; f32]", "let y[i] = q[k, p[p[i]]]\n return y", 3, {8, 9, 7}},
    {"q", "Tensor[3; f32]", "let y[i] = q[1, i] + q[i, 0]\n return y", 3, {5, 9, 13}},
    {"v",
     "Tensor[7; f32]",
     "let y[i] = v[max(iota(7)[i] - 1, 0)]\n return y",
     7,
     {1, 1, -2, 3, -4, 5, -6}},
    // Nested reductions and values inside of bodies.
    {"m",
     "Tensor[2, 3; f32]",
     "let y[i, j] = m[i, j] / (sum[k] m[i, k])\n return y",
     6,
     {1.0 / 6, 2.0 / 6, .5, 4.0 / 15, 1.0 / 3, .4}},
    {"m", "f32", "return sum[i] (prod[j] m[i, j])", 1, {126}},
    {"m", "f32", "return max[i] sum[j] m[i, j]", 1, {15}},
    {"mq",
     "Tensor[2; f32]",
     "let y[i] = sum[j] m[i, j] * (max[k] q[j, k])\n return y",
     2,
     {3 + 12 + 27, 12 + 30 + 54}},
    {"ms",
     "Tensor[2, 3; f32]",
     "let y[i, j] = if m[i, j] > s { m[i, j] } else { s }\n return y",
     6,
     {2.5, 2.5, 3, 4, 5, 6}},
    {"ml",
     "Tensor[2, 3; bool]",
     "let y[i, j] = m[i, j] > 1.0 && m[i, j] < 6.0 && l\n return y",
     6,
     {0, 1, 1, 1, 1, 0}},
    {"m",
     "Tensor[2, 3; f32]",
     "let y[i, j] = square(m[i, j]) + 1.0\n return y",
     6,
     {2, 5, 10, 17, 26, 37}},
    {"m", "f32", "return sum[i, j] mixed(m[i, j], m[i, j] > 3.0)", 1, {1 + 2 + 3 - 4 - 5 - 6}},
    {"m",
     "Tensor[2, 3; f32]",
     "let y[i, j] = fourth(m[i, j])\n return y",
     6,
     {1, 16, 81, 256, 625, 1296}},
    {"m", "f32", "return sum[i, j] stepped(m[i, j])", 1, {2 * 21 - 6}},
    {"vp", "Tensor[3; f32]", "let y[i] = taken(v, p[i])\n return y", 3, {3, 1, -2}},
    {"q", "f32", "let sum = sum[i] q[i, i]\n return sum", 1, {15}},
    {"q", "Tensor[3; f32]", "let q[q] = q[q, 0]\n return q", 3, {1, 4, 7}},
};

static const Case packs[] = {
    {"s", "f32", "return doubled(s)", 1, {5}},
    {"v", "Tensor[7; f32]", "return doubled(v)", 7, {2, -4, 6, -8, 10, -12, 14}},
    {"m", "Tensor[2, 3; f32]", "return doubled(m)", 6, {2, 4, 6, 8, 10, 12}},
    {"v", "f32", "return total(v)", 1, {4}},
    {"m", "Tensor[2; f32]", "return total(m)", 2, {6, 15}},
    {"c", "Tensor[2, 2; f32]", "return total(c)", 4, {6, 15, 24, 33}},
    {"m", "f32", "return grand(m)", 1, {21}},
    {"s", "f32", "return grand(s)", 1, {2.5}},
    {"m", "Tensor[2, 6; f32]", "return twice(m)", 12, {1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}},
    {"t", "Tensor[6; f32]", "return twice(cast<f32>(t))", 6, {1, 0, 1, 1, 0, 1}},
    {"m", "Tensor[2; f32]", "return first(m)", 2, {1, 4}},
    {"c", "Tensor[2, 2; f32]", "return first<[2, 2]>(c)", 4, {1, 4, 7, 10}},
    {"c", "Tensor[4; f32]", "return flat(c)", 4, {6, 15, 24, 33}},
};

static const Case loops[] = {
    {"s", "f32", "var x = s\n static for _i in 0..3 {\n x = x + s\n }\n return x", 1, {10}},
    {"k", "i64", "var x = k\n static for i in 2..5 {\n x = x * 10 + i\n }\n return x", 1, {2234}},
    {"k", "i64", "var x = k\n static for i in 0..0 {\n x = x + i\n }\n return x", 1, {2}},
    {"k",
     "i64",
     "var x = k\n var y = 1\n static for _i in 0..4 {\n let z = x\n x = x + y\n y = z\n }\n return "
     "x",
     1,
     {13}},
    {"k",
     "i64",
     "var x = 0\n static for i in 0..3 {\n static for j in 0..3 {\n x = x * 2 + i * j\n }\n }\n "
     "return x + k",
     1,
     {(((0 * 8) + 0 * 4 + 1 * 2 + 2) * 8) + 0 * 4 + 2 * 2 + 4 + 2}},
    {"v",
     "Tensor[7; f32]",
     "var x = v\n static for i in 0..2 {\n x = x * cast<f32>(i + 1)\n }\n return x",
     7,
     {2, -4, 6, -8, 10, -12, 14}},
    {"v", "f32", "return rounds(v)", 1, {7 * 4}},
};

static const char items[] =
    "pub fn times<N: Dim>(x: Tensor[N; f32], y: Tensor[N; f32]) -> Tensor[N; f32] {\n"
    "    return x * y\n"
    "}\n"
    "pub fn mixed_up<N: Dim, M: Dim>(x: Tensor[N; f32], y: Tensor[M; f32]) -> Tensor[M; f32]\n"
    "    where N == M { return times(x, y) }\n"
    "pub fn replaced<N: Dim, M: Dim>(x: Tensor[N; f32], y: Tensor[M; f32]) -> Tensor[M; f32]\n"
    "    where N == M {\n    var z = x\n    static for _i in 0..3 {\n        z = y * 2.0\n    }\n"
    "    return z\n}\n"
    "pub fn square(x: f32) -> f32 { return x * x }\n"
    "pub fn fourth(x: f32) -> f32 {\n    let y = square(x)\n    return square(x) * y\n}\n"
    "pub fn stepped(x: f32) -> f32 {\n    var y = x\n    y = y + x\n    return y - 1.0\n}\n"
    "pub fn taken<N: Dim>(t: Tensor[N; f32], at: i32) -> f32 { return t[at] }\n"
    "pub fn mixed(x: f32, flip: bool) -> f32 {\n let y = -x\n return if flip { y } else { x }\n}\n"
    "pub fn doubled<*S: Shape>(x: Tensor[*S; f32]) -> Tensor[*S; f32] {\n"
    "    let y[*s] = x[*s] + x[*s]\n    return y\n}\n"
    "pub fn total<*S: Shape, N: Dim>(x: Tensor[*S, N; f32]) -> Tensor[*S; f32] {\n"
    "    let y[*s] = sum[i] x[*s, i]\n    return y\n}\n"
    "pub fn grand<*S: Shape>(x: Tensor[*S; f32]) -> f32 { return sum[*s] x[*s] }\n"
    "pub fn twice<*S: Shape, N: Dim>(x: Tensor[*S, N; f32]) -> Tensor[*S, 2 * N; f32] {\n"
    "    return concat(x, x, axis = -1)\n}\n"
    "pub fn first<*S: Shape>(x: Tensor[*S, 3; f32]) -> Tensor[*S; f32] { return x[..., 0] }\n"
    "pub fn flat<A: Dim, B: Dim, C: Dim>(x: Tensor[A, B, C; f32]) -> Tensor[A * B; f32] {\n"
    "    return total(reshape(x, [A * B, C]))\n}\n"
    "pub fn rounds<N: Dim>(x: Tensor[N; f32]) -> f32 where N > 0 {\n"
    "    var y = sum[i] x[i]\n    static for _i in 1..N {\n        y = y + 4.0\n    }\n    return "
    "y\n}\n";

// Extents that only a where clause makes equal.
static const Case equals[] = {
    {"qm", "Tensor[3; f32]", "return mixed_up(q[0], m[1])", 3, {4, 10, 18}},
    {"qm", "Tensor[3; f32]", "return replaced(q[0], m[1])", 3, {8, 10, 12}},
};

static const Case tuples[] = {
    {"ms", "(Tensor[2, 3; f32], f32)", "return (m, s)", 7, {1, 2, 3, 4, 5, 6, 2.5}},
    {"m", "(f32, (f32, f32))", "return (m[0, 0], (m[0, 1], m[0, 2]))", 3, {1, 2, 3}},
    {"m",
     "(Tensor[3; f32], Tensor[3; f32])",
     "let (a, b) = (m[0], m[1])\n return (b, a)",
     6,
     {4, 5, 6, 1, 2, 3}},
};

int main(void) {
    Test t = {0};
    run_cases(&t, "", slices, COUNT(slices), 1);
    run_cases(&t, "", shapes, COUNT(shapes), 1);
    run_cases(&t, items, notation, COUNT(notation), 1);
    run_cases(&t, items, packs, COUNT(packs), 1);
    run_cases(&t, items, loops, COUNT(loops), 1);
    run_cases(&t, items, equals, COUNT(equals), 1);
    run_case(&t, "", &tuples[0], 2);
    run_case(&t, "", &tuples[1], 3);
    run_case(&t, "", &tuples[2], 2);
    return finish_cases(&t);
}
