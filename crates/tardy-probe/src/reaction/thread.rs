//! The thread of the reaction probe: it claims its lines, waits for edges, answers them and ends.
//!
//! One reading of the clock and one system call are between an edge and its answer. The answer is withdrawn at once, so
//! that an instrument sees a pulse for each.

use std::io;
use std::os::fd::AsFd;

use gpiocdev::Request;
use tardy_record::pins::{AnswerBy, ReactionPlan};
use tardy_sys::clock::{Clock, ClockReader};
use tardy_sys::gpio::OneLine;
use tardy_sys::gpio_sysfs::ValueFile;
use tardy_sys::kernel_files::KernelFiles;
use tardy_sys::memory;
use tardy_sys::shared_map::SharedMap;
use tardy_sys::thread_usage::{self, ThreadUsage};

use super::driven::Driven;
use super::edge_accounting::EdgeAccounting;
use super::edge_source::{ByAsking, ByEvents, BySysfs, EdgeSource, Waited};
use super::fake::{ECHO_NS, FakeReaction, FakeReactions, INTERRUPT_NS};
use super::stimulus::EchoAccounting;
use super::storm::STORM_PER_SECOND;
use crate::gpio;
use crate::level::Level;
use crate::order::Order;
use crate::thread_setup;
use crate::timer::Prepared;

/// The measuring thread's part of the order.
pub struct ReactionProbe<'a> {
    map: &'a SharedMap,
    order: &'a Order,
    plan: &'a ReactionPlan,
    /// The claimed lines; `None` in a fake.
    lines: Option<Lines>,
}

/// The claimed lines.
enum Lines {
    Device { input: Request, output: Request },
    Sysfs { input: ValueFile, output: ValueFile },
}

impl Lines {
    fn claim(plan: &ReactionPlan) -> Result<Self, String> {
        let input = match plan.answer_by {
            AnswerBy::Events => gpio::input_with_events(&plan.input)?,
            AnswerBy::Busy => gpio::input(&plan.input)?,
            AnswerBy::Sysfs => {
                let files = KernelFiles::real();
                let input = gpio::sysfs::input_with_edges(&files, &plan.input)?;
                return Ok(Self::Sysfs { input, output: gpio::sysfs::output_low(&files, &plan.output)? });
            }
        };
        Ok(Self::Device { input, output: gpio::output_low(&plan.output)? })
    }
}

impl<'a> ReactionProbe<'a> {
    /// The only thread of `plan` in the order.
    pub fn new(map: &'a SharedMap, order: &'a Order, plan: &'a ReactionPlan) -> Self {
        Self { map, order, plan, lines: None }
    }

    /// Sets CPU and policy, claims the lines, and touches the stack.
    ///
    /// # Errors
    /// A message for the user, if the CPU or a line is not available.
    pub fn prepare(&mut self) -> Result<Prepared, String> {
        let plan = self.plan;
        let fake = self.order.fake.is_some();
        let (granted, refused) = thread_setup::set_up(plan.cpu, plan.policy, plan.priority, fake)?;
        if !fake {
            self.lines = Some(Lines::claim(plan)?);
        }
        memory::prefault_stack();
        Ok(Prepared::now(granted, refused))
    }

    /// Measures until the span is over or the map requests the end; counts from `start_ns` plus the warm-up. Neither
    /// allocates nor, once [`Self::prepare`] has touched the memory, faults a page. The thread that requests the end
    /// must interrupt a wait for an edge that does not come.
    ///
    /// # Errors
    /// If the kernel refuses a read or an answer, or edges come in a storm.
    pub fn measure(&self, start_ns: u64) -> io::Result<()> {
        let Some(lines) = &self.lines else {
            self.record_fake(start_ns);
            return Ok(());
        };
        let (input, output) = match lines {
            Lines::Device { input, output } => (input, OneLine::of(output.as_fd())),
            Lines::Sysfs { input, output } => return self.answer(BySysfs::new(input)?, output, start_ns),
        };
        match self.plan.answer_by {
            AnswerBy::Busy => {
                let block = self.map.block(0);
                self.answer(ByAsking::new(input, block)?, output, start_ns)
            }
            _ => self.answer(ByEvents::new(input), output, start_ns),
        }
    }

