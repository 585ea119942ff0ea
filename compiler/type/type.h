// Types of the language, with generics still symbolic. Types are built once and never changed;
// equality is structural (type_equal), with dimensions compared by canonical form or, given facts,
// by proof.
#pragma once
#include "base/session.h"
#include "type/dim.h"
#include "type/dtype.h"

typedef enum {
    GENERIC_DIM,     // Dim
    GENERIC_SHAPE,   // *S: Shape
    GENERIC_DTYPE,   // any dtype
    GENERIC_NUMERIC, // integers and floats
    GENERIC_INTEGER,
    GENERIC_FLOAT,
} GenericKind;

// A generic parameter of a declaration. Identity is the pointer.
typedef struct {
    Name name;
    GenericKind kind;
    Span span;
    const Dim *dim; // GENERIC_DIM: its symbol
} Generic;

// An element type: a dtype, or a dtype generic.
typedef struct {
    Dtype dtype;            // if generic is NULL
    const Generic *generic; // of a dtype kind, or NULL
} Elem;

enum { TYPE_MOST_AXES = 12 }; // of a tensor, and indices of a reduction

// One axis of a shape, or a pack that stands for any number of them.
typedef struct {
    const Dim *dim;      // if pack is NULL
    const Generic *pack; // GENERIC_SHAPE, or NULL
} Axis;

typedef enum {
    TYPE_ERROR,    // already reported; silences what follows
    TYPE_UNIT,     // of a function without a result
    TYPE_TENSOR,   // elem and axes; a scalar has no axes
    TYPE_TUPLE,    // items
    TYPE_OPTIONAL, // items[0]
    TYPE_STRUCT,   // decl
    TYPE_ENUM,     // decl
    TYPE_BLOCK,    // decl and args: an instance of a block (not a value)
    TYPE_ARRAY,    // items[0] is a block; count
    TYPE_INT,      // a compile-time integer that no context gave a dtype yet
    TYPE_REAL,     // the same for a float literal
    TYPE_NONE,     // `none` before its context is known
    TYPE_SHAPE,    // a shape literal [B, S]
} TypeKind;

// What a generic is bound to.
typedef struct {
    const Dim *dim;   // GENERIC_DIM
    Elem elem;        // dtype kinds
    const Axis *axes; // GENERIC_SHAPE
    int axis_count;
    bool bound;
} GenericArg;

struct Item; // syntax/ast.h

typedef struct Type Type;
struct Type {
    TypeKind kind;
    Elem elem;              // TENSOR
    int rank;               // TENSOR: number of axes, a pack counting as one
    const Axis *axes;       // TENSOR
    int item_count;         // TUPLE
    const Type **items;     // TUPLE, OPTIONAL, ARRAY
    struct Item *decl;      // STRUCT, ENUM, BLOCK
    Name decl_name;         // its name, for printing
    const GenericArg *args; // BLOCK, STRUCT: in the order of the declaration's generics
    int arg_count;
    const Dim *count; // ARRAY
};

// A substitution: generics and what they stand for, simultaneously.
typedef struct {
    const Generic *const *generics;
    const GenericArg *args;
    int count;
} Binding;

// A chain of substitutions (a method's own generics, then its block's).
typedef struct Subst Subst;
struct Subst {
    Binding binding;
    const Subst *next; // or NULL
};

const Type *type_error(void);
const Type *type_unit(void);
const Type *type_simple(TypeKind kind); // INT, REAL, NONE, SHAPE: shared constants
const Type *type_scalar(Arena *a, Elem elem);
const Type *type_tensor(Arena *a, Elem elem, int rank, const Axis *axes);
const Type *type_tuple(Arena *a, int n, const Type *const *items);
const Type *type_optional(Arena *a, const Type *item);
const Type *type_array(Arena *a, const Type *block, const Dim *count);
const Type *type_block(Arena *a, struct Item *decl, Name name, int n, const GenericArg *args);
const Type *type_struct(Arena *a, struct Item *decl, Name name, int n, const GenericArg *args);
const Type *type_nominal(Arena *a, TypeKind kind, struct Item *decl, Name name); // ENUM

static inline Elem elem_of(Dtype t) {
    return (Elem){t, NULL};
}
bool elem_equal(Elem a, Elem b);
bool elem_is_float(Elem e);   // surely: a float dtype, or a Float generic
bool elem_is_integer(Elem e); // surely
bool elem_is_numeric(Elem e); // surely
bool elem_is(Elem e, Dtype t);
bool elem_satisfies(Elem e, GenericKind bound);
const char *elem_text(Elem e);

static inline bool type_is_tensor(const Type *t) {
    return t->kind == TYPE_TENSOR;
}
static inline bool type_is_scalar(const Type *t) {
    return t->kind == TYPE_TENSOR && t->rank == 0;
}

// Structural equality; axes are equal if proved under `facts` (or identical when facts is NULL).
bool type_equal(const Type *a, const Type *b, const Facts *facts);
bool axis_equal(Axis a, Axis b, const Facts *facts);

// Replaces generics by what the chain binds them to; packs are spliced; unbound generics stay.
const Dim *subst_dim(DimTable *t, const Dim *d, const Subst *s);
Elem subst_elem(Elem e, const Subst *s);
const Type *subst_type(Arena *a, DimTable *t, const Type *type, const Subst *s);
// The axes with packs spliced; *count is their number.
const Axis *subst_axes(Arena *a, DimTable *t, const Axis *axes, int n, const Subst *s, int *count);

// As in the source: "Tensor[B, S, 2*H; f32]", "(i32, bool)", "f32?", "[Layer<4>; 30]".
void type_print(StrBuf *b, const Type *t);
const char *type_text(Arena *a, const Type *t);
void axes_print(StrBuf *b, const Axis *axes, int n); // "[B, S]"
