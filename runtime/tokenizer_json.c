// Reading a tokenizer.json (Hugging Face).
//
// The file is a pipeline: normalizer, pre_tokenizer, model, post_processor, decoder. Each has a
// "type"; a type, a key or a setting that is not carried is refused by name. "truncation" and
// "padding" are how its makers batched texts; what runs a model sets them anew, so they are let
// pass.

#include "runtime/json.h"
#include "runtime/split_rules.h"
#include "runtime/tokenizer_parts.h"

#include <stdlib.h>
#include <string.h>

// The value's "type", or "" where it has none.
static const char *type_of(const RtJsonValue *value) {
    const char *type = rt_json_text(rt_json_find(value, "type"));
    return type ? type : "";
}

static bool is_type(const RtJsonValue *value, const char *type) {
    return strcmp(type_of(value), type) == 0;
}

static bool refuse_type(const RtJsonValue *value, const char *role, RtError *err) {
    char shown[64];
    const char *type = type_of(value);
    if (!rt_json_is(value, RT_JSON_OBJECT) || *type == '\0')
        return rt_fail(err, "the %s must be an object with a \"type\"", role);
    return rt_fail(err, "%s \"%s\" is not carried; this reads byte-level BPE tokenizers", role,
                   rt_printable(shown, sizeof shown, type, strlen(type)));
}

// Checks that an object has no keys but those of a NULL-terminated list.
static bool only(const RtJsonValue *object, const char *const *keys, const char *role,
                 RtError *err) {
    char shown[64];
    if (!rt_json_is(object, RT_JSON_OBJECT))
        return rt_fail(err, "the %s must be an object", role);
    for (const RtJsonValue *v = rt_json_first(object); v; v = rt_json_next(v)) {
        size_t i = 0;
        while (keys[i] && strcmp(keys[i], v->key) != 0)
            i++;
        if (!keys[i])
            return rt_fail(err, "\"%s\" of the %s is not known, so what it asks for cannot be done",
                           rt_printable(shown, sizeof shown, v->key, v->key_length), role);
    }
    return true;
}

// A boolean that may be missing.
static bool flag(const RtJsonValue *object, const char *key, bool otherwise, bool *out,
                 RtError *err) {
    const RtJsonValue *value = rt_json_find(object, key);
    *out = otherwise;
    if (value && !rt_json_bool(value, out))
        return rt_fail(err, "\"%s\" must be true or false", key);
    return true;
}

static bool read_normalizer(RtTokenizer *t, const RtJsonValue *value, RtError *err) {
    static const char *const keys[] = {"type", "normalizers", NULL};
    if (!value || rt_json_is_null(value))
        return true;
    if (!only(value, keys, "normalizer", err))
        return false;
    if (is_type(value, "NFC")) {
        t->nfc = true;
        return true;
    }
    const RtJsonValue *list = rt_json_find(value, "normalizers");
    if (!is_type(value, "Sequence") || !rt_json_is(list, RT_JSON_ARRAY))
        return refuse_type(value, "normalizer", err);
    for (const RtJsonValue *v = rt_json_first(list); v; v = rt_json_next(v))
        if (!read_normalizer(t, v, err))
            return false;
    return true;
}

static bool read_split(RtTokenizer *t, const RtJsonValue *value, RtError *err) {
    static const char *const keys[] = {"type", "pattern", "behavior", "invert", NULL};
    static const char *const patterns[] = {"Regex", "String", NULL};
    static const char *const kinds[] = {"Removed", "Isolated", "MergedWithPrevious",
                                        "MergedWithNext", "Contiguous"};
    const RtJsonValue *pattern = rt_json_find(value, "pattern"), *regex, *text;
    bool invert;
    size_t kind = 0;
    if (!only(value, keys, "Split", err) || !only(pattern, patterns, "Split's pattern", err) ||
        !flag(value, "invert", false, &invert, err))
        return false;
    while (kind < 5 && !rt_json_equals(rt_json_find(value, "behavior"), kinds[kind]))
        kind++;
    regex = rt_json_find(pattern, "Regex");
    text = regex ? regex : rt_json_find(pattern, "String");
    if (kind == 5 || !rt_json_is(text, RT_JSON_STRING))
        return rt_fail(err, "a Split needs a \"behavior\" (Removed, Isolated, MergedWithPrevious, "
                            "MergedWithNext or Contiguous) and a \"pattern\" (Regex or String)");
    return rt_split_add(&t->split, text->text, text->length, !regex, (RtSplitKind)kind, invert,
                        err);
}

