// What the tests of checkpoints share: a tiny model written as safetensors and as GGUF, with
// configurations that differ from a good one in a few keys.
#pragma once
#include "cli/checkpoint.h"
#include "runtime/safetensors.h"
#include "weights_help.h"

// Vocab 5, H 8, 2 heads of 4 over 1, Inner 6, 1 layer.
typedef struct {
    const char *key;   // of config.json
    const char *value; // as JSON; NULL: left out
} Pair;

static const Pair good_config[] = {
    {"architectures", "[\"LlamaForCausalLM\"]"},
    {"model_type", "\"llama\""},
    {"vocab_size", "5"},
    {"hidden_size", "8"},
    {"num_attention_heads", "2"},
    {"num_key_value_heads", "1"},
    {"intermediate_size", "6"},
    {"num_hidden_layers", "1"},
    {"rms_norm_eps", "1e-05"},
    {"rope_theta", "5000"},
    {"max_position_embeddings", "64"},
    {"hidden_act", "\"silu\""},
    {"tie_word_embeddings", "false"},
    {"torch_dtype", "\"float32\""},
    {"bos_token_id", "1"},
    {"eos_token_id", "[2, 3]"},
};

enum { GOOD_KEYS = sizeof good_config / sizeof *good_config };

typedef struct {
    const char *hf;   // name in safetensors
    const char *gguf; // name in GGUF
    int rows;         // 0: a vector of `width`
    int width;        // of a row
} Row;

static const Row good_tensors[] = {
    {"model.embed_tokens.weight", "token_embd.weight", 5, 8},
    {"model.layers.0.input_layernorm.weight", "blk.0.attn_norm.weight", 0, 8},
    {"model.layers.0.self_attn.q_proj.weight", "blk.0.attn_q.weight", 8, 8},
    {"model.layers.0.self_attn.k_proj.weight", "blk.0.attn_k.weight", 4, 8},
    {"model.layers.0.self_attn.v_proj.weight", "blk.0.attn_v.weight", 4, 8},
    {"model.layers.0.self_attn.o_proj.weight", "blk.0.attn_output.weight", 8, 8},
    {"model.layers.0.post_attention_layernorm.weight", "blk.0.ffn_norm.weight", 0, 8},
    {"model.layers.0.mlp.gate_proj.weight", "blk.0.ffn_gate.weight", 6, 8},
    {"model.layers.0.mlp.up_proj.weight", "blk.0.ffn_up.weight", 6, 8},
    {"model.layers.0.mlp.down_proj.weight", "blk.0.ffn_down.weight", 8, 6},
    {"model.norm.weight", "output_norm.weight", 0, 8},
    {"lm_head.weight", "output.weight", 5, 8},
};

enum { GOOD_TENSORS = sizeof good_tensors / sizeof *good_tensors, MOST_TENSORS = 24 };

typedef struct {
    Test *t;
    Session *s;                     // of the last attempt
    Checkpoint *ck;                 // what it gave
    const char *text;               // its diagnostics, one after the other
    float data[64];                 // of every tensor: 0, 1, 2, ...
    RtTensor tensors[MOST_TENSORS]; // to write
    int count;                      // of them
} Case;

static inline void add_tensor(Case *c, const char *name, int rows, int width, const void *data) {
    RtTensor *x = &c->tensors[c->count++];
    *x = (RtTensor){.name = name, .format = RT_F32, .rank = rows ? 2 : 1, .data = data};
    x->dims[0] = rows ? rows : width;
    x->dims[1] = rows ? width : 0;
    x->bytes = (uint64_t)(rows ? rows : 1) * (uint64_t)width * 4;
}

static inline void good_weights(Case *c) {
    c->count = 0;
    for (int i = 0; i < 64; i++)
        c->data[i] = (float)i;
    for (int i = 0; i < GOOD_TENSORS; i++)
        add_tensor(c, good_tensors[i].hf, good_tensors[i].rows, good_tensors[i].width, c->data);
}

static inline void write_weights(Case *c) {
    RtError err;
    const char *path = path_of(c->t, "model.safetensors");
    if (!rt_safetensors_write(path, c->tensors, (size_t)c->count, &err))
        abort();
}

static inline void end_attempt(Case *c) {
    checkpoint_close(c->ck);
    if (c->s)
        session_free(c->s);
    c->ck = NULL;
    c->s = NULL;
}

static inline bool attempt(Case *c, const char *path) {
    end_attempt(c);
    c->s = session_new();
    c->ck = checkpoint_open(c->s, path);
    StrBuf b = strbuf_new(c->s->arena);
    for (int i = 0; i < c->s->diags.len; i++) {
        const Diag *d = c->s->diags.data[i];
        strbuf_printf(&b, "%s: %s\n", diag_info(d->code)->name, d->message);
    }
    c->text = b.data ? b.data : "";
    return c->ck != NULL;
}

