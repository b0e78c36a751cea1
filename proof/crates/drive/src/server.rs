//! Several drives of one model, from start to clean end.

use crate::awake::Awake;
use crate::control::Control;
use crate::engine::{Engine, Setting};
use crate::fault::Fault;
use crate::files;
use crate::handshake::Export;
use crate::medium::Medium;
use crate::options::{self, Options, ServeError};
use crate::orders::{after, run_due, Handle, Log, Notice, ServerOrder};
use crate::protocol::*;
use crate::sockets::Leftovers;
use crate::statistics::Summary;
use crate::store::{Backing, Store};
use crate::transport::Transport;
use rustix::io::Errno;
use seekwise_device::model::DriveKind;
use seekwise_device::Model;
use seekwise_units::SECTOR_BYTES;
use serde::Serialize;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
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

/// Serves until `notify` says no. It is called with everything that happens, and at least every 50 ms.
pub fn serve(
    options: &Options,
    mut notify: impl FnMut(&Notice) -> bool,
) -> Result<Report, ServeError> {
    let (model, faults) = options.check()?;
    let started = Instant::now();
    let sectors = options::sectors(&model)?;
    let bytes = sectors * SECTOR_BYTES;
    let store = match &options.store {
        Some(folder) => Some(Store::open(folder, &model.id, sectors)?),
        None => None,
    };
    let mut leftovers = Leftovers::default();
    let paths = socket_paths(options, &mut leftovers)?;
    let log = options.log.as_deref().map(open_log).transpose()?;
    let (notices_to, notices) = channel();
    // A guest's clock is exact, and its processor is the load's: nobody is kept awake there.
    let awake = (options.awake_us > 0.0).then(Awake::new);
    let transport = transport(options, &model, awake.as_ref());
    let common = Common {
        options,
        model: &model,
        bytes,
        store: store.as_ref(),
        notices: notices_to,
        log: log.clone(),
        awake: awake.as_ref(),
        transport,
    };
    let mut handles = vec![];
    // On an error, what has been started ends here: the drives stop when their orders are closed.
    for (index, path) in paths.iter().enumerate() {
        handles.push(common.start(index, path, &mut leftovers)?);
    }
    let control_path = control_path(options, &paths);
    let mut control = Control::new(leftovers.listen(&control_path)?, sectors);
    let goes_on = notify(&Notice::Ready {
        model: model.id.clone(),
        name: model.name.clone(),
        bytes,
        sockets: paths,
        control: Some(control_path),
        store: options.store.clone(),
        transport,
    });
    if goes_on {
        look_after(&handles, &mut control, faults, &notices, &mut notify);
    }
    Ok(end(handles, &notices, &mut notify, &model, started, log))
}

/// What the drives of one server have in common.
struct Common<'a> {
    options: &'a Options,
    model: &'a Model,
    /// Size of a drive.
    bytes: u64,
    store: Option<&'a Store>,
    notices: Sender<Notice>,
    log: Option<Log>,
    awake: Option<&'a Awake>,
    transport: Transport,
}

impl Common<'_> {
    /// Starts a drive in a thread of its own, which clients reach at `path`.
    fn start(
        &self,
        index: usize,
        path: &Path,
        leftovers: &mut Leftovers,
    ) -> Result<Handle, ServeError> {
        let backing = self.backing(index)?;
        let listener = leftovers.listen(path)?;
        let (orders, orders_from) = channel();
        let failed = |error: std::io::Error| {
            ServeError::failed(format!("drive {index} cannot be started: {error}"))
        };
        let (wake, wake_from) = wake_up_sockets().map_err(failed)?;
        let options = self.options;
        let engine = Engine::new(Setting {
            index,
            model: self.model.clone(),
            instance: (options.seed as u32).wrapping_add(index as u32),
            medium: Medium::new(
                backing,
                cache_bytes(self.model),
                options.seed ^ (index as u64) << 32,
            ),
            export: export(self.model, self.bytes),
            listener,
            orders: orders_from,
            wake: wake_from,
            notices: self.notices.clone(),
            log: self.log.clone(),
            overrun_ns: (options.overrun_us * 1e3) as u64,
            awake_ns: (options.awake_us * 1e3) as u64,
            transport: self.transport,
            watch: self.awake.map(Awake::watch),
            rotational: self.model.kind == DriveKind::Hdd,
        })
        .map_err(|error| ServeError::usage(error.0))?;
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

    /// Where a drive's content is kept: in the store, or in memory without one.
    fn backing(&self, index: usize) -> Result<Backing, ServeError> {
        match self.store {
            Some(store) => store.drive(index, self.bytes),
            None => Backing::memory(self.bytes).map_err(|error| {
                ServeError::failed(format!("there is no memory for a drive: {error}"))
            }),
        }
    }
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

/// Given, measured, or none where the clock counts instructions and nothing else takes time.
fn transport(options: &Options, model: &Model, awake: Option<&Awake>) -> Transport {
    match options.transport_us {
        Some(us) => Transport::halves((us * 1e3) as u64),
        None if options.awake_us > 0.0 => {
            Transport::measured(awake.map(Awake::watch), model.kind == DriveKind::Hdd)
        }
        None => Transport::default(),
    }
}

fn end(
    mut handles: Vec<Handle>,
    notices: &Receiver<Notice>,
    notify: &mut impl FnMut(&Notice) -> bool,
    model: &Model,
    started: Instant,
    log: Option<Log>,
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
    if let Some(log) = log {
        let flushed = log.lock().unwrap_or_else(PoisonError::into_inner).flush();
        if let Err(error) = flushed {
            notify(&Notice::Event {
                drive: 0,
                sentence: format!("the log is not complete: {error}"),
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

fn socket_paths(options: &Options, leftovers: &mut Leftovers) -> Result<Vec<PathBuf>, ServeError> {
    if !options.sockets.is_empty() {
        return Ok(options.sockets.clone());
    }
    let folder = match &options.store {
        Some(store) => store.clone(),
        None => leftovers.run_folder()?,
    };
    Ok((0..options.count)
        .map(|index| folder.join(format!("drive{index}.sock")))
        .collect())
}

fn control_path(options: &Options, sockets: &[PathBuf]) -> PathBuf {
    options.control.clone().unwrap_or_else(|| {
        let beside = sockets[0].parent().unwrap_or(std::path::Path::new("."));
        match options.sockets.first() {
            Some(first) => first.with_extension("control"),
            None => beside.join("control.sock"),
        }
    })
}

fn open_log(path: &std::path::Path) -> Result<Log, ServeError> {
    let failed = |error: Errno| {
        ServeError::failed(format!(
            "the log {} cannot be written: {}",
            path.display(),
            files::said(error)
        ))
    };
    let file = files::FolderEntry::new(path)
        .and_then(|place| place.fresh())
        .map_err(failed)?;
    let mut log = std::io::BufWriter::new(file);
    writeln!(
        log,
        "drive,cookie,command,flags,offset_bytes,length_bytes,arrived_ns,due_ns,answered_ns,error"
    )
    .map_err(|error| failed(files::errno(&error)))?;
    Ok(Arc::new(Mutex::new(log)))
}

fn next_in(pending: &[(Instant, Fault)]) -> Duration {
    let now = Instant::now();
    pending
        .iter()
        .map(|(time, _)| time.saturating_duration_since(now))
        .min()
        .unwrap_or(TICK)
}
