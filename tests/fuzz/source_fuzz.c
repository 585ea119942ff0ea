// Fuzz target: any bytes are read as a module and as an expression, within their spans, and the
// text of an expression parses to the same tree.

#include "syntax/parse.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int add(Session *s, const char *text, int len) {
    const char *copy = arena_copy(s->arena, text, (size_t)len);
    return session_add(s, source_new(s->arena, "fuzz", (Str){copy, len}));
}

static void check_diags(const Session *s) {
    for (int i = 0; i < s->diags.len; i++) {
        const Diag *d = s->diags.data[i];
        const Source *src = session_source(s, d->span);
        if (!src || d->span.start < 0 || d->span.end < d->span.start || d->span.end > src->text.len)
            abort();
    }
}

static const char *dump(Session *s, Expr *e) {
    Module m = {0};
    Item item = {.kind = ITEM_CONST, .name = "x", .value = e};
    vec_push(s->arena, &m.items, &item);
    StrBuf b = strbuf_new(s->arena);
    ast_dump(s, &m, false, &b);
    return b.data;
}

static void check_expr(Session *s, const char *text, int len) {
    Expr *e = parse_expr_text(s, add(s, text, len));
    check_diags(s);
    if (!e || e->depth > 60) // printing adds parentheses, and their nesting is limited
        return;
    StrBuf printed = strbuf_new(s->arena);
    ast_expr_text(e, &printed);
    Expr *again = parse_expr_text(s, add(s, printed.data, printed.len));
    if (!again || strcmp(dump(s, e), dump(s, again)) != 0) {
        diags_print(s, stderr, false);
        fprintf(stderr, "%s\n%s", printed.data, dump(s, e));
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 1 << 16)
        return 0;
    Session *s = session_new();
    int file = add(s, (const char *)data, (int)size);
    StrBuf out = strbuf_new(s->arena);
    dump_tokens(s, file, &out);
    int errors = s->errors;
    Module *m = parse_module(s, file);
    check_diags(s);
    ast_dump(s, m, false, &out);
    for (int i = 0; i < m->items.len; i++)
        ast_signature(m->items.data[i], &out);
    if (s->errors < errors)
        abort();
    Session *t = session_new();
    check_expr(t, (const char *)data, (int)size);
    session_free(t);
    session_free(s);
    return 0;
}
