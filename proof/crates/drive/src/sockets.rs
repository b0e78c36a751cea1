//! Sockets of the drives: made where asked, or in a folder of the run; what a killed server left behind is cleared away.

use crate::files::{self, said, FolderEntry};
use crate::lock::LockFile;
use crate::options::ServeError;
use rustix::fs::FileType;
use rustix::io::Errno;
use std::io::ErrorKind;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// What `connect` takes, without the final zero (unix(7)).
const NAME_BYTES_MAX: usize = 107;

/// Files to remove at the end, in reverse order.
#[derive(Default)]
pub struct Leftovers {
    files: Vec<FolderEntry>,
    folder: Option<FolderEntry>,
    /// Tells other servers that the folder is in use.
    _lock: Option<LockFile>,
}

impl Drop for Leftovers {
    fn drop(&mut self) {
        for file in self.files.drain(..).rev() {
            let _ = file.remove();
        }
        if let Some(folder) = self.folder.take() {
            let _ = folder.remove_folder();
        }
    }
}

impl Leftovers {
    /// Listens at `path`. A socket there that nobody answers on is a leftover and goes; anything else is refused.
    pub fn listen(&mut self, path: &Path) -> Result<UnixListener, ServeError> {
        let failed = |error: Errno| {
            ServeError::failed(format!(
                "the socket {} cannot be made: {}",
                path.display(),
                said(error)
            ))
        };
        if path.as_os_str().len() > NAME_BYTES_MAX {
            return Err(ServeError::usage(format!(
                "the socket {} has a name of more than {NAME_BYTES_MAX} bytes, which no client can give",
                path.display()
            )));
        }
        let place = FolderEntry::new(path).map_err(failed)?;
        match place.status() {
            Ok(found) if FileType::from_raw_mode(found.st_mode) != FileType::Socket => {
                return Err(ServeError::refused(format!(
                    "{} exists and is no socket",
                    path.display()
                )));
            }
            Ok(_) => match place.connect() {
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                    place.remove().map_err(failed)?;
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
        let listener = place.listen().map_err(failed)?;
        self.files.push(place);
        Ok(listener)
    }

    /// A folder of this run under the user's runtime folder, after removing those of runs that are no more.
    pub fn run_folder(&mut self) -> Result<PathBuf, ServeError> {
        let user = rustix::process::getuid().as_raw();
        // A folder that others can change would let them answer in our place.
        let base = std::env::var_os("XDG_RUNTIME_DIR")
            .map(|runtime| (PathBuf::from(runtime), "seekwise-drive".into()))
            .into_iter()
            .chain(
                [std::env::temp_dir(), "/tmp".into()]
                    .map(|folder| (folder, format!("seekwise-drive-{user}"))),
            )
            .find(|(folder, _)| files::is_safe(folder))
            .map(|(folder, name)| folder.join(name))
            .ok_or_else(|| {
                ServeError::refused(
                    "others can change every temporary folder (XDG_RUNTIME_DIR, TMPDIR, /tmp)"
                        .into(),
                )
            })?;
        let failed = |error: Errno| {
            ServeError::failed(format!(
                "{} cannot be made: {}",
                base.display(),
                said(error)
            ))
        };
        match FolderEntry::new(&base)
            .map_err(failed)?
            .make_private_folder()
        {
            Ok(_) | Err(Errno::EXIST) => {}
            Err(error) => return Err(failed(error)),
        }
        // The temporary folder is everybody's: another user's folder of that name is not ours to use.
        if !files::is_safe(&base) || !files::is_of(&base, user) {
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
            let place = FolderEntry::new(&folder).map_err(failed)?;
            match place.make_private_folder() {
                Ok(_) => {
                    self.folder = Some(place);
                    break folder;
                }
                Err(Errno::EXIST) => number += 1,
                Err(error) => return Err(failed(error)),
            }
        };
        let lock_place = FolderEntry::new(&folder.join("lock")).map_err(failed)?;
        self._lock = Some(LockFile::make(&lock_place).map_err(failed)?);
        self.files.push(lock_place);
        Ok(folder)
    }
}

/// Removes the folders of runs whose lock nobody holds.
fn sweep(base: &Path) {
    let Ok(entries) = std::fs::read_dir(base) else {
        return;
    };
    for folder in entries.flatten().map(|entry| entry.path()) {
        let lock =
            FolderEntry::new(&folder.join("lock")).and_then(|place| LockFile::of_existing(&place));
        if let Ok(_held) = lock {
            files::remove_tree(&folder);
        }
    }
}
