// Tests of the standard library's operations on images and signals (convolutions, pooling,
// resizing, norms of images) against straight C in double precision, over many shapes.
#include "stdlib_help.h"

// One call of conv2d_rect, conv1d or max_pool2d.
typedef struct {
    int b, ci, co, h, w;        // extents
    int kh, kw, sh, sw, ph, pw; // kernel, strides, padding
} Shape;

// Odd sizes, strides that leave positions over, no padding, kernels as large as the input, an
// output of one position, a single channel, an input without positions, and no output at all.
static const Shape shapes[] = {
    {2, 3, 4, 6, 9, 3, 5, 1, 2, 1, 2}, {1, 1, 1, 5, 5, 3, 3, 1, 1, 1, 1},
    {2, 2, 3, 7, 5, 3, 3, 2, 2, 0, 0}, {1, 3, 2, 16, 11, 7, 7, 2, 2, 3, 3},
    {2, 3, 2, 4, 4, 3, 3, 2, 2, 1, 1}, {3, 2, 2, 4, 6, 1, 1, 2, 2, 0, 0},
    {1, 2, 1, 3, 4, 3, 4, 1, 1, 0, 0}, {1, 2, 5, 8, 3, 2, 3, 3, 1, 0, 2},
    {1, 1, 2, 1, 1, 3, 3, 1, 1, 1, 1}, {1, 2, 2, 2, 2, 3, 3, 1, 1, 0, 0},
    {1, 1, 1, 9, 9, 2, 2, 5, 4, 1, 0},
};
enum { SHAPES = sizeof shapes / sizeof *shapes, MOST = 4096 };

static int extent(int n, int k, int stride, int pad) {
    int free = n + 2 * pad - k;
    return free < 0 ? 0 : free / stride + 1;
}

static void add_entries(StrBuf *text, const Shape *s, int i) {
    strbuf_printf(
        text,
        "pub entry conv_%d(x: Tensor[%d, %d, %d, %d; f32], w: Tensor[%d, %d, %d, %d; f32],"
        " b: Tensor[%d; f32]) -> Tensor[%d, %d, %d, %d; f32] {\n"
        "    return conv2d_rect<%d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, f32>"
        "(x, w, some(b))\n}\n",
        i, s->b, s->ci, s->h, s->w, s->co, s->ci, s->kh, s->kw, s->co, s->b, s->co,
        extent(s->h, s->kh, s->sh, s->ph), extent(s->w, s->kw, s->sw, s->pw), s->b, s->ci, s->co,
        s->h, s->w, s->kh, s->kw, s->sh, s->sw, s->ph, s->pw);
    strbuf_printf(text,
                  "pub entry line_%d(x: Tensor[%d, %d, %d; f32], w: Tensor[%d, %d, %d; f32])"
                  " -> Tensor[%d, %d, %d; f32] {\n"
                  "    return conv1d<%d, %d, %d, %d, %d, %d, %d, f32>(x, w)\n}\n",
                  i, s->b, s->ci, s->w, s->co, s->ci, s->kw, s->b, s->co,
                  extent(s->w, s->kw, s->sw, s->pw), s->b, s->ci, s->co, s->w, s->kw, s->sw, s->pw);
    if (s->kh != s->kw || s->ph != s->pw || s->sh != s->sw)
        return;
    int h = extent(s->h, s->kh, s->sh, s->ph), w = extent(s->w, s->kw, s->sw, s->pw);
    strbuf_printf(text,
                  "pub entry pool_%d(x: Tensor[%d, %d, %d, %d; f32]) -> "
                  "Tensor[%d, %d, %d, %d; f32] {\n"
                  "    return max_pool2d<%d, %d, %d, %d, %d, %d, %d, f32>(x)\n}\n",
                  i, s->b, s->ci, s->h, s->w, s->b, s->ci, h, w, s->b, s->ci, s->h, s->w, s->kh,
                  s->sh, s->ph);
}

