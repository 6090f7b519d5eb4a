//! Pushing a run: `PUT /api/v1/runs/ADDRESS`.

use axum::http::StatusCode;
use serde::Serialize;
use tardy_archive::{Address, Kept, NewFile, is_compressed, read_compressed_up_to};

use crate::answer::{Answer, Refusal};
use crate::request::Request;
use crate::service::Service;

/// The most bytes of an upload.
pub(crate) const UPLOAD_MAX: usize = 16 << 20;
/// The most bytes of a run file before compression.
const CONTENT_MAX: u64 = 64 << 20;
/// A run file is compressed to a tenth. What is compressed further than this is made to fill the memory.
const RATIO_MAX: u64 = 100;
/// Small files may be compressed further.
const SMALL: u64 = 1 << 20;

/// The most bytes that an upload of this length is decompressed to.
pub(crate) fn unpacked_max(length: usize) -> u64 {
    (length as u64 * RATIO_MAX).clamp(SMALL, CONTENT_MAX)
}

/// What became of a run.
#[derive(Serialize)]
struct Pushed<'a> {
    address: &'a Address,
    /// Whether the archive had it.
    known: bool,
}

/// Keeps a run. The answer is sent when the run is on the disk.
pub(crate) fn run(service: &Service, request: &Request) -> Result<Answer, Refusal> {
    service.rates.count_push(&request.who)?;
    let address: Address = request.part("address").parse().map_err(|reason| {
        Refusal::wrong(format!("the path does not end with the address of a run: {reason}"))
    })?;
    let file = file(&request.body)?;
    let found = Address::of(&file.content);
    if found != address {
        return Err(unprocessable(format!(
            "the content has the SHA-256 {found}, not {address}: it was damaged on its way, or is another run"
        )));
    }
    let kept = service.writer.keep(file, request.who.name())?;
    let known = matches!(kept, Kept::Known(_));
    let status = if known { StatusCode::OK } else { StatusCode::CREATED };
    Ok(Answer::json(&Pushed { address: kept.address(), known }).with_status(status))
}

/// The run file that was sent, compressed or not.
fn file(body: &[u8]) -> Result<NewFile, Refusal> {
    if !is_compressed(body) {
        return Ok(NewFile { name: String::new(), content: body.to_vec() });
    }
    let limit = unpacked_max(body.len());
    let stored = read_compressed_up_to(body, limit).map_err(|error| {
        unprocessable(format!(
            "the content cannot be decompressed, to at most {RATIO_MAX} times its size: {error}"
        ))
    })?;
    Ok(NewFile { name: stored.name, content: stored.content })
}

fn unprocessable(reason: String) -> Refusal {
    Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, reason)
}
