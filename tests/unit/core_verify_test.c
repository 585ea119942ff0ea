// Tests of the verifier: a module with each kind of fault, and the words it is reported with.
#include "core_help.h"

// ---- Faults that can be written ----------------------------------------------------------------

#define HEAD                                                                                       \
    "core 1 dim B\n"                                                                               \
    "block @L \"L\" { param w: f32[4] }\n"                                                         \
    "block @M \"M\" { array layers: @L[3] sub one: @L }\n"                                         \
    "fn @two \"two\" (%x: f32[B, 4]) -> (f32[B, 4], f32[B, 4]) { return %x, %x }\n"                \
    "fn @f \"f\" (%self: @M, %x: f32[B, 4], %h: bf16[B, 4], %n: i64[], %p: bool[B, 4]) -> "

static const struct {
    const char *text;  // after HEAD: the result's type and the body of @f
    const char *words; // of the fault
} written[] = {
    // Ops
    {"f32[B, 4] { %y: f32[B, 4] = call @two(%x) return %y }", "not that of the results of @two"},
    {"f32[B, 4] { %y: (f32[B, 4], f32[B, 4]) = call @two(%x, %x) return %x }", "takes 1 arguments"},
    {"f32[B, 4] { %y: (f32[B, 4], f32[B, 4]) = call @two(%h) return %x }", "another type than its"},
    {"f32[B, 4] { %y: f32[B, 4] = result %x, 0 return %y }", "no several results"},
    {"f32[B, 4] { %t: (f32[B, 4], f32[B, 4]) = call @two(%x) %y: f32[B, 4] = result %t, 2 "
     "return %y }",
     "result 2 of 2"},
    {"f32[B] { %t: (f32[B, 4], f32[B, 4]) = call @two(%x) %y: f32[B] = result %t, 0 return %y }",
     "not that of result 0"},
    {"f32[4] { %y: f32[4] = member %x.w return %y }", "`member` of something that is no block"},
    {"f32[4] { %y: f32[4] = member %self.v return %y }", "has no member `v`"},
    {"f32[4] { %y: f32[4] = member %self.one return %y }", "not that of @M.one"},
    {"@L { %y: @L = pick %self, %n return %y }", "no array"},
    {"@M { %a: @L[3] = member %self.layers %y: @M = pick %a, %n return %y }",
     "not that of the array's blocks"},
    {"@L { %a: @L[3] = member %self.layers %y: @L = pick %a, %x return %y }", "not an i64 scalar"},
    // Loops and scopes
    {"f32[B, 4] { %y: f32[B, 4] = loop %i < 3 () { yield } return %y }", "carried and stacked"},
    {"f32[B, 4] { %y: f32[B, 4] = loop %i < 3 (%c = %x) { yield } return %y }", "yields 0"},
    {"f32[B, 4] { %y: f32[B, 4] = loop %i < 3 (%c = %x) { yield %h } return %y }",
     "yield 0 is of another type"},
    {"bf16[B, 4] { %y: bf16[B, 4] = loop %i < 3 (%c = %x) { yield %c } return %y }",
     "not that of the values carried"},
    {"f32[B, 4] { %y: f32[B, 4] = loop %i < 3 (%c = %x) { yield %c } return %c }",
     "of a region that has ended"},
    {"f32[B, 4] { %y: f32[B, 4] = loop %i < 3 (%c = %x) { %z: f32[B, 4] = comp(%c) [i, j] { "
     "read(0, i, j) } yield %z } %w: f32[B, 4] = comp(%z) [i, j] { read(0, i, j) } return %w }",
     "of a region that has ended"},
    // Comprehensions
    {"@M { %y: @M = comp() [] { 1 } return %y }", "gives a tensor"},
    {"f32[] { %y: f32[] = comp(%self) [] { 1.0:f32 } return %y }", "argument 0 is no tensor"},
    {"f32[B, 4] { %y: f32[B, 4] = comp(%x) [i] { read(0, i, i) } return %y }", "1 output indices"},
    {"f32[B, 4] { %y: f32[B, 4] = comp(%x) [i, j] max [] { read(0, i, j) } return %y }",
     "0 reduction indices"},
    {"f32[B, 4] { %y: f32[B, 4] = comp(%x) [i, j] { read(0, i) } return %y }",
     "reads at 1 positions"},
    {"f32[B, 4] { %y: f32[B, 4] = comp(%x) [i, j] { read(0, i, 1.0:f32) } return %y }",
     "is not i64"},
    {"f32[B, 4] { %y: f32[B, 4] = comp(%x) [i, j] { add(read(0, i, j), i) } return %y }",
     "are of f32 and i64"},
    {"bool[B, 4] { %y: bool[B, 4] = comp(%p) [i, j] { add(read(0, i, j), true) } return %y }",
     "`add` does not take bool"},
    {"i64[B] { %y: i64[B] = comp() [i] { exp(i) } return %y }", "`exp` does not take i64"},
    {"f32[B, 4] { %y: f32[B, 4] = comp(%x) [i, j] { mod(read(0, i, j), 1.0:f32) } return %y }",
     "`mod` does not take f32"},
    {"i64[B] { %y: i64[B] = comp() [i] { not(i) } return %y }", "`not` does not take i64"},
    {"bool[B] { %y: bool[B] = comp() [i] { shl(true, true) } return %y }", "`shl` does not take"},
    {"bool[B] { %y: bool[B] = comp() [i] { lt(true, true) } return %y }",
     "`lt` does not take bool"},
    {"i64[B] { %y: i64[B] = comp() [i] { select(i, i, i) } return %y }", "is not bool"},
    {"i64[B] { %y: i64[B] = comp() [i] { select(true, i, 1.0:f32) } return %y }",
     "are of i64 and f32"},
    {"i32[B] { %y: i32[B] = comp() [i] { i } return %y }", "gives i64, the value is of i32"},
    {"bool[B] { %y: bool[B] = comp(%p) [i] max [j < 4] { read(0, i, j) } return %y }",
     "`max` does not take bool"},
    {"f32[B] { %y: f32[B] = comp(%x) [i] any [j < 4] { read(0, i, j) } return %y }",
     "`any` does not take f32"},
    {"f32[B] { %y: f32[B] = comp(%h) [i] max [j < 4] { read(0, i, j) } return %y }",
     "gives bf16, the value is of f32"},
    // Steps
    {"f32[B] { %y: f32[B] = comp(%x) [i] sum [j < 4] { read(0, i, j) } return %y }",
     "a float sum steps by"},
    {"f32[B] { %y: f32[B] = comp(%x) [i] sum.fma [j < 4] { read(0, i, j) } return %y }",
     "has a `mul` as its root"},
    {"f32[B] { %y: f32[B] = comp(%x) [i] sum.add [j < 4] { let a = read(0, i, j); mul(a, a) } "
     "return %y }",
     "not by add"},
    {"f32[B] { %y: f32[B] = comp(%x) [i] sum.pairs [j < 4] { let a = read(0, i, j); mul(a, a) } "
     "return %y }",
     "in pairs is of mul"},
    {"f32[B] { %y: f32[B] = comp(%x) [i] max.add [j < 4] { read(0, i, j) } return %y }",
     "of float sums only"},
    {"i64[B] { %y: i64[B] = comp() [i] sum.add [j < 4] { j } return %y }", "of float sums only"},
    {"bf16[B] { %y: bf16[B] = comp(%h) [i] sum.fma [j < 4] { let a = read(0, i, j); mul(a, a) } "
     "return %y }",
     "of bf16 steps in pairs"},
    {"bf16[B] { %y: bf16[B] = comp(%h) [i] sum.fma [j < 4] { let a = cast.f32(read(0, i, j)); "
     "mul(a, a) } return %y }",
     "the value is of bf16"},
    // Views
    {"f32[B, 5] { %y: f32[B, 5] = view(%x) return %y }", "a view of 4*B elements as 5*B"},
    {"bf16[4, B] { %y: bf16[4, B] = view(%x) return %y }", "gives f32, the value is of bf16"},
};

