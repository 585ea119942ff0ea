// The trees of weights: one InterpBlock per instance, filled from the caller's table of tensors.
#include "interp/run.h"
#include <stdio.h>
#include <string.h>

#define ARRAY_LIMIT 100000  // instances in one array of sub-blocks
#define BLOCK_LIMIT 1000000 // instances in a tree
#define NESTING_LIMIT 64    // blocks within blocks
#define PATH_SIZE 512       // bytes of a dotted path

typedef struct {
    Interp *it;
    InterpWeight *weight; // the caller's table
    void *ctx;            // for weight
    char path[PATH_SIZE]; // of the member being filled
    int depth;            // blocks around it
    int blocks;           // made so far
} Filler;

static InterpBlock *fill_block(Filler *f, const CoreBlock *type);

static bool fill_tensor(Filler *f, const CoreMember *m, Member *out) {
    char what[PATH_SIZE + 16];
    if (!f->weight(f->ctx, f->path, m->type, &out->tensor))
        return run_fail(f->it, "there is no weight %.400s", f->path);
    snprintf(what, sizeof what, "weight %s", f->path);
    return tensor_check(f->it, what, m->type, &out->tensor);
}

static bool fill_state(Filler *f, const CoreMember *m, Member *out) {
    Slot s;
    int64_t dims[CORE_MAX_RANK];
    if (!run_dims(f->it, m->type, dims) ||
        !tensor_new(f->it, m->type->dtype, m->type->rank, dims, &s))
        return false;
    if (!f->it->dry)
        memset(s.buffer->data, 0, s.buffer->size);
    out->tensor = s.t;
    out->buffer = s.buffer;
    out->buffer->state = true;
    StateMember *state = NEW(f->it->arena, StateMember);
    *state = (StateMember){out, f->it->states};
    f->it->states = state;
    return true;
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
    else if (m->kind == MEMBER_STATE)
        ok = fill_state(f, m, out);
    else
        ok = fill_blocks(f, m, out);
    f->path[end] = 0;
    return ok;
}

static InterpBlock *fill_block(Filler *f, const CoreBlock *type) {
    if (++f->depth > NESTING_LIMIT) {
        run_fail(f->it, "blocks are nested deeper than %d", NESTING_LIMIT);
        return NULL;
    }
    if (++f->blocks > BLOCK_LIMIT) {
        run_fail(f->it, "more than %d blocks", BLOCK_LIMIT);
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

// ---- States ------------------------------------------------------------------------------------

static void states_in(InterpBlock *b, char *path, InterpState *fn, void *ctx) {
    size_t end = strlen(path);
    for (int i = 0; i < b->type->members.len; i++) {
        const CoreMember *m = &b->type->members.data[i];
        int n = snprintf(path + end, PATH_SIZE - end, end ? ".%s" : "%s", m->name);
        size_t item = end + (size_t)n; // paths fit: they did when the block was filled
        if (m->kind == MEMBER_STATE)
            fn(ctx, path, m->type, &b->members[i].tensor);
        for (int64_t k = 0; k < b->members[i].count; k++) {
            if (m->kind == MEMBER_ARRAY)
                snprintf(path + item, PATH_SIZE - item, ".%lld", (long long)k);
            states_in(b->members[i].blocks[k], path, fn, ctx);
        }
        path[end] = 0;
    }
}

void interp_states(InterpBlock *block, InterpState *fn, void *ctx) {
    char path[PATH_SIZE] = "";
    states_in(block, path, fn, ctx);
}

static void set_zero(void *ctx, const char *path, const CoreType *type, const Tensor *t) {
    (void)ctx;
    (void)path;
    (void)type;
    if (tensor_count(t)) // states are the interpreter's own memory
        memset((void *)(uintptr_t)t->data, 0, (size_t)(tensor_count(t) * dtype_size(t->dtype)));
}

void interp_reset_state(InterpBlock *block) {
    interp_states(block, set_zero, NULL);
}

InterpBlock *interp_block(Interp *it, const CoreBlock *block, InterpWeight *weight, void *ctx,
                          char *error, size_t size) {
    Filler f = {.it = it, .weight = weight, .ctx = ctx};
    InterpBlock *b = fill_block(&f, block);
    if (!b)
        snprintf(error, size, "%s", it->error);
    return b;
}
