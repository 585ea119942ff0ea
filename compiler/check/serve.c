// The serve block: which block, which entry, what its parameters are.
#include "check/serve.h"
#include <string.h>

static void refuse(Resolver *r, Span span, const char *text) {
    report(r->c.s, span, E2010, "%s", text);
}

// ---- Fields ------------------------------------------------------------------------------------

ServeField *serve_field(Item *block, const char *name) {
    for (int i = 0; i < block->serve.len; i++) {
        if (strcmp(block->serve.data[i].name, name) == 0)
            return &block->serve.data[i];
    }
    return NULL;
}

static bool is_call(const Expr *e, const char *name) {
    return e->kind == EXPR_CALL && e->a->kind == EXPR_NAME && strcmp(e->a->name, name) == 0;
}

// What this version does with a field's value; NULL if it is fine, else why not.
static const char *field_fault(const ServeField *f) {
    const Expr *v = f->value;
    if (strcmp(f->name, "weights") == 0)
        return v->kind == EXPR_STRING ? NULL : "`weights` is a path in quotes";
    if (strcmp(f->name, "model") == 0 || strcmp(f->name, "generate") == 0)
        return v->kind == EXPR_NAME || v->kind == EXPR_MEMBER ? NULL : "a name is needed here";
    if (strcmp(f->name, "target") == 0)
        return v->kind == EXPR_NAME && strcmp(v->name, "cpu") == 0
                   ? NULL
                   : "the only target of this version is `cpu`";
    if (strcmp(f->name, "cache") == 0)
        return is_call(v, "kv_cache") && v->args.len == 1 &&
                       v->args.data[0].value->kind == EXPR_NAME
                   ? NULL
                   : "write kv_cache(S), S being the axis of positions";
    if (strcmp(f->name, "precision") == 0)
        return v->kind == EXPR_NAME && strcmp(v->name, "stored") == 0
                   ? NULL
                   : "the only precision of this version is `stored`";
    if (strcmp(f->name, "batching") == 0)
        return serve_max_batch(v) > 0 ? NULL : "write dynamic(max_batch = 8)";
    if (strcmp(f->name, "prefill") == 0 || strcmp(f->name, "decode") == 0)
        return v->kind == EXPR_NAME ? NULL : "the name of an entry is needed here";
    return "there is no such field";
}

static bool check_fields(Resolver *r) {
    Item *block = r->out->block;
    bool good = true;
    for (int i = 0; i < block->serve.len; i++) {
        ServeField *f = &block->serve.data[i];
        const char *fault = field_fault(f);
        bool twice = serve_field(block, f->name) != f;
        if (twice || fault) {
            Diag *d = report(r->c.s, f->span, E2010, "the field `%s` %s", f->name,
                             twice ? "stands twice" : "can't be used");
            if (!twice)
                diag_help(r->c.s, d, "%s", fault);
            good = false;
        }
    }
    return good;
}

// ---- The entry ---------------------------------------------------------------------------------

bool serve_is_tokens(const Type *t) {
    return t->kind == TYPE_TENSOR && t->rank == 2 && elem_is(t->elem, DT_I32) && !t->axes[0].pack &&
           !t->axes[1].pack;
}

static bool is_key(Checker *c, const Type *t) {
    return t->kind == TYPE_TENSOR && t->rank == 1 && elem_is(t->elem, DT_I64) && !t->axes[0].pack &&
           t->axes[0].dim == dim_const(c->dims, 2);
}

// The result: the next tokens [B], or logits [B, V] or [B, S, V].
static const char *result_fault(Item *entry, Serve *s) {
    const Type *t = entry->type, *tokens = entry->params.data[s->tokens]->type;
    bool tensor = t->kind == TYPE_TENSOR && t->rank >= 1 && t->rank <= 3 && !t->axes[0].pack;
    bool ids = tensor && t->rank == 1 && elem_is(t->elem, DT_I32);
    bool logits = tensor && t->rank >= 2 && elem_is_float(t->elem);
    bool rows = tensor && axis_equal(t->axes[0], tokens->axes[0], entry->facts) &&
                (t->rank < 3 || axis_equal(t->axes[1], tokens->axes[1], entry->facts));
    s->ids = ids;
    if ((ids || logits) && rows)
        return NULL;
    return "it must give the next tokens, Tensor[B; i32], or logits [B, V] or [B, S, V]";
}

