//! The only place that creates, replaces or removes files: by descriptor of their folder, never through a link that somebody else planted.
//!
//! A server that root starts may be told to put its files where another user can write. A link that root or the user who called `sudo`
//! made is followed, as is every link for a server of an ordinary user.

use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{
    fchmod, fstat, mkdirat, openat, readlinkat, renameat, statat, unlinkat, AtFlags, FileType,
    Mode, OFlags, Stat, CWD,
};
use rustix::io::Errno;
use rustix::net::{
    bind, listen, socket_with, AddressFamily, SocketAddrUnix, SocketFlags, SocketType,
};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Component, Path, PathBuf};

/// Links that a path may lead through; the kernel follows as many (path_resolution(7)).
const LINKS_MAX: usize = 40;
/// Clients that wait to be accepted, as the standard library has it.
const BACKLOG: i32 = 128;

/// A name in an open folder.
#[derive(Debug)]
pub struct FolderEntry {
    folder: OwnedFd,
    name: OsString,
}

impl FolderEntry {
    /// Opens the folder of `path`, following only trusted links; the file itself need not exist.
    pub fn new(path: &Path) -> Result<Self, Errno> {
        let name = path.file_name().ok_or(Errno::ISDIR)?.to_owned();
        let folder = folder(path.parent().unwrap_or(Path::new("")))?;
        Ok(Self { folder, name })
    }

    /// Another name in the same folder.
    pub fn beside(folder: &OwnedFd, name: &str) -> Result<Self, Errno> {
        Ok(Self {
            folder: folder.try_clone().map_err(|error| errno(&error))?,
            name: name.into(),
        })
    }

    /// What stands there; a link counts as itself.
    pub fn status(&self) -> Result<Stat, Errno> {
        statat(&self.folder, &*self.name, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// A new file, to be written bit by bit: what was there goes. A device or a pipe is written to as it is.
    pub fn fresh(&self) -> Result<File, Errno> {
        if let Ok(found) = self.status() {
            match FileType::from_raw_mode(found.st_mode) {
                FileType::RegularFile | FileType::Symlink if !self.is_in_dev() => {
                    unlinkat(&self.folder, &*self.name, AtFlags::empty())?;
                }
                FileType::Directory => return Err(Errno::ISDIR),
                // `/dev/stdout` is a link of the system's own.
                _ if self.is_in_dev() => return self.open(OFlags::WRONLY | OFlags::NOCTTY),
                _ => return self.open(OFlags::WRONLY | OFlags::NOCTTY | OFlags::NOFOLLOW),
            }
        }
        self.open(OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW)
    }

    /// The file of that name, made if it is not there. A link, a device, and a file that has a second name are refused.
    pub fn kept(&self) -> Result<File, Errno> {
        let file =
            self.open(OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK)?;
        regular(file)
    }

    /// The file of that name if it is there, refused as by `kept`.
    pub fn existing(&self) -> Result<File, Errno> {
        regular(self.open(OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK)?)
    }

    fn open(&self, flags: OFlags) -> Result<File, Errno> {
        openat(
            &self.folder,
            &*self.name,
            flags | OFlags::CLOEXEC,
            Mode::from_raw_mode(0o666),
        )
        .map(File::from)
    }

    fn is_in_dev(&self) -> bool {
        match (fstat(&self.folder), rustix::fs::stat("/dev")) {
            (Ok(here), Ok(dev)) => (here.st_dev, here.st_ino) == (dev.st_dev, dev.st_ino),
            _ => false,
        }
    }

    /// The file has all of `text`, or is as before.
    pub fn write_whole(&self, text: &str) -> Result<(), Errno> {
        use std::io::Write;
        let mut name = OsString::from(".");
        name.push(&self.name);
        name.push(".new");
        let draft = Self {
            folder: self.folder.try_clone().map_err(|error| errno(&error))?,
            name,
        };
        draft
            .fresh()?
            .write_all(text.as_bytes())
            .map_err(|error| errno(&error))?;
        renameat(&self.folder, &*draft.name, &self.folder, &*self.name)
    }

    /// Listens on a socket that nobody but this user may open, from its first moment.
    pub fn listen(&self) -> Result<UnixListener, Errno> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        // The kernel gives the name the mode of the socket (Linux 6.1 net/unix/af_unix.c, `unix_bind_bsd`).
        fchmod(&socket, Mode::from_raw_mode(0o600))?;
        bind(&socket, &SocketAddrUnix::new(self.by_descriptor())?)?;
        listen(&socket, BACKLOG)?;
        Ok(socket.into())
    }

    /// A connection to the socket that stands there.
    pub fn connect(&self) -> std::io::Result<UnixStream> {
        UnixStream::connect(self.by_descriptor())
    }

    /// The name for calls that take no descriptor, however long the folder's own name is (proc(5)).
    fn by_descriptor(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.folder.as_raw_fd())).join(&self.name)
    }

    /// Removes the file or link itself; an error if there is none.
    pub fn remove(&self) -> Result<(), Errno> {
        unlinkat(&self.folder, &*self.name, AtFlags::empty())
    }

    /// A new folder of that name that nobody else may enter.
    pub fn make_private_folder(&self) -> Result<OwnedFd, Errno> {
        mkdirat(&self.folder, &*self.name, Mode::from_raw_mode(0o700))?;
        open_folder(&self.folder, &self.name)
    }

    /// Removes the folder of that name, which must be empty.
    pub fn remove_folder(&self) -> Result<(), Errno> {
        unlinkat(&self.folder, &*self.name, AtFlags::REMOVEDIR)
    }
}

