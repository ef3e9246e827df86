package spec

// APIVersionV1Alpha1 is the apiVersion that Zarf 0.84 writes; an absent one means it.
const APIVersionV1Alpha1 = "zarf.dev/v1alpha1"

// APIVersionV1Beta1 is the newer authoring form; a built package of that form carries a v1alpha1
// document too, which is the one used.
const APIVersionV1Beta1 = "zarf.dev/v1beta1"

// Kind is the kind of a package definition (Zarf: ZarfPackageKind).
type Kind string

// The kinds of a package definition.
const (
	KindPackage Kind = "ZarfPackageConfig"
	KindInit    Kind = "ZarfInitConfig"
)

// Package is a v1alpha1 package definition (Zarf: v1alpha1.ZarfPackage). The order and the
// omitempty of every field in this file are Zarf's: the JSON is the OCI config of a published
// package, so the package digest depends on it.
type Package struct {
	APIVersion    string                `json:"apiVersion,omitempty"`
	Kind          Kind                  `json:"kind"`
	Metadata      Metadata              `json:"metadata,omitempty"`
	Build         Build                 `json:"build,omitempty"`
	Components    []Component           `json:"components"`
	Constants     []Constant            `json:"constants,omitempty"`
	Variables     []InteractiveVariable `json:"variables,omitempty"`
	Values        Values                `json:"values,omitempty"`
	Documentation map[string]string     `json:"documentation,omitempty"`

	// Extension is what zarf.yaml says beyond Zarf's types; nil where it says nothing. No JSON has it.
	Extension *Extension `json:"-"`
}

// Metadata names and describes a package (Zarf: ZarfMetadata).
type Metadata struct {
	Name                   string            `json:"name"`
	Description            string            `json:"description,omitempty"`
	Version                string            `json:"version,omitempty"`
	URL                    string            `json:"url,omitempty"`
	Image                  string            `json:"image,omitempty"`
	Uncompressed           bool              `json:"uncompressed,omitempty"`
	Architecture           string            `json:"architecture,omitempty"`
	YOLO                   bool              `json:"yolo,omitempty"`
	Authors                string            `json:"authors,omitempty"`
	Documentation          string            `json:"documentation,omitempty"`
	Source                 string            `json:"source,omitempty"`
	Vendor                 string            `json:"vendor,omitempty"`
	AggregateChecksum      string            `json:"aggregateChecksum,omitempty"`
	Annotations            map[string]string `json:"annotations,omitempty"`
	AllowNamespaceOverride *bool             `json:"allowNamespaceOverride,omitempty"`
}

// Build is what create recorded about itself (Zarf: ZarfBuildData). Timestamp is RFC1123Z.
type Build struct {
	Terminal                   string               `json:"terminal,omitempty"`
	User                       string               `json:"user,omitempty"`
	Architecture               string               `json:"architecture"`
	Timestamp                  string               `json:"timestamp"`
	Version                    string               `json:"version"`
	Migrations                 []string             `json:"migrations,omitempty"`
	RegistryOverrides          map[string]string    `json:"registryOverrides,omitempty"`
	Differential               bool                 `json:"differential,omitempty"`
	DifferentialPackageVersion string               `json:"differentialPackageVersion,omitempty"`
	DifferentialMissing        []string             `json:"differentialMissing,omitempty"`
	Flavor                     string               `json:"flavor,omitempty"`
	Signed                     *bool                `json:"signed,omitempty"`
	VersionRequirements        []VersionRequirement `json:"versionRequirements,omitempty"`
	ProvenanceFiles            []string             `json:"provenanceFiles,omitempty"`
}

// VersionRequirement is the oldest Zarf that may deploy or remove the package, with the reason.
type VersionRequirement struct {
	Version string `json:"version"`
	Reason  string `json:"reason,omitempty"`
}

// Values names a package's own values files and their JSON schema (Zarf: ZarfValues).
type Values struct {
	Files  []string `json:"files,omitempty"`
	Schema string   `json:"schema,omitempty"`
}

// Constant is a fixed text template (Zarf: Constant).
type Constant struct {
	Name        string `json:"name"`
	Value       string `json:"value"`
	Description string `json:"description,omitempty"`
	AutoIndent  bool   `json:"autoIndent,omitempty"`
	Pattern     string `json:"pattern,omitempty"`
}

// VariableType says how a variable's value is used (Zarf: VariableType).
type VariableType string

// The types of a variable; RawVariableType is meant where none is given.
const (
	RawVariableType  VariableType = "raw"
	FileVariableType VariableType = "file"
)

// Variable describes a value that is known at deploy time (Zarf: Variable).
type Variable struct {
	Name       string       `json:"name"`
	Sensitive  bool         `json:"sensitive,omitempty"`
	AutoIndent bool         `json:"autoIndent,omitempty"`
	Pattern    string       `json:"pattern,omitempty"`
	Type       VariableType `json:"type,omitempty"`
}

