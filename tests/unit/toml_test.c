// The TOML reader: what it reads, what it refuses and where.
#include "check/toml.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    int passed; // checks that held
    int failed; // and those that did not
    Session *s; // of the last text
} Test;

static void check_at(Test *t, bool ok, const char *what, int line) {
    t->passed += ok;
    t->failed += !ok;
    if (!ok)
        printf("toml_test.c:%d: %s\n", line, what);
}

#define CHECK(t, condition) check_at((t), (condition), #condition, __LINE__)

static Toml *read_bytes(Test *t, const char *text, int size) {
    session_free(t->s);
    t->s = session_new();
    char *copy = arena_copy(t->s->arena, text, (size_t)size);
    return toml_parse(t->s,
                      session_add(t->s, source_new(t->s->arena, "t.toml", (Str){copy, size})));
}

static Toml *read_text(Test *t, const char *text) {
    return read_bytes(t, text, (int)strlen(text));
}

// A refusal: one E5001 whose message holds `part`, beginning at byte `at`.
static void refused_at(Test *t, const char *text, const char *part, int at, int line) {
    bool ok = !read_text(t, text) && t->s->errors == 1 && t->s->diags.len == 1;
    const Diag *d = ok ? t->s->diags.data[0] : NULL;
    ok = ok && d->code == E5001 && strstr(d->message, part) && d->span.start == at;
    t->passed += ok;
    t->failed += !ok;
    if (!ok)
        printf("toml_test.c:%d: wanted \"%s\" at %d, got \"%s\" at %d\n", line, part, at,
               d ? d->message : "-", d ? d->span.start : -1);
}

#define REFUSED(t, text, part, at) refused_at((t), (text), (part), (at), __LINE__)

static const TomlValue *value(const Toml *toml, const char *table, const char *key) {
    const TomlEntry *e = toml ? toml_find(toml_table(toml, table), key) : NULL;
    return e ? &e->value : NULL;
}

static bool is_int(const Toml *toml, const char *key, int64_t want) {
    const TomlValue *v = value(toml, "", key);
    return v && v->kind == TOML_INT && v->integer == want && v->real == (double)want;
}

static bool is_real(const Toml *toml, const char *key, double want) {
    const TomlValue *v = value(toml, "", key);
    return v && v->kind == TOML_FLOAT && v->real == want;
}

static bool is_text(const Toml *toml, const char *table, const char *key, const char *want) {
    const TomlValue *v = value(toml, table, key);
    return v && v->kind == TOML_STRING && strcmp(v->text, want) == 0;
}

static void test_numbers(Test *t) {
    const Toml *m =
        read_text(t, "a = 1\nb=-17 # note\nc = +1_000\nd = 0xFf_0\ne = 0o17\nf = 0b101\n"
                     "g = 9223372036854775807\nh = -9223372036854775808\ni = 0");
    CHECK(t, is_int(m, "a", 1) && is_int(m, "b", -17) && is_int(m, "c", 1000));
    CHECK(t, is_int(m, "d", 0xFF0) && is_int(m, "e", 15) && is_int(m, "f", 5));
    CHECK(t, is_int(m, "g", INT64_MAX) && is_int(m, "h", INT64_MIN) && is_int(m, "i", 0));
    m = read_text(t, "a = 1.5\nb = -2e3\nc = 1E-05\nd = 6.0_1e+1\ne = inf\nf = -inf\ng = nan\n"
                     "h = true\ni = false\nj = 1e-400");
    CHECK(t, is_real(m, "a", 1.5) && is_real(m, "b", -2000) && is_real(m, "c", 1e-5));
    CHECK(t, is_real(m, "d", 60.1) && is_real(m, "e", INFINITY) && is_real(m, "f", -INFINITY));
    CHECK(t, value(m, "", "g") && isnan(value(m, "", "g")->real));
    CHECK(t, value(m, "", "h") && value(m, "", "h")->kind == TOML_BOOL);
    CHECK(t, value(m, "", "h") && value(m, "", "h")->integer == 1);
    CHECK(t, value(m, "", "i") && value(m, "", "i")->integer == 0 && is_real(m, "j", 0));
    REFUSED(t, "a = 01", "no value", 4);
    REFUSED(t, "a = 1__0", "no value", 4);
    REFUSED(t, "a = _1", "no value", 4);
    REFUSED(t, "a = 1.", "no value", 4);
    REFUSED(t, "a = .5", "no value", 4);
    REFUSED(t, "a = 0X1", "no value", 4);
    REFUSED(t, "a = truex", "no value", 4);
    REFUSED(t, "a = 9223372036854775808", "64 bits", 4);
    REFUSED(t, "a = 1e999", "too large", 4);
}

