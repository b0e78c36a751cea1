//! One client: bytes in, requests out; answers in, bytes out. Never blocks.

use crate::handshake::{Export, Handshake, Outcome};
use crate::protocol::{self, Request, PAYLOAD_BYTES_MAX, REQUEST_BYTES};
use std::collections::VecDeque;
use std::io::{ErrorKind, IoSlice, Read, Write};
use std::os::unix::net::UnixStream;

const INPUT_BYTES: usize = 128 << 10;
/// A buffer of answers that is longer than this gets no more.
const OUTPUT_JOIN_BYTES: usize = 32 << 10;
/// A client that has so much outstanding is not read from until it has taken its answers.
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
    pub outstanding: usize,
    pub outstanding_bytes: usize,
    /// The client has said goodbye: answers what is outstanding, then ends.
    pub leaving: bool,
}

impl Connection {
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
            outstanding: 0,
            outstanding_bytes: 0,
            leaving: false,
        }
    }

    pub fn wants_input(&self) -> bool {
        !self.leaving
            && self.outstanding < OUTSTANDING_MAX
            && self.outstanding_bytes < OUTSTANDING_BYTES_MAX
    }

    pub fn wants_output(&self) -> bool {
        !self.output.is_empty()
    }

    pub fn done(&self) -> bool {
        self.leaving && self.outstanding == 0 && self.output.is_empty()
    }

    /// Reads what is there and hands each whole request, with a write's data, to `take`.
    /// A write that is too long comes with no data.
    pub fn receive(&mut self, mut take: impl FnMut(Request, Vec<u8>)) -> Result<(), Over> {
        loop {
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
            if self.leaving || !(payload || full) {
                return Ok(());
            }
            if full && !payload {
                // More may wait in the socket; the others are served first.
                return Ok(());
            }
        }
    }

    fn parse(&mut self, take: &mut impl FnMut(Request, Vec<u8>)) -> Result<(), Over> {
        loop {
            let rest = &self.input[self.from..self.to];
            match &mut self.phase {
                Phase::Handshake(handshake) => {
                    let mut output = vec![];
                    let (eaten, outcome) = handshake.eat(rest, &mut output);
                    self.from += eaten;
                    if !output.is_empty() {
                        self.output.push_back(output);
                    }
                    match outcome {
                        Outcome::More if rest.len() == INPUT_BYTES && eaten == 0 => {
                            return Err(Over::Broken("an option of the handshake is too long"));
                        }
                        Outcome::More => return Ok(()),
                        Outcome::Ready => self.phase = Phase::Requests,
                        Outcome::Ended => {
                            self.leaving = true;
                            return Ok(());
                        }
                        Outcome::Broken(why) => return Err(Over::Broken(why)),
                    }
                }
                Phase::Requests => {
                    let Some(header) = rest.first_chunk::<REQUEST_BYTES>() else {
                        return Ok(());
                    };
                    let request = Request::parse(header)
                        .ok_or(Over::Broken("a request has the wrong magic number"))?;
                    self.from += REQUEST_BYTES;
                    match request.command {
                        protocol::CMD_DISC => {
                            self.leaving = true;
                            return Ok(());
                        }
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
                        _ => take(request, vec![]),
                    }
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
                    take(*request, std::mem::take(data));
                    self.phase = Phase::Requests;
                }
                Phase::Skip { request, left } => {
                    let part = rest.len().min(*left as usize);
                    *left -= part as u32;
                    self.from += part;
                    if *left > 0 {
                        return Ok(());
                    }
                    take(*request, vec![]);
                    self.phase = Phase::Requests;
                }
            }
        }
    }

    /// Queues an answer: a buffer that begins with room for the reply's header, which is filled in here.
    pub fn answer(&mut self, error: u32, cookie: u64, mut buffer: Vec<u8>) {
        buffer[..protocol::REPLY_BYTES].copy_from_slice(&protocol::reply(error, cookie));
        match self.output.back_mut() {
            Some(last) if last.len() + buffer.len() <= OUTPUT_JOIN_BYTES => {
                last.extend_from_slice(&buffer)
            }
            _ => self.output.push_back(buffer),
        }
    }

    pub fn answer_bare(&mut self, error: u32, cookie: u64) {
        let header = protocol::reply(error, cookie);
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
            bytes -= left;
            self.sent = 0;
            self.output.pop_front();
        }
    }
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
