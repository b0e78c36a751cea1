//! Tasks with files over md or a drive alone, on processors whose steps are booked one by one, and md's thread, which comes before them at equal
//! times.

use crate::cost::{ByCommand, StepCosts};
use crate::engine::{Engine, Tasks};
use crate::files::{Files, BIO_PAGES};
use crate::storage::attached::Given;
use crate::storage::md::files::{DriveEvent, Hosted};
use crate::storage::md::member_bio::{MemberBio, Owner};
use crate::storage::md::Md;
use crate::storage::{Stack, Storage};
use seekwise_device::Device;
use seekwise_host::block::{BlockQueue, Observer, Unobserved};
use seekwise_host::cpu::{Payer, Processors, Times};
use seekwise_raid::md::volume::{Piece, Volume};
use seekwise_sched::{Direction, Priority, ProcessId};
use seekwise_units::{Lba, Nanos, Sectors, PAGE_SECTORS};

const WRITE_SECTORS_MAX: u64 = BIO_PAGES * PAGE_SECTORS;

/// How a range is handed to the volume, and for whom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sender {
    /// The operation, which hears of the ends of its pieces.
    pub io: u32,
    pub process: ProcessId,
    pub write: bool,
    pub sync: bool,
    pub no_idle: bool,
    pub priority: Priority,
    /// Cost of the submitter for each bio; direct calls book theirs beforehand.
    pub bio: Nanos,
    /// What md takes of the submitter's time before the bio's copies go out.
    pub md: Nanos,
}

impl Sender {
    fn order(&self, piece: Piece) -> MemberBio {
        MemberBio {
            owner: Owner::File(self.io),
            piece,
            write: self.write,
            sync: self.sync,
            no_idle: self.no_idle,
            process: self.process,
            priority: self.priority,
        }
    }
}

/// The engine over a volume whose users are tasks with files.
pub type FileEngine<Q, D, O = Unobserved> = Engine<Hosted<Q, D>, O, Host>;

/// Those users and the processors that they share.
pub struct Host {
    pub(crate) costs: StepCosts,
    /// When the processor of the running step is free, and when the others are.
    pub(crate) processor_free: Nanos,
    pub(crate) other_processors: Vec<Nanos>,
    /// Processor time since the phase began, and who pays for the running step.
    pub(crate) times: Times,
    pub(crate) payer: Payer,
    pub(crate) files: Option<Box<Files>>,
    /// Reading ahead past a page that is there runs the drives at once (2.6.32.y, 2.6.34 on: blk_run_backing_dev).
    pub kick_after_mark: bool,
    /// The plug is the queue's, not the task's (2.6.38 and before).
    pub queue_plug: bool,
    /// When the interrupts so far are served, one after the other.
    interrupts_free: Nanos,
    /// Writers that sleep until a stripe is free.
    wait_for_stripe: Vec<ProcessId>,
    /// Writes and their pages that were paid for with a direct call, and that no drive has yet.
    pub(crate) paid: (u64, u64),
}

/// The host's next step, and until when it works.
struct Until {
    end: Nanos,
    /// It ends with the last phase: md's own work beside the load has no end.
    phases: bool,
    next: (Nanos, Source),
}

impl<Q: BlockQueue, D: Device, O: Observer> Tasks<Hosted<Q, D>, O, Host> for Until {
    fn at_work(&mut self, engine: &mut FileEngine<Q, D, O>) -> bool {
        if self.phases && engine.host.files.as_ref().is_some_and(|files| files.over()) {
            return false;
        }
        self.next = engine.next_of_host();
        let storage = engine.storage.next_at().min(engine.storage.timer());
        let first = storage.min(self.next.0);
        first < Nanos::NEVER && first.max(engine.now) <= self.end
    }

    fn next_at(&self, _engine: &FileEngine<Q, D, O>) -> Nanos {
        self.next.0
    }

