//! What exists elsewhere, as lists of inputs: branches, tags and change requests of git hosts, tags of artifacts, answers
//! of services; with their filters and schedules. It lists; what is made of the lists is decided above.
