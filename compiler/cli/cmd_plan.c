// serin plan PATH: the memory of a run, to the byte, before anything is loaded. Only the headers of
// the weights are read.
#include "cli/cli.h"
#include "cli/generate.h"
#include "cli/model_codegen.h"
#include "cli/plan_block.h"
#include <string.h>

static const Flag flags[] = {
    MODEL_FLAGS,
    {"--block", FLAG_TEXT, "NAME", "the block, where there is no serve block"},
    {"--rows", FLAG_INT, "N", "sequences at once (1)"},
    {"--chunk", FLAG_INT, "N",
     "tokens of a prompt read at a time (128; by a hand-written prefill: all)"},
    {"--threads", FLAG_INT, "N", "of serin serve and run; 0: one for each processor (0)"},
    {"--json", FLAG_BOOL, NULL, "the numbers as one JSON object"},
};

typedef struct {
    int64_t tensors;
    int64_t weights;       // bytes of all parameters in their own types
    int64_t token;         // bytes of the cache for one position of one row; -1 where not constant
    int64_t rows, context; // sequences, and positions of each
    int64_t held;          // positions of each that the cache holds
    int64_t chunk;
    CodegenMemory memory;  // of an exported C program
    int64_t vocabulary;    // of the tokenizer: bytes, 0 without one
    int64_t files, mapped; // of the weights as they are stored, 0 where they are not there: bytes
    int threads;           // as given
    EngineMemory engine;   // of the interpreter
    bool good;             // no size left 63 bits
} Plan;

static void add_weight(void *ctx, const char *path, const CoreType *type) {
    Plan *p = ctx;
    int64_t bytes = dtype_size(type->dtype), d;
    (void)path;
    for (int i = 0; i < type->rank; i++)
        p->good &= dim_is_const(type->dims[i], &d) && !__builtin_mul_overflow(bytes, d, &bytes);
    p->good &= !__builtin_add_overflow(p->weights, bytes, &p->weights);
    p->tensors++;
}

static int64_t total(Plan *p) {
    int64_t all = 0;
    p->good &= !__builtin_add_overflow(p->weights, p->memory.cache, &all) &&
               !__builtin_add_overflow(all, p->memory.arena, &all);
    return all;
}

static int64_t stored(const Plan *p) {
    return p->files ? p->mapped : p->weights;
}

static int64_t engine_total(Plan *p) {
    int64_t all = 0, rest = p->engine.arena + p->engine.scratch + p->vocabulary;
    p->good &= !__builtin_add_overflow(stored(p), p->engine.cache, &all) &&
               !__builtin_add_overflow(all, rest, &all);
    return all;
}

// What serin run keeps of the tokenizer while it generates. Without a sound one it does not run.
static int64_t vocabulary(const Model *m, const RtWeights *weights) {
    const char *path = m->checkpoint ? checkpoint_tokenizer_path(m->checkpoint) : NULL;
    const RtGguf *gguf = m->checkpoint && weights ? rt_weights_gguf(weights) : NULL;
    RtError err;
    RtTokenizer *t = path   ? rt_tokenizer_read(path, &err)
                     : gguf ? rt_tokenizer_from_gguf(gguf, &err)
                            : NULL;
    int64_t bytes = t ? (int64_t)rt_tokenizer_bytes(t) : 0;
    rt_tokenizer_free(t);
    return bytes;
}

static void find_files(const Model *m, Plan *p) {
    const RtWeights *weights = model_weights(m);
    p->files = weights ? (int64_t)rt_weights_files(weights) : 0;
    p->mapped = weights ? (int64_t)rt_weights_bytes(weights) : 0;
    p->vocabulary = vocabulary(m, weights);
}

