package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/zarf-host/zarf-host/cmd/internal/render"
	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/recording"
	"github.com/zarf-host/zarf-host/host/wasm"
)

// maxAnswers bounds a file of recorded answers, which quotas keep far below it.
const maxAnswers = 256 << 20

// pluginRunFlags say how a plugin is run alone.
type pluginRunFlags struct {
	request, answers, memory, sandbox string
	fuel                              uint64
	timeout                           time.Duration
}

func (r *root) pluginRunCmd() *cobra.Command {
	var f pluginRunFlags
	cmd := &cobra.Command{
		Use:   "run MODULE HOOK --request FILE|-",
		Short: "Ask a plugin one request, without a cluster, and print its response",
		Long: "Ask a plugin one request, without a cluster, and print its response as JSON.\n\n" +
			"The request's config is the plugin's configuration. What the plugin asks of the cluster and of the\n" +
			"package is answered from --answers: a list of {request, answer}, in the order in which it asks.\n" +
			"Exit codes: 0 allow or warn, 3 deny, 1 the plugin failed; the message begins with the kind of failure.",
		Example: "  zarf-host plugin run guard.wasm pre-prune --request request.json",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.pluginRun(cmd.Context(), args[0], hook.Name(args[1]), f)
		},
	}
	limits := wasm.DefaultLimits()
	cmd.Flags().StringVar(&f.request, "request", "", "`file` with the request, - for standard input")
	cmd.Flags().StringVar(&f.answers, "answers", "", "`file` with what the plugin is answered when it asks")
	cmd.Flags().Uint64Var(&f.fuel, "fuel", limits.Fuel, "most fuel that it may use")
	cmd.Flags().DurationVar(&f.timeout, "timeout", limits.Run, "longest that it may run")
	cmd.Flags().StringVar(&f.memory, "memory", "256Mi", "most memory that it may have, such as 64Mi")
	cmd.Flags().StringVar(&f.sandbox, "plugin-sandbox", "child", "child: it runs in a process that can do nothing else; in-process: leave that wall out")
	_ = cmd.MarkFlagRequired("request") // it exists
	r.outputFlag(cmd, "table", "json")
	return cmd
}

func (r *root) pluginRun(ctx context.Context, module string, name hook.Name, f pluginRunFlags) error {
	request, err := r.readRequest(f.request, name)
	if err != nil {
		return err
	}
	answers, err := readAnswers(f.answers)
	if err != nil {
		return err
	}
	limits, err := f.limits()
	if err != nil {
		return err
	}
	sandbox, err := wasm.ParseSandbox(f.sandbox)
	if err != nil {
		return fmt.Errorf("--plugin-sandbox: %w", err)
	}
	code, err := r.readModule(ctx, module, limits)
	if err != nil {
		return err
	}
	plugin, err := wasm.Load(ctx, code, wasm.Options{
		Name: filepath.Base(module), Config: request.Config, Limits: limits, Sandbox: sandbox, CacheDir: r.remote.cacheDir(),
	})
	if err != nil {
		return r.pluginFailed(err)
	}
	defer func() { _ = plugin.Close(context.WithoutCancel(ctx)) }() // it has answered
	var asked wasm.Host                                             // a nil *wasm.Script would be a host that crashes
	if answers != nil {
		asked = answers
	}
	result, err := plugin.CallWith(ctx, request, asked)
	if result.Log != "" {
		_, _ = fmt.Fprintln(r.streams.Err, render.Error(result.Log))
	}
	if answers != nil {
		if strayed := answers.Strayed(); strayed != nil {
			r.log().Warn(render.Line("--answers: " + strayed.Error()))
		}
	}
	if err != nil {
		return r.pluginFailed(err)
	}
	if err := r.writeDocument(result.Response); err != nil {
		return err
	}
	if result.Response.Verdict == hook.Deny {
		return &codeError{code: exitDenied}
	}
	return nil
}

// pluginFailed tells programs which kind of failure it was.
func (r *root) pluginFailed(err error) error {
	var failure *wasm.Error
	if !errors.As(err, &failure) {
		return err
	}
	if r.format == "json" {
		err = errors.Join(err, r.writeDocument(map[string]any{"error": map[string]any{"kind": failure.Kind, "message": failure.Error()}}))
	}
	return &codeError{code: exitFailed, err: err}
}

func (f pluginRunFlags) limits() (wasm.Limits, error) {
	memory, err := resource.ParseQuantity(f.memory)
	if err != nil || memory.Value() <= 0 {
		return wasm.Limits{}, fmt.Errorf("--memory %q is no size such as 64Mi", f.memory)
	}
	if f.timeout <= 0 || f.fuel == 0 {
		return wasm.Limits{}, errors.New("--timeout and --fuel must be more than nothing")
	}
	limits := wasm.Limits{Fuel: f.fuel, Run: f.timeout, Memory: uint64(memory.Value())}
	limits.Call = min(f.timeout, wasm.DefaultLimits().Call) // a host call is a part of the run
	return limits, nil
}

// readRequest reads a request, which must be one of the hook that is asked for.
func (r *root) readRequest(path string, name hook.Name) (hook.Request, error) {
	if _, err := hook.Find(name); err != nil {
		return hook.Request{}, err
	}
	var data []byte
	var err error
	most := wasm.DefaultLimits().Request
	if path == "-" {
		data, err = io.ReadAll(io.LimitReader(r.streams.In, int64(most)+1))
	} else {
		data, err = readUpTo(path, int64(most)+1)
	}
	if err != nil {
		return hook.Request{}, fmt.Errorf("reading the request: %w", err)
	}
	if len(data) > most {
		return hook.Request{}, fmt.Errorf("the request has more than the %d bytes that one may have", most)
	}
	request, err := hook.ParseRequest(data)
	if err != nil {
		return hook.Request{}, err
	}
	if request.Hook != name {
		return hook.Request{}, fmt.Errorf("the request is one of hook %s, not of %s", request.Hook, name)
	}
	return request, nil
}

func readUpTo(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

// readAnswers reads what a plugin is to be answered; no file is no answers.
func readAnswers(path string) (*wasm.Script, error) {
	if path == "" {
		return nil, nil
	}
	data, err := readUpTo(path, maxAnswers+1)
	if err != nil {
		return nil, fmt.Errorf("reading the answers: %w", err)
	}
	if len(data) > maxAnswers {
		return nil, fmt.Errorf("the answers in %q have more than %d bytes", path, maxAnswers)
	}
	exchanges, err := recording.ParseAnswers(data)
	if err != nil {
		return nil, fmt.Errorf("reading the answers in %q: %w", path, err)
	}
	return wasm.NewScript(exchanges), nil
}
