//! The two tables of a folder of clocks: plain CSV without quotes.

use std::collections::BTreeMap;

use rats_domain::codes::Code;
use rats_domain::decimal::Decimal;
use rats_domain::problem::{Problem, Problems};

const CLOCKS_HEADER: &str = "gpu,source_file,driver,mem_clock_mhz,graphics_clock_mhz";
const LIMITS_HEADER: &str = "source,source_file,gpu_index,gpu,driver,fb_total_mib,default_power_limit_w,\
    min_power_limit_w,max_power_limit_w,max_graphics_clock_mhz,max_sm_clock_mhz,max_mem_clock_mhz,\
    default_app_graphics_mhz,default_app_mem_mhz,power_draw_at_capture_w,pstate_at_capture,pcie_max_gen,pcie_max_width";

/// The clocks that one file lists for a GPU.
#[derive(Clone, Debug)]
pub struct Clocks {
    /// Name of the GPU.
    pub gpu: String,
    file: String,
    driver: String,
    /// SM clocks by memory clock, MHz.
    pub by_memory: BTreeMap<i64, Vec<i64>>,
}

/// What one board reports.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Name of the GPU.
    pub gpu: String,
    repository: String,
    file: String,
    driver: String,
    /// MiB.
    pub memory_mib: i64,
    /// Lowest, default and highest, W.
    pub power_w: Option<(Decimal, Decimal, Decimal)>,
    /// MHz.
    pub default_sm: Option<i64>,
    /// MHz.
    pub default_mem: Option<i64>,
    /// W.
    pub draw: Option<Decimal>,
    /// Performance state, P0 to P12.
    pub state: String,
}

impl Clocks {
    /// Where it is from.
    pub fn source(&self) -> String {
        format!("nvidia-smi, driver {}: {}", self.driver, self.file)
    }
}

impl Limits {
    /// Where it is from.
    pub fn source(&self) -> String {
        format!("nvidia-smi, driver {}: {} of {}", self.driver, self.file, self.repository)
    }
}

/// Reads `supported_clocks.csv`.
pub fn clocks(bytes: &[u8]) -> Result<Vec<Clocks>, Problems> {
    let mut files: Vec<Clocks> = Vec::new();
    rows(bytes, CLOCKS_HEADER, |cells| {
        let (gpu, file, driver) = (cells[0], cells[1], cells[2]);
        let (mem, sm) = (clock(cells[3])?, clock(cells[4])?);
        let position = files.iter().position(|of| of.gpu == gpu && of.file == file).unwrap_or(files.len());
        if position == files.len() {
            let (gpu, file, driver) = (gpu.to_owned(), file.to_owned(), driver.to_owned());
            files.push(Clocks { gpu, file, driver, by_memory: BTreeMap::new() });
        }
        let clocks = files[position].by_memory.entry(mem).or_default();
        if clocks.contains(&sm) {
            return Err(format!("{sm} MHz at {mem} MHz is listed twice"));
        }
        clocks.push(sm);
        Ok(())
    })?;
    Ok(files)
}

/// Reads `gpu_limits.csv`.
pub fn limits(bytes: &[u8]) -> Result<Vec<Limits>, Problems> {
    let mut boards = Vec::new();
    rows(bytes, LIMITS_HEADER, |cells| {
        let power_w = match (watts(cells[7])?, watts(cells[6])?, watts(cells[8])?) {
            (Some(min), Some(default), Some(max)) => Some((min, default, max)),
            _ => None,
        };
        if let Some((min, default, max)) = power_w
            && !(min.scaled(3) <= default.scaled(3) && default.scaled(3) <= max.scaled(3))
        {
            return Err(format!("power limits {min}, {default}, {max} are out of order"));
        }
        let memory_mib = cells[5].parse().ok().filter(|memory| (1..=100_000_000).contains(memory));
        boards.push(Limits {
            gpu: cells[3].to_owned(),
            repository: cells[0].to_owned(),
            file: cells[1].to_owned(),
            driver: if cells[4].is_empty() { "unknown".to_owned() } else { cells[4].to_owned() },
            memory_mib: memory_mib.ok_or_else(|| format!("`{}` is no memory size in MiB", cells[5].escape_debug()))?,
            power_w,
            default_sm: optional(cells[12], clock)?,
            default_mem: optional(cells[13], clock)?,
            draw: watts(cells[14])?,
            state: cells[15].to_owned(),
        });
        Ok(())
    })?;
    Ok(boards)
}

/// Hands every row to `read`; collects what it says is wrong.
fn rows(bytes: &[u8], header: &str, mut read: impl FnMut(&[&str]) -> Result<(), String>) -> Result<(), Problems> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        Problem::new(Code::G01, format!("byte {}", error.valid_up_to()), "the file is not UTF-8 text.")
    })?;
    if text.lines().next().map(str::trim) != Some(header) {
        return Err(Problem::new(Code::G01, "line 1", format!("expected the header `{header}`.")).into());
    }
    let columns = header.split(',').count();
    let mut problems = Vec::new();
    for (number, line) in text.lines().enumerate().skip(1).filter(|(_, line)| !line.trim().is_empty()) {
        let cells: Vec<_> = line.split(',').map(str::trim).collect();
        let result = if cells.len() == columns {
            read(&cells)
        } else {
            Err(format!("{} cells where {columns} are expected", cells.len()))
        };
        if let Err(message) = result {
            problems.push(Problem::new(Code::G01, format!("line {}", number + 1), format!("{message}.")));
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(Problems(problems)) }
}

fn clock(text: &str) -> Result<i64, String> {
    let clock = text.parse().ok().filter(|clock| (1..=100_000).contains(clock));
    clock.ok_or_else(|| format!("`{}` is no clock in MHz", text.escape_debug()))
}

fn watts(text: &str) -> Result<Option<Decimal>, String> {
    optional(text, |text| {
        let watts = Decimal::parse(text).ok().filter(|watts| watts.scaled(3).is_some_and(|value| value >= 0));
        watts.ok_or_else(|| format!("`{}` is no power in W", text.escape_debug()))
    })
}

/// Drivers write several things where a board has no such figure.
fn optional<T>(text: &str, read: impl Fn(&str) -> Result<T, String>) -> Result<Option<T>, String> {
    if text.is_empty() || text == "N/A" || text.starts_with("Requested functionality") {
        return Ok(None);
    }
    read(text).map(Some)
}
