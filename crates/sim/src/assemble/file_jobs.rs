//! Files and their users as the machine takes them: where the files lie, and each phase's jobs as threads with plans.

use crate::assemble::array::Planned;
use crate::assemble::files::{OnFiles, MEMORY_BYTES, OTHER_BYTES};
use crate::assemble::read_ahead_kib;
use crate::assemble::threads::{gap, priority, region, stream};
use crate::files::spread::Step;
use crate::files::{FilesPlan, JobPace, JobPlan, PhasePlan, Region, Start, BIO_PAGES, CALLS_MAX};
use crate::queue::{max_sectors_kib, Below};
use crate::spec::{JobSpec, PatternSpec, PhaseSpec};
use crate::task::cache_plan::{self, CachePlan};
use seekwise_host::cache::read_ahead::{ReadAhead, ReadAheadGeneration};
use seekwise_host::file::ext3::JournalPlace;
use seekwise_host::file::{Ext3, Ext4, FileSystem, Raw, Xfs};
use seekwise_host::job::Stream;
use seekwise_host::random::Random;
use seekwise_units::{Lba, Nanos, Sectors, PAGE_BYTES, PAGE_SECTORS, SECTOR_BYTES};

/// mke2fs: 128 MiB of journal on volumes above 32 GB, 64 MiB below (e2fsprogs figure_journal_size).
const JOURNAL_BLOCKS: u64 = 32_768;
/// Of a file system's blocks, what tables and copies of the superblock take at most, and what they and the journal take of any.
const FIXED_SHARE: u64 = 40;
const FIXED_SHARE_IN_CHUNKS: u64 = 10;
const FIXED_BLOCKS: u64 = 2 * JOURNAL_BLOCKS;
impl OnFiles<'_> {
    /// Where the files lie, as far as they may be placed.
    fn file_system(&self, bio_pages: u64) -> Result<FileSystem, String> {
        let blocks = (self.capacity.bytes().0 - self.on.start_bytes) / PAGE_BYTES;
        let name = self.on.filesystem.as_str();
        // Blocks of addresses, and windows and chunks begun at the ends of files.
        let used = self.files.iter().map(|pages| pages + pages / 500 + 4_096);
        let used: u64 = used.sum();
        // ext4 leaves the end of each group that no whole chunk fits into.
        let share = if name == "ext4" {
            FIXED_SHARE_IN_CHUNKS
        } else {
            FIXED_SHARE
        };
        if !self.is_raw() && used + used / share + FIXED_BLOCKS > blocks {
            return Err(format!(
                "{} files of {} bytes together do not fit into an {name} of {blocks} blocks of 4 KiB beside its own tables and journal",
                self.files.len(),
                self.files.iter().sum::<u64>() * PAGE_BYTES
            ));
        }
        Ok(match name {
            "ext3" => {
                // e2fsprogs of 2009 on (1.41) puts the journal into the middle.
                let place = if self.kernel.at_least(2, 6, 32) {
                    JournalPlace::Middle
                } else {
                    JournalPlace::First
                };
                FileSystem::Ext3(Ext3::new(blocks, used, JOURNAL_BLOCKS, place))
            }
            "ext4" => FileSystem::Ext4(Ext4::new(blocks, used, JOURNAL_BLOCKS)),
            "xfs" => {
                let longest = self.files.iter().copied().max().unwrap_or(0);
                FileSystem::Xfs(Xfs::new(blocks, self.files.len() as u64, longest))
            }
            _ => FileSystem::Raw(Raw {
                places: self.places.clone(),
                bio_pages,
            }),
        })
    }

    /// A reader's read-ahead, and its largest window in pages.
    fn read_ahead(&self, below: &Below, array: Option<&Planned>) -> (ReadAhead, u64) {
        let spec = self.spec;
        let largest = spec.queue.max_sectors_kb;
        let largest = largest.unwrap_or(max_sectors_kib(&self.kernel));
        let largest = largest.min(below.command_kib.unwrap_or(u32::MAX));
        let largest = Sectors::from_kib(u64::from(largest));
        let own = spec.cache.and_then(|cache| cache.read_ahead_kib);
        let window = match (own, array.map(|array| &array.geometry)) {
            (Some(kib), _) => kib * 1024 / PAGE_BYTES,
            // RAID 1 has no optimal size of its own.
            (None, Some(geometry)) if geometry.chunk.0 > 0 => geometry.read_ahead().0 / 8,
            (None, _) => {
                read_ahead_kib(&self.kernel, below.rotational, largest) * 1024 / PAGE_BYTES
            }
        };
        let read_ahead = ReadAhead::new(ReadAheadGeneration::of(self.kernel.version), window)
            .with_requests(largest.bytes().0 / PAGE_BYTES);
        (read_ahead, window)
    }

    pub(super) fn plan(&self, below: &Below, array: Option<&Planned>) -> Result<FilesPlan, String> {
        let spec = self.spec;
        let (read_ahead, window) = self.read_ahead(below, array);
        // No bio is longer than a command of the device.
        let bio_pages = below
            .command_kib
            .map_or(BIO_PAGES, |kib| BIO_PAGES.min(u64::from(kib) / 4));
        let memory = spec.cache.map_or(MEMORY_BYTES, |cache| cache.limit_bytes);
        let memory_pages = if self.single_queue {
            (memory - OTHER_BYTES) / PAGE_BYTES
        } else {
            CachePlan::file_pages(memory)?
        };
        let phases = spec.phases.iter().enumerate();
        let phases: Vec<PhasePlan> = phases
            .map(|(number, phase)| self.phase(number, phase, &read_ahead, window))
            .collect();
        let builds = |phase: &PhaseSpec| phase.jobs.iter().all(|job| job.read_percent == Some(0.0));
        let steps = spec.phases.iter().flat_map(|phase| &phase.jobs);
        let steps = steps.flat_map(|job| &job.steps).map(Step::of).collect();
        let plan = FilesPlan::of(
            self.kernel,
            self.file_system(bio_pages)?,
            self.files.clone(),
            phases,
            spec.seed,
        );
        Ok(FilesPlan {
            memory_pages,
            total_pages: memory / PAGE_BYTES,
            offset: Lba(self.on.start_bytes / 512),
            // fio fills one file after the other before it measures.
            turn_pages: if self.single_queue {
                plan.turn_pages
            } else {
                self.files.iter().copied().max().unwrap_or(1)
            },
            closes: self.device,
            barriers: !self.single_queue,
            fair: !self.single_queue,
            exits: !self.single_queue,
            pacing: (!self.single_queue).then(|| cache_plan::pacing(self.kernel.hz, memory_pages)),
            steps,
            written: self.on.written || !builds(&spec.phases[0]),
            processors: super::processors(&spec.host, 1)?,
            ..plan
        })
    }

    fn phase(
        &self,
        number: usize,
        phase: &PhaseSpec,
        read_ahead: &ReadAhead,
        window: u64,
    ) -> PhasePlan {
        let job = |job: &JobSpec| {
            let ordered = job.pattern == PatternSpec::Sequential;
            let read_ahead = match (self.single_queue, ordered) {
                (true, _) => *read_ahead,
                // fio announces how it will read (posix_fadvise): in order doubles the read-ahead, at random there is none.
                (false, true) => read_ahead.of_pages(2 * window),
                (false, false) => read_ahead.random(),
            };
            job_plan(job, read_ahead)
        };
        let mut threads: Vec<Start> = Vec::new();
        let mut file = 0;
        for (place, job) in phase.jobs.iter().enumerate() {
            for thread in 0..job.threads {
                let index = threads.len() as u32;
                let own = if job.own_regions { thread } else { 0 };
                let start = Start {
                    job: place,
                    file: if self.device { 0 } else { file + own },
                    page: 0,
                    after: FilesPlan::fork(index)
                        + Nanos(job.start_ns + u64::from(thread) * job.stagger_ns),
                    region: None,
                    stream: None,
                };
                let region = if self.device {
                    self.region(job, thread)
                } else {
                    Region {
                        from: 0,
                        end: self.files[start.file as usize],
                    }
                };
                // As on the raw device: a stream per phase and thread.
                let number = (number as u64) << 32 | u64::from(index + 1);
                let random = Random::new(self.spec.seed, number);
                threads.push(Start {
                    region: Some(region),
                    stream: drawn(job, region, self.device, random).map(Box::new),
                    ..start
                });
            }
            file += job.files();
        }
        PhasePlan {
            jobs: phase.jobs.iter().map(job).collect(),
            threads,
            runtime: phase.runtime_ns.map_or(Nanos::NEVER, Nanos),
            idle: phase.idle,
            drop_caches: false,
        }
    }

    /// A thread's part of the device.
    fn region(&self, job: &JobSpec, thread: u32) -> Region {
        let (first, length) = region(job, self.capacity).expect("checked with the phases");
        let block = job.block_bytes / SECTOR_BYTES;
        let share = length.0 / u64::from(job.threads) / block * block;
        let (first, length) = if job.own_regions {
            (first.0 + u64::from(thread) * share, share)
        } else {
            (first.0, length.0)
        };
        Region {
            from: first / PAGE_SECTORS,
            end: (first + length) / PAGE_SECTORS,
        }
    }
}

