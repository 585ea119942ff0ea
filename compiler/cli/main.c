// serin: the command line. The commands are a table; help is printed from it.
#include "cli/cli.h"
#include <malloc.h>
#include <string.h>

static const Command *const commands[] = {
    &command_check,  &command_serve,   &command_run, &command_tokenize,
    &command_export, &command_explain, &command_fmt, &command_dump,
    &command_eval,   &command_inspect, &command_lsp, &command_plan,
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_commands(FILE *out) {
    fputs("Serin compiles small typed programs of language models: it checks their shapes, runs "
          "them,\nand writes them as C. Usage: serin COMMAND ...\n\n",
          out);
    for (int i = 0; i < COMMANDS; i++)
        fprintf(out, "  %-9s %s\n", commands[i]->name, commands[i]->line);
    fputs("\n  serin check examples/verses\n  serin run examples/verses \"And the\"\n\n"
          "serin COMMAND --help tells more.\n",
          out);
}

static void print_help(FILE *out, const Command *c) {
    fprintf(out, "%s\n\nUsage: serin %s %s\n\n  %s\n\n", c->line, c->name, c->usage, c->example);
    args_help(out, c->flags, c->flag_count);
}

static bool wants_help(int argc, char **argv) {
    for (int i = 2; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    }
    return false;
}

// What was printed must have arrived.
static int flushed(int code) {
    if ((fflush(stdout) == 0 && !ferror(stdout)) || code != EXIT_FINE)
        return code;
    fputs("serin: stdout can't be written\n", stderr);
    return EXIT_WRONG;
}

static int run_command(const Command *c, int argc, char **argv) {
    if (wants_help(argc, argv)) {
        print_help(stdout, c);
        return EXIT_FINE;
    }
    Arena *a = arena_new();
    Args args;
    int code = EXIT_USAGE;
    if (args_parse(a, c->flags, c->flag_count, argc - 2, argv + 2, &args))
        code = c->run(a, &args);
    arena_free(a);
    return code;
}

// Large blocks go back to the system when they are freed: the front end's memory would else lie
// beside the weights. The C library raises the threshold as it goes, unless one is set.
static void set_allocator(void) {
#ifdef M_MMAP_THRESHOLD
    mallopt(M_MMAP_THRESHOLD, 128 << 10);
#endif
}

int main(int argc, char **argv) {
    set_allocator();
    const char *name = argc > 1 ? argv[1] : "";
    bool help = strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0;
    if (help) {
        print_commands(stdout);
        return flushed(EXIT_FINE);
    }
    if (strcmp(name, "--version") == 0) {
        puts("serin 0.1");
        return flushed(EXIT_FINE);
    }
    for (int i = 0; i < COMMANDS; i++) {
        if (strcmp(commands[i]->name, name) == 0)
            return flushed(run_command(commands[i], argc, argv));
    }
    if (*name)
        fprintf(stderr, "serin: there is no command \"%s\"\n\n", name);
    print_commands(stderr);
    return EXIT_USAGE;
}
