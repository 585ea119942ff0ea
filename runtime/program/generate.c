// Generates tokens: reads token ids, prints the ids that follow them.
#include "model.h"
#include "threefry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    const char **prompts; // texts of token ids
    int prompt_count;     // how many
    int64_t tokens;       // to generate for each
    float temperature;    // 0: always the likeliest token
    uint64_t seed;        // of the draws
    const char *weights;  // file; NULL: weights.bin beside the program
    int threads;          // 0: one for each processor
    bool json;            // an object instead of ids
} Options;

static const char help[] =
    "Generates tokens with the model that this program was made for.\n"
    "\n"
    "    ./generate --prompt \"1 2 3\" --tokens 16 --temperature 0\n"
    "\n"
    "  --prompt IDS       token ids separated by spaces; each --prompt gives a line\n"
    "  --tokens N         how many to generate (16)\n"
    "  --temperature X    0: the likeliest token; else tokens are drawn\n"
    "  --seed S           of the draws (0)\n"
    "  --weights FILE     packed weights (weights.bin beside this program)\n"
    "  --threads N        threads of matrix products (one for each processor)\n"
    "  --json             an object instead of ids\n"
    "  --help             this text\n";

// ---- Command line ------------------------------------------------------------------------------

static bool parse_int(const char *text, int64_t least, int64_t most, int64_t *value) {
    const char *p = text + (*text == '-');
    int64_t v = 0;
    if (*p == 0)
        return false;
    for (; *p; p++) {
        if (*p < '0' || *p > '9' || v > (INT64_MAX - (*p - '0')) / 10)
            return false;
        v = 10 * v + (*p - '0');
    }
    *value = *text == '-' ? -v : v;
    return *value >= least && *value <= most;
}

static bool parse_seed(const char *text, uint64_t *value) {
    uint64_t v = 0;
    const char *p = text;
    for (; *p >= '0' && *p <= '9'; p++) {
        uint64_t digit = (uint64_t)(*p - '0');
        if (v > (UINT64_MAX - digit) / 10)
            return false;
        v = 10 * v + digit;
    }
    *value = v;
    return p > text && *p == 0;
}

static bool parse_temperature(const char *text, float *value) {
    char *end;
    if (strspn(text, "0123456789.eE+-") != strlen(text))
        return false;
    *value = strtof(text, &end);
    return end > text && *end == 0 && isfinite(*value) && *value >= 0;
}

static bool set_option(Options *o, const char *flag, const char *value) {
    int64_t n = 0;
    if (strcmp(flag, "--prompt") == 0) {
        o->prompts[o->prompt_count++] = value;
        return true;
    }
    if (strcmp(flag, "--weights") == 0) {
        o->weights = value;
        return true;
    }
    if (strcmp(flag, "--tokens") == 0)
        return parse_int(value, 0, INT32_MAX, &o->tokens);
    if (strcmp(flag, "--temperature") == 0)
        return parse_temperature(value, &o->temperature);
    if (strcmp(flag, "--seed") == 0)
        return parse_seed(value, &o->seed);
    bool ok = parse_int(value, 0, 256, &n); // --threads
    o->threads = (int)n;
    return ok;
}

static bool is_one_of(const char *flag, const char *const *list) {
    for (; *list; list++) {
        if (strcmp(flag, *list) == 0)
            return true;
    }
    return false;
}

// Reads the command line. 0: go on; else the exit code plus 1.
static int parse_options(Options *o, int argc, char **argv) {
    static const char *const valued[] = {
        "--prompt", "--tokens", "--temperature", "--seed", "--weights", "--threads", NULL};
    static const char *const fixed[] = {"--ctx",   "--dim",     "--set", "--precision",
                                        "--entry", "--backend", NULL};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            fputs(help, stdout);
            return 1;
        }
        if (strcmp(argv[i], "--json") == 0) {
            o->json = true;
            continue;
        }
        if (is_one_of(argv[i], fixed)) {
            fprintf(stderr, "error: %s was fixed when this program was exported\n", argv[i]);
            return 3;
        }
        if (!is_one_of(argv[i], valued)) {
            fprintf(stderr, "error: there is no option %s (see --help)\n", argv[i]);
            return 3;
        }
        if (i + 1 == argc) {
            fprintf(stderr, "error: %s needs a value\n", argv[i]);
            return 3;
        }
        if (!set_option(o, argv[i], argv[i + 1])) {
            fprintf(stderr, "error: %s can't be %s\n", argv[i], argv[i + 1]);
            return 3;
        }
        i++;
    }
    if (o->prompt_count)
        return 0;
    fprintf(stderr, "error: --prompt is missing (see --help)\n");
    return 3;
}

// ---- Generation --------------------------------------------------------------------------------

typedef struct {
    int32_t *ids;   // prompt, then what was generated
    int64_t prompt; // tokens of the prompt
    int64_t count;  // all
} Text;

