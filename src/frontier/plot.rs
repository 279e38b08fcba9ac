//! A frontier as a picture: plans, and below them the staircase that bounds prove.

use plotters::prelude::*;

use super::{Against, Frontier};

const SIZE: (u32, u32) = (900, 600);
const PLANS: RGBColor = RGBColor(0x1f, 0x4e, 0x9e);
const PROVED: RGBColor = RGBColor(0xb0, 0x3a, 0x2e);

/// What is drawn: energy upwards, the other term to the right.
struct Picture {
    plans: Vec<(f64, f64)>,
    /// Corners of the line below which, or left of which, no plan lies.
    proved: Vec<(f64, f64)>,
    right: (f64, f64),
    up: (f64, f64),
}

/// The picture as SVG; `None` without a plan.
///
/// # Panics
/// Never: drawing into a string does not fail.
pub fn svg(frontier: &Frontier, against: Against, name: &str, unit: &str) -> Option<String> {
    let picture = Picture::of(frontier, against)?;
    let mut text = String::new();
    picture.draw(&mut text, against, name, unit).expect("a string takes everything");
    Some(text)
}

impl Picture {
    fn of(frontier: &Frontier, against: Against) -> Option<Self> {
        let scale = Self::scale(against);
        let plans: Vec<(f64, f64)> =
            frontier.points.iter().map(|point| (point.other * scale, point.energy_mj as f64 / 3.6e9)).collect();
        let (first, last) = (*plans.first()?, *plans.last()?);
        let mut proved = Vec::new();
        let mut from = frontier.least.unwrap_or(0.0);
        for stair in frontier.stairs.iter().rev() {
            if let Some(bound) = stair.bound {
                proved.extend([(from, bound), (stair.limit, bound)]);
            }
            from = stair.limit;
        }
        let proved: Vec<(f64, f64)> = match against {
            Against::Makespan => proved.into_iter().map(|(time, joules)| (time * scale, joules / 3.6e6)).collect(),
            Against::Cost | Against::Tardiness => {
                proved.into_iter().map(|(joules, other)| (other * scale, joules / 3.6e6)).collect()
            }
        };
        let least = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::INFINITY, f64::min);
        let left = least(&mut plans.iter().chain(&proved).map(|at| at.0));
        let low = least(&mut plans.iter().chain(&proved).map(|at| at.1));
        let margin = |from: f64, to: f64| (0.06 * (to - from)).max(1e-3 * to.abs()).max(1e-9);
        let (across, height) = (margin(left, last.0), margin(low, first.1));
        Some(Self { plans, proved, right: (left - across, last.0 + across), up: (low - height, first.1 + height) })
    }

    /// Units of the picture in one unit of the term: hours in a second, or the price as it is.
    fn scale(against: Against) -> f64 {
        if against == Against::Cost { 1.0 } else { 1.0 / 3600.0 }
    }

    fn draw(
        &self,
        text: &mut String,
        against: Against,
        name: &str,
        unit: &str,
    ) -> Result<(), DrawingAreaErrorKind<std::io::Error>> {
        let root = SVGBackend::with_string(text, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&root)
            .caption(format!("{name}: energy against {}", against.name()), ("sans-serif", 22))
            .margin(16)
            .x_label_area_size(48)
            .y_label_area_size(80)
            .build_cartesian_2d(self.right.0..self.right.1, self.up.0..self.up.1)?;
        let mut mesh = chart.configure_mesh();
        let mesh = mesh.light_line_style(TRANSPARENT).x_desc(format!("{} ({unit})", against.name()));
        mesh.y_desc("energy (kWh)").draw()?;
        // A limit may lie beyond the last plan.
        let (right, up) = (self.right.1, self.up.1);
        let proved = self.proved.iter().map(|&(x, y)| (x.min(right), y.min(up)));
        let proved = chart.draw_series(LineSeries::new(proved, PROVED.stroke_width(2)))?;
        proved.label("no plan lies below").legend(|at| PathElement::new([at, (at.0 + 18, at.1)], PROVED));
        // Between two plans the earlier one is the best known.
        let steps = self.plans.windows(2).flat_map(|pair| [pair[0], (pair[1].0, pair[0].1)]);
        chart.draw_series(LineSeries::new(steps.chain(self.plans.last().copied()), PLANS.mix(0.5)))?;
        let dots = self.plans.iter().map(|&at| Circle::new(at, 4, PLANS.filled()));
        chart.draw_series(dots)?.label("plans").legend(|at| Circle::new((at.0 + 9, at.1), 4, PLANS.filled()));
        let box_style = WHITE.mix(0.8);
        let mut labels = chart.configure_series_labels();
        let labels = labels.position(SeriesLabelPosition::UpperRight).background_style(box_style);
        labels.border_style(BLACK.mix(0.3)).draw()?;
        root.present()
    }
}
