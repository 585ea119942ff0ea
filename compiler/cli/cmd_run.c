// serin run SOURCE TEXT: text in, text out, streamed. serin tokenize SOURCE TEXT: ids.
#include "cli/cli.h"
#include "cli/generate.h"
#include <stdlib.h>
#include <string.h>

static const Flag run_flags[] = {
    {"--tokens", FLAG_INT, "N", "at most so many (32)"},
    {"--temperature", FLAG_NUMBER, "X", "0 is greedy (the model's wish, else 0.7)"},
    {"--top-k", FLAG_INT, "K", "draws among the K likeliest (the model's wish, else all)"},
    {"--top-p", FLAG_NUMBER, "P", "draws among those of share P (the model's wish, else 0.9)"},
    {"--seed", FLAG_SEED, "S", "of the draws (0)"},
    MODEL_FLAGS,
    {"--threads", FLAG_INT, "N", "0: one for each processor (0)"},
};

static const Flag tokenize_flags[] = {
    {"--decode", FLAG_TEXT, "IDS", "prints the text of these ids instead"},
};

typedef struct {
    Model *m;
    const RtTokenizer *tokenizer;
    RtStream stream;
    bool failed;
} Answer;

// Prints the piece of a token; ends at the model's end tokens.
static bool print_piece(void *ctx, int64_t row, int32_t id) {
    Answer *a = ctx;
    const char *text;
    size_t size;
    RtError err;
    (void)row;
    if (rt_tokenizer_is_end(a->tokenizer, id))
        return false;
    if (!rt_stream_feed(&a->stream, id, &text, &size, &err)) {
        report(a->m->s, (Span){0}, E7004, "%s", err.text);
        a->failed = true;
        return false;
    }
    fwrite(text, 1, size, stdout);
    return fflush(stdout) == 0;
}

static bool stream_answer(Model *m, const RtTokenizer *t, Sequence *s, int threads) {
    Answer a = {.m = m, .tokenizer = t};
    GenerateOptions o = {.threads = threads};
    const char *text;
    size_t size;
    RtError err;
    rt_stream_start(&a.stream, t, false);
    bool good = generate(m, s, 1, &o, print_piece, &a);
    if (rt_stream_end(&a.stream, &text, &size, &err))
        fwrite(text, 1, size, stdout);
    if (good)
        putchar('\n');
    rt_stream_free(&a.stream);
    return good && !a.failed;
}

// A setting of the draw, and the least and the most that generation_config.json may wish.
typedef struct {
    const char *flag, *wish;
    double usual, least, most;
} Draw;

// The flag, else the model's wish, else what is usual. False after E5006.
static bool setting(const Model *m, const Args *args, const Draw *d, double *out,
                    const char **from) {
    *out = d->usual;
    *from = "usual";
    if (args_has(args, d->flag)) {
        *out = args_number(args, d->flag, d->usual);
        *from = d->flag;
        return true;
    }
    if (!m->checkpoint || !checkpoint_wish(m->checkpoint, d->wish, out))
        return true;
    *from = "generation_config.json";
    if (*out >= d->least && *out <= d->most)
        return true;
    report(m->s, (Span){0}, E5006, "generation_config.json: %s is %g; it must be from %g to %g",
           d->wish, *out, d->least, d->most);
    return false;
}

static bool set_draw(const Model *m, const Args *args, Sequence *s) {
    static const Draw draws[] = {
        {"--temperature", "temperature", 0.7, 0, 1e6},
        {"--top-k", "top_k", 0, -1, INT32_MAX}, // -1 and 0: all
        {"--top-p", "top_p", 0.9, 0, 1},
    };
    double value[3];
    const char *from[3];
    for (int i = 0; i < 3; i++) {
        if (!setting(m, args, &draws[i], &value[i], &from[i]))
            return false;
    }
    s->temperature = (float)value[0];
    s->top_k = value[1] > 0 ? (int32_t)value[1] : 0;
    s->top_p = (float)value[2];
    fprintf(stderr, "serin run: %s, prompt of %lld token%s, ", m->path, (long long)s->prompt,
            plural(s->prompt));
    if (s->temperature == 0)
        fprintf(stderr, "greedy\n");
    else
        fprintf(stderr, "temperature %g (%s), top_k %d (%s), top_p %g (%s)\n",
                (double)s->temperature, from[0], s->top_k, from[1], (double)s->top_p, from[2]);
    return true;
}

static int answer(Model *m, const Args *args, const RtTokenizer *t, const int32_t *ids,
                  int64_t count) {
    int64_t tokens = args_int(args, "--tokens", 32);
    if (!args_has(args, "--tokens") && m->context >= 0 && count + tokens > m->context)
        tokens = m->context > count ? m->context - count : tokens;
    Sequence s = sequence_new(m->a, ids, count, tokens, args_seed(args, "--seed"), 0);
    bool good =
        set_draw(m, args, &s) && stream_answer(m, t, &s, (int)args_int(args, "--threads", 0));
    return good ? EXIT_FINE : EXIT_WRONG;
}

