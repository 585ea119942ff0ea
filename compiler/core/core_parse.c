// Reads Core's text: what core_print wrote, or a person. It makes what is written; whether that
// makes sense is the verifier's to say. The first error ends the reading.
#include "core/parse.h"
#include <string.h>

static const CoreType *parse_type(Parser *p);

static Name label(Parser *p, const char *what) {
    if (p->tok.kind != T_LABEL) {
        parse_fail(p, "expected %s", what);
        return session_name(p->core->session, "_");
    }
    Name name = intern(p->core->session->names, p->tok.text);
    parse_next(p);
    return name;
}

static Name string(Parser *p) {
    if (p->tok.kind != T_STRING) {
        parse_fail(p, "expected a name in quotes");
        return session_name(p->core->session, "");
    }
    Name name = intern(p->core->session->names, p->tok.text);
    parse_next(p);
    return name;
}

// ---- Symbols -----------------------------------------------------------------------------------

static void add_symbol(Parser *p) {
    Core *c = p->core;
    Span span = p->tok.span;
    Name name = parse_name(p, "a dimension's name");
    if (c->symbols.len == MOST_SYMBOLS)
        parse_fail_at(p, span, "more than %d dimensions", MOST_SYMBOLS);
    if (map_has(&p->symbols, name))
        parse_fail_at(p, span, "the dimension `%s` is listed twice", name);
    if (p->failed)
        return;
    const Dim *d = dim_symbol(c->dims, parse_base(p, name));
    map_put(p->scratch, &p->symbols, name, (void *)d);
    vec_push(c->session->arena, &c->symbols, d);
    vec_push(c->session->arena, &c->bounds, NULL);
}

static bool item_starts(const Parser *p) {
    return parse_is_word(p, "block") || parse_is_word(p, "fn") || parse_is_word(p, "entry") ||
           parse_is_word(p, "dim");
}

// All names first: a bound may use a symbol that is listed after it.
static void declare_symbols(Parser *p) {
    int nested = 0;
    do {
        add_symbol(p);
        while (p->tok.kind != T_END && !item_starts(p) && (nested > 0 || !parse_is(p, ','))) {
            nested += parse_is(p, '(');
            nested -= parse_is(p, ')');
            parse_next(p);
        }
    } while (parse_take(p, ','));
}

static void parse_symbols(Parser *p) {
    int first = p->core->symbols.len, at = p->at;
    Token tok = p->tok;
    declare_symbols(p);
    if (p->failed)
        return;
    p->at = at;
    p->tok = tok;
    for (int i = first; i < p->core->symbols.len && !p->failed; i++) {
        if (i > first)
            parse_need(p, ',');
        parse_name(p, "a dimension's name");
        if (parse_take(p, 'L'))
            p->core->bounds.data[i] = parse_dim(p);
    }
}

// ---- Types -------------------------------------------------------------------------------------

// A block may be named before it is defined.
static CoreBlock *block_of(Parser *p, Name name) {
    CoreBlock *b = map_get(&p->blocks, name);
    if (!b) {
        b = NEW(p->core->session->arena, CoreBlock);
        b->label = name;
        map_put(p->scratch, &p->blocks, name, b);
        vec_push(p->scratch, &p->named, b);
    }
    return b;
}

static const CoreType *tensor_type(Parser *p) {
    Dtype t = DT_F32;
    Span span = p->tok.span;
    if (!dtype_find(parse_name(p, "a type"), &t))
        parse_fail_at(p, span, "expected a type");
    parse_need(p, '[');
    const Dim *dims[CORE_MAX_RANK];
    int rank = 0;
    while (!p->failed && !parse_is(p, ']')) {
        if (rank == CORE_MAX_RANK) {
            parse_fail(p, "more than %d axes", CORE_MAX_RANK);
            break;
        }
        dims[rank++] = parse_dim(p);
        if (!parse_take(p, ','))
            break;
    }
    parse_need(p, ']');
    return core_tensor(p->core, t, rank, dims);
}

static const CoreType *tuple_type(Parser *p) {
    VEC(const CoreType *) items = {0};
    parse_need(p, '(');
    while (!p->failed && !parse_is(p, ')')) {
        const CoreType *t = parse_type(p);
        vec_push(p->scratch, &items, t);
        if (!parse_take(p, ','))
            break;
    }
    parse_need(p, ')');
    return core_tuple(p->core, items.len, items.data);
}

