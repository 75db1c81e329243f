//! Credentials for clients that read the files of one table themselves, and for workers that also write its new files:
//! temporary, and only for the prefix of the table and those of the tables whose files it reads as a clone.
//!
//! AWS STS, or the STS of another store, makes them: it assumes a role that may use the bucket, with a session policy
//! that restricts it to these prefixes.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::StorageOptions;
use crate::error::{Error, Result};

/// How credentials are made.
#[derive(Debug, Clone)]
pub struct Vending {
    /// The ARN of the role that STS assumes.
    pub role: String,
    /// The address of STS; that of AWS in the region of the bucket when absent.
    pub endpoint: Option<String>,
    /// The name of the session in the log of the store.
    pub session: String,
    pub lifetime: Duration,
}

/// Temporary credentials.
#[derive(Clone)]
pub struct Vended {
    pub access_key_id: String,
    pub secret_access_key: String,
    pub session_token: String,
    pub expires_at: SystemTime,
}

/// What credentials permit.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    /// To read the objects below these locations, and to list them: of a table, and of the tables whose files it reads as
    /// a clone.
    pub readable: Vec<String>,
    /// To create objects below these locations.
    pub writable: Vec<String>,
}

/// The session policy of a scope.
///
/// # Errors
/// A location is not in a bucket, not in that of the others, or has characters that a policy would take for a pattern.
fn policy(scope: &Scope, role: &str) -> Result<Value> {
    let mut bucket = None;
    let mut prefixes_of = |locations: &'_ [String]| {
        let mut prefixes = Vec::new();
        for location in locations {
            let (own, prefix) = bucket_and_prefix(location)?;
            let own = own.to_string();
            if *bucket.get_or_insert_with(|| own.clone()) != own {
                return Err(not_vendable(location));
            }
            prefixes.push(prefix.to_string());
        }
        Ok::<_, Error>(prefixes)
    };
    let prefixes = prefixes_of(&scope.readable)?;
    let written = prefixes_of(&scope.writable)?;
    let Some(bucket) = bucket else {
        return Err(Error::invalid(
            "temporary credentials exist for tables only",
        ));
    };
    // `aws`, or the name of a partition such as `aws-cn`.
    let partition = role.split(':').nth(1).filter(|name| !name.is_empty());
    let arn = format!("arn:{}:s3:::{bucket}", partition.unwrap_or("aws"));
    let objects: Vec<String> = prefixes
        .iter()
        .map(|prefix| format!("{arn}/{prefix}/*"))
        .collect();
    let listed: Vec<String> = prefixes
        .iter()
        .map(|prefix| format!("{prefix}/*"))
        .collect();
    // With a key for each object, and with a key of the bucket.
    let decrypted: Vec<&String> = objects.iter().chain([&arn]).collect();
    let created: Vec<String> = written
        .iter()
        .map(|prefix| format!("{arn}/{prefix}/*"))
        .collect();
    let mut policy = json!({
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Action": ["s3:GetObject", "s3:GetObjectVersion"],
                "Resource": objects,
            },
            {
                "Effect": "Allow",
                "Action": "s3:ListBucket",
                "Resource": arn,
                "Condition": {"StringLike": {"s3:prefix": listed}},
            },
            {"Effect": "Allow", "Action": "s3:GetBucketLocation", "Resource": arn},
            {
                "Effect": "Allow",
                "Action": "kms:Decrypt",
                "Resource": "*",
                "Condition": {
                    "StringLike": {"kms:EncryptionContext:aws:s3:arn": decrypted},
                },
            },
        ],
    });
    if let (false, Some(statements)) = (created.is_empty(), policy["Statement"].as_array_mut()) {
        let encrypted: Vec<&String> = created.iter().chain([&arn]).collect();
        statements.push(json!({
            "Effect": "Allow",
            "Action": ["s3:PutObject", "s3:AbortMultipartUpload"],
            "Resource": created,
        }));
        statements.push(json!({
            "Effect": "Allow",
            "Action": "kms:GenerateDataKey",
            "Resource": "*",
            "Condition": {
                "StringLike": {"kms:EncryptionContext:aws:s3:arn": encrypted},
            },
        }));
    }
    Ok(policy)
}

