//! `rats share`: whether two jobs can share a GPU, and how fast each runs beside the other.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::str::FromStr;

use clap::Args;
use rats_domain::codes::Code;
use rats_domain::problem::{Problem, Problems};
use rats_models::data::Pair;
use rats_models::interference::evaluate::SERIES;
use rats_models::interference::{Alone, Forecast, InterferenceModel, Vote};
use serde_json::json;

use super::Answer;
use super::rows::rows;
use crate::document::json as document;
use crate::report::{Align, number, printable, table};

/// Of `rats share`.
#[derive(Debug, Args)]
pub struct ShareArgs {
    /// `[DATASET] [JOB JOB]`: the folder of a data set, as `rats dataset build` writes it, and two jobs. Without the
    /// folder the rows come from instances/profiles; without the jobs those that are known are listed.
    #[arg(value_name = "DATASET JOB JOB", num_args = 0..=3)]
    pub words: Vec<String>,
    /// The type of GPU that they share.
    #[arg(long, value_name = "GPU")]
    pub gpu: String,
    /// The series of pairs to learn from; pairs of several series contradict each other.
    #[arg(long, value_name = "NAME", default_value = SERIES)]
    pub series: String,
    /// A job that ran in no pair, by its rate alone: `job=NAME,model=MODEL,batch=N,GPU=STEPS_PER_S`; rates on further types
    /// of GPU sharpen the answer. May be given more than once.
    #[arg(long, value_name = "LIST")]
    pub alone: Vec<NewJob>,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// A job on the command line, with its rates alone.
#[derive(Clone, Debug, PartialEq)]
pub struct NewJob(Vec<Alone>);

impl FromStr for NewJob {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (mut job, mut model, mut batch, mut rates) = (None, None, None, Vec::new());
        for part in text.split(',').filter(|part| !part.trim().is_empty()) {
            let (name, value) = part.split_once('=').ok_or_else(|| format!("`{part}` must be NAME=VALUE"))?;
            let (name, value) = (name.trim(), value.trim());
            let positive = || match value.parse::<f64>() {
                Ok(found) if found.is_finite() && found > 0.0 => Ok(found),
                _ => Err(format!("`{part}`: must be a number above 0")),
            };
            match name {
                "job" => job = Some(value.to_owned()),
                "model" => model = Some(value.to_owned()),
                "batch" => batch = Some(positive()?),
                gpu => rates.push((gpu.to_owned(), positive()?)),
            }
        }
        let (Some(job), Some(model)) = (job, model) else { return Err("must name `job` and `model`".to_owned()) };
        let alone = |(gpu, rate)| Alone { gpu, job: job.clone(), model: model.clone(), batch, rate };
        Ok(Self(rates.into_iter().map(alone).collect()))
    }
}

pub(super) fn run(args: &ShareArgs) -> Result<Answer, Problems> {
    let (folder, jobs) = match args.words.as_slice() {
        [] => (None, None),
        [folder] => (Some(folder), None),
        [first, second] => (None, Some((first, second))),
        [folder, first, second] => (Some(folder), Some((first, second))),
        _ => return Err(Problem::new(Code::U05, "command line", "a data set and two jobs are the most.").into()),
    };
    let pairs = series(rows(folder.map(Path::new))?.pairs, &args.series)?;
    let alone: Vec<Alone> = args.alone.iter().flat_map(|job| job.0.clone()).collect();
    let gpus: BTreeSet<&str> = pairs.iter().map(|pair| pair.gpu.as_str()).collect();
    let list = || gpus.iter().copied().collect::<Vec<_>>().join(", ");
    if !gpus.contains(args.gpu.as_str()) {
        return Err(Problem::new(Code::M41, printable(&args.gpu), format!("Known: {}.", list())).into());
    }
    if let Some(job) = alone.iter().find(|job| !gpus.contains(job.gpu.as_str())) {
        let message = format!("`{}` of `{}` is no GPU of these pairs: {}.", job.gpu, job.job, list());
        return Err(Problem::new(Code::M41, "--alone", message).into());
    }
    let Some((first, second)) = jobs else { return Ok(known(args, &pairs)) };
    let model = train(&args.gpu, &pairs, alone)?;
    let forecast = model.predict(&args.gpu, first, second)?;
    let votes = model.votes(&args.gpu, first, second)?;
    let text = if args.json {
        document(&json!({
            "gpu": args.gpu, "series": args.series, "jobs": [first, second],
            "can_share": forecast.can_share, "probability": forecast.probability,
            "rates": forecast.rates, "votes": votes,
        }))
    } else {
        text(args, [first, second], &forecast, &votes)
    };
    Ok(Answer::done(text))
}

/// The pairs on one GPU of one series.
fn series(pairs: Vec<Pair>, name: &str) -> Result<Vec<Pair>, Problem> {
    let known: BTreeSet<String> = pairs.iter().map(|pair| pair.series.clone()).collect();
    let pairs: Vec<Pair> = pairs.into_iter().filter(|pair| pair.series == name && pair.gpus == 1).collect();
    if !pairs.is_empty() {
        return Ok(pairs);
    }
    let known: Vec<String> = known.into_iter().collect();
    let message = match known.as_slice() {
        [] => "the data set has no pairs.".to_owned(),
        _ => format!("the data set has no pairs of this series on one GPU; its series are {}.", known.join(", ")),
    };
    Err(Problem::new(Code::D06, format!("--series {}", printable(name)), message))
}

