// Symbolic dimensions: canonical form, printing, what the solver proves and what it must not, and
// random expressions against their values at all small points.
#include "type/dim.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int passed; // checks that held
    int failed; // checks that did not
} Tally;

static void check(Tally *tally, bool ok, const char *what) {
    tally->passed += ok;
    tally->failed += !ok;
    if (!ok)
        printf("FAILED: %s\n", what);
}

// A small parser, so that cases can be written as text

enum { SYMBOLS = 16 };

typedef struct {
    Arena *arena;
    DimTable *table;
    const Dim *symbols[SYMBOLS]; // in the order met
    const char *names[SYMBOLS];  // their names
    int count;                   // of symbols
    const char *at;              // next character
} World;

static World world_new(void) {
    World w = {.arena = arena_new()};
    w.table = dims_new(w.arena);
    return w;
}

static const Dim *parse_sum(World *w);

static void skip(World *w) {
    while (*w->at == ' ')
        w->at++;
}

static bool eat(World *w, const char *text) {
    skip(w);
    bool found = strncmp(w->at, text, strlen(text)) == 0;
    w->at += found ? strlen(text) : 0;
    return found;
}

static const Dim *symbol(World *w, const char *name, int len) {
    for (int i = 0; i < w->count; i++) {
        if ((int)strlen(w->names[i]) == len && strncmp(w->names[i], name, (size_t)len) == 0)
            return w->symbols[i];
    }
    w->names[w->count] = arena_copy(w->arena, name, (size_t)len);
    w->symbols[w->count] = dim_symbol(w->table, w->names[w->count]);
    return w->symbols[w->count++];
}

