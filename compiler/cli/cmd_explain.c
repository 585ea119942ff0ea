// serin explain CODE
#include "cli/cli.h"

static const Flag flags[] = {
    {"--json", FLAG_BOOL, NULL, "as one JSON object"},
};

static void print_json(const DiagInfo *info) {
    printf("{\"code\": \"%s\", \"severity\": \"%s\", \"title\": ", info->name,
           info->severity == SEVERITY_ERROR ? "error" : "warning");
    json_string(stdout, info->title);
    fputs(", \"why\": ", stdout);
    json_string(stdout, info->why);
    printf(", \"clause\": \"%s\"}\n", info->clause);
}

static int run(Arena *a, const Args *args) {
    DiagCode code;
    (void)a;
    if (args->paths.len != 1)
        return usage_error("explain takes one code, such as E2201");
    if (!diag_find(args->paths.data[0], &code))
        return usage_error("there is no code %s; codes look like E2201 or W1001",
                           args->paths.data[0]);
    const DiagInfo *info = diag_info(code);
    if (args_has(args, "--json")) {
        print_json(info);
        return EXIT_FINE;
    }
    printf("%s: %s\n\n%s\n\nSpec: clause %s\n", info->name, info->title, info->why, info->clause);
    return EXIT_FINE;
}

const Command command_explain = {"explain",
                                 "CODE",
                                 "Says what a diagnostic means, why, and what to do.",
                                 "serin explain E2201",
                                 COMMAND_FLAGS(flags),
                                 run};