static bool read_byte_level(RtTokenizer *t, const RtJsonValue *value, bool *bytes, RtError *err) {
    static const char *const keys[] = {"type", "add_prefix_space", "trim_offsets", "use_regex",
                                       NULL};
    bool space, regex;
    if (!only(value, keys, "ByteLevel", err) ||
        !flag(value, "add_prefix_space", true, &space, err) ||
        !flag(value, "use_regex", true, &regex, err))
        return false;
    if (space && t->split.count > 0)
        return rt_fail(err, "\"add_prefix_space\" of a ByteLevel that is not the first "
                            "pre_tokenizer is not carried");
    t->space_first = space;
    *bytes = true;
    return !regex || rt_split_add(&t->split, RT_WORDS_GPT2, strlen(RT_WORDS_GPT2), false,
                                  RT_SPLIT_ISOLATED, false, err);
}

static bool read_digits(RtTokenizer *t, const RtJsonValue *value, RtError *err) {
    static const char *const keys[] = {"type", "individual_digits", NULL};
    bool individual;
    if (!only(value, keys, "Digits", err) ||
        !flag(value, "individual_digits", false, &individual, err))
        return false;
    return rt_split_add(&t->split, "\\p{N}", 5, false,
                        individual ? RT_SPLIT_ISOLATED : RT_SPLIT_CONTIGUOUS, false, err);
}

// bytes: a ByteLevel was read; it turns text to bytes, so it must be there, and be the last.
static bool read_pre(RtTokenizer *t, const RtJsonValue *value, bool *bytes, RtError *err) {
    static const char *const keys[] = {"type", "pretokenizers", NULL};
    const RtJsonValue *list = rt_json_find(value, "pretokenizers");
    if (*bytes)
        return rt_fail(err, "a pre_tokenizer after ByteLevel is not carried");
    if (is_type(value, "ByteLevel"))
        return read_byte_level(t, value, bytes, err);
    if (is_type(value, "Split"))
        return read_split(t, value, err);
    if (is_type(value, "Digits"))
        return read_digits(t, value, err);
    if (!is_type(value, "Sequence") || !rt_json_is(list, RT_JSON_ARRAY))
        return refuse_type(value, "pre_tokenizer", err);
    if (!only(value, keys, "pre_tokenizer", err))
        return false;
    for (const RtJsonValue *v = rt_json_first(list); v; v = rt_json_next(v))
        if (!read_pre(t, v, bytes, err))
            return false;
    return true;
}

// The ids of one special token of a template, appended to those before or after the text.
static bool template_token(RtTokenizer *t, const RtJsonValue *post, const RtJsonValue *token,
                           bool after, RtError *err) {
    char shown[64];
    int64_t id;
    const char *name = rt_json_text(rt_json_find(token, "id"));
    const RtJsonValue *row = NULL;
    if (name)
        row = rt_json_find(rt_json_find(post, "special_tokens"), name);
    row = rt_json_find(row, "ids");
    if (!rt_json_is(row, RT_JSON_ARRAY))
        return rt_fail(err, "the post_processor names a token that its special_tokens lack");
    for (const RtJsonValue *v = rt_json_first(row); v; v = rt_json_next(v)) {
        size_t *count = after ? &t->after_count : &t->before_count;
        if (!rt_json_i64(v, &id) || id < 0 || (uint64_t)id >= t->bpe.count)
            return rt_fail(err, "the post_processor's \"%s\" has an id outside the vocabulary",
                           rt_printable(shown, sizeof shown, name, strlen(name)));
        if (*count >= RT_TOKENIZER_AFFIX)
            return rt_fail(err, "the post_processor adds more than %d tokens", RT_TOKENIZER_AFFIX);
        (after ? t->after : t->before)[(*count)++] = (int32_t)id;
    }
    return true;
}