// The ids of a prompt, with room for `more`. 0: fine; else the exit code.
static int read_prompt(const char *prompt, int64_t more, Text *text) {
    size_t size = strlen(prompt);
    char *copy = malloc(size + 1), *rest = NULL;
    text->ids = malloc((size / 2 + 1 + (size_t)more) * sizeof *text->ids);
    if (!copy || !text->ids) {
        fprintf(stderr, "error: there is no memory for the prompt\n");
        free(copy);
        return 1;
    }
    memcpy(copy, prompt, size + 1);
    int code = 0;
    for (char *id = strtok_r(copy, " ", &rest); id && !code; id = strtok_r(NULL, " ", &rest)) {
        int64_t value;
        if (!parse_int(id, INT64_MIN, INT64_MAX, &value)) {
            fprintf(stderr, "error: --prompt can't have %s: it is no token id\n", id);
            code = 2;
        } else if (value < 0 || value >= MODEL_VOCAB) {
            fprintf(stderr, "error E7003: token %lld is outside the vocabulary of %d\n",
                    (long long)value, MODEL_VOCAB);
            code = 1;
        } else {
            text->ids[text->count++] = (int32_t)value;
        }
    }
    free(copy);
    text->prompt = text->count;
    if (!code && !text->count) {
        fprintf(stderr, "error: --prompt has no token ids\n");
        return 2;
    }
    return code;
}

// Does the text fit the model? 0, or the exit code.
static int check_length(const Text *text, int64_t tokens) {
    if (MODEL_WINDOW > 0 && text->prompt < MODEL_WINDOW) {
        fprintf(stderr, "error E7001: the prompt has %lld tokens, the window %d\n",
                (long long)text->prompt, MODEL_WINDOW);
        return 1;
    }
    if (MODEL_WINDOW == 0 && text->prompt + tokens > MODEL_CONTEXT) {
        fprintf(stderr,
                "error E7002: the prompt has %lld tokens, %lld more are asked for, the context "
                "holds %d\n",
                (long long)text->prompt, (long long)tokens, MODEL_CONTEXT);
        return 1;
    }
    return 0;
}

static void print_ids(const int32_t *ids, int64_t count, const char *between) {
    for (int64_t i = 0; i < count; i++)
        printf("%s%d", i ? between : "", (int)ids[i]);
}

static void print_text(const Options *o, const Text *text) {
    const int32_t *generated = text->ids + text->prompt;
    int64_t count = text->count - text->prompt;
    if (!o->json) {
        print_ids(generated, count, " ");
        putchar('\n');
        return;
    }
    printf("{\"model\": %s, \"weights\": %s, \"prompt\": [", model_name_json, model_weights_json);
    print_ids(text->ids, text->prompt, ", ");
    printf("], \"generated\": [");
    print_ids(generated, count, ", ");
    printf("], \"window\": ");
    if (MODEL_WINDOW > 0)
        printf("%d", MODEL_WINDOW);
    else
        printf("null");
    bool greedy = o->temperature == 0 || MODEL_DRAWS == 0;
    printf(", \"greedy\": %s, \"vocab\": %d}\n", greedy ? "true" : "false", MODEL_VOCAB);
}

// Generates after one prompt and prints. 0, or the exit code.
static int generate(const Options *o, Session *session, const char *prompt) {
    Text text = {0};
    int code = read_prompt(prompt, o->tokens, &text);
    if (!code)
        code = check_length(&text, o->tokens);
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (int64_t i = 1; !code && i <= o->tokens; i++) {
        RtKey child = rt_child(rt_key(o->seed), (uint32_t)i);
        int64_t key[2] = {child.word[0], child.word[1]};
        int64_t from = MODEL_WINDOW > 0 ? text.count - MODEL_WINDOW : 0;
        text.ids[text.count] =
            session_next(session, key, text.ids + from, text.count - from, o->temperature);
        text.count++;
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    if (!code) {
        print_text(o, &text);
        double s =
            (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
        fprintf(stderr, "%lld tokens after %lld in %.2f s (%.1f a second)\n", (long long)o->tokens,
                (long long)text.prompt, s, s > 0 ? (double)o->tokens / s : 0.0);
    }
    free(text.ids);
    return code;
}

// weights.bin in the folder of this program.
static char *default_weights(const char *program) {
    const char *slash = strrchr(program, '/');
    size_t folder = slash ? (size_t)(slash - program) + 1 : 0;
    char *path = malloc(folder + sizeof "weights.bin");
    if (path) {
        memcpy(path, program, folder);
        memcpy(path + folder, "weights.bin", sizeof "weights.bin");
    }
    return path;
}

static int run(const Options *o, const char *weights) {
    char error[400];
    if (access(weights, R_OK) != 0) {
        fprintf(stderr, "error: can't read %s\n", weights);
        return 2;
    }
    ModelFile *file = model_open(weights, error, sizeof error);
    if (!file) {
        fprintf(stderr, "error: %s\n", error);
        return 1;
    }
    Session *session = session_new(file, o->threads);
    int code = session ? 0 : 1;
    if (!session)
        fprintf(stderr, "error: there is no memory for a session\n");
    for (int i = 0; i < o->prompt_count && !code; i++)
        code = generate(o, session, o->prompts[i]);
    session_free(session);
    model_close(file);
    if (fflush(stdout) != 0 && !code) {
        fprintf(stderr, "error: the output could not be written\n");
        code = 1;
    }
    return code;
}

int main(int argc, char **argv) {
    Options o = {.tokens = 16, .temperature = MODEL_TEMPERATURE};
    o.prompts = malloc(((size_t)argc + 1) * sizeof *o.prompts);
    if (!o.prompts)
        return 1;
    int code = parse_options(&o, argc, argv);
    if (code == 0) {
        char *beside = o.weights ? NULL : default_weights(argv[0]);
        const char *weights = o.weights ? o.weights : beside;
        code = weights ? run(&o, weights) : 1;
        free(beside);
    } else {
        code--;
    }
    free(o.prompts);
    return code;
}
