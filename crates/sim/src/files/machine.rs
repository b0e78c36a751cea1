//! Tasks with files over a volume, on processors whose steps are booked one by one, and md's thread, which comes before them at equal times.

use crate::cost::StepCosts;
use crate::engine::Engine;
use crate::files::stripes::Stripes;
use crate::files::{Files, BIO_PAGES};
use crate::storage::md::{Order, MD_THREAD};
use crate::storage::queued::{Due, Owner, QueuedDrive, QueuedVolume, UnderWay};
use crate::storage::spindle::Spindle;
use crate::storage::Storage;
use crate::task::Tasks;
use seekwise_device::Device;
use seekwise_host::block::{Bio, BlockQueue, Submission, Unobserved};
use seekwise_host::cpu::{Payer, Processors, Times};
use seekwise_raid::md::volume::{Piece, Volume};
use seekwise_sched::{Direction, ProcessId};
use seekwise_units::{Lba, Nanos, Sectors, PAGE_SECTORS};

const WRITE_SECTORS_MAX: u64 = BIO_PAGES * PAGE_SECTORS;

/// How a range is handed to the volume, and for whom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sender {
    pub owner: Owner,
    pub process: ProcessId,
    pub write: bool,
    pub sync: bool,
    pub no_idle: bool,
    /// Cost of the submitter for each bio; direct calls book theirs beforehand.
    pub bio: Nanos,
    /// What md takes of the submitter's time before the bio's copies go out.
    pub md: Nanos,
}

impl Sender {
    fn bio(&self, token: u32, piece: &Piece) -> Bio {
        let direction = Direction::of(self.write);
        Bio {
            sync: self.sync,
            no_idle: self.no_idle,
            ..Bio::new(token, direction, piece.start, piece.sectors, self.process)
        }
    }
}

/// The engine over a volume whose users are tasks with files.
pub type FileEngine<Q, D> = Engine<QueuedVolume<Q, D>, Unobserved, Host>;

/// Those users and the processors that they share.
pub struct Host {
    /// Writes to a volume with parity.
    pub(crate) stripes: Option<Box<Stripes>>,
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
    /// When the interrupts so far are served, one after the other.
    interrupts_free: Nanos,
}

/// The host's next step, and until when it works.
struct Until {
    end: Nanos,
    next: (Nanos, Source),
}

impl<Q: BlockQueue, D: Device> Tasks<QueuedVolume<Q, D>, Unobserved, Host> for Until {
    fn at_work(&mut self, engine: &mut FileEngine<Q, D>) -> bool {
        self.next = engine.next_of_host();
        let storage = engine.storage.next_at().min(engine.storage.timer());
        let first = storage.min(self.next.0);
        first < Nanos::NEVER && first.max(engine.now) <= self.end
    }

    fn next_at(&self, _engine: &FileEngine<Q, D>) -> Nanos {
        self.next.0
    }

    fn storage_due(&mut self, engine: &mut FileEngine<Q, D>) {
        let alone = engine.storage.members.len() == 1;
        // A controller alone below the host takes the steps of which the host hears nothing, up to the next one that the host takes.
        let until = self.end.min(self.next.0).min(engine.storage.timer());
        while !engine.drive_done(engine.storage.members.first_drive()) && alone {
            let next = engine.storage.next_at();
            if next > until || next == Nanos::NEVER {
                break;
            }
            engine.now = next.max(engine.now);
        }
        engine.wake_for_requests();
    }

    fn timer_fired(&mut self, engine: &mut FileEngine<Q, D>) {
        engine.wake_for_requests();
    }

    fn act(&mut self, engine: &mut FileEngine<Q, D>) {
        match self.next.1 {
            Source::Task(task) => engine.step_task(task),
            Source::Stripes => engine.run_stripes(),
        }
        engine.wake_for_requests();
    }
}

