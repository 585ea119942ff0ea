// Looking up embedded files by path.
#include "base/embedded.h"
#include <string.h>

Str embedded_find(const char *path) {
    for (const EmbeddedFile *f = embedded_files(); f->path; f++) {
        if (strcmp(f->path, path) == 0)
            return (Str){f->text, f->size};
    }
    return (Str){NULL, 0};
}