    fn storage_due(&mut self, engine: &mut FileEngine<Q, D, O>) {
        let alone = engine.storage.md.members.len() == 1;
        // A controller alone below the host takes the steps of which the host hears nothing, up to the next one that the host takes.
        let until = self.end.min(self.next.0).min(engine.storage.timer());
        while !engine.drive_done() && alone {
            let next = engine.storage.next_at();
            if next > until || next == Nanos::NEVER {
                break;
            }
            engine.now = next.max(engine.now);
        }
        engine.wake_for_requests();
    }

    fn timer_fired(&mut self, engine: &mut FileEngine<Q, D, O>) {
        engine.wake_for_requests();
    }

    fn act(&mut self, engine: &mut FileEngine<Q, D, O>) {
        match self.next.1 {
            Source::Task(task) => engine.step_task(task),
            Source::MdThread => engine.run_md_thread(),
        }
        engine.wake_for_requests();
    }
}

impl<Q: BlockQueue, D: Device, O: Observer> FileEngine<Q, D, O> {
    /// A machine with one processor over `md`, nothing running and no files yet.
    pub fn over(md: Md<Q, D>, costs: StepCosts, observer: O) -> Self {
        let host = Host {
            costs,
            processor_free: Nanos::ZERO,
            other_processors: Vec::new(),
            times: Times::default(),
            payer: Payer::System,
            files: None,
            kick_after_mark: false,
            queue_plug: false,
            interrupts_free: Nanos::ZERO,
            wait_for_stripe: Vec::new(),
            paid: (0, 0),
        };
        let storage = Hosted::new(md);
        let whole = Sectors(u64::MAX);
        Self::around(host, storage, observer, Processors::new(1), whole)
    }

    /// Runs until `end`, or with `phases` until the last one is over; calls still under way then are left out.
    pub(crate) fn run_until(&mut self, end: Nanos, phases: bool) {
        let next = (Nanos::NEVER, Source::MdThread);
        let through = self.run(&mut Until { end, phases, next });
        debug_assert!(through.is_ok(), "it looks for events before it waits");
    }

    fn next_of_host(&self) -> (Nanos, Source) {
        // The md thread wants a processor like any task.
        let due = self.storage.md.thread_at();
        let mut best = (Nanos::NEVER, Source::MdThread);
        if due < Nanos::NEVER {
            best.0 = due.max(self.earliest_processor());
        }
        if let Some(files) = &self.host.files {
            let (time, _, task) = files.next_task(self.earliest_processor());
            if time < best.0 {
                best = (time, Source::Task(task));
            }
        }
        best
    }

    fn earliest_processor(&self) -> Nanos {
        self.host
            .other_processors
            .iter()
            .fold(self.host.processor_free, |first, &free| first.min(free))
    }

    /// The step to come runs on the processor that is free first.
    pub(crate) fn take_processor(&mut self) {
        if let Some(first) = self.host.other_processors.iter_mut().min() {
            if *first < self.host.processor_free {
                core::mem::swap(first, &mut self.host.processor_free);
            }
        }
    }

    /// When a drive or a queue is due next.
    pub(crate) fn next_drive_event(&self) -> Nanos {
        let thread = self.storage.md.thread_at();
        let storage = &self.storage;
        thread.min(storage.next_at()).min(storage.timer())
    }

    pub(crate) fn begin_plugs(&mut self) {
        self.storage.md.begin_plug();
    }

    pub(crate) fn end_plugs(&mut self) {
        self.storage.md.end_plugs(self.now, &mut self.observer);
        self.storage.md.unplug_stripes(self.now);
    }

    /// A volume that is no drive's own is md's.
    pub(crate) fn md_bio(&self) -> Nanos {
        match self.storage.md.volume {
            Volume::Single { .. } => Nanos::ZERO,
            _ => self.host.costs.md_bio,
        }
    }

    /// Written as the host knows, and not yet on a drive.
    pub(crate) fn held_bytes(&self) -> u64 {
        let held = |drive: &D| drive.held().0;
        let members = self.storage.md.members.iter();
        members.map(|member| held(&member.drive.device)).sum()
    }

