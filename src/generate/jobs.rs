//! The jobs of a generated instance: measured workloads, drawn gang sizes and lengths.

use std::collections::BTreeMap;

use rats_domain::decimal::Decimal;
use rats_domain::format::PointFile;
use rats_domain::profile::Profile;
use rats_domain::random::Random;
use rats_domain::topology::Rank;

use super::family::Scale;
use super::features::Features;
use crate::build::Library;
use crate::build::physics::{Step, Stretch, gang_step};
use crate::build::scenario::ScenarioJob;
use crate::build::site::Site;

/// Gang sizes and how many of 80 jobs ask for them (Wang, Shi, Wang, Chu, "Communication Contention Aware Scheduling of
/// Multiple Deep Learning Training Jobs", 2020).
pub const GANGS: [(u32, usize); 6] = [(1, 40), (2, 7), (4, 13), (8, 15), (16, 4), (32, 1)];
/// Where gangs may be wider: how many of 1000 jobs ask for 64, 128 and 256 GPUs; assumed.
const WIDE_GANGS: [(u32, usize); 3] = [(64, 3), (128, 2), (256, 1)];
/// Time before the first step, s; assumed.
pub const STARTUP_S: f64 = 60.0;
/// Draws before a workload that does not suit a gang is taken for impossible.
const DRAWS: usize = 200;

/// Draws what a job trains and how; `None` if nothing suits the cluster.
pub(super) struct Drawer<'a> {
    pub library: &'a Library,
    pub site: &'a Site<'a>,
    pub features: &'a Features,
    pub scale: &'a Scale,
}

impl Drawer<'_> {
    /// A job.
    pub fn job(&self, random: &mut Random, id: &str) -> Option<ScenarioJob> {
        (0..DRAWS).find_map(|_| self.attempt(random, id))
    }

    fn attempt(&self, random: &mut Random, id: &str) -> Option<ScenarioJob> {
        let here: Vec<&Profile> =
            self.library.values().filter(|profile| self.site.gpu_type(&profile.gpu_type).is_some()).collect();
        let profile = *here.get(random.below(here.len()))?;
        let gang = self.gang(random, profile)?;
        let length = self.length(random);
        let seconds = length as f64 * self.scale.tick_s as f64 * (850 + random.within(0, 140)) as f64 / 1000.0;
        let step_s = self.step_s(profile, gang)?;
        let points = points(random, profile, self.scale.points);
        let mut profiles = vec![profile.id.clone()];
        let same = |other: &&&Profile| other.gpu_type != profile.gpu_type && other.workload == profile.workload;
        if self.features.types > 1
            && random.chance(60)
            && let Some(other) = here.iter().find(same)
        {
            profiles.push(other.id.clone());
        }
        let mut offered = points;
        if let Some(other) = profiles.get(1).and_then(|id| self.library.get(id)) {
            offered.extend(self::points(random, other, self.scale.points));
        }
        offered.dedup();
        let memory = profile.memory_mib.as_ref();
        let cores = [2, 4, 8, 12][random.below(4)];
        Some(ScenarioJob {
            id: id.to_owned(),
            gpus: self.sizes(random, gang, profile),
            steps: Some(((seconds - STARTUP_S).max(step_s) / step_s).ceil()),
            points: offered,
            memory_mib: memory.map(|figure| crate::build::physics::whole(figure.value)),
            per_gpu: self.cores(cores),
            workload: Some(workload(profile)),
            profiles,
            ..ScenarioJob::default()
        })
    }

    fn cores(&self, cores: i64) -> BTreeMap<String, Decimal> {
        if self.features.cores {
            BTreeMap::from([("cpu_cores".to_owned(), Decimal::from(cores))])
        } else {
            BTreeMap::new()
        }
    }

    /// A gang size of the mix, at most half of the GPUs of its type.
    fn gang(&self, random: &mut Random, profile: &Profile) -> Option<u32> {
        let kind = self.site.gpu_type(&profile.gpu_type)?;
        let most = self.site.spans().last().map_or(1, |(rank, _)| self.site.most_gpus(kind, rank)) / 2;
        let mut gang = pick(random, &GANGS, 80);
        if self.scale.gang > 32 {
            let wide = random.below(1000);
            let mut passed = 0;
            for (size, share) in WIDE_GANGS {
                if (passed..passed + share).contains(&wide) {
                    gang = size;
                }
                passed += share;
            }
        }
        while gang > 1 && (gang > self.scale.gang || gang as usize > most) {
            gang /= 2;
        }
        Some(gang)
    }

    /// What was asked for first; moldable jobs can also have half or double the GPUs.
    fn sizes(&self, random: &mut Random, gang: u32, profile: &Profile) -> Vec<i64> {
        let mut sizes = vec![i64::from(gang)];
        if gang > 1 && random.chance(50) {
            sizes.push(i64::from(gang / 2));
        }
        let kind = self.site.gpu_type(&profile.gpu_type);
        let fits = kind.is_some_and(|kind| self.site.most_gpus(kind, Rank::NODE) >= 2 * gang as usize);
        if fits && random.chance(25) {
            sizes.push(i64::from(2 * gang));
        }
        sizes
    }

    /// Many short jobs, few long ones.
    fn length(&self, random: &mut Random) -> i64 {
        let (least, most) = self.scale.lengths;
        let middle = least + (most - least) / 3;
        if random.chance(70) { random.within(least, middle) } else { random.within(middle, most) }
    }

    /// Seconds of one step as asked for, in the narrowest span that holds the gang.
    fn step_s(&self, profile: &Profile, gang: u32) -> Option<f64> {
        let kind = self.site.gpu_type(&profile.gpu_type)?;
        let span = self.site.spans().find(|&(rank, _)| self.site.most_gpus(kind, rank) >= gang as usize)?;
        let point = profile.operating_points().next()?;
        let figure = |figure: &Option<rats_domain::format::Figure>| figure.as_ref().map_or(0.0, |figure| figure.value);
        let step = Step {
            seconds: point.step_s,
            watts: point.power_w,
            blocked_w: 0.0,
            gradient_bytes: figure(&profile.gradient_bytes),
            input_bytes: figure(&profile.input_bytes_per_step),
            overlap: figure(&profile.overlap),
        };
        let all = Stretch { ring: 1.0, read: 1.0 };
        let found = gang_step(&step, gang, &self.site.network(kind, span, gang), all)?;
        // A gang that mostly waits for its ring is not what anyone would ask for.
        (found.seconds <= 4.0 * point.step_s).then_some(found.seconds)
    }
}

fn pick(random: &mut Random, shares: &[(u32, usize)], of: usize) -> u32 {
    let mut at = random.below(of);
    for &(value, share) in shares {
        if at < share {
            return value;
        }
        at -= share;
    }
    1
}

/// The highest point and some below it.
fn points(random: &mut Random, profile: &Profile, most: usize) -> Vec<PointFile> {
    let mut all: Vec<PointFile> = profile.operating_points().map(|point| point.point).collect();
    while all.len() > most {
        let drop = 1 + random.below(all.len() - 1);
        all.remove(drop);
    }
    all
}

fn workload(profile: &Profile) -> String {
    profile.id.strip_prefix(&format!("{}-", profile.gpu_type)).unwrap_or(&profile.id).to_owned()
}
