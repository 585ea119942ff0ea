// Tests of greedy copies and of dead values.
#include "core_help.h"
#include "opt/dce.h"
#include "opt/greedy.h"

static Core *read_file(Session *s, const char *path) {
    const char *why = NULL;
    Source *source = source_load(s->arena, path, &why);
    return source ? core_parse(s, dims_new(s->arena), session_add(s, source)) : NULL;
}

static const char *fn_text(const Core *c, const CoreFn *f) {
    StrBuf out = strbuf_new(c->session->arena);
    core_print_fn(c, f, &out);
    return out.data;
}

static const char argmax[] =
    "// std/nn/decoding  argmax(x) -> the first index of the greatest value\n"
    "fn @argmax \"std.nn.decoding::argmax\" (%x: f32[B, V]) -> i32[B] {\n"
    "    // the greatest value of each row\n"
    "    %peak: f32[B] = comp(%x) [i] max [n < V] { read(0, i, n) }\n"
    "    // where it comes first\n"
    "    %first: i64[B] = comp(%x, %peak) [i] min [n < V] {\n"
    "        select(eq(read(0, i, n), read(1, i)), n, dim(V))\n"
    "    }\n"
    "    // the last index where nothing is equal to a NaN\n"
    "    %token: i32[B] = comp(%first) [i] { cast.i32(min(read(0, i), dim(V - 1))) }\n"
    "    return %token\n}\n";

static const char callee[] =
    "fn @draw.greedy \"app::draw.greedy\" (%logits: f32[B, V], %temperature: f32[]) -> i32[B] {\n"
    "    %scaled: f32[B, V] = comp(%logits, %temperature) [b, n] { div(read(0, b, n), read(1)) }\n"
    "    %token: i32[B] = call @argmax(%scaled)\n"
    "    return %token\n}\n";

static const char entry[] =
    "// entry next_token(key, logits, temperature)\n"
    "entry fn @next_token.greedy \"app::next_token.greedy\" (%key: i64[2], %logits: f32[B, V], "
    "%temperature: f32[]) -> i32[B] {\n"
    "    %zero: i32[B] = comp() [b] { 0:i32 }\n"
    "    %token: i32[B] = loop %i < 2 (%token.2 = %zero) {\n"
    "        %token.3: i32[B] = call @draw.greedy(%logits, %temperature)\n"
    "        yield %token.3\n"
    "    }\n"
    "    return %token\n}\n";

// tests/core/sample.core: the draw is in a callee, that call in a loop, both with folds of the key.
static void test_sample(Test *t) {
    Session *s = session_new();
    Core *c = read_file(s, "tests/core/sample.core");
    CHECK(t, c != NULL);
    if (!c)
        return;
    int before = c->fns.len;
    const char *text = printed(c);
    StrBuf why = strbuf_new(s->arena);
    CoreFn *g = opt_greedy(c, core_find(c, "next_token"), &why);
    CHECK(t, g && g == core_find(c, "next_token.greedy") && why.len == 0 && g->entry);
    same_text(t, faults_of(c), "", "the module with greedy copies");
    CHECK(t, strncmp(printed(c), text, strlen(text)) == 0); // what was there is as it was
    CHECK(t, c->fns.len == before + 3);
    same_text(t, fn_text(c, core_find(c, "argmax")), argmax, "argmax");
    same_text(t, fn_text(c, core_find(c, "draw.greedy")), callee, "the callee's copy");
    same_text(t, fn_text(c, g), entry, "the entry's copy");
    session_free(s);
}

