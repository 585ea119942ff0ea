// Memory of a run. Buffers are counted by their holders.
//
// Where an arena was reserved, a tensor goes to the least gap between two others that it fits into.
// Addresses follow from sizes alone, so a dry run finds what a call will need, to the byte. Calls
// with lesser extents take the places of that dry run: lesser tensors fit into them, while the gaps
// they would choose themselves need not add up to less.
//
// Without an arena, or where it is full, memory comes from the system and is kept for reuse in size
// classes, four to a doubling, so that sizes that grow a little from call to call share them.
#include "interp/run.h"
#include <stdlib.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(data, size) ((void)(data), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(data, size) ((void)(data), (void)(size))
#endif

#define DRY_ADDRESS ((uintptr_t)1 << 56) // of a dry run's arena: no memory lies there
#define DRY_SIZE ((uint64_t)1 << 48)     // bytes

static uint64_t rounded_up(uint64_t bytes) {
    return (bytes + 63) & ~(uint64_t)63;
}

static size_t size_class(uint64_t bytes) {
    size_t step = 64;
    while (bytes > step * 8)
        step *= 2;
    size_t size = (bytes + step - 1) / step * step;
    return size ? size : step;
}

// ---- The arena ---------------------------------------------------------------------------------

static void link_above(TensorArena *a, Buffer *b, Buffer *below) {
    b->before = below;
    b->next = below ? below->next : a->first;
    if (b->next)
        b->next->before = b;
    *(below ? &below->next : &a->first) = b;
}

// Puts b where the layout says, if it fits and nothing is in the way.
static bool take_place(Interp *it, Buffer *b) {
    const InterpLayout *l = it->layout;
    if (!l || it->step >= l->first.len)
        return false;
    int at = l->first.data[it->step] + it->nth;
    int end = it->step + 1 < l->first.len ? l->first.data[it->step + 1] : l->places.len;
    if (at >= end || b->size > l->places.data[at].size)
        return false;
    uint64_t offset = l->places.data[at].offset;
    Buffer *below = NULL, *above = it->tensors.first;
    for (; above && above->offset < offset; above = above->next)
        below = above;
    if ((below && below->offset + below->size > offset) ||
        (above && above->offset < offset + b->size))
        return false;
    b->offset = offset;
    link_above(&it->tensors, b, below);
    return true;
}

// Puts b into the least gap; false if there is none.
static bool find_gap(TensorArena *a, Buffer *b) {
    Buffer *below = NULL, *last = NULL;
    uint64_t least = UINT64_MAX, end = 0;
    for (Buffer *x = a->first; x; x = x->next) {
        uint64_t gap = x->offset - end;
        if (gap >= b->size && gap < least) {
            least = gap;
            below = last;
            b->offset = end;
        }
        last = x;
        end = x->offset + x->size;
    }
    if (least == UINT64_MAX) {
        if (a->size - end < b->size)
            return false;
        below = last;
        b->offset = end;
    }
    link_above(a, b, below);
    return true;
}

void buffer_step(Interp *it) {
    it->step++;
    it->nth = 0;
    if (it->made)
        vec_push(it->arena, &it->made->first, it->made->places.len);
}

const InterpLayout *interp_layout(const Interp *it) {
    return it->made;
}

void interp_lay_out(Interp *it, const InterpLayout *layout) {
    it->layout = layout;
}

static Buffer *describe(Interp *it) {
    Buffer *b = it->spare;
    if (!b)
        return calloc(1, sizeof *b);
    it->spare = b->next;
    *b = (Buffer){0};
    return b;
}

static void spare(Interp *it, Buffer *b) {
    b->next = it->spare;
    it->spare = b;
}

// A buffer in the arena; NULL if there is no room.
static Buffer *arena_buffer(Interp *it, uint64_t bytes) {
    TensorArena *a = &it->tensors;
    uint64_t size = rounded_up(bytes ? bytes : 1);
    Buffer *b = size > a->size || it->live + size > it->limit ? NULL : describe(it);
    if (!b)
        return NULL;
    b->size = size;
    if (!take_place(it, b) && !find_gap(a, b)) {
        spare(it, b);
        return NULL;
    }
    it->nth++;
    if (it->made)
        vec_push(it->arena, &it->made->places, ((TensorPlace){b->offset, size}));
    uint64_t end = b->offset + size;
    a->used = end > a->used ? end : a->used;
    b->inside = true;
    if (it->dry) {
        bool scalar = bytes <= sizeof b->scalar;
        b->data = scalar ? b->scalar : (void *)(DRY_ADDRESS + (uintptr_t)b->offset);
    } else {
        b->data = a->data + b->offset;
        ASAN_UNPOISON_MEMORY_REGION(b->data, size);
    }
    return b;
}

