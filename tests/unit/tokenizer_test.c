// Tokenizers of real models against reference ids: SmolLM2 from its tokenizer.json and from a GGUF
// made of the same vocabulary, and the small model of verses. Streaming is tried id by id, and on
// every short sequence of bytes against another way of finding broken UTF-8.
//
// Run it from the root of the repository, or give that as the argument.

#include "runtime/json.h"
#include "runtime/tokenizer.h"
#include "runtime/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    int passed; // checks that held
    int failed; // checks that did not
} Tally;

static bool check(Tally *t, bool ok, const char *what, const char *more) {
    if (ok)
        t->passed++;
    else if (++t->failed < 20)
        printf("FAILED: %s: %s\n", what, more);
    return ok;
}

// The ids under a key of a row, and how many; NULL if there is no such key.
static int32_t *row_ids(const RtJsonValue *row, const char *key, size_t *count) {
    const RtJsonValue *list = rt_json_find(row, key);
    int32_t *ids = list ? malloc((list->length + 1) * sizeof *ids) : NULL;
    int64_t id;
    *count = 0;
    for (const RtJsonValue *v = ids ? rt_json_first(list) : NULL; v; v = rt_json_next(v))
        ids[(*count)++] = rt_json_i64(v, &id) ? (int32_t)id : -1;
    return ids;
}

// Feeds ids one at a time: every part is whole characters, and the parts are the text.
static void stream_row(Tally *t, const RtTokenizer *tokenizer, const int32_t *ids, size_t count,
                       const RtJsonValue *text) {
    RtStream stream;
    RtError err = {{0}};
    const char *part;
    size_t size, at = 0;
    bool same = true, whole = true;
    rt_stream_start(&stream, tokenizer, true);
    for (size_t i = 0; i <= count; i++) {
        bool ok = i < count ? rt_stream_feed(&stream, ids[i], &part, &size, &err)
                            : rt_stream_end(&stream, &part, &size, &err);
        whole = whole && rt_utf8_valid(part, size);
        same = same && ok && size <= text->length - at && !memcmp(part, text->text + at, size);
        at += size;
    }
    check(t, whole, "a part of a stream has a broken character", text->text);
    check(t, same && at == text->length, "a stream is not the text", text->text);
    rt_stream_free(&stream);
}

static void test_row(Tally *t, const RtTokenizer *tokenizer, const RtJsonValue *row) {
    const RtJsonValue *text = rt_json_find(row, "text");
    size_t count, got_count = 0, size;
    int32_t *got = NULL, *ids = row_ids(row, "ids", &count);
    char *back = NULL;
    RtError err = {{0}};
    if (ids) {
        bool ok =
            rt_tokenizer_encode(tokenizer, text->text, text->length, true, &got, &got_count, &err);
        check(t, ok, text->text, err.text);
        check(t, ok && got_count == count && (!count || !memcmp(got, ids, count * sizeof *ids)),
              "ids are not the reference's", text->text);
    } else {
        ids = row_ids(row, "decode", &count);
    }
    bool ok = rt_tokenizer_decode(tokenizer, ids, count, true, &back, &size, &err);
    check(t, ok && size == text->length && memcmp(back, text->text, size) == 0,
          "decoding does not give the text", text->text);
    stream_row(t, tokenizer, ids, count, text);
    free(ids);
    free(got);
    free(back);
}

static void test_file(Tally *t, const RtTokenizer *tokenizer, const char *path) {
    RtError err = {{0}};
    RtJson *rows = rt_json_read(path, NULL, &err);
    size_t count = 0;
    if (!check(t, tokenizer && rows, path, err.text))
        return;
    for (const RtJsonValue *v = rt_json_first(rt_json_root(rows)); v; v = rt_json_next(v), count++)
        test_row(t, tokenizer, v);
    check(t, count >= 12, path, "few rows");
    rt_json_free(rows);
}

typedef struct {
    unsigned char *bytes; // of a GGUF file
    size_t size;          // written
    size_t room;          // allocated
} Out;

static void put(Out *out, const void *bytes, size_t size) {
    if (out->room - out->size < size) {
        size_t room = 2 * (out->room + size);
        unsigned char *grown = realloc(out->bytes, room);
        if (!grown)
            exit(1);
        out->bytes = grown;
        out->room = room;
    }
    if (size > 0)
        memcpy(out->bytes + out->size, bytes, size);
    out->size += size;
}

static void put_number(Out *out, uint64_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        unsigned char byte = (unsigned char)(value >> 8 * i);
        put(out, &byte, 1);
    }
}

static void put_text(Out *out, const char *text, size_t size) {
    put_number(out, size, 8);
    put(out, text, size);
}

static void put_key(Out *out, const char *key, RtGgufType type) {
    put_text(out, key, strlen(key));
    put_number(out, type, 4);
}

static void put_array(Out *out, const char *key, RtGgufType element, uint64_t count) {
    put_key(out, key, RT_GGUF_ARRAY);
    put_number(out, element, 4);
    put_number(out, count, 8);
}

