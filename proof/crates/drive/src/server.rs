//! Several drives of one model, from start to clean end.

use crate::control::Control;
use crate::engine::{Engine, Setting};
use crate::fault::Fault;
use crate::handshake::Export;
use crate::medium::Medium;
use crate::options::Options;
use crate::orders::{after, run_due, Handle, Notice, ServerOrder};
use crate::protocol::*;
use crate::statistics::Summary;
use crate::store::Backing;
use seekwise_device::model::DriveKind;
use seekwise_device::Model;
use seekwise_units::SECTOR_BYTES;
use serde::Serialize;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::time::{Duration, Instant};

/// What the drives did, at the end.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub schema: &'static str,
    pub model: String,
    pub seconds: f64,
    pub drives: Vec<Summary>,
    /// Answers later than the limit; with any, what was measured meanwhile is not the model's time.
    pub overruns: u64,
    pub valid: bool,
}

/// How often the server asks whether to go on and looks at the clock of the faults.
const TICK: Duration = Duration::from_millis(50);

/// Volatile write cache of a drive of this model, in bytes; 0 if it has none or keeps it without power.
fn cache_bytes(model: &Model) -> u64 {
    let kib = match model.kind {
        DriveKind::Hdd if model.get("write_cache") > 0.0 => model.get("write_cache_kib"),
        DriveKind::Ssd if model.get("power_loss_protection") == 0.0 => {
            model.get("write_buffer_kib")
        }
        _ => 0.0,
    };
    (kib * 1024.0) as u64
}

fn export(model: &Model, bytes: u64) -> Export {
    let mut flags = EXPORT_HAS_FLAGS | EXPORT_SEND_FUA | EXPORT_SEND_TRIM | EXPORT_CAN_MULTI_CONN;
    if cache_bytes(model) > 0 {
        // A kernel sends flushes to drives that say that they have something to flush.
        flags |= EXPORT_SEND_FLUSH;
    }
    if model.kind.rotational() {
        flags |= EXPORT_ROTATIONAL;
    }
    Export {
        bytes,
        flags,
        block_bytes_min: 512,
        block_bytes_preferred: 4096,
    }
}

/// Sockets to remove at the end.
#[derive(Default)]
struct Sockets(Vec<PathBuf>);

impl Sockets {
    /// Listens at `path` and does not block.
    fn listen(&mut self, path: &Path) -> Result<UnixListener, String> {
        let listener = UnixListener::bind(path).and_then(|listener| {
            self.0.push(path.into());
            listener.set_nonblocking(true).map(|()| listener)
        });
        listener.map_err(|error| format!("the socket {} cannot be made: {error}", path.display()))
    }
}

impl Drop for Sockets {
    fn drop(&mut self) {
        for path in &self.0 {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Serves until `notify` says no. It is called with everything that happens, and at least every 50 ms. An error is one sentence.
pub fn serve(options: &Options, mut notify: impl FnMut(&Notice) -> bool) -> Result<Report, String> {
    let (model, sectors, faults) = options.check()?;
    let started = Instant::now();
    let bytes = sectors * SECTOR_BYTES;
    let mut sockets = Sockets::default();
    let (notices_to, notices) = channel();
    let mut handles = vec![];
    // On an error, what has been started ends here: the drives stop when their orders are closed.
    for (index, path) in options.sockets.iter().enumerate() {
        let listener = sockets.listen(path)?;
        handles.push(start(
            options,
            &model,
            bytes,
            index,
            listener,
            notices_to.clone(),
        )?);
    }
    let mut control = Control::new(sockets.listen(&options.control)?, sectors);
    let goes_on = notify(&Notice::Ready {
        model: model.id.clone(),
        name: model.name.clone(),
        bytes,
        sockets: options.sockets.clone(),
        control: options.control.clone(),
    });
    if goes_on {
        look_after(&handles, &mut control, faults, &notices, &mut notify);
    }
    Ok(end(handles, &notices, &mut notify, &model, started))
}

/// Starts a drive in a thread of its own, which clients reach at `listener`.
fn start(
    options: &Options,
    model: &Model,
    bytes: u64,
    index: usize,
    listener: UnixListener,
    notices: Sender<Notice>,
) -> Result<Handle, String> {
    let failed = |error: std::io::Error| format!("drive {index} cannot be started: {error}");
    let backing = Backing::new(bytes).map_err(|error| failed(error.into()))?;
    let (orders, orders_from) = channel();
    let (wake, wake_from) = wake_up_sockets().map_err(failed)?;
    let engine = Engine::new(Setting {
        index,
        model: model.clone(),
        instance: (options.seed as u32).wrapping_add(index as u32),
        medium: Medium::new(
            backing,
            cache_bytes(model),
            options.seed ^ (index as u64) << 32,
        ),
        export: export(model, bytes),
        listener,
        orders: orders_from,
        wake: wake_from,
        notices,
        overrun_ns: (options.overrun_us * 1e3) as u64,
    })
    .map_err(|error| error.0)?;
    let thread = std::thread::Builder::new()
        .name(format!("drive{index}"))
        .spawn(move || engine.run())
        .map_err(failed)?;
    Ok(Handle {
        orders,
        wake,
        thread: Some(thread),
    })
}

/// The server's end, at which it says that there are orders, and the drive's; neither blocks.
fn wake_up_sockets() -> std::io::Result<(UnixStream, UnixStream)> {
    let (wake, wake_from) = UnixStream::pair()?;
    for side in [&wake, &wake_from] {
        side.set_nonblocking(true)?;
    }
    Ok((wake, wake_from))
}

/// Answers the control socket, lets faults happen at their times and passes notices on, until a client or `notify` ends it.
fn look_after(
    handles: &[Handle],
    control: &mut Control,
    faults: Vec<Fault>,
    notices: &Receiver<Notice>,
    notify: &mut impl FnMut(&Notice) -> bool,
) {
    let mut pending: Vec<(Instant, Fault)> = faults
        .into_iter()
        .map(|fault| (after(fault), fault))
        .collect();
    let mut on = true;
    while on {
        control.wait(TICK.min(next_in(&pending)));
        on = control.serve(handles, &mut pending);
        run_due(&mut pending, handles);
        while let Ok(notice) = notices.try_recv() {
            on &= notify(&notice);
        }
        on &= notify(&Notice::Tick);
    }
}

fn end(
    mut handles: Vec<Handle>,
    notices: &Receiver<Notice>,
    notify: &mut impl FnMut(&Notice) -> bool,
    model: &Model,
    started: Instant,
) -> Report {
    let drives: Vec<Summary> = handles
        .iter()
        .filter_map(|handle| handle.ask(ServerOrder::Stop))
        .collect();
    for (drive, handle) in handles.iter_mut().enumerate() {
        if handle
            .thread
            .take()
            .is_some_and(|thread| thread.join().is_err())
        {
            notify(&Notice::Event {
                drive,
                sentence: "the drive's thread ended by a fault of the program".into(),
            });
        }
    }
    while let Ok(notice) = notices.try_recv() {
        notify(&notice);
    }
    let overruns = drives.iter().map(|drive| drive.counts.overruns).sum();
    Report {
        schema: "seekwise.drive-report/1",
        model: model.id.clone(),
        seconds: started.elapsed().as_secs_f64(),
        valid: overruns == 0 && drives.len() == handles.len(),
        drives,
        overruns,
    }
}

fn next_in(pending: &[(Instant, Fault)]) -> Duration {
    let now = Instant::now();
    pending
        .iter()
        .map(|(time, _)| time.saturating_duration_since(now))
        .min()
        .unwrap_or(TICK)
}
