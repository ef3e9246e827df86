package packagetest

// TB is what Build needs of a testing.TB. It keeps package testing out of the programs that write
// packages outside of tests.
type TB interface {
	Helper()
	Fatal(args ...any)
}

// Build writes a good package as an archive into dir and returns its path.
func Build(t TB, dir, def string, files map[string]string) string {
	t.Helper()
	return BuildWith(t, dir, def, files, Options{})
}

// BuildWith writes a package as an archive into dir and returns its path.
func BuildWith(t TB, dir, def string, files map[string]string, o Options) string {
	t.Helper()
	path, err := Write(dir, Package{Definition: def, Files: files}, o)
	return must(t, path, err)
}

// BuildSplit writes a good package as a split archive into dir and returns the path of its header.
func BuildSplit(t TB, dir, def string, files map[string]string, partBytes int) string {
	t.Helper()
	path, err := WriteSplit(dir, Package{Definition: def, Files: files}, Options{}, partBytes)
	return must(t, path, err)
}

// BuildFolder writes a good package as an unpacked folder below dir and returns its path.
func BuildFolder(t TB, dir, def string, files map[string]string) string {
	t.Helper()
	path, err := WriteFolder(dir, Package{Definition: def, Files: files}, Options{})
	return must(t, path, err)
}

func must(t TB, path string, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
