// The parser and the printer: values of literals, spans, texts, recovery, limits, and random
// expressions whose text parses to the same tree.

#include "syntax/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int passed, failed;

static void check(bool ok, const char *what) {
    if (ok) {
        passed++;
        return;
    }
    failed++;
    printf("FAIL %s\n", what);
}

static int add(Session *s, const char *text) {
    const char *copy = arena_copy(s->arena, text, strlen(text));
    return session_add(s, source_new(s->arena, "test", str_of(copy)));
}

static Expr *parse(Session *s, const char *text) {
    return parse_expr_text(s, add(s, text));
}

static const char *text_of(Session *s, const Expr *e) {
    StrBuf b = strbuf_new(s->arena);
    ast_expr_text(e, &b);
    return b.data;
}

static const char *tree_of(Session *s, Expr *e) {
    Module m = {0};
    Item item = {.kind = ITEM_CONST, .name = "x", .value = e};
    vec_push(s->arena, &m.items, &item);
    StrBuf b = strbuf_new(s->arena);
    ast_dump(s, &m, false, &b);
    return b.data;
}

// ---- Literals and spans ------------------------------------------------------------------------

static void test_literals(void) {
    Session *s = session_new();
    check(parse(s, "9223372036854775807")->int_value == INT64_MAX, "largest integer");
    check(parse(s, "0xFf_0")->int_value == 0xFF0, "hexadecimal");
    check(parse(s, "0b1_01")->int_value == 5, "binary");
    check(parse(s, "1_0.5e-1_0")->float_value == 10.5e-10, "float with underscores");
    check(parse(s, "true")->int_value == 1, "true");
    Expr *e = parse(s, "\"a\\n\\u{41}\\u{e9}\\u{6570}\\u{1F600}\\0\\\"\"");
    Str want = STR("a\nA\xC3\xA9\xE6\x95\xB0\xF0\x9F\x98\x80\0\"");
    check(e && str_eq(e->text, want), "escapes");
    check(s->errors == 0, "no errors in literals");
    session_free(s);
}

static void test_spans(void) {
    Session *s = session_new();
    Expr *e = parse(s, "  (a.bc + d) * f(x, y = 1) ");
    check(e->span.start == 2 && e->span.end == 26, "span of the whole");
    check(e->op_span.start == 13 && e->op_span.end == 14, "span of the operator");
    check(e->a->parens && e->a->span.start == 2 && e->a->span.end == 12, "span with parentheses");
    check(e->a->a->name_span.start == 5 && e->a->a->name_span.end == 7, "span of a member's name");
    check(e->b->args.data[1].span.start == 20, "span of a named argument");
    session_free(s);
}

// ---- Texts -------------------------------------------------------------------------------------

static void test_texts(void) {
    static const char *const cases[][2] = {
        {"((a+b))*c", "(a + b) * c"},
        {"a+(b*c)", "a + b * c"},
        {"a-(b-c)", "a - (b - c)"},
        {"(a-b)-c", "a - b - c"},
        {"(a&b)==c", "a & b == c"},
        {"a&(b==c)", "a & (b == c)"},
        {"-(-x)", "-(-x)"},
        {"(-x)[0]", "(-x)[0]"},
        {"-(x[0])", "-x[0]"},
        {"(sum[i] a[i])+b", "(sum[i] a[i]) + b"},
        {"b+(sum[i] a[i])", "b + sum[i] a[i]"},
        {"(a*(sum[i] b[i]))+c", "(a * sum[i] b[i]) + c"},
        {"-(sum<f32>[i,*s] b[i,*s])", "-sum<f32>[i, *s] b[i, *s]"},
        {"(sum)[i]", "(sum)[i]"},
        {"(a<b)>(c==d)", "((a < b) > (c == d))"},
        {"(a<b)>c", "a < b > c"},
        {"f(a<b,c>(d))", "f(a<b, c>(d))"},
        {"f(a<b,(c>(d==e)))", "f(a < b, (c > (d == e)))"},
        {"f<(a), [B,*S], 2*H, (a==b), L<T?>, Tensor[1;f32],>(x,)",
         "f<(a), [B, *S], 2 * H, (a == b), L<T?>, Tensor[1; f32]>(x)"},
        {"x[ ...,0 ::2, :b,a:,:,*s ]", "x[..., 0::2, :b, a:, :, *s]"},
        {"(a,)", "(a,)"},
        {"some( none )", "some(none)"},
        {"reshape(x,[B,2*S],axis=- 1)", "reshape(x, [B, 2 * S], axis = -1)"},
        {"if a{b}else{if c{d}else{e}}", "if a { b } else { if c { d } else { e } }"},
        {"match m{A=>1 some((p,_))=>2 none=>3}", "match m { A => 1 some((p, _)) => 2 none => 3 }"},
        {"for i in 0..n{let y[j]=x[j] var z:f32=1.0 z=2 yield y}",
         "for i in 0..n { let y[j] = x[j] var z: f32 = 1.0 z = 2 yield y }"},
        {"\"a\\\"\\u{41}\\n\"", "\"a\\\"A\\n\""},
    };
    Session *s = session_new();
    for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++) {
        Expr *e = parse(s, cases[i][0]);
        check(e && strcmp(text_of(s, e), cases[i][1]) == 0, cases[i][0]);
    }
    session_free(s);
}

