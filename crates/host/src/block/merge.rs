//! Finding a waiting request that a bio can join (Linux 2.6.23 block/elevator.c: elv_merge).
//!
//! Order: the one-hit cache, then back merge by end address, then a front merge if the policy finds a partner. A request is entered into the index
//! only when the next bio looks for a partner: requests that go straight to the drive never touch it.
//!
//! Modelled:      size limit, direction, the policy's veto, `nomerges`, coalescing of two waiting requests after a merge.
//! Not modelled:  limits on memory segments (pages are taken to be contiguous enough), hash collisions of the kernel's 64 buckets.

use super::table::{State, Table, NONE};
use super::Bio;
pub use seekwise_sched::MergeRule;
use seekwise_sched::{Direction, RequestId, Scheduler};
use seekwise_units::{Lba, Nanos, Sectors};

/// How many entries of a list `MergeRule::Recent` looks at. Linux v6.1 block/blk-mq-sched.c: checked = 8.
const RECENT: u32 = 8;

#[derive(Clone, Debug)]
pub struct Merger {
    rule: MergeRule,
    max_sectors: Sectors,
    /// 0 all, 1 one-hit cache only, 2 none.
    nomerges: u8,
    by_end: Vec<u32>,
    mask: u64,
    last: u32,
    /// Kind of the request that the last merge made superfluous: its place in a pool is free again.
    pub gone: Option<Gone>,
    /// Newest waiting request that is not in the index yet.
    fresh: u32,
    newest: u32,
    pub merges: u64,
}

enum MergeKind {
    Back,
    Front,
}

/// A request that became part of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone {
    pub slot: u32,
    pub direction: Direction,
    pub sync: bool,
}

/// A merge that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Merged {
    pub slot: u32,
    pub front: bool,
}

impl Merger {
    /// Nothing to merge with so far. `nomerges` as in sysfs; `requests` sizes the index.
    pub fn new(rule: MergeRule, max_sectors: Sectors, nomerges: u8, requests: usize) -> Self {
        let buckets = (requests.max(16) * 2).next_power_of_two();
        Self {
            rule,
            max_sectors,
            nomerges,
            by_end: vec![NONE; buckets],
            mask: buckets as u64 - 1,
            last: NONE,
            gone: None,
            fresh: NONE,
            newest: NONE,
            merges: 0,
        }
    }

    #[inline]
    fn bucket(&self, at: Lba) -> usize {
        // Multiplicative hash (Knuth, TAOCP 3, 6.4): addresses come in multiples of eight sectors.
        ((at.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) & self.mask) as usize
    }

    /// A request entered the scheduler.
    #[inline(always)]
    pub fn inserted(&mut self, table: &mut Table, slot: u32) {
        if self.nomerges == 2 {
            return;
        }
        if self.fresh != NONE {
            self.index(table, self.fresh);
        }
        self.fresh = slot;
        if self.last == NONE {
            self.last = slot;
        }
        if self.rule == MergeRule::Recent {
            let newest = self.newest;
            table.get_mut(slot).older = newest;
            if newest != NONE {
                table.get_mut(newest).newer = slot;
            }
            self.newest = slot;
        }
    }

    fn index(&mut self, table: &mut Table, slot: u32) {
        let e = self.bucket(table.end(slot));
        let entry = table.get_mut(slot);
        debug_assert!(entry.state == State::Waiting && !entry.indexed);
        entry.indexed = true;
        entry.next_by_end = self.by_end[e];
        self.by_end[e] = slot;
        if self.fresh == slot {
            self.fresh = NONE;
        }
    }

    fn unindex(&mut self, table: &mut Table, slot: u32) {
        let e = self.bucket(table.end(slot));
        let after = table.get(slot).next_by_end;
        if self.by_end[e] == slot {
            self.by_end[e] = after;
        } else {
            let mut at = self.by_end[e];
            while table.get(at).next_by_end != slot {
                at = table.get(at).next_by_end;
            }
            table.get_mut(at).next_by_end = after;
        }
        table.get_mut(slot).indexed = false;
    }

    /// A request leaves the scheduler, or joined another one.
    #[inline(always)]
    pub fn removed(&mut self, table: &mut Table, slot: u32) {
        if table.get(slot).indexed {
            self.unindex(table, slot);
        } else if self.fresh == slot {
            self.fresh = NONE;
        }
        if self.last == slot {
            self.last = NONE;
        }
        if self.rule == MergeRule::Recent && self.nomerges != 2 {
            let (older, newer) = (table.get(slot).older, table.get(slot).newer);
            if older != NONE {
                table.get_mut(older).newer = newer;
            }
            if newer != NONE {
                table.get_mut(newer).older = older;
            } else if self.newest == slot {
                self.newest = older;
            }
        }
    }

    /// Joins `bio` to a waiting request if one fits, and notifies the policy.
    pub fn try_merge<S: Scheduler>(
        &mut self,
        now: Nanos,
        table: &mut Table,
        policy: &mut S,
        bio: &Bio,
    ) -> Option<Merged> {
        if self.nomerges == 2 {
            return None;
        }
        if self.fresh != NONE {
            self.index(table, self.fresh);
        }
        if self.rule == MergeRule::Recent {
            return self.merge_recent(now, table, policy, bio);
        }
        let last = self.last;
        if last != NONE {
            if let Some(kind) = Self::touches(table, last, bio) {
                if Self::allowed(table, policy, last, bio) {
                    return self.apply(now, table, policy, last, bio, kind);
                }
            }
        }
        if self.nomerges == 1 {
            return None;
        }
        let mut at = self.by_end[self.bucket(bio.start)];
        while at != NONE {
            if table.end(at) == bio.start && Self::allowed(table, policy, at, bio) {
                return self.apply(now, table, policy, at, bio, MergeKind::Back);
            }
            at = table.get(at).next_by_end;
        }
        let front = policy
            .front_merge_candidate(&bio.request(RequestId(NONE), now))?
            .0;
        Self::allowed(table, policy, front, bio).then_some(())?;
        self.apply(now, table, policy, front, bio, MergeKind::Front)
    }