impl<Q: BlockQueue, D: Device> FileEngine<Q, D> {
    /// `members`: a queue and a drive each.
    pub fn over(members: Vec<(Q, Spindle<D>)>, volume: Volume, costs: StepCosts) -> Self {
        let host = Host {
            stripes: None,
            costs,
            processor_free: Nanos::ZERO,
            other_processors: Vec::new(),
            times: Times::default(),
            payer: Payer::System,
            files: None,
            kick_after_mark: false,
            interrupts_free: Nanos::ZERO,
        };
        let storage = QueuedVolume::new(members, volume);
        let whole = Sectors(u64::MAX);
        Self::around(host, storage, Unobserved, Processors::new(1), whole)
    }

    /// Runs until `end`; what is under way then does not count.
    pub(crate) fn run_until(&mut self, end: Nanos) {
        let next = (Nanos::NEVER, Source::Stripes);
        let through = self.run(&mut Until { end, next });
        debug_assert!(through.is_ok(), "it looks for events before it waits");
    }

    fn next_of_host(&self) -> (Nanos, Source) {
        let mut best = (Nanos::NEVER, Source::Stripes);
        if let Some(stripes) = &self.host.stripes {
            // The md thread wants a processor like any task.
            let time = stripes.due().max(self.earliest_processor());
            if stripes.due() < Nanos::NEVER && time < best.0 {
                best = (time, Source::Stripes);
            }
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
        let stripes = self
            .host
            .stripes
            .as_ref()
            .map_or(Nanos::NEVER, |stripes| stripes.due());
        let Due { drive, timer } = self.storage.members.first_due();
        stripes.min(drive).min(timer)
    }

    pub(crate) fn begin_plugs(&mut self) {
        for member in self.storage.members.iter_mut() {
            member.queue.begin_plug();
        }
    }

    pub(crate) fn end_plugs(&mut self) {
        for QueuedDrive { queue, spindle, .. } in self.storage.members.iter_mut() {
            queue.end_plug(self.now, spindle, &mut Unobserved);
        }
        if let Some(stripes) = &mut self.host.stripes {
            stripes.unplug(self.now);
        }
    }

    /// A volume that is no drive's own is md's.
    pub(crate) fn md_bio(&self) -> Nanos {
        match self.storage.volume {
            Volume::Single { .. } => Nanos::ZERO,
            _ => self.host.costs.md_bio,
        }
    }

    /// Written as the host knows, and not yet on a drive.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.storage
            .members
            .iter()
            .map(|member| member.spindle.device.held().0)
            .sum()
    }

    /// A task that sleeps on I/O unplugs the volume and every drive below it.
    pub(crate) fn unplug_all(&mut self) {
        if let Some(stripes) = &mut self.host.stripes {
            stripes.unplug(self.now);
        }
        self.unplug_members();
    }

    pub(crate) fn unplug_members(&mut self) {
        for QueuedDrive { queue, spindle, .. } in self.storage.members.iter_mut() {
            queue.process_waits(self.now, spindle, &mut Unobserved);
        }
    }

    pub(crate) fn congested(&self, direction: Direction, sync: bool) -> bool {
        self.host
            .stripes
            .as_ref()
            .is_some_and(|stripes| stripes.full())
            || self
                .storage
                .members
                .iter()
                .any(|member| member.queue.congested(direction, sync))
    }

    pub(crate) fn spend(&mut self, cost: Nanos) {
        let begin = self.host.processor_free.max(self.now);
        self.host.processor_free = begin + cost;
        self.host.times.book(self.host.payer, begin, cost);
    }

    /// Who made a queue give commands to drives pays for that.
    pub(crate) fn spend_commands(&mut self) {
        let each = self.host.costs.port_command.0 + 2 * self.host.costs.scheduler.0 / 3;
        if each == 0 {
            return;
        }
        let given = self.storage.members.take_given();
        self.spend(Nanos(each * given));
    }

    /// The program's own work.
    pub(crate) fn spend_user(&mut self, cost: Nanos) {
        let begin = self.host.processor_free.max(self.now);
        self.host.processor_free = begin + cost;
        self.host.times.book(Payer::User, begin, cost);
    }

