//go:build deps

package deps

import (
	_ "cuelang.org/go/cue/cuecontext"
	_ "cuelang.org/go/encoding/yaml"
	_ "github.com/BurntSushi/toml"
	_ "github.com/Masterminds/semver/v3"
	_ "github.com/Masterminds/sprig/v3"
	_ "github.com/fluxcd/cli-utils/pkg/kstatus/polling"
	_ "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	_ "github.com/fluxcd/cli-utils/pkg/kstatus/watcher"
	_ "github.com/goccy/go-yaml"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/klauspost/compress/zstd"
	_ "github.com/lmittmann/tint"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/spf13/cobra"
	_ "github.com/tetratelabs/wazero"
	_ "go.uber.org/goleak"
	_ "golang.org/x/sys/unix"
	_ "golang.org/x/term"
	_ "helm.sh/helm/v3/pkg/action"
	_ "k8s.io/api/core/v1"
	_ "k8s.io/cli-runtime/pkg/genericclioptions"
	_ "k8s.io/client-go/dynamic"
	_ "k8s.io/client-go/kubernetes"
	_ "k8s.io/client-go/metadata"
	_ "k8s.io/kubectl/pkg/cmd"
	_ "mvdan.cc/sh/v3/syntax"
	_ "oras.land/oras-go/v2"
	_ "sigs.k8s.io/yaml"
)
