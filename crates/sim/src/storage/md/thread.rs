//! The md thread: asleep, at work on what to send, or asleep for a request of a member.

use crate::cost::MdCosts;
use crate::storage::md::member_bio::{MemberBio, Owner};
use crate::storage::md::MD_THREAD;
use seekwise_host::cpu::SharedProcessor;
use seekwise_raid::md::plug::MemberRequest;
use seekwise_raid::md::raid5::{BioId, Outbox, Sender, StripeWork};
use seekwise_units::Nanos;
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Asleep,
    /// Gets the processor at `due`.
    Woken,
    /// Its work is done at `due`; then it sends.
    Working,
    WaitsForRequest,
    /// Pages of the bitmap are under way.
    WaitsForBitmap,
}

pub(crate) struct MdThread {
    pub(super) costs: MdCosts,
    /// The machine's, where there is but one for all.
    processor: Option<SharedProcessor>,
    state: State,
    pub due: Nanos,
    /// Something came up while it was at work.
    again: bool,
    /// Interrupts keep its processor until then.
    interrupted: Nanos,
    /// Processor time so far.
    pub busy: Nanos,
    pub out: VecDeque<MemberBio>,
    /// Mirrored writes that nobody has sent yet.
    pub mirrored: VecDeque<MemberBio>,
    /// Jobs of the stripe cache that are through, notified in the next turn, and in the running one.
    pub finishing: Vec<BioId>,
    /// Mirrored writes whose bits are on the members, when that was waited for.
    covered: Option<usize>,
    pub finishing_now: Vec<BioId>,
    /// What a resync gives it: requests of stripes, and steps whose stripes it has to look at once more, in the next turn and in the running one.
    pub resync_out: VecDeque<MemberBio>,
    pub resync_ends: Vec<u32>,
    pub resync_ends_now: Vec<u32>,
    resync_work: StripeWork,
    /// Writes of the stripe cache are sent as synchronous ones.
    pub stripe_writes_sync: bool,
}

/// What the stripe cache does becomes the thread's work.
impl Outbox for MdThread {
    #[inline]
    fn issue(&mut self, request: MemberRequest, sender: Sender) {
        let Sender::Stripe(stripe) = sender else {
            unreachable!("only the thread sends for stripes");
        };
        let sectors = (request.member, request.start, request.sectors);
        let sync = !request.write || self.stripe_writes_sync;
        let owner = Owner::Stripe(stripe);
        let order = MemberBio::own(owner, MD_THREAD, sectors, request.write, sync);
        self.out.push_back(order);
    }

    #[inline]
    fn done(&mut self, id: BioId) {
        self.finishing.push(id);
    }
}

impl MdThread {
    /// A sleeping thread with a processor of its own.
    pub fn new(costs: MdCosts) -> Self {
        Self {
            costs,
            processor: None,
            state: State::Asleep,
            due: Nanos::NEVER,
            again: false,
            interrupted: Nanos::ZERO,
            busy: Nanos::ZERO,
            out: VecDeque::new(),
            mirrored: VecDeque::new(),
            finishing: Vec::new(),
            covered: None,
            finishing_now: Vec::new(),
            resync_out: VecDeque::new(),
            resync_ends: Vec::new(),
            resync_ends_now: Vec::new(),
            resync_work: StripeWork::default(),
            stripe_writes_sync: false,
        }
    }

    /// From now on the thread books the machine's only processor.
    pub fn sharing(&mut self, processor: SharedProcessor) {
        self.processor = Some(processor);
    }

    /// When this work is done that it begins now.
    #[inline]
    fn works(&mut self, now: Nanos, work: Nanos) -> Nanos {
        self.busy += work;
        match &self.processor {
            Some(processor) => processor.book(now, work),
            None => now.max(self.interrupted) + work,
        }
    }