static void put_merges(Out *out, const RtJsonValue *merges) {
    put_array(out, "tokenizer.ggml.merges", RT_GGUF_TEXT, merges->length);
    for (const RtJsonValue *v = rt_json_first(merges); v; v = rt_json_next(v)) {
        const RtJsonValue *left = rt_json_first(v), *right = rt_json_next(left);
        put_number(out, left->length + 1ull + right->length, 8);
        put(out, left->text, left->length);
        put(out, " ", 1);
        put(out, right->text, right->length);
    }
}

// SmolLM2's tokenizer as its GGUF files have it.
static RtTokenizer *as_gguf(const RtJson *json, RtError *err) {
    const RtJsonValue *model = rt_json_find(rt_json_root(json), "model");
    const RtJsonValue *vocab = rt_json_find(model, "vocab");
    const RtJsonValue **by_id = calloc(vocab->length, sizeof *by_id);
    Out out = {0};
    int64_t id;
    if (!by_id)
        exit(1);
    for (const RtJsonValue *v = rt_json_first(vocab); v; v = rt_json_next(v))
        if (rt_json_i64(v, &id) && id >= 0 && id < vocab->length)
            by_id[id] = v;
    put(&out, "GGUF\3\0\0\0", 8);
    put_number(&out, 0, 8);
    put_number(&out, 6, 8);
    put_key(&out, "tokenizer.ggml.model", RT_GGUF_TEXT);
    put_text(&out, "gpt2", 4);
    put_key(&out, "tokenizer.ggml.pre", RT_GGUF_TEXT);
    put_text(&out, "smollm", 6);
    put_array(&out, "tokenizer.ggml.tokens", RT_GGUF_TEXT, vocab->length);
    for (uint32_t i = 0; i < vocab->length; i++)
        put_text(&out, by_id[i]->key, by_id[i]->key_length);
    put_array(&out, "tokenizer.ggml.token_type", RT_GGUF_I32, vocab->length);
    for (uint32_t i = 0; i < vocab->length; i++)
        put_number(&out, i < 17 ? 3 : 1, 4); // its first 17 are control tokens
    put_merges(&out, rt_json_find(model, "merges"));
    put_key(&out, "tokenizer.ggml.eos_token_id", RT_GGUF_U32);
    put_number(&out, 2, 4);
    RtGguf *gguf = rt_gguf_parse(out.bytes, out.size, "made.gguf", err);
    RtTokenizer *tokenizer = gguf ? rt_tokenizer_from_gguf(gguf, err) : NULL;
    rt_gguf_free(gguf);
    free(out.bytes);
    free(by_id);
    return tokenizer;
}

static void test_control(Tally *t, const RtTokenizer *tokenizer) {
    static const char text[] = "<|im_start|>hi<|im_end|>";
    int32_t *ids;
    size_t count, size;
    char *back;
    RtError err = {{0}};
    check(t, rt_tokenizer_find(tokenizer, "<|im_end|>") == 2, "find", "<|im_end|>");
    check(t, rt_tokenizer_find(tokenizer, "<|no|>") == -1, "find", "<|no|>");
    check(t, rt_tokenizer_control(tokenizer, 2) && !rt_tokenizer_control(tokenizer, 81), "kinds",
          "2 is a control token, 81 is not");
    rt_tokenizer_encode(tokenizer, text, strlen(text), false, &ids, &count, &err);
    bool plain = count > 3;
    for (size_t i = 0; i < count; i++)
        plain = plain && !rt_tokenizer_control(tokenizer, ids[i]);
    check(t, plain, "a user's text has no control tokens", text);
    rt_tokenizer_decode(tokenizer, ids, count, false, &back, &size, &err);
    check(t, back && strcmp(back, text) == 0, "and comes back as it was", text);
    free(ids);
    free(back);
    rt_tokenizer_encode(tokenizer, text, strlen(text), true, &ids, &count, &err);
    check(t, count == 3 && ids[0] == 1 && ids[2] == 2, "a template's text has them", text);
    rt_tokenizer_decode(tokenizer, ids, count, false, &back, &size, &err);
    check(t, back && strcmp(back, "hi") == 0, "they are left out of an answer", text);
    free(ids);
    free(back);
}

static void test_refused_text(Tally *t, const RtTokenizer *tokenizer) {
    static const char *const texts[] = {"a\xFF",     "\xC3", "\xED\xA0\x80", "\xF5\x80\x80\x80",
                                        "x\xE2\x82", "\x04"};
    int32_t *ids, bad = -1;
    size_t count, size;
    char *back;
    RtError err = {{0}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        bool ok =
            rt_tokenizer_encode(tokenizer, texts[i], strlen(texts[i]), true, &ids, &count, &err);
        check(t, !ok && !ids && count == 0, "such a text has no ids", texts[i]);
        check(t, strstr(err.text, i < 5 ? "not UTF-8" : "no piece for byte 0x04") != NULL,
              "the reason", err.text);
    }
    check(t, !rt_tokenizer_decode(tokenizer, &bad, 1, true, &back, &size, &err) && !back, "id -1",
          err.text);
    bad = (int32_t)rt_tokenizer_vocab(tokenizer);
    check(t, !rt_tokenizer_decode(tokenizer, &bad, 1, true, &back, &size, &err) && !back,
          "id = vocabulary", err.text);
}