    /// A task that sleeps on I/O unplugs the volume and every drive below it.
    pub(crate) fn unplug_all(&mut self) {
        self.storage.md.unplug_stripes(self.now);
        self.storage.md.unplug_members(self.now, &mut self.observer);
    }

    /// A queue is congested: background write-back should stop sending to it.
    pub(crate) fn congested(&self) -> bool {
        self.storage.md.congested(Direction::Write, false)
    }

    /// What the running step has booked so far is done by then.
    pub(crate) fn busy_until(&self) -> Nanos {
        self.host.processor_free.max(self.now)
    }

    /// Who is woken now runs from then on.
    pub(crate) fn wakes_at(&self) -> Nanos {
        self.busy_until() + self.host.costs.switch
    }

    pub(crate) fn spend(&mut self, cost: Nanos) {
        self.book(self.host.payer, cost);
    }

    fn book(&mut self, payer: Payer, cost: Nanos) {
        let begin = self.busy_until();
        self.host.processor_free = begin + cost;
        self.host.times.book(payer, begin, cost);
    }

    /// Who made a queue give commands to drives pays for that.
    pub(crate) fn spend_commands(&mut self) {
        let each = self.host.costs.port_command.0 + 2 * self.host.costs.scheduler.0 / 3;
        let by_command = self.host.costs.by_command;
        if each == 0 && by_command.is_none() {
            return;
        }
        let mut given = [Given::default(); 2];
        for member in &mut self.storage.md.members {
            for (sum, new) in given
                .iter_mut()
                .zip(core::mem::take(&mut member.drive.given))
            {
                sum.commands += new.commands;
                sum.sectors += new.sectors;
            }
        }
        let [reads, writes] = given;
        let cost = match by_command {
            None => Nanos(each * (reads.commands + writes.commands)),
            Some(costs) => self.cost_of_commands(&costs, reads, writes),
        };
        self.spend(cost);
    }

    /// Readers have paid up to the driver, and direct writers; write-back pays when the drive has the command, and a scheduler once for all
    /// that it dispatches in one run: what it costs a request alone is mostly the waking for it.
    fn cost_of_commands(&mut self, costs: &ByCommand, reads: Given, writes: Given) -> Nanos {
        let pages = |given: Given| given.sectors / PAGE_SECTORS;
        let behind = costs.read.behind(reads.commands, pages(reads))
            + costs.write.behind(writes.commands, pages(writes));
        let (paid, paid_pages) = self.host.paid;
        let left = writes.commands.saturating_sub(paid);
        let left_pages = pages(writes).saturating_sub(paid_pages);
        self.host.paid = (
            paid.saturating_sub(writes.commands),
            paid_pages.saturating_sub(pages(writes)),
        );
        let write = &costs.write;
        let submitting = Nanos(write.submit.0 * left + write.submit_page.0 * left_pages);
        let run = if left > 0 {
            write.scheduler
        } else {
            Nanos::ZERO
        };
        behind + submitting + run
    }

    /// The program's own work.
    pub(crate) fn spend_user(&mut self, cost: Nanos) {
        self.book(Payer::User, cost);
    }

    /// What comes of a drive is heard. False when the host has nothing to do with it.
    fn drive_done(&mut self) -> bool {
        self.host.payer = Payer::Interrupt;
        let index = match self.storage.take_drive_event() {
            DriveEvent::Served { member, tag } => {
                self.queue_done(member, tag);
                return true;
            }
            DriveEvent::Step { member } => member,
            DriveEvent::Background => {
                let (now, md) = (self.now, &mut self.storage.md);
                md.background_runs(now, now, &mut self.observer);
                return true;
            }
        };
        // A fake controller's mapping and parity are the driver's work.
        let (done, work) = self.storage.md.drive_steps(self.now, index);
        let Some(tag) = done else {
            self.spend(work);
            return work > Nanos::ZERO;
        };
        let member = &self.storage.md.members[index];
        if tag == member.drive.flush_tag() {
            let md = &mut self.storage.md;
            if md.member_flushed(self.now, index, &mut self.observer) {
                self.flush_done();
            }
            return true;
        }
        // The pages end before the queue is run: a drive without anything else to do has turned on by then.
        let (write, sectors) = member.queue.served(tag);
        let work = self.host.costs.ending(write, sectors.0 / PAGE_SECTORS) + work;
        self.spend(work);
        self.host.interrupts_free = self.host.interrupts_free.max(self.now) + work;
        if self.host.interrupts_free > self.now {
            self.storage.notify(self.host.interrupts_free, index, tag);
        } else {
            self.queue_done(index, tag);
        }
        true
    }

