//! When blk-mq runs the queue of a driver without budget: what the policy is asked at a completion depends on it.
//!
//! An insertion runs it, a timer of the policy, and the policy's own wish at a completion (bfq, kyber). A completion alone runs it only
//! if a run since the one before it met a request that waited for a tag. A policy that handed out nothing although something waits is
//! asked again 3 ms later, in whole ticks (Linux 5.8 on, block/blk-mq-sched.c: BLK_MQ_BUDGET_DELAY).

use seekwise_sched::Kernel;
use seekwise_units::Nanos;

const ASK_AGAIN_MILLIS: u64 = 3;

#[derive(Clone, Debug)]
pub struct Runs {
    kernel: Kernel,
    restart: bool,
    ask_again: Nanos,
    /// When the queue was run last.
    pub last: Nanos,
}

impl Runs {
    pub fn new(kernel: Kernel) -> Self {
        Self {
            kernel,
            restart: false,
            ask_again: Nanos::NEVER,
            last: Nanos::ZERO,
        }
    }

    /// The queue is run; `held`: a request waits for a tag then.
    pub fn run(&mut self, now: Nanos, held: bool) {
        self.last = now;
        self.restart |= held;
    }

    /// A request is done: is the queue run?
    pub fn completion(&mut self, now: Nanos, wished: bool, held: bool) -> bool {
        let runs = std::mem::take(&mut self.restart) || wished;
        if runs {
            self.run(now, held);
        }
        runs
    }

    /// A run in which the policy handed out nothing.
    pub fn found_nothing(&mut self, now: Nanos) {
        // Since 5.19 a delay that runs already is not begun anew.
        let begun = self.kernel.at_least(5, 19, 0) && self.ask_again != Nanos::NEVER;
        if self.kernel.at_least(5, 8, 0) && !begun {
            let ticks = self.kernel.ticks_from_millis(ASK_AGAIN_MILLIS);
            self.ask_again = self.kernel.tick_start(self.kernel.jiffies(now) + ticks);
        }
    }

    /// The time at which the policy is asked again, once, if that is due.
    pub fn take_due(&mut self, now: Nanos) -> Option<Nanos> {
        let due = self.ask_again;
        (due <= now).then(|| std::mem::replace(&mut self.ask_again, Nanos::NEVER))
    }
}
