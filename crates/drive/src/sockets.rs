//! Sockets of the drives: made where asked, or in a folder of the run; what a killed server left behind is cleared away.

use crate::lock::LockFile;
use crate::options::ServeError;
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Files to remove at the end, in reverse order.
#[derive(Default)]
pub struct Leftovers {
    files: Vec<PathBuf>,
    folder: Option<PathBuf>,
    /// Tells other servers that the folder is in use.
    _lock: Option<LockFile>,
}

impl Drop for Leftovers {
    fn drop(&mut self) {
        for file in self.files.drain(..).rev() {
            let _ = std::fs::remove_file(file);
        }
        if let Some(folder) = self.folder.take() {
            let _ = std::fs::remove_dir(folder);
        }
    }
}

impl Leftovers {
    /// Listens at `path`. A socket there that nobody answers on is a leftover and goes; anything else is refused.
    pub fn listen(&mut self, path: &Path) -> Result<UnixListener, ServeError> {
        let failed = |error: std::io::Error| {
            ServeError::failed(format!(
                "the socket {} cannot be made: {error}",
                path.display()
            ))
        };
        match std::fs::symlink_metadata(path) {
            Ok(found) if !found.file_type().is_socket() => {
                return Err(ServeError::refused(format!(
                    "{} exists and is no socket",
                    path.display()
                )));
            }
            Ok(_) => match UnixStream::connect(path) {
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                    std::fs::remove_file(path).map_err(failed)?;
                }
                _ => {
                    return Err(ServeError::refused(format!(
                        "another server answers on {}",
                        path.display()
                    )))
                }
            },
            Err(_) => {}
        }
        let listener = UnixListener::bind(path).map_err(failed)?;
        self.files.push(path.into());
        // Whatever the umask: a drive is its user's alone.
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(listener)
    }

    /// A folder of this run under the user's runtime folder, after removing those of runs that are no more.
    pub fn run_folder(&mut self) -> Result<PathBuf, ServeError> {
        let user = rustix::process::getuid().as_raw();
        let base = match std::env::var_os("XDG_RUNTIME_DIR") {
            Some(runtime) => PathBuf::from(runtime).join("seekwise-drive"),
            None => std::env::temp_dir().join(format!("seekwise-drive-{user}")),
        };
        let failed = |error: std::io::Error| {
            ServeError::failed(format!("{} cannot be made: {error}", base.display()))
        };
        let make = |folder: &Path| {
            std::fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder)
        };
        make(&base).map_err(failed)?;
        // The temporary folder is everybody's: another user's folder of that name is not ours to use.
        let owner = std::fs::symlink_metadata(&base).map_err(failed)?;
        if owner.uid() != user || !owner.is_dir() || owner.mode() & 0o022 != 0 {
            return Err(ServeError::refused(format!(
                "{} belongs to another user, or others can write to it",
                base.display()
            )));
        }
        sweep(&base);
        // Several servers of one process share its number.
        let mut number = 0;
        let folder = loop {
            let folder = base.join(format!("{}-{number}", std::process::id()));
            match std::fs::DirBuilder::new().mode(0o700).create(&folder) {
                Ok(()) => break folder,
                Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(failed(error)),
            }
        };
        let path = folder.join("lock");
        let lock = LockFile::make(&path).map_err(|error| failed(error.into()))?;
        self.files.push(path);
        self.folder = Some(folder.clone());
        self._lock = Some(lock);
        Ok(folder)
    }
}

/// Removes the folders of runs whose lock nobody holds.
fn sweep(base: &Path) {
    let Ok(entries) = std::fs::read_dir(base) else {
        return;
    };
    for folder in entries.flatten().map(|entry| entry.path()) {
        if let Ok(_held) = LockFile::of_existing(&folder.join("lock")) {
            let _ = std::fs::remove_dir_all(&folder);
        }
    }
}