static bool read_template(RtTokenizer *t, const RtJsonValue *post, RtError *err) {
    static const char *const keys[] = {"type", "single", "pair", "special_tokens", NULL};
    const RtJsonValue *single = rt_json_find(post, "single");
    bool after = false;
    if (!only(post, keys, "TemplateProcessing", err))
        return false;
    for (const RtJsonValue *v = rt_json_first(single); v; v = rt_json_next(v)) {
        const RtJsonValue *token = rt_json_find(v, "SpecialToken");
        const RtJsonValue *text = rt_json_find(v, "Sequence");
        if (token && !template_token(t, post, token, after, err))
            return false;
        if (!token && (after || !rt_json_equals(rt_json_find(text, "id"), "A")))
            return rt_fail(err, "the post_processor's \"single\" must hold the text once");
        after = after || text != NULL;
    }
    return after || rt_fail(err, "the post_processor's \"single\" must hold the text once");
}

static bool read_post(RtTokenizer *t, const RtJsonValue *value, RtError *err) {
    if (!value || rt_json_is_null(value) || is_type(value, "ByteLevel"))
        return true; // ByteLevel trims offsets here; ids stay as they are
    if (is_type(value, "TemplateProcessing")) {
        if (t->before_count + t->after_count > 0)
            return rt_fail(err, "two post_processors that add tokens are not carried");
        return read_template(t, value, err);
    }
    const RtJsonValue *list = rt_json_find(value, "processors");
    if (!is_type(value, "Sequence") || !rt_json_is(list, RT_JSON_ARRAY))
        return refuse_type(value, "post_processor", err);
    for (const RtJsonValue *v = rt_json_first(list); v; v = rt_json_next(v))
        if (!read_post(t, v, err))
            return false;
    return true;
}

static bool read_decoder(const RtJsonValue *value, RtError *err) {
    const RtJsonValue *list = rt_json_find(value, "decoders");
    if (is_type(value, "ByteLevel"))
        return true;
    if (!is_type(value, "Sequence") || !rt_json_is(list, RT_JSON_ARRAY) || list->length != 1)
        return refuse_type(value, "decoder", err);
    return read_decoder(rt_json_first(list), err);
}

// A setting of the model that must be missing, null, false, 0 or "".
static bool unset(const RtJsonValue *model, const char *key, RtError *err) {
    const RtJsonValue *value = rt_json_find(model, key);
    double number = 1;
    if (!value || rt_json_is_null(value) || rt_json_equals(value, "") ||
        (rt_json_is(value, RT_JSON_BOOL) && value->length == 0) ||
        (rt_json_number(value, &number) && number == 0))
        return true;
    return rt_fail(err, "\"%s\" of the model is not carried", key);
}

static bool read_vocab(RtTokenizer *t, const RtJsonValue *vocab, RtError *err) {
    char shown[64];
    int64_t id;
    for (const RtJsonValue *v = rt_json_first(vocab); v; v = rt_json_next(v)) {
        if (!rt_json_i64(v, &id))
            return rt_fail(err, "the id of piece \"%s\" must be an integer",
                           rt_printable(shown, sizeof shown, v->key, v->key_length));
        if (!rt_bpe_piece(&t->bpe, id, v->key, v->key_length, RT_PIECE_NORMAL, err))
            return false;
    }
    return true;
}

