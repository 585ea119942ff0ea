// Types, shapes, dimensions and generic arguments as written, resolved in a scope.
#include "check/internal.h"
#include <string.h>

const Dim *resolve_dim(Checker *c, Expr *e) {
    if (!e->type)
        check_expr(c, e, NULL);
    if (is_error(e))
        return NULL;
    if (!e->dim) {
        Diag *d = report(c->s, e->span, E2123, "a compile-time integer is needed here");
        diag_note(c->s, d, (Span){0}, "the expression has the type %s", type_text(c->a, e->type));
        return NULL;
    }
    return e->dim;
}

// A sum of non-negative terms needs no proof that it is not negative: most dimensions are such.
bool is_negative(Checker *c, const Dim *d) {
    bool plain = true;
    for (int i = 0; i < dim_terms(d); i++)
        plain &= dim_coefficient(d, i) >= 0;
    return !plain && facts_prove(c->facts, d, REL_LT, dim_const(c->dims, 0));
}

// Generics bound may make a dimension negative, or leave the range of numbers. False after E2208 or
// E2105.
bool sound_shape(Checker *c, const Type *t, Span span) {
    for (int i = 0; i < t->rank; i++) {
        const Dim *d = t->axes[i].dim;
        if (!d || (dim_valid(d) && !is_negative(c, d)))
            continue;
        if (dim_valid(d))
            report(c->s, span, E2208, "%s has the negative dimension `%s`", type_text(c->a, t),
                   dim_text(c->a, d));
        else
            report(c->s, span, E2105, "a dimension leaves the range of i64");
        return false;
    }
    for (int i = 0; i < t->item_count; i++) {
        if (!sound_shape(c, t->items[i], span))
            return false;
    }
    return true;
}

// A dimension of a shape: not provably negative.
static const Dim *shape_dim(Checker *c, Expr *e) {
    const Dim *d = resolve_dim(c, e);
    if (d && is_negative(c, d)) {
        report(c->s, e->span, E2208, "the dimension `%s` is negative", dim_text(c->a, d));
        return NULL;
    }
    return d;
}

static const Generic *find_pack(Checker *c, Name name, Span span) {
    Ref ref = lookup(c, name);
    if (ref.kind == REF_GENERIC && ref.generic->kind == GENERIC_SHAPE)
        return ref.generic;
    if (ref.kind == REF_NONE)
        unknown_name(c, name, span);
    else
        report(c->s, span, E3106, "`%s` is not a shape pack", name);
    return NULL;
}

bool too_many_axes(Checker *c, int axes, Span span) {
    if (axes <= TYPE_MOST_AXES)
        return false;
    report(c->s, span, E2190, "%d axes are more than %d", axes, TYPE_MOST_AXES);
    return true;
}

const Axis *resolve_shape(Checker *c, const ShapeVec *shape, int *count) {
    Axis *axes = NEW_N(c->a, Axis, shape->len + 1);
    bool good = true;
    int plain = 0;
    for (int i = 0; i < shape->len; i++) {
        const ShapeItem *item = &shape->data[i];
        plain += !item->pack;
        if (plain == TYPE_MOST_AXES + 1)
            good &= !too_many_axes(c, shape->len, item->span);
        if (item->pack)
            axes[i].pack = find_pack(c, item->pack, item->span);
        else
            axes[i].dim = shape_dim(c, item->expr);
        good &= axes[i].pack || axes[i].dim;
    }
    *count = shape->len;
    return good ? axes : NULL;
}

// ---- Named types -------------------------------------------------------------------------------

// The item a path of one or two names means; reports E1201, E1203.
static Item *path_item(Checker *c, const AstType *t) {
    Ref ref = lookup(c, t->path.data[0]);
    if (ref.kind == REF_MODULE && t->path.len == 2) {
        Item *item = module_item(ref.module, t->path.data[1]);
        if (!item)
            report(c->s, t->span, E1201, "`%s` has no item `%s`", ref.module->key, t->path.data[1]);
        else if (!item->pub)
            report(c->s, t->span, E1203, "`%s` is not public in `%s`", item->name, ref.module->key);
        return item && item->pub ? item : NULL;
    }
    if (t->path.len != 1 || ref.kind == REF_NONE) {
        unknown_name(c, t->path.data[0], t->span);
        return NULL;
    }
    if (!ref.item)
        report(c->s, t->span, E1208, "`%s` is not a type", t->path.data[0]);
    return ref.item;
}

