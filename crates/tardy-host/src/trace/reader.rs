//! Reads a trace instance: the pipe of every CPU, page by page.

use tardy_sys::trace_files::KernelPipe;

use super::page::{PageLayout, Piece};

/// The raw pipes of an instance.
#[derive(Debug)]
pub struct TraceReader {
    pipes: Vec<(u32, KernelPipe)>,
    page: PageLayout,
    buffer: Vec<u8>,
}

impl TraceReader {
    /// A reader of these CPUs' pipes.
    pub(super) fn new(pipes: Vec<(u32, KernelPipe)>, page: PageLayout) -> Self {
        Self { pipes, page, buffer: vec![0; page.size] }
    }

    /// Reads every pipe until it is empty or has reached `until_ns` of the trace's clock, because a pipe that fills as fast as
    /// it is emptied would otherwise block the reader for ever. Passes every event before `until_ns` to `take(cpu, piece)`, if
    /// that time has passed when this is called. The events of each CPU are in order.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn read(&mut self, until_ns: u64, mut take: impl FnMut(u32, Piece<'_>)) -> Result<(), String> {
        for (cpu, pipe) in &mut self.pipes {
            let mut last_ns = 0;
            while last_ns < until_ns {
                let length = pipe.read(&mut self.buffer).map_err(|error| error.to_string())?;
                if length == 0 {
                    break;
                }
                self.page.read(&self.buffer[..length], |piece| {
                    if let Piece::Event { at_ns, .. } = piece {
                        last_ns = at_ns;
                    }
                    take(*cpu, piece);
                });
            }
        }
        Ok(())
    }
}