static const Dim *parse_leaf(World *w) {
    skip(w);
    bool max = *w->at == 'm' && w->at[1] == 'a';
    if (eat(w, "min(") || eat(w, "max(")) {
        const Dim *a = parse_sum(w);
        eat(w, ",");
        const Dim *b = parse_sum(w);
        eat(w, ")");
        return max ? dim_max(w->table, a, b) : dim_min(w->table, a, b);
    }
    if (eat(w, "(")) {
        const Dim *d = parse_sum(w);
        eat(w, ")");
        return d;
    }
    if (eat(w, "-"))
        return dim_sub(w->table, dim_const(w->table, 0), parse_leaf(w));
    if (*w->at >= '0' && *w->at <= '9') {
        char *end;
        int64_t value = strtoll(w->at, &end, 10);
        w->at = end;
        return dim_const(w->table, value);
    }
    int len = (int)strspn(w->at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
    w->at += len;
    return symbol(w, w->at - len, len);
}

static const Dim *parse_product(World *w) {
    const Dim *d = parse_leaf(w);
    for (;;) {
        if (eat(w, "*"))
            d = dim_mul(w->table, d, parse_leaf(w));
        else if (eat(w, "/"))
            d = dim_div(w->table, d, parse_leaf(w));
        else if (eat(w, "%"))
            d = dim_mod(w->table, d, parse_leaf(w));
        else
            return d;
    }
}

static const Dim *parse_sum(World *w) {
    const Dim *d = parse_product(w);
    for (;;) {
        if (eat(w, "+"))
            d = dim_add(w->table, d, parse_product(w));
        else if (eat(w, "-"))
            d = dim_sub(w->table, d, parse_product(w));
        else
            return d;
    }
}

static const Dim *parse(World *w, const char *text) {
    w->at = text;
    return parse_sum(w);
}

static Relation parse_relation(World *w) {
    static const Relation order[] = {REL_EQ, REL_NE, REL_LE, REL_GE, REL_LT, REL_GT};
    for (int i = 0; i < 6; i++) {
        if (eat(w, relation_text(order[i])))
            return order[i];
    }
    abort();
}

static void add_facts(World *w, Facts *f, const char *text) {
    w->at = text;
    while (skip(w), *w->at) {
        const Dim *a = parse_sum(w);
        Relation rel = parse_relation(w);
        facts_add(f, a, rel, parse_sum(w));
        eat(w, ",");
    }
}

static bool prove(World *w, const Facts *f, const char *query) {
    w->at = query;
    const Dim *a = parse_sum(w);
    Relation rel = parse_relation(w);
    return facts_prove(f, a, rel, parse_sum(w));
}

// Canonical form: text in, text out

static const char *const folded[][2] = {
    {"0", "0"},
    {"3 - 5", "-2"},
    {"H + 1 + H", "2*H + 1"},
    {"1 + H*N*2 - H", "2*H*N - H + 1"},
    {"(H + 1)*(H - 1)", "H*H - 1"},
    {"N*H - H*N", "0"},
    {"H - N + N", "H"},
    {"Q - K", "Q - K"},
    {"-Q + K", "K - Q"},
    {"-7/2", "-4"},
    {"-7%2", "1"},
    {"7/-2", "-4"},
    {"7 % -2", "-1"},
    {"4*H/2", "2*H"},
    {"(4*H + 3)/2", "2*H + 1"},
    {"B*H/H", "B"},
    {"(6*H + 5)%3", "2"},
    {"H/1", "H"},
    {"H%1", "0"},
    {"H/H", "1"},
    {"H % H", "0"},
    {"0/H", "0"},
    {"(S + 3)/4", "(S + 3)/4"},
    {"(S + 7)/4", "(S + 3)/4 + 1"},
    {"(2*S + 1)/4", "S/2"},
    {"(2*S + 1)%4", "2*(S % 2) + 1"},
    {"H/N", "H/N"},
    {"N*(H/N)", "N*(H/N)"},
    {"H/N/2", "(H/N)/2"},
    {"H/(N*2)", "H/(2*N)"},
    {"(H*2)/(N*2)", "H/N"},
    {"B*H/(2*H)", "B/2"},
    {"(B*H + H - 1)/H", "B + (-1)/H + 1"},
    {"(B*P + B*Q)/(P + Q)", "B"},
    {"(P*P - Q*Q)/(P - Q)", "P + Q"},
    {"(P*P - Q*Q)%(P + Q)", "0"},
    {"(B*H) % (B*N)", "B*(H % N)"},
    {"H % N + S", "S + H % N"},
    {"2*(H/N)", "2*(H/N)"},
    {"S - H/N", "S - H/N"},
    {"-(H/N)", "-(H/N)"},
    {"(-H)/N", "(-H)/N"},
    {"H/-N", "(-H)/N"},
    {"(H/Heads) % 2", "(H/Heads) % 2"},
    {"max(1, P)", "max(P, 1)"},
    {"min(P, P)", "P"},
    {"max(P, P + 1)", "P + 1"},
    {"min(P, P + 1)", "P"},
    {"min(3, 5) + max(3, 5)", "8"},
    {"max(P, max(P, Q))", "max(P, Q)"},
    {"min(P, max(Q, P))", "P"},
    {"min(P, P + Q)", "min(P, P + Q)"},
    {"max(0, (min(b, D) - a + c - 1)/c)", "max((min(b, D) - a - 1)/c + 1, 0)"},
    {"9223372036854775807 + 1", "invalid"},
    {"9223372036854775807*H + H", "invalid"},
    {"9223372036854775807*2*0", "invalid"},
    {"H/0", "invalid"},
    {"H % 0", "invalid"},
    {"0/(H - H)", "invalid"},
    {"min(H, 1/0)", "invalid"},
    {"(0 - 9223372036854775807 - 1)/-1", "invalid"},
};

static void test_folding(Tally *tally) {
    for (size_t i = 0; i < sizeof folded / sizeof *folded; i++) {
        World w = world_new();
        parse(&w, "b + D + a + c + B + H + N + P + S");
        const char *text = dim_text(w.arena, parse(&w, folded[i][0]));
        char what[200];
        snprintf(what, sizeof what, "%s is %s, not %s", folded[i][0], text, folded[i][1]);
        check(tally, strcmp(text, folded[i][1]) == 0, what);
        arena_free(w.arena);
    }
}

static const char *const same[][2] = {
    {"B*S*H", "H*B*S"},
    {"Heads*(HeadDim*B)", "B*Heads*HeadDim"},
    {"max(P, Q)", "max(Q, P)"},
    {"min(P, Q) + 1", "1 + min(Q, P)"},
    {"(H + 3)/2", "(H + 1)/2 + 1"},
    {"(P + Batch)*(P + Batch)", "P*P + 2*P*Batch + Batch*Batch"},
    {"(2*H)/(2*N)", "H/N"},
};

static void test_identity(Tally *tally) {
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        World w = world_new();
        check(tally, parse(&w, same[i][0]) == parse(&w, same[i][1]), same[i][0]);
        check(tally, parse(&w, same[i][0]) != parse(&w, "Z + 1"), same[i][0]);
        arena_free(w.arena);
    }
    World w = world_new();
    const Dim *a = dim_symbol(w.table, "N"), *b = dim_symbol(w.table, "N");
    check(tally, a != b, "two symbols of one name are two");
    arena_free(w.arena);
}

