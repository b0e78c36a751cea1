//! B-WF2Q+: which queue is served next, by weight.
//!
//!   virtual time V moves by (sectors served / sum of weights)
//!   a queue with work has a start S and a finish F = S + budget / weight
//!   served next: of those with S ≤ V the one with the smallest F; when there is none, V jumps to the smallest S
//!
//! One tree per class: real-time, best effort, idle; a lower class is served only while the higher ones are empty, but the
//! idle class at least every 200 ms. A queue that became empty is remembered on the idle list until V has passed its F, so
//! that it cannot gain by coming back at once.
//!
//! The choice is made when something changes and then kept ([`Service::next`]), not when it is asked for: between two
//! changes V moves on without another queue becoming the next one. Recorded kernels show this.
//!
//! The trees are the kernel's ([`super::tree`]); the idle list is an array in order. Not modelled: groups (cgroups).
//! Source: behaviour of Linux 5.10 to 6.12 block/bfq-wf2q.c; the algorithm is Bennett and Zhang's WF2Q+ with budgets.

use super::tree::{later, QueueTree};

/// Bits of fraction in virtual time. Linux 5.10 to 6.12: WFQ_SERVICE_SHIFT.
const FRACTION_BITS: u32 = 22;
pub const CLASSES: usize = 3;
/// Index of the idle class.
pub const CLASS_IDLE: u8 = 2;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Out,
    Active,
    Idle,
}

/// What the engine knows of a queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct Entity {
    start: u64,
    finish: u64,
    /// Sectors that it may be served in this slot.
    pub budget: i64,
    /// Sectors charged in this slot.
    pub service: i64,
    /// In force: base weight times coefficient, as of the last update.
    pub weight: u32,
    pub weight_base: u32,
    /// Takes effect at the next update.
    pub weight_wanted: u32,
    /// Coefficient of weight raising, 1 if not raised. Takes effect at the next update.
    pub coefficient: u32,
    /// 0 real-time, 1 best effort, 2 idle.
    pub class: u8,
    pub class_wanted: u8,
    pub changed: bool,
    place: Place,
    /// Counts in its tree's sum of weights: active, idle or in service.
    counted: bool,
    /// Weight under which it is counted among the queues with pending requests.
    tally: Option<u32>,
    budget_span: LastSpan,
}

impl Entity {
    /// Sectors that may still be charged in this slot; negative when overdrawn.
    pub fn budget_left(&self) -> i64 {
        self.budget - self.service
    }

    /// On a tree, on the idle list or in service.
    pub fn is_counted(&self) -> bool {
        self.counted
    }
}

#[derive(Clone, Debug, Default)]
struct Tree {
    active: QueueTree,
    /// By finish: finish and queue.
    idle: Vec<(u64, u32)>,
    time: u64,
    served_span: LastSpan,
    weights: u64,
}

#[inline]
fn span(service: i64, weight: u64) -> u64 {
    if service <= 0 {
        // Often, and a division takes its time.
        return 0;
    }
    ((service as u64) << FRACTION_BITS) / weight.max(1)
}

/// The last [`span`] of its kind: budgets, requests and weights are mostly those of the time before, and a division takes its time.
#[derive(Clone, Copy, Debug, Default)]
struct LastSpan {
    service: i64,
    weight: u64,
    span: u64,
}

impl LastSpan {
    #[inline]
    fn of(&mut self, service: i64, weight: u64) -> u64 {
        if (self.service, self.weight) != (service, weight) {
            *self = Self {
                service,
                weight,
                span: span(service, weight),
            };
        }
        self.span
    }
}

/// Queues with pending requests counted by weight; raised ones are left out.
#[derive(Clone, Debug, Default)]
struct Weights(Vec<(u32, u32)>);

impl Weights {
    fn add(&mut self, weight: u32) {
        if let [(only, count)] = self.0.as_mut_slice() {
            if *only == weight {
                *count += 1;
                return;
            }
        }
        match self.0.binary_search_by_key(&weight, |entry| entry.0) {
            Ok(at) => self.0[at].1 += 1,
            Err(at) => self.0.insert(at, (weight, 1)),
        }
    }

    fn remove(&mut self, weight: u32) {
        if let [(only, count)] = self.0.as_mut_slice() {
            if *only == weight && *count > 1 {
                *count -= 1;
                return;
            }
        }
        if let Ok(at) = self.0.binary_search_by_key(&weight, |entry| entry.0) {
            self.0[at].1 -= 1;
            if self.0[at].1 == 0 {
                self.0.remove(at);
            }
        }
    }
}

