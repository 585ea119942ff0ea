// Instances of blocks and functions, found again by their keys.
#include "lower/internal.h"
#include <string.h>

bool within(Lower *l, int count, int most, Span span, const char *what) {
    if (count > most && !l->failed)
        report(l->s, span, E2190, "more than %d %s", most, what);
    l->failed |= count > most;
    return !l->failed;
}

bool sound_dim(Lower *l, const Dim *d, Span span) {
    int64_t v = 0;
    bool good = dim_valid(d) && !(dim_is_const(d, &v) && v < 0);
    if (!good && !l->failed && dim_valid(d))
        report(l->s, span, E2208, "with the generics bound, a dimension is %lld", (long long)v);
    else if (!good && !l->failed)
        report(l->s, span, E2105, "with the generics bound, a dimension leaves the range of i64");
    l->failed |= !good;
    return good;
}

bool deeper(Lower *l, const Item *item) {
    enum { DEEPEST = 200 };
    return within(l, ++l->depth, DEEPEST, item->name_span,
                  "functions that call each other in a row");
}

const GenericArg *subst_args(Lower *l, const GenericArg *args, int n, const Subst *s) {
    GenericArg *out = NEW_N(l->a, GenericArg, n + 1);
    for (int i = 0; i < n; i++) {
        out[i] = args[i];
        if (args[i].dim)
            out[i].dim = subst_dim(l->dims, args[i].dim, s);
        else if (args[i].axes || args[i].axis_count)
            out[i].axes =
                subst_axes(l->a, l->dims, args[i].axes, args[i].axis_count, s, &out[i].axis_count);
        else
            out[i].elem = subst_elem(args[i].elem, s);
    }
    return out;
}

static bool same_args(const GenericArg *a, const GenericArg *b, int n) {
    for (int i = 0; i < n; i++) {
        if (a[i].bound != b[i].bound || a[i].dim != b[i].dim || !elem_equal(a[i].elem, b[i].elem) ||
            a[i].axis_count != b[i].axis_count)
            return false;
        for (int k = 0; k < a[i].axis_count; k++) {
            if (!axis_equal(a[i].axes[k], b[i].axes[k], NULL))
                return false;
        }
    }
    return true;
}

Binding binding_args(Lower *l, const Item *item, const GenericArg *args) {
    const Generic **generics = NEW_N(l->a, const Generic *, item->generics.len + 1);
    for (int i = 0; i < item->generics.len; i++)
        generics[i] = item->generics.data[i].generic;
    return (Binding){generics, args, item->generics.len};
}

// The item's own generics, then its block's.
const Subst *instance_subst(Lower *l, Item *item, const GenericArg *args, const BlockInst *self) {
    Subst *own = NEW(l->a, Subst);
    own->binding = binding_args(l, item, args);
    if (self) {
        Subst *outer = NEW(l->a, Subst);
        outer->binding = binding_args(l, self->decl, self->args);
        own->next = outer;
    }
    return own;
}

// ---- Blocks ------------------------------------------------------------------------------------

enum { MOST_BLOCKS = 65536, DEEPEST_BLOCK = 64 };

static const Type *inner_type(const Type *t) {
    return t->kind == TYPE_OPTIONAL ? t->items[0] : t;
}

static const Type *sub_block(const Type *t) {
    t = inner_type(t);
    return t->kind == TYPE_ARRAY ? t->items[0] : t->kind == TYPE_BLOCK ? t : NULL;
}

static const char *join_path(Lower *l, const char *path, const char *name) {
    return *path ? arena_printf(l->a, "%s.%s", path, name) : name;
}

