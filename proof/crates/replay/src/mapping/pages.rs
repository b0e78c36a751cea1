//! RAID 5 and 6: member pages within a window, as a multiset, and their order within each row.

use super::array_file::{ArrayConf, ArrayEvent, ArrayRow};
use super::MappingFile;
use seekwise_raid::layout::parity::Parity;
use seekwise_raid::md::raid5::{BioId, Effect, Raid5, Raid5Config, Sender, PAGE};
use seekwise_raid::ParityLayout;
use seekwise_units::{Lba, Sectors};
use std::collections::BTreeMap;

/// One page on a member: (member, is a write, member sector in the data area).
type Page = (u32, bool, u64);

/// What happened in a window, in order of issue.
#[derive(Default)]
struct Window {
    recorded: Vec<Page>,
    model: Vec<Page>,
}

struct Replay {
    array: Raid5,
    /// Pages that the model has with members; a bypassing read carries its array request, told when its last page is back.
    under_way: Vec<(Page, Option<BioId>)>,
    window: Window,
    /// The thread has something to do at the next chance.
    thread_due: bool,
    effects: Vec<Effect>,
}

impl Replay {
    /// An array request arrives.
    fn queue(&mut self, id: BioId, row: &ArrayRow) {
        self.array.submit(
            id,
            row.start,
            row.sectors,
            row.write,
            row.sync,
            &mut self.effects,
        );
        self.array.unplug();
        self.thread_due = true;
        self.settle();
    }

    fn settle(&mut self) {
        for effect in core::mem::take(&mut self.effects) {
            if let Effect::Issue { request, sender } = effect {
                let bio = match sender {
                    Sender::Bio(id) => Some(id),
                    Sender::Stripe(_) => None,
                };
                for at in (request.start.0 / PAGE * PAGE..request.start.0 + request.sectors.0)
                    .step_by(PAGE as usize)
                {
                    let page = (request.member, request.write, at);
                    self.window.model.push(page);
                    self.under_way.push((
                        page,
                        bio.map(|id| {
                            id | u32::from(at + PAGE >= request.start.0 + request.sectors.0) << 31
                        }),
                    ));
                }
            }
        }
    }

    fn run_thread(&mut self) {
        if core::mem::take(&mut self.thread_due) {
            self.array.run_thread(&mut self.effects);
            self.settle();
        }
    }

    fn complete_page(&mut self, page: Page) {
        let Some(place) = self.under_way.iter().position(|(other, _)| *other == page) else {
            return;
        };
        let (_, bio) = self.under_way.remove(place);
        match bio {
            // The marked page is the last of its piece.
            Some(id) if id >> 31 == 1 => self
                .array
                .bypass_complete(id & !(1 << 31), &mut self.effects),
            Some(_) => {}
            None => {
                let request = seekwise_raid::md::plug::MemberRequest {
                    member: page.0,
                    write: page.1,
                    start: Lba(page.2),
                    sectors: Sectors(PAGE),
                };
                self.array.complete(request);
                self.thread_due = true;
            }
        }
        self.settle();
    }

    /// The recording says that all is done: what the model still has under way is done too.
    fn drain(&mut self) {
        loop {
            self.run_thread();
            let Some(&(page, _)) = self.under_way.first() else {
                break;
            };
            self.complete_page(page);
        }
    }
}

/// The array that the .conf describes.
fn array_of(conf: &ArrayConf) -> Result<Raid5, String> {
    let parities = if conf.level == "raid6" { 2 } else { 1 };
    let layout = ParityLayout::from_md(conf.layout)
        .ok_or_else(|| format!("layout {} is not modelled", conf.layout))?;
    if conf.members <= parities + 1
        || conf.chunk.0 == 0
        || conf.chunk.0 % PAGE != 0
        || conf.stripe_cache_size < 17
    {
        return Err("the .conf describes no array that md would make".into());
    }
    Ok(Raid5::new(Raid5Config {
        generation: conf.generation,
        parity: Parity {
            members: conf.members,
            parities,
            layout,
            chunk: conf.chunk,
        },
        stripe_cache_size: conf.stripe_cache_size,
        rmw_level: conf.rmw_level,
        member_sectors_max: conf.member_sectors_max,
        in_sync_until: Lba(u64::MAX),
    }))
}

