//! Services that answer with inputs of their own making (resourceset §8.6).

use std::collections::HashSet;

use serde_json::Value;
use url::Url;

use super::Error;
use super::export::InputSet;
use super::wire::{Call, RETRIES, Wire};

/// Bytes of an answer, after decompression.
const BODY: usize = 900 * 1024;

/// Asks a service. What failed on the way is asked for again; what the service says is not.
pub(super) async fn list(
    wire: &Wire,
    url: &str,
    credential: Option<(&'static str, String)>,
    limit: usize,
) -> Result<Vec<InputSet>, Error> {
    let refused =
        || Error::Url { url: super::wire::without_user(url), expected: "http:// or https:// with a host".to_owned() };
    let parsed: Url = url.parse().map_err(|_| refused())?;
    let mut call = Call::get(parsed).header("accept", "application/json").credential(credential.as_ref());
    call.limit = BODY;
    let mut retry = 0;
    let reply = loop {
        match wire.send(call.clone()).await {
            Err(error) if error.is_connection() && retry < RETRIES => {
                tokio::time::sleep(wire.pause(retry)).await;
                retry += 1;
            }
            answered => break answered?,
        }
    };
    if !reply.status.is_success() {
        let shown = super::wire::without_user(url);
        return Err(Error::Said(format!("external service '{shown}' returned HTTP {}", reply.status.as_u16())));
    }
    let mut sets = read_inputs(&reply.body).map_err(Error::Said)?;
    sets.truncate(limit);
    Ok(sets)
}

/// Reads `{"inputs": [{"id": …}, …]}`.
///
/// # Errors
/// When it is no such object, or an identifier is missing, no text, or there twice.
pub fn read_inputs(body: &[u8]) -> Result<Vec<InputSet>, String> {
    let whole: Value =
        super::wire::read_json(body).map_err(|reason| format!("failed to parse response body: {reason}"))?;
    let Some(whole) = whole.as_object() else {
        return Err("failed to parse response body: expected a JSON object".to_owned());
    };
    let inputs = match whole.get("inputs") {
        None | Some(Value::Null) => return Err("response does not contain an 'inputs' field".to_owned()),
        Some(Value::Array(inputs)) => inputs,
        Some(_) => return Err("failed to parse response body: expected 'inputs' to be an array".to_owned()),
    };
    let mut seen = HashSet::new();
    let mut sets = Vec::with_capacity(inputs.len());
    for (index, input) in inputs.iter().enumerate() {
        let Some(set) = input.as_object() else {
            return Err(format!("failed to parse response body: expected input at index {index} to be an object"));
        };
        let at = format!("input at index {index}");
        let id = match set.get("id") {
            None => return Err(format!("{at} is missing the required 'id' field")),
            Some(Value::String(id)) => id,
            Some(_) => return Err(format!("{at} has a non-string 'id' field")),
        };
        if !seen.insert(id) {
            return Err(format!("{at} has a duplicate 'id' value '{id}'"));
        }
        sets.push(set.clone());
    }
    Ok(sets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_read_whatever_they_hold() {
        let sets = read_inputs(br#"{"inputs":[{"id":"","a":{"b":[1,2.5,null]}},{"id":"2"}],"more":1}"#).unwrap();
        assert_eq!(sets[0]["a"]["b"][1], 2.5);
        assert_eq!(sets.len(), 2);
        assert_eq!(read_inputs(br#"{"inputs":[]}"#).unwrap().len(), 0);
    }

    #[test]
    fn what_is_wrong_is_said_in_the_words_of_the_original() {
        for (body, said) in [
            ("{}", "response does not contain an 'inputs' field"),
            (r#"{"inputs":null}"#, "response does not contain an 'inputs' field"),
            (r#"{"inputs":[{"a":1}]}"#, "input at index 0 is missing the required 'id' field"),
            (r#"{"inputs":[{"id":"1"},{"id":2}]}"#, "input at index 1 has a non-string 'id' field"),
            (r#"{"inputs":[{"id":null}]}"#, "input at index 0 has a non-string 'id' field"),
            (r#"{"inputs":[{"id":"1"},{"id":"2"},{"id":"1"}]}"#, "input at index 2 has a duplicate 'id' value '1'"),
        ] {
            assert_eq!(read_inputs(body.as_bytes()).unwrap_err(), said, "{body}");
        }
        for body in
            ["<html>hunter2</html>", "", "[]", "hunter2", r#"{"inputs":{}}"#, r#"{"inputs":[3]}"#, r#"{"inputs":["#]
        {
            let refusal = read_inputs(body.as_bytes()).unwrap_err();
            assert!(
                refusal.starts_with("failed to parse response body: ") && !refusal.contains("hunter2"),
                "{refusal}"
            );
        }
    }
}