// Are all the tensors that an optional sub-block requires in the weights?
static bool sub_present(Lower *l, Item *decl, const char *path, int depth) {
    if (depth > DEEPEST_BLOCK)
        return false; // block_instance refuses such a program
    for (int i = 0; i < decl->members.len; i++) {
        const Member *m = decl->members.data[i];
        const char *at = join_path(l, path, m->name);
        if (m->type->kind == TYPE_OPTIONAL || m->role == AST_STATE)
            continue;
        const Type *sub = sub_block(m->type);
        if (sub && m->type->kind == TYPE_ARRAY)
            at = join_path(l, at, "0");
        bool here = sub ? sub_present(l, sub->decl, at, depth + 1) : l->o->present(l->o->ctx, at);
        if (!here)
            return false;
    }
    return true;
}

static bool member_present(Lower *l, const Member *m, const char *path) {
    if (m->type->kind != TYPE_OPTIONAL)
        return true;
    const Type *sub = sub_block(m->type);
    if (!l->o->present)
        return false;
    return sub ? sub_present(l, sub->decl, path, 0) : l->o->present(l->o->ctx, path);
}

static bool same_block(const BlockInst *a, const BlockInst *b) {
    if (a->decl != b->decl || !same_args(a->args, b->args, a->decl->generics.len))
        return false;
    for (int i = 0; i < a->decl->members.len; i++) {
        if (a->present[i] != b->present[i] || a->subs[i] != b->subs[i])
            return false;
    }
    return true;
}

static BlockInst *block_instance(Lower *l, Item *decl, const GenericArg *args, const char *path,
                                 Span span);

static BlockInst *array_instance(Lower *l, const Type *t, const GenericArg *args, const char *path,
                                 const Subst *s, Span span) {
    int64_t count = 1;
    const Type *item = t->items[0];
    const Dim *extent = subst_dim(l->dims, t->count, s);
    sound_dim(l, extent, span);
    dim_is_const(extent, &count);
    BlockInst *first = NULL;
    for (int64_t i = 0; i < count || i == 0; i++) {
        const char *at = join_path(l, path, arena_printf(l->a, "%lld", (long long)i));
        BlockInst *b = block_instance(l, item->decl, args, at, span);
        if (l->failed)
            return b;
        if (first && b != first) {
            Diag *d = report(l->s, span, E2190, "the items of `%s` differ", path);
            diag_note(l->s, d, (Span){0},
                      "item %lld has other optional tensors than item 0; all must have the same",
                      (long long)i);
            l->failed = true;
            return first;
        }
        first = b;
    }
    return first;
}

static void add_member(Lower *l, BlockInst *b, int i, const Subst *s) {
    const Member *m = b->decl->members.data[i];
    static const MemberKind kinds[] = {
        [AST_PARAM] = MEMBER_PARAM, [AST_BUFFER] = MEMBER_BUFFER, [AST_STATE] = MEMBER_STATE};
    const Type *t = inner_type(m->type);
    CoreMember core = {.name = m->name};
    if (t->kind == TYPE_TENSOR) {
        Fx x = {.l = l, .item = b->decl, .subst = s};
        core.kind = kinds[m->role];
        core.type = low_type(&x, t);
    } else if (t->kind == TYPE_ARRAY) {
        core.kind = MEMBER_ARRAY;
        core.type = core_array_type(l->core, b->subs[i]->core, subst_dim(l->dims, t->count, s));
    } else {
        core.kind = MEMBER_SUB;
        core.type = core_block_type(l->core, b->subs[i]->core);
    }
    vec_push(l->a, &b->core->members, core);
}

