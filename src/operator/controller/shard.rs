//! Which of several replicas looks after an object. Pure arithmetic over names and labels; who holds which shard is a
//! matter of leases, one per shard.

use kube::api::ObjectMeta;

/// A replica's part of all objects. An object belongs to the shard whose number its label says, or else to the one that
/// its namespace and name hash to, which is the same in every process and version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shard {
    /// This replica's number, from 0.
    pub index: u32,
    /// How many there are.
    pub of: u32,
    /// The label that may place an object, such as `sharding.fluxd.io/shard`.
    pub label: String,
}

impl Shard {
    /// Whether an object is this replica's.
    pub fn owns(&self, meta: &ObjectMeta) -> bool {
        self.place(meta) == self.index
    }

    fn place(&self, meta: &ObjectMeta) -> u32 {
        let of = self.of.max(1);
        let labelled = meta.labels.as_ref().and_then(|labels| labels.get(&self.label)?.parse::<u32>().ok());
        let namespace = meta.namespace.as_deref().unwrap_or_default();
        let name = meta.name.as_deref().unwrap_or_default();
        labelled.unwrap_or_else(|| hash(namespace, name)) % of
    }
}

/// FNV-1a, 32 bits: simple, and the same for ever.
fn hash(namespace: &str, name: &str) -> u32 {
    let bytes = namespace.bytes().chain([b'/']).chain(name.bytes());
    bytes.fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta(name: &str, label: Option<&str>) -> ObjectMeta {
        ObjectMeta {
            namespace: Some("apps".into()),
            name: Some(name.into()),
            labels: label.map(|value| [("shard".to_owned(), value.to_owned())].into()),
            ..ObjectMeta::default()
        }
    }

    fn owners(meta: &ObjectMeta) -> Vec<u32> {
        (0..3).filter(|index| Shard { index: *index, of: 3, label: "shard".into() }.owns(meta)).collect()
    }

    #[test]
    fn every_object_has_exactly_one_owner_and_each_replica_gets_a_fair_part() {
        let mut counts = [0; 3];
        for n in 0..3000 {
            let owners = owners(&meta(&format!("set-{n}"), None));
            assert_eq!(owners.len(), 1);
            counts[owners[0] as usize] += 1;
        }
        assert!(counts.iter().all(|count| (800..1200).contains(count)), "{counts:?}");
    }

    #[test]
    fn a_label_places_an_object_and_one_that_is_no_number_does_not() {
        assert_eq!(owners(&meta("a", Some("2"))), [2]);
        assert_eq!(owners(&meta("a", Some("4"))), [1], "more shards once than now");
        assert_eq!(owners(&meta("a", Some("blue"))), owners(&meta("a", None)));
    }

    #[test]
    fn the_hash_is_the_same_in_every_version() {
        assert_eq!(hash("", ""), 0x0100_0193_u32.wrapping_mul(0x811c_9dc5 ^ 0x2f));
        assert_eq!(hash("apps", "web"), hash("apps", "web"));
        assert_ne!(hash("a", "b/c"), hash("a/b", "c-"));
    }
}
