// Kernels: programs over tiles that an op names as another way to compute what its body defines.
// They are checked and never run: the op's body does.
//
// A kernel runs once for each point of its grid. Its tensor parameters and its results are memory:
// `load` and the stores alone touch them, everything else is arithmetic on tiles, which are
// ordinary tensors here. `load(x[i, j])` with tiles i: [M] and j: [N] is a tile [M, N].
#include "check/internal.h"
#include <string.h>

struct KernelWrite {
    KernelWrite *next;
    const Param *result; // what is written
    Name how;            // store, atomic_add, atomic_max, atomic_min
};

bool in_kernel(const Checker *c) {
    return c->fn && c->fn->kind == ITEM_KERNEL;
}

static bool is_result(const Item *kernel, const Param *p) {
    for (int i = 0; i < kernel->results.len; i++) {
        if (kernel->results.data[i] == p)
            return true;
    }
    return false;
}

bool is_memory(const Checker *c, const Param *p) {
    return in_kernel(c) && p->type && (is_result(c->fn, p) || !type_is_scalar(p->type));
}

// ---- Signatures --------------------------------------------------------------------------------

static void check_results(Checker *c, Item *item) {
    for (int i = 0; i < item->results.len; i++) {
        Param *r = item->results.data[i];
        bool twice = false;
        for (int k = 0; k < item->params.len; k++)
            twice |= item->params.data[k]->name == r->name;
        for (int k = 0; k < i; k++)
            twice |= item->results.data[k]->name == r->name;
        if (twice)
            report(c->s, r->span, E1205, "the parameter `%s` is declared twice", r->name);
        if (is_prelude_name(r->name))
            report(c->s, r->span, E1207, "`%s` is a built-in name", r->name);
        r->type = resolve_type(c, r->type_ast);
        if (twice)
            r->type = type_error();
        bool scalar = type_is_scalar(r->type);
        if ((r->type->kind == TYPE_TENSOR && !scalar) || r->type->kind == TYPE_ERROR)
            continue;
        report(c->s, r->span, E2127, "a kernel writes tensors, not %s", type_text(c->a, r->type));
        r->type = type_error();
    }
}

// grid(a, b, c): one to three sizes.
static void check_grid(Checker *c, Expr *grid) {
    int n = grid->args.len;
    if (n < 1 || n > 3)
        report(c->s, grid->span, E2127, "a grid has one to three sizes, not %d", n);
    for (int i = 0; i < n; i++) {
        Expr *size = grid->args.data[i].value;
        const Dim *d = resolve_dim(c, size);
        if (!d)
            continue;
        default_literal(c, size);
        if (is_negative(c, d))
            report(c->s, size->span, E2208, "the grid size `%s` is negative", dim_text(c->a, d));
    }
}

// warps(n), n being 1, 2, 4, 8, 16 or 32; stages(n), 1 to 16.
static void check_tune(Checker *c, Expr *tune) {
    bool warps = strcmp(tune->a->name, "warps") == 0;
    int most = warps ? 32 : 16;
    const Dim *d = tune->args.len == 1 ? resolve_dim(c, tune->args.data[0].value) : NULL;
    int64_t n = 0;
    if (tune->args.len == 1 && !d)
        return;
    bool good = d && dim_is_const(d, &n) && n >= 1 && n <= most && (!warps || (n & (n - 1)) == 0);
    if (d)
        default_literal(c, tune->args.data[0].value);
    if (!good)
        report(c->s, tune->span, E2127,
               warps ? "`warps` is a power of two, 1 to 32" : "`stages` is a number, 1 to 16");
}

void check_kernel_signature(Checker *c, Item *item) {
    if (item->block)
        report(c->s, item->name_span, E2127, "a kernel stands in a module, not in a block");
    for (int i = 0; i < item->params.len; i++) {
        Param *p = item->params.data[i];
        if (p->type->kind == TYPE_TENSOR || p->type->kind == TYPE_ERROR)
            continue;
        report(c->s, p->span, E2127, "a kernel reads tensors and scalars, not %s",
               type_text(c->a, p->type));
        p->type = type_error();
    }
    check_results(c, item);
    for (int i = 0; i < item->grid.len; i++) {
        Expr *call = item->grid.data[i];
        if (i == 0)
            check_grid(c, call);
        else
            check_tune(c, call);
        for (int k = 1; k < i; k++) {
            if (strcmp(item->grid.data[k]->a->name, call->a->name) == 0)
                report(c->s, call->span, E2127, "`%s` stands twice", call->a->name);
        }
    }
}

