// Applying a binding to configuration keys; see settle.h. The rules that compare settings with each
// other are in settle_rules.c.
#include "cli/settle_rules.h"
#include <math.h>
#include <string.h>

static const char REFUSED[] = "refused";

// ---- Values ------------------------------------------------------------------------------------

static Settled *find(const Settle *x, const char *name) {
    for (int i = 0; i < x->values.len; i++) {
        if (strcmp(x->values.data[i].name, name) == 0)
            return &x->values.data[i];
    }
    return NULL;
}

const Settled *settle_find(const Settle *x, const char *name) {
    return find(x, name);
}

// A value of the wrong sort: one E5006.
static void refuse_value(Settle *x, ConfigKey *key, const char *must) {
    report(x->s, (Span){0}, E5006, "%s: %s is %s; it must be %s", x->config->label, key->key,
           key->shown, must);
    key->fate = REFUSED;
}

static bool is_whole(Settle *x, ConfigKey *key, int64_t low) {
    if (key->kind == CONFIG_INT && key->integer >= low && key->integer <= INT32_MAX)
        return true;
    refuse_value(x, key,
                 low ? "an integer from 1 to 2147483647" : "an integer from 0 to 2147483647");
    return false;
}

static bool is_positive(Settle *x, ConfigKey *key) {
    bool number = key->kind == CONFIG_INT || key->kind == CONFIG_REAL;
    if (number && key->real > 0 && (float)key->real > 0 && isfinite((float)key->real))
        return true;
    refuse_value(x, key, "a finite number above 0 that f32 holds");
    return false;
}

// Sets a name; a second key must agree with the first.
static void set_value(Settle *x, ConfigKey *key, Settled value) {
    Settled *old = find(x, value.name);
    key->fate = arena_printf(x->s->arena, "sets %s = %s", value.name, value.value);
    value.key = key;
    if (!old) {
        vec_push(x->s->arena, &x->values, value);
        return;
    }
    if (old->bad || (old->real >= value.real && old->real <= value.real))
        return;
    report(x->s, (Span){0}, E5006, "%s contradicts itself: %s is %s, but %s is %s",
           x->config->label, old->key->key, old->key->shown, key->key, key->shown);
    old->bad = true;
}

// Makes a name known as bad, so that nothing is said of what follows from it.
static void set_bad(Settle *x, const char *name) {
    Settled *old = find(x, name);
    if (old) {
        old->bad = true;
        return;
    }
    Settled value = {.name = session_name(x->s, name), .value = "", .bad = true};
    vec_push(x->s->arena, &x->values, value);
}

static Settled whole_value(Settle *x, const char *name, int64_t n) {
    return (Settled){.name = session_name(x->s, name),
                     .value = arena_printf(x->s->arena, "%lld", (long long)n),
                     .integer = n,
                     .real = (double)n,
                     .whole = true};
}

// ---- Keys that set -----------------------------------------------------------------------------

static void apply_generics(Settle *x, const char *table, bool lengths) {
    const TomlTable *t = bind_keys(x->bind, table);
    for (int i = 0; t && i < t->entries.len; i++) {
        const TomlEntry *e = &t->entries.data[i];
        ConfigKey *key = config_find(x->s, x->config, e->key);
        if (!key || key->fate || e->value.kind != TOML_STRING)
            continue;
        bool good = true;
        if (lengths && (key->kind != CONFIG_LIST || key->count > INT32_MAX)) {
            refuse_value(x, key, "a list");
            good = false;
        } else if (!lengths) {
            good = is_whole(x, key, 1);
        }
        if (good)
            set_value(x, key,
                      whole_value(x, e->value.text, lengths ? (int64_t)key->count : key->integer));
        else
            set_bad(x, e->value.text);
    }
}

static const char *known_words(Settle *x, const TomlTable *words) {
    StrBuf b = strbuf_new(x->s->arena);
    for (int i = 0; i < words->entries.len; i++)
        strbuf_printf(&b, "%s%s", i ? ", " : "one of ", words->entries.data[i].key);
    return b.data ? b.data : "nothing";
}

// A word that [values.NAME] knows.
static bool set_word(Settle *x, ConfigKey *key, const char *name, const TomlTable *words) {
    const TomlEntry *e = key->kind == CONFIG_TEXT ? toml_find(words, key->text) : NULL;
    if (!e || e->value.kind != TOML_INT) {
        refuse_value(x, key, known_words(x, words));
        return false;
    }
    Settled value = whole_value(x, name, e->value.integer);
    value.word = e->key;
    set_value(x, key, value);
    return true;
}