/// A model of one type of GPU; of the others it takes the rates alone.
fn train(gpu: &str, pairs: &[Pair], mut alone: Vec<Alone>) -> Result<InterferenceModel, Problems> {
    let (here, elsewhere): (Vec<Pair>, Vec<Pair>) = pairs.iter().cloned().partition(|pair| pair.gpu == gpu);
    for pair in &elsewhere {
        for side in [&pair.a, &pair.b] {
            alone.extend(side.alone_rate.map(|rate| Alone {
                gpu: pair.gpu.clone(),
                job: side.job.clone(),
                model: side.model.clone(),
                batch: side.batch,
                rate,
            }));
        }
    }
    InterferenceModel::train(&here, &alone)
}

/// The jobs that ran in pairs on the GPU: rate alone, and with how many they can and cannot share it.
fn known(args: &ShareArgs, pairs: &[Pair]) -> Answer {
    let mut jobs: BTreeMap<&str, (Option<f64>, [usize; 2])> = BTreeMap::new();
    for pair in pairs.iter().filter(|pair| pair.gpu == args.gpu) {
        let itself = pair.a.job == pair.b.job;
        for side in [&pair.a, &pair.b].into_iter().take(if itself { 1 } else { 2 }) {
            let (_, counts) = jobs.entry(&side.job).or_insert((side.alone_rate, [0; 2]));
            counts[usize::from(!pair.can_share)] += 1;
        }
    }
    if args.json {
        let job = |(name, (alone, [can, cannot])): (&&str, &(Option<f64>, [usize; 2]))| json!({"job": name, "alone_per_s": alone, "shares_with": can, "cannot_share_with": cannot});
        let jobs: Vec<_> = jobs.iter().map(job).collect();
        return Answer::done(document(&json!({"gpu": args.gpu, "series": args.series, "jobs": jobs})));
    }
    let mut lines = vec![["JOB", "ALONE STEPS/S", "SHARES WITH", "CANNOT WITH"].map(str::to_owned).to_vec()];
    lines.extend(jobs.iter().map(|(name, (alone, [can, cannot]))| {
        let alone = alone.map_or_else(|| "-".to_owned(), number);
        vec![printable(name).into_owned(), alone, can.to_string(), cannot.to_string()]
    }));
    let (left, right) = (Align::Left, Align::Right);
    Answer::done(format!("{}{}", header(args), table(&lines, &[left, right, right, right])))
}

fn header(args: &ShareArgs) -> String {
    format!("Pairs on {} of the series {}\n\n", printable(&args.gpu), printable(&args.series))
}

fn text(args: &ShareArgs, jobs: [&String; 2], forecast: &Forecast, votes: &[Vote]) -> String {
    let verdict = if forecast.can_share { "Can share" } else { "Cannot share" };
    let mut text = format!("{}{verdict}: probability that they can {:.3}\n\n", header(args), forecast.probability);
    let mut head = vec!["JOB".to_owned(), "RATE".to_owned(), "90 %".to_owned()];
    head.extend(votes.iter().map(|vote| format!("{} ({:.1})", vote.model.to_uppercase(), vote.weight)));
    let mut lines = vec![head];
    for (at, (job, estimate)) in jobs.iter().zip(&forecast.rates).enumerate() {
        let within = format!("{:.3} to {:.3}", estimate.low, estimate.high);
        let mut line = vec![printable(job).into_owned(), format!("{:.3}", estimate.rate), within];
        line.extend(votes.iter().map(|vote| format!("{:.3}", vote.rates[at])));
        lines.push(line);
    }
    let mut aligns = vec![Align::Left, Align::Right, Align::Left];
    aligns.extend(votes.iter().map(|_| Align::Right));
    text += &table(&lines, &aligns);
    text + "\nRates are those beside the other job, if they can share, over those alone.\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_job_is_read_and_what_is_wrong_is_named() {
        let NewJob(read) = "job=mine, model=ResNet-50,batch=256,v100=2.5,k80=0.5".parse().unwrap();
        let expected = |gpu: &str, rate| Alone {
            gpu: gpu.to_owned(),
            job: "mine".to_owned(),
            model: "ResNet-50".to_owned(),
            batch: Some(256.0),
            rate,
        };
        assert_eq!(read, [expected("v100", 2.5), expected("k80", 0.5)]);
        let wrong = |text: &str| text.parse::<NewJob>().unwrap_err();
        assert_eq!(wrong("job=a,v100=1"), "must name `job` and `model`");
        assert_eq!(wrong("job=a,model=b,v100=0"), "`v100=0`: must be a number above 0");
        assert_eq!(wrong("mine"), "`mine` must be NAME=VALUE");
    }
}
