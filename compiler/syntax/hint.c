// Habits of other languages, and what is written here instead.
#include "grammar.h"
#include "syntax/drive.h"

// Around the error: what stands there, and what the parser would take.
typedef struct {
    Driver *d;
    Token before, prev, here, next;
    bool operand;   // an expression has just ended: an operator could follow
    bool value;     // an expression is expected
    bool statement; // a statement could begin
    bool assigns;   // only the `=` of an assignment
} Scene;

static bool takes(const Scene *s, int kind) {
    return grammar_accepts(s->d->lemon, kind);
}

static Scene scene(Driver *d, int kind) {
    int at = d->at;
    Scene s = {.d = d, .here = d->t.data[at]};
    s.here.kind = kind;
    s.prev = at > 0 ? d->t.data[at - 1] : (Token){0};
    s.before = at > 1 ? d->t.data[at - 2] : (Token){0};
    s.next = at + 1 < d->t.len ? d->t.data[at + 1] : (Token){0};
    s.operand = takes(&s, TK_SLASH);
    s.value = takes(&s, TK_FLOAT);
    s.statement = takes(&s, TK_LET);
    s.assigns = takes(&s, TK_EQ) && s.prev.kind == TK_NAME && !takes(&s, TK_COLON) &&
                !takes(&s, TK_GENERIC);
    return s;
}

// Words that mean nothing here, where a reader of another language would expect them to.
static const char *word_hint(const Scene *s, Token t) {
    static const char *const words[][2] = {
        {"def", "a function is declared by `fn`"},
        {"func", "a function is declared by `fn`"},
        {"function", "a function is declared by `fn`"},
        {"class", "a model with parameters is a `block`, a record is a `struct`"},
        {"import", "names of other modules come by `use path::{name}`"},
        {"from", "names of other modules come by `use path::{name}`"},
        {"include", "names of other modules come by `use path::{name}`"},
        {"elif", "write `else { if ... }`"},
        {"and", "write `&&`, on tensors `&`"},
        {"or", "write `||`, on tensors `|`"},
        {"not", "write `!`, on tensors `^ true`"},
        {"lambda", "there are no function values; declare a `fn`"},
        {"pass", "an empty body is `{ }`"},
        {"print", "programs print nothing; return the value"},
        {"assert", "what must hold of dimensions is stated by `where`"},
        {"raise", "what must hold of dimensions is stated by `where`"},
        {"with", "bring names in by `use`, name values by `let`"},
        {"do", "a body stands in `{ }`"},
        {"then", "write `if c { a } else { b }`"},
    };
    for (int i = 0; i < (int)(sizeof words / sizeof *words); i++) {
        if (t.kind == TK_NAME && token_is(s->d->p.text, t, words[i][0]))
            return words[i][1];
    }
    return NULL;
}

// After `name` at the start of a statement.
static const char *assign_hint(const Scene *s) {
    switch (s->here.kind) {
    case TK_PLUS:
    case TK_MINUS:
    case TK_STAR:
    case TK_SLASH:
    case TK_PERCENT:
        return s->next.kind == TK_EQ ? "write `x = x + y`" : NULL;
    case TK_LPAREN:
    case TK_GENERIC:
    case TK_LT:
        return "a call alone does nothing: name its value, `let y = f(x)`, or `let _ = f(x)`";
    case TK_LBRACKET:
        return "elements are not assigned: build the whole value, `let y[i, j] = ...`";
    case TK_DOT:
        return "only a `var`, or a `state` of this block, is assigned, by its bare name";
    case TK_COLON:
        return "declare it: `let x: type = value`";
    default:
        return NULL;
    }
}

// After a complete operand.
static const char *operand_hint(const Scene *s) {
    switch (s->here.kind) {
    case TK_QUESTION:
        return "a choice is `if c { a } else { b }`; on tensors `select(c, a, b)`";
    case TK_COLONCOLON:
        return "bring the name in by `use path::{name}` and write it bare";
    case TK_LBRACE:
        if (takes(s, TK_DOTDOT))
            return "a loop is `for i in a..b { ... }`";
        return s->prev.kind == TK_NAME && !takes(s, TK_COMMA)
                   ? "a struct is built by a call with named arguments: `Point(x = 1, y = 2)`"
                   : NULL;
    case TK_COLON:
        return takes(s, TK_DOTDOT) ? "a loop is `for i in a..b { ... }`" : NULL;
    case TK_DOTDOT:
        return "a range stands only in a `for`; a slice is written `a:b`";
    case TK_RBRACKET:
        return takes(s, TK_SEMI) ? "a tensor type ends with its dtype: `Tensor[B, S; f32]`" : NULL;
    case TK_BANG:
        return "negation stands before its operand; `!=` compares";
    default:
        return NULL;
    }
}

