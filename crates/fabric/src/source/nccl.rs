//! NCCL's topology files: the PCIe tree of one host in XML, with NVLinks and adapters where they are known.

use std::collections::BTreeMap;

use rats_domain::codes::Code;
use rats_domain::problem::{Problem, Problems, Warning};
use rats_domain::units::KilobytesPerSecond;
use roxmltree::{Document, Node};

use super::matrix::MOST_GPUS;
use super::{Figures, Source};
use crate::host::{Host, Part};
use crate::rates;

/// Reads a topology file.
///
/// # Errors
/// Broken XML, or every element that says too little, or a missing figure.
pub fn read(text: &str, figures: &Figures) -> Result<Source, Problems> {
    let document = Document::parse(text).map_err(|error| broken(text, &error))?;
    let root = document.root_element();
    if !root.has_tag_name("system") {
        let message = format!("the root element is `{}`, not `system`.", root.tag_name().name());
        return Err(Problem::new(Code::T01, place(&root), message).into());
    }
    let mut reader = Reader::new(figures);
    reader.tree(&root);
    if reader.gpus.is_empty() && reader.problems.is_empty() {
        let message = "no element is a GPU (`pci` of class 0x03....).";
        reader.problems.push(Problem::new(Code::T01, place(&root), message));
    }
    if reader.gpus.len() > MOST_GPUS {
        reader.problems.push(Problem::new(Code::T12, place(&root), format!("more than {MOST_GPUS} GPUs.")));
    }
    if reader.problems.is_empty() {
        reader.nvlinks(&root);
    }
    if !reader.problems.is_empty() {
        return Err(Problems(reader.problems));
    }
    let file = reader.host.cluster(figures)?;
    Ok(Source { file, warnings: reader.warnings })
}

/// NVLinks between GPUs as each lists them, with the first place.
type Pairs = BTreeMap<(usize, usize), (KilobytesPerSecond, String)>;

/// Builds the host while it walks over the elements.
struct Reader<'f> {
    figures: &'f Figures,
    host: Host,
    /// What the elements became, by their number.
    parts: BTreeMap<usize, Part>,
    /// GPUs by bus id.
    gpus: BTreeMap<String, usize>,
    problems: Vec<Problem>,
    warnings: Vec<Warning>,
}

