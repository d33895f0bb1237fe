//! A picture of lines over logarithmic axes, as SVG.

use std::fmt::Write;

/// A figure at each of several counts, the smallest count first.
#[derive(Clone, Debug)]
pub struct Line {
    pub name: String,
    pub points: Vec<(u32, f64)>,
}

/// How far a figure may lie above the straight line through the two before it: these machines are noisy.
const BENT_FROM: f64 = 1.5;

impl Line {
    pub fn new(name: String) -> Line {
        Line { name, points: Vec::new() }
    }

    /// Does a figure lie well above the straight line through the two before it?
    pub fn bends_upwards(&self) -> bool {
        self.points.windows(3).any(|points| {
            let [(x0, y0), (x1, y1), (x2, y2)] = [0, 1, 2].map(|n| (f64::from(points[n].0), points[n].1));
            let slope = ((y1 - y0) / (x1 - x0)).max(0.0);
            BENT_FROM * (y1 + slope * (x2 - x1)) < y2
        })
    }
}

const WIDTH: f64 = 890.0;
const HEIGHT: f64 = 460.0;
/// Room for the numbers at the left and below, and for the names of the lines at the right.
const LEFT: f64 = 70.0;
const RIGHT: f64 = 330.0;
const TOP: f64 = 20.0;
const BOTTOM: f64 = 50.0;
const COLORS: [&str; 6] = ["#1f77b4", "#d95f02", "#2ca02c", "#9467bd", "#c51b7d", "#8c6d31"];
/// The least distance of two names of lines.
const LINE_HEIGHT: f64 = 18.0;

/// Draws the lines. The dashed one shows how what grows in proportion would run.
pub fn draw(lines: &[Line], across: &str, up: &str) -> String {
    let points = || lines.iter().flat_map(|line| &line.points);
    let (from, to) = decades(points().map(|(count, _)| f64::from(*count)));
    let (low, high) = decades(points().map(|(_, figure)| *figure));
    let x = |count: f64| LEFT + (count.log10() - from) / (to - from) * (WIDTH - LEFT - RIGHT);
    let y = |figure: f64| HEIGHT - BOTTOM - (figure.log10() - low) / (high - low) * (HEIGHT - TOP - BOTTOM);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<style>text{{fill:#444}}.grid{{stroke:#8884;fill:none}}.line{{fill:none;stroke-width:2}}\
         @media(prefers-color-scheme:dark){{text{{fill:#ccc}}}}</style>\n"
    );
    let mut add = |element: String| writeln!(svg, "{element}").expect("a string takes it");
    for decade in (from as i32)..=(to as i32) {
        let (at, number) = (x(10f64.powi(decade)), thousands(10f64.powi(decade)));
        add(format!("<path class=\"grid\" d=\"M{at:.1} {TOP}V{:.1}\"/>", HEIGHT - BOTTOM));
        add(format!("<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{number}</text>", HEIGHT - BOTTOM + 18.0));
    }
    for decade in (low as i32)..=(high as i32) {
        let (at, number) = (y(10f64.powi(decade)), thousands(10f64.powi(decade)));
        add(format!("<path class=\"grid\" d=\"M{LEFT} {at:.1}H{:.1}\"/>", WIDTH - RIGHT));
        add(format!("<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{number}</text>", LEFT - 8.0, at + 4.0));
    }
    let proportional =
        format!("M{:.1} {:.1}L{:.1} {:.1}", x(10f64.powf(to - high + low)), y(10f64.powf(low)), x(10f64.powf(to)), TOP);
    add(format!("<path class=\"grid\" stroke-dasharray=\"5 5\" d=\"{proportional}\"/>"));
    add(format!("<text x=\"{:.1}\" y=\"{:.1}\">{across}</text>", LEFT, HEIGHT - 8.0));
    add(format!("<text x=\"{LEFT}\" y=\"12\">{up}</text>"));
    let mut ends: Vec<(f64, &Line, &str)> = Vec::new();
    for (line, color) in lines.iter().zip(COLORS.iter().cycle()) {
        let path: Vec<String> =
            line.points.iter().map(|(n, ms)| format!("{:.1} {:.1}", x(f64::from(*n)), y(*ms))).collect();
        add(format!("<path class=\"line\" stroke=\"{color}\" d=\"M{}\"/>", path.join("L")));
        if let Some((_, figure)) = line.points.last() {
            ends.push((y(*figure), line, color));
        }
    }
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut lowest = 0.0_f64;
    for (at, Line { name, .. }, color) in ends {
        lowest = at.max(lowest + LINE_HEIGHT);
        add(format!(
            "<text x=\"{:.1}\" y=\"{:.1}\" style=\"fill:{color}\">{name}</text>",
            WIDTH - RIGHT + 10.0,
            lowest + 4.0
        ));
    }
    svg + "</svg>\n"
}

/// The powers of ten between which all of these lie.
fn decades(figures: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let least = figures.clone().fold(f64::MAX, f64::min);
    let greatest = figures.fold(1.0, f64::max);
    (least.log10().floor(), greatest.log10().ceil())
}

fn thousands(number: f64) -> String {
    match number {
        1e6.. => format!("{} M", number / 1e6),
        _ => format!("{number}"),
    }
}
