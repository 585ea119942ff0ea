// serin export PATH --target c --serve -o DIR: a C program and its weights.
#include "base/embedded.h"
#include "cli/cli.h"
#include "cli/export_folder.h"
#include "cli/model_codegen.h"
#include "runtime/pack_write.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const Flag flags[] = {
    {"--target", FLAG_TEXT, "T", "c (the only one so far)"},
    {"--serve", FLAG_BOOL, NULL, "with the loop that generates (required so far)"},
    {"--fixed", FLAG_BOOL, NULL, "one length: every token from a padded text, without a cache"},
    {"-o", FLAG_TEXT, "DIR", "where to write: a new or empty folder, or an earlier export"},
    {"--force", FLAG_BOOL, NULL, "overwrites files of an earlier export that were edited"},
    MODEL_FLAGS,
};

// ---- Weights -----------------------------------------------------------------------------------

typedef struct {
    Model *m;
    VEC(RtPackSource) sources;
    VEC(Tensor) tensors;
} Packing;

static void add_source(void *ctx, const char *path, const CoreType *type) {
    Packing *p = ctx;
    Tensor t;
    if (!model_weight(p->m, path, type, &t))
        return; // model_match_weights has seen to it
    uint64_t elements = 1;
    RtPackSource s = {.name = arena_printf(p->m->a, "%s", path), .rank = (uint32_t)t.rank};
    for (int i = 0; i < t.rank; i++) {
        s.dims[i] = (uint64_t)t.dims[i];
        elements *= s.dims[i];
    }
    s.format = (uint32_t)(type->dtype == DT_F32 ? RT_F32 : t.format);
    s.bytes = elements * (uint64_t)dtype_size(type->dtype);
    uint64_t row = t.rank ? (uint64_t)t.dims[t.rank - 1] : 1;
    s.unit = (size_t)(row ? row : 1) * (size_t)dtype_size(type->dtype);
    vec_push(p->m->a, &p->sources, s);
    vec_push(p->m->a, &p->tensors, t);
}

// One row: f32 values of whatever format, other dtypes as they are.
static bool fill_row(void *user, size_t tensor, uint64_t unit, size_t size, void *out,
                     RtError *err) {
    const Packing *p = user;
    const Tensor *t = &p->tensors.data[tensor];
    uint64_t row = t->rank == 2 && t->rows ? (uint64_t)t->rows[unit] : unit;
    (void)err;
    uint64_t width = size / (uint64_t)dtype_size(t->dtype);
    if (t->dtype == DT_F32)
        rt_format_row(t->format, t->data, row * width, width, out);
    else
        memcpy(out, (const char *)t->data + row * size, size);
    return true;
}

static bool write_weights(Model *m, const char *dir) {
    Packing p = {.m = m};
    RtError err;
    core_weights(m->core, m->entry->self, add_source, &p); // the step's block has the same ones
    const char *path = arena_printf(m->a, "%s/weights.bin", dir);
    if (rt_pack_write(path, p.sources.data, (size_t)p.sources.len, fill_row, &p, &err))
        return true;
    report(m->s, (Span){0}, E8001, "%s", err.text);
    return false;
}

// ---- Files -------------------------------------------------------------------------------------

static GenFile *runtime_files(Arena *a, int *count) {
    VEC(GenFile) out = {0};
    for (const EmbeddedFile *f = embedded_files(); f->path; f++) {
        if (strncmp(f->path, "runtime/", 8) == 0)
            vec_push(a, &out, ((GenFile){f->path, {f->text, f->size}}));
    }
    *count = out.len;
    return out.data;
}

static bool generate_files(Model *m, GenFile **files, int *count) {
    char error[512] = "";
    CodegenCache cache;
    CodegenOptions o;
    Core *core = model_codegen(m, &o, &cache);
    o.runtime = runtime_files(m->a, &o.runtime_count);
    if (codegen_c(core, &o, files, count, error, sizeof error))
        return true;
    report(m->s, (Span){0}, E8001, "%s", error);
    return false;
}

static bool write_all(Model *m, const char *dir, bool force) {
    GenFile *files = NULL;
    int count = 0;
    if (!generate_files(m, &files, &count) || !export_folder(m, dir, force, files, count) ||
        !write_weights(m, dir))
        return false;
    for (int i = 0; i < count; i++) {
        if (!export_write(m, dir, &files[i]))
            return false;
    }
    if (!export_record(m, dir, files, count))
        return false;
    if (m->window)
        fprintf(stderr,
                "serin export: a window slides, so nothing is kept: every token is computed "
                "from the whole window\n");
    fprintf(stderr, "serin export: wrote %s: %d files and weights.bin; build with: make -C %s\n",
            dir, count, dir);
    return true;
}

static int export_model(Arena *a, const Args *args, Model *m) {
    const char *dir = args_text(args, "-o"), *target = args_text(args, "--target");
    const char *missing = args->paths.len == 0         ? "PATH"
                          : !target                    ? "--target c"
                          : !args_has(args, "--serve") ? "--serve"
                          : !dir                       ? "-o DIR"
                                                       : NULL;
    if (missing)
        return usage_error("%s is missing: export takes one PATH, --target c --serve and -o DIR",
                           missing);
    if (args->paths.len > 1)
        return usage_error("export takes one PATH, not %d", args->paths.len);
    if (strcmp(target, "c") != 0)
        return usage_error("--target %s is not there yet: this version writes c only", target);
    int code = model_open(a, args->paths.data[0], args, m);
    if (code == EXIT_FINE)
        code = model_lower(m, args, 0);
    if (code == EXIT_FINE)
        code = model_match_weights(m);
    if (code == EXIT_FINE)
        code = model_derive(m);
    if (code == EXIT_FINE && !args_has(args, "--fixed"))
        code = model_slide(m);
    if (code != EXIT_FINE)
        return code;
    if (!model_bounded(m))
        return EXIT_WRONG;
    if (args_has(args, "--fixed"))
        code = model_fix(m);
    if (code != EXIT_FINE)
        return code;
    return write_all(m, dir, args_has(args, "--force")) ? EXIT_FINE : EXIT_WRONG;
}

static int run(Arena *a, const Args *args) {
    Model m = {0};
    int code = export_model(a, args, &m);
    if (m.s)
        finish_text(m.s);
    model_close(&m);
    return code;
}

const Command command_export = {
    "export",
    "PATH --target c --serve -o DIR",
    "Writes a model as a C program with its weights beside it.",
    "serin export examples/verses --target c --serve -o out && make -C out",
    COMMAND_FLAGS(flags),
    run};
