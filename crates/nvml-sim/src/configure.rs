//! The arguments that describe a simulated machine, for every command that writes a configuration.

use std::path::PathBuf;

use clap::Args;

use crate::compose::{Request, compose};
use crate::config::{Config, Privilege};
use crate::error::SimError;

/// A machine to simulate.
#[derive(Args, Clone, Debug)]
pub struct ConfigArguments {
    /// Types by name of the catalogue with how many of each: 4xA100-SXM4-80GB,2xA40.
    #[arg(long, value_delimiter = ',', required = true, value_parser = counted)]
    pub gpus: Vec<(String, u32)>,
    /// NAME=PROFILE[,PROFILE...]: a workload and its profiles, one for each type; types without one take the first's.
    #[arg(long, required = true, value_parser = named)]
    pub workload: Vec<(String, Profiles)>,
    /// Simulated seconds in a real one.
    #[arg(long, default_value_t = 1.0)]
    pub speedup: f64,
    /// Seed of UUIDs and of how each GPU differs.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// INDEX=FACTOR: a GPU whose steps take FACTOR times as long.
    #[arg(long, value_parser = slow)]
    pub slow: Option<(u32, f64)>,
    /// Settings need root, as on a real machine.
    #[arg(long)]
    pub root_only: bool,
    /// Folder with gpus/ and profiles/.
    #[arg(long, default_value = "instances")]
    pub instances: PathBuf,
    /// Where to write; state, journal and faults lie beside it.
    #[arg(long, short)]
    pub out: PathBuf,
}

/// Ids of profiles: a list that is one value on the command line.
type Profiles = Vec<String>;

/// Writes the configuration that the arguments describe, and reads it once to be sure of it.
///
/// # Errors
/// A type or profile does not exist or cannot be used, or the file cannot be written.
pub fn configure(arguments: &ConfigArguments) -> Result<(), SimError> {
    let request = Request {
        instances: arguments.instances.clone(),
        gpus: arguments.gpus.clone(),
        workloads: arguments.workload.clone(),
        speedup: arguments.speedup,
        seed: arguments.seed,
        slow: arguments.slow,
        settings_need: if arguments.root_only { Privilege::Root } else { Privilege::Anyone },
    };
    let wrong = |message: String| SimError::Config { path: arguments.out.clone(), message };
    let text = serde_json::to_vec_pretty(&compose(&request)?).map_err(|error| wrong(error.to_string()))?;
    rats_system::files::write(&arguments.out, &text).map_err(|problem| wrong(problem.message))?;
    Config::load(&arguments.out).map(drop)
}

fn counted(text: &str) -> Result<(String, u32), String> {
    let parts = text.split_once('x').and_then(|(count, id)| Some((id.to_owned(), count.parse().ok()?)));
    parts.ok_or_else(|| format!("`{text}` is not COUNTxTYPE"))
}

fn named(text: &str) -> Result<(String, Profiles), String> {
    let (name, profiles) = text.split_once('=').ok_or_else(|| format!("`{text}` is not NAME=PROFILE"))?;
    Ok((name.to_owned(), profiles.split(',').map(str::to_owned).collect()))
}

fn slow(text: &str) -> Result<(u32, f64), String> {
    let parts = text.split_once('=').and_then(|(gpu, factor)| Some((gpu.parse().ok()?, factor.parse().ok()?)));
    parts.ok_or_else(|| format!("`{text}` is not INDEX=FACTOR"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_values_or_are_refused() {
        assert_eq!(counted("4xA40"), Ok(("A40".to_owned(), 4)));
        assert_eq!(named("net=a,b"), Ok(("net".to_owned(), vec!["a".to_owned(), "b".to_owned()])));
        assert_eq!(slow("2=1.15"), Ok((2, 1.15)));
        assert!(counted("A40").is_err() && named("net").is_err() && slow("2").is_err());
    }
}
