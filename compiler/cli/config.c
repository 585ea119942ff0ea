// Reading configurations into a flat list; see config.h. All text is copied, so that what was read
// can be freed at once.
#include "cli/config.h"
#include "runtime/json.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_IDS = 64,         // of a list of tokens
    KEY_ROOM = 400,        // bytes of a key
    SHOWN_ROOM = 96,       // bytes of a printed value
    JSON_BYTES = 4 << 20,  // of config.json
    JSON_VALUES = 1 << 16, // in it
};

static const char *printable(Arena *a, const char *text, size_t size, size_t room) {
    char buffer[KEY_ROOM];
    return arena_printf(a, "%s", rt_printable(buffer, room, text, size));
}

static ConfigKey *add_key(Session *s, Config *config, const char *key) {
    ConfigKey row = {.key = session_name(s, key)};
    vec_push(s->arena, &config->keys, row);
    if (!map_has(&config->places, row.key))
        map_put(s->arena, &config->places, row.key, (void *)(uintptr_t)config->keys.len);
    return &vec_last(&config->keys);
}

ConfigKey *config_find_any(Session *s, const Config *config, const char *key) {
    uintptr_t place = (uintptr_t)map_get(&config->places, session_name(s, key));
    return place ? &config->keys.data[place - 1] : NULL;
}

ConfigKey *config_find(Session *s, const Config *config, const char *key) {
    ConfigKey *row = config_find_any(s, config, key);
    return row && row->kind != CONFIG_NULL ? row : NULL;
}

const char *config_number(Arena *a, double value, bool narrow) {
    char text[40];
    if (value > -1e15 && value < 1e15 && value == (double)(int64_t)value)
        return arena_printf(a, "%.1f", value);
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (narrow ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value)
            break;
    }
    return arena_printf(a, "%s%s", text, strpbrk(text, ".en") ? "" : ".0");
}

// ---- JSON --------------------------------------------------------------------------------------

// A member's name within its parent's. One with a dot or odd characters is quoted, so that it can't
// be taken for a nested key.
static const char *member_key(Arena *a, const char *parent, const RtJsonValue *v) {
    bool odd = v->key_length == 0 || strlen(v->key) != v->key_length;
    for (const char *c = v->key; *c; c++)
        odd |= *c == '.' || *c == '"' || (unsigned char)*c <= ' ' || *c == 0x7F;
    const char *name = printable(a, v->key, v->key_length, 200);
    const char *key = arena_printf(a, "%s%s%s%s%s", parent, *parent ? "." : "", odd ? "\"" : "",
                                   name, odd ? "\"" : "");
    return printable(a, key, strlen(key), KEY_ROOM);
}

static void show_scalar(Arena *a, StrBuf *out, const RtJsonValue *v) {
    static const char *const words[] = {"null", "false", "", "", "[...]", "{...}"};
    if (v->kind == RT_JSON_STRING)
        strbuf_printf(out, "\"%s\"", printable(a, v->text, v->length, 80));
    else if (v->kind == RT_JSON_NUMBER)
        strbuf_printf(out, "%s", printable(a, v->text, v->length, 40));
    else
        strbuf_printf(out, "%s", v->kind == RT_JSON_BOOL && v->length ? "true" : words[v->kind]);
}

static const char *show(Arena *a, const RtJsonValue *v) {
    StrBuf out = strbuf_new(a);
    if (v->kind != RT_JSON_ARRAY) {
        show_scalar(a, &out, v);
        return out.data;
    }
    int n = 0;
    strbuf_char(&out, '[');
    for (const RtJsonValue *i = rt_json_first(v); i && n < 4; i = rt_json_next(i), n++) {
        strbuf_printf(&out, "%s", n ? ", " : "");
        show_scalar(a, &out, i);
    }
    strbuf_printf(&out, "%s]", v->length > 4 ? ", ..." : "");
    return out.data;
}

static void take_list(Session *s, ConfigKey *row, const RtJsonValue *v) {
    int32_t ids[MOST_IDS];
    int n = 0;
    int64_t id;
    const RtJsonValue *item = rt_json_first(v);
    row->kind = CONFIG_LIST;
    row->count = v->length;
    const char *text = rt_json_text(item);
    row->text = text ? arena_printf(s->arena, "%s", text) : NULL;
    for (; item && n < MOST_IDS && rt_json_i64(item, &id) && id >= 0 && id <= INT32_MAX; n++) {
        ids[n] = (int32_t)id;
        item = rt_json_next(item);
    }
    if (item || n == 0)
        return;
    row->ids = arena_copy(s->arena, ids, (size_t)n * sizeof *ids);
    row->id_count = n;
}

