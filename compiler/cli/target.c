// Opening a target, finding its entry, binding its generics; see target.h.
#include "cli/target.h"
#include "cli/cli.h"
#include "cli/where.h"
#include <string.h>

int target_open(Arena *a, const char *path, const Args *args, Target *t) {
    *t = (Target){0};
    Args rest = *args; // --entry is no generation entry here
    for (int i = 0; i < rest.count; i++) {
        if (strcmp(rest.flags[i].name, "--entry") == 0)
            rest.given[i] = NULL;
    }
    return model_open(a, path, &rest, &t->m);
}

void target_close(Target *t) {
    model_close(&t->m);
}

// ---- The entry ---------------------------------------------------------------------------------

static void list_entries(Target *t, StrBuf *b) {
    const Module *root = t->m.program->root;
    int count = 0;
    for (int i = 0; i < root->items.len; i++) {
        const Item *item = root->items.data[i];
        if (item->kind == ITEM_ENTRY)
            strbuf_printf(b, "%s%s", count++ ? ", " : "", item->name);
        for (int k = 0; k < item->items.len; k++) {
            if (item->items.data[k]->kind == ITEM_ENTRY)
                strbuf_printf(b, "%s%s.%s", count++ ? ", " : "", item->name,
                              item->items.data[k]->name);
        }
    }
    if (!count)
        strbuf_add(b, STR("none"));
}

static int find_in(Target *t, Item *item, const char *entry, const char *block) {
    int found = 0;
    if (item->kind == ITEM_ENTRY && !block && strcmp(item->name, entry) == 0) {
        t->entry = item;
        t->block = NULL;
        found++;
    }
    bool wanted = item->kind == ITEM_BLOCK && (!block || strcmp(item->name, block) == 0);
    for (int k = 0; wanted && k < item->items.len; k++) {
        Item *method = item->items.data[k];
        if (method->kind != ITEM_ENTRY || strcmp(method->name, entry) != 0)
            continue;
        t->entry = method;
        t->block = item;
        found++;
    }
    return found;
}

bool target_find(Target *t, const char *entry, const char *block) {
    const Module *root = t->m.program->root;
    int found = 0;
    for (int i = 0; i < root->items.len; i++)
        found += find_in(t, root->items.data[i], entry, block);
    if (found == 1)
        return true;
    StrBuf list = strbuf_new(t->m.a);
    list_entries(t, &list);
    Diag *d = found ? report(t->m.s, (Span){0}, E7004, "%d entries are called `%s`", found, entry)
                    : report(t->m.s, (Span){0}, E7004, "there is no entry `%s`", entry);
    diag_note(t->m.s, d, (Span){0}, "the entries of %s: %s", t->m.path, list.data);
    if (found)
        diag_help(t->m.s, d, "choose with --block NAME");
    return false;
}

bool target_has_entries(const Item *block) {
    bool has = false;
    for (int i = 0; block->kind == ITEM_BLOCK && i < block->items.len; i++)
        has |= block->items.data[i]->kind == ITEM_ENTRY;
    return has;
}

bool target_block(Target *t, const char *name) {
    const Module *root = t->m.program->root;
    const char *wanted = name ? name : t->m.card ? t->m.card->root : NULL;
    StrBuf list = strbuf_new(t->m.a);
    int found = 0;
    for (int i = 0; i < root->items.len; i++) {
        Item *item = root->items.data[i];
        if (wanted ? item->kind != ITEM_BLOCK : !target_has_entries(item))
            continue;
        strbuf_printf(&list, "%s%s", list.len ? ", " : "", item->name);
        if (wanted && strcmp(item->name, wanted) != 0)
            continue;
        t->block = item;
        found++;
    }
    if (found == 1)
        return true;
    Diag *d = wanted  ? report(t->m.s, (Span){0}, E7004, "there is no block `%s`", wanted)
              : found ? report(t->m.s, (Span){0}, E7004, "%d blocks have entries", found)
                      : report(t->m.s, (Span){0}, E7004, "no block has entries");
    if (list.len)
        diag_note(t->m.s, d, (Span){0}, "the blocks of %s: %s", t->m.path, list.data);
    if (found)
        diag_help(t->m.s, d, "choose with --block NAME");
    return false;
}

