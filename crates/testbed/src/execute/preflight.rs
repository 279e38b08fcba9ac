//! What must hold before anything is touched.

use std::collections::{BTreeMap, BTreeSet};

use rats_domain::codes::Code;
use rats_domain::format::PointFile;
use rats_domain::ids::{GpuId, JobId};
use rats_domain::instance::Instance;
use rats_domain::problem::{Problem, Problems};
use rats_domain::schedule::Placement;
use rats_domain::units::{Milliwatts, Ticks};

use crate::custody::{Point, procfs};
use crate::gpu::{Gpu, GpuError, Gpus, Megahertz, Mig, Uuid};
use crate::inventory::Inventory;

/// The real GPUs of a plan.
#[derive(Clone, Debug, Default)]
pub struct Machines {
    gpus: BTreeMap<GpuId, Gpu>,
}

impl Machines {
    /// The GPU, if the plan uses it.
    pub fn get(&self, gpu: GpuId) -> Option<&Gpu> {
        self.gpus.get(&gpu)
    }

    /// All GPUs in tree order.
    pub fn iter(&self) -> impl Iterator<Item = (GpuId, &Gpu)> {
        self.gpus.iter().map(|(&id, gpu)| (id, gpu))
    }

    /// Finds the GPUs that the placements use.
    ///
    /// # Errors
    /// X02 where the inventory does not match the instance or is of another machine, N03 to N08 where a GPU is not there.
    pub fn find(
        gpus: &Gpus,
        instance: &Instance,
        inventory: &Inventory,
        placed: &[(JobId, Placement)],
    ) -> Result<Self, Problems> {
        let used: BTreeSet<GpuId> = placed.iter().flat_map(|(_, placement)| placement.gpus.iter().copied()).collect();
        let (mut found, mut problems) = (BTreeMap::new(), Vec::new());
        for id in used {
            match find(gpus, instance, inventory, id) {
                Ok(gpu) => drop(found.insert(id, gpu)),
                Err(problem) => problems.push(problem),
            }
        }
        if problems.is_empty() { Ok(Self { gpus: found }) } else { Err(Problems(problems)) }
    }
}

fn find(gpus: &Gpus, instance: &Instance, inventory: &Inventory, id: GpuId) -> Result<Gpu, Problem> {
    let name = instance.cluster.gpu_name(id);
    let gpu = &instance.cluster.gpus[id];
    let node = &instance.cluster.nodes[gpu.node];
    let wrong = |message: String| Problem::new(Code::X02, &name, message);
    let listed =
        inventory.gpu(&node.id, gpu.index.into()).ok_or_else(|| wrong("is not in the inventory.".to_owned()))?;
    let kind = &instance.cluster.gpu_types[node.gpu_type].id;
    if listed.gpu_type != *kind {
        return Err(wrong(format!("is a `{}` in the inventory and a `{kind}` in the plan.", listed.gpu_type)));
    }
    if listed.host != host() {
        return Err(wrong(format!("is on `{}`, this machine is `{}`.", listed.host, host())));
    }
    let found = gpus.gpu(&Uuid::new(listed.uuid.as_str())).map_err(|error| error.problem(&name))?;
    let real = &found.facts().type_id;
    if real != kind {
        return Err(wrong(format!("is a `{real}` ({}), the plan takes it for a `{kind}`.", found.facts().name)));
    }
    Ok(found)
}

/// The name of this machine.
pub fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The operating point of an option as it is set.
pub fn point(point: &PointFile) -> Point {
    let limit = point.power_limit_w.and_then(|limit| i64::try_from(limit.scaled(3)?).ok());
    Point { sm: point.sm_mhz.map(Megahertz), mem: point.mem_mhz.map(Megahertz), power_limit: limit.map(Milliwatts) }
}

/// Everything that forbids carrying the placements out, found without changing anything.
pub fn check(instance: &Instance, machines: &Machines, placed: &[(JobId, Placement)]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (job, _) in placed {
        let fixed = instance.jobs[*job].fixed.as_ref();
        if fixed.is_some_and(|fixed| fixed.start < Ticks::ZERO) {
            let message = "runs already, started by somebody else: nobody here would know when it ends.";
            problems.push(Problem::new(Code::X01, format!("job `{}`", instance.jobs[*job].id), message));
        }
    }
    for (id, gpu) in machines.iter() {
        let name = instance.cluster.gpu_name(id);
        match gpu.mig() {
            Ok(Mig::On) => problems.push(GpuError::Mig.problem(&name)),
            Ok(_) => {}
            Err(error) => problems.push(error.problem(&name)),
        }
        match gpu.processes() {
            Ok(strangers) if !strangers.is_empty() => {
                let who: Vec<String> = strangers.iter().take(5).map(|&pid| described(pid)).collect();
                problems.push(Problem::new(Code::N16, &name, format!("is in use by {}.", who.join(", "))));
            }
            Ok(_) => {}
            Err(error) => problems.push(error.problem(&name)),
        }
    }
    let mut seen: BTreeSet<(GpuId, String)> = BTreeSet::new();
    for (job, placement) in placed {
        let wanted = point(&instance.option(*job, placement.option).point);
        for (&id, gpu) in placement.gpus.iter().filter_map(|id| Some((id, machines.get(*id)?))) {
            if let Err(error) = can_be_set(gpu, wanted)
                && seen.insert((id, error.to_string()))
            {
                let place = format!("job `{}` on {}", instance.jobs[*job].id, instance.cluster.gpu_name(id));
                problems.push(error.problem(place));
            }
        }
    }
    problems
}

fn described(pid: u32) -> String {
    procfs::command(pid).map_or_else(|| format!("process {pid}"), |command| format!("process {pid} ({command})"))
}

/// Whether the GPU supports the point, as far as it says.
fn can_be_set(gpu: &Gpu, point: Point) -> Result<(), GpuError> {
    let architecture = gpu.facts().architecture;
    if point.sm.is_some() && architecture.is_some_and(|architecture| !architecture.locks_sm()) {
        return Err(GpuError::NotSupported { what: "locking the SM clock" });
    }
    if point.mem.is_some() && architecture.is_some_and(|architecture| !architecture.locks_memory()) {
        return Err(GpuError::NotSupported { what: "locking the memory clock" });
    }
    let mem = point.mem.map(|mem| gpu.mem_near(mem)).transpose()?;
    if let Some(sm) = point.sm {
        gpu.sm_near(sm, mem)?;
    }
    point.power_limit.map_or(Ok(()), |limit| gpu.check_power_limit(limit))
}

/// Whether this user may change a GPU: its power limit is set to what it is.
///
/// # Errors
/// N04 with the command that grants it. Where the limit cannot be read or set, nothing is known.
pub fn may_set(gpu: &Gpu, name: &str) -> Result<(), Problem> {
    let Ok(Some(limit)) = gpu.power_limit() else { return Ok(()) };
    match gpu.set_power_limit(limit) {
        Err(error @ GpuError::NoPermission { .. }) => Err(error.problem(name)),
        _ => Ok(()),
    }
}
