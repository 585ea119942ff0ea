// Dimensions of Core's text: sums of products of numbers, symbols, `min`, `max` and parentheses;
// `/` and `%` are the floor ones. The `%` needs a space after it: `%4` is a value.
#include "core/parse.h"

static const Dim *parse_sum(Parser *p);

static const Dim *number(Parser *p, bool negative) {
    uint64_t n = parse_magnitude(p, (uint64_t)INT64_MAX + negative, "a dimension");
    return dim_const(p->core->dims, negative ? (int64_t)(0 - n) : (int64_t)n);
}

static const Dim *extreme(Parser *p, bool max) {
    DimTable *t = p->core->dims;
    parse_need(p, '(');
    const Dim *a = parse_sum(p);
    parse_need(p, ',');
    const Dim *b = parse_sum(p);
    parse_need(p, ')');
    return max ? dim_max(t, a, b) : dim_min(t, a, b);
}

static const Dim *symbol(Parser *p) {
    Span span = p->tok.span;
    Name name = parse_name(p, "a dimension");
    const char *min = session_name(p->core->session, "min");
    const char *max = session_name(p->core->session, "max");
    if ((name == min || name == max) && parse_is(p, '('))
        return extreme(p, name == max);
    const Dim *d = map_get(&p->symbols, name);
    if (!d)
        parse_fail_at(p, span, "`%s` is not among the module's dimensions", name);
    return d ? d : dim_const(p->core->dims, 0);
}

static const Dim *factor(Parser *p, bool negative) {
    if (p->tok.kind == T_INT)
        return number(p, negative);
    const Dim *d;
    if (parse_take(p, '(')) {
        d = parse_sum(p);
        parse_need(p, ')');
    } else {
        d = symbol(p);
    }
    return negative ? dim_mul(p->core->dims, dim_const(p->core->dims, -1), d) : d;
}

// The sign belongs to the first factor, so that the least integer can be written.
static const Dim *term(Parser *p, bool negative) {
    DimTable *t = p->core->dims;
    const Dim *d = factor(p, negative);
    for (;;) {
        if (parse_take(p, '*'))
            d = dim_mul(t, d, factor(p, false));
        else if (parse_take(p, '/'))
            d = dim_div(t, d, factor(p, false));
        else if (parse_take(p, '%'))
            d = dim_mod(t, d, factor(p, false));
        else
            return d;
    }
}

static const Dim *parse_sum(Parser *p) {
    DimTable *t = p->core->dims;
    if (!parse_enter(p))
        return dim_const(t, 0);
    const Dim *d = term(p, parse_take(p, '-'));
    while (parse_is(p, '+') || parse_is(p, '-')) {
        bool negative = parse_is(p, '-');
        parse_next(p);
        d = dim_add(t, d, term(p, negative));
    }
    p->depth--;
    return d;
}

const Dim *parse_dim(Parser *p) {
    Span span = p->tok.span;
    const Dim *d = parse_sum(p);
    if (!dim_valid(d))
        parse_fail_at(p, span, "this dimension leaves the range of 64 bits, or divides by zero");
    return p->failed ? dim_const(p->core->dims, 0) : d;
}