// ---- Generics ----------------------------------------------------------------------------------

const Subst *target_args(Target *t, const Item *decl, const GenericArg *args, const Subst *next) {
    Subst *s = NEW(t->m.a, Subst);
    const Generic **generics = NEW_N(t->m.a, const Generic *, decl->generics.len + 1);
    for (int i = 0; i < decl->generics.len; i++)
        generics[i] = decl->generics.data[i].generic;
    *s = (Subst){{generics, args, decl->generics.len}, next};
    return s;
}

const Subst *target_subst(Target *t) {
    const Subst *outer = t->block ? target_args(t, t->block, t->block_args, NULL) : NULL;
    if (!t->entry)
        return outer;
    return target_args(t, t->entry, t->entry_args, outer);
}

void target_settings(Target *t, const Item *decl, GenericArg *out) {
    for (int i = 0; i < decl->generics.len; i++) {
        const GenericDecl *g = &decl->generics.data[i];
        for (int k = 0; k < t->m.settings.len; k++) {
            Setting *set = &t->m.settings.data[k];
            if (set->name == g->name && !check_setting(t->m.program, set, g->generic, &out[i]))
                return;
        }
    }
}

bool target_used(Target *t) {
    bool all = true;
    for (int i = 0; i < t->m.settings.len; i++) {
        const Setting *set = &t->m.settings.data[i];
        if (set->used || set->weak)
            continue;
        all = false;
        report(t->m.s, (Span){0}, E5006,
               "%s: `%s` is no generic of `%s`%s, and no annotated constant", set->origin,
               set->name, t->entry ? t->entry->name : t->block->name,
               t->entry ? " or its block" : "");
    }
    return all;
}

// The argument of an unbound generic of the entry or the block, or NULL.
static GenericArg *open_generic(Target *t, const Generic *g, const Dim *d) {
    const Item *decls[] = {t->entry, t->block};
    GenericArg *args[] = {t->entry_args, t->block_args};
    for (int k = 0; k < 2; k++) {
        for (int i = 0; decls[k] && i < decls[k]->generics.len; i++) {
            const Generic *own = decls[k]->generics.data[i].generic;
            if ((own == g || (d && own->dim == d)) && !args[k][i].bound)
                return &args[k][i];
        }
    }
    return NULL;
}

static void infer_pack(Target *t, const Type *pattern, const RtTensor *x, int at, int covers) {
    GenericArg *arg = open_generic(t, pattern->axes[at].pack, NULL);
    if (!arg)
        return;
    Axis *axes = NEW_N(t->m.a, Axis, covers + 1);
    for (int i = 0; i < covers; i++)
        axes[i].dim = dim_const(t->m.program->dims, x->dims[at + i]);
    *arg = (GenericArg){.axes = axes, .axis_count = covers, .bound = true};
}

// What a tensor's shape and dtype tell of generics that are still open.
static void infer(Target *t, const Type *type, const RtTensor *x) {
    DimTable *dims = t->m.program->dims;
    const Type *pattern = subst_type(t->m.a, dims, type, target_subst(t));
    Dtype dtype;
    GenericArg *elem = pattern->elem.generic ? open_generic(t, pattern->elem.generic, NULL) : NULL;
    if (elem && rt_to_dtype(x->format, &dtype))
        *elem = (GenericArg){.elem = elem_of(dtype), .bound = true};
    int packs = 0;
    for (int i = 0; i < pattern->rank; i++)
        packs += pattern->axes[i].pack != NULL;
    int covers = x->rank - (pattern->rank - packs), at = 0;
    if (packs > 1 || covers < 0 || (!packs && covers))
        return;
    for (int i = 0; i < pattern->rank; i++) {
        if (pattern->axes[i].pack) {
            infer_pack(t, pattern, x, i, covers);
            at += covers;
            continue;
        }
        const Dim *d = pattern->axes[i].dim;
        GenericArg *arg = dim_is_symbol(d) ? open_generic(t, NULL, d) : NULL;
        if (arg)
            *arg = (GenericArg){.dim = dim_const(dims, x->dims[at]), .bound = true};
        at++;
    }
}