// What must be proved, and what must not

typedef struct {
    const char *facts; // joined by commas
    const char *query;
    bool proved;
} Case;

static const Case cases[] = {
    // identities and constants
    {"", "Heads*HeadDim*B == B*(HeadDim*Heads)", true},
    {"", "B*S*H == B*H*S", true},
    {"", "Batch + Batch == 2*Batch", true},
    {"", "S - 1 < S", true},
    {"", "S < S", false},
    {"", "S <= S", true},
    {"", "S != S", false},
    {"", "S != S + 1", true},
    {"", "S == T", false},
    {"", "S != T", false},
    {"", "2*S + 1 != 2*T", true},
    {"", "2*S + 2 != 2*T", false},
    {"", "S >= 0", true},
    {"", "S > 0", false},
    {"", "S*T + 2*S >= S", true},
    {"", "S*T >= S", false},
    {"", "S - T >= 0", false},
    {"", "9223372036854775807*H*2 == 9223372036854775807*H*2", false},
    {"", "9223372036854775807 + 1 > 0", false},
    // positions
    {"S > 0", "S - 1 >= 0", true},
    {"", "S - 1 >= 0", false},
    {"S > 0", "S - 1 < S", true},
    {"Batch > 0", "min(1, Batch) == 1", true},
    {"", "min(1, Batch) == 1", false},
    {"N != 0", "N >= 1", true},
    {"N != 0", "N >= 2", false},
    {"N*D != 0", "D > 0", true},
    {"N != D", "N != D", true},
    {"N != D", "D != N", true},
    {"N != D", "2*D != 2*N", true},
    {"N != D", "N > D", false},
    {"N != D, N >= D", "N > D", true},
    {"N - D != 3", "N != D + 3", true},
    // intervals
    {"K >= S + 2", "K > S", true},
    {"K >= S + 2", "K >= 2", true},
    {"K >= S + 2", "K >= 3", false},
    {"S <= 7", "2*S < 15", true},
    {"S <= 7", "2*S < 14", false},
    {"S > 3, S <= 7", "S*S <= 49", true},
    {"S > 3, S <= 7", "S*S >= 16", true},
    {"S > 3, S <= 7", "S*S >= 17", false},
    {"S >= 4, S <= 4", "S == 4", true},
    {"A <= B, B <= C", "A <= C", true},
    {"A <= B, B <= C", "C <= A", false},
    {"A < B, B < C", "A + 2 <= C", true},
    {"A < B, B < C", "A + 3 <= C", false},
    {"A <= B, B <= A", "A == B", true},
    {"A <= B", "A == B", false},
    {"A + B >= 10, B <= 4", "A >= 6", true},
    {"A + B >= 10, B <= 4", "A >= 7", false},
    {"2*A >= B, B >= 5", "A >= 3", true},
    {"D >= 1", "N*D >= N", true},
    {"", "N*D >= N", false},
    {"N*D > 0", "N > 0", true},
    {"N + D > 0", "N > 0", false},
    {"N*D <= 12, D > 0", "N <= 12", true},
    {"N*D <= 12", "N <= 12", false},
    {"A >= B, C >= D", "A*C >= B*D", true},
    // divisibility
    {"H % N == 0, N > 0", "N*(H/N) == H", true},
    {"N > 0, H % N == 0", "B*N*S*(H/N) == S*H*B", true},
    {"H % N == 0, N > 0", "(k*H) % N == 0", true},
    {"H % N == 0, N > 0", "(k*H + N) % N == 0", true},
    {"H % N == 0, N > 0", "(H + 1) % N == 0", false},
    {"N > 0", "N*(H/N) == H", false},
    {"N > 0", "(k*H) % N == 0", false},
    {"H % N == 0", "H % N == 0", true},
    {"N % H == 0", "H % N == 0", false},
    {"H % N == 0, N > 0", "H/N >= 0", true},
    {"H % N == 0, N > 0", "H/N > 0", false},
    {"H % N == 0, N > 0, H > 0", "H/N > 0", true},
    {"H > 0, N > 0", "H/N > 0", false},
    {"H >= N, N > 0", "H/N > 0", true},
    {"N > 0", "N*(H/N) <= H", true},
    {"N > 0", "N*(H/N) + N > H", true},
    {"N > 0", "N*(H/N) + H % N == H", true},
    {"N > 0", "H % N < N", true},
    {"N > 0", "H % N >= 0", true},
    {"N > 0", "H % N <= H", true},
    {"N > 0", "H % N < N - 1", false},
    {"", "H % N < N", false},
    {"", "S % 4 <= 3", true},
    {"", "S % 4 < 3", false},
    {"D % 2 == 0", "(D + 1)/2 == D/2", true},
    {"D % 2 == 0", "D/2 + D/2 == D", true},
    {"D % 2 == 0", "(D + 3)%2 == 1", true},
    {"", "(D + 1)/2 == D/2", false},
    {"", "D/2 + D/2 == D", false},
    {"", "(D + 3)%2 == 1", false},
    {"D % 2 == 1", "D/2 + D/2 + 1 == D", true},
    {"D % 2 == 1", "D/2 + D/2 == D", false},
    {"D % 2 == 1", "D > 0", true},
    {"D % 4 == 0", "D/2 + D/2 == D", true},
    {"D % 4 == 0", "(D/2) % 2 == 0", true},
    {"D % 2 == 0", "D % 4 == 0", false},
    {"D % 2 == 0, D % 3 == 0", "D % 6 == 0", true},
    {"(D + 1) % 4 == 0", "4*((D + 1)/4) == D + 1", true},
    {"(H/Heads) % 2 == 0", "(H/Heads) % 2 == 0", true},
    {"(H/Heads) % 2 == 0", "(H/Heads)/2 + (H/Heads)/2 == H/Heads", true},
    {"", "(H/Heads) % 2 == 0", false},
    {"A % N == 0, B % N == 0, N > 0", "(A + B) % N == 0", true},
    {"A % N == 0, B % N == 0, N > 0", "A/N + B/N == (A + B)/N", true},
    {"N > 0", "A/N + B/N == (A + B)/N", false},
    {"H % A == 0, H % B == 0, A > 0, B > 0", "A*(H/A) == B*(H/B)", true},
    {"H % A == 0, H % B == 0, A > 0, B > 0", "(k*H) % B == 0", true},
    {"A % B == 0, B % C == 0, B > 0, C > 0", "A % C == 0", true},
    {"A % B == 0, B % C == 0, B > 0, C > 0", "(A/C) % (B/C) == 0", true},
    {"(A*B) % C == 0, C > 0", "C*(A*B/C) == A*B", true},
    {"(A*B) % C == 0, C > 0", "(A*B*K) % C == 0", true},
    {"(A*B) % C == 0, C > 0", "A % C == 0", false},
    {"(A*B) % C == 0, C > 0, A > 0, B > 0", "A*B/C > 0", true},
    // bounds of quotients
    {"", "D/2 <= D", true},
    {"", "D/2 >= 0", true},
    {"", "D/2 < D", false},
    {"D > 0", "D/2 < D", true},
    {"K > 0", "(K + 31)/32 > 0", true},
    {"", "(K + 31)/32 > 0", false},
    {"", "32*((K + 31)/32) >= K", true},
    {"", "32*((K + 31)/32) <= K + 31", true},
    {"", "32*((K + 31)/32) <= K + 30", false},
    {"N > 0, K > 0", "(K + N - 1)/N > 0", true},
    {"N > 0", "(K + N - 1)/N > 0", false},
    {"N > 0", "N*((K + N - 1)/N) >= K", true},
    {"A <= B", "A/3 <= B/3", true},
    {"A <= B, N > 0", "A/N <= B/N", true},
    {"A < B", "A/3 < B/3", false},
    {"A + 3 <= B", "A/3 < B/3", true},
    {"A < N", "A/N == 0", true},
    {"A < N", "A % N == A", true},
    {"A <= N, N > 0", "A/N == 0", false},
    {"", "(x/4)/8 == x/32", true},
    {"N > 0, M > 0", "(x/N)/M == x/(N*M)", true},
    {"Stride > 0, H + 2*Pad >= K", "(H + 2*Pad - K)/Stride + 1 > 0", true},
    {"Stride > 0", "(H + 2*Pad - K)/Stride + 1 > 0", false},
    // equalities
    {"H == N*D, N > 0", "H/N == D", true},
    {"H == N*D", "H % N == 0", true},
    {"H == N*D", "B*S*H == B*S*N*D", true},
    {"H == N*D", "H == N", false},
    {"A*B == C*D", "A*B == C*D", true},
    {"A*B == C*D", "C*D*K == A*B*K", true},
    {"A*B == C*D", "A == C", false},
    {"A*B == C*D, B == D", "A == C", false},
    {"A*B == C*D, B == D, B > 0", "A == C", true},
    {"A == B, B == C", "A == C", true},
    {"A == B + 1, C == B + 1", "A == C", true},
    {"A == B - 2", "B >= 2", true},
    {"H/Heads == 64", "H/Heads == 64", true},
    {"H/Heads == 64", "(H/Heads) % 2 == 0", true},
    {"H/Heads == D", "B*(H/Heads) == D*B", true},
    {"H/Heads == 64, Heads > 0", "H >= 64", true},
    {"M == N/Shards", "N/Shards + M == 2*M", true},
    {"2*A == 2*B", "A == B", true},
    {"2*A == 3*B", "4*A == 6*B", true},
    {"2*A == 3*B", "A == B", false},
    {"N*A == N*B", "A == B", false},
    {"N*A == N*B, N > 0", "A == B", true},
    // min and max
    {"", "min(P, P + Batch) == P", true},
    {"", "max(P, P + Batch) == P + Batch", true},
    {"", "max(0, P) == P", true},
    {"P > 0", "max(P, 1) == P", true},
    {"", "max(P, 1) == P", false},
    {"", "max(P, 1) > 0", true},
    {"P <= Q", "min(P, Q) == P", true},
    {"", "min(P, Q) == P", false},
    {"", "min(P, Q) <= P", true},
    {"", "min(P, Q) <= max(Q, P)", true},
    {"", "min(P, Q) + max(P, Q) == P + Q", true},
    {"", "min(P, Q) * max(P, Q) == P * Q", true},
    {"", "min(P, Q) < max(Q, P)", false},
    {"P < N, Q < N", "max(P, Q) < N", true},
    {"P < N", "max(P, Q) < N", false},
    {"P < N", "min(P, Q) < N", true},
    {"", "max(0, min(D, D) - 0) == D", true},
    {"", "max(0, (min(P, P + Batch) - 0 + 1 - 1)/1) == P", true},
    {"", "max(0, min(P + Batch, P + Batch) - P) == Batch", true},
    {"D % 2 == 0", "max(0, min(D/2, D)) + max(0, D - D/2) == D", true},
    {"Batch > 0", "max(0, min(1, Batch)) == 1", true},
    // sums along an axis
    {"", "P + Batch - P == Batch", true},
    {"Rows > 0", "P + Rows > P", true},
    {"", "P + Rows > P", false},
    // facts that contradict or say nothing must not break it
    {"S > 5, S < 3", "S == S", true},
    {"0 == 0, S == S", "S > 0", false},
    {"1/0 == 2", "S > 0", false},
    {"H == H*H", "H == 1", false},
    {"A*B == max(A*B, C)*D", "A == B", false},
};

