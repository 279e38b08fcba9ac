//! What a journal says: settings that were made and not undone, process groups that were started and have not ended.

use std::collections::BTreeMap;

use rats_domain::units::Milliwatts;

use super::Entry;
use crate::gpu::{Setting, Uuid};

/// A setting that may still be in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A locked SM clock.
    SmLock,
    /// A locked memory clock.
    MemLock,
    /// A power limit.
    PowerLimit(PowerMark),
}

/// A power limit that may still be in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PowerMark {
    /// What it was.
    pub before: Milliwatts,
    /// What we set it to, one after the other. Any of them may be in force: the last may never have been made.
    pub ours: Vec<Milliwatts>,
}

/// The sum of a journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// By GPU and setting, with the number of times that it was made.
    settings: BTreeMap<(Uuid, Setting), (Mark, usize)>,
    /// Start of the leader by process group.
    groups: BTreeMap<u32, u64>,
}

impl Mark {
    /// Which setting.
    pub fn setting(&self) -> Setting {
        match self {
            Self::SmLock => Setting::SmLock,
            Self::MemLock => Setting::MemLock,
            Self::PowerLimit(_) => Setting::PowerLimit,
        }
    }
}

impl Marks {
    /// What the entries add up to.
    pub fn of(entries: &[Entry]) -> Self {
        let mut marks = Self::default();
        for entry in entries {
            marks.add(entry);
        }
        marks
    }

    /// Adds one entry.
    pub fn add(&mut self, entry: &Entry) {
        match entry {
            Entry::Begin { .. } => {}
            Entry::Lock { gpu, setting, .. } => {
                let mark = if *setting == Setting::MemLock { Mark::MemLock } else { Mark::SmLock };
                self.settings.entry((gpu.clone(), mark.setting())).or_insert((mark, 0)).1 += 1;
            }
            Entry::Limit { gpu, found_mw, value_mw } => self.limit(gpu, Milliwatts(*found_mw), Milliwatts(*value_mw)),
            Entry::Rounded { gpu, value_mw } => {
                if let Some((Mark::PowerLimit(mark), _)) = self.settings.get_mut(&(gpu.clone(), Setting::PowerLimit)) {
                    mark.ours.push(Milliwatts(*value_mw));
                }
            }
            Entry::Undone { gpu, setting } => {
                self.settings.remove(&(gpu.clone(), *setting));
            }
            Entry::Job { leader, start } => {
                self.groups.insert(*leader, *start);
            }
            Entry::JobEnded { leader } => {
                self.groups.remove(leader);
            }
        }
    }

    fn limit(&mut self, gpu: &Uuid, found: Milliwatts, value: Milliwatts) {
        let fresh = (Mark::PowerLimit(PowerMark { before: found, ours: Vec::new() }), 0);
        let entry = self.settings.entry((gpu.clone(), Setting::PowerLimit)).or_insert(fresh);
        entry.1 += 1;
        if let Mark::PowerLimit(mark) = &mut entry.0 {
            // Somebody else set it in between: what they set is what is put back.
            if !mark.ours.contains(&found) {
                mark.before = found;
            }
            mark.ours.push(value);
        }
    }

    /// Whether nothing is left to undo.
    pub fn is_empty(&self) -> bool {
        self.settings.is_empty()
    }

    /// The GPUs with marks, in order.
    pub fn gpus(&self) -> Vec<Uuid> {
        let mut gpus: Vec<Uuid> = self.settings.keys().map(|(gpu, _)| gpu.clone()).collect();
        gpus.dedup();
        gpus
    }

    /// The marks of a GPU.
    pub fn of_gpu(&self, gpu: &Uuid) -> Vec<Mark> {
        self.settings.iter().filter(|((of, _), _)| of == gpu).map(|(_, (mark, _))| mark.clone()).collect()
    }

    /// Whether a setting was made exactly once.
    pub(super) fn is_first(&self, gpu: &Uuid, setting: Setting) -> bool {
        self.settings.get(&(gpu.clone(), setting)).is_some_and(|(_, times)| *times == 1)
    }

    /// Process groups that may still run: leader and its start.
    pub fn groups(&self) -> Vec<(u32, u64)> {
        self.groups.iter().map(|(&leader, &start)| (leader, start)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(found: i64, value: i64) -> Entry {
        Entry::Limit { gpu: Uuid::new("GPU-1"), found_mw: found, value_mw: value }
    }

    fn power(marks: &Marks) -> PowerMark {
        match marks.of_gpu(&Uuid::new("GPU-1")).as_slice() {
            [Mark::PowerLimit(mark)] => mark.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_limit_to_put_back_is_the_one_found_first() {
        let marks = Marks::of(&[limit(250, 200), limit(200, 180)]);
        assert_eq!(power(&marks), PowerMark { before: Milliwatts(250), ours: vec![Milliwatts(200), Milliwatts(180)] });
        assert!(!marks.is_first(&Uuid::new("GPU-1"), Setting::PowerLimit));
    }

    #[test]
    fn a_limit_that_somebody_else_set_in_between_is_the_one_to_put_back() {
        let marks = Marks::of(&[limit(250, 200), limit(230, 180)]);
        assert_eq!(power(&marks).before, Milliwatts(230));
    }

    #[test]
    fn what_was_undone_is_no_mark() {
        let gpu = Uuid::new("GPU-1");
        let lock = Entry::Lock { gpu: gpu.clone(), setting: Setting::SmLock, mhz: 900 };
        let undone = Entry::Undone { gpu: gpu.clone(), setting: Setting::SmLock };
        assert!(!Marks::of(&[undone.clone(), lock.clone()]).is_empty());
        assert!(Marks::of(&[lock, undone]).is_empty());
        let groups = Marks::of(&[
            Entry::Job { leader: 5, start: 9 },
            Entry::Job { leader: 6, start: 9 },
            Entry::JobEnded { leader: 5 },
        ]);
        assert_eq!(groups.groups(), [(6, 9)]);
    }
}
