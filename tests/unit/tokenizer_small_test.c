// A small made-up tokenizer, changed in one place at a time: what each setting does, and what must
// be refused with which words. The same for the metadata of a GGUF file.

#include "runtime/tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

// The name of a byte's piece: a character of Latin-1 or from U+0100 on.
static size_t spell(unsigned byte, char *out) {
    unsigned moved = 0, symbol = byte;
    for (unsigned b = 0; b <= byte; b++) {
        bool shown = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
        if (b == byte && !shown)
            symbol = 256 + moved;
        moved += !shown;
    }
    if (symbol < 128) {
        out[0] = (char)symbol;
        return 1;
    }
    out[0] = (char)(0xC0 | symbol >> 6);
    out[1] = (char)(0x80 | (symbol & 63));
    return 2;
}

static const char tail[] =
    "\"he\":256,\"ll\":257,\"hell\":258,\"\xC4\xA0"
    "a\":259,\"\xC3\x83\xC2\xA9\":260},"
    "\"merges\":[\"h e\",\"l l\",[\"he\",\"ll\"],\"\xC4\xA0 a\",\"\xC3\x83 \xC2\xA9\"]},"
    "\"added_tokens\":[{\"id\":261,\"content\":\"<s>\",\"single_word\":false,\"lstrip\":false,"
    "\"rstrip\":false,\"normalized\":false,\"special\":true},"
    "{\"id\":262,\"content\":\"<n>\",\"normalized\":true,\"special\":false}],"
    "\"normalizer\":null,\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false,"
    "\"use_regex\":true},\"post_processor\":null,\"decoder\":{\"type\":\"ByteLevel\"}}";

// The tokenizer's text with the first `find` replaced (find "": nothing is). The caller frees it.
static char *small(const char *find, const char *replace) {
    char *text = malloc(16384), *out = malloc(16384 + strlen(replace));
    if (!text || !out)
        exit(1);
    size_t used =
        (size_t)sprintf(text, "{\"version\":\"1.0\",\"model\":{\"type\":\"BPE\",\"vocab\":{");
    for (unsigned byte = 0; byte < 256; byte++) {
        text[used++] = '"';
        if (byte == '"' || byte == '\\')
            text[used++] = '\\';
        used += spell(byte, text + used);
        used += (size_t)sprintf(text + used, "\":%u,", byte);
    }
    strcpy(text + used, tail);
    const char *place = *find ? strstr(text, find) : NULL;
    if (*find && !place) {
        printf("no \"%s\" in the tokenizer\n", find);
        exit(1);
    }
    if (place)
        sprintf(out, "%.*s%s%s", (int)(place - text), text, replace, place + strlen(find));
    else
        strcpy(out, text);
    free(text);
    return out;
}

static RtTokenizer *change(const char *find, const char *replace, RtError *err) {
    char *text = small(find, replace);
    RtTokenizer *tokenizer = rt_tokenizer_from_json(text, strlen(text), "t.json", err);
    free(text);
    return tokenizer;
}

// Encodes and compares with ids written as text.
static void expect(Tally *t, const RtTokenizer *tokenizer, bool prompt, const char *text,
                   const char *expected) {
    char got[256] = "";
    int32_t *ids = NULL;
    size_t count = 0, used = 0;
    RtError err = {{0}};
    if (!tokenizer) {
        check(t, false, "no tokenizer for", text);
        return;
    }
    bool ok = prompt ? rt_tokenizer_prompt(tokenizer, text, strlen(text), true, &ids, &count, &err)
                     : rt_tokenizer_encode(tokenizer, text, strlen(text), true, &ids, &count, &err);
    for (size_t i = 0; ok && i < count && used < 200; i++)
        used += (size_t)sprintf(got + used, "%s%d", i ? " " : "", (int)ids[i]);
    check(t, strcmp(ok ? got : err.text, expected) == 0, expected, ok ? got : err.text);
    free(ids);
}

typedef struct {
    const char *find;     // in the tokenizer
    const char *replace;  // what stands there instead
    const char *text;     // to encode
    const char *expected; // its ids
} Setting;

