//! What a cloud's refusal says, in one short line: clouds put code and message into JSON or XML of different forms. What
//! was shown to them in confidence is blanked out, should they repeat it.

use serde_json::Value;

/// Characters of a message that are passed on.
const MESSAGE: usize = 300;

/// `HTTP status 403: AccessDenied: …`; `hidden` is never a part of it.
pub(super) fn refusal(status: u16, body: &[u8], hidden: &[&str]) -> String {
    let said = match serde_json::from_slice::<Value>(body) {
        Ok(value) => of_json(&value),
        Err(_) => of_xml(&String::from_utf8_lossy(body)),
    };
    let parts: Vec<String> = said.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    let mut text = parts.join(": ");
    for secret in hidden.iter().filter(|secret| secret.len() >= 6) {
        text = text.replace(secret, "<redacted>");
    }
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MESSAGE).collect();
    if text.is_empty() { format!("HTTP status {status}") } else { format!("HTTP status {status}: {text}") }
}

/// Code and message, as AWS (`__type`), Entra ID and Google's STS (`error`), Google's IAM and registries (an object or a
/// list of them) have it.
fn of_json(value: &Value) -> [Option<String>; 2] {
    let inner = match (&value["error"], &value["errors"][0]) {
        (error @ Value::Object(_), _) | (_, error @ Value::Object(_)) => error,
        _ => value,
    };
    let first = |keys: &[&str]| keys.iter().find_map(|key| Some(inner[*key].as_str()?.to_owned()));
    let code = first(&["__type", "status", "code", "error"]);
    // AWS writes its codes with a name space before them
    let code = code.map(|code| code.rsplit('#').next().unwrap_or_default().to_owned());
    [code, first(&["message", "Message", "error_description"])]
}

fn of_xml(text: &str) -> [Option<String>; 2] {
    [element(text, "Code"), element(text, "Message")]
}

/// The text of an XML element that occurs once and holds nothing but text.
pub(super) fn element(xml: &str, name: &str) -> Option<String> {
    let (_, rest) = xml.split_once(&format!("<{name}>"))?;
    let (text, _) = rest.split_once(&format!("</{name}>"))?;
    Some(text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_and_message_are_found_in_each_clouds_form() {
        for (body, want) in [
            (
                "<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>Not &quot;you&quot;</Message>\
                 </Error></ErrorResponse>",
                "HTTP status 403: AccessDenied: Not \"you\"",
            ),
            (
                r#"{"__type":"com.amazon#RepositoryDoesNotExistException","message":"x"}"#,
                "HTTP status 403: RepositoryDoesNotExistException: x",
            ),
            (
                "{\"error\":\"invalid_client\",\"error_description\":\"AADSTS70021: none.\\r\\nTrace\"}",
                "HTTP status 403: invalid_client: AADSTS70021: none.  Trace",
            ),
            (
                r#"{"error":{"code":403,"message":"no","status":"PERMISSION_DENIED"}}"#,
                "HTTP status 403: PERMISSION_DENIED: no",
            ),
            (r#"{"errors":[{"code":"UNAUTHORIZED","message":"a"}]}"#, "HTTP status 403: UNAUTHORIZED: a"),
            ("<html>proxy</html>", "HTTP status 403"),
            ("[]", "HTTP status 403"),
            ("", "HTTP status 403"),
        ] {
            assert_eq!(refusal(403, body.as_bytes(), &[]), want, "{body}");
        }
    }

    #[test]
    fn what_was_shown_in_confidence_is_not_repeated() {
        let body = format!(r#"{{"error":"bad assertion eyJhbGciOi","error_description":"{}"}}"#, "x".repeat(1000));
        let text = refusal(400, body.as_bytes(), &["eyJhbGciOi", ""]);
        assert!(text.starts_with("HTTP status 400: bad assertion <redacted>: xxx") && text.len() < 340, "{text}");
    }
}
