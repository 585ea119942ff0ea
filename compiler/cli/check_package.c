// Checking packages; see check_package.h.
#include "cli/check_package.h"
#include "cli/bindings.h"
#include "cli/cli.h"
#include "cli/where.h"
#include "lower/lower.h"
#include <string.h>

static Span value_span(const Card *card, const char *key) {
    const TomlEntry *e = toml_find(toml_table(card->toml, "source"), key);
    return e ? e->value.span : (Span){0};
}

// ---- The root block and its entry --------------------------------------------------------------

static Item *find_item(const ItemVec *items, ItemKind kind, const char *name) {
    for (int i = 0; name && i < items->len; i++) {
        if (items->data[i]->kind == kind && strcmp(items->data[i]->name, name) == 0)
            return items->data[i];
    }
    return NULL;
}

// [source] root and entry.
static bool find_root(Target *t) {
    Session *s = t->m.s;
    const Card *card = t->m.card;
    const Module *root = t->m.program->root;
    t->block = find_item(&root->items, ITEM_BLOCK, card->root);
    if (!t->block) {
        report(s, value_span(card, "root"), E5012, "%s has no block `%s`",
               s->sources.data[root->file - 1]->path, card->root);
        return false;
    }
    t->entry = find_item(&t->block->items, ITEM_ENTRY, card->entry);
    if (!t->entry)
        report(s, value_span(card, "entry"), E5012, "the block `%s` has no entry `%s`", card->root,
               card->entry);
    return t->entry != NULL;
}

// [generics]: all are known, and nothing is left open.
static bool check_generics(Target *t) {
    Session *s = t->m.s;
    int errors = s->errors;
    const Item *block = t->block;
    const TomlTable *table = toml_table(t->m.card->toml, "generics");
    for (int i = 0; i < t->m.settings.len; i++) {
        const Setting *set = &t->m.settings.data[i];
        if (set->weak && !set->used)
            report(s, set->span, E5012,
                   "`%s` is no generic of `%s` and no annotated constant of its module", set->name,
                   block->name);
    }
    for (int i = 0; s->errors == errors && i < block->generics.len; i++) {
        const GenericDecl *g = &block->generics.data[i];
        if (t->block_args[i].bound)
            continue;
        Diag *d = report(s, table ? table->span : value_span(t->m.card, "root"), E5012,
                         "the card gives `%s` no value", g->name);
        diag_note(s, d, g->span, "it is a generic of `%s` without a default", block->name);
    }
    return s->errors == errors;
}

// [check]: generics of the entry, with which it is lowered.
static bool check_entry(Target *t) {
    Model *m = &t->m;
    int errors = m->s->errors;
    for (int k = 0; k < m->card->check.len; k++) {
        Setting *set = &m->card->check.data[k];
        for (int i = 0; i < t->entry->generics.len; i++) {
            const GenericDecl *g = &t->entry->generics.data[i];
            if (set->name == g->name)
                check_setting(m->program, set, g->generic, &t->entry_args[i]);
        }
        if (!set->used && m->s->errors == errors)
            report(m->s, set->span, E5012, "`%s` is no generic of the entry `%s`", set->name,
                   t->entry->name);
    }
    if (m->s->errors != errors)
        return false;
    target_settings(t, t->entry, t->entry_args);
    if (!m->serve.block)
        target_used(t);
    return m->s->errors == errors && where_holds(m, t->entry, target_subst(t), false);
}

static int lower_root(Target *t) {
    Model *m = &t->m;
    Core *core = core_new(m->s, m->program->dims);
    LowerOptions o = {.program = m->program,
                      .core = core,
                      .block_args = t->block_args,
                      .present = model_present,
                      .ctx = m};
    if (!lower_entry(&o, t->block, t->entry, t->entry_args))
        return EXIT_WRONG;
    return model_verify(m, core, "lowering");
}

// ---- Weights -----------------------------------------------------------------------------------

typedef struct {
    Target *t;
    MatchOne *one; // or NULL: the weights are counted
    void *match;
    int64_t count; // that are not optional
} Members;

static void match_member(void *ctx, const char *path, const Type *type, MemberRole role,
                         bool optional, const Dim *repeats) {
    Members *w = ctx;
    int64_t n = 1;
    if (role == AST_STATE)
        return;
    if (repeats)
        dim_is_const(repeats, &n);
    if (!optional && n > 0)
        w->count += n;
    if (!w->one || (optional && !model_tensor(&w->t->m, path)))
        return;
    const Dim **dims = NEW_N(w->t->m.a, const Dim *, type->rank + 1);
    for (int i = 0; i < type->rank; i++)
        dims[i] = type->axes[i].dim;
    CoreType core = {.kind = CORE_TENSOR, .dtype = type->elem.dtype, .rank = type->rank};
    core.dims = dims;
    w->one(w->match, path, &core);
}

