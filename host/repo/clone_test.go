package repo_test

import (
	"testing"

	"github.com/zarf-host/zarf-host/host/repo"
)

func TestSplit(t *testing.T) {
	for text, want := range map[string][2]string{
		"https://a.test/x.git":                     {"https://a.test/x.git", ""},
		"https://a.test/x.git@v1.0.0":              {"https://a.test/x.git", "v1.0.0"},
		"https://me:p@a.test/x.git@refs/heads/a/b": {"https://me:p@a.test/x.git", "refs/heads/a/b"},
		"https://me:p@a.test/x.git":                {"https://me:p@a.test/x.git", ""},
		"https://a.test":                           {"https://a.test", ""},
		"x":                                        {"x", ""},
	} {
		if url, ref := repo.Split(text); url != want[0] || ref != want[1] {
			t.Errorf("%q: got %q, %q", text, url, ref)
		}
	}
}
