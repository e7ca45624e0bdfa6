//! Reads small files that a server is configured with. What a file means is its reader's business.

use std::path::Path;

/// The content of a file of at most `limit` bytes, or why it cannot be had.
pub(super) fn read(path: &Path, limit: u64) -> Result<Vec<u8>, String> {
    let size = std::fs::metadata(path).map_err(|e| e.to_string())?.len();
    if size > limit {
        return Err(format!("it has {size} bytes, more than {limit}"));
    }
    std::fs::read(path).map_err(|e| e.to_string())
}
