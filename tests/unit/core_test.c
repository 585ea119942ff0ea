// Tests of Core: the builder, bodies, rounding, views, text both ways, hostile text, weights.
#include "core_help.h"

#include <dirent.h>
#include <math.h>

// ---- The modules of tests/core -----------------------------------------------------------------

// Each is written as core_print writes it: reading and printing gives the file.
static void round_trip(Test *t, const char *path) {
    const char *why = NULL;
    Session *s = session_new();
    Source *source = source_load(s->arena, path, &why);
    check_at(t, source != NULL, path, __FILE__, __LINE__);
    Core *c = source ? core_parse(s, dims_new(s->arena), session_add(s, source)) : NULL;
    check_at(t, c != NULL, path, __FILE__, __LINE__);
    if (c) {
        same_text(t, printed(c), source->text.ptr, path);
        same_text(t, faults_of(c), "", path);
        Core *again = read_core(s, printed(c));
        same_text(t, again ? printed(again) : "", source->text.ptr, path);
    } else {
        diags_print(s, stdout, false);
    }
    session_free(s);
}

static void test_files(Test *t) {
    DIR *dir = opendir("tests/core");
    int files = 0;
    for (struct dirent *e; dir && (e = readdir(dir));) {
        size_t n = strlen(e->d_name);
        char path[512];
        if (n < 5 || strcmp(e->d_name + n - 5, ".core") != 0)
            continue;
        snprintf(path, sizeof path, "tests/core/%s", e->d_name);
        round_trip(t, path);
        files++;
    }
    if (dir)
        closedir(dir);
    CHECK(t, files >= 3);
}

// ---- The builder -------------------------------------------------------------------------------

// fn norm2(x) = sum[j] x[i, j] * x[i, j]
static CoreFn *build_norm2(Test *t, Core *c, const CoreType *matrix, const CoreType *row) {
    Arena *a = c->session->arena;
    CoreFn *f = core_fn(c, session_name(c->session, "app::norm2"), "norm2");
    Val x = core_param(c, f, matrix, session_name(c->session, "x"), (Span){0});
    Comp *k = NEW(a, Comp);
    k->out = k->red = 1;
    k->red_dims = NEW(a, const Dim *);
    k->red_dims[0] = matrix->dims[1];
    k->reduction = RED_SUM;
    k->step = STEP_FMA;
    int at[] = {comp_index(c, k, 0), comp_index(c, k, 1)};
    int read = comp_read(c, k, 0, DT_F32, 2, at);
    CHECK(t, comp_read(c, k, 0, DT_F32, 2, at) == read);
    k->root = comp_binary(c, k, N_MUL, read, read);
    Val y = core_add(c, f, OP_COMP, row, NULL, (Span){0});
    core_value(f, y)->comp = k;
    core_arg(c, f, y, x);
    core_emit(c, &f->region, y);
    vec_push(a, &f->region.yields, y);
    return f;
}

static const char built[] =
    "core 1\ndim B <= 8\n\n"
    "fn @norm2 \"app::norm2\" (%x: f32[B, 4]) -> f32[B] {\n"
    "    %1: f32[B] = comp(%x) [i] sum.fma [j < 4] { let a = read(0, i, j); mul(a, a) }\n"
    "    return %1\n}\n\n"
    "fn @norm2.2 \"app::norm2\" (%x: f32[B, 4]) -> f32[B] {\n"
    "    %1: f32[B] = call @norm2(%x)\n"
    "    return %1\n}\n";

