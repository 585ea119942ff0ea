// serin serve PATH --prompt IDS: token ids in, token ids out.
#include "cli/cli.h"
#include "cli/generate.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const Flag flags[] = {
    {"--prompt", FLAG_TEXT, "IDS", "token ids, separated by spaces"},
    {"--tokens", FLAG_INT, "N", "how many to generate (16)"},
    {"--temperature", FLAG_NUMBER, "X", "0 is greedy (the entry's own default)"},
    {"--seed", FLAG_INT, "S", "of the draws (0)"},
    MODEL_FLAGS,
    {"--precision", FLAG_TEXT, "P", "stored: as the weights are (the only one so far)"},
    {"--backend", FLAG_TEXT, "B", "interp (the only one so far)"},
    {"--threads", FLAG_INT, "N", "0: one for each processor (0)"},
    {"--json", FLAG_BOOL, NULL, "the answer as one JSON object"},
};

static void print_ids(const int32_t *ids, int64_t n, const char *separator) {
    for (int64_t i = 0; i < n; i++)
        printf("%s%d", i ? separator : "", ids[i]);
}

static void print_json(const Model *m, const int32_t *context, int64_t prompt, int64_t n,
                       bool greedy) {
    fputs("{\"model\": ", stdout);
    json_string(stdout, m->serve.model->name);
    fputs(", \"weights\": ", stdout);
    json_string(stdout, m->weights_name);
    fputs(", \"prompt\": [", stdout);
    print_ids(context, prompt, ", ");
    fputs("], \"generated\": [", stdout);
    print_ids(context + prompt, n, ", ");
    fputs("], \"window\": ", stdout);
    if (m->window)
        printf("%lld", (long long)m->window);
    else
        fputs("null", stdout);
    printf(", \"greedy\": %s, \"vocab\": %lld}\n", greedy ? "true" : "false", (long long)m->vocab);
}

static void print_summary(const Model *m, int64_t prompt, int64_t n, bool greedy) {
    fprintf(stderr, "serin serve: %s from %s, prompt of %lld tokens, %lld generated, %s, ",
            m->serve.model->name, m->weights_name, (long long)prompt, (long long)n,
            greedy ? "greedy" : "sampled");
    if (m->window)
        fprintf(stderr, "context window %lld\n", (long long)m->window);
    else
        fputs("whole context\n", stderr);
}

static bool only(const Args *args, const char *flag, const char *value) {
    const char *text = args_text(args, flag);
    if (!text || strcmp(text, value) == 0)
        return true;
    usage_error("%s %s is not there yet: this version has %s only", flag, text, value);
    return false;
}

static int generate(Model *m, const Args *args, const int32_t *prompt, int64_t count) {
    int64_t tokens = args_int(args, "--tokens", 16);
    double temperature = args_number(args, "--temperature", m->serve.default_temperature);
    if (m->temperature < 0 && m->key < 0)
        temperature = 0; // the entry does not draw
    Generator g;
    int32_t id;
    bool good = generator_start(&g, m, prompt, count, tokens, (uint64_t)args_int(args, "--seed", 0),
                                (float)temperature, (int)args_int(args, "--threads", 0));
    for (int64_t i = 0; good && i < tokens; i++)
        good = generator_next(&g, &id);
    if (good && args_has(args, "--json"))
        print_json(m, g.context, count, tokens, temperature == 0);
    if (good && !args_has(args, "--json")) {
        print_ids(g.context + count, tokens, " ");
        putchar('\n');
    }
    if (good)
        print_summary(m, count, tokens, temperature == 0);
    generator_end(&g);
    return good ? EXIT_FINE : EXIT_WRONG;
}

static int serve(Arena *a, const Args *args, Model *m) {
    int64_t count = 0;
    const char *text = args_text(args, "--prompt");
    if (args->paths.len != 1 || !text)
        return usage_error("serve takes one PATH and --prompt \"1 2 3\"");
    if (!only(args, "--backend", "interp") || !only(args, "--precision", "stored"))
        return EXIT_USAGE;
    int64_t threads = args_int(args, "--threads", 0);
    if (args_int(args, "--tokens", 16) > 1 << 24 || threads > 256)
        return usage_error("--tokens is at most 16777216, --threads at most 256");
    int32_t *prompt = parse_ids(a, text, &count);
    if (!prompt)
        return EXIT_USAGE;
    int code = model_open(a, args->paths.data[0], args, m);
    if (code == EXIT_FINE)
        code = model_lower(m, args, count);
    if (code == EXIT_FINE)
        code = model_match_weights(m);
    return code == EXIT_FINE ? generate(m, args, prompt, count) : code;
}

static int run(Arena *a, const Args *args) {
    Model m = {0};
    int code = serve(a, args, &m);
    if (m.s)
        finish_text(m.s);
    model_close(&m);
    return code;
}

const Command command_serve = {
    "serve",
    "PATH --prompt IDS",
    "Generates token ids from token ids.",
    "serin serve examples/verses --prompt \"320 369 12\" --tokens 8 --temperature 0",
    COMMAND_FLAGS(flags),
    run};
