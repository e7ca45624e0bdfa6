//! Answers for programs: the daemon's own JSON, and the same as YAML.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::answer::{List, Raw, WorkloadImages};
use crate::object::yaml;

/// The list as v1's client prints it: the daemon's elements in our order, on one line.
pub fn json_list<T>(list: &List<T>) -> String {
    if list.null {
        return "null\n".to_owned();
    }
    let elements: Vec<&str> = list.items.iter().map(|raw| RawValue::get(&raw.text)).collect();
    format!("[{}]\n", elements.join(","))
}

/// The list as YAML.
///
/// # Errors
/// Never for text that came from a daemon.
pub fn yaml_list<T>(list: &List<T>) -> Result<String, serde_json::Error> {
    let text: Value = serde_json::from_str(&json_list(list))?;
    Ok(yaml::write(&text))
}

/// A value as YAML.
///
/// # Errors
/// When it has a map whose keys are no strings; none of ours has.
pub fn yaml<T: Serialize>(value: &T) -> Result<String, serde_json::Error> {
    Ok(yaml::write(&serde_json::to_value(value)?))
}

/// Cuts the lists `Available` of each container of each workload to `limit` elements, 0 for none cut, as v1 does before
/// it prints JSON.
///
/// # Errors
/// When an element is no object.
pub fn cut_available(list: List<WorkloadImages>, limit: usize) -> Result<List<WorkloadImages>, serde_json::Error> {
    if limit == 0 {
        return Ok(list);
    }
    let cut = |raw: Raw<WorkloadImages>| {
        let mut workload: Ordered = serde_json::from_str(raw.text.get())?;
        for (_, containers) in workload.0.iter_mut().filter(|(key, _)| key == "Containers") {
            let Some(mut all) = serde_json::from_str::<Option<Vec<Ordered>>>(containers.get())? else { continue };
            for (_, available) in all.iter_mut().flat_map(|c| &mut c.0).filter(|(key, _)| key == "Available") {
                let mut images: Vec<Box<RawValue>> =
                    serde_json::from_str::<Option<_>>(available.get())?.unwrap_or_default();
                images.truncate(limit);
                *available = serde_json::value::to_raw_value(&images)?;
            }
            *containers = serde_json::value::to_raw_value(&all)?;
        }
        Ok(Raw { text: serde_json::value::to_raw_value(&workload)?, value: raw.value })
    };
    let items = list.items.into_iter().map(cut).collect::<Result<_, serde_json::Error>>()?;
    Ok(List { null: list.null, items })
}

/// An object whose members keep their order and text.
struct Ordered(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Ordered {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Ordered;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Ordered, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Ordered(members))
            }
        }
        d.deserialize_map(Members)
    }
}

impl Serialize for Ordered {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_lists_keep_the_rest_as_the_daemon_wrote_it() {
        let text = r#"[{"ID":"a:deployment/x","Containers":[{"Name":"z","Current":{"ID":""},"Available":[{"ID":"x:2"},{"ID":"x:1"}],"A":1}]}]"#;
        let list = cut_available(serde_json::from_str(text).unwrap(), 1).unwrap();
        assert_eq!(json_list(&list), text.replace(r#",{"ID":"x:1"}"#, "") + "\n");
    }

    #[test]
    fn a_list_is_yaml_too() {
        let list: List<WorkloadImages> =
            serde_json::from_str(r#"[{"ID":"a:deployment/x","Containers":null}]"#).unwrap();
        assert_eq!(yaml_list(&list).unwrap(), "- Containers: null\n  ID: a:deployment/x\n");
    }
}
