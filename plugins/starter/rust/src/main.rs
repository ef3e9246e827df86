//! Denies a prune that takes objects of protected namespaces: a plugin to begin with.
mod hook;

use hook::{Request, Response, Severity};
use serde::Deserialize;

/// What plugin.yaml has a schema for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    namespaces: Vec<String>,
}

/// Says what the plugin thinks of a request. An error is one of the plugin itself, such as its
/// configuration, and the host's failure policy decides.
fn judge(request: &Request) -> Result<Response, String> {
    let config: Config = request.config()?;
    if config.namespaces.is_empty() {
        return Err("the configuration protects nothing: name namespaces".into());
    }
    let mut response = Response::allow();
    for object in &request.plan.prune.objects {
        if config.namespaces.contains(&object.namespace) {
            let message = format!("{}: namespace {} is protected", object, object.namespace);
            response.find(Severity::Deny, Some(object), message, None);
        }
    }
    Ok(response)
}

fn main() {
    hook::main(judge)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(namespace: &str) -> hook::Verdict {
        let request = format!(
            r#"{{"apiVersion":"hooks.zarf-host.dev/v1","id":"r1","config":{{"namespaces":["prod"]}},
            "plan":{{"prune":{{"objects":[{{"apiVersion":"v1","kind":"Secret","namespace":"{}","name":"a"}}]}}}}}}"#,
            namespace
        );
        judge(&hook::read(request.as_bytes()).unwrap()).unwrap().verdict
    }

    #[test]
    fn denies_protected_namespaces_only() {
        assert_eq!(verdict("prod"), hook::Verdict::Deny);
        assert_eq!(verdict("staging"), hook::Verdict::Allow);
        assert_eq!(verdict("prod-2"), hook::Verdict::Allow);
    }
}
