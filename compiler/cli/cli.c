// How commands end: diagnostics, internal errors, wrong command lines.
#include "cli/cli.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool color_wanted(FILE *out) {
    const char *term = getenv("TERM");
    return isatty(fileno(out)) && !getenv("NO_COLOR") && term && strcmp(term, "dumb") != 0;
}

int finish_text(Session *s) {
    diags_print(s, stderr, color_wanted(stderr));
    return s->errors ? EXIT_WRONG : EXIT_FINE;
}

int finish(Session *s, const Args *args) {
    if (!args_has(args, "--json"))
        return finish_text(s);
    diags_json(s, stdout);
    return s->errors ? EXIT_WRONG : EXIT_FINE;
}

int internal_error(const char *what, const char *details) {
    fprintf(stderr,
            "serin: internal error: %s\n%s\nThis is a fault of the compiler, not of your "
            "program. Please report it with the input.\n",
            what, details);
    return EXIT_INTERNAL;
}

int usage_error(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fputs("serin: ", stderr);
    vfprintf(stderr, format, args);
    fputs("\n", stderr);
    va_end(args);
    return EXIT_USAGE;
}

const char *plural(int64_t n) {
    return n == 1 ? "" : "s";
}

const char *size_text(Arena *a, double bytes) {
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
    int u = 0;
    for (; bytes >= 1024 && u < 5; u++)
        bytes /= 1024;
    return arena_printf(a, u ? "%.1f %s" : "%.0f %s", bytes, units[u]);
}