// ---- Memory ------------------------------------------------------------------------------------

// The memory that `x[i, j]` in a load or a store means; NULL after a report.
static const Param *memory_of(Checker *c, const char *what, Expr *e, bool write) {
    Ref ref = {0};
    if (e->kind == EXPR_INDEX && e->a->kind == EXPR_NAME)
        ref = lookup(c, e->a->name);
    if (ref.kind == REF_NONE && e->kind == EXPR_INDEX && e->a->kind == EXPR_NAME) {
        unknown_name(c, e->a->name, e->a->span);
        return NULL;
    }
    if (ref.kind != REF_PARAM || !ref.param->type || !is_memory(c, ref.param)) {
        Diag *d = report(c->s, e->span, E2127, "`%s` takes a place in a %s", what,
                         write ? "result" : "tensor parameter");
        diag_help(c->s, d, "write it as %s[i, j], with an integer or a tile of integers an axis",
                  write ? "y" : "x");
        return NULL;
    }
    e->a->ref = REF_PARAM;
    e->a->param = ref.param;
    e->a->type = ref.param->type;
    ref.param->used = true;
    if (is_result(c->fn, ref.param) == write)
        return ref.param->type->kind == TYPE_ERROR ? NULL : ref.param;
    report(c->s, e->a->span, E2127, "`%s` is a %s of the kernel and can't be %s", e->a->name,
           write ? "parameter" : "result", write ? "written" : "read");
    return NULL;
}

// Checks the position on one axis; appends the axes of its tile.
static bool tile_part(Checker *c, IndexPart *p, Axis axis, Axis *out, int *n, int room) {
    if (p->kind != INDEX_EXPR) {
        report(c->s, p->span, E2127,
               "memory is not sliced: a tile of positions, such as iota(N), "
               "stands for a part of an axis");
        return false;
    }
    if (axis.pack) {
        report(c->s, p->span, E3106, "a single position stands on the pack `*%s`", axis.pack->name);
        return false;
    }
    check_expr(c, p->expr, NULL);
    const Type *t = expect_tensor(c, p->expr);
    p->at = p->expr->dim;
    if (!t)
        return false;
    if (!elem_is_integer(t->elem)) {
        report(c->s, p->span, E2101, "a position is an integer or a tile of integers, not %s",
               type_text(c->a, t));
        return false;
    }
    if (*n + t->rank > room) {
        report(c->s, p->span, E2127, "a tile has at most %d axes", room);
        return false;
    }
    for (int i = 0; i < t->rank; i++)
        out[(*n)++] = t->axes[i];
    return true;
}

// The tile that x[i, j] is, in the dtype of the memory; NULL after a report.
static const Type *tile_of(Checker *c, const Param *memory, Expr *e) {
    enum { MOST_AXES = 12 };
    const Type *t = memory->type;
    Axis axes[MOST_AXES];
    int n = 0;
    if (e->parts.len != t->rank) {
        report(c->s, e->span, E2204, "%s has the rank %d; the positions given: %d",
               type_text(c->a, t), t->rank, e->parts.len);
        return NULL;
    }
    bool good = true;
    for (int i = 0; i < t->rank; i++)
        good &= tile_part(c, &e->parts.data[i], t->axes[i], axes, &n, MOST_AXES);
    if (!good)
        return NULL;
    e->type = type_tensor(c->a, t->elem, n, arena_copy(c->a, axes, sizeof axes));
    return e->type;
}

// A mask, a value or another operand: a scalar or a tile that broadcasts to `tile`.
static bool fits_tile(Checker *c, Expr *e, const Type *tile, Elem elem, const char *what) {
    const Type *scalar = type_scalar(c->a, elem);
    check_expr(c, e, scalar);
    if (is_error(e) || !coerce(c, e, scalar))
        return false;
    const Type *t = expect_tensor(c, e);
    if (!t)
        return false;
    if (!elem_equal(t->elem, elem)) {
        report(c->s, e->span, E2103, "%s must be %s, not %s", what, elem_text(elem),
               type_text(c->a, t));
        return false;
    }
    const Type *want = type_tensor(c->a, elem, tile->rank, tile->axes);
    const Type *both = t->rank <= tile->rank ? broadcast(c, want, t, elem, e->span) : want;
    if (both && (t->rank > tile->rank || !type_equal(both, want, c->facts)))
        report(c->s, e->span, E2207, "%s %s does not broadcast to the tile %s", what,
               type_text(c->a, t), type_text(c->a, want));
    return both && t->rank <= tile->rank && type_equal(both, want, c->facts);
}

