//! The steps of a resync on the members: what is read, what is written after it.

use crate::storage::md::member_bio::{MemberBio, Owner};
use crate::storage::md::{Md, MD_THREAD, RESYNC_THREAD};
use seekwise_device::Device;
use seekwise_host::block::{BlockQueue, Observer};
use seekwise_raid::md::raid5::{StripeWork, PAGE};
use seekwise_raid::md::resync::{Resync, Speed};
use seekwise_raid::md::volume::Volume;
use seekwise_units::{Lba, Nanos, Sectors};
use slab::Slab;
use std::collections::VecDeque;

/// Mirrors are copied in blocks of 64 KiB, 32 of them at once (RESYNC_BLOCK_SIZE and RESYNC_WINDOW, drivers/md/raid1.c).
const MIRROR_STEP: Sectors = Sectors::from_kib(64);
const MIRROR_STEPS: u32 = 32;
/// Stripes with parity go row by row through the stripe cache, joined by the thread's plug (128 KiB), until no head is free.
const PARITY_STEP: Sectors = Sectors::from_kib(128);

/// Stripe heads of a rebuild whose first seconds are over: it finds none at most once a tick, of 4 ms at 250 Hz, and each time one is added.
const GROWN: usize = 1_024;

/// Requests of one step to members.
type Pieces = Vec<(u32, u64)>;

#[derive(Clone, Debug)]
struct Step {
    from: u64,
    length: u64,
    left: u32,
    writes: bool,
    /// Stripe heads of its rows.
    heads: Vec<u32>,
}

/// A resync at work: its pace, steps under way, requests that found no room.
pub(crate) struct Background {
    resync: Resync,
    steps: Slab<Step>,
    backlog: VecDeque<MemberBio>,
    /// Backlog may be tried again.
    retry_at: Nanos,
    /// Copies and parity are compared, and nothing is written.
    check: bool,
    /// It found no stripe head free.
    lacks_heads: bool,
    /// Lists of heads, used again.
    spare: Vec<Vec<u32>>,
}

impl Background {
    /// When it goes on; with a backlog only once a request has become free.
    pub fn due(&self) -> Nanos {
        if self.lacks_heads {
            self.retry_at
        } else if self.backlog.is_empty() {
            self.resync.due.min(self.retry_at)
        } else {
            self.retry_at
        }
    }

    /// With nothing left to send, what was due while the backlog waited is due now.
    fn settle(&mut self, now: Nanos) {
        if self.backlog.is_empty() && !self.lacks_heads {
            self.retry_at = Nanos::NEVER;
            self.resync.due = self.resync.due.max(now);
        }
    }

    /// A request has become free on the member that the backlog waits for.
    pub fn retry(&mut self, now: Nanos) {
        self.retry_at = now;
    }

    /// Sectors of each member that the resync has gone through.
    pub fn through(&self) -> u64 {
        self.resync.through
    }
}

impl<Q: BlockQueue, D: Device> Md<Q, D> {
    /// A resync runs from the start of the array on; where members are missing, the first of them has been replaced and is rebuilt.
    pub fn start_resync(&mut self, speed: Speed, check: bool, stripe_cache_size: u32) {
        let target = self.members.iter().position(|member| member.missing);
        if let Some(target) = target {
            self.members[target].rebuilt = true;
            if let Some(parity) = &mut self.parity {
                parity.set_rebuilt(target as u32, true);
            }
        }
        if let Some(parity) = &mut self.parity {
            parity.grow_to(GROWN);
        }
        let (end, step, steps) = match &self.volume {
            Volume::Parity { map, capacity } => (
                capacity.0 / u64::from(map.members - map.parities),
                PARITY_STEP.min(Sectors(u64::from(stripe_cache_size / 4) * PAGE)),
                u32::MAX,
            ),
            Volume::Raid10 { map, capacity, .. } => {
                (capacity.0, MIRROR_STEP.min(map.chunk), MIRROR_STEPS)
            }
            other => (other.capacity().0, MIRROR_STEP, MIRROR_STEPS),
        };
        self.resync = Some(Background {
            resync: Resync::new(self.generation, speed, end, step, steps),
            steps: Slab::new(),
            backlog: VecDeque::new(),
            retry_at: Nanos::NEVER,
            check,
            lacks_heads: false,
            spare: Vec::new(),
        });
    }

