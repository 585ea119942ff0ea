// Syntax errors: what was expected, and where to go on.
//
// A small slip (`;` at a line's end, `=` for `==`) is reported and mended in place, so that the
// rest of the file is read as it was meant. Everything else unwinds to the innermost list of
// statements, items, members or fields, and skips to the next token that surely begins one: a
// keyword, or a name at the start of a line followed by `=` or `:`. Bracket groups are skipped
// whole.
#include "grammar.h"
#include "syntax/drive.h"

static Token token_at(const Driver *d, int i) {
    return d->t.data[i < d->t.len ? i : d->t.len - 1];
}

static int open_kind(const Driver *d) {
    return d->open.len ? vec_last(&d->open).kind : 0;
}

static bool is_first(Token t) {
    return t.flags & TOKEN_FIRST;
}

static bool accepts(Driver *d, int kind) {
    return grammar_accepts(d->lemon, kind);
}

// ---- What was expected -------------------------------------------------------------------------

// Kinds named by one phrase if the first of them is acceptable.
static const struct {
    const char *phrase;
    int kinds[20]; // 0 ends; the first decides
} groups[] = {
    {"an operator",
     {TK_SLASH, TK_STAR, TK_PERCENT, TK_PLUS, TK_MINUS, TK_AND, TK_OR, TK_XOR, TK_EQEQ, TK_NE,
      TK_LT, TK_LE, TK_GT, TK_GE, TK_ANDAND, TK_OROR, TK_DOT, TK_LPAREN, TK_GENERIC}},
    {"an expression",
     {TK_FLOAT, TK_INT, TK_STRING, TK_TRUE, TK_FALSE, TK_NONE, TK_SOME, TK_NAME, TK_LPAREN,
      TK_MINUS, TK_PLUS, TK_BANG, TK_IF, TK_MATCH, TK_FOR, TK_REDUCE, TK_LBRACKET, TK_TENSOR}},
    {"a type", {TK_TENSOR, TK_NAME, TK_LPAREN, TK_LBRACKET}},
    {"a statement",
     {TK_LET, TK_VAR, TK_RETURN, TK_RETURN_VOID, TK_STATIC, TK_WHILE, TK_FOR, TK_YIELD, TK_STORE,
      TK_NAME}},
    {"a member", {TK_PARAM, TK_BUFFER, TK_STATE, TK_SUB}},
    {"an item",
     {TK_FN, TK_PUB, TK_CONST, TK_TYPE, TK_STRUCT, TK_ENUM, TK_OP, TK_KERNEL, TK_BLOCK, TK_ENTRY,
      TK_USE, TK_INFERENCE}},
    {"a name", {TK_NAME}},
};
enum { GROUPS = sizeof groups / sizeof *groups, KINDS = TK_PERCENT + 1, MOST = 4 };

typedef struct {
    bool can[KINDS];
    const char *phrases[KINDS];
    int n;
} Expected;

static void add_groups(Expected *e) {
    bool operators = e->can[TK_SLASH];
    // Words of rare forms, which would only distract.
    e->can[TK_GRAD] = e->can[TK_WARPS] = e->can[TK_STAGES] = e->can[TK_AS] = false;
    for (int g = 0; g < GROUPS; g++) {
        if (!e->can[groups[g].kinds[0]])
            continue;
        bool quiet = false;
        // After a complete operand a closer or a comma says more than "an operator".
        if (g == 0)
            quiet = e->can[TK_RPAREN] || e->can[TK_RBRACKET] || e->can[TK_COMMA];
        if (!quiet)
            e->phrases[e->n++] = groups[g].phrase;
        for (int k = 0; groups[g].kinds[k]; k++)
            e->can[groups[g].kinds[k]] = false;
    }
    if (operators)
        e->can[TK_LBRACKET] = false;
}

// "an expression or `)`"
static const char *expected_text(Driver *d) {
    Expected e = {0};
    for (int k = 1; k < KINDS; k++)
        e.can[k] = k != TK_ILLEGAL && token_text(k) && accepts(d, k);
    bool end = accepts(d, 0) && !e.can[TK_FN];
    add_groups(&e);
    for (int k = 1; k < KINDS; k++) {
        if (e.can[k])
            e.phrases[e.n++] = token_text(k);
    }
    if (end)
        e.phrases[e.n++] = token_text(0);
    StrBuf text = strbuf_new(d->p.s->arena);
    int shown = e.n < MOST ? e.n : MOST;
    for (int i = 0; i < shown; i++)
        strbuf_printf(&text, "%s%s", i == 0 ? "" : i == shown - 1 ? " or " : ", ", e.phrases[i]);
    return shown ? text.data : "nothing more";
}