/// Calls of a job that are not all alike are drawn.
fn drawn(job: &JobSpec, region: Region, device: bool, random: Random) -> Option<Stream> {
    let reads = job.read_percent.unwrap_or(100.0);
    let alike = job.sizes.is_empty() && (reads == 0.0 || reads == 100.0);
    match job.pattern {
        PatternSpec::Sequential if alike => return None,
        PatternSpec::Random if alike && !device => return None,
        _ => {}
    }
    let first = Lba(region.from * PAGE_SECTORS);
    let length = Sectors(region.pages() * PAGE_SECTORS);
    Some(stream(job, random, first, length))
}

fn job_plan(job: &JobSpec, read_ahead: ReadAhead) -> JobPlan {
    let reads = job.read_percent.unwrap_or(100.0);
    let alike = job.sizes.is_empty() && (reads == 0.0 || reads == 100.0);
    let random = job.pattern != PatternSpec::Sequential || !alike;
    let timetable = job.rate_iops.map(|rate| Nanos((1e9 / rate) as u64));
    let pace = JobPace {
        think: Nanos(job.think_ns),
        gap: timetable.map(|mean| gap(mean, job.poisson)),
    };
    JobPlan {
        write: reads == 0.0,
        calls: job.ios.unwrap_or(CALLS_MAX),
        direct: job.direct.then_some(job.depth),
        spread: !job.steps.is_empty(),
        fsync: job.fsync,
        o_sync: job.o_sync,
        sync_every: job.sync_every,
        priority: priority(job),
        pace: (job.think_ns > 0 || job.rate_iops.is_some()).then_some(pace),
        ..JobPlan::reads(random, job.block_bytes / PAGE_BYTES, read_ahead)
    }
}