// load(x[i, j], mask, other): the tile, and `other` (0 if it is missing) where the mask is false.
static void check_load(Checker *c, Expr *e) {
    Expr *place = e->args.data[0].value;
    make_error(place);
    const Param *memory = memory_of(c, "load", place, false);
    const Type *tile = memory ? tile_of(c, memory, place) : NULL;
    if (!tile)
        return;
    bool good =
        e->args.len < 2 || fits_tile(c, e->args.data[1].value, tile, elem_of(DT_BOOL), "the mask");
    good &= e->args.len < 3 || fits_tile(c, e->args.data[2].value, tile, tile->elem,
                                         "what stands for masked elements");
    if (good)
        e->type = tile;
}

// program_id(axis): where on the grid this run stands, an i32.
static void check_program_id(Checker *c, Expr *e) {
    Expr *axis = e->args.data[0].value;
    const Dim *d = resolve_dim(c, axis);
    int64_t k;
    if (!d)
        return;
    default_literal(c, axis);
    int axes = c->fn->grid.len ? c->fn->grid.data[0]->args.len : 0;
    if (!dim_is_const(d, &k))
        report(c->s, axis->span, E2123, "the axis of a grid is a constant");
    else if (k < 0 || k >= axes)
        report(c->s, axis->span, E2210, "the grid of `%s` has the axes 0 to %d", c->fn->name,
               axes - 1);
    else
        e->type = type_scalar(c->a, elem_of(DT_I32));
}

void check_kernel_call(Checker *c, Expr *e) {
    int most = e->builtin == BI_LOAD ? 3 : 1;
    bool named = false;
    make_error(e);
    for (int i = 0; i < e->args.len; i++)
        named |= e->args.data[i].keyword != NULL;
    if (e->generics.len)
        report(c->s, e->span, E2111, "`%s` takes no generic arguments",
               builtin_name((Builtin)e->builtin));
    else if (named || e->args.len < 1 || e->args.len > most)
        report(c->s, e->span, E2102, "this is written %s",
               most == 3 ? "load(x[i, j]), load(x[i, j], mask) or load(x[i, j], mask, other)"
                         : "program_id(axis)");
    else if (e->builtin == BI_LOAD)
        check_load(c, e);
    else
        check_program_id(c, e);
}

// ---- Stores ------------------------------------------------------------------------------------

// Can memory of this dtype be changed by an atomic operation? A generic dtype may be one that
// can't.
static bool is_atomic(Elem e) {
    static const Dtype fit[] = {DT_I32, DT_U32, DT_I64, DT_U64, DT_F32, DT_F64};
    for (size_t i = 0; i < sizeof fit / sizeof *fit; i++) {
        if (elem_is(e, fit[i]))
            return true;
    }
    return false;
}

// Notes how a result is written; every place must do it in one way.
static void note_write(Checker *c, const Param *result, Stmt *st) {
    for (const KernelWrite *w = c->writes; w; w = w->next) {
        if (w->result != result)
            continue;
        if (w->how != st->name)
            report(c->s, st->span, E2127, "`%s` is written by `%s` and by `%s`", result->name,
                   w->how, st->name);
        return;
    }
    KernelWrite *w = NEW(c->a, KernelWrite);
    *w = (KernelWrite){c->writes, result, st->name};
    c->writes = w;
}

void check_store(Checker *c, Stmt *st) {
    if (!in_kernel(c)) {
        report(c->s, st->span, E2127, "stores stand only in kernels");
        return;
    }
    if (st->args.len < 2 || st->args.len > 3) {
        report(c->s, st->span, E2102,
               "this is written %s(y[i, j], value) or %s(y[i, j], value, mask)", st->name,
               st->name);
        return;
    }
    Expr *place = st->args.data[0];
    make_error(place);
    const Param *result = memory_of(c, st->name, place, true);
    if (result)
        note_write(c, result, st);
    const Type *tile = result ? tile_of(c, result, place) : NULL;
    if (!tile)
        return;
    if (strcmp(st->name, "store") != 0 && !is_atomic(tile->elem))
        report(c->s, st->span, E2127, "`%s` works on 32- and 64-bit numbers, not on %s", st->name,
               elem_text(tile->elem));
    fits_tile(c, st->args.data[1], tile, tile->elem, "the value");
    if (st->args.len == 3)
        fits_tile(c, st->args.data[2], tile, elem_of(DT_BOOL), "the mask");
}

