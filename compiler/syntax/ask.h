// What the driver asks of the generated parser (declared in drive.h): grammar.y includes this at
// its end, where Lemon's tables and stack are in sight. Nothing else may.
enum { PUSHED = 64 }; // states a look ahead can push; the grammar needs a handful

// The stack after the reductions that a look ahead would cause: what is left of the real one, and
// the states pushed on it.
typedef struct {
    const yyStackEntry *base;
    YYACTIONTYPE pushed[PUSHED];
    int n;
} Replay;

static YYACTIONTYPE replay_top(const Replay *r) {
    return r->n ? r->pushed[r->n - 1] : r->base->stateno;
}

// Plays those reductions on a copy; the action that follows them.
static YYACTIONTYPE replay(const yyParser *real, int kind, Replay *r) {
    r->base = real->yytos;
    r->n = 0;
    for (;;) {
        YYACTIONTYPE act = yy_find_shift_action((YYCODETYPE)kind, replay_top(r));
        if (act < YY_MIN_REDUCE)
            return act;
        int rule = act - YY_MIN_REDUCE, pop = -yyRuleInfoNRhs[rule];
        int pushed = pop < r->n ? pop : r->n;
        r->n -= pushed;
        r->base -= pop - pushed;
        if (r->n == PUSHED || r->base < real->yystack)
            return YY_ERROR_ACTION;
        r->pushed[r->n] = yy_find_reduce_action(replay_top(r), yyRuleInfoLhs[rule]);
        r->n++;
    }
}

bool grammar_accepts(void *parser, int kind) {
    Replay r;
    YYACTIONTYPE act = replay(parser, kind, &r);
    return act <= YY_MAX_SHIFTREDUCE || act == YY_ACCEPT_ACTION;
}

static bool shifts(YYACTIONTYPE state, int kind) {
    return yy_find_shift_action((YYCODETYPE)kind, state) <= YY_MAX_SHIFTREDUCE;
}

// Can the state go on after an error? Then says what it can go on with.
static bool recovers(YYACTIONTYPE state, Recovery *r) {
    if (state > YY_MAX_SHIFT || yy_find_reduce_action(state, YYERRORSYMBOL) > YY_MAX_SHIFTREDUCE)
        return false;
    r->found = true;
    r->items = shifts(state, TK_FN);
    r->members = shifts(state, TK_PARAM);
    r->statements = shifts(state, TK_LET);
    r->named = shifts(state, TK_NAME);
    return true;
}

static int bracket_count(int kind) {
    switch (kind) {
    case TK_LPAREN:
    case TK_LBRACKET:
    case TK_LBRACE:
    case TK_GENERIC:
        return 1;
    case TK_RPAREN:
    case TK_RBRACKET:
    case TK_RBRACE:
    case TK_GENERIC_END:
        return -1;
    default:
        return 0;
    }
}

Recovery grammar_recovery(void *parser) {
    const yyParser *real = parser;
    Recovery r = {0};
    Replay sync;
    replay(real, TK_SYNC, &sync);
    for (int i = sync.n; i > 0; i--) {
        if (recovers(sync.pushed[i - 1], &r))
            return r;
    }
    for (const yyStackEntry *e = sync.base; e > real->yystack; e--) {
        if (recovers(e->stateno, &r))
            return r;
        r.brackets += bracket_count(e->major);
    }
    return r;
}

int grammar_depth(void *parser) {
    const yyParser *real = parser;
    return (int)(real->yytos - real->yystack);
}

void grammar_unwind(void *parser, Token at) {
    Syntax(parser, TK_SYNC, at);
    ((yyParser *)parser)->yyerrcnt = -1;
}
