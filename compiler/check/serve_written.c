// The serve block of a program that wrote its own cache: `prefill =` and `decode =` name entries of
// the model that change its states. They run as written.
#include "check/serve.h"
#include <string.h>

int64_t serve_max_batch(const Expr *value) {
    bool call = value->kind == EXPR_CALL && value->a->kind == EXPR_NAME &&
                strcmp(value->a->name, "dynamic") == 0;
    if (!call || value->args.len != 1 || !value->args.data[0].keyword ||
        strcmp(value->args.data[0].keyword, "max_batch") != 0)
        return 0;
    const Expr *n = value->args.data[0].value;
    return n->kind == EXPR_INT && n->int_value <= 1 << 16 ? n->int_value : 0;
}

// entry(tokens: Tensor[1, S; i32], pos: i32) -> Tensor[1, V; float], S being 1 for `one`. NULL, or
// what is wrong. The batch may be a generic that is bound to 1 (model_written).
static const char *step_fault(Item *entry, bool one) {
    const Type *t = entry->type, *tokens;
    int64_t n;
    if (entry->kind != ITEM_ENTRY || entry->params.len != 2)
        return one ? "it must be an entry that takes a token, Tensor[1, 1; i32], then its position,"
                     " i32"
                   : "it must be an entry that takes the tokens, Tensor[1, S; i32], then the first "
                     "one's position, i32";
    tokens = entry->params.data[0]->type;
    const Type *pos = entry->params.data[1]->type;
    if (!serve_is_tokens(tokens) || !type_is_scalar(pos) || !elem_is(pos->elem, DT_I32))
        return one ? "it must take a token, Tensor[1, 1; i32], then its position, i32"
                   : "it must take the tokens, Tensor[1, S; i32], then the first one's position, "
                     "i32";
    if (one && !(dim_is_const(tokens->axes[1].dim, &n) && n == 1))
        return "it must take one token at a time, Tensor[1, 1; i32]";
    if (!one && !serve_generic(entry, tokens->axes[1].dim))
        return "the length of the tokens, S of Tensor[1, S; i32], must be a generic of the entry";
    if (t->kind != TYPE_TENSOR || t->rank != 2 || !elem_is_float(t->elem))
        return "it must give the logits of the last token, Tensor[1, V; f32] or of another float";
    return NULL;
}

// The entry that a field names. False after E2010; *out is NULL where there is no such field.
static bool named_entry(Resolver *r, const char *name, bool one, Item **out) {
    const ServeField *field = serve_field(r->out->block, name);
    *out = NULL;
    if (!field || field->value->kind != EXPR_NAME)
        return true; // absent, or reported
    Item *entry = NULL;
    for (int i = 0; i < r->out->model->items.len; i++) {
        if (r->out->model->items.data[i]->name == field->value->name)
            entry = r->out->model->items.data[i];
    }
    const char *fault = entry ? step_fault(entry, one) : "the model has no such entry";
    if (fault) {
        Diag *d = report(r->c.s, field->value->span, E2010, "`%s` can't be the block's `%s`: %s",
                         field->value->name, name, fault);
        if (entry)
            diag_note(r->c.s, d, entry->name_span, "it is declared here");
        return false;
    }
    *out = entry;
    return true;
}

bool serve_written(Resolver *r) {
    const ServeField *batching = serve_field(r->out->block, "batching");
    const ServeField *prefill = serve_field(r->out->block, "prefill");
    if (batching)
        r->out->max_batch = serve_max_batch(batching->value);
    if (!named_entry(r, "decode", true, &r->out->decode) ||
        !named_entry(r, "prefill", false, &r->out->prefill))
        return false;
    if (prefill && !r->out->decode) {
        report(r->c.s, prefill->span, E2010, "`prefill` stands beside `decode` only");
        return false;
    }
    if (batching && r->out->decode) {
        Diag *d = report(r->c.s, batching->span, E2010,
                         "`batching` can't be used with a hand-written `decode`");
        diag_help(r->c.s, d, "leave it out: prompts are then served one after the other");
        return false;
    }
    return true;
}

bool serve_capacity(Resolver *r, const Expr *axis) {
    Item *model = r->out->model;
    for (int i = 0; i < model->generics.len; i++) {
        GenericDecl *g = &model->generics.data[i];
        if (g->name == axis->name && g->kind == GENERIC_DIM) {
            r->out->capacity = g->generic;
            return true;
        }
    }
    Diag *d =
        report(r->c.s, axis->span, E2010, "`%s` is no dimension of `%s`", axis->name, model->name);
    diag_help(r->c.s, d,
              "beside `decode`, kv_cache names the block's generic that bounds its states");
    return false;
}
