// Symbolic dimensions: canonical form, printing, what the solver proves and what it must not.
#include "dim_help.h"

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
    {"(A - B) % N == 0, N > 0", "A >= B", false},
    {"(A - B) % N == 0, N > 0", "N*((A - B)/N) + B == A", true},
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

// What a case of max assumes is not remembered after it.
static void test_hypotheses(Tally *tally) {
    World w = world_new();
    Facts *f = facts_new(w.table, NULL);
    check(tally, !prove(&w, f, "max(P, Q) + X/(P - Q + 1) >= X/2"), "under a hypothesis");
    check(tally, !prove(&w, f, "P - Q + 1 > 0"), "a hypothesis is gone");
    check(tally, !prove(&w, f, "P - Q >= 0"), "and so is what it was");
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

int main(void) {
    Tally tally = {0};
    test_folding(&tally);
    test_identity(&tally);
    test_cases(&tally);
    test_decoder(&tally);
    test_hypotheses(&tally);
    test_simplify(&tally);
    test_structure(&tally);
    test_limits(&tally);
    printf("%d passed, %d failed\n", tally.passed, tally.failed);
    return tally.failed != 0;
}
