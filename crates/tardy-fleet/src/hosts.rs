//! The hosts file.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use tardy_plot::numbers::{harmless, short};
use thiserror::Error;
use toml::Spanned;

/// The directory on hosts that name none. It survives a reboot, and it is there on small systems too.
const DIRECTORY: &str = "/var/tmp";
/// The most characters of a name.
const NAME_MAX: usize = 64;
/// The most hosts of a file.
const HOSTS_MAX: usize = 10_000;
/// What tardy itself sets for ssh, in lower case.
const OWN_OPTIONS: [&str; 5] = ["batchmode", "controlpath", "remotecommand", "requesttty", "loglevel"];

/// A host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Its name in tables and result files: letters, digits, `.`, `_` and `-`.
    pub name: String,
    /// What ssh connects to: a name, an address, or a `Host` of ssh's configuration.
    pub address: String,
    /// The user there. `None`: ssh decides.
    pub user: Option<String>,
    /// The port. `None`: ssh decides.
    pub port: Option<u16>,
    /// The file of the private key. `None`: ssh decides.
    pub identity: Option<PathBuf>,
    /// Whether everything there runs through `sudo -n`.
    pub sudo: bool,
    /// An absolute directory on the host, in which tardy's own is made.
    pub directory: String,
    /// Words by which hosts are selected.
    pub tags: Vec<String>,
    /// The program for this host. `None`: by its processor.
    pub binary: Option<PathBuf>,
    /// Options of ssh, `KEY=VALUE` as in ssh_config(5).
    pub options: Vec<String>,
    /// Whether the program stays on the host, so that the next fleet does not copy it.
    pub leave_program: bool,
}

/// Why a hosts file cannot be used.
#[derive(Debug, Error)]
pub enum HostsError {
    /// It is not TOML, or has unknown keys.
    #[error("{0}")]
    Toml(String),
    /// It has no hosts.
    #[error(
        "no [[host]]; add one with a name, for example:\n[[host]]\nname = \"board1\"\naddress = \"192.168.1.20\""
    )]
    Empty,
    /// It has too many hosts.
    #[error("{0} hosts; a file may have {HOSTS_MAX}: divide it")]
    TooMany(usize),
    /// A value of a host is not allowed.
    #[error("line {line}: host '{host}': {reason}")]
    Host {
        /// The line of the host's name, from 1.
        line: usize,
        /// Its name.
        host: String,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// A value of the defaults is not allowed.
    #[error("[defaults]: {0}")]
    Defaults(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    defaults: Settings,
    #[serde(default)]
    host: Vec<Entry>,
}

/// A host as it is written. The fields of [`Settings`] are repeated, because serde's `flatten` accepts unknown keys.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: Spanned<String>,
    address: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
    user: Option<String>,
    port: Option<u16>,
    identity: Option<PathBuf>,
    sudo: Option<bool>,
    directory: Option<String>,
    binary: Option<PathBuf>,
    #[serde(default)]
    options: Vec<String>,
    leave_program: Option<bool>,
}

impl Entry {
    fn settings(&self) -> Settings {
        Settings {
            user: self.user.clone(),
            port: self.port,
            identity: self.identity.clone(),
            sudo: self.sudo,
            directory: self.directory.clone(),
            binary: self.binary.clone(),
            options: self.options.clone(),
            leave_program: self.leave_program,
        }
    }
}

/// What a host and the defaults may set.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    user: Option<String>,
    port: Option<u16>,
    identity: Option<PathBuf>,
    sudo: Option<bool>,
    directory: Option<String>,
    binary: Option<PathBuf>,
    #[serde(default)]
    options: Vec<String>,
    leave_program: Option<bool>,
}

/// Reads the text of a hosts file. Relative paths in it refer to `base`, the directory of the file.
///
/// # Errors
/// The line and the reason.
pub fn parse(text: &str, base: &Path) -> Result<Vec<Host>, HostsError> {
    let file: File = toml::from_str(text).map_err(|error| HostsError::Toml(error.to_string()))?;
    if file.host.is_empty() {
        return Err(HostsError::Empty);
    }
    if file.host.len() > HOSTS_MAX {
        return Err(HostsError::TooMany(file.host.len()));
    }
    check_settings(&file.defaults).map_err(HostsError::Defaults)?;
    let mut names = BTreeSet::new();
    let mut hosts = Vec::new();
    for entry in &file.host {
        let name = entry.name.get_ref();
        let checked = check(entry).and_then(|()| match names.insert(name.clone()) {
            true => Ok(()),
            false => Err("another host has this name; names are those of result files".to_owned()),
        });
        checked.map_err(|reason| HostsError::Host {
            line: text[..entry.name.span().start.min(text.len())].matches('\n').count() + 1,
            host: short(&harmless(name), NAME_MAX),
            reason,
        })?;
        hosts.push(host_of(entry, &file.defaults, base));
    }
    Ok(hosts)
}

