// Tests of states: text both ways, what the verifier refuses, writes that no result needs.
#include "core_help.h"
#include "opt/dce.h"

static const char step[] =
    "core 1\n"
    "dim B, C, Cap\n"
    "\n"
    "fn @sums \"app::sums\" (%x: f32[B, Cap, 4]) -> f32[B, 4] {\n"
    "    %s: f32[B, 4] = comp(%x) [b, d] sum.add [k < Cap] { read(0, b, k, d) }\n"
    "    return %s\n"
    "}\n"
    "\n"
    "entry fn @step \"app::step\" (%x: f32[B, C, 4], %pos: i32[B], state %k: f32[B, Cap, 4], "
    "state %v: f32[3, B, Cap, 4]) -> f32[B, 4] {\n"
    "    %k.2: f32[B, Cap, 4] = write %k, %x, %pos\n"
    "    %s: f32[B, 4] = call @sums(%k.2)\n"
    "    %y: f32[B, 4] = loop %i < 3 (%a = %s) {\n"
    "        %1: f32[B, Cap, 4] = pick %v, %i\n"
    "        %2: f32[B, Cap, 4] = write %1, %x, %pos\n"
    "        %3: f32[B, 4] = call @sums(%2)\n"
    "        yield %3\n"
    "    }\n"
    "    return %y\n"
    "}\n";

static void test_text(Test *t) {
    Session *s = session_new();
    Core *c = read_core(s, step);
    CHECK(t, c != NULL);
    if (!c)
        return;
    same_text(t, printed(c), step, "a function with states");
    same_text(t, faults_of(c), "", "a function with states");
    CoreFn *f = core_find(c, "step");
    CHECK(t, f->params.len == 4 && f->states.len == 2 && f->states.data[0] == f->params.data[2]);
    CoreFn *g = core_copy(c, f, f->name, "copy");
    CHECK(t, g->states.len == 2 && g->states.data[1] == f->states.data[1]);
    same_text(t, faults_of(c), "", "a copy");
    session_free(s);
}

#define HEAD                                                                                       \
    "core 1 dim B, C, Cap "                                                                        \
    "fn @same \"same\" (%x: f32[B, Cap, 4]) -> f32[B, Cap, 4] { return %x } "                      \
    "fn @f \"f\" (%x: f32[B, C, 4], %h: bf16[B, C, 4], %pos: i32[B], %i: i64[], "                  \
    "%n: f32[B, Cap, 4], state %k: f32[B, Cap, 4], state %v: f32[3, B, Cap, 4]) -> "

static const struct {
    const char *text;  // after HEAD: the result's type and the body of @f
    const char *words; // of the fault
} written[] = {
    {"f32[B, Cap, 4] { %w: f32[B, Cap, 4] = write %n, %x, %pos return %w }", "no state"},
    {"f32[B, Cap, 4] { %w: f32[B, Cap, 4] = write %k, %h, %pos return %w }", "rows of `write`"},
    {"f32[B, Cap, 4] { %w: f32[B, Cap, 4] = write %k, %x, %i return %w }", "positions of `write`"},
    {"f32[B, C, 4] { %w: f32[B, C, 4] = write %k, %x, %pos return %w }", "as another type"},
    {"f32[] { %w: f32[] = pick %i, %i return %w }", "`pick` from a scalar"},
    {"f32[B, 4] { %w: f32[B, 4] = pick %v, %i return %w }", "not that of the tensor's items"},
    {"f32[B, Cap, 4] { %w: f32[B, Cap, 4] = pick %v, %x return %w }", "not an i64 scalar"},
    {"f32[B, Cap, 4] { %w: f32[B, Cap, 4] = write %k, %x, %pos return %k }", "overwritten before"},
    {"f32[B, Cap, 4] { %a: f32[B, Cap, 4] = pick %v, %i %w: f32[B, Cap, 4] = write %a, %x, %pos "
     "%b: f32[B, Cap, 4] = pick %v, %i return %w }",
     "overwritten before"},
    {"f32[B, Cap, 2, 2] { %a: f32[B, Cap, 2, 2] = view(%k) "
     "%w: f32[B, Cap, 4] = write %k, %x, %pos return %a }",
     "overwritten before"},
    {"f32[B, Cap, 4] { %a: f32[B, Cap, 4] = call @same(%k) "
     "%w: f32[B, Cap, 4] = write %k, %x, %pos return %a }",
     "overwritten before"},
    {"f32[B, Cap, 4] { %a: f32[B, Cap, 4] = view(%k) "
     "%w: f32[B, Cap, 4] = write %a, %x, %pos return %w }",
     "no state"},
    {"f32[B, Cap, 4] { %y: f32[B, Cap, 4] = loop %j < 2 (%c = %k) { yield %c } return %y }",
     "carries a state"},
    {"f32[B, C, 4] { %y: f32[B, C, 4] = loop %j < 2 (%c = %x) { "
     "%w: f32[B, Cap, 4] = write %k, %x, %pos yield %c } return %y }",
     "outside of its region"},
};

static void test_faults(Test *t) {
    for (size_t i = 0; i < sizeof written / sizeof written[0]; i++) {
        Session *s = session_new();
        Core *c = read_core(s, arena_printf(s->arena, "%s%s", HEAD, written[i].text));
        CHECK(t, c != NULL);
        if (c)
            has_fault(t, c, written[i].words, (int)i);
        session_free(s);
    }
    Session *s = session_new();
    Core *c = read_core(s, step);
    CoreFn *f = core_find(c, "step"), *g = core_copy(c, f, f->name, "g");
    g->region.body.len = g->region.yields.len = 0;
    Val a = core_call(c, g, &g->region, f, f->params.len, f->params.data, f->span);
    vec_push(s->arena, &g->region.yields, a);
    has_fault(t, c, "it is not called by others", __LINE__);
    vec_push(s->arena, &f->states, f->params.data[0]);
    vec_push(s->arena, &f->states, f->params.data[0]);
    has_fault(t, c, "listed twice", __LINE__);
    session_free(s);
}

// What no result needs goes; a write stays, and so does the loop around it.
static void test_dead(Test *t) {
    Session *s = session_new();
    Core *c = read_core(s, "core 1 dim B, C, Cap fn @f \"f\" (%x: f32[B, C, 4], %pos: i32[B], "
                           "state %k: f32[3, B, Cap, 4]) -> f32[B, C, 4] {"
                           "  %d: f32[B, C, 4] = comp(%x) [i, j, k] { neg(read(0, i, j, k)) }"
                           "  %l: f32[B, C, 4] = loop %i < 3 (%c = %x) {"
                           "    %p: f32[B, Cap, 4] = pick %k, %i"
                           "    %w: f32[B, Cap, 4] = write %p, %x, %pos yield %c }"
                           "  %m: f32[B, C, 4] = loop %j < 3 (%e = %d) { yield %e }"
                           "  return %x }");
    CHECK(t, c != NULL);
    if (!c)
        return;
    CoreFn *f = c->fns.data[0];
    opt_dce(c, f);
    CHECK(t, f->region.body.len == 1);
    const Value *loop = core_value(f, f->region.body.data[0]);
    CHECK(t, loop->op == OP_LOOP && loop->loop->region.body.len == 2);
    same_text(t, faults_of(c), "", "after the dead are gone");
    session_free(s);
}

int main(void) {
    Test t = {0};
    test_text(&t);
    test_faults(&t);
    test_dead(&t);
    return finish(&t);
}
