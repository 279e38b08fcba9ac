//! A folder of profiles and pairs, as `rats import` writes them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rats_domain::codes::Code;
use rats_domain::format::{Document as _, PairsFile};
use rats_domain::pairs::Pairs;
use rats_domain::problem::{Problem, Problems, Warning};
use rats_domain::profile::Profile;
use rats_system::files::{place_warnings, placed};
use serde::Deserialize;

use super::from_profiles::from_profiles;
use super::rows::Dataset;

/// What tells the kind of a document.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    format: String,
}

impl Dataset {
    /// The rows of all profiles and pairs in a folder and below; the order of files does not matter.
    ///
    /// # Errors
    /// The folder cannot be read or has no JSON file; every problem of every file.
    pub fn of_profiles(folder: &Path) -> Result<(Self, Vec<Warning>), Problems> {
        let mut paths = Vec::new();
        collect(folder, &mut paths)
            .map_err(|(path, error)| Problem::new(Code::U01, path.display().to_string(), format!("{error}.")))?;
        if paths.is_empty() {
            return Err(Problem::new(Code::D12, folder.display().to_string(), "holds no profile.").into());
        }
        let mut library = Library::default();
        let mut problems = Vec::new();
        for path in paths {
            if let Err(found) = library.add(&path) {
                problems.extend(placed(&path, found).0);
            }
        }
        if !problems.is_empty() {
            return Err(Problems(problems));
        }
        let (data, found) = from_profiles(&library.profiles, &library.pairs);
        library.warnings.extend(found);
        Ok((data, library.warnings))
    }
}

/// What was read so far.
#[derive(Default)]
struct Library {
    profiles: Vec<Profile>,
    pairs: Vec<Pairs>,
    warnings: Vec<Warning>,
}

impl Library {
    fn add(&mut self, path: &Path) -> Result<(), Problems> {
        let bytes = fs::read(path).map_err(|error| Problem::new(Code::U01, "file", format!("{error}.")))?;
        let is_pairs = serde_json::from_slice::<Head>(&bytes).is_ok_and(|head| head.format == PairsFile::FORMAT);
        let mut found = if is_pairs {
            let (pairs, found) = Pairs::read(&bytes)?;
            self.pairs.push(pairs);
            found
        } else {
            let read = Profile::read(&bytes)?;
            self.profiles.push(read.profile);
            read.warnings
        };
        place_warnings(path, &mut found);
        self.warnings.extend(found);
        Ok(())
    }
}

/// The JSON files of a folder and of those below, by name.
fn collect(folder: &Path, paths: &mut Vec<PathBuf>) -> Result<(), (PathBuf, io::Error)> {
    let unreadable = |error| (folder.to_owned(), error);
    let entries: io::Result<Vec<_>> = fs::read_dir(folder).map_err(unreadable)?.collect();
    let mut entries: Vec<_> = entries.map_err(unreadable)?.iter().map(fs::DirEntry::path).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            collect(&path, paths)?;
        } else if path.extension().is_some_and(|extension| extension == "json") {
            paths.push(path);
        }
    }
    Ok(())
}
