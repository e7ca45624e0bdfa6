//! What image registries hold: tags, digests, times. The only user of registries; it decides nothing and knows no git.
