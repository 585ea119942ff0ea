// serin eval PATH --entry NAME: calls any entry with tensors from files; its results to a file, or
// as text.
#include "cli/cli.h"
#include "cli/print_tensor.h"
#include "cli/target.h"
#include "lower/lower.h"
#include "opt/inplace.h"
#include "runtime/safetensors.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const Flag flags[] = {
    {"--entry", FLAG_TEXT, "NAME", "the entry to call"},
    {"--inputs", FLAG_TEXT, "FILE", "safetensors: its arguments, by the parameters' names"},
    {"-o", FLAG_TEXT, "FILE", "safetensors: its results, written when all went well"},
    {"--print", FLAG_BOOL, NULL, "its results as text, a line each; -o may be missing then"},
    {"--state", FLAG_TEXT, "FILE", "safetensors: the states before the call (all zero)"},
    {"--state-out", FLAG_TEXT, "FILE", "safetensors: the states after the call"},
    TARGET_FLAGS,
    {"--threads", FLAG_INT, "N", "0: one for each processor (0)"},
    {"--json", FLAG_BOOL, NULL, "what was written, as one JSON object"},
};

// One call.
typedef struct {
    Target t;
    RtWeights *input_file, *state_file; // or NULL
    Core *core;
    CoreFn *fn;
    Interp *it;
    InterpBlock *self;
    VEC(Tensor) args;  // in the order of the function's parameters
    VEC(RtTensor) out; // results, then states, to be written
    Map used;          // RtTensor of a file -> itself
    int faults;        // of what is being compared
} Eval;

static const char *shape_text(Arena *a, const char *dtype, int rank, const int64_t *dims) {
    StrBuf b = strbuf_new(a);
    strbuf_printf(&b, "%s [", dtype);
    for (int i = 0; i < rank; i++)
        strbuf_printf(&b, i ? ", %lld" : "%lld", (long long)dims[i]);
    strbuf_char(&b, ']');
    return b.data;
}

static const char *file_text(Eval *e, const RtTensor *x) {
    return shape_text(e->t.m.a, rt_format_name(x->format), x->rank, x->dims);
}

static RtWeights *open_file(Eval *e, const char *path) {
    RtError err;
    RtWeights *w = rt_weights_open(path, &err);
    if (!w)
        report(e->t.m.s, (Span){0}, E7004, "%s", err.text);
    return w;
}

// Every tensor of a file must be asked for.
static bool all_used(Eval *e, const RtWeights *file, const char *what) {
    bool all = true;
    for (size_t i = 0; i < rt_weights_count(file); i++) {
        const RtTensor *x = rt_weights_at(file, i);
        if (map_has(&e->used, x))
            continue;
        report(e->t.m.s, (Span){0}, E7004, "the file's tensor `%s`, %s, is no %s of `%s`", x->name,
               file_text(e, x), what, e->t.entry->name);
        all = false;
    }
    return all;
}

// ---- Weights and states ------------------------------------------------------------------------

static bool present(void *ctx, const char *path) {
    return model_present(&((Eval *)ctx)->t.m, path);
}

static const char *type_shape(Eval *e, const CoreType *t) {
    int64_t dims[CORE_MAX_RANK] = {0};
    for (int i = 0; i < t->rank; i++)
        dim_is_const(t->dims[i], &dims[i]);
    return shape_text(e->t.m.a, dtype_name(t->dtype), t->rank, dims);
}

static void match_weight(void *ctx, const char *path, const CoreType *t) {
    enum { MOST = 10 };
    Eval *e = ctx;
    const RtTensor *x = model_tensor(&e->t.m, path);
    if (x && model_shape_fits(x, t) && model_dtype_fits(x->format, t->dtype))
        return;
    if (e->faults++ >= MOST)
        return;
    report(e->t.m.s, (Span){0}, E5003, "the weight `%s` must be %s but is %s", path,
           type_shape(e, t), x ? file_text(e, x) : "not there");
}

