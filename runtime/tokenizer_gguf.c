// Reading the tokenizer of a GGUF file.
//
// The metadata have the pieces, their types, the merges, and the name of the splitting rule
// ("tokenizer.ggml.pre"). The rules are the ones the models' own tokenizer.json files have; a name
// that is not in the table is refused, since another rule would give other ids, silently.

#include "runtime/split_rules.h"
#include "runtime/tokenizer_parts.h"

#include <string.h>

typedef enum {
    RULE_DEFAULT, // what converters write that do not know the model
    RULE_GPT2,    // GPT-2's words
    RULE_DIGITS,  // every digit alone, then GPT-2's words
    RULE_LLAMA3,  // Llama 3's words
    RULE_QWEN2,   // Qwen 2's words
    RULE_TEKKEN,  // Mistral's words
    RULE_GPT4O    // GPT-4o's words
} Rule;

typedef struct {
    const char *name; // value of tokenizer.ggml.pre
    Rule rule;        // how text is split
    bool nfc;         // the model normalises text first
    bool whole_words; // a word that is a piece is that piece
    bool bos;         // a text begins with the begin-of-text token unless the file says no
} Pre;

static const Pre pres[] = {
    {"default", RULE_DEFAULT, false, false, false},
    {"gpt-2", RULE_GPT2, false, false, false},
    {"phi-2", RULE_GPT2, false, false, false},
    {"mpt", RULE_GPT2, false, false, false},
    {"olmo", RULE_GPT2, false, false, false},
    {"smollm", RULE_DIGITS, false, false, false},
    {"starcoder", RULE_DIGITS, false, false, false},
    {"refact", RULE_DIGITS, false, false, false},
    {"codeshell", RULE_DIGITS, false, false, false},
    {"llama3", RULE_LLAMA3, false, true, true},
    {"llama-v3", RULE_LLAMA3, false, true, true},
    {"llama-bpe", RULE_LLAMA3, false, true, true},
    {"dbrx", RULE_LLAMA3, false, false, false},
    {"smaug-bpe", RULE_LLAMA3, false, false, false},
    {"qwen2", RULE_QWEN2, true, false, false},
    {"deepseek-r1-qwen", RULE_QWEN2, true, false, false},
    {"tekken", RULE_TEKKEN, false, true, true},
    {"gpt-4o", RULE_GPT4O, false, false, false},
};

static const char *const rules[][4] = {
    [RULE_DEFAULT] = {"[\\p{P}\\$\\+<=>\\^~\\|]+", RT_WORDS_GPT2, "\\p{N}+", "[0-9][0-9][0-9]"},
    [RULE_GPT2] = {RT_WORDS_GPT2},
    [RULE_DIGITS] = {"\\p{N}", RT_WORDS_GPT2},
    [RULE_LLAMA3] = {RT_WORDS_LLAMA3},
    [RULE_QWEN2] = {RT_WORDS_QWEN2},
    [RULE_TEKKEN] = {RT_WORDS_TEKKEN},
    [RULE_GPT4O] = {RT_WORDS_GPT4O},
};

static const Pre *find_pre(const RtGguf *gguf, RtError *err) {
    char shown[64];
    size_t size = 0;
    const char *name = "default";
    if (rt_gguf_find(gguf, "tokenizer.ggml.pre"))
        name = rt_gguf_text(gguf, "tokenizer.ggml.pre", &size);
    for (size_t i = 0; name && i < sizeof pres / sizeof *pres; i++)
        if (strcmp(pres[i].name, name) == 0)
            return &pres[i];
    rt_fail(err,
            "tokenizer.ggml.pre is \"%s\", a splitting rule that is not known here; give the "
            "model's tokenizer.json instead",
            name ? rt_printable(shown, sizeof shown, name, size) : "no text");
    return NULL;
}

static bool read_rule(RtTokenizer *t, const RtGguf *gguf, const Pre *pre, RtError *err) {
    const RtGgufValue *space = rt_gguf_find(gguf, "tokenizer.ggml.add_space_prefix");
    t->nfc = pre->nfc;
    t->bpe.whole_words = pre->whole_words;
    if (space && !rt_gguf_bool(gguf, "tokenizer.ggml.add_space_prefix", &t->space_first))
        return rt_fail(err, "tokenizer.ggml.add_space_prefix must be a boolean");
    for (size_t i = 0; i < 4 && rules[pre->rule][i]; i++)
        if (!rt_split_add(&t->split, rules[pre->rule][i], strlen(rules[pre->rule][i]), false,
                          RT_SPLIT_ISOLATED, false, err))
            return false;
    return true;
}

// One piece of the type its number says: 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused.
static bool read_piece(RtTokenizer *t, int32_t id, const char *name, size_t size, int64_t type,
                       RtError *err) {
    static const uint8_t kinds[] = {RT_PIECE_NONE,    RT_PIECE_NORMAL, RT_PIECE_CONTROL,
                                    RT_PIECE_CONTROL, RT_PIECE_USER,   RT_PIECE_UNUSED};
    if (type < 1 || type > 5)
        return rt_fail(err,
                       "tokenizer.ggml.token_type of id %d is %lld; a byte-level tokenizer "
                       "has 1 to 5",
                       (int)id, (long long)type);
    RtPieceKind kind = (RtPieceKind)kinds[type];
    if (!rt_bpe_piece(&t->bpe, id, name, size, kind, err))
        return false;
    if (kind != RT_PIECE_CONTROL && kind != RT_PIECE_USER)
        return true;
    RtAdded like = {.id = id, .control = kind == RT_PIECE_CONTROL};
    return rt_tokenizer_added(t, name, size, false, like, err);
}

