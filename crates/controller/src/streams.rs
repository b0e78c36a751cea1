//! Which reads go on where an earlier one ended, and how far to read ahead of them.

use seekwise_units::Lba;

/// Streams followed at once; the one not used for longest makes room. More than a host has readers at a time.
const STREAMS: usize = 32;
/// A stream that was not heard of for so many reads is over.
const SILENT: u64 = 1024;
/// Streams compared side by side.
const LANES: usize = 8;

#[derive(Clone, Copy, Debug)]
struct Stream {
    /// Up to where the controller has read or is reading.
    ahead: u64,
    used: u64,
    runs: u32,
}

#[derive(Clone, Debug, Default)]
pub struct Streams {
    streams: Vec<Stream>,
    /// Where the host's next read of each stream is expected: looked through for every read.
    nexts: Vec<u64>,
    clock: u64,
}

/// What to make of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadPattern {
    Random,
    /// Goes on; the controller should have read up to `until` and has read, or is reading, up to `from`.
    Sequential {
        from: Lba,
        until: Lba,
    },
}

impl Streams {
    /// The first stream whose next read starts at `start`.
    fn expecting(&self, start: u64) -> Option<usize> {
        // Whole blocks without a way out in the middle are compared side by side.
        let holds = |block: &[u64]| block.iter().fold(false, |any, &next| any | (next == start));
        let block = self.nexts.chunks(LANES).position(holds)?;
        let within = self.nexts[block * LANES..]
            .iter()
            .position(|&next| next == start)?;
        Some(block * LANES + within)
    }

    /// A read of the host. The second read in a row makes a stream. `ahead` in sectors.
    pub fn read(&mut self, start: Lba, end: Lba, ahead: u64) -> ReadPattern {
        self.clock += 1;
        if let Some(place) = self.expecting(start.0) {
            self.nexts[place] = end.0;
            let stream = &mut self.streams[place];
            stream.used = self.clock;
            stream.runs += 1;
            let from = stream.ahead.max(end.0);
            stream.ahead = from.max(end.0 + ahead);
            return ReadPattern::Sequential {
                from: Lba(from),
                until: Lba(stream.ahead),
            };
        }
        let stream = Stream {
            ahead: end.0,
            used: self.clock,
            runs: 0,
        };
        if self.streams.len() < STREAMS {
            self.streams.push(stream);
            self.nexts.push(end.0);
        } else {
            let clock = self.clock;
            // Streams that are alive come after all others: one number instead of a pair.
            const ALIVE: u64 = 1 << 63;
            let key = |stream: &Stream| {
                let alive = (stream.runs > 0) & (clock - stream.used < SILENT);
                stream.used | if alive { ALIVE } else { 0 }
            };
            let (mut oldest, mut least) = (0, u64::MAX);
            for (place, stream) in self.streams.iter().enumerate() {
                let key = key(stream);
                if key < least {
                    (oldest, least) = (place, key);
                }
            }
            self.streams[oldest] = stream;
            self.nexts[oldest] = end.0;
        }
        ReadPattern::Random
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_read_in_a_row_makes_a_stream_and_nothing_is_asked_for_twice() {
        let mut streams = Streams::default();
        assert_eq!(streams.read(Lba(0), Lba(256), 1024), ReadPattern::Random);
        let mut covered = 512;
        for step in 1..20u64 {
            let (start, end) = (step * 256, (step + 1) * 256);
            let ReadPattern::Sequential { from, until } = streams.read(Lba(start), Lba(end), 1024)
            else {
                panic!("a read that goes on is sequential");
            };
            assert_eq!(from.0, covered.max(end));
            assert_eq!(until.0, end + 1024);
            covered = until.0;
        }
    }

    #[test]
    fn random_reads_do_not_push_out_a_stream() {
        let mut streams = Streams::default();
        streams.read(Lba(0), Lba(8), 64);
        streams.read(Lba(8), Lba(16), 64);
        for place in 0..500u64 {
            let start = 1_000_000 + place * 1_000;
            assert_eq!(
                streams.read(Lba(start), Lba(start + 8), 64),
                ReadPattern::Random
            );
        }
        assert_ne!(streams.read(Lba(16), Lba(24), 64), ReadPattern::Random);
    }
}
