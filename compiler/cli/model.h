// A model that can be served: its program checked, its generics bound, its entry lowered, its
// weights found and compared with it.
#pragma once
#include "check/check.h"
#include "cli/args.h"
#include "cli/card.h"
#include "cli/checkpoint.h"
#include "core/core.h"
#include "interp/interp.h"
#include "opt/incremental.h"
#include "runtime/weights.h"

typedef struct {
    Session *s;
    Arena *a;
    const char *path;       // as given
    Checkpoint *checkpoint; // or NULL: a program
    Card *card;             // of a package, which may be empty; or NULL
    SettingVec settings;    // --set, and a checkpoint's or a card's
    Program *program;
    Serve serve;
    GenericArg *block_args; // per generic of serve.model
    Core *core;
    CoreFn *entry, *greedy;
    const Dim *length; // the symbol S, or NULL for a window
    int64_t window;    // or 0
    int64_t context;   // bound on prompt + tokens; -1 if there is none
    int64_t asked;     // --ctx, or -1
    int64_t vocab;
    int key, tokens, temperature; // among the entry's parameters after self; -1 if absent
    Core *step_core;              // the entry with a symbolic batch, and the step derived from it
    StepPlan *step;               // or NULL: see step_why
    Causal *causal;               // the proof, or the refusal; NULL if it did not come so far
    StepRefusal step_why;         // why there is no step
    CoreFn *step_entry;           // what it was derived from
    CoreFn *at, *at_greedy;       // the entries of one length, in core; NULL without --fixed
    CoreFn *prefill, *decode;     // hand-written, in step_core; NULL without them
    const Dim *prefill_length;    // prefill's symbol S
    bool open;                    // check: dimensions that nothing binds stay symbols
    const char *engine;           // --engine of check: "vllm", "gguf", "hf"; or NULL
    RtWeights *weights;           // of a program; a checkpoint has its own
    const char *weights_name;     // as --json reports it
    const char *weights_path;     // the file, found or not; NULL if the program names none
    int weights_files;            // how many of the card's are to be opened, if those are
    bool weights_missing;
} Model;

// Flags that model_open reads; commands list those that they allow.
#define MODEL_FLAGS                                                                                \
    {"--weights", FLAG_TEXT, "FILE", "the weights, instead of the program's own"},                 \
        {"--entry", FLAG_TEXT, "NAME", "the generation entry"},                                    \
        {"--ctx", FLAG_INT, "N", "bound of the context, in tokens"},                               \
        {"--dim", FLAG_MANY, "NAME=N", "binds a dimension"}, {                                     \
        "--set", FLAG_MANY, "NAME=VALUE", "sets a generic or an annotated constant"                \
    }

// Checks and binds. The exit code; on EXIT_FINE everything but the lowering is done. Diagnostics
// stay in m->s for the caller to print.
int model_open(Arena *a, const char *path, const Args *args, Model *m);

// Lowers the entry and its greedy copy and verifies them. `prompt` gives a window its length where
// nothing else does (0: no prompt).
int model_lower(Model *m, const Args *args, int64_t prompt);

// Bounds the context by what the model says of itself (-1: nothing), and tells where --ctx asked
// for more.
void model_bound(Model *m, int64_t bound);

// Lowers hand-written `prefill` and `decode` (m->serve.decode is there). The exit code.
int model_written(Model *m);

// Positions of the states of m->decode, where kv_cache names them; else 0.
int64_t model_written_positions(const Model *m);

// Reports that the entry "WHAT: why", marked at what the refusal speaks of, or at the call in the
// program's own file that leads there. cause, or NULL: what it is in the proof, with its label and
// reader.
Diag *model_report_why(Model *m, DiagCode code, const StepRefusal *why, const CausalCause *cause,
                       const char *what);

// Derives the step from the entry (m->step, or m->step_why). A refusal is E3304 where the serve
// block asks for a cache, else W3304. The exit code.
int model_derive(Model *m);

// Frees the proof that m->step rests on: nothing that runs it needs it.
void model_forget_proof(Model *m);

// After model_derive: where rows look back no further than a window, the step whose states slide.
int model_slide(Model *m);

// Where nothing else is asked for: tokens of a prompt at a time, and sequences at once.
enum { USUAL_CHUNK = 128, USUAL_ROWS = 8 };

// What --chunk and --rows may be at most.
enum { MOST_CHUNK = 1 << 16, MOST_ROWS = 1 << 16 };

// Sequences at once: what `batching` allows, or USUAL_ROWS.
int64_t model_max_rows(const Model *m);

// What keeps m->engine from running the model, after model_derive (or before it, where the program
// has no serve block, no entry, or open dimensions): E3301 to E3306. False if something does.
bool model_engine(Model *m);
bool model_engine_early(Model *m);

// The entry with the batch 1, or a symbol; for model.c and model_step.c.
CoreFn *model_lower_entry(Model *m, Core *core, bool batched);
int model_verify(const Model *m, const Core *core, const char *stage);

// Storage formats of dtypes, and back: false for blocks and f8.
RtFormat dtype_to_rt(Dtype t);
bool rt_to_dtype(RtFormat f, Dtype *t);

// Has the tensor the type's shape, every dimension of which is known?
bool model_shape_fits(const RtTensor *x, const CoreType *type);

// Can the format be read as the dtype? f32 takes every format that means f32 values exactly;
// another dtype only its own.
bool model_dtype_fits(RtFormat format, Dtype dtype);

// Compares every tensor with the program: one E5003 that lists all that is missing, extra or
// misshapen, after E5013 for bindings of no parameter. Tensors that only such bindings name whose
// layers the command line left out are not extra. The exit code.
int model_match_weights(Model *m);

// The same of whatever weights `walk` calls `one` for.
typedef void MatchOne(void *match, const char *path, const CoreType *type);
typedef void MatchWalk(void *ctx, MatchOne *one, void *match);
int model_match(Model *m, MatchWalk *walk, void *ctx);

// Is there a tensor for the parameter `path`?
bool model_present(void *model, const char *path);

// The tensor of a parameter, with its row map. False if it is not there.
bool model_weight(void *model, const char *path, const CoreType *type, Tensor *out);

// The same, or where none is there that fits, its type without data: enough for a dry run.
bool model_weight_type(void *model, const char *path, const CoreType *type, Tensor *out);

const RtWeights *model_weights(const Model *m); // NULL where they are not there

// The tensor that a parameter is bound to, or NULL.
const RtTensor *model_tensor(const Model *m, const char *path);
void model_close(Model *m);
