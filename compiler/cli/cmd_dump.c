// serin dump PATH --stage=STAGE: the program as the compiler sees it.
#include "cli/cli.h"
#include "cli/model.h"
#include "codegen/codegen.h"
#include "lower/lower.h"
#include "opt/greedy.h"
#include "opt/prune.h"
#include "syntax/parse.h"
#include <string.h>

static const Flag flags[] = {
    {"--stage", FLAG_TEXT, "STAGE", "tokens, ast, typed, core, opt (the step), loop, c"},
    MODEL_FLAGS,
};

static int dump_syntax(Arena *a, const char *path, const char *stage) {
    Session *s = session_new();
    const char *why = NULL;
    StrBuf out = strbuf_new(a);
    Source *source = source_load_program(s->arena, path, &why);
    int code = EXIT_USAGE;
    if (!source) {
        report(s, (Span){0}, E1202, "%s can't be read: %s", path, why);
    } else if (strcmp(stage, "tokens") == 0) {
        dump_tokens(s, session_add(s, source), &out);
    } else if (strcmp(stage, "ast") == 0) {
        ast_dump(s, parse_module(s, session_add(s, source)), false, &out);
    } else {
        ast_dump(s, check_program(s, session_add(s, source), NULL)->root, true, &out);
    }
    fwrite(out.data, 1, (size_t)out.len, stdout);
    if (source)
        code = s->errors ? EXIT_WRONG : EXIT_FINE;
    finish_text(s);
    session_free(s);
    return code;
}

// ---- Core of a program without a serve block: every entry of the root module -------------------

static bool lower_one(Model *m, Item *block, Item *entry) {
    int n = entry->generics.len, k = block ? block->generics.len : 0;
    GenericArg *args = NEW_N(m->a, GenericArg, n + 1), *outer = NEW_N(m->a, GenericArg, k + 1);
    for (int i = 0; i < n; i++)
        args[i] = entry->generics.data[i].value;
    for (int i = 0; i < k; i++)
        outer[i] = block->generics.data[i].value;
    LowerOptions o = {.program = m->program, .core = m->core, .block_args = outer};
    return lower_entry(&o, block, entry, args) != NULL;
}

static int dump_entries(Model *m) {
    m->core = core_new(m->s, m->program->dims);
    bool good = true;
    for (int i = 0; i < m->program->root->items.len; i++) {
        Item *item = m->program->root->items.data[i];
        if (item->kind == ITEM_ENTRY)
            good &= lower_one(m, NULL, item);
        for (int k = 0; k < item->items.len; k++) {
            if (item->items.data[k]->kind == ITEM_ENTRY)
                good &= lower_one(m, item, item->items.data[k]);
        }
    }
    return good ? model_verify(m, m->core, "lowering") : EXIT_WRONG;
}

static int print_core(Model *m, const char *stage) {
    StrBuf out = strbuf_new(m->a);
    char error[512] = "";
    bool good = true;
    if (strcmp(stage, "loop") == 0)
        good = codegen_dump_loop(m->core, &out, error, sizeof error);
    else if (strcmp(stage, "c") == 0)
        good = codegen_dump_c(m->core, &out, error, sizeof error);
    else
        core_print(m->core, &out);
    fwrite(out.data, 1, (size_t)out.len, stdout);
    if (!good)
        report(m->s, (Span){0}, E8001, "%s", error);
    return good ? EXIT_FINE : EXIT_WRONG;
}

static int dump_core(Arena *a, const Args *args, const char *stage, Model *m) {
    int code = model_open(a, args->paths.data[0], args, m);
    if (code != EXIT_FINE)
        return code;
    code = m->serve.block ? model_lower(m, args, 0) : dump_entries(m);
    bool derived = m->serve.block && (strcmp(stage, "opt") == 0 ||
                                      (m->serve.decode && strcmp(stage, "core") != 0));
    if (code == EXIT_FINE && derived)
        code = model_derive(m);
    if (m->decode) {
        m->core = m->step_core;
    } else if (m->step) {
        m->core = m->step_core;
        opt_prune(m->core, 1, &m->step->fn);
    }
    return code == EXIT_FINE ? print_core(m, stage) : code;
}

static int run(Arena *a, const Args *args) {
    static const char *const stages[] = {"tokens", "ast", "typed", "core", "opt", "loop", "c"};
    const char *stage = args_text(args, "--stage");
    int number = -1;
    for (int i = 0; stage && i < 7; i++) {
        if (strcmp(stages[i], stage) == 0)
            number = i;
    }
    if (args->paths.len != 1 || number < 0)
        return usage_error("dump takes one PATH and --stage=tokens|ast|typed|core|opt|loop|c");
    if (number < 3 && !checkpoint_is(args->paths.data[0]))
        return dump_syntax(a, args->paths.data[0], stage);
    Model m = {0};
    int code = dump_core(a, args, stage, &m);
    if (m.s)
        finish_text(m.s);
    model_close(&m);
    return code;
}

const Command command_dump = {"dump",
                              "PATH --stage=STAGE",
                              "Prints a form of the program between source and output.",
                              "serin dump examples/verses --stage=core",
                              COMMAND_FLAGS(flags),
                              run};
