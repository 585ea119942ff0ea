// One entry of a program as eval and inspect see it: found by name, its generics bound by settings,
// a package's card, and the shapes of tensors from files.
#pragma once
#include "cli/model.h"

typedef struct {
    Model m;
    SettingVec card;         // generics of a package's nest.toml: weaker than --set
    Map bindings;            // parameter path (Name) -> name of its tensor, of bindings.json
    bool renamed;            // there are bindings
    Item *block, *entry;     // block NULL: an entry of the module
    GenericArg *block_args;  // per generic of the block
    GenericArg *entry_args;  // per generic of the entry
    const RtWeights *inputs; // of the entry's parameters, or NULL
    const RtWeights *states; // of the block's states, or NULL
} Target;

#define TARGET_FLAGS                                                                               \
    {"--block", FLAG_TEXT, "NAME", "the block, where several have such an entry"},                 \
        {"--weights", FLAG_TEXT, "FILE", "the weights, instead of the program's own"},             \
        {"--dim", FLAG_MANY, "NAME=N", "binds a dimension"}, {                                     \
        "--set", FLAG_MANY, "NAME=VALUE", "sets a generic or an annotated constant"                \
    }

// Opens the program, a package with its card and bindings, or a checkpoint. The exit code.
int target_open(Arena *a, const char *path, const Args *args, Target *t);
void target_close(Target *t);

// Finds the entry; false after a message that lists what there is.
bool target_find(Target *t, const char *entry, const char *block);

// Binds generics: settings, then the card, then shapes of inputs, states and weights, then
// defaults. False after E2110, E2206, E5006, E7004.
bool target_bind(Target *t);
void target_settings(Target *t, const Item *decl, GenericArg *out); // settings, card and defaults
bool target_used(Target *t);                                        // E5006 for unused settings

// The generics of the entry, then the block's.
const Subst *target_subst(Target *t);
const Subst *target_args(Target *t, const Item *decl, const GenericArg *args, const Subst *next);

// The weights' tensor of a parameter, or NULL.
const RtTensor *target_weight(Target *t, const char *path);

// ---- Parts (parts.c) ---------------------------------------------------------------------------

// Calls fn for every tensor in a value: "x", "pair.0", "state.cos"; in the order of an entry's
// arguments and results. What is optional is passed with `optional`.
typedef void PartFn(void *ctx, const char *name, const Type *t, bool optional);
void type_parts(Target *t, const char *name, const Type *type, PartFn *fn, void *ctx);
// Of a result: "result", "result.0"; a struct's fields by their own names.
void result_parts(Target *t, const Type *type, PartFn *fn, void *ctx);

// Calls fn for every tensor member of a block, depth first: "layers[*].norm.weight" with how often
// it is there, or with `each` "layers.0.norm.weight" where the number is known.
typedef void MemberFn(void *ctx, const char *path, const Type *t, MemberRole role, bool optional,
                      const Dim *repeats);
void block_members(Target *t, bool each, MemberFn *fn, void *ctx);

bool rt_to_dtype(RtFormat f, Dtype *t); // false for blocks and f8
RtFormat dtype_to_rt(Dtype t);