static BlockInst *block_instance(Lower *l, Item *decl, const GenericArg *args, const char *path,
                                 Span span) {
    BlockInst *b = NEW(l->a, BlockInst);
    int n = decl->members.len;
    *b = (BlockInst){.decl = decl, .args = args};
    b->present = NEW_N(l->a, bool, n + 1);
    b->subs = NEW_N(l->a, BlockInst *, n + 1);
    const Subst *s = instance_subst(l, decl, args, NULL);
    if (!within(l, ++l->block_count, MOST_BLOCKS, span, "sub-blocks") ||
        !within(l, ++l->block_depth, DEEPEST_BLOCK, span, "blocks inside each other"))
        return b;
    for (int i = 0; i < n; i++) {
        const Member *m = decl->members.data[i];
        const char *at = join_path(l, path, m->name);
        const Type *sub = sub_block(m->type);
        b->present[i] = member_present(l, m, at);
        if (!b->present[i] || !sub)
            continue;
        const GenericArg *sub_args = subst_args(l, sub->args, sub->arg_count, s);
        if (m->type->kind == TYPE_ARRAY)
            b->subs[i] = array_instance(l, m->type, sub_args, at, s, m->span);
        else
            b->subs[i] = block_instance(l, sub->decl, sub_args, at, span);
    }
    l->block_depth--;
    if (l->failed)
        return b;
    for (int i = 0; i < l->blocks.len; i++) {
        if (same_block(l->blocks.data[i], b))
            return l->blocks.data[i];
    }
    b->core = core_block(l->core, decl->name);
    for (int i = 0; i < n; i++) {
        if (b->present[i])
            add_member(l, b, i, s);
    }
    vec_push(l->a, &l->blocks, b);
    return b;
}

// ---- Functions ---------------------------------------------------------------------------------

static bool same_fn(const FnInst *f, const Item *item, const BlockInst *self,
                    const GenericArg *args, const Low *params) {
    if (f->item != item || f->self != self || !same_args(f->args, args, item->generics.len))
        return false;
    for (int i = 0; i < item->params.len; i++) {
        if (!same_parts(&f->params[i], &params[i]))
            return false;
    }
    return true;
}

static const char *short_name(Lower *l, const Item *item) {
    return item->block ? arena_printf(l->a, "%s.%s", item->block->name, item->name) : item->name;
}

static CoreFn *new_fn(Lower *l, FnInst *f) {
    const Item *item = f->item;
    const char *name = short_name(l, item);
    const char *full = arena_printf(l->a, "%s::%s", item->module->key, name);
    CoreFn *fn = core_fn(l->core, session_name(l->s, full), name);
    StrBuf doc = strbuf_new(l->a);
    ast_signature(item, &doc);
    fn->doc = doc.data;
    fn->span = item->span;
    fn->self = f->self ? f->self->core : NULL;
    return fn;
}

static void add_params(Fx *x, const FnInst *f) {
    Lower *l = x->l;
    if (f->self)
        x->self_val = core_param(l->core, x->fn, core_block_type(l->core, f->self->core),
                                 session_name(l->s, "self"), f->item->name_span);
    for (int i = 0; i < f->item->params.len; i++) {
        const Param *p = f->item->params.data[i];
        x->params[i] = param_parts(x, f->params[i], p->type, p->name, p->span);
    }
}

// Callees stand before callers: a function moves to the end of the list when it is finished.
static void move_last(Core *c, CoreFn *fn) {
    int at = 0;
    while (c->fns.data[at] != fn)
        at++;
    memmove(&c->fns.data[at], &c->fns.data[at + 1],
            (size_t)(c->fns.len - at - 1) * sizeof *c->fns.data);
    c->fns.data[c->fns.len - 1] = fn;
}

FnInst *fn_instance(Lower *l, Item *item, const BlockInst *self, const GenericArg *args,
                    const Low *params) {
    for (int i = 0; i < l->fns.len; i++) {
        if (same_fn(l->fns.data[i], item, self, args, params))
            return l->fns.data[i];
    }
    enum { MOST_FNS = 16384 };
    within(l, l->fns.len, MOST_FNS, item->name_span, "functions with their generics bound");
    deeper(l, item);
    FnInst *f = NEW(l->a, FnInst);
    *f = (FnInst){.item = item, .self = self, .args = args, .running = true};
    f->params = arena_copy(l->a, params, (size_t)item->params.len * sizeof *params);
    vec_push(l->a, &l->fns, f);
    f->core = new_fn(l, f);
    Fx x = {.l = l, .item = item, .self = self, .fn = f->core, .region = &f->core->region};
    x.subst = instance_subst(l, item, args, self);
    x.locals = NEW_N(l->a, Low, item->local_count + 1);
    x.params = NEW_N(l->a, Low, item->params.len + 1);
    add_params(&x, f);
    if (!l->failed)
        lower_body(&x);
    l->depth--;
    f->result = x.result.kind == LOW_ERROR ? (Low){.kind = LOW_TUPLE} : x.result;
    if (!l->failed)
        core_copy_states(l->core, f->core);
    move_last(l->core, f->core);
    f->running = false;
    return f;
}