static void test_written(Test *t) {
    Session *good = session_new();
    Core *fine = read_core(good, HEAD "f32[B, 4] { return %x }");
    same_text(t, fine ? faults_of(fine) : "?", "", "the module without a fault");
    session_free(good);
    for (size_t i = 0; i < sizeof written / sizeof written[0]; i++) {
        Session *s = session_new();
        Core *c = read_core(s, arena_printf(s->arena, "%s%s", HEAD, written[i].text));
        check_at(t, c != NULL, written[i].text, __FILE__, __LINE__);
        if (c)
            has_fault(t, c, written[i].words, (int)i);
        else
            diags_print(s, stdout, false);
        session_free(s);
    }
}

static void test_blocks(Test *t) {
    static const char *const blocks[][2] = {
        {"block @A \"A\" { sub a: @A }", "@A holds itself"},
        {"block @A \"A\" { sub b: @B } block @B \"B\" { array a: @A[2] }", "holds itself"},
        {"block @A \"A\" { param a: f32[] param a: f32[] }", "or another member's"},
        {"block @A \"A\" { param a: @B } block @B \"B\" { }", "its kind of member"},
        {"block @A \"A\" { array a: f32[4] }", "its kind of member"},
        {"block @A \"A\" { sub a: @B[4] } block @B \"B\" { }", "its kind of member"},
    };
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        Session *s = session_new();
        Core *c = read_core(s, arena_printf(s->arena, "core 1 %s", blocks[i][0]));
        has_fault(t, c, blocks[i][1], __LINE__);
        session_free(s);
    }
}

