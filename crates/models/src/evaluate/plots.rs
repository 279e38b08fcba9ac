//! Charts of a report as SVG: measured curves with predictions and intervals, errors by task, learning curves.

use plotters::prelude::{
    BLACK, BLUE, ChartBuilder, Circle, Color as _, IntoDrawingArea as _, LineSeries, PathElement, RED, RGBColor,
    Rectangle, SVGBackend, SeriesLabelPosition, TRANSPARENT, WHITE,
};

use crate::score::{Quantity, Score};
use crate::statistics::mean;

use super::dvfs::Example;
use super::unseen::SIZES;

/// Width and height.
const SIZE: (u32, u32) = (760, 440);

/// Colors of lines, told apart on white.
const COLORS: [(u8, u8, u8); 9] = [
    (0, 114, 178),
    (213, 94, 0),
    (0, 158, 115),
    (204, 121, 167),
    (110, 70, 20),
    (230, 159, 0),
    (86, 180, 233),
    (110, 110, 110),
    (150, 10, 50),
];

/// Where the names of lines stand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Legend {
    /// To the right of few points, which are marked.
    Beside,
    /// At the lower right, below rising lines.
    Below,
}

/// A file and its content.
pub type Plot = (String, String);

/// One chart an example: measured points, those that were fitted filled, prediction and 90 % interval.
pub fn curves(examples: &[Example]) -> Vec<Plot> {
    let plot = |example: &Example| {
        let words: String =
            example.title.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '-' }).collect();
        let mut text = String::new();
        curve(&mut text, example).ok()?;
        Some((format!("curve-{words}-{}.svg", example.quantity.name()), text))
    };
    examples.iter().filter_map(plot).collect()
}

/// Error of `rats` against the share of clocks that were fitted, a line for each source and GPU.
pub fn learning(scores: &[Score], quantity: Quantity) -> Option<Plot> {
    let steps = [(1.0 / 8.0, "every-8th-clock"), (0.25, "every-4th-clock"), (0.5, "every-2nd-clock")];
    let steps: Vec<(f64, String)> = steps.into_iter().map(|(share, task)| (share, task.to_owned())).collect();
    let title = format!("Error of {} against the share of clocks that were fitted", quantity.name());
    let text = lines(scores, quantity, &steps, &title, "share of clocks fitted")?;
    Some((format!("learning-{}.svg", quantity.name()), text))
}

/// Error of `rats` for a kernel measured at the default clocks against the number of known kernels.
pub fn learning_unseen(scores: &[Score], quantity: Quantity) -> Option<Plot> {
    let steps = SIZES.map(|size| (size as f64, format!("unseen-of-{size}-1-default")));
    let title = format!("Error of {} of a kernel measured at one point", quantity.name());
    let text = lines(scores, quantity, &steps, &title, "known kernels")?;
    Some((format!("learning-unseen-{}.svg", quantity.name()), text))
}

/// Mean error over seeds at each step (its place on the axis and its task).
fn lines(scores: &[Score], quantity: Quantity, steps: &[(f64, String)], title: &str, axis: &str) -> Option<String> {
    let mut gpus: Vec<(&str, &str)> = scores.iter().map(|s| (s.source.as_str(), s.gpu.as_str())).collect();
    gpus.sort_unstable();
    gpus.dedup();
    let figure = |(source, gpu): (&str, &str), (x, task): &(f64, String)| {
        let of = |s: &&Score| {
            s.task == *task && s.source == source && s.gpu == gpu && s.model == "rats" && s.quantity == quantity
        };
        let errors: Vec<f64> = scores.iter().filter(of).filter_map(|s| s.mape).collect();
        mean(&errors).map(|error| (*x, 100.0 * error))
    };
    let lines: Vec<(String, Vec<(f64, f64)>)> = gpus
        .into_iter()
        .map(|of| (format!("{} {}", of.0, of.1), steps.iter().filter_map(|step| figure(of, step)).collect()))
        .filter(|(_, points): &(String, Vec<_>)| points.len() > 1)
        .collect();
    if lines.is_empty() {
        return None;
    }
    let mut text = String::new();
    let labels = (axis, "mean relative error, %");
    line_chart(&mut text, title, labels, Legend::Beside, &lines).ok()?;
    Some(text)
}

/// Distribution of the errors of held-out points: share of points over error, a line for each example.
pub fn errors(examples: &[Example], quantity: Quantity) -> Option<Plot> {
    let line = |example: &Example| {
        let held = example.points.iter().filter(|point| !point.2);
        let mut errors: Vec<f64> = held.map(|point| 100.0 * (point.3[0] / point.1 - 1.0).abs()).collect();
        errors.sort_by(f64::total_cmp);
        let n = errors.len() as f64;
        let points = errors.into_iter().enumerate().map(|(at, error)| (error, (at + 1) as f64 / n)).collect();
        (example.title.clone(), points)
    };
    let lines: Vec<(String, Vec<(f64, f64)>)> =
        examples.iter().filter(|example| example.quantity == quantity).map(line).collect();
    if lines.is_empty() {
        return None;
    }
    let mut text = String::new();
    let title = format!("Errors of {} at held-out clocks, the median workload of each GPU", quantity.name());
    line_chart(&mut text, &title, ("relative error, %", "share of points"), Legend::Below, &lines).ok()?;
    Some((format!("errors-{}.svg", quantity.name()), text))
}

