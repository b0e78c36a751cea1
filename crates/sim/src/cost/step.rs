//! What the host's work costs its processor, step by step.

use crate::cost::{CacheCost, HostModel};
use seekwise_host::cpu::CpuCost;
use seekwise_units::Nanos;
use std::sync::LazyLock;

/// Processor time by step.
///
/// The recordings' processor executes an instruction a nanosecond, a request's way through the block layer costs it 1 to 10 us
/// (description of the recordings); copying counts an instruction per 8 bytes. The split by step was set once for this processor so that two
/// readers without a scheduler over one disk get their recorded rates; range half to double.
#[derive(Clone, Copy, Debug)]
pub struct StepCosts {
    /// The program's own work a call: its loop and two looks at the clock.
    pub user: Nanos,
    /// Entry and exit of a read call.
    pub call: Nanos,
    /// Finding a page and copying it out.
    pub page_copy: Nanos,
    /// Allocating a page and adding it to the cache.
    pub page_add: Nanos,
    /// Making a bio, merging it or making a request of it.
    pub bio: Nanos,
    /// What md does besides for each bio. Zero: part of `bio`.
    pub md_bio: Nanos,
    /// Giving a command to the port of a drive of the host's own. Zero: part of `bio`, or a card's one register.
    pub port_command: Nanos,
    /// The scheduler's own functions for a request: inserting it and handing it out, which whoever makes the queue give commands pays for
    /// (a reader that waits, for its own), and its end, which the interrupt pays for; each a third, assumed: the source gives their sum.
    pub scheduler: Nanos,
    /// Interrupt and completion of a request.
    pub interrupt: Nanos,
    /// Each page that ends with it.
    pub page_end: Nanos,
    /// Waking a process and switching to it.
    pub switch: Nanos,
    /// Pinning a page of the caller's memory for a direct request.
    pub page_pin: Nanos,
    /// What a file system does for each page written into the cache, besides copying: handle of the journal, block, buffers.
    pub page_write: Nanos,
    /// Finding a dirty page and making it ready to be sent.
    pub page_send: Nanos,
}

impl StepCosts {
    /// The host of cells, whose costs are by request and by page of the cache. A scheduler's functions are paid for before the drive is asked.
    pub fn of_cells(request: &CpuCost, cache: &CacheCost) -> Self {
        let call = Nanos(cache.call).min(request.submit);
        Self {
            user: request.user,
            call,
            page_copy: Nanos(cache.read_page),
            page_add: Nanos(cache.new_page),
            bio: request.submit - call + request.scheduler,
            md_bio: Nanos::ZERO,
            port_command: request.behind,
            scheduler: Nanos::ZERO,
            interrupt: request.interrupt,
            // Direct calls have no pages of the cache; cleaning one is paid for when it is sent.
            page_end: Nanos::ZERO,
            switch: request.wake,
            // Part of submitting.
            page_pin: Nanos::ZERO,
            // Without copying, and with adding: range of half to double.
            page_write: Nanos(cache.write_page.saturating_sub(cache.read_page)),
            page_send: Nanos(cache.flush_page + cache.clean_page),
        }
    }

    /// What a request past the page cache comes to.
    pub fn request(&self) -> CpuCost {
        CpuCost {
            user: self.user,
            submit: self.call + self.bio,
            interrupt: self.interrupt,
            wake: self.switch,
            scheduler: self.scheduler,
            behind: self.port_command,
        }
    }

    /// What the pages of the cache come to.
    pub fn cache(&self) -> CacheCost {
        CacheCost {
            call: self.call.0,
            read_page: self.page_copy.0,
            new_page: self.page_add.0,
            write_page: (self.page_copy + self.page_write).0,
            flush_page: self.page_send.0,
            clean_page: self.page_end.0,
            reclaim_page: CacheCost::default().reclaim_page,
        }
    }

    /// A processor of about 2015 (4 GHz). A synchronous request at depth 1 adds 5 us to the drive's time, range 3 to 10 (class value, as in
    /// the drives' reference): switch 1.2 and interrupt 1.5 us of it, the rest shared over call and bio; range of each half to double.
    pub fn modern() -> Self {
        static MODERN: LazyLock<StepCosts> = LazyLock::new(|| StepCosts::shipped("i7_6700k"));
        *MODERN
    }

    /// Those of a model that comes with the program, on which no scheduler costs anything.
    fn shipped(name: &str) -> Self {
        let model = HostModel::shipped(name).and_then(|model| model.steps());
        model.expect("shipped models are checked by a test")
    }
}

/// The recordings' processor.
impl Default for StepCosts {
    fn default() -> Self {
        static RECORDING: LazyLock<StepCosts> = LazyLock::new(|| StepCosts::shipped("recording"));
        *RECORDING
    }
}
