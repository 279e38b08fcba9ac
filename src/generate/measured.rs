//! Measured profiles that the program carries, so that a bare binary builds and generates.
//!
//! `measured.json` is a list of `rats.profile/1` documents; each says who measured what, where it was published and
//! which figures are assumed. It is a frozen copy: instances generated from a seed must not change when the profile
//! library is imported anew.

use rats_domain::format::ProfileFile;
use rats_domain::profile::Profile;

use crate::build::Library;

const TEXT: &str = include_str!("measured.json");

/// The profiles by name.
pub fn library() -> Library {
    // That the text is in order is a test.
    let files: Vec<ProfileFile> = serde_json::from_str(TEXT).unwrap_or_default();
    files.into_iter().filter_map(|file| Profile::new(file).ok()).map(|profile| (profile.id.clone(), profile)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_is_valid_and_names_its_source() {
        let files: Vec<ProfileFile> = serde_json::from_str(TEXT).unwrap();
        let library = library();
        assert_eq!(library.len(), files.len());
        for profile in library.values() {
            assert!(profile.operating_points().count() >= 5, "{}", profile.id);
            assert!(profile.source.commit.is_some() && profile.source.licence.is_some(), "{}", profile.id);
            assert!(profile.gradient_bytes.is_some() && profile.input_bytes_per_step.is_some(), "{}", profile.id);
        }
    }
}
