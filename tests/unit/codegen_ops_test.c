// Generated C against the interpreter: every node on every dtype, casts, reductions, contractions,
// gathers, loops. The C of each function is compiled by the compilers there are, at -O0 and -O3,
// and must give the interpreter's bits (a NaN for a NaN).
#include "codegen/loop.h"
#include "codegen_help.h"
#include "core_help.h"
#include "interp/interp.h"

enum { N = 61 }; // elements of the vectors

typedef struct {
    Test *t;
    Session *s;
    Core *c;
    LoopModule *m;
    char dir[64];
} Ops;

// ---- The module --------------------------------------------------------------------------------

static void unary(StrBuf *b, const char *op, Dtype t) {
    const char *n = dtype_name(t);
    strbuf_printf(b, "fn @%s_%s \"t::%s_%s\" (%%x: %s[61]) -> %s[61] {\n", op, n, op, n, n, n);
    strbuf_printf(b, "    %%y: %s[61] = comp(%%x) [i] { %s(read(0, i)) }\n    return %%y\n}\n\n", n,
                  op);
}

static void binary(StrBuf *b, const char *op, Dtype t, const char *result) {
    const char *n = dtype_name(t);
    strbuf_printf(b, "fn @%s_%s \"t::%s_%s\" (%%x: %s[61], %%z: %s[61]) -> %s[61] {\n", op, n, op,
                  n, n, n, result);
    strbuf_printf(b,
                  "    %%y: %s[61] = comp(%%x, %%z) [i] { %s(read(0, i), read(1, i)) }\n"
                  "    return %%y\n}\n\n",
                  result, op);
}

static void cast(StrBuf *b, Dtype from, Dtype to) {
    const char *f = dtype_name(from), *n = dtype_name(to);
    strbuf_printf(b,
                  "fn @cast_%s_%s \"t::cast_%s_%s\" (%%x: %s[61]) -> %s[61] {\n"
                  "    %%y: %s[61] = comp(%%x) [i] { cast.%s(read(0, i)) }\n    return %%y\n}\n\n",
                  f, n, f, n, f, n, n, n);
}

static void reduce(StrBuf *b, const char *name, const char *how, Dtype t, const char *body) {
    const char *n = dtype_name(t);
    strbuf_printf(b,
                  "fn @%s_%s \"t::%s_%s\" (%%x: %s[3, 61], %%z: %s[61]) -> %s[3] {\n"
                  "    %%y: %s[3] = comp(%%x, %%z) [i] %s [j < 61] { %s }\n    return %%y\n}\n\n",
                  name, n, name, n, n, n, n, n, how, body);
}

static const char *const float_ops[] = {"exp", "log", "sqrt", "rsqrt", "sin", "cos", "tanh"};
static const char *const ring_ops[] = {"add", "sub", "mul", "div", "min", "max"};
static const char *const integer_ops[] = {"mod", "floordiv", "floormod", "and",
                                          "or",  "xor",      "shl",      "shr"};
static const char *const compare_ops[] = {"eq", "ne", "lt", "le", "gt", "ge"};

static void add_arithmetic(StrBuf *b, Dtype t) {
    bool is_float = dtype_is_float(t);
    for (int i = 0; i < 6; i++)
        binary(b, ring_ops[i], t, dtype_name(t));
    unary(b, "neg", t);
    unary(b, "abs", t);
    for (int i = 0; i < 7 && is_float; i++) {
        if (t != DT_F64 || i == 2 || i == 3)
            unary(b, float_ops[i], t);
    }
    for (int i = 0; i < 8 && !is_float; i++)
        binary(b, integer_ops[i], t, dtype_name(t));
    reduce(b, "sum", is_float ? "sum.add" : "sum", t, "read(0, i, j)");
    if (t != DT_BF16) // in pairs: see shapes.core
        reduce(b, "dot", is_float ? "sum.fma" : "sum", t,
               "mul(read(0, i, sub(60, j)), read(1, j))");
    reduce(b, "red_prod", "prod", t, "read(0, i, j)");
    reduce(b, "red_max", "max", t, "read(0, i, j)");
    reduce(b, "red_min", "min", t, "read(0, i, j)");
}

