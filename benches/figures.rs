//! The table of figures.

use std::time::Duration;

/// One row.
struct Row {
    case: String,
    ours: String,
    peer: String,
    ratio: String,
    mark: String,
    cost: String,
}

/// What is printed at the end.
pub struct Figures(Vec<Row>);

/// What a case cost the process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// CPU time of fluxd itself, its children not counted.
    pub cpu: Duration,
    /// Highest resident memory so far, in MiB.
    pub peak_mib: f64,
    /// API requests.
    pub requests: f64,
}

/// A duration as people read it.
pub fn text(d: Duration) -> String {
    if d < Duration::from_secs(1) {
        format!("{:.0} ms", d.as_secs_f64() * 1e3)
    } else {
        format!("{:.2} s", d.as_secs_f64())
    }
}

impl Figures {
    /// An empty table.
    pub fn new() -> Self {
        Self(Vec::new())
    }

    #[allow(clippy::too_many_arguments, reason = "one per column")]
    /// Adds a row; `ratio` says how ours relates to the peer, `mark` what it should be.
    pub fn row(&mut self, case: &str, ours: &str, peer: &str, ratio: &str, mark: &str, cost: Cost) {
        let cost = format!(
            "{:.2} CPU s, {:.0} MiB peak, {:.0} requests",
            cost.cpu.as_secs_f64(),
            cost.peak_mib,
            cost.requests
        );
        eprintln!("bench:   {case}: {ours}; {peer}; {ratio}; mark {mark}; {cost}");
        let own = str::to_owned;
        self.0.push(Row {
            case: own(case),
            ours: own(ours),
            peer: own(peer),
            ratio: own(ratio),
            mark: own(mark),
            cost,
        });
    }

    /// Prints the table as Markdown.
    pub fn print(&self) {
        println!("| case | fluxd | in the same run | ratio | mark | cost of fluxd |\n|---|---|---|---|---|---|");
        for r in &self.0 {
            println!("| {} | {} | {} | {} | {} | {} |", r.case, r.ours, r.peer, r.ratio, r.mark, r.cost);
        }
    }
}