static bool read_vocab(RtTokenizer *t, const RtGguf *gguf, RtError *err) {
    const RtGgufValue *tokens = rt_gguf_array(gguf, "tokenizer.ggml.tokens", RT_GGUF_TEXT);
    const RtGgufValue *merges = rt_gguf_array(gguf, "tokenizer.ggml.merges", RT_GGUF_TEXT);
    const RtGgufValue *types = rt_gguf_find(gguf, "tokenizer.ggml.token_type");
    const char *text;
    size_t size;
    uint64_t cursor = 0;
    if (!tokens || !merges)
        return rt_fail(err, "tokenizer.ggml.%s must be there, an array of texts",
                       tokens ? "merges" : "tokens");
    if (types && (types->type != RT_GGUF_ARRAY || types->count != tokens->count))
        return rt_fail(err, "tokenizer.ggml.token_type must have one number for each piece");
    if (!rt_bpe_reserve(&t->bpe, tokens->count, merges->count, err))
        return false;
    for (int32_t id = 0; rt_gguf_next_text(tokens, &cursor, &text, &size); id++) {
        int64_t type = 1;
        if (types && !rt_gguf_element_i64(types, (uint64_t)id, &type))
            return rt_fail(err, "tokenizer.ggml.token_type must hold integers");
        if (!read_piece(t, id, text, size, type, err))
            return false;
    }
    cursor = 0;
    while (rt_gguf_next_text(merges, &cursor, &text, &size)) {
        const char *space = size > 1 ? memchr(text + 1, ' ', size - 1) : NULL;
        size_t before = space ? (size_t)(space - text) : 0;
        if (!space)
            return rt_fail(err, "merge %zu of tokenizer.ggml.merges must be \"LEFT RIGHT\"",
                           t->bpe.merge_count);
        if (!rt_bpe_merge(&t->bpe, text, before, space + 1, size - before - 1, err))
            return false;
    }
    return true;
}

// The id under a key, -1 where the key is missing. False: not the id of a piece.
static bool read_id(const RtTokenizer *t, const RtGguf *gguf, const char *key, int32_t *id,
                    RtError *err) {
    uint64_t value;
    *id = -1;
    if (!rt_gguf_find(gguf, key))
        return true;
    if (!rt_gguf_u64(gguf, key, &value) || value >= t->bpe.count)
        return rt_fail(err, "%s must be an id below %zu", key, t->bpe.count);
    *id = (int32_t)value;
    return true;
}

// Reads whether the token under `id_key` goes before (after) a text.
static bool read_affix(const RtTokenizer *t, const RtGguf *gguf, const char *key,
                       const char *id_key, bool otherwise, int32_t *affix, size_t *count,
                       RtError *err) {
    bool wanted = otherwise;
    if (rt_gguf_find(gguf, key) && !rt_gguf_bool(gguf, key, &wanted))
        return rt_fail(err, "%s must be a boolean", key);
    if (!wanted)
        return true;
    if (!read_id(t, gguf, id_key, affix, err))
        return false;
    if (*affix < 0)
        return rt_fail(err, "%s is wanted, but %s is missing", key, id_key);
    *count = 1;
    return true;
}

static bool read_marks(RtTokenizer *t, const RtGguf *gguf, bool bos, RtError *err) {
    static const char *const ends[] = {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                                       "tokenizer.ggml.eom_token_id"};
    int32_t id;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (!read_id(t, gguf, ends[i], &id, err))
            return false;
        if (id >= 0)
            rt_tokenizer_add_end(t, id);
    }
    return read_affix(t, gguf, "tokenizer.ggml.add_bos_token", "tokenizer.ggml.bos_token_id", bos,
                      t->before, &t->before_count, err) &&
           read_affix(t, gguf, "tokenizer.ggml.add_eos_token", ends[0], false, t->after,
                      &t->after_count, err);
}

static bool read_all(RtTokenizer *t, const RtGguf *gguf, RtError *err) {
    char shown[64];
    size_t size = 0;
    const char *model = rt_gguf_text(gguf, "tokenizer.ggml.model", &size);
    if (!model)
        return rt_fail(err, "the GGUF file has no tokenizer (tokenizer.ggml.model)");
    if (strcmp(model, "gpt2") != 0)
        return rt_fail(err, "tokenizer.ggml.model is \"%s\"; byte-level BPE (gpt2) is carried",
                       rt_printable(shown, sizeof shown, model, size));
    const Pre *pre = find_pre(gguf, err);
    return pre && read_rule(t, gguf, pre, err) && read_vocab(t, gguf, err) &&
           rt_tokenizer_seal(t, err) && read_marks(t, gguf, pre->bos, err);
}

RtTokenizer *rt_tokenizer_from_gguf(const RtGguf *gguf, RtError *err) {
    RtTokenizer *tokenizer = rt_tokenizer_new(err);
    if (!tokenizer || read_all(tokenizer, gguf, err))
        return tokenizer;
    rt_tokenizer_free(tokenizer);
    return NULL;
}
