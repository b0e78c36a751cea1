//! One client: bytes in, requests out; answers in, bytes out. Never blocks.

use crate::handshake::{Export, Handshake, Outcome};
use crate::protocol::{self, Request, PAYLOAD_BYTES_MAX, REQUEST_BYTES};
use rustix::event::{poll, PollFd, PollFlags};
use std::collections::VecDeque;
use std::io::{ErrorKind, IoSlice, Read, Write};
use std::os::unix::net::UnixStream;

const INPUT_BYTES: usize = 128 << 10;
/// A buffer of answers that is longer than this gets no more.
const OUTPUT_JOIN_BYTES: usize = 32 << 10;
/// A client that has so much outstanding, or does not take its answers, is not listened to until it has less.
const OUTSTANDING_MAX: usize = 4096;
const OUTSTANDING_BYTES_MAX: usize = 64 << 20;

enum Phase {
    Handshake(Handshake),
    Requests,
    /// Data of a write.
    Payload {
        request: Request,
        data: Vec<u8>,
        filled: usize,
    },
    /// Data of a write that is refused: read and thrown away.
    Skip {
        request: Request,
        left: u32,
    },
}

/// Why a connection is over.
#[derive(Debug, PartialEq, Eq)]
pub enum Over {
    Ended,
    Broken(&'static str),
}

pub struct Connection {
    pub stream: UnixStream,
    phase: Phase,
    input: Box<[u8]>,
    from: usize,
    to: usize,
    output: VecDeque<Vec<u8>>,
    /// Bytes of the first buffer of `output` that are gone.
    sent: usize,
    /// Bytes of all buffers of `output`.
    output_bytes: usize,
    outstanding: usize,
    outstanding_bytes: usize,
    /// The client has said goodbye: answers what is outstanding, then ends.
    pub leaving: bool,
}

impl Connection {
    /// A client that has just connected; the server's greeting is queued.
    pub fn new(stream: UnixStream, export: Export) -> Self {
        let mut hello = vec![];
        let handshake = Handshake::new(export, &mut hello);
        Self {
            stream,
            phase: Phase::Handshake(handshake),
            input: vec![0; INPUT_BYTES].into_boxed_slice(),
            from: 0,
            to: 0,
            output: VecDeque::from([hello]),
            sent: 0,
            output_bytes: 0,
            outstanding: 0,
            outstanding_bytes: 0,
            leaving: false,
        }
    }

    /// Whether to read from the socket: not while too many requests or bytes are outstanding, or after the end of input.
    pub fn wants_input(&self) -> bool {
        !self.leaving
            && self.outstanding < OUTSTANDING_MAX
            && self.held_bytes() < OUTSTANDING_BYTES_MAX
    }

    /// Bytes of requests that are not answered, and of answers that are not taken.
    fn held_bytes(&self) -> usize {
        self.outstanding_bytes + self.output_bytes
    }

    /// Whether a whole request has been received and waits for less to be outstanding.
    pub fn waits(&self) -> bool {
        matches!(self.phase, Phase::Requests)
            && self.to - self.from >= REQUEST_BYTES
            && self.wants_input()
    }

    fn taken(&mut self, request: &Request) {
        self.outstanding += 1;
        self.outstanding_bytes += moved_bytes(request);
    }

    fn given_back(&mut self, request: &Request) {
        self.outstanding -= 1;
        self.outstanding_bytes -= moved_bytes(request);
    }

    /// Whether something waits to be sent.
    pub fn wants_output(&self) -> bool {
        !self.output.is_empty()
    }

    /// Whether it can be closed: the client leaves and has all its answers.
    pub fn done(&self) -> bool {
        self.leaving && self.outstanding == 0 && self.output.is_empty()
    }

