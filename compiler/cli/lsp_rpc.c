// Messages of JSON-RPC, each after a header that says its length.
//
// The stream is trusted with nothing: a header that is too long, a length that is absent, doubled
// or too large ends the conversation, since where the next message begins can't be known.
#include "cli/lsp.h"
#include <stdlib.h>
#include <string.h>

enum { HEADER_LINE = 1024, HEADER_LINES = 32, MESSAGE_LIMIT = 128 << 20 };

// A header line without its end. False at the end of the stream, or if it is too long.
static bool read_line(FILE *in, char line[HEADER_LINE]) {
    int n = 0, c;
    while ((c = getc(in)) != EOF && c != '\n') {
        if (n == HEADER_LINE - 1)
            return false;
        line[n++] = (char)c;
    }
    if (n && line[n - 1] == '\r')
        n--;
    line[n] = 0;
    return c == '\n';
}

static bool is_field(const char *line, const char *name) {
    for (; *name; line++, name++) {
        char lower = *line >= 'A' && *line <= 'Z' ? (char)(*line + 32) : *line;
        if (lower != *name)
            return false;
    }
    return true;
}

// The value of Content-Length, or -1.
static long read_length(const char *text) {
    while (*text == ' ' || *text == '\t')
        text++;
    long n = 0;
    if (*text < '0' || *text > '9')
        return -1;
    for (; *text >= '0' && *text <= '9'; text++) {
        n = n * 10 + (*text - '0');
        if (n > MESSAGE_LIMIT)
            return -1;
    }
    return *text == 0 || *text == ' ' ? n : -1;
}

// The length that the next header announces, or -1.
static long read_header(FILE *in) {
    char line[HEADER_LINE];
    long length = -1;
    for (int i = 0; i < HEADER_LINES; i++) {
        if (!read_line(in, line))
            return -1;
        if (!*line)
            return length;
        if (!is_field(line, "content-length:"))
            continue;
        if (length >= 0)
            return -1;
        length = read_length(line + strlen("content-length:"));
        if (length < 0)
            return -1;
    }
    return -1;
}

RpcResult rpc_read(FILE *in, cJSON **message) {
    *message = NULL;
    long length = read_header(in), have = 0, room = 0;
    if (length < 0)
        return RPC_END;
    // The buffer grows with what comes, not with what is announced.
    char *text = NULL;
    while (have < length) {
        long want = length - have < 65536 ? length - have : 65536;
        if (have + want > room) {
            room = have + want > 2 * room ? have + want : 2 * room;
            char *more = realloc(text, (size_t)room);
            if (!more) {
                free(text);
                return RPC_END;
            }
            text = more;
        }
        size_t n = fread(text + have, 1, (size_t)want, in);
        if (!n) {
            free(text);
            return RPC_END;
        }
        have += (long)n;
    }
    cJSON *json = text ? cJSON_ParseWithLength(text, (size_t)length) : NULL;
    free(text);
    if (!cJSON_IsObject(json)) {
        cJSON_Delete(json);
        return RPC_MALFORMED;
    }
    *message = json;
    return RPC_MESSAGE;
}

void rpc_write(FILE *out, cJSON *message) {
    char *text = cJSON_PrintUnformatted(message);
    if (text) {
        fprintf(out, "Content-Length: %zu\r\n\r\n%s", strlen(text), text);
        fflush(out);
    }
    cJSON_free(text);
    cJSON_Delete(message);
}

static cJSON *envelope(const cJSON *id) {
    cJSON *m = cJSON_CreateObject();
    cJSON_AddStringToObject(m, "jsonrpc", "2.0");
    bool known = cJSON_IsNumber(id) || cJSON_IsString(id);
    cJSON_AddItemToObject(m, "id", known ? cJSON_Duplicate(id, 0) : cJSON_CreateNull());
    return m;
}

void rpc_answer(FILE *out, const cJSON *id, cJSON *result) {
    cJSON *m = envelope(id);
    cJSON_AddItemToObject(m, "result", result ? result : cJSON_CreateNull());
    rpc_write(out, m);
}

void rpc_error(FILE *out, const cJSON *id, int code, const char *text) {
    cJSON *m = envelope(id), *error = cJSON_AddObjectToObject(m, "error");
    cJSON_AddNumberToObject(error, "code", code);
    cJSON_AddStringToObject(error, "message", text);
    rpc_write(out, m);
}