static const CoreType *parse_type(Parser *p) {
    const CoreType *t = NULL;
    if (!parse_enter(p))
        return core_tensor(p->core, DT_F32, 0, NULL);
    if (p->tok.kind == T_LABEL) {
        CoreBlock *b = block_of(p, label(p, "a block"));
        if (parse_take(p, '[')) {
            t = core_array_type(p->core, b, parse_dim(p));
            parse_need(p, ']');
        } else {
            t = core_block_type(p->core, b);
        }
    } else {
        t = parse_is(p, '(') ? tuple_type(p) : tensor_type(p);
    }
    p->depth--;
    return t;
}

static void parse_block(Parser *p) {
    static const char *const kinds[] = {"param", "buffer", "state", "sub", "array"};
    Arena *a = p->core->session->arena;
    Span span = p->tok.span;
    CoreBlock *b = block_of(p, label(p, "the block's label"));
    if (b->name)
        parse_fail_at(p, span, "the block @%s is defined twice", b->label);
    b->name = string(p);
    if (p->core->blocks.len == MOST_ITEMS)
        parse_fail_at(p, span, "more than %d blocks", MOST_ITEMS);
    vec_push(a, &p->core->blocks, b);
    parse_need(p, '{');
    while (!p->failed && !parse_is(p, '}')) {
        CoreMember m = {0};
        int kind = 0;
        while (kind < 5 && !parse_is_word(p, kinds[kind]))
            kind++;
        if (kind == 5)
            parse_fail(p, "expected a member: param, buffer, state, sub or array");
        m.kind = (MemberKind)(kind % 5);
        parse_next(p);
        m.name = parse_name(p, "the member's name");
        parse_need(p, ':');
        m.type = parse_type(p);
        parse_take(p, ';');
        vec_push(a, &b->members, m);
    }
    parse_need(p, '}');
}

// ---- Values ------------------------------------------------------------------------------------

static void parse_region(Parser *p, Region *r, const char *end);

// Makes a value's name known; text uses each name once in a function.
static void name_value(Parser *p, Span span, Name name, Val v) {
    if (map_has(&p->values, name))
        parse_fail_at(p, span, "the value %%%s is defined twice", name);
    map_put(p->scratch, &p->values, name, (void *)(uintptr_t)v);
}

static Name value_name(Parser *p) {
    if (p->tok.kind != T_VALUE)
        parse_fail(p, "expected a value");
    Name name = p->failed ? session_name(p->core->session, "_")
                          : intern(p->core->session->names, p->tok.text);
    parse_next(p);
    return name;
}

static Val parse_use(Parser *p) {
    Span span = p->tok.span;
    Name name = value_name(p);
    Val v = (Val)(uintptr_t)map_get(&p->values, name);
    if (!v)
        parse_fail_at(p, span, "the value %%%s is not defined before this", name);
    return v;
}

static Val new_param(Parser *p, const CoreType *type, Name name, Span span) {
    Val v = core_add(p->core, p->fn, OP_PARAM, type, parse_base(p, name), span);
    name_value(p, span, name, v);
    return v;
}

// `(%a, %b)`
static void parse_args(Parser *p, Val v) {
    parse_need(p, '(');
    while (!p->failed && !parse_is(p, ')')) {
        Val arg = parse_use(p);
        if (!p->failed)
            core_arg(p->core, p->fn, v, arg);
        if (!parse_take(p, ','))
            break;
    }
    parse_need(p, ')');
}

static void parse_loop(Parser *p, Val v) {
    Arena *a = p->core->session->arena;
    Loop *l = NEW(a, Loop);
    core_value(p->fn, v)->loop = l;
    bool test = core_value(p->fn, v)->op == OP_WHILE;
    Span span = p->tok.span;
    if (!test) {
        Name index = value_name(p);
        parse_need(p, '<');
        l->count = parse_dim(p);
        l->index = new_param(p, core_tensor(p->core, DT_I64, 0, NULL), index, span);
    }
    parse_need(p, '(');
    while (!p->failed && !parse_is(p, ')')) {
        span = p->tok.span;
        Name name = value_name(p);
        parse_need(p, '=');
        Val arg = parse_use(p);
        if (p->failed)
            return;
        core_arg(p->core, p->fn, v, arg);
        Val carried = new_param(p, core_value(p->fn, arg)->type, name, span);
        vec_push(a, &l->carried, carried);
        if (!parse_take(p, ','))
            break;
    }
    parse_need(p, ')');
    parse_need(p, '{');
    if (test) {
        parse_region(p, &l->test, "yield");
        parse_need(p, '}');
        if (!parse_take_word(p, "do"))
            parse_fail(p, "expected `do`");
        parse_need(p, '{');
    }
    parse_region(p, &l->region, "yield");
    parse_need(p, '}');
}

