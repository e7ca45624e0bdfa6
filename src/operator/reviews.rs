//! Who asks, and whether they may: token and access reviews of the API server. What to ask is decided elsewhere.

use serde_json::{Value, json};
use tokio::time::Instant;

use super::Error;
use super::reads::{Reads, failed};

/// Longest time for one review: somebody waits.
const DEADLINE: std::time::Duration = std::time::Duration::from_secs(5);

/// Somebody whom the API server knows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Person {
    /// Such as `system:serviceaccount:shop:ci`.
    pub user: String,
    /// Its uid.
    pub uid: String,
    /// Its groups.
    pub groups: Vec<String>,
    /// What else the authenticator said.
    pub extra: Value,
}

impl Reads {
    /// Whose token it is; `None` when it is nobody's.
    ///
    /// # Errors
    /// [`Error::Cluster`], also when this process may not ask (`create` on `tokenreviews`).
    pub async fn authenticate(&self, token: &str) -> Result<Option<Person>, Error> {
        let body =
            json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": { "token": token } });
        let path = "/apis/authentication.k8s.io/v1/tokenreviews";
        let answer = self.cluster().review(path, &body, Instant::now() + DEADLINE).await.map_err(failed)?;
        let status = &answer["status"];
        if status["authenticated"] != true {
            return Ok(None);
        }
        let text = |field: &str| status["user"][field].as_str().unwrap_or_default().to_owned();
        let groups = status["user"]["groups"].as_array().into_iter().flatten();
        Ok(Some(Person {
            user: text("username"),
            uid: text("uid"),
            groups: groups.filter_map(|group| group.as_str().map(str::to_owned)).collect(),
            extra: status["user"]["extra"].clone(),
        }))
    }

    /// Whether somebody may use a path that is no resource, by the verb (`get`, `post`, `patch`).
    ///
    /// # Errors
    /// [`Error::Cluster`], also when this process may not ask (`create` on `subjectaccessreviews`).
    pub async fn may(&self, who: &Person, verb: &str, path: &str) -> Result<bool, Error> {
        let mut spec = json!({
            "user": who.user,
            "uid": who.uid,
            "groups": who.groups,
            "nonResourceAttributes": { "verb": verb, "path": path },
        });
        if who.extra.is_object() {
            spec["extra"] = who.extra.clone();
        }
        let body = json!({ "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec });
        let at = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        let answer = self.cluster().review(at, &body, Instant::now() + DEADLINE).await.map_err(failed)?;
        Ok(answer["status"]["allowed"] == true)
    }
}