#[derive(Clone, Debug)]
pub struct Service {
    entities: Vec<Entity>,
    trees: [Tree; CLASSES],
    weights: Weights,
    in_service: Option<u32>,
    next: Option<u32>,
    /// Queues on the trees of all classes, the one that was activated last at the end.
    active: Vec<u32>,
    /// Tick at which the idle class was last considered.
    idle_class_served: i64,
    /// 200 ms.
    idle_class_ticks: i64,
    pub tick: i64,
}

impl Service {
    /// No queue; `hz` is ticks per second.
    pub fn new(hz: i64) -> Self {
        Self {
            entities: Vec::new(),
            trees: Default::default(),
            weights: Weights::default(),
            in_service: None,
            next: None,
            active: Vec::new(),
            idle_class_served: 0,
            // Linux 5.10 to 6.12: BFQ_CL_IDLE_TIMEOUT = HZ/5.
            idle_class_ticks: hz / 5,
            tick: 0,
        }
    }

    /// What is known of a queue, which must have begun.
    #[inline]
    pub fn get(&self, queue: u32) -> &Entity {
        &self.entities[queue as usize]
    }

    /// The same, to be changed; weights take effect at [`Service::update_weight`].
    #[inline]
    pub fn get_mut(&mut self, queue: u32) -> &mut Entity {
        &mut self.entities[queue as usize]
    }

    /// A queue begins its life under the index `queue`.
    pub fn begin(&mut self, queue: u32, weight: u32, class: u8) {
        if self.entities.len() <= queue as usize {
            self.entities.resize(queue as usize + 1, Entity::default());
        }
        self.entities[queue as usize] = Entity {
            weight,
            weight_base: weight,
            weight_wanted: weight,
            coefficient: 1,
            class,
            class_wanted: class,
            changed: true,
            ..Entity::default()
        };
    }

    /// Sum of weights of a class: its queues with work, in service or not yet forgotten.
    pub fn weights_of(&self, class: u8) -> u64 {
        self.trees[class as usize].weights
    }

    /// May another queue be next once the one in service stops?
    pub fn someone_is_next(&self) -> bool {
        self.next != self.in_service
    }

    /// Is `queue` the one that is served next?
    #[inline]
    pub fn is_next(&self, queue: u32) -> bool {
        self.next == Some(queue)
    }

    /// Do queues with pending requests differ in weight, seen from `queue`? The one with the smallest weight need not care.
    pub fn weights_differ_for(&self, queue: u32) -> bool {
        let smallest = self.weights.0.first().map(|entry| entry.0);
        let tally = self.entities[queue as usize].tally;
        self.weights.0.len() >= 2 && (tally.is_none() || tally != smallest)
    }

    /// Counts the queue among those with pending requests, under its present weight; does nothing if it is counted.
    #[inline]
    pub fn tally(&mut self, queue: u32) {
        let entity = &mut self.entities[queue as usize];
        if entity.tally.is_none() {
            entity.tally = Some(entity.weight);
            self.weights.add(entity.weight);
        }
    }

    /// Undoes [`Service::tally`]; does nothing if the queue is not counted.
    #[inline]
    pub fn untally(&mut self, queue: u32) {
        if let Some(weight) = self.entities[queue as usize].tally.take() {
            self.weights.remove(weight);
        }
    }

    /// Puts wanted weight, coefficient and (if `class_too`) class into force.
    #[inline]
    pub fn update_weight(&mut self, queue: u32, class_too: bool) {
        if self.entities[queue as usize].changed {
            self.change_weight(queue, class_too);
        }
    }

    fn change_weight(&mut self, queue: u32, class_too: bool) {
        let entity = self.entities[queue as usize];
        let old_class = entity.class;
        self.trees[old_class as usize].weights -= u64::from(entity.weight);
        let mut new = entity;
        new.weight_base = entity.weight_wanted;
        if class_too {
            new.class = entity.class_wanted;
        }
        new.changed = new.class != new.class_wanted;
        let weight = new.weight_base * new.coefficient;
        let differs = weight != entity.weight;
        new.weight = weight;
        if new.class != old_class {
            new.start = self.trees[new.class as usize].time;
        }
        self.trees[new.class as usize].weights += u64::from(weight);
        self.entities[queue as usize] = new;
        if differs {
            self.untally(queue);
            if new.coefficient == 1 {
                self.tally(queue);
            }
        }
    }

    fn enter_active(&mut self, queue: u32) {
        self.active.push(queue);
        let entity = &mut self.entities[queue as usize];
        entity.place = Place::Active;
        let (start, finish) = (entity.start, entity.finish);
        self.trees[entity.class as usize]
            .active
            .insert(queue, start, finish);
    }

