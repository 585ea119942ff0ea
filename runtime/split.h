// Pre-tokenisation: cutting text into the words that merges do not leave.
//
// A rule is a list of stages; each cuts every piece the stages before it left, by a regular
// expression and a behaviour, as Hugging Face's tokenizers define them. Patterns come from files
// written for Oniguruma: what PCRE2 reads differently is translated (white space) or refused by
// name, so a pattern that is accepted means what its author meant.

#ifndef RUNTIME_SPLIT_H
#define RUNTIME_SPLIT_H

#include "runtime/error.h"

#include <stdbool.h>
#include <stddef.h>

enum { RT_SPLIT_STAGES = 16, RT_SPLIT_MAX_PATTERN = 1 << 14 };

typedef enum {
    RT_SPLIT_REMOVED,   // matches are dropped
    RT_SPLIT_ISOLATED,  // matches and gaps are pieces
    RT_SPLIT_PREVIOUS,  // a match joins the gap before it
    RT_SPLIT_NEXT,      // a match joins the gap after it
    RT_SPLIT_CONTIGUOUS // neighbouring matches are one piece
} RtSplitKind;

typedef struct {
    void *code;       // the compiled pattern
    RtSplitKind kind; // what becomes of matches
    bool invert;      // gaps count as matches, and matches as gaps
} RtSplitStage;

typedef struct {
    RtSplitStage stages[RT_SPLIT_STAGES]; // in order
    int count;                            // used
} RtSplit;

typedef struct {
    size_t at;   // first byte
    size_t size; // bytes, never 0
} RtSpan;

typedef struct {
    RtSpan *items; // in order of at
    size_t count;  // used
    size_t room;   // allocated
} RtSpans;

// Adds a stage. literal: the pattern is plain text, not a regular expression. False with *err set:
// too many stages, or a pattern that is wrong or cannot be carried.
bool rt_split_add(RtSplit *split, const char *pattern, size_t size, bool literal, RtSplitKind kind,
                  bool invert, RtError *err);
void rt_split_free(RtSplit *split);

// Cuts well-formed UTF-8 into *words (reused; starts zeroed, its items are the caller's to free).
// False: a pattern needs too many steps on this text, or out of memory.
bool rt_split_run(const RtSplit *split, const char *text, size_t size, RtSpans *words,
                  RtError *err);

// Appends a span of at least one byte (an empty one is dropped). False: out of memory.
bool rt_spans_push(RtSpans *spans, size_t at, size_t size, RtError *err);

#endif
