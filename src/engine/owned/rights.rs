//! An account may lose its rights while nothing else changes (resourceset §7.11). So a few objects are tried out although
//! they are what is wanted: one of each kind and namespace, because that is how rights are given.

use std::collections::{BTreeMap, BTreeSet};

use crate::object::Gvk;
use crate::plan::{Action, Plan, Step, Why};

/// Most objects that are tried out in one pass; of more kinds and namespaces, others have their turn at the next.
const MOST: usize = 32;

fn place(step: &Step) -> (&Gvk, Option<&str>) {
    (&step.target.gvk, step.target.key.namespace.as_deref())
}

/// Has some of the objects tried out that would be left alone; `start` says where the turn begins.
pub(super) fn try_some(plan: &mut Plan, start: usize) {
    let is_applied = |step: &&Step| matches!(step.action, Action::Apply(_));
    let applied: BTreeSet<_> = plan.steps.iter().filter(is_applied).map(place).collect();
    let kept = plan.steps.iter().enumerate().filter(|(_, step)| step.action == Action::Keep);
    let firsts: BTreeMap<_, usize> = kept.map(|(at, step)| (place(step), at)).rev().collect();
    let open: Vec<usize> = firsts.into_iter().filter(|(place, _)| !applied.contains(place)).map(|(_, at)| at).collect();
    let turn = start.checked_rem(open.len()).unwrap_or_default();
    for at in open.iter().cycle().skip(turn).take(open.len().min(MOST)) {
        plan.steps[*at].action = Action::Apply(Why::Unrecorded);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::object::Key;
    use crate::plan::Target;

    fn step(kind: &str, namespace: &str, action: Action) -> Step {
        let gvk = Gvk::new("v1", kind);
        let key = Key { group: String::new(), kind: kind.into(), namespace: Some(namespace.into()), name: "a".into() };
        let target = Target { id: key.id(), key, gvk, class: (0, true), origin: None, want: None };
        Step { target: Arc::new(target), action, clash: false, take_over: false }
    }

    fn tried(steps: Vec<Step>, start: usize) -> Vec<usize> {
        let mut plan = Plan { steps, ..Plan::default() };
        try_some(&mut plan, start);
        let tried = |(_, step): &(usize, &Step)| step.action == Action::Apply(Why::Unrecorded);
        plan.steps.iter().enumerate().filter(tried).map(|(at, _)| at).collect()
    }

    #[test]
    fn one_object_of_each_kind_and_namespace_is_tried_out_unless_another_is_applied_anyway() {
        let steps = vec![
            step("ConfigMap", "a", Action::Keep),
            step("ConfigMap", "a", Action::Keep),
            step("ConfigMap", "b", Action::Keep),
            step("ConfigMap", "b", Action::Apply(Why::New)),
            step("Secret", "b", Action::Keep),
        ];
        assert_eq!(tried(steps, 7), [0, 4]);
        assert!(tried(Vec::new(), 7).is_empty());
    }

    #[test]
    fn of_many_namespaces_some_are_tried_out_and_others_at_another_turn() {
        let steps = || (0..100).map(|n| step("ConfigMap", &format!("n{n:03}"), Action::Keep)).collect();
        assert_eq!(tried(steps(), 0), (0..32).collect::<Vec<_>>());
        assert_eq!(tried(steps(), 32), (32..64).collect::<Vec<_>>());
        assert_eq!(tried(steps(), 190).len(), 32);
    }
}
