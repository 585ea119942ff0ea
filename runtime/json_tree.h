// The inside of a JSON document, shared by the parser (json.c) and the getters (json_get.c).

#ifndef RUNTIME_JSON_TREE_H
#define RUNTIME_JSON_TREE_H

#include "runtime/json.h"

struct RtJson {
    char *text;          // the unescaped copy that keys and strings point into
    RtJsonValue *values; // all values, in text order; the root first
    char where[];        // the text's name, for messages
};

#endif
