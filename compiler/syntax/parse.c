// The parser's driver: feeds marked tokens, settling the words and brackets whose meaning depends
// on where the parser is.
#include "grammar.h"
#include "syntax/drive.h"
#include <stdlib.h>

static int closer_of(int kind) {
    switch (kind) {
    case TK_LPAREN:
        return TK_RPAREN;
    case TK_LBRACKET:
        return TK_RBRACKET;
    case TK_LBRACE:
        return TK_RBRACE;
    case TK_GENERIC:
        return TK_GENERIC_END;
    default:
        return 0;
    }
}

void feed(Driver *d, int kind, Token t) {
    if (closer_of(kind)) {
        Open open = {d->at, kind};
        vec_push(d->p.s->arena, &d->open, open);
    } else if (d->open.len && closer_of(vec_last(&d->open).kind) == kind && kind) {
        d->open.len--;
    }
    t.kind = kind;
    if (d->fed)
        vec_push(d->p.s->arena, d->fed, t);
    Syntax(d->lemon, kind, t);
}

static int next_kind(const Driver *d) {
    int next = d->at + 1 < d->t.len ? d->at + 1 : d->at;
    return d->t.data[next].kind;
}

// Words that are keywords where the parser waits for them, and names elsewhere.
static int word_kind(Driver *d, Token t) {
    static const struct {
        const char *word;
        int kind, before; // before: the token that must follow, or 0
        bool contested;   // a name could stand there, too
    } words[] = {
        {"Tensor", TK_TENSOR, TK_LBRACKET, true}, {"grad", TK_GRAD, TK_LPAREN, false},
        {"grid", TK_GRID, TK_LPAREN, false},      {"warps", TK_WARPS, TK_LPAREN, false},
        {"stages", TK_STAGES, TK_LPAREN, false},  {"inference", TK_INFERENCE, TK_NAME, false},
    };
    if (next_kind(d) == TK_LPAREN && is_store(d->p.text, t))
        return grammar_accepts(d->lemon, TK_STORE) ? TK_STORE : TK_NAME;
    for (int i = 0; i < (int)(sizeof words / sizeof *words); i++) {
        if (next_kind(d) != words[i].before || !token_is(d->p.text, t, words[i].word))
            continue;
        if (!grammar_accepts(d->lemon, words[i].kind))
            return TK_NAME;
        bool taken = words[i].contested || !grammar_accepts(d->lemon, TK_NAME);
        return taken ? words[i].kind : TK_NAME;
    }
    return TK_NAME;
}

// A `<`: after a name it opens generics where the marks say so, and where nothing else can stand.
static int less_kind(Driver *d, Token t) {
    if (!grammar_accepts(d->lemon, TK_GENERIC))
        return TK_LT;
    bool inside = d->open.len && vec_last(&d->open).kind == TK_GENERIC;
    bool opens = inside || t.flags & TOKEN_GENERIC || !grammar_accepts(d->lemon, TK_LT);
    return opens ? TK_GENERIC : TK_LT;
}

// The kind of the next token as the grammar knows it.
static int settle(Driver *d) {
    Token t = d->t.data[d->at];
    int next = next_kind(d);
    bool leaves = next == TK_RBRACE || next == 0 || token_starts_statement(next) || next == TK_FN;
    switch (t.kind) {
    case TK_NAME:
        return word_kind(d, t);
    case TK_LT:
        return less_kind(d, t);
    case TK_GT:
        return d->open.len && vec_last(&d->open).kind == TK_GENERIC ? TK_GENERIC_END : TK_GT;
    case TK_RETURN:
        // Without a value only where no value can follow.
        return leaves ? TK_RETURN_VOID : TK_RETURN;
    default:
        return t.kind;
    }
}