static const Setting settings[] = {
    {"", "", "hell a", "258 259"},
    {"", "", "helle", "258 101"},
    {"", "", "hel<s>l", "256 108 261 108"},
    {"", "", "<n><n>h", "262 262 104"},
    {"", "", "e\xCC\x81", "101 204 129"},
    {"", "", "\xC3\xA9", "260"},
    {"\"normalizer\":null", "\"normalizer\":{\"type\":\"NFC\"}", "e\xCC\x81", "260"},
    {"\"normalizer\":null", "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[]}", "a", "97"},
    {"space\":false", "space\":true", "a", "259"},
    {"space\":false", "space\":true", " a", "259"},
    {"space\":false", "space\":true", "a<s>a", "259 261 259"},
    {"use_regex\":true", "use_regex\":false", "hell a", "258 259"},
    {"{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":true}",
     "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"behavior\":\"Isolated\","
     "\"pattern\":{\"String\":\"l\"}},{\"type\":\"ByteLevel\",\"add_prefix_space\":false}]}",
     "hell a", "256 108 108 259"},
    {"\"h e\",\"l l\"", "\"l l\",\"h e\"", "hell", "258"},
    {"[\"he\",\"ll\"],", "", "hell", "256 257"},
    {"\"BPE\"", "\"BPE\",\"ignore_merges\":true", "hell", "258"},
    {"[\"he\",\"ll\"],", "", "<s", "60 115"},
    {"rstrip\":false", "rstrip\":true", "a <s> \xE3\x80\x80 a", "97 32 261 97"},
    {"lstrip\":false", "lstrip\":true", "a \xC2\x85<s> a", "97 261 259"},
    {"\"post_processor\":null",
     "\"post_processor\":{\"type\":\"Sequence\",\"processors\":[{\"type\":\"ByteLevel\"},{\"type\":"
     "\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"<s>\",\"type_id\":0}},"
     "{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}],\"pair\":[],\"special_tokens\":{\"<s>\":{\"id\":"
     "\"<s>\",\"ids\":[261],\"tokens\":[\"<s>\"]}}}]}",
     "he", "256"},
};

static void test_settings(Tally *t) {
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        RtError err = {{0}};
        RtTokenizer *tokenizer = change(settings[i].find, settings[i].replace, &err);
        if (tokenizer)
            expect(t, tokenizer, false, settings[i].text, settings[i].expected);
        else
            check(t, strcmp(err.text, settings[i].expected) == 0, settings[i].expected, err.text);
        rt_tokenizer_free(tokenizer);
    }
}

// What a template puts before and after a text comes once.
static void test_prompt(Tally *t) {
    const Setting *last = &settings[sizeof settings / sizeof *settings - 1];
    RtError err = {{0}};
    const int32_t *ids;
    RtTokenizer *tokenizer = change(last->find, last->replace, &err);
    expect(t, tokenizer, true, "he", "261 256");
    expect(t, tokenizer, true, "<s>he", "261 256");
    expect(t, tokenizer, true, "", "261");
    check(t, tokenizer && rt_tokenizer_before(tokenizer, &ids) == 1 && ids[0] == 261, "before", "");
    check(t, tokenizer && rt_tokenizer_after(tokenizer, &ids) == 0, "after", "");
    rt_tokenizer_free(tokenizer);
    tokenizer = change("\"post_processor\":null",
                       "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{"
                       "\"Sequence\":{\"id\":\"A\"}},{\"SpecialToken\":{\"id\":\"<s>\"}}],"
                       "\"special_tokens\":{\"<s>\":{\"ids\":[261]}}}",
                       &err);
    expect(t, tokenizer, true, "he", "256 261");
    expect(t, tokenizer, true, "he<s>", "256 261");
    rt_tokenizer_free(tokenizer);
}

