package wasm

import (
	"errors"
	"fmt"

	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/wasm/internal/module"
)

const pageSize = 64 << 10

// check says why a module is not loaded, from what stands in it alone.
func check(m *module.Module, meta hook.Metadata, limits Limits) error {
	for _, i := range m.Imports {
		if err := checkImport(m, i); err != nil {
			return err
		}
	}
	if err := checkCapabilities(m, meta); err != nil {
		return err
	}
	if err := checkEntry(m); err != nil {
		return err
	}
	return checkSizes(m, limits)
}

func checkEntry(m *module.Module) error {
	start, ok := m.Export("_start")
	if !ok {
		if _, reactor := m.Export("_initialize"); reactor {
			return errors.New("it is a reactor (it exports _initialize and no _start): build it as a command, with a main function")
		}
		return errors.New("it exports no _start: build it as a command, with a main function")
	}
	if t, known := m.FuncType(start.Index); start.Kind != module.KindFunc || !known || len(t.Params)+len(t.Results) > 0 {
		return errors.New("its _start is not a function without parameters and results")
	}
	memory, ok := m.Export("memory")
	if !ok || memory.Kind != module.KindMemory {
		return errors.New("it exports no memory named \"memory\", through which it would be given its request")
	}
	return nil
}

// checkCapabilities holds what a module says that it wants against what it can do.
func checkCapabilities(m *module.Module, meta hook.Metadata) error {
	imports := false
	for _, i := range m.Imports {
		imports = imports || i.Module == hostModule
	}
	declared := hook.Capability("")
	for _, c := range meta.Capabilities {
		if c != hook.ConfigRead { // that one widens the request; it is no host call
			declared = c
		}
	}
	switch {
	case imports && declared == "":
		return fmt.Errorf("it imports %s, but its metadata declares no capability for it", hostModule)
	case !imports && declared != "":
		return fmt.Errorf("its metadata declares %s, but it does not import %s", declared, hostModule)
	}
	return nil
}

func checkSizes(m *module.Module, limits Limits) error {
	if len(m.Memories) != 1 {
		return fmt.Errorf("it has %d memories, wanted is one", len(m.Memories))
	}
	if min := uint64(m.Memories[0].Min) * pageSize; min > limits.Memory {
		return fmt.Errorf("it wants %s of memory to begin with, at most %s are allowed", size(min), size(limits.Memory))
	}
	if len(m.Tables) > limits.Tables {
		return fmt.Errorf("it has %d tables, at most %d are allowed", len(m.Tables), limits.Tables)
	}
	for i, t := range m.Tables {
		if t.Limits.Min > limits.Elements {
			return fmt.Errorf("its table %d wants %d elements, at most %d are allowed", i, t.Limits.Min, limits.Elements)
		}
	}
	for i, body := range m.Codes {
		if len(body) > limits.Body {
			return fmt.Errorf("its function %d has %s of code, at most %s are allowed",
				i+m.ImportedCount(module.KindFunc), size(len(body)), size(limits.Body))
		}
	}
	return nil
}
