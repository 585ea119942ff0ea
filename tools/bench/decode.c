// Time for one token at several positions, in the interpreter; tools/bench/decode.sh runs it.
//
// usage: decode PATH [POSITION...] [--set NAME=VALUE]      THREADS: how many (1)
//
// The cache is taken as it is after load (zeros): no step's cost depends on what it holds. The time
// is the CPU's (user and system), the least of several steps, since others may use the machine.
#include "cli/cli.h"
#include "cli/engine.h"
#include <stdlib.h>
#include <sys/resource.h>

enum { STEPS = 9 };

static const Flag flags[] = {MODEL_FLAGS};

static double seconds(void) {
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

// The least time of a token at this position (the number of tokens before it); negative if it
// fails.
static double token_time(Engine *e, int32_t *tokens, int64_t position) {
    double least = -1;
    for (int i = 0; i < STEPS; i++) {
        Sequence s = {.tokens = tokens, .prompt = position + 1, .length = position + 1};
        s.most = position + 2;
        s.fed = position;
        Sequence *row = &s;
        int64_t window = e->m->step->window;
        if (e->m->step->origin && position > window)
            e->origin[0] = (int32_t)(position - window);
        double start = seconds();
        if (!engine_step(e, &row))
            return -1;
        double time = seconds() - start;
        least = least < 0 || time < least ? time : least;
    }
    return least;
}

static int measure(Arena *a, Model *m, const Args *args) {
    static const char *const usual[] = {"64", "512", "2048", "4096"};
    bool given = args->paths.len > 1;
    const char *const *at = given ? (const char *const *)args->paths.data + 1 : usual;
    int n = given ? args->paths.len - 1 : 4;
    int64_t most = 0, bytes = 0;
    for (int i = 0; i < n; i++)
        most = atoll(at[i]) > most ? atoll(at[i]) : most;
    const char *threads = getenv("THREADS");
    Engine e = {0};
    if (!engine_start(&e, m, 1, most + 2, 1, threads ? atoi(threads) : 1))
        return EXIT_WRONG;
    for (int i = 0; i < m->step->state_count; i++)
        bytes += m->step->states[i].bytes;
    int32_t *tokens = NEW_N(a, int32_t, most + 2);
    printf("position  ms a token  cache read (MiB)\n");
    for (int i = 0; i < n; i++) {
        int64_t read = atoll(at[i]) + 1;
        double time = token_time(&e, tokens, read - 1);
        if (m->step->origin && read > m->step->window + 1)
            read = m->step->window + 1;
        printf("%8s  %10.1f  %16.1f\n", at[i], time * 1e3, (double)(bytes * read) / 1048576);
    }
    engine_end(&e);
    return EXIT_FINE;
}

int main(int argc, char **argv) {
    Arena *a = arena_new();
    Args args;
    Model m = {0};
    int code = EXIT_USAGE;
    if (argc > 1 && args_parse(a, flags, sizeof flags / sizeof *flags, argc - 1, argv + 1, &args))
        code = model_open(a, argv[1], &args, &m);
    if (code == EXIT_FINE)
        code = model_lower(&m, &args, 0);
    if (code == EXIT_FINE)
        code = model_match_weights(&m);
    if (code == EXIT_FINE)
        code = model_derive(&m);
    if (code == EXIT_FINE)
        code = model_slide(&m);
    if (code == EXIT_FINE && !m.step)
        code = EXIT_WRONG;
    if (code == EXIT_FINE)
        code = measure(a, &m, &args);
    if (m.s)
        finish_text(m.s);
    model_close(&m);
    arena_free(a);
    return code;
}