    /// False when the host has nothing to do with it.
    fn drive_done(&mut self, index: usize) -> bool {
        self.host.payer = Payer::Interrupt;
        let member = &mut self.storage.members[index];
        if let Some(&(served, tag)) = member.notified.front() {
            if served <= self.now {
                member.notified.pop_front();
                self.queue_done(index, tag);
                return true;
            }
        }
        let done = member.spindle.advance(self.now);
        // A fake controller's mapping and parity are the driver's work.
        let work = core::mem::take(&mut member.spindle.host_work);
        let Some(tag) = done else {
            self.spend(work);
            return work > Nanos::ZERO;
        };
        if tag == member.spindle.flush_tag() {
            self.flush_done();
            return true;
        }
        // The pages end before the queue is run: a drive without anything else to do has turned on by then.
        let pages = member.queue.sectors_of(tag).0 / PAGE_SECTORS;
        let work = self.host.costs.interrupt
            + Nanos(self.host.costs.scheduler.0 / 3 + self.host.costs.page_end.0 * pages)
            + work;
        self.spend(work);
        self.host.interrupts_free = self.host.interrupts_free.max(self.now) + work;
        if self.host.interrupts_free > self.now {
            let notified = (self.host.interrupts_free, tag);
            self.storage.members[index].notified.push_back(notified);
        } else {
            self.queue_done(index, tag);
        }
        true
    }

    /// The interrupt of a command has been served: its queue hears of it, and runs.
    fn queue_done(&mut self, index: usize, tag: u32) {
        let mut finished = core::mem::take(&mut self.storage.finished);
        finished.clear();
        let QueuedDrive { queue, spindle, .. } = &mut self.storage.members[index];
        queue.complete(self.now, tag, spindle, &mut Unobserved, |done| {
            finished.push(done.token)
        });
        self.spend_commands();
        for &token in &finished {
            let UnderWay {
                owner,
                piece,
                write,
            } = self.storage.under_way.remove(token as usize);
            if !write {
                self.storage.volume.piece_done(&piece);
            }
            match owner {
                Owner::File(io) => {
                    if let Some(files) = &mut self.host.files {
                        files.piece_done(io, piece.volume_end, piece.sectors.0);
                    }
                }
                Owner::Stripe => {
                    if let Some(stripes) = &mut self.host.stripes {
                        stripes.member_done(self.now, &piece, write);
                    }
                }
            }
        }
        let wake = self.now.max(self.host.processor_free) + self.host.costs.switch;
        if let Some(mut files) = self.host.files.take() {
            files.wake(wake);
            self.end_congestion(&mut files);
            self.host.files = Some(files);
        }
        self.storage.finished = finished;
    }

    fn wake_for_requests(&mut self) {
        let by_stripes = |stripes: &Stripes| !stripes.woken.is_empty();
        if !self.host.stripes.as_deref().is_some_and(by_stripes)
            && !self
                .storage
                .members
                .iter()
                .any(|member| member.queue.has_woken())
        {
            return;
        }
        let mut woken = Vec::new();
        if let Some(stripes) = &mut self.host.stripes {
            woken.append(&mut stripes.woken);
        }
        for member in self.storage.members.iter_mut() {
            while let Some(process) = member.queue.take_woken() {
                woken.push(process);
            }
        }
        let wake = self.now + self.host.costs.switch;
        for process in woken {
            if process == MD_THREAD {
                if let Some(stripes) = &mut self.host.stripes {
                    stripes.request_free(self.now);
                }
            } else if let Some(files) = &mut self.host.files {
                files.wake_for_request(process, wake);
            }
        }
    }

    /// A write of the stripe cache is through.
    pub(crate) fn tell(&mut self, owner: Owner, piece: &Piece, wake: Nanos) {
        match owner {
            Owner::File(io) => {
                if let Some(mut files) = self.host.files.take() {
                    files.piece_done(io, piece.volume_end, piece.sectors.0);
                    files.wake(wake);
                    self.host.files = Some(files);
                }
            }
            Owner::Stripe => {}
        }
    }

    /// The longest request of a member's queue.
    pub(crate) fn member_sectors_max(&self) -> Sectors {
        self.storage.members[0].queue.max_sectors()
    }

