//! The data set: measured points, pairs and gangs of all sources in three tidy tables.
//!
//! [`Dataset::write`] puts each table into a folder as CSV and Parquet, with a data dictionary; [`Dataset::read`] reads
//! it back. Rows come out of profiles and pairs by [`from_profiles`].

mod column;
mod counters;
mod csv_file;
mod dictionary;
mod from_profiles;
mod library;
mod parquet_file;
mod rows;
mod summary;
mod tables;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};

use rats_domain::codes::Code;
use rats_domain::problem::{Problem, Problems};
use rats_system::files;

pub use self::column::{Cell, Column, Type};
pub use self::counters::{COUNTERS, Counter};
pub use self::dictionary::dictionary;
pub use self::from_profiles::from_profiles;
pub use self::rows::{Dataset, Gang, Pair, Point, Provenance, Side};
pub use self::summary::{Group, Table, summary};
use self::tables::Row;

impl Dataset {
    /// Writes `points`, `pairs` and `gangs`, each as `.csv` and `.parquet`, and `DICTIONARY.md` into a folder, which is
    /// made if need be. Returns the paths. The same data gives the same bytes.
    ///
    /// # Errors
    /// The folder or a file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<Vec<PathBuf>, Problems> {
        fs::create_dir_all(folder)
            .map_err(|error| Problem::new(Code::U02, folder.display().to_string(), format!("{error}.")))?;
        let mut contents = table(&self.points)?;
        contents.extend(table(&self.pairs)?);
        contents.extend(table(&self.gangs)?);
        contents.push(("DICTIONARY.md".to_owned(), dictionary(self).into_bytes()));
        let mut paths = Vec::new();
        for (name, bytes) in contents {
            let path = folder.join(name);
            files::write(&path, &bytes)?;
            paths.push(path);
        }
        Ok(paths)
    }

    /// Reads the tables of a folder: of each the Parquet file, or the CSV file if there is no other.
    ///
    /// # Errors
    /// A table is missing, or every cell that is wrong, with file, row and column.
    pub fn read(folder: &Path) -> Result<Self, Problems> {
        Ok(Self { points: read(folder)?, pairs: read(folder)?, gangs: read(folder)? })
    }
}

fn table<R: Row>(rows: &[R]) -> Result<Vec<(String, Vec<u8>)>, Problems> {
    let parquet = parquet_file::write(rows)?;
    Ok(vec![(format!("{}.csv", R::TABLE), csv_file::write(rows)), (format!("{}.parquet", R::TABLE), parquet)])
}

fn read<R: Row>(folder: &Path) -> Result<Vec<R>, Problems> {
    let path = |extension| folder.join(format!("{}.{extension}", R::TABLE));
    let (parquet, csv) = (path("parquet"), path("csv"));
    let read = |path: &Path| {
        fs::read(path).map_err(|error| Problem::new(Code::U01, path.display().to_string(), format!("{error}.")))
    };
    if parquet.exists() {
        return parquet_file::read(&parquet.display().to_string(), read(&parquet)?);
    }
    csv_file::read(&csv.display().to_string(), &read(&csv)?)
}