static void test_build(Test *t) {
    Session *s = session_new();
    DimTable *d = dims_new(s->arena);
    Core *c = core_new(s, d);
    const Dim *dims[] = {dim_symbol(d, session_name(s, "B")), dim_const(d, 4)};
    vec_push(s->arena, &c->symbols, dims[0]);
    vec_push(s->arena, &c->bounds, dim_const(d, 8));
    const CoreType *matrix = core_tensor(c, DT_F32, 2, dims);
    CoreFn *f = build_norm2(t, c, matrix, core_tensor(c, DT_F32, 1, dims));
    CoreFn *g = core_fn(c, session_name(s, "app::norm2"), "norm2");
    Val p = core_param(c, g, matrix, session_name(s, "x"), (Span){0});
    Val q = core_call(c, g, &g->region, f, 1, &p, (Span){0});
    vec_push(s->arena, &g->region.yields, q);
    same_text(t, printed(c), built, "a built module");
    same_text(t, faults_of(c), "", "a built module");
    CHECK(t, core_find(c, "norm2.2") == g && !core_find(c, "norm3"));
    CoreFn *h = core_copy(c, g, g->name, "norm2");
    core_arg(c, h, q, p);
    CHECK(t, core_value(g, q)->args.len == 1 && strcmp(h->label, "norm2.3") == 0);
    CHECK(t, core_result(c, g, &g->region, q, 0, (Span){0}) == 0);
    CHECK(t, core_member(c, g, &g->region, q, session_name(s, "w"), (Span){0}) == 0);
    Val scalar = core_add(c, g, OP_PARAM, core_tensor(c, DT_I64, 0, NULL), NULL, (Span){0});
    CHECK(t, core_pick(c, g, &g->region, scalar, scalar, (Span){0}) == 0);
    session_free(s);
}

static const Node *nth(const Comp *k, int n) {
    return &k->nodes.data[n];
}

static void test_folding(Test *t) {
    Session *s = session_new();
    DimTable *d = dims_new(s->arena);
    Core *c = core_new(s, d);
    Comp *k = NEW(s->arena, Comp);
    k->out = 1;
    int i = comp_index(c, k, 0), zero = comp_const_int(c, k, DT_I64, 0);
    int one = comp_const_int(c, k, DT_I64, 1), seven = comp_const_int(c, k, DT_I64, -7);
    int three = comp_const_int(c, k, DT_I64, 3);
    CHECK(t, comp_binary(c, k, N_MUL, i, one) == i && comp_binary(c, k, N_MUL, one, i) == i);
    CHECK(t, comp_binary(c, k, N_ADD, zero, i) == i && comp_binary(c, k, N_SUB, i, zero) == i);
    CHECK(t, comp_binary(c, k, N_SUB, zero, i) != i);
    CHECK(t, comp_binary(c, k, N_MUL, i, zero) == zero);
    CHECK(t, nth(k, comp_binary(c, k, N_FLOORDIV, seven, three))->i == -3);
    CHECK(t, nth(k, comp_binary(c, k, N_FLOORMOD, seven, three))->i == 2);
    CHECK(t, nth(k, comp_binary(c, k, N_FLOORDIV, i, zero))->op == N_FLOORDIV);
    int least = comp_const_int(c, k, DT_I64, INT64_MIN);
    CHECK(t, nth(k, comp_binary(c, k, N_SUB, least, one))->op == N_SUB); // wraps at run time
    CHECK(t, comp_dim(c, k, dim_const(d, 3)) == three);
    CHECK(t, comp_cast(c, k, DT_I64, i) == i && comp_cast(c, k, DT_F32, i) != i);
    CHECK(t, nth(k, comp_binary(c, k, N_LT, i, three))->dtype == DT_BOOL);
    session_free(s);
}

static void test_rounding(Test *t) {
    CHECK(t, core_round(DT_F32, 0.1) == (double)0.1f);
    CHECK(t, core_round(DT_F32, 1e39) == INFINITY && core_round(DT_F32, -1e300) == -INFINITY);
    CHECK(t, core_round(DT_F32, 3.4028235677973366e38) == INFINITY); // the tie goes up
    CHECK(t, core_round(DT_F32, 3.4028235677973362e38) == 3.4028234663852886e38);
    CHECK(t, core_round(DT_F32, 1e-45) == ldexp(1, -149) && core_round(DT_F32, 7e-46) == 0);
    CHECK(t, signbit(core_round(DT_F32, -1e-60)) && signbit(core_round(DT_F32, -0.0)));
    CHECK(t, core_round(DT_BF16, 1 + ldexp(1, -8)) == 1 && // ties to even
                 core_round(DT_BF16, 1 + 3 * ldexp(1, -8)) == 1 + ldexp(1, -6));
    CHECK(t, core_round(DT_F16, 65519) == 65504 && core_round(DT_F16, 65520) == INFINITY);
    CHECK(t, core_round(DT_F16, ldexp(1, -25)) == 0 &&
                 core_round(DT_F16, ldexp(3, -26)) == ldexp(1, -24));
    CHECK(t, isnan(core_round(DT_F16, NAN)) && core_round(DT_F64, 0.1) == 0.1);
    for (uint32_t bits = 1, n = 0; n < 20000; n++, bits = bits * 1664525 + 1013904223) {
        double v = ldexp((double)bits * 4294967291.0 + n, (int)(bits % 300) - 210);
        if (core_round(DT_F32, v) != (double)(float)v) {
            CHECK(t, !"rounding to f32 is that of the machine");
            break;
        }
    }
    CHECK(t, core_wrap(DT_I8, 200) == -56 && core_wrap(DT_U8, -1) == 255);
    CHECK(t, core_wrap(DT_I32, INT64_MAX) == -1 && core_wrap(DT_U32, -1) == 4294967295);
    CHECK(t, core_wrap(DT_BOOL, 2) == 1 && core_wrap(DT_U64, -1) == -1);
}