static void test_strings(Test *t) {
    const Toml *m = read_text(t, "a = \"x\\ty\\u00e9\\U0001F600\\\"\\\\\"\nb = 'C:\\x'\nc = \"\"\n"
                                 "d = \"\xC3\xA9\" # \xC3\xA9");
    CHECK(t, is_text(m, "", "a", "x\ty\xC3\xA9\xF0\x9F\x98\x80\"\\"));
    CHECK(t, is_text(m, "", "b", "C:\\x") && is_text(m, "", "c", ""));
    CHECK(t, is_text(m, "", "d", "\xC3\xA9"));
    CHECK(t, m && strcmp(toml_text(toml_table(m, ""), "b"), "C:\\x") == 0);
    REFUSED(t, "a = \"x", "not closed", 4);
    REFUSED(t, "a = \"x\n\"", "not closed", 4);
    REFUSED(t, "a = \"\"\"x\"\"\"", "several lines", 4);
    REFUSED(t, "a = '''x'''", "several lines", 4);
    REFUSED(t, "a = \"\\q\"", "no such escape", 5);
    REFUSED(t, "a = \"\\u12g4\"", "hexadecimal", 5);
    REFUSED(t, "a = \"\\ud800\"", "no character", 5);
    REFUSED(t, "a = \"\\u0000\"", "no character", 5);
    REFUSED(t, "a = \"\\U00110000\"", "no character", 5);
    REFUSED(t, "a = \"\x01\"", "control", 5);
    REFUSED(t, "a = \"\xFF\"", "UTF-8", 5);
    REFUSED(t, "a = \"\xED\xA0\x80\"", "UTF-8", 5);
    REFUSED(t, "a = \"\xC0\x80\"", "UTF-8", 5);
    CHECK(t, !read_bytes(t, "a = 1\0\n", 7) && t->s->errors == 1); // a NUL in the text
    CHECK(t, !read_bytes(t, "a = \"\0\"", 7) && t->s->errors == 1);
}

static void test_arrays(Test *t) {
    const Toml *m =
        read_text(t, "a = [1, \"x\", 2.5,\n  # note\n  true,\n]\nb = []\nc = [ 'y' ] # z");
    const TomlValue *a = value(m, "", "a");
    CHECK(t, a && a->kind == TOML_ARRAY && a->count == 4);
    CHECK(t, a && a->count == 4 && a->items[0].integer == 1 && a->items[2].real == 2.5);
    CHECK(t, a && a->count == 4 && strcmp(a->items[1].text, "x") == 0);
    CHECK(t, value(m, "", "b") && value(m, "", "b")->count == 0);
    CHECK(t, value(m, "", "c") && value(m, "", "c")->count == 1);
    REFUSED(t, "a = [1", "`,` or `]`", 6);
    REFUSED(t, "a = [1 2]", "`,` or `]`", 7);
    REFUSED(t, "a = [,]", "value is needed", 5);
    REFUSED(t, "a = [[1]]", "arrays in arrays", 5);
    REFUSED(t, "a = [1] 2", "line must end", 8);
}

