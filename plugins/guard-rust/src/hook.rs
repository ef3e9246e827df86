//! What a plugin in Rust needs: the request, the response, and `main`, which reads one and writes the
//! other. Fields that the types here do not have are ignored, so that a plugin goes on working when
//! requests grow; add those that you need.
#![allow(dead_code)] // a plugin uses a part of it

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::io::{Read, Write};

pub const API_VERSION: &str = "hooks.zarf-host.dev/v1";

/// What a plugin is asked. With inputs in plugin.yaml, only the fields that they name are filled.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    pub api_version: String,
    pub id: String,
    #[serde(default)]
    pub hook: String,
    #[serde(default)]
    pub time: String,
    #[serde(default, deserialize_with = "or_default")]
    pub plan: Plan,
    #[serde(default)]
    config: Option<serde_json::Value>,
}

impl Request {
    /// Reads the plugin's configuration.
    pub fn config<T: DeserializeOwned>(&self) -> Result<T, String> {
        let config = self.config.clone().unwrap_or_else(|| serde_json::json!({}));
        serde_json::from_value(config).map_err(|e| format!("reading the configuration: {}", e))
    }
}

/// What the operation is going to do.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    #[serde(default, deserialize_with = "or_default")]
    pub prune: Prune,
}

/// What would go.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct Prune {
    #[serde(default, deserialize_with = "or_default")]
    pub objects: Vec<Object>,
}

/// An object that would be deleted.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct Object {
    #[serde(default)]
    pub api_version: String,
    #[serde(default)]
    pub kind: String,
    #[serde(default)]
    pub namespace: String,
    #[serde(default)]
    pub name: String,
    #[serde(default, deserialize_with = "or_default")]
    pub labels: BTreeMap<String, String>,
    #[serde(default)]
    pub holds_data: bool,
}

impl Object {
    /// The reference by which a response names the object.
    pub fn reference(&self) -> ObjectRef {
        ObjectRef {
            api_version: self.api_version.clone(),
            kind: self.kind.clone(),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
        }
    }
}

/// Kind/namespace/name, or Kind/name for an object without a namespace.
impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if self.namespace.is_empty() {
            return write!(f, "{}/{}", self.kind, self.name);
        }
        write!(f, "{}/{}/{}", self.kind, self.namespace, self.name)
    }
}

/// Takes null for what is empty.
fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(d: D) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(d)?.unwrap_or_default())
}

#[derive(Serialize, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Allow,
    Warn,
    Deny,
}

#[derive(Serialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Info,
    Warn,
    Deny,
}

/// What a plugin answers.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Response {
    api_version: &'static str,
    kind: &'static str,
    id: String,
    pub verdict: Verdict,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keep: Vec<Keep>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectRef {
    pub api_version: String,
    pub kind: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    pub name: String,
}

/// One thing to say to the user.
#[derive(Serialize)]
pub struct Finding {
    pub severity: Severity,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// One thing that must survive.
#[derive(Serialize)]
pub struct Keep {
    pub object: ObjectRef,
    pub reason: String,
}

impl Response {
    /// Begins a response without objections.
    pub fn allow() -> Response {
        Response {
            api_version: API_VERSION,
            kind: "HookResponse",
            id: String::new(), // main fills it in
            verdict: Verdict::Allow,
            findings: Vec::new(),
            keep: Vec::new(),
        }
    }

    /// Adds a finding, and makes the verdict at least as strict as it.
    pub fn find(&mut self, severity: Severity, object: Option<&Object>, message: String, remedy: Option<String>) {
        let least = match severity {
            Severity::Info => Verdict::Allow,
            Severity::Warn => Verdict::Warn,
            Severity::Deny => Verdict::Deny,
        };
        self.verdict = self.verdict.max(least);
        self.findings.push(Finding { severity, message, object: object.map(Object::reference), remedy });
    }

    /// Keeps an object that would go.
    pub fn keep(&mut self, object: &Object, reason: String) {
        self.keep.push(Keep { object: object.reference(), reason });
    }
}

/// Reads a request, of the version that this file is for.
pub fn read(document: &[u8]) -> Result<Request, String> {
    let request: Request = serde_json::from_slice(document).map_err(|e| format!("reading the request: {}", e))?;
    if request.api_version != API_VERSION {
        return Err(format!("the request has apiVersion {:?}, this plugin speaks {:?}", request.api_version, API_VERSION));
    }
    Ok(request)
}

fn run(judge: fn(&Request) -> Result<Response, String>) -> Result<(), String> {
    let mut document = Vec::new();
    std::io::stdin().read_to_end(&mut document).map_err(|e| format!("reading the request: {}", e))?;
    let request = read(&document)?;
    let mut response = judge(&request)?;
    response.id = request.id;
    let mut out = serde_json::to_vec(&response).map_err(|e| format!("writing the response: {}", e))?;
    out.push(b'\n');
    std::io::stdout().write_all(&out).map_err(|e| format!("writing the response: {}", e))
}

/// Answers the request on stdin, and ends the program.
pub fn main(judge: fn(&Request) -> Result<Response, String>) {
    if let Err(why) = run(judge) {
        eprintln!("{}", why);
        std::process::exit(1);
    }
}