    /// Reads what is there and hands each whole request, with a write's data, to `take`.
    /// A write that is too long comes with no data.
    ///
    /// What is more than may be outstanding stays where it is: in the buffer, then in the socket.
    pub fn receive(&mut self, mut take: impl FnMut(Request, Vec<u8>)) -> Result<(), Over> {
        if self.from < self.to {
            self.parse(&mut take)?;
        }
        loop {
            if self.to == self.input.len() && self.from == 0 && !self.wants_input() {
                // The buffer is full of requests that wait. Whether somebody still waits for them is looked at all the same.
                return closed(&self.stream);
            }
            let mut full = false;
            if let Phase::Payload { data, filled, .. } = &mut self.phase {
                // Straight to its place, once the buffer is empty.
                if self.from == self.to && *filled < data.len() {
                    match read(&mut self.stream, &mut data[*filled..])? {
                        None => return Ok(()),
                        Some(bytes) => *filled += bytes,
                    }
                }
            } else {
                if self.from > 0 {
                    self.input.copy_within(self.from..self.to, 0);
                    (self.from, self.to) = (0, self.to - self.from);
                }
                match read(&mut self.stream, &mut self.input[self.to..])? {
                    None => return Ok(()),
                    Some(bytes) => self.to += bytes,
                }
                full = self.to == self.input.len();
            }
            self.parse(&mut take)?;
            let payload = matches!(self.phase, Phase::Payload { .. });
            if self.leaving || !(payload || full) || !self.wants_input() {
                return Ok(());
            }
            if full && !payload {
                // More may wait in the socket; the others are served first.
                return Ok(());
            }
        }
    }

    /// Goes through what is in the buffer, up to what has to wait.
    fn parse(&mut self, take: &mut impl FnMut(Request, Vec<u8>)) -> Result<(), Over> {
        loop {
            let rest = &self.input[self.from..self.to];
            match &mut self.phase {
                Phase::Handshake(_) => {
                    if !self.shake_hands()? {
                        return Ok(());
                    }
                }
                Phase::Requests => {
                    let Some(request) = self.next_request()? else {
                        return Ok(());
                    };
                    self.begin(request, take);
                }
                Phase::Payload {
                    request,
                    data,
                    filled,
                } => {
                    let part = rest.len().min(data.len() - *filled);
                    data[*filled..*filled + part].copy_from_slice(&rest[..part]);
                    *filled += part;
                    self.from += part;
                    if *filled < data.len() {
                        return Ok(());
                    }
                    let (request, data) = (*request, std::mem::take(data));
                    self.hand_over(request, data, take);
                }
                Phase::Skip { request, left } => {
                    let part = rest.len().min(*left as usize);
                    *left -= part as u32;
                    self.from += part;
                    if *left > 0 {
                        return Ok(());
                    }
                    let request = *request;
                    self.hand_over(request, vec![], take);
                }
            }
        }
    }

    /// Goes on with the handshake. True when requests follow.
    fn shake_hands(&mut self) -> Result<bool, Over> {
        let Phase::Handshake(handshake) = &mut self.phase else {
            return Ok(true);
        };
        let rest = &self.input[self.from..self.to];
        let mut output = vec![];
        let (eaten, outcome) = handshake.eat(rest, &mut output);
        let stuck = eaten == 0 && rest.len() == INPUT_BYTES;
        self.from += eaten;
        if !output.is_empty() {
            self.output.push_back(output);
        }
        match outcome {
            Outcome::More if stuck => Err(Over::Broken("an option of the handshake is too long")),
            Outcome::More => Ok(false),
            Outcome::Ready => {
                self.phase = Phase::Requests;
                Ok(true)
            }
            Outcome::Ended => {
                self.leaving = true;
                Ok(false)
            }
            Outcome::Broken(why) => Err(Over::Broken(why)),
        }
    }

    /// The next request's header, if it is there and may be taken now.
    fn next_request(&mut self) -> Result<Option<Request>, Over> {
        if !self.wants_input() {
            return Ok(None);
        }
        let rest = &self.input[self.from..self.to];
        let Some(header) = rest.first_chunk::<REQUEST_BYTES>() else {
            return Ok(None);
        };
        let request =
            Request::parse(header).ok_or(Over::Broken("a request has the wrong magic number"))?;
        self.from += REQUEST_BYTES;
        Ok(Some(request))
    }

