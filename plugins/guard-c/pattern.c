#include "pattern.h"

#include <stddef.h>
#include <string.h>

#include "hook.h"

// The bytes of the UTF-8 character at s; 1 where it is none.
static size_t width(const char *s) {
	unsigned char c = (unsigned char)*s;
	size_t n = c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
	for (size_t i = 1; i < n; i++)
		if (((unsigned char)s[i] & 0xc0) != 0x80) return 1;
	return n;
}

static unsigned long character(const char *s) {
	size_t n = width(s);
	unsigned long c = (unsigned char)*s;
	if (n == 1) return c;
	c &= n == 2 ? 0x1f : n == 3 ? 0x0f : 0x07;
	for (size_t i = 1; i < n; i++) c = c << 6 | ((unsigned char)s[i] & 0x3f);
	return c;
}

// One character of a class, which * goes on from; false where the class is malformed there.
static bool class_character(const char **p, unsigned long *c) {
	if (**p == '-' || **p == ']') return false;
	if (**p == '\\') ++*p;
	if (**p == 0) return false;
	*c = character(*p);
	*p += width(*p);
	return **p != 0; // a class ends with ]
}

// Reads the class whose [ is at *p, and says whether it has a character. False where it is malformed.
static bool read_class(const char **p, unsigned long c, bool *has) {
	++*p;
	bool negated = **p == '^';
	if (negated) ++*p;
	bool found = false;
	for (int ranges = 0; ranges == 0 || **p != ']'; ranges++) {
		unsigned long low, high;
		if (!class_character(p, &low)) return false;
		high = low;
		if (**p == '-') {
			++*p;
			if (!class_character(p, &high)) return false;
		}
		if (low <= c && c <= high) found = true;
	}
	++*p;
	*has = found != negated;
	return true;
}

bool pattern_valid(const char *p) {
	bool ignored;
	while (*p != 0) {
		if (*p == '[') {
			if (!read_class(&p, 0, &ignored)) return false;
			continue;
		}
		if (*p == '\\' && *++p == 0) return false;
		p++;
	}
	return true;
}

bool pattern_fits(const char *p, const char *s) {
	// Where a * was met: what follows it, and the text that it does not stand for yet. Only the last one
	// matters, since an earlier one that could stand for more would leave it no more to choose from.
	const char *star = NULL, *rest = NULL;
	while (*s != 0 || *p != 0) {
		bool fits = false;
		const char *next = p;
		switch (*p) {
		case '*':
			star = p + 1;
			rest = s;
			p++;
			continue;
		case '?':
			fits = *s != 0 && *s != '/';
			next = p + 1;
			break;
		case '[':
			if (*s != 0 && !read_class(&next, character(s), &fits)) return false;
			break;
		case '\\':
			next = p + 1;
			// fallthrough
		default:
			fits = *next != 0 && *s != 0 && character(next) == character(s);
			if (*next != 0) next += width(next);
		}
		if (fits) {
			p = next;
			s += width(s);
			continue;
		}
		if (star == NULL || *rest == 0 || *rest == '/') return false;
		rest += width(rest);
		p = star;
		s = rest;
	}
	return true;
}

// ---- Kinds

static char *lower(const char *s) {
	char *out = text_of("%s", s);
	for (char *c = out; *c != 0; c++)
		if (*c >= 'A' && *c <= 'Z') *c = (char)(*c - 'A' + 'a');
	return out;
}

static bool ends_with(const char *s, const char *suffix) {
	size_t n = strlen(s), m = strlen(suffix);
	return n >= m && strcmp(s + n - m, suffix) == 0;
}

// What a resource of a kind in lower case is called, by the rule that Kubernetes' own kinds follow.
static const char *plural(const char *kind) {
	if (ends_with(kind, "endpoints")) return kind;
	if (ends_with(kind, "s")) return text_of("%ses", kind);
	if (ends_with(kind, "y")) return text_of("%.*sies", (int)strlen(kind) - 1, kind);
	return text_of("%ss", kind);
}

// The short names of Kubernetes' own kinds.
static const char *const short_names[][2] = {
	{"cj", "cronjob"}, {"cm", "configmap"}, {"crd", "customresourcedefinition"}, {"crds", "customresourcedefinition"},
	{"deploy", "deployment"}, {"ds", "daemonset"}, {"ep", "endpoints"}, {"hpa", "horizontalpodautoscaler"},
	{"ing", "ingress"}, {"netpol", "networkpolicy"}, {"ns", "namespace"}, {"pc", "priorityclass"},
	{"pdb", "poddisruptionbudget"}, {"po", "pod"}, {"pv", "persistentvolume"}, {"pvc", "persistentvolumeclaim"},
	{"quota", "resourcequota"}, {"limits", "limitrange"}, {"rc", "replicationcontroller"}, {"rs", "replicaset"},
	{"sa", "serviceaccount"}, {"sc", "storageclass"}, {"sts", "statefulset"}, {"svc", "service"},
};

bool pattern_fits_kind(const char *pattern, const char *kind) {
	pattern = lower(pattern);
	kind = lower(kind);
	if (pattern_fits(pattern, kind) || pattern_fits(pattern, plural(kind))) return true;
	for (size_t i = 0; i < sizeof short_names / sizeof *short_names; i++)
		if (strcmp(short_names[i][0], pattern) == 0) return strcmp(short_names[i][1], kind) == 0;
	return false;
}
