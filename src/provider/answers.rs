//! The JSON of all git hosts' answers read at once, for those who try what their readers do with any bytes.

use super::{azure_devops, codecommit, gitea, github, gitlab};

/// Reads an answer as each host's each kind of answer; nothing is made of it.
pub fn read_answers(body: &[u8]) {
    github::read_any(body);
    gitlab::read_any(body);
    gitea::read_any(body);
    azure_devops::read_any(body);
    codecommit::read_any(body);
}
