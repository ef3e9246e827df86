package module

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
)

// SectionID says what a section holds.
type SectionID byte

// The sections of a module.
const (
	SectionCustom SectionID = iota
	SectionType
	SectionImport
	SectionFunction
	SectionTable
	SectionMemory
	SectionGlobal
	SectionExport
	SectionStart
	SectionElement
	SectionCode
	SectionData
	SectionDataCount
)

// Section is one section as it stands in the file.
type Section struct {
	ID     SectionID
	Name   string // of a custom section
	Body   []byte // what follows the size, and the name of a custom section
	Offset int    // of Body in the file
}

// Kind says what an import or export is.
type Kind byte

// The kinds of imports and exports.
const (
	KindFunc Kind = iota
	KindTable
	KindMemory
	KindGlobal
)

// String returns the word for k.
func (k Kind) String() string {
	switch k {
	case KindFunc:
		return "function"
	case KindTable:
		return "table"
	case KindMemory:
		return "memory"
	case KindGlobal:
		return "global"
	default:
		return fmt.Sprintf("kind %d", byte(k))
	}
}

// ValueType is the type of a value, as its byte in the format.
type ValueType byte

// The value types.
const (
	I32       ValueType = 0x7f
	I64       ValueType = 0x7e
	F32       ValueType = 0x7d
	F64       ValueType = 0x7c
	V128      ValueType = 0x7b
	FuncRef   ValueType = 0x70
	ExternRef ValueType = 0x6f
)

// FuncType is the signature of a function.
type FuncType struct {
	Params, Results []ValueType
}

// Limits are the bounds of a memory or table, in pages or elements.
type Limits struct {
	Min, Max uint32
	HasMax   bool
}

// Table is a table's element type and bounds.
type Table struct {
	Elem   ValueType
	Limits Limits
}

// Global is a global's type.
type Global struct {
	Type    ValueType
	Mutable bool
}

// Import is something that a module wants from its host. Only the field of its kind is set.
type Import struct {
	Module, Name string
	Kind         Kind
	Type         uint32 // index of a function's type
	Table        Table
	Memory       Limits
	Global       Global
}

// Export is something that a module offers.
type Export struct {
	Name  string
	Kind  Kind
	Index uint32
}

// Module is what was read of a module. Bodies of functions are bytes here; package module reads
// them only where asked to.
type Module struct {
	Sections  []Section
	Types     []FuncType
	Imports   []Import
	Functions []uint32 // type index of each function that the module defines
	Tables    []Table  // defined, without the imported ones
	Memories  []Limits
	Globals   []Global
	Exports   []Export
	Start     *uint32
	Elements  []byte // the raw element section
	Codes     [][]byte
	DataCount *uint32

	codeOffsets []int    // of each code body in the file
	globalInits [][]byte // the constant of each global, with its end
}

// How long the lists of a module may be; large programs of the usual compilers stay far below.
const (
	maxTypes     = 100_000
	maxParams    = 1_000
	maxImports   = 1_000
	maxFunctions = 500_000
	maxTables    = 1_000
	maxMemories  = 10
	maxGlobals   = 100_000
	maxExports   = 10_000
)

// Magic is what every module begins with.
func Magic() []byte { return []byte{0, 'a', 's', 'm', 1, 0, 0, 0} }

// Sections splits a module into its sections without looking into them.
func Sections(data []byte) ([]Section, error) {
	magic := Magic()
	switch {
	case len(data) < len(magic) || !bytes.Equal(data[:4], magic[:4]):
		return nil, errors.New("not a WebAssembly module: it does not begin with \\0asm")
	case !bytes.Equal(data[:8], magic):
		if data[6] == 1 {
			return nil, errors.New("a WebAssembly component, wanted is a core module (wasm32-wasip1)")
		}
		return nil, fmt.Errorf("WebAssembly version %d, wanted is 1", data[4])
	}
	var out []Section
	r := &reader{data: data, pos: len(magic)}
	for r.left() > 0 {
		start := r.at()
		s, err := r.section()
		if err != nil {
			return nil, fmt.Errorf("reading the section at byte %d: %w", start, err)
		}
		out = append(out, s)
	}
	return out, nil
}

func (r *reader) section() (Section, error) {
	id, err := r.byte()
	if err != nil {
		return Section{}, err
	}
	size, err := r.u32()
	if err != nil {
		return Section{}, err
	}
	s := Section{ID: SectionID(id), Offset: r.at()}
	if s.Body, err = r.bytes(size); err != nil {
		return Section{}, err
	}
	switch {
	case s.ID > SectionDataCount:
		return Section{}, fmt.Errorf("unknown section %d", id)
	case s.ID == SectionCustom:
		in := &reader{data: s.Body, base: s.Offset}
		if s.Name, err = in.name(); err != nil {
			return Section{}, err
		}
		s.Body, s.Offset = s.Body[in.pos:], in.at()
	}
	return s, nil
}

// Parse reads a module. It checks the shape of every section that it reads, not the types in
// function bodies; that is the engine's part.
func Parse(data []byte) (*Module, error) {
	sections, err := Sections(data)
	if err != nil {
		return nil, err
	}
	m := &Module{Sections: sections}
	last := 0
	for _, s := range sections {
		if s.ID == SectionCustom {
			continue
		}
		// The order is that of the numbers, but for the data count, which stands before the code.
		place := int(s.ID) * 2
		if s.ID == SectionDataCount {
			place = int(SectionCode)*2 - 1
		}
		if place <= last {
			return nil, fmt.Errorf("section %d at byte %d is out of order or there twice", s.ID, s.Offset)
		}
		last = place
		r := &reader{data: s.Body, base: s.Offset}
		err := m.parseSection(s.ID, r)
		if err == nil && r.left() > 0 {
			err = errors.New("bytes left over")
		}
		if err != nil {
			return nil, fmt.Errorf("reading section %d at byte %d: %w", s.ID, r.at(), err)
		}
	}
	if len(m.Functions) != len(m.Codes) {
		return nil, fmt.Errorf("%d functions are declared and %d have a body", len(m.Functions), len(m.Codes))
	}
	return m, nil
}