static bool set_constant(Settle *x, ConfigKey *key, const char *name) {
    const TomlTable *words = bind_table(x->bind, arena_printf(x->s->arena, "values.%s", name));
    if (words)
        return set_word(x, key, name, words);
    const TomlEntry *usual = toml_find(bind_keys(x->bind, "default"), name);
    if (usual && usual->value.kind == TOML_INT) {
        if (!is_whole(x, key, 1))
            return false;
        set_value(x, key, whole_value(x, name, key->integer));
        return true;
    }
    if (!is_positive(x, key))
        return false;
    const char *text = config_number(x->s->arena, key->real, key->narrow);
    set_value(x, key,
              (Settled){.name = session_name(x->s, name), .value = text, .real = key->real});
    return true;
}

static void apply_constants(Settle *x) {
    const TomlTable *t = bind_keys(x->bind, "constants");
    for (int i = 0; t && i < t->entries.len; i++) {
        const TomlEntry *e = &t->entries.data[i];
        ConfigKey *key = config_find(x->s, x->config, e->key);
        if (key && !key->fate && e->value.kind == TOML_STRING &&
            !set_constant(x, key, e->value.text))
            set_bad(x, e->value.text);
    }
}

// ---- Keys that must have a value ---------------------------------------------------------------

static bool equals(const ConfigKey *key, const TomlValue *want) {
    switch (want->kind) {
    case TOML_STRING:
        return key->kind == CONFIG_TEXT && strcmp(key->text, want->text) == 0;
    case TOML_BOOL:
        return key->kind == CONFIG_BOOL && key->integer == want->integer;
    case TOML_INT:
        return key->kind == CONFIG_INT && key->integer == want->integer;
    case TOML_FLOAT:
        return (key->kind == CONFIG_INT || key->kind == CONFIG_REAL) && key->real >= want->real &&
               key->real <= want->real;
    case TOML_ARRAY:
        break;
    }
    return false;
}

static void add_value(StrBuf *b, const TomlValue *v) {
    const char *quote = v->kind == TOML_STRING ? "\"" : "";
    strbuf_printf(b, "%s%s%s%s", b->len ? " or " : "", quote, v->text ? v->text : "", quote);
}

static void apply_require(Settle *x) {
    const TomlTable *t = bind_keys(x->bind, "require");
    for (int i = 0; t && i < t->entries.len; i++) {
        const TomlEntry *e = &t->entries.data[i];
        ConfigKey *key = config_find(x->s, x->config, e->key);
        if (!key || key->fate)
            continue;
        bool list = e->value.kind == TOML_ARRAY, good = false;
        const TomlValue *wants = list ? e->value.items : &e->value;
        StrBuf b = strbuf_new(x->s->arena);
        for (int k = 0; k < (list ? e->value.count : 1); k++) {
            good = good || equals(key, &wants[k]);
            add_value(&b, &wants[k]);
        }
        key->fate = good ? "as the program has it" : REFUSED;
        if (!good)
            report(x->s, (Span){0}, E5002, "%s: %s is %s; the program serves %s", x->config->label,
                   key->key, key->shown, b.data ? b.data : "nothing");
    }
}

// Keys that only some architectures of the family read.
static void apply_only(Settle *x) {
    const TomlTable *t = bind_keys(x->bind, "only");
    for (int i = 0; t && i < t->entries.len; i++) {
        ConfigKey *key = config_find(x->s, x->config, t->entries.data[i].key);
        if (!key || key->fate || bind_lists(&t->entries.data[i], x->architecture))
            continue;
        report(x->s, (Span){0}, E5002, "%s: %s is %s, which means nothing to %s", x->config->label,
               key->key, key->shown, x->architecture);
        key->fate = REFUSED;
    }
}

// Flags that are compared with the weights later.
static void apply_presence(Settle *x) {
    const TomlTable *t = bind_keys(x->bind, "presence");
    for (int i = 0; t && i < t->entries.len; i++) {
        ConfigKey *key = config_find(x->s, x->config, t->entries.data[i].key);
        if (key && key->kind == CONFIG_BOOL)
            key->fate = "as the weights have it";
        else if (key)
            refuse_value(x, key, "true or false");
    }
}

// ---- Context, tokens, tie ----------------------------------------------------------------------

static void apply_context(Settle *x) {
    const TomlTable *t = bind_keys(x->bind, "context");
    const char *name = toml_text(t, "key");
    const TomlEntry *usual = toml_find(t, "default");
    ConfigKey *key = name ? config_find(x->s, x->config, name) : NULL;
    if (key && is_whole(x, key, 1)) {
        x->context = key->integer;
        key->fate = "bounds the context";
    } else if (!key && usual && usual->value.kind == TOML_INT) {
        x->context = usual->value.integer;
    }
}

static void add_end(Settle *x, int32_t id) {
    for (int i = 0; i < x->end_count; i++) {
        if (x->ends[i] == id)
            return;
    }
    if (x->end_count < SETTLE_MOST_ENDS)
        x->ends[x->end_count++] = id;
}

