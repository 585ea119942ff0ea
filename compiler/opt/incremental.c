// The derivation of a step, stage by stage: the entry flat, its logits exposed, the proof, roles,
// the function. Views that would be copied for all positions at every call are looked through, and
// then it is proved again.
#include "opt/compose.h"
#include "opt/dce.h"
#include "opt/decide.h"
#include "opt/inline.h"
#include "opt/step_build.h"
#include "opt/unflatten.h"
#include <string.h>

typedef struct {
    Core *core;
    const Dim *B, *S;
    StepRefusal *why;
    CoreFn *flat;    // the entry as it is now
    int tokens;      // its parameters, by number; -1: none
    int temperature; // likewise
    bool slides;     // states may hold a window only
} Derive;

bool opt_step_refuse(Core *c, StepRefusal *out, const CoreFn *f, Val v, bool named,
                     const char *text) {
    const Value *value = v ? core_value(f, v) : NULL;
    if (out->text)
        return false;
    bool name = named && value && value->name;
    out->text = name ? arena_printf(c->session->arena, "`%s` %s", value->name, text) : text;
    out->span = value ? value->span : (Span){0};
    out->site = value ? value->site : (Span){0};
    return false;
}

// Of value v of the flat entry; 0: of the entry.
static bool refuse(Derive *d, Val v, const char *text) {
    return opt_step_refuse(d->core, d->why, d->flat, v, false, text);
}

static bool refuse_as(Derive *d, const StepRefusal *why) {
    if (!d->why->text)
        *d->why = *why;
    return false;
}

static const CoreType *type_of(const Derive *d, Val v) {
    return core_value(d->flat, v)->type;
}

static bool is_draw(const CoreFn *f) {
    return strcmp(f->name, "std.random::categorical") == 0;
}

static bool is_argmax(const CoreFn *f) {
    return strcmp(f->name, "std.nn.decoding::argmax") == 0;
}

// ---- Which calls are put in place --------------------------------------------------------------

static bool chooses(const CoreFn *f, int depth) {
    for (int i = 0; depth < 64 && i < f->values.len; i++) {
        const CoreFn *g = f->values.data[i].callee;
        if (g && (is_draw(g) || is_argmax(g) || chooses(g, depth + 1)))
            return true;
    }
    return false;
}

// Those that choose a token inside, so that the logits are seen; and those that take something with
// positions but no batch: in the step its rows differ from sequence to sequence.
static bool in_place(void *ctx, const CoreFn *f, const Value *call) {
    const Derive *d = ctx;
    if (is_draw(call->callee) || is_argmax(call->callee))
        return false;
    if (chooses(call->callee, 0))
        return true;
    for (int i = 0; i < call->args.len; i++) {
        const CoreType *t = core_value(f, call->args.data[i])->type;
        bool position = false, batch = false;
        for (int k = 0; t->kind == CORE_TENSOR && k < t->rank; k++) {
            position = position || t->dims[k] == d->S;
            batch = batch || t->dims[k] == d->B;
        }
        if (position && !batch)
            return true;
    }
    return false;
}

// ---- Logits ------------------------------------------------------------------------------------

// What depends on value `on`, by value - 1.
static void depends_region(const CoreFn *f, const Region *r, bool *dep) {
    for (int i = 0; i < r->body.len; i++) {
        Val v = r->body.data[i];
        const Value *value = core_value(f, v);
        for (int k = 0; k < value->args.len; k++)
            dep[v - 1] = dep[v - 1] || dep[value->args.data[k] - 1];
        if (value->op != OP_LOOP)
            continue;
        const Loop *l = value->loop;
        for (int k = 0; k < l->carried.len; k++)
            dep[l->carried.data[k] - 1] = dep[v - 1];
        depends_region(f, &l->region, dep);
        for (int k = 0; k < l->region.yields.len; k++)
            dep[v - 1] = dep[v - 1] || dep[l->region.yields.data[k] - 1];
    }
}