    /// The interrupt of a command has been served: its queue hears of it, and runs.
    fn queue_done(&mut self, index: usize, tag: u32) {
        self.storage
            .md
            .command_done(self.now, index, tag, &mut self.observer);
        self.spend_commands();
        let wake = self.wakes_at();
        self.notify_pieces(wake);
        if let Some(mut files) = self.host.files.take() {
            self.end_congestion(&mut files);
            self.host.files = Some(files);
        }
    }

    /// The files' side hears what has ended, and runs from `wake` on.
    fn notify_pieces(&mut self, wake: Nanos) {
        if let Some(files) = &mut self.host.files {
            for (io, read) in self.storage.md.pieces_done.drain(..) {
                files.piece_done(io, read);
            }
            files.wake(wake);
        }
    }

    /// The plug's timer is due, or the md thread, whose work is booked as a kernel thread's.
    fn run_md_thread(&mut self) {
        let (now, md) = (self.now, &mut self.storage.md);
        if md.plug_is_due(now) {
            md.unplug_stripes(now);
            return;
        }
        if md.thread.begins(now) {
            self.take_processor();
        }
        self.host.payer = Payer::KernelThread;
        let wake = self.wakes_at();
        let md = &mut self.storage.md;
        let (begins, before) = (md.thread.begins(now), md.thread.busy);
        md.thread_runs(now, &mut self.observer);
        // It may have gone to sleep until pages of the bitmap are written.
        if begins && md.thread.due < Nanos::NEVER {
            let takes = md.thread.busy - before;
            self.spend(takes);
            self.storage.md.thread.due = self.busy_until();
        }
        if !self.storage.md.pieces_done.is_empty() {
            self.notify_pieces(wake);
        }
    }

    fn wake_for_requests(&mut self) {
        let wake = self.now + self.host.costs.switch;
        let Some(files) = &mut self.host.files else {
            return;
        };
        if !self.host.wait_for_stripe.is_empty() && !self.storage.md.stripes_full() {
            for process in self.host.wait_for_stripe.drain(..) {
                files.wake_for_request(process, wake);
            }
        }
        while let Some(process) = self.storage.md.take_woken() {
            files.wake_for_request(process, wake);
        }
    }

    /// The longest request of a member's queue.
    pub(crate) fn member_sectors_max(&self) -> Sectors {
        self.storage.md.members[0].queue.max_sectors()
    }

    /// Hands a range of the volume down. Gives the number of pieces sent, and what was left when no request was free.
    pub(crate) fn send_range(
        &mut self,
        sender: &Sender,
        start: Lba,
        sectors: Sectors,
    ) -> (u32, Option<(Lba, Sectors)>) {
        let (mut count, mut start, mut left) = (0, start, sectors);
        loop {
            let part = self.part_of(sender.write, start, left);
            let (sent, rest) = self.send_part(sender, start, part);
            count += sent;
            left = Sectors(left.0 - part.0);
            if let Some((from, unsent)) = rest {
                return (count, Some((from, Sectors(unsent.0 + left.0))));
            }
            if left.0 == 0 {
                return (count, None);
            }
            start = start + part;
        }
    }

    /// How much of a range goes down at once. Writes are cut at fixed places: one that slept between its copies is cut there again.
    fn part_of(&self, write: bool, start: Lba, sectors: Sectors) -> Sectors {
        let most = self.max_sectors.0;
        if most >= WRITE_SECTORS_MAX && (write || sectors.0 <= most) {
            return sectors;
        }
        let part = if write { most - start.0 % most } else { most };
        sectors.min(Sectors(part))
    }