// True if these bytes can begin a character: some continuation makes one.
static bool can_begin(const unsigned char *bytes, size_t size) {
    static const unsigned char more[] = {0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF};
    unsigned char tried[4];
    if (size >= 4)
        return false;
    memcpy(tried, bytes, size);
    for (size_t i = 0; i < sizeof more; i++) {
        tried[size] = more[i];
        if (rt_utf8_length(tried, size + 1) == size + 1 || can_begin(tried, size + 1))
            return true;
    }
    return false;
}

// The text with every longest beginning of a character that does not end replaced.
static size_t lossy(const unsigned char *bytes, size_t size, char *out) {
    size_t written = 0;
    for (size_t at = 0; at < size;) {
        size_t used = rt_utf8_length(bytes + at, size - at);
        if (used > 0) {
            memcpy(out + written, bytes + at, used);
            written += used;
        } else {
            for (used = 1; at + used < size && can_begin(bytes + at, used + 1); used++)
                ;
            memcpy(out + written, "\xEF\xBF\xBD", 3);
            written += 3;
        }
        at += used;
    }
    return written;
}

// Every sequence of four bytes out of the telling ones, one token a byte.
static void test_bytes(Tally *t, const RtTokenizer *tokenizer) {
    static const unsigned char telling[] = {0x41, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC2,
                                            0xDF, 0xE0, 0xE1, 0xED, 0xEF, 0xF0, 0xF3, 0xF4};
    int32_t ids[256], wanted[4];
    unsigned char bytes[4];
    char expected[16];
    const char *piece;
    size_t size, wrong = 0, tried = 0;
    for (int32_t id = 0; id < (int32_t)rt_tokenizer_vocab(tokenizer); id++)
        if (rt_tokenizer_piece(tokenizer, id, &piece, &size) && size == 1)
            ids[(unsigned char)piece[0]] = id;
    for (unsigned code = 0; code < 16u * 16 * 16 * 16; code++, tried++) {
        char *text;
        for (unsigned i = 0; i < 4; i++) {
            bytes[i] = telling[code >> 4 * i & 15];
            wanted[i] = ids[bytes[i]];
        }
        size_t expected_size = lossy(bytes, 4, expected);
        rt_tokenizer_decode(tokenizer, wanted, 4, true, &text, &size, NULL);
        wrong += !text || size != expected_size || memcmp(text, expected, size) != 0;
        free(text);
    }
    check(t, wrong == 0 && tried == 65536, "broken UTF-8", "replaced otherwise than expected");
}

static RtTokenizer *load(Tally *t, const char *path) {
    RtError err = {{0}};
    RtTokenizer *tokenizer = rt_tokenizer_read(path, &err);
    check(t, tokenizer != NULL, path, err.text);
    return tokenizer;
}

int main(int argc, char **argv) {
    Tally t = {0};
    RtError err = {{0}};
    if (argc > 1 && chdir(argv[1]) != 0)
        return 2;
    RtJson *json = rt_json_read("tests/data/smollm2/tokenizer.json", NULL, &err);
    RtTokenizer *smollm2 = load(&t, "tests/data/smollm2/tokenizer.json");
    RtTokenizer *verses = load(&t, "tests/data/verses/tokenizer.json");
    RtTokenizer *gguf = json ? as_gguf(json, &err) : NULL;
    check(&t, gguf != NULL, "SmolLM2 as GGUF", err.text);
    if (smollm2 && verses && gguf) {
        test_file(&t, smollm2, "tests/data/smollm2/tokens.json");
        test_file(&t, gguf, "tests/data/smollm2/tokens.json");
        test_file(&t, verses, "tests/data/verses/tokens.json");
        check(&t, rt_tokenizer_vocab(smollm2) == 49152 && rt_tokenizer_vocab(verses) == 768,
              "vocabularies", "49152 and 768");
        test_control(&t, smollm2);
        test_control(&t, gguf);
        test_refused_text(&t, smollm2);
        test_bytes(&t, verses);
        check(&t, rt_tokenizer_is_end(gguf, 2) && !rt_tokenizer_is_end(gguf, 1), "ends", "GGUF");
        check(&t,
              rt_tokenizer_add_end(smollm2, 0) && rt_tokenizer_is_end(smollm2, 0) &&
                  !rt_tokenizer_add_end(smollm2, 49152),
              "ends", "added");
    }
    rt_tokenizer_free(smollm2);
    rt_tokenizer_free(verses);
    rt_tokenizer_free(gguf);
    rt_json_free(json);
    printf("%d passed, %d failed\n", t.passed, t.failed);
    return t.failed != 0;
}
