//! A plain client of the protocol.

use seekwise_drive::protocol::*;
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

#[derive(Debug)]
pub struct Client {
    pub stream: UnixStream,
    pub bytes: u64,
    pub flags: u16,
    cookie: u64,
}

fn broken(what: &str) -> Error {
    Error::new(ErrorKind::InvalidData, what.to_string())
}

impl Client {
    /// Connects and asks for the drive with GO.
    pub fn connect(path: &Path) -> Result<Self> {
        let mut stream = UnixStream::connect(path)?;
        let mut hello = [0; 18];
        stream.read_exact(&mut hello)?;
        if hello[..8] != INIT_MAGIC.to_be_bytes() || hello[8..16] != OPTION_MAGIC.to_be_bytes() {
            return Err(broken("the server does not speak NBD"));
        }
        stream.write_all(&u32::from(FLAG_FIXED_NEWSTYLE | FLAG_NO_ZEROES).to_be_bytes())?;
        let mut client = Self {
            stream,
            bytes: 0,
            flags: 0,
            cookie: 0,
        };
        client.option(OPT_GO, &[0, 0, 0, 0, 0, 0])?;
        loop {
            let (kind, data) = client.option_reply()?;
            match kind {
                REP_INFO if data.len() == 12 && data[..2] == INFO_EXPORT.to_be_bytes() => {
                    client.bytes = data[2..10]
                        .iter()
                        .fold(0, |sum, &byte| sum << 8 | u64::from(byte));
                    client.flags = u16::from_be_bytes([data[10], data[11]]);
                }
                REP_INFO => {}
                REP_ACK => return Ok(client),
                _ => return Err(broken("the server refused the drive")),
            }
        }
    }

    /// Sends an option of the handshake; its answers come through [`Client::option_reply`].
    pub fn option(&mut self, option: u32, data: &[u8]) -> Result<()> {
        let mut bytes = OPTION_MAGIC.to_be_bytes().to_vec();
        bytes.extend_from_slice(&option.to_be_bytes());
        bytes.extend_from_slice(&(data.len() as u32).to_be_bytes());
        bytes.extend_from_slice(data);
        self.stream.write_all(&bytes)
    }

    /// The next answer to an option: its type and its data. An error if the magic number is wrong.
    pub fn option_reply(&mut self) -> Result<(u32, Vec<u8>)> {
        let mut head = [0; 20];
        self.stream.read_exact(&mut head)?;
        if head[..8] != OPTION_REPLY_MAGIC.to_be_bytes() {
            return Err(broken("an option reply has the wrong magic number"));
        }
        let word =
            |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let mut data = vec![0; word(16) as usize];
        self.stream.read_exact(&mut data)?;
        Ok((word(12), data))
    }

    /// Sends a request without waiting; returns its cookie.
    pub fn send(
        &mut self,
        command: u16,
        flags: u16,
        offset: u64,
        length: u32,
        data: &[u8],
    ) -> Result<u64> {
        self.cookie += 1;
        let mut bytes = Request {
            flags,
            command,
            cookie: self.cookie,
            offset,
            length,
        }
        .bytes()
        .to_vec();
        bytes.extend_from_slice(data);
        self.stream.write_all(&bytes)?;
        Ok(self.cookie)
    }

    /// The next reply's cookie and error number; a read's data follow in the stream if the error is 0.
    pub fn reply(&mut self) -> Result<(u64, u32)> {
        let mut head = [0; REPLY_BYTES];
        self.stream.read_exact(&mut head)?;
        if head[..4] != REPLY_MAGIC.to_be_bytes() {
            return Err(broken("a reply has the wrong magic number"));
        }
        let error = u32::from_be_bytes([head[4], head[5], head[6], head[7]]);
        let cookie = head[8..]
            .iter()
            .fold(0, |sum, &byte| sum << 8 | u64::from(byte));
        Ok((cookie, error))
    }

    fn call(
        &mut self,
        command: u16,
        flags: u16,
        offset: u64,
        length: u32,
        data: &[u8],
    ) -> Result<()> {
        let cookie = self.send(command, flags, offset, length, data)?;
        match self.reply()? {
            (answered, _) if answered != cookie => Err(broken("a reply is for another request")),
            (_, 0) => Ok(()),
            (_, error) => Err(Error::from_raw_os_error(error as i32)),
        }
    }

    /// Fills `data` from byte `offset` on and waits for it. A drive's error comes as that of the operating system.
    pub fn read(&mut self, offset: u64, data: &mut [u8]) -> Result<()> {
        self.call(CMD_READ, 0, offset, data.len() as u32, &[])?;
        self.stream.read_exact(data)
    }

    /// Writes at byte `offset` and waits until the drive has accepted it: a volatile cache may still hold the data.
    pub fn write(&mut self, offset: u64, data: &[u8]) -> Result<()> {
        self.call(CMD_WRITE, 0, offset, data.len() as u32, data)
    }

    /// Writes at byte `offset` and waits until the data are on the medium (FUA).
    pub fn write_through(&mut self, offset: u64, data: &[u8]) -> Result<()> {
        self.call(CMD_WRITE, CMD_FLAG_FUA, offset, data.len() as u32, data)
    }

    /// Waits until all accepted writes are on the medium.
    pub fn flush(&mut self) -> Result<()> {
        self.call(CMD_FLUSH, 0, 0, 0, &[])
    }

    /// Discards `length` bytes from byte `offset` on; they read as zeros then.
    pub fn trim(&mut self, offset: u64, length: u32) -> Result<()> {
        self.call(CMD_TRIM, 0, offset, length, &[])
    }
}
