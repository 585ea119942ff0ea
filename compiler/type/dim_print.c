// Dimensions as source text. Parsing the text again gives the same dimension.
#include "type/dim_impl.h"
#include <inttypes.h>

static void print_var(StrBuf *b, const Var *v);

static void print_parens(StrBuf *b, const Dim *d) {
    strbuf_char(b, '(');
    dim_print(b, d);
    strbuf_char(b, ')');
}

static bool infix(const Var *v) {
    return v->kind == VAR_DIV || v->kind == VAR_MOD || v->kind == VAR_QUOTIENT;
}

// An operand that can't be torn apart by the operators around it.
static bool whole(const Dim *d) {
    int64_t value;
    return dim_is_const(d, &value) ? value >= 0 : d->var && !infix(d->var);
}

static void print_operand(StrBuf *b, const Dim *d, bool product) {
    // B*H/N is (B*H)/N; a factor that is itself a quotient has its own parentheses.
    bool bare = product && d->p.n == 1 && d->p.terms[0].c > 0 && !(d->var && infix(d->var));
    if (whole(d) || bare)
        dim_print(b, d);
    else
        print_parens(b, d);
}

static void print_call(StrBuf *b, const Var *v) {
    strbuf_add(b, v->kind == VAR_MIN ? STR("min(") : STR("max("));
    dim_print(b, v->a);
    strbuf_add(b, STR(", "));
    dim_print(b, v->b);
    strbuf_char(b, ')');
}

static void print_var(StrBuf *b, const Var *v) {
    if (v->kind == VAR_SYMBOL) {
        strbuf_add(b, str_of(v->name));
    } else if (infix(v)) {
        print_operand(b, v->a, v->kind != VAR_MOD);
        strbuf_add(b, v->kind == VAR_MOD ? STR(" % ") : STR("/"));
        print_operand(b, v->b, false);
    } else {
        print_call(b, v);
    }
}

static void print_term(StrBuf *b, Term term, bool first) {
    bool negative = term.c < 0;
    uint64_t c = negative ? 0 - (uint64_t)term.c : (uint64_t)term.c;
    if (first)
        strbuf_add(b, negative ? STR("-") : STR(""));
    else
        strbuf_add(b, negative ? STR(" - ") : STR(" + "));
    bool counted = c != 1 || term.m->degree == 0;
    if (counted)
        strbuf_printf(b, "%" PRIu64, c);
    // -(H/2) is not (-H)/2
    bool alone = !counted && term.m->degree == 1 && !(first && negative);
    for (int i = 0; i < term.m->degree; i++) {
        const Var *v = term.m->factors[i];
        if (counted || i > 0)
            strbuf_char(b, '*');
        if (infix(v) && !alone)
            print_parens(b, v->self);
        else
            print_var(b, v);
    }
}

void dim_print(StrBuf *b, const Dim *d) {
    int lead = 0; // a positive term first: K - Q, not -Q + K
    if (d->p.n <= 0) {
        strbuf_add(b, d->p.n ? STR("invalid") : STR("0"));
        return;
    }
    while (lead < d->p.n && d->p.terms[lead].c < 0)
        lead++;
    if (lead == d->p.n)
        lead = 0;
    print_term(b, d->p.terms[lead], true);
    for (int i = 0; i < d->p.n; i++) {
        if (i != lead)
            print_term(b, d->p.terms[i], false);
    }
}

const char *dim_text(Arena *a, const Dim *d) {
    StrBuf b = strbuf_new(a);
    dim_print(&b, d);
    return b.data;
}

const char *relation_text(Relation rel) {
    static const char *const texts[] = {"==", "!=", "<", "<=", ">", ">="};
    return texts[rel];
}
