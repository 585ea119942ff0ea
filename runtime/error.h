// One error, as text, for everything in the runtime that can fail on its input.
//
// A function that can fail takes an `RtError *` last and returns false or NULL after writing a
// sentence there: which file, which tensor or key, where in it, and what to do about it.
// A NULL RtError is allowed: the text is then dropped.

#ifndef RUNTIME_ERROR_H
#define RUNTIME_ERROR_H

#include <stdbool.h>

typedef struct {
    char text[512]; // a NUL-terminated UTF-8 sentence, cut at a character's edge if too long
} RtError;

#if defined(__GNUC__)
#define RT_PRINTF(text, rest) __attribute__((format(printf, text, rest)))
#else
#define RT_PRINTF(text, rest)
#endif

// Writes the message and returns false, so that `return rt_fail(err, ...)` reads well.
bool rt_fail(RtError *err, const char *format, ...) RT_PRINTF(2, 3);

// Copies `size` bytes of hostile text into `out` (room >= 8) as printable ASCII and valid UTF-8:
// control bytes and broken UTF-8 become \xHH, and a text that does not fit ends in "...".
// Returns out. For names from files inside messages.
char *rt_printable(char *out, unsigned long room, const void *text, unsigned long size);

#endif
