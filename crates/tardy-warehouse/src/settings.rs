//! The file that names the services of an archive.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use tardy_archive::ArchiveError;

/// How long a service may take, in s, unless the file says otherwise.
const PATIENCE_S: u64 = 30;
/// The most bytes of the file, and of a file with a secret.
const SIZE_MAX: u64 = 1 << 20;

/// The content of the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Settings {
    /// How long a service may take until anything of its answer arrives, in s.
    #[serde(default = "patience")]
    timeout: u64,
    /// Where the rows are.
    pub(crate) clickhouse: DatabaseSettings,
    /// Where the run files are.
    pub(crate) s3: S3Settings,
}

fn patience() -> u64 {
    PATIENCE_S
}

/// Where the rows are.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct DatabaseSettings {
    /// The address of its HTTP interface.
    pub(crate) url: String,
    /// The database.
    pub(crate) database: String,
    /// The user; `default` if absent.
    #[serde(default)]
    pub(crate) user: Option<String>,
    #[serde(default)]
    password_file: Option<PathBuf>,
}

/// Where the run files are.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct S3Settings {
    /// The address of the service.
    pub(crate) endpoint: String,
    /// The bucket.
    pub(crate) bucket: String,
    /// The region that requests are signed for.
    #[serde(default = "region")]
    pub(crate) region: String,
    /// What the names of all objects begin with, such as `latency/`.
    #[serde(default)]
    pub(crate) prefix: String,
    #[serde(default)]
    access_key_file: Option<PathBuf>,
    #[serde(default)]
    secret_key_file: Option<PathBuf>,
}

fn region() -> String {
    "us-east-1".to_owned()
}

/// A password or a key. It is never shown.
#[derive(Clone)]
pub(crate) struct Secret(String);

impl Secret {
    /// Its text, for a request.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl Settings {
    /// Reads the file, and checks it.
    pub(crate) fn read(path: &Path) -> Result<Self, ArchiveError> {
        let wrong = |reason: String| wrong(path, reason);
        let text = text(path)?;
        // The parser's own text quotes the line, in which a secret may be.
        let settings: Self = toml::from_str(&text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            wrong(format!("line {line}: {}; docs/scaling.md shows a whole file", error.message().trim_end()))
        })?;
        for (key, url) in
            [("clickhouse.url", &settings.clickhouse.url), ("s3.endpoint", &settings.s3.endpoint)]
        {
            let host = url.strip_prefix("http://").unwrap_or_default().trim_end_matches('/');
            if host.is_empty() || host.contains(['@', '?', '#']) || host.chars().any(char::is_whitespace) {
                return Err(wrong(format!(
                    "{key} is not an address as http://HOST:PORT; a service behind TLS is reached through a proxy on this machine"
                )));
            }
        }
        let database = &settings.clickhouse.database;
        if database.is_empty() || !database.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return Err(wrong(
                "clickhouse.database has characters other than letters, digits and '_'".to_owned(),
            ));
        }
        let prefix = &settings.s3.prefix;
        let is_name = |part: &str| {
            !part.is_empty()
                && !part.bytes().all(|byte| byte == b'.')
                && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        };
        let is_prefix = prefix.strip_suffix('/').is_some_and(|parts| parts.split('/').all(is_name));
        if !prefix.is_empty() && !is_prefix {
            return Err(wrong("s3.prefix is not names that each end with '/', as in latency/".to_owned()));
        }
        if !is_name(&settings.s3.bucket) {
            return Err(wrong("s3.bucket is not the name of a bucket".to_owned()));
        }
        Ok(settings)
    }

    /// How long a service may take until anything of its answer arrives.
    pub(crate) fn patience(&self) -> Duration {
        Duration::from_secs(self.timeout.max(1))
    }

    /// ClickHouse's password; empty if there is none.
    pub(crate) fn password(&self, path: &Path) -> Result<Secret, ArchiveError> {
        let file = self.clickhouse.password_file.as_deref();
        Ok(secret(path, file, "TARDY_CLICKHOUSE_PASSWORD")?.unwrap_or_else(|| Secret(String::new())))
    }

    /// The two keys of the object storage.
    pub(crate) fn keys(&self, path: &Path) -> Result<[Secret; 2], ArchiveError> {
        let key = |file: &Option<PathBuf>, key: &str, variable: &str| {
            secret(path, file.as_deref(), variable)?.ok_or_else(|| {
                wrong(path, format!("the key is missing; name its file as s3.{key}, or set {variable}"))
            })
        };
        Ok([
            key(&self.s3.access_key_file, "access-key-file", "AWS_ACCESS_KEY_ID")?,
            key(&self.s3.secret_key_file, "secret-key-file", "AWS_SECRET_ACCESS_KEY")?,
        ])
    }
}

