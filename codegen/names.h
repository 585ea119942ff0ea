// C identifiers made from source names: unique in a scope, none of them a reserved word.
#pragma once
#include "base/session.h"

typedef struct Names Names;

// A scope. Names of `outer` (may be NULL: the reserved words of C and the runtime) are taken too.
Names *names_new(Session *s, const Names *outer);

// An identifier like `wanted`, taken from now on: letters that C lacks are spelled ("theta") or
// dropped, dots become underscores, and a number is added if the name is taken.
const char *names_pick(Names *n, const char *wanted);

// The same, but no name that was ever picked and released: it may be visible around those.
const char *names_pick_fresh(Names *n, const char *wanted);

// Names picked after the mark may be picked again (the indices of a loop nest that is over).
int names_mark(const Names *n);
void names_release(Names *n, int mark);