// What is left once no more texts come: decoding.
static void test_end_encoding(Tally *t) {
    char *json = small("", ""), *text = NULL;
    RtError err;
    RtTokenizer *tokenizer = rt_tokenizer_from_json(json, strlen(json), "small", &err);
    int32_t *ids = NULL, *none = NULL;
    size_t count = 0, size = 0, zero = 0;
    check(t, tokenizer && rt_tokenizer_encode(tokenizer, "hell a<s>", 9, true, &ids, &count, &err),
          "encoding", err.text);
    rt_tokenizer_end_encoding(tokenizer);
    check(t, !rt_tokenizer_encode(tokenizer, "hell", 4, true, &none, &zero, &err),
          "encoding is over", err.text);
    check(t, rt_tokenizer_decode(tokenizer, ids, count, true, &text, &size, &err), "decoding",
          err.text);
    check(t, text && size == 9 && memcmp(text, "hell a<s>", 9) == 0, "the text", text);
    rt_tokenizer_free(tokenizer);
    free(text);
    free(ids);
    free(json);
}

// Text with a byte that has no piece is refused, or an unknown token stands for it.
static void test_unknown(Tally *t) {
    static const char find[] = "\"BPE\",\"vocab\":{\"\xC4\x80\":0,\"\xC4\x81\":1,"
                               "\"\xC4\x82\":2,\"\xC4\x83\":3,\"\xC4\x84\":4,";
    static const char without[] = "\"vocab\":{\"n0\":0,\"n1\":1,\"n2\":2,\"n3\":3,\"none\":4,";
    static const char *const models[] = {"\"BPE\",", "\"BPE\",\"unk_token\":\"none\",",
                                         "\"BPE\",\"unk_token\":\"none\",\"fuse_unk\":true,"};
    static const char *const expected[] = {
        ("the model's tokenizer has no piece for byte 0x04 of the text; take the character it "
         "belongs to out"),
        "97 4 4 98", "97 4 98"};
    for (size_t i = 0; i < 3; i++) {
        char replace[256];
        RtError err = {{0}};
        snprintf(replace, sizeof replace, "%s%s", models[i], without);
        RtTokenizer *tokenizer = change(find, replace, &err);
        expect(t, tokenizer, false,
               "a\x04\x03"
               "b",
               expected[i]);
        rt_tokenizer_free(tokenizer);
    }
}

