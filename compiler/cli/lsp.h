// The language server's parts: messages, documents, and what stands under the cursor.
#pragma once
#include "check/check.h"
#include <cjson/cJSON.h>

// ---- lsp_rpc.c: JSON-RPC over a stream ---------------------------------------------------------

typedef enum {
    RPC_MESSAGE,   // an object was read
    RPC_MALFORMED, // the bytes announced were read, but they are no JSON object
    RPC_END,       // the stream ended, or what it holds can't be framed
} RpcResult;

// Reads one message; *message is the caller's to delete.
RpcResult rpc_read(FILE *in, cJSON **message);
void rpc_write(FILE *out, cJSON *message); // deletes it
// Answers the request `id` (NULL for none that is known); takes `result`.
void rpc_answer(FILE *out, const cJSON *id, cJSON *result);
void rpc_error(FILE *out, const cJSON *id, int code, const char *text);

// ---- lsp_docs.c: open documents ----------------------------------------------------------------

// A document with its latest text, checked.
typedef struct {
    Session *s; // owns all of it
    const char *uri, *path;
    Program *program;
    int file; // its source in the session
} Document;

// The URI of a local path.
char *lsp_uri(Arena *a, const char *path);

// Checks the text. The document is the caller's to free with its session.
Document lsp_open(const char *uri, const char *text);

// Lines and UTF-16 units count from 0. Places beyond the text are cut to it.
int lsp_offset(const Source *source, int line, int character);
cJSON *lsp_range(const Source *source, int start, int end);

// What publishDiagnostics carries: those of the document, and those elsewhere at its beginning.
cJSON *lsp_diagnostics(const Document *d);

// ---- lsp_find.c: under the cursor --------------------------------------------------------------

typedef struct {
    Span span;        // what was found; file 0 if nothing was
    const char *text; // what it is, as source text; or NULL
    Span target;      // where it is declared; file 0 if unknown
} Found;

Found lsp_find(const Document *d, int offset);
