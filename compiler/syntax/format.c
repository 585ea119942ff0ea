// Formatting of a file and its items.
//
// The formatter walks the tokens as the grammar saw them, so it can lose none: it decides about
// spaces, new lines, and commas at the ends of lists. What it made is read again and compared with
// what it was made of.
#include "syntax/format.h"
#include "grammar.h"
#include "syntax/drive.h"
#include "syntax/format_parts.h"
#include <stdlib.h>
#include <string.h>

static const ListStyle soft = {0}, fixed = {.fixed = true}, padded = {.padded = true};

// ---- Signatures --------------------------------------------------------------------------------

// *S: Shape, T: Float = bf16
static Doc *put_generic(Formatter *f) {
    Doc *d = seq(f);
    if (ahead(f, 0) == TK_STAR)
        doc_add(d, take(f));
    doc_add(d, take(f));
    word(f, d);
    doc_add(d, take(f));
    if (ahead(f, 0) == TK_EQ) {
        space(f, d);
        word(f, d);
        doc_add(d, put_garg(f));
    }
    return d;
}

// name: type [= value]
static Doc *put_typed(Formatter *f) {
    Doc *d = seq(f);
    doc_add(d, take(f));
    word(f, d);
    doc_add(d, put_type(f));
    if (ahead(f, 0) == TK_EQ)
        doc_add(d, put_value(f));
    return d;
}

typedef VEC(Doc *) DocVec;

static DocVec read_clauses(Formatter *f) {
    DocVec clauses = {0};
    while (ahead(f, 0) != TK_LBRACE && ahead(f, 0)) {
        Doc *d = seq(f);
        doc_add(d, put_operand(f));
        vec_push(f->a, &clauses, d);
        bool last = ahead(f, 0) == TK_COMMA && ahead(f, 1) == TK_LBRACE;
        if (last && bare(f, f->at))
            drop(f);
        else if (ahead(f, 0) == TK_COMMA)
            doc_add(d, take(f));
    }
    return clauses;
}

// The where clause, if there is one, and the space or new line before the `{`.
static void put_where(Formatter *f, Doc *d) {
    if (ahead(f, 0) != TK_WHERE) {
        space(f, d);
        return;
    }
    doc_put(f->a, d, DOC_HARD);
    doc_add(d, take(f));
    DocVec clauses = read_clauses(f);
    bool one = clauses.len == 1 && !clauses.data[0]->broken && !forced_before(f, f->at);
    Doc *inner = doc_new(f->a, DOC_INDENT);
    for (int i = 0; i < clauses.len; i++) {
        if (one)
            space(f, d);
        else
            doc_put(f->a, inner, DOC_HARD);
        doc_add(one ? d : inner, clauses.data[i]);
    }
    doc_add(d, inner);
    if (one)
        space(f, d);
    else
        doc_put(f->a, d, DOC_HARD);
}

static void put_generics(Formatter *f, Doc *d) {
    if (ahead(f, 0) == TK_GENERIC)
        doc_add(d, list(f, soft, TK_GENERIC_END, put_generic));
}

// grid(a, b) warps(4) stages(2)
static void put_grid(Formatter *f, Doc *d) {
    Doc *group = doc_new(f->a, DOC_GROUP), *inner = doc_new(f->a, DOC_INDENT);
    int first = f->at;
    while (ahead(f, 0) == TK_GRID || ahead(f, 0) == TK_WARPS || ahead(f, 0) == TK_STAGES) {
        if (inner->first)
            space(f, inner);
        else
            doc_put(f->a, inner, DOC_SPACE);
        doc_add(inner, take(f));
        doc_add(inner, list(f, fixed, TK_RPAREN, put_operand));
    }
    if (!inner->first)
        return;
    doc_add(group, inner);
    close_group(f, group, first);
    doc_add(d, group);
}