static int open_tokenizer(Model *m, RtTokenizer **t) {
    if (!m->checkpoint) {
        report(m->s, (Span){0}, E5007,
               "%s is a program without a tokenizer: use serin serve with ids", m->path);
        return EXIT_WRONG;
    }
    *t = checkpoint_tokenizer(m->checkpoint, m->s);
    return *t ? EXIT_FINE : EXIT_WRONG;
}

static int run_text(Model *m, const Args *args, const char *text) {
    RtTokenizer *t = NULL;
    RtError err;
    int32_t *ids = NULL;
    size_t count = 0;
    int code = open_tokenizer(m, &t);
    if (code == EXIT_FINE &&
        !rt_tokenizer_prompt(t, text, strlen(text), false, &ids, &count, &err)) {
        report(m->s, (Span){0}, E5007, "%s", err.text);
        code = EXIT_WRONG;
    }
    if (code == EXIT_FINE && !count) {
        report(m->s, (Span){0}, E7004, "the prompt is empty: give some text");
        code = EXIT_WRONG;
    }
    if (code == EXIT_FINE) {
        rt_tokenizer_end_encoding(t);
        code = model_lower(m, args, (int64_t)count);
    }
    if (code == EXIT_FINE)
        code = model_match_weights(m);
    if (code == EXIT_FINE)
        code = model_derive(m);
    if (code == EXIT_FINE)
        code = model_slide(m);
    model_forget_proof(m);
    if (code == EXIT_FINE)
        code = answer(m, args, t, ids, (int64_t)count);
    free(ids);
    rt_tokenizer_free(t);
    return code;
}

static int run(Arena *a, const Args *args) {
    if (args->paths.len != 2)
        return usage_error("run takes a SOURCE and a text in quotes");
    if (!args_within(args, "--tokens", 0, 1 << 24) || !args_within(args, "--threads", 0, 256) ||
        !args_within(args, "--top-k", 0, INT32_MAX))
        return EXIT_USAGE;
    if (args_number(args, "--top-p", 1) > 1)
        return usage_error("--top-p is 0 to 1, not %s", args_text(args, "--top-p"));
    Model m;
    int code = model_open(a, args->paths.data[0], args, &m);
    if (code == EXIT_FINE)
        code = run_text(&m, args, args->paths.data[1]);
    finish_text(m.s);
    model_close(&m);
    return code;
}

// ---- tokenize ----------------------------------------------------------------------------------

static bool print_encoded(Session *s, const RtTokenizer *t, const char *text) {
    RtError err;
    int32_t *ids = NULL;
    size_t count = 0;
    if (!rt_tokenizer_encode(t, text, strlen(text), true, &ids, &count, &err)) {
        report(s, (Span){0}, E5007, "%s", err.text);
        return false;
    }
    for (size_t i = 0; i < count; i++)
        printf("%s%d", i ? " " : "", ids[i]);
    putchar('\n');
    free(ids);
    return true;
}

static bool print_decoded(Session *s, const RtTokenizer *t, const int32_t *ids, int64_t count) {
    RtError err;
    char *text = NULL;
    size_t size = 0;
    if (!rt_tokenizer_decode(t, ids, (size_t)count, true, &text, &size, &err)) {
        report(s, (Span){0}, E5007, "%s", err.text);
        return false;
    }
    fwrite(text, 1, size, stdout);
    putchar('\n');
    free(text);
    return true;
}

static int tokenize(Arena *a, const Args *args) {
    const char *decode = args_text(args, "--decode");
    int64_t count = 0;
    int32_t *ids = NULL;
    if (args->paths.len != (decode ? 1 : 2))
        return usage_error("tokenize takes a SOURCE and a text, or a SOURCE and --decode IDS");
    if (decode && !(ids = parse_ids(a, decode, &count)))
        return EXIT_USAGE;
    if (!checkpoint_is(args->paths.data[0]))
        return usage_error("%s is no checkpoint folder and no GGUF file", args->paths.data[0]);
    Session *s = session_new();
    Checkpoint *ck = checkpoint_open(s, args->paths.data[0]);
    RtTokenizer *t = ck ? checkpoint_tokenizer(ck, s) : NULL;
    bool good =
        t && (decode ? print_decoded(s, t, ids, count) : print_encoded(s, t, args->paths.data[1]));
    rt_tokenizer_free(t);
    if (ck)
        checkpoint_close(ck);
    finish_text(s);
    session_free(s);
    return good ? EXIT_FINE : EXIT_WRONG;
}

const Command command_run = {"run",
                             "SOURCE TEXT",
                             "Continues a text with a model, piece by piece.",
                             "serin run examples/verses \"And the\" --tokens 40 --seed 1",
                             COMMAND_FLAGS(run_flags),
                             run};

const Command command_tokenize = {"tokenize",
                                  "SOURCE TEXT",
                                  "Prints the token ids of a text, or the text of ids.",
                                  "serin tokenize examples/verses \"And the\"",
                                  COMMAND_FLAGS(tokenize_flags),
                                  tokenize};