// ---- Faults that can't: each changes a sound module in memory -----------------------------------

typedef struct {
    Session *s;
    Core *c;
    CoreFn *f, *g; // @f is called by @g
    Value *y;      // a comprehension of @f
    Value *l;      // a loop of @g
} Sound;

typedef void Damage(Sound *m);

static const char sound[] =
    "core 1 dim B block @L \"L\" { param w: f32[4] }"
    "fn @f \"f\" (%x: f32[B, 4]) -> f32[B, 4] { "
    "  %y: f32[B, 4] = comp(%x) [i, j] { add(read(0, i, j), 0.5:f32) } return %y }"
    "fn @g \"g\" (%self: @L, %x: f32[B, 4]) -> f32[B, 4] {"
    "  %l: f32[B, 4] = loop %i < B (%c = %x) { %d: f32[B, 4] = call @f(%c) yield %d } return %l }";

static Node *node_of(Sound *m, NodeOp op) {
    for (int i = 0; i < m->y->comp->nodes.len; i++) {
        if (m->y->comp->nodes.data[i].op == op)
            return &m->y->comp->nodes.data[i];
    }
    abort();
}

static const Dim *stranger(Sound *m) {
    return dim_symbol(m->c->dims, session_name(m->s, "Q"));
}

static void no_comp(Sound *m) {
    m->y->comp = NULL;
}
static void no_type(Sound *m) {
    m->y->type = NULL;
}
static void no_name(Sound *m) {
    m->f->name = NULL;
}
static void root_beyond(Sound *m) {
    m->y->comp->root = 99;
}
static void forward_operand(Sound *m) {
    node_of(m, N_ADD)->args[1] = 77;
}
static void own_operand(Sound *m) {
    node_of(m, N_ADD)->args[0] = m->y->comp->root;
}
static void no_node(Sound *m) {
    node_of(m, N_ADD)->op = NODE_COUNT;
}
static void wrong_dtype(Sound *m) {
    node_of(m, N_ADD)->dtype = DT_F64;
}
static void wrong_index_dtype(Sound *m) {
    node_of(m, N_INDEX)->dtype = DT_I32;
}
static void index_beyond(Sound *m) {
    node_of(m, N_INDEX)->index = 2;
}
static void no_argument(Sound *m) {
    node_of(m, N_READ)->index = 3;
}
static void wrong_read_dtype(Sound *m) {
    node_of(m, N_READ)->dtype = DT_BF16;
}
static void no_positions(Sound *m) {
    node_of(m, N_READ)->reads = NULL;
}
static void unrounded(Sound *m) {
    node_of(m, N_CONST)->f = 0.1;
}
static void no_dim(Sound *m) {
    *node_of(m, N_CONST) = (Node){.op = N_DIM, .dtype = DT_I64};
}
static void no_reduction(Sound *m) {
    m->y->comp->reduction = (Reduction)99;
}
static void strange_view(Sound *m) {
    m->y->comp->reshape = true;
}
static void argument_beyond(Sound *m) {
    m->y->args.data[0] = 9;
}
static void own_argument(Sound *m) {
    m->y->args.data[0] = 2;
}
static void no_op(Sound *m) {
    m->y->op = OP_COUNT;
}
static void param_in_body(Sound *m) {
    m->y->op = OP_PARAM;
    m->y->args.len = 0;
}
static void yield_beyond(Sound *m) {
    m->f->region.yields.data[0] = 44;
}
static void body_beyond(Sound *m) {
    m->f->region.body.data[0] = 44;
}
static void twice(Sound *m) {
    vec_push(m->s->arena, &m->f->region.body, 2);
}
static void no_param(Sound *m) {
    m->f->params.data[0] = 2;
}
static void param_twice(Sound *m) {
    vec_push(m->s->arena, &m->f->params, 1);
}
static void other_self(Sound *m) {
    m->g->params.data[0] = m->g->params.data[1], m->g->params.len--;
}
static void no_loop(Sound *m) {
    m->l->loop = NULL;
}
static void no_count(Sound *m) {
    m->l->loop->count = NULL;
}
static void strange_count(Sound *m) {
    m->l->loop->count = stranger(m);
}
static void index_is_carried(Sound *m) {
    m->l->loop->index = m->l->loop->carried.data[0];
}
static void loop_in_itself(Sound *m) {
    m->l->loop->region.body.data[0] = m->g->region.body.data[0];
}
static void no_symbols(Sound *m) {
    m->c->symbols.len = 0;
}
static void strange_bound(Sound *m) {
    m->c->bounds.data[0] = stranger(m);
}
static void number_symbol(Sound *m) {
    m->c->symbols.data[0] = dim_const(m->c->dims, 2);
}
static void no_blocks(Sound *m) {
    m->c->blocks.len = 0;
}
static void same_label(Sound *m) {
    m->g->label = m->f->label;
}