// ---- Views -------------------------------------------------------------------------------------

static int64_t floor_div(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}

// The i64 nodes of a view's positions at a point, B being 3.
static bool b_is_three(void *ctx, const Dim *symbol, int64_t *value) {
    (void)ctx;
    (void)symbol;
    *value = 3;
    return true;
}

static int64_t position(const Comp *k, int n, const int64_t *index) {
    const Node *node = &k->nodes.data[n];
    int64_t value = 0, a, b;
    if (node->op == N_INDEX)
        return index[node->index];
    if (node->op == N_CONST)
        return node->i;
    if (node->op == N_DIM)
        return dim_eval(node->dim, b_is_three, NULL, &value) ? value : -1;
    a = position(k, node->args[0], index);
    b = position(k, node->args[1], index);
    return node->op == N_ADD        ? a + b
           : node->op == N_MUL      ? a * b
           : node->op == N_FLOORDIV ? floor_div(a, b)
                                    : a - b * floor_div(a, b);
}

static int64_t extent(const CoreType *type, int i) {
    int64_t value = 0;
    return dim_eval(type->dims[i], b_is_three, NULL, &value) ? value : -1;
}

// Element n of the view is element n of the argument.
static bool view_is_right(const Core *c, const CoreFn *f) {
    (void)c;
    const Value *v = core_value(f, f->region.yields.data[0]);
    const CoreType *from = core_value(f, v->args.data[0])->type, *to = v->type;
    const Node *read = &v->comp->nodes.data[v->comp->root];
    int64_t index[CORE_MAX_RANK] = {0}, count = 1;
    for (int i = 0; i < to->rank; i++)
        count *= extent(to, i);
    for (int64_t n = 0; n < count; n++) {
        int64_t rest = n, number = 0;
        for (int i = to->rank - 1; i >= 0; rest /= extent(to, i), i--)
            index[i] = rest % extent(to, i);
        for (int i = 0; i < from->rank; i++) {
            int64_t at = position(v->comp, read->reads[i], index);
            if (at < 0 || at >= extent(from, i))
                return false;
            number = number * extent(from, i) + at;
        }
        if (number != n)
            return false;
    }
    return true;
}

static void test_views(Test *t) {
    static const char *const views[][2] = {
        {"B, 4, 576", "B, 4, 9, 64"},
        {"B, 4, 9, 64", "B, 4, 576"},
        {"6, 4", "4, 6"},
        {"B, 2, 3", "2, B, 3"},
        {"2, 3, 4, 5", "6, 20"},
        {"6, 20", "2, 3, 4, 5"},
        {"B", "B, 1, 1"},
        {"1, B, 1", "B"},
        {"", "1, 1"},
        {"1", ""},
        {"2*B, 4", "B, 8"},
        {"B + 1, 6", "3, B + 1, 2"},
        {"B*B, 2", "B, 2, B"},
        {"12, B, 10", "2, 6, B, 5, 2"},
        {"2, 2, 2, 2", "4, B + 1"},
    };
    for (size_t i = 0; i < sizeof views / sizeof views[0]; i++) {
        Session *s = session_new();
        Core *c = read_core(s, arena_printf(s->arena,
                                            "core 1 dim B fn @f \"f\" (%%x: f32[%s]) -> f32[%s] { "
                                            "%%y: f32[%s] = view(%%x) return %%y }",
                                            views[i][0], views[i][1], views[i][1]));
        check_at(t, c && view_is_right(c, c->fns.data[0]), views[i][1], __FILE__, __LINE__);
        session_free(s);
    }
}

