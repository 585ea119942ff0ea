// Weight files under one face: one mapping a file, one table of tensors over all.
//
// A sharded checkpoint is a JSON index whose "weight_map" says which file holds each tensor. The
// index and the shards must agree in both directions, and a shard's name must be a plain file name
// of the index's own folder.

#include "runtime/weights.h"
#include "runtime/file.h"
#include "runtime/json.h"
#include "runtime/safetensors.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_SHARDS = 10000 };

typedef struct {
    char *path;   // owned
    RtFile file;  // the mapping
    size_t first; // number of the file's first tensor; they are consecutive
} Part;

struct RtWeights {
    Part *parts;       // mapped files
    size_t count;      // of parts
    size_t capacity;   // allocated parts
    RtTensors tensors; // of safetensors files
    RtGguf *gguf;      // of a GGUF file, which then has the tensors; else NULL
};

static const RtTensors *table_of(const RtWeights *w) {
    return w->gguf ? rt_gguf_tensors(w->gguf) : &w->tensors;
}

static char *join(const char *folder, const char *name) {
    size_t length = strlen(folder), room = length + strlen(name) + 2;
    char *path = malloc(room);
    if (path)
        snprintf(path, room, "%s%s%s", folder, length && folder[length - 1] == '/' ? "" : "/",
                 name);
    return path;
}

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

// Maps a file and adds its tensors. A GGUF file must be the only one.
static bool add_file(RtWeights *w, const char *path, bool may_be_gguf, RtError *err) {
    if (w->count == w->capacity) {
        size_t room = w->capacity ? w->capacity * 2 : 4;
        Part *grown = realloc(w->parts, room * sizeof *grown);
        if (!grown)
            return rt_fail(err, "%s: out of memory", path);
        w->parts = grown;
        w->capacity = room;
    }
    Part *part = &w->parts[w->count];
    *part = (Part){.path = strdup(path), .first = w->tensors.count};
    if (!part->path)
        return rt_fail(err, "%s: out of memory", path);
    w->count++;
    if (!rt_file_map(&part->file, path, err))
        return false;
    bool gguf = part->file.size >= 4 && memcmp(part->file.data, "GGUF", 4) == 0;
    gguf |= may_be_gguf && ends_with(path, ".gguf"); // then its parser says what is wrong
    if (gguf && !may_be_gguf)
        return rt_fail(err, "%s: a GGUF file where a safetensors shard was expected", path);
    if (gguf)
        w->gguf = rt_gguf_parse(part->file.data, part->file.size, path, err);
    else
        return rt_safetensors_parse(part->file.data, part->file.size, path, &w->tensors, err);
    return w->gguf != NULL;
}

// ---- shards ----

static int by_text(const void *a, const void *b) {
    const RtJsonValue *x = *(const RtJsonValue *const *)a, *y = *(const RtJsonValue *const *)b;
    return strcmp(x->text, y->text);
}

// A shard's name may not lead anywhere else.
static bool plain_name(const RtJsonValue *value) {
    const char *text = rt_json_text(value);
    if (!text || value->length == 0 || value->length > 255 || text[0] == '.')
        return false;
    return !strchr(text, '/') && !strchr(text, '\\');
}

static bool bad_entry(const char *index, const RtJsonValue *entry, const char *what, RtError *err) {
    char name[160];
    rt_printable(name, sizeof name, entry->key, entry->key_length);
    return rt_fail(err, "%s: \"weight_map\" of \"%s\": %s", index, name, what);
}

