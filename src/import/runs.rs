//! Traces of runs that `rats execute` carried out: what was measured, as profiles.

use std::path::{Path, PathBuf};

use rats_domain::codes::Code;
use rats_domain::problem::{Problem, Problems};
use rats_testbed::trace::{TRACE_FILE, read};
use rats_testbed::verdict::profiles;

use super::{FileRows, Imported, finished};

/// Reads folders of runs, or their traces. A run of which no job succeeded is damage.
///
/// # Errors
/// U01, X11: a trace cannot be read or is none.
pub fn import_runs(paths: &[PathBuf]) -> Result<Imported, Problems> {
    let mut imported = Imported::default();
    for path in paths {
        let path = file_of(path);
        let name = path.display().to_string();
        let trace = read(&path)?;
        if trace.begins().next().is_none() {
            return Err(Problem::new(Code::X11, name, "holds no run.").into());
        }
        let found = profiles(&trace, &name);
        let (rows, left_out) = (trace.lines.len(), 0);
        imported.findings.files.push(FileRows { path: name.clone(), rows, left_out });
        if trace.is_torn {
            imported.findings.notes.push(format!("{name}: the last line was cut short and is left out"));
        }
        match found {
            Ok(found) => imported.profiles.extend(found),
            Err(problem) => imported.findings.damaged.push(problem),
        }
    }
    Ok(finished(imported))
}

fn file_of(path: &Path) -> PathBuf {
    if path.is_dir() { path.join(TRACE_FILE) } else { path.to_owned() }
}
