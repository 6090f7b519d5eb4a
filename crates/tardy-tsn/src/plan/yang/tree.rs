//! Data of YANG modules as a tree, in the JSON of RFC 7951 and in the XML of RFC 7950.

use std::fmt::Write;

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

/// A YANG module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Module {
    Interfaces,
    InterfaceTypes,
    Bridge,
    Sched,
    SchedBridge,
    SchedInterface,
}

impl Module {
    fn name(self) -> &'static str {
        match self {
            Self::Interfaces => "ietf-interfaces",
            Self::InterfaceTypes => "iana-if-type",
            Self::Bridge => "ieee802-dot1q-bridge",
            Self::Sched => "ieee802-dot1q-sched",
            Self::SchedBridge => "ieee802-dot1q-sched-bridge",
            Self::SchedInterface => "ieee802-dot1dc-sched-if",
        }
    }

    fn namespace(self) -> String {
        let organisation = match self {
            Self::Interfaces | Self::InterfaceTypes => "urn:ietf:params:xml:ns:yang",
            Self::Bridge | Self::Sched | Self::SchedBridge | Self::SchedInterface => {
                "urn:ieee:std:802.1Q:yang"
            }
        };
        format!("{organisation}:{}", self.name())
    }
}

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Text(String),
    Flag(bool),
    /// At most 32 bits.
    Number(i64),
    /// A type of 64 bits, which JSON has as a string (RFC 7951, section 6.1).
    Long(i64),
    /// An identity and its module.
    Identity(Module, &'static str),
    Container(Vec<Element>),
    /// The entries of a list.
    List(Vec<Vec<Element>>),
}

/// A node with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Element {
    pub(super) module: Module,
    pub(super) name: &'static str,
    pub(super) value: Value,
}

impl Element {
    pub(super) fn new(module: Module, name: &'static str, value: Value) -> Self {
        Self { module, name, value }
    }
}

/// The nodes of a container or a list's entry, whose module is `parent`.
struct Members<'e> {
    parent: Option<Module>,
    elements: &'e [Element],
}

impl Serialize for Members<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.elements.len()))?;
        for element in self.elements {
            let in_module = Inside { module: element.module, value: &element.value };
            if self.parent == Some(element.module) {
                map.serialize_entry(element.name, &in_module)?;
            } else {
                map.serialize_entry(&format!("{}:{}", element.module.name(), element.name), &in_module)?;
            }
        }
        map.end()
    }
}

/// A value of a node of `module`.
struct Inside<'e> {
    module: Module,
    value: &'e Value,
}

impl Serialize for Inside<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let members = |elements| Members { parent: Some(self.module), elements };
        match self.value {
            Value::Text(text) => serializer.serialize_str(text),
            Value::Flag(flag) => serializer.serialize_bool(*flag),
            Value::Number(number) => serializer.serialize_i64(*number),
            Value::Long(number) => serializer.collect_str(number),
            Value::Identity(module, name) => {
                serializer.collect_str(&format_args!("{}:{name}", module.name()))
            }
            Value::Container(elements) => members(elements).serialize(serializer),
            Value::List(entries) => {
                let mut list = serializer.serialize_seq(Some(entries.len()))?;
                for entry in entries {
                    list.serialize_element(&members(entry))?;
                }
                list.end()
            }
        }
    }
}

/// The data of several modules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    pub(super) elements: Vec<Element>,
}

impl Serialize for Document {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Members { parent: None, elements: &self.elements }.serialize(serializer)
    }
}

impl Document {
    /// The data as XML: the content of the element `config` in NETCONF's operation `edit-config` (RFC 6241).
    pub fn xml(&self) -> String {
        let mut text = String::new();
        self.elements.iter().for_each(|element| write_element(&mut text, element, None, 0));
        text
    }
}

fn write_element(text: &mut String, element: &Element, parent: Option<Module>, depth: usize) {
    let Element { module, name, value } = element;
    if let Value::List(entries) = value {
        for entry in entries {
            let value = Value::Container(entry.clone());
            write_element(text, &Element { module: *module, name, value }, parent, depth);
        }
        return;
    }
    let indent = "  ".repeat(depth);
    let _ = write!(text, "{indent}<{name}");
    if parent != Some(*module) {
        let _ = write!(text, " xmlns=\"{}\"", module.namespace());
    }
    match value {
        Value::Container(elements) if elements.is_empty() => {
            let _ = writeln!(text, "/>");
            return;
        }
        Value::Container(elements) => {
            let _ = writeln!(text, ">");
            elements.iter().for_each(|inner| write_element(text, inner, Some(*module), depth + 1));
            let _ = writeln!(text, "{indent}</{name}>");
            return;
        }
        Value::Identity(of, identity) => {
            let _ = write!(text, " xmlns:x=\"{}\">x:{identity}", of.namespace());
        }
        Value::Text(leaf) => {
            let _ = write!(text, ">{}", escaped(leaf));
        }
        Value::Flag(flag) => {
            let _ = write!(text, ">{flag}");
        }
        Value::Number(number) | Value::Long(number) => {
            let _ = write!(text, ">{number}");
        }
        Value::List(_) => {}
    }
    let _ = writeln!(text, "</{name}>");
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_with_markup_is_escaped() {
        let name = Element::new(Module::Interfaces, "name", Value::Text("a<&>b".to_owned()));
        let interfaces = Element::new(Module::Interfaces, "interfaces", Value::List(vec![vec![name]]));
        let xml = Document { elements: vec![interfaces] }.xml();
        assert_eq!(
            xml,
            "<interfaces xmlns=\"urn:ietf:params:xml:ns:yang:ietf-interfaces\">\n  <name>a&lt;&amp;&gt;b</name>\n</interfaces>\n"
        );
    }
}
