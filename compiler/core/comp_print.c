// Comprehensions as text: indices, reduction, body. Nodes used once are nested in their user,
// others get a `let`; so does what would be too long to read in place.
#include "core/print.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_NEST = 72, LINE_WIDTH = 100 };

typedef struct {
    Printer *p;
    const Comp *k;
    StrBuf *out;
    const char **index; // out + red unique names
    const char **let;   // by node: its name, or NULL if it is nested
    int *uses;          // by node: how often it is used in what the root needs
    bool *live;         // by node: the root needs it
} Body;

static const char *const default_names[] = {"i", "j", "k", "l", "m", "n",
                                            "p", "q", "r", "s", "t", "u"};

// Names that mean something else in a body.
static bool reserved(const char *name) {
    return strcmp(name, "true") == 0 || strcmp(name, "false") == 0 || strcmp(name, "nan") == 0 ||
           strcmp(name, "inf") == 0;
}

static void name_indices(Body *b) {
    int n = b->k->out + b->k->red;
    Map counts = {0};
    b->index = NEW_N(b->p->arena, const char *, n);
    for (int i = 0; i < n; i++) {
        const char *name = b->k->names ? b->k->names[i] : NULL;
        if (!name)
            name = default_names[i % (int)(sizeof default_names / sizeof default_names[0])];
        if (reserved(name))
            name = arena_printf(b->p->arena, "%s_", name);
        b->index[i] = print_unique(b->p, &counts, name);
    }
}

static bool leaf(const Node *n) {
    return n->op == N_INDEX || n->op == N_CONST || n->op == N_DIM;
}

// The operands of a node, in order; positions for a read.
static const int *operands(const Node *n, int *count) {
    *count = n->op == N_READ ? n->read_count : node_args(n->op);
    return n->op == N_READ ? n->reads : n->args;
}

static void count_uses(Body *b) {
    const Comp *k = b->k;
    if (k->root < 0 || k->root >= k->nodes.len)
        return;
    b->live[k->root] = true;
    for (int i = k->root; i >= 0; i--) {
        int count;
        const int *args = operands(&k->nodes.data[i], &count);
        for (int a = 0; b->live[i] && a < count; a++) {
            if (args[a] < 0 || args[a] >= i)
                continue;
            b->live[args[a]] = true;
            b->uses[args[a]]++;
        }
    }
}

// The next of a, b, .. z, a1, .. that is no index.
static const char *let_name(Body *b, int *number) {
    for (;;) {
        int n = (*number)++;
        const char *name = arena_printf(b->p->arena, "%c", 'a' + n % 26);
        if (n >= 26)
            name = arena_printf(b->p->arena, "%c%d", 'a' + n % 26, n / 26);
        bool taken = false;
        for (int i = 0; i < b->k->out + b->k->red; i++)
            taken = taken || strcmp(b->index[i], name) == 0;
        if (!taken)
            return name;
    }
}

// How long a node is when it is written where it is used: about, but the same in every print.
static int length_of(Body *b, const int *length, int i) {
    const Node *n = &b->k->nodes.data[i];
    if (n->op == N_INDEX && n->index >= 0 && n->index < b->k->out + b->k->red)
        return (int)strlen(b->index[n->index]);
    int count, sum = (int)strlen(node_text(n->op)) + (leaf(n) ? 4 : 2);
    const int *args = operands(n, &count);
    for (int a = 0; a < count; a++)
        sum += args[a] >= 0 && args[a] < i ? length[args[a]] + 2 : 2;
    return sum;
}

static void choose_lets(Body *b) {
    const Comp *k = b->k;
    int *length = NEW_N(b->p->arena, int, k->nodes.len);
    int number = 0;
    for (int i = 0; i < k->nodes.len && i < k->root; i++) {
        if (!b->live[i])
            continue;
        length[i] = length_of(b, length, i);
        if (leaf(&k->nodes.data[i]) || (b->uses[i] < 2 && length[i] <= LONGEST_NEST))
            continue;
        b->let[i] = let_name(b, &number);
        length[i] = 1;
    }
}

// The fewest digits that read back as the same value of the dtype.
static void print_float(StrBuf *out, Dtype t, double v) {
    char text[64];
    if (v != v) {
        strbuf_add(out, STR("nan"));
        return;
    }
    if (v - v != 0) {
        strbuf_add(out, v < 0 ? STR("-inf") : STR("inf"));
        return;
    }
    if (v < 1e15 && v > -1e15 && v == (double)(int64_t)v && v != 0) {
        strbuf_printf(out, "%lld.0", (long long)v);
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (core_round(t, strtod(text, NULL)) == v)
            break;
    }
    strbuf_add(out, str_of(text));
    if (!strpbrk(text, ".e"))
        strbuf_add(out, STR(".0"));
}