static void strange_node_dim(Sound *m) {
    *node_of(m, N_CONST) = (Node){.op = N_DIM, .dtype = DT_I64, .dim = stranger(m)};
}

static void wrong_order(Sound *m) {
    m->c->fns.data[0] = m->g;
    m->c->fns.data[1] = m->f;
}

static void recursion(Sound *m) {
    for (int i = 0; i < m->g->values.len; i++) {
        if (m->g->values.data[i].op == OP_CALL)
            m->g->values.data[i].callee = m->g;
    }
}

static void invalid_dim(Sound *m) {
    const Dim *zero = dim_const(m->c->dims, 0);
    const Dim *dims[] = {dim_div(m->c->dims, m->c->symbols.data[0], zero), zero};
    m->y->type = core_tensor(m->c, DT_F32, 2, dims);
}

static void other_carried(Sound *m) {
    core_value(m->g, m->l->loop->carried.data[0])->type = core_tensor(m->c, DT_F32, 0, NULL);
}

static void other_index(Sound *m) {
    core_value(m->g, m->l->loop->index)->type = core_tensor(m->c, DT_I32, 0, NULL);
}

static const struct {
    Damage *damage;
    const char *words;
} damages[] = {
    {no_comp, "there is no body"},
    {no_type, "has no type"},
    {no_name, "the function has no name"},
    {root_beyond, "the root is node 99"},
    {forward_operand, "is node 77: not before it"},
    {own_operand, "not before it"},
    {no_node, "is no node"},
    {wrong_dtype, "is of f64 and should be of f32"},
    {wrong_index_dtype, "`index`, is not i64"},
    {index_beyond, "is index 2 of 2"},
    {no_argument, "reads argument 3 of 1"},
    {wrong_read_dtype, "is of bf16, it reads f32"},
    {no_positions, "has no operands"},
    {unrounded, "is no value of f32"},
    {no_dim, "the dimension of a node is not valid"},
    {strange_node_dim, "the dimension of a node uses `Q`"},
    {no_reduction, "no such reduction"},
    {strange_view, "a view is a read of its only argument"},
    {argument_beyond, "an argument is value 9"},
    {own_argument, "not defined before this"},
    {no_op, "of no op"},
    {param_in_body, "`param` in the body"},
    {yield_beyond, "a result is value 44"},
    {body_beyond, "a region holds value 44"},
    {twice, "placed twice"},
    {no_param, "is no `param`"},
    {param_twice, "is a parameter twice"},
    {other_self, "the first parameter of a method"},
    {no_loop, "a loop without a region"},
    {no_count, "the loop's count is not valid"},
    {strange_count, "the loop's count uses `Q`"},
    {index_is_carried, "the loop's index is not an i64 scalar"},
    {other_index, "the loop's index is not an i64 scalar"},
    {other_carried, "of another type than its first value"},
    {loop_in_itself, "not defined before this"},
    {no_symbols, "uses `B`, which is not among"},
    {strange_bound, "the bound of a symbol uses `Q`"},
    {number_symbol, "symbol 0 of the module is none"},
    {no_blocks, "of a block that is not the module's"},
    {same_label, "no label, or another's"},
    {wrong_order, "the callee does not come before its caller"},
    {recursion, "the callee does not come before its caller"},
    {invalid_dim, "the value is not valid"},
};