static const char *module_text(Arena *a) {
    StrBuf b = strbuf_new(a);
    strbuf_printf(&b, "core 1\n\n");
    for (int t = 0; t < DT_COUNT; t++) {
        if (t != DT_BOOL)
            add_arithmetic(&b, (Dtype)t);
        for (int i = 0; i < (t == DT_BOOL ? 2 : 6); i++)
            binary(&b, compare_ops[i], (Dtype)t, "bool");
        for (int u = 0; u < DT_COUNT; u++) {
            if (u != t)
                cast(&b, (Dtype)t, (Dtype)u);
        }
    }
    for (int i = 3; i < 6; i++)
        binary(&b, integer_ops[i], DT_BOOL, "bool");
    unary(&b, "not", DT_BOOL);
    return b.data;
}

// ---- Data --------------------------------------------------------------------------------------

static uint64_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 11 ^ *state << 20;
}

// Awkward numbers first, then any bits, then moderate ones.
static void fill(void *data, Dtype t, int64_t n, uint64_t *state) {
    static const double odd[] = {0, -0.0, 1, -1, 0.5, 1e30, -1e30, 2, 3, 7, 300, -300, 1e10, -88.5};
    int size = dtype_size(t);
    for (int64_t i = 0; i < n; i++) {
        uint64_t bits = next_random(state);
        double real = i < 14 ? odd[i] : (double)(int64_t)bits * 0x1p-61;
        float single = (float)real;
        if (t == DT_BOOL)
            bits &= 1;
        else if (!dtype_is_float(t) && i % 3 == 1)
            bits = (uint64_t)(int64_t)(i % 70 - 3);
        else if (!dtype_is_float(t) && i % 3 == 2)
            bits = i % 2 ? (uint64_t)1 << (8 * size - 1) : ((uint64_t)1 << (8 * size - 1)) - 1;
        else if (t == DT_F64 && i % 4)
            memcpy(&bits, &real, sizeof real);
        else if (dtype_is_float(t) && i % 4) {
            uint32_t half;
            memcpy(&half, &single, sizeof half);
            bits = t == DT_F32 ? half : t == DT_BF16 ? half >> 16 : bits & 0x7fff;
        }
        memcpy((char *)data + i * size, &bits, (size_t)size);
    }
}

static bool same_element(Dtype t, const char *a, const char *b) {
    double x = 0, y = 0;
    float f, g;
    if (memcmp(a, b, (size_t)dtype_size(t)) == 0)
        return true;
    if (t == DT_F64) {
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        return x != x && y != y;
    }
    uint32_t p = 0, q = 0;
    memcpy(&p, a, (size_t)dtype_size(t));
    memcpy(&q, b, (size_t)dtype_size(t));
    if (t == DT_F16)
        return (p & 0x7fff) > 0x7c00 && (q & 0x7fff) > 0x7c00;
    p = t == DT_BF16 ? p << 16 : p;
    q = t == DT_BF16 ? q << 16 : q;
    memcpy(&f, &p, sizeof f);
    memcpy(&g, &q, sizeof g);
    return dtype_is_float(t) && f != f && g != g;
}

static int64_t count_of(const CoreType *t) {
    int64_t n = 1, d;
    for (int i = 0; i < t->rank; i++)
        n *= dim_is_const(t->dims[i], &d) ? d : 0;
    return n;
}

static Tensor tensor_of(Arena *a, const CoreType *t, uint64_t *state) {
    Tensor out = {.dtype = t->dtype, .rank = t->rank, .format = RT_F32};
    for (int i = 0; i < t->rank; i++)
        dim_is_const(t->dims[i], &out.dims[i]);
    void *data = arena_alloc(a, (size_t)(count_of(t) * dtype_size(t->dtype)));
    fill(data, t->dtype, count_of(t), state);
    out.data = data;
    return out;
}

// ---- The program around the functions ----------------------------------------------------------

