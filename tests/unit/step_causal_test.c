// Tests of the derived step on the programs of tests/causal: those that are accepted have one, of
// the bits of the whole context; those that are refused have none.
#include "step_help.h"
#include <glob.h>

static bool accepted(const char *path) {
    char line[64] = "";
    FILE *f = fopen(path, "r");
    bool read = f && fgets(line, sizeof line, f);
    if (f)
        fclose(f);
    return read && strncmp(line, "// accepted", 11) == 0;
}

static void test_file(Test *t, const char *path, bool slides) {
    Model m = {.slides = slides};
    bool want = accepted(path), checks = model_open(&m, t, path, NULL);
    CHECK(t, checks);
    if (checks && (m.plan != NULL) != want)
        printf("%s: %s\n", path, m.plan ? "has a step" : m.why.text);
    CHECK(t, !checks || (m.plan != NULL) == want);
    if (checks && m.plan && want)
        same_bits(&m, path, m.entry, 37);
    else
        model_end(&m);
}

int main(void) {
    Test t = {.state = 5};
    glob_t files;
    if (glob("tests/causal/*.serin", 0, NULL, &files) != 0)
        return 1;
    for (size_t i = 0; i < 2 * files.gl_pathc; i++)
        test_file(&t, files.gl_pathv[i / 2], i % 2);
    CHECK(&t, files.gl_pathc >= 90);
    globfree(&files);
    t.s = session_new();
    return finish(&t);
}