static void test_types(Test *t) {
    Session *s = session_new();
    Core *c = read_core(
        s,
        "core 1 dim B "
        "fn @c \"std.random::categorical\" (%k: i64[2], %x: bf16[B, 9]) -> i32[B] {"
        "  %y: i32[B] = comp() [b] { 0:i32 } return %y }"
        "fn @d \"std.random::categorical\" (%k: i64[2], %x: f32[5]) -> i32[] {"
        "  %y: i32[] = comp() [] { 0:i32 } return %y }"
        "entry fn @e \"e\" (%k: i64[2], %x: bf16[B, 9], %z: f32[5]) -> (i32[B], i32[B], i32[]) {"
        "  %1: i32[B] = call @c(%k, %x) %2: i32[B] = call @c(%k, %x) %3: i32[] = call @d(%k, %z) "
        "  return %1, %2, %3 }");
    CHECK(t, c != NULL);
    CoreFn *g = opt_greedy(c, core_find(c, "e"), NULL);
    CHECK(t, g && core_find(c, "argmax") && core_find(c, "argmax.2") && !core_find(c, "argmax.3"));
    same_text(t, faults_of(c), "", "two types of logits");
    CHECK(t, g && g->params.len == 3);
    session_free(s);
}

// Nothing to replace: the entry itself. A draw of another form, or one that is dead.
static void test_edges(Test *t) {
    static const char other[] =
        "core 1 fn @c \"std.random::categorical\" (%x: f32[9]) -> i32[] {"
        "  %y: i32[] = comp() [] { 0:i32 } return %y }"
        "entry fn @e \"e\" (%x: f32[9]) -> i32[] { %1: i32[] = call @c(%x) return %1 }"
        "entry fn @d \"d\" (%x: f32[9]) -> f32[9] { %1: i32[] = call @c(%x) return %x }";
    Session *s = session_new();
    Core *c = read_core(s, other);
    StrBuf why = strbuf_new(s->arena);
    CHECK(t, c && c->fns.len == 3);
    CHECK(t, !opt_greedy(c, core_find(c, "e"), &why) && strstr(why.data, "@e draws"));
    CHECK(t, !opt_greedy(c, core_find(c, "e"), NULL));
    CHECK(t, opt_greedy(c, core_find(c, "d"), NULL) == core_find(c, "d"));
    same_text(t, faults_of(c), "", "after a refusal");
    session_free(s);
}

static void test_dce(Test *t) {
    Session *s = session_new();
    Core *c =
        read_core(s, "core 1 fn @f \"f\" (%x: f32[4], %y: f32[4]) -> f32[4] {"
                     "  %a: f32[4] = comp(%x) [i] { read(0, i) }"
                     "  %b: f32[4] = comp(%a) [i] { read(0, i) }"
                     "  %c: f32[4] = comp(%a) [i] { neg(read(0, i)) }"
                     "  %l: f32[4] = loop %i < 3 (%p = %x) {"
                     "    %d: f32[4] = comp(%b) [i] { read(0, i) }"
                     "    %e: f32[4] = comp(%p, %c) [i] { add(read(0, i), read(1, i)) } yield %e }"
                     "  %m: f32[4] = loop %j < 3 (%q = %l) { yield %q }"
                     "  return %l }");
    CHECK(t, c != NULL);
    CoreFn *f = c->fns.data[0];
    bool *live = opt_live(s->arena, f);
    CHECK(t, live[f->params.data[0] - 1] && !live[f->params.data[1] - 1]);
    opt_dce(c, f);
    same_text(t, fn_text(c, f),
              "fn @f \"f\" (%x: f32[4], %y: f32[4]) -> f32[4] {\n"
              "    %a: f32[4] = comp(%x) [i] { read(0, i) }\n"
              "    %c: f32[4] = comp(%a) [i] { neg(read(0, i)) }\n"
              "    %l: f32[4] = loop %i < 3 (%p = %x) {\n"
              "        %e: f32[4] = comp(%p, %c) [i] { add(read(0, i), read(1, i)) }\n"
              "        yield %e\n"
              "    }\n"
              "    return %l\n}\n",
              "after the dead are gone");
    same_text(t, faults_of(c), "", "after the dead are gone");
    session_free(s);
}

int main(void) {
    Test t = {0};
    test_sample(&t);
    test_types(&t);
    test_edges(&t);
    test_dce(&t);
    return finish(&t);
}
