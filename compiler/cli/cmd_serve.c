// serin serve PATH --prompt IDS: token ids in, token ids out.
#include "cli/cli.h"
#include "cli/generate.h"
#include "runtime/file.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const Flag flags[] = {
    {"--prompt", FLAG_MANY, "IDS", "token ids, separated by spaces; several form a batch"},
    {"--prompts", FLAG_MANY, "FILE", "a prompt a line"},
    {"--rows", FLAG_INT, "N", "prompts at once; the others wait (0: max_batch, else 8)"},
    {"--tokens", FLAG_INT, "N", "how many to generate (16)"},
    {"--temperature", FLAG_NUMBER, "X", "0 is greedy (the entry's own default)"},
    {"--seed", FLAG_SEED, "S", "of the draws (0)"},
    MODEL_FLAGS,
    {"--precision", FLAG_TEXT, "P", "stored: as the weights are (the only one so far)"},
    {"--backend", FLAG_TEXT, "B", "interp (the only one so far)"},
    {"--chunk", FLAG_INT, "N",
     "tokens of a prompt read at a time (128; by a hand-written prefill: all)"},
    {"--whole", FLAG_BOOL, NULL, "no cache: the whole context for every token"},
    {"--logits", FLAG_TEXT, "FILE", "writes the logits of each row's last token, f32"},
    {"--threads", FLAG_INT, "N", "0: one for each processor (0)"},
    {"--memory", FLAG_BOOL, NULL, "prints the memory planned and used to stderr"},
    {"--json", FLAG_BOOL, NULL, "the answer as one JSON object"},
};

static void print_ids(const int32_t *ids, int64_t n, const char *separator) {
    for (int64_t i = 0; i < n; i++)
        printf("%s%d", i ? separator : "", ids[i]);
}

static void print_json(const Model *m, const Sequence *s, bool greedy) {
    fputs("{\"model\": ", stdout);
    json_string(stdout, m->serve.model->name);
    fputs(", \"weights\": ", stdout);
    json_string(stdout, m->weights_name);
    fputs(", \"prompt\": [", stdout);
    print_ids(s->tokens, s->prompt, ", ");
    fputs("], \"generated\": [", stdout);
    print_ids(s->tokens + s->prompt, s->length - s->prompt, ", ");
    fputs("], \"window\": ", stdout);
    if (m->window)
        printf("%lld", (long long)m->window);
    else
        fputs("null", stdout);
    printf(", \"greedy\": %s, \"vocab\": %lld}\n", greedy ? "true" : "false", (long long)m->vocab);
}

static void print_summary(const Model *m, const Sequence *s, bool greedy, bool whole) {
    fprintf(stderr, "serin serve: %s from %s, prompt of %lld token%s, %lld generated, %s, ",
            m->serve.model->name, m->weights_name, (long long)s->prompt, plural(s->prompt),
            (long long)(s->length - s->prompt), greedy ? "greedy" : "sampled");
    if (m->window)
        fprintf(stderr, "context window %lld\n", (long long)m->window);
    else
        fputs(whole || !(m->step || m->decode) ? "whole context\n" : "whole context, cached\n",
              stderr);
}

static bool only(const Args *args, const char *flag, const char *value) {
    const char *text = args_text(args, flag);
    if (!text || strcmp(text, value) == 0)
        return true;
    usage_error("%s %s is not there yet: this version has %s only", flag, text, value);
    return false;
}

typedef VEC(Sequence) Prompts;

// `from` says where it was given, or is NULL where there is one prompt.
static bool add_prompt(Arena *a, const Args *args, const char *text, const char *from, Prompts *p) {
    int64_t count = 0;
    int32_t *ids = parse_ids(a, text, &count);
    if (ids) {
        vec_push(a, p,
                 sequence_new(a, ids, count, args_int(args, "--tokens", 16),
                              args_seed(args, "--seed"), 0));
        p->data[p->len - 1].from = from;
    } else if (from) {
        fprintf(stderr, "  in %s\n", from);
    }
    return ids != NULL;
}

// One for each line that is not empty.
static bool add_lines(Arena *a, const Args *args, const char *path, Prompts *p) {
    RtFile file;
    RtError err;
    if (!rt_file_map(&file, path, &err)) {
        usage_error("%s", err.text);
        return false;
    }
    const char *at = (const char *)file.data, *end = at + file.size;
    bool good = true;
    for (int64_t number = 1; good && at < end; number++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t size = (size_t)((stop ? stop : end) - at);
        char *line = arena_alloc(a, size + 1);
        memcpy(line, at, size);
        const char *from = arena_printf(a, "%s, line %lld", path, (long long)number);
        if (memchr(at, '\0', size))
            good = usage_error("a byte that is 0\n  in %s", from) == EXIT_FINE;
        else if (line[strspn(line, " \t\r")])
            good = add_prompt(a, args, line, from, p);
        at = stop ? stop + 1 : end;
    }
    rt_file_unmap(&file);
    return good;
}

