// Pre-tokenisation with PCRE2.
//
// Every stage sees a piece alone: an assertion at its edge does not look past it. Matching is
// bounded in steps and memory by the length of the piece, far above what an honest pattern needs.

#include "runtime/split.h"

#include "runtime/split_pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <stdlib.h>

enum { HEAP_KIB = 1 << 16, STEPS = 20000, STEPS_A_BYTE = 64 };

typedef struct {
    const RtSplitStage *stage;    // being run
    pcre2_match_data *match;      // one pair of offsets
    pcre2_match_context *context; // limits
    const char *text;             // the whole text
    RtSpans *out;                 // pieces after this stage
    RtSpan held;                  // the last piece, not yet in out: a later one may join it
    bool held_match;              // whether what was added last was a match
    RtError *err;                 // where the reason of a failure goes
} Run;

bool rt_spans_push(RtSpans *spans, size_t at, size_t size, RtError *err) {
    if (size == 0)
        return true;
    if (spans->count == spans->room) {
        size_t room = spans->room ? 2 * spans->room : 64;
        RtSpan *items = room <= SIZE_MAX / 2 / sizeof *items
                            ? realloc(spans->items, room * sizeof *items)
                            : NULL;
        if (!items)
            return rt_fail(err, "out of memory for %zu words", spans->count);
        spans->items = items;
        spans->room = room;
    }
    spans->items[spans->count++] = (RtSpan){at, size};
    return true;
}

bool rt_split_add(RtSplit *split, const char *pattern, size_t size, bool literal, RtSplitKind kind,
                  bool invert, RtError *err) {
    if (split->count >= RT_SPLIT_STAGES)
        return rt_fail(err, "the splitting rule has more than %d stages", RT_SPLIT_STAGES);
    if (size == 0 || size > RT_SPLIT_MAX_PATTERN)
        return rt_fail(err, "a splitting pattern has %zu bytes; 1 to %d are possible", size,
                       RT_SPLIT_MAX_PATTERN);
    char *translated = NULL;
    size_t length = size;
    if (!literal && !(translated = rt_split_translate(pattern, size, &length, err)))
        return false;
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    if (!context) {
        free(translated);
        return rt_fail(err, "out of memory for the splitting rule");
    }
    // In Oniguruma ^ and $ are the edges of lines, and a line ends with \n alone.
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    uint32_t options = literal ? PCRE2_UTF | PCRE2_LITERAL
                               : PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
    int code;
    PCRE2_SIZE place;
    pcre2_code *compiled = pcre2_compile((PCRE2_SPTR)(translated ? translated : pattern), length,
                                         options, &code, &place, context);
    pcre2_compile_context_free(context);
    free(translated);
    if (!compiled) {
        PCRE2_UCHAR why[160] = "";
        pcre2_get_error_message(code, why, sizeof why);
        return rt_fail(err, "the splitting rule cannot be compiled: %s", (const char *)why);
    }
    split->stages[split->count++] = (RtSplitStage){compiled, kind, invert};
    return true;
}

void rt_split_free(RtSplit *split) {
    for (int i = 0; i < split->count; i++)
        pcre2_code_free(split->stages[i].code);
    split->count = 0;
}

static bool let_go(Run *run) {
    RtSpan held = run->held;
    run->held.size = 0;
    return rt_spans_push(run->out, held.at, held.size, run->err);
}

// Adds the next stretch of the piece, a match or a gap, to what is held, as the behaviour says.
static bool add(Run *run, size_t at, size_t end, bool match) {
    bool joins = false;
    if (at == end)
        return true;
    match = match != run->stage->invert;
    switch (run->stage->kind) {
    case RT_SPLIT_REMOVED:
        return match ? let_go(run) : let_go(run) && rt_spans_push(run->out, at, end - at, run->err);
    case RT_SPLIT_ISOLATED:
        break;
    case RT_SPLIT_PREVIOUS:
        joins = match && !run->held_match;
        break;
    case RT_SPLIT_NEXT:
        joins = !match && run->held_match;
        break;
    case RT_SPLIT_CONTIGUOUS:
        joins = match == run->held_match;
        break;
    }
    run->held_match = match;
    if (joins && run->held.size > 0) {
        run->held.size += end - at;
        return true;
    }
    if (!let_go(run))
        return false;
    run->held = (RtSpan){at, end - at};
    return true;
}

static size_t next_character(const char *text, size_t at, size_t size) {
    for (at++; at < size && ((unsigned char)text[at] & 0xC0) == 0x80; at++)
        ;
    return at;
}

// Cuts one piece. `done` is the end of the last stretch added.
static bool cut(Run *run, RtSpan piece) {
    const char *text = run->text + piece.at;
    const PCRE2_SIZE *pair = pcre2_get_ovector_pointer(run->match);
    size_t done = 0, from = 0;
    uint64_t steps = STEPS + (uint64_t)STEPS_A_BYTE * piece.size;
    pcre2_set_match_limit(run->context, steps > UINT32_MAX ? UINT32_MAX : (uint32_t)steps);
    run->held.size = 0;
    run->held_match = false;
    while (from <= piece.size) {
        int found = pcre2_match(run->stage->code, (PCRE2_SPTR)text, piece.size, from,
                                PCRE2_NO_UTF_CHECK, run->match, run->context);
        if (found == PCRE2_ERROR_NOMATCH)
            break;
        if (found < 0) {
            PCRE2_UCHAR why[160] = "";
            pcre2_get_error_message(found, why, sizeof why);
            return rt_fail(run->err, "the tokenizer's splitting rule gives up on this text: %s",
                           (const char *)why);
        }
        size_t start = pair[0], end = pair[1];
        if (start < from || end < start)
            return rt_fail(run->err, "the tokenizer's splitting rule matches backwards");
        if (!add(run, piece.at + done, piece.at + start, false) ||
            !add(run, piece.at + start, piece.at + end, true))
            return false;
        if (start == end && end > done && run->held.size > 0 && !let_go(run))
            return false;
        done = end;
        from = start == end ? next_character(text, end, piece.size) : end;
    }
    return add(run, piece.at + done, piece.at + piece.size, false) && let_go(run);
}

static bool run_stages(const RtSplit *split, Run *run, RtSpans *words, RtSpans *other) {
    for (int i = 0; i < split->count; i++) {
        run->stage = &split->stages[i];
        run->out = other;
        other->count = 0;
        for (size_t k = 0; k < words->count; k++)
            if (!cut(run, words->items[k]))
                return false;
        RtSpans swapped = *words;
        *words = *other;
        *other = swapped;
    }
    return true;
}

bool rt_split_run(const RtSplit *split, const char *text, size_t size, RtSpans *words,
                  RtError *err) {
    words->count = 0;
    if (!rt_spans_push(words, 0, size, err))
        return false;
    RtSpans other = {0};
    Run run = {.text = text, .err = err};
    run.match = pcre2_match_data_create(1, NULL);
    run.context = pcre2_match_context_create(NULL);
    bool ok = run.match && run.context;
    if (ok) {
        pcre2_set_heap_limit(run.context, HEAP_KIB);
        ok = run_stages(split, &run, words, &other);
    } else {
        rt_fail(err, "out of memory for the splitting rule");
    }
    pcre2_match_data_free(run.match);
    pcre2_match_context_free(run.context);
    free(other.items);
    return ok;
}