static void test_signatures(void) {
    static const char *const items[] = {
        "fn f<B: Dim, *S: Shape, T: Float = bf16>(x: Tensor[B, *S; T], m: f32? = none) -> (T, i32) "
        "where B % 2 == 0, (B > 1) == C",
        "op g(x: f32) -> f32 kernel k<2 * N, T>",
        "kernel k(x: f32) -> y: Tensor[3; f32], z: f32 grid(1, 2) warps(4)",
        "const A: f32 = 1e-5 * 2.0",
        "type Row<N: Dim> = [m.Layer<N / 2>; 4]?",
        "block B<H: Dim = 4> where H > 0",
    };
    Session *s = session_new();
    StrBuf src = strbuf_new(s->arena);
    strbuf_add(&src, STR("module m\n"));
    for (int i = 0; i < 6; i++)
        strbuf_printf(&src, "pub %s%s\n", items[i], i == 3 || i == 4 ? "" : " { }");
    Module *m = parse_module(s, add(s, src.data));
    check(s->errors == 0 && m->items.len == 6, "signatures parse");
    for (int i = 0; i < m->items.len; i++) {
        StrBuf b = strbuf_new(s->arena);
        ast_signature(m->items.data[i], &b);
        check(strcmp(b.data, items[i]) == 0, items[i]);
    }
    session_free(s);
}

// ---- Random expressions ------------------------------------------------------------------------

typedef struct {
    uint64_t state;
    StrBuf *out;
} Random;

static int pick(Random *r, int n) {
    r->state = r->state * 6364136223846793005u + 1442695040888963407u;
    return (int)((r->state >> 33) % (uint64_t)n);
}

static void put(Random *r, const char *text) {
    strbuf_add(r->out, str_of(text));
}

static void grow(Random *r, int depth);

// An expression in parentheses, mostly: then it can stand anywhere.
static void operand(Random *r, int depth) {
    bool bare = pick(r, 4) == 0;
    put(r, bare ? "" : "(");
    grow(r, depth);
    put(r, bare ? "" : ")");
}

static void list(Random *r, int depth, const char *before, const char *after) {
    put(r, before);
    for (int i = pick(r, 3); i >= 0; i--) {
        grow(r, depth);
        put(r, i ? ", " : "");
    }
    put(r, after);
}

static void leaf(Random *r) {
    static const char *const leaves[] = {"a",    "b",    "sum", "max",   "1",    "0x1F",
                                         "1.5",  "2e-3", "x.y", "true",  "none", "\"s\\n\"",
                                         "a[i]", "f()",  "c",   "x.y.z", "T"};
    put(r, leaves[pick(r, (int)(sizeof leaves / sizeof *leaves))]);
}

static void binary(Random *r, int depth) {
    static const char *const ops[] = {
        "||", "&&", "==", "!=", "<", "<=", ">", ">=", "|", "^", "&", "+", "-", "*", "/", "%"};
    operand(r, depth);
    strbuf_printf(r->out, " %s ", ops[pick(r, 16)]);
    operand(r, depth);
}

