// Roles: what each value of a flat function is asked for when it runs one chunk at a time.
//
// Demand runs backwards from the logits. A position axis is asked for at the current rows, at the
// last row, or at other positions. What is asked for at other positions is kept (computed as rows
// and written to a state), or computed again for all positions from what is kept; a least vertex
// cut by bytes says which. What depends on no token is computed again always.
#pragma once
#include "opt/incremental.h"

typedef enum {
    ROLE_NONE, // no position axis
    ROLE_ROWS, // computed for the rows of the chunk
    ROLE_LAST, // for the last row of each sequence alone
    ROLE_ALL,  // for all positions, at every call
} RoleMode;

typedef struct {
    bool tensor;              // has axes at all
    bool live;                // the logits need it
    bool tokens;              // depends on tokens
    bool source;              // is not computed again for earlier positions
    bool need_rows;           // is read at the current rows
    bool need_last;           // at the last row
    bool need_back;           // at other positions along its row axis
    bool back[CORE_MAX_RANK]; // by axis: at other positions
    bool want_rows;           // by a call or a loop that takes it as rows
    bool want_last;           // by one that takes its last row
    bool kept;                // has a state
    bool wild;                // where nothing was written yet it may be infinite, or a NaN
    RoleMode mode;
    int batch; // its axis of the batch, or -1
    int row;   // its row axis, or -1
    Val owner; // of a result: its call or loop; of a carried value: its loop; or 0
    const struct RoleNest *nest; // the loops around it
} Role;

// A loop and those around it.
typedef struct RoleNest RoleNest;
struct RoleNest {
    const RoleNest *outer; // or NULL
    Val loop;
};

typedef struct {
    Core *core;
    const CoreFn *fn; // flat
    const Dim *B, *S;
    Val tokens;
    Causal *causal;
    Role *of;        // by value - 1
    StepRefusal why; // its text is NULL unless refused
} Roles;

// Roles of f whose one result is [B, V], or [B, S, V] at its last row. False: why says.
bool roles_find(Roles *r, Core *c, const CoreFn *f, const Dim *B, const Dim *S, Val tokens,
                Causal *causal);

// Is the read evaluated? same[axis]: at the position of user's row (for each axis of extent S).
bool roles_read(Roles *r, Val user, int node, bool *same);

static inline Role *role_of(const Roles *r, Val v) {
    return &r->of[v - 1];
}

// How far before its row anything is read at most, where that is bounded for every position axis
// and reduction; else -1.
int64_t roles_window(Roles *r);

// The least vertex cut of a network with `n` nodes: cost[i] of a node, sources, sinks, and edges
// (from[i], to[i]). in_cut[i]: the cut as near to the sinks as possible; costs of at most 2^40.
void least_cut(Arena *a, int n, const int64_t *cost, const bool *source, const bool *sink,
               int edges, const int *from, const int *to, bool *in_cut);