// InteractiveVariable is a Variable that a package declares for its users.
type InteractiveVariable struct {
	Variable    `json:",inline"` // for YAML readers; encoding/json inlines it anyway
	Description string           `json:"description,omitempty"`
	Default     string           `json:"default,omitempty"`
	Prompt      bool             `json:"prompt,omitempty"`
}

// Component is one installable part of a package (Zarf: ZarfComponent).
type Component struct {
	Name           string            `json:"name"`
	Description    string            `json:"description,omitempty"`
	Default        bool              `json:"default,omitempty"`
	Required       *bool             `json:"required,omitempty"`
	Only           OnlyTarget        `json:"only,omitempty"`
	Group          string            `json:"group,omitempty"`
	Import         Import            `json:"import,omitempty"`
	Manifests      []Manifest        `json:"manifests,omitempty"`
	Charts         []Chart           `json:"charts,omitempty"`
	DataInjections []DataInjection   `json:"dataInjections,omitempty"`
	Files          []File            `json:"files,omitempty"`
	Images         []string          `json:"images,omitempty"`
	ImageArchives  []ImageArchive    `json:"imageArchives,omitempty"`
	Repos          []string          `json:"repos,omitempty"`
	Scripts        Scripts           `json:"scripts,omitempty"`
	Actions        Actions           `json:"actions,omitempty"`
	HealthChecks   []ObjectReference `json:"healthChecks,omitempty"`
	StateAccess    []StateAccessKey  `json:"stateAccess,omitempty"`
}

// StateAccessKey names a part of zarf-state that a component's templates may read.
type StateAccessKey string

// OnlyTarget limits where a component is created or deployed (Zarf: ZarfComponentOnlyTarget).
type OnlyTarget struct {
	LocalOS string      `json:"localOS,omitempty"`
	Cluster OnlyCluster `json:"cluster,omitempty"`
	Flavor  string      `json:"flavor,omitempty"`
}

// OnlyCluster limits a component to clusters of a kind; Distros is reserved and never evaluated.
type OnlyCluster struct {
	Architecture string   `json:"architecture,omitempty"`
	Distros      []string `json:"distros,omitempty"`
}

// Import names the component that a component extends (Zarf: ZarfComponentImport).
type Import struct {
	Name string `json:"name,omitempty"`
	Path string `json:"path,omitempty"`
	URL  string `json:"url,omitempty"`
}

// Chart is a Helm release that a component installs (Zarf: ZarfChart).
type Chart struct {
	Name                 string          `json:"name"`
	Version              string          `json:"version,omitempty"`
	URL                  string          `json:"url,omitempty"`
	RepoName             string          `json:"repoName,omitempty"`
	GitPath              string          `json:"gitPath,omitempty"`
	LocalPath            string          `json:"localPath,omitempty"`
	Namespace            string          `json:"namespace,omitempty"`
	ReleaseName          string          `json:"releaseName,omitempty"`
	NoWait               bool            `json:"noWait,omitempty"`
	ValuesFiles          []string        `json:"valuesFiles,omitempty"`
	TemplatedValuesFiles []string        `json:"templatedValuesFiles,omitempty"`
	Variables            []ChartVariable `json:"variables,omitempty"`
	Values               []ChartValue    `json:"values,omitempty"`
	SchemaValidation     *bool           `json:"schemaValidation,omitempty"`
	ServerSideApply      string          `json:"serverSideApply,omitempty"`
}

// ChartVariable sets the Helm value at Path to a variable's string value.
type ChartVariable struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Path        string `json:"path"`
}

// ChartValue maps a package value to a Helm value.
type ChartValue struct {
	SourcePath   string   `json:"sourcePath"`
	TargetPath   string   `json:"targetPath"`
	ExcludePaths []string `json:"excludePaths,omitempty"`
}

// Manifest is a list of Kubernetes documents that is installed as a generated chart (Zarf: ZarfManifest).
type Manifest struct {
	Name                       string   `json:"name"`
	Namespace                  string   `json:"namespace,omitempty"`
	Files                      []string `json:"files,omitempty"`
	KustomizeAllowAnyDirectory bool     `json:"kustomizeAllowAnyDirectory,omitempty"`
	Kustomizations             []string `json:"kustomizations,omitempty"`
	EnableKustomizePlugins     bool     `json:"enableKustomizePlugins,omitempty"`
	NoWait                     bool     `json:"noWait,omitempty"`
	ServerSideApply            string   `json:"serverSideApply,omitempty"`
	Template                   *bool    `json:"template,omitempty"`
}

