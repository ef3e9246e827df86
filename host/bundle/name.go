package bundle

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// names checks the names of one tree as its entries come by, and remembers them.
type names struct {
	limits Limits
	// foldExempt is a folder in which two names may differ by case only.
	foldExempt string
	seen       map[string]seenName // by folded path
	bytes      int                 // of its keys
}

// maxNameBytes bounds what the names of one tree take, since a limit on their number alone would
// let long ones take gigabytes.
const maxNameBytes = 64 << 20

type seenName struct {
	path    string // as spelled
	dir     bool
	implied bool // only as the parent of another entry so far
}

func (s seenName) isDir(path string) bool { return s.dir && s.path == path }

func newNames(limits Limits, foldExempt string) *names {
	return &names{limits: limits, foldExempt: foldExempt, seen: map[string]seenName{}}
}

// add checks the name of an entry against the rules and against the entries before it. It returns
// the clean path, which is "" for the root of the tree, or the reason to refuse the entry.
func (n *names) add(name string, dir bool) (clean, reason string) {
	clean, reason = cleanName(name, n.limits)
	if reason != "" || clean == "" {
		return clean, reason
	}
	if len(n.seen) >= n.limits.Entries {
		return "", "more entries than allowed"
	}
	if reason := n.putParents(clean); reason != "" {
		return "", reason
	}
	return clean, n.put(clean, dir, false)
}

// putParents remembers the folders that a path lies in. It goes through all of them only if the
// innermost is new, so that a million names deep in one folder cost no more than their length.
func (n *names) putParents(clean string) (reason string) {
	last := strings.LastIndexByte(clean, '/')
	if last < 0 {
		return ""
	}
	if parent := clean[:last]; n.seen[n.key(parent)].isDir(parent) {
		return ""
	}
	for i := range len(clean) {
		if clean[i] == '/' {
			if reason := n.put(clean[:i], true, true); reason != "" {
				return reason
			}
		}
	}
	return ""
}

// put remembers one path.
func (n *names) put(p string, dir, implied bool) (reason string) {
	key := n.key(p)
	old, ok := n.seen[key]
	switch {
	case !ok:
		if n.bytes += len(key); n.bytes > maxNameBytes {
			return "the names of its entries take more memory than allowed"
		}
		n.seen[key] = seenName{path: p, dir: dir, implied: implied}
	case old.path != p:
		return "duplicate entry: differs from " + quote(old.path) + " by case only"
	case old.dir != dir && dir:
		return "lies below " + quote(p) + ", which is not a folder"
	case old.dir != dir:
		return "duplicate entry: a folder of that name came before"
	case implied:
	case old.implied:
		n.seen[key] = seenName{path: p, dir: dir}
	default:
		return "duplicate entry"
	}
	return ""
}

func (n *names) key(p string) string {
	if n.foldExempt != "" && strings.HasPrefix(p, n.foldExempt+"/") {
		return p
	}
	return fold(p)
}

// cleanName returns the path that an entry's name means inside its tree: slashes only, no leading
// "./", no trailing slash. Names that could mean a place outside it have a reason instead.
func cleanName(name string, limits Limits) (clean, reason string) {
	switch {
	case name == "":
		return "", "empty name"
	case strings.ContainsRune(name, 0):
		return "", "NUL in the name"
	case len(name) > limits.NameBytes:
		return "", "name too long"
	case path.IsAbs(name) || name[0] == '\\' || hasDrive(name):
		return "", "absolute path"
	}
	for elem := range strings.FieldsFuncSeq(name, func(r rune) bool { return r == '/' || r == '\\' }) {
		if elem == ".." {
			return "", "path leaves the tree with \"..\""
		}
	}
	clean = path.Clean(name)
	if clean == "." {
		return "", ""
	}
	if strings.TrimSuffix(strings.TrimPrefix(name, "./"), "/") != clean {
		return "", "path is not in its shortest form"
	}
	if strings.Count(clean, "/") >= limits.Depth {
		return "", "path too deep"
	}
	return clean, ""
}

// plainName reports why a name of the package's own tree is refused though it stays inside: such
// names are written to checksums.txt and JSON, where these would be ambiguous.
func plainName(name string) (reason string) {
	if !utf8.ValidString(name) {
		return "name is not UTF-8"
	}
	if strings.ContainsRune(name, '\\') {
		return "backslash in the name"
	}
	if strings.ContainsFunc(name, unicode.IsControl) {
		return "control character in the name"
	}
	return ""
}

// linkReason reports why a symbolic link is refused: its target has to stay in the tree whatever
// other links the tree has. So ".." may only lead the target; after another element, which may be
// a link itself, it could mean anything.
func linkReason(p, target string) string {
	const leaves = "link leaves the tree"
	if target == "" || strings.ContainsRune(target, 0) || path.IsAbs(target) || target[0] == '\\' || hasDrive(target) {
		return leaves
	}
	up, descended := 0, false
	for elem := range strings.SplitSeq(strings.ReplaceAll(target, "\\", "/"), "/") {
		switch elem {
		case "", ".":
		case "..":
			if descended {
				return leaves
			}
			up++
		default:
			descended = true
		}
	}
	if up > strings.Count(p, "/") {
		return leaves
	}
	return ""
}

// hasDrive reports whether a name starts like a path on a Windows drive.
func hasDrive(name string) bool {
	if len(name) < 2 || name[1] != ':' {
		return false
	}
	c := name[0] | 0x20
	return 'a' <= c && c <= 'z'
}

// fold maps names that a case-insensitive file system takes for one to one string.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		// The smallest rune of the orbit stands for all of it; with ASCII that is the capital.
		if r < utf8.RuneSelf {
			if 'a' <= r && r <= 'z' {
				r -= 'a' - 'A'
			}
			return r
		}
		lowest := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			lowest = min(lowest, f)
		}
		return lowest
	}, s)
}