static const char fixed[] =
    "module t\n"
    "use std.nn.conv::{Conv1d, Conv2d, Conv2dRect, conv1d, conv2d, conv2d_rect, zero_pad1d,\n"
    "    zero_pad2d, zero_pad2d_rect}\n"
    "use std.nn.norm::{batch_norm, group_norm}\n"
    "use std.nn.pool::{global_average_pool2d, max_pool2d}\n"
    "use std.nn.resize::{upsample_nearest2d}\n"
    "pub entry square(x: Tensor[2, 3, 7, 6; f32], w: Tensor[4, 3, 3, 3; f32])\n"
    "    -> Tensor[2, 4, 4, 3; f32] {\n"
    "    return conv2d<2, 3, 4, 7, 6, 3, 2, 1, f32>(x, w)\n"
    "}\n"
    "pub entry square_16(x: Tensor[2, 3, 7, 6; f32], w: Tensor[4, 3, 3, 3; f32])\n"
    "    -> Tensor[2, 4, 4, 3; f32] {\n"
    "    return cast<f32>(conv2d<2, 3, 4, 7, 6, 3, 2, 1, bf16>(cast<bf16>(x), cast<bf16>(w)))\n"
    "}\n"
    "pub entry padded(x: Tensor[2, 3, 5; f32]) -> Tensor[2, 3, 11; f32] {\n"
    "    return zero_pad1d<2, 3, 5, 3, f32>(x)\n"
    "}\n"
    "pub entry bare(x: Tensor[2, 3, 5; f32]) -> Tensor[2, 3, 5; f32] {\n"
    "    return zero_pad1d<2, 3, 5, 0, f32>(x)\n"
    "}\n"
    "pub entry empty(x: Tensor[1, 1, 0; f32]) -> Tensor[1, 1, 4; f32] {\n"
    "    return zero_pad1d<1, 1, 0, 2, f32>(x)\n"
    "}\n"
    "pub entry frame(x: Tensor[2, 2, 3, 4; f32]) -> Tensor[2, 2, 5, 6; f32] {\n"
    "    return zero_pad2d<2, 2, 3, 4, 1, f32>(x)\n"
    "}\n"
    "pub entry sides(x: Tensor[2, 2, 3, 4; f32]) -> Tensor[2, 2, 3, 8; f32] {\n"
    "    return zero_pad2d_rect<2, 2, 3, 4, 0, 2, f32>(x)\n"
    "}\n"
    "pub entry average(x: Tensor[2, 3, 5, 7; f32]) -> Tensor[2, 3; f32] {\n"
    "    return global_average_pool2d(x)\n"
    "}\n"
    "pub entry larger(x: Tensor[2, 3, 2, 5; f32]) -> Tensor[2, 3, 6, 15; f32] {\n"
    "    return upsample_nearest2d<2, 3, 2, 5, 3, f32>(x)\n"
    "}\n"
    "pub entry same(x: Tensor[2, 3, 2, 5; f32]) -> Tensor[2, 3, 2, 5; f32] {\n"
    "    return upsample_nearest2d<2, 3, 2, 5, 1, f32>(x)\n"
    "}\n"
    "pub entry batch(x: Tensor[2, 6, 3, 5; f32], m: Tensor[6; f32], v: Tensor[6; f32],\n"
    "    w: Tensor[6; f32], b: Tensor[6; f32]) -> Tensor[2, 6, 3, 5; f32] {\n"
    "    return batch_norm(x, m, v, w, b)\n"
    "}\n"
    "pub entry one(x: Tensor[2, 6, 3, 5; f32], w: Tensor[6; f32], b: Tensor[6; f32])\n"
    "    -> Tensor[2, 6, 3, 5; f32] {\n"
    "    return group_norm<2, 6, 3, 5, 1, f32>(x, w, b)\n"
    "}\n"
    "pub entry three(x: Tensor[2, 6, 3, 5; f32], w: Tensor[6; f32], b: Tensor[6; f32])\n"
    "    -> Tensor[2, 6, 3, 5; f32] {\n"
    "    return group_norm<2, 6, 3, 5, 3, f32>(x, w, b, 0.5)\n"
    "}\n"
    "pub block Net {\n"
    "    sub signal: Conv1d<3, 4, 5, 2, 2>\n"
    "    sub image: Conv2d<3, 4, 3>\n"
    "    sub wide: Conv2dRect<4, 2, 1, 3, 1, 1, 0, 1>\n"
    "    pub entry forward<B: Dim, L: Dim, H: Dim, W: Dim>(\n"
    "        x: Tensor[B, 3, L; f32], y: Tensor[B, 3, H, W; f32]\n"
    "    ) -> (Tensor[B, 4, (L + 2 * 2 - 5) / 2 + 1; f32], Tensor[B, 2, H - 2, W - 2; f32]) {\n"
    "        return (signal.forward(x), wide.forward(image.forward(y)))\n"
    "    }\n"
    "}\n";

