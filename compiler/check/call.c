// Calls: the callee, generics inferred from the arguments, defaults, where clauses.
#include "check/internal.h"

// ---- Inference ---------------------------------------------------------------------------------

typedef struct {
    Checker *c;
    Item *decl;
    GenericArg *args; // of decl
} Inference;

static int generic_number(const Item *decl, const Generic *g) {
    for (int i = 0; i < decl->generics.len; i++) {
        if (decl->generics.data[i].generic == g)
            return i;
    }
    return -1;
}

static void infer_axis(Inference *in, Axis pattern, Axis axis) {
    if (pattern.pack || axis.pack || !dim_is_symbol(pattern.dim))
        return;
    for (int i = 0; i < in->decl->generics.len; i++) {
        const Generic *g = in->decl->generics.data[i].generic;
        if (g->dim == pattern.dim && !in->args[i].bound)
            in->args[i] = (GenericArg){.dim = axis.dim, .bound = true};
    }
}

static void infer_tensor(Inference *in, const Type *pattern, const Type *type) {
    if (pattern->elem.generic) {
        int g = generic_number(in->decl, pattern->elem.generic);
        if (g >= 0 && !in->args[g].bound)
            in->args[g] = (GenericArg){.elem = type->elem, .bound = true};
    }
    Subst s = {binding_of(in->c, in->decl, in->args), NULL};
    int n = 0, open = -1;
    const Axis *axes = subst_axes(in->c->a, in->c->dims, pattern->axes, pattern->rank, &s, &n);
    for (int i = 0; i < n; i++) {
        int g = axes[i].pack ? generic_number(in->decl, axes[i].pack) : -1;
        if (g >= 0 && !in->args[g].bound)
            open = open < 0 ? i : open;
    }
    int cover = open >= 0 ? type->rank - (n - 1) : 1;
    if (cover < 0 || (open < 0 && n != type->rank))
        return;
    for (int i = 0; i < n; i++) {
        if (i != open) {
            infer_axis(in, axes[i], type->axes[i < open || open < 0 ? i : i + cover - 1]);
            continue;
        }
        int g = generic_number(in->decl, axes[i].pack);
        in->args[g] =
            (GenericArg){.axes = cover ? type->axes + i : NULL, .axis_count = cover, .bound = true};
    }
}

static void infer_args(Inference *in, const Type *pattern, const Type *type) {
    for (int i = 0; i < pattern->arg_count && i < type->arg_count; i++) {
        const GenericArg *p = &pattern->args[i], *a = &type->args[i];
        if (p->dim && a->dim)
            infer_axis(in, (Axis){p->dim, NULL}, (Axis){a->dim, NULL});
        for (int k = 0; k < p->axis_count && p->axis_count == a->axis_count; k++)
            infer_axis(in, p->axes[k], a->axes[k]);
        int g = -1;
        if (!p->dim && p->axis_count == 1 && p->axes[0].pack)
            g = generic_number(in->decl, p->axes[0].pack);
        else if (!p->dim && !p->axes && p->elem.generic)
            g = generic_number(in->decl, p->elem.generic);
        if (g >= 0 && !in->args[g].bound)
            in->args[g] = *a;
    }
}

static void infer(Inference *in, const Type *pattern, const Type *type) {
    if (pattern->kind == TYPE_STRUCT && type->kind == TYPE_STRUCT && pattern->decl == type->decl)
        infer_args(in, pattern, type);
    if (pattern->kind == TYPE_OPTIONAL && type->kind == TYPE_OPTIONAL) {
        infer(in, pattern->items[0], type->items[0]);
    } else if (pattern->kind == TYPE_TENSOR && type->kind == TYPE_TENSOR) {
        infer_tensor(in, pattern, type);
    } else if (pattern->kind == TYPE_TUPLE && type->kind == TYPE_TUPLE) {
        for (int i = 0; i < pattern->item_count && i < type->item_count; i++)
            infer(in, pattern->items[i], type->items[i]);
    }
}

