//! What md costs the host's processor. It is charged to the md thread, or to the task whose plug sends mirrored writes.

use seekwise_host::cpu::CpuCost;
use seekwise_raid::layout::parity::Parity;
use seekwise_raid::md::raid5::StripeWork;
use seekwise_units::{Nanos, Version, PAGE_BYTES};

/// Rates and times of one kind of host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MdCosts {
    /// Source bytes per second of the parity exclusive-or, streamed from memory, one core.
    pub xor_bytes_per_s: f64,
    /// The same of both syndromes of RAID 6, which come of one pass.
    pub syndrome_bytes_per_s: f64,
    pub copy_bytes_per_s: f64,
    /// One pass of the thread over one stripe of 4 KiB rows: lists, locks, state.
    pub stripe: Nanos,
    /// Each member that it looks at in such a pass. Zero: part of `stripe`.
    pub look: Nanos,
    /// A page sent to a member or asked of it, merged with others in the plug. Zero: part of `request`.
    pub bio: Nanos,
    /// A request made for a member.
    pub request: Nanos,
    /// Its end: the interrupt comes to the processor that sent it (Linux block/blk-mq.c: blk_mq_complete_request; NVMe has a queue for each processor).
    /// Zero: paid for elsewhere.
    pub end: Nanos,
    /// Waking the thread and switching to it.
    pub switch: Nanos,
    /// In the task: a bio's way through md, where it is cut or given to one member.
    pub pass: Nanos,
    /// In the task: each further piece that a bio is cut into, or copy that is made of it, from its allocation to its completion; the member's
    /// request is part of it.
    pub piece: Nanos,
    /// In the task, where it sends a mirrored write: each copy, its request apart. Zero: part of `pass` and `piece`.
    pub copy: Nanos,
    /// The bitmap's lock at the end of a write in the thread of RAID 5 and 6, while several tasks write. Zero: unknown.
    pub bitmap_lock: Nanos,
    /// What healthy reads of RAID 5 and 6 do one after the other, whatever processors they come from. Zero: unknown.
    pub read_lock: Nanos,
    /// The same of what RAID 10 reads and writes. Zero: unknown, or no lock.
    pub barrier_lock: Nanos,
}

impl MdCosts {
    /// Dual-core Opteron 2212 (K8, 2 GHz) and its like, kernels before 2.6.39.
    ///
    /// XOR 2000 (range 1500 to 3000) and copy 1800 MB/s (1200 to 2500), switch 3 us (1.5 to 6): the project's host facts, confidence "memory".
    /// Syndrome: 2500 of 6060 MB/s of the XOR in cache (boot log of an Opteron 246), so 2/5 of its streaming rate. Request: the submission's
    /// share, two fifths, of 20 us a request. Stripe pass: about a request's block-layer entry without the driver, range half to double.
    pub const OLD: Self = Self {
        xor_bytes_per_s: 2.0e9,
        syndrome_bytes_per_s: 0.8e9,
        copy_bytes_per_s: 1.8e9,
        stripe: Nanos(3_000),
        look: Nanos::ZERO,
        bio: Nanos::ZERO,
        request: Nanos(8_000),
        end: Nanos::ZERO,
        switch: Nanos(3_000),
        // Not measured anywhere: off.
        pass: Nanos::ZERO,
        piece: Nanos::ZERO,
        copy: Nanos::ZERO,
        bitmap_lock: Nanos::ZERO,
        read_lock: Nanos::ZERO,
        barrier_lock: Nanos::ZERO,
    };

