// Core -> Loop IR: the functions that the roots need, the structs of their weights, the symbols.
#include "codegen/loop_build.h"
#include <stdio.h>

static void add_symbols(LoopModule *m, const LoopOptions *o) {
    Core *c = m->core;
    for (int i = 0; i < c->symbols.len; i++) {
        const Dim *d = c->symbols.data[i];
        int64_t most = INT32_MAX, bound;
        if (d == o->one)
            continue;
        if (i < c->bounds.len && c->bounds.data[i] && dim_is_const(c->bounds.data[i], &bound))
            most = bound;
        bool bound_here = false;
        for (int k = 0; k < o->bound_count; k++) {
            if (o->bounds[k].symbol == d)
                most = o->bounds[k].most;
            bound_here |= o->bounds[k].symbol == d;
        }
        LoopSymbol s = {d, names_pick(m->names, dim_name(d)), bound_here, most < 1 ? 1 : most};
        vec_push(c->session->arena, &m->symbols, s);
    }
}

// ---- Blocks ------------------------------------------------------------------------------------

enum { BLOCK_DEPTH = 100 }; // blocks in blocks

// Types begin with a capital letter.
static const char *type_noun(Arena *a, const char *label) {
    bool lower = *label >= 'a' && *label <= 'z';
    return lower ? arena_printf(a, "%c%s", *label - 32, label + 1) : label;
}

static void add_block(LoopModule *m, const CoreBlock *block, int depth) {
    Arena *a = m->core->session->arena;
    if (loop_block(m, block))
        return;
    if (depth > BLOCK_DEPTH) {
        loop_fail(m, "blocks are nested too deeply in %s", block->label);
        return;
    }
    Names *names = names_new(m->core->session, NULL);
    LoopBlock out = {block, NULL, NEW_N(a, const char *, block->members.len + 1)};
    for (int i = 0; i < block->members.len && !m->error; i++) {
        const CoreMember *member = &block->members.data[i];
        if (member->kind == MEMBER_STATE && !m->states)
            continue;
        if (member->type->block)
            add_block(m, member->type->block, depth + 1);
        if (member->type->kind == CORE_ARRAY && !dim_is_const(member->type->count, NULL))
            loop_fail(m, "%s.%s: the number of blocks is not fixed", block->label, member->name);
        out.members[i] = names_pick(names, member->name);
    }
    out.name = names_pick(m->names, type_noun(a, block->label));
    vec_push(a, &m->blocks, out);
}

// ---- Functions ---------------------------------------------------------------------------------

static void mark_functions(LoopModule *m, const LoopOptions *o, Map *wanted) {
    Core *c = m->core;
    for (int i = 0; i < o->root_count; i++)
        map_put(c->session->arena, wanted, o->roots[i], m);
    for (int i = c->fns.len - 1; i >= 0; i--) {
        const CoreFn *f = c->fns.data[i];
        for (int v = 0; map_get(wanted, f) && v < f->values.len; v++) {
            if (f->values.data[v].op == OP_CALL)
                map_put(c->session->arena, wanted, f->values.data[v].callee, m);
        }
    }
}

static bool uses_states(const CoreFn *f) {
    for (int v = 1; v <= f->values.len; v++) {
        if (core_is_block_state(f, (Val)v))
            return true;
    }
    return false;
}

static void add_function(LoopModule *m, const CoreFn *f) {
    for (int i = 0; i < f->params.len; i++) {
        const CoreType *t = core_value(f, f->params.data[i])->type;
        if (t->kind == CORE_TUPLE)
            loop_fail(m, "%s: a parameter that is a tuple", f->label);
        if (t->block)
            add_block(m, t->block, 0);
    }
    if (m->error)
        return;
    LoopFn *out = loop_build_fn(m, f);
    vec_push(m->core->session->arena, &m->fns, out);
}

// Calls that turned out to be unused leave functions that nobody calls.
static void mark_live(LoopModule *m, const LoopOptions *o) {
    for (int i = m->fns.len - 1; i >= 0; i--) {
        LoopFn *f = m->fns.data[i];
        for (int r = 0; r < o->root_count; r++)
            f->root |= o->roots[r] == f->source;
        f->live |= f->root;
        for (int c = 0; f->live && c < f->callees.len; c++)
            m->fns.data[f->callees.data[c]]->live = true;
    }
}

LoopModule *loop_build(Core *c, const LoopOptions *o) {
    Arena *a = c->session->arena;
    LoopModule *m = NEW(a, LoopModule);
    Map wanted = {0};
    m->core = c;
    m->one = o->one;
    m->names = names_new(c->session, NULL);
    add_symbols(m, o);
    mark_functions(m, o, &wanted);
    for (int i = 0; i < c->fns.len; i++)
        m->states |= map_get(&wanted, c->fns.data[i]) && uses_states(c->fns.data[i]);
    for (int i = 0; i < c->fns.len && !m->error; i++) {
        if (map_get(&wanted, c->fns.data[i]))
            add_function(m, c->fns.data[i]);
    }
    mark_live(m, o);
    return m;
}
