// Greedy decoding: the entry with every draw replaced by the most likely token.
#pragma once
#include "core/core.h"

// A copy of the entry, labelled "LABEL.greedy", in which each call of `std.random::categorical`
// (key, logits [.., V]) is one of `argmax` of the logits; so are the copies of the functions that
// such calls are in. Ties go to the lowest index; a row with a NaN gives the last one. What only
// served the draws (folds of the key) is gone; the copy's parameters are the entry's own, the key
// read by nothing.
//
// The entry must be a function of c, and c verified. New functions go to the end of the module.
// Gives the entry itself if it never draws; NULL where a call is not of that form: *why (if not
// NULL) says how.
CoreFn *opt_greedy(Core *c, CoreFn *entry, StrBuf *why);