    /// An x86-64 server of Linux 5 and later.
    ///
    /// XOR and copy 12 GB/s (8 to 20), confidence "memory"; syndrome in proportion of the in-cache figures, 22 to 25 GB/s (kernel boot
    /// logs). SATA request 3 us in all (1.5 to 4, USENIX ATC 2014): two fifths of it to submit, the rest to end. Stripe pass 0.3 us and
    /// 0.08 a member (half to double): a rebuild of 3 + 1 drives with P4600 goes through 257,000 stripes a second in one thread of Linux 6.12, and its
    /// profile says what of it is the state of the stripe, what that of the members, and what the sending of its four pages: 1.07 us, so 0.27 us a page
    /// (linux-raid 2025-01-27, A. Gavriliuk).
    /// Pass 0.9 us (0.5 to 1.4): 4 KiB reads at depth 1 take 13.2 us alone and 14.1 in RAID 0 with 64 KiB chunks. Piece 3.0 us (2.9 to 3.9):
    /// what 16 to 128 pieces of 4 KiB add to a read, direct (3.9) and under read-ahead (2.9); the lower end is taken. Both: four 980 PRO, EPYC 7313, Linux 5.14
    /// (linux-raid 2024, dd_rescue).
    ///
    /// Bitmap lock 1.1 us (0.1 to 1.1): RAID 10 of two copies takes 457,000 writes a second from 64 tasks, so 2.2 us each, and a write takes the lock
    /// twice (linux-raid 2024-10-15, Yu Kuai, 6.12-rc). Read lock 0.19 us: 5.3 and 5.9 million reads a second of one RAID 5 from 64 tasks, shared
    /// counters (linux-raid 2021-08-05, two EPYC Rome).
    pub const MODERN: Self = Self {
        xor_bytes_per_s: 12.0e9,
        syndrome_bytes_per_s: 10.5e9,
        copy_bytes_per_s: 12.0e9,
        stripe: Nanos(300),
        look: Nanos(80),
        bio: Nanos(270),
        request: Nanos(1_200),
        end: Nanos(1_800),
        switch: Nanos(1_200),
        pass: Nanos(900),
        piece: Nanos(3_000),
        copy: Nanos::ZERO,
        bitmap_lock: Nanos(1_100),
        read_lock: Nanos(190),
        barrier_lock: Nanos::ZERO,
    };

    /// Costs for a host of the kernel's time: old before 2.6.39, modern from then on. Up to 5.13 healthy reads take the array's lock (device_lock):
    /// 1.07 and 1.26 million a second where 5.14 reaches 5.3 and 5.9 (the same source as `read_lock`). Up to 6.0 what RAID 10 is asked for takes the lock of
    /// its barrier (resync_lock): 7.0 GiB/s of 4 KiB from 16 jobs of depth 256 over four NVMe drives on a Xeon 8380, 9.3 without it, so 0.53 us (commit
    /// 74173ff458de, Yu Kuai; 1.2 us on four nodes of a Kunpeng 920).
    pub fn of_kernel(version: Version) -> Self {
        if version < Version(2, 6, 39) {
            return Self::OLD;
        }
        let until = |release, lock, since| if version < release { lock } else { since };
        Self {
            read_lock: until(Version(5, 14, 0), Nanos(850), Self::MODERN.read_lock),
            barrier_lock: until(Version(6, 1, 0), Nanos(530), Nanos::ZERO),
            ..Self::MODERN
        }
    }

    /// With what a task's request costs on the same host: its scheduler's functions are the thread's own work, and no interrupt costs more than a task's.
    pub fn beside(self, task: &CpuCost) -> Self {
        if self.end == Nanos::ZERO {
            return self;
        }
        Self {
            request: self.request + task.scheduler,
            end: self.end.min(task.interrupt),
            ..self
        }
    }

    /// What a bitmap adds to the thread's `work` at stripes: a written stripe waits on a list of its own until pages of the bitmap are out, so it passes the
    /// lists once more (do_release_stripe, activate_bit_delay of drivers/md/raid5.c); `locked` times the bitmap's lock is taken while others want it.
    pub fn bitmap(&self, work: &StripeWork, locked: u64) -> Nanos {
        Nanos(self.stripe.0 * work.written + self.bitmap_lock.0 * locked)
    }

    /// A row that is rebuilt: read, computed and written, let go.
    pub fn rebuilt_row(&self, parity: &Parity) -> Nanos {
        let read = u64::from(parity.members) - 1;
        let pass = |bios, read| StripeWork::pass(parity, 1, bios, read, true);
        let mut work = pass(read, 0);
        work += pass(1, read);
        work += pass(0, 0);
        self.time(&work, 0)
    }

    /// Processor time of a turn: `work` at the stripes and `requests` made for members.
    pub fn time(&self, work: &StripeWork, requests: u64) -> Nanos {
        let bytes = |pages: u64, rate: f64| match pages {
            0 => 0.0,
            _ => (pages * PAGE_BYTES) as f64 / rate * 1e9,
        };
        let streamed = bytes(work.xor_pages, self.xor_bytes_per_s)
            + bytes(work.syndrome_pages, self.syndrome_bytes_per_s)
            + bytes(work.copied_pages, self.copy_bytes_per_s);
        Nanos(
            streamed as u64
                + self.stripe.0 * work.stripes
                + self.look.0 * work.looks
                + self.bio.0 * work.bios
                + self.request.0 * requests,
        )
    }
}
