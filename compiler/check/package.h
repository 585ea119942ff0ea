// Packages: a folder with a manifest, serin.toml or linnet.toml, and its modules in src.
//
// A manifest is [package] with name, version and language, and [dependencies] by path. It is read
// strictly, and so are those of the packages that it depends on, before any module is parsed.
#pragma once
#include "check/check.h"

typedef struct {
    Name key;         // what `use` paths begin with
    Span span;        // of the key
    Package *package; // NULL where it was refused
} Dependency;

struct Package {
    const char *folder; // that holds the manifest, as shown
    const char *source; // folder of the modules
    const char *real;   // the folder's one true path: what tells packages apart; or NULL
    Name name;          // what the keys of its modules begin with: "crate" for the program's own
    Name title;         // [package] name with - as _, or NULL
    Span span;          // of the name
    VEC(Dependency) needed; // in file order
    CheckState state;       // running while its dependencies are read
    bool broken;            // the manifest has errors
};

// The package around a file: that of the nearest `src` folder beside a manifest, else the file's
// own folder. Reports E5001, E5008 to E5011 of all manifests. Never NULL.
Package *package_around(Program *p, const char *path);

Dependency *package_find(Package *package, Name key); // NULL if there is none

// "std, crate, x, y": what `use` paths may begin with.
const char *package_choices(Program *p, const Package *package);
