//! The cloud stores of this build: Cargo features select them.

use crate::error::{Error, Result};

/// A feature, the URI schemes of its store, and whether it is compiled in.
struct CloudStore {
    feature: &'static str,
    schemes: &'static [&'static str],
    compiled: bool,
}

const CLOUD_STORES: [CloudStore; 3] = [
    CloudStore {
        feature: "aws",
        schemes: &["s3", "s3+ddb"],
        compiled: cfg!(feature = "aws"),
    },
    CloudStore {
        feature: "azure",
        schemes: &["az", "abfss"],
        compiled: cfg!(feature = "azure"),
    },
    CloudStore {
        feature: "gcp",
        schemes: &["gs"],
        compiled: cfg!(feature = "gcp"),
    },
];

/// The compiled features of cloud stores.
pub fn stores() -> Vec<&'static str> {
    CLOUD_STORES
        .iter()
        .filter(|store| store.compiled)
        .map(|store| store.feature)
        .collect()
}

/// Fails for a root whose store is not part of this build.
pub(super) fn check(root: &str) -> Result<()> {
    left_out(root, &stores()).map_or(Ok(()), |message| Err(Error::invalid(message)))
}

fn left_out(root: &str, compiled: &[&str]) -> Option<String> {
    let (scheme, _) = root.split_once("://")?;
    let store = CLOUD_STORES
        .iter()
        .find(|store| store.schemes.contains(&scheme))?;
    if compiled.contains(&store.feature) {
        return None;
    }
    let mut wanted = compiled.to_vec();
    wanted.push(store.feature);
    wanted.sort_unstable();
    Some(format!(
        "the root {root} needs the store `{}`, which this build of joust does not have: build it with \
         JOUST_FEATURES={} npm run build",
        store.feature,
        wanted.join(",")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_whose_store_was_not_compiled_is_refused_with_the_feature_to_build() {
        let message = left_out("gs://bucket/tables", &["aws"]).unwrap();
        assert!(message.contains("needs the store `gcp`"), "{message}");
        assert!(
            message.contains("JOUST_FEATURES=aws,gcp npm run build"),
            "{message}"
        );
        for (root, feature) in [
            ("s3://bucket", "aws"),
            ("s3+ddb://bucket", "aws"),
            ("az://container", "azure"),
            ("abfss://container@account", "azure"),
            ("gs://bucket", "gcp"),
        ] {
            let message = left_out(root, &[]).unwrap();
            assert!(message.ends_with(&format!("JOUST_FEATURES={feature} npm run build")));
            assert_eq!(left_out(root, &[feature]), None);
        }
    }

    #[test]
    fn local_and_unknown_roots_need_no_feature() {
        for root in ["/data", "data", "file:///data", "memory://", "http://host"] {
            assert_eq!(left_out(root, &[]), None, "{root}");
        }
    }

    #[test]
    fn the_list_of_stores_is_what_was_compiled() {
        let all = stores();
        assert_eq!(all.contains(&"aws"), cfg!(feature = "aws"));
        assert_eq!(all.contains(&"azure"), cfg!(feature = "azure"));
        assert_eq!(all.contains(&"gcp"), cfg!(feature = "gcp"));
        for (root, feature) in [("s3://b", "aws"), ("az://c", "azure"), ("gs://b", "gcp")] {
            assert_eq!(check(root).is_ok(), all.contains(&feature), "{root}");
        }
    }
}
