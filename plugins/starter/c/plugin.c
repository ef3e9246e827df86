// Denies a prune that takes objects of protected namespaces: a plugin to begin with.
#include <string.h>

#include "hook.h"

static bool is_protected(const json *namespaces, const char *name) {
	for (const json *n = json_first(namespaces); n != NULL; n = n->next)
		if (strcmp(json_text(n, ""), name) == 0) return true;
	return false;
}

static const char *judge_prune(const json *request, response *r) {
	const json *namespaces = json_at(request, "config.namespaces");
	if (json_first(namespaces) == NULL) return "the configuration protects nothing: name namespaces";

	const json *objects = json_at(request, "plan.prune.objects");
	for (const json *o = json_first(objects); o != NULL; o = o->next) {
		const char *namespace = json_text(json_at(o, "namespace"), "");
		if (is_protected(namespaces, namespace))
			response_find(r, SEVERITY_DENY, o, text_of("%s: namespace %s is protected", object_name(o), namespace), NULL);
	}
	return NULL;
}

int main(void) { return hook_main(judge_prune); }
