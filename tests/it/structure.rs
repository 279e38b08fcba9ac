//! The house style that a program can check: small files, and pages that name only what a clone has.

use std::path::{Path, PathBuf};

/// Most lines of production code in one file.
const MOST_LINES: usize = 500;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All files with this extension below the folders of our own.
fn files(extension: &str) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = ["crates", "solvers", "src", "tests", "benches", "docs", "instances"]
        .iter()
        .map(|name| root().join(name))
        .collect();
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("readable").map(|entry| entry.expect("readable").path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else if entry.extension().is_some_and(|found| found == extension) {
                found.push(entry);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn no_file_outgrows_one_concept() {
    let production = |text: &str| text.lines().take_while(|line| !line.starts_with("#[cfg(test)]")).count();
    let long = files("rs").into_iter().filter_map(|path| {
        let lines = production(&std::fs::read_to_string(&path).expect("text"));
        (lines > MOST_LINES).then(|| format!("{}: {lines} lines", path.display()))
    });
    assert_eq!(long.collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn every_module_says_what_it_is_for() {
    let silent = files("rs").into_iter().filter(|path| {
        let text = std::fs::read_to_string(path).expect("text");
        !text.starts_with("//!")
    });
    assert_eq!(silent.collect::<Vec<_>>(), Vec::<PathBuf>::new());
}

#[test]
fn links_between_pages_lead_somewhere() {
    let mut pages = files("md");
    for name in ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"] {
        pages.push(root().join(name));
    }
    let mut broken = Vec::new();
    for page in pages {
        let text = std::fs::read_to_string(&page).expect("text");
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = target.split('#').next().unwrap_or_default();
            let is_file = !target.is_empty() && !target.contains("://") && !target.contains(' ');
            if is_file && !page.parent().expect("a folder").join(target).exists() {
                broken.push(format!("{}: {target}", page.display()));
            }
        }
    }
    assert_eq!(broken, Vec::<String>::new());
}