// An instance of a block or a struct.
static const Type *instance_type(Checker *c, Item *item, AstType *t) {
    int n = item->generics.len;
    GenericArg *args = NEW_N(c->a, GenericArg, n + 1);
    if (!resolve_generic_args(c, item, &t->args, t->span, args) ||
        !finish_generics(c, item, args, t->span))
        return type_error();
    check_bounds(c, item, args, t->span);
    Subst s = {binding_of(c, item, args), NULL};
    prove_where(c, item, &s, t->span);
    return item->kind == ITEM_BLOCK ? type_block(c->a, item, item->name, n, args)
                                    : type_struct(c->a, item, item->name, n, args);
}

static const Type *alias_type(Checker *c, Item *item, AstType *t) {
    GenericArg *args = NEW_N(c->a, GenericArg, item->generics.len + 1);
    if (!item->type || !resolve_generic_args(c, item, &t->args, t->span, args) ||
        !finish_generics(c, item, args, t->span))
        return type_error();
    int errors = c->s->errors;
    check_bounds(c, item, args, t->span);
    if (c->s->errors != errors)
        return type_error();
    Subst s = {binding_of(c, item, args), NULL};
    const Type *type = subst_type(c->a, c->dims, item->type, &s);
    return sound_shape(c, type, t->span) ? type : type_error();
}

static const Type *named_item(Checker *c, AstType *t) {
    Item *item = path_item(c, t);
    if (!item)
        return type_error();
    if (item->signature == CHECK_RUNNING) {
        report(c->s, t->span, item->kind == ITEM_BLOCK ? E2119 : E2122, "`%s` is defined by itself",
               item->name);
        return type_error();
    }
    check_signature(c->p, item);
    if (item->signature != CHECK_DONE)
        return type_error(); // reported
    switch (item->kind) {
    case ITEM_BLOCK:
    case ITEM_STRUCT:
        return instance_type(c, item, t);
    case ITEM_TYPE:
        return alias_type(c, item, t);
    case ITEM_ENUM:
        return type_nominal(c->a, TYPE_ENUM, item, item->name);
    default:
        report(c->s, t->span, E1208, "`%s` is %s %s, not a type", item->name,
               item_article(item->kind), item_kind_text(item->kind));
        return type_error();
    }
}

static bool scalar_type(Checker *c, AstType *t, Elem *elem) {
    Dtype dtype;
    if (t->kind != AST_TYPE_NAMED || t->path.len != 1 || t->args.len)
        return false;
    Name name = t->path.data[0];
    if (dtype_find(name, &dtype)) {
        *elem = elem_of(dtype);
        return true;
    }
    Ref ref = lookup(c, name);
    if (ref.kind != REF_GENERIC || ref.generic->kind < GENERIC_DTYPE)
        return false;
    *elem = (Elem){0, ref.generic};
    return true;
}

Elem resolve_elem(Checker *c, AstType *t) {
    Elem elem = {0};
    if (scalar_type(c, t, &elem))
        return elem;
    const Type *type = resolve_type(c, t);
    if (type->kind == TYPE_TENSOR && !type->rank)
        return type->elem;
    if (type->kind != TYPE_ERROR)
        report(c->s, t->span, E1208, "an element type is needed here, not %s",
               type_text(c->a, type));
    return elem_of(DT_COUNT);
}

static const Type *tensor_type(Checker *c, AstType *t) {
    int rank = 0;
    const Axis *axes = resolve_shape(c, &t->shape, &rank);
    Elem elem = resolve_elem(c, t->elem);
    if (!axes || (!elem.generic && elem.dtype == DT_COUNT))
        return type_error();
    return type_tensor(c->a, elem, rank, axes);
}

// How many tensors a value has, counted as far as MOST_PARTS: a short program can name 2^40.
static int type_parts(const Type *t, int depth) {
    enum { DEEPEST = 64 };
    if (depth > DEEPEST)
        return MOST_PARTS + 1;
    int n = t->kind != TYPE_TUPLE && t->kind != TYPE_STRUCT;
    for (int i = 0; i < t->item_count && n <= MOST_PARTS; i++)
        n += type_parts(t->items[i], depth + 1);
    for (int i = 0; t->kind == TYPE_STRUCT && i < t->decl->fields.len && n <= MOST_PARTS; i++) {
        const Type *field = t->decl->fields.data[i].type;
        n += field ? type_parts(field, depth + 1) : 1;
    }
    return n;
}

