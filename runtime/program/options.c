// The command line of the program.
#include "generate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    "  --chunk N          tokens of a prompt read at a time, where a cache is kept (128; by a\n"
    "                     hand-written prefill: all)\n"
    "  --logits FILE      writes the logits of the last tokens, f32, where a cache is kept\n"
    "  --memory           prints the bytes of cache and temporaries to stderr\n"
    "  --json             an object instead of ids\n"
    "  --help             this text\n";

// ---- Command line ------------------------------------------------------------------------------

bool parse_int(const char *text, int64_t least, int64_t most, int64_t *value) {
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

// Takes a flag's value. NULL, or what is wrong with it.
static const char *set_option(Options *o, const char *flag, const char *value) {
    static const char uncached[] = "needs a cache, and this program keeps none: it can't be";
    int64_t n = 0;
    if (strcmp(flag, "--prompt") == 0) {
        o->prompts[o->prompt_count++] = value;
        return NULL;
    }
    if (strcmp(flag, "--weights") == 0) {
        o->weights = value;
        return *value ? NULL : "can't be";
    }
    if (strcmp(flag, "--tokens") == 0)
        return parse_int(value, 0, INT32_MAX, &o->tokens) ? NULL : "is 0 to 2147483647, not";
    if (strcmp(flag, "--temperature") == 0)
        return parse_temperature(value, &o->temperature)
                   ? NULL
                   : "is 0 or a number of f32 greater than that, not";
    if (strcmp(flag, "--seed") == 0)
        return parse_seed(value, &o->seed) ? NULL : "is 0 to 18446744073709551615, not";
    if (strcmp(flag, "--logits") == 0) {
        o->logits = value;
        return MODEL_ROWS == 0 ? uncached : *value ? NULL : "can't be";
    }
    if (strcmp(flag, "--chunk") == 0) {
        bool fits = parse_int(value, 1, 65536, &o->chunk);
        return MODEL_ROWS == 0 ? uncached : fits ? NULL : "is 1 to 65536, not";
    }
    bool fits = parse_int(value, 0, 256, &n); // --threads
    o->threads = (int)n;
    return fits ? NULL : "is 0 to 256, not";
}

// The number of the flag that `text` begins with, up to its end or a `=`; -1: none of them.
static int find(const char *text, const char *const *list) {
    size_t length = strcspn(text, "=");
    for (int i = 0; list[i]; i++) {
        if (strlen(list[i]) == length && memcmp(list[i], text, length) == 0)
            return i;
    }
    return -1;
}

static int refuse(const char *flag, const char *why) {
    fprintf(stderr, "error: %.*s %s\n", (int)strcspn(flag, "="), flag, why);
    return 2;
}

// Flags seen so far, a bit for each; --prompt may come again.
static bool is_first(unsigned *seen, int flag) {
    bool first = flag == 0 || !(*seen >> flag & 1);
    *seen |= 1u << flag;
    return first;
}

static const char *const valued[] = {"--prompt", "--tokens",  "--temperature",
                                     "--seed",   "--weights", "--threads",
                                     "--chunk",  "--logits",  NULL};
static const char *const switches[] = {"--json", "--memory", NULL};
static const char *const fixed[] = {"--ctx",   "--dim",     "--set", "--precision",
                                    "--entry", "--backend", NULL};
enum { SWITCH = 16 }; // bit of the first switch in `seen`

// The argument number *i, which moves past its value. -1: go on; else the exit code.
static int parse_option(Options *o, int argc, char **argv, int *i, unsigned *seen) {
    const char *text = argv[*i], *value = strchr(text, '=');
    int flag = find(text, valued), on = find(text, switches);
    if (on >= 0 && value)
        return refuse(text, "takes no value");
    if (find(text, fixed) >= 0)
        return refuse(text, "was fixed when this program was exported");
    if (flag < 0 && on < 0) {
        fprintf(stderr, "error: there is no option %s (see --help)\n", text);
        return 2;
    }
    if (!is_first(seen, flag >= 0 ? flag : SWITCH + on))
        return refuse(text, "is given twice");
    o->json |= on == 0;
    o->memory |= on == 1;
    if (flag < 0)
        return -1;
    if (!value && *i + 1 == argc)
        return refuse(text, "needs a value");
    value = value ? value + 1 : argv[++*i];
    const char *fault = set_option(o, valued[flag], value);
    if (!fault)
        return -1;
    fprintf(stderr, "error: %s %s %s\n", valued[flag], fault, *value ? value : "empty");
    return 2;
}

int parse_options(Options *o, int argc, char **argv) {
    unsigned seen = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            fputs(help, stdout);
            return fflush(stdout) == 0 ? 0 : 1;
        }
        int code = parse_option(o, argc, argv, &i, &seen);
        if (code >= 0)
            return code;
    }
    if (o->prompt_count)
        return -1;
    fprintf(stderr, "error: --prompt is missing (see --help)\n");
    return 2;
}
