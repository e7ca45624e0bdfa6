//! Templates as Go's `text/template` renders them, with the function sets that users of Kubernetes tools know. Pure: a
//! template is a function of its data, bounded in steps, depth and size.