// The entries of the map in order of their files' names. *list is the caller's to free.
static bool sorted_map(const RtJson *json, const char *index, const RtJsonValue ***list,
                       size_t *count, RtError *err) {
    const RtJsonValue *map =
        rt_json_need(json, rt_json_root(json), "weight_map", RT_JSON_OBJECT, err);
    *list = NULL;
    if (!map)
        return false;
    if (map->length == 0)
        return rt_fail(err, "%s: \"weight_map\" is empty", index);
    *list = malloc(map->length * sizeof **list);
    if (!*list)
        return rt_fail(err, "%s: out of memory", index);
    *count = 0;
    for (const RtJsonValue *v = rt_json_first(map); v; v = rt_json_next(v)) {
        if (!plain_name(v))
            return bad_entry(index, v, "the file must be a plain name in the index's folder", err);
        (*list)[(*count)++] = v;
    }
    qsort((void *)*list, *count, sizeof **list, by_text);
    return true;
}

static bool open_shards(RtWeights *w, const char *folder, const RtJsonValue *const *list,
                        size_t count, const char *index, RtError *err) {
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && strcmp(list[i - 1]->text, list[i]->text) == 0)
            continue;
        if (w->count == MAX_SHARDS)
            return rt_fail(err, "%s: more than %d shards", index, MAX_SHARDS);
        char *path = join(folder, list[i]->text);
        bool ok = path ? add_file(w, path, false, err) : rt_fail(err, "%s: out of memory", index);
        free(path);
        if (!ok)
            return false;
    }
    return rt_tensors_index(&w->tensors, index, err); // refuses a tensor in two shards
}

static const char *file_of(const RtWeights *w, size_t tensor) {
    size_t part = w->count - 1;
    while (part > 0 && w->parts[part].first > tensor)
        part--;
    const char *slash = strrchr(w->parts[part].path, '/');
    return slash ? slash + 1 : w->parts[part].path;
}

// Every entry names a tensor of its file, and there are as many entries as tensors: so the two
// agree in both directions.
static bool compare_map(const RtWeights *w, const RtJsonValue *const *list, size_t count,
                        const char *index, RtError *err) {
    char text[400];
    for (size_t i = 0; i < count; i++) {
        bool plain = !memchr(list[i]->key, '\0', list[i]->key_length);
        const RtTensor *tensor = plain ? rt_tensors_find(&w->tensors, list[i]->key) : NULL;
        if (!tensor) {
            snprintf(text, sizeof text, "%s has no such tensor; the index is stale", list[i]->text);
            return bad_entry(index, list[i], text, err);
        }
        const char *file = file_of(w, (size_t)(tensor - w->tensors.items));
        if (strcmp(file, list[i]->text) != 0) {
            snprintf(text, sizeof text, "it says %.150s, the tensor is in %.150s", list[i]->text,
                     file);
            return bad_entry(index, list[i], text, err);
        }
    }
    if (count != w->tensors.count)
        return rt_fail(err,
                       "%s: the shards hold %zu tensors, \"weight_map\" names %zu; it is stale",
                       index, w->tensors.count, count);
    return true;
}

static bool open_index(RtWeights *w, const char *index, RtError *err) {
    RtJson *json = rt_json_read(index, NULL, err);
    if (!json)
        return false;
    const RtJsonValue **list = NULL;
    size_t count = 0, length = strlen(index);
    while (length > 0 && index[length - 1] != '/')
        length--;
    char *folder = length ? strndup(index, length) : strdup(".");
    bool ok = folder ? sorted_map(json, index, &list, &count, err)
                     : rt_fail(err, "%s: out of memory", index);
    ok = ok && open_shards(w, folder, list, count, index, err) &&
         compare_map(w, list, count, index, err);
    free((void *)list);
    free(folder);
    rt_json_free(json);
    return ok;
}

// ---- folders ----

static bool exists(const char *path) {
    struct stat info;
    return path && lstat(path, &info) == 0;
}

