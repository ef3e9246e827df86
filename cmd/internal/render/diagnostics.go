package render

import (
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/host/validate"
)

// Annotations writes diagnostics as workflow commands of GitHub Actions, which shows each beside the
// line that it is about.
func Annotations(w io.Writer, diagnostics []validate.Diagnostic) error {
	value := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	for _, d := range diagnostics {
		place := "file=" + property.Replace(filepath.ToSlash(d.File))
		if d.Line > 0 {
			place += fmt.Sprintf(",line=%d,col=%d", d.Line, d.Column)
		}
		message := d.Message
		if d.Path != "" {
			message = d.Path + ": " + message
		}
		if _, err := fmt.Fprintf(w, "::%s %s,title=%s::%s\n", d.Severity, place, property.Replace(d.Rule), value.Replace(message)); err != nil {
			return err
		}
	}
	return nil
}

// SARIF is a log of the Static Analysis Results Interchange Format, 2.1.0, with one run.
type SARIF struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool struct {
		Driver struct {
			Name    string      `json:"name"`
			Version string      `json:"version,omitempty"`
			Rules   []sarifRule `json:"rules"`
		} `json:"driver"`
	} `json:"tool"`
	// ColumnKind says what columns count: characters, not units of UTF-16.
	ColumnKind string        `json:"columnKind"`
	Results    []sarifResult `json:"results"`
}

type sarifRule struct {
	ID string `json:"id"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifResult struct {
	RuleID    string          `json:"ruleId"`
	RuleIndex int             `json:"ruleIndex"`
	Level     string          `json:"level"`
	Message   sarifText       `json:"message"`
	Locations []sarifLocation `json:"locations"`
}

type sarifLocation struct {
	Physical struct {
		Artifact struct {
			URI string `json:"uri"`
		} `json:"artifactLocation"`
		Region *sarifRegion `json:"region,omitempty"`
	} `json:"physicalLocation"`
	Logical []sarifLogical `json:"logicalLocations,omitempty"`
}

type sarifRegion struct {
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn"`
}

type sarifLogical struct {
	FullyQualifiedName string `json:"fullyQualifiedName"`
}

// NewSARIF makes the log of diagnostics, for the version of the program that found them.
func NewSARIF(version string, diagnostics []validate.Diagnostic) SARIF {
	log := SARIF{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: make([]sarifRun, 1)}
	run := &log.Runs[0]
	run.Tool.Driver.Name, run.Tool.Driver.Version, run.Tool.Driver.Rules = "zarf-host", version, []sarifRule{}
	run.ColumnKind, run.Results = "unicodeCodePoints", []sarifResult{}
	for _, d := range diagnostics {
		rule := slices.Index(run.Tool.Driver.Rules, sarifRule{ID: d.Rule})
		if rule < 0 {
			rule = len(run.Tool.Driver.Rules)
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{ID: d.Rule})
		}
		var at sarifLocation
		at.Physical.Artifact.URI = uri(d.File)
		if d.Line > 0 {
			at.Physical.Region = &sarifRegion{StartLine: d.Line, StartColumn: d.Column}
		}
		if d.Path != "" {
			at.Logical = []sarifLogical{{FullyQualifiedName: d.Path}}
		}
		run.Results = append(run.Results, sarifResult{
			RuleID: d.Rule, RuleIndex: rule, Level: string(d.Severity),
			Message: sarifText{d.Message}, Locations: []sarifLocation{at},
		})
	}
	return log
}

// uri is a file's name as a relative reference, or as a file URI where it is absolute.
func uri(file string) string {
	u := url.URL{Path: filepath.ToSlash(file)}
	if filepath.IsAbs(file) {
		u.Scheme = "file"
	}
	return u.String()
}
