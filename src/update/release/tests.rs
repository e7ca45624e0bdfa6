//! The results of releases, by table (fluxd-v1 §6.2, §6.3, §14).
