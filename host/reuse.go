package host

import (
	"context"
	"fmt"

	"github.com/zarf-host/zarf-host/host/cluster"
	"github.com/zarf-host/zarf-host/host/config"
	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/state"
)

// ReuseError says why the recorded configuration of a package cannot be used again. Nothing was
// changed.
type ReuseError struct {
	Name   string
	Reason string
}

func (e *ReuseError) Error() string {
	return fmt.Sprintf("using the recorded configuration of package %q again: %s", e.Name, e.Reason)
}

// Hint says what to do about it.
func (e *ReuseError) Hint() string {
	return "supply the whole configuration and leave out --reuse-config; from the next success on it is recorded"
}

// reuse makes the recorded configuration the weakest layer of what is supplied. It is the whole
// configuration that counts, so that one flag more does not drop what was remembered, and never the
// package's defaults, so that those of a new version take effect.
func (d *deployment) reuse(ctx context.Context) error {
	if !d.ReuseConfig {
		return nil
	}
	name := d.recordName()
	if !requireCluster(d.definition.Components) {
		return &ReuseError{Name: name, Reason: "it needs no cluster, so that no record of it was ever left"}
	}
	if err := d.dial(ctx); err != nil {
		return err
	}
	record, err := readRecord(ctx, d.conn, d.charts, name, config.Resolve(d.Layers...).Config.NamespaceOverride)
	if err != nil {
		return err
	}
	if err := reusable(name, record); err != nil {
		return err
	}
	d.stored = record.Package.DeployConfig
	d.Layers = append([]config.Layer{{Origin: config.OriginStored, Config: *d.stored}}, d.Layers...)
	d.say(event.Info, "config", "using the recorded configuration under what is supplied")
	return nil
}

func reusable(name string, record cluster.Record) error {
	if !record.Exists {
		return &ReuseError{Name: name, Reason: "it is not deployed"}
	}
	if why := record.Package.ConfigUnknown(); why != "" {
		return &ReuseError{Name: name, Reason: why}
	}
	return nil
}

// stillReusable refuses to go on with a configuration that was replaced since it was read.
func (d *deployment) stillReusable() error {
	if !d.ReuseConfig {
		return nil
	}
	if err := reusable(d.recordName(), d.record); err != nil {
		return err
	}
	before, err := digestOf(d.stored)
	if err != nil {
		return err
	}
	now, err := digestOf(d.record.Package.DeployConfig)
	if err != nil {
		return err
	}
	if before != now {
		return &ReuseError{Name: d.recordName(), Reason: "another deployment replaced it meanwhile: run the command again"}
	}
	return nil
}

func digestOf(c *state.DeployConfig) (string, error) {
	if c == nil {
		return "", nil
	}
	return c.Digest()
}
