// Rules between settings: what one value needs of others, and arithmetic over dimensions.
#include "cli/settle_rules.h"
#include <stdlib.h>
#include <string.h>

// ---- Which key sets a name ---------------------------------------------------------------------

// The first key of the table that sets the name and is there, even as null. NULL if none is.
static const ConfigKey *key_in(const Settle *x, const TomlTable *t, const char *name) {
    for (int i = 0; t && i < t->entries.len; i++) {
        const TomlEntry *e = &t->entries.data[i];
        if (e->value.kind != TOML_STRING || strcmp(e->value.text, name) != 0)
            continue;
        const ConfigKey *key = config_find_any(x->s, x->config, e->key);
        if (key)
            return key;
    }
    return NULL;
}

static const ConfigKey *key_there(const Settle *x, const char *name) {
    static const char *const tables[] = {"generics", "constants", "lengths"};
    const ConfigKey *key = NULL;
    for (int i = 0; !key && i < 3; i++)
        key = key_in(x, bind_keys(x->bind, tables[i]), name);
    return key;
}

// The first key that the binding has for the name.
static const char *key_wanted(const Settle *x, const char *name) {
    static const char *const tables[] = {"generics", "constants", "lengths"};
    for (int i = 0; i < 3; i++) {
        const TomlTable *t = bind_keys(x->bind, tables[i]);
        for (int k = 0; t && k < t->entries.len; k++) {
            const TomlValue *v = &t->entries.data[k].value;
            if (v->kind == TOML_STRING && strcmp(v->text, name) == 0)
                return t->entries.data[k].key;
        }
    }
    return name;
}

const char *settle_key(const Settle *x, const char *name) {
    const Settled *value = settle_find(x, name);
    return value && value->key ? value->key->key : key_wanted(x, name);
}

// ---- Dimensions --------------------------------------------------------------------------------

typedef struct {
    const Settle *x;
    StrBuf keys;    // "hidden_size / num_attention_heads"
    StrBuf numbers; // "50 / 12"
    int64_t value;  // so far
    char op;        // what joins the next operand: '=' for the first
} Dimension;

static bool operand(Dimension *d, Str word, int64_t *out) {
    const Settle *x = d->x;
    const char *name = arena_printf(x->s->arena, "%.*s", STR_ARG(word));
    const Settled *value = settle_find(x, name);
    if (*name >= '0' && *name <= '9') {
        *out = strtoll(name, NULL, 10);
        strbuf_printf(&d->keys, "%s", name);
    } else if (value && value->whole && !value->bad) {
        *out = value->integer;
        strbuf_printf(&d->keys, "%s", settle_key(x, name));
    } else {
        return false;
    }
    strbuf_printf(&d->numbers, "%lld", (long long)*out);
    return true;
}

// Joins an operand; false if the result is no integer of 63 bits.
static bool join(Dimension *d, int64_t n) {
    switch (d->op) {
    case '=':
        d->value = n;
        return true;
    case '*':
        return !__builtin_mul_overflow(d->value, n, &d->value);
    case '/':
        if (n <= 0 || d->value % n != 0)
            return false;
        d->value /= n;
        return true;
    default:
        return false;
    }
}

bool settle_dim(const Settle *x, const char *text, int64_t *out, const char **why) {
    Arena *a = x->s->arena;
    Dimension d = {x, strbuf_new(a), strbuf_new(a), 0, '='};
    bool good = true;
    *why = NULL;
    for (const char *p = text + strspn(text, " "); *p; p += strspn(p, " ")) {
        int n = (int)strcspn(p, " ");
        int64_t value = 0;
        if (strchr("*/", *p)) {
            d.op = *p;
            strbuf_printf(&d.keys, " %c ", *p);
            strbuf_printf(&d.numbers, " %c ", *p);
        } else if (!operand(&d, (Str){p, n}, &value)) {
            return false;
        } else {
            good = good && join(&d, value);
            d.op = 0;
        }
        p += n;
    }
    *out = d.value;
    if (d.keys.len)
        *why = arena_printf(a, "%s = %s", d.keys.data, d.numbers.data);
    return good && d.keys.len;
}

