// Comprehensions of Core's text. Nodes are made as they are written; only leaves are shared.
#include "core/parse.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    Parser *p;
    Comp *k;
    int n;                         // arguments of the value
    const Val *args;               // the arguments
    Map names;                     // Name as printed -> number of the node + 1, of indices and lets
    Name index[2 * CORE_MAX_RANK]; // names of the indices, without numbers
} Body;

static int expression(Body *b);

static bool node_find(const Token *t, NodeOp *op) {
    for (int i = N_CAST; i < NODE_COUNT; i++) {
        if (str_eq(t->text, str_of(node_text((NodeOp)i)))) {
            *op = (NodeOp)i;
            return true;
        }
    }
    return false;
}

static int append(Body *b, Node n) {
    if (b->k->nodes.len >= MOST_NODES) {
        parse_fail(b->p, "more than %d nodes in a body", MOST_NODES);
        return 0;
    }
    return comp_append(b->p->core, b->k, n);
}

// ---- Constants ---------------------------------------------------------------------------------

static Dtype dtype_after_colon(Parser *p, Dtype without) {
    Dtype t = without;
    if (!parse_take(p, ':'))
        return t;
    if (p->tok.kind != T_WORD || !dtype_find(parse_name(p, "a dtype"), &t))
        parse_fail(p, "expected a dtype after `:`");
    return t;
}

// Sharing looks through all nodes, so it is done in short bodies only.
static int add_const(Body *b, Dtype t, int64_t i, double f) {
    bool few = b->k->nodes.len < 256;
    if (dtype_is_float(t) && few)
        return comp_const_float(b->p->core, b->k, t, f);
    if (few)
        return comp_const_int(b->p->core, b->k, t, i);
    Node n = {.op = N_CONST, .dtype = t};
    if (dtype_is_float(t))
        n.f = core_round(t, f);
    else
        n.i = i;
    return append(b, n);
}

static int float_const(Body *b, bool negative) {
    Parser *p = b->p;
    double v = 0;
    if (parse_is_word(p, "nan"))
        v = (double)__builtin_nanf("");
    else if (parse_is_word(p, "inf"))
        v = (double)__builtin_inff();
    else
        v = strtod(arena_copy(p->scratch, p->tok.text.ptr, (size_t)p->tok.text.len), NULL);
    parse_next(p);
    Span span = p->tok.span;
    Dtype t = dtype_after_colon(p, DT_F64);
    if (!dtype_is_float(t))
        parse_fail_at(p, span, "a number with a point is of a float dtype");
    return p->failed ? 0 : add_const(b, t, 0, negative ? -v : v);
}

static int int_const(Body *b, bool negative) {
    Parser *p = b->p;
    Span span = p->tok.span;
    uint64_t n = parse_magnitude(p, UINT64_MAX, "a number");
    Dtype t = dtype_after_colon(p, DT_I64);
    int64_t value = (int64_t)(negative ? 0 - n : n);
    bool fits = t == DT_U64 ? !negative || !n
                            : n <= (uint64_t)INT64_MAX + negative && core_wrap(t, value) == value;
    if (dtype_is_float(t))
        parse_fail_at(p, span, "a float needs a point: `%llu.0`", (unsigned long long)n);
    else if (!fits)
        parse_fail_at(p, span, "the number is not one of %s", dtype_name(t));
    return p->failed ? 0 : add_const(b, t, value, 0);
}

// ---- Expressions -------------------------------------------------------------------------------

static int dim_node(Body *b) {
    const Dim *d = parse_dim(b->p);
    parse_need(b->p, ')');
    if (b->p->failed)
        return 0;
    if (dim_is_const(d, NULL) || b->k->nodes.len >= 256)
        return append(b, (Node){.op = N_DIM, .dtype = DT_I64, .dim = d});
    return comp_dim(b->p->core, b->k, d);
}

static int read_node(Body *b) {
    Parser *p = b->p;
    Span span = p->tok.span;
    int arg = (int)parse_magnitude(p, INT32_MAX, "the number of an argument");
    int positions[CORE_MAX_RANK], n = 0;
    while (parse_take(p, ',')) {
        if (n == CORE_MAX_RANK) {
            parse_fail(p, "more than %d positions", CORE_MAX_RANK);
            return 0;
        }
        positions[n++] = expression(b);
    }
    parse_need(p, ')');
    if (!p->failed && arg >= b->n)
        parse_fail_at(p, span, "there is no argument %d", arg);
    if (p->failed)
        return 0;
    const CoreType *t = core_value(p->fn, b->args[arg])->type;
    Dtype dtype = t->kind == CORE_TENSOR ? t->dtype : DT_I64;
    Node node = {.op = N_READ, .dtype = dtype, .index = arg, .read_count = n};
    if (n)
        node.reads = arena_copy(p->core->session->arena, positions, sizeof(int) * (size_t)n);
    return append(b, node);
}

static int operation(Body *b, NodeOp op, Dtype cast_to) {
    Node n = {.op = op};
    int count = node_args(op);
    for (int i = 0; i < count; i++) {
        if (i)
            parse_need(b->p, ',');
        n.args[i] = expression(b);
    }
    parse_need(b->p, ')');
    if (b->p->failed)
        return 0;
    n.dtype = b->k->nodes.data[n.args[op == N_SELECT]].dtype;
    if (op == N_CAST)
        n.dtype = cast_to;
    if (node_class(op) == 'C')
        n.dtype = DT_BOOL;
    return append(b, n);
}