// NULL if the entry can generate, else why not. Fills the parameters' numbers.
static const char *entry_fault(Resolver *r, Item *entry, Serve *s) {
    s->key = s->temperature = -1;
    int n = 0;
    if (n < entry->params.len && is_key(&r->c, entry->params.data[n]->type))
        s->key = n++;
    if (n >= entry->params.len || !serve_is_tokens(entry->params.data[n]->type))
        return "it must take the tokens, Tensor[B, S; i32], first or after a key Tensor[2; i64]";
    s->tokens = n++;
    for (; n < entry->params.len; n++) {
        Param *p = entry->params.data[n];
        if (!p->fallback)
            return "every parameter after the tokens needs a default";
        bool f32 = type_is_scalar(p->type) && elem_is(p->type->elem, DT_F32);
        if (strcmp(p->name, "temperature") == 0 && f32) {
            s->temperature = n;
            int64_t i = 0;
            if (p->fallback->dim && dim_is_const(p->fallback->dim, &i))
                s->default_temperature = (double)i;
            else
                s->default_temperature = p->fallback->real;
        }
    }
    return result_fault(entry, s);
}

Generic *serve_generic(Item *decl, const Dim *d) {
    for (int i = 0; decl && i < decl->generics.len; i++) {
        if (decl->generics.data[i].generic->dim == d)
            return decl->generics.data[i].generic;
    }
    return NULL;
}

static bool type_mentions(const Type *t, const Dim *d) {
    for (int i = 0; i < t->rank; i++) {
        if (t->axes[i].dim && dim_mentions(t->axes[i].dim, d))
            return true;
    }
    for (int i = 0; i < t->item_count; i++) {
        if (type_mentions(t->items[i], d))
            return true;
    }
    for (int i = 0; i < t->arg_count; i++) {
        if (t->args[i].dim && dim_mentions(t->args[i].dim, d))
            return true;
    }
    return false;
}

static const char *context_fault(Item *entry, Item *model, Serve *s) {
    const Type *tokens = entry->params.data[s->tokens]->type;
    s->batch = serve_generic(entry, tokens->axes[0].dim);
    s->length = serve_generic(entry, tokens->axes[1].dim);
    if (s->length)
        return s->batch ? NULL : "the batch axis must be a generic of the entry";
    s->length = serve_generic(model, tokens->axes[1].dim);
    s->window = s->length != NULL;
    for (int i = 0; s->window && i < model->members.len; i++) {
        if (type_mentions(model->members.data[i]->type, s->length->dim))
            return s->batch ? NULL : "the batch axis must be a generic of the entry";
    }
    return "the length of the tokens must be a generic of the entry, or of the block's parameters";
}

static bool take_entry(Resolver *r, Item *entry, bool report_faults, Span span) {
    Serve try = *r->out;
    const char *fault = entry->kind == ITEM_ENTRY ? entry_fault(r, entry, &try) : "it is no entry";
    if (!fault)
        fault = context_fault(entry, r->out->model, &try);
    if (fault && report_faults) {
        Diag *d = report(r->c.s, span, E2010, "`%s` can't generate: %s", entry->name, fault);
        diag_note(r->c.s, d, entry->name_span, "it is declared here");
    }
    if (fault)
        return false;
    *r->out = try;
    r->out->entry = entry;
    return true;
}

