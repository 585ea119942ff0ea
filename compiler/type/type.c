// Types: construction, equality, substitution.
#include "type/type.h"
#include <string.h>

static const Type simple[] = {
    [TYPE_ERROR] = {.kind = TYPE_ERROR}, [TYPE_UNIT] = {.kind = TYPE_UNIT},
    [TYPE_INT] = {.kind = TYPE_INT},     [TYPE_REAL] = {.kind = TYPE_REAL},
    [TYPE_NONE] = {.kind = TYPE_NONE},   [TYPE_SHAPE] = {.kind = TYPE_SHAPE},
};

const Type *type_simple(TypeKind kind) {
    return &simple[kind];
}

const Type *type_error(void) {
    return &simple[TYPE_ERROR];
}

const Type *type_unit(void) {
    return &simple[TYPE_UNIT];
}

const Type *type_tensor(Arena *a, Elem elem, int rank, const Axis *axes) {
    Type *t = NEW(a, Type);
    t->kind = TYPE_TENSOR;
    t->elem = elem;
    t->rank = rank;
    t->axes = rank ? arena_copy(a, axes, (size_t)rank * sizeof *axes) : NULL;
    return t;
}

const Type *type_scalar(Arena *a, Elem elem) {
    return type_tensor(a, elem, 0, NULL);
}

static Type *type_items(Arena *a, TypeKind kind, int n, const Type *const *items) {
    Type *t = NEW(a, Type);
    t->kind = kind;
    t->item_count = n;
    t->items = arena_copy(a, items, (size_t)n * sizeof *items);
    return t;
}

const Type *type_tuple(Arena *a, int n, const Type *const *items) {
    return type_items(a, TYPE_TUPLE, n, items);
}

const Type *type_optional(Arena *a, const Type *item) {
    return type_items(a, TYPE_OPTIONAL, 1, &item);
}

const Type *type_array(Arena *a, const Type *block, const Dim *count) {
    Type *t = type_items(a, TYPE_ARRAY, 1, &block);
    t->count = count;
    return t;
}

const Type *type_nominal(Arena *a, TypeKind kind, struct Item *decl, Name name) {
    Type *t = NEW(a, Type);
    t->kind = kind;
    t->decl = decl;
    t->decl_name = name;
    return t;
}

const Type *type_block(Arena *a, struct Item *decl, Name name, int n, const GenericArg *args) {
    Type *t = (Type *)type_nominal(a, TYPE_BLOCK, decl, name);
    t->arg_count = n;
    t->args = n ? arena_copy(a, args, (size_t)n * sizeof *args) : NULL;
    return t;
}

const Type *type_struct(Arena *a, struct Item *decl, Name name, int n, const GenericArg *args) {
    Type *t = (Type *)type_block(a, decl, name, n, args);
    t->kind = TYPE_STRUCT;
    return t;
}

bool elem_equal(Elem a, Elem b) {
    return a.generic == b.generic && (a.generic || a.dtype == b.dtype);
}

bool elem_is(Elem e, Dtype t) {
    return !e.generic && e.dtype == t;
}

bool elem_is_float(Elem e) {
    return e.generic ? e.generic->kind == GENERIC_FLOAT : dtype_is_float(e.dtype);
}

bool elem_is_integer(Elem e) {
    return e.generic ? e.generic->kind == GENERIC_INTEGER : dtype_is_integer(e.dtype);
}

bool elem_is_numeric(Elem e) {
    bool numeric = e.generic && e.generic->kind == GENERIC_NUMERIC;
    return numeric || elem_is_float(e) || elem_is_integer(e);
}

bool elem_satisfies(Elem e, GenericKind bound) {
    switch (bound) {
    case GENERIC_DTYPE:
        return true;
    case GENERIC_NUMERIC:
        return elem_is_numeric(e);
    case GENERIC_INTEGER:
        return elem_is_integer(e);
    case GENERIC_FLOAT:
        return elem_is_float(e);
    default:
        return false;
    }
}

const char *elem_text(Elem e) {
    return e.generic ? e.generic->name : dtype_name(e.dtype);
}

bool axis_equal(Axis a, Axis b, const Facts *facts) {
    if (a.pack || b.pack)
        return a.pack == b.pack;
    return a.dim == b.dim || (facts && facts_prove(facts, a.dim, REL_EQ, b.dim));
}

static bool args_equal(const Type *a, const Type *b, const Facts *facts) {
    for (int i = 0; i < a->arg_count; i++) {
        const GenericArg *x = &a->args[i], *y = &b->args[i];
        if (x->bound != y->bound || x->axis_count != y->axis_count || !x->dim != !y->dim)
            return false;
        if (x->dim && !axis_equal((Axis){x->dim, NULL}, (Axis){y->dim, NULL}, facts))
            return false;
        if (!x->dim && !x->axes && !elem_equal(x->elem, y->elem))
            return false;
        for (int k = 0; k < x->axis_count; k++) {
            if (!axis_equal(x->axes[k], y->axes[k], facts))
                return false;
        }
    }
    return true;
}

