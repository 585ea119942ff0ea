// Generates tokens: reads token ids, prints the ids that follow them.
#include "generate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// ---- Texts -------------------------------------------------------------------------------------

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
    const char *blank = " \t\r\n"; // as serin serve
    for (char *id = strtok_r(copy, blank, &rest); id && !code; id = strtok_r(NULL, blank, &rest)) {
        int64_t value;
        if (!parse_int(id, 0, INT32_MAX, &value)) {
            fprintf(stderr, "error: token ids are integers from 0 to %d, not %.80s\n", INT32_MAX,
                    id);
            code = 2;
        } else if (value >= MODEL_VOCAB) {
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
        fprintf(stderr, "error E7001: the prompt has %lld token%s, the window %d\n",
                (long long)text->prompt, text->prompt == 1 ? "" : "s", MODEL_WINDOW);
        return 1;
    }
    if (MODEL_WINDOW == 0 && text->prompt + tokens > MODEL_CONTEXT) {
        fprintf(stderr,
                "error E7002: the prompt has %lld token%s, %lld more %s asked for, the context "
                "holds %d\n",
                (long long)text->prompt, text->prompt == 1 ? "" : "s", (long long)tokens,
                tokens == 1 ? "is" : "are", MODEL_CONTEXT);
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
    printf(", \"greedy\": %s, \"vocab\": %d}\n", o->temperature == 0 ? "true" : "false",
           MODEL_VOCAB);
}

// Writes logits (count, MODEL_VOCAB) to the file that was asked for. False after a message.
static bool write_logits(const Options *o, const float *logits, size_t count) {
    FILE *file = fopen(o->logits, "wb");
    size_t n = count * MODEL_VOCAB;
    bool good = file && fwrite(logits, sizeof *logits, n, file) == n;
    good = (!file || fclose(file) == 0) && good;
    if (!good)
        fprintf(stderr, "error E8001: %s can't be written: %s\n", o->logits, strerror(errno));
    return good;
}

// Generates after all texts, seconds in *took. False after a message.
static bool generate_and_keep(const Options *o, const ModelFile *file, Text *texts, double *took) {
    struct timespec start, end;
    size_t n = (size_t)o->prompt_count;
    float *last = o->logits ? calloc(n * MODEL_VOCAB, sizeof *last) : NULL;
    if (o->logits && !last) {
        fprintf(stderr, "error: there is no memory for logits\n");
        return false;
    }
    clock_gettime(CLOCK_MONOTONIC, &start);
    bool good = generate_texts(o, file, texts, o->prompt_count, last);
    clock_gettime(CLOCK_MONOTONIC, &end);
    good = good && (!last || write_logits(o, last, n));
    free(last);
    *took = (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
    return good;
}

// Generates after all texts and prints. 0, or the exit code.
static int generate_all(const Options *o, const ModelFile *file, Text *texts) {
    int n = o->prompt_count;
    double s;
    if (!generate_and_keep(o, file, texts, &s))
        return 1;
    int64_t prompt = 0;
    for (int i = 0; i < n; i++) {
        print_text(o, &texts[i]);
        prompt += texts[i].prompt;
    }
    fprintf(stderr, "%lld token%s after %lld in %.2f s (%.1f a second)\n",
            (long long)(n * o->tokens), n * o->tokens == 1 ? "" : "s", (long long)prompt, s,
            s > 0 ? (double)(n * o->tokens) / s : 0.0);
    return 0;
}

// Reads and checks the prompts, and goes on. 0, or the exit code.
static int generate(const Options *o, const ModelFile *file) {
    Text *texts = calloc((size_t)o->prompt_count, sizeof *texts);
    int code = texts ? 0 : 1;
    for (int i = 0; i < o->prompt_count && !code; i++) {
        code = read_prompt(o->prompts[i], o->tokens, &texts[i]);
        if (!code)
            code = check_length(&texts[i], o->tokens);
        if (code && o->prompt_count > 1)
            fprintf(stderr, "  in --prompt number %d\n", i + 1);
    }
    if (!code)
        code = generate_all(o, file, texts);
    for (int i = 0; texts && i < o->prompt_count; i++)
        free(texts[i].ids);
    free(texts);
    return code;
}

// A file in the folder that the first `folder` bytes of path name; NULL: no memory.
static char *file_in(const char *path, size_t folder, const char *name) {
    size_t size = strlen(name) + 1;
    char *file = malloc(folder + 1 + size);
    if (!file)
        return NULL;
    memcpy(file, path, folder);
    if (folder && path[folder - 1] != '/')
        file[folder++] = '/';
    memcpy(file + folder, name, size);
    return file;
}

// This program's own path where the shell found it by PATH; NULL: not found.
static char *find_program(const char *name) {
    const char *path = getenv("PATH");
    while (path && *path) {
        size_t folder = strcspn(path, ":");
        char *file = file_in(path, folder, name);
        if (file && access(file, X_OK) == 0)
            return file;
        free(file);
        path += folder + (path[folder] == ':');
    }
    return NULL;
}

// weights.bin in the folder of this program.
static char *default_weights(const char *program) {
    char self[4096];
    ssize_t size = readlink("/proc/self/exe", self, sizeof self);
    if (size > 0 && (size_t)size < sizeof self) {
        self[size] = 0;
        program = self;
    }
    char *found = strchr(program, '/') ? NULL : find_program(program);
    program = found ? found : program;
    const char *slash = strrchr(program, '/');
    char *weights = file_in(program, slash ? (size_t)(slash - program) + 1 : 0, "weights.bin");
    free(found);
    return weights;
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
    int code = 1;
    if (model_verify(file, weights, error, sizeof error))
        code = generate(o, file);
    else
        fprintf(stderr, "error: %s\n", error);
    model_close(file);
    if ((fflush(stdout) != 0 || ferror(stdout)) && !code) {
        fprintf(stderr, "error: the output could not be written\n");
        code = 1;
    }
    return code;
}

int main(int argc, char **argv) {
    Options o = {.tokens = 16, .temperature = MODEL_TEMPERATURE, .chunk = MODEL_CHUNK};
    o.prompts = malloc(((size_t)argc + 1) * sizeof *o.prompts);
    if (!o.prompts)
        return 1;
    int code = parse_options(&o, argc, argv);
    if (!MODEL_DRAWS) // the likeliest token, as the entry says
        o.temperature = 0;
    if (code < 0) {
        char *beside = o.weights ? NULL : default_weights(argv[0]);
        const char *weights = o.weights ? o.weights : beside;
        code = weights ? run(&o, weights) : 1;
        free(beside);
    }
    free(o.prompts);
    return code;
}
