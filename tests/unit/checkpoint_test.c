// Checkpoints: every key is consumed, waived or refused; ties, rows, tokens; safetensors and GGUF.
#include "checkpoint_help.h"

#define OPENS(c, call) CHECK((c)->t, (call) && (c)->text[0] == '\0')
#define DENIED(c, call, part) denied_at((c), !(call), (part), __LINE__)

// The text is looked at after the call that writes it.
static void denied_at(Case *c, bool failed, const char *part, int line) {
    refused_at(c->t, failed, c->text, part, __FILE__, line);
}

static bool sets(Case *c, const char *name, const char *value) {
    bool same = strcmp(set_to(c, name), value) == 0;
    if (!same)
        printf("%s is \"%s\"\n", name, set_to(c, name));
    return same;
}

static void test_good(Case *c) {
    Test *t = c->t;
    int32_t ids[8];
    OPENS(c, with(c, NULL, 0));
    CHECK(t, checkpoint_is(t->folder) && checkpoint_context(c->ck) == 64);
    CHECK(t, strcmp(checkpoint_program(c->ck), "stdlib/models/llama.serin") == 0);
    CHECK(t, strcmp(checkpoint_block(c->ck), "Llama") == 0);
    CHECK(t, sets(c, "Vocab", "5") && sets(c, "H", "8") && sets(c, "Heads", "2"));
    CHECK(t, sets(c, "KvHeads", "1") && sets(c, "HeadDim", "4") && sets(c, "Inner", "6"));
    CHECK(t, sets(c, "Layers", "1") && sets(c, "RMS_EPS", "1e-05"));
    CHECK(t,
          sets(c, "ROPE_THETA", "5000.0") && sets(c, "WINDOW", "0") && sets(c, "ROPE_KIND", "0"));
    SettingVec *v = checkpoint_settings(c->ck);
    CHECK(t, strcmp(v->data[0].origin, "config.json: vocab_size") == 0);
    CHECK(t, checkpoint_ends(c->ck, ids, 8) == 2 && ids[0] == 2 && ids[1] == 3);
    CHECK(t, checkpoint_ends(c->ck, ids, 1) == 1 && checkpoint_begin(c->ck) == 1);
    CHECK(t, !rt_weights_gguf(checkpoint_weights(c->ck)));
}

static void test_defaults(Case *c) {
    Test *t = c->t;
    const Pair few[] = {
        {"rms_norm_eps", NULL}, {"rope_theta", "null"}, {"max_position_embeddings", NULL},
        {"hidden_act", NULL},   {"head_dim", "null"},   {"rope_scaling", "null"},
        {"anything", "null"}};
    OPENS(c, with(c, few, 7));
    CHECK(t, sets(c, "RMS_EPS", "1e-6") && sets(c, "ROPE_THETA", "10000.0"));
    CHECK(t, checkpoint_context(c->ck) == 2048);
    DENIED(c, with_one(c, "num_key_value_heads", NULL), "num_key_value_heads * head_dim");
    OPENS(c, with_one(c, "rope_scaling", "{}"));
    OPENS(c, with_one(c, "head_dim", "4"));
    DENIED(c, with_one(c, "hidden_size", NULL), "lacks hidden_size");
    DENIED(c, with_one(c, "vocab_size", "null"), "lacks vocab_size");
    OPENS(c, with_one(c, "eos_token_id", NULL));
    CHECK(t, checkpoint_ends(c->ck, (int32_t[1]){0}, 1) == 0);
}

