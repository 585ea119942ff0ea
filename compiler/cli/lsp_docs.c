// Documents: paths and URIs, places in UTF-16 units, checking, diagnostics.
#include "cli/lsp.h"
#include <string.h>

// ---- URIs --------------------------------------------------------------------------------------

static int hex_value(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

// The local path of a URI; the URI itself if it is no file's.
static const char *lsp_path(Arena *a, const char *uri) {
    static const char scheme[] = "file://";
    if (strncmp(uri, scheme, sizeof scheme - 1) != 0)
        return arena_copy(a, uri, strlen(uri));
    const char *p = uri + sizeof scheme - 1;
    if (*p != '/') // a host
        p = strchr(p, '/') ? strchr(p, '/') : "/";
    StrBuf b = strbuf_new(a);
    for (; *p; p++) {
        int high = *p == '%' ? hex_value(p[1]) : -1, low = high >= 0 ? hex_value(p[2]) : -1;
        bool coded = low >= 0 && (high || low);
        strbuf_char(&b, coded ? (char)(high * 16 + low) : *p);
        p += coded ? 2 : 0;
    }
    return b.data;
}

char *lsp_uri(Arena *a, const char *path) {
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-~";
    StrBuf b = strbuf_new(a);
    strbuf_printf(&b, "file://");
    for (; *path; path++) {
        if (strchr(plain, *path))
            strbuf_char(&b, *path);
        else
            strbuf_printf(&b, "%%%02X", (unsigned char)*path);
    }
    return b.data;
}

// ---- Places ------------------------------------------------------------------------------------

static int sequence_length(unsigned char c) {
    return c < 0xC0 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
}

int lsp_offset(const Source *source, int line, int character) {
    if (line < 0 || line >= source->line_count)
        return line < 0 ? 0 : source->text.len;
    int at = source->lines[line];
    while (character > 0 && at < source->text.len && source->text.ptr[at] != '\n') {
        int n = sequence_length((unsigned char)source->text.ptr[at]);
        character -= n == 4 ? 2 : 1;
        at = at + n < source->text.len ? at + n : source->text.len;
    }
    return at;
}

static cJSON *place(const Source *source, int offset) {
    int line = 1, column = 1, units = 0;
    source_place(source, offset, &line, &column);
    for (int i = source->lines[line - 1]; i < offset && i < source->text.len;) {
        int n = sequence_length((unsigned char)source->text.ptr[i]);
        units += n == 4 ? 2 : 1;
        i += n;
    }
    cJSON *p = cJSON_CreateObject();
    cJSON_AddNumberToObject(p, "line", line - 1);
    cJSON_AddNumberToObject(p, "character", units);
    return p;
}

cJSON *lsp_range(const Source *source, int start, int end) {
    cJSON *r = cJSON_CreateObject();
    cJSON_AddItemToObject(r, "start", place(source, start));
    cJSON_AddItemToObject(r, "end", place(source, end));
    return r;
}

// ---- Checking ----------------------------------------------------------------------------------

Document lsp_open(const char *uri, const char *text) {
    Document d = {.s = session_new()};
    Arena *a = d.s->arena;
    size_t length = strlen(text);
    if (length > SOURCE_LIMIT)
        length = SOURCE_LIMIT;
    d.uri = arena_copy(a, uri, strlen(uri));
    d.path = lsp_path(a, uri);
    Str copy = {arena_copy(a, text, length), (int)length};
    d.file = session_add(d.s, source_new(a, d.path, copy));
    d.program = check_program(d.s, d.file, NULL);
    Serve serve;
    if (!d.s->errors)
        check_serve(d.program, NULL, &serve);
    return d;
}

// ---- Diagnostics -------------------------------------------------------------------------------

static const char *whole_message(const Document *d, const Diag *diag, bool elsewhere) {
    StrBuf b = strbuf_new(d->s->arena);
    const Source *source = session_source(d->s, diag->span);
    if (elsewhere && source)
        strbuf_printf(&b, "%s: ", source->path);
    strbuf_printf(&b, "%s", diag->message);
    for (const Note *n = diag->notes; n; n = n->next)
        strbuf_printf(&b, "\nnote: %s", n->text);
    if (diag->help)
        strbuf_printf(&b, "\nhelp: %s", diag->help);
    return b.data;
}

static cJSON *related(const Document *d, const Diag *diag) {
    cJSON *list = NULL;
    for (const Note *n = diag->notes; n; n = n->next) {
        if (n->span.file != d->file)
            continue;
        const Source *source = session_source(d->s, n->span);
        cJSON *one = cJSON_CreateObject(), *location = cJSON_AddObjectToObject(one, "location");
        cJSON_AddStringToObject(location, "uri", d->uri);
        cJSON_AddItemToObject(location, "range", lsp_range(source, n->span.start, n->span.end));
        cJSON_AddStringToObject(one, "message", n->text);
        list = list ? list : cJSON_CreateArray();
        cJSON_AddItemToArray(list, one);
    }
    return list;
}

static cJSON *diagnostic(const Document *d, const Diag *diag) {
    const DiagInfo *info = diag_info(diag->code);
    const Source *own = session_source(d->s, (Span){d->file, 0, 0});
    bool here = diag->span.file == d->file;
    cJSON *j = cJSON_CreateObject(), *notes = here ? related(d, diag) : NULL;
    cJSON_AddItemToObject(j, "range",
                          lsp_range(own, here ? diag->span.start : 0, here ? diag->span.end : 0));
    cJSON_AddNumberToObject(j, "severity", info->severity == SEVERITY_ERROR ? 1 : 2);
    cJSON_AddStringToObject(j, "code", info->name);
    cJSON_AddStringToObject(j, "source", "serin");
    cJSON_AddStringToObject(j, "message", whole_message(d, diag, !here));
    if (notes)
        cJSON_AddItemToObject(j, "relatedInformation", notes);
    return j;
}

cJSON *lsp_diagnostics(const Document *d) {
    cJSON *params = cJSON_CreateObject();
    cJSON_AddStringToObject(params, "uri", d->uri);
    cJSON *list = cJSON_AddArrayToObject(params, "diagnostics");
    for (int i = 0; i < d->s->diags.len; i++) {
        const Diag *diag = d->s->diags.data[i];
        bool warning = diag_info(diag->code)->severity == SEVERITY_WARNING;
        if (!(warning && d->s->errors)) // as in print: warnings only if there are no errors
            cJSON_AddItemToArray(list, diagnostic(d, diag));
    }
    return params;
}
