//! RAID 0, 1 and 10: a point at each `remap` row; state then follows the recording.
//!
//! md decides when the request arrives (`queue`); its `remap` row is written some microseconds later, and other rows may stand
//! between the two.

use super::array_file::{ArrayConf, ArrayEvent, ArrayRow};
use super::MappingFile;
use seekwise_raid::layout::raid0::Raid0;
use seekwise_raid::layout::raid10::Raid10;
use seekwise_raid::md::balance::{choose_raid10, MemberState, Raid1Balance};
use seekwise_raid::Raid10Layout;
use seekwise_units::{Lba, Sectors};
use std::collections::{BTreeMap, BTreeSet};

/// A piece of an array request on its way to a member.
struct Piece {
    member: u32,
    at: Lba,
    sectors: Sectors,
    array_end: Lba,
}

/// An array request not yet done.
struct Open {
    row: ArrayRow,
    /// Where the piece that starts here is expected on members; decided when the request arrived, as md decides at once.
    decided: Vec<Expected>,
}

impl Open {
    /// A row at `at` belongs to the request.
    fn holds(&self, row: &ArrayRow, at: Lba) -> bool {
        self.row.write == row.write && self.row.start <= at && at < self.row.end()
    }
}

struct Expected {
    start: Lba,
    /// Copies not yet seen: (member, member sector).
    places: Vec<(u32, Lba)>,
}

enum Array {
    Raid0(Raid0),
    Raid1(Box<Raid1Balance>),
    Raid10 {
        map: Raid10,
        members: Vec<MemberState>,
    },
}

/// Where requests are cut apart from chunks, in sectors from their start: the largest request of the members, and what the
/// recording has shown of the submitter's buffer (a request is cut where its buffer has more memory segments than fit).
struct Cuts {
    sectors_max: u64,
    shown: BTreeMap<String, BTreeSet<u64>>,
}

impl Cuts {
    /// The recording shows that a request of the row's process was cut so far behind its start.
    fn show(&mut self, row: &ArrayRow, within: u64) {
        let process = row.process.clone();
        self.shown.entry(process).or_default().insert(within);
    }

    /// First cut after `start` in a request that began at `begin`.
    fn next(&self, process: &str, begin: Lba, start: Lba) -> Lba {
        let within = start.0 - begin.0;
        let mut cut = 0;
        let shown = self.shown.get(process);
        while cut <= within {
            let limit = cut + self.sectors_max;
            let memory = shown.and_then(|cuts| cuts.range(cut + 1..=limit).next().copied());
            cut = memory.unwrap_or(limit);
        }
        Lba(begin.0 + cut)
    }
}

/// The model beside the recording: what it has decided, and what is under way.
struct Replay<'a> {
    conf: &'a ArrayConf,
    array: Array,
    /// Requests are split at the ends of chunks; zero: never.
    chunk: Sectors,
    cuts: Cuts,
    open: Vec<Open>,
    under_way: Vec<Piece>,
    file: MappingFile,
}

/// Replays a recording of an array with copies or stripes. An error means that it could not be replayed; misses are in the result.
pub fn verify(conf: &ArrayConf, rows: &[ArrayRow]) -> Result<MappingFile, String> {
    let array = array_of(conf)?;
    let chunk = match &array {
        Array::Raid1(_) => Sectors(0),
        // With as many near copies as members every chunk is everywhere and nothing is split.
        Array::Raid10 { map, .. } if map.layout.near >= map.members && map.layout.far == 1 => {
            Sectors(0)
        }
        _ => conf.chunk,
    };
    let mut replay = Replay {
        conf,
        array,
        chunk,
        cuts: Cuts {
            sectors_max: conf.member_sectors_max.0.max(1),
            shown: BTreeMap::new(),
        },
        open: Vec::new(),
        under_way: Vec::new(),
        file: MappingFile::default(),
    };
    for row in rows {
        match (row.event, row.member) {
            (ArrayEvent::Queue, _) => replay.queue(row),
            (ArrayEvent::Done, _) => replay.done(row),
            (ArrayEvent::Remap, Some(member)) => replay.remap(row, member)?,
            (ArrayEvent::Issue, Some(member)) if row.metadata => pend(&mut replay.array, member, 1),
            (ArrayEvent::Complete, Some(member)) if row.metadata => {
                pend(&mut replay.array, member, -1);
            }
            (ArrayEvent::Complete, Some(member)) => replay.complete(row, member),
            _ => {}
        }
    }
    Ok(replay.file)
}

