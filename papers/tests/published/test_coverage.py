"""Each row of the checklist of `tests/seeds/README.md` is shown by a test of `test_rows.py` that names it, or by evidence that exists; what is missing is told to readers."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from published import test_rows
from seekwise import _core
from seekwise.cli.main import cli
from seekwise.report import evidence
from seekwise.report.explain import explain
from seekwise.workload.study import starters

ROOT = Path(__file__).parents[3]
CLAIMS = {claim["id"] for claim in tomllib.loads((ROOT / "tests/seeds/claims.toml").read_text())["claim"]}
SHOWN: dict[int, list[str]] = {
    1: ["test:crates/sched/src/noop.rs::serves_in_order_of_arrival_whatever_the_sector", "explain:noop"],
    2: [
        "test:crates/sched/tests/deadline.rs::the_oldest_is_taken_when_it_has_expired_and_the_sweep_goes_on_from_there",
        "explain:deadline",
    ],
    3: [
        "test:crates/sched/tests/anticipatory.rs::the_device_is_left_idle_for_the_process_just_served",
        "explain:anticipatory",
    ],
    4: [
        "test:crates/sched/tests/cfq.rs::the_nearest_request_of_the_queue_is_next_and_an_expired_one_first_in_the_slice",
        "explain:cfq",
    ],
    5: [
        "test:crates/sched/tests/cfq.rs::slices_follow_the_priority",
        "test:crates/sched/tests/cfq.rs::real_time_is_served_before_best_effort_and_that_before_idle",
        "explain:ionice",
    ],
    6: ["test:crates/sched/tests/cfq.rs::idling_ends_after_slice_idle"],
    7: ["test:crates/sched/src/mq_deadline.rs::an_expired_read_is_taken_at_the_next_batch_only", "explain:mq-deadline"],
    8: ["test:crates/sched/tests/bfq.rs::sequential_readers_share_by_weight", "explain:bfq"],
    9: ["test:crates/sched/src/none.rs::one_software_queue_is_first_come_first_served", "explain:none"],
    10: ["test:crates/sched/src/none.rs::a_busy_device_takes_one_from_each_cpu_in_turn", "explain:blk-mq"],
    11: ["test:crates/sched/tests/properties.rs::no_request_waits_past_the_bound_of_deadline", "explain:starvation"],
    12: [
        "test:crates/sched/tests/cfq.rs::slices_follow_the_priority",
        "test:crates/sched/src/mq_deadline.rs::a_lower_class_waits_for_higher_ones_in_the_driver_too",
    ],
    13: ["explain:scheduler"],
    14: ["test:tests/judge/test_judge.py::test_three_settings_give_the_set_not_beaten_and_groups"],
    15: ["command:verify verdicts", "study:published/article-2008"],
    16: ["explain:cpu", "figure:article-2008/6", "command:verify claims"],
    17: [
        "test:crates/device/src/hdd/geometry.rs::zones_lose_sectors_inwards_and_every_address_has_its_own_place",
        "explain:serpentine",
    ],
    18: [
        "test:crates/device/src/hdd/geometry.rs::heads_take_bands_of_tracks_in_alternating_direction",
        "test:papers/tests/published/test_claims.py::test_properties_follow_from_drive_models_and_studies",
    ],
    19: [
        "test:crates/device/src/hdd/geometry.rs::zones_lose_sectors_inwards_and_every_address_has_its_own_place",
        "explain:zones",
    ],
    20: ["test:crates/device/src/hdd/geometry.rs::heads_take_bands_of_tracks_in_alternating_direction"],
    21: [
        "test:crates/device/tests/disk_by_hand.rs::one_seek",
        "test:crates/device/tests/disk_by_hand.rs::one_rotation",
        "explain:seek",
    ],
    22: [
        "test:papers/tests/published/test_claims.py::test_properties_follow_from_drive_models_and_studies",
        "explain:rotation",
    ],
    23: ["test:crates/device/tests/disk_by_hand.rs::one_track_switch", "explain:skew"],
    24: [
        "claim:hw1-rr-datasheet",
        "claim:hw1-rr-area",
        "test:papers/tests/published/test_claims.py::test_properties_follow_from_drive_models_and_studies",
    ],
    25: ["claim:hw1-rr-rate-rises", "figure:article-2008/9", "finding:groups"],
    26: [
        "test:crates/device/src/hdd/ncq.rs::the_nearest_is_the_minimum_of_all_costs",
        "test:papers/tests/published/test_claims.py::test_properties_follow_from_drive_models_and_studies",
        "explain:ncq",
    ],
    27: ["explain:tcq"],
    28: ["explain:drive-and-kernel"],
    29: ["explain:drive-and-kernel"],
    30: ["model:wd2500ys"],
    31: ["model:st3250620ns"],
    32: ["model:st31000340sv"],
    33: ["model:samsung_850_evo"],
    34: ["model:samsung_970_evo_plus"],
    35: ["model:generic_1tb_sata", "model:generic_sata_t430s"],
    36: ["model:st225"],
    37: [
        "explain:capacity-and-access",
        "test:tests/explain/test_explain.py::test_capacity_grew_by_a_factor_that_access_time_did_not",
    ],
    38: ["command:verify rates", "model:samsung_850_evo", "explain:ssd"],
    39: ["model:samsung_970_evo_plus", "study:published/nvme-page"],
    40: ["explain:ssd"],
    41: ["explain:memory-and-drives"],
    42: ["study:published/ssd-raid10-chunk", "study:published/tiobench-comparison", "study:published/nvme-page"],
    43: ["study:published/article-2008"],
    44: ["study:published/article-2008"],
    45: ["study:published/article-2008"],
    46: ["study:published/article-2008"],
    47: ["study:published/article-2008"],
    48: ["study:published/article-2008"],
    49: [
        "study:published/ssd-raid10-chunk",
        "test:crates/raid/src/layout/raid10.rs::near_copies_stand_beside_each_other",
    ],
    50: ["study:published/ssd-raid10-chunk", "explain:chunk"],
    51: ["test:tests/linux/test_machines.py::test_intel_imsm_is_called_firmware_raid", "explain:raid"],
    52: ["test:crates/raid/src/md/balance.rs::old_kernels_leave_the_last_used_member_for_an_idle_one"],
    53: ["test:crates/sim/tests/storages.rs::a_mirrored_write_goes_to_both_copies_and_ends_with_the_slower"],
    54: [
        "table:article-2008/5",
        "test:crates/controller/src/row.rs::a_small_write_reads_old_data_and_parity",
        "explain:hardware-raid",
    ],
    55: [
        "study:fake-raid",
        "explain:fake-raid",
        "test:tests/judge/test_raid_kind.py::test_cpu_efficiency_in_writing_decides_not_the_rate",
    ],
    56: ["test:tests/judge/test_condition_notes.py::test_a_system_that_shares_the_tested_drives_is_said_to_disturb"],
    57: ["study:published/article-2008"],
    58: [
        "study:published/ssd-raid10-chunk",
        "test:tests/linux/test_machines.py::test_logical_volumes_are_found_by_each_of_their_names",
    ],
    59: [
        "explain:storage-kinds",
        "test:tests/linux/test_storage_kind.py::test_a_device_is_local_a_unit_of_a_controller_or_a_volume_of_a_san",
    ],
    60: ["controller:9550SXU-8LP", "study:published/article-2008"],
    61: ["controller:9650-2LP", "study:published/article-2008"],
    62: ["controller:9650-4LP", "study:published/article-2008"],
    63: ["controller:9650-2LP", "test:tests/linux/test_storage_kind.py::test_a_card_tells_driver_firmware_and_bus"],
    64: [
        "controller:9650-4LP",
        "test:crates/controller/src/model.rs::every_shipped_model_is_whole_and_says_what_each_number_rests_on",
    ],
    65: ["test:tests/linux/test_machines.py::test_sata_disk_with_ncq"],
    66: ["explain:sata-links"],
    67: ["explain:sata-links", "controller:9650-2LP"],
    68: ["study:published/article-2008"],
    69: ["study:published/ssd-raid10-chunk", "study:published/nvme-page", "study:published/tiobench-comparison"],
    70: ["study:published/article-2008", "study:published/ssd-raid10-chunk", "study:published/tiobench-comparison"],
    71: ["grid:ssd-raid10-chunk/2", "finding:pair", "claim:ssd-kernel-44"],
    72: [
        "test:crates/host/src/file/ext3.rs::one_file_is_contiguous_but_for_its_blocks_of_addresses",
        "test:crates/host/src/file/ext4.rs::one_file_alone_is_contiguous",
    ],
    73: [
        "study:published/article-2008",
        "study:published/ssd-raid10-chunk",
        "study:published/tiobench-comparison",
        "study:published/nvme-page",
    ],
    74: ["study:published/article-2008", "study:published/ssd-raid10-chunk"],
    75: ["study:published/article-2008"],
    76: ["study:published/tiobench-comparison"],
    77: ["study:published/article-2008", "study:published/tiobench-comparison"],
    78: ["study:published/ssd-raid10-chunk"],
    79: ["grid:ssd-raid10-chunk/3", "grid:ssd-raid10-chunk/4", "finding:jobs"],
    80: ["test:tests/measure/kernel/test_fio_job.py::test_a_phase_has_its_own_seed_and_bypasses_the_cache"],
    81: [
        "command:advise",
        "test:tests/settings/test_workloads.py::test_the_same_run_advises_differently_for_different_work",
    ],
    82: [
        "test:tests/workload/study/test_parse.py::test_tiotest_has_the_articles_phases_in_its_order",
        "test:tests/measure/kernel/test_tiotest.py::test_a_study_is_carried_out_by_tiotest_and_fio_has_no_part_in_its_trials",
        "test:tests/importing/test_formats.py::test_tiobench_reads_the_layouts_of_03_and_04",
        "test:tests/importing/test_formats.py::test_tiotest_cpu_that_no_thread_can_use_is_divided_by_the_threads",
    ],
    83: [
        "command:import",
        "test:tests/importing/test_formats.py::test_phoronix_runs_are_repeats_and_its_units_are_one_record",
        "test:tests/importing/test_formats.py::test_random_rates_of_pts_tiobench_13_are_repaired",
    ],
    84: ["test:tests/measure/kernel/test_fio_job.py::test_fio_accepts_every_job_text_that_we_write"],
    85: [
        "test:crates/sim/tests/storages.rs::a_call_with_flushes_waits_for_the_drives_caches_and_one_of_reads_does_not",
        "command:verify rates",
        "study:published/ssd-raid10-gnome-disks",
        "test:tests/importing/test_formats.py::test_gnome_disks_samples_are_requests",
    ],
    86: ["test:tests/linux/test_machines.py::test_md_raid5_with_chunk_members_and_running_synchronisation"],
    87: ["explain:trim", "study:published/ssd-raid10-chunk"],
    88: [
        "explain:tw_cli",
        "test:tests/workload/study/test_setup_lines.py::test_the_controllers_of_the_article_switch_ncq_per_unit",
        "test:tests/settings/test_controllers.py::test_a_tool_is_asked_and_changes_only_when_it_is_run",
        "test:tests/cli/test_merged_runs.py::test_runs_of_single_systems_are_merged_into_one_study",
    ],
    89: ["explain:ncq-state"],
    90: [
        "explain:boot-line",
        "test:tests/workload/study/test_setup_lines.py::test_the_boot_line_of_the_article_limits_memory_and_names_a_scheduler",
        "test:tests/settings/test_forms.py::test_the_boot_line_of_an_old_kernel_is_a_file_beside_the_boot_loaders_own",
    ],
    91: ["test:tests/settings/test_apply.py::test_sysfs_conf_has_a_line_per_value"],
    92: ["test:tests/settings/test_apply.py::test_the_udev_rule_finds_the_drive_by_serial_and_sets_in_order"],
    93: ["explain:other-programs", "figure:article-2008/5"],
    94: ["chart:rate", "test:tests/report/test_page.py::test_each_chart_is_also_a_picture_file"],
    95: ["chart:access-time", "explain:latency"],
    96: [
        "figure:article-2008/5",
        "test:tests/report/test_printed.py::test_system_cpu_is_a_share_of_one_processor_unless_the_program_prints_its_own",
    ],
    97: [
        "chart:cpu-efficiency",
        "test:tests/judge/test_tables.py::test_cpu_efficiency_is_megabytes_per_system_cpu_second",
    ],
    98: [
        "test:tests/measure/kernel/test_cpu.py::test_the_kinds_add_up_to_the_processors_times_the_time",
        "explain:cpu",
    ],
    99: [
        "test:papers/tests/published/test_claims.py::test_properties_follow_from_drive_models_and_studies",
        "explain:cpu",
    ],
    100: ["command:results", "explain:verdict"],
    101: ["command:verify claims"],
    102: ["study:published/article-2008", "command:run"],
    103: ["test:tests/measure/kernel/test_target.py::test_each_setting_goes_where_it_acts"],
    104: ["study:published/article-2008"],
    105: ["study:published/tiobench-comparison"],
    106: ["claim:method-duration"],
    107: ["test:tests/measure/kernel/test_memory.py::test_what_a_limited_program_caches_stays_within_the_limit"],
    108: ["study:published/tiobench-comparison"],
    109: ["study:published/ssd-raid10-chunk", "explain:trim"],
    110: ["test:tests/measure/kernel/test_validity.py::test_each_cause_is_named"],
    111: ["command:report", "test:tests/report/test_page.py::test_answer_stands_before_table_and_charts"],
    112: ["study:published/ssd-raid10-chunk"],
    113: ["test:tests/workload/study/test_plan.py::test_factors_that_do_not_compete_are_part_of_the_combination"],
    114: [
        "explain:boot-line",
        "command:run",
        "test:tests/workload/study/test_setup_lines.py::test_the_boot_line_of_the_article_limits_memory_and_names_a_scheduler",
        "test:tests/settings/test_forms.py::test_the_boot_line_of_an_old_kernel_is_a_file_beside_the_boot_loaders_own",
    ],
    115: [
        "explain:boot-line",
        "test:tests/workload/study/test_setup_lines.py::test_the_boot_line_of_the_article_limits_memory_and_names_a_scheduler",
        "test:tests/measure/kernel/test_memory.py::test_what_a_limited_program_caches_stays_within_the_limit",
    ],
    116: [
        "command:apply",
        "test:tests/control/test_settings.py::test_seen_is_what_the_kernel_reports_and_everything_comes_back",
    ],
    117: [
        "command:devices",
        "test:tests/control/test_real_devices.py::test_every_offered_scheduler_can_be_set_and_everything_is_back",
    ],
    118: ["test:tests/settings/test_apply.py::test_sysfs_conf_has_a_line_per_value"],
    119: ["test:tests/settings/test_apply.py::test_the_module_of_the_scheduler_is_loaded_at_boot"],
    120: [
        "test:tests/linux/test_machines.py::test_sata_disk_with_ncq",
        "test:tests/linux/test_machines.py::test_queue_depth_one_means_that_ncq_is_off",
    ],
    121: [
        "test:tests/settings/test_lines.py::test_a_line_per_value_in_the_order_the_kernel_needs_with_sudo",
        "explain:queue_depth",
    ],
    122: [
        "test:tests/control/test_settings.py::test_a_refusal_names_device_attribute_asked_and_found_and_leaves_nothing"
    ],
    123: [
        "explain:tw_cli",
        "test:tests/workload/study/test_setup_lines.py::test_the_controllers_of_the_article_switch_ncq_per_unit",
        "test:tests/settings/test_controllers.py::test_a_tool_is_asked_and_changes_only_when_it_is_run",
        "test:tests/cli/test_merged_runs.py::test_runs_of_single_systems_are_merged_into_one_study",
    ],
    124: [
        "explain:mdadm-create",
        "test:tests/workload/study/test_setup_lines.py::test_the_array_of_the_chunk_study_is_made_as_its_author_made_it",
    ],
    125: [
        "test:tests/workload/study/test_setup_lines.py::test_a_job_file_has_a_global_and_a_job_section_as_stated",
        "test:tests/measure/kernel/test_fio_job.py::test_fio_accepts_every_job_text_that_we_write",
    ],
    126: [
        "command:results",
        "test:tests/report/test_printed.py::test_the_mean_that_prefers_high_values_lies_between_the_mean_and_the_greatest",
    ],
    127: [
        "grid:ssd-raid10-chunk/1",
        "test:tests/report/test_printed.py::test_acceptable_values_are_marked_and_scatter_stands_beside_the_stated_one",
    ],
    128: ["finding:slope", "test:tests/insights/test_insights.py::test_the_slope_of_latency_is_a_fit_per_thread"],
    129: ["finding:spread"],
    130: [
        "finding:pair",
        "test:tests/insights/test_insights.py::test_systems_that_differ_in_one_thing_are_compared_and_others_are_not",
    ],
    131: [
        "test:papers/tests/published/test_claims.py::test_values_within_three_percent_tie_and_otherwise_the_better_one_wins",
        "command:verify verdicts",
        "explain:verdict",
    ],
    132: [
        "command:results",
        "test:tests/report/test_printed.py::test_acceptable_values_are_marked_and_scatter_stands_beside_the_stated_one",
    ],
    133: [
        "figure:article-2008/1",
        "test:tests/report/test_diagrams.py::test_accesses_deviate_from_block_distance_in_both_directions",
    ],
    134: [
        "figure:article-2008/2",
        "test:tests/report/test_diagrams.py::test_zones_lose_sectors_inwards_and_cover_the_disk",
    ],
    135: ["figure:article-2008/3"],
    136: ["figure:article-2008/4"],
    137: ["figure:article-2008/5"],
    138: ["figure:article-2008/6"],
    139: ["figure:article-2008/7"],
    140: ["figure:article-2008/8"],
    141: ["figure:article-2008/9"],
    142: ["figure:article-2008/10"],
    143: ["figure:article-2008/11"],
    144: ["figure:article-2008/12"],
    145: ["figure:article-2008/13"],
    146: ["figure:article-2008/14"],
    147: ["figure:article-2008/15"],
    148: ["figure:article-2008/16"],
    149: ["figure:article-2008/17"],
    150: ["figure:article-2008/18"],
    151: ["figure:article-2008/19", "test:tests/report/test_diagrams.py::test_every_diagram_is_a_picture"],
    152: [
        "figure:article-2008/20",
        "test:tests/report/test_diagrams.py::test_the_drive_serves_the_same_reads_in_another_order_and_sooner",
    ],
    153: ["figure:article-2008/21"],
    154: ["figure:article-2008/22"],
    155: ["figure:tiobench-comparison/1"],
    156: ["figure:tiobench-comparison/2"],
    157: ["table:article-2008/1"],
    158: ["table:article-2008/2"],
    159: ["table:article-2008/3"],
    160: ["table:article-2008/4"],
    161: ["table:article-2008/5"],
    162: ["table:article-2008/6", "command:verify verdicts"],
    163: ["table:article-2008/7"],
    164: ["table:article-2008/8", "command:verify verdicts"],
    165: ["grid:ssd-raid10-chunk/1", "grid:ssd-raid10-gnome-disks/1", "command:verify rates"],
    166: ["test:papers/tests/published/test_claims.py::test_facts_count_once_and_anything_odd_is_missed"],
    167: ["finding:groups", "figure:article-2008/3", "claim:hw1-sr-branches"],
    168: ["finding:groups", "claim:hw1-sr-upper-rises", "claim:hw1-sr-max-95", "claim:hw1-sr-ideal-110"],
    169: ["claim:model-ideal-real", "claim:model-raid1-ideal"],
    170: ["finding:pair", "claim:hw1-scheduler-dominates", "claim:drives-read", "claim:drives-write"],
    171: ["finding:slope", "figure:article-2008/4", "claim:hw1-sr-at-slope-upper", "claim:hw1-sr-at-slope-lower"],
    172: ["figure:article-2008/5", "figure:article-2008/6", "claim:hw1-sr-syscpu-order", "claim:hw1-sr-cpueff-const"],
    173: ["figure:article-2008/5", "finding:groups"],
    174: ["finding:groups", "figure:article-2008/7", "claim:hw1-sw-no-scheduler-effect", "claim:hw1-sw-at-slope"],
    175: ["finding:spread", "claim:hw1-scheduler-read-mainly"],
    176: ["figure:article-2008/9", "claim:hw1-rr-factor-100", "claim:hw1-rr-as-worst"],
    177: ["finding:slope", "figure:article-2008/10", "claim:hw1-rr-at-1thread", "claim:hw1-rr-at-slope"],
    178: ["figure:article-2008/11", "claim:hw1-rr-cpueff-low"],
    179: ["figure:article-2008/11", "finding:cpu_efficiency"],
    180: ["finding:slope", "figure:article-2008/10"],
    181: ["finding:groups", "finding:spread", "figure:article-2008/12"],
    182: ["command:advise", "explain:uses", "table:article-2008/1"],
    183: ["figure:article-2008/13", "finding:groups", "claim:sw1-sr-120", "claim:sw1-sr-doubles"],
    184: ["table:article-2008/2", "claim:sw1-sr-cfq-over-deadline", "claim:sw1-cfq-always"],
    185: ["figure:article-2008/14", "table:article-2008/3", "claim:sw1-hw1-cpueff-40"],
    186: ["table:article-2008/3"],
    187: ["figure:article-2008/15", "finding:groups", "claim:hw5-d-branches", "claim:hw5-d-drop-80"],
    188: ["figure:article-2008/15", "table:article-2008/4", "finding:groups"],
    189: ["figure:article-2008/16", "finding:pair"],
    190: ["table:article-2008/1", "table:article-2008/4", "claim:same-hw-other-scheduler"],
    191: ["figure:article-2008/17", "figure:article-2008/18", "table:article-2008/5", "claim:sw5-hw5-sr-equal"],
    192: ["table:article-2008/5", "finding:pair"],
    193: ["table:article-2008/6"],
    194: ["figure:article-2008/21", "finding:pair", "claim:ncq-off-simple-drop", "claim:ncq-cfq-65"],
    195: ["table:article-2008/7", "finding:pair", "claim:ncq-hw1-gain"],
    196: ["table:article-2008/8", "figure:article-2008/22", "finding:pair"],
    197: ["finding:threshold", "finding:doubling", "grid:ssd-raid10-chunk/1", "claim:ssd-f2-chunk-threshold"],
    198: ["finding:chunk", "claim:ssd-large-chunk-not-best"],
    199: ["claim:ssd-f5-gdisk-low", "grid:ssd-raid10-gnome-disks/3", "finding:loads"],
    200: ["finding:meeting"],
    201: ["explain:anticipation", "explain:anticipatory"],
    202: ["claim:hu-ncq-noise"],
    203: ["claim:hu-1thread-disk-bound", "figure:tiobench-comparison/1"],
    204: ["figure:tiobench-comparison/1", "figure:tiobench-comparison/2", "finding:groups"],
    205: ["figure:nvme-page/1", "claim:lw-mqdeadline-10", "claim:lw-bfq-no-gain"],
}
"""Evidence besides the row tests. Kinds: `command:` of the program, `study:` below `studies/`, `model:` of a drive, `controller:` model, `explain:`
word, `chart:` of the report, `figure:`, `table:` and `grid:` STUDY/NUMBER of a published study, `finding:` an insight by its kind, `claim:` of
`tests/seeds/claims.toml` that `verify claims` decides, `test:` file and name."""
MISSING = {
    24: "eight files of 1.2 GB cover 4 % of the disk; the article says 10 %, and does not say how",
    25: "the rate rises from one to eight threads, but the simulated one dips at four",
    71: "Linux 4.4 comes out level with 4.1; the publication has it 25 to 30 % slower below 1 MB",
    93: "the simulated fault reaches 225 %, the article saw more than 300 %",
    106: "A, B, S1 and S5 take 44 to 57 minutes; D takes 39",
    107: "64 to 512 MB make a difference of more than 5 %, since with 512 MB a third of a file is in memory",
    127: "simulated repeats scatter by about 1 MB/s, the publication's by 8 to 25",
    202: "the simulator finds an effect of NCQ in random reading; the publication finds none",
    205: "mq-deadline is level with none in writing, the publication has it 10 % ahead; the report says so",
}
"""What a row says and the program does not do."""


def checklist() -> list[int]:
    text = (ROOT / "tests/seeds/README.md").read_text()
    return [int(number) for number in re.findall(r"^\| (\d+) \| .*? \| [0-9, to]+ \|", text, re.MULTILINE)]


def row_tests() -> dict[str, Callable[[], None]]:
    """`test_rows_003_201_…` tests rows 3 and 201."""
    return {name: value for name, value in vars(test_rows).items() if name.startswith("test_rows_")}


def numbers_of(name: str) -> set[int]:
    return {int(number) for number in re.findall(r"_(\d{3})(?=_)", name)}


def test_every_row_of_the_checklist_is_there():
    assert checklist() == list(range(1, 206))


def test_every_row_is_shown_by_a_test_or_by_evidence():
    tested = {number for name in row_tests() for number in numbers_of(name)}
    assert set(checklist()) - set(SHOWN) - tested == set()


def test_what_works_in_part_is_told_where_the_published_studies_are():
    page = (ROOT / "docs/published/README.md").read_text()
    assert [number for number, text in MISSING.items() if f"- {text}" not in page] == []


def test_every_row_test_names_rows_of_the_checklist():
    for name in row_tests():
        assert numbers_of(name) and numbers_of(name) <= set(checklist()), name


@pytest.mark.parametrize("token", sorted({token for tokens in SHOWN.values() for token in tokens}))
def test_what_is_named_exists(token):
    kind, _, name = token.partition(":")
    match kind:
        case "command":
            group: click.Command | None = cli
            for word in name.split():
                assert isinstance(group, click.Group)
                group = group.get_command(click.Context(group), word)
                assert group is not None, f"there is no command {name}"
        case "study":
            assert (ROOT / "studies" / f"{name}.toml").is_file()
        case "model":
            assert name in _core.drive_models()
        case "explain":
            assert explain(name).text
        case "chart":
            assert name in {view.name for view in evidence.VIEWS.values()}
        case "controller":
            assert json.loads(_core.controller_model(name))["parameters"]
        case "figure" | "table" | "grid":
            study, _, number = name.partition("/")
            shown = getattr(starters.open_study(study)[0], kind)
            assert int(number) in {each.number for each in shown}
        case "finding":
            text = "".join(path.read_text() for path in (ROOT / "python/seekwise/report/insights").glob("*.py"))
            assert f'"{name}"' in text
        case "claim":
            assert name in CLAIMS
        case "test":
            file, _, function = name.partition("::")
            assert re.search(rf"\b(def|fn) {function}\(", (ROOT / file).read_text()), f"{file} has no {function}"
        case _:
            pytest.fail(f"unknown kind {kind}")
