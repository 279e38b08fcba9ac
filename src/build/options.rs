//! All ways to run one job: gang sizes x profiles x operating points x spans x stretches.

use std::collections::BTreeMap;

use rats_domain::codes::Code;
use rats_domain::decimal::Decimal;
use rats_domain::format::PointFile;
use rats_domain::ids::GpuTypeId;
use rats_domain::problem::{Problem, Warning};
use rats_domain::profile::Profile;
use rats_domain::topology::Rank;

use super::choice::{Behind, Choice, Needs};
use super::fill::{Fills, Predicted};
use super::physics::{self, Frame, Length, Step, Stretch};
use super::scenario::{Scenario, ScenarioJob};
use super::site::Site;

/// Global batches up to this many times the profile's pass without a word.
const BATCH_GROWTH: u32 = 8;

/// Profiles by name.
pub type Library = BTreeMap<String, Profile>;

/// What a job could do, before anything was dropped.
#[derive(Clone, Debug, Default)]
pub struct Enumerated {
    /// All options, what the user asks for first.
    pub choices: Vec<Choice>,
    /// How many of the first are the gang that was asked for, at its highest operating point.
    pub asked_for: usize,
    /// Combinations whose own reads leave nothing for their ring.
    pub starved: usize,
}

/// Turns one job of a scenario into options.
pub struct Enumerator<'a> {
    /// The scenario around it.
    pub scenario: &'a Scenario,
    /// Measured profiles.
    pub library: &'a Library,
    /// What was predicted between measured points.
    pub fills: &'a Fills,
    /// The cluster.
    pub site: &'a Site<'a>,
    /// What is wrong.
    pub problems: Vec<Problem>,
    /// What is suspicious.
    pub warnings: Vec<Warning>,
}

/// What all options of one profile and gang size share.
struct Gang<'a> {
    profile: &'a Profile,
    kind: GpuTypeId,
    gpus: u32,
    steps: f64,
    gradient_bytes: f64,
}

/// An operating point, measured or predicted.
struct Offer {
    point: PointFile,
    step_s: f64,
    power_w: f64,
    predicted: Option<Predicted>,
}

impl<'a> Enumerator<'a> {
    /// All options of a job; problems and warnings are collected.
    pub fn enumerate(&mut self, place: &str, job: &'a ScenarioJob) -> Enumerated {
        let mut found = Enumerated::default();
        let spans = self.spans(place, job);
        let profiles = self.profiles(place, job);
        for (size_at, &size) in job.gpus.iter().enumerate() {
            let Some(gpus) = u32::try_from(size).ok().filter(|&gpus| (1..=1 << 20).contains(&gpus)) else {
                self.wrong(
                    Code::B04,
                    format!("{place}.gpus[{size_at}]"),
                    format!("{size} is no gang size of 1 to {}.", 1 << 20),
                );
                continue;
            };
            for (at, &(profile, kind)) in profiles.iter().enumerate() {
                let Some(gang) = self.gang(place, job, (profile, kind), gpus) else { continue };
                let asked_for = (size_at, at) == (0, 0);
                self.points(&format!("{place}.points"), job, &gang, &spans, asked_for, &mut found);
            }
        }
        found
    }

    fn wrong(&mut self, code: Code, place: impl Into<String>, message: impl Into<String>) {
        self.problems.push(Problem::new(code, place, message));
    }

    fn profiles(&mut self, place: &str, job: &ScenarioJob) -> Vec<(&'a Profile, GpuTypeId)> {
        let mut found = Vec::new();
        for (position, id) in job.profiles.iter().enumerate() {
            let place = format!("{place}.profiles[{position}]");
            let library = self.library;
            let Some(profile) = library.get(id) else {
                self.wrong(Code::B05, place, format!("there is no profile `{id}`."));
                continue;
            };
            if profile.operating_points().next().is_none() {
                let message = format!("`{id}` has no operating point with both time and power.");
                self.wrong(Code::B06, place, message);
                continue;
            }
            if let Some(kind) = self.site.gpu_type(&profile.gpu_type) {
                found.push((profile, kind));
            } else {
                let kind = &profile.gpu_type;
                let message = format!("the cluster has no GPU type `{kind}`, which `{id}` was measured on.");
                self.wrong(Code::B05, place, message);
            }
        }
        found
    }

