//! Medians and the like.

/// The value below which this share (0 to 1) of the values lies; 0 of none.
pub fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = (sorted.len().saturating_sub(1) as f64 * share).round() as usize;
    sorted.get(at).copied().unwrap_or(0.0)
}

/// The middle value.
pub fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// The smallest value; 0 of none.
pub fn least(values: &[f64]) -> f64 {
    quantile(values, 0.0)
}
