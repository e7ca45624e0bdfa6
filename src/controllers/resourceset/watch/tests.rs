//! Cases of resourceset §11.
