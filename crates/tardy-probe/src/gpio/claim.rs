//! Claiming a line under a name that other processes can see.

use gpiocdev::Request;
use gpiocdev::line::{EdgeDetection, EventClock, Value};
use gpiocdev::request::Builder;
use tardy_record::pins::Line;

/// The consumer name of tardy's lines.
pub const CONSUMER: &str = "tardy";

/// Edges that the kernel keeps for a thread that does not read them. Further edges are lost, and counted by the gaps in
/// the edges' numbers.
const EVENTS_QUEUED: u32 = 64;
/// Edges of an echo that the kernel keeps: its limit for one line (GPIO_V2_LINES_MAX * 16 in linux/gpio.h).
const ECHOES_QUEUED: u32 = 1024;

/// Claims `line` as an input that reports rising edges with their times on the monotonic clock.
///
/// # Errors
/// A message for the user: the line is in use, not permitted, or without edge detection.
pub fn input_with_events(line: &Line) -> Result<Request, String> {
    let describe = |error: String| {
        format!(
            "{error}; a line that cannot interrupt has no edge events: --answer-by busy needs no interrupt"
        )
    };
    claim(line, |builder| {
        builder
            .as_input()
            .with_edge_detection(EdgeDetection::RisingEdge)
            .with_event_clock(EventClock::Monotonic)
            .with_kernel_event_buffer_size(EVENTS_QUEUED)
    })
    .map_err(describe)
}

/// Claims `line` as an input that reports both edges, with the largest buffer that the kernel allows.
///
/// # Errors
/// A message for the user.
pub fn input_with_both_edges(line: &Line) -> Result<Request, String> {
    let describe = |error: String| format!("{error}; an echo needs a line that can interrupt");
    claim(line, |builder| {
        builder
            .as_input()
            .with_edge_detection(EdgeDetection::BothEdges)
            .with_event_clock(EventClock::Monotonic)
            .with_kernel_event_buffer_size(ECHOES_QUEUED)
    })
    .map_err(describe)
}

/// Claims `line` as an input.
///
/// # Errors
/// A message for the user.
pub fn input(line: &Line) -> Result<Request, String> {
    claim(line, Builder::as_input)
}

/// Claims `line` as an output that is low.
///
/// # Errors
/// A message for the user.
pub fn output_low(line: &Line) -> Result<Request, String> {
    claim(line, |builder| builder.as_output(Value::Inactive))
}

/// Makes `line` an input again and releases it.
///
/// # Errors
/// A message for the user.
pub fn to_input(line: &Line) -> Result<(), String> {
    input(line).map(drop)
}

fn claim(line: &Line, settings: impl FnOnce(&mut Builder) -> &mut Builder) -> Result<Request, String> {
    let mut builder = Request::builder();
    builder.on_chip(tardy_sys::gpio::device_path(&line.chip)).with_consumer(CONSUMER).with_line(line.offset);
    settings(&mut builder).request().map_err(|error| {
        let who = holder(line).map(|who| format!("; '{who}' has it")).unwrap_or_default();
        format!("{} cannot be claimed: {error}{who}", line.place())
    })
}

/// The consumer of the line, if the kernel reports one.
fn holder(line: &Line) -> Option<String> {
    let info = gpiocdev::chip::Chip::from_path(tardy_sys::gpio::device_path(&line.chip))
        .ok()?
        .line_info(line.offset)
        .ok()?;
    info.used.then_some(info.consumer)
}
