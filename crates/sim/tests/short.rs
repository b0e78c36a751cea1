//! Trials on files in a short form: one kind of job, the phases' differences.

use seekwise_sim::trial;
use serde_json::{json, Value};

/// The trial of a short form: `load` says what all phases share, `load.files` the file system, memory and phases.
pub fn spec(short: &Value) -> Value {
    let load = &short["load"];
    let files = &load["files"];
    let file_bytes = load["file_bytes"].as_u64().unwrap();
    let block = load["block_bytes"].as_u64().unwrap();
    let threads = load["threads"].as_u64().unwrap();
    let one = [load.clone()];
    let phases = files["phases"].as_array().map_or(&one[..], Vec::as_slice);
    let phase = |phase: &Value| {
        let has = |name: &str| phase[name].as_bool().unwrap_or(false);
        let timed = phase["runtime_ns"].as_u64().or(phase["span_ns"].as_u64());
        let steps = load["steps"].is_array();
        let ios = match (phase["calls"].as_u64(), phase["runtime_ns"].as_u64()) {
            (Some(calls), None) => Some(calls),
            (None, None) => Some((file_bytes / block).max(1)),
            (_, Some(_)) => None,
        };
        let region = (!steps).then_some(threads * (file_bytes / 4096 * 4096));
        json!({"operation": "any", "runtime_ns": timed, "idle": phase["idle"], "jobs": [{
            "threads": threads,
            "depth": phase["depth"].as_u64().unwrap_or(1),
            "pattern": if has("random") { "random" } else { "sequential" },
            "read_percent": if has("write") { 0.0 } else { 100.0 },
            "block_bytes": block,
            "direct": !load["buffered"].as_bool().unwrap(),
            "own_regions": true,
            "region_bytes": region,
            "ios": if steps { load["calls"].as_u64() } else { ios },
            "fsync": has("fsync"),
            "o_sync": has("o_sync"),
            "steps": if steps { load["steps"].clone() } else { json!([]) },
        }]})
    };
    let phases: Vec<Value> = phases.iter().map(phase).collect();
    json!({
        "seed": short["seed"],
        "device": short["device"],
        "queue": short["queue"],
        "host": if short["host"].is_object() { short["host"].clone() } else { json!({}) },
        "cache": files["memory_bytes"].as_u64().or(short["read_ahead_kib"].as_u64().map(|_| 128 << 20))
            .map(|limit| json!({"limit_bytes": limit, "read_ahead_kib": short["read_ahead_kib"]})),
        "files": {
            "filesystem": files["filesystem"].as_str().unwrap_or("raw"),
            "written": files["written"].as_bool().unwrap_or(files.is_null()),
        },
        "phases": phases,
    })
}

/// The figures of the phase that the short form asks for; the error is the trial's.
pub fn run(short: &Value) -> Result<Value, String> {
    whole(short).map(|mut result| result["phases"][phase_asked_for(short)].take())
}

pub fn whole(short: &Value) -> Result<Value, String> {
    let spec = serde_json::from_value(spec(short)).map_err(|error| error.to_string())?;
    trial::run(&spec)
}

fn phase_asked_for(short: &Value) -> usize {
    short["load"]["files"]["report"].as_u64().unwrap_or(0) as usize
}