// DataInjection copies data into a running pod (Zarf: ZarfDataInjection).
type DataInjection struct {
	Source   string          `json:"source"`
	Target   ContainerTarget `json:"target"`
	Compress bool            `json:"compress,omitempty"`
}

// ContainerTarget names a path in a container of a pod.
type ContainerTarget struct {
	Namespace string `json:"namespace"`
	Selector  string `json:"selector"`
	Container string `json:"container"`
	Path      string `json:"path"`
}

// File is placed on the deploying machine (Zarf: ZarfFile).
type File struct {
	Source      string   `json:"source"`
	Shasum      string   `json:"shasum,omitempty"`
	Target      string   `json:"target"`
	Executable  bool     `json:"executable,omitempty"`
	Symlinks    []string `json:"symlinks,omitempty"`
	ExtractPath string   `json:"extractPath,omitempty"`
	Template    *bool    `json:"template,omitempty"`
}

// ImageArchive is a tar of images that create reads.
type ImageArchive struct {
	Path   string   `json:"path"`
	Images []string `json:"images"`
}

// Scripts is the deprecated form of Actions (Zarf: DeprecatedZarfComponentScripts).
type Scripts struct {
	ShowOutput     bool     `json:"showOutput,omitempty"`
	TimeoutSeconds int      `json:"timeoutSeconds,omitempty"`
	Retry          bool     `json:"retry,omitempty"`
	Prepare        []string `json:"prepare,omitempty"`
	Before         []string `json:"before,omitempty"`
	After          []string `json:"after,omitempty"`
}

// Actions are the commands and waits of a component (Zarf: ZarfComponentActions).
type Actions struct {
	OnCreate ActionSet `json:"onCreate,omitempty"`
	OnDeploy ActionSet `json:"onDeploy,omitempty"`
	OnRemove ActionSet `json:"onRemove,omitempty"`
}

// ActionSet is what runs around one operation on a component.
type ActionSet struct {
	Defaults  ActionDefaults `json:"defaults,omitempty"`
	Before    []Action       `json:"before,omitempty"`
	After     []Action       `json:"after,omitempty"`
	OnSuccess []Action       `json:"onSuccess,omitempty"`
	OnFailure []Action       `json:"onFailure,omitempty"`
}

// ActionDefaults fill what an Action leaves unset. MaxTotalSeconds 0 means no limit.
type ActionDefaults struct {
	Mute            bool     `json:"mute,omitempty"`
	MaxTotalSeconds int      `json:"maxTotalSeconds,omitempty"`
	MaxRetries      int      `json:"maxRetries,omitempty"`
	Dir             string   `json:"dir,omitempty"`
	Env             []string `json:"env,omitempty"`
	Shell           Shell    `json:"shell,omitempty"`
}

// Action is one command or wait. MaxRetries are tries after the first one.
type Action struct {
	Mute            *bool       `json:"mute,omitempty"`
	MaxTotalSeconds *int        `json:"maxTotalSeconds,omitempty"`
	MaxRetries      *int        `json:"maxRetries,omitempty"`
	Dir             *string     `json:"dir,omitempty"`
	Env             []string    `json:"env,omitempty"`
	Cmd             string      `json:"cmd,omitempty"`
	Shell           *Shell      `json:"shell,omitempty"`
	SetVariable     string      `json:"setVariable,omitempty"`
	SetVariables    []Variable  `json:"setVariables,omitempty"`
	SetValues       []SetValue  `json:"setValues,omitempty"`
	Description     string      `json:"description,omitempty"`
	Wait            *ActionWait `json:"wait,omitempty"`
	Template        *bool       `json:"template,omitempty"`
}

// SetValue stores an action's output in the values.
type SetValue struct {
	Key   string `json:"key,omitempty"`
	Value any    `json:"value,omitempty"`
	Type  string `json:"type,omitempty"`
}

// ActionWait waits for a cluster object or a network address; exactly one is set.
type ActionWait struct {
	Cluster *WaitCluster `json:"cluster,omitempty"`
	Network *WaitNetwork `json:"network,omitempty"`
}

// WaitCluster is an object and the condition to wait for.
type WaitCluster struct {
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"`
	Condition string `json:"condition,omitempty"`
}

// WaitNetwork is an address and, for http, the status code to wait for.
type WaitNetwork struct {
	Protocol string `json:"protocol"`
	Address  string `json:"address"`
	Code     int    `json:"code,omitempty"`
}

// Shell is the shell to prefer on each operating system.
type Shell struct {
	Windows string `json:"windows,omitempty"`
	Linux   string `json:"linux,omitempty"`
	Darwin  string `json:"darwin,omitempty"`
}

// ObjectReference names an object in a namespace (Zarf: NamespacedObjectKindReference).
type ObjectReference struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
}
