//! Direct I/O on files: calls go past the page cache to where the file system has their blocks.
//!
//! ```text
//!   call ─▶ blocks of its pages ─▶ a bio for each extent (1 MiB at most) ─▶ volume        up to `depth` calls of a thread under way
//! ```
//!
//! A write changes the file's times, and where it goes to pages without blocks its map: both are the running transaction's, and only fsync
//! or O_SYNC waits for that.
//!
//! Not modelled:  calls of part of a block, conversion of unwritten extents, pages of the same file in the cache (there are none).

use crate::files::machine::{FileEngine, Sender};
use crate::files::{Files, IoKind, SyncFor, TaskState, Wait, BIO_PAGES};
use seekwise_device::Device;
use seekwise_host::block::{BlockQueue, Observer};
use seekwise_host::cache::page_cache::FileNumber;
use seekwise_host::cache::read_ahead::Page;
use seekwise_host::file::address;
use seekwise_units::{Lba, Nanos, Sectors, PAGE_SECTORS};
use std::collections::VecDeque;

/// Calls of a thread on their way.
#[derive(Debug, Default)]
pub(crate) struct Direct {
    under_way: u32,
    /// Calls that are completed, and of which the program does not know yet.
    completed: VecDeque<DirectCall>,
    sending: Option<Sending>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct DirectCall {
    began: Nanos,
    pages: u64,
    write: bool,
}

/// A call that is being handed down.
#[derive(Clone, Copy, Debug)]
struct Sending {
    io: u32,
    write: bool,
    page: Page,
    end: Page,
    /// What found no request free.
    rest: Option<(Lba, Sectors)>,
}

impl Direct {
    /// The drives are done with a call; the program has not reaped it yet.
    pub fn call_done(&mut self, call: DirectCall) {
        self.under_way -= 1;
        self.completed.push_back(call);
    }

    /// Whether a call is done that the program has not reaped.
    pub fn has_completion(&self) -> bool {
        !self.completed.is_empty()
    }

    /// A call has to be handed down.
    pub fn sends(&self) -> bool {
        self.sending.is_some()
    }

    /// Tells the program that its call is complete.
    pub fn take_completion(&mut self) -> Option<DirectCall> {
        self.completed.pop_front()
    }

    /// Nothing under way, and no completion to be notified.
    pub fn is_idle(&self) -> bool {
        self.under_way == 0 && self.completed.is_empty()
    }
}

impl<Q: BlockQueue, D: Device, O: Observer> FileEngine<Q, D, O> {
    /// False when the task's state says what comes next.
    pub(crate) fn direct_calls(&mut self, files: &mut Files, index: usize, depth: u32) -> bool {
        // A block of addresses that found no request.
        if !self.send_rest(files, index) {
            return false;
        }
        if files.thread(index).direct.sends() {
            return self.send_call(files, index);
        }
        // fio looks for what is done once it can begin no further call, and takes one of them (iodepth_batch_complete_max): a call keeps its place
        // until then.
        let time = self.busy_until();
        let wants = files.wants_calls(index, self.now);
        let thread = files.thread(index);
        let (under_way, completed) = (
            thread.direct.under_way,
            thread.direct.completed.len() as u32,
        );
        let next = thread.next_turn(time);
        let room = thread.turns.is_some() || under_way + completed < depth;
        if room && wants && next <= time {
            self.begin_call(files, index);
            return true;
        }
        if completed > 0 {
            if let Some(sync) = self.tell_call(files, index) {
                self.begin_fsync(files, index, sync);
            }
            return true;
        }
        let until = next.min(files.deadline);
        if wants && room && until > time && next < Nanos::NEVER {
            // Its pace lets it begin a call then, unless one returns first.
            files.tasks[index].state = TaskState::Until(until, Wait::Direct(index as u32));
            self.unplug_all();
            return false;
        }
        if under_way == 0 {
            return true;
        }
        self.wait(files, index, Wait::Direct(index as u32));
        self.unplug_all();
        false
    }

    /// The program hears of the call that has been completed longest, and may ask for an fsync.
    fn tell_call(&mut self, files: &mut Files, index: usize) -> Option<SyncFor> {
        let direct = &mut files.thread(index).direct;
        let call = direct.take_completion()?;
        let now = self.busy_until();
        files.thread(index).call_began = now;
        let latency = now - call.began;
        files.calls_of_kind_done(index, (1, call.pages), call.write, now, latency);
        if call.write {
            files.thread(index).sync_due()
        } else {
            None
        }
    }