// { find, replace, words of the reason }
static const char *const hostile[][3] = {
    {"\"he\":256", "\"he\":999", "id 999 of piece \"he\" is outside the vocabulary of 263"},
    {"\"he\":256", "\"he\":-1", "id -1 of piece \"he\" is outside"},
    {"\"he\":256", "\"he\":1.5", "must be an integer"},
    {"\"he\":256", "\"he\":\"x\"", "must be an integer"},
    {"\"he\":256", "\"he\":18446744073709551616", "must be an integer"},
    {"\"he\":256", "\"he\":255", "id 255 is given to two pieces"},
    {"\"he\":256", "\"ll\":256", "\"ll\""},
    {"\"he\":256,", "", "makes something that is not a piece"},
    {"\"ll\":257,", "", "merge 1"},
    {"\"hell\":258,", "", "makes something that is not a piece"},
    {"\"A\":65,", "", "id 262 of piece \"<n>\" is outside the vocabulary of 262"},
    {"261,\"content\":\"<s>\"", "256,\"content\":\"he\"",
     "no piece has id 261, though there are 262"},
    {"\"A\":65,", "\"AA\":65,", "no piece spells byte 0x41"},
    {"\"h e\"", "\"h e\",\"h e\"", "is there twice"},
    {"\"h e\"", "\"h e x\"", "merge 0 must be"},
    {"\"h e\"", "\"he\"", "merge 0 must be"},
    {"\"h e\"", "\" he\"", "is not there (the first)"},
    {"\"h e\"", "[\"h\"]", "merge 0 must be"},
    {"\"h e\"", "[\"h\",\"e\",\"e\"]", "merge 0 must be"},
    {"\"h e\"", "[\"h\",7]", "merge 0 must be"},
    {"\"h e\"", "7", "merge 0 must be"},
    {"\"BPE\"", "\"Unigram\"", "model \"Unigram\" is not carried"},
    {"\"BPE\"", "\"WordPiece\"", "model \"WordPiece\" is not carried"},
    {"\"BPE\"", "7", "must be an object with a \"type\""},
    {"\"BPE\"", "\"BPE\",\"dropout\":0.1", "\"dropout\" of the model is not carried"},
    {"\"BPE\"", "\"BPE\",\"byte_fallback\":true", "\"byte_fallback\" of the model"},
    {"\"BPE\"", "\"BPE\",\"end_of_word_suffix\":\"</w>\"", "\"end_of_word_suffix\""},
    {"\"BPE\"", "\"BPE\",\"unk_token\":\"<unk>\"", "\"unk_token\" is not a piece"},
    {"\"BPE\"", "\"BPE\",\"cache\":1", "\"cache\" of the model is not known"},
    {"\"BPE\"", "\"BPE\",\"fuse_unk\":1", "\"fuse_unk\" must be true or false"},
    {"\"normalizer\":null", "\"normalizer\":{\"type\":\"Lowercase\"}", "\"Lowercase\""},
    {"\"normalizer\":null", "\"normalizer\":7", "must be an object"},
    {"\"normalizer\":null", "\"normalizer\":[1]", "must be an object"},
    {"\"pre_tokenizer\":{\"type\":\"ByteLevel\"", "\"pre_tokenizer\":{\"type\":\"Metaspace\"",
     "pre_tokenizer \"Metaspace\" is not carried"},
    {"\"pre_tokenizer\"", "\"pre\"", "\"pre\" of the tokenizer is not known"},
    {"{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":true}",
     "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"ByteLevel\"},{\"type\":\"Digits\"}]}",
     "after ByteLevel"},
    {"{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":true}",
     "{\"type\":\"Digits\"}", "no ByteLevel"},
    {"{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":true}",
     "{\"type\":\"Split\",\"behavior\":\"Isolated\",\"pattern\":{\"Regex\":\"\\\\w\"}}",
     "an escape that is not carried"},
    {"\"use_regex\":true}", "\"use_regex\":true,\"x\":0}", "\"x\" of the ByteLevel"},
    {"\"post_processor\":null", "\"post_processor\":{\"type\":\"RobertaProcessing\"}", "Roberta"},
    {"\"post_processor\":null", "\"post_processor\":{\"type\":\"TemplateProcessing\"}",
     "text once"},
    {"\"decoder\":{\"type\":\"ByteLevel\"}", "\"decoder\":{\"type\":\"WordPiece\"}", "decoder"},
    {"\"decoder\":{\"type\":\"ByteLevel\"}", "\"decoder\":null", "decoder"},
    {"\"id\":261", "\"id\":9000", "outside the vocabulary"},
    {"\"id\":261", "\"id\":262", "two pieces"},
    {"\"id\":261", "\"id\":5", "id 5 is given to two pieces"},
    {"\"content\":\"<s>\"", "\"content\":\"he\"", "has id 261, but the vocabulary says 256"},
    {"262,\"content\":\"<n>\",\"normalized\":true", "261,\"content\":\"<s>\"", "is there twice"},
    {"\"content\":\"<s>\"", "\"content\":\"\"", "has 0 bytes"},
    {"\"content\":\"<s>\"", "\"content\":7", "needs an \"id\" and a \"content\""},
    {"single_word\":false", "single_word\":true", "\"single_word\" of added token \"<s>\""},
    {"\"special\":true", "\"special\":true,\"x\":1", "\"x\" of the added token"},
    {"{\"version\"", "[{\"version\"", "t.json"},
    {"\"model\":{", "\"model2\":{", "no \"model\""},
};

static void test_hostile(Tally *t) {
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        RtError err = {{0}};
        RtTokenizer *tokenizer = change(hostile[i][0], hostile[i][1], &err);
        check(t, !tokenizer && strstr(err.text, hostile[i][2]), hostile[i][2],
              tokenizer ? "it was taken" : err.text);
        rt_tokenizer_free(tokenizer);
    }
}

