// The files of an exported program.
#include "codegen/export.h"
#include <stdio.h>
#include <string.h>

static Arena *arena_of(const Export *x) {
    return x->m->core->session->arena;
}

bool is_cached(const Export *x) {
    return x->step || x->decode;
}

static void add_file(Export *x, const char *name, const StrBuf *text) {
    GenFile f = {name, {text->data, text->len}};
    vec_push(arena_of(x), &x->files, f);
}

static void add_written(Export *x, const char *name, void (*write)(const Export *x, Writer *w)) {
    Writer w = {.arena = arena_of(x)};
    StrBuf b = strbuf_new(arena_of(x));
    write(x, &w);
    writer_text(&w, &b);
    add_file(x, name, &b);
}

// ---- Small files -------------------------------------------------------------------------------

static bool is_source(const char *name) {
    size_t n = strlen(name);
    return n > 2 && strcmp(name + n - 2, ".c") == 0;
}

static bool is_program(const char *name) {
    static const char *const names[] = {"generate.c", "options.c", "cached.c", "whole.c"};
    for (int i = 0; i < 4; i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return false;
}

static void add_makefile(Export *x) {
    StrBuf b = strbuf_new(arena_of(x));
    strbuf_printf(&b, "# make                    builds generate\n"
                      "# make CC=clang           with another compiler\n"
                      "# make ARCH=-march=native for this machine's instructions; the matrix\n"
                      "#                         products choose theirs when they run\n"
                      "# -ffp-contract=off keeps the numbers the same everywhere.\n"
                      "CC ?= cc\n"
                      "ARCH ?=\n"
                      "OPT ?= -O3\n"
                      "WARN ?= -Wall -Wextra -Wpedantic\n"
                      "CFLAGS = -std=c11 $(OPT) $(ARCH) -ffp-contract=off $(WARN)\n"
                      "CPPFLAGS = -D_GNU_SOURCE\n"
                      "MODEL =");
    for (int i = 0; i < x->files.len; i++) {
        const char *name = x->files.data[i].name;
        if (is_source(name) && !is_program(name))
            strbuf_printf(&b, " %.*s.o", (int)strlen(name) - 2, name);
    }
    strbuf_printf(&b, "\nPROGRAM = generate.o options.o %s", is_cached(x) ? "cached.o" : "whole.o");
    strbuf_printf(&b,
                  "\n\ngenerate: $(PROGRAM) libmodel.a\n"
                  "\t$(CC) $(CFLAGS) -o $@ $(PROGRAM) libmodel.a -lpthread -lm\n"
                  "\n"
                  "# the model for another program: include model.h\n"
                  "libmodel.a: $(MODEL)\n"
                  "\trm -f $@\n"
                  "\t$(AR) rcs $@ $(MODEL)\n"
                  "\n"
                  "# plain C: what POSIX and GNU declare besides might be called like the model's\n"
                  "model.o: CPPFLAGS =\n"
                  "\n"
                  "%%.o: %%.c $(wildcard *.h)\n"
                  "\t$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<\n"
                  "\n"
                  "clean:\n"
                  "\trm -f generate libmodel.a *.o\n"
                  "\n"
                  ".PHONY: clean\n");
    add_file(x, "Makefile", &b);
}

static const char *one_line(Arena *a, const char *text) {
    StrBuf b = strbuf_new(a);
    for (; *text; text++)
        strbuf_char(&b, (unsigned char)*text < 32 || *text == '`' ? ' ' : *text);
    return b.data;
}

// How prompts are read, and what is kept.
static const char *cache_text(const Export *x) {
    if (x->prefill)
        return "`prefill` reads a prompt and `decode` one token; they are the model's own, and "
               "keep\n"
               "what they need in its states.\n";
    if (x->decode)
        return "`decode` reads one token at a time; it is the model's own, and keeps what it "
               "needs\n"
               "in its states.\n";
    if (!x->step)
        return "";
    return arena_printf(
        arena_of(x),
        "What a token needs of those before it is kept in a cache; prompts are read\n"
        "in chunks, and up to %lld of them are a batch.\n",
        (long long)x->o->step->max_rows);
}

static const char usage[] =
    "    float *logits = malloc(MODEL_VOCAB * sizeof *logits);\n"
    "    session_prefill(session, 0, prompt, length, logits);  // those after the prompt\n"
    "    int32_t pos = length, one = 1;\n"
    "    session_step(session, 1, &token, &pos, &one, logits); // and after one more token\n";

// How another program uses the model.
static void add_usage(const Export *x, StrBuf *b) {
    const char *size = is_cached(x) ? "1, MODEL_CONTEXT, MODEL_CHUNK, " : "";
    strbuf_printf(b,
                  "\nTo use it from another program, in C or C++: include `model.h` and link\n"
                  "`libmodel.a -lpthread -lm`. In short:\n\n"
                  "    char error[400];\n"
                  "    ModelFile *file = model_open(\"weights.bin\", error, sizeof error);\n"
                  "    Session *session = session_new(file, %s0);\n",
                  size);
    strbuf_printf(b, "%s",
                  is_cached(x) ? usage
                               : "    int64_t key[2] = {0, 1}; // of the draw; the likeliest "
                                 "token needs none\n"
                                 "    int32_t token = session_next(session, key, tokens, count, "
                                 "0);\n");
}

static void add_readme(Export *x) {
    const CodegenOptions *o = x->o;
    StrBuf b = strbuf_new(arena_of(x));
    strbuf_printf(
        &b,
        "# %s in C\n\n"
        "Written by `serin export --target c --serve`. It needs a C11 compiler, libc and\n"
        "threads.\n\n"
        "    make\n"
        "    ./generate --prompt \"1 2 3\" --tokens 16 --temperature 0\n\n"
        "The numbers printed are those of `serin serve`, bit for bit, with any compiler,\n"
        "optimisation level, number of threads and kind of vector instructions.\n\n"
        "| file | holds |\n|---|---|\n"
        "| `model.h` | the weights' structs; opening a file, sessions, %s |\n"
        "| `model.c` | the model, a function for each function of its source |\n"
        "| `generate.c` `options.c` `%s` | the program: prompt in, tokens out |\n"
        "| `weights.bin` | the weights, mapped at start |\n"
        "| the others | matrix products, elementary functions, threads |\n\n",
        one_line(arena_of(x), o->model_name), is_cached(x) ? "the cache, a step" : "the next token",
        is_cached(x) ? "cached.c" : "whole.c");
    strbuf_printf(&b, "The vocabulary has %lld tokens. ", (long long)o->vocab);
    if (o->window)
        strbuf_printf(&b, "The model sees the last %lld tokens.\n", (long long)o->context);
    else
        strbuf_printf(&b, "Prompt and generated tokens are %lld at most.\n", (long long)o->context);
    if (o->fixed)
        strbuf_printf(&b, "Every token is computed from a padded text of that many.\n");
    strbuf_printf(&b, "%s", cache_text(x));
    add_usage(x, &b);
    add_file(x, "README.md", &b);
}

static void add_format(Export *x) {
    StrBuf b = strbuf_new(arena_of(x));
    strbuf_printf(&b, "BasedOnStyle: LLVM\n"
                      "IndentWidth: 4\n"
                      "ColumnLimit: 100\n"
                      "AllowShortFunctionsOnASingleLine: Empty\n"
                      "AllowShortIfStatementsOnASingleLine: Never\n"
                      "SortIncludes: false\n");
    add_file(x, ".clang-format", &b);
}

// ---- Checks ------------------------------------------------------------------------------------

static const CoreType *entry_param(const CodegenOptions *o, int index) {
    int at = index + (o->entry->self ? 1 : 0);
    if (index < 0 || at >= o->entry->params.len)
        return NULL;
    return core_value(o->entry, o->entry->params.data[at])->type;
}

static bool is_tensor(const CoreType *t, Dtype dtype, int rank) {
    return t && t->kind == CORE_TENSOR && t->dtype == dtype && t->rank == rank;
}

// What the session's functions assume; NULL if all is well.
static const char *whole_fault(const CodegenOptions *o) {
    const Region *r = &o->entry->region;
    const CoreType *result =
        r->yields.len == 1 ? core_value(o->entry, r->yields.data[0])->type : NULL;
    if (!o->entry->self)
        return "the entry is not a method of a model";
    if (!is_tensor(entry_param(o, o->tokens), DT_I32, 2))
        return "the entry's tokens are not [B, S; i32]";
    if (o->key >= 0 && !is_tensor(entry_param(o, o->key), DT_I64, 1))
        return "the entry's key is not [2; i64]";
    if (o->temperature >= 0 && !is_tensor(entry_param(o, o->temperature), DT_F32, 0))
        return "the entry's temperature is not an f32 scalar";
    if (!is_tensor(result, DT_I32, 1) && !is_tensor(result, DT_F32, 2))
        return "the entry does not give tokens [B; i32] or logits [B, V; f32]";
    if (o->length && (o->window || o->fixed))
        return "an entry of one length has no symbol for it";
    if (o->fixed && !is_tensor(core_value(o->entry, vec_last(&o->entry->params))->type, DT_I64, 0))
        return "an entry for padded texts takes no position";
    return NULL;
}

bool gives_logits(const CodegenOptions *o) {
    const CoreFn *f = o->entry;
    const CoreType *t = f ? core_value(f, f->region.yields.data[0])->type : NULL;
    return t && t->kind == CORE_TENSOR && dtype_is_float(t->dtype);
}

static const char *step_fault(const CodegenOptions *o) {
    const CoreFn *f = o->step->fn;
    int before = o->step->lookback ? 5 : 4; // self, tokens, pos, count, perhaps origin
    if (!f->self || f->params.len != before + f->states.len || f->region.yields.len != 1)
        return "the step is not one of a model";
    for (int i = 1; i < before; i++) {
        if (!is_tensor(core_value(f, f->params.data[i])->type, DT_I32, i == 1 ? 2 : 1))
            return "the step's tokens, positions and counts are not i32";
    }
    const CoreType *t = core_value(f, f->region.yields.data[0])->type;
    int64_t vocab;
    if (!is_tensor(t, DT_F32, 2) || !dim_is_const(t->dims[1], &vocab) || vocab != o->vocab)
        return "the step does not give logits f32[B, V]";
    if (o->window)
        return "a window has no step";
    if (o->step->max_rows < 1 || o->step->max_rows > 65536 || o->step->chunk < 1 ||
        o->step->chunk > INT32_MAX || o->step->lookback > INT32_MAX)
        return "the batch or the chunk is empty or too large";
    return NULL;
}

static const char *written_fault(const CodegenOptions *o) {
    const CoreFn *const fns[] = {o->written->decode, o->written->prefill};
    for (int i = 0; i < 2 && fns[i]; i++) {
        const CoreFn *f = fns[i];
        if (!f->self || f->self != fns[0]->self || f->params.len != 3 || f->region.yields.len != 1)
            return "the hand-written entries are not methods of one model";
        const CoreType *tokens = core_value(f, f->params.data[1])->type;
        int64_t rows, vocab;
        if (!is_tensor(tokens, DT_I32, 2) || !dim_is_const(tokens->dims[0], &rows) || rows != 1 ||
            !is_tensor(core_value(f, f->params.data[2])->type, DT_I32, 0))
            return "the hand-written entries do not take i32[1, S] and a position";
        const CoreType *t = core_value(f, f->region.yields.data[0])->type;
        if (!is_tensor(t, DT_F32, 2) || !dim_is_const(t->dims[1], &vocab) || vocab != o->vocab)
            return "the hand-written entries do not give logits f32[1, V]";
    }
    return o->window ? "a window has no hand-written entries" : NULL;
}

static const char *fault_of(const CodegenOptions *o) {
    if (o->context < 1 || o->context > INT32_MAX || o->vocab < 1 || o->vocab > INT32_MAX)
        return "the context or the vocabulary is empty or beyond 31 bits";
    return o->written ? written_fault(o) : o->step ? step_fault(o) : whole_fault(o);
}

static bool is_bound(const LoopOptions *l, const Dim *symbol) {
    for (int i = 0; i < l->bound_count; i++) {
        if (l->bounds[i].symbol == symbol)
            return true;
    }
    return false;
}

static void check_symbols(LoopModule *m, const LoopOptions *l) {
    for (int i = 0; i < m->fns.len; i++) {
        const LoopFn *f = m->fns.data[i];
        for (int s = 0; f->live && s < f->symbols.len; s++) {
            if (!is_bound(l, f->symbols.data[s]))
                loop_fail(m, "the dimension %s is not bound", dim_name(f->symbols.data[s]));
        }
    }
}

// Only what a run binds is a parameter in an exported program.
static void keep_bound(LoopModule *m, const LoopOptions *l) {
    int kept = 0;
    for (int i = 0; i < m->symbols.len; i++) {
        if (is_bound(l, m->symbols.data[i].dim))
            m->symbols.data[kept++] = m->symbols.data[i];
    }
    m->symbols.len = kept;
}

// ---- All ---------------------------------------------------------------------------------------

static const LoopFn *find(const LoopModule *m, const CoreFn *fn) {
    for (int i = 0; fn && i < m->fns.len; i++) {
        if (m->fns.data[i]->source == fn)
            return m->fns.data[i];
    }
    return NULL;
}

// The functions that are asked for, and the symbols that a run binds.
static LoopOptions loop_options(const CodegenOptions *o, const CoreFn *roots[2],
                                LoopBound bounds[4]) {
    const CodegenStep *s = o->step;
    const CodegenWritten *own = o->written;
    roots[0] = own ? own->decode : s ? s->fn : o->entry;
    roots[1] = own ? own->prefill : s ? NULL : o->greedy;
    LoopOptions l = {.roots = roots, .root_count = roots[1] ? 2 : 1, .bounds = bounds};
    const Dim *length = own ? own->length : o->length;
    if (s) {
        bounds[0] = (LoopBound){s->rows, s->max_rows};
        bounds[1] = (LoopBound){s->width, o->context};
        bounds[2] = (LoopBound){s->capacity, o->context};
        bounds[3] = (LoopBound){s->length, o->context};
        l.bound_count = 4;
    } else if (length) {
        bounds[0] = (LoopBound){length, o->context};
        l.bound_count = 1;
    }
    l.one = own || s ? NULL : o->batch;
    return l;
}

static void build_loops(Core *c, Export *x) {
    const CodegenOptions *o = x->o;
    const CoreFn *roots[2];
    LoopBound bounds[4] = {{0}};
    LoopOptions l = loop_options(o, roots, bounds);
    x->m = loop_build(c, &l);
    x->root = roots[0];
    if (x->m->error)
        return;
    const LoopFn *first = find(x->m, roots[0]), *second = find(x->m, roots[1]);
    if (o->written) {
        x->decode = first;
        x->prefill = second;
    } else if (o->step) {
        x->step = first;
    } else {
        x->entry = first;
        x->greedy = second;
    }
    if (x->m->states && !o->written)
        loop_fail(x->m, "the entry keeps states: name it as `decode` in the serve block");
    check_symbols(x->m, &l);
    keep_bound(x->m, &l);
}

bool export_build(Core *c, const CodegenOptions *o, Export *x, char *error, size_t n) {
    const char *fault = fault_of(o);
    *x = (Export){.o = o};
    if (!fault) {
        build_loops(c, x);
        fault = x->m->error;
    }
    if (fault)
        snprintf(error, n, "%s", fault);
    return !fault;
}

// Files of the exported program's own that stand in the runtime's folder `program`.
static void add_program(Export *x) {
    static const char *const names[] = {"generate.c", "generate.h", "options.c", NULL};
    const char *loop = is_cached(x) ? "cached.c" : "whole.c";
    for (int k = 0; k < 4; k++) {
        const char *name = names[k] ? names[k] : loop;
        const char *path = arena_printf(arena_of(x), "runtime/program/%s", name);
        bool found = false;
        for (int i = 0; i < x->o->runtime_count && !found; i++) {
            found = strcmp(x->o->runtime[i].name, path) == 0;
            if (found)
                vec_push(arena_of(x), &x->files, ((GenFile){name, x->o->runtime[i].text}));
        }
        if (!found)
            loop_fail(x->m, "the runtime has no program/%s", name);
    }
}

static void add_files(Export *x) {
    static const char *const always[] = {"RtPool", "rt_key", "rt_child"};
    static const char *const sampling[] = {"rt_argmax", "rt_sample"};
    Session *s = x->m->core->session;
    add_written(x, "model.h", write_model_h);
    add_written(x, "model.c", write_model_c);
    add_program(x);
    for (int i = 0; i < 3; i++)
        map_put(s->arena, &x->m->units, session_name(s, always[i]), x);
    for (int i = 0; i < 2 && (is_cached(x) || gives_logits(x->o)); i++)
        map_put(s->arena, &x->m->units, session_name(s, sampling[i]), x);
    if (!x->m->error)
        add_runtime(x, &x->m->units);
    add_makefile(x);
    add_readme(x);
    add_format(x);
}

bool codegen_c(Core *c, const CodegenOptions *o, GenFile **files, int *count, char *error,
               size_t n) {
    Export x;
    if (!export_build(c, o, &x, error, n))
        return false;
    add_files(&x);
    if (x.m->error) {
        snprintf(error, n, "%s", x.m->error);
        return false;
    }
    *files = x.files.data;
    *count = x.files.len;
    return true;
}
