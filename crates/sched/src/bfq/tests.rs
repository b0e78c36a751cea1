//! Rules of bfq, one by one.

use super::*;
use crate::request::Direction;
use crate::request::{Priority, PriorityClass};
use crate::seeks::Seeks;
use crate::tests::{read, setup, write};

const MS: u64 = 1_000_000;

fn bfq(kernel: &str, values: &[(&str, i128)]) -> Bfq {
    let mut setup = setup(&format!("{kernel}-hz250"));
    for (name, value) in values {
        let kernel = setup.kernel;
        setup
            .values
            .set("bfq", PARAMETERS, &kernel, name, *value)
            .unwrap();
    }
    Bfq::new(&setup)
}

/// Without weight raising, so that only the rule at hand shows.
fn plain(kernel: &str) -> Bfq {
    bfq(kernel, &[("low_latency", 0)])
}

fn of(process: u32, id: u32, sector: u64) -> Request {
    Request {
        process: ProcessId(process),
        ..read(id, sector)
    }
}

fn with_class(request: Request, class: PriorityClass, level: u8) -> Request {
    Request {
        priority: Priority { class, level },
        ..request
    }
}

fn queue_of(bfq: &Bfq, process: u32) -> u32 {
    bfq.processes[bfq.processes.index(ProcessId(process)).unwrap()]
        .sync
        .unwrap()
}

/// Serves `request` from arrival to completion.
fn serve(bfq: &mut Bfq, at: u64, request: &Request, took: u64) {
    bfq.insert(Nanos(at), request);
    assert_eq!(bfq.dispatch(Nanos(at)), Some(request.id));
    bfq.complete(Nanos(at + took), request);
}

#[test]
fn the_nearest_request_ahead_goes_first_and_the_way_back_costs_double() {
    let mut bfq = plain("6.1");
    serve(&mut bfq, 0, &of(1, 0, 1_000_000), MS);
    for (id, sector) in [(1, 2_000_000), (2, 1_000_100), (3, 999_970), (4, 1_000_050)] {
        bfq.insert(Nanos(2 * MS), &of(1, id, sector));
    }
    let order: Vec<_> = core::iter::from_fn(|| bfq.dispatch(Nanos(3 * MS)))
        .map(|id| id.0)
        .collect();
    assert_eq!(order, [4, 2, 3, 1]);
}

/// On flash that queues, a random reader's request is done while another process waits: what comes next, unless the drive is kept idle for the reader.
fn next_beside_a_reader(kernel: &str, cgroup: bool, other: u32) -> Option<RequestId> {
    let mut setup = setup(&format!("{kernel}-hz250"));
    setup
        .values
        .set("bfq", PARAMETERS, &setup.kernel, "low_latency", 0)
        .unwrap();
    (setup.rotational, setup.cgroup) = (false, cgroup);
    let mut bfq = Bfq::new(&setup);
    bfq.queueing = Some(true);
    let mine = of(1, 0, 1 << 20);
    bfq.insert(Nanos(0), &mine);
    assert_eq!(bfq.dispatch(Nanos(0)), Some(mine.id));
    // Late enough that the two queues are no burst, which would be merged.
    bfq.insert(Nanos(900 * MS), &of(other, 1, 1 << 30));
    bfq.complete(Nanos(901 * MS), &mine);
    bfq.dispatch(Nanos(901 * MS))
}

#[test]
fn a_lone_group_is_waited_for_until_6_2_and_from_then_on_two_are() {
    let (program, journal) = (2, ProcessId::KERNEL + 17);
    for (kernel, cgroup, other, waits) in [
        ("6.1", false, program, false),
        ("5.10", true, program, true),
        ("6.1", true, program, true),
        ("6.12", true, program, false),
        ("6.1", true, journal, true),
        ("6.12", true, journal, true),
        ("6.12", false, journal, false),
    ] {
        let next = next_beside_a_reader(kernel, cgroup, other);
        assert_eq!(next.is_none(), waits, "{kernel}, {cgroup}, {other}");
    }
}