    fn leave_active(&mut self, queue: u32) {
        let entity = &mut self.entities[queue as usize];
        entity.place = Place::Out;
        self.trees[entity.class as usize].active.remove(queue);
        if let Some(at) = self.active.iter().rposition(|other| *other == queue) {
            self.active.remove(at);
        }
    }

    fn enter_idle(&mut self, queue: u32) {
        let entity = &mut self.entities[queue as usize];
        entity.place = Place::Idle;
        let finish = entity.finish;
        let idle = &mut self.trees[entity.class as usize].idle;
        let at = idle
            .iter()
            .rposition(|other| !later(other.0, finish))
            .map_or(0, |at| at + 1);
        idle.insert(at, (finish, queue));
    }

    fn leave_idle(&mut self, queue: u32) {
        let entity = &mut self.entities[queue as usize];
        entity.place = Place::Out;
        let idle = &mut self.trees[entity.class as usize].idle;
        if let Some(at) = idle.iter().position(|entry| entry.1 == queue) {
            idle.remove(at);
        }
    }

    fn forget(&mut self, queue: u32) {
        let entity = &mut self.entities[queue as usize];
        entity.counted = false;
        self.trees[entity.class as usize].weights -= u64::from(entity.weight);
    }

    /// Drops the first of those that wait on the idle list, if V has passed it.
    #[inline]
    fn forget_idle(&mut self, class: usize) {
        let tree = &mut self.trees[class];
        if tree.active.is_empty() {
            if let Some(&(last, _)) = tree.idle.last() {
                if !later(last, tree.time) {
                    tree.time = last;
                }
            }
        }
        if let Some(&(first, queue)) = tree.idle.first() {
            if !later(first, tree.time) {
                self.leave_idle(queue);
                self.forget(queue);
            }
        }
    }

    /// New finish from the budget, then onto the tree.
    #[inline]
    fn enqueue(&mut self, queue: u32, shifted_back: bool) {
        self.update_weight(queue, true);
        let entity = &mut self.entities[queue as usize];
        entity.finish = entity.start.wrapping_add(
            entity
                .budget_span
                .of(entity.budget, u64::from(entity.weight)),
        );
        let time = self.trees[entity.class as usize].time;
        if shifted_back && later(time, entity.finish) {
            // Not farther back than now; raised queues keep nearly all of their lead.
            let mut push = time.wrapping_sub(entity.finish);
            if entity.coefficient > 1 {
                push /= u64::from(entity.coefficient);
            }
            entity.start = entity.start.wrapping_add(push);
            entity.finish = entity.finish.wrapping_add(push);
        }
        self.enter_active(queue);
    }

    /// The queue has work again. `in_time`: it was being waited for and came soon, so it goes on where it stopped.
    pub fn activate(&mut self, queue: u32, in_time: bool) {
        let entity = &mut self.entities[queue as usize];
        if self.in_service == Some(queue) || entity.place == Place::Active {
            self.requeue(queue, false);
            return;
        }
        let tree = &mut self.trees[entity.class as usize];
        let shifted_back = in_time && later(tree.time, entity.finish);
        let earliest = if shifted_back {
            entity.finish
        } else {
            tree.time
        };
        entity.counted = true;
        if entity.place == Place::Idle {
            entity.start = if later(earliest, entity.finish) {
                earliest
            } else {
                entity.finish
            };
            self.leave_idle(queue);
        } else {
            entity.start = earliest;
            tree.weights += u64::from(entity.weight);
        }
        self.enqueue(queue, shifted_back);
        self.reconsider(queue, false);
    }

    /// New place for a queue that stays active: its budget changed, or (`expiring`) its slot ended with work left.
    pub fn requeue(&mut self, queue: u32, expiring: bool) {
        if self.in_service == Some(queue) {
            let entity = &mut self.entities[queue as usize];
            entity.finish = entity
                .start
                .wrapping_add(span(entity.service, u64::from(entity.weight)));
            entity.start = entity.finish;
        }
        if self.entities[queue as usize].place == Place::Active {
            self.leave_active(queue);
        }
        self.enqueue(queue, false);
        self.reconsider(queue, expiring);
    }

    /// The queue has no more work.
    pub fn deactivate(&mut self, queue: u32, expiring: bool) {
        let entity = &mut self.entities[queue as usize];
        if !entity.counted {
            return;
        }
        // Also of a queue that was served by injection only (__bfq_deactivate_entity).
        entity.finish = entity
            .start
            .wrapping_add(span(entity.service, u64::from(entity.weight)));
        if self.in_service == Some(queue) {
            self.in_service = None;
        } else {
            entity.service = 0;
        }
        let waits_on = later(entity.finish, self.trees[entity.class as usize].time);
        match entity.place {
            Place::Active => self.leave_active(queue),
            Place::Idle => self.leave_idle(queue),
            Place::Out => {}
        }
        if waits_on {
            self.enter_idle(queue);
        } else {
            self.forget(queue);
        }
        if self.next == Some(queue) {
            self.next = self.look_up(expiring);
        }
    }

