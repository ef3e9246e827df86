package meter_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/zarf-host/zarf-host/host/wasm/internal/meter"
	"github.com/zarf-host/zarf-host/host/wasm/internal/module"
)

// What the specification's tests come to. A run of fewer means that the harness has gone blind.
const (
	wantModules = 2300
	wantInvokes = 64000
	wantRefused = 4600
	wantFuel    = 10_000_000
)

func limits() meter.Limits {
	return meter.Limits{Elements: 1 << 24, Body: 1 << 20, Branches: 1 << 30, Work: 1 << 60}
}

// world is one engine with the modules of one script in it.
type world struct {
	rt      wazero.Runtime
	current api.Module
	named   map[string]api.Module
	metered bool
	fuel    *int64
}

func newWorld(t *testing.T, spectest []byte, metered bool) *world {
	t.Helper()
	ctx := t.Context()
	w := &world{rt: wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig()), named: map[string]api.Module{}, metered: metered, fuel: new(int64)}
	t.Cleanup(func() { w.rt.Close(context.Background()) })
	tick := api.GoModuleFunc(func(_ context.Context, _ api.Module, stack []uint64) {
		const grant = 1_000_000
		*w.fuel += grant - int64(stack[0])
		stack[0] = grant
	})
	b := w.rt.NewHostModuleBuilder(meter.TickModule)
	b.NewFunctionBuilder().WithGoModuleFunction(tick, []api.ValueType{api.ValueTypeI64}, []api.ValueType{api.ValueTypeI64}).Export(meter.TickName)
	if _, err := b.Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := w.rt.Instantiate(ctx, spectest); err != nil {
		t.Fatal(err)
	}
	return w
}

// instantiate rewrites where this world is metered.
func (w *world) instantiate(ctx context.Context, data []byte, name string) error {
	if w.metered {
		m, err := module.Parse(data)
		if err != nil {
			return fmt.Errorf("refused: %w", err)
		}
		if data, err = meter.Rewrite(m, limits()); err != nil {
			return fmt.Errorf("refused: %w", err)
		}
	}
	code, err := w.rt.CompileModule(ctx, data)
	if err != nil {
		return fmt.Errorf("refused: %w", err)
	}
	mod, err := w.rt.InstantiateModule(ctx, code, wazero.NewModuleConfig().WithName(name).WithStartFunctions())
	if err != nil {
		return err
	}
	w.current = mod
	return nil
}

type action struct {
	Type, Field, Module string
	Args                []struct {
		Type     string
		LaneType string `json:"lane_type"`
		Value    any
	}
}

type command struct {
	Type, Name, As, Filename string
	Line                     int
	ModuleType               string `json:"module_type"`
	Action                   action
}

// params makes the words of the arguments; a null reference is 0.
func (a action) params() ([]uint64, error) {
	var out []uint64
	for _, arg := range a.Args {
		words, ok := arg.Value.([]any)
		if !ok {
			words = []any{arg.Value}
		}
		var lanes []byte
		for _, word := range words {
			s := word.(string)
			if s == "null" {
				s = "0"
			}
			if strings.HasPrefix(s, "nan:") {
				s = "2143289344"
				if arg.LaneType == "f64" || arg.Type == "f64" {
					s = "9221120237041090560"
				}
			}
			n, err := strconv.ParseUint(s, 10, 64)
			if err != nil {
				signed, err := strconv.ParseInt(s, 10, 64)
				if err != nil {
					return nil, err
				}
				n = uint64(signed)
			}
			if arg.Type != "v128" {
				out = append(out, n)
				continue
			}
			switch arg.LaneType {
			case "i8":
				lanes = append(lanes, byte(n))
			case "i16":
				lanes = binary.LittleEndian.AppendUint16(lanes, uint16(n))
			case "i32", "f32":
				lanes = binary.LittleEndian.AppendUint32(lanes, uint32(n))
			default:
				lanes = binary.LittleEndian.AppendUint64(lanes, n)
			}
		}
		if arg.Type == "v128" {
			out = append(out, binary.LittleEndian.Uint64(lanes), binary.LittleEndian.Uint64(lanes[8:]))
		}
	}
	return out, nil
}

