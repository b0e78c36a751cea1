//! Writes to RAID 5 and 6 in the storage machine: rows wait in the stripe cache, the md thread reads, computes and writes.
//!
//! Submitters sleep while a write waits for a free stripe. The thread takes a processor like any task and its work is booked as
//! a kernel thread's.

use crate::cost::MdCosts;
use crate::files::machine::FileEngine;
use crate::spec::array::{generation, ArraySpec};
use crate::storage::md::thread::MdThread;
use crate::storage::md::{Order, MD_THREAD};
use crate::storage::queued::Owner;
use seekwise_device::Device;
use seekwise_host::block::{unplug_due, BlockQueue};
use seekwise_host::cpu::Payer;
use seekwise_raid::md::plug::MemberRequest;
use seekwise_raid::md::raid5::{Raid5, Sender};
use seekwise_raid::md::volume::Piece;
use seekwise_raid::md::MdGeneration;
use seekwise_sched::kernel::Kernel;
use seekwise_sched::{Priority, ProcessId};
use seekwise_units::{Lba, Nanos, Sectors};
use slab::Slab;

/// A write in the stripe cache: who hears of its end, and what it covers.
#[derive(Clone, Copy, Debug)]
struct Job {
    owner: Owner,
    piece: Piece,
}

pub(crate) struct Stripes {
    raid5: Box<Raid5>,
    generation: MdGeneration,
    thread: MdThread,
    jobs: Slab<Job>,
    hz: u32,
    unplug_at: Nanos,
    sleepers: Vec<ProcessId>,
    pub woken: Vec<ProcessId>,
}

impl Stripes {
    pub fn new(raid5: Box<Raid5>, generation: MdGeneration, hz: u32, costs: MdCosts) -> Self {
        Self {
            raid5,
            generation,
            thread: MdThread::new(costs),
            jobs: Slab::new(),
            hz,
            unplug_at: Nanos::NEVER,
            sleepers: Vec::new(),
            woken: Vec::new(),
        }
    }

    pub fn due(&self) -> Nanos {
        self.thread.due.min(self.unplug_at)
    }

    /// No stripe is free: the process has to sleep until there is one.
    pub fn sleeps(&mut self, process: ProcessId) -> bool {
        let full = self.full();
        if full {
            self.sleepers.push(process);
        }
        full
    }

    pub fn full(&self) -> bool {
        self.raid5.waits_for_stripe()
    }

    /// A write arrives.
    pub fn write(&mut self, now: Nanos, owner: Owner, start: Lba, sectors: Sectors, sync: bool) {
        let piece = Piece {
            member: 0,
            start,
            sectors,
            volume_end: start + sectors,
        };
        let job = self.jobs.insert(Job { owner, piece }) as u32;
        self.thread.stripe_writes_sync = sync && self.generation >= MdGeneration::Linux4_4;
        self.raid5
            .submit(job, start, sectors, true, sync, &mut self.thread);
        if self.full() {
            // Who waits for a stripe unplugs.
            self.unplug(now);
        } else {
            self.unplug_at = self.unplug_at.min(unplug_due(now, self.hz));
        }
    }

    /// The submitter's plug ends, or somebody waits.
    pub fn unplug(&mut self, now: Nanos) {
        if self.unplug_at < Nanos::NEVER || self.full() {
            self.unplug_at = Nanos::NEVER;
            self.raid5.unplug();
            self.thread.wake(now);
        }
    }

    /// A request of the cache to a member is back.
    pub fn member_done(&mut self, now: Nanos, piece: &Piece, write: bool) {
        let request = MemberRequest {
            member: piece.member,
            write,
            start: piece.start,
            sectors: piece.sectors,
        };
        self.raid5.complete(request, &mut self.thread);
        self.thread.wake(now);
        if !self.full() {
            self.woken.append(&mut self.sleepers);
        }
    }

    pub fn request_free(&mut self, now: Nanos) {
        self.thread.request_free(now);
    }
}

impl<Q: BlockQueue, D: Device> FileEngine<Q, D> {
    /// Writes go through the array's stripe cache, if it has one.
    pub fn write_stripes(
        &mut self,
        array: &ArraySpec,
        name: &str,
        kernel: Kernel,
    ) -> Result<(), String> {
        let generation = generation(name)?;
        let most = self.member_sectors_max();
        let Some(raid5) = array.stripe_cache(&self.storage.volume, generation, most) else {
            return Ok(());
        };
        let costs = MdCosts::of_kernel((
            u32::from(kernel.version.0),
            u32::from(kernel.version.1),
            u32::from(kernel.version.2),
        ));
        self.host.stripes = Some(Box::new(Stripes::new(raid5, generation, kernel.hz, costs)));
        Ok(())
    }

    /// The plug's timer is due, or the md thread.
    pub(crate) fn run_stripes(&mut self) {
        let mut stripes = self.host.stripes.take().expect("only stripes are due");
        let now = self.now;
        if stripes.unplug_at <= now {
            stripes.unplug(now);
        } else if stripes.thread.begins(now) {
            self.take_processor();
            self.host.payer = Payer::KernelThread;
            stripes.raid5.run_thread(&mut stripes.thread);
            let work = stripes.raid5.take_work();
            let before = stripes.thread.busy;
            stripes.thread.plan(now, Some(&work));
            let takes = stripes.thread.busy - before;
            self.spend(takes);
            stripes.thread.due = self.host.processor_free.max(now);
            if !stripes.full() {
                stripes.woken.append(&mut stripes.sleepers);
            }
        } else {
            self.end_turn(&mut stripes);
        }
        self.host.stripes = Some(stripes);
    }

    /// A turn's work is done: writes that are through are told, requests go out.
    fn end_turn(&mut self, stripes: &mut Stripes) {
        let now = self.now;
        self.host.payer = Payer::KernelThread;
        let finishing = core::mem::take(&mut stripes.thread.finishing_now);
        let wake = now.max(self.host.processor_free) + self.host.costs.switch;
        for job in &finishing {
            let Job { owner, piece } = stripes.jobs.remove(*job as usize);
            self.tell(owner, &piece, wake);
        }
        stripes.thread.recycle(finishing);
        while let Some(order) = stripes.thread.out.pop_front() {
            if !self.send_order(&order) {
                stripes.thread.out.push_front(order);
                stripes.thread.sleep_for_request();
                return;
            }
        }
        self.unplug_members();
        stripes.thread.rest(now);
    }
}

impl Order {
    /// A request of the stripe cache.
    pub(crate) fn of_stripe(request: &MemberRequest, sender: Sender, writes_sync: bool) -> Self {
        let Sender::Stripe(stripe) = sender else {
            unreachable!("only the thread sends for stripes");
        };
        Self {
            owner: crate::storage::md::Owner::Stripe(stripe),
            piece: Piece {
                member: request.member,
                start: request.start,
                sectors: request.sectors,
                volume_end: Lba(0),
            },
            write: request.write,
            sync: !request.write || writes_sync,
            no_idle: false,
            process: MD_THREAD,
            priority: Priority::default(),
        }
    }
}
