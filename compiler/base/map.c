// Open addressing with linear probing; see map.h.
#include "base/map.h"
#include <stdint.h>

static int slot_of(const Map *m, const void *key) {
    uintptr_t h = (uintptr_t)key >> 4;
    h ^= h >> 15;
    int i = (int)(h * 2654435761u) & (m->size - 1);
    while (m->slots[i].key && m->slots[i].key != key)
        i = (i + 1) & (m->size - 1);
    return i;
}

void *map_get(const Map *m, const void *key) {
    return m->size ? m->slots[slot_of(m, key)].value : NULL;
}

bool map_has(const Map *m, const void *key) {
    return m->size && m->slots[slot_of(m, key)].key;
}

static void grow(Arena *a, Map *m) {
    Map wider = {.size = m->size ? m->size * 2 : 16};
    wider.slots = NEW_N(a, MapSlot, wider.size);
    for (int i = 0; i < m->size; i++) {
        if (m->slots[i].key) {
            wider.slots[slot_of(&wider, m->slots[i].key)] = m->slots[i];
            wider.count++;
        }
    }
    *m = wider;
}

void map_put(Arena *a, Map *m, const void *key, void *value) {
    if (m->count * 4 >= m->size * 3)
        grow(a, m);
    int i = slot_of(m, key);
    m->count += !m->slots[i].key;
    m->slots[i] = (MapSlot){key, value};
}