    fn begin_call(&mut self, files: &mut Files, index: usize) {
        let (now, written) = (self.now, files.plan.written);
        let thread = files.thread(index);
        let file = thread.file;
        let began = thread.begin_turn(now);
        let page = thread.next_place();
        let (pages, write) = (thread.job.pages, thread.job.write);
        thread.page = page + pages;
        thread.calls_left -= 1;
        if write {
            if !written {
                self.allocate(files, file, page, pages);
            }
            self.stamp(files, file);
        }
        self.spend_user(self.host.costs.user);
        let call = DirectCall {
            began,
            pages,
            write,
        };
        self.begin_transfer(files, index, page, call);
    }

    /// A transfer past the cache that begins now.
    pub(crate) fn transfer_now(&self, pages: u64, write: bool) -> DirectCall {
        DirectCall {
            began: self.now,
            pages,
            write,
        }
    }

    /// A call past the cache begins now; its bios go out once the processor has made them: only then is the plug released.
    pub(crate) fn begin_transfer(
        &mut self,
        files: &mut Files,
        index: usize,
        page: Page,
        call: DirectCall,
    ) {
        let DirectCall { pages, write, .. } = call;
        let io = files.new_io(IoKind::Direct {
            task: index as u32,
            call,
        });
        let direct = &mut files.thread(index).direct;
        direct.under_way += 1;
        direct.sending = Some(Sending {
            io,
            write,
            page,
            end: page + pages,
            rest: None,
        });
        let sectors = Sectors(pages * PAGE_SECTORS);
        let bios = self.storage.md.volume.pieces(sectors, write);
        let costs = &self.host.costs;
        let making = costs.direct_call(write, bios, pages);
        if write && costs.by_command.is_some() {
            self.host.paid.0 += bios;
            self.host.paid.1 += pages;
        }
        self.spend(making);
    }

    /// A write changes the file's times, which go by ticks.
    pub(crate) fn stamp(&mut self, files: &mut Files, file: FileNumber) {
        let tick = self.now.0 / files.plan.kernel.tick().0;
        let Some(journal) = &mut files.journal else {
            return;
        };
        let state = &mut files.states[file as usize];
        if state.stamped == Some(tick) {
            return;
        }
        state.stamped = Some(tick);
        journal.touch(self.now);
        state.transaction = journal.running.id;
        if let Some(block) = files.inode_block {
            if journal.running.metadata.insert(block) {
                files.place_dirty.remove(&block);
            }
        }
        if let Some(due) = journal.due() {
            files.arm_journal(due);
        }
    }

    /// Hands the call's bios down under a plug. False when the task has to wait on the way.
    pub(crate) fn send_call(&mut self, files: &mut Files, index: usize) -> bool {
        self.begin_plugs();
        let done = self.send_call_plugged(files, index);
        self.end_plugs();
        if done {
            self.unplug_all();
        }
        done
    }

    fn send_call_plugged(&mut self, files: &mut Files, index: usize) -> bool {
        loop {
            let thread = files.thread(index);
            let file = thread.file;
            let mut sending = thread.direct.sending.expect("a call is being sent");
            let (start, sectors) = match sending.rest.take() {
                Some(rest) => rest,
                None if sending.page == sending.end => {
                    thread.direct.sending = None;
                    files.put(sending.io, 1);
                    return true;
                }
                None => {
                    let Some(until) = self.know_path(files, index, file, sending.page) else {
                        return false;
                    };
                    let most = (sending.end.min(until) - sending.page).min(BIO_PAGES);
                    let (block, pages) = files
                        .plan
                        .file_system
                        .locate(file, sending.page, most)
                        .expect("pages of direct calls have blocks");
                    sending.page += pages;
                    (
                        address(block, files.plan.offset),
                        Sectors(pages * PAGE_SECTORS),
                    )
                }
            };
            let sender = Sender {
                io: sending.io,
                process: files.process(index),
                write: sending.write,
                sync: true,
                // Direct writes are marked "no idling after it" (WRITE_ODIRECT).
                no_idle: sending.write,
                priority: files.priority(index),
                // Paid for with the call.
                bio: Nanos::ZERO,
                md: self.md_bio(),
            };
            let (count, rest) = self.send_range(&sender, start, sectors);
            files.ios[sending.io as usize].left += count;
            sending.rest = rest;
            files.thread(index).direct.sending = Some(sending);
            if rest.is_some() {
                files.tasks[index].state = TaskState::Waits(Wait::Request);
                return false;
            }
        }
    }
}