void check_kernel_body(Checker *c, Item *item) {
    Scope scope;
    c->writes = NULL;
    int errors = c->s->errors;
    scope_push(c, &scope);
    check_stmts(c, &item->body, true);
    scope_pop(c);
    for (int i = 0; i < item->results.len && c->s->errors == errors; i++) {
        const KernelWrite *w = c->writes;
        while (w && w->result != item->results.data[i])
            w = w->next;
        if (!w && item->results.data[i]->type->kind != TYPE_ERROR)
            report(c->s, item->results.data[i]->span, E2127, "`%s` is never written",
                   item->results.data[i]->name);
    }
}

// ---- The kernel of an op -----------------------------------------------------------------------

static void misfit(Checker *c, Item *op, Item *kernel, Span at, const char *what) {
    Diag *d = report(c->s, op->name_span, E2126, "the kernel `%s` does not fit `%s`: %s",
                     kernel->name, op->name, what);
    diag_note(c->s, d, at, "it is declared here");
}

static bool same_params(Checker *c, Item *op, Item *kernel, const Subst *s) {
    if (op->params.len != kernel->params.len) {
        misfit(c, op, kernel, kernel->name_span,
               arena_printf(c->a, "it has %d parameter%s, not %d", kernel->params.len,
                            kernel->params.len == 1 ? "" : "s", op->params.len));
        return false;
    }
    for (int i = 0; i < op->params.len; i++) {
        const Param *p = op->params.data[i], *q = kernel->params.data[i];
        const Type *t = subst_type(c->a, c->dims, q->type, s);
        if (p->type->kind == TYPE_ERROR || t->kind == TYPE_ERROR)
            return false;
        if (type_equal(p->type, t, c->facts))
            continue;
        misfit(c, op, kernel, q->span,
               arena_printf(c->a, "its parameter `%s` is %s, not %s", q->name, type_text(c->a, t),
                            type_text(c->a, p->type)));
        return false;
    }
    return true;
}

static void same_results(Checker *c, Item *op, Item *kernel, const Subst *s) {
    int n = kernel->results.len;
    const Type **types = NEW_N(c->a, const Type *, n + 1);
    for (int i = 0; i < n; i++) {
        types[i] = subst_type(c->a, c->dims, kernel->results.data[i]->type, s);
        if (types[i]->kind == TYPE_ERROR)
            return;
    }
    const Type *t = n == 1 ? types[0] : type_tuple(c->a, n, types);
    if (op->type->kind != TYPE_ERROR && !type_equal(op->type, t, c->facts))
        misfit(c, op, kernel, kernel->results.data[0]->span,
               arena_printf(c->a, "it writes %s, not %s", type_text(c->a, t),
                            type_text(c->a, op->type)));
}

// `op f(...) -> R kernel k<args>`: the kernel takes what the op takes and writes what it gives. Its
// where clauses need not hold: where they do not, the body runs.
void check_binding(Checker *c, Item *op) {
    if (!op->kernel)
        return;
    Ref ref = lookup(c, op->kernel);
    Item *kernel = ref.item;
    if (ref.kind == REF_NONE) {
        unknown_name(c, op->kernel, op->name_span);
        return;
    }
    if (!kernel || kernel->kind != ITEM_KERNEL) {
        report(c->s, op->name_span, E1208, "`%s` is not a kernel", op->kernel);
        return;
    }
    check_signature(c->p, kernel);
    if (kernel->signature != CHECK_DONE)
        return;
    GenericArg *args = NEW_N(c->a, GenericArg, kernel->generics.len + 1);
    if (!resolve_generic_args(c, kernel, &op->kernel_args, op->name_span, args) ||
        !finish_generics(c, kernel, args, op->name_span))
        return;
    int errors = c->s->errors;
    check_bounds(c, kernel, args, op->name_span);
    if (c->s->errors != errors)
        return;
    Subst s = {binding_of(c, kernel, args), NULL};
    if (same_params(c, op, kernel, &s))
        same_results(c, op, kernel, &s);
}
