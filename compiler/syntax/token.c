// Names of tokens, and the marks: what a bounded grammar can't see and one pass over all tokens
// can.
//
// `a < b` compares and `f<b>(x)` calls. A `<` after a name opens generics if its `>` is directly
// followed by `(`, with only types and additive expressions between them; `sum[` and `sum<T>[` are
// reductions. Candidates wait on a stack with the open brackets, so the pass is linear.
#include "syntax/token.h"
#include "grammar.h"
#include "syntax/parse.h"
#include <string.h>

static const struct {
    const char *name; // in a token dump
    const char *text; // in messages
} kinds[] = {
    [0] = {"END", "the end of the file"},
    [TK_NAME] = {"NAME", "a name"},
    [TK_INT] = {"INT", "a number"},
    [TK_FLOAT] = {"FLOAT", "a number"},
    [TK_STRING] = {"STRING", "a string"},
    [TK_MODULE] = {"MODULE", "`module`"},
    [TK_USE] = {"USE", "`use`"},
    [TK_PUB] = {"PUB", "`pub`"},
    [TK_CRATE] = {"CRATE", "`crate`"},
    [TK_SELF] = {"SELF", "`self`"},
    [TK_SUPER] = {"SUPER", "`super`"},
    [TK_AS] = {"AS", "`as`"},
    [TK_CONST] = {"CONST", "`const`"},
    [TK_TYPE] = {"TYPE", "`type`"},
    [TK_STRUCT] = {"STRUCT", "`struct`"},
    [TK_ENUM] = {"ENUM", "`enum`"},
    [TK_FN] = {"FN", "`fn`"},
    [TK_OP] = {"OP", "`op`"},
    [TK_KERNEL] = {"KERNEL", "`kernel`"},
    [TK_BLOCK] = {"BLOCK", "`block`"},
    [TK_ENTRY] = {"ENTRY", "`entry`"},
    [TK_PARAM] = {"PARAM", "`param`"},
    [TK_BUFFER] = {"BUFFER", "`buffer`"},
    [TK_STATE] = {"STATE", "`state`"},
    [TK_SUB] = {"SUB", "`sub`"},
    [TK_LET] = {"LET", "`let`"},
    [TK_VAR] = {"VAR", "`var`"},
    [TK_RETURN] = {"RETURN", "`return`"},
    [TK_RETURN_VOID] = {"RETURN_VOID", "`return`"},
    [TK_IF] = {"IF", "`if`"},
    [TK_ELSE] = {"ELSE", "`else`"},
    [TK_MATCH] = {"MATCH", "`match`"},
    [TK_STATIC] = {"STATIC", "`static`"},
    [TK_FOR] = {"FOR", "`for`"},
    [TK_IN] = {"IN", "`in`"},
    [TK_WHILE] = {"WHILE", "`while`"},
    [TK_YIELD] = {"YIELD", "`yield`"},
    [TK_WHERE] = {"WHERE", "`where`"},
    [TK_TRUE] = {"TRUE", "`true`"},
    [TK_FALSE] = {"FALSE", "`false`"},
    [TK_NONE] = {"NONE", "`none`"},
    [TK_SOME] = {"SOME", "`some`"},
    [TK_EXTERN] = {"EXTERN", "`extern`"},
    [TK_RESERVED] = {"RESERVED", "a reserved word"},
    [TK_COLONCOLON] = {"COLONCOLON", "`::`"},
    [TK_ARROW] = {"ARROW", "`->`"},
    [TK_FATARROW] = {"FATARROW", "`=>`"},
    [TK_DOTDOT] = {"DOTDOT", "`..`"},
    [TK_ELLIPSIS] = {"ELLIPSIS", "`...`"},
    [TK_EQEQ] = {"EQEQ", "`==`"},
    [TK_NE] = {"NE", "`!=`"},
    [TK_LE] = {"LE", "`<=`"},
    [TK_GE] = {"GE", "`>=`"},
    [TK_ANDAND] = {"ANDAND", "`&&`"},
    [TK_OROR] = {"OROR", "`||`"},
    [TK_LPAREN] = {"LPAREN", "`(`"},
    [TK_RPAREN] = {"RPAREN", "`)`"},
    [TK_LBRACKET] = {"LBRACKET", "`[`"},
    [TK_RBRACKET] = {"RBRACKET", "`]`"},
    [TK_LBRACE] = {"LBRACE", "`{`"},
    [TK_RBRACE] = {"RBRACE", "`}`"},
    [TK_COMMA] = {"COMMA", "`,`"},
    [TK_SEMI] = {"SEMI", "`;`"},
    [TK_COLON] = {"COLON", "`:`"},
    [TK_DOT] = {"DOT", "`.`"},
    [TK_EQ] = {"EQ", "`=`"},
    [TK_LT] = {"LT", "`<`"},
    [TK_GT] = {"GT", "`>`"},
    [TK_PLUS] = {"PLUS", "`+`"},
    [TK_MINUS] = {"MINUS", "`-`"},
    [TK_STAR] = {"STAR", "`*`"},
    [TK_SLASH] = {"SLASH", "`/`"},
    [TK_PERCENT] = {"PERCENT", "`%`"},
    [TK_AND] = {"AND", "`&`"},
    [TK_OR] = {"OR", "`|`"},
    [TK_XOR] = {"XOR", "`^`"},
    [TK_BANG] = {"BANG", "`!`"},
    [TK_QUESTION] = {"QUESTION", "`?`"},
    [TK_GENERIC] = {"GENERIC", "`<`"},
    [TK_GENERIC_END] = {"GENERIC_END", "`>`"},
    [TK_REDUCE] = {"REDUCE", "a reduction"},
    [TK_TENSOR] = {"TENSOR", "`Tensor`"},
    [TK_GRAD] = {"GRAD", "`grad`"},
    [TK_GRID] = {"GRID", "`grid`"},
    [TK_WARPS] = {"WARPS", "`warps`"},
    [TK_STAGES] = {"STAGES", "`stages`"},
    [TK_STORE] = {"STORE", "`store`"},
    [TK_INFERENCE] = {"INFERENCE", "`inference`"},
    [TK_ILLEGAL] = {"ILLEGAL", "an illegal character"},
};