static void call(Random *r, int depth) {
    static const char *const heads[] = {"f",
                                        "(f)",
                                        "m.g",
                                        "f<T>",
                                        "f<[B, *S], 2 * N>",
                                        "g<(a), (b)>",
                                        "f<T?, Tensor[N, 1; f32]>",
                                        "sum",
                                        "max<f32, L<N, T>>",
                                        "f<(a == b)>"};
    put(r, heads[pick(r, (int)(sizeof heads / sizeof *heads))]);
    list(r, depth, "(", pick(r, 3) ? ")" : ", axis = 1)");
}

static void choice(Random *r, int depth) {
    put(r, "if ");
    grow(r, depth);
    put(r, " { ");
    grow(r, depth);
    put(r, " } else { ");
    grow(r, depth);
    put(r, " }");
}

static void arms(Random *r, int depth) {
    put(r, "match ");
    grow(r, depth);
    put(r, " { some((p, _)) => ");
    grow(r, depth);
    put(r, " none => ");
    grow(r, depth);
    put(r, " Full => ");
    grow(r, depth);
    put(r, " }");
}

static void scan(Random *r, int depth) {
    put(r, "for (i, j) in ");
    grow(r, depth);
    put(r, "..");
    grow(r, depth);
    put(r, " { let y[k] = ");
    grow(r, depth);
    put(r, " static for l in ");
    grow(r, depth);
    put(r, " { v = ");
    grow(r, depth);
    put(r, " } yield ");
    grow(r, depth);
    put(r, " }");
}

static void slice(Random *r, int depth) {
    operand(r, depth);
    list(r, depth, "[", pick(r, 2) ? "]" : ", ...]");
    put(r, pick(r, 2) ? "" : "[:, ::2, 1:2:3, *s, :a]");
}

static void grow(Random *r, int depth) {
    static const char *const heads[] = {"sum[i] ", "all[b] ", "max<f32>[i, *s] ", "-", "!", "+"};
    if (depth == 0) {
        leaf(r);
        return;
    }
    switch (pick(r, 10)) {
    case 0:
    case 1:
    case 2:
        binary(r, depth - 1);
        return;
    case 3:
        call(r, depth - 1);
        return;
    case 4:
        put(r, heads[pick(r, 6)]);
        operand(r, depth - 1);
        return;
    case 5:
        choice(r, depth - 1);
        return;
    case 6:
        arms(r, depth - 1);
        return;
    case 7:
        scan(r, depth / 2);
        return;
    case 8:
        slice(r, depth - 1);
        return;
    default:
        put(r, pick(r, 2) ? "some(" : "(a, ");
        grow(r, depth - 1);
        put(r, ")");
        return;
    }
}

// Not every random text is an expression (`--x`), but most are, and their text gives the tree back.
static void test_random(void) {
    int parsed = 0, same = 0;
    for (int seed = 1; seed <= 3000; seed++) {
        Session *s = session_new();
        StrBuf text = strbuf_new(s->arena);
        Random r = {(uint64_t)seed * 7919, &text};
        grow(&r, 1 + seed % 5);
        Expr *e = parse(s, text.data);
        if (e) {
            parsed++;
            Expr *again = parse(s, text_of(s, e));
            bool equal = again && strcmp(tree_of(s, e), tree_of(s, again)) == 0;
            same += equal;
            if (!equal)
                printf("  %s\n  %s\n", text.data, text_of(s, e));
        }
        session_free(s);
    }
    check(parsed > 2000, "most random expressions parse");
    check(same == parsed, "the text of an expression parses to its tree");
}

// ---- Recovery and limits -----------------------------------------------------------------------

