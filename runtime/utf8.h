// UTF-8 checking.

#ifndef RUNTIME_UTF8_H
#define RUNTIME_UTF8_H

#include <stdbool.h>
#include <stddef.h>

// Bytes (1..4) of the well-formed UTF-8 character at text[0 .. size), or 0 if there is none: no
// overlong forms, no surrogates, nothing past U+10FFFF.
size_t rt_utf8_length(const void *text, size_t size);

// True if the whole text is well-formed UTF-8.
bool rt_utf8_valid(const void *text, size_t size);

#endif
