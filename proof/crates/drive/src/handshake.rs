//! The server's half of the fixed newstyle handshake, as a machine that eats bytes: no socket, no clock.
//!
//! Answers EXPORT_NAME, GO, INFO, LIST and ABORT; every other option is "unsupported", which clients expect. TLS and
//! structured replies are not offered. A drive has one export, whose name is empty or `drive`.

use crate::protocol::*;

/// What a client learns of the drive.
#[derive(Clone, Copy, Debug)]
pub struct Export {
    pub bytes: u64,
    pub flags: u16,
    pub block_bytes_min: u32,
    pub block_bytes_preferred: u32,
}

pub const EXPORT_NAME: &str = "drive";
/// Options carry a name of at most 4096 bytes and a few numbers.
const OPTION_BYTES_MAX: usize = 8192;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    ClientFlags,
    Options,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Needs more bytes.
    More,
    /// Requests follow.
    Ready,
    /// The client ended it.
    Ended,
    /// The client breaks the protocol; one sentence.
    Broken(&'static str),
}

#[derive(Debug)]
pub struct Handshake {
    export: Export,
    step: Step,
    no_zeroes: bool,
}

impl Handshake {
    /// Begins, with the server's greeting in `output`.
    pub fn new(export: Export, output: &mut Vec<u8>) -> Self {
        output.extend_from_slice(&INIT_MAGIC.to_be_bytes());
        output.extend_from_slice(&OPTION_MAGIC.to_be_bytes());
        output.extend_from_slice(&(FLAG_FIXED_NEWSTYLE | FLAG_NO_ZEROES).to_be_bytes());
        Self {
            export,
            step: Step::ClientFlags,
            no_zeroes: false,
        }
    }

    /// Eats what it can of `input`; returns how many bytes and what comes next.
    pub fn eat(&mut self, input: &[u8], output: &mut Vec<u8>) -> (usize, Outcome) {
        let mut eaten = 0;
        loop {
            let rest = &input[eaten..];
            match self.step {
                Step::ClientFlags => {
                    let Some(flags) = word(rest, 0) else {
                        return (eaten, Outcome::More);
                    };
                    eaten += 4;
                    let known = u32::from(FLAG_FIXED_NEWSTYLE | FLAG_NO_ZEROES);
                    if flags & !known != 0 {
                        return (
                            eaten,
                            Outcome::Broken("the client sent flags that the server did not offer"),
                        );
                    }
                    self.no_zeroes = flags & u32::from(FLAG_NO_ZEROES) != 0;
                    self.step = Step::Options;
                }
                Step::Options => {
                    let (Some(high), Some(low), Some(option), Some(length)) =
                        (word(rest, 0), word(rest, 4), word(rest, 8), word(rest, 12))
                    else {
                        return (eaten, Outcome::More);
                    };
                    if u64::from(high) << 32 | u64::from(low) != OPTION_MAGIC {
                        return (
                            eaten,
                            Outcome::Broken(
                                "an option of the handshake has the wrong magic number",
                            ),
                        );
                    }
                    let length = length as usize;
                    if length > OPTION_BYTES_MAX {
                        answer(output, option, REP_ERR_TOO_BIG, &[]);
                        return (
                            eaten,
                            Outcome::Broken("an option of the handshake is too long"),
                        );
                    }
                    let Some(data) = rest.get(16..16 + length) else {
                        return (eaten, Outcome::More);
                    };
                    eaten += 16 + length;
                    match self.option(option, data, output) {
                        Outcome::More => {}
                        ended => return (eaten, ended),
                    }
                }
            }
        }
    }

    fn option(&self, option: u32, data: &[u8], output: &mut Vec<u8>) -> Outcome {
        match option {
            OPT_EXPORT_NAME => {
                if !known(data) {
                    // This option has no way to say no but to hang up.
                    return Outcome::Broken("the client asked for an export that does not exist");
                }
                output.extend_from_slice(&self.export.bytes.to_be_bytes());
                output.extend_from_slice(&self.export.flags.to_be_bytes());
                if !self.no_zeroes {
                    output.extend_from_slice(&[0; 124]);
                }
                Outcome::Ready
            }
            OPT_ABORT => {
                answer(output, option, REP_ACK, &[]);
                Outcome::Ended
            }
            OPT_LIST if data.is_empty() => {
                let mut entry = (EXPORT_NAME.len() as u32).to_be_bytes().to_vec();
                entry.extend_from_slice(EXPORT_NAME.as_bytes());
                answer(output, option, REP_SERVER, &entry);
                answer(output, option, REP_ACK, &[]);
                Outcome::More
            }
            OPT_INFO | OPT_GO => self.information(option, data, output),
            OPT_LIST => {
                answer(output, option, REP_ERR_INVALID, b"a list takes no data");
                Outcome::More
            }
            _ => {
                answer(output, option, REP_ERR_UNSUP, &[]);
                Outcome::More
            }
        }
    }

    /// What the export is, if it is the one that was asked for; after `OPT_GO` requests follow.
    fn information(&self, option: u32, data: &[u8], output: &mut Vec<u8>) -> Outcome {
        let Some(name) = asked_name(data) else {
            answer(
                output,
                option,
                REP_ERR_INVALID,
                b"the lengths inside the option do not fit",
            );
            return Outcome::More;
        };
        if !known(name) {
            answer(
                output,
                option,
                REP_ERR_UNKNOWN,
                b"there is one export, `drive`",
            );
            return Outcome::More;
        }
        let mut info = INFO_EXPORT.to_be_bytes().to_vec();
        info.extend_from_slice(&self.export.bytes.to_be_bytes());
        info.extend_from_slice(&self.export.flags.to_be_bytes());
        answer(output, option, REP_INFO, &info);
        let mut sizes = INFO_BLOCK_SIZE.to_be_bytes().to_vec();
        for size in [
            self.export.block_bytes_min,
            self.export.block_bytes_preferred,
            PAYLOAD_BYTES_MAX,
        ] {
            sizes.extend_from_slice(&size.to_be_bytes());
        }
        answer(output, option, REP_INFO, &sizes);
        answer(output, option, REP_ACK, &[]);
        if option == OPT_GO {
            Outcome::Ready
        } else {
            Outcome::More
        }
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes
        .get(at..at + 4)
        .map(|four| u32::from_be_bytes([four[0], four[1], four[2], four[3]]))
}

fn known(name: &[u8]) -> bool {
    name.is_empty() || name == EXPORT_NAME.as_bytes()
}

/// The export's name inside GO or INFO: length, name, number of wishes, wishes of two bytes.
fn asked_name(data: &[u8]) -> Option<&[u8]> {
    let length = word(data, 0)? as usize;
    let name = data.get(4..4usize.checked_add(length)?)?;
    let wishes = data.get(4 + length..4 + length + 2)?;
    let count = usize::from(u16::from_be_bytes([wishes[0], wishes[1]]));
    (data.len() == 4 + length + 2 + 2 * count).then_some(name)
}

fn answer(output: &mut Vec<u8>, option: u32, kind: u32, data: &[u8]) {
    output.extend_from_slice(&OPTION_REPLY_MAGIC.to_be_bytes());
    output.extend_from_slice(&option.to_be_bytes());
    output.extend_from_slice(&kind.to_be_bytes());
    output.extend_from_slice(&(data.len() as u32).to_be_bytes());
    output.extend_from_slice(data);
}