// The convolution of images in double precision; b may be NULL.
static void convolve(const Shape *s, const float *x, const float *w, const float *b, double *y) {
    int oh = extent(s->h, s->kh, s->sh, s->ph), ow = extent(s->w, s->kw, s->sw, s->pw);
    for (int i = 0; i < s->b * s->co * oh * ow; i++) {
        int n = i / (s->co * oh * ow), o = i / (oh * ow) % s->co;
        int top = i / ow % oh * s->sh - s->ph, left = i % ow * s->sw - s->pw;
        y[i] = b ? (double)b[o] : 0;
        for (int k = 0; k < s->ci * s->kh * s->kw; k++) {
            int c = k / (s->kh * s->kw), r = top + k / s->kw % s->kh, q = left + k % s->kw;
            if (r >= 0 && r < s->h && q >= 0 && q < s->w)
                y[i] += (double)x[((n * s->ci + c) * s->h + r) * s->w + q] *
                        (double)w[o * s->ci * s->kh * s->kw + k];
        }
    }
}

static void test_convolutions(Test *t) {
    float x[MOST], w[MOST], b[8];
    double want[MOST];
    char name[32];
    for (int i = 0; i < SHAPES; i++) {
        const Shape *s = &shapes[i];
        Shape line = *s;
        line.h = line.kh = line.sh = 1;
        line.ph = 0;
        random_fill(t, x, s->b * s->ci * s->h * s->w, 1);
        random_fill(t, w, s->co * s->ci * s->kh * s->kw, 1);
        random_fill(t, b, s->co, 1);
        Tensor args[] = {F32(x, s->b, s->ci, s->h, s->w), F32(w, s->co, s->ci, s->kh, s->kw),
                         F32(b, s->co)};
        Tensor out;
        int ow = extent(s->w, s->kw, s->sw, s->pw), oh = extent(s->h, s->kh, s->sh, s->ph);
        snprintf(name, sizeof name, "conv_%d", i);
        convolve(s, x, w, b, want);
        if (run(t, name, 3, args, &out))
            near(t, name, &out, want, s->b * s->co * oh * ow, 1e-6);
        snprintf(name, sizeof name, "line_%d", i);
        convolve(&line, x, w, NULL, want);
        args[0] = F32(x, s->b, s->ci, s->w), args[1] = F32(w, s->co, s->ci, s->kw);
        if (run(t, name, 2, args, &out))
            near(t, name, &out, want, s->b * s->co * ow, 1e-6);
    }
    Shape square = {2, 3, 4, 7, 6, 3, 3, 2, 2, 1, 1};
    random_fill(t, x, 252, 1);
    random_fill(t, w, 108, 1);
    convolve(&square, x, w, NULL, want);
    Tensor args[] = {F32(x, 2, 3, 7, 6), F32(w, 4, 3, 3, 3)}, out;
    if (run(t, "square", 2, args, &out))
        near(t, "conv2d", &out, want, 96, 1e-6);
    if (run(t, "square_16", 2, args, &out))
        near(t, "conv2d in bf16", &out, want, 96, 0.02);
}

