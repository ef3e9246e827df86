package wasm

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/zarf-host/zarf-host/host/wasm/internal/module"
)

const (
	wasiModule = wasi_snapshot_preview1.ModuleName
	hostModule = "zarf_host"
	// errnoNotCapable is the answer to whatever a plugin has no right to.
	errnoNotCapable = 76
)

// answered are the WASI functions that do something, with their parameters: i is i32, I is i64.
// Sockets and signals are in neither list, so that a module which imports one is not loaded.
func answered() map[string]string {
	return map[string]string{
		"args_get": "ii", "args_sizes_get": "ii",
		"environ_get": "ii", "environ_sizes_get": "ii",
		"clock_res_get": "ii", "clock_time_get": "iIi",
		"fd_close": "i", "fd_fdstat_get": "ii", "fd_fdstat_set_flags": "ii", "fd_filestat_get": "ii",
		"fd_prestat_get": "ii", "fd_prestat_dir_name": "iii",
		"fd_read": "iiii", "fd_seek": "iIii", "fd_write": "iiii",
		"poll_oneoff": "iiii", "proc_exit": "i", "random_get": "ii", "sched_yield": "",
	}
}

// refused are the WASI functions that link, since runtimes import them unasked, and always fail:
// there is no file that they could be about.
func refused() map[string]string {
	return map[string]string{
		"fd_advise": "iIIi", "fd_allocate": "iII", "fd_datasync": "i", "fd_fdstat_set_rights": "iII",
		"fd_filestat_set_size": "iI", "fd_filestat_set_times": "iIIi", "fd_pread": "iiiIi",
		"fd_pwrite": "iiiIi", "fd_readdir": "iiiIi", "fd_renumber": "ii", "fd_sync": "i", "fd_tell": "ii",
		"path_create_directory": "iii", "path_filestat_get": "iiiii", "path_filestat_set_times": "iiiiIIi",
		"path_link": "iiiiiii", "path_open": "iiiiiIIii", "path_readlink": "iiiiii",
		"path_remove_directory": "iii", "path_rename": "iiiiii", "path_symlink": "iiiii", "path_unlink_file": "iii",
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
		return fmt.Errorf("it imports %s: this version answers no host calls", name)
	default:
		return fmt.Errorf("it imports %s: functions come from %s only", name, wasiModule)
	}
	params, ok := answered()[i.Name]
	if !ok {
		params, ok = refused()[i.Name]
	}
	switch {
	case strings.HasPrefix(i.Name, "sock_"):
		return fmt.Errorf("it imports %s: a plugin has no sockets", name)
	case !ok:
		return fmt.Errorf("it imports %s, which is not among the functions that a plugin may use", name)
	}
	want := signature(params)
	if i.Name == "proc_exit" {
		want.Results = nil
	}
	if got := m.Types[i.Type]; !slices.Equal(got.Params, want.Params) || !slices.Equal(got.Results, want.Results) {
		return fmt.Errorf("it imports %s with another signature than WASI's", name)
	}
	return nil
}

func signature(params string) module.FuncType {
	t := module.FuncType{Results: []module.ValueType{module.I32}}
	for _, p := range params {
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
	wasi_snapshot_preview1.NewFunctionExporter().ExportFunctions(builder)
	denied := refused()
	for _, name := range slices.Sorted(maps.Keys(denied)) {
		var params []api.ValueType
		for _, p := range signature(denied[name]).Params {
			params = append(params, api.ValueType(p))
		}
		refuse := api.GoModuleFunc(func(_ context.Context, _ api.Module, stack []uint64) { stack[0] = errnoNotCapable })
		builder.NewFunctionBuilder().WithGoModuleFunction(refuse, params, []api.ValueType{api.ValueTypeI32}).Export(name)
	}
	if _, err := builder.Instantiate(ctx); err != nil {
		return fmt.Errorf("linking WASI: %w", err)
	}
	return nil
}
