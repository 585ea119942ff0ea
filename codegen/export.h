// Inside the export: what its files share.
#pragma once
#include "codegen/c_text.h"

typedef VEC(GenFile) GenFiles;

typedef struct {
    LoopModule *m;
    const CodegenOptions *o;
    const LoopFn *entry;  // the entry's function
    const LoopFn *greedy; // likewise; or NULL
    GenFiles files;
} Export;

// model.h and model.c (c_model.c).
void write_model_h(const Export *x, Writer *w);
void write_model_c(const Export *x, Writer *w);

// The parts of the runtime's files that `names` (Map of interned names) and the exported program
// need, appended to the files (runtime_units.c). Faults go to the module.
void add_runtime(Export *x, Map *names);
