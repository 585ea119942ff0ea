// What the commands share: exit codes, the table of commands, ending a command.
#pragma once
#include "cli/args.h"

enum { EXIT_FINE = 0, EXIT_WRONG = 1, EXIT_USAGE = 2, EXIT_INTERNAL = 3 };

typedef struct {
    const char *name;
    const char *usage;   // what follows the name: "PATH --prompt IDS"
    const char *line;    // one sentence
    const char *example; // a whole command line
    const Flag *flags;
    int flag_count;
    int (*run)(Arena *a, const Args *args); // the exit code
} Command;

#define COMMAND_FLAGS(table) table, (int)(sizeof table / sizeof *table)

extern const Command command_check, command_dump, command_eval, command_explain, command_export,
    command_fmt, command_inspect, command_lsp, command_plan, command_run, command_serve,
    command_tokenize;

// Prints the session's diagnostics: as JSON to stdout if the command has --json and stdout is not
// its answer, else as text to stderr. The exit code: 1 if there are errors, else 0.
int finish(Session *s, const Args *args);

// The same to stderr only, for commands whose stdout is something else.
int finish_text(Session *s);

// "internal error: ..." asking for a report. Always EXIT_INTERNAL.
int internal_error(const char *what, const char *details);

// A wrong command line: the message, and where to read on. Always EXIT_USAGE.
int usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

// "1.5 MiB", "12 bytes".
const char *plural(int64_t n); // "s", but for 1 ""
const char *size_text(Arena *a, double bytes);