static bool fill(Model *m, Plan *p) {
    char error[512] = "";
    CodegenCache cache;
    CodegenOptions o;
    Core *core = model_codegen(m, &o, &cache);
    if (o.step && p->rows > cache.step.max_rows)
        cache.step.max_rows = p->rows; // any batch can be planned
    core_weights(core,
                 m->step     ? m->step->fn->self
                 : m->decode ? m->decode->self
                             : m->entry->self,
                 add_weight, p);
    p->token = m->step ? opt_step_bytes(m->step) : 0;
    p->held = m->step ? opt_step_capacity(m->step, p->context, p->chunk) : p->context;
    bool good =
        codegen_memory(core, &o, p->rows, p->held, p->chunk, &p->memory, error, sizeof error);
    int64_t positions = m->decode ? model_written_positions(m) : 0;
    if (m->decode) {
        p->token = positions && p->memory.cache % positions == 0 ? p->memory.cache / positions : -1;
        p->held = positions ? positions : p->held; // whatever the context is
    }
    total(p);
    if (good && !generate_plan(m, p->rows, p->context, p->chunk, p->threads, &p->engine))
        return false;
    find_files(m, p);
    engine_total(p);
    if (good && !p->good)
        snprintf(error, sizeof error, "the memory of the model is beyond 63 bits");
    if (error[0])
        report(m->s, (Span){0}, E8001, "%s", error);
    return good && p->good;
}

// ---- Printing ----------------------------------------------------------------------------------

const char *plan_grouped(Arena *a, int64_t n) {
    const char *digits = arena_printf(a, "%lld", (long long)n);
    StrBuf b = strbuf_new(a);
    size_t size = strlen(digits);
    for (size_t i = 0; i < size; i++) {
        if (i && (size - i) % 3 == 0)
            strbuf_char(&b, ',');
        strbuf_char(&b, digits[i]);
    }
    return b.data;
}

void plan_line(Arena *a, const char *what, int64_t bytes, const char *note) {
    const char *human = bytes >= 1024 ? size_text(a, (double)bytes) : "";
    printf("%-8s %18s bytes  %10s%s%s\n", what, plan_grouped(a, bytes), human, note[0] ? "  " : "",
           note);
}

static void print_cache(const Model *m, const Plan *p, int64_t bytes) {
    Arena *a = m->a;
    const char *rows = p->rows > 1 ? arena_printf(a, "%lld rows of ", (long long)p->rows) : "";
    const char *bound =
        arena_printf(a, "%s%lld token%s", rows, (long long)p->held, plural(p->held));
    if (p->held < p->context)
        bound = arena_printf(a, "%s%lld tokens at a time (a window of %lld, a chunk)", rows,
                             (long long)p->held, (long long)m->step->window + 1);
    if (!m->step && !m->decode)
        bound = "none: the whole context is computed for every token";
    else if (p->token >= 0)
        bound = arena_printf(a, "%s, %s bytes for each", bound, plan_grouped(a, p->token));
    plan_line(a, "cache", bytes, bound);
}

static void print_text(const Model *m, Plan *p) {
    Arena *a = m->a;
    int64_t width = p->chunk < p->context ? p->chunk : p->context;
    const char *chunk = "temporaries";
    if (m->step || m->decode)
        chunk = arena_printf(a, "temporaries, %lld token%s at a time", (long long)width,
                             width == 1 ? "" : "s");
    printf("exported C program:\n");
    plan_line(a, "weights", p->weights,
              arena_printf(a, "%lld tensor%s, mapped", (long long)p->tensors,
                           p->tensors == 1 ? "" : "s"));
    print_cache(m, p, p->memory.cache);
    plan_line(a, "arena", p->memory.arena, chunk);
    plan_line(a, "total", total(p), "");
    printf("\nserin serve, serin run:\n");
    const char *what = p->files ? arena_printf(a, "%lld file%s, mapped", (long long)p->files,
                                               p->files == 1 ? "" : "s")
                                : "no file is there: as of the program";
    plan_line(a, "weights", stored(p), what);
    print_cache(m, p, p->engine.cache);
    plan_line(a, "arena", p->engine.arena, chunk);
    plan_line(a, "scratch", p->engine.scratch,
              arena_printf(a, "%d thread%s", p->engine.threads, p->engine.threads == 1 ? "" : "s"));
    if (p->vocabulary)
        plan_line(a, "vocab", p->vocabulary, "of the tokenizer, in serin run");
    plan_line(a, "total", engine_total(p), "");
}