static bool read_merges(RtTokenizer *t, const RtJsonValue *merges, RtError *err) {
    for (const RtJsonValue *v = rt_json_first(merges); v; v = rt_json_next(v)) {
        const RtJsonValue *left = v, *right = v;
        const char *space = NULL;
        if (rt_json_is(v, RT_JSON_STRING))
            space = memchr(v->text, ' ', v->length);
        if (space) {
            size_t before = (size_t)(space - v->text), after = v->length - before - 1;
            if (!memchr(space + 1, ' ', after)) {
                if (!rt_bpe_merge(&t->bpe, v->text, before, space + 1, after, err))
                    return false;
                continue;
            }
        }
        left = rt_json_is(v, RT_JSON_ARRAY) && v->length == 2 ? rt_json_first(v) : NULL;
        right = left ? rt_json_next(left) : NULL;
        if (!rt_json_is(left, RT_JSON_STRING) || !rt_json_is(right, RT_JSON_STRING))
            return rt_fail(err, "merge %zu must be \"LEFT RIGHT\" or two strings",
                           t->bpe.merge_count);
        if (!rt_bpe_merge(&t->bpe, left->text, left->length, right->text, right->length, err))
            return false;
    }
    return true;
}

static bool read_added_token(RtTokenizer *t, const RtJsonValue *value, RtError *err) {
    static const char *const keys[] = {"id",     "content",    "single_word", "lstrip",
                                       "rstrip", "normalized", "special",     NULL};
    const RtJsonValue *text = rt_json_find(value, "content");
    char shown[64];
    int64_t id;
    bool single, normalized;
    RtAdded like = {0};
    if (!only(value, keys, "added token", err))
        return false;
    if (!rt_json_is(text, RT_JSON_STRING) || !rt_json_i64(rt_json_find(value, "id"), &id))
        return rt_fail(err, "an added token needs an \"id\" and a \"content\"");
    if (!flag(value, "single_word", false, &single, err) ||
        !flag(value, "lstrip", false, &like.lstrip, err) ||
        !flag(value, "rstrip", false, &like.rstrip, err) ||
        !flag(value, "special", false, &like.control, err) ||
        !flag(value, "normalized", !like.control, &normalized, err))
        return false;
    rt_printable(shown, sizeof shown, text->text, text->length);
    if (single)
        return rt_fail(err, "\"single_word\" of added token \"%s\" is not carried", shown);
    RtPieceKind kind = like.control ? RT_PIECE_CONTROL : RT_PIECE_USER;
    int32_t known = rt_bpe_find(&t->bpe, text->text, text->length);
    if (known < 0 && !rt_bpe_piece(&t->bpe, id, text->text, text->length, kind, err))
        return false;
    if (known >= 0 && known != id)
        return rt_fail(err, "added token \"%s\" has id %lld, but the vocabulary says %d", shown,
                       (long long)id, (int)known);
    if (known >= 0 && t->bpe.pieces[id].kind != RT_PIECE_NORMAL)
        return rt_fail(err, "added token \"%s\" is there twice", shown);
    t->bpe.pieces[id].kind = (uint8_t)kind;
    like.id = (int32_t)id;
    return rt_tokenizer_added(t, text->text, text->length, normalized, like, err);
}

static bool read_unknown(RtTokenizer *t, const RtJsonValue *model, RtError *err) {
    const RtJsonValue *unknown = rt_json_find(model, "unk_token");
    if (!unknown || rt_json_is_null(unknown))
        return true;
    if (rt_json_is(unknown, RT_JSON_STRING))
        t->bpe.unknown = rt_bpe_find(&t->bpe, unknown->text, unknown->length);
    return t->bpe.unknown >= 0 || rt_fail(err, "the model's \"unk_token\" is not a piece");
}

