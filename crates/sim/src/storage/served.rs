//! A drive that the host's own processor serves: each command is sent and its data received by it.
//!
//! ```text
//!   submit ─▶ sending (processor) ─▶ the drive ─▶ receiving (processor) ─▶ done
//! ```
//!
//! So it is with nbd in the laboratory, whose drives are programs beside the load. For one drive the times of an operation say as much
//! ([`crate::cost`]); of an array each member's request has its own, md hears of a read only when its data have been received, and
//! until then counts the member as busy.
//!
//! A guest's disk (virtio-blk) is served so by a thread of the host's, on a processor that the guest does not see. A command that finds the thread
//! asleep notifies it; one that finds it at work does not (event index), so a plugged list is one notification. What the drive has done wakes it too, and
//! it then takes what has been notified.
//!
//! Modelled:      first come, first served.
//! Not modelled:  who preempts whom, several replies taken at one wake-up; of guests: the host's own queue, polling, what it takes that a completion wakes, the 0.6 us that an exit takes
//!                of the guest's processor (1,762 cycles: M. Tsirkin, kvm-unit-tests, qemu 29b39bc712b5), several threads.

use crate::cost::{Service, Services};
use seekwise_device::{Command, CommandKind, Device, ReportedCache, Tag};
use seekwise_host::cpu::SharedProcessor;
use seekwise_units::{Depth, Nanos, Sectors, PAGE_SECTORS};
use std::collections::VecDeque;

/// What QEMU's thread does for a request. 158 k/s of 4 KiB from a RAM disk by one thread for a guest of four processors, where requests served in
/// the kernel reach 576 (kvm list, 25 July 2022, A. Zhadchenko, 20220725202753.298725-1): 6.3 us. Half before the store has it, assumed.
const GUEST_SEND: Nanos = Nanos(3_150);
/// From a guest's notification until the host's thread runs (qemu-devel, November 2016, S. Hajnoczi on K. Rister's traces: around 20 us).
const GUEST_NOTIFIED: Nanos = Nanos(20_000);
/// Requests of a ring. QEMU hw/block/virtio-blk.c: queue-size, each with a table of its own (indirect descriptors).
const GUEST_RING: u32 = 256;

#[derive(Clone, Debug)]
pub struct Served<D> {
    drive: D,
    processor: SharedProcessor,
    services: Services,
    sending: VecDeque<(Nanos, Command)>,
    receiving: VecDeque<(Nanos, Tag)>,
    /// Of each command that the drive has: whether it is a read, and its pages.
    under_way: Vec<(bool, u64)>,
    worked: Nanos,
    /// A guest's: until when the thread is at work.
    thread: Option<Nanos>,
    /// Commands that it has been notified of, and when it runs for them.
    notified: VecDeque<Command>,
    wakes: Option<Nanos>,
}

impl<D> Served<D> {
    /// An idle drive; `services` is what sending and receiving a command cost the processor.
    pub fn new(drive: D, processor: SharedProcessor, services: Services) -> Self {
        Self {
            drive,
            processor,
            services,
            sending: VecDeque::new(),
            receiving: VecDeque::new(),
            under_way: Vec::new(),
            worked: Nanos::ZERO,
            thread: None,
            notified: VecDeque::new(),
            wakes: None,
        }
    }

    /// The disk of a guest over `store`.
    pub fn in_guest(store: D) -> Self {
        let each = Service {
            send: GUEST_SEND,
            receive: GUEST_SEND,
            ..Service::default()
        };
        let services = Services {
            read: each,
            write: each,
        };
        Self {
            thread: Some(Nanos::ZERO),
            ..Self::new(store, SharedProcessor::default(), services)
        }
    }

    fn service(&self, read: bool) -> &Service {
        if read {
            &self.services.read
        } else {
            &self.services.write
        }
    }

    fn send(&mut self, now: Nanos, command: Command) {
        let (read, pages) = self.under_way[command.tag.0 as usize];
        let service = *self.service(read);
        let sent = self.book(now, service.send + times(service.send_page, pages));
        self.book(sent, service.behind + times(service.behind_page, pages));
        self.sending.push_back((sent, command));
    }

    fn send_notified(&mut self, now: Nanos) {
        self.wakes = None;
        while let Some(command) = self.notified.pop_front() {
            self.send(now, command);
        }
    }

    fn book(&mut self, now: Nanos, work: Nanos) -> Nanos {
        let end = self.processor.book(now, work);
        match &mut self.thread {
            Some(until) => *until = end,
            None => self.worked += work,
        }
        end
    }
}

fn times(each: Nanos, pages: u64) -> Nanos {
    Nanos(each.0 * pages)
}

impl<D: Device + Clone> Device for Served<D> {
    fn capacity(&self) -> Sectors {
        self.drive.capacity()
    }

    fn depth(&self) -> Depth {
        let own = self.drive.depth();
        self.thread.map_or(own, |_| own.min(Depth(GUEST_RING)))
    }

    fn write_cache(&self) -> ReportedCache {
        self.drive.write_cache()
    }

    fn submit(&mut self, now: Nanos, command: Command) {
        let read = command.kind == CommandKind::Read;
        let pages = command.sectors.0.div_ceil(PAGE_SECTORS);
        let index = command.tag.0 as usize;
        if self.under_way.len() <= index {
            self.under_way.resize(index + 1, (false, 0));
        }
        self.under_way[index] = (read, pages);
        if self.thread.is_some_and(|until| until <= now) {
            self.wakes.get_or_insert(now + GUEST_NOTIFIED);
            self.notified.push_back(command);
        } else {
            self.send(now, command);
        }
    }

    /// Plays a copy on, with a processor of its own.
    fn next_completion(&self) -> Option<Nanos> {
        let mut copy = self.clone();
        copy.processor = self.processor.alone();
        while let Some(at) = copy.next_event() {
            if copy.advance(at).is_some() {
                return Some(at);
            }
        }
        None
    }

    fn complete_next(&mut self, now: Nanos) -> Tag {
        loop {
            let at = self.next_event().expect("a command is outstanding");
            if let Some(tag) = self.advance(at) {
                debug_assert_eq!(at, now);
                return tag;
            }
        }
    }

    fn next_event(&self) -> Option<Nanos> {
        let sent = self.sending.front().map(|(at, _)| *at);
        let received = self.receiving.front().map(|(at, _)| *at);
        [received, self.drive.next_event(), sent, self.wakes]
            .into_iter()
            .flatten()
            .min()
    }

    fn advance(&mut self, now: Nanos) -> Option<Tag> {
        if self.receiving.front().is_some_and(|(at, _)| *at <= now) {
            return self.receiving.pop_front().map(|(_, tag)| tag);
        }
        if self.drive.next_event().is_some_and(|at| at <= now) {
            let tag = self.drive.advance(now)?;
            let (read, pages) = self.under_way[tag.0 as usize];
            let service = *self.service(read);
            let at = self.book(now, service.receive + times(service.receive_page, pages));
            self.receiving.push_back((at, tag));
            self.send_notified(now);
        } else if self.wakes.is_some_and(|at| at <= now) {
            self.send_notified(now);
        } else if self.sending.front().is_some_and(|(at, _)| *at <= now) {
            if let Some((_, command)) = self.sending.pop_front() {
                self.drive.submit(now, command);
            }
        }
        None
    }

    fn take_host_work(&mut self) -> Nanos {
        core::mem::take(&mut self.worked) + self.drive.take_host_work()
    }
}
