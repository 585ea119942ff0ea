// Tests of blocks' states, loops with tests and stacks, running sums: text both ways, what the
// verifier refuses, copies of what is read too late, what is never dead.
#include "core_help.h"
#include "opt/dce.h"

static const char module[] =
    "core 1\n"
    "dim B\n"
    "\n"
    "block @L \"L\" {\n"
    "    state k: f32[2, 3, 4, 5]\n"
    "    state n: i64[]\n"
    "}\n"
    "\n"
    "fn @bump \"L.bump\" (%self: @L, %by: i64[]) -> i64[] {\n"
    "    %n: i64[] = member %self.n\n"
    "    %1: i64[] = comp(%n, %by) [] { add(read(0), read(1)) }\n"
    "    %n.2: i64[] = member %self.n\n"
    "    %n.3: i64[] = assign %n.2, %1\n"
    "    return %1\n"
    "}\n"
    "\n"
    "entry fn @f \"f\" (%self: @L, %x: f32[B, 3, 1, 5], %at: i32[B], %y: f32[6, B]) -> "
    "(f32[6, B], i64[7, 6], i64[]) {\n"
    "    %k: f32[2, 3, 4, 5] = member %self.k\n"
    "    %k.2: f32[2, 3, 4, 5] = place %k, %x, %at, %at\n"
    "    %s: f32[6, B] = cumsum %y, 1\n"
    "    %a: i64[] = comp() [] { 1 }\n"
    "    %b: i64[] = while (%c = %a) {\n"
    "        %t: bool[] = comp(%c) [] { lt(read(0), 100) }\n"
    "        yield %t\n"
    "    } do {\n"
    "        %d: i64[] = call @bump(%self, %c)\n"
    "        yield %d\n"
    "    }\n"
    "    %1: (i64[], i64[7, 6]) = loop %i < 7 (%c.2 = %b) {\n"
    "        %2: i64[6] = comp(%c.2) [j] { add(read(0), j) }\n"
    "        yield %i, %2\n"
    "    }\n"
    "    %3: i64[] = result %1, 0\n"
    "    %4: i64[7, 6] = result %1, 1\n"
    "    return %s, %4, %3\n"
    "}\n";

static void test_text(Test *t) {
    Session *s = session_new();
    Core *c = read_core(s, module);
    CHECK(t, c != NULL);
    if (c) {
        same_text(t, printed(c), module, "a function of all");
        same_text(t, faults_of(c), "", "a function of all");
        CoreFn *g = core_copy(c, core_find(c, "f"), "g", "g");
        CHECK(t, g->effects && core_find(c, "bump")->effects);
        same_text(t, faults_of(c), "", "a copy");
        opt_dce(c, g); // nothing is dead: all that changes states, and what that needs
        CHECK(t, g->region.body.len == core_find(c, "f")->region.body.len);
        g->effects = false;
        CHECK(t, strstr(faults_of(c), "is not marked so") != NULL);
    }
    session_free(s);
}

#define HEAD                                                                                       \
    "core 1 block @L \"L\" { state k: f32[2, 3, 4] param w: f32[2, 3, 4] } "                       \
    "fn @same \"same\" (%x: f32[2, 3, 4]) -> f32[2, 3, 4] { return %x } "                          \
    "fn @set \"set\" (%self: @L, %x: f32[2, 3, 4]) -> f32[2, 3, 4] { "                             \
    "%k: f32[2, 3, 4] = member %self.k %1: f32[2, 3, 4] = assign %k, %x return %x } "              \
    "fn @f \"f\" (%self: @L, %x: f32[2, 3, 4], %y: f32[2, 3, 1], %at: i32[2], %i: i64[]) -> "
#define T "f32[2, 3, 4]"
#define READ "%k: " T " = member %self.k "

static const struct {
    const char *text;  // after HEAD: the result's type and the body of @f
    const char *words; // of the fault
} written[] = {
    {T " { %1: " T " = assign %x, %x return %1 }", "no state of a block"},
    {T " { %w: " T " = member %self.w %1: " T " = assign %w, %x return %1 }", "no state of a"},
    {T " { " READ "%1: " T " = assign %k, %y return %1 }", "of another type than its state"},
    {T " { " READ "%1: " T " = assign %k, %x return %k }", "overwritten before"},
    {T " { " READ "%v: " T " = view(%k) %1: " T " = assign %k, %x return %v }", "overwritten"},
    {T " { " READ "%v: " T " = call @same(%k) %1: " T " = assign %k, %x return %v }",
     "overwritten"},
    {T " { " READ "%1: " T " = call @set(%self, %x) return %k }", "overwritten before"},
    {T " { " READ "%1: " T " = call @set(%self, %k) return %1 }", "is given a state"},
    {T " { " READ "%2: " T " = member %self.k %1: " T " = assign %2, %k return %1 }",
     "is given a state"},
    {T " { " READ "%1: " T " = loop %j < 2 (%c = %k) { yield %c } return %1 }", "carries a state"},
    {T " { %1: " T " = loop %j < 2 (%c = %x) { " READ "yield %k } return %1 }", "yields a state"},
    {T " { " READ "%1: " T " = loop %j < 2 (%c = %x) { %d: " T " = call @same(%k) %e: " T
       " = call @set(%self, %x) yield %e } return %1 }",
     "overwritten before"},
    {T " { " READ "%1: " T " = place %k, %y, %at, %i return %1 }", "do not fit the state"},
    {T " { " READ "%1: " T " = place %k, %at, %at, %at return %1 }", "do not fit the state"},
    {T " { %1: " T " = cumsum %x, 3 return %1 }", "axis 3 of a tensor of rank 3"},
    {"f32[2] { %1: f32[2] = cumsum %x, 0 return %1 }", "or as another type"},
    {T " { %1: " T " = while (%c = %x) { yield %x } do { yield %c } return %1 }", "no bool scalar"},
    {T " { %1: " T " = while (%c = %x) { %t: bool[] = comp() [] { true } yield %t } do "
       "{ yield %c, %c } return %1 }",
     "a loop carries 1 values"},
    {"f32[2, 2, 3, 4] { %1: f32[2, 2, 3, 4] = loop %j < 3 () { yield %x } return %1 }",
     "carried and stacked"},
};

static void test_faults(Test *t) {
    for (size_t i = 0; i < sizeof written / sizeof *written; i++) {
        Session *s = session_new();
        Core *c = read_core(s, arena_printf(s->arena, "%s%s", HEAD, written[i].text));
        const char *faults = c ? faults_of(c) : "not read";
        if (!strstr(faults, written[i].words))
            printf("%s\n    gives: %s\n    not: %s\n", written[i].text, faults, written[i].words);
        CHECK(t, strstr(faults, written[i].words) != NULL);
        session_free(s);
    }
}

// The faults of reading too late go away by copies.
static void test_copies(Test *t) {
    int mended = 0;
    for (size_t i = 3; i < 12; i++) {
        Session *s = session_new();
        Core *c = read_core(s, arena_printf(s->arena, "%s%s", HEAD, written[i].text));
        if (c) {
            core_copy_states(c, core_find(c, "f"));
            same_text(t, faults_of(c), "", written[i].text);
            mended++;
        }
        session_free(s);
    }
    CHECK(t, mended == 9);
}

int main(void) {
    Test t = {0};
    test_text(&t);
    test_faults(&t);
    test_copies(&t);
    printf("%d passed, %d failed\n", t.passed, t.failed);
    return t.failed != 0;
}
