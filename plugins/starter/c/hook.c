#include "hook.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Deeper documents than this are no requests, and would only use up the stack.
#define MAX_DEPTH 200

#define API_VERSION "hooks.zarf-host.dev/v1"

static void *get(size_t size) {
	// Pieces of a block: a request has many small values, and none is given back.
	static char *block;
	static size_t left;
	size = (size + 15) & ~(size_t)15;
	if (size > left) {
		left = size > 65536 ? size : 65536;
		block = malloc(left);
		if (block == NULL) {
			fputs("out of memory\n", stderr);
			exit(1);
		}
	}
	void *p = block;
	block += size;
	left -= size;
	return p;
}

// ---- Reading

typedef struct {
	const char *at, *end;
	const char *fault;
	int depth;
} reader;

static void *wrong(reader *r, const char *fault) {
	if (r->fault == NULL) r->fault = fault;
	return NULL;
}

static void skip_space(reader *r) {
	while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r')) r->at++;
}

static bool take(reader *r, char c) {
	skip_space(r);
	if (r->at == r->end || *r->at != c) return false;
	r->at++;
	return true;
}

// The four digits of \uXXXX; -1 where they are none.
static int32_t hex4(reader *r) {
	int32_t n = 0;
	if (r->end - r->at < 4) return -1;
	for (int i = 0; i < 4; i++) {
		char c = *r->at++;
		if (c >= '0' && c <= '9') n = n * 16 + (c - '0');
		else if (c >= 'a' && c <= 'f') n = n * 16 + (c - 'a' + 10);
		else if (c >= 'A' && c <= 'F') n = n * 16 + (c - 'A' + 10);
		else return -1;
	}
	return n;
}

static char *put_rune(char *out, int32_t c) {
	if (c < 0x80) {
		*out++ = (char)c;
	} else if (c < 0x800) {
		*out++ = (char)(0xc0 | c >> 6);
		*out++ = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		*out++ = (char)(0xe0 | c >> 12);
		*out++ = (char)(0x80 | (c >> 6 & 0x3f));
		*out++ = (char)(0x80 | (c & 0x3f));
	} else {
		*out++ = (char)(0xf0 | c >> 18);
		*out++ = (char)(0x80 | (c >> 12 & 0x3f));
		*out++ = (char)(0x80 | (c >> 6 & 0x3f));
		*out++ = (char)(0x80 | (c & 0x3f));
	}
	return out;
}

// The character of \u, whose first half may be followed by the second. Halves alone become U+FFFD.
static int32_t read_escaped_rune(reader *r) {
	int32_t c = hex4(r);
	if (c >= 0xd800 && c < 0xdc00 && r->end - r->at >= 6 && r->at[0] == '\\' && r->at[1] == 'u') {
		const char *before = r->at;
		r->at += 2;
		int32_t low = hex4(r);
		if (low >= 0xdc00 && low < 0xe000) return 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
		if (low < 0) return -1;
		r->at = before;
	}
	return c >= 0xd800 && c < 0xe000 ? 0xfffd : c;
}

// The string whose opening quote has been taken.
static char *read_string(reader *r) {
	const char *close = r->at;
	while (close < r->end && *close != '"') close += *close == '\\' ? 2 : 1;
	if (close >= r->end) return wrong(r, "a string does not end");
	// Nothing gets longer by being unescaped.
	char *text = get((size_t)(close - r->at) + 1), *out = text;
	while (r->at < close) {
		char c = *r->at++;
		if ((unsigned char)c < 0x20) return wrong(r, "a control character in a string");
		if (c != '\\') {
			*out++ = c;
			continue;
		}
		int32_t rune = 0;
		switch (*r->at++) {
		case '"': *out++ = '"'; break;
		case '\\': *out++ = '\\'; break;
		case '/': *out++ = '/'; break;
		case 'b': *out++ = '\b'; break;
		case 'f': *out++ = '\f'; break;
		case 'n': *out++ = '\n'; break;
		case 'r': *out++ = '\r'; break;
		case 't': *out++ = '\t'; break;
		case 'u':
			rune = read_escaped_rune(r);
			if (rune < 0 || r->at > close) return wrong(r, "\\u without four digits");
			if (rune == 0) return wrong(r, "a string with \\u0000");
			out = put_rune(out, rune);
			break;
		default: return wrong(r, "an unknown escape in a string");
		}
	}
	r->at = close + 1;
	*out = 0;
	return text;
}

static bool digits(reader *r) {
	const char *from = r->at;
	while (r->at < r->end && *r->at >= '0' && *r->at <= '9') r->at++;
	return r->at > from;
}

