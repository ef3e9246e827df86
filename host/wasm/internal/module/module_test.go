package module_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/zarf-host/zarf-host/host/wasm/internal/module"
)

func section(id module.SectionID, body ...byte) []byte {
	return append(module.AppendU32([]byte{byte(id)}, uint32(len(body))), body...)
}

func join(parts ...[]byte) []byte {
	return append(module.Magic(), bytes.Join(parts, nil)...)
}

func TestParse(t *testing.T) {
	data := join(
		section(module.SectionType, 2, 0x60, 0, 0, 0x60, 2, 0x7f, 0x7e, 1, 0x7f),
		section(module.SectionImport, 1, 1, 'm', 1, 'f', 0, 1),
		section(module.SectionFunction, 1, 0),
		section(module.SectionTable, 1, 0x70, 1, 2, 9),
		section(module.SectionMemory, 1, 0, 3),
		section(module.SectionGlobal, 1, 0x7f, 1, 0x41, 0x7f, 0x0b),
		section(module.SectionExport, 1, 6, '_', 's', 't', 'a', 'r', 't', 0, 1),
		section(module.SectionStart, 1),
		section(module.SectionCode, 1, 2, 0, 0x0b),
		section(module.SectionCustom, 1, 'n', 7, 8),
	)
	m, err := module.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if e, ok := m.Export("_start"); !ok || e.Index != 1 {
		t.Errorf("export is %+v, %v", e, ok)
	}
	if ft, ok := m.FuncType(0); !ok || len(ft.Params) != 2 || len(ft.Results) != 1 {
		t.Errorf("imported function's type is %+v", ft)
	}
	if ft, ok := m.FuncType(1); !ok || len(ft.Params) != 0 {
		t.Errorf("own function's type is %+v", ft)
	}
	if _, ok := m.FuncType(2); ok {
		t.Error("there is no third function")
	}
	if m.Tables[0].Limits != (module.Limits{Min: 2, Max: 9, HasMax: true}) || m.Memories[0].Min != 3 || !m.Globals[0].Mutable || *m.Start != 1 {
		t.Errorf("read as %+v", m)
	}
	last := m.Sections[len(m.Sections)-1]
	if last.Name != "n" || !bytes.Equal(last.Body, []byte{7, 8}) || !bytes.Equal(data[last.Offset:], last.Body) {
		t.Errorf("custom section is %+v", last)
	}
}

func TestParseRefuses(t *testing.T) {
	types := section(module.SectionType, 1, 0x60, 0, 0)
	tests := map[string]struct {
		data []byte
		want string
	}{
		"nothing":             {nil, "not a WebAssembly module"},
		"text":                {[]byte("(module)"), "not a WebAssembly module"},
		"component":           {[]byte{0, 'a', 's', 'm', 0x0d, 0, 1, 0}, "component"},
		"version 2":           {[]byte{0, 'a', 's', 'm', 2, 0, 0, 0}, "version 2"},
		"section cut off":     {join([]byte{1, 9, 0}), "unexpected end"},
		"size too long":       {join([]byte{1, 0xff, 0xff, 0xff, 0xff, 0x7f}), "more than 32 bits"},
		"unknown section":     {join(section(13)), "unknown section 13"},
		"twice":               {join(types, types), "out of order"},
		"out of order":        {join(section(module.SectionFunction, 0), types), "out of order"},
		"left over":           {join(section(module.SectionType, 0, 0)), "left over"},
		"count beyond end":    {join(section(module.SectionType, 9)), "unexpected end"},
		"huge count":          {join(section(module.SectionType, 0xff, 0xff, 0xff, 0xff, 0x0f)), "at most"},
		"not a function":      {join(section(module.SectionType, 1, 0x5f, 0, 0)), "not a function"},
		"type out of range":   {join(types, section(module.SectionFunction, 1, 1)), "type 1 of 1"},
		"no body":             {join(types, section(module.SectionFunction, 1, 0)), "1 functions are declared and 0"},
		"64-bit memory":       {join(section(module.SectionMemory, 1, 4, 1)), "64-bit"},
		"shared memory":       {join(section(module.SectionMemory, 1, 3, 1, 1)), "shared"},
		"tag import":          {join(section(module.SectionImport, 1, 0, 0, 4, 0, 0)), "unknown kind"},
		"export twice":        {join(section(module.SectionExport, 2, 1, 'a', 0, 0, 1, 'a', 0, 0)), "twice"},
		"custom without name": {join(section(module.SectionCustom)), "unexpected end"},
		"custom bad name":     {join(section(module.SectionCustom, 1, 0xff)), "UTF-8"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := module.Parse(tt.data); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, wanted %q", err, tt.want)
			}
		})
	}
}

func TestAppendCustom(t *testing.T) {
	before := join(section(module.SectionType, 0))
	after := module.AppendCustom(before, "x", []byte("body"))
	if !bytes.HasPrefix(after, before) {
		t.Error("what was there changed")
	}
	s, err := module.Sections(after)
	if err != nil || len(s) != 2 || s[1].Name != "x" || string(s[1].Body) != "body" {
		t.Errorf("sections are %+v, %v", s, err)
	}
}

func TestNumbers(t *testing.T) {
	for _, n := range []int64{0, 1, -1, 63, 64, -64, -65, math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64} {
		enc := module.AppendS64(nil, n)
		data := join(section(module.SectionGlobal, append([]byte{1, 0x7e, 0, 0x42}, append(enc, 0x0b)...)...))
		if _, err := module.Parse(data); err != nil {
			t.Errorf("%d as % x: %v", n, enc, err)
		}
	}
	long := []byte{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02, 0x0b}
	if _, err := module.Parse(join(section(module.SectionGlobal, append([]byte{1, 0x7e, 0, 0x42}, long...)...))); err == nil {
		t.Error("a number of 65 bits was accepted")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(join(section(module.SectionType, 1, 0x60, 0, 0), section(module.SectionFunction, 1, 0), section(module.SectionCode, 1, 2, 0, 0x0b)))
	f.Add(module.AppendCustom(module.Magic(), "zarf-host.plugin.v1", []byte("{}")))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := module.Parse(data)
		if err != nil {
			return
		}
		for _, s := range m.Sections {
			if !bytes.Equal(data[s.Offset:s.Offset+len(s.Body)], s.Body) {
				t.Fatalf("section %d is not where it says", s.ID)
			}
		}
	})
}