bool too_large(Checker *c, const Type *t, Span span) {
    if (type_parts(t, 0) <= MOST_PARTS)
        return false;
    report(c->s, span, E2190, "a type of more than %d parts, or too deep", MOST_PARTS);
    return true;
}

static const Type *tuple_type(Checker *c, AstType *t) {
    const Type **items = NEW_N(c->a, const Type *, t->items.len);
    for (int i = 0; i < t->items.len; i++) {
        items[i] = resolve_type(c, t->items.data[i]);
        if (items[i]->kind == TYPE_ERROR)
            return type_error();
    }
    const Type *type = type_tuple(c->a, t->items.len, items);
    return too_large(c, type, t->span) ? type_error() : type;
}

static const Type *array_type(Checker *c, AstType *t) {
    const Type *block = resolve_type(c, t->elem);
    const Dim *count = shape_dim(c, t->count);
    if (block->kind == TYPE_ERROR || !count)
        return type_error();
    if (block->kind != TYPE_BLOCK) {
        report(c->s, t->elem->span, E4101, "only sub-blocks form arrays, not %s",
               type_text(c->a, block));
        return type_error();
    }
    return type_array(c->a, block, count);
}

const Type *resolve_type(Checker *c, AstType *t) {
    const Type *type = type_error();
    Elem elem = {0};
    switch (t->kind) {
    case AST_TYPE_NAMED:
        type = scalar_type(c, t, &elem) ? type_scalar(c->a, elem) : named_item(c, t);
        break;
    case AST_TYPE_TENSOR:
        type = tensor_type(c, t);
        break;
    case AST_TYPE_TUPLE:
        type = tuple_type(c, t);
        break;
    case AST_TYPE_ARRAY:
        type = array_type(c, t);
        break;
    }
    if (t->optional && type->kind == TYPE_OPTIONAL) {
        report(c->s, t->span, E2101, "%s is optional already", type_text(c->a, type));
        return type_error();
    }
    return t->optional && type->kind != TYPE_ERROR ? type_optional(c->a, type) : type;
}

// ---- Generic arguments -------------------------------------------------------------------------

Binding binding_of(Checker *c, Item *decl, const GenericArg *args) {
    int n = decl->generics.len;
    const Generic **generics = NEW_N(c->a, const Generic *, n + 1);
    for (int i = 0; i < n; i++)
        generics[i] = decl->generics.data[i].generic;
    return (Binding){generics, args, n};
}

const Subst *subst_block(Checker *c, const Type *block) {
    Subst *s = NEW(c->a, Subst);
    s->binding = binding_of(c, block->decl, block->args);
    return s;
}

// A lone name given as a type where a dimension is meant.
static Expr *type_as_expr(Checker *c, const AstType *t) {
    if (t->kind != AST_TYPE_NAMED || t->args.len || t->optional)
        return NULL;
    Expr *e = expr_new(c->s, EXPR_NAME, t->span);
    e->name = t->path.data[0];
    for (int i = 1; i < t->path.len; i++) {
        Expr *m = expr_new(c->s, EXPR_MEMBER, t->span);
        m->a = e;
        m->name = t->path.data[i];
        m->name_span = t->span;
        e = m;
    }
    return e;
}

static bool resolve_dim_arg(Checker *c, AstGenericArg *arg, GenericArg *out) {
    Expr *e = arg->expr ? arg->expr : arg->type ? type_as_expr(c, arg->type) : NULL;
    if (!e) {
        report(c->s, arg->span, E2111, "a dimension is needed here");
        return false;
    }
    out->dim = shape_dim(c, e);
    return out->dim != NULL;
}

static bool resolve_arg(Checker *c, const GenericDecl *g, AstGenericArg *arg, GenericArg *out) {
    *out = (GenericArg){.bound = true};
    if (g->kind == GENERIC_DIM)
        return resolve_dim_arg(c, arg, out);
    if (g->kind == GENERIC_SHAPE) {
        if (!arg->is_shape) {
            report(c->s, arg->span, E2111, "the pack `*%s` needs a shape such as [B, S]", g->name);
            return false;
        }
        out->axes = resolve_shape(c, &arg->shape, &out->axis_count);
        return out->axes != NULL;
    }
    if (!arg->type) {
        report(c->s, arg->span, E2111, "`%s` needs an element type such as f32", g->name);
        return false;
    }
    out->elem = resolve_elem(c, arg->type);
    return out->elem.generic || out->elem.dtype != DT_COUNT;
}

