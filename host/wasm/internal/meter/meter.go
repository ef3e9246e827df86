package meter

import (
	"fmt"
	"strings"

	"github.com/zarf-host/zarf-host/host/wasm/internal/module"
)

// Version names the rules by which fuel is counted; budgets and recordings depend on it.
const Version = "fuel/v1"

// What the rewritten module imports and exports beyond the original.
const (
	// TickModule and TickName are the function that a module calls with its counter (i64) and that
	// returns the new one, or does not return.
	TickModule = "zarf_meter"
	TickName   = "tick"
	// FuelExport is the counter, a mutable i64.
	FuelExport = "zarf_fuel"
)

// Limits are the bounds that the rewriter sets or refuses to pass.
type Limits struct {
	// Elements is the most that a table may hold.
	Elements uint32
	// Body is the most bytes of one function.
	Body int
	// Branches is the most weight of one function's blocks and branches, of which loops and large
	// tables of branches weigh more than one: engines take more than linear time for them.
	Branches int
	// Work is the most of that weight times the function's locals.
	Work int
}

// Rewrite returns the module with meters. Every index is checked against the original's counts, so
// that no instruction of the original reaches what is added. What remains unchecked here, the types
// of operands, the engine checks in the result: what is added changes none.
func Rewrite(m *module.Module, limits Limits) ([]byte, error) {
	if err := checkNames(m); err != nil {
		return nil, err
	}
	w := &writer{m: m, limits: limits,
		imported: uint32(m.ImportedCount(module.KindFunc)),
		globals:  uint32(m.ImportedCount(module.KindGlobal) + len(m.Globals)),
	}
	w.funcs = w.imported + uint32(len(m.Functions))
	for i := range m.Codes {
		if err := w.body(i); err != nil {
			return nil, fmt.Errorf("function %d: %w", w.imported+uint32(i), err)
		}
	}
	return w.module()
}

// checkNames refuses a module that would meet its own meter.
func checkNames(m *module.Module) error {
	for _, i := range m.Imports {
		if i.Module == TickModule {
			return fmt.Errorf("it imports %s.%s, which is the meter's", i.Module, i.Name)
		}
	}
	for _, e := range m.Exports {
		if strings.HasPrefix(e.Name, FuelExport) {
			return fmt.Errorf("it exports %q, which is the meter's", e.Name)
		}
	}
	return nil
}

// writer holds what the parts of one rewriting share. All counts are the original's.
type writer struct {
	m        *module.Module
	limits   Limits
	imported uint32 // functions
	funcs    uint32
	globals  uint32
	codes    []byte
}

// mapFunc maps a function's index: tick becomes the last imported function, so that those defined move
// up by one.
func (w *writer) mapFunc(f uint32) (uint32, error) {
	switch {
	case f >= w.funcs:
		return 0, fmt.Errorf("function %d of %d", f, w.funcs)
	case f >= w.imported:
		return f + 1, nil
	default:
		return f, nil
	}
}

func (w *writer) checkGlobal(g uint32) error {
	if g >= w.globals {
		return fmt.Errorf("global %d of %d", g, w.globals)
	}
	return nil
}

// module puts the sections together.
func (w *writer) module() ([]byte, error) {
	m := w.m
	mapping := module.Mapping{Func: w.mapFunc, Global: w.checkGlobal}
	bodies := map[module.SectionID][]byte{
		module.SectionType:   w.types(),
		module.SectionImport: w.imports(),
		module.SectionTable:  w.tables(),
	}
	var err error
	if bodies[module.SectionGlobal], err = m.MapGlobals(mapping, counter()); err != nil {
		return nil, fmt.Errorf("globals: %w", err)
	}
	if bodies[module.SectionExport], err = w.exports(); err != nil {
		return nil, fmt.Errorf("exports: %w", err)
	}
	if m.Start != nil {
		start, err := w.mapFunc(*m.Start)
		if err != nil {
			return nil, fmt.Errorf("start: %w", err)
		}
		bodies[module.SectionStart] = module.AppendU32(nil, start)
	}
	if len(m.Elements) > 0 {
		if bodies[module.SectionElement], err = m.MapElements(mapping); err != nil {
			return nil, fmt.Errorf("elements: %w", err)
		}
	}
	if len(m.Codes) > 0 {
		bodies[module.SectionCode] = append(module.AppendU32(nil, uint32(len(m.Codes))), w.codes...)
	}
	for _, s := range m.Sections {
		switch s.ID {
		case module.SectionFunction, module.SectionMemory, module.SectionData, module.SectionDataCount:
			bodies[s.ID] = s.Body // nothing in them moves
		}
	}
	out := module.Magic()
	for _, id := range []module.SectionID{module.SectionType, module.SectionImport, module.SectionFunction, module.SectionTable,
		module.SectionMemory, module.SectionGlobal, module.SectionExport, module.SectionStart, module.SectionElement,
		module.SectionDataCount, module.SectionCode, module.SectionData} {
		if body := bodies[id]; len(body) > 0 {
			out = append(module.AppendU32(append(out, byte(id)), uint32(len(body))), body...)
		}
	}
	return out, nil
}

