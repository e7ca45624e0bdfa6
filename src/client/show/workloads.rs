//! Workloads as tables: of `list-workloads` (fluxd-v1 §11, §14), and of a roll-out that is watched.

use std::fmt::Write;

use super::super::answer::{Container, List, Workload};
use super::super::table::columns;
use super::Table;

/// Sorts by identity, and leaves workloads that have a container of this name; all when it is empty.
pub fn with_container(list: List<Workload>, container: &str) -> List<Workload> {
    let mut items = list.items;
    items.retain(|raw| container.is_empty() || raw.value.containers.iter().any(|c| c.name == container));
    items.sort_by(|a, b| a.value.id.cmp(&b.value.id));
    // A list that Go appended nothing to is `null`, whatever it was made from.
    let null = list.null || (!container.is_empty() && items.is_empty());
    List { null, items }
}

/// The table of workloads, in the order given.
pub fn workloads<'a>(list: impl IntoIterator<Item = &'a Workload>, table: Table) -> String {
    let mut text = String::new();
    if table.headers {
        text.push_str("WORKLOAD\tCONTAINER\tIMAGE\tRELEASE\tPOLICY");
        text.push_str(if table.wide { "\tREPLICAS\tREADONLY\tSYNC ERROR\n" } else { "\n" });
    }
    for workload in list {
        let mut after = format!("{}\t{}", workload.status, policies(workload));
        let mut blank = "\t".to_owned();
        if table.wide {
            let error = workload.sync_error.replace(['\n', '\t'], " ");
            write!(after, "\t{}\t{}\t{error}", replicas(workload), workload.read_only).unwrap_or_default();
            blank.push_str("\t\t\t");
        }
        rows(&mut text, workload, &after, &blank);
    }
    columns(&text)
}

/// The table of one workload while its roll-out is watched, with the empty line that follows it.
pub fn rollout(workload: &Workload) -> String {
    let mut text = String::from("WORKLOAD\tCONTAINER\tIMAGE\tRELEASE\tREPLICAS\n");
    rows(&mut text, workload, &format!("{}\t{}", workload.status, replicas(workload)), "\t");
    columns(&text) + "\n"
}

/// One line per container; only the first names the workload.
fn rows(text: &mut String, workload: &Workload, after: &str, blank: &str) {
    let none = [Container::default()];
    let containers = if workload.containers.is_empty() { &none } else { workload.containers.as_slice() };
    for (at, container) in containers.iter().enumerate() {
        let (id, after) = if at == 0 { (workload.id.as_str(), after) } else { ("", blank) };
        // Writing into a String cannot fail.
        writeln!(text, "{id}\t{}\t{}\t{after}", container.name, container.current.id).unwrap_or_default();
    }
}

fn replicas(workload: &Workload) -> String {
    format!("{}/{}", workload.rollout.updated, workload.rollout.desired)
}

fn policies(workload: &Workload) -> String {
    let all = [("automated", workload.automated), ("ignore", workload.ignore), ("locked", workload.locked)];
    let set: Vec<&str> = all.iter().filter(|(_, on)| *on).map(|(name, _)| *name).collect();
    set.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = r#"[
        {"ID":"shop:deployment/web","Containers":[{"Name":"web","Current":{"ID":"example.org/web:2.0"}},
         {"Name":"init","Current":{"ID":"example.org/a-much-longer-name/init:1"}}],"Status":"ready","Automated":true,"Locked":true},
        {"ID":"shop:helmrelease/h","Containers":[{"Name":"chart-image","Current":{"ID":"h:1"}}],"Status":"","Ignore":true},
        {"ID":"default:deployment/zz","Containers":null,"ReadOnly":"NotInRepo","Status":"started",
         "Rollout":{"Desired":2,"Updated":1},"SyncError":"bad\nthing"}]"#;

    fn list() -> List<Workload> {
        serde_json::from_str(LIST).unwrap()
    }

    fn shown(container: &str, table: Table) -> String {
        let list = with_container(list(), container);
        workloads(list.items.iter().map(|raw| &raw.value), table)
    }

    #[test]
    fn workloads_stand_by_identity_and_their_containers_below_each_other() {
        let table = Table { headers: true, wide: false };
        let expected = "\
WORKLOAD               CONTAINER    IMAGE                                  RELEASE  POLICY
default:deployment/zz                                                      started  
shop:deployment/web    web          example.org/web:2.0                    ready    automated,locked
                       init         example.org/a-much-longer-name/init:1           
shop:helmrelease/h     chart-image  h:1                                             ignore
";
        assert_eq!(shown("", table), expected);
    }

    #[test]
    fn a_container_name_leaves_the_workloads_that_have_it() {
        let table = Table { headers: false, wide: false };
        let expected = "shop:deployment/web  web   example.org/web:2.0                    ready  automated,locked\n                     init  example.org/a-much-longer-name/init:1         \n";
        assert_eq!(shown("init", table), expected);
        assert!(with_container(list(), "nope").null, "as v1 prints it");
    }

    #[test]
    fn the_wide_table_says_what_hinders() {
        let text = shown("", Table { headers: true, wide: true });
        assert!(text.contains("1/2") && text.contains("NotInRepo  bad thing"), "{text}");
    }
}
