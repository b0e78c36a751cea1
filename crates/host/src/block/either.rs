//! A queue of either kind, where one type has to hold both: the members of an array, whatever the kernel.

use super::base::Base;
use super::legacy::LegacyQueue;
use super::mq::MqQueue;
use super::{Bio, BlockQueue, Done, Driver, Observer, Submission};
use seekwise_sched::{ProcessId, Scheduler};
use seekwise_units::{Nanos, Sectors};

// One a member, moved once.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug)]
pub enum EitherQueue<S> {
    Legacy(LegacyQueue<S>),
    Mq(MqQueue<S>),
}

macro_rules! each {
    ($queue:expr, $inner:ident => $call:expr) => {
        match $queue {
            EitherQueue::Legacy($inner) => $call,
            EitherQueue::Mq($inner) => $call,
        }
    };
}

impl<S: Scheduler> BlockQueue for EitherQueue<S> {
    #[inline]
    fn base(&self) -> &Base {
        each!(self, queue => queue.base())
    }

    #[inline]
    fn base_mut(&mut self) -> &mut Base {
        each!(self, queue => queue.base_mut())
    }

    #[inline]
    fn submit<D: Driver, O: Observer>(
        &mut self,
        now: Nanos,
        bio: &Bio,
        driver: &mut D,
        observer: &mut O,
    ) -> Submission {
        each!(self, queue => queue.submit(now, bio, driver, observer))
    }

    #[inline]
    fn room_behind(&self, bio: &Bio) -> Sectors {
        each!(self, queue => queue.room_behind(bio))
    }

    fn begin_plug(&mut self) {
        each!(self, queue => queue.begin_plug());
    }

    fn end_plug<D: Driver, O: Observer>(&mut self, now: Nanos, driver: &mut D, observer: &mut O) {
        each!(self, queue => queue.end_plug(now, driver, observer));
    }

    #[inline]
    fn held_back(&self, now: Nanos) -> bool {
        each!(self, queue => queue.held_back(now))
    }

    fn process_waits<D: Driver, O: Observer>(
        &mut self,
        now: Nanos,
        driver: &mut D,
        observer: &mut O,
    ) {
        each!(self, queue => queue.process_waits(now, driver, observer));
    }

    fn process_exits<D: Driver, O: Observer>(
        &mut self,
        now: Nanos,
        process: ProcessId,
        driver: &mut D,
        observer: &mut O,
    ) {
        each!(self, queue => queue.process_exits(now, process, driver, observer));
    }

    #[inline]
    fn complete<D: Driver, O: Observer>(
        &mut self,
        now: Nanos,
        tag: u32,
        driver: &mut D,
        observer: &mut O,
        done: impl FnMut(Done),
    ) {
        each!(self, queue => queue.complete(now, tag, driver, observer, done));
    }

    #[inline]
    fn timer(&self) -> Nanos {
        each!(self, queue => queue.timer())
    }

    fn fire<D: Driver, O: Observer>(&mut self, now: Nanos, driver: &mut D, observer: &mut O) {
        each!(self, queue => queue.fire(now, driver, observer));
    }
}
