package spec

// IsInit reports whether the package sets up a cluster for Zarf rather than deploying into one.
func (p *Package) IsInit() bool { return p.Kind == KindInit }

// IsYOLO reports whether the package is deployed without Zarf's registry, git server and agent.
func (p *Package) IsYOLO() bool { return p.Metadata.YOLO }

// RequiresCluster reports whether deploying any component needs a cluster.
func (p *Package) RequiresCluster() bool {
	for i := range p.Components {
		if p.Components[i].RequiresCluster() {
			return true
		}
	}
	return false
}

// Component returns the component of that name.
func (p *Package) Component(name string) (*Component, bool) {
	for i := range p.Components {
		if p.Components[i].Name == name {
			return &p.Components[i], true
		}
	}
	return nil, false
}

// IsRequired reports whether the component is deployed without being asked for. Left out, it is
// optional.
func (c *Component) IsRequired() bool { return c.Required != nil && *c.Required }

// RequiresCluster reports whether deploying the component needs a cluster. Files and actions alone
// do not, even where an action waits for a cluster object: that is Zarf's rule, and whether a
// deployment is recorded hangs on it.
func (c *Component) RequiresCluster() bool {
	return len(c.Images) > 0 ||
		len(c.ImageArchives) > 0 ||
		len(c.Charts) > 0 ||
		len(c.Manifests) > 0 ||
		len(c.Repos) > 0 ||
		len(c.DataInjections) > 0 ||
		len(c.HealthChecks) > 0
}

// AllImages returns the references of the component's images and of those in its image archives.
func (c *Component) AllImages() []string {
	var all []string
	all = append(all, c.Images...)
	for _, archive := range c.ImageArchives {
		all = append(all, archive.Images...)
	}
	return all
}

// ShouldTemplate reports whether the action's command is a Go template.
func (a *Action) ShouldTemplate() bool { return a.Template != nil && *a.Template }

// ShouldTemplate reports whether the manifest's files are Go templates.
func (m *Manifest) ShouldTemplate() bool { return m.Template != nil && *m.Template }

// ShouldTemplate reports whether the file is a Go template.
func (f *File) ShouldTemplate() bool { return f.Template != nil && *f.Template }

// Release returns the name of the chart's Helm release.
func (c *Chart) Release() string {
	if c.ReleaseName != "" {
		return c.ReleaseName
	}
	return c.Name
}

// ShouldValidate reports whether the chart's values are checked against its schema.
func (c *Chart) ShouldValidate() bool { return c.SchemaValidation == nil || *c.SchemaValidation }

// Sets returns the component's action sets with their names, in the order of the definition.
func (a *Actions) Sets() []NamedActionSet {
	return []NamedActionSet{
		{Name: "onCreate", Set: &a.OnCreate},
		{Name: "onDeploy", Set: &a.OnDeploy},
		{Name: "onRemove", Set: &a.OnRemove},
	}
}

// NamedActionSet is an action set with its key in the definition.
type NamedActionSet struct {
	Name string
	Set  *ActionSet
}

// Lists returns the set's lists of actions with their names, in the order in which they may run.
func (s *ActionSet) Lists() []NamedActions {
	return []NamedActions{
		{Name: "before", Actions: s.Before},
		{Name: "after", Actions: s.After},
		{Name: "onSuccess", Actions: s.OnSuccess},
		{Name: "onFailure", Actions: s.OnFailure},
	}
}

// NamedActions is a list of actions with its key in the definition.
type NamedActions struct {
	Name    string
	Actions []Action
}