#[test]
fn a_group_without_requests_lets_the_root_go_on() {
    for kernel in ["6.1", "6.12"] {
        let mut setup = setup(&format!("{kernel}-hz250"));
        setup.cgroup = true;
        let mut bfq = Bfq::new(&setup);
        serve(&mut bfq, 0, &of(1, 0, 8), MS);
        let away = 60_000 * MS;
        while let Some(at) = bfq.timer().filter(|at| at.0 < away) {
            bfq.fire(at);
        }
        assert_eq!(bfq.pending, [0, 0], "{kernel}");
        serve(&mut bfq, away, &of(ProcessId::KERNEL, 1, 8), MS);
        assert!(!bfq.is_asymmetric_for(queue_of(&bfq, ProcessId::KERNEL)));
    }
}

#[test]
fn metadata_goes_before_data() {
    let mut bfq = plain("6.1");
    bfq.insert(Nanos(0), &of(1, 0, 8));
    let metadata = Request {
        metadata: true,
        ..of(1, 1, 1 << 30)
    };
    bfq.insert(Nanos(0), &metadata);
    assert_eq!(bfq.dispatch(Nanos(0)), Some(RequestId(1)));
}

#[test]
fn an_overdue_request_is_taken_once_per_slot() {
    let mut bfq = plain("6.1");
    for (id, sector) in [(0, 5_000_000), (1, 100), (2, 200), (3, 4_000_000)] {
        bfq.insert(Nanos(u64::from(id)), &of(1, id, sector));
    }
    // 125 ms later: first the nearest, then the oldest; nothing is ahead of that one, so the sweep begins anew, overdue or not.
    let order: Vec<_> = core::iter::from_fn(|| bfq.dispatch(Nanos(126 * MS)))
        .map(|id| id.0)
        .collect();
    assert_eq!(order, [1, 0, 2, 3]);
}

#[test]
fn an_asynchronous_sector_counts_three_times() {
    let mut bfq = plain("6.1");
    bfq.insert(Nanos(0), &write(0, 8));
    let queue = bfq.slot(RequestId(0)).queue;
    assert_eq!(bfq.charge_of_next(queue), Some(24));
    bfq.insert(Nanos(0), &of(1, 1, 8));
    assert_eq!(bfq.charge_of_next(queue_of(&bfq, 1)), Some(8));
}

#[test]
fn the_drive_is_kept_for_a_sequential_reader_for_slice_idle() {
    let mut bfq = plain("6.1");
    serve(&mut bfq, 0, &of(1, 0, 800), MS);
    // Another process does not get its turn while the first one is waited for.
    bfq.insert(Nanos(2 * MS), &of(2, 1, 1 << 30));
    assert_eq!(bfq.dispatch(Nanos(2 * MS)), None);
    assert_eq!(bfq.timer(), Some(Nanos(9 * MS)), "8 ms after completion");
    bfq.insert(Nanos(3 * MS), &of(1, 2, 808));
    assert_eq!(bfq.dispatch(Nanos(3 * MS)), Some(RequestId(2)));
}

#[test]
fn waiting_in_vain_ends_with_the_timer() {
    let mut bfq = plain("6.1");
    serve(&mut bfq, 0, &of(1, 0, 800), MS);
    bfq.insert(Nanos(2 * MS), &of(2, 1, 1 << 30));
    assert!(bfq.fire(Nanos(9 * MS)));
    assert_eq!(bfq.timer(), None);
    assert_eq!(bfq.dispatch(Nanos(9 * MS)), Some(RequestId(1)));
}

#[test]
fn slice_idle_of_zero_never_waits() {
    let mut bfq = bfq("6.1", &[("low_latency", 0), ("slice_idle", 0)]);
    serve(&mut bfq, 0, &of(1, 0, 800), MS);
    bfq.insert(Nanos(2 * MS), &of(2, 1, 1 << 30));
    assert_eq!(bfq.dispatch(Nanos(2 * MS)), Some(RequestId(1)));
}