// Opens the folder with the good config, in which `changes` replace or add keys.
static inline bool with(Case *c, const Pair *changes, int count) {
    char text[4096] = "{";
    size_t n = 1;
    for (int i = 0; i < GOOD_KEYS + count; i++) {
        Pair p = i < GOOD_KEYS ? good_config[i] : changes[i - GOOD_KEYS];
        for (int k = 0; k < count && i < GOOD_KEYS; k++)
            p.value = strcmp(changes[k].key, p.key) == 0 ? NULL : p.value;
        if (p.value)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s\"%s\": %s", n > 1 ? ",\n" : "",
                                  p.key, p.value);
    }
    n += (size_t)snprintf(text + n, sizeof text - n, "}");
    save(c->t, "config.json", text, n);
    return attempt(c, c->t->folder);
}

static inline bool with_one(Case *c, const char *key, const char *value) {
    Pair change = {key, value};
    return with(c, &change, 1);
}

// The value of a setting, or "" if there is none.
static inline const char *set_to(Case *c, const char *name) {
    SettingVec *v = c->ck ? checkpoint_settings(c->ck) : NULL;
    for (int i = 0; v && i < v->len; i++) {
        if (strcmp(v->data[i].name, name) == 0)
            return v->data[i].value;
    }
    return "";
}

// ---- GGUF --------------------------------------------------------------------------------------

static inline void put_text(Bytes *b, const char *text) {
    put_number(b, strlen(text), 8);
    put(b, text, strlen(text));
}

static inline void put_u32(Bytes *b, int *keys, const char *key, uint32_t value) {
    put_text(b, key);
    put_number(b, RT_GGUF_U32, 4);
    put_number(b, value, 4);
    ++*keys;
}

static inline void put_f32(Bytes *b, int *keys, const char *key, float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    put_text(b, key);
    put_number(b, RT_GGUF_F32, 4);
    put_number(b, bits, 4);
    ++*keys;
}

static inline void put_string(Bytes *b, int *keys, const char *key, const char *value) {
    put_text(b, key);
    put_number(b, RT_GGUF_TEXT, 4);
    put_text(b, value);
    ++*keys;
}

// The keys of the tiny model.
static inline void good_metadata(Bytes *b, int *keys) {
    put_string(b, keys, "general.architecture", "llama");
    put_string(b, keys, "general.name", "tiny");
    put_u32(b, keys, "llama.vocab_size", 5);
    put_u32(b, keys, "llama.embedding_length", 8);
    put_u32(b, keys, "llama.block_count", 1);
    put_u32(b, keys, "llama.feed_forward_length", 6);
    put_u32(b, keys, "llama.attention.head_count", 2);
    put_u32(b, keys, "llama.attention.head_count_kv", 1);
    put_u32(b, keys, "llama.context_length", 32);
    put_u32(b, keys, "tokenizer.ggml.eos_token_id", 3);
    put_f32(b, keys, "llama.rope.freq_base", 7000);
}

// Writes tiny.gguf under another name with these keys and tensors 0 .. count - 1, of which a
// matrix's rows are the innermost dimension, and opens it.
static inline bool with_gguf(Case *c, const Bytes *metadata, int keys, const Row *rows, int count) {
    static Bytes b;
    uint64_t at = 0;
    b.size = 0;
    put(&b, "GGUF", 4);
    put_number(&b, 3, 4);
    put_number(&b, (uint64_t)count, 8);
    put_number(&b, (uint64_t)keys, 8);
    put(&b, metadata->bytes, metadata->size);
    for (int i = 0; i < count; i++) {
        uint64_t bytes = (uint64_t)(rows[i].rows ? rows[i].rows : 1) * (uint64_t)rows[i].width * 4;
        put_text(&b, rows[i].gguf);
        put_number(&b, rows[i].rows ? 2 : 1, 4);
        put_number(&b, (uint64_t)rows[i].width, 8);
        if (rows[i].rows)
            put_number(&b, (uint64_t)rows[i].rows, 8);
        put_number(&b, 0, 4);
        put_number(&b, at, 8);
        at += (bytes + 31) / 32 * 32;
    }
    put_zeros(&b, (32 - b.size % 32) % 32);
    put_zeros(&b, at);
    char path[400];
    snprintf(path, sizeof path, "%s", save(c->t, "tiny.bin", b.bytes, b.size));
    return attempt(c, path);
}
