//! In which order queues get their slices: by class, then by key, then by who came first.
//!
//! There is one entry per busy process, so a sorted array it is.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Turn {
    /// Class: smaller is served first whatever the key.
    class: u8,
    key: i64,
    queue: u32,
}

#[derive(Clone, Debug, Default)]
pub struct ServiceTree(Vec<Turn>);

impl ServiceTree {
    /// No queue waits for a slice.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Queues that wait for a slice.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The queue that is served next; None if none waits.
    #[inline]
    pub fn first(&self) -> Option<usize> {
        self.0.first().map(|turn| turn.queue as usize)
    }

    /// Key of the queue that is served next; None if none waits.
    pub fn first_key(&self) -> Option<i64> {
        self.0.first().map(|turn| turn.key)
    }

    /// Queue and key of the one served last.
    pub fn last(&self) -> Option<(usize, i64)> {
        self.0.last().map(|turn| (turn.queue as usize, turn.key))
    }

    /// Behind all of its class with the same or a smaller key.
    pub fn insert(&mut self, class: u8, key: i64, queue: usize) {
        let at = self
            .0
            .partition_point(|turn| (turn.class, turn.key) <= (class, key));
        self.0.insert(
            at,
            Turn {
                class,
                key,
                queue: queue as u32,
            },
        );
    }

    /// Takes a queue out; does nothing if it is not there.
    pub fn remove(&mut self, queue: usize) {
        self.0.retain(|turn| turn.queue as usize != queue);
    }

    /// Queue and key of each, in the order of service.
    pub fn iter(&self) -> impl Iterator<Item = (usize, i64)> + '_ {
        self.0.iter().map(|turn| (turn.queue as usize, turn.key))
    }
}