// Groups are small: a split axis is no more than index * 64 + index.
static void test_view_groups(Test *t) {
    Session *s = session_new();
    Core *c = read_core(s, "core 1 dim B fn @f \"f\" (%x: f32[B, 4, 576]) -> f32[B, 4, 9, 64] { "
                           "%y: f32[B, 4, 9, 64] = view(%x) return %y }");
    const Comp *k = core_value(c->fns.data[0], 2)->comp;
    const Node *read = &k->nodes.data[k->root];
    CHECK(t, k->nodes.data[read->reads[0]].op == N_INDEX);
    CHECK(t, k->nodes.data[read->reads[1]].op == N_INDEX);
    const Node *sum = &k->nodes.data[read->reads[2]];
    CHECK(t, sum->op == N_ADD && k->nodes.data[sum->args[0]].op == N_MUL);
    CHECK(t, k->nodes.data[sum->args[1]].op == N_INDEX);
    session_free(s);
}

// ---- Text that is refused ----------------------------------------------------------------------

static void refuse(Test *t, const char *text, const char *words, int line) {
    Session *s = session_new();
    Core *c = read_core(s, text);
    bool refused = !c && s->errors == 1 && strstr(s->diags.data[0]->message, words);
    if (!refused)
        printf("%s\n", s->diags.len ? s->diags.data[0]->message : "(no diagnostic)");
    check_at(t, refused, text, __FILE__, line);
    session_free(s);
}

#define F "core 1 dim B fn @f \"f\" (%x: f32[B, 4]) -> f32[B, 4] { "
#define REFUSE(t, text, words) refuse((t), (text), (words), __LINE__)

static void test_refused(Test *t) {
    REFUSE(t, "", "core 1");
    REFUSE(t, "core 2", "core 1");
    REFUSE(t, "core 1 dim B, B", "twice");
    REFUSE(t, "core 1 dim B <= C", "among the module's dimensions");
    REFUSE(t, "core 1 hello", "expected dim, block");
    REFUSE(t, "core 1 block @A \"A\" { sub x: @B }", "@B is not defined");
    REFUSE(t, "core 1 block @A \"A\" { } block @A \"A\" { }", "twice");
    REFUSE(t, "core 1 block @A \"A\" { weight x: f32[] }", "expected a member");
    REFUSE(t, "core 1 fn @f \"f\" (%x: f99[]) -> () { return }", "expected a type");
    REFUSE(t, "core 1 fn @f \"f\" (%x: f32[1,1,1,1,1,1,1,1,1,1,1,1,1]) -> () { return }", "axes");
    REFUSE(t, "core 1 fn @f \"f\" (%x: f32[9223372036854775808]) -> () { return }", "too large");
    REFUSE(t, "core 1 fn @f \"f\" (%x: f32[9223372036854775807 * 2]) -> () { return }", "64 bits");
    REFUSE(t, "core 1 fn @f \"f\" (%x: f32[4 / 0]) -> () { return }", "64 bits");
    REFUSE(t, "core 1 fn @f \"f\" (%x: f32[]) -> f32[2] { return %x }", "does not return");
    REFUSE(t, "core 1 fn @f \"f\" (%x: f32[]) -> f32[] { return %y }", "%y is not defined");
    REFUSE(t, "core 1 fn @f \"f\" (%x: f32[], %x: f32[]) -> f32[] { return %x }", "twice");
    REFUSE(t, "core 1 fn @f \"f\" (%x: f32[]) -> f32[] { %y: f32[] = call @g(%x) return %y }",
           "@g is not defined");
    REFUSE(t, F "%y: f32[B, 4] = comp(%x) [i, j] { read(1, i, j) } return %y }", "no argument 1");
    REFUSE(t, F "%y: f32[B, 4] = comp(%x) [i, j] { read(0, i, k) } return %y }", "`k` is no index");
    REFUSE(t, F "%y: f32[B, 4] = comp(%x) [i, i] { read(0, i, i) } return %y }", "named twice");
    REFUSE(t, F "%y: f32[B, 4] = comp(%x) [i, j] { frob(i) } return %y }", "no operation `frob`");
    REFUSE(t, F "%y: f32[B, 4] = comp(%x) [i, j] { 300:i8 } return %y }", "not one of i8");
    REFUSE(t, F "%y: f32[B, 4] = comp(%x) [i, j] { -1:u64 } return %y }", "not one of u64");
    REFUSE(t, F "%y: f32[B, 4] = comp(%x) [i, j] { 1:f32 } return %y }", "needs a point");
    REFUSE(t, F "%y: f32[B, 4] = comp(%x) [i, j] { 1.5:i8 } return %y }", "float dtype");
    REFUSE(t, F "%y: f32[B, 4] = comp(%x) [i, j] { add(i) } return %y }", "expected `,`");
    REFUSE(t, F "%y: f32[B, 4] = comp(%x) [i, j] sum.fmax [k < 4] { i } return %y }",
           "expected `add`");
    REFUSE(t, F "%y: f32[B, 4] = frob(%x) return %y }", "expected an operation");
    REFUSE(t, F "%y: f32[B, 4] = view(%x, %x) return %y }", "a view is of one tensor");
    REFUSE(t, F "%y: f32[B, 4] = comp(%x) [i, j] { read(0, i, j) }", "expected a value's");
    REFUSE(t, "core 1 fn @f \"f\\q\" () -> () { return }", "the string does not end");
    REFUSE(t, "core 1 fn @f \"f", "the string does not end");
    REFUSE(t, "core 1 \x01", "no meaning");
}

