//! The buffer of an extracted disk: segments, the least recently used first.
//!
//! A segment holds sectors in one piece. Which one a command takes follows the priorities that DiskSim documents in its source
//! (`disksim_diskcache.c`, comments): for a read the best hit, else an empty segment, else the least recently used
//! clean one, at last the one that is being read ahead into; for a write one that it overlaps, then the same.

use super::parameters::Buffer;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Empty,
    Clean,
    /// The arm reads into it.
    Reading,
    /// The arm writes out of it.
    Writing,
}

#[derive(Clone, Debug)]
pub struct Segment {
    pub state: State,
    pub start: u64,
    pub end: u64,
    /// The last command that used it was a write.
    pub written: bool,
    /// Reading ahead goes up to here.
    pub ahead: u64,
    dedicated: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hit {
    None,
    Partial,
    Whole,
    /// A write that goes on where the one that is being written ends.
    Append,
}

#[derive(Clone, Debug)]
pub struct Segments {
    /// Least recently used first.
    list: Vec<Segment>,
    size: u64,
    caching: bool,
    hits_on_written: bool,
    combine: bool,
}

impl Segments {
    /// Empty segments; the first is kept for writes if the drive has a separate one.
    pub fn new(buffer: &Buffer) -> Self {
        let segment = |dedicated| Segment {
            state: State::Empty,
            start: 0,
            end: 0,
            written: false,
            ahead: 0,
            dedicated,
        };
        let separate = buffer.separate_write_segment;
        Self {
            list: (0..buffer.segments)
                .map(|n| segment(separate && n == 0))
                .collect(),
            size: buffer.segment_sectors,
            caching: buffer.caching,
            hits_on_written: buffer.read_hits_on_written,
            combine: buffer.combine_writes,
        }
    }

    /// The segment used most recently.
    pub fn last(&self) -> &Segment {
        &self.list[self.list.len() - 1]
    }

    /// The segment at `index` of the list, least recently used first. Indices change when a segment is used.
    pub fn get(&mut self, index: usize) -> &mut Segment {
        &mut self.list[index]
    }

    /// The segment that the arm works on, if one is.
    pub fn active(&self) -> Option<usize> {
        let busy = |segment: &Segment| matches!(segment.state, State::Reading | State::Writing);
        self.list.iter().position(busy)
    }

    /// The end of a segment has moved on; its start follows when it is full.
    pub fn grow(&mut self, index: usize, end: u64) {
        let segment = &mut self.list[index];
        segment.end = end;
        segment.start = segment.start.max(end.saturating_sub(self.size));
    }

    /// The segment for a read of `first` up to `end`.
    pub fn for_read(&self, first: u64, end: u64) -> (usize, Hit) {
        let mut best = (0, 0, Hit::None);
        for (index, segment) in self.list.iter().enumerate() {
            if segment.dedicated {
                continue;
            }
            let inside = segment.start <= first && first < segment.end;
            let (value, hit) = if segment.state == State::Empty || !inside || !self.caching {
                let value = match segment.state {
                    State::Empty => 3,
                    State::Clean => 2,
                    State::Reading => 1,
                    State::Writing => 0,
                };
                (value, Hit::None)
            } else {
                let value = match segment.state {
                    State::Writing if self.hits_on_written => 10,
                    State::Writing => 0,
                    State::Reading => 9,
                    _ if segment.written && !self.hits_on_written => 0,
                    _ => 8,
                };
                if end <= segment.end {
                    (value, Hit::Whole)
                } else {
                    (value - 4, Hit::Partial)
                }
            };
            if value > best.1 {
                best = (index, value, hit);
            }
        }
        (best.0, best.2)
    }

    /// The segment for a write; none while as many segments as may be are being written.
    pub fn for_write(&self, first: u64, end: u64, write_segments: u32) -> Option<(usize, Hit)> {
        let dedicated = self.list.iter().any(|segment| segment.dedicated);
        let dirty = self
            .list
            .iter()
            .filter(|segment| segment.state == State::Writing)
            .count();
        let room = dirty < write_segments as usize;
        let mut best: Option<(usize, i32, Hit)> = None;
        for (index, segment) in self.list.iter().enumerate() {
            if dedicated && !segment.dedicated {
                continue;
            }
            let overlaps = first < segment.end && segment.start < end;
            let (value, hit) = match segment.state {
                State::Writing if self.combine && first == segment.end => (7, Hit::Append),
                State::Writing => (0, Hit::None),
                State::Clean if room && overlaps => (4, Hit::None),
                State::Empty if room => (3, Hit::None),
                State::Clean if room => (2, Hit::None),
                State::Reading if room => (1, Hit::None),
                _ => (0, Hit::None),
            };
            if value > best.map_or(0, |(_, value, _)| value) {
                best = Some((index, value, hit));
            }
        }
        best.map(|(index, _, hit)| (index, hit))
    }

    /// A command uses a segment: it becomes the most recently used. Returns its new place.
    pub fn take(&mut self, index: usize) -> usize {
        let segment = self.list.remove(index);
        self.list.push(segment);
        self.list.len() - 1
    }

    /// Written sectors make older copies of them useless.
    pub fn forget(&mut self, first: u64, end: u64, but: usize) {
        for (index, segment) in self.list.iter_mut().enumerate() {
            if index != but
                && segment.state == State::Clean
                && first < segment.end
                && segment.start < end
            {
                segment.state = State::Empty;
            }
        }
    }
}
