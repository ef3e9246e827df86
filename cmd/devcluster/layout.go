//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/zarf-host/zarf-host/cmd/devcluster/internal/pki"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Users of the API server: file name of certificate and kubeconfig.
const (
	adminUser             = "admin"
	controllerManagerUser = "controller-manager"
	schedulerUser         = "scheduler"
	kwokUser              = "kwok"
)

// Names of the certificates that are no user's.
const (
	servingCert          = "serving"
	kubeletClientCert    = "kubelet-client"
	frontProxyClientCert = "front-proxy-client"
)

// layout says where everything lies in a data folder. Its paths are absolute.
type layout string

func (l layout) path(elements ...string) string {
	return filepath.Join(append([]string{string(l)}, elements...)...)
}

func (l layout) lock() string                  { return l.path("lock") }
func (l layout) pid() string                   { return l.path("devcluster.pid") }
func (l layout) ready() string                 { return l.path("ready") }
func (l layout) kwokConfig() string            { return l.path("kwok.yaml") }
func (l layout) volumes() string               { return l.path("volumes") }
func (l layout) pki() string                   { return l.path("pki") }
func (l layout) log(component string) string   { return l.path("logs", component+".log") }
func (l layout) pidOf(component string) string { return l.path("run", component+".pid") }

// kubeconfig is where the kubeconfig of user lies; the administrator's, which
// is meant for people and tests, lies at the top.
func (l layout) kubeconfig(user string) string {
	if user == adminUser {
		return l.path("kubeconfig")
	}
	return l.path("run", user+".kubeconfig")
}

// leaves are the certificates of a control plane.
func leaves() []pki.Leaf {
	const masters = "system:masters"
	return []pki.Leaf{
		{Name: servingCert, CommonName: "kube-apiserver", Hosts: []string{
			"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
			"kubernetes.default.svc.cluster.local", "127.0.0.1", "10.96.0.1",
		}},
		{Name: adminUser, CommonName: "devcluster-admin", Organizations: []string{masters}},
		{Name: controllerManagerUser, CommonName: "system:kube-controller-manager"},
		{Name: schedulerUser, CommonName: "system:kube-scheduler"},
		{Name: kwokUser, CommonName: "kwok", Organizations: []string{masters}},
		{Name: kubeletClientCert, CommonName: "kube-apiserver-kubelet-client", Organizations: []string{masters}},
		{Name: frontProxyClientCert, CommonName: "front-proxy-client", Authority: pki.FrontProxyCA},
	}
}

// writeKubeconfigs writes one kubeconfig a user, each whole in itself, so that
// it may be copied elsewhere.
func writeKubeconfigs(l layout, certs pki.Folder, port int) error {
	ca, err := os.ReadFile(certs.Cert(pki.CA))
	if err != nil {
		return fmt.Errorf("reading the certificate authority: %w", err)
	}
	for _, user := range []string{adminUser, controllerManagerUser, schedulerUser, kwokUser} {
		cert, err := os.ReadFile(certs.Cert(user))
		if err != nil {
			return fmt.Errorf("reading the certificate of %q: %w", user, err)
		}
		key, err := os.ReadFile(certs.Key(user))
		if err != nil {
			return fmt.Errorf("reading the key of %q: %w", user, err)
		}
		const name = "devcluster"
		config := clientcmdapi.NewConfig()
		config.Clusters[name] = &clientcmdapi.Cluster{
			Server:                   fmt.Sprintf("https://127.0.0.1:%d", port),
			CertificateAuthorityData: ca,
		}
		config.AuthInfos[user] = &clientcmdapi.AuthInfo{ClientCertificateData: cert, ClientKeyData: key}
		config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: user}
		config.CurrentContext = name
		if err := clientcmd.WriteToFile(*config, l.kubeconfig(user)); err != nil {
			return fmt.Errorf("writing the kubeconfig of %q: %w", user, err)
		}
	}
	return nil
}