// `prefix` and then `piece` many times, with a number for its `#`: nested until a limit ends it.
static void refuse_deep(Test *t, const char *prefix, const char *piece, int line) {
    Session *s = session_new();
    StrBuf b = strbuf_new(s->arena);
    strbuf_add(&b, str_of(prefix));
    for (int i = 0; i < 20000; i++) {
        const char *mark = strchr(piece, '#');
        strbuf_add(&b, (Str){piece, mark ? (int)(mark - piece) : (int)strlen(piece)});
        if (mark)
            strbuf_printf(&b, "%d%s", i, mark + 1);
    }
    Core *c = read_core(s, b.data);
    check_at(t, !c && strstr(s->diags.data[0]->message, "nested too deep"), piece, __FILE__, line);
    session_free(s);
}

static void test_deep(Test *t) {
    refuse_deep(t, "core 1 fn @f \"f\" (%x: ", "(", __LINE__);
    refuse_deep(t, "core 1 fn @f \"f\" (%x: f32[", "(", __LINE__);
    refuse_deep(t, F "%y: f32[] = comp() [] { ", "not(", __LINE__);
    refuse_deep(t, F, "%y: f32[] = loop %i.# < 3 () { ", __LINE__);
}

// ---- Weights -----------------------------------------------------------------------------------

static void add_path(void *ctx, const char *path, const CoreType *type) {
    strbuf_printf(ctx, "%s/%d ", path, type->rank);
}

static void test_weights(Test *t) {
    Session *s = session_new();
    Core *c = read_core(s, "core 1 dim B block @L \"L\" { param w: f32[2, 2] state k: f32[B] }"
                           "block @M \"M\" { sub head: @L array l: @L[2] buffer b: f32[] }"
                           "block @N \"N\" { array l: @L[B] }"
                           "block @O \"O\" { array l: @L[9000000000] }");
    StrBuf b = strbuf_new(s->arena);
    CHECK(t, c && core_weights(c, c->blocks.data[1], add_path, &b));
    same_text(t, b.data, "head.w/2 l.0.w/2 l.1.w/2 b/0 ", "the weights of a block");
    CHECK(t, c && !core_weights(c, c->blocks.data[2], add_path, &b));
    CHECK(t, c && !core_weights(c, c->blocks.data[3], add_path, &b));
    session_free(s);
}

int main(void) {
    Test t = {0};
    test_files(&t);
    test_build(&t);
    test_folding(&t);
    test_rounding(&t);
    test_views(&t);
    test_view_groups(&t);
    test_refused(&t);
    test_deep(&t);
    test_weights(&t);
    return finish(&t);
}
