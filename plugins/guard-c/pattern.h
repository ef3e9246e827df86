// Names with wildcards, and the kinds of objects, as plugins/guard takes them.
#ifndef PATTERN_H
#define PATTERN_H

#include <stdbool.h>

// Whether every name could be held against the pattern: its classes end, and nothing follows a \.
bool pattern_valid(const char *pattern);

// Whether a name fits a pattern: * stands for any text without a slash, ? for one character of such,
// [a-c] and [^a-c] for one of a class, and \ takes what follows as it is.
bool pattern_fits(const char *pattern, const char *name);

// Whether a kind fits a pattern, as kubectl takes it: in any case, as the kind, as the plural that its
// resource is called, or by its short name.
bool pattern_fits_kind(const char *pattern, const char *kind);

#endif
