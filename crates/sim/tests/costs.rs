//! What hosts cost: models in files, operations, md.

use seekwise_host::cpu::CpuCost;
use seekwise_raid::md::raid5::StripeWork;
use seekwise_sched::Kernel;
use seekwise_sim::cost::{HostModel, MdCosts, OperationCosts};
use seekwise_sim::spec::HostSpec;
use seekwise_units::{Nanos, PAGE_BYTES};

#[test]
fn parity_of_a_gigabyte_takes_what_the_rate_says() {
    let work = StripeWork {
        xor_pages: 1_000_000_000 / PAGE_BYTES,
        ..StripeWork::default()
    };
    let seconds = MdCosts::OLD.time(&work, 0).as_secs_f64();
    assert!((seconds - 0.5).abs() < 0.001, "{seconds}");
}

#[test]
fn every_shipped_host_is_whole() {
    for (_, text) in seekwise_models::HOSTS {
        let model = HostModel::parse(text).unwrap();
        assert!(model.processors.is_none_or(|count| count >= 1));
        let file: toml::Table = text.parse().unwrap();
        if let Some(nanoseconds) = file.get("nanoseconds") {
            model.costs("cfq").unwrap();
            let steps = &model.document()["parameters"];
            for name in nanoseconds.as_table().unwrap().keys() {
                assert!(steps.get(name).is_some(), "{}: {name}", model.id);
            }
        }
        assert_eq!(HostModel::shipped(&model.id).unwrap().name, model.name);
    }
}

#[test]
fn a_number_can_be_another_one_within_reason() {
    let mut model = HostModel::shipped("opteron_2212").unwrap().clone();
    let usual = model.costs("cfq").unwrap();
    model.set("page_write", 9600.0).unwrap();
    model.set("scheduler_factor", 2.8).unwrap();
    let costs = model.costs("cfq").unwrap();
    assert_eq!(costs.page_write, Nanos(9600));
    assert_eq!(costs.scheduler.0, 2 * usual.scheduler.0);
    assert_eq!(model.document()["parameters"]["page_write"]["hi"], 9600);
    for (name, value) in [("page_write", -1.0), ("page_write", 1e7), ("abacus", 1.0)] {
        assert!(model.set(name, value).unwrap_err().contains(name));
    }
}

#[test]
fn a_number_outside_its_range_is_refused() {
    for (file, right, wrong) in [
        (
            "host-recording",
            "call = { value = 400",
            "call = { value = 4",
        ),
        ("host-laboratory", "value = ", "value = 9"),
    ] {
        let (_, text) = seekwise_models::HOSTS
            .iter()
            .find(|(name, _)| *name == file)
            .unwrap();
        assert!(HostModel::parse(&text.replacen(right, wrong, 1))
            .unwrap_err()
            .contains("outside"));
    }
    assert!(HostModel::shipped("abacus")
        .unwrap_err()
        .contains("laboratory"));
}

fn laboratory(scheduler: &str) -> OperationCosts {
    let kernel = Kernel::parse("6.1", 250).unwrap();
    let spec = HostSpec {
        model: Some("laboratory".to_owned()),
        ..HostSpec::default()
    };
    OperationCosts::of(&spec, &kernel, scheduler, CpuCost::default(), [false; 2]).unwrap()
}

fn turnaround(host: &OperationCosts, reads: f64, pages: f64) -> u64 {
    let cost = host.operation(reads, pages);
    (cost.to_submit() + cost.to_return()).0
}

#[test]
fn a_write_costs_the_laboratory_more_with_each_page_than_a_read() {
    let host = laboratory("none");
    let page = |reads| turnaround(&host, reads, 2.0) - turnaround(&host, reads, 1.0);
    assert!(page(0.0) > 3 * page(1.0), "{} {}", page(0.0), page(1.0));
    assert!(turnaround(&laboratory("bfq"), 1.0, 1.0) > turnaround(&host, 1.0, 1.0));
}

#[test]
fn over_an_array_call_and_request_are_what_an_operation_on_a_drive_is() {
    for scheduler in ["none", "bfq"] {
        let single = laboratory(scheduler);
        let cost = single.operation(1.0, 4.0);
        // What md costs is part of what was measured, and not added again.
        let (array, services) = single.over_members(Nanos(900));
        let call = array.operation(1.0, 4.0);
        let read = services.unwrap().read;
        let request = read.send.0 + read.receive.0 + 4 * (read.send_page.0 + read.receive_page.0);
        let whole = (cost.to_submit() + cost.to_return()).0;
        let through_md = (call.to_submit() + call.to_return()).0 + request - whole;
        let (most, behind) = if scheduler == "none" {
            (3_000, 0)
        } else {
            (6_000, 6_000)
        };
        assert!((2_000..=most).contains(&through_md), "{through_md}");
        assert_eq!(
            read.behind.0 + 4 * read.behind_page.0,
            cost.behind.0 + behind
        );
    }
}

#[test]
fn a_mixed_job_lies_between_reads_and_writes() {
    let host = laboratory("kyber");
    let [read, half, write] = [1.0, 0.5, 0.0].map(|reads| turnaround(&host, reads, 4.0));
    assert!(read < half && half < write);
    assert!(2 * half - read - write <= 4);
}

#[test]
fn a_host_known_step_by_step_costs_a_trial_the_same_steps() {
    let kernel = Kernel::parse("6.1", 250).unwrap();
    let spec = HostSpec {
        model: Some("i7_6700k".to_owned()),
        ..HostSpec::default()
    };
    let host = OperationCosts::of(&spec, &kernel, "none", CpuCost::default(), [false; 2]).unwrap();
    let steps = HostModel::shipped("i7_6700k")
        .unwrap()
        .costs("none")
        .unwrap();
    let cost = host.request(true, 1.0);
    assert_eq!(
        cost.to_submit(),
        steps.user + steps.call + steps.page_pin + steps.bio
    );
    assert_eq!(
        cost.to_return(),
        steps.page_end + steps.interrupt + steps.switch
    );
    assert_eq!(host.cache().read_page, steps.page_copy.0);
}

#[test]
fn what_is_not_measured_or_contradicts_is_one_sentence() {
    let refuse = |model: &str, kernel: &str, user_ns| {
        let kernel = Kernel::parse(kernel, 250).unwrap();
        let spec = HostSpec {
            model: Some(model.to_owned()),
            user_ns,
            ..HostSpec::default()
        };
        OperationCosts::of(&spec, &kernel, "none", CpuCost::default(), [false; 2]).unwrap_err()
    };
    assert!(refuse("laboratory", "4.19", None).contains("not 4.19"));
    assert!(refuse("abacus", "6.1", None).contains("abacus"));
    assert!(refuse("laboratory", "6.1", Some(1)).contains("no other costs"));
}