static void test_cases(Tally *tally) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        World w = world_new();
        Facts *f = facts_new(w.table, NULL);
        add_facts(&w, f, cases[i].facts);
        char what[200];
        snprintf(what, sizeof what, "[%s] %s %s", cases[i].facts,
                 cases[i].proved ? "proves" : "does not prove", cases[i].query);
        check(tally, prove(&w, f, cases[i].query) == cases[i].proved, what);
        arena_free(w.arena);
    }
}

// The facts of a decoder over shards, and what its members need.
static const char decoder[] = "Shards > 0, Heads % Shards == 0, KvHeads % Shards == 0, "
                              "KvHeads / Shards > 0, (Heads / Shards) % (KvHeads / Shards) == 0, "
                              "Heads > 0, KvHeads > 0, H % Heads == 0, (H / Heads) % 2 == 0, "
                              "Inner % Shards == 0, Vocab % Shards == 0, Heads % KvHeads == 0";
static const char *const decoder_queries[] = {
    "Shards > 0",
    "Heads % Shards == 0",
    "KvHeads % Shards == 0",
    "KvHeads / Shards > 0",
    "(Heads / Shards) % (KvHeads / Shards) == 0",
    "H % Heads == 0",
    "(H / Heads) % 2 == 0",
    "Inner % Shards == 0",
    "Heads % KvHeads == 0",
    "Shards * (Vocab / Shards) == Vocab",
    "KvHeads * (Heads / KvHeads) == Heads",
    "B * S * (Heads / Shards * (H / Heads)) == B * (H / Heads) * S * (Heads / Shards)",
    "Shards * (Heads / Shards) * (H / Heads) == H",
    "(H / Heads) / 2 + (H / Heads) / 2 == H / Heads",
    "Heads / Shards > 0",
    "H / Heads >= 0",
    "H % Shards == 0",
    "Shards * (H / Shards) == H",
    "(Heads / Shards) / (KvHeads / Shards) == Heads / KvHeads",
    "H / Heads / 2 <= H / Heads",
    "Heads / Shards * (H / Heads) == H / Shards",
};
static const char *const decoder_unproved[] = {
    "Vocab % Heads == 0",   "H / Heads > 0",        "Inner / Shards > 0",
    "Shards == 1",          "Heads == KvHeads",     "H % 4 == 0",
    "(H / Heads) % 4 == 0", "KvHeads % Heads == 0", "Shards * (B / Shards) == B",
};

