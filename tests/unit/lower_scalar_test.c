// The language's operators, literals, conversions and built-in functions of elements, from source
// through the interpreter.
#include "lower_help.h"

static const Case operators[] = {
    {"m", "Tensor[2, 3; f32]", "return m + m * 2.0 - m / 2.0", 6, {2.5, 5, 7.5, 10, 12.5, 15}},
    {"v", "Tensor[7; f32]", "return -v", 7, {-1, 2, -3, 4, -5, 6, -7}},
    {"v", "Tensor[7; f32]", "return +v", 7, {1, -2, 3, -4, 5, -6, 7}},
    {"ms", "Tensor[2, 3; f32]", "return m * s", 6, {2.5, 5, 7.5, 10, 12.5, 15}},
    {"ms", "Tensor[2, 3; f32]", "return s - m", 6, {1.5, .5, -.5, -1.5, -2.5, -3.5}},
    {"ij", "Tensor[6; i32]", "return i + j", 6, {9, -5, 2, -2, 4, 5}},
    // Integers are divided toward zero, and the remainder has the sign of the dividend.
    {"ij", "Tensor[6; i32]", "return i / j", 6, {3, -3, -1, -1, 0, 0}},
    {"ij", "Tensor[6; i32]", "return i % j", 6, {1, -1, 2, -2, 1, 0}},
    {"ij", "Tensor[6; i32]", "return i & j", 6, {2, 0, 4, 0, 1, 0}},
    {"ij", "Tensor[6; i32]", "return i | j", 6, {7, -5, -2, -2, 3, 5}},
    {"ij", "Tensor[6; i32]", "return i ^ j", 6, {5, -5, -6, -2, 2, 5}},
    {"ij", "Tensor[6; bool]", "return i < j", 6, {0, 1, 0, 1, 1, 1}},
    {"ij", "Tensor[6; bool]", "return i <= j", 6, {0, 1, 0, 1, 1, 1}},
    {"ij", "Tensor[6; bool]", "return i > j", 6, {1, 0, 1, 0, 0, 0}},
    {"ij", "Tensor[6; bool]", "return i >= j", 6, {1, 0, 1, 0, 0, 0}},
    {"i", "Tensor[6; bool]", "return i == 6", 6, {0, 0, 1, 0, 0, 0}},
    {"i", "Tensor[6; bool]", "return i != 6", 6, {1, 1, 0, 1, 1, 1}},
    {"t", "Tensor[3; bool]", "return t ^ true", 3, {0, 1, 0}},
    {"t", "Tensor[3; bool]", "return t & (t == false)", 3, {0, 0, 0}},
    {"t", "Tensor[3; bool]", "return t | (t != true)", 3, {1, 1, 1}},
    {"l", "bool", "return !l", 1, {0}},
    {"ls", "bool", "return l && s > 3.0 || s == 2.5", 1, {1}},
    // Integers wrap.
    {"u", "Tensor[4; u8]", "return u + 10", 4, {4, 13, 138, 9}},
    {"u", "Tensor[4; u8]", "return u * u", 4, {36, 9, 0, 1}},
    {"u", "Tensor[4; u8]", "return u - 4", 4, {246, 255, 124, 251}},
    {"i",
     "Tensor[6; i32]",
     "return i * 1000000000",
     6,
     {-1589934592, 1589934592, 1705032704, -1705032704, 1000000000, 0}},
    // NaN compares false, and differs from itself.
    {"n", "Tensor[4; bool]", "return n == n", 4, {0, 1, 1, 1}},
    {"n", "Tensor[4; bool]", "return n != n", 4, {1, 0, 0, 0}},
    {"n", "Tensor[4; bool]", "return n < 0.0", 4, {0, 0, 1, 1}},
    // Broadcasting, aligned from the right.
    {"mq", "Tensor[2, 3; f32]", "return m + q[0]", 6, {2, 4, 6, 5, 7, 9}},
    {"mq", "Tensor[2, 3; f32]", "return m + q[0:1]", 6, {2, 4, 6, 5, 7, 9}},
    {"m", "Tensor[2, 3; f32]", "return m - m[:, 0:1]", 6, {0, 1, 2, 0, 1, 2}},
    {"m",
     "Tensor[3, 3; f32]",
     "return reshape(m[0], [3, 1]) * m[1]",
     9,
     {4, 5, 6, 8, 10, 12, 12, 15, 18}},
    // Precedences: bitwise binds tighter than comparison; additive tighter than bitwise.
    {"i", "Tensor[6; bool]", "return i & 3 == 1", 6, {0, 1, 0, 0, 1, 0}},
    {"k", "i64", "return k | 1 + 4 ^ 7", 1, {2 | ((1 + 4) ^ 7)}},
    {"k", "i64", "return 2 * k - 3 - -k", 1, {3}},
};

