//! The daemon's API seen from the other side: what `fluxctl` asks, and how it shows the answers. It reads no flags and
//! prints nothing itself.