static void test_decoder(Tally *tally) {
    World w = world_new();
    Facts *outer = facts_new(w.table, NULL), *inner = facts_new(w.table, outer);
    add_facts(&w, inner, "S > 0");
    check(tally, !prove(&w, inner, decoder_queries[3]), "nothing is known yet");
    add_facts(&w, outer, decoder); // after the inner scope was asked
    for (size_t i = 0; i < sizeof decoder_queries / sizeof *decoder_queries; i++)
        check(tally, prove(&w, inner, decoder_queries[i]), decoder_queries[i]);
    for (size_t i = 0; i < sizeof decoder_unproved / sizeof *decoder_unproved; i++)
        check(tally, !prove(&w, inner, decoder_unproved[i]), decoder_unproved[i]);
    check(tally, prove(&w, inner, "S - 1 >= 0"), "the inner scope's own fact");
    check(tally, !prove(&w, outer, "S - 1 >= 0"), "an inner fact does not hold outside");
    add_facts(&w, inner, "S == Shards*T");
    check(tally, prove(&w, inner, "S/Shards == T"), "an equality over an outer symbol");
    check(tally, prove(&w, inner, "T > 0"), "a factor of what is positive");
    arena_free(w.arena);
}

static const char *const simplified[][3] = {
    {"", "min(P, P + Batch)", "P"},
    {"", "max(0, min(D, S))", "min(D, S)"},
    {"H % N == 0, N > 0", "N*(H/N)", "H"},
    {"H % N == 0, N > 0", "B*N*(H/N) + 1", "B*H + 1"},
    {"H % N == 0, N > 0", "H/N", "H/N"},
    {"H % N == 0, N > 0", "max(N*(H/N), 1)", "max(H, 1)"},
    {"D % 2 == 0", "D/2 + D/2", "D"},
    {"D % 2 == 0", "(D + 1)/2", "D/2"},
    {"D % 2 == 0", "D", "D"},
    {"D % 2 == 0", "D % 3", "D % 3"},
    {"H == N*D", "B*H", "B*N*D"},
    {"H == N*D, N > 0", "H/N", "D"},
    {"Heads % Shards == 0, Shards > 0, H % Heads == 0, Heads > 0", "H/Shards", "H/Shards"},
    {"Heads % Shards == 0, Shards > 0, H % Heads == 0, Heads > 0", "Shards*(Heads/Shards)",
     "Heads"},
    {"K > Q", "max(Q, K) - Q", "K - Q"},
    {"A < N", "A % N", "A"},
};

