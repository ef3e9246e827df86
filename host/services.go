package host

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/zarf-host/zarf-host/host/chart"
	"github.com/zarf-host/zarf-host/host/cluster"
	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/image"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/registry"
	"github.com/zarf-host/zarf-host/host/spec"
	"github.com/zarf-host/zarf-host/host/state"
	"github.com/zarf-host/zarf-host/host/template"
)

// Where Zarf's own registry is in a cluster, and the Secrets that go with it.
const (
	registryService   = "zarf-docker-registry"
	registryPort      = 5000
	registryClientTLS = "zarf-registry-client-tls"
	pullSecret        = "private-registry"
	gitSecret         = "private-git-server"
)

// services are the registry and git server of a cluster, for one operation.
type services struct {
	conn   *cluster.Cluster
	common Common
	state  state.Cluster
	// exists is false in a cluster that was not initialised.
	exists bool
	agent  map[string]string // namespace → what it tells the agent
	certs  map[string][]byte // of Zarf's registry where it wants client certificates, as in their Secret
	client *registry.Client
	// noChecksum leaves out the tag that pods use.
	noChecksum bool

	// What a differential package counts on: images, and the repositories of blobs; force goes on
	// where the registry lacks something. lacking is what was found out.
	leftOut   leftOut
	elsewhere map[string][]string
	force     bool
	lacking   []string
	halves    map[image.Reference]bool // images that lack blobs
}

// readServices reads how the cluster was initialised. namespaces are those that the operation works
// in.
func readServices(ctx context.Context, conn *cluster.Cluster, c Common, namespaces []string) (*services, error) {
	s := &services{conn: conn, common: c}
	var err error
	if s.state, s.exists, err = conn.State(ctx); err != nil {
		return nil, err
	}
	if s.rewrites() {
		if s.agent, err = conn.AgentLabels(ctx, namespaces); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// rewrites reports whether pods must be told where their images are: there is a registry, and no
// agent that would do it.
func (s *services) rewrites() bool { return s.state.RegistryInfo.Configured() && !s.state.HasAgent() }

// registry returns the client of the cluster's registry: an external one directly, an internal one
// through a port-forward that is opened again when it breaks.
func (s *services) registry(ctx context.Context) (*registry.Client, error) {
	if s.client != nil {
		return s.client, nil
	}
	info := s.state.RegistryInfo
	options := registry.Options{
		Address: info.Address, Username: info.PushUsername, Password: info.PushPassword, Sink: s.common.Sink,
		PlainHTTP: s.common.PlainHTTP, Retries: s.common.Retries, Backoff: s.common.Patience.Backoff,
		StallLimit: s.common.Patience.Stall, CommitLimit: s.common.Patience.Commit,
	}
	if info.IsInternal() {
		options.Tunnel = func(ctx context.Context) (registry.Tunnel, error) {
			return s.conn.OpenTunnel(ctx, state.Namespace, registryService, registryPort)
		}
	}
	var err error
	if options.TLS, err = s.tls(); err != nil {
		return nil, err
	}
	if s.client, err = registry.Open(options); err != nil {
		return nil, fmt.Errorf("preparing the connection to registry %q: %w", info.Address, err)
	}
	return s.client, nil
}

// readCerts reads the certificates that Zarf made for its registry, where it wants any.
func (s *services) readCerts(ctx context.Context) error {
	if s.state.RegistryInfo.MTLSStrategy != state.MTLSManaged {
		return nil
	}
	ca, cert, key, err := s.conn.ReadTLS(ctx, state.Namespace, registryClientTLS)
	if err != nil {
		return err
	}
	s.certs = map[string][]byte{"ca.crt": ca, "tls.crt": cert, "tls.key": key}
	return nil
}

// tls returns how HTTPS is spoken: with Zarf's certificates where the state says so.
func (s *services) tls() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: s.common.InsecureSkipTLSVerify} //nolint:gosec // asked for by flag
	if s.certs == nil {
		if !s.common.InsecureSkipTLSVerify {
			return nil, nil
		}
		return config, nil
	}
	pair, err := tls.X509KeyPair(s.certs["tls.crt"], s.certs["tls.key"])
	if err != nil {
		return nil, fmt.Errorf("reading the client certificate of the registry in Secret %q: %w", registryClientTLS, err)
	}
	config.Certificates = []tls.Certificate{pair}
	config.RootCAs = x509.NewCertPool()
	if !config.RootCAs.AppendCertsFromPEM(s.certs["ca.crt"]) {
		return nil, fmt.Errorf("reading the authority of the registry's certificates: Secret %q holds none", registryClientTLS)
	}
	config.ServerName = registryService + "." + state.Namespace + ".svc.cluster.local"
	return config, nil
}

func (s *services) close() error {
	if s == nil || s.client == nil {
		return nil
	}
	return s.client.Close()
}