static void test_tables(Test *t) {
    const Toml *m = read_text(t, "\xEF\xBB\xBF");
    CHECK(t, !m && t->s->errors == 1); // a byte order mark
    m = read_text(t, "# head\r\nx = 1\r\n[a]\ny = 2\n[a.b.c]\nz = 3\n[a.b]\nz = 4\n"
                     "[ \"q.r\" . 's' ]\nz = 5\n\"k.l\" = 6\nu.v.w = 7\nu.v.x = 8\n");
    CHECK(t, is_int(m, "x", 1) && value(m, "a", "y") && value(m, "a", "y")->integer == 2);
    CHECK(t, value(m, "a.b.c", "z") && value(m, "a.b.c", "z")->integer == 3);
    CHECK(t, value(m, "a.b", "z") && value(m, "a.b", "z")->integer == 4);
    CHECK(t, value(m, "\"q.r\".s", "z") && value(m, "\"q.r\".s", "k.l"));
    CHECK(t, value(m, "\"q.r\".s.u.v", "w") && value(m, "\"q.r\".s.u.v", "x"));
    CHECK(t, m && !toml_table(m, "q.r.s") && !toml_find(toml_table(m, "nothing"), "x"));
    CHECK(t, m && m->tables.len == 7 && strcmp(m->tables.data[1]->name, "a") == 0);
    CHECK(t, read_text(t, "") && read_text(t, "\n\n  # only this"));
    REFUSED(t, "a = 1\na = 2", "key is defined", 6);
    REFUSED(t, "[a]\n[a]", "table is defined", 5);
    REFUSED(t, "a = 1\n[a.b]", "a value already", 7);
    REFUSED(t, "a = 1\n[a]", "a value already", 7);
    REFUSED(t, "[a.b]\n[x]\n[a]\nb = 1", "key is defined", 14);
    REFUSED(t, "a.b = 1\n[a]", "table is defined", 9);
    REFUSED(t, "[a.b]\n[a]\nb.c = 1", "is defined already", 10);
    REFUSED(t, "a = 1\na.b = 2", "is defined already", 6);
    REFUSED(t, "[[a]]", "arrays of tables", 0);
    REFUSED(t, "a = 1979-05-27", "dates", 4);
    REFUSED(t, "a = 07:32:00", "dates", 4);
    REFUSED(t, "[a", "`]`", 2);
    REFUSED(t, "[]", "key is needed", 1);
    REFUSED(t, "= 1", "key is needed", 0);
    REFUSED(t, "a", "`=`", 1);
    REFUSED(t, "a =", "value is needed", 3);
    REFUSED(t, "a. = 1", "key is needed", 3);
    REFUSED(t, "[a] b = 1", "line must end", 4);
    REFUSED(t, "a = 1 b = 2", "line must end", 6);
    REFUSED(t, "a = 1\rb = 2", "line must end", 5);
}

static void test_inline(Test *t) {
    const Toml *m =
        read_text(t, "[d]\na = { path = \"../a\", n = 2 } # note\nb = {}\nc.path = 'c'");
    CHECK(t, is_text(m, "d.a", "path", "../a") && value(m, "d.a", "n"));
    CHECK(t, m && toml_table(m, "d.b") && toml_table(m, "d.b")->entries.len == 0);
    CHECK(t, is_text(m, "d.c", "path", "c") && toml_table(m, "d")->entries.len == 0);
    REFUSED(t, "a = { b = 1, b = 2 }", "defined already", 13);
    REFUSED(t, "a = { b = 1 }\na.c = 2", "is defined already", 14);
    REFUSED(t, "a = { b = 1 }\n[a.c]", "a value already", 15);
    REFUSED(t, "a = { b = 1, }", "a key is needed", 13);
    REFUSED(t, "a = { b = 1 c = 2 }", "`,` or `}`", 12);
    REFUSED(t, "a = { b = 1,\nc = 2 }", "a key is needed", 12);
    REFUSED(t, "a = { b = { c = 1 } }", "a table inside", 10);
    REFUSED(t, "a = [{ b = 1 }]", "a table inside", 5);
    REFUSED(t, "a = { b", "`=`", 7);
    REFUSED(t, "a = {", "a key is needed", 5);
    REFUSED(t, "a = {} b", "must end here", 7);
}

static void test_limits(Test *t) {
    char text[1400];
    StrBuf deep = {0};
    memset(text, 'k', 201);
    memcpy(text + 201, "=1", 3);
    REFUSED(t, text, "too long", 0);
    CHECK(t, read_text(t, text + 1) != NULL);
    Arena *a = arena_new();
    deep = strbuf_new(a);
    for (int i = 0; i < 17; i++)
        strbuf_printf(&deep, "%sa", i ? "." : "");
    strbuf_printf(&deep, " = 1");
    REFUSED(t, deep.data, "too many parts", 32);
    CHECK(t, read_text(t, deep.data + 2) != NULL);
    StrBuf large = strbuf_new(a);
    while (large.len <= TOML_MAX_BYTES)
        strbuf_add(&large, STR("# a line that says nothing\n"));
    REFUSED(t, large.data, "too large", 0);
    arena_free(a);
}

int main(void) {
    Test t = {.s = session_new()};
    test_numbers(&t);
    test_strings(&t);
    test_arrays(&t);
    test_tables(&t);
    test_inline(&t);
    test_limits(&t);
    session_free(t.s);
    printf("%d passed, %d failed\n", t.passed, t.failed);
    return t.failed != 0;
}