/// The bucket of a location, and the prefix of its objects. Object keys are not encoded.
fn bucket_and_prefix(location: &str) -> Result<(&str, &str)> {
    let path = location
        .strip_prefix("s3://")
        .and_then(|rest| rest.split_once('/'));
    let Some((bucket, path)) = path else {
        return Err(not_vendable(location));
    };
    let prefix = path.trim_matches('/');
    // A policy takes `*` and `?` for patterns, and `${` for the beginning of a variable.
    if prefix.is_empty() || prefix.contains(['*', '?']) || prefix.contains("${") {
        return Err(not_vendable(location));
    }
    Ok((bucket, prefix))
}

fn not_vendable(location: &str) -> Error {
    Error::invalid(format!(
        "there are credentials only for tables in a bucket (s3://...) whose path has none of `*`, `?` and `${{`, not for {location}"
    ))
}

/// Makes credentials with this scope.
///
/// `options`: of the table's object store. Without keys among them, the environment and the host identify joust to STS.
///
/// # Errors
/// `Unsupported` in an engine without S3, `InvalidInput` for a location that is not in a bucket, `ServiceUnavailable` if
/// STS refuses or cannot be reached.
#[cfg(feature = "aws")]
pub async fn vend(scope: &Scope, options: &StorageOptions, vending: Vending) -> Result<Vended> {
    use aws_config::sts::AssumeRoleProvider;
    use aws_config::{BehaviorVersion, Region};
    use aws_credential_types::Credentials;
    use aws_credential_types::provider::ProvideCredentials;

    /// Characters of a policy that STS takes.
    const MOST_POLICY: usize = 2_048;
    /// STS answers within a second.
    const MOST: Duration = Duration::from_secs(15);

    let policy = policy(scope, &vending.role)?.to_string();
    if policy.len() > MOST_POLICY {
        return Err(Error::invalid(format!(
            "the policy for the table and the sources of its clone has {} characters, and STS takes \
             {MOST_POLICY}: copy the table with a deep clone",
            policy.len()
        )));
    }
    let option = |name: &str| {
        let mut options = options.iter();
        let found = options.find(|(key, _)| {
            let key = key.to_lowercase();
            key.strip_prefix("aws_").unwrap_or(&key) == name
        });
        found.map(|(_, value)| value.clone())
    };
    let mut loader = aws_config::defaults(BehaviorVersion::latest());
    if let (Some(id), Some(secret)) = (option("access_key_id"), option("secret_access_key")) {
        let token = option("session_token");
        loader = loader.credentials_provider(Credentials::new(id, secret, token, None, "joust"));
    }
    if let Some(region) = option("region").or_else(|| option("default_region")) {
        loader = loader.region(Region::new(region));
    }
    if let Some(endpoint) = vending.endpoint {
        loader = loader.endpoint_url(endpoint);
    }
    let made = async {
        let mut config = loader.load().await;
        if config.region().is_none() {
            let region = Region::from_static("us-east-1");
            config = config.into_builder().region(region).build();
        }
        let provider = AssumeRoleProvider::builder(vending.role)
            .session_name(vending.session)
            .session_length(vending.lifetime)
            .policy(policy)
            .configure(&config)
            .build()
            .await;
        provider.provide_credentials().await
    };
    let refused = |cause: String| {
        let message = "STS gave no credentials for the table: the log of the server says why; try again later";
        Error::unavailable(message, cause)
    };
    let made = tokio::time::timeout(MOST, made).await;
    let made = made.map_err(|_| refused(format!("STS did not answer for {} s", MOST.as_secs())))?;
    let credentials = made.map_err(|error| {
        let cause = std::error::Error::source(&error).map(|cause| format!("{cause:?}"));
        refused(cause.unwrap_or_else(|| error.to_string()))
    })?;
    let expiry = credentials.expiry();
    let (Some(token), Some(expires_at)) = (credentials.session_token(), expiry) else {
        return Err(refused("its credentials do not expire".to_string()));
    };
    Ok(Vended {
        access_key_id: credentials.access_key_id().to_string(),
        secret_access_key: credentials.secret_access_key().to_string(),
        session_token: token.to_string(),
        expires_at,
    })
}

