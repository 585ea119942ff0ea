// Opening a model: program, settings, generics, entry; see model.h. Weights are in model_weights.c.
#include "cli/model.h"
#include "base/embedded.h"
#include "cli/cli.h"
#include "cli/where.h"
#include "lower/lower.h"
#include "opt/dce.h"
#include "opt/fold.h"
#include "opt/greedy.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- Settings ----------------------------------------------------------------------------------

static bool add_setting(Model *m, const char *flag, const char *text) {
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || !equals[1]) {
        usage_error("%s needs NAME=VALUE, not \"%s\"", flag, text);
        return false;
    }
    Setting set = {.value = arena_printf(m->a, "%s", equals + 1), .origin = flag, .flag = true};
    set.name = intern(m->s->names, (Str){text, (int)(equals - text)});
    for (int i = 0; i < m->settings.len; i++) {
        if (m->settings.data[i].name == set.name) { // the command line wins
            if (m->settings.data[i].flag) {
                usage_error("%s gives `%s` a second value", flag, set.name);
                return false;
            }
            m->settings.data[i] = set;
            return true;
        }
    }
    vec_push(m->a, &m->settings, set);
    return true;
}

static bool add_settings(Model *m, const Args *args) {
    SettingVec *own = m->checkpoint ? checkpoint_settings(m->checkpoint)
                      : m->card     ? &m->card->generics
                                    : NULL;
    for (int i = 0; own && i < own->len; i++)
        vec_push(m->a, &m->settings, own->data[i]);
    for (int i = 0; i < args->many.len; i += 2) {
        bool sets =
            strcmp(args->many.data[i], "--set") == 0 || strcmp(args->many.data[i], "--dim") == 0;
        if (sets && !add_setting(m, args->many.data[i], args->many.data[i + 1]))
            return false;
    }
    if (m->checkpoint)
        checkpoint_given(m->checkpoint, &m->settings);
    return true;
}

static void refuse_unused(Model *m) {
    for (int i = 0; i < m->settings.len; i++) {
        const Setting *set = &m->settings.data[i];
        if (!set->used && !set->weak)
            report(m->s, (Span){0}, E5006,
                   "%s: `%s` is no generic of the model and no annotated constant of its module",
                   set->origin, set->name);
    }
}

// ---- The program -------------------------------------------------------------------------------

static int check_checkpoint(Model *m, const Args *args) {
    if (args_has(args, "--weights"))
        return usage_error("--weights: the checkpoint %s has its own", m->path);
    m->checkpoint = checkpoint_open(m->s, m->path);
    if (!m->checkpoint || m->s->errors)
        return EXIT_WRONG;
    if (!add_settings(m, args))
        return EXIT_USAGE;
    const char *file = checkpoint_program(m->checkpoint);
    Str text = embedded_find(file);
    if (!text.ptr)
        return internal_error("the standard library lacks a file", file);
    m->program = check_program(m->s, session_add(m->s, source_new(m->a, file, text)), &m->settings);
    m->weights_name = m->path;
    m->weights_path = m->path;
    if (m->s->errors)
        return EXIT_WRONG;
    return EXIT_FINE;
}

static int check_source(Model *m, const Args *args) {
    m->card = card_read(m->s, m->path);
    if (m->s->errors)
        return EXIT_WRONG;
    if (!add_settings(m, args))
        return EXIT_USAGE;
    const char *source = m->card && m->card->source ? m->card->source : m->path;
    m->program = check_path(m->s, source, &m->settings);
    if (!m->program)
        return EXIT_USAGE;
    return m->s->errors ? EXIT_WRONG : EXIT_FINE;
}

static void name_weights(Model *m, const Args *args) {
    const char *given = args_text(args, "--weights");
    if (m->checkpoint)
        return;
    const char *path = given ? given : m->serve.weights;
    if (path && !given && path[0] != '/' && strcmp(m->program->root_dir, ".") != 0)
        path = arena_printf(m->a, "%s/%s", m->program->root_dir, path);
    if (!path && m->card && m->card->files.len) {
        m->weights_files = m->card->files.len;
        path = m->weights_files == 1 ? m->card->files.data[0] : m->card->folder;
    }
    m->weights_path = path;
    m->weights_name = path ? path : "";
}

static Setting *find_setting(Model *m, Name name) {
    for (int i = 0; i < m->settings.len; i++) {
        if (m->settings.data[i].name == name)
            return &m->settings.data[i];
    }
    return NULL;
}

// The generics of a declaration: settings, then defaults; the others stay unbound.
static bool bind_generics(Model *m, Item *decl, GenericArg *out) {
    for (int i = 0; i < decl->generics.len; i++) {
        GenericDecl *g = &decl->generics.data[i];
        Setting *set = find_setting(m, g->name);
        out[i] = g->value;
        if (set && !check_setting(m->program, set, g->generic, &out[i]))
            return false;
    }
    return true;
}

