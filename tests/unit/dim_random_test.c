// Symbolic dimensions against their values: random expressions and facts, evaluated as written at
// all small points. A canonical form, its text read again, a substitution and a simplification keep
// every value, and what is proved is false nowhere the facts hold. The seeds are fixed; an argument
// sets how many are tried.
#include "dim_help.h"

enum { NAMES = 3, NODES = 256 };

typedef struct {
    char op; // one of "+-*/%<>", 'n' a number, 's' a symbol
    int a;   // operand's node, the number, or the symbol
    int b;   // second operand's node
} Tree;

typedef struct {
    uint64_t state;
    DimTable *table;
    Arena *arena;
    const Dim *symbols[NAMES];
    Tree nodes[NODES]; // of the expressions of one round
    int count;         // of nodes
} Random;

static int pick(Random *r, int n) {
    r->state = r->state * 6364136223846793005u + 1442695040888963407u;
    return (int)((r->state >> 33) % (unsigned)n);
}

static int grow(Random *r, int depth) {
    static const char ops[] = "++--**//%%<>";
    Tree t = {.op = 's', .a = pick(r, NAMES)};
    int choice = pick(r, 8);
    if (choice == 0)
        t = (Tree){.op = 'n', .a = pick(r, 5)};
    if (depth > 0 && choice > 1) {
        t.op = ops[pick(r, (int)sizeof ops - 1)];
        t.a = grow(r, depth - 1);
        t.b = grow(r, depth - 1);
        if ((t.op == '/' || t.op == '%') && pick(r, 2))
            r->nodes[t.b] = (Tree){.op = 'n', .a = 1 + pick(r, 4)};
    }
    if (r->count == NODES)
        abort();
    r->nodes[r->count] = t;
    return r->count++;
}

static const Dim *build(const Random *r, int node) {
    Tree t = r->nodes[node];
    if (t.op == 's')
        return r->symbols[t.a];
    if (t.op == 'n')
        return dim_const(r->table, t.a);
    const Dim *a = build(r, t.a), *b = build(r, t.b);
    switch (t.op) {
    case '+':
        return dim_add(r->table, a, b);
    case '-':
        return dim_sub(r->table, a, b);
    case '*':
        return dim_mul(r->table, a, b);
    case '/':
        return dim_div(r->table, a, b);
    case '%':
        return dim_mod(r->table, a, b);
    case '<':
        return dim_min(r->table, a, b);
    default:
        return dim_max(r->table, a, b);
    }
}

static int64_t floor_div(int64_t a, int64_t b) {
    return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}

// The value as written, not of the canonical form; false where it divides by zero.
static bool evaluate(const Random *r, int node, const int64_t *point, int64_t *value) {
    Tree t = r->nodes[node];
    int64_t a, b;
    if (t.op == 's' || t.op == 'n') {
        *value = t.op == 's' ? point[t.a] : t.a;
        return true;
    }
    if (!evaluate(r, t.a, point, &a) || !evaluate(r, t.b, point, &b))
        return false;
    if ((t.op == '/' || t.op == '%') && b == 0)
        return false;
    *value = t.op == '+'   ? a + b
             : t.op == '-' ? a - b
             : t.op == '*' ? a * b
             : t.op == '/' ? floor_div(a, b)
             : t.op == '%' ? a - b * floor_div(a, b)
             : t.op == '<' ? (a < b ? a : b)
                           : (a > b ? a : b);
    return true;
}

typedef struct {
    const Random *random;
    const int64_t *point;     // values of the symbols
    const Dim *images[NAMES]; // what replaces them
} At;

static bool value_at(void *ctx, const Dim *symbol_, int64_t *value) {
    const At *at = ctx;
    for (int i = 0; i < NAMES; i++) {
        if (at->random->symbols[i] == symbol_) {
            *value = at->point[i];
            return true;
        }
    }
    return false;
}

static const Dim *image_of(void *ctx, const Dim *symbol_) {
    const At *at = ctx;
    for (int i = 0; i < NAMES; i++) {
        if (at->random->symbols[i] == symbol_)
            return at->images[i];
    }
    return NULL;
}