static Sound sound_module(void) {
    Sound m = {.s = session_new()};
    m.c = read_core(m.s, sound);
    if (!m.c)
        abort();
    m.f = m.c->fns.data[0];
    m.g = m.c->fns.data[1];
    m.y = core_value(m.f, m.f->region.body.data[0]);
    m.l = core_value(m.g, m.g->region.body.data[0]);
    return m;
}

static void test_damages(Test *t) {
    Sound fine = sound_module();
    same_text(t, faults_of(fine.c), "", "the sound module");
    session_free(fine.s);
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        Sound m = sound_module();
        damages[i].damage(&m);
        has_fault(t, m.c, damages[i].words, (int)i);
        session_free(m.s);
    }
}

// A report has an end, and says how much it leaves out.
static void test_many(Test *t) {
    Session *s = session_new();
    StrBuf b = strbuf_new(s->arena);
    strbuf_add(&b, STR("core 1 fn @f \"f\" (%x: f32[]) -> f32[] { "));
    for (int i = 0; i < 60; i++)
        strbuf_printf(&b, "%%y.%d: i32[] = comp(%%x) [] { read(0) } ", i + 1);
    strbuf_add(&b, STR("return %x }"));
    has_fault(t, read_core(s, b.data), "and 10 more", __LINE__);
    session_free(s);
}

int main(void) {
    Test t = {0};
    test_written(&t);
    test_blocks(&t);
    test_damages(&t);
    test_many(&t);
    return finish(&t);
}