static bool is_identity(const Derive *d, const Value *v, const Node *n) {
    Val u = v->args.data[n->index];
    if (!core_type_equal(type_of(d, u), v->type))
        return false;
    for (int i = 0; i < n->read_count; i++) {
        const Node *at = &v->comp->nodes.data[n->reads[i]];
        if (at->op != N_INDEX || at->index != i)
            return false;
    }
    return true;
}

// x of a value x / temperature: an argument of it, or a new value. 0: it is of another form.
static Val without_temperature(Derive *d, Val v, const bool *dep) {
    Core *c = d->core;
    const Value *value = core_value(d->flat, v);
    if (value->op != OP_COMP || value->comp->reduction != RED_NONE)
        return 0;
    const Comp *k = value->comp;
    const Node *root = &k->nodes.data[k->root];
    if (root->op != N_DIV)
        return 0;
    const Node *by = &k->nodes.data[root->args[1]], *x = &k->nodes.data[root->args[0]];
    Val temperature = d->flat->params.data[d->temperature];
    if (by->op != N_READ || value->args.data[by->index] != temperature)
        return 0;
    if (x->op == N_READ && is_identity(d, value, x))
        return dep[value->args.data[x->index] - 1] ? 0 : value->args.data[x->index];
    for (int i = 0; i < value->args.len; i++) {
        if (dep[value->args.data[i] - 1] && value->args.data[i] != temperature)
            return 0;
    }
    Value copy = *value;
    Val n = core_add(c, d->flat, OP_COMP, copy.type, session_name(c->session, "logits"), copy.span);
    Comp *to = comp_copy(c, k);
    to->root = root->args[0];
    int used = 0, *number = NEW_N(c->session->arena, int, copy.args.len);
    for (int i = 0; i < copy.args.len; i++) {
        number[i] = copy.args.data[i] == temperature ? -1 : used++;
        if (number[i] >= 0)
            core_arg(c, d->flat, n, copy.args.data[i]);
    }
    to->nodes.len = to->root + 1;
    for (int i = 0; i < to->nodes.len; i++) {
        Node *node = &to->nodes.data[i];
        if (node->op == N_READ && number[node->index] >= 0) {
            node->index = number[node->index];
        } else if (node->op == N_READ) { // read for nothing, or the temperature itself
            *node = (Node){.op = N_CONST, .dtype = node->dtype, .f = 1};
        }
    }
    core_value(d->flat, n)->comp = to;
    return n;
}

// Puts a new value of the function's own region right after `after`.
static void emit_after(Derive *d, Val v, Val after) {
    Region *r = &d->flat->region;
    core_emit(d->core, r, v);
    int at = r->body.len - 1;
    while (at > 0 && r->body.data[at - 1] != after) {
        r->body.data[at] = r->body.data[at - 1];
        at--;
    }
    r->body.data[at] = v;
}

// The value that the token is chosen from.
static Val chosen_from(Derive *d) {
    CoreFn *f = d->flat;
    Val y = f->region.yields.data[0];
    const Value *value = core_value(f, y);
    Val other = 0; // a draw before it
    const bool *live = opt_live(d->core->session->arena, f);
    bool draw = value->op == OP_CALL && is_draw(value->callee) && value->args.len == 2;
    for (int i = 0; i < f->values.len && !other; i++) {
        const CoreFn *callee = live[i] ? f->values.data[i].callee : NULL;
        if (callee && is_draw(callee) && !(draw && (Val)i + 1 == y))
            other = (Val)i + 1;
    }
    if (other) {
        refuse(d, other, "a draw is not the last thing that the entry does");
        return 0;
    }
    if (draw)
        return value->args.data[1];
    if (value->op == OP_CALL && is_argmax(value->callee) && value->args.len == 1)
        return value->args.data[0];
    if (dtype_is_float(value->type->dtype))
        return y;
    refuse(d, y, "the entry gives tokens that are neither drawn nor the result of argmax");
    return 0;
}