static void test_simplify(Tally *tally) {
    for (size_t i = 0; i < sizeof simplified / sizeof *simplified; i++) {
        World w = world_new();
        parse(&w, "B + P + H + N + D");
        Facts *f = facts_new(w.table, NULL);
        add_facts(&w, f, simplified[i][0]);
        const char *text = dim_text(w.arena, facts_simplify(f, parse(&w, simplified[i][1])));
        char what[200];
        snprintf(what, sizeof what, "[%s] %s is %s, not %s", simplified[i][0], simplified[i][1],
                 text, simplified[i][2]);
        check(tally, strcmp(text, simplified[i][2]) == 0, what);
        arena_free(w.arena);
    }
}

// Structure

static void count_symbol(void *ctx, const Dim *d) {
    *(int *)ctx += dim_is_symbol(d);
}

static void test_structure(Tally *tally) {
    World w = world_new();
    const Dim *h = parse(&w, "H"), *n = parse(&w, "N"), *a, *b;
    const Dim *d = parse(&w, "3*H*H*(H/N) - max(N, S) + 4");
    int symbols = 0;
    int64_t value = 0;
    dim_symbols(d, count_symbol, &symbols);
    check(tally, symbols == 3, "H, N and S, each once");
    check(tally, dim_mentions(d, parse(&w, "S")) && !dim_mentions(d, parse(&w, "T")), "mentions");
    check(tally, dim_terms(d) == 3 && dim_coefficient(d, 0) == 3, "terms");
    check(tally, dim_factors(d, 0) == 3 && dim_factor(d, 0, 0) == h && dim_factor(d, 0, 1) == h,
          "repeated factors");
    check(tally, dim_atom(dim_factor(d, 0, 2), &a, &b) == ATOM_DIV && a == h && b == n, "H/N");
    check(tally, dim_atom(h, &a, &b) == ATOM_NONE && dim_atom(d, &a, &b) == ATOM_NONE, "no atom");
    check(tally, dim_atom(parse(&w, "H % N"), &a, &b) == ATOM_MOD, "mod");
    check(tally, dim_atom(parse(&w, "min(H, N)"), &a, &b) == ATOM_MIN, "min");
    check(tally, dim_atom(parse(&w, "max(H, N)"), &a, &b) == ATOM_MAX, "max");
    check(tally, dim_is_symbol(h) && !dim_is_symbol(d) && !dim_is_symbol(parse(&w, "H/N")),
          "symbols");
    check(tally, dim_is_const(parse(&w, "H - H + 7"), &value) && value == 7, "constant");
    check(tally, dim_is_const(parse(&w, "0"), &value) && value == 0, "zero");
    check(tally, !dim_is_const(h, NULL) && !dim_is_const(parse(&w, "1/0"), NULL), "not constant");
    check(tally, strcmp(dim_name(h), "H") == 0, "name");
    check(tally, !dim_valid(parse(&w, "1/0 - 1/0")), "invalid spreads");
    check(tally, parse(&w, "1/0") != parse(&w, "1/0"), "two invalid ones differ");
    arena_free(w.arena);
}

