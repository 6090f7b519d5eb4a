//! apt's configuration.

use std::path::{Path, PathBuf};

use super::super::PackageError;
use crate::arch::Arch;

/// One suite of the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suite {
    /// Such as `bookworm-security`.
    pub name: String,
    /// Whether it is on the mirror of security updates.
    pub is_security: bool,
}

/// Debian's suites with kernels. Suites that a mirror does not have are left out.
const SUITES: [&str; 11] = [
    "bullseye",
    "bullseye-security",
    "bookworm",
    "bookworm-backports",
    "bookworm-security",
    "trixie",
    "trixie-backports",
    "trixie-security",
    "forky",
    "forky-security",
    "sid",
];
const SECURITY: &str = "-security";

/// Prefers one release, so that a tool and its dependencies come from the same release if possible, rather than from
/// the one with the highest version. Packages that are requested with a version are not affected.
pub(super) const PREFERENCES: &str = "\
Package: *
Pin: release n=trixie
Pin-Priority: 700

Package: *
Pin: release n=trixie-security
Pin-Priority: 700
";

/// The archive's addresses and keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mirrors {
    /// The address of the main archive.
    pub main: String,
    /// The address of the security updates.
    pub security: String,
    /// The keys that verify the archive.
    pub keyring: PathBuf,
    /// The suites of packages.
    pub suites: Vec<Suite>,
}

impl Default for Mirrors {
    fn default() -> Self {
        Self {
            main: "http://deb.debian.org/debian".to_owned(),
            security: "http://deb.debian.org/debian-security".to_owned(),
            keyring: "/usr/share/keyrings/debian-archive-keyring.gpg".into(),
            suites: SUITES
                .map(|name| Suite { name: name.to_owned(), is_security: name.ends_with(SECURITY) })
                .into(),
        }
    }
}

impl Mirrors {
    /// Debian's addresses, or those in TARDY_DEBIAN_MIRROR and TARDY_DEBIAN_SECURITY_MIRROR: another mirror, or a day
    /// of snapshot.debian.org for a kernel that the archive no longer has. TARDY_DEBIAN_SUITES names other suites, all on the main
    /// mirror unless that of the security updates is set too, and TARDY_DEBIAN_KEYRING the keys of another distribution.
    ///
    /// # Errors
    /// If an address is not one, or a suite's name has other characters than letters, digits and `.-_/`.
    pub fn of_environment() -> Result<Self, PackageError> {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let mut mirrors = Self::default();
        if let Some(names) = set("TARDY_DEBIAN_SUITES") {
            let has_security = set("TARDY_DEBIAN_SECURITY_MIRROR").is_some();
            mirrors.suites = suites(&names.to_string_lossy(), has_security)?;
        }
        mirrors.keyring = set("TARDY_DEBIAN_KEYRING").map_or(mirrors.keyring, PathBuf::from);
        for (name, place) in [
            ("TARDY_DEBIAN_MIRROR", &mut mirrors.main),
            ("TARDY_DEBIAN_SECURITY_MIRROR", &mut mirrors.security),
        ] {
            if let Some(value) = set(name) {
                *place = address(name, &value.to_string_lossy())?;
            }
        }
        Ok(mirrors)
    }
}

/// Suites by their names, with blanks or commas between them.
fn suites(names: &str, has_security: bool) -> Result<Vec<Suite>, PackageError> {
    let suite = |name: &str| {
        let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '/'));
        let is_security = has_security && name.ends_with(SECURITY);
        if is_plain {
            Ok(Suite { name: name.to_owned(), is_security })
        } else {
            Err(PackageError::Suite(name.to_owned()))
        }
    };
    names.split([' ', ',']).filter(|name| !name.is_empty()).map(suite).collect()
}

/// Checks an address for the sources list: one word, without the brackets of options.
fn address(name: &'static str, value: &str) -> Result<String, PackageError> {
    let is_word =
        |text: &str| text.chars().all(|c| c.is_ascii_graphic() && !matches!(c, '[' | ']' | '"' | '#' | '\\'));
    let scheme = value.split_once(':').map_or("", |(scheme, _)| scheme);
    if is_word(value) && matches!(scheme, "http" | "https" | "file" | "copy") {
        Ok(value.trim_end_matches('/').to_owned())
    } else {
        Err(PackageError::Mirror { name, value: value.to_owned() })
    }
}

/// The sources list.
pub(super) fn sources(mirrors: &Mirrors) -> String {
    mirrors
        .suites
        .iter()
        .map(|suite| {
            let mirror = if suite.is_security { &mirrors.security } else { &mirrors.main };
            format!("deb [signed-by={}] {mirror} {} main\n", mirrors.keyring.display(), suite.name)
        })
        .collect()
}

