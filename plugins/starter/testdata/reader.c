// Reads documents, each after its length of four bytes, and writes each back on a line, or E with what is
// wrong with it: how the tests hold the reader of hook.c against another.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "../c/hook.h"

static void put(text *t, const json *v) {
	static const char *const words[] = {"null", "false", "true"};
	switch (v->kind) {
	case JSON_NULL:
	case JSON_FALSE:
	case JSON_TRUE: text_add(t, "%s", words[v->kind]); break;
	case JSON_NUMBER: text_add(t, "%s", v->text); break;
	case JSON_STRING: text_quote(t, v->text); break;
	case JSON_ARRAY:
	case JSON_OBJECT:
		text_add(t, v->kind == JSON_ARRAY ? "[" : "{");
		for (const json *c = json_first(v); c != NULL; c = c->next) {
			if (c->key != NULL) {
				text_quote(t, c->key);
				text_add(t, ":");
			}
			put(t, c);
			if (c->next != NULL) text_add(t, ",");
		}
		text_add(t, v->kind == JSON_ARRAY ? "]" : "}");
	}
}

int main(void) {
	uint32_t length;
	while (fread(&length, sizeof length, 1, stdin) == 1) {
		// Of just that size, so that a byte too far is seen by whoever watches the memory.
		char *document = malloc(length > 0 ? length : 1);
		if (document == NULL || fread(document, 1, length, stdin) != length) return 1;
		const char *fault = NULL;
		const json *v = json_read(document, length, &fault);
		text t = {0};
		if (v != NULL) put(&t, v);
		else text_add(&t, "E %s", fault);
		puts(t.bytes);
		fflush(stdout);
		free(document);
	}
	return 0;
}
