// Core as text: what `serin dump --stage=core` shows and core_parse reads back. Printing what was
// read gives the same bytes: names, numbers and the order of terms depend on the module's structure
// alone.
#include "core/print.h"
#include <string.h>

// ---- Names -------------------------------------------------------------------------------------

const char *print_identifier(Arena *a, const char *text) {
    StrBuf b = strbuf_new(a);
    for (const char *s = text ? text : ""; *s; s++) {
        bool letter = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || *s == '_';
        bool digit = *s >= '0' && *s <= '9';
        if (digit && !b.len)
            strbuf_char(&b, '_');
        strbuf_char(&b, letter || digit ? *s : '_');
    }
    if (!b.len)
        strbuf_char(&b, '_');
    return b.data;
}

const char *print_unique(Printer *p, Map *counts, const char *text) {
    Name base = intern(p->names, str_of(print_identifier(p->arena, text)));
    uintptr_t n = (uintptr_t)map_get(counts, base) + 1;
    map_put(p->arena, counts, base, (void *)n); // the count itself, not an address
    return n == 1 ? base : arena_printf(p->arena, "%s.%lu", base, (unsigned long)n);
}

// Gives a value its name: at the place where it is defined.
static const char *define(Printer *p, Val v) {
    if (v < 1 || (int)v > p->fn->values.len)
        return "?";
    Name name = core_value(p->fn, v)->name;
    if (name)
        p->of[v - 1] = print_unique(p, &p->counts, name);
    else
        p->of[v - 1] = arena_printf(p->arena, "%d", ++p->unnamed);
    return p->of[v - 1];
}

static void print_value_name(Printer *p, Val v) {
    if (v < 1 || (int)v > p->fn->values.len || !p->of[v - 1])
        strbuf_printf(p->out, "%%?%u", v);
    else
        strbuf_printf(p->out, "%%%s", p->of[v - 1]);
}

static void print_values(Printer *p, const Val *vals, int n) {
    for (int i = 0; i < n; i++) {
        if (i)
            strbuf_add(p->out, STR(", "));
        print_value_name(p, vals[i]);
    }
}

static void print_string(StrBuf *out, const char *text) {
    strbuf_char(out, '"');
    for (const unsigned char *s = (const unsigned char *)(text ? text : ""); *s; s++) {
        if (*s == '"' || *s == '\\')
            strbuf_printf(out, "\\%c", *s);
        else if (*s < 32 || *s == 127)
            strbuf_printf(out, "\\x%02x", *s);
        else
            strbuf_char(out, (char)*s);
    }
    strbuf_char(out, '"');
}

// A comment on a line of its own; nothing if there is nothing to say.
static void print_comment(Printer *p, const char *text, int indent) {
    StrBuf b = strbuf_new(p->arena);
    for (const char *s = text ? text : ""; *s; s++) {
        char c = (unsigned char)*s < 32 || *s == 127 ? ' ' : *s;
        if (c != ' ' || b.len)
            strbuf_char(&b, c);
    }
    while (b.len && b.data[b.len - 1] == ' ')
        b.data[--b.len] = 0;
    if (b.len)
        strbuf_printf(p->out, "%*s// %s\n", indent, "", b.data);
}

// ---- Types -------------------------------------------------------------------------------------

static void print_type(Printer *p, const CoreType *t) {
    StrBuf *out = p->out;
    if (!t) {
        strbuf_char(out, '?');
        return;
    }
    switch (t->kind) {
    case CORE_TENSOR:
        strbuf_printf(out, "%s[", dtype_name(t->dtype));
        for (int i = 0; i < t->rank; i++) {
            strbuf_add(out, i ? STR(", ") : STR(""));
            print_dim(p, out, t->dims[i]);
        }
        strbuf_char(out, ']');
        break;
    case CORE_BLOCK:
        strbuf_printf(out, "@%s", t->block->label);
        break;
    case CORE_ARRAY:
        strbuf_printf(out, "@%s[", t->block->label);
        print_dim(p, out, t->count);
        strbuf_char(out, ']');
        break;
    case CORE_TUPLE:
        strbuf_char(out, '(');
        for (int i = 0; i < t->item_count; i++) {
            strbuf_add(out, i ? STR(", ") : STR(""));
            print_type(p, t->items[i]);
        }
        strbuf_char(out, ')');
        break;
    }
}

