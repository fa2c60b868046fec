//! Vectors of entries: what a model of embeddings makes of their texts. They are kept in the cache by text and model, so that only what is
//! new has to be asked for, and compared one by one.

use rusqlite::{Connection, Result, params};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

/// A text that has no vector yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unembedded {
    /// What the vector is kept by.
    pub key: i64,
    /// The text.
    pub text: String,
}

/// The vector of a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Vector {
    /// What it is kept by.
    pub key: i64,
    /// Its numbers.
    pub values: Vec<f32>,
}

/// What is to be near in meaning.
#[derive(Clone, Debug, PartialEq)]
pub struct Near {
    /// The model that made the vectors.
    pub model: String,
    /// The vector of what is looked for.
    pub values: Vec<f32>,
    /// The least cosine of what counts as near, in thousandths.
    pub least: u32,
}

/// An entry that is near.
pub(crate) struct Nearby {
    pub entry: i64,
    /// The cosine, in thousandths.
    pub cosine: u32,
}

/// What the vector of a text is kept by.
pub(crate) fn key(text: &str) -> i64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    i64::from_ne_bytes(hasher.finish().to_ne_bytes())
}

/// Keeps vectors, each with the length 1; those of texts that are gone go.
pub(crate) fn keep(db: &Connection, model: &str, vectors: &[Vector]) -> Result<()> {
    let mut put = db.prepare_cached("INSERT OR REPLACE INTO vector VALUES(?1, ?2, ?3)")?;
    for Vector { key, values } in vectors {
        let unit = unit(values);
        let bytes: Vec<u8> = unit.iter().flat_map(|value| value.to_le_bytes()).collect();
        put.execute(params![model, key, bytes])?;
    }
    db.execute("DELETE FROM vector WHERE key NOT IN (SELECT key FROM entry)", [])?;
    Ok(())
}

/// The nearest entries, the nearest first.
pub(crate) fn nearest(db: &Connection, near: &Near, with_waiting: bool, most: usize) -> Result<Vec<Nearby>> {
    let wanted = unit(&near.values);
    let mut query = db.prepare_cached(
        "SELECT e.n, v.bytes FROM entry e JOIN vector v ON v.key = e.key AND v.model = ?1 WHERE e.accepted >= ?2",
    )?;
    let mut rows = query.query(params![near.model, !with_waiting])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let bytes = row.get_ref(1)?.as_blob()?;
        // Of a model whose vectors were once of another length.
        if bytes.len() != wanted.len() * size_of::<f32>() {
            continue;
        }
        let cosine: f32 = bytes.chunks_exact(4).zip(&wanted).map(|(bytes, wanted)| number(bytes) * wanted).sum();
        let cosine = thousandths(cosine);
        if cosine >= near.least {
            found.push(Nearby { entry: row.get(0)?, cosine });
        }
    }
    found.sort_by_key(|one| (std::cmp::Reverse(one.cosine), one.entry));
    found.truncate(most);
    Ok(found)
}

fn number(bytes: &[u8]) -> f32 {
    f32::from_le_bytes(bytes.try_into().unwrap_or_default())
}

/// A cosine of -1 to 1; what points away is not near at all.
fn thousandths(cosine: f32) -> u32 {
    // From 0 to 1000, so nothing is lost.
    (cosine.clamp(0.0, 1.0) * 1_000.0).round() as u32
}

fn unit(values: &[f32]) -> Vec<f32> {
    let length = values.iter().map(|value| value * value).sum::<f32>().sqrt();
    let length = if length > 0.0 && length.is_finite() { length } else { 1.0 };
    values.iter().map(|value| value / length).collect()
}