// builtins are the text templates that exist once a cluster was initialised, by Zarf's names.
func (s *services) builtins() map[string]template.Entry {
	r, g := s.state.RegistryInfo, s.state.GitServer
	plain := map[string]string{
		"STORAGE_CLASS": s.state.StorageClass,
		"REGISTRY":      r.Address,
		"NODEPORT":      strconv.Itoa(r.NodePort),
		"REGISTRY_PORT": strconv.Itoa(r.Port),
		"GIT_PUSH":      g.PushUsername, "GIT_PULL": g.PullUsername,
		"IPV6_ONLY":                   strconv.FormatBool(s.state.IPFamily == "ipv6"),
		"REGISTRY_MTLS_ENABLED":       strconv.FormatBool(r.MTLSStrategy == state.MTLSManaged),
		"REGISTRY_PROXY":              strconv.FormatBool(r.Mode == state.RegistryProxy),
		"INJECTOR_IMAGE":              s.state.InjectorInfo.Image,
		"INJECTOR_HOSTPORT":           strconv.Itoa(s.state.InjectorInfo.Port),
		"INJECTOR_SHASUM":             s.state.InjectorInfo.PayloadShaSum,
		"INJECTOR_PAYLOAD_CONFIGMAPS": strconv.Itoa(s.state.InjectorInfo.PayloadConfigMapAmount),
	}
	out := map[string]template.Entry{}
	for name, value := range plain {
		out[name] = template.Entry{Value: value}
	}
	for name, value := range map[string]string{
		"REGISTRY_AUTH_PUSH": r.PushPassword, "REGISTRY_AUTH_PULL": r.PullPassword,
		"GIT_AUTH_PUSH": g.PushPassword, "GIT_AUTH_PULL": g.PullPassword,
	} {
		out[name] = template.Entry{Value: value, Sensitive: true}
	}
	return out
}

// template is what Go templates see of the state as .State.
func (s *services) template() *template.State {
	r, g, i, a := s.state.RegistryInfo, s.state.GitServer, s.state.InjectorInfo, s.state.AgentTLS
	return &template.State{
		Distro: s.state.Distro, StorageClass: s.state.StorageClass, IPFamily: s.state.IPFamily,
		Registry: template.StateRegistry{
			Address: r.Address, Port: r.Port, PushUsername: r.PushUsername, PullUsername: r.PullUsername,
			Mode: string(r.Mode), MTLSEnabled: r.MTLSStrategy == state.MTLSManaged,
			PushPassword: r.PushPassword, PullPassword: r.PullPassword, Secret: r.Secret,
		},
		Git: template.StateGit{
			Address: g.Address, PushUsername: g.PushUsername, PullUsername: g.PullUsername, IsInternal: g.IsInternal(),
			PushPassword: g.PushPassword, PullPassword: g.PullPassword,
		},
		Injector: template.StateInjector{
			Image: i.Image, Port: i.Port, PayloadConfigMaps: i.PayloadConfigMapAmount, PayloadShaSum: i.PayloadShaSum,
		},
		Agent: template.StateAgent{
			CA: base64.StdEncoding.EncodeToString(a.CA), Cert: base64.StdEncoding.EncodeToString(a.Cert),
			Key: base64.StdEncoding.EncodeToString(a.Key),
		},
	}
}

// prepare tells a release where its images are and which Secrets its namespaces need. connected
// packages pull from where their authors say.
func (s *services) prepare(w *chart.Wanted, connected bool) error {
	if s == nil || !s.exists {
		return nil
	}
	if connected {
		w.IgnoreAgent = s.state.HasAgent()
		return nil
	}
	r, g := s.state.RegistryInfo, s.state.GitServer
	if r.Configured() {
		config, err := dockerConfig(r)
		if err != nil {
			return err
		}
		w.Secrets = append(w.Secrets, chart.Secret{
			Name: pullSecret, Type: "kubernetes.io/dockerconfigjson", Data: map[string][]byte{".dockerconfigjson": config},
		})
	}
	if s.certs != nil {
		w.Secrets = append(w.Secrets, chart.Secret{Name: registryClientTLS, Type: "kubernetes.io/tls", Data: s.certs})
	}
	if g.Configured() {
		w.Secrets = append(w.Secrets, chart.Secret{
			Name: gitSecret, Type: "Opaque",
			Data: map[string][]byte{"username": []byte(g.PullUsername), "password": []byte(g.PullPassword)},
		})
	}
	if s.rewrites() {
		w.Pods = &chart.Pods{
			PullSecret: pullSecret, Labelled: s.state.AgentMutationPolicy == "labeled",
			NamespaceAgent: func(namespace string) string { return s.agent[namespace] },
			Image: func(reference string) (string, error) {
				ref, err := image.Parse(reference)
				if err != nil {
					return "", err
				}
				return image.Transform(r.Address, ref).Pods, nil
			},
		}
	}
	return nil
}