static const Case constants[] = {
    {"", "i64", "return SIX * 7", 1, {42}},
    {"s", "f32", "return s * HALF", 1, {1.25}},
    {"", "f32", "return THIRD * 3.0", 1, {1}},
    {"", "f32", "return cast<f32>(SIX) / 4.0", 1, {1.5}},
    {"", "i64", "return 7 / 2 + (0 - 7) / 2 + (0 - 7) % 2", 1, {0}},
    {"", "i64", "return 0xff & 0b1010 | 1_000", 1, {(0xff & 10) | 1000}},
    {"", "Tensor[6; i64]", "return iota(SIX)", 6, {0, 1, 2, 3, 4, 5}},
    {"l", "f32", "return if l { 1.0 } else { 2.0 }", 1, {1}},
    {"l", "f32", "return select(l == false, 1, 2)", 1, {2}},
    {"", "bool", "return YES", 1, {1}},
    {"s", "f32", "let two = 1.0 + 1.0\n return s * cast<f32>(two)", 1, {5}},
    {"", "f32", "return dim_value(fill([5], 1.0))", 1, {5}},
    {"", "i64", "return below(fill([2], 1.0))", 1, {-3}},
    {"s", "f32", "return scaled(s)", 1, {7.5}},
    {"s", "f32", "return scaled(s, factor = 2.0)", 1, {5}},
    {"s", "f32", "return scaled(s, 4.0, 1.0)", 1, {11}},
    {"s", "f32", "let (a, b) = both(s)\n return a - b", 1, {-2.5}},
    {"s", "f32", "let ((a, b), c) = (both(s), 1.0)\n return a * b + cast<f32>(c)", 1, {13.5}},
    {"s", "f32", "return by_mode(s, Mode.Double)", 1, {5}},
    {"s", "f32", "return by_mode(s, Mode.Keep)", 1, {2.5}},
    {"s", "f32", "return by_mode(s, USUAL)", 1, {5}},
    {"s", "f32", "return plus(s)", 1, {2.5}},
    {"s", "f32", "return plus(s, some(1.0))", 1, {3.5}},
    {"s", "f32", "return plus(s, none)", 1, {2.5}},
    {"s", "f32", "return through(s, some(s))", 1, {5}},
    {"s", "f32", "return through(s)", 1, {2.5}},
    {"s", "f32", "var x = s\n x = x * x\n x = x + s\n return x", 1, {8.75}},
    {"s", "f32", "let x = s\n let x = x + 1.0\n return x", 1, {3.5}},
};