static bool read_model(RtTokenizer *t, const RtJsonValue *model, const RtJsonValue *added,
                       RtError *err) {
    static const char *const keys[] = {"type",
                                       "dropout",
                                       "unk_token",
                                       "continuing_subword_prefix",
                                       "fuse_unk",
                                       "end_of_word_suffix",
                                       "byte_fallback",
                                       "ignore_merges",
                                       "vocab",
                                       "merges",
                                       NULL};
    const RtJsonValue *vocab = rt_json_find(model, "vocab");
    const RtJsonValue *merges = rt_json_find(model, "merges");
    if (!is_type(model, "BPE"))
        return refuse_type(model, "model", err);
    if (!only(model, keys, "model", err) || !unset(model, "dropout", err) ||
        !unset(model, "continuing_subword_prefix", err) ||
        !unset(model, "end_of_word_suffix", err) || !unset(model, "byte_fallback", err) ||
        !flag(model, "fuse_unk", false, &t->bpe.fuse_unknown, err) ||
        !flag(model, "ignore_merges", false, &t->bpe.whole_words, err))
        return false;
    if (!rt_json_is(vocab, RT_JSON_OBJECT) || !rt_json_is(merges, RT_JSON_ARRAY))
        return rt_fail(err, "the model needs a \"vocab\" and \"merges\"");
    uint64_t count = (uint64_t)vocab->length + (added ? added->length : 0);
    return rt_bpe_reserve(&t->bpe, count, merges->length, err) && read_vocab(t, vocab, err) &&
           read_unknown(t, model, err) && read_merges(t, merges, err);
}

static bool read_all(RtTokenizer *t, const RtJsonValue *root, RtError *err) {
    static const char *const keys[] = {
        "version",       "truncation", "padding",        "added_tokens", "normalizer",
        "pre_tokenizer", "model",      "post_processor", "decoder",      NULL};
    const RtJsonValue *added = rt_json_find(root, "added_tokens");
    bool bytes = false;
    if (!rt_json_is(root, RT_JSON_OBJECT) || !rt_json_find(root, "model"))
        return rt_fail(err, "this is no tokenizer.json: it has no \"model\"");
    if (!only(root, keys, "tokenizer", err))
        return false;
    if (added && !rt_json_is_null(added) && !rt_json_is(added, RT_JSON_ARRAY))
        return rt_fail(err, "\"added_tokens\" must be an array");
    if (!read_normalizer(t, rt_json_find(root, "normalizer"), err) ||
        !read_model(t, rt_json_find(root, "model"), added, err) ||
        !read_pre(t, rt_json_find(root, "pre_tokenizer"), &bytes, err) ||
        !read_decoder(rt_json_find(root, "decoder"), err))
        return false;
    if (!bytes)
        return rt_fail(err, "the pre_tokenizer has no ByteLevel, so this is not byte-level BPE");
    for (const RtJsonValue *v = rt_json_first(added); v; v = rt_json_next(v))
        if (!read_added_token(t, v, err))
            return false;
    return read_post(t, rt_json_find(root, "post_processor"), err) && rt_tokenizer_seal(t, err);
}

static RtTokenizer *from_document(const RtJson *json, const char *where, RtError *err) {
    RtError why = {{0}};
    RtTokenizer *tokenizer = json ? rt_tokenizer_new(err) : NULL;
    if (!tokenizer || read_all(tokenizer, rt_json_root(json), &why))
        return tokenizer;
    rt_fail(err, "%s: %s", where, why.text);
    rt_tokenizer_free(tokenizer);
    return NULL;
}

RtTokenizer *rt_tokenizer_from_json(const char *text, size_t size, const char *where,
                                    RtError *err) {
    RtJson *json = rt_json_parse(text, size, where, NULL, err);
    RtTokenizer *tokenizer = from_document(json, where, err);
    rt_json_free(json);
    return tokenizer;
}

RtTokenizer *rt_tokenizer_read(const char *path, RtError *err) {
    RtJson *json = rt_json_read(path, NULL, err);
    RtTokenizer *tokenizer = from_document(json, path, err);
    rt_json_free(json);
    return tokenizer;
}
