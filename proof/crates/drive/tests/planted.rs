//! Links that another user planted where a server of root's puts its files: nothing behind them is written, truncated or given another mode.

use crate::common::{refused, Server};
use seekwise_drive::Options;
use std::os::unix::fs::{symlink, MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const PRECIOUS: &str = "years of work";
const NOBODY: u32 = 65534;

fn precious(folder: &Path) -> std::path::PathBuf {
    let path = folder.join("precious");
    std::fs::write(&path, PRECIOUS).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    path
}

fn untouched(path: &Path) {
    assert_eq!(std::fs::read_to_string(path).unwrap(), PRECIOUS);
    assert_eq!(std::fs::metadata(path).unwrap().mode() & 0o777, 0o644);
}

#[test]
fn a_log_replaces_a_link_and_does_not_follow_it() {
    let folder = tempfile::tempdir().unwrap();
    let victim = precious(folder.path());
    for target in [victim.clone(), folder.path().join("not there")] {
        let log = folder.path().join("log");
        symlink(&target, &log).unwrap();
        Server::start("null", 1, |options| options.log = Some(log.clone())).stop();
        assert!(std::fs::read_to_string(&log)
            .unwrap()
            .starts_with("drive,cookie"));
        assert!(log.symlink_metadata().unwrap().is_file());
        std::fs::remove_file(&log).unwrap();
    }
    untouched(&victim);
    assert!(!folder.path().join("not there").exists());
}

#[test]
fn a_log_goes_to_a_device_as_it_is() {
    Server::start("null", 1, |options| options.log = Some("/dev/null".into())).stop();
    assert!(!Path::new("/dev/null").symlink_metadata().unwrap().is_file());
}

#[test]
fn a_store_takes_no_file_that_is_a_link_or_has_a_second_name() {
    for name in ["lock", "drive0.img", "store.json"] {
        let folder = tempfile::tempdir().unwrap();
        let victim = precious(folder.path());
        let store = folder.path().join("store");
        for is_soft in [true, false] {
            std::fs::create_dir(&store).unwrap();
            let planted = store.join(name);
            if is_soft {
                symlink(&victim, planted).unwrap();
            } else {
                std::fs::hard_link(&victim, planted).unwrap();
            }
            let mut options = Options::new("null", 1);
            options.store = Some(store.clone());
            refused(&options);
            untouched(&victim);
            std::fs::remove_dir_all(&store).unwrap();
        }
        std::fs::create_dir(&store).unwrap();
        for draft in ["store.json.new", ".store.json.new"] {
            symlink(&victim, store.join(draft)).unwrap();
        }
        Server::start("null", 1, |options| options.store = Some(store.clone())).stop();
        untouched(&victim);
    }
}

#[test]
fn root_is_led_nowhere_by_the_links_of_others() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: needs root, to give links to another user");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("roots")).unwrap();
    let link = folder.path().join("theirs");
    symlink("roots", &link).unwrap();
    let log = link.join("log");
    Server::start("null", 1, |options| options.log = Some(log.clone())).stop();
    assert!(log.exists(), "a link of root's own is followed");
    std::fs::remove_file(&log).unwrap();
    std::os::unix::fs::lchown(&link, Some(NOBODY), Some(NOBODY)).unwrap();
    for change in [
        |options: &mut Options, at: &Path| options.log = Some(at.join("log")),
        |options: &mut Options, at: &Path| options.store = Some(at.join("store")),
        |options: &mut Options, at: &Path| options.sockets = vec![at.join("0.sock")],
        |options: &mut Options, at: &Path| options.control = Some(at.join("control")),
    ] {
        let mut options = Options::new("null", 1);
        change(&mut options, &link);
        let (_, sentence) = refused(&options);
        assert!(sentence.contains("a link of another user"), "{sentence}");
    }
    assert_eq!(
        std::fs::read_dir(folder.path().join("roots"))
            .unwrap()
            .count(),
        0
    );
}

#[test]
fn a_socket_swapped_for_a_link_changes_the_mode_of_no_other_file() {
    let folder = tempfile::tempdir().unwrap();
    let victim = precious(folder.path());
    let theirs = folder.path().join("theirs");
    std::fs::create_dir(&theirs).unwrap();
    let socket = theirs.join("0.sock");
    let (over, swaps) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                // As soon as the socket is there, a link to the victim takes its place, and then nothing.
                if std::fs::rename(&socket, theirs.join("taken")).is_ok() {
                    let _ = symlink(&victim, &socket);
                    swaps.fetch_add(1, Ordering::Relaxed);
                    std::thread::sleep(std::time::Duration::from_micros(200));
                    let _ = std::fs::remove_file(&socket);
                }
            }
        });
        for _ in 0..300 {
            let mut options = Options::new("null", 1);
            options.sockets = vec![socket.clone()];
            options.control = Some(folder.path().join("control"));
            options.transport_us = Some(0.0);
            let _ = seekwise_drive::serve(&options, |_| false);
            if std::fs::metadata(&victim).unwrap().mode() & 0o777 != 0o644 {
                break;
            }
        }
        over.store(true, Ordering::Relaxed);
    });
    untouched(&victim);
    assert!(swaps.load(Ordering::Relaxed) > 20);
}

#[test]
fn a_socket_is_its_users_alone() {
    let server = Server::start("null", 1, |_| {});
    let mode = server.sockets[0].metadata().unwrap().mode();
    assert_eq!(mode & 0o777, 0o600);
    server.stop();
}

#[test]
fn a_socket_whose_name_no_client_can_say_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let deep = folder.path().join("a".repeat(110));
    std::fs::create_dir(&deep).unwrap();
    let mut options = Options::new("null", 1);
    options.sockets = vec![deep.join("0.sock")];
    assert!(refused(&options).1.contains("107 bytes"));
}
