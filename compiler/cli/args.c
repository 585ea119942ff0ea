// Parsing flags by their table; see args.h.
#include "cli/args.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int find_flag(const Args *args, const char *name, size_t length) {
    for (int i = 0; i < args->count; i++) {
        if (strlen(args->flags[i].name) == length && memcmp(args->flags[i].name, name, length) == 0)
            return i;
    }
    return -1;
}

static bool is_digits(const char *text) {
    return *text && strspn(text, "0123456789") == strlen(text);
}

// Digits up to `most`.
static bool is_int(const char *text, uint64_t most, uint64_t *value) {
    errno = 0;
    *value = is_digits(text) ? strtoull(text, NULL, 10) : 0;
    return is_digits(text) && !errno && *value <= most;
}

// Read as f32 at once: an exported program does so, and reading it as f64 first would round twice.
static bool is_number(const char *text, double *value) {
    char *end;
    *value = (double)strtof(text, &end);
    bool plain = strspn(text, "0123456789.eE+-") == strlen(text);
    return *text && plain && !*end && isfinite(*value) && *value >= 0;
}

static bool check_value(const Flag *f, const char *text) {
    uint64_t most = f->kind == FLAG_SEED ? UINT64_MAX : INT64_MAX, i;
    bool whole = f->kind == FLAG_INT || f->kind == FLAG_SEED;
    double d;
    if (whole && !is_digits(text)) {
        fprintf(stderr, "serin: %s needs an integer that is not negative, not \"%s\"\n", f->name,
                text);
        return false;
    }
    if (whole && !is_int(text, most, &i)) { // a command's own range is args_within's
        const char *why = f->kind == FLAG_SEED ? "is 0 to 18446744073709551615, not" : "can't be";
        fprintf(stderr, "serin: %s %s %s\n", f->name, why, text);
        return false;
    }
    if (f->kind == FLAG_NUMBER && !is_number(text, &d)) {
        fprintf(stderr, "serin: %s needs a number of f32 that is not negative, not \"%s\"\n",
                f->name, text);
        return false;
    }
    return true;
}

static bool set_flag(Arena *a, Args *out, int i, const char *text) {
    const Flag *f = &out->flags[i];
    if (f->kind == FLAG_TEXT && !*text) {
        fprintf(stderr, "serin: %s needs a value that is not empty\n", f->name);
        return false;
    }
    if (!check_value(f, text))
        return false;
    if (f->kind == FLAG_MANY) {
        vec_push(a, &out->many, f->name);
        vec_push(a, &out->many, text);
        return true;
    }
    if (out->given[i]) {
        fprintf(stderr, "serin: %s is given twice\n", f->name);
        return false;
    }
    out->given[i] = text;
    return true;
}

// One argument that begins with a dash; *i moves past its value.
static bool parse_flag(Arena *a, Args *out, int argc, char **argv, int *i) {
    const char *text = argv[*i], *equals = strchr(text, '=');
    size_t length = equals ? (size_t)(equals - text) : strlen(text);
    int flag = find_flag(out, text, length);
    if (flag < 0) {
        fprintf(stderr, "serin: unknown flag %.*s (--help lists what there is)\n", (int)length,
                text);
        return false;
    }
    if (out->flags[flag].kind == FLAG_BOOL) {
        if (equals)
            fprintf(stderr, "serin: %s takes no value\n", out->flags[flag].name);
        return !equals && set_flag(a, out, flag, "");
    }
    if (equals)
        return set_flag(a, out, flag, equals + 1);
    if (*i + 1 >= argc) {
        fprintf(stderr, "serin: %s needs a value\n", text);
        return false;
    }
    return set_flag(a, out, flag, argv[++*i]);
}

bool args_parse(Arena *a, const Flag *flags, int count, int argc, char **argv, Args *out) {
    *out = (Args){.flags = flags, .count = count};
    bool only_paths = false;
    for (int i = 0; i < argc; i++) {
        bool dash = argv[i][0] == '-' && argv[i][1] && !only_paths;
        if (dash && strcmp(argv[i], "--") == 0)
            only_paths = true;
        else if (!dash)
            vec_push(a, &out->paths, argv[i]);
        else if (!parse_flag(a, out, argc, argv, &i))
            return false;
    }
    return true;
}

const char *args_text(const Args *args, const char *flag) {
    int i = find_flag(args, flag, strlen(flag));
    return i < 0 ? NULL : args->given[i];
}

bool args_has(const Args *args, const char *flag) {
    return args_text(args, flag) != NULL;
}

int64_t args_int(const Args *args, const char *flag, int64_t fallback) {
    const char *text = args_text(args, flag);
    uint64_t v;
    return text && is_int(text, INT64_MAX, &v) ? (int64_t)v : fallback;
}

uint64_t args_seed(const Args *args, const char *flag) {
    const char *text = args_text(args, flag);
    uint64_t v;
    return text && is_int(text, UINT64_MAX, &v) ? v : 0;
}

bool args_within(const Args *args, const char *flag, int64_t least, int64_t most) {
    int64_t v = args_int(args, flag, least);
    if (v >= least && v <= most)
        return true;
    fprintf(stderr, "serin: %s is %" PRId64 " to %" PRId64 ", not %" PRId64 "\n", flag, least, most,
            v);
    return false;
}

double args_number(const Args *args, const char *flag, double fallback) {
    const char *text = args_text(args, flag);
    double v;
    return text && is_number(text, &v) ? v : fallback;
}

void args_help(FILE *out, const Flag *flags, int count) {
    for (int i = 0; i < count; i++) {
        char left[64];
        snprintf(left, sizeof left, "%s%s%s", flags[i].name, flags[i].meta ? " " : "",
                 flags[i].meta ? flags[i].meta : "");
        fprintf(out, "  %-22s %s\n", left, flags[i].help);
    }
}
