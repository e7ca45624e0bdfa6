//! Sources: revisions become trees of files, and markers of what was applied go back. It knows no Kubernetes and no
//! manifests; what the files mean is the work of `generate`.

pub mod git;