    fn answer<I: EdgeSource>(&self, mut source: I, output: impl Level, start_ns: u64) -> io::Result<()> {
        let block = self.map.block(0);
        let (counted_from_ns, end_ns, reactions) = self.bounds(start_ns);
        let mut clock = ClockReader::new(Clock::Monotonic);
        let mut accounting = self.accounting(counted_from_ns);
        let driven = self.plan.driven().map(|_| Driven::of(self.map));
        let used_before = thread_usage::of_this_thread()?;
        let mut counted = 0;
        while counted < reactions && !block.is_asked_to_end() {
            let Waited::Edge(edge) = source.wait()? else { continue };
            let running_ns = clock.now_ns() as u64;
            let edge_ns = if I::SEES_EDGES { edge.at_ns } else { running_ns };
            if edge_ns >= end_ns {
                break;
            }
            output.set(true)?;
            let answered_ns = clock.now_ns() as u64;
            output.set(false)?;
            counted += u64::from(edge_ns >= counted_from_ns);
            if accounting.add(edge, running_ns, answered_ns, driven.map(Driven::last)) {
                accounting.finish(thread_usage::of_this_thread()?.since(&used_before));
                return Err(io::Error::other(format!(
                    "edges come faster than {STORM_PER_SECOND} per second, from a floating input or a ringing wire; \
                     ended to keep the machine usable"
                )));
            }
        }
        accounting.finish(thread_usage::of_this_thread()?.since(&used_before));
        Ok(())
    }

    fn record_fake(&self, start_ns: u64) {
        let (counted_from_ns, end_ns, reactions) = self.bounds(start_ns);
        let mut accounting = self.accounting(counted_from_ns);
        let mut fake = FakeReactions::new(
            start_ns,
            self.order.fake.unwrap_or(0) ^ self.order.seed,
            self.plan.answer_by == AnswerBy::Events,
        );
        let echo_block = || self.map.block(self.plan.spans().len());
        let mut echo = (self.plan.echo().is_some())
            .then(|| EchoAccounting::new(echo_block(), &self.order.thresholds_ns, counted_from_ns));
        let mut on_the_way: Option<u64> = None;
        let mut counted = 0;
        while counted < reactions && !self.map.block(0).is_asked_to_end() {
            let FakeReaction { edge, running_ns, answered_ns, rise } = fake.next();
            if edge.at_ns >= end_ns {
                break;
            }
            counted += u64::from(edge.at_ns >= counted_from_ns);
            accounting.add(edge, running_ns, answered_ns, self.plan.driven().map(|_| rise));
            if let Some(echo) = &mut echo {
                // The answer to the previous edge may return after this one's stimulus.
                let driven_ns = edge.at_ns - INTERRUPT_NS;
                if let Some(echoed_ns) = on_the_way.take_if(|echoed_ns| *echoed_ns < driven_ns) {
                    echo.echoed(echoed_ns);
                }
                echo.driven(driven_ns);
                if let Some(echoed_ns) = on_the_way.replace(answered_ns + ECHO_NS) {
                    echo.echoed(echoed_ns);
                }
            }
        }
        if let (Some(echo), Some(echoed_ns)) = (&mut echo, on_the_way) {
            echo.echoed(echoed_ns);
        }
        accounting.finish(ThreadUsage::default());
        if let Some(echo) = echo {
            echo.finish(ThreadUsage::default());
        }
    }

    /// Start and end of the counted time, and the maximum number of edges.
    fn bounds(&self, start_ns: u64) -> (u64, u64, u64) {
        let (counted_from_ns, end_ns) = self.order.counted_between(start_ns);
        (counted_from_ns, end_ns, self.order.loops())
    }

    fn accounting(&self, counted_from_ns: u64) -> EdgeAccounting<'a> {
        EdgeAccounting::new(
            self.plan,
            |index| self.map.block(index),
            self.map.ring(0),
            &self.order.thresholds_ns,
            counted_from_ns,
        )
    }

    /// Adds the thread's migrations to the block. Not part of the measurement, since reading their number allocates.
    pub fn account(&self, prepared: &Prepared) {
        prepared.account(self.map.block(0));
    }
}
