// The files of an exported program.
#include "codegen/export.h"
#include <stdio.h>
#include <string.h>

static Arena *arena_of(const Export *x) {
    return x->m->core->session->arena;
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
        if (is_source(name) && strcmp(name, "generate.c") != 0)
            strbuf_printf(&b, " %.*s.o", (int)strlen(name) - 2, name);
    }
    strbuf_printf(&b, "\n\ngenerate: generate.o libmodel.a\n"
                      "\t$(CC) $(CFLAGS) -o $@ generate.o libmodel.a -lpthread -lm\n"
                      "\n"
                      "# the model for another program: include model.h\n"
                      "libmodel.a: $(MODEL)\n"
                      "\trm -f $@\n"
                      "\t$(AR) rcs $@ $(MODEL)\n"
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
        "| `model.h` | the weights' structs; opening a file, sessions, the next token |\n"
        "| `model.c` | the model, a function for each function of its source |\n"
        "| `generate.c` | the program: prompt in, tokens out |\n"
        "| `weights.bin` | the weights, mapped at start |\n"
        "| the others | matrix products, elementary functions, threads |\n\n",
        one_line(arena_of(x), o->model_name));
    strbuf_printf(&b, "The vocabulary has %lld tokens. ", (long long)o->vocab);
    if (o->window)
        strbuf_printf(&b, "The model sees the last %lld tokens.\n", (long long)o->context);
    else
        strbuf_printf(&b, "Prompt and generated tokens are %lld at most.\n", (long long)o->context);
    strbuf_printf(&b, "\nTo use it from another program: link `libmodel.a`, and see `model.h`.\n");
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

static void add_generate(Export *x) {
    for (int i = 0; i < x->o->runtime_count; i++) {
        if (strcmp(x->o->runtime[i].name, "runtime/program/generate.c") != 0)
            continue;
        GenFile f = {"generate.c", x->o->runtime[i].text};
        vec_push(arena_of(x), &x->files, f);
        return;
    }
    loop_fail(x->m, "the runtime has no program/generate.c");
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
static const char *entry_fault(const CodegenOptions *o) {
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
    if (!is_tensor(result, DT_I32, 1))
        return "the entry does not give tokens [B; i32]";
    if (o->context < 1 || o->context > INT32_MAX || o->vocab < 1 || o->vocab > INT32_MAX)
        return "the context or the vocabulary is empty or beyond 31 bits";
    if (o->length && o->window)
        return "a window has no symbol for its length";
    return NULL;
}

static void check_symbols(const LoopModule *m, const CodegenOptions *o) {
    for (int i = 0; i < m->fns.len; i++) {
        const LoopFn *f = m->fns.data[i];
        for (int s = 0; f->live && s < f->symbols.len; s++) {
            if (f->symbols.data[s] != o->length)
                loop_fail((LoopModule *)m, "the dimension %s is not bound",
                          dim_name(f->symbols.data[s]));
        }
    }
}

// Only the length is a parameter in an exported program.
static void keep_length(LoopModule *m, const CodegenOptions *o) {
    int kept = 0;
    for (int i = 0; i < m->symbols.len; i++) {
        if (m->symbols.data[i].dim == o->length)
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

static void add_files(Export *x) {
    static const char *const always[] = {"RtPool", "rt_key", "rt_child"};
    Session *s = x->m->core->session;
    x->entry = find(x->m, x->o->entry);
    x->greedy = find(x->m, x->o->greedy);
    check_symbols(x->m, x->o);
    keep_length(x->m, x->o);
    if (x->m->error)
        return;
    add_written(x, "model.h", write_model_h);
    add_written(x, "model.c", write_model_c);
    add_generate(x);
    for (int i = 0; i < 3; i++)
        map_put(s->arena, &x->m->units, session_name(s, always[i]), x);
    if (!x->m->error)
        add_runtime(x, &x->m->units);
    add_makefile(x);
    add_readme(x);
    add_format(x);
}

bool codegen_c(Core *c, const CodegenOptions *o, GenFile **files, int *count, char *error,
               size_t n) {
    const char *fault = entry_fault(o);
    if (fault) {
        snprintf(error, n, "%s", fault);
        return false;
    }
    const CoreFn *roots[] = {o->entry, o->greedy};
    LoopOptions l = {.roots = roots,
                     .root_count = o->greedy ? 2 : 1,
                     .one = o->batch,
                     .length = o->length,
                     .context = o->context};
    Export x = {.m = loop_build(c, &l), .o = o};
    if (!x.m->error)
        add_files(&x);
    if (x.m->error) {
        snprintf(error, n, "%s", x.m->error);
        return false;
    }
    *files = x.files.data;
    *count = x.files.len;
    return true;
}
