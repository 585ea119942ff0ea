// The code generator: Core -> Loop IR -> C, and the files of an exported program.
//
// Everything here depends on Core and on its arguments alone: the same input gives the same bytes.
// Memory is the session's arena. A function that fails returns false after writing one sentence to
// error[n]: what the program has that this back end can't carry. It writes no files itself.
#pragma once
#include "core/core.h"

// A file of the exported program, or of the runtime.
typedef struct {
    const char *name; // "model.c"; for the runtime "runtime/kernels.c"
    Str text;         // its contents
} GenFile;

// What an export fixes. The entry is a method of the model.
typedef struct {
    const CoreFn *entry;  // (self, [key], tokens [B, S; i32], ...) -> [B; i32]
    const CoreFn *greedy; // the same without randomness, for temperature 0; or NULL
    int key;              // index among the entry's parameters after self; -1 if absent
    int tokens;           // likewise; required
    int temperature;      // likewise; an f32 scalar; -1 if absent
    const Dim *batch;     // the symbol B of the tokens' first axis, taken as 1; NULL if it is 1
    const Dim *length;    // the symbol S of their second axis; NULL for a fixed window
    int64_t context;      // bound on prompt + tokens; the window's size if there is one
    bool window;          // the entry takes exactly `context` tokens, the last ones
    int64_t vocab;        // tokens are 0 .. vocab - 1
    double default_temperature; // where --temperature is not given
    const char *model_name;     // the strings that --json reports
    const char *weights_name;   // likewise
    const GenFile *runtime;     // the runtime's files, "runtime/NAME" (see base/embedded.h)
    int runtime_count;          // how many; only the needed parts of them are taken
} CodegenOptions;

// The files of an exported program: model.h, model.c, generate.c, the used parts of the runtime,
// Makefile, README.md, .clang-format. weights.bin is the caller's: the tensors of
// core_weights(entry->self) in that order, each with its dtype's own format, row-major
// (runtime/pack_write.h). Parameters of the entry other than those named in the options can't be
// given by a user of `generate`: there must be none.
bool codegen_c(Core *c, const CodegenOptions *o, GenFile **files, int *count, char *error,
               size_t n);

// `serin dump --stage=loop` and `--stage=c`: every function, free symbols left as parameters.
bool codegen_dump_loop(Core *c, StrBuf *out, char *error, size_t n);
bool codegen_dump_c(Core *c, StrBuf *out, char *error, size_t n);