// ---- Needs -------------------------------------------------------------------------------------

// Reports what `list` names and no key sets.
static void check_needs(Settle *x, const TomlEntry *list, const char *reason) {
    for (int i = 0; list && i < list->value.count; i++) {
        const char *name = list->value.items[i].text;
        if (!name || key_there(x, name) || settle_find(x, name))
            continue;
        report(x->s, (Span){0}, E5006, "%s lacks %s, which %s needs", x->config->label,
               key_wanted(x, name), reason);
    }
}

// Reports keys that only other words of the table need: they would be read by nobody.
static void check_idle(Settle *x, const TomlTable *table, const TomlEntry *chosen,
                       const char *reason) {
    Map said = {0};
    for (int i = 0; i < table->entries.len; i++) {
        const TomlEntry *list = &table->entries.data[i];
        for (int k = 0; k < list->value.count; k++) {
            const char *name = list->value.items[k].text;
            const Settled *value = name ? settle_find(x, name) : NULL;
            if (!value || !value->key || bind_lists(chosen, name) || map_has(&said, value->name))
                continue;
            map_put(x->s->arena, &said, value->name, (void *)value);
            report(x->s, (Span){0}, E5002, "%s: %s is %s, which has no effect with %s",
                   x->config->label, value->key->key, value->key->shown, reason);
        }
    }
}

void settle_needs(Settle *x) {
    Arena *a = x->s->arena;
    for (int i = 0; i < x->bind->toml->tables.len; i++) {
        const TomlTable *t = x->bind->toml->tables.data[i];
        if (strncmp(t->name, "needs.", 6) != 0)
            continue;
        if (strcmp(t->name, "needs.architecture") == 0) {
            check_needs(x, toml_find(t, x->architecture), x->architecture);
            continue;
        }
        const char *name = t->name + 6;
        const Settled *value = settle_find(x, name);
        if (value && value->bad)
            continue;
        const char *word = value && value->word ? value->word : NULL;
        const char *reason = word ? arena_printf(a, "%s = \"%s\"", value->key->key, word)
                                  : arena_printf(a, "%s absent", key_wanted(x, name));
        const TomlEntry *chosen = word ? toml_find(t, word) : NULL;
        check_needs(x, chosen, reason);
        check_idle(x, t, chosen, reason);
    }
}

// ---- Relations ---------------------------------------------------------------------------------

static void check_multiple(Settle *x, const TomlEntry *e) {
    const char *why = NULL;
    int64_t n, of, rest;
    const char *divisor = e->value.text;
    if (!divisor || !settle_dim(x, e->key, &n, &why) || !settle_dim(x, divisor, &of, &why))
        return;
    const char *quotient = arena_printf(x->s->arena, "%s / %s", e->key, divisor);
    if (!settle_dim(x, quotient, &rest, &why))
        report(x->s, (Span){0}, E5006, "%s: %s is not whole", x->config->label, why);
}

static void check_less(Settle *x, const TomlEntry *e) {
    const Settled *low = settle_find(x, e->key);
    const Settled *high = e->value.text ? settle_find(x, e->value.text) : NULL;
    if (!low || !high || low->bad || high->bad || low->real < high->real)
        return;
    report(x->s, (Span){0}, E5006, "%s: %s is %s, which must be less than %s, %s", x->config->label,
           settle_key(x, e->key), low->value, settle_key(x, e->value.text), high->value);
}

void settle_relations(Settle *x) {
    const TomlTable *multiple = bind_table(x->bind, "multiple");
    const TomlTable *less = bind_table(x->bind, "less");
    for (int i = 0; multiple && i < multiple->entries.len; i++)
        check_multiple(x, &multiple->entries.data[i]);
    for (int i = 0; less && i < less->entries.len; i++)
        check_less(x, &less->entries.data[i]);
}
