// serin explain CODE: the row of the table of diagnostics, with the examples of spec/errors.
#include "base/embedded.h"
#include "cli/cli.h"

static const Flag flags[] = {
    {"--all", FLAG_BOOL, NULL, "every code, as the page spec/errors.md"},
    {"--json", FLAG_BOOL, NULL, "as one JSON object"},
};

// A program, manifest or card that gives the code ("bad"), or the same mended ("good"); ptr NULL if
// there is none.
static Str example(Arena *a, const DiagInfo *info, const char *which) {
    Str text = embedded_find(arena_printf(a, "spec/errors/%s.%s.serin", info->name, which));
    if (!text.ptr)
        text = embedded_find(arena_printf(a, "spec/errors/%s.%s.toml", info->name, which));
    return text;
}

static bool is_program(Arena *a, const DiagInfo *info) {
    return embedded_find(arena_printf(a, "spec/errors/%s.bad.serin", info->name)).ptr != NULL;
}

static void print_json(Arena *a, const DiagInfo *info) {
    static const char *const which[] = {"bad", "good"};
    printf("{\"code\": \"%s\", \"severity\": \"%s\", \"title\": ", info->name,
           info->severity == SEVERITY_ERROR ? "error" : "warning");
    json_string(stdout, info->title);
    fputs(", \"why\": ", stdout);
    json_string(stdout, info->why);
    for (int i = 0; i < 2; i++) {
        Str text = example(a, info, which[i]);
        printf(", \"%s\": ", which[i]);
        if (text.ptr)
            json_string(stdout, text.ptr);
        else
            fputs("null", stdout);
    }
    printf(", \"clause\": \"%s\"}\n", info->clause);
}

static void print_example(const char *heading, Str text) {
    if (!text.ptr)
        return;
    printf("%s\n\n", heading);
    bool start = true;
    for (int i = 0; i < text.len; i++) {
        if (start && text.ptr[i] != '\n')
            fputs("    ", stdout);
        start = text.ptr[i] == '\n';
        putchar(text.ptr[i]);
    }
    putchar('\n');
}

static void print_text(Arena *a, const DiagInfo *info) {
    printf("%s: %s\n\n%s\n\n", info->name, info->title, info->why);
    print_example("Wrong:", example(a, info, "bad"));
    print_example("Right:", example(a, info, "good"));
    printf("Spec: clause %s\n", info->clause);
}

// ---- The page ----------------------------------------------------------------------------------

static void page_example(const char *heading, const char *fence, Str text) {
    if (text.ptr)
        printf("%s\n\n```%s\n%.*s```\n\n", heading, fence, STR_ARG(text));
}

static int print_page(Arena *a) {
    printf("# Diagnostics\n\nGenerated from `compiler/base/diag.def` and the programs in "
           "`spec/errors` (`tools/gendoc`); change those.\nCodes that begin with E are errors, "
           "those with W warnings. The clauses are those of `language.md`.\n\n");
    for (int i = 0; i < DIAG_COUNT; i++) {
        const DiagInfo *info = diag_info((DiagCode)i);
        printf("## %s: %s\n\n%s (Clause %s.)\n\n", info->name, info->title, info->why,
               info->clause);
        bool program = is_program(a, info);
        page_example("Wrong:", program ? arena_printf(a, "serin %s", info->name) : "toml",
                     example(a, info, "bad"));
        page_example("Right:", program ? "serin" : "toml", example(a, info, "good"));
    }
    return EXIT_FINE;
}

static int run(Arena *a, const Args *args) {
    DiagCode code;
    if (args_has(args, "--all") && !args->paths.len)
        return print_page(a);
    if (args->paths.len != 1 || args_has(args, "--all"))
        return usage_error("explain takes one code, such as E2201, or --all");
    if (!diag_find(args->paths.data[0], &code))
        return usage_error("there is no code %s; codes look like E2201 or W1001",
                           args->paths.data[0]);
    if (args_has(args, "--json"))
        print_json(a, diag_info(code));
    else
        print_text(a, diag_info(code));
    return EXIT_FINE;
}

const Command command_explain = {"explain",
                                 "CODE | --all",
                                 "Says what a diagnostic means, why, and what to do.",
                                 "serin explain E2201",
                                 COMMAND_FLAGS(flags),
                                 run};
