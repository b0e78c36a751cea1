//! A server in this process, on sockets of its own.
#![allow(dead_code, reason = "every test file uses its part")]

pub mod client;

use client::Client;
use seekwise_drive::server::{serve, Report};
use seekwise_drive::Notice;
use seekwise_drive::Options;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

pub struct Server {
    pub folder: tempfile::TempDir,
    pub sockets: Vec<PathBuf>,
    pub events: Arc<Mutex<Vec<String>>>,
    control: PathBuf,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<Report, String>>>,
}

impl Server {
    pub fn start(model: &str, count: usize, change: impl FnOnce(&mut Options)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut options = options(folder.path(), model, count);
        change(&mut options);
        let ended = Arc::new(AtomicBool::new(false));
        let events = Arc::new(Mutex::new(vec![]));
        let (ready_to, ready) = channel();
        let thread = std::thread::spawn({
            let (ended, events) = (ended.clone(), events.clone());
            move || {
                serve(&options, |notice| {
                    match notice {
                        Notice::Ready { sockets, .. } => ready_to.send(sockets.clone()).unwrap(),
                        Notice::Event { sentence, .. } => {
                            events.lock().unwrap().push(sentence.clone())
                        }
                        Notice::Tick => {}
                    }
                    !ended.load(Ordering::Relaxed)
                })
            }
        });
        let sockets = ready.recv().expect("the server starts");
        Self {
            control: folder.path().join("control"),
            folder,
            sockets,
            events,
            ended,
            thread: Some(thread),
        }
    }

    pub fn client(&self, drive: usize) -> Client {
        Client::connect(&self.sockets[drive]).unwrap()
    }

    /// Says a line on the control socket and returns the answer.
    pub fn say(&self, line: &str) -> String {
        let mut stream = UnixStream::connect(&self.control).unwrap();
        writeln!(stream, "{line}").unwrap();
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer).unwrap();
        answer.trim().into()
    }

    pub fn fault(&self, text: &str) {
        assert_eq!(self.say(text), "ok", "{text}");
    }

    pub fn stop(mut self) -> Report {
        self.end()
    }

    fn end(&mut self) -> Report {
        self.ended.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.thread.is_some() && !std::thread::panicking() {
            self.end();
        }
    }
}

/// Drives whose sockets lie in `folder`, with all else at its default.
pub fn options(folder: &Path, model: &str, count: usize) -> Options {
    Options {
        model: model.into(),
        sockets: (0..count)
            .map(|index| folder.join(format!("{index}.sock")))
            .collect(),
        control: folder.join("control"),
        parameters: BTreeMap::new(),
        faults: vec![],
        overrun_us: 100.0,
        seed: 0,
    }
}

pub fn refused(options: &Options) -> String {
    serve(options, |_| false).expect_err("this must be refused")
}

/// Bytes that name their place, so that a sector found elsewhere shows.
pub fn pattern(seed: u64, bytes: usize) -> Vec<u8> {
    (0..bytes)
        .map(|at| {
            ((at as u64 / 512 + 1)
                .wrapping_mul(seed | 1)
                .wrapping_mul(0x9E37_79B9_7F4A_7C15)
                >> 56) as u8
                | 1
        })
        .collect()
}

pub fn error_number<T: std::fmt::Debug>(result: std::io::Result<T>) -> i32 {
    result
        .unwrap_err()
        .raw_os_error()
        .expect("the server answered with an error number")
}