    /// A request that it sent has ended: the interrupt pushes it aside.
    #[inline]
    pub fn sent_ends(&mut self, now: Nanos) {
        if self.processor.is_some() || self.costs.end == Nanos::ZERO {
            return;
        }
        self.busy += self.costs.end;
        match self.state {
            State::Woken | State::Working => self.due = self.due.max(now) + self.costs.end,
            _ => self.interrupted = self.interrupted.max(now) + self.costs.end,
        }
    }

    /// There is work: a sleeping thread wakes, a working one takes another turn afterwards.
    pub fn wake(&mut self, now: Nanos) {
        if self.state == State::Asleep {
            self.state = State::Woken;
            self.due = self.works(now, self.costs.switch);
        } else if self.state != State::Woken {
            self.again = true;
        }
    }

    /// It has the processor: true when it begins a turn, false when a turn's work is done.
    pub fn begins(&mut self, _now: Nanos) -> bool {
        self.state == State::Woken
    }

    /// The turn's work takes until `due`; `bitmap` is what a bitmap adds to it.
    #[inline]
    pub fn plan(&mut self, now: Nanos, work: Option<&StripeWork>, bitmap: Nanos) {
        let covered = self.covered.take();
        if !self.mirrored.is_empty() {
            let covered = covered.unwrap_or(self.mirrored.len());
            self.out.extend(self.mirrored.drain(..covered));
            self.again |= !self.mirrored.is_empty();
        }
        core::mem::swap(&mut self.finishing, &mut self.finishing_now);
        core::mem::swap(&mut self.resync_ends, &mut self.resync_ends_now);
        self.out.append(&mut self.resync_out);
        let sent = self.out.len() as u64;
        let takes = match work {
            Some(work) => self.costs.time(work, sent),
            None => Nanos(self.costs.request.0 * sent),
        } + self.costs.time(&core::mem::take(&mut self.resync_work), 0)
            + bitmap;
        self.due = self.works(now, takes);
        self.state = State::Working;
    }

    /// It has nothing to wait for before it sends: no page of the bitmap, or those of all that it will send.
    pub fn is_covered(&self) -> bool {
        self.covered.is_some()
    }

    /// Sleeps until pages of the bitmap are written, or until there is a request for the next of them.
    pub fn sleep_for_bitmap(&mut self) {
        self.covered.get_or_insert(self.mirrored.len());
        self.state = State::WaitsForBitmap;
        self.due = Nanos::NEVER;
    }

    /// Pages of the bitmap are written, or a request is free for the next; ignored unless the thread waits for that.
    pub fn bitmap_goes_on(&mut self, now: Nanos) {
        if self.state == State::WaitsForBitmap {
            self.state = State::Woken;
            self.due = self.works(now, self.costs.switch);
        }
    }

    /// Stripes of a resync are part of its next turn.
    pub fn works_for_resync(&mut self, now: Nanos, work: StripeWork) {
        self.resync_work += work;
        self.wake(now);
    }

    /// Takes back the list of notified jobs, to be filled again.
    pub fn recycle(&mut self, mut notified: Vec<BioId>) {
        notified.clear();
        self.finishing_now = notified;
    }

    /// Sleeps until a member has a request free.
    pub fn sleep_for_request(&mut self) {
        self.state = State::WaitsForRequest;
        self.due = Nanos::NEVER;
    }

    /// Whether a free request of a member would let it go on: for data or for pages of the bitmap.
    pub fn sleeps_for_request(&self) -> bool {
        matches!(self.state, State::WaitsForRequest | State::WaitsForBitmap)
    }

    /// A member has a request free; ignored unless the thread waits for that.
    pub fn request_free(&mut self, now: Nanos) {
        if self.state == State::WaitsForRequest {
            self.state = State::Working;
            self.due = self.works(now, self.costs.switch);
        }
    }

    /// Everything is sent: the next turn or round, or sleep.
    pub fn rest(&mut self, now: Nanos, goes_on: bool) {
        if core::mem::take(&mut self.again) || goes_on {
            self.state = State::Woken;
            self.due = now;
        } else {
            self.state = State::Asleep;
            self.due = Nanos::NEVER;
        }
    }
}
