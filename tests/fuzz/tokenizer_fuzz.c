// Fuzz target: tokenizers, splitting patterns and texts. The first byte says what follows:
//   J  a tokenizer.json, a zero byte, and a text for it
//   P  a splitting pattern, a zero byte, and a text to cut
//   T  a text for a byte-level tokenizer with a few merges; it must come back whole
// Whatever is refused is refused with a reason.

#include "runtime/split.h"
#include "runtime/tokenizer.h"
#include "runtime/utf8.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool ok) {
    if (!ok)
        abort();
}

// Encodes, decodes at once and as a stream; with `whole` the text must come back.
static void use(const RtTokenizer *tokenizer, const char *text, size_t size, bool control,
                bool whole) {
    RtError err = {{0}};
    RtStream stream;
    int32_t *ids;
    char *back;
    const char *part;
    size_t count, back_size, part_size, at = 0;
    if (!rt_tokenizer_prompt(tokenizer, text, size, control, &ids, &count, &err)) {
        need(err.text[0] != '\0' && !(whole && rt_utf8_valid(text, size)));
        return;
    }
    need(rt_tokenizer_decode(tokenizer, ids, count, true, &back, &back_size, &err));
    need(!whole || (back_size == size && memcmp(back, text, size) == 0));
    rt_stream_start(&stream, tokenizer, true);
    for (size_t i = 0; i <= count; i++) {
        need(i < count ? rt_stream_feed(&stream, ids[i], &part, &part_size, &err)
                       : rt_stream_end(&stream, &part, &part_size, &err));
        need(rt_utf8_valid(part, part_size) && part_size <= back_size - at);
        need(memcmp(part, back + at, part_size) == 0);
        at += part_size;
    }
    need(at == back_size);
    rt_stream_free(&stream);
    free(ids);
    free(back);
}

static void try_json(const char *json, size_t json_size, const char *text, size_t size) {
    RtError err = {{0}};
    RtTokenizer *tokenizer = rt_tokenizer_from_json(json, json_size, "fuzz", &err);
    if (!tokenizer) {
        need(err.text[0] != '\0');
        return;
    }
    use(tokenizer, text, size, true, false);
    use(tokenizer, text, size, false, false);
    rt_tokenizer_free(tokenizer);
}

static void try_pattern(const char *pattern, size_t pattern_size, const char *text, size_t size) {
    RtError err = {{0}};
    RtSpans words = {0};
    for (int kind = 0; kind < 5 && rt_utf8_valid(text, size); kind++) {
        RtSplit split = {0};
        size_t end = 0;
        bool ok =
            rt_split_add(&split, pattern, pattern_size, false, (RtSplitKind)kind, kind & 1, &err) &&
            rt_split_run(&split, text, size, &words, &err);
        need(ok || err.text[0] != '\0');
        for (size_t i = 0; ok && i < words.count; i++) {
            need(words.items[i].size > 0 && words.items[i].at >= end);
            need(kind == RT_SPLIT_REMOVED || words.items[i].at == end);
            end = words.items[i].at + words.items[i].size;
            need(end <= size && rt_utf8_valid(text + words.items[i].at, words.items[i].size));
        }
        need(!ok || kind == RT_SPLIT_REMOVED || end == size);
        rt_split_free(&split);
        if (!ok)
            break;
    }
    free(words.items);
}

// A tokenizer with a piece for every byte, some merges, and two added tokens.
static RtTokenizer *plain(void) {
    char text[8192], symbol[8];
    size_t used = (size_t)sprintf(text, "{\"model\":{\"type\":\"BPE\",\"vocab\":{");
    for (unsigned byte = 0, moved = 256; byte < 256; byte++) {
        bool shown = (byte >= 33 && byte <= 126) || (byte >= 161 && byte != 173);
        unsigned code = shown ? byte : moved++;
        if (code < 128)
            sprintf(symbol, "%s%c", code == '"' || code == '\\' ? "\\" : "", (char)code);
        else
            sprintf(symbol, "%c%c", (char)(0xC0 | code >> 6), (char)(0x80 | (code & 63)));
        used += (size_t)sprintf(text + used, "\"%s\":%u,", symbol, byte);
    }
    sprintf(text + used,
            "\"aa\":256,\"aaa\":257,\"\xC4\xA0\xC4\xA0\":258,\"\xC3\xA2\xC4\xA4\":259},\"merges\":["
            "\"a a\",\"a aa\",\"\xC4\xA0 \xC4\xA0\",\"\xC3\xA2 \xC4\xA4\"]},\"added_tokens\":["
            "{\"id\":260,\"content\":\"<a>\",\"special\":true},{\"id\":261,\"content\":\"<a><b>\","
            "\"special\":false}],\"decoder\":{\"type\":\"ByteLevel\"},\"pre_tokenizer\":"
            "{\"type\":\"ByteLevel\",\"add_prefix_space\":false}}");
    RtError err = {{0}};
    RtTokenizer *tokenizer = rt_tokenizer_from_json(text, strlen(text), "plain", &err);
    if (!tokenizer)
        puts(err.text);
    need(tokenizer != NULL);
    return tokenizer;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2)
        return 0;
    char *copy = malloc(size - 1); // its end is the end
    if (!copy)
        return 0;
    memcpy(copy, data + 1, size - 1);
    const char *zero = memchr(copy, 0, size - 1);
    size_t first = zero ? (size_t)(zero - copy) : size - 1;
    size_t rest = zero ? size - 2 - first : 0;
    const char *text = zero ? zero + 1 : "";
    if (data[0] == 'J')
        try_json(copy, first, text, rest);
    if (data[0] == 'P')
        try_pattern(copy, first, text, rest);
    if (data[0] == 'T') {
        static RtTokenizer *tokenizer; // made once: the fuzzer calls this thread alone
        if (!tokenizer)
            tokenizer = plain();
        use(tokenizer, copy, size - 1, true, true);
        use(tokenizer, copy, size - 1, false, true);
    }
    free(copy);
    return 0;
}
