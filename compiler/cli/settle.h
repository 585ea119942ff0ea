// From configuration keys to settings: every key is consumed by a table of the binding, waived by
// name, or refused; what no key sets takes its default; and the values must agree with each other.
#pragma once
#include "cli/bind.h"
#include "cli/config.h"

typedef struct {
    Name name;            // generic or constant
    const char *value;    // literal of the language
    const ConfigKey *key; // that set it first; NULL: a default
    const char *how;      // default: where it comes from ("H / Heads"); else NULL
    const char *word;     // the string that [values.NAME] translated, or NULL
    int64_t integer;      // its value, if `whole`
    double real;          // its value
    bool whole;           // an integer
    bool bad;             // refused: reported already, takes part in nothing
} Settled;

enum { SETTLE_MOST_ENDS = 32 };

typedef struct {
    Session *s;
    const Bind *bind;               // the tables
    Config *config;                 // the keys; their fates are written
    const char *architecture;       // that chose the binding
    VEC(Settled) values;            // what is set
    int64_t context;                // greatest number of positions, or -1
    int32_t begin;                  // first token of a text, or -1
    int32_t ends[SETTLE_MOST_ENDS]; // tokens that end an answer
    int end_count;                  // of ends
    bool tied;                      // the config declares the tie
} Settle;

// Applies the binding. Errors go to the session (E5001, E5002, E5006); true if there were none.
bool settle(Settle *x, Session *s, const Bind *bind, Config *config, const char *architecture);

// What a name was set to, or NULL. Bad ones are found too.
const Settled *settle_find(const Settle *x, const char *name);

// The first key that sets the name, as this checkpoint spells it, else the name itself.
const char *settle_key(const Settle *x, const char *name);

// Evaluates a dimension such as "H / Heads" or "Heads * HeadDim", from left to right. False if a
// name is not set or bad (*why NULL), or the division leaves a rest or the result overflows (*why
// is "hidden_size / num_attention_heads = 50 / 12").
bool settle_dim(const Settle *x, const char *text, int64_t *out, const char **why);
