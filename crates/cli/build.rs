//! Compresses the schemas that `mainpath schema` prints, as they lie in the program.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::error::Error;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=schemas.json");
    let to = PathBuf::from(std::env::var("OUT_DIR")?).join("schemas.json.gz");
    let mut encoder = GzEncoder::new(File::create(to)?, Compression::best());
    encoder.write_all(&fs::read("schemas.json")?)?;
    encoder.finish()?;
    Ok(())
}