// `::` in a slice is two colons with nothing between them.
static bool split_colons(Driver *d, int kind) {
    if (kind != TK_COLONCOLON || grammar_accepts(d->lemon, kind))
        return false;
    Token t = d->t.data[d->at], first = t, second = t;
    first.end = second.start = t.start + 1;
    if (!grammar_accepts(d->lemon, TK_COLON))
        return false;
    feed(d, TK_COLON, first);
    if (grammar_accepts(d->lemon, TK_COLON)) {
        feed(d, TK_COLON, second);
        d->at++;
    } else {
        handle_error(d, TK_COLON);
    }
    return true;
}

// Brackets, and reductions, whose bodies nest without any.
static bool too_nested(Driver *d, int kind) {
    bool brackets = closer_of(kind) && d->open.len >= MAX_BRACKETS;
    if (!brackets && (kind != TK_REDUCE || grammar_depth(d->lemon) < MAX_STACK))
        return false;
    Span at = token_span(&d->p, d->t.data[d->at]);
    Diag *diag =
        brackets ? report(d->p.s, at, E1101, "brackets are nested more than %d deep", MAX_BRACKETS)
                 : report(d->p.s, at, E1101, "reductions are nested too deep");
    diag_help(d->p.s, diag, "name a part of it with `let`; the rest of the file is not read");
    return d->done = true;
}

static void run(Driver *d) {
    while (!d->done && !d->p.stopped) {
        if (d->p.s->errors - d->errors >= MAX_ERRORS) {
            diag_note(d->p.s, vec_last(&d->p.s->diags), (Span){0},
                      "the rest of the file is not read after %d errors", MAX_ERRORS);
            return;
        }
        int kind = settle(d);
        if (split_colons(d, kind))
            continue;
        if (!grammar_accepts(d->lemon, kind)) {
            handle_error(d, kind);
        } else if (!too_nested(d, kind)) {
            feed(d, kind, d->t.data[d->at]);
            d->done = kind == 0;
            d->at++;
        }
    }
}

static Driver driver(Session *s, int file) {
    Driver d = {.failed_at = -1, .separated = -1};
    Module *m = NEW(s->arena, Module);
    m->file = file;
    const char *text = session_source(s, (Span){file, 0, 0})->text.ptr;
    d.p = (Parser){.s = s, .file = file, .text = text, .module = m};
    d.scratch = arena_child(s->arena);
    d.t = lex(s, d.scratch, file, &d.cut);
    mark_tokens(s, text, &d.t);
    d.errors = s->errors;
    return d;
}

static void parse(Driver *d) {
    d->lemon = SyntaxAlloc(malloc, &d->p);
    if (!d->lemon) {
        fputs("serin: out of memory\n", stderr);
        exit(3);
    }
    Token first = d->t.data[0];
    if (d->lone) {
        Syntax(d->lemon, TK_START_EXPR, first);
    } else if (first.kind != TK_MODULE) {
        if (!d->cut) {
            Diag *diag = report(d->p.s, token_span(&d->p, first), E1102,
                                "the file does not begin with its module declaration");
            diag_help(d->p.s, diag, "write `module name` first");
        }
        Syntax(d->lemon, TK_NO_MODULE, first);
    }
    run(d);
    SyntaxFree(d->lemon, free);
    arena_free(d->scratch);
}

// Lexical errors were all reported before the first syntax error: puts them in order of place.
static void sort_diags(Session *s, int from) {
    Diag **d = s->diags.data;
    for (int i = from + 1; i < s->diags.len; i++) {
        Diag *moved = d[i];
        int k = i;
        for (; k > from && d[k - 1]->span.start > moved->span.start; k--)
            d[k] = d[k - 1];
        d[k] = moved;
    }
}

Module *parse_recorded(Session *s, int file, TokenVec *fed) {
    int from = s->diags.len;
    Driver d = driver(s, file);
    d.fed = fed;
    parse(&d);
    sort_diags(s, from);
    return d.p.module;
}

Module *parse_module(Session *s, int file) {
    return parse_recorded(s, file, NULL);
}

Expr *parse_expr_text(Session *s, int file) {
    int errors = s->errors, from = s->diags.len;
    Driver d = driver(s, file);
    d.lone = true;
    parse(&d);
    sort_diags(s, from);
    return s->errors > errors ? NULL : d.p.expr;
}