// ---- Arguments ---------------------------------------------------------------------------------

static int param_number(const Item *item, Name name) {
    for (int i = 0; i < item->params.len; i++) {
        if (item->params.data[i]->name == name)
            return i;
    }
    return -1;
}

// Puts every argument at its parameter. False after E2102.
static bool place_args(Checker *c, Expr *e, Item *item) {
    int n = item->params.len;
    e->values = NEW_N(c->a, Expr *, n + 1);
    e->value_count = n;
    for (int i = 0; i < e->args.len; i++) {
        Arg *arg = &e->args.data[i];
        int k = arg->keyword ? param_number(item, arg->keyword) : i;
        if (k < 0 || k >= n || e->values[k]) {
            Diag *d;
            if (k < 0)
                d = report(c->s, arg->span, E2102, "`%s` has no parameter `%s`", item->name,
                           arg->keyword);
            else if (k >= n)
                d = report(c->s, arg->span, E2102, "`%s` takes %d argument%s, not %d", item->name,
                           n, n == 1 ? "" : "s", e->args.len);
            else
                d = report(c->s, arg->span, E2102, "the parameter `%s` is given twice",
                           item->params.data[k]->name);
            diag_note(c->s, d, item->name_span, "it is declared here");
            return false;
        }
        e->values[k] = arg->value;
    }
    for (int k = 0; k < n; k++) {
        const Param *p = item->params.data[k];
        if (!e->values[k] && !p->fallback) {
            Diag *d = report(c->s, e->span, E2102, "the argument `%s` of `%s` is missing", p->name,
                             item->name);
            diag_note(c->s, d, p->span, "it is declared here");
            return false;
        }
    }
    return true;
}

// Does a type name an element generic of the callee, still to be inferred?
static bool is_open(const Item *item, const Type *t) {
    bool open =
        t->kind == TYPE_TENSOR && t->elem.generic && generic_number(item, t->elem.generic) >= 0;
    for (int i = 0; i < t->item_count; i++)
        open |= is_open(item, t->items[i]);
    return open;
}

// The arguments, with the types that are known before inference as the context of their literals.
static bool check_values(Checker *c, Expr *e, Item *item, const Subst *s) {
    bool good = true;
    for (int k = 0; k < e->value_count; k++) {
        if (!e->values[k])
            continue;
        const Type *want = subst_type(c->a, c->dims, item->params.data[k]->type, s);
        check_expr(c, e->values[k], is_open(item, want) ? NULL : want);
        good &= !is_error(e->values[k]) && item->params.data[k]->type->kind != TYPE_ERROR;
    }
    return good;
}

static void note_source(Checker *c, Item *item, const Param *p, int before) {
    if (c->s->errors == before || !c->s->diags.len)
        return;
    diag_note(c->s, vec_last(&c->s->diags), p->span, "the parameter `%s` of `%s` is %s", p->name,
              item->name, type_text(c->a, p->type));
}

// ---- The call ----------------------------------------------------------------------------------

static bool match_values(Checker *c, Expr *e, Item *item, const Subst *s) {
    bool good = true;
    for (int k = 0; k < e->value_count; k++) {
        if (!e->values[k])
            continue;
        const Param *p = item->params.data[k];
        const Type *want = subst_type(c->a, c->dims, p->type, s);
        int before = c->s->errors;
        const char *what = arena_printf(c->a, "the argument `%s`", p->name);
        good &= expect_type(c, e->values[k], want, e->values[k]->span, what);
        note_source(c, item, p, before);
    }
    return good;
}