// Those of each --prompt and --prompts in order. None after a message.
static Prompts read_prompts(Arena *a, const Args *args) {
    Prompts p = {0};
    int given = 0, number = 0; // of --prompt and --prompts; of --prompt
    for (int i = 0; i < args->many.len; i += 2)
        given += strncmp(args->many.data[i], "--prompt", 8) == 0;
    for (int i = 0; i < args->many.len; i += 2) {
        const char *flag = args->many.data[i], *value = args->many.data[i + 1], *from = NULL;
        bool good = true;
        if (strcmp(flag, "--prompt") == 0) {
            number++;
            from = given > 1 ? arena_printf(a, "--prompt number %d", number) : NULL;
            good = add_prompt(a, args, value, from, &p);
        } else if (strcmp(flag, "--prompts") == 0) {
            good = add_lines(a, args, value, &p);
        }
        if (!good)
            return (Prompts){0};
    }
    if (!p.len)
        usage_error("serve needs --prompt \"1 2 3\", or --prompts FILE with lines of ids");
    return p;
}

static bool write_logits(const Model *m, const char *path, Prompts p) {
    FILE *f = fopen(path, "wb");
    size_t vocab = (size_t)m->vocab;
    bool good = f != NULL;
    for (int64_t b = 0; good && b < p.len; b++)
        good = fwrite(p.data[b].logits, sizeof(float), vocab, f) == vocab;
    good = (!f || fclose(f) == 0) && good;
    if (!good)
        report(m->s, (Span){0}, E8001, "%s can't be written: %s", path, strerror(errno));
    return good;
}

static int generate_all(Model *m, const Args *args, Prompts p) {
    const char *logits = args_text(args, "--logits");
    double temperature = args_number(args, "--temperature", m->serve.default_temperature);
    bool draws = !m->serve.ids || m->key >= 0;
    GenerateOptions o = {.chunk = args_int(args, "--chunk", 0),
                         .threads = (int)args_int(args, "--threads", 0),
                         .rows = args_int(args, "--rows", 0),
                         .whole = args_has(args, "--whole"),
                         .memory = args_has(args, "--memory")};
    bool steps = m->step || (m->decode && !o.whole);
    if (o.rows > 1 && (!m->step || o.whole))
        return usage_error(
            "--rows: without a derived cache, prompts are served one after the other");
    if (logits && !steps && m->serve.ids)
        return usage_error("--logits: `%s` gives tokens, and no step is derived that gives logits",
                           m->serve.entry->name);
    o.logits = logits && m->step && o.whole;
    for (int64_t b = 0; b < p.len; b++) {
        p.data[b].temperature = draws ? (float)temperature : 0;
        if (logits)
            p.data[b].logits = NEW_N(m->a, float, m->vocab);
    }
    bool greedy = p.data[0].temperature == 0;
    if (!generate(m, p.data, p.len, &o, NULL, NULL) || (logits && !write_logits(m, logits, p)))
        return EXIT_WRONG;
    for (int64_t b = 0; b < p.len; b++) {
        const Sequence *s = &p.data[b];
        if (args_has(args, "--json")) {
            print_json(m, s, greedy);
        } else {
            print_ids(s->tokens + s->prompt, s->length - s->prompt, " ");
            putchar('\n');
        }
        print_summary(m, s, greedy, o.whole);
    }
    return EXIT_FINE;
}

static int serve(Arena *a, const Args *args, Model *m) {
    if (args->paths.len != 1)
        return usage_error("serve takes one PATH and --prompt \"1 2 3\"");
    if (!only(args, "--backend", "interp") || !only(args, "--precision", "stored"))
        return EXIT_USAGE;
    if (!args_within(args, "--tokens", 0, 1 << 24) || !args_within(args, "--threads", 0, 256) ||
        !args_within(args, "--chunk", 1, MOST_CHUNK) || !args_within(args, "--rows", 0, MOST_ROWS))
        return EXIT_USAGE;
    Prompts p = read_prompts(a, args);
    if (!p.len)
        return EXIT_USAGE;
    int code = model_open(a, args->paths.data[0], args, m);
    if (code == EXIT_FINE)
        code = model_lower(m, args, p.data[0].prompt);
    if (code == EXIT_FINE)
        code = model_match_weights(m);
    if (code == EXIT_FINE && (!args_has(args, "--whole") || args_has(args, "--logits")))
        code = model_derive(m);
    if (code == EXIT_FINE)
        code = model_slide(m);
    model_forget_proof(m);
    return code == EXIT_FINE ? generate_all(m, args, p) : code;
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