static void test_pools(Test *t) {
    float x[MOST];
    double want[MOST];
    char name[32];
    Tensor out;
    int pools = 0;
    for (int i = 0; i < SHAPES; i++) {
        const Shape *s = &shapes[i];
        if (s->kh != s->kw || s->ph != s->pw || s->sh != s->sw)
            continue;
        int oh = extent(s->h, s->kh, s->sh, s->ph), ow = extent(s->w, s->kw, s->sw, s->pw);
        random_fill(t, x, s->b * s->ci * s->h * s->w, 1);
        for (int k = 0; k < s->b * s->ci * s->h * s->w; k++)
            x[k] -= 1; // all below 0: a zero from outside would win
        for (int k = 0; k < s->b * s->ci * oh * ow; k++) {
            int top = k / ow % oh * s->sh - s->ph, left = k % ow * s->sw - s->pw;
            want[k] = -INFINITY;
            for (int r = top; r < top + s->kh; r++) {
                for (int q = left; q < left + s->kw; q++) {
                    if (r >= 0 && r < s->h && q >= 0 && q < s->w)
                        want[k] = fmax(want[k], (double)x[(k / (oh * ow) * s->h + r) * s->w + q]);
                }
            }
        }
        Tensor arg = F32(x, s->b, s->ci, s->h, s->w);
        snprintf(name, sizeof name, "pool_%d", i);
        if (run(t, name, 1, &arg, &out))
            near(t, name, &out, want, s->b * s->ci * oh * ow, 0);
        pools++;
    }
    CHECK(t, pools >= 6);
    random_fill(t, x, 210, 1);
    for (int i = 0; i < 6; i++) {
        want[i] = 0;
        for (int k = 0; k < 35; k++)
            want[i] += (double)x[i * 35 + k] / 35;
    }
    Tensor arg = F32(x, 2, 3, 5, 7);
    if (run(t, "average", 1, &arg, &out))
        near(t, "global_average_pool2d", &out, want, 6, 1e-6);
}

// The result is [n, h, w] of x [n, H, W] moved down by `down` and right by `right`, else 0.
static void framed(Test *t, const char *name, Tensor arg, int n, int h, int w, int down,
                   int right) {
    double want[MOST];
    int H = arg.rank == 4 ? (int)arg.dims[2] : 1, W = (int)arg.dims[arg.rank - 1];
    for (int i = 0; i < n * h * w; i++) {
        int r = i / w % h - down, q = i % w - right;
        bool inside = r >= 0 && r < H && q >= 0 && q < W;
        want[i] = inside ? (double)((const float *)arg.data)[(i / (h * w) * H + r) * W + q] : 0;
    }
    Tensor out;
    if (run(t, name, 1, &arg, &out))
        near(t, name, &out, want, n * h * w, 0);
}

static void test_sizes(Test *t) {
    float x[60];
    double want[540];
    random_fill(t, x, 60, 1);
    framed(t, "padded", F32(x, 2, 3, 5), 6, 1, 11, 0, 3);
    framed(t, "bare", F32(x, 2, 3, 5), 6, 1, 5, 0, 0);
    framed(t, "empty", F32(x, 1, 1, 0), 1, 1, 4, 0, 2);
    framed(t, "frame", F32(x, 2, 2, 3, 4), 4, 5, 6, 1, 1);
    framed(t, "sides", F32(x, 2, 2, 3, 4), 4, 3, 8, 0, 2);
    for (int i = 0; i < 540; i++)
        want[i] = (double)x[(i / 90 * 2 + i / 15 % 6 / 3) * 5 + i % 15 / 3];
    Tensor arg = F32(x, 2, 3, 2, 5), out;
    if (run(t, "larger", 1, &arg, &out))
        near(t, "upsample_nearest2d", &out, want, 540, 0);
    framed(t, "same", arg, 6, 2, 5, 0, 0);
}

static void group_norm(const float *x, const float *w, const float *b, int groups, double eps,
                       double *y) {
    int size = 90 / groups;
    for (int g = 0; g < 2 * groups; g++) {
        double mean = 0, variance = 0;
        for (int i = 0; i < size; i++)
            mean += (double)x[g * size + i] / size;
        for (int i = 0; i < size; i++)
            variance += pow((double)x[g * size + i] - mean, 2) / size;
        for (int i = g * size; i < (g + 1) * size; i++)
            y[i] = ((double)x[i] - mean) / sqrt(variance + eps) * (double)w[i / 15 % 6] +
                   (double)b[i / 15 % 6];
    }
}

