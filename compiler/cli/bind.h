// Binding files: how the checkpoints of a family become a program of the standard library. The
// tables are described at the head of stdlib/models/llama.bind.
#pragma once
#include "check/toml.h"

// The two forms of a checkpoint; each has its own tables in a binding file.
typedef enum {
    FORM_HF,   // config.json and safetensors: [config.X], [hf]
    FORM_GGUF, // one GGUF file: [metadata.X], [gguf]
} Form;

typedef struct {
    const char *path;    // "stdlib/models/llama.bind"
    Toml *toml;          // its tables
    Form form;           // of the checkpoint at hand
    const char *program; // source file of the program
    const char *block;   // its model
} Bind;

// The embedded binding that serves the architecture; NULL after E5005, which says what is served
// (or E5001 if a binding is malformed).
Bind *bind_for(Session *s, const char *label, const char *architecture, Form form);

// [config.NAME] or [metadata.NAME]; [hf] or [gguf], or [hf.NAME]; [NAME].
const TomlTable *bind_keys(const Bind *b, const char *name);
const TomlTable *bind_tensors(const Bind *b, const char *name); // NULL: the table itself
const TomlTable *bind_table(const Bind *b, const char *name);

// The entry of a table of templates whose key matches `path`; {i} stands for a number, whose digits
// go to number[room 12]. NULL if none does.
const TomlEntry *bind_match(const TomlTable *table, const char *path, char *number);

// Does `path` match a pattern with {i}, and `*` for any rest?
bool bind_matches(const char *pattern, const char *path, char *number);

// Is `name` matched by one of the patterns that the entry `list` of the table holds?
bool bind_waives(const TomlTable *table, const char *list, const char *name);

// The template with its {i} replaced.
const char *bind_fill(Arena *a, const char *pattern, const char *number);

// Is `text` in the array (or equal to the string) of that entry? NULL: no entry, false.
bool bind_lists(const TomlEntry *entry, const char *text);
