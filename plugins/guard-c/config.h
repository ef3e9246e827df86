// What the guard protects.
#ifndef CONFIG_H
#define CONFIG_H

#include "hook.h"

typedef struct {
	const json *namespaces, *kinds, *allow; // lists of strings; NULL where there are none
	const json **labels;                    // strings with their keys, sorted by them
	size_t label_count;
	bool data, keep;
} config;

// Reads the request's configuration over the defaults: what holds data is denied. The result is what is
// wrong with it; NULL where it counts.
const char *config_read(config *c, const json *request);

// Whether the configuration lets an object go.
bool config_allows(const config *c, const json *object);

#endif
