// model.h and model.c: the structs, the functions, and around them an open weights file and
// sessions that compute with it.
#include "codegen/export.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static Arena *arena_of(const Export *x) {
    return x->m->core->session->arena;
}

const char *root_type(const Export *x) {
    return loop_block(x->m, x->root->self)->name;
}

// ---- model.h -----------------------------------------------------------------------------------

static const char *float_text(const Export *x, double v) {
    return c_expr(x->m, x_real(arena_of(x), DT_F32, (double)(float)v));
}

static void write_constants(const Export *x, Writer *w) {
    const CodegenOptions *o = x->o;
    int draws = o->key >= 0 || gives_logits(o);
    write_line(w, 0, NULL, "enum {");
    write_line(w, 1, "tokens are 0 .. MODEL_VOCAB - 1", "MODEL_VOCAB = %d,", (int)o->vocab);
    write_line(w, 1, "tokens of a text, at most", "MODEL_CONTEXT = %d,", (int)o->context);
    write_line(w, 1, "tokens seen at once, exactly; 0: all", "MODEL_WINDOW = %d,",
               o->window ? (int)o->context : 0);
    write_line(w, 1, "sequences of a session, at most; 0: it keeps nothing", "MODEL_ROWS = %d,",
               o->written ? 1
               : o->step  ? (int)o->step->max_rows
                          : 0);
    write_line(w, 1, "tokens of a prompt read at a time", "MODEL_CHUNK = %d,",
               x->prefill   ? (int)o->context
               : o->written ? 1
               : o->step    ? (int)o->step->chunk
                            : 0);
    if (slides(x))
        write_line(w, 1, "positions that a token looks at, its own included",
                   "MODEL_LOOKBACK = %d,", (int)o->step->lookback);
    write_line(w, 1, "1: tokens are drawn where the temperature is not 0", "MODEL_DRAWS = %d,",
               draws);
    write_line(w, 0, NULL, "};");
    write_blank(w);
    write_line(w, 0, NULL, "// The temperature where none is asked for.");
    write_line(w, 0, NULL, "#define MODEL_TEMPERATURE %s", float_text(x, o->default_temperature));
    write_blank(w);
    write_line(w, 0, NULL, "// The model's and its weights' names, as JSON.");
    write_line(w, 0, NULL, "extern const char model_name_json[];");
    write_line(w, 0, NULL, "extern const char model_weights_json[];");
    write_blank(w);
}

static const char *const model_h_head[] = {
    "// A model: its weights, and sessions that compute with them.",
    "//",
    "// An open file serves any number of sessions; a session is used by one thread at a time.",
    "// Nothing here is global: several models can be open in one program.",
    "#ifndef MODEL_H",
    "#define MODEL_H",
    "",
    "#include <stdbool.h>",
    "#include <stddef.h>",
    "#include <stdint.h>",
    "",
    "#ifdef __cplusplus",
    "extern \"C\" {",
    "#endif",
    "",
    NULL,
};

static const char *const model_h_tail[] = {
    "#ifdef __cplusplus", "}", "#endif", "", "#endif", NULL,
};

static const char *const model_h_open[] = {
    "// Maps packed weights. NULL on failure, with a sentence in error[size].",
    "ModelFile *model_open(const char *path, char *error, size_t size);",
    "",
    "// Reads all weights of the file, called `name` in messages, and compares their checksums. "
    "False",
    "// if some are damaged, with a sentence in error[size].",
    "bool model_verify(const ModelFile *file, const char *name, char *error, size_t size);",
    "",
    "// Closes the file, after its sessions. NULL is allowed.",
    "void model_close(ModelFile *file);",
    "",
    NULL,
};

void write_model_h(const Export *x, Writer *w) {
    write_lines(w, model_h_head);
    write_constants(x, w);
    write_line(w, 0, NULL,
               "// Weights, row-major, by the names of the source; shapes stand behind.");
    c_structs(x->m, w);
    write_line(w, 0, NULL, "typedef struct ModelFile ModelFile; // open weights");
    write_line(w, 0, NULL, "typedef struct Session Session;     // memory and threads");
    write_blank(w);
    write_line(w, 0, NULL, "// The weights of an open file.");
    write_line(w, 0, NULL, "const %s *model_weights(const ModelFile *file);", root_type(x));
    write_blank(w);
    write_lines(w, model_h_open);
    if (x->decode)
        write_written_h(x, w);
    else if (x->step)
        write_session_h(x, w);
    else
        write_whole_h(w);
    write_lines(w, model_h_tail);
}

// ---- Loading -----------------------------------------------------------------------------------

// The storage formats of packed weights (runtime/quant.h: RtFormat).
static int format_of(Dtype t) {
    static const int formats[DT_COUNT] = {
        [DT_BOOL] = 9, [DT_I8] = 4,   [DT_I16] = 6,  [DT_I32] = 7,  [DT_I64] = 8,
        [DT_U8] = 5,   [DT_U16] = 13, [DT_U32] = 14, [DT_U64] = 15, [DT_F16] = 1,
        [DT_BF16] = 2, [DT_F32] = 0,  [DT_F64] = 3,
    };
    return formats[t];
}