fn host_of(entry: &Entry, defaults: &Settings, base: &Path) -> Host {
    let own = entry.settings();
    let local = |path: Option<&PathBuf>| {
        path.map(|path| if path.starts_with("~") { path.clone() } else { base.join(path) })
    };
    let name = entry.name.get_ref().clone();
    Host {
        address: entry.address.clone().unwrap_or_else(|| name.clone()),
        name,
        user: own.user.as_ref().or(defaults.user.as_ref()).cloned(),
        port: own.port.or(defaults.port),
        identity: local(own.identity.as_ref().or(defaults.identity.as_ref())),
        sudo: own.sudo.or(defaults.sudo).unwrap_or(false),
        directory: own.directory.as_ref().or(defaults.directory.as_ref()).map_or(DIRECTORY, |d| d).to_owned(),
        tags: entry.tags.clone(),
        binary: local(own.binary.as_ref().or(defaults.binary.as_ref())),
        // The first value of an option is the one that ssh uses.
        options: own.options.iter().chain(&defaults.options).cloned().collect(),
        leave_program: own.leave_program.or(defaults.leave_program).unwrap_or(false),
    }
}

fn check(entry: &Entry) -> Result<(), String> {
    let name = entry.name.get_ref();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if name.is_empty() || name.len() > NAME_MAX || name.starts_with(['.', '-']) || !name.chars().all(is_plain)
    {
        return Err(format!(
            "a name has up to {NAME_MAX} letters, digits, '.', '_' and '-', and begins with a letter or digit; \
             give the address of the host as 'address'"
        ));
    }
    if let Some(address) = &entry.address {
        check_word("address", address)?;
    }
    if let Some(tag) = entry.tags.iter().find(|tag| tag.is_empty() || tag.contains(char::is_control)) {
        return Err(format!("tag '{}' is empty or has control characters", harmless(tag)));
    }
    check_settings(&entry.settings())
}

fn check_settings(settings: &Settings) -> Result<(), String> {
    if let Some(user) = &settings.user {
        check_word("user", user)?;
    }
    if settings.port == Some(0) {
        return Err("port is 0; ports begin at 1".to_owned());
    }
    if let Some(directory) = &settings.directory {
        let parts = || directory.split('/');
        if !directory.starts_with('/')
            || directory.contains(char::is_control)
            || parts().any(|part| part == "..")
        {
            return Err(format!(
                "directory '{}' is not an absolute path on the host, such as {DIRECTORY}",
                harmless(directory)
            ));
        }
    }
    for option in &settings.options {
        let form = "an option of ssh has the form KEY=VALUE, such as StrictHostKeyChecking=accept-new";
        let Some((key, _)) = option.split_once('=').filter(|_| !option.contains(char::is_control)) else {
            return Err(format!("'{}': {form}", harmless(option)));
        };
        if OWN_OPTIONS.contains(&key.trim().to_ascii_lowercase().as_str()) {
            return Err(format!("'{}': tardy sets {} itself; remove it", harmless(option), harmless(key)));
        }
    }
    Ok(())
}

/// A word that ssh takes for an option or for several is not an address.
fn check_word(what: &str, word: &str) -> Result<(), String> {
    let is_bad = |c: char| c.is_control() || c.is_whitespace() || (what == "user" && c == '@');
    match word.is_empty() || word.starts_with('-') || word.contains(is_bad) {
        true => Err(format!("{what} '{}' is empty, begins with '-' or has spaces", harmless(word))),
        false => Ok(()),
    }
}

