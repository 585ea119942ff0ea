// What a checkpoint says of its text: end tokens, tokenizer, wishes; and printing it.
#include "cli/checkpoint_parts.h"
#include <string.h>
#include <unistd.h>

int checkpoint_ends(const Checkpoint *ck, int32_t *ids, int most) {
    int n = ck->settle.end_count < most ? ck->settle.end_count : most;
    memcpy(ids, ck->settle.ends, (size_t)n * sizeof *ids);
    return n;
}

int32_t checkpoint_begin(const Checkpoint *ck) {
    return ck->settle.begin;
}

bool checkpoint_wish(const Checkpoint *ck, const char *key, double *out) {
    const ConfigKey *row = config_find(ck->s, &ck->generation, key);
    if (!row || (row->kind != CONFIG_INT && row->kind != CONFIG_REAL))
        return false;
    *out = row->real;
    return true;
}

const char *checkpoint_tokenizer_path(const Checkpoint *ck) {
    if (ck->form == FORM_GGUF)
        return NULL;
    const char *path = arena_printf(ck->s->arena, "%s/tokenizer.json", ck->path);
    return access(path, R_OK) == 0 ? path : NULL;
}

RtTokenizer *checkpoint_tokenizer(Checkpoint *ck, Session *s) {
    RtError err;
    const char *path = checkpoint_tokenizer_path(ck);
    if (ck->form == FORM_HF && !path) {
        report(s, (Span){0}, E5007, "%s has no tokenizer.json that can be read", ck->path);
        return NULL;
    }
    RtTokenizer *t = path ? rt_tokenizer_read(path, &err)
                          : rt_tokenizer_from_gguf(rt_weights_gguf(ck->weights), &err);
    if (!t) {
        report(s, (Span){0}, E5007, "%s", err.text);
        return NULL;
    }
    for (int i = 0; i < ck->settle.end_count; i++) {
        int32_t id = ck->settle.ends[i];
        if (rt_tokenizer_is_end(t, id) || rt_tokenizer_add_end(t, id))
            continue;
        report(s, (Span){0}, E5007, "the end token %d is none of the tokenizer's %zu tokens",
               (int)id, rt_tokenizer_vocab(t));
        rt_tokenizer_free(t);
        return NULL;
    }
    return t;
}

// Does the command line set it?
static bool is_given(const Checkpoint *ck, const char *name) {
    for (int i = 0; ck->given && i < ck->given->len; i++) {
        if (ck->given->data[i].flag && strcmp(ck->given->data[i].name, name) == 0)
            return true;
    }
    return false;
}

static void print_given(const Checkpoint *ck, FILE *out) {
    for (int i = 0; ck->given && i < ck->given->len; i++) {
        const Setting *set = &ck->given->data[i];
        const Settled *own = settle_find(&ck->settle, set->name);
        if (!set->flag)
            continue;
        fprintf(out, "  %s sets %s = %s", set->origin, set->name, set->value);
        if (own)
            fprintf(out, ", which is %s otherwise", own->value);
        fputc('\n', out);
    }
}

void checkpoint_print(const Checkpoint *ck, FILE *out) {
    fprintf(out, "%s\n", ck->origin);
    for (int i = 0; i < ck->config.keys.len; i++) {
        const ConfigKey *key = &ck->config.keys.data[i];
        fprintf(out, "  %s: %s  -- %s\n", key->key, key->shown, key->fate ? key->fate : "?");
    }
    for (int i = 0; i < ck->settle.values.len; i++) {
        const Settled *v = &ck->settle.values.data[i];
        if (!v->key && !is_given(ck, v->name))
            fprintf(out, "  no key sets %s; it is %s%s%s\n", v->name, v->value,
                    strcmp(v->how, "default") ? " = " : "",
                    strcmp(v->how, "default") ? v->how : "");
    }
    print_given(ck, out);
    if (ck->tied)
        fprintf(out, "  the head is the table of embeddings\n");
    for (size_t i = 0; i < rt_weights_count(ck->weights); i++) {
        const char *name = rt_weights_at(ck->weights, i)->name;
        if (checkpoint_waived(ck, name))
            fprintf(out, "  tensor %s  -- waived\n", name);
    }
}