static const char items[] =
    "pub const SIX = 6\n"
    "pub const HALF: f32 = 0.5\n"
    "pub const THIRD: f32 = 1.0 / 3.0\n"
    "pub const YES: bool = true\n"
    "pub const USUAL = Mode.Double\n"
    "pub enum Mode { Keep, Double }\n"
    "pub fn dim_value<N: Dim>(x: Tensor[N; f32]) -> f32 {\n"
    "    return cast<f32>(N) + sum[i] 0.0 * x[i]\n"
    "}\n"
    "pub fn below<N: Dim>(x: Tensor[N; f32]) -> i64 { return N - 5 + 0 * cast<i64>(sum[i] x[i]) }\n"
    "pub fn scaled<T: Float>(x: T, factor: T = 3, bias: T = 0.0) -> T {\n"
    "    return x * factor + bias\n"
    "}\n"
    "pub fn both(x: f32) -> (f32, f32) { return (x, 2.0 * x) }\n"
    "pub fn by_mode(x: f32, mode: Mode) -> f32 {\n"
    "    return match mode { Keep => x Double => x + x }\n"
    "}\n"
    "pub fn plus(x: f32, y: f32? = none) -> f32 { return match y { some(v) => x + v none => x } }\n"
    "pub fn through(x: f32, y: f32? = none) -> f32 { return plus(x, y) }\n";

static const Case casts[] = {
    // To an integer: toward zero, saturating; NaN gives 0.
    {"n", "Tensor[4; i32]", "return cast<i32>(n)", 4, {0, 2147483647, -2147483648.0, -2}},
    {"n", "Tensor[4; u8]", "return cast<u8>(n)", 4, {0, 255, 0, 0}},
    {"v", "Tensor[7; i8]", "return cast<i8>(v * 50.0)", 7, {50, -100, 127, -128, 127, -128, 127}},
    {"v", "Tensor[7; i16]", "return cast<i16>(v / 2.0)", 7, {0, -1, 1, -2, 2, -3, 3}},
    {"v", "Tensor[7; u32]", "return cast<u32>(v)", 7, {1, 0, 3, 0, 5, 0, 7}},
    {"v", "Tensor[7; u64]", "return cast<u64>(v)", 7, {1, 0, 3, 0, 5, 0, 7}},
    {"v", "Tensor[7; i64]", "return cast<i64>(v)", 7, {1, -2, 3, -4, 5, -6, 7}},
    {"n",
     "Tensor[4; i64]",
     "return cast<i64>(n)",
     4,
     {0, 9223372036854775807.0, -9223372036854775808.0, -2}},
    // Between integers: wrapping.
    {"i", "Tensor[6; u8]", "return cast<u8>(i)", 6, {7, 249, 6, 250, 1, 0}},
    {"i", "Tensor[6; u16]", "return cast<u16>(i)", 6, {7, 65529, 6, 65530, 1, 0}},
    {"u", "Tensor[4; i8]", "return cast<i8>(u)", 4, {-6, 3, -128, -1}},
    {"u", "Tensor[4; i64]", "return cast<i64>(u)", 4, {250, 3, 128, 255}},
    // bool.
    {"t", "Tensor[3; i32]", "return cast<i32>(t)", 3, {1, 0, 1}},
    {"t", "Tensor[3; f32]", "return cast<f32>(t)", 3, {1, 0, 1}},
    {"i", "Tensor[6; bool]", "return cast<bool>(i)", 6, {1, 1, 1, 1, 1, 0}},
    // Between floats: to nearest, ties to even.
    {"s", "bf16", "return cast<bf16>(s * 100.3)", 1, {251}},
    {"s", "f16", "return cast<f16>(s * 1000.3)", 1, {2500}},
    {"s", "f64", "return cast<f64>(s)", 1, {2.5}},
    {"b", "Tensor[4; f32]", "return cast<f32>(b)", 4, {256, 1, 1, 1}},
    {"h", "Tensor[4; f32]", "return cast<f32>(h)", 4, {2048, 1, 1, 1}},
    {"i", "Tensor[6; f64]", "return cast<f64>(i)", 6, {7, -7, 6, -6, 1, 0}},
    {"k", "f32", "return cast<f32>(k)", 1, {2}},
    // Every operation in bf16 and f16 rounds.
    {"b", "Tensor[4; bf16]", "return b + 1.0", 4, {256, 2, 2, 2}},
    {"h", "Tensor[4; f16]", "return h + 1.0", 4, {2048, 2, 2, 2}},
    {"b", "Tensor[4; bf16]", "return b * 1.0078125 * 3.0", 4, {776, 3.03125, 3.03125, 3.03125}},
};