    fn send_part(
        &mut self,
        sender: &Sender,
        start: Lba,
        sectors: Sectors,
    ) -> (u32, Option<(Lba, Sectors)>) {
        let write = sender.write;
        if let Some(outcome) = self.leave_to_thread(sender, start, sectors) {
            return outcome;
        }
        let md = &mut self.storage.md;
        let mut pieces = core::mem::take(&mut md.pieces);
        pieces.clear();
        if !write {
            md.volume.read(start, sectors, &mut pieces);
        } else if let Some(place) = md.place_stalled(sender.process, sender.io) {
            // A process that slept between the copies of a write goes on with the copy that was not sent.
            pieces.extend(md.take_stalled(place).iter().map(|order| order.piece));
        } else {
            md.copies_of_write(start, sectors, &mut pieces);
        }
        self.spend(sender.md);
        let mut rest = None;
        let mut count = 0;
        for (place, &piece) in pieces.iter().enumerate() {
            self.spend(sender.bio);
            let md = &mut self.storage.md;
            if !write && md.reads_missing(self.now, sender.io, &piece) {
                count += 1;
                continue;
            }
            if !md.send(self.now, &sender.order(piece), &mut self.observer) {
                if write {
                    let orders: Vec<MemberBio> = pieces[place..]
                        .iter()
                        .map(|&piece| sender.order(piece))
                        .collect();
                    md.stall(sender.process, sender.io, &orders);
                } else {
                    // Taken back, to choose again.
                    md.volume.piece_done(&piece);
                }
                let sent = piece.volume_end.0 - piece.sectors.0 - start.0;
                rest = Some((start + Sectors(sent), Sectors(sectors.0 - sent)));
                break;
            }
            count += 1;
        }
        self.storage.md.pieces = pieces;
        (count, rest)
    }

    /// Hands a write to md's thread, where that sends to the members: parity, and mirrors with a bitmap. None where it does not.
    fn leave_to_thread(
        &mut self,
        sender: &Sender,
        start: Lba,
        sectors: Sectors,
    ) -> Option<(u32, Option<(Lba, Sectors)>)> {
        if !sender.write {
            return None;
        }
        let md = &mut self.storage.md;
        if md.has_stripes() {
            if md.stripes_full() {
                self.host.wait_for_stripe.push(sender.process);
                return Some((0, Some((start, sectors))));
            }
            md.write_file_stripes(self.now, sender.io, (start, sectors), sender.sync);
            self.spend(sender.bio);
            return Some((1, None));
        }
        if md.mirrors_wait_for_bitmap() {
            md.write_file_mirrors(
                self.now,
                (start, sectors),
                |piece| sender.order(piece),
                sender.io,
            );
            self.spend(sender.md + sender.bio);
            return Some((1, None));
        }
        None
    }

    /// Of `pages` pages written one by one from `start` on: how many do nothing but lengthen requests that wait already, and the
    /// number of copies of each.
    pub(crate) fn joining_pages(&mut self, sender: &Sender, start: Lba, pages: u64) -> (u64, u64) {
        let md = &mut self.storage.md;
        if md.volume.parity().is_some() || md.mirrors_wait_for_bitmap() {
            return (0, 1);
        }
        let mut pieces = core::mem::take(&mut md.pieces);
        pieces.clear();
        md.copies_of_write(start, Sectors(PAGE_SECTORS), &mut pieces);
        let copies = pieces.len() as u64;
        let mut room = pages * PAGE_SECTORS;
        for &piece in &pieces {
            let queue = &md.members[piece.member as usize].queue;
            room = room.min(queue.room_behind(&sender.order(piece).bio(0)).0);
        }
        if room > PAGE_SECTORS {
            // Not past the end of a chunk.
            pieces.clear();
            md.copies_of_write(start, Sectors(room), &mut pieces);
            room = room.min(pieces[0].sectors.0);
        }
        md.pieces = pieces;
        (room / PAGE_SECTORS, copies)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    MdThread,
    Task(usize),
}
