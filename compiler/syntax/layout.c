// The printer of layouts: one pass with a stack of its own, so depth is no danger.
#include "syntax/layout.h"
#include "base/vec.h"

Doc *doc_new(Arena *a, DocKind kind) {
    Doc *d = NEW(a, Doc);
    d->kind = kind;
    d->broken = kind == DOC_HARD || kind == DOC_BLANK || kind == DOC_COMMENT;
    return d;
}

Doc *doc_text(Arena *a, Str text) {
    Doc *d = doc_new(a, DOC_TEXT);
    d->text = text;
    return d;
}

void doc_add(Doc *parent, Doc *child) {
    if (!child)
        return;
    if (parent->end)
        parent->end->next = child;
    else
        parent->first = child;
    parent->end = child;
    parent->broken |= child->broken;
}

void doc_put(Arena *a, Doc *parent, DocKind kind) {
    doc_add(parent, doc_new(a, kind));
}

void doc_str(Arena *a, Doc *parent, const char *text) {
    doc_add(parent, doc_text(a, str_of(text)));
}

// What is still to be printed: a document and its following siblings.
typedef struct {
    const Doc *doc;
    int indent; // columns
    bool flat;  // on one line
} Task;
typedef VEC(Task) TaskVec;

typedef struct {
    Arena *arena;
    StrBuf *out;
    TaskVec tasks;
    TaskVec trial;            // of the question whether something fits
    VEC(const Doc *) waiting; // suffixes of this line
    int column;               // of the next character
    int indent;               // of this line
    bool started;             // this line has text
} Printer;

// Columns of a text: its code points.
static int width_of(Str text) {
    int n = 0;
    for (int i = 0; i < text.len; i++)
        n += (text.ptr[i] & 0xC0) != 0x80;
    return n;
}

static void trim(Printer *p) {
    while (p->out->len && p->out->data[p->out->len - 1] == ' ')
        p->out->data[--p->out->len] = 0;
}

// The comments that waited; after one that takes the rest of its line the next needs its own.
static void put_waiting(Printer *p) {
    for (int i = 0; i < p->waiting.len; i++) {
        bool taken = i > 0 && p->waiting.data[i - 1]->text.ptr[1] == '/';
        strbuf_char(p->out, taken ? '\n' : ' ');
        for (int k = 0; taken && k < p->indent; k++)
            strbuf_char(p->out, ' ');
        strbuf_add(p->out, p->waiting.data[i]->text);
    }
}

static void end_line(Printer *p) {
    trim(p);
    put_waiting(p);
    p->waiting.len = 0;
    strbuf_char(p->out, '\n');
    p->column = 0;
    p->started = false;
}

static void put(Printer *p, Str text) {
    if (!text.len)
        return;
    for (; !p->started && p->column < p->indent; p->column++)
        strbuf_char(p->out, ' ');
    p->started = true;
    strbuf_add(p->out, text);
    p->column += width_of(text);
    for (int i = text.len - 1; i >= 0; i--) {
        if (text.ptr[i] == '\n') {
            p->column = width_of((Str){text.ptr + i + 1, text.len - i - 1});
            break;
        }
    }
}

static void push(Printer *p, TaskVec *tasks, const Doc *doc, int indent, bool flat) {
    if (doc) {
        Task t = {doc, indent, flat};
        vec_push(p->arena, tasks, t);
    }
}

typedef enum { FITS, FITS_NOT, FITS_SO_FAR } Fit;

// One step of fits: takes the columns of `t` off the room.
static Fit try_one(Printer *p, Task t, bool rest, int *room) {
    const Doc *d = t.doc;
    switch (d->kind) {
    case DOC_TEXT:
        *room -= width_of(d->text);
        break;
    case DOC_SPACE:
    case DOC_SOFT:
        if (!t.flat)
            return FITS;
        *room -= d->kind == DOC_SPACE;
        break;
    case DOC_HARD:
    case DOC_BLANK:
    case DOC_COMMENT:
        return FITS;
    case DOC_COMMA:
        *room -= !t.flat;
        break;
    case DOC_SUFFIX:
        break;
    case DOC_GROUP:
        // What follows may be broken instead, if it likes to be.
        push(p, &p->trial, d->first, 0, !d->broken && (!rest || d->stiff));
        break;
    case DOC_SEQ:
    case DOC_INDENT:
        push(p, &p->trial, d->first, 0, t.flat);
        break;
    }
    return *room < 0 ? FITS_NOT : FITS_SO_FAR;
}

// Does the group fit on the rest of this line, with what follows up to the next new line?
static bool fits(Printer *p, const Doc *group) {
    int room = LAYOUT_WIDTH - (p->started ? p->column : p->indent), rest = p->tasks.len;
    p->trial.len = 0;
    push(p, &p->trial, group->first, 0, true);
    bool after = false;
    for (;;) {
        Task t;
        if (p->trial.len) {
            t = p->trial.data[--p->trial.len];
        } else if (rest) {
            t = p->tasks.data[--rest];
            after = true;
        } else {
            return true;
        }
        push(p, &p->trial, t.doc->next, 0, t.flat);
        Fit fit = try_one(p, t, after, &room);
        if (fit != FITS_SO_FAR)
            return fit == FITS;
    }
}

static void put_comment(Printer *p, const Doc *d, int indent) {
    if (p->started) {
        end_line(p);
        p->indent = indent;
    }
    put(p, d->text);
    end_line(p);
    if (d->blank)
        strbuf_char(p->out, '\n');
}

static void put_break(Printer *p, const Doc *d, int indent, bool flat) {
    if (flat && d->kind == DOC_SPACE && p->started)
        put(p, STR(" "));
    if (flat && (d->kind == DOC_SPACE || d->kind == DOC_SOFT))
        return;
    if (p->started || p->waiting.len)
        end_line(p);
    p->indent = indent;
    if (d->kind == DOC_BLANK)
        strbuf_char(p->out, '\n');
}

static void put_doc(Printer *p, Task t) {
    const Doc *d = t.doc;
    switch (d->kind) {
    case DOC_TEXT:
        put(p, d->text);
        break;
    case DOC_SPACE:
    case DOC_SOFT:
    case DOC_HARD:
    case DOC_BLANK:
        put_break(p, d, t.indent, t.flat);
        break;
    case DOC_COMMA:
        put(p, t.flat ? STR("") : STR(","));
        break;
    case DOC_COMMENT:
        put_comment(p, d, t.indent);
        break;
    case DOC_SUFFIX:
        vec_push(p->arena, &p->waiting, d);
        break;
    case DOC_SEQ:
        push(p, &p->tasks, d->first, t.indent, t.flat);
        break;
    case DOC_INDENT:
        push(p, &p->tasks, d->first, t.indent + LAYOUT_INDENT, t.flat);
        break;
    case DOC_GROUP:
        push(p, &p->tasks, d->first, t.indent, !d->broken && (t.flat || fits(p, d)));
        break;
    }
}

void layout(Arena *a, Doc *doc, StrBuf *out) {
    Printer p = {.arena = a, .out = out};
    push(&p, &p.tasks, doc, 0, false);
    while (p.tasks.len) {
        Task t = p.tasks.data[--p.tasks.len];
        push(&p, &p.tasks, t.doc->next, t.indent, t.flat);
        put_doc(&p, t);
    }
    if (p.started || p.waiting.len)
        end_line(&p);
}