static void print_block(Printer *p, const CoreBlock *b) {
    static const char *const kinds[] = {"param", "buffer", "state", "sub", "array"};
    strbuf_printf(p->out, "\nblock @%s ", b->label);
    print_string(p->out, b->name);
    strbuf_add(p->out, STR(" {\n"));
    for (int i = 0; i < b->members.len; i++) {
        const CoreMember *m = &b->members.data[i];
        const char *name = print_identifier(p->arena, m->name);
        strbuf_printf(p->out, "    %s %s: ", kinds[m->kind], name);
        print_type(p, m->type);
        strbuf_char(p->out, '\n');
    }
    strbuf_add(p->out, STR("}\n"));
}

// ---- Values ------------------------------------------------------------------------------------

enum { DEEPEST_REGION = 64 };

static void print_region(Printer *p, const Region *r, const char *end, int indent);

// `%i < 30 (%x.1 = %x) { ... }`; `while (%x.1 = %x) { ... } do { ... }`
static void print_loop(Printer *p, const Value *v, int indent) {
    const Loop *l = v->loop;
    if (v->op == OP_LOOP) {
        strbuf_printf(p->out, " %%%s < ", define(p, l->index));
        print_dim(p, p->out, l->count);
    }
    strbuf_add(p->out, STR(" ("));
    for (int i = 0; i < l->carried.len; i++) {
        strbuf_printf(p->out, "%s%%%s = ", i ? ", " : "", define(p, l->carried.data[i]));
        print_values(p, v->args.data + i, i < v->args.len);
    }
    strbuf_add(p->out, STR(") {\n"));
    if (v->op == OP_WHILE && indent / 4 < DEEPEST_REGION)
        print_region(p, &l->test, "yield", indent + 4);
    if (v->op == OP_WHILE)
        strbuf_printf(p->out, "%*s} do {\n", indent, "");
    if (indent / 4 < DEEPEST_REGION)
        print_region(p, &l->region, "yield", indent + 4);
    strbuf_printf(p->out, "%*s}", indent, "");
}

static void print_op(Printer *p, const Value *v, int indent) {
    StrBuf *out = p->out;
    bool view = v->op == OP_COMP && v->comp && v->comp->reshape;
    strbuf_add(out, view ? STR("view") : str_of(op_text(v->op)));
    if (v->op == OP_CALL)
        strbuf_printf(out, " @%s", v->callee ? v->callee->label : "?");
    if ((v->op == OP_LOOP || v->op == OP_WHILE) && v->loop) {
        print_loop(p, v, indent);
        return;
    }
    bool call = v->op == OP_COMP || v->op == OP_CALL;
    strbuf_add(out, call ? STR("(") : STR(" "));
    print_values(p, v->args.data, v->args.len);
    if (call)
        strbuf_char(out, ')');
    if (v->op == OP_RESULT || v->op == OP_CUMSUM)
        strbuf_printf(out, ", %d", v->index);
    if (v->op == OP_MEMBER)
        strbuf_printf(out, ".%s", print_identifier(p->arena, v->member));
    if (v->op == OP_COMP && v->comp && !view) {
        strbuf_char(out, ' ');
        print_comp(p, v->comp, indent);
    }
}

static void print_value(Printer *p, Val n, int indent) {
    if (n < 1 || (int)n > p->fn->values.len)
        return;
    const Value *v = core_value(p->fn, n);
    print_comment(p, v->comment, indent);
    strbuf_printf(p->out, "%*s%%%s: ", indent, "", define(p, n));
    print_type(p, v->type);
    strbuf_add(p->out, STR(" = "));
    print_op(p, v, indent);
    strbuf_char(p->out, '\n');
}

