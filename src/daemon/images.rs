//! Lists of images: what each container runs, and what its repository has (fluxd-v1 §8.3).

use crate::report::{ApiError, ImageStatus};

use super::shared::Shared;

pub(super) async fn list(
    shared: &Shared,
    workload: &str,
    namespace: &str,
    fields: &[String],
) -> Result<Vec<ImageStatus>, ApiError> {
    let _ = (shared, workload, namespace, fields);
    Err(ApiError::not_built("list-images"))
}