// Limits

static void test_limits(Tally *tally) {
    World w = world_new();
    Facts *f = facts_new(w.table, NULL);
    const Dim *x = parse(&w, "x"), *d = x, *sum = dim_const(w.table, 1);
    for (int i = 0; i < 200; i++)
        d = dim_min(w.table, dim_add(w.table, d, x), dim_div(w.table, d, dim_const(w.table, 2)));
    check(tally, !dim_valid(d), "atoms in atoms without end");
    for (int i = 0; i < 300; i++)
        sum = dim_add(w.table, sum, dim_symbol(w.table, "s"));
    check(tally, !dim_valid(sum), "too many terms");
    d = x;
    for (int i = 0; i < 100; i++)
        d = dim_mul(w.table, d, x);
    check(tally, !dim_valid(d), "too high a degree");
    d = dim_add(w.table, x, dim_const(w.table, 1));
    for (int i = 0; i < 10; i++)
        d = dim_mul(w.table, d, d);
    check(tally, !dim_valid(d), "a power of a power");
    check(tally, !facts_prove(f, d, REL_EQ, d), "invalid == invalid is not proved");
    check(tally, !facts_prove(f, sum, REL_GE, dim_const(w.table, 0)), "nothing of an invalid one");
    facts_add(f, d, REL_EQ, x);
    check(tally, facts_simplify(f, d) == d, "simplifying an invalid one");
    // a tangle of facts ends
    const Dim *many[40];
    for (int i = 0; i < 40; i++)
        many[i] = dim_symbol(w.table, "m");
    for (int i = 0; i < 300; i++) {
        const Dim *p = dim_mul(w.table, many[i % 40], many[(i * 7 + 3) % 40]);
        const Dim *q = dim_add(w.table, many[(i * 11) % 40], many[(i * 13 + 5) % 40]);
        facts_add(f, p, i % 3 ? REL_GE : REL_NE, dim_div(w.table, q, many[(i * 3) % 40]));
    }
    check(tally, !facts_prove(f, many[0], REL_GE, many[1]), "a tangle of facts");
    arena_free(w.arena);
}

