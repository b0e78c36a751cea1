//! What the host's work costs its processor, step by step.

use crate::cost::{CacheCost, HostModel, OperationCosts};
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
    /// The scheduler's own functions for a request: inserting it and handing it out, paid by the task that makes the queue give commands
    /// (a reader that waits, for its own), and its end, paid by the interrupt; each a third, assumed: the source gives their sum.
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
    /// Of commands, on blk-mq.
    pub by_command: Option<ByCommand>,
}

/// What a command of one direction costs where that was measured, or is given, as a whole: on blk-mq. It stands in for `bio`, `port_command`,
/// `scheduler`, `interrupt` and `page_end`.
#[derive(Clone, Copy, Debug)]
pub struct CommandCosts {
    /// From the bio to the driver, and each page of it.
    pub submit: Nanos,
    pub submit_page: Nanos,
    pub scheduler: Nanos,
    /// Interrupt and completion, and each page.
    pub interrupt: Nanos,
    pub interrupt_page: Nanos,
    /// Work of the host after the drive has the command.
    pub behind: Nanos,
    pub behind_page: Nanos,
}

/// Of a host on blk-mq, whose costs are by command and by page of the cache.
#[derive(Clone, Copy, Debug)]
pub struct ByCommand {
    pub read: CommandCosts,
    pub write: CommandCosts,
    /// A page is taken from the group for another.
    pub page_reclaim: Nanos,
}

impl CommandCosts {
    fn of(costs: &OperationCosts, read: bool) -> Self {
        let (bare, page) = (costs.request(read, 0.0), costs.request(read, 1.0));
        Self {
            submit: bare.submit,
            submit_page: page.submit - bare.submit,
            scheduler: bare.scheduler,
            interrupt: bare.interrupt,
            interrupt_page: page.interrupt - bare.interrupt,
            behind: bare.behind,
            behind_page: page.behind - bare.behind,
        }
    }

    /// `commands` bios of `pages` pages in all, up to the driver.
    pub fn submitting(&self, commands: u64, pages: u64) -> Nanos {
        Nanos((self.submit + self.scheduler).0 * commands + self.submit_page.0 * pages)
    }

    /// The drive has them.
    pub fn behind(&self, commands: u64, pages: u64) -> Nanos {
        Nanos(self.behind.0 * commands + self.behind_page.0 * pages)
    }

    /// A command of so many pages ends.
    pub fn ending(&self, pages: u64) -> Nanos {
        Nanos(self.interrupt.0 + self.interrupt_page.0 * pages)
    }
}

impl ByCommand {
    /// Costs of a write or of a read.
    pub fn of(&self, write: bool) -> &CommandCosts {
        if write {
            &self.write
        } else {
            &self.read
        }
    }
}

impl StepCosts {
    /// Of a host on blk-mq.
    pub fn of_trials(costs: &OperationCosts) -> Self {
        let (cache, request) = (costs.cache(), costs.request(true, 0.0));
        Self {
            user: request.user,
            call: Nanos(cache.call),
            page_copy: Nanos(cache.read_page),
            page_add: Nanos(cache.new_page),
            bio: Nanos::ZERO,
            md_bio: Nanos::ZERO,
            port_command: Nanos::ZERO,
            scheduler: Nanos::ZERO,
            interrupt: request.interrupt,
            page_end: Nanos::ZERO,
            switch: request.wake,
            page_pin: Nanos::ZERO,
            // Without copying, and with adding.
            page_write: Nanos(cache.write_page.saturating_sub(cache.read_page)),
            // Cleaning a page is paid for when it is sent.
            page_send: Nanos(cache.flush_page + cache.clean_page),
            by_command: Some(ByCommand {
                read: CommandCosts::of(costs, true),
                write: CommandCosts::of(costs, false),
                page_reclaim: Nanos(cache.reclaim_page),
            }),
        }
    }

    /// Of a call past the page cache up to its bios: so many, of `pages` pages in all.
    pub fn direct_call(&self, write: bool, bios: u64, pages: u64) -> Nanos {
        match &self.by_command {
            Some(costs) => costs.of(write).submitting(bios, pages),
            None => self.call + Nanos(self.page_pin.0 * pages + self.bio.0 * bios),
        }
    }

    /// Of the commands of a window of read-ahead, before they are asked for: a part of `bio` where that is known.
    pub fn window(&self, commands: u64, pages: u64) -> Nanos {
        self.by_command
            .map_or(Nanos::ZERO, |costs| costs.read.submitting(commands, pages))
    }

    /// A written page that was not in the cache; part of `page_write` where that was measured as a whole.
    pub fn page_add_for_write(&self) -> Nanos {
        if self.by_command.is_some() {
            Nanos::ZERO
        } else {
            self.page_add
        }
    }

    /// Taking a page for another.
    pub fn page_reclaim(&self) -> Nanos {
        self.by_command
            .map_or(Nanos::ZERO, |costs| costs.page_reclaim)
    }

    /// The interrupt of a command of `pages` pages.
    pub fn ending(&self, write: bool, pages: u64) -> Nanos {
        match &self.by_command {
            Some(costs) => costs.of(write).ending(pages),
            None => self.interrupt + Nanos(self.scheduler.0 / 3 + self.page_end.0 * pages),
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
        let model = HostModel::shipped(name).and_then(HostModel::steps);
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