static const char *value_hint(const Scene *s) {
    bool sign = s->prev.kind == TK_MINUS || s->prev.kind == TK_PLUS || s->prev.kind == TK_BANG;
    switch (s->here.kind) {
    case TK_LBRACKET:
        return "a list in brackets is a shape, and only an argument: `reshape(x, [B, S])`";
    case TK_COLON:
    case TK_DOTDOT:
    case TK_ELLIPSIS:
        return NULL;
    case TK_LET:
    case TK_VAR:
    case TK_RETURN:
    case TK_RETURN_VOID:
    case TK_WHILE:
        return s->prev.kind == TK_LBRACE ? "these braces hold one expression, and no statement"
                                         : NULL;
    default:
        return NULL;
    case TK_MINUS:
    case TK_PLUS:
    case TK_BANG:
        return sign ? "an operand has one sign at most: `-(-x)`" : NULL;
    }
}

static const char *statement_hint(const Scene *s) {
    switch (s->here.kind) {
    case TK_IF:
        return "`if` is an expression: `x = if c { a } else { b }`";
    case TK_MATCH:
        return "`match` is an expression: `x = match y { ... }`";
    case TK_ELSE:
        return "an `if` and its `else` hold one expression each, in braces";
    case TK_SELF:
        return "members are used by their bare names";
    case TK_FN:
    case TK_OP:
    case TK_ENTRY:
    case TK_PUB:
        return "add `}` before it: functions are not nested";
    default:
        return NULL;
    }
}

static bool is_member_word(int kind) {
    return kind == TK_PARAM || kind == TK_BUFFER || kind == TK_STATE || kind == TK_SUB;
}

static const char *place_hint(const Scene *s) {
    int kind = s->here.kind;
    if (kind == TK_IF && s->prev.kind == TK_ELSE)
        return "write `else { if ... }`";
    if (takes(s, TK_ELSE))
        return "an `if` is an expression and always has its `else { ... }`";
    if (is_member_word(kind) && s->prev.kind == TK_PUB)
        return "members take no `pub`: the enclosing block may read them as they are";
    if (is_member_word(kind) && takes(s, TK_FN) && !takes(s, TK_PARAM))
        return "members stand in a `block`";
    if (kind == TK_SELF)
        return "members are used by their bare names";
    if (kind == TK_DOT && takes(s, TK_FATARROW))
        return "a variant stands alone in an arm: `Causal => ...`";
    if (kind == TK_LPAREN && takes(s, TK_SOME) && !s->value)
        return "an arm's pattern is a name, `some(..)` or `none`";
    if (kind == TK_COLON && takes(s, TK_LBRACE))
        return "a body stands in `{ }`";
    if ((kind == TK_NAME || kind == TK_TENSOR) && takes(s, TK_COLON) && s->prev.kind == TK_NAME)
        return "write `name: type`";
    if (kind == TK_COLONCOLON && !s->operand)
        return "modules are joined by `.`; `::` stands once, before the names";
    if ((kind == TK_CRATE || kind == TK_SUPER) && takes(s, TK_NAME))
        return "a path begins with `crate`, `std` or a dependency's name";
    return NULL;
}

const char *hint(Driver *d, int kind) {
    Scene s = scene(d, kind);
    const char *text = word_hint(&s, s.here);
    if (!text && s.assigns)
        text = word_hint(&s, s.prev);
    if (!text && s.assigns)
        text = word_hint(&s, s.before);
    if (!text && s.assigns)
        text = assign_hint(&s);
    if (!text)
        text = place_hint(&s);
    if (!text && s.operand)
        text = operand_hint(&s);
    if (!text && s.value)
        text = value_hint(&s);
    if (!text && s.statement)
        text = statement_hint(&s);
    return text;
}
