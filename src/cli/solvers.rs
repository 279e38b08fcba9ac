//! `rats solvers`: the registry as a table.

use rats_domain::solver::About;
use rats_solvers::registry;
use serde::Serialize;

use super::Answer;
use super::args::SolversArgs;
use crate::document::json;
use crate::report::{Align, table};

#[derive(Serialize)]
struct Document {
    id: &'static str,
    exact: bool,
    baseline: bool,
    summary: &'static str,
}

pub(super) fn run(args: &SolversArgs) -> Answer {
    let all = registry::ALL.iter().map(|solver| solver.about());
    if args.json {
        let document = |About { id, summary, exact, baseline }| Document { id, exact, baseline, summary };
        return Answer::done(json(&all.map(document).collect::<Vec<_>>()));
    }
    let mut rows = vec![["ID", "EXACT", "METHOD"].map(str::to_owned).to_vec()];
    let row = |about: About| {
        let exact = if about.exact { "yes" } else { "no" };
        vec![about.id.to_owned(), exact.to_owned(), about.summary.to_owned()]
    };
    rows.extend(all.map(row));
    Answer::done(table(&rows, &[Align::Left]))
}