static bool sign(reader *r, const char *of) {
	// strchr finds a 0 in every string: at its end.
	if (r->at == r->end || *r->at == 0 || strchr(of, *r->at) == NULL) return false;
	r->at++;
	return true;
}

static char *read_number(reader *r) {
	const char *from = r->at;
	sign(r, "-");
	if (!sign(r, "0") && !digits(r)) return wrong(r, "a value that is none");
	if (sign(r, ".") && !digits(r)) return wrong(r, "a number that is none");
	if (sign(r, "eE")) {
		sign(r, "+-");
		if (!digits(r)) return wrong(r, "a number that is none");
	}
	size_t length = (size_t)(r->at - from);
	char *text = get(length + 1);
	memcpy(text, from, length);
	text[length] = 0;
	return text;
}

static json *read_value(reader *r);

// The values up to the closing bracket, with keys in an object.
static json *read_list(reader *r, char close, bool keys) {
	json *first = NULL, **end = &first;
	if (take(r, close)) return NULL;
	do {
		const char *key = NULL;
		if (keys) {
			if (!take(r, '"')) return wrong(r, "an object whose key is no string");
			key = read_string(r);
			if (key == NULL) return NULL;
			if (!take(r, ':')) return wrong(r, "a key without a value");
		}
		json *v = read_value(r);
		if (v == NULL) return NULL;
		v->key = key;
		*end = v;
		end = &v->next;
	} while (take(r, ','));
	if (!take(r, close)) return wrong(r, "a list that does not end");
	return first;
}

static bool word(reader *r, const char *w) {
	size_t length = strlen(w);
	if ((size_t)(r->end - r->at) < length || memcmp(r->at, w, length) != 0) return false;
	r->at += length;
	return true;
}

static json *read_value(reader *r) {
	if (r->depth == MAX_DEPTH) return wrong(r, "lists in lists without end");
	r->depth++;
	json *v = get(sizeof *v);
	memset(v, 0, sizeof *v);
	skip_space(r);
	if (take(r, '{')) {
		v->kind = JSON_OBJECT;
		v->child = read_list(r, '}', true);
	} else if (take(r, '[')) {
		v->kind = JSON_ARRAY;
		v->child = read_list(r, ']', false);
	} else if (take(r, '"')) {
		v->kind = JSON_STRING;
		v->text = read_string(r);
	} else if (word(r, "true")) {
		v->kind = JSON_TRUE;
	} else if (word(r, "false")) {
		v->kind = JSON_FALSE;
	} else if (!word(r, "null")) {
		v->kind = JSON_NUMBER;
		v->text = read_number(r);
	}
	r->depth--;
	return r->fault == NULL ? v : NULL;
}

const json *json_read(const char *text, size_t length, const char **fault) {
	reader r = {.at = text, .end = text + length};
	const json *v = read_value(&r);
	skip_space(&r);
	if (v != NULL && r.at != r.end) v = wrong(&r, "more than one document");
	if (fault != NULL) *fault = r.fault;
	return v;
}

const json *json_first(const json *value) {
	return value == NULL ? NULL : value->child;
}

const json *json_at(const json *value, const char *path) {
	while (value != NULL) {
		size_t length = strcspn(path, ".");
		const json *found = NULL;
		if (value->kind != JSON_OBJECT) return NULL;
		// Of keys that are there twice the last counts, as in most readers.
		for (const json *v = value->child; v != NULL; v = v->next)
			if (strncmp(v->key, path, length) == 0 && v->key[length] == 0) found = v;
		if (path[length] == 0) return found;
		value = found;
		path += length + 1;
	}
	return NULL;
}

const char *json_text(const json *value, const char *otherwise) {
	return value != NULL && value->kind == JSON_STRING ? value->text : otherwise;
}

// ---- Writing

static void reserve(text *t, size_t more) {
	if (t->length + more + 1 <= t->room) return;
	size_t room = (t->length + more + 1) * 2;
	char *bytes = get(room);
	if (t->length > 0) memcpy(bytes, t->bytes, t->length);
	t->bytes = bytes;
	t->room = room;
}

static void text_vadd(text *t, const char *format, va_list args) {
	va_list again;
	va_copy(again, args);
	int length = vsnprintf(NULL, 0, format, again);
	va_end(again);
	if (length < 0) return;
	reserve(t, (size_t)length);
	vsnprintf(t->bytes + t->length, (size_t)length + 1, format, args);
	t->length += (size_t)length;
}

