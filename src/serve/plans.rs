//! Plans as the API shows them: the fresh one that `fluxctl diff` asks for, and the one of the last sync. Views only.

use futures::StreamExt as _;

use super::api::Api;
use crate::operator::{Action, Held, Plan, Step};
use crate::report::{GcView, HeldDeleteView, HeldView, PlanView, StepView};

/// Steps whose fields are compared; the API server is asked twice for each.
const DIFFS: usize = 200;
/// Of them at once.
const AT_ONCE: usize = 8;

/// What a client wants of a plan.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wish {
    /// Whether it is made for this request.
    pub(super) fresh: bool,
    /// Also what is kept.
    pub(super) all: bool,
    /// Also which fields change.
    pub(super) diff: bool,
}

/// A plan as JSON shows it.
pub(super) async fn view(api: &impl Api, plan: &Plan, wish: Wish) -> PlanView {
    let kept = plan.steps.iter().filter(|s| s.action == Action::Keep).count();
    let shown: Vec<&Step> = plan.steps.iter().filter(|s| wish.all || s.action != Action::Keep).collect();
    let mut steps: Vec<StepView> = shown.iter().map(|step| step_view(step)).collect();
    let mut diffs_left_out = 0;
    if wish.diff {
        let changing: Vec<usize> = (0..shown.len()).filter(|at| changes(&shown[*at].action)).collect();
        diffs_left_out = changing.len().saturating_sub(DIFFS);
        let asked = changing.into_iter().take(DIFFS).map(|at| {
            let step = shown[at];
            async move { (at, api.diff(step).await) }
        });
        let asked: Vec<_> = asked.collect();
        let mut diffs = futures::stream::iter(asked).buffer_unordered(AT_ONCE);
        while let Some((at, diff)) = diffs.next().await {
            match diff {
                Ok(diff) => steps[at].diff = Some(diff),
                Err(e) => steps[at].diff_error = Some(e.error),
            }
        }
    }
    PlanView {
        revision: plan.revision.clone(),
        reach: word(plan.reach),
        fresh: wish.fresh,
        kept,
        gc: GcView { managed: plan.gc.managed, off: plan.gc.off.clone() },
        held: plan.held.as_ref().map(held_view),
        steps,
        diffs_left_out,
    }
}

fn changes(action: &Action) -> bool {
    matches!(action, Action::Apply(_) | Action::Delete { .. } | Action::Hold { .. })
}

/// The word that an enum without content serialises to.
fn word(value: impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

/// Held deletes as JSON shows them.
pub(super) fn held_view(held: &Held) -> HeldView {
    let delete = |d: &crate::operator::HeldDelete| HeldDeleteView {
        id: d.id.clone(),
        uid: uid_text(&d.uid),
        reason: word(d.reason),
    };
    HeldView {
        digest: held.digest.clone(),
        deletes: held.deletes.iter().map(delete).collect(),
        reason: held.reason.clone(),
    }
}

fn uid_text(uid: &[u8; 16]) -> String {
    let h = hex::encode(uid);
    [&h[..8], &h[8..12], &h[12..16], &h[16..20], &h[20..]].join("-")
}

fn step_view(step: &Step) -> StepView {
    let (action, reason) = match &step.action {
        Action::Apply(why) => ("apply", Some(why.to_string())),
        Action::Keep => ("keep", None),
        Action::Skip(reason) => ("skip", Some(reason.to_string())),
        Action::Reject(reason) => ("reject", Some(reason.clone())),
        Action::Delete { .. } => ("delete", None),
        Action::Hold { reason, .. } => ("hold", Some(reason.to_string())),
    };
    let origin = step.target.origin.as_ref();
    StepView {
        id: step.target.id.clone(),
        group: step.target.key.group.clone(),
        kind: step.target.key.kind.clone(),
        action: action.to_owned(),
        reason,
        file: origin.map(|o| o.file.to_string()),
        line: origin.map(|o| o.line),
        generated: origin.is_some_and(|o| o.generated),
        clash: step.clash,
        take_over: step.take_over,
        diff: None,
        diff_error: None,
    }
}
