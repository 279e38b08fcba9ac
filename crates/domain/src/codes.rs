//! The index of every code a user can meet: input problems, warnings, plan rules and command failures.
//!
//! `docs/codes.md` is made from [`Code::ALL`]; a test holds the two together.

use std::fmt;

/// What kind of thing a code names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// A file that cannot be read as the format it should have.
    Reading,
    /// A rule of a valid instance.
    Instance,
    /// A rule of a valid plan file.
    PlanFile,
    /// A description of a network that is to be reduced to a tree.
    Topology,
    /// Tables of GPU clocks and limits.
    Catalogue,
    /// A rule that a plan must satisfy.
    Rule,
    /// Measured data that cannot be used.
    Data,
    /// Measured data that can be used but not trusted.
    Suspicion,
    /// Measurements that no model can be fitted to, or a model that cannot be trusted.
    Model,
    /// A scenario of which no instance can be built.
    Scenario,
    /// GPUs and the library that speaks to them.
    Gpu,
    /// Measuring a workload on real GPUs.
    Profiling,
    /// Carrying out a plan on real GPUs.
    Execution,
    /// Something suspicious that stops nothing.
    Warning,
    /// A command that cannot do what it was asked.
    Command,
}

impl Family {
    /// All families, in the order of the index.
    pub const ALL: [Self; 15] = [
        Self::Reading,
        Self::Instance,
        Self::PlanFile,
        Self::Topology,
        Self::Catalogue,
        Self::Rule,
        Self::Data,
        Self::Suspicion,
        Self::Model,
        Self::Scenario,
        Self::Gpu,
        Self::Profiling,
        Self::Execution,
        Self::Warning,
        Self::Command,
    ];

    /// A heading for the index.
    pub fn title(self) -> &'static str {
        match self {
            Self::Reading => "Reading a file (exit code 2)",
            Self::Instance => "Instance (exit code 2)",
            Self::PlanFile => "Plan file (exit code 2)",
            Self::Topology => "Topology input (exit code 2; unchanged where it is a warning)",
            Self::Catalogue => "GPU catalogue (exit code 2; unchanged where it is a warning)",
            Self::Rule => "Rules of a plan (violations; exit code 1)",
            Self::Data => "Measured data and profiles (exit code 2; left out with `rats import --lenient`)",
            Self::Suspicion => "Suspicious measurements (exit code unchanged)",
            Self::Model => "Fitted models (exit code 2)",
            Self::Scenario => "Scenarios (exit code 2)",
            Self::Gpu => "GPUs and NVML (exit code 2; 1 from `rats doctor` and `rats restore`)",
            Self::Profiling => {
                "Profiling a workload (exit code 2; unchanged where it is a warning, 1 for Y14, Y15 and Y17)"
            }
            Self::Execution => {
                "Carrying out a plan (exit code 2 before anything was started, 1 after; unchanged where it says so)"
            }
            Self::Warning => "Warnings (exit code unchanged)",
            Self::Command => "Commands (exit code 2)",
        }
    }
}

macro_rules! codes {
    ($($code:ident $family:ident $meaning:literal $remedy:literal)*) => {
        /// A stable code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $(#[doc = $meaning] $code,)*
        }

        impl Code {
            /// Every code, in the order of the index.
            pub const ALL: &'static [Self] = &[$(Self::$code,)*];

            /// The code as users see it.
            pub fn id(self) -> &'static str {
                match self { $(Self::$code => stringify!($code),)* }
            }

            /// What kind of thing it names.
            pub fn family(self) -> Family {
                match self { $(Self::$code => Family::$family,)* }
            }

            /// What it means, one sentence.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$code => $meaning,)* }
            }

            /// How to mend it, one sentence.
            pub fn remedy(self) -> &'static str {
                match self { $(Self::$code => $remedy,)* }
            }
        }
    };
}

