//go:build linux

package main

import (
	"fmt"

	"github.com/zarf-host/zarf-host/cmd/devcluster/internal/pki"
	"github.com/zarf-host/zarf-host/cmd/devcluster/internal/supervise"
)

// Components, in the order in which they start; they stop in the reverse one.
const (
	etcdName              = "etcd"
	apiServerName         = "kube-apiserver"
	controllerManagerName = "kube-controller-manager"
	schedulerName         = "kube-scheduler"
	kwokName              = "kwok"
)

const etcdSocket = "etcd.sock"

// serviceRange holds 10.96.0.1, which the serving certificate names.
const serviceRange = "10.96.0.0/16"

// kubeletPort is where kwok answers for the kubelets of all nodes.
func kubeletPort(port int) int { return port + 1 }

// arguments are the command line of a component.
func arguments(component string, l layout, certs pki.Folder, port int, kwokConfigs []string) []string {
	switch component {
	case apiServerName:
		return []string{
			"--etcd-servers=unix://" + etcdSocket,
			"--bind-address=127.0.0.1",
			"--advertise-address=127.0.0.1",
			"--endpoint-reconciler-type=none",
			fmt.Sprintf("--secure-port=%d", port),
			"--service-cluster-ip-range=" + serviceRange,
			"--authorization-mode=Node,RBAC",
			"--allow-privileged=true",
			"--client-ca-file=" + certs.Cert(pki.CA),
			"--tls-cert-file=" + certs.Cert(servingCert),
			"--tls-private-key-file=" + certs.Key(servingCert),
			"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
			"--service-account-key-file=" + certs.PublicKey(pki.ServiceAccount),
			"--service-account-signing-key-file=" + certs.Key(pki.ServiceAccount),
			"--requestheader-client-ca-file=" + certs.Cert(pki.FrontProxyCA),
			"--requestheader-allowed-names=front-proxy-client",
			"--requestheader-extra-headers-prefix=X-Remote-Extra-",
			"--requestheader-group-headers=X-Remote-Group",
			"--requestheader-username-headers=X-Remote-User",
			"--proxy-client-cert-file=" + certs.Cert(frontProxyClientCert),
			"--proxy-client-key-file=" + certs.Key(frontProxyClientCert),
			"--kubelet-client-certificate=" + certs.Cert(kubeletClientCert),
			"--kubelet-client-key=" + certs.Key(kubeletClientCert),
			"--kubelet-certificate-authority=" + certs.Cert(pki.CA),
			"--kubelet-preferred-address-types=InternalIP",
			"--profiling=false",
		}
	case controllerManagerName:
		return []string{
			"--kubeconfig=" + l.kubeconfig(controllerManagerUser),
			"--secure-port=0",
			"--leader-elect=false",
			"--use-service-account-credentials=true",
			"--root-ca-file=" + certs.Cert(pki.CA),
			"--service-account-private-key-file=" + certs.Key(pki.ServiceAccount),
			"--cluster-signing-cert-file=" + certs.Cert(pki.CA),
			"--cluster-signing-key-file=" + certs.Key(pki.CA),
			"--kube-api-qps=200",
			"--kube-api-burst=400",
		}
	case schedulerName:
		return []string{
			"--kubeconfig=" + l.kubeconfig(schedulerUser),
			"--secure-port=0",
			"--leader-elect=false",
		}
	case kwokName:
		args := []string{
			"--kubeconfig=" + l.kubeconfig(kwokUser),
			"--manage-nodes-with-annotation-selector=" + fakeNode + "=fake",
			"--node-ip=127.0.0.1",
			fmt.Sprintf("--node-port=%d", kubeletPort(port)),
			fmt.Sprintf("--server-address=127.0.0.1:%d", kubeletPort(port)),
			"--tls-cert-file=" + certs.Cert(servingCert),
			"--tls-private-key-file=" + certs.Key(servingCert),
			fmt.Sprintf("--node-lease-duration-seconds=%d", nodeLeaseSeconds),
		}
		for _, path := range kwokConfigs {
			args = append(args, "--config="+path)
		}
		return args
	}
	return nil // etcd is configured in code
}

// spec tells how to start a component: this program again, under its name.
func spec(component, self string, l layout, args []string) supervise.Spec {
	return supervise.Spec{
		Name: component,
		Path: self,
		Args: append([]string{component}, args...),
		// Nothing of the caller's environment: a proxy setting or a file in
		// the home folder must not change what the tests run against.
		Env:     []string{"HOME=" + string(l), "PATH=/usr/bin:/bin", "TMPDIR=" + l.path("tmp")},
		Dir:     string(l),
		Log:     l.log(component),
		PIDFile: l.pidOf(component),
	}
}