    /// Hands a request of the stripe cache to its member; false when none is free there.
    pub(crate) fn send_order(&mut self, order: &Order) -> bool {
        let entry = UnderWay {
            owner: Owner::Stripe,
            piece: order.piece,
            write: order.write,
        };
        let token = self.storage.under_way.insert(entry) as u32;
        let bio = order.bio(token);
        let QueuedDrive { queue, spindle, .. } =
            &mut self.storage.members[order.piece.member as usize];
        let sent = queue.submit(self.now, &bio, spindle, &mut Unobserved) == Submission::Accepted;
        if !sent {
            self.storage.under_way.remove(token as usize);
        }
        sent
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
        if let Some(stripes) = self.host.stripes.as_mut().filter(|_| write) {
            if stripes.sleeps(sender.process) {
                return (0, Some((start, sectors)));
            }
            stripes.write(self.now, sender.owner, start, sectors, sender.sync);
            self.spend(sender.bio);
            return (1, None);
        }
        let mut pieces = core::mem::take(&mut self.storage.pieces);
        pieces.clear();
        if write {
            self.storage.volume.write(start, sectors, &mut pieces);
        } else {
            self.storage.volume.read(start, sectors, &mut pieces);
        }
        self.spend(sender.md);
        let mut rest = None;
        let mut count = 0;
        // A process that slept between the copies of a write goes on with the copy that was not sent.
        let done = self
            .storage
            .copies_sent
            .iter()
            .position(|(process, _)| write && *process == sender.process)
            .map_or(0, |entry| self.storage.copies_sent.swap_remove(entry).1);
        for (place, &piece) in pieces.iter().enumerate().skip(done) {
            let entry = UnderWay {
                owner: sender.owner,
                piece,
                write,
            };
            let token = self.storage.under_way.insert(entry) as u32;
            let bio = sender.bio(token, &piece);
            self.spend(sender.bio);
            let QueuedDrive { queue, spindle, .. } =
                &mut self.storage.members[piece.member as usize];
            if queue.submit(self.now, &bio, spindle, &mut Unobserved) == Submission::Blocked {
                // Taken back whole; what of it was sent already is not sent again.
                self.storage.under_way.remove(token as usize);
                let sent = if write {
                    let copies = pieces[..place]
                        .iter()
                        .rev()
                        .take_while(|other| other.volume_end == piece.volume_end)
                        .count();
                    if copies > 0 {
                        self.storage.copies_sent.push((sender.process, copies));
                    }
                    piece.volume_end.0 - piece.sectors.0 - start.0
                } else {
                    self.storage.volume.piece_done(&piece);
                    pieces[..place].iter().map(|piece| piece.sectors.0).sum()
                };
                rest = Some((start + Sectors(sent), Sectors(sectors.0 - sent)));
                break;
            }
            count += 1;
        }
        self.storage.pieces = pieces;
        (count, rest)
    }

    /// Of `pages` pages written one by one from `start` on: how many do nothing but lengthen requests that wait already, and the
    /// number of copies of each.
    pub(crate) fn joining_pages(&mut self, sender: &Sender, start: Lba, pages: u64) -> (u64, u64) {
        if self.storage.volume.parity().is_some() {
            return (0, 1);
        }
        let mut pieces = core::mem::take(&mut self.storage.pieces);
        pieces.clear();
        self.storage
            .volume
            .write(start, Sectors(PAGE_SECTORS), &mut pieces);
        let copies = pieces.len() as u64;
        let mut room = pages * PAGE_SECTORS;
        for piece in &pieces {
            let queue = &self.storage.members[piece.member as usize].queue;
            room = room.min(queue.room_behind(&sender.bio(0, piece)).0);
        }
        if room > PAGE_SECTORS {
            // Not past the end of a chunk.
            pieces.clear();
            self.storage.volume.write(start, Sectors(room), &mut pieces);
            room = room.min(pieces[0].sectors.0);
        }
        self.storage.pieces = pieces;
        (room / PAGE_SECTORS, copies)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// The stripe cache of a volume with parity.
    Stripes,
    Task(usize),
}
