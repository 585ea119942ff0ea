// The session's life and its list of sources.
#include "base/session.h"
#include <string.h>

Session *session_new(void) {
    Arena *a = arena_new();
    Session *s = NEW(a, Session);
    s->arena = a;
    s->names = interner_new(a);
    return s;
}

void session_free(Session *s) {
    if (s)
        arena_free(s->arena);
}

int session_add(Session *s, Source *source) {
    vec_push(s->arena, &s->sources, source);
    return s->sources.len;
}

const Source *session_source(const Session *s, Span span) {
    return span.file >= 1 && span.file <= s->sources.len ? s->sources.data[span.file - 1] : NULL;
}

Name session_name(Session *s, const char *text) {
    return intern(s->names, str_of(text));
}
