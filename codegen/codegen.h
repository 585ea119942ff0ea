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

// A derived step: one chunk of every sequence of a batch, from states that are kept.
//
//     fn(self, tokens i32[B, C], pos i32[B], count i32[B], states..) -> logits [B, vocab]
//
// A state is [.., B, Cap, ..]; positions in use are L. Where states slide, origin i32[B] comes
// after count. See compiler/opt/incremental.h.
typedef struct {
    const CoreFn *fn;                            // a method of the model
    const Dim *rows, *width, *capacity, *length; // the symbols B, C, Cap, L
    int64_t max_rows;                            // most sequences of a session
    int64_t chunk;                               // tokens of a prompt at a time, where not asked
    int64_t lookback;    // where states slide: positions that a row looks at, its own too; else 0
    int64_t origin_step; // then an origin is a multiple of it
} CodegenStep;

// Hand-written entries: methods of the model that keep what they need in its states.
//
//     decode(self, tokens i32[1, 1], pos i32) -> logits f32[1, vocab]
//     prefill(self, tokens i32[1, S], pos i32) -> logits f32[1, vocab]
typedef struct {
    const CoreFn *decode, *prefill; // prefill may be NULL
    const Dim *length;              // its symbol S
} CodegenWritten;

// What an export fixes. The entry is a method of the model.
typedef struct {
    // The hand-written entries, or NULL; with them the same holds as with a step.
    const CodegenWritten *written;
    const CodegenStep *step; // with it, the next six say only whether tokens are drawn
    const CoreFn *entry;     // (self, [key], tokens [B, S; i32], ...) -> [B; i32], or logits
                             // [B, vocab; f32]
    const CoreFn *greedy;    // the same without randomness, for temperature 0; or NULL
    int key;                 // index among the entry's parameters after self; -1 if absent
    int tokens;              // likewise; required
    int temperature;         // likewise; an f32 scalar; -1 if absent
    const Dim *batch;        // the symbol B of the tokens' first axis, taken as 1; NULL if it is 1
    const Dim *length;       // the symbol S of their second axis; NULL for a fixed window
    int64_t context;         // bound on prompt + tokens; the window's size if there is one
    bool window;             // the entry takes exactly `context` tokens, the last ones
    bool fixed;    // the entry takes exactly `context` tokens, the first ones, and then the last of
                   // them again; its last parameter is that one's position, an i64 scalar
    int64_t vocab; // tokens are 0 .. vocab - 1
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

// What a session of the exported program allocates, in bytes.
typedef struct {
    int64_t arena; // temporaries of a step
    int64_t cache; // states
} CodegenMemory;

// The same sizes that the exported program computes, for `rows` sequences of which states hold
// `capacity` positions, `chunk` of them new ones. Of hand-written entries: for one sequence.
// Without a cache: for the whole context of `capacity` tokens.
bool codegen_memory(Core *c, const CodegenOptions *o, int64_t rows, int64_t capacity, int64_t chunk,
                    CodegenMemory *memory, char *error, size_t n);

// `serin dump --stage=loop` and `--stage=c`: every function, free symbols left as parameters.
bool codegen_dump_loop(Core *c, StrBuf *out, char *error, size_t n);
bool codegen_dump_c(Core *c, StrBuf *out, char *error, size_t n);
