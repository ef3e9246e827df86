package template

import "github.com/zarf-host/zarf-host/host/spec"

// The parts of zarf-state that a component names in stateAccess before its templates may read them.
const (
	AccessRegistryCredentials spec.StateAccessKey = "registryCredentials"
	AccessGitCredentials      spec.StateAccessKey = "gitCredentials"
	AccessAgentCerts          spec.StateAccessKey = "agentCerts"
)

// State is what .State of Go templates is made from. The credentials in it reach only the templates
// of components that ask for them.
type State struct {
	Distro       string
	StorageClass string
	IPFamily     string
	Registry     StateRegistry
	Git          StateGit
	Injector     StateInjector
	Agent        StateAgent
}

// StateRegistry is .State.Registry.
type StateRegistry struct {
	Address      string
	Port         int
	PushUsername string
	PullUsername string
	Mode         string
	MTLSEnabled  bool
	SeedAddress  string
	// These need registryCredentials.
	PushPassword string
	PullPassword string
	Secret       string
	Htpasswd     string
}

// StateGit is .State.Git.
type StateGit struct {
	Address      string
	PushUsername string
	PullUsername string
	IsInternal   bool
	// These need gitCredentials.
	PushPassword string
	PullPassword string
}

// StateInjector is .State.Injector.
type StateInjector struct {
	Image             string
	Port              int
	PayloadConfigMaps int
	PayloadShaSum     string
}

// StateAgent is .State.Agent; all of it needs agentCerts, and is base64.
type StateAgent struct {
	CA   string
	Cert string
	Key  string
}

// object returns the state as a template sees it. What a component may not read does not exist for
// it, so that a template which names it fails instead of rendering something empty.
func (s *State) object(access []spec.StateAccessKey) map[string]any {
	registry := map[string]any{
		"Address": s.Registry.Address, "Port": s.Registry.Port, "Mode": s.Registry.Mode,
		"PushUsername": s.Registry.PushUsername, "PullUsername": s.Registry.PullUsername,
		"MTLSEnabled": s.Registry.MTLSEnabled, "SeedAddress": s.Registry.SeedAddress,
	}
	git := map[string]any{
		"Address": s.Git.Address, "IsInternal": s.Git.IsInternal,
		"PushUsername": s.Git.PushUsername, "PullUsername": s.Git.PullUsername,
	}
	out := map[string]any{
		"Distro": s.Distro, "StorageClass": s.StorageClass, "IPFamily": s.IPFamily,
		"Registry": registry, "Git": git,
		"Injector": map[string]any{
			"Image": s.Injector.Image, "Port": s.Injector.Port,
			"PayloadConfigMaps": s.Injector.PayloadConfigMaps, "PayloadShaSum": s.Injector.PayloadShaSum,
		},
	}
	for _, key := range access {
		switch key {
		case AccessRegistryCredentials:
			registry["PushPassword"], registry["PullPassword"] = s.Registry.PushPassword, s.Registry.PullPassword
			registry["Secret"], registry["Htpasswd"] = s.Registry.Secret, s.Registry.Htpasswd
		case AccessGitCredentials:
			git["PushPassword"], git["PullPassword"] = s.Git.PushPassword, s.Git.PullPassword
		case AccessAgentCerts:
			out["Agent"] = map[string]any{"CA": s.Agent.CA, "Cert": s.Agent.Cert, "Key": s.Agent.Key}
		}
	}
	return out
}

// isCredential reports whether a key of .State exists only for components that ask for it.
func isCredential(key string) bool {
	switch key {
	case "PushPassword", "PullPassword", "Secret", "Htpasswd", "Agent":
		return true
	}
	return false
}
