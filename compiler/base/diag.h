// Diagnostics: data first (code, span, message, notes, one help), text or JSON at the end.
//
// Report and go on: a stage reports all it finds and its caller stops between stages when
// session->errors grew. Codes are rows of diag.def, stable and never reused.
#pragma once
#include "base/source.h"
#include <stdio.h>

typedef struct Session Session;

typedef enum { SEVERITY_ERROR, SEVERITY_WARNING } Severity;

typedef enum {
#define DIAG(code, severity, clause, title, why) code,
#include "base/diag.def"
#undef DIAG
    DIAG_COUNT
} DiagCode;

typedef struct Note Note;
struct Note {
    Note *next;
    Span span; // file 0 if the note has no place
    const char *text;
};

typedef struct {
    DiagCode code;
    Span span;           // file 0 if it has no place
    const char *message; // one sentence without a full stop
    const char *label;   // a few words under the marked text, or NULL
    Note *notes;         // in order
    const char *help;    // the suggested fix, or NULL
} Diag;

// What the table says of a code.
typedef struct {
    const char *name; // "E1001"
    Severity severity;
    const char *clause; // of the spec
    const char *title;  // what it means
    const char *why;    // why it is an error, and what to do
} DiagInfo;

const DiagInfo *diag_info(DiagCode code);
bool diag_find(const char *name, DiagCode *code); // by "E1001", any case

// Reports; the result may be given notes and a help. Text is copied into the session's arena.
Diag *report(Session *s, Span span, DiagCode code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void diag_note(Session *s, Diag *d, Span span, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void diag_help(Session *s, Diag *d, const char *format, ...) __attribute__((format(printf, 3, 4)));
void diag_label(Session *s, Diag *d, const char *format, ...) __attribute__((format(printf, 3, 4)));

// Renders every diagnostic (warnings only if there are no errors). `color` uses terminal escapes.
void diags_print(const Session *s, FILE *out, bool color);

// One JSON object: version, diagnostics, summary. Lines and columns are 1-based in code points,
// offsets are 0-based bytes, ends are exclusive.
void diags_json(const Session *s, FILE *out);

// Writes text as a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD.
void json_string(FILE *out, const char *text);