static void apply_token(Settle *x, const char *name, bool end) {
    ConfigKey *key = config_find(x->s, x->config, name);
    if (!key || key->fate)
        return;
    bool list = end && key->kind == CONFIG_LIST && key->ids && key->id_count <= SETTLE_MOST_ENDS;
    if (!list && !is_whole(x, key, 0))
        return;
    for (int i = 0; list && i < key->id_count; i++)
        add_end(x, key->ids[i]);
    if (!list && end)
        add_end(x, (int32_t)key->integer);
    if (!end && x->begin < 0)
        x->begin = (int32_t)key->integer;
    key->fate = end ? "ends an answer" : "begins a text";
}

static void apply_tokens(Settle *x) {
    static const char *const names[] = {"begin", "end"};
    for (int k = 0; k < 2; k++) {
        const TomlEntry *e = toml_find(bind_keys(x->bind, "tokens"), names[k]);
        for (int i = 0; e && i < e->value.count; i++) {
            if (e->value.items[i].kind == TOML_STRING)
                apply_token(x, e->value.items[i].text, k == 1);
        }
    }
}

static void apply_tie(Settle *x) {
    const char *name = toml_text(bind_table(x->bind, "tie"), "config");
    ConfigKey *key = name && x->bind->form == FORM_HF ? config_find(x->s, x->config, name) : NULL;
    if (!key)
        return;
    if (key->kind != CONFIG_BOOL) {
        refuse_value(x, key, "true or false");
        return;
    }
    x->tied = key->integer;
    key->fate = x->tied ? "ties the head to the table" : "the head is its own";
}

// ---- Defaults and the rest ---------------------------------------------------------------------

static void apply_default(Settle *x, const TomlEntry *e) {
    Settled value = {.name = e->key, .how = "default", .value = e->value.text};
    const char *why = NULL;
    if (e->value.kind == TOML_INT) {
        value = whole_value(x, e->key, e->value.integer);
        value.how = "default";
    } else if (e->value.kind == TOML_FLOAT) {
        value.real = e->value.real;
    } else if (e->value.kind == TOML_STRING) {
        int64_t n = 0;
        if (!settle_dim(x, e->value.text, &n, &why) || n < 1 || n > INT32_MAX) {
            if (why)
                report(x->s, (Span){0}, E5006, "%s: %s is absent, and %s is no width for it",
                       x->config->label, settle_key(x, e->key), why);
            set_bad(x, e->key);
            return;
        }
        value = whole_value(x, e->key, n);
        value.how = e->value.text;
    } else {
        return;
    }
    vec_push(x->s->arena, &x->values, value);
}

static void apply_defaults(Settle *x) {
    const TomlTable *t = bind_keys(x->bind, "default");
    for (int i = 0; t && i < t->entries.len; i++) {
        if (!find(x, t->entries.data[i].key))
            apply_default(x, &t->entries.data[i]);
    }
}

// Every generic of the table must be set now.
static void check_complete(Settle *x) {
    const TomlTable *t = bind_keys(x->bind, "generics");
    for (int i = 0; t && i < t->entries.len; i++) {
        const TomlEntry *e = &t->entries.data[i];
        if (e->value.kind != TOML_STRING || find(x, e->value.text))
            continue;
        report(x->s, (Span){0}, E5006, "%s lacks %s, which sets the program's %s", x->config->label,
               e->key, e->value.text);
        set_bad(x, e->value.text);
    }
}

static void refuse_rest(Settle *x) {
    enum { MOST = 40 };
    int refused = 0;
    for (int i = 0; i < x->config->keys.len; i++) {
        ConfigKey *key = &x->config->keys.data[i];
        if (key->fate)
            continue;
        bool waived = bind_waives(bind_keys(x->bind, "waived"), "keys", key->key);
        key->fate = waived ? "waived" : key->kind == CONFIG_NULL ? "counts as absent" : REFUSED;
        if (key->fate != REFUSED || refused++ >= MOST)
            continue;
        Diag *d =
            report(x->s, (Span){0}, E5002, "%s: the key %s (its value is %s) is not understood",
                   x->config->label, key->key, key->shown);
        if (refused == 1)
            diag_help(x->s, d, "a key that changes nothing can be waived in %s", x->bind->path);
    }
    if (refused > MOST)
        report(x->s, (Span){0}, E5002, "%s: %d more keys are not understood", x->config->label,
               refused - MOST);
}

bool settle(Settle *x, Session *s, const Bind *bind, Config *config, const char *architecture) {
    int errors = s->errors;
    *x = (Settle){.s = s, .bind = bind, .config = config, .architecture = architecture};
    x->context = x->begin = -1;
    apply_only(x);
    apply_require(x);
    apply_generics(x, "generics", false);
    apply_generics(x, "lengths", true);
    apply_constants(x);
    apply_context(x);
    apply_tokens(x);
    apply_tie(x);
    apply_presence(x);
    settle_needs(x);
    apply_defaults(x);
    check_complete(x);
    settle_relations(x);
    refuse_rest(x);
    return s->errors == errors;
}
