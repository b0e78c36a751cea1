//! Queues by a key, in a red-black tree: those with work by finish, with the smallest start below each node; those that others may
//! merge with by the sector of their next request.
//!
//! Which queue is served next: the kernel looks for the smallest finish of those with start ≤ V by going down to the left while a subtree has such a
//! node, and it gives up at the first node without one to its left: then it takes the last node passed that fits, although a
//! smaller finish may stand to the right of where it stopped. Which queue is close: the one at which the search for the sector
//! ends, if it is near enough, although one on the other side may be nearer. So both choices depend on the shape of the tree,
//! and this is the kernel's tree, node by node (recorded kernels show this from four queues on).
//! Source: behaviour of Linux 5.10 to 6.12 block/bfq-wf2q.c (bfq_first_active_entity, bfq_active_insert), block/bfq-iosched.c
//! (bfq_rq_pos_tree_lookup, bfqq_find_close) and lib/rbtree.c;
//! insertion and removal are the textbook's (Cormen, Leiserson, Rivest, Stein: Introduction to Algorithms, chapter 13).

use core::fmt;

/// Is `a` later than `b`? Virtual time wraps.
#[inline]
pub(super) fn later(a: u64, b: u64) -> bool {
    (a.wrapping_sub(b) as i64) > 0
}

/// No node.
const NONE: u32 = u32::MAX;
const LEFT: usize = 0;
const RIGHT: usize = 1;

#[derive(Clone, Copy, Debug)]
struct Node {
    parent: u32,
    children: [u32; 2],
    red: bool,
    start: u64,
    key: u64,
    /// Of the node and everything below it.
    earliest_start: u64,
}

const FREE: Node = Node {
    parent: NONE,
    children: [NONE; 2],
    red: false,
    start: 0,
    key: 0,
    earliest_start: 0,
};

/// Nodes are known by the number of their queue.
#[derive(Clone)]
pub struct QueueTree {
    nodes: Vec<Node>,
    root: u32,
}

impl fmt::Debug for QueueTree {
    /// The nodes that are in the tree, from the top, left before right.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut list, mut open) = (out.debug_list(), vec![self.root]);
        while let Some(at) = open.pop().filter(|at| *at != NONE) {
            let node = self.node(at);
            list.entry(&(at, node));
            open.extend(
                node.children
                    .into_iter()
                    .rev()
                    .filter(|child| *child != NONE),
            );
        }
        list.finish()
    }
}

impl Default for QueueTree {
    fn default() -> Self {
        Self {
            nodes: Vec::new(),
            root: NONE,
        }
    }
}

