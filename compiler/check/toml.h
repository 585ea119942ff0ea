// A small strict TOML reader for manifests and binding files.
//
// Of TOML 1.0 it reads comments, [tables], bare, quoted and dotted keys, strings on one line,
// integers, floats, booleans, arrays of these (over several lines, with comments and a last comma),
// and inline tables of these with plain keys, which become tables like others. It refuses by name:
// dates, arrays of tables, arrays and inline tables inside of each other, strings over several
// lines. What is defined twice is refused.
#pragma once
#include "base/session.h"

typedef enum {
    TOML_STRING,
    TOML_INT,
    TOML_FLOAT,
    TOML_BOOL,
    TOML_ARRAY,
} TomlKind;

typedef struct TomlValue TomlValue;
struct TomlValue {
    TomlKind kind;
    Span span;        // of the value
    const char *text; // string: its contents, UTF-8 without NUL; number, bool: as spelt
    int64_t integer;  // int; bool: 0 or 1
    double real;      // float, and an int as one; inf and nan are possible
    TomlValue *items; // array: its elements
    int count;        // of items
};

typedef struct {
    Name key;        // unquoted
    Span span;       // of the key
    TomlValue value; // its value
} TomlEntry;

typedef struct {
    Name name; // "config.generics"; the root is "". Parts that are no bare keys stay quoted
    Span span; // of the header, or of the key that made it
    VEC(TomlEntry) entries; // in file order
} TomlTable;

typedef struct {
    int file;                // number of the source
    VEC(TomlTable *) tables; // the root first, then in file order
} Toml;

enum { TOML_MAX_BYTES = 1 << 20, TOML_MAX_KEY = 200, TOML_MAX_PATH = 600, TOML_MAX_DEPTH = 16 };

// Parses the session's source number `file`. NULL after E5001, which marks the place. Owned by the
// session's arena.
Toml *toml_parse(Session *s, int file);

// A table by its full name, an entry by its key; NULL if there is none (or `table` is NULL).
const TomlTable *toml_table(const Toml *toml, const char *name);
const TomlEntry *toml_find(const TomlTable *table, const char *key);

// The text of a string entry, or NULL if the key is absent or no string.
const char *toml_text(const TomlTable *table, const char *key);
