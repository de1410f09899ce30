//! Figures for people and for programs.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::figures::{BareFigure, Figure};
use crate::plan::Load;
use crate::sizes::Bytes;

/// One line of the table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) transport: String,
    pub(crate) figure: Figure,
    /// The bare library's figures, if it was measured.
    pub(crate) bare: Option<BareFigure>,
}

impl Row {
    pub(crate) fn new(transport: &str, figure: Figure, bare: Option<BareFigure>) -> Self {
        Self { transport: transport.into(), figure, bare }
    }

    fn ratio(&self) -> Option<f64> {
        self.bare.map(|bare| self.figure.mb_per_s / bare.mb_per_s)
    }

    fn ratio_vs_wire(&self) -> Option<f64> {
        self.figure.wire_mb_per_s.map(|wire| self.figure.mb_per_s / wire)
    }
}

pub(crate) fn table(rows: &[Row]) -> String {
    let mut text = format!(
        "{:<12} {:>8} {:>8} {:>10} {:>11} {:>9} {:>13} {:>6} {:>11} {:>10} {:>7}\n",
        "transport",
        "size",
        "at once",
        "MB/s",
        "latency us",
        "owner CPU",
        "library MB/s",
        "ratio",
        "library us",
        "wire MB/s",
        "of wire"
    );
    let number = |value: Option<f64>, digits: usize| value.map_or("-".to_string(), |value| format!("{value:.digits$}"));
    for row in rows {
        let Figure { size, load, mb_per_s, latency_us, owner_cpu, wire_mb_per_s } = row.figure;
        let at_once = match load {
            Load::Window(count) => count.to_string(),
            Load::Gets(count) => format!("{count} gets"),
        };
        let (transport, size, ratio) = (&row.transport, Bytes(size).to_string(), number(row.ratio(), 2));
        let bare_mb_per_s = number(row.bare.map(|bare| bare.mb_per_s), 0);
        let bare_latency_us = number(row.bare.map(|bare| bare.latency_us), 1);
        let _ = writeln!(
            text,
            "{transport:<12} {size:>8} {at_once:>8} {mb_per_s:>10.0} {latency_us:>11.1} {owner_cpu:>9.3} \
             {bare_mb_per_s:>13} {ratio:>6} {bare_latency_us:>11} {:>10} {:>7}",
            number(wire_mb_per_s, 0),
            number(row.ratio_vs_wire(), 2)
        );
    }
    text
}

/// What must be known to read the table.
pub(crate) fn notes(rows: &[Row]) -> String {
    let mut text = String::new();
    if rows.iter().any(|row| ["cma", "shm"].contains(&row.transport.as_str())) {
        text += "\nWithin a machine Sluice reads by CMA (process_vm_readv), whatever of UCX's is allowed there: rows \
                 of shm compare that with UCX's shared memory.\n";
    }
    if rows.iter().any(|row| row.figure.wire_mb_per_s.is_some()) {
        text += "\nThe library reads into one buffer again and again; Sluice, and its wire without the protocol, into \
                 memory that is leased for each block.\n";
    }
    text
}

pub(crate) fn json(rows: &[Row]) -> String {
    let rounded = |value: f64| (value * 1000.0).round() / 1000.0;
    let row = |row: &Row| {
        json!({
            "transport": row.transport,
            "size": row.figure.size,
            "window": if let Load::Window(count) = row.figure.load { Some(count) } else { None },
            "gets": if let Load::Gets(count) = row.figure.load { Some(count) } else { None },
            "mb_per_s": rounded(row.figure.mb_per_s),
            "latency_us": rounded(row.figure.latency_us),
            "owner_cpu": rounded(row.figure.owner_cpu),
            "library_mb_per_s": row.bare.map(|bare| rounded(bare.mb_per_s)),
            "library_latency_us": row.bare.map(|bare| rounded(bare.latency_us)),
            "ratio_vs_library": row.ratio().map(rounded),
            "wire_mb_per_s": row.figure.wire_mb_per_s.map(rounded),
            "ratio_vs_wire": row.ratio_vs_wire().map(rounded),
        })
    };
    let rows: Vec<Value> = rows.iter().map(row).collect();
    format!("{:#}\n", Value::from(rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_shown_with_and_without_a_comparison() {
        let figure = Figure {
            size: 65_536,
            load: Load::Window(32),
            mb_per_s: 900.0,
            latency_us: 12.5,
            owner_cpu: 0.01,
            wire_mb_per_s: None,
        };
        let bare = BareFigure { mb_per_s: 1000.0, latency_us: 7.25 };
        let of_gets = Figure { load: Load::Gets(8), wire_mb_per_s: Some(1200.0), ..figure };
        let rows =
            [Row::new("cma", figure, Some(bare)), Row::new("tcp", figure, None), Row::new("tcp", of_gets, Some(bare))];
        let json: Value = serde_json::from_str(&json(&rows)).expect("JSON");
        assert_eq!(json[0]["ratio_vs_library"], 0.9);
        assert_eq!(json[0]["size"], 65_536);
        assert_eq!(json[0]["library_latency_us"], 7.25);
        assert!(json[1]["ratio_vs_library"].is_null() && json[1]["library_latency_us"].is_null());
        assert_eq!((&json[0]["window"], &json[2]["gets"]), (&json!(32), &json!(8)));
        assert_eq!(json[2]["ratio_vs_wire"], 0.75);
        assert!(json[0]["gets"].is_null() && json[2]["window"].is_null() && json[0]["wire_mb_per_s"].is_null());
        assert!(notes(&rows).contains("reads by CMA") && notes(&rows).contains("wire without the protocol"));
        assert_eq!(notes(&rows[1..2]), "");
        let table = table(&rows);
        let first = "cma               64k       32        900        12.5     0.010          1000   0.90         7.2";
        assert!(table.contains(&format!("{first}          -       -\n")), "{table}");
        assert!(table.contains("   8 gets        900 ") && table.contains("       1200    0.75\n"), "{table}");
        assert_eq!(table.lines().count(), 4);
    }
}