static void infer_input(void *ctx, const char *name, const Type *type, bool optional) {
    Target *t = ctx;
    const RtTensor *x = rt_weights_find(t->inputs, name);
    (void)optional;
    if (x)
        infer(t, type, x);
}

static void infer_member(void *ctx, const char *path, const Type *type, MemberRole role,
                         bool optional, const Dim *repeats) {
    Target *t = ctx;
    (void)optional;
    (void)repeats;
    const RtTensor *x = role == AST_STATE ? (t->states ? rt_weights_find(t->states, path) : NULL)
                                          : model_tensor(&t->m, path);
    if (x)
        infer(t, type, x);
}

// How many items of the array have weights.
static int64_t count_items(const RtWeights *weights, Arena *a, const char *name) {
    for (int64_t n = 0;; n++) {
        const char *prefix = arena_printf(a, "%s.%lld.", name, (long long)n);
        size_t k = 0, length = strlen(prefix);
        while (k < rt_weights_count(weights) &&
               strncmp(rt_weights_at(weights, k)->name, prefix, length) != 0)
            k++;
        if (k == rt_weights_count(weights))
            return n;
    }
}

static void infer_counts(Target *t) {
    const RtWeights *weights = model_weights(&t->m);
    if (!weights || t->m.checkpoint || (t->m.card && t->m.card->bindings.len))
        return;
    for (int i = 0; i < t->block->members.len; i++) {
        const Member *m = t->block->members.data[i];
        bool symbol = m->type->kind == TYPE_ARRAY && dim_is_symbol(m->type->count);
        GenericArg *arg = symbol ? open_generic(t, NULL, m->type->count) : NULL;
        int64_t count = arg ? count_items(weights, t->m.a, m->name) : 0;
        if (count)
            *arg = (GenericArg){.dim = dim_const(t->m.program->dims, count), .bound = true};
    }
}

static bool all_bound(Target *t, const Item *decl, GenericArg *args) {
    for (int i = 0; i < decl->generics.len; i++) {
        const GenericDecl *g = &decl->generics.data[i];
        if (!args[i].bound && g->value.bound) {
            args[i] = g->value;
            const Subst *s = target_args(t, decl, args, NULL);
            args[i].dim = subst_dim(t->m.program->dims, args[i].dim, s);
        }
        if (args[i].bound)
            continue;
        Diag *d = report(t->m.s, g->span, E2110, "the generic `%s` of `%s` is not bound", g->name,
                         decl->name);
        diag_help(t->m.s, d, "give it by --set %s=..., or by a tensor whose shape tells it",
                  g->name);
        return false;
    }
    return true;
}

static void infer_block(Target *t) {
    if (!t->states && !t->m.checkpoint && !model_weights(&t->m))
        return;
    infer_counts(t);
    block_members(t, true, infer_member, t);
}

bool target_bind_block(Target *t) {
    int errors = t->m.s->errors;
    t->entry = NULL;
    t->block_args = NEW_N(t->m.a, GenericArg, t->block->generics.len + 1);
    target_settings(t, t->block, t->block_args);
    if (t->m.s->errors != errors || !target_used(t))
        return false;
    infer_block(t);
    return all_bound(t, t->block, t->block_args) &&
           where_holds(&t->m, t->block, target_args(t, t->block, t->block_args, NULL), true);
}

bool target_bind(Target *t) {
    int errors = t->m.s->errors;
    t->entry_args = NEW_N(t->m.a, GenericArg, t->entry->generics.len + 1);
    t->block_args = NEW_N(t->m.a, GenericArg, (t->block ? t->block->generics.len : 0) + 1);
    target_settings(t, t->entry, t->entry_args);
    if (t->block)
        target_settings(t, t->block, t->block_args);
    if (t->m.s->errors != errors || !target_used(t))
        return false;
    for (int i = 0; t->inputs && i < t->entry->params.len; i++) {
        const Param *p = t->entry->params.data[i];
        type_parts(t, p->name, p->type, infer_input, t);
    }
    if (t->block)
        infer_block(t);
    if ((t->block && !all_bound(t, t->block, t->block_args)) ||
        !all_bound(t, t->entry, t->entry_args))
        return false;
    const Subst *s = target_subst(t);
    return (!t->block || where_holds(&t->m, t->block, s, true)) &&
           where_holds(&t->m, t->entry, s, true);
}