static const char *found_text(Driver *d, Token t) {
    if (t.kind == 0 || t.kind == TK_STRING)
        return token_text(t.kind);
    int len = t.end - t.start;
    return arena_printf(d->p.s->arena, "`%.*s%s`", len > 40 ? 40 : len, d->p.text + t.start,
                        len > 40 ? ".." : "");
}

// The innermost bracket, if it may be what is missing here.
static void note_bracket(Driver *d, Diag *diag, Token t) {
    static const int closers[][2] = {{TK_LPAREN, TK_RPAREN},
                                     {TK_LBRACKET, TK_RBRACKET},
                                     {TK_LBRACE, TK_RBRACE},
                                     {TK_GENERIC, TK_GENERIC_END}};
    bool breaks = t.kind == 0 || t.kind == TK_RPAREN || t.kind == TK_RBRACKET ||
                  t.kind == TK_RBRACE || t.flags & TOKEN_FIRST || token_starts_statement(t.kind);
    if (open_kind(d) == TK_LBRACE)
        breaks = t.kind == 0 || token_starts_item(t.kind);
    for (int i = 0; breaks && i < 4; i++) {
        if (open_kind(d) != closers[i][0] || !accepts(d, closers[i][1]))
            continue;
        Token opener = d->t.data[vec_last(&d->open).token];
        diag_note(d->p.s, diag, token_span(&d->p, opener), "this %s is not closed",
                  token_text(closers[i][0]));
    }
}

static Diag *complain(Driver *d, Token t, DiagCode code, const char *message, const char *help) {
    Diag *diag = report(d->p.s, token_span(&d->p, t), code, "%s", message);
    if (help)
        diag_help(d->p.s, diag, "%s", help);
    return diag;
}

static void report_unexpected(Driver *d, int kind, Token t) {
    Arena *a = d->p.s->arena;
    const char *found = found_text(d, t);
    if (t.kind == TK_MODULE) {
        complain(d, t, E1102, "`module` stands only once, at the beginning of the file", NULL);
        return;
    }
    if (token_is_reserved(t.kind)) {
        complain(d, t, E1103, arena_printf(a, "%s is reserved and has no meaning yet", found),
                 NULL);
        return;
    }
    // What is missing at a line's end is shown there, not at the innocent token that follows.
    bool in_braces = open_kind(d) == TK_LBRACE && accepts(d, TK_RBRACE);
    bool closing = in_braces && (t.kind == 0 || (token_starts_item(t.kind) && is_first(t)));
    bool missing = t.kind == 0 || (is_first(t) && !in_braces && !accepts(d, TK_FN));
    Token place = t;
    if (d->at > 0 && (closing || missing))
        place.start = place.end = d->t.data[d->at - 1].end;
    const char *message =
        arena_printf(a, place.end == t.end ? "expected %s, found %s" : "expected %s before %s",
                     closing ? "`}`" : expected_text(d), found);
    Diag *diag = complain(d, place, E1101, message, hint(d, kind));
    note_bracket(d, diag, t);
}

// ---- Slips that are mended in place ------------------------------------------------------------

// Reads the token as another kind.
static bool replace(Driver *d, Token t, int kind, const char *message, const char *help) {
    complain(d, t, E1101, message, help);
    feed(d, kind, t);
    d->at++;
    return true;
}

static bool drop(Driver *d, Token t, DiagCode code, const char *message, const char *help) {
    complain(d, t, code, message, help);
    d->at++;
    return true;
}

// A separator that a list does not have: said once for each list.
static bool drop_separator(Driver *d, Token t, const char *message, const char *help) {
    int list = d->open.len ? vec_last(&d->open).token + 1 : 0;
    if (d->separated == list) {
        d->at++;
        return true;
    }
    d->separated = list;
    return drop(d, t, E1101, message, help);
}