// What stands between a function's parameters and its where clause.
static void put_result(Formatter *f, Doc *d) {
    if (ahead(f, 0) == TK_ARROW) {
        space(f, d);
        word(f, d);
        bool named = ahead(f, 1) == TK_COLON;
        doc_add(d, named ? put_typed(f) : put_type(f));
        while (named && ahead(f, 0) == TK_COMMA) {
            word(f, d);
            doc_add(d, put_typed(f));
        }
    }
    put_grid(f, d);
    if (ahead(f, 0) == TK_KERNEL) {
        space(f, d);
        word(f, d);
        doc_add(d, put_type(f));
    }
}

// ---- Items -------------------------------------------------------------------------------------

static Doc *put_member(Formatter *f);

static void put_fn(Formatter *f, Doc *d) {
    word(f, d);
    doc_add(d, take(f));
    put_generics(f, d);
    doc_add(d, list(f, soft, TK_RPAREN, put_typed));
    put_result(f, d);
    put_where(f, d);
    doc_add(d, put_body(f));
    if (ahead(f, 0) == TK_GRAD) {
        space(f, d);
        doc_add(d, take(f));
        doc_add(d, list(f, fixed, TK_RPAREN, take));
        space(f, d);
        doc_add(d, put_body(f));
    }
}

// Constants, aliases and members stay together; everything else stands apart.
static bool is_short(const Formatter *f, int token) {
    int kind = f->t.data[token].kind;
    if (kind == TK_PUB)
        kind = f->t.data[token + 1].kind;
    return kind == TK_CONST || kind == TK_TYPE || kind == TK_PARAM || kind == TK_BUFFER ||
           kind == TK_STATE || kind == TK_SUB || kind == TK_USE || kind == TK_MODULE;
}

static bool stands_apart(const Formatter *f, int from) {
    return !is_short(f, from) || !is_short(f, f->at);
}

// name = value, of a serve block
static Doc *put_setting(Formatter *f) {
    Doc *d = seq(f);
    doc_add(d, take(f));
    doc_add(d, put_value(f));
    return d;
}

static void put_named(Formatter *f, Doc *d) {
    word(f, d);
    doc_add(d, take(f));
    put_generics(f, d);
}

static void put_def(Formatter *f, Doc *d) {
    switch (ahead(f, 0)) {
    case TK_STRUCT:
        put_named(f, d);
        space(f, d);
        doc_add(d, put_braces(f, put_typed, NULL));
        break;
    case TK_ENUM:
        put_named(f, d);
        space(f, d);
        doc_add(d, list(f, padded, TK_RBRACE, take));
        break;
    case TK_BLOCK:
        put_named(f, d);
        put_where(f, d);
        doc_add(d, put_braces(f, put_member, stands_apart));
        break;
    case TK_INFERENCE:
        word(f, d);
        word(f, d);
        doc_add(d, put_braces(f, put_setting, NULL));
        break;
    case TK_CONST:
    case TK_PARAM:
    case TK_BUFFER:
    case TK_STATE:
    case TK_SUB:
        word(f, d);
        doc_add(d, take(f));
        if (ahead(f, 0) == TK_COLON) {
            word(f, d);
            doc_add(d, put_type(f));
        }
        if (ahead(f, 0) == TK_EQ)
            doc_add(d, put_value(f));
        break;
    case TK_TYPE:
        put_named(f, d);
        space(f, d);
        word(f, d);
        doc_add(d, put_type(f));
        break;
    default:
        put_fn(f, d);
        break;
    }
}

static Doc *put_member(Formatter *f) {
    Doc *d = seq(f);
    if (ahead(f, 0) == TK_PUB)
        word(f, d);
    put_def(f, d);
    return d;
}

// ---- Files -------------------------------------------------------------------------------------

// x, x as y
static Doc *put_import(Formatter *f) {
    Doc *d = seq(f);
    doc_add(d, take(f));
    if (ahead(f, 0) == TK_AS) {
        space(f, d);
        word(f, d);
        doc_add(d, take(f));
    }
    return d;
}

