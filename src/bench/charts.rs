//! Performance profiles as SVG.

use plotters::prelude::{
    BLACK, ChartBuilder, Color as _, IntoDrawingArea as _, LineSeries, Palette, Palette99, PathElement, SVGBackend,
    SeriesLabelPosition, TRANSPARENT, WHITE,
};

use super::profile::Curve;

/// Width and height.
const SIZE: (u32, u32) = (760, 440);

/// How the horizontal axis is scaled and named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Factors from 1 on, by powers of 2.
    Factor,
    /// Distances from 0 to 10 %.
    Distance,
}

impl Axis {
    fn name(self) -> &'static str {
        match self {
            Self::Factor => "time to proof / fastest, both + 1 s",
            Self::Distance => "gap to the best known plan, %",
        }
    }

    fn end(self) -> f64 {
        match self {
            Self::Factor => 6.0,
            Self::Distance => 10.0,
        }
    }

    fn position(self, value: f64) -> f64 {
        match self {
            Self::Factor => value.log2(),
            Self::Distance => value * 100.0,
        }
    }

    fn label(self, position: f64) -> String {
        match self {
            Self::Factor => format!("{}", position.exp2().round()),
            Self::Distance => format!("{position}"),
        }
    }
}

/// A chart of curves: share of runs over factor or distance; `None` without curves.
pub fn chart(title: &str, axis: Axis, curves: &[Curve]) -> Option<String> {
    if curves.is_empty() {
        return None;
    }
    let mut text = String::new();
    draw(&mut text, title, axis, curves).ok()?;
    Some(text)
}

fn draw(text: &mut String, title: &str, axis: Axis, curves: &[Curve]) -> Result<(), Box<dyn std::error::Error>> {
    let area = SVGBackend::with_string(text, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(48)
        .build_cartesian_2d(0.0..axis.end(), 0.0..102.0)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .x_desc(axis.name())
        .y_desc("share of runs, %")
        .x_label_formatter(&|position| axis.label(*position))
        .y_label_formatter(&|share| format!("{share:.0}"))
        .draw()?;
    for (position, curve) in curves.iter().enumerate() {
        let color = Palette99::pick(position).mix(1.0);
        let line = LineSeries::new(points(axis, curve), color.stroke_width(2));
        let legend = move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color.stroke_width(2));
        chart.draw_series(line)?.label(curve.solver.as_str()).legend(legend);
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .background_style(WHITE.mix(0.85))
        .border_style(BLACK.mix(0.4))
        .draw()?;
    area.present()?;
    Ok(())
}

/// The corners of a staircase.
fn points(axis: Axis, curve: &Curve) -> Vec<(f64, f64)> {
    let mut points = vec![(0.0, 0.0)];
    let mut share = 0.0;
    for (count, &step) in curve.steps.iter().enumerate() {
        let at = axis.position(step).max(0.0);
        if at > axis.end() {
            break;
        }
        points.push((at, share));
        share = 100.0 * (count + 1) as f64 / curve.runs as f64;
        points.push((at, share));
    }
    points.push((axis.end(), share));
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_names_its_solvers() {
        let curve = Curve { solver: "milp".to_owned(), steps: vec![1.0, 4.0, 1e9], runs: 4 };
        // A quarter at factor 1, half at factor 4, and no more within the axis.
        let corners = [(0.0, 0.0), (0.0, 0.0), (0.0, 25.0), (2.0, 25.0), (2.0, 50.0), (6.0, 50.0)];
        assert_eq!(points(Axis::Factor, &curve), corners);
        let svg = chart("tiny", Axis::Factor, &[curve]).unwrap();
        assert!(svg.starts_with("<svg ") && svg.contains("milp") && svg.contains("tiny"));
        assert_eq!(chart("tiny", Axis::Distance, &[]), None);
    }
}