    /// The spans to offer, in the order given; none given: all.
    fn spans(&mut self, place: &str, job: &ScenarioJob) -> Vec<(Rank, &'a str)> {
        let site = self.site;
        let all: Vec<(Rank, &str)> = site.spans().collect();
        if job.spans.is_empty() {
            return all;
        }
        let mut found = Vec::new();
        for (position, name) in job.spans.iter().enumerate() {
            match all.iter().find(|(_, known)| known == name) {
                Some(&span) => found.push(span),
                None => {
                    self.wrong(Code::B05, format!("{place}.spans[{position}]"), format!("there is no level `{name}`."));
                }
            }
        }
        found
    }

    fn gang(&mut self, place: &str, job: &ScenarioJob, of: (&'a Profile, GpuTypeId), gpus: u32) -> Option<Gang<'a>> {
        let (profile, kind) = of;
        if profile.gang.is_some_and(|gang| gang.gpus != i64::from(gpus)) {
            let message = format!("`{}` was measured on another gang; it says nothing of {gpus} GPUs.", profile.id);
            self.wrong(Code::B06, format!("{place}.gpus"), message);
            return None;
        }
        let given = job.gradient_bytes.or(profile.gradient_bytes.as_ref().map(|figure| figure.value));
        let needed = gpus > 1 && profile.gang.is_none();
        if needed && given.is_none() {
            let message = format!("`{}` has no `gradient_bytes`, which a gang of {gpus} sums.", profile.id);
            self.wrong(Code::B06, format!("{place}.gradient_bytes"), message);
        }
        let steps = self.steps(place, job, profile, gpus);
        Some(Gang {
            profile,
            kind,
            gpus,
            steps: steps?,
            gradient_bytes: if needed { given? } else { given.unwrap_or(0.0) },
        })
    }

    /// Steps of a gang, by whatever the job says of its length.
    fn steps(&mut self, place: &str, job: &ScenarioJob, profile: &Profile, gpus: u32) -> Option<f64> {
        if !job.steps_table.is_empty() {
            let entry = job.steps_table.iter().find(|&&(gang, _)| gang == i64::from(gpus));
            if entry.is_none() {
                self.wrong(Code::B02, format!("{place}.steps_table"), format!("has no entry for {gpus} GPUs."));
            }
            return entry.map(|&(_, steps)| steps.ceil().max(1.0));
        }
        let shape = profile.gang.map_or(gpus, |_| 1);
        self.warn_of_batch(place, profile, shape);
        if let Some(steps) = job.steps {
            let first = job.gpus.first().copied().unwrap_or(1) as f64;
            return Some(physics::steps(steps * first, f64::from(gpus), 1.0));
        }
        let figure = |figure: &Option<rats_domain::format::Figure>| figure.as_ref().map(|figure| figure.value);
        let samples = match (job.samples, job.epochs) {
            (Some(samples), _) => Some(samples),
            (None, Some(epochs)) => figure(&profile.samples_per_epoch).map(|samples| samples * epochs),
            (None, None) => return None,
        };
        let batch = figure(&profile.batch_per_gpu);
        for (value, name) in [(samples, "samples_per_epoch"), (batch, "batch_per_gpu")] {
            if value.is_none() {
                self.wrong(Code::B06, place.to_owned(), format!("`{}` has no `{name}`; give `steps`.", profile.id));
            }
        }
        Some(physics::steps(samples?, f64::from(shape), batch?))
    }

    fn warn_of_batch(&mut self, place: &str, profile: &Profile, gpus: u32) {
        if gpus > BATCH_GROWTH {
            let message = format!("{gpus} GPUs make {gpus} times the batch that `{}` was measured with.", profile.id);
            let warning = Warning::new(Code::W6, format!("{place}.gpus"), message);
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
    }

    fn points(
        &mut self,
        place: &str,
        job: &ScenarioJob,
        gang: &Gang<'a>,
        spans: &[(Rank, &str)],
        asked_for: bool,
        found: &mut Enumerated,
    ) {
        let Some(blocked_w) = self.blocked_w(place, job, gang) else { return };
        let points = self.wanted(job, gang.profile);
        if points.is_empty() {
            let message = format!("`{}` was measured at none of them.", gang.profile.id);
            self.wrong(Code::B05, place, message);
        }
        for (position, point) in points.iter().enumerate() {
            for &span in self.spans_of(job, gang, spans) {
                self.stretched(job, gang, blocked_w, point, span, found);
            }
            if asked_for && position == 0 {
                found.asked_for = found.choices.len();
            }
        }
    }

    /// The operating points that the job offers, the highest first.
    fn wanted(&self, job: &ScenarioJob, profile: &Profile) -> Vec<Offer> {
        let measured = profile.operating_points().map(|at| Offer {
            point: at.point,
            step_s: at.step_s,
            power_w: at.power_w,
            predicted: None,
        });
        let predicted = self.fills.of(&profile.id, job.fill.unwrap_or(self.scenario.fill)).iter().map(|at| Offer {
            point: at.point,
            step_s: at.step_s.value,
            power_w: at.power_w.value,
            predicted: Some(*at),
        });
        let offered = |offer: &Offer| job.points.is_empty() || job.points.contains(&offer.point);
        let mut offers: Vec<_> = measured.chain(predicted).filter(offered).collect();
        let limit = |offer: &Offer| offer.point.power_limit_w.map_or(f64::INFINITY, Decimal::to_f64);
        let clock = |mhz: Option<i64>| mhz.unwrap_or(i64::MAX);
        offers.sort_by(|a, b| {
            let by_clocks = |offer: &Offer| (clock(offer.point.sm_mhz), clock(offer.point.mem_mhz));
            limit(b).total_cmp(&limit(a)).then(by_clocks(b).cmp(&by_clocks(a)))
        });
        offers
    }

    /// A single GPU has no need of a wide span; spans that nobody named and that hold no such gang are passed over.
    fn spans_of<'s, 'n>(
        &self,
        job: &ScenarioJob,
        gang: &Gang<'_>,
        spans: &'s [(Rank, &'n str)],
    ) -> &'s [(Rank, &'n str)] {
        let holds = |&(rank, _): &(Rank, &str)| self.site.most_gpus(gang.kind, rank) >= gang.gpus as usize;
        match (gang.gpus, job.spans.is_empty()) {
            (1, _) => spans.get(..1).unwrap_or_default(),
            (_, true) => &spans[spans.iter().position(holds).unwrap_or(spans.len() - 1)..],
            (_, false) => spans,
        }
    }

    fn stretched(
        &self,
        job: &ScenarioJob,
        gang: &Gang<'_>,
        blocked_w: f64,
        offer: &Offer,
        (rank, span_name): (Rank, &str),
        found: &mut Enumerated,
    ) {
        let network = self.site.network(gang.kind, (rank, span_name), gang.gpus);
        let step = step(job, gang, blocked_w, offer);
        let all = job.stretches.as_ref().unwrap_or(&self.scenario.stretches);
        let one = &vec![1.0];
        let rings =
            gang.gpus > 1 && gang.gradient_bytes > 0.0 && network.link_kb_s.is_finite() && gang.profile.gang.is_none();
        let reads = step.input_bytes > 0.0 && network.supply_kb_s.is_finite();
        let idle = self.site.idle(gang.kind);
        for &read in if reads { all } else { one } {
            for &ring in if rings { all } else { one } {
                let Some(gang_step) = physics::gang_step(&step, gang.gpus, &network, Stretch { ring, read }) else {
                    found.starved += 1;
                    continue;
                };
                let length = self.length(job, gang);
                let longer = 1.0 + length.margin;
                let behind = Behind {
                    steps: physics::whole(length.steps.ceil()),
                    step_s: gang_step.seconds * longer,
                    startup_s: length.startup_s * longer,
                };
                let frame = Frame { tick_s: self.scenario.tick_s as f64, idle_w: idle.watts() };
                found.choices.push(Choice {
                    gpu_type: gang.profile.gpu_type.clone(),
                    idle,
                    gpus: gang.gpus,
                    span: rank,
                    span_name: span_name.to_owned(),
                    point: offer.point,
                    predicted: offer.predicted,
                    outcome: physics::outcome(&gang_step, gang.gpus, blocked_w, &length, &frame),
                    per_gpu: needs(job),
                    memory_mib: memory_mib(job, gang.profile),
                    behind,
                });
            }
        }
    }

    fn length(&self, job: &ScenarioJob, gang: &Gang<'_>) -> Length {
        let measured = gang.profile.startup_s.as_ref().map(|figure| figure.value);
        Length {
            startup_s: job.startup_s.or(measured).unwrap_or(self.scenario.startup_s),
            steps: gang.steps,
            margin: job.margin.unwrap_or(self.scenario.margin),
        }
    }

    fn blocked_w(&mut self, place: &str, job: &ScenarioJob, gang: &Gang<'_>) -> Option<f64> {
        let hardware = self.site.hardware(gang.kind);
        let measured = gang.profile.blocked_w.as_ref().map(|figure| figure.value);
        let known = job.blocked_w.or(measured).or(hardware.blocked_w);
        let limits = gang.profile.points.iter().filter_map(|point| point.power_limit_w.map(Decimal::to_f64));
        let limit = hardware.power_limit_w.or_else(|| limits.max_by(f64::total_cmp));
        let idle_w = self.site.idle(gang.kind).watts();
        let blocked = known.or(limit.map(|limit| physics::assumed_blocked_w(idle_w, limit)));
        if blocked.is_none() {
            let place = format!("{}.blocked_w", place.trim_end_matches(".points"));
            let kind = &gang.profile.gpu_type;
            self.wrong(
                Code::B06,
                place,
                format!("neither `{}` nor `hardware.{kind}` gives a power limit.", gang.profile.id),
            );
        }
        blocked
    }
}

