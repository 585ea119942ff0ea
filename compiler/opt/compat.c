// Serving engines: the head, the embedding, attention; see compat.h. The entry is looked at with
// all its calls in place but those of attention and of the choice of a token.
#include "opt/compat.h"
#include "opt/compat_impl.h"
#include "opt/dce.h"
#include "opt/rewrite.h"
#include <string.h>

void compat_fault(Compat *x, DiagCode code, const Value *v, const char *symbol, const char *cause,
                  const char *fix) {
    CompatFault fault = {code, x->entry->span, {0}, symbol ? symbol : x->name, cause, fix};
    bool away = v && v->site.file && v->site.file != v->span.file;
    if (v && !symbol && v->name)
        fault.symbol = v->name;
    if (v && (away || v->span.file))
        fault.span = away ? v->site : v->span;
    if (away)
        fault.inside = v->span;
    vec_push(x->core->session->arena, x->out, fault);
}

static bool is_named(const CoreFn *f, const char *name) {
    return f && strcmp(f->name, name) == 0;
}

bool compat_attends(const Value *v) {
    return v->op == OP_CALL && (is_named(v->callee, "std.nn.attention::attention") ||
                                is_named(v->callee, "std.nn.attention::grouped_attention"));
}

static bool is_choice(const Value *v) {
    return v->op == OP_CALL && (is_named(v->callee, "std.random::categorical") ||
                                is_named(v->callee, "std.nn.decoding::argmax"));
}

static bool in_place(void *ctx, const CoreFn *f, const Value *call) {
    (void)ctx;
    (void)f;
    return !compat_attends(call) && !is_choice(call);
}

// ---- Weights -----------------------------------------------------------------------------------

static const char *path_of(Compat *x, Val v, int depth) {
    const Value *value = core_value(x->f, v);
    if (depth > 32)
        return NULL;
    if (value->op == OP_PARAM)
        return x->f->self && v == x->f->params.data[0] ? "" : NULL;
    if (value->op == OP_PICK && core_value(x->f, value->args.data[0])->type->kind == CORE_ARRAY) {
        const char *of = path_of(x, value->args.data[0], depth + 1);
        return of ? arena_printf(x->core->session->arena, "%s[]", of) : NULL;
    }
    if (value->op != OP_MEMBER)
        return NULL;
    const char *of = path_of(x, value->args.data[0], depth + 1);
    if (!of)
        return NULL;
    return *of ? arena_printf(x->core->session->arena, "%s.%s", of, value->member) : value->member;
}

// The dotted path of a weight, "layers[].norm.weight"; NULL if v is none.
static const char *weight_of(Compat *x, Val v) {
    if (core_value(x->f, v)->op != OP_MEMBER || core_value(x->f, v)->type->kind != CORE_TENSOR)
        return NULL;
    return path_of(x, v, 0);
}

static bool same_path(const char *a, const char *b) {
    return a && b && strcmp(a, b) == 0;
}

static bool is_index(const Comp *k, int node, int index) {
    return k->nodes.data[node].op == N_INDEX && k->nodes.data[node].index == index;
}

// ---- The head ----------------------------------------------------------------------------------

static int through_casts(const Comp *k, int node) {
    while (k->nodes.data[node].op == N_CAST)
        node = k->nodes.data[node].args[0];
    return node;
}

// What v is an element-by-element choice of, unchanged: a view, one row of it, a wider dtype, or
// its quotient by the temperature. 0: nothing.
static Val looked_through(Compat *x, Val v) {
    const Value *value = core_value(x->f, v);
    if (is_choice(value))
        return value->args.data[value->args.len - 1];
    if (value->op != OP_COMP || value->comp->reduction != RED_NONE)
        return 0;
    const Comp *k = value->comp;
    const Node *root = &k->nodes.data[k->root];
    if (root->op == N_DIV) {
        const Node *by = &k->nodes.data[root->args[1]];
        if (by->op != N_READ || core_value(x->f, value->args.data[by->index])->op != OP_PARAM)
            return 0;
        root = &k->nodes.data[root->args[0]];
    }
    if (root->op == N_CAST && dtype_is_float(root->dtype) && root->dtype != DT_F16 &&
        root->dtype != DT_BF16)
        root = &k->nodes.data[root->args[0]];
    return root->op == N_READ && dtype_is_float(root->dtype) ? value->args.data[root->index] : 0;
}