static bool good_logits(const Derive *d, Val v) {
    const CoreType *t = type_of(d, v);
    bool rows = t->kind == CORE_TENSOR && t->rank == 3 && t->dims[1] == d->S;
    return t->kind == CORE_TENSOR && dtype_is_float(t->dtype) && t->dtype != DT_F64 &&
           (t->rank == 2 || rows) && t->dims[0] == d->B &&
           !dim_mentions(t->dims[t->rank - 1], d->S) && !dim_mentions(t->dims[t->rank - 1], d->B);
}

static bool expose_logits(Derive *d) {
    CoreFn *f = d->flat;
    if (f->region.yields.len != 1 || type_of(d, f->region.yields.data[0])->kind != CORE_TENSOR)
        return refuse(d, 0, "the entry gives more than tokens or logits");
    Val v = chosen_from(d);
    if (!v)
        return false;
    if (d->temperature >= 0) {
        bool *dep = NEW_N(d->core->session->arena, bool, f->values.len);
        dep[f->params.data[d->temperature] - 1] = true;
        depends_region(f, &f->region, dep);
        if (dep[v - 1]) {
            Val x = without_temperature(d, v, dep);
            if (!x)
                return refuse(d, v,
                              "the logits use the temperature otherwise than x / temperature");
            if ((int)x == f->values.len) // it is new
                emit_after(d, x, v);
            v = x;
        }
    }
    f->region.yields.data[0] = v;
    if (!good_logits(d, v))
        return refuse(d, v, "the logits are not f32, bf16 or f16 [batch, vocabulary]");
    opt_dce(d->core, f);
    return true;
}

static bool check_params(Derive *d) {
    const CoreFn *f = d->flat;
    const bool *live = opt_live(d->core->session->arena, f);
    for (int i = 0; i < f->params.len; i++) {
        Val p = f->params.data[i];
        const Value *v = core_value(f, p);
        if (live[p - 1] && i != d->tokens && v->type->kind == CORE_TENSOR)
            return refuse(d, p,
                          arena_printf(d->core->session->arena,
                                       "the logits need the parameter `%s` besides the tokens",
                                       v->name ? v->name : "?"));
    }
    return true;
}

// ---- Views -------------------------------------------------------------------------------------

// Axes made of positions and something else, as [B * S]: only their readers are positions. And
// integers that are computed of indices alone: their readers know them better.
static bool looked_through(void *ctx, const CoreFn *f, Val v, Val u) {
    const Derive *d = ctx;
    const Value *value = core_value(f, u);
    const CoreType *t = value->type;
    (void)v;
    for (int i = 0; i < t->rank; i++) {
        if (t->dims[i] != d->S && dim_mentions(t->dims[i], d->S))
            return true;
    }
    return dtype_is_integer(t->dtype) && value->args.len == 0 && value->comp->nodes.len <= 16 &&
           opt_type_mentions(t, d->S);
}

typedef struct {
    const Roles *roles;
    bool any; // something was looked through
} Copies;

// A mere choice of elements for all positions: a view that is costly in the step and free in its
// readers. And what depends on the length alone: its readers know it.
static bool copied(void *ctx, const CoreFn *f, Val v, Val u) {
    Copies *c = ctx;
    const Role *o = role_of(c->roles, u);
    const Comp *k = core_value(f, u)->comp;
    (void)v;
    bool view = o->live && o->mode == ROLE_ALL && o->tokens && k->nodes.data[k->root].op == N_READ;
    c->any = c->any || view;
    return view;
}

static bool length_only(void *ctx, const CoreFn *f, Val v, Val u) {
    Causal *k = ctx;
    const CausalValue *cv = causal_value(k, u), *reader = causal_value(k, v);
    (void)f;
    return cv && reader && !cv->tokens && cv->length && reader->tokens;
}

// ---- The whole ---------------------------------------------------------------------------------

