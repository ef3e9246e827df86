package host

import (
	"context"
	"fmt"
	"slices"

	"github.com/zarf-host/zarf-host/host/differential"
	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/image"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/registry"
	"github.com/zarf-host/zarf-host/host/spec"
)

// leftOut are the images of a component that its package counts on the registry for: each with the
// digest that must be there, "" where that is not known.
type leftOut map[string]map[image.Reference]string

// complete makes the definition that of the full package, where a differential one says what that is:
// what is deployed, recorded and pruned by is the whole.
func (d *deployment) complete() {
	carried := d.pkg.Definition()
	d.definition = differential.Whole(carried)
	d.leftOut = leftOut{}
	for _, c := range carried.Components {
		if images := differential.LeftOut(carried, c.Name); len(images) > 0 {
			d.leftOut[c.Name] = images
		}
	}
}

// planned is the definition that the plan is made from, with nothing that it does not say.
func (d *deployment) planned() spec.Package {
	def := d.inFull()
	if def.Extension.IsWhole() {
		def.Build.Differential = false
	}
	return def
}

// inFull is the definition with the components that a differential package leaves out whole, as they
// are recorded: they are in the full one and stay, in its order, by which they are removed some day.
func (d *deployment) inFull() spec.Package {
	def := d.definition
	e := def.Extension
	if !e.IsWhole() {
		return def
	}
	byName := map[string]spec.Component{}
	if d.record.Exists {
		for _, name := range differential.Absent(d.definition) {
			if c, ok := d.record.Package.Definition(name); ok {
				byName[name] = c
			}
		}
	}
	if len(byName) == 0 {
		return def
	}
	for _, c := range def.Components {
		byName[c.Name] = c
	}
	def.Components = nil
	for _, full := range e.Components {
		if c, ok := byName[full.Name]; ok {
			def.Components = append(def.Components, c)
			delete(byName, full.Name)
		}
	}
	for _, c := range d.definition.Components { // those that the full list lacks, which ours never do
		if _, left := byName[c.Name]; left {
			def.Components = append(def.Components, c)
		}
	}
	return def
}

// differentialWarnings say what a differential package counts on and does not find.
func (d *deployment) differentialWarnings() []string {
	build := d.definition.Build
	if !build.Differential || d.conn == nil {
		return nil
	}
	var out, deployed []string
	for _, c := range d.record.Package.DeployedComponents {
		deployed = append(deployed, c.Name)
	}
	for _, name := range differential.Missing(d.definition, deployed) {
		out = append(out, fmt.Sprintf("the package leaves out component %q, which it requires and which is not deployed: deploy its base first, version %s",
			name, build.DifferentialPackageVersion))
	}
	has := d.record.Package.Data.Metadata.Version
	switch {
	case !d.record.Exists:
		out = append(out, fmt.Sprintf("the package is the difference to version %s, and no version of it is deployed", build.DifferentialPackageVersion))
	case has != build.DifferentialPackageVersion && has != d.definition.Metadata.Version:
		out = append(out, fmt.Sprintf("the package is the difference to version %s, and %s is deployed", build.DifferentialPackageVersion, orNoVersion(has)))
	}
	if d.ForceDifferential && d.services != nil {
		for _, l := range d.services.lacking {
			out = append(out, l+"; --force-differential goes on without")
		}
	}
	return out
}

func orNoVersion(version string) string {
	if version == "" {
		return "one without a version"
	}
	return "version " + version
}

// preflightDifferential refuses a package that counts on what the registry does not have.
func (d *deployment) preflightDifferential() error {
	if d.ForceDifferential || d.services == nil || len(d.services.lacking) == 0 {
		return nil
	}
	return &PreflightError{Problems: d.services.lacking, Causes: []error{&LackingError{
		Base: d.definition.Build.DifferentialPackageVersion, Lacking: d.services.lacking,
	}}}
}

// LackingError says that a registry does not have what a differential package leaves out.
type LackingError struct {
	Base    string // the version of the base
	Lacking []string
}

func (e *LackingError) Error() string {
	return fmt.Sprintf("the registry lacks %d images or blobs that the package leaves out", len(e.Lacking))
}