// As in a token dump: "NAME", "LPAREN".
static const char *token_name(int kind) {
    return kinds[kind].name;
}

const char *token_text(int kind) {
    return kinds[kind].text;
}

bool token_is(const char *text, Token t, const char *word) {
    size_t n = strlen(word);
    return (size_t)(t.end - t.start) == n && memcmp(text + t.start, word, n) == 0;
}

bool token_starts_statement(int kind) {
    return kind == TK_LET || kind == TK_VAR || kind == TK_RETURN || kind == TK_STATIC ||
           kind == TK_WHILE || kind == TK_YIELD;
}

bool token_starts_item(int kind) {
    switch (kind) {
    case TK_MODULE:
    case TK_USE:
    case TK_PUB:
    case TK_CONST:
    case TK_TYPE:
    case TK_STRUCT:
    case TK_ENUM:
    case TK_FN:
    case TK_OP:
    case TK_BLOCK:
    case TK_ENTRY:
    case TK_PARAM:
    case TK_BUFFER:
    case TK_STATE:
    case TK_SUB:
        return true;
    default:
        return false;
    }
}

bool token_is_word(int kind) {
    return kind >= TK_MODULE && kind <= TK_RESERVED;
}

bool token_is_reserved(int kind) {
    return kind == TK_RESERVED || kind == TK_EXTERN;
}

static bool is_one_of(const char *text, Token t, const char *const *words) {
    while (*words && !token_is(text, t, *words))
        words++;
    return *words != NULL;
}

// sum, prod, max, min, any or all.
static bool is_reduction(const char *text, Token t) {
    static const char *const words[] = {"sum", "prod", "max", "min", "any", "all", NULL};
    return is_one_of(text, t, words);
}

bool is_store(const char *text, Token t) {
    static const char *const words[] = {"store", "atomic_add", "atomic_max", "atomic_min", NULL};
    return is_one_of(text, t, words);
}

// ---- Marks -------------------------------------------------------------------------------------

typedef VEC(int) IntVec;

typedef struct {
    Session *s;
    const char *text;
    Token *t;
    IntVec open; // brackets and candidate `<`, innermost last
} Marker;

static int top_kind(const Marker *m) {
    return m->open.len ? m->t[vec_last(&m->open)].kind : 0;
}

// The innermost list can't be generics after all.
static void drop_angles(Marker *m) {
    while (top_kind(m) == TK_LT)
        m->open.len--;
}

// A statement begins: nothing but braces stays open.
static void drop_to_brace(Marker *m) {
    while (m->open.len && top_kind(m) != TK_LBRACE)
        m->open.len--;
}