#[test]
fn strict_guarantees_keep_one_request_with_the_drive() {
    let mut bfq = bfq("6.1", &[("strict_guarantees", 1)]);
    bfq.insert(Nanos(0), &of(1, 0, 8));
    bfq.insert(Nanos(0), &of(1, 1, 80));
    assert!(bfq.dispatch(Nanos(0)).is_some());
    assert_eq!(bfq.dispatch(Nanos(0)), None);
}

#[test]
fn a_new_process_is_raised_thirty_fold_until_its_time_is_over() {
    let mut bfq = bfq("6.1", &[]);
    serve(&mut bfq, 0, &of(1, 0, 800), MS);
    let queue = queue_of(&bfq, 1);
    assert_eq!(bfq.service.get(queue).weight, 40 * 30);
    assert_eq!(bfq.raise_span(), 2_625, "10.5 s on a disk of unknown rate");
    // Too often to be taken for new again, or for soft real-time.
    for step in 1..540u64 {
        serve(&mut bfq, step * 20 * MS, &of(1, 0, 800), MS);
        let over = step * 20 > 10_500 + 4;
        assert_eq!(bfq.is_raised(queue), !over, "at {} ms", step * 20);
    }
    assert_eq!(bfq.service.get(queue).coefficient, 1);
    assert_eq!(bfq.raised_busy, 0);
}

#[test]
fn raising_ends_after_120_000_sectors() {
    let mut bfq = bfq("6.1", &[]);
    let mut start = 0;
    for step in 0..120u64 {
        let request = Request {
            sectors: Sectors(1_024),
            ..of(1, 0, start)
        };
        serve(&mut bfq, step * 2 * MS, &request, MS);
        start += 1_024;
        let raised = bfq.is_raised(queue_of(&bfq, 1));
        assert_eq!(raised, start <= 120_000, "after {start} sectors");
    }
}

#[test]
fn only_the_default_weight_is_raised_since_5_12() {
    for (kernel, coefficient) in [("5.10", 30), ("6.1", 1)] {
        let mut bfq = bfq(kernel, &[]);
        let request = with_class(of(1, 0, 8), PriorityClass::BestEffort, 0);
        bfq.insert(Nanos(0), &request);
        assert_eq!(
            bfq.service.get(queue_of(&bfq, 1)).coefficient,
            coefficient,
            "{kernel}"
        );
    }
}

#[test]
fn eight_processes_at_once_are_a_burst_and_not_raised() {
    let mut bfq = bfq("6.1", &[]);
    for process in 0..9 {
        bfq.insert(
            Nanos(u64::from(process) * 1_000),
            &of(process, process, 1 << 33 | u64::from(process) << 24),
        );
    }
    let burst = |process| bfq.queues[queue_of(&bfq, process) as usize].in_large_burst;
    assert!((0..9).all(burst));
    let raised = (0..9).filter(|process| bfq.is_raised(queue_of(&bfq, *process)));
    // Those before the eighth were raised on arrival; each loses it with its first dispatch.
    assert_eq!(raised.count(), 7);
    let first = bfq.dispatch(Nanos(MS)).unwrap();
    assert!(!bfq.is_raised(bfq.slot(first).queue));
}

#[test]
fn a_higher_class_takes_the_drive_at_once() {
    let mut bfq = plain("6.1");
    for id in 0..4 {
        bfq.insert(Nanos(0), &of(1, id, u64::from(id) * 8));
    }
    assert_eq!(bfq.dispatch(Nanos(0)), Some(RequestId(0)));
    let real_time = with_class(of(2, 9, 1 << 30), PriorityClass::RealTime, 4);
    bfq.insert(Nanos(1_000), &real_time);
    assert_eq!(bfq.dispatch(Nanos(1_000)), Some(RequestId(9)));
}

