#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "pattern.h"

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"
#define WILDCARD "*?[]^\\"

static const char *check_pattern(const char *p) {
	if (*p == 0) return "an empty name protects nothing";
	if (!pattern_valid(p)) return text_of("\"%s\" is not a name with *: syntax error in pattern", p);
	return NULL;
}

// Refuses an entry that no object can ever fit: whoever wrote it believes that something is protected.
static const char *check_rules(const char *list, const json *rules, const char *letters) {
	for (const json *r = json_first(rules); r != NULL; r = r->next) {
		const char *p = json_text(r, "");
		const char *wrong = check_pattern(p);
		if (wrong != NULL) return text_of("%s: %s", list, wrong);
		if (p[strspn(p, letters)] != 0) return text_of("%s: nothing can be called \"%s\", so it protects nothing", list, p);
	}
	return NULL;
}

static const char *check_labels(const config *c) {
	for (size_t i = 0; i < c->label_count; i++) {
		const char *key = c->labels[i]->key, *value = c->labels[i]->text;
		if (*key == 0) return "labels: an empty name protects nothing";
		if (key[strspn(key, LOWER UPPER DIGITS "-_./")] != 0)
			return text_of("labels: no label can be called \"%s\", so it protects nothing", key);
		if (value[strspn(value, LOWER UPPER DIGITS "-_.")] != 0)
			return text_of("labels: no label can be %s=\"%s\", so it protects nothing: values are compared whole, without *", key, value);
	}
	return NULL;
}

// An entry of allow: Kind/namespace/name, or Kind/name with an empty namespace.
typedef struct {
	char *kind, *namespace, *name;
} entry;

static bool split(const char *text, entry *e) {
	char *copy = text_of("%s", text);
	char *first = strchr(copy, '/');
	if (first == NULL) return false;
	*first = 0;
	char *second = strchr(first + 1, '/');
	if (second == NULL) {
		*e = (entry){copy, copy + strlen(copy), first + 1};
		return true;
	}
	*second = 0;
	*e = (entry){copy, first + 1, second + 1};
	return strchr(e->name, '/') == NULL;
}

static const char *check_allow(const json *allow) {
	for (const json *a = json_first(allow); a != NULL; a = a->next) {
		const char *text = json_text(a, "");
		entry e;
		if (!split(text, &e)) return text_of("allow \"%s\" is neither Kind/namespace/name nor Kind/name", text);
		const char *wrong = check_pattern(e.kind);
		if (wrong == NULL && *e.namespace != 0) wrong = check_pattern(e.namespace);
		if (wrong == NULL) wrong = check_pattern(e.name);
		if (wrong != NULL) return text_of("allow \"%s\": %s", text, wrong);
	}
	return NULL;
}

// Takes a value of the kind; null is as if the key were not there.
static const char *check_strings(const json *value, json_kind kind, const char *what) {
	if (value->kind != kind) return text_of("reading the configuration: %s is %s", value->key, what);
	for (const json *v = json_first(value); v != NULL; v = v->next)
		if (v->kind != JSON_STRING) return text_of("reading the configuration: %s is %s", value->key, what);
	return NULL;
}

static int by_key(const void *a, const void *b) {
	return strcmp((*(const json *const *)a)->key, (*(const json *const *)b)->key);
}

static void sort_labels(config *c, const json *labels) {
	for (const json *l = json_first(labels); l != NULL; l = l->next) c->label_count++;
	c->labels = calloc(c->label_count + 1, sizeof *c->labels);
	if (c->labels == NULL) abort();
	size_t i = 0;
	for (const json *l = json_first(labels); l != NULL; l = l->next) c->labels[i++] = l;
	qsort(c->labels, c->label_count, sizeof *c->labels, by_key);
}

static const char *read_key(config *c, const json *v) {
	const char *wrong = NULL;
	if (v->kind == JSON_NULL) return NULL;
	if (strcmp(v->key, "namespaces") == 0) {
		wrong = check_strings(v, JSON_ARRAY, "no list of names");
		c->namespaces = v;
	} else if (strcmp(v->key, "kinds") == 0) {
		wrong = check_strings(v, JSON_ARRAY, "no list of kinds");
		c->kinds = v;
	} else if (strcmp(v->key, "allow") == 0) {
		wrong = check_strings(v, JSON_ARRAY, "no list of objects");
		c->allow = v;
	} else if (strcmp(v->key, "labels") == 0) {
		wrong = check_strings(v, JSON_OBJECT, "no map of labels");
		if (wrong == NULL) sort_labels(c, v);
	} else if (strcmp(v->key, "data") == 0) {
		if (v->kind != JSON_TRUE && v->kind != JSON_FALSE) wrong = "reading the configuration: data is neither true nor false";
		c->data = v->kind == JSON_TRUE;
	} else if (strcmp(v->key, "action") == 0) {
		const char *action = json_text(v, "");
		c->keep = strcmp(action, "keep") == 0;
		if (!c->keep && strcmp(action, "deny") != 0) wrong = text_of("action \"%s\" is neither deny nor keep", action);
	} else {
		wrong = text_of("reading the configuration: json: unknown field \"%s\"", v->key);
	}
	return wrong;
}

const char *config_read(config *c, const json *request) {
	*c = (config){.data = true};
	const char *wrong = NULL;
	const json *given = json_at(request, "config");
	if (given != NULL && given->kind != JSON_OBJECT && given->kind != JSON_NULL) return "reading the configuration: it is no object";
	for (const json *v = json_first(given); wrong == NULL && v != NULL; v = v->next) wrong = read_key(c, v);
	if (wrong == NULL) wrong = check_rules("namespaces", c->namespaces, LOWER DIGITS "-" WILDCARD);
	if (wrong == NULL) wrong = check_rules("kinds", c->kinds, LOWER UPPER DIGITS "-" WILDCARD);
	if (wrong == NULL) wrong = check_labels(c);
	if (wrong == NULL) wrong = check_allow(c->allow);
	return wrong;
}

bool config_allows(const config *c, const json *object) {
	const char *kind = json_text(json_at(object, "kind"), "");
	const char *namespace = json_text(json_at(object, "namespace"), "");
	const char *name = json_text(json_at(object, "name"), "");
	for (const json *a = json_first(c->allow); a != NULL; a = a->next) {
		entry e;
		if (split(json_text(a, ""), &e) && pattern_fits_kind(e.kind, kind) &&
			(strcmp(e.namespace, namespace) == 0 || pattern_fits(e.namespace, namespace)) && pattern_fits(e.name, name))
			return true;
	}
	return false;
}
