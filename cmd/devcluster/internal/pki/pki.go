// Package pki makes the certificates and keys that a control plane needs: one
// authority for servers and clients, one for the front proxy, a leaf for each
// part, and the key that signs service-account tokens.
//
// It knows X.509 and a folder of PEM files. It must not know flags, processes
// or Kubernetes objects: who a client is, is only a name and its groups here.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// lifetime is long because a data folder may be kept for months, and a
// throw-away authority that listens on loopback gains nothing by expiring.
const lifetime = 10 * 365 * 24 * time.Hour

// Names of the authorities and of the service-account key inside the folder.
const (
	CA             = "ca"
	FrontProxyCA   = "front-proxy-ca"
	ServiceAccount = "sa"
)

// Leaf is a certificate to sign.
type Leaf struct {
	// Name is the file name without its ending.
	Name string
	// Authority is the name of the signing authority; empty means CA.
	Authority string
	// CommonName and Organizations are user and groups of a client.
	CommonName    string
	Organizations []string
	// Hosts are the DNS names and addresses of a server; a leaf without hosts
	// is for clients only.
	Hosts []string
}

// Folder is a folder of PEM files made by Ensure.
type Folder string

// Cert is the path of the certificate called name.
func (f Folder) Cert(name string) string { return filepath.Join(string(f), name+".crt") }

// Key is the path of the private key called name.
func (f Folder) Key(name string) string { return filepath.Join(string(f), name+".key") }

// PublicKey is the path of the public key called name.
func (f Folder) PublicKey(name string) string { return filepath.Join(string(f), name+".pub") }

// Ensure makes dir with both authorities, the leaves and the service-account
// key, unless dir is there already: tokens and kubeconfigs that were handed out
// stay valid when a control plane is started again on its data. The folder
// appears whole or not at all.
func Ensure(dir string, leaves []Leaf) (Folder, error) {
	if _, err := os.Stat(dir); err == nil {
		return Folder(dir), nil
	}
	unfinished := dir + ".new"
	if err := os.RemoveAll(unfinished); err != nil {
		return "", fmt.Errorf("clearing unfinished certificates: %w", err)
	}
	if err := os.MkdirAll(unfinished, 0o700); err != nil {
		return "", fmt.Errorf("creating certificate folder: %w", err)
	}
	if err := fill(Folder(unfinished), leaves); err != nil {
		return "", err
	}
	if err := os.Rename(unfinished, dir); err != nil {
		return "", fmt.Errorf("publishing certificate folder: %w", err)
	}
	return Folder(dir), nil
}

func fill(f Folder, leaves []Leaf) error {
	authorities := map[string]*authority{}
	for _, name := range []string{CA, FrontProxyCA} {
		a, err := newAuthority(name)
		if err != nil {
			return fmt.Errorf("creating authority %q: %w", name, err)
		}
		authorities[name] = a
		if err := f.write(name, a.cert.Raw, a.key); err != nil {
			return err
		}
	}
	for _, leaf := range leaves {
		name := leaf.Authority
		if name == "" {
			name = CA
		}
		a, ok := authorities[name]
		if !ok {
			return fmt.Errorf("signing certificate %q: no authority is called %q", leaf.Name, name)
		}
		der, key, err := a.sign(leaf)
		if err != nil {
			return fmt.Errorf("signing certificate %q: %w", leaf.Name, err)
		}
		if err := f.write(leaf.Name, der, key); err != nil {
			return err
		}
	}
	return f.writeServiceAccountKey()
}

type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template, err := newTemplate(pkix.Name{CommonName: name})
	if err != nil {
		return nil, err
	}
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{cert: cert, key: key}, nil
}

func (a *authority) sign(leaf Leaf) ([]byte, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template, err := newTemplate(pkix.Name{CommonName: leaf.CommonName, Organization: leaf.Organizations})
	if err != nil {
		return nil, nil, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if len(leaf.Hosts) > 0 {
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	}
	for _, host := range leaf.Hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	return der, key, err
}

func newTemplate(subject pkix.Name) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	// An hour back, so that a clock that is set back a little hurts nobody.
	now := time.Now().Add(-time.Hour)
	return &x509.Certificate{SerialNumber: serial, Subject: subject, NotBefore: now, NotAfter: now.Add(lifetime)}, nil
}

func (f Folder) write(name string, der []byte, key *ecdsa.PrivateKey) error {
	if err := writePEM(f.Cert(name), "CERTIFICATE", der, 0o644); err != nil {
		return err
	}
	return writeKey(f.Key(name), key)
}

func (f Folder) writeServiceAccountKey() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("creating service-account key: %w", err)
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return fmt.Errorf("encoding service-account key: %w", err)
	}
	if err := writePEM(f.PublicKey(ServiceAccount), "PUBLIC KEY", der, 0o644); err != nil {
		return err
	}
	return writeKey(f.Key(ServiceAccount), key)
}

func writeKey(path string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("encoding key %s: %w", path, err)
	}
	return writePEM(path, "EC PRIVATE KEY", der, 0o600)
}

func writePEM(path, kind string, der []byte, mode os.FileMode) error {
	block := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	if err := os.WriteFile(path, block, mode); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}
