// serin lsp: the language server protocol over stdin and stdout.
//
// Every change checks the whole document again: that takes milliseconds. The answers come from the
// tree that the last check left.
#include "cli/cli.h"
#include "cli/lsp.h"
#include "syntax/format.h"
#include <stdlib.h>
#include <string.h>

static const Flag flags[] = {
    {"--stdio", FLAG_BOOL, NULL, "the only way to talk, and the default"},
};

enum { MOST_DOCUMENTS = 1024 };
enum {
    PARSE_ERROR = -32700,
    INVALID_REQUEST = -32600,
    NO_METHOD = -32601,
    NOT_INITIALIZED = -32002
};

typedef struct {
    FILE *in, *out;
    Document *docs; // MOST_DOCUMENTS of them
    int count;
    bool initialized, shut_down;
} Server;

// ---- Reading parameters ------------------------------------------------------------------------

static const cJSON *inner(const cJSON *j, const char *a, const char *b) {
    j = cJSON_GetObjectItemCaseSensitive(j, a);
    return b ? cJSON_GetObjectItemCaseSensitive(j, b) : j;
}

static const char *text_of(const cJSON *params, const char *a, const char *b) {
    return cJSON_GetStringValue(inner(params, a, b));
}

// The document that a request is about, or NULL.
static Document *find_document(Server *sv, const cJSON *params) {
    const char *uri = text_of(params, "textDocument", "uri");
    for (int i = 0; uri && i < sv->count; i++) {
        if (strcmp(sv->docs[i].uri, uri) == 0)
            return &sv->docs[i];
    }
    return NULL;
}

static int int_of(const cJSON *number) {
    double v = cJSON_IsNumber(number) ? number->valuedouble : 0;
    return v > 0 && v < 1e9 ? (int)v : 0;
}

static Found find_at(const Document *d, const cJSON *params) {
    const Source *source = session_source(d->s, (Span){d->file, 0, 0});
    int line = int_of(inner(params, "position", "line"));
    int character = int_of(inner(params, "position", "character"));
    return lsp_find(d, lsp_offset(source, line, character));
}

// ---- Documents ---------------------------------------------------------------------------------

static void notify(Server *sv, const char *method, cJSON *params) {
    cJSON *m = cJSON_CreateObject();
    cJSON_AddStringToObject(m, "jsonrpc", "2.0");
    cJSON_AddStringToObject(m, "method", method);
    cJSON_AddItemToObject(m, "params", params);
    rpc_write(sv->out, m);
}

static void set_text(Server *sv, Document *old, const char *uri, const char *text) {
    if (!old && sv->count == MOST_DOCUMENTS)
        return;
    Document d = lsp_open(uri, text);
    if (old)
        session_free(old->s);
    else
        old = &sv->docs[sv->count++];
    *old = d;
    notify(sv, "textDocument/publishDiagnostics", lsp_diagnostics(old));
}

static void did_open(Server *sv, const cJSON *params) {
    const char *uri = text_of(params, "textDocument", "uri");
    const char *text = text_of(params, "textDocument", "text");
    if (uri && text)
        set_text(sv, find_document(sv, params), uri, text);
}

static void did_change(Server *sv, const cJSON *params) {
    Document *d = find_document(sv, params);
    const cJSON *changes = inner(params, "contentChanges", NULL), *change;
    const char *text = NULL;
    cJSON_ArrayForEach(change, changes) {
        if (!inner(change, "range", NULL) && text_of(change, "text", NULL))
            text = text_of(change, "text", NULL);
    }
    if (d && text)
        set_text(sv, d, d->uri, text);
}

static void did_close(Server *sv, const cJSON *params) {
    Document *d = find_document(sv, params);
    if (!d)
        return;
    cJSON *none = cJSON_CreateObject();
    cJSON_AddStringToObject(none, "uri", d->uri);
    cJSON_AddArrayToObject(none, "diagnostics");
    session_free(d->s);
    *d = sv->docs[--sv->count];
    notify(sv, "textDocument/publishDiagnostics", none);
}

// What another document imports may have changed: all are checked again.
static void did_save(Server *sv) {
    for (int i = 0; i < sv->count; i++) {
        Document *d = &sv->docs[i];
        set_text(sv, d, d->uri, session_source(d->s, (Span){d->file, 0, 0})->text.ptr);
    }
}

// ---- Requests ----------------------------------------------------------------------------------

static cJSON *initialize(void) {
    cJSON *result = cJSON_CreateObject(), *can = cJSON_AddObjectToObject(result, "capabilities");
    cJSON *sync = cJSON_AddObjectToObject(can, "textDocumentSync");
    cJSON_AddTrueToObject(sync, "openClose");
    cJSON_AddNumberToObject(sync, "change", 1); // whole texts
    cJSON_AddTrueToObject(sync, "save");
    cJSON_AddStringToObject(can, "positionEncoding", "utf-16");
    cJSON_AddTrueToObject(can, "hoverProvider");
    cJSON_AddTrueToObject(can, "definitionProvider");
    cJSON_AddTrueToObject(can, "documentFormattingProvider");
    cJSON *info = cJSON_AddObjectToObject(result, "serverInfo");
    cJSON_AddStringToObject(info, "name", "serin");
    return result;
}

