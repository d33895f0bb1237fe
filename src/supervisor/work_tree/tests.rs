use std::os::unix::net::UnixListener;
use std::process::Command;

use proptest::prelude::*;
use rstest::rstest;
use tempfile::TempDir;

use super::*;

/// A repository with one commit, and what a watcher has seen of it.
struct Story {
    home: TempDir,
    tree: WorkTree,
}

impl Story {
    fn of(settings: &[&str]) -> Story {
        let home = tempfile::tempdir().expect("a directory");
        let root = home.path().join("shop");
        std::fs::create_dir_all(root.join("src")).expect("a directory");
        let mut story = Story { home, tree: WorkTree::new(root.clone()) };
        story.git(&[&["init", "--quiet"], settings].concat());
        story.writes("src/a.rs", "one");
        story.writes("src/b.rs", "two");
        story.commits();
        story.has_nothing_new();
        story
    }

    /// Watches from another directory.
    fn from(mut self, directory: &str) -> Story {
        self.tree = WorkTree::new(self.home.path().join(directory));
        self.has_nothing_new();
        self
    }

    fn path(&self, name: &str) -> PathBuf {
        self.tree.directory.join(name)
    }

    fn git(&self, arguments: &[&str]) {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=Ada", "-c", "user.email=ada@localhost", "-c", "protocol.file.allow=always"]);
        let settings = [("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_SYSTEM", "/dev/null")];
        let done = git.args(arguments).envs(settings).current_dir(&self.tree.directory).output().expect("git");
        assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    }

    fn writes(&self, name: &str, content: &str) {
        std::fs::write(self.path(name), content).expect("a file");
    }

    fn commits(&self) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", "work"]);
    }

    #[track_caller]
    fn has_nothing_new(&mut self) {
        self.tree.has_new_work();
        assert!(!self.tree.has_new_work());
    }

    /// There is new work, once.
    #[track_caller]
    fn has_new_work(&mut self) {
        assert!(self.tree.has_new_work());
        assert!(!self.tree.has_new_work());
    }
}

#[test]
fn a_commit_a_staged_file_and_a_written_one_are_new_once() {
    let mut story = Story::of(&[]);
    story.git(&["commit", "--quiet", "--allow-empty", "--message", "empty"]);
    story.has_new_work();
    story.writes("src/a.rs", "three");
    story.has_new_work();
    story.writes("new.rs", "four");
    assert!(!story.tree.has_new_work(), "the index does not have it");
    story.git(&["add", "new.rs"]);
    story.has_new_work();
    std::fs::remove_file(story.path("src/b.rs")).expect("a file");
    story.has_new_work();
    story.git(&["rm", "--quiet", "src/b.rs"]);
    story.has_new_work();
}

#[test]
fn what_writes_nothing_new_is_no_work() {
    let mut story = Story::of(&[]);
    story.writes("src/a.rs", "one");
    story.tree.has_new_work();
    for _ in 0..3 {
        story.writes("src/a.rs", "one");
        story.git(&["status"]);
        story.git(&["update-index", "--really-refresh"]);
        story.git(&["gc", "--quiet"]);
        assert!(!story.tree.has_new_work());
    }
}

#[test]
fn to_and_fro_is_no_work_when_it_was_seen_once() {
    let mut story = Story::of(&[]);
    story.git(&["branch", "other"]);
    let to_and_fro = |story: &mut Story| {
        let mut seen = Vec::new();
        for (content, branch) in [("three", "other"), ("one", "-")] {
            story.writes("src/a.rs", content);
            seen.push(story.tree.has_new_work());
            story.git(&["add", "src/a.rs"]);
            seen.push(story.tree.has_new_work());
            story.git(&["checkout", "--quiet", branch]);
            seen.push(story.tree.has_new_work());
        }
        seen
    };
    assert!(to_and_fro(&mut story)[..2] == [true, true]);
    assert_eq!(to_and_fro(&mut story), [false; 6]);
}

#[rstest]
#[case::of_version_4(&[], &["update-index", "--index-version", "4"])]
#[case::with_long_hashes(&["--object-format=sha256"], &["status"])]
#[case::with_extensions(&[], &["update-index", "--untracked-cache"])]
#[case::with_further_flags(&[], &["add", "--intent-to-add", "."])]
fn an_index_is_read(#[case] settings: &[&str], #[case] command: &[&str]) {
    let mut story = Story::of(settings);
    story.writes(&"long/".replace('/', &"-name".repeat(1000 / 5))[..200], "new");
    story.git(command);
    story.tree.has_new_work();
    let tracked: Vec<&[u8]> = story.tree.files.keys().map(|path| &path[..]).collect();
    assert!([&b"src/a.rs"[..], b"src/b.rs"].iter().all(|path| tracked.contains(path)), "{tracked:?}");
    story.has_nothing_new();
    story.writes("src/b.rs", "three");
    story.has_new_work();
    story.git(&["add", "src/b.rs"]);
    story.has_new_work();
}

#[test]
fn in_a_linked_work_tree_and_a_submodule_its_own_work_is_seen() {
    let story = Story::of(&[]);
    story.git(&["worktree", "add", "--quiet", "../linked"]);
    story.git(&["clone", "--quiet", ".", "../outer"]);
    let mut linked = story.from("linked/src");
    linked.writes("a.rs", "three");
    linked.has_new_work();
    linked.commits();
    linked.has_new_work();

    let outer = linked.from("outer");
    let shop = outer.home.path().join("shop");
    outer.git(&["submodule", "--quiet", "add", &shop.to_string_lossy(), "inner"]);
    outer.commits();
    let mut inner = outer.from("outer/inner");
    inner.writes("src/a.rs", "four");
    inner.has_new_work();
    inner.commits();
    inner.has_new_work();
}

