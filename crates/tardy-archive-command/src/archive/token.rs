//! `tardy archive token`: the tokens of an archive's server.

use std::collections::BTreeSet;
use std::time::SystemTime;

use anyhow::{Result, bail};
use tardy_archive::{Action, Audit, AuditLine};
use tardy_args::ArchiveTokenArgs;
use tardy_plot::numbers::harmless;
use tardy_present::table::Table;
use tardy_recipe::wrong;
use tardy_server::{Scope, TokenError, Tokens};

use crate::stores;
use tardy_command::{Exit, origin, output};

/// Makes, revokes or lists tokens.
pub(super) fn run(arguments: &ArchiveTokenArgs) -> Result<Exit> {
    drop(stores::to_read(&arguments.archive)?);
    // One process changes the tokens at a time. Listing them changes nothing.
    let changes = arguments.make.is_some() || arguments.revoke.is_some();
    let _archive = if changes { Some(stores::to_add(&arguments.archive)?) } else { None };
    let path = &stores::records(&arguments.archive);
    let mut tokens = Tokens::read(path)?;
    if let Some(name) = &arguments.make {
        let scopes: BTreeSet<Scope> = arguments
            .scope
            .iter()
            .map(|scope| scope.parse())
            .collect::<Result<_, String>>()
            .map_err(anyhow::Error::msg)?;
        let secret =
            tokens.make(name, scopes, origin::rfc3339(SystemTime::now())).map_err(|error| match error {
                TokenError::Name(reason) => wrong("--make", reason).into(),
                error => anyhow::Error::from(error),
            })?;
        // A token that is not in the audit log must not work.
        note(path, Action::TokenMade, name, &arguments.scope.join(", "))?;
        tokens.write(path)?;
        output::print_data(&format!("{secret}\n"))?;
        output::report(&format!("token '{name}' made; it is stored nowhere, so keep it now"));
        return Ok(Exit::Done);
    }
    if let Some(name) = &arguments.revoke {
        if tokens.revoke(name).is_err() {
            bail!(
                "there is no token '{}'; 'tardy archive token {}' lists them",
                harmless(name),
                path.display()
            );
        }
        tokens.write(path)?;
        note(path, Action::TokenRevoked, name, "")?;
        output::report(&format!("token '{name}' revoked"));
        return Ok(Exit::Done);
    }
    list(&tokens, arguments.json)
}

fn note(archive: &std::path::Path, action: Action, subject: &str, detail: &str) -> Result<()> {
    let line = AuditLine {
        at: origin::rfc3339(SystemTime::now()),
        who: super::user(),
        action,
        subject: subject.to_owned(),
        detail: detail.to_owned(),
    };
    Ok(Audit::open(archive)?.add(&[line])?)
}

fn list(tokens: &Tokens, json: bool) -> Result<Exit> {
    if json {
        let shown = tokens.all().iter().map(
            |token| serde_json::json!({"name": token.name, "scopes": token.scopes, "made_at": token.made_at}),
        );
        output::print_json(&shown.collect::<Vec<_>>())?;
        return Ok(Exit::Done);
    }
    let mut table = Table::of_words(&["token", "scopes", "made"]);
    for token in tokens.all() {
        let scopes: Vec<&str> = token.scopes.iter().map(|scope| scope.name()).collect();
        table.push(vec![token.name.clone(), scopes.join(", "), token.made_at.clone()]);
    }
    output::print(&(table.lines(output::width()).join("\n") + "\n"))?;
    Ok(Exit::Done)
}
