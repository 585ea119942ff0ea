// Pre-tokenisation against the pieces that Hugging Face's tokenizers library makes, translation of
// patterns, and patterns that must be refused or must give up.

#include "runtime/split.h"
#include "runtime/split_pattern.h"
#include "runtime/split_rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
    int passed; // checks that held
    int failed; // checks that did not
} Tally;

typedef struct {
    const char *pattern; // of the only stage
    bool literal;        // plain text
    RtSplitKind kind;    // what becomes of matches
    bool invert;         // gaps count as matches
    const char *text;    // to cut
    const char *pieces;  // with a slash between
} Row;

static const Row rows[] = {
    {RT_WORDS_GPT2, false, RT_SPLIT_ISOLATED, false,
     "I'm HERE, you'LL see 12345 things;\n\n  done\t x",
     "I/'m/ HERE/,/ you/'/LL/ see/ 12345/ things/;/\n\n / done/\t/ x"},
    {RT_WORDS_GPT2, false, RT_SPLIT_ISOLATED, false,
     "na\303\257ve caf\303\251  \302\275\302\262\331\241\331\242 "
     "\346\227\245\346\234\254\350\252\236!?\r\n ",
     "na\303\257ve/ caf\303\251/ / \302\275\302\262\331\241\331\242/ "
     "\346\227\245\346\234\254\350\252\236/!?/\r\n "},
    {RT_WORDS_GPT2, false, RT_SPLIT_ISOLATED, false,
     "\302\240a\342\200\203\342\200\203b\341\240\216c \302\205\343\200\200",
     "\302\240/a/\342\200\203/\342\200\203/b/\341\240\216/c/ \302\205\343\200\200"},
    {RT_WORDS_LLAMA3, false, RT_SPLIT_ISOLATED, false,
     "I'm HERE, you'LL see 12345 things;\n\n  done\t x",
     "I/'m/ HERE/,/ you/'LL/ see/ /123/45/ things/;\n\n/ / done/\t/ x"},
    {RT_WORDS_LLAMA3, false, RT_SPLIT_ISOLATED, false,
     "na\303\257ve caf\303\251  \302\275\302\262\331\241\331\242 "
     "\346\227\245\346\234\254\350\252\236!?\r\n ",
     "na\303\257ve/ caf\303\251/ / /\302\275\302\262\331\241/\331\242/ "
     "\346\227\245\346\234\254\350\252\236/!?\r\n/ "},
    {RT_WORDS_LLAMA3, false, RT_SPLIT_ISOLATED, false,
     "\302\240a\342\200\203\342\200\203b\341\240\216c \302\205\343\200\200",
     "\302\240a/\342\200\203/\342\200\203b/\341\240\216c/ \302\205\343\200\200"},
    {RT_WORDS_QWEN2, false, RT_SPLIT_ISOLATED, false,
     "I'm HERE, you'LL see 12345 things;\n\n  done\t x",
     "I/'m/ HERE/,/ you/'LL/ see/ /1/2/3/4/5/ things/;\n\n/ / done/\t/ x"},
    {RT_WORDS_QWEN2, false, RT_SPLIT_ISOLATED, false,
     "na\303\257ve caf\303\251  \302\275\302\262\331\241\331\242 "
     "\346\227\245\346\234\254\350\252\236!?\r\n ",
     "na\303\257ve/ caf\303\251/ / /\302\275/\302\262/\331\241/\331\242/ "
     "\346\227\245\346\234\254\350\252\236/!?\r\n/ "},
    {RT_WORDS_QWEN2, false, RT_SPLIT_ISOLATED, false,
     "\302\240a\342\200\203\342\200\203b\341\240\216c \302\205\343\200\200",
     "\302\240a/\342\200\203/\342\200\203b/\341\240\216c/ \302\205\343\200\200"},
    {RT_WORDS_TEKKEN, false, RT_SPLIT_ISOLATED, false,
     "I'm HERE, you'LL see 12345 things;\n\n  done\t x",
     "I/'m/ HERE/,/ you/'LL/ see/ /1/2/3/4/5/ things/;\n\n/ / done/\t/ x"},
    {RT_WORDS_TEKKEN, false, RT_SPLIT_ISOLATED, false,
     "na\303\257ve caf\303\251  \302\275\302\262\331\241\331\242 "
     "\346\227\245\346\234\254\350\252\236!?\r\n ",
     "na\303\257ve/ caf\303\251/ / /\302\275/\302\262/\331\241/\331\242/ "
     "\346\227\245\346\234\254\350\252\236/!?\r\n/ "},
    {RT_WORDS_TEKKEN, false, RT_SPLIT_ISOLATED, false,
     "\302\240a\342\200\203\342\200\203b\341\240\216c \302\205\343\200\200",
     "\302\240a/\342\200\203/\342\200\203b/\341\240\216c/ \302\205\343\200\200"},
    {RT_WORDS_GPT4O, false, RT_SPLIT_ISOLATED, false,
     "I'm HERE, you'LL see 12345 things;\n\n  done\t x",
     "I'm/ HERE/,/ you'LL/ see/ /123/45/ things/;\n\n/ / done/\t/ x"},
    {RT_WORDS_GPT4O, false, RT_SPLIT_ISOLATED, false,
     "na\303\257ve caf\303\251  \302\275\302\262\331\241\331\242 "
     "\346\227\245\346\234\254\350\252\236!?\r\n ",
     "na\303\257ve/ caf\303\251/ / /\302\275\302\262\331\241/\331\242/ "
     "\346\227\245\346\234\254\350\252\236/!?\r\n/ "},
    {RT_WORDS_GPT4O, false, RT_SPLIT_ISOLATED, false,
     "\302\240a\342\200\203\342\200\203b\341\240\216c \302\205\343\200\200",
     "\302\240a/\342\200\203/\342\200\203b/\341\240\216c/ \302\205\343\200\200"},
    {"[0-9]", false, RT_SPLIT_REMOVED, false, "12ab3c45", "ab/c"},
    {"[0-9]", false, RT_SPLIT_REMOVED, false, "ab12c3", "ab/c"},
    {"[0-9]", false, RT_SPLIT_REMOVED, true, "12ab3c45", "1/2/3/4/5"},
    {"[0-9]", false, RT_SPLIT_REMOVED, true, "ab12c3", "1/2/3"},
    {"[0-9]", false, RT_SPLIT_ISOLATED, false, "12ab3c45", "1/2/ab/3/c/4/5"},
    {"[0-9]", false, RT_SPLIT_ISOLATED, false, "ab12c3", "ab/1/2/c/3"},
    {"[0-9]", false, RT_SPLIT_ISOLATED, true, "12ab3c45", "1/2/ab/3/c/4/5"},
    {"[0-9]", false, RT_SPLIT_ISOLATED, true, "ab12c3", "ab/1/2/c/3"},
    {"[0-9]", false, RT_SPLIT_PREVIOUS, false, "12ab3c45", "1/2/ab3/c4/5"},
    {"[0-9]", false, RT_SPLIT_PREVIOUS, false, "ab12c3", "ab1/2/c3"},
    {"[0-9]", false, RT_SPLIT_PREVIOUS, true, "12ab3c45", "1/2ab/3c/4/5"},
    {"[0-9]", false, RT_SPLIT_PREVIOUS, true, "ab12c3", "ab/1/2c/3"},
    {"[0-9]", false, RT_SPLIT_NEXT, false, "12ab3c45", "1/2ab/3c/4/5"},
    {"[0-9]", false, RT_SPLIT_NEXT, false, "ab12c3", "ab/1/2c/3"},
    {"[0-9]", false, RT_SPLIT_NEXT, true, "12ab3c45", "1/2/ab3/c4/5"},
    {"[0-9]", false, RT_SPLIT_NEXT, true, "ab12c3", "ab1/2/c3"},
    {"[0-9]", false, RT_SPLIT_CONTIGUOUS, false, "12ab3c45", "12/ab/3/c/45"},
    {"[0-9]", false, RT_SPLIT_CONTIGUOUS, false, "ab12c3", "ab/12/c/3"},
    {"[0-9]", false, RT_SPLIT_CONTIGUOUS, true, "12ab3c45", "12/ab/3/c/45"},
    {"[0-9]", false, RT_SPLIT_CONTIGUOUS, true, "ab12c3", "ab/12/c/3"},
    {"a.b", true, RT_SPLIT_ISOLATED, false, "xa.bxaxb", "x/a.b/xaxb"},
    {"(?=([0-9]{3})+(?![0-9]))", false, RT_SPLIT_ISOLATED, false, "1234567 12 123",
     "1/234/567 12 /123"},
    {"\\s+$", false, RT_SPLIT_ISOLATED, false, "a  \nb  ", "a/  /\nb/  "},
    {"^x", false, RT_SPLIT_ISOLATED, false, "xx\nxx", "x/x\n/x/x"},
    {"\\u00e9|\\x{4E2D}", false, RT_SPLIT_ISOLATED, false, "caf\303\251 \344\270\255\346\226\207",
     "caf/\303\251/ /\344\270\255/\346\226\207"},
};

