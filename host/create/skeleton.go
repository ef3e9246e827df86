package create

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/compose"
	"github.com/zarf-host/zarf-host/host/event"
)

// Skeleton gathers what others need to import the package's components: everything that lies in its
// author's folders, and nothing of what lies elsewhere. Paths in the definition lead to it. Resolve must
// have been told that it is a skeleton.
func (r *Resolved) Skeleton(ctx context.Context) ([]bundle.Content, error) {
	if len(r.values) > 0 || len(r.schemas) > 0 {
		at := r.sources.place(compose.Place{Source: definitionIn(r.options.Dir), Path: []any{"values"}})
		return nil, &PlacedError{At: at, Err: errors.New("a skeleton cannot bring values: whoever imports it would not get them")}
	}
	var out []bundle.Content
	for i, c := range r.Components {
		if len(c.ImageArchives) > 0 {
			return nil, &PlacedError{At: r.At(i, "imageArchives"), Err: errors.New("a skeleton cannot bring image archives, since it brings no images")}
		}
		r.say(event.Info, c.Name, "gathering component %q", c.Name)
		s := &skeletonPacking{packing{Resolved: r, index: i, component: c, folder: r.options.Work}}
		if err := s.all(ctx); err != nil {
			return nil, fmt.Errorf("gathering component %q: %w", c.Name, err)
		}
		r.Components[i] = s.component
		if len(s.files) == 0 {
			continue
		}
		content, err := r.packed(bundle.ComponentPath(c.Name), func(out io.Writer) error {
			return bundle.WriteComponent(ctx, out, c.Name, s.files)
		})
		if err != nil {
			return nil, err
		}
		out = append(out, content)
	}
	return out, nil
}

// skeletonPacking gathers what a component has on disk, and leads its paths there.
type skeletonPacking struct{ packing }

func (s *skeletonPacking) all(ctx context.Context) error {
	// Names may have templates in them, which whoever imports it fills: paths are made of numbers. The
	// lists are the component's own: Resolve copied them.
	for i := range s.component.Charts {
		c := &s.component.Charts[i]
		if err := s.move(ctx, &c.LocalPath, fmt.Sprintf("charts/%d", i), "charts", i, "localPath"); err != nil {
			return err
		}
		for k := range c.ValuesFiles {
			if err := s.move(ctx, &c.ValuesFiles[k], fmt.Sprintf("values/%d-%d", i, k), "charts", i, "valuesFiles", k); err != nil {
				return err
			}
		}
		for k := range c.TemplatedValuesFiles {
			if err := s.move(ctx, &c.TemplatedValuesFiles[k], fmt.Sprintf("values/%d-%d", i, len(c.ValuesFiles)+k), "charts", i, "templatedValuesFiles", k); err != nil {
				return err
			}
		}
	}
	for i := range s.component.Manifests {
		m := &s.component.Manifests[i]
		for k := range m.Files {
			if err := s.move(ctx, &m.Files[k], fmt.Sprintf("manifests/%d-%d.yaml", i, k), "manifests", i, "files", k); err != nil {
				return err
			}
		}
		// Rendered here, a kustomization is a file like the others to whoever imports it.
		for k, at := range m.Kustomizations {
			if err := s.kustomization(ctx, *m, k, at); err != nil {
				return s.fault(err, "manifests", i, "kustomizations", k)
			}
			last := &s.files[len(s.files)-1]
			last.Path = fmt.Sprintf("manifests/%d-kustomization-%d.yaml", i, k)
			m.Files = append(m.Files, last.Path)
		}
		m.Kustomizations = nil
	}
	for i := range s.component.Files {
		f := &s.component.Files[i]
		if err := s.move(ctx, &f.Source, fmt.Sprintf("files/%d", i), "files", i, "source"); err != nil {
			return err
		}
	}
	for i := range s.component.DataInjections {
		d := &s.component.DataInjections[i]
		if err := s.move(ctx, &d.Source, fmt.Sprintf("data/%d", i), "dataInjections", i, "source"); err != nil {
			return err
		}
	}
	return nil
}

// move adds what a path leads to, unless it is an address, and leads the path to it.
func (s *skeletonPacking) move(ctx context.Context, at *string, target string, steps ...any) error {
	if *at == "" || compose.IsURL(*at) {
		return nil
	}
	if err := s.any(ctx, *at, target, 0o644); err != nil {
		return s.fault(err, steps...)
	}
	*at = target
	return nil
}
