// One entry of a program as eval and inspect see it: found by name, its generics bound by settings,
// a package's card, and the shapes of tensors from files.
#pragma once
#include "cli/model.h"

typedef struct {
    Model m;
    Item *block, *entry;     // block NULL: an entry of the module; entry NULL: the block alone
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

// Opens the program, package or checkpoint. The exit code.
int target_open(Arena *a, const char *path, const Args *args, Target *t);
void target_close(Target *t);

// Finds the entry; false after a message that lists what there is.
bool target_find(Target *t, const char *entry, const char *block);

// Binds generics: settings (a package's card too), then shapes of inputs, states and weights, then
// defaults. False after E2110, E2206, E5006, E7004.
bool target_bind(Target *t);
void target_settings(Target *t, const Item *decl, GenericArg *out); // settings
bool target_used(Target *t);                                        // E5006 for unused settings

// Chooses the block: by name, by the card's `root`, or the only one with entries. False after
// E7004.
bool target_block(Target *t, const char *name);
bool target_has_entries(const Item *block);
bool target_bind_block(Target *t); // the block's generics alone, as target_bind

// The generics of the entry, then the block's.
const Subst *target_subst(Target *t);
const Subst *target_args(Target *t, const Item *decl, const GenericArg *args, const Subst *next);

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

// Bytes of all the repeats (NULL: one); -1 where a dimension is open or they leave 63 bits.
int64_t type_bytes(const Type *t, const Dim *repeats);
