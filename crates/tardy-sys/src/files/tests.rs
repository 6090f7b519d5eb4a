//! What the module refuses, and that nothing is left behind.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::Command;

use super::*;

/// The user `nobody` of most distributions.
const NOBODY: u32 = 65534;

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn make_fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Whether this process may give files to other users. Prints why the test is skipped if not.
fn is_root() -> bool {
    if caller() != 0 {
        println!("skipped: giving a file to another user takes root");
    }
    caller() == 0
}

fn write_text(text: &'static str) -> impl FnOnce(&mut File) -> io::Result<()> {
    move |file| file.write_all(text.as_bytes())
}

#[test]
fn only_regular_files_of_the_caller_with_one_name_are_opened() {
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name);
    fs::write(at("file"), "x").unwrap();
    let refusal = |name: &str| open_own(&at(name)).unwrap_err().to_string();
    let mut text = String::new();
    open_own(&at("file")).unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "x");
    symlink("file", at("link")).unwrap();
    assert_eq!(refusal("link"), "it is a symbolic link");
    make_fifo(&at("pipe"));
    assert_eq!(refusal("pipe"), "it is not a regular file", "and opening it does not wait");
    fs::hard_link(at("file"), at("second")).unwrap();
    assert_eq!(refusal("file"), "it has 2 names (hard links)");
    assert_eq!(open_own(&at("missing")).unwrap_err().kind(), io::ErrorKind::NotFound);
    fs::create_dir(at("directory")).unwrap();
    assert_eq!(refusal("directory"), "it is not a regular file");
}

#[test]
fn a_file_or_directory_of_another_user_is_refused_also_to_root() {
    if !is_root() {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let (file, directory) = (scratch.path().join("file"), scratch.path().join("directory"));
    fs::write(&file, "x").unwrap();
    fs::create_dir(&directory).unwrap();
    chown(&file, Some(NOBODY), None).unwrap();
    chown(&directory, Some(NOBODY), None).unwrap();
    assert_eq!(open_own(&file).unwrap_err().to_string(), "it belongs to user 65534, not to user 0");
    let error = Directory::own(&directory).unwrap_err().to_string();
    assert!(error.ends_with("belongs to user 65534, not to user 0"), "{error}");
    assert!(replace_own(&directory.join("x"), 0o600, b"x").is_err());
    assert!(names(&directory).is_empty());
    assert_eq!(open_to_read(&file).unwrap().owner(), Some(NOBODY), "the user named it");
}

#[test]
fn a_directory_that_others_can_write_is_not_the_callers_own() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("shared");
    fs::create_dir(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o1777)).unwrap();
    let error = Directory::own(&path).unwrap_err().to_string();
    assert!(error.contains("other users can write into directory"), "{error}");
    Directory::named(&path).unwrap().check_keeps_files().unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
    assert!(Directory::named(&path).unwrap().check_keeps_files().is_err());
    symlink(scratch.path(), scratch.path().join("link")).unwrap();
    assert!(Directory::own(&scratch.path().join("link")).is_err());
    Directory::named(&scratch.path().join("link")).unwrap();
}

#[test]
fn a_new_directory_is_accessible_to_its_owner_alone() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("a/b");
    Directory::own_or_new(&path).unwrap();
    for path in [path.as_path(), path.parent().unwrap()] {
        assert_eq!(fs::metadata(path).unwrap().mode() & 0o7777, 0o700);
    }
}

