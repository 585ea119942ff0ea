// Opening checkpoints; see checkpoint.h. Looking up tensors is in checkpoint_tensors.c, tokens and
// printing in checkpoint_print.c.
#include "cli/checkpoint_parts.h"
#include "runtime/file.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *member(Arena *a, const char *folder, const char *name) {
    size_t n = strlen(folder);
    return arena_printf(a, "%s%s%s", folder, n && folder[n - 1] == '/' ? "" : "/", name);
}

static bool is_folder(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool is_file(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

bool checkpoint_is(const char *path) {
    char magic[4] = {0};
    if (is_folder(path)) {
        Arena *a = arena_new();
        bool there = is_file(member(a, path, "config.json"));
        arena_free(a);
        return there;
    }
    FILE *f = is_file(path) ? fopen(path, "rb") : NULL;
    size_t n = f ? fread(magic, 1, sizeof magic, f) : 0;
    if (f)
        fclose(f);
    size_t length = strlen(path);
    bool there = f != NULL, named = length > 5 && strcmp(path + length - 5, ".gguf") == 0;
    return there && (named || (n == sizeof magic && memcmp(magic, "GGUF", sizeof magic) == 0));
}

// ---- Reading -----------------------------------------------------------------------------------

static bool read_config(Checkpoint *ck, const char *name, Config *out) {
    RtFile file;
    RtError err;
    if (!rt_file_map(&file, member(ck->s->arena, ck->path, name), &err)) {
        report(ck->s, (Span){0}, E5001, "%s", err.text);
        return false;
    }
    bool good = config_from_json(ck->s, out, name, (const char *)file.data, file.size);
    rt_file_unmap(&file);
    return good;
}

static bool open_weights(Checkpoint *ck) {
    RtError err;
    ck->weights = rt_weights_open(ck->path, &err);
    if (!ck->weights) {
        report(ck->s, (Span){0}, E5004, "%s", err.text);
        return false;
    }
    bool gguf = rt_weights_gguf(ck->weights) != NULL;
    if (gguf == (ck->form == FORM_GGUF))
        return true;
    report(ck->s, (Span){0}, E5004, "%s holds no safetensors; to run its GGUF file, name the file",
           ck->path);
    return false;
}

// Reads the configuration and chooses the binding.
static bool choose(Checkpoint *ck) {
    static const char *const keys[] = {"architectures", "general.architecture"};
    if (ck->form == FORM_HF && !read_config(ck, "config.json", &ck->config))
        return false;
    if (ck->form == FORM_GGUF) {
        char label[120];
        const char *slash = strrchr(ck->path, '/'), *name = slash ? slash + 1 : ck->path;
        rt_printable(label, sizeof label, name, strlen(name));
        config_from_gguf(ck->s, &ck->config, arena_printf(ck->s->arena, "%s", label),
                         rt_weights_gguf(ck->weights));
    }
    ConfigKey *key = config_find(ck->s, &ck->config, keys[ck->form]);
    const char *architecture = key ? key->text : NULL;
    ck->bind = bind_for(ck->s, ck->config.label, architecture, ck->form);
    if (!ck->bind)
        return false;
    key->fate = arena_printf(ck->s->arena, "chooses %s", ck->bind->program);
    settle(&ck->settle, ck->s, ck->bind, &ck->config, architecture);
    return true;
}

// The wishes of generation_config.json, whose end tokens win over config.json's.
static void read_generation(Checkpoint *ck) {
    const char *name = "generation_config.json";
    if (!is_file(member(ck->s->arena, ck->path, name)) || !read_config(ck, name, &ck->generation))
        return;
    ConfigKey *key = config_find(ck->s, &ck->generation, "eos_token_id");
    if (!key)
        return;
    int32_t single = 0;
    bool one = key->kind == CONFIG_INT && key->integer >= 0 && key->integer <= INT32_MAX;
    int count = one ? 1 : key->ids ? key->id_count : 0;
    if (one)
        single = (int32_t)key->integer;
    if (count == 0 || count > SETTLE_MOST_ENDS) {
        report(ck->s, (Span){0}, E5006, "%s: eos_token_id is %s; it must be an id or a list of ids",
               name, key->shown);
        return;
    }
    memcpy(ck->settle.ends, one ? &single : key->ids, (size_t)count * sizeof(int32_t));
    ck->settle.end_count = count;
}

static void make_settings(Checkpoint *ck) {
    for (int i = 0; i < ck->settle.values.len; i++) {
        const Settled *v = &ck->settle.values.data[i];
        Setting set = {.name = v->name, .value = v->value};
        set.origin = v->key ? arena_printf(ck->s->arena, "%s: %s", ck->config.label, v->key->key)
                            : arena_printf(ck->s->arena, "%s: %s", ck->bind->path, v->name);
        vec_push(ck->s->arena, &ck->settings, set);
    }
}

Checkpoint *checkpoint_open(Session *s, const char *path) {
    int errors = s->errors;
    Checkpoint *ck = NEW(s->arena, Checkpoint);
    ck->s = s;
    ck->path = arena_printf(s->arena, "%s", path);
    ck->form = is_folder(path) ? FORM_HF : FORM_GGUF;
    ck->origin = ck->form == FORM_HF ? member(s->arena, path, "config.json") : ck->path;
    if (ck->form == FORM_GGUF) {
        if (open_weights(ck))
            choose(ck);
    } else if (choose(ck)) {
        read_generation(ck);
        open_weights(ck);
    }
    if (s->errors == errors)
        checkpoint_compare(ck);
    if (s->errors != errors) {
        checkpoint_close(ck);
        return NULL;
    }
    make_settings(ck);
    return ck;
}

void checkpoint_close(Checkpoint *ck) {
    if (!ck)
        return;
    rt_weights_close(ck->weights);
    ck->weights = NULL;
}

// ---- Looking -----------------------------------------------------------------------------------

const char *checkpoint_program(const Checkpoint *ck) {
    return ck->bind->program;
}

const char *checkpoint_block(const Checkpoint *ck) {
    return ck->bind->block;
}

SettingVec *checkpoint_settings(Checkpoint *ck) {
    return &ck->settings;
}

void checkpoint_given(Checkpoint *ck, const SettingVec *all) {
    ck->given = all;
}

int64_t checkpoint_context(const Checkpoint *ck) {
    return ck->settle.context;
}

const RtWeights *checkpoint_weights(const Checkpoint *ck) {
    return ck->weights;
}
