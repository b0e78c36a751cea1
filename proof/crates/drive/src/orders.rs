//! What a server and its drives say to each other: orders and notices.

use crate::fault::{Fault, FaultKind};
use crate::statistics::Summary;
use serde::Serialize;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::mpsc::{channel, Sender};
use std::time::{Duration, Instant};

/// What the server has to say while it runs.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "notice", rename_all = "snake_case")]
pub enum Notice {
    /// Clients may connect.
    Ready {
        model: String,
        name: String,
        bytes: u64,
        sockets: Vec<PathBuf>,
        control: PathBuf,
    },
    /// Something that the user should know, one sentence.
    Event { drive: usize, sentence: String },
    /// Nothing: says that the server is alive, and asks whether to go on.
    Tick,
}

/// What a drive is told.
pub enum ServerOrder {
    Fault(FaultKind),
    Status(Sender<Summary>),
    /// Everything acknowledged onto the medium, and the end.
    Stop(Sender<Summary>),
}

/// A drive at work, as its server sees it.
pub(crate) struct Handle {
    pub orders: Sender<ServerOrder>,
    pub wake: UnixStream,
    pub thread: Option<std::thread::JoinHandle<()>>,
}

impl Handle {
    /// Sends an order and wakes the drive's thread; a drive that has ended ignores it.
    pub fn order(&self, order: ServerOrder) {
        // A drive that has ended takes no orders; its end is reported elsewhere.
        let _ = self.orders.send(order);
        let _ = (&self.wake).write(&[1]);
    }

    /// Sends an order and waits for its answer; None if the drive has ended.
    pub fn ask(&self, order: impl FnOnce(Sender<Summary>) -> ServerOrder) -> Option<Summary> {
        let (to, from) = channel();
        self.order(order(to));
        from.recv().ok()
    }

    /// What the drive has done so far; None if it has ended.
    pub fn status(&self) -> Option<Summary> {
        self.ask(ServerOrder::Status)
    }
}

pub(crate) fn after(fault: Fault) -> Instant {
    Instant::now() + Duration::from_nanos(fault.after.0)
}

/// Carries out the faults whose time has come, in the order of their times.
pub(crate) fn run_due(pending: &mut Vec<(Instant, Fault)>, handles: &[Handle]) {
    let now = Instant::now();
    pending.sort_by_key(|(time, _)| *time);
    let due = pending.iter().take_while(|(time, _)| *time <= now).count();
    for (_, fault) in pending.drain(..due) {
        for (index, handle) in handles.iter().enumerate() {
            if fault.drive.is_none_or(|drive| drive == index) {
                handle.order(ServerOrder::Fault(fault.kind));
            }
        }
    }
}