/// The hosts of which a name or tag is in `only`, in the order of the file; all if `only` is empty.
///
/// # Errors
/// A word of `only` that is neither.
pub fn selected(hosts: Vec<Host>, only: &[String]) -> Result<Vec<Host>, String> {
    let is_meant = |host: &Host, word: &String| host.name == *word || host.tags.contains(word);
    if let Some(word) = only.iter().find(|word| !hosts.iter().any(|host| is_meant(host, word))) {
        return Err(word.clone());
    }
    Ok(hosts
        .into_iter()
        .filter(|host| only.is_empty() || only.iter().any(|word| is_meant(host, word)))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Vec<Host> {
        parse(text, Path::new("/base")).unwrap()
    }

    fn error(text: &str) -> String {
        parse(text, Path::new("/base")).unwrap_err().to_string()
    }

    #[test]
    fn a_host_has_its_own_values_before_the_defaults() {
        let hosts = parsed(
            "[defaults]\nuser = \"root\"\nport = 22\nidentity = \"key\"\noptions = [\"Compression=yes\"]\n\
             [[host]]\nname = \"a\"\n\
             [[host]]\nname = \"b\"\naddress = \"10.0.0.2\"\nport = 2222\nuser = \"pi\"\nsudo = true\n\
             tags = [\"rt\"]\nbinary = \"/opt/tardy\"\ndirectory = \"/data\"\noptions = [\"Compression=no\"]\nleave_program = true\n",
        );
        let [a, b] = &hosts[..] else { panic!("{hosts:?}") };
        assert_eq!((a.address.as_str(), a.user.as_deref(), a.port), ("a", Some("root"), Some(22)));
        assert_eq!((a.directory.as_str(), a.sudo, a.leave_program), ("/var/tmp", false, false));
        assert_eq!(a.identity.as_deref(), Some(Path::new("/base/key")));
        assert_eq!((b.address.as_str(), b.user.as_deref(), b.port), ("10.0.0.2", Some("pi"), Some(2222)));
        assert_eq!(b.binary.as_deref(), Some(Path::new("/opt/tardy")));
        assert_eq!(b.options, ["Compression=no", "Compression=yes"], "ssh uses the first");
        assert!(b.sudo && b.leave_program && b.directory == "/data");
    }

    #[test]
    fn a_wrong_file_is_refused_with_its_line_or_its_host() {
        let host = |rest: &str| format!("[[host]]\nname = \"a\"\n{rest}");
        for (text, expected) in [
            (String::new(), "no [[host]]"),
            ("[[host]]\naddress = \"a\"\n".to_owned(), "missing field `name`"),
            (host("colour = 1\n"), "colour"),
            (host("port = 70000\n"), "line 3"),
            (host("port = 0\n"), "line 2: host 'a': port is 0"),
            (host("address = \"-oProxyCommand=x\"\n"), "begins with '-'"),
            (host("user = \"a b\"\n"), "user 'a b'"),
            (host("directory = \"tmp\"\n"), "directory 'tmp' is not an absolute path"),
            (host("directory = \"/tmp/../etc\"\n"), "not an absolute path"),
            (host("options = [\"-v\"]\n"), "'-v': an option of ssh has the form KEY=VALUE"),
            (host("options = [\"BatchMode=no\"]\n"), "tardy sets BatchMode itself"),
            (host("[[host]]\nname = \"a\"\n"), "line 4: host 'a': another host has this name"),
            ("[[host]]\nname = \"../x\"\n".to_owned(), "a name has up to 64"),
            ("[[host]]\nname = \"\\u001b[2J\"\n".to_owned(), "line 2: host '\u{fffd}[2J'"),
            ("[defaults]\nuser = \"-l\"\n[[host]]\nname = \"a\"\n".to_owned(), "[defaults]: user '-l'"),
        ] {
            let error = error(&text);
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn hosts_are_selected_by_name_and_by_tag() {
        let all = parsed(
            "[[host]]\nname = \"a\"\ntags = [\"x\"]\n[[host]]\nname = \"b\"\ntags = [\"x\", \"y\"]\n[[host]]\nname = \"c\"\n",
        );
        let names = |only: &[&str]| {
            let only: Vec<String> = only.iter().map(|word| (*word).to_owned()).collect();
            selected(all.clone(), &only)
                .map(|hosts| hosts.into_iter().map(|host| host.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&[]).unwrap(), ["a", "b", "c"]);
        assert_eq!(names(&["x"]).unwrap(), ["a", "b"]);
        assert_eq!(names(&["c", "y"]).unwrap(), ["b", "c"]);
        assert_eq!(names(&["z"]), Err("z".to_owned()));
    }
}
