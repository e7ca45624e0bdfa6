//! Images as the table of `list-images`: the one that runs is marked, newer ones stand above it (fluxd-v1 §11, §14).

use std::fmt::Write;

use super::super::answer::{Image, ImageContainer, WorkloadImages};
use super::super::table::columns;
use super::Table;

/// The table, sorted by workload; at most `limit` images of each container, 0 for all, and always the one that runs.
pub fn images(list: &[&WorkloadImages], limit: usize, table: Table) -> String {
    let mut sorted = list.to_vec();
    sorted.sort_by(|a, b| a.id.cmp(&b.id));
    let mut text = String::new();
    if table.headers {
        text.push_str("WORKLOAD\tCONTAINER\tIMAGE\tCREATED");
        text.push_str(if table.wide { "\tMATCHING\tNEWER\tNEXT\n" } else { "\n" });
    }
    for workload in sorted {
        if workload.containers.is_empty() {
            writeln!(text, "{}\t\t\t{}", workload.id, if table.wide { "\t\t\t" } else { "" }).unwrap_or_default();
        }
        for (at, container) in workload.containers.iter().enumerate() {
            let id = if at == 0 { workload.id.as_str() } else { "" };
            container_rows(&mut text, id, container, (limit, table.wide));
        }
    }
    columns(&text)
}

/// The container's line, and one for each image.
fn container_rows(text: &mut String, id: &str, container: &ImageContainer, (limit, wide): (usize, bool)) {
    let unknown = container.available.is_empty();
    let state = match container.available_error.as_str() {
        "" if unknown => "image data not available",
        error => error,
    };
    let name = container.current.name();
    // Writing into a String cannot fail.
    write!(text, "{id}\t{}\t{name}\t{state}", container.name).unwrap_or_default();
    if wide {
        write!(text, "\t{}\t{}\t{}", container.filtered, container.newer, container.latest.id).unwrap_or_default();
    }
    text.push('\n');
    let tag = container.current.tag();
    let running = container.available.iter().position(|image| image.tag() == tag);
    let shown = if limit == 0 { container.available.len() } else { limit.min(container.available.len()) };
    for (at, image) in container.available[..shown].iter().enumerate() {
        let sign = match running {
            Some(own) if own == at => "'-> ",
            Some(own) if own < at => "    ",
            _ => "|   ",
        };
        image_row(text, (sign, image), wide);
    }
    match running {
        Some(at) if at >= shown => {
            let left_out = at - shown;
            if left_out > 0 {
                row(text, &format!(": ({left_out} image(s) omitted)"), "", wide);
            }
            image_row(text, ("'-> ", &container.available[at]), wide);
        }
        Some(_) => {}
        None => {
            let tag = if tag.is_empty() { "(untagged)" } else { &tag };
            row(text, &format!("'-> {tag}"), "?", wide);
        }
    }
}

fn image_row(text: &mut String, (sign, image): (&str, &Image), wide: bool) {
    row(text, &format!("{sign}{}", image.tag()), &image.created(), wide);
}

/// A line below a container's; the wide table's further cells are empty, so that its columns stay aligned.
fn row(text: &mut String, tag: &str, created: &str, wide: bool) {
    writeln!(text, "\t\t{tag}\t{created}{}", if wide { "\t\t\t" } else { "" }).unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(current: &str, available: &str, limit: usize) -> String {
        let text = format!(
            r#"{{"ID":"s:deployment/w","Containers":[{{"Name":"c","Current":{{"ID":"{current}"}},"Available":[{available}]}}]}}"#
        );
        let workload: WorkloadImages = serde_json::from_str(&text).unwrap();
        images(&[&workload], limit, Table { headers: false, wide: false })
    }

    const SIX: &str = r#"{"ID":"x:6","CreatedAt":"2024-01-06T00:00:00Z"},{"ID":"x:5"},{"ID":"x:4"},{"ID":"x:3"}"#;

    #[test]
    fn images_beyond_the_limit_are_counted_up_to_the_one_that_runs() {
        let expected = "\
s:deployment/w  c  x                       
                   |   6                   06 Jan 24 00:00 UTC
                   : (2 image(s) omitted)  
                   '-> 3                   
";
        assert_eq!(shown("x:3", SIX, 1), expected);
    }

    #[test]
    fn the_columns_of_the_wide_table_are_aligned_over_all_lines() {
        let text = format!(
            r#"{{"ID":"s:deployment/w","Containers":[{{"Name":"a","Current":{{"ID":"x:5"}},"Available":[{SIX}]}},{{"Name":"b","Current":{{"ID":"y:1"}}}}]}}"#
        );
        let workload: WorkloadImages = serde_json::from_str(&text).unwrap();
        let shown = images(&[&workload], 1, Table { headers: true, wide: true });
        let next = shown.find("NEXT").unwrap();
        assert!(shown.lines().all(|line| line.chars().count() >= next), "{shown}");
    }

    #[test]
    fn the_running_image_stands_in_the_list() {
        let expected = "\
s:deployment/w  c  other/x  
                   |   6    06 Jan 24 00:00 UTC
                   '-> 5    
                       4    
";
        assert_eq!(shown("other/x:5", SIX, 3), expected);
    }

    #[test]
    fn an_image_that_the_registry_does_not_have_is_shown_all_the_same() {
        assert_eq!(
            shown("x", "", 10),
            "s:deployment/w  c  x               image data not available\n                   '-> (untagged)  ?\n"
        );
        assert!(shown("x:9", SIX, 1).ends_with("'-> 9  ?\n"));
    }
}
