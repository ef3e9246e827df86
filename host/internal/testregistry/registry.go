package testregistry

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/zarf-host/zarf-host/host/internal/faultproxy"
)

// startLimit bounds the start of a registry, which takes a fraction of a second on an idle machine.
const startLimit = time.Minute

// Options say what kind of registry it is. The zero value serves plain HTTP to everyone.
type Options struct {
	// User and Password are what every request must bring, if not empty.
	User, Password string
	// TLS serves HTTPS with a certificate of the authority in File("ca.crt").
	TLS bool
	// ClientCA demands a client certificate such as File("client.crt"), and serves HTTPS.
	ClientCA bool
	// NoDelete refuses to delete anything.
	NoDelete bool
	// NoUntag refuses to delete by tag, but not by digest.
	NoUntag bool
}

// Registry is a running registry. Killed and restarted, it has the same address and data.
type Registry struct {
	binary  string
	dir     string
	opts    Options
	url     *url.URL
	command *exec.Cmd
	ended   chan struct{}
}

// Start starts a registry that ends with the test.
func Start(t testing.TB, opts Options) *Registry {
	t.Helper()
	binary, err := build()
	if err != nil {
		t.Fatalf("building the registry: %v", err)
	}
	r := &Registry{binary: binary, dir: t.TempDir(), opts: opts}
	if err := r.start("0"); err != nil {
		t.Fatalf("starting the registry: %v", err)
	}
	t.Cleanup(r.Kill)
	return r
}

// Address is where the registry is, as a state names it.
func (r *Registry) Address() string { return r.url.Host }

// URL is where the registry is.
func (r *Registry) URL() string { return r.url.String() }

// File is a file of the registry's folder: ca.crt, client.crt or client.key.
func (r *Registry) File(name string) string { return filepath.Join(r.dir, name) }

// Kill ends the registry at once, in the middle of whatever it does.
func (r *Registry) Kill() {
	_ = r.command.Process.Kill() // it may have ended already
	<-r.ended
}

// Restart starts a registry that was killed.
func (r *Registry) Restart(t testing.TB) {
	t.Helper()
	r.Kill()
	if err := r.start(r.url.Port()); err != nil {
		t.Fatalf("restarting the registry: %v", err)
	}
}

// Erase forgets what a registry that was killed has stored, as one does that keeps it in its pod.
func (r *Registry) Erase(t testing.TB) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(r.dir, "data")); err != nil {
		t.Fatal(err)
	}
}

// Proxy puts a fault proxy, which serves plain HTTP, in front of the registry. It counts every
// request, reads too.
func (r *Registry) Proxy(t testing.TB) *faultproxy.Proxy {
	t.Helper()
	proxy, err := faultproxy.Start(faultproxy.Options{
		Upstream: r.url, Count: func(*http.Request) bool { return true },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	return proxy
}

// Tags are the tags of all repositories, "path:tag", and the digests that they have.
func (r *Registry) Tags(t testing.TB) map[string]string {
	t.Helper()
	tags := map[string]string{}
	var catalog struct{ Repositories []string }
	r.get(t, "/v2/_catalog?n=1000", &catalog)
	for _, repository := range catalog.Repositories {
		var list struct{ Tags []string }
		r.get(t, "/v2/"+repository+"/tags/list", &list)
		for _, tag := range list.Tags {
			tags[repository+":"+tag] = r.Digest(t, repository, tag)
		}
	}
	return tags
}

// Digest is the digest of what a repository has under a tag or digest; "" if it has nothing.
func (r *Registry) Digest(t testing.TB, repository, reference string) string {
	t.Helper()
	response := r.do(t, http.MethodHead, "/v2/"+repository+"/manifests/"+reference)
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return ""
	}
	return response.Header.Get("Docker-Content-Digest")
}

// Blob tells whether a repository has a blob.
func (r *Registry) Blob(t testing.TB, repository, digest string) bool {
	t.Helper()
	response := r.do(t, http.MethodHead, "/v2/"+repository+"/blobs/"+digest)
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}

func (r *Registry) get(t testing.TB, path string, into any) {
	t.Helper()
	response := r.do(t, http.MethodGet, path)
	defer response.Body.Close()
	if response.StatusCode == http.StatusNotFound {
		return // a repository whose last tag was deleted
	}
	if response.StatusCode != http.StatusOK {
		t.Fatalf("asking the registry for %s: %s", path, response.Status)
	}
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		t.Fatal(err)
	}
}

