//! Compresses what the server hands out as it is, its pages and the document of its API: so it lies in the program, and so it travels.

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Smaller files travel as they are.
const SMALL: usize = 1024;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=ui");
    println!("cargo::rerun-if-changed=openapi.json");
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let mut files = vec![PathBuf::from("openapi.json")];
    files_in(Path::new("ui"), &mut files)?;
    files.sort();
    let mut table = String::from("&[\n");
    for (number, path) in files.iter().enumerate() {
        println!("cargo::rerun-if-changed={}", path.display());
        let data = fs::read(path)?;
        let digest: String = Sha256::digest(&data).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        let is_text = ["js", "css", "svg", "html", "json"]
            .iter()
            .any(|ending| path.extension().is_some_and(|own| own == *ending));
        let is_packed = is_text && data.len() >= SMALL;
        let data = if is_packed { packed(&data)? } else { data };
        fs::write(out.join(number.to_string()), data)?;
        let path = path.to_str().ok_or("a path is not text")?.replace('\\', "/");
        writeln!(
            table,
            "File {{ path: {path:?}, digest: {digest:?}, is_packed: {is_packed}, data: include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{number}\")) }},"
        )?;
    }
    table.push(']');
    Ok(fs::write(out.join("files.rs"), table)?)
}

fn files_in(folder: &Path, into: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={}", folder.display());
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { files_in(&path, into)? } else { into.push(path) }
    }
    Ok(())
}

fn packed(data: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(data)?;
    Ok(encoder.finish()?)
}
