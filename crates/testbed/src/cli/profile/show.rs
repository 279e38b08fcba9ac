//! A sweep on the terminal.

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};

use serde_json::json;

use crate::profile::event::Event;
use crate::profile::grid::Grid;
use crate::profile::order::order;
use crate::profile::record::{Measured, Role};
use crate::profile::sweep::End;
use crate::profile::{Report, Request};

/// Tells what goes on: a table on standard error, or events on standard output.
pub struct Show {
    json: bool,
    /// Whether a line without end stands on the terminal.
    is_open: bool,
    terminal: bool,
    count: usize,
}

impl Show {
    /// A table, or events.
    pub fn new(json: bool) -> Self {
        Self { json, is_open: false, terminal: io::stderr().is_terminal(), count: 0 }
    }

    /// Tells of an event.
    pub fn tell(&mut self, event: &Event<'_>) {
        if self.json {
            // A reader that has gone away is no error.
            let _ = writeln!(io::stdout().lock(), "{}", event.json());
            return;
        }
        match event {
            Event::Begun { points, past } => self.say(&begun(*points, *past)),
            Event::Idle(watts) => {
                let watts: Vec<String> =
                    watts.iter().map(|one| one.map_or("?".to_owned(), |w| format!("{w:.1}"))).collect();
                self.say(&format!("idle: {} W\n{}", watts.join(", "), HEADING));
            }
            Event::Setting { target, role, half_width } => {
                if self.terminal {
                    let doubt = half_width.map_or(String::new(), |width| format!(", unsure by {:.1} %", 100.0 * width));
                    let _ = write!(io::stderr().lock(), "\r\x1b[2K    {} ({}{doubt}) ...", target.text(), name(*role));
                    self.is_open = true;
                }
            }
            Event::Restarted => self.say("    the command ended and is started again\n"),
            Event::Measured(measured) => {
                self.count += 1;
                self.say(&row(self.count, measured));
            }
            Event::Warned(warning) => self.say(&format!("warning {warning}\n")),
        }
    }

    /// Writes text that ends its line.
    pub fn say(&mut self, text: &str) {
        let clear = if std::mem::take(&mut self.is_open) { "\r\x1b[2K" } else { "" };
        let _ = write!(io::stderr().lock(), "{clear}{text}");
    }
}

const HEADING: &str =
    "  #  point                              step s    +-%   power W    +-%    J/step  MHz    C  why        marks\n";

fn begun(points: usize, past: usize) -> String {
    match past {
        0 => format!("{points} points in the grid\n"),
        past => format!("{points} points in the grid; {past} measurements are there already\n{HEADING}"),
    }
}

fn name(role: Role) -> &'static str {
    match role {
        Role::Reference => "reference",
        Role::Grid => "grid",
        Role::Chosen => "chosen",
        Role::Repeat => "repeat",
    }
}

fn row(count: usize, measured: &Measured) -> String {
    let percent = |confidence: Option<f64>| confidence.map_or("-".to_owned(), |c| format!("{:.2}", 100.0 * c));
    let power = measured.power_w.map_or("-".to_owned(), |power| format!("{:.2}", power.value));
    let energy = measured.power_w.map_or("-".to_owned(), |power| format!("{:.2}", power.value * measured.step_s.value));
    let of = |value: Option<i64>| value.map_or("-".to_owned(), |value| value.to_string());
    let clock = of(measured.gpus.iter().filter_map(|gpu| gpu.sm_mhz).min());
    let heat = of(measured.gpus.iter().filter_map(|gpu| gpu.temperature_c).max());
    let marks: Vec<&str> = measured.taints.iter().map(|taint| taint.name()).collect();
    format!(
        "{count:>3}  {:<32} {:>9.6} {:>6} {power:>9} {:>6} {energy:>9} {clock:>4} {heat:>4}  {:<9}  {}\n",
        measured.target.text(),
        measured.step_s.value,
        percent(measured.step_s.confidence),
        percent(measured.power_w.and_then(|power| power.confidence)),
        name(measured.role),
        marks.join(" "),
    )
}

/// The points of a grid and the time that they take.
pub fn dry_run(request: &Request, grid: &Grid, json: bool) -> String {
    let points = order(&grid.first, request.settings.seed);
    let references = 2 + points.len() / request.settings.reference_every.max(1);
    let seconds = request.settings.warmup_s + (points.len() + references) as f64 * request.settings.point_s();
    if json {
        let document = json!({
            "points": points, "candidates": grid.candidates.len(), "references": references, "seconds": seconds,
        });
        return format!("{document}\n");
    }
    let mut text = String::new();
    for (at, target) in points.iter().enumerate() {
        let _ = writeln!(text, "{:>3}  {}", at + 1, target.text());
    }
    let what = if request.settings.pattern.is_some() { "at least" } else { "beside the runs themselves at least" };
    let _ = writeln!(
        text,
        "{} points in this order and {references} measurements of the reference point: {what} {:.0} min\n{} supported points \
         lie between them",
        points.len(),
        (seconds / 60.0).ceil(),
        grid.candidates.len() - points.len(),
    );
    text
}

/// What came of a sweep.
pub fn summary(request: &Request, report: &Report, json: bool) -> String {
    let end = match &report.end {
        End::Done => "done",
        End::Budget => "budget",
        End::Interrupted => "interrupted",
        End::Failed(_) => "failed",
    };
    let points = report.profile.as_ref().map_or(0, |profile| profile.points.len());
    if json {
        let tainted: Vec<_> =
            report.tainted.iter().map(|(target, taints)| json!({ "target": target, "taints": taints })).collect();
        let out = report.profile.as_ref().map(|_| &request.out);
        return format!(
            "{}\n",
            json!({ "event": "end", "end": end, "points": points, "profile": out, "tainted": tainted })
        );
    }
    let Some(profile) = &report.profile else { return "nothing was measured\n".to_owned() };
    let mut text = format!("{points} points in {}\n", request.out.display());
    let usable = profile.points.iter().filter(|point| point.flags.iter().all(|flag| flag.name() == "power_integrated"));
    let energy = usable.filter_map(|point| Some((point.step_s? * point.power_w?, point)));
    if let Some((joules, best)) = energy.min_by(|a, b| a.0.total_cmp(&b.0)) {
        let clock = best.sm_mhz.map_or(String::new(), |mhz| format!(" at {mhz} MHz"));
        let limit = best.power_limit_w.map_or(String::new(), |limit| format!(" at a limit of {} W", limit.to_f64()));
        let _ = writeln!(text, "least energy: {joules:.3} J a step{clock}{limit}");
    }
    for (target, taints) in &report.tainted {
        let marks: Vec<&str> = taints.iter().map(|taint| taint.name()).collect();
        let _ = writeln!(text, "tainted: {}: {}", target.text(), marks.join(", "));
    }
    text
}
