//! A request of md to a member, and who hears of its end.

use seekwise_host::block::Bio;
use seekwise_raid::md::volume::Piece;
use seekwise_sched::{Direction, Priority, ProcessId};
use seekwise_units::{Lba, Sectors};

/// Who hears of the end of a request to a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A bio of the volume that became this request and no other, by its token.
    Bio(u32),
    Call(u32),
    /// An operation with files, which is notified of each piece ([`super::Md::pieces_done`]).
    File(u32),
    /// The stripe cache, and the stripe head of the request's first row.
    Stripe(u32),
    /// A step of the resync.
    Resync(u32),
    /// A page of the bitmap that data wait for, or one that nothing waits for.
    Bitmap,
    BitmapLater,
}

/// A request of the volume to a member.
#[derive(Clone, Copy, Debug)]
pub struct MemberBio {
    pub owner: Owner,
    pub piece: Piece,
    pub write: bool,
    pub sync: bool,
    pub no_idle: bool,
    pub process: ProcessId,
    pub priority: Priority,
}

impl MemberBio {
    /// One of md's own, for sectors of a member.
    pub fn own(
        owner: Owner,
        process: ProcessId,
        (member, start, sectors): (u32, Lba, Sectors),
        write: bool,
        sync: bool,
    ) -> Self {
        Self {
            owner,
            piece: Piece {
                member,
                start,
                sectors,
                volume_end: Lba(0),
            },
            write,
            sync,
            no_idle: false,
            process,
            priority: Priority::default(),
        }
    }

    /// A piece of a bio.
    pub fn of_bio(bio: &Bio, owner: Owner, piece: Piece) -> Self {
        Self {
            owner,
            piece,
            write: bio.direction == Direction::Write,
            sync: bio.sync,
            no_idle: bio.no_idle,
            process: bio.process,
            priority: bio.priority,
        }
    }

    /// What its member is given, under a number of the sender's.
    pub fn bio(&self, token: u32) -> Bio {
        let Piece { start, sectors, .. } = self.piece;
        Bio {
            sync: self.sync,
            no_idle: self.no_idle,
            priority: self.priority,
            ..Bio::new(
                token,
                Direction::of(self.write),
                start,
                sectors,
                self.process,
            )
        }
    }
}