#[test]
fn the_idle_class_is_served_every_200_ms() {
    let mut bfq = bfq("6.1", &[("low_latency", 0), ("slice_idle", 0)]);
    let idle = with_class(of(9, 63, 1 << 40), PriorityClass::Idle, 0);
    bfq.insert(Nanos(0), &of(1, 0, 0));
    bfq.insert(Nanos(0), &idle);
    let (mut served_at, mut at) = (None, 0);
    for step in 1..2_000u64 {
        bfq.insert(Nanos(at), &of(1, 1 + (step % 40) as u32, step * 8));
        let id = bfq.dispatch(Nanos(at)).unwrap();
        at += MS;
        if id == RequestId(63) {
            served_at = Some(at);
            break;
        }
        let done = of(1, id.0, 0);
        bfq.complete(Nanos(at), &done);
    }
    let served_at = served_at.expect("the idle class starves");
    assert!((200 * MS..400 * MS).contains(&served_at), "{served_at}");
}

#[test]
fn close_readers_share_a_queue() {
    let mut bfq = plain("6.1");
    bfq.insert(Nanos(0), &of(1, 0, 1 << 30));
    assert_eq!(bfq.dispatch(Nanos(0)), Some(RequestId(0)));
    bfq.insert(Nanos(0), &of(3, 3, 1 << 35));
    // Within 8192 sectors of where the queue in service was last.
    bfq.insert(Nanos(1_000), &of(2, 1, (1 << 30) + 4_000));
    assert_eq!(queue_of(&bfq, 1), queue_of(&bfq, 2));
    assert!(bfq.queues[queue_of(&bfq, 1) as usize].shared);
    assert_ne!(queue_of(&bfq, 3), queue_of(&bfq, 1));
}

#[test]
fn processes_started_together_are_merged_for_good_on_flash_since_5_13() {
    for (kernel, merged) in [("5.10", false), ("6.1", true)] {
        let mut flash = setup(&format!("{kernel}-hz250"));
        flash.rotational = false;
        let mut bfq = Bfq::new(&flash);
        bfq.insert(Nanos(0), &of(1, 0, 0));
        bfq.insert(Nanos(100 * MS), &of(2, 1, 1 << 35));
        bfq.insert(Nanos(500 * MS), &of(3, 2, 1 << 36));
        assert_eq!(queue_of(&bfq, 1) == queue_of(&bfq, 2), merged, "{kernel}");
        assert_ne!(queue_of(&bfq, 1), queue_of(&bfq, 3), "{kernel}: too late");
    }
}

#[test]
fn bios_merge_only_within_their_own_queue() {
    let mut bfq = plain("6.1");
    bfq.insert(Nanos(0), &of(1, 0, 800));
    bfq.insert(Nanos(0), &of(2, 1, 1 << 30));
    assert!(bfq.may_merge(&of(1, 0, 800), &of(1, 9, 808)));
    assert!(!bfq.may_merge(&of(1, 0, 800), &of(2, 9, 808)));
}

#[test]
fn a_queue_that_comes_back_in_time_goes_on_where_it_stopped() {
    let mut bfq = plain("6.1");
    serve(&mut bfq, 0, &of(1, 0, 800), MS);
    bfq.insert(Nanos(2 * MS), &of(2, 1, 1 << 30));
    bfq.fire(Nanos(9 * MS));
    assert_eq!(bfq.dispatch(Nanos(9 * MS)), Some(RequestId(1)));
    bfq.insert(Nanos(10 * MS), &of(2, 3, 1 << 31));
    // Within three times slice_idle of its last completion: it takes the drive back.
    bfq.insert(Nanos(20 * MS), &of(1, 2, 808));
    assert_eq!(bfq.dispatch(Nanos(20 * MS)), Some(RequestId(2)));
}

