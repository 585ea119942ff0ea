// What the parts of a checkpoint share; see checkpoint.h.
#pragma once
#include "cli/checkpoint.h"
#include "cli/settle.h"

typedef struct {
    int64_t rows;       // in all
    int64_t heads;      // they are divided among
    const int32_t *map; // stored row of each logical row
} RowMap;

struct Checkpoint {
    Session *s;              // diagnostics and memory
    const char *path;        // as given
    const char *origin;      // of the config: "DIR/config.json", or the GGUF file
    Form form;               // which tables of the binding hold
    RtWeights *weights;      // owned
    const Bind *bind;        // how it becomes a program
    Config config;           // config.json or the metadata
    Config generation;       // generation_config.json; no keys if there is none
    Settle settle;           // what the config says
    SettingVec settings;     // the same, for the checker
    const SettingVec *given; // those that the command line changed among them; or NULL
    Map used;                // RtTensor -> itself
    VEC(RowMap) maps;        // made so far
    bool tied;               // the head is the table of embeddings
};

// The tensor's name of a parameter, or NULL if the format has none for it.
const char *checkpoint_name(const Checkpoint *ck, const char *path);

// Is the tensor waived by name?
bool checkpoint_waived(const Checkpoint *ck, const char *name);

// Checks the weights against the config: the tie, presence, shapes, the number of layers (E5003,
// E5006). Decides `tied`.
void checkpoint_compare(Checkpoint *ck);
