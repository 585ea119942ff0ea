// Hash map from an interned name (or any other pointer) to a pointer. Keys compare by identity.
#pragma once
#include "base/arena.h"
#include <stdbool.h>

typedef struct {
    const void *key;
    void *value;
} MapSlot;

typedef struct {
    MapSlot *slots; // open addressing; key NULL is empty
    int count;
    int size; // a power of two, or 0
} Map;

void *map_get(const Map *m, const void *key); // NULL if absent
bool map_has(const Map *m, const void *key);
void map_put(Arena *a, Map *m, const void *key, void *value); // replaces
