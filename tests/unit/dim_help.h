// What the tests of dimensions share: a tally, and a parser, so that cases can be written as text.
#pragma once
#include "type/dim.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int passed; // checks that held
    int failed; // checks that did not
} Tally;

static inline void check(Tally *tally, bool ok, const char *what) {
    tally->passed += ok;
    tally->failed += !ok;
    if (!ok)
        printf("FAILED: %s\n", what);
}

enum { SYMBOLS = 16 };

typedef struct {
    Arena *arena;
    DimTable *table;
    const Dim *symbols[SYMBOLS]; // in the order met
    const char *names[SYMBOLS];  // their names
    int count;                   // of symbols
    const char *at;              // next character
} World;

static inline World world_new(void) {
    World w = {.arena = arena_new()};
    w.table = dims_new(w.arena);
    return w;
}

static inline const Dim *parse_sum(World *w);

static inline void skip(World *w) {
    while (*w->at == ' ')
        w->at++;
}

static inline bool eat(World *w, const char *text) {
    skip(w);
    bool found = strncmp(w->at, text, strlen(text)) == 0;
    w->at += found ? strlen(text) : 0;
    return found;
}

static inline const Dim *symbol(World *w, const char *name, int len) {
    for (int i = 0; i < w->count; i++) {
        if ((int)strlen(w->names[i]) == len && strncmp(w->names[i], name, (size_t)len) == 0)
            return w->symbols[i];
    }
    w->names[w->count] = arena_copy(w->arena, name, (size_t)len);
    w->symbols[w->count] = dim_symbol(w->table, w->names[w->count]);
    return w->symbols[w->count++];
}

static inline const Dim *parse_leaf(World *w) {
    skip(w);
    bool max = *w->at == 'm' && w->at[1] == 'a';
    if (eat(w, "min(") || eat(w, "max(")) {
        const Dim *a = parse_sum(w);
        eat(w, ",");
        const Dim *b = parse_sum(w);
        eat(w, ")");
        return max ? dim_max(w->table, a, b) : dim_min(w->table, a, b);
    }
    if (eat(w, "(")) {
        const Dim *d = parse_sum(w);
        eat(w, ")");
        return d;
    }
    if (eat(w, "-"))
        return dim_sub(w->table, dim_const(w->table, 0), parse_leaf(w));
    if (*w->at >= '0' && *w->at <= '9') {
        char *end;
        int64_t value = strtoll(w->at, &end, 10);
        w->at = end;
        return dim_const(w->table, value);
    }
    int len = (int)strspn(w->at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
    w->at += len;
    return symbol(w, w->at - len, len);
}

static inline const Dim *parse_product(World *w) {
    const Dim *d = parse_leaf(w);
    for (;;) {
        if (eat(w, "*"))
            d = dim_mul(w->table, d, parse_leaf(w));
        else if (eat(w, "/"))
            d = dim_div(w->table, d, parse_leaf(w));
        else if (eat(w, "%"))
            d = dim_mod(w->table, d, parse_leaf(w));
        else
            return d;
    }
}

static inline const Dim *parse_sum(World *w) {
    const Dim *d = parse_product(w);
    for (;;) {
        if (eat(w, "+"))
            d = dim_add(w->table, d, parse_product(w));
        else if (eat(w, "-"))
            d = dim_sub(w->table, d, parse_product(w));
        else
            return d;
    }
}

static inline const Dim *parse(World *w, const char *text) {
    w->at = text;
    return parse_sum(w);
}

static inline Relation parse_relation(World *w) {
    static const Relation order[] = {REL_EQ, REL_NE, REL_LE, REL_GE, REL_LT, REL_GT};
    for (int i = 0; i < 6; i++) {
        if (eat(w, relation_text(order[i])))
            return order[i];
    }
    abort();
}

static inline void add_facts(World *w, Facts *f, const char *text) {
    w->at = text;
    while (skip(w), *w->at) {
        const Dim *a = parse_sum(w);
        Relation rel = parse_relation(w);
        facts_add(f, a, rel, parse_sum(w));
        eat(w, ",");
    }
}

static inline bool prove(World *w, const Facts *f, const char *query) {
    w->at = query;
    const Dim *a = parse_sum(w);
    Relation rel = parse_relation(w);
    return facts_prove(f, a, rel, parse_sum(w));
}
