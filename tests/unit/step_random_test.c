// Random tests of the derived step: the programs of tests/causal with a few words exchanged for
// others. Whatever is still a program and is accepted must have a step of the bits of the whole
// context.
#include "step_help.h"
#include <glob.h>

enum { TRIES = 4000, TEXT_MOST = 20000 };

static const char *const words[] = {
    "<=",    "<",   ">",     ">=",    "==",  "+",     "-",      "*",      "/",
    "&&",    "||",  "max",   "min",   "sum", "exp(",  "log(",   "rsqrt(", "select",
    "q",     "k",   "s",     "b",     "h",   "e",     "S - 1",  "at[q]",  "at[k]",
    "0",     "1",   "2",     "3",     "0.5", "-1e30", "-1e9",   "0.0",    "1.0",
    "-1e4",  "key", "query", "value", "x",   "score", "masked", "power",  "total",
    "share", "S",   "% 3",   "/ 2",   "+ 1", "- 1",   "- 2",
};

static bool letter(char c) {
    return (c >= 'a' && c <= 'z') || c == '_';
}

// Is the text at `at` this word, and not a part of one?
static bool whole_word(const char *text, const char *at, const char *word) {
    size_t n = strlen(word);
    return !letter(word[0]) || ((at == text || !letter(at[-1])) && !letter(at[n]));
}

// Exchanges one word after the first line of the body, if the words drawn are found.
static void exchange(Test *t, char *text) {
    char *start = strstr(text, "let at");
    for (int tries = 0; start && tries < 200; tries++) {
        const char *from = words[random_below(t, sizeof words / sizeof words[0])];
        const char *to = words[random_below(t, sizeof words / sizeof words[0])];
        char *at = strstr(start + random_below(t, (uint32_t)strlen(start)), from);
        if (!at || from == to || !whole_word(text, at, from))
            continue;
        size_t old = strlen(from), new = strlen(to);
        memmove(at + new, at + old, strlen(at + old) + 1);
        memcpy(at, to, new);
        return;
    }
}

static bool read_text(const char *path, char *text) {
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, TEXT_MOST / 2, f) : 0;
    if (f)
        fclose(f);
    text[n] = 0;
    return n > 0;
}

// Did it have a step? One failed check for all that is wrong with it.
static bool test_one(Test *t, const char *path, const char *text, bool slides) {
    Test own = {.state = t->state};
    Model m = {.t = &own, .s = session_new(), .slides = slides};
    Source *source = source_new(m.s->arena, path, str_of(arena_printf(m.s->arena, "%s", text)));
    Program *p = check_program(m.s, session_add(m.s, source), NULL);
    Serve serve = {0};
    bool good = p && !m.s->errors && check_serve(p, NULL, &serve) && serve.entry &&
                model_lower(&m, p, serve.model, serve.entry) && m.plan;
    if (!good) {
        session_free(m.s);
        return false;
    }
    same_bits(&m, path, m.entry, 21);
    if (own.failed)
        printf("the program:\n%s\n", text);
    CHECK(t, !own.failed);
    return true;
}

int main(void) {
    Test t = {.state = 1};
    char text[TEXT_MOST];
    int steps = 0;
    glob_t files;
    if (glob("tests/causal/*.serin", 0, NULL, &files) != 0)
        return 1;
    for (int i = 0; i < TRIES; i++) {
        const char *path = files.gl_pathv[random_below(&t, (uint32_t)files.gl_pathc)];
        CHECK(&t, read_text(path, text));
        for (int n = 1 + random_below(&t, 3); n > 0; n--)
            exchange(&t, text);
        steps += test_one(&t, path, text, i % 2);
    }
    printf("%d of %d have a step\n", steps, TRIES);
    CHECK(&t, steps > TRIES / 200);
    globfree(&files);
    t.s = session_new();
    return finish(&t);
}
