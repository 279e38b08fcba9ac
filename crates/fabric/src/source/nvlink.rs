//! Tables of NVLinks: `gpu_i,gpu_j,nvlink_links,pcie_path`, both directions of each pair.

use rats_domain::codes::Code;
use rats_domain::problem::{Problem, Problems};

use super::matrix::{MOST_GPUS, Matrix, Path};
use super::{Figures, Source};

/// The header that tells the table.
const HEADER: &str = "gpu_i,gpu_j,nvlink_links,pcie_path";

/// Reads a table.
///
/// # Errors
/// Every damaged line, or a missing figure.
pub fn read(text: &str, figures: &Figures) -> Result<Source, Problems> {
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    match lines.next() {
        Some((_, header)) if header.trim() == HEADER => {}
        _ => return Err(Problem::new(Code::T01, "line 1", format!("expected the header `{HEADER}`.")).into()),
    }
    let mut matrix = Matrix::default();
    let mut problems = Vec::new();
    for (number, line) in lines {
        if let Err((code, message)) = row(&mut matrix, number + 1, line) {
            problems.push(Problem::new(code, format!("line {}", number + 1), message));
        }
    }
    if matrix.gpus < 2 && problems.is_empty() {
        problems.push(Problem::new(Code::T01, "file", "the table has no rows."));
    }
    if !problems.is_empty() {
        return Err(Problems(problems));
    }
    let file = matrix.host(figures)?.cluster(figures)?;
    Ok(Source { file, warnings: Vec::new() })
}

fn row(matrix: &mut Matrix, number: usize, line: &str) -> Result<(), (Code, String)> {
    let cells: Vec<_> = line.split(',').map(str::trim).collect();
    let &[a, b, links, path] = cells.as_slice() else {
        return Err((Code::T01, format!("{} cells where 4 are expected.", cells.len())));
    };
    let gpu = |text: &str| match text.parse::<usize>() {
        Ok(gpu) if gpu < MOST_GPUS => Ok(gpu),
        Ok(_) => Err((Code::T12, format!("GPU {text}; a host has at most {MOST_GPUS}."))),
        Err(_) => Err((Code::T01, format!("`{}` is no GPU number.", text.escape_debug()))),
    };
    let (a, b) = (gpu(a)?, gpu(b)?);
    let count = links.parse::<i64>().ok().filter(|count| (0..1000).contains(count));
    let count = count.ok_or_else(|| (Code::T01, format!("`{}` is no number of links.", links.escape_debug())))?;
    if a == b {
        return Err((Code::T10, format!("GPU {a} is joined with itself.")));
    }
    if !path.is_empty() {
        let path = Path::parse(path).ok_or_else(|| (Code::T01, format!("unknown path `{}`.", path.escape_debug())))?;
        matrix.paths.insert((a, b), path);
    }
    matrix.gpus = matrix.gpus.max(a + 1).max(b + 1);
    match matrix.nvlinks.insert((a, b), (count, format!("line {number}"))) {
        Some((_, first)) => Err((Code::T03, format!("the pair {a}, {b} already stands in {first}."))),
        None => Ok(()),
    }
}