#[cfg(not(feature = "aws"))]
pub async fn vend(scope: &Scope, _: &StorageOptions, vending: Vending) -> Result<Vended> {
    use crate::error::Code;

    policy(scope, &vending.role)?;
    Err(Error::new(
        Code::Unsupported,
        "this engine was compiled without S3: it makes no credentials",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readable(locations: &[&str]) -> Scope {
        Scope {
            readable: locations.iter().map(ToString::to_string).collect(),
            ..Scope::default()
        }
    }

    const ROLE: &str = "arn:aws:iam::123456789012:role/readers";

    #[test]
    fn a_policy_permits_to_read_below_the_table_only() {
        let policy = policy(&readable(&["s3://bucket/root/a b$t.lance/"]), ROLE).unwrap();
        let statements = policy["Statement"].as_array().unwrap();
        assert_eq!(
            statements[0]["Resource"],
            json!(["arn:aws:s3:::bucket/root/a b$t.lance/*"])
        );
        assert_eq!(
            statements[1]["Condition"]["StringLike"]["s3:prefix"],
            json!(["root/a b$t.lance/*"])
        );
        assert!(statements.iter().all(|one| one["Effect"] == "Allow"));
        let text = policy.to_string();
        for action in ["Put", "Delete", "s3:*", "Encrypt\""] {
            assert!(!text.contains(action), "{text}");
        }
    }

    #[test]
    fn a_policy_permits_workers_to_create_files_and_no_versions() {
        let location = "s3://bucket/t.lance/tree/dev";
        let scope = Scope {
            writable: vec![format!("{location}/data"), format!("{location}/_indices")],
            ..readable(&["s3://bucket/t.lance"])
        };
        let policy = policy(&scope, ROLE).unwrap();
        let created = json!([
            "arn:aws:s3:::bucket/t.lance/tree/dev/data/*",
            "arn:aws:s3:::bucket/t.lance/tree/dev/_indices/*",
        ]);
        let statements = policy["Statement"].as_array().unwrap();
        let writes = |one: &&Value| one.to_string().contains("Put");
        let found: Vec<_> = statements.iter().filter(writes).collect();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0]["Resource"], created);
        assert!(!policy.to_string().contains("Delete"));
    }

    #[test]
    fn a_policy_permits_to_read_the_sources_of_a_clone() {
        let locations = ["s3://bucket/clone.lance", "s3://bucket/source.lance"];
        let policy = policy(&readable(&locations), ROLE).unwrap();
        assert_eq!(
            policy["Statement"][0]["Resource"],
            json!([
                "arn:aws:s3:::bucket/clone.lance/*",
                "arn:aws:s3:::bucket/source.lance/*"
            ])
        );
        assert_eq!(
            policy["Statement"][3]["Condition"]["StringLike"]["kms:EncryptionContext:aws:s3:arn"],
            json!([
                "arn:aws:s3:::bucket/clone.lance/*",
                "arn:aws:s3:::bucket/source.lance/*",
                "arn:aws:s3:::bucket",
            ])
        );
    }

    #[test]
    fn the_partition_is_that_of_the_role() {
        let table = readable(&["s3://s3/t.lance"]);
        let policy = policy(&table, "arn:aws-cn:iam::1:role/r").unwrap();
        assert_eq!(policy["Statement"][1]["Resource"], "arn:aws-cn:s3:::s3");
    }

    #[test]
    fn other_locations_have_no_policy() {
        for location in [
            "/data/t.lance",
            "gs://b/t.lance",
            "s3://b",
            "s3://b/a*/t.lance",
            "s3://b/${x}.lance",
        ] {
            assert!(policy(&readable(&[location]), ROLE).is_err(), "{location}");
        }
        let two = readable(&["s3://a/t.lance", "s3://b/t.lance"]);
        assert!(policy(&two, ROLE).is_err());
        assert!(policy(&readable(&[]), ROLE).is_err());
        let elsewhere = Scope {
            writable: vec!["s3://b/t.lance/data".to_string()],
            ..readable(&["s3://a/t.lance"])
        };
        assert!(policy(&elsewhere, ROLE).is_err());
    }
}