// One block of main: reads the arguments, calls, writes the results.
static void add_call(StrBuf *b, const LoopFn *f) {
    const CoreFn *fn = f->source;
    strbuf_printf(b, "static void call_%s(void) {\n", f->name);
    if (f->uses_work)
        strbuf_printf(b, "    Work work = {NULL, arena};\n");
    for (int i = 0; i < fn->params.len; i++) {
        const CoreType *t = core_value(fn, fn->params.data[i])->type;
        strbuf_printf(b, "    void *p%d = get(%lld);\n    (void)p%d;\n", i,
                      (long long)(count_of(t) * dtype_size(t->dtype)), i);
    }
    for (int i = 0; i < fn->region.yields.len; i++) {
        const CoreType *t = core_value(fn, fn->region.yields.data[i])->type;
        strbuf_printf(b, "    void *r%d = calloc(1, %lld);\n", i,
                      (long long)(count_of(t) * dtype_size(t->dtype)));
    }
    const char *comma = "";
    if (f->returns)
        strbuf_printf(b, "    *(%s *)r0 = %s%s(", dtype_c(f->result.dtype),
                      f->result.dtype == DT_BF16 ? "rt_f32_to_bf16(" : "(", f->name);
    else
        strbuf_printf(b, "    %s(", f->name);
    if (f->uses_work) {
        strbuf_printf(b, "work");
        comma = ", ";
    }
    for (int i = 0; i < fn->region.yields.len && !f->returns; i++, comma = ", ")
        strbuf_printf(b, "%sr%d", comma, i);
    for (int i = 0; i < fn->params.len; i++) {
        const CoreType *t = core_value(fn, fn->params.data[i])->type;
        if (!f->param_used[i])
            continue;
        if (t->rank)
            strbuf_printf(b, "%sp%d", comma, i);
        else
            strbuf_printf(b, "%s*(%s *)p%d", comma, dtype_c(t->dtype), i);
        comma = ", ";
    }
    strbuf_printf(b, f->returns ? "));\n" : ");\n");
    for (int i = 0; i < fn->region.yields.len; i++) {
        const CoreType *t = core_value(fn, fn->region.yields.data[i])->type;
        strbuf_printf(b, "    fwrite(r%d, 1, %lld, out);\n    free(r%d);\n", i,
                      (long long)(count_of(t) * dtype_size(t->dtype)), i);
    }
    for (int i = 0; i < fn->params.len; i++)
        strbuf_printf(b, "    free(p%d);\n", i);
    strbuf_printf(b, "}\n\n");
}

static bool write_program(Ops *o) {
    StrBuf c = strbuf_new(o->s->arena), b = strbuf_new(o->s->arena);
    char error[500] = "";
    if (!codegen_dump_c(o->c, &c, error, sizeof error)) {
        printf("codegen: %s\n", error);
        return false;
    }
    strbuf_printf(&b, "#include \"ops.c\"\n#include <stdio.h>\n#include <stdlib.h>\n"
                      "static FILE *in, *out;\nstatic unsigned char *arena;\n"
                      "static void *get(size_t n) {\n    void *p = malloc(n);\n"
                      "    if (fread(p, 1, n, in) != n)\n        exit(9);\n    return p;\n}\n\n");
    for (int i = 0; i < o->m->fns.len; i++)
        add_call(&b, o->m->fns.data[i]);
    strbuf_printf(&b, "int main(void) {\n    in = fopen(\"in.bin\", \"rb\");\n"
                      "    out = fopen(\"out.bin\", \"wb\");\n"
                      "    arena = aligned_alloc(64, arena_bytes() + 64);\n");
    for (int i = 0; i < o->m->fns.len; i++)
        strbuf_printf(&b, "    call_%s();\n", o->m->fns.data[i]->name);
    strbuf_printf(&b, "    free(arena);\n    return fclose(out);\n}\n");
    return write_bytes(o->dir, "ops.c", c.data, (size_t)c.len) &&
           write_bytes(o->dir, "main.c", b.data, (size_t)b.len);
}

// ---- Both sides --------------------------------------------------------------------------------

typedef struct {
    StrBuf in;      // arguments, in order
    StrBuf results; // the interpreter's
} Bytes;

static bool interpret(Ops *o, Bytes *bytes) {
    Interp *it = interp_new(o->c, NULL);
    uint64_t state = 1;
    char error[300] = "";
    bool ok = true;
    for (int i = 0; i < o->c->fns.len && ok; i++) {
        const CoreFn *f = o->c->fns.data[i];
        Tensor args[8], results[8];
        for (int p = 0; p < f->params.len; p++) {
            const CoreType *t = core_value(f, f->params.data[p])->type;
            args[p] = tensor_of(o->s->arena, t, &state);
            strbuf_add(&bytes->in, (Str){args[p].data, (int)(count_of(t) * dtype_size(t->dtype))});
        }
        ok = interp_call(it, f, NULL, f->params.len, args, results, error, sizeof error);
        for (int r = 0; ok && r < f->region.yields.len; r++) {
            const CoreType *t = core_value(f, f->region.yields.data[r])->type;
            strbuf_add(&bytes->results,
                       (Str){results[r].data, (int)(count_of(t) * dtype_size(t->dtype))});
        }
        if (!ok)
            printf("interpreter: %s: %s\n", f->label, error);
    }
    interp_free(it);
    return ok;
}

