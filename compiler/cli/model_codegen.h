// A model as the code generator takes it.
#pragma once
#include "cli/model.h"
#include "codegen/codegen.h"

// A derived step, or hand-written entries: what CodegenOptions may point to.
typedef struct {
    CodegenStep step;
    CodegenWritten written;
} CodegenCache;

// What an export fixes, of a model that is lowered and derived; *cache is filled and pointed to
// where there is one. Returns the module that holds it. The runtime's files are the caller's.
Core *model_codegen(const Model *m, CodegenOptions *o, CodegenCache *cache);

// Makes the entries that `--fixed` exports (m->at): of m->context positions, at a position that is
// given. A window stays as it is. The exit code, after E8009.
int model_fix(Model *m);

// Is there a bound for the context? False after E8009.
bool model_bounded(Model *m);