// Random expressions

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

enum { FACTS = 4, CLAIMS = 4 };

typedef struct {
    int proved; // of these
    int true_;  // claims that hold at every point tried, and at one at least
} Score;

// What is false of a claim at a point that meets the facts; 0 where it can't be told.
static int outcome(const Random *r, Claim c, const int64_t *point) {
    int64_t a, b;
    if (!evaluate(r, c.a, point, &a) || !evaluate(r, c.b, point, &b))
        return 0;
    return holds(a, c.rel, b) ? 1 : -1;
}

static void random_proofs(Tally *tally, Score *score, uint64_t seed) {
    Random r;
    start(&r, seed);
    Facts *f = facts_new(r.table, NULL);
    Claim facts[FACTS], claims[CLAIMS];
    bool proved[CLAIMS];
    int seen[CLAIMS] = {0}, false_at[CLAIMS] = {0}, wrong_simple = 0;
    int n = pick(&r, FACTS + 1);
    for (int i = 0; i < n; i++) {
        facts[i] = grow_claim(&r, 1 + pick(&r, 2));
        if (pick(&r, 3) == 0 && r.nodes[facts[i].a].op == '%') // divisibility
            r.nodes[facts[i].b] = (Tree){.op = 'n', .a = 0}, facts[i].rel = REL_EQ;
        facts_add(f, build(&r, facts[i].a), facts[i].rel, build(&r, facts[i].b));
    }
    for (int i = 0; i < CLAIMS; i++) {
        claims[i] = grow_claim(&r, 2);
        proved[i] = facts_prove(f, build(&r, claims[i].a), claims[i].rel, build(&r, claims[i].b));
    }
    const Dim *simple = facts_simplify(f, build(&r, claims[0].a));
    int64_t point[NAMES] = {0, 0, 0};
    do {
        bool met = true;
        for (int i = 0; i < n && met; i++)
            met = outcome(&r, facts[i], point) == 1;
        for (int i = 0; i < CLAIMS && met; i++) {
            int o = outcome(&r, claims[i], point);
            seen[i] += o != 0;
            false_at[i] += o < 0;
        }
        At at = {.random = &r, .point = point};
        int64_t value, form;
        if (met && dim_valid(simple) && evaluate(&r, claims[0].a, point, &value) &&
            (!dim_eval(simple, value_at, &at, &form) || form != value))
            wrong_simple++;
    } while (next_point(point, 0, 6));
    char what[100];
    snprintf(what, sizeof what, "seed %d: simplified, but another value", (int)seed);
    check(tally, wrong_simple == 0, what);
    for (int i = 0; i < CLAIMS; i++) {
        snprintf(what, sizeof what, "seed %d claim %d: proved, but false", (int)seed, i);
        check(tally, !(proved[i] && false_at[i]), what);
        score->proved += proved[i] && seen[i];
        score->true_ += seen[i] && !false_at[i];
    }
    arena_free(r.arena);
}

int main(int argc, char **argv) {
    Tally tally = {0};
    Score score = {0};
    int rounds = argc > 1 ? atoi(argv[1]) : 2000;
    test_folding(&tally);
    test_identity(&tally);
    test_cases(&tally);
    test_decoder(&tally);
    test_simplify(&tally);
    test_structure(&tally);
    test_limits(&tally);
    for (int i = 0; i < rounds; i++) {
        random_forms(&tally, (uint64_t)i * 2654435761u + 1);
        random_proofs(&tally, &score, (uint64_t)i * 2654435761u + 7);
    }
    printf("random claims: %d proved of %d true at the points tried\n", score.proved, score.true_);
    check(&tally, rounds < 1000 || score.proved * 3 > score.true_, "too few claims are proved");
    printf("%d passed, %d failed\n", tally.passed, tally.failed);
    return tally.failed != 0;
}
