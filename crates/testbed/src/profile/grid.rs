//! Which operating points there are, and which of them come first.

use rats_domain::codes::Code;
use rats_domain::problem::{Problem, Problems, Warning};

use super::axis::Axis;
use super::target::Target;
use crate::gpu::{Architecture, Facts, Gpu, GpuError, Megahertz};

/// Values of an axis that nobody named.
const DEFAULT_POINTS: usize = 8;
/// Distance between power limits that are candidates, mW.
const LIMIT_STEP: i64 = 5_000;

/// What the user wants to sweep; absent axes stay as they are found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Axes {
    /// SM clocks, MHz.
    pub sm: Option<Axis>,
    /// Memory clocks, MHz.
    pub mem: Option<Axis>,
    /// Power limits, W.
    pub limit: Option<Axis>,
}

/// The points of a sweep.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grid {
    /// Those that are measured first, ascending.
    pub first: Vec<Target>,
    /// All that can be measured between them, ascending; holds `first` too.
    pub candidates: Vec<Target>,
    /// Clocks that the GPU does not have and what is taken instead.
    pub warnings: Vec<Warning>,
}

/// The points of a gang of equal GPUs.
///
/// # Errors
/// N05, N06 where the GPUs cannot do what an axis asks for, Y12 where they differ, Y05 where nothing is left to measure.
pub fn grid(gpus: &[Gpu], axes: &Axes) -> Result<Grid, Problems> {
    let Some((first, others)) = gpus.split_first() else {
        return Err(Problem::new(Code::Y05, "GPUs", "there is no GPU.").into());
    };
    for other in others {
        if other.facts().type_id != first.facts().type_id || other.facts().clocks != first.facts().clocks {
            let message = format!("is a {}, {} is a {}.", other.facts().name, first.uuid(), first.facts().name);
            return Err(Problem::new(Code::Y12, other.uuid().as_str(), message).into());
        }
    }
    of(first.facts(), axes).map_err(|error| error.place(first))
}

/// Values of an axis that come first, and all between them.
type Values = (Vec<Option<i64>>, Vec<Option<i64>>);

