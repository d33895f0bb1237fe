//! The plan that `--apply` names.

use std::path::Path;

use anyhow::Result;

use crate::conclusion::usage;
use crate::files;
use crate::sweep::plan::Plan;

/// A subject takes about 400 bytes: room for 40,000 of them.
const PLAN_BYTES_MAX: u64 = 16 << 20;

/// The plan in a file; `-` is stdin.
pub fn read(path: &Path) -> Result<Plan> {
    let shown = path.display();
    let refuse = |why: String| usage(format!("--apply {shown}: {why}"));
    let bytes = if path == Path::new("-") {
        files::read_at_most(std::io::stdin(), PLAN_BYTES_MAX)
    } else {
        files::read(path, PLAN_BYTES_MAX).map(|found| found.bytes)
    };
    Ok(bytes.and_then(|bytes| Plan::read(&bytes[..])).map_err(refuse)?)
}
