// The trees of weights: one InterpBlock per instance, filled from the caller's table of tensors.
#include "interp/run.h"
#include <stdio.h>
#include <string.h>

#define ARRAY_LIMIT 100000 // instances in one array of sub-blocks
#define NESTING_LIMIT 64   // blocks within blocks
#define PATH_SIZE 512      // bytes of a dotted path

typedef struct {
    Interp *it;
    InterpWeight *weight; // the caller's table
    void *ctx;            // for weight
    char path[PATH_SIZE]; // of the member being filled
    int depth;            // blocks around it
} Filler;

static InterpBlock *fill_block(Filler *f, const CoreBlock *type);

static bool fill_tensor(Filler *f, const CoreMember *m, Member *out) {
    char what[PATH_SIZE + 16];
    if (!f->weight(f->ctx, f->path, m->type, &out->tensor))
        return run_fail(f->it, "there is no weight %.400s", f->path);
    snprintf(what, sizeof what, "weight %s", f->path);
    return tensor_check(f->it, what, m->type, &out->tensor);
}

static bool fill_blocks(Filler *f, const CoreMember *m, Member *out) {
    size_t end = strlen(f->path);
    out->count = 1;
    if (m->kind == MEMBER_ARRAY && !run_dim(f->it, m->type->count, &out->count))
        return false;
    if (out->count < 0 || out->count > ARRAY_LIMIT)
        return run_fail(f->it, "array %.300s of %lld blocks: at most %d are possible", f->path,
                        (long long)out->count, ARRAY_LIMIT);
    out->blocks = NEW_N(f->it->arena, InterpBlock *, out->count);
    for (int64_t i = 0; i < out->count; i++) {
        if (m->kind == MEMBER_ARRAY)
            snprintf(f->path + end, PATH_SIZE - end, ".%lld", (long long)i);
        out->blocks[i] = fill_block(f, m->type->block);
        if (!out->blocks[i])
            return false;
        f->path[end] = 0;
    }
    return true;
}

static bool fill_member(Filler *f, const CoreMember *m, Member *out) {
    size_t end = strlen(f->path);
    int n = snprintf(f->path + end, PATH_SIZE - end, end ? ".%s" : "%s", m->name);
    if (n < 0 || (size_t)n + 32 > PATH_SIZE - end)
        return run_fail(f->it, "the path of weight %.100s... is too long", f->path);
    bool ok = true;
    if (m->kind == MEMBER_PARAM || m->kind == MEMBER_BUFFER)
        ok = fill_tensor(f, m, out);
    else if (m->kind != MEMBER_STATE)
        ok = fill_blocks(f, m, out);
    f->path[end] = 0;
    return ok;
}

static InterpBlock *fill_block(Filler *f, const CoreBlock *type) {
    if (++f->depth > NESTING_LIMIT) {
        run_fail(f->it, "blocks are nested deeper than %d", NESTING_LIMIT);
        return NULL;
    }
    InterpBlock *b = NEW(f->it->arena, InterpBlock);
    b->type = type;
    b->members = NEW_N(f->it->arena, Member, type->members.len);
    for (int i = 0; i < type->members.len; i++) {
        if (!fill_member(f, &type->members.data[i], &b->members[i]))
            return NULL;
    }
    f->depth--;
    return b;
}

InterpBlock *interp_block(Interp *it, const CoreBlock *block, InterpWeight *weight, void *ctx,
                          char *error, size_t size) {
    Filler f = {it, weight, ctx, "", 0};
    InterpBlock *b = fill_block(&f, block);
    if (!b)
        snprintf(error, size, "%s", it->error);
    return b;
}
