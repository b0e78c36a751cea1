//! Drives whose commands cost the host's processor time.

use seekwise_device::{Command, CommandKind, Device, Tag};
use seekwise_device::{Drive, Model};
use seekwise_host::cpu::SharedProcessor;
use seekwise_sim::cost::{Service, Services};
use seekwise_sim::storage::served::Served;
use seekwise_units::{Lba, Nanos, Sectors, PAGE_SECTORS};

const SERVICES: Services = Services {
    read: Service {
        send: Nanos(10_000),
        send_page: Nanos(0),
        receive: Nanos(20_000),
        receive_page: Nanos(3_000),
        behind: Nanos(5_000),
        behind_page: Nanos(0),
    },
    write: Service {
        send: Nanos(10_000),
        send_page: Nanos(20_000),
        receive: Nanos(5_000),
        receive_page: Nanos(0),
        behind: Nanos(0),
        behind_page: Nanos(0),
    },
};

/// A drive that takes 100 us for anything.
fn pair() -> [Served<Drive>; 2] {
    let mut model = Model::shipped("null").unwrap();
    model.set("latency_us", 100.0).unwrap();
    let processor = SharedProcessor::default();
    [0, 1].map(|seed| {
        let drive = Drive::new(&model, seed).unwrap();
        Served::new(drive, processor.clone(), SERVICES)
    })
}

fn command(tag: u32, kind: CommandKind, pages: u64) -> Command {
    Command {
        tag: Tag(tag),
        kind,
        start: Lba(0),
        sectors: Sectors(pages * PAGE_SECTORS),
    }
}

/// Both drives' events in the order of time.
fn finish(pair: &mut [Served<Drive>; 2]) -> Vec<(usize, u64)> {
    let mut done = vec![];
    loop {
        let next = |which: usize| pair[which].next_event().unwrap_or(Nanos::NEVER);
        let which = usize::from(next(1) < next(0));
        let at = next(which);
        if at == Nanos::NEVER {
            return done;
        }
        if pair[which].advance(at).is_some() {
            done.push((which, at.0));
        }
    }
}

#[test]
fn a_request_is_sent_served_and_received() {
    let mut drives = pair();
    drives[0].submit(Nanos::ZERO, command(0, CommandKind::Read, 2));
    assert_eq!(drives[0].next_completion(), Some(Nanos(136_000)));
    assert_eq!(
        finish(&mut drives),
        [(0, 10_000 + 100_000 + 20_000 + 6_000)]
    );
    assert_eq!(drives[0].take_host_work(), Nanos(41_000));
}

#[test]
fn two_drives_share_the_processor() {
    let write = CommandKind::Write {
        force_unit_access: false,
    };
    let mut drives = pair();
    drives[0].submit(Nanos::ZERO, command(0, write, 1));
    drives[1].submit(Nanos::ZERO, command(0, write, 1));
    // The second is sent when the first has been; both are received as they end.
    assert_eq!(finish(&mut drives), [(0, 135_000), (1, 165_000)]);
}

#[test]
fn a_guests_commands_notify_a_host_that_sleeps_and_no_other() {
    let mut model = Model::shipped("null").unwrap();
    model.set("latency_us", 100.0).unwrap();
    let guest = || Served::in_guest(Drive::new(&model, 0).unwrap());
    let mut drives = [guest(), guest()];
    // 20 us until the host's thread runs, 3.15 us to send each, 100 in the store, 3.15 to receive.
    drives[0].submit(Nanos::ZERO, command(0, CommandKind::Read, 1));
    drives[0].submit(Nanos(1_000), command(1, CommandKind::Read, 1));
    assert_eq!(finish(&mut drives), [(0, 126_300), (0, 129_450)]);
    drives[0].submit(Nanos(200_000), command(0, CommandKind::Read, 1));
    assert_eq!(finish(&mut drives), [(0, 326_300)]);
    // The guest does not see that work.
    assert_eq!(drives[0].take_host_work(), Nanos::ZERO);
}
