//! What the guard protects.
use crate::hook::Object;
use crate::pattern;
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;

/// The configuration over the defaults: what holds data is denied. Names may hold *.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    #[serde(deserialize_with = "or_nothing")]
    pub namespaces: Vec<String>,
    #[serde(deserialize_with = "or_nothing")]
    pub kinds: Vec<String>,
    /// An empty value means any.
    #[serde(deserialize_with = "or_nothing")]
    pub labels: BTreeMap<String, String>,
    pub data: bool,
    pub action: Action,
    /// Kind/namespace/name, or Kind/name.
    #[serde(deserialize_with = "or_nothing")]
    pub allow: Vec<String>,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    Deny,
    Keep,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            namespaces: Vec::new(),
            kinds: Vec::new(),
            labels: BTreeMap::new(),
            data: true,
            action: Action::Deny,
            allow: Vec::new(),
        }
    }
}

/// Takes null for what is empty.
fn or_nothing<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(d: D) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(d)?.unwrap_or_default())
}

const NAME: &str = "-abcdefghijklmnopqrstuvwxyz0123456789";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const WILDCARD: &str = r"*?[]^\";

impl Config {
    /// Refuses entries that no object can ever fit: whoever wrote one believes that something is
    /// protected.
    pub fn check(&self) -> Result<(), String> {
        check_rules("namespaces", &self.namespaces, &[NAME, WILDCARD])?;
        check_rules("kinds", &self.kinds, &[NAME, UPPER, WILDCARD])?;
        for (key, value) in &self.labels {
            if key.is_empty() {
                return Err("labels: an empty name protects nothing".into());
            }
            if !made_of(key, &[NAME, UPPER, "_./"]) {
                return Err(format!("labels: no label can be called {:?}, so it protects nothing", key));
            }
            if !made_of(value, &[NAME, UPPER, "_."]) {
                return Err(format!(
                    "labels: no label can be {}={:?}, so it protects nothing: values are compared whole, without *",
                    key, value
                ));
            }
        }
        for entry in &self.allow {
            let parts: Vec<&str> = entry.split('/').collect();
            if parts.len() != 2 && parts.len() != 3 {
                return Err(format!("allow {:?} is neither Kind/namespace/name nor Kind/name", entry));
            }
            for (i, part) in parts.iter().enumerate() {
                // Of the three only the namespace may be empty: cluster-wide objects have none.
                if !(part.is_empty() && parts.len() == 3 && i == 1) {
                    check_pattern(part).map_err(|e| format!("allow {:?}: {}", entry, e))?;
                }
            }
        }
        Ok(())
    }

    /// Whether the configuration lets an object go.
    pub fn allows(&self, o: &Object) -> bool {
        self.allow.iter().any(|entry| {
            let parts: Vec<&str> = entry.split('/').collect();
            let (kind, namespace, name) = match parts[..] {
                [kind, name] => (kind, "", name),
                [kind, namespace, name] => (kind, namespace, name),
                _ => return false, // check has refused it
            };
            pattern::fits_kind(kind, &o.kind)
                && (namespace == o.namespace || pattern::fits(namespace, &o.namespace))
                && pattern::fits(name, &o.name)
        })
    }
}

fn check_rules(list: &str, rules: &[String], letters: &[&str]) -> Result<(), String> {
    for p in rules {
        check_pattern(p).map_err(|e| format!("{}: {}", list, e))?;
        if !made_of(p, letters) {
            return Err(format!("{}: nothing can be called {:?}, so it protects nothing", list, p));
        }
    }
    Ok(())
}

fn check_pattern(p: &str) -> Result<(), String> {
    if p.is_empty() {
        return Err("an empty name protects nothing".into());
    }
    if !pattern::valid(p) {
        return Err(format!("{:?} is not a name with *: syntax error in pattern", p));
    }
    Ok(())
}

fn made_of(text: &str, letters: &[&str]) -> bool {
    text.chars().all(|c| letters.iter().any(|l| l.contains(c)))
}