// Long texts take time in proportion: a word of a million bytes, a million words, many marks.
static void test_long(Tally *t) {
    size_t size = 1 << 20, count;
    char *text = malloc(size);
    int32_t *ids = NULL;
    RtError err = {{0}};
    RtTokenizer *tokenizer =
        change("\"normalizer\":null", "\"normalizer\":{\"type\":\"NFC\"}", &err);
    clock_t start = clock();
    if (!text || !check(t, tokenizer != NULL, "NFC", err.text))
        return;
    for (size_t i = 0; i < size; i++)
        text[i] = "hell"[i % 4];
    bool ok = rt_tokenizer_encode(tokenizer, text, size, true, &ids, &count, &err);
    check(t, ok && count == size / 4 && ids[0] == 258, "a word of a million bytes", err.text);
    free(ids);
    for (size_t i = 0; i < size; i++)
        text[i] = " a"[i % 2];
    ok = rt_tokenizer_encode(tokenizer, text, size, true, &ids, &count, &err);
    check(t, ok && count == size / 2 && ids[0] == 259, "half a million words", err.text);
    free(ids);
    for (size_t i = 0; i < size; i += 4)
        memcpy(text + i, "\xCC\x81\xCC\xA7", 4);
    ok = rt_tokenizer_encode(tokenizer, text, size, true, &ids, &count, &err);
    check(t, !ok && strstr(err.text, "combining marks"), "half a million marks", err.text);
    check(t, clock() - start < 20 * CLOCKS_PER_SEC, "long texts", "took long");
    free(ids);
    free(text);
    rt_tokenizer_free(tokenizer);
}

typedef struct {
    unsigned char bytes[16384]; // of a GGUF file
    size_t size;                // written
} Out;

static void put_number(Out *out, uint64_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        out->bytes[out->size++] = (unsigned char)(value >> 8 * i);
}

static void put_text(Out *out, const char *text) {
    put_number(out, strlen(text), 8);
    memcpy(out->bytes + out->size, text, strlen(text));
    out->size += strlen(text);
}

static void put_array(Out *out, const char *key, RtGgufType element, uint64_t count) {
    put_text(out, key);
    put_number(out, RT_GGUF_ARRAY, 4);
    put_number(out, element, 4);
    put_number(out, count, 8);
}

typedef struct {
    const char *model; // tokenizer.ggml.model
    const char *pre;   // tokenizer.ggml.pre
    const char *last;  // the last of 258 pieces
    const char *merge; // the only merge
    unsigned type;     // the last piece's type
    unsigned types;    // how many types there are
    unsigned eos;      // tokenizer.ggml.eos_token_id
    unsigned bos_mode; // 0: no bos keys; 1: wanted, id 257; 2: wanted, no id
    const char *why;   // words of the reason; NULL: it is taken
} Made;

static void put_bos(Out *out, unsigned mode) {
    if (mode > 0) {
        put_text(out, "tokenizer.ggml.add_bos_token");
        put_number(out, RT_GGUF_BOOL, 4);
        put_number(out, 1, 1);
    }
    if (mode == 1) {
        put_text(out, "tokenizer.ggml.bos_token_id");
        put_number(out, RT_GGUF_U32, 4);
        put_number(out, 257, 4);
    }
}

static RtTokenizer *make(const Made *made, RtError *err) {
    Out out;
    char name[4] = "";
    memcpy(out.bytes, "GGUF\3\0\0\0", 8);
    out.size = 8;
    put_number(&out, 0, 8);
    put_number(&out, 6u + (made->bos_mode > 0) + (made->bos_mode == 1), 8);
    put_text(&out, "tokenizer.ggml.model");
    put_number(&out, RT_GGUF_TEXT, 4);
    put_text(&out, made->model);
    put_text(&out, "tokenizer.ggml.pre");
    put_number(&out, RT_GGUF_TEXT, 4);
    put_text(&out, made->pre);
    put_array(&out, "tokenizer.ggml.tokens", RT_GGUF_TEXT, 258);
    for (unsigned byte = 0; byte < 256; byte++) {
        name[spell(byte, name)] = '\0';
        put_text(&out, name);
    }
    put_text(&out, "he");
    put_text(&out, made->last);
    put_array(&out, "tokenizer.ggml.token_type", RT_GGUF_I32, made->types);
    for (unsigned i = 0; i < made->types; i++)
        put_number(&out, i == 257 ? made->type : 1, 4);
    put_array(&out, "tokenizer.ggml.merges", RT_GGUF_TEXT, 1);
    put_text(&out, made->merge);
    put_text(&out, "tokenizer.ggml.eos_token_id");
    put_number(&out, RT_GGUF_U32, 4);
    put_number(&out, made->eos, 4);
    put_bos(&out, made->bos_mode);
    RtGguf *gguf = rt_gguf_parse(out.bytes, out.size, "made.gguf", err);
    RtTokenizer *tokenizer = gguf ? rt_tokenizer_from_gguf(gguf, err) : NULL;
    rt_gguf_free(gguf);
    return tokenizer;
}