static void print_const(StrBuf *out, const Node *n) {
    if (n->dtype == DT_BOOL) {
        strbuf_add(out, n->i ? STR("true") : STR("false"));
        return;
    }
    if (dtype_is_float(n->dtype))
        print_float(out, n->dtype, n->f);
    else if (n->dtype == DT_U64)
        strbuf_printf(out, "%llu", (unsigned long long)n->i);
    else
        strbuf_printf(out, "%lld", (long long)n->i);
    if (n->dtype != DT_I64)
        strbuf_printf(out, ":%s", dtype_name(n->dtype));
}

static void print_node(Body *b, int user, int number, bool define) {
    StrBuf *out = b->out;
    if (number < 0 || number >= user) {
        strbuf_printf(out, "?%d", number);
        return;
    }
    const Node *n = &b->k->nodes.data[number];
    if (b->let[number] && !define) {
        strbuf_add(out, str_of(b->let[number]));
        return;
    }
    if (n->op == N_INDEX) {
        bool known = n->index >= 0 && n->index < b->k->out + b->k->red;
        strbuf_printf(out, "%s", known ? b->index[n->index] : "?");
        return;
    }
    if (n->op == N_CONST) {
        print_const(out, n);
        return;
    }
    strbuf_add(out, str_of(node_text(n->op)));
    if (n->op == N_CAST)
        strbuf_printf(out, ".%s", dtype_name(n->dtype));
    strbuf_char(out, '(');
    if (n->op == N_DIM)
        print_dim(b->p, out, n->dim);
    if (n->op == N_READ)
        strbuf_printf(out, "%d", n->index);
    int count;
    const int *args = operands(n, &count);
    for (int i = 0; i < count; i++) {
        if (i || n->op == N_READ)
            strbuf_add(out, STR(", "));
        print_node(b, number, args[i], false);
    }
    strbuf_char(out, ')');
}

// The body with `gap` before each part: a space, or a line's start.
static void print_body(Body *b, const char *gap) {
    for (int i = 0; i < b->k->nodes.len; i++) {
        if (!b->let[i])
            continue;
        strbuf_printf(b->out, "%slet %s = ", gap, b->let[i]);
        print_node(b, i + 1, i, true);
        strbuf_char(b->out, ';');
    }
    strbuf_add(b->out, str_of(gap));
    print_node(b, b->k->nodes.len, b->k->root, false);
}

static void print_head(Body *b) {
    const Comp *k = b->k;
    StrBuf *out = b->p->out;
    strbuf_char(out, '[');
    for (int i = 0; i < k->out; i++)
        strbuf_printf(out, "%s%s", i ? ", " : "", b->index[i]);
    strbuf_char(out, ']');
    if (k->reduction == RED_NONE && k->red == 0)
        return;
    strbuf_printf(out, " %s", reduction_text(k->reduction));
    if (k->step != STEP_PLAIN)
        strbuf_printf(out, ".%s", step_text(k->step));
    for (int i = 0; i < k->red; i++) {
        strbuf_printf(out, "%s%s < ", i ? ", " : " [", b->index[k->out + i]);
        print_dim(b->p, out, k->red_dims[i]);
    }
    strbuf_add(out, k->red ? STR("]") : STR(" []"));
}

static int column(const StrBuf *out) {
    int start = out->len;
    while (start > 0 && out->data[start - 1] != '\n')
        start--;
    return out->len - start;
}

void print_comp(Printer *p, const Comp *k, int indent) {
    StrBuf line = strbuf_new(p->arena);
    Body b = {.p = p, .k = k, .out = &line};
    b.let = NEW_N(p->arena, const char *, k->nodes.len);
    b.uses = NEW_N(p->arena, int, k->nodes.len);
    b.live = NEW_N(p->arena, bool, k->nodes.len);
    name_indices(&b);
    count_uses(&b);
    choose_lets(&b);
    print_head(&b);
    print_body(&b, " ");
    if (column(p->out) + line.len + 4 <= LINE_WIDTH) {
        strbuf_printf(p->out, " {%s }", line.data);
        return;
    }
    b.out = p->out;
    strbuf_add(p->out, STR(" {"));
    print_body(&b, arena_printf(p->arena, "\n%*s", indent + 4, ""));
    strbuf_printf(p->out, "\n%*s}", indent, "");
}
