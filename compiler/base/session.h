// Session: everything one compilation owns. There are no globals.
#pragma once
#include "base/diag.h"
#include "base/map.h"
#include "base/source.h"
#include "base/vec.h"

struct Session {
    Arena *arena;          // lives as long as the session
    Interner *names;       // identifiers, paths
    VEC(Source *) sources; // Span.file - 1 is the index
    VEC(Diag *) diags;     // in the order reported
    int errors;            // how many of them are errors
    int warnings;
};

Session *session_new(void);
void session_free(Session *s);

// Makes the source part of the session and returns its number for spans.
int session_add(Session *s, Source *source);

// The source of a span, or NULL for "nowhere".
const Source *session_source(const Session *s, Span span);

Name session_name(Session *s, const char *text);
