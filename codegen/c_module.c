// Functions as C text, with what stands above and below them: the arena, and how large it must be.
#include "codegen/c_text.h"
#include <string.h>

static Arena *arena_of(const LoopModule *m) {
    return m->core->session->arena;
}

// ---- What stands above the functions -----------------------------------------------------------

typedef struct {
    bool work;    // some function takes the threads and the arena
    bool buffers; // some function takes memory
    bool larger;  // sizes are compared
    bool rows;    // matrices go to rt_matmul_nt
    bool keeps;   // rows of states are stored
    bool places;  // rows of states of blocks are
} Needs;

static bool stmts_call(const Stmts *list, const char *name) {
    for (int i = 0; i < list->len; i++) {
        const Stmt *s = list->data[i];
        if (stmts_call(&s->body, name))
            return true;
        if (s->op == S_DO && strcmp(s->value->name, name) == 0)
            return true;
    }
    return false;
}

static Needs find_needs(const LoopModule *m) {
    Needs n = {0};
    int roots = 0;
    for (int i = 0; i < m->fns.len; i++) {
        const LoopFn *f = m->fns.data[i];
        if (!f->live)
            continue;
        int callees = 0;
        for (int c = 0; c < f->callees.len; c++)
            callees += m->fns.data[f->callees.data[c]]->takes;
        roots += f->root && f->takes;
        n.work |= f->uses_work;
        n.buffers |= f->buffers.len > 0;
        n.larger |= callees > 1;
        n.rows |= stmts_call(&f->body, "rt_matmul_nt");
    }
    n.larger |= roots > 1;
    n.keeps = m->keeps;
    n.places = m->places;
    return n;
}

static void lines(Writer *w, const char *const *text) {
    write_lines(w, text);
    write_blank(w);
}

static const char *const work_text[] = {
    "// What a function works with. It is passed by value: what a function takes of the arena "
    "is",
    "// free again when it returns.",
    "typedef struct {",
    "    RtPool *pool;         // the threads of matrix products",
    "    unsigned char *arena; // the free part of the memory for temporaries",
    "} Work;",
    NULL,
};

static const char *const take_text[] = {
    "// Bytes rounded up to whole cache lines.",
    "static size_t room(int64_t bytes) {",
    "    return ((size_t)bytes + 63) & ~(size_t)63;",
    "}",
    "",
    "// Takes memory off the arena.",
    "static void *take(Work *work, int64_t bytes) {",
    "    void *start = work->arena;",
    "    work->arena += room(bytes);",
    "    return start;",
    "}",
    NULL,
};

static const char *const larger_text[] = {
    "static size_t larger(size_t a, size_t b) {",
    "    return a > b ? a : b;",
    "}",
    NULL,
};

static const char *const rows_text[] = {
    "// A matrix in memory, by its rows.",
    "static RtRows rows(const float *data, int64_t stride) {",
    "    return (RtRows){.data = data, .stride = (size_t)stride};",
    "}",
    NULL,
};

static const char *const keep_text[] = {
    "// Stores `count` rows of `bytes` bytes at positions pos, pos + 1, .. of a state, nowhere "
    "outside",
    "// of 0 .. capacity - 1.",
    "static void keep_rows(void *state, int64_t capacity, const void *rows, int64_t count, "
    "int64_t pos,",
    "                      int64_t bytes) {",
    "    for (int64_t i = 0; i < count; i++) {",
    "        if (pos + i < 0 || pos + i >= capacity)",
    "            continue;",
    "        unsigned char *to = (unsigned char *)state + (pos + i) * bytes;",
    "        memcpy(to, (const unsigned char *)rows + i * bytes, (size_t)bytes);",
    "    }",
    "}",
    NULL,
};

static const char *const place_text[] = {
    "// Stores rows (heads, count), each of `bytes` bytes, at positions pos, pos + 1, .. of one",
    "// sequence of a state (sequences, heads, capacity), nowhere outside.",
    "static void place_rows(void *state, int64_t sequences, int64_t heads, int64_t capacity,",
    "                       int64_t sequence, int64_t pos, const void *rows, int64_t count,",
    "                       int64_t bytes) {",
    "    int64_t first = pos < 0 ? -pos : 0, room = capacity - pos;",
    "    int64_t stored = (room < count ? room : count) - first;",
    "    if (sequence < 0 || sequence >= sequences || stored <= 0)",
    "        return;",
    "    for (int64_t h = 0; h < heads; h++) {",
    "        int64_t to = (sequence * heads + h) * capacity + pos + first, from = h * count + "
    "first;",
    "        memcpy((unsigned char *)state + to * bytes, (const unsigned char *)rows + from * "
    "bytes,",
    "               (size_t)(stored * bytes));",
    "    }",
    "}",
    NULL,
};

static void write_helpers(Writer *w, const Needs *n) {
    if (n->work)
        lines(w, work_text);
    if (n->buffers)
        lines(w, take_text);
    if (n->larger)
        lines(w, larger_text);
    if (n->rows)
        lines(w, rows_text);
    if (n->keeps)
        lines(w, keep_text);
    if (n->places)
        lines(w, place_text);
}

// ---- One function ------------------------------------------------------------------------------