void text_add(text *t, const char *format, ...) {
	va_list args;
	va_start(args, format);
	text_vadd(t, format, args);
	va_end(args);
}

char *text_of(const char *format, ...) {
	text t = {0};
	va_list args;
	va_start(args, format);
	text_vadd(&t, format, args);
	va_end(args);
	return t.bytes;
}

void text_quote(text *t, const char *string) {
	reserve(t, strlen(string) * 6 + 2);
	char *out = t->bytes + t->length;
	*out++ = '"';
	for (; *string != 0; string++) {
		unsigned char c = (unsigned char)*string;
		if (c < 0x20) {
			out += snprintf(out, 7, "\\u%04x", c);
			continue;
		}
		if (c == '"' || c == '\\') *out++ = '\\';
		*out++ = (char)c;
	}
	*out++ = '"';
	*out = 0;
	t->length = (size_t)(out - t->bytes);
}

// ---- The response

static void add_object(text *t, const json *object) {
	text_add(t, "{");
	const char *keys[] = {"apiVersion", "kind", "namespace", "name"};
	for (int i = 0; i < 4; i++) {
		const char *value = json_text(json_at(object, keys[i]), "");
		if (i == 2 && *value == 0) continue; // a cluster-wide object
		text_add(t, "%s\"%s\":", i > 0 ? "," : "", keys[i]);
		text_quote(t, value);
	}
	text_add(t, "}");
}

void response_find(response *r, severity s, const json *object, const char *message, const char *remedy) {
	static const char *names[] = {"info", "warn", "deny"};
	text *t = &r->findings;
	text_add(t, "%s{\"severity\":\"%s\",\"message\":", t->length > 0 ? "," : "", names[s]);
	text_quote(t, message);
	if (object != NULL) {
		text_add(t, ",\"object\":");
		add_object(t, object);
	}
	if (remedy != NULL) {
		text_add(t, ",\"remedy\":");
		text_quote(t, remedy);
	}
	text_add(t, "}");
	if (s == SEVERITY_WARN && r->verdict < WARN) r->verdict = WARN;
	if (s == SEVERITY_DENY) r->verdict = DENY;
}

void response_keep(response *r, const json *object, const char *reason) {
	text *t = &r->keep;
	text_add(t, "%s{\"object\":", t->length > 0 ? "," : "");
	add_object(t, object);
	text_add(t, ",\"reason\":");
	text_quote(t, reason);
	text_add(t, "}");
}

char *object_name(const json *object) {
	const char *kind = json_text(json_at(object, "kind"), "");
	const char *namespace = json_text(json_at(object, "namespace"), "");
	const char *name = json_text(json_at(object, "name"), "");
	return *namespace == 0 ? text_of("%s/%s", kind, name) : text_of("%s/%s/%s", kind, namespace, name);
}

// ---- The program

static text read_all(FILE *f) {
	text t = {0};
	for (;;) {
		reserve(&t, 65536);
		size_t n = fread(t.bytes + t.length, 1, t.room - t.length - 1, f);
		if (n == 0) return t;
		t.length += n;
	}
}

static int fail(const char *why) {
	fprintf(stderr, "%s\n", why);
	return 1;
}

int hook_main(judge *judge) {
	text in = read_all(stdin);
	if (ferror(stdin)) return fail("reading the request: the host does not give it");
	const char *fault = NULL;
	const json *request = json_read(in.bytes, in.length, &fault);
	if (request == NULL) return fail(text_of("reading the request: %s", fault));
	const char *version = json_text(json_at(request, "apiVersion"), "");
	if (strcmp(version, API_VERSION) != 0)
		return fail(text_of("the request has apiVersion \"%s\", this plugin speaks \"%s\"", version, API_VERSION));

	response r = {0};
	const char *problem = judge(request, &r);
	if (problem != NULL) return fail(problem);

	static const char *verdicts[] = {"allow", "warn", "deny"};
	text out = {0};
	text_add(&out, "{\"apiVersion\":\"" API_VERSION "\",\"kind\":\"HookResponse\",\"id\":");
	text_quote(&out, json_text(json_at(request, "id"), ""));
	text_add(&out, ",\"verdict\":\"%s\"", verdicts[r.verdict]);
	if (r.findings.length > 0) text_add(&out, ",\"findings\":[%s]", r.findings.bytes);
	if (r.keep.length > 0) text_add(&out, ",\"keep\":[%s]", r.keep.bytes);
	text_add(&out, "}\n");
	if (fwrite(out.bytes, 1, out.length, stdout) != out.length || fflush(stdout) != 0)
		return fail("writing the response: the host does not take it");
	return 0;
}
