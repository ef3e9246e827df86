package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/host/cluster"
	"github.com/zarf-host/zarf-host/host/plugin"
	"github.com/zarf-host/zarf-host/host/policy"
	"github.com/zarf-host/zarf-host/host/validate"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// MaxPolicy is the most bytes that a policy may have.
const MaxPolicy = 1 << 20

// Policy is a policy that was read.
type Policy struct {
	policy.Applied
	// Text is the policy as it is written, File the name of its file, whose ending says how.
	Text []byte
	File string
	// constraints, compiled; nil where it has none.
	definition, config *validate.Constraint
	dir                string // from which the paths of its plugins are; empty where it may name none
}

// PolicyError says that a policy cannot be had, or is none.
type PolicyError struct {
	From string
	Err  error
}

func (e *PolicyError) Error() string { return fmt.Sprintf("policy %s: %v", e.From, e.Err) }

// Unwrap returns the cause.
func (e *PolicyError) Unwrap() error { return e.Err }

// ReadPolicies reads the policies that a reference names: a file, the files of a folder that end in .cue,
// .yaml, .yml or .json, or oci://HOST/PATH:TAG, an artifact with one layer. Any error is a *PolicyError.
func ReadPolicies(ctx context.Context, ref string, s PluginSource) ([]Policy, error) {
	v, err := validate.New()
	if err != nil {
		return nil, err
	}
	out, err := readPolicies(ctx, v, ref, s)
	if err != nil {
		return nil, &PolicyError{From: ref, Err: err}
	}
	return out, nil
}

func readPolicies(ctx context.Context, v *validate.Validator, ref string, s PluginSource) ([]Policy, error) {
	if strings.HasPrefix(ref, "oci://") {
		p, err := pullPolicy(ctx, v, ref, s)
		return []Policy{p}, err
	}
	files := []string{ref}
	info, err := os.Stat(ref)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		if files, err = policyFiles(ref); err != nil {
			return nil, err
		}
	}
	var out []Policy
	for _, file := range files {
		text, err := readPolicyFile(file)
		if err != nil {
			return nil, err
		}
		p, err := parsePolicy(v, file, file, text)
		if err != nil {
			return nil, err
		}
		p.dir = filepath.Dir(file)
		out = append(out, p)
	}
	return out, nil
}

// policyFiles are the policies in a folder, in the order of their names.
func policyFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if !e.IsDir() && slices.Contains([]string{".cue", ".yaml", ".yml", ".json"}, filepath.Ext(e.Name())) {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	return out, nil
}

func readPolicyFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxPolicy+1))
	if err == nil && len(text) > MaxPolicy {
		err = fmt.Errorf("it has more than %d bytes", MaxPolicy)
	}
	return text, err
}

// parsePolicy reads the text of a policy. The name of its file says how it is written.
func parsePolicy(v *validate.Validator, file, from string, text []byte) (Policy, error) {
	read, err := v.PolicyFile(file, text)
	if err != nil {
		return Policy{}, err
	}
	p, err := policy.Parse(read.JSON)
	if err != nil {
		return Policy{}, err
	}
	sum := sha256.Sum256(text)
	return Policy{
		Applied: policy.Applied{Policy: p, Digest: "sha256:" + hex.EncodeToString(sum[:]), From: from},
		Text:    text, File: filepath.Base(file), definition: read.Package, config: read.DeployConfig,
	}, nil
}

// pullPolicy fetches a policy from a registry.
func pullPolicy(ctx context.Context, v *validate.Validator, text string, s PluginSource) (Policy, error) {
	ref, err := plugin.ParseRegistryReference(text)
	if err != nil {
		return Policy{}, err
	}
	client, err := s.client(ref)
	if err != nil {
		return Policy{}, err
	}
	defer func() { _ = client.Close() }() // everything was read
	top, err := client.FetchManifest(ctx, ref.By())
	if err != nil {
		return Policy{}, err
	}
	var manifest ocispec.Manifest
	if err := json.Unmarshal(top.Data, &manifest); err != nil {
		return Policy{}, fmt.Errorf("reading the manifest: %w", err)
	}
	if len(manifest.Layers) != 1 {
		return Policy{}, fmt.Errorf("the manifest has %d layers: a policy is one", len(manifest.Layers))
	}
	layer := manifest.Layers[0]
	if layer.Size > MaxPolicy {
		return Policy{}, fmt.Errorf("it has %d bytes, at most %d are fetched", layer.Size, MaxPolicy)
	}
	body, err := client.FetchBlob(ctx, ref.Where(), layer)
	if err != nil {
		return Policy{}, err
	}
	file := filepath.Base(layer.Annotations[ocispec.AnnotationTitle])
	if filepath.Ext(file) != ".cue" {
		file = "policy.yaml" // JSON is YAML
	}
	ref.Digest = top.Digest.String()
	return parsePolicy(v, file, ref.String(), body)
}

// ClusterPolicies reads the policies of a cluster. One that cannot be read as a policy is a *PolicyError:
// nobody can tell what it forbids.
func ClusterPolicies(ctx context.Context, conn *cluster.Cluster) ([]Policy, error) {
	stored, err := conn.Policies(ctx)
	if err != nil {
		if errors.As(err, new(*cluster.EmptyPolicyError)) {
			return nil, &PolicyError{From: "of the cluster", Err: err}
		}
		return nil, err
	}
	if len(stored) == 0 {
		return nil, nil
	}
	v, err := validate.New()
	if err != nil {
		return nil, err
	}
	var out []Policy
	for _, s := range stored {
		from := "cluster:" + s.ConfigMap
		p, err := parsePolicy(v, s.File, from, s.Text)
		if err != nil {
			return nil, &PolicyError{From: from, Err: err}
		}
		out = append(out, p)
	}
	return out, nil
}

// policySet is what policies say beside their constraints.
func policySet(policies []Policy) policy.Set {
	var out policy.Set
	for _, p := range policies {
		out = append(out, p.Applied)
	}
	return out
}
