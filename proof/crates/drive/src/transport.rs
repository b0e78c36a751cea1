//! How long a request is on its way before the drive sees it, and an answer before its client does.
//!
//! A client measures from the call that sends to the call that receives. What lies between and is not the drive - two writes into a
//! socket, two sleepers woken - takes some tens of microseconds, and would be added to every answer of the model. So it is measured
//! once, at the start, by requests and answers between two threads of the same kinds over a socket of the same kind, and each answer
//! leaves by so much earlier. A drive that has nothing to wait for cannot answer before it is asked: with those it stays a delay.

use crate::awake::Watch;
use crate::clock::monotonic;
use crate::processors::{allowed, keep_to};
use crate::protocol::{REPLY_BYTES, REQUEST_BYTES};
use crate::real_time;
use rustix::event::{poll, PollFd, PollFlags};
use serde::Serialize;
use std::io::{Read, Result, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Both ways, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Transport {
    /// From a client's call until the drive has the request.
    pub request_ns: u64,
    /// From the drive's call until the client has the answer.
    pub answer_ns: u64,
}

/// Exchanges measured; half a second with the pauses.
const EXCHANGES: usize = 128;
/// On a machine that has other work the median of fewer has to do: drives were ready after eight seconds.
const TIME_MAX: Duration = Duration::from_secs(1);
/// Between two events of an exchange: both sides sleep meanwhile, as they do on a disk.
const PAUSE: Duration = Duration::from_micros(1_500);
/// A way that takes longer is not that of this machine at rest, and is not taken off.
const WAY_NS_MAX: u64 = 100_000;
/// A usual request.
const DATA_BYTES: usize = 4096;

impl Transport {
    /// The same each way.
    pub fn halves(both_ns: u64) -> Self {
        Self {
            request_ns: both_ns / 2,
            answer_ns: both_ns - both_ns / 2,
        }
    }

    /// The medians of some exchanges; nothing where the machine does not let them happen.
    ///
    /// `rotational`: the drive's thread may go ahead of others, as that of a disk does.
    pub fn measured(mut watch: Option<Watch>, rotational: bool) -> Self {
        if let Some(watch) = &mut watch {
            watch.set(true);
        }
        exchanges(rotational).map_or_else(
            |_| Self::default(),
            |(mut requests, mut answers)| Self {
                request_ns: median(&mut requests).min(WAY_NS_MAX),
                answer_ns: median(&mut answers).min(WAY_NS_MAX),
            },
        )
    }
}

fn median(times: &mut [u64]) -> u64 {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// Times of requests and of answers.
fn exchanges(rotational: bool) -> Result<(Vec<u64>, Vec<u64>)> {
    let (client, drive) = UnixStream::pair()?;
    drive.set_nonblocking(true)?;
    // Who wakes somebody on another processor waits longer for him than on his own, by as much as the rest of the way. Which it will be
    // the scheduler decides each time; the longer way is taken off, so that an answer is early rather than late.
    let numbers = allowed();
    let apart = |side: usize| {
        // Where it is refused the scheduler decides here too.
        numbers.get(side).copied().filter(|_| numbers.len() > 1)
    };
    let (own, other) = (apart(0), apart(1));
    let thread = |name: &str| std::thread::Builder::new().name(name.into());
    let drive = thread("transport").spawn(move || {
        other.map(keep_to);
        answers(drive, rotational)
    })?;
    let client = thread("client").spawn(move || {
        own.map(keep_to);
        requests(client)
    })?;
    let gone = |_| std::io::Error::other("the other side is gone");
    let (sent, there) = client.join().map_err(gone)??;
    let (arrived, left) = drive.join().map_err(gone)??;
    let ways = |from: &[u64], to: &[u64]| {
        from.iter()
            .zip(to)
            .map(|(from, to)| to.saturating_sub(*from))
            .collect()
    };
    Ok((ways(&sent, &arrived), ways(&left, &there)))
}

/// The client's side: when requests were sent, and when answers were there.
fn requests(mut client: UnixStream) -> Result<(Vec<u64>, Vec<u64>)> {
    let mut sent = Vec::with_capacity(EXCHANGES);
    let mut there = Vec::with_capacity(EXCHANGES);
    let mut answer = [0; REPLY_BYTES + DATA_BYTES];
    let started = Instant::now();
    for _ in 0..EXCHANGES {
        if started.elapsed() > TIME_MAX {
            break;
        }
        std::thread::sleep(PAUSE);
        sent.push(monotonic());
        client.write_all(&[0; REQUEST_BYTES])?;
        // As a client reads: the reply first, then its data.
        client.read_exact(&mut answer[..REPLY_BYTES])?;
        client.read_exact(&mut answer[REPLY_BYTES..])?;
        there.push(monotonic());
    }
    Ok((sent, there))
}

/// The drive's side: when requests had arrived, and when answers left.
fn answers(mut stream: UnixStream, rotational: bool) -> Result<(Vec<u64>, Vec<u64>)> {
    real_time::ahead(rotational);
    let (mut arrived, mut left) = (vec![], vec![]);
    let mut request = [0; REQUEST_BYTES];
    loop {
        poll(&mut [PollFd::new(&stream, PollFlags::IN)], None)?;
        match stream.read(&mut request)? {
            REQUEST_BYTES => arrived.push(monotonic()),
            _ => return Ok((arrived, left)),
        }
        std::thread::sleep(PAUSE);
        left.push(monotonic());
        stream.write_all(&[0; REPLY_BYTES + DATA_BYTES])?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_take_time_and_no_more_than_is_taken_off() {
        let transport = Transport::measured(None, true);
        assert!((1..=WAY_NS_MAX).contains(&transport.request_ns));
        assert!((1..=WAY_NS_MAX).contains(&transport.answer_ns));
    }

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(&mut [9, 1, 5]), 5);
        assert_eq!(median(&mut []), 0);
    }
}
