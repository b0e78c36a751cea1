//! This test will write random data through every level, layout and chunk, lose every tolerated set of members, and find every
//! byte and every parity right.

use crate::memory::MemoryArray;
use proptest::prelude::*;
use seekwise_raid::{Geometry, Level, ParityLayout, Raid10Layout};
use seekwise_units::{Lba, Sectors, SECTOR_BYTES};

fn level() -> impl Strategy<Value = (Level, u32)> {
    let parity = prop::sample::select(ParityLayout::ALL.to_vec());
    prop_oneof![
        (1u32..6).prop_map(|members| (Level::Raid0, members)),
        (2u32..5).prop_map(|members| (Level::Raid1, members)),
        (parity.clone(), 3u32..8).prop_map(|(layout, members)| (Level::Raid5(layout), members)),
        (parity, 4u32..8).prop_map(|(layout, members)| (Level::Raid6(layout), members)),
        (1u32..4, 1u32..3, any::<bool>(), 2u32..7)
            .prop_filter("copies fit the members", |(near, far, _, members)| near
                * far
                <= *members
                && near * far >= 2)
            .prop_map(|(near, far, offset, members)| (
                Level::Raid10(Raid10Layout { near, far, offset }),
                members
            )),
    ]
}

fn sets(members: u32, count: u32) -> Vec<Vec<u32>> {
    (0u32..1 << members)
        .filter(|mask| mask.count_ones() == count)
        .map(|mask| {
            (0..members)
                .filter(|member| mask >> member & 1 == 1)
                .collect()
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn data_survives_every_tolerated_loss((level, members) in level(), chunk_log in 0u32..3, chunks in 2u64..5,
                                          writes in prop::collection::vec((any::<u64>(), 1u64..20, any::<u8>()), 1..20)) {
        let chunk = Sectors::from_kib(4 << chunk_log);
        let geometry = Geometry::new(level, members, chunk, Sectors(chunk.0 * chunks)).unwrap();
        prop_assume!(geometry.capacity().0 > 0);
        let mut array = MemoryArray::new(geometry);
        let mut truth = vec![[0u8; SECTOR_BYTES as usize]; array.capacity().0 as usize];
        for (place, sectors, value) in writes {
            let start = place % array.capacity().0;
            for sector in start..(start + sectors).min(array.capacity().0) {
                let mut bytes = [value; SECTOR_BYTES as usize];
                bytes[..8].copy_from_slice(&sector.to_le_bytes());
                array.write(Lba(sector), &bytes).unwrap();
                truth[sector as usize] = bytes;
            }
            prop_assert!(array.consistent());
        }
        for set in sets(members, geometry.losses_survived()) {
            let mut broken = array.clone();
            set.iter().for_each(|&member| broken.lose(member));
            for (sector, bytes) in truth.iter().enumerate() {
                prop_assert_eq!(broken.read(Lba(sector as u64)).unwrap(), *bytes);
            }
            // A write while degraded, then a rebuild, leaves everything right again.
            let changed = [0xa5; SECTOR_BYTES as usize];
            broken.write(Lba(0), &changed).unwrap();
            for &member in &set {
                broken.rebuild(member).unwrap();
            }
            prop_assert!(broken.consistent());
            prop_assert_eq!(broken.read(Lba(0)).unwrap(), changed);
            for (sector, bytes) in truth.iter().enumerate().skip(1) {
                prop_assert_eq!(broken.read(Lba(sector as u64)).unwrap(), *bytes);
            }
        }
    }
}

#[test]
fn one_loss_more_than_tolerated_loses_data() {
    let geometry = Geometry::new(
        Level::Raid5(ParityLayout::LeftSymmetric),
        4,
        Sectors(8),
        Sectors(64),
    )
    .unwrap();
    let mut array = MemoryArray::new(geometry);
    array.lose(0);
    array.lose(1);
    assert!((0..array.capacity().0).any(|sector| array.read(Lba(sector)).is_err()));
}
