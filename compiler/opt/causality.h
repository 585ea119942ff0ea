// Causality: the proof that a function over tokens [B, S] can be run one position at a time.
//
// For every value, three properties that fail for different reasons:
//   causal  row q depends on tokens at positions <= q  (dep: the greatest offset; all: why not)
//   stable  row q has the same bits for every length S > q                      (length: why not)
//   alone   row b of the batch reads row b only                                    (mix: why not)
// Rows need all three; a value that is asked for at the last position only needs `alone` and sums
// whose lanes do not depend on S (lanes). No name is looked at and nothing recognises attention:
// it is proved of comprehensions, whoever wrote them. Calls are looked into; draws and loops are
// kept (a loop's carried values must keep what they start with).
//
// A reduction over positions is stable if its summand is neutral for k > q: exactly 0 in a sum, no
// more than a surely visible element in a max. That is proved over intervals (opt/values.h), under
// the condition that ordinary values (weights, contractions, what is computed from them) are finite
// and within +-B; the greatest B that does is kept and printed.
#pragma once
#include "opt/affine.h"

typedef struct Causal Causal;

// Why a property fails, or the analysis refuses.
typedef struct {
    const CausalValue *value; // in whose body
    const CausalValue *owner; // in whose source the expression stands: value, or what it reads
    Span span;                // of the expression to blame
    const char *expression;   // the same as text, by value's indices: "k < q + 2"; or NULL
    const char *why;          // "does not tell k > q from the rest"
    const char *label;        // a few words under the expression, or NULL
    const char *reader;       // likewise under value's own, where owner is another; or NULL
} CausalCause;

typedef enum {
    CAUSAL_TOKENS,  // the parameter
    CAUSAL_INPUT,   // another parameter, or a weight
    CAUSAL_COMP,    // computed by a comprehension
    CAUSAL_CARRIED, // carried by a loop, or its result
    CAUSAL_OPAQUE,  // a draw, a running sum: row by row
} CausalKind;

typedef enum {
    CAUSAL_UNUSED, // no output needs it, or it depends on no token
    CAUSAL_ROWS,   // asked for at the current rows
    CAUSAL_LAST,   // asked for at the last position only (or has no position axis)
    CAUSAL_ALL,    // asked for at earlier positions, and nothing but reads: keep it or its sources
} CausalMode;

#define CAUSAL_NEVER (-AFFINE_INF) // dep: depends on no token through this axis

// A reduction over positions that is bounded: it needs q - window <= k <= q only.
typedef struct {
    bool bounded;
    int q_axis;         // output axis of q
    int64_t window;     // AFFINE_INF: every k <= q
    double limit;       // ordinary values must lie within +-limit
    int conditions;     // further conditions
    const char **texts; // "exp(..) does not overflow", "total[b, q] is not 0"
} CausalBound;

struct CausalValue {
    CausalKind kind;
    Val val;   // in the analysed function; 0: inside a callee
    Name name; // from the source, or NULL
    Span span;
    Dtype dtype;
    int rank;
    const Dim **dims;
    int batch;                    // axis of the batch, or -1
    bool position[CORE_MAX_RANK]; // per axis: its extent is S
    int positions;                // how many of them
    // comprehensions (rank output variables for the other kinds too)
    const Var **out; // one for each axis
    int red;
    const Var **red_vars;
    Reduction reduction;
    Step step;
    const Comp *comp;    // NULL: of another kind
    const Term *body;    // folded: what is decided without facts is gone
    const Term *raw;     // as lowered, views substituted
    const Term **nodes;  // a term for each node of the comprehension; NULL beyond the limits
    CausalBound *bounds; // one for each reduction index
    // facts
    bool tokens;                // depends on tokens
    int64_t dep[CORE_MAX_RANK]; // per position axis q: reads tokens up to q + dep
    const CausalCause *all;     // reads tokens at every position
    const CausalCause *length;  // its bits depend on S
    const CausalCause *lanes;   // the lane of an element depends on S
    const CausalCause *mix;     // reads another row of the batch
    const CausalCause *late;    // depends on a later position
    bool wild;                  // carried, opaque: may be other than ordinary (mask constants, NaN)
    CausalMode mode;
    int row;                     // the row axis, or -1
    bool asked;                  // something that is computed reads it
    bool at_row[CORE_MAX_RANK];  // per position axis: is read at the current row
    bool at_last[CORE_MAX_RANK]; // .. at the last position
    int64_t back[CORE_MAX_RANK]; // .. how far before the row; CAUSAL_NEVER: nowhere else;
                                 // AFFINE_INF: all
};

// One line of the proof.
typedef struct {
    const CausalValue *value;
    Span span;
    const char *text; // "score: k <= q; neutral for k > q: ..."
    double limit;     // it holds for ordinary values within this
} CausalStep;

// Analyses `f`, a function of c (verified) with parameter `tokens` [B or a constant, S; integer].
// S is a symbol of c. Never NULL. It goes with the session, unless it is freed before.
Causal *causal_analyse(Core *c, const CoreFn *f, const Dim *S, Val tokens);
void causal_free(Causal *k); // with all that was obtained from it; NULL is allowed

bool causal_ok(const Causal *k);
const CausalCause *causal_refusal(const Causal *k); // NULL if ok
int causal_steps(const Causal *k);
const CausalStep *causal_step(const Causal *k, int i);
double causal_limit(const Causal *k); // the least B of all bounds; infinite without conditions
bool causal_warns(const Causal *k);   // data may well break the limit (below 1e5)
const CausalValue *causal_value(const Causal *k, Val v); // NULL: a block, a tuple, not in use
Affine *causal_affine(Causal *k);

// ---- For the derivation ------------------------------------------------------------------------

// What the bounds of `user`'s reductions and the row axis say: k <= q, q - window <= k.
const Cons *causal_bounds(Causal *k, const CausalValue *user);

// How node `read` (N_READ) of user's comprehension is evaluated: bounds of its position on `axis`
// less the index of user's output axis `row` (row -1: less S - 1), over all the places in the body
// where it is evaluated, under the facts of the selects around it and the bounds of the reductions.
// lo > hi: it is never evaluated. False: node is no read of a value that is known.
bool causal_read_interval(Causal *k, Val user, int read, int axis, int row, int64_t *lo,
                          int64_t *hi);

// The same without the bounds of the reductions: also where the summand is neutral.
bool causal_read_anywhere(Causal *k, Val user, int read, int axis, int row, int64_t *lo,
                          int64_t *hi);

// Is the node (a read, or a dim) evaluated anywhere, the summand neutral or not?
bool causal_live_anywhere(Causal *k, Val user, int node);

// The proof, line by line, with positions in the source; then the conditions.
void causal_print_proof(const Causal *k, StrBuf *out);
void causal_print_cause(const CausalCause *cause, StrBuf *out); // "score: `k < q + 2` does not .."

// Where the analysed function's own file calls what `v` stands in; no file if it does not.
Span causal_site(const Causal *k, const CausalValue *v);