#[test]
fn tags_for_writes_shrink_while_a_raised_queue_is_busy() {
    let mut bfq = bfq("6.1", &[]);
    let limits = |bfq: &Bfq, tags, word| {
        let depth = |sync, direction| {
            let asking = Asking {
                process: ProcessId(9),
                sync,
                direction,
            };
            let words = TagWords {
                tags,
                word,
                whole: false,
            };
            bfq.tag_depth(asking, words)
        };
        [
            depth(false, Direction::Write),
            depth(true, Direction::Write),
            depth(true, Direction::Read),
        ]
    };
    assert_eq!(limits(&bfq, 256, 64), [Some(32), Some(48), None]);
    bfq.insert(Nanos(0), &of(1, 0, 8));
    assert_eq!(limits(&bfq, 256, 64), [Some(12), Some(24), None]);
    assert_eq!(limits(&bfq, 64, 16), [Some(3), Some(6), None]);
}

#[test]
fn a_drive_with_many_requests_is_taken_to_queue() {
    let mut bfq = bfq("6.1", &[("low_latency", 0), ("slice_idle", 0)]);
    let mut with_drive: Vec<RequestId> = Vec::new();
    for id in 0..80 {
        bfq.insert(Nanos(0), &of(1 + id % 4, id, u64::from(id) << 20));
    }
    for step in 0..40u64 {
        while with_drive.len() < 8 {
            with_drive.extend(bfq.dispatch(Nanos(step * MS)));
        }
        let id = with_drive.remove(0);
        bfq.complete(Nanos(step * MS + 500_000), &of(0, id.0, 0));
        // Known after the 33rd valid sample.
        assert_eq!(bfq.queueing, (step >= 32).then_some(true), "step {step}");
    }
}

/// This test will make a soft real-time queue wholly seeky while its interactive period still runs.
#[test]
fn a_seeky_queue_is_not_soft_real_time_and_since_5_12_goes_on_as_interactive() {
    for (kernel, coefficient) in [("5.10", 1), ("6.1", weight_raising::RAISED)] {
        let mut bfq = bfq(kernel, &[]);
        serve(&mut bfq, 0, &of(1, 0, 800), MS);
        let queue = queue_of(&bfq, 1);
        let state = &mut bfq.queues[queue as usize];
        state.raise.interactive_since = 0;
        state.raise.span = bfq.settings.raise_soft_ticks;
        state.seeks = Seeks::of(u32::MAX);
        bfq.service.get_mut(queue).coefficient = weight_raising::RAISED * 100;
        let far = Slot {
            start: Lba(1 << 33),
            sectors: 8,
            ..Slot::default()
        };
        bfq.sample_seek(queue, &far);
        assert_eq!(bfq.service.get(queue).coefficient, coefficient, "{kernel}");
    }
}

/// All that a policy knows but the room that its lists have, which is what is left of a request that stood in them for no time.
fn state_of(bfq: &Bfq) -> String {
    let links = Links::default();
    format!(
        "{:?}",
        Bfq {
            links,
            ..bfq.clone()
        }
    )
}