// Is factor `node` of a sum of products the weight [V, D] at [the last output, the reduced]?
static bool is_table(Compat *x, const Value *v, int node, bool *turned) {
    const Comp *k = v->comp;
    const Node *n = &k->nodes.data[through_casts(k, node)];
    if (n->op != N_READ || n->read_count != 2 || !weight_of(x, v->args.data[n->index]))
        return false;
    *turned = is_index(k, n->reads[0], k->out) && is_index(k, n->reads[1], k->out - 1);
    return is_index(k, n->reads[0], k->out - 1) && is_index(k, n->reads[1], k->out);
}

// Why v is not linear(h, W); NULL if it is, and then W is x->head.
static const char *head_cause(Compat *x, const Value *v) {
    Arena *a = x->core->session->arena;
    const Comp *k = v->op == OP_COMP ? v->comp : NULL;
    const Node *root = k ? &k->nodes.data[k->root] : NULL;
    for (int i = 0; k && root->op == N_ADD && i < v->args.len; i++) {
        const char *path = weight_of(x, v->args.data[i]);
        if (path)
            return arena_printf(a, "adds `%s` to the output layer's result", path);
    }
    if (!k || k->reduction != RED_SUM || k->red != 1 || root->op != N_MUL || k->out < 2)
        return "is computed after the output layer, or is none";
    for (int i = 0; i < 2; i++) {
        bool turned = false;
        const Node *other = &k->nodes.data[through_casts(k, root->args[1 - i])];
        bool table = is_table(x, v, root->args[i], &turned);
        const Node *n = &k->nodes.data[through_casts(k, root->args[i])];
        if (turned)
            return arena_printf(a, "takes `%s` as [D, V]", weight_of(x, v->args.data[n->index]));
        if (!table || other->op != N_READ || other->read_count < 1 ||
            !is_index(k, other->reads[other->read_count - 1], k->out))
            continue;
        x->head = weight_of(x, v->args.data[n->index]);
        return NULL;
    }
    return "is a sum of something else than hidden features times a parameter [V, D]";
}

static void check_head(Compat *x) {
    Val v = x->f->region.yields.data[0], next = v;
    while ((next = looked_through(x, v)) != 0)
        v = next;
    const Value *value = core_value(x->f, v);
    const char *cause = head_cause(x, value);
    x->head_user = v;
    x->vocabulary = value->type->kind == CORE_TENSOR && value->type->rank
                        ? value->type->dims[value->type->rank - 1]
                        : NULL;
    if (cause)
        compat_fault(x, E3302, value, x->name, cause,
                     "return linear(h, W) as it is, with a parameter W [V, D] and "
                     "no bias; do anything else before it");
}

// ---- The embedding -----------------------------------------------------------------------------

// Are the tokens in v's body read at the row itself, and only to choose rows of one weight [V, D]?
// Gives the weight, or NULL and why.
static const char *table_of(Compat *x, const Value *v, const char **why) {
    const Comp *k = v->comp;
    const char *table = NULL;
    bool *token = NEW_N(x->core->session->arena, bool, k->nodes.len + 1);
    for (int i = 0; i < k->nodes.len; i++) {
        const Node *n = &k->nodes.data[i];
        if (n->op == N_READ && v->args.data[n->index] == x->tokens) {
            token[i] = true;
            for (int j = 0; j < n->read_count; j++) {
                if (k->nodes.data[n->reads[j]].op != N_INDEX)
                    *why = "are read at another position than the row's own";
            }
            continue;
        }
        token[i] = n->op == N_CAST && token[n->args[0]];
        for (int j = 0; j < node_args(n->op) && !token[i]; j++) {
            if (token[n->args[j]])
                *why = "are computed with, not only looked up";
        }
        for (int j = 0; n->op == N_READ && j < n->read_count; j++) {
            if (!token[n->reads[j]])
                continue;
            const char *path = weight_of(x, v->args.data[n->index]);
            if (!path || j != 0 || n->read_count != 2 || (table && strcmp(table, path) != 0))
                *why = "choose other elements than the rows of one parameter [V, D]";
            table = path;
        }
    }
    if (token[k->root] || !table)
        *why = "are used as numbers, not only looked up";
    return *why ? NULL : table;
}

