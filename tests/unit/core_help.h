// What the tests of Core share: counting, modules from text.
#pragma once
#include "core/core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int passed, failed;
} Test;

static inline void check_at(Test *t, bool ok, const char *what, const char *file, int line) {
    if (ok) {
        t->passed++;
        return;
    }
    t->failed++;
    printf("%s:%d: failed: %s\n", file, line, what);
}

#define CHECK(t, ok) check_at((t), (ok), #ok, __FILE__, __LINE__)

static inline int finish(const Test *t) {
    printf("%d passed, %d failed\n", t->passed, t->failed);
    return t->failed != 0;
}

// A module in a session of its own; NULL if the reader refuses it.
static inline Core *read_core(Session *s, const char *text) {
    Source *source = source_new(s->arena, "test.core", str_of(arena_printf(s->arena, "%s", text)));
    return core_parse(s, dims_new(s->arena), session_add(s, source));
}

static inline const char *printed(Core *c) {
    StrBuf out = strbuf_new(c->session->arena);
    core_print(c, &out);
    return out.data;
}

static inline const char *faults_of(Core *c) {
    StrBuf faults = strbuf_new(c->session->arena);
    bool fine = core_verify(c, &faults);
    if (fine != (faults.len == 0))
        abort();
    return faults.data;
}

static inline void same_text(Test *t, const char *got, const char *want, const char *what) {
    if (strcmp(got, want) != 0)
        printf("%s: got\n%s\nwanted\n%s\n", what, got, want);
    check_at(t, strcmp(got, want) == 0, what, __FILE__, __LINE__);
}

// Is the one line of faults there that holds these words?
static inline void has_fault(Test *t, Core *c, const char *words, int line) {
    const char *faults = faults_of(c);
    bool found = strstr(faults, words) != NULL;
    if (!found)
        printf("faults without `%s`:\n%s", words, faults);
    check_at(t, found, words, "a fault", line);
}
