//! Which users can write a file that is open.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

/// The extended attribute with the entries of a file's access control list (acl(5)).
const ACCESS_LIST: &std::ffi::CStr = c"system.posix_acl_access";
/// The file systems whose answers are those of a process of any user: FUSE_SUPER_MAGIC (linux/magic.h).
const FUSE: u64 = 0x6573_5546;

/// Checks that only root and `user` can write the file. It belongs to one of them, and its group may write it only if that is root's, or if
/// the owner is alone in it, as distributions create one for each user.
///
/// # Errors
/// Who else can, as a phrase that begins with "it".
pub fn only_writable_by(file: &File, user: u32) -> Result<(), String> {
    let unknown = |error: io::Error| format!("it cannot be found out who can write it ({error})");
    if is_of_a_process(file).map_err(unknown)? {
        return Err("it is in a file system of a process (FUSE)".to_owned());
    }
    let metadata = file.metadata().map_err(unknown)?;
    let (owner, group, mode) = (metadata.uid(), metadata.gid(), metadata.mode());
    if owner != 0 && owner != user {
        return Err(format!(
            "it belongs to user {owner}, who is neither root nor user {user} of the program"
        ));
    }
    if mode & 0o002 != 0 {
        return Err("every user can write it".to_owned());
    }
    if mode & 0o020 == 0 {
        return Ok(());
    }
    // The bits of the group are the most that entries of the list permit.
    if has_access_list(file).map_err(unknown)? {
        return Err("users of its access control list can write it; setfacl -b removes the list".to_owned());
    }
    if group == 0 || is_alone(owner, group) {
        return Ok(());
    }
    Err(format!("group {group} can write it; chmod g-w forbids that"))
}

fn is_of_a_process(file: &File) -> io::Result<bool> {
    let mut stat = std::mem::MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: the kernel writes a whole statfs.
    super::checked(unsafe { libc::fstatfs(file.as_raw_fd(), stat.as_mut_ptr()) })?;
    // SAFETY: the call succeeded. The type of the field differs between C libraries.
    Ok(unsafe { stat.assume_init() }.f_type as u64 & 0xffff_ffff == FUSE)
}

fn has_access_list(file: &File) -> io::Result<bool> {
    // SAFETY: the name is a C string, and no value is requested, only its length.
    let length = unsafe { libc::fgetxattr(file.as_raw_fd(), ACCESS_LIST.as_ptr(), std::ptr::null_mut(), 0) };
    if length >= 0 {
        return Ok(true);
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::ENODATA | libc::EOPNOTSUPP) => Ok(false),
        _ => Err(error),
    }
}

/// Whether `owner` is the only user of `group`, by the files of the system's users. False if it is not in them.
fn is_alone(owner: u32, group: u32) -> bool {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    is_alone_in(&read("/etc/passwd"), &read("/etc/group"), owner, group)
}

fn is_alone_in(passwd: &str, groups: &str, owner: u32, group: u32) -> bool {
    // passwd(5): name, password, user, group. group(5): name, password, group, members.
    let fields = |line: &str| -> Option<(String, u32, String)> {
        let mut fields = line.split(':');
        let (name, _) = (fields.next()?, fields.next()?);
        Some((name.to_owned(), fields.next()?.parse().ok()?, fields.next()?.to_owned()))
    };
    let users: Vec<(String, u32, u32)> = passwd
        .lines()
        .filter_map(fields)
        .filter_map(|(name, user, group)| Some((name, user, group.parse().ok()?)))
        .collect();
    let is_owner = |name: &str| users.iter().any(|(known, user, _)| known == name && *user == owner);
    let is_of_owner = users.iter().filter(|(_, _, of)| *of == group).all(|(_, user, _)| *user == owner);
    let has_owner = users.iter().any(|(_, user, of)| *user == owner && *of == group);
    let mut same = groups.lines().filter_map(fields).filter(|(_, number, _)| *number == group).peekable();
    let is_known = same.peek().is_some();
    let members = same.flat_map(|(_, _, members)| members.split(',').map(str::to_owned).collect::<Vec<_>>());
    let only_owner = members.filter(|name| !name.is_empty()).all(|name| is_owner(&name));
    is_known && has_owner && is_of_owner && only_owner
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, fchown};

    #[test]
    fn a_group_of_one_user_is_the_users() {
        let passwd = "root:x:0:0::/:/bin/sh\nann:x:1000:1000::/:/bin/sh\nbob:x:1001:1000::/:/bin/sh\ncarl:x:1002:1002::/:\n";
        let groups = "root:x:0:\nann:x:1000:\ncarl:x:1002:carl\nboth:x:7:carl,ann\n";
        let alone = |owner, group| is_alone_in(passwd, groups, owner, group);
        assert!(alone(1002, 1002));
        assert!(!alone(1000, 1000), "it is bob's first group too");
        assert!(!alone(1002, 7), "ann is in it");
        assert!(!alone(1002, 8), "it is unknown");
        let with_ann = groups.replace("1002:carl", "1002:ann");
        assert!(!is_alone_in(passwd, &with_ann, 1002, 1002));
    }

    #[test]
    fn others_that_can_write_a_file_are_named() {
        let file = tempfile::tempfile().unwrap();
        let own = super::super::caller();
        let set = |mode| file.set_permissions(Permissions::from_mode(mode)).unwrap();
        set(0o755);
        assert_eq!(only_writable_by(&file, own), Ok(()));
        set(0o757);
        assert_eq!(only_writable_by(&file, own), Err("every user can write it".to_owned()));
        if own != 0 {
            eprintln!("skipped: only root gives files to others");
            return;
        }
        set(0o775);
        assert_eq!(only_writable_by(&file, own), Ok(()), "root's group");
        fchown(&file, None, Some(65_531)).unwrap();
        let refused = only_writable_by(&file, own).unwrap_err();
        assert!(refused.contains("group 65531 can write it"), "{refused}");
        set(0o755);
        fchown(&file, Some(65_531), None).unwrap();
        assert_eq!(only_writable_by(&file, 65_531), Ok(()));
        let refused = only_writable_by(&file, 65_532).unwrap_err();
        assert!(
            refused.contains("it belongs to user 65531, who is neither root nor user 65532"),
            "{refused}"
        );
    }
}