// A keyword where a name must be: is it meant as one?
static bool meant_as_name(Driver *d, Token t) {
    int next = token_at(d, d->at + 1).kind;
    bool joins = t.kind == TK_IN || t.kind == TK_AS || t.kind == TK_WHERE || t.kind == TK_ELSE;
    if (!token_is_word(t.kind) || t.kind == TK_EXTERN || !accepts(d, TK_NAME))
        return false;
    if (accepts(d, TK_LET) || (accepts(d, TK_FN) && !accepts(d, TK_PARAM)))
        return next == TK_EQ;
    if (next == TK_COLON || next == TK_EQ || next == TK_COMMA || next == TK_RBRACKET)
        return true;
    return !is_first(t) && !joins;
}

static bool mend_word(Driver *d, Token t) {
    if (!meant_as_name(d, t))
        return false;
    const char *what = token_is_reserved(t.kind) ? "a reserved word" : "a keyword";
    const char *message =
        arena_printf(d->p.s->arena, "%s is %s and can't be a name", found_text(d, t), what);
    if (token_is(d->p.text, t, "mut") && token_at(d, d->at + 1).kind == TK_NAME)
        return drop(d, t, E1004, message, "a variable that changes is declared by `var`");
    const char *help = "choose another name";
    if (accepts(d, TK_CRATE))
        help = "a path begins with `crate`, `std` or a dependency's name";
    else if (t.kind == TK_SELF)
        help = "members are used by their bare names";
    complain(d, t, E1004, message, help);
    feed(d, TK_NAME, t);
    d->at++;
    return true;
}

static bool mend_closer(Driver *d, Token t) {
    if (t.kind != TK_RPAREN && t.kind != TK_RBRACKET && t.kind != TK_RBRACE)
        return false;
    bool loose =
        t.kind == TK_RBRACE ? d->open.len == 0 : open_kind(d) == 0 || open_kind(d) == TK_LBRACE;
    if (!loose || t.match >= 0 || accepts(d, TK_FLOAT))
        return false;
    return drop(d, t, E1101, arena_printf(d->p.s->arena, "%s closes nothing", found_text(d, t)),
                "remove it");
}

static bool mend_punctuation(Driver *d, Token t) {
    bool in_list = d->open.len == 0 || open_kind(d) == TK_LBRACE;
    switch (t.kind) {
    case TK_SEMI:
        return in_list && drop_separator(d, t, "a line does not end in `;`",
                                         "remove it, and those that follow");
    case TK_COMMA:
        return in_list && drop_separator(d, t, "no comma stands here",
                                         "remove it: statements, members, fields and arms are not "
                                         "separated");
    case TK_EQ:
        return accepts(d, TK_EQEQ) &&
               replace(d, t, TK_EQEQ, "`=` where a comparison is meant", "write `==`");
    case TK_EQEQ:
        return accepts(d, TK_EQ) &&
               replace(d, t, TK_EQ, "`==` where a value is given", "write `=`");
    case TK_FATARROW:
        return accepts(d, TK_ARROW) &&
               replace(d, t, TK_ARROW, "`=>` before a result type", "write `->`");
    case TK_ARROW:
        return accepts(d, TK_FATARROW) &&
               replace(d, t, TK_FATARROW, "`->` in an arm of a match", "write `=>`");
    case TK_COLON:
        return accepts(d, TK_SEMI) && open_kind(d) == TK_LBRACKET &&
               replace(d, t, TK_SEMI, "`:` before the last part of a type", "write `;`");
    case TK_STAR:
        return token_at(d, d->at - 1).kind == TK_STAR && d->at > 0 &&
               drop(d, t, E1101, "there is no operator `**`", "multiply, or use exp and log");
    default:
        return false;
    }
}

// `T>= e`: the closing `>` of generics took the `=` along.
static bool mend_angle(Driver *d, Token t) {
    if (t.kind != TK_GE || open_kind(d) != TK_GENERIC || !accepts(d, TK_GENERIC_END))
        return false;
    complain(d, t, E1101, "`>=` after generics is read as one token", "write `> =`");
    Token first = t, second = t;
    first.end = second.start = t.start + 1;
    feed(d, TK_GENERIC_END, first);
    if (accepts(d, TK_EQ))
        feed(d, TK_EQ, second);
    d->at++;
    return true;
}

// ---- Going on ----------------------------------------------------------------------------------