// Hint says what to do about it.
func (e *LackingError) Hint() string {
	base := "the base"
	if e.Base != "" {
		base = "the base, version " + e.Base
	}
	return "deploy or mirror " + base + ", or the full package; --force-differential goes on without"
}

// count finds out about images that the package counts on the registry for: those that the registry has are present,
// the others are noted as lacking and left out of the plan.
func (s *services) count(ctx context.Context, client *registry.Client, images []plan.Image, has map[string]string) ([]plan.Image, error) {
	var out []plan.Image
	for _, img := range images {
		found := has[img.Target]
		switch {
		case found == "":
			s.lack("image %q of component %q is neither in the package nor in the registry, as %s", img.Reference, img.Component, img.Target)
			continue
		case img.Digest != "" && img.Digest != found:
			s.lack("image %q of component %q is not in the package, and the registry has another one as %s: %s, not %s",
				img.Reference, img.Component, img.Target, found, img.Digest)
			continue
		}
		img.Digest = found
		var err error
		if img.Bytes, err = client.Size(ctx, img.Target); err != nil {
			return nil, err
		}
		out = append(out, img)
	}
	return out, nil
}

func (s *services) lack(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(s.lacking, text) {
		s.lacking = append(s.lacking, text)
	}
}

// carried splits the images of a component into those that the package has and those that it counts
// on the registry for.
func (s *services) carried(c spec.Component) (carried []image.Reference, counted []image.Reference, err error) {
	refs, err := image.OfComponents(c)
	for _, ref := range refs {
		if _, ok := s.leftOut[c.Name][ref]; ok {
			counted = append(counted, ref)
		} else {
			carried = append(carried, ref)
		}
	}
	return carried, counted, err
}

// still refuses to go on where an image that the plan counted on is gone from the registry since.
func (s *services) still(ctx context.Context, client *registry.Client, c spec.Component, counted []image.Reference) error {
	var ask []string
	for _, ref := range counted {
		ask = append(ask, image.Transform(s.state.RegistryInfo.Address, ref).Pods)
	}
	if len(ask) == 0 {
		return nil
	}
	has, err := client.Digests(ctx, ask...)
	if err != nil {
		return fmt.Errorf("asking registry %q for what the package leaves out: %w", s.state.RegistryInfo.Address, err)
	}
	for i, ref := range counted {
		found, want := has[ask[i]], s.leftOut[c.Name][ref]
		if found != "" && (want == "" || want == found) {
			continue
		}
		if s.force {
			s.common.say(event.Warn, "image", fmt.Sprintf("image %q is neither in the package nor in the registry", ref))
			continue
		}
		return &PreflightError{Problems: []string{fmt.Sprintf("image %q, which the package leaves out, is not in the registry any more, as %s", ref, ask[i])},
			Causes: []error{&LackingError{Lacking: []string{ref.String()}}}}
	}
	return nil
}

// lackingBlobs notes the blobs that images of the package need and that neither it nor the registry has.
func (s *services) lackingBlobs(ctx context.Context, client *registry.Client, content *registry.Content, images []image.Reference) error {
	if len(images) == 0 {
		return nil
	}
	lacking, err := client.Lacking(ctx, registry.PushOptions{Images: images, Content: content, Elsewhere: s.elsewhere})
	if err != nil {
		return fmt.Errorf("asking registry %q for what the package leaves out: %w", s.state.RegistryInfo.Address, err)
	}
	for _, l := range lacking {
		if s.halves == nil {
			s.halves = map[image.Reference]bool{}
		}
		s.halves[l.Image] = true
		s.lack("blob %s of image %q is neither in the package nor in the registry", l.Blob, l.Image)
	}
	return nil
}

// isHalf reports whether an image, by its full reference, lacks blobs.
func (s *services) isHalf(reference string) bool {
	for ref := range s.halves {
		if ref.String() == reference {
			return true
		}
	}
	return false
}

// elsewhere are the repositories in which a registry has the blobs that a package leaves out.
func elsewhere(e *spec.Extension) map[string][]string {
	if !e.IsBlobLevel() {
		return nil
	}
	out := map[string][]string{}
	for _, b := range e.Blobs {
		for _, text := range b.In {
			if ref, err := image.Parse(text); err == nil {
				out[b.Digest] = append(out[b.Digest], ref.Path)
			}
		}
	}
	return out
}