static const Made mades[] = {
    {"gpt2", "gpt-2", "<s>", "h e", 3, 258, 257, 0, NULL},
    {"gpt2", "gpt-2", "<s>", "h e", 3, 258, 257, 1, NULL},
    {"gpt2", "qwen2", "<s>", "h e", 3, 258, 257, 0, NULL},
    {"gpt2", "tekken", "<s>", "h e", 3, 258, 257, 1, NULL},
    {"gpt2", "gpt-4o", "<s>", "h e", 3, 258, 257, 0, NULL},
    {"gpt2", "default", "<s>", "h e", 3, 258, 257, 0, NULL},
    {"gpt2", "llama-bpe", "<s>", "h e", 3, 258, 257, 1, NULL},
    {"gpt2", "llama-bpe", "<s>", "h e", 3, 258, 257, 0, "add_bos_token is wanted, but"},
    {"gpt2", "gpt-2", "<s>", "h e", 3, 258, 257, 2, "add_bos_token is wanted, but"},
    {"llama", "default", "<s>", "h e", 3, 258, 257, 0, "tokenizer.ggml.model is \"llama\""},
    {"gpt2", "kimi-k2", "<s>", "h e", 3, 258, 257, 0, "tokenizer.ggml.pre is \"kimi-k2\""},
    {"gpt2", "gpt-2", "he", "h e", 3, 258, 257, 0, "piece \"he\" is there twice"},
    {"gpt2", "gpt-2", "", "h e", 3, 258, 257, 0, "has 0 bytes"},
    {"gpt2", "gpt-2", "<s>", "he", 3, 258, 257, 0, "must be \"LEFT RIGHT\""},
    {"gpt2", "gpt-2", "<s>", "h o", 3, 258, 257, 0, "makes something that is not a piece"},
    {"gpt2", "gpt-2", "<s>", "h ex", 3, 258, 257, 0, "is not there (the second)"},
    {"gpt2", "gpt-2", "<s>", "h e", 6, 258, 257, 0, "token_type of id 257 is 6"},
    {"gpt2", "gpt-2", "<s>", "h e", 0, 258, 257, 0, "token_type of id 257 is 0"},
    {"gpt2", "gpt-2", "<s>", "h e", 3, 257, 257, 0, "one number for each piece"},
    {"gpt2", "gpt-2", "<s>", "h e", 3, 258, 258, 0, "eos_token_id must be an id below 258"},
};

static void test_gguf(Tally *t) {
    for (size_t i = 0; i < sizeof mades / sizeof *mades; i++) {
        const Made *made = &mades[i];
        RtError err = {{0}};
        RtTokenizer *tokenizer = make(made, &err);
        if (made->why) {
            check(t, !tokenizer && strstr(err.text, made->why), made->why,
                  tokenizer ? "it was taken" : err.text);
        } else if (check(t, tokenizer != NULL, made->pre, err.text)) {
            expect(t, tokenizer, true, "hehe", made->bos_mode ? "257 256 256" : "256 256");
            expect(t, tokenizer, false, "he<s>", "256 257");
            check(t, rt_tokenizer_is_end(tokenizer, 257), "end", made->pre);
        }
        rt_tokenizer_free(tokenizer);
    }
}

int main(void) {
    Tally t = {0};
    test_settings(&t);
    test_prompt(&t);
    test_end_encoding(&t);
    test_unknown(&t);
    test_hostile(&t);
    test_long(&t);
    test_gguf(&t);
    printf("%d passed, %d failed\n", t.passed, t.failed);
    return t.failed != 0;
}
