// Dimensions in Core's text. Unlike dim_print the order of terms does not depend on the order in
// which symbols were made, so that a module that was read back prints the same.
#include "core/print.h"
#include <string.h>

typedef struct {
    const char *text; // without sign
    bool negative;
    int degree; // number of factors
} Term;

static bool is_symbol_name(const Dim *d) {
    const Dim *a, *b;
    AtomKind kind = dim_atom(d, &a, &b);
    return dim_is_symbol(d) || kind == ATOM_MIN || kind == ATOM_MAX;
}

static const char *text_of(Printer *p, const Dim *d) {
    StrBuf b = strbuf_new(p->arena);
    print_dim(p, &b, d);
    return b.data;
}

// As an operand of `/` and `%`: in parentheses unless it is a name, a call or a number.
static const char *operand(Printer *p, const Dim *d) {
    int64_t value;
    const char *text = text_of(p, d);
    if (is_symbol_name(d) || (dim_is_const(d, &value) && value >= 0))
        return text;
    return arena_printf(p->arena, "(%s)", text);
}

// Constants last, then by text.
static bool swapped(const Dim *a, const char *ta, const Dim *b, const char *tb) {
    bool ca = dim_is_const(a, NULL), cb = dim_is_const(b, NULL);
    return ca != cb ? ca : strcmp(ta, tb) > 0;
}

static const char *atom_text(Printer *p, AtomKind kind, const Dim *a, const Dim *b) {
    if (kind == ATOM_DIV)
        return arena_printf(p->arena, "%s/%s", operand(p, a), operand(p, b));
    if (kind == ATOM_MOD)
        return arena_printf(p->arena, "%s %% %s", operand(p, a), operand(p, b));
    const char *name = kind == ATOM_MIN ? "min" : "max", *ta = text_of(p, a), *tb = text_of(p, b);
    if (swapped(a, ta, b, tb))
        return arena_printf(p->arena, "%s(%s, %s)", name, tb, ta);
    return arena_printf(p->arena, "%s(%s, %s)", name, ta, tb);
}

static const char *factor_text(Printer *p, const Dim *d, bool alone) {
    const Dim *a, *b;
    AtomKind kind = dim_atom(d, &a, &b);
    if (kind == ATOM_NONE) {
        const char *name = map_get(&p->symbols, d);
        return name ? name : print_identifier(p->arena, dim_name(d));
    }
    const char *text = atom_text(p, kind, a, b);
    bool bare = alone || kind == ATOM_MIN || kind == ATOM_MAX;
    return bare ? text : arena_printf(p->arena, "(%s)", text);
}

static void sort_texts(const char **texts, int n) {
    for (int i = 1; i < n; i++) {
        const char *t = texts[i];
        int k = i;
        for (; k > 0 && strcmp(texts[k - 1], t) > 0; k--)
            texts[k] = texts[k - 1];
        texts[k] = t;
    }
}

static Term term_of(Printer *p, const Dim *d, int i, bool only) {
    int64_t c = dim_coefficient(d, i);
    uint64_t magnitude = c < 0 ? -(uint64_t)c : (uint64_t)c;
    int n = dim_factors(d, i);
    Term t = {.negative = c < 0, .degree = n};
    StrBuf b = strbuf_new(p->arena);
    if (magnitude != 1 || n == 0)
        strbuf_printf(&b, "%llu", (unsigned long long)magnitude);
    const char **texts = NEW_N(p->arena, const char *, n);
    for (int k = 0; k < n; k++)
        texts[k] = factor_text(p, dim_factor(d, i, k), only && n == 1 && c == 1);
    sort_texts(texts, n);
    for (int k = 0; k < n; k++)
        strbuf_printf(&b, "%s%s", b.len ? "*" : "", texts[k]);
    t.text = b.data;
    return t;
}

static bool before(const Term *a, const Term *b) {
    if (a->degree != b->degree)
        return a->degree > b->degree;
    if (a->negative != b->negative)
        return b->negative;
    return strcmp(a->text, b->text) < 0;
}

void print_dim(Printer *p, StrBuf *out, const Dim *d) {
    if (!d || !dim_valid(d)) {
        strbuf_add(out, STR("invalid"));
        return;
    }
    int n = dim_terms(d);
    if (n == 0)
        strbuf_char(out, '0');
    Term *terms = NEW_N(p->arena, Term, n);
    for (int i = 0; i < n; i++) {
        Term t = term_of(p, d, i, n == 1);
        int k = i;
        for (; k > 0 && before(&t, &terms[k - 1]); k--)
            terms[k] = terms[k - 1];
        terms[k] = t;
    }
    for (int i = 0; i < n; i++) {
        const char *sign = terms[i].negative ? (i ? " - " : "-") : (i ? " + " : "");
        strbuf_printf(out, "%s%s", sign, terms[i].text);
    }
}
