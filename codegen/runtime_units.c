// The runtime in an exported program: only the units that are used.
//
// In the runtime's files a line "//: NAME needs A B" opens a unit that ends at the next such line.
// A unit of one name may have a part in several files (declaration and definition). What stands
// before the first line of a file is taken with any of its units.
#include "codegen/export.h"
#include <string.h>

typedef struct {
    Name name;
    VEC(Name) needs;
    Str text; // without the line that opens it
    bool taken;
} Unit;

typedef struct {
    Name file;    // "kernels.c"
    Str text;     // all of it
    int prologue; // bytes before the first unit
    bool marked;  // has units
    bool taken;
    VEC(Unit) units;
} Part;

typedef struct {
    Export *export;
    Session *session;
    Map *wanted;
    VEC(Part) parts;
} Runtime;

static bool starts_with(Str s, const char *prefix) {
    size_t n = strlen(prefix);
    return (size_t)s.len >= n && memcmp(s.ptr, prefix, n) == 0;
}

// The next line, with its newline.
static Str take_line(Str *rest) {
    const char *end = rest->len ? memchr(rest->ptr, '\n', (size_t)rest->len) : NULL;
    int n = end ? (int)(end - rest->ptr) + 1 : rest->len;
    Str line = {rest->ptr, n};
    rest->ptr += n;
    rest->len -= n;
    return line;
}

static Name take_word(Session *s, Str *rest) {
    while (rest->len && (*rest->ptr == ' ' || *rest->ptr == '\n')) {
        rest->ptr++;
        rest->len--;
    }
    Str word = {rest->ptr, 0};
    while (word.len < rest->len && word.ptr[word.len] != ' ' && word.ptr[word.len] != '\n')
        word.len++;
    rest->ptr += word.len;
    rest->len -= word.len;
    return word.len ? intern(s->names, word) : NULL;
}

static void open_unit(Runtime *r, Part *p, Str line) {
    Unit u = {0};
    line.ptr += 3;
    line.len -= 3;
    u.name = take_word(r->session, &line);
    Name word;
    while ((word = take_word(r->session, &line))) {
        if (strcmp(word, "needs") != 0)
            vec_push(r->session->arena, &u.needs, word);
    }
    vec_push(r->session->arena, &p->units, u);
}

static void read_part(Runtime *r, const GenFile *f) {
    Part p = {.file = session_name(r->session, f->name + strlen("runtime/")), .text = f->text};
    Str rest = f->text;
    while (rest.len) {
        const char *at = rest.ptr;
        Str line = take_line(&rest);
        if (starts_with(line, "//: ")) {
            if (!p.marked)
                p.prologue = (int)(at - f->text.ptr);
            p.marked = true;
            open_unit(r, &p, line);
            vec_last(&p.units).text.ptr = rest.ptr;
        } else if (p.marked) {
            vec_last(&p.units).text.len += line.len;
        }
    }
    if (!p.marked)
        p.prologue = f->text.len;
    vec_push(r->session->arena, &r->parts, p);
}

// ---- Which -------------------------------------------------------------------------------------

static bool is_end(const Unit *u) {
    return u->name && (strcmp(u->name, "end") == 0 || strcmp(u->name, "rt_end") == 0);
}

static bool take_unit(Runtime *r, Part *p, Unit *u) {
    if (u->taken || !u->name || !map_get(r->wanted, u->name))
        return false;
    u->taken = true;
    p->taken = true;
    for (int n = 0; n < u->needs.len; n++)
        map_put(r->session->arena, r->wanted, u->needs.data[n], r);
    return true;
}

static void take_units(Runtime *r) {
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < r->parts.len; i++) {
            Part *p = &r->parts.data[i];
            for (int k = 0; k < p->units.len; k++)
                changed |= take_unit(r, p, &p->units.data[k]);
        }
    }
}

static Part *find_part(Runtime *r, Str name) {
    for (int i = 0; i < r->parts.len; i++) {
        if (str_eq(str_of(r->parts.data[i].file), name))
            return &r->parts.data[i];
    }
    return NULL;
}

