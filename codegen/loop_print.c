// The dump of Loop IR: one line a statement, so that a reader sees loops, memory and calls.
#include "codegen/c_text.h"
#include <stdio.h>

static void print_type(const LoopModule *m, StrBuf *out, LoopType t) {
    if (t.block) {
        strbuf_printf(out, "@%s", loop_block(m, t.block) ? t.block->label : "?");
        return;
    }
    strbuf_printf(out, "%s%s", dtype_name(t.dtype), t.pointer ? "*" : "");
}

static void print_stmts(const LoopModule *m, StrBuf *out, int indent, const Stmts *list);

static void print_stmt(const LoopModule *m, StrBuf *out, int indent, const Stmt *s) {
    const char *value = s->value ? c_expr(m, s->value) : "";
    if (s->op == S_BLANK)
        return;
    strbuf_printf(out, "%*s", 4 * indent, "");
    switch (s->op) {
    case S_COMMENT:
        strbuf_printf(out, "// %s", s->comment);
        break;
    case S_LET:
        strbuf_printf(out, "let %s: ", s->name);
        print_type(m, out, s->type);
        strbuf_printf(out, "%s%s", s->value ? " = " : "", value);
        break;
    case S_ARRAY:
        strbuf_printf(out, "array %s: %s[%d]", s->name, dtype_name(s->type.dtype), (int)s->i);
        break;
    case S_BUFFER:
        strbuf_printf(out, "buffer %s: %s*, %s bytes", s->name, dtype_name(s->type.dtype), value);
        break;
    case S_SET:
    case S_ADD:
        strbuf_printf(out, "%s %s %s", c_expr(m, s->target), s->op == S_ADD ? "+=" : "=", value);
        break;
    case S_FOR:
        strbuf_printf(out, "for %s < %s {\n", s->name, value);
        print_stmts(m, out, indent + 1, &s->body);
        strbuf_printf(out, "%*s}", 4 * indent, "");
        break;
    case S_WHILE:
        strbuf_printf(out, "while %s {\n", value);
        print_stmts(m, out, indent + 1, &s->body);
        strbuf_printf(out, "%*s}", 4 * indent, "");
        break;
    case S_LEAVE:
        strbuf_printf(out, "leave if %s", value);
        break;
    default:
        strbuf_printf(out, "%s%s", s->op == S_RETURN ? "return " : "do ", value);
        break;
    }
    if (s->comment && s->op != S_COMMENT)
        strbuf_printf(out, " // %s", s->comment);
    strbuf_char(out, '\n');
}

static void print_stmts(const LoopModule *m, StrBuf *out, int indent, const Stmts *list) {
    for (int i = 0; i < list->len; i++)
        print_stmt(m, out, indent, list->data[i]);
}

static void print_fn(const LoopModule *m, StrBuf *out, const LoopFn *f) {
    strbuf_printf(out, "fn %s(", f->name);
    const char *comma = "";
    if (f->uses_work)
        strbuf_printf(out, "work%s", f->symbols.len + f->params.len ? ", " : "");
    for (int i = 0; i < f->symbols.len; i++, comma = ", ")
        strbuf_printf(out, "%s%s", comma, loop_symbol(m, f->symbols.data[i]));
    for (int i = 0; i < f->params.len; i++, comma = ", ") {
        strbuf_printf(out, "%s%s: ", comma, f->params.data[i].name);
        print_type(m, out, f->params.data[i].type);
        if (f->params.data[i].comment)
            strbuf_printf(out, " %s", f->params.data[i].comment);
    }
    strbuf_printf(out, ") // %s\n{\n", f->source->name);
    print_stmts(m, out, 1, &f->body);
    strbuf_printf(out, "}\n");
}

void loop_print(const LoopModule *m, StrBuf *out) {
    const char *between = "";
    for (int i = 0; i < m->fns.len; i++) {
        if (!m->fns.data[i]->live)
            continue;
        strbuf_printf(out, "%s", between);
        print_fn(m, out, m->fns.data[i]);
        between = "\n";
    }
}