/// What one GPU does in a step. Points of a whole gang hold its communication already: it hides completely.
fn step(job: &ScenarioJob, gang: &Gang<'_>, blocked_w: f64, offer: &Offer) -> Step {
    let figure = |figure: &Option<rats_domain::format::Figure>| figure.as_ref().map_or(0.0, |figure| figure.value);
    let overlap = job.overlap.unwrap_or_else(|| figure(&gang.profile.overlap));
    Step {
        seconds: offer.step_s,
        watts: offer.power_w,
        blocked_w,
        gradient_bytes: gang.gradient_bytes,
        input_bytes: job.input_bytes_per_step.unwrap_or_else(|| figure(&gang.profile.input_bytes_per_step)),
        overlap: if gang.profile.gang.is_some() { 1.0 } else { overlap },
    }
}

fn memory_mib(job: &ScenarioJob, profile: &Profile) -> Option<i64> {
    job.memory_mib.or_else(|| profile.memory_mib.as_ref().map(|figure| physics::whole(figure.value.ceil())))
}

fn needs(job: &ScenarioJob) -> Needs {
    let thousandths = |need: &Decimal| need.scaled(3).and_then(|value| i64::try_from(value).ok());
    job.per_gpu.iter().filter_map(|(name, need)| Some((name.clone(), thousandths(need)?))).collect()
}