static bool find_entry(Resolver *r, const char *name) {
    Item *model = r->out->model;
    ServeField *field = serve_field(r->out->block, "generate");
    Span span = field ? field->value->span : r->out->block->span;
    if (!name && field && !field->value->name)
        return false; // reported
    if (!name && field)
        name = field->value->name;
    if (name) {
        Item *entry = block_item(model, session_name(r->c.s, name));
        if (entry)
            return take_entry(r, entry, true, span);
        report(r->c.s, span, E2010, "`%s` has no entry `%s`", model->name, name);
        return false;
    }
    for (int i = 0; i < model->items.len; i++) {
        if (model->items.data[i]->kind == ITEM_ENTRY &&
            take_entry(r, model->items.data[i], false, span))
            return true;
    }
    Diag *d = report(r->c.s, r->out->block->span, W0003, "`%s` has no entry that can generate",
                     model->name);
    if (serve_field(r->out->block, "decode"))
        diag_note(r->c.s, d, (Span){0}, "beside `decode`, one that takes a whole text is needed");
    return true;
}

static Item *find_model(Resolver *r) {
    ServeField *field = serve_field(r->out->block, "model");
    if (!field) {
        refuse(r, r->out->block->span, "the field `model` is missing");
        return NULL;
    }
    const Expr *v = field->value;
    Item *item = NULL;
    if (v->kind == EXPR_NAME) {
        item = lookup(&r->c, v->name).item;
    } else if (v->kind != EXPR_MEMBER) {
        return NULL; // reported
    } else if (v->a->kind == EXPR_NAME) {
        Ref ref = lookup(&r->c, v->a->name);
        item = ref.kind == REF_MODULE ? module_item(ref.module, v->name) : NULL;
    }
    if (item && item->kind == ITEM_BLOCK)
        return item;
    report(r->c.s, v->span, E2010, "`%s` is no block", v->name);
    return NULL;
}

// kv_cache(S) names the axis of positions of the entry's tokens. False after E2010.
static bool check_cache(Resolver *r) {
    const ServeField *field = serve_field(r->out->block, "cache");
    if (!field)
        return true;
    const Expr *axis = field->value->args.data[0].value;
    if (r->out->decode)
        return serve_capacity(r, axis);
    if (!r->out->entry || axis->name == r->out->length->name)
        return true;
    Diag *d = report(r->c.s, axis->span, E2010, "`%s` is not the axis of positions of `%s`",
                     axis->name, r->out->entry->name);
    diag_note(r->c.s, d, r->out->length->span, "its tokens run over `%s`", r->out->length->name);
    diag_help(r->c.s, d, "write kv_cache(%s)", r->out->length->name);
    return false;
}

bool check_serve(Program *p, const char *entry, Serve *out) {
    *out = (Serve){.key = -1, .tokens = -1, .temperature = -1};
    for (int i = 0; i < p->root->items.len; i++) {
        Item *item = p->root->items.data[i];
        if (item->kind != ITEM_SERVE)
            continue;
        if (out->block) {
            report(p->session, item->span, E2010, "a program has one serve block");
            return false;
        }
        out->block = item;
    }
    if (!out->block)
        return true;
    Resolver r = {checker_for(p, out->block), out};
    r.c.fn = NULL;
    r.c.module = p->root;
    bool good = check_fields(&r);
    out->model = find_model(&r);
    if (!out->model)
        return false;
    if (!good)
        return find_entry(&r, entry) && false;
    ServeField *weights = serve_field(out->block, "weights");
    if (weights)
        out->weights = arena_printf(r.c.a, "%.*s", STR_ARG(weights->value->text));
    return find_entry(&r, entry) && serve_written(&r) && check_cache(&r);
}

// ---- Bounds ------------------------------------------------------------------------------------

int64_t check_bound(const Item *decl, const Generic *g) {
    int64_t least = -1;
    for (int i = 0; decl && i < decl->where.len; i++) {
        const Where *w = &decl->where.data[i];
        int64_t v;
        if (!w->left || !w->right || w->left != g->dim || !dim_is_const(w->right, &v))
            continue;
        if (w->rel == BINARY_LT)
            v--;
        if ((w->rel == BINARY_LE || w->rel == BINARY_LT || w->rel == BINARY_EQ) &&
            (least < 0 || v < least))
            least = v;
    }
    return least;
}
