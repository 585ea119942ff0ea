// Checkpoints: a folder with config.json and safetensors, or a GGUF file, that runs a program of
// the standard library.
//
// A binding file (stdlib/models/NAME.bind) says how: which config key sets which generic or
// constant of the program, which parameter is which tensor, and what may be left out by name. Every
// key of the config is consumed, waived, or refused; every tensor too.
#pragma once
#include "check/check.h"
#include "runtime/tokenizer.h"
#include "runtime/weights.h"
#include <stdio.h>

typedef struct Checkpoint Checkpoint; // owns the mapped weights; texts are the session's

// True for a folder with config.json, and for a regular file that begins as GGUF does or is
// called NAME.gguf.
bool checkpoint_is(const char *path);

// Opens the weights, reads config.json or the GGUF metadata, finds the binding of its architecture
// and turns every key into a setting. NULL after diagnostics: E5001 (config.json is no JSON, a
// binding is wrong), E5002 (keys not understood: one error each), E5003 (a tie that the weights
// deny), E5004 (weights), E5005 (architecture), E5006 (values). Close with checkpoint_close.
Checkpoint *checkpoint_open(Session *s, const char *path);
void checkpoint_close(Checkpoint *ck); // NULL is allowed; unmaps the weights

// The program, "stdlib/models/llama.serin", an embedded file; and the block that is the model.
const char *checkpoint_program(const Checkpoint *ck);
const char *checkpoint_block(const Checkpoint *ck);

// The settings for check_program and for the block's generics, with origins such as
// "config.json: rope_theta". The caller may append its own (--set) after them.
SettingVec *checkpoint_settings(Checkpoint *ck);

// Tells it those settings together with the command line's (flag), for checkpoint_print.
void checkpoint_given(Checkpoint *ck, const SettingVec *all);

// The most positions the model was made for (max_position_embeddings, llama.context_length), or -1.
int64_t checkpoint_context(const Checkpoint *ck);
const RtWeights *checkpoint_weights(const Checkpoint *ck);

// Is the tensor of the parameter `path` ("layers.0.mlp.up_proj.weight") there? False for a tied
// head, even where the file repeats the table. `ck` is a Checkpoint, as a callback has it.
bool checkpoint_present(void *ck, const char *path);

// The tensor of a parameter, marked as used; NULL if the file has none.
const RtTensor *checkpoint_tensor(Checkpoint *ck, const char *path);

// Where a file stores a parameter's rows in another order: the stored row of each logical row
// (`rows` of them, owned by the session). NULL: in order. GGUF's llama architecture stores a head's
// rows i and i + D/2 beside each other. NULL too if `rows` is not what the config says; the
// parameter's shape does not fit then.
const int32_t *checkpoint_rows(Checkpoint *ck, const char *path, int64_t rows);

// Tensors that are neither used nor waived, in file order.
void checkpoint_unused(Checkpoint *ck, void (*fn)(void *ctx, const char *name), void *ctx);

// Each key with its value and what became of it ("sets H = 576", "waived"), defaults taken, and the
// tensors waived: one line each.
void checkpoint_print(const Checkpoint *ck, FILE *out);

// The ids that end an answer (generation_config.json and config.json, or GGUF) into ids[most];
// returns how many. The first id of a text, or -1.
int checkpoint_ends(const Checkpoint *ck, int32_t *ids, int most);
int32_t checkpoint_begin(const Checkpoint *ck);

// Sampling wishes of generation_config.json: true and the value if the file has them.
bool checkpoint_wish(const Checkpoint *ck, const char *key, double *out);

// tokenizer.json beside config.json; NULL if there is none, or for GGUF.
const char *checkpoint_tokenizer_path(const Checkpoint *ck);

// The tokenizer, the end tokens added. NULL after E5007. Free with rt_tokenizer_free.
RtTokenizer *checkpoint_tokenizer(Checkpoint *ck, Session *s);
