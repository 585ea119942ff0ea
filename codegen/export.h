// Inside the export: what its files share.
#pragma once
#include "codegen/c_text.h"

typedef VEC(GenFile) GenFiles;

typedef struct {
    LoopModule *m;
    const CodegenOptions *o;
    const CoreFn *root;   // whose first parameter is the model: the step, or the entry
    const LoopFn *step;   // the step's function, or NULL
    const LoopFn *entry;  // the entry's function
    const LoopFn *greedy; // likewise; or NULL
    // The hand-written ones; prefill, or both, may be NULL.
    const LoopFn *decode, *prefill;
    GenFiles files;
} Export;

// Elements of a state before, of and after the axis of the sequences.
typedef struct {
    const Dim *outer; // loops around
    const Dim *row;   // bytes of one sequence
    const Dim *place; // bytes of one of its positions
} StateAxes;

// model.h and model.c (c_model.c).
void write_model_h(const Export *x, Writer *w);
void write_model_c(const Export *x, Writer *w);

// Sessions, the cache and what computes with them (c_session.c).
void write_session_h(const Export *x, Writer *w);
void write_session_c(const Export *x, Writer *w);
bool slides(const Export *x);                                // do states slide (c_slide.c)?
void write_slide_sizes(const Export *x, Writer *w);          // into session_new
void write_slide(const Export *x, Writer *w);                // what makes room
const char *state_name(const Export *x, Val v);              // in C; NULL: it is not used
StateAxes state_axes(const Export *x, const CoreType *type); // of a state
void write_prefill_h(Writer *w);                             // a text into a row (c_prefill.c)
void write_prefill_c(const Export *x, Writer *w);
void write_byte_accessors(Writer *w);          // of a session with a cache (c_session.c)
void write_places(const Export *x, Writer *w); // rows that a step leaves alone

// The same with hand-written entries (c_written.c).
void write_written_h(const Export *x, Writer *w);
void write_written_c(const Export *x, Writer *w);
bool written_bytes(const Export *x, int64_t *bytes); // of all states; false after a fault

void write_whole_h(Writer *w); // where there is no step (c_whole.c)
void write_whole_c(const Export *x, Writer *w);
const char *root_type(const Export *x); // of the model's weights (c_model.c)

// Does the entry give logits, and not tokens that it chose itself? (export.c)
bool gives_logits(const CodegenOptions *o);
bool is_cached(const Export *x); // is there a cache, derived or hand-written? (export.c)

// Makes loops of what the options ask for; false after writing to error (export.c).
bool export_build(Core *c, const CodegenOptions *o, Export *x, char *error, size_t n);

// The parts of the runtime's files that `names` (Map of interned names) and the exported program
// need, appended to the files (runtime_units.c). Faults go to the module.
void add_runtime(Export *x, Map *names);