static void walk_members(void *ctx, MatchOne *one, void *match) {
    Members w = {.t = ctx, .one = one, .match = match};
    block_members(w.t, true, match_member, &w);
}

// The headers of the weights, if they are there.
static int check_weights(Target *t, bool quiet) {
    Model *m = &t->m;
    int errors = m->s->errors;
    if (model_weights(m))
        return t->block == m->serve.model ? EXIT_FINE : model_match(m, walk_members, t);
    if (m->s->errors != errors)
        return EXIT_WRONG;
    Members w = {.t = t};
    block_members(t, false, match_member, &w);
    if (!quiet && m->weights_path)
        fprintf(stderr,
                "%s: the weights (%s%s) are not there: names, shapes and dtypes of %lld "
                "tensor%s could not be compared\n",
                m->path, m->weights_files ? m->card->files.data[0] : m->weights_path,
                m->weights_files > 1 ? ", ..." : "", (long long)w.count, plural(w.count));
    return EXIT_FINE;
}

// ---- Packages ----------------------------------------------------------------------------------

static void bind_block(Target *t, Item *block) {
    t->block = block;
    t->block_args = NEW_N(t->m.a, GenericArg, block->generics.len + 1);
    target_settings(t, block, t->block_args);
    for (int i = 0; i < block->generics.len; i++) {
        if (t->block_args[i].bound || !block->generics.data[i].value.bound)
            continue;
        t->block_args[i] = block->generics.data[i].value;
        const Subst *s = target_args(t, block, t->block_args, NULL);
        t->block_args[i].dim = subst_dim(t->m.program->dims, t->block_args[i].dim, s);
    }
}

static int check_card(Target *t, bool quiet) {
    Model *m = &t->m;
    int outside = 0, errors = m->s->errors;
    bind_block(t, t->block);
    if (m->s->errors != errors || !check_generics(t))
        return EXIT_WRONG;
    t->entry_args = NEW_N(m->a, GenericArg, t->entry->generics.len + 1);
    bool good = where_holds(m, t->block, target_args(t, t->block, t->block_args, NULL), true);
    good = good && check_entry(t);
    good = bindings_check(m, t->block, t->block_args, &outside) && good;
    int code = good ? lower_root(t) : EXIT_WRONG;
    if (code == EXIT_FINE)
        code = check_weights(t, quiet);
    if (code == EXIT_FINE && outside && !quiet)
        fprintf(stderr,
                "%s: %d binding%s of parameters that are not there with these settings; "
                "they and their tensors are not used\n",
                m->path, outside, outside == 1 ? " is" : "s are");
    return code;
}

// Without a card: what the command line sets must be known and meet the where clauses.
static int check_settings(Target *t) {
    Model *m = &t->m;
    const Module *root = m->program->root;
    int errors = m->s->errors, outside;
    for (int i = 0; i < root->items.len; i++) {
        Item *item = root->items.data[i];
        for (int k = -1; k < item->items.len; k++) {
            Item *decl = k < 0 ? item : item->items.data[k];
            if (decl->kind != ITEM_ENTRY && decl->kind != ITEM_BLOCK)
                continue;
            bind_block(t, decl);
            if (m->s->errors == errors)
                where_holds(m, decl, target_args(t, decl, t->block_args, NULL), false);
        }
    }
    for (int i = 0; i < m->settings.len; i++) {
        const Setting *set = &m->settings.data[i];
        if (!set->used && m->s->errors == errors)
            report(m->s, (Span){0}, E5006,
                   "%s: `%s` is no generic of a block or an entry, and no annotated constant",
                   set->origin, set->name);
    }
    if (m->s->errors == errors && m->card && m->card->bindings.len && target_block(t, NULL)) {
        bind_block(t, t->block);
        bindings_check(m, t->block, t->block_args, &outside);
    }
    return m->s->errors == errors ? EXIT_FINE : EXIT_WRONG;
}

int check_package(Target *t, bool quiet) {
    Model *m = &t->m;
    if (!m->card || !m->card->toml)
        return m->serve.block ? EXIT_FINE : check_settings(t);
    if (!card_complete(m->s, m->card) || !find_root(t))
        return EXIT_WRONG;
    return check_card(t, quiet);
}
