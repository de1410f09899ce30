//! A picture of who works when: a panel for each outcome, a row for each thread or stream.

use std::fmt::Write;

use crate::machine::Machine;
use crate::streams::{Bar, Kind, Outcome};

const WIDTH: f64 = 1100.0;
const LEFT: f64 = 60.0;
const ROW: f64 = 9.0;
const TITLE: f64 = 26.0;
/// More bars than this of a panel are not drawn.
const BARS: usize = 1200;

pub(crate) fn svg(machine: &Machine, outcomes: &[Outcome]) -> String {
    let heights: Vec<f64> = outcomes.iter().map(|outcome| TITLE + ROW * rows(outcome) as f64 + 12.0).collect();
    let height = 60.0 + heights.iter().sum::<f64>();
    let axis = if machine.is_real() { "time, in ms from the start" } else { "simulated: the order of steps, not time" };
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0} {height:.0}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n<text x=\"{LEFT}\" y=\"20\">\
         {} ({axis})</text>\n",
        WIDTH + LEFT + 20.0,
        escaped(&machine.context.device().describe()),
    );
    for (i, kind) in [Kind::ToDevice, Kind::Kernel, Kind::ToHost].into_iter().enumerate() {
        let (x, (color, name)) = (LEFT + 170.0 * i as f64, look(kind));
        let _ = writeln!(text, "<rect x=\"{x}\" y=\"30\" width=\"12\" height=\"12\" fill=\"{color}\"/>");
        let _ = writeln!(text, "<text x=\"{}\" y=\"41\">{name}</text>", x + 18.0);
    }
    let mut top = 56.0;
    for (outcome, height) in outcomes.iter().zip(heights) {
        panel(&mut text, outcome, top);
        top += height;
    }
    text.push_str("</svg>\n");
    text
}

fn rows(outcome: &Outcome) -> usize {
    outcome.bars.iter().map(|bar| bar.row + 1).max().unwrap_or(1)
}

fn panel(text: &mut String, outcome: &Outcome, top: f64) {
    let streams = if outcome.per_thread { "streams of the threads" } else { "one legacy stream" };
    let title = escaped(&format!("{streams}; memory: {}", outcome.allocation.name()));
    let _ = writeln!(text, "<text x=\"{LEFT}\" y=\"{:.1}\" font-weight=\"bold\">{title}</text>", top + 16.0);
    let mut bars: Vec<&Bar> = outcome.bars.iter().collect();
    bars.sort_by(|a, b| a.from.total_cmp(&b.from));
    bars.truncate(BARS);
    let (start, end) = (bars.first().map_or(0.0, |bar| bar.from), bars.iter().map(|bar| bar.to).fold(0.0, f64::max));
    let scale = WIDTH / (end - start).max(f64::MIN_POSITIVE);
    for row in 0..rows(outcome) {
        let y = top + TITLE + ROW * row as f64;
        let _ = writeln!(text, "<text x=\"{}\" y=\"{:.1}\" font-size=\"8\">{row}</text>", LEFT - 16.0, y + 7.0);
    }
    for bar in bars {
        let (x, y) = (LEFT + (bar.from - start) * scale, top + TITLE + ROW * bar.row as f64);
        let (width, (color, _)) = (((bar.to - bar.from) * scale).max(0.5), look(bar.kind));
        let _ = writeln!(
            text,
            "<rect x=\"{x:.2}\" y=\"{y:.1}\" width=\"{width:.2}\" height=\"{:.1}\" fill=\"{color}\"/>",
            ROW - 1.0
        );
    }
}

fn look(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::ToDevice => ("#4c78a8", "copy to the device"),
        Kind::Kernel => ("#f58518", "kernel"),
        Kind::ToHost => ("#54a24b", "copy to the host"),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allocation::Allocation;

    #[test]
    fn a_panel_has_its_bars_and_says_that_steps_are_no_times() {
        let machine = Machine::simulated(1).expect("made");
        let bar = |row, from: f64| Bar { row, kind: Kind::Kernel, from, to: from + 1.0 };
        let bars = vec![bar(0, 0.0), bar(1, 1.0)];
        let (allocation, driver_waits) = (Allocation::Kept, Some(0));
        let text = svg(
            &machine,
            &[Outcome { per_thread: true, allocation, seconds: 1.0, rounds_per_second: 1.0, driver_waits, bars }],
        );
        assert!(text.starts_with("<svg") && text.ends_with("</svg>\n"));
        assert!(text.contains("the order of steps, not time") && text.contains("streams of the threads; memory: kept"));
        // The kernel's colour: one in the legend, two bars, each half as wide as the panel.
        assert_eq!(text.matches("#f58518").count(), 3);
        assert_eq!(text.matches("width=\"550.00\"").count(), 2);
    }
}