// The file that a line includes, without "runtime/"; empty if it includes none of ours.
static Str included(Str line) {
    static const char prefix[] = "#include \"runtime/";
    Str name = {line.ptr + sizeof prefix - 1, 0};
    if (!starts_with(line, prefix))
        return (Str){0};
    while (name.ptr + name.len < line.ptr + line.len && name.ptr[name.len] != '"')
        name.len++;
    return name;
}

// Headers that taken files include are taken too.
static void take_headers(Runtime *r) {
    for (int i = 0; i < r->parts.len; i++) {
        Part *p = &r->parts.data[i];
        if (!p->taken)
            continue;
        Str rest = {p->text.ptr, p->prologue};
        bool again = false;
        while (rest.len) {
            Str name = included(take_line(&rest));
            Part *header = name.len ? find_part(r, name) : NULL;
            if (!name.len || (header && header->taken))
                continue;
            if (!header) {
                loop_fail(r->export->m, "the runtime has no %.*s", STR_ARG(name));
                return;
            }
            header->taken = true;
            again = true;
        }
        if (again)
            i = -1;
    }
}

// ---- Text --------------------------------------------------------------------------------------

// Adds a line; not two empty ones after each other, nor one at the end.
static void add_text_line(StrBuf *b, Str line) {
    bool empty = line.len == 1;
    if (empty && (b->len == 0 || (b->len > 1 && b->data[b->len - 2] == '\n')))
        return;
    Str name = included(line);
    if (name.len)
        strbuf_printf(b, "#include \"%.*s\"\n", STR_ARG(name));
    else
        strbuf_add(b, line);
}

static void add_lines(StrBuf *b, Str text) {
    bool about_units = false; // the head's sentences on units, up to the comment's end
    while (text.len) {
        Str line = take_line(&text);
        if (starts_with(line, " * A line that starts with \"//:\""))
            about_units = true;
        if (about_units && starts_with(line, " */"))
            about_units = false;
        if (!about_units)
            add_text_line(b, line);
    }
}

static void add_part(Runtime *r, const Part *p) {
    StrBuf b = strbuf_new(r->session->arena);
    add_lines(&b, (Str){p->text.ptr, p->prologue});
    for (int i = 0; i < p->units.len; i++) {
        if (p->units.data[i].taken || is_end(&p->units.data[i]))
            add_lines(&b, p->units.data[i].text);
    }
    while (b.len > 1 && b.data[b.len - 1] == '\n' && b.data[b.len - 2] == '\n')
        b.data[--b.len] = 0;
    GenFile f = {p->file, {b.data, b.len}};
    vec_push(r->session->arena, &r->export->files, f);
}

static bool has_unit(const Runtime *r, Name name) {
    for (int i = 0; i < r->parts.len; i++) {
        for (int k = 0; k < r->parts.data[i].units.len; k++) {
            if (r->parts.data[i].units.data[k].name == name)
                return true;
        }
    }
    return false;
}

void add_runtime(Export *x, Map *names) {
    Runtime r = {.export = x, .session = x->m->core->session, .wanted = names};
    static const char *const whole[] = {"pack.c",    "pack.h",     "scalars.h",
                                        "kernels.h", "numerics.h", "threads.h"};
    for (int i = 0; i < x->o->runtime_count; i++) {
        Str name = str_of(x->o->runtime[i].name);
        if (starts_with(name, "runtime/") && !memchr(name.ptr + 8, '/', (size_t)name.len - 8))
            read_part(&r, &x->o->runtime[i]);
    }
    for (int i = 0; i < names->size; i++) {
        if (names->slots[i].key && !has_unit(&r, names->slots[i].key))
            loop_fail(x->m, "the runtime has no %s", (const char *)names->slots[i].key);
    }
    take_units(&r);
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        Part *p = find_part(&r, str_of(whole[i]));
        if (p)
            p->taken = true;
    }
    take_headers(&r);
    for (int i = 0; i < r.parts.len; i++) {
        if (r.parts.data[i].taken)
            add_part(&r, &r.parts.data[i]);
    }
}