/// Why there is no grid.
#[derive(Debug)]
enum Refusal {
    Gpu(GpuError),
    Empty(&'static str),
}

impl Refusal {
    fn place(self, gpu: &Gpu) -> Problems {
        match self {
            Self::Gpu(error) => error.problem(gpu.uuid().as_str()).into(),
            Self::Empty(message) => Problem::new(Code::Y05, gpu.uuid().as_str(), message).into(),
        }
    }
}

impl From<GpuError> for Refusal {
    fn from(error: GpuError) -> Self {
        Self::Gpu(error)
    }
}

fn of(facts: &Facts, axes: &Axes) -> Result<Grid, Refusal> {
    let axes = with_default(facts, axes)?;
    let mut grid = Grid::default();
    let mems = mems(facts, axes.mem.as_ref(), &mut grid.warnings)?;
    let (limits, all_limits) = limits(facts, axes.limit.as_ref(), axes.sm.is_none())?;
    for &mem_mhz in &mems {
        let (sms, all_sms) = sms(facts, axes.sm.as_ref(), mem_mhz, &mut grid.warnings)?;
        let product = |limits: &[Option<i64>], sms: &[Option<i64>]| -> Vec<Target> {
            let row = |&power_limit_mw: &Option<i64>| {
                sms.iter().map(move |&sm_mhz| Target { mem_mhz, power_limit_mw, sm_mhz }).collect::<Vec<_>>()
            };
            limits.iter().flat_map(row).collect()
        };
        grid.first.extend(product(&limits, &sms));
        grid.candidates.extend(product(&all_limits, &all_sms));
    }
    grid.candidates.extend_from_slice(&grid.first);
    for points in [&mut grid.first, &mut grid.candidates] {
        points.sort_unstable();
        points.dedup();
    }
    if grid.first.is_empty() {
        return Err(Refusal::Empty("the driver lists no clocks to sweep."));
    }
    Ok(grid)
}

/// SM clocks where they can be locked, else power limits, if the user names nothing.
fn with_default(facts: &Facts, axes: &Axes) -> Result<Axes, GpuError> {
    let locks = facts.architecture.is_none_or(Architecture::locks_sm);
    let locks_memory = facts.architecture.is_none_or(Architecture::locks_memory);
    if axes.sm.is_some() && !locks {
        return Err(GpuError::NotSupported { what: "locking the SM clock" });
    }
    if axes.mem.is_some() && !locks_memory {
        return Err(GpuError::NotSupported { what: "locking the memory clock" });
    }
    if axes.sm.is_some() || axes.mem.is_some() || axes.limit.is_some() {
        return Ok(axes.clone());
    }
    if locks && !facts.sm_clocks(None).is_empty() {
        return Ok(Axes { sm: Some(Axis::Count(DEFAULT_POINTS)), ..Axes::default() });
    }
    Ok(Axes { limit: Some(Axis::Count(DEFAULT_POINTS)), ..Axes::default() })
}

fn mems(facts: &Facts, axis: Option<&Axis>, warnings: &mut Vec<Warning>) -> Result<Vec<Option<i64>>, GpuError> {
    let Some(axis) = axis else { return Ok(vec![None]) };
    let mut supported: Vec<i64> = facts.clocks.iter().map(|entry| entry.mem.0).collect();
    supported.reverse();
    snapped(axis, &supported, "memory clock", warnings)
}

/// SM clocks at a memory clock: those of the axis, and all between them.
fn sms(facts: &Facts, axis: Option<&Axis>, mem: Option<i64>, warnings: &mut Vec<Warning>) -> Result<Values, GpuError> {
    let Some(axis) = axis else { return Ok((vec![None], vec![None])) };
    let supported: Vec<i64> = facts.sm_clocks(mem.map(Megahertz)).iter().map(|clock| clock.0).collect();
    let chosen = snapped(axis, &supported, "SM clock", warnings)?;
    let between = |clock: &i64| chosen.first() <= Some(&Some(*clock)) && Some(&Some(*clock)) <= chosen.last();
    let all = supported.iter().copied().filter(between).map(Some).collect();
    Ok((chosen, all))
}

/// Limits of the axis, and all between them where `refines`.
fn limits(facts: &Facts, axis: Option<&Axis>, refines: bool) -> Result<Values, GpuError> {
    let Some(axis) = axis else { return Ok((vec![None], vec![None])) };
    let range = facts.power.ok_or(GpuError::NotSupported { what: "setting the power limit" })?;
    let (least, most) = (range.least.0, range.most.0);
    let inner = (least / LIMIT_STEP + 1..).map(|step| step * LIMIT_STEP).take_while(|limit| *limit < most);
    let mut supported = vec![least];
    supported.extend(inner);
    supported.extend((most > least).then_some(most));
    let chosen = axis.values(&supported);
    if let Some(&asked) = chosen.iter().find(|limit| !(least..=most).contains(*limit)) {
        return Err(GpuError::OutOfRange { what: "a power limit", asked, least, most, unit: "mW" });
    }
    let between = |limit: &i64| refines && chosen.first() <= Some(limit) && Some(limit) <= chosen.last();
    let all = supported.iter().copied().filter(between).chain(chosen.iter().copied()).map(Some).collect();
    Ok((chosen.into_iter().map(Some).collect(), all))
}

/// Clocks of an axis, each the supported one that is nearest.
fn snapped(
    axis: &Axis,
    supported: &[i64],
    what: &'static str,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<Option<i64>>, GpuError> {
    let fine: Vec<i64> = supported.iter().map(|clock| clock * 1000).collect();
    let (Some(&low), Some(&high)) = (fine.first(), fine.last()) else {
        return Err(GpuError::NotSupported { what: "listing clocks" });
    };
    let mut clocks = Vec::new();
    for asked in axis.values(&fine) {
        if !(low..=high).contains(&asked) {
            let (asked, least, most) = (asked / 1000, low / 1000, high / 1000);
            return Err(GpuError::OutOfRange { what, asked, least, most, unit: "MHz" });
        }
        let Some(&near) = fine.iter().min_by_key(|clock| (*clock - asked).abs()) else { continue };
        if near != asked {
            let message = format!("{} MHz is not supported; {} MHz is measured.", asked as f64 / 1e3, near / 1000);
            let warning = Warning::new(Code::Y13, what, message);
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
        clocks.push(Some(near / 1000));
    }
    clocks.dedup();
    Ok(clocks)
}

#[cfg(test)]
mod tests {
    use rats_domain::units::Milliwatts;

    use super::*;
    use crate::gpu::{MemoryClock, PowerRange, Uuid};

    fn facts(architecture: Architecture) -> Facts {
        let clocks =
            |mem: i64, sm: &[i64]| MemoryClock { mem: Megahertz(mem), sm: sm.iter().copied().map(Megahertz).collect() };
        Facts {
            uuid: Uuid::new("GPU-1"),
            index: 0,
            name: "NVIDIA X".to_owned(),
            type_id: "x".to_owned(),
            pci: String::new(),
            architecture: Some(architecture),
            memory: None,
            clocks: vec![clocks(1200, &[200, 400, 600, 800, 1000]), clocks(600, &[200, 400])],
            max_sm: None,
            power: Some(PowerRange { least: Milliwatts(98_000), most: Milliwatts(112_000), default: None }),
            pcie: None,
            links: Vec::new(),
        }
    }

    fn sm(clocks: &[i64]) -> Vec<Target> {
        clocks.iter().map(|&clock| Target { sm_mhz: Some(clock), ..Target::default() }).collect()
    }

    #[test]
    fn without_axes_sm_clocks_are_swept_or_else_power_limits() {
        assert_eq!(of(&facts(Architecture::Ampere), &Axes::default()).unwrap().first, sm(&[200, 400, 600, 800, 1000]));
        // Limits in steps of 5 W between the two ends.
        let grid = of(&facts(Architecture::Pascal), &Axes::default()).unwrap();
        let limits: Vec<_> = grid.first.iter().filter_map(|target| target.power_limit_mw).collect();
        assert_eq!(limits, [98_000, 100_000, 105_000, 110_000, 112_000]);
    }

    #[test]
    fn axes_are_multiplied_with_the_clocks_of_each_memory_clock() {
        let axes = Axes { sm: Some(Axis::Count(2)), mem: Some(Axis::All), limit: None };
        let grid = of(&facts(Architecture::Ampere), &axes).unwrap();
        let pairs: Vec<_> = grid.first.iter().map(|target| (target.mem_mhz.unwrap(), target.sm_mhz.unwrap())).collect();
        assert_eq!(pairs, [(600, 200), (600, 400), (1200, 200), (1200, 1000)]);
        assert_eq!(grid.candidates.len(), 2 + 5);
    }

    #[test]
    fn a_list_is_snapped_with_a_warning_and_refused_out_of_range() {
        let axes = |list: &[i64]| Axes { sm: Some(Axis::List(list.to_vec())), ..Axes::default() };
        let grid = of(&facts(Architecture::Ampere), &axes(&[390_000, 800_000])).unwrap();
        assert_eq!(grid.first, sm(&[400, 800]));
        assert_eq!(grid.candidates, sm(&[400, 600, 800]));
        assert_eq!(grid.warnings.len(), 1);
        let refused = of(&facts(Architecture::Ampere), &axes(&[1_100_000]));
        assert!(matches!(refused, Err(Refusal::Gpu(GpuError::OutOfRange { asked: 1100, .. }))), "{refused:?}");
    }

    #[test]
    fn what_the_generation_cannot_do_is_refused() {
        let one = || Some(Axis::Count(1));
        let refused = |architecture, axes| {
            matches!(of(&facts(architecture), &axes), Err(Refusal::Gpu(GpuError::NotSupported { .. })))
        };
        assert!(refused(Architecture::Pascal, Axes { sm: one(), ..Axes::default() }));
        assert!(refused(Architecture::Volta, Axes { mem: one(), ..Axes::default() }));
        assert!(!refused(Architecture::Volta, Axes { sm: one(), ..Axes::default() }));
    }
}
