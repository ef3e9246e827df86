//! Names with wildcards, and the kinds of objects, as plugins/guard takes them: * stands for any text
//! without a slash, ? for one character of such, [a-c] and [^a-c] for one of a class, and \ takes what
//! follows as it is.

/// One part of a pattern.
enum Part {
    Any,
    One,
    Char(char),
    Class(bool, Vec<(char, char)>), // whether it is negated, and its ranges
}

/// Reads a pattern; None where it is malformed.
fn parse(pattern: &str) -> Option<Vec<Part>> {
    let mut rest = pattern.chars().peekable();
    let mut parts = Vec::new();
    while let Some(c) = rest.next() {
        parts.push(match c {
            '*' => Part::Any,
            '?' => Part::One,
            '\\' => Part::Char(rest.next()?),
            '[' => {
                let negated = rest.next_if_eq(&'^').is_some();
                let mut ranges = Vec::new();
                while ranges.is_empty() || rest.peek()? != &']' {
                    let low = class_char(&mut rest)?;
                    let high = match rest.next_if_eq(&'-') {
                        Some(_) => class_char(&mut rest)?,
                        None => low,
                    };
                    ranges.push((low, high));
                }
                rest.next();
                Part::Class(negated, ranges)
            }
            c => Part::Char(c),
        });
    }
    Some(parts)
}

/// One character of a class, which does not end with it.
fn class_char(rest: &mut std::iter::Peekable<std::str::Chars>) -> Option<char> {
    let c = match rest.next()? {
        '-' | ']' => return None,
        '\\' => rest.next()?,
        c => c,
    };
    rest.peek()?;
    Some(c)
}

/// Whether every name could be held against the pattern.
pub fn valid(pattern: &str) -> bool {
    parse(pattern).is_some()
}

/// Whether a name fits a pattern; none fits a malformed one.
pub fn fits(pattern: &str, name: &str) -> bool {
    let parts = match parse(pattern) {
        Some(parts) => parts,
        None => return false,
    };
    let name: Vec<char> = name.chars().collect();
    let (mut p, mut n) = (0, 0);
    // After the last * that was met, and the text that it does not stand for yet.
    let mut star: Option<(usize, usize)> = None;
    while p < parts.len() || n < name.len() {
        let fit = match (parts.get(p), name.get(n)) {
            (Some(Part::Any), _) => {
                star = Some((p + 1, n));
                p += 1;
                continue;
            }
            (Some(Part::One), Some(c)) => *c != '/',
            (Some(Part::Char(want)), Some(c)) => want == c,
            (Some(Part::Class(negated, ranges)), Some(c)) => ranges.iter().any(|(low, high)| low <= c && c <= high) != *negated,
            _ => false,
        };
        if fit {
            p += 1;
            n += 1;
            continue;
        }
        match star {
            Some((after, at)) if at < name.len() && name[at] != '/' => {
                star = Some((after, at + 1));
                p = after;
                n = at + 1;
            }
            _ => return false,
        }
    }
    true
}

/// Whether a kind fits a pattern, as kubectl takes it: in any case, as the kind, as the plural that its
/// resource is called, or by its short name.
pub fn fits_kind(pattern: &str, kind: &str) -> bool {
    let (pattern, kind) = (pattern.to_lowercase(), kind.to_lowercase());
    fits(&pattern, &kind)
        || fits(&pattern, &plural(&kind))
        || SHORT_NAMES.iter().any(|(short, long)| *short == pattern && *long == kind)
}

/// What a resource of a kind in lower case is called, by the rule that Kubernetes' own kinds follow.
fn plural(kind: &str) -> String {
    if kind.ends_with("endpoints") {
        return kind.into();
    }
    if kind.ends_with('s') {
        return format!("{}es", kind);
    }
    match kind.strip_suffix('y') {
        Some(stem) => format!("{}ies", stem),
        None => format!("{}s", kind),
    }
}

/// The short names of Kubernetes' own kinds.
const SHORT_NAMES: &[(&str, &str)] = &[
    ("cj", "cronjob"), ("cm", "configmap"), ("crd", "customresourcedefinition"), ("crds", "customresourcedefinition"),
    ("deploy", "deployment"), ("ds", "daemonset"), ("ep", "endpoints"), ("hpa", "horizontalpodautoscaler"),
    ("ing", "ingress"), ("netpol", "networkpolicy"), ("ns", "namespace"), ("pc", "priorityclass"),
    ("pdb", "poddisruptionbudget"), ("po", "pod"), ("pv", "persistentvolume"), ("pvc", "persistentvolumeclaim"),
    ("quota", "resourcequota"), ("limits", "limitrange"), ("rc", "replicationcontroller"), ("rs", "replicaset"),
    ("sa", "serviceaccount"), ("sc", "storageclass"), ("sts", "statefulset"), ("svc", "service"),
];