static void compare(Ops *o, const Bytes *want, const char *how) {
    char path[100];
    snprintf(path, sizeof path, "%s/out.bin", o->dir);
    FILE *f = fopen(path, "rb");
    char *got = arena_alloc(o->s->arena, (size_t)want->results.len + 1);
    bool sized = f && fread(got, 1, (size_t)want->results.len + 1, f) == (size_t)want->results.len;
    if (f)
        fclose(f);
    CHECK(o->t, sized);
    const char *a = got, *b = want->results.data;
    for (int i = 0; i < o->c->fns.len && sized; i++) {
        const CoreFn *fn = o->c->fns.data[i];
        int wrong = 0;
        for (int r = 0; r < fn->region.yields.len; r++) {
            const CoreType *t = core_value(fn, fn->region.yields.data[r])->type;
            for (int64_t e = 0; e < count_of(t); e++) {
                wrong += !same_element(t->dtype, a, b);
                a += dtype_size(t->dtype);
                b += dtype_size(t->dtype);
            }
        }
        if (wrong)
            printf("%s: %s: %d elements differ\n", how, fn->label, wrong);
        CHECK(o->t, wrong == 0);
    }
}

static void compile_and_compare(Ops *o, const Bytes *want, const char *cc, const char *opt) {
    char how[40];
    snprintf(how, sizeof how, "%s %s", cc, opt);
    if (!have(cc))
        return;
    int code =
        shell("cd %s && %s %s %s -Wno-unused-function -I\"$OLDPWD\"/runtime -I\"$OLDPWD\" "
              "-o ops main.c \"$OLDPWD\"/runtime/kernels.c \"$OLDPWD\"/runtime/matmul*.c "
              "\"$OLDPWD\"/runtime/threads.c -lpthread -lm && ./ops",
              o->dir, cc, c_warnings, opt);
    CHECK(o->t, code == 0);
    if (code == 0)
        compare(o, want, how);
}

static void run_module(Test *t, const char *name, const char *text) {
    Ops o = {.t = t, .s = session_new()};
    o.c = read_core(o.s, text);
    StrBuf faults = strbuf_new(o.s->arena);
    if (!o.c || !core_verify(o.c, &faults)) {
        diags_print(o.s, stdout, false);
        printf("%s: %s\n", name, faults.data ? faults.data : "");
        CHECK(t, !"the module reads and verifies");
        session_free(o.s);
        return;
    }
    LoopOptions all = {.roots = (const CoreFn *const *)o.c->fns.data, .root_count = o.c->fns.len};
    o.m = loop_build(o.c, &all);
    test_folder(o.dir);
    Bytes bytes = {strbuf_new(o.s->arena), strbuf_new(o.s->arena)};
    bool ready = write_program(&o) && interpret(&o, &bytes) &&
                 write_bytes(o.dir, "in.bin", bytes.in.data, (size_t)bytes.in.len);
    CHECK(t, ready);
    if (ready) {
        compile_and_compare(&o, &bytes, "gcc", "-O0");
        compile_and_compare(&o, &bytes, "gcc", "-O3 -march=native");
        compile_and_compare(&o, &bytes, "clang", "-O1");
        if (have("clang-format"))
            CHECK(t, shell("cd %s && clang-format ops.c | cmp -s ops.c -", o.dir) == 0);
    }
    if (ready && t->failed)
        printf("kept %s\n", o.dir);
    else
        shell("rm -rf %s", o.dir);
    session_free(o.s);
}

int main(void) {
    Test t = {0};
    Session *s = session_new();
    run_module(&t, "all nodes", module_text(s->arena));
    const char *shapes = read_text(s->arena, "tests/data/codegen", "shapes.core");
    CHECK(&t, shapes != NULL);
    if (shapes)
        run_module(&t, "shapes.core", shapes);
    session_free(s);
    return finish(&t);
}