static Doc *put_use(Formatter *f) {
    Doc *d = seq(f);
    word(f, d);
    doc_add(d, put_path(f));
    if (ahead(f, 0) == TK_COLONCOLON) {
        doc_add(d, take(f));
        bool several = ahead(f, 0) == TK_LBRACE;
        doc_add(d, several ? list(f, soft, TK_RBRACE, put_import) : put_import(f));
    } else if (ahead(f, 0) == TK_AS) {
        space(f, d);
        word(f, d);
        doc_add(d, take(f));
    }
    return d;
}

static Doc *put_top(Formatter *f) {
    Doc *d = seq(f);
    if (ahead(f, 0) == TK_USE)
        return put_use(f);
    if (ahead(f, 0) != TK_MODULE)
        return put_member(f);
    word(f, d);
    doc_add(d, put_path(f));
    return d;
}

static bool is_header(int kind) {
    return kind == TK_USE || kind == TK_MODULE;
}

static Doc *put_file(Formatter *f) {
    Doc *d = seq(f);
    int last = -1;
    while (ahead(f, 0)) {
        bool apart = last >= 0 && (f->g.gaps.data[f->at].blank || stands_apart(f, last) ||
                                   is_header(f->t.data[last].kind) != is_header(ahead(f, 0)));
        if (last >= 0)
            doc_put(f->a, d, apart ? DOC_BLANK : DOC_HARD);
        last = f->at;
        doc_add(d, put_top(f));
    }
    closing_comments(f, d);
    return d;
}

// ---- Formatting and looking back ---------------------------------------------------------------

// What a text holds, to be compared.
typedef struct {
    const char *tree;
    Gaps gaps;
} Content;

// Formats the source once. False if it has syntax errors.
static bool format_once(Session *s, int file, StrBuf *out, Content *content) {
    int errors = s->errors;
    Formatter f = {.s = s, .written = -1};
    Module *m = parse_recorded(s, file, &f.t);
    f.text = session_source(s, (Span){file, 0, 0})->text.ptr;
    if (s->errors > errors)
        return false;
    f.g = gaps_find(s, f.text, &f.t);
    f.a = arena_new();
    layout(f.a, put_file(&f), out);
    arena_free(f.a);
    StrBuf tree = strbuf_new(s->arena);
    ast_dump(s, m, false, &tree);
    *content = (Content){tree.data, f.g};
    return true;
}

static int by_text(const void *a, const void *b) {
    const Comment *x = a, *y = b;
    int shorter = x->text.len < y->text.len ? x->text.len : y->text.len;
    int order = memcmp(x->text.ptr, y->text.ptr, (size_t)shorter);
    return order ? order : x->text.len - y->text.len;
}

// The same tree and the same comments; on one line they may have changed places.
static bool same_content(Content *a, Content *b) {
    int n = a->gaps.comments.len;
    if (strcmp(a->tree, b->tree) != 0 || n != b->gaps.comments.len)
        return false;
    Comment *left = a->gaps.comments.data, *right = b->gaps.comments.data;
    if (n) {
        qsort(left, (size_t)n, sizeof *left, by_text);
        qsort(right, (size_t)n, sizeof *right, by_text);
    }
    for (int i = 0; i < n; i++) {
        if (!str_eq(left[i].text, right[i].text))
            return false;
    }
    return true;
}

FormatResult format_source(Session *s, int file, StrBuf *out) {
    enum { ROUNDS = 6 };
    Content first, again;
    StrBuf text = strbuf_new(s->arena);
    if (!format_once(s, file, &text, &first))
        return FORMAT_ERRORS;
    // A comment in an odd place may come to rest in the second round.
    for (int i = 0; i < ROUNDS; i++) {
        Session *round = session_new();
        Source *source = source_new(round->arena, "formatted", (Str){text.data, text.len});
        StrBuf next = strbuf_new(s->arena);
        bool same = format_once(round, session_add(round, source), &next, &again) &&
                    same_content(&first, &again);
        session_free(round);
        if (!same)
            return FORMAT_BROKEN;
        if (next.len == text.len && memcmp(next.data, text.data, (size_t)text.len) == 0) {
            strbuf_add(out, (Str){text.data, text.len});
            return FORMAT_FINE;
        }
        text = next;
    }
    return FORMAT_BROKEN;
}