// ---- The entry ---------------------------------------------------------------------------------

static void add_symbols(Lower *l, Item *item, const GenericArg *args) {
    for (int i = 0; item && i < item->generics.len; i++) {
        const Generic *g = item->generics.data[i].generic;
        if (g->kind != GENERIC_DIM || args[i].bound)
            continue;
        int64_t bound = check_bound(item, g);
        vec_push(l->a, &l->core->symbols, g->dim);
        vec_push(l->a, &l->core->bounds, bound >= 0 ? dim_const(l->dims, bound) : NULL);
    }
}

static bool dtypes_bound(Lower *l, Item *item, const GenericArg *args) {
    for (int i = 0; item && i < item->generics.len; i++) {
        const GenericDecl *g = &item->generics.data[i];
        if (g->kind == GENERIC_DIM || args[i].bound)
            continue;
        Diag *d = report(l->s, g->span, E2110, "the generic `%s` of `%s` is not bound", g->name,
                         item->name);
        diag_help(l->s, d, "give it a default, or --set %s=...", g->name);
        return false;
    }
    return true;
}

static Low entry_param(Lower *l, const Param *p) {
    bool serving = l->o->serving, given = l->o->given && l->o->given(l->o->ctx, p);
    bool optional = p->type->kind == TYPE_OPTIONAL;
    bool temperature = strcmp(p->name, "temperature") == 0;
    bool absent = l->o->given ? !given : optional || (serving && p->fallback && !temperature);
    if (absent)
        return (Low){.kind = LOW_ABSENT};
    Fx x = {.l = l};
    bool fits = true;
    Low low = entry_parts(&x, inner_type(p->type), &fits);
    if (!fits) {
        report(l->s, p->span, E2190, "entries take tensors, tuples and structs only, so far");
        l->failed = true;
    }
    return low;
}

static CoreFn *lower_one(Lower *l, const BlockInst *self, Item *entry, const GenericArg *args) {
    if (!dtypes_bound(l, entry, args) || !check_instance(l->p, entry, args, l->o->block_args))
        return NULL;
    add_symbols(l, entry, args);
    Low *params = NEW_N(l->a, Low, entry->params.len + 1);
    for (int i = 0; i < entry->params.len; i++)
        params[i] = entry_param(l, entry->params.data[i]);
    if (l->failed)
        return NULL;
    FnInst *f = fn_instance(l, entry, self, args, params);
    f->core->entry = true;
    return l->failed ? NULL : f->core;
}

bool lower_entries(const LowerOptions *o, Item *block, int n, Item *const *entries,
                   const GenericArg *const *args, CoreFn **out) {
    Session *s = o->program->session;
    Lower l = {.o = o, .p = o->program, .core = o->core, .s = s, .a = s->arena};
    l.dims = o->program->dims;
    int errors = s->errors;
    if (!dtypes_bound(&l, block, o->block_args) ||
        (block && !check_instance(l.p, block, o->block_args, NULL)))
        return false;
    add_symbols(&l, block, o->block_args);
    BlockInst *self = block ? block_instance(&l, block, o->block_args, "", block->name_span) : NULL;
    for (int i = 0; i < n && !l.failed && s->errors == errors; i++)
        out[i] = lower_one(&l, self, entries[i], args[i]);
    return !l.failed && s->errors == errors;
}

CoreFn *lower_entry(const LowerOptions *o, Item *block, Item *entry, const GenericArg *entry_args) {
    CoreFn *fn = NULL;
    return lower_entries(o, block, 1, &entry, &entry_args, &fn) ? fn : NULL;
}
