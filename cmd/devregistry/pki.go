//go:build linux

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// certLifetime is long: a data folder may be used for years.
const certLifetime = 10 * 365 * 24 * time.Hour

// pkiFiles are the certificates of a data folder.
type pkiFiles struct {
	ca, serverCert, serverKey, clientCert, clientKey string
}

// ensurePKI makes an authority, a certificate of the server and one of a client, unless they are
// there: clients that know them go on after a restart.
func ensurePKI(dir string) (pkiFiles, error) {
	in := func(name string) string { return filepath.Join(dir, name) }
	files := pkiFiles{in("ca.crt"), in("server.crt"), in("server.key"), in("client.crt"), in("client.key")}
	if _, err := os.Stat(files.clientKey); err == nil {
		return files, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return files, fmt.Errorf("looking for certificates: %w", err)
	}
	ca := &x509.Certificate{
		Subject: pkix.Name{CommonName: "devregistry authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign,
	}
	caKey, err := issue(ca, ca, nil, files.ca, "")
	if err != nil {
		return files, err
	}
	// Its names are those of the registry that Zarf deploys, so that it can play it.
	names := []string{"localhost", "zarf-docker-registry", "zarf-docker-registry.zarf.svc.cluster.local"}
	server := &x509.Certificate{
		Subject: pkix.Name{CommonName: "devregistry"}, DNSNames: names,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		KeyUsage:    x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if _, err := issue(server, ca, caKey, files.serverCert, files.serverKey); err != nil {
		return files, err
	}
	client := &x509.Certificate{
		Subject:  pkix.Name{CommonName: "client"},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	_, err = issue(client, ca, caKey, files.clientCert, files.clientKey)
	return files, err
}

// issue signs a certificate and writes it, and its key if keyFile is not empty. Without a key of the
// issuer it signs itself.
func issue(cert, issuer *x509.Certificate, issuerKey *ecdsa.PrivateKey, certFile, keyFile string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making a key: %w", err)
	}
	if issuerKey == nil {
		issuerKey = key
	}
	if cert.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return nil, fmt.Errorf("making a serial number: %w", err)
	}
	cert.NotBefore = time.Now().Add(-time.Hour)
	cert.NotAfter = cert.NotBefore.Add(certLifetime)
	der, err := x509.CreateCertificate(rand.Reader, cert, issuer, &key.PublicKey, issuerKey)
	if err != nil {
		return nil, fmt.Errorf("signing a certificate: %w", err)
	}
	if err := writePEM(certFile, "CERTIFICATE", der); err != nil {
		return nil, err
	}
	if keyFile == "" {
		return key, nil
	}
	der, err = x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("writing a key: %w", err)
	}
	return key, writePEM(keyFile, "PRIVATE KEY", der)
}

func writePEM(file, kind string, der []byte) error {
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		return fmt.Errorf("writing a certificate: %w", err)
	}
	return nil
}