/// The content of apt.conf, with the lines inherited from the host.
pub(super) fn apt_conf(state: &Path, arch: Arch, inherited: &str) -> Result<String, PackageError> {
    let place =
        state.to_str().filter(|place| !place.contains(|c: char| c.is_control() || matches!(c, '"' | '\\')));
    let place = place.ok_or_else(|| PackageError::CachePath(state.to_owned()))?;
    let arch = arch.debian_name();
    // These lines follow the inherited ones and override them. Lists stay compressed, because they have 110 MB
    // uncompressed.
    Ok(format!(
        "{inherited}\
Dir::Etc::main \"/dev/null\";
Dir::Etc::parts \"/dev/null\";
Dir::Etc::sourcelist \"{place}/sources.list\";
Dir::Etc::sourceparts \"/dev/null\";
Dir::Etc::preferences \"{place}/preferences\";
Dir::Etc::preferencesparts \"/dev/null\";
Dir::Etc::trusted \"/dev/null\";
Dir::Etc::trustedparts \"/dev/null\";
Dir::State \"{place}/state\";
Dir::State::status \"{place}/state/status\";
Dir::Cache \"{place}/cache\";
Dir::Cache::srcpkgcache \"\";
Dir::Log \"{place}/state\";
APT::Architecture \"{arch}\";
APT::Architectures {{ \"{arch}\"; }};
APT::Sandbox::User \"root\";
APT::Install-Recommends \"false\";
APT::Get::AllowUnauthenticated \"false\";
Acquire::AllowInsecureRepositories \"false\";
Acquire::AllowDowngradeToInsecureRepositories \"false\";
Acquire::AllowWeakRepositories \"false\";
Acquire::GzipIndexes \"true\";
Acquire::Languages {{ \"none\"; }};
"
    ))
}

/// The settings in `apt-config dump` for reaching archives and for checking dates. All other settings of the host, such
/// as hooks and directories, are left out.
pub(super) fn inherited(dump: &str) -> String {
    let is_inherited = |name: &str| {
        let Some(name) = name.strip_prefix("Acquire::") else { return false };
        let first = name.split("::").next().unwrap_or_default();
        ["http", "https", "tor", "socks"].contains(&first)
            || [
                "Retries",
                "ForceIPv4",
                "ForceIPv6",
                "EnableSrvRecords",
                "Queue-Mode",
                "Check-Date",
                "Check-Valid-Until",
                "Max-FutureTime",
            ]
            .contains(&name)
    };
    dump.lines()
        .filter_map(|line| {
            let (name, value) = line.split_once(" \"")?;
            let value = value.strip_suffix("\";")?;
            // A name or value that could end the statement early is left out.
            let is_plain = |text: &str| !text.contains(|c: char| c.is_control() || matches!(c, '"' | '\\'));
            let is_name = !name.contains([' ', ';', '{', '}', '"']);
            (is_inherited(name) && is_name && !value.is_empty() && is_plain(value))
                .then(|| format!("{name} \"{value}\";\n"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_are_inherited_and_hooks_are_not() {
        let dump = r#"APT::Update::Post-Invoke:: "touch /tmp/hook";
DPkg::Post-Invoke:: "touch /tmp/hook";
Acquire "";
Acquire::AllowInsecureRepositories "1";
Acquire::IndexTargets::deb::DEP-11::MetaKey "x";
Acquire::http "";
Acquire::http::Proxy "http://proxy.example:3128";
Acquire::http::Proxy::deb.debian.org "DIRECT";
Acquire::https::CaInfo "/etc/ssl/our.pem";
Acquire::http::User-Agent "a\"; APT::Update::Pre-Invoke:: "x";
Acquire::Retries "3";
Acquire::Languages:: "de";
Acquire::Check-Valid-Until "false";
Dir::Etc::parts "apt.conf.d";
"#;
        assert_eq!(
            inherited(dump),
            "Acquire::http::Proxy \"http://proxy.example:3128\";\n\
             Acquire::http::Proxy::deb.debian.org \"DIRECT\";\n\
             Acquire::https::CaInfo \"/etc/ssl/our.pem\";\n\
             Acquire::Retries \"3\";\n\
             Acquire::Check-Valid-Until \"false\";\n"
        );
    }

    #[test]
    fn the_configuration_has_private_paths_only() {
        let text = apt_conf(
            Path::new("/home/a user/.cache/tardy/apt/arm64"),
            Arch::Aarch64,
            "Acquire::Retries \"3\";\n",
        );
        insta::assert_snapshot!(text.unwrap());
        insta::assert_snapshot!(sources(&Mirrors::default()));
    }

    #[test]
    fn a_path_that_apt_cannot_read_is_refused() {
        for place in ["/a\"b", "/a\\b", "/a\nb"] {
            assert!(
                matches!(apt_conf(Path::new(place), Arch::X86_64, ""), Err(PackageError::CachePath(_))),
                "{place}"
            );
        }
    }

    #[test]
    fn other_suites_are_on_the_main_mirror_unless_that_of_security_is_set() {
        let read = |names, has_security| suites(names, has_security).map_err(|error| error.to_string());
        let of = |name: &str, is_security| Suite { name: name.to_owned(), is_security };
        assert_eq!(
            read("noble, noble-security", false).unwrap(),
            [of("noble", false), of("noble-security", false)]
        );
        assert!(read("noble-security", true).unwrap()[0].is_security);
        assert!(read("noble main] x", false).unwrap_err().contains("main]"));
    }

    #[test]
    fn only_an_address_is_a_mirror() {
        let read = |value| address("TARDY_DEBIAN_MIRROR", value).ok();
        assert_eq!(read("http://mirror.example/debian/").as_deref(), Some("http://mirror.example/debian"));
        assert_eq!(read("file:/srv/debian").as_deref(), Some("file:/srv/debian"));
        for wrong in
            ["mirror.example/debian", "http://a b", "[trusted=yes] http://a", "ftp://a", "", "http://a#b"]
        {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
