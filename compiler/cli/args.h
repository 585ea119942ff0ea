// The command line of one command: its flags as a table, parsed into values.
#pragma once
#include "base/session.h"

typedef enum {
    FLAG_BOOL,   // --json
    FLAG_TEXT,   // --prompt "1 2 3"; at most once
    FLAG_INT,    // --tokens 16; an integer, not negative; see args_within
    FLAG_SEED,   // --seed 7; an integer of 64 bits, not negative
    FLAG_NUMBER, // --temperature 0.8; a finite number of f32, not negative
    FLAG_MANY,   // --set NAME=VALUE; any number of times
} FlagKind;

typedef struct {
    const char *name; // with its dashes: "--tokens"
    FlagKind kind;
    const char *meta; // what stands for the value in the help, or NULL
    const char *help; // a few words
} Flag;

enum { ARGS_MOST = 64 };

typedef struct {
    const Flag *flags;
    int count;
    const char *given[ARGS_MOST]; // per flag: its text, "" for a bool that is set; NULL if absent
    VEC(const char *) many;       // values of the FLAG_MANY flags, as "--set" then "NAME=VALUE"
    VEC(const char *) paths;      // what is no flag
} Args;

// Parses argv after the command's name. False after a message to stderr: the caller exits with 2.
bool args_parse(Arena *a, const Flag *flags, int count, int argc, char **argv, Args *out);

bool args_has(const Args *args, const char *flag);
const char *args_text(const Args *args, const char *flag); // NULL if absent
int64_t args_int(const Args *args, const char *flag, int64_t fallback);
uint64_t args_seed(const Args *args, const char *flag); // 0 if absent
double args_number(const Args *args, const char *flag, double fallback);

// Is an integer's flag absent or in a range? False after a message to stderr.
bool args_within(const Args *args, const char *flag, int64_t least, int64_t most);

// Aligned help of the flags.
void args_help(FILE *out, const Flag *flags, int count);
