package wasm

import (
	"encoding/json"
	"errors"
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/wasm/internal/module"
)

// MetadataSection is the name of the custom section that holds a plugin's metadata as JSON.
const MetadataSection = "zarf-host.plugin.v1"

type noMetadataError struct{}

func (*noMetadataError) Error() string {
	return fmt.Sprintf("the module has no section %q that says what it is", MetadataSection)
}

// ReadMetadata reads a plugin's metadata out of its module without running it.
func ReadMetadata(wasm []byte) (hook.Metadata, error) {
	sections, err := module.Sections(wasm)
	if err != nil {
		return hook.Metadata{}, err
	}
	return readMetadata(sections)
}

func readMetadata(sections []module.Section) (hook.Metadata, error) {
	var found *module.Section
	for i, s := range sections {
		if s.ID != module.SectionCustom || s.Name != MetadataSection {
			continue
		}
		if found != nil {
			return hook.Metadata{}, fmt.Errorf("the module has two sections %q", MetadataSection)
		}
		found = &sections[i]
	}
	if found == nil {
		return hook.Metadata{}, &noMetadataError{}
	}
	return hook.ParseMetadata(found.Body)
}

// ParseManifest reads a plugin.yaml: the metadata as YAML.
func ParseManifest(data []byte) (hook.Metadata, error) {
	doc, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		return hook.Metadata{}, fmt.Errorf("reading plugin metadata: %w", err)
	}
	return hook.ParseMetadata(doc)
}

// Annotate returns the module with the metadata appended as a section; nothing else of it changes. A
// module that has the section already is refused: two would contradict each other.
func Annotate(wasm []byte, m hook.Metadata) ([]byte, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	if err := checkSchema(m.ConfigSchema); err != nil {
		return nil, err
	}
	switch _, err := ReadMetadata(wasm); {
	case err == nil:
		return nil, fmt.Errorf("the module is annotated already: build it again and annotate the fresh one")
	case !errors.As(err, new(*noMetadataError)):
		return nil, err
	}
	body, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("writing plugin metadata: %w", err)
	}
	if len(body) > hook.MaxMetadata {
		return nil, fmt.Errorf("metadata has %d bytes, at most %d are allowed", len(body), hook.MaxMetadata)
	}
	return module.AppendCustom(wasm, MetadataSection, body), nil
}