static void test_refused_keys(Case *c) {
    Test *t = c->t;
    const Pair odd[] = {{"attn_logit_softcapping", "50.0"},
                        {"quantization_config", "{\"bits\": 4}"},
                        {"rope_scaling.factor", "2"}};
    DENIED(c, with(c, odd, 3), "attn_logit_softcapping (its value is 50.0)");
    CHECK(t, strstr(c->text, "quantization_config.bits (its value is 4)") != NULL);
    CHECK(t, strstr(c->text, "\"rope_scaling.factor\" (its value is 2)") != NULL);
    CHECK(t, c->s->errors == 3);
    DENIED(c, with_one(c, "x\\u001b[31m", "\"\\u001b\\n\""), "x\\x1B[31m");
    CHECK(t, strchr(c->text, '\x1b') == NULL && strstr(c->text, "\\x1B\\x0A") != NULL);
    DENIED(c, with_one(c, "hidden_act", "\"gelu\""), "hidden_act is \"gelu\"");
    DENIED(c, with_one(c, "model_type", "\"gpt2\""), "model_type is \"gpt2\"");
    DENIED(c, with_one(c, "partial_rotary_factor", "0.5"), "partial_rotary_factor is 0.5");
    DENIED(c, with_one(c, "sliding_window", "16"), "means nothing to LlamaForCausalLM");
    DENIED(c, with_one(c, "architectures", "[\"GPT2LMHeadModel\"]"), "E5005");
    CHECK(t, strstr(c->text, "GPT2LMHeadModel") && strstr(c->text, "MistralForCausalLM"));
    DENIED(c, with_one(c, "architectures", NULL), "names no architecture");
    DENIED(c, with_one(c, "architectures", "[]"), "names no architecture");
    OPENS(c, with_one(c, "unsloth_version", "\"2024\""));
    OPENS(c, with_one(c, "transformers.js_config", "{\"dtype\": {\"kv\": 1}}"));
    OPENS(c, with_one(c, "pad_token_id", "[1]"));
}