int model_open(Arena *a, const char *path, const Args *args, Model *m) {
    *m = (Model){.s = session_new(), .a = a, .path = path, .context = -1};
    bool checkpoint = checkpoint_is(path);
    const char *weights = args_text(args, "--weights");
    if (weights && access(weights, F_OK) != 0) {
        report(m->s, (Span){0}, E5004, "the weights file %s does not exist", weights);
        return EXIT_USAGE;
    }
    if (!args_within(args, "--ctx", 1, INT32_MAX)) // positions are i32
        return EXIT_USAGE;
    int code = checkpoint ? check_checkpoint(m, args) : check_source(m, args);
    if (code != EXIT_FINE)
        return code;
    if (!check_serve(m->program, args_text(args, "--entry"), &m->serve))
        return EXIT_WRONG;
    name_weights(m, args);
    if (!m->serve.block)
        return EXIT_FINE;
    m->block_args = NEW_N(a, GenericArg, m->serve.model->generics.len + 1);
    if (!bind_generics(m, m->serve.model, m->block_args))
        return EXIT_WRONG;
    return EXIT_FINE;
}

// ---- Lowering ----------------------------------------------------------------------------------

typedef struct {
    Model *m;
    const Dim *symbol;
    int64_t value; // -1: not found
} HeaderDim;

// A parameter whose shape has the symbol as an axis tells its value, if the tensor is there.
static void read_dim(void *ctx, const char *path, const CoreType *type) {
    HeaderDim *h = ctx;
    const RtTensor *t = model_tensor(h->m, path);
    for (int i = 0; t && t->rank == type->rank && i < t->rank && h->value < 0; i++) {
        if (type->dims[i] == h->symbol)
            h->value = t->dims[i];
    }
}

bool model_present(void *model, const char *path) {
    Model *m = model;
    if (m->checkpoint)
        return checkpoint_present(m->checkpoint, path);
    return model_tensor(m, path) != NULL;
}

CoreFn *model_lower_entry(Model *m, Core *core, bool batched) {
    int n = m->serve.entry->generics.len;
    GenericArg *args = NEW_N(m->a, GenericArg, n + 1);
    for (int i = 0; i < n; i++) {
        const Generic *g = m->serve.entry->generics.data[i].generic;
        if (g == m->serve.batch && !batched)
            args[i] = (GenericArg){.dim = dim_const(m->program->dims, 1), .bound = true};
        else if (g == m->serve.batch)
            args[i].bound = false;
        else if (g != m->serve.length)
            args[i] = m->serve.entry->generics.data[i].value;
    }
    LowerOptions o = {.program = m->program,
                      .core = core,
                      .block_args = m->block_args,
                      .present = model_present,
                      .ctx = m,
                      .serving = true};
    CoreFn *entry = lower_entry(&o, m->serve.model, m->serve.entry, args);
    for (int i = 0; entry && i < core->fns.len; i++) {
        opt_fold(core, core->fns.data[i]);
        opt_dce(core, core->fns.data[i]);
    }
    return entry;
}

static bool bind_block_dim(Model *m, int i, int64_t prompt) {
    const Generic *g = m->serve.model->generics.data[i].generic;
    Core *scratch = core_new(m->s, m->program->dims);
    CoreFn *fn = model_lower_entry(m, scratch, false);
    HeaderDim h = {m, g->dim, -1};
    if (!fn)
        return false;
    core_weights(scratch, fn->self, read_dim, &h);
    if (h.value < 0 && g == m->serve.length)
        h.value = prompt > 0 ? prompt : -1;
    if (h.value < 0 && m->open)
        return true;
    if (h.value < 0) {
        Diag *d = report(m->s, g->span, E2110, "the dimension `%s` of `%s` is not bound", g->name,
                         m->serve.model->name);
        diag_help(m->s, d, "give it by --dim %s=N, or by weights whose shapes tell it", g->name);
        return false;
    }
    m->block_args[i] = (GenericArg){.dim = dim_const(m->program->dims, h.value), .bound = true};
    return true;
}

// What weights and prompt tell of unbound dimensions of the block; then its where clauses.
static bool bind_rest(Model *m, int64_t prompt) {
    Item *block = m->serve.model;
    for (int i = 0; i < block->generics.len; i++) {
        bool open = block->generics.data[i].kind == GENERIC_DIM && !m->block_args[i].bound;
        if (open && !bind_block_dim(m, i, prompt))
            return false;
        if (block->generics.data[i].generic == m->serve.length)
            dim_is_const(m->block_args[i].dim, &m->window);
    }
    if (m->open)
        return true; // the clauses are what its types were checked with
    const Generic **generics = NEW_N(m->a, const Generic *, block->generics.len + 1);
    for (int i = 0; i < block->generics.len; i++)
        generics[i] = block->generics.data[i].generic;
    Subst s = {{generics, m->block_args, block->generics.len}, NULL};
    return where_holds(m, block, &s, false);
}

static void find_params(Model *m) {
    int at = 0;
    m->key = m->tokens = m->temperature = -1;
    for (int i = 0; i < m->serve.entry->params.len; i++) {
        int *role = i == m->serve.key           ? &m->key
                    : i == m->serve.tokens      ? &m->tokens
                    : i == m->serve.temperature ? &m->temperature
                                                : NULL;
        if (role)
            *role = at++;
    }
}