    /// See [`super::BlockQueue::room_behind`]: only the request of the last merge is looked at.
    pub fn room_behind<S: Scheduler>(&self, table: &Table, policy: &S, bio: &Bio) -> Sectors {
        let slot = self.last;
        let finds_it = self.rule == MergeRule::Hash && self.nomerges < 2 && slot != NONE;
        if !finds_it || table.end(slot) != bio.start || !Self::allowed(table, policy, slot, bio) {
            return Sectors(0);
        }
        let room = Sectors(
            self.max_sectors
                .0
                .saturating_sub(table.get(slot).request.sectors.0),
        );
        // A neighbour that is reached is joined: by the last bio at the earliest.
        let neighbour = policy.neighbour_after(RequestId(slot));
        match neighbour.map(|id| table.get(id.0).request.start) {
            Some(start) if start >= bio.start => room.min(Sectors(start.0 - bio.start.0)),
            _ => room,
        }
    }

    fn merge_recent<S: Scheduler>(
        &mut self,
        now: Nanos,
        table: &mut Table,
        policy: &mut S,
        bio: &Bio,
    ) -> Option<Merged> {
        let mut at = self.newest;
        for _ in 0..RECENT {
            if at == NONE {
                break;
            }
            if let Some(kind) = Self::touches(table, at, bio) {
                if Self::allowed(table, policy, at, bio) {
                    return self.apply(now, table, policy, at, bio, kind);
                }
            }
            at = table.get(at).older;
        }
        None
    }

    fn touches(table: &Table, slot: u32, bio: &Bio) -> Option<MergeKind> {
        if table.end(slot) == bio.start {
            Some(MergeKind::Back)
        } else if table.get(slot).request.start == bio.start + bio.sectors {
            Some(MergeKind::Front)
        } else {
            None
        }
    }

    fn allowed<S: Scheduler>(table: &Table, policy: &S, slot: u32, bio: &Bio) -> bool {
        let entry = table.get(slot);
        entry.state == State::Waiting
            && !entry.no_merge
            && entry.request.direction == bio.direction
            && policy.may_merge(
                &entry.request,
                &bio.request(RequestId(NONE), entry.request.allocated),
            )
    }

    fn apply<S: Scheduler>(
        &mut self,
        now: Nanos,
        table: &mut Table,
        policy: &mut S,
        slot: u32,
        bio: &Bio,
        kind: MergeKind,
    ) -> Option<Merged> {
        let sectors = Sectors(table.get(slot).request.sectors.0 + bio.sectors.0);
        if sectors > self.max_sectors {
            // Linux 2.6.23 block/ll_rw_blk.c, ll_new_hw_segment: refused for size means never again (REQ_NOMERGE).
            table.get_mut(slot).no_merge = true;
            if self.last == slot {
                self.last = NONE;
            }
            return None;
        }
        let front = matches!(kind, MergeKind::Front);
        let start = if front {
            bio.start
        } else {
            table.get(slot).request.start
        };
        self.grow(now, table, policy, slot, start, sectors);
        table.attach(slot, bio.token, bio.sectors);
        self.merges += 1;
        self.last = slot;
        let slot = self.coalesce(now, table, policy, slot, front);
        Some(Merged { slot, front })
    }

    fn grow<S: Scheduler>(
        &mut self,
        now: Nanos,
        table: &mut Table,
        policy: &mut S,
        slot: u32,
        start: Lba,
        sectors: Sectors,
    ) {
        let indexed = table.get(slot).indexed;
        if indexed {
            self.unindex(table, slot);
        }
        let request = &mut table.get_mut(slot).request;
        request.start = start;
        request.sectors = sectors;
        if indexed {
            self.index(table, slot);
        }
        policy.grown(now, RequestId(slot), start, sectors);
    }

    /// After a back merge the next request in order, after a front merge the previous one may now touch: join them.
    fn coalesce<S: Scheduler>(
        &mut self,
        now: Nanos,
        table: &mut Table,
        policy: &mut S,
        slot: u32,
        front: bool,
    ) -> u32 {
        if self.rule == MergeRule::Recent {
            return slot;
        }
        let other = if front {
            policy.neighbour_before(RequestId(slot))
        } else {
            policy.neighbour_after(RequestId(slot))
        };
        let other = other.map_or(NONE, |id| id.0);
        if other == NONE {
            return slot;
        }
        let (kept, gone) = if front { (other, slot) } else { (slot, other) };
        let (k, g) = (table.get(kept).request, table.get(gone).request);
        let fits = k.end() == g.start
            && k.direction == g.direction
            && k.sectors.0 + g.sectors.0 <= self.max_sectors.0
            && !table.get(other).no_merge
            && policy.may_merge(&k, &g);
        if !fits {
            return slot;
        }
        self.removed(table, gone);
        self.grow(
            now,
            table,
            policy,
            kept,
            k.start,
            Sectors(k.sectors.0 + g.sectors.0),
        );
        policy.joined(now, RequestId(kept), RequestId(gone));
        table.join(kept, gone);
        self.gone = Some(Gone {
            slot: gone,
            direction: g.direction,
            sync: g.sync,
        });
        self.last = kept;
        kept
    }
}
