// The least vertex cut by augmenting paths (Edmonds and Karp 1972). Every node is two, its entry
// and its exit, joined by an arc of its cost; other arcs cannot be cut.
#include "opt/roles.h"

#define UNCUTTABLE ((int64_t)1 << 60)

typedef struct {
    int to;
    int next;     // arc from the same node, or -1; arc i ^ 1 is its reverse
    int64_t left; // capacity that is not used
} Arc;

typedef struct {
    Arena *arena; // scratch
    VEC(Arc) arcs;
    int *first; // by node: its first arc, or -1
    int *by;    // by node: the arc that a path came by
    int *queue; // of a search
    int nodes;  // two for each node, then source and sink
} Network;

static void half_arc(Network *w, int from, int to, int64_t capacity) {
    Arc a = {to, w->first[from], capacity};
    vec_push(w->arena, &w->arcs, a);
    w->first[from] = w->arcs.len - 1;
}

static void arc(Network *w, int from, int to, int64_t capacity) {
    half_arc(w, from, to, capacity);
    half_arc(w, to, from, 0);
}

// A shortest path with room left; by[] leads back from the sink.
static bool find_path(Network *w, int source, int sink) {
    for (int i = 0; i < w->nodes; i++)
        w->by[i] = -1;
    int head = 0, tail = 0;
    w->queue[tail++] = source;
    while (head < tail && w->by[sink] < 0) {
        int node = w->queue[head++];
        for (int e = w->first[node]; e >= 0; e = w->arcs.data[e].next) {
            int to = w->arcs.data[e].to;
            if (w->arcs.data[e].left <= 0 || w->by[to] >= 0 || to == source)
                continue;
            w->by[to] = e;
            w->queue[tail++] = to;
        }
    }
    return w->by[sink] >= 0;
}

static void augment(Network *w, int source, int sink) {
    int64_t flow = UNCUTTABLE;
    for (int n = sink; n != source; n = w->arcs.data[w->by[n] ^ 1].to)
        flow = w->arcs.data[w->by[n]].left < flow ? w->arcs.data[w->by[n]].left : flow;
    for (int n = sink; n != source; n = w->arcs.data[w->by[n] ^ 1].to) {
        w->arcs.data[w->by[n]].left -= flow;
        w->arcs.data[w->by[n] ^ 1].left += flow;
    }
}

// Nodes that can still reach the sink.
static bool *reaching(Network *w, int sink) {
    bool *reach = NEW_N(w->arena, bool, w->nodes);
    int tail = 0;
    w->queue[tail++] = sink;
    reach[sink] = true;
    while (tail > 0) {
        int node = w->queue[--tail];
        for (int e = w->first[node]; e >= 0; e = w->arcs.data[e].next) {
            int from = w->arcs.data[e].to; // arc e ^ 1 goes from there to node
            if (reach[from] || w->arcs.data[e ^ 1].left <= 0)
                continue;
            reach[from] = true;
            w->queue[tail++] = from;
        }
    }
    return reach;
}

void least_cut(Arena *a, int n, const int64_t *cost, const bool *source, const bool *sink,
               int edges, const int *from, const int *to, bool *in_cut) {
    Network w = {.arena = a, .nodes = 2 * n + 2};
    int start = 2 * n, end = 2 * n + 1;
    w.first = NEW_N(a, int, w.nodes);
    w.by = NEW_N(a, int, w.nodes);
    w.queue = NEW_N(a, int, w.nodes);
    for (int i = 0; i < w.nodes; i++)
        w.first[i] = -1;
    for (int i = 0; i < n; i++) {
        arc(&w, 2 * i, 2 * i + 1, cost[i]);
        if (source[i])
            arc(&w, start, 2 * i, UNCUTTABLE);
        if (sink[i])
            arc(&w, 2 * i + 1, end, UNCUTTABLE);
    }
    for (int i = 0; i < edges; i++)
        arc(&w, 2 * from[i] + 1, 2 * to[i], UNCUTTABLE);
    while (find_path(&w, start, end))
        augment(&w, start, end);
    bool *reach = reaching(&w, end);
    for (int i = 0; i < n; i++)
        in_cut[i] = reach[2 * i + 1] && !reach[2 * i];
}
