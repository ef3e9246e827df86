package host

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/zarf-host/zarf-host/host/action"
	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/cluster"
	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/registry"
	"github.com/zarf-host/zarf-host/host/spec"
	"github.com/zarf-host/zarf-host/host/template"
	"github.com/zarf-host/zarf-host/host/wait"
)

// steps does what a component needs on this machine, and waits for its health.
type steps struct {
	common    Common
	bundle    *bundle.Bundle // nil where nothing is placed
	templates *templating
	loader    template.Loader
	conn      *cluster.Cluster  // nil where no cluster is needed
	services  *services         // nil where no cluster is needed
	images    *registry.Content // nil where nothing is pushed
	settled   bool              // no prune that does not know of this package deletes images any more
}

func (d *deployment) steps() *steps {
	return &steps{common: d.Common, bundle: d.pkg.bundle, templates: d.templates, loader: os.ReadFile,
		conn: d.conn, services: d.services, images: d.images}
}

func (s *steps) Run(ctx context.Context, component spec.Component, set spec.ActionSet, actions []spec.Action) error {
	if len(actions) == 0 {
		return nil
	}
	self := s.common.Executable
	if self == "" {
		var err error
		if self, err = os.Executable(); err != nil {
			return fmt.Errorf("finding this program for `./zarf` in actions: %w", err)
		}
	}
	runner := action.Runner{
		Variables: s.templates.variables, Waiter: waiter{s.common}, Sink: s.common.Sink, Self: self,
		Values: s.templates.values, Render: s.templates.action(component).Execute,
	}
	return runner.Run(ctx, component.Name, set.Defaults, actions)
}

// waiter connects by itself: an action may wait for a cluster that the package does not deploy to.
type waiter struct{ common Common }

func (w waiter) WaitFor(ctx context.Context, kind, name, namespace, condition string) error {
	config, err := cluster.RESTConfig(w.common.Cluster)
	if err != nil {
		return err
	}
	return wait.Resource(ctx, config, wait.Target{Kind: kind, Identifier: name, Namespace: namespace, Condition: condition})
}

func (w waiter) WaitForNetwork(ctx context.Context, protocol, address string, code int) error {
	return wait.Network(ctx, protocol, address, code)
}

func (s *steps) PlaceFiles(ctx context.Context, component spec.Component) error {
	if len(component.Files) == 0 {
		return nil
	}
	files := action.Files{
		Templates: s.templates.variables, Sink: s.common.Sink, Load: s.loader, Temp: s.common.TempDir,
		Render: func(text []byte) ([]byte, error) { return s.templates.content(component).Render(text, s.loader) },
	}
	return files.Place(ctx, component, func(ctx context.Context, visit func(action.Entry, io.Reader) error) error {
		return s.bundle.Component(ctx, component.Name, func(e bundle.Entry, r io.Reader) error {
			return visit(action.Entry{Path: e.Path, Mode: e.Mode, Link: e.Link}, r)
		})
	})
}

func (s *steps) PushImages(ctx context.Context, component spec.Component) error {
	if s.images == nil || len(component.AllImages()) == 0 {
		return nil
	}
	if err := s.settle(ctx); err != nil {
		return err
	}
	_, err := s.services.push(ctx, s.images, component)
	return err
}

// settle waits, once, until nobody deletes images who may not have read what this package needs: it is
// on record by now. What the plan found in the registry may be gone since, so it is asked again.
func (s *steps) settle(ctx context.Context) error {
	if s.settled {
		return nil
	}
	if err := s.conn.WaitFree(ctx, cluster.ImagesLease, s.common.imagesLease()); err != nil {
		return err
	}
	client, err := s.services.registry(ctx)
	if err != nil {
		return err
	}
	client.Forget()
	s.settled = true
	return nil
}

func (s *steps) WaitHealthy(ctx context.Context, objects []object.Ref) error {
	ctx, cancel := context.WithTimeout(ctx, s.common.Timeout)
	defer cancel()
	waiter, err := s.conn.Waiter(s.common.Sink)
	if err != nil {
		return err
	}
	return waiter.Healthy(ctx, objects)
}
