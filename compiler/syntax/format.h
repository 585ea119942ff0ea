// The formatter: one style, no options.
//
// 4 spaces, 100 columns, comments kept, at most one empty line. A list with a comma at its end has
// a line for each part. The result parses to the same tree, and formatting it changes nothing.
#pragma once
#include "base/session.h"

typedef enum {
    FORMAT_FINE,
    FORMAT_ERRORS, // the source has syntax errors, which are reported
    FORMAT_BROKEN, // a fault of the formatter: the result would not be the same program
} FormatResult;

// Appends the formatted text of the session's source number `file`.
FormatResult format_source(Session *s, int file, StrBuf *out);