static void tokens_fault(Compat *x, const Value *user, const char *why) {
    compat_fault(x, E3303, user, core_value(x->f, x->tokens)->name, why,
                 "use the ids once, as embedding(ids, E) with a parameter E "
                 "[V, D]");
}

static void check_table(Compat *x, const Value *user, Val v) {
    const CoreType *t = NULL;
    for (int i = 0; i < user->args.len; i++) {
        if (same_path(weight_of(x, user->args.data[i]), x->table))
            t = core_value(x->f, user->args.data[i])->type;
    }
    x->table_user = v;
    if (t && x->head && x->vocabulary && t->dims[0] != x->vocabulary)
        compat_fault(x, E3303, user, x->table, "has another number of rows than there are logits",
                     "give the table and the output layer one vocabulary");
}

static void check_embedding(Compat *x) {
    int users = 0;
    for (Val v = 1; v <= (Val)x->f->values.len; v++) {
        const Value *value = core_value(x->f, v);
        bool uses = false;
        for (int i = 0; x->live[v - 1] && i < value->args.len; i++)
            uses = uses || value->args.data[i] == x->tokens;
        if (!uses)
            continue;
        const char *why = value->op == OP_COMP ? NULL : "are given to something else";
        if (users++) {
            tokens_fault(x, value, "are used more than once");
            return;
        }
        x->table = value->op == OP_COMP ? table_of(x, value, &why) : NULL;
        if (why)
            tokens_fault(x, value, why);
        else
            check_table(x, value, v);
    }
}

// The table and the head are the engine's: nothing else reads them. One may be the other.
static void check_readers(Compat *x) {
    const char *done = NULL;
    for (Val v = 1; v <= (Val)x->f->values.len; v++) {
        const Value *value = core_value(x->f, v);
        if (!x->live[v - 1] || v == x->table_user || v == x->head_user)
            continue;
        for (int i = 0; i < value->args.len; i++) {
            const char *path = weight_of(x, value->args.data[i]);
            bool table = same_path(path, x->table), head = same_path(path, x->head);
            if ((!table && !head) || same_path(path, done))
                continue;
            done = path;
            compat_fault(x, E3303, value, path,
                         table ? "is the embedding table, which an engine holds itself, "
                                 "and is read here too"
                               : "is the output layer, which an engine holds itself, and "
                                 "is read here too",
                         "read it nowhere else, or use a parameter of its own here");
        }
    }
}

// ---- The whole ---------------------------------------------------------------------------------

void opt_compat(Core *c, const CoreFn *entry, const Dim *S, int tokens, CompatFaults *out) {
    int fns = c->fns.len;
    Compat x = {.core = c, .S = S, .entry = entry, .out = out};
    const char *colon = strrchr(entry->name, ':'), *dot = strrchr(entry->name, '.');
    const char *last = dot > colon ? dot : colon;
    x.name = last ? last + 1 : entry->name;
    x.f = opt_inline(c, entry, in_place, NULL);
    if (!x.f) {
        compat_fault(&x, E3301, NULL, x.name, "is too large to look into", "make it smaller");
        return;
    }
    x.tokens = x.f->params.data[(entry->self ? 1 : 0) + tokens];
    x.live = opt_live(c->session->arena, x.f);
    check_head(&x);
    check_embedding(&x);
    if (!out->len) // what is wrong with them reads them too
        check_readers(&x);
    compat_attention(&x);
    c->fns.len = fns;
}
