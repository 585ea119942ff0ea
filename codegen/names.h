// C identifiers made from source names: unique in a scope, none of them a reserved word.
#pragma once
#include "base/session.h"

typedef struct Names Names;

// A scope. Names of `outer` (may be NULL) are taken too, and so are
// reserved ones.
Names *names_new(Session *s, const Names *outer);

// An identifier like `wanted`, taken from now on: letters that C lacks are spelled ("theta") or
// dropped, dots become underscores, and a number is added if the name is taken.
const char *names_pick(Names *n, const char *wanted);

// The same, but no name that was ever picked and released: it may be visible around those.
const char *names_pick_fresh(Names *n, const char *wanted);

// A name in the style of functions: "RmsNorm.forward" -> "rms_norm.forward", "MLPHead" ->
// "mlp_head".
const char *names_snake(Arena *a, const char *name);

// May generated C not call anything so? Keywords, what ISO C declares in the headers that model.c
// includes, and what generated files call their own things. model.c is compiled without POSIX and
// GNU names, and types begin with a capital letter, so those of other headers do no harm.
bool names_reserved(const char *name);

// Names picked after the mark may be picked again (the indices of a loop nest that is over).
int names_mark(const Names *n);
void names_release(Names *n, int mark);