static bool open_block(Eval *e) {
    char error[600];
    if (!e->fn->self)
        return true;
    bool needs = e->fn->self->members.len > 0;
    if (needs && !model_weights(&e->t.m) && e->t.m.weights_path) {
        report(e->t.m.s, (Span){0}, E5004, "the weights file %s does not exist",
               e->t.m.weights_path);
        return false;
    }
    core_weights(e->core, e->fn->self, match_weight, e);
    if (e->faults) {
        if (!model_weights(&e->t.m))
            diag_help(e->t.m.s, vec_last(&e->t.m.s->diags), "give --weights FILE");
        return false;
    }
    e->self = interp_block(e->it, e->fn->self, model_weight, &e->t.m, error, sizeof error);
    if (!e->self)
        report(e->t.m.s, (Span){0}, E5004, "%s", error);
    return e->self != NULL;
}

static void load_state(void *ctx, const char *path, const CoreType *type, const Tensor *t) {
    Eval *e = ctx;
    const RtTensor *x = rt_weights_find(e->state_file, path);
    if (x)
        map_put(e->t.m.a, &e->used, x, (void *)x);
    bool fits = x && model_shape_fits(x, type) && x->format == dtype_to_rt(type->dtype);
    if (!fits)
        report(e->t.m.s, (Span){0}, E7004, "the state `%s` must be %s but is %s", path,
               type_shape(e, type), x ? file_text(e, x) : "not in the file");
    else if (x->bytes)
        memcpy((void *)(uintptr_t)t->data, x->data, x->bytes); // states may be written, interp.h
}

static bool load_states(Eval *e) {
    int errors = e->t.m.s->errors;
    if (!e->state_file)
        return true;
    if (!e->self) {
        report(e->t.m.s, (Span){0}, E7004, "`%s` belongs to no block: it has no states",
               e->t.entry->name);
        return false;
    }
    interp_states(e->self, load_state, e);
    return e->t.m.s->errors == errors && all_used(e, e->state_file, "state of the block");
}

// ---- Arguments ---------------------------------------------------------------------------------

static void seek_part(void *ctx, const char *name, const Type *t, bool optional) {
    Eval *e = ctx;
    (void)t;
    (void)optional;
    e->faults += e->input_file && rt_weights_find(e->input_file, name);
}

static bool given(void *ctx, const Param *p) {
    Eval *e = ctx;
    e->faults = 0;
    type_parts(&e->t, p->name, p->type, seek_part, e);
    bool any = e->faults > 0;
    e->faults = 0;
    return any || (!p->fallback && p->type->kind != TYPE_OPTIONAL);
}

static const char *want_text(Eval *e, const Type *t) {
    t = subst_type(e->t.m.a, e->t.m.program->dims, t, target_subst(&e->t));
    return type_text(e->t.m.a, t);
}

// A part of an argument that is given: its tensor, as the parameter's type says.
static void take_part(void *ctx, const char *name, const Type *type, bool optional) {
    Eval *e = ctx;
    const RtTensor *x = e->input_file ? rt_weights_find(e->input_file, name) : NULL;
    DimTable *dims = e->t.m.program->dims;
    const Type *t = subst_type(e->t.m.a, dims, type, target_subst(&e->t));
    Dtype dtype = DT_F32;
    (void)optional;
    bool fits = x && rt_to_dtype(x->format, &dtype) && elem_is(t->elem, dtype) &&
                x->rank == t->rank && x->rank <= CORE_MAX_RANK;
    for (int i = 0; fits && i < x->rank; i++) {
        int64_t n;
        fits = dim_is_const(t->axes[i].dim, &n) && n == x->dims[i];
    }
    if (!fits) {
        Diag *d = report(e->t.m.s, (Span){0}, E7004, "the input `%s` must be %s but is %s", name,
                         want_text(e, type), x ? file_text(e, x) : "not in the file");
        diag_note(e->t.m.s, d, e->t.entry->name_span, "the parameter is %s",
                  type_text(e->t.m.a, type));
        return;
    }
    map_put(e->t.m.a, &e->used, x, (void *)x);
    Tensor arg = {.dtype = dtype, .rank = x->rank, .data = x->data};
    arg.format = dtype == DT_F32 ? RT_F32 : (RtFormat)0;
    memcpy(arg.dims, x->dims, sizeof *x->dims * (size_t)x->rank);
    vec_push(e->t.m.a, &e->args, arg);
}

