// Padding: entries of one length, for targets that can't have another.
//
// An entry over tokens [1, S] that selects the last position becomes one over [1, N] that selects
// the position `at`. With the tokens of a text first, then anything, it gives at the text's last
// position what the entry gives for the text alone, bit for bit.
#pragma once
#include "opt/incremental.h"
#include "opt/rewrite.h"

// Is that so for the entry that the step was derived from? It is if all that is selected at the
// last position depends on no later one and not on the length. Else *cause is what does.
bool opt_may_pad(const StepPlan *p, const Dim *S, const CausalCause **cause);

// The copy "LABEL.at" of f with r->from bound to the constant r->to, and one more parameter, `at`,
// an i64 scalar. f itself must select the last position, once, and may not mention the length
// otherwise, but in what has an axis of positions. NULL: *why says how it does.
CoreFn *opt_at(Resize *r, const CoreFn *f, StepRefusal *why);

// The copy "LABEL.last" of f, whose one result are logits [B, V] or [B, S, V] of any float dtype,
// that gives those of the last position as f32 [B, V]; f itself if it does.
CoreFn *opt_last_logits(Core *c, CoreFn *f);