    /// A request's header has been read: a write waits for its data.
    fn begin(&mut self, request: Request, take: &mut impl FnMut(Request, Vec<u8>)) {
        match request.command {
            protocol::CMD_DISC => self.leaving = true,
            protocol::CMD_WRITE if request.length > PAYLOAD_BYTES_MAX => {
                self.phase = Phase::Skip {
                    request,
                    left: request.length,
                };
            }
            protocol::CMD_WRITE => {
                let data = vec![0; request.length as usize];
                self.phase = Phase::Payload {
                    request,
                    data,
                    filled: 0,
                };
            }
            _ => self.hand_over(request, vec![], take),
        }
    }

    /// The whole request is here; the next one may follow.
    fn hand_over(
        &mut self,
        request: Request,
        data: Vec<u8>,
        take: &mut impl FnMut(Request, Vec<u8>),
    ) {
        self.phase = Phase::Requests;
        self.taken(&request);
        take(request, data);
    }

    /// Queues an answer: a buffer that begins with room for the reply's header, which is filled in here.
    pub fn answer(&mut self, error: u32, request: &Request, mut buffer: Vec<u8>) {
        self.given_back(request);
        self.output_bytes += buffer.len();
        buffer[..protocol::REPLY_BYTES].copy_from_slice(&protocol::reply(error, request.cookie));
        match self.output.back_mut() {
            Some(last) if last.len() + buffer.len() <= OUTPUT_JOIN_BYTES => {
                last.extend_from_slice(&buffer)
            }
            _ => self.output.push_back(buffer),
        }
    }

    /// Queues an answer without data: to a write, a flush or a trim, or an error. `error` is the protocol's number, 0 for success.
    pub fn answer_bare(&mut self, error: u32, request: &Request) {
        self.given_back(request);
        let header = protocol::reply(error, request.cookie);
        self.output_bytes += header.len();
        match self.output.back_mut() {
            Some(last) if last.len() + header.len() <= OUTPUT_JOIN_BYTES => {
                last.extend_from_slice(&header)
            }
            _ => {
                let mut fresh = Vec::with_capacity(1024);
                fresh.extend_from_slice(&header);
                self.output.push_back(fresh);
            }
        }
    }

    /// Sends what the socket takes.
    pub fn send(&mut self) -> Result<(), Over> {
        while !self.output.is_empty() {
            let mut slices = [IoSlice::new(&[]); 32];
            let mut count = 0;
            for (slot, buffer) in slices.iter_mut().zip(&self.output) {
                let skipped = if count == 0 { self.sent } else { 0 };
                *slot = IoSlice::new(&buffer[skipped..]);
                count += 1;
            }
            match self.stream.write_vectored(&slices[..count]) {
                Ok(0) => return Err(Over::Ended),
                Ok(bytes) => self.advance(bytes),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(Over::Ended),
            }
        }
        Ok(())
    }

    fn advance(&mut self, mut bytes: usize) {
        while bytes > 0 {
            let left = self.output[0].len() - self.sent;
            if bytes < left {
                self.sent += bytes;
                return;
            }
            // The handshake's own words are not counted.
            self.output_bytes = self.output_bytes.saturating_sub(self.output[0].len());
            bytes -= left;
            self.sent = 0;
            self.output.pop_front();
        }
    }
}

/// Data that a request moves and that has to be kept for it. A trim moves none.
fn moved_bytes(request: &Request) -> usize {
    match request.command {
        protocol::CMD_READ | protocol::CMD_WRITE => request.length as usize,
        _ => 0,
    }
}

/// Whether the other end is gone, without reading anything.
fn closed(stream: &UnixStream) -> Result<(), Over> {
    let mut sockets = [PollFd::new(stream, PollFlags::empty())];
    let now = rustix::event::Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let _ = poll(&mut sockets, Some(&now));
    if sockets[0]
        .revents()
        .intersects(PollFlags::HUP | PollFlags::ERR)
    {
        return Err(Over::Ended);
    }
    Ok(())
}

/// `None` when nothing is there now.
fn read(stream: &mut UnixStream, buffer: &mut [u8]) -> Result<Option<usize>, Over> {
    loop {
        match stream.read(buffer) {
            Ok(0) => return Err(Over::Ended),
            Ok(bytes) => return Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return Err(Over::Ended),
        }
    }
}