    /// What a step reads first, and what it writes then.
    fn step_pieces(&self, from: u64) -> (Pieces, Pieces) {
        let target = self.members.iter().position(|member| member.rebuilt);
        let present = |member: &u32| !self.members[*member as usize].missing;
        let all = 0..self.members.len() as u32;
        let here = |member: u32| (member, from);
        match &self.volume {
            Volume::Parity { .. } => (
                all.filter(present).map(here).collect(),
                target
                    .map(|target| here(target as u32))
                    .into_iter()
                    .collect(),
            ),
            Volume::Raid10 { map, .. } => {
                let mut copies = Vec::new();
                map.copies(Lba(from), |member, at| copies.push((member, at.0)));
                self.copy(&copies, target)
            }
            _ => self.copy(&all.map(here).collect::<Pieces>(), target),
        }
    }

    /// One present copy is read; of a resync all others are written, of a rebuild the new member.
    fn copy(&self, copies: &Pieces, target: Option<usize>) -> (Pieces, Pieces) {
        let present = |(member, _): &&(u32, u64)| !self.members[*member as usize].missing;
        let Some(&source) = copies.iter().find(present) else {
            return (Vec::new(), Vec::new());
        };
        let written: Pieces = match target {
            Some(target) => copies
                .iter()
                .filter(|(member, _)| *member as usize == target)
                .copied()
                .collect(),
            None => copies
                .iter()
                .filter(|copy| **copy != source)
                .copied()
                .collect(),
        };
        if written.is_empty() {
            (Vec::new(), written)
        } else {
            (vec![source], written)
        }
    }

    pub(crate) fn resync_runs<O: Observer>(&mut self, now: Nanos, observer: &mut O) {
        let mut background = self.resync.take().expect("only a resync is due");
        background.retry_at = Nanos::NEVER;
        background.lacks_heads = false;
        self.send_backlog(now, &mut background, observer);
        let mut heads = background.spare.pop().unwrap_or_default();
        if background.backlog.is_empty()
            && background.resync.due <= now
            && self.holds_heads(&mut background, now, &mut heads)
        {
            let begun = background.resync.begin_step(now, |moved| {
                moved.extend(
                    self.members
                        .iter()
                        .map(|member| member.completed.0 as i64 - member.resynced.0 as i64),
                );
            });
            if let Some((from, length)) = begun {
                let (mut reads, compared) = self.step_pieces(from);
                if background.check && self.parity.is_none() {
                    reads.extend(compared);
                }
                let step = background.steps.insert(Step {
                    from,
                    length,
                    left: reads.len() as u32,
                    writes: false,
                    heads: core::mem::take(&mut heads),
                }) as u32;
                if reads.is_empty() {
                    background.steps.remove(step as usize);
                    background.resync.skip_step(now, length);
                }
                self.pass_over(now, length, reads.len(), 0);
                self.queue(&mut background, step, &reads, length, false);
                self.send_backlog(now, &mut background, observer);
            }
        }
        self.let_go(now, &mut background, heads);
        background.settle(now);
        self.resync = Some(background);
        self.heads_for_resync(now);
    }

    /// The heads of a step's rows are its own; false where they are not free. Then it waits for them as requests do, and one tick more, so that others get some
    /// (raid5_sync_request, drivers/md/raid5.c).
    fn holds_heads(
        &mut self,
        background: &mut Background,
        now: Nanos,
        heads: &mut Vec<u32>,
    ) -> bool {
        let Some(parity) = &mut self.parity else {
            return true;
        };
        let rows = background.resync.step.0.div_ceil(PAGE) as usize;
        if background.resync.takes_step(now) && !parity.hold(rows, heads) {
            background.lacks_heads = true;
            return false;
        }
        true
    }

    fn let_go(&mut self, now: Nanos, background: &mut Background, mut heads: Vec<u32>) {
        if let Some(parity) = self.parity.as_mut().filter(|_| !heads.is_empty()) {
            if parity.let_go(&heads) {
                self.thread.wake(now);
            }
            heads.clear();
        }
        background.spare.push(heads);
    }

