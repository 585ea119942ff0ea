// Serving engines: can an engine that brings its own embedding, cache and head run an entry?
//
// Such an engine (vLLM; llama.cpp, which reads GGUF) packs the tokens of many requests, gives each
// its position, keeps keys and values in pages of its own and replaces attention and the head by
// its kernels. So beyond the proof of opt/causality.h it wants: logits that are one product with a
// parameter [V, D]; token ids that choose rows of a parameter [V, D] once and are read nowhere
// else; positions that meet in std.nn.attention's `attention` or `grouped_attention` only, under a
// mask that is exactly causal; and attentions of one shape, with as many key heads as query heads.
#pragma once
#include "opt/incremental.h"

typedef struct {
    DiagCode code;      // E3301 to E3305
    Span span;          // of the value to blame, or of the call that brought it in
    Span inside;        // of the value in what is called there; or no file
    const char *symbol; // the parameter, weight or value, as the source names it
    const char *cause;  // what follows "`symbol` ": "is read elsewhere, .."
    const char *fix;    // a sentence
} CompatFault;

typedef VEC(CompatFault) CompatFaults;

// What keeps an engine from running `entry` of c, whose step was derived (so it is causal): tokens
// is a parameter's number after self, S the symbol of positions. Faults are in the session's arena;
// the module is left as it was.
void opt_compat(Core *c, const CoreFn *entry, const Dim *S, int tokens, CompatFaults *out);
