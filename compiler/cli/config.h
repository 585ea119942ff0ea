// The keys of a checkpoint's configuration, of config.json and of GGUF metadata alike: one flat
// list of keys with scalar values, each of which something must become of.
#pragma once
#include "base/session.h"
#include "runtime/gguf.h"

typedef enum {
    CONFIG_NULL, // null: counts as absent
    CONFIG_INT,  // an integer that fits 64 bits
    CONFIG_REAL, // any other number
    CONFIG_BOOL,
    CONFIG_TEXT,
    CONFIG_LIST, // an array
} ConfigKind;

typedef struct {
    Name key; // "rope_scaling.factor"; a key that itself has odd characters stays in quotes
    const char *shown;  // the value as one printable line
    const char *text;   // text: the value; list of texts: its first one; else NULL
    int64_t integer;    // int; bool: 0 or 1
    double real;        // int and real
    const int32_t *ids; // list of token ids: them; else NULL
    int id_count;       // of ids
    uint64_t count;     // list: its length
    ConfigKind kind;    // which
    bool narrow;        // a real that the file stores as f32
    const char *fate;   // what became of it; NULL: nothing yet
} ConfigKey;

typedef struct {
    const char *label;   // of the file in messages: "config.json"
    VEC(ConfigKey) keys; // in file order
    Map places;          // Name -> its number + 1, as a pointer
} Config;

// Reads the text of a config.json. False after E5001: it is no JSON, or no object, or too large.
bool config_from_json(Session *s, Config *out, const char *label, const char *text, size_t size);

// Takes the metadata of a GGUF file.
void config_from_gguf(Session *s, Config *out, const char *label, const RtGguf *gguf);

// The key, or NULL: absent, or null.
ConfigKey *config_find(Session *s, const Config *config, const char *key);

// The key though it be null; NULL if it is absent.
ConfigKey *config_find_any(Session *s, const Config *config, const char *key);

// A number as a literal of the language that means the same f64 (f32 where `narrow`).
const char *config_number(Arena *a, double value, bool narrow);
