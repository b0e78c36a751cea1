//! The `ext3 files` rows of the recorded whole-machine table: four phases over the same files, simulated in one run.
//!
//! Conditions: `tests/vectors/machine/README.md`. The same for every row: ext3 with a journal of 16 MB made by a recent mke2fs, 165 MB of
//! memory for files, 600 MB over N files, 800 random calls in all, fsync in the writing phases, caches dropped before each.

use crate::exact::{ExactParameters, ServiceOrder};
use crate::machine::{Conditions, RecordedStorage};
use seekwise_host::cache::read_ahead::{ReadAhead, ReadAheadGeneration};
use seekwise_host::file::ext3::JournalPlace;
use seekwise_host::file::{Ext3, FileSystem};
use seekwise_sim::cost::StepCosts;
use seekwise_sim::files::{FilesPlan, JobPlan, PhasePlan};
use seekwise_units::{Depth, Nanos, PAGE_BYTES, PAGE_SECTORS};

/// In the order in which they run.
pub const PHASES: [&str; 4] = ["seqwrite", "rndwrite", "seqread", "rndread"];

const TOTAL_PAGES: u64 = 600 * 1_000_000 / PAGE_BYTES;
const RANDOM_CALLS: u64 = 800;
const MEMORY_PAGES: u64 = 165 * 1_000_000 / PAGE_BYTES;
/// The machine's memory besides: kernel and programs (estimate, 20 to 60 MB; decides only how often writers look at the limits).
const OTHER_PAGES: u64 = 35 * 1_000_000 / PAGE_BYTES;
const JOURNAL_BLOCKS: u64 = 16 * (1 << 20) / PAGE_BYTES;
/// Simulated time after which a run is given up.
const GIVE_UP: Nanos = Nanos::from_secs(3_600);

/// MB/s (10^6 bytes) of the four phases. The error says what is not modelled.
pub fn megabytes_per_second(conditions: &Conditions, seed: u64) -> Result<[f64; 4], String> {
    let processes = conditions.processes;
    if conditions.drive != "satf" && conditions.drive != "fifodrive" {
        return Err(format!(
            "drive {} under files is not modelled",
            conditions.drive
        ));
    }
    let disk = ExactParameters {
        depth: Depth(conditions.queue_depth),
        order: if conditions.drive == "satf" {
            ServiceOrder::EarliestEnd
        } else {
            ServiceOrder::Arrival
        },
        ..ExactParameters::UNDER_EXT3
    };
    let RecordedStorage {
        mut machine,
        window,
        kernel,
    } = RecordedStorage::of(conditions, disk, StepCosts::default())?;
    let read_ahead = ReadAhead::new(ReadAheadGeneration::of(kernel.version), window);
    let blocks = machine.storage.volume().capacity().0 / PAGE_SECTORS;
    let system = FileSystem::Ext3(Ext3::new(
        blocks,
        TOTAL_PAGES + TOTAL_PAGES / 1000 + 64 * u64::from(processes),
        JOURNAL_BLOCKS,
        JournalPlace::Middle,
    ));
    let file_pages = TOTAL_PAGES / u64::from(processes);
    let phases = PHASES.map(|name| phase(name, processes, read_ahead)).into();
    machine.set_files(FilesPlan {
        memory_pages: MEMORY_PAGES,
        total_pages: MEMORY_PAGES + OTHER_PAGES,
        ..FilesPlan::of(
            kernel,
            system,
            vec![file_pages; processes as usize],
            phases,
            seed,
        )
    });
    let outcomes = machine
        .run_files(GIVE_UP)
        .ok_or("the phases do not end".to_owned())?;
    let mut rates = [0.0; 4];
    for (rate, outcome) in rates.iter_mut().zip(outcomes) {
        *rate = outcome.done().bytes as f64 / 1e6 / (outcome.ended - outcome.began).as_secs_f64();
    }
    Ok(rates)
}

/// A phase of `processes`, each with a file of its own.
fn phase(name: &str, processes: u32, read_ahead: ReadAhead) -> PhasePlan {
    let random = name.starts_with("rnd");
    let all = if random { RANDOM_CALLS } else { TOTAL_PAGES };
    let job = JobPlan {
        write: name.ends_with("write"),
        calls: all / u64::from(processes),
        fsync: true,
        ..JobPlan::reads(random, 1, read_ahead)
    };
    PhasePlan {
        drop_caches: true,
        ..PhasePlan::of(job, FilesPlan::forked(processes))
    }
}
