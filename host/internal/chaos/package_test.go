package chaos_test

import (
	"testing"

	"github.com/zarf-host/zarf-host/host/internal/packagetest"
)

// The package that is broken: a chart with a Deployment, ConfigMaps, a claim and a hook Job, a
// component with two manifests, one with actions around its removal. NAME stands for the package and
// for its namespace.
const packageV1 = `kind: ZarfPackageConfig
metadata: {name: NAME, version: 1.0.0, architecture: amd64, yolo: true}
components:
  - name: web
    required: true
    charts:
      - {name: web, version: 1.0.0, localPath: web-1, namespace: NAME}
    actions:
      onDeploy:
        before: [{cmd: "true", mute: true}]
        onSuccess: [{cmd: "true", mute: true}]
  - name: settings
    required: true
    manifests:
      - {name: flags, namespace: NAME, files: [flags.yaml]}
      - {name: gone, namespace: NAME, files: [gone.yaml]}
  - name: legacy
    required: true
    manifests:
      - {name: legacy, namespace: NAME, files: [legacy.yaml]}
    actions:
      onRemove:
        before: [{cmd: "true", mute: true}]
        after: [{cmd: "true", mute: true}]
`

// The next version drops an object of the chart, a manifest and a component.
const packageV2 = `kind: ZarfPackageConfig
metadata: {name: NAME, version: 2.0.0, architecture: amd64, yolo: true}
components:
  - name: web
    required: true
    charts:
      - {name: web, version: 2.0.0, localPath: web-2, namespace: NAME}
    actions:
      onDeploy:
        before: [{cmd: "true", mute: true}]
        onSuccess: [{cmd: "true", mute: true}]
  - name: settings
    required: true
    manifests:
      - {name: flags, namespace: NAME, files: [flags.yaml]}
`

const chartObjects = `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "example.test/web:{{ .Chart.Version }}"}]}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: migrate
  annotations: {helm.sh/hook: "post-install,post-upgrade"}
spec:
  backoffLimit: 0
  template:
    spec: {restartPolicy: Never, containers: [{name: migrate, image: "example.test/migrate:{{ .Chart.Version }}"}]}
`

func configMap(name, value string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {value: \"" + value + "\"}\n"
}

func packageFiles(version string) map[string]string {
	chart := "web-" + version[:1] + "/"
	files := map[string]string{
		chart + "Chart.yaml":              "apiVersion: v2\nname: web\nversion: " + version + "\n",
		chart + "templates/objects.yaml":  chartObjects,
		chart + "templates/settings.yaml": configMap("settings", version),
		"flags.yaml":                      configMap("flags", version),
	}
	if version == "1.0.0" {
		files[chart+"templates/dropped.yaml"] = configMap("dropped", version)
		files["gone.yaml"] = configMap("gone", version)
		files["legacy.yaml"] = configMap("legacy", version)
	}
	return files
}

// buildPackages writes both versions of the package called name.
func buildPackages(t *testing.T, name string) (v1, v2 string) {
	t.Helper()
	dir := t.TempDir()
	return packagetest.Build(t, dir, named(packageV1, name), packageFiles("1.0.0")),
		packagetest.Build(t, dir, named(packageV2, name), packageFiles("2.0.0"))
}
