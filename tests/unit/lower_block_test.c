// Blocks from source through the interpreter: paths of weights, optional members, arrays, methods;
// and what the lowering refuses, by name.
#include "lower_help.h"

static const char model[] =
    "module t\n"
    "block Linear<I: Dim, O: Dim, T: Float = f32> {\n"
    "    param weight: Tensor[O, I; T]\n"
    "    param bias: Tensor[O; T]? = none\n"
    "    pub fn forward<*S: Shape>(x: Tensor[*S, I; T]) -> Tensor[*S, O; T] {\n"
    "        let y[*s, o] = sum[i] x[*s, i] * weight[o, i]\n"
    "        return match bias { some(b) => y + b none => y }\n"
    "    }\n"
    "}\n"
    "block Layer<H: Dim> {\n"
    "    sub up: Linear<H, 2 * H>\n"
    "    sub down: Linear<2 * H, H>\n"
    "    sub gate: Linear<H, H>? = none\n"
    "    pub fn forward(x: Tensor[H; f32]) -> Tensor[H; f32] {\n"
    "        let y = down.forward(up.forward(x))\n"
    "        return match gate { some(g) => y * g.forward(x) none => y }\n"
    "    }\n"
    "}\n"
    "pub block Model<H: Dim = 2, N: Dim = 3> where N > 0, H > 0 {\n"
    "    sub layers: [Layer<H>; N]\n"
    "    param scale: Tensor[H; f32]\n"
    "    fn twice(x: Tensor[H; f32]) -> Tensor[H; f32] { return x * scale + x * scale }\n"
    "    pub entry run(x: Tensor[H; f32]) -> Tensor[H; f32] {\n"
    "        var y = x\n"
    "        static for layer in layers {\n"
    "            y = y + layer.forward(y)\n"
    "        }\n"
    "        return twice(y) + layers[N - 1].forward(x) - layers[0].up.weight[0]\n"
    "    }\n"
    "}\n";

typedef struct {
    Test *t;
    bool bias, gate; // which optional members the weights have
    int asked;       // weights asked for
    float data[64][8];
} Weights;

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text), k = strlen(end);
    return n >= k && strcmp(text + n - k, end) == 0;
}

static bool present(void *ctx, const char *path) {
    const Weights *w = ctx;
    if (strstr(path, "gate"))
        return w->gate && ends_with(path, "gate.weight");
    return w->bias && ends_with(path, "down.bias");
}

// Element i of the weight: a number that depends on the path alone.
static float weight_at(const char *path, int i) {
    unsigned h = 17;
    for (const char *p = path; *p; p++)
        h = h * 31 + (unsigned char)*p;
    return (float)((int)((h + 7u * (unsigned)i) % 9) - 4) * 0.25f;
}

static bool give(void *ctx, const char *path, const CoreType *type, Tensor *out) {
    Weights *w = ctx;
    float *data = w->data[w->asked++];
    *out = (Tensor){.dtype = DT_F32, .rank = type->rank, .data = data};
    int n = 1;
    for (int i = 0; i < type->rank; i++) {
        out->dims[i] = 0;
        dim_is_const(type->dims[i], &out->dims[i]);
        n *= (int)out->dims[i];
    }
    for (int i = 0; i < n; i++)
        data[i] = weight_at(path, i);
    return true;
}

static void affine(const char *path, int in, int out, bool bias, const float *x, float *y) {
    char name[64];
    for (int o = 0; o < out; o++) {
        y[o] = 0;
        snprintf(name, sizeof name, "%s.weight", path);
        for (int i = 0; i < in; i++)
            y[o] += x[i] * weight_at(name, o * in + i);
        snprintf(name, sizeof name, "%s.bias", path);
        y[o] += bias ? weight_at(name, o) : 0;
    }
}

