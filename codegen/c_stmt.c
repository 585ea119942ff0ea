// Statements as C text. What does not fit on a line is taken apart: the largest part that is
// evaluated anyway gets a name, and a choice between long values becomes an if.
#include "codegen/c_text.h"
#include <string.h>

typedef struct {
    const LoopModule *m;
    Names *names;
    Writer *w;
} Emitter;

enum { PART_COLUMNS = 60 }; // a part with a name is at most about this long

static Arena *arena_of(const Emitter *e) {
    return e->m->core->session->arena;
}

// ---- Parts -------------------------------------------------------------------------------------

static bool can_name(const Expr *x) {
    bool value = x->op <= X_CAST || x->op == X_INDEX || x->op == X_CALL;
    bool known =
        x->type.block || x->op != X_CALL || x->type.size || strncmp(x->name, "rt_", 3) == 0;
    return value && known && x->op != X_ADDRESS && strcmp(x->name ? x->name : "", "rows") != 0;
}

// The best subtree to name: the longest of those that are short enough, else the shortest.
static void find_part(const Emitter *e, const Expr *x, bool top, const Expr **best, size_t *size) {
    if (!top && can_name(x)) {
        size_t n = strlen(c_expr(e->m, x));
        bool short_enough = n <= PART_COLUMNS, had = *best && *size <= PART_COLUMNS;
        bool better = !*best || (short_enough ? !had || n > *size : !had && n < *size);
        if (better && n > 6) {
            *best = x;
            *size = n;
        }
        if (short_enough)
            return;
    }
    for (int i = 0; i < x->count; i++) {
        if (x->op != X_COND || i == 0)
            find_part(e, x->args[i], false, best, size);
    }
}

static const Expr *replace(Arena *a, const Expr *x, const Expr *part, const Expr *name) {
    if (x == part)
        return name;
    Expr *copy = NEW(a, Expr);
    *copy = *x;
    copy->args = NEW_N(a, const Expr *, x->count + 1);
    for (int i = 0; i < x->count; i++)
        copy->args[i] = replace(a, x->args[i], part, name);
    return copy;
}

static const char *part_noun(const Expr *x) {
    if (x->type.pointer)
        return "row";
    if (x->type.size)
        return "bytes";
    switch (x->op) {
    case X_ADD:
        return dtype_is_float(x->type.dtype) ? "total" : "at";
    case X_MUL:
        return dtype_is_float(x->type.dtype) ? "scaled" : "at";
    case X_CALL:
        return "term";
    case X_INDEX:
        return "entry";
    default:
        return x->type.dtype == DT_BOOL ? "met" : "part";
    }
}

static void assign(Emitter *e, int indent, const Stmt *s);

// Names a part of the value or the target, before the statement. False if there is none.
static bool split(Emitter *e, int indent, Stmt *s) {
    Arena *a = arena_of(e);
    const Expr *best = NULL;
    size_t size = 0;
    if (s->value)
        find_part(e, s->value, true, &best, &size);
    bool in_target = false;
    if (!best && s->target) {
        find_part(e, s->target, true, &best, &size);
        in_target = best != NULL;
    }
    if (!best)
        return false;
    Stmt let = {.op = S_LET, .type = best->type, .value = best};
    let.type.bits = best->type.bits;
    let.type.constant = best->type.pointer && best->type.constant;
    let.name = names_pick_fresh(e->names, part_noun(best));
    assign(e, indent, &let);
    const Expr *name = x_name(a, let.name, let.type);
    if (in_target)
        s->target = replace(a, s->target, best, name);
    else
        s->value = replace(a, s->value, best, name);
    return true;
}

// ---- Assignments -------------------------------------------------------------------------------

static const char *head_of(const Emitter *e, const Stmt *s) {
    Arena *a = arena_of(e);
    if (s->op == S_LET)
        return arena_printf(a, "%s = ", c_declare(e->m, s->type, s->name, false));
    if (s->op == S_RETURN)
        return "return ";
    if (s->op == S_DO)
        return "";
    return arena_printf(a, "%s %s ", c_expr(e->m, s->target), s->op == S_ADD ? "+=" : "=");
}

static void branches(Emitter *e, int indent, const Stmt *s) {
    const Expr *x = s->value;
    Stmt side = *s;
    if (s->op == S_LET) {
        write_line(e->w, indent, s->comment, "%s;", c_declare(e->m, s->type, s->name, false));
        side.op = S_SET;
        side.target = x_name(arena_of(e), s->name, s->type);
    }
    side.comment = NULL;
    write_line(e->w, indent, NULL, "if (%s) {", c_expr(e->m, x->args[0]));
    side.value = x->args[1];
    assign(e, indent + 1, &side);
    write_line(e->w, indent, NULL, "} else {");
    side.value = x->args[2];
    assign(e, indent + 1, &side);
    write_line(e->w, indent, NULL, "}");
}

