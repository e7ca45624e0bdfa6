//! v1's routes, one row each.

use super::*;

/// Method, path, body, status, answer, what was asked behind it.
const ROWS: &[(&str, &str, &str, u16, &str, &str)] = &[
    ("GET", "/api/flux/v11/ping", "", 204, "", ""),
    ("GET", "/api/flux/v11/version", "", 200, "\"1.2.3\"", ""),
    ("GET", "/api/flux/v11/version?unknown=1", "", 200, "\"1.2.3\"", ""),
    (
        "POST",
        "/api/flux/v11/notify",
        r#"{"kind":"git","source":{"url":"u","branch":"b"}}"#,
        202,
        "",
        r#"Git { url: "u", branch: "b" }"#,
    ),
    ("GET", "/api/flux/v6/services?namespace=shop", "", 200, "null", r#"services "shop" []"#),
    ("GET", "/api/flux/v6/services", "", 200, "null", r#"services "" []"#),
    (
        "GET",
        "/api/flux/v11/services?services=shop:deployment/web&namespace=",
        "",
        200,
        "null",
        "services \"\" [ObjectId { namespace: \"shop\", kind: \"deployment\", name: \"web\" }]",
    ),
    (
        "POST",
        "/api/flux/v9/update-manifests",
        r#"{"type":"sync","spec":{}}"#,
        200,
        "\"5a0c1a4e-0000-4000-8000-3a5f1d2c9b10\"",
        r#"{"spec":{},"type":"sync"}"#,
    ),
    (
        "GET",
        "/api/flux/v6/jobs?id=known",
        "",
        200,
        r#"{"Result":{"revision":"9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f"},"Err":"","StatusString":"succeeded"}"#,
        "",
    ),
    ("GET", "/api/flux/v10/images", "", 200, "null", "images <all> \"\" []"),
    ("GET", "/api/flux/v6/images", "", 200, "null", "images <all> \"\" []"),
    (
        "GET",
        "/api/flux/v10/images?service=&namespace=shop&containerFields=Name,Current",
        "",
        200,
        "null",
        "images <all> \"shop\" [\"Name\", \"Current\"]",
    ),
    ("GET", "/api/flux/v6/images?service=shop:deployment/web", "", 200, "null", "images shop:deployment/web \"\" []"),
    ("GET", "/api/flux/v6/sync?ref=", "", 200, "[]", "sync \"\""),
    ("GET", "/api/flux/v6/sync?ref=a%2Fb+c", "", 200, "[]", "sync \"a/b c\""),
    ("GET", "/api/flux/v6/export", "", 200, "\"LS0tCmtpbmQ6IE5hbWVzcGFjZQo=\"", ""),
    ("HEAD", "/api/flux/v6/export", "", 200, "", ""),
    (
        "POST",
        "/api/flux/v9/git-repo-config",
        "false",
        200,
        r#"{"remote":{"url":"","branch":"","path":""},"publicSSHKey":{"key":"","fingerprints":null},"status":"ready","errors":""}"#,
        "config false",
    ),
    (
        "POST",
        "/api/flux/v9/git-repo-config",
        "true\n",
        200,
        r#"{"remote":{"url":"","branch":"","path":""},"publicSSHKey":{"key":"","fingerprints":null},"status":"ready","errors":""}"#,
        "config true",
    ),
    (
        "POST",
        "/api/flux/v6/update-images?service=<all>&image=x:1&kind=plan&exclude=a:deployment/b&user=Ann",
        "",
        200,
        "\"5a0c1a4e-0000-4000-8000-3a5f1d2c9b10\"",
        r#"{"cause":{"Message":"","User":"Ann"},"spec":{"Excludes":["a:deployment/b"],"Force":false,"ImageSpec":"x:1","Kind":"plan","ServiceSpecs":["<all>"]},"type":"image"}"#,
    ),
    (
        "PATCH",
        "/api/flux/v6/policies?user=Ann",
        r#"{"a:deployment/b":{"add":{"locked":"true"}}}"#,
        200,
        "\"5a0c1a4e-0000-4000-8000-3a5f1d2c9b10\"",
        r#"{"cause":{"Message":"","User":"Ann"},"spec":{"a:deployment/b":{"add":{"locked":"true"}}},"type":"policy"}"#,
    ),
    ("GET", "/api/flux/v6/identity.pub", "", 200, r#"{"key":"","fingerprints":null}"#, ""),
    ("POST", "/api/flux/v6/identity.pub", "", 204, "", ""),
];

#[tokio::test]
async fn each_route_of_v1_answers_as_v1() {
    let rig = Rig::usual().await;
    for (method, path, body, status, answer, asked) in ROWS {
        let response = rig.send(method.parse().unwrap(), path, Some("application/json"), body).await;
        let content_type = response.headers().get("content-type").map(|v| v.to_str().unwrap().to_owned());
        assert_eq!(response.status(), *status, "{method} {path}");
        assert_eq!(response.text().await.unwrap(), *answer, "{method} {path}");
        assert_eq!(rig.asked().join("; "), *asked, "{method} {path}");
        if *status == 200 {
            assert_eq!(content_type.as_deref(), Some("application/json; charset=utf-8"), "{method} {path}");
        }
    }
}

/// Method, path, body, status, short text of the error.
const ERRORS: &[(&str, &str, &str, u16, &str)] = &[
    ("GET", "/api/flux/v6/jobs?id=x", "", 404, "unknown job \"x\""),
    ("GET", "/api/flux/v6/jobs", "", 404, "API endpoint not found"),
    ("GET", "/api/flux/v6/sync", "", 404, "API endpoint not found"),
    ("POST", "/api/flux/v6/update-images?service=a", "", 404, "API endpoint not found"),
    ("GET", "/api/flux/v11/ping/", "", 404, "API endpoint not found"),
    ("POST", "/api/flux/v11/ping", "", 404, "API endpoint not found"),
    ("GET", "/api/flux/", "", 404, "API endpoint not found"),
    ("GET", "/api/flux/v12/ping", "", 404, "API endpoint not found"),
    ("GET", "/api/fluxd/v1/nothing", "", 404, "API endpoint not found"),
    ("GET", "/api/flux/v5/images", "", 410, "API endpoint deprecated"),
    ("POST", "/api/flux/v1/x/y", "", 410, "API endpoint deprecated"),
    ("GET", "/api/flux/v6/services?namespace=broken", "", 422, "getting workloads: <no>"),
    (
        "GET",
        "/api/flux/v11/services?services=nonsense",
        "",
        400,
        "parsing service spec \"nonsense\": parsing nonsense: invalid service ID",
    ),
    (
        "GET",
        "/api/flux/v10/images?service=x",
        "",
        400,
        "parsing service spec \"x\": invalid workload spec: parsing x: invalid service ID",
    ),
    (
        "POST",
        "/api/flux/v6/update-images?service=a:deployment/b&image=:&kind=plan",
        "",
        400,
        "parsing image spec \":\": parsing \":\": expected image name as either <image>:<tag> or just <image>: invalid image ID",
    ),
    (
        "POST",
        "/api/flux/v11/notify",
        r#"{"Kind":"helm"}"#,
        400,
        "unknown kind of change: expected \"git\" or \"image\"",
    ),
    ("POST", "/api/flux/v11/notify", "", 400, "expected a JSON value, found nothing"),
    (
        "POST",
        "/api/flux/v9/update-manifests",
        "{",
        400,
        "invalid JSON at byte 1: EOF while parsing an object at line 1 column 1",
    ),
    ("POST", "/api/flux/v9/update-manifests", r#"{"type":"helm"}"#, 400, "unknown spec type: helm"),
    (
        "POST",
        "/api/flux/v9/git-repo-config",
        "\"yes\"",
        400,
        "expected true or false: whether to make a new deploy key",
    ),
    (
        "POST",
        "/api/flux/v6/update-images?service=a:deployment/b&image=x&kind=now",
        "",
        400,
        "parsing release kind \"now\": invalid release kind: expected plan or execute",
    ),
];

#[tokio::test]
async fn each_mistake_is_answered_with_its_status_and_its_cause() {
    let rig = Rig::usual().await;
    for (method, path, body, status, error) in ERRORS {
        let response = rig.send(method.parse().unwrap(), path, Some("application/json"), body).await;
        assert_eq!(response.status(), *status, "{method} {path}");
        let answer: Value = response.json().await.unwrap();
        assert_eq!(answer["error"], *error, "{method} {path}");
        let help = answer["help"].as_str().unwrap();
        assert!(!help.is_empty(), "{method} {path}");
        if *status == 422 || *status == 400 {
            assert!(help.contains(error), "the help of {method} {path} has not the cause: {help}");
        }
    }
}
