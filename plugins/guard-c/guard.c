// plugins/guard in C: denies, or keeps, what a prune would take.
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "hook.h"
#include "pattern.h"

// Bounds the findings, so that a prune of thousands is refused in a page, not in a book.
#define MAX_SHOWN 200

static bool fits_any(const json *patterns, const char *name, bool (*fits)(const char *, const char *)) {
	for (const json *p = json_first(patterns); p != NULL; p = p->next)
		if (fits(json_text(p, ""), name)) return true;
	return false;
}

// The text with what would end a Go string escaped.
static const char *quoted(const char *s) {
	text t = {0};
	text_add(&t, "\"");
	for (; *s != 0; s++) text_add(&t, *s == '"' || *s == '\\' ? "\\%c" : "%c", *s);
	text_add(&t, "\"");
	return t.bytes;
}

static const char *label_rule(const config *c, const json *labels) {
	for (size_t i = 0; i < c->label_count; i++)
		for (const json *l = json_first(labels); l != NULL; l = l->next) {
			if (l->kind != JSON_STRING || strcmp(l->key, c->labels[i]->key) != 0) continue;
			const char *wanted = c->labels[i]->text;
			if (*wanted == 0 || strcmp(wanted, l->text) == 0)
				return text_of("labels: label %s=%s is protected", l->key, l->text);
		}
	return NULL;
}

// Which rule protects an object, the most telling one first; NULL if none does.
static const char *rule_for(const config *c, const json *object) {
	const char *kind = json_text(json_at(object, "kind"), "");
	const char *namespace = json_text(json_at(object, "namespace"), "");
	const char *name = json_text(json_at(object, "name"), "");
	const json *holds = json_at(object, "holdsData");
	if (c->data && holds != NULL && holds->kind == JSON_TRUE) return "data: it holds data";
	if (*namespace != 0 && fits_any(c->namespaces, namespace, pattern_fits))
		return text_of("namespaces: namespace %s is protected", quoted(namespace));
	if (strcmp(kind, "Namespace") == 0 && fits_any(c->namespaces, name, pattern_fits))
		return text_of("namespaces: namespace %s is protected", quoted(name));
	if (fits_any(c->kinds, kind, pattern_fits_kind)) return text_of("kinds: kind %s is protected", kind);
	return label_rule(c, json_at(object, "labels"));
}

static void find(const config *c, response *r, const json *object, const char *rule) {
	const char *name = object_name(object), *entry = quoted(name);
	if (c->keep) {
		response_find(r, SEVERITY_WARN, object, text_of("keeping %s (rule %s)", name, rule),
			text_of("to let it go, add %s to the guard's allow list", entry));
		return;
	}
	response_find(r, SEVERITY_DENY, object, text_of("%s would be pruned (rule %s)", name, rule),
		text_of("to let it go, add %s to the guard's allow list; to keep it, set the guard's action to keep", entry));
}

static const char *guard(const json *request, response *r) {
	config c;
	const char *wrong = config_read(&c, request);
	if (wrong != NULL) return wrong;
	int hit = 0;
	for (const json *o = json_first(json_at(request, "plan.prune.objects")); o != NULL; o = o->next) {
		const char *rule = rule_for(&c, o);
		if (rule == NULL || config_allows(&c, o)) continue;
		if (c.keep) response_keep(r, o, rule);
		if (hit++ < MAX_SHOWN) find(&c, r, o, rule);
	}
	if (hit > MAX_SHOWN)
		response_find(r, c.keep ? SEVERITY_WARN : SEVERITY_DENY, NULL, text_of("and %d more objects", hit - MAX_SHOWN), NULL);
	return NULL;
}

int main(void) { return hook_main(guard); }
