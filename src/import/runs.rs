//! Traces of runs that `rats execute` carried out: what was measured, as profiles.

use std::path::{Path, PathBuf};

use rats_domain::codes::Code;
use rats_domain::problem::{Problem, Problems};
use rats_testbed::trace::{TRACE_FILE, read};
use rats_testbed::verdict::{profiles, usable};

use super::{FileRows, Imported, finished};

/// Reads folders of runs, or their traces; what several of them measured of the same workload becomes one profile. A run of
/// which no job succeeded is damage.
///
/// # Errors
/// U01, X11: a trace cannot be read or is none.
pub fn import_runs(paths: &[PathBuf]) -> Result<Imported, Problems> {
    let mut imported = Imported::default();
    let (mut jobs, mut sources) = (Vec::new(), Vec::new());
    for path in paths {
        let path = file_of(path);
        let name = path.display().to_string();
        if sources.contains(&name) {
            return Err(Problem::new(Code::U05, name, "is given twice. Name each run once.").into());
        }
        let trace = read(&path)?;
        if trace.begins().next().is_none() {
            return Err(Problem::new(Code::X11, name, "holds no run.").into());
        }
        imported.findings.files.push(FileRows { path: name.clone(), rows: trace.lines.len(), left_out: 0 });
        if trace.is_torn {
            imported.findings.notes.push(format!("{name}: the last line was cut short and is left out"));
        }
        match usable(&trace, &name) {
            Ok(found) => {
                jobs.extend(found);
                sources.push(name);
            }
            Err(problem) => imported.findings.damaged.push(problem),
        }
    }
    imported.profiles = profiles(&jobs, &sources.join(", "));
    Ok(finished(imported))
}

fn file_of(path: &Path) -> PathBuf {
    if path.is_dir() { path.join(TRACE_FILE) } else { path.to_owned() }
}