/// The secret in a file, whose path is relative to that of the settings, or in a variable of the environment.
fn secret(settings: &Path, file: Option<&Path>, variable: &str) -> Result<Option<Secret>, ArchiveError> {
    let Some(file) = file else {
        return Ok(std::env::var(variable).ok().filter(|value| !value.is_empty()).map(Secret));
    };
    let path = settings.parent().unwrap_or(Path::new("")).join(file);
    let text = text(&path)?;
    let line = text.trim_end_matches(['\n', '\r']);
    match line.is_empty() || line.chars().any(char::is_control) {
        true => Err(wrong(&path, "it does not have one line with the secret".to_owned())),
        false => Ok(Some(Secret(line.to_owned()))),
    }
}

fn text(path: &Path) -> Result<String, ArchiveError> {
    use std::io::Read;
    let io = |source| ArchiveError::Io { path: path.to_owned(), source };
    let mut text = String::new();
    tardy_sys::files::open_to_read(path).map_err(io)?.take(SIZE_MAX).read_to_string(&mut text).map_err(io)?;
    Ok(text)
}

fn wrong(path: &Path, reason: String) -> ArchiveError {
    ArchiveError::Service { service: path.display().to_string(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "timeout = 5\n[clickhouse]\nurl = 'http://db:8123'\ndatabase = 'tardy'\npassword-file = 'p'\n\
                         [s3]\nendpoint = 'http://store:9000'\nbucket = 'latency'\nprefix = 'a/b/'\n\
                         access-key-file = 'a'\nsecret-key-file = 's'\n";

    fn read(text: &str) -> Result<(Settings, PathBuf), String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("warehouse.toml");
        std::fs::write(&path, text).unwrap();
        for (name, content) in [("p", "pass\n"), ("a", "AKIA\n"), ("s", "\n")] {
            std::fs::write(directory.path().join(name), content).unwrap();
        }
        let settings = Settings::read(&path).map_err(|error| error.to_string())?;
        assert_eq!(settings.password(&path).unwrap().expose(), "pass");
        let missing = settings.keys(&path).unwrap_err().to_string();
        assert!(missing.contains("one line"), "{missing}");
        Ok((settings, path))
    }

    #[test]
    fn secrets_are_read_from_files_and_never_shown() {
        let (settings, _) = read(WHOLE).unwrap();
        assert_eq!(settings.patience(), Duration::from_secs(5));
        assert_eq!(format!("{:?}", Secret("hidden".to_owned())), "Secret");
    }

    #[test]
    fn what_is_wrong_in_the_file_is_named() {
        let cases = [
            ("http://db:8123", "https://db:8443", "clickhouse.url"),
            ("http://db:8123", "http://user:my-word@db", "clickhouse.url"),
            ("'tardy'", "'a; DROP'", "clickhouse.database"),
            ("a/b/", "../", "s3.prefix"),
            ("a/b/", "a", "s3.prefix"),
            ("'latency'", "'a/b'", "s3.bucket"),
            ("bucket", "buckte", "line 8: unknown field `buckte`"),
            ("password-file = 'p'", "password = 'my-word'", "line 5: unknown field `password`"),
        ];
        for (text, other, named) in cases {
            let error = read(&WHOLE.replace(text, other)).unwrap_err();
            assert!(error.contains(named) && error.contains("warehouse.toml"), "{error}");
            assert!(!error.contains("my-word"), "{error}");
        }
    }
}
