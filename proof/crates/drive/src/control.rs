//! The control socket: a line in, a line out.
//!
//! `status` answers with JSON; `stop` ends the server; anything else is a fault as in `fault.rs` and is answered with `ok` once the
//! drive has carried it out, or with `error: ` and a sentence.

use crate::fault::{Fault, KINDS};
use crate::orders::{after, run_due, Handle};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

const LINE_BYTES_MAX: usize = 4096;

pub struct Control {
    listener: UnixListener,
    clients: Vec<(UnixStream, Vec<u8>)>,
    /// Of each drive.
    sectors: u64,
}

impl Control {
    /// Accepts clients on `listener`; `sectors` is the size of each drive, which faults must lie within.
    pub fn new(listener: UnixListener, sectors: u64) -> Self {
        Self {
            listener,
            clients: vec![],
            sectors,
        }
    }

    /// Sleeps until somebody says something, at most `time`.
    pub fn wait(&self, time: Duration) {
        let mut sockets = vec![PollFd::new(&self.listener, PollFlags::IN)];
        sockets.extend(
            self.clients
                .iter()
                .map(|(stream, _)| PollFd::new(stream, PollFlags::IN)),
        );
        let timeout = Timespec {
            tv_sec: time.as_secs() as i64,
            tv_nsec: time.subsec_nanos() as _,
        };
        let _ = poll(&mut sockets, Some(&timeout));
    }

    /// Carries out what has been said; false when the server is to end.
    pub fn serve(&mut self, handles: &[Handle], pending: &mut Vec<(Instant, Fault)>) -> bool {
        while let Ok((stream, _)) = self.listener.accept() {
            if stream.set_nonblocking(true).is_ok() {
                self.clients.push((stream, vec![]));
            }
        }
        let (mut on, sectors) = (true, self.sectors);
        self.clients.retain_mut(|(stream, said)| {
            let mut bytes = [0; 1024];
            let open = loop {
                match stream.read(&mut bytes) {
                    Ok(0) => break false,
                    Ok(count) => said.extend_from_slice(&bytes[..count]),
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => break error.kind() == ErrorKind::WouldBlock,
                }
                if said.len() > LINE_BYTES_MAX {
                    break false;
                }
            };
            while let Some(end) = said.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = said.drain(..=end).collect();
                let line = String::from_utf8_lossy(&line);
                let (answer, go_on) = carry_out(line.trim(), handles, sectors, pending);
                on &= go_on;
                if stream.write_all(format!("{answer}\n").as_bytes()).is_err() {
                    return false;
                }
            }
            open
        });
        on
    }
}

fn carry_out(
    line: &str,
    handles: &[Handle],
    sectors: u64,
    pending: &mut Vec<(Instant, Fault)>,
) -> (String, bool) {
    match line {
        "status" => {
            let drives: Vec<_> = handles.iter().filter_map(Handle::status).collect();
            let document =
                serde_json::json!({"schema": "seekwise.drive-status/1", "drives": drives});
            (document.to_string(), true)
        }
        "stop" => ("ok".into(), false),
        "help" => (
            format!("status, stop, or DRIVE:KIND[=VALUE][@TIME] with {KINDS}"),
            true,
        ),
        _ => match Fault::parse(line, handles.len(), sectors) {
            Err(sentence) => (format!("error: {sentence}"), true),
            Ok(fault) => {
                pending.push((after(fault), fault));
                run_due(pending, handles);
                // The drives take orders in turn: when they have answered this, the fault is in force.
                for handle in handles {
                    let _ = handle.status();
                }
                ("ok".into(), true)
            }
        },
    }
}