static void print_json(const Model *m, Plan *p) {
    fputs("{\"model\": ", stdout);
    json_string(stdout, m->serve.model->name);
    printf(", \"tensors\": %lld, \"weights_bytes\": %lld, \"rows\": %lld, \"context\": %lld, "
           "\"held\": %lld, \"chunk\": %lld, \"cached\": %s, ",
           (long long)p->tensors, (long long)p->weights, (long long)p->rows, (long long)p->context,
           (long long)p->held, (long long)p->chunk, m->step || m->decode ? "true" : "false");
    if ((m->step || m->decode) && p->token >= 0)
        printf("\"cache_bytes_per_token\": %lld, ", (long long)p->token);
    else
        fputs("\"cache_bytes_per_token\": null, ", stdout);
    printf("\"cache_bytes\": %lld, \"arena_bytes\": %lld, \"total_bytes\": %lld, ",
           (long long)p->memory.cache, (long long)p->memory.arena, (long long)total(p));
    printf("\"interpreter\": {\"weights_bytes\": %lld, \"cache_bytes\": %lld, "
           "\"arena_bytes\": %lld, \"scratch_bytes\": %lld, \"threads\": %d, "
           "\"tokenizer_bytes\": %lld, \"total_bytes\": %lld}}\n",
           (long long)stored(p), (long long)p->engine.cache, (long long)p->engine.arena,
           (long long)p->engine.scratch, p->engine.threads, (long long)p->vocabulary,
           (long long)engine_total(p));
}

// ---- The command -------------------------------------------------------------------------------

// A block's own states: nothing is served.
static int plan_states(const Args *args, Target *t) {
    if (args_has(args, "--rows") || args_has(args, "--chunk") || args_has(args, "--ctx"))
        return usage_error("--rows, --chunk, --ctx: the states of a program have the sizes that "
                           "its generics give them (--set)");
    if (!target_block(t, args_text(args, "--block")) || !target_bind_block(t))
        return EXIT_WRONG;
    return plan_block(t, args_has(args, "--json"));
}

static int plan_model(Arena *a, const Args *args, Target *t) {
    Model *m = &t->m;
    Plan p = {.threads = (int)args_int(args, "--threads", 0),
              .rows = args_int(args, "--rows", 1),
              .chunk = args_int(args, "--chunk", USUAL_CHUNK),
              .good = true};
    if (args->paths.len != 1)
        return usage_error("plan takes one PATH");
    if (!args_within(args, "--rows", 1, MOST_ROWS) ||
        !args_within(args, "--chunk", 1, MOST_CHUNK) || !args_within(args, "--threads", 0, 256))
        return EXIT_USAGE;
    int code = model_open(a, args->paths.data[0], args, m);
    if (code == EXIT_FINE && !m->serve.block)
        return plan_states(args, t);
    if (args_text(args, "--block"))
        return usage_error("--block: the serve block names the model");
    if (code == EXIT_FINE)
        code = model_lower(m, args, 0);
    if (code == EXIT_FINE)
        code = model_derive(m);
    if (code == EXIT_FINE)
        code = model_slide(m);
    if (code != EXIT_FINE)
        return code;
    if (!model_bounded(m))
        return EXIT_WRONG;
    p.context = m->window ? m->window : m->context;
    if (m->decode && (!m->prefill || !args_has(args, "--chunk")))
        p.chunk = m->prefill ? p.context : 1;
    if (m->decode && p.rows > 1)
        return usage_error("--rows: with a hand-written cache, one prompt is served at a time");
    if (!m->step && p.rows > 1)
        return usage_error("--rows: without a cache, one sequence is computed at a time");
    if (!fill(m, &p))
        return EXIT_WRONG;
    (args_has(args, "--json") ? print_json : print_text)(m, &p);
    return EXIT_FINE;
}

static int run(Arena *a, const Args *args) {
    Target t = {0};
    int code = plan_model(a, args, &t);
    if (t.m.s)
        finish_text(t.m.s);
    target_close(&t);
    return code;
}

const Command command_plan = {"plan",
                              "PATH",
                              "Tells the memory of a run, to the byte, before anything is loaded.",
                              "serin plan examples/verses --ctx 128 --rows 8",
                              COMMAND_FLAGS(flags),
                              run};