static void check_fn_call(Checker *c, Expr *e, Item *item) {
    e->item = item;
    make_error(e);
    GenericArg *args = NEW_N(c->a, GenericArg, item->generics.len + 1);
    e->bound = args;
    e->bound_count = item->generics.len;
    if (c->callees)
        vec_push(c->a, c->callees, item);
    const Subst *outer = e->receiver ? subst_block(c, e->receiver->type) : NULL;
    if (!place_args(c, e, item) || !resolve_generic_args(c, item, &e->generics, e->span, args))
        return;
    Subst explicit = {binding_of(c, item, args), outer};
    if (!check_values(c, e, item, &explicit))
        return;
    Inference in = {c, item, args};
    for (int k = 0; k < e->value_count; k++) {
        const Type *pattern = subst_type(c->a, c->dims, item->params.data[k]->type, outer);
        if (e->values[k])
            infer(&in, pattern, e->values[k]->type);
    }
    if (!finish_generics(c, item, args, e->span))
        return;
    Subst s = {binding_of(c, item, args), outer};
    check_bounds(c, item, args, e->span);
    if (!match_values(c, e, item, &s))
        return;
    prove_where(c, item, &s, e->span);
    e->type = subst_type(c->a, c->dims, item->type, &s);
    if (!sound_shape(c, e->type, e->span))
        make_error(e);
}

static void struct_arg_fault(Checker *c, Item *item, const Arg *arg) {
    Diag *d;
    bool known = false;
    for (int k = 0; k < item->fields.len; k++)
        known |= item->fields.data[k].name == arg->keyword;
    if (!arg->keyword)
        d = report(c->s, arg->span, E2102, "the fields of `%s` are given by name", item->name);
    else
        d = report(c->s, arg->span, E2102,
                   known ? "the field `%s` of `%s` is given twice"
                         : "there is no field `%s` in `%s`",
                   arg->keyword, item->name);
    diag_note(c->s, d, item->name_span, "it is declared here");
}

// Puts every argument at its field. False after E2102.
static bool place_fields(Checker *c, Expr *e, Item *item) {
    bool good = true;
    e->values = NEW_N(c->a, Expr *, item->fields.len + 1);
    e->value_count = item->fields.len;
    for (int i = 0; i < e->args.len; i++) {
        Arg *arg = &e->args.data[i];
        int k = 0;
        while (k < item->fields.len && item->fields.data[k].name != arg->keyword)
            k++;
        if (k < item->fields.len && !e->values[k]) {
            e->values[k] = arg->value;
            continue;
        }
        if (good)
            struct_arg_fault(c, item, arg);
        good = false;
        check_expr(c, arg->value, NULL);
    }
    return good;
}

// The fields' values, which may tell generics that are not written.
static bool check_fields(Checker *c, Expr *e, Item *item, GenericArg *args) {
    Inference in = {c, item, args};
    bool good = true;
    for (int k = 0; k < item->fields.len; k++) {
        if (!e->values[k])
            continue;
        Subst s = {binding_of(c, item, args), NULL};
        const Type *want = subst_type(c->a, c->dims, item->fields.data[k].type, &s);
        check_expr(c, e->values[k], is_open(item, want) ? NULL : want);
        good &= !is_error(e->values[k]);
        infer(&in, want, e->values[k]->type);
    }
    return good;
}

static void check_struct_call(Checker *c, Expr *e, Item *item) {
    e->item = item;
    make_error(e);
    GenericArg *args = NEW_N(c->a, GenericArg, item->generics.len + 1);
    e->bound = args;
    e->bound_count = item->generics.len;
    bool placed = place_fields(c, e, item);
    bool given = resolve_generic_args(c, item, &e->generics, e->span, args);
    bool good = check_fields(c, e, item, args) && placed;
    for (int k = 0; k < item->fields.len && good; k++) {
        if (!e->values[k]) {
            report(c->s, e->span, E2102, "the field `%s` is missing", item->fields.data[k].name);
            good = false;
        }
    }
    if (!good || !given || !finish_generics(c, item, args, e->span))
        return;
    int errors = c->s->errors;
    check_bounds(c, item, args, e->span);
    if (c->s->errors != errors)
        return;
    Subst s = {binding_of(c, item, args), NULL};
    for (int k = 0; k < item->fields.len; k++) {
        const Type *want = subst_type(c->a, c->dims, item->fields.data[k].type, &s);
        good &= expect_type(c, e->values[k], want, e->values[k]->span,
                            arena_printf(c->a, "the field `%s`", item->fields.data[k].name));
    }
    if (good)
        e->type = type_struct(c->a, item, item->name, item->generics.len, args);
}