static void test_refused_values(Case *c) {
    static const Pair bad[] = {
        {"hidden_size", "8.0"},
        {"hidden_size", "\"8\""},
        {"hidden_size", "-8"},
        {"hidden_size", "0"},
        {"hidden_size", "true"},
        {"hidden_size", "[8]"},
        {"hidden_size", "2147483648"},
        {"hidden_size", "99999999999999999999"},
        {"rms_norm_eps", "0"},
        {"rms_norm_eps", "-1e-5"},
        {"rms_norm_eps", "1e-60"},
        {"rms_norm_eps", "\"nan\""},
        {"rope_theta", "1e39"},
        {"rope_theta", "1e999"},
        {"max_position_embeddings", "-1"},
        {"max_position_embeddings", "64.5"},
        {"tie_word_embeddings", "1"},
        {"attention_bias", "\"no\""},
        {"bos_token_id", "-1"},
        {"eos_token_id", "[]"},
        {"eos_token_id", "[2, \"x\"]"},
        {"eos_token_id", "1.5"},
        {"head_dim", "0"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        DENIED(c, with_one(c, bad[i].key, bad[i].value), bad[i].key);
        CHECK(c->t, strstr(c->text, "E5006") && c->s->errors == 1);
    }
    DENIED(c, with_one(c, "rms_norm_eps", "NaN"), "E5001");
    DENIED(c, with_one(c, "vocab_size", "5, \"vocab_size\": 5"), "E5001");
    save(c->t, "config.json", "[1]", 3);
    DENIED(c, attempt(c, c->t->folder), "holds no object");
    save(c->t, "config.json", "", 0);
    DENIED(c, attempt(c, c->t->folder), "E5001");
}

static void test_contradictions(Case *c) {
    const Pair odd_heads[] = {{"num_attention_heads", "3"}, {"num_key_value_heads", "3"}};
    DENIED(c, with(c, odd_heads, 2), "hidden_size / num_attention_heads = 8 / 3");
    const Pair shared[] = {{"num_attention_heads", "4"}, {"num_key_value_heads", "3"}};
    DENIED(c, with(c, shared, 2), "num_attention_heads / num_key_value_heads = 4 / 3");
    DENIED(c, with_one(c, "head_dim", "3"), "head_dim / 2 = 3 / 2");
    DENIED(c, with_one(c, "head_dim", "8"), "num_attention_heads * head_dim = 2 * 8");
    DENIED(c, with_one(c, "vocab_size", "6"), "vocab_size = 6");
    DENIED(c, with_one(c, "intermediate_size", "7"), "intermediate_size = 7");
    DENIED(c, with_one(c, "num_hidden_layers", "2147483647"), "num_hidden_layers is 2147483647");
    DENIED(c, with_one(c, "attention_bias", "true"), "attention_bias is true");
    OPENS(c, with_one(c, "mlp_bias", "false"));
    const Pair theta[] = {{"rope_parameters", "{\"rope_theta\": 5000.0}"}};
    OPENS(c, with(c, theta, 1));
    DENIED(c, with_one(c, "rope_parameters", "{\"rope_theta\": 6000}"), "rope_theta is 5000, but");
}

static void test_rope(Case *c) {
    Test *t = c->t;
    const char *llama3 = "{\"rope_type\": \"llama3\", \"factor\": 8.0, \"low_freq_factor\": 1.0, "
                         "\"high_freq_factor\": 4.0, \"original_max_position_embeddings\": 16}";
    OPENS(c, with_one(c, "rope_scaling", llama3));
    CHECK(t, sets(c, "ROPE_KIND", "2") && sets(c, "ROPE_FACTOR", "8.0"));
    CHECK(t, sets(c, "ROPE_ORIGINAL_CONTEXT", "16.0"));
    OPENS(c, with_one(c, "rope_scaling", "{\"type\": \"linear\", \"factor\": 2.5}"));
    CHECK(t, sets(c, "ROPE_KIND", "1") && sets(c, "ROPE_FACTOR", "2.5"));
    OPENS(c, with_one(c, "rope_parameters", "{\"rope_type\": \"default\", \"rope_theta\": 5000}"));
    CHECK(t, sets(c, "ROPE_KIND", "0"));
    DENIED(c, with_one(c, "rope_scaling", "{\"type\": \"linear\", \"factor\": 0}"), "factor is 0");
    DENIED(c, with_one(c, "rope_scaling", "{\"type\": \"linear\"}"), "lacks rope_scaling.factor");
    DENIED(c, with_one(c, "rope_scaling", "{\"rope_type\": \"yarn\", \"factor\": 2}"),
           "is \"yarn\"");
    DENIED(c, with_one(c, "rope_scaling", "{\"factor\": 2.0}"), "has no effect");
    DENIED(c, with_one(c, "rope_scaling", "{\"rope_type\": \"default\", \"factor\": 2.0}"),
           "has no effect");
    DENIED(c,
           with_one(c, "rope_scaling",
                    "{\"rope_type\": \"llama3\", \"type\": \"linear\", "
                    "\"factor\": 2.0}"),
           "contradicts itself");
    DENIED(c,
           with_one(c, "rope_scaling",
                    "{\"rope_type\": \"llama3\", \"factor\": 8, \"low_freq_factor\": 4, "
                    "\"high_freq_factor\": 4, \"original_max_position_embeddings\": 16}"),
           "must be less than");
    DENIED(c, with_one(c, "rope_scaling", "\"linear\""), "rope_scaling (its value is \"linear\")");
}

static void test_mistral(Case *c) {
    Pair p[] = {{"architectures", "[\"MistralForCausalLM\"]"},
                {"model_type", "\"mistral\""},
                {"sliding_window", "16"}};
    OPENS(c, with(c, p, 3));
    CHECK(c->t, sets(c, "WINDOW", "16"));
    p[2].value = "null";
    OPENS(c, with(c, p, 3));
    CHECK(c->t, sets(c, "WINDOW", "0"));
    p[2].value = NULL;
    DENIED(c, with(c, p, 3), "lacks sliding_window, which MistralForCausalLM needs");
    p[2].value = "0";
    DENIED(c, with(c, p, 3), "sliding_window is 0");
}

static void count_name(void *ctx, const char *name) {
    (void)name;
    ++*(int *)ctx;
}

static void test_tensors(Case *c) {
    Test *t = c->t;
    int unused = 0;
    OPENS(c, with(c, NULL, 0));
    checkpoint_unused(c->ck, count_name, &unused);
    CHECK(t, unused == GOOD_TENSORS);
    const RtTensor *q = checkpoint_tensor(c->ck, "layers.0.attention.q_proj.weight");
    CHECK(t, q && strcmp(q->name, "model.layers.0.self_attn.q_proj.weight") == 0);
    CHECK(t, checkpoint_present(c->ck, "lm_head.weight"));
    CHECK(t, !checkpoint_present(c->ck, "layers.0.attention.q_proj.bias"));
    CHECK(t, !checkpoint_present(c->ck, "layers.00.attention.q_proj.weight"));
    CHECK(t, !checkpoint_present(c->ck, "layers.1.attention.q_proj.weight"));
    CHECK(t, !checkpoint_present(c->ck, "rope_freqs") && !checkpoint_present(c->ck, "nonsense"));
    CHECK(t, !checkpoint_rows(c->ck, "layers.0.attention.q_proj.weight", 8));
    unused = 0;
    checkpoint_unused(c->ck, count_name, &unused);
    CHECK(t, unused == GOOD_TENSORS - 1);
    add_tensor(c, "model.layers.0.self_attn.rotary_emb.inv_freq", 0, 2, c->data);
    add_tensor(c, "model.layers.0.extra", 0, 2, c->data);
    write_weights(c);
    OPENS(c, with(c, NULL, 0));
    unused = 0;
    checkpoint_unused(c->ck, count_name, &unused);
    CHECK(t, unused == GOOD_TENSORS + 1);
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    checkpoint_print(c->ck, out);
    fclose(out);
    CHECK(t, strstr(text, "hidden_size: 8  -- sets H = 8") && strstr(text, "inv_freq  -- waived"));
    CHECK(t, strstr(text, "torch_dtype: \"float32\"  -- waived"));
    CHECK(t, strstr(text, "HeadDim; it is 4 = H / Heads") && !strstr(text, "-- ?"));
    free(text);
    good_weights(c);
    write_weights(c);
}

static void test_tie(Case *c) {
    Test *t = c->t;
    float other[64];
    OPENS(c, with_one(c, "tie_word_embeddings", "true"));
    CHECK(t, !checkpoint_present(c->ck, "lm_head.weight"));
    CHECK(t, !checkpoint_tensor(c->ck, "lm_head.weight"));
    int unused = 0;
    checkpoint_unused(c->ck, count_name, &unused);
    CHECK(t, unused == GOOD_TENSORS - 1); // the copy of the table is accounted for
    memcpy(other, c->data, sizeof other);
    other[39] += 1;
    c->tensors[GOOD_TENSORS - 1].data = other;
    write_weights(c);
    DENIED(c, with_one(c, "tie_word_embeddings", "true"), "lm_head.weight is not byte for byte");
    CHECK(t, strstr(c->text, "E5003") != NULL);
    OPENS(c, with(c, NULL, 0));
    c->count--;
    write_weights(c);
    OPENS(c, with_one(c, "tie_word_embeddings", "true"));
    CHECK(t, checkpoint_present(c->ck, "embed.weight"));
    DENIED(c, with(c, NULL, 0), "have no lm_head.weight");
    DENIED(c, with_one(c, "tie_word_embeddings", NULL), "have no lm_head.weight");
    good_weights(c);
    write_weights(c);
}

static void test_biases(Case *c) {
    static const char *const names[] = {"q_proj", "k_proj", "v_proj", "o_proj"};
    char text[4][64];
    for (int i = 0; i < 4; i++) {
        snprintf(text[i], sizeof text[i], "model.layers.0.self_attn.%s.bias", names[i]);
        add_tensor(c, text[i], 0, i == 1 || i == 2 ? 4 : 8, c->data);
    }
    write_weights(c);
    OPENS(c, with_one(c, "attention_bias", "true"));
    CHECK(c->t, checkpoint_present(c->ck, "layers.0.attention.q_proj.bias"));
    OPENS(c, with(c, NULL, 0));
    DENIED(c, with_one(c, "attention_bias", "false"), "attention_bias is false");
    good_weights(c);
    write_weights(c);
}

static void test_generation(Case *c) {
    Test *t = c->t;
    int32_t ids[4];
    double wish = 0;
    const char *text = "{\"eos_token_id\": 4, \"temperature\": 0.6, \"do_sample\": true}";
    save(t, "generation_config.json", text, strlen(text));
    OPENS(c, with(c, NULL, 0));
    CHECK(t, checkpoint_ends(c->ck, ids, 4) == 1 && ids[0] == 4);
    CHECK(t, checkpoint_wish(c->ck, "temperature", &wish) && wish > 0.59 && wish < 0.61);
    CHECK(t,
          !checkpoint_wish(c->ck, "top_p", &wish) && !checkpoint_wish(c->ck, "do_sample", &wish));
    save(t, "generation_config.json", "{\"eos_token_id\": [4, -1]}", 25);
    DENIED(c, with(c, NULL, 0), "generation_config.json: eos_token_id");
    save(t, "generation_config.json", "{", 1);
    DENIED(c, with(c, NULL, 0), "E5001");
    unlink(path_of(t, "generation_config.json"));
    OPENS(c, with(c, NULL, 0));
    CHECK(t, !checkpoint_tokenizer_path(c->ck) && !checkpoint_tokenizer(c->ck, c->s));
    CHECK(t, c->s->errors == 1 && c->s->diags.data[0]->code == E5007);
}

// Logical rows 0 1 2 3 of a head of 4 are stored at 0 2 1 3.
static void test_rows(Case *c) {
    static const int32_t want[] = {0, 2, 1, 3, 4, 6, 5, 7};
    Test *t = c->t;
    const int32_t *q = checkpoint_rows(c->ck, "layers.0.attention.q_proj.weight", 8);
    const int32_t *k = checkpoint_rows(c->ck, "layers.0.attention.k_proj.weight", 4);
    CHECK(t, q && memcmp(q, want, sizeof want) == 0);
    CHECK(t, k && memcmp(k, want, 4 * sizeof *want) == 0);
    CHECK(t, checkpoint_rows(c->ck, "layers.0.attention.q_proj.weight", 8) == q);
    CHECK(t, !checkpoint_rows(c->ck, "layers.0.attention.v_proj.weight", 4));
    CHECK(t, !checkpoint_rows(c->ck, "layers.0.attention.q_proj.weight", 6));
    CHECK(t, !checkpoint_rows(c->ck, "layers.0.attention.q_proj.bias", 8));
}

static void test_gguf(Case *c) {
    Test *t = c->t;
    Bytes b = {.size = 0};
    int keys = 0;
    int32_t ids[4];
    good_metadata(&b, &keys);
    DENIED(c, with_gguf(c, &b, keys, good_tensors, GOOD_TENSORS), "layer_norm_rms_epsilon");
    put_f32(&b, &keys, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
    OPENS(c, with_gguf(c, &b, keys, good_tensors, GOOD_TENSORS));
    CHECK(t, checkpoint_is(path_of(t, "tiny.bin")) && checkpoint_context(c->ck) == 32);
    CHECK(t, sets(c, "RMS_EPS", "1e-05") && sets(c, "ROPE_THETA", "7000.0"));
    CHECK(t, sets(c, "HeadDim", "4") && sets(c, "Vocab", "5") && sets(c, "Layers", "1"));
    CHECK(t, checkpoint_present(c->ck, "lm_head.weight"));
    CHECK(t, checkpoint_ends(c->ck, ids, 4) == 1 && ids[0] == 3);
    CHECK(t, checkpoint_begin(c->ck) == -1 && !checkpoint_tokenizer_path(c->ck));
    CHECK(t, rt_weights_gguf(checkpoint_weights(c->ck)) != NULL);
    test_rows(c);
    OPENS(c, with_gguf(c, &b, keys, good_tensors, GOOD_TENSORS - 1));
    CHECK(t, !checkpoint_present(c->ck, "lm_head.weight")); // tied without a word
    Row more[GOOD_TENSORS + 1];
    memcpy(more, good_tensors, sizeof good_tensors);
    more[GOOD_TENSORS] = (Row){"", "rope_freqs.weight", 0, 2};
    OPENS(c, with_gguf(c, &b, keys, more, GOOD_TENSORS + 1));
    CHECK(t, checkpoint_present(c->ck, "rope_freqs"));
}

static void gguf_refuses(Case *c, const Bytes *base, Bytes *b, int keys, const char *part) {
    DENIED(c, with_gguf(c, b, keys, good_tensors, GOOD_TENSORS), part);
    *b = *base;
}

static void test_gguf_keys(Case *c) {
    static Bytes base, b;
    int n = 0;
    good_metadata(&base, &n);
    put_f32(&base, &n, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
    b = base;
    int keys = n;
    put_u32(&b, &keys, "llama.rope.dimension_count", 2);
    gguf_refuses(c, &base, &b, keys, "dimension_count = 2 * 2"); // the width of a head is not 2
    keys = n;
    put_u32(&b, &keys, "llama.expert_count", 8);
    gguf_refuses(c, &base, &b, keys, "llama.expert_count is 8");
    keys = n;
    put_string(&b, &keys, "llama.rope.scaling.type", "yarn");
    gguf_refuses(c, &base, &b, keys, "is \"yarn\"");
    keys = n;
    put_u32(&b, &keys, "llama.unheard_of", 1);
    gguf_refuses(c, &base, &b, keys, "llama.unheard_of (its value is 1)");
    keys = n;
    put_string(&b, &keys, "llama.rope.scaling.type", "linear");
    put_f32(&b, &keys, "llama.rope.scaling.factor", 0.0f);
    gguf_refuses(c, &base, &b, keys, "factor is 0");
    b.size = 0;
    keys = 0;
    put_string(&b, &keys, "general.architecture", "gpt2");
    gguf_refuses(c, &base, &b, keys, "E5005");
}

static void test_files(Case *c) {
    Test *t = c->t;
    OPENS(c, with(c, NULL, 0));
    unlink(path_of(t, "model.safetensors"));
    DENIED(c, attempt(c, t->folder), "E5004");
    save(t, "model.safetensors", "12345678{}", 10);
    DENIED(c, attempt(c, t->folder), "E5004");
    CHECK(t, !checkpoint_is(path_of(t, "model.safetensors")));
    CHECK(t, !checkpoint_is(path_of(t, "no such file")));
    unlink(path_of(t, "config.json"));
    CHECK(t, !checkpoint_is(t->folder));
    mkdir(path_of(t, "config.json"), 0700);
    CHECK(t, !checkpoint_is(t->folder));
}

// Checkpoints of the tree: all their keys are understood, all tensors found.
static void test_tree(Case *c) {
    static const char *const paths[] = {"tests/data/tiny/gqa",     "tests/data/tiny/llama3",
                                        "tests/data/tiny/llama31", "tests/data/tiny/single",
                                        "tests/data/tiny/tied",    "examples/verses"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        OPENS(c, attempt(c, paths[i]));
        CHECK(c->t, checkpoint_present(c->ck, "layers.0.mlp.down.weight"));
        CHECK(c->t, checkpoint_present(c->ck, "lm_head.weight") == (i < 4));
    }
    RtTokenizer *tokenizer = checkpoint_tokenizer(c->ck, c->s);
    CHECK(c->t, tokenizer && rt_tokenizer_is_end(tokenizer, 0));
    rt_tokenizer_free(tokenizer);
}

int main(void) {
    Test t;
    test_begin(&t);
    Case c = {.t = &t};
    good_weights(&c);
    write_weights(&c);
    test_good(&c);
    test_defaults(&c);
    test_refused_keys(&c);
    test_refused_values(&c);
    test_contradictions(&c);
    test_rope(&c);
    test_mistral(&c);
    test_tensors(&c);
    test_tie(&c);
    test_biases(&c);
    test_generation(&c);
    test_gguf(&c);
    test_gguf_keys(&c);
    test_files(&c);
    test_tree(&c);
    end_attempt(&c);
    return test_end(&t);
}