static void parse_view(Parser *p, Val v) {
    Span span = p->tok.span;
    parse_args(p, v);
    if (p->failed)
        return;
    const Value *value = core_value(p->fn, v);
    const CoreType *from = value->args.len ? core_value(p->fn, value->args.data[0])->type : NULL;
    if (value->args.len != 1 || from->kind != CORE_TENSOR || value->type->kind != CORE_TENSOR) {
        parse_fail_at(p, span, "a view is of one tensor, and a tensor");
        return;
    }
    core_value(p->fn, v)->comp = comp_reshape(p->core, from, value->type, NULL);
}

static void parse_call(Parser *p, Val v) {
    Span span = p->tok.span;
    Name name = label(p, "a function");
    CoreFn *callee = map_get(&p->fns, name);
    if (!callee)
        parse_fail_at(p, span, "the function @%s is not defined before this", name);
    core_value(p->fn, v)->callee = callee;
    p->fn->effects = p->fn->effects || (callee && callee->effects);
    parse_args(p, v);
}

// `%a, %b`
static void parse_bare_args(Parser *p, Val v, int count) {
    for (int i = 0; i < count && !p->failed; i++) {
        if (i)
            parse_need(p, ',');
        Val arg = parse_use(p);
        if (!p->failed)
            core_arg(p->core, p->fn, v, arg);
    }
}

static void parse_op(Parser *p, Val v) {
    if (p->failed)
        return;
    Op op = core_value(p->fn, v)->op;
    if (op == OP_CALL) {
        parse_call(p, v);
    } else if (op == OP_LOOP || op == OP_WHILE) {
        parse_loop(p, v);
    } else if (op == OP_COMP) {
        parse_args(p, v);
        const Value *value = core_value(p->fn, v);
        Comp *k = parse_comp(p, value->args.len, value->args.data);
        core_value(p->fn, v)->comp = k;
    } else {
        static const int counts[] = {
            [OP_PICK] = 2, [OP_WRITE] = 3, [OP_ASSIGN] = 2, [OP_PLACE] = 4, [OP_COUNT] = 0};
        p->fn->effects = p->fn->effects || op == OP_ASSIGN || op == OP_PLACE;
        parse_bare_args(p, v, counts[op] ? counts[op] : 1);
        if (op == OP_RESULT || op == OP_CUMSUM) {
            parse_need(p, ',');
            core_value(p->fn, v)->index = (int)parse_magnitude(p, INT32_MAX, "a position");
        }
        if (op == OP_MEMBER) {
            parse_need(p, '.');
            core_value(p->fn, v)->member = parse_name(p, "a member's name");
        }
    }
}

static const char *comment_of(Parser *p, Str comment) {
    if (!comment.len)
        return NULL;
    return arena_copy(p->core->session->arena, comment.ptr, (size_t)comment.len);
}

static bool op_find(Parser *p, Op *op, bool *view) {
    *view = parse_take_word(p, "view");
    *op = OP_COMP;
    if (*view)
        return true;
    for (int i = OP_COMP; i < OP_COUNT; i++) {
        if (parse_take_word(p, op_text((Op)i))) {
            *op = (Op)i;
            return true;
        }
    }
    parse_fail(p, "expected an operation: comp, view, call, result, loop, member, pick, "
                  "write, assign, place, while or cumsum");
    return false;
}

