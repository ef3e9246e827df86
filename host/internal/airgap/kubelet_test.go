//go:build linux

package airgap_test

import (
	"archive/tar"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/internal/packagetest"
	"github.com/zarf-host/zarf-host/host/internal/testregistry"
)

// The node whose pods really run, on a bridge of its own.
const (
	nodeName   = "real"
	nodeIP     = "10.199.83.1"
	nodeBridge = "zarfhost0"
	sandbox    = "localhost/sandbox:1"
)

const running = `
kind: ZarfPackageConfig
metadata: {name: running, version: 1.0.0}
components:
  - name: all
    required: true
    manifests:
      - {name: pod, namespace: @NS@, files: [pod.yaml]}
    images: ["127.0.0.1:5001/demo/pause:1.0.0"]
`

const runningPod = `
apiVersion: v1
kind: Pod
metadata: {name: runs}
spec:
  nodeName: real
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: 1
  tolerations: [{operator: Exists}]
  containers:
    - {name: main, image: "127.0.0.1:5001/demo/pause:1.0.0", imagePullPolicy: Always}
`

// TestPodsRun deploys a package whose pod a kubelet and containerd pull from our registry, with the
// credentials of the Secret, and run.
func TestPodsRun(t *testing.T) {
	requireNode(t)
	r := testregistry.Start(t, testregistry.Options{User: "u", Password: "p"})
	images := demoImages(t)
	s := newSite(t)
	startNode(t, s, images)
	s.init(r.Address(), "u", "p")
	ns := s.Namespace(t)
	file := packagetest.BuildWith(t, t.TempDir(), strings.ReplaceAll(running, "@NS@", ns), map[string]string{"pod.yaml": runningPod}, packagetest.Options{
		OmitImages: true,
		Content:    func(has []packagetest.Entry) []packagetest.Entry { return append(has, images...) },
	})
	s.mustDeploy(file)
	pod, err := s.Client().CoreV1().Pods(ns).Get(t.Context(), "runs", meta.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(pod.Status.ContainerStatuses) != 1 || pod.Status.Phase != core.PodRunning {
		t.Fatalf("the pod is %s: %+v", pod.Status.Phase, pod.Status.ContainerStatuses)
	}
	const digest = "sha256:a08140453de1b6c1609f444c4fec18c194a2fd0c88a05ef9a6eaa77e2b1b8399"
	if c := pod.Status.ContainerStatuses[0]; c.State.Running == nil || c.ImageID != r.Address()+"/demo/pause@"+digest {
		t.Errorf("it runs %q of %s, want %s of ours", c.ImageID, c.Image, digest)
	}
}

// requireNode skips the test where the machine cannot run containers, and says why.
func requireNode(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a control plane, which -short does not start")
	}
	if os.Geteuid() != 0 {
		t.Skip("running containers needs root")
	}
	for _, name := range []string{"containerd", "ctr", "runc", "ip"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("running containers needs %s, which is not installed (Debian: containerd runc containernetworking-plugins iproute2)", name)
		}
	}
	if _, err := os.Stat("/usr/lib/cni/bridge"); err != nil {
		t.Skipf("running containers needs the network plugins of Debian's containernetworking-plugins: %v", err)
	}
	if groups := podGroups(); len(groups) > 0 {
		t.Skipf("running containers needs a machine without another kubelet, and there is %s", groups[0])
	}
	if out, err := exec.Command("ip", "link", "add", nodeBridge, "type", "bridge").CombinedOutput(); err != nil {
		t.Skipf("running containers needs a bridge, which this machine does not make: %v: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("ip", "link", "del", nodeBridge).Run() })
	must(t, "ip", "addr", "add", nodeIP+"/24", "dev", nodeBridge)
	must(t, "ip", "link", "set", nodeBridge, "up")
}

func must(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// demoImages are the images of demo, which are static programs, as files of a package.
func demoImages(t *testing.T) []packagetest.Entry {
	t.Helper()
	b, err := bundle.Open(t.Context(), shared(t, "packages/zarf-package-demo-amd64-0.1.0.tar.zst"), bundle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	var entries []packagetest.Entry
	for _, f := range b.Files() {
		if strings.HasPrefix(f.Path, "images/") {
			data, err := b.ReadFile(t.Context(), f.Path)
			if err != nil {
				t.Fatal(err)
			}
			entries = append(entries, packagetest.Entry{Name: f.Path, Mode: 0o600, Body: data})
		}
	}
	return entries
}

const containerdConfig = `version = 2
root = "@DIR@/root"
state = "@DIR@/state"
[grpc]
address = "@DIR@/c.sock"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "localhost/sandbox:1"
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = "@DIR@/cni"
[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "native"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
`

const network = `{"cniVersion": "1.0.0", "name": "zarf-host", "plugins": [{
	"type": "bridge", "bridge": "zarfhost0",
	"ipam": {"type": "host-local", "ranges": [[{"subnet": "10.199.83.0/24", "rangeStart": "10.199.83.10"}]], "dataDir": "@DIR@/ipam"}
}]}`

const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: unix://@DIR@/c.sock
address: 10.199.83.1
port: 10250
healthzPort: 0
authentication: {anonymous: {enabled: false}, webhook: {enabled: false}, x509: {clientCAFile: ""}}
authorization: {mode: AlwaysAllow}
cgroupDriver: cgroupfs
failCgroupV1: false
failSwapOn: false
enforceNodeAllocatable: []
makeIPTablesUtilChains: false
localStorageCapacityIsolation: false
evictionHard: {memory.available: "0%", nodefs.available: "0%", imagefs.available: "0%"}
imageGCHighThresholdPercent: 100
podLogsDir: @DIR@/pods
volumePluginDir: @DIR@/volumes
resolvConf: ""
`

// startNode starts a node whose pods run until the test ends.
func startNode(t *testing.T, s *site, images []packagetest.Entry) {
	t.Helper()
	kubelet := filepath.Join(root, "bin", "kubelet")
	must(t, filepath.Join(root, "cmd", "devcluster", "kubelet", "build"), kubelet)
	// The path of a socket may have no more than 107 bytes.
	dir, err := os.MkdirTemp("/tmp", "zh-node-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { clean(t, dir) })
	keepSysctls(t)
	for name, text := range map[string]string{"containerd.toml": containerdConfig, "cni/1.conflist": network, "kubelet.yaml": kubeletConfig} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(strings.ReplaceAll(text, "@DIR@", dir)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	background(t, dir, "containerd", "--config", filepath.Join(dir, "containerd.toml"))
	socket := filepath.Join(dir, "c.sock")
	eventually(t, "containerd to answer", func() bool {
		return exec.Command("ctr", "-a", socket, "version").Run() == nil
	})
	t.Cleanup(func() { endPods(t, socket) }) // after the kubelet has ended, and before containerd does
	archive := filepath.Join(dir, "sandbox.tar")
	writeSandbox(t, archive, images)
	must(t, "ctr", "-a", socket, "-n", "k8s.io", "images", "import", "--snapshotter", "native", archive)
	background(t, dir, kubelet, "--config", filepath.Join(dir, "kubelet.yaml"), "--kubeconfig", s.Kubeconfig(),
		"--root-dir", filepath.Join(dir, "kubelet"), "--cert-dir", filepath.Join(dir, "pki"),
		"--hostname-override", nodeName, "--node-ip", nodeIP)
	t.Cleanup(func() {
		_ = s.Client().CoreV1().Nodes().Delete(context.Background(), nodeName, meta.DeleteOptions{}) // the control plane goes too
	})
	ready := false
	for range 900 {
		if node, err := s.Client().CoreV1().Nodes().Get(t.Context(), nodeName, meta.GetOptions{}); err == nil {
			ready = slices.ContainsFunc(node.Status.Conditions, func(c core.NodeCondition) bool {
				return c.Type == core.NodeReady && c.Status == core.ConditionTrue
			})
		}
		if ready {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("the node is not ready:\n%s", tail(filepath.Join(dir, "kubelet.log")))
}

func tail(file string) []byte {
	data, _ := os.ReadFile(file) // no log says as much
	return data[max(0, len(data)-4000):]
}

// background runs a program until the test ends, and never longer than it.
func background(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	log, err := os.Create(filepath.Join(dir, filepath.Base(name)+".log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started, ended := make(chan error, 1), make(chan struct{})
	go func() {
		runtime.LockOSThread() // the parent, to the kernel, is this thread
		started <- cmd.Start()
		_ = cmd.Wait() // how it ended is in its log
		close(ended)
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
		<-ended
		_ = log.Close()
	})
}

// writeSandbox writes an archive with the image that every pod is built on.
func writeSandbox(t *testing.T, file string, images []packagetest.Entry) {
	t.Helper()
	var entries []packagetest.Entry
	for _, e := range images {
		e.Name = strings.TrimPrefix(e.Name, "images/")
		if e.Name == "index.json" {
			var index ocispec.Index
			if err := json.Unmarshal(e.Body, &index); err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(index.Manifests, func(d ocispec.Descriptor) bool {
				return path.Base(d.Annotations[ocispec.AnnotationRefName]) == "pause:1.0.0"
			})
			index.Manifests = index.Manifests[i : i+1]
			index.Manifests[0].Annotations = map[string]string{"io.containerd.image.name": sandbox}
			var err error
			if e.Body, err = json.Marshal(index); err != nil {
				t.Fatal(err)
			}
		}
		e.Type = tar.TypeReg
		entries = append(entries, e)
	}
	data, err := packagetest.Tar(entries)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// keepSysctls puts back at the end what a kubelet sets.
func keepSysctls(t *testing.T) {
	t.Helper()
	for _, name := range []string{"vm/overcommit_memory", "kernel/panic", "kernel/panic_on_oops"} {
		file := filepath.Join("/proc/sys", name)
		was := read(t, file)
		t.Cleanup(func() {
			if err := os.WriteFile(file, was, 0o644); err != nil {
				t.Errorf("restoring %s: %v", name, err)
			}
		})
	}
}

// endPods ends what still runs when the kubelet has ended: nobody else would.
func endPods(t *testing.T, socket string) {
	t.Helper()
	out, err := exec.Command("ctr", "-a", socket, "-n", "k8s.io", "tasks", "ls", "-q").Output()
	if err != nil {
		t.Errorf("listing what still runs: %v", err)
	}
	for _, task := range strings.Fields(string(out)) {
		if out, err := exec.Command("ctr", "-a", socket, "-n", "k8s.io", "tasks", "rm", "-f", task).CombinedOutput(); err != nil {
			t.Errorf("ending %s: %v: %s", task, err, out)
		}
	}
}

// podGroups are the cgroups that a kubelet makes for all pods.
func podGroups() []string {
	groups, _ := filepath.Glob("/sys/fs/cgroup/*/kubepods") // the pattern is good
	if _, err := os.Stat("/sys/fs/cgroup/kubepods"); err == nil {
		groups = append(groups, "/sys/fs/cgroup/kubepods")
	}
	return groups
}

// clean takes down what containerd and kubelet have left: mounts, processes of pods, cgroups.
func clean(t *testing.T, dir string) {
	t.Helper()
	for _, pid := range processesOf(dir) {
		_ = syscall.Kill(pid, syscall.SIGKILL) // a shim, which outlives containerd
	}
	mounts, _ := os.ReadFile("/proc/self/mounts") // without it nothing is unmounted, and removing fails
	var points []string
	for line := range strings.Lines(string(mounts)) {
		if fields := strings.Fields(line); len(fields) > 1 && strings.HasPrefix(fields[1], dir+"/") {
			points = append(points, fields[1])
		}
	}
	for _, point := range slices.Backward(points) {
		_ = syscall.Unmount(point, syscall.MNT_DETACH)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Errorf("cleaning up after the node: %v", err)
	}
	for _, group := range podGroups() {
		var dirs []string
		_ = filepath.WalkDir(group, func(name string, d os.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				dirs = append(dirs, name)
			}
			return nil
		})
		for _, name := range slices.Backward(dirs) {
			_ = os.Remove(name) // told below
		}
	}
	if groups := podGroups(); len(groups) > 0 {
		t.Errorf("cgroups of pods are left: %v", groups)
	}
}

// processesOf are the processes whose command line names a folder.
func processesOf(dir string) (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is good
	for _, file := range files {
		line, err := os.ReadFile(file)
		var pid int
		if _, scanned := fmt.Sscanf(file, "/proc/%d/cmdline", &pid); err == nil && scanned == nil && pid != os.Getpid() && strings.Contains(string(line), dir) {
			pids = append(pids, pid)
		}
	}
	return pids
}
