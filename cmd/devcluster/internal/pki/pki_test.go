package pki

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestEnsure(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	leaves := []Leaf{
		{Name: "server", CommonName: "server", Hosts: []string{"localhost", "127.0.0.1"}},
		{Name: "admin", CommonName: "admin", Organizations: []string{"system:masters"}},
		{Name: "proxy", CommonName: "proxy", Authority: FrontProxyCA},
	}
	f, err := Ensure(dir, leaves)
	if err != nil {
		t.Fatal(err)
	}

	server := verify(t, f, "server", CA, x509.VerifyOptions{DNSName: "127.0.0.1"})
	if err := server.VerifyHostname("localhost"); err != nil {
		t.Error(err)
	}
	if err := server.VerifyHostname("example.com"); err == nil {
		t.Error("the server certificate is valid for a host that was not asked for")
	}
	client := x509.VerifyOptions{KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	admin := verify(t, f, "admin", CA, client)
	if admin.Subject.CommonName != "admin" || !slices.Equal(admin.Subject.Organization, []string{"system:masters"}) {
		t.Errorf("admin is %v", admin.Subject)
	}
	verify(t, f, "proxy", FrontProxyCA, client)
	for _, path := range []string{f.Key(ServiceAccount), f.PublicKey(ServiceAccount)} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	info, err := os.Stat(f.Key(CA))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the key of the authority has mode %v", info.Mode())
	}
}

func TestEnsureKeepsWhatIsThere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	// An unfinished folder of a killed run must not be taken for a whole one.
	if err := os.MkdirAll(dir+".new", 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := Ensure(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(f.Cert(CA))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Ensure(dir, nil); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(f.Cert(CA))
	if err != nil {
		t.Fatal(err)
	}
	if string(before) != string(after) {
		t.Error("a second call replaced the authority")
	}
}

func TestEnsureRefusesUnknownAuthority(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	if _, err := Ensure(dir, []Leaf{{Name: "x", Authority: "nobody"}}); err == nil {
		t.Fatal("a leaf of an unknown authority was signed")
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a failed run left a folder behind that the next run would take for whole")
	}
}

func verify(t *testing.T, f Folder, name, authority string, opts x509.VerifyOptions) *x509.Certificate {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(f.Cert(name), f.Key(name))
	if err != nil {
		t.Fatal(err)
	}
	pem, err := os.ReadFile(f.Cert(authority))
	if err != nil {
		t.Fatal(err)
	}
	opts.Roots = x509.NewCertPool()
	opts.Roots.AppendCertsFromPEM(pem)
	if _, err := pair.Leaf.Verify(opts); err != nil {
		t.Fatalf("certificate %q: %v", name, err)
	}
	return pair.Leaf
}
