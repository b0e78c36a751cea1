//! md as the threads above it see it.

use crate::storage::md::member_bio::MemberBio;
use crate::storage::md::steps::Background;
use crate::storage::md::{member_sink, Md, MdMember, MD_THREAD};
use crate::storage::{MemberTotals, Stack, Storage, Totals};
use seekwise_device::Device;
use seekwise_host::block::{Bio, BlockQueue, Done, Observer, Submission};
use seekwise_raid::md::volume::Volume;
use seekwise_sched::{Direction, ProcessId};
use seekwise_units::{Nanos, Sectors};

impl<Q: BlockQueue, D: Device> Storage for Md<Q, D> {
    #[inline(always)]
    fn next_at(&self) -> Nanos {
        let mut next = self.due.first().min(self.thread.due);
        if self.has_background() {
            next = next.min(self.background_at());
        }
        next.max(self.clock)
    }

    #[inline]
    fn timer(&self) -> Nanos {
        self.timers.first().min(self.unplug_at)
    }

    fn fire<O: Observer>(&mut self, now: Nanos, observer: &mut O) {
        self.clock = now;
        if self.unplug_at <= now {
            self.unplug_thread(now);
            return;
        }
        self.fire_queue(now, observer);
    }

    fn allocated(&self) -> usize {
        self.calls.len() + self.whole_bios
    }

    fn totals(&self) -> Totals {
        let sum = |of: fn(&MdMember<Q, D>) -> u64| self.members.iter().map(of).sum::<u64>();
        Totals {
            busy: Nanos(sum(|member| member.drive.busy.0)),
            sectors: sum(|member| member.drive.sectors),
            merges: sum(|member| member.queue.merges()),
            interrupts: Some(sum(|member| member.done.commands)),
            thread: self.thread.busy + Nanos(sum(|member| member.drive.host_work.0)),
            resynced: Sectors(self.resync.as_ref().map_or(0, Background::through)),
            bitmap_pages: self.intent.as_ref().map_or(0, |intent| intent.written),
        }
    }

    fn members(&self) -> Vec<MemberTotals> {
        let of = |member: &MdMember<Q, D>| MemberTotals {
            busy: member.drive.busy,
            ..member.done
        };
        self.members.iter().map(of).collect()
    }
}

impl<Q: BlockQueue, D: Device> Stack for Md<Q, D> {
    fn submit<O: Observer>(&mut self, now: Nanos, bio: &Bio, observer: &mut O) -> Submission {
        self.clock = now;
        let waited = self.place_stalled(bio.process, bio.token);
        let whole = match waited {
            None if bio.direction == Direction::Read && !self.degraded => {
                self.volume.read_whole(bio.start, bio.sectors)
            }
            _ => None,
        };
        let submission = if let Some(piece) = whole {
            self.submit_whole(now, bio, &piece, observer)
        } else {
            let mut orders = core::mem::take(&mut self.orders);
            orders.clear();
            match waited {
                Some(place) => orders = self.take_stalled(place),
                None => self.split(now, bio, &mut orders),
            }
            let submission = self.send_all(now, bio.process, bio.token, &orders, observer);
            self.orders = orders;
            submission
        };
        if bio.unplug && !self.plugging {
            self.unplug_members(now, observer);
        }
        submission
    }

    #[inline]
    fn task_work(&mut self, now: Nanos, direction: Direction, sectors: Sectors) -> Nanos {
        let write = direction == Direction::Write;
        let costs = &self.thread.costs;
        let (mut piece, mut copy, mut lock) = (costs.piece, Nanos::ZERO, Nanos::ZERO);
        if self.parity.is_some() {
            if write {
                return Nanos::ZERO;
            }
            if !self.degraded {
                lock = costs.read_lock;
            }
        } else if self.volume.mirrored() {
            if matches!(self.volume, Volume::Raid10 { .. }) {
                lock = costs.barrier_lock;
            }
            if write && self.mirrors_wait && !self.direct_plugged {
                // The thread sends copies; their ends remain with the interrupts.
                piece = piece.saturating_sub(costs.request);
            } else if write {
                copy = costs.copy;
            }
        }
        let waits = self.lock_free.saturating_sub(now);
        if lock > Nanos::ZERO {
            self.lock_free = now + waits + lock;
        }
        let pieces = self.volume.pieces(sectors, write);
        waits + Nanos(piece.0 * (pieces - 1) + copy.0 * pieces)
    }

    fn begin_plug(&mut self) {
        self.plugging = true;
        for member in &mut self.members {
            member.queue.begin_plug();
        }
    }

    fn end_plug<O: Observer>(&mut self, now: Nanos, observer: &mut O) {
        self.plugging = false;
        let bitmap_first = self.intent.as_ref().is_some_and(|intent| intent.holds_up());
        for order in core::mem::take(&mut self.plugged) {
            // The plug's callback sends in the task; what finds no request is left to the thread.
            if bitmap_first || !self.thread.mirrored.is_empty() || !self.send(now, &order, observer)
            {
                self.thread.mirrored.push_back(MemberBio {
                    process: MD_THREAD,
                    ..order
                });
                self.thread.wake(now);
            }
        }
        self.end_plugs(now, observer);
        if self.parity.is_some() {
            self.unplug_thread(now);
        }
    }

    fn process_waits<O: Observer>(&mut self, now: Nanos, observer: &mut O) {
        if self.unplug_at < Nanos::NEVER {
            self.unplug_thread(now);
        }
        self.unplug_members(now, observer);
    }

    fn process_exits<O: Observer>(&mut self, now: Nanos, process: ProcessId, observer: &mut O) {
        for index in 0..self.members.len() {
            let member = &mut self.members[index];
            member.queue.process_exits(
                now,
                process,
                &mut member.drive,
                &mut member_sink(index, observer),
            );
            self.refresh(now, index);
        }
    }

    #[inline(always)]
    fn advance<O: Observer>(
        &mut self,
        now: Nanos,
        observer: &mut O,
        mut done: impl FnMut(Done),
    ) -> u64 {
        let next = self.next_at();
        self.clock = now;
        let mut steps = 1;
        if self.due.first() <= next {
            self.drive_done(now, self.due.place(), observer, &mut done);
        } else if self.thread.due <= next {
            while !self.thread_runs(now, observer) && self.thread_goes_on(now) {
                steps += 1;
            }
        } else {
            self.background_runs(now, next, observer);
        }
        if !self.ended.is_empty() {
            self.ended.drain(..).for_each(done);
        }
        steps
    }

    fn flush(&mut self, now: Nanos) -> u32 {
        let mut asked = 0;
        for index in 0..self.members.len() {
            if self.members[index].missing {
                continue;
            }
            self.flush_for_task(now, index);
            asked += 1;
        }
        asked
    }

    #[inline]
    fn has_woken(&self) -> bool {
        !self.woken.is_empty()
    }

    fn take_woken(&mut self) -> Option<ProcessId> {
        self.woken.pop_front()
    }
}
