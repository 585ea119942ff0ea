// Tensors of a checkpoint: names, ties, rows in another order, and what the config says of them.
#include "cli/checkpoint_parts.h"
#include <string.h>

// ---- Names -------------------------------------------------------------------------------------

const char *checkpoint_name(const Checkpoint *ck, const char *path) {
    char number[12];
    const TomlEntry *e = bind_match(bind_tensors(ck->bind, NULL), path, number);
    return e && e->value.kind == TOML_STRING ? bind_fill(ck->s->arena, e->value.text, number)
                                             : NULL;
}

static const RtTensor *find(const Checkpoint *ck, const char *path) {
    const char *name = checkpoint_name(ck, path);
    return name ? rt_weights_find(ck->weights, name) : NULL;
}

static bool is_tied_head(const Checkpoint *ck, const char *path) {
    const char *head = toml_text(bind_table(ck->bind, "tie"), "head");
    return ck->tied && head && strcmp(head, path) == 0;
}

bool checkpoint_present(void *ck, const char *path) {
    return !is_tied_head(ck, path) && find(ck, path);
}

const RtTensor *checkpoint_tensor(Checkpoint *ck, const char *path) {
    const RtTensor *t = is_tied_head(ck, path) ? NULL : find(ck, path);
    if (t)
        map_put(ck->s->arena, &ck->used, t, (void *)t);
    return t;
}

bool checkpoint_waived(const Checkpoint *ck, const char *name) {
    return bind_waives(bind_tensors(ck->bind, "waived"), "tensors", name);
}

void checkpoint_unused(Checkpoint *ck, void (*fn)(void *ctx, const char *name), void *ctx) {
    for (size_t i = 0; i < rt_weights_count(ck->weights); i++) {
        const RtTensor *t = rt_weights_at(ck->weights, i);
        if (!map_has(&ck->used, t) && !checkpoint_waived(ck, t->name))
            fn(ctx, t->name);
    }
}

// ---- Rows --------------------------------------------------------------------------------------

// Within a head of D rows, row i < D/2 is stored as 2i and row i + D/2 as 2i + 1.
static const int32_t *interleaved(Checkpoint *ck, int64_t rows, int64_t heads) {
    int64_t width = rows / heads, half = width / 2;
    for (int i = 0; i < ck->maps.len; i++) {
        if (ck->maps.data[i].rows == rows && ck->maps.data[i].heads == heads)
            return ck->maps.data[i].map;
    }
    int32_t *map = NEW_N(ck->s->arena, int32_t, rows);
    for (int64_t r = 0; r < rows; r++) {
        int64_t at = r % width;
        map[r] = (int32_t)(r - at + 2 * (at % half) + at / half);
    }
    RowMap made = {rows, heads, map};
    vec_push(ck->s->arena, &ck->maps, made);
    return map;
}

const int32_t *checkpoint_rows(Checkpoint *ck, const char *path, int64_t rows) {
    char number[12];
    const TomlTable *table = bind_tensors(ck->bind, "rows");
    const TomlEntry *e = bind_match(table, path, number);
    const Settled *heads = e && e->value.text ? settle_find(&ck->settle, e->value.text) : NULL;
    const RtTensor *t = heads ? find(ck, path) : NULL;
    if (!t || t->rank == 0 || t->dims[0] != rows || rows < 1 || rows > INT32_MAX)
        return NULL;
    int64_t n = heads->integer;
    return n >= 1 && rows % n == 0 && rows / n % 2 == 0 ? interleaved(ck, rows, n) : NULL;
}

// ---- The tie -----------------------------------------------------------------------------------

static bool same_bytes(const RtTensor *a, const RtTensor *b) {
    bool same = a->format == b->format && a->rank == b->rank && a->bytes == b->bytes;
    for (int i = 0; same && i < a->rank; i++)
        same = a->dims[i] == b->dims[i];
    return same && memcmp(a->data, b->data, a->bytes) == 0;
}