static void print_region(Printer *p, const Region *r, const char *end, int indent) {
    for (int i = 0; i < r->body.len; i++)
        print_value(p, r->body.data[i], indent);
    strbuf_printf(p->out, "%*s%s%s", indent, "", end, r->yields.len ? " " : "");
    print_values(p, r->yields.data, r->yields.len);
    strbuf_char(p->out, '\n');
}

// ---- Functions and modules ---------------------------------------------------------------------

static const CoreType *type_of(const CoreFn *f, Val v) {
    return v >= 1 && (int)v <= f->values.len ? core_value(f, v)->type : NULL;
}

static bool is_state(const CoreFn *f, Val v) {
    for (int i = 0; i < f->states.len; i++) {
        if (f->states.data[i] == v)
            return true;
    }
    return false;
}

static void print_signature(Printer *p, const CoreFn *f) {
    strbuf_printf(p->out, "%sfn @%s ", f->entry ? "entry " : "", f->label);
    print_string(p->out, f->name);
    strbuf_add(p->out, STR(" ("));
    for (int i = 0; i < f->params.len; i++) {
        const char *state = is_state(f, f->params.data[i]) ? "state " : "";
        strbuf_printf(p->out, "%s%s%%%s: ", i ? ", " : "", state, define(p, f->params.data[i]));
        print_type(p, type_of(f, f->params.data[i]));
    }
    const Region *r = &f->region;
    strbuf_add(p->out, r->yields.len == 1 ? STR(") -> ") : STR(") -> ("));
    for (int i = 0; i < r->yields.len; i++) {
        strbuf_add(p->out, i ? STR(", ") : STR(""));
        print_type(p, type_of(f, r->yields.data[i]));
    }
    strbuf_add(p->out, r->yields.len == 1 ? STR(" {\n") : STR(") {\n"));
}

static void print_fn(Printer *p, const CoreFn *f) {
    p->fn = f;
    p->of = NEW_N(p->arena, const char *, f->values.len);
    p->counts = (Map){0};
    p->unnamed = 0;
    print_comment(p, f->doc, 0);
    print_signature(p, f);
    print_region(p, &f->region, "return", 4);
    strbuf_add(p->out, STR("}\n"));
}

static Printer printer_new(const Core *c, StrBuf *out) {
    Printer p = {.core = c, .arena = arena_new(), .out = out};
    p.names = interner_new(p.arena);
    Map counts = {0};
    for (int i = 0; i < c->symbols.len; i++) {
        const Dim *symbol = c->symbols.data[i];
        map_put(p.arena, &p.symbols, symbol, (void *)print_unique(&p, &counts, dim_name(symbol)));
    }
    return p;
}

static void print_symbols(Printer *p) {
    for (int i = 0; i < p->core->symbols.len; i++) {
        const char *name = map_get(&p->symbols, p->core->symbols.data[i]);
        strbuf_printf(p->out, "%s%s", i ? ", " : "dim ", name);
        const Dim *bound = i < p->core->bounds.len ? p->core->bounds.data[i] : NULL;
        if (!bound)
            continue;
        strbuf_add(p->out, STR(" <= "));
        print_dim(p, p->out, bound);
    }
    if (p->core->symbols.len)
        strbuf_char(p->out, '\n');
}

void core_print(const Core *c, StrBuf *out) {
    Printer p = printer_new(c, out);
    strbuf_add(out, STR("core 1\n"));
    print_symbols(&p);
    for (int i = 0; i < c->blocks.len; i++)
        print_block(&p, c->blocks.data[i]);
    for (int i = 0; i < c->fns.len; i++) {
        strbuf_char(out, '\n');
        print_fn(&p, c->fns.data[i]);
    }
    arena_free(p.arena);
}

void core_print_fn(const Core *c, const CoreFn *f, StrBuf *out) {
    Printer p = printer_new(c, out);
    print_fn(&p, f);
    arena_free(p.arena);
}