static void check(Tally *t, bool ok, const char *what, const char *more) {
    if (ok) {
        t->passed++;
        return;
    }
    t->failed++;
    printf("FAILED: %s: %s\n", what, more);
}

// The pieces with a slash between, in `out`.
static bool cut(const RtSplit *split, const char *text, size_t size, char *out, RtError *err) {
    RtSpans words = {0};
    bool ok = rt_split_run(split, text, size, &words, err);
    out[0] = '\0';
    for (size_t i = 0; ok && i < words.count; i++) {
        if (i > 0)
            strcat(out, "/");
        strncat(out, text + words.items[i].at, words.items[i].size);
    }
    free(words.items);
    return ok;
}

static void test_rows(Tally *t) {
    char got[512];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const Row *row = &rows[i];
        RtSplit split = {0};
        RtError err = {{0}};
        bool ok = rt_split_add(&split, row->pattern, strlen(row->pattern), row->literal, row->kind,
                               row->invert, &err) &&
                  cut(&split, row->text, strlen(row->text), got, &err);
        check(t, ok, row->pattern, err.text);
        if (ok)
            check(t, strcmp(got, row->pieces) == 0, row->pieces, got);
        rt_split_free(&split);
    }
}

static void test_stages(Tally *t) {
    char got[128];
    RtSplit split = {0};
    RtError err = {{0}};
    bool ok = rt_split_add(&split, "[0-9]", 5, false, RT_SPLIT_ISOLATED, false, &err) &&
              rt_split_add(&split, "(?<=a)b|c$", 10, false, RT_SPLIT_ISOLATED, false, &err);
    check(t, ok && cut(&split, "ab1bc2ab", 8, got, &err), "two stages", err.text);
    check(t, strcmp(got, "a/b/1/b/c/2/a/b") == 0, "a stage sees a piece alone", got);
    check(t, cut(&split, "", 0, got, &err) && got[0] == '\0', "an empty text", got);
    for (int i = 2; i < RT_SPLIT_STAGES; i++)
        rt_split_add(&split, "x", 1, false, RT_SPLIT_ISOLATED, false, &err);
    ok = rt_split_add(&split, "x", 1, false, RT_SPLIT_ISOLATED, false, &err);
    check(t, !ok && strstr(err.text, "more than"), "too many stages", err.text);
    rt_split_free(&split);
}