static void layer(const Weights *w, int number, const float *x, float *y) {
    char up[32], down[32], gate[32];
    float wide[4], gated[2];
    snprintf(up, sizeof up, "layers.%d.up", number);
    snprintf(down, sizeof down, "layers.%d.down", number);
    snprintf(gate, sizeof gate, "layers.%d.gate", number);
    affine(up, 2, 4, false, x, wide);
    affine(down, 4, 2, w->bias, wide, y);
    affine(gate, 2, 2, false, x, gated);
    for (int i = 0; i < 2 && w->gate; i++)
        y[i] *= gated[i];
}

static void expect(const Weights *w, const float *x, float *y) {
    float at[2] = {x[0], x[1]}, add[2];
    for (int n = 0; n < 3; n++) {
        layer(w, n, at, add);
        at[0] += add[0];
        at[1] += add[1];
    }
    layer(w, 2, x, add);
    for (int i = 0; i < 2; i++)
        y[i] = 2 * at[i] * weight_at("scale", i) + add[i] - weight_at("layers.0.up.weight", i);
}

static void test_model(Test *t, bool bias, bool gate) {
    Weights w = {.t = t, .bias = bias, .gate = gate};
    Test one = {0};
    char error[256] = "";
    float x[] = {0.5f, -1.25f}, want[2];
    open_program(&one, model);
    Item *block = find_entry(one.program, "Model");
    GenericArg args[2] = {block->generics.data[0].value, block->generics.data[1].value};
    Core *core = core_new(one.s, one.program->dims);
    LowerOptions o = {.program = one.program, .core = core, .block_args = args};
    o.present = present;
    o.ctx = &w;
    CoreFn *fn = lower_entry(&o, block, block->items.data[1], NULL);
    StrBuf faults = strbuf_new(one.s->arena);
    CHECK(t, fn && core_verify(core, &faults));
    Interp *it = interp_new(core, NULL);
    InterpBlock *self = fn ? interp_block(it, fn->self, give, &w, error, sizeof error) : NULL;
    CHECK(t, self && w.asked == 7 + 3 * bias + 3 * gate);
    Tensor in = F32(x, 2), out;
    bool good = self && interp_call(it, fn, self, 1, &in, &out, error, sizeof error);
    expect(&w, x, want);
    for (int i = 0; good && i < 2; i++)
        good = fabs(element(&out, i) - (double)want[i]) <= 1e-5 * (1 + fabs((double)want[i]));
    if (!good)
        printf("bias %d, gate %d: %s%s\n", bias, gate, error, faults.data ? faults.data : "");
    CHECK(t, good);
    interp_free(it);
    session_free(one.s);
}

// ---- Refusals ----------------------------------------------------------------------------------

// What the lowering does not do, or what the generics bound make wrong, is refused, never skipped.
static const struct {
    const char *text;
    const char *message; // a part of it
} refused[] = {
    {"entry e(x: Tensor[4; f32]) -> Tensor[4; f32] { let y[i] = f(x[i])\n return y }\n"
     "fn f(x: f32) -> f32 { return sum[i] iota<f32>(3)[i] * x }\n",
     "an element inside of a value of its own"},
    {"entry e(x: Tensor[4; f32]) -> Tensor[4; f32] { let y[i] = f(x[i])\n return y }\n"
     "fn f(x: f32) -> f32 { return fill([2], x)[1] + reshape(fill([2], x), [2])[0] }\n",
     "an element inside of a value of its own"},
    {"block B<H: Dim = 2> { param w: Tensor[H - 4; f32]\n"
     " entry e(x: f32) -> f32 { return x + sum[i] w[i] } }\n",
     "a dimension is -2"},
    {"block A<H: Dim> { param w: Tensor[H; f32]\n pub fn f() -> f32 { return sum[i] w[i] } }\n"
     "block B<N: Dim = 2> { sub a: [A<3>; N - 4]\n entry e(x: f32) -> f32 {\n var y = x\n"
     " static for b in a {\n y = y + b.f()\n }\n return y\n } }\n",
     "a dimension is -2"},
    {"block B<H: Dim = 2> where H > 4 { param w: Tensor[H; f32]\n"
     " entry e(x: f32) -> f32 { return x + sum[i] w[i] } }\n",
     "needs `H > 4`"},
    {"entry e<N: Dim = 2>(x: Tensor[N; f32]) -> Tensor[N; f32] where N % 2 == 1 { return x }\n",
     "needs `N % 2 == 1`"},
    {"enum M { A, B }\nentry e(m: M) -> bool { return m == M.A }\n", "entries take tensors"},
    {"block B { param w: Tensor[4; f32]\n pub fn f() -> f32 { return w[0] } }\n"
     "block C { sub a: [B; 100000000000]\n entry e() -> f32 { return a[5].f() } }\n",
     "more than 65536 sub-blocks"},
};