static void test_recovery(void) {
    Session *s = session_new();
    Module *m = parse_module(s, add(s, "module m\n"
                                       "const A = * 1\n"
                                       "fn f(x: f32) -> f32 {\n"
                                       "    let a = x + * 1\n"
                                       "    let b = (x\n"
                                       "    return b\n"
                                       "}\n"
                                       "block B {\n"
                                       "    param w Tensor[3; f32]\n"
                                       "    param v: Tensor[3; f32]\n"
                                       "    fn g() { let y = 1 \n"
                                       "    fn h() { }\n"
                                       "}\n"
                                       "const Z = 2\n"));
    check(s->errors == 5, "five mistakes, five errors");
    check(m->items.len == 3, "the function, the block and the last constant are there");
    check(m->items.len == 3 && m->items.data[1]->members.len == 1, "the good member is there");
    check(m->items.len == 3 && m->items.data[1]->items.len == 2, "both methods are there");
    for (int i = 1; i < s->diags.len; i++)
        check(s->diags.data[i - 1]->span.start <= s->diags.data[i]->span.start, "in order");
    session_free(s);
}

// `head`, n times `body`, `tail`: parses with `errors` errors, and quickly.
static void limit(const char *head, const char *body, int n, const char *tail, int errors) {
    Session *s = session_new();
    StrBuf b = strbuf_new(s->arena);
    strbuf_add(&b, str_of(head));
    for (int i = 0; i < n; i++)
        strbuf_add(&b, str_of(body));
    strbuf_add(&b, str_of(tail));
    Module *m = parse_module(s, add(s, b.data));
    StrBuf out = strbuf_new(s->arena);
    ast_dump(s, m, false, &out);
    if (s->errors != errors)
        printf("%s%s... x %d: %d errors\n", head, body, n, s->errors);
    check(s->errors == errors, body);
    session_free(s);
}

static void test_limits(void) {
    const char *value = "module m\nconst X = ", *body = "module m\nfn f() {\n";
    limit(value, "(", 250, "1", 1);
    limit(value, "(((((((((((1", 1, ")))))))))))", 0);
    limit(value, "1 + ", 990, "1", 0);
    limit(value, "1 + ", 100000, "1", 1);
    limit(value, "(", 100000, "1", 1);
    limit(value, "sum[i] ", 100000, "x", 1);
    limit(value, "a < ", 100000, "a", 1);
    limit(value, "a < b > ", 100000, "a", 1);
    limit(value, "f<", 100000, "a", 1);
    limit(value, "if a { ", 100000, "", 1);
    limit("module m\nconst X = a", ".b", 100000, "", 1);
    limit("module m\nconst X = a", "[0]", 100000, "", 1);
    limit("module m\ntype X = ", "A<", 100000, "", 1);
    limit(body, "while a {\n", 100000, "", 1);
    limit(body, "let a = for i in 0..1 { ", 100000, "", 1);
    limit(body, "let = \n", 100000, "}", 100);
    limit("module m\n", "$ ", 100000, "", 100);
    limit("module m\n", ")", 100000, "", 100);
    limit("module m\n", "fn f() { let x = (1 }\n", 1000, "", 100);
    limit("module m\n", "const X = 1\n", 20000, "", 0);
    limit("module m\n/*", "/*", 100000, "", 1);
}

// 256 brackets are the most.
static void test_nesting(void) {
    for (int n = 255; n <= 257; n++) {
        Session *s = session_new();
        StrBuf b = strbuf_new(s->arena);
        for (int i = 0; i < n; i++)
            strbuf_char(&b, '(');
        strbuf_char(&b, '1');
        for (int i = 0; i < n; i++)
            strbuf_char(&b, ')');
        Expr *e = parse(s, b.data);
        check((e != NULL) == (n <= 256), "256 brackets");
        check(e || s->diags.data[0]->code == E1101, "the nesting limit is E1101");
        session_free(s);
    }
}

static void test_expressions_alone(void) {
    Session *s = session_new();
    check(parse(s, "") == NULL && s->errors == 1, "nothing is no expression");
    check(parse(s, "1 2") == NULL && s->errors == 2, "two are none");
    check(parse(s, "let") == NULL && s->errors == 3, "a keyword is none");
    check(parse(s, "a\x01") == NULL && s->errors == 4, "illegal bytes are refused once");
    session_free(s);
}

int main(void) {
    test_literals();
    test_spans();
    test_texts();
    test_signatures();
    test_random();
    test_recovery();
    test_limits();
    test_nesting();
    test_expressions_alone();
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