static void write_tensor(const Export *x, Writer *w, const CoreType *t, const char *name) {
    LoopModule *m = x->m;
    StrBuf dims = strbuf_new(arena_of(x));
    int64_t bytes = dtype_size(t->dtype);
    for (int i = 0; i < t->rank; i++) {
        int64_t d;
        bool known = dim_is_const(t->dims[i], &d) && d >= 0;
        if (!known || __builtin_mul_overflow(bytes, d, &bytes) || t->rank > 8) {
            loop_fail(m, "the shape of the weight %s is not fixed, or too large", name);
            return;
        }
        strbuf_printf(&dims, "%s%lld", i ? ", " : "", (long long)d);
    }
    const char *shape =
        t->rank ? arena_printf(arena_of(x), "(const uint64_t[]){%s}", dims.data) : "NULL";
    const char *args[] = {"l", arena_printf(arena_of(x), "%d", format_of(t->dtype)),
                          arena_printf(arena_of(x), "%lld", (long long)bytes),
                          arena_printf(arena_of(x), "%d", t->rank), shape};
    const char *head = arena_printf(arena_of(x), "w->%s = load_tensor", name);
    const char *one = arena_printf(arena_of(x), "%s(%s, %s, %s, %s, %s);", head, args[0], args[1],
                                   args[2], args[3], args[4]);
    if (writer_fits(1, one)) {
        write_line(w, 1, NULL, "%s", one);
        return;
    }
    write_line(w, 1, NULL, "const uint64_t %s_dims[] = {%s};", name, dims.data);
    write_line(w, 1, NULL, "w->%s =", name);
    write_line(w, 2, NULL, "load_tensor(l, %s, %s, %s, %s_dims);", args[1], args[2], args[3], name);
}

static void write_block_loader(const Export *x, Writer *w, int block, const char *const *loaders) {
    const LoopBlock *b = &x->m->blocks.data[block];
    write_line(w, 0, NULL, "static void %s(Loader *l, %s *w) {", loaders[block], b->name);
    int members = 0;
    for (int i = 0; i < b->block->members.len; i++) {
        const CoreMember *member = &b->block->members.data[i];
        const CoreType *t = member->type;
        int64_t count = 0;
        if (!b->members[i] || member->kind == MEMBER_STATE)
            continue;
        members++;
        if (t->kind == CORE_TENSOR) {
            write_tensor(x, w, t, b->members[i]);
            continue;
        }
        const char *loader = loaders[loop_block(x->m, t->block) - x->m->blocks.data];
        bool array = t->kind == CORE_ARRAY && dim_is_const(t->count, &count);
        if (array)
            write_line(w, 1, NULL, "for (int i = 0; i < %lld; i++) {", (long long)count);
        write_line(w, 1 + array, NULL, "%s(l, &w->%s%s);", loader, b->members[i],
                   array ? "[i]" : "");
        if (array)
            write_line(w, 1, NULL, "}");
    }
    if (!members) {
        write_line(w, 1, NULL, "(void)l;");
        write_line(w, 1, NULL, "(void)w;");
    }
    write_line(w, 0, NULL, "}");
    write_blank(w);
}

// The struct of a block is loaded if the model has it somewhere.
static void mark_blocks(const LoopModule *m, const CoreBlock *block, bool *used) {
    int at = (int)(loop_block(m, block) - m->blocks.data);
    if (used[at])
        return;
    used[at] = true;
    for (int i = 0; i < block->members.len; i++) {
        if (m->blocks.data[at].members[i] && block->members.data[i].type->block)
            mark_blocks(m, block->members.data[i].type->block, used);
    }
}

static const char *const loader[] = {
    "// ---- Weights",
    "",
    "// Hands out the tensors of the file in the one order that writer and reader agree on.",
    "typedef struct {",
    "    const RtPack *pack;",
    "    uint32_t next;     // number of the next tensor",
    "    const char *wrong; // name of the first one that is not as it must be, or NULL",
    "} Loader;",
    "",
    "static const void *load_tensor(Loader *l, uint32_t format, uint64_t bytes, uint32_t rank,",
    "                               const uint64_t *dims) {",
    "    if (l->next >= l->pack->count)",
    "        l->wrong = l->wrong ? l->wrong : \"(a missing one)\";",
    "    if (l->wrong)",
    "        return NULL;",
    "    RtPackTensor t = rt_pack_tensor(l->pack, l->next++);",
    "    bool same = t.format == format && t.rank == rank && t.bytes == bytes;",
    "    for (uint32_t i = 0; i < rank && same; i++) {",
    "        same = t.dims[i] == dims[i];",
    "    }",
    "    l->wrong = same ? NULL : t.name;",
    "    return t.data;",
    "}",
    "",
    NULL,
};