    /// Stripe heads may have become free for a resync that lacks them.
    #[inline]
    pub(crate) fn heads_for_resync(&mut self, now: Nanos) {
        if let (Some(background), Some(parity)) = (&mut self.resync, &self.parity) {
            if background.lacks_heads && background.retry_at == Nanos::NEVER && parity.has_room() {
                let tick = 1_000_000_000 / u64::from(self.hz);
                background.retry_at = Nanos((now.0 / tick + 1) * tick);
            }
        }
    }

    /// Requests of mirrors are the resync's own; those of stripes are sent by the thread that sends all of the stripe cache (ops_run_io, drivers/md/raid5.c).
    fn queue(
        &mut self,
        background: &mut Background,
        step: u32,
        pieces: &Pieces,
        length: u64,
        write: bool,
    ) {
        let (process, out) = if self.parity.is_some() {
            (MD_THREAD, &mut self.thread.resync_out)
        } else {
            (RESYNC_THREAD, &mut background.backlog)
        };
        for &(member, at) in pieces {
            let sectors = (member, Lba(at), Sectors(length));
            let owner = Owner::Resync(step);
            out.push_back(MemberBio::own(owner, process, sectors, write, !write));
        }
    }

    fn send_backlog<O: Observer>(
        &mut self,
        now: Nanos,
        background: &mut Background,
        observer: &mut O,
    ) {
        while let Some(order) = background.backlog.pop_front() {
            if !self.send(now, &order, observer) {
                background.backlog.push_front(order);
                return;
            }
        }
    }

    /// A request of a step is back: after the reads the writes, after those the next step.
    pub(crate) fn resync_part_done<O: Observer>(
        &mut self,
        now: Nanos,
        step: u32,
        observer: &mut O,
    ) {
        let mut background = self.resync.take().expect("a resync is under way");
        let state = &mut background.steps[step as usize];
        state.left -= 1;
        let Step {
            from,
            length,
            left,
            writes,
            ..
        } = *state;
        if left == 0 {
            let (read, written) = if writes || background.check {
                (self.members.len(), Vec::new())
            } else {
                let (read, written) = self.step_pieces(from);
                (read.len(), written)
            };
            if !writes {
                self.pass_over(now, length, written.len(), read);
            }
            if written.is_empty() {
                if self.parity.is_some() {
                    self.pass_over(now, length, 0, 0);
                    self.thread.resync_ends.push(step);
                } else {
                    Self::end_step(now, &mut background, step);
                }
            } else {
                let state = &mut background.steps[step as usize];
                state.left = written.len() as u32;
                state.writes = true;
                self.queue(&mut background, step, &written, length, true);
                self.send_backlog(now, &mut background, observer);
            }
        }
        background.settle(now);
        self.resync = Some(background);
        self.heads_for_resync(now);
    }

    fn end_step(now: Nanos, background: &mut Background, step: u32) -> Vec<u32> {
        let step = background.steps.remove(step as usize);
        background.resync.end_step(now);
        step.heads
    }

    /// The thread has looked at stripes of steps for the last time: their heads are free.
    pub(crate) fn resync_steps_end(&mut self, now: Nanos) {
        let mut ended = core::mem::take(&mut self.thread.resync_ends_now);
        let mut background = self.resync.take().expect("steps are of a resync");
        for step in ended.drain(..) {
            let heads = Self::end_step(now, &mut background, step);
            self.let_go(now, &mut background, heads);
        }
        background.settle(now);
        self.resync = Some(background);
        self.thread.resync_ends_now = ended;
        self.heads_for_resync(now);
    }

    /// The thread looks at stripes of a step: to read them, to compute or compare them, to let them go (handle_stripe, drivers/md/raid5.c). `bios` of
    /// each row are sent to members, `sources` go into its parity.
    fn pass_over(&mut self, now: Nanos, sectors: u64, bios: usize, sources: usize) {
        if let Some(parity) = self.volume.parity() {
            let missing = self.members.iter().filter(|member| member.missing).count();
            let (rows, read) = (sectors / PAGE, sources as u64);
            let work = StripeWork::pass(&parity, rows, bios as u64, read, missing == 1);
            self.thread.works_for_resync(now, work);
        }
    }
}
