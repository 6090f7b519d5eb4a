//! What the server makes of any bytes on a connection.

use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use tardy_archive::{
    Address, ArchiveError, BoardRuns, Entry, Kept, Mark, NewFile, Outcome, Query, Store, Stored,
};
use tardy_record::file;
use tardy_server::{OpenStore, Reading, Settings, Unconnected};
use tempfile::TempDir;

const RUN: &str = include_str!("../../tardy/tests/run_files/cyclictest-json.run.json");
/// The hash of `tardy_fuzz`, which seeds have as their token.
const TOKENS: &str =
    "{\"tokens\":[{\"name\":\"fuzz\",\"scopes\":[\"admin\"],\"made_at\":\"\",\"sha256\":\"SHA\"}]}";

/// An archive in memory with one run.
#[derive(Clone)]
struct OneRun {
    address: Address,
    entry: Entry,
}

impl Store for OneRun {
    fn find(&self, query: &Query) -> Result<Vec<(Address, Entry)>, ArchiveError> {
        query.check()?;
        Ok(vec![(self.address.clone(), self.entry.clone())])
    }
    fn count(&self, query: &Query) -> Result<u64, ArchiveError> {
        query.check().map(|()| 1)
    }
    fn page(
        &self,
        query: &Query,
        after: Option<&Address>,
        limit: usize,
    ) -> Result<Vec<(Address, Entry)>, ArchiveError> {
        match after {
            Some(other) if *other != self.address => Err(ArchiveError::Unknown(other.clone())),
            Some(_) => Ok(Vec::new()),
            None => self.find(query).map(|found| found.into_iter().take(limit).collect()),
        }
    }
    fn boards(&self) -> Result<Vec<BoardRuns>, ArchiveError> {
        let newest = (self.address.clone(), self.entry.clone());
        Ok(vec![BoardRuns { machine: self.entry.machine.clone(), runs: 1, newest }])
    }
    fn kernels(&self) -> Result<Vec<(String, u64)>, ArchiveError> {
        Ok(self.entry.row.kernel.iter().map(|release| (release.clone(), 1)).collect())
    }
    fn added_since(&self, _: Option<&Mark>) -> Result<(Vec<Address>, Mark), ArchiveError> {
        Err(ArchiveError::OnlyRead)
    }
    fn has(&self, address: &Address) -> Result<bool, ArchiveError> {
        Ok(*address == self.address)
    }
    fn get(&self, address: &Address) -> Result<Stored, ArchiveError> {
        match self.has(address)? {
            true => Ok(Stored { name: "a.run.json".to_owned(), content: RUN.as_bytes().to_vec() }),
            false => Err(ArchiveError::Unknown(address.clone())),
        }
    }
    fn keep(&mut self, files: Vec<NewFile>) -> Result<Vec<Result<Kept, ArchiveError>>, ArchiveError> {
        Ok(files.iter().map(|_| Err(ArchiveError::InProgress)).collect())
    }
    fn remove(&mut self, address: &Address) -> Result<bool, ArchiveError> {
        self.has(address)
    }
}

struct Served {
    server: Unconnected,
    _records: TempDir,
}

fn served() -> Served {
    let records = tempfile::tempdir().expect("there is a directory for temporary files");
    let tokens = TOKENS.replace("SHA", &tardy_archive::sha256(b"tardy_fuzz"));
    fs::create_dir(records.path().join("server")).expect("the scratch directory is writable");
    fs::write(records.path().join("server/tokens.json"), tokens).expect("the scratch directory is writable");
    let run = file::from_text(RUN.as_bytes()).expect("it is a run of the tests");
    let store = OneRun { address: Address::of(RUN.as_bytes()), entry: Outcome::of(&run, "a").entry };
    let open: OpenStore = Box::new(move || Ok(Box::new(store.clone())));
    let settings = Settings {
        archive: records.path().to_owned(),
        listen: ([127, 0, 0, 1], 0).into(),
        names: Vec::new(),
        reading: Reading::Anyone,
        may_write: true,
        made_by: "fuzz".to_owned(),
    };
    let server = Unconnected::new(settings, open).expect("the records can be made");
    Served { server, _records: records }
}

/// Sends `bytes` to the server. What comes back is HTTP, and no answer is a fault of the server.
pub fn send(bytes: &[u8]) {
    thread_local!(static SERVED: Served = served());
    static HOOK: Once = Once::new();
    HOOK.call_once(ignore_assertion_of_hyper);
    SERVED.with(|served| {
        let Ok(answer) = panic::catch_unwind(AssertUnwindSafe(|| served.server.answer(bytes))) else {
            return;
        };
        assert!(answer.is_empty() || answer.starts_with(b"HTTP/1."), "the answer is not HTTP");
        assert!(!answer.starts_with(b"HTTP/1.1 500"), "a fault of the server");
    });
}

/// Every panic ends the fuzzer, except one of hyper 1.12, which only a build with debug assertions has and which ends one connection:
/// a request that is not HTTP follows others whose answers are not sent yet.
fn ignore_assertion_of_hyper() {
    let end = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let text = info.payload().downcast_ref::<&str>().copied();
        if text != Some("assertion failed: self.can_write_head()") {
            end(info);
        }
    }));
}
