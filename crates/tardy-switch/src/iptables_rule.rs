//! A rule of the classifier in iptables' mangle table.

use serde::{Deserialize, Serialize};

/// A rule that tardy adds, as words after the option that adds or deletes it: the chain POSTROUTING, at most one port, at most
/// one DSCP, and the target CLASSIFY. Other words are refused when it is read, since a journal may be forged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct IptablesRule {
    /// The protocol, `udp` or `tcp`, and the destination port.
    port: Option<(&'static str, u16)>,
    /// The differentiated services code point.
    dscp: Option<u8>,
    /// The priority that matching frames get.
    priority: u8,
}

impl IptablesRule {
    /// The words for iptables.
    pub(super) fn words(&self) -> Vec<String> {
        let mut text = "POSTROUTING".to_owned();
        if let Some((protocol, port)) = self.port {
            text += &format!(" -p {protocol} --dport {port}");
        }
        if let Some(dscp) = self.dscp {
            text += &format!(" -m dscp --dscp {dscp}");
        }
        text += &format!(" -j CLASSIFY --set-class 0:{:x}", self.priority);
        text.split(' ').map(str::to_owned).collect()
    }

    fn parse(words: &[&str]) -> Option<Self> {
        let rest = words.strip_prefix(&["POSTROUTING"])?;
        let (port, rest) = match rest {
            ["-p", "udp", "--dport", port, rest @ ..] => (Some(("udp", port.parse().ok()?)), rest),
            ["-p", "tcp", "--dport", port, rest @ ..] => (Some(("tcp", port.parse().ok()?)), rest),
            rest => (None, rest),
        };
        let (dscp, rest) = match rest {
            ["-m", "dscp", "--dscp", dscp, rest @ ..] => (Some(dscp.parse().ok()?), rest),
            rest => (None, rest),
        };
        let ["-j", "CLASSIFY", "--set-class", class] = rest else { return None };
        let priority =
            u8::from_str_radix(class.strip_prefix("0:")?, 16).ok().filter(|number| *number < 16)?;
        Some(Self { port, dscp, priority })
    }
}

impl TryFrom<Vec<String>> for IptablesRule {
    type Error = String;

    fn try_from(words: Vec<String>) -> Result<Self, String> {
        let parts: Vec<&str> = words.iter().map(String::as_str).collect();
        // Numbers have other spellings, such as +1, which tardy does not write.
        let rule = Self::parse(&parts).filter(|rule| rule.words() == words);
        rule.ok_or_else(|| format!("'{}' is not a rule that tardy adds", words.join(" ")))
    }
}

impl From<IptablesRule> for Vec<String> {
    fn from(rule: IptablesRule) -> Self {
        rule.words()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<IptablesRule, String> {
        let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        let rule: IptablesRule =
            serde_json::from_value(serde_json::json!(words)).map_err(|error| error.to_string())?;
        assert_eq!(serde_json::to_value(&rule).unwrap(), serde_json::json!(words));
        Ok(rule)
    }

    #[test]
    fn rules_of_the_classifier_are_read_and_others_are_refused() {
        for text in [
            "POSTROUTING -j CLASSIFY --set-class 0:f",
            "POSTROUTING -p udp --dport 6666 -j CLASSIFY --set-class 0:1",
            "POSTROUTING -p tcp --dport 1 -m dscp --dscp 46 -j CLASSIFY --set-class 0:7",
        ] {
            read(text).unwrap();
        }
        for text in [
            "POSTROUTING --modprobe=/tmp/x -j CLASSIFY --set-class 0:1",
            "POSTROUTING -j CLASSIFY --set-class 0:1 --modprobe=/tmp/x",
            "POSTROUTING -p udp --dport +1 -j CLASSIFY --set-class 0:1",
            "POSTROUTING -j CLASSIFY --set-class 0:10",
            "POSTROUTING -j LOG",
            "INPUT -j CLASSIFY --set-class 0:1",
            "POSTROUTING",
        ] {
            assert!(read(text).unwrap_err().contains("is not a rule that tardy adds"), "{text}");
        }
    }
}