static void start(Random *r, uint64_t seed) {
    *r = (Random){.state = seed, .arena = arena_new()};
    static const char *const names[NAMES] = {"A", "B", "C"};
    r->table = dims_new(r->arena);
    for (int i = 0; i < NAMES; i++)
        r->symbols[i] = dim_symbol(r->table, names[i]);
}

static bool next_point(int64_t *point, int64_t low, int64_t high) {
    for (int i = 0; i < NAMES; i++) {
        if (++point[i] <= high)
            return true;
        point[i] = low;
    }
    return false;
}

static const Dim *reread(const Random *r, const Dim *d) {
    World w = {.arena = r->arena, .table = r->table, .count = NAMES};
    static const char *const names[NAMES] = {"A", "B", "C"};
    for (int i = 0; i < NAMES; i++) {
        w.symbols[i] = r->symbols[i];
        w.names[i] = names[i];
    }
    return parse(&w, dim_text(r->arena, d));
}

// Every integer point, also with negative values: canonical forms are exact there too.
static void random_forms(Tally *tally, uint64_t seed) {
    Random r;
    start(&r, seed);
    int root = grow(&r, 3), image = grow(&r, 2);
    const Dim *d = build(&r, root);
    At at = {.random = &r, .images = {NULL, build(&r, image), r.symbols[0]}};
    const Dim *replaced = dim_substitute(r.table, d, image_of, &at);
    int wrong = 0, wrong_replaced = 0;
    int64_t point[NAMES] = {-3, -3, -3}, value, form;
    do {
        at.point = point;
        if (evaluate(&r, root, point, &value) &&
            (!dim_eval(d, value_at, &at, &form) || form != value))
            wrong++;
        int64_t moved[NAMES] = {point[0], 0, point[0]};
        if (evaluate(&r, image, point, &moved[1]) && evaluate(&r, root, moved, &value) &&
            (!dim_eval(replaced, value_at, &at, &form) || form != value))
            wrong_replaced++;
    } while (next_point(point, -3, 4));
    char what[600];
    snprintf(what, sizeof what, "seed %d: %s: %d wrong values, %d after substitution", (int)seed,
             dim_text(r.arena, d), wrong, wrong_replaced);
    check(tally, !dim_valid(d) || (wrong == 0 && wrong_replaced == 0), what);
    check(tally, !dim_valid(d) || reread(&r, d) == d, what);
    arena_free(r.arena);
}

typedef struct {
    int a;        // node
    Relation rel; // between them
    int b;        // node
} Claim;

static bool holds(int64_t a, Relation rel, int64_t b) {
    switch (rel) {
    case REL_EQ:
        return a == b;
    case REL_NE:
        return a != b;
    case REL_LT:
        return a < b;
    case REL_LE:
        return a <= b;
    case REL_GT:
        return a > b;
    default:
        return a >= b;
    }
}

static Claim grow_claim(Random *r, int depth) {
    Claim c;
    c.a = grow(r, depth);
    c.b = grow(r, pick(r, 2) ? 0 : depth - 1);
    c.rel = (Relation)pick(r, 6);
    return c;
}

static int node(Random *r, char op, int a, int b) {
    r->nodes[r->count] = (Tree){op, a, b};
    return r->count++;
}

// A fact of a kind that models have, over random symbols.
static Claim usual_fact(Random *r) {
    int x = node(r, 's', pick(r, NAMES), 0), y = node(r, 's', pick(r, NAMES), 0);
    int z = node(r, 's', pick(r, NAMES), 0), zero = node(r, 'n', 0, 0);
    int small = node(r, 'n', pick(r, 3), 0), by = node(r, 'n', 2 + pick(r, 3), 0);
    switch (pick(r, 7)) {
    case 0:
        return (Claim){node(r, '%', x, y), REL_EQ, zero};
    case 1:
        return (Claim){x, REL_GT, small};
    case 2:
        return (Claim){node(r, '%', node(r, '*', x, z), y), REL_EQ, zero};
    case 3:
        return (Claim){x, REL_EQ, node(r, '*', y, z)};
    case 4:
        return (Claim){node(r, '/', x, y), REL_EQ, pick(r, 2) ? z : by};
    case 5:
        return (Claim){node(r, '%', node(r, '+', x, small), by), REL_EQ, pick(r, 2) ? y : zero};
    default:
        return (Claim){node(r, '%', node(r, '/', x, y), by), REL_EQ, small};
    }
}