static void parse_value(Parser *p, Region *r) {
    Op op;
    bool view;
    Token first = p->tok;
    Name name = value_name(p);
    parse_need(p, ':');
    const CoreType *type = parse_type(p);
    parse_need(p, '=');
    if (!op_find(p, &op, &view))
        return;
    Val v = core_add(p->core, p->fn, op, type, parse_base(p, name), first.span);
    core_value(p->fn, v)->comment = comment_of(p, first.comment);
    if (view)
        parse_view(p, v);
    else
        parse_op(p, v);
    core_emit(p->core, r, v);
    name_value(p, first.span, name, v);
    parse_take(p, ';');
}

static void parse_region(Parser *p, Region *r, const char *end) {
    if (!parse_enter(p))
        return;
    while (p->tok.kind == T_VALUE)
        parse_value(p, r);
    if (!parse_take_word(p, end))
        parse_fail(p, "expected a value's definition or `%s`", end);
    while (p->tok.kind == T_VALUE) {
        Val v = parse_use(p);
        vec_push(p->core->session->arena, &r->yields, v);
        if (!parse_take(p, ','))
            break;
    }
    parse_take(p, ';');
    p->depth--;
}

// ---- Functions and modules ---------------------------------------------------------------------

static void parse_params(Parser *p) {
    CoreFn *f = p->fn;
    parse_need(p, '(');
    while (!p->failed && !parse_is(p, ')')) {
        bool state = parse_take_word(p, "state");
        Span span = p->tok.span;
        Name name = value_name(p);
        parse_need(p, ':');
        const CoreType *type = parse_type(p);
        if (p->failed)
            return;
        if (!f->params.len && type->kind == CORE_BLOCK)
            f->self = type->block;
        Val v = new_param(p, type, name, span);
        vec_push(p->core->session->arena, &f->params, v);
        if (state)
            vec_push(p->core->session->arena, &f->states, v);
        if (!parse_take(p, ','))
            break;
    }
    parse_need(p, ')');
}

static void parse_fn(Parser *p, Str doc, bool entry) {
    Core *c = p->core;
    CoreFn *f = NEW(c->session->arena, CoreFn);
    p->fn = f;
    p->values = (Map){0};
    f->span = p->tok.span;
    f->doc = comment_of(p, doc);
    f->entry = entry;
    f->label = label(p, "the function's label");
    if (map_has(&p->fns, f->label))
        parse_fail_at(p, f->span, "the function @%s is defined twice", f->label);
    if (c->fns.len == MOST_ITEMS)
        parse_fail_at(p, f->span, "more than %d functions", MOST_ITEMS);
    f->name = string(p);
    parse_params(p);
    parse_need(p, '>');
    Span span = p->tok.span;
    const CoreType *type = parse_type(p);
    parse_need(p, '{');
    parse_region(p, &f->region, "return");
    parse_need(p, '}');
    if (!p->failed && !core_type_equal(type, core_result_type(c, f)))
        parse_fail_at(p, span, "@%s does not return what is written here", f->label);
    map_put(p->scratch, &p->fns, f->label, f);
    vec_push(c->session->arena, &c->fns, f);
}

static void parse_module(Parser *p) {
    if (!parse_take_word(p, "core") || p->tok.kind != T_INT || !str_eq(p->tok.text, STR("1")))
        parse_fail(p, "expected `core 1`");
    parse_next(p);
    while (p->tok.kind != T_END) {
        Str doc = p->tok.comment;
        if (parse_take_word(p, "dim"))
            parse_symbols(p);
        else if (parse_take_word(p, "block"))
            parse_block(p);
        else if (parse_take_word(p, "fn"))
            parse_fn(p, doc, false);
        else if (parse_take_word(p, "entry") && parse_take_word(p, "fn"))
            parse_fn(p, doc, true);
        else
            parse_fail(p, "expected dim, block, fn or entry fn");
    }
}

static void check_blocks(Parser *p) {
    for (int i = 0; i < p->named.len && !p->failed; i++) {
        if (!p->named.data[i]->name)
            parse_fail(p, "the block @%s is not defined", p->named.data[i]->label);
    }
}

Core *core_parse(Session *s, DimTable *dims, int file) {
    const Source *source = session_source(s, (Span){file, 0, 0});
    if (!source)
        return NULL;
    Parser p = {.core = core_new(s, dims), .scratch = arena_new(), .file = file};
    p.text = source->text;
    parse_next(&p);
    parse_module(&p);
    check_blocks(&p);
    arena_free(p.scratch);
    return p.failed ? NULL : p.core;
}
