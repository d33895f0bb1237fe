//! An image may be replaced under its name: images to build with and to run are named by their digests.

use std::fs::read_to_string;
use std::path::Path;
use std::process::Command;

/// The images named in a file of `deploy/`, except the empty one, the program's own, whose digest an operator writes,
/// and what a chart's template takes from its values.
fn images(text: &str) -> Vec<String> {
    let named = text.lines().map(str::trim).filter_map(|line| {
        let image = line
            .strip_prefix("image:")
            .or_else(|| line.strip_prefix("psql:"))
            .or_else(|| line.strip_prefix("FROM "))
            .or_else(|| line.strip_prefix("# syntax="))?;
        image.split_whitespace().next().map(str::to_owned)
    });
    named.filter(|image| !["sweep", "scratch", "{{"].contains(&image.as_str())).collect()
}

#[test]
fn every_image_in_deploy_is_named_by_its_digest() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let listed = Command::new("find").args(["deploy", "-type", "f"]).current_dir(root).output().expect("find");
    let files = String::from_utf8(listed.stdout).expect("paths");
    let found: Vec<String> =
        files.lines().flat_map(|file| images(&read_to_string(root.join(file)).expect("a file"))).collect();
    assert!(found.len() >= 2, "{found:?}");
    for image in found {
        let digest = image.split_once("@sha256:").map(|(_, digest)| digest);
        assert!(
            digest.is_some_and(|digest| digest.len() == 64 && digest.chars().all(|c| c.is_ascii_hexdigit())),
            "{image}"
        );
    }
}

/// The control: a tag is no digest.
#[test]
fn a_tag_is_no_digest() {
    assert_eq!(images("FROM debian:12 AS build\n  image: sweep\n  image: postgres:17"), ["debian:12", "postgres:17"]);
}