// A call as a statement may take several lines.
static bool wrapped_call(Emitter *e, int indent, const Stmt *s) {
    const Expr *x = s->value;
    if (s->op != S_DO || x->op != X_CALL)
        return false;
    const char **args = NEW_N(arena_of(e), const char *, x->count + 1);
    for (int i = 0; i < x->count; i++)
        args[i] = c_expr(e->m, x->args[i]);
    return write_call(e->w, indent, x->name, x->count, args, ";");
}

// x = x + y as x += y, where C's += is that very addition.
static void shorten(const Emitter *e, Stmt *s) {
    const Expr *x = s->value;
    bool sum = s->op == S_SET && x->op == X_ADD && dtype_size(x->type.dtype) >= 4;
    if (!sum || strcmp(c_expr(e->m, s->target), c_expr(e->m, x->args[0])) != 0)
        return;
    s->op = S_ADD;
    s->value = x->args[1];
}

// Names the whole value of x += value, before it.
static void name_summand(Emitter *e, int indent, Stmt *s) {
    Stmt let = {.op = S_LET, .type = s->value->type, .value = s->value};
    let.name = names_pick_fresh(e->names, "summand");
    assign(e, indent, &let);
    s->value = x_name(arena_of(e), let.name, let.type);
}

static void assign(Emitter *e, int indent, const Stmt *from) {
    Stmt s = *from;
    shorten(e, &s);
    for (int tries = 0; tries < 1000; tries++) {
        const char *text =
            arena_printf(arena_of(e), "%s%s;", head_of(e, &s), c_expr(e->m, s.value));
        if (writer_fits(indent, text)) {
            write_line(e->w, indent, s.comment, "%s", text);
            return;
        }
        if (wrapped_call(e, indent, &s))
            return;
        if (s.value->op == X_COND && s.op == S_ADD) {
            name_summand(e, indent, &s);
            continue;
        }
        bool choice = s.value->op == X_COND && s.op != S_DO;
        if (choice && writer_fits(indent + 2, c_expr(e->m, s.value->args[0]))) {
            branches(e, indent, &s);
            return;
        }
        if (!split(e, indent, &s)) { // deep nesting: nothing can be shortened
            write_line(e->w, indent, s.comment, "%s", text);
            return;
        }
    }
}

// ---- Statements --------------------------------------------------------------------------------

static void statement(Emitter *e, int indent, const Stmt *from);

// A test that does not fit on the loop's line stands at the top of its body.
static void while_loop(Emitter *e, int indent, const Stmt *s) {
    const char *test = c_expr(e->m, s->value);
    bool fits = writer_fits(indent + 3, test);
    write_line(e->w, indent, NULL, "while (%s) {", fits ? test : "true");
    Stmt leave = {.op = S_LEAVE};
    leave.value = x_unary(arena_of(e), X_NOT, s->value->type, s->value);
    if (!fits)
        statement(e, indent + 1, &leave);
    c_stmts(e->m, e->names, e->w, indent + 1, &s->body);
    write_line(e->w, indent, NULL, "}");
}

static void statement(Emitter *e, int indent, const Stmt *from) {
    Stmt s = *from;
    Writer *w = e->w;
    switch (s.op) {
    case S_COMMENT:
        write_comment(w, indent, s.comment);
        break;
    case S_BLANK:
        write_blank(w);
        break;
    case S_ARRAY:
        write_line(w, indent, NULL, "%s[%d] = {0};", c_declare(e->m, s.type, s.name, false),
                   (int)s.i);
        break;
    case S_BUFFER:
        while (!writer_fits(indent + 9, c_expr(e->m, s.value)) && split(e, indent, &s))
            ;
        write_line(w, indent, s.comment, "%s = take(&work, %s);",
                   c_declare(e->m, s.type, s.name, false), c_expr(e->m, s.value));
        break;
    case S_FOR:
        while (!writer_fits(indent + 1, c_expr(e->m, s.value)) && split(e, indent, &s))
            ;
        write_line(w, indent, NULL, "for (int64_t %s = 0; %s < %s; %s++) {", s.name, s.name,
                   c_expr(e->m, s.value), s.name);
        c_stmts(e->m, e->names, w, indent + 1, &s.body);
        write_line(w, indent, NULL, "}");
        break;
    case S_WHILE:
        while_loop(e, indent, &s);
        break;
    case S_LEAVE:
        while (!writer_fits(indent + 3, c_expr(e->m, s.value)) && split(e, indent, &s))
            ;
        write_line(w, indent, NULL, "if (%s)", c_expr(e->m, s.value));
        write_line(w, indent + 1, NULL, "break;");
        break;
    case S_LET:
        if (!s.value) {
            write_line(w, indent, s.comment, "%s;", c_declare(e->m, s.type, s.name, false));
            break;
        }
        assign(e, indent, &s);
        break;
    default:
        assign(e, indent, &s);
        break;
    }
}

void c_stmts(const LoopModule *m, Names *names, Writer *w, int indent, const Stmts *list) {
    Emitter e = {m, names, w};
    for (int i = 0; i < list->len; i++)
        statement(&e, indent, list->data[i]);
}
