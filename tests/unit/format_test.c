// The formatter: texts, and properties over every source of the tree. Formatting what is formatted
// changes nothing; the tree and the comments stay; both hold for sources that comments and new
// lines were thrown into.
#include "syntax/format.h"
#include "syntax/parse.h"

#include <dirent.h>
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

static int add(Session *s, Str text) {
    const char *copy = arena_copy(s->arena, text.ptr, (size_t)text.len);
    return session_add(s, source_new(s->arena, "test", (Str){copy, text.len}));
}

// ---- Texts -------------------------------------------------------------------------------------

static void test_text(const char *body, const char *want) {
    Session *s = session_new();
    StrBuf out = strbuf_new(s->arena);
    char *source = arena_printf(s->arena, "module m\n%s", body);
    FormatResult result = format_source(s, add(s, str_of(source)), &out);
    bool same = result == FORMAT_FINE &&
                strcmp(out.data, arena_printf(s->arena, "module m\n\n%s", want)) == 0;
    check(same, body);
    if (!same)
        printf("got:\n%s", out.data);
    session_free(s);
}

static void test_lists(void) {
    test_text("fn f(x:f32,){return}", "fn f(\n    x: f32,\n) {\n    return\n}\n");
    test_text("type A=(f32,)", "type A = (f32,)\n");
    test_text("type A=(f32,f32,)", "type A = (\n    f32,\n    f32,\n)\n");
    test_text("enum E{A,B}", "enum E { A, B }\n");
    test_text("const A=f(1,\n2)[..., 0 :: 2]", "const A = f(1, 2)[..., 0::2]\n");
    test_text("type A=Tensor[1,2,;f32]", "type A = Tensor[1, 2; f32]\n");
    test_text("fn f()where A>0,{}", "fn f()\nwhere A > 0 {}\n");
    test_text("fn f()where A>0,B>0{}", "fn f()\nwhere\n    A > 0,\n    B > 0\n{}\n");
}

static void test_lines(void) {
    test_text("const A=1\n\n\n\nconst B=2\nconst C=3", "const A = 1\n\nconst B = 2\nconst C = 3\n");
    test_text("const LONG = first_operand_of_the_sum * another_one + second_operand_of_the_sum + "
              "the_third_operand_of_it_all_and_more",
              "const LONG =\n    first_operand_of_the_sum * another_one +\n"
              "    second_operand_of_the_sum +\n    the_third_operand_of_it_all_and_more\n");
    test_text("const A = match x { none => 1 some(y) => -y }",
              "const A = match x {\n    none => 1\n    some(y) => -y\n}\n");
    test_text("const A = if c {1} else {2}", "const A = if c { 1 } else { 2 }\n");
    test_text("fn f() {\n\n\n let a=1\n\n\n let b=2\n\n}",
              "fn f() {\n    let a = 1\n\n    let b = 2\n}\n");
}

static void test_comments(void) {
    test_text("// a\n\n// b\nconst A=1// c\n// d", "// a\n\n// b\nconst A = 1 // c\n// d\n");
    test_text("const A=f(1,// one\n2)", "const A = f(\n    1, // one\n    2,\n)\n");
    test_text("const A=f(/* one */1)", "const A = f(/* one */ 1)\n");
    test_text("fn f(){// a\n// b\n}", "fn f() { // a\n    // b\n}\n");
    test_text("const A = x // why\n+ y", "const A =\n    x + // why\n    y\n");
    test_text("const A // x\n= // y\n1", "const A = // x\n    // y\n    1\n");
    test_text("/* a\n   b */ const A = 1", "/* a\n   b */ const A = 1\n");
}

// ---- Properties --------------------------------------------------------------------------------

static const char *tree_of(Session *s, Str text) {
    StrBuf tree = strbuf_new(s->arena);
    ast_dump(s, parse_module(s, add(s, text)), false, &tree);
    return tree.data;
}

static int count_of(Str text, const char *what) {
    int n = 0;
    for (const char *p = text.ptr; (p = strstr(p, what)); p++)
        n++;
    return n;
}

// One source: 0 if it has syntax errors.
static bool test_source(const char *path, Str text, bool mutated) {
    Session *s = session_new();
    StrBuf once = strbuf_new(s->arena), twice = strbuf_new(s->arena);
    FormatResult result = format_source(s, add(s, text), &once);
    bool good = result == FORMAT_ERRORS;
    if (result == FORMAT_FINE) {
        Str done = {once.data, once.len};
        good = format_source(s, add(s, done), &twice) == FORMAT_FINE;
        good = good && strcmp(once.data, twice.data) == 0;
        good = good && strcmp(tree_of(s, text), tree_of(s, done)) == 0;
        good = good && count_of(text, "/* thrown") == count_of(done, "/* thrown");
        good = good && count_of(text, "// thrown") == count_of(done, "// thrown");
        good = good && !strstr(once.data, " \n") && !strstr(once.data, "\n\n\n");
    }
    if (!good || !mutated)
        check(good, path);
    if (!good)
        printf("%.*s\n", STR_ARG(text));
    session_free(s);
    return result == FORMAT_FINE;
}

static unsigned next_random(unsigned *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

// Throws comments and new lines between the words of a source.
static void mutate(StrBuf *out, Str text, unsigned *state) {
    static const char *const thrown[] = {
        " // thrown\n",
        "\n// thrown\n",
        " /* thrown */ ",
        "\n/* thrown\n away */\n",
        "\n\n\n",
        "\n",
        " /* thrown /**/ */\n",
    };
    bool comment = false, string = false;
    for (int i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool slashes = c == '/' && i + 1 < text.len && strchr("/*", text.ptr[i + 1]);
        string ^= c == '"' && !comment;
        comment |= slashes && !string;
        if (strchr(" (,)[", c) && !comment && !string && next_random(state) % 40 == 0)
            strbuf_add(out, str_of(thrown[next_random(state) % 7]));
        strbuf_char(out, c);
        comment = comment && c != '\n';
    }
}

static void test_file(Arena *a, const char *path) {
    const char *why;
    Source *source = source_load(a, path, &why);
    if (!source) {
        check(false, path);
        return;
    }
    if (!test_source(path, source->text, false) || strstr(source->text.ptr, "/*"))
        return;
    unsigned state = (unsigned)source->text.len;
    for (int i = 0; i < 4; i++) {
        StrBuf mutant = strbuf_new(a);
        mutate(&mutant, source->text, &state);
        check(test_source(path, (Str){mutant.data, mutant.len}, true), "a mutant has errors");
    }
}

static void test_folder(Arena *a, const char *path) {
    DIR *folder = opendir(path);
    const struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        const char *name = arena_printf(a, "%s/%s", path, entry->d_name);
        const char *dot = strrchr(entry->d_name, '.');
        if (dot && (strcmp(dot, ".serin") == 0 || strcmp(dot, ".linnet") == 0))
            test_file(a, name);
        else if (!dot)
            test_folder(a, name);
    }
    if (folder)
        closedir(folder);
}

int main(void) {
    Arena *a = arena_new();
    test_lists();
    test_lines();
    test_comments();
    int before = passed;
    test_folder(a, "stdlib");
    test_folder(a, "examples");
    test_folder(a, "tests");
    check(passed - before > 100, "there are sources to format");
    arena_free(a);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
