//! The functions that the page's worker calls, and the one that it provides.
//!
//! The worker writes a request into [`tardy_room`], calls [`tardy_answer`], and reads the answer at [`tardy_output`]: the length of
//! its JSON in four bytes, the JSON, and the content behind it. While a request reads a file, [`tardy_read`] copies a part of it from the
//! worker into memory, so a file is never in memory as a whole. There is one thread.
//!
//! This file alone has names for the linker and a function of another language, which the compiler counts as unsafe code. It
//! has no unsafe block: memory is passed as the address of a vector of the caller's length (docs/adr/0027-the-page.md).
#![allow(unsafe_code, unreachable_pub)]

use std::cell::RefCell;
use std::io::{self, BufReader, Read};

use serde_json::json;

use crate::answer::answer;
use crate::session::{Session, Source};

/// How much of a file is read at once, in bytes.
const READ_SIZE: usize = 1 << 20;
/// The answer of [`tardy_read`] for a file that cannot be read.
const FAILED: i32 = -1;

unsafe extern "C" {
    /// Copies up to `length` bytes of the current file from the byte `from` to `to`, and returns how many; 0 at the end of the file.
    safe fn tardy_read(from: f64, to: *mut u8, length: usize) -> i32;
    /// Keeps the message of a panic, after which the module cannot be used any more.
    safe fn tardy_panicked(text: *const u8, length: usize);
}

#[derive(Default)]
struct State {
    session: Session,
    input: Vec<u8>,
    output: Vec<u8>,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

/// The address of `length` bytes for a request.
#[unsafe(no_mangle)]
pub extern "C" fn tardy_room(length: usize) -> *mut u8 {
    STATE.with_borrow_mut(|state| {
        state.input.clear();
        state.input.resize(length, 0);
        state.input.as_mut_ptr()
    })
}

/// Answers the request, and returns the length of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn tardy_answer() -> usize {
    std::panic::set_hook(Box::new(|panic| {
        let text = panic.to_string();
        tardy_panicked(text.as_ptr(), text.len());
    }));
    STATE.with_borrow_mut(|state| {
        let input = std::mem::take(&mut state.input);
        let request = String::from_utf8_lossy(&input);
        let (value, content) = match answer(&mut state.session, &request, &File) {
            Ok(answer) => (json!({ "value": answer.value }), answer.content),
            Err(error) => (json!({ "error": error }), Vec::new()),
        };
        let value = value.to_string();
        state.output = (value.len() as u32).to_le_bytes().to_vec();
        state.output.extend_from_slice(value.as_bytes());
        state.output.extend_from_slice(&content);
        state.output.len()
    })
}

/// The address of the answer, which the next request invalidates.
#[unsafe(no_mangle)]
pub extern "C" fn tardy_output() -> *const u8 {
    STATE.with_borrow(|state| state.output.as_ptr())
}

/// The file that the worker has at hand.
struct File;

impl Source for File {
    fn open(&self) -> Box<dyn Read + '_> {
        Box::new(BufReader::with_capacity(READ_SIZE, Reader { at: 0 }))
    }
}

struct Reader {
    at: u64,
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match tardy_read(self.at as f64, buffer.as_mut_ptr(), buffer.len()) {
            FAILED => Err(io::Error::other("the browser cannot read the file; open it again")),
            count => {
                let count = usize::try_from(count).unwrap_or(0).min(buffer.len());
                self.at += count as u64;
                Ok(count)
            }
        }
    }
}