static void test_translation(Tally *t) {
    static const char *const pairs[][2] = {
        {"[^\\s\\p{L}]+", "[^\\p{White_Space}\\p{L}]+"},
        {"\\S\\\\s", "\\P{White_Space}\\\\s"},
        {"\\u00e9\\v", "\\x{00e9}\\x{0B}"},
        {"(?i:a)(?=b)[\\[\\]&]", "(?i:a)(?=b)[\\[\\]&]"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        size_t size;
        RtError err = {{0}};
        char *out = rt_split_translate(pairs[i][0], strlen(pairs[i][0]), &size, &err);
        check(t, out && strcmp(out, pairs[i][1]) == 0, pairs[i][0], out ? out : err.text);
        free(out);
    }
}

static void test_refused(Tally *t) {
    static const char *const patterns[] = {
        "",       "a\\",     "\\w+",  "\\h",           "\\bx",    "\\pL",  "\\p{L", "\\p{No Such}",
        "[a[b]]", "[a&&b]",  "[]a]",  "[[:alpha:]]",   "(*UTF)a", "(?i)a", "(?R)",  "(?<n>a)",
        "(a",     "a)",      "[a",    "a{,3}",         "a{2}+",   "\\u12", "\\xE9", "\\x{110000}",
        "\\1",    "\\Qa\\E", "(?#a)", "\\p{Nonsense}", "(?C1)a",  "\\x{}", "*a",    "[\\d-\\s&&a]"};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        RtSplit split = {0};
        RtError err = {{0}};
        bool ok = rt_split_add(&split, patterns[i], strlen(patterns[i]), false, RT_SPLIT_ISOLATED,
                               false, &err);
        check(t, !ok && err.text[0] != '\0', "must be refused", patterns[i]);
        rt_split_free(&split);
    }
}

// A pattern that tries everything must give up soon; an honest one must take a long text.
static void test_limits(Tally *t) {
    size_t size = 1 << 20;
    char *text = malloc(size);
    RtSplit bad = {0}, good = {0};
    RtSpans words = {0};
    RtError err = {{0}};
    if (!text)
        return;
    memset(text, 'a', size);
    bool ok = rt_split_add(&bad, "(a|a|aa)*[bc]", 13, false, RT_SPLIT_ISOLATED, false, &err);
    clock_t start = clock();
    ok = ok && !rt_split_run(&bad, text, 200, &words, &err);
    check(t, ok && strstr(err.text, "gives up"), "a pattern that tries everything", err.text);
    check(t, clock() - start < 2 * CLOCKS_PER_SEC, "gives up soon", "it took long");
    ok = rt_split_add(&good, RT_WORDS_LLAMA3, strlen(RT_WORDS_LLAMA3), false, RT_SPLIT_ISOLATED,
                      false, &err);
    check(t, ok && rt_split_run(&good, text, size, &words, &err), "a long word", err.text);
    check(t, words.count == 1 && words.items[0].size == size, "a long word is one piece", "");
    memset(text, ' ', size - 1);
    check(t, rt_split_run(&good, text, size, &words, &err), "long white space", err.text);
    check(t, words.count == 2 && words.items[0].size == size - 2, "all but the last space", "");
    rt_split_free(&bad);
    rt_split_free(&good);
    free(words.items);
    free(text);
}

int main(void) {
    Tally tally = {0};
    test_rows(&tally);
    test_stages(&tally);
    test_translation(&tally);
    test_refused(&tally);
    test_limits(&tally);
    printf("%d passed, %d failed\n", tally.passed, tally.failed);
    return tally.failed != 0;
}