// types are the original's and that of tick.
func (w *writer) types() []byte {
	out := module.AppendU32(nil, uint32(len(w.m.Types))+1)
	for _, t := range w.m.Types {
		out = appendType(out, t)
	}
	return appendType(out, module.FuncType{Params: []module.ValueType{module.I64}, Results: []module.ValueType{module.I64}})
}

func appendType(out []byte, t module.FuncType) []byte {
	out = append(out, 0x60)
	for _, list := range [][]module.ValueType{t.Params, t.Results} {
		out = module.AppendU32(out, uint32(len(list)))
		for _, v := range list {
			out = append(out, byte(v))
		}
	}
	return out
}

func (w *writer) imports() []byte {
	out := module.AppendU32(nil, uint32(len(w.m.Imports))+1)
	for _, i := range w.m.Imports {
		out = append(module.AppendName(module.AppendName(out, i.Module), i.Name), byte(i.Kind))
		switch i.Kind {
		case module.KindFunc:
			out = module.AppendU32(out, i.Type)
		case module.KindTable:
			out = w.appendTable(out, i.Table)
		case module.KindMemory:
			out = appendLimits(out, i.Memory)
		case module.KindGlobal:
			out = append(out, byte(i.Global.Type), bit(i.Global.Mutable))
		}
	}
	out = append(module.AppendName(module.AppendName(out, TickModule), TickName), byte(module.KindFunc))
	return module.AppendU32(out, uint32(len(w.m.Types)))
}

func (w *writer) tables() []byte {
	if len(w.m.Tables) == 0 {
		return nil
	}
	out := module.AppendU32(nil, uint32(len(w.m.Tables)))
	for _, t := range w.m.Tables {
		// Tables live in the host's own memory, and no engine bounds them.
		if !t.Limits.HasMax || t.Limits.Max > w.limits.Elements {
			t.Limits.HasMax, t.Limits.Max = true, max(w.limits.Elements, t.Limits.Min)
		}
		out = w.appendTable(out, t)
	}
	return out
}

func (w *writer) appendTable(out []byte, t module.Table) []byte {
	return appendLimits(append(out, byte(t.Elem)), t.Limits)
}

func appendLimits(out []byte, l module.Limits) []byte {
	out = module.AppendU32(append(out, bit(l.HasMax)), l.Min)
	if l.HasMax {
		out = module.AppendU32(out, l.Max)
	}
	return out
}

func (w *writer) exports() ([]byte, error) {
	m := w.m
	out := module.AppendU32(nil, uint32(len(m.Exports))+1)
	for _, e := range m.Exports {
		index := e.Index
		var err error
		switch e.Kind {
		case module.KindFunc:
			index, err = w.mapFunc(e.Index)
		case module.KindGlobal:
			err = w.checkGlobal(e.Index)
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", e.Name, err)
		}
		out = module.AppendU32(append(module.AppendName(out, e.Name), byte(e.Kind)), index)
	}
	out = append(module.AppendName(out, FuelExport), byte(module.KindGlobal))
	return module.AppendU32(out, w.globals), nil
}

// counter is the global that holds the fuel: a mutable i64 of 0, so that the first function entered
// asks for some.
func counter() []byte {
	return []byte{byte(module.I64), 1, 0x42, 0, byte(module.OpEnd)}
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}