// The operand of the draw, or of the argmax, tells the vocabulary.
static int64_t find_vocab(const CoreFn *fn) {
    for (int i = 0; i < fn->values.len; i++) {
        const Value *v = &fn->values.data[i];
        if (v->op != OP_CALL)
            continue;
        bool draw = strcmp(v->callee->name, "std.random::categorical") == 0;
        bool most = strcmp(v->callee->name, "std.nn.decoding::argmax") == 0;
        int64_t vocab = -1;
        if (draw || most) {
            const CoreType *t = core_value(fn, v->args.data[draw])->type;
            if (t->rank && dim_is_const(t->dims[t->rank - 1], &vocab))
                return vocab;
        }
        vocab = find_vocab(v->callee);
        if (vocab >= 0)
            return vocab;
    }
    return -1;
}

void model_bound(Model *m, int64_t bound) {
    if (bound < 0 || (m->context >= 0 && m->context <= bound))
        return;
    if (m->context >= 0 && m->context == m->asked)
        fprintf(stderr, "serin: --ctx %lld is beyond the model's own bound: the context is %lld\n",
                (long long)m->asked, (long long)bound);
    m->context = bound;
}

// The least of --ctx and what the model says of itself.
static void find_context(Model *m, const Args *args) {
    m->context = m->asked = args_int(args, "--ctx", -1);
    int64_t own = m->checkpoint ? checkpoint_context(m->checkpoint) : -1;
    if (m->serve.length && !m->window) {
        int64_t written = check_bound(m->serve.entry, m->serve.length);
        own = own < 0 || (written >= 0 && written < own) ? written : own;
        m->length = m->serve.length->dim;
    }
    model_bound(m, own);
    if (m->window && m->asked >= 0 && m->asked != m->window)
        fprintf(stderr,
                "serin: --ctx %lld changes nothing: the context is a window of %lld learned "
                "positions\n",
                (long long)m->asked, (long long)m->window);
}

int model_verify(const Model *m, const Core *core, const char *stage) {
    StrBuf faults = strbuf_new(m->a);
    if (core_verify(core, &faults))
        return EXIT_FINE;
    return internal_error(arena_printf(m->a, "Core does not verify after %s", stage), faults.data);
}

// check_serve has warned; here the entry is needed.
static int refuse_entryless(Model *m) {
    const char *name = m->serve.model->name;
    Diag *d = report(m->s, m->serve.block->span, E2010,
                     "no entry of `%s` takes a whole text and gives what follows it", name);
    if (m->serve.decode)
        diag_note(m->s, d, m->serve.decode->name_span,
                  "`%s` keeps a cache for such an entry, and runs in its place",
                  m->serve.decode->name);
    diag_help(m->s, d,
              "give `%s` an entry that takes the tokens, Tensor[B, S; i32], for any B and S, and "
              "gives the logits, Tensor[B, V; f32] or [B, S, V], or the next tokens, "
              "Tensor[B; i32]; `generate = NAME` then says what an entry lacks",
              name);
    return EXIT_WRONG;
}

int model_lower(Model *m, const Args *args, int64_t prompt) {
    if (!m->serve.block) {
        report(m->s, (Span){0}, E2010, "%s has no `inference serve` block", m->path);
        return EXIT_USAGE;
    }
    if (!m->serve.entry)
        return refuse_entryless(m);
    if (!bind_rest(m, prompt))
        return EXIT_WRONG;
    refuse_unused(m);
    m->core = core_new(m->s, m->program->dims);
    m->entry = m->s->errors ? NULL : model_lower_entry(m, m->core, false);
    if (!m->entry)
        return EXIT_WRONG;
    int code = model_verify(m, m->core, "lowering");
    if (code != EXIT_FINE)
        return code;
    StrBuf why = strbuf_new(m->a);
    m->greedy = opt_greedy(m->core, m->entry, &why);
    if (!m->greedy) {
        report(m->s, m->serve.entry->name_span, E2010, "no greedy copy of `%s`: %s",
               m->serve.entry->name, why.data);
        return EXIT_WRONG;
    }
    find_params(m);
    find_context(m, args);
    const CoreType *result = core_value(m->entry, m->entry->region.yields.data[0])->type;
    if (m->serve.ids || !dim_is_const(result->dims[result->rank - 1], &m->vocab))
        m->vocab = find_vocab(m->entry);
    if (m->vocab < 0 && !m->open) {
        report(m->s, m->serve.entry->name_span, E2010,
               "`%s` ends in no categorical or argmax that tells the vocabulary",
               m->serve.entry->name);
        return EXIT_WRONG;
    }
    return model_verify(m, m->core, "greedy");
}

void model_close(Model *m) {
    if (m->checkpoint)
        checkpoint_close(m->checkpoint);
    rt_weights_close(m->weights);
    session_free(m->s);
}