/// The array that the .conf describes.
fn array_of(conf: &ArrayConf) -> Result<Array, String> {
    if conf.members == 0 || (conf.level != "raid1" && conf.chunk.0 == 0) {
        return Err("raid_disks or chunk_size of the .conf is zero".into());
    }
    Ok(match conf.level.as_str() {
        "raid0" => Array::Raid0(Raid0::new(
            &vec![conf.member; conf.members as usize],
            conf.chunk,
        )),
        "raid1" => Array::Raid1(Box::new(Raid1Balance::new(
            conf.generation,
            conf.members,
            conf.rotational,
        ))),
        _ => {
            let layout = Raid10Layout::from_md(conf.layout);
            if layout.near == 0 || layout.far == 0 || layout.copies() > conf.members {
                return Err(format!(
                    "layout {} does not fit {} members",
                    conf.layout, conf.members
                ));
            }
            let members = vec![MemberState::new(conf.rotational); conf.members as usize];
            let member = Sectors(conf.member.0 / conf.chunk.0 * conf.chunk.0);
            Array::Raid10 {
                map: Raid10 {
                    members: conf.members,
                    layout,
                    chunk: conf.chunk,
                    member,
                },
                members,
            }
        }
    })
}

impl Replay<'_> {
    /// An array request arrives.
    fn queue(&mut self, row: &ArrayRow) {
        let first = decide(&mut self.array, self.conf, self.chunk, row.start, row);
        self.open.push(Open {
            row: row.clone(),
            decided: vec![first],
        });
    }

    /// An array request ends, if that was the last of it.
    fn done(&mut self, row: &ArrayRow) {
        let whole =
            |request: &Open| request.holds(row, row.start) && row.end() >= request.row.end();
        if let Some(place) = self.open.iter().position(whole) {
            self.open.remove(place);
        }
    }

    /// A piece goes to a member: a point.
    fn remap(&mut self, row: &ArrayRow, member: u32) -> Result<(), String> {
        let offset = *self
            .conf
            .offsets
            .get(member as usize)
            .ok_or_else(|| format!("line {} names member {member}", row.line))?;
        let start = row
            .array_start
            .ok_or_else(|| format!("line {} has no md_sector", row.line))?;
        let request = self
            .open
            .iter_mut()
            .find(|request| request.holds(row, start))
            .ok_or_else(|| format!("line {} belongs to no open array request", row.line))?;
        let begin = request.row.start;
        let at_chunk = self.chunk.0 != 0 && start.0 % self.chunk.0 == 0;
        if start != begin && !at_chunk {
            self.cuts.show(row, start.0 - begin.0);
        }
        let decided = |expected: &Expected| expected.start == start;
        if !request.decided.iter().any(decided) {
            let fresh = decide(&mut self.array, self.conf, self.chunk, start, &request.row);
            request.decided.push(fresh);
        }
        let index = start.0.checked_div(self.chunk.0);
        let chunk_end = index.map_or(u64::MAX, |index| (index + 1) * self.chunk.0);
        let cut = self.cuts.next(&row.process, begin, start);
        let end = request.row.end().0.min(chunk_end).min(cut.0);
        let expected = request
            .decided
            .iter_mut()
            .find(|expected| decided(expected));
        let expected = expected.expect("just decided");
        let here =
            |&(chosen, at): &(u32, Lba)| chosen == member && Lba(at.0 + offset.0) == row.start;
        let place = expected.places.iter().position(here);
        let right = place.is_some() && start.0 + row.sectors.0 == end;
        self.file.total += 1;
        self.file.passed += u64::from(right);
        if !right {
            self.file.misses.push(format!(
                "{}; the model: {} sectors to {}",
                row.describe(),
                end - start.0,
                describe(&expected.places)
            ));
        }
        if start.0 + row.sectors.0 < end {
            self.cuts.show(row, start.0 + row.sectors.0 - begin.0);
        }
        follow(&mut self.array, expected, place, (row, member, start));
        self.under_way.push(Piece {
            member,
            at: row.start,
            sectors: row.sectors,
            array_end: start + row.sectors,
        });
        Ok(())
    }

    /// A member is done with everything of a request.
    fn complete(&mut self, row: &ArrayRow, member: u32) {
        let (mut done, left): (Vec<Piece>, Vec<Piece>) = core::mem::take(&mut self.under_way)
            .into_iter()
            .partition(|piece| {
                piece.member == member
                    && row.start <= piece.at
                    && piece.at + piece.sectors <= row.end()
            });
        self.under_way = left;
        done.sort_by_key(|piece| piece.at);
        for piece in done {
            finish(&mut self.array, self.conf, &piece);
        }
    }
}

