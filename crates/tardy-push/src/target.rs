//! Where runs are pushed to: a server, or an archive on a machine that is reached by ssh.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Where runs are pushed to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A server of tardy at this address, without a slash at its end.
    Server(String),
    /// An archive on a machine with tardy.
    Ssh {
        /// The user and the machine, as ssh takes them.
        machine: String,
        /// The port; `None`: ssh's own choice.
        port: Option<u16>,
        /// The directory of the archive there.
        archive: String,
    },
}

/// Why an address is not one of a target.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TargetError {
    /// It has another form.
    #[error(
        "'{0}' is not an address of an archive; write http://HOST:PORT, https://HOST, or ssh://USER@HOST/DIRECTORY"
    )]
    Form(String),
    /// It has a user name or a password, which would be in logs.
    #[error("'{0}' has a password or a query; write the token into a file, and name it with --token-file")]
    Secret(String),
    /// This build has no TLS.
    #[error(
        "this tardy was built without https; push to http:// through a tunnel, or to ssh://USER@HOST/DIRECTORY"
    )]
    NoTls,
}

impl FromStr for Target {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        let form = || TargetError::Form(text.to_owned());
        let (scheme, rest) = text.split_once("://").ok_or_else(form)?;
        // What could be taken for an option or another command line by ssh or a shell.
        let is_usual = |c: char| c.is_ascii_alphanumeric() || "-_.:[]@/~+".contains(c);
        if rest.starts_with('-') || rest.contains("@-") {
            return Err(form());
        }
        match scheme {
            "http" | "https" => {
                let host = rest.split('/').next().unwrap_or_default();
                if host.contains('@') || rest.contains(['?', '#']) {
                    return Err(TargetError::Secret(without_secret(text)));
                }
                if host.is_empty() || !rest.chars().all(is_usual) {
                    return Err(form());
                }
                if scheme == "https" && !cfg!(feature = "https") {
                    return Err(TargetError::NoTls);
                }
                Ok(Self::Server(text.trim_end_matches('/').to_owned()))
            }
            "ssh" => {
                let (machine, archive) = rest.split_once('/').ok_or_else(form)?;
                let (machine, port) = match machine.rsplit_once(':') {
                    Some((machine, port)) if !port.ends_with(']') => {
                        (machine, Some(port.parse().map_err(|_| form())?))
                    }
                    _ => (machine, None),
                };
                if machine.is_empty() || archive.is_empty() || !machine.chars().all(is_usual) {
                    return Err(form());
                }
                Ok(Self::Ssh { machine: machine.to_owned(), port, archive: format!("/{archive}") })
            }
            _ => Err(form()),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server(address) => f.write_str(address),
            Self::Ssh { machine, port: Some(port), archive } => write!(f, "ssh://{machine}:{port}{archive}"),
            Self::Ssh { machine, port: None, archive } => write!(f, "ssh://{machine}{archive}"),
        }
    }
}

/// The address without what is in front of `@` and behind `?`.
fn without_secret(text: &str) -> String {
    let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
    let rest = rest.rsplit_once('@').map_or(rest, |(_, rest)| rest);
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    format!("{scheme}://{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_written() {
        for text in [
            "http://127.0.0.1:8080",
            "http://[::1]:8080/latency",
            "ssh://ci@farm/srv/latency",
            "ssh://farm:2222/a b",
        ] {
            assert_eq!(text.parse::<Target>().unwrap().to_string(), text);
        }
        let slash: Target = "http://farm/".parse().unwrap();
        assert_eq!(slash, Target::Server("http://farm".to_owned()));
        let ssh: Target = "ssh://ci@farm:22/srv/latency".parse().unwrap();
        let expected =
            Target::Ssh { machine: "ci@farm".to_owned(), port: Some(22), archive: "/srv/latency".to_owned() };
        assert_eq!(ssh, expected);
    }

    #[test]
    fn what_is_no_target_or_has_a_secret_is_refused() {
        for text in [
            "",
            "farm",
            "ftp://farm",
            "http://",
            "ssh://farm",
            "ssh://farm/",
            "ssh://-oProxyCommand=x/a",
            "ssh://a@-b/c",
            "ssh://farm:x/a",
        ] {
            assert!(matches!(text.parse::<Target>(), Err(TargetError::Form(_))), "{text}");
        }
        for text in ["http://me:secret@farm/", "http://farm/?token=secret"] {
            let error = text.parse::<Target>().unwrap_err().to_string();
            assert!(error.contains("--token-file") && !error.contains("secret"), "{error}");
        }
    }
}
