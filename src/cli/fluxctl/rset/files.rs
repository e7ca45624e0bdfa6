//! Manifests that the user names: one ResourceSet, static input providers, lists of inputs.

use std::io::Read;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::api::inputprovider::{ProviderType, ResourceSetInputProvider};
use crate::api::resourceset::{InputSet, ResourceSet};
use crate::cli::fluxctl::problem::Problem;
use crate::object::yaml::{self, Dialect, Limits};

/// Kinds of providers as files may write them (resourceset D2).
const PROVIDER_KINDS: [&str; 2] = ["ResourceSetInputProvider", "ResourceSetInputsProvider"];

/// Bytes that standard input may have.
const STDIN_LIMIT: u64 = 64 << 20;

/// Reads the ResourceSet of a file; of `-`, of standard input.
pub(super) fn resource_set(file: &str) -> Result<ResourceSet, Problem> {
    if file.is_empty() {
        return Err(Problem::Usage("please name the ResourceSet's file with --filename".to_owned()));
    }
    let sets: Vec<Value> = documents(file)?.into_iter().filter(|value| value["kind"] == "ResourceSet").collect();
    match <[Value; 1]>::try_from(sets) {
        Ok([set]) => typed(file, set),
        Err(found) => Err(Problem::Usage(format!("{file} has {} ResourceSets; expected one", found.len()))),
    }
}

/// Reads the input providers of files; they must be of type Static, because nobody is asked.
pub(super) fn providers(files: &[String]) -> Result<Vec<ResourceSetInputProvider>, Problem> {
    let mut found = Vec::new();
    for file in files {
        for value in documents(file)? {
            let kind = value["kind"].as_str().unwrap_or_default();
            if !PROVIDER_KINDS.contains(&kind) {
                return Err(Problem::Usage(format!("{file} has a {kind:?}; expected input providers only")));
            }
            let provider: ResourceSetInputProvider = typed(file, value)?;
            if provider.spec.provider_type != ProviderType::Static {
                let (name, found) = (provider.metadata.name.unwrap_or_default(), provider.spec.provider_type);
                let text = format!(
                    "input provider {name} in {file} is of type {found}; only Static ones can be read from files"
                );
                return Err(Problem::Usage(text));
            }
            found.push(provider);
        }
    }
    Ok(found)
}

/// Reads lists of input sets, each file one list.
pub(super) fn inputs(files: &[String]) -> Result<Vec<InputSet>, Problem> {
    let mut found = Vec::new();
    for file in files {
        for value in documents(file)? {
            let list = match value {
                Value::Object(mut map) if map.len() == 1 && map.contains_key("inputs") => {
                    map.remove("inputs").unwrap_or_default()
                }
                other => other,
            };
            found.extend(typed::<Vec<InputSet>>(file, list)?);
        }
    }
    Ok(found)
}

/// The documents of a file that hold something.
fn documents(file: &str) -> Result<Vec<Value>, Problem> {
    let bytes = if file == "-" {
        let mut bytes = Vec::new();
        let read = std::io::stdin().take(STDIN_LIMIT).read_to_end(&mut bytes);
        read.map_err(Problem::io("reading standard input"))?;
        bytes
    } else {
        std::fs::read(Path::new(file)).map_err(Problem::io(format!("reading {file}")))?
    };
    let documents = yaml::read(&bytes, Dialect::Kubernetes, &Limits::default());
    let documents = documents.map_err(|error| Problem::Usage(format!("{file}: {error}")))?;
    Ok(documents.into_iter().map(|document| document.value).filter(|value| !value.is_null()).collect())
}

fn typed<T: DeserializeOwned>(file: &str, value: Value) -> Result<T, Problem> {
    serde_json::from_value(value).map_err(|error| Problem::Usage(format!("{file}: {error}")))
}