// False, after a report, while the signature itself is being resolved.
static bool signature_known(Checker *c, Expr *e, Item *item) {
    check_signature(c->p, item);
    if (item->signature == CHECK_DONE)
        return true;
    if (item->signature == CHECK_RUNNING)
        report(c->s, e->a->span, E2119, "`%s` is called in its own declaration", item->name);
    for (int i = 0; i < e->args.len; i++)
        make_error(e->args.data[i].value);
    make_error(e);
    return false;
}

static void call_item(Checker *c, Expr *e, Item *item) {
    bool callable = item->kind == ITEM_FN || item->kind == ITEM_OP || item->kind == ITEM_ENTRY ||
                    item->kind == ITEM_STRUCT;
    if (callable && !signature_known(c, e, item))
        return;
    switch (item->kind) {
    case ITEM_FN:
    case ITEM_OP:
    case ITEM_ENTRY:
        check_fn_call(c, e, item);
        return;
    case ITEM_STRUCT:
        check_struct_call(c, e, item);
        return;
    case ITEM_KERNEL:
        report(c->s, e->a->span, E2126, "the kernel `%s` can't be called", item->name);
        break;
    default:
        report(c->s, e->a->span, E2106, "`%s` is %s %s and can't be called", item->name,
               item_article(item->kind), item_kind_text(item->kind));
    }
    make_error(e);
}

static void check_args_only(Checker *c, Expr *e) {
    for (int i = 0; i < e->args.len; i++) {
        if (!e->args.data[i].value->type)
            check_expr(c, e->args.data[i].value, NULL);
    }
    make_error(e);
}

// base.method(...), base being a sub-block, or module.fn(...).
static void call_member(Checker *c, Expr *e) {
    Expr *callee = e->a;
    Ref ref = {0};
    if (callee->a->kind == EXPR_NAME)
        ref = lookup(c, callee->a->name);
    if (ref.kind == REF_MODULE) {
        Item *item = module_item(ref.module, callee->name);
        if (item && item->pub) {
            call_item(c, e, item);
            return;
        }
        report(c->s, callee->name_span, item ? E1203 : E1201, "`%s` has no public item `%s`",
               ref.module->key, callee->name);
        check_args_only(c, e);
        return;
    }
    check_expr(c, callee->a, NULL);
    Item *method = NULL;
    if (callee->a->type->kind == TYPE_BLOCK)
        method = block_item(callee->a->type->decl, callee->name);
    if (!method) {
        if (!is_error(callee->a))
            report(c->s, callee->name_span, E2107, "%s has no method `%s`",
                   type_text(c->a, callee->a->type), callee->name);
        check_args_only(c, e);
        return;
    }
    if (!method->pub && method->kind != ITEM_ENTRY && method->module != c->module)
        report(c->s, callee->name_span, E1203, "`%s` is not public in `%s`", method->name,
               method->block->name);
    e->receiver = callee->a;
    method->used = true;
    call_item(c, e, method);
}

void check_call(Checker *c, Expr *e, const Type *want) {
    e->builtin = -1;
    if (e->a->kind == EXPR_MEMBER) {
        call_member(c, e);
        return;
    }
    Ref ref = {0};
    if (e->a->kind == EXPR_NAME)
        ref = lookup(c, e->a->name);
    if (ref.kind == REF_BUILTIN) {
        e->builtin = ref.builtin;
        check_builtin(c, e, want);
    } else if (ref.item) {
        call_item(c, e, ref.item);
    } else {
        if (e->a->kind == EXPR_NAME && ref.kind == REF_NONE)
            unknown_name(c, e->a->name, e->a->span);
        else
            report(c->s, e->a->span, E2106, "this is not a function");
        check_args_only(c, e);
    }
}