static void write_loading(const Export *x, Writer *w) {
    LoopModule *m = x->m;
    int n = m->blocks.len;
    const char **loaders = NEW_N(arena_of(x), const char *, n);
    bool *used = NEW_N(arena_of(x), bool, n);
    mark_blocks(m, x->root->self, used);
    write_lines(w, loader);
    for (int i = 0; i < n; i++) {
        if (!used[i])
            continue;
        const char *wanted =
            arena_printf(arena_of(x), "load_%s", names_snake(arena_of(x), m->blocks.data[i].name));
        loaders[i] = names_pick(m->names, wanted);
        write_block_loader(x, w, i, loaders);
    }
    write_line(w, 0, NULL, "struct ModelFile {");
    write_line(w, 1, "the mapping", "RtPack pack;");
    write_line(w, 1, "pointers into it", "%s weights;", root_type(x));
    write_line(w, 0, NULL, "};");
    write_blank(w);
    write_line(w, 0, NULL, "static bool load_file(ModelFile *file, char *error, size_t size) {");
    write_line(w, 1, NULL, "Loader l = {.pack = &file->pack};");
    write_line(w, 1, NULL, "%s(&l, &file->weights);",
               loaders[loop_block(m, x->root->self) - m->blocks.data]);
}

static const char *const open_functions[] = {
    "    if (!l.wrong && l.next == file->pack.count)",
    "        return true;",
    "    snprintf(error, size, \"the weights are not of this model: see tensor %s\",",
    "             l.wrong ? l.wrong : \"behind the last one\");",
    "    return false;",
    "}",
    "",
    "ModelFile *model_open(const char *path, char *error, size_t size) {",
    "    ModelFile *file = calloc(1, sizeof *file);",
    "    if (file == NULL) {",
    "        snprintf(error, size, \"there is no memory\");",
    "        return NULL;",
    "    }",
    "    if (!rt_pack_open(&file->pack, path, error, size)) {",
    "        free(file);",
    "        return NULL;",
    "    }",
    "    if (!load_file(file, error, size)) {",
    "        model_close(file);",
    "        return NULL;",
    "    }",
    "    return file;",
    "}",
    "",
    "bool model_verify(const ModelFile *file, const char *name, char *error, size_t size) {",
    "    return rt_pack_verify(&file->pack, name, error, size);",
    "}",
    "",
    "void model_close(ModelFile *file) {",
    "    if (file == NULL)",
    "        return;",
    "    rt_pack_close(&file->pack);",
    "    free(file);",
    "}",
    "",
    NULL,
};

static void write_open(Writer *w) {
    write_lines(w, open_functions);
}

// ---- model.c -----------------------------------------------------------------------------------

// The JSON of a string as a C literal, in pieces that fit on lines.
static void write_json(const Export *x, Writer *w, const char *name, const char *value) {
    char *json = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&json, &size);
    if (!f)
        return;
    json_string(f, value);
    fclose(f);
    const char *head = arena_printf(arena_of(x), "const char %s[] = ", name);
    StrBuf b = strbuf_new(arena_of(x));
    strbuf_printf(&b, "%s\"", head);
    int column = (int)strlen(head) + 1;
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)json[i];
        if (column > 85 && c < 0x80) {
            strbuf_printf(&b, "\"\n%*s\"", (int)strlen(head), "");
            column = (int)strlen(head) + 1;
        }
        bool escape = c == '"' || c == '\\' || c == '?';
        strbuf_printf(&b, "%s%c", escape ? "\\" : "", c);
        column += 1 + escape;
    }
    free(json);
    strbuf_printf(&b, "\";");
    write_line(w, 0, NULL, "%s", b.data);
}

static void write_sessions(const Export *x, Writer *w) {
    if (x->decode)
        write_written_c(x, w);
    else if (x->step)
        write_session_c(x, w);
    else
        write_whole_c(x, w);
}

void write_model_c(const Export *x, Writer *w) {
    static const char *const own[] = {
        "#include \"model.h\"",
        "#include \"kernels.h\"",
        "#include \"numerics.h\"",
        "#include \"pack.h\"",
        NULL,
    };
    static const char *const rest[] = {
        "#include \"scalars.h\"",
        "#include \"threads.h\"",
        "",
        "#include <math.h>",
        "#include <stdio.h>",
        "#include <stdlib.h>",
        "#include <string.h>",
        "",
        NULL,
    };
    write_comment(w, 0,
                  "The model's functions, callees first; at the end its weights and sessions.");
    write_lines(w, own);
    if (!is_cached(x) && gives_logits(x->o))
        write_line(w, 0, NULL, "#include \"sampler.h\"");
    write_lines(w, rest);
    write_json(x, w, "model_name_json", x->o->model_name);
    write_json(x, w, "model_weights_json", x->o->weights_name);
    write_blank(w);
    c_functions(x->m, w);
    write_blank(w);
    write_loading(x, w);
    write_open(w);
    write_line(w, 0, NULL, "const %s *model_weights(const ModelFile *file) {", root_type(x));
    write_line(w, 1, NULL, "return &file->weights;");
    write_line(w, 0, NULL, "}");
    write_blank(w);
    write_sessions(x, w);
}