static const Case builtins[] = {
    {"v", "Tensor[7; f32]", "return abs(v)", 7, {1, 2, 3, 4, 5, 6, 7}},
    {"i", "Tensor[6; i32]", "return abs(i)", 6, {7, 7, 6, 6, 1, 0}},
    {"ij", "Tensor[6; i32]", "return min(i, j)", 6, {2, -7, -4, -6, 1, 0}},
    {"ij", "Tensor[6; i32]", "return max(i, j)", 6, {7, 2, 6, 4, 3, 5}},
    {"v", "Tensor[7; f32]", "return max(v, 0.0)", 7, {1, 0, 3, 0, 5, 0, 7}},
    {"n", "Tensor[4; f32]", "return max(n, 0.0)", 4, {NAN, INFINITY, 0, 0}},
    {"n", "Tensor[4; f32]", "return min(0.0, n)", 4, {NAN, 0, -INFINITY, -2.75}},
    {"", "i64", "return max(3, 8) - min(3, 8)", 1, {5}},
    {"i", "Tensor[6; i32]", "return shl(i, 2)", 6, {28, -28, 24, -24, 4, 0}},
    {"i", "Tensor[6; i32]", "return shr(i, 1)", 6, {3, -4, 3, -3, 0, 0}},
    {"u", "Tensor[4; u8]", "return shr(u, 1)", 4, {125, 1, 64, 127}},
    {"k", "i64", "return shl(1, k)", 1, {4}},
    {"s", "f32", "return exp(s)", 1, {12.182493960703473}},
    {"s", "f32", "return log(s)", 1, {0.9162907318741551}},
    {"s", "f32", "return sqrt(s)", 1, {1.5811388300841898}},
    {"s", "f32", "return rsqrt(s)", 1, {0.6324555320336759}},
    {"s", "f32", "return sin(s)", 1, {0.5984721441039565}},
    {"s", "f32", "return cos(s)", 1, {-0.8011436155469337}},
    {"s", "f32", "return tanh(s)", 1, {0.9866142981514303}},
    {"s", "f64", "return sqrt(cast<f64>(s))", 1, {1.5811388300841898}},
    {"tm", "Tensor[2, 3; f32]", "return select(t, m, -m)", 6, {1, -2, 3, 4, -5, 6}},
    {"tm", "Tensor[2, 3; f32]", "return select(t, m, 0.0)", 6, {1, 0, 3, 4, 0, 6}},
    {"tm", "Tensor[2, 3; f32]", "return select(m > 2.0, 1.0, m)", 6, {1, 2, 1, 1, 1, 1}},
    {"t", "Tensor[3; f32]", "return select(t, 1.0, 2.0)", 3, {1, 2, 1}},
    {"lq", "Tensor[3; f32]", "return select(l, q[0], q[1])", 3, {1, 2, 3}},
    // The branch that is not taken has no effect, whatever it would give.
    {"v",
     "Tensor[7; f32]",
     "return select(v > 0.0, sqrt(v * v), sqrt(v))",
     7,
     {1, NAN, 3, NAN, 5, NAN, 7}},
    {"i", "Tensor[6; i32]", "return select(i == 0, 0, 42 / i)", 6, {6, -6, 7, -7, 42, 0}},
    {"lmq", "Tensor[3; f32]", "return if l { m[0] } else { q[2] }", 3, {1, 2, 3}},
    {"smq", "Tensor[3; f32]", "return if s > 3.0 { m[0] } else { q[2] }", 3, {7, 8, 9}},
};

int main(void) {
    Test t = {0};
    run_cases(&t, "", operators, COUNT(operators), 1);
    run_cases(&t, items, constants, COUNT(constants), 1);
    run_cases(&t, "", casts, COUNT(casts), 1);
    run_cases(&t, "", builtins, COUNT(builtins), 1);
    return finish_cases(&t);
}