// The only *.gguf of a folder into *path (owned by the caller), NULL if there is none.
static bool only_gguf(const char *folder, char **path, RtError *err) {
    DIR *dir = opendir(folder);
    *path = NULL;
    if (!dir)
        return rt_fail(err, "%s: %s", folder, strerror(errno));
    bool ok = true;
    for (struct dirent *entry; ok && (entry = readdir(dir));) {
        if (entry->d_name[0] == '.' || !ends_with(entry->d_name, ".gguf"))
            continue;
        if (*path)
            ok = rt_fail(err, "%s: several GGUF files; name the one to open", folder);
        else if (!(*path = join(folder, entry->d_name)))
            ok = rt_fail(err, "%s: out of memory", folder);
    }
    closedir(dir);
    return ok;
}

static bool open_folder(RtWeights *w, const char *folder, RtError *err) {
    char *index = join(folder, "model.safetensors.index.json");
    char *single = join(folder, "model.safetensors"), *gguf = NULL;
    bool ok;
    if (!index || !single)
        ok = rt_fail(err, "%s: out of memory", folder);
    else if (exists(index))
        ok = open_index(w, index, err);
    else if (exists(single))
        ok = add_file(w, single, false, err);
    else if (!only_gguf(folder, &gguf, err))
        ok = false;
    else if (gguf)
        ok = add_file(w, gguf, true, err);
    else
        ok = rt_fail(err,
                     "%s: no weights here: neither model.safetensors.index.json nor "
                     "model.safetensors nor a .gguf file",
                     folder);
    free(index);
    free(single);
    free(gguf);
    return ok;
}

// ---- the face ----

RtWeights *rt_weights_open(const char *path, RtError *err) {
    RtWeights *w = calloc(1, sizeof *w);
    struct stat info;
    if (!w) {
        rt_fail(err, "%s: out of memory", path);
        return NULL;
    }
    bool ok;
    if (stat(path, &info) != 0)
        ok = rt_fail(err, "%s: %s", path, strerror(errno));
    else if (S_ISDIR(info.st_mode))
        ok = open_folder(w, path, err);
    else if (ends_with(path, ".json"))
        ok = open_index(w, path, err);
    else
        ok = add_file(w, path, true, err);
    if (ok && !w->gguf && !w->tensors.sorted)
        ok = rt_tensors_index(&w->tensors, path, err);
    if (ok)
        return w;
    rt_weights_close(w);
    return NULL;
}

RtWeights *rt_weights_open_files(const char *const *paths, size_t count, const char *label,
                                 RtError *err) {
    RtWeights *w = calloc(1, sizeof *w);
    bool ok = w && count <= MAX_SHARDS;
    if (!w)
        rt_fail(err, "%s: out of memory", label);
    else if (!ok)
        rt_fail(err, "%s: more than %d shards", label, MAX_SHARDS);
    for (size_t i = 0; ok && i < count; i++)
        ok = add_file(w, paths[i], false, err);
    if (ok && rt_tensors_index(&w->tensors, label, err))
        return w;
    rt_weights_close(w);
    return NULL;
}

void rt_weights_close(RtWeights *w) {
    if (!w)
        return;
    rt_gguf_free(w->gguf);
    rt_tensors_free(&w->tensors);
    for (size_t i = 0; i < w->count; i++) {
        rt_file_unmap(&w->parts[i].file);
        free(w->parts[i].path);
    }
    free(w->parts);
    free(w);
}

size_t rt_weights_count(const RtWeights *w) {
    return table_of(w)->count;
}

const RtTensor *rt_weights_at(const RtWeights *w, size_t index) {
    const RtTensors *tensors = table_of(w);
    return index < tensors->count ? &tensors->items[index] : NULL;
}

const RtTensor *rt_weights_find(const RtWeights *w, const char *name) {
    return rt_tensors_find(table_of(w), name);
}

const RtGguf *rt_weights_gguf(const RtWeights *w) {
    return w->gguf;
}

size_t rt_weights_files(const RtWeights *w) {
    return w->count;
}

uint64_t rt_weights_bytes(const RtWeights *weights) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < weights->count; i++)
        bytes += weights->parts[i].file.size;
    return bytes;
}