static void arena_drop(Interp *it, Buffer *b) {
    *(b->before ? &b->before->next : &it->tensors.first) = b->next;
    if (b->next)
        b->next->before = b->before;
    if (!it->dry)
        ASAN_POISON_MEMORY_REGION(b->data, b->size);
    spare(it, b);
}

bool interp_reserve(Interp *it, uint64_t arena, uint64_t scratch) {
    TensorArena *a = &it->tensors;
    a->size = rounded_up(arena);
    a->data = a->size ? aligned_alloc(64, a->size) : NULL;
    if (a->size && !a->data) {
        a->size = 0;
        return false;
    }
    ASAN_POISON_MEMORY_REGION(a->data, a->size);
    it->scratch_size = rounded_up(scratch);
    it->scratch = scratch ? aligned_alloc(64, it->scratch_size) : NULL;
    if (scratch && !it->scratch)
        it->scratch_size = 0;
    return !scratch || it->scratch;
}

void interp_dry(Interp *it) {
    it->dry = true;
    it->limit = DRY_SIZE;
    it->tensors.size = DRY_SIZE;
}

InterpMemory interp_memory(const Interp *it) {
    return (InterpMemory){it->tensors.used, it->overflow, rounded_up(it->scratch_used)};
}

// ---- Memory of the system ----------------------------------------------------------------------

static void trim_free(Interp *it) {
    while (it->free) {
        Buffer *b = it->free;
        it->free = b->next;
        free(b->data);
        free(b);
    }
    it->free_bytes = 0;
}

void run_trim(Interp *it) {
    trim_free(it);
    while (it->spare) {
        Buffer *b = it->spare;
        it->spare = b->next;
        free(b);
    }
    free(it->scratch);
    it->scratch = NULL;
    it->scratch_size = 0;
}

static Buffer *buffer_reuse(Interp *it, size_t size) {
    for (Buffer **p = &it->free; *p; p = &(*p)->next) {
        Buffer *b = *p;
        if (b->size == size) {
            *p = b->next;
            it->free_bytes -= size;
            return b;
        }
    }
    return NULL;
}

static Buffer *system_buffer(Interp *it, uint64_t bytes) {
    size_t size = size_class(bytes);
    Buffer *b = it->dry ? NULL : buffer_reuse(it, size);
    if (!b && !it->dry) {
        // Leftovers of other sizes must not pile up beside what is alive.
        if (it->free_bytes > it->live / 2 + ((uint64_t)64 << 20))
            trim_free(it);
        b = it->live + size > it->limit ? NULL : calloc(1, sizeof *b);
        if (b && !(b->data = aligned_alloc(64, size))) {
            free(b);
            b = NULL;
        }
    }
    if (!b) {
        run_fail(it, "no memory for a tensor of %llu bytes", (unsigned long long)bytes);
        return NULL;
    }
    b->size = size;
    it->outside += size;
    it->overflow = it->outside > it->overflow ? it->outside : it->overflow;
    return b;
}

// ---- Buffers -----------------------------------------------------------------------------------

Buffer *buffer_new(Interp *it, uint64_t bytes) {
    Buffer *b = it->tensors.size ? arena_buffer(it, bytes) : NULL;
    if (!b)
        b = system_buffer(it, bytes);
    if (!b)
        return NULL;
    b->uses = 1;
    b->state = false;
    it->live += b->size;
    it->peak = it->live > it->peak ? it->live : it->peak;
    return b;
}

void buffer_drop(Interp *it, Buffer *b) {
    if (!b || --b->uses)
        return;
    it->live -= b->size;
    if (b->inside) {
        arena_drop(it, b);
        return;
    }
    it->outside -= b->size;
    it->free_bytes += b->size;
    b->next = it->free;
    it->free = b;
}

void *run_scratch(Interp *it, size_t size) {
    it->scratch_used = size > it->scratch_used ? size : it->scratch_used;
    if (size > it->scratch_size) {
        free(it->scratch);
        it->scratch_size = size > it->limit ? 0 : size_class(size);
        it->scratch = it->scratch_size ? aligned_alloc(64, it->scratch_size) : NULL;
        if (!it->scratch) {
            it->scratch_size = 0;
            run_fail(it, "no memory for %zu bytes of scratch space", size);
        }
    }
    return it->scratch;
}