static const Dim *add_symbol(Derive *d, const char *name) {
    Core *c = d->core;
    const Dim *symbol = dim_symbol(c->dims, session_name(c->session, name)), *bound = NULL;
    for (int i = 0; i < c->symbols.len && i < c->bounds.len; i++) {
        if (c->symbols.data[i] == d->S)
            bound = c->bounds.data[i];
    }
    vec_push(c->session->arena, &c->symbols, symbol);
    vec_push(c->session->arena, &c->bounds, bound);
    return symbol;
}

// The analysis of d->flat, in place of an earlier one; NULL after a refusal.
static Causal *prove(Derive *d, Causal **causal) {
    causal_free(*causal);
    Causal *k = causal_analyse(d->core, d->flat, d->S, d->flat->params.data[d->tokens]);
    *causal = k;
    if (causal_ok(k))
        return k;
    StrBuf b = strbuf_new(d->core->session->arena);
    const CausalCause *cause = causal_refusal(k);
    causal_print_cause(cause, &b);
    if (!d->why->text)
        *d->why = (StepRefusal){b.data, cause->span, causal_site(k, cause->owner)};
    return NULL;
}

static bool find_roles(Derive *d, Causal **causal, Roles *roles) {
    for (int round = 0; round < 4; round++) {
        Causal *k = prove(d, causal);
        if (!k)
            return false;
        opt_decide(d->flat, k);
        if (!opt_compose(d->core, d->flat, length_only, k))
            return refuse(d, 0, "a body became too large");
        opt_dce(d->core, d->flat);
        k = prove(d, causal);
        if (!k)
            return false;
        if (!roles_find(roles, d->core, d->flat, d->B, d->S, d->flat->params.data[d->tokens], k))
            return refuse_as(d, &roles->why);
        Copies copies = {roles, false};
        if (!opt_compose(d->core, d->flat, copied, &copies))
            return refuse(d, 0, "a body became too large");
        if (!copies.any)
            return true;
        opt_dce(d->core, d->flat);
    }
    return refuse(d, 0, "views of views go too deep");
}

// The first loop that yields, or 0.
static Val stacks(const CoreFn *f) {
    for (int i = 0; i < f->values.len; i++) {
        const Loop *l = f->values.data[i].loop;
        if (l && l->region.yields.len != l->carried.len)
            return (Val)i + 1;
    }
    return 0;
}

static bool flatten(Derive *d, CoreFn *entry) {
    d->flat = entry;
    CoreFn *flat = opt_flatten(d->core, entry, d->S);
    if (!flat)
        return refuse(d, opt_unflat(entry), "a `while` or a state can't be part of a step");
    d->flat = opt_inline(d->core, flat, in_place, d);
    if (!d->flat) {
        d->flat = flat;
        Val loop = stacks(flat);
        return refuse(d, loop,
                      loop ? "a loop that yields can't be part of a step"
                           : "the entry is too large");
    }
    d->flat->entry = false;
    if (!expose_logits(d))
        return false;
    opt_unflatten(d->core, d->flat, d->B, d->S);
    if (!opt_compose(d->core, d->flat, looked_through, d))
        return refuse(d, 0, "a body became too large");
    opt_dce(d->core, d->flat);
    return check_params(d);
}

// Functions that were made on the way, from `first` on, leave the module.
static void drop_functions(Core *c, int first) {
    c->fns.len = first;
}

// A sum in pairs over positions: which two make a pair depends on the first one's parity (N10).
static bool pairs_positions(const StepPlan *p) {
    for (int i = 0; i < p->fn->values.len; i++) {
        const Comp *k = p->fn->values.data[i].comp;
        for (int j = 0; k && k->step == STEP_PAIRS && j < k->red; j++) {
            if (k->red_dims[j] == p->L)
                return true;
        }
    }
    return false;
}