#[test]
fn nothing_that_a_configuration_names_is_run_and_the_index_is_left_alone() {
    let mut story = Story::of(&[]);
    let (run, index) = (story.path(".git/run"), story.path(".git/index"));
    std::fs::write(&run, "#!/bin/sh\ntouch ../ran\n").expect("a file");
    std::fs::set_permissions(&run, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a file");
    for name in ["core.fsmonitor", "core.editor", "core.pager", "filter.x.clean", "filter.x.smudge", "diff.external"] {
        story.git(&["config", name, &run.to_string_lossy()]);
    }
    story.writes(".gitattributes", "* filter=x\n");
    let before = (stamp_of(&index), std::fs::read(&index).expect("a file"));
    story.writes("src/a.rs", "three");
    story.has_new_work();
    assert_eq!((stamp_of(&index), std::fs::read(&index).expect("a file")), before);
    assert!(!story.home.path().join("ran").exists() && !story.path(".git/index.lock").exists());
    story.git(&["status"]);
    assert!(story.home.path().join("ran").exists(), "negative control: git runs it");
}

#[test]
fn without_a_repository_or_with_a_broken_one_there_is_no_work() {
    let story = Story::of(&[]);
    let mut outside = story.from(".");
    outside.writes("a.rs", "three");
    outside.has_nothing_new();
    let root = outside.home.path().join("broken");
    for (name, content) in [("HEAD", "ref: ../../shop/.git/HEAD\n"), ("index", "DIRC"), ("commondir", "/proc/self\n")] {
        std::fs::create_dir_all(root.join(".git")).expect("a directory");
        std::fs::write(root.join(".git").join(name), content).expect("a file");
    }
    let mut broken = outside.from("broken");
    broken.has_nothing_new();
    assert_eq!(broken.tree.repository.as_ref().expect("a repository").commit(), None);
    std::fs::remove_dir_all(root.join(".git")).expect("a directory");
    for content in ["gitdir: .git\n", "gitdir: ../broken\n", "gitdir:\n", "gitdir: a\0b\n", &"gitdir: x".repeat(9999)] {
        broken.writes(".git", content);
        broken.has_nothing_new();
    }
}

/// A pipe that nobody writes would be waited for without an end.
#[test]
fn what_is_no_regular_file_is_not_waited_for() {
    let mut story = Story::of(&[]);
    let as_pipe = |story: &Story, name: &str| {
        let _ = std::fs::remove_file(story.path(name));
        assert!(Command::new("mkfifo").arg(story.path(name)).status().expect("mkfifo").success());
    };
    as_pipe(&story, "src/a.rs");
    story.tree.has_new_work();
    std::fs::remove_file(story.path("src/b.rs")).expect("a file");
    std::os::unix::fs::symlink("/dev/zero", story.path("src/b.rs")).expect("a link");
    story.tree.has_new_work();
    for name in [".git/index", ".git/HEAD"] {
        as_pipe(&story, name);
        story.has_nothing_new();
    }
    std::fs::remove_file(story.path(".git/index")).expect("a file");
    let _socket = UnixListener::bind(story.path(".git/index")).expect("a socket");
    story.has_nothing_new();
}

#[test]
fn in_a_work_tree_that_is_too_large_only_commits_are_seen() {
    let mut story = Story::of(&[]);
    for number in 0..200 {
        let directory = story.path(&format!("{}/{number}", "deep".repeat(50)));
        std::fs::create_dir_all(&directory).expect("a directory");
        (0..50).for_each(|file| std::fs::write(directory.join(file.to_string()), "").expect("a file"));
    }
    story.git(&["add", "--all"]);
    assert!(INDEX_MAX < story.path(".git/index").metadata().expect("a file").len());
    story.has_nothing_new();
    story.writes("src/a.rs", "three");
    story.tree.has_new_work();
    story.commits();
    story.has_new_work();
}

#[test]
fn many_files_are_looked_at_in_turns() {
    let mut story = Story::of(&[]);
    (0..2 * FILES_MAX + 10).for_each(|number| story.writes(&format!("src/{number}.rs"), ""));
    story.commits();
    for _ in 0..4 {
        story.tree.has_new_work();
    }
    for name in ["src/0.rs", "src/b.rs", "src/1000.rs"] {
        story.writes(name, "new");
        let looks: Vec<bool> = (0..3).map(|_| story.tree.has_new_work()).collect();
        assert_eq!(looks.iter().filter(|is_new| **is_new).count(), 1, "{name}: {looks:?}");
    }
}

/// Each path in the version 4 may be the one before it and one byte more.
#[test]
fn a_small_index_of_long_paths_takes_no_more_memory_than_others() {
    let entry = |added: &str| [&[0; 60][..], b"\x0f\xff", &[0], added.as_bytes(), &[0]].concat();
    let index = |files: u32| {
        let longer: Vec<Vec<u8>> = (1..files).map(|_| entry("b")).collect();
        let header = [&b"DIRC\0\0\0\x04"[..], &files.to_be_bytes()].concat();
        [header, entry(&"a".repeat(1 << 20)), longer.concat(), vec![0; 20]].concat()
    };
    assert_eq!(index::parse(&index(3)).expect("an index").len(), 3);
    let long = index(1000);
    assert!((long.len() as u64) < INDEX_MAX);
    assert_eq!(index::parse(&long), None);
}

proptest! {
    #[test]
    fn any_bytes_are_an_index_or_none(bytes in any::<Vec<u8>>(), version in 2..5_u8) {
        let index = [b"DIRC\0\0\0", &[version][..], b"\0\0\0\x01", &[0; 60], b"\0\x05", &bytes].concat();
        index::parse(&bytes);
        index::parse(&index);
    }
}