#[test]
fn a_file_is_replaced_and_a_planted_link_is_not_followed() {
    let scratch = tempfile::tempdir().unwrap();
    let (path, target) = (scratch.path().join("result"), scratch.path().join("precious"));
    let directory = Directory::named(scratch.path()).unwrap();
    let name = OsStr::new("result");
    fs::write(&target, "precious").unwrap();
    symlink(&target, &path).unwrap();
    for (existing, text) in [(Existing::Replaced, "one"), (Existing::Replaced, "two")] {
        directory.replace(name, 0o600, existing, write_text(text)).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    assert!(!path.is_symlink());
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    assert_eq!(fs::read_to_string(&target).unwrap(), "precious");
    let kept = directory.replace(name, 0o600, Existing::Kept, write_text("three")).unwrap_err();
    assert_eq!(kept.kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(fs::read_to_string(&path).unwrap(), "two");
    directory.replace(OsStr::new("new"), 0o600, Existing::Kept, write_text("x")).unwrap();
    assert_eq!(names(scratch.path()), ["new", "precious", "result"]);
}

#[test]
fn a_failed_replacement_leaves_the_old_file_and_no_temporary_one() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = Directory::named(scratch.path()).unwrap();
    fs::write(scratch.path().join("a"), "old").unwrap();
    let error = directory.replace(OsStr::new("a"), 0o600, Existing::Replaced, |file| {
        file.write_all(b"half")?;
        Err(io::ErrorKind::StorageFull.into())
    });
    assert_eq!(error.unwrap_err().kind(), io::ErrorKind::StorageFull);
    fs::create_dir(scratch.path().join("b")).unwrap();
    directory.replace(OsStr::new("b"), 0o600, Existing::Replaced, write_text("x")).unwrap_err();
    assert_eq!(names(scratch.path()), ["a", "b"]);
    assert_eq!(fs::read_to_string(scratch.path().join("a")).unwrap(), "old");
}

#[test]
fn a_replaced_directory_has_no_effect_on_an_open_one() {
    let scratch = tempfile::tempdir().unwrap();
    let (path, moved) = (scratch.path().join("mine"), scratch.path().join("moved"));
    let directory = Directory::own_or_new(&path).unwrap();
    fs::rename(&path, &moved).unwrap();
    fs::create_dir(&path).unwrap();
    directory.replace(OsStr::new("a"), 0o600, Existing::Kept, write_text("x")).unwrap();
    assert_eq!((names(&path).len(), names(&moved)), (0, vec!["a".to_owned()]));
    assert_eq!(directory.names().unwrap(), ["a"]);
}

#[test]
fn a_name_with_a_path_in_it_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = Directory::named(scratch.path()).unwrap();
    for name in ["", ".", "..", "a/b", "../a"] {
        assert!(directory.create_new(OsStr::new(name), 0o600).is_err(), "{name}");
    }
    directory.create_new(OsStr::new("a"), 0o600).unwrap();
    let again = directory.create_new(OsStr::new("a"), 0o600).unwrap_err();
    assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
    let mut unnamed = directory.unnamed_file().unwrap();
    unnamed.write_all(b"x").unwrap();
    directory.check_writable(OsStr::new(&"x".repeat(255))).unwrap();
    assert_eq!(names(scratch.path()), ["a"]);
}

#[test]
fn a_link_or_a_pipe_that_the_user_named_is_read() {
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name);
    fs::write(at("file"), "text").unwrap();
    symlink("file", at("link")).unwrap();
    let read = |path: &Path| {
        let mut text = String::new();
        open_to_read(path).unwrap().read_to_string(&mut text).unwrap();
        text
    };
    assert_eq!(read(&at("link")), "text");
    make_fifo(&at("pipe"));
    let pipe = at("pipe");
    // Opening the pipe waits until it is read.
    let writer = std::thread::spawn(move || fs::write(pipe, "piped").unwrap());
    assert_eq!(read(&at("pipe")), "piped");
    writer.join().unwrap();
    let mut child = Command::new("echo").arg("hello").stdout(std::process::Stdio::piped()).spawn().unwrap();
    let output = child.stdout.take().unwrap();
    let descriptor = std::os::fd::AsRawFd::as_raw_fd(&output);
    assert_eq!(read(Path::new(&format!("/dev/fd/{descriptor}"))), "hello\n");
    child.wait().unwrap();
    for place in [scratch.path(), Path::new("/dev/null")] {
        assert!(open_to_read(place).is_err(), "{place:?}");
    }
}

#[test]
fn an_output_is_a_new_file_or_a_stream_that_the_user_named() {
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name);
    let output = open_to_write(&at("new"), false).unwrap();
    assert!(output.is_new);
    assert_eq!(open_to_write(&at("new"), false).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    fs::write(at("new"), "old").unwrap();
    let mut replaced = open_to_write(&at("new"), true).unwrap();
    replaced.file.write_all(b"new").unwrap();
    assert_eq!(fs::read_to_string(at("new")).unwrap(), "new");
    assert!(!open_to_write(Path::new("/dev/null"), false).unwrap().is_new);
    assert!(!open_to_write(Path::new("/dev/stdout"), false).unwrap().is_new);
    symlink("new", at("link")).unwrap();
    let error = open_to_write(&at("link"), true).unwrap_err().to_string();
    assert!(error.contains("symbolic link"), "{error}");
    assert!(open_to_write(scratch.path(), true).is_err());
}

#[test]
fn a_named_pipe_opens_for_writing_only_while_a_process_reads_it() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = Directory::named(scratch.path()).unwrap();
    let (pipe, file) = (OsStr::new("pipe"), OsStr::new("file"));
    directory.create_pipe(pipe, 0o600).unwrap();
    assert_eq!(directory.create_pipe(pipe, 0o600).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    assert!(directory.open_pipe_with_reader(pipe).unwrap().is_none());
    // Opened for both, so that the open does not wait.
    let mut reader = File::options().read(true).write(true).open(scratch.path().join("pipe")).unwrap();
    directory.open_pipe_with_reader(pipe).unwrap().unwrap().write_all(b"text").unwrap();
    let mut text = [0; 4];
    reader.read_exact(&mut text).unwrap();
    assert_eq!(&text, b"text");
    fs::write(scratch.path().join("file"), "x").unwrap();
    symlink("pipe", scratch.path().join("link")).unwrap();
    assert_eq!(directory.open_pipe_with_reader(file).unwrap_err().to_string(), "it is not a named pipe");
    assert!(directory.open_pipe_with_reader(OsStr::new("link")).is_err());
}