func (m *Module) parseSection(id SectionID, r *reader) error {
	switch id {
	case SectionType:
		return r.vector(maxTypes, func(int) error { return m.parseType(r) })
	case SectionImport:
		return r.vector(maxImports, func(int) error { return m.parseImport(r) })
	case SectionFunction:
		return r.vector(maxFunctions, func(int) error {
			t, err := m.typeIndex(r)
			m.Functions = append(m.Functions, t)
			return err
		})
	case SectionTable:
		return r.vector(maxTables, func(int) error {
			t, err := r.table()
			m.Tables = append(m.Tables, t)
			return err
		})
	case SectionMemory:
		return r.vector(maxMemories, func(int) error {
			l, err := r.limits()
			m.Memories = append(m.Memories, l)
			return err
		})
	case SectionGlobal:
		return r.vector(maxGlobals, func(int) error { return m.parseGlobal(r) })
	case SectionExport:
		return r.vector(maxExports, func(int) error { return m.parseExport(r) })
	case SectionStart:
		f, err := r.u32()
		m.Start = &f
		return err
	case SectionElement:
		m.Elements = r.data
		r.pos = len(r.data)
		return nil
	case SectionCode:
		return r.vector(maxFunctions, func(int) error {
			n, err := r.u32()
			if err != nil {
				return err
			}
			m.codeOffsets = append(m.codeOffsets, r.at())
			body, err := r.bytes(n)
			m.Codes = append(m.Codes, body)
			return err
		})
	case SectionDataCount:
		n, err := r.u32()
		m.DataCount = &n
		return err
	default: // data is the engine's to read
		r.pos = len(r.data)
		return nil
	}
}

func (m *Module) parseType(r *reader) error {
	form, err := r.byte()
	if err != nil {
		return err
	}
	if form != 0x60 {
		return fmt.Errorf("type form %#x is not a function", form)
	}
	var t FuncType
	for _, list := range []*[]ValueType{&t.Params, &t.Results} {
		if err := r.vector(maxParams, func(int) error {
			v, err := r.valueType()
			*list = append(*list, v)
			return err
		}); err != nil {
			return err
		}
	}
	m.Types = append(m.Types, t)
	return nil
}

func (m *Module) parseImport(r *reader) error {
	var i Import
	var err error
	if i.Module, err = r.name(); err != nil {
		return err
	}
	if i.Name, err = r.name(); err != nil {
		return err
	}
	kind, err := r.byte()
	if err != nil {
		return err
	}
	i.Kind = Kind(kind)
	switch i.Kind {
	case KindFunc:
		i.Type, err = m.typeIndex(r)
	case KindTable:
		i.Table, err = r.table()
	case KindMemory:
		i.Memory, err = r.limits()
	case KindGlobal:
		i.Global, err = r.global()
	default:
		err = fmt.Errorf("import %q of unknown kind %d", i.Name, kind)
	}
	m.Imports = append(m.Imports, i)
	return err
}

func (m *Module) typeIndex(r *reader) (uint32, error) {
	t, err := r.u32()
	if err == nil && int64(t) >= int64(len(m.Types)) {
		err = fmt.Errorf("type %d of %d", t, len(m.Types))
	}
	return t, err
}

func (m *Module) parseGlobal(r *reader) error {
	g, err := r.global()
	if err != nil {
		return err
	}
	m.Globals = append(m.Globals, g)
	start := r.pos
	err = r.constExpr()
	m.globalInits = append(m.globalInits, r.data[start:r.pos])
	return err
}

func (m *Module) parseExport(r *reader) error {
	var e Export
	var err error
	if e.Name, err = r.name(); err != nil {
		return err
	}
	kind, err := r.byte()
	if err != nil {
		return err
	}
	if e.Kind = Kind(kind); e.Kind > KindGlobal {
		return fmt.Errorf("export %q of unknown kind %d", e.Name, kind)
	}
	if _, twice := m.Export(e.Name); twice {
		return fmt.Errorf("export %q twice", e.Name)
	}
	if e.Index, err = r.u32(); err != nil {
		return err
	}
	m.Exports = append(m.Exports, e)
	return nil
}

// Export returns the export of that name.
func (m *Module) Export(name string) (Export, bool) {
	i := slices.IndexFunc(m.Exports, func(e Export) bool { return e.Name == name })
	if i < 0 {
		return Export{}, false
	}
	return m.Exports[i], true
}

// ImportedCount returns how many things of a kind the module imports.
func (m *Module) ImportedCount(kind Kind) int {
	n := 0
	for _, i := range m.Imports {
		if i.Kind == kind {
			n++
		}
	}
	return n
}

// FuncType returns the signature of a function, imported ones counted first.
func (m *Module) FuncType(index uint32) (FuncType, bool) {
	i := int64(index)
	for _, imp := range m.Imports {
		if imp.Kind != KindFunc {
			continue
		}
		if i == 0 {
			return m.Types[imp.Type], true
		}
		i--
	}
	if i >= int64(len(m.Functions)) {
		return FuncType{}, false
	}
	return m.Types[m.Functions[i]], true
}

// AppendCustom returns the module with a custom section at its end.
func AppendCustom(data []byte, name string, body []byte) []byte {
	section := append(AppendName(nil, name), body...)
	out := append(slices.Clone(data), byte(SectionCustom))
	return append(AppendU32(out, uint32(len(section))), section...)
}
