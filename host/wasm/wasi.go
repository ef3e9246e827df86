package wasm

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/zarf-host/zarf-host/host/wasm/internal/module"
)

const (
	wasiModule = "wasi_snapshot_preview1"
	hostModule = "zarf_host"
)

// call is one WASI function: its parameters, i for i32 and I for i64, and what it does. All but
// proc_exit return an errno.
type call struct {
	params string
	do     func(*guest, api.Memory, []uint64) errno
}

// wasiCalls are the functions that a module may import. The engine's own are not used: what they do
// in one call has no bound, and some of them look at the machine. Sockets and signals are not here, so
// that a module which imports one is not loaded.
func wasiCalls() map[string]call {
	return map[string]call{
		"args_get":            {"ii", (*guest).argsGet},
		"args_sizes_get":      {"ii", (*guest).argsSizesGet},
		"environ_get":         {"ii", (*guest).environGet},
		"environ_sizes_get":   {"ii", (*guest).environSizesGet},
		"clock_res_get":       {"ii", (*guest).clockResGet},
		"clock_time_get":      {"iIi", (*guest).clockTimeGet},
		"fd_close":            {"i", (*guest).fdClose},
		"fd_fdstat_get":       {"ii", (*guest).fdFdstatGet},
		"fd_fdstat_set_flags": {"ii", (*guest).fdFdstatSetFlags},
		"fd_filestat_get":     {"ii", (*guest).fdFilestatGet},
		"fd_prestat_get":      {"ii", (*guest).noFile},
		"fd_prestat_dir_name": {"iii", (*guest).noFile},
		"fd_read":             {"iiii", (*guest).fdRead},
		"fd_seek":             {"iIii", (*guest).fdSeek},
		"fd_write":            {"iiii", (*guest).fdWrite},
		"poll_oneoff":         {"iiii", (*guest).pollOneoff},
		"proc_exit":           {"i", nil}, // linked on its own: it does not return
		"random_get":          {"ii", (*guest).randomGet},
		"sched_yield":         {"", (*guest).schedYield},

		// These link, since runtimes import them unasked, and always fail: there is no file that they
		// could be about.
		"fd_advise":               {"iIIi", (*guest).notCapable},
		"fd_allocate":             {"iII", (*guest).notCapable},
		"fd_datasync":             {"i", (*guest).notCapable},
		"fd_fdstat_set_rights":    {"iII", (*guest).notCapable},
		"fd_filestat_set_size":    {"iI", (*guest).notCapable},
		"fd_filestat_set_times":   {"iIIi", (*guest).notCapable},
		"fd_pread":                {"iiiIi", (*guest).notCapable},
		"fd_pwrite":               {"iiiIi", (*guest).notCapable},
		"fd_readdir":              {"iiiIi", (*guest).notCapable},
		"fd_renumber":             {"ii", (*guest).notCapable},
		"fd_sync":                 {"i", (*guest).notCapable},
		"fd_tell":                 {"ii", (*guest).notCapable},
		"path_create_directory":   {"iii", (*guest).notCapable},
		"path_filestat_get":       {"iiiii", (*guest).notCapable},
		"path_filestat_set_times": {"iiiiIIi", (*guest).notCapable},
		"path_link":               {"iiiiiii", (*guest).notCapable},
		"path_open":               {"iiiiiIIii", (*guest).notCapable},
		"path_readlink":           {"iiiiii", (*guest).notCapable},
		"path_remove_directory":   {"iii", (*guest).notCapable},
		"path_rename":             {"iiiiii", (*guest).notCapable},
		"path_symlink":            {"iiiii", (*guest).notCapable},
		"path_unlink_file":        {"iii", (*guest).notCapable},
	}
}

// checkImport says why a module may not import something.
func checkImport(m *module.Module, i module.Import) error {
	name := i.Module + "." + i.Name
	if i.Kind != module.KindFunc {
		return fmt.Errorf("it imports the %s %s: only functions may be imported", i.Kind, name)
	}
	switch i.Module {
	case wasiModule:
	case hostModule:
		want, ok := hostCalls()[i.Name]
		switch {
		case !ok:
			return fmt.Errorf("it imports %s: the host has call and read only", name)
		case !m.Types[i.Type].Equal(want):
			return fmt.Errorf("it imports %s with another signature than the host's", name)
		}
		return nil
	default:
		return fmt.Errorf("it imports %s: functions come from %s and %s only", name, wasiModule, hostModule)
	}
	c, ok := wasiCalls()[i.Name]
	switch {
	case strings.HasPrefix(i.Name, "sock_"):
		return fmt.Errorf("it imports %s: a plugin has no sockets", name)
	case !ok:
		return fmt.Errorf("it imports %s, which is not among the functions that a plugin may use", name)
	}
	if !m.Types[i.Type].Equal(c.signature(i.Name)) {
		return fmt.Errorf("it imports %s with another signature than WASI's", name)
	}
	return nil
}

func (c call) signature(name string) module.FuncType {
	t := module.FuncType{Results: []module.ValueType{module.I32}}
	if name == "proc_exit" {
		t.Results = nil
	}
	for _, p := range c.params {
		if p == 'I' {
			t.Params = append(t.Params, module.I64)
		} else {
			t.Params = append(t.Params, module.I32)
		}
	}
	return t
}

// linkWASI gives the runtime the functions that guests import.
func linkWASI(ctx context.Context, rt wazero.Runtime) error {
	builder := rt.NewHostModuleBuilder(wasiModule)
	calls := wasiCalls()
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		c := calls[name]
		fn := api.GoModuleFunc(procExit)
		if c.do != nil {
			fn = func(ctx context.Context, mod api.Module, stack []uint64) {
				g := guestOf(ctx)
				g.stopIfDone(ctx)
				stack[0] = uint64(c.do(g, mod.Memory(), stack))
			}
		}
		t := c.signature(name)
		builder.NewFunctionBuilder().WithGoModuleFunction(fn, valueTypes(t.Params), valueTypes(t.Results)).Export(name)
	}
	if _, err := builder.Instantiate(ctx); err != nil {
		return fmt.Errorf("linking WASI: %w", err)
	}
	return nil
}

func valueTypes(list []module.ValueType) []api.ValueType {
	out := make([]api.ValueType, len(list))
	for i, t := range list {
		out[i] = api.ValueType(t)
	}
	return out
}