impl<'f> Reader<'f> {
    fn new(figures: &'f Figures) -> Self {
        Self {
            figures,
            host: Host::default(),
            parts: BTreeMap::new(),
            gpus: BTreeMap::new(),
            problems: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Sockets, switches, GPUs and adapters, in document order: parents come before children.
    fn tree(&mut self, root: &Node<'_, '_>) {
        let sockets = root.children().filter(|node| node.has_tag_name("cpu")).count();
        for node in root.descendants().filter(Node::is_element) {
            match node.tag_name().name() {
                "cpu" if sockets == 1 => {
                    self.parts.insert(node.id().get_usize(), Part::Hub);
                }
                "cpu" => {
                    let cpu = self.host.add("cpu");
                    self.parts.insert(node.id().get_usize(), cpu);
                    self.host.links.push((cpu, Part::Hub, self.figures.socket()));
                }
                "pci" => self.pci(&node),
                "net" => self.loose_net(&node),
                _ => {}
            }
        }
    }

    fn pci(&mut self, node: &Node<'_, '_>) {
        let class = node.attribute("class").unwrap_or("").trim_start_matches("0x").to_owned();
        let gpu = class.starts_with("03") || node.children().any(|child| child.has_tag_name("gpu"));
        let Some(bus) = node.attribute("busid") else {
            self.problems.push(Problem::new(Code::T01, place(node), "the `pci` element has no `busid`."));
            return;
        };
        let part = if gpu {
            let number = self.host.switches.len();
            if self.gpus.insert(bus.to_owned(), number).is_some() {
                self.problems.push(Problem::new(Code::T03, place(node), format!("bus id `{bus}` is used twice.")));
            }
            self.host.switches.push(self.switch_above(node));
            Part::Gpu(number)
        } else if class.starts_with("06") {
            self.host.add("pcie")
        } else if class.starts_with("02") {
            let nic = self.host.add("nic");
            let rate = self.net_rate(node);
            self.host.adapters.push((nic, rate));
            nic
        } else {
            // NVMe drives and elements of unknown class carry no traffic that is counted.
            return;
        };
        self.parts.insert(node.id().get_usize(), part);
        if let Some(rate) = self.pcie_rate(node) {
            self.host.links.push((part, self.above(node), rate));
        }
    }

    /// The part that holds an element; the hub if none does.
    fn above(&self, node: &Node<'_, '_>) -> Part {
        node.ancestors().skip(1).find_map(|above| self.parts.get(&above.id().get_usize()).copied()).unwrap_or(Part::Hub)
    }

    fn switch_above(&self, node: &Node<'_, '_>) -> Option<usize> {
        match self.above(node) {
            Part::Inner(inner) if self.host.inner[inner].starts_with("pcie") => Some(inner),
            _ => None,
        }
    }

    fn pcie_rate(&mut self, node: &Node<'_, '_>) -> Option<KilobytesPerSecond> {
        let speed = node.attribute("link_speed").unwrap_or("");
        let width = node.attribute("link_width").unwrap_or("");
        if speed.is_empty() || width.is_empty() || width == "0" {
            if self.figures.pcie.is_none() {
                let message = format!("{}: the element has no link speed and width.", place(node));
                self.problems.push(Problem::new(Code::T09, "--pcie-gb-s", message));
            }
            return self.figures.pcie;
        }
        let rate =
            rates::transfer_rate(speed).zip(width.parse().ok()).and_then(|(rate, width)| rates::pcie(rate, width));
        if rate.is_none() {
            let message = format!("`{}` x `{}` is no PCIe link.", speed.escape_debug(), width.escape_debug());
            self.problems.push(Problem::new(Code::T04, place(node), message));
        }
        rate
    }

    /// What the ports of an adapter carry together; `None` if no port states it.
    fn net_rate(&mut self, node: &Node<'_, '_>) -> Option<KilobytesPerSecond> {
        let ports = node.descendants().filter(|inner| inner.has_tag_name("net"));
        let rates: Vec<_> = ports.filter_map(|port| self.port_rate(&port)).collect();
        (!rates.is_empty()).then(|| rates.into_iter().sum())
    }

    /// `speed` is in Mbit/s.
    fn port_rate(&mut self, port: &Node<'_, '_>) -> Option<KilobytesPerSecond> {
        let speed = port.attribute("speed")?;
        let rate = speed.parse::<i64>().ok().filter(|speed| (1..=100_000_000).contains(speed));
        if rate.is_none() {
            let message = format!("`{}` is no speed in Mbit/s.", speed.escape_debug());
            self.problems.push(Problem::new(Code::T04, place(port), message));
        }
        rate.map(|speed| KilobytesPerSecond(speed * 1000 / 8))
    }

    /// A port outside any PCIe device sits at its socket.
    fn loose_net(&mut self, node: &Node<'_, '_>) {
        if node.ancestors().any(|above| above.has_tag_name("pci")) {
            return;
        }
        let (part, rate) = (self.above(node), self.port_rate(node));
        self.host.adapters.push((part, rate));
    }

    /// NVLinks that the file names, or the switch that the user adds.
    fn nvlinks(&mut self, root: &Node<'_, '_>) {
        if let Some(rate) = self.figures.nvswitch {
            self.host.add_nvswitch(rate);
            return;
        }
        let mut pairs = Pairs::new();
        let mut switches: BTreeMap<String, (Part, Vec<(usize, KilobytesPerSecond)>)> = BTreeMap::new();
        for node in root.descendants().filter(|node| node.has_tag_name("nvlink")) {
            let Part::Gpu(gpu) = self.above(&node) else { continue };
            let Some((count, link)) = self.nvlink_rate(&node) else { continue };
            let target = node.attribute("target").unwrap_or("");
            match self.gpus.get(target) {
                Some(&other) if other == gpu => {
                    let message = "the NVLink leads from a GPU to itself and is left out.";
                    self.warnings.push(Warning::new(Code::T10, place(&node), message));
                }
                Some(&other) => {
                    let rate = KilobytesPerSecond(link.0 * count);
                    pairs.entry((gpu, other)).or_insert((KilobytesPerSecond::ZERO, place(&node))).0 += rate;
                }
                None if node
                    .attribute("tclass")
                    .is_some_and(|class| class.trim_start_matches("0x").starts_with("06")) =>
                {
                    let host = &mut self.host;
                    let (_, members) =
                        switches.entry(target.to_owned()).or_insert_with(|| (host.add("nvswitch"), Vec::new()));
                    members.push((gpu, KilobytesPerSecond(link.0 * count)));
                }
                None => {
                    let message = format!("the NVLink leads to `{}`, which is no GPU.", target.escape_debug());
                    self.problems.push(Problem::new(Code::T02, place(&node), message));
                }
            }
        }
        self.join_pairs(&pairs);
        self.join_switches(switches);
    }

    fn nvlink_rate(&mut self, node: &Node<'_, '_>) -> Option<(i64, KilobytesPerSecond)> {
        let sm = node.parent().and_then(|gpu| gpu.attribute("sm")).and_then(|sm| sm.parse().ok());
        let count =
            node.attribute("count").and_then(|count| count.parse().ok()).filter(|count| (1..1000).contains(count));
        match (count, self.figures.nvlink(sm.and_then(rates::nvlink_of_sm))) {
            (Some(count), Ok(generation)) => Some((count, generation.link)),
            (None, _) => {
                self.problems.push(Problem::new(Code::T04, place(node), "the NVLink has no `count` above 0."));
                None
            }
            (_, Err(problem)) => {
                self.problems.push(problem);
                None
            }
        }
    }

    /// Each pair is listed at both of its GPUs.
    fn join_pairs(&mut self, pairs: &Pairs) {
        for (&(a, b), (rate, place)) in pairs {
            if pairs.get(&(b, a)).map(|(back, _)| back) != Some(rate) {
                let message = format!("GPU {a} lists NVLinks to {b} that GPU {b} does not list.");
                self.problems.push(Problem::new(Code::T11, place, message));
            } else if a < b {
                self.host.links.push((Part::Gpu(a), Part::Gpu(b), *rate));
                self.host.joined.insert((a, b), *rate);
            }
        }
    }

    fn join_switches(&mut self, switches: BTreeMap<String, (Part, Vec<(usize, KilobytesPerSecond)>)>) {
        for (switch, members) in switches.into_values() {
            for &(gpu, rate) in &members {
                self.host.links.push((Part::Gpu(gpu), switch, rate));
            }
            for &(a, of_a) in &members {
                for &(b, of_b) in members.iter().filter(|&&(b, _)| a < b) {
                    *self.host.joined.entry((a, b)).or_default() += of_a.min(of_b);
                }
            }
        }
    }
}

/// An error of the XML; one at the end of a truncated file carries no position of its own.
fn broken(text: &str, error: &roxmltree::Error) -> Problem {
    let at = error.pos();
    let place = match error {
        roxmltree::Error::UnclosedRootNode | roxmltree::Error::UnexpectedEndOfStream => {
            format!("line {} (end of file)", text.lines().count().max(1))
        }
        _ => format!("line {}, column {}", at.row, at.col),
    };
    Problem::new(Code::T01, place, format!("broken XML: {error}."))
}

fn place(node: &Node<'_, '_>) -> String {
    let at = node.document().text_pos_at(node.range().start);
    format!("line {}", at.row)
}
