package persona_test

import "k8s.io/apimachinery/pkg/runtime/schema"

// The package of an exact life: a chart with a Deployment, a claim and hooks of its installation,
// upgrade and removal; manifests in two namespaces; a component that the next version lacks.
const shopV1 = `kind: ZarfPackageConfig
metadata: {name: shop, version: 1.0.0, architecture: amd64}
components:
  - name: web
    required: true
    charts:
      - {name: web, version: 1.0.0, localPath: web, namespace: shop}
    healthChecks:
      - {apiVersion: apps/v1, kind: Deployment, namespace: shop, name: web}
  - name: jobs
    required: true
    manifests:
      - {name: nightly, namespace: shop-jobs, files: [nightly.yaml]}
      - {name: old, namespace: shop-jobs, files: [old.yaml]}
  - name: legacy
    required: true
    manifests:
      - {name: legacy, namespace: shop, files: [legacy.yaml]}
`

// The next version drops an object of the chart, adds one, and lacks a manifest and a component.
const shopV2 = `kind: ZarfPackageConfig
metadata: {name: shop, version: 2.0.0, architecture: amd64}
components:
  - name: web
    required: true
    charts:
      - {name: web, version: 2.0.0, localPath: web, namespace: shop}
  - name: jobs
    required: true
    manifests:
      - {name: nightly, namespace: shop-jobs, files: [nightly.yaml]}
`

const webObjects = `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, annotations: {helm.sh/resource-policy: keep}}
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
  template:
    spec: {restartPolicy: Never, containers: [{name: migrate, image: "example.test/migrate:{{ .Chart.Version }}"}]}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: farewell
  annotations: {helm.sh/hook: pre-delete}
`

func shopFiles(version string) map[string]string {
	files := map[string]string{
		"web/Chart.yaml":             "apiVersion: v2\nname: web\nversion: " + version + "\n",
		"web/templates/objects.yaml": webObjects,
		"nightly.yaml": `apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  schedule: "0 3 * * *"
  suspend: true
  jobTemplate:
    spec:
      template:
        spec: {restartPolicy: Never, containers: [{name: nightly, image: "example.test/nightly:` + version + `"}]}
`,
	}
	if version == "1.0.0" {
		files["web/templates/dropped.yaml"] = configMap("dropped", version)
		files["old.yaml"] = configMap("old", version)
		files["legacy.yaml"] = configMap("legacy", version)
	} else {
		files["web/templates/added.yaml"] = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: web}, ports: [{port: 80}]}\n"
	}
	return files
}

func configMap(name, value string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {value: \"" + value + "\"}\n"
}

func groupVersion(text, resource string) (schema.GroupVersionResource, error) {
	gv, err := schema.ParseGroupVersion(text)
	return gv.WithResource(resource), err
}
