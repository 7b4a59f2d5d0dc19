//! Dependencies point one way. This reads the imports of every source file and holds them against the table.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// What each module may name of the crate. `cli` wires everything and is not listed.
const MAY_USE: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("catalog", &["model"]),
    ("requests", &["model", "catalog"]),
    ("api", &["model"]),
    ("plan", &["model", "catalog"]),
    ("store", &["model", "requests"]),
    ("config", &["model", "catalog", "api"]),
    ("engine", &["model", "catalog", "requests", "api", "plan", "store"]),
    ("sim", &["model", "catalog", "api"]),
    ("tui", &["model", "catalog", "plan", "engine", "report"]),
    ("report", &["model", "engine"]),
];

/// What only the screens may name.
const SCREEN_CRATES: &[&str] = &["ratatui", "crossterm"];

fn sources(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
    found
}

/// The modules of the crate that a text names by `crate::…`, in a `use` with braces too.
fn modules_named(text: &str) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
        for (at, _) in line.match_indices("crate::") {
            let rest = &line[at + "crate::".len()..];
            let word = |s: &str| s.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
            match rest.strip_prefix('{') {
                Some(list) => named.extend(list.split(',').map(|item| word(item.trim()))),
                None => {
                    named.insert(word(rest));
                }
            }
        }
    }
    named
}

#[test]
fn imports_point_one_way() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    for (module, allowed) in MAY_USE {
        for file in sources(&src.join(module)) {
            let text = fs::read_to_string(&file).unwrap();
            for named in modules_named(&text) {
                let known = MAY_USE.iter().any(|(name, _)| *name == named) || named == "cli";
                if known && named != *module && !allowed.contains(&named.as_str()) {
                    wrong.push(format!("{} names crate::{named}", file.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn only_the_screens_know_the_terminal() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    for (module, _) in MAY_USE.iter().filter(|(name, _)| *name != "tui") {
        for file in sources(&src.join(module)) {
            let text = fs::read_to_string(&file).unwrap();
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            for (line, name) in code.flat_map(|line| SCREEN_CRATES.iter().map(move |name| (line, name))) {
                if line.contains(&format!("{name}::")) {
                    wrong.push(format!("{}: {}", file.display(), line.trim()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_check_sees_what_it_is_to_forbid() {
    let text =
        "use crate::tui::guard;\n// use crate::sim::x;\nuse crate::{model, store::Writer};\nlet x = crate::api::y();";
    let named: Vec<_> = modules_named(text).into_iter().collect();
    assert_eq!(named, ["api", "model", "store", "tui"]);
}
