// Names: locals, then generics and parameters, members of the block, items and imports, the
// prelude.
#include "check/internal.h"
#include <string.h>

static const struct {
    const char *name;
    int least, most, generics;
} builtins[] = {
#define BUILTIN(id, name, least, most, generics) {name, least, most, generics},
#include "check/builtins.def"
#undef BUILTIN
};

const char *builtin_name(Builtin b) {
    return builtins[b].name;
}

// -1 if there is none.
static int builtin_find(const char *name) {
    for (int i = 0; i < BI_COUNT; i++) {
        if (strcmp(builtins[i].name, name) == 0)
            return i;
    }
    return -1;
}

bool is_prelude_name(const char *name) {
    static const char *const kinds[] = {"Tensor",  "Dim",     "Shape", "DType",
                                        "Numeric", "Integer", "Float"};
    Dtype t;
    if (dtype_find(name, &t) || builtin_find(name) >= 0)
        return true;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i], name) == 0)
            return true;
    }
    return false;
}

static bool find_generic(const Item *item, Name name, Ref *ref) {
    for (int i = 0; item && i < item->generics.len; i++) {
        if (item->generics.data[i].name == name) {
            *ref = (Ref){.kind = REF_GENERIC, .generic = item->generics.data[i].generic};
            return ref->generic != NULL;
        }
    }
    return false;
}

static bool find_in_fn(Checker *c, Name name, Ref *ref) {
    Local *local = c->visible ? map_get(c->visible, name) : NULL;
    if (local) {
        *ref = (Ref){.kind = REF_LOCAL, .local = local};
        return true;
    }
    for (int i = 0; c->fn && i < c->fn->params.len; i++) {
        if (c->fn->params.data[i]->name == name) {
            *ref = (Ref){.kind = REF_PARAM, .param = c->fn->params.data[i]};
            return true;
        }
    }
    for (int i = 0; c->fn && i < c->fn->results.len; i++) {
        if (c->fn->results.data[i]->name == name) {
            *ref = (Ref){.kind = REF_PARAM, .param = c->fn->results.data[i]};
            return true;
        }
    }
    return find_generic(c->fn, name, ref);
}

static RefKind kind_of(const Item *item) {
    switch (item->kind) {
    case ITEM_CONST:
        return REF_CONST;
    case ITEM_ENUM:
        return REF_ENUM;
    default:
        return REF_FN; // also types and blocks: not values, which the user of the ref says
    }
}

static Ref item_ref(Item *item) {
    item->used = true;
    return (Ref){.kind = kind_of(item), .item = item};
}

static bool find_in_block(Checker *c, Name name, Ref *ref) {
    if (!c->block)
        return false;
    Member *m = block_member(c->block, name);
    Item *item = block_item(c->block, name);
    if (m)
        *ref = (Ref){.kind = REF_MEMBER, .member = m};
    else if (item)
        *ref = item_ref(item);
    else
        return find_generic(c->block, name, ref);
    return true;
}

Ref lookup(Checker *c, Name name) {
    Ref ref = {0};
    if (find_in_fn(c, name, &ref) || find_in_block(c, name, &ref))
        return ref;
    Item *item = module_item(c->module, name);
    Import *im = item ? NULL : module_import(c->module, name);
    if (im) {
        im->used = true;
        item = im->item;
        if (!item && !im->name && im->module)
            return (Ref){.kind = REF_MODULE, .module = im->module};
    }
    if (item)
        return item_ref(item);
    int b = builtin_find(name);
    if (b >= 0)
        return (Ref){.kind = REF_BUILTIN, .builtin = b};
    return ref;
}

// ---- Suggestions -------------------------------------------------------------------------------

typedef struct {
    Name wanted;
    const char *best;
    int distance;
} Guess;

static void consider(Guess *g, const char *name) {
    int d = name ? str_distance(g->wanted, name, 3) : 99;
    if (d < g->distance && d * 3 <= (int)strlen(g->wanted) + 1) {
        g->best = name;
        g->distance = d;
    }
}

