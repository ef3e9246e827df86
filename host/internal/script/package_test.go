package script_test

import (
	"archive/tar"
	"flag"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/zarf-host/zarf-host/host/internal/packagetest"
	"github.com/zarf-host/zarf-host/host/spec"
)

// scriptPackage packs a folder of the script.
func scriptPackage(ts *testscript.TestScript, neg bool, args []string) {
	flags := flag.NewFlagSet("package", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	folder := flags.Bool("folder", false, "write an unpacked folder DIR.pkg")
	split := flags.Int("split", 0, "write a split archive with parts of so many bytes")
	signed := flags.Bool("signed", false, "claim a signature")
	images := flags.Bool("no-images", false, "leave out the images that the definition names")
	requires := flags.String("requires", "", "claim to require this version of Zarf")
	flavor := flags.String("flavor", "", "claim this flavor")
	unchecked := flags.Bool("unchecked", false, "leave out the checksums, as packages of old did")
	hostile := flags.String("hostile", "", "add an entry of this kind to the archive, or to the first component's tar with in-component:")
	if err := flags.Parse(args); err != nil || neg || flags.NArg() != 1 {
		ts.Fatalf("usage: package [flags] DIR (%v)", err)
	}
	dir := ts.MkAbs(flags.Arg(0))
	files := readTree(ts, dir)
	p := packagetest.Package{Definition: files["zarf.yaml"], Files: files}
	o := packagetest.Options{
		Name: filepath.Base(dir), Signed: *signed, OmitImages: *images,
		Built: func(pkg *spec.Package) {
			if *requires != "" {
				pkg.Build.VersionRequirements = []spec.VersionRequirement{{Version: *requires, Reason: "the test says so"}}
			}
			if *flavor != "" {
				pkg.Build.Flavor = *flavor
			}
			if *unchecked {
				pkg.Metadata.AggregateChecksum = ""
			}
		},
	}
	if *unchecked {
		o.Entries = func(entries []packagetest.Entry) []packagetest.Entry {
			var out []packagetest.Entry
			for _, e := range entries {
				if e.Name != "checksums.txt" {
					out = append(out, e)
				}
			}
			return out
		}
	}
	if *hostile != "" {
		add := func(kind, prefix string) func([]packagetest.Entry) []packagetest.Entry {
			return func(entries []packagetest.Entry) []packagetest.Entry {
				bad, ok := hostileEntries(prefix)[kind]
				if !ok {
					ts.Fatalf("no hostile entry is called %q", kind)
				}
				return append(slices.Clone(bad), entries...)
			}
		}
		if kind, inside := strings.CutPrefix(*hostile, "in-component:"); inside {
			o.Component = func(component string, entries []packagetest.Entry) []packagetest.Entry {
				return add(kind, component+"/files/0/")(entries)
			}
		} else {
			o.Entries = add(*hostile, "")
		}
	}
	out := filepath.Dir(dir)
	var err error
	switch {
	case *folder:
		o.Name += ".pkg"
		_, err = packagetest.WriteFolder(out, p, o)
	case *split > 0:
		_, err = packagetest.WriteSplit(out, p, o, *split)
	default:
		_, err = packagetest.Write(out, p, o)
	}
	ts.Check(err)
}

// hostileEntries are entries that lead out of where they are unpacked, or are none of a package's
// business, by kind.
func hostileEntries(prefix string) map[string][]packagetest.Entry {
	evil := []byte("evil")
	return map[string][]packagetest.Entry{
		"parent":   {{Name: prefix + "../../../escaped", Mode: 0o644, Body: evil}},
		"absolute": {{Name: "/tmp/zarf-host-escaped", Mode: 0o644, Body: evil}},
		"symlink": {
			{Name: prefix + "link", Type: tar.TypeSymlink, Link: "../../../.."},
			{Name: prefix + "link/escaped", Mode: 0o644, Body: evil},
		},
		"hardlink": {{Name: prefix + "passwd", Type: tar.TypeLink, Link: "/etc/passwd"}},
		"device":   {{Name: prefix + "null", Type: tar.TypeChar, Mode: 0o666}},
		"fifo":     {{Name: prefix + "pipe", Type: tar.TypeFifo, Mode: 0o666}},
		"twin": {
			{Name: prefix + "twin", Mode: 0o644, Body: evil},
			{Name: prefix + "TWIN", Mode: 0o644, Body: evil},
		},
		"unlisted": {{Name: prefix + "unlisted", Mode: 0o644, Body: evil}},
	}
}

// volatile is what differs from run to run, and what stands for it.
var volatile = []struct {
	pattern *regexp.Regexp
	text    string
}{
	{regexp.MustCompile(`sha256:[0-9a-f]{12,64}`), "sha256:DIGEST"},
	{regexp.MustCompile(`\bzarf-[0-9a-f]{40}\b`), "zarf-HASH"},
	{regexp.MustCompile(`(?m)^  needs in .*\n`), ""}, // what exists already needs no right to create it
	{regexp.MustCompile(`\b[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z`), "TIME"},
	{regexp.MustCompile(`(?m)^[0-9]{2}:[0-9]{2}:[0-9]{2} `), "CLOCK "},
	{regexp.MustCompile(`\b0\.1\.[0-9]{10}\b`), "0.1.START"},
	{regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), "UID"},
}

func scriptNormal(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 1, "normal stdout|stderr|FILE")
	text := ts.ReadFile(args[0])
	for name, value := range map[string]string{"$WORK": ts.Getenv("WORK"), "$PKG": ts.Getenv("PKG"), "$NS": ts.Getenv("NS"), "$SHARED": ts.Getenv("SHARED")} {
		if value != "" {
			text = strings.ReplaceAll(text, value, name)
		}
	}
	for _, v := range volatile {
		text = v.pattern.ReplaceAllString(text, v.text)
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n" // as files in scripts end
	}
	_, err := io.WriteString(ts.Stdout(), text)
	ts.Check(err)
}