// Explicit arguments in order of declaration; the others stay unbound.
bool resolve_generic_args(Checker *c, Item *decl, AstGenericArgVec *args, Span span,
                          GenericArg *out) {
    bool good = true;
    if (args->len > decl->generics.len) {
        Diag *d =
            report(c->s, span, E2111, "`%s` has %d generic parameters, %d arguments are given",
                   decl->name, decl->generics.len, args->len);
        diag_note(c->s, d, decl->name_span, "it is declared here");
        return false;
    }
    for (int i = 0; i < args->len; i++) {
        if (resolve_arg(c, &decl->generics.data[i], &args->data[i], &out[i]))
            continue;
        out[i] = (GenericArg){0};
        good = false;
    }
    return good;
}

// Defaults for what is unbound; E2110 for what then still is.
bool finish_generics(Checker *c, Item *decl, GenericArg *args, Span span) {
    for (int i = 0; i < decl->generics.len; i++) {
        GenericDecl *g = &decl->generics.data[i];
        if (!args[i].bound && g->value.bound) {
            Subst s = {binding_of(c, decl, args), NULL};
            args[i] = g->value;
            args[i].dim = subst_dim(c->dims, args[i].dim, &s);
            args[i].elem = subst_elem(args[i].elem, &s);
        }
        if (!args[i].bound) {
            Diag *d = report(c->s, span, E2110, "the generic `%s` of `%s` can't be inferred",
                             g->name, decl->name);
            diag_note(c->s, d, g->span, "it is declared here");
            diag_help(c->s, d, "write it: %s<...>", decl->name);
            return false;
        }
    }
    return true;
}

// Dtype generics meet their bounds: E2112.
void check_bounds(Checker *c, Item *decl, const GenericArg *args, Span span) {
    for (int i = 0; i < decl->generics.len; i++) {
        const GenericDecl *g = &decl->generics.data[i];
        if (g->kind > GENERIC_DTYPE && args[i].bound && !elem_satisfies(args[i].elem, g->kind)) {
            static const char *const bounds[] = {"", "", "", "Numeric", "Integer", "Float"};
            Diag *d = report(c->s, span, E2112, "`%s` of `%s` is %s, which is not %s", g->name,
                             decl->name, elem_text(args[i].elem), bounds[g->kind]);
            diag_note(c->s, d, g->span, "the bound stands here");
        }
    }
}

static void where_failed(Checker *c, Item *decl, const Where *w, const Dim *l, const Dim *r,
                         Span span) {
    StrBuf text = strbuf_new(c->a);
    ast_expr_text(w->a, &text);
    strbuf_printf(&text, " %s ", binary_text(w->rel));
    ast_expr_text(w->b, &text);
    Diag *d = report(c->s, span, E2206, "`%s` needs `%s`, which does not follow here", decl->name,
                     text.data);
    diag_note(c->s, d, w->span, "with the generics bound, it reads `%s %s %s`", dim_text(c->a, l),
              binary_text(w->rel), dim_text(c->a, r));
    if (c->fn || c->block)
        diag_help(c->s, d, "add it to the `where` of `%s`", c->fn ? c->fn->name : c->block->name);
}

static Relation relation_of(BinaryOp op) {
    switch (op) {
    case BINARY_NE:
        return REL_NE;
    case BINARY_LT:
        return REL_LT;
    case BINARY_LE:
        return REL_LE;
    case BINARY_GT:
        return REL_GT;
    case BINARY_GE:
        return REL_GE;
    default:
        return REL_EQ;
    }
}

// One clause of decl's under the substitution. False after E2206.
bool prove_clause(Checker *c, Item *decl, const Where *w, const Subst *s, Span span) {
    if (!w->left || !w->right)
        return true;
    const Dim *l = subst_dim(c->dims, w->left, s), *r = subst_dim(c->dims, w->right, s);
    if (facts_prove(c->facts, l, relation_of(w->rel), r))
        return true;
    where_failed(c, decl, w, l, r, span);
    return false;
}

// Proves decl's where clauses under the substitution; one E2206 for each that fails.
bool prove_where(Checker *c, Item *decl, const Subst *s, Span span) {
    bool good = true;
    for (int i = 0; i < decl->where.len; i++)
        good &= prove_clause(c, decl, &decl->where.data[i], s, span);
    return good;
}
