// Patterns written for Oniguruma, in PCRE2's words.

#ifndef RUNTIME_SPLIT_PATTERN_H
#define RUNTIME_SPLIT_PATTERN_H

#include "runtime/error.h"

#include <stddef.h>

// Translates a pattern: \s and \S become Unicode's White_Space, \v and \uHHHH get PCRE2's
// spelling, and whatever the two engines read differently is refused by name. Returns a new
// NUL-terminated pattern (the caller frees it) of *out_size bytes, or NULL with *err set.
char *rt_split_translate(const char *pattern, size_t size, size_t *out_size, RtError *err);

#endif
