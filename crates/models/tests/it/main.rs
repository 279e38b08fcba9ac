//! Models on measured data: on the profiles that ship, and on whole public data sets where `RATS_DATA_DIR` names their folder.
//! Where it does not the latter say so.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where it stopped")]

mod gavel;
mod measured;
mod scaling;

/// The folder of a data set, or `None` after saying that the test is passed over.
fn data(set: &str) -> Option<std::path::PathBuf> {
    let folder = std::env::var_os("RATS_DATA_DIR").map(|folder| std::path::Path::new(&folder).join(set));
    if folder.is_none() {
        println!("passed over: RATS_DATA_DIR does not name the folder of the data");
    }
    folder
}
