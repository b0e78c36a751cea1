//! What can go wrong with a drive, and how it is written: `DRIVE:KIND[=VALUE][@TIME]`.
//!
//! The same text is an option (`--fault 1:slow=3@20s`) and a line on the control socket. DRIVE is a number from 0 or `all`;
//! TIME counts from the start of the server, or from now on the control socket.

use seekwise_units::Nanos;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FaultKind {
    /// The supply fails: outstanding commands and the write cache are lost, but for a part of the cached pages in `0..=1`.
    PowerCut {
        keep: f64,
    },
    /// The supply fails while the next write of several sectors is on its way: the first of them are new, the rest old.
    Torn,
    PowerOn,
    /// The cable fails: the drive keeps its write cache but nobody reaches it.
    Drop,
    Return,
    /// Everything takes `factor` times as long.
    Slow {
        factor: f64,
    },
    /// These sectors cannot be read until they are written again.
    Bad {
        sector: u64,
        count: u64,
    },
    /// All sectors can be read again.
    Heal,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fault {
    /// `None`: every drive.
    pub drive: Option<usize>,
    pub kind: FaultKind,
    pub after: Nanos,
}

pub const KINDS: &str =
    "power-cut[=KEPT], torn, power-on, drop, return, slow=FACTOR, bad=SECTOR[+COUNT], heal";

impl FaultKind {
    /// A kind and its value as they are written; on error, what is wrong with them.
    fn parse(name: &str, value: Option<&str>, sectors: u64) -> Result<Self, String> {
        let number = |value: &str, least: f64, most: f64| {
            value
                .parse()
                .ok()
                .filter(|number| (least..=most).contains(number))
                .ok_or_else(|| format!("has the value `{value}`; it goes from {least} to {most}"))
        };
        Ok(match (name, value) {
            ("power-cut", None) => Self::PowerCut { keep: 0.0 },
            ("power-cut", Some(keep)) => Self::PowerCut {
                keep: number(keep, 0.0, 1.0)?,
            },
            ("torn", None) => Self::Torn,
            ("power-on", None) => Self::PowerOn,
            ("drop", None) => Self::Drop,
            ("return", None) => Self::Return,
            ("slow", Some(factor)) => Self::Slow {
                factor: number(factor, 1.0, 1e6)?,
            },
            ("bad", Some(range)) => {
                let (sector, count) = range.split_once('+').unwrap_or((range, "1"));
                match (sector.parse::<u64>(), count.parse::<u64>()) {
                    (Ok(sector), Ok(count)) if count > 0 => {
                        // A place that no request reaches would be a fault that nobody meets.
                        if sector.checked_add(count).is_none_or(|end| end > sectors) {
                            return Err(format!(
                                "has the sectors `{range}`; the drive has 0 to {}",
                                sectors - 1
                            ));
                        }
                        Self::Bad { sector, count }
                    }
                    _ => return Err(format!("has the sectors `{range}`; write 1000 or 1000+8")),
                }
            }
            ("heal", None) => Self::Heal,
            _ => return Err(format!("has no such kind; there are {KINDS}")),
        })
    }
}

impl Fault {
    /// Reads a fault of one of so many drives with so many sectors; the error is one sentence without period.
    pub fn parse(text: &str, drives: usize, sectors: u64) -> Result<Self, String> {
        let wrong = |what: String| format!("the fault `{text}` {what}");
        let (drive, rest) = text
            .trim()
            .split_once(':')
            .ok_or_else(|| wrong("is not DRIVE:KIND, as in 0:power-cut".into()))?;
        let drive = match drive {
            "all" => None,
            number => match number.parse() {
                Ok(number) if number < drives => Some(number),
                _ => {
                    return Err(wrong(format!(
                        "names drive `{number}`; there are 0 to {}",
                        drives - 1
                    )))
                }
            },
        };
        let (what, after) = match rest.split_once('@') {
            None => (rest, Nanos::ZERO),
            Some((what, time)) => {
                let after = duration(time)
                    .ok_or_else(|| wrong(format!("has the time `{time}`; write 500ms or 10s")))?;
                (what, after)
            }
        };
        let (name, value) = what
            .split_once('=')
            .map_or((what, None), |(name, value)| (name, Some(value)));
        let kind = FaultKind::parse(name, value, sectors).map_err(wrong)?;
        Ok(Self { drive, kind, after })
    }
}

fn duration(text: &str) -> Option<Nanos> {
    let (number, unit) = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
        (Some(number), _) => (number, 1e6),
        (None, Some(number)) => (number, 1e9),
        (None, None) => (text, 1e9),
    };
    let number: f64 = number.parse().ok()?;
    (number.is_finite() && (0.0..1e9).contains(&number)).then_some(Nanos((number * unit) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_written_as_one_word() {
        let parse = |text: &str| Fault::parse(text, 4, 2000);
        let fault = |drive, kind, after| Ok(Fault { drive, kind, after });
        assert_eq!(
            parse("0:power-cut"),
            fault(Some(0), FaultKind::PowerCut { keep: 0.0 }, Nanos::ZERO)
        );
        assert_eq!(
            parse("3:slow=2.5@10s"),
            fault(
                Some(3),
                FaultKind::Slow { factor: 2.5 },
                Nanos::from_secs(10)
            )
        );
        assert_eq!(
            parse("all:bad=1000+8@250ms"),
            fault(
                None,
                FaultKind::Bad {
                    sector: 1000,
                    count: 8
                },
                Nanos::from_millis(250)
            )
        );
    }

    #[test]
    fn a_wrong_fault_is_refused_with_what_would_be_right() {
        for (text, word) in [
            ("power-cut", "DRIVE:KIND"),
            ("4:drop", "0 to 3"),
            ("0:explode", "power-cut"),
            ("0:slow=0.5", "from 1"),
            ("0:slow", "slow=FACTOR"),
            ("0:bad=12+0", "1000+8"),
            ("0:bad=1996+5", "0 to 1999"),
            ("0:bad=18446744073709551615+8", "0 to 1999"),
            ("0:drop@soon", "10s"),
        ] {
            let error = Fault::parse(text, 4, 2000).unwrap_err();
            assert!(error.contains(word), "{error}");
        }
    }
}