static void write_doc(const LoopModule *m, Writer *w, const LoopFn *f) {
    StrBuf b = strbuf_new(arena_of(m));
    strbuf_printf(&b, "%s", f->source->name);
    write_comment(w, 0, b.data);
    if (f->source->doc)
        write_comment(w, 0, f->source->doc);
    StrBuf shapes = strbuf_new(arena_of(m));
    for (int i = 0; i < f->params.len; i++) {
        const LoopParam *p = &f->params.data[i];
        if (p->comment)
            strbuf_printf(&shapes, "%s%s %s", shapes.len ? ", " : "", p->name, p->comment);
    }
    if (shapes.len)
        write_comment(w, 0, shapes.data);
}

static void write_signature(const LoopModule *m, Writer *w, const LoopFn *f) {
    Arena *a = arena_of(m);
    int n = 0;
    const char **args = NEW_N(a, const char *, f->params.len + f->symbols.len + 2);
    if (f->uses_work)
        args[n++] = "Work work";
    for (int i = 0; i < f->symbols.len; i++)
        args[n++] = arena_printf(a, "int64_t %s", loop_symbol(m, f->symbols.data[i]));
    for (int i = 0; i < f->params.len; i++) {
        const LoopParam *p = &f->params.data[i];
        bool written = p->type.pointer && !p->type.constant;
        args[n++] = c_declare(m, p->type, p->name, written);
    }
    if (n == 0)
        args[n++] = "void";
    const char *head = arena_printf(a, "static %s", f->name);
    head = f->returns ? arena_printf(a, "static %s %s", c_type(m, f->result), f->name)
                      : arena_printf(a, "static void %s", f->name);
    write_call(w, 0, head, n, args, " {");
}

static void write_function(const LoopModule *m, Writer *w, const LoopFn *f) {
    write_doc(m, w, f);
    write_signature(m, w, f);
    c_stmts(m, f->names, w, 1, &f->body);
    write_line(w, 0, NULL, "}");
    write_blank(w);
}

// ---- Size of the arena -------------------------------------------------------------------------

static const LoopType size_type = {.size = true, .dtype = DT_U64};

static const Expr *call_size(LoopModule *m, const char *name, int n, const Expr *const *args) {
    return x_call(m, name, size_type, n, args);
}

static const Expr *most(LoopModule *m, const Expr *x, const Expr *y) {
    const Expr *args[] = {x, y};
    return x ? call_size(m, "larger", 2, args) : y;
}

// A function's own buffers, and the largest need of those it calls.
static const Expr *need_of(LoopModule *m, const LoopFn *f) {
    Arena *a = arena_of(m);
    const Expr *own = NULL, *called = NULL;
    for (int i = 0; i < f->buffers.len; i++) {
        const Expr *room = call_size(m, "room", 1, &f->buffers.data[i]);
        own = own ? x_binary(a, X_ADD, size_type, own, room) : room;
    }
    for (int i = 0; i < f->callees.len; i++) {
        const LoopFn *callee = m->fns.data[f->callees.data[i]];
        if (callee->takes)
            called = most(m, called, x_name(a, callee->name, size_type));
    }
    if (own && called)
        return x_binary(a, X_ADD, size_type, own, called);
    return own ? own : called;
}

static bool mentions(const Expr *x, const char *name) {
    if (x->op == X_NAME && x->name == name)
        return true;
    for (int i = 0; i < x->count; i++) {
        if (mentions(x->args[i], name))
            return true;
    }
    return false;
}

static bool sizes_mention(const LoopModule *m, const char *name) {
    for (int i = 0; i < m->fns.len; i++) {
        const LoopFn *f = m->fns.data[i];
        for (int k = 0; f->live && k < f->buffers.len; k++) {
            if (mentions(f->buffers.data[k], name))
                return true;
        }
    }
    return false;
}

static void write_arena_bytes(LoopModule *m, Writer *w) {
    Arena *a = arena_of(m);
    Names *names = names_new(m->core->session, m->names);
    const char **args = NEW_N(a, const char *, m->symbols.len + 1);
    int n = 0;
    for (int i = 0; i < m->symbols.len; i++)
        args[n++] = arena_printf(a, "int64_t %s", m->symbols.data[i].name);
    if (n == 0)
        args[n++] = "void";
    write_line(w, 0, NULL, "// Bytes of the arena that each function needs, with what it calls.");
    write_call(w, 0, "static size_t arena_bytes", n, args, " {");
    for (int i = 0; i < m->symbols.len; i++) {
        if (!sizes_mention(m, m->symbols.data[i].name))
            write_line(w, 1, NULL, "(void)%s;", m->symbols.data[i].name);
    }
    Stmts body = {0};
    const Expr *total = NULL;
    for (int i = 0; i < m->fns.len; i++) {
        const LoopFn *f = m->fns.data[i];
        if (!f->live || !f->takes)
            continue;
        Stmt *let = loop_stmt(a, &body, S_LET);
        let->type = size_type;
        let->name = f->name;
        let->value = need_of(m, f);
        if (f->root)
            total = most(m, total, x_name(a, f->name, size_type));
    }
    loop_stmt(a, &body, S_RETURN)->value = total ? total : x_int(a, DT_I64, 0);
    c_stmts(m, names, w, 1, &body);
    write_line(w, 0, NULL, "}");
}

void c_functions(LoopModule *m, Writer *w) {
    Needs needs = find_needs(m);
    write_helpers(w, &needs);
    for (int i = 0; i < m->fns.len; i++) {
        if (m->fns.data[i]->live)
            write_function(m, w, m->fns.data[i]);
    }
    write_arena_bytes(m, w);
}
