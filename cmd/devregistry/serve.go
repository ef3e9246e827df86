//go:build linux

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry/handlers"
	"github.com/sirupsen/logrus"
	"golang.org/x/crypto/bcrypt"
	"golang.org/x/sys/unix"

	_ "github.com/distribution/distribution/v3/registry/auth/htpasswd"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/filesystem"
)

// stopLimit is how long requests under way may take to end.
const stopLimit = time.Second

type options struct {
	dataDir       string
	port          int
	login         string
	tls           bool
	clientCA      bool
	noDelete      bool
	noUntag       bool
	dieWithParent bool
}

// serve runs a registry until ctx ends. It says in one line on out that it is ready, and where.
func serve(ctx context.Context, opts options, out io.Writer) error {
	if opts.dieWithParent {
		if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGTERM), 0, 0, 0); err != nil {
			return fmt.Errorf("asking to end with the parent: %w", err)
		}
	}
	if err := os.MkdirAll(opts.dataDir, 0o755); err != nil {
		return fmt.Errorf("creating the data folder: %w", err)
	}
	logs, err := os.OpenFile(filepath.Join(opts.dataDir, "log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("opening the log: %w", err)
	}
	defer logs.Close()
	logrus.SetOutput(logs)
	logrus.SetLevel(logrus.WarnLevel)

	config, err := opts.config()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(opts.port)))
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	scheme := "http"
	if opts.tls || opts.clientCA {
		settings, err := opts.tlsConfig()
		if err != nil {
			return errors.Join(err, listener.Close())
		}
		scheme = "https"
		listener = tls.NewListener(listener, settings)
	}
	// The application's context outlives ctx, so that requests under way may end.
	var handler http.Handler = handlers.NewApp(context.WithoutCancel(ctx), config)
	if opts.noUntag {
		handler = byDigestOnly(handler)
	}
	server := &http.Server{
		Handler:  handler,
		ErrorLog: log.New(logs, "", log.LstdFlags),
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	fmt.Fprintf(out, "registry ready: %s://%s\n", scheme, listener.Addr())
	select {
	case err := <-ended:
		return fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
	}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
	defer cancel()
	if server.Shutdown(limit) != nil {
		return server.Close() // whoever still talks to it is cut off
	}
	return nil
}

// byDigestOnly answers deletions by tag as registries do that have none. That comes before any question
// of who asks.
func byDigestOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, reference, manifest := strings.Cut(r.URL.Path, "/manifests/")
		if r.Method != http.MethodDelete || !manifest || strings.Contains(reference, ":") {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusMethodNotAllowed)
		_, _ = io.WriteString(w, `{"errors":[{"code":"UNSUPPORTED","message":"manifests are deleted by digest"}]}`)
	})
}

func (o options) config() (*configuration.Configuration, error) {
	dir, err := filepath.Abs(o.dataDir)
	if err != nil {
		return nil, fmt.Errorf("finding the data folder: %w", err)
	}
	config := &configuration.Configuration{
		Version: configuration.CurrentVersion,
		Storage: configuration.Storage{
			"filesystem":  configuration.Parameters{"rootdirectory": filepath.Join(dir, "data")},
			"delete":      configuration.Parameters{"enabled": !o.noDelete},
			"redirect":    configuration.Parameters{"disable": true},
			"maintenance": configuration.Parameters{"uploadpurging": map[any]any{"enabled": false}},
		},
	}
	config.Catalog.MaxEntries = 10_000
	// Behind a proxy or a relay the registry does not know where clients see it.
	config.HTTP.RelativeURLs = true
	// Uploads of before a restart can be continued, as in any registry that is configured well.
	config.HTTP.Secret = "the same after each restart"
	if o.login == "" {
		return config, nil
	}
	user, password, ok := strings.Cut(o.login, ":")
	if !ok || user == "" || password == "" {
		return nil, errors.New("--htpasswd wants USER:PASSWORD")
	}
	// The cheapest cost: it guards nothing, and is paid at every request.
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		return nil, fmt.Errorf("hashing the password: %w", err)
	}
	file := filepath.Join(dir, "htpasswd")
	if err := os.WriteFile(file, []byte(user+":"+string(hash)+"\n"), 0o600); err != nil {
		return nil, fmt.Errorf("writing the password: %w", err)
	}
	config.Auth = configuration.Auth{"htpasswd": configuration.Parameters{"realm": "devregistry", "path": file}}
	return config, nil
}

func (o options) tlsConfig() (*tls.Config, error) {
	files, err := ensurePKI(o.dataDir)
	if err != nil {
		return nil, err
	}
	pair, err := tls.LoadX509KeyPair(files.serverCert, files.serverKey)
	if err != nil {
		return nil, fmt.Errorf("loading the certificate: %w", err)
	}
	settings := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if o.clientCA {
		ca, err := os.ReadFile(files.ca)
		if err != nil {
			return nil, fmt.Errorf("loading the authority: %w", err)
		}
		settings.ClientCAs = x509.NewCertPool()
		settings.ClientCAs.AppendCertsFromPEM(ca)
		settings.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return settings, nil
}
