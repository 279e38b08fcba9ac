//! `rats edl`: the published experiments with theta-readjustment done again, and our solvers beside them.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use rats_domain::codes::Code;
use rats_domain::problem::{Problem, Problems};
use rats_domain::solver::Solver;
use rats_solvers::registry;
use serde::Serialize;

use super::Answer;
use super::args::seconds;
use crate::control::catch_interrupts;
use crate::document::json;
use crate::edl::beside::{Contest, Entry, contest};
use crate::edl::published::{CEILINGS, PROGRAM, TABLES};
use crate::edl::simulate::Dear;
use crate::edl::{GPUS, Reproduction, Row, Wanted, reproduce};
use crate::io::{can_write, write};
use crate::report::{Align, count, number, table};

/// Of `rats edl`.
#[derive(Debug, Args)]
pub struct EdlArgs {
    /// Number of seeds: 1, 2, ...
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub seeds: u64,
    /// Tasks come over a day instead of all at once.
    #[arg(long)]
    pub online: bool,
    /// Let tasks be late where speeding them up does not pay, as the authors' program does.
    #[arg(long, conflicts_with = "solvers")]
    pub late: bool,
    /// Instead: these solvers on the instances of `rats generate edl`, under the rules of the model.
    #[arg(long, value_name = "ID,...", value_delimiter = ',')]
    pub solvers: Vec<String>,
    /// With `--solvers`: GPUs of a node.
    #[arg(long, value_name = "L,...", value_delimiter = ',', default_values_t = [1, 2, 4, 8, 16], requires = "solvers",
        value_parser = clap::value_parser!(u32).range(1..=64))]
    pub per_server: Vec<u32>,
    /// With `--solvers`: most time for each solver on each instance, in seconds.
    #[arg(long, value_name = "S", default_value = "60", requires = "solvers", value_parser = seconds)]
    pub time_limit: Duration,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
    /// Where to write the table or document instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Serialize)]
struct Document {
    seeds: u64,
    online: bool,
    late: bool,
    #[serde(flatten)]
    reproduction: Reproduction,
}

pub(super) fn run(args: &EdlArgs) -> Result<Answer, Problems> {
    if let Some(path) = &args.output {
        can_write(path)?;
    }
    let text = if args.solvers.is_empty() { reproduced(args) } else { beside(args)? };
    let Some(path) = &args.output else { return Ok(Answer::done(text)) };
    write(path, text.as_bytes())?;
    Ok(Answer::done(format!("written to {}\n", path.display())))
}

fn reproduced(args: &EdlArgs) -> String {
    let dear = if args.late { Dear::Late } else { Dear::Wakes };
    let wanted = Wanted { seeds: args.seeds, online: args.online, dear };
    let reproduction = reproduce(&wanted);
    if args.json {
        return json(&Document { seeds: args.seeds, online: args.online, late: args.late, reproduction });
    }
    let mut text = format!(
        "Energy saved by theta-readjustment against the same heuristic without DVFS, percent\n\
         {} tasks on {GPUS} GPUs, {}, mean of {}\n\n",
        if args.online { 2 * GPUS } else { GPUS },
        if args.online { "online" } else { "offline" },
        count(usize::try_from(args.seeds).unwrap_or(usize::MAX), "seed"),
    );
    let head =
        ["theta", "l", "published", "ours", "difference", "least", "most", "of ceiling", "at 85 W", "sped up", "late"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(reproduction.rows.iter().map(cells));
    text += &table(&rows, &[Align::Right]);
    let Reproduction { ceiling_per_task, ceiling, .. } = reproduction;
    let _ = write!(
        text,
        "\nAt its cheapest clocks a task saves {ceiling_per_task:.1} % on average (published: {:.1} %), all together \
         {ceiling:.1} % of\ntheir energy, which is the ceiling; the published limit of the model is {:.0} %.\n\
         Idle GPUs cost {} W and powering a server on {} W x unit; `at 85 W` has {} W and {}.\n",
        CEILINGS.0, CEILINGS.1, TABLES.idle_w, TABLES.turn_on, PROGRAM.idle_w, PROGRAM.turn_on,
    );
    text
}

fn cells(row: &Row) -> Vec<String> {
    let optional = |value: Option<f64>, sign: bool| match value {
        Some(value) if sign => format!("{value:+.1}"),
        Some(value) => format!("{value:.1}"),
        None => "-".to_owned(),
    };
    vec![
        number(row.theta),
        row.per_server.to_string(),
        optional(row.published, false),
        format!("{:.1}", row.ours),
        optional(row.difference, true),
        format!("{:.1}", row.range.0),
        format!("{:.1}", row.range.1),
        format!("{:.1}", row.of_ceiling),
        format!("{:.1}", row.at_program_prices),
        format!("{:.0}", row.sped_up),
        format!("{:.0}", row.late),
    ]
}

/// Our solvers on the same tasks.
fn beside(args: &EdlArgs) -> Result<String, Problems> {
    let find = |id: &String| registry::find(id).ok_or_else(|| Problem::new(Code::U03, id, "there is no such solver."));
    let solvers: Vec<&'static dyn Solver> = args.solvers.iter().map(find).collect::<Result<_, _>>()?;
    let interrupted = catch_interrupts().unwrap_or_default();
    let threads = super::solve::all_threads();
    let mut entries = Vec::new();
    for &per_server in &args.per_server {
        for seed in 1..=args.seeds {
            let wanted = Contest { seed, per_server, online: args.online, limit: args.time_limit, threads };
            entries.extend(contest(&wanted, &solvers, &interrupted)?);
        }
    }
    if args.json {
        return Ok(json(&entries));
    }
    let head = ["l", "seed", "solver", "energy J", "saving", "allowed", "share", "s"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(entries.iter().map(entry_cells));
    let aligns = [Align::Right, Align::Right, Align::Left, Align::Right];
    let head = "Energy saved against fifo_max under the rules of the model, percent; `allowed` is the most that the best\n\
                lower bound allows, `share` the part of it that the plan reaches\n\n";
    Ok(head.to_owned() + &table(&rows, &aligns))
}

fn entry_cells(entry: &Entry) -> Vec<String> {
    let optional = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"));
    vec![
        entry.per_server.to_string(),
        entry.seed.to_string(),
        entry.solver.to_owned(),
        entry.energy.map_or_else(|| "-".to_owned(), number),
        optional(entry.saving),
        format!("{:.2}", entry.allowed),
        optional(entry.share),
        format!("{:.1}", entry.wall_s),
    ]
}
