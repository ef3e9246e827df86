// What a plugin in C needs: the request as a tree of JSON, and a response to fill.
//
// Nothing is freed: every call is a fresh instance of the module, which ends with its answer.
#ifndef HOOK_H
#define HOOK_H

#include <stdbool.h>
#include <stddef.h>

// ---- JSON

typedef enum { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT } json_kind;

// A value. Those of an array and of an object are a list that begins with child:
//
//	for (const json *v = json_first(array); v != NULL; v = v->next)
typedef struct json {
	json_kind kind;
	const char *key;  // in an object
	const char *text; // of a string, in UTF-8; of a number, as it is written
	struct json *child, *next;
} json;

// Reads a document. NULL with the fault where it is none. Strings with \u0000 are faults, since C would
// see only what is before it.
const json *json_read(const char *text, size_t length, const char **fault);

// The value at a path of keys with dots between, such as "plan.prune.objects"; NULL where there is none.
const json *json_at(const json *value, const char *path);

// The first value of an array or object; NULL where there is none.
const json *json_first(const json *value);

// The text of a string; otherwise where it is none.
const char *json_text(const json *value, const char *otherwise);

// ---- Text that grows

typedef struct {
	char *bytes; // ends with a 0; NULL while it is empty
	size_t length, room;
} text;

// Appends as printf does.
void text_add(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Appends a string as JSON writes it.
void text_quote(text *t, const char *string);

// What printf makes, as a string.
char *text_of(const char *format, ...) __attribute__((format(printf, 1, 2)));

// ---- The response

typedef enum { ALLOW, WARN, DENY } verdict;
typedef enum { SEVERITY_INFO, SEVERITY_WARN, SEVERITY_DENY } severity;

typedef struct {
	verdict verdict;
	text findings, keep;
} response;

// Adds a finding, and makes the verdict at least as strict as it. The object, one of
// plan.prune.objects, and the remedy may be NULL.
void response_find(response *r, severity s, const json *object, const char *message, const char *remedy);

// Keeps an object that would go.
void response_keep(response *r, const json *object, const char *reason);

// Kind/namespace/name, or Kind/name for an object without a namespace.
char *object_name(const json *object);

// Judges a request. The result is what is wrong with the plugin itself, such as its configuration,
// and the host's failure policy decides; NULL where the response counts.
typedef const char *judge(const json *request, response *r);

// Reads the request on stdin and writes the response to stdout: what main returns.
int hook_main(judge *judge);

#endif