static void consider_item(Guess *g, const Item *item) {
    if (!item)
        return;
    for (int i = 0; i < item->generics.len; i++)
        consider(g, item->generics.data[i].name);
    for (int i = 0; i < item->params.len; i++)
        consider(g, item->params.data[i]->name);
    for (int i = 0; i < item->results.len; i++)
        consider(g, item->results.data[i]->name);
    for (int i = 0; i < item->members.len; i++)
        consider(g, item->members.data[i]->name);
    for (int i = 0; i < item->items.len; i++)
        consider(g, item->items.data[i]->name);
}

static bool is_reduction_name(const char *name) {
    for (int k = REDUCE_SUM; k <= REDUCE_ALL; k++) {
        if (strcmp(reduce_text((ReduceKind)k), name) == 0)
            return true;
    }
    return false;
}

void unknown_name(Checker *c, Name name, Span span) {
    if (module_import(c->module, name))
        return; // the import is reported
    Guess g = {name, NULL, 4};
    for (Scope *s = c->scope; s; s = s->outer) {
        for (int i = 0; i < s->locals.len; i++)
            consider(&g, s->locals.data[i]->name);
    }
    consider_item(&g, c->fn);
    consider_item(&g, c->block);
    for (int i = 0; i < c->module->items.len; i++)
        consider(&g, c->module->items.data[i]->name);
    for (int i = 0; i < c->module->imports.len; i++)
        consider(&g, c->module->imports.data[i]->alias);
    for (int i = 0; i < BI_PAD; i++) // the others are reserved
        consider(&g, builtins[i].name);
    Diag *d = report(c->s, span, E1201, "`%s` is not declared", name);
    Dtype dtype;
    if (dtype_find(name, &dtype))
        diag_help(c->s, d, "it is an element type: a conversion is written cast<%s>(x)", name);
    else if (is_reduction_name(name))
        diag_help(c->s, d, "a reduction names its indices: %s[i] x[i]", name);
    else if (g.best)
        diag_help(c->s, d, "did you mean `%s`?", g.best);
}

// ---- Locals and indices ------------------------------------------------------------------------

void scope_push(Checker *c, Scope *scope) {
    if (!c->visible)
        c->visible = NEW(c->a, Map);
    *scope = (Scope){.outer = c->scope};
    c->scope = scope;
}

void scope_pop(Checker *c) {
    for (int i = 0; i < c->scope->locals.len; i++) {
        Local *l = c->scope->locals.data[i];
        if (!l->used && l->name[0] != '_' && l->type->kind != TYPE_ERROR)
            report(c->s, l->span, W1002, "`%s` is never used", l->name);
    }
    for (int i = c->scope->locals.len - 1; i >= 0; i--) {
        Local *l = c->scope->locals.data[i];
        map_put(c->a, c->visible, l->name, l->shadowed);
    }
    c->scope = c->scope->outer;
}

Local *declare(Checker *c, Name name, Span span, const Type *type, bool is_mutable) {
    Local *l = NEW(c->a, Local);
    *l = (Local){.name = name, .span = span, .type = type, .mutable = is_mutable};
    l->number = c->fn ? c->fn->local_count++ : 0;
    if (is_prelude_name(name))
        report(c->s, span, E1207, "`%s` is a built-in name", name);
    l->shadowed = map_get(c->visible, name);
    map_put(c->a, c->visible, name, l);
    vec_push(c->a, &c->scope->locals, l);
    return l;
}

IndexVar *find_index(Checker *c, Name name, bool pack) {
    for (Notation *n = c->notation; n; n = n->outer) {
        for (int i = 0; i < n->vars->len; i++) {
            IndexVar *v = n->vars->data[i];
            if (v->name == name && v->pack == pack)
                return v;
        }
    }
    return NULL;
}
