// Tokens with their comments, and lists of parts: what every rule of the formatter is made of.
//
// A comment that ends a line hangs on the token before it, any other on the token after it. Which
// groups it breaks follows from the tokens around it alone, so that formatting the result again
// changes nothing.
#include "grammar.h"
#include "syntax/format_parts.h"

int ahead(const Formatter *f, int n) {
    int i = f->at + n < f->t.len ? f->at + n : f->t.len - 1;
    return f->t.data[i].kind;
}

Doc *seq(Formatter *f) {
    return doc_new(f->a, DOC_SEQ);
}

void space(Formatter *f, Doc *d) {
    doc_str(f->a, d, " ");
}

static void put_before(Formatter *f, Doc *d, const Gap *gap) {
    for (int i = 0; i < gap->count; i++) {
        const Comment *c = &f->g.comments.data[gap->first + i];
        if (c->place == COMMENT_OWN) {
            Doc *own = doc_new(f->a, DOC_COMMENT);
            own->text = c->text;
            own->blank = c->blank;
            doc_add(d, own);
        } else if (c->place == COMMENT_INLINE) {
            doc_add(d, doc_text(f->a, c->text));
            space(f, d);
        }
    }
}

Doc *take(Formatter *f) {
    Token t = f->t.data[f->at];
    if (t.kind && bare(f, f->at))
        return doc_text(f->a, (Str){f->text + f->t.data[f->at++].start, t.end - t.start});
    Doc *d = seq(f);
    if (f->written != f->at)
        put_before(f, d, &f->g.gaps.data[f->at]);
    doc_add(d, doc_text(f->a, (Str){f->text + t.start, t.end - t.start}));
    if (!t.kind)
        return d;
    const Gap *after = &f->g.gaps.data[++f->at];
    for (int i = 0; i < after->count; i++) {
        const Comment *c = &f->g.comments.data[after->first + i];
        if (c->place == COMMENT_TRAILING) {
            Doc *suffix = doc_new(f->a, DOC_SUFFIX);
            suffix->text = c->text;
            doc_add(d, suffix);
        }
    }
    return d;
}

void word(Formatter *f, Doc *d) {
    doc_add(d, take(f));
    space(f, d);
}

void drop(Formatter *f) {
    f->at++;
}

bool bare(const Formatter *f, int token) {
    return !f->g.gaps.data[token].count && !f->g.gaps.data[token + 1].count;
}

bool forced_before(const Formatter *f, int token) {
    return f->g.gaps.data[token].forced;
}

void close_group(const Formatter *f, Doc *group, int first) {
    group->broken |= f->g.forced[f->at - 1] > f->g.forced[first];
}

void closing_comments(Formatter *f, Doc *inner) {
    const Gap *gap = &f->g.gaps.data[f->at];
    bool blank = gap->blank, any = false;
    for (int i = 0; i < gap->count; i++) {
        const Comment *c = &f->g.comments.data[gap->first + i];
        if (c->place == COMMENT_TRAILING)
            continue;
        doc_put(f->a, inner, blank && (any || inner->first) ? DOC_BLANK : DOC_HARD);
        doc_add(inner, doc_text(f->a, c->text));
        blank = c->blank;
        any = true;
    }
    f->written = f->at;
}

Doc *list(Formatter *f, ListStyle style, int close, Part part) {
    int first = f->at;
    Doc *group = doc_new(f->a, DOC_GROUP), *inner = doc_new(f->a, DOC_INDENT);
    group->stiff = style.stiff;
    doc_add(group, take(f));
    bool empty = ahead(f, 0) == close, comma = false;
    DocKind edge = style.padded && !empty ? DOC_SPACE : DOC_SOFT;
    if (!empty)
        doc_put(f->a, inner, edge);
    int parts = 0;
    while (ahead(f, 0) != close && ahead(f, 0)) {
        doc_add(inner, part(f));
        parts++;
        comma = ahead(f, 0) == TK_COMMA;
        if (comma)
            doc_add(inner, take(f));
        if (comma && ahead(f, 0) != close)
            doc_put(f->a, inner, DOC_SPACE);
    }
    bool lone = style.tuple && parts == 1;
    if (!comma && !empty && !style.fixed && !lone)
        doc_put(f->a, inner, DOC_COMMA);
    if (forced_before(f, f->at))
        closing_comments(f, inner);
    doc_add(group, inner);
    doc_put(f->a, group, edge);
    doc_add(group, take(f));
    close_group(f, group, first);
    group->broken |= comma && !lone;
    return group;
}
