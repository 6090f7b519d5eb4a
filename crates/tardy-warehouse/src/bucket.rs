//! The run files of an archive as objects in a bucket, through S3's interface.

use std::path::Path;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rusty_s3::actions::ListObjectsV2;
use rusty_s3::{Credentials, S3Action, UrlStyle};
use sha2::{Digest, Sha256};
use tardy_archive::{Address, ArchiveError, Stored, read_compressed, write_compressed};
use ureq::http::Request;

use crate::http::{Answer, Client};
use crate::settings::Settings;

/// How long the signature of a request is valid: a request that arrives later is refused.
const VALIDITY: Duration = Duration::from_secs(300);
/// The header by which the service checks that it has the content that was sent.
const CHECKSUM: &str = "x-amz-checksum-sha256";

/// A bucket.
#[derive(Debug)]
pub(crate) struct Bucket {
    client: Client,
    bucket: rusty_s3::Bucket,
    credentials: Credentials,
    /// The beginning of the names of all objects.
    prefix: String,
}

impl Bucket {
    /// The bucket that the file at `path` names.
    pub(crate) fn of(settings: &Settings, path: &Path) -> Result<Self, ArchiveError> {
        let s3 = &settings.s3;
        let client = Client::new(format!("bucket {} at {}", s3.bucket, s3.endpoint), settings.patience());
        let endpoint =
            s3.endpoint.parse().map_err(|error| client.failed(format!("its address is wrong: {error}")))?;
        let bucket = rusty_s3::Bucket::new(endpoint, UrlStyle::Path, s3.bucket.clone(), s3.region.clone())
            .map_err(|error| client.failed(format!("its address is wrong: {error}")))?;
        let [access, secret] = settings.keys(path)?;
        let credentials = Credentials::new(access.expose(), secret.expose());
        Ok(Self { client, bucket, credentials, prefix: s3.prefix.clone() })
    }

    /// Checks that the bucket answers and is there.
    pub(crate) fn check(&self) -> Result<(), ArchiveError> {
        let mut action = self.bucket.list_objects_v2(Some(&self.credentials));
        action.with_prefix(self.prefix.as_str());
        action.with_max_keys(1);
        let answer = self.send(Request::get(action.sign(VALIDITY).as_str()).body(&[][..]))?;
        match answer.status {
            200 => Ok(()),
            _ => Err(self.client.refused(&answer)),
        }
    }

    /// The name of a run's object.
    fn key(&self, address: &Address) -> String {
        format!("{}{}", self.prefix, address.path().display())
    }

    /// Stores a run file. It is durable when this returns.
    pub(crate) fn put(&self, address: &Address, name: &str, content: &[u8]) -> Result<(), ArchiveError> {
        let mut body = Vec::new();
        write_compressed(content, name, &mut body)
            .map_err(|error| self.client.failed(format!("compressing {address}: {error}")))?;
        let key = self.key(address);
        let checksum = BASE64_STANDARD.encode(Sha256::digest(&body));
        let mut action = self.bucket.put_object(Some(&self.credentials), &key);
        action.headers_mut().insert(CHECKSUM, checksum.as_str());
        let url = action.sign(VALIDITY);
        let request = Request::put(url.as_str()).header(CHECKSUM, checksum).body(body.as_slice());
        let answer = self.send(request)?;
        match answer.status {
            200 => Ok(()),
            _ => Err(self.client.refused(&answer)),
        }
    }

    /// Whether a run file is there.
    pub(crate) fn has(&self, address: &Address) -> Result<bool, ArchiveError> {
        let key = self.key(address);
        let url = self.bucket.head_object(Some(&self.credentials), &key).sign(VALIDITY);
        let answer = self.send(Request::head(url.as_str()).body(&[][..]))?;
        match answer.status {
            200 => Ok(true),
            404 => Ok(false),
            _ => Err(self.client.refused(&answer)),
        }
    }

    /// A run file, whose content has been compared with its address.
    pub(crate) fn get(&self, address: &Address) -> Result<Stored, ArchiveError> {
        let key = self.key(address);
        let url = self.bucket.get_object(Some(&self.credentials), &key).sign(VALIDITY);
        let answer = self.send(Request::get(url.as_str()).body(&[][..]))?;
        match answer.status {
            200 => {}
            404 if !contains(&answer.body, b"NoSuchBucket") => {
                return Err(ArchiveError::Unknown(address.clone()));
            }
            _ => return Err(self.client.refused(&answer)),
        }
        let damaged = |reason: String| ArchiveError::Damaged { path: key.clone().into(), reason };
        let stored = read_compressed(answer.body.as_slice()).map_err(|error| damaged(error.to_string()))?;
        match Address::of(&stored.content) == *address {
            true => Ok(stored),
            false => Err(damaged("its content is not the one that its name says".to_owned())),
        }
    }

    /// Removes a run file; does nothing if it is not there.
    pub(crate) fn remove(&self, address: &Address) -> Result<(), ArchiveError> {
        let key = self.key(address);
        let url = self.bucket.delete_object(Some(&self.credentials), &key).sign(VALIDITY);
        let answer = self.send(Request::delete(url.as_str()).body(&[][..]))?;
        match answer.status {
            200 | 204 | 404 => Ok(()),
            _ => Err(self.client.refused(&answer)),
        }
    }

    /// The addresses of all run files, and the names of other objects among them.
    pub(crate) fn list(&self) -> Result<(Vec<Address>, Vec<String>), ArchiveError> {
        let prefix = format!("{}runs/", self.prefix);
        let (mut addresses, mut others) = (Vec::new(), Vec::new());
        let mut next: Option<String> = None;
        loop {
            let mut action = self.bucket.list_objects_v2(Some(&self.credentials));
            action.with_prefix(prefix.as_str());
            if let Some(next) = next.take() {
                action.with_continuation_token(next);
            }
            let answer = self.send(Request::get(action.sign(VALIDITY).as_str()).body(&[][..]))?;
            if answer.status != 200 {
                return Err(self.client.refused(&answer));
            }
            let listed =
                ListObjectsV2::parse_response(&String::from_utf8_lossy(&answer.body)).map_err(|error| {
                    self.client.failed(format!("its list of objects cannot be read: {error}; try again"))
                })?;
            for object in listed.contents {
                let names = object.key.strip_prefix(&prefix).and_then(|names| names.split_once('/'));
                match names.and_then(|(directory, name)| Address::of_names(directory, name)) {
                    Some(address) => addresses.push(address),
                    None => others.push(object.key),
                }
            }
            next = listed.next_continuation_token;
            if next.is_none() {
                return Ok((addresses, others));
            }
        }
    }

    /// Sends a signed request. Its address must not be shown: it is enough to send the request again.
    fn send(&self, request: ureq::http::Result<Request<&[u8]>>) -> Result<Answer, ArchiveError> {
        self.client.send(request.map_err(|_| self.client.failed("its address is wrong".to_owned()))?)
    }
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}