static bool take_args(Eval *e) {
    int errors = e->t.m.s->errors;
    for (int i = 0; i < e->t.entry->params.len; i++) {
        const Param *p = e->t.entry->params.data[i];
        if (given(e, p))
            type_parts(&e->t, p->name, p->type, take_part, e);
    }
    return e->t.m.s->errors == errors &&
           (!e->input_file || all_used(e, e->input_file, "parameter"));
}

// ---- Results -----------------------------------------------------------------------------------

static bool add_out(Eval *e, const char *name, const Tensor *t) {
    if (t->rank > RT_MAX_RANK) {
        report(e->t.m.s, (Span){0}, E7004, "`%s` has %d axes; a file holds at most %d", name,
               t->rank, RT_MAX_RANK);
        return false;
    }
    RtTensor x = {.name = name, .format = dtype_to_rt(t->dtype), .rank = t->rank, .data = t->data};
    uint64_t count = 1;
    for (int i = 0; i < t->rank; i++) {
        x.dims[i] = t->dims[i];
        count *= (uint64_t)t->dims[i];
    }
    x.bytes = rt_format_bytes(x.format, count, NULL);
    vec_push(e->t.m.a, &e->out, x);
    return true;
}

typedef struct {
    Arena *arena;
    VEC(const char *) names; // of the parts of the result
} ResultNames;

static void name_result(void *ctx, const char *name, const Type *t, bool optional) {
    ResultNames *r = ctx;
    (void)t;
    (void)optional;
    vec_push(r->arena, &r->names, name);
}

static void add_state(void *ctx, const char *path, const CoreType *type, const Tensor *t) {
    Eval *e = ctx;
    (void)type;
    add_out(e, arena_printf(e->t.m.a, "%s", path), t);
}

static bool write_out(Eval *e, const char *path) {
    RtError err;
    if (rt_safetensors_write(path, e->out.data, (size_t)e->out.len, &err))
        return true;
    report(e->t.m.s, (Span){0}, E7004, "%s", err.text);
    return false;
}

static void print_json(const Eval *e) {
    fputs("{\"entry\": ", stdout);
    json_string(stdout, e->t.entry->name);
    fputs(", \"results\": {", stdout);
    for (int i = 0; i < e->out.len; i++) {
        const RtTensor *x = &e->out.data[i];
        fputs(i ? ", " : "", stdout);
        json_string(stdout, x->name);
        printf(": {\"dtype\": \"%s\", \"shape\": [", rt_format_name(x->format));
        for (int k = 0; k < x->rank; k++)
            printf(k ? ", %lld" : "%lld", (long long)x->dims[k]);
        fputs("]}", stdout);
    }
    puts("}}");
}

// ---- The call ----------------------------------------------------------------------------------

