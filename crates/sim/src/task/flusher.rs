//! The flusher: goes round the device by address and writes what is dirty, until less than the background limit is.

use crate::task::cache_plan::CachePlan;
use seekwise_host::cache::page_cache::Run;
use seekwise_host::cache::PageCache;
use seekwise_sched::ProcessId;
use seekwise_units::Nanos;
use std::collections::VecDeque;

/// The flusher among the processes that schedulers know.
pub const FLUSHER: ProcessId = ProcessId((1 << 20) + 16);
/// Size of the last plugged request at which the plug is emptied before another comes. Linux block/blk-mq.c: BLK_PLUG_FLUSH_SIZE.
const PLUG_PAGES: u64 = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Idle,
    /// Its next step stands in the agenda.
    Working,
    WaitsForRequest,
}

#[derive(Debug)]
pub struct Flusher {
    pub state: State,
    /// Where the next round goes on.
    cursor: u64,
    /// Pages that are left of this turn.
    pub left: u64,
    /// What is on its way to the queue.
    pub batch: VecDeque<Run>,
    /// Token of the bio at the head of it that found no request.
    pub refused: Option<u32>,
    /// Processor time that it has yet to get.
    pub owed: Nanos,
}

impl Default for Flusher {
    fn default() -> Self {
        Self {
            state: State::Idle,
            cursor: 0,
            left: 0,
            batch: VecDeque::new(),
            refused: None,
            owed: Nanos::ZERO,
        }
    }
}

impl Flusher {
    /// Has so many pages written, from `start` on unless it is writing already.
    pub fn begin_with(&mut self, start: u64, pages: u64) {
        if self.left == 0 {
            self.cursor = start;
        }
        self.left = pages;
    }

    /// Gathers what one plug holds; gives its pages. Zero at the end of a turn or of the device.
    pub fn gather(&mut self, cache: &mut PageCache, plan: &CachePlan) -> u64 {
        let room = plan.request_pages * plan.spread;
        let mut pages = 0;
        while self.left > 0 {
            let found = cache.next_dirty(0, self.cursor, u64::MAX >> 8, self.left.min(room));
            let Some((run, _)) = found else {
                // The next round begins at the front.
                self.cursor = 0;
                self.left = 0;
                break;
            };
            let mut run = run;
            match self.batch.back_mut() {
                Some(last) if last.start + last.pages == run.start && last.pages < room => {
                    run.pages = run.pages.min(room - last.pages);
                    last.pages += run.pages;
                }
                last => {
                    let full = last.is_some_and(|last| last.pages >= PLUG_PAGES);
                    if full || self.batch.len() >= plan.plug {
                        break;
                    }
                    self.batch.push_back(run);
                }
            }
            cache.begin_write(run);
            self.cursor = run.start + run.pages;
            self.left -= run.pages;
            pages += run.pages;
        }
        pages
    }
}