func (r *Registry) do(t testing.TB, method, path string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(context.Background(), method, r.URL()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, accept := range []string{
		"application/vnd.oci.image.manifest.v1+json", "application/vnd.oci.image.index.v1+json",
		"application/vnd.docker.distribution.manifest.v2+json", "application/vnd.docker.distribution.manifest.list.v2+json",
	} {
		request.Header.Add("Accept", accept)
	}
	if r.opts.User != "" {
		request.SetBasicAuth(r.opts.User, r.opts.Password)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	if r.url.Scheme == "https" {
		transport.TLSClientConfig = r.TLS(t)
	}
	response, err := (&http.Client{Transport: transport, Timeout: startLimit}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	return response
}

// TLS trusts the registry and brings the client certificate that it may demand.
func (r *Registry) TLS(t testing.TB) *tls.Config {
	t.Helper()
	ca, err := os.ReadFile(r.File("ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	config := &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	if r.opts.ClientCA {
		pair, err := tls.LoadX509KeyPair(r.File("client.crt"), r.File("client.key"))
		if err != nil {
			t.Fatal(err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config
}

func (r *Registry) start(port string) error {
	args := []string{"run", "--die-with-parent", "--data-dir", r.dir, "--port", port}
	if r.opts.User != "" {
		args = append(args, "--htpasswd", r.opts.User+":"+r.opts.Password)
	}
	for flag, set := range map[string]bool{"--tls": r.opts.TLS, "--client-ca": r.opts.ClientCA, "--no-delete": r.opts.NoDelete, "--no-untag": r.opts.NoUntag} {
		if set {
			args = append(args, flag)
		}
	}
	var problems bytes.Buffer
	cmd := exec.Command(r.binary, args...)
	cmd.Stderr = &problems
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	ended, started, first := make(chan struct{}), make(chan error, 1), make(chan string, 1)
	go func() {
		// To the registry, its parent dies with the thread that started it, so this one stays as long
		// as the registry does.
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		lines := bufio.NewScanner(stdout)
		lines.Scan()
		first <- lines.Text()
		for lines.Scan() {
		}
		_ = cmd.Wait() // how it ended is told by problems
		close(ended)
	}()
	if err := <-started; err != nil {
		return err
	}
	r.command, r.ended = cmd, ended
	timer := time.NewTimer(startLimit)
	defer timer.Stop()
	select {
	case line := <-first:
		address, ok := strings.CutPrefix(line, "registry ready: ")
		if !ok {
			r.Kill()
			return fmt.Errorf("devregistry ended: %s", bytes.TrimSpace(problems.Bytes()))
		}
		r.url, err = url.Parse(address)
		return err
	case <-timer.C:
		r.Kill()
		return fmt.Errorf("not ready after %v", startLimit)
	}
}

// build makes bin/devregistry, which takes a moment if it is there and up to date.
func build() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		script := filepath.Join(dir, "cmd", "devregistry", "build")
		if _, err := os.Stat(script); err == nil {
			binary := filepath.Join(dir, "bin", "devregistry")
			out, err := exec.Command(script, binary).CombinedOutput()
			if err != nil {
				return "", fmt.Errorf("%w\n%s", err, out)
			}
			return binary, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("there is no cmd/devregistry/build above the tests")
		}
		dir = parent
	}
}