// Long chains of declarations end in a diagnostic, in either order, not in a full stack.
static void test_chain(Test *t, const char *last, const char *link, bool forward, bool checks) {
    enum { LINKS = 20000 };
    Session *s = session_new();
    StrBuf b = strbuf_new(s->arena);
    strbuf_printf(&b, "module t\n");
    for (int i = 0; i < LINKS; i++) {
        int n = forward ? i : LINKS - 1 - i;
        bool end = n == LINKS - 1;
        char next[16];
        snprintf(next, sizeof next, "A%d", n + 1);
        for (const char *p = end ? last : link; *p; p++) {
            if (*p == '#')
                strbuf_printf(&b, "A%d", n);
            else if (*p == '^')
                strbuf_printf(&b, "%s", next);
            else
                strbuf_char(&b, *p);
        }
    }
    check_program(s, session_add(s, source_new(s->arena, "test.serin", (Str){b.data, b.len})),
                  NULL);
    bool good = checks == (s->errors == 0);
    for (int i = 0; i < s->diags.len; i++)
        good &= s->diags.data[i]->code == E2190 || diag_info(s->diags.data[i]->code)->severity;
    CHECK(t, good);
    session_free(s);
}

static void test_chains(Test *t) {
    for (int forward = 0; forward < 2; forward++) {
        test_chain(t, "const # = 1\n", "const # = ^ + 1\n", forward, !forward);
        test_chain(t, "type # = f32\n", "type # = ^\n", forward, !forward);
        test_chain(t, "struct # { x: f32 }\n", "struct # { x: ^ }\n", forward, false);
        test_chain(t, "block # { param _w: f32 }\n", "block # { sub _a: ^ }\n", forward, !forward);
        test_chain(t, "fn #(x: f32) -> f32 { return x }\n", "fn #(x: f32) -> f32 { return ^(x) }\n",
                   forward, !forward);
    }
}

static void test_refused(Test *t, const char *text, const char *message) {
    Session *s = session_new();
    Source *source =
        source_new(s->arena, "test.serin", str_of(arena_printf(s->arena, "module t\n%s", text)));
    Program *p = check_program(s, session_add(s, source), NULL);
    CHECK(t, s->errors == 0);
    Item *block = NULL, *entry = find_entry(p, "e");
    for (int i = 0; !entry && i < p->root->items.len; i++) {
        block = p->root->items.data[i];
        for (int k = 0; k < block->items.len; k++)
            entry = block->items.data[k]->kind == ITEM_ENTRY ? block->items.data[k] : entry;
    }
    LowerOptions o = {.program = p, .core = core_new(s, p->dims)};
    GenericArg args[2] = {{0}}, outer[2] = {{0}};
    for (int i = 0; entry && i < entry->generics.len; i++)
        args[i] = entry->generics.data[i].value;
    for (int i = 0; block && i < block->generics.len; i++)
        outer[i] = block->generics.data[i].value;
    o.block_args = outer;
    bool good = entry && !lower_entry(&o, block, entry, args) && s->errors == 1 &&
                strstr(s->diags.data[0]->message, message);
    if (!good) {
        printf("not refused as it should be:\n%s", text);
        diags_print(s, stdout, false);
    }
    CHECK(t, good);
    session_free(s);
}

int main(void) {
    Test t = {0};
    for (int i = 0; i < 4; i++)
        test_model(&t, i & 1, i & 2);
    for (int i = 0; i < COUNT(refused); i++)
        test_refused(&t, refused[i].text, refused[i].message);
    test_chains(&t);
    return finish_cases(&t);
}
