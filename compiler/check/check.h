// The checker: names, types, shapes, generics, blocks, the serve block.
//
// It loads the root module and everything it imports, resolves names, and types every declaration
// once, with its generics symbolic: what it proves holds for all instances. The tree is typed in
// place.
#pragma once
#include "syntax/ast.h"

// A value given from outside: `--set NAME=VALUE` or a binding file. Sets an annotated `pub const`
// of the root module (before checking), or a generic of the model's block (when it is
// instantiated).
typedef struct {
    Name name;
    const char *value;  // source text of a literal: 32, -1.5, true, bf16
    const char *origin; // for messages: "--set", "config.json: rope_theta"
    Span span;          // where a card gives it; else no place
    bool weak;          // a card's: it may stay unused
    bool flag;          // the command line's
    bool used;
} Setting;
typedef VEC(Setting) SettingVec;

typedef struct {
    Session *session;
    DimTable *dims;
    VEC(Module *) modules;   // every module loaded, imported ones first
    VEC(Package *) packages; // the program's own first
    Module *root;
    const char *root_dir; // folder of the root file, for `crate` and weights paths
    SettingVec *settings; // or NULL
    bool broken;          // a module has syntax errors: nothing is checked
    int depth;            // of declarations being resolved, one needed by the other
    bool too_deep;        // reported
    Map missing;          // names of modules that were not found and are reported
    Map calls;            // Item -> its callees (ItemVec), for the recursion check
} Program;

// Loads, resolves and checks the program whose root module is the session's source `file`.
// Diagnostics go to the session; the caller looks at session->errors. Never NULL.
Program *check_program(Session *s, int file, SettingVec *settings);

// Loads the file (or a package's root) first; NULL (after E1202 or a message) if it can't be read.
Program *check_path(Session *s, const char *path, SettingVec *settings);

// ---- Serve block -------------------------------------------------------------------------------

typedef struct {
    Item *block;         // the `inference serve` item, or NULL if the program has none
    Item *model;         // block
    Item *entry;         // generation entry, or NULL (W0003 reported)
    const char *weights; // path as written, or NULL
    int key;             // numbers among entry->params, -1 if absent
    int tokens;
    int temperature; // a parameter `temperature: f32` with a default
    double default_temperature;
    Generic *batch;    // B of tokens: Tensor[B, S; i32]; NULL if it is a constant
    Generic *length;   // S: a generic of the entry, or of the block (then `window`)
    bool window;       // S is a generic of the block that a parameter's shape mentions
    Item *decode;      // a hand-written step with states of its own, or NULL
    Item *prefill;     // the same for a whole prompt, or NULL: decode reads it token by token
    Generic *capacity; // of decode: the block's generic that kv_cache names, or NULL
    int64_t max_batch; // of `batching = dynamic(max_batch = N)`, or 0
    bool ids;          // the entry returns Tensor[B; i32]; else logits
} Serve;

// Resolves the program's serve block; `entry` names another entry (--entry) or is NULL.
// False after a diagnostic (E2010).
bool check_serve(Program *p, const char *entry, Serve *out);

// The greatest value of a generic that the where clauses of its declaration and of `also` state as
// a constant, or -1: `S <= 256` gives 256.
int64_t check_bound(const Item *decl, const Generic *g);

// ---- For the lowering --------------------------------------------------------------------------

// What a setting's text means for a generic: an integer or a dtype name. False after E5006.
bool check_setting(Program *p, Setting *setting, const Generic *g, GenericArg *out);

// Does an instance of a block, or of an entry (`outer`: the arguments of its block, or NULL), meet
// its where clauses? E2206 for each that does not. A clause that unbound generics leave open is not
// looked at.
bool check_instance(Program *p, Item *decl, const GenericArg *args, const GenericArg *outer);