static cJSON *hover(Server *sv, const cJSON *params) {
    const Document *d = find_document(sv, params);
    Found found = d ? find_at(d, params) : (Found){0};
    if (!found.text)
        return NULL;
    const Source *source = session_source(d->s, found.span);
    cJSON *result = cJSON_CreateObject(), *contents = cJSON_AddObjectToObject(result, "contents");
    cJSON_AddStringToObject(contents, "kind", "markdown");
    cJSON_AddStringToObject(contents, "value",
                            arena_printf(d->s->arena, "```serin\n%s\n```", found.text));
    cJSON_AddItemToObject(result, "range", lsp_range(source, found.span.start, found.span.end));
    return result;
}

// The place of a declaration; NULL for what is in no file, such as the library inside the command.
static cJSON *definition(Server *sv, const cJSON *params) {
    const Document *d = find_document(sv, params);
    Span target = d ? find_at(d, params).target : (Span){0};
    const Source *source = d ? session_source(d->s, target) : NULL;
    if (!source)
        return NULL;
    char *real = target.file == d->file ? NULL : realpath(source->path, NULL);
    if (target.file != d->file && !real)
        return NULL;
    cJSON *result = cJSON_CreateObject();
    cJSON_AddStringToObject(result, "uri", real ? lsp_uri(d->s->arena, real) : d->uri);
    cJSON_AddItemToObject(result, "range", lsp_range(source, target.start, target.end));
    free(real);
    return result;
}

// One edit of the whole text; none if there is nothing to do; NULL if there are syntax errors.
static cJSON *formatting(Server *sv, const cJSON *params) {
    const Document *d = find_document(sv, params);
    if (!d)
        return NULL;
    Session *s = session_new();
    const Source *source = session_source(d->s, (Span){d->file, 0, 0});
    StrBuf text = strbuf_new(s->arena);
    cJSON *edits = NULL;
    if (format_source(s, session_add(s, source_new(s->arena, d->path, source->text)), &text) ==
        FORMAT_FINE) {
        edits = cJSON_CreateArray();
        if (!str_eq((Str){text.data, text.len}, source->text)) {
            cJSON *edit = cJSON_CreateObject();
            cJSON_AddItemToObject(edit, "range", lsp_range(source, 0, source->text.len));
            cJSON_AddStringToObject(edit, "newText", text.data);
            cJSON_AddItemToArray(edits, edit);
        }
    }
    session_free(s);
    return edits;
}

// ---- Dispatch ----------------------------------------------------------------------------------

static void answer(Server *sv, const char *method, const cJSON *id, const cJSON *params) {
    if (strcmp(method, "initialize") == 0 && !sv->initialized) {
        sv->initialized = true;
        rpc_answer(sv->out, id, initialize());
    } else if (!sv->initialized) {
        rpc_error(sv->out, id, NOT_INITIALIZED, "the first request is initialize");
    } else if (sv->shut_down || strcmp(method, "initialize") == 0) {
        rpc_error(sv->out, id, INVALID_REQUEST, "not at this time");
    } else if (strcmp(method, "shutdown") == 0) {
        sv->shut_down = true;
        rpc_answer(sv->out, id, NULL);
    } else if (strcmp(method, "textDocument/hover") == 0) {
        rpc_answer(sv->out, id, hover(sv, params));
    } else if (strcmp(method, "textDocument/definition") == 0) {
        rpc_answer(sv->out, id, definition(sv, params));
    } else if (strcmp(method, "textDocument/formatting") == 0) {
        rpc_answer(sv->out, id, formatting(sv, params));
    } else {
        rpc_error(sv->out, id, NO_METHOD, "there is no such method");
    }
}

static void hear(Server *sv, const char *method, const cJSON *params) {
    if (!sv->initialized || sv->shut_down)
        return;
    if (strcmp(method, "textDocument/didOpen") == 0)
        did_open(sv, params);
    else if (strcmp(method, "textDocument/didChange") == 0)
        did_change(sv, params);
    else if (strcmp(method, "textDocument/didClose") == 0)
        did_close(sv, params);
    else if (strcmp(method, "textDocument/didSave") == 0)
        did_save(sv);
}

// False when the conversation is over.
static bool serve_one(Server *sv) {
    cJSON *message;
    RpcResult result = rpc_read(sv->in, &message);
    if (result == RPC_MALFORMED)
        rpc_error(sv->out, NULL, PARSE_ERROR, "the message is no JSON object");
    if (result != RPC_MESSAGE)
        return result == RPC_MALFORMED;
    const cJSON *id = inner(message, "id", NULL), *params = inner(message, "params", NULL);
    const char *method = text_of(message, "method", NULL);
    bool over = method && strcmp(method, "exit") == 0;
    if (method && id)
        answer(sv, method, id, params);
    else if (method)
        hear(sv, method, params);
    else if (id && !inner(message, "result", NULL) && !inner(message, "error", NULL))
        rpc_error(sv->out, id, INVALID_REQUEST, "the message has no method");
    cJSON_Delete(message);
    return !over;
}

static int run(Arena *a, const Args *args) {
    Server sv = {.in = stdin, .out = stdout};
    if (args->paths.len)
        return usage_error("lsp takes no paths: an editor tells them");
    sv.docs = NEW_N(a, Document, MOST_DOCUMENTS);
    while (serve_one(&sv)) {
    }
    for (int i = 0; i < sv.count; i++)
        session_free(sv.docs[i].s);
    return sv.shut_down ? EXIT_FINE : EXIT_WRONG;
}

const Command command_lsp = {"lsp",
                             "[--stdio]",
                             "Answers an editor: diagnostics, types, definitions, formatting.",
                             "serin lsp",
                             COMMAND_FLAGS(flags),
                             run};