static StepPlan *build(Derive *d, CoreFn *entry, Roles *roles) {
    Core *c = d->core;
    Arena *a = c->session->arena;
    StepPlan *p = NEW(a, StepPlan);
    *p = (StepPlan){.B = d->B, .causal = roles->causal, .flat = d->flat};
    p->window = roles_window(roles);
    int symbols = c->symbols.len, bounds = c->bounds.len, fns = c->fns.len;
    p->C = add_symbol(d, "C");
    p->Cap = add_symbol(d, "Cap");
    p->L = add_symbol(d, "L");
    StepBuild b = {.core = c, .arena = arena_new(), .roles = roles, .from = d->flat, .plan = p};
    b.one = dim_const(c->dims, 1);
    b.slides = d->slides && p->window >= 0;
    b.rows = (Resize){.core = c, .from = d->S, .to = p->C};
    b.last = (Resize){.core = c, .from = d->S, .to = b.one};
    b.to = NEW(a, CoreFn);
    b.to->name = session_name(c->session, arena_printf(a, "%s.step", entry->name));
    b.to->doc =
        arena_printf(a, "the step of %s: one chunk of every sequence, and its logits", entry->name);
    b.to->span = entry->span;
    b.to->self = entry->self;
    b.to->entry = true;
    bool fine = step_build(&b);
    arena_free(b.arena);
    if (!fine) {
        refuse_as(d, &b.why);
        c->symbols.len = symbols;
        c->bounds.len = bounds;
        c->fns.len = fns;
        return NULL;
    }
    CoreFn *label = core_fn(c, b.to->name, arena_printf(a, "%s.step", entry->label));
    b.to->label = label->label;
    vec_last(&c->fns) = b.to; // after what it calls
    p->fn = b.to;
    opt_dce(c, p->fn);
    p->origin_step = pairs_positions(p) ? 2 : 1;
    return p;
}

static StepPlan *derive(Derive d, CoreFn *entry, int tokens, int temperature, Causal **causal) {
    Core *c = d.core;
    const Dim *B = d.B, *S = d.S;
    int first = entry->self ? 1 : 0, fns = c->fns.len;
    Causal *ignored;
    StepRefusal unsaid;
    Roles roles;
    d.why = d.why ? d.why : &unsaid;
    *d.why = (StepRefusal){0};
    causal = causal ? causal : &ignored;
    *causal = NULL;
    d.tokens = first + tokens;
    d.temperature = temperature < 0 ? -1 : first + temperature;
    const CoreType *t = d.tokens >= 0 && d.tokens < entry->params.len
                            ? core_value(entry, entry->params.data[d.tokens])->type
                            : NULL;
    if (!B || !S || !t || t->kind != CORE_TENSOR || t->rank != 2 || t->dims[0] != B ||
        t->dims[1] != S) {
        d.flat = entry;
        Val p = t ? entry->params.data[d.tokens] : 0;
        refuse(&d, p, "the tokens are not [batch, positions] with symbols for both");
        return NULL;
    }
    bool fine = flatten(&d, entry) && find_roles(&d, causal, &roles);
    drop_functions(c, fns);
    return fine ? build(&d, entry, &roles) : NULL;
}

int64_t opt_step_bytes(const StepPlan *p) {
    int64_t sum = 0;
    for (int i = 0; i < p->state_count; i++) {
        int64_t bytes = p->states[i].bytes;
        if (bytes < 0 || __builtin_add_overflow(sum, bytes, &sum))
            return -1;
    }
    return sum;
}

StepPlan *opt_step(Core *c, CoreFn *entry, const Dim *B, const Dim *S, int tokens, int temperature,
                   StepRefusal *why, Causal **causal) {
    Derive d = {.core = c, .B = B, .S = S, .why = why};
    return derive(d, entry, tokens, temperature, causal);
}

StepPlan *opt_step_sliding(Core *c, CoreFn *entry, const Dim *B, const Dim *S, int tokens,
                           int temperature, StepRefusal *why, Causal **causal) {
    Derive d = {.core = c, .B = B, .S = S, .why = why, .slides = true};
    return derive(d, entry, tokens, temperature, causal);
}

int64_t opt_step_capacity(const StepPlan *p, int64_t length, int64_t chunk) {
    if (!p->origin)
        return length;
    int64_t room = (p->window + chunk + p->origin_step - 1 + 31) / 32 * 32;
    return room < length ? room : length;
}