// What follows `name(`.
static int call(Body *b, const Token *name, Dtype cast_to) {
    NodeOp op;
    if (str_eq(name->text, STR("dim")))
        return dim_node(b);
    if (str_eq(name->text, STR("read")))
        return read_node(b);
    if (node_find(name, &op))
        return operation(b, op, cast_to);
    parse_fail_at(b->p, name->span, "there is no operation `%.*s`", STR_ARG(name->text));
    return 0;
}

static int named(Body *b) {
    Parser *p = b->p;
    Token word = p->tok;
    Name name = parse_name(p, "an expression");
    if (strcmp(name, "true") == 0 || strcmp(name, "false") == 0)
        return add_const(b, DT_BOOL, name[0] == 't', 0);
    if (strcmp(name, "cast") == 0 && parse_take(p, '.')) {
        Dtype t = DT_F32;
        if (p->tok.kind != T_WORD || !dtype_find(parse_name(p, "a dtype"), &t))
            parse_fail(p, "expected a dtype after `cast.`");
        parse_need(p, '(');
        return call(b, &word, t);
    }
    if (strcmp(name, "cast") != 0 && parse_take(p, '('))
        return call(b, &word, DT_F32);
    uintptr_t node = (uintptr_t)map_get(&b->names, name);
    if (!node)
        parse_fail_at(p, word.span, "`%s` is no index and no `let` of this body", name);
    return node ? (int)node - 1 : 0;
}

static int expression(Body *b) {
    Parser *p = b->p;
    if (!parse_enter(p))
        return 0;
    int node;
    bool negative = parse_take(p, '-');
    if (p->tok.kind == T_INT)
        node = int_const(b, negative);
    else if (p->tok.kind == T_FLOAT || parse_is_word(p, "nan") || parse_is_word(p, "inf"))
        node = float_const(b, negative);
    else if (negative)
        parse_fail(p, "expected a number after `-`"), node = 0;
    else
        node = named(b);
    p->depth--;
    return node;
}

// ---- Indices, reductions, bodies ---------------------------------------------------------------

static void put_name(Body *b, Span span, Name name, int node) {
    if (map_has(&b->names, name))
        parse_fail_at(b->p, span, "`%s` is named twice in this body", name);
    map_put(b->p->scratch, &b->names, name, (void *)((uintptr_t)node + 1));
}

static void add_index(Body *b, int *count) {
    Parser *p = b->p;
    if (*count == CORE_MAX_RANK) {
        parse_fail(p, "more than %d indices", CORE_MAX_RANK);
        return;
    }
    Span span = p->tok.span;
    Name name = parse_name(p, "an index");
    if (p->failed)
        return;
    int n = b->k->out + b->k->red;
    b->index[n] = parse_base(p, name);
    ++*count;
    put_name(b, span, name, comp_index(p->core, b->k, n));
}

static void reduction(Body *b) {
    Parser *p = b->p;
    Comp *k = b->k;
    Token word = p->tok;
    Str base = word.text;
    for (int r = RED_SUM; r <= RED_ALL; r++) {
        if (str_eq(base, str_of(reduction_text((Reduction)r))))
            k->reduction = (Reduction)r;
    }
    if (k->reduction == RED_NONE)
        parse_fail(p, "expected `{` or a reduction");
    parse_next(p);
    if (parse_take(p, '.')) {
        for (int s = STEP_ADD; s <= STEP_PAIRS; s++) {
            if (parse_is_word(p, step_text((Step)s)))
                k->step = (Step)s;
        }
        if (k->step == STEP_PLAIN)
            parse_fail(p, "expected `add`, `fma` or `pairs`");
        parse_next(p);
    }
    parse_need(p, '[');
    k->red_dims = NEW_N(p->core->session->arena, const Dim *, CORE_MAX_RANK);
    while (!p->failed && !parse_is(p, ']')) {
        add_index(b, &k->red);
        parse_need(p, '<');
        const Dim *extent = parse_dim(p);
        if (!p->failed)
            k->red_dims[k->red - 1] = extent;
        if (!parse_take(p, ','))
            break;
    }
    parse_need(p, ']');
}

static void body(Body *b) {
    Parser *p = b->p;
    parse_need(p, '{');
    while (parse_is_word(p, "let")) {
        Parser before = *p;
        parse_next(p);
        if (p->failed)
            return;
        if (p->tok.kind != T_WORD) { // an index of that name
            *p = before;
            break;
        }
        Span span = p->tok.span;
        Name name = parse_name(p, "a name");
        parse_need(p, '=');
        int node = expression(b);
        parse_need(p, ';');
        if (p->failed)
            return;
        put_name(b, span, name, node);
    }
    b->k->root = expression(b);
    parse_need(p, '}');
}

Comp *parse_comp(Parser *p, int n, const Val *args) {
    Comp *k = NEW(p->core->session->arena, Comp);
    Body b = {.p = p, .k = k, .n = n, .args = args};
    parse_need(p, '[');
    while (!p->failed && !parse_is(p, ']')) {
        add_index(&b, &k->out);
        if (!parse_take(p, ','))
            break;
    }
    parse_need(p, ']');
    if (p->tok.kind == T_WORD)
        reduction(&b);
    body(&b);
    int count = k->out + k->red;
    k->names = NEW_N(p->core->session->arena, Name, count);
    memcpy(k->names, b.index, sizeof(Name) * (size_t)count);
    return p->failed ? NULL : k;
}
