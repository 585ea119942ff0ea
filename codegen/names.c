// Names: spelling of source names in C, and scopes in which they are unique.
#include "codegen/names.h"
#include <stdio.h>
#include <string.h>

enum { NAME_LIMIT = 32 }; // bytes; longer ones are cut so that lines stay short

struct Names {
    Session *session;
    const Names *outer;
    Map taken;        // interned identifier -> itself, or NULL after a release
    Map ever;         // every identifier ever picked
    Map next;         // interned base -> the number to try next
    VEC(Name) picked; // in order, for names_release
    VEC(Name) bases;  // what each was wanted as
};

Names *names_new(Session *s, const Names *outer) {
    Names *n = NEW(s->arena, Names);
    n->session = s;
    n->outer = outer;
    return n;
}

static bool is_taken(const Names *n, Name name) {
    if (names_reserved(name))
        return true;
    for (; n; n = n->outer)
        if (map_get(&n->taken, name))
            return true;
    return false;
}

static const char *const greek[] = {
    "alpha", "beta",   "gamma",   "delta", "epsilon", "zeta",    "eta",   "theta", "iota",
    "kappa", "lambda", "mu",      "nu",    "xi",      "omicron", "pi",    "rho",   "sigma",
    "sigma", "tau",    "upsilon", "phi",   "chi",     "psi",     "omega",
};

// Appends what C can write of the character at *p and moves *p behind it.
static void spell(StrBuf *b, const char **p) {
    unsigned char c = (unsigned char)**p;
    (*p)++;
    if (c < 0x80) {
        bool letter = (c | 32) >= 'a' && (c | 32) <= 'z';
        if (letter || (c >= '0' && c <= '9'))
            strbuf_char(b, (char)c);
        else if (b->len && b->data[b->len - 1] != '_')
            strbuf_char(b, '_');
        return;
    }
    unsigned next = (unsigned char)**p;
    unsigned code = (c == 0xce || c == 0xcf) ? (c & 31u) << 6 | (next & 63u) : 0;
    while (((unsigned char)**p & 0xc0) == 0x80)
        (*p)++;
    if (code >= 0x3b1 && code <= 0x3c9)
        strbuf_printf(b, "%s", greek[code - 0x3b1]);
}

// The spelling of a source name: at most NAME_LIMIT bytes, starting with a letter. A leading
// underscore is dropped: the names that start with one belong to the C implementation.
static const char *c_spelling(Session *s, const char *wanted) {
    StrBuf b = strbuf_new(s->arena);
    while (*wanted && b.len < NAME_LIMIT)
        spell(&b, &wanted);
    while (b.len && b.data[b.len - 1] == '_')
        b.data[--b.len] = 0;
    if (b.len == 0)
        return "value";
    if (b.data[0] >= '0' && b.data[0] <= '9')
        return arena_printf(s->arena, "n%s", b.data);
    if (strncmp(b.data, "Rt", 2) == 0 && b.data[2] >= 'A' && b.data[2] <= 'Z')
        return arena_printf(s->arena, "My%s", b.data);
    if (strncmp(b.data, "rt_", 3) == 0 || strncmp(b.data, "RT_", 3) == 0 ||
        strncmp(b.data, "MODEL_", 6) == 0 || strncmp(b.data, "RUNTIME_", 8) == 0)
        return arena_printf(s->arena, "my_%s", b.data);
    return b.data;
}

const char *names_snake(Arena *a, const char *name) {
    StrBuf b = strbuf_new(a);
    for (const char *p = name; *p; p++) {
        bool upper = *p >= 'A' && *p <= 'Z', after = p > name && p[-1] >= 'A' && p[-1] <= 'Z';
        bool word =
            (p > name && p[-1] >= 'a' && p[-1] <= 'z') || (after && p[1] >= 'a' && p[1] <= 'z');
        if (upper && word)
            strbuf_char(&b, '_');
        strbuf_char(&b, upper ? (char)(*p | 32) : *p);
    }
    return b.data ? b.data : "";
}

static const char *pick(Names *n, const char *wanted, bool fresh) {
    Session *s = n->session;
    Name base = session_name(s, c_spelling(s, wanted ? wanted : "value"));
    Name name = base;
    size_t end = strlen(base);
    const char *dash = base[end - 1] >= '0' && base[end - 1] <= '9' ? "_" : "";
    uintptr_t number = (uintptr_t)map_get(&n->next, base);
    for (number = number ? number : 2; is_taken(n, name) || (fresh && map_get(&n->ever, name));
         number++) {
        name = session_name(s, arena_printf(s->arena, "%s%s%d", base, dash, (int)number));
        map_put(s->arena, &n->next, base, (void *)(number + 1));
    }
    map_put(s->arena, &n->taken, name, (void *)(uintptr_t)name);
    map_put(s->arena, &n->ever, name, (void *)(uintptr_t)name);
    vec_push(s->arena, &n->picked, name);
    vec_push(s->arena, &n->bases, base);
    return arena_printf(s->arena, "%s", name); // an identity of its own
}

const char *names_pick(Names *n, const char *wanted) {
    return pick(n, wanted, false);
}

const char *names_pick_fresh(Names *n, const char *wanted) {
    return pick(n, wanted, true);
}

int names_mark(const Names *n) {
    return n->picked.len;
}

void names_release(Names *n, int mark) {
    Arena *a = n->session->arena;
    for (; n->picked.len > mark; n->picked.len--, n->bases.len--) {
        map_put(a, &n->taken, vec_last(&n->picked), NULL);
        map_put(a, &n->next, vec_last(&n->bases), NULL); // its numbers may be tried again
    }
}