static void test_norms(Test *t) {
    float x[180], mean[6], variance[6], w[6], b[6];
    double want[180];
    random_fill(t, x, 180, 3);
    random_fill(t, mean, 6, 1);
    random_fill(t, variance, 6, 1);
    random_fill(t, w, 6, 1);
    random_fill(t, b, 6, 1);
    for (int i = 0; i < 180; i++) {
        int c = i / 15 % 6;
        variance[c] = fabsf(variance[c]);
        want[i] =
            ((double)x[i] - (double)mean[c]) / sqrt((double)variance[c] + 1e-5) * (double)w[c] +
            (double)b[c];
    }
    Tensor args[] = {F32(x, 2, 6, 3, 5), F32(mean, 6), F32(variance, 6), F32(w, 6), F32(b, 6)};
    Tensor out;
    if (run(t, "batch", 5, args, &out))
        near(t, "batch_norm", &out, want, 180, 1e-6);
    args[1] = F32(w, 6), args[2] = F32(b, 6);
    group_norm(x, w, b, 1, 1e-5, want);
    if (run(t, "one", 3, args, &out))
        near(t, "group_norm", &out, want, 180, 1e-6);
    group_norm(x, w, b, 3, 0.5, want);
    if (run(t, "three", 3, args, &out))
        near(t, "group_norm of three", &out, want, 180, 1e-6);
}

// ---- The blocks --------------------------------------------------------------------------------

typedef struct {
    float signal[60], shift[4], image[108], wide[24];
} Weights;

static bool weight(void *ctx, const char *path, const CoreType *type, Tensor *out) {
    Weights *w = ctx;
    (void)type;
    if (strcmp(path, "signal.weight") == 0)
        *out = F32(w->signal, 4, 3, 5);
    else if (strcmp(path, "signal.bias") == 0)
        *out = F32(w->shift, 4);
    else if (strcmp(path, "image.weight") == 0)
        *out = F32(w->image, 4, 3, 3, 3);
    else if (strcmp(path, "wide.weight") == 0)
        *out = F32(w->wide, 2, 4, 1, 3);
    else
        return false;
    return true;
}

static bool has(void *ctx, const char *path) {
    (void)ctx;
    return strcmp(path, "signal.bias") == 0;
}

static void test_blocks(Test *t) {
    Weights w;
    float x[66], y[240], between[256];
    double want[256], middle[256];
    random_fill(t, (float *)&w, sizeof w / 4, 1);
    random_fill(t, x, 66, 1);
    random_fill(t, y, 240, 1);
    static const Shape signal = {2, 3, 4, 1, 11, 1, 5, 1, 2, 0, 2},
                       image = {2, 3, 4, 5, 8, 3, 3, 1, 1, 0, 0},
                       wide = {2, 4, 2, 3, 6, 1, 3, 1, 1, 0, 1};
    Item *block = find_entry(t->program, "Net"), *entry = block->items.data[0];
    GenericArg args[4] = {{0}};
    Core *core = core_new(t->s, t->program->dims);
    LowerOptions o = {.program = t->program, .core = core, .present = has};
    CoreFn *fn = lower_entry(&o, block, entry, args);
    StrBuf faults = strbuf_new(t->s->arena);
    CHECK(t, fn && core_verify(core, &faults));
    char error[256] = "";
    Interp *it = interp_new(core, NULL);
    static const int64_t bound[] = {2, 11, 5, 8};
    for (int i = 0; i < 4; i++)
        interp_bind(it, entry->generics.data[i].generic->dim, bound[i]);
    InterpBlock *self = fn ? interp_block(it, fn->self, weight, &w, error, sizeof error) : NULL;
    Tensor in[] = {F32(x, 2, 3, 11), F32(y, 2, 3, 5, 8)}, out[2];
    bool good = self && interp_call(it, fn, self, 2, in, out, error, sizeof error);
    if (!good)
        printf("%s%s\n", faults.data ? faults.data : "", error);
    CHECK(t, good);
    if (good) {
        convolve(&signal, x, w.signal, w.shift, want);
        near(t, "Conv1d", &out[0], want, 48, 1e-6);
        convolve(&image, y, w.image, NULL, middle);
        for (int i = 0; i < 2 * 4 * 3 * 6; i++)
            between[i] = (float)middle[i];
        convolve(&wide, between, w.wide, NULL, want);
        near(t, "Conv2dRect of Conv2d", &out[1], want, 72, 1e-5);
    }
    interp_free(it);
}

int main(void) {
    Test t = {0};
    Arena *a = arena_new();
    StrBuf text = strbuf_new(a);
    strbuf_add(&text, str_of(fixed));
    for (int i = 0; i < SHAPES; i++)
        add_entries(&text, &shapes[i], i);
    open_program(&t, text.data);
    test_convolutions(&t);
    test_pools(&t);
    test_sizes(&t);
    test_norms(&t);
    test_blocks(&t);
    arena_free(a);
    return finish(&t);
}
