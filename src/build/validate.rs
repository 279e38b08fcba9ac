//! The rules of a scenario that concern nothing but itself. Every broken one is reported.

use rats_domain::codes::Code;
use rats_domain::problem::Problem;

use super::hardware;
use super::scenario::{FillFile, Scenario, ScenarioJob};

/// The longest time, most samples and most of anything else.
const MOST: f64 = 1e18;
/// The largest stretch.
const MOST_STRETCH: f64 = 1e6;

/// Everything wrong with a scenario by itself.
pub fn problems(scenario: &Scenario) -> Vec<Problem> {
    let mut found = Found(Vec::new());
    found.integer("tick_s", scenario.tick_s);
    found.one_of("horizon", &[("horizon", scenario.horizon.is_some()), ("horizon_s", scenario.horizon_s.is_some())]);
    found.number("horizon_s", scenario.horizon_s, 0.0, MOST);
    found.number("margin", Some(scenario.margin), 0.0, MOST_STRETCH);
    found.number("startup_s", Some(scenario.startup_s), 0.0, MOST);
    found.stretches("stretches", Some(&scenario.stretches));
    found.at_most_one(&[
        ("cluster_file", scenario.cluster_file.is_some()),
        ("cluster", scenario.cluster.as_ref().is_some_and(|cluster| !cluster.nodes.is_empty())),
    ]);
    found.fill("fill", Some(scenario.fill));
    for (level, seconds) in &scenario.latency_s {
        found.number(&format!("latency_s.{level}"), Some(*seconds), 0.0, 1e3);
    }
    for (id, given) in &scenario.hardware {
        let fields =
            [("power_limit_w", given.power_limit_w), ("blocked_w", given.blocked_w), ("link_gb_s", given.link_gb_s)];
        for (field, value) in fields {
            found.number(&format!("hardware.{id}.{field}"), value, 0.0, 1e6);
        }
    }
    for (position, id) in scenario.catalogue.iter().enumerate().filter(|(_, id)| hardware::known(id).is_none()) {
        let known: Vec<_> = hardware::CATALOGUE.iter().map(|known| known.id).collect();
        let message = format!("`{id}` is not in the catalogue, which holds {}.", known.join(", "));
        found.wrong(Code::B05, format!("catalogue[{position}]"), message);
    }
    for (position, group) in scenario.groups.iter().enumerate() {
        found.integer(&format!("groups[{position}].count"), group.count);
    }
    for (position, job) in scenario.jobs.iter().enumerate() {
        found.job(&format!("jobs[{position}]"), job);
    }
    found.0
}

struct Found(Vec<Problem>);

impl Found {
    fn wrong(&mut self, code: Code, place: impl Into<String>, message: impl Into<String>) {
        self.0.push(Problem::new(code, place, message));
    }

    fn job(&mut self, place: &str, job: &ScenarioJob) {
        let at = |field: &str| format!("{place}.{field}");
        let lengths = [
            ("samples", job.samples.is_some()),
            ("epochs", job.epochs.is_some()),
            ("steps", job.steps.is_some()),
            ("steps_table", !job.steps_table.is_empty()),
        ];
        self.one_of(place, &lengths.map(|(name, given)| (name, given)));
        for (field, empty) in [("profiles", job.profiles.is_empty()), ("gpus", job.gpus.is_empty())] {
            if empty {
                self.wrong(Code::B02, at(field), "must name at least one.");
            }
        }
        for fields in [
            [("release", job.release.is_some()), ("release_s", job.release_s.is_some()), ("", false)],
            [
                ("deadline", job.deadline.is_some()),
                ("deadline_s", job.deadline_s.is_some()),
                ("deadline_factor", job.deadline_factor.is_some()),
            ],
            [("due", job.due.is_some()), ("due_s", job.due_s.is_some()), ("due_factor", job.due_factor.is_some())],
        ] {
            self.at_most_one(&fields.map(|(name, given)| (at(name), given)));
        }
        for (field, value, most) in [
            ("samples", job.samples, MOST),
            ("epochs", job.epochs, MOST),
            ("margin", job.margin, MOST_STRETCH),
            ("startup_s", job.startup_s, MOST),
            ("gradient_bytes", job.gradient_bytes, MOST),
            ("input_bytes_per_step", job.input_bytes_per_step, MOST),
            ("overlap", job.overlap, 1.0),
            ("blocked_w", job.blocked_w, 1e6),
            ("release_s", job.release_s, MOST),
            ("deadline_s", job.deadline_s, MOST),
            ("deadline_factor", job.deadline_factor, MOST),
            ("due_s", job.due_s, MOST),
            ("due_factor", job.due_factor, MOST),
        ] {
            self.number(&at(field), value, 0.0, most);
        }
        self.number(&at("steps"), job.steps, 1.0, MOST);
        for (position, &(gang, steps)) in job.steps_table.iter().enumerate() {
            self.integer(&format!("{place}.steps_table[{position}][0]"), gang);
            self.number(&format!("{place}.steps_table[{position}][1]"), Some(steps), 1.0, MOST);
        }
        self.stretches(&at("stretches"), job.stretches.as_deref());
        self.fill(&at("fill"), job.fill);
        for (name, need) in &job.per_gpu {
            if need.is_negative() || need.scaled(3).is_none_or(|value| i64::try_from(value).is_err()) {
                self.wrong(Code::B04, format!("{place}.per_gpu.{name}"), "is no amount of at most 3 decimals.");
            }
        }
    }

    fn one_of(&mut self, place: &str, fields: &[(&str, bool)]) {
        let given: Vec<_> = fields.iter().filter(|(_, given)| *given).map(|(name, _)| *name).collect();
        let names: Vec<_> = fields.iter().map(|(name, _)| format!("`{name}`")).collect();
        match given.len() {
            1 => {}
            0 => self.wrong(Code::B02, place, format!("give one of {}.", names.join(", "))),
            _ => self.wrong(Code::B03, place, format!("give only one of {}.", given.join(", "))),
        }
    }

    fn at_most_one<S: AsRef<str>>(&mut self, fields: &[(S, bool)]) {
        let given: Vec<_> = fields.iter().filter(|(_, given)| *given).map(|(name, _)| name.as_ref()).collect();
        if let [first, second, ..] = given[..] {
            self.wrong(Code::B03, second, format!("`{first}` says it already."));
        }
    }

    fn stretches(&mut self, place: &str, stretches: Option<&[f64]>) {
        let Some(stretches) = stretches else { return };
        if stretches.is_empty() {
            self.wrong(Code::B02, place, "must name at least one.");
        }
        for (position, &stretch) in stretches.iter().enumerate() {
            self.number(&format!("{place}[{position}]"), Some(stretch), 1.0, MOST_STRETCH);
        }
    }

    fn fill(&mut self, place: &str, fill: Option<FillFile>) {
        let FillFile { mhz, w } = fill.unwrap_or_default();
        for (field, distance) in [("mhz", mhz), ("w", w)] {
            if let Some(distance) = distance {
                self.integer(&format!("{place}.{field}"), distance);
            }
        }
    }

    fn number(&mut self, place: &str, value: Option<f64>, least: f64, most: f64) {
        if let Some(value) = value.filter(|value| !(least..=most).contains(value)) {
            self.wrong(Code::B04, place, format!("{value} is not between {least} and {most}."));
        }
    }

    fn integer(&mut self, place: &str, value: i64) {
        if !(1..=1 << 31).contains(&value) {
            self.wrong(Code::B04, place, format!("{value} is not between 1 and {}.", 1_i64 << 31));
        }
    }
}