codes! {
    R01 Reading "The file is not JSON." "Look at the place named; the file may be truncated, empty or of another kind."
    R02 Reading "The file's `format` is missing or not the expected one." "Give the command a file of the format it asks for, or convert it."
    R03 Reading "A key appears twice in one JSON object." "Remove one of the two."
    R04 Reading "A field is missing, has the wrong type or holds a number too large to read." "Compare the field with `rats schema`."
    I01 Instance "A list that must not be empty is empty." "Add at least one entry."
    I02 Instance "A number lies outside its range." "Use a value in the range named."
    I03 Instance "A number has more decimals than its unit allows." "Round it yourself; rats never rounds input."
    I04 Instance "An id is empty or holds `/` or a control character." "Rename it."
    I05 Instance "An id is used twice for one kind of thing." "Make ids unique."
    I06 Instance "A reference names something that does not exist." "Correct the name or add the thing."
    I07 Instance "A level name is reserved (`gpu`, `island`, `node`) or used twice." "Rename the level."
    I08 Instance "The switches and nodes do not form one tree." "Give everything but the one root a parent, without a cycle."
    I09 Instance "A switch's level is not strictly narrower than its parent's." "Correct the level or the parent."
    I10 Instance "The root has an uplink." "Remove `uplink_gb_s` from the root."
    I11 Instance "`islands` does not list every GPU index of the node exactly once." "List each index 0..gpus-1 once, or leave `islands` out."
    I12 Instance "The steps of a function of time are empty, out of order or start too late." "Give at least one step and order the ticks strictly; the first step of a tariff is at tick 0."
    I13 Instance "The objective is unusable." "Use the known terms, at least one weight above 0, and a tariff with `cost`."
    I14 Instance "The `after` relation has a cycle." "Break the cycle."
    I15 Instance "A job has no option that it could run on the empty cluster." "Correct its options or the cluster; the message names the rule."
    I16 Instance "`requested` or `fixed.option` is not an option of the job." "Use the index of an option, counted from 0."
    I17 Instance "A fixed job names GPUs that its option cannot have (rule V2)." "Name as many distinct existing GPUs of the option's type as its gang has."
    I18 Instance "An entry of `unavailable` is no interval or names a GPU that the node lacks." "Write [from, to] or [from, to, [indices]] with from < to."
    P01 PlanFile "A start or interval bound lies outside the range of ticks." "Use ticks between -2^31 and 2^31."
    T01 Topology "A topology file is not of the kind it was taken for." "Look at the place named; choose the kind with `--from`."
    T02 Topology "A link, member or parent names something that does not exist." "Correct the name or declare the thing."
    T03 Topology "A name is used twice or cannot be used." "Make names unique; ids are not empty and hold no `/`."
    T04 Topology "A capacity is missing, zero or no number of GB/s with at most 6 decimals." "Give a capacity above 0 and at most 1000000 GB/s."
    T05 Topology "Domains or switches contain one another in a cycle." "Break the cycle."
    T06 Topology "The domains do not form one tree." "Give every host and domain but one exactly one place in a wider domain."
    T07 Topology "No path of links leads from a domain to the rest." "Add the missing link, or describe the parts as two clusters."
    T08 Topology "A hostlist expression is wrong." "Write names such as `tux[0-3,7]`."
    T09 Topology "A figure that the input lacks was not given." "Give it with the option named."
    T10 Topology "A link joins a thing with itself." "Correct its ends."
    T11 Topology "The two directions of a link differ, or a GPU has more links than its generation has." "Correct the table, or give the generation with `--nvlink`."
    T12 Topology "The input is larger than what can be reduced." "Describe a part of it."
    T13 Topology "The input uses something that is not supported." "Describe the network in the format `rats.fabric/1`."
    T14 Topology "The tree allows more traffic at once than the links carry." "Declare the domains between, or divide uplinks with `--divide`."
    G01 Catalogue "A row of a table of clocks or limits is damaged." "Correct the row; rats skips none."
    G02 Catalogue "The tables do not say enough about a GPU." "Add its clocks, memory and power limits."
    V1 Rule "Every job appears exactly once with an existing option; fixed jobs are repeated exactly." "Assign each job once."
    V2 Rule "A gang has exactly its number of distinct existing GPUs of the option's type with enough memory." "Choose other GPUs."
    V3 Rule "A gang stays within its span." "Place it in one domain of that level."
    V4 Rule "A job starts at or after its release and ends by its deadline and the horizon." "Move it or choose a faster option."
    V5 Rule "A job starts after all jobs in `after` have ended." "Move it later."
    V6 Rule "No GPU runs two jobs in one tick." "Move one of them."
    V7 Rule "The jobs on a node need no more of a resource than it has." "Spread them over nodes or over time."
    V8 Rule "The traffic through a domain's uplink fits." "Spread or move the jobs, or choose options with less traffic."
    V9 Rule "The jobs read no more than the shared store delivers." "Move jobs or choose options that read less."
    V10 Rule "Power stays within the cap of every node, switch and the cluster." "Move jobs, choose lower operating points or let nodes sleep."
    V11 Rule "The total energy stays within the budget." "Choose options that need less energy."
    V12 Rule "No job runs on a GPU while it is unavailable." "Move it."
    V13 Rule "Powered intervals of sleep nodes are well formed, cover the busy ticks and respect `wake_ticks`." "Correct `power` or leave it out."
    D01 Data "A file of measurements is empty or has no rows." "Fetch it again; it may be truncated."
    D02 Data "A column is missing or appears twice in the header." "Compare the header with `docs/formats.md`."
    D03 Data "A row has another number of fields than the header." "Mend the row; a comma or a line break may be missing."
    D04 Data "A field that should be a number is none." "Write a finite decimal number, or a whole one where counts are asked for."
    D05 Data "A number lies outside its range, such as a time or power of 0." "Measure it again or remove the row."
    D06 Data "A value is none of the known ones." "Use one of those named."
    D07 Data "One point was measured twice with nothing to tell the two apart." "Remove one, or give the mean of both."
    D08 Data "A compressed file is damaged or truncated." "Fetch it again."
    D09 Data "A file is not UTF-8 text." "Save it as UTF-8."
    D10 Data "A measurement is incomplete: rows that belong to it are missing." "Add the rows named, or remove the rest of the measurement."
    D11 Data "Rows that describe the same thing contradict each other." "Decide which is right."
    D12 Data "A file does not belong to this source." "Name the right source, or leave the file out."
    D13 Data "A field that must not be empty is empty." "Fill it in."
    D14 Data "A profile holds no measurement." "Give at least one entry in `points` or `scaling`."
    D15 Data "A Parquet file is damaged or truncated." "Build the data set again, or remove the file so that the CSV file beside it is read."
    S01 Suspicion "Workloads share one and the same column of measurements." "The column is not used; measure each workload by itself."
    S02 Suspicion "A column takes few distinct values." "Average longer runs."
    S03 Suspicion "A measurement lies off its neighbors." "Repeat it."
    S04 Suspicion "Power sits at the limit while a higher clock brings no shorter time." "The clock asked for was not reached; use the power limit as the operating point."
    S05 Suspicion "Mean power is above the power limit." "Limits near the least a GPU accepts do not hold; use a higher one."
    S06 Suspicion "Rows disagree about a detail of one measurement." "The statement made most often was kept; decide which is right."
    S07 Suspicion "A workload is said not to run there." "It is left out; it may need more memory than the GPU has."
    S08 Suspicion "The two orders of one pair of jobs disagree." "The row whose first job comes first by name was kept and flagged; measure the pair again."
    S09 Suspicion "A value is about 1000 times off its neighbors or out of reach of the hardware, as if in another unit." "Give times in s and powers in W: divide or multiply the rows named by 1000."
    S10 Suspicion "A clock is not on the list of clocks of the GPU type." "Compare it with `instances/gpus`; drivers move requested clocks to the nearest one listed."
    S11 Suspicion "Two different measurements have one name." "Both were kept under numbered names and flagged; find out which is which."
    S12 Suspicion "A counter that is a share of a peak is above 1." "The peak was taken too low; use it in proportion only."
    S13 Suspicion "A file or series repeats measurements of another." "Count them once; where the two disagree the message says which was kept."
    M01 Model "There are too few operating points to fit a model to." "Measure at least 5 points at 4 different clocks or limits."
    M02 Model "All measurements are at one clock, or within 5 % of it." "Measure over a wider range of clocks or limits."
    M03 Model "A time or power is zero, negative or no finite number." "Measure it again or remove the row."
    M04 Model "A clock or limit is not one that the card can be set to." "Compare it with the list of the GPU in `instances/gpus`; give the clock that was reached."
    M05 Model "Measurements of one operating point disagree." "Measure it again, or remove the wrong one."
    M06 Model "A value is out of reach of the card, or far off the other rows, as if in another unit." "Give times in s and powers in W: divide or multiply the rows named by 1000."
    M07 Model "Two columns that should differ are identical." "One was copied from the other; measure each by itself."
    M08 Model "The fit predicts held-out measurements too badly to be trusted." "Measure longer or at more points; look for rows that belong to another workload."
    M09 Model "The measurements do not determine a model." "Measure at more and other clocks or limits."
    M10 Model "A prediction is asked for where nothing was measured." "Stay within the range of the model, or measure there and fit again."
    M11 Model "A model file holds a number or name that no fit would write." "Fit the model again."
    M12 Model "The rows do not say along which axis they were measured." "Give the SM clock of every row, or the power limit of every row, and keep the other one fixed."
    M20 Model "Too few kernels were measured at the same operating points to learn from." "Measure at least 8 kernels at every point of one grid."
    M21 Model "No measurement of a new kernel was given." "Measure it at one operating point at least; the default clocks will do."
    M22 Model "A new kernel was measured at an operating point that the known kernels lack, or twice at one." "Measure it once, at one of the known points."
    M23 Model "A time or power of a new kernel cannot be used, or is given at some points only." "Give a number above 0 at every measured point, or at none."
    M24 Model "A new kernel is unlike all known ones." "Sweep it instead, or check units: times and powers of one card, counters as shares from 0 to 1."
    M25 Model "A counter that the known kernels have is missing." "Measure it at the first point, or learn from points without counters."
    M26 Model "Points of several types of GPU are mixed." "Learn from one type of GPU at a time."
    M40 Model "Too few pairs of jobs were measured on a GPU to fit a model of interference." "Measure more pairs; the message says how many are needed."
    M41 Model "The model of interference knows no GPU of this name." "Use one of those named, or fit the model to pairs measured on this GPU."
    M42 Model "The model of interference knows no job of this name on this GPU." "Use one of the names in its data, or give the job's rate alone when the model is fitted."
    M43 Model "A rate of a pair is not a number above 0, or a job's rate alone is missing." "Measure again; a pair that cannot share has both rates 0, and every job needs its rate alone."
    M44 Model "Two rows of one pair disagree." "Decide which is right; (a, b) and (b, a) are the same pair and must hold the same two rates."
    M45 Model "A job runs far faster beside another than alone." "Check the units of the two rates and that they belong to the same job."
    M46 Model "Two rows give one job different rates alone on one GPU, or another model or batch size." "Decide which is right."
    M47 Model "A file of a fitted model is damaged or does not fit together." "Fit the model again."
    M48 Model "Measurements of concurrent transfers do not determine a contention line." "Measure at least two different numbers of concurrent transfers, each with a time above 0."
    M49 Model "A contention line explains its measurements badly." "Check that all were taken on one link with transfers that began together; measure again."
    M50 Model "Too few gang sizes were measured to fit how a workload scales." "Measure at least two sizes, one of them with the smallest gang."
    M51 Model "A measured gang has a time, size or placement that cannot be used." "Times are above 0 s, sizes at least 1, and nodes between 1 and the number of GPUs."
    M52 Model "The model of scaling knows no workload of this name." "Use one of those named, or fit it to gangs of this workload."
    M53 Model "The model of scaling cannot answer for this gang." "Ask for a size and placement within what was measured; the message says what that is."
    M54 Model "Measured gangs of one workload contradict each other." "Remove or repeat the rows named."
    B01 Scenario "The scenario is not TOML." "Look at the line and column named."
    B02 Scenario "A value that is needed is missing." "Add one of the values named."
    B03 Scenario "Two values say the same thing." "Keep one of them."
    B04 Scenario "A value of a scenario lies outside its range." "Use a value in the range named."
    B05 Scenario "A name is unknown." "Correct it; `docs/building.md` says where names come from."
    B06 Scenario "A profile does not tell what the job needs." "Give the figure in the scenario, or use another profile."
    B07 Scenario "A job has no option that it could run with as asked for." "Name other gang sizes, spans or stretches, or a larger cluster."
    B08 Scenario "No instance with the promised properties was found." "Try another seed, or sizes nearer to the family's."
    N01 Gpu "NVML's library cannot be loaded." "Install NVIDIA's driver, or name the library with `--nvml-lib` or `RATS_NVML_LIB`."
    N02 Gpu "The driver does not answer NVML." "Load the driver (`nvidia-smi` must work); in a container, start it again with the GPUs."
    N03 Gpu "No GPU of this machine has this UUID." "See `rats discover`; the inventory may be of another machine."
    N04 Gpu "The user may not change clocks or limits." "Run as root, or grant it once: `sudo setcap cap_sys_admin+ep` and the path of the program."
    N05 Gpu "The GPU or its driver cannot do this." "Lock SM clocks on Volta or later, memory clocks on Ampere or later; else use the power limit."
    N06 Gpu "A clock or limit lies outside what the GPU takes." "Use a value in the range named."
    N07 Gpu "The GPU is lost: it fell off the bus or needs a reset." "See `dmesg` for Xid; reset the GPU or the machine. Marks stay in the journal until it answers."
    N08 Gpu "A call of NVML does not return." "See `dmesg`; the GPU or the driver may need a reset."
    N09 Gpu "MIG is on." "Turn it off (`nvidia-smi -mig 0`) or leave the GPU out: clocks belong to the whole GPU."
    N10 Gpu "NVML failed in another way." "The message repeats what NVML said; `nvidia-smi -q` tells more."
    N11 Gpu "Another program of this kind holds the GPU." "Wait for the owner named, or end it."
    N12 Gpu "The journal cannot be written, so nothing is changed." "Name a directory with space left with `--state-dir` or `RATS_STATE_DIR`."
    N13 Gpu "The guardian cannot be started or has ended." "Look at the limits on processes; nothing is launched without a guardian."
    N14 Gpu "A GPU still has settings that a dead run left." "Run `rats restore` when the GPU answers and with permission."
    N15 Gpu "A setting was changed by somebody else since, and is left alone." "Nothing, if that was wanted; else set it yourself."
    N16 Gpu "Strangers use the GPU." "End the processes named, or leave the GPU out."
    N17 Gpu "A dump of `nvidia-smi -q -x` is damaged or lacks something." "Make it again; the file may be truncated."
    N18 Gpu "The energy counter is missing or does not move." "Energy is then integrated from power, which is less exact."
    N19 Gpu "An inventory does not hold together." "Make it again with `rats discover`."
    N20 Gpu "Persistence mode is off." "Turn it on (`sudo nvidia-smi -pm 1`): without it locks are lost when the last program ends."
    Y01 Profiling "The command cannot be found or run." "Give its full path, and check that it may be executed."
    Y02 Profiling "The command ends before anything can be measured." "Let it run longer, or leave out `--step-pattern` if a step is a whole run."
    Y03 Profiling "The command ended with an error." "See its log, named in the message."
    Y04 Profiling "No line of the output matches the pattern." "Compare `--step-pattern` with the log; the command must flush each line."
    Y05 Profiling "There is nothing to sweep." "Name clocks or limits of the list that `rats discover` shows."
    Y06 Profiling "A file of measurements is damaged." "Only its last line may be cut short; leave out the line named."
    Y07 Profiling "A file of measurements belongs to another sweep." "Name another file with `--measurements`, or the same command and GPUs."
    Y08 Profiling "The measurements cannot be written." "Make space or name another file with `--measurements`; the sweep goes on where it was."
    Y09 Profiling "Clocks and power did not become steady in time." "The point is flagged and repeated; raise `--settle`, or look for heat and strangers."
    Y10 Profiling "The reference point moved." "Points beside it are flagged and repeated; let the GPU warm up, look for heat and load on the host."
    Y11 Profiling "Energy counter and integrated power disagree." "The point is flagged and the counter kept; raise `--agree` if the readings are known to be rough."
    Y12 Profiling "The GPUs of a gang differ." "Profile GPUs of one type at a time."
    Y13 Profiling "A clock is not supported." "The nearest supported one is measured."
    Y14 Profiling "Points stay tainted after their repeats." "Their flags say why; look for heat, limits and strangers, and profile again."
    Y15 Profiling "The sweep was interrupted." "Give the same command again: it goes on where it was."
    Y16 Profiling "The command makes no progress." "See its log; raise `--patience` if its steps are that long."
    Y17 Profiling "The budget was used up before all points were measured." "Give the same command with a larger budget: it goes on where it was."
    Y18 Profiling "Profiles cannot be pooled: they are not of one workload on one kind of GPU, or share no point." "Name profiles of the same command and clocks on several GPUs of a kind."
    X01 Execution "The instance or plan cannot be carried out on this machine." "The message says what is missing; `docs/executing.md` says what is needed."
    X02 Execution "The inventory does not match the plan." "Make it again with `rats discover`, or correct node, index or type."
    X03 Execution "A job has no command, or its command has a placeholder without a value." "Give `command` in the instance or in the file of `--jobs`."
    X04 Execution "The file of `--jobs` does not hold together." "See `docs/executing.md`."
    X05 Execution "The command of a job cannot be found or run." "Give its full path, and check that it may be executed."
    X06 Execution "A job ended with an error." "See its log, named in the message."
    X07 Execution "A job ended well long before its work can have been done." "See its log; if it is meant to be that quick, lower `least` for it in the file of `--jobs`."
    X08 Execution "A job ran far beyond its planned time and was ended." "See its log; raise `--overrun` if it only needed longer."
    X09 Execution "A job left processes behind; they were ended." "Let the command wait for its children; a job ends when its command ends."
    X10 Execution "The trace cannot be written." "Make space; then run again: what has not run is carried out."
    X11 Execution "A trace is damaged." "Only its last line may be cut short; leave out the line named."
    X12 Execution "A job was not started because one that it must follow did not succeed." "Mend that one and run again."
    X13 Execution "A job was not started because a GPU of its plan was lost." "Run again when the GPU is back, or with `--replan`."
    X14 Execution "A job was not started because a limit forbids it for ever." "Make a new plan from here."
    X15 Execution "The operating point could not be set or did not take effect." "The message repeats what the GPU said; nothing was launched there."
    X16 Execution "No new plan was made." "The old one is carried out as far as it can be."
    X17 Execution "A directory of a run belongs to another plan." "Name another directory with `--run-dir`."
    X18 Execution "The run was interrupted." "Run again with the same `--run-dir`: what has not run is carried out."
    X19 Execution "Readings do not arrive." "The GPU may hang; see `rats doctor`."
    W1 Warning "The plan was made for another file than this instance (hash differs)." "Check it against the instance it was made for."
    W2 Warning "The plan claims an objective that evaluation does not confirm." "Trust the evaluated value."
    W3 Warning "A field is unknown and was ignored." "Remove it or correct its spelling."
    W4 Warning "An option can never be used, not even on the empty cluster." "Remove or correct it."
    W5 Warning "The plan names another instance than this one." "Check that the files belong together."
    W6 Warning "The global batch is more than 8 times that of the profile." "Give `steps_table`: larger batches can need more samples."
    U01 Command "A file cannot be read." "Check the path and its permissions."
    U02 Command "A file cannot be written." "Check the path, its permissions and the space left."
    U03 Command "No solver has this name." "See `rats solvers`."
    U04 Command "The solver refuses this instance." "Choose another solver, or `auto`."
    U05 Command "The command line is wrong." "See `--help`."
    U06 Command "The plan breaks rules and the command needs a valid one." "See `rats check`."
    U07 Command "A job of this name does not exist." "See `rats info --jobs`."
    U08 Command "A solver failed in a way it should not." "Please report it with the instance and the command."
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}