/// State follows the recording: what was taken for this piece is moved to where it went.
fn follow(
    array: &mut Array,
    expected: &mut Expected,
    place: Option<usize>,
    (row, member, start): (&ArrayRow, u32, Lba),
) {
    match place {
        Some(place) => drop(expected.places.remove(place)),
        None => {
            if let Some((wrong, _)) = expected.places.pop() {
                pend(array, wrong, -1);
            }
            take(array, member, start, row.sectors, row.write);
        }
    }
}

/// Where the model sends the piece that starts at `start`, taken at once: one place for a read, every copy for a write.
fn decide(
    array: &mut Array,
    conf: &ArrayConf,
    chunk: Sectors,
    start: Lba,
    request: &ArrayRow,
) -> Expected {
    let chunk_end = start
        .0
        .checked_div(chunk.0)
        .map_or(u64::MAX, |index| (index + 1) * chunk.0);
    let end = chunk_end.min(request.end().0);
    let sectors = Sectors(end - start.0);
    let places: Vec<(u32, Lba)> = match array {
        Array::Raid0(map) => vec![map.locate(start)],
        Array::Raid1(_) if request.write => {
            (0..conf.members).map(|member| (member, start)).collect()
        }
        Array::Raid1(balance) => balance
            .decide(start, sectors)
            .map(|member| (member as u32, start))
            .into_iter()
            .collect(),
        Array::Raid10 { map, members } => {
            let mut copies = Vec::new();
            map.copies(start, |member, at| copies.push((member, at)));
            if request.write {
                copies
            } else {
                let chosen = choose_raid10(
                    conf.generation,
                    members,
                    &copies,
                    map.layout.near,
                    map.layout.far,
                );
                chosen.map(|place| copies[place]).into_iter().collect()
            }
        }
    };
    for &(member, _) in &places {
        take(array, member, start, sectors, request.write);
    }
    Expected { start, places }
}

fn take(array: &mut Array, member: u32, start: Lba, sectors: Sectors, write: bool) {
    match array {
        Array::Raid1(balance) if !write => balance.take(member as usize, start, sectors),
        _ => pend(array, member, 1),
    }
}

fn pend(array: &mut Array, member: u32, change: i32) {
    let state = match array {
        Array::Raid0(_) => return,
        Array::Raid1(balance) => balance.members.get_mut(member as usize),
        Array::Raid10 { members, .. } => members.get_mut(member as usize),
    };
    if let Some(state) = state {
        state.pending = state.pending.saturating_add_signed(change);
    }
}

fn finish(array: &mut Array, conf: &ArrayConf, piece: &Piece) {
    let member = piece.member as usize;
    match array {
        Array::Raid0(_) => {}
        Array::Raid1(balance) => balance.complete(member, piece.array_end),
        Array::Raid10 { members, .. } => {
            members[member].complete(Lba(piece.at.0 + piece.sectors.0 - conf.offsets[member].0))
        }
    }
}

fn describe(places: &[(u32, Lba)]) -> String {
    let places: Vec<String> = places
        .iter()
        .map(|(member, at)| format!("member {member} at {}", at.0))
        .collect();
    if places.is_empty() {
        "no further member".into()
    } else {
        places.join(", ")
    }
}