// do runs an action and describes its outcome, which must be the same in both worlds.
func (w *world) do(ctx context.Context, a action) (string, error) {
	mod := w.current
	if a.Module != "" {
		mod = w.named[a.Module]
	}
	if mod == nil {
		return "", fmt.Errorf("no module %q", a.Module)
	}
	if a.Type == "get" {
		return fmt.Sprint(mod.ExportedGlobal(a.Field).Get()), nil
	}
	params, err := a.params()
	if err != nil {
		return "", err
	}
	f := mod.ExportedFunction(a.Field)
	if f == nil {
		return "", fmt.Errorf("no function %q", a.Field)
	}
	results, err := f.Call(ctx, params...)
	if err != nil {
		line, _, _ := strings.Cut(err.Error(), "\n")
		return "error: " + line, nil
	}
	// A reference is an address in the engine; only whether it is null can be compared.
	for i, t := range f.Definition().ResultTypes() {
		if byte(t) == byte(module.FuncRef) && i < len(results) && results[i] != 0 {
			results[i] = 1
		}
	}
	return fmt.Sprint(results), nil
}

// TestSpecification runs the core specification's tests, which wazero carries, in two worlds: with the
// modules as they are and as they come out of the rewriter. Every call must have the same outcome, and
// what is no valid module must be none afterwards.
func TestSpecification(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	if err != nil {
		t.Fatalf("finding wazero's sources: %v", err)
	}
	root := filepath.Join(strings.TrimSpace(string(out)), "internal", "integration_test", "spectest")
	spectest, err := os.ReadFile(filepath.Join(root, "testdata", "spectest.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	var scripts []string
	for _, version := range []string{"v1", "v2"} {
		found, err := filepath.Glob(filepath.Join(root, version, "testdata", "*.json"))
		if err != nil {
			t.Fatal(err)
		}
		scripts = append(scripts, found...)
	}
	slices.Sort(scripts)
	var ran counts
	for _, script := range scripts {
		name, _ := filepath.Rel(root, script)
		t.Run(name, func(t *testing.T) { ran.script(t, script, spectest) })
	}
	t.Logf("%d modules, %d calls and %d refusals of the specification, %d differences, %d fuel", ran.modules, ran.invokes, ran.refused, ran.differ, ran.fuel)
	if ran.modules < wantModules || ran.invokes < wantInvokes || ran.refused < wantRefused || ran.fuel < wantFuel {
		t.Errorf("wanted at least %d, %d and %d", wantModules, wantInvokes, wantRefused)
	}
}

type counts struct {
	modules, invokes, refused, differ int
	fuel                              int64
}

func (c *counts) script(t *testing.T, path string, spectest []byte) {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct{ Commands []command }
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	plain, metered := newWorld(t, spectest, false), newWorld(t, spectest, true)
	both := []*world{plain, metered}
	differ := func(line int, format string, args ...any) {
		c.differ++
		t.Errorf("line %d: "+format, append([]any{line}, args...)...)
	}
	for i, cmd := range doc.Commands {
		switch cmd.Type {
		case "module", "assert_invalid", "assert_malformed", "assert_unlinkable", "assert_uninstantiable":
			if cmd.ModuleType == "text" {
				continue
			}
			wasm, err := os.ReadFile(filepath.Join(filepath.Dir(path), strings.TrimSuffix(cmd.Filename, ".wat")))
			if err != nil {
				wasm, err = os.ReadFile(filepath.Join(filepath.Dir(path), strings.TrimSuffix(cmd.Filename, ".wat")+".wasm"))
			}
			if err != nil {
				t.Fatal(err)
			}
			// The engine keeps registered names; the rest must not meet each other.
			name := fmt.Sprintf("%s#%d", cmd.Name, i)
			if next := i + 1; next < len(doc.Commands) && doc.Commands[next].Type == "register" {
				name = doc.Commands[next].As
			}
			errPlain := plain.instantiate(ctx, bytes.Clone(wasm), name)
			errMetered := metered.instantiate(ctx, wasm, name)
			switch {
			case (errPlain == nil) != (errMetered == nil):
				differ(cmd.Line, "%s %s: plain %v, metered %v", cmd.Type, cmd.Filename, errPlain, errMetered)
			case errPlain == nil:
				c.modules++
				if cmd.Name != "" {
					for _, w := range both {
						w.named[cmd.Name] = w.current
					}
				}
			default:
				c.refused++
			}
		case "action", "assert_return", "assert_trap", "assert_exhaustion":
			a, err := plain.do(ctx, cmd.Action)
			if err != nil {
				t.Fatalf("line %d: %v", cmd.Line, err)
			}
			b, err := metered.do(ctx, cmd.Action)
			if err != nil {
				t.Fatalf("line %d: %v", cmd.Line, err)
			}
			c.invokes++
			if a != b {
				differ(cmd.Line, "%s: plain %s, metered %s", cmd.Action.Field, a, b)
			}
		}
	}
	c.fuel += *metered.fuel
}
