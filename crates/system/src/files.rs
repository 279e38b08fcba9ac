//! Files in and out: reading with every problem named, writing all or nothing.

use std::fs::{self, File, Permissions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use rats_domain::codes::Code;
use rats_domain::problem::{Problem, Problems, Warning};

/// The path that stands for standard input or output.
pub const STANDARD: &str = "-";

/// Writes a file so that readers see the old or the new content, never a part: a temporary file in the same directory
/// is written, synced and renamed. What exists and is no regular file (a pipe, `/dev/null`) is written to directly.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, content: &[u8]) -> Result<(), Problem> {
    atomically(path, content).map_err(|error| unwritable(path, &error))
}

/// Writes what took long to make: if the file cannot be written, the content goes to the directory for temporary files.
///
/// # Errors
/// The file cannot be written; the message names the other file.
pub fn write_or_rescue(path: &Path, content: &[u8]) -> Result<(), Problem> {
    write(path, content).map_err(|problem| match rescue(path, content) {
        Ok(kept) => Problem { message: format!("{} It was kept as {}.", problem.message, kept.display()), ..problem },
        Err(_) => problem,
    })
}

fn rescue(path: &Path, content: &[u8]) -> io::Result<PathBuf> {
    let suffix = path.extension().map_or_else(String::new, |extension| format!(".{}", extension.to_string_lossy()));
    let mut file = tempfile::Builder::new().prefix("rats-rescued-").suffix(&suffix).tempfile()?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    Ok(file.keep()?.1)
}

/// Refuses an output that is one of the inputs.
///
/// # Errors
/// Both paths lead to one file.
pub fn keep_apart<'p>(output: &Path, inputs: impl IntoIterator<Item = &'p Path>) -> Result<(), Problem> {
    let target = fs::canonicalize(output).ok();
    let clash = |input: &&Path| target.is_some() && !is_special(input) && fs::canonicalize(input).ok() == target;
    let message = |input: &Path| format!("`{}` would overwrite the input `{}`.", output.display(), input.display());
    let clash = inputs.into_iter().find(clash);
    clash.map_or(Ok(()), |input| Err(Problem::new(Code::U05, "command line", message(input))))
}

/// Refuses to read standard input more than once.
///
/// # Errors
/// Two of the paths are `-`.
pub fn standard_once<'p>(inputs: impl IntoIterator<Item = &'p Path>) -> Result<(), Problem> {
    let uses = inputs.into_iter().filter(|path| *path == STANDARD).count();
    let problem = || Problem::new(Code::U05, "command line", "standard input can be read once.");
    if uses > 1 { Err(problem()) } else { Ok(()) }
}

/// Whether [`write()`] could succeed, asked before hours of work depend on it.
///
/// # Errors
/// A file cannot be made there.
pub fn can_write(path: &Path) -> Result<(), Problem> {
    let target = target_of(path);
    let probe = if target.is_dir() || path.as_os_str().to_string_lossy().ends_with('/') {
        Err(io::ErrorKind::IsADirectory.into())
    } else if is_special(&target) {
        Ok(())
    } else {
        tempfile::Builder::new().prefix(".rats-").tempfile_in(directory_of(&target)).map(drop)
    };
    probe.map_err(|error| unwritable(path, &error))
}

/// An error of a file with the file's name in front.
pub fn placed(path: &Path, problems: Problems) -> Problems {
    let place = |problem: Problem| Problem { place: format!("{}: {}", path.display(), problem.place), ..problem };
    Problems(problems.0.into_iter().map(place).collect())
}

/// Puts the file's name in front of the places of warnings.
pub fn place_warnings(path: &Path, warnings: &mut [Warning]) {
    for warning in warnings {
        warning.place = format!("{}: {}", path.display(), warning.place);
    }
}

/// Reads a text file; `-` is standard input.
///
/// # Errors
/// The file cannot be read or is no text.
pub fn read_text(path: &Path) -> Result<String, Problem> {
    let problem = |error| Problem::new(Code::R01, path.display().to_string(), format!("{error}."));
    String::from_utf8(bytes(path)?).map_err(problem)
}

/// The bytes of a file; `-` is standard input.
///
/// # Errors
/// The file cannot be read.
pub fn bytes(path: &Path) -> Result<Vec<u8>, Problem> {
    let content = if path == Path::new(STANDARD) {
        let mut content = Vec::new();
        io::stdin().lock().read_to_end(&mut content).map(|_| content)
    } else {
        fs::read(path)
    };
    content.map_err(|error| Problem::new(Code::U01, path.display().to_string(), sentence(&error)))
}

fn atomically(path: &Path, content: &[u8]) -> io::Result<()> {
    let target = target_of(path);
    if is_special(&target) {
        return File::options().write(true).open(&target)?.write_all(content);
    }
    let directory = directory_of(&target);
    let mut builder = tempfile::Builder::new();
    builder.prefix(".rats-");
    #[cfg(unix)]
    builder.permissions(<Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o666));
    let mut file = builder.tempfile_in(&directory)?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    file.persist(&target)?;
    // Not every file system can sync a directory; the file itself is safe.
    let _ = File::open(&directory).and_then(|directory| directory.sync_all());
    Ok(())
}

/// A symbolic link stays one: what it points to is replaced.
fn target_of(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn is_special(target: &Path) -> bool {
    fs::metadata(target).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

fn unwritable(path: &Path, error: &io::Error) -> Problem {
    Problem::new(Code::U02, path.display().to_string(), sentence(error))
}

fn directory_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// An error of the system as a sentence, without its number.
pub fn sentence(error: &io::Error) -> String {
    let text = error.to_string();
    format!("{}.", text.split(" (os error").next().unwrap_or(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writing_replaces_the_whole_file_and_leaves_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("plan.json");
        write(&path, b"a long first content").unwrap();
        write(&path, b"second").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_missing_directory_is_u02() {
        let directory = tempfile::tempdir().unwrap();
        let problem = write(&directory.path().join("no/plan.json"), b"").unwrap_err();
        assert_eq!(problem.code, Code::U02);
        assert_eq!(can_write(&directory.path().join("no/plan.json")), Err(problem));
        assert_eq!(can_write(&directory.path().join("plan.json")), Ok(()));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_directory_is_no_output() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(can_write(directory.path()).unwrap_err().code, Code::U02);
        assert_eq!(can_write(&directory.path().join("new/")).unwrap_err().code, Code::U02);
    }

    #[test]
    fn what_cannot_be_written_is_kept_elsewhere_and_named() {
        let directory = tempfile::tempdir().unwrap();
        let problem = write_or_rescue(&directory.path().join("no/plan.json"), b"kept").unwrap_err();
        let kept = problem.message.split("It was kept as ").nth(1).unwrap().trim_end_matches('.');
        assert_eq!(Path::new(kept).extension(), Some("json".as_ref()));
        assert_eq!(fs::read(kept).unwrap(), b"kept");
        fs::remove_file(kept).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_symbolic_link_stays_one() {
        let directory = tempfile::tempdir().unwrap();
        let (file, link) = (directory.path().join("file"), directory.path().join("link"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write(&link, b"new").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }
}