static void compare_tie(Checkpoint *ck) {
    const TomlTable *tie = bind_table(ck->bind, "tie");
    const char *head = toml_text(tie, "head"), *table = toml_text(tie, "table");
    if (!head || !table)
        return;
    const RtTensor *own = find(ck, head), *shared = find(ck, table);
    if (ck->form == FORM_GGUF) {
        ck->tied = !own; // such files say it by leaving the head out
        return;
    }
    ck->tied = ck->settle.tied;
    const char *config = toml_text(tie, "config");
    if (!ck->tied && !own) {
        report(ck->s, (Span){0}, E5003, "the weights have no %s, and %s does not tie it to %s",
               checkpoint_name(ck, head), ck->config.label, checkpoint_name(ck, table));
    } else if (ck->tied && own && shared && !same_bytes(own, shared)) {
        report(ck->s, (Span){0}, E5003, "%s is true in %s, but %s is not byte for byte %s", config,
               ck->config.label, own->name, shared->name);
    } else if (ck->tied && own && shared) {
        map_put(ck->s->arena, &ck->used, own, (void *)own);
    }
}

// ---- Numbers and shapes ------------------------------------------------------------------------

// The number of layers can't exceed the number of tensors. False after E5006.
static bool compare_layers(Checkpoint *ck, int64_t *layers) {
    const char *name = toml_text(bind_table(ck->bind, "program"), "repeat");
    const Settled *value = name ? settle_find(&ck->settle, name) : NULL;
    *layers = value ? value->integer : 0;
    size_t count = rt_weights_count(ck->weights);
    if (!value || (uint64_t)value->integer <= count)
        return true;
    report(ck->s, (Span){0}, E5006, "%s: %s is %s, but the weights have %zu tensors in all",
           ck->config.label, settle_key(&ck->settle, name), value->value, count);
    return false;
}

// A flag of the config that says whether parameters are there: in every layer or in none.
static void compare_presence(Checkpoint *ck, const TomlEntry *e, int64_t layers) {
    ConfigKey *key = config_find(ck->s, &ck->config, e->key);
    if (!key)
        return;
    for (int k = 0; k < e->value.count; k++) {
        for (int64_t i = 0; e->value.items[k].text && i < layers; i++) {
            const char *number = arena_printf(ck->s->arena, "%lld", (long long)i);
            const char *path = bind_fill(ck->s->arena, e->value.items[k].text, number);
            if ((find(ck, path) != NULL) == (key->integer != 0))
                continue;
            report(ck->s, (Span){0}, E5003, "%s: %s is %s, but the weights %s %s", ck->config.label,
                   key->key, key->shown, key->integer ? "lack" : "have", checkpoint_name(ck, path));
            return;
        }
    }
}

// The tensor's shape must be what the config's numbers make.
static void compare_shape(Checkpoint *ck, const TomlEntry *e) {
    const RtTensor *t = find(ck, e->key);
    char shape[160];
    if (!t)
        return; // whether it must be there is the program's to say
    for (int i = 0; i < e->value.count; i++) {
        const char *why = NULL, *text = e->value.items[i].text;
        int64_t n = 0;
        bool known = text && settle_dim(&ck->settle, text, &n, &why);
        if (!why || (known && i < t->rank && t->dims[i] == n))
            continue;
        report(ck->s, (Span){0}, E5006,
               "%s does not fit the weights: %s, but axis %d of %s has the shape %s",
               ck->config.label, why, i, t->name, rt_tensor_shape(t, shape, sizeof shape));
        return;
    }
}

void checkpoint_compare(Checkpoint *ck) {
    const TomlTable *presence = bind_keys(ck->bind, "presence");
    const TomlTable *shapes = bind_table(ck->bind, "shapes");
    int64_t layers;
    compare_tie(ck);
    if (!compare_layers(ck, &layers))
        return;
    for (int i = 0; presence && i < presence->entries.len; i++)
        compare_presence(ck, &presence->entries.data[i], layers);
    for (int i = 0; shapes && i < shapes->entries.len; i++)
        compare_shape(ck, &shapes->entries.data[i]);
}