// dockerConfig is what pods pull with, as Zarf writes it.
func dockerConfig(r state.Registry) ([]byte, error) {
	auth := map[string]string{"auth": base64.StdEncoding.EncodeToString([]byte(r.PullUsername + ":" + r.PullPassword))}
	hosts := map[string]any{r.Address: auth}
	if r.IsInternal() {
		hosts[fmt.Sprintf("%s.%s.svc.cluster.local:%d", registryService, state.Namespace, registryPort)] = auth
	}
	data, err := json.Marshal(map[string]any{"auths": hosts})
	if err != nil {
		return nil, fmt.Errorf("writing the credentials that pods pull with: %w", err)
	}
	return data, nil
}

// images plans the images of components: what the registry lacks is pushed. Only HEAD requests.
func (s *services) images(ctx context.Context, content *registry.Content, components []spec.Component) ([]plan.Image, error) {
	var out, counted []plan.Image
	var ask []string
	for _, c := range components {
		refs, countedOn, err := s.carried(c)
		if err != nil {
			return nil, fmt.Errorf("component %q: %w", c.Name, err)
		}
		for _, ref := range countedOn {
			to := image.Transform(s.state.RegistryInfo.Address, ref)
			counted = append(counted, plan.Image{
				Component: c.Name, Reference: ref.String(), Target: to.Pods, Plain: to.Plain,
				Digest: s.leftOut[c.Name][ref], Identity: to.Identity, Action: plan.ImagePresent,
			})
			ask = append(ask, to.Pods)
		}
		for _, ref := range refs {
			found, err := content.Find(ref)
			if err != nil {
				return nil, fmt.Errorf("component %q: %w", c.Name, err)
			}
			to := image.Transform(s.state.RegistryInfo.Address, ref)
			size, err := content.Size(ctx, ref)
			if err != nil {
				return nil, err
			}
			out = append(out, plan.Image{
				Component: c.Name, Reference: ref.String(), Target: to.Pods, Plain: to.Plain,
				Digest: found.Digest.String(), Bytes: size, Identity: to.Identity, Action: plan.ImagePush,
			})
			ask = append(ask, to.Pods, to.Plain)
		}
	}
	if len(ask) == 0 {
		return nil, nil
	}
	client, err := s.registry(ctx)
	if err != nil {
		return nil, err
	}
	has, err := client.Digests(ctx, ask...)
	if err != nil {
		return nil, fmt.Errorf("asking registry %q what it has: %w", s.state.RegistryInfo.Address, err)
	}
	var push []image.Reference
	for i, img := range out {
		if has[img.Target] == img.Digest && has[img.Plain] == img.Digest {
			out[i].Action = plan.ImagePresent
			continue
		}
		if ref, err := image.Parse(img.Reference); err == nil { // it is the form of one
			push = append(push, ref)
		}
	}
	if err := s.lackingBlobs(ctx, client, content, push); err != nil {
		return nil, err
	}
	out = slices.DeleteFunc(out, func(img plan.Image) bool { return s.isHalf(img.Reference) })
	there, err := s.count(ctx, client, counted, has)
	return append(out, there...), err
}

// push brings the images of a component into the registry.
func (s *services) push(ctx context.Context, content *registry.Content, c spec.Component) (registry.PushResult, error) {
	refs, counted, err := s.carried(c)
	if err != nil || len(refs)+len(counted) == 0 {
		return registry.PushResult{}, err
	}
	client, err := s.registry(ctx)
	if err != nil {
		return registry.PushResult{}, err
	}
	if err := s.still(ctx, client, c, counted); err != nil {
		return registry.PushResult{}, err
	}
	if s.force {
		refs = slices.DeleteFunc(refs, func(ref image.Reference) bool { return s.halves[ref] })
	}
	done, err := client.Push(ctx, registry.PushOptions{
		Images: refs, Content: content, Concurrency: s.common.Concurrency, NoChecksum: s.noChecksum, Elsewhere: s.elsewhere,
	})
	if err != nil {
		return done, err
	}
	s.common.Sink.Emit(pushed(c.Name, done))
	return done, nil
}

// problems says why components cannot be deployed with the services that the cluster has.
func (s *services) problems(components []spec.Component) []string {
	var out []string
	for _, c := range components {
		if len(c.Images)+len(c.ImageArchives) > 0 && (s == nil || !s.state.RegistryInfo.Configured()) {
			out = append(out, fmt.Sprintf("component %q brings images, and the cluster has no registry: name one with `zarf-host init --registry-url`, or deploy with --connected where the cluster can pull them itself", c.Name))
		}
	}
	return out
}

// pushed tells what a push did.
func pushed(component string, done registry.PushResult) event.Event {
	present := 0
	for _, img := range done.Images {
		if img.Present {
			present++
		}
	}
	return event.Event{Level: event.Info, Step: "image", Component: component, Message: fmt.Sprintf(
		"%d images in the registry: %d were there, %d pushed with %d blobs of %d bytes, %d blobs mounted",
		len(done.Images), present, len(done.Images)-present, done.UploadedBlobs, done.UploadedBytes, done.MountedBlobs)}
}