fn regular(file: File) -> Result<File, Errno> {
    let found = fstat(&file)?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile || found.st_nlink > 1 {
        return Err(Errno::MLINK);
    }
    Ok(file)
}

fn open_folder(parent: impl AsFd, name: impl rustix::path::Arg) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(parent, name, flags, Mode::empty())
}

/// Opens a folder part by part, so that no part is a link of somebody who may not lead us elsewhere.
pub fn folder(path: &Path) -> Result<OwnedFd, Errno> {
    let mut at = openat(
        CWD,
        ".",
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    let mut left = parts(path);
    let mut links = 0;
    while let Some(part) = left.pop() {
        if part == "/" {
            at = open_folder(CWD, "/")?;
            continue;
        }
        at = match open_folder(&at, &*part) {
            Err(Errno::LOOP | Errno::NOTDIR) => {
                links += 1;
                if links > LINKS_MAX {
                    return Err(Errno::LOOP);
                }
                left.extend(parts(&leads_to(&at, &part)?));
                continue;
            }
            found => found?,
        };
    }
    Ok(at)
}

/// Parts of a path, the last one first.
fn parts(path: &Path) -> Vec<OsString> {
    path.components()
        .rev()
        .filter(|part| *part != Component::CurDir)
        .map(|part| part.as_os_str().to_owned())
        .collect()
}

fn leads_to(folder: &OwnedFd, name: &OsStr) -> Result<PathBuf, Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let link = openat(folder, name, flags, Mode::empty())?;
    let found = fstat(&link)?;
    if FileType::from_raw_mode(found.st_mode) != FileType::Symlink {
        return Err(Errno::NOTDIR);
    }
    if !is_trusted(found.st_uid) {
        return Err(Errno::LOOP);
    }
    let target = readlinkat(&link, "", Vec::new())?;
    Ok(Path::new(OsStr::from_bytes(target.as_bytes())).to_owned())
}

/// Whether links of this user are followed: for root those of its own and of the user who called `sudo`.
fn is_trusted(owner: u32) -> bool {
    let user = rustix::process::geteuid().as_raw();
    let caller = std::env::var("SUDO_UID")
        .ok()
        .and_then(|text| text.parse().ok());
    user != 0 || owner == 0 || Some(owner) == caller
}

/// Makes a folder and those above it, where they are not there, and opens it.
pub fn make_folder(path: &Path) -> Result<OwnedFd, Errno> {
    match folder(path) {
        Err(Errno::NOENT) => {}
        found => return found,
    }
    if let Some(above) = path.parent().filter(|above| !above.as_os_str().is_empty()) {
        make_folder(above)?;
    }
    let place = FolderEntry::new(path)?;
    match mkdirat(&place.folder, &*place.name, Mode::from_raw_mode(0o777)) {
        Ok(()) | Err(Errno::EXIST) => folder(path),
        Err(error) => Err(error),
    }
}

/// Whether no other user can put something else in the place of what we make in this folder: every folder on the way to it belongs to
/// root or to us, and only they can write to it, or its sticky bit keeps others from renaming.
pub fn is_safe(folder: &Path) -> bool {
    let user = rustix::process::geteuid().as_raw();
    let Ok(real) = folder.canonicalize() else {
        return false;
    };
    real.ancestors().all(|each| {
        rustix::fs::lstat(each).is_ok_and(|found| {
            let closed = found.st_mode & 0o022 == 0 || found.st_mode & 0o1000 != 0;
            FileType::from_raw_mode(found.st_mode) == FileType::Directory
                && (found.st_uid == 0 || found.st_uid == user)
                && closed
        })
    })
}

/// Whether the folder itself belongs to this user.
pub fn is_of(folder: &Path, user: u32) -> bool {
    rustix::fs::lstat(folder).is_ok_and(|found| found.st_uid == user)
}

/// Removes a folder of ours with its content; links in it are removed, not followed.
pub fn remove_tree(folder: &Path) {
    let _ = std::fs::remove_dir_all(folder);
}

pub(crate) fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

/// What went wrong with a file, for people.
pub(crate) fn said(error: Errno) -> String {
    match error {
        Errno::LOOP => "a link of another user, or too many links, stand in the way".into(),
        Errno::MLINK => "it is no ordinary file, or has another name, too".into(),
        other => std::io::Error::from(other).to_string(),
    }
}
