//! plugins/guard in Rust: denies, or keeps, what a prune would take.
mod config;
mod hook;
mod pattern;

use config::{Action, Config};
use hook::{Object, Request, Response, Severity};

/// Bounds the findings, so that a prune of thousands is refused in a page, not in a book.
const MAX_SHOWN: usize = 200;

/// Denies or keeps every object that a rule protects and the configuration does not allow to go.
fn judge(request: &Request) -> Result<Response, String> {
    let config: Config = request.config()?;
    config.check()?;
    let severity = match config.action {
        Action::Deny => Severity::Deny,
        Action::Keep => Severity::Warn,
    };
    let mut response = Response::allow();
    let mut hit = 0;
    for object in &request.plan.prune.objects {
        let rule = match rule_for(&config, object) {
            Some(rule) if !config.allows(object) => rule,
            _ => continue,
        };
        hit += 1;
        if hit <= MAX_SHOWN {
            let (message, remedy) = finding(&config, object, &rule);
            response.find(severity, Some(object), message, Some(remedy));
        }
        if config.action == Action::Keep {
            response.keep(object, rule);
        }
    }
    if hit > MAX_SHOWN {
        response.find(severity, None, format!("and {} more objects", hit - MAX_SHOWN), None);
    }
    Ok(response)
}

/// Which rule protects an object, the most telling one first.
fn rule_for(c: &Config, o: &Object) -> Option<String> {
    let protects = |name: &str| c.namespaces.iter().any(|p| pattern::fits(p, name));
    if c.data && o.holds_data {
        return Some("data: it holds data".into());
    }
    if !o.namespace.is_empty() && protects(&o.namespace) {
        return Some(format!("namespaces: namespace {} is protected", quoted(&o.namespace)));
    }
    if o.kind == "Namespace" && protects(&o.name) {
        return Some(format!("namespaces: namespace {} is protected", quoted(&o.name)));
    }
    if c.kinds.iter().any(|p| pattern::fits_kind(p, &o.kind)) {
        return Some(format!("kinds: kind {} is protected", o.kind));
    }
    c.labels.iter().find_map(|(key, wanted)| {
        let value = o.labels.get(key)?;
        (wanted.is_empty() || wanted == value).then(|| format!("labels: label {}={} is protected", key, value))
    })
}

/// What is said of an object, and how it is let go.
fn finding(c: &Config, o: &Object, rule: &str) -> (String, String) {
    let entry = quoted(&o.to_string());
    match c.action {
        Action::Keep => (
            format!("keeping {} (rule {})", o, rule),
            format!("to let it go, add {} to the guard's allow list", entry),
        ),
        Action::Deny => (
            format!("{} would be pruned (rule {})", o, rule),
            format!("to let it go, add {} to the guard's allow list; to keep it, set the guard's action to keep", entry),
        ),
    }
}

/// The text in quotes, with what would end it escaped.
fn quoted(s: &str) -> String {
    format!("\"{}\"", s.replace('\\', "\\\\").replace('"', "\\\""))
}

fn main() {
    hook::main(judge)
}