/// Replays a recording of an array with parity. An error means that it could not be replayed; misses are in the result.
pub fn verify(conf: &ArrayConf, rows: &[ArrayRow]) -> Result<MappingFile, String> {
    let offset = conf.offsets[0];
    let mut replay = Replay {
        array: array_of(conf)?,
        under_way: Vec::new(),
        window: Window::default(),
        thread_due: false,
        effects: Vec::new(),
    };
    let mut file = MappingFile::default();
    let mut open: Vec<(ArrayRow, u64)> = Vec::new();
    for (next_id, row) in rows.iter().enumerate() {
        if row.event != ArrayEvent::Queue {
            replay.run_thread();
        }
        let pages = (row.start.0 / PAGE * PAGE..row.end().0).step_by(PAGE as usize);
        let on =
            |member: u32| move |at: u64| -> Page { (member, row.write, at.wrapping_sub(offset.0)) };
        match (row.event, row.member) {
            (ArrayEvent::Queue, _) => {
                open.push((row.clone(), row.sectors.0));
                replay.queue(next_id as u32, row);
            }
            (ArrayEvent::Issue, Some(member)) if !row.metadata => {
                replay.window.recorded.extend(pages.map(on(member)));
            }
            (ArrayEvent::Complete, Some(member)) if !row.metadata => {
                pages
                    .map(on(member))
                    .for_each(|page| replay.complete_page(page));
            }
            (ArrayEvent::Done, _) => {
                end_request(&mut open, row)?;
                if open.is_empty() {
                    replay.drain();
                    score(&core::mem::take(&mut replay.window), row.line, &mut file);
                }
            }
            _ => {}
        }
    }
    replay.drain();
    let line = rows.last().map_or(0, |row| row.line);
    score(&core::mem::take(&mut replay.window), line, &mut file);
    Ok(file)
}

/// A part of an open array request is done; with the last one the request is.
fn end_request(open: &mut Vec<(ArrayRow, u64)>, row: &ArrayRow) -> Result<(), String> {
    let place = open.iter().position(|(request, _)| {
        request.write == row.write && request.start <= row.start && row.end() <= request.end()
    });
    let place = place.ok_or_else(|| format!("line {} ends no open array request", row.line))?;
    open[place].1 = open[place].1.saturating_sub(row.sectors.0);
    if open[place].1 == 0 {
        open.remove(place);
    }
    Ok(())
}

fn score(window: &Window, line: usize, file: &mut MappingFile) {
    let mut balance: BTreeMap<Page, (i64, i64)> = BTreeMap::new();
    window
        .recorded
        .iter()
        .for_each(|page| balance.entry(*page).or_default().0 += 1);
    window
        .model
        .iter()
        .for_each(|page| balance.entry(*page).or_default().1 += 1);
    for ((member, write, at), (recorded, model)) in balance {
        file.total += recorded.max(model) as u64;
        file.passed += recorded.min(model) as u64;
        if recorded != model {
            let direction = if write { "write" } else { "read" };
            file.misses.push(format!("window ending at line {line}: {direction} of the page at {at} on member {member}: recorded {recorded}, model {model}"));
        }
    }
    let rows = |pages: &[Page]| {
        let mut rows: BTreeMap<u64, Vec<(u32, bool)>> = BTreeMap::new();
        pages
            .iter()
            .for_each(|&(member, write, at)| rows.entry(at).or_default().push((member, write)));
        rows
    };
    let model = rows(&window.model);
    for (at, order) in rows(&window.recorded) {
        if order.len() > 1 {
            file.ordered.count(model.get(&at) == Some(&order));
        }
    }
}