bool type_equal(const Type *a, const Type *b, const Facts *facts) {
    if (a == b || a->kind == TYPE_ERROR || b->kind == TYPE_ERROR)
        return true;
    if (a->kind != b->kind || a->rank != b->rank || a->item_count != b->item_count ||
        a->decl != b->decl || a->arg_count != b->arg_count)
        return false;
    if (a->kind == TYPE_TENSOR && !elem_equal(a->elem, b->elem))
        return false;
    if (a->kind == TYPE_ARRAY && !axis_equal((Axis){a->count, NULL}, (Axis){b->count, NULL}, facts))
        return false;
    for (int i = 0; i < a->rank; i++) {
        if (!axis_equal(a->axes[i], b->axes[i], facts))
            return false;
    }
    for (int i = 0; i < a->item_count; i++) {
        if (!type_equal(a->items[i], b->items[i], facts))
            return false;
    }
    return args_equal(a, b, facts);
}

// ---- Substitution ------------------------------------------------------------------------------

static const GenericArg *subst_lookup(const Subst *s, const Generic *g) {
    for (; s; s = s->next) {
        for (int i = 0; i < s->binding.count; i++) {
            if (s->binding.generics[i] == g)
                return s->binding.args[i].bound ? &s->binding.args[i] : NULL;
        }
    }
    return NULL;
}

static const Dim *lookup_dim(void *ctx, const Dim *symbol) {
    for (const Subst *s = ctx; s; s = s->next) {
        for (int i = 0; i < s->binding.count; i++) {
            const Generic *g = s->binding.generics[i];
            if (g->dim == symbol)
                return s->binding.args[i].bound ? s->binding.args[i].dim : NULL;
        }
    }
    return NULL;
}

const Dim *subst_dim(DimTable *t, const Dim *d, const Subst *s) {
    if (!s || !d || dim_is_const(d, NULL))
        return d;
    return dim_substitute(t, d, lookup_dim, (void *)s);
}

Elem subst_elem(Elem e, const Subst *s) {
    const GenericArg *arg = e.generic ? subst_lookup(s, e.generic) : NULL;
    return arg ? arg->elem : e;
}

const Axis *subst_axes(Arena *a, DimTable *t, const Axis *axes, int n, const Subst *s, int *count) {
    VEC(Axis) out = {0};
    for (int i = 0; i < n; i++) {
        const GenericArg *arg = axes[i].pack ? subst_lookup(s, axes[i].pack) : NULL;
        if (!axes[i].pack) {
            vec_push(a, &out, ((Axis){subst_dim(t, axes[i].dim, s), NULL}));
        } else if (!arg) {
            vec_push(a, &out, axes[i]);
        } else {
            for (int k = 0; k < arg->axis_count; k++)
                vec_push(a, &out, arg->axes[k]);
        }
    }
    *count = out.len;
    return out.data;
}

static GenericArg subst_arg(Arena *a, DimTable *t, GenericArg arg, const Subst *s) {
    if (arg.dim)
        arg.dim = subst_dim(t, arg.dim, s);
    else if (arg.axes || arg.axis_count)
        arg.axes = subst_axes(a, t, arg.axes, arg.axis_count, s, &arg.axis_count);
    else
        arg.elem = subst_elem(arg.elem, s);
    return arg;
}

const Type *subst_type(Arena *a, DimTable *t, const Type *type, const Subst *s) {
    if (!s || !type)
        return type;
    switch (type->kind) {
    case TYPE_TENSOR: {
        int n = 0;
        const Axis *axes = subst_axes(a, t, type->axes, type->rank, s, &n);
        return type_tensor(a, subst_elem(type->elem, s), n, axes);
    }
    case TYPE_TUPLE:
    case TYPE_OPTIONAL:
    case TYPE_ARRAY: {
        Type *copy = arena_copy(a, type, sizeof *type);
        copy->items = NEW_N(a, const Type *, type->item_count);
        for (int i = 0; i < type->item_count; i++)
            copy->items[i] = subst_type(a, t, type->items[i], s);
        copy->count = subst_dim(t, type->count, s);
        return copy;
    }
    case TYPE_BLOCK:
    case TYPE_STRUCT: {
        Type *copy = arena_copy(a, type, sizeof *type);
        GenericArg *args = NEW_N(a, GenericArg, type->arg_count);
        for (int i = 0; i < type->arg_count; i++)
            args[i] = subst_arg(a, t, type->args[i], s);
        copy->args = args;
        return copy;
    }
    default:
        return type;
    }
}