static void take_scalar(Session *s, ConfigKey *row, const RtJsonValue *v) {
    bool flag;
    if (rt_json_i64(v, &row->integer)) {
        row->kind = CONFIG_INT;
        row->real = (double)row->integer;
    } else if (v->kind == RT_JSON_NUMBER) {
        row->kind = CONFIG_REAL;
        if (!rt_json_number(v, &row->real))
            row->real = HUGE_VAL; // too large: no rule takes it
    } else if (rt_json_bool(v, &flag)) {
        row->kind = CONFIG_BOOL;
        row->integer = flag;
    } else if (v->kind == RT_JSON_STRING) {
        row->kind = CONFIG_TEXT;
        const char *text = rt_json_text(v); // none if it holds a NUL
        row->text = text ? arena_printf(s->arena, "%s", text) : row->shown;
    }
}

static void take_members(Session *s, Config *config, const char *parent,
                         const RtJsonValue *object) {
    for (const RtJsonValue *v = rt_json_first(object); v; v = rt_json_next(v)) {
        const char *key = member_key(s->arena, parent, v);
        if (v->kind == RT_JSON_OBJECT) {
            take_members(s, config, key, v);
            continue;
        }
        ConfigKey *row = add_key(s, config, key);
        row->shown = show(s->arena, v);
        if (v->kind == RT_JSON_ARRAY)
            take_list(s, row, v);
        else
            take_scalar(s, row, v);
    }
}

bool config_from_json(Session *s, Config *out, const char *label, const char *text, size_t size) {
    const RtJsonLimits limits = {JSON_BYTES, 16, JSON_VALUES};
    RtError err;
    *out = (Config){.label = label};
    RtJson *json = rt_json_parse(text, size, label, &limits, &err);
    if (!json) {
        report(s, (Span){0}, E5001, "%s", err.text);
        return false;
    }
    const RtJsonValue *root = rt_json_root(json);
    bool good = rt_json_is(root, RT_JSON_OBJECT);
    if (good)
        take_members(s, out, "", root);
    else
        report(s, (Span){0}, E5001, "%s holds no object", label);
    rt_json_free(json);
    return good;
}

// ---- GGUF --------------------------------------------------------------------------------------

static void take_array(Session *s, ConfigKey *row, const RtGgufValue *v) {
    int32_t ids[MOST_IDS];
    int64_t id;
    int n = 0;
    row->kind = CONFIG_LIST;
    row->count = v->count;
    while (n < MOST_IDS && rt_gguf_element_i64(v, (uint64_t)n, &id) && id >= 0 && id <= INT32_MAX)
        ids[n++] = (int32_t)id;
    if (n == 0 || (uint64_t)n != v->count)
        return;
    row->ids = arena_copy(s->arena, ids, (size_t)n * sizeof *ids);
    row->id_count = n;
}

static void take_value(Session *s, ConfigKey *row, const RtGguf *gguf, const RtGgufValue *v) {
    bool flag;
    if (v->type == RT_GGUF_ARRAY) {
        take_array(s, row, v);
    } else if (v->type == RT_GGUF_TEXT) {
        size_t bytes = 0;
        const char *text = rt_gguf_text(gguf, v->key, &bytes);
        row->kind = CONFIG_TEXT;
        row->text = text && bytes < 4096 ? arena_copy(s->arena, text, bytes) : row->shown;
    } else if (v->type == RT_GGUF_BOOL) {
        row->kind = CONFIG_BOOL;
        row->integer = rt_gguf_bool(gguf, v->key, &flag) && flag;
    } else if (v->type != RT_GGUF_F32 && v->type != RT_GGUF_F64 &&
               rt_gguf_element_i64(v, 0, &row->integer)) {
        row->kind = CONFIG_INT;
        row->real = (double)row->integer;
    } else {
        row->kind = CONFIG_REAL;
        row->narrow = v->type == RT_GGUF_F32;
        rt_gguf_element_f64(v, 0, &row->real);
    }
}

void config_from_gguf(Session *s, Config *out, const char *label, const RtGguf *gguf) {
    char buffer[SHOWN_ROOM];
    *out = (Config){.label = label};
    for (size_t i = 0; i < rt_gguf_count(gguf); i++) {
        const RtGgufValue *v = rt_gguf_at(gguf, i);
        ConfigKey *row = add_key(s, out, printable(s->arena, v->key, strlen(v->key), KEY_ROOM));
        row->shown = arena_printf(s->arena, "%s", rt_gguf_print(v, buffer, sizeof buffer));
        take_value(s, row, gguf, v);
    }
}