type Failed<'t> =
    plotters::drawing::DrawingAreaErrorKind<<SVGBackend<'t> as plotters::prelude::DrawingBackend>::ErrorType>;

fn curve<'t>(text: &'t mut String, example: &Example) -> Result<(), Failed<'t>> {
    let area = SVGBackend::with_string(text, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let values = example.points.iter().flat_map(|point| [point.1, point.3[1], point.3[2]]);
    let (low, high) = range(values);
    let (left, right) = range(example.points.iter().map(|point| point.0.core));
    let mut chart = ChartBuilder::on(&area)
        .caption(&example.title, ("sans-serif", 16))
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(56)
        .build_cartesian_2d(left..right, low..high)?;
    let unit = if example.quantity == Quantity::Time { "time of a step" } else { "power, W" };
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .x_desc("SM clock, MHz")
        .y_desc(unit)
        .x_label_formatter(&|value| format!("{value:.0}"))
        .y_label_formatter(&|value| short(*value))
        .draw()?;
    let mut memories: Vec<f64> = example.points.iter().map(|point| point.0.mem).collect();
    memories.dedup_by(|a, b| a.total_cmp(b).is_eq());
    for memory in memories {
        let of: Vec<_> = example.points.iter().filter(|point| point.0.mem.total_cmp(&memory).is_eq()).collect();
        let band = of.iter().map(|p| (p.0.core, p.3[2])).chain(of.iter().rev().map(|p| (p.0.core, p.3[1])));
        let polygon = plotters::element::Polygon::new(band.collect::<Vec<_>>(), BLUE.mix(0.15));
        chart.draw_series([polygon])?;
        chart.draw_series(LineSeries::new(of.iter().map(|p| (p.0.core, p.3[0])), BLUE.stroke_width(2)))?;
        chart.draw_series(of.iter().map(|p| {
            let style = if p.2 { BLACK.filled() } else { RED.stroke_width(1) };
            Circle::new((p.0.core, p.1), 3, style)
        }))?;
    }
    let none = || std::iter::empty::<Circle<(f64, f64), i32>>();
    chart.draw_series(none())?.label("fitted").legend(|at| Circle::new(at, 3, BLACK.filled()));
    chart.draw_series(none())?.label("held out").legend(|at| Circle::new(at, 3, RED.stroke_width(1)));
    let line = |(x, y): (i32, i32)| PathElement::new([(x - 9, y), (x + 9, y)], BLUE.stroke_width(2));
    chart.draw_series(none())?.label("model").legend(line);
    let band = |(x, y): (i32, i32)| Rectangle::new([(x - 9, y - 4), (x + 9, y + 4)], BLUE.mix(0.15).filled());
    chart.draw_series(none())?.label("90 % interval").legend(band);
    // Times fall with the clock and powers rise.
    let falls = example.quantity == Quantity::Time;
    let corner = if falls { SeriesLabelPosition::UpperRight } else { SeriesLabelPosition::UpperLeft };
    chart
        .configure_series_labels()
        .position(corner)
        .border_style(BLACK.mix(0.3))
        .background_style(WHITE.mix(0.8))
        .draw()?;
    area.present()
}

fn line_chart<'t>(
    text: &'t mut String,
    title: &str,
    (x, y): (&str, &str),
    legend: Legend,
    lines: &[(String, Vec<(f64, f64)>)],
) -> Result<(), Failed<'t>> {
    let area = SVGBackend::with_string(text, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let points = || lines.iter().flat_map(|(_, points)| points);
    let right = points().map(|point| point.0).fold(0.0, f64::max);
    let high = points().map(|point| point.1).fold(0.0, f64::max);
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", 16))
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(56)
        .build_cartesian_2d(0.0..right * if legend == Legend::Beside { 1.5 } else { 1.05 }, 0.0..high * 1.05)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .x_desc(x)
        .y_desc(y)
        .x_label_formatter(&|value| short(*value))
        .y_label_formatter(&|value| short(*value))
        .draw()?;
    for (at, (name, points)) in lines.iter().enumerate() {
        let (red, green, blue) = COLORS[at % COLORS.len()];
        let color = RGBColor(red, green, blue);
        if legend == Legend::Beside {
            chart.draw_series(points.iter().map(|&point| Circle::new(point, 3, color.filled())))?;
        }
        chart
            .draw_series(LineSeries::new(points.iter().copied(), color.stroke_width(2)))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color.stroke_width(2)));
    }
    chart
        .configure_series_labels()
        .position(match legend {
            Legend::Beside => SeriesLabelPosition::UpperRight,
            Legend::Below => SeriesLabelPosition::LowerRight,
        })
        .border_style(BLACK.mix(0.3))
        .background_style(WHITE.mix(0.8))
        .draw()?;
    area.present()
}

/// A label without trailing zeros.
fn short(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The range of values with a margin of 5 %.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    let margin = 0.05 * (high - low).max(1e-12);
    (low - margin, high + margin)
}
