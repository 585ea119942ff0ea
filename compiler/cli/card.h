// A package's card, nest.toml, and its bindings: read strictly, before anything is compared with a
// program.
#pragma once
#include "check/check.h"
#include "check/toml.h"

typedef struct {
    Name path;          // of a parameter, expanded: "layers.0.norm.weight"
    const char *tensor; // its name in the weights
} CardBinding;

typedef struct {
    const char *folder;        // of the package
    const Toml *toml;          // nest.toml, or NULL
    SettingVec generics;       // [generics]: settings that may stay unused
    SettingVec check;          // [check]: of the entry, for `serin check`
    const char *source;        // [source] path, with the folder; or NULL
    const char *root, *entry;  // [source]: a block and its main entry; or NULL
    VEC(const char *) files;   // [weights] files, with the folder
    const char *bindings_path; // the file, with the folder; NULL without one
    VEC(CardBinding) bindings; // in file order
    Map tensors;               // path of a binding -> name of its tensor
} Card;

// Reads the card and the bindings of a folder; without them they are empty. NULL where `path` is no
// folder, or after E5001, E5008 (unknown keys), E5012, E5013. Lives as long as the session.
Card *card_read(Session *s, const char *path);

// Has the card every field that a card needs? E5012 for each that is missing.
bool card_complete(Session *s, const Card *card);