enum { FACTS = 4, CLAIMS = 4 };

typedef struct {
    int proved; // of these
    int true_;  // claims that hold at every point tried, and at one at least
} Score;

// 1 if the claim holds at the point, -1 if not, 0 where it has no value.
static int outcome(const Random *r, Claim c, const int64_t *point) {
    int64_t a, b;
    if (!evaluate(r, c.a, point, &a) || !evaluate(r, c.b, point, &b))
        return 0;
    return holds(a, c.rel, b) ? 1 : -1;
}

// One round: facts, claims, and what the points said of them.
typedef struct {
    Claim facts[FACTS];
    int fact_count;
    Claim claims[CLAIMS];
    bool proved[CLAIMS];
    int seen[CLAIMS];     // points that meet the facts and where the claim has a value
    int false_at[CLAIMS]; // of these
    const Dim *simple;    // the first claim's left side, simplified
    int wrong_simple;     // points where it has another value
} Round;

static void ask(Random *r, Round *round) {
    Facts *outer = facts_new(r->table, NULL), *f = facts_new(r->table, outer);
    round->fact_count = pick(r, FACTS + 1);
    for (int i = 0; i < round->fact_count; i++) {
        Claim c = pick(r, 3) ? usual_fact(r) : grow_claim(r, 1 + pick(r, 2));
        facts_add(pick(r, 2) ? f : outer, build(r, c.a), c.rel, build(r, c.b));
        round->facts[i] = c;
    }
    for (int i = 0; i < CLAIMS; i++) {
        Claim c = grow_claim(r, 2);
        round->proved[i] = facts_prove(f, build(r, c.a), c.rel, build(r, c.b));
        round->claims[i] = c;
    }
    round->simple = facts_simplify(f, build(r, round->claims[0].a));
}

static void try_point(const Random *r, Round *round, const int64_t *point) {
    At at = {.random = r, .point = point};
    int64_t value, form;
    for (int i = 0; i < round->fact_count; i++) {
        if (outcome(r, round->facts[i], point) != 1)
            return;
    }
    for (int i = 0; i < CLAIMS; i++) {
        int o = outcome(r, round->claims[i], point);
        round->seen[i] += o != 0;
        round->false_at[i] += o < 0;
    }
    if (dim_valid(round->simple) && evaluate(r, round->claims[0].a, point, &value) &&
        (!dim_eval(round->simple, value_at, &at, &form) || form != value))
        round->wrong_simple++;
}

static void random_proofs(Tally *tally, Score *score, uint64_t seed) {
    Random r;
    Round round = {0};
    int64_t point[NAMES] = {0, 0, 0};
    char what[100];
    start(&r, seed);
    ask(&r, &round);
    do
        try_point(&r, &round, point);
    while (next_point(point, 0, 6));
    snprintf(what, sizeof what, "seed %d: simplified, but another value", (int)seed);
    check(tally, round.wrong_simple == 0, what);
    for (int i = 0; i < CLAIMS; i++) {
        bool seen = round.seen[i] > 0;
        snprintf(what, sizeof what, "seed %d claim %d: proved, but false", (int)seed, i);
        check(tally, !(round.proved[i] && round.false_at[i]), what);
        score->proved += round.proved[i] && seen;
        score->true_ += seen && !round.false_at[i];
    }
    arena_free(r.arena);
}

int main(int argc, char **argv) {
    Tally tally = {0};
    Score score = {0};
    int rounds = argc > 1 ? atoi(argv[1]) : 2000;
    for (int i = 0; i < rounds; i++) {
        random_forms(&tally, (uint64_t)i * 2654435761u + 1);
        random_proofs(&tally, &score, (uint64_t)i * 2654435761u + 7);
    }
    printf("random claims: %d proved of %d true at the points tried\n", score.proved, score.true_);
    check(&tally, rounds < 1000 || score.proved * 2 > score.true_, "too few claims are proved");
    printf("%d passed, %d failed\n", tally.passed, tally.failed);
    return tally.failed != 0;
}
