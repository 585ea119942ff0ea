// Terms as text, the way a person would write them; long ones are cut.
#include "opt/causality.h"

enum { LONGEST = 160 }; // characters of an expression in a message

static const char *infix(NodeOp op) {
    switch (op) {
    case N_ADD:
        return "+";
    case N_SUB:
        return "-";
    case N_MUL:
        return "*";
    case N_DIV:
    case N_FLOORDIV:
        return "/";
    case N_MOD:
    case N_FLOORMOD:
        return "%";
    case N_AND:
        return "&&";
    case N_OR:
        return "||";
    case N_EQ:
        return "==";
    case N_NE:
        return "!=";
    case N_LT:
        return "<";
    case N_LE:
        return "<=";
    case N_GT:
        return ">";
    case N_GE:
        return ">=";
    default:
        return NULL;
    }
}

static void print(StrBuf *out, const Term *e, int level);

static void print_list(StrBuf *out, const Term *e) {
    for (int i = 0; i < e->n; i++) {
        if (i)
            strbuf_printf(out, ", ");
        print(out, e->args[i], 0);
    }
}

static void print_const(StrBuf *out, const Term *e) {
    if (dtype_is_float(e->dtype))
        strbuf_printf(out, "%g", e->f);
    else if (e->dtype == DT_BOOL)
        strbuf_printf(out, "%s", e->i ? "true" : "false");
    else
        strbuf_printf(out, "%lld", (long long)e->i);
}

static void print_read(StrBuf *out, const Term *e) {
    strbuf_printf(out, "%s", e->value->name ? e->value->name : "value");
    if (!e->n)
        return;
    strbuf_char(out, '[');
    print_list(out, e);
    strbuf_char(out, ']');
}

// level: 0 outermost, 1 as an operand.
static void print(StrBuf *out, const Term *e, int level) {
    if (out->len > LONGEST)
        return;
    const char *sign = infix(e->op);
    if (e->op == N_INDEX) {
        strbuf_printf(out, "%s", e->var->name ? e->var->name : "i");
    } else if (e->op == N_CONST) {
        print_const(out, e);
    } else if (e->op == N_DIM) {
        dim_print(out, e->dim);
    } else if (e->op == N_READ) {
        print_read(out, e);
    } else if (e->op == N_CAST) {
        print(out, e->args[0], level);
    } else if (sign) {
        if (level)
            strbuf_char(out, '(');
        print(out, e->args[0], 1);
        strbuf_printf(out, " %s ", sign);
        print(out, e->args[1], 1);
        if (level)
            strbuf_char(out, ')');
    } else {
        strbuf_printf(out, "%s(", node_text(e->op));
        print_list(out, e);
        strbuf_char(out, ')');
    }
}

static void term_print(StrBuf *out, const Term *e) {
    StrBuf b = strbuf_new(out->arena);
    print(&b, e, 0);
    if (b.len > LONGEST)
        strbuf_printf(out, "%.*s ..", LONGEST, b.data);
    else
        strbuf_add(out, (Str){b.data, b.len});
}

const char *term_text(Arena *a, const Term *e) {
    StrBuf b = strbuf_new(a);
    term_print(&b, e);
    return b.data;
}