static bool call(Eval *e, const Args *args) {
    char error[800];
    int n = e->fn->region.yields.len;
    Tensor *results = NEW_N(e->t.m.a, Tensor, n + 1);
    ResultNames r = {.arena = e->t.m.a};
    result_parts(&e->t, e->t.entry->type, name_result, &r);
    if (r.names.len != n) {
        report(e->t.m.s, e->t.entry->name_span, E7004, "a result of `%s` is optional",
               e->t.entry->name);
        return false;
    }
    if (!interp_call(e->it, e->fn, e->self, e->args.len, e->args.data, results, error,
                     sizeof error)) {
        report(e->t.m.s, (Span){0}, E7004, "%s", error);
        return false;
    }
    for (int i = 0; i < n; i++) {
        if (!add_out(e, r.names.data[i], &results[i]))
            return false;
    }
    const char *path = args_text(args, "-o");
    if (path && !write_out(e, path))
        return false;
    for (int i = 0; i < n && args_has(args, "--print"); i++)
        print_tensor(stdout, &e->out.data[i]);
    if (args_has(args, "--json"))
        print_json(e);
    if (!args_text(args, "--state-out"))
        return true;
    e->out.len = 0;
    if (e->self)
        interp_states(e->self, add_state, e);
    return write_out(e, args_text(args, "--state-out"));
}

static int lower(Eval *e) {
    LowerOptions o = {.program = e->t.m.program,
                      .block_args = e->t.block_args,
                      .present = present,
                      .given = given,
                      .ctx = e};
    e->core = o.core = core_new(e->t.m.s, e->t.m.program->dims);
    e->fn = lower_entry(&o, e->t.block, e->t.entry, e->t.entry_args);
    int code = e->fn ? model_verify(&e->t.m, e->core, "lowering") : EXIT_WRONG;
    if (code != EXIT_FINE || !opt_inplace(e->core))
        return code;
    return model_verify(&e->t.m, e->core, "writing in place");
}

static bool open_files(Eval *e, const Args *args) {
    const char *inputs = args_text(args, "--inputs"), *states = args_text(args, "--state");
    e->t.inputs = e->input_file = inputs ? open_file(e, inputs) : NULL;
    e->t.states = e->state_file = states ? open_file(e, states) : NULL;
    return (!inputs || e->input_file) && (!states || e->state_file);
}

static int eval(Eval *e, const Args *args, RtPool *pool) {
    if (!target_find(&e->t, args_text(args, "--entry"), args_text(args, "--block")) ||
        !open_files(e, args) || !target_bind(&e->t) || !take_args(e))
        return EXIT_WRONG;
    int code = lower(e);
    if (code != EXIT_FINE)
        return code;
    e->it = interp_new(e->core, pool);
    return open_block(e) && load_states(e) && call(e, args) ? EXIT_FINE : EXIT_WRONG;
}

static int run(Arena *a, const Args *args) {
    bool print = args_has(args, "--print");
    if (args->paths.len != 1 || !args_text(args, "--entry") || !(print || args_text(args, "-o")))
        return usage_error("eval takes one PATH, --entry NAME, and -o FILE or --print");
    if (print && args_has(args, "--json"))
        return usage_error("--print and --json are two forms of stdout; choose one");
    if (!args_within(args, "--threads", 0, 256))
        return EXIT_USAGE;
    static const char *const files[] = {"--inputs", "--state"};
    for (int i = 0; i < 2; i++) {
        const char *path = args_text(args, files[i]);
        if (path && access(path, F_OK) != 0)
            return usage_error("%s: there is no file %s", files[i], path);
    }
    Eval e = {0};
    RtPool *pool = rt_pool_new((int)args_int(args, "--threads", 0));
    int code = target_open(a, args->paths.data[0], args, &e.t);
    if (code == EXIT_FINE)
        code = eval(&e, args, pool);
    if (e.t.m.s && finish_text(e.t.m.s) != EXIT_FINE && code == EXIT_FINE)
        code = EXIT_WRONG;
    interp_free(e.it);
    rt_weights_close(e.input_file);
    rt_weights_close(e.state_file);
    target_close(&e.t);
    rt_pool_free(pool);
    return code;
}

const Command command_eval = {
    "eval",
    "PATH --entry NAME [--inputs FILE] [-o FILE] [--print]",
    "Calls any entry with tensors from a file.",
    "serin eval model.serin --entry forward --inputs in.safetensors -o out.safetensors",
    COMMAND_FLAGS(flags),
    run};