    /// Who is next after the arrival or new place of `queue`?
    #[inline]
    fn reconsider(&mut self, queue: u32, expiring: bool) {
        let takes_over = match self.next {
            None => true,
            Some(next) if next == queue => false,
            Some(next) => {
                let (new, old) = (self.get(queue), self.get(next));
                new.class == old.class
                    && !later(new.start, self.trees[new.class as usize].time)
                    && later(old.finish, new.finish)
            }
        };
        self.next = if takes_over {
            Some(queue)
        } else {
            self.look_up(expiring)
        };
    }

    #[inline]
    fn look_up(&mut self, expiring: bool) -> Option<u32> {
        let mut first = 0;
        if self.idle_class_served + self.idle_class_ticks < self.tick {
            if !self.trees[CLASS_IDLE as usize].active.is_empty() {
                first = CLASS_IDLE as usize;
            }
            self.idle_class_served = self.tick;
        }
        if self.active.is_empty() {
            return None;
        }
        self.look_up_from(first, expiring)
    }

    fn look_up_from(&mut self, first: usize, expiring: bool) -> Option<u32> {
        let serving = self.in_service.is_some() && !expiring;
        (first..CLASSES).find_map(|class| self.look_up_in(class, serving))
    }

    fn look_up_in(&mut self, class: usize, serving: bool) -> Option<u32> {
        let tree = &mut self.trees[class];
        let found = tree.active.first_eligible(tree.time);
        if found.is_some() {
            return found;
        }
        let time = tree.active.earliest_start()?;
        let found = tree.active.first_eligible(time);
        if !serving {
            // Somebody must be eligible; while a queue is in service, that one is.
            tree.time = time;
            self.forget_idle(class);
        }
        found
    }

    /// Puts the next queue in service.
    pub fn serve_next(&mut self) -> Option<u32> {
        let queue = self.next?;
        self.in_service = Some(queue);
        self.entities[queue as usize].service = 0;
        self.leave_active(queue);
        self.next = self.look_up(false);
        Some(queue)
    }

    /// Replay: `queue`, which is active, is the next one whatever the stamps say.
    pub fn force_next(&mut self, queue: u32) {
        if self.entities[queue as usize].place == Place::Active {
            self.next = Some(queue);
        }
    }

    /// The last step of an expiration.
    pub fn stop_serving(&mut self) {
        self.in_service = None;
    }

    /// True if the queue is raised.
    #[inline]
    pub fn served(&mut self, queue: u32, sectors: i64) -> bool {
        let entity = &mut self.entities[queue as usize];
        entity.service += sectors;
        let (class, raised) = (entity.class as usize, entity.coefficient > 1);
        let tree = &mut self.trees[class];
        tree.time = tree
            .time
            .wrapping_add(tree.served_span.of(sectors, tree.weights));
        self.forget_idle(class);
        raised
    }

    /// The active queue that was activated last of those that `fits` accepts.
    pub fn newest_active(&self, mut fits: impl FnMut(u32) -> bool) -> Option<u32> {
        let mut newest_first = self.active.iter().rev().copied();
        newest_first.find(|queue| fits(*queue))
    }

    /// The queue in words for `--explain`; stamps relative to the virtual time of its class.
    pub fn describe(&self, queue: u32) -> String {
        let entity = self.get(queue);
        let tree = &self.trees[entity.class as usize];
        let from_now = |stamp: u64| stamp.wrapping_sub(tree.time) as i64;
        format!(
            "weight {} start {:+} finish {:+} budget {} of which used {}{}",
            entity.weight,
            from_now(entity.start),
            from_now(entity.finish),
            entity.budget,
            entity.service,
            if self.next == Some(queue) {
                ", next"
            } else {
                ""
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_served_by_injection_only_ends_at_what_it_was_served() {
        let mut service = Service::new(250);
        for queue in [0, 1] {
            service.begin(queue, 40, 1);
            service.get_mut(queue).budget = 1_000;
            service.activate(queue, false);
        }
        assert_eq!(service.serve_next(), Some(0));
        service.served(1, 64);
        service.deactivate(1, false);
        let entity = service.get(1);
        assert_eq!(entity.finish, entity.start + span(64, 40));
        assert_eq!(entity.service, 0);
    }
}
