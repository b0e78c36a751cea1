//! Numbers of the NBD protocol (doc/proto.md of NetworkBlockDevice/nbd), all big-endian on the wire.

pub const INIT_MAGIC: u64 = 0x4e42_444d_4147_4943; // "NBDMAGIC"
pub const OPTION_MAGIC: u64 = 0x4948_4156_454f_5054; // "IHAVEOPT"
pub const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
pub const REQUEST_MAGIC: u32 = 0x2560_9513;
pub const REPLY_MAGIC: u32 = 0x6744_6698;

pub const FLAG_FIXED_NEWSTYLE: u16 = 1;
pub const FLAG_NO_ZEROES: u16 = 2;

pub const OPT_EXPORT_NAME: u32 = 1;
pub const OPT_ABORT: u32 = 2;
pub const OPT_LIST: u32 = 3;
pub const OPT_INFO: u32 = 6;
pub const OPT_GO: u32 = 7;

pub const REP_ACK: u32 = 1;
pub const REP_SERVER: u32 = 2;
pub const REP_INFO: u32 = 3;
pub const REP_ERR_UNSUP: u32 = 1 << 31 | 1;
pub const REP_ERR_INVALID: u32 = 1 << 31 | 3;
pub const REP_ERR_UNKNOWN: u32 = 1 << 31 | 6;
pub const REP_ERR_TOO_BIG: u32 = 1 << 31 | 9;

pub const INFO_EXPORT: u16 = 0;
pub const INFO_BLOCK_SIZE: u16 = 3;

pub const EXPORT_HAS_FLAGS: u16 = 1;
pub const EXPORT_SEND_FLUSH: u16 = 1 << 2;
pub const EXPORT_SEND_FUA: u16 = 1 << 3;
pub const EXPORT_ROTATIONAL: u16 = 1 << 4;
pub const EXPORT_SEND_TRIM: u16 = 1 << 5;
pub const EXPORT_CAN_MULTI_CONN: u16 = 1 << 8;

pub const CMD_READ: u16 = 0;
pub const CMD_WRITE: u16 = 1;
pub const CMD_DISC: u16 = 2;
pub const CMD_FLUSH: u16 = 3;
pub const CMD_TRIM: u16 = 4;
pub const CMD_FLAG_FUA: u16 = 1;

/// Error numbers of the protocol; they equal Linux's.
pub const EIO: u32 = 5;
pub const ENOMEM: u32 = 12;
pub const EINVAL: u32 = 22;
pub const ENOSPC: u32 = 28;

pub const REQUEST_BYTES: usize = 28;
pub const REPLY_BYTES: usize = 16;
/// Largest read or write, as the protocol recommends for peers that negotiate nothing.
pub const PAYLOAD_BYTES_MAX: u32 = 32 << 20;

/// A request as it came over the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    pub flags: u16,
    pub command: u16,
    pub cookie: u64,
    pub offset: u64,
    pub length: u32,
}

impl Request {
    /// `None` if the magic number is wrong: the stream is out of step and cannot be used any more.
    pub fn parse(bytes: &[u8; REQUEST_BYTES]) -> Option<Self> {
        let word = |at: usize| {
            u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let long = |at: usize| u64::from(word(at)) << 32 | u64::from(word(at + 4));
        (word(0) == REQUEST_MAGIC).then(|| Self {
            flags: (word(4) >> 16) as u16,
            command: word(4) as u16,
            cookie: long(8),
            offset: long(16),
            length: word(24),
        })
    }

    /// The header as sent on the wire; a write's data follow it.
    pub fn bytes(&self) -> [u8; REQUEST_BYTES] {
        let mut bytes = [0; REQUEST_BYTES];
        bytes[..4].copy_from_slice(&REQUEST_MAGIC.to_be_bytes());
        bytes[4..6].copy_from_slice(&self.flags.to_be_bytes());
        bytes[6..8].copy_from_slice(&self.command.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.cookie.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.offset.to_be_bytes());
        bytes[24..].copy_from_slice(&self.length.to_be_bytes());
        bytes
    }
}

/// A simple reply without its data.
pub fn reply(error: u32, cookie: u64) -> [u8; REPLY_BYTES] {
    let mut bytes = [0; REPLY_BYTES];
    bytes[..4].copy_from_slice(&REPLY_MAGIC.to_be_bytes());
    bytes[4..8].copy_from_slice(&error.to_be_bytes());
    bytes[8..].copy_from_slice(&cookie.to_be_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_survives_the_wire() {
        let request = Request {
            flags: CMD_FLAG_FUA,
            command: CMD_WRITE,
            cookie: 0x0102_0304_0506_0708,
            offset: 1 << 40 | 512,
            length: 4096,
        };
        let mut bytes = request.bytes();
        assert_eq!(Request::parse(&bytes), Some(request));
        bytes[0] ^= 1;
        assert_eq!(Request::parse(&bytes), None);
    }
}
