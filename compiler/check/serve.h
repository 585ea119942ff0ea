// What the two files about the serve block share.
#pragma once
#include "check/internal.h"

typedef struct {
    Checker c;
    Serve *out;
} Resolver;

// serve.c
ServeField *serve_field(Item *block, const char *name); // NULL if the block has none
bool serve_is_tokens(const Type *t);                    // Tensor[_, _; i32]
Generic *serve_generic(Item *decl, const Dim *d);       // the declaration's generic of that symbol

// serve_written.c: entries that a program wrote itself, and batching
int64_t serve_max_batch(const Expr *value);         // of dynamic(max_batch = N), or 0
bool serve_written(Resolver *r);                    // prefill and decode; false after E2010
bool serve_capacity(Resolver *r, const Expr *axis); // kv_cache(MaxSeq) beside decode