// An operand that stands first on its line, after one that ended the line before.
static bool begins_anew(const Driver *d, int i) {
    int kind = token_at(d, i).kind, before = i > 0 ? token_at(d, i - 1).kind : 0;
    bool operand = kind == TK_NAME || kind == TK_IF || kind == TK_MATCH || kind == TK_SELF;
    bool ended = before == TK_NAME || before == TK_INT || before == TK_FLOAT ||
                 before == TK_STRING || before == TK_RPAREN || before == TK_RBRACKET ||
                 before == TK_RBRACE || before == TK_TRUE || before == TK_FALSE ||
                 before == TK_NONE;
    return operand && ended;
}

// A word that begins a declaration in some other language: a mistake of its own.
static bool declares_elsewhere(const char *text, Token t) {
    static const char *const words[] = {"def", "func", "function", "class", "import", "from"};
    for (int i = 0; i < (int)(sizeof words / sizeof *words); i++) {
        if (token_is(text, t, words[i]))
            return true;
    }
    return t.kind == TK_RESERVED;
}

// Does the token at i surely begin an entry of the list, or end it?
static bool resumes(const Driver *d, const Recovery *r, int i) {
    Token t = token_at(d, i);
    int next = token_at(d, i + 1).kind;
    bool named = t.kind == TK_NAME && is_first(t);
    if (t.kind == 0 || (token_starts_item(t.kind) && is_first(t)))
        return true;
    if (t.kind == TK_RBRACE)
        return d->open.len > r->brackets;
    if (r->items && t.kind == TK_KERNEL)
        return is_first(t);
    if (r->items && named && token_is(d->p.text, t, "inference"))
        return next == TK_NAME;
    if (r->items && (named || t.kind == TK_RESERVED))
        return is_first(t) && declares_elsewhere(d->p.text, t);
    if (r->statements) {
        bool store = named && next == TK_LPAREN && is_store(d->p.text, t);
        return token_starts_statement(t.kind) || (t.kind == TK_FOR && is_first(t)) ||
               (named && next == TK_EQ) || store || (is_first(t) && begins_anew(d, i));
    }
    return r->named && named && (next == TK_EQ || next == TK_COLON);
}

static int resume_at(const Driver *d, const Recovery *r, int i) {
    if (resumes(d, r, i))
        return i;
    if (r->brackets > 0) {
        int outer = d->open.data[d->open.len - r->brackets].token;
        if (d->t.data[outer].match > i)
            i = d->t.data[outer].match + 1;
    }
    while (!resumes(d, r, i))
        i = token_at(d, i).match > i ? token_at(d, i).match + 1 : i + 1;
    return i;
}

// An item inside of statements, or the end: a `}` was forgotten. Closes what hinders it.
static void close_braces(Driver *d, int kind) {
    while (!accepts(d, kind) && open_kind(d) == TK_LBRACE && accepts(d, TK_RBRACE)) {
        Token t = token_at(d, d->at);
        t.end = t.start;
        feed(d, TK_RBRACE, t);
    }
}

static void unwind(Driver *d) {
    Recovery r = grammar_recovery(d->lemon);
    if (!r.found || d->lone) {
        d->done = true;
        return;
    }
    int at = resume_at(d, &r, d->at);
    if (at == d->at && d->failed_at == at && token_at(d, at).kind)
        at = resume_at(d, &r, at + 1);
    bool skipped = at > d->at; // then a missing `}` is an error of its own
    d->failed_at = d->at;
    grammar_unwind(d->lemon, token_at(d, d->at));
    d->open.len -= r.brackets;
    d->at = at;
    Token t = token_at(d, at);
    if (!skipped && (t.kind == 0 || (token_starts_item(t.kind) && r.statements)))
        close_braces(d, t.kind);
    if (t.kind == 0 && !skipped)
        d->done = !accepts(d, 0);
}

void handle_error(Driver *d, int kind) {
    Token t = token_at(d, d->at);
    bool repeated = d->failed_at == d->at || t.flags & TOKEN_AFTER_BAD;
    if (repeated || (t.kind == 0 && d->cut)) {
        unwind(d);
        return;
    }
    if (mend_word(d, t) || mend_closer(d, t) || mend_punctuation(d, t) || mend_angle(d, t))
        return;
    report_unexpected(d, kind, t);
    unwind(d);
}