impl QueueTree {
    /// No queue is on the tree.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.root == NONE
    }

    /// The smallest start of all queues on the tree; None if it is empty.
    #[inline]
    pub fn earliest_start(&self) -> Option<u64> {
        (self.root != NONE).then(|| self.node(self.root).earliest_start)
    }

    #[inline]
    fn node(&self, at: u32) -> &Node {
        &self.nodes[at as usize]
    }

    #[inline]
    fn node_mut(&mut self, at: u32) -> &mut Node {
        &mut self.nodes[at as usize]
    }

    fn is_red(&self, at: u32) -> bool {
        at != NONE && self.node(at).red
    }

    /// On which side of its parent does a node stand?
    fn side(&self, at: u32, parent: u32) -> usize {
        usize::from(self.node(parent).children[RIGHT] == at)
    }

    fn sum_up(&mut self, at: u32) {
        let node = self.node(at);
        let mut earliest = node.start;
        for child in node.children.into_iter().filter(|child| *child != NONE) {
            let below = self.node(child).earliest_start;
            if later(earliest, below) {
                earliest = below;
            }
        }
        self.node_mut(at).earliest_start = earliest;
    }

    fn sum_up_from(&mut self, mut at: u32) {
        while at != NONE {
            self.sum_up(at);
            at = self.node(at).parent;
        }
    }

    /// Puts `new` where `old` hangs below its parent.
    fn replace(&mut self, old: u32, new: u32) {
        let parent = self.node(old).parent;
        if parent == NONE {
            self.root = new;
        } else {
            let side = self.side(old, parent);
            self.node_mut(parent).children[side] = new;
        }
        if new != NONE {
            self.node_mut(new).parent = parent;
        }
    }

    /// `top` goes down to `side`, its child on the other side takes its place.
    fn rotate(&mut self, top: u32, side: usize) {
        let up = self.node(top).children[1 - side];
        let inner = self.node(up).children[side];
        self.replace(top, up);
        self.node_mut(top).children[1 - side] = inner;
        if inner != NONE {
            self.node_mut(inner).parent = top;
        }
        self.node_mut(up).children[side] = top;
        self.node_mut(top).parent = up;
        self.sum_up(top);
        self.sum_up(up);
    }

    /// A queue behind those of equal key.
    #[inline]
    pub fn insert(&mut self, queue: u32, start: u64, key: u64) {
        if self.nodes.len() <= queue as usize {
            self.nodes.resize(queue as usize + 1, FREE);
        }
        *self.node_mut(queue) = Node {
            start,
            key,
            earliest_start: start,
            ..FREE
        };
        if self.root == NONE {
            self.root = queue;
        } else {
            self.insert_below_root(queue);
        }
    }

    fn insert_below_root(&mut self, queue: u32) {
        let (mut parent, mut side, mut at) = (NONE, LEFT, self.root);
        let key = self.node(queue).key;
        while at != NONE {
            parent = at;
            side = usize::from(!later(self.node(at).key, key));
            at = self.node(at).children[side];
        }
        self.node_mut(parent).children[side] = queue;
        let node = self.node_mut(queue);
        (node.parent, node.red) = (parent, true);
        self.sum_up_from(parent);
        self.mend_insertion(queue);
    }

    fn mend_insertion(&mut self, mut at: u32) {
        loop {
            let parent = self.node(at).parent;
            if !self.is_red(parent) {
                break;
            }
            // A red node is not the root.
            let grand = self.node(parent).parent;
            let side = self.side(parent, grand);
            let uncle = self.node(grand).children[1 - side];
            if self.is_red(uncle) {
                self.node_mut(parent).red = false;
                self.node_mut(uncle).red = false;
                self.node_mut(grand).red = true;
                at = grand;
                continue;
            }
            let mut top = parent;
            if self.side(at, parent) != side {
                self.rotate(parent, side);
                top = at;
            }
            self.node_mut(top).red = false;
            self.node_mut(grand).red = true;
            self.rotate(grand, 1 - side);
            break;
        }
        let root = self.root;
        self.node_mut(root).red = false;
    }

    /// Takes a queue off, which must be on the tree.
    #[inline]
    pub fn remove(&mut self, queue: u32) {
        if self.root == queue && self.node(queue).children == [NONE; 2] {
            // It is alone on its tree whenever the drive takes all there is.
            self.root = NONE;
        } else {
            self.remove_of_several(queue);
        }
    }

    fn remove_of_several(&mut self, queue: u32) {
        let Node {
            children,
            red,
            parent,
            ..
        } = *self.node(queue);
        // What takes the place that becomes empty, under whom, and whether a black node is missing there.
        let (child, below, black_gone);
        if children[LEFT] == NONE || children[RIGHT] == NONE {
            child = children[usize::from(children[LEFT] == NONE)];
            (below, black_gone) = (parent, !red);
            self.replace(queue, child);
        } else {
            let mut next = children[RIGHT];
            while self.node(next).children[LEFT] != NONE {
                next = self.node(next).children[LEFT];
            }
            child = self.node(next).children[RIGHT];
            black_gone = !self.node(next).red;
            if self.node(next).parent == queue {
                below = next;
            } else {
                below = self.node(next).parent;
                self.replace(next, child);
                self.node_mut(next).children[RIGHT] = children[RIGHT];
                self.node_mut(children[RIGHT]).parent = next;
            }
            self.replace(queue, next);
            self.node_mut(next).children[LEFT] = children[LEFT];
            self.node_mut(children[LEFT]).parent = next;
            self.node_mut(next).red = red;
        }
        self.sum_up_from(below);
        if black_gone {
            self.mend_removal(child, below);
        }
    }

    /// One black node is missing on the way to `at`, which hangs below `parent` and may be no node.
    fn mend_removal(&mut self, mut at: u32, mut parent: u32) {
        while parent != NONE && !self.is_red(at) {
            let side = self.side(at, parent);
            let mut sibling = self.node(parent).children[1 - side];
            if self.is_red(sibling) {
                self.node_mut(sibling).red = false;
                self.node_mut(parent).red = true;
                self.rotate(parent, side);
                sibling = self.node(parent).children[1 - side];
            }
            let [near, far] = [side, 1 - side].map(|side| self.node(sibling).children[side]);
            if !self.is_red(near) && !self.is_red(far) {
                self.node_mut(sibling).red = true;
                at = parent;
                parent = self.node(at).parent;
                continue;
            }
            if !self.is_red(far) {
                self.node_mut(near).red = false;
                self.node_mut(sibling).red = true;
                self.rotate(sibling, 1 - side);
                sibling = near;
            }
            self.node_mut(sibling).red = self.is_red(parent);
            self.node_mut(parent).red = false;
            let far = self.node(sibling).children[1 - side];
            self.node_mut(far).red = false;
            self.rotate(parent, side);
            return;
        }
        if at != NONE {
            self.node_mut(at).red = false;
        }
    }

    /// The queue that the kernel finds with start ≤ `time`: mostly the one with the smallest finish.
    #[inline]
    pub fn first_eligible(&self, time: u64) -> Option<u32> {
        let (mut at, mut found) = (self.root, None);
        while at != NONE {
            let node = self.node(at);
            if !later(node.start, time) {
                found = Some(at);
            }
            let [left, right] = node.children;
            if left != NONE && !later(self.node(left).earliest_start, time) {
                at = left;
            } else if found.is_some() {
                break;
            } else {
                at = right;
            }
        }
        found
    }
}