/// Under random loads of several processes a request that comes while nothing waits is served by the short way as by the long one, and
/// leaves the same policy behind.
#[test]
fn inserting_and_dispatching_at_once_is_both_behind_each_other() {
    let mut state = 11u64;
    let mut random = move |n: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let mut passed = [0; 2];
    for round in 0..240u64 {
        let kernel = ["5.10", "5.12", "5.13", "5.19", "6.1", "6.12"][round as usize % 6];
        let mut setup = setup(&format!("{kernel}-hz250"));
        setup.rotational = random(3) > 0;
        let mut set = |name, value| {
            let kernel = setup.kernel;
            setup
                .values
                .set("bfq", PARAMETERS, &kernel, name, value)
                .unwrap();
        };
        set("low_latency", i128::from(random(2)));
        set("strict_guarantees", i128::from(random(8) == 0));
        set("slice_idle", [8, 8, 2, 0][random(4) as usize]);
        set("timeout_sync", [124, 8][random(2) as usize]);
        let mut bfq = Bfq::new(&setup);
        let processes = 1 + random(10);
        let depth = 1 + random(12) as usize;
        let (local, think) = (random(3), 1 + random(40));
        let mut places = [0; 10];
        let (mut now, mut free): (u64, Vec<u32>) = (0, (0..64).collect());
        let (mut driver, mut asleep): (Vec<Request>, Vec<Request>) = (Vec::new(), Vec::new());
        for _ in 0..600 {
            now += random(think * MS / 2);
            while let Some(due) = bfq.timer().filter(|due| due.0 <= now) {
                bfq.fire(due);
            }
            if !driver.is_empty() && (free.is_empty() || random(2) == 0) {
                let done = driver.swap_remove(random(driver.len() as u64) as usize);
                bfq.complete(Nanos(now), &done);
                free.push(done.id.0);
            } else if let Some(id) = free.pop() {
                let process = random(processes);
                let place = &mut places[process as usize];
                *place = match random(3) < local {
                    true => *place + 8,
                    false => random(1 << 28) * 8,
                };
                let mut request = of(process as u32, id, *place);
                request.metadata = random(20) == 0;
                request.sectors = Sectors([8, 8, 128][random(3) as usize]);
                if random(6) == 0 {
                    request = Request {
                        sync: random(2) == 0,
                        direction: Direction::Write,
                        ..request
                    };
                }
                let class = match process {
                    8 => PriorityClass::Idle,
                    9 => PriorityClass::RealTime,
                    _ => PriorityClass::BestEffort,
                };
                let level = if random(200) == 0 { 2 } else { 4 };
                let request = with_class(request, class, level);
                if bfq.waiting() == 0 && driver.len() < depth {
                    let mut long = bfq.clone();
                    long.insert(Nanos(now), &request);
                    let dispatched = long.dispatch(Nanos(now)).is_some();
                    assert_eq!(
                        bfq.insert_and_dispatch(Nanos(now), &request),
                        dispatched,
                        "round {round}"
                    );
                    assert_eq!(state_of(&bfq), state_of(&long), "round {round}");
                    passed[usize::from(dispatched)] += 1;
                    if dispatched {
                        driver.push(request);
                    } else {
                        asleep.push(request);
                    }
                } else {
                    bfq.insert(Nanos(now), &request);
                    asleep.push(request);
                }
            }
            while driver.len() < depth {
                let Some(id) = bfq.dispatch(Nanos(now)) else {
                    break;
                };
                let at = asleep.iter().position(|request| request.id == id).unwrap();
                driver.push(asleep.swap_remove(at));
            }
        }
    }
    assert!(passed.iter().all(|count| *count > 300), "{passed:?}");
}

#[test]
fn a_queue_of_the_idle_class_counts_as_thinking_briefly() {
    let mut bfq = plain("6.1");
    bfq.insert(Nanos(0), &with_class(of(1, 0, 8), PriorityClass::Idle, 7));
    let queue = queue_of(&bfq, 1);
    assert!(bfq.queues[queue as usize].habit.short_think);
}

#[test]
fn before_5_19_blk_mq_asks_for_a_busy_queue_without_requests_and_that_ends_its_slot() {
    for (kernel, asks) in [("5.10", true), ("5.18", true), ("5.19", false)] {
        // Raised, so that waiting for it does not pay while it is alone; 5.12 and later wait for the queue that is busy alone.
        let mut bfq = bfq(kernel, &[]);
        bfq.insert(Nanos(0), &of(1, 0, 800));
        assert_eq!(bfq.dispatch(Nanos(0)), Some(RequestId(0)));
        assert_eq!(bfq.has_work(), asks, "{kernel}");
        assert_eq!(bfq.dispatch(Nanos(1_000)), None);
        assert_eq!(bfq.in_service.is_none(), kernel == "5.10", "{kernel}");
    }
}
