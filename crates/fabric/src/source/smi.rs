//! What `nvidia-smi topo -m` prints: a matrix of GPUs and network adapters with NVLink counts and PCIe paths.

use std::collections::BTreeMap;

use rats_domain::codes::Code;
use rats_domain::problem::{Problem, Problems};

use super::matrix::{MOST_GPUS, Matrix, Path};
use super::{Figures, Source};

/// A row or column of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Device {
    Gpu(usize),
    Adapter(usize),
}

/// Reads a matrix.
///
/// # Errors
/// Every cell that is wrong, or a missing figure.
pub fn read(text: &str, figures: &Figures) -> Result<Source, Problems> {
    let text = without_escapes(text);
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let header = lines.find(|(_, line)| line.split_whitespace().next() == Some("GPU0"));
    // The first row begins like the header, but crosses its own column.
    let header = header.filter(|(_, line)| line.split_whitespace().nth(1) != Some("X"));
    let Some((_, header)) = header else {
        return Err(Problem::new(Code::T01, "file", "no header begins with `GPU0`: this is no topology matrix.").into());
    };
    let columns = columns(header)?;
    let mut matrix = Matrix::default();
    matrix.gpus = columns.iter().filter(|(_, device)| matches!(device, Device::Gpu(_))).count();
    matrix.adapters = vec![BTreeMap::new(); columns.len() - matrix.gpus];
    let numa = header.contains("NUMA Affinity");
    let mut problems = Vec::new();
    let mut rows = 0;
    for (number, line) in lines.take_while(|(_, line)| !line.trim_start().starts_with("Legend")) {
        match row(&mut matrix, &columns, numa, number + 1, line) {
            Ok(()) => rows += 1,
            Err(found) => problems.extend(found),
        }
    }
    if rows < matrix.gpus && problems.is_empty() {
        let message = format!("{rows} rows for {} columns; the output is cut off.", columns.len());
        problems.push(Problem::new(Code::T01, "file", message));
    }
    if !problems.is_empty() {
        return Err(Problems(problems));
    }
    let file = matrix.host(figures)?.cluster(figures)?;
    Ok(Source { file, warnings: Vec::new() })
}

/// The devices of the header, up to the affinities.
fn columns(header: &str) -> Result<Vec<(String, Device)>, Problem> {
    let (mut gpus, mut adapters) = (0, 0);
    let mut columns = Vec::new();
    for name in header.split_whitespace().take_while(|name| !["CPU", "NUMA", "GPU"].contains(name)) {
        let device = if name == format!("GPU{gpus}") {
            gpus += 1;
            Device::Gpu(gpus - 1)
        } else if name.starts_with("GPU") {
            return Err(Problem::new(Code::T01, "header", format!("`{name}` where GPU{gpus} is expected.")));
        } else {
            adapters += 1;
            Device::Adapter(adapters - 1)
        };
        columns.push((name.to_owned(), device));
    }
    if gpus > MOST_GPUS || adapters > 4 * MOST_GPUS {
        return Err(Problem::new(Code::T12, "header", format!("more than {MOST_GPUS} GPUs.")));
    }
    Ok(columns)
}

fn row(
    matrix: &mut Matrix,
    columns: &[(String, Device)],
    numa: bool,
    number: usize,
    line: &str,
) -> Result<(), Vec<Problem>> {
    let place = format!("line {number}");
    let mut cells = line.split_whitespace();
    let name = cells.next().unwrap_or("");
    let Some((_, device)) = columns.iter().find(|(column, _)| column == name) else {
        return Err(vec![Problem::new(Code::T02, place, format!("`{}` is no column.", name.escape_debug()))]);
    };
    let mut problems = Vec::new();
    for (column, other) in columns {
        let place = format!("line {number}, column {column}");
        match cells.next() {
            None => {
                problems.push(Problem::new(Code::T01, place, "the row ends here."));
                return Err(problems);
            }
            Some(cell) => {
                if let Err(message) = enter(matrix, *device, *other, cell, &place) {
                    problems.push(Problem::new(Code::T01, place, message));
                }
            }
        }
    }
    // CPU affinity, then NUMA affinity; a GPU of unknown affinity shows `N/A`.
    if let (true, Device::Gpu(gpu), Some(socket)) = (numa, *device, cells.nth(1))
        && socket != "N/A"
    {
        matrix.sockets.insert(gpu, socket.to_owned());
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

fn enter(matrix: &mut Matrix, row: Device, column: Device, cell: &str, place: &str) -> Result<(), String> {
    if row == column {
        return if cell == "X" { Ok(()) } else { Err(format!("`{cell}` where `X` is expected.")) };
    }
    let nvlinks = cell.strip_prefix("NV").and_then(|count| count.parse::<i64>().ok());
    let path = Path::parse(cell);
    let known = nvlinks.is_some_and(|count| (1..1000).contains(&count)) || path.is_some();
    if !known {
        return Err(format!("unknown entry `{}`.", cell.escape_debug()));
    }
    match (row, column) {
        (Device::Gpu(a), Device::Gpu(b)) => {
            if let Some(count) = nvlinks {
                matrix.nvlinks.insert((a, b), (count, place.to_owned()));
            }
            if let Some(path) = path {
                matrix.paths.insert((a, b), path);
            }
        }
        (Device::Adapter(adapter), Device::Gpu(gpu)) => {
            if let Some(path) = path {
                matrix.adapters[adapter].insert(gpu, path);
            }
        }
        _ => {}
    }
    Ok(())
}

/// The text without the escape sequences that underline its header.
fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character == '\u{1b}' {
            // `ESC [ ... letter`
            for inner in characters.by_ref() {
                if inner.is_ascii_alphabetic() {
                    break;
                }
            }
        } else {
            plain.push(character);
        }
    }
    plain
}