impl QueueTree {
    /// The queue with exactly that key.
    pub fn find(&self, key: u64) -> Option<u32> {
        self.search(key).filter(|at| self.node(*at).key == key)
    }

    /// The queue that the kernel finds no farther than `most` from `key`: where the search ends, otherwise its neighbour across the key.
    pub fn find_close(&self, key: u64, most: u64) -> Option<u32> {
        let end = self.search(key)?;
        let is_close = |at: &u32| self.node(*at).key.abs_diff(key) <= most;
        if is_close(&end) {
            return Some(end);
        }
        let across = usize::from(self.node(end).key < key);
        self.neighbour(end, across).filter(is_close)
    }

    /// The last node on the way to `key`, which is the one with that key if there is one.
    fn search(&self, key: u64) -> Option<u32> {
        let (mut at, mut last) = (self.root, None);
        while at != NONE {
            last = Some(at);
            let node = self.node(at);
            if node.key == key {
                break;
            }
            at = node.children[usize::from(key > node.key)];
        }
        last
    }

    /// The node before (side 0) or after (side 1) another one.
    fn neighbour(&self, mut at: u32, side: usize) -> Option<u32> {
        let mut below = self.node(at).children[side];
        if below != NONE {
            while self.node(below).children[1 - side] != NONE {
                below = self.node(below).children[1 - side];
            }
            return Some(below);
        }
        loop {
            let parent = self.node(at).parent;
            if parent == NONE {
                return None;
            }
            if self.side(at, parent) != side {
                return Some(parent);
            }
            at = parent;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Black nodes on every way down, or a panic where the tree breaks its rules.
    fn check(tree: &QueueTree, at: u32, parent: u32) -> u32 {
        if at == NONE {
            return 1;
        }
        let node = tree.node(at);
        assert_eq!(node.parent, parent);
        assert!(!(node.red && tree.is_red(parent)), "two red nodes");
        let mut earliest = node.start;
        for (side, child) in node.children.into_iter().enumerate() {
            if child != NONE {
                earliest = earliest.min(tree.node(child).earliest_start);
                let ordered = tree.node(child).key.cmp(&node.key);
                assert!(if side == LEFT {
                    ordered.is_lt()
                } else {
                    ordered.is_ge()
                });
            }
        }
        assert_eq!(node.earliest_start, earliest);
        let [left, right] = node.children.map(|child| check(tree, child, at));
        assert_eq!(
            left, right,
            "as many black nodes to the left as to the right"
        );
        left + u32::from(!node.red)
    }

    #[test]
    fn the_tree_keeps_its_rules() {
        let mut state = 1u64;
        // Knuth's constants of a linear congruential generator.
        let mut random = move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u32
        };
        let mut tree = QueueTree::default();
        let mut within = [false; 40];
        for _ in 0..20_000 {
            let queue = random() % 40;
            let inside = &mut within[queue as usize];
            if *inside {
                tree.remove(queue);
            } else {
                let start = u64::from(random() % 1_000);
                // Distinct, as removal and rotation may bring equal ones to either side.
                tree.insert(queue, start, start * 64 + u64::from(queue));
            }
            *inside = !*inside;
            assert!(!tree.is_red(tree.root));
            check(&tree, tree.root, NONE);
        }
    }

    #[test]
    fn the_last_node_passed_wins_where_the_left_has_none() {
        let mut tree = QueueTree::default();
        // Finishes 10, 20, 30, 40: 20 is the root, 30 its right child, 40 below that.
        for (queue, start, finish) in [(0, 90, 10), (1, 95, 20), (2, 5, 30), (3, 5, 40)] {
            tree.insert(queue, start, finish);
        }
        assert_eq!(tree.first_eligible(50), Some(2));
        assert_eq!(tree.first_eligible(92), Some(0));
        // Removing 10 leaves 30 as the root with 20 to its left and 40 to its right.
        tree.remove(0);
        tree.insert(4, 5, 25);
        // Left of 30 stands 20, which is not eligible, and 25 to its right, which is: the way ends at 20, and 30 was passed.
        assert_eq!(tree.first_eligible(50), Some(2));
        assert_eq!(tree.earliest_start(), Some(5));
    }

    #[test]
    fn the_search_for_a_sector_ends_at_a_queue_that_need_not_be_the_nearest() {
        let mut tree = QueueTree::default();
        for (queue, sector) in [(0, 1_000), (1, 2_000), (2, 3_000)] {
            tree.insert(queue, 0, sector);
        }
        assert_eq!(tree.find(2_000), Some(1));
        assert_eq!(tree.find(2_100), None);
        // On the way to 2100 the last node is 3000.
        assert_eq!(tree.find_close(2_100, 900), Some(2));
        assert_eq!(tree.find_close(2_100, 100), Some(1));
        assert_eq!(tree.find_close(2_100, 99), None);
        assert_eq!(tree.find_close(500, 499), None);
    }
}
