//! Views: files beside the log that can be computed again.

use super::layout::{Layout, write_whole};
use crate::checks::check_name;
use crate::regular::read_regular;
use crate::store::StoreError;
use mainpath_types::{TenantId, TraceId};
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

pub(crate) fn put(
    layout: &Layout,
    tenant: &TenantId,
    trace: &TraceId,
    name: &str,
    bytes: &[u8],
) -> Result<(), StoreError> {
    check_name(name)?;
    layout.existing_log(tenant, trace)?;
    let dir = layout.trace(tenant, trace);
    let path = dir.join(name);
    let write = || {
        unlink(&dir, name)?;
        if let Some(dir) = path.parent().filter(|_| name.contains('/')) {
            DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        }
        write_whole(&path, bytes, false)
    };
    write().map_err(|e| StoreError::io(format!("write {}", path.display()), e))
}

pub(crate) fn get(
    layout: &Layout,
    tenant: &TenantId,
    trace: &TraceId,
    name: &str,
) -> Result<Option<Vec<u8>>, StoreError> {
    check_name(name)?;
    layout.existing_log(tenant, trace)?;
    let dir = layout.trace(tenant, trace);
    let path = dir.join(name);
    if link_above(&dir, name).is_some() {
        return Ok(None);
    }
    match read_regular(&path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(e) => Err(StoreError::io(format!("read {}", path.display()), e)),
    }
}

pub(crate) fn names(layout: &Layout, tenant: &TenantId, trace: &TraceId) -> Result<Vec<String>, StoreError> {
    layout.existing_log(tenant, trace)?;
    let dir = layout.trace(tenant, trace);
    let mut names = Vec::new();
    collect(&dir, "", &mut names).map_err(|e| StoreError::io(format!("list {}", dir.display()), e))?;
    names.sort();
    Ok(names)
}

/// The first folder of a name that is a link. What it leads to is somebody else's.
fn link_above(dir: &Path, name: &str) -> Option<PathBuf> {
    let folders = name.match_indices('/').filter_map(|(at, _)| name.get(..at));
    let is_link = |path: &PathBuf| std::fs::symlink_metadata(path).is_ok_and(|data| data.is_symlink());
    folders.map(|folder| dir.join(folder)).find(is_link)
}

/// Takes away a link in the place of a folder of views: all of them can be made again.
fn unlink(dir: &Path, name: &str) -> io::Result<()> {
    link_above(dir, name).map_or(Ok(()), std::fs::remove_file)
}

/// Only what [`put`] could have made; links are not followed.
fn collect(dir: &Path, prefix: &str, names: &mut Vec<String>) -> io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let Some(name) = entry.file_name().to_str().map(|name| format!("{prefix}{name}")) else { continue };
        if check_name(&name).is_err() {
            continue;
        }
        let kind = entry.file_type()?;
        if kind.is_dir() {
            collect(&entry.path(), &format!("{name}/"), names)?;
        } else if kind.is_file() {
            names.push(name);
        }
    }
    Ok(())
}

pub(crate) fn delete(layout: &Layout, tenant: &TenantId, trace: &TraceId, name: &str) -> Result<(), StoreError> {
    check_name(name)?;
    layout.existing_log(tenant, trace)?;
    let dir = layout.trace(tenant, trace);
    let path = dir.join(name);
    let removing = |e: io::Error| StoreError::io(format!("remove {}", path.display()), e);
    unlink(&dir, name).map_err(removing)?;
    match std::fs::remove_file(&path) {
        Err(e) if !matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Err(removing(e));
        }
        _ => {}
    }
    // Folders that nothing is in any more; the first that holds something ends it.
    let above = path.ancestors().skip(1).take_while(|above| *above != dir);
    above.map_while(|above| std::fs::remove_dir(above).ok()).for_each(drop);
    Ok(())
}