static void close_bracket(Marker *m, int i) {
    int kind = m->t[i].kind;
    int opener = kind == TK_RPAREN ? TK_LPAREN : kind == TK_RBRACKET ? TK_LBRACKET : TK_LBRACE;
    if (kind == TK_RBRACE)
        drop_to_brace(m);
    else
        drop_angles(m);
    if (top_kind(m) != opener && top_kind(m) != TK_LBRACE && m->open.len > 1) {
        // One forgotten closer inside: `(a[i)`.
        int under = m->open.len - 2;
        while (under > 0 && m->t[m->open.data[under]].kind == TK_LT)
            under--;
        if (m->t[m->open.data[under]].kind == opener)
            m->open.len = under + 1;
    }
    if (top_kind(m) != opener)
        return;
    int partner = m->open.data[--m->open.len];
    m->t[partner].match = i;
    m->t[i].match = partner;
}

static bool declares(const Marker *m, int i) {
    return i > 0 && (m->t[i - 1].kind == TK_LET || m->t[i - 1].kind == TK_DOT);
}

// A `>`: the end of generics if it has a `<` and a `(` follows, or the `[` of a reduction.
static void close_angle(Marker *m, int i) {
    if (top_kind(m) != TK_LT)
        return;
    int open = m->open.data[--m->open.len], next = m->t[i + 1].kind;
    Token *name = &m->t[open - 1];
    if (next == TK_LPAREN) {
        m->t[open].flags |= TOKEN_GENERIC;
    } else if (next == TK_LBRACKET && !declares(m, open - 1) && is_reduction(m->text, *name)) {
        m->t[open].flags |= TOKEN_GENERIC;
        name->kind = TK_REDUCE;
    }
}

// Can it stand in a list of types and additive expressions, right after `before`?
static bool additive(const Marker *m, int i) {
    int before = m->t[i - 1].kind;
    bool ended = before == TK_NAME || before == TK_INT || before == TK_RPAREN ||
                 before == TK_RBRACKET || before == TK_GT;
    switch (m->t[i].kind) {
    case TK_NAME:
    case TK_INT:
    case TK_FLOAT:
        return !ended;
    case TK_DOT:
    case TK_COMMA:
    case TK_PLUS:
    case TK_MINUS:
    case TK_STAR:
    case TK_SLASH:
    case TK_PERCENT:
    case TK_QUESTION:
        return true;
    default:
        return false;
    }
}

static void mark(Marker *m, int i) {
    int kind = m->t[i].kind, next = kind ? m->t[i + 1].kind : 0;
    switch (kind) {
    case TK_LPAREN:
    case TK_LBRACKET:
    case TK_LBRACE:
        if (kind == TK_LBRACE)
            drop_angles(m);
        vec_push(m->s->arena, &m->open, i);
        return;
    case TK_RPAREN:
    case TK_RBRACKET:
    case TK_RBRACE:
        close_bracket(m, i);
        return;
    case TK_LT:
        if (i > 0 && m->t[i - 1].kind == TK_NAME)
            vec_push(m->s->arena, &m->open, i);
        else
            drop_angles(m);
        return;
    case TK_GT:
        close_angle(m, i);
        return;
    case TK_NAME:
        if (next == TK_LBRACKET && !declares(m, i) && is_reduction(m->text, m->t[i]))
            m->t[i].kind = TK_REDUCE;
        break;
    default:
        break;
    }
    if (token_starts_statement(kind) || (token_starts_item(kind) && m->t[i].flags & TOKEN_FIRST))
        drop_to_brace(m);
    else if (top_kind(m) == TK_LT && !additive(m, i))
        drop_angles(m);
}

void mark_tokens(Session *s, const char *text, TokenVec *tokens) {
    Marker m = {.s = s, .text = text, .t = tokens->data};
    for (int i = 0; i < tokens->len; i++)
        mark(&m, i);
}

void dump_tokens(Session *s, int file, StrBuf *out) {
    const Source *src = session_source(s, (Span){file, 0, 0});
    bool stopped;
    TokenVec tokens = lex(s, s->arena, file, &stopped);
    mark_tokens(s, src->text.ptr, &tokens);
    for (int i = 0; i < tokens.len; i++) {
        Token t = tokens.data[i];
        int line, column;
        source_place(src, t.start, &line, &column);
        const char *name = t.flags & TOKEN_GENERIC ? "GENERIC" : token_name(t.kind);
        strbuf_printf(out, "%d:%d %s", line, column, name);
        if (t.kind)
            strbuf_printf(out, " %.*s", t.end - t.start, src->text.ptr + t.start);
        strbuf_char(out, '\n');
    }
}
