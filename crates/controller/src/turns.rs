//! Whose turn it is on the drives: what hosts wait for, or what the memory has put off (destaging, with its reads of old data and parity).
//!
//! ```text
//!   nobody asks for the drives           put-off work goes on, as deep as each drive holds
//!   hosts do, the memory has room        only theirs; put-off work waits until the drives have been left alone for a while
//!   hosts do, the memory is filling      turns of equal length: a seek is paid per turn, not per command
//! ```
//!
//! A unit's drives take turns together, because most rows and many reads need several of them. Precedence of reads and destaging in runs are
//! what makers claim of such caches; that turns are equal is an assumption.

use seekwise_units::Nanos;

/// What may go to the drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// What hosts wait for, nothing else.
    Hosts,
    /// Put-off work, a little at a time; of hosts only what it does not hold up.
    PutOff,
    /// Put-off work: hosts have left the drives alone.
    Quiet,
}

#[derive(Clone, Debug)]
pub struct DriveTurns {
    /// Length of a turn, and how long drives are left alone before they count as quiet.
    length: Nanos,
    /// Commands to drives that hosts wait for, and when one came or was done last.
    asked: u32,
    last_host: Option<Nanos>,
    put_offs: bool,
    began: Nanos,
    gate: Gate,
    /// When the gate opens next by itself.
    pub opens: Nanos,
}

impl DriveTurns {
    /// Quiet drives; `length` is that of a turn, and of the pause after which drives count as quiet.
    pub fn new(length: Nanos) -> Self {
        Self {
            length,
            asked: 0,
            last_host: None,
            put_offs: true,
            began: Nanos::ZERO,
            gate: Gate::Quiet,
            opens: Nanos::NEVER,
        }
    }

    /// A host's command to a drive begins to wait.
    pub fn host_asks(&mut self, now: Nanos) {
        self.asked += 1;
        self.last_host = Some(now);
    }

    /// A command to a drive that a host waited for is done.
    pub fn host_has(&mut self, now: Nanos) {
        self.asked -= 1;
        self.last_host = Some(now);
    }

    /// What may go to the drives, as of the last [`DriveTurns::look`].
    pub fn gate(&self) -> Gate {
        self.gate
    }

    /// Looks what may go now; true when that has changed. `pressed`: the memory is filling, put-off work cannot wait for quiet drives.
    pub fn look(&mut self, now: Nanos, pressed: bool) -> bool {
        let quiet_from = self
            .last_host
            .map_or(Nanos::ZERO, |last| last + self.length);
        self.opens = Nanos::NEVER;
        let gate = if self.asked == 0 && quiet_from <= now {
            // A host that comes has its turn at once.
            self.put_offs = true;
            self.began = Nanos::ZERO;
            Gate::Quiet
        } else if !pressed {
            if self.asked == 0 {
                self.opens = quiet_from;
            }
            Gate::Hosts
        } else {
            if self.began + self.length <= now {
                self.put_offs = !self.put_offs;
                self.began = now;
            }
            self.opens = self.began + self.length;
            if self.put_offs {
                Gate::PutOff
            } else {
                Gate::Hosts
            }
        };
        core::mem::replace(&mut self.gate, gate) != gate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: Nanos = Nanos::from_millis(20);

    fn at(ms: u64) -> Nanos {
        Nanos::from_millis(ms)
    }

    #[test]
    fn with_room_in_the_memory_destaging_waits_until_the_drives_are_left_alone() {
        let mut turns = DriveTurns::new(LENGTH);
        turns.look(at(1), false);
        assert_eq!(turns.gate(), Gate::Quiet);
        turns.host_asks(at(1));
        assert!(turns.look(at(1), false));
        assert_eq!((turns.gate(), turns.opens), (Gate::Hosts, Nanos::NEVER));
        turns.host_has(at(9));
        assert!(!turns.look(at(9), false));
        assert_eq!((turns.gate(), turns.opens), (Gate::Hosts, at(29)));
        assert!(turns.look(at(29), false));
        assert_eq!(turns.gate(), Gate::Quiet);
    }

    #[test]
    fn under_pressure_hosts_and_destaging_have_turns_of_equal_length_hosts_first() {
        let mut turns = DriveTurns::new(LENGTH);
        turns.look(at(100), true);
        turns.host_asks(at(100));
        let mut seen = Vec::new();
        for ms in (100..200).step_by(10) {
            turns.look(at(ms), true);
            seen.push(turns.gate());
        }
        let (hosts, put_off) = ([Gate::Hosts; 2], [Gate::PutOff; 2]);
        assert_eq!(seen, [hosts, put_off, hosts, put_off, hosts].concat());
    }
}
